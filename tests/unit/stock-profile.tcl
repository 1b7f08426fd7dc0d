# SPDX-License-Identifier: BSD-3-Clause
# The server under profiles/stock.conf: each mechanism of Redis 6.2 that the other knobs were made
# against can be seen at work, and goes when its knob is turned.
#
# What cannot be seen: the stall of a resize. Tables grow and shrink bucket by bucket under every
# profile; only when and how far they do is an option.

set ::profile [file join $::tests .. profiles stock.conf]

# The profile's name value pairs.
proc profile_pairs {path} {
    set pairs {}
    foreach line [split [read_whole $path] \n] {
        if {[regexp {^([a-z-]+) (\S+)$} $line -> name value]} {
            lappend pairs $name $value
        }
    }
    return $pairs
}

# So many keys of about 100 bytes, each with a deadline that does not come.
proc fill_far {count {prefix key}} {
    set client [redis_deferring_client]
    for {set i 0} {$i < $count} {incr i 500} {
        for {set j $i} {$j < $i + 500} {incr j} {
            $client set $prefix:$j [string repeat v 60] px 100000000
        }
        for {set j 0} {$j < 500} {incr j} {
            $client read
        }
    }
    $client close
}

# Keys that are due; the server is told to leave them until all are there.
proc fill_due {count} {
    r debug set-active-expire 0
    set client [redis_deferring_client]
    for {set i 0} {$i < $count} {incr i} {
        $client set due:$i v px 1
    }
    for {set i 0} {$i < $count} {incr i} {
        $client read
    }
    $client close
    after 5
    r debug set-active-expire 1
}

# A client that has asked for so many replies of 100,000 bytes and reads none.
proc slow_reader {replies} {
    set client [redis_deferring_client]
    fconfigure [$client channel] -buffering full
    for {set i 0} {$i < $replies} {incr i} {
        $client get big
    }
    $client flush
    return $client
}

