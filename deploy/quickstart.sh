#!/usr/bin/env bash
# From a fresh Debian 12 or 13 (Ubuntu 24.04: not tried) to the demo: installs packages, builds the server and the command line (with CUDA
# where a toolkit is found), and runs `winnow demo`, which checks the two-level indexer on score rows made from English text
# and draws it.
#
#   deploy/quickstart.sh [OPTION OF winnow demo]...     e.g. --picture kept.svg; without one it draws winnow-demo.svg
#
# Environment: WINNOW_SKIP_INSTALL=1 installs nothing; WINNOW_JOBS=N (default: the number of cores).
# Exit status: that of the demo, 0 when every result equals the reference; else that of the step that failed.
set -euo pipefail
case ${1:-} in
  -h | --help)
    sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$0"
    exit 0
    ;;
esac
cd "$(dirname "$0")/.."
. deploy/scripts/packages.sh

echo "== install packages"
winnow_prepare build
winnow_use_cache
echo "== build"
mkdir -p build
cmake --preset release -DWINNOW_BUILD_TESTS=OFF -DWINNOW_BUILD_BENCHMARKS=OFF >build/quickstart.configure.log 2>&1 || {
  cat build/quickstart.configure.log
  exit 1
}
grep -m 1 "^-- winnow:.*CUDA" build/quickstart.configure.log || true
cmake --build build/release -j "${WINNOW_JOBS:-$(nproc)}" --target winnow-server winnow
echo "== demo"
build/release/client/cli/winnow demo "$@"
cat <<NEXT
== next
In this shell:
  export PATH="$PWD/build/release/server/app:$PWD/build/release/client/cli:\$PATH"
  winnow-server &                                         # prints one line when it serves
  winnow info                                             # what it is; README.md goes on from here, "Five minutes"
  winnow drain                                            # ends it: what is queued is finished first
For good, with the C++ library:
  cmake --install build/release --prefix "\$HOME/.local"   # or, as root, --prefix /usr
NEXT
