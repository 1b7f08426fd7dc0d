# SPDX-License-Identifier: BSD-3-Clause
# `test` and `tags`, and how results reach the process that conducts the run.
#
# A worker process runs one file of tests. It reports events in lines that begin with a byte 1 and
# hold a Tcl list in base64; its other output goes to the screen unchanged.
#
# A test that fails does not end its file: the next one goes on with fresh connections. Only when a
# server is gone is the rest of its block left out, which counts as one more failure.

set ::tags {}
set ::test_running {}

# The reports of a worker: {start name} {ok name ms} {fail name text} {skip name why} {done unit ms}
proc report {args} {
    puts "\u0001[binary encode base64 [encoding convertto utf-8 $args]]"
    flush stdout
}

proc report_failure {name text} {
    if {$::test_running ne ""} {
        set name "$::test_running: $name"
    }
    report fail $name $text
}

proc report_skip {name why} {
    report skip $name $why
}

# Why tests with these tags do not run; "" when they do.
proc tags_denied {tags} {
    foreach tag $tags {
        if {$tag in $::options(deny)} {
            return "tag $tag"
        }
    }
    return ""
}

proc tags_not_chosen {tags} {
    if {$::options(allow) eq ""} {
        return ""
    }
    foreach tag $tags {
        if {$tag in $::options(allow)} {
            return ""
        }
    }
    return "none of the tags $::options(allow)"
}

# A name is chosen by being equal to a pattern or by matching it as a regular expression.
proc name_among {name patterns} {
    foreach pattern $patterns {
        if {$name eq $pattern} {
            return 1
        }
        if {![catch {regexp -- $pattern $name} matches] && $matches} {
            return 1
        }
    }
    return 0
}

proc test_denied {name tags} {
    if {$::options(only) ne "" && ![name_among $name $::options(only)]} {
        return "not among --only"
    }
    if {[name_among $name $::options(skiptest)]} {
        return "--skiptest"
    }
    set why [tags_denied $tags]
    if {$why eq ""} {
        set why [tags_not_chosen $tags]
    }
    return $why
}

# tags {slow needs:debug} { ... }
proc tags {words body} {
    set before $::tags
    set ::tags [concat $::tags $words]
    set code [catch {uplevel 1 $body} result options]
    set ::tags $before
    return -options $options -code $code $result
}

# Leaves the running test, which then counts as skipped.
proc skip {why} {
    return -code error -errorcode SKIP $why
}

# Counts the tests of a block that does not run as skipped: those that its text has.
proc skip_tests {why body} {
    set names [regexp -all -inline -line {^\s*test\s+(\{[^\}]*|"[^"]*)} $body]
    if {$names eq ""} {
        report_skip "a block" $why
    }
    foreach {line name} $names {
        report_skip [string range $name 1 end] $why
    }
}

# A block of tests that needs something of the host; where that is missing they count as skipped.
proc tests_where {possible why body} {
    if {$possible} {
        uplevel 1 $body
    } else {
        skip_tests $why $body
    }
}

# test NAME BODY ?EXPECTED? ?TAGS?: the body's result must equal EXPECTED or match it as a glob.
proc test {name body {expected undefined} {tags {}}} {
    set why [test_denied $name [concat $::tags $tags]]
    if {$why ne ""} {
        report_skip $name $why
        return
    }
    report start $name
    set ::test_running $name
    set begin [clock milliseconds]
    set code [catch {uplevel 1 $body} result options]
    set ::test_running {}
    if {$code == 1 && [dict get $options -errorcode] eq "SKIP"} {
        report_skip $name $result
        return
    }
    if {$code in {0 2}} {
        if {$expected eq "undefined" || $result eq $expected || [string match $expected $result]} {
            report ok $name [expr {[clock milliseconds] - $begin}]
            return
        }
        set text "expected [assert_shown $expected] but the result was [assert_shown $result]"
    } elseif {$code == 1 && [dict get $options -errorcode] eq "ASSERTION"} {
        set text $result
    } elseif {$code == 1} {
        set text [error_place $result [dict get $options -errorinfo]]
    } else {
        set text "the body ended with code $code"
    }
    test_failed $name $text
}

# An error's message with the command of the test that ran into it.
proc error_place {message info} {
    set lines [split $info \n]
    set end [lsearch -glob $lines {*("uplevel" body line *}]
    for {set i $end} {$i > 0 && ![string match "*invoked from within" [lindex $lines $i]] \
            && ![string match "*while executing" [lindex $lines $i]]} {incr i -1} {}
    return "$message\n    at [string trim [join [lrange $lines $i+1 $end] \n]]"
}

proc test_failed {name text} {
    set gone 0
    foreach id $::servers {
        if {![process_alive $::server($id,pid)] \
                && ![dict get $::server($id,settings) crash]} {
            set gone 1
            append text "\nthe server is gone; the rest of its block is left out"
        }
    }
    if {$::servers ne "" && $::options(log_lines) > 0} {
        set id [lindex $::servers end]
        append text "\n--- the server's log ($::server($id,log))\n" \
            [server_log_tail $id $::options(log_lines)]
    }
    report fail $name $text
    if {$gone} {
        return -code error -errorcode SERVER_GONE "the server is gone"
    }
    foreach id $::servers {
        if {$::server($id,client) ne ""} {
            catch {$::server($id,client) close}
            set ::server($id,client) {}
        }
    }
}

# A file's variables are local to this procedure, so that none clashes with ours; its procedures are
# global and see them only as arguments.
proc source_unit {path} {
    source $path
}

# Runs one file of tests; the worker's whole life.
proc run_unit {unit} {
    expr {srand($::options(seed) ^ ([zlib crc32 $unit] & 0x7fffffff) | 1)}
    file mkdir [file join $::options(scratch) pids]
    write_pid_file [pid]
    set begin [clock milliseconds]
    if {[catch {source_unit [file join $::options(tests) $unit.tcl]} message options] \
            && [dict get $options -errorcode] ne "SERVER_GONE"} {
        report_failure "outside of a test" [dict get $options -errorinfo]
    }
    while {$::servers ne ""} {
        server_destroy [lindex $::servers end]
        set ::servers [lrange $::servers 0 end-1]
    }
    file delete [pid_file [pid]]
    report done $unit [expr {[clock milliseconds] - $begin}]
}
