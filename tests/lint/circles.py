#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks that no files of a folder of src/ need each other in a circle.

usage: circles.py OBJ_FOLDER

A file is x.c with x.h and x_internal.h. It needs another of its folder where any of the three
includes a header of it, or x.o a symbol that it defines (OBJ_FOLDER/<folder>/x.o). Circles through
several folders are not possible: see layers.py. What must be in a circle stands in ALLOWED, with
its reason; a circle that is gone may not stand there either.

Before it reads, the check tries itself on files that are made up.
"""
import collections
import glob
import os
import sys

import layers

# (folder, files): why this is one thing in several files.
ALLOWED = {
    ('value', 'stream stream_groups'):
        'a stream owns its groups, which look its entries up',
    ('net', 'client client_memory'):
        'what a client holds is a part of it',
}


def name_of(file_name):
    """"batch" of batch.c, batch.h and batch_internal.h."""
    stem = os.path.splitext(file_name)[0]
    return stem[:-len('_internal')] if stem.endswith('_internal') else stem


def read_includes():
    """-> {(folder, name): names of its folder that it includes}"""
    needs = collections.defaultdict(set)
    for path in glob.glob(os.path.join(layers.SRC, '*/*.[ch]')):
        folder, file_name = path.split(os.sep)[-2:]
        with open(path, errors='replace') as file:
            for line in file:
                match = layers.INCLUDE.match(line)
                if match and match[1].startswith(folder + '/'):
                    needs[folder, name_of(file_name)].add(name_of(match[1].split('/')[1]))
    return needs


def add_symbols(needs, objects):
    paths = layers.objects_of_sources(objects)
    defined, needed = layers.read_symbols(paths)
    for folder, stem, symbol in needed:
        for other_folder, other_stem in defined.get(symbol, ()):
            if other_folder == folder:
                needs[folder, stem].add(other_stem)
    return bool(paths)


def reachable(needs, folder, name):
    """All that the file needs, directly or not; itself only where a circle leads back."""
    found, left = set(), [name]
    while left:
        for other in needs.get((folder, left.pop()), set()) - found:
            found.add(other)
            left.append(other)
    return found


def find_circles(needs):
    """-> {(folder, names in alphabetical order)}: files that all reach each other."""
    needs = {(folder, name): others - {name} for (folder, name), others in needs.items()}
    reach = {place: reachable(needs, *place) for place in needs}
    circles = set()
    for (folder, name), others in reach.items():
        round_trip = sorted(other for other in others if name in reach.get((folder, other), ()))
        if round_trip:
            circles.add((folder, ' '.join(round_trip)))
    return circles


def find_faults(needs, allowed):
    circles = find_circles(needs)
    faults = []
    for folder, names in sorted(circles - set(allowed)):
        faults.append(f'src/{folder}/: a circle of files: {names}')
        for name in names.split():
            others = sorted((needs[folder, name] & set(names.split())) - {name})
            faults.append(f'    {name} needs {" ".join(others)}')
    for folder, names in sorted(set(allowed) - circles):
        faults.append(f'tests/lint/circles.py: ALLOWED has a circle that is not in src/{folder}/: '
                      f'{names}')
    return faults


def try_itself():
    needs = {('a', 'one'): {'two', 'one'}, ('a', 'two'): {'three', 'low'}, ('a', 'three'): {'one'},
             ('a', 'high'): {'one', 'low'}, ('b', 'one'): {'two'}, ('c', 'two'): {'one'}}
    assert find_circles(needs) == {('a', 'one three two')}
    assert len(find_faults(needs, {})) == 4
    assert find_faults(needs, {('a', 'one three two'): 'why'}) == []
    assert len(find_faults(needs, {('a', 'one three two'): 'why', ('b', 'one two'): 'gone'})) == 1
    assert name_of('batch_internal.h') == name_of('batch.c') == 'batch'


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    try_itself()
    needs = read_includes()
    faults = [] if add_symbols(needs, sys.argv[1]) else [f'{sys.argv[1]}: no objects; build first']
    faults += find_faults(needs, ALLOWED)
    for fault in faults:
        print(fault)
    sys.exit(1 if faults else 0)


if __name__ == '__main__':
    main()
