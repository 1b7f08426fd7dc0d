# SPDX-License-Identifier: BSD-3-Clause
# Active defragmentation: it gains what deletes have left, of each type, while the data stays as it
# is; it rests while a save is under way; it refuses where the allocator cannot tell.

proc defrag_setup {} {
    r config set activedefrag no
    r config set active-defrag-ignore-bytes 400kb
    r config set active-defrag-threshold-lower 5
    r config set active-defrag-cycle-min 40
    r config set active-defrag-cycle-max 75
    r config resetstat
    r flushall
}

# Runs it until nothing is left to gain: a third of the waste at least, because a server as small as
# this one has some that no data keeps. INFO's figures are some 100 ms old. The digest must stay.
proc defrag_run {} {
    set digest [r debug digest]
    wait_for_condition 200 20 {[s allocator_frag_bytes] > 500000} else {
        fail "only [s allocator_frag_bytes] bytes are wasted"
    }
    set waste [s allocator_frag_bytes]
    r config set activedefrag yes
    wait_for_condition 1000 20 {[s active_defrag_hits] > 0} else { fail "it did not begin" }
    wait_for_condition 3000 20 {[s active_defrag_running] == 0} else {
        fail "it did not end: [r info memory]"
    }
    assert_equal $digest [r debug digest]
    wait_for_condition 200 20 {[s allocator_frag_bytes] < $waste * 2 / 3} else {
        fail "of $waste wasted bytes [s allocator_frag_bytes] are left"
    }
}

# `write` makes the request that writes element i, `remove` the one that takes it out again.
proc make_sparse {write remove} {
    set client [redis_deferring_client]
    foreach {body step} [list $write 1 $remove 4] {
        for {set i 0} {$i < 40000} {incr i} {
            if {$step == 4 && $i % 4 == 0} continue
            $client {*}[apply [list i $body] $i]
        }
        for {set i 0} {$i < 40000} {incr i} {
            if {$step == 4 && $i % 4 == 0} continue
            $client read
        }
    }
    $client close
}

start_server {overrides {save ""}} {
    if {[string match jemalloc* [s mem_allocator]]} {
        test {Off, it does nothing} {
            assert_equal no [config_get activedefrag]
            assert_equal off [s active_defrag_state]
            assert_equal 0 [s active_defrag_running]
        }

        foreach {name write remove} {
            strings {return [list set k:$i [string repeat x 150]]} {return [list del k:$i]}
            {long strings} {return [list set k:$i [string repeat x 1500]]} {return [list del k:$i]}
            {keys with a deadline} {return [list set k:$i abcdefghijklmnop EX 10000]}
                {return [list del k:$i]}
            hash {return [list hset h f:$i [string repeat x 60]]} {return [list hdel h f:$i]}
            {hash of pairs that share blocks} {return [list hset h f:$i [string repeat x 12]]}
                {return [list hdel h f:$i]}
            set {return [list sadd s member:$i:[string repeat x 60]]}
                {return [list srem s member:$i:[string repeat x 60]]}
            {sorted set} {return [list zadd z $i member:$i:[string repeat x 60]]}
                {return [list zrem z member:$i:[string repeat x 60]]}
            {small hashes} {return [list hset h:$i f [string repeat x 60]]} {return [list del h:$i]}
            {small lists} {return [list rpush l:$i a [string repeat x 60]]} {return [list del l:$i]}
            {small streams} {return [list xadd x:$i 1-1 f [string repeat x 60]]}
                {return [list del x:$i]}
        } {
            test "It gains what deletes have left: $name" {
                defrag_setup
                make_sparse $write $remove
                defrag_run
            }
        }

        test {It gains what a second list has left in a long list's slabs} {
            defrag_setup
            r config set list-max-ziplist-size 5
            make_sparse {return [list rpush l:[expr {$i % 2}] [string repeat x 100]]} {return ping}
            r del l:1
            defrag_run
            assert_equal 20000 [r llen l:0]
        }

        test {It gains what a second stream has left in a long stream's slabs} {
            defrag_setup
            r config set stream-node-max-entries 5
            make_sparse {return [list xadd x:[expr {$i % 2}] $i-1 f [string repeat x 100]]} \
                {return ping}
            r del x:1
            defrag_run
            assert_equal 20000 [r xlen x:0]
        }

        test {It rests while a child saves} {
            defrag_setup
            make_sparse {return [list set k:$i [string repeat x 150]]} {return [list del k:$i]}
            r config set rdb-key-save-delay 1000
            r bgsave
            r config set activedefrag yes
            wait_for_condition 200 20 {[s active_defrag_state] eq {resting}} else {
                fail "it is [s active_defrag_state]"
            }
            assert_equal 0 [s active_defrag_hits]
            r config set rdb-key-save-delay 0
            r config set save ""
            r flushall
            wait_for_condition 1000 20 {[s rdb_bgsave_in_progress] == 0} else {
                fail "the save lasts"
            }
            wait_for_condition 1000 20 {[s active_defrag_running] == 0} else {
                fail "it is [s active_defrag_state]"
            }
        }

        test {CONFIG SET activedefrag no ends it} {
            r config set activedefrag no
            assert_equal off [s active_defrag_state]
            assert_equal 0 [s active_defrag_running]
        }
    } else {
        test {An allocator that cannot tell: it is refused, and stays off} {
            assert_error {*cannot be enabled*} {r config set activedefrag yes}
            assert_equal no [config_get activedefrag]
            assert_equal off [s active_defrag_state]
        }
    }
}
