#!/usr/bin/env python3
"""Runs the scripts of this folder on small results made up here, with known answers; no GPU is asked.

  bench_scripts_test.py tables|growth|policy|compare|plots
"""

import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
HEADER = ('operation,dtype,data,rows,columns,k,cache,overlap,deterministic,median_us,min_us,read_bytes,write_bytes,floor_us,ratio,'
          'policy,route,outputs,page_size,seed,set')


def check(condition, what):
    if not condition:
        print('FAILED:', what)
        sys.exit(1)


def line(median_us, **fields):
    row = {'operation': 'topk', 'dtype': 'float32', 'data': 'normal', 'rows': 1, 'columns': 8192, 'k': 512, 'cache': 'cold',
           'overlap': 'chained', 'deterministic': 0, 'median_us': median_us, 'min_us': median_us, 'read_bytes': 32768,
           'write_bytes': 2048, 'floor_us': 1.5, 'ratio': 2, 'policy': 'chosen', 'route': 'short/1 loads 4', 'outputs': 'slots',
           'page_size': 64, 'seed': 0, 'set': 0}
    check(fields.keys() <= row.keys(), f'known fields: {fields}')
    row.update(fields)
    return ','.join(str(row[name]) for name in HEADER.split(','))


def run(script, *arguments):
    """(exit status, output) of a script of this folder."""
    done = subprocess.run([sys.executable, str(HERE / script), *map(str, arguments)], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False, timeout=120)
    return done.returncode, done.stdout.decode()


def write(folder, lines, header=HEADER):
    path = pathlib.Path(folder) / 'results.csv'
    path.write_text('\n'.join([header, *lines]) + '\n', encoding='utf-8')
    return path


def expect(script, path, status, *wanted):
    code, output = run(script, path)
    check(code == status, f'{script} ends with {status}, not {code}: {output}')
    for text in wanted:
        check(text in output, f'{script} says "{text}": {output}')


def option_set(number, **shape):
    return [line(10.0, set=number, **shape), line(11.6, set=number, deterministic=1, **shape),
            line(10.9, set=number, outputs='slots+values', **shape), line(9.6, set=number, outputs='indices', **shape),
            line(9.7, set=number, outputs='indices', deterministic=1, **shape),
            line(10.8, set=number, outputs='indices+values', **shape)]


def publish_set(number, publish_us):
    return [line(us, set=number, operation=name, outputs='-', route='-', rows=16, columns=131072)
            for name, us in (('publish', publish_us), ('publish_parts', 25), ('topk', 10), ('block_amax', 4),
                             ('block_topk', 13), ('sort_blocks', 3))]


def tables(folder):
    path = write(folder, option_set(1) + option_set(2, data='relu')[:2] + publish_set(3, 15) +
                 [line(12, set=3, operation='publish_fused', outputs='-', route='-', rows=16, columns=131072)] + publish_set(4, 24) +
                 [line(5.0, set=5, operation='consume', dtype='bfloat16', columns=16384, page_size=8),
                  line(4.0, set=5, dtype='bfloat16', columns=16384), line(3.0, set=5, dtype='bfloat16', columns=16384,
                                                                        outputs='indices')] +
                 [HEADER, line(3.8, page_size=8, seed=7, rows=15), line(3.8)])
    expect('make_table.py', path, 0,
           '- deterministic slots, at most 1.15: 2 of 2 over; worst 1.160',
           '- deterministic indices, at most 1.15: 0 of 1 over; worst 1.010',
           '- slots and values, at most 1.10: 0 of 1 over; worst 1.090',
           '- indices and values, at most 1.10: 1 of 1 over; worst 1.125',
           '- slots, not indices, at most 1.05: 0 of 1 over; worst 1.042',
           '| chosen | 15 | 10 | 4 | 13 | 3 | 30.00 | 0.500 | 25 | 0.600 |',
           '| chosen | 24 | 10 | 4 | 13 | 3 | 30.00 | 0.800 **over** | 25 | 0.960 |',
           '| fused | 12 | 10 | 4 | 13 | 3 | 30.00 | 0.400 | 25 | 0.480 |',
           '- publish, chosen, at most 0.60 of the sum: 1 of 2 over; worst 0.800',
           '- publish, fused, at most 0.60 of the sum: 0 of 1 over; worst 0.400',
           '| bfloat16 | 1 x 16K | 512 | chained | 5.0 | 4.0 | 1.250 | 3.0 | 1.667 |',
           '| 15 x 8K | 512 | normal | 8 | 7 | 3.8 |',
           # Only the page size of the peers is compared with them; 1 x 8K takes the best of them 3.8.
           'over 1 shapes')
    expect('make_table.py', write(folder, []), 1, 'no results')
    # Of two calls, whose sets are numbered alike; and a call that ran out of its time in the second set.
    cut = write(folder, publish_set(1, 15) + [HEADER] + publish_set(1, 12) + publish_set(2, 9)[:3] +
                [line(5.0, set=3, operation='consume'), line(4.0, set=3)])
    expect('make_table.py', cut, 0, '- publish, chosen, at most 0.60 of the sum: 0 of 2 over; worst 0.500', 'missing: 1 set\n')


