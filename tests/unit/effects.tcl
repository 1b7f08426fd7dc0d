# SPDX-License-Identifier: BSD-3-Clause
# Effects: what a command is for the log and for replicas (DEBUG EFFECTS). tests/diff --effects
# compares them with those of a stock server; here stands each form once.

# What was recorded since the last call, as a list of commands; "@db" before one of another database
# than 9, T for a time of our clock.
proc recorded {reader} {
    set found {}
    foreach words [r debug effects $reader] {
        set database [lindex $words 0]
        set words [lrange $words 1 end]
        set shown {}
        foreach word $words {
            lappend shown [expr {[regexp {^1[5-9]\d{11}$} $word] ? "T" : $word}]
        }
        lappend found [concat [expr {$database == 9 ? {} : "@$database"}] $shown]
    }
    return $found
}

# The effects of the command `words` after the commands `before`.
proc assert_effects {before words log stream} {
    r select 9
    r flushall
    foreach command $before {
        r {*}$command
    }
    recorded log
    recorded stream
    catch {r {*}$words}
    assert_equal $log [recorded log] "log of $words"
    if {$stream eq "="} {
        set stream $log
    }
    assert_equal $stream [recorded stream] "stream of $words"
}

proc await_blocked {count} {
    wait_for_condition 500 10 {[s blocked_clients] == $count} else {
        fail "the client does not wait"
    }
}

