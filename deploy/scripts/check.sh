#!/usr/bin/env bash
# What a change must pass before review: format, proto lint, layers, warnings-free build, clang-tidy, tests.
#   deploy/scripts/check.sh           clang-tidy looks at what differs from the main branch
#   deploy/scripts/check.sh --all     clang-tidy looks at everything
#   deploy/scripts/check.sh PATH...   clang-tidy looks at these folders or files
# A step whose tool cannot be had is named in the last lines and does not fail the check.
set -euo pipefail
cd "$(dirname "$0")/../.."
. deploy/scripts/packages.sh
winnow_prepare build test check
winnow_use_cache

skipped=()
step() {
  local name=$1 status=0
  shift
  echo "== $name"
  "$@" || status=$?
  if [[ $status -eq 77 ]]; then
    skipped+=("$name")
  elif [[ $status -ne 0 ]]; then
    echo "check.sh: $name failed" >&2
    exit 1
  fi
}

step "shell scripts" deploy/scripts/check_shell.sh
step "format" deploy/scripts/format.sh --check
step "proto lint" deploy/scripts/lint_proto.sh
step "layers and limits" tests/layering/check_layers.py .
step "layer check finds violations" tests/layering/check_layers.py --self-test
step "configure" cmake --preset dev
step "build" cmake --build --preset dev
step "clang-tidy" deploy/scripts/tidy.sh "$@"
step "tests" ctest --preset dev -j "$(nproc)" -LE lint

for name in "${skipped[@]}"; do
  echo "check.sh: skipped: $name"
done
echo "check.sh: passed"
