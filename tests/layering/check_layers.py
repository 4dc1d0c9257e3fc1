#!/usr/bin/env python3
"""Checks the sources against the layers and limits of docs/style.md.

  check_layers.py ROOT              checks the tree; exits 1 and lists what it found
  check_layers.py --self-test       checks that each fixture breaks exactly the rule that it is named after
"""

import argparse
import pathlib
import sys

import rules

_FOLDERS = ('kernels', 'server', 'client', 'tests', 'examples')
_SUFFIXES = ('.h', '.cc', '.cuh', '.cu')
_FIXTURES = pathlib.Path(__file__).parent / 'fixtures'


def sources(root):
    for folder in _FOLDERS:
        for path in sorted((root / folder).rglob('*')):
            if path.suffix in _SUFFIXES and _FIXTURES.name not in path.parts:
                yield path.relative_to(root).as_posix(), path.read_text(encoding='utf-8')


def check_build_files(root):
    for path in sorted(root.rglob('CMakeLists.txt')):
        relative = path.relative_to(root).as_posix()
        if relative.startswith('build'):
            continue
        for number, line in enumerate(path.read_text(encoding='utf-8').splitlines(), 1):
            code = line.split('#', 1)[0].lower().replace(' ', '')
            for forbidden in ('file(glob', 'include_directories(', 'link_directories('):
                if code.startswith(forbidden):
                    yield f'{relative}:{number}: {forbidden}...) is not used here; name sources and targets'


def check(root):
    count = 0
    problems = list(check_build_files(root))
    for path, text in sources(root):
        count += 1
        for rule in rules.RULES:
            problems.extend(rule(path, text))
    for problem in problems:
        print(problem)
    print(f'{count} files, {len(problems)} problems')
    return 1 if problems or count == 0 else 0


def self_test():
    """Each fixture's first line says as which path it is read, its second which rule it must break (or `none`)."""
    failures = 0
    fixtures = sorted(_FIXTURES.glob('*.txt'))
    for fixture in fixtures:
        path, expected, text = fixture.read_text(encoding='utf-8').split('\n', 2)
        broken = {rule.__name__ for rule in rules.RULES if list(rule(path, text))}
        wanted = set() if expected == 'none' else {expected}
        if broken != wanted:
            failures += 1
            print(f'{fixture.name}: breaks {sorted(broken)}, expected {sorted(wanted)}')
    covered = {fixture.read_text(encoding='utf-8').split('\n', 2)[1] for fixture in fixtures}
    missing = {rule.__name__ for rule in rules.RULES} - covered
    if missing:
        failures += 1
        print(f'no fixture breaks {sorted(missing)}')
    print(f'{len(fixtures)} fixtures, {failures} failures')
    return 1 if failures else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('root', nargs='?', type=pathlib.Path)
    parser.add_argument('--self-test', action='store_true')
    arguments = parser.parse_args()
    if arguments.self_test:
        return self_test()
    if arguments.root is None:
        parser.error('a root or --self-test')
    return check(arguments.root.resolve())


if __name__ == '__main__':
    sys.exit(main())
