#!/usr/bin/env python3
"""Draws what kernel_bench measured: growth against length and batch, and every route around the policy's boundaries.

  plot_bench.py growth GROWTH.csv... [--out FOLDER] [--format svg|png]
  plot_bench.py sweep SWEEP.csv... [--out FOLDER] [--format svg|png]

Writes growth_length and growth_batch, or one sweep_DTYPE_kK for each dtype and k. Transparent, in colours that can be read on
light and on dark pages. Needs matplotlib; the numbers themselves come from check_growth.py and check_policy.py.
"""

import argparse
import pathlib
import sys

import bench_results
import check_growth
import check_policy

MAX_BYTES = 200_000  # of a picture that is kept beside results
INK = '#787878'      # contrast of 4 and more to white and to black alike
GRID = '#78787840'
MARK = '#e0218a'     # what is over a limit
KIND_COLOURS = ('#2f7fd1', '#c8641a', '#0f9268')
ROUTE_COLOURS = {'short': '#c8641a', 'cluster': '#2f7fd1', 'split': '#a8861a', 'stream': '#0f9268'}
LENGTH_TICKS = [1 << exponent for exponent in range(10, 22, 2)]
BATCH_TICKS = [4 ** exponent for exponent in range(6)]
MIN_SERIES = 5  # points; fewer are the crossing of series along the other axis
MIN_SPAN = 4.0  # times, from the bottom of a panel to its top, so that noise does not look like a mountain


def load_matplotlib():
    try:
        import matplotlib
    except ImportError:
        sys.exit('matplotlib is not installed, so nothing can be drawn: python3 -m pip install matplotlib')
    matplotlib.use('Agg')
    matplotlib.rcParams.update({
        'svg.fonttype': 'none', 'svg.hashsalt': 'winnow', 'font.size': 9, 'axes.titlesize': 9, 'text.color': INK,
        'axes.labelcolor': INK, 'axes.titlecolor': INK, 'axes.edgecolor': INK, 'xtick.color': INK, 'ytick.color': INK,
        'axes.grid': True, 'grid.color': GRID, 'grid.linewidth': 0.6, 'legend.frameon': False})
    import matplotlib.pyplot
    return matplotlib.pyplot


def format_axes(axes, ticks, name_of_tick, times):
    """Log axes whose ticks are plain numbers, wide enough for the times."""
    from matplotlib import ticker
    axes.set_xscale('log')
    axes.set_yscale('log')
    axes.xaxis.set_major_locator(ticker.FixedLocator(ticks))
    axes.xaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: name_of_tick(round(value))))
    axes.xaxis.set_minor_locator(ticker.NullLocator())
    axes.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f'{value:g}'))
    axes.yaxis.set_minor_locator(ticker.NullLocator())
    low, high = min(times), max(times)
    margin = max(1.1, (MIN_SPAN * low / high) ** 0.5)
    axes.set_ylim(low / margin, high * margin)
    for side in 'top', 'right':
        axes.spines[side].set_visible(False)


def save(figure, path):
    figure.savefig(path, transparent=True, dpi=80, bbox_inches='tight',  # with the legend below
                   metadata={'Date': None} if path.suffix == '.svg' else None)
    if path.stat().st_size > MAX_BYTES:
        sys.exit(f'{path} has {path.stat().st_size} bytes; the limit is {MAX_BYTES}')
    print(f'{path}: {path.stat().st_size} bytes')


def legend_below(figure, handles, columns):
    figure.legend(handles=handles, loc='upper center', bbox_to_anchor=(0.5, 0), ncol=columns)


def growth_kinds(rows):
    """Names of what is drawn in a colour each: 'float32, k 512'."""
    kinds = []
    for row in rows:
        if (row['dtype'], row['k']) not in kinds:
            kinds.append((row['dtype'], row['k']))
    return kinds


