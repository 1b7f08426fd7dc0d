# SPDX-License-Identifier: BSD-3-Clause
# Saves that walk (snapshot-method walk): the file has the data of the moment at which the save
# began, whatever is changed while it is written.

set walks {save {} snapshot-method walk snapshot-cpu-budget 1 loglevel notice}

# Data of all kinds, some of it large, in three databases.
proc fill_all {{keys 3000}} {
    foreach db {0 9 3} {
        r select $db
        r debug populate $keys small$db 20
    }
    r select 9
    r eval {
        for i = 1, 4000 do
            redis.call('hset', 'hash', 'field' .. i, string.rep('v', i % 60))
            redis.call('zadd', 'zset', i * 1.5, 'member' .. i)
            redis.call('sadd', 'set', 'member' .. i)
            redis.call('rpush', 'list', 'element' .. i)
            redis.call('xadd', 'stream', i .. '-1', 'a', i, 'b', string.rep('x', i % 30))
        end
        for i = 1, 400 do
            redis.call('hset', 'h' .. i, 'a', 1, 'b', string.rep('w', 30))
            redis.call('zadd', 'z' .. i, 1, 'a', 2, 'b')
            redis.call('sadd', 'i' .. i, 1, 2, 3)
            redis.call('rpush', 'l' .. i, 'a', 'b', string.rep('y', 40))
            redis.call('set', 's' .. i, string.rep('s', i * 20))
            redis.call('expire', 's' .. i, 10000 + i)
        end
        redis.call('xgroup', 'create', 'stream', 'group', '0')
        redis.call('xreadgroup', 'group', 'group', 'me', 'count', 100, 'streams', 'stream', '>')
        redis.call('set', 'blob', string.rep('blob', 100000))
        redis.call('set', 'number', 12345)} 0
}

# A change of something, by chance.
proc change_something {} {
    set n [random_int 400]
    set m [random_int 4000]
    set commands [list \
        {set s$n $m} {append s$n $m} {del s$n} {set blob$n [string repeat b $m]} {append blob x} \
        {hset hash field$m new} {hdel hash field$m} {hset h$n c $m} {del h$n} \
        {zadd zset $m member$m} {zrem zset member$m} {zincrby z$n 1 a} {sadd set other$m} \
        {srem set member$m} {sadd i$n $m} {sadd i$n text} {rpush list $m} {lpop list} \
        {lset l$n 0 $m} {rpush l$n [string repeat z $m]} {xadd stream * a $m} {xdel stream $m-1} \
        {xtrim stream maxlen [expr {4000 - $n}]} {rename s$n renamed$n} \
        {rename h$n h[expr {$n + 1}]} \
        {copy hash copied$n replace} {expire s$n [expr {10000 + $m}]} {persist s$n} \
        {pexpire z$n 1} {unlink l$n} \
        {setrange s$n $n abc} {setbit s$n $m 1} {getset s$n old} {incrby number $n} \
        {sort set limit 0 10 alpha store sorted$n} {sunionstore union$n i$n set} {move s$n 5} \
        {eval {redis.call('hset', 'hash', ARGV[1], 'script') redis.call('del', 'z' .. ARGV[2])
               return 1} 0 field$m $n}]
    catch {r {*}[subst [lindex $commands [random_int [llength $commands]]]]}
}

# Of what will be there when it is loaded, too: deadlines are a millisecond away or far.
proc digest_to_stay {} {
    after 5
    return [r debug digest]
}

proc await_save {} {
    wait_for_condition 6000 10 {[s rdb_bgsave_in_progress] == 0} else {fail "the save does not end"}
}

# The data of the file.
proc assert_file_has {digest} {
    assert_equal ok [s rdb_last_bgsave_status]
    r debug reload nosave
    assert_equal $digest [r debug digest]
}

