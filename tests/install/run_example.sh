#!/usr/bin/env bash
# run_example.sh CMAKE BUILD_FOLDER SOURCE_FOLDER COMPILER EXAMPLE [SERVER]: installs the package from BUILD_FOLDER into a
# fresh folder, builds a copy of examples/EXAMPLE against it there, runs it (with SERVER listening, if given), and compares
# what it prints with its expected.txt. The example must find the package alone: only the prefix is passed on.
set -euo pipefail
cmake=$1 build=$2 source=$3 compiler=$4 example=$5 server=${6:-}

# shellcheck source=tests/install/temporary_server.sh
. "$(dirname "$0")/temporary_server.sh"

"$cmake" --install "$build" --prefix "$folder/prefix" --component winnow_development >/dev/null
cp -r "$source/examples/$example" "$folder/source"

options=()
if [[ -z $server ]]; then
  options=(-DCMAKE_DISABLE_FIND_PACKAGE_gRPC=ON -DCMAKE_DISABLE_FIND_PACKAGE_Protobuf=ON)  # kernels need neither
fi
"$cmake" -G Ninja -S "$folder/source" -B "$folder/build" -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER="$compiler" \
  -DCMAKE_PREFIX_PATH="$folder/prefix" "${options[@]}" >"$folder/configure.log" 2>&1 ||
  { cat "$folder/configure.log"; exit 1; }
"$cmake" --build "$folder/build" >"$folder/build.log" 2>&1 || { cat "$folder/build.log"; exit 1; }

arguments=()
if [[ -n $server ]]; then
  start_server "$server"
  arguments=("$target")
fi
"$folder/build/$example" "${arguments[@]}" >"$folder/output"
diff "$folder/output" "$folder/source/expected.txt"
