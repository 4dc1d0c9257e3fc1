#!/usr/bin/env bash
# Runs one of the README's commands on a machine that has nothing: a minimal root of the distribution, made by debootstrap,
# with a clone of HEAD in it and no toolkit, compiler or library but what the command itself installs.
#   sudo deploy/scripts/fresh_root_test.sh quickstart|tests [--suite bookworm] [--cache DIR] [--keep]
# --cache lends the root a compiler cache of this machine: the same build, sooner.
# The mirror and the certificates are those of this machine's apt. Needs root, debootstrap and git. Prints how long it took.
set -euo pipefail

repository=$(cd "$(dirname "$0")/../.." && pwd)
what=""
suite=bookworm
keep=""
cache=""
while [[ $# -gt 0 ]]; do
  case $1 in
    quickstart | tests) what=$1 ;;
    --suite) suite=$2 && shift ;;
    --cache) cache=$2 && shift ;;
    --keep) keep=1 ;;
    *) what="" && break ;;
  esac
  shift
done
case $what in
  # What it says to do next belongs to it: the installed programs must stand alone.
  quickstart) command=(bash -ec 'deploy/quickstart.sh; cmake --install build/release --prefix /opt/winnow >/dev/null
    echo "== demo, installed"; /opt/winnow/bin/winnow demo --no-picture') ;;
  tests) command=(tests/run.sh) ;;
  *)
    sed -n '2,7p' "$0" | sed 's/^# //' >&2
    exit 2
    ;;
esac
if [[ $(id -u) -ne 0 ]] || ! command -v debootstrap >/dev/null; then
  echo "skipped: a fresh root needs root and debootstrap"
  exit 77
fi

# The host's first apt source that has the suite: "mirror" of either format of apt's sources.
sources=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources 2>/dev/null || true)
mirror=$(awk -v suite="$suite" '
  found { next }
  $1 == "deb" { for (i = 2; i < NF; i++) if ($i ~ /^https?:/ && $(i + 1) == suite) { print $i; found = 1 } }
  $1 == "URIs:" { uri = $2 }
  $1 == "Suites:" { for (i = 2; i <= NF; i++) if ($i == suite) { print uri; found = 1 } }' <<<"$sources")
if [[ -z $mirror ]]; then
  echo "skipped: no apt source of this machine has the suite $suite"
  exit 77
fi

root=$(mktemp -d "${TMPDIR:-/tmp}/winnow-fresh-root.XXXXXX")
chmod 755 "$root" # apt downloads as a user of its own
clean_up() {
  local status=$?
  for mount in root/.cache/ccache dev/pts dev/shm dev sys proc; do
    if mountpoint -q "$root/$mount"; then
      umount -l "$root/$mount"
    fi
  done
  if [[ -n $keep ]]; then
    echo "fresh_root_test.sh: kept $root"
  elif ! grep -q " $root/" /proc/mounts; then
    rm -rf --one-file-system "$root"
  fi
  exit "$status"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

start=$SECONDS
debootstrap --variant=minbase --include=ca-certificates "$suite" "$root" "$mirror" >"$root.log" 2>&1 || {
  tail -n 5 "$root.log"
  exit 1
}
rm -f "$root.log"
mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys"
mkdir -p "$root/dev"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
for node in null zero full random urandom tty; do
  cp -a "/dev/$node" "$root/dev/$node"
done
ln -s /proc/self/fd "$root/dev/fd"
mkdir "$root/dev/shm" "$root/dev/pts"
mount -t tmpfs tmpfs "$root/dev/shm"
# How this machine reaches its mirrors: name service, certificates and apt's settings.
cp /etc/resolv.conf "$root/etc/resolv.conf"
cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/ca-certificates.crt"
find /etc/apt/apt.conf.d -name '*proxy*' -exec cp {} "$root/etc/apt/apt.conf.d/" \;
echo "deb $mirror $suite main" >"$root/etc/apt/sources.list"
if [[ -n $cache ]]; then
  mkdir -p "$root/root/.cache/ccache"
  mount --bind "$cache" "$root/root/.cache/ccache"
fi
git clone -q --no-hardlinks "$repository" "$root/root/winnow"
echo "fresh_root_test.sh: $suite root with $(git -C "$root/root/winnow" log -1 --format=%h) ready after" \
  "$((SECONDS - start)) s, $(chroot "$root" dpkg-query -f '.\n' -W | wc -l) packages"

start=$SECONDS
status=0
env -i HOME=/root TERM=dumb LANG=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin WINNOW_JOBS="${WINNOW_JOBS:-}" \
  chroot "$root" /bin/sh -c 'cd /root/winnow && exec "$@"' sh "${command[@]}" || status=$?
echo "fresh_root_test.sh: $what ended with $status after $((SECONDS - start)) s"
exit "$status"
