#!/usr/bin/env python3
"""Looks for cliffs in what kernel_bench --group=growth printed: neighbouring points that differ by about 10 % in work and by
more than 1.5 times in time, either way.

  check_growth.py GROWTH.csv...

Points are neighbours along the length of a row or along the number of rows, all else the same. A wider gap is no cliff by that
rule, but is named where time grows 1.36 times faster than work, as it does at a cliff. Exit status: 3 with a cliff, 2 when no
two points are close enough to judge.
"""

import sys
from collections import defaultdict

import bench_results

MOST_TIME = 1.5        # times, from a point to its neighbour
CLOSE_WORK = 1.15      # times: still "about 10 %"
WIDE_WORK = 2.0        # times: no statement about wider gaps
WIDE_EXCESS = MOST_TIME / 1.1  # growth of time over growth of work
FIXED = ('operation', 'dtype', 'data', 'k', 'cache', 'overlap', 'deterministic', 'outputs', 'page_size')


def series_of(rows, axis):
    """(fixed fields, what does not grow) -> [(value, row)], ascending; of a value that occurs twice the fastest."""
    other = 'rows' if axis == 'columns' else 'columns'
    found = defaultdict(dict)
    for row in rows:
        points = found[tuple(row[name] for name in FIXED) + (int(row[other]),)]
        value = int(row[axis])
        if value not in points or float(row['median_us']) < float(points[value]['median_us']):
            points[value] = row
    return {key: sorted(points.items()) for key, points in found.items()}


class Step:
    """From one point of a series to the next."""

    def __init__(self, below, above):
        (self.value, self.below), (self.next_value, self.above) = below, above
        self.work = self.next_value / self.value
        self.time = float(self.above['median_us']) / float(self.below['median_us'])

    def is_close(self):
        return self.work <= CLOSE_WORK

    def is_cliff(self):
        return self.is_close() and max(self.time, 1 / self.time) > MOST_TIME

    def looks_steep(self):
        return not self.is_close() and self.work <= WIDE_WORK and self.time > self.work * WIDE_EXCESS

    def __str__(self):
        routes = f' ({self.below["route"]} to {self.above["route"]})' if self.below['route'] else ''
        return (f'{self.below["dtype"]} k {self.below["k"]} {self.below["overlap"]}: {bench_results.shape_name(self.below)} '
                f'{self.below["median_us"]} us, {bench_results.shape_name(self.above)} {self.above["median_us"]} us: work '
                f'{self.work:.3f} times, time {self.time:.2f} times{routes}')


def steps_of(rows):
    """All steps along both axes."""
    steps = []
    for axis in 'columns', 'rows':
        for points in series_of(rows, axis).values():
            steps += [Step(below, above) for below, above in zip(points, points[1:])]
    return steps


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    steps = steps_of(bench_results.read_all(sys.argv[1:]))
    close = [step for step in steps if step.is_close()]
    if not close:
        print(f'no two of the points differ by at most {CLOSE_WORK} times in work')
        return 2
    cliffs = [step for step in close if step.is_cliff()]
    steep = [step for step in steps if step.looks_steep()]
    for title, found in (('cliff', cliffs), ('steep over a wide gap', steep)):
        for step in sorted(found, key=lambda step: -max(step.time, 1 / step.time)):
            print(f'- {title}: {step}')
    largest = max(close, key=lambda step: max(step.time, 1 / step.time))
    print(f'{len(close)} steps of about 10 % or less: {len(cliffs)} cliffs; the largest step is {largest}')
    print(f'{len(steps) - len(close)} wider steps: {len(steep)} look steep')
    return 3 if cliffs else 0


if __name__ == '__main__':
    sys.exit(main())
