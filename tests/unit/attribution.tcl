# SPDX-License-Identifier: BSD-3-Clause
# SLOWLOG EXPLAIN and INFO latencystats: whose time a stall was. Commands that are innocent (the
# server's process is stopped, or another has its processor), guilty (they work), and both.

# The newest entry of EXPLAIN as a dict.
proc explained {} {
    return [lindex [r slowlog explain 1] 0]
}

# The newest of this command: where all is slow, others may have come behind it.
proc explained_of {command} {
    foreach entry [r slowlog explain 10] {
        if {[field $entry command] eq $command} {return $entry}
    }
    fail "$command is not in the slow log"
}

proc field {entry name} {
    return [dict get $entry $name]
}

# CPU time of the server's main thread, in us, as the system counts it.
proc main_thread_cpu_usec {} {
    set text [r info cpu]
    set seconds [expr {[info_property $text used_cpu_sys_main_thread] +
                       [info_property $text used_cpu_user_main_thread]}]
    return [expr {int($seconds * 1000000)}]
}

proc latencystat {name} {
    return [info_property [r info latencystats] $name]
}

# Sends the command, and stops the server's process for `stop_ms` while it runs. True where that
# was in time, that is, where the command's entry is that long.
proc stop_within {stop_ms args} {
    r slowlog reset
    set other [redis_deferring_client]
    $other {*}$args
    $other flush
    await_read $other
    pause_process [srv 0 pid]
    after $stop_ms
    exec kill -CONT [srv 0 pid]
    $other read
    $other close
    return [expr {[r slowlog len] > 0 && [field [explained] wall_usec] >= $stop_ms * 1000}]
}

proc longest_turn_anew {} {
    r config resetstat
    r ping
    return [info_property [r info stats] eventloop_turn_cpu_usec_max]
}

