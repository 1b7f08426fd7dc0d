# SPDX-License-Identifier: BSD-3-Clause
# All blocks move, again and again, in a primary and its replica, also where the allocator cannot
# tell which ones should (DEBUG MOVE-BLOCKS): while data of all types changes, is walked, saved and
# loaded, while clients wait and scripts run, no data is lost. tests/soak/moving does so for longer.

proc moved_all {level} {
    set before [s $level active_defrag_hits]
    wait_for_condition 500 20 {[s $level active_defrag_hits] > $before + 1000} else {
        fail "only [s $level active_defrag_hits] blocks moved, after $before"
    }
}

# Writes elements `from` to `to` of each type.
proc write_all {from to} {
    set client [redis_deferring_client]
    for {set i $from} {$i < $to} {incr i} {
        set value [string repeat v [expr {$i % 120}]]
        $client set s:$i $value
        $client set t:$i $value EX 10000
        $client hset h $i $value
        $client sadd m member:$i$value
        $client zadd z $i member:$i
        $client rpush l $value
        $client xadd x $i-1 f $value
        $client hset small:[expr {$i % 50}] $i $i
    }
    for {set i [expr {8 * ($to - $from)}]} {$i > 0} {incr i -1} {$client read}
    $client close
}

proc take_all {from to} {
    for {set i $from} {$i < $to} {incr i 10} {
        for {set j $i} {$j < $i + 8} {incr j} {lappend numbers $j}
        r del {*}[lmap j $numbers {set j s:$j}]
        r hdel h {*}$numbers
        r zrem z {*}[lmap j $numbers {set j member:$j}]
        r xdel x {*}[lmap j $numbers {set j $j-1}]
        set numbers {}
    }
    r ltrim l [expr {($to - $from) / 2}] -1
}

start_server {overrides {save ""}} {
start_server {overrides {save ""}} {
    foreach level {0 -1} {
        r $level debug move-blocks 100
        r $level config set activedefrag yes
        r $level config set active-defrag-cycle-min 50
        r $level config set active-defrag-cycle-max 50
    }
    follow -1 0

    test {MOVE-BLOCKS takes a percentage} {
        assert_error {*0 to 100*} {r debug move-blocks 101}
        assert_error {*0 to 100*} {r debug move-blocks -1}
        assert_error {*integer*} {r debug move-blocks many}
    }

    test {Data of all types is the same on primary and replica while all of it moves} {
        foreach {from to} {0 400 400 800} {
            write_all $from $to
            take_all $from $to
            moved_all 0
            moved_all -1
            await_same 0 -1
        }
    }

    test {A SCAN finds all keys while they move} {
        set seen {}
        set cursor 0
        while 1 {
            lassign [r scan $cursor count 100] cursor keys
            foreach key $keys {dict set seen $key 1}
            if {$cursor == 0} break
        }
        assert_equal [r dbsize] [dict size $seen]
    }

    test {Consumer groups, with pending entries, move} {
        foreach group {{} g} {
            r xgroup create x $group 0
            foreach consumer {{} c} {r xreadgroup group $group $consumer count 70 streams x >}
        }
        moved_all 0
        foreach group {{} g} {
            assert_equal 140 [lindex [r xpending x $group] 0]
            set id [lindex [r xpending x $group - + 200] 99 0]
            assert_equal 1 [r xack x $group $id]
            assert_equal {} [r xpending x $group $id $id 1]
            assert_equal {{} c} [lsort [lmap c [r xinfo consumers x $group] {dict get $c name}]]
        }
        r xgroup destroy x g
        moved_all 0
        await_same 0 -1
    }

    test {Scripts move} {
        for {set i 0} {$i < 300} {incr i} {lappend shas [r script load "return $i"]}
        moved_all 0
        for {set i 0} {$i < 300} {incr i} {assert_equal $i [r evalsha [lindex $shas $i] 0]}
        r script flush
        moved_all 0
    }

    test {Clients that wait are served} {
        set client [redis_deferring_client]
        $client blpop nolist 0
        wait_for_condition 500 10 {[s blocked_clients] == 1} else {fail "it does not wait"}
        moved_all 0
        r rpush nolist a
        assert_equal {nolist a} [$client read]
        $client close
    }

    foreach {method from to} {fork 1000 1300 walk 1300 1600} {
        test "A save has the data of its beginning: $method" {
            r config set snapshot-method $method
            r bgsave
            write_all $from $to
            wait_for_condition 1000 20 {[s rdb_bgsave_in_progress] == 0} else {
                fail "the save lasts"
            }
            assert_equal ok [s rdb_last_bgsave_status]
            take_all $from $to
            moved_all 0
            r debug reload
            await_same 0 -1
        }
    }

    test {It ends at 0 percent} {
        r debug move-blocks 0
        set before [s active_defrag_hits]
        after 100
        assert {[s active_defrag_hits] - $before < 1000}
    }
}
}
