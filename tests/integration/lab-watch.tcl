# SPDX-License-Identifier: BSD-3-Clause
# redis-lab watch, against the server under test: lines for scripts, and the screen on a pseudo
# terminal. The program is ours, also where the server is not.

set lab [expr {[info exists ::env(EVENKEEL_BIN)] && $::env(EVENKEEL_BIN) ne "" ?
    $::env(EVENKEEL_BIN) : [file join [file dirname $::tests] build bin]}]/redis-lab
if {[file executable [file dirname $::options(server)]/redis-lab]} {
    set lab [file dirname $::options(server)]/redis-lab
}

# Columns of CSV that any Redis 6.2 can fill, and those that only ours can.
set common {ops_per_sec probe_p50_usec probe_p99_usec probe_max_usec main_thread_cpu_percent
    evicted_per_sec overshoot_bytes counted_bytes used_bytes clients_bytes rss_bytes
    expired_per_sec stale_percent keys clients save_percent}
set only_ours {off_cpu_percent eviction_percent budget_exhausted_per_sec due_backlog tables_owing
    tables_bytes overshoot_peak_bytes ceiling_hits_per_sec evicted_clients_per_sec
    expire_lag_p99_usec lazyfree_bytes walk_copied_bytes_per_sec walk_waiting_bytes
    walk_writers_held_per_sec walk_percent commands_percent expiry_percent freeing_percent
    tables_percent io_percent idle_percent}

# The lines of CSV as dicts.
proc csv_rows {text} {
    set lines [split [string trimright $text \n] \n]
    set names [split [lindex $lines 0] ,]
    set rows {}
    foreach line [lrange $lines 1 end] {
        set values [split $line ,]
        assert_equal [llength $names] [llength $values]
        set row {}
        foreach name $names value $values {
            dict set row $name $value
        }
        lappend rows $row
    }
    return $rows
}

proc watch_csv {lab args} {
    set result [run_program [list $lab watch -p [srv port] --csv --interval 100 {*}$args]]
    if {[dict get $result status] != 0} {
        fail "redis-lab watch ended with [dict get $result status]: [dict get $result err]"
    }
    assert_equal "" [dict get $result err]
    return [csv_rows [dict get $result out]]
}

