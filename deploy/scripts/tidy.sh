#!/usr/bin/env bash
# Runs clang-tidy 14 on C++ sources.
#   deploy/scripts/tidy.sh            those that differ from the main branch, or include a header that does
#   deploy/scripts/tidy.sh PATH...    those in these folders, or these files
#   deploy/scripts/tidy.sh --all      all of them, which takes long
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

changed() {
  local base
  base=$(git merge-base HEAD "${WINNOW_BASE_BRANCH:-main}")
  { git diff --name-only --diff-filter=d "$base"; git ls-files --others --exclude-standard; } | sort -u
}

# The sources among the names on standard input, and those that include a header among them.
sources() {
  local name
  while read -r name; do
    case $name in
      *.cc) echo "$name" ;;
      *.h) git grep -l -F "#include \"$name\"" -- '*.cc' || true ;;
    esac
  done | sort -u
}

case ${1:-} in
  --all) names=$(git ls-files '*.cc') ;;
  '') names=$(changed | sources) ;;
  *)
    names=$(git ls-files --error-unmatch -- "$@")
    names=$(grep '\.cc$' <<<"$names" || true)
    ;;
esac
mapfile -t files <<<"$names"
# Only what this build compiles: another backend's sources have no compile command.
known=()
for file in "${files[@]}"; do
  if [[ -n $file ]] && grep -qF "\"file\": \"$PWD/$file\"" build/dev/compile_commands.json; then
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
