#!/usr/bin/env bash
# Builds the GPU tests and the kernel benchmark as portable programs and puts them into one folder,
# with what they need, and into FOLDER.tar.gz: copy that to a machine that has a GPU and a driver,
# and run run_gpu_report.sh there. This machine needs a CUDA toolkit and no GPU.
#
#   deploy/scripts/build_gpu_bundle.sh [FOLDER]      default: out/gpu-bundle
#
# WINNOW_BUNDLE_BUILD (build/gpu-bundle) is the build folder, WINNOW_BUNDLE_JOBS (2) the jobs.
set -euo pipefail
cd "$(dirname "$0")/../.."

folder=${1:-out/gpu-bundle}
build=${WINNOW_BUNDLE_BUILD:-build/gpu-bundle}
programs=(
  tests/contract/contract_cuda_test
  tests/gpu/gpu_device_test
  tests/gpu/gpu_few_rows_test
  tests/gpu/gpu_graph_capture_test
  tests/gpu/gpu_lost_device_test
  tests/gpu/gpu_two_streams_test
  tests/bench/cuda/kernel_bench
)

cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DWINNOW_CUDA=ON -DWINNOW_PORTABLE=ON \
  -DWINNOW_BUILD_SERVER=OFF -DWINNOW_BUILD_TESTS=ON -DWINNOW_BUILD_BENCHMARKS=ON >/dev/null
ninja -C "$build" -j "${WINNOW_BUNDLE_JOBS:-2}" "${programs[@]}"

mkdir -p "$folder"
for program in "${programs[@]}"; do
  strip -o "$folder/$(basename "$program")" "$build/$program"
done
cp tests/bench/cuda/{bench_results,set_tables,make_table,check_growth,check_policy,torch_topk}.py tests/bench/cuda/peers.csv \
  deploy/scripts/run_gpu_report.sh "$folder"
rm -rf "$folder/data"
cp -r tests/data "$folder/data"
git describe --always --dirty --abbrev=12 >"$folder/commit.txt" 2>/dev/null || echo unknown >"$folder/commit.txt"
tar -czf "$folder.tar.gz" -C "$(dirname "$folder")" "$(basename "$folder")"
du -sh "$folder" "$folder.tar.gz"
