#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Compares the layout of the C files with .clang-format; --write makes it so.
#
# usage: format.sh [--write] [FILE...]
#
# Only clang-format 14 counts, as other releases lay out differently; deps/python.txt brings it.
set -eu
cd "$(dirname "$0")/../.."

write=no
if [ "${1:-}" = --write ]; then
    write=yes
    shift
fi

tool=
for name in build/venv/bin/clang-format clang-format-14 clang-format; do
    if "$name" --version 2>/dev/null | grep -q 'version 14\.'; then
        tool=$name
        break
    fi
done
if [ -z "$tool" ]; then
    echo "clang-format 14 is missing; 'make deps' gets it"
    exit 1
fi

if [ $# = 0 ]; then
    # No name holds a blank: tests/lint/style.py sees to it.
    # shellcheck disable=SC2046
    set -- $(find src tests -name '*.[ch]' 2>/dev/null | LC_ALL=C sort)
fi
[ $# != 0 ] || exit 0
if [ $write = yes ]; then
    exec "$tool" -i "$@"
fi
wrong=$("$tool" --dry-run -Werror "$@" 2>&1 | sed -n 's/^\([^:]*\):[0-9]*:[0-9]*: error: .*/\1/p' |
    LC_ALL=C sort -u)
for file in $wrong; do
    echo "$file: not laid out as .clang-format has it ('make format')"
    "$tool" "$file" | diff -u "$file" - | sed -n '3,14p' || true
done
[ -z "$wrong" ]
