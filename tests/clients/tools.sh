#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Debian's redis-cli and redis-benchmark against a running server.
#
# usage: tools.sh HOST PORT     (tests/clients/run starts a server and calls it)
# Prints the failures and last `N passed, N failed`. CLI and BENCHMARK name other programs.

host=$1 port=$2
cli=${CLI:-redis-cli} benchmark=${BENCHMARK:-redis-benchmark}
passed=0 failed=0

# check NAME EXPECTED ACTUAL
check() {
    if [ "$2" = "$3" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf 'FAIL  %s\n      expected: %s\n      got:      %s\n' "$1" "$2" "$3"
    fi
}

# like NAME PATTERN ACTUAL: a shell pattern
like() {
    case $3 in
    $2) passed=$((passed + 1)) ;;
    *)
        failed=$((failed + 1))
        printf 'FAIL  %s\n      expected: %s\n      got:      %s\n' "$1" "$2" "$3"
        ;;
    esac
}

c() {
    "$cli" -h "$host" -p "$port" "$@" </dev/null 2>&1
}

if ! command -v "$cli" >/dev/null || ! command -v "$benchmark" >/dev/null; then
    echo "tools.sh: redis-cli or redis-benchmark is missing (Debian: redis-tools)" >&2
    exit 2
fi

check 'redis-cli ping' PONG "$(c ping)"
check 'redis-cli flushall' OK "$(c flushall)"
check 'redis-cli set' OK "$(c set key value)"
check 'redis-cli get' value "$(c get key)"
check 'redis-cli get, formatted' '"value"' "$(c --no-raw get key)"
check 'redis-cli get of no key' '(nil)' "$(c --no-raw get nokey)"
check 'redis-cli incr' '(integer) 1' "$(c --no-raw incr counter)"
like 'redis-cli shows errors' 'ERR unknown command *' "$(c nosuch)"
check 'redis-cli -n' 0 "$(c -n 5 dbsize)"
check 'redis-cli -3' PONG "$(c -3 ping)"
check 'redis-cli -3, a map' '1# "maxmemory-samples" => "5"' \
    "$(c -3 --no-raw config get maxmemory-samples)"
check 'redis-cli -x' OK "$(printf 'from stdin' | "$cli" -h "$host" -p "$port" -x set x)"
check 'redis-cli -x: the value' 'from stdin' "$(c get x)"
check 'redis-cli -r' "$(printf '2\n3\n4')" "$(c -r 3 incr counter)"
check 'redis-cli, commands from a pipe' "$(printf 'OK\n1\nPONG')" \
    "$(printf 'set a 1\nget a\nping\n' | "$cli" -h "$host" -p "$port" 2>&1)"
check 'redis-cli --pipe' 'errors: 0, replies: 10000' "$(
    i=0
    while [ $i -lt 10000 ]; do
        echo "SET pipe:$i $i"
        i=$((i + 1))
    done | "$cli" -h "$host" -p "$port" --pipe 2>&1 | tail -1
)"
check 'redis-cli --pipe: the keys are there' 9999 "$(c get pipe:9999)"
like 'redis-cli info' '*redis_version:6.2.*' "$(c info server)"
like 'redis-cli config get' 'maxclients*' "$(c config get maxclients)"
check 'redis-cli --csv' '"maxmemory-samples","5"' "$(c --csv config get maxmemory-samples)"
check 'redis-cli -e: status of an error' 1 "$(c -e nosuch >/dev/null; echo $?)"
check 'redis-cli flushall at the end' OK "$(c flushall)"

# Each test must show up in redis-benchmark's table with a rate above zero.
bench() {
    name=$1
    shift
    out=$("$benchmark" -h "$host" -p "$port" --csv "$@" </dev/null 2>&1)
    for command in SET GET INCR PING_MBULK; do
        rate=$(printf '%s\n' "$out" | sed -n "s/^\"$command\",\"\([0-9.]*\)\".*/\1/p")
        case $rate in
        '' | 0.00) check "redis-benchmark $name: $command" 'a rate' "${rate:-$out}" ;;
        *) check "redis-benchmark $name: $command" ok ok ;;
        esac
    done
}

bench 'plain' -t set,get,incr,ping -n 20000 -c 50
bench '-P 16' -t set,get,incr,ping -n 100000 -c 50 -P 16
bench '-r, -d' -t set,get,incr,ping -n 50000 -c 50 -P 16 -r 100000 -d 200
bench '--threads' -t set,get,incr,ping -n 100000 -c 50 -P 16 --threads 2
like 'redis-benchmark counted on the server' '*cmdstat_incr:calls=*failed_calls=0*' \
    "$(c info commandstats)"
check 'redis-cli flushall after it' OK "$(c flushall)"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
