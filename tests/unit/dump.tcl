# SPDX-License-Identifier: BSD-3-Clause
# DUMP and RESTORE: what goes round is the same, options, errors, effects, hostile payloads. Forms
# of values and their bytes stand in tests/c/value/test_saved.c.

# A payload of these bytes: with version and a checksum that DEBUG SET-SKIP-CHECKSUM-VALIDATION
# passes over.
proc payload {hex} {
    return [binary format H* "${hex}09000000000000000000"]
}

start_server {} {
    test {DUMP and RESTORE: every type and encoding} {
        foreach {key encoding commands} {
            int int {{set int 12345}}
            embstr embstr {{set embstr hello}}
            raw raw {{set raw [string repeat x 5000]}}
            list quicklist {{rpush list a 1 [string repeat y 100]}}
            intset intset {{sadd intset 1 2 70000}}
            set hashtable {{sadd set a b 1}}
            hash ziplist {{hset hash f v n 1}}
            table hashtable {{hset table f [string repeat v 65]}}
            zset ziplist {{zadd zset 1 a 2.5 b -inf c}}
            ordered skiplist {{zadd ordered 1 [string repeat m 65] 0.1 b}}
            stream stream {{xadd stream 1-1 f v} {xgroup create stream g 0}
                {xreadgroup group g c streams stream >}}
        } {
            foreach command $commands {
                r {*}[subst $command]
            }
            assert_equal OK [r restore copy 0 [r dump $key] replace]
            assert_equal $encoding [r object encoding copy] $key
            assert_equal [r debug digest-value $key] [r debug digest-value copy] $key
            assert_equal [r dump $key] [r dump copy] $key
        }
        assert_equal {} [r dump missing]
        assert_equal [r xpending stream g] [r xpending copy g]
    }

    # Ziplists, intsets and the nodes of streams, where the option wants them counted.
    test {RESTORE: checks are counted} {
        r config set list-max-ziplist-size 2
        r rpush nodes a b c d e
        r config set list-max-ziplist-size -2
        foreach mode {no yes clients} {
            r config set sanitize-dump-payload $mode
            r config resetstat
            foreach {key checks} {int 0 raw 0 intset 1 set 0 hash 1 table 0 zset 1 ordered 0
                stream 1 list 1 nodes 3} {
                set before [s dump_payload_sanitizations]
                r restore copy 0 [r dump $key] replace
                assert_equal [expr {$mode eq {no} ? 0 : $checks}] \
                    [expr {[s dump_payload_sanitizations] - $before}] "$mode $key"
            }
        }
        r acl setuser default skip-sanitize-payload
        r config resetstat
        r restore copy 0 [r dump hash] replace
        assert_equal 0 [s dump_payload_sanitizations]
        r config set sanitize-dump-payload yes
        r restore copy 0 [r dump hash] replace
        assert_equal 1 [s dump_payload_sanitizations]
        r acl setuser default sanitize-payload
        r config set sanitize-dump-payload no
        r del copy nodes
    }

    test {RESTORE: options and errors} {
        r set key value
        set good [r dump key]
        assert_error_text {BUSYKEY Target key name already exists.} {r restore key 0 $good}
        assert_error_text {BUSYKEY Target key name already exists.} {r restore key x x}
        assert_error_text {ERR value is not an integer or out of range} {r restore other x x}
        assert_error_text {ERR Invalid TTL value, must be >= 0} {r restore other -1 $good}
        foreach bad [list {} x [string range $good 0 end-1] "[string range $good 0 end-1]x"] {
            assert_error_text {ERR DUMP payload version or checksum are wrong} \
                {r restore other 0 $bad}
        }
        foreach options {nosuch idletime freq {idletime 1 freq 1} {freq 1 idletime 1}} {
            assert_error_text {ERR syntax error} {r restore other 0 $good {*}$options}
        }
        assert_error_text {ERR Invalid FREQ value, must be >= 0 and <= 255} \
            {r restore other 0 $good freq 256}
        assert_error_text {ERR Invalid IDLETIME value, must be >= 0} \
            {r restore other 0 $good idletime -1}
        assert_equal 0 [r exists other]
        assert_equal OK [r restore other 0 $good idletime 1000]
        assert_range [r object idletime other] 1000 1100
        r config set maxmemory-policy allkeys-lfu
        # A minute may end at any time.
        r config set lfu-decay-time 0
        assert_equal OK [r restore other 0 $good freq 100 replace]
        assert_equal 100 [r object freq other]
        r config set maxmemory-policy noeviction
        assert_equal OK [r restore-asking other 0 $good replace]
    }

    test {RESTORE: deadlines, events and effects} {
        r set key value
        set good [r dump key]
        r del other
        assert_equal OK [r restore other 100000 $good]
        assert_range [r pttl other] 50000 100000
        set until [expr {[clock milliseconds] + 50000}]
        assert_equal OK [r restore other $until $good replace absttl]
        assert_range [r pttl other] 40000 50000
        # Gone at once, with what it replaces.
        assert_equal OK [r restore other 1 $good replace absttl]
        assert_equal 0 [r exists other]
        assert_equal OK [r restore other 9223372036854775807 $good]
        assert_equal 0 [r exists other]

        r debug effects start
        r restore other 100000 $good
        r restore third 0 $good
        r restore third 1 $good replace absttl
        set effects [r debug effects log]
        lassign $effects first second third
        assert_equal {9 restore other} [lrange [string tolower [lrange $first 0 2]] 0 2]
        assert_range [lindex $first 3] $until [expr {$until + 1000000}]
        assert_equal absttl [string tolower [lindex $first end]]
        assert_equal {9 restore third 0} [string tolower [lrange $second 0 3]]
        assert_equal {9 del third} [string tolower $third]
        r debug effects stop
    }

    # Each of these ends a server that believes what it reads.
    test {RESTORE: hostile payloads are refused} {
        r debug set-skip-checksum-validation 1
        foreach {hex} {
            {} 08 06 07 ff 00 02 0281ffffffffffffffff 0280ffffffff 00c301807fffffff00
            020201610161 0200 0e00 0e0101ff 0b080200000000000000 0d0b0b0000000a0000000000ff
            0f01 0f0101 0501016100000000 0b0c020000000200000002000100 0903020161ff
        } {
            assert_error_text {ERR Bad data format} {r restore hostile 0 [payload $hex]}
        }
        assert_equal 0 [r exists hostile]
        # A stream may be empty.
        assert_equal OK [r restore hostile 0 [payload 0f0000000000]]
        assert_equal 0 [r xlen hostile]
        r debug set-skip-checksum-validation 0
        assert_error_text {ERR DUMP payload version or checksum are wrong} \
            {r restore other 0 [payload 0001] replace}
    }

    test {RESTORE wakes who waits for the key} {
        r del waited
        r rpush source element
        set client [redis_client]
        $client deferred 1
        $client blpop waited 0
        wait_for_condition 100 20 {[string match {*blocked_clients:1*} [r info clients]]} else {
            fail "nobody waits"
        }
        r restore waited 0 [r dump source]
        assert_equal {waited element} [$client read]
        $client close
    }
}

start_server {overrides {appendonly yes aof-use-rdb-preamble no}} {
    # XCLAIM, by which the log says it, takes no number of deliveries that has all of 64 bits.
    test {A log that is written anew keeps an entry that was delivered more often than can be} {
        set value 0f0110000000000000000500000000000000001d1d0000000a00010100010101816602000102
        append value 01000100018176020401ff010500010167050001000000000000000500000000000000
        append value 00e80300000000000081ffffffffffffffff010163050000000000000001000000000000
        append value 00050000000000000000
        r debug set-skip-checksum-validation 1
        r restore key 0 [payload $value]
        r debug set-skip-checksum-validation 0
        assert_equal {1 5-0 5-0 {{c 1}}} [r xpending key g]
        r bgrewriteaof
        wait_for_condition 3000 20 {
            [s aof_rewrite_in_progress] == 0 && [s aof_rewrite_scheduled] == 0
        } else {
            fail "the log is not written anew"
        }
        r debug loadaof
        assert_equal {1 5-0 5-0 {{c 1}}} [r xpending key g]
    }
}
