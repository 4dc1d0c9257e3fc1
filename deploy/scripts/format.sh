#!/usr/bin/env bash
# Formats the sources with clang-format 14, or with --check says which are not formatted.
set -euo pipefail
cd "$(dirname "$0")/../.."

formatter=""
for candidate in clang-format-14 clang-format; do
  if command -v "$candidate" >/dev/null && "$candidate" --version | grep -q "version 14\."; then
    formatter=$candidate
    break
  fi
done
if [[ -z $formatter ]]; then
  echo "skipped: clang-format 14 is not installed (another version lays out differently)"
  exit 77
fi

mapfile -d '' files < <(find kernels server client tests examples -type f \
  \( -name '*.h' -o -name '*.cc' -o -name '*.cuh' -o -name '*.cu' \) -print0 2>/dev/null)
if [[ "${1:-}" == --check ]]; then
  "$formatter" --dry-run --Werror "${files[@]}"
  echo "${#files[@]} files are formatted"
else
  "$formatter" -i "${files[@]}"
fi
