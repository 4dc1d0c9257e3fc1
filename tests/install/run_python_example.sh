#!/usr/bin/env bash
# run_python_example.sh SOURCE_FOLDER SERVER: makes the modules of proto/ and runs examples/topk_python beside SERVER with
# them, by the commands of examples/README.md, and compares what it prints with its expected.txt. Skipped (77) where no
# python3 has grpcio and protobuf, or protoc's plugin is missing.
set -euo pipefail
source=$1 server=$2

python=
for candidate in python3 /usr/bin/python3; do
  if "$candidate" -c 'import google.protobuf, grpc' 2>/dev/null; then
    python=$candidate
    break
  fi
done
if [[ -z $python ]] || ! command -v protoc grpc_python_plugin >/dev/null; then
  echo "skipped: no python3 with grpcio and protobuf, or no grpc_python_plugin"
  exit 77
fi

# shellcheck source=tests/install/temporary_server.sh
. "$(dirname "$0")/temporary_server.sh"

# The commands of the README, with a folder of our own for build/python and that interpreter for python3.
script=$(sed -n '/^mkdir -p build\/python/,/^```/{/^```/d;p}' "$source/examples/README.md")
script=${script//build\/python/"$folder/python"}
script=${script//python3 /"$python" }
[[ -n $script ]] || { echo "examples/README.md has no commands for Python"; exit 1; }

start_server "$server"
cd "$source"
WINNOW_TARGET="$target" bash -euo pipefail -c "$script" >"$folder/output"
diff "$folder/output" examples/topk_python/expected.txt

# An error is told by its reason: k that no server takes.
sed 's/step.k = 3/step.k = 4096/' examples/topk_python/topk.py >"$folder/bad.py"
status=0
PYTHONPATH="$folder/python" "$python" "$folder/bad.py" "$target" 2>"$folder/error" || status=$?
if [[ $status -ne 1 ]] || ! grep -q "reason ERROR_REASON_K_OUT_OF_RANGE, field 'step.k', value '4096'" "$folder/error"; then
  cat "$folder/error"
  exit 1
fi
