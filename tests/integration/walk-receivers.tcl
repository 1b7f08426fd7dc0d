# SPDX-License-Identifier: BSD-3-Clause
# Copies for replicas by a walk (snapshot-method walk): a replica that does not read its copy holds
# up no writer, no file and no other replica; what is held for it counts under its output limit.

proc await_replicas {count} {
    wait_for_condition 3000 10 {[s connected_slaves] == $count} else {
        fail "[s connected_slaves] replicas, not $count"
    }
}

proc await_save {} {
    wait_for_condition 3000 10 {[s rdb_bgsave_in_progress] == 0} else {fail "the save does not end"}
}

# More than sockets and the walk itself hold: 120 MB of values that are copied when they change.
proc fill {} {
    r flushall
    r debug populate 15000 key 8000
}

# All keys are written, each by a command of its own; all replies must come.
proc write_all {{count 15000}} {
    set writer [redis_deferring_client]
    for {set i 0} {$i < $count} {incr i} {
        $writer write [client::encode [list set key:$i changed]]
    }
    for {set i 0} {$i < $count} {incr i} {
        if {![$writer readable 30000]} {
            fail "no reply to the write $i while a replica does not read"
        }
        assert_equal OK [$writer read]
    }
    $writer close
}

# A replica that waits for its copy, or gets it, and that reads nothing.
proc unread_replica {} {
    set before [s connected_slaves]
    set replica [ask {psync ? -1} capa eof capa psync2]
    await_replicas [expr {$before + 1}]
    return $replica
}

# The bytes of a copy that goes to a socket, in large pieces.
proc read_large_copy {replica} {
    assert_match {+FULLRESYNC *} [next_line $replica]
    assert_equal 1 [regexp {^\$EOF:(.{40})$} [next_line $replica] -> mark]
    set channel [$replica channel]
    set parts {}
    set last ""
    while {[string range $last end-39 end] ne $mark} {
        if {![$replica readable 30000]} {
            fail "the copy does not go on"
        }
        set part [read $channel 1000000]
        if {$part eq "" && [eof $channel]} {
            fail "the copy ends in the middle"
        }
        lappend parts $part
        set last [string range $last end-39 end]$part
    }
    return [string range [join $parts ""] 0 end-40]
}

proc snapshot_bytes {} {
    set file [open [file join [srv dir] dump.rdb] rb]
    set bytes [read $file]
    close $file
    return $bytes
}

proc assert_save_under_way {} {
    assert_equal 1 [s rdb_bgsave_in_progress]
}

set receivers {save {} snapshot-method walk repl-diskless-sync yes repl-diskless-sync-delay 0
    repl-ping-replica-period 1000 repl-timeout 1000 rdbcompression no snapshot-cpu-budget 100
    client-output-buffer-limit {replica 0 0 0}}

start_server [list overrides $receivers tags {repl ours needs:debug}] {
    test {writers do not wait for a replica that reads nothing, which is charged} {
        fill
        set replica [unread_replica]
        write_all
        await_replicas 1
        # Far more than a pipe that rests would leave; how much depends on how fast the scribe is.
        assert_lessthan 10000000 [s mem_clients_slaves]
        assert_lessthan [s walk_waiting_bytes] 70000000
        $replica close
        await_replicas 0
        await_save
        assert_lessthan [s mem_clients_slaves] 1000000
    }

    test {a replica that reads nothing is dropped at its output limit, and the walk given up} {
        fill
        with_config {client-output-buffer-limit {replica 32mb 0 0}} {
            set from [count_log_lines]
            set replica [unread_replica]
            write_all
            await_replicas 0
            await_save
            wait_for_log "*last replica dropped*" $from
            $replica close
        }
        # The next one gets a copy in full.
        set replica [unread_replica]
        assert_lessthan 15000 [string length [read_large_copy $replica]]
        $replica close
        await_replicas 0
        await_save
    }

    test {large values that are replaced meanwhile are charged, too} {
        r flushall
        r debug populate 1000 key 120000
        with_config {client-output-buffer-limit {replica 32mb 0 0}} {
            set replica [unread_replica]
            write_all 1000
            await_replicas 0
            await_save
            $replica close
        }
    }

    test {who appends to a large value does not wait for a replica that reads nothing} {
        r flushall
        r debug populate 1000 key 12000
        r set blob [string repeat b 100000000]
        set replica [unread_replica]
        set writer [redis_deferring_client]
        $writer append blob x
        if {![$writer readable 30000]} {
            fail "the writer waits for the replica"
        }
        assert_equal 100000001 [$writer read]
        assert_save_under_way
        $writer close
        $replica close
        await_replicas 0
        await_save
    }

    test {two replicas, one of which reads nothing: the other gets its copy in full} {
        fill
        with_config {repl-diskless-sync-delay 1000} {
            set stopped [unread_replica]
            set reader [unread_replica]
            r bgsave
            # The file is a third receiver.
            set bytes [read_large_copy $reader]
            assert_equal 2 [s connected_slaves]
            await_save
            assert_equal ok [s rdb_last_bgsave_status]
            assert {$bytes eq [snapshot_bytes]}
            $stopped close
            $reader close
            await_replicas 0
        }
    }

    test {two replicas, one of which reads nothing and is dropped at its limit} {
        fill
        with_config {repl-diskless-sync-delay 1000
            client-output-buffer-limit {replica 32mb 0 0}} {
            set stopped [unread_replica]
            set reader [unread_replica]
            r bgsave
            set bytes [read_large_copy $reader]
            await_replicas 1
            await_save
            assert {$bytes eq [snapshot_bytes]}
            $stopped close
            $reader close
            await_replicas 0
        }
    }

    test {FLUSHALL ends a save whose replica reads nothing} {
        fill
        set replica [unread_replica]
        wait_for_condition 3000 10 {[s walk_waiting_bytes] > 7000000} else {
            fail "nothing waits: [s walk_waiting_bytes] bytes"
        }
        r flushall
        await_save
        await_replicas 0
        $replica close
    }

    test {a replica that says where it is, and takes nothing, is dropped by repl-timeout} {
        fill
        with_config {repl-timeout 2} {
            set replica [unread_replica]
            wait_for_condition 300 100 {
                [s connected_slaves] == 0 || [catch {acknowledge $replica 0}]
            } else {
                fail "it is not dropped"
            }
            await_replicas 0
            await_save
            $replica close
        }
    }
}
