#!/usr/bin/env python3
"""Measures an idle server on the CPU backend: time from start to ready, and resident memory.

  idle_server.py --server winnow-server --cli winnow [--max-ready-ms 200] [--max-resident-mb 40]

Ready is what a client sees: the socket answers GetServerInfo. The start is measured five times and the best counts, since
a busy machine only ever adds; memory is read after the server has answered and must hold each time.
"""

import argparse
import os
import pathlib
import re
import selectors
import signal
import subprocess
import sys
import tempfile
import time

_STARTS = 5
_TIMEOUT_S = 20


def wait_for_ready_line(process):
    """Reads the log until the line that says ready; returns that line."""
    deadline = time.monotonic() + _TIMEOUT_S
    log = b''
    with selectors.DefaultSelector() as selector:
        selector.register(process.stderr, selectors.EVENT_READ)
        while time.monotonic() < deadline:
            if not selector.select(deadline - time.monotonic()):
                break
            chunk = os.read(process.stderr.fileno(), 65536)
            log += chunk
            if not chunk or b'server ready' in log:
                break
    if b'server ready' not in log:
        raise RuntimeError(f'the server did not get ready: {log.decode(errors="replace")}')
    return log


def resident_kib(pid):
    status = pathlib.Path(f'/proc/{pid}/status').read_text(encoding='utf-8')
    return int(re.search(r'VmRSS:\s+(\d+) kB', status).group(1))


def measure(arguments, folder):
    """One start: seconds to ready and KiB resident."""
    target = f'unix:{folder}/winnow.sock'
    start = time.monotonic()
    process = subprocess.Popen([arguments.server, f'--listen={target}', '--backend=cpu'],
                               stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
    try:
        wait_for_ready_line(process)
        seconds = time.monotonic() - start
        # Proves that the line was true, and that a first call has been served when memory is read.
        subprocess.run([arguments.cli, 'info', '--target', target], check=True, timeout=_TIMEOUT_S,
                       stdout=subprocess.DEVNULL)
        resident = resident_kib(process.pid)
        process.send_signal(signal.SIGTERM)
        if process.wait(_TIMEOUT_S) != 0:
            raise RuntimeError(f'the server ended with {process.returncode}')
        return seconds, resident
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        process.stderr.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--server', required=True)
    parser.add_argument('--cli', required=True)
    parser.add_argument('--max-ready-ms', type=float, default=200)
    parser.add_argument('--max-resident-mb', type=float, default=40)
    arguments = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        starts = [measure(arguments, folder) for _ in range(_STARTS)]
    ready_ms = [round(seconds * 1000, 1) for seconds, _ in starts]
    resident_mb = [round(kib * 1024 / 1e6, 1) for _, kib in starts]
    print(f'start to ready: {min(ready_ms)} ms (all: {ready_ms}), limit {arguments.max_ready_ms}')
    print(f'resident when idle: {max(resident_mb)} MB (all: {resident_mb}), limit {arguments.max_resident_mb}')
    return 0 if min(ready_ms) < arguments.max_ready_ms and max(resident_mb) < arguments.max_resident_mb else 1


if __name__ == '__main__':
    sys.exit(main())