start_server {tags {ours} overrides {slowlog-log-slower-than 5000}} {
    # The stem of every heavy command: as long as its work, never as the machine's mood.
    r setbit big [expr {(256 << 23) - 1}] 1

    test {EXPLAIN answers one map an entry, GET stays as it was} {
        # On a busy machine any command may be a slow one, by the clock.
        try_again 20 5 {
            r slowlog reset
            assert_equal {} [r slowlog explain]
            r bitcount big
            r bitcount big
            assert_equal 2 [llength [r slowlog explain]]
            assert_equal 1 [llength [r slowlog explain 1]]
            assert_equal 2 [llength [r slowlog explain -1]]
            set entry [explained]
            set get [lindex [r slowlog get 1] 0]
            assert_equal [lindex $get 0] [field $entry id]
        }
        assert_equal {id command wall_usec cpu_usec off_cpu_usec eviction_usec expire_usec\
                free_usec fork_usec involuntary_switches verdict advice} [dict keys $entry]
        assert_equal {bitcount big} [field $entry command]
        assert_equal 6 [llength $get]
        assert_equal [lindex $get 2] [field $entry wall_usec]
        assert_error_text {ERR value is not an integer or out of range} {r slowlog explain x}
    }

    test {Guilty: what a command works is its CPU time, as the system counts it} {
        r slowlog reset
        set before [main_thread_cpu_usec]
        r bitop not copy big
        set used [expr {[main_thread_cpu_usec] - $before}]
        set entry [explained_of {bitop not copy big}]
        assert_equal [field $entry wall_usec] \
            [expr {[field $entry cpu_usec] + [field $entry off_cpu_usec]}]
        # All that it used; at most that and what the two INFOs took.
        assert_morethan [field $entry cpu_usec] 5000
        assert_lessthan_equal [field $entry cpu_usec] [expr {$used + 1000}]
        assert_morethan_equal [field $entry cpu_usec] [expr {$used / 2}]
        if {[field $entry off_cpu_usec] * 10 < [field $entry wall_usec]} {
            assert_match "For * % of the time the command itself worked." [field $entry verdict]
        }
    }

    test {Innocent: a process stopped within a command} {
        set found 0
        for {set try 0} {$try < 20 && !$found} {incr try} {
            if {![stop_within 600 bitop not copy big]} continue
            set entry [explained]
            set found [string match "*did not run (*stopped or asleep*" [field $entry verdict]]
        }
        assert $found "the command was never met while it ran"
        assert_morethan_equal [field $entry off_cpu_usec] 550000
        assert_match "*the server's thread did not run*" [field $entry verdict]
        assert_lessthan [field $entry cpu_usec] \
            [expr {[field $entry wall_usec] - [field $entry off_cpu_usec] + 1}]
    }

    test {Mixed: the verdict names both parts} {
        # The stop is about as long as the work: some try has each above the fifth. Not where other
        # work has the processor for most of the time in most tries, as the system says.
        set verdicts {}
        set disturbed 0
        set stolen 0
        set found 0
        for {set try 0} {$try < 30 && !$found && $disturbed < 10} {incr try} {
            r slowlog reset
            r bitop not copy big
            set work_ms [expr {[field [explained] cpu_usec] / 1000}]
            set mark [stolen_mark]
            if {![stop_within $work_ms bitop not copy big]} continue
            incr stolen [set lost [stolen_ms $mark]]
            incr disturbed [expr {$lost * 2 > $work_ms}]
            set entry [explained]
            lappend verdicts [field $entry verdict]
            # The stop itself: other work may have made a part of it.
            set found [expr {[field $entry off_cpu_usec] > $work_ms * 500 &&
                [string match "Mixed: for * the command itself worked*" [field $entry verdict]]}]
        }
        if {!$found && 2 * $disturbed > [llength $verdicts]} {
            skip_for_stolen $stolen
        }
        assert $found $verdicts
        assert_match "*did not run (*" [field $entry verdict]
    }

    test {Innocent: another process has the processor} {
        if {[auto_execok taskset] eq ""} { skip "no taskset" }
        set pid [srv 0 pid]
        set mask [lindex [exec taskset -p $pid] end]
        regexp {(\d+)} [lindex [exec taskset -cp $pid] end] -> cpu
        set hogs {}
        set failed [catch {
            exec taskset -acp $cpu $pid
            foreach i {1 2 3} {
                lappend hogs [exec taskset -c $cpu sh -c {while :; do :; done} \
                    </dev/null >&/dev/null &]
            }
            set found 0
            for {set try 0} {$try < 20 && !$found} {incr try} {
                r bitop not copy big
                set found [string match "*did not run (*other work had its processor*" \
                    [field [explained] verdict]]
            }
            set entry [explained]
        } result options]
        # Whatever became of it: what follows is to have the processors again.
        foreach hog $hogs { exec kill $hog }
        exec taskset -ap $mask $pid
        if {$failed} { return -options $options $result }
        assert $found $entry
        assert_morethan [field $entry off_cpu_usec] [expr {[field $entry wall_usec] / 5}]
        assert_morethan [field $entry involuntary_switches] 0
    }

    test {Time stopped between commands is not the next command's} {
        r slowlog reset
        # On a busy machine the server may not have come to wait yet when it is stopped.
        set before [expr {[latencystat main_thread_idle_usec] +
            [latencystat main_thread_off_cpu_unclaimed_usec]}]
        set other [redis_deferring_client]
        r ping
        pause_process [srv 0 pid]
        $other bitcount big
        $other get nothing
        $other flush
        set mark [stolen_mark]
        after 1000
        set begin [clock microseconds]
        exec kill -CONT [srv 0 pid]
        $other read
        $other read
        # All that the commands may have waited for has passed since the server goes on.
        set passed [expr {[clock microseconds] - $begin}]
        $other close
        set sum 0
        foreach entry [r slowlog explain -1] {
            if {[field $entry command] in {{bitcount big} {get nothing}}} {
                incr sum [field $entry off_cpu_usec]
            }
        }
        assert_lessthan_equal $sum $passed [r slowlog explain -1]
        assert_morethan [expr {[latencystat main_thread_idle_usec] +
            [latencystat main_thread_off_cpu_unclaimed_usec]}] [expr {$before + 900000}]
        # Where as much passed as the stop was long, it could be hidden in there.
        if {$passed >= 1000000} {
            skip_for_stolen [stolen_ms $mark]
        }
    }

    test {latency-attribution no: nothing is measured, and that is said} {
        with_config {latency-attribution no} {
            r slowlog reset
            r bitcount big
            set entry [explained_of {bitcount big}]
            assert_equal -1 [field $entry cpu_usec]
            assert_equal -1 [field $entry off_cpu_usec]
            assert_match "Not measured*" [field $entry verdict]
            assert_morethan [field $entry wall_usec] 0
        }
        r slowlog reset
        r bitcount big
        assert_morethan [field [explained_of {bitcount big}] cpu_usec] 0
    }

    test {The times by cause add up to the time that has passed} {
        set begin [clock microseconds]
        r config resetstat
        r bitcount big
        after 100
        set text [r info latencystats]
        set passed [expr {[clock microseconds] - $begin}]
        set sum 0
        foreach cause {
            other commands eviction expiry freeing tables defrag persistence fork io idle
        } {
            incr sum [info_property $text main_thread_${cause}_usec]
        }
        assert_lessthan_equal $sum [expr {$passed + 50000}]
        assert_morethan_equal $sum 100000
        assert_morethan [info_property $text main_thread_commands_usec] 5000
        wait_for_condition 100 10 {[latencystat main_thread_idle_usec] > 50000} else {
            fail "the server is never idle"
        }
        assert_no_match "*Latencystats*" [r info]
        assert_match "*# Latencystats*" [r info all]
    }

    test {RESETSTAT forgets the longest turn} {
        r bitcount big
        r ping
        assert_morethan [info_property [r info stats] eventloop_turn_cpu_usec_max] 5000
        # A turn may be long for other reasons.
        wait_for_condition 100 0 {[longest_turn_anew] < 5000} else {
            fail "a turn took more than 5 ms each time"
        }
    }

    test {LATENCY DOCTOR names off-CPU time where it is as long as an event} {
        with_config {latency-monitor-threshold 100} {
            r config resetstat
            r debug sleep 0.15
            assert_match "*off-CPU: for *" [r latency doctor]
        }
    } {} {needs:debug}
}

