#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Lines and branches of src/ that have run, one row a folder; the last line is the total.

usage: coverage.py OBJECT_FOLDER

Reads what the programs of a build with --coverage have written beside its objects, by gcov. A line
of a header counts once, though many objects have it. The branch of an assertion that fails counts
as one that has not run.
"""
import concurrent.futures
import glob
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def counts_of(notes):
    """Runs gcov over one object; returns {(path, line): (count, [count of each branch])}."""
    done = subprocess.run(['gcov', '--json-format', '--stdout', '--branch-probabilities', notes],
                          cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    found = {}
    for text in done.stdout.splitlines():
        for file in json.loads(text)['files']:
            path = os.path.relpath(os.path.join(ROOT, file['file']), ROOT)
            if not path.startswith('src/'):
                continue
            for line in file['lines']:
                branches = [branch['count'] for branch in line['branches']]
                add(found, (path, line['line_number']), line['count'], branches)
    return found


def add(counts, place, count, branches):
    """An inline function is in several objects: each line and branch has its highest count."""
    old_count, old = counts.get(place, (0, []))
    longest = max(len(old), len(branches))
    old, branches = old + [0] * (longest - len(old)), branches + [0] * (longest - len(branches))
    counts[place] = (max(old_count, count), [max(pair) for pair in zip(old, branches)])


def share(ran, all_of_them):
    return f'{ran:7d} of {all_of_them:7d} {100 * ran / all_of_them if all_of_them else 100:6.1f} %'


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    objects = sorted(glob.glob(os.path.join(os.path.abspath(sys.argv[1]), '*/*.gcno')))
    if not objects:
        sys.exit(f'no build with --coverage in {sys.argv[1]}')
    counts = {}
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        for found in pool.map(counts_of, objects):
            for place, (count, branches) in found.items():
                add(counts, place, count, branches)
    folders = {}
    for (path, _), (count, branches) in counts.items():
        for name in (path.split('/')[1], 'total'):
            row = folders.setdefault(name, [0, 0, 0, 0])
            row[0] += count > 0
            row[1] += 1
            row[2] += sum(branch > 0 for branch in branches)
            row[3] += len(branches)
    total = folders.pop('total')
    print(f'{"folder":12s} {"lines that ran":>27s}   {"branches that ran":>27s}')
    for name, row in sorted(folders.items()) + [('total', total)]:
        print(f'{name:12s} {share(row[0], row[1])}   {share(row[2], row[3])}')


if __name__ == '__main__':
    main()
