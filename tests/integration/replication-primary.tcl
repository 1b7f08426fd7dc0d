# SPDX-License-Identifier: BSD-3-Clause
# The primary's side of replication, spoken to by hand: what a replica is sent, byte by byte.

# A replica that has asked; the reply's first line is read.
proc ask {command args} {
    set replica [raw_client]
    $replica deferred yes
    foreach {name value} $args {
        $replica write [client::encode [list replconf $name $value]]
        $replica flush
        assert_equal +OK [$replica raw_line]
    }
    $replica write [client::encode $command]
    $replica flush
    return $replica
}

# The next line that is not one of those that keep the connection alive.
proc next_line {replica} {
    while {[set first [$replica raw_read 1]] eq "\n"} {}
    return $first[$replica raw_line]
}

# A whole copy; returns {id place bytes}.
proc read_copy {replica} {
    set line [next_line $replica]
    assert_match {+FULLRESYNC ????????????????????????????????????????*} $line
    lassign $line -> id place
    set head [next_line $replica]
    if {[regexp {^\$EOF:(.{40})$} $head -> mark]} {
        set bytes ""
        while {[string range $bytes end-39 end] ne $mark} {
            append bytes [$replica raw_read 1]
        }
        set bytes [string range $bytes 0 end-40]
    } else {
        assert_match {$[0-9]*} $head
        set bytes [$replica raw_read [string range $head 1 end]]
    }
    assert_equal REDIS0009 [string range $bytes 0 8]
    return [list $id $place $bytes]
}

# The next command of the stream, without pings.
proc next_command {replica} {
    while 1 {
        set command [$replica read]
        if {[string tolower $command] ne "ping"} {
            return $command
        }
    }
}

proc acknowledge {replica place} {
    $replica write [client::encode [list replconf ack $place]]
    $replica flush
}

proc field_of {index name} {
    if {![regexp "(?:^|,)$name=(\[^,\]*)" [s slave$index] -> value]} {
        fail "no $name in '[s slave$index]'"
    }
    return $value
}

proc await_replicas {count} {
    wait_for_condition 1000 10 {[s connected_slaves] == $count} else {
        fail "[s connected_slaves] replicas, not $count"
    }
}

foreach {kind diskless} {"a file" no "the child's pipe" yes} {
    start_server [list tags {repl} overrides [list repl-diskless-sync $diskless \
        repl-diskless-sync-delay 0 repl-ping-replica-period 1000]] {
        test "A copy by $kind, and then the stream" {
            populate 1000
            r select 3
            r set early 1
            set replica [ask {psync ? -1} listening-port 4711 capa eof capa psync2]
            lassign [read_copy $replica] id place bytes
            assert_equal $id [s master_replid]
            assert_match {*early*} $bytes
            r set late 2
            if {$diskless} {
                # Without a length the stream waits until the replica says that it has the copy.
                assert_equal 0 [$replica readable 100]
                acknowledge $replica $place
            }
            assert_equal {SELECT 3} [next_command $replica]
            assert_equal {set late 2} [next_command $replica]
            r select 9
            r incr n
            assert_equal {SELECT 9} [next_command $replica]
            assert_equal {incr n} [next_command $replica]
            await_replicas 1
            assert_equal online [field_of 0 state]
            assert_equal 4711 [field_of 0 port]
            assert_match {*flags=S *} [r client list type replica]
            $replica close
            await_replicas 0
        }
    }
}