start_server [list overrides $walks tags {ours needs:debug}] {
    test {a walk: the file has the data of its beginning, with changes of all kinds meanwhile} {
        fill_all
        for {set round 0} {$round < 4} {incr round} {
            set digest [digest_to_stay]
            r bgsave
            set changes 0
            while {[s rdb_bgsave_in_progress] && $changes < 20000} {
                for {set i 0} {$i < 50} {incr i} {
                    change_something
                    incr changes
                }
            }
            assert_morethan $changes 0
            r config set snapshot-cpu-budget 100
            await_save
            assert_file_has $digest
            r config set snapshot-cpu-budget [lindex {1 3 10 1} $round]
        }
        assert_morethan [s walk_copied_bytes] 100000
    }

    test {a walk: no child, and none is counted} {
        set forks [s total_forks]
        r bgsave
        assert_equal 1 [s rdb_bgsave_in_progress]
        assert_equal {} [children_of [srv pid]]
        assert_error {ERR Background save already in progress} {r bgsave}
        assert_error {ERR Background save already in progress} {r save}
        r config set snapshot-cpu-budget 100
        await_save
        r config set snapshot-cpu-budget 1
        assert_equal $forks [s total_forks]
    }

    test {a walk: databases are exchanged and emptied meanwhile} {
        r flushall
        fill_all
        set digest [digest_to_stay]
        r bgsave
        r swapdb 9 3
        r set new one
        r select 0
        r flushdb
        r set other one
        r select 9
        r swapdb 0 9
        r config set snapshot-cpu-budget 100
        await_save
        r config set snapshot-cpu-budget 1
        assert_file_has $digest
    }

    test {a walk: FLUSHALL ends it, and the file of before stays} {
        r flushall
        fill_all
        set digest [digest_to_stay]
        r save
        set from [count_log_lines]
        r bgsave
        r flushall
        await_save
        wait_for_log "*Background saving terminated by signal*" $from
        assert_equal {} [glob -nocomplain [file join [srv dir] temp-*.rdb]]
        r debug reload nosave
        assert_equal $digest [r debug digest]
    }

    test {a walk: one after another that was given up is whole} {
        r flushall
        fill_all
        for {set i 0} {$i < 20} {incr i} {
            r bgsave
            for {set n 0} {$n < 30} {incr n} {change_something}
            r config set snapshot-method fork
            await_save
            r config set snapshot-method walk
        }
        set digest [digest_to_stay]
        r config set snapshot-cpu-budget 100
        r bgsave
        for {set n 0} {$n < 100} {incr n} {change_something}
        await_save
        r config set snapshot-cpu-budget 1
        assert_file_has $digest
    }

    test {a walk: members of large values change, nobody waits, and nothing is copied at once} {
        r flushall
        r debug populate 20000 small 20
        # Some of them stand where the walk comes late.
        r eval {for i = 1, 4000 do for k = 0, 9 do
            redis.call('hset', 'hash' .. k, i, 'value')
            redis.call('sadd', 'set' .. k, 'member' .. i)
            redis.call('zadd', 'zset' .. k, i % 100, 'member' .. i)
        end end} 0
        set digest [digest_to_stay]
        r bgsave
        await_save
        set held [s walk_writers_held]
        set ahead 0
        for {set tries 0} {$ahead < 5 && $tries < 100} {incr tries} {
            r debug reload nosave
            r bgsave
            for {set k 0} {$k < 10} {incr k} {
                r hset hash$k new value 7 newer
                r hdel hash$k 8 9
                r srem set$k member5
                r sadd set$k another
                r zadd zset$k 5 another 1e9 member6
                r zremrangebyrank zset$k 0 300
            }
            r multi
            r hincrby hash1 count 1
            r spop set2
            r exec
            r eval {redis.call('hset', 'hash4', 10, 'script')
                    redis.call('geoadd', 'zset5', 1, 1, 'somewhere')} 0
            if {[s rdb_bgsave_in_progress]} {set ahead [s walk_keys_ahead]}
            r config set snapshot-cpu-budget 100
            await_save
            r config set snapshot-cpu-budget 1
        }
        assert_lessthan $tries 100
        assert_equal 0 [s walk_values_rushed]
        assert_equal $held [s walk_writers_held]
        assert_file_has $digest
    }

    test {a walk: whoever removes or replaces a large value, or only reads one, does not wait} {
        r flushall
        r debug populate 20000 small 20
        r eval {for i = 1, 4000 do for k = 0, 9 do
            redis.call('hset', 'hash' .. k, i, 'value')
            redis.call('rpush', 'list' .. k, 'element' .. i)
            redis.call('sadd', 'set' .. k, 'member' .. i)
        end end} 0
        set digest [digest_to_stay]
        r bgsave
        await_save
        set held [s walk_writers_held]
        set ahead 0
        for {set tries 0} {$ahead < 5 && $tries < 100} {incr tries} {
            r debug reload nosave
            r bgsave
            for {set k 0} {$k < 10} {incr k} {
                r zunionstore union 1 set$k
                r sort list$k limit 0 1 alpha store sorted
                r copy list$k copied replace
                assert_error {WRONGTYPE*} {r hset list$k field value}
                r set list$k string
                r del hash$k
                r sunionstore set$k set$k nosuch
            }
            if {[s rdb_bgsave_in_progress]} {set ahead [s walk_keys_ahead]}
            r config set snapshot-cpu-budget 100
            await_save
            r config set snapshot-cpu-budget 1
        }
        assert_lessthan $tries 100
        assert_equal 0 [s walk_values_rushed]
        assert_equal $held [s walk_writers_held]
        assert_file_has $digest
    }

    foreach {what make change} {
        list {'rpush', 'large', string.rep('element', 7) .. i} {lset large 0 new}
        hash {'hset', 'large', i, 'value'} {pexpire large 100000000}
    } {
        test "a walk: other writers to a large $what wait, also by EXEC, but not a script" {
            r flushall
            r debug populate 20000 small 20
            r eval "for i = 1, 60000 do redis.call($make) end" 0
            set digest [digest_to_stay]
            r bgsave
            await_save
            set writer [redis_deferring_client]
            set tries 0
            set held [s walk_writers_held]
            while {[s walk_writers_held] == $held && [incr tries] < 100} {
                r debug reload nosave
                r bgsave
                $writer {*}$change
                $writer read
                r config set snapshot-cpu-budget 100
                await_save
                r config set snapshot-cpu-budget 1
            }
            assert_lessthan $tries 100
            assert_file_has $digest
            set held [s walk_writers_held]
            for {set tries 0} {[s walk_writers_held] == $held && $tries < 100} {incr tries} {
                r multi
                r {*}$change
                $writer bgsave
                $writer read
                r exec
                assert_equal 0 [s walk_values_rushed]
                r config set snapshot-cpu-budget 100
                await_save
                r config set snapshot-cpu-budget 1
                assert_file_has $digest
            }
            assert_lessthan $tries 100
            set rushed 0
            for {set tries 0} {!$rushed && $tries < 100} {incr tries} {
                $writer bgsave
                $writer read
                r eval {return redis.call(unpack(ARGV))} 1 large {*}$change
                set rushed [s walk_values_rushed]
                r config set snapshot-cpu-budget 100
                await_save
                r config set snapshot-cpu-budget 1
                assert_file_has $digest
            }
            assert_equal 1 $rushed
            $writer close
        }
    }

    test {a walk: the latency monitor has writers that waited and values copied at once} {
        r flushall
        r debug populate 20000 small 20
        r eval {for i = 1, 150000 do redis.call('hset', 'large', i, 'value') end} 0
        r config set latency-monitor-threshold 1
        r latency reset
        set writer [redis_deferring_client]
        foreach {event within} {walk-held no walk-copy yes} {
            for {set tries 0} {[r latency history $event] eq {} && $tries < 100} {incr tries} {
                $writer bgsave
                $writer read
                if {$within} {
                    r eval {redis.call('pexpire', KEYS[1], 100000000)} 1 large
                } else {
                    r pexpire large 100000000
                }
                r config set snapshot-cpu-budget 100
                await_save
                r config set snapshot-cpu-budget 1
            }
            assert_lessthan $tries 100
            assert_match "*- $event: *" [r latency doctor]
        }
        $writer close
        r config set latency-monitor-threshold 0
        r latency reset
    }

    test {a walk: eviction and expiry meanwhile} {
        r flushall
        fill_all
        r config set maxmemory-policy allkeys-random
        set digest [digest_to_stay]
        r bgsave
        r config set maxmemory [expr {[s used_memory] * 3 / 4}]
        wait_for_condition 1000 10 {[s evicted_keys] > 100} else {fail "nothing is evicted"}
        r config set maxmemory 0
        r config set snapshot-cpu-budget 100
        await_save
        r config set snapshot-cpu-budget 1
        assert_file_has $digest
    }

    # The scribe writes so slowly that the walk rests in the midst of the data.
    proc begin_that_stands {} {
        r config set rdb-key-save-delay 15000
        r bgsave
        r select 3
        # Some that are kept, and one in the midst of its copy.
        r del blob0 hash1
        r unlink list2 zset3
        r set blob4 replaced
        r hset hash5 new value
        r select 9
        assert_equal 1 [s rdb_bgsave_in_progress]
        assert_morethan [s lazyfree_pending_bytes] 1000000
    }

    proc let_it_end {} {
        r config set snapshot-cpu-budget 100
        await_save
        r config set rdb-key-save-delay 0
        r config set snapshot-cpu-budget 1
    }

    foreach {what lasts empty} {
        {FLUSHDB in a script} yes {
            r eval {redis.call('del', 'set6') return redis.call('flushdb')} 0}
        {FLUSHDB in a transaction} yes {r multi; r del set6; r flushdb; r set new one; r exec}
        {FLUSHDB ASYNC, twice} yes {r flushdb async; r set new one; r flushdb async}
        {FLUSHDB after SWAPDB in a transaction} yes {
            r multi; r swapdb 3 9; r flushdb; r select 3; r flushdb; r exec}
        {FLUSHALL in a script} no {
            r eval {redis.call('del', 'set6') return redis.call('flushall')} 0}
        {FLUSHALL in a transaction} no {r multi; r del set6; r flushall; r set new one; r exec}
        {FLUSHALL ASYNC} no {r flushall async}
        {DEBUG RELOAD} yes {r debug reload nosave}
    } {
        test "a walk: $what while values are kept and others are in the midst of their copies" {
            r flushall
            r select 9
            r debug populate 60 small 500000
            r select 3
            r eval {for i = 1, 4000 do for k = 0, 9 do
                redis.call('hset', 'hash' .. k, i, 'value')
                redis.call('sadd', 'set' .. k, 'member' .. i)
                redis.call('zadd', 'zset' .. k, i % 100, 'member' .. i)
                redis.call('rpush', 'list' .. k, 'element' .. i)
            end end
            for k = 0, 9 do redis.call('set', 'blob' .. k, string.rep('b', 2000000)) end} 0
            r save
            set digest [digest_to_stay]
            begin_that_stands
            r select 3
            eval $empty
            r select 9
            let_it_end
            wait_for_condition 1000 10 {[s lazyfree_pending_bytes] == 0} else {
                fail "[s lazyfree_pending_bytes] bytes are not freed"
            }
            # The file of before has the same data as that of a walk that came to its end.
            if {$lasts} {assert_equal ok [s rdb_last_bgsave_status]}
            r debug reload nosave
            assert_equal $digest [r debug digest]
        }
    }

    test {a walk: a replica whose primary sends a full copy gives its own save up} {
        r flushall
        r select 3
        for {set k 0} {$k < 10} {incr k} {r set blob$k [string repeat b 2000000]}
        r select 9
        foreach diskless {disabled swapdb} {
            start_server {overrides {save {} repl-diskless-sync yes repl-diskless-sync-delay 0}} {
                r set from primary
                set host [srv host]
                set port [srv port]
                r -1 config set repl-diskless-load $diskless
                r -1 select 3
                for {set k 0} {$k < 10} {incr k} {r -1 set blob$k [string repeat b 2000000]}
                r -1 config set rdb-key-save-delay 300000
                r -1 bgsave
                r -1 del blob0
                r -1 select 9
                assert_equal 1 [s -1 rdb_bgsave_in_progress]
                r -1 replicaof $host $port
                wait_for_condition 1000 10 {[s -1 master_link_status] eq {up}} else {
                    fail "the copy does not come"
                }
                assert_equal primary [r -1 get from]
                r -1 config set rdb-key-save-delay 0
                wait_for_condition 1000 10 {[s -1 rdb_bgsave_in_progress] == 0} else {
                    fail "the save does not end"
                }
                r -1 replicaof no one
                assert_equal 1 [r -1 dbsize]
            }
        }
    }

    foreach preamble {yes no} {
        test "a walk: the log is written anew (preamble $preamble), with what comes meanwhile" {
            r flushall
            r config set aof-use-rdb-preamble $preamble
            fill_all
            r config set appendonly yes
            for {set i 0} {$i < 2000 && [s aof_rewrite_in_progress]} {incr i} {change_something}
            r config set snapshot-cpu-budget 100
            wait_for_condition 6000 10 {![s aof_rewrite_in_progress]} else {fail "it does not end"}
            for {set i 0} {$i < 100} {incr i} {change_something}
            r config set snapshot-cpu-budget 1
            # Deadlines that pass between two digests would be a difference.
            foreach key [r keys z*] {r persist $key}
            set digest [digest_to_stay]
            r debug loadaof
            assert_equal $digest [r debug digest]
            r config set appendonly no
        }
    }
}