# A figure of DEBUG HTSTATS' first table of database 9; 0 where there is no such line.
proc table_figure {name} {
    set text [lindex [regexp -inline {Hash table 0.*?(?=\[Expires)} [r debug htstats 9]] 0]
    if {[regexp -line "^ $name: (\\d+)" $text -> value]} {
        return $value
    }
    return 0
}

proc delete_range {from to} {
    for {set i $from} {$i < $to} {incr i 500} {
        set words {}
        for {set j $i} {$j < $to && $j < $i + 500} {incr j} {
            lappend words key:$j
        }
        r del {*}$words
    }
}

proc begin_anew {} {
    r config set maxmemory 0
    r config set maxmemory-policy noeviction
    foreach {name value} [profile_pairs $::profile] {
        r config set $name $value
    }
    r config resetstat
    r flushall
}

start_server {tags {ours}} {
    set defaults {}
    foreach {name value} [profile_pairs $::profile] {
        lappend defaults $name [config_get $name]
    }
}

start_server [list tags {ours} lines "include $::profile\n"] {
    test {Each line of the profile is in force; the defaults differ in the way to expire alone} {
        assert_morethan [llength $defaults] 30
        foreach {name value} [profile_pairs $::profile] {
            assert_equal $value [config_get $name] $name
            if {$name ne "active-expire-algorithm"} {
                assert_equal $value [dict get $defaults $name] "the default of $name"
            }
        }
    }

    test {What a slow reader does not read pushes out keys; exempted it pushes out none} {
        begin_anew
        r set big [string repeat x 100000]
        r config set maxmemory-policy volatile-lru
        fill_far 20000
        r config set maxmemory [expr {[s used_memory] + 300000}]
        # The kernel takes up to 10 MB, each side's buffer being full; what is beyond stays here.
        set slow [slow_reader 200]
        wait_for_condition 500 10 {[r dbsize] == 1} else {
            fail "[r dbsize] keys are left"
        }
        assert_equal 20000 [s evicted_keys]
        wait_for_condition 500 10 {[s mem_clients_normal] > 2000000} else {
            fail "only [s mem_clients_normal] bytes"
        }
        $slow close
        wait_for_condition 500 10 {[s mem_clients_normal] < 100000} else {
            fail "still [s mem_clients_normal] bytes"
        }
        # Nothing but the buffer was ever too much: all has gone for nothing.
        assert_lessthan [s used_memory] [expr {[s maxmemory] / 2}]

        begin_anew
        r set big [string repeat x 100000]
        r config set maxmemory-policy volatile-lru
        r config set maxmemory-exclude-client-buffers yes
        r config set maxmemory-ceiling 0
        fill_far 20000
        r config set maxmemory [expr {[s used_memory] + 300000}]
        set slow [slow_reader 200]
        wait_for_condition 500 10 {[s mem_clients_normal] > 2000000} else {
            fail "only [s mem_clients_normal] bytes"
        }
        assert_equal 0 [s evicted_keys]
        assert_equal 20001 [r dbsize]
        assert_lessthan [s mem_counted_for_eviction] [s maxmemory]
        $slow close
        r config set maxmemory-ceiling 120%
    } {OK}

    test {Arguments that are not complete push out keys} {
        begin_anew
        r config set maxmemory-policy allkeys-random
        fill_far 10000
        r config set maxmemory [expr {[s used_memory] + 300000}]
        set clients {}
        for {set i 0} {$i < 30} {incr i} {
            set client [raw_client]
            $client write "*2\r\n\$3\r\nget\r\n\$30000\r\n[string repeat k 20000]"
            $client flush
            lappend clients $client
        }
        wait_for_condition 500 10 {[s mem_clients_normal] > 590000} else {
            fail "only [s mem_clients_normal] bytes"
        }
        r ping
        assert_morethan [s evicted_keys] 200
        foreach client $clients {
            $client close
        }
    }

    test {Eviction takes all the time that it needs; a budget makes it stop and go on later} {
        foreach {budget stops} {100 0 2 1} {
            begin_anew
            r config set maxmemory-ceiling 0
            r config set maxmemory-policy allkeys-random
            r config set maxmemory-eviction-tenacity 100
            r config set maxmemory-eviction-cpu-budget $budget
            r debug populate 60000 key 60
            set limit [expr {[s used_memory] - 4000000}]
            r config set maxmemory $limit
            if {!$stops} {
                # One command more, and all has gone before it.
                assert_lessthan_equal [r dbsize] 40000
                assert_lessthan [s maxmemory_overshoot_bytes] 20000
                assert_equal 0 [s eviction_budget_exhausted_count]
            }
            # INFO itself takes some.
            wait_for_condition 1000 20 {[s maxmemory_overshoot_bytes] < 20000} else {
                fail "[s maxmemory_overshoot_bytes] bytes are over the limit"
            }
            assert_equal $stops [expr {[s eviction_budget_exhausted_count] > 0}]
            assert_morethan [s eviction_cpu_usec_total] 0
        }
        begin_anew
        r config set maxmemory-ceiling 120%
    } {OK}

    test {Nothing goes before the limit is met; with a soft limit it does} {
        begin_anew
        r config set maxmemory-policy allkeys-lru
        fill_far 5000
        r config set maxmemory [expr {[s used_memory] + 100000}]
        for {set i 0} {$i < 20} {incr i} {
            after 5
            r ping
        }
        assert_equal 0 [s evicted_keys]
        r config set maxmemory-soft-limit 80%
        wait_for_condition 500 10 {[s evicted_keys] > 0} else {
            fail "nothing was evicted"
        }
    }

    test {A victim is the best of samples: more entries are looked at than by the clock} {
        foreach {algorithm samples} {sampling 5 sampling 10 clock 5} {
            begin_anew
            r config set maxmemory-policy allkeys-lru
            r config set maxmemory-eviction-algorithm $algorithm
            r config set maxmemory-samples $samples
            fill_far 3000
            r config set maxmemory [s used_memory]
            fill_far 3000 more
            lappend looks [expr {double([s evict_examined_total]) / [s evicted_keys]}]
        }
        lassign $looks five ten clock
        assert_range $five 4 6
        assert_range $ten 8 12
        assert_lessthan $clock $five
    }

    test {Expiry draws keys that live and leaves keys that are dead; by deadline it does neither} {
        begin_anew
        fill_far 4000
        # A dead share of 2 %: a sample of 20 has more than the 10 % that effort 1 tolerates once in
        # a hundred.
        fill_due 80
        r config resetstat
        wait_for_condition 1000 10 {[s expire_examined_total] >= 60} else {
            fail "nothing was drawn"
        }
        set dead [expr {[r dbsize] - 4000}]
        assert_morethan $dead 20
        assert_lessthan [s expired_keys] [expr {[s expire_examined_total] / 2}]
        r config resetstat
        r config set active-expire-algorithm deadline
        wait_for_condition 500 10 {[r dbsize] == 4000} else {
            fail "[expr {[r dbsize] - 4000}] dead keys are left"
        }
        # A last cycle of sampling may have come between the two commands.
        assert_lessthan_equal [s expire_examined_total] [expr {$dead + 20}]
    } {} {needs:debug}

    test {A sample has the size that the option and the effort say} {
        begin_anew
        fill_far 4000
        foreach {size effort drawn} {20 1 20 200 1 200 20 10 65 100 3 150} {
            r config set active-expire-sample-size $size
            r config set active-expire-effort $effort
            # From here on every cycle draws as much; it changes between commands only.
            set before [s expire_examined_total]
            wait_for_condition 500 10 {[s expire_examined_total] >= $before + 2 * $drawn} else {
                fail "nothing was drawn"
            }
            assert_equal 0 [expr {([s expire_examined_total] - $before) % $drawn}] "$size $effort"
        }
        assert_equal 0 [s expired_keys]
        assert_equal 4000 [r dbsize]
    }

    test {While many keys are dead a cycle goes on, up to its share of the time} {
        begin_anew
        fill_due 3000
        # 20 a cycle and ten cycles a second would take longer than the 5 seconds of this wait.
        wait_for_condition 500 10 {[r dbsize] == 0} else {
            fail "[r dbsize] keys are left"
        }
        assert_equal 3000 [s expired_keys]
    } {} {needs:debug}

    test {Tables give capacity back below a tenth, in idle time} {
        begin_anew
        populate 20000
        set full [table_figure buckets]
        assert_range $full 3750 3760
        delete_range 2100 20000
        assert_equal $full [table_figure buckets]
        assert_equal 0 [table_figure merges]
        delete_range 1900 2100
        wait_for_condition 500 10 {[table_figure buckets] < $full / 7} else {
            fail [r debug htstats 9]
        }
        assert_equal 1900 [r dbsize]
    }

    test {Whatever is removed is freed where it is removed; lazily it is not} {
        foreach {value expected} {no 0 yes 50} {
            begin_anew
            foreach what {expire server-del user-del user-flush eviction} {
                r config set lazyfree-lazy-$what $value
            }
            foreach {from command} {
                0 {r del large:$i} 10 {r set large:$i small} 20 {r pexpire large:$i 1}
                30 {r flushall}
            } {
                for {set i $from} {$i < $from + 10} {incr i} {
                    r set large:$i [string repeat x 300000]
                }
                for {set i $from} {$i < $from + 10} {incr i} {
                    eval $command
                }
                wait_for_condition 500 10 {![string match *large:2* [r keys *]]} else {
                    fail "the keys do not expire"
                }
            }
            for {set i 40} {$i < 50} {incr i} {
                r set large:$i [string repeat x 300000]
            }
            r config set maxmemory-policy allkeys-random
            r config set maxmemory 1
            wait_for_condition 500 10 {[r dbsize] == 0} else {
                fail "[r dbsize] keys are left"
            }
            wait_for_condition 500 10 {[s lazyfree_pending_objects] == 0} else {
                fail "[s lazyfree_pending_objects] are pending"
            }
            if {$value eq "no"} {
                assert_equal 0 [s lazyfreed_objects]
            } else {
                assert_morethan_equal [s lazyfreed_objects] $expected
            }
        }
        begin_anew
    } {OK}
}
