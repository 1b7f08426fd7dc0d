# SPDX-License-Identifier: BSD-3-Clause
# The run: gives files of tests to worker processes, prints what they say, counts.
#
# Invariants: 1. each file has a process of its own, so that no file sees the leftovers of another;
# 2. a worker without a sign of life for --timeout seconds is ended, its servers too, and counts as
# a failure; 3. the last line printed is `N passed, N failed`.

namespace eval conductor {
    variable waiting {}      ;# units not started yet
    variable running 0
    variable serial 0
    variable passed 0
    variable failed 0
    variable skipped 0
    variable stolen {}       ;# {unit name why}: skipped because the machine stole time
    variable failures {}     ;# {unit name}
    variable finished 0
    variable worker          ;# array: $channel,field
}

proc conductor::colour {code text} {
    if {!$::options(colour)} {
        return $text
    }
    return "\u001b\[${code}m$text\u001b\[0m"
}

# Runs the units; returns the exit status.
proc conductor::run {units} {
    variable waiting $units
    variable running
    variable finished
    puts "seed $::options(seed), server $::options(server)"
    if {$waiting eq ""} {
        puts "no file of tests"
        return 1
    }
    for {set i 0} {$i < $::options(clients)} {incr i} {
        start_next
    }
    after 1000 ::conductor::watch
    vwait ::conductor::finished
    return [summary]
}

proc conductor::start_next {} {
    variable waiting
    variable running
    variable serial
    variable worker
    variable finished
    if {$waiting eq ""} {
        if {!$running} {
            set finished 1
        }
        return
    }
    set waiting [lassign $waiting unit]
    incr running
    set options [array get ::options]
    dict set options worker [incr serial]
    dict set options scratch [file join $::options(scratch) $serial]
    file mkdir [dict get $options scratch]
    set channel [open |[list $::tclsh [file join $::options(tests) test_helper.tcl] \
        --worker $options $unit < /dev/null 2>@1] r]
    fconfigure $channel -blocking 0
    array set worker [list $channel,unit $unit $channel,seen [clock seconds] $channel,test {} \
        $channel,scratch [dict get $options scratch] $channel,done 0 \
        $channel,passed 0 $channel,failed 0 $channel,skipped 0]
    fileevent $channel readable [list ::conductor::read_worker $channel]
}

proc conductor::read_worker {channel} {
    variable worker
    while {[gets $channel line] >= 0} {
        set worker($channel,seen) [clock seconds]
        if {[string index $line 0] eq "\u0001"} {
            set bytes [binary decode base64 [string range $line 1 end]]
            set message [encoding convertfrom utf-8 $bytes]
            on_[lindex $message 0] $channel {*}[lrange $message 1 end]
        } else {
            puts $line
        }
    }
    if {[eof $channel]} {
        worker_ended $channel
    }
}

proc conductor::on_start {channel name} {
    variable worker
    set worker($channel,test) $name
}

proc conductor::on_ok {channel name ms} {
    variable worker
    variable passed
    incr passed
    incr worker($channel,passed)
    set worker($channel,test) {}
    if {$::options(verbose)} {
        puts "[colour 32 ok]    $worker($channel,unit): $name ($ms ms)"
    }
}

proc conductor::on_skip {channel name why} {
    variable worker
    variable skipped
    incr skipped
    incr worker($channel,skipped)
    set worker($channel,test) {}
    if {[string match "the machine stole *" $why]} {
        variable stolen
        lappend stolen [list $worker($channel,unit) $name $why]
    }
    if {$::options(verbose) && $why ne "not among --only"} {
        puts "[colour 33 skip]  $worker($channel,unit): $name ($why)"
    }
}

proc conductor::on_fail {channel name text} {
    variable worker
    variable failed
    variable failures
    incr failed
    incr worker($channel,failed)
    set worker($channel,test) {}
    lappend failures [list $worker($channel,unit) $name]
    puts "[colour 31 FAIL]  $worker($channel,unit): $name"
    puts "      [string map [list \n "\n      "] [string trimright $text]]"
    flush stdout
}

proc conductor::on_done {channel unit ms} {
    variable worker
    set worker($channel,done) 1
    puts [format "%s  %s: %d passed, %d failed, %d skipped (%.1f s)" [colour 36 done] $unit \
        $worker($channel,passed) $worker($channel,failed) $worker($channel,skipped) \
        [expr {$ms / 1000.0}]]
    flush stdout
}

proc conductor::worker_ended {channel} {
    variable worker
    variable running
    if {!$worker($channel,done)} {
        on_fail $channel "end of the file" "the worker ended early, in test\
            '$worker($channel,test)'"
        end_servers $worker($channel,scratch)
    }
    fconfigure $channel -blocking 1
    catch {close $channel}
    array unset worker $channel,*
    incr running -1
    start_next
}

# Ends what a dead worker left behind: processes of the pid files whose start time is still theirs.
proc conductor::end_servers {scratch} {
    foreach path [glob -nocomplain -directory [file join $scratch pids] *] {
        set pid [file tail $path]
        if {![catch {read_whole /proc/$pid/stat} stat] \
                && [lindex [string range $stat [string last ) $stat]+2 end] 19] eq \
                [read_whole $path]} {
            catch {exec kill -KILL $pid}
        }
    }
}

# Once a second: ends workers that have hung.
proc conductor::watch {} {
    variable worker
    foreach name [array names worker *,seen] {
        set channel [string range $name 0 end-5]
        if {[clock seconds] - $worker($name) > $::options(timeout)} {
            puts "timeout: $worker($channel,unit), test '$worker($channel,test)'"
            catch {exec kill -KILL [pid $channel]}
            # Its children may hold the channel open, so its end is not awaited.
            worker_ended $channel
        }
    }
    after 1000 ::conductor::watch
}

proc conductor::summary {} {
    variable passed
    variable failed
    variable skipped
    variable failures
    if {$failures ne ""} {
        puts "\nfailed (run again with --seed $::options(seed)):"
        foreach failure $failures {
            puts "  [lindex $failure 0]: [lindex $failure 1]"
        }
    }
    variable stolen
    foreach skip $stolen {
        puts "skipped: [lindex $skip 2]: [lindex $skip 0]: [lindex $skip 1]"
    }
    if {$skipped} {
        puts "$skipped skipped, [llength $stolen] of them because the machine stole time"
    }
    if {!$passed && !$failed} {
        puts "no test ran"
    }
    puts "$passed passed, $failed failed"
    return [expr {$failed || !$passed}]
}
