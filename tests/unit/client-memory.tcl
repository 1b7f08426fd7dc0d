# SPDX-License-Identifier: BSD-3-Clause
# What clients hold: how it is counted, maxmemory-clients, CLIENT NO-EVICT.

# A client that has asked for about `bytes` of replies and reads none of them.
proc slow_reader {bytes} {
    r set big [string repeat x 100000]
    set client [redis_deferring_client]
    fconfigure [$client channel] -buffering full
    # The server may disconnect it before all is sent.
    catch {
        for {set i 0} {$i < $bytes / 100000} {incr i} {
            $client get big
        }
        $client flush
    }
    return $client
}

start_server {tags {ours}} {
    test {maxmemory-clients: values, and what is refused} {
        foreach value {0 1048576 50% 100%} {
            r config set maxmemory-clients $value
            assert_equal $value [config_get maxmemory-clients]
        }
        foreach value {-1 101% x 1%%} {
            assert_error {ERR Invalid argument*} {r config set maxmemory-clients $value}
            assert_equal 100% [config_get maxmemory-clients]
        }
        foreach {value text} {101% {percentage argument must be less or equal to 100} \
                                  x {argument must be a memory or percent value}} {
            assert_error "*CONFIG SET 'maxmemory-clients' - $text" {
                r config set maxmemory-clients $value
            }
        }
        r config set maxmemory-clients 0
    }

    test {an idle client costs its struct, a slow reader what it does not read} {
        set before [s mem_clients_normal]
        set idle {}
        for {set i 0} {$i < 50} {incr i} {
            set client [redis_deferring_client]
            $client ping
            $client read
            lappend idle $client
        }
        # Over TLS there is what libssl holds for the connection.
        lassign [expr {$::options(tls) ? {8000 45000} : {160 400}}] least most
        assert_range [expr {[s mem_clients_normal] - $before}] [expr {50 * $least}] \
            [expr {50 * $most}]
        set slow [slow_reader 20000000]
        wait_for_condition 500 10 {[s mem_clients_normal] > 5000000} else {
            fail "only [s mem_clients_normal] bytes"
        }
        $slow close
        foreach client $idle {
            $client close
        }
        wait_for_condition 500 10 {[s mem_clients_normal] < 100000} else {
            fail "still [s mem_clients_normal] bytes"
        }
    }

    test {maxmemory-clients disconnects the largest, and nobody else} {
        r config resetstat
        set others {}
        for {set i 0} {$i < 20} {incr i} {
            set client [redis_deferring_client]
            $client write "*2\r\n\$3\r\nGET\r\n\$1000\r\n[string repeat k 500]"
            $client flush
            lappend others $client
        }
        r config set maxmemory-clients 3mb
        set slow [slow_reader 20000000]
        wait_for_condition 500 10 {[s evicted_clients] == 1} else {
            fail "[s evicted_clients] clients were disconnected"
        }
        assert_lessthan [s mem_clients_normal] 3145728
        foreach client $others {
            $client write "[string repeat k 500]\r\n"
            $client flush
            assert_equal {} [$client read]
            $client close
        }
        $slow close
        assert_equal 1 [s evicted_clients]
        r config set maxmemory-clients 0
    }

    test {what a client waits for, and is told of, is its memory} {
        r config resetstat
        set keys {}
        set prefixes {}
        for {set i 0} {$i < 10000} {incr i} {
            lappend keys [format %0250d $i]
            lappend prefixes prefix [format %0250d $i]
        }
        set waits [redis_deferring_client]
        $waits blpop {*}$keys 0
        wait_for_condition 500 10 {[s blocked_clients] == 1} else {
            fail "it does not wait"
        }
        r config set maxmemory-clients 2mb
        wait_for_condition 500 10 {[s blocked_clients] == 0} else {
            fail "who waits for 10000 keys is not disconnected: [r client list]"
        }
        assert_equal 1 [s evicted_clients]
        r config set maxmemory-clients 0
        set told [redis_deferring_client]
        $told client tracking on redirect [r client id] bcast {*}$prefixes
        assert_equal OK [$told read]
        r config set maxmemory-clients 2mb
        wait_for_condition 500 10 {[s tracking_clients] == 0} else {
            fail "who is told of 10000 prefixes is not disconnected: [r client list]"
        }
        assert_equal 2 [s evicted_clients]
        r config set maxmemory-clients 0
        $waits close
        $told close
    }

    test {a percentage is of maxmemory; the option lowered acts at once} {
        r config resetstat
        r config set maxmemory 100mb
        set slow [slow_reader 20000000]
        wait_for_condition 500 10 {[s mem_clients_normal] > 5000000} else {
            fail "only [s mem_clients_normal] bytes"
        }
        r config set maxmemory-clients 50%
        assert_equal 0 [s evicted_clients]
        r config set maxmemory-clients 2%
        assert_equal 1 [s evicted_clients]
        assert_lessthan [s mem_clients_normal] 2097152
        $slow close
        r config set maxmemory-clients 0
        r config set maxmemory 0
    }

    test {maxmemory-ceiling: clients that hold next to nothing stay, whatever the limit} {
        r config resetstat
        set others {}
        for {set i 0} {$i < 5} {incr i} {
            lappend others [redis_deferring_client]
        }
        set slow [slow_reader 20000000]
        wait_for_condition 500 10 {[s mem_clients_normal] > 5000000} else {
            fail "only [s mem_clients_normal] bytes"
        }
        r config set maxmemory-eviction-cpu-budget 50
        r config set maxmemory 1
        for {set round 0} {$round < 2} {incr round} {
            foreach client $others {
                $client ping
                assert_equal PONG [$client read]
                $client set key value
                assert_error {OOM*} {$client read}
            }
        }
        assert_morethan [s maxmemory_ceiling_hits] 0
        assert_equal 1 [s evicted_clients] "(the slow reader)"
        foreach client [concat $others $slow] {
            $client close
        }
        r config set maxmemory 0
        r config set maxmemory-eviction-cpu-budget 100
    }

    test {CLIENT NO-EVICT keeps a client, and slow readers never pass the limit} {
        r config resetstat
        set kept [redis_deferring_client]
        $kept client no-evict on
        assert_equal OK [$kept read]
        r config set maxmemory-clients 4mb
        r set big [string repeat x 100000]
        for {set i 0} {$i < 40} {incr i} {
            $kept get big
        }
        set peak 0
        set clients {}
        for {set i 0} {$i < 20} {incr i} {
            lappend clients [slow_reader 20000000]
            set held [s mem_clients_normal]
            if {$held > $peak} {
                set peak $held
            }
        }
        wait_for_condition 500 10 {[s evicted_clients] > 0} else {
            fail "nobody was disconnected"
        }
        assert_lessthan $peak [expr {4 * 1048576 + 4200000}] "(peak)"
        for {set i 0} {$i < 40} {incr i} {
            assert_equal 100000 [string length [$kept read]]
        }
        foreach client [concat $clients $kept] {
            $client close
        }
        r config set maxmemory-clients 0
    }

    test {a single reply above the hard limit closes the client} {
        r config set client-output-buffer-limit {normal 50000 0 0}
        r set big [string repeat x 80000]
        r set small [string repeat x 40000]
        set client [redis_deferring_client]
        $client get small
        assert_equal 40000 [string length [$client read]]
        $client get big
        wait_for_condition 500 10 {[$client closed]} else {
            fail "the client is still there"
        }
        $client close
        r config set client-output-buffer-limit {normal 0 0 0}
    }
}
