#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Makes the files that come from the server's tables, or compares them with what is in the tree.
#
# usage: generated.sh --write|--check REDIS_SERVER
set -eu
mode=$1
server=$2
root=$(cd "$(dirname "$0")/../.." && pwd)
case $server in /*) ;; *) server=$PWD/$server ;; esac
cd "$root"

if [ ! -x "$server" ]; then
    echo "$server is missing; the generated files cannot be compared. Build first."
    exit 1
fi

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
status=0
while read -r program option file filter; do
    words=$(echo "$option" | tr , ' ') # a comma stands between words
    if ! "$(dirname "$server")/$program" $words >"$scratch/page" 2>"$scratch/errors" ||
        [ ! -s "$scratch/page" ] || ! ${filter:-cat} <"$scratch/page" >"$scratch/out"; then
        echo "$program $option: failed or printed nothing"
        cat "$scratch/errors"
        status=1
    elif [ "$mode" = --write ]; then
        mkdir -p "$(dirname "$root/$file")"
        cmp -s "$scratch/out" "$root/$file" || cp "$scratch/out" "$root/$file"
    elif ! diff -u "$root/$file" "$scratch/out" >"$scratch/diff" 2>&1; then
        echo "$file is not what $program $option prints; 'make generated' writes it"
        head -n 20 "$scratch/diff"
        status=1
    fi
done <<END
redis-server --describe-config-example redis.conf
redis-server --describe-options docs/options.md
redis-server --describe-metrics docs/info.md
redis-server --describe-scrape docs/metrics-names.md
redis-server --describe-commands docs/commands.md
redis-server --describe-man docs/man/redis-server.1
redis-server --check-rdb,--describe-man docs/man/redis-check-rdb.1
redis-server --check-aof,--describe-man docs/man/redis-check-aof.1
redis-sentinel --describe-config-example sentinel.conf
redis-sentinel --describe-options docs/sentinel-options.md
redis-sentinel --describe-man docs/man/redis-sentinel.1
redis-cli --describe-man docs/man/redis-cli.1
redis-cli --describe-completion docs/completion/redis-cli
redis-benchmark --describe-man docs/man/redis-benchmark.1
redis-benchmark --describe-completion docs/completion/redis-benchmark
redis-server --describe-commands src/cli/cli_summaries.h awk -f tests/lint/help_rows.awk
END
python3 tests/measure/pictures.py "$mode" || status=1
python3 packaging/prometheus/make_board.py "$mode" "$server" || status=1
exit $status
