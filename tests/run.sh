#!/usr/bin/env bash
# Installs what the tests need, builds everything and runs the whole test suite, in one list:
#   build/release     everything, with CUDA where a toolkit is found
#   build/asan-ubsan  what reads bytes of strangers, under AddressSanitizer and UndefinedBehaviorSanitizer
#   build/tsan        what runs on several threads and needs no gRPC, under ThreadSanitizer
#   build/portable    the programs with everything linked statically
# The last thing printed is ctest's summary; the exit status is that of the first thing that failed.
# Environment: WINNOW_SKIP_INSTALL=1 installs nothing; WINNOW_JOBS=N (default: the number of cores).
set -euo pipefail
if [[ $# -gt 0 ]]; then
  sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$0"
  [[ $1 == -h || $1 == --help ]] && exit 0
  echo "tests/run.sh: takes no arguments" >&2
  exit 2
fi
cd "$(dirname "$0")/.."
. deploy/scripts/packages.sh

jobs=${WINNOW_JOBS:-$(nproc)}
asan_folders=(sanitizers kernels contract server client cli integration regression)
tsan_folders=(sanitizers kernels server client)

timings=()
timed() {
  local name=$1 start=$SECONDS
  shift
  echo "== $name"
  "$@"
  timings+=("$(printf '%5d s  %s' $((SECONDS - start)) "$name")")
}

# build PRESET TARGET...: a warning fails it, whatever the preset says.
build() {
  local preset=$1
  shift
  cmake --preset "$preset" -DWINNOW_WARNINGS_AS_ERRORS=ON >"build/$preset.configure.log" 2>&1 || {
    cat "build/$preset.configure.log"
    return 1
  }
  cmake --build "build/$preset" -j "$jobs" --target "$@"
}

# folders FOLDER...: those that are there, as ninja's names for all that is in them.
folders() {
  local folder
  for folder in "$@"; do
    if [[ -f tests/$folder/CMakeLists.txt ]]; then
      echo "tests/$folder/all"
    fi
  done
}

timed "install packages" winnow_prepare build test
# Without a network the tests that need them say so.
rm -f build/chart_tools.failed # a run tries anew
timed "install helm and schemas" bash -c 'deploy/scripts/chart_tools.sh || [[ $? -eq 77 ]]'
winnow_use_cache
mkdir -p build/all
timed "build release" build release all
timed "build asan-ubsan" build asan-ubsan $(folders "${asan_folders[@]}")
timed "build tsan" build tsan $(folders "${tsan_folders[@]}")
timed "build portable" build portable winnow-server winnow

# One list of tests over all builds: ctest reads a folder whose test file names the others.
{
  echo 'subdirs("../release")'
  for folder in "${asan_folders[@]}"; do
    [[ -f tests/$folder/CMakeLists.txt ]] && echo "subdirs(\"../asan-ubsan/tests/$folder\")"
  done
  for folder in "${tsan_folders[@]}"; do
    [[ -f tests/$folder/CMakeLists.txt ]] && echo "subdirs(\"../tsan/tests/$folder\")"
  done
  echo 'subdirs("../portable/tests/portable")'
} >build/all/CTestTestfile.cmake

echo "== times so far"
printf '%s\n' "${timings[@]}"
echo "== tests"
exec ctest --test-dir build/all --output-on-failure --no-tests=error -j "$jobs"
