#!/usr/bin/env bash
# image_root.sh FOLDER PROGRAM...: makes the root of an image that can run the programs: they, the libraries that the loader
# names for them and those that a GPU's driver needs, a user, and the folder of the sockets.
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
copy_library() {
  mkdir -p "$root$(dirname "$1")"
  cp -L "$1" "$root$1"
}
for program in "$@"; do
  install -m 0755 "$program" "$root/usr/bin/"
  # "libm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x...)", and the loader as "/lib64/ld-linux-x86-64.so.2 (0x...)".
  while read -r library; do
    copy_library "$library"
  done < <(ldd "$program" | sed -n 's/^.*[[:space:]]\(\/[^ ]*\) (0x.*$/\1/p' | sort -u)
done
# libcuda.so.1 comes from the host and names these parts of the C library, which the programs do not.
c_library=$(ldd "$1" | sed -n 's/^.*libc\.so\.6 => \(\/[^ ]*\) (0x.*$/\1/p')
for library in libdl.so.2 libpthread.so.0 librt.so.1; do
  copy_library "$(dirname "$c_library")/$library"
done
echo 'winnow:x:65532:65532:Winnow:/:/usr/bin/winnow-server' > "$root/etc/passwd"
echo 'winnow:x:65532:' > "$root/etc/group"
echo 'passwd: files
group: files
hosts: files' > "$root/etc/nsswitch.conf"
chmod 1777 "$root/tmp"
