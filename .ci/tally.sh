# SPDX-License-Identifier: BSD-3-Clause
# For .ci/run and .ci/nightly: phases are run one after the other, and their tallies added up.
#
# A phase is a command whose last line of the form "N passed, N failed" counts; one that ends with
# an error without a failed test counts as one failure, and one that ran no test fails. `log` is set
# by the script that reads this file.
passed=0 failed=0 status=0

# What is drawn is drawn by the commit, so that a run of the same commit is the same run.
drawn=$(git rev-parse HEAD 2>/dev/null | cut -c1-6)
drawn=$((0x${drawn:-1}))

# run NAME COMMAND...: runs it, shows and logs what it says, adds its tally to the sums.
run() {
    name=$1
    shift
    begun=$(date +%s)
    before=$(wc -l <"$log")
    {
        echo "=== $name"
        "$@"
        echo $? >build/ci.status
    } 2>&1 | tee -a "$log"
    code=$(cat build/ci.status)
    tally=$(tail -n +$((before + 1)) "$log" | grep -E '^[0-9]+ passed, [0-9]+ failed$' | tail -n 1)
    good=${tally%% *} bad=${tally#*, }
    case ${tally:-none} in
    none) good=0 bad=1 code=1 ;;
    '0 passed, '*) code=1 ;;
    esac
    bad=${bad%% *}
    if [ "$code" != 0 ] && [ "$bad" = 0 ]; then bad=1; fi
    if [ "$bad" != 0 ]; then status=1; fi
    passed=$((passed + good)) failed=$((failed + bad))
    rows="${rows:-}$(printf '%-46s %5d passed %4d failed %5d s' "$name" "$good" "$bad" \
        $(($(date +%s) - begun)))
"
}

# counts COMMAND...: a command that passes or fails as a whole is one test.
counts() {
    if "$@"; then echo "1 passed, 0 failed"; else echo "0 passed, 1 failed"; fi
}

sum_up() {
    echo "==="
    printf '%s' "$rows"
    echo "$passed passed, $failed failed"
    exit "$status"
}

# The suites once more as a container or a service has them: no locale, no terminal, another time
# zone, nothing of the environment but PATH and HOME. The zone is written out, so that it needs no
# table of zones. Python is not to put a locale of its own into the environment of what it starts.
bare_test() {
    env -i PATH="$PATH" HOME="${HOME:-/}" TZ='<+1245>-12:45' PYTHONCOERCECLOCALE=0 \
        python3 tests/lint/total.py lint units tcl clients
}

# The seeds that the commit draws: $1 of them.
simulated() {
    tests/sim/run --jobs 2 --seeds "$drawn-$((drawn + $1 - 1))"
}

# The same of clusters with replicas, which elect.
elections_simulated() {
    tests/sim/run --jobs 2 --shards 3 --seeds "$drawn-$((drawn + $1 - 1))"
}
