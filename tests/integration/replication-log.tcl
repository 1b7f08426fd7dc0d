# SPDX-License-Identifier: BSD-3-Clause
# What replicas are sent of a server whose log waits for the disk: nothing that the disk does not
# have.

set faulty [file join [file dirname $::options(server)] .. faulty redis-server]
set rules_file [tmpfile faults]
write_whole $rules_file ""

proc await_logged {text} {
    set log [file join [srv dir] appendonly.aof]
    wait_for_condition 1000 10 {[string match "*$text*" [read_whole $log]]} else {
        fail "$text is not written"
    }
}

# All that the replica is sent until this command came.
proc read_until {replica last} {
    set commands {}
    while {[lindex [lappend commands [next_command $replica]] end] ne $last} {}
    return $commands
}

if {![file executable $faulty]} {
    test {Replicas of a log on a slow disk} {
        skip "no $faulty: make faulty"
    }
    return
}

set before $::options(server)
set ::options(server) $faulty
set ::env(EVENKEEL_FAULTS) $rules_file
start_server {overrides {appendonly yes appendfsync always save {} repl-diskless-sync no
    repl-ping-replica-period 1000} tags {repl ours}} {
    test {always: the stream waits for the sync} {
        set replica [ask {psync ? -1} capa psync2]
        lassign [read_copy $replica] id place
        r set before 1
        read_until $replica {set before 1}
        # Until the disk goes on nobody gets a reply, so these connect before.
        set writer [redis_deferring_client]
        set other [redis_deferring_client]
        faults $rules_file {slow 3600000 appendonly.aof}
        $writer set held 1
        $writer flush
        await_logged held
        # The place is known, its bytes wait: those of the next command behind them as well.
        $other set behind 1
        $other flush
        assert_equal 0 [$replica readable 200]
        faults $rules_file
        assert_equal {{set held 1} {set behind 1}} [read_until $replica {set behind 1}]
        assert_equal {OK OK} [list [$writer read] [$other read]]
        $writer close
        $other close
        $replica close
    }

    test {always: a partial sync waits with what is not synced} {
        set end [s master_repl_offset]
        set id [s master_replid]
        set replica [ask {replconf capa eof} capa psync2]
        assert_equal +OK [$replica raw_line]
        set writer [redis_deferring_client]
        faults $rules_file {slow 3600000 appendonly.aof}
        $writer set late 1
        $writer flush
        await_logged late
        $replica write [client::encode [list psync $id [expr {$end + 1}]]]
        $replica flush
        assert_equal "+CONTINUE $id" [next_line $replica]
        assert_equal 0 [$replica readable 200]
        faults $rules_file
        assert_equal {{set late 1}} [read_until $replica {set late 1}]
        assert_equal OK [$writer read]
        $writer close
        $replica close
    }

    test {always: a copy waits for the sync of what it has} {
        wait_for_condition 1000 10 {[s connected_slaves] == 0} else {
            fail "replicas stay"
        }
        set file [file join [srv dir] dump.rdb]
        file delete $file
        set replica [ask {replconf capa eof} capa psync2]
        assert_equal +OK [$replica raw_line]
        set writer [redis_deferring_client]
        faults $rules_file {slow 3600000 appendonly.aof}
        $writer set copied 1
        $writer flush
        await_logged copied
        $replica write [client::encode {psync ? -1}]
        $replica flush
        assert_match "+FULLRESYNC *" [next_line $replica]
        wait_for_condition 1000 10 {[file exists $file]} else {
            fail "the child lives"
        }
        assert_match {$[0-9]*} [set head [next_line $replica]]
        assert_equal 0 [$replica readable 200]
        faults $rules_file
        assert_match "*copied*" [$replica raw_read [string range $head 1 end]]
        assert_equal OK [$writer read]
        $writer close
        $replica close
    }

    test {everysec: a sync that takes long holds no replica} {
        config_set appendfsync everysec
        config_set aof-queue-age-max 3600000
        set replica [ask {psync ? -1} capa psync2]
        read_copy $replica
        faults $rules_file {slow 3600000 appendonly.aof}
        wait_for_condition 1000 10 {
            [r incr counter] > 0 && [s aof_pending_bio_fsync] > 0 && [s aof_buffer_length] > 0
        } else {
            fail "no sync"
        }
        r set during 1
        read_until $replica {set during 1}
        faults $rules_file
        $replica close
    }
}

start_server {overrides {save {} repl-diskless-sync-delay 0} tags {repl ours}} {
start_server {overrides {save {} appendonly yes appendfsync always} tags {repl ours}} {
    proc place_and_lag {} {
        regexp {offset=(\d+),lag=(\d+)} [s -1 slave0] -> place lag
        return [list $place $lag]
    }

    test {always: a replica acknowledges what its log has synced, and is no silent one meanwhile} {
        follow 0 -1
        await_log 0
        r -1 set before 1
        assert_equal 1 [r -1 wait 1 0]
        faults $rules_file {slow 3600000 appendonly.aof}
        r -1 set held 1
        assert_equal 0 [r -1 wait 1 300]
        # It says each second that it lives, from a place before.
        set end [expr {[clock seconds] + 3}]
        wait_for_condition 3000 10 {
            [clock seconds] > $end && [lindex [place_and_lag] 1] <= 1
        } else {
            fail "silent: [s -1 slave0]"
        }
        assert_lessthan [lindex [place_and_lag] 0] [s -1 master_repl_offset]
        assert_equal 0 [r -1 wait 1 1]
        faults $rules_file
        assert_equal 1 [r -1 wait 1 0]
    }
}
}
unset ::env(EVENKEEL_FAULTS)
set ::options(server) $before
