# SPDX-License-Identifier: BSD-3-Clause
# Tables that grow and shrink, and the options that steer it, turned while the server works.

# A figure of DEBUG HTSTATS' first table of database 9; 0 where there is no such line.
proc table_figure {name} {
    set text [lindex [regexp -inline {Hash table 0.*?(?=\[Expires)} [r debug htstats 9]] 0]
    if {[regexp -line "^ $name: (\\d+)" $text -> value]} {
        return $value
    }
    return 0
}

# Keys in percent of what the table's buckets take: 16/3 a bucket.
proc table_fill {} {
    return [expr {100.0 * [r dbsize] * 3 / (16 * [table_figure buckets])}]
}

proc table_owes {} {
    return [regexp { owes: (growth|shrinking)} [r debug htstats 9]]
}

# Deletes key:<from> up to key:<to> - 1, so many a command.
proc delete_range {from to {step 500}} {
    for {set i $from} {$i < $to} {incr i $step} {
        set words {}
        for {set j $i} {$j < $to && $j < $i + $step} {incr j} {
            lappend words key:$j
        }
        r del {*}$words
    }
}

proc wait_until_paid {} {
    wait_for_condition 500 10 {![table_owes]} else {
        fail "the table still owes:\n[r debug htstats 9]"
    }
}

start_server {} {
    test {activerehashing takes yes and no, nothing else} {
        foreach value {no yes} {
            r config set activerehashing $value
            assert_equal $value [config_get activerehashing]
        }
        foreach value {1 0 on {} maybe} {
            assert_error {ERR Invalid argument*} {r config set activerehashing $value} $value
        }
        assert_equal yes [config_get activerehashing]
    }

    test {Keys stay whole while a table grows, falls to a twentieth and grows again} {
        for {set round 0} {$round < 2} {incr round} {
            populate 20000
            assert_equal 20000 [r dbsize]
            delete_range 1000 20000
            assert_equal 1000 [r dbsize]
            set found 0
            set cursor 0
            while 1 {
                lassign [r scan $cursor count 100] cursor keys
                foreach key $keys {
                    dict set seen $key 1
                }
                if {$cursor == 0} break
            }
            assert_equal 1000 [dict size $seen]
            unset seen
            assert_match key:* [r randomkey]
        }
        r flushall
    } {OK}
}

start_server {tags {ours}} {
    test {The tables' options refuse what is out of range, and nothing changes} {
        r config set hashtable-min-fill 17
        foreach value {0 51 -1 100 x {} 10%} {
            assert_error {ERR Invalid argument*} {r config set hashtable-min-fill $value} $value
        }
        assert_equal 17 [config_get hashtable-min-fill]
        r config set hashtable-min-fill 10
        foreach name {resize-hashtables resize-hashtables-enabled} {
            foreach value {1 {} never} {
                assert_error {ERR Invalid argument*} {r config set $name $value} $value
            }
            r config set $name no
            assert_equal no [config_get resize-hashtables]
            r config set $name yes
            assert_equal yes [config_get resize-hashtables]
        }
    }

    test {A table below its minimal fill gives capacity back, up to a fill of 80 %} {
        populate 20000
        assert_range [table_figure buckets] 3750 3760
        set before [s used_memory]
        delete_range 2100 20000
        assert_range [table_figure buckets] 3750 3760 "10.5 % full"
        delete_range 1900 2100
        wait_until_paid
        assert_range [table_fill] 75 80.1
        # 64 bytes a bucket, and the keys themselves.
        assert_morethan [expr {$before - [s used_memory]}] [expr {3300 * 64}]
    }

    test {resize-hashtables no: the capacity stays; with yes it goes, without a further delete} {
        r config set resize-hashtables no
        r flushall
        populate 20000
        delete_range 10 20000
        assert_range [table_figure buckets] 3750 3760
        assert_equal 0 [table_figure merges]
        assert_equal 0 [table_owes]
        # What is sparse can still be walked and drawn from.
        set found 0
        set cursor 0
        while 1 {
            lassign [r scan $cursor count 1000] cursor keys
            incr found [llength $keys]
            if {$cursor == 0} break
        }
        assert_equal 10 $found
        for {set i 0} {$i < 100} {incr i} {
            dict incr drawn [r randomkey]
        }
        assert_morethan [dict size $drawn] 3
        # Growth is never stopped.
        populate 30000
        assert_range [table_figure buckets] 5620 5640
        delete_range 10 30000
        r config set resize-hashtables yes
        wait_until_paid
        assert_range [table_figure buckets] 2 3
    }

    test {hashtable-min-fill is the fill at which shrinking begins} {
        foreach {percent above below} {1 250 150 20 4200 3800 50 10200 9800} {
            r flushall
            r config set hashtable-min-fill $percent
            populate 20000
            delete_range $above 20000
            assert_equal 0 [table_figure merges] "$percent, above"
            delete_range $below $above
            wait_until_paid
            assert_range [table_fill] 75 80.1 "$percent, below"
        }
        # Raised, it is felt at once.
        r config set hashtable-min-fill 1
        r flushall
        populate 20000
        delete_range 5000 20000
        assert_equal 0 [table_figure merges]
        r config set hashtable-min-fill 30
        wait_until_paid
        assert_range [table_fill] 75 80.1
        r config set hashtable-min-fill 10
    } {OK}

    test {activerehashing no: deletes alone pay, one bucket each} {
        r flushall
        r config set activerehashing no
        populate 20000
        delete_range 1990 20000
        set owing [table_figure merges]
        assert_morethan $owing 0
        for {set i 0} {$i < 50} {incr i} {
            after 5
            r get key:1
            r randomkey
            r scan 0
        }
        assert_equal $owing [table_figure merges]
        delete_range 1890 1990 1
        assert_equal [expr {$owing + 100}] [table_figure merges]
        r config set activerehashing yes
        wait_until_paid
        assert_range [table_fill] 75 80.1
    }

    test {While a child saves, growth waits up to twice the load, and is made up for after} {
        r flushall
        populate 4096
        set buckets [table_figure buckets]
        assert_equal 4096 [table_figure {table size}]
        r debug saving-child 1
        populate 8100
        assert_equal $buckets [table_figure buckets]
        assert_equal 1 [table_owes]
        assert_no_match {*rehashing target*} [r debug htstats 9]
        populate 12000
        assert_range [table_figure buckets] 1120 1126 "twice the load"
        r debug saving-child 0
        wait_until_paid
        assert_range [table_figure buckets] 2250 2252
        assert_equal 12000 [r dbsize]
    }

    test {While a child saves, a table shrinks only below a fill of 2 %} {
        r flushall
        populate 20000
        r debug saving-child 1
        delete_range 450 20000
        assert_equal 0 [table_figure merges]
        assert_equal 1 [table_owes]
        delete_range 300 450
        wait_for_condition 500 10 {[table_fill] >= 2} else {
            fail [r debug htstats 9]
        }
        assert_morethan [table_figure merges] 100
        assert_equal 1 [table_owes]
        assert_lessthan [table_fill] 3
        r debug saving-child 0
        wait_until_paid
        assert_range [table_fill] 75 80.1
    }

    test {INFO shows what tables take and how many owe} {
        r flushall
        populate 20000
        set full [s mem_overhead_hashtables]
        # 64 bytes a bucket; overflow buckets, chunks in use in part and directories besides.
        assert_range $full [expr {64 * 3750}] [expr {64 * 3750 * 3 / 2}]
        wait_for_condition 500 10 {[s hashtables_owing] == 0} else {
            fail "[s hashtables_owing] tables owe"
        }
        r debug saving-child 1
        delete_range 1000 20000
        assert_equal 1 [s hashtables_owing]
        r debug saving-child 0
        wait_for_condition 500 10 {[s hashtables_owing] == 0} else {
            fail "[s hashtables_owing] tables owe"
        }
        assert_lessthan [s mem_overhead_hashtables] [expr {$full / 3}]
    }

    test {A server that owes what it may not pay sleeps} {
        r flushall
        populate 20000
        r debug saving-child 1
        delete_range 1000 20000
        assert_equal 1 [table_owes]
        set before [s used_cpu_user]
        set system [s used_cpu_sys]
        set begin [clock milliseconds]
        for {set i 0} {$i < 20} {incr i} {
            after 20
            r ping
        }
        set passed [expr {([clock milliseconds] - $begin) / 1000.0}]
        set used [expr {[s used_cpu_user] - $before + [s used_cpu_sys] - $system}]
        assert_lessthan $used [expr {$passed / 2}]
        r debug saving-child 0
    } {OK}
}
