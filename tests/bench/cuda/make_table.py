#!/usr/bin/env python3
"""Turns kernel_bench's CSV into tables: time, ratio to the floor of the same run, ratio to the peers.

  make_table.py RESULTS.csv... [--peers peers.csv] [--torch torch.csv]
"""

import argparse
import csv
import math
import os
import sys
from collections import defaultdict

SHAPE = ("operation", "dtype", "rows", "columns", "k")


def read(path):
    with open(path, newline="") as file:
        rows = csv.DictReader(line for line in file if not line.startswith("#"))
        # Results put one behind the other have a header each.
        return [row for row in rows if row["rows"] != "rows"]


def columns_name(columns):
    columns = int(columns)
    return f"{columns // 1024}K" if columns % 1024 == 0 else str(columns)


def best_peers(rows):
    """(shape, overlap) -> (name, us) of the fastest. A peer timed one by one stands for both."""
    best = {}
    for row in rows:
        for overlap in ("chained", "serial") if row["overlap"] == "serial" else ("chained",):
            key = tuple(row[name] for name in SHAPE) + (overlap,)
            time = float(row["us"])
            if key not in best or time < best[key][1]:
                best[key] = (row["peer"], time)
    return best


def print_group(title, rows, peers):
    print(f"\n### {title}\n")
    print("| rows x columns | k | data | median us | min us | floor us | ratio | best peer us | "
          "speed-up |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    speedups = []
    for row in rows:
        peer = peers.get(tuple(row[name] for name in SHAPE) + (row["overlap"],))
        comparable = (peer and row["cache"] == "cold" and row["data"] == "normal"
                      and row["deterministic"] == "0")
        median = float(row["median_us"])
        speedup = peer[1] / median if comparable and median > 0 else None
        if speedup:
            speedups.append(speedup)
        data = row["data"] + (" det." if row["deterministic"] == "1" else "")
        print(f"| {row['rows']} x {columns_name(row['columns'])} | {row['k']} | {data} | "
              f"{row['median_us']} | {row['min_us']} | {row['floor_us']} | {row['ratio']} | "
              + (f"{peer[1]} ({peer[0]}) | {speedup:.2f}x |" if speedup else "- | - |"))
    if speedups:
        mean = math.exp(sum(map(math.log, speedups)) / len(speedups))
        slower = sum(speedup < 1 for speedup in speedups)
        print(f"\nGeometric mean against the best peer: {mean:.2f}x over {len(speedups)} shapes; "
              f"{slower} slower.")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", nargs="+")
    parser.add_argument("--peers", default=os.path.join(os.path.dirname(__file__), "peers.csv"))
    parser.add_argument("--torch")
    args = parser.parse_args()
    peer_rows = read(args.peers) if os.path.exists(args.peers) else []
    if args.torch and os.path.exists(args.torch):
        peer_rows += read(args.torch)
    groups = defaultdict(list)
    for path in args.results:
        for row in read(path):
            groups[row["operation"], row["dtype"], row["cache"], row["overlap"]].append(row)
    if not groups:
        sys.exit("no results")
    peers = best_peers(peer_rows)
    for (operation, dtype, cache, overlap), rows in groups.items():
        print_group(f"{operation}, {dtype}, {cache}, {overlap}", rows, peers)


if __name__ == "__main__":
    main()
