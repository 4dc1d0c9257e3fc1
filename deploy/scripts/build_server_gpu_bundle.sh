#!/usr/bin/env bash
# Builds the server, its integration suites and its benchmark with the CUDA backend, as portable
# programs, and puts them into one folder with what they need and into FOLDER.tar.xz: copy that to a
# machine that has a GPU and a driver, and run run_server_gpu_report.sh there. This machine needs a
# CUDA toolkit and no GPU.
#
#   deploy/scripts/build_server_gpu_bundle.sh [FOLDER]      default: out/server-gpu-bundle
#
# WINNOW_BUNDLE_BUILD (build/server-gpu-bundle) is the build folder, WINNOW_BUNDLE_JOBS (2) the jobs.
# WINNOW_BUNDLE_PYTHON names a Python with grpcio-tools: then stubs for the PyTorch test go along.
set -euo pipefail
cd "$(dirname "$0")/../.."

folder=${1:-out/server-gpu-bundle}
build=${WINNOW_BUNDLE_BUILD:-build/server-gpu-bundle}
programs=(
  server/app/winnow-server
  client/cli/winnow
  tests/integration/integration_suites
  tests/integration/integration_flood_client
  tests/integration/integration_lease_client
  tests/server/app/lost_device_test
  tests/server/backend/backend_contract_test
  tests/server/backend/device_backend_test
  tests/bench/rpc/resident_bench
  tests/gpu/engine_load
)

cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DWINNOW_CUDA=ON -DWINNOW_PORTABLE=ON \
  -DWINNOW_BUILD_TESTS=ON -DWINNOW_BUILD_BENCHMARKS=ON >/dev/null
ninja -C "$build" -j "${WINNOW_BUNDLE_JOBS:-2}" "${programs[@]}"

mkdir -p "$folder"
for program in "${programs[@]}"; do
  strip -o "$folder/$(basename "$program")" "$build/$program"
done
cp deploy/scripts/run_server_gpu_report.sh tests/gpu/torch_sharing.py "$folder"
rm -rf "$folder/data" "$folder/stubs"
cp -r tests/data "$folder/data"
if [ -n "${WINNOW_BUNDLE_PYTHON:-}" ]; then
  mkdir -p "$folder/stubs"
  "$WINNOW_BUNDLE_PYTHON" -m grpc_tools.protoc -Iproto --python_out="$folder/stubs" \
    --grpc_python_out="$folder/stubs" proto/winnow/v1/*.proto
fi
git describe --always --dirty --abbrev=12 >"$folder/commit.txt" 2>/dev/null || echo unknown >"$folder/commit.txt"
# The programs hold the same machine code: a window wider than one of them finds it again.
tar -cf - -C "$(dirname "$folder")" "$(basename "$folder")" | xz --lzma2=preset=2,dict=256MiB >"$folder.tar.xz"
du -sh "$folder" "$folder.tar.xz"
