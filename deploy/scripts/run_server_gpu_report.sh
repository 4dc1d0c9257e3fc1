#!/usr/bin/env bash
# Runs the programs of build_server_gpu_bundle.sh on this machine's first GPU and writes a report.
#
#   run_server_gpu_report.sh [--parts LIST] [--out FOLDER]
#
# LIST, comma-separated, of: suites (the integration suites on the CUDA backend), backend (the
# contract of backends), torch (memory shared with PyTorch), bench, mps (latencies
# beside an engine that never idles, with and without the Multi-Process Service). Default: suites,backend,torch,bench.
# FOLDER (default: ./server-gpu-report) gets report.md, bench.csv and the logs.
# Exit status: 0 when everything passed; parts that cannot run here are skipped with a reason.
#
# Limits in seconds: WINNOW_REPORT_SECONDS (150) for a suite, WINNOW_BENCH_SECONDS (100) for the
# benchmark. Suites run side by side, each with servers of its own.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
parts=suites,backend,torch,bench
out=server-gpu-report
while [ $# -gt 0 ]; do
  case $1 in
    --parts) parts=$2; shift 2 ;;
    --out) out=$2; shift 2 ;;
    *) echo "unknown argument $1" >&2; exit 2 ;;
  esac
done
mkdir -p "$out"
report=$out/report.md
limit=${WINNOW_REPORT_SECONDS:-150}
bench_limit=${WINNOW_BENCH_SECONDS:-100}
failures=0
export WINNOW_REQUIRE_DEVICE=1 # nothing passes because nothing ran
export WINNOW_TEST_BACKEND=cuda WINNOW_TEST_PROGRAMS=$here
export WINNOW_TEST_DATA=${WINNOW_TEST_DATA:-$here/data}

wants() { case ",$parts," in *",$1,"*) return 0 ;; esac; return 1; }
note() { echo "$*" | tee -a "$report"; }
used_mib() { nvidia-smi --query-gpu=memory.used --format=csv,noheader,nounits | head -1; }

# start NAME COMMAND...: a program with a limit, in the background; finish NAME waits for it.
declare -A pid_of
start() {
  local name=$1
  shift
  (
    begin=$(date +%s)
    status=0
    timeout -k 5 "$limit" "$@" >"$out/$name.log" 2>&1 || status=$?
    echo "$status $(($(date +%s) - begin))" >"$out/$name.status"
  ) &
  pid_of[$name]=$!
}

finish() {
  local name=$1 status seconds result log
  wait "${pid_of[$name]}" || true
  read -r status seconds <"$out/$name.status"
  rm "$out/$name.status"
  log=$out/$name.log
  case $status in
    0) result=passed ;;
    124 | 137) result="ran out of its $limit s" ;;
    *) result="FAILED ($status)" ;;
  esac
  [ "$status" -eq 0 ] || failures=$((failures + 1))
  note "| $name | $result | $seconds s | $(grep -c '^\[       OK \]' "$log" || true) passed, $(
    grep -c '^\[  FAILED  \].*ms)$' "$log" || true
  ) failed, $(grep -c '^\[  SKIPPED \].*ms)$' "$log" || true) skipped |"
  { grep -hE '^\[  FAILED  \].*ms\)$' "$log" || true; } | sed 's/^/  - /' >>"$out/failed.md"
}

: >"$report"
: >"$out/failed.md"
note "# Server on a GPU"
note ""
if ! command -v nvidia-smi >/dev/null; then
  note "No GPU driver on this machine: nothing was run."
  exit 0
fi
note "- device: $(nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader | head -1)"
note "- host: $(nproc) cores, $(uname -r)"
note "- commit: $(cat "$here/commit.txt")"
note "- command: run_server_gpu_report.sh --parts $parts"
note "- device memory in use before: $(used_mib) MiB"
note ""

if wants bench; then
  status=0
  timeout -k 5 "$bench_limit" "$here/resident_bench" ${WINNOW_BENCH_ARGUMENTS:-} >"$out/bench.csv" \
    2>"$out/bench.log" || status=$?
  note "## Round trips and rates (resident_bench ${WINNOW_BENCH_ARGUMENTS:-}; status $status)"
  note ""
  note '```'
  note "$(cat "$out/bench.csv")"
  note '```'
  note ""
  [ "$status" -eq 0 ] || failures=$((failures + 1))
