# SPDX-License-Identifier: BSD-3-Clause
# Deadlines of keys: EXPIRE PEXPIRE EXPIREAT PEXPIREAT TTL PTTL PERSIST, and TIME.

# Milliseconds since 1970, by the server's clock.
proc server_msec {} {
    lassign [r time] seconds micros
    return [expr {$seconds * 1000 + $micros / 1000}]
}

start_server {} {
    test {Each form sets the same deadline} {
        foreach {command argument} {
            expire {expr 100}    pexpire {expr 100000}    expireat {expr [server_msec] / 1000 + 100}
            pexpireat {expr [server_msec] + 100000}
        } {
            r set k v
            assert_equal 1 [r $command k [eval $argument]] $command
            assert_range [r ttl k] 39 100 $command
            assert_range [r pttl k] 50000 100000 $command
            assert_equal v [r get k] $command
            r del k
        }
    }

    test {A deadline in whole milliseconds is kept exactly} {
        r set k v
        set at [expr {[server_msec] + 5000000000}]
        r pexpireat k $at
        set before [server_msec]
        set left [r pttl k]
        assert_range [expr {$at - $left}] [expr {$before - 100}] [server_msec]
    }

    test {TTL rounds half seconds up} {
        r set k v
        r pexpire k 100499
        assert_range [r ttl k] 39 100
        # At one moment.
        r multi
        r pexpire k 100999
        r ttl k
        assert_equal {1 101} [r exec]
    }

    test {A second deadline replaces the first} {
        r set k v
        r expire k 10
        r expire k 1000
        assert_range [r ttl k] 939 1000
        r expire k 200
        assert_range [r ttl k] 100 200
    }

    test {No key, no deadline} {
        foreach command {expire pexpire expireat pexpireat} {
            assert_equal 0 [r $command nokey 9000000000] $command
        }
        assert_equal 0 [r persist nokey]
        list [r ttl nokey] [r pttl nokey] [r exists nokey]
    } {-2 -2 0}

    test {PERSIST takes the deadline away} {
        r set k v ex 100
        assert_equal 1 [r persist k]
        assert_equal -1 [r ttl k]
        assert_equal -1 [r pttl k]
        assert_equal 0 [r persist k]
        r get k
    } {v}

    test {A deadline that is past deletes the key} {
        set before [s expired_keys]
        foreach {command argument} {
            expire 0    expire -1    expire -9223372036854775    pexpire 0    pexpire -1
            pexpire -9223372036854775808    expireat 0    expireat 1    expireat -5
            pexpireat 0    pexpireat 1    pexpireat -9223372036854775808
        } {
            r set k v
            assert_equal 1 [r $command k $argument] "$command $argument"
            assert_equal 0 [r exists k] "$command $argument"
            assert_equal 0 [r $command k $argument] "$command $argument"
        }
        # These were deleted, they did not expire.
        expr {[s expired_keys] - $before}
    } {0}

    test {Numbers that do not fit change nothing, with a key or without} {
        r set k v
        foreach {command argument} {
            expire 9223372036854775807    expire 9223372036854775
            expire -9223372036854775808    expire -9223372036854776
            pexpire 9223372036854775807    pexpire 9223372036854775000
            expireat 9223372036854775807    expireat -9223372036854775808
            expireat 9223372036854776
        } {
            foreach key {k nokey} {
                assert_error_text "ERR invalid expire time in $command" {r $command $key $argument}
            }
        }
        foreach command {expire pexpire expireat pexpireat} {
            foreach argument {x 1.5 {} 9223372036854775808 " 1" 1e3} {
                foreach key {k nokey} {
                    assert_error_text {ERR value is not an integer or out of range} {
                        r $command $key $argument
                    }
                }
            }
        }
        list [r get k] [r ttl k]
    } {v -1}

    test {The latest deadlines} {
        r set k v
        assert_equal 1 [r pexpireat k 9223372036854775807]
        assert_range [r pttl k] 9000000000000000000 9223372036854775807
        assert_range [r ttl k] 9000000000000000 9223372036854776
        assert_equal 1 [r expire k 9222000000000000]
        assert_range [r ttl k] 9221999999999999 9222000000000000
        assert_equal 1 [r expireat k 9223372036854775]
        assert_equal v [r get k]
        r persist k
    } {1}

    test {Arity} {
        foreach {name words} {
            expire k expire {k 1 NX} pexpire k pexpire {k 1 2} expireat k expireat {k 1 2}
            pexpireat k pexpireat {k 1 2} persist {} persist {a b} ttl {} ttl {a b} pttl {}
            pttl {a b} time x
        } {
            assert_error_text "ERR wrong number of arguments for '$name' command" {r $name \
                {*}$words}
        }
    }

    test {Writes that keep a deadline and writes that do not} {
        foreach {words kept} {
            {set k w} 0    {set k w keepttl} 1    {append k x} 1    {setrange k 0 zz} 1
            {rename k k2} 0    {touch k} 1    {copy k k3} 1
        } {
            r del k k2 k3
            r set k 1 ex 100
            r {*}$words
            assert_equal $kept [expr {[r ttl k] > 0}] $words
        }
        r set k 5 ex 100
        r incr k
        assert_range [r ttl k] 39 100
        assert_range [r ttl k3] 38 100
        r del k k2 k3
    } {2}

    test {A key is gone when EXPIRE's time is over} {
        r multi
        r set k v
        r pexpire k 40
        r get k
        assert_equal {OK 1 v} [r exec]
        wait_for_condition 100 20 {[r exists k] == 0} else {
            fail "the key is still there"
        }
        r set k v
        r expire k 1
        wait_for_condition 100 30 {[r exists k] == 0} else {
            fail "the key is still there"
        }
        list [r ttl k] [r persist k]
    } {-2 0}

    test {PERSIST in time keeps the key} {
        r multi
        r set k v px 60
        r persist k
        assert_equal {OK 1} [r exec]
        after 150
        r get k
    } {v}

    test {The clock moves on} {
        set first [server_msec]
        after 20
        set second [server_msec]
        assert_range [expr {$second - $first}] 15 100000
        lassign [r time] seconds micros
        assert_range $micros 0 999999
        assert_range [expr {$seconds - [clock seconds]}] -100 100
        llength [r time]
    } {2}

    test {TIME's reply is two texts} {
        set client [raw_client]
        $client time
        assert_equal 1 [regexp {^\*2\r\n\$10\r\n\d{10}\r\n\$(\d)\r\n(\d+)\r\n$} \
                             [$client raw_reply] -> length micros]
        assert_equal $length [string length $micros]
        $client close
    }

    test {Each counts one change} {
        r config set save {3600 1000000}
        r set k v
        foreach {words changes} {
            {expire k 100} 1    {pexpire k 100000} 1    {persist k} 1    {persist k} 0
            {expire nokey 100} 0    {expireat k 9000000000} 1    {ttl k} 0    {expire k -1} 1
        } {
            set before [s rdb_changes_since_last_save]
            r {*}$words
            assert_equal $changes [expr {[s rdb_changes_since_last_save] - $before}] $words
        }
    }
}

