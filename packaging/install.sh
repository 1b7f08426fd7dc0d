#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Puts what was built where a distribution would: the second half of make install.
#
# usage: install.sh FOLDER_OF_PROGRAMS PREFIX SYSCONFDIR     (DESTDIR stands before both)
#
# A configuration that is there already is left as it is. No user is made and nothing started: the
# package does that, and `docs/moving.md` has the commands for who installs by hand.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
programs=$1
prefix=$2
sysconfdir=$3
to=${DESTDIR:-}

# filled SOURCE TARGET MODE: with the folders' names in it
filled() {
    install -d "$(dirname "$2")"
    sed "s|@PREFIX@|$prefix|g; s|@SYSCONFDIR@|$sysconfdir|g" "$here/$1" >"$2.new"
    chmod "$3" "$2.new"
    mv -f "$2.new" "$2"
}

# init_script SERVICE PROGRAM CONFIGURATION SUMMARY
init_script() {
    target=$to$sysconfdir/init.d/$1
    filled evenkeel.init.in "$target" 755
    sed "s|@SERVICE@|$1|g; s|@PROGRAM@|$2|g; s|@CONFIG@|$3|g; s|@SUMMARY@|$4|g" "$target" \
        >"$target.new"
    chmod 755 "$target.new"
    mv -f "$target.new" "$target"
}

# all_to FOLDER FILE...: those that are there
all_to() {
    folder=$1
    shift
    for file in "$@"; do
        [ -f "$file" ] || continue
        install -d "$folder"
        install -m 644 "$file" "$folder"
    done
}

install -d "$to$prefix/bin"
for program in redis-server redis-cli redis-benchmark redis-lab; do
    [ -f "$programs/$program" ] || continue
    install -m 755 "$programs/$program" "$to$prefix/bin"
done
for name in redis-check-rdb redis-check-aof redis-sentinel; do
    ln -sf redis-server "$to$prefix/bin/$name"
done

all_to "$to$prefix/share/evenkeel" "$root/LICENSE" "$root/redis.conf" "$root/sentinel.conf"
all_to "$to$prefix/share/evenkeel/profiles" "$root"/profiles/*.conf
all_to "$to$prefix/share/man/man1" "$root"/docs/man/*.1
all_to "$to$prefix/share/bash-completion/completions" "$root"/docs/completion/*
filled evenkeel.service.in "$to$prefix/lib/systemd/system/evenkeel.service" 644
filled evenkeel-sentinel.service.in "$to$prefix/lib/systemd/system/evenkeel-sentinel.service" 644
init_script evenkeel redis-server redis.conf \
    'Evenkeel, an in-memory data store that speaks Redis'
init_script evenkeel-sentinel redis-sentinel sentinel.conf \
    'Evenkeel Sentinel, which makes a replica the primary'
[ -e "$to$sysconfdir/evenkeel/redis.conf" ] ||
    filled redis.conf.in "$to$sysconfdir/evenkeel/redis.conf" 640
[ -e "$to$sysconfdir/evenkeel/sentinel.conf" ] ||
    filled sentinel.conf.in "$to$sysconfdir/evenkeel/sentinel.conf" 640
