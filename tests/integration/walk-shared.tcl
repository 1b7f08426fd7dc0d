# SPDX-License-Identifier: BSD-3-Clause
# One walk for several: a snapshot's file and copies for replicas that agree on their moment.

proc await_save {} {
    wait_for_condition 6000 10 {[s rdb_bgsave_in_progress] == 0} else {fail "the save does not end"}
}

proc await_replicas {count} {
    wait_for_condition 3000 10 {[s connected_slaves] == $count} else {
        fail "[s connected_slaves] replicas, not $count"
    }
}

# The bytes of the snapshot's file.
proc snapshot_bytes {} {
    set file [open [file join [srv dir] dump.rdb] rb]
    set bytes [read $file]
    close $file
    return $bytes
}

# Replicas that wait for more of their kind.
proc waiting_replicas {count} {
    set before [s connected_slaves]
    set replicas {}
    while {[llength $replicas] < $count} {
        lappend replicas [ask {psync ? -1} capa eof capa psync2]
    }
    await_replicas [expr {$before + $count}]
    return $replicas
}

proc close_all {replicas} {
    foreach replica $replicas {
        $replica close
    }
    await_replicas 0
}

# Whether the log has a line like this from line `from` on.
proc is_logged {pattern from} {
    set lines [lrange [split [server_text [server_id 0]] \n] $from end]
    expr {[lsearch $lines $pattern] >= 0}
}

# Runs `body` with saves that take longer each time, until what it tells is true: on a machine that
# stands still a save may be over before anything else is done.
proc with_longer_saves {body} {
    for {set delay 1000} {$delay < 1000000} {set delay [expr {4 * $delay}]} {
        config_set rdb-key-save-delay $delay
        set done [uplevel 1 $body]
        config_set rdb-key-save-delay 0
        if {$done} return
    }
    fail "each save ends too early"
}

set shared {save {} snapshot-method walk repl-diskless-sync yes repl-diskless-sync-delay 1000
    repl-ping-replica-period 1000 rdbcompression no}