def growth(folder):
    smooth = [line(round(5 * 1.05 ** step, 2), columns=round(1024 * 1.1 ** step)) for step in range(20)]
    expect('check_growth.py', write(folder, smooth), 0, '19 steps of about 10 % or less: 0 cliffs', '0 look steep')
    cliff = [line(5, columns=16384), line(7.6, columns=16448, route='cluster/16 loads 4'), line(5, columns=18000)]
    expect('check_growth.py', write(folder, cliff), 3,
           '- cliff: float32 k 512 chained: 1 x 16K 5 us, 1 x 16448 7.6 us: work 1.004 times, time 1.52 times '
           '(short/1 loads 4 to cluster/16 loads 4)', 'time 0.66 times', '2 cliffs')
    # Not neighbours: another k, another dtype, another number of rows and columns.
    apart = [line(5, columns=16384), line(9, columns=16448, k=2048), line(9, columns=16448, dtype='bfloat16'),
             line(9, columns=16448, rows=2)]
    expect('check_growth.py', write(folder, apart), 2, 'no two of the points')
    batch = [line(5, rows=100), line(7.6, rows=110), line(30, rows=160), line(60, rows=320)]
    expect('check_growth.py', write(folder, batch), 3, '1 steps of about 10 % or less: 1 cliffs', '100 x 8K 5 us',
           '- steep over a wide gap: float32 k 512 chained: 110 x 8K', '2 wider steps: 1 look steep')
    expect('check_growth.py', write(folder, [line(5, rows=100), line(7.4, rows=110)]), 0, '0 cliffs')


def sweep_lines():
    lines = []
    for columns in (8192, 32768):
        for rows in (1, 15, 16, 64, 256):
            chosen = 'cluster/8 loads 4' if rows < 16 else 'stream/1 loads 4'
            base = 5 + columns * rows / 1e6
            at = {'rows': rows, 'columns': columns, 'floor_us': 0, 'ratio': 0}
            lines += [line(round(base * (1.2 if (rows, columns) == (16, 32768) else 1.04), 2), route=chosen, **at),
                      line(round(base, 2), policy='split/4 loads 8', route='split/4 loads 8', **at),
                      line(round(base * 1.1, 2), policy='stream/1 loads 4', route='stream/1 loads 4', **at)]
    return lines


def policy(folder):
    expect('check_policy.py', write(folder, sweep_lines()), 3,
           '- 20.1 %: float32 16 x 32K k 512: stream/1 loads 4 6.63 us, split/4 loads 8 5.52 us',
           '10 shapes: at 1 the choice is more than 5 % off the best route; at worst 20.1 %')
    expect('check_policy.py', write(folder, sweep_lines()[:3]), 0, '1 shapes: at 0')
    expect('check_policy.py', write(folder, [line(5)]), 2, 'no shape')
    # The form of sweeps that were shortened to be kept.
    short = ['float32,512,4096,1,chosen,5.60,5.15', 'float32,512,4096,1,short/1 loads 2,5.18,5.16']
    expect('check_policy.py', write(folder, short, header='dtype,k,columns,rows,policy,median_us,min_us'), 3,
           '- 8.1 %: float32 1 x 4K k 512: chosen 5.60 us, short/1 loads 2 5.18 us')


def compare(folder):
    before = pathlib.Path(folder) / 'before.csv'
    # Results of before outputs were named, against new ones of the same shape with other outputs beside.
    old = HEADER.split(',route')[0]
    before.write_text(f'{old}\n' + line(10).split(',short/1')[0] + '\n', encoding='utf-8')
    after = write(folder, [line(11), line(8, outputs='slots+values'), line(7, page_size=1)])
    code, output = run('compare.py', before, after)
    check(code == 0 and '| topk float32 cold chained | 1 | 10.0 |' in output, f'one shape is compared: {output}')


