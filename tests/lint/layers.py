#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks that each folder of src/ needs only what src/LAYERS allows it.

usage: layers.py includes            by #include; LAYERS grants nothing that no include uses
       layers.py symbols OBJ_FOLDER  by symbol: no object needs one that only a folder defines which
                                     its own folder may not include (OBJ_FOLDER/<folder>/x.o);
                                     and only the programs' own folders make system calls by
                                     themselves

Further rules of layout: LAYERS names only folders above a line; x_internal.h stays in its folder;
store/keyspace_change.h is for exec/edit.c, the one place that changes keys; the families of
commands/ do not know each other (commands/commands.* may know them all).
"""
import collections
import glob
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SRC = os.path.join(ROOT, 'src')
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')
SYSTEM_CALLS = set('read pread readv write pwrite writev send recv accept accept4 epoll_ctl '
                   'epoll_wait open open64 fopen fopen64 fsync fdatasync rename'.split())
# These make the calls, or read a small file of the system's at start or once a second.
MAKES_SYSTEM_CALLS = {'base/system', 'base/clock', 'report/host_cpu'}
# Folders of whole programs, which no test links below a system of its own.
PROGRAMS = ('process', 'server', 'tools', 'cli', 'benchmark', 'experiment', 'lab')
TOP = 'server'  # may include all folders, now and later
KEYSPACE_CHANGE = 'store/keyspace_change.h'
CHANGES_KEYSPACE = ('store/keyspace.c', 'exec/edit.c')
SHARED_BY_FAMILIES = 'commands'  # commands/commands.h and .c: the list of all families


def read_layers(faults):
    """-> {folder: set of folders it may include}, itself among them."""
    allowed = {}
    with open(os.path.join(SRC, 'LAYERS')) as file:
        for number, line in enumerate(file, 1):
            line = line.split('#')[0].strip()
            if not line:
                continue
            folder, _, names = line.partition(':')
            names = names.split()
            if names == ['*']:
                names = list(allowed)
            for name in names:
                if name not in allowed:
                    faults.append(f'src/LAYERS:{number}: {folder} names {name}, which does not '
                                  'stand above it')
            allowed[folder] = set(names) | {folder}
    for path in sorted(glob.glob(os.path.join(SRC, '*/'))):
        folder = os.path.basename(path.rstrip('/'))
        if folder not in allowed:
            faults.append(f'src/{folder}: has no line in src/LAYERS')
    return allowed


def family_clash(folder, stem, other_stem):
    """True where one family of commands/ would know another. A family is one file, or several whose
    names begin with the same word: stream.c, stream_read.c."""
    return (folder == 'commands' and other_stem.split('_')[0] != stem.split('_')[0] and
            SHARED_BY_FAMILIES not in (stem, other_stem))


def check_includes(allowed, faults):
    used = collections.defaultdict(set)
    for path in sorted(glob.glob(os.path.join(SRC, '*/*.[ch]'))):
        folder, name = path.split(os.sep)[-2:]
        with open(path, errors='replace') as file:
            for number, line in enumerate(file, 1):
                match = INCLUDE.match(line)
                if not match:
                    continue
                place = f'src/{folder}/{name}:{number}'
                target = match[1]
                other = target.split('/')[0]
                used[folder].add(other)
                if '/' not in target or not os.path.exists(os.path.join(SRC, target)):
                    faults.append(f'{place}: "{target}" is not a header src/<folder>/<file>')
                elif other not in allowed.get(folder, ()):
                    faults.append(f'{place}: {folder}/ may not include {other}/ (src/LAYERS)')
                elif target.endswith('_internal.h') and other != folder:
                    faults.append(f'{place}: {target} is for {other}/ only')
                elif target == KEYSPACE_CHANGE and f'{folder}/{name}' not in CHANGES_KEYSPACE:
                    faults.append(f'{place}: {target} is for exec/edit.c: open an edit instead')
                elif other == folder and family_clash(
                        folder, os.path.splitext(name)[0], os.path.basename(target)[:-2]):
                    faults.append(f'{place}: the families of commands/ do not include each other')
    for folder, others in allowed.items():
        if folder == TOP:
            continue
        for other in sorted(others - used[folder] - {folder}):
            faults.append(f'src/LAYERS: {folder} is granted {other}, and includes nothing of it')


def objects_of_sources(objects):
    """Objects of sources that are gone may still lie about."""
    return [path for path in sorted(glob.glob(os.path.join(objects, '*/*.o')))
            if os.path.exists(os.path.join(SRC, os.path.relpath(path, objects)[:-2] + '.c'))]


def read_symbols(paths):
    """-> {symbol: [(folder, stem) that defines it]}, [(folder, stem, symbol that it needs)]"""
    defined, needed = collections.defaultdict(list), []
    if not paths:
        return defined, needed
    listing = subprocess.run(['nm', '-A', '-P', '-g'] + paths, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, text=True, check=True).stdout
    for line in listing.splitlines():
        place, _, rest = line.partition(': ')
        words = rest.split()
        folder, name = place.split(os.sep)[-2:]
        owner = (folder, os.path.splitext(name)[0])
        if words[1] in 'Uw':
            needed.append(owner + (words[0],))
        else:
            defined[words[0]].append(owner)
    return defined, needed


def check_symbols(allowed, objects, faults):
    paths = objects_of_sources(objects)
    if not paths:
        faults.append(f'{objects}: no objects; build first')
    defined, needed = read_symbols(paths)
    check_system_calls(needed, faults)
    for folder, stem, symbol in needed:
        owners = defined.get(symbol, [])
        if not owners:
            continue
        folders = {owner for owner, _ in owners}
        if not folders & allowed.get(folder, set()):
            faults.append(f'{folder}/{stem}.o needs {symbol}, which is defined in '
                          f'{"/ ".join(sorted(folders))}/: not allowed by src/LAYERS')
        elif folders == {'commands'} and folder == 'commands' and all(
                family_clash(folder, stem, other) for _, other in owners):
            faults.append(f'commands/{stem}.o needs {symbol} of commands/{owners[0][1]}.o: '
                          'the families do not know each other')


def check_system_calls(needed, faults):
    for folder, stem, symbol in needed:
        place = f'{folder}/{stem}'
        if symbol in SYSTEM_CALLS and folder not in PROGRAMS and place not in MAKES_SYSTEM_CALLS:
            faults.append(f'{place}.o calls {symbol} by itself: base/system.h has what to use, so '
                          'that a test can replace it')


def main():
    if len(sys.argv) < 2 or sys.argv[1] not in ('includes', 'symbols'):
        sys.exit(__doc__)
    faults = []
    allowed = read_layers(faults)
    if sys.argv[1] == 'includes':
        check_includes(allowed, faults)
    else:
        check_symbols(allowed, sys.argv[2], faults)
    for fault in faults:
        print(fault)
    sys.exit(1 if faults else 0)


if __name__ == '__main__':
    main()
