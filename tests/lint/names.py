#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks that a function's name, as a profile shows it, says which function it is.

usage: names.py

1. An external function, and an inline one of a header, has a name that no other function of src/
   has. main() is each program's.
2. A static function of a .c file has a name that is unique in its folder and no external one's, and
   that has two words at least: link_find, not find.

Before it reads, the check tries itself on lines that are made up.
"""
import collections
import glob
import os
import re
import sys

import style

SRC = os.path.join(style.ROOT, 'src')
STATIC = re.compile(r'\bstatic\b')


def read_functions(text):
    """Yields (name, True for a static one, line) of each function that the text defines."""
    code = style.blank_out(text)
    starts = [0] + [match.end() for match in re.finditer('\n', code)]
    for first, _, name, opened, _ in style.functions(text):
        head = code[starts[first - 1]:opened].split(name)[0]  # parameters may be [static 8]
        yield name, bool(STATIC.search(head)), first


def find_faults(files):
    """files: {(folder, file name): text}"""
    places = collections.defaultdict(set)  # of a name that all of src/ sees
    own = collections.defaultdict(set)  # of (folder, name)
    for (folder, file), text in sorted(files.items()):
        for name, static, line in read_functions(text):
            if static and file.endswith('.c'):
                own[folder, name].add((file, line))
            elif name != 'main':
                places[name].add((folder, file, line))
    faults = []
    for name, found in sorted(places.items()):
        if len({(folder, file) for folder, file, _ in found}) > 1:
            faults += [f'src/{folder}/{file}:{line}: {name} is external, and defined elsewhere too'
                       for folder, file, line in sorted(found)]
    for (folder, name), found in sorted(own.items()):
        place, line = sorted(found)[0]
        place = f'src/{folder}/{place}:{line}: {name}'
        if name in places:
            other = sorted(places[name])[0]
            faults.append(f'{place} is the name of a function of src/{other[0]}/{other[1]}, too')
        if len({file for file, _ in found}) > 1:
            others = ', '.join(sorted({file for file, _ in found})[1:])
            faults.append(f'{place} is in {others}, too')
        if '_' not in name.strip('_'):
            faults.append(f'{place} is one word; its file\'s noun makes it two')
    return faults


def try_itself():
    one = 'static int a_find(void) {\n}\nint a_open(\n    int x) {\n    if (x) {\n    }\n}\n'
    two = '__attribute__((format(printf, 1, 2)))\nstatic void b_find(const char *f, ...) {\n}\n'
    three = ('char *d_open(char id[static 40]) {\n}\n'
             'static void (*d_way(int x))(void) {\n}\nint d_close(void (*then)(void)) {\n}\n')
    header = 'static inline bool c_find(void) { return true; }\nint c_open(void);\n'
    files = {('a', 'one.c'): one, ('a', 'two.c'): two, ('b', 'three.h'): header}
    assert list(read_functions(one)) == [('a_find', True, 1), ('a_open', False, 3)]
    assert list(read_functions(two)) == [('b_find', True, 1)]
    assert list(read_functions(three)) == [('d_open', False, 1), ('d_way', True, 3),
                                           ('d_close', False, 5)]
    assert find_faults(files) == []

    def faults_with(text):
        return len(find_faults({**files, ('a', 'more.c'): text}))
    assert faults_with('static int find(void) {\n}\n') == 1
    assert faults_with('static int find_(void) {\n}\n') == 1
    assert faults_with('static int find(void);\nint main(void) {\n    return 0;\n}\n') == 0
    assert faults_with(one) == 3  # a_open of two files, each of which is named; a_find
    assert faults_with('static void c_find(void) {\n}\n') == 1
    assert faults_with('void c_find(void) {\n}\n') == 2
    assert faults_with('int main(void) {\n}\n') == 0


def main():
    if len(sys.argv) != 1:
        sys.exit(__doc__)
    try_itself()
    files = {}
    for path in glob.glob(os.path.join(SRC, '*/*.[ch]')):
        files[tuple(path.split(os.sep)[-2:])] = style.read(path)
    faults = find_faults(files)
    for fault in faults:
        print(fault)
    sys.exit(1 if faults else 0)


if __name__ == '__main__':
    main()
