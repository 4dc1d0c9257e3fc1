#!/usr/bin/env python3
"""Compiles each public header of a folder alone, twice in one unit, without CUDA on the include path.

  check_public_headers.py --compiler g++ --headers kernels/include [--include DIR ...]
"""

import argparse
import concurrent.futures
import pathlib
import subprocess
import sys


def compile_alone(compiler, header, folders):
    unit = f'#include "{header}"\n#include "{header}"\nint main() {{ return 0; }}\n'
    command = [compiler, '-std=c++20', '-fsyntax-only', '-Wall', '-Wextra', '-Wno-unused-parameter', '-Werror', '-x', 'c++', '-']
    for flag, folder in folders:
        command += [flag, str(folder)]
    return header, subprocess.run(command, input=unit, capture_output=True, text=True, timeout=300, check=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--compiler', required=True)
    parser.add_argument('--headers', required=True, type=pathlib.Path, help='the include folder with the headers')
    parser.add_argument('--include', action='append', default=[], type=pathlib.Path)
    parser.add_argument('--system', action='append', default=[], type=pathlib.Path)
    parser.add_argument('--jobs', type=int, default=2)
    arguments = parser.parse_args()

    headers = sorted(path.relative_to(arguments.headers).as_posix() for path in arguments.headers.rglob('*.h'))
    folders = [('-I', arguments.headers)] + [('-I', folder) for folder in arguments.include]
    folders += [('-isystem', folder) for folder in arguments.system]
    failures = 0
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for header, result in pool.map(lambda h: compile_alone(arguments.compiler, h, folders), headers):
            if result.returncode:
                failures += 1
                print(f'{header} does not compile alone:\n{result.stderr}')
    print(f'{len(headers)} headers, {failures} failures')
    return 1 if failures or not headers else 0


if __name__ == '__main__':
    sys.exit(main())
