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

# Modes that go on until they are ended write to a file in blocks: stdbuf makes lines of them.
begin_lasting() {
    said=$(mktemp) || exit 2
    stdbuf -oL "$cli" -h "$host" -p "$port" "$@" </dev/null >"$said" 2>&1 &
    lasting_pid=$!
}

# Waits, at most two minutes, until what the mode has said is like the pattern.
await_said() {
    tries=0
    while [ $tries -lt 1200 ]; do
        # shellcheck disable=SC2254
        case $(tr '\r' '\n' <"$said") in
        $1) break ;;
        esac
        tries=$((tries + 1))
        sleep 0.1
    done
}

end_lasting() {
    kill "$lasting_pid" 2>/dev/null
    wait "$lasting_pid" 2>/dev/null
    tr '\r' '\n' <"$said"
    rm -f "$said"
}

# lasting PATTERN WORDS...: what the mode has said when that was like the pattern.
lasting() {
    wanted=$1
    shift
    begin_lasting "$@"
    await_said "$wanted"
    end_lasting
}

# like_lasting NAME PATTERN WORDS...
like_lasting() {
    name=$1 pattern=$2
    shift 2
    like "$name" "$pattern" "$(lasting "$pattern" "$@")"
}

c flushall >/dev/null
c set small x >/dev/null
c set other y >/dev/null
printf '%01000d' 0 | "$cli" -h "$host" -p "$port" -x set large >/dev/null
like 'redis-cli --bigkeys' '*"large"* has 1000 bytes*3 strings with 1002 bytes*' "$(c --bigkeys)"
like 'redis-cli --memkeys' '*Biggest string found *"large"* has 1[01]?? bytes*' "$(c --memkeys)"
like 'redis-cli --hotkeys says what it needs' '*ERR An LFU maxmemory policy is not selected*' \
    "$(c --hotkeys)"
check 'redis-cli --scan' "$(printf 'large\nother\nsmall')" "$(c --scan | sort)"
check 'redis-cli --scan --pattern' small "$(c --scan --pattern 's*')"
like_lasting 'redis-cli --stat' '*keys*mem*clients*requests*3 *' --stat -i 0.2
like_lasting 'redis-cli --latency' '*[0-9]* [0-9]* [0-9.]* [0-9]*' --latency --raw -i 1
like_lasting 'redis-cli --latency, CSV' '*[0-9]*,[0-9]*,[0-9.]*,[0-9]*' --latency --csv -i 1
like_lasting 'redis-cli --latency-history' '*[0-9]* [0-9]* [0-9.]* [0-9]*' --latency-history -i 1
like 'redis-cli --intrinsic-latency' '*total runs (avg latency: *' "$(c --intrinsic-latency 1)"
check 'redis-cli --csv, several' '"x",NULL,"y"' "$(c --csv mget small none other)"
check 'redis-cli --raw of an array' "$(printf 'x\ny')" "$(c --raw mget small other)"
# Of Redis 7's tool, as Debian has it.
if "$cli" --help 2>&1 | grep -q -- '--json'; then
    check 'redis-cli --json' '["x",null]' "$(c --json mget small none)"
fi
check 'redis-cli --quoted-input' OK "$(c --quoted-input set '"a\x00b"' 1)"
check 'redis-cli --quoted-input: the key' 'a\x00b' \
    "$(c --no-raw keys 'a*' | sed 's/.*"\(.*\)"/\1/')"
check 'redis-cli -u' PONG "$("$cli" -u "redis://$host:$port/3" ping 2>&1)"
like 'redis-cli --no-auth-warning -a, no password is set' \
    'ERR AUTH <password> called without any password configured for the default user.*' \
    "$(c --no-auth-warning -a x ping 2>&1 | sed -n 's/^AUTH failed: //p')"
monitored='*OK*[0-9.]* \[0 127.0.0.1:[0-9]*\] "set" "small" "in \\"quotes\\""*'
begin_lasting monitor
await_said '*OK*'
c set small 'in "quotes"' >/dev/null
await_said "$monitored"
like 'redis-cli monitor' "$monitored" "$(end_lasting)"
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

# Tests whose rows have other names, or none of the four.
measured() {
    name=$1 row=$2
    shift 2
    out=$("$benchmark" -h "$host" -p "$port" --csv "$@" </dev/null 2>&1)
    like "redis-benchmark $name" "*\"$row\",\"[1-9]*" "$out"
}
measured '-t mset' 'MSET (10 keys)' -t mset -n 20000 -P 4 -r 1000
measured '-k 0' PING_INLINE -t ping -n 1000 -c 10 -k 0
measured 'a command of its own' 'incr counter:__rand_int__' \
    -n 10000 -r 100 incr counter:__rand_int__
measured '-3' GET -t get -n 10000 -3
measured '--dbnum' GET -t get -n 10000 --dbnum 4
measured '-q -e' SET -q -e -t set -n 10000
bench '--threads' -t set,get,incr,ping -n 100000 -c 50 -P 16 --threads 2
like 'redis-benchmark counted on the server' '*cmdstat_incr:calls=*failed_calls=0*' \
    "$(c info commandstats)"
check 'redis-cli flushall after it' OK "$(c flushall)"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
