#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Compares the layout of the C files with .clang-format; --write makes it so.
#
# usage: format.sh [--write] [FILE...]
#
# Without FILE all, but not those that were found good as they are now (build/format.good has their
# digests, behind that of the rules).
# Only clang-format 14 counts, as other releases lay out differently; deps/python.txt brings it.
set -eu
cd "$(dirname "$0")/../.."

write=no all=
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
    if [ $write = no ]; then
        mkdir -p build
        rules=$(sha256sum <.clang-format | cut -c1-16)
        sha256sum "$@" | sed "s/^/$rules /" >build/format.now
        [ -f build/format.good ] || : >build/format.good
        # shellcheck disable=SC2046
        set -- $(LC_ALL=C grep -vxFf build/format.good build/format.now | awk '{print $3}')
        all=yes
    fi
fi
if [ $# != 0 ] && [ $write = yes ]; then
    exec "$tool" -i "$@"
fi
wrong=
if [ $# != 0 ]; then
    wrong=$("$tool" --dry-run -Werror "$@" 2>&1 |
        sed -n 's/^\([^:]*\):[0-9]*:[0-9]*: error: .*/\1/p' | LC_ALL=C sort -u)
fi
for file in $wrong; do
    echo "$file: not laid out as .clang-format has it ('make format')"
    "$tool" "$file" | diff -u "$file" - | sed -n '3,14p' || true
done
[ -z "$wrong" ]
[ -z "$all" ] || mv build/format.now build/format.good
