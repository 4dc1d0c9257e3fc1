#!/usr/bin/env bash
# Lints the proto files with Buf (STANDARD and COMMENTS, proto/buf.yaml). Buf comes from PyPI into build/buf.
set -euo pipefail
cd "$(dirname "$0")/../.."

if [[ ! -x build/buf/bin/buf ]]; then
  log=$(mktemp)
  trap 'rm -f "$log"' EXIT
  if ! { python3 -m venv build/buf && build/buf/bin/pip install --quiet --disable-pip-version-check buf-bin; } >"$log" 2>&1
  then
    rm -rf build/buf
    echo "skipped: buf-bin could not be installed from PyPI: $(tail -n 1 "$log")"
    exit 77
  fi
fi
build/buf/bin/buf lint proto
echo "proto files pass Buf STANDARD and COMMENTS"
