#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Prints where the row of a command stands, and the function that runs it.

usage: where.py NAME
"""
import glob
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def find_definition(name):
    """-> (path, line) of the function's definition, or None."""
    start = re.compile(r'^[A-Za-z_][\w \t*]*\b' + re.escape(name) + r'\([^;{]*\)\s*\{', re.M)
    for path in sorted(glob.glob(os.path.join(ROOT, 'src/*/*.c'))):
        with open(path, errors='replace') as file:
            text = file.read()
        match = start.search(text)
        if match:
            return os.path.relpath(path, ROOT), text.count('\n', 0, match.start()) + 1
    return None


def find_rows(command):
    """Yields (path, line, handler or None) of each row of that name that has a handler."""
    row = re.compile(r'\.name\s*=\s*"' + re.escape(command) + r'"(.*?)(?=\.name\s*=|\Z)',
                     re.S | re.I)
    for path in sorted(glob.glob(os.path.join(ROOT, 'src/*/*.c'))):
        with open(path, errors='replace') as file:
            text = file.read()
        for match in row.finditer(text):
            handler = re.search(r'\.handler\s*=\s*(\w+)', match[1])
            if handler:
                yield (os.path.relpath(path, ROOT), text.count('\n', 0, match.start()) + 1,
                       handler[1])


def main():
    command = sys.argv[1] if len(sys.argv) == 2 else ''
    if not command:
        sys.exit('usage: make where CMD=get')
    found = False
    for path, line, handler in find_rows(command):
        found = True
        print(f'{path}:{line}: row of "{command}"')
        definition = find_definition(handler)
        print(f'{definition[0]}:{definition[1]}: {handler}' if definition
              else f'{handler} has no definition in src/')
    if not found:
        sys.exit(f'no row {{.name = "{command}", ... .handler = ...}} in src/')


if __name__ == '__main__':
    main()
