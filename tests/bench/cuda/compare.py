#!/usr/bin/env python3
"""Compares two results of kernel_bench shape by shape: what AFTER costs over BEFORE, in percent.

  compare.py BEFORE.csv AFTER.csv

Prints one line a group (operation, dtype, cache, overlap), then the shapes that differ most. A shape
that occurs several times counts with its lowest median.
"""

import statistics
import sys
from collections import defaultdict

import bench_results

KEYS = ("operation", "dtype", "data", "rows", "columns", "k", "cache", "overlap", "deterministic",
        "outputs", "page_size", "seed", "policy")


def read(path):
    medians = {}
    for row in bench_results.read(path):
        key = tuple(row[name] for name in KEYS)
        medians[key] = min(float(row["median_us"]), medians.get(key, float("inf")))
    return medians


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    before, after = read(sys.argv[1]), read(sys.argv[2])
    groups = defaultdict(list)
    for key in before.keys() & after.keys():
        change = 100 * (after[key] / before[key] - 1)
        groups[key[0], key[1], key[6], key[7]].append((change, after[key] - before[key], key))
    if not groups:
        sys.exit("no shape is in both")
    print("| group | shapes | mean % | median % | largest % | above 2 % | largest us |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for group, rows in sorted(groups.items()):
        changes = [row[0] for row in rows]
        print(f"| {' '.join(group)} | {len(rows)} | {statistics.mean(changes):.1f} | "
              f"{statistics.median(changes):.1f} | {max(changes):.1f} | "
              f"{sum(change > 2 for change in changes)} | {max(row[1] for row in rows):.2f} |")
    print()
    everything = sorted((row for rows in groups.values() for row in rows), reverse=True)
    for change, micros, key in everything[:10]:
        print(f"- {change:+.1f} %, {micros:+.2f} us: {' '.join(key)}")


if __name__ == "__main__":
    main()