# Commands before, the command, what is logged, what replicas get ("=": the same).
set table {
    {} {SET k v} {{SET k v}} =
    {} {set k v NX} {{set k v NX}} =
    {{set k v}} {set k w nx} {} =
    {} {get k} {} =
    {{set k v}} {set k w get} {{set k w}} =
    {} {set k v ex 100} {{SET k v PXAT T}} {{SET k v PX 100000}}
    {{set k v}} {set k w px 5000 xx get} {{SET k w PXAT T}} {{SET k w PX 5000}}
    {} {set k v exat 99999999999} {{SET k v PXAT 99999999999000}} =
    {} {setex k 100 v} {{SET k v PXAT T}} {{SET k v PX 100000}}
    {} {psetex k 1000 v} {{SET k v PXAT T}} {{SET k v PX 1000}}
    {{set k v}} {getset k w} {{SET k w}} =
    {{set k v}} {getdel k} {{DEL k}} =
    {} {getdel k} {} =
    {{set k v}} {getex k} {} =
    {{set k v}} {getex k ex 100} {{PEXPIREAT k T}} {{PEXPIRE k 100000}}
    {{set k v}} {getex k pxat 99999999999000} {{PEXPIREAT k 99999999999000}} =
    {{set k v}} {getex k pxat 1} {{DEL k}} =
    {{set k v ex 100}} {getex k persist} {{PERSIST k}} =
    {} {incrbyfloat k 1.5} {{SET k 1.5 KEEPTTL}} =
    {} {mset a 1 b 2} {{mset a 1 b 2}} =
    {} {setrange k 0 {}} {} =
    {} {pfadd k a} {{pfadd k a}} =
    {{pfadd k a}} {pfcount k} {{pfcount k}} =
    {{pfadd k a} {pfcount k}} {pfcount k} {} =

    {} {lpush k a b} {{lpush k a b}} =
    {{rpush k a b}} {blpop x k 0} {{LPOP k}} =
    {{rpush k a b}} {brpop k 0} {{RPOP k}} =
    {{rpush k a}} {rpoplpush k l} {{rpoplpush k l}} =
    {{rpush k a}} {brpoplpush k l 0} {{RPOPLPUSH k l}} =
    {{rpush k a}} {blmove k l left right 0} {{LMOVE k l left right}} =
    {{rpush k 2 1}} {sort k store l} {{sort k store l}} =
    {{rpush k 2 1}} {sort k} {} =
    {} {sadd k a} {{sadd k a}} =
    {{sadd k a}} {sadd k a} {} =
    {{sadd k a}} {spop k} {{SREM k a}} =
    {{sadd k a b}} {spop k 5} {{DEL k}} =
    {{sadd k a b}} {spop k 0} {} =
    {{sadd a x}} {sunionstore k a} {{sunionstore k a}} =
    {} {hincrbyfloat k f 1.5} {{HSET k f 1.5}} =
    {} {hset k f v} {{hset k f v}} =
    {} {zadd k 1 a} {{zadd k 1 a}} =
    {{zadd k 1 a 2 b}} {bzpopmin k 0} {{ZPOPMIN k}} =
    {{zadd k 1 a 2 b}} {bzpopmax k 0} {{ZPOPMAX k}} =
    {} {geoadd k 1 1 a} {{zadd k 3377822707026402 a}} =

    {} {xadd k 5 a 1} {{xadd k 5-0 a 1}} =
    {{xadd k 1-0 a 1} {xadd k 2-0 a 1}} {xtrim k maxlen ~ 0} {{xtrim k maxlen = 0}} =
    {{xadd k 1-0 a 1}} {xtrim k minid ~ 9} \
        {{xtrim k minid = 18446744073709551615-18446744073709551615}} =
    {} {xadd k minid ~ 9 5-0 a 1} \
        {{xadd k minid = 18446744073709551615-18446744073709551615 5-0 a 1}} =
    {{xadd k 1-0 a 1} {xgroup create k g 0}} {xreadgroup group g c streams k >} \
        {{XCLAIM k g c 0 1-0 TIME T RETRYCOUNT 1 FORCE JUSTID LASTID 1-0}} =
    {{xadd k 1-0 a 1} {xgroup create k g 0}} {xreadgroup group g c noack streams k >} \
        {{XGROUP CREATECONSUMER k g c} {XGROUP SETID k g 1-0}} =
    {{xadd k 1-0 a 1} {xgroup create k g 0} {xreadgroup group g c streams k >}} \
        {xclaim k g d 0 1-0} \
        {{XCLAIM k g d 0 1-0 TIME T RETRYCOUNT 2 FORCE JUSTID LASTID 1-0}} =
    {{xadd k 1-0 a 1} {xgroup create k g 0} {xreadgroup group g c streams k >}} \
        {xautoclaim k g d 0 0} \
        {{XCLAIM k g d 0 1-0 TIME T RETRYCOUNT 2 FORCE JUSTID LASTID 1-0}} =

    {{set k v}} {del k x} {{del k x}} =
    {{set k v}} {expire k 100} {{PEXPIREAT k T}} {{expire k 100}}
    {{set k v}} {pexpire k 100000} {{PEXPIREAT k T}} {{pexpire k 100000}}
    {{set k v}} {expireat k 99999999999} {{PEXPIREAT k 99999999999000}} {{expireat k 99999999999}}
    {{set k v}} {expire k -1} {{DEL k}} =
    {{set k v}} {move k 5} {{move k 5}} =
    {{set k v}} {copy k l db 5} {{copy k l db 5}} =
    {{set k v}} {rename k l} {{rename k l}} =
    {{set k v}} {swapdb 9 5} {{swapdb 9 5}} =
    {} {publish channel m} {} {{publish channel m}}
    {{set k v}} {flushdb} {flushdb} =
    {{set k v} {select 5}} {set k v} {{@5 set k v}} =
    {} {select 9} {} =
}

