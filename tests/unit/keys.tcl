# SPDX-License-Identifier: BSD-3-Clause
# Commands about keys: DEL EXISTS TYPE TTL DBSIZE FLUSHALL, and keys that expire.

start_server {} {
    test {DEL counts what it deleted} {
        r set a 1
        r set b 2
        r set c 3
        assert_equal 2 [r del a nokey c]
        assert_equal 0 [r del a c nokey]
        assert_equal 2 [r get b]
        assert_equal 1 [r del b b b]
    }

    test {EXISTS counts a key as often as it is named} {
        r set a 1
        assert_equal 1 [r exists a]
        assert_equal 3 [r exists a nokey a a]
        assert_equal 0 [r exists nokey]
        r del a
    } {1}

    test {TYPE} {
        r set a 1
        assert_equal string [r type a]
        assert_equal none [r type nokey]
        set client [raw_client]
        $client type nokey
        assert_equal "+none\r\n" [$client raw_reply]
        $client close
    }

    test {TTL: -2 without the key, -1 without a time} {
        r set a 1
        assert_equal -1 [r ttl a]
        assert_equal -2 [r ttl nokey]
        r set a 1 px 150000
        assert_range [r ttl a] 50 150
    }

    test {TTL rounds half seconds up} {
        # At one moment, but for a millisecond.
        r multi
        foreach left {100498 100501 100998} {
            r set a 1 px $left
            r ttl a
        }
        assert_equal {OK 100 OK 101 OK 101} [r exec]
    }

    test {DBSIZE counts the selected database} {
        r flushall
        r set a 1
        r set b 1
        r set a 2
        assert_equal 2 [r dbsize]
        r select 3
        assert_equal 0 [r dbsize]
        r set c 1
        assert_equal 1 [r dbsize]
        r select 9
        r del a b
        assert_equal 0 [r dbsize]
    }

    test {FLUSHALL empties every database, SYNC and ASYNC alike} {
        foreach mode {{} sync async SYNC aSync} {
            foreach database {0 3 9} {
                r select $database
                r set k 1
                r set volatile 1 ex 1000
            }
            assert_equal OK [r flushall {*}$mode]
            foreach database {0 3 9} {
                r select $database
                assert_equal 0 [r dbsize]
                assert_equal {} [r get k]
            }
        }
    }

    test {FLUSHALL with anything else} {
        r set k 1
        assert_error_text {ERR syntax error} {r flushall x}
        assert_error_text {ERR syntax error} {r flushall sync async}
        assert_error_text {ERR syntax error} {r flushall async x}
        r get k
    } {1}

    test {FLUSHALL of many keys, and the database works on} {
        foreach mode {sync async} {
            populate 20000
            r flushall $mode
            assert_equal 0 [r dbsize]
            r set k 1
            assert_equal 1 [r get k]
            assert_equal 1 [r dbsize]
            populate 100
            assert_equal 101 [r dbsize]
        }
        r flushall
    } {OK}

    test {Arity} {
        foreach {name words} {
            del {} exists {} type {} type {a b} ttl {} ttl {a b} dbsize x
        } {
            assert_error_text "ERR wrong number of arguments for '$name' command" {r $name \
                {*}$words}
        }
    }

    test {Deleting and setting over and over leaves nothing behind} {
        r flushall
        set client [redis_deferring_client]
        for {set round 0} {$round < [accurate 10 100]} {incr round} {
            for {set i 0} {$i < 1000} {incr i} {
                $client set k:$i $round
            }
            for {set i 0} {$i < 1000} {incr i} {
                $client del k:$i
            }
            for {set i 0} {$i < 2000} {incr i} {
                $client read
            }
        }
        $client close
        r dbsize
    } {0}
}

