# SPDX-License-Identifier: BSD-3-Clause
# Freeing: what goes to the background, what is counted while it waits, and that nothing is lost.
# unit/keyspace has the options one by one.

proc wait_until_freed {} {
    wait_for_condition 500 20 {[s lazyfree_pending_objects] == 0} else {
        fail "[s lazyfree_pending_objects] are still there"
    }
}

set lazyfree_options {
    lazyfree-lazy-expire lazyfree-lazy-server-del lazyfree-lazy-user-del lazyfree-lazy-user-flush
}

start_server {} {
    test {The options take yes and no, nothing else} {
        foreach name $lazyfree_options {
            assert_equal no [config_get $name]
            foreach value {yes no} {
                r config set $name $value
                assert_equal $value [config_get $name]
            }
            foreach value {1 {} maybe} {
                assert_error {ERR Invalid argument*} {r config set $name $value} "$name $value"
            }
            assert_equal no [config_get $name]
        }
    }

    test {Memory of deleted keys comes back, whatever is lazy} {
        foreach value {no yes} {
            foreach name $lazyfree_options {
                r config set $name $value
            }
            r flushall
            wait_until_freed
            set before [s used_memory]
            for {set i 0} {$i < 40} {incr i} {
                r set key:$i [string repeat x 300000]
            }
            assert_morethan [s used_memory] [expr {$before + 10000000}]
            for {set i 0} {$i < 10} {incr i} {
                r del key:$i
                r unlink key:[expr {$i + 10}]
                r set key:[expr {$i + 20}] small
                r pexpire key:[expr {$i + 30}] 1
            }
            wait_for_condition 200 20 {[r dbsize] == 10} else {
                fail "[r dbsize] keys are left"
            }
            wait_until_freed
            wait_for_condition 100 20 {[s used_memory] < $before + 1000000} else {
                fail "[s used_memory], $before before"
            }
        }
        foreach name $lazyfree_options {
            r config set $name no
        }
    }

    test {A command that deletes, replaces or renames thousands of keys} {
        r flushall
        foreach command {del unlink} {
            populate 20000 key: 100
            set words {}
            set pairs {}
            for {set i 0} {$i < 20000} {incr i} {
                lappend words key:$i
                lappend pairs key:$i [string repeat y 200]
            }
            r mset {*}$pairs
            assert_equal [string repeat y 200] [r get key:19999]
            assert_equal 20000 [r $command {*}$words {*}$words]
            assert_equal 0 [r dbsize]
        }
    }

    test {A key that one command deletes and sets again and again} {
        r set k [string repeat a 100000]
        set words {}
        for {set i 0} {$i < 300} {incr i} {
            lappend words k [string repeat b [expr {$i * 7}]]
        }
        r mset {*}$words k [string repeat c 100000]
        assert_equal [string repeat c 100000] [r get k]
        r rename k l
        r copy l k
        r bitop not l l
        r append k [r getrange l 0 10]
        assert_equal 100011 [r strlen k]
        assert_equal 2 [r del k l k]
    }

    test {FLUSHALL of both kinds, SWAPDB and refilling by turns} {
        for {set round 0} {$round < 6} {incr round} {
            populate 5000 old:
            r select 10
            populate 10
            r select 9
            r swapdb 9 10
            r set mine x
            r flushall [lindex {async sync} [expr {$round % 2}]]
            populate 500 new:
            assert_equal 500 [r dbsize]
            assert_equal {} [r get mine]
            r flushall async
        }
        wait_until_freed
        assert_equal 0 [r dbsize]
    }

    test {Other clients are served and see nothing while a large database is emptied} {
        r debug populate 300000
        set other [redis_client]
        $other select 9
        set client [redis_deferring_client]
        $client flushall sync
        $client set after 1
        $client ping
        wait_for_condition 500 10 {[$other dbsize] <= 1} else {
            fail "[$other dbsize] keys"
        }
        assert_equal {} [$other get key:1]
        assert_equal {OK OK PONG} [client_replies $client 3]
        assert_equal 1 [$other get after]
        $client close
        $other close
        r flushall
    } {OK}

    test {A server that has much to free ends well} {
        r debug populate 200000
        r set large [string repeat x 3000000]
        r unlink large
        r flushall async
        restart_server 0
        assert_equal 0 [r dbsize]
    }
}

