# SPDX-License-Identifier: BSD-3-Clause
# redis-check-aof: what it says of good and of damaged logs, and what --fix leaves.

set checker [file join [file dirname $::options(server)] redis-check-aof]

proc log_of {args} {
    set log ""
    foreach words $args {
        append log [client::encode $words]
    }
    return $log
}

# -> {exit status, output, what the file is afterwards}
proc check_log {checker bytes {flags {}} {answer {}}} {
    set path [tmpfile aof]
    write_whole $path $bytes
    set result [run_program [list $checker {*}$flags $path] $answer]
    return [list [dict get $result status] [dict get $result out] [read_whole $path]]
}

test {a good log} {
    set log [log_of {select 0} {set a 1} multi {set b {}} exec]
    lassign [check_log $checker $log] status out
    assert_equal 0 $status
    set size [string length $log]
    assert_equal "AOF analyzed: size=$size, ok_up_to=$size, ok_up_to_line=26, diff=0\n" \
        [regsub "AOF is valid\n$" $out {}]
}

test {a log that is cut off or damaged: up to where it is sound} {
    set whole [log_of {set a 1}]
    foreach {rest line fault} {
        "!!!" 8 {0x              1b: Expected prefix '\*', got: '!'}
        "*1\r\n$3\r\nget" 10 {0x              23: Expected to read 5 bytes, got 3 bytes}
        "*1\r\n$3\r\ngetxx" 10 {0x              23: Expected \\r\\n, got: 7878}
        "*1\r\n$4\r\nexec\r\n" 11 {0x*: Unexpected EXEC}
        "*1\r\n$5\r\nMULTI\r\n*1\r\n$5\r\nMULTI\r\n" 14 {0x*: Unexpected MULTI}
        "*1\r\n$5\r\nMULTI\r\n" 11 {0x*: Reached EOF before reading EXEC for MULTI}
    } {
        lassign [check_log $checker $whole$rest] status out left
        assert_equal 1 $status
        set lines [split $out \n]
        assert_match $fault [lindex $lines 0]
        set size [string length $whole$rest]
        assert_equal [list \
            "AOF analyzed: size=$size, ok_up_to=27, ok_up_to_line=$line, diff=[expr {$size - 27}]" \
            "AOF is not valid. Use the --fix option to try fixing it." {}] [lrange $lines 1 end]
        assert_equal $whole$rest $left
    }
}

test {--fix cuts off what is not sound, where the answer is yes} {
    set whole [log_of {set a 1}]
    set log $whole[log_of multi {set b 1}]
    set size [string length $log]
    foreach {answer fixed} {y 1 Y 1 yes 1 n 0 "" 0 " y" 0} {
        lassign [check_log $checker $log --fix $answer\n] status out left
        assert_match "*This will shrink the AOF from $size bytes, with [expr {$size - 27}] bytes,\
            to 27 bytes\nContinue? \\\[y/N\\\]: *" $out
        assert_equal [expr {!$fixed}] $status
        assert_equal [expr {$fixed ? $whole : $log}] $left
        assert_match [expr {$fixed ? "*Successfully truncated AOF\n" : "*Aborting...\n"}] $out
    }
    lassign [check_log $checker $whole --fix y] status out left
    assert_equal 0 $status
    assert_match "*AOF is valid\n" $out
    assert_equal $whole $left
}

test {what cannot be checked} {
    set path [tmpfile missing]
    assert_equal [dict create status 1 out "Cannot open file: $path\n" err {}] \
        [run_program [list $checker $path]]
    write_whole $path {}
    assert_equal [dict create status 1 out "Empty file: $path\n" err {}] \
        [run_program [list $checker $path]]
    foreach words {{} {--nosuch a b} {a b}} {
        assert_equal 1 [dict get [run_program [list $checker {*}$words]] status]
    }
}

start_server {overrides {save {}}} {
    test {behind a preamble} {
        r set a 1
        r save
        set preamble [read_whole [file join [srv dir] dump.rdb]]
        set log $preamble[log_of {select 0} {set a 2}]
        lassign [check_log $checker $log] status out
        assert_equal 0 $status
        assert_match {*start with an RDB preamble.*Checksum OK*AOF tail...*valid*} $out
        lassign [check_log $checker $log!!! --fix y] status out left
        assert_equal 0 $status
        assert_equal $log $left
        # A preamble is never cut off.
        set damaged [string replace $log 20 60 [string repeat x 41]]
        lassign [check_log $checker $damaged --fix y] status out left
        assert_equal 1 $status
        assert_match "*RDB preamble of AOF file is not sane, aborting.\n" $out
        assert_equal $damaged $left
    }

    test {it is also an option of the server} {
        set path [tmpfile aof]
        write_whole $path [log_of {set a 1}]!
        set result [run_program [list $::options(server) --check-aof $path]]
        assert_equal 1 [dict get $result status]
        assert_match "*ok_up_to=27, *not valid*" [dict get $result out]
        set result [run_program [list $::options(server) --check-aof --fix $path] y]
        assert_equal 0 [dict get $result status]
        assert_equal 27 [file size $path]
    } undefined ours
}

# Asked whether to cut, a file that grows meanwhile; returns what is said behind the question.
proc grow_at_question {checker path} {
    set pipe [open |[list $checker --fix $path 2>@1] r+]
    set said ""
    while {![string match {*Continue\? *: } $said] && ![eof $pipe]} {
        append said [read $pipe 1]
    }
    set file [open $path a]
    puts -nonewline $file more
    close $file
    puts $pipe y
    flush $pipe
    set rest [read $pipe]
    return [list [catch {close $pipe}] $rest]
}

test {a file that somebody writes to is not cut off} {
    set bytes [log_of {set a 1}]*1
    set path [tmpfile aof]
    write_whole $path $bytes
    lassign [grow_at_question $checker $path] failed rest
    assert_equal 1 $failed
    assert_match "The file is being written to: *" $rest
    assert_equal ${bytes}more [read_whole $path]
}

# The end of a file that grows is not known to be unsound: nobody is told to cut it off.
test {a file that somebody writes to is not called damaged} {
    set path [tmpfile aof]
    write_whole $path [string repeat [log_of {set a 1}] 100000]*1
    set writer [exec sh -c "while kill -0 [pid]; do printf 1 >> $path; done" &]
    set said ""
    for {set i 0} {$i < 200 && ![string match *written* $said]} {incr i} {
        set said [dict get [run_program [list $checker $path]] out]
        if {[string match *written* $said]} {
            assert_match "*AOF analyzed: *\nThe file is being written to: *" $said
            assert_no_match "*not valid*" $said
        }
    }
    exec kill $writer
    assert_match *written* $said
} undefined ours

start_server {overrides {appendonly yes appendfsync no save {}} tags {ours}} {
    test {the log of a server that writes: its state at one moment} {
        set path [file join [srv dir] appendonly.aof]
        set writer [redis_deferring_client]
        for {set i 0} {$i < 20} {incr i} {
            for {set j 0} {$j < 2000} {incr j} {
                $writer set key:$j value
            }
            $writer flush
            set said [dict get [run_program [list $checker $path]] out]
            regexp {size=(\d+), ok_up_to=(\d+), ok_up_to_line=\d+, diff=(\d+)} $said \
                -> size sound diff
            assert_equal $diff [expr {$size - $sound}] $said
            assert {$diff < 100}
            for {set j 0} {$j < 2000} {incr j} {
                $writer read
            }
        }
        $writer close
    }
}
