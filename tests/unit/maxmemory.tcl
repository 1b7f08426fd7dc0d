# SPDX-License-Identifier: BSD-3-Clause
# maxmemory: the policies, -OOM, what CONFIG SET does at once, and the parameters of our own.
# tests/c/exec/test_memory_limit.c has the same with a clock that stands.

set policies {volatile-lru volatile-lfu volatile-random volatile-ttl allkeys-lru allkeys-lfu\
    allkeys-random}

proc evict_defaults {} {
    r config set maxmemory 0
    r config set maxmemory-policy noeviction
    r config set maxmemory-eviction-tenacity 10
    # No counter goes down because a minute ends in the middle of a test.
    r config set lfu-decay-time 0
    r flushall
    r config resetstat
}

# Keys of some 100 bytes.
proc fill {count {prefix key} {seconds 0}} {
    set value [string repeat v 60]
    for {set i 0} {$i < $count} {incr i} {
        if {$seconds} {
            r set $prefix:$i $value ex $seconds
        } else {
            r set $prefix:$i $value
        }
    }
}

proc limit_to_used {{more 0}} {
    r config set maxmemory [expr {[s used_memory] + $more}]
}

set oom {OOM command not allowed when used memory > 'maxmemory'.}

start_server {} {
    test {Values that are refused, and what is shown of those that are taken} {
        foreach {name value} {
            maxmemory x maxmemory -1 maxmemory 10% maxmemory-policy lru maxmemory-policy {}
            maxmemory-samples 0 maxmemory-samples x maxmemory-eviction-tenacity 101
            maxmemory-eviction-tenacity -1 lfu-log-factor -1 lfu-decay-time -1
        } {
            set before [config_get $name]
            assert_error {ERR Invalid argument*} {r config set $name $value} "$name $value"
            assert_equal $before [config_get $name]
        }
        foreach {value shown} {1mb 1048576 100MB 104857600 0 0 5 5} {
            r config set maxmemory $value
            assert_equal $shown [config_get maxmemory]
            assert_equal $shown [s maxmemory]
        }
        foreach policy [concat $policies noeviction] {
            r config set maxmemory-policy $policy
            assert_equal $policy [s maxmemory_policy]
        }
        evict_defaults
    }

    test {noeviction: what wants memory gets -OOM, all else goes on} {
        r set string 1
        r config set maxmemory 1
        foreach command {{set k v} {append string x} {incr string} {setex k 10 v} {setnx k v}\
            {mset a b} {setrange string 5 x} {setbit string 1 1} {getset string x}\
            {bitop not d string} {bitfield string set u8 0 1}} {
            assert_error_text $oom {r {*}$command} $command
        }
        foreach command {{get string} {exists string} {ttl string} {expire string 100}\
            {persist string} {rename string other} {rename other string} {strlen string} {ping}\
            {dbsize} {object encoding string} {getdel nothing} {del string} {flushall}} {
            r {*}$command
        }
        assert_equal 0 [s evicted_keys]
        evict_defaults
        r set k v
    } {OK}

    test {A policy without a key that it may evict refuses as noeviction does} {
        r flushall
        fill 100
        r config set maxmemory-policy volatile-lru
        r config set maxmemory 1
        assert_error_text $oom {r set k v}
        assert_equal 100 [r dbsize]
        evict_defaults
    }

    foreach policy $policies {
        test "$policy: writes go on at the limit, and memory stays at it" {
            evict_defaults
            r config set maxmemory-policy $policy
            fill 1000 key 10000
            limit_to_used
            fill 2000 more 10000
            assert_morethan [s evicted_keys] 1500
            assert_lessthan [s used_memory] [expr {[s maxmemory] + 10000}]
            assert_range [r dbsize] 700 1100
        }
    }

    foreach policy {volatile-lru volatile-lfu volatile-random volatile-ttl} {
        test "$policy: keys without an expiry time stay" {
            evict_defaults
            r config set maxmemory-policy $policy
            fill 500 stays
            fill 500 goes 10000
            limit_to_used
            fill 500 more 10000
            assert_morethan [s evicted_keys] 300
            for {set i 0} {$i < 500} {incr i} {
                assert_equal 1 [r exists stays:$i]
            }
        }
    }

    test {volatile-ttl: those that would go first anyway go} {
        evict_defaults
        r config set maxmemory-policy volatile-ttl
        r config set maxmemory-samples 10
        fill 500 soon 1000
        fill 500 late 100000
        limit_to_used
        fill 300 more 200000
        set soon 0
        set late 0
        for {set i 0} {$i < 500} {incr i} {
            incr soon [r exists soon:$i]
            incr late [r exists late:$i]
        }
        assert_morethan_equal $late 470
        assert_lessthan $soon 300
        r config set maxmemory-samples 5
    }

    test {allkeys-lfu: what is used often stays} {
        evict_defaults
        r config set maxmemory-policy allkeys-lfu
        fill 500 often
        fill 500 seldom
        for {set round 0} {$round < 10} {incr round} {
            for {set i 0} {$i < 500} {incr i} {
                r get often:$i
            }
        }
        limit_to_used
        fill 300 more
        set often 0
        for {set i 0} {$i < 500} {incr i} {
            incr often [r exists often:$i]
        }
        assert_morethan $often 480
    }

    test {allkeys-lru: what was used last stays} {
        evict_defaults
        r config set maxmemory-policy allkeys-lru
        r config set maxmemory-samples 10
        fill 1000
        wait_for_condition 100 50 {[r object idletime key:999] >= 2} else {
            fail "the key does not grow old"
        }
        for {set i 0} {$i < 500} {incr i} {
            r get key:$i
        }
        limit_to_used
        fill 300 more
        set used 0
        for {set i 0} {$i < 500} {incr i} {
            incr used [r exists key:$i]
        }
        assert_morethan $used 470
        r config set maxmemory-samples 5
    }

    test {OBJECT FREQ and IDLETIME go by the policy} {
        evict_defaults
        set adjusts "Please note that when switching between policies at runtime LRU and LFU data\
            will take some time to adjust."
        # A second may end in between.
        try_again 5 500 {
            r set k v
            assert_equal 0 [r object idletime k]
        }
        assert_error_text "ERR An LFU maxmemory policy is not selected, access frequency not\
            tracked. $adjusts" {r object freq k}
        foreach policy {allkeys-lfu volatile-lfu} {
            r config set maxmemory-policy $policy
            r set fresh v
            assert_equal 5 [r object freq fresh]
            assert_error_text "ERR An LFU maxmemory policy is selected, idle time not tracked.\
                $adjusts" {r object idletime fresh}
            r config set lfu-log-factor 0
            for {set i 0} {$i < 20} {incr i} {
                r get fresh
            }
            assert_equal 25 [r object freq fresh]
            assert_equal {} [r object freq nothing]
            r config set lfu-log-factor 10
            r del fresh
        }
        evict_defaults
    }

    test {A new value under a key keeps its frequency} {
        r config set maxmemory-policy allkeys-lfu
        r config set lfu-log-factor 0
        r set k v
        for {set i 0} {$i < 20} {incr i} {
            r get k
        }
        assert_equal 25 [r object freq k]
        r set k [string repeat x 500]
        assert_equal 26 [r object freq k]
        r config set lfu-log-factor 10
        evict_defaults
    }

    test {OBJECT REFCOUNT: small integers are shared unless the policy goes by use} {
        r set k 7
        foreach {maxmemory policy shared} {
            0 noeviction 1  1gb noeviction 1  1gb allkeys-random 1  1gb volatile-ttl 1
            1gb allkeys-lru 0  1gb volatile-lru 0  1gb allkeys-lfu 0  1gb volatile-lfu 0
            0 allkeys-lru 1
        } {
            r config set maxmemory $maxmemory
            r config set maxmemory-policy $policy
            r set k 7
            assert_equal $shared [expr {[r object refcount k] > 1}] "$maxmemory $policy"
        }
        evict_defaults
    }

    test {CONFIG SET maxmemory below what is used evicts without a further command} {
        fill 5000
        r config set maxmemory-policy allkeys-random
        r config set maxmemory-eviction-tenacity 0
        set half [expr {[s used_memory] - 250000}]
        r config set maxmemory $half
        # INFO itself takes some.
        wait_for_condition 200 10 {[s used_memory] <= $half + 20000} else {
            fail "[s used_memory] are used, the limit is $half"
        }
        # No more than that goes, at once or later.
        for {set i 0} {$i < 3} {incr i} {
            assert_range [s used_memory] [expr {$half - 20000}] [expr {$half + 20000}]
            assert_range [r dbsize] 1500 3500
            after 50
        }
        evict_defaults
    }

    test {CONFIG SET maxmemory in a transaction: what scripts behind it are allowed} {
        r flushall
        r config set maxmemory-policy noeviction
        r config set maxmemory 1
        assert_error {OOM*} {r set k v}
        r config set maxmemory 0
        r multi
        r config set maxmemory 100mb
        r eval {return redis.call('set', 'k', 'v')} 0
        assert_equal {OK OK} [r exec]
        r config set maxmemory 0
        assert_equal v [r get k]
    }

    test {CONFIG SET maxmemory in a transaction evicts nothing in the midst of it} {
        r flushall
        r config set maxmemory-policy allkeys-lru
        r set k v
        r multi
        r config set maxmemory 1
        r get k
        assert_equal {OK v} [r exec]
        assert_equal {} [r get k]
        r config set maxmemory 0
        r config set maxmemory-policy noeviction
    } {OK} {ours}

    test {CONFIG SET of limit and policy under load: no reply is lost, none is wrong} {
        r config set maxmemory-policy allkeys-lru
        fill 1000
        set low [expr {[s used_memory] - 50000}]
        set client [redis_deferring_client]
        for {set round 0} {$round < 40} {incr round} {
            for {set i 0} {$i < 50} {incr i} {
                $client set load:$round:$i [string repeat w 100]
            }
            r config set maxmemory [expr {$round % 2 ? 0 : $low}]
            r config set maxmemory-policy [lindex $policies [expr {$round % 7}]]
            for {set i 0} {$i < 50} {incr i} {
                if {[catch {$client read} reply]} {
                    assert_equal $oom $reply
                } else {
                    assert_equal OK $reply
                }
            }
        }
        $client close
        evict_defaults
    }

    test {A command's time is without the eviction before it} {
        evict_defaults
        r debug populate 200000 key 100
        r config set maxmemory-policy allkeys-lru
        r config set maxmemory-eviction-tenacity 100
        set limit [expr {[s used_memory] / 2}]
        r config set slowlog-log-slower-than 0
        r config resetstat
        r slowlog reset
        # In one write, so that nothing is evicted in between.
        set mark [stolen_mark]
        set client [redis_deferring_client]
        $client write [client::encode [list config set maxmemory $limit]][client::encode {set a b}]
        assert_equal {OK OK} [list [$client read] [$client read]]
        $client close
        assert_morethan [s evicted_keys] 50000
        set limit_ms [expr {[s eviction_cpu_usec_total] / 4000}]
        regexp {usec=(\d+),usec_per_call} [info_property [r info commandstats] cmdstat_set] - usec
        set slow [lsearch -all -inline -index 3 -exact [r slowlog get] {set a b}]
        r config set slowlog-log-slower-than 10000
        evict_defaults
        assert_quick [expr {$usec / 1000}] $limit_ms $mark
        foreach entry $slow {
            assert_quick [expr {[lindex $entry 2] / 1000}] $limit_ms $mark $entry
        }
    } {} {needs:debug}

    # Each value asks for many times what a slice of the tenacity's length frees.
    test {Large values do not take memory far beyond maxmemory while small keys go for them} {
        evict_defaults
        r config set maxmemory-policy allkeys-lru
        r debug populate 500000 key 60
        limit_to_used
        set limit [config_get maxmemory]
        r config resetstat
        set value [string repeat v 1000000]
        set writers {}
        for {set i 0} {$i < 4} {incr i} {
            lappend writers [redis_deferring_client]
        }
        for {set i 0} {$i < 30} {incr i} {
            foreach writer $writers {
                $writer set large:$writer:$i $value
            }
        }
        foreach writer $writers {
            for {set i 0} {$i < 30} {incr i} {
                assert_equal OK [$writer read]
            }
            $writer close
        }
        assert_morethan [s evicted_keys] 300000
        assert_lessthan [s maxmemory_overshoot_peak_bytes] [expr {$limit / 2}]
        evict_defaults
    } {OK} {needs:debug needs:speed}

    test {lazyfree-lazy-eviction: large values go to the background, and count as gone} {
        r config set maxmemory-policy allkeys-random
        r config set lazyfree-lazy-eviction yes
        for {set i 0} {$i < 40} {incr i} {
            r set large:$i [string repeat x 300000]
        }
        r config set maxmemory [expr {[s used_memory] - 3000000}]
        wait_for_condition 200 10 {[s used_memory] <= [s maxmemory]} else {
            fail "[s used_memory] are used, the limit is [s maxmemory]"
        }
        assert_range [r dbsize] 28 30
        r config set lazyfree-lazy-eviction no
        evict_defaults
    }

    test {CLIENT PAUSE WRITE: nothing is evicted} {
        r config set maxmemory-policy allkeys-random
        fill 500
        r client pause 100000 write
        r config set maxmemory 1
        assert_equal 500 [r dbsize]
        r client unpause
        wait_for_condition 200 10 {[r dbsize] == 0} else {
            fail "[r dbsize] keys are left"
        }
        evict_defaults
    }

    test {Refused commands are counted as such} {
        r config set maxmemory 1
        r config resetstat
        assert_error_text $oom {r set k v}
        evict_defaults
        r config set maxmemory 1
        assert_error_text $oom {r set k v}
        r config set maxmemory 0
        assert_match {*cmdstat_set:calls=0,*,rejected_calls=1,*} [r info commandstats]
    }

    test {Eviction shows in the latency monitor} {
        evict_defaults
        r config set maxmemory-policy allkeys-random
        r config set maxmemory-eviction-tenacity 100
        r config set latency-monitor-threshold 1
        r latency reset
        fill 20000
        r config set maxmemory 1
        wait_for_condition 200 10 {[r dbsize] == 0} else {
            fail "[r dbsize] keys are left"
        }
        r config set latency-monitor-threshold 0
        evict_defaults
        assert_match {*eviction-cycle*} [r latency latest]
    }
}

