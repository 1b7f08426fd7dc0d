# SPDX-License-Identifier: BSD-3-Clause
# Peers that do not read what they are sent hold up nobody else. Monitors, pipelines, a client over
# TLS and copies by a walk have such tests with their features (unit/monitor, unit/batch, unit/tls,
# integration/walk-receivers).

# More than sockets hold.
set value [string repeat 0123456789 20000]
set pieces 100

# Another client writes and is answered while at least `bytes` wait for the peers.
proc assert_served {peers bytes} {
    set other [redis_client]
    for {set i 0} {$i < 50} {incr i} {
        assert_equal OK [$other set served:$i $i]
        assert_equal $i [$other get served:$i]
    }
    set waiting 0
    foreach {-> omem} [regexp -all -inline {omem=(\d+)} [$other client list]] {
        incr waiting $omem
    }
    assert_morethan_equal $waiting $bytes
    $other close
    foreach peer $peers {
        $peer close
    }
    wait_for_condition 1000 20 {[s connected_clients] == 1} else {
        fail "[s connected_clients] clients"
    }
}

start_server {overrides {save {} client-output-buffer-limit {pubsub 0 0 0}}} {
    test {Subscribers that do not read large messages} {
        set peers {}
        for {set i 0} {$i < 5} {incr i} {
            lappend peers [redis_deferring_client]
            [lindex $peers end] subscribe channel
        }
        wait_for_condition 500 20 {[lindex [r pubsub numsub channel] 1] == 5} else {
            fail "no subscribers"
        }
        for {set i 0} {$i < $pieces} {incr i} {
            assert_equal 5 [r publish channel $value]
        }
        assert_served $peers 20000000
    }

    test {A client that tracks all keys and does not read what becomes invalid} {
        set peer [redis_deferring_client]
        $peer hello 3
        $peer read
        $peer client tracking on bcast
        $peer read
        for {set i 0} {$i < $pieces} {incr i} {
            r set $i$value 1
            r del $i$value
        }
        assert_served [list $peer] 20000000
        assert_equal 50 [r dbsize]
    } undefined {resp2}

    test {A client that blocks behind replies it does not read is served} {
        r flushall
        r set wide $value
        set peer [redis_deferring_client]
        for {set i 0} {$i < $pieces} {incr i} {
            $peer get wide
        }
        $peer blpop list 0
        $peer get wide
        wait_for_condition 1000 20 {[s blocked_clients] == 1} else {
            fail "the client does not block"
        }
        assert_equal 1 [r rpush list $value]
        assert_equal 0 [r exists list]
        assert_equal 0 [s blocked_clients]
        assert_served [list $peer] 10000000
    }

    test {A copy by a file for who does not read it, as redis-cli --rdb that is stopped} {
        r flushall
        r config set rdbcompression no
        for {set i 0} {$i < $pieces} {incr i} {
            r set key:$i $value
        }
        set peer [redis_deferring_client]
        $peer write [client::encode sync]
        $peer flush
        wait_for_condition 1000 20 {
            [s rdb_bgsave_in_progress] == 0 && [string match "*state=send_bulk*" [s slave0]]
        } else {
            fail "no copy is sent: [s slave0]"
        }
        assert_served [list $peer] 0
    } undefined {needs:fork}
}

start_server {overrides {save {}}} {
    test {MIGRATE to a target that takes connections and reads nothing ends with its timeout} {
        set listener [socket -server {apply {{channel args} {
            fconfigure $channel -blocking 0
        }}} -myaddr 127.0.0.1 0]
        set port [lindex [fconfigure $listener -sockname] 2]
        r set wide [string repeat $value 100]
        set mover [redis_deferring_client]
        set other [redis_deferring_client]
        $mover migrate 127.0.0.1 $port wide 9 300
        $mover flush
        foreach i {1 2 3} {
            $other set served:$i $i
            if {![$other readable 30000]} {
                fail "MIGRATE goes on for longer than its timeout"
            }
            assert_equal OK [$other read]
        }
        assert_error "IOERR error or timeout *ing to target instance" {$mover read}
        assert_equal 20000000 [r strlen wide]
        $mover close
        $other close
        close $listener
    } undefined {tls:skip}
}
