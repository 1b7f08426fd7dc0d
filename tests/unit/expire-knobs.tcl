# SPDX-License-Identifier: BSD-3-Clause
# The options of active expiry, turned while the server works, and what INFO shows of them.

# So many keys of a name with a deadline so many ms from now, each a command of a pipeline.
proc fill_volatile {name count msec} {
    for {set i 0} {$i < $count} {incr i 500} {
        set client [redis_deferring_client]
        set sent 0
        for {set j $i} {$j < $i + 500 && $j < $count} {incr j} {
            $client set $name:$j v px $msec
            incr sent
        }
        for {set j 0} {$j < $sent} {incr j} {
            $client read
        }
        $client close
    }
}

proc stat {field} {
    return [s $field]
}

start_server {tags {"ours"}} {
    test {Each option refuses what is out of its range and keeps its value} {
        foreach {option bad default} {
            active-expire-sample-size {0 10001 -1 x} 20
            active-expire-effort {0 11 -1 x} 1
            active-expire-dbs-per-cycle {0 10001 -1 x} 16
            active-expire-algorithm {clock {} 1} deadline
        } {
            foreach value $bad {
                assert_error {*CONFIG SET*} {r config set $option $value}
            }
            assert_equal $default [lindex [r config get $option] 1] $option
        }
    }

    test {Under deadline no live key is examined} {
        fill_volatile live 3000 100000000
        r config resetstat
        fill_volatile dead 2000 1
        wait_for_condition 500 10 {[r dbsize] == 3000} else {
            fail "[r dbsize] keys are left"
        }
        assert {[stat expire_examined_total] <= 2000}
        assert_equal 2000 [stat expired_keys]
        assert_equal 0 [stat expire_due_backlog]
        assert_equal 0.00 [stat expired_stale_perc]
    }

    test {The lag from deadline to deletion is shown and reset} {
        assert {[stat expire_lag_usec_max] > 0}
        assert {[stat expire_lag_usec_p50] <= [stat expire_lag_usec_p99]}
        assert {[stat expire_lag_usec_p99] <= [stat expire_lag_usec_max]}
        r config resetstat
        assert_equal 0 [stat expire_lag_usec_max]
    }

    test {With expiry off the backlog is exact, and goes when it is on again} {
        r debug set-active-expire 0
        fill_volatile held 100 1
        wait_for_condition 500 10 {[stat expire_due_backlog] == 100} else {
            fail "the backlog is [stat expire_due_backlog]"
        }
        assert_equal 3100 [r dbsize]
        r debug set-active-expire 1
        wait_for_condition 500 10 {[r dbsize] == 3000} else {
            fail "[r dbsize] keys are left"
        }
    } {} {needs:debug}

    test {By sampling dead keys stay among many live ones; back by deadline they go} {
        r config set active-expire-algorithm sampling
        # Dead keys are a fortieth: fewer in a sample than effort 1 tolerates.
        r debug set-active-expire 0
        fill_volatile stale 75 1
        r config resetstat
        r debug set-active-expire 1
        wait_for_condition 500 10 {[stat expire_examined_total] >= 20} else {
            fail "nothing was sampled"
        }
        assert {[stat expired_keys] < [stat expire_examined_total]}
        assert {[r dbsize] > 3000}
        r config set active-expire-algorithm deadline
        wait_for_condition 500 10 {[r dbsize] == 3000} else {
            fail "[r dbsize] keys are left"
        }
    } {} {needs:debug}

    test {Keys in many databases go, whatever dbs-per-cycle says} {
        r config set active-expire-dbs-per-cycle 1
        for {set db 0} {$db < 16} {incr db} {
            r select $db
            r flushdb
            r set k v px 1
            r set stays v
        }
        for {set db 0} {$db < 16} {incr db} {
            r select $db
            wait_for_condition 500 10 {[r dbsize] == 1} else {
                fail "database $db has [r dbsize] keys"
            }
        }
        r select 9
        r config set active-expire-dbs-per-cycle 16
    } {OK}
}
