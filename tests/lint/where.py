#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Prints where the row of a command stands, and the function that runs it; for a command or a
subcommand of Redis 6.2 that is not built yet, which folder will have it.

usage: where.py COMMAND [SUBCOMMAND]
       where.py --check SERVER   every command that SERVER --describe-commands names is found, once,
                                 and so is its handler; every row found is one of these; and each
                                 line of where.txt, which names all of 6.2, is true
"""
import collections
import glob
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NAMES = os.path.join(ROOT, 'tests/lint/where.txt')
ROW = re.compile(r'^ *COMMAND\(\s*"([^"]+)",\s*(\w+),', re.M)
FUNCTION = re.compile(r'^[A-Za-z_][\w \t*]*?\b(\w+)\([^;{}]*\)\s*\{', re.M)
DESCRIBED = re.compile(r'^\| `([^`]+)` \|', re.M)
# A subcommand is a row of its command's table, or is asked for by name where the command begins.
SUBCOMMAND = r'^.*?(?:\{{"{0}",([^}}]*)\}}|argument_is\(call, 1, "{0}"\)).*$'
OURS = {'quit'}  # 6.2 answers QUIT without a row
Place = collections.namedtuple('Place', 'path line')
Later = collections.namedtuple('Later', 'folder why has_row')


def read_sources():
    """-> ({command: [(Place, handler)]}, {(path, function): Place}, {path: text})"""
    rows, functions, texts = collections.defaultdict(list), {}, {}
    for path in sorted(glob.glob(os.path.join(ROOT, 'src/*/*.c'))):
        with open(path, errors='replace') as file:
            text = file.read()
        name = os.path.relpath(path, ROOT)
        texts[name] = text
        for match in ROW.finditer(text):
            place = Place(name, text.count('\n', 0, match.start()) + 1)
            rows[match[1].lower()].append((place, match[2]))
        for match in FUNCTION.finditer(text):
            functions.setdefault((name, match[1]),
                                 Place(name, text.count('\n', 0, match.start()) + 1))
    return rows, functions, texts


def read_names():
    """-> ({(command,) or (command, subcommand): Later, or None where it is built}, faults)"""
    names, faults = {}, []
    with open(NAMES) as file:
        lines = file.read().split('\n')
    for number, line in enumerate(lines, 1):
        words, _, why = line.partition('|')
        kind, *words = words.split() or ['#']
        if kind.startswith('#'):
            continue
        later = None
        if kind in ('refused', 'later'):
            later = Later(words.pop(0), why.strip(), kind == 'refused')
        elif kind not in ('built', 'subcommands'):
            faults.append(f'tests/lint/where.txt:{number}: {kind} is no kind of line')
        many = [(word,) for word in words]
        if kind == 'subcommands' or later and len(words) > 1:
            many = [(words[0], word) for word in words[1:]]
        for name in many:
            if name in names:
                faults.append(f'tests/lint/where.txt:{number}: {" ".join(name)} stands there twice')
            names[name] = later
    return names, faults


def find_handler(functions, row_path, handler):
    """The definition in the row's own file, or else the only one there is; None where none is."""
    own = functions.get((row_path, handler))
    others = [place for (_, name), place in functions.items() if name == handler]
    return own or (others[0] if len(others) == 1 else None)


def find_subcommand(sources, command, word):
    """-> (Place, the row's function or None) of a subcommand; None where there is none."""
    rows, functions, texts = sources
    for row, handler in rows.get(command, []):
        definition = find_handler(functions, row.path, handler) or row
        match = re.search(SUBCOMMAND.format(re.escape(word)), texts[definition.path], re.M)
        if match:
            known = [name for name in re.findall(r'\w+', match[1] or '')
                     if find_handler(functions, definition.path, name)]
            line = texts[definition.path].count('\n', 0, match.start()) + 1
            return Place(definition.path, line), known[0] if known else None
    return None


def show_function(functions, path, name):
    definition = find_handler(functions, path, name)
    print(f'{definition.path}:{definition.line}: {name}' if definition
          else f'{name} has no definition in src/')


def show(words):
    sources = read_sources()
    names, _ = read_names()
    command, name = words[0], ' '.join(words)
    found = sources[0].get(command, []) if len(words) == 1 else []
    if len(words) == 2:
        place = find_subcommand(sources, command, words[1])
        found = [place] if place else []
    for place, handler in found:
        print(f'{place.path}:{place.line}: row of "{name}"')
        if handler:
            show_function(sources[1], place.path, handler)
    later = names.get(tuple(words))
    if later:
        print(f'{later.folder} will have "{name}": {later.why}')
    inner = sorted(sub[1] for sub in names if len(words) == 1 and len(sub) == 2
                   and sub[0] == command)
    if inner:
        print(f'subcommands: {" ".join(inner)}')
    if not found and not later:
        sys.exit(f'Redis 6.2 has no "{name}", and no row in src/ does')


def check_names(sources, described):
    names, faults = read_names()
    for name, later in names.items():
        text = ' '.join(name)
        found = sources[0].get(name[0]) if len(name) == 1 else find_subcommand(sources, *name)
        if later and not os.path.isdir(os.path.join(ROOT, later.folder)):
            faults.append(f'tests/lint/where.txt: {later.folder} is not there')
        if not found and not (later and not later.has_row):
            faults.append(f'tests/lint/where.txt: "{text}" is not found in src/')
        if found and later and not later.has_row:
            faults.append(f'tests/lint/where.txt: "{text}" is built, and said to come later')
    for command in set(described) - OURS:
        if (command,) not in names:
            faults.append(f'tests/lint/where.txt: does not name "{command}"')
    return faults


def check(server):
    sources = read_sources()
    rows, functions, _ = sources
    faults, described = [], []
    for program in (server, os.path.join(os.path.dirname(server), 'redis-sentinel')):
        names = DESCRIBED.findall(subprocess.run([program, '--describe-commands'], text=True,
                                                 check=True, stdout=subprocess.PIPE).stdout)
        faults += [] if names else [f'{program} --describe-commands names no command']
        described += [name for name in names if name not in described]
    faults += check_names(sources, described)
    for command in described:
        found = rows.pop(command, [])
        if len(found) != 1:
            faults.append(f'{command}: {len(found)} rows COMMAND("{command}", ...) in src/, not 1')
        for place, handler in found:
            if not find_handler(functions, place.path, handler):
                faults.append(f'{place.path}:{place.line}: {handler} has no definition in src/')
    for command, found in rows.items():
        if found:
            place = found[0][0]
            faults.append(f'{place.path}:{place.line}: "{command}" is not described by the server')
    for fault in faults:
        print(fault)
    sys.exit(1 if faults else 0)


def main():
    words = sys.argv[1:]
    if len(words) == 2 and words[0] == '--check':
        check(words[1])
    words = ' '.join(words).lower().split()
    if 1 <= len(words) <= 2 and not words[0].startswith('-'):
        show(words)
    else:
        sys.exit('usage: make where CMD=get, or CMD="client kill"')


if __name__ == '__main__':
    main()