start_server {} {
    test {A key is gone when its time is over} {
        r multi
        r set k v px 50
        r get k
        assert_equal {OK v} [r exec]
        wait_for_condition 100 20 {[r get k] eq ""} else {
            fail "the key is still there"
        }
        assert_equal 0 [r exists k]
        assert_equal none [r type k]
        assert_equal -2 [r ttl k]
        assert_equal 0 [r del k]
    }

    test {It is gone for each command that could see it first} {
        r debug set-active-expire 0
        foreach {words gone} {
            {get k} {}    {exists k} 0    {type k} none    {ttl k} -2    {del k} 0
            {set k v xx} {}    {set k v get} {}    {set k v nx} OK    {incr k} 1    {set k v\
                keepttl} OK
        } {
            r set k 41 px 5
            after 20
            assert_equal $gone [r {*}$words] $words
            if {[r exists k]} {
                assert_equal -1 [r ttl k] $words
            }
        }
        r debug set-active-expire 1
    } {OK} {needs:debug}

    test {Without active expiry a key stays counted until somebody looks} {
        r flushall
        r debug set-active-expire 0
        for {set i 0} {$i < 100} {incr i} {
            r set k:$i v px 5
        }
        after 200
        assert_equal 100 [r dbsize]
        for {set i 0} {$i < 50} {incr i} {
            assert_equal 0 [r exists k:$i]
        }
        assert_equal 50 [r dbsize]
        r debug set-active-expire 1
        wait_for_condition 200 20 {[r dbsize] == 0} else {
            fail "[r dbsize] keys are still there"
        }
    } {} {needs:debug}

    test {Active expiry finds keys that nobody asks for} {
        r flushall
        set before [s expired_keys]
        for {set i 0} {$i < 500} {incr i} {
            r set due:$i v px [expr {20 + $i % 50}]
            r set later:$i v ex 1000
            r set never:$i v
        }
        wait_for_condition 200 20 {[r dbsize] == 1000} else {
            fail "[r dbsize] keys, expected 1000"
        }
        assert_equal [expr {$before + 500}] [s expired_keys]
        r flushall
    } {OK}

    test {Active expiry works in every database} {
        foreach database {0 5 15} {
            r select $database
            r set k v px 20
        }
        wait_for_condition 200 20 {[info_property [r info keyspace] db0] eq ""
                                   && [info_property [r info keyspace] db5] eq ""
                                   && [info_property [r info keyspace] db15] eq ""} else {
            fail [r info keyspace]
        }
        r select 9
    } {OK}

    test {A time that was taken away or moved no longer counts} {
        r set a v px 40
        r set a w
        r set b v px 40
        r set b w ex 1000
        r set c v ex 1000
        r set c w px 40
        after 150
        assert_equal w [r get a]
        assert_equal w [r get b]
        assert_equal {} [r get c]
        r flushall
    } {OK}

    test {INFO keyspace counts keys, expires and their mean time} {
        r flushall
        r set a 1
        r set b 1 ex 100
        r set c 1 ex 100
        wait_for_condition 50 100 {[regexp {^keys=3,expires=2,avg_ttl=\d+$} \
                                    [info_property [r info keyspace] db9]]} else {
            fail [r info keyspace]
        }
        r del b
        assert_match {keys=2,expires=1,*} [info_property [r info keyspace] db9]
        r set c 1
        assert_match {keys=2,expires=0,*} [info_property [r info keyspace] db9]
        r flushall
        assert_equal {} [info_property [r info keyspace] db9]
    }

    test {20,000 keys that expire in one moment} {
        r flushall
        set client [redis_deferring_client]
        set at [expr {[clock milliseconds] + 1500}]
        for {set i 0} {$i < 20000} {incr i} {
            $client set mass:$i v pxat $at
            if {$i % 1000 == 999} {
                for {set j 0} {$j < 1000} {incr j} {
                    $client read
                }
            }
        }
        $client close
        # The server answers all the while.
        wait_for_condition 1000 20 {[r ping] eq "PONG" && [r dbsize] == 0} else {
            fail "[r dbsize] keys are still there"
        }
    }

    test {keyspace_hits and keyspace_misses} {
        r config resetstat
        r set k v
        r get k
        r get k
        r get nokey
        r exists k
        r exists nokey
        list [s keyspace_hits] [s keyspace_misses]
    } {3 2}
}