start_server {tags {ours}} {
    test {LATENCY HISTOGRAM: calls and cumulative times, inside and as felt} {
        r config resetstat
        for {set i 0} {$i < 50} {incr i} { r set k $i }
        r get k
        set map [r latency histogram]
        assert_equal {calls histogram_usec client_histogram_usec} [dict keys [dict get $map set]]
        assert_equal 50 [dict get $map set calls]
        foreach part {histogram_usec client_histogram_usec} {
            set last_bound 0
            set last_count 0
            dict for {bound count} [dict get $map set $part] {
                assert_morethan $bound $last_bound
                assert_morethan $count $last_count
                assert_equal 0 [expr {$bound & ($bound - 1)}] "a power of two"
                set last_bound $bound
                set last_count $count
            }
            assert_equal 50 $last_count $part
        }
        assert_equal {get set} [lsort [dict keys [r latency histogram set get nosuch mset]]]
        assert_equal {} [r latency histogram nosuch]
        r config resetstat
        assert_equal {} [r latency histogram set]
    }

    test {LATENCY HISTOGRAM: what the client feels holds what came before it} {
        # The machine may stand still within the PING.
        try_again 20 5 {
            r config resetstat
            set other [redis_deferring_client]
            $other write [client::encode {debug sleep 0.05}][client::encode ping]
            $other read
            $other read
            $other close
            set ping [dict get [r latency histogram ping] ping]
            set inside [lindex [dict keys [dict get $ping histogram_usec]] end]
            set felt [lindex [dict keys [dict get $ping client_histogram_usec]] end]
            assert_lessthan $inside 50000
            assert_morethan $felt $inside
        }
    } {} {needs:debug}

    test {A command that waits has no time that its client felt} {
        r config resetstat
        set other [redis_deferring_client]
        $other blpop nolist 0.05
        $other flush
        $other read
        $other close
        assert_equal {} [dict get [r latency histogram blpop] blpop client_histogram_usec]
        assert_equal 1 [dict get [r latency histogram blpop] blpop calls]
    } {} {needs:list}
}
