#!/usr/bin/env bash
# image_root.sh FOLDER PROGRAM...: makes the root of an image that can run the programs: they, the libraries that the loader
# names for them, a user, and the folder of the sockets.
set -euo pipefail

root=$1
shift
mkdir -p "$root/usr/bin" "$root/etc" "$root/tmp" "$root/run/winnow" "$root/proc" "$root/dev" "$root/sys"
# On merged systems /lib is /usr/lib: the loader's own name must be found there too.
for folder in lib lib64; do
  if [[ -L /$folder ]]; then
    mkdir -p "$root/usr/$folder"
    ln -sfn "usr/$folder" "$root/$folder"
  fi
done
for program in "$@"; do
  install -m 0755 "$program" "$root/usr/bin/"
  # "libm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x...)", and the loader as "/lib64/ld-linux-x86-64.so.2 (0x...)".
  while read -r library; do
    mkdir -p "$root$(dirname "$library")"
    cp -L "$library" "$root$library"
  done < <(ldd "$program" | sed -n 's/^.*[[:space:]]\(\/[^ ]*\) (0x.*$/\1/p' | sort -u)
done
echo 'winnow:x:65532:65532:Winnow:/:/usr/bin/winnow-server' > "$root/etc/passwd"
echo 'winnow:x:65532:' > "$root/etc/group"
echo 'passwd: files
group: files
hosts: files' > "$root/etc/nsswitch.conf"
chmod 1777 "$root/tmp"
