#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Makes the virtual environment build/venv and installs a group's lines of deps/python.txt in it.
#
# usage: deps/python.sh [--check] GROUP     groups: test bench
#
# A stamp with the installed lines stands in build/venv; nothing is done, and the network not
# touched, while it equals deps/python.txt.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
venv=$here/../build/venv
only_check=no
if [ "${1:-}" = --check ]; then
    only_check=yes
    shift
fi
group=${1:?usage: deps/python.sh [--check] GROUP}

wanted=$(sed -n "s/^\([^# ]*\) *# $group:.*/\1/p" "$here/python.txt")
stamp=$venv/installed-$group
if [ -x "$venv/bin/python3" ] && [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ]; then
    exit 0
fi
if [ $only_check = yes ]; then
    echo "deps: build/venv lacks the Python packages for $group; sh deps/install.sh $group" >&2
    exit 1
fi
if ! "$venv/bin/python3" -m pip --version >/dev/null 2>&1; then
    rm -rf "$venv"
    mkdir -p "$here/../build"
    python3=/usr/bin/python3
    [ -x $python3 ] || python3=python3
    $python3 -m venv "$venv"
fi
echo "deps: into build/venv: $(printf '%s ' $wanted)"
# shellcheck disable=SC2086
"$venv/bin/python3" -m pip --quiet --disable-pip-version-check install $wanted
printf '%s\n' "$wanted" >"$stamp"