fi

if wants suites || wants backend; then
  note "| suite | result | time | tests |"
  note "| --- | --- | --- | --- |"
fi
if wants suites; then
  suites=(MemorySharingTest:EngineTest LeaseTest LeaseCloseTest OperationsTest ExecuteStreamTest MalformedTest
    LifecycleTest OverloadTest)
  for suite in "${suites[@]}"; do
    filter="$(sed 's/:/.*:/g' <<<"$suite").*"
    start "${suite##*:}" "$here/integration_suites" --gtest_filter="$filter"
  done
fi
if wants backend; then
  start backend_contract "$here/backend_contract_test" --gtest_filter='*uda*'
  start lost_device "$here/lost_device_test"
  start request_path "$here/device_backend_test" --gtest_filter='RequestPathTest.*'
fi
if wants suites; then for suite in "${suites[@]}"; do finish "${suite##*:}"; done; fi
if wants backend; then
  finish backend_contract
  finish request_path
  finish lost_device
fi
# It asks the driver for the memory in use: nothing else may run meanwhile.
if wants suites; then
  start LeaseKillTest "$here/integration_suites" --gtest_filter='LeaseKillTest.*'
  finish LeaseKillTest
fi
if wants suites || wants backend; then
  note ""
  note "$(cat "$out/failed.md")"
  if wants suites; then note "- killed clients: $(grep -h 'MiB of the device' "$out/LeaseKillTest.log" || true)"; fi
  note "- device memory in use after the suites: $(used_mib) MiB"
fi

if wants torch; then
  for allocator in default expandable_segments:True; do
    settings=$([ "$allocator" = default ] || echo "$allocator")
    status=0
    WINNOW_PYTHON_STUBS=$here/stubs PYTORCH_CUDA_ALLOC_CONF=$settings timeout -k 5 "$limit" python3 \
      "$here/torch_sharing.py" "$here/winnow-server" >"$out/torch_$allocator.log" 2>&1 || status=$?
    note "- PyTorch, allocator $allocator: status $status; $(grep -E '^(torch|skipped)' "$out/torch_$allocator.log" |
      tail -n 1 || true)"
    [ "$status" -eq 0 ] || failures=$((failures + 1))
  done
fi

# beside_engine NAME: the bench's latencies while a process that never idles has the GPU, and what
# that process lost.
beside_engine() {
  local name=$1 engine status=0
  "$here/engine_load" 3 >"$out/engine_${name}_alone.log" 2>&1 || status=$?
  "$here/engine_load" 60 >"$out/engine_$name.log" 2>&1 &
  engine=$!
  timeout -k 5 "$bench_limit" "$here/resident_bench" --parts=latency --calls=1000 \
    >"$out/bench_beside_$name.csv" 2>"$out/bench_beside_$name.log" || status=$?
  kill "$engine" 2>/dev/null || true
  wait "$engine" || true
  note ""
  note "## Beside an engine, $name (status $status)"
  note ""
  note "- engine alone: $(tail -n 1 "$out/engine_${name}_alone.log"); beside the server: $(tail -n 1 "$out/engine_$name.log")"
  note ""
  note '```'
  note "$(cat "$out/bench_beside_$name.csv")"
  note '```'
  [ "$status" -eq 0 ] || failures=$((failures + 1))
}

if wants mps; then
  beside_engine time_slicing
  pipes=$(mktemp -d)
  export CUDA_MPS_PIPE_DIRECTORY=$pipes CUDA_MPS_LOG_DIRECTORY=$pipes
  if timeout 20 nvidia-cuda-mps-control -d >"$out/mps.log" 2>&1; then
    beside_engine mps
    echo quit | timeout 20 nvidia-cuda-mps-control >/dev/null 2>&1 || true
    cat "$pipes"/*.log >>"$out/mps.log" 2>/dev/null || true
  else
    note "- MPS: skipped, the control daemon did not start: $(tail -n 1 "$out/mps.log")"
  fi
fi
echo "$failures failures; the report is $report"
[ "$failures" -eq 0 ]
