# SPDX-License-Identifier: BSD-3-Clause
# Replies whose number of elements is known only behind the last: KEYS, SINTER, XRANGE, LPOS and
# others. A client gets the same bytes wherever the reply stands while it is made: in the output
# buffer, across its end, in chunks behind replies that are not read yet, in EXEC, in a script.

# Fills the keys that the commands below read: `count` elements of about `bytes` each.
proc fill_lengths {count bytes} {
    r flushdb
    set pad [string repeat x $bytes]
    r eval {
        for i = 0, ARGV[1] - 1 do
            local member = 'm' .. i .. ARGV[2]
            redis.call('sadd', 'one', member)
            redis.call('sadd', 'two', member)
            redis.call('rpush', 'list', 'same')
            redis.call('xadd', 'stream', '0-' .. i + 1, member, 'v')
        end
    } 0 $count $pad
    set members {}
    for {set i 0} {$i < $count} {incr i} {
        lappend members m$i$pad
    }
    return [lsort $members]
}

set length_commands {
    {sinter one two} {sunion one two} {sdiff one nokey} {xrange stream - +}
    {lpos list same count 0} {keys nothing*}
}

# Raw bytes, of the database that `r` uses.
proc raw_beside_r {} {
    set client [raw_client]
    $client write [client::encode {select 9}]
    $client raw_reply
    return $client
}

start_server {} {
    test {Elements around a digit more and around the output buffer's end} {
        foreach {count bytes} {0 0  1 0  9 5  10 5  99 5  100 5  1000 100  1310 90  5000 20} {
            set members [fill_lengths $count $bytes]
            foreach before {0 1000 131000} {
                r set before [string repeat b $before]
                set client [redis_deferring_client]
                foreach words $length_commands {
                    $client get before
                    $client {*}$words
                    $client ping
                }
                foreach words $length_commands {
                    assert_equal $before [string length [$client read]]
                    set reply [$client read]
                    assert_equal PONG [$client read] "$words behind $before"
                    if {[string match s* $words]} {
                        assert_equal $members [lsort $reply] "$words behind $before"
                    } else {
                        set wanted [expr {[string match keys* $words] ? 0 : $count}]
                        assert_equal $wanted [llength $reply] "$words behind $before"
                    }
                }
                $client close
            }
        }
    }

    test {All keys, in one batch with others and read late} {
        r flushdb
        populate [accurate 20000 100000]
        set keys [lsort [r keys *]]
        assert_equal [r dbsize] [llength $keys]
        set client [redis_deferring_client]
        for {set i 0} {$i < 5} {incr i} {
            $client keys *
            $client ping
        }
        after 100
        for {set i 0} {$i < 5} {incr i} {
            assert {[lsort [$client read]] eq $keys}
            assert_equal PONG [$client read]
        }
        $client close
        r flushdb
    } {OK}

    test {In EXEC, in scripts and within a script's table, as alone} {
        fill_lengths 300 10
        foreach words $length_commands {
            set alone [r {*}$words]
            r multi
            r {*}$words
            r {*}$words
            assert_equal [list $alone $alone] [r exec] $words
            # A set's order is put in order for a script.
            set script "return {redis.call(unpack(ARGV)), redis.call(unpack(ARGV))}"
            lassign [r eval $script 0 {*}$words] first second
            assert_equal [lsort $alone] [lsort $first] $words
            assert_equal $first $second
        }
        # Groups within groups: each consumer's part of what is pending.
        r xgroup create stream g 0
        r xreadgroup group g a count 3 streams stream >
        r xreadgroup group g b count 12 streams stream >
        assert_equal {{a 3} {b 12}} [lindex [r xpending stream g] 3]
        assert_equal {{a 3} {b 12}} [r eval {return redis.call('xpending', 'stream', 'g')[4]} 0]
        llength [r xpending stream g - + 1000]
    } {15}

    test {By RESP3 maps and sets are such, also in a script} {
        r flushdb
        r sadd s only
        set client [raw_beside_r]
        $client write [client::encode {HELLO 3}]
        $client raw_reply
        foreach {words reply} {
            {sinter s s} "~1\r\n\$4\r\nonly\r\n"
            {sinter s nokey} "~0\r\n"
            {config get maxmemory} "%1\r\n\$9\r\nmaxmemory\r\n\$1\r\n0\r\n"
            {config get nooption} "%0\r\n"
            {eval "redis.setresp(3); return redis.call('sinter', 's').set.only and 1" 0} ":1\r\n"
        } {
            $client write [client::encode $words]
            assert_equal $reply [$client raw_reply] $words
        }
        $client close
    }

    test {CLIENT REPLY OFF and SKIP drop the header with the elements} {
        fill_lengths 50 10
        set client [raw_beside_r]
        foreach words $length_commands {
            set bytes [client::encode {client reply skip}][client::encode $words]
            append bytes [client::encode {client reply off}][client::encode $words]
            append bytes [client::encode {client reply on}][client::encode {ping}]
            $client write $bytes
            assert_equal "+OK\r\n" [$client raw_reply] $words
            assert_equal "+PONG\r\n" [$client raw_reply] $words
        }
        $client close
    }

    test {The hard limit in the midst of an array closes the client, and all is free again} {
        r flushdb
        set pad [string repeat k 500]
        r eval {for i = 1, 20000 do redis.call('set', ARGV[1] .. i, '') end} 0 $pad
        set before [s used_memory]
        with_config {client-output-buffer-limit {normal 2mb 0 0}} {
            foreach words {{keys *} {multi keys * exec}} {
                set client [raw_beside_r]
                if {[lindex $words 0] eq "multi"} {
                    $client write [client::encode multi][client::encode {keys *}]
                    assert_equal "+OK\r\n+QUEUED\r\n" [$client raw_reply][$client raw_reply]
                    $client write [client::encode exec]
                } else {
                    $client write [client::encode $words]
                }
                assert_equal 1 [$client closed] $words
                $client close
            }
            assert_equal PONG [r ping]
        }
        wait_for_condition 500 10 {[s used_memory] < $before + 1000000} else {
            fail "[s used_memory] are used, $before before"
        }
        r flushdb
    } {OK}
}

start_server {overrides {io-threads 4 io-threads-do-reads yes}} {
    test {Many clients at once, where I/O threads write} {
        set members [fill_lengths 20 5]
        set clients {}
        for {set i 0} {$i < 40} {incr i} {
            lappend clients [redis_deferring_client]
        }
        # All are found ready in one turn, unless the machine is slow: then they ask again.
        for {set round 0} {$round < 5 || ![s io_threaded_writes_processed]} {incr round} {
            assert_lessthan $round 100
            set sleeper [redis_deferring_client]
            $sleeper debug sleep 0.1
            foreach client $clients {
                foreach words $length_commands {
                    $client {*}$words
                }
            }
            $sleeper read
            $sleeper close
            foreach client $clients {
                set replies [lmap words $length_commands {$client read}]
                assert_equal $members [lsort [lindex $replies 0]]
                assert_equal $members [lsort [lindex $replies 1]]
                assert_equal {20 20 20 0} [lmap reply [lrange $replies 2 end] {llength $reply}]
            }
        }
        foreach client $clients {
            $client close
        }
    }
}