def shown_texts(figure):
    """What a reader sees: tick labels outside the limits of their axis are there and not drawn."""
    from matplotlib.text import Text
    ticks = set()
    for axes in figure.axes:
        for axis in axes.xaxis, axes.yaxis:
            low, high = sorted(axis.get_view_interval())
            for tick in axis.get_major_ticks():
                ticks.update(text for text in (tick.label1, tick.label2) if not low <= tick.get_loc() <= high)
    return [text for text in figure.findobj(Text) if text.get_visible() and text.get_text() and text not in ticks
            and (text.axes is None or text.axes.get_visible())]


def overlapping_texts(figure):
    figure.canvas.draw()  # a saved figure was laid out for another resolution
    renderer = figure.canvas.get_renderer()
    boxes = [(text.get_text(), text.get_window_extent(renderer)) for text in shown_texts(figure)]
    check(len(boxes) > 10, 'the figure has labels')
    return [(one, other) for i, (one, box) in enumerate(boxes) for other, other_box in boxes[i + 1:] if box.overlaps(other_box)]


def check_picture(path, texts, marks):
    content = path.read_text(encoding='utf-8')
    check(path.stat().st_size < 200_000, f'{path.name} is small')
    for text in texts:
        check(f'>{text}<' in content, f'{path.name} says "{text}"')
    check(len(re.findall('<use [^>]*stroke: #e0218a', content)) == marks, f'{path.name} has {marks} marks')


def plots(folder):
    try:
        import matplotlib
    except ImportError:
        code, output = run('plot_bench.py', 'growth', write(folder, [line(5)]))
        check(code == 1 and 'matplotlib is not installed' in output and 'Traceback' not in output, output)
        print('skipped: matplotlib is not installed; that plot_bench.py says so was checked')
        sys.exit(77)
    print('matplotlib', matplotlib.__version__)
    import plot_bench
    pyplot, save = plot_bench.load_matplotlib(), plot_bench.save

    def save_checked(figure, path):
        save(figure, path)
        check(not overlapping_texts(figure), f'labels of {path.name} lie apart: {overlapping_texts(figure)}')

    plot_bench.save = save_checked
    folder = pathlib.Path(folder)
    lines = [line(round(5 + columns * rows / 1e6, 2), rows=rows, columns=columns, k=k, floor_us=round(1 + columns * rows / 1e6, 2))
             for k in (512, 2048) for rows in (1, 256) for columns in (1024 << step for step in range(12))]
    lines += [line(round(5 + 8192 * rows / 1e6 + (5 if rows == 110 else 0), 2), rows=rows) for rows in (1, 2, 10, 100, 110, 120, 1024)]
    rows = plot_bench.bench_results.read(write(folder, lines))
    plot_bench.draw_growth(pyplot, rows, 'columns', folder / 'growth_length.svg')
    plot_bench.draw_growth(pyplot, rows, 'rows', folder / 'growth_batch.svg')
    sweep = plot_bench.bench_results.read(write(folder, sweep_lines()))
    plot_bench.draw_sweeps(pyplot, sweep, folder, 'svg')
    plot_bench.draw_sweeps(pyplot, sweep, folder, 'png')
    legend = 1
    check_picture(folder / 'growth_length.svg',
                  ('time, microseconds', 'scores in a row', '1 row', '256 rows', '1K', '1M', 'float32, k 2048'), legend)
    check_picture(folder / 'growth_batch.svg', ('time, microseconds', 'rows', 'rows of 8K scores'), legend + 2)
    check_picture(folder / 'sweep_float32_k512.svg',
                  ('time, microseconds', 'rows', 'rows of 32K scores', 'split, its best width'), legend + 1)
    check((folder / 'sweep_float32_k512.png').read_bytes()[:4] == b'\x89PNG', 'a PNG is one')


def main():
    parts = {part.__name__: part for part in (tables, growth, policy, compare, plots)}
    if len(sys.argv) != 2 or sys.argv[1] not in parts:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory(prefix='winnow-bench.') as folder:
        parts[sys.argv[1]](folder)


if __name__ == '__main__':
    main()
