#!/usr/bin/env bash
# check_needed.sh PROGRAM...: each program needs no shared object but libc, libm and the loader.
set -euo pipefail

failures=0
for program in "$@"; do
  needed=$(readelf --dynamic --wide "$program" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
  if [[ -z $needed ]]; then
    echo "$program: readelf names no shared object at all; is it a dynamic program?"
    failures=1
  fi
  for object in $needed; do
    case $object in
      libc.so.6 | libm.so.6 | ld-linux-x86-64.so.2 | ld-linux-aarch64.so.1) ;;
      *)
        echo "$program needs $object"
        failures=1
        ;;
    esac
  done
  echo "$(basename "$program"): needs ${needed//$'\n'/, }"
done
exit "$failures"