start_server {tags {repl} overrides {repl-diskless-sync no repl-ping-replica-period 1000}} {
    test {A partial sync from any kept place, and none from others} {
        set replica [ask {psync ? -1} capa psync2]
        lassign [read_copy $replica] id place bytes
        assert_equal 0 $place
        r set a [string repeat x 100]
        next_command $replica
        next_command $replica
        $replica close
        await_replicas 0
        set end [s master_repl_offset]
        foreach {wanted_id wanted good} [list $id 1 1 $id $end 1 $id [expr {$end + 1}] 1 \
            $id [expr {$end + 2}] 0 $id 0 0 $id -1 0 [string repeat a 40] 1 0 $id x 0 \
            [s master_replid2] 1 0 ? -1 0] {
            set replica [ask [list psync $wanted_id $wanted] capa psync2]
            set line [next_line $replica]
            assert_match [expr {$good ? "+CONTINUE $id" : "+FULLRESYNC $id $end"}] $line $wanted
            if {$good && $wanted == 1} {
                assert_equal {SELECT 9} [next_command $replica]
            }
            $replica close
            await_replicas 0
        }
        assert_equal 3 [s sync_partial_ok]
        assert_equal 6 [s sync_partial_err]
    }

    test {SYNC: no line before the copy} {
        set replica [ask sync]
        assert_match {$[0-9]*} [set head [next_line $replica]]
        assert_equal REDIS0009 [string range [$replica raw_read [string range $head 1 end]] 0 8]
        r set b 1
        assert_equal {SELECT 9} [next_command $replica]
        assert_equal {set b 1} [next_command $replica]
        $replica close
        await_replicas 0
    }

    test {Several replicas share one copy} {
        set forks [s total_forks]
        config_set rdb-key-save-delay 2000
        populate 300
        set first [ask {psync ? -1} capa psync2]
        wait_for_condition 500 10 {[s rdb_bgsave_in_progress]} else {
            fail "no child"
        }
        r set between 1
        set second [ask {psync ? -1} capa psync2]
        foreach replica [list $first $second] {
            lassign [read_copy $replica] id place
            lappend places $place
            assert_equal {SELECT 9} [next_command $replica]
            assert_equal {set between 1} [next_command $replica]
        }
        assert_equal [lindex $places 0] [lindex $places 1]
        assert_equal [expr {$forks + 1}] [s total_forks]
        config_set rdb-key-save-delay 0
        $first close
        $second close
        await_replicas 0
    }

    test {WAIT: acknowledged places} {
        set replica [ask {psync ? -1} capa psync2]
        lassign [read_copy $replica] id place
        r set c 1
        set place [s master_repl_offset]
        set waiter [redis_deferring_client]
        $waiter wait 1 0
        $waiter flush
        while {[next_command $replica] ne {REPLCONF GETACK *}} {}
        acknowledge $replica [expr {$place - 1}]
        acknowledge $replica $place
        assert_equal 1 [$waiter read]
        acknowledge $replica [s master_repl_offset]
        wait_for_condition 500 10 {[r wait 1 1] == 1} else {
            fail "WAIT does not see what was acknowledged"
        }
        assert_equal 1 [r wait 2 10]
        $waiter close
        $replica close
        await_replicas 0
    }

    test {min-replicas-to-write} {
        config_set min-replicas-to-write 1
        wait_for_condition 500 10 {[catch {r set d 1} error]} else {
            fail "a write without a replica is taken"
        }
        assert_equal {NOREPLICAS Not enough good replicas to write.} $error
        assert_equal 0 [s min_slaves_good_slaves]
        set replica [ask {psync ? -1} capa psync2]
        read_copy $replica
        wait_for_condition 500 10 {![catch {r set d 1}]} else {
            fail "a write with a replica is refused"
        }
        assert_equal 1 [s min_slaves_good_slaves]
        $replica close
        config_set min-replicas-to-write 0
        await_replicas 0
    }

    test {A replica gets no replies, and those to it before the stream stay} {
        set replica [ask {psync ? -1} capa psync2]
        read_copy $replica
        $replica write [client::encode {get nothing}][client::encode {ping}]
        $replica flush
        r set e 1
        assert_equal {SELECT 9} [next_command $replica]
        assert_equal {set e 1} [next_command $replica]
        $replica close
        await_replicas 0
    }

    test {A replica that does not read is closed at its limit, and what was held for it goes} {
        with_config {client-output-buffer-limit {replica 8mb 0 0}} {
            set replica [ask {psync ? -1} capa psync2]
            read_copy $replica
            set value [string repeat v 1000000]
            for {set i 0} {$i < 40 && [s connected_slaves]} {incr i} {
                r set big $value
            }
            assert_equal 0 [s connected_slaves]
            assert_lessthan [s mem_clients_slaves] 1000
            assert_lessthan_equal [s mem_replication_backlog] 1200000
            $replica close
        }
    }

    test {The backlog's size bounds what it takes} {
        config_set repl-backlog-size 100kb
        assert_equal 102400 [s repl_backlog_histlen]
        assert_equal [expr {[s master_repl_offset] - 102400 + 1}] [s repl_backlog_first_byte_offset]
        assert_lessthan [s mem_replication_backlog] 200000
    }

    test {ROLE} {
        set replica [ask {psync ? -1} listening-port 1234 ip-address 10.0.0.1]
        read_copy $replica
        acknowledge $replica 77
        wait_for_condition 500 10 {[lindex [r role] 2] eq {{10.0.0.1 1234 77}}} else {
            fail "[r role]"
        }
        assert_equal [list master [s master_repl_offset]] [lrange [r role] 0 1]
        $replica close
        await_replicas 0
        assert_equal {} [lindex [r role] 2]
    }

    test {REPLCONF: bad words} {
        assert_error_text {ERR syntax error} {r replconf capa}
        assert_error_text {ERR Unrecognized REPLCONF option: colour} {r replconf colour red}
        assert_error_text {ERR value is not an integer or out of range} {
            r replconf listening-port x
        }
        assert_error {ERR REPLCONF ip-address provided by replica instance is too long: * bytes} {
            r replconf ip-address [string repeat 1 46]
        }
        assert_equal 0 [s connected_slaves]
    }

    test {A transaction reaches a replica as one, with what expires before it} {
        set replica [ask {psync ? -1} capa psync2]
        read_copy $replica
        r multi
        r set f 1
        r incr f
        r exec
        assert_equal {SELECT 9} [next_command $replica]
        foreach command {MULTI {set f 1} {incr f} EXEC} {
            assert_equal [string tolower $command] [string tolower [next_command $replica]]
        }
        $replica close
        await_replicas 0
    }
}
