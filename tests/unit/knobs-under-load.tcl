# SPDX-License-Identifier: BSD-3-Clause
# Every knob of memory and time turned at random, to good values and bad ones, while clients read
# and write: no reply is wrong, no key is lost that should be there, and in the end every limit
# holds. The run's seed repeats the choices.

# Values that are taken, and values that are refused.
set ::expiry_knobs {
    active-expire-algorithm {deadline sampling} {clock {} 1}
    active-expire-sample-size {1 20 500 10000} {0 10001 x}
    active-expire-effort {1 5 10} {0 11 x}
    active-expire-dbs-per-cycle {1 16 10000} {0 10001 x}
    resize-hashtables {yes no} {maybe 1}
    hashtable-min-fill {1 10 25 50} {0 51 x}
    activerehashing {yes no} {2 x}
    lazyfree-lazy-expire {yes no} {x}
    lazyfree-lazy-server-del {yes no} {x}
    lazyfree-lazy-user-del {yes no} {x}
}

set ::eviction_knobs {
    maxmemory-policy {allkeys-lru allkeys-lfu allkeys-random volatile-lru volatile-ttl noeviction}
        {lru {}}
    maxmemory-eviction-cpu-budget {1 25 99} {0 101 x}
    maxmemory-exclude-client-buffers {yes no} {1 x}
    maxmemory-ceiling {105% 120%} {99% 1001% x}
    maxmemory-soft-limit {0 90% 99%} {101% x}
    maxmemory-eviction-algorithm {sampling clock} {hand}
    maxmemory-clients {0 50% 4mb} {101% x}
    maxmemory-eviction-tenacity {0 10 100} {-1 101}
    maxmemory-samples {1 5 20} {0 x}
    lfu-decay-time {0 1} {-1 x}
    lfu-log-factor {0 10} {-1 x}
    lazyfree-lazy-eviction {yes no} {x}
    active-expire-algorithm {deadline sampling} {x}
    resize-hashtables {yes no} {x}
    hashtable-min-fill {10 50} {0}
}

proc turn_a_knob {knobs} {
    set at [expr {3 * [random_int [expr {[llength $knobs] / 3}]]}]
    lassign [lrange $knobs $at $at+2] name good bad
    if {[random_int 4] == 0} {
        set before [config_get $name]
        assert_error {ERR Invalid argument*} {r config set $name [random_pick $bad]} $name
        assert_equal $before [config_get $name]
    } else {
        set value [random_pick $good]
        r config set $name $value
        set shown [config_get $name]
        assert {$shown eq $value || ($value eq "4mb" && $shown == 4194304)} "$name $value: $shown"
    }
}

start_server {tags {ours}} {
    test {Expiry and tables: what lives stays whole, what is due goes} {
        set load [redis_deferring_client]
        array set model {}
        for {set round 0} {$round < 150} {incr round} {
            set expected {}
            for {set i 0} {$i < 200} {incr i} {
                set n [random_int 4000]
                switch [random_int 5] {
                    0 - 1 {
                        $load set lives:$n v$round.$i
                        set model($n) v$round.$i
                        lappend expected OK
                    }
                    2 {
                        $load get lives:$n
                        lappend expected [expr {[info exists model($n)] ? $model($n) : {}}]
                    }
                    3 {
                        # In waves, so that tables grow and shrink.
                        if {$round / 25 % 2} {
                            $load del lives:$n
                            lappend expected [info exists model($n)]
                            unset -nocomplain model($n)
                        } else {
                            $load set lives:$n w ex 10000
                            set model($n) w
                            lappend expected OK
                        }
                    }
                    4 {
                        set msec [expr {1 + [random_int 300]}]
                        $load set dies:$round.$i [string repeat d 100] px $msec
                        lappend expected OK
                    }
                }
            }
            turn_a_knob $::expiry_knobs
            foreach reply $expected {
                assert_equal $reply [$load read]
            }
        }
        $load close
        r config set active-expire-algorithm deadline
        wait_for_condition 500 10 {[r dbsize] == [array size model]} else {
            fail "[r dbsize] keys are left, [array size model] should be"
        }
        foreach n [array names model] {
            assert_equal $model($n) [r get lives:$n]
        }
        assert_equal 0 [s expire_due_backlog]
    }

    test {Eviction and clients: no reply is wrong, and the ceiling is kept} {
        r flushall
        r config set maxmemory-policy allkeys-lru
        for {set i 0} {$i < 30000} {incr i 500} {
            set pairs {}
            for {set j $i} {$j < $i + 500} {incr j} {
                lappend pairs key:$j [string repeat [expr {$j % 10}] 100]
            }
            r mset {*}$pairs
        }
        r config set maxmemory [s used_memory]
        # The ceiling acts with a budget below 100 only, so that stays.
        r config set maxmemory-ceiling 120%
        r config set maxmemory-eviction-cpu-budget 99
        r config resetstat
        set load [redis_deferring_client]
        $load client no-evict on
        assert_equal OK [$load read]
        set slow {}
        for {set round 0} {$round < 150} {incr round} {
            set asked {}
            for {set i 0} {$i < 100} {incr i} {
                set n [random_int 60000]
                if {$i % 3} {
                    $load get key:$n
                    lappend asked $n
                } else {
                    $load set key:$n [string repeat [expr {$n % 10}] 100] ex 10000
                    lappend asked set
                }
            }
            turn_a_knob $::eviction_knobs
            if {$round % 15 == 0} {
                # Holds a part of an argument, or is disconnected for it.
                set client [raw_client]
                $client write "*2\r\n\$3\r\nget\r\n\$500000\r\n[string repeat x 100000]"
                catch {$client flush}
                lappend slow $client
            }
            foreach n $asked {
                set failed [catch {$load read} reply]
                if {$n eq "set"} {
                    assert {$reply eq "OK" || [string match "OOM command not allowed*" $reply]} \
                        $reply
                } else {
                    assert_equal 0 $failed $reply
                    assert {$reply eq {} || $reply eq [string repeat [expr {$n % 10}] 100]} $reply
                }
            }
        }
        foreach client $slow {
            $client close
        }
        $load close
        # A large argument may come between two commands.
        assert_lessthan [s maxmemory_overshoot_peak_bytes] [expr {[s maxmemory] / 5 + 700000}]
        r config set maxmemory-policy allkeys-lru
        r config set maxmemory-eviction-cpu-budget 100
        r config set maxmemory-soft-limit 0
        r set one more
        wait_for_condition 500 10 {[s mem_counted_for_eviction] <= [s maxmemory] + 20000} else {
            fail "[s mem_counted_for_eviction] are counted, [s maxmemory] is the limit"
        }
        assert_morethan [s evicted_keys] 100
        r config set maxmemory 0
    } {OK}
}