start_server {tags {ours}} {
    test {Values of our own options} {
        foreach {name bad} {
            maxmemory-eviction-cpu-budget {0 101 x 50%} maxmemory-exclude-client-buffers {1 maybe}
            maxmemory-ceiling {99% 1001% -1 x} maxmemory-soft-limit {101% x}
            maxmemory-eviction-algorithm {hand {}}
        } {
            set before [config_get $name]
            foreach value $bad {
                assert_error {ERR Invalid argument*} {r config set $name $value} "$name $value"
            }
            assert_equal $before [config_get $name]
        }
        foreach {name value most} {
            maxmemory-ceiling 1001% 1000 maxmemory-soft-limit 101% 100 maxmemory-clients 150% 100
        } {
            assert_error_text "ERR Invalid argument '$value' for CONFIG SET '$name' -\
                percentage argument must be less or equal to $most" {r config set $name $value}
        }
        foreach {name value} {
            maxmemory-eviction-cpu-budget 25 maxmemory-exclude-client-buffers yes
            maxmemory-ceiling 110% maxmemory-soft-limit 95% maxmemory-eviction-algorithm clock
            maxmemory-ceiling 1000000 maxmemory-ceiling 0
        } {
            r config set $name $value
            assert_equal $value [config_get $name]
        }
    }
}

