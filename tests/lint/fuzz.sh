#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Runs the fuzzers that make has built, prints coverage, or keeps what they found to be new.
#
# usage: fuzz.sh BUILD_FOLDER SECONDS NAME...        fuzz, then coverage of all inputs
#        fuzz.sh --corpus BUILD_FOLDER NAME...       each input of tests/fuzz/corpus/NAME, once
#        fuzz.sh --keep BUILD_FOLDER NAME...         merge new inputs into tests/fuzz/corpus/NAME
#
# New inputs go into BUILD_FOLDER/corpus/NAME, findings into BUILD_FOLDER/findings/NAME (status 1).
# A fuzzer's source names what it covers in a comment: "Covers: src/net/request.c ..."; the table
# of coverage has those files, or all of src/ where the comment is missing.
set -eu
cd "$(dirname "$0")/../.."

mode=fuzz
seconds=0
case $1 in
--corpus | --keep)
    mode=${1#--}
    out=$2
    shift 2
    ;;
*)
    out=$1
    seconds=$2
    shift 2
    ;;
esac
[ $# != 0 ] || { echo "no fuzzer in tests/fuzz"; exit 1; }
# A fuzzer may work in a folder of its own.
case $out in /*) ;; *) out=$PWD/$out ;; esac

# Debian names LLVM's tools with and without their release.
tool() {
    for name in "$1" "$1-14"; do
        if command -v "$name"; then return; fi
    done
    echo "$1 is missing; sh deps/install.sh fuzz" >&2
    exit 1
}

# The inputs that are kept, one run each: what was found once stays mended.
run_corpus() {
    passed=0 failed=0
    for name in "$@"; do
        mkdir -p "$out/findings/$name"
        if LLVM_PROFILE_FILE=/dev/null "$out/fuzzers/$name" -runs=0 -timeout=60 -rss_limit_mb=2048 \
            -artifact_prefix="$out/findings/$name/" "tests/fuzz/corpus/$name" \
            >"$out/$name.log" 2>&1; then
            passed=$((passed + 1))
        else
            failed=$((failed + 1))
            echo "FAIL $name:"
            grep -E 'ERROR|SUMMARY|Test unit written|runtime error' "$out/$name.log" ||
                tail -n 5 "$out/$name.log"
        fi
    done
    echo "$passed passed, $failed failed"
    [ $failed = 0 ]
}

if [ $mode = corpus ]; then
    run_corpus "$@"
    exit
fi

failed=
for name in "$@"; do
    kept=tests/fuzz/corpus/$name
    fresh=$out/corpus/$name
    findings=$out/findings/$name
    mkdir -p "$kept" "$fresh" "$findings"
    if [ $mode = keep ]; then
        "$out/fuzzers/$name" -merge=1 "$kept" "$fresh"
        continue
    fi
    dictionary=
    if [ -f "tests/fuzz/$name.dict" ]; then dictionary=-dict=tests/fuzz/$name.dict; fi
    echo "=== $name: $seconds s"
    # shellcheck disable=SC2086
    LLVM_PROFILE_FILE=/dev/null "$out/fuzzers/$name" -max_total_time="$seconds" -timeout=10 \
        -rss_limit_mb=2048 -print_final_stats=1 -artifact_prefix="$findings/" $dictionary \
        "$fresh" "$kept" 2>"$out/$name.log" || failed="$failed $name"
    grep -E '^stat::|ERROR|SUMMARY|Test unit written' "$out/$name.log" || true

    # Coverage is that of the inputs, old and new, each run once.
    LLVM_PROFILE_FILE=$out/$name.profraw "$out/fuzzers/$name" -runs=0 \
        -artifact_prefix="$findings/" "$fresh" "$kept" \
        2>/dev/null || true
    "$(tool llvm-profdata)" merge -sparse "$out/$name.profraw" -o "$out/$name.profdata"
    covers=$(sed -n 's/.*Covers: *\(.*\)/\1/p' "tests/fuzz/fuzz_$name.c" | sed 's,\*/,,')
    # shellcheck disable=SC2086
    "$(tool llvm-cov)" report "$out/fuzzers/$name" -instr-profile="$out/$name.profdata" \
        -show-branch-summary=0 ${covers:-src/}
done
if [ -n "$failed" ]; then
    echo "findings by:$failed (see $out/findings and $out/<name>.log)"
    exit 1
fi
