#!/usr/bin/env python3
"""Runs the examples of README.md and compares what they print.

  check_examples.py --readme README.md --bin DIR [--bin DIR ...] [--update]

Each ```console block holds commands (lines that start with "$ ", continued after a backslash or within quotes) and
what they print. The blocks run in order in one fresh folder, against a server of their own on the CPU backend. What
differs between machines is not compared: lines that start with "time:", "routes:" or "pool:", and the processor's name.
--update writes what was printed into the README instead.
"""

import argparse
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

_TIMEOUT_S = 60
_BLOCK = re.compile(r'^```console\n(.*?)^```$', re.MULTILINE | re.DOTALL)
_NOT_COMPARED = re.compile(r'^(time:|routes:|pool:|.*\bcpu, ).*')


def split_steps(block):
    """The block's commands, each with what is said to follow."""
    steps = []
    continued = False
    for line in block.splitlines():
        if continued or line.startswith('$ '):
            if not continued:
                steps.append([[], []])
            steps[-1][0].append(line)
            continued = line.endswith('\\') or '\n'.join(steps[-1][0]).count('"') % 2 == 1
        elif steps:
            steps[-1][1].append(line)
        else:
            raise ValueError(f'output before any command: {line}')
    return [('\n'.join(command), '\n'.join(output)) for command, output in steps]


def python_with_numpy():
    """The folder of a python3 that has numpy, or None."""
    for python in (sys.executable, '/usr/bin/python3'):
        if subprocess.run([python, '-c', 'import numpy'], capture_output=True, check=False).returncode == 0:
            return os.path.dirname(python)
    return None


def run(command, folder, environment):
    shell = re.sub(r'^\$ ', '', command)
    result = subprocess.run(['bash', '-c', shell], cwd=folder, env=environment, timeout=_TIMEOUT_S,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return result.stdout.rstrip('\n')


def comparable(text):
    return [_NOT_COMPARED.sub(r'\1', line).rstrip() for line in text.splitlines()]


def start_server(folder, environment):
    target = f'unix:{folder}/winnow.sock'
    environment['WINNOW_TARGET'] = target
    server = subprocess.Popen(['winnow-server', f'--listen={target}', '--backend=cpu'], env=environment,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + _TIMEOUT_S
    while subprocess.run(['winnow', 'probe'], env=environment, capture_output=True, check=False).returncode != 0:
        if server.poll() is not None or time.monotonic() > deadline:
            server.kill()
            raise RuntimeError('the server did not start')
    return server


def check(text, run_step):
    """Runs every step; returns the text with what was printed, and how many steps differ."""
    differences = 0

    def redo(match):
        nonlocal differences
        lines = []
        for command, expected in split_steps(match.group(1)):
            printed = run_step(command)
            lines += [command] + ([printed] if printed else [])
            if comparable(printed) != comparable(expected):
                differences += 1
                print(f'{command}\n--- README\n{expected}\n--- printed\n{printed}\n')
        return '```console\n' + '\n'.join(lines) + '\n```'

    return _BLOCK.sub(redo, text), differences


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--readme', required=True, type=pathlib.Path)
    parser.add_argument('--bin', action='append', required=True)
    parser.add_argument('--update', action='store_true')
    arguments = parser.parse_args()

    python = python_with_numpy()
    if python is None:
        print('skipped: no python3 with numpy')
        return 77
    text = arguments.readme.read_text(encoding='utf-8')
    count = sum(len(split_steps(block)) for block in _BLOCK.findall(text))
    environment = dict(os.environ, PATH=':'.join([os.path.abspath(folder) for folder in arguments.bin] + [python, os.environ['PATH']]), COLUMNS='100')
    with tempfile.TemporaryDirectory() as folder:
        server = start_server(folder, environment)
        try:
            work = pathlib.Path(folder) / 'work'
            work.mkdir()
            updated, differences = check(text, lambda command: run(command, work, environment))
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(_TIMEOUT_S)
    if arguments.update:
        arguments.readme.write_text(updated, encoding='utf-8')
    print(f'{count} commands, {differences} differ')
    return 1 if count == 0 or (differences and not arguments.update) else 0


if __name__ == '__main__':
    sys.exit(main())
