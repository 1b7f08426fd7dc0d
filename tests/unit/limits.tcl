# SPDX-License-Identifier: BSD-3-Clause
# client-output-buffer-limit at work: clients that do not read what they asked for.
#
# What a client leaves unread stands in the kernel's buffers first, some megabytes; only what is
# beyond them counts. So the limits here are megabytes apart, and no test states an exact byte.

# A client that asks `count` times for a value of 1 MB and does not read.
proc asker {count} {
    set client [redis_deferring_client]
    $client write [string repeat [client::encode {get wide}] $count]
    $client flush
    return $client
}

# Reads and checks `count` such values.
proc assert_gets {client count} {
    set value [r get wide]
    for {set i 0} {$i < $count} {incr i} {
        if {[$client read] ne $value} {
            fail "reply $i of $count differs"
        }
    }
}

# Waits until the server has no client but `r`'s own.
proc await_closed {} {
    wait_for_condition 600 50 {[s connected_clients] == 1} else {
        fail "[s connected_clients] clients are still there"
    }
}

start_server {} {
    r set wide [string repeat 0123456789abcdef 65536]

    test {Without a limit nobody is closed} {
        assert_equal {normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60} \
            [config_get client-output-buffer-limit]
        set client [asker 40]
        assert_equal 2 [s connected_clients]
        assert_gets $client 40
        $client close
        await_closed
    }

    test {Hard limit: a client that does not read is closed, and the log says why} {
        with_config {client-output-buffer-limit {normal 8mb 0 0}} {
            set lines [count_log_lines]
            set client [asker 60]
            await_closed
            wait_for_log {*output buffer*} $lines
            # What was written before may come, or an error, as the connection was cut.
            set got 0
            catch {set got [string length [$client raw_rest]]}
            assert_lessthan $got [expr {60 << 20}]
            $client close
        }
    }

    test {Hard limit: what the closed client held is free again} {
        set before [s used_memory]
        with_config {client-output-buffer-limit {normal 8mb 0 0}} {
            set client [asker 60]
            await_closed
            $client close
        }
        wait_for_condition 500 10 {[s used_memory] < $before + 1000000} else {
            fail "[s used_memory] are used, $before before"
        }
    }

    test {Hard limit: one reply that is larger closes the client, and nothing after it is run} {
        with_config {client-output-buffer-limit {normal 500kb 0 0}} {
            r select 0
            r set wide [string repeat x 1048576]
            r del after
            set client [raw_client]
            $client write "[client::encode {get wide}][client::encode {set after 1}]"
            assert_equal 1 [$client closed]
            $client close
            assert_equal 0 [r exists after]
            r del wide
            r select 9
        }
    } {OK}

    test {Hard limit: others go on} {
        with_config {client-output-buffer-limit {normal 8mb 0 0}} {
            set other [redis_client]
            set client [asker 60]
            wait_for_condition 600 50 {[s connected_clients] == 2} else {
                fail "[s connected_clients] clients are still there"
            }
            assert_equal PONG [$other ping]
            assert_equal 1048576 [string length [$other get wide]]
            $client close
            $other close
        }
        await_closed
    }

    test {The limits of other classes are not those of normal clients} {
        with_config {client-output-buffer-limit {slave 1mb 1mb 0 pubsub 1mb 1mb 0}} {
            set client [asker 40]
            assert_equal 2 [s connected_clients]
            assert_gets $client 40
            $client close
            await_closed
        }
    }

    test {A slow reader below the limits is served to the end} {
        with_config {client-output-buffer-limit {normal 64mb 48mb 0}} {
            set client [asker 30]
            after 1200
            for {set i 0} {$i < 30} {incr i} {
                assert_gets $client 1
                after 20
            }
            $client ping
            assert_equal PONG [$client read]
            $client close
            await_closed
        }
    }

    test {Soft limit: a client may be above it for a while} {
        with_config {client-output-buffer-limit {normal 0 1mb 1000}} {
            set client [asker 40]
            after 300
            assert_equal 2 [s connected_clients]
            assert_gets $client 40
            $client close
            await_closed
        }
    }

    # 6.2 looks at the limit only when it adds to the replies, so the client asks again meanwhile.
    test {Soft limit: a client that stays above it is closed} {
        with_config {client-output-buffer-limit {normal 0 1mb 0}} {
            set lines [count_log_lines]
            set client [asker 40]
            wait_for_condition 600 50 {
                [catch {$client write [client::encode {get wide}]; $client flush}]
                || [s connected_clients] == 1
            } else {
                fail "it is still there"
            }
            wait_for_log {*output buffer*} $lines
            $client close
            await_closed
        }
    }

    test {Soft limit: a client that stays above it is closed, though it asks for nothing more} {
        with_config {client-output-buffer-limit {normal 0 1mb 0}} {
            set client [asker 40]
            await_closed
            $client close
        }
    } {} {ours}

    test {A limit of a byte closes no client whose replies are read at once} {
        set client [redis_client]
        r config set client-output-buffer-limit {normal 1 1 0}
        for {set i 0} {$i < 1000} {incr i} {
            assert_equal PONG [$client ping]
        }
        $client config set client-output-buffer-limit {normal 0 0 0}
        $client close
    }
}
