#!/usr/bin/env bash
# Runs the programs of build_gpu_bundle.sh on this machine's first GPU and writes a report.
#
#   run_gpu_report.sh [--parts LIST] [--out FOLDER]
#
# LIST, comma-separated, of: tests, contract, routes (the contract suite with every top-k route forced
# in turn), sanitize (compute-sanitizer's four tools, each with every route forced in turn, on a
# reduced set), bench, torch. Default: all of them.
# FOLDER (default: ./gpu-report) gets report.md, one CSV a benchmark, and the logs.
# Exit status: 0 when everything passed; parts that cannot run here are skipped with a reason.
#
# Limits in seconds: WINNOW_REPORT_SECONDS (240) for a test, WINNOW_BENCH_SECONDS (120) for a group of
# benchmarks. WINNOW_BENCH_GROUPS names the groups (tests/bench/cuda/README.md), WINNOW_BENCH_QUICK=1
# takes few cases of each. WINNOW_REPORT_SHARDS (8) processes share a contract suite,
# WINNOW_SANITIZE_SHARDS (4) that of a sanitizer. WINNOW_SANITIZE_ROUTES names some of: any short stream split cluster exact
# fused;
# WINNOW_SANITIZE_FEW=1 has all tools run on the few rows that racecheck of clusters runs on.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
parts=tests,contract,routes,sanitize,bench,torch
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
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
failures=0
limit=${WINNOW_REPORT_SECONDS:-240}
shards=${WINNOW_REPORT_SHARDS:-8}
sanitizer_shards=${WINNOW_SANITIZE_SHARDS:-4}
export WINNOW_TEST_DATA=${WINNOW_TEST_DATA:-$here/data}
export WINNOW_REQUIRE_DEVICE=1 # nothing passes because nothing ran

wants() { case ",$parts," in *",$1,"*) return 0 ;; esac; return 1; }
note() { echo "$*" | tee -a "$report"; }

# result NAME STATUS SECONDS DETAIL: one line of the table.
result() {
  case $2 in
    0) note "| $1 | passed | $3 s | $4 |" ;;
    124) note "| $1 | ran out of its $limit s | $3 s | $4 |"; failures=$((failures + 1)) ;;
    *) note "| $1 | FAILED ($2) | $3 s | $4 |"; failures=$((failures + 1)) ;;
  esac
}

# passed_tests LOG...: how many tests of these logs passed.
passed_tests() { cat "$@" | grep -c '^\[       OK \]' || true; }

# run_one NAME COMMAND...: a program with a limit.
run_one() {
  local name=$1 start status=0 log
  shift
  log=$logs/${name// /_}.log
  start=$(date +%s)
  timeout "$limit" "$@" >"$log" 2>&1 || status=$?
  result "$name" "$status" $(($(date +%s) - start)) "$(passed_tests "$log") tests"
}

# run_shards NAME [VARIABLE=VALUE...]: the contract suite, spread over processes.
run_shards() {
  local name=$1 start status=0 one shard pids=() shard_logs=()
  shift
  start=$(date +%s)
  for ((shard = 0; shard < shards; ++shard)); do
    shard_logs+=("$logs/${name// /_}.$shard.log")
    env GTEST_TOTAL_SHARDS="$shards" GTEST_SHARD_INDEX="$shard" "$@" timeout "$limit" \
      "$here/contract_cuda_test" >"$logs/${name// /_}.$shard.log" 2>&1 &
    pids+=($!)
  done
  for pid in "${pids[@]}"; do
    one=0
    wait "$pid" || one=$?
    [ "$one" -eq 0 ] || status=$one
  done
  result "$name" "$status" $(($(date +%s) - start)) "$(passed_tests "${shard_logs[@]}") tests"
}

# sanitize_one TOOL ROUTE SHARD: one shard of the reduced contract suite under one tool; ROUTE `any`
# leaves the choice to the policy and runs every test, `fused` those of a publish, with it fused, another one those of the top-k. Clusters
# are too slow under racecheck: for them it runs every kernel on a few rows.
sanitize_one() {
  local tool=$1 route=$2 shard=$3 status=0 options filter=${WINNOW_SANITIZE_FILTER:-*}
  local program=contract_cuda_test
  options=(--tool "$tool" --error-exitcode 9 --print-limit 20)
  # A test asks for more memory than there is: the refusal is no error.
  if [ "$tool" = memcheck ]; then options+=(--report-api-errors no); fi
  if [ "$route" = fused ]; then
    export WINNOW_FORCE_FUSED_PUBLISH=1
    filter='*Publish*'
  elif [ "$route" != any ]; then
    export WINNOW_FORCE_ROUTE=$route
    filter='*EveryPattern*Rows*:*Winners*:*Nan*:*Sampling*:*SortedRows*:*Zeros*:*MixedLengths*:*EveryThreshold*'
    filter+=':*EveryBoundaryLengthIsRightInOneLaunch*:*EveryCombination*:*Bfloat16TakesEveryOption*:*MixedRequests*'
  fi
  if [ "$tool $route" = "racecheck cluster" ] || [ "${WINNOW_SANITIZE_FEW:-0}" = 1 ]; then
    program=gpu_few_rows_test
    filter='*'
  fi
  GTEST_TOTAL_SHARDS=$sanitizer_shards GTEST_SHARD_INDEX=$shard WINNOW_CONTRACT_SCALE=small \
    timeout "$limit" compute-sanitizer "${options[@]}" "$here/$program" \
    --gtest_filter="$filter" >"$logs/$tool.$route.$shard.log" 2>&1 || status=$?
  echo "$status" >"$logs/$tool.$route.$shard.status"
}

# run_sanitizers: every tool on every route, as many processes at once as there are processors.
run_sanitizers() {
  local tool route shard logs_of status running=0
  if ! command -v compute-sanitizer >/dev/null; then
    note "| compute-sanitizer | skipped: not installed | | |"
    return
  fi
  local routes=${WINNOW_SANITIZE_ROUTES:-any short stream split cluster exact fused}
  for route in $routes; do
    for tool in racecheck memcheck initcheck synccheck; do
      for ((shard = 0; shard < sanitizer_shards; ++shard)); do
        if [ "$running" -ge "$(nproc)" ]; then
          wait -n || true
          running=$((running - 1))
        fi
        sanitize_one "$tool" "$route" "$shard" &
        running=$((running + 1))
      done
    done
  done
  wait
  for route in $routes; do
    for tool in racecheck memcheck initcheck synccheck; do
      logs_of=("$logs/$tool.$route".*.log)
      status=$(sort -n "$logs/$tool.$route".*.status | tail -n 1)
      result "$tool, route $route" "$status" "-" "$(passed_tests "${logs_of[@]}") tests; $(
        grep -h 'SUMMARY' "${logs_of[@]}" | sed 's/^=* *//' | sort | uniq -c | tr -s ' \n' ' '
      )"
    done
  done
}

