"""Tables of the cases that kernel_bench timed in turns: what an option costs, what a chain costs beside its parts, and whether
that keeps its limit. make_table.py prints them.
"""

from bench_results import shape_name

# Limits of the ratio; the base of a pair differs from it in this alone.
DETERMINISTIC, VALUES, SLOTS, PUBLISH = 1.15, 1.10, 1.05, 0.60
WAYS = {'publish': 'chosen', 'publish_fused': 'fused'}
PARTS = ('topk', 'block_amax', 'block_topk', 'sort_blocks')


def sets_of(rows):
    """Lists of the rows that were timed in turns. A number comes again in the results of another call."""
    sets = {}
    for row in rows:
        if row['set'] != '0':
            sets.setdefault((row['call'], row['set']), []).append(row)
    return list(sets.values())


def micros(row):
    return float(row['median_us'])


def option_pairs(rows):
    """(option, limit, with it, without it) of one set."""
    by_kind = {(row['outputs'], row['deterministic']): row for row in rows if row['operation'] == 'topk'}
    pairs = []

    def pair(option, limit, dear, cheap):
        if dear in by_kind and cheap in by_kind:
            pairs.append((option, limit, by_kind[dear], by_kind[cheap]))

    for base in 'slots', 'indices':
        pair(f'deterministic {base}', DETERMINISTIC, (base, '1'), (base, '0'))
        pair(f'{base} and values', VALUES, (f'{base}+values', '0'), (base, '0'))
    pair('slots, not indices', SLOTS, ('slots', '0'), ('indices', '0'))
    return pairs


def verdict(ratio, limit):
    return f'{ratio:.3f}' + ('' if ratio <= limit else ' **over**')


def print_options(sets):
    """One row a shape, one column an option; then how many of each are over their limit."""
    names, lines, ratios = [], [], {}
    for rows in sets:
        pairs = option_pairs(rows)
        base = rows[0]
        cells = {}
        for name, limit, dear, cheap in pairs:
            if name not in names:
                names.append(name)
            ratio = micros(dear) / micros(cheap)
            cells[name] = verdict(ratio, limit)
            ratios.setdefault((name, limit), []).append((ratio, f'{base["dtype"]} {base["data"]} {shape_name(base)} '
                                                                f'k {base["k"]} {base["overlap"]}'))
        lines.append((base, cells))
    print('\n### What options cost: time with the option over time without, in turns\n')
    print('| dtype | data | rows x columns | k | overlap | route | us | ' + ' | '.join(names) + ' |')
    print('| --- ' * (7 + len(names)) + '|')
    for base, cells in lines:
        print(f'| {base["dtype"]} | {base["data"]} | {shape_name(base)} | {base["k"]} | {base["overlap"]} | {base["route"]} | '
              f'{base["median_us"]} | ' + ' | '.join(cells.get(name, '-') for name in names) + ' |')
    print()
    for (name, limit), all_ratios in ratios.items():
        over = sum(ratio > limit for ratio, _ in all_ratios)
        worst, where = max(all_ratios)
        print(f'- {name}, at most {limit:.2f}: {over} of {len(all_ratios)} over; worst {worst:.3f} ({where})')


def print_publish(sets):
    print('\n### Publish beside its parts, in turns; microseconds\n')
    print(f'The limit is {PUBLISH} of the sum. `in sequence`: the four calls one after another in one graph, each finding in L2 '
          'what the one before left. `sum`: of the four timed alone.\n')
    print('| dtype | rows x columns | k | overlap | way | publish | top-k | block max | block top-k | sort | sum | publish / sum | '
          'in sequence | publish / in sequence | floor |')
    print('| --- ' * 15 + '|')
    ratios, incomplete = {}, 0
    for rows in sets:
        by_name = {row['operation']: row for row in rows}
        if not {'publish_parts', *PARTS} <= by_name.keys():
            incomplete += 1
            continue
        parts, sequence = [by_name[name] for name in PARTS], by_name['publish_parts']
        total = sum(map(micros, parts))
        for way in WAYS:
            if way not in by_name:
                continue
            publish = by_name[way]
            ratio = micros(publish) / total
            ratios.setdefault(way, []).append(ratio)
            print(f'| {publish["dtype"]} | {shape_name(publish)} | {publish["k"]} | {publish["overlap"]} | {WAYS[way]} | '
                  f'{publish["median_us"]} | ' + ' | '.join(part['median_us'] for part in parts)
                  + f' | {total:.2f} | {verdict(ratio, PUBLISH)} | {sequence["median_us"]} | '
                  f'{micros(publish) / micros(sequence):.3f} | {publish["floor_us"]} |')
    print()
    for way, of_way in ratios.items():
        print(f'- publish, {WAYS[way]}, at most {PUBLISH:.2f} of the sum: {sum(ratio > PUBLISH for ratio in of_way)} of '
              f'{len(of_way)} over; worst {max(of_way):.3f}')
    print_incomplete(incomplete)


def print_incomplete(count):
    """A call that ran out of its time leaves the last set without some of its rows."""
    if count > 0:
        print(f'- left out, for rows are missing: {count} set' + ('s' if count > 1 else ''))


def print_consume(sets):
    print('\n### Consume beside its one top-k, in turns; microseconds\n')
    print('| dtype | rows x columns | k | overlap | consume | top-k, pages of 64 | consume / top-k | top-k, indices | '
          'consume / indices |')
    print('| --- ' * 9 + '|')
    incomplete = 0
    for rows in sets:
        consume = next(row for row in rows if row['operation'] == 'consume')
        by_outputs = {row['outputs']: row for row in rows if row['operation'] == 'topk'}
        if not {'slots', 'indices'} <= by_outputs.keys():
            incomplete += 1
            continue
        slots, indices = by_outputs['slots'], by_outputs['indices']
        print(f'| {consume["dtype"]} | {shape_name(consume)} | {consume["k"]} | {consume["overlap"]} | {consume["median_us"]} | '
              f'{slots["median_us"]} | {micros(consume) / micros(slots):.3f} | {indices["median_us"]} | '
              f'{micros(consume) / micros(indices):.3f} |')
    print_incomplete(incomplete)


def print_sets(rows):
    """Prints the tables of all sets among the rows."""
    kinds = {}
    for one in sets_of(rows):
        names = {row['operation'] for row in one}
        kind = next((name for name in ('publish', 'consume') if name in names), 'options')
        kinds.setdefault(kind, []).append(one)
    for kind, show in (('options', print_options), ('publish', print_publish), ('consume', print_consume)):
        if kind in kinds:
            show(kinds[kind])
