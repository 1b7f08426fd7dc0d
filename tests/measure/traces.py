# SPDX-License-Identifier: BSD-3-Clause
"""The default trace of cache-replay, made from a seed; its form is trace.h's.

Three habits of caches are mixed: a Zipf-shaped popularity over a million keys, of which the popular
ones change every tenth of the trace (a shifting working set), and two scans that read a long row of
keys once each, as a nightly job does. A key's size and TTL are functions of its number.

    tests/measure/traces.py FILE [ROWS [SEED]]    writes one
"""
import os
import sys

import numpy

ROWS, SEED = 2_400_000, 62
KEYS, EXPONENT = 1_000_000, 0.9
SHIFTS, SHIFT_SHARE = 10, 0.2
SCAN_KEYS = 120_000
SECONDS = 60.0


def zipf_ranks(random, count, keys, exponent):
    weights = numpy.arange(1, keys + 1, dtype=float) ** -exponent
    sums = numpy.cumsum(weights)
    return numpy.searchsorted(sums, random.random(count) * sums[-1])


def key_numbers(random, rows):
    """A key number a row. Each shift gives a fifth of the popularity ranks to other keys."""
    key_of_rank = random.permutation(KEYS)
    parts, each = [], rows // SHIFTS
    for shift in range(SHIFTS):
        count = each if shift < SHIFTS - 1 else rows - each * (SHIFTS - 1)
        parts.append(key_of_rank[zipf_ranks(random, count, KEYS, EXPONENT)])
        moved = random.choice(KEYS, int(KEYS * SHIFT_SHARE), replace=False)
        key_of_rank[moved] = key_of_rank[random.permutation(moved)]
    keys = numpy.concatenate(parts)
    for part in (0.35, 0.7):  # a scan takes every second row until it is through
        begin = int(rows * part)
        length = min(SCAN_KEYS, (rows - begin) // 2)
        keys[begin:begin + 2 * length:2] = KEYS + int(part * 10 * SCAN_KEYS) + numpy.arange(length)
    return keys


def write(path, rows=ROWS, seed=SEED):
    random = numpy.random.default_rng(seed)
    keys = key_numbers(random, rows)
    sizes = numpy.clip(200 * numpy.exp(0.7 * random.standard_normal(keys.max() + 1)), 8, 20000)
    ttls = random.integers(600, 7200, keys.max() + 1)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    temporary = f'{path}.{os.getpid()}.tmp'
    with open(temporary, 'w') as file:
        file.write(f'# made by tests/measure/traces.py: {rows} rows, seed {seed}\n')
        for i, key in enumerate(keys.tolist()):
            file.write(f'{SECONDS * i / rows:.6f} get k{key} {int(sizes[key])} {ttls[key]}\n')
    os.replace(temporary, path)


def default(folder):
    """The path of the default trace, which is made where it is missing."""
    path = os.path.join(folder, f'trace-{ROWS}-{SEED}.txt')
    if not os.path.exists(path):
        print('making the default trace', file=sys.stderr)
        write(path)
    return path


if __name__ == '__main__':
    if len(sys.argv) not in (2, 3, 4):
        sys.exit(__doc__)
    write(sys.argv[1], *(int(word) for word in sys.argv[2:]))
