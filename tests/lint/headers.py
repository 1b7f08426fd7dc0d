#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks that each header of src/ compiles alone, can be included twice, and has its own guard.

usage: headers.py [HEADER...]
"""
import concurrent.futures
import glob
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FLAGS = ['-std=gnu11', '-Wall', '-Wextra', '-Wstrict-prototypes', '-Wno-unused-parameter',
         '-Wno-unused-function', '-Werror', '-Isrc', '-include', 'src/base/forbidden.h',
         '-fsyntax-only', '-x', 'c', '-']


def guard_of(path):
    """src/base/string.h -> EVENKEEL_BASE_STRING_H"""
    return 'EVENKEEL_' + re.sub(r'[^A-Z0-9]', '_', path[len('src/'):].upper())


def check(path):
    """Returns the fault's text, or None."""
    include = path[len('src/'):]
    with open(os.path.join(ROOT, path), errors='replace') as file:
        text = file.read()
    if f'#ifndef {guard_of(path)}\n#define {guard_of(path)}\n' not in text:
        return f'{path}: wants the guard {guard_of(path)}'
    compiler = os.environ.get('CC', 'gcc').split()
    done = subprocess.run(compiler + FLAGS, cwd=ROOT, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT,
                          input=f'#include "{include}"\n#include "{include}"\n')
    return f'{path}: does not compile alone\n{done.stdout}' if done.returncode else None


def main():
    paths = sys.argv[1:] or sorted(os.path.relpath(path, ROOT) for path in
                                   glob.glob(os.path.join(ROOT, 'src/*/*.h')))
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        faults = [fault for fault in pool.map(check, paths) if fault]
    for fault in faults:
        print(fault)
    sys.exit(1 if faults else 0)


if __name__ == '__main__':
    main()
