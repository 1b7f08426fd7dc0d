# SPDX-License-Identifier: BSD-3-Clause
# Lists: replies and errors, contents against a model, clients that wait.

proc await_blocked {count} {
    wait_for_condition 500 10 {[s blocked_clients] == $count} else {
        fail "[s blocked_clients] clients wait, not $count"
    }
}

# A client that has sent a command and waits in it.
proc waiting {args} {
    set before [s blocked_clients]
    set client [redis_deferring_client]
    $client {*}$args
    await_blocked [expr {$before + 1}]
    return $client
}

start_server {tags {list}} {
    test {lists: replies and errors} {
        assert_conversation {
            rpush l a b c d  :4
            LPOP l 0  *
            LPOP no 0  nil*
            LPOP no 2  nil*
            LPOP l -1  -ERR value is out of range, must be positive
            LPOP l x  -ERR value is out of range, must be positive
            LPOP l 1 2  -ERR wrong number of arguments for 'lpop' command
            LPOP no x  -ERR value is out of range, must be positive
            SET s 1  +OK
            LPOP s 0  -WRONGTYPE Operation against a key holding the wrong kind of value
            LPOP s 1  -WRONGTYPE Operation against a key holding the wrong kind of value
            LPOP s x  -ERR value is out of range, must be positive
            LPUSHX no a  :0
            LPUSHX s a  -WRONGTYPE Operation against a key holding the wrong kind of value
            LINSERT l x a b  -ERR syntax error
            LINSERT no before a b  :0
            LINSERT no x a b  -ERR syntax error
            LINSERT l before zz b  :-1
            LSET l 100 x  -ERR index out of range
            LSET no x y  -ERR no such key
            LSET l x y  -ERR value is not an integer or out of range
            LINDEX l x  -ERR value is not an integer or out of range
            LINDEX no x  nil
            LINDEX s x  -WRONGTYPE Operation against a key holding the wrong kind of value
            LRANGE l x 1  -ERR value is not an integer or out of range
            LRANGE s x 1  -ERR value is not an integer or out of range
            LRANGE no 0 1  *
            LTRIM l x 1  -ERR value is not an integer or out of range
            LREM l x a  -ERR value is not an integer or out of range
            LREM no 0 a  :0
            LPOS l a RANK 0  -ERR RANK can't be zero: use 1 to start from the first match, 2 from\
                the second, ...
            LPOS l a COUNT -1  -ERR COUNT can't be negative
            LPOS l a MAXLEN -1  -ERR MAXLEN can't be negative
            LPOS l a FOO 1  -ERR syntax error
            LPOS l a RANK  -ERR syntax error
            LPOS no a COUNT 0  *
            LPOS no a  nil
            LPOS l zz COUNT 0  *
            LPOS l zz  nil
            LPOS s a  -WRONGTYPE Operation against a key holding the wrong kind of value
            RPOPLPUSH no l  nil
            RPOPLPUSH s l  -WRONGTYPE Operation against a key holding the wrong kind of value
            RPOPLPUSH l s  -WRONGTYPE Operation against a key holding the wrong kind of value
            RPOPLPUSH no s  nil
            LMOVE l l2 left x  -ERR syntax error
            LMOVE l l left right  "a"
            LRANGE l 0 -1  * {"b"} {"c"} {"d"} {"a"}
            BLPOP s 1  -WRONGTYPE Operation against a key holding the wrong kind of value
            BLPOP no s 1  -WRONGTYPE Operation against a key holding the wrong kind of value
            BLPOP l s 1  * {"l"} {"b"}
            BLPOP s l 1  -WRONGTYPE Operation against a key holding the wrong kind of value
            BRPOPLPUSH no s 0.1  nil*
            BRPOPLPUSH s l 0.1  -WRONGTYPE Operation against a key holding the wrong kind of value
            BRPOPLPUSH l s 0.1  -WRONGTYPE Operation against a key holding the wrong kind of value
            BLMOVE no x left left 0.1  nil*
            BLMOVE no x left foo x  -ERR syntax error
            BLMOVE no x left left x  -ERR timeout is not a float or out of range
            BLPOP l  -ERR wrong number of arguments for 'blpop' command
            BLPOP no 0.1  nil*
            LINSERT l BEFORE  -ERR wrong number of arguments for 'linsert' command
            LPOS l a RANK x  -ERR value is not an integer or out of range
            LPOS l a MAXLEN x  -ERR MAXLEN can't be negative
            LPOS l a COUNT x  -ERR COUNT can't be negative
            LMOVE no l2 left right  nil
            LMOVE s l2 left right  -WRONGTYPE Operation against a key holding the wrong kind of\
                value
            LPOP l 100  * {"c"} {"d"} {"a"}
            EXISTS l  :0
        }
    }

    test {LINSERT before and after, LINDEX, LPOS with the smallest rank} {
        r del l
        assert_conversation {
            RPUSH l a b a  :3
            LINSERT l AFTER a x  :4
            LINSERT l aFTER a y  :5
            LINSERT l BEFORE a w  :6
            LRANGE l 0 -1  * {"w"} {"a"} {"y"} {"x"} {"b"} {"a"}
            LINSERT l AFTER zz b  :-1
            LINDEX l 2  "y"
            LINDEX l -1  "a"
            LINDEX l 6  nil
            LINDEX l -7  nil
            LINDEX no 0  nil
            LPOS l a RANK -9223372036854775808  :5
            LPOS l a RANK -9223372036854775808 COUNT 0  * :5 :1
            LPOS l a RANK -9223372036854775807  nil
            LPOS l a RANK 9223372036854775807 COUNT 0  *
        }
    }

    proc list_debug {key} {
        regsub {^Value at:\S+ } [r debug object $key] {} fields
        set fields [split $fields " :"]
        return [dict merge {} $fields]
    }

    test {DEBUG OBJECT of a list} {
        with_config {list-max-ziplist-size 4 list-compress-depth 1} {
            r del l
            for {set i 0} {$i < 10} {incr i} {
                r rpush l [string repeat element$i 100]
            }
            set fields [list_debug l]
            assert_equal {quicklist 3 3.33 4 1} [lmap field {encoding ql_nodes ql_avg_node
                ql_ziplist_max ql_compressed} {dict get $fields $field}]
            set bytes [dict get $fields ql_uncompressed_size]
            assert {$bytes > 8000 && $bytes < 8150}
        }
    }

    # Each LSET found room in the node, which grew to 4 MB.
    test {elements that grow by LSET split their node} {
        foreach {size bound} {-2 8192 -1 4096 400 8192} {
            with_config "list-max-ziplist-size $size" {
                r del l
                r rpush l {*}[lrepeat 400 x]
                assert_equal 1 [dict get [list_debug l] ql_nodes]
                set long [string repeat y [expr {$bound - 200}]]
                for {set i 0} {$i < 400} {incr i} {
                    r lset l [expr {$i * 7 % 400 - 400 * ($i % 2)}] $long$i
                }
                assert {[dict get [list_debug l] ql_nodes] >= 200}
                for {set i 0} {$i < 400} {incr i 3} {
                    assert_equal $long$i [r lindex l [expr {$i * 7 % 400}]]
                }
                assert_equal 400 [r llen l]
            }
        }
    }

    foreach {name config} {
        default {}
        {tiny nodes} {list-max-ziplist-size 3}
        {compressed} {list-max-ziplist-size 8 list-compress-depth 1}
    } {
        test "lists against a model: $name" {
            with_config $config {
                r del l
                set model {}
                for {set i 0} {$i < [accurate 1500 10000]} {incr i} {
                    set text [random_string 0 30][string repeat ab [random_int 40]]
                    set index [expr {[llength $model] ? [random_int [llength $model]] : 0}]
                    switch [random_int 9] {
                        0 - 1 {
                            r lpush l $text
                            set model [linsert $model 0 $text]
                        }
                        2 - 3 {
                            r rpush l $text
                            lappend model $text
                        }
                        4 {
                            assert_equal [lindex $model 0] [r lpop l]
                            set model [lrange $model 1 end]
                        }
                        5 {
                            assert_equal [lindex $model end] [r rpop l]
                            set model [lrange $model 0 end-1]
                        }
                        6 {
                            assert_equal [lindex $model $index] [r lindex l $index]
                        }
                        7 {
                            if {[llength $model]} {
                                r lset l $index $text
                                lset model $index $text
                            }
                        }
                        8 {
                            if {[llength $model]} {
                                set pivot [lindex $model $index]
                                set at [lsearch -exact $model $pivot]
                                r linsert l before $pivot $text
                                set model [linsert $model $at $text]
                            }
                        }
                    }
                }
                assert_equal $model [r lrange l 0 -1]
                assert_equal [lrange $model 5 20] [r lrange l 5 20]
                assert_equal [lrange $model end-9 end-3] [r lrange l -10 -4]
                r ltrim l 3 -4
                assert_equal [lrange $model 3 end-3] [r lrange l 0 -1]
            }
        }
    }

    test {LREM and LPOS from both ends} {
        r del l
        r rpush l a b a c a d a
        assert_equal {0 2 4 6} [r lpos l a count 0]
        assert_equal {6 4} [r lpos l a rank -1 count 2]
        assert_equal 2 [r lpos l a rank 2]
        assert_equal {} [r lpos l a rank 5]
        assert_equal {0} [r lpos l a count 0 maxlen 2]
        assert_equal 2 [r lrem l 2 a]
        assert_equal {b c a d a} [r lrange l 0 -1]
        assert_equal 1 [r lrem l -1 a]
        assert_equal {b c a d} [r lrange l 0 -1]
        assert_equal 1 [r lrem l 0 a]
        assert_equal {b c d} [r lrange l 0 -1]
        assert_equal 1 [r lrem l -9223372036854775808 c]
        assert_equal 0 [r lrem l 0 zz]
        assert_equal {b d} [r lrange l 0 -1]
    }

    test {BLPOP, BRPOP: clients are served in the order in which they came, each once} {
        r del l
        set clients {}
        foreach command {blpop blpop brpop} {
            lappend clients [waiting $command other l 0]
        }
        lassign $clients first second third
        assert_equal 4 [r rpush l a b c d]
        assert_equal {l a} [$first read]
        assert_equal {l b} [$second read]
        assert_equal {l d} [$third read]
        assert_equal c [r lpop l]
        assert_equal 0 [s blocked_clients]
        foreach client $clients {
            $client close
        }
    }

    test {BLPOP: a key of another type, or taken away at once, wakes nobody} {
        r del l other
        set client [waiting blpop l 0]
        r set l x
        r del l
        r sadd l x
        r del l
        await_blocked 1
        r lpush l a
        assert_equal {l a} [$client read]
        $client close
    }

    test {BLPOP: a limit below 0 that is cut to 0 ms is none} {
        foreach command {{blpop nokey} {brpop nokey} {blmove nokey to left left} {bzpopmin nokey}} {
            foreach limit {-0.0001 -0.0009 -0.001 -1e-30} {
                set client [redis_deferring_client]
                $client {*}$command $limit
                wait_for_condition 200 10 {[s blocked_clients] == 1} else {
                    fail "$command $limit does not wait"
                }
                $client close
                wait_for_condition 200 10 {[s blocked_clients] == 0} else {
                    fail "it waits still"
                }
            }
            foreach limit {-0.0010001 -0.0011 -0.9999 -1 -1e300} {
                assert_error_text {ERR timeout is negative} {r {*}$command $limit}
            }
        }
    }

    test {BLPOP: the same key twice, and a list that comes by RENAME, COPY, MOVE, SWAPDB} {
        foreach way {rename copy move swapdb} {
            r del l source
            set client [waiting blpop l l 0]
            switch $way {
                rename {
                    r rpush source a
                    r rename source l
                }
                copy {
                    r rpush source a
                    r copy source l
                }
                move {
                    r select 10
                    r rpush l a
                    r move l 9
                    r select 9
                }
                swapdb {
                    r select 10
                    r rpush l a
                    r swapdb 9 10
                    r select 9
                }
            }
            assert_equal {l a} [$client read] $way
            $client close
            r flushall
        }
    }

    test {BLMOVE and BRPOPLPUSH: chains, a circle, and a client that waits for the target} {
        r del a b c
        set one [waiting blmove a b left right 0]
        set two [waiting brpoplpush b c 0]
        set three [waiting blpop c 0]
        r rpush a x
        assert_equal x [$one read]
        assert_equal x [$two read]
        assert_equal {c x} [$three read]
        assert_equal 0 [r exists a b c]
        foreach client [list $one $two $three] {
            $client close
        }
        set one [waiting blmove a b left left 0]
        set two [waiting blmove b a left left 0]
        r rpush a x
        assert_equal x [$one read]
        assert_equal x [$two read]
        assert_equal {x} [r lrange a 0 -1]
        $one close
        $two close
        r del a
        set one [waiting brpoplpush a a 0]
        r rpush a x y
        assert_equal y [$one read]
        assert_equal {y x} [r lrange a 0 -1]
        $one close
    }

    test {BLMOVE to what is no list: an error, and the element stays} {
        r del a b
        r set b text
        set client [waiting blmove a b left left 0]
        r rpush a x
        assert_error {WRONGTYPE*} {$client read}
        assert_equal {x} [r lrange a 0 -1]
        $client close
    }

    test {a client that waits: time limit, CLIENT UNBLOCK, closing} {
        r del a
        set client [redis_deferring_client]
        foreach command {{blpop a 0.05} {brpop a 0.05} {blmove a b left left 0.05}} {
            $client {*}$command
            assert_equal {} [$client read] $command
        }
        $client client id
        set id [$client read]
        $client blpop a 0
        await_blocked 1
        assert_equal 1 [r client unblock $id]
        assert_equal {} [$client read]
        $client blmove a b left left 0
        await_blocked 1
        $client close
        await_blocked 0
        r rpush a x
        assert_equal x [r lpop a]
    }

    test {what a waiting client sent behind is run after it was served} {
        r del a
        set client [redis_deferring_client]
        $client write [client::encode {blpop a 0}][client::encode {rpush a z}][client::encode\
                {llen a}]
        $client flush
        await_blocked 1
        r rpush a x y
        assert_equal {a x} [$client read]
        assert_equal 2 [$client read]
        assert_equal 2 [$client read]
        $client close
    }

    test {random clients on random lists: every element is given out exactly once} {
        r del a b c
        set clients {}
        for {set i 0} {$i < 20} {incr i} {
            set client [redis_deferring_client]
            $client blpop {*}[lrange [lsort -command {apply {{x y} {expr {[random_int 3] - 1}}}} \
                {a b c}] 0 [random_int 3]] 0
            lappend clients $client
        }
        await_blocked 20
        set pushed {}
        for {set i 0} {[s blocked_clients] > 0} {incr i} {
            r rpush [random_pick {a b c}] e$i
            lappend pushed e$i
        }
        set given {}
        foreach client $clients {
            lappend given [lindex [$client read] 1]
            $client close
        }
        foreach key {a b c} {
            lappend given {*}[r lrange $key 0 -1]
        }
        assert_equal [lsort $pushed] [lsort $given]
    }
}