tags {needs:debug} {
start_server {} {
    r select 9
    r debug effects start

    test {effects: of each command} {
        foreach {before words log stream} $table {
            assert_effects $before $words $log $stream
        }
    } undefined {ours}

    test {effects: of options about freeing} {
        foreach {option before words} {
            lazyfree-lazy-user-del {{set k v}} {getdel k}
            lazyfree-lazy-expire {{set k v}} {getex k pxat 1}
            lazyfree-lazy-expire {{set k v}} {expire k -1}
        } {
            r config set $option yes
            assert_effects $before $words {{UNLINK k}} =
            r config set $option no
            assert_effects $before $words {{DEL k}} =
        }
    } undefined {ours}

    test {effects: a member at a time, of a count of SPOP} {
        r flushall
        r sadd k a b c d
        recorded log
        set popped [r spop k 2]
        assert_equal [list MULTI "SREM k [lindex $popped 0]" "SREM k [lindex $popped 1]" EXEC] \
            [recorded log]
    } undefined {ours}

    test {effects: a key that is due goes before the command, once} {
        foreach {lazily word} {no DEL yes UNLINK} {
            r config set lazyfree-lazy-expire $lazily
            r debug set-active-expire 0
            r psetex k 1 v
            after 5
            recorded log
            r get k
            assert_equal [list "$word k"] [recorded log]
            r get k
            assert_equal {} [recorded log]
            r psetex k 1 v
            after 5
            recorded log
            r incr k
            assert_equal [list "$word k" {incr k}] [recorded log]
            r psetex k 1 v
            recorded log
            r debug set-active-expire 1
            wait_for_condition 500 10 {[r exists k] == 0} else {
                fail "the key does not expire"
            }
            assert_equal [list "$word k"] [recorded log]
        }
        r config set lazyfree-lazy-expire no
    } undefined {ours}

    test {effects: of EXEC are framed, also one} {
        recorded stream
        r multi
        r set a 1
        r get a
        r publish channel m
        r exec
        assert_equal {MULTI {set a 1} EXEC} [recorded log]
        assert_equal {MULTI {set a 1} {publish channel m} EXEC} [recorded stream]
        r multi
        r get a
        r exec
        assert_equal {} [recorded log]
    } undefined {ours}

    # 6.2 writes EXEC in the database that the client has then.
    test {effects: EXEC needs no SELECT of its own} {
        recorded stream
        recorded log
        r multi
        r set a 1
        r select 5
        r set b 1
        r exec
        r select 9
        set expected {MULTI {set a 1} {@5 set b 1} {@5 EXEC}}
        assert_equal $expected [recorded log]
        assert_equal $expected [recorded stream]
        r eval {redis.call('set', 'a', 1); redis.call('select', 5); redis.call('set', 'b', 1)} 0
        assert_equal [string map {9 5} $expected] [recorded log]
        recorded stream
    } undefined {ours}

    test {effects: who is served follows in a unit of its own} {
        r flushall
        set first [redis_deferring_client]
        set second [redis_deferring_client]
        recorded log
        $first blpop k 0
        await_blocked 1
        $second blmove k l left right 0
        await_blocked 2
        assert_equal {} [recorded log]
        r multi
        r rpush k 1 2
        r set a 1
        r exec
        assert_equal {k 1} [$first read]
        assert_equal 2 [$second read]
        assert_equal {MULTI {rpush k 1 2} {set a 1} EXEC {LPOP k} {LMOVE k l left right}} \
            [recorded log]
        $first close
        $second close
    } undefined {ours}

    test {effects: keys that are evicted go before the command} {
        foreach {lazily word} {no DEL yes UNLINK} {
            r config set lazyfree-lazy-eviction $lazily
            r flushall
            for {set i 0} {$i < 20} {incr i} {
                r set k$i [string repeat x 100000]
            }
            r config set maxmemory-policy allkeys-random
            recorded log
            r config set maxmemory [expr {[s used_memory] - 500000}]
            r set last 1
            set found [recorded log]
            assert_equal {set last 1} [lindex $found end]
            assert_morethan [llength $found] 3
            foreach command [lrange $found 0 end-1] {
                assert_equal $word [lindex $command 0]
                assert_equal 0 [r exists [lindex $command 1]]
            }
            assert_equal [llength [r keys *]] [expr {22 - [llength $found]}]
            r config set maxmemory 0
        }
        r config set lazyfree-lazy-eviction no
    } undefined {ours}

    test {effects: recording begins and ends within EXEC} {
        r flushall
        r debug effects stop
        r multi
        r set a 1
        r debug effects start
        r set b 2
        r set c 3
        r exec
        assert_equal {MULTI {set b 2} {set c 3} EXEC} [recorded log]
        r multi
        r set a 1
        r debug effects stop
        r set b 2
        r exec
        r set c 3
        assert_equal {} [recorded log]
        r debug effects start
        r set d 4
        assert_equal {{set d 4}} [recorded log]
        assert_error_text {ERR syntax error} {r debug effects nosuch}
    } undefined {ours}
    r debug effects stop
}
}
