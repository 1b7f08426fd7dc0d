# SPDX-License-Identifier: BSD-3-Clause Time that the machine stole from a test: a thread was ready
# to run, and had no processor.
#
# A test of time asserts order and sums: a reply came after the requested time, the parts are no
# more than the whole. Where a test has to assert that something was quick, it uses these
# procedures. They subtract the stolen time, and if that decides the result, the test is skipped
# with `the machine stole N ms`, which the run counts.
#
# What counts as stolen: the run delay of this process and of every thread of the running servers
# (/proc/PID/task/TID/schedstat), and what the hypervisor took (`steal` of /proc/stat). Programs
# that a test starts and that end within the test are not counted.

# Nanoseconds that the threads of a process waited for a processor so far; 0 where it is not told.
proc run_delay_nsec {pid} {
    set sum 0
    foreach path [glob -nocomplain /proc/$pid/task/*/schedstat] {
        if {![catch {read_whole $path} text] && [llength $text] >= 2} {
            incr sum [lindex $text 1]
        }
    }
    return $sum
}

# The same of all processors of the machine, taken by the hypervisor, in ticks of 10 ms.
proc steal_nsec {} {
    if {[catch {read_whole /proc/stat} text] || ![regexp -line {^cpu +(.*)$} $text -> figures]} {
        return 0
    }
    set ticks [lindex $figures 7]
    return [expr {$ticks eq "" ? 0 : $ticks * 10000000}]
}

# A mark from which stolen_ms counts: {what nanoseconds} pairs.
proc stolen_mark {} {
    set mark [dict create steal [steal_nsec] [pid] [run_delay_nsec [pid]]]
    foreach id $::servers {
        dict set mark $::server($id,pid) [run_delay_nsec $::server($id,pid)]
    }
    return $mark
}

# Milliseconds that were stolen since the mark. Processes that have ended since count nothing.
proc stolen_ms {mark} {
    set sum 0
    dict for {what before} $mark {
        set now [expr {$what eq "steal" ? [steal_nsec] : [run_delay_nsec $what]}]
        incr sum [expr {max(0, $now - $before)}]
    }
    return [expr {$sum / 1000000}]
}

proc skip_for_stolen {ms} {
    skip "the machine stole $ms ms"
}

# The value, in milliseconds, must be less than the limit. If it is less only without the time
# stolen since the mark, the test is skipped.
proc assert_quick {value limit mark {detail ""}} {
    if {$value < $limit} return
    set stolen [stolen_ms $mark]
    if {$value - $stolen < $limit} {
        skip_for_stolen $stolen
    }
    fail "expected $value ms to be less than $limit ms, and only $stolen ms were stolen\
        $detail[assert_place]"
}

# For conditions that hold only while the machine does not stand still: the body is evaluated until
# it succeeds, at most `tries` times. A try counts as disturbed where `slack_ms` were stolen in it.
# When no try succeeded and each was disturbed the test is skipped; else the last failure of a try
# that was not disturbed is the test's.
proc try_again {tries slack_ms body} {
    set most 0
    for {set i 0} {$i < $tries} {incr i} {
        set mark [stolen_mark]
        set code [catch {uplevel 1 $body} result options]
        if {$code != 1 || [dict get $options -errorcode] eq "SKIP"} {
            # One level more, or the loop would go on.
            dict incr options -level
            return -options $options $result
        }
        set stolen [stolen_ms $mark]
        set most [expr {max($most, $stolen)}]
        if {$stolen < $slack_ms} {
            set failure $result
            set failure_options $options
        }
    }
    if {![info exists failure]} {
        skip_for_stolen $most
    }
    return -options $failure_options $failure
}
