# SPDX-License-Identifier: BSD-3-Clause
# The primary's side of replication, spoken to by hand: what a replica is sent, byte by byte.

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
            $id [expr {$end + 2}] 0 $id 0 0 $id -1 0 [string repeat a 40] 1 0 \
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
        assert_equal 5 [s sync_partial_err]
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
        populate 300
        # Where the child has ended before the second one asks, it gets another, that takes longer.
        for {set delay 2000} {$delay < 1000000} {set delay [expr {4 * $delay}]} {
            set forks [s total_forks]
            config_set rdb-key-save-delay $delay
            set first [ask {psync ? -1} capa psync2]
            wait_for_condition 500 10 {[s total_forks] > $forks} else {
                fail "no child"
            }
            r set between 1
            set second [ask {psync ? -1} capa psync2]
            set lines [list [next_line $first] [next_line $second]]
            if {[lindex $lines 0] eq [lindex $lines 1]} {
                break
            }
            $first close
            $second close
            await_replicas 0
        }
        foreach replica [list $first $second] line $lines {
            lassign [read_copy $replica $line] id place
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
    } undefined {needs:fork}

    test {A copy that is under way is shared also when the backlog does not reach as far back} {
        set sent [string repeat s 5000]
        populate 200
        config_set rdb-key-save-delay 1000000
        with_config {repl-backlog-size 16384} {
            set first [ask {psync ? -1} capa psync2]
            wait_for_condition 1000 10 {[llength [set children [children_of [srv pid]]]]} else {
                fail "no child"
            }
            for {set i 0} {$i < 10} {incr i} {
                r set more$i $sent
            }
            assert_morethan [s repl_backlog_first_byte_offset] 1
            set second [ask {psync ? -1} capa psync2]
            foreach replica [list $first $second] {
                lappend lines [next_line $replica]
            }
            assert_match {+FULLRESYNC *} [lindex $lines 0]
            assert_equal [lindex $lines 0] [lindex $lines 1]
            # What was held for them goes with them.
            exec kill -USR1 {*}$children
            foreach replica [list $first $second] {
                $replica raw_rest
                $replica close
            }
            await_replicas 0
            assert_lessthan [s mem_replication_backlog] 60000
        }
        config_set rdb-key-save-delay 0
    } undefined {needs:fork}

    # 6.2 sends what is there under the new name.
    test {A copy by a file is sent from where it was written, whatever dbfilename says now} {
        r flushall
        config_set dbfilename older.rdb
        r save
        config_set dbfilename dump.rdb
        r set fresh 1
        set replica [raw_client]
        $replica deferred yes
        # In one write, so that the second is run before the child's end can be noticed.
        $replica write [client::encode {psync ? -1}][client::encode {config set dbfilename\
            older.rdb}]
        $replica flush
        lassign [read_copy $replica] id place bytes
        assert_equal older.rdb [config_get dbfilename]
        assert_match *fresh* $bytes
        config_set dbfilename dump.rdb
        $replica close
        await_replicas 0
    } {} {ours}

    test {A replica that says no port any more goes with a line of the log} {
        set replica [ask {psync ? -1} listening-port 4711]
        read_copy $replica
        $replica write [client::encode {replconf listening-port 0}]
        $replica flush
        wait_for_condition 1000 10 {[field_of 0 port] == 0} else {
            fail [s slave0]
        }
        set from [count_log_lines]
        $replica close
        wait_for_log {*Connection with replica * lost*} $from
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

    test {A replica touches no keys, and does not become another client} {
        r del e
        set errors [s unexpected_error_replies]
        set replica [ask {psync ? -1} capa psync2]
        read_copy $replica
        set script {return redis.call('set', 'e', 1)}
        foreach words [list {client setname same} {set e 1} {get e} [list eval $script 0] reset \
                           {client setname same2}] {
            $replica write [client::encode $words]
        }
        $replica flush
        wait_for_condition 1000 10 {
            [string match {* name=same2 *flags=S *} [r client list type replica]]
        } else {
            fail "no such replica: [r client list]"
        }
        assert_equal 0 [r exists e]
        assert_equal 4 [expr {[s unexpected_error_replies] - $errors}]
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
            # However much the system's own buffers take.
            for {set i 0} {$i < 400 && [s connected_slaves]} {incr i} {
                r set big $value
            }
            await_replicas 0
            assert_lessthan [s mem_clients_slaves] 1000
            assert_lessthan_equal [s mem_replication_backlog] 1200000
            $replica close
        }
    }

    test {The backlog's size bounds what it takes} {
        config_set repl-backlog-size 100kb
        assert_equal 0 [s repl_backlog_histlen]
        r set big [string repeat v 200000]
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

    test {PSYNC: an offset that is no integer of 64 bits begins no copy} {
        set copies [s sync_full]
        foreach id [list ? a [s master_replid]] {
            foreach offset {abc 1.5 01 +1 -0 "" 9223372036854775808 -9223372036854775809} {
                assert_error_text {ERR value is not an integer or out of range} {
                    r psync $id $offset
                }
            }
        }
        assert_equal PONG [r ping]
        assert_equal $copies [s sync_full]
        assert_equal 0 [s connected_slaves]
        # What is an integer, and no place, is answered with a copy.
        foreach offset {9223372036854775807 -9223372036854775808} {
            set replica [ask [list psync [s master_replid] $offset] capa psync2]
            read_copy $replica
            $replica close
            await_replicas 0
        }
        assert_equal [expr {$copies + 2}] [s sync_full]
    }

    test {REPLCONF: bad words} {
        assert_error_text {ERR syntax error} {r replconf capa}
        assert_error_text {ERR Unrecognized REPLCONF option: colour} {r replconf colour red}
        assert_error_text {ERR value is not an integer or out of range} {
            r replconf listening-port x
        }
        foreach {value reason} {
            x {value is not an integer or out of range}
            2 {value is out of range, value must between 0 and 1}
            -1 {value is out of range, value must between 0 and 1}
        } {
            assert_error_text "ERR $reason" {r replconf rdb-only $value}
        }
        assert_error {ERR REPLCONF ip-address provided by replica instance is too long: * bytes} {
            r replconf ip-address [string repeat 1 46]
        }
        foreach address [list "1.2.3.4\r\nrole:slave" "a b" "a,state=online" "a\x00b" "\x7f" \
                             "h\xe4"] {
            assert_error_text {ERR REPLCONF ip-address has a byte that no address has} {
                r replconf ip-address $address
            }
        }
        foreach address {{} 1.2.3.4 fe80::1%eth0 a-host.example_1} {
            assert_equal OK [r replconf ip-address $address]
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
