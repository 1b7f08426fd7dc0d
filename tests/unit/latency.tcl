# SPDX-License-Identifier: BSD-3-Clause
# LATENCY: which events are kept, their series, the chart, and the words about it.

# Waits for a new second's first tenth, so that what follows stands in one second.
proc next_second {} {
    after [expr {1005 - [clock milliseconds] % 1000}]
}

# What follows tells of commands by their length: where the machine stands still for some time
# others than those meant are long, and these longer than meant. Then all is done again.

# The lines of GRAPH's text.
proc graph_lines {event} {
    return [split [string trimright [r latency graph $event] \n] \n]
}

start_server {} {
    test {The monitor is off at first and keeps nothing} {
        assert_equal 0 [config_get latency-monitor-threshold]
        r debug sleep 0.02
        assert_equal {} [r latency latest]
        assert_equal {} [r latency history command]
        assert_error_text {ERR No samples available for event 'command'} {r latency graph command}
        assert_equal 0 [r latency reset]
        assert_morethan [string length [r latency doctor]] 0
    } {} {needs:debug}

    proc short_command_kept {} {
        r latency reset
        r debug sleep 0.005
        r latency latest
    }

    test {A command that takes as long as the threshold is kept} {
        try_again 60 10 {
            r config set latency-monitor-threshold 20
            next_second
            set before [clock seconds]
            # On a busy host a short command may be a long one by the clock: then another is tried.
            wait_for_condition 100 0 {[short_command_kept] eq {}} else {
                fail {a command of 5 ms was kept each time}
            }
            r debug sleep 0.03
            set latest [r latency latest]
            assert_equal 1 [llength $latest]
            lassign [lindex $latest 0] event time newest longest
            assert_equal command $event
            assert_range $time $before [clock seconds]
            assert_range $newest 30 1000
            assert_equal $newest $longest
            assert_equal [list [list $time $newest]] [r latency history command]
        }
    } {} {needs:debug}

    test {One second has one sample, its longest} {
        try_again 60 10 {
            r latency reset
            next_second
            r debug sleep 0.03
            r debug sleep 0.12
            r debug sleep 0.03
            set history [r latency history command]
            assert_equal 1 [llength $history]
            assert_range [lindex $history 0 1] 120 1000
            next_second
            r debug sleep 0.03
            set history [r latency history command]
            assert_equal 2 [llength $history]
            lassign [lindex [r latency latest] 0] event time newest longest
            assert_equal [lindex $history 1] [list $time $newest]
            assert_equal [lindex $history 0 1] $longest
        }
    } {} {needs:debug}

    test {Names of events are told apart by case, but for RESET} {
        assert_equal {} [r latency history COMMAND]
        assert_error_text {ERR No samples available for event 'COMMAND'} {r latency graph COMMAND}
        try_again 60 10 {
            r latency reset
            r debug sleep 0.03
            assert_equal 1 [r latency reset COMMAND nosuch]
            assert_equal {} [r latency latest]
        }
    } {} {needs:debug}

    test {GRAPH: a headline, a line, four lines of chart, the ages below} {
        try_again 60 10 {
            r latency reset
            next_second
            r debug sleep 0.03
            next_second
            r debug sleep 0.2
            next_second
            r debug sleep 0.09
            set lines [graph_lines command]
            assert_match {command - high 2?? ms, low * ms (all time high 2?? ms)} [lindex $lines 0]
            assert_equal [string repeat - 80] [lindex $lines 1]
            assert_equal [list { # } { | } { |o} _|| {   }] [lrange $lines 2 6]
            assert_match {[23][12][01]} [lindex $lines 7]
            assert_equal {sss} [lindex $lines 8]
            assert_equal 9 [llength $lines]
        }
    } {} {needs:debug}

    test {GRAPH of one sample} {
        try_again 60 10 {
            r latency reset
            r debug sleep 0.03
            assert_equal {{ } { } { } _ { }} [lrange [graph_lines command] 2 6]
        }
    } {} {needs:debug}

    test {DOCTOR says something where there is something} {
        set text [r latency doctor]
        assert_match *command* $text
        assert_match "*- command: * No option moves this.*" $text
    }

    test {RESET forgets the events that it names, or all} {
        try_again 60 10 {
            r latency reset
            r debug sleep 0.03
            assert_equal 0 [r latency reset nosuch]
            assert_equal 1 [r latency reset nosuch command command]
            assert_equal {} [r latency latest]
            r debug sleep 0.03
            assert_equal 1 [r latency reset]
            assert_equal {} [r latency history command]
        }
    } {} {needs:debug}

    test {With the threshold back at 0 samples stay and none comes} {
        try_again 60 10 {
            r config set latency-monitor-threshold 20
            r latency reset
            next_second
            r debug sleep 0.03
            r config set latency-monitor-threshold 0
            next_second
            r debug sleep 0.03
            assert_equal 1 [llength [r latency history command]]
            assert_equal 1 [r latency reset]
        }
    } {} {needs:debug}

    test {LATENCY's faults} {
        foreach words {{latest x} history {history a b} graph {graph a b} {doctor x} {help x}
                       nosuch} {
            assert_error_text "ERR Unknown subcommand or wrong number of arguments for\
                '[lindex $words 0]'. Try LATENCY HELP." {r latency {*}$words}
        }
        assert_error_text {ERR wrong number of arguments for 'latency' command} {r latency}
    }

    test {LATENCY HELP names the subcommands} {
        set help [r latency help]
        foreach word {DOCTOR GRAPH HISTORY LATEST RESET HELP} {
            assert {[lsearch -glob $help $word*] > 0} "(no $word)"
        }
    }

    test {GRAPH and DOCTOR are bulks in RESP2 and verbatim texts in RESP3} {
        r config set latency-monitor-threshold 1
        r debug sleep 0.01
        set client [raw_client]
        foreach {protocol start} {2 {$} 3 =} {
            $client hello $protocol
            $client raw_reply
            foreach words {{graph command} doctor} {
                $client latency {*}$words
                set reply [$client raw_reply]
                assert_equal $start [string index $reply 0]
                assert_equal [expr {$protocol == 3}] [string match "=*\r\ntxt:*" $reply]
            }
        }
        $client close
    } {} {needs:debug}
}
