#!/usr/bin/env python3
"""Compares, in what kernel_bench --group=sweep printed, the policy's choice with the best of all routes at each shape.

  check_policy.py SWEEP.csv...

Names each shape where the choice takes more than 5 % longer. Exit status: 3 with such a shape, 2 when no shape has a choice and
another route to compare.
"""

import sys
from collections import defaultdict

import bench_results

MOST_OVER_BEST = 1.05


class Shape:
    """The policy's choice at one shape, and every other policy that was timed there."""

    def __init__(self):
        self.chosen = None
        self.tried = []  # rows

    def best(self):
        return min([*self.tried, self.chosen], key=lambda row: float(row['median_us']))

    def over_best(self):
        return float(self.chosen['median_us']) / float(self.best()['median_us'])

    def is_off(self):
        return self.over_best() > MOST_OVER_BEST

    def route(self):
        """Of the choice: 'cluster/16 loads 4', or '' where the results do not say."""
        return self.chosen['route']


def shapes_of(rows):
    """(dtype, k, columns, rows) -> Shape, of the shapes that have a choice and something beside it."""
    shapes = defaultdict(Shape)
    for row in rows:
        shape = shapes[row['dtype'], int(row['k']), int(row['columns']), int(row['rows'])]
        if row['policy'] == 'chosen':
            shape.chosen = row
        else:
            shape.tried.append(row)
    return {key: shape for key, shape in shapes.items() if shape.chosen and shape.tried}


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    shapes = shapes_of(bench_results.read_all(sys.argv[1:]))
    if not shapes:
        print('no shape has a choice and another route to compare')
        return 2
    off = sorted((shape for shape in shapes.values() if shape.is_off()), key=Shape.over_best, reverse=True)
    for shape in off:
        chosen, best = shape.chosen, shape.best()
        print(f'- {100 * (shape.over_best() - 1):.1f} %: {chosen["dtype"]} {bench_results.shape_name(chosen)} k {chosen["k"]}: '
              f'{shape.route() or "chosen"} {chosen["median_us"]} us, {best["policy"]} {best["median_us"]} us')
    worst = max(shapes.values(), key=Shape.over_best)
    print(f'{len(shapes)} shapes: at {len(off)} the choice is more than {100 * (MOST_OVER_BEST - 1):.0f} % off the best route; '
          f'at worst {100 * (worst.over_best() - 1):.1f} %')
    return 3 if off else 0


if __name__ == '__main__':
    sys.exit(main())
