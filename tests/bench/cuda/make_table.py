#!/usr/bin/env python3
"""Turns kernel_bench's CSV into tables: time, ratio to the floor of the same run, ratio to the peers.

  make_table.py RESULTS.csv... [--peers peers.csv] [--torch torch.csv]

Cases that were timed in turns (groups options and parts) get tables of their ratios instead.
"""

import argparse
import math
import os
import sys
from collections import defaultdict

import bench_results
import set_tables

SHAPE = ("operation", "dtype", "rows", "columns", "k")


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
    # Pages and seeds are named where they are not always the same.
    varied = {(row["page_size"], row["seed"]) for row in rows} != {("64", "0")}
    print(f"\n### {title}\n")
    print("| rows x columns | k | data | " + ("page | seed | " if varied else "")
          + "median us | min us | floor us | ratio | best peer us | speed-up |")
    print("| --- " * (11 if varied else 9) + "|")
    speedups = []
    for row in rows:
        peer = peers.get(tuple(row[name] for name in SHAPE) + (row["overlap"],))
        comparable = (peer and row["cache"] == "cold" and row["data"] == "normal"
                      and row["deterministic"] == "0" and row["page_size"] == "64")
        median = float(row["median_us"])
        speedup = peer[1] / median if comparable and median > 0 else None
        if speedup:
            speedups.append(speedup)
        data = row["data"] + (" det." if row["deterministic"] == "1" else "")
        print(f"| {bench_results.shape_name(row)} | {row['k']} | {data} | "
              + (f"{row['page_size']} | {row['seed']} | " if varied else "")
              + f"{row['median_us']} | {row['min_us']} | {row['floor_us']} | {row['ratio']} | "
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
    peer_rows = bench_results.read(args.peers) if os.path.exists(args.peers) else []
    if args.torch and os.path.exists(args.torch):
        peer_rows += bench_results.read(args.torch)
    rows = bench_results.read_all(args.results)
    if not rows:
        sys.exit("no results")
    groups = defaultdict(list)
    for row in rows:
        if row["set"] == "0":
            groups[row["operation"], row["dtype"], row["cache"], row["overlap"]].append(row)
    peers = best_peers(peer_rows)
    for (operation, dtype, cache, overlap), of_group in groups.items():
        print_group(f"{operation}, {dtype}, {cache}, {overlap}", of_group, peers)
    set_tables.print_sets(rows)


if __name__ == "__main__":
    main()
