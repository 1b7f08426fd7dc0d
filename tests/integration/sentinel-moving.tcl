# SPDX-License-Identifier: BSD-3-Clause
# docs/moving.md behind Sentinel: servers and Sentinels of a stock Redis 6.2 (BASELINE, the path of
# its redis-server) become ours and stock's again, one at a time, while a client writes. Without
# BASELINE it is left out. tests/interchange/behind_sentinel.py has the steps.

test {Behind Sentinel: from stock to ours and back} {
    if {![info exists ::env(BASELINE)] || ![file executable $::env(BASELINE)]} {
        skip "no BASELINE=path of a stock redis-server"
    }
    set moving [file join [file dirname $::tests] tests interchange moving]
    set result [run_program [list python3 $moving --stock $::env(BASELINE) \
        --ours $::options(server) --only "Sentinel, there"]]
    assert_match "*ok   behind Sentinel, there and back\n1 passed, 0 failed\n" \
        [dict get $result out]
} undefined {ours}