start_server {tags {ours} overrides {maxmemory-eviction-algorithm clock}} {
    foreach policy $policies {
        test "clock, $policy: memory stays at the limit, few entries are looked at" {
            evict_defaults
            r config set maxmemory-policy $policy
            fill 1000 key 10000
            limit_to_used
            fill 2000 more 10000
            assert_morethan [s evicted_keys] 1500
            assert_lessthan [s used_memory] [expr {[s maxmemory] + 10000}]
            assert_lessthan_equal [s evict_examined_total] [expr {16 * [s evicted_keys]}]
        }
    }
}

start_server {tags {ours}} {
    test {A budget that is spent lets writes go on, and memory comes back to the limit} {
        r config set maxmemory-policy allkeys-lru
        r config set maxmemory-eviction-cpu-budget 1
        r config set maxmemory-ceiling 0
        fill 20000
        r config set maxmemory [expr {[s used_memory] - 1500000}]
        for {set i 0} {$i < 200} {incr i} {
            r set more:$i x
        }
        assert_morethan [s eviction_budget_exhausted_count] 0
        assert_morethan [s maxmemory_overshoot_peak_bytes] 0
        wait_for_condition 500 20 {[s maxmemory_overshoot_bytes] == 0} else {
            fail "[s maxmemory_overshoot_bytes] bytes are over the limit"
        }
        assert_morethan [s eviction_cpu_usec_total] 0
        assert_equal 0 [s maxmemory_ceiling_hits]
    }

    test {The ceiling holds whatever the budget} {
        r flushall
        r config resetstat
        r config set maxmemory 0
        r config set maxmemory-ceiling 110%
        fill 20000
        limit_to_used
        set client [redis_deferring_client]
        for {set i 0} {$i < 100} {incr i} {
            $client set large:$i [string repeat x 20000]
        }
        for {set i 0} {$i < 100} {incr i} {
            assert_equal OK [$client read]
        }
        $client close
        assert_lessthan [s maxmemory_overshoot_peak_bytes] [expr {[s maxmemory] / 10 + 70000}]
        assert_morethan [s maxmemory_ceiling_hits] 0
        r config set maxmemory-eviction-cpu-budget 100
    }

    test {What is counted is used_memory, less clients if they are exempt, to the byte} {
        r config set maxmemory 0
        r config set maxmemory-policy noeviction
        set clients {}
        for {set i 0} {$i < 20} {incr i} {
            set client [raw_client]
            $client write "*2\r\n\$3\r\nget\r\n\$30000\r\n[string repeat k [expr {1000 * $i}]]"
            $client flush
            lappend clients $client
        }
        wait_for_condition 500 10 {[s mem_clients_normal] > 150000} else {
            fail "only [s mem_clients_normal] bytes"
        }
        foreach exempt {no yes no yes} {
            r config set maxmemory-exclude-client-buffers $exempt
            # One INFO, for it takes memory itself, and more the longer it gets.
            set text [r info memory]
            foreach field {used_memory mem_clients_normal mem_counted_for_eviction} {
                set $field [info_property $text $field]
            }
            set expected [expr {$used_memory - ($exempt ? $mem_clients_normal : 0)}]
            lappend differences [expr {$mem_counted_for_eviction - $expected}]
        }
        # What it prints between the two is the same each time.
        assert_equal 1 [llength [lsort -unique $differences]] $differences
        assert_range [lindex $differences 0] 0 20000
        foreach client $clients {
            $client close
        }
        r config set maxmemory-exclude-client-buffers no
    } {OK}

    test {Trackers of all keys who read nothing push out all of them, or none} {
        set writer [redis_deferring_client]
        # The 100,000 bytes that the limit leaves are room for some keys more than were filled in.
        # Over TLS it has room for some clients' connections, too, which are exempt as well.
        set exempt_most [expr {$::options(tls) ? 3000 : 2300}]
        foreach {exempt least most} [list no 0 200 yes 1000 $exempt_most] {
            r config set maxmemory 0
            r flushall
            r config set maxmemory-policy allkeys-random
            r config set maxmemory-exclude-client-buffers $exempt
            r config set maxmemory-ceiling 0
            fill 2000
            limit_to_used 100000
            set trackers {}
            for {set i 0} {$i < 10} {incr i} {
                set tracker [raw_client]
                $tracker write "HELLO 3\r\nCLIENT TRACKING ON BCAST\r\n"
                $tracker flush
                lappend trackers $tracker
            }
            wait_for_condition 500 10 {[s tracking_clients] == 10} else {fail "they do not track"}
            # More than the sockets take. None is written when all keys are gone: -OOM.
            set before [s evicted_keys]
            for {set i 0} {$i < 200 && [r dbsize] > 0} {incr i} {
                for {set k 0} {$k < 100} {incr k} {
                    $writer set new:$i-$k-[string repeat n 100] v
                }
                for {set k 0} {$k < 100} {incr k} {
                    catch {$writer read}
                }
            }
            assert_lessthan 0 [expr {[s evicted_keys] - $before}]
            assert_range [r dbsize] $least $most
            foreach tracker $trackers {
                $tracker close
            }
        }
        $writer close
        r config set maxmemory-exclude-client-buffers no
        r config set maxmemory 0
    } {OK}

    test {Client buffers count, or do not} {
        r config set maxmemory 0
        r flushall
        r config resetstat
        r config set maxmemory-policy allkeys-random
        fill 1000
        limit_to_used 50000
        r config set maxmemory-exclude-client-buffers yes
        r config set maxmemory-ceiling 0
        set client [raw_client]
        # The beginning of a large argument, for which room is made at once.
        $client write "*3\r\n\$3\r\nset\r\n\$1\r\nk\r\n\$3000000\r\n[string repeat x 100000]"
        $client flush
        wait_for_condition 200 10 {[s used_memory] - [s mem_counted_for_eviction] > 2000000} else {
            fail "[s used_memory] are used, [s mem_counted_for_eviction] counted"
        }
        assert_equal 0 [s evicted_keys]
        r config set maxmemory-exclude-client-buffers no
        wait_for_condition 200 10 {[r dbsize] == 0} else {
            fail "[r dbsize] keys are left"
        }
        $client close
        r config set maxmemory 0
    }

    test {The soft limit is kept in idle time} {
        r flushall
        r config resetstat
        r config set maxmemory 0
        r config set maxmemory-policy allkeys-lru
        fill 5000
        limit_to_used 100000
        r config set maxmemory-soft-limit 80%
        wait_for_condition 500 10 {[s mem_counted_for_eviction] < [s maxmemory] * 82 / 100} else {
            fail "[s mem_counted_for_eviction] are counted, the limit is [s maxmemory]"
        }
        assert_morethan [s evicted_keys] 0
        assert_equal 0 [s maxmemory_overshoot_peak_bytes]
        assert_morethan [s used_memory] [expr {[s maxmemory] * 70 / 100}]
    }
}
