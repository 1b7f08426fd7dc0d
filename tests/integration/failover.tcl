# SPDX-License-Identifier: BSD-3-Clause
# FAILOVER: a primary and its replica change places under writes; what ends it early.

proc await_state {state {level 0}} {
    wait_for_condition 3000 10 {[s $level master_failover_state] eq $state} else {
        fail "the failover is in '[s $level master_failover_state]'"
    }
}

start_server {tags {repl} overrides {save "" repl-diskless-sync-delay 0}} {
start_server {overrides {save ""}} {
    test {FAILOVER: bad words, and what it needs} {
        foreach {words text} {
            {abort} {No failover in progress.}
            {to a} {syntax error}
            {timeout} {syntax error}
            {bogus} {syntax error}
            {force force} {syntax error}
            {to a 1 to b 2} {syntax error}
            {timeout 1 abort} {syntax error}
            {to a b} {value is not an integer or out of range}
            {timeout x} {value is not an integer or out of range}
            {timeout 0} {FAILOVER timeout must be greater than 0}
            {timeout -1} {FAILOVER timeout must be greater than 0}
            {} {FAILOVER requires connected replicas.}
            {to 127.0.0.1 1} {FAILOVER requires connected replicas.}
        } {
            assert_error_text "ERR $text" {r -1 failover {*}$words}
        }
        follow 0 -1
        wait_for_condition 1000 10 {[string match "*state=online*" [s -1 slave0]]} else {
            fail "the replica is not online"
        }
        foreach {words text} [list \
            [list to 127.0.0.1 1] {FAILOVER target HOST and PORT is not a replica.} \
            [list to elsewhere [srv 0 port]] {FAILOVER target HOST and PORT is not a replica.} \
            {force} {FAILOVER with force option requires both a timeout and target HOST and IP.} \
            {force timeout 1} \
            {FAILOVER with force option requires both a timeout and target HOST and IP.}] {
            assert_error_text "ERR $text" {r -1 failover {*}$words}
        }
        assert_error_text {ERR FAILOVER is not valid when server is a replica.} {r failover}
        assert_error_text {ERR PSYNC FAILOVER can't be sent to a master.} {
            r -1 psync [s -1 master_replid] 1 failover
        }
        assert_error_text {ERR PSYNC FAILOVER replid must match my replid.} {
            r psync [string repeat a 40] 1 failover
        }
        assert_equal no-failover [s -1 master_failover_state]
    }

    test {FAILOVER: the replica takes over, and nothing is copied} {
        set full [list [s sync_full] [s -1 sync_full]]
        r -1 set k 1
        assert_equal OK [r -1 failover to 127.0.0.1 [srv 0 port]]
        await_state no-failover -1
        assert_equal {slave master} [list [s -1 role] [s role]]
        await_link -1
        r set k 2
        await_same 0 -1
        assert_equal $full [list [s sync_full] [s -1 sync_full]]
        assert_equal 2 [r -1 get k]
    }

    test {FAILOVER back, to any; a write that was held is refused like any} {
        set port [srv -1 port]
        pause_process [srv -1 pid]
        r set behind 1
        assert_equal OK [r failover]
        assert_equal waiting-for-sync [s master_failover_state]
        set writer [redis_deferring_client]
        $writer set held 1
        $writer flush
        wait_for_condition 1000 10 {[s blocked_clients] == 1} else {
            fail "the write is not held"
        }
        assert_equal 1 [r get behind]
        assert_error_text {ERR FAILOVER already in progress.} {r failover}
        assert_error_text {ERR REPLICAOF not allowed while failing over.} {
            r replicaof 127.0.0.1 1
        }
        exec kill -CONT [srv -1 pid]
        assert_error_text {READONLY You can't write against a read only replica.} {$writer read}
        $writer close
        await_state no-failover
        await_link 0
        assert_equal {master slave} [list [s -1 role] [s role]]
        await_same -1 0
        assert_equal {} [r get held]
    }

    test {FAILOVER ABORT, and a time that is over: writes go on} {
        pause_process [srv 0 pid]
        r -1 set a 1
        r -1 failover to 127.0.0.1 [srv 0 port] timeout 3600000
        assert_equal waiting-for-sync [s -1 master_failover_state]
        set writer [redis_deferring_client -1]
        $writer incr counter
        $writer flush
        wait_for_condition 1000 10 {[s -1 blocked_clients] == 1} else {
            fail "the write is not held"
        }
        assert_equal OK [r -1 failover abort]
        assert_equal 1 [$writer read]
        assert_equal no-failover [s -1 master_failover_state]
        r -1 failover timeout 1
        await_state no-failover -1
        assert_equal 2 [r -1 incr counter]
        $writer close
        exec kill -CONT [srv 0 pid]
        await_same -1 0
        assert_equal {slave master} [list [s role] [s -1 role]]
    }

    test {CLIENT UNPAUSE does not let writes into a failover} {
        pause_process [srv 0 pid]
        r -1 set a 1
        r -1 failover
        set writer [redis_deferring_client -1]
        $writer incr counter
        $writer flush
        wait_for_condition 1000 10 {[s -1 blocked_clients] == 1} else {
            fail "the write is not held"
        }
        r -1 client pause 1000000 write
        r -1 client unpause
        assert_equal 0 [$writer readable 50]
        assert_equal OK [r -1 failover abort]
        assert_equal 3 [$writer read]
        $writer close
        exec kill -CONT [srv 0 pid]
        await_same -1 0
    } undefined {ours}

    test {FAILOVER FORCE: the replica takes over though it is behind, or is given up} {
        set id [s -1 master_replid]
        pause_process [srv 0 pid]
        r -1 set a 2
        r -1 failover to 127.0.0.1 [srv 0 port] timeout 1 force
        await_state failover-in-progress -1
        assert_equal slave [s -1 role]
        assert_equal OK [r -1 failover abort]
        assert_equal {master no-failover} [list [s -1 role] [s -1 master_failover_state]]
        assert_equal $id [s -1 master_replid2]
        assert_equal OK [r -1 set a 3]
        exec kill -CONT [srv 0 pid]
        await_same -1 0
    }

    test {FAILOVER: a replica that refuses leaves all as it was} {
        r acl setuser default -psync
        assert_equal OK [r -1 failover]
        await_state no-failover -1
        wait_for_condition 1000 10 {[s -1 role] eq "master"} else {
            fail "no primary any more"
        }
        wait_for_log "*FAILOVER to * aborted: Failover target rejected psync request*" 0 -1
        r acl setuser default +psync
        assert_equal OK [r -1 set a 4]
        await_same -1 0
        assert_equal slave [s role]
    }
}
}

start_server {tags {repl} overrides {save "" repl-diskless-sync-delay 0}} {
start_server {overrides {save ""}} {
    test {FAILOVER to and fro under writes: what was answered is there} {
        follow 0 -1
        set ports [list [srv 0 port] [srv -1 port]]
        set done 0
        # The counter has been answered so far, at least.
        for {set round 0} {$round < 6} {incr round} {
            set primary [expr {$round % 2 ? 0 : -1}]
            set replica [expr {-1 - $primary}]
            wait_for_condition 3000 10 {
                [string match "*state=online*" [s $primary slave0]]
            } else {
                fail "no replica online: [r $primary info replication]"
            }
            set writer [redis_client $primary]
            for {set i 0} {$i < 50} {incr i} {
                set done [$writer incr counter]
            }
            assert_equal OK [r $primary failover to 127.0.0.1 [srv $replica port]]
            while {![catch {$writer incr counter} result]} {
                set done $result
            }
            assert_match "READONLY*" $result
            $writer close
            await_state no-failover $primary
            assert_lessthan_equal $done [r $replica get counter]
            await_link $primary
            await_same $primary $replica
        }
        assert_equal 1 [expr {[s sync_full] + [s -1 sync_full]}]
    }
}
}