start_server [list overrides $shared tags {repl ours needs:debug}] {
    test {replicas that wait go along with BGSAVE: the file and the copies are of one moment} {
        populate 1000
        r select 3
        r set early 1
        set replicas [waiting_replicas 2]
        set shares [s walk_saves_shared]
        r bgsave
        r set early 2
        await_save
        assert_equal [expr {$shares + 1}] [s walk_saves_shared]
        assert_equal ok [s rdb_last_bgsave_status]
        foreach replica $replicas {
            lassign [read_copy $replica] id place bytes
            assert_equal [s master_replid] $id
            assert {$bytes eq [snapshot_bytes]}
            acknowledge $replica $place
            assert_equal {SELECT 3} [next_command $replica]
            assert_equal {set early 2} [next_command $replica]
        }
        close_all $replicas
    }

    test {a replica that leaves does not end the save that it shares} {
        populate 1000
        with_longer_saves {
            set replicas [waiting_replicas 2]
            set from [count_log_lines]
            r set before $from
            set digest [r debug digest]
            r bgsave
            close_all $replicas
            r set after 1
            await_save
            is_logged "*last replica dropped*" $from
        }
        assert_equal ok [s rdb_last_bgsave_status]
        r debug reload nosave
        assert_equal $digest [r debug digest]
    }

    test {a file that cannot be written does not end the copy that shares its save} {
        set replicas [waiting_replicas 1]
        # Where the save's file would be written.
        set temporary [file join [srv dir] temp-[expr {(1 << 22) + [srv pid]}].rdb]
        file mkdir $temporary/full
        r bgsave
        await_save
        file delete -force $temporary
        assert_equal err [s rdb_last_bgsave_status]
        lassign [read_copy [lindex $replicas 0]] id place bytes
        assert_match *early* $bytes
        acknowledge [lindex $replicas 0] $place
        r set further 1
        assert_equal {SELECT 3} [next_command [lindex $replicas 0]]
        assert_equal {set further 1} [next_command [lindex $replicas 0]]
        close_all $replicas
        r bgsave
        await_save
        assert_equal ok [s rdb_last_bgsave_status]
    }

    test {FLUSHALL ends the save for all that share it} {
        r save
        config_set rdb-key-save-delay 1000000
        set replicas [waiting_replicas 1]
        set digest [r debug digest]
        r bgsave
        r flushall
        await_save
        config_set rdb-key-save-delay 0
        # What it got is no copy.
        [lindex $replicas 0] raw_rest
        close_all $replicas
        r debug reload nosave
        assert_equal $digest [r debug digest]
    }

    test {a save that ends before a byte was written ends its copies, too} {
        set replicas [waiting_replicas 1]
        r write [client::encode bgsave][client::encode flushall]
        r flush
        assert_match "Background saving started" [r read]
        assert_equal OK [r read]
        await_save
        [lindex $replicas 0] raw_rest
        close_all $replicas
    }

    test {a BGSAVE that waits for its turn takes replicas along} {
        r debug populate 300 key 20
        config_set rdb-key-save-delay 3000
        set replicas [waiting_replicas 1]
        set shares [s walk_saves_shared]
        r bgrewriteaof
        r bgsave schedule
        wait_for_condition 3000 10 {[s walk_saves_shared] == $shares + 1} else {
            fail "nothing is shared"
        }
        config_set rdb-key-save-delay 0
        await_save
        lassign [read_copy [lindex $replicas 0]] id place bytes
        assert {$bytes eq [snapshot_bytes]}
        close_all $replicas
    }

    test {a replica that reads nothing bounds memory, and goes without the file} {
        r flushall
        r debug populate 640 large 100000
        set replicas [waiting_replicas 1]
        set digest [r debug digest]
        with_config {snapshot-cpu-budget 100} {
            r bgsave
            wait_for_condition 3000 10 {[s walk_waiting_bytes] > 7000000} else {
                fail "nothing waits: [s walk_waiting_bytes] bytes"
            }
            for {set i 0} {$i < 20} {incr i} {
                assert_lessthan [s walk_waiting_bytes] 16000000
                after 10
            }
            assert_equal 1 [s rdb_bgsave_in_progress]
            close_all $replicas
            await_save
        }
        assert_equal ok [s rdb_last_bgsave_status]
        r debug reload nosave
        assert_equal $digest [r debug digest]
        r flushall
    }

    test {a replica gets the file of a snapshot since whose beginning nothing was done} {
        populate 1000
        close_all [waiting_replicas 1]
        r select 9
        with_longer_saves {
            set from [count_log_lines]
            r bgsave
            set replicas [waiting_replicas 1]
            set shares [is_logged "*Waiting for end of BGSAVE for SYNC*" $from]
            if {!$shares} {
                close_all $replicas
                await_save
            }
            set shares
        }
        r set between 1
        await_save
        lassign [read_copy [lindex $replicas 0]] id place bytes
        assert {$bytes eq [snapshot_bytes]}
        assert_equal {SELECT 9} [next_command [lindex $replicas 0]]
        assert_equal {set between 1} [next_command [lindex $replicas 0]]
        close_all $replicas
    }

    test {where something was done since, another walk follows} {
        populate 1000
        # With the first replica comes the backlog.
        close_all [waiting_replicas 1]
        config_set repl-diskless-sync-delay 0
        with_longer_saves {
            set from [count_log_lines]
            r bgsave
            r set between 2
            set replica [waiting_replicas 1]
            set late [is_logged "*Can't attach the replica to the current BGSAVE*" $from]
            if {!$late && ![is_logged "*Starting BGSAVE for SYNC*" $from]} {
                fail "it shares what is older"
            }
            if {!$late} {
                close_all $replica
                await_save
            }
            set late
        }
        r set fresh yes
        lassign [read_copy $replica] id place bytes
        assert_match *fresh* $bytes
        close_all $replica
    }

    foreach {name change} {
        "DEBUG POPULATE" {r debug populate 10 fresh}
        "DEBUG RELOAD" {r debug reload nosave}
    } {
        test "where $name has changed the data without the history, another walk follows" {
            r flushall
            r debug populate 10 fresh
            r save
            r flushall
            populate 1000
            close_all [waiting_replicas 1]
            await_save
            config_set repl-diskless-sync-delay 0
            with_longer_saves {
                set from [count_log_lines]
                set place [s master_repl_offset]
                r bgsave
                eval $change
                assert_equal $place [s master_repl_offset]
                set replica [waiting_replicas 1]
                set late [is_logged "*Can't attach the replica to the current BGSAVE*" $from]
                if {!$late && ![is_logged "*Starting BGSAVE for SYNC*" $from]} {
                    fail "it shares what is older"
                }
                if {!$late} {
                    close_all $replica
                    await_save
                }
                set late
            }
            lassign [read_copy $replica] id place bytes
            assert_match *fresh:9* $bytes
            close_all $replica
            await_save
        }
    }

    test {a replica that asks before another has got anything shares its copy} {
        config_set repl-diskless-sync-delay 0
        set sleeper [redis_deferring_client]
        for {set tries 0} {$tries < 50} {incr tries} {
            set replicas {}
            foreach i {1 2} {
                lappend replicas [ask {replconf capa eof}]
                assert_equal +OK [[lindex $replicas end] raw_line]
            }
            set from [count_log_lines]
            $sleeper debug sleep 0.1
            foreach replica $replicas {
                $replica write [client::encode {psync ? -1}]
                $replica flush
            }
            $sleeper read
            set places {}
            foreach replica $replicas {
                lassign [read_copy $replica] id place bytes
                acknowledge $replica $place
                lappend places $place
            }
            r set after $tries
            foreach replica $replicas {
                assert_equal {SELECT 9} [next_command $replica]
                assert_equal "set after $tries" [next_command $replica]
            }
            close_all $replicas
            if {[is_logged "*goes to this one, too*" $from]} break
        }
        assert_lessthan $tries 50
        assert_equal [lindex $places 0] [lindex $places 1]
        $sleeper close
    }

    test {a copy begins when all replicas of the one before have taken theirs} {
        config_set repl-diskless-sync-delay 0
        # What the slow one has not taken is little enough for the copy to come to its end.
        for {set keys 5} {$keys < 200} {incr keys 5} {
            r flushall
            r debug populate $keys large 100000
            set slow [waiting_replicas 1]
            for {set i 0} {$i < 50 && [s rdb_bgsave_in_progress]} {incr i} {
                after 10
            }
            if {![s rdb_bgsave_in_progress] && [string match *wait_bgsave* [s slave0]]} break
            close_all $slow
            await_save
        }
        assert_lessthan $keys 200
        r flushall
        r set late 1
        set from [count_log_lines]
        set late [waiting_replicas 1]
        assert {[is_logged "*Current BGSAVE has socket target*" $from]}
        [lindex $slow 0] close
        lassign [read_copy $late] id place bytes
        assert_match *late* $bytes
        close_all $late
    }

    test {SHUTDOWN does not wait for a replica that reads nothing} {
        config_set repl-diskless-sync-delay 0
        r flushall
        r debug populate 640 large 100000
        config_set snapshot-cpu-budget 100
        set replicas [waiting_replicas 1]
        wait_for_condition 3000 10 {[s walk_waiting_bytes] > 7000000} else {
            fail "nothing waits: [s walk_waiting_bytes] bytes"
        }
        catch {r shutdown nosave}
        assert_equal 1 [await_end [srv process] 60000]
        set status [reap [srv process]]
        [lindex $replicas 0] close
        server_launch [server_id 0]
        set status
    } {0}
}
