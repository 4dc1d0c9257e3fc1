#!/usr/bin/env python3
"""Compiles CUDA sources with -Xptxas -v and fails when a kernel spills or uses too many registers.

Needs a compiler, no GPU. Prints one line a kernel: registers, stack, spills, shared memory.

  check_spills.py --nvcc NVCC --arch 90a --include DIR... [--allow REGEX]... [--known BYTES REGEX]... SOURCE...

A kernel whose demangled name matches an --allow pattern may spill: slow exact paths only. --known BYTES REGEX names a
kernel that is known to spill, by so many bytes at most; one that no longer does, or does more, fails.
"""

import argparse
import re
import subprocess
import sys
import tempfile

ENTRY = re.compile(r"Compiling entry function '(\S+)' for '(\S+)'")
PROPERTIES = re.compile(r"Function properties for (\S+)")
FRAME = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
USED = re.compile(r"Used (\d+) registers")
SHARED = re.compile(r"(\d+) bytes smem")


def demangle(names):
    try:
        out = subprocess.run(["c++filt"], input="\n".join(names), text=True, check=True,
                             stdout=subprocess.PIPE).stdout
    except (OSError, subprocess.CalledProcessError):
        return names
    return out.splitlines()


def kernels_of(report):
    """Yields (name, stack, stores, loads, registers, shared) from what ptxas printed: kernels, then the functions that
    they call, of which it tells no registers."""
    entry = name = None
    frames, kernels = {}, set()
    for line in report.splitlines():
        if match := ENTRY.search(line):
            entry = name = match.group(1)
        elif match := PROPERTIES.search(line):
            name = match.group(1)
        elif (match := FRAME.search(line)) and name:
            frames[name] = tuple(int(group) for group in match.groups())
        elif (match := USED.search(line)) and entry:
            shared = SHARED.search(line)
            kernels.add(entry)
            yield (entry, *frames.get(entry, (0, 0, 0)), int(match.group(1)), int(shared.group(1)) if shared else 0)
            entry = None
    for name, frame in frames.items():
        if name not in kernels and "winnow" in name:
            yield (name, *frame, 0, 0)


def compile_verbose(args, source):
    with tempfile.TemporaryDirectory() as folder:
        command = [args.nvcc, "-std=c++20", "-O3", "--expt-relaxed-constexpr",
                   f"--generate-code=arch=compute_{args.arch},code=[sm_{args.arch}]",
                   "-Xptxas=-v", "-c", source, "-o", f"{folder}/object.o"]
        command += [f"-I{path}" for path in args.include]
        result = subprocess.run(command, text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT)
    if result.returncode != 0:
        sys.exit(f"{source} does not compile:\n{result.stdout}")
    return result.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nvcc", required=True)
    parser.add_argument("--arch", default="90a")
    parser.add_argument("--include", action="append", default=[])
    parser.add_argument("--allow", action="append", default=[])
    parser.add_argument("--known", action="append", default=[], nargs=2)
    parser.add_argument("sources", nargs="+")
    args = parser.parse_args()
    bad = count = 0
    for source in args.sources:
        rows = list(kernels_of(compile_verbose(args, source)))
        for row, name in zip(rows, demangle([row[0] for row in rows])):
            _, stack, stores, loads, registers, shared = row
            spills = stores or loads
            allowed = any(re.search(pattern, name) for pattern in args.allow)
            known = [int(most) for most, pattern in args.known if re.search(pattern, name)]
            verdict = "ok" if not spills else "allowed" if allowed else "SPILLS"
            if known:
                verdict = "known" if 0 < max(stores, loads) <= known[0] else "SPILLS" if spills else "UNKNOWN"
            short = re.sub(r"winnow::(cuda::)?|\(anonymous namespace\)::", "", name).split("(")[0]
            print(f"{verdict:8} {registers:3} registers {stack:4} stack {stores:4} + {loads:4} "
                  f"spilled {shared:6} shared  {short}")
            bad += verdict in ("SPILLS", "UNKNOWN")
            count += 1
    if count == 0:
        sys.exit("no kernel was compiled")
    print(f"{count} kernels, {bad} spill or do not although they are listed as known")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
