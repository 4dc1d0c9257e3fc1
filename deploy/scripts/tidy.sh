#!/usr/bin/env bash
# Runs clang-tidy 14 on the C++ sources that differ from the main branch, or on all of them with --all.
# Needs a configured build/dev (its generated headers too): check.sh builds it first.
set -euo pipefail
cd "$(dirname "$0")/../.."

tidy=""
for candidate in clang-tidy-14 clang-tidy; do
  if command -v "$candidate" >/dev/null && "$candidate" --version | grep -q "version 14\."; then
    tidy=$candidate
    break
  fi
done
if [[ -z $tidy ]]; then
  echo "skipped: clang-tidy 14 is not installed"
  exit 77
fi
if [[ ! -f build/dev/compile_commands.json ]]; then
  echo "tidy.sh: build/dev is not configured: cmake --preset dev && cmake --build --preset dev" >&2
  exit 1
fi

if [[ "${1:-}" == --all ]]; then
  mapfile -t files < <(git ls-files '*.cc')
else
  base=$(git merge-base HEAD "${WINNOW_BASE_BRANCH:-main}")
  mapfile -t files < <({ git diff --name-only --diff-filter=d "$base"; git ls-files --others --exclude-standard; } |
    grep '\.cc$' | sort -u)
fi
# Only what this build compiles: another backend's sources have no compile command.
known=()
for file in "${files[@]}"; do
  if grep -qF "\"file\": \"$PWD/$file\"" build/dev/compile_commands.json; then
    known+=("$file")
  fi
done
if [[ ${#known[@]} -eq 0 ]]; then
  echo "no C++ source to look at"
  exit 0
fi
printf '%s\0' "${known[@]}" |
  xargs -0 -n 1 -P "$(nproc)" "$tidy" --quiet -p build/dev --extra-arg=-Wno-unknown-warning-option
echo "clang-tidy passes on ${#known[@]} files"
