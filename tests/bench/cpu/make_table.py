#!/usr/bin/env python3
"""Makes the Markdown table of tests/bench/results/cpu_topk.md from several runs of cpu_topk_bench.

  make_table.py RUN.csv...

A figure is the median over the runs, with the least and the largest in brackets.
"""

import csv
import statistics
import sys


def size(length):
    return f'{length >> 20}M' if length >= 1 << 20 else f'{length >> 10}K'


def figure(values, digits):
    shown = [f'{value:,.{digits}f}' for value in (statistics.median(values), min(values), max(values))]
    return f'{shown[0]} ({shown[1]} to {shown[2]})'


def main():
    runs = []
    for path in sys.argv[1:]:
        with open(path, newline='', encoding='utf-8') as file:
            runs.append(list(csv.DictReader(file)))
    print('| dtype | rows x scores | k | top-k, us | nth_element / top-k | top-k / read |')
    print('| --- | --- | --- | --- | --- | --- |')
    for cases in zip(*runs, strict=True):
        first = cases[0]
        if any(case[key] != first[key] for case in cases for key in ('dtype', 'rows', 'length', 'k')):
            raise SystemExit('the runs are not of the same shapes')
        columns = [figure([float(case[key]) for case in cases], digits)
                   for key, digits in (('topk_us', 0), ('nth_element_over_topk', 1), ('topk_over_read', 1))]
        shape = f'{first["rows"]} x {size(int(first["length"]))}'
        print('| ' + ' | '.join([first['dtype'], shape, first['k'], *columns]) + ' |')


if __name__ == '__main__':
    main()
