# SPDX-License-Identifier: BSD-3-Clause
# Walks over keys: SCAN, KEYS, RANDOMKEY.

# A whole scan with the given options; every key as often as it came.
proc scan_all {args} {
    set cursor 0
    set keys {}
    while 1 {
        lassign [r scan $cursor {*}$args] cursor found
        lappend keys {*}$found
        if {$cursor eq "0"} {
            return $keys
        }
    }
}

start_server {} {
    test {An empty database} {
        r flushdb
        list [r scan 0] [r scan 12345] [r keys *] [r randomkey]
    } {{0 {}} {0 {}} {} {}}

    test {A scan finds every key, whatever the count} {
        populate 1000
        foreach count {1 3 10 64 500 5000 9223372036854775807} {
            assert_equal 1000 [llength [lsort -unique [scan_all count $count]]] $count
        }
        assert_equal 1000 [llength [lsort -unique [scan_all]]]
        llength [lindex [r scan 0 count 9223372036854775807] 1]
    } {1000}

    test {A call ends near its count} {
        foreach count {1 10 100} {
            assert_range [llength [lindex [r scan 0 count $count] 1]] 1 [expr {$count + 60}]
        }
    }

    # 6.2 takes a whole chain of its hash table a step: 1.3 keys on average, seldom more than 6.
    test {Scans of COUNT 1 take small steps} {
        r flushdb
        populate 1000
        for {set i 0} {$i < 600} {incr i} {
            r sadd s m$i
            r hset h f$i v
            r zadd z $i m$i
        }
        foreach {words elements each} {
            scan 1003 1   {sscan s} 600 1   {hscan h} 600 2   {zscan z} 600 2
        } {
            set cursor 0
            set calls 0
            set all {}
            while 1 {
                lassign [r {*}$words $cursor count 1] cursor found
                assert_range [llength $found] 0 [expr {9 * $each}] $words
                lappend all {*}$found
                incr calls
                if {$cursor eq "0"} break
                assert_range $cursor 1 1000000
            }
            assert_equal [expr {$elements * $each}] [llength $all] $words
            assert_morethan $calls [expr {$elements / 2}] $words
        }
        r del s h z
    }

    test {MATCH} {
        assert_equal 90 [llength [lsort -unique [scan_all match key:??]]]
        assert_equal 0 [llength [scan_all match key]]
        assert_equal 1000 [llength [lsort -unique [scan_all match *]]]
        assert_equal {key:77} [lsort -unique [scan_all match key:77]]
        assert_equal {key:17 key:18 key:19} [lsort -unique [scan_all match {key:1[7-9]} count 37]]
        assert_equal 0 [llength [scan_all match KEY:*]]
    }

    test {The last MATCH, COUNT and TYPE count} {
        lsort -unique [scan_all match nokey match key:5 count 1 count 100 type list type string]
    } {key:5}

    test {TYPE knows the names of all types, and no case} {
        foreach {type count} {
            string 1000    STRING 1000    list 0    set 0    zset 0    hash 0    stream 0
            string2 0    {} 0    nosuchtype 0
        } {
            assert_equal $count [llength [lsort -unique [scan_all type $type count 100]]] $type
        }
    }

    test {A scan keeps its promise while keys come and go} {
        r flushdb
        populate 2000 stay:
        for {set round 0} {$round < [accurate 3 20]} {incr round} {
            set cursor 0
            set seen {}
            set i 0
            while 1 {
                lassign [r scan $cursor count 50] cursor found
                foreach key $found {
                    dict incr seen $key
                }
                if {$cursor eq "0"} {
                    break
                }
                # Now the table grows, now it shrinks.
                for {set j 0} {$j < 40} {incr j} {
                    if {$round % 2} {
                        r set come:$i v
                    } else {
                        r del come:$i
                    }
                    incr i
                }
            }
            for {set j 0} {$j < 2000} {incr j} {
                assert {[dict exists $seen stay:$j]} "round $round: stay:$j"
            }
        }
        r flushdb
    } {OK}

    test {A scan of a database from which nearly all was deleted comes to an end} {
        populate 5000
        for {set i 0} {$i < 4995} {incr i} {
            r del key:$i
        }
        assert_equal {key:4995 key:4996 key:4997 key:4998 key:4999} [lsort -unique [scan_all]]
        r flushdb
    } {OK}

    test {Forms of cursors} {
        r set k v
        foreach cursor [list 0 00 +0 -0 {} "0\0x" 18446744073709551616x] {
            if {[string match *x $cursor] && ![string match "*\0*" $cursor]} {
                assert_error_text {ERR invalid cursor} {r scan $cursor}
            } else {
                assert_equal {0 k} [r scan $cursor] $cursor
            }
        }
        foreach cursor {x -x + - " 0" "0 " 0x10 1.0 18446744073709551616
            99999999999999999999999999 -18446744073709551616} {
            assert_error_text {ERR invalid cursor} {r scan $cursor} $cursor
            assert_error_text {ERR invalid cursor} {r scan $cursor count x bogus} $cursor
        }
        foreach cursor {18446744073709551615 -1 -18446744073709551615 1 4611686018427387904} {
            assert_equal 0 [lindex [r scan $cursor] 0] $cursor
        }
    }

    test {Options that are wrong} {
        foreach words {
            {count 0} {count -1} {count} {match} {type} {bogus} {bogus 1} {match a count}
            {count 5 bogus} {match a b}
        } {
            assert_error_text {ERR syntax error} {r scan 0 {*}$words} $words
        }
        foreach value {x 1.5 {} 9223372036854775808} {
            assert_error_text {ERR value is not an integer or out of range} {
                r scan 0 count $value bogus
            } $value
        }
        foreach {name words} {scan {} keys {} keys {a b} randomkey x} {
            assert_error_text "ERR wrong number of arguments for '$name' command" {
                r $name {*}$words
            }
        }
    }

    test {The reply's form} {
        r flushdb
        r set k v
        set client [raw_client]
        $client select 9
        $client raw_reply
        $client scan 0
        assert_equal "*2\r\n\$1\r\n0\r\n*1\r\n\$1\r\nk\r\n" [$client raw_reply]
        $client keys *
        assert_equal "*1\r\n\$1\r\nk\r\n" [$client raw_reply]
        $client keys x
        assert_equal "*0\r\n" [$client raw_reply]
        $client randomkey
        assert_equal "\$1\r\nk\r\n" [$client raw_reply]
        $client close
    }

    test {KEYS by all sorts of patterns} {
        r flushdb
        foreach key {one two three four "five six" a*b a\\b} {
            r set $key v
        }
        foreach {pattern keys} {
            one one    t* {three two}    *o* {four one two}    ???? four    [ot]* {one three two}
            [^a-s]* {three two}    a\\*b a*b    {five six} {{five six}}    *\ * {{five six}}
            T* {}    {} {}
        } {
            assert_equal [lsort $keys] [lsort [r keys $pattern]] $pattern
        }
        llength [r keys *]
    } {7}

    test {The empty key: a lone star finds it, two do not} {
        r flushdb
        r set {} v
        list [llength [r keys *]] [llength [r keys **]] [llength [r keys {}]] [llength [r keys ?]] \
            [llength [lindex [r scan 0 match *] 1]] [llength [lindex [r scan 0 match **] 1]] \
            [llength [lindex [r scan 0 match {}] 1]]
    } {1 0 1 0 1 0 1}

    test {Patterns with very many stars} {
        r flushdb
        r set [string repeat a 3000] v
        foreach {stars found} {10 1 1000 1 1001 1 1002 0 2000 0} {
            assert_equal $found [llength [r keys [string repeat a* $stars]]] $stars
        }
        assert_equal 0 [llength [r keys [string repeat a* 900]b]]
        llength [r keys [string repeat * 2000]]
    } {1}

    test {KEYS of many keys} {
        r flushdb
        populate [accurate 30000 300000]
        assert_equal [r dbsize] [llength [r keys *]]
        assert_equal [r dbsize] [llength [lsort -unique [r keys key:*]]]
        llength [r keys key:1234]
    } {1}

    test {A walk is no access and counts no lookup} {
        r flushdb
        r set k v
        r config resetstat
        r keys *
        r scan 0
        r randomkey
        list [s keyspace_hits] [s keyspace_misses]
    } {0 0}

    test {RANDOMKEY gives every key its turn} {
        r flushdb
        populate 20
        set drawn {}
        for {set i 0} {$i < 1000} {incr i} {
            dict incr drawn [r randomkey]
        }
        dict size $drawn
    } {20}

    test {RANDOMKEY keeps to the selected database} {
        r select 11
        assert_equal {} [r randomkey]
        r set elsewhere v
        assert_equal elsewhere [r randomkey]
        r flushdb
        r select 9
    } {OK}
}

start_server {} {
    test {Keys that are due do not show} {
        r debug set-active-expire 0
        populate 100 live:
        for {set i 0} {$i < 300} {incr i} {
            r set due:$i v px 1
        }
        after 10
        assert_equal 100 [llength [r keys *]]
        assert_equal 0 [llength [r keys due:*]]
        assert_equal 400 [r dbsize]
        for {set i 0} {$i < 50} {incr i} {
            assert_match live:* [r randomkey]
        }
        assert_equal 100 [llength [lsort -unique [scan_all]]]
        # A scan deletes what it passes.
        assert_equal 100 [r dbsize]
        r debug set-active-expire 1
    } {OK} {needs:debug}

    test {RANDOMKEY where all keys are due comes to an end} {
        r flushall
        r debug set-active-expire 0
        set client [redis_deferring_client]
        for {set i 0} {$i < 5000} {incr i} {
            $client set due:$i v px 1
        }
        client_replies $client 5000
        $client close
        after 10
        assert_equal {} [r randomkey]
        r set live v
        assert_equal live [r randomkey]
        r debug set-active-expire 1
    } {OK} {needs:debug}
}
