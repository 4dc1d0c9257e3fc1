#!/usr/bin/env bash
# From a fresh Debian 12 or Ubuntu 24.04 to the demo: installs packages, builds the server and the command line (with CUDA
# where a toolkit is found), and runs `winnow demo`, which checks the two-level indexer on real score rows and draws it.
# Environment: WINNOW_SKIP_INSTALL=1 installs nothing; WINNOW_JOBS=N (default: the number of cores).
set -euo pipefail
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
cmake --build build/release -j "${WINNOW_JOBS:-$(nproc)}" --target winnow-server winnow
echo "== demo"
exec build/release/client/cli/winnow demo "$@"
