"""What kernel_bench prints, read for the scripts of this folder. Next: the script for the question: make_table.py, compare.py,
check_growth.py, check_policy.py, plot_bench.py.
"""

import csv

# What older results and shortened ones leave out.
DEFAULTS = {'operation': 'topk', 'data': 'normal', 'cache': 'cold', 'overlap': 'chained', 'deterministic': '0', 'floor_us': '0',
            'ratio': '0', 'policy': 'chosen', 'route': '', 'outputs': '', 'page_size': '64', 'seed': '0', 'set': '0'}
OUTPUTS = {'topk': 'slots', 'consume': 'slots', 'ragged_topk': 'indices', 'block_topk': 'indices'}


def read(path):
    """The rows of a CSV file as dictionaries. Results put one behind the other have a header each; # starts a comment. `call` of
    a row names the call of kernel_bench that it is of, among all files."""
    with open(path, newline='', encoding='utf-8') as file:
        lines = list(csv.DictReader(line for line in file if not line.startswith('#')))
    rows, calls = [], 0
    for line in lines:
        if line.get('rows') == 'rows':
            calls += 1
            continue
        row = {**DEFAULTS, **{name: value for name, value in line.items() if value is not None}}
        row['outputs'] = row['outputs'] or OUTPUTS.get(row['operation'], '-')
        row['call'] = f'{path} {calls}'
        rows.append(row)
    return rows


def read_all(paths):
    return [row for path in paths for row in read(path)]


def size_name(count):
    """8192 -> 8K, 2097152 -> 2M; other numbers as they are."""
    count = int(count)
    for unit, name in ((1 << 20, 'M'), (1 << 10, 'K')):
        if count >= unit and count % unit == 0:
            return f'{count // unit}{name}'
    return str(count)


def shape_name(row):
    """'16 x 1024K': lengths in one unit, as in the tables of the reports."""
    columns = int(row['columns'])
    return f'{row["rows"]} x ' + (f'{columns // 1024}K' if columns % 1024 == 0 else str(columns))


def route_family(name):
    """'cluster/16 loads 4' -> 'cluster'; '' where it is not known."""
    return name.split('/', 1)[0] if '/' in name else ''