def draw_growth_panel(axes, series, kinds, ticks):
    """`series`: kind -> [(value, row)]. Floors of one dtype hardly differ: one is drawn."""
    times, dtypes = [], set()
    for kind, points in series.items():
        colour = KIND_COLOURS[kinds.index(kind) % len(KIND_COLOURS)]
        values = [value for value, _ in points]
        taken = [float(row['median_us']) for _, row in points]
        axes.plot(values, taken, color=colour, linewidth=1.4, marker='o', markersize=2.2)
        floors = [(value, float(row['floor_us'])) for value, row in points if float(row['floor_us']) > 0]
        if kind[0] in dtypes:
            floors = []
        dtypes.add(kind[0])
        if floors:
            axes.plot(*zip(*floors), color=colour, linewidth=1, linestyle=(0, (3, 2)))
        times += taken + [floor for _, floor in floors]
        steps = [check_growth.Step(below, above) for below, above in zip(points, points[1:])]
        cliffs = [(step.next_value, float(step.above['median_us'])) for step in steps if step.is_cliff()]
        if cliffs:
            axes.plot(*zip(*cliffs), color=MARK, linestyle='none', marker='o', markersize=9, markerfacecolor='none')
    format_axes(axes, ticks, bench_results.size_name, times)


def growth_legend(figure, kinds):
    from matplotlib.lines import Line2D
    handles = [Line2D([], [], color=KIND_COLOURS[i % len(KIND_COLOURS)], marker='o', markersize=3, label=f'{dtype}, k {k}')
               for i, (dtype, k) in enumerate(kinds)]
    handles.append(Line2D([], [], color=INK, linestyle=(0, (3, 2)), label='floor of the same run'))
    handles.append(Line2D([], [], color=MARK, linestyle='none', marker='o', markersize=9, markerfacecolor='none',
                          label=f'more than {check_growth.MOST_TIME} times its neighbour'))
    legend_below(figure, handles, len(handles))


def draw_growth(pyplot, rows, axis, path):
    """`axis`: 'columns' or 'rows'. One panel a value of the other."""
    panels = {}
    for key, points in check_growth.series_of(rows, axis).items():
        if len(points) >= MIN_SERIES:
            kind = (points[0][1]['dtype'], points[0][1]['k'])
            panels.setdefault(key[-1], {})[kind] = points
    if not panels:
        sys.exit(f'no series of {MIN_SERIES} points and more along the {axis}')
    # A few values are meant; others are where the points of several series happen to lie side by side.
    longest = max(len(points) for series in panels.values() for points in series.values())
    panels = {fixed: series for fixed, series in sorted(panels.items())
              if max(map(len, series.values())) >= longest / 2}
    kinds = growth_kinds(rows)
    figure, all_axes = pyplot.subplots(1, len(panels), figsize=(4 * len(panels), 4), sharey=True, squeeze=False,
                                       layout='constrained')
    of_lengths = axis == 'columns'
    for axes, (fixed, series) in zip(all_axes[0], panels.items()):
        draw_growth_panel(axes, series, kinds, LENGTH_TICKS if of_lengths else BATCH_TICKS)
        name = bench_results.size_name(fixed)
        axes.set_title(f'{name} row{"s" if fixed > 1 else ""}' if of_lengths else f'rows of {name} scores')
        axes.set_xlabel('scores in a row' if of_lengths else 'rows')
    everything = [limit for axes in all_axes[0] for limit in axes.dataLim.intervaly]
    all_axes[0][0].set_ylim(min(everything) / 1.1, max(everything) * 1.1)
    all_axes[0][0].set_ylabel('time, microseconds')
    growth_legend(figure, kinds)
    save(figure, path)


def fastest_by_route(shapes):
    """`shapes`: rows -> Shape. Route -> [(rows, us)], the fastest of its widths at each."""
    routes = {}
    for count, shape in sorted(shapes.items()):
        best = {}
        for row in [*shape.tried, shape.chosen]:
            route = bench_results.route_family(row['route'] or row['policy'])
            if route:
                best[route] = min(best.get(route, float('inf')), float(row['median_us']))
        for route, time in best.items():
            routes.setdefault(route, []).append((count, time))
    return routes


