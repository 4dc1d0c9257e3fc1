# shellcheck shell=bash
# Sourced by the tests of this folder: makes $folder, which goes with the script, as does the server that start_server
# leaves listening on $target.
folder=$(mktemp -d)
# shellcheck disable=SC2034  # the sourcing script's
target=unix:$folder/server.sock
server_pid=
finish() {
  if [[ -n $server_pid ]]; then
    kill "$server_pid" 2>/dev/null || true
    wait "$server_pid" 2>/dev/null || true
  fi
  rm -rf "$folder"
}
trap finish EXIT

start_server() {  # PROGRAM
  "$1" --backend=cpu --listen="$target" &
  server_pid=$!
}
