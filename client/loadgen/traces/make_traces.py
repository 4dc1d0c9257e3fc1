#!/usr/bin/env python3
"""Writes the traces that ship with winnow-stress: python3 make_traces.py FOLDER

They are derived from the shapes of a model, not recorded from a server in production: a model of 16 layers with
sparse attention whose indexer keeps 2,048 tokens, every fourth layer a source that publishes 512 candidate blocks of
8 tokens for the three layers after it. Contexts, times between layers and between steps are assumptions, written
below where they are used.
"""

import json
import pathlib
import random
import sys

_LAYERS = 16
_SOURCE_EVERY = 4
_K = 2048
_K_BLOCKS = 512
_BLOCK = 8
_PAGE = 64


def _write(path, period_us, origin, entries):
    lines = [{'winnow_trace': 1, 'period_us': period_us, 'origin': origin}] + entries
    path.write_text('\n'.join(json.dumps(line) for line in lines) + '\n', encoding='utf-8')


def decode(seed=1, sequences=16, steps=6, step_us=24000, layer_us=1400):
    """Each layer of each step asks once, for all sequences; contexts of 1K to 16K tokens grow by one a step."""
    rng = random.Random(seed)
    contexts = [round(2 ** rng.uniform(10, 14)) for _ in range(sequences)]
    columns = 16384 + _PAGE
    entries = []
    for step in range(steps):
        lengths = [context + step for context in contexts]
        for layer in range(_LAYERS):
            entry = {'t_us': step * step_us + layer * layer_us, 'rows': sequences, 'dtype': 'bfloat16', 'k': _K,
                     'k_blocks': _K_BLOCKS, 'block_size': _BLOCK}
            if layer % _SOURCE_EVERY == 0:
                entry |= {'op': 'publish', 'columns': columns, 'page_size': _PAGE, 'lengths': lengths}
            else:
                entry |= {'op': 'consume', 'lengths': [min(length, _K_BLOCKS * _BLOCK) for length in lengths]}
            entries.append(entry)
    return steps * step_us, entries


def prefill(chunks=4, chunk=256, chunk_us=400000, layer_us=24000):
    """Chunks of one prompt; row i of a chunk sees the tokens up to itself. One top-k a layer."""
    entries = []
    for index in range(chunks):
        end = (index + 1) * chunk
        for layer in range(_LAYERS):
            entries.append({'t_us': index * chunk_us + layer * layer_us, 'op': 'topk', 'rows': chunk,
                            'columns': 4096 + end, 'lengths': {'first': 4096 + index * chunk + 1, 'step': 1},
                            'k': _K, 'dtype': 'bfloat16', 'page_size': _PAGE})
    return chunks * chunk_us, entries


def main():
    folder = pathlib.Path(sys.argv[1])
    period_us, entries = decode()
    _write(folder / 'decode.jsonl', period_us, 'derived from model shapes by make_traces.py, not recorded: 6 decode '
           'steps of 16 sequences, 16 layers, 1K to 16K tokens of context', entries)
    period_us, entries = prefill()
    _write(folder / 'prefill.jsonl', period_us, 'derived from model shapes by make_traces.py, not recorded: 4 chunks '
           'of 256 tokens of a prompt whose first 4,096 tokens are there, 16 layers', entries)


if __name__ == '__main__':
    main()
