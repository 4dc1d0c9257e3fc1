#!/usr/bin/env bash
# Checks that every shell script parses, is executable and stops at errors.
set -euo pipefail
cd "$(dirname "$0")/../.."

failures=0
count=0
while IFS= read -r -d '' script; do
  count=$((count + 1))
  problem=""
  bash -n "$script" || problem="does not parse"
  if head -n 1 "$script" | grep -q '^#!'; then
    [[ -x $script ]] || problem="is not executable"
    grep -Eq '^set -[eu]*e' "$script" || problem="does not stop at errors (set -euo pipefail)"
  fi
  if [[ -n $problem ]]; then
    echo "$script $problem"
    failures=$((failures + 1))
  fi
done < <(find deploy tests .ci -type f \( -name '*.sh' -o -path .ci/run \) -print0)
echo "$count scripts, $failures problems"
[[ $failures -eq 0 && $count -gt 0 ]]
