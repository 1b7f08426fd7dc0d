# SPDX-License-Identifier: BSD-3-Clause
# redis-lab experiment, against the server under test: what it refuses, what it reports, and that
# the old values come back however it ends. The program is ours, also where the server is not.

set lab [expr {[info exists ::env(EVENKEEL_BIN)] && $::env(EVENKEEL_BIN) ne "" ?
    $::env(EVENKEEL_BIN) : [file join [file dirname $::tests] build bin]}]/redis-lab
if {[file executable [file dirname $::options(server)]/redis-lab]} {
    set lab [file dirname $::options(server)]/redis-lab
}

proc experiment {lab args} {
    return [run_program [list $lab experiment -p [srv port] {*}$args]]
}

# An experiment that goes on until it is ended. Returns its channel once a value is set: hz is then
# 11 or 12, and was 10.
proc experiment_under_way {lab args} {
    r config set hz 10
    set channel [open |[list $lab experiment -p [srv port] --set hz=11,12 --block 1 --settle 0.1 \
        --rounds 1000 {*}$args 2>@1] r]
    wait_for_condition 400 25 {[config_get hz] in {11 12}} else { fail "no value is set" }
    return $channel
}

# What the tool has printed, and its exit status or the signal that ended it.
proc experiment_end {channel} {
    set text [read $channel]
    set status 0
    if {[catch {close $channel} message options]} {
        set code [dict get $options -errorcode]
        set status [lindex $code 2]
    }
    return [list $status $text]
}

proc await_old_value {} {
    wait_for_condition 400 25 {[config_get hz] eq "10"} else { fail "hz is [config_get hz]" }
}

# The watcher of an experiment: the tool's only child.
proc watcher_of {pid} {
    return [string trim [read_whole /proc/$pid/task/$pid/children]]
}

test {redis-lab experiment says how it is used} {
    set help [run_program [list $lab experiment --help]]
    assert_equal 0 [dict get $help status]
    assert_match "*--stop-if <figure>limit>*" [dict get $help out]
    foreach words {{} --nosuch {--set hz} {--set hz=1 --grid} {--set hz=1 --goal nosuch}
            {--set hz=1 --stop-if p99} {--set hz=1 --profile x} {--profile /no/such/file}
            {--against nowhere} {--set hz=1 --rounds 0} {--set hz=1 --rate 1} {--set hz=1 -t get}
            {--set hz=1 GET x} {--set hz=1 --rate 1 -t nosuch}
            {--set hz=1 --rate 1 -t get GET x}} {
        set result [run_program [list $lab experiment {*}$words]]
        assert_equal 2 [dict get $result status]
        assert_equal "" [dict get $result out]
        assert_match "redis-lab experiment: *" [dict get $result err]
    }
}

test {No server: the reason, and status 1} {
    set result [run_program [list $lab experiment -s /no/such/socket --set hz=1,2]]
    assert_equal 1 [dict get $result status]
    assert_equal "redis-lab experiment: /no/such/socket: connect: No such file or directory\n" \
        [dict get $result err]
}

