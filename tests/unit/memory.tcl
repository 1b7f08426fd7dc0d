# SPDX-License-Identifier: BSD-3-Clause
# MEMORY: what a key takes, what the server takes, and the allocator.

# STATS' fields in 6.2's order; those of databases stand behind lua.caches.
set stats_fields {
    peak.allocated total.allocated startup.allocated replication.backlog clients.slaves
    clients.normal aof.buffer lua.caches db.9 overhead.total keys.count keys.bytes-per-key
    dataset.bytes dataset.percentage peak.percentage allocator.allocated allocator.active
    allocator.resident allocator-fragmentation.ratio allocator-fragmentation.bytes
    allocator-rss.ratio allocator-rss.bytes rss-overhead.ratio rss-overhead.bytes fragmentation
    fragmentation.bytes
}

start_server {} {
    test {MEMORY USAGE grows with key and value} {
        r set k x
        set small [r memory usage k]
        assert_range $small 30 80
        r set k [string repeat x 1000]
        assert_range [expr {[r memory usage k] - $small}] 950 1300
        r set k [string repeat x 100000]
        assert_range [r memory usage k] 100000 150000
        set long [string repeat k 1000]
        r set $long x
        assert_range [expr {[r memory usage $long] - $small}] 900 1300
    }

    # A key's share of the tables is an average, so that the sum over all keys is what they take.
    test {MEMORY USAGE of all keys is the memory of the dataset} {
        foreach options {{} {EX 10000}} {
            r flushall
            set before [s used_memory]
            set client [redis_deferring_client]
            for {set i 0} {$i < 20000} {incr i} {
                $client set key:$i [string repeat x [expr {$i % 200}]] {*}$options
            }
            client_replies $client 20000
            set taken [expr {[s used_memory] - $before}]
            for {set i 0} {$i < 20000} {incr i} {
                $client memory usage key:$i
            }
            set sum [tcl::mathop::+ {*}[client_replies $client 20000]]
            $client close
            assert_range [expr {100 * $sum / $taken}] 90 110
        }
        r flushall
    } {OK} {ours}

    test {MEMORY USAGE of a key that is not there} {
        assert_equal {} [r memory usage nokey]
        assert_equal {} [r memory usage nokey samples 5]
    }

    test {MEMORY USAGE neither counts as an access nor changes the key} {
        r set k v
        set hits [s keyspace_hits]
        set misses [s keyspace_misses]
        r memory usage k
        r memory usage nokey
        assert_equal $hits [s keyspace_hits]
        assert_equal $misses [s keyspace_misses]
    }

    test {MEMORY USAGE takes SAMPLES} {
        r set k v
        set plain [r memory usage k]
        foreach words {{samples 0} {SAMPLES 5} {samples 9223372036854775807}
                       {samples 1 samples 2}} {
            assert_equal $plain [r memory usage k {*}$words] $words
        }
        foreach words {samples {samples -1} {bogus 1} {samples 1 x} {samples 1 samples -1}} {
            assert_error_text {ERR syntax error} {r memory usage k {*}$words} $words
            assert_error_text {ERR syntax error} {r memory usage nokey {*}$words} $words
        }
        foreach value {x {} 1.5 99999999999999999999} {
            assert_error_text {ERR value is not an integer or out of range} \
                {r memory usage k samples $value}
        }
    }

    test {MEMORY STATS: 6.2's fields in 6.2's order} {
        r flushall
        r set k v
        r expire k 1000
        set stats [r memory stats]
        assert_equal [list {*}$stats_fields] [dict keys $stats]
        assert_equal {overhead.hashtable.main overhead.hashtable.expires} \
            [dict keys [dict get $stats db.9]]
    }

    test {MEMORY STATS: databases with keys, and no others} {
        r flushall
        assert {![dict exists [r memory stats] db.9]}
        r select 2
        r set k v
        r select 9
        set stats [r memory stats]
        assert {[dict exists $stats db.2]}
        assert {![dict exists $stats db.9]}
        r flushall
    } {OK}

    test {MEMORY STATS agrees with itself and with INFO} {
        r flushall
        populate 4000 key: 1000
        set stats [r memory stats]
        dict with stats {}
        assert_equal 4000 ${keys.count}
        assert_equal [dict get $stats total.allocated] \
            [expr {${overhead.total} + ${dataset.bytes}}]
        assert_range ${dataset.bytes} 4000000 12000000
        assert_range ${keys.bytes-per-key} 1000 3000
        assert_range ${dataset.percentage} 50 100.5
        assert_range ${peak.percentage} 1 101
        assert_morethan [dict get ${db.9} overhead.hashtable.main] 1000
        assert_equal 0 [dict get ${db.9} overhead.hashtable.expires]
        assert_range [expr {abs(${total.allocated} - [s used_memory])}] 0 200000
        assert_equal ${startup.allocated} [s used_memory_startup]
    }

    test {MEMORY STATS: the index of deadlines is counted} {
        r expire key:1 1000
        assert_morethan [dict get [dict get [r memory stats] db.9] overhead.hashtable.expires] 0
    }

    test {MEMORY STATS is an array in RESP2 and a map with doubles in RESP3} {
        r flushall
        set client [raw_client]
        foreach {protocol start double} {2 {\*50} {$*} 3 %25 ,*} {
            $client hello $protocol
            $client raw_reply
            $client memory stats
            set reply [$client raw_reply]
            assert_match "$start\r\n\$14\r\npeak.allocated\r\n:*" $reply
            assert_match "*\r\n\$15\r\npeak.percentage\r\n$double" $reply
            assert_match "*\r\n\$13\r\nfragmentation\r\n$double" $reply
        }
        $client close
    }

    test {MEMORY DOCTOR names expired keys that are still held, and the option that moves it} {
        r debug set-active-expire 0
        set value [string repeat x 1000]
        for {set i 0} {$i < 10000} {incr i} {
            r psetex due:$i 1 $value
        }
        wait_for_condition 200 10 {[s expire_due_backlog] == 10000} else {
            fail "[s expire_due_backlog] keys are due"
        }
        set text [r memory doctor]
        assert_match "*- Expired keys: 100 % of the 10000 keys*" $text
        assert_match "*Option: active-expire-effort; raise it*" $text
        assert_match "*redis-lab experiment --set active-expire-effort=1,5,10\n*" $text
        r debug set-active-expire 1
        r flushall
    } {OK} {needs:debug ours}

    test {MEMORY DOCTOR, MALLOC-STATS and PURGE} {
        assert_morethan [string length [r memory doctor]] 10
        populate 10000 key: 1000
        assert_morethan [string length [r memory doctor]] 10
        r flushall
        assert_morethan [string length [r memory doctor]] 10
        assert_equal OK [r memory purge]
        assert_morethan [string length [r memory malloc-stats]] 10
    }

    test {MEMORY's faults} {
        foreach words {usage {stats x} {doctor x} {malloc-stats x} {purge x} {help x} nosuch} {
            assert_error_text "ERR Unknown subcommand or wrong number of arguments for\
                '[lindex $words 0]'. Try MEMORY HELP." {r memory {*}$words}
        }
        assert_error_text {ERR wrong number of arguments for 'memory' command} {r memory}
    }

    test {MEMORY HELP names the subcommands} {
        set help [r memory help]
        foreach word {DOCTOR MALLOC-STATS PURGE STATS USAGE HELP} {
            assert {[lsearch -glob $help $word*] > 0} "(no $word)"
        }
    }
}
