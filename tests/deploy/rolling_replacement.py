#!/usr/bin/env python3
"""Replaces a server under clients that retry: the next one takes the socket over, and no request is lost."""

import pathlib
import subprocess
import tempfile
import threading
import time

import support
from support import check

CLIENTS = 3
REPLACEMENTS = 3
UNREACHABLE = 3  # exit code of winnow when no server answers


def main():
    with tempfile.TemporaryDirectory(prefix='winnow-rolling.') as path:
        folder = pathlib.Path(path)
        command = support.topk_files(folder)
        stop = threading.Event()
        results, attempts = [], []

        def request():
            """One request: repeated while no server answers, or the one that does is draining."""
            deadline = time.monotonic() + 20
            while True:
                # Each attempt is a process: it connects anew, as an engine that lost its connection does.
                done = subprocess.run([support.CLI, *command, f'--target=unix:{folder}/winnow.sock', '--timeout=20'],
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60, check=False)
                retryable = done.returncode == UNREACHABLE or b'draining' in done.stdout
                if not retryable or time.monotonic() > deadline:
                    return done.returncode, done.stdout
                attempts.append(done.returncode)

        def client():
            while not stop.is_set():
                results.append(request())

        clients = []
        server = support.Server(folder=folder).__enter__()
        try:
            clients = [threading.Thread(target=client) for _ in range(CLIENTS)]
            for each in clients:
                each.start()
            for _ in range(REPLACEMENTS):
                before = len(results)
                while len(results) < before + 2 * CLIENTS:
                    stop.wait(0.01)
                check(server.stop() == 0, 'the old server ends with 0')
                server = support.Server(folder=folder).__enter__()
        finally:
            stop.set()
            for each in clients:
                each.join()
            server.process.kill()
            server.process.wait()
        lost = [output for code, output in results if code != 0]
        print(f'{len(results)} requests over {REPLACEMENTS} replacements, {len(attempts)} attempts repeated, '
              f'{len(lost)} lost')
        check(not lost, lost[:1])


if __name__ == '__main__':
    main()