start_server {} {
    test {What the server does not take is refused before the first block, and nothing changes} {
        r config set hz 10
        foreach {set why} {
            nosuch=1,2 "the server has no option nosuch"
            eviction-tenac=1,2 "*no option eviction-tenac; it has maxmemory-eviction-tenacity"
            hz=5,abc "the server refuses CONFIG SET hz abc: *"
            maxmemory-policy=noeviction,never "the server refuses CONFIG SET *"
            maxmemory-samples=5,0 "the server refuses CONFIG SET maxmemory-samples 0: *"
            maxclients=100,-1 "the server refuses CONFIG SET maxclients -1: *"
            databases=1,2 "databases can only be set when a server starts: --start *"
            h*=1,2 "the server has no option h*"
        } {
            set result [experiment $lab --set $set]
            assert_equal 1 [dict get $result status]
            assert_match "redis-lab experiment: $why\n" [dict get $result err]
            assert_equal "" [dict get $result out]
        }
        assert_equal 10 [config_get hz]
        assert_equal noeviction [config_get maxmemory-policy]
    }

    test {A value is checked without another client's command meeting it} {
        r config set hz 10
        r config resetstat
        set monitor [redis_deferring_client]
        $monitor monitor
        $monitor read
        experiment $lab --set hz=33,abc
        set seen {}
        r ping
        while {![string match {*"ping"*} [set line [$monitor read]]]} {
            if {[regexp {"hz" "(\w+)"} $line -> value]} {
                lappend seen $value
            }
        }
        $monitor close
        # MONITOR of 6.2 does not show CONFIG; then nothing is seen.
        assert {$seen in {{} {33 10 abc 10}}}
        assert_equal 10 [config_get hz]
    }

    test {A user without CONFIG is told so} {
        r acl setuser lab on >secret +@all -config ~*
        set result [experiment $lab --set hz=5,10 -a secret --user lab]
        assert_equal 1 [dict get $result status]
        assert_match "redis-lab experiment: the server refuses CONFIG GET hz: NOPERM*" \
            [dict get $result err]
        r acl deluser lab
    }

    test {A whole experiment: table, CSV, the old value, and a difference that is there} {
        r config set maxmemory 0
        r config set maxmemory-policy noeviction
        set csv [tmpfile csv]
        set result [experiment $lab --set maxmemory=0,1 --goal overshoot_bytes --block 1 \
            --settle 0 --rounds 9 --csv $csv --seed 5]
        if {[dict get $result status] != 0} {
            fail [dict get $result err]
        }
        set out [dict get $result out]
        assert_match "*over maxmemory, the goal*" $out
        assert_match "*  0 *(as it was)\n*  1 *\\* p=0.0039\n*" $out
        assert_match "*Best by over maxmemory: 0, 0*as it was.\n" $out
        assert_match "*Seed 5.\n" [dict get $result err]
        assert_equal 0 [config_get maxmemory]
        set lines [split [string trim [read_whole $csv]] \n]
        file delete $csv
        assert_equal 19 [llength $lines]
        assert_match "round,arm,label,set_s,begin_s,end_s,p50_usec,*" [lindex $lines 0]
        assert_equal 1 [llength [lsort -unique [lmap line $lines {llength [split $line ,]}]]]
    }

    test {JSON, a profile against what is there, and a second server} {
        r config set hz 10
        set profile [tmpfile conf]
        set file [open $profile w]
        puts $file "# two options\nhz 20\nmaxmemory-samples 7"
        close $file
        set samples [config_get maxmemory-samples]
        set result [experiment $lab --profile $profile --against 127.0.0.1:[srv port] --block 1 \
            --settle 0 --rounds 1 --json]
        file delete $profile
        assert_equal 0 [dict get $result status]
        set out [dict get $result out]
        assert_match "{\"outcome\":\"complete\",*\"rounds\":1,*}\n" $out
        assert_match "*\"label\":\"as it is\",\"as_it_was\":true,*" $out
        assert_match "*\"label\":\"[file tail $profile]\",\"as_it_was\":false,*" $out
        assert_match "*\"label\":\"127.0.0.1:[srv port]\",*" $out
        assert_match "*Too few rounds*--rounds 6 at least*" [dict get $result err]
        assert_equal "10 $samples" "[config_get hz] [config_get maxmemory-samples]"
    }

    test {A load of its own: its latencies, its rate, its keys, and a page} {
        r select 0
        r flushall
        set html [tmpfile html]
        set result [experiment $lab --set hz=11,12 --block 1 --settle 0 --rounds 1 --rate 500 \
            -t set,get -r 20 -d 10 -c 5 --json --html $html]
        assert_equal 0 [dict get $result status]
        set out [dict get $result out]
        set seen {}
        set pattern {"values":\{[^\}]*"requests_per_sec":([\d.]+)}
        foreach {-> rate} [regexp -all -inline $pattern $out] {
            lappend seen $rate
        }
        # Every request that is due in a block counts in it, whenever it is answered.
        assert_equal 2 [llength $seen]
        foreach rate $seen {
            assert_morethan_equal $rate 499
            assert_lessthan_equal $rate 501
        }
        foreach figure {p50_usec p99_usec p999_usec max_usec late_percent} {
            assert_match "*\"values\":?*\"$figure\":*" $out
        }
        assert_match "*\"goal\":\"p99_usec\"*" $out
        assert_equal 10 [r strlen key:000000000012]
        assert_equal 20 [r dbsize]
        set page [read_whole $html]
        file delete $html
        assert_match "<!DOCTYPE html>*latency p99, the goal*</body></html>\n" $page
        assert_no_match "*http*" $page
        r flushall
        r select 9
    }

    test {A load of a command, whose errors count, and a server that is lost} {
        r select 0
        r set text abc
        set result [experiment $lab --set hz=11,12 --block 1 --settle 0 --rounds 1 --rate 100 \
            --json INCR text]
        assert_equal 0 [dict get $result status]
        assert_match "*\"errors_per_sec\":100*" [dict get $result out]
        r select 9
        set channel [experiment_under_way $lab --rate 100 PING]
        r client kill type normal skipme yes
        lassign [experiment_end $channel] status text
        assert_equal 1 $status
        assert_equal 10 [config_get hz]
    }

    test {A limit that is passed puts the old value back and ends with 3} {
        r config set hz 10
        set result [experiment $lab --set hz=11,12 --stop-if probe_max_usec>0 --block 1]
        assert_equal 3 [dict get $result status]
        assert_match "*redis-lab experiment: probe_max_usec>0: probe_max_usec is *; the old values\
            are back\n" [dict get $result err]
        assert_match "No round is complete*" [dict get $result out]
        assert_equal 10 [config_get hz]
    }

    test {A server that does not answer passes a latency's limit} {
        set channel [experiment_under_way $lab --stop-if p99>1s]
        pause_process [srv pid]
        after 2500
        exec kill -CONT [srv pid]
        lassign [experiment_end $channel] status text
        assert_equal 3 $status
        assert_match "*p99>1s: *" $text
        assert_equal 10 [config_get hz]
    }

    foreach {signal status} {INT 130 TERM 143 HUP 129} {
        test "SIG$signal puts the old value back" {
            set channel [experiment_under_way $lab]
            exec kill -$signal [pid $channel]
            lassign [experiment_end $channel] ended text
            assert_equal $status $ended
            assert_match "*ended by a signal; the old values are back*" $text
            assert_equal 10 [config_get hz]
        }
    }

    test {A tool that is killed: its watcher puts the old value back, says so and ends} {
        set channel [experiment_under_way $lab]
        set watcher [watcher_of [pid $channel]]
        exec kill -KILL [pid $channel]
        await_old_value
        lassign [experiment_end $channel] status text
        assert_equal SIGKILL $status
        assert_match "*has ended unexpectedly: the old values are back.\n" $text
        wait_for_condition 200 25 {![process_alive $watcher]} else { fail "the watcher lives" }
    }

    test {The tool and its connections are killed: the watcher connects anew} {
        set channel [experiment_under_way $lab]
        exec kill -KILL [pid $channel]
        r client kill type normal skipme yes
        await_old_value
        experiment_end $channel
    }

    test {A watcher that is killed ends the experiment, and the tool puts the old value back} {
        set channel [experiment_under_way $lab]
        exec kill -KILL [watcher_of [pid $channel]]
        lassign [experiment_end $channel] status text
        assert_equal 1 $status
        assert_match "*the process that watches over the old values has ended; the old*" $text
        assert_equal 10 [config_get hz]
    }

    test {A server that closes the connections: said, and the old value is back} {
        set channel [experiment_under_way $lab]
        r client kill type normal skipme yes
        lassign [experiment_end $channel] status text
        assert_equal 1 $status
        assert_match "*127.0.0.1:[srv port]: *closed the connection*" $text
        assert_match "*; the old values are back*" $text
        assert_equal 10 [config_get hz]
    }

    test {A load that cannot be kept up with is said} {
        set result [experiment $lab --set hz=11,12 --block 1 --settle 0 --rounds 1 -r 10 \
            --rate 10000000 -t get]
        assert_equal 1 [dict get $result status]
        assert_match "*10 s after a block its load is not answered but for * requests a second:\
            the server stalls, or --rate is more than the server or this machine can do; the old\
            values are back\n" [dict get $result err]
        assert_equal 10 [config_get hz]
    }

    test {A block waits for the end of a save that the block before has begun} {
        r config set rdb-key-save-delay 2000
        r select 0
        r debug populate 1000 saved
        set result [experiment $lab --set hz=11,12 --block 1 --settle 0 --rounds 2 \
            --each-block BGSAVE]
        r config set rdb-key-save-delay 0
        r flushall
        r select 9
        assert_equal "0 {}" [list [dict get $result status] [regexp -inline {experiment:.*} \
            [dict get $result err]]]
    } {} {needs:debug}

    test {A command for each block is sent, and its refusal ends the experiment} {
        set result [experiment $lab --set hz=11,12 --block 1 --settle 0 --rounds 1 \
            --each-block "INCR {lab key}"]
        assert_equal 1 [dict get $result status]
        r select 0
        r del counted
        set result [experiment $lab --set hz=11,12 --block 1 --settle 0 --rounds 2 \
            --each-block "incr \"counted\""]
        assert_equal 0 [dict get $result status]
        assert_equal 4 [r get counted]
        r select 9
        assert_equal 10 [config_get hz]
    }
}

