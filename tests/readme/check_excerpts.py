#!/usr/bin/env python3
"""Checks that the C++ of README.md is taken from the programs of examples/, which tests/install compiles and runs.

  check_excerpts.py ROOT

Each ```cpp block is an excerpt of one program: its lines stand there one after another, whatever their indentation; a
line "..." stands for lines left out.
"""

import pathlib
import re
import sys

_BLOCK = re.compile(r'^```cpp\n(.*?)^```$', re.MULTILINE | re.DOTALL)


def lines_of(text):
    return [line.strip() for line in text.splitlines() if line.strip()]


def parts_of(block):
    """The block's runs of lines, between those that are "..."."""
    parts = [[]]
    for line in lines_of(block):
        if line == '...':
            parts.append([])
        else:
            parts[-1].append(line)
    return [part for part in parts if part]


def longest_run(part, program):
    """How many lines of the part follow each other in the program, from the part's first."""
    best = 0
    for start in range(len(program)):
        count = 0
        while count < len(part) and start + count < len(program) and program[start + count] == part[count]:
            count += 1
        best = max(best, count)
    return best


def first_missing(block, program):
    """The first line of the block that the program does not have where it should, or None."""
    for part in parts_of(block):
        count = longest_run(part, program)
        if count < len(part):
            return part[count]
    return None


def main():
    root = pathlib.Path(sys.argv[1])
    programs = {path: lines_of(path.read_text(encoding='utf-8')) for path in sorted(root.glob('examples/*/*.cc'))}
    blocks = _BLOCK.findall((root / 'README.md').read_text(encoding='utf-8'))
    failures = 0
    for block in blocks:
        missing = {path.name: first_missing(block, program) for path, program in programs.items()}
        if None not in missing.values():
            failures += 1
            print(f'in no example:\n{block}' + ''.join(f'  {name} lacks: {line}\n' for name, line in missing.items()))
    print(f'{len(blocks)} excerpts, {failures} of no example')
    return 1 if failures or not blocks else 0


if __name__ == '__main__':
    sys.exit(main())
