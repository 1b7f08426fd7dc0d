# SPDX-License-Identifier: BSD-3-Clause
# Lua at the limit of its memory: what a user may do there ends in an error, costs others nothing,
# and what was accepted once is not lost. 6.2 has no such limit.

# A script that holds nothing but numbers, some bytes each; none is another's.
proc numbers_script {number count} {
    for {set i 0} {$i < $count} {incr i} {
        append values "$number.$i$i,"
    }
    return "return {$values}"
}

# Loads such scripts until there is no room for one more. Returns how many there was room for.
proc load_until_full {count} {
    for {set loaded 0} {$loaded < 5000} {incr loaded} {
        set number [expr {int(rand() * 1000000000)}]
        if {[catch {r script load [numbers_script $number $count]} fault]} {
            assert_match {*not enough memory*} $fault
            return $loaded
        }
    }
    fail "5000 scripts were loaded"
}

# Leaves a table of strings behind that is far too large.
set many_strings {local t = {} for i = 1, 25000 do t[i] = 's' .. i end return #t}

start_server {overrides {save {} lua-memory-limit 4mb} tags {ours}} {
    test {Scripts that fill the memory of Lua leave the server as it was} {
        assert_equal 25000 [r eval $many_strings 0]
        for {set round 0} {$round < 6} {incr round} {
            load_until_full 5000
            load_until_full 50
            catch {r eval {return 1} 0}
            catch {r eval "local x = $round return x" 0}
            assert_equal PONG [r ping]
        }
        assert_equal OK [r script flush]
        assert_equal 25000 [r eval $many_strings 0]
    }

    test {A limit that is lowered below what scripts hold} {
        set sha [r script load {return redis.call('ping')}]
        assert_equal 25000 [r eval $many_strings 0]
        for {set i 0} {$i < 10} {incr i} {
            r script load [numbers_script $i 5000]
        }
        foreach limit {1mb 400kb 100 1} {
            r config set lua-memory-limit $limit
            for {set i 0} {$i < 30} {incr i} {
                assert_error {*not enough memory*} {r eval "return '$limit $i'" 0}
                catch {r evalsha $sha 0}
            }
        }
        r config set lua-memory-limit 4mb
        assert_equal PONG [r evalsha $sha 0]
        r script flush
    }

    test {SCRIPT FLUSH, each way, of a memory that is full} {
        foreach way {sync async} {
            load_until_full 5000
            load_until_full 50
            assert_equal OK [r script flush $way]
            wait_for_condition 500 10 {[s used_memory_lua] < 1000000} else {
                fail "[s used_memory_lua] bytes of Lua after SCRIPT FLUSH $way"
            }
            assert_equal 25000 [r eval $many_strings 0]
        }
    }

    test {Garbage is no reason for an error where what is in use fits} {
        r config set lua-memory-limit 16mb
        # Half of the limit is in use, or nearly all of it.
        foreach {kept size} {8 1000000 12 500000 13 200000 14 50000} {
            assert_equal 1 [r eval "
                local kept, piece = {}, ('y'):rep($size)
                for i = 1, $kept * 10 do kept\[i] = ('x'):rep(100000) .. i end
                for i = 1, 100000000 / $size do local s = piece .. i end
                for i = 1, 150000 do local t = {i} end
                return 1" 0] "$kept $size"
        }
        # And between scripts: each leaves its garbage to the next.
        for {set i 0} {$i < 50} {incr i} {
            assert_equal 3000000 [r eval "return #('$i'):rep(3000000 / #'$i')" 0]
        }
    }
}

# Scripts of more than a megabyte, and one that takes as much when it runs; it is logged and sent to
# replicas as itself. -> the digest of one of them
proc load_and_run {{level 0}} {
    for {set i 0} {$i < 10} {incr i} {
        set sha [r $level script load [numbers_script $i 20000]]
    }
    r $level eval {
        local t = {}
        for i = 1, 50000 do t[i] = tostring(i) end
        redis.call('set', KEYS[1], table.concat(t))
    } 1 k
    assert {[s $level used_memory_lua] > 3000000}
    return $sha
}

foreach preamble {no yes} {
    start_server [list overrides [list save {} appendonly yes lua-replicate-commands no \
            aof-use-rdb-preamble $preamble] tags {ours}] {
        test "A log is loaded whatever lua-memory-limit is, aof-use-rdb-preamble $preamble" {
            set sha [load_and_run]
            if {$preamble} {
                r bgrewriteaof
                wait_for_condition 1000 10 {
                    [s aof_rewrite_in_progress] == 0 && [s aof_rewrite_scheduled] == 0
                } else {
                    fail "the log is still being written anew"
                }
                r eval {redis.call('append', KEYS[1], 'end')} 1 k
            }
            set before [r debug digest]
            r config set lua-memory-limit 1mb
            r config rewrite
            restart_server
            assert_equal $before [r debug digest]
            # What a rewritten log begins with does not name scripts, as in 6.2.
            assert_equal [expr {!$preamble}] [r script exists $sha]
            assert_equal 1048576 [lindex [r config get lua-memory-limit] 1]
            if {!$preamble} {
                assert_error {*not enough memory*} {r eval {return 'x'} 0}
                r script flush
            }
            assert_equal x [r eval {return 'x'} 0]
        }
    }
}

start_server {overrides {save {} lua-replicate-commands no} tags {ours repl}} {
    start_server {overrides {save {} lua-memory-limit 1mb}} {
        test {A replica takes scripts and runs them whatever its lua-memory-limit is} {
            load_and_run -1
            r replicaof [srv -1 host] [srv -1 port]
            wait_for_condition 1000 10 {[s master_link_status] eq "up"} else {
                fail "no link"
            }
            r -1 eval {
                local t = {}
                for i = 1, 50000 do t[i] = tostring(i) end
                redis.call('append', KEYS[1], table.concat(t))
            } 1 k
            set offset [s -1 master_repl_offset]
            wait_for_condition 1000 10 {[s slave_repl_offset] >= $offset} else {
                fail "the replica is at [s slave_repl_offset] and not at $offset"
            }
            assert_equal up [s master_link_status]
            assert_equal [r -1 debug digest] [r debug digest]
            assert_error {*not enough memory*} {r eval {return 'x'} 0}
        }
    }
}
