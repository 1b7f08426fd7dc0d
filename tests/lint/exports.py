#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks that src/ exports only what is used.

usage: exports.py OBJ_FOLDER    the build's objects, OBJ_FOLDER/<folder>/x.o

1. A symbol that no other file of src/ needs is static, or its declaration begins with FOR_TESTS
   (base/attributes.h), or a library looks it up (__attribute__((used))).
2. What is FOR_TESTS is named below tests/, and by no other file of src/.
3. An inline function or a macro of a header is named besides its definition; an inline function
   that only tests name is FOR_TESTS.

Files of src/ are read as well as their objects, because a debug build needs more than a release.
"""
import collections
import glob
import os
import re
import sys

import layers

ROOT = layers.ROOT
SRC = layers.SRC
COMMENT = re.compile(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.S)
WORD = re.compile(r'\b[A-Za-z_]\w*\b')
MARKED = re.compile(r'^FOR_TESTS\b[^;{(=]*?\b(\w+)[ \t]*[(;=]', re.M)
INLINE = re.compile(r'^static inline [^;{(]*?\b(\w+)\(', re.M)
SYSTEM_HEADER = re.compile(r'^#include <', re.M)
MACRO = re.compile(r'^[ \t]*#[ \t]*define[ \t]+(\w+)', re.M)
LOOKED_UP = '__attribute__((used))'


def code_of(path):
    """A file's text without comments and strings."""
    with open(path, errors='replace') as file:
        text = file.read()
    return COMMENT.sub(lambda match: ' ' if match[0][0] == '/' else '""', text)


def read_tree(folder, pattern):
    """-> {path: text without comments}, {word: set of paths that have it}"""
    texts, words = {}, collections.defaultdict(set)
    for path in sorted(glob.glob(os.path.join(folder, pattern), recursive=True)):
        texts[path] = code_of(path)
        for word in set(WORD.findall(texts[path])):
            words[word].add(path)
    return texts, words


def check_symbols(objects, texts, words, tested, marked, faults):
    """-> {symbol: [(folder, stem) that defines it]}"""
    paths = layers.objects_of_sources(objects)
    if not paths:
        faults.append(f'{objects}: no objects; build first')
    defined, needed = layers.read_symbols(paths)
    needed = {symbol for _, _, symbol in needed}
    for symbol, owners in sorted(defined.items()):
        folder, stem = owners[0]
        own = os.path.join(SRC, folder, stem + '.c')
        users = {path for path in words[symbol] if path.endswith('.c') and path != own}
        if not symbol.isidentifier():  # of the compiler: __odr_asan.x, _.stapsdt.base
            continue
        if symbol in needed or users or symbol == 'main' or symbol in marked:
            continue
        if re.search(re.escape(LOOKED_UP) + r'[^;]*\b' + symbol + r'\b', texts[own]):
            continue
        use = 'only tests need' if symbol in tested else 'nobody needs'
        faults.append(f'src/{folder}/{stem}.c: {use} {symbol} from outside: static, FOR_TESTS '
                      '(base/attributes.h), or none of it')
    return defined


def read_marks(texts):
    """-> {symbol: header that declares it FOR_TESTS}"""
    return {name: path for path, text in texts.items() for name in MARKED.findall(text)}


def check_marks(marked, defined, words, tested, faults):
    for symbol, path in sorted(marked.items()):
        place = os.path.relpath(path, ROOT)
        owners = {f'{folder}/{stem}.c' for folder, stem in defined.get(symbol, [])}
        users = {os.path.relpath(user, SRC) for user in words[symbol] if user.endswith('.c')}
        if symbol not in tested:
            faults.append(f'{place}: {symbol} is FOR_TESTS, and no test names it')
        elif users - owners:
            faults.append(f'{place}: {symbol} is FOR_TESTS, and needed by '
                          + ', '.join(sorted(users - owners)))


def check_headers(texts, words, tested, faults):
    for path, text in texts.items():
        if not path.endswith('.h'):
            continue
        place = os.path.relpath(path, ROOT)
        for kind, pattern in (('inline function', INLINE), ('macro', MACRO)):
            for name in pattern.findall(text):
                alone = words[name] == {path} and len(re.findall(r'\b' + name + r'\b', text)) == 1
                if not alone or name.startswith('EVENKEEL_'):
                    continue
                if kind == 'macro' and SYSTEM_HEADER.search(text, text.index(name)):
                    continue  # a word to the system's header below it
                if name not in tested:
                    faults.append(f'{place}: nobody needs the {kind} {name}')
                elif kind != 'macro':
                    faults.append(f'{place}: only tests need the {kind} {name}: FOR_TESTS')


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    faults = []
    texts, words = read_tree(SRC, '*/*.[ch]')
    tested = read_tree(os.path.join(ROOT, 'tests'), '**/*.[ch]')[1]
    marked = read_marks(texts)
    defined = check_symbols(sys.argv[1], texts, words, tested, marked, faults)
    check_marks(marked, defined, words, tested, faults)
    check_headers(texts, words, tested, faults)
    for fault in faults:
        print(fault)
    sys.exit(1 if faults else 0)


if __name__ == '__main__':
    main()
