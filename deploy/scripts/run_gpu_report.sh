#!/usr/bin/env bash
# Runs the programs of build_gpu_bundle.sh on this machine's first GPU and writes a report.
#
#   run_gpu_report.sh [--parts LIST] [--out FOLDER]
#
# LIST, comma-separated, of: tests, contract, bench, torch, sanitize. Default: all of them.
# FOLDER (default: ./gpu-report) gets report.md, one CSV a benchmark, and the logs.
# Exit status: 0 when every test passed; parts that cannot run here are skipped with a reason.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
parts=tests,contract,bench,torch,sanitize
out=gpu-report
while [ $# -gt 0 ]; do
  case $1 in
    --parts) parts=$2; shift 2 ;;
    --out) out=$2; shift 2 ;;
    *) echo "unknown argument $1" >&2; exit 2 ;;
  esac
done
mkdir -p "$out"
report=$out/report.md
failures=0
export WINNOW_TEST_DATA=${WINNOW_TEST_DATA:-$here/data}

wants() { case ",$parts," in *",$1,"*) return 0 ;; esac; return 1; }
note() { echo "$*" | tee -a "$report"; }

# log_run NAME SECONDS COMMAND...: runs with a limit, logs, and adds one line to the report.
log_run() {
  local name=$1 limit=$2 start status=0
  shift 2
  start=$(date +%s)
  timeout "$limit" "$@" >>"$out/tests.log" 2>&1 || status=$?
  local took=$(($(date +%s) - start))
  case $status in
    0) note "| $name | passed | $took s |" ;;
    124) note "| $name | ran out of its $limit s | $took s |"; failures=$((failures + 1)) ;;
    *) note "| $name | FAILED ($status) | $took s |"; failures=$((failures + 1)) ;;
  esac
}

: >"$report"
: >"$out/tests.log"
note "# GPU report"
note ""
if ! command -v nvidia-smi >/dev/null; then
  note "No GPU driver on this machine: nothing was run."
  exit 0
fi
note "- device: $(nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader | head -1)"
note "- commit: $(cat "$here/commit.txt")"
note "- parts: $parts"
note "- command: run_gpu_report.sh --parts $parts"
note ""

if wants tests || wants contract || wants sanitize; then
  note "| test | result | time |"
  note "| --- | --- | --- |"
fi
if wants tests; then
  for test in device two_streams graph_capture lost_device; do
    log_run "gpu_${test}_test" 180 "$here/gpu_${test}_test"
  done
fi
if wants contract; then
  log_run "contract_cuda_test" "${WINNOW_CONTRACT_SECONDS:-300}" "$here/contract_cuda_test" \
    --gtest_brief=1
fi
if wants sanitize; then
  if command -v compute-sanitizer >/dev/null; then
    filter=${WINNOW_SANITIZE_FILTER:-'*'}
    for tool in memcheck racecheck initcheck synccheck; do
      WINNOW_CONTRACT_SCALE=small log_run "compute-sanitizer $tool" \
        "${WINNOW_SANITIZE_SECONDS:-120}" compute-sanitizer --tool "$tool" --error-exitcode 9 \
        --print-limit 20 "$here/contract_cuda_test" --gtest_brief=1 --gtest_filter="$filter"
    done
  else
    note "| compute-sanitizer | skipped: not installed | |"
  fi
fi

torch_csv=$out/torch.csv
if wants torch; then
  if ! timeout 120 python3 "$here/torch_topk.py" >"$torch_csv" 2>>"$out/tests.log"; then
    note ""
    note "torch.topk was not timed to the end: $(tail -1 "$out/tests.log")"
  fi
fi
if wants bench; then
  results=()
  for group in ${WINNOW_BENCH_GROUPS:-blocks topk bf16 ragged data publish}; do
    csv=$out/bench_$group.csv
    if ! timeout "${WINNOW_BENCH_SECONDS:-120}" "$here/kernel_bench" --group="$group" \
      ${WINNOW_BENCH_QUICK:+--quick} >"$csv" 2>>"$out/bench.log"; then
      note ""
      note "kernel_bench --group=$group did not finish; see bench.log"
      failures=$((failures + 1))
    fi
    results+=("$csv")
  done
  python3 "$here/make_table.py" "${results[@]}" --torch "$torch_csv" >>"$report" \
    2>>"$out/bench.log" || note "no table: see bench.log"
fi
echo "$failures failures; the report is $report"
[ "$failures" -eq 0 ]