# The screen's rows as the text's sequences leave them (those that the program uses).
proc screen_of {text rows columns} {
    set lines [lrepeat $rows [string repeat " " $columns]]
    set last [string last "\033\[1;1H" $text]
    foreach {-> row rest} [regexp -all -inline {\x1b\[(\d+);1H((?:(?!\x1b\[\d+;1H).)*)} \
            [string range $text $last end]] {
        regsub -all {\x1b\[[0-9;?]*[a-zA-Z]} $rest {} rest
        lset lines [expr {$row - 1}] $rest
    }
    return $lines
}

test {redis-lab says how it is used} {
    set help [run_program [list $lab --help]]
    assert_equal 0 [dict get $help status]
    assert_match "Usage: redis-lab watch*" [dict get $help out]
    set help [run_program [list $lab watch --help]]
    assert_equal 0 [dict get $help status]
    assert_match "*--probe-interval msec*" [dict get $help out]
    foreach words {{} nosuch {watch --nosuch} {watch -p x} {watch --samples 3}} {
        set result [run_program [list $lab {*}$words]]
        assert_equal 2 [dict get $result status]
        assert_equal "" [dict get $result out]
        assert {[dict get $result err] ne ""}
    }
}

test {Without a terminal there is no screen} {
    set result [run_program [list $lab watch]]
    assert_equal 1 [dict get $result status]
    assert_match "*--csv needs none*" [dict get $result err]
}

test {No server: the reason, and status 1} {
    set result [run_program [list $lab watch -s /no/such/socket --csv]]
    assert_equal 1 [dict get $result status]
    assert_equal "redis-lab watch: connect: No such file or directory\n" [dict get $result err]
    assert_equal "" [dict get $result out]
}

start_server {} {
    # Where the machine stands still for an interval, no probe was answered in it.
    test {--csv prints a line of names and a line a sample} { try_again 20 20 {
        set rows [watch_csv $lab --samples 3]
        assert_equal 3 [llength $rows]
        set last 0
        foreach row $rows {
            assert {[dict get $row time] > $last}
            set last [dict get $row time]
            foreach name $common {
                assert {[string is double -strict [dict get $row $name]]}
            }
        }
        assert_equal {} [lmap name [concat $common $only_ours] {
            if {[dict exists $row $name]} continue
            set name
        }]
        assert {[dict get $row probe_p50_usec] <= [dict get $row probe_p99_usec]}
        assert {[dict get $row probe_p99_usec] <= [dict get $row probe_max_usec]}
        assert {[dict get $row probe_max_usec] > 0}
    } }

    test {--csv speaks RESP3 too} {
        set row [lindex [watch_csv $lab --samples 1 -3] 0]
        assert {[string is double -strict [dict get $row used_bytes]]}
    }

    test {Figures that only ours has are there} {
        set row [lindex [watch_csv $lab --samples 1] end]
        foreach name $only_ours {
            assert {[string is double -strict [dict get $row $name]]}
        }
    } {} {ours}

    test {Keys and memory are the server's} {
        r flushall
        populate 1000 key: 100
        set row [lindex [watch_csv $lab --samples 1] end]
        assert_equal 1000 [dict get $row keys]
        assert_equal 0 [dict get $row overshoot_bytes]
        assert_lessthan [expr {abs([dict get $row used_bytes] - [s used_memory])}] 200000
    }

    test {Commands of others count, those of the probe do not} { try_again 20 20 {
        set out ""
        set quiet [watch_csv $lab --samples 2 --interval 1000 --probe-interval 1]
        set worst 0
        foreach row $quiet {
            if {[dict get $row ops_per_sec] > $worst} {
                set worst [dict get $row ops_per_sec]
            }
        }
        # 1,000 probes a second are taken off; a few may be under way.
        assert_lessthan $worst 500
        set channel [open |[list $lab watch -p [srv port] --csv --interval 100 --samples 5] r]
        set client [redis_deferring_client]
        set sent 0
        while {![eof $channel]} {
            fconfigure $channel -blocking 0
            append out [read $channel]
            for {set i 0} {$i < 200} {incr i} {
                $client ping
            }
            for {set i 0} {$i < 200} {incr i} {
                $client read
            }
            incr sent 200
        }
        $client close
        close $channel
        set most 0
        foreach row [csv_rows $out] {
            if {[dict get $row ops_per_sec] > $most} {
                set most [dict get $row ops_per_sec]
            }
        }
        assert_morethan $most [expr {$sent / 10.0}]
    } }

    test {Over maxmemory shows} {
        with_config {maxmemory-policy noeviction maxmemory 1} {
            set row [lindex [watch_csv $lab --samples 1] end]
            assert_morethan [dict get $row overshoot_bytes] 100000
        }
    }

    test {A stall counts in full} {
        set channel [open |[list $lab watch -p [srv port] --csv --interval 100 2>@1] r]
        gets $channel names
        gets $channel first
        pause_process [srv pid]
        after 400
        exec kill -CONT [srv pid]
        set most 0
        for {set i 0} {$i < 50 && $most < 350000} {incr i} {
            set row [lindex [csv_rows $names\n[gets $channel]] 0]
            if {[dict get $row probe_max_usec] ne ""} {
                set most [dict get $row probe_max_usec]
            }
        }
        # It ends when it finds that nobody reads any more.
        catch {close $channel}
        assert_morethan_equal $most 350000
    }

    test {--csv to a full disk ends with the reason, before the first interval} {
        set result [run_program [list sh -c "exec $lab watch -p [srv port] --csv \
            --interval 60000 > /dev/full"]]
        assert_equal 1 [dict get $result status]
        assert_equal "redis-lab watch: standard output: No space left on device\n" \
            [dict get $result err]
    }

    test {SIGHUP ends --csv, unless nohup has it ignored} {
        set channel [open |[list $lab watch -p [srv port] --csv --interval 100 2>@1] r]
        gets $channel names
        exec kill -HUP [pid $channel]
        read $channel
        assert {[catch {close $channel} message options]}
        assert_equal SIGHUP [lindex [dict get $options -errorcode] 2]
        set channel [open |[list sh -c "trap '' HUP; exec $lab watch -p [srv port] --csv \
            --interval 100 2>&1"] r]
        gets $channel names
        exec kill -HUP [pid $channel]
        for {set i 0} {$i < 3} {incr i} {
            assert_equal [llength [split $names ,]] [llength [split [gets $channel] ,]]
        }
        catch {close $channel}
    }

    test {The server ends: so does --csv, with the reason} {
        set client [redis_client]
        set channel [open |[list $lab watch -p [srv port] --csv --interval 100 2>@1] r]
        gets $channel names
        gets $channel first
        r client kill type normal skipme yes
        set rest [read $channel]
        assert {[catch {close $channel}]}
        assert_match "*redis-lab watch: the other side closed the connection*" $rest
        catch {$client close}
    }

    test {The screen shows figures and knobs; a key, a value and Enter set one} {
        r config set hz 10
        set terminal [terminal_open 24 80 $lab watch -p [srv port] --interval 100]
        set text ""
        await_shown $terminal text {hz 10}
        assert_match "*\033\\\[?1049h*" $text
        await_shown $terminal text {PING p50\S* +[\d.]+(us|ms|s)}
        send_keys $terminal p
        await_shown $terminal text {hz \(10\) = }
        send_keys $terminal 51\x7f0\r
        await_shown $terminal text {hz: 10 -> 50}
        assert_equal 50 [config_get hz]
        set text ""
        await_shown $terminal text {since/[2-9]}
        set screen [screen_of $text 24 80]
        assert_match "redis-lab watch  127.0.0.1:[srv port]  *Redis 6.2*" [lindex $screen 0]
        assert_match "*now  before/* since/*change*" [lindex $screen 1]
        send_keys $terminal \t
        await_shown $terminal text {p \*hz .{0,10}50}
        send_keys $terminal q
        set ended [terminal_end $terminal text]
        assert_equal {0 restored} $ended
        assert_match "*\033\\\[?25h\033\\\[?1049l*" $text
    }

    test {An error of the server is shown, and nothing is marked} {
        set terminal [terminal_open 24 80 $lab watch -p [srv port] --interval 100]
        set text ""
        await_shown $terminal text {hz \d+}
        send_keys $terminal pabc\r
        await_shown $terminal text {hz abc: argument couldn't be parsed into an integer}
        send_keys $terminal \t
        set text ""
        await_shown $terminal text {q: quit}
        # It may have been drawn more than once.
        assert_no_match "*before/*" [regsub -all {before/since} $text {}]
        send_keys $terminal q
        assert_equal {0 restored} [terminal_end $terminal text]
    }

    test {The picture follows the terminal's size} {
        set terminal [terminal_open 24 80 $lab watch -p [srv port] --interval 60000]
        set text ""
        await_shown $terminal text {20 of 3\d figures}
        set text ""
        terminal_size $terminal 50 120
        await_shown $terminal text {\x1b\[50;1H}
        assert_no_match "*of 3? figures*" $text
        set text ""
        terminal_size $terminal 4 20
        await_shown $terminal text {The terminal is too}
        send_keys $terminal q
        assert_equal {0 restored} [terminal_end $terminal text]
    }

    foreach {signal status} {INT 0 TERM 0 QUIT 0 ABRT -6 SEGV -11} {
        test "The terminal is put back after SIG$signal" {
            set terminal [terminal_open 24 80 $lab watch -p [srv port]]
            set text ""
            await_shown $terminal text {hz \d+}
            regexp {%pid (\d+)} $text -> pid
            exec kill -$signal $pid
            assert_equal [list $status restored] [terminal_end $terminal text]
            assert_match "*\033\\\[?25h\033\\\[?1049l*" $text
        }
    }

    test {Suspended, the terminal is given back; continued, all is drawn anew} {
        set terminal [terminal_open 24 80 $lab watch -p [srv port] --interval 60000]
        set text ""
        await_shown $terminal text {hz \d+}
        regexp {%pid (\d+)} $text -> pid
        set text ""
        exec kill -TSTP $pid
        await_shown $terminal text {\x1b\[\?1049l}
        wait_for_condition 200 25 {[regexp -line {^State:\s+T} [read_whole /proc/$pid/status]]} \
            else { fail "it is not stopped" }
        exec kill -CONT $pid
        await_shown $terminal text {\x1b\[\?1049h.*redis-lab watch.*q: quit}
        send_keys $terminal q
        assert_equal {0 restored} [terminal_end $terminal text]
    }

    # A shell does that when a program of its is stopped.
    test {Stopped by SIGSTOP, and continued: the terminal is taken again} {
        set terminal [terminal_open 24 80 $lab watch -p [srv port] --interval 60000]
        set text ""
        await_shown $terminal text {hz \d+}
        regexp {%pid (\d+)} $text -> pid
        pause_process $pid
        terminal_order $terminal cook
        set text ""
        terminal_order $terminal modes
        await_shown $terminal text {%modes cooked}
        exec kill -CONT $pid
        await_shown $terminal text {redis-lab watch.*q: quit}
        terminal_order $terminal modes
        await_shown $terminal text {%modes raw}
        send_keys $terminal q
        assert_equal {0 restored} [terminal_end $terminal text]
    }

    # Replies that waited for the tool are not the server's stall.
    test {Time in which the tool was suspended is not the server's} {
        set terminal [terminal_open 24 80 $lab watch -p [srv port] --interval 100]
        set text ""
        await_shown $terminal text {PING max\S* +[\d.]+(us|ms)}
        regexp {%pid (\d+)} $text -> pid
        foreach signal {TSTP STOP} {
            exec kill -$signal $pid
            wait_for_condition 1000 10 {[regexp {\) T } [read_whole /proc/$pid/stat]]} else {
                fail "it is not stopped"
            }
            after 4000
            set text ""
            exec kill -CONT $pid
            # Several samples: one of them has what was under way.
            await_shown $terminal text {(PING max.*){5}}
            foreach {-> seconds} [regexp -all -inline {PING max\S* +([\d.]+)s} $text] {
                assert_lessthan $seconds 4
            }
            foreach {-> seconds} [regexp -all -inline {no answer for ([\d.]+) s} $text] {
                assert_lessthan $seconds 4
            }
        }
        send_keys $terminal q
        assert_equal {0 restored} [terminal_end $terminal text]
    }

    test {A terminal that takes no output: a second SIGTERM ends the program} {
        set terminal [terminal_open 24 80 $lab watch -p [srv port] --interval 100]
        set text ""
        await_shown $terminal text {hz \d+}
        regexp {%pid (\d+)} $text -> pid
        terminal_order $terminal output off
        after 500 ;# it draws meanwhile, and its write does not end
        set tries 0
        while {[process_alive $pid] && [incr tries] < 500} {
            catch {exec kill -TERM $pid}
            after 20
        }
        assert_lessthan $tries 500
        terminal_order $terminal output on
        assert_match {* restored} [terminal_end $terminal text]
    }

    test {The terminal goes away: so does the program} {
        set terminal [terminal_open 24 80 $lab watch -p [srv port] --interval 60000]
        set text ""
        await_shown $terminal text {hz \d+}
        regexp {%pid (\d+)} $text -> pid
        exec kill -KILL [pid $terminal]
        catch {
            fconfigure $terminal -blocking 1
            close $terminal
        }
        wait_for_condition 200 25 {![process_alive $pid]} else { fail "it is still there" }
    }

    test {A connection that ends is said and opened again} {
        set terminal [terminal_open 24 80 $lab watch -p [srv port] --interval 100]
        set text ""
        await_shown $terminal text {hz \d+}
        set text ""
        r client kill type normal skipme yes
        await_shown $terminal text {not connected: the other side closed}
        set text ""
        await_shown $terminal text {Redis 6\.2\.\d+ +\x1b.*hz \d+}
        send_keys $terminal q
        assert_equal {0 restored} [terminal_end $terminal text]
    }
}

start_server {overrides {requirepass secret}} {
    test {A password: given, from the environment, wrong, missing} {
        set common [list $lab watch -p [srv port] --csv --interval 100 --samples 1]
        foreach words {{-a secret} {-3 -a secret} {-a secret --user default}
                       {-3 -a secret --user default}} {
            assert_equal 0 [dict get [run_program [concat $common $words]] status]
        }
        set ::env(REDISCLI_AUTH) secret
        assert_equal 0 [dict get [run_program $common] status]
        unset ::env(REDISCLI_AUTH)
        set result [run_program [concat $common {-a wrong}]]
        assert_equal 1 [dict get $result status]
        assert_match "redis-lab watch: WRONGPASS*" [dict get $result err]
        set result [run_program $common]
        assert_equal 1 [dict get $result status]
        assert_match "redis-lab watch: NOAUTH*" [dict get $result err]
    }
}

# Of a server that is none: says this to whoever connects.
proc say_and_wait {words channel args} {
    fconfigure $channel -translation binary -buffering none
    puts -nonewline $channel $words
}

foreach {words reason} {
    "HTTP/1.1 400 Bad Request\r\n\r\n" {protocol: a reply begins with a byte that marks no type}
    "*1000000000\r\n" {protocol: the reply has more elements than allowed}
    "$99999999999\r\n" {protocol: the reply's text is larger than allowed}
    "+OK\r\n-ERR \x1b\[2J\x9b\x7f\x07\r\n" {ERR .[2J...}
    "+OK\r\n+OK\r\n" {it does not answer INFO as Redis does}
    "+OK\r\n-LOADING wait\r\n" {LOADING wait}
    "+OK\r\n*2\r\n:1\r\n" {no answer in time}
} {
    test "A server that is none is left with the reason: $reason" {
        set listener [socket -server [list say_and_wait $words] -myaddr 127.0.0.1 0]
        set port [lindex [fconfigure $listener -sockname] 2]
        set out ""
        set lab_run [open |[list $lab watch -p $port --csv 2>@1] r]
        fconfigure $lab_run -blocking 0
        set until [expr {[clock milliseconds] + $::patience_ms}]
        while {[clock milliseconds] < $until && ![eof $lab_run]} {
            append out [read $lab_run]
            after 25 {set ::lab_waited 1}
            vwait ::lab_waited
        }
        close $listener
        fconfigure $lab_run -blocking 1
        assert {[catch {close $lab_run}]}
        assert_equal "redis-lab watch: $reason\n" $out
    }
}

# It has nothing to put back yet.
test {Ctrl-C while a server does not greet ends the program at once} {
    set listener [socket -server {say_and_wait ""} -myaddr 127.0.0.1 0]
    set port [lindex [fconfigure $listener -sockname] 2]
    set lab_run [open |[list $lab watch -p $port --csv 2>@1] r]
    after 300
    exec kill -INT [pid $lab_run]
    read $lab_run
    close $listener
    assert {[catch {close $lab_run} message options]}
    assert_equal SIGINT [lindex [dict get $options -errorcode] 2]
}

start_server {} {
    test {A change whose reply is lost is said} {
        set terminal [terminal_open 24 80 $lab watch -p [srv port] --interval 100]
        set text ""
        await_shown $terminal text {hz \d+}
        pause_process [srv pid]
        send_keys $terminal p50\r
        await_shown $terminal text {Setting hz}
        set text ""
        exec kill -KILL [srv pid]
        await_shown $terminal text {hz 50: the connection ended before the reply}
        send_keys $terminal q
        assert_equal {0 restored} [terminal_end $terminal text]
        await_end [srv process]
        restart_server
    }
}

start_server {overrides {rename-command {CONFIG {}}}} {
    test {Without CONFIG there are figures and no knobs} {
        set result [run_program [list $lab watch -p [srv port] --csv --interval 100 --samples 1]]
        assert_equal 0 [dict get $result status]
        set terminal [terminal_open 24 80 $lab watch -p [srv port] --interval 100]
        set text ""
        await_shown $terminal text {the server shows no knobs.*CONFIG GET: ERR unknown command}
        send_keys $terminal p\r
        await_shown $terminal text {This server has no hz}
        send_keys $terminal q
        assert_equal {0 restored} [terminal_end $terminal text]
    }
}