start_server {} {
    test {A key that is due is gone for every command that meets it first} {
        r debug set-active-expire 0
        foreach {words reply} {
            {expire k 100} 0    {pexpire k 100} 0    {expireat k 9000000000} 0
            {pexpireat k 9000000000000} 0    {persist k} 0    {ttl k} -2    {pttl k} -2
            {type k} none    {exists k} 0    {touch k} 0    {unlink k} 0    {del k} 0
            {object encoding k} {}    {object idletime k} {}    {copy k other} 0
            {move k 3} 0    {renamenx other k} 1    {keys *} other    {randomkey} other
            {scan 0} {0 other}
        } {
            r flushall
            r set other v
            r set k v px 1
            after 5
            assert_equal $reply [r {*}$words] $words
            assert_equal 0 [expr {[r dbsize] > 1 && $words ne {keys *} && $words ne {randomkey}}] \
                $words
        }
        r flushall
        r set k v px 1
        after 5
        assert_error_text {ERR no such key} {r rename k l}
        assert_error_text {ERR no such key} {r debug object k}
        # As a destination it is in nobody's way.
        r set a 1
        r set k v px 1
        after 5
        assert_equal 1 [r copy a k]
        assert_equal 1 [r get k]
        r set k v px 1
        after 5
        assert_equal 1 [r renamenx a k]
        assert_equal -1 [r ttl k]
        r select 3
        r set k v px 1
        r select 9
        after 5
        assert_equal 1 [r move k 3]
        r debug set-active-expire 1
    } {OK} {needs:debug}

    test {A deadline that a command brings nearer is met without a further command} {
        r flushall
        foreach {key words} {
            overwritten {set overwritten w px 20} longer {set longer wwwwwwwwwwwwwwwwwww px 20}
            set {setex set 1 w} moved {pexpire moved 20} read {getex read px 20}
        } {
            r set $key v ex 1000
            r {*}$words
            wait_for_condition 500 10 {[r dbsize] == 0} else {
                fail "$words: the key is still there"
            }
        }
    }

    test {expired_keys counts those that expired, however they were found} {
        r flushall
        r debug set-active-expire 0
        r config resetstat
        for {set i 0} {$i < 10} {incr i} {
            r set k:$i v px 1
        }
        after 5
        r get k:0
        r exists k:1
        r scan 0 count 100
        assert_equal 10 [s expired_keys]
        r debug set-active-expire 1
        r dbsize
    } {0} {needs:debug}

    # One write of all of these; the replies.
    proc at_once {commands} {
        set client [redis_deferring_client]
        set bytes {}
        foreach command $commands {
            append bytes [client::encode $command]
        }
        $client write $bytes
        set replies {}
        foreach command $commands {
            lappend replies [$client read]
        }
        $client close
        return $replies
    }

    proc msec_of {time} {
        return [expr {[lindex $time 0] * 1000 + [lindex $time 1] / 1000}]
    }

    foreach {slow name} {{debug populate 300000 slow} DEBUG\ POPULATE
                         {debug sleep 0.1} DEBUG\ SLEEP} {
        test "Time goes on behind a slow command of the same write: $name" {
            r flushall
            lassign [at_once [list {xadd s * a 1} {time} $slow {time} {set k v px 100000} \
                              {xadd s * a 1}]] first before - after set second
            set before [msec_of $before]
            set after [msec_of $after]
            assert_morethan $after [expr {$before + 10}]
            assert_morethan_equal [lindex [split $second -] 0] [expr {$after - 1}]
            # The deadline counts from when SET ran, not from when its turn began.
            set left [r pttl k]
            assert_morethan_equal [expr {[server_msec] + $left}] [expr {$after + 100000 - 1}]
            r flushall
        } {OK} {needs:debug}
    }

    test {Time goes on behind a slow command of the same write: how long entries are idle} {
        r flushall
        lassign [lrange [at_once {
            {xadd s 1-1 a 1} {xgroup create s g 0} {xreadgroup group g c streams s >}
            {debug populate 300000 slow} {xpending s g - + 1} {xinfo consumers s g}
            {xclaim s g d 10 1-1}
        }] end-2 end] pending consumers claimed
        assert_morethan_equal [lindex $pending 0 2] 10
        assert_morethan_equal [dict get [lindex $consumers 0] idle] 10
        assert_equal {{1-1 {a 1}}} $claimed
        r flushall
    } undefined {needs:debug}

    test {Keys are due by the moment at which EXEC began, and its clock goes on} {
        for {set tries 0} {$tries < 20} {incr tries} {
            r flushall
            lassign [lindex [at_once {
                {set k v px 200} multi {exists k} time {xadd s * a 1} {debug sleep 0.3}
                {get k} {pttl k} {exists k} {set l v px 250} {pttl l} {xadd s * a 1} exec
            }] end] there began first - value left still - l_left second
            if {$there} break
        }
        assert_equal 1 $there
        assert_equal {v 0 1} [list $value $left $still]
        assert_range $l_left 1 250
        assert_morethan_equal [lindex [split $second -] 0] [expr {[msec_of $began] + 300}]
        # Its time is over now, and l's began when it was set.
        assert_equal 0 [r exists k]
    } {} {needs:debug}
}