# judge GROUP CSV: what the checker of the group finds in its results. A finding is no failure.
judge() {
  local checker=check_growth.py said status=0
  [ "$1" = growth ] || checker=check_policy.py
  said=$(python3 "$here/$checker" "$2" 2>>"$out/bench.log") || status=$?
  # 3: it found some; 2: it says that there is nothing to judge.
  if [ -z "$said" ] || { [ "$status" -ne 0 ] && [ "$status" -ne 2 ] && [ "$status" -ne 3 ]; }; then
    said="$checker did not finish; see bench.log"
    failures=$((failures + 1))
  fi
  note ""
  note "### $1"
  note ""
  note "$said"
}

: >"$report"
note "# GPU report"
note ""
if ! command -v nvidia-smi >/dev/null; then
  note "No GPU driver on this machine: nothing was run."
  exit 0
fi
note "- device: $(nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader | head -1)"
note "- commit: $(cat "$here/commit.txt")"
note "- command: run_gpu_report.sh --parts $parts"
note ""
note "| test | result | time | detail |"
note "| --- | --- | --- | --- |"
if wants tests; then
  for test in device few_rows two_streams graph_capture lost_device; do
    run_one "gpu_${test}_test" "$here/gpu_${test}_test"
  done
fi
if wants contract; then run_shards "contract suite"; fi
if wants routes; then
  for route in exact short stream split cluster; do
    run_shards "contract suite, route $route" WINNOW_FORCE_ROUTE=$route
  done
  run_shards "contract suite, publish fused" WINNOW_FORCE_FUSED_PUBLISH=1 GTEST_FILTER='*Publish*'
fi
if wants sanitize; then run_sanitizers; fi
cat "$logs"/*.log >"$out/tests.log" 2>/dev/null || true

torch_csv=$out/torch.csv
if wants torch && ! timeout 120 python3 "$here/torch_topk.py" >"$torch_csv" 2>>"$out/bench.log"; then
  note ""
  note "torch.topk was not timed to the end: $(tail -n 1 "$out/bench.log")"
fi
if wants bench; then
  results=()
  for group in ${WINNOW_BENCH_GROUPS:-blocks topk bf16 ragged data publish}; do
    csv=$out/bench_$group.csv
    # Not for a table: the name keeps them from those who take bench_*.csv for one.
    case $group in growth | sweep) csv=$out/$group.csv ;; esac
    if ! timeout "${WINNOW_BENCH_SECONDS:-120}" "$here/kernel_bench" --group="$group" \
      ${WINNOW_BENCH_QUICK:+--quick} >"$csv" 2>>"$out/bench.log"; then
      note ""
      note "kernel_bench --group=$group did not finish; see bench.log"
      failures=$((failures + 1))
    fi
    case $group in
      growth | sweep) judge "$group" "$csv" ;;
      *) results+=("$csv") ;;
    esac
  done
  if [ "${#results[@]}" -gt 0 ]; then
    python3 "$here/make_table.py" "${results[@]}" --torch "$torch_csv" >>"$report" \
      2>>"$out/bench.log" || note "no table: see bench.log"
  fi
fi
echo "$failures failures; the report is $report"
[ "$failures" -eq 0 ]