def draw_sweep_panel(axes, shapes):
    times = []
    for route, points in fastest_by_route(shapes).items():
        # Markers are most of a picture's bytes: only where there is no line to see.
        marker = '.' if len(points) == 1 else ''
        axes.plot(*zip(*points), color=ROUTE_COLOURS.get(route, INK), linewidth=1.2, marker=marker)
        times += [time for _, time in points]
    for only_off, style in ((False, {'color': INK, 'markersize': 6, 'markeredgewidth': 0.8}),
                            (True, {'color': MARK, 'markersize': 9, 'markeredgewidth': 1.4})):
        points = [(count, float(shape.chosen['median_us'])) for count, shape in sorted(shapes.items())
                  if shape.is_off() or not only_off]
        if points:
            axes.plot(*zip(*points), linestyle='none', marker='o', markerfacecolor='none', **style)
            times += [time for _, time in points]
    counts = sorted(shapes)
    for count, following in zip(counts, counts[1:]):
        routes = [shapes[at].route().split(' ')[0] for at in (count, following)]
        if routes[0] != routes[1]:
            axes.axvline((count * following) ** 0.5, color=INK, linewidth=0.7, linestyle=':')
    format_axes(axes, BATCH_TICKS[:5], str, times)


def sweep_legend(figure, routes):
    from matplotlib.lines import Line2D
    handles = [Line2D([], [], color=ROUTE_COLOURS.get(route, INK), label=f'{route}, its best width')
               for route in routes]
    handles.append(Line2D([], [], color=INK, linestyle='none', marker='o', markerfacecolor='none', label="the policy's choice"))
    over = 100 * (check_policy.MOST_OVER_BEST - 1)
    handles.append(Line2D([], [], color=MARK, linestyle='none', marker='o', markersize=9, markerfacecolor='none',
                          label=f'choice more than {over:.0f} % off the best'))
    handles.append(Line2D([], [], color=INK, linestyle=':', label='route or width changes'))
    legend_below(figure, handles, 4)


def draw_sweep(pyplot, shapes, dtype, k, path):
    """`shapes`: columns -> rows -> Shape."""
    across = min(4, len(shapes))
    down = (len(shapes) - 1) // across + 1
    figure, all_axes = pyplot.subplots(down, across, figsize=(3 * across, 2.3 * down + 0.9), squeeze=False,
                                       layout='constrained')
    routes = []
    for axes, (columns, of_length) in zip(all_axes.flat, sorted(shapes.items())):
        draw_sweep_panel(axes, of_length)
        axes.set_title(f'rows of {bench_results.size_name(columns)} scores')
        routes += [route for route in fastest_by_route(of_length) if route not in routes]
    for number, axes in enumerate(all_axes.flat):
        axes.set_visible(number < len(shapes))
        if number + across >= len(shapes):  # nothing below
            axes.set_xlabel('rows')
    figure.suptitle(f'{dtype}, k {k}')
    figure.supylabel('time, microseconds', fontsize=9)
    sweep_legend(figure, routes)
    save(figure, path)


def draw_sweeps(pyplot, rows, folder, suffix):
    kinds = {}
    for (dtype, k, columns, count), shape in check_policy.shapes_of(rows).items():
        kinds.setdefault((dtype, k), {}).setdefault(columns, {})[count] = shape
    if not kinds:
        sys.exit('no shape has a choice and another route to compare')
    for (dtype, k), shapes in kinds.items():
        draw_sweep(pyplot, shapes, dtype, k, folder / f'sweep_{dtype}_k{k}.{suffix}')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('what', choices=('growth', 'sweep'))
    parser.add_argument('results', nargs='+')
    parser.add_argument('--out', type=pathlib.Path, default=pathlib.Path('.'))
    parser.add_argument('--format', choices=('svg', 'png'), default='svg')
    args = parser.parse_args()
    pyplot = load_matplotlib()
    rows = bench_results.read_all(args.results)
    args.out.mkdir(parents=True, exist_ok=True)
    if args.what == 'sweep':
        draw_sweeps(pyplot, rows, args.out, args.format)
        return
    for axis, name in (('columns', 'growth_length'), ('rows', 'growth_batch')):
        draw_growth(pyplot, rows, axis, args.out / f'{name}.{args.format}')


if __name__ == '__main__':
    main()
