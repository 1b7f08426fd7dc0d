#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Prints where the row of a command stands, and the function that runs it.

usage: where.py NAME
       where.py --check SERVER   every command that SERVER --describe-commands names is found, once,
                                 and so is its handler; every row found is one of these
"""
import collections
import glob
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ROW = re.compile(r'^ *COMMAND\(\s*"([^"]+)",\s*(\w+),', re.M)
FUNCTION = re.compile(r'^[A-Za-z_][\w \t*]*?\b(\w+)\([^;{}]*\)\s*\{', re.M)
DESCRIBED = re.compile(r'^\| `([^`]+)` \|', re.M)
Place = collections.namedtuple('Place', 'path line')


def read_sources():
    """-> ({command: [(Place, handler)]}, {function: Place})"""
    rows, functions = collections.defaultdict(list), {}
    for path in sorted(glob.glob(os.path.join(ROOT, 'src/*/*.c'))):
        with open(path, errors='replace') as file:
            text = file.read()
        name = os.path.relpath(path, ROOT)
        for match in ROW.finditer(text):
            place = Place(name, text.count('\n', 0, match.start()) + 1)
            rows[match[1].lower()].append((place, match[2]))
        for match in FUNCTION.finditer(text):
            functions.setdefault((name, match[1]),
                                 Place(name, text.count('\n', 0, match.start()) + 1))
    return rows, functions


def find_handler(functions, row_path, handler):
    """The definition in the row's own file, or else the only one there is; None where none is."""
    own = functions.get((row_path, handler))
    others = [place for (_, name), place in functions.items() if name == handler]
    return own or (others[0] if len(others) == 1 else None)


def show(command):
    rows, functions = read_sources()
    found = rows.get(command.lower(), [])
    for place, handler in found:
        print(f'{place.path}:{place.line}: row of "{command}"')
        definition = find_handler(functions, place.path, handler)
        print(f'{definition.path}:{definition.line}: {handler}' if definition
              else f'{handler} has no definition in src/')
    if not found:
        sys.exit(f'no row COMMAND("{command.lower()}", ...) in src/')


def check(server):
    rows, functions = read_sources()
    described = DESCRIBED.findall(subprocess.run([server, '--describe-commands'], text=True,
                                                 check=True, stdout=subprocess.PIPE).stdout)
    faults = [] if described else [f'{server} --describe-commands names no command']
    for command in described:
        found = rows.pop(command, [])
        if len(found) != 1:
            faults.append(f'{command}: {len(found)} rows COMMAND("{command}", ...) in src/, not 1')
        for place, handler in found:
            if not find_handler(functions, place.path, handler):
                faults.append(f'{place.path}:{place.line}: {handler} has no definition in src/')
    for command, found in rows.items():
        place = found[0][0]
        faults.append(f'{place.path}:{place.line}: "{command}" is not described by the server')
    for fault in faults:
        print(fault)
    sys.exit(1 if faults else 0)


def main():
    words = sys.argv[1:]
    if len(words) == 2 and words[0] == '--check':
        check(words[1])
    elif len(words) == 1 and words[0]:
        show(words[0])
    else:
        sys.exit('usage: make where CMD=get')


if __name__ == '__main__':
    main()
