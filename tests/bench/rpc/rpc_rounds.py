#!/usr/bin/env python3
"""Makes tables of several rounds of rpc_bench: medians over the rounds, and the range of all.

  rpc_rounds.py RESULT.csv

Latency: what Winnow adds to the median round trip of each echo. Rate: its calls a second as a share
of each echo's. Every figure is a median over the rounds; in brackets are the least and the greatest
of a round.
"""

import csv
import statistics
import sys
from collections import defaultdict

SERVERS = ("echo", "polling_echo", "winnow")


def read(path):
    """Figures by (kind, transport, style, calls in flight) and server, in the order of rounds."""
    figures = defaultdict(lambda: defaultdict(list))
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            name = "p50_us" if row["kind"] == "latency" else "calls_per_second"
            key = (row["kind"], row["transport"], row["style"], int(row["in_flight"]))
            figures[key][row["server"]].append(float(row[name]))
    return figures


def with_range(values, digits):
    low, high = min(values), max(values)
    return f"{statistics.median(values):,.{digits}f} ({low:,.{digits}f} to {high:,.{digits}f})"


def print_latencies(figures):
    print("| transport, style | echo, us | polling echo, us | Winnow, us | over echo, us | over polling echo, us |")
    print("| --- | --- | --- | --- | --- | --- |")
    for (kind, transport, style, _), by_server in figures.items():
        if kind != "latency":
            continue
        own = statistics.median(by_server["winnow"])
        cells = [with_range(by_server[server], 1) for server in SERVERS]
        cells += [f"{own - statistics.median(by_server[echo]):.1f}" for echo in SERVERS[:2]]
        print("|", transport, style, "|", " | ".join(cells), "|")


def print_rates(figures):
    print("| transport, style | in flight | Winnow, calls a second | of echo | of polling echo |")
    print("| --- | --- | --- | --- | --- |")
    for (kind, transport, style, in_flight), by_server in figures.items():
        if kind != "rate":
            continue
        own = by_server["winnow"]
        cells = [with_range(own, 0)]
        for echo in SERVERS[:2]:
            shares = [mine / other for mine, other in zip(own, by_server[echo])]
            share = statistics.median(own) / statistics.median(by_server[echo])
            cells.append(f"{share:.2f} ({min(shares):.2f} to {max(shares):.2f})")
        print("|", transport, style, "|", in_flight, "|", " | ".join(cells), "|")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    figures = read(sys.argv[1])
    print_latencies(figures)
    print()
    print_rates(figures)


if __name__ == "__main__":
    main()
