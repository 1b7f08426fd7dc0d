# SPDX-License-Identifier: BSD-3-Clause
# WAIT, and how clients that wait in a command end: by time, by CLIENT UNBLOCK, by closing.

proc await_blocked {count} {
    wait_for_condition 500 10 {[s blocked_clients] == $count} else {
        fail "[s blocked_clients] clients wait, not $count"
    }
}

start_server {tags {wait}} {
    test {WAIT: for none it answers at once, for more when the time is up} {
        assert_equal 0 [r wait 0 0]
        assert_equal 0 [r wait 0 1000000]
        assert_equal 0 [r wait -1 0]
        set begin [clock milliseconds]
        assert_equal 0 [r wait 1 50]
        assert_morethan_equal [expr {[clock milliseconds] - $begin}] 50
    }

    test {WAIT: bad arguments} {
        assert_error_text {ERR value is not an integer or out of range} {r wait x 0}
        assert_error_text {ERR timeout is not an integer or out of range} {r wait 0 x}
        assert_error_text {ERR timeout is not an integer or out of range} {r wait 0 0.1}
        assert_error_text {ERR timeout is negative} {r wait 0 -1}
        assert_error_text {ERR wrong number of arguments for 'wait' command} {r wait 0}
        assert_equal 0 [s blocked_clients]
    }

    test {a client that waits: what it sent meanwhile is answered after} {
        set c [redis_deferring_client]
        $c client id
        set id [$c read]
        $c write [client::encode {wait 1 0}][client::encode {ping}][client::encode {set a b}]
        $c flush
        await_blocked 1
        assert_equal {} [r get a]
        assert_equal 1 [r client unblock $id]
        assert_equal 0 [$c read]
        assert_equal PONG [$c read]
        assert_equal OK [$c read]
        $c close
    }

    test {many clients with limits of their own end in order of their limits} {
        set clients {}
        for {set i 0} {$i < 20} {incr i} {
            set c [redis_deferring_client]
            $c client id
            lappend clients $c [$c read]
            $c wait 1 [expr {400 - $i * 20}]
        }
        foreach {c id} $clients {
            assert_equal 0 [$c read]
            $c close
        }
        await_blocked 0
    }

    test {CLIENT UNBLOCK: as if the time were up, or with an error} {
        set c [redis_deferring_client]
        $c client id
        set id [$c read]
        $c wait 1 0
        await_blocked 1
        assert_match {*flags=b*} [r client list id $id]
        assert_equal 1 [r client unblock $id]
        assert_equal 0 [$c read]
        assert_equal 0 [r client unblock $id]
        $c wait 1 0
        await_blocked 1
        assert_equal 1 [r client unblock $id timeout]
        assert_equal 0 [$c read]
        $c wait 1 0
        await_blocked 1
        assert_equal 1 [r client unblock $id error]
        assert_error_text {UNBLOCKED client unblocked via CLIENT UNBLOCK} {$c read}
        $c ping
        assert_equal PONG [$c read]
        $c close
        assert_equal 0 [r client unblock 999999]
        assert_error_text {ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR} \
            {r client unblock $id maybe}
    }

    # 6.2.16 ends with a panic here.
    test {a client that CLIENT PAUSE holds is not unblocked} {
        set c [redis_deferring_client]
        $c client id
        set id [$c read]
        r client pause 100000 write
        $c set a 1
        await_blocked 1
        assert_equal 0 [r client unblock $id]
        r client unpause
        assert_equal OK [$c read]
        $c close
    } {} {ours}

    test {clients that close, or are killed, while they wait leave nothing} {
        for {set i 0} {$i < 10} {incr i} {
            set c [redis_deferring_client]
            $c client id
            set id [$c read]
            $c wait 1 [expr {$i % 2 ? 100000 : 0}]
            await_blocked 1
            if {$i % 3} {
                $c close
            } else {
                assert_equal 1 [r client kill id $id]
                $c close
            }
            await_blocked 0
        }
    }

    # The index by deadline rests while a child saves, and keeps what it noted of clients that have
    # gone; the clock passes the limit within one slot of it (64 ms), most times.
    test {limits count while a child saves, also behind others that have passed} {
        r debug saving-child 1
        for {set i 0} {$i < 15} {incr i} {
            set c [redis_deferring_client]
            $c blpop none 0.1
            await_read $c
            r debug sleep 0.105
            assert_equal {} [$c read]
            $c wait 1 10
            assert_equal 0 [$c read]
            $c close
        }
        r debug saving-child 0
    } {OK} {ours}

    # Slots of 4,096 ms of a clock that begins anywhere: one try in three has both limits in one
    # slot that has begun, behind the one in which the index rests.
    test {a limit that is nearer than the others counts at once after a child has saved} {
        set first [redis_deferring_client]
        for {set i 0} {$i < 3} {incr i} {
            r debug saving-child 1
            $first wait 1 600000
            after 1400
            set late [redis_deferring_client]
            set begin [clock milliseconds]
            $late wait 1 2000
            await_read $late
            after 100
            r debug saving-child 0
            set soon [redis_deferring_client]
            $soon wait 1 20
            assert_equal 0 [$soon read]
            set blocked [s blocked_clients]
            if {[clock milliseconds] < $begin + 2000} {
                assert_equal 2 $blocked "the later limit has not passed"
            }
            $soon close
            $late close
            await_blocked 1
            $first close
            await_blocked 0
            set first [redis_deferring_client]
        }
        $first close
    } {} {ours}
}
