#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Installs what Evenkeel is built on: the packages of deps/packages.txt that are missing here.
#
# usage: deps/install.sh [--check] [GROUP...]   groups: build test bench fuzz (build test)
#
# Needs nothing but a shell, dpkg and apt, so that it works where even make is missing. Installs
# only what is missing and does not touch the network when nothing is. --check only says what is
# missing (status 1). The groups test and bench also have a Python part (deps/python.sh).
set -eu

here=$(cd "$(dirname "$0")" && pwd)
list=$here/packages.txt
only_check=no
if [ "${1:-}" = --check ]; then
    only_check=yes
    shift
fi
groups=${*:-build test}

say() { printf '%s\n' "deps: $*"; }
fail() { printf '%s\n' "deps: $*" >&2; exit 1; }

for group in $groups; do
    grep -q "^$group " "$list" || fail "no group \"$group\" in deps/packages.txt"
done

# The entries of the chosen groups, one a line; alternatives still joined by "|".
entries() {
    for group in $groups; do
        sed -n "s/^$group \([^ ]*\).*/\1/p" "$list"
    done
}

is_installed() {
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# Prints the entries none of whose alternatives is installed.
missing_entries() {
    entries | while read -r entry; do
        found=no
        for name in $(printf '%s' "$entry" | tr '|' ' '); do
            if is_installed "$name"; then found=yes; fi
        done
        if [ $found = no ]; then printf '%s\n' "$entry"; fi
    done
}

# The first alternative that apt knows; the first of all where it knows none, so that apt says so.
choose() {
    for name in $(printf '%s' "$1" | tr '|' ' '); do
        if apt-cache show --no-all-versions "$name" >/dev/null 2>&1; then
            printf '%s' "$name"
            return
        fi
    done
    printf '%s' "${1%%|*}"
}

command -v dpkg-query >/dev/null && command -v apt-get >/dev/null ||
    fail "this is not a Debian or Ubuntu; install the equivalents of: $(entries | tr '\n' ' ')"

missing=$(missing_entries)
if [ -n "$missing" ]; then
    if [ $only_check = yes ]; then
        fail "missing: $(printf '%s ' $missing)- get them with: sh deps/install.sh $groups"
    fi
    as_root=
    if [ "$(id -u)" != 0 ]; then
        command -v sudo >/dev/null ||
            fail "missing: $(printf '%s ' $missing)- run this as root, or install sudo"
        as_root=sudo
    fi
    say "installing: $(printf '%s ' $missing)"
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get -q update ||
        say "apt-get update failed; going on with the package lists that are here"
    names=
    for entry in $missing; do names="$names $(choose "$entry")"; done
    # shellcheck disable=SC2086
    $as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get -q -y install --no-install-recommends $names
fi

for group in $groups; do
    case $group in
    test | bench)
        if [ $only_check = yes ]; then
            sh "$here/python.sh" --check "$group"
        else
            sh "$here/python.sh" "$group"
        fi
        ;;
    esac
done
say "all there: $groups"