start_server {overrides {rename-command {CONFIG ""}}} {
    test {A server without CONFIG is told so} {
        set result [experiment $lab --set hz=5,10]
        assert_equal 1 [dict get $result status]
        assert_match "*: the server refuses CONFIG GET hz: ERR unknown command*" \
            [dict get $result err]
    }
}

# The servers that an experiment has started, by the folder that each works in.
proc started_servers {folder} {
    set seen {}
    foreach path [glob -nocomplain /proc/\[0-9\]*] {
        if {![catch {file readlink $path/cwd} cwd] && [string match $folder/redis-lab-* $cwd]} {
            lappend seen [file tail $path]
        }
    }
    return $seen
}

# The server's program with what makes it start anywhere, as --start wants it.
set start "$::options(server) --save '' --appendonly no"

test {Options that only a start can set are tried on servers that the tool starts} {
    set folder [tmpfile folder]
    file mkdir $folder
    set ::env(TMPDIR) $folder
    set result [run_program [list $lab experiment --start $start --set databases=4,8 --rate 200 \
        --block 1 --settle 0 --rounds 1 --json -r 10 -t set]]
    assert_equal 0 [dict get $result status]
    assert_match "*\"label\":\"4\",\"as_it_was\":false,*\"label\":\"8\",*" [dict get $result out]
    # The load is that of the block's own server.
    set seen [regexp -all -inline {"values":\{[^\}]*"requests_per_sec":([\d.]+)} \
        [dict get $result out]]
    assert_equal 4 [llength $seen]
    assert_equal {} [glob -nocomplain $folder/*]
}

test {Two programs are started and compared, beside one that runs} {
    start_server {} {
        set result [run_program [list $lab experiment --start $start --start "$start --hz 20" \
            --against 127.0.0.1:[srv port] --rate 200 --block 1 --settle 0 --rounds 1 --json PING]]
        assert_equal 0 [dict get $result status]
        assert_equal 3 [regexp -all {"label":} [dict get $result out]]
        assert_match "*127.0.0.1:[srv port]*" [dict get $result err]
    }
}

test {A server that does not start is quoted, and leaves nothing behind} {
    foreach {command set why} {
        /no/such/program hz=1,2 "status 127: /no/such/program: No such file or directory"
        /bin/true hz=1,2 "status 0"
        start nosuch=1,2 "status 1: *nosuch*"
        start io-threads=1,999999 "status 1: *io-threads*"
    } {
        if {$command eq "start"} {
            set command $start
        }
        set result [run_program [list $lab experiment --start $command --set $set --rate 1 PING]]
        assert_equal 1 [dict get $result status]
        assert_match "redis-lab experiment: *: the server that was started has ended, $why\n" \
            [dict get $result err]
        assert_equal {} [glob -nocomplain $folder/*]
    }
    set result [run_program [list $lab experiment --start "a 'b" --set hz=1,2 --rate 1 PING]]
    assert_match "*--start: no command: a 'b\n" [dict get $result err]
    assert_equal {} [glob -nocomplain $folder/*]
}

foreach {signal status} {INT 130 KILL SIGKILL} {
    test "SIG$signal ends the servers that were started, and removes their folder" {
        set channel [open |[list $lab experiment --start $start --set databases=4,8 --rate 100 \
            --rounds 1000 PING 2>@1] r]
        wait_for_condition 400 25 {[llength [started_servers $folder]] == 2} else {
            fail "no servers are started"
        }
        gets $channel
        exec kill -$signal [pid $channel]
        lassign [experiment_end $channel] ended text
        assert_equal $status $ended
        wait_for_condition 400 25 {[started_servers $folder] eq {} &&
            [glob -nocomplain $folder/*] eq {}} else { fail "something is left" }
    }
}

test {A keeper that is killed ends the experiment, and nothing is left} {
    set channel [open |[list $lab experiment --start $start --set databases=4,8 --rate 100 \
        --rounds 1000 PING 2>@1] r]
    wait_for_condition 400 25 {[llength [started_servers $folder]] == 2} else {
        fail "no servers are started"
    }
    gets $channel
    exec kill -KILL [exec pgrep -P [pid $channel] -x lab-keeper]
    lassign [experiment_end $channel] status text
    assert_equal 1 $status
    assert_match "*redis-lab experiment: the process that ends the servers has ended\n*" $text
    assert_equal {} [started_servers $folder]
    assert_equal {} [glob -nocomplain $folder/*]
}

test {A folder that cannot be made is said} {
    set before $::env(TMPDIR)
    set ::env(TMPDIR) /no/such/folder
    set result [run_program [list $lab experiment --start $start --set hz=1,2 --rate 1 PING]]
    set ::env(TMPDIR) $before
    assert_equal 1 [dict get $result status]
    assert_match "redis-lab experiment: /no/such/folder/redis-lab-*: No such file or directory\n" \
        [dict get $result err]
}

test {A killed tool, its server killed with it: the keeper removes the folder all the same} {
    set channel [open |[list $lab experiment --start $start --set databases=4,8 --rate 100 \
        --rounds 1000 PING 2>@1] r]
    wait_for_condition 400 25 {[llength [started_servers $folder]] == 2} else {
        fail "no servers are started"
    }
    gets $channel
    exec kill -KILL [lindex [started_servers $folder] 0] [pid $channel]
    assert_equal SIGKILL [lindex [experiment_end $channel] 0]
    wait_for_condition 400 25 {[started_servers $folder] eq {} &&
        [glob -nocomplain $folder/*] eq {}} else { fail "something is left" }
}

test {A server that was started and ends by itself ends the experiment} {
    set channel [open |[list $lab experiment --start $start --set databases=4,8 --rate 100 \
        --rounds 1000 PING 2>@1] r]
    wait_for_condition 400 25 {[llength [started_servers $folder]] == 2} else {
        fail "no servers are started"
    }
    gets $channel
    exec kill -KILL [lindex [started_servers $folder] 0]
    lassign [experiment_end $channel] status text
    assert_equal 1 $status
    assert_match "*a signal has ended the server that was started, Killed*" $text
    assert_equal {} [started_servers $folder]
    unset ::env(TMPDIR)
    file delete -force $folder
}

start_server {overrides {requirepass secret}} {
    test {A password: for the tool and for its watcher} {
        r auth secret
        r config set hz 10
        foreach words {{-a secret} {-3 -a secret --user default}} {
            set result [experiment $lab --set hz=11,12 --block 1 --settle 0 --rounds 1 {*}$words]
            assert_equal 0 [dict get $result status]
            assert_equal 10 [config_get hz]
        }
        set result [experiment $lab --set hz=11,12 -a wrong]
        assert_equal 1 [dict get $result status]
        assert_match "*WRONGPASS*" [dict get $result err]
        set result [experiment $lab --set hz=11,12]
        assert_equal 1 [dict get $result status]
        assert_match "*NOAUTH*" [dict get $result err]
    }
}