start_server {tags {ours}} {
    # Bytes that wait right after the command, before the loop has turned.
    proc pending_after {args} {
        r multi
        r {*}$args
        r info memory
        set text [lindex [r exec] 1]
        assert_equal 0 [info_property $text lazyfree_pending_objects]
        info_property $text lazyfree_pending_bytes
    }

    proc wait_until_nothing_waits {} {
        wait_for_condition 500 20 {[s lazyfree_pending_bytes] == 0} else {
            fail "[s lazyfree_pending_bytes] bytes are still there"
        }
    }

    proc large_hash {key} {
        for {set first 0} {$first < 60000} {incr first 10000} {
            set words {}
            for {set i $first} {$i < $first + 10000} {incr i} {
                lappend words field:$i value:$i
            }
            r hset $key {*}$words
        }
    }

    test {What a large value takes goes behind the command, also where nothing is lazy} {
        set freed [s lazyfreed_objects]
        r set other y
        set dumped [r dump other]
        foreach words [list {del k} {set k x} {rename other k} {expire k -1} \
                {copy other k replace} [list restore k 0 $dumped replace]] {
            r flushall
            r set other y
            set before [s used_memory]
            large_hash k
            assert_morethan [pending_after {*}$words] 1000000 $words
            wait_until_nothing_waits
            assert_lessthan [s used_memory] [expr {$before + 500000}] $words
        }
        assert_equal $freed [s lazyfreed_objects]
        r flushall
    } {OK}

    test {What has expired goes at once where nothing is lazy, however large} {
        r debug set-active-expire 0
        large_hash k
        r pexpire k 1
        after 10
        assert_equal 0 [pending_after exists k]
        assert_equal 0 [r dbsize]
        r debug set-active-expire 1
    } {OK} {needs:debug}

    test {A value whose freeing is under way is gone: its key can be made anew, saved, compared} {
        large_hash k
        set digest [r debug digest]
        r multi
        r del k
        r hset k a b
        r del k
        r exec
        large_hash k
        assert_equal $digest [r debug digest]
        r del k
        r debug reload
        assert_equal 0 [r dbsize]
        wait_until_nothing_waits
    }

    test {XGROUP DESTROY and DELCONSUMER give up what is pending; it goes behind the command} {
        for {set i 1} {$i <= 20000} {incr i} {
            r xadd s $i-1 f v
        }
        foreach words {{xgroup destroy s g} {xgroup delconsumer s g c} {del s}} {
            r xgroup create s g 0
            r xreadgroup group g c count 20000 streams s >
            assert_equal 20000 [lindex [r xpending s g] 0]
            assert_morethan [pending_after {*}$words] 500000 $words
            wait_until_nothing_waits
            switch [lindex $words 1] {
                destroy {assert_equal {} [r xinfo groups s]}
                delconsumer {
                    assert_equal {0 {} {} {}} [r xpending s g]
                    assert_equal {} [r xinfo consumers s g]
                    assert_equal {} [lindex [r xreadgroup group g d count 3 streams s 0] 0 1]
                    r xgroup destroy s g
                }
                s {assert_equal 0 [r exists s]}
            }
        }
    }

    test {DELCONSUMER leaves what others have pending} {
        for {set i 1} {$i <= 2000} {incr i} {
            r xadd s $i-1 f v
        }
        r xgroup create s g 0
        r xreadgroup group g one count 1500 streams s >
        r xreadgroup group g two count 500 streams s >
        assert_equal 1500 [r xgroup delconsumer s g one]
        assert_equal {500 1501-1 2000-1 {{two 500}}} [r xpending s g]
        assert_equal 500 [r xgroup delconsumer s g two]
        assert_equal {0 {} {} {}} [r xpending s g]
        assert_equal 1 [r del s]
    }

    test {FLUSHALL SYNC of many keys within MULTI or a script: freed behind it} {
        set seen 0
        foreach words {{flushall sync} flushdb {eval {return redis.call('flushall')} 0}} {
            r debug populate 200000
            set before [s lazyfreed_objects]
            set used [s used_memory]
            r multi
            r {*}$words
            r dbsize
            r info memory
            lassign [r exec] reply keys text
            assert_equal {OK 0} [list $reply $keys]
            # The other thread may be through already, where this one stood still.
            incr seen [expr {[info_property $text lazyfree_pending_bytes] > 0}]
            wait_until_nothing_waits
            assert_morethan [expr {$used - [s used_memory]}] 8000000 $words
            assert_equal $before [s lazyfreed_objects]
        }
        assert_morethan $seen 0
    }

    test {FLUSHALL SYNC of a few large values within MULTI: freed behind it} {
        try_again 20 1 {
            large_hash k
            large_hash l
            large_hash m
            assert_morethan [pending_after flushall] 1000000
        }
        wait_until_nothing_waits
    }

    test {A full server does not evict because of what is on its way out} {
        r flushall
        large_hash k
        r debug populate 1000
        set bytes [r memory usage k]
        r config set maxmemory-policy allkeys-lru
        r config set maxmemory [expr {[s used_memory] + 1000000}]
        set evicted [s evicted_keys]
        set client [redis_deferring_client]
        $client del k
        set value [string repeat x [expr {$bytes / 120}]]
        for {set i 0} {$i < 100} {incr i} {
            $client set small:$i $value
        }
        client_replies $client 101
        $client close
        assert_equal $evicted [s evicted_keys]
        assert_equal 1100 [r dbsize]
        r config set maxmemory 0
        r config set maxmemory-policy noeviction
        r flushall
        wait_until_nothing_waits
    }

    test {FLUSHALL SYNC of many keys: counted as none of the background's, and on one's own time} {
        foreach words {{flushall sync} flushall {flushdb sync} flushdb} {
            r debug populate 100000
            set before [s lazyfreed_objects]
            set used [s used_memory]
            assert_equal OK [r {*}$words]
            # The answer means that all is freed.
            assert_morethan [expr {$used - [s used_memory]}] 4000000 $words
            assert_equal $before [s lazyfreed_objects]
            assert_equal 0 [s lazyfree_pending_objects]
            assert_equal 0 [s lazyfree_pending_bytes]
        }
    }

    test {Several wait, some close or are killed, one is silent} {
        set clients {}
        for {set i 0} {$i < 12} {incr i} {
            set client [redis_deferring_client]
            $client client id
            set id [$client read]
            $client debug populate 30000 p$i
            $client read
            if {$i % 4 == 3} {
                $client client reply skip
            }
            $client flushall
            $client echo $i
            switch [expr {$i % 4}] {
                1 {$client close}
                2 {r client kill id $id; $client close}
                default {lappend clients $i $client}
            }
        }
        foreach {i client} $clients {
            if {$i % 4 == 0} {
                assert_equal OK [$client read] $i
            }
            assert_equal $i [$client read]
            $client close
        }
        assert_equal PONG [r ping]
        r flushall
    } {OK}

    test {lazyfree_pending_bytes is what waits} {
        # All may be freed between the two figures of one INFO, where the machine stands still then.
        try_again 20 1 {
            r debug populate 300000 key 50
            set full [s used_memory]
            r flushall async
            set text [r info memory]
            set waiting [info_property $text lazyfree_pending_bytes]
            set used [info_property $text used_memory]
            wait_until_freed
            assert_lessthan [expr {$used - $waiting}] 10000000
        }
        assert_equal 0 [s lazyfree_pending_bytes]
        assert_morethan $full 25000000
        assert_lessthan [s used_memory] 10000000
    }

    test {Clients that write and delete large values outrun no bound} {
        r config resetstat
        # Laid out once: that takes longer than to send it.
        set bytes [client::encode [list set k [string repeat x 8000000]]]
        append bytes [client::encode {unlink k}]
        set client [redis_deferring_client]
        for {set i 0} {$i < 100} {incr i} {
            $client write $bytes
        }
        foreach reply [client_replies $client 200] {
            assert {$reply in {OK 1}}
        }
        $client close
        # 256 MiB may wait, and some arguments be on their way.
        assert_lessthan [s used_memory_peak] 400000000
        wait_until_freed
        assert_equal 0 [s lazyfree_pending_bytes]
        r flushall
    } {OK}
}
