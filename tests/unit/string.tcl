# SPDX-License-Identifier: BSD-3-Clause
# Commands on strings.

start_server {} {
    test {SET and GET of any bytes} {
        foreach value [list {} x foobar "\0" "\0\r\n\xff" \
            [string repeat long 5000] 12345 -1 007 3.14] {
            assert_equal OK [r set k $value]
            assert_equal $value [r get k]
        }
    }

    test {Keys of any bytes} {
        foreach key [list {} x "a b" "\0" "\0\r\n\xff" [string repeat key 10000]] {
            assert_equal OK [r set $key "value of it"]
            assert_equal "value of it" [r get $key]
            assert_equal 1 [r exists $key]
            assert_equal 1 [r del $key]
            assert_equal 0 [r exists $key]
        }
    }

    test {Keys that are beginnings of each other are different keys} {
        foreach key {a aa aaa aaaa} {
            r set $key "v-$key"
        }
        foreach key {a aa aaa aaaa} {
            assert_equal "v-$key" [r get $key]
        }
        r del a aa aaa aaaa
    } {4}

    test {GET of a key that is not there} {
        r get nokey
    } {}

    test {Values of every length up to 300, and around powers of two} {
        set sizes {}
        for {set size 0} {$size <= 300} {incr size} {
            lappend sizes $size
        }
        foreach power {512 1024 4096 16384 32768 65536 262144} {
            lappend sizes [expr {$power - 1}] $power [expr {$power + 1}]
        }
        foreach size $sizes {
            r set len:$size [string repeat v $size]
        }
        foreach size $sizes {
            assert {[r get len:$size] eq [string repeat v $size]} $size
            r del len:$size
        }
    }

    test {Overwriting with longer and shorter values} {
        for {set i 0} {$i < [accurate 500 5000]} {incr i} {
            set key over:[random_int 10]
            set value [random_string 0 [random_pick {5 50 500 5000 50000}] binary]
            r set $key $value
            set expected($key) $value
            set probe [random_pick [array names expected]]
            assert {[r get $probe] eq $expected($probe)} $probe
        }
    }

    test {Random keys and values against a model} {
        array unset model
        for {set i 0} {$i < [accurate 5000 50000]} {incr i} {
            set key m:[random_int 1000]
            switch [random_int 4] {
                0 - 1 {
                    set value [random_string 0 80 binary]
                    r set $key $value
                    set model($key) $value
                }
                2 {
                    assert_equal [info exists model($key)] [r del $key]
                    unset -nocomplain model($key)
                }
                3 {
                    # Not by expr, which would make 5.0 of "+5.".
                    set wanted {}
                    if {[info exists model($key)]} {set wanted $model($key)}
                    assert_equal $wanted [r get $key]
                    assert_equal [info exists model($key)] [r exists $key]
                }
            }
        }
        r flushall
    } {OK}

    test {20,000 keys} {
        populate 20000 big: 20
        assert_equal 20000 [r dbsize]
        for {set i 0} {$i < 20000} {incr i 97} {
            assert_equal [string repeat v 20] [r get big:$i]
        }
        r flushall
        r dbsize
    } {0}

    test {Arity of GET and SET} {
        assert_error_text {ERR wrong number of arguments for 'get' command} {r get}
        assert_error_text {ERR wrong number of arguments for 'get' command} {r get a b}
        assert_error_text {ERR wrong number of arguments for 'set' command} {r set}
        assert_error_text {ERR wrong number of arguments for 'set' command} {r set a}
    }
}

start_server {} {
    test {INCRBY, DECRBY and INCRBYFLOAT at the ends of what there is} {
        assert_conversation {
            SET k -9223372036854775800  +OK
            DECRBY k 8  :-9223372036854775808
            DECRBY k 1  -ERR increment or decrement would overflow
            DECR k  -ERR increment or decrement would overflow
            DECRBY k -9223372036854775807  :-1
            DECRBY k 9223372036854775807  :-9223372036854775808
            INCRBY k -1  -ERR increment or decrement would overflow
            SET k 1  +OK
            DECRBY k -9223372036854775807  -ERR increment or decrement would overflow
            GET k  "1"
            DECRBY nokey 9223372036854775807  :-9223372036854775807
            SET k 1.1e4932  +OK
            INCRBYFLOAT k 1.1e4932  -ERR increment would produce NaN or Infinity
            INCRBYFLOAT k inf  -ERR increment would produce NaN or Infinity
            SET k inf  +OK
            INCRBYFLOAT k -inf  -ERR increment would produce NaN or Infinity
            GET k  "inf"
            DEL k nokey  :2
        }
    }

    test {INCRBYFLOAT of numbers of up to 5,119 characters, its own among them} {
        r del k
        assert_morethan [string length [r incrbyfloat k 1e308]] 300
        assert_equal [r get k] [r incrbyfloat k 1]
        foreach {length fits} {256 1 257 1 5119 1 5120 0} {
            set text [string repeat 0 [expr {$length - 1}]]1
            r set k $text
            if {$fits} {
                assert_equal 3 [r incrbyfloat k 2]
                assert_equal 4 [r incrbyfloat k $text]
            } else {
                assert_error {ERR value is not a valid float} {r incrbyfloat k 2}
                r set k 1
                assert_error {ERR value is not a valid float} {r incrbyfloat k $text}
            }
        }
    }

    test {SET NX sets only what is not there} {
        r del k
        assert_equal OK [r set k 1 nx]
        assert_equal {} [r set k 2 nx]
        r get k
    } {1}

    test {SET XX sets only what is there} {
        r del k
        assert_equal {} [r set k 1 xx]
        assert_equal 0 [r exists k]
        r set k 1
        assert_equal OK [r set k 2 xx]
        r get k
    } {2}

    test {A SET that was not done answers with a null} {
        set client [raw_client]
        r del k
        r select 0
        r del k
        r select 9
        $client set k 1 xx
        assert_equal "\$-1\r\n" [$client raw_reply]
        $client hello 3
        $client raw_reply
        $client set k 1 xx
        assert_equal "_\r\n" [$client raw_reply]
        $client close
    }

    test {SET GET gives the old value back} {
        r del k
        assert_equal {} [r set k 1 get]
        assert_equal 1 [r get k]
        assert_equal 1 [r set k 2 get]
        r get k
    } {2}

    test {SET XX GET of a key that is not there} {
        r del k
        assert_equal {} [r set k 1 xx get]
        assert_equal 0 [r exists k]
        r set k old
        assert_equal old [r set k new xx get]
        r get k
    } {new}

    test {SET EX and PX set a time to live} {
        r set k v ex 100
        assert_range [r ttl k] 39 100
        r set k v px 100000
        assert_range [r ttl k] 39 100
        r set k v
        r ttl k
    } {-1}

    test {SET with the same option twice: the last one counts, also for what is checked} {
        assert_equal OK [r set k v ex 1000 EX 2000]
        assert_range [r ttl k] 1930 2000
        assert_equal OK [r set k v px 1000000 PX 3000000]
        assert_range [r ttl k] 2930 3000
        assert_equal OK [r set k v ex x ex 4000]
        assert_range [r ttl k] 3930 4000
        assert_error_text {ERR value is not an integer or out of range} {r set k w ex 1 ex x}
        assert_error_text {ERR invalid expire time in set} {r set k w ex 1 ex 0}
        assert_equal {} [r set k w nx nx ex 1 ex 2]
        assert_equal v [r set k x xx xx get get keepttl keepttl]
        assert_range [r ttl k] 3930 4000
        foreach words {{ex 1 px 2} {ex 1 exat 2} {px 1 keepttl} {keepttl pxat 1} {nx xx}
                       {ex 1 ex}} {
            assert_error_text {ERR syntax error} {r set k w {*}$words} $words
        }
        r get k
    } {x}

    test {SET EXAT and PXAT set a point in time} {
        set now [clock seconds]
        r set k v exat [expr {$now + 100}]
        assert_range [r ttl k] 38 101
        r set k v pxat [expr {($now + 200) * 1000}]
        assert_range [r ttl k] 138 201
    }

    test {SET with a point in time that is past deletes} {
        foreach {option value} [list exat 1 pxat 1000 exat [expr {[clock seconds] - 10}]] {
            r set k v
            assert_equal OK [r set k v2 $option $value]
            assert_equal {} [r get k] $option
            assert_equal 0 [r exists k] $option
        }
    }

    test {SET without an option takes the time to live away, KEEPTTL keeps it} {
        r set k 1 ex 100
        r set k 2 keepttl
        assert_range [r ttl k] 30 100
        assert_equal 2 [r get k]
        r set k 3
        assert_equal -1 [r ttl k]
        r set k 4 keepttl
        assert_equal -1 [r ttl k]
        r del k
        r set k 5 keepttl
        assert_equal -1 [r ttl k]
    }

    test {KEEPTTL keeps it when the value's size changes} {
        foreach size {1 10 100 1000 10000 100000 10 1} {
            r set k x ex 1000
            r set k [string repeat x $size] keepttl
            assert_range [r ttl k] 930 1000
            assert_equal $size [string length [r get k]]
        }
    }

    test {SET that is refused by NX or XX leaves value and time to live} {
        r set k 1 ex 100
        r set k 2 nx
        assert_range [r ttl k] 30 100
        r set k 2 nx ex 1000
        assert_range [r ttl k] 30 100
        assert_equal 1 [r get k]
    }

    test {SET's options in any case and order} {
        r del k
        assert_equal OK [r set k 1 NX eX 100]
        assert_equal 1 [r set k 2 Px 100000 gEt XX]
        assert_range [r ttl k] 39 100
        assert_equal 2 [r set k 3 get KEEPTTL xx]
        assert_equal OK [r set k 4 xx xx]
        r del k
        assert_equal OK [r set k 4 nx nx]
        assert_equal 4 [r set k 5 get get]
        r set k 6 keepttl keepttl
    } {OK}

    test {SET's options that exclude each other} {
        r set k before ex 1000
        foreach options {
            {nx xx} {xx nx} {nx get} {get nx}
            {ex 1 px 1} {px 1 ex 1} {ex 1 exat 1} {px 1 pxat 1} {exat 1 pxat 1} {exat 1 px 1} \
                {pxat 1 ex 1}
            {keepttl ex 1} {ex 1 keepttl} {keepttl px 1} {pxat 1 keepttl} {keepttl exat 1}
            {ex} {px} {exat} {pxat} {nx ex} {bogus} {persist} {{}} {ex 1 bogus}
        } {
            assert_error_text {ERR syntax error} {r set k v {*}$options} $options
        }
        assert_equal before [r get k]
        assert_range [r ttl k] 900 1000
    }

    test {SET with one kind of time twice: the last one counts} {
        r set twice v ex 10 ex 1000
        assert_range [r ttl twice] 900 1000
        r set twice v px 1000000 px 100000
        assert_range [r ttl twice] 1 100
        assert_error_text {ERR value is not an integer or out of range} {r set twice v ex 10 ex x}
        r del twice
    } {1}

    test {SET's times must be integers} {
        foreach option {ex px exat pxat} {
            foreach value {x 1.5 { 1} {1 } 01 {} 9223372036854775808 1x} {
                assert_error_text {ERR value is not an integer or out of range} \
                    {r set k v $option $value}
            }
        }
    }

    test {SET's times must be positive and must not overflow} {
        foreach option {ex px exat pxat} {
            foreach value {0 -1 -9223372036854775808} {
                assert_error_text {ERR invalid expire time in set} {r set k v $option $value}
            }
        }
        assert_error_text {ERR invalid expire time in set} {r set k v ex 9223372036854775807}
        assert_error_text {ERR invalid expire time in set} {r set k v ex 9223372036854776}
        assert_error_text {ERR invalid expire time in set} {r set k v exat 9223372036854775807}
        assert_error_text {ERR invalid expire time in set} {r set k v px 9223372036854775807}
        assert_equal before [r get k]
    }

    test {The latest possible points in time} {
        assert_equal OK [r set far v pxat 9223372036854775807]
        assert_morethan [r ttl far] 9223370000000000
        assert_equal OK [r set far v exat 9223372036854775]
        assert_morethan [r ttl far] 9223370000000000
        assert_equal OK [r set far v px 99999999999999999]
        assert_equal v [r get far]
        r del far
    } {1}
}

start_server {} {
    test {INCR makes, counts and keeps integers} {
        r del n
        assert_equal 1 [r incr n]
        assert_equal 2 [r incr n]
        r set n 41
        assert_equal 42 [r incr n]
        assert_equal 42 [r get n]
        r set n -1
        assert_equal 0 [r incr n]
        r set n -9223372036854775808
        assert_equal -9223372036854775807 [r incr n]
    }

    test {INCR up to the largest integer and not beyond} {
        r set n 9223372036854775806
        assert_equal 9223372036854775807 [r incr n]
        assert_error_text {ERR increment or decrement would overflow} {r incr n}
        r get n
    } {9223372036854775807}

    test {INCR refuses what is no integer, and leaves it} {
        foreach value [list x {} { 1} {1 } 01 +1 -0 1.0 0x10 9223372036854775808\
            -9223372036854775809 "1\0"] {
            r set n $value
            assert_error_text {ERR value is not an integer or out of range} {r incr n}
            assert_equal $value [r get n]
        }
    }

    test {INCR keeps the time to live} {
        r set n 9 ex 100
        assert_equal 10 [r incr n]
        assert_range [r ttl n] 30 100
    }

    test {INCR over all lengths of a number} {
        foreach start {8 98 998 9998 99998 999998 9999999998 999999999999998} {
            r set n $start
            r incr n
            assert_equal [expr {$start + 2}] [r incr n]
            assert_equal [expr {$start + 2}] [r get n]
            r set n -[string range $start 0 end-1]9
            r incr n
            assert_equal [expr {-"[string range $start 0 end-1]9" + 1}] [r get n]
        }
    }

    test {Many clients counting one key} {
        r del n
        set clients {}
        for {set i 0} {$i < 20} {incr i} {
            lappend clients [redis_deferring_client]
        }
        for {set i 0} {$i < 100} {incr i} {
            foreach client $clients {
                $client incr n
            }
        }
        set seen {}
        foreach client $clients {
            set last 0
            for {set i 0} {$i < 100} {incr i} {
                set value [$client read]
                assert {$value > $last}
                lappend seen $value
                set last $value
            }
            $client close
        }
        assert_equal 2000 [llength [lsort -unique $seen]]
        r get n
    } {2000}

    test {INCR's arity} {
        assert_error_text {ERR wrong number of arguments for 'incr' command} {r incr}
        assert_error_text {ERR wrong number of arguments for 'incr' command} {r incr a b}
    }
}

start_server {tags {needs:list}} {
    test {String commands against another type} {
        r lpush list a
        set wrong {WRONGTYPE Operation against a key holding the wrong kind of value}
        assert_error_text $wrong {r get list}
        assert_error_text $wrong {r incr list}
        assert_error_text $wrong {r set list v get}
        assert_equal OK [r set list v]
        assert_type string list
    }
}

set wrong_type {WRONGTYPE Operation against a key holding the wrong kind of value}
set no_integer {ERR value is not an integer or out of range}
set too_long {ERR string exceeds maximum allowed size (proto-max-bulk-len)}

start_server {} {
    test {GETEX gives the value and changes the time to live} {
        r set k v
        assert_equal v [r getex k]
        assert_equal -1 [r ttl k]
        assert_equal v [r getex k ex 100]
        assert_range [r ttl k] 39 100
        assert_equal v [r getex k]
        assert_range [r ttl k] 38 100
        assert_equal v [r getex k PX 200000]
        assert_range [r ttl k] 139 200
        assert_equal v [r getex k ExAt [expr {[clock seconds] + 300}]]
        assert_range [r ttl k] 238 301
        assert_equal v [r getex k pxat [expr {([clock seconds] + 400) * 1000}]]
        assert_range [r ttl k] 338 401
        assert_equal v [r getex k ex 10 ex 500]
        assert_range [r ttl k] 439 500
        assert_equal v [r getex k persist]
        assert_equal -1 [r ttl k]
        assert_equal v [r getex k persist persist]
    }

    test {GETEX with a point in time that is past gives the value and deletes} {
        foreach {option value} {exat 1 pxat 1} {
            r set k v
            assert_equal v [r getex k $option $value]
            assert_equal 0 [r exists k]
        }
    }

    test {GETEX of a key that is not there looks at the syntax only} {
        r del k
        assert_equal {} [r getex k]
        assert_equal {} [r getex k ex x]
        assert_equal {} [r getex k ex 0]
        assert_error_text {ERR syntax error} {r getex k bogus}
        r exists k
    } {0}

    test {GETEX's errors leave key and time to live} {
        r set k v ex 1000
        foreach words {bogus ex px {ex 1 px 1} {persist ex 1} {ex 1 persist} {exat 1 pxat 1} keepttl
                       nx xx get {ex 1 bogus}} {
            assert_error_text {ERR syntax error} {r getex k {*}$words} $words
        }
        foreach option {ex px exat pxat} {
            assert_error_text $no_integer {r getex k $option x}
            assert_error_text {ERR invalid expire time in getex} {r getex k $option 0}
            assert_error_text {ERR invalid expire time in getex} {r getex k $option -1}
        }
        assert_error_text {ERR invalid expire time in getex} {r getex k ex 9223372036854775807}
        assert_range [r ttl k] 930 1000
        assert_error_text {ERR wrong number of arguments for 'getex' command} {r getex}
        r get k
    } {v}

    test {GETDEL gives the value and deletes} {
        r set k v ex 100
        assert_equal v [r getdel k]
        assert_equal 0 [r exists k]
        assert_equal {} [r getdel k]
        r set k 123
        assert_equal 123 [r getdel k]
        assert_error_text {ERR wrong number of arguments for 'getdel' command} {r getdel k k}
    }

    test {GETSET gives the old value and takes the time to live away} {
        r del k
        assert_equal {} [r getset k 1]
        assert_encoding int k
        r expire k 100
        assert_equal 1 [r getset k [string repeat x 2000]]
        assert_equal -1 [r ttl k]
        assert_equal [string repeat x 2000] [r getset k {}]
        assert_error_text {ERR wrong number of arguments for 'getset' command} {r getset k}
        r get k
    } {}

    test {SETNX sets only what is not there} {
        r del k
        assert_equal 1 [r setnx k 10]
        assert_encoding int k
        assert_equal 0 [r setnx k 20]
        assert_error_text {ERR wrong number of arguments for 'setnx' command} {r setnx k}
        r get k
    } {10}

    test {SETEX and PSETEX set a time to live} {
        assert_equal OK [r setex k 100 v]
        assert_range [r ttl k] 39 100
        assert_equal OK [r psetex k 200000 12]
        assert_range [r ttl k] 139 200
        assert_encoding int k
        r get k
    } {12}

    test {SETEX's and PSETEX's errors change nothing} {
        r set k before
        foreach command {setex psetex} {
            foreach value {0 -1 9223372036854775807} {
                assert_error_text "ERR invalid expire time in $command" {r $command k $value v}
            }
            foreach value {x 1.5 {} 9223372036854775808} {
                assert_error_text $no_integer {r $command k $value v}
            }
            assert_error_text "ERR wrong number of arguments for '$command' command" \
                {r $command k 1}
        }
        assert_equal -1 [r ttl k]
        r get k
    } {before}
}

start_server {} {
    test {MSET sets, the last of two values for a key counts} {
        assert_equal OK [r mset a 1 b two c [string repeat 3 3000] a {}]
        assert_equal [list {} two [string repeat 3 3000]] [r mget a b c]
        r expire a 100
        r mset a 7
        assert_encoding int a
        r ttl a
    } {-1}

    test {MSETNX sets all or nothing} {
        r flushall
        r set b old
        assert_equal 0 [r msetnx a 1 b 2 c 3]
        assert_equal {{} old {}} [r mget a b c]
        assert_equal 1 [r msetnx a 1 c 3 a 4]
        r mget a b c
    } {4 old 3}

    test {MSET and MSETNX without a value for each key change nothing} {
        r flushall
        foreach command {mset msetnx} {
            assert_error_text "ERR wrong number of arguments for '$command' command" {r $command}
            assert_error_text "ERR wrong number of arguments for '$command' command" {r $command a}
            assert_error_text {ERR wrong number of arguments for MSET} {r $command a 1 b}
        }
        assert_error_text {ERR wrong number of arguments for 'mget' command} {r mget}
        r dbsize
    } {0}

    test {MGET, MSET and MSETNX of many keys} {
        r flushall
        set pairs {}
        set keys {}
        set values {}
        for {set i 0} {$i < 500} {incr i} {
            set value [string repeat v [expr {$i * $i % 1500}]]
            lappend pairs key:$i $value
            lappend keys key:$i nokey:$i
            lappend values $value {}
        }
        r mset {*}$pairs
        assert {[r mget {*}$keys] eq $values}
        assert_equal 0 [r msetnx {*}[lreplace $pairs 0 0 other]]
        r flushall
        assert_equal 1 [r msetnx {*}$pairs]
        assert {[r mget {*}$keys] eq $values}
    }

    test {MGET and its like count hits and misses} {
        r flushall
        r mset a 1 b 2
        foreach {words hits misses} {
            {mget a b c a} 3 1
            {getex a} 1 0
            {getset a 1} 1 0
            {set a 1 get} 1 0
            {set a 1 nx} 0 0
            {getrange a 0 0} 1 0
            {stralgo lcs keys a nokey} 1 1
            {append a 1} 0 0
            {setrange a 0 1} 0 0
            {msetnx a 1 b 2} 0 0
            {getdel b} 1 0
            {getdel b} 0 1
        } {
            r config resetstat
            r {*}$words
            assert_equal [list $hits $misses] [list [s keyspace_hits] [s keyspace_misses]] $words
        }
    }
}

start_server {} {
    test {GETRANGE and SUBSTR count from either end} {
        r set k "Hello World"
        foreach {start end wanted} {
            0 3 Hell 0 -1 {Hello World} -4 -1 orld -1 -4 {} 5 3 {} 5 50000 { World}
            -50000 5000 {Hello World} -100 -50 H -5 -100 {} -100 -99 H 11 12 {} 10 12 d
            -9223372036854775808 9223372036854775807 {Hello World}
            9223372036854775807 9223372036854775807 {} -1 9223372036854775807 d
        } {
            assert_equal $wanted [r getrange k $start $end] "$start $end"
            assert_equal $wanted [r substr k $start $end] "$start $end"
        }
        r set k 12345
        assert_equal 234 [r getrange k 1 -2]
        assert_equal {} [r getrange nokey 0 -1]
        r set k {}
        assert_equal {} [r getrange k 0 -1]
        r getrange k -1 0
    } {}

    test {GETRANGE of random parts} {
        set text [random_string 100000 100000]
        r set k $text
        for {set i 0} {$i < [accurate 200 2000]} {incr i} {
            set start [random_int 100000]
            set end [random_int 100000]
            assert {[r getrange k $start $end] eq [string range $text $start $end]} "$start $end"
        }
    }

    test {GETRANGE's errors} {
        foreach command {getrange substr} {
            assert_error_text $no_integer {r $command k x 1}
            assert_error_text $no_integer {r $command k 1 x}
            assert_error_text $no_integer {r $command nokey x 1}
            assert_error_text $no_integer {r $command k 9223372036854775808 1}
            assert_error_text "ERR wrong number of arguments for '$command' command" \
                {r $command k 1}
        }
    }

    test {SETRANGE overwrites, lengthens, and puts zeros between} {
        r del k
        assert_equal 5 [r setrange k 0 Hello]
        assert_equal 11 [r setrange k 6 World]
        assert_equal "Hello\0World" [r get k]
        assert_equal 11 [r setrange k 5 { }]
        assert_equal "Hello World" [r get k]
        assert_equal 3000 [r setrange k 2999 !]
        assert_equal "Hello World[string repeat \0 2988]!" [r get k]
        assert_equal 100000 [r setrange k 99999 !]
        r getrange k 2998 3001
    } "\0!\0\0"

    test {SETRANGE of nothing changes nothing} {
        r set k 12345
        assert_equal 5 [r setrange k 100 {}]
        assert_equal 0 [r setrange nokey 100 {}]
        assert_encoding int k
        r exists nokey
    } {0}

    test {SETRANGE's errors change nothing} {
        r set k v
        assert_error_text {ERR offset is out of range} {r setrange k -1 x}
        assert_error_text $no_integer {r setrange k x x}
        assert_error_text $too_long {r setrange k 536870912 x}
        assert_error_text $too_long {r setrange k 536870911 xx}
        assert_error_text $too_long {r setrange k 9223372036854775807 x}
        assert_error_text $too_long {r setrange nokey 9223372036854775807 x}
        assert_equal 0 [r exists nokey]
        r get k
    } {v}

    test {proto-max-bulk-len bounds SETRANGE and APPEND} {
        with_config {proto-max-bulk-len 1mb} {
            r del k
            assert_error_text $too_long {r setrange k 1048576 x}
            assert_equal 0 [r exists k]
            assert_equal 1048576 [r setrange k 1048575 x]
            assert_error_text $too_long {r append k x}
            assert_equal 1048576 [r append k {}]
            assert_equal 1048576 [r strlen k]
        }
        assert_equal 1048577 [r append k x]
    }

    test {What a write leaves: int, embstr or raw} {
        foreach {words encoding} {
            {set k 12} int
            {append k 3} raw
            {incr k} int
            {incrbyfloat k 1} embstr
            {append k {}} raw
            {set k 12} int
            {append k {}} raw
            {set k abc} embstr
            {setrange k 0 x} raw
            {del k} {}
            {append k 12} int
            {del k} {}
            {append k {}} embstr
            {del k} {}
            {setrange k 0 12} raw
            {incr k} int
            {setrange k 1 9} raw
            {getset k 01} embstr
            {mset k 9223372036854775807} int
        } {
            r {*}$words
            if {$encoding ne ""} {
                assert_encoding $encoding k
            }
        }
        r append k [string repeat x 100]
        r set k [string repeat x 44]
        assert_encoding embstr k
        r set k [string repeat x 45]
        assert_encoding raw k
    }

    test {APPEND grows through all sizes and keeps the time to live} {
        r del k
        r set k {} ex 1000
        set text ""
        while {[string length $text] < 300000} {
            set piece [random_string 0 [random_pick {1 50 3000 40000}]]
            append text $piece
            assert_equal [string length $text] [r append k $piece]
            if {[random_int 8] == 0} {
                assert {[r get k] eq $text}
            }
        }
        assert {[r get k] eq $text}
        assert_range [r ttl k] 900 1000
    }

    test {Random APPEND, SETRANGE, SET and GETRANGE against a model} {
        array unset model
        for {set i 0} {$i < 6} {incr i} {
            r set w:$i {}
            set model($i) ""
        }
        for {set i 0} {$i < [accurate 3000 30000]} {incr i} {
            set n [random_int 6]
            switch [random_int 4] {
                0 {
                    set piece [random_string 0 [random_pick {3 100 3000}] compressible]
                    assert_equal [string length $model($n)$piece] [r append w:$n $piece]
                    append model($n) $piece
                }
                1 {
                    set at [random_int 3000]
                    set piece [random_string 1 50 compressible]
                    set old $model($n)
                    if {[string length $old] < $at} {
                        append old [string repeat \0 [expr {$at - [string length $old]}]]
                    }
                    set end [expr {$at + [string length $piece] - 1}]
                    set model($n) "[string range $old 0 $at-1]$piece[string range $old $end+1 end]"
                    assert_equal [string length $model($n)] [r setrange w:$n $at $piece]
                }
                2 {
                    set model($n) [random_pick [list {} 12345 [random_string 0 60]]]
                    r set w:$n $model($n)
                }
                3 {
                    set start [random_int 4000]
                    set end [expr {$start + [random_int 4000]}]
                    set wanted [string range $model($n) $start $end]
                    assert {[r getrange w:$n $start $end] eq $wanted} "$n $start $end"
                }
            }
        }
        for {set i 0} {$i < 6} {incr i} {
            assert {[r get w:$i] eq $model($i)} $i
        }
    }
}

start_server {} {
    test {STRALGO LCS: the text, its length, its places} {
        r mset a ohmytext b mynewtext
        foreach source {{strings ohmytext mynewtext} {keys a b}} {
            assert_equal mytext [r stralgo lcs {*}$source]
            assert_equal 6 [r stralgo lcs {*}$source len]
            assert_equal 6 [r STRALGO LCS LEN {*}$source]
            assert_equal {matches {{{4 7} {5 8}} {{2 3} {0 1}}} len 6} \
                [r stralgo lcs {*}$source idx]
            assert_equal {matches {{{4 7} {5 8} 4} {{2 3} {0 1} 2}} len 6} \
                [r stralgo lcs idx withmatchlen {*}$source]
            assert_equal {matches {{{4 7} {5 8}}} len 6} \
                [r stralgo lcs idx {*}$source minmatchlen 4]
            assert_equal {matches {} len 6} [r stralgo lcs idx {*}$source minmatchlen 5]
            assert_equal mytext [r stralgo lcs {*}$source minmatchlen 5 withmatchlen]
        }
    }

    test {STRALGO LCS of empty strings, numbers and missing keys} {
        r set n 12345
        assert_equal {} [r stralgo lcs strings {} {}]
        assert_equal {matches {} len 0} [r stralgo lcs strings {} x idx]
        assert_equal {} [r stralgo lcs keys nokey n]
        assert_equal 0 [r stralgo lcs keys n nokey len]
        assert_equal 12345 [r stralgo lcs keys n n]
    }

    test {STRALGO LCS: which of several that are equally long} {
        assert_equal cbba [r stralgo lcs strings abcabba cbabac]
        assert_equal baba [r stralgo lcs strings cbabac abcabba]
        assert_equal {matches {{{5 6} {3 4}} {{4 4} {1 1}} {{2 2} {0 0}}} len 4} \
            [r stralgo lcs strings abcabba cbabac idx]
        assert_equal {matches {{{2 3} {0 1}}} len 2} [r stralgo lcs strings aaaa aa idx]
        assert_equal {matches {{{0 1} {2 3}}} len 2} [r stralgo lcs strings aa aaaa idx]
    }

    test {STRALGO LCS IDX is a map in RESP3} {
        set client [raw_client]
        $client hello 3
        $client raw_reply
        $client stralgo lcs idx strings ab ab
        set wanted "%2\r\n\$7\r\nmatches\r\n*1\r\n*2\r\n*2\r\n:0\r\n:1\r\n*2\r\n:0\r\n:1\r\n"
        assert_equal "$wanted\$3\r\nlen\r\n:2\r\n" [$client raw_reply]
        $client close
    }

    test {STRALGO LCS of random strings: places, text and length agree} {
        for {set i 0} {$i < [accurate 100 1000]} {incr i} {
            set a [random_string 0 [random_pick {10 100 500}] compressible]
            set b [random_string 0 [random_pick {10 100 500}] compressible]
            set text [r stralgo lcs strings $a $b]
            assert_equal [string length $text] [r stralgo lcs strings $a $b len]
            assert_equal [string length $text] [r stralgo lcs strings $b $a len]
            set joined ""
            foreach match [lindex [r stralgo lcs strings $a $b idx] 1] {
                lassign $match in_a in_b
                assert_equal [string range $a {*}$in_a] [string range $b {*}$in_b]
                set joined [string range $a {*}$in_a]$joined
            }
            assert_equal $text $joined
        }
    }

    test {STRALGO's errors} {
        assert_error_text {ERR wrong number of arguments for 'stralgo' command} {r stralgo}
        assert_error_text \
            {ERR Please specify two strings: STRINGS or KEYS options are mandatory} {r stralgo lcs}
        assert_error_text \
            {ERR Please specify two strings: STRINGS or KEYS options are mandatory} \
            {r stralgo lcs idx len}
        foreach words {bogus {bogus strings a b} {lcs strings a} {lcs strings} {lcs keys a}
                       {lcs bogus} {lcs strings a b bogus} {lcs strings a b minmatchlen}} {
            assert_error_text {ERR syntax error} {r stralgo {*}$words} $words
        }
        assert_error_text {ERR If you want both the length and indexes, please just use IDX.} \
            {r stralgo lcs strings a b len idx}
        foreach words {{strings a b strings c d} {strings a b keys c d} {keys a b strings c d}} {
            assert_error_text {ERR Either use STRINGS or KEYS} {r stralgo lcs {*}$words} $words
        }
        assert_error_text $no_integer {r stralgo lcs strings a b minmatchlen x}
    }

    test {STRALGO LCS of strings that are too large for it} {
        if {![accurate 0 1]} {
            skip "wants 4 GiB of memory: --accurate"
        }
        with_config {proto-max-bulk-len 4gb} {
            r setrange a 4294967293 x
            r set b x
            assert_error_text {ERR String too long for LCS} {r stralgo lcs keys a b len}
            assert_error_text {ERR String too long for LCS} {r stralgo lcs keys b a}
            r del a
        }
    } {1}

    test {STRALGO LCS of strings whose comparison is too large} {
        r setrange a 104857599 x
        assert_error_text {ERR Insufficient memory} {r stralgo lcs keys a a len}
        assert_error_text {ERR Insufficient memory} {r stralgo lcs keys a a idx}
        r del a
    } {1} {ours}
}

start_server {tags {needs:list}} {
    test {More string commands against another type} {
        r lpush list a
        foreach words {{getset list x} {getdel list} {getex list} {getex list ex 0}
                       {getrange list 0 1} {substr list 0 1} {setrange list 0 x}
                       {setrange list 0 {}} {setrange list 536870912 x} {append list x}
                       {strlen list} {incrby list 1} {decr list} {incrbyfloat list 1}} {
            assert_error_text $wrong_type {r {*}$words} $words
        }
        assert_error_text {ERR offset is out of range} {r setrange list -1 x}
        assert_error_text {ERR The specified keys must contain string values} \
            {r stralgo lcs keys list nokey}
        assert_error_text {ERR The specified keys must contain string values} \
            {r stralgo lcs keys nokey list bogus}
        assert_equal {{} {}} [r mget list nokey]
        assert_equal 0 [r setnx list x]
        assert_equal 0 [r msetnx list x other y]
        assert_type list list
        r setex list 100 x
        assert_type string list
    }

    # A large argument becomes the value without a copy, and goes with it where the same key comes
    # again; whoever repeats the request reads all of its arguments at its end.
    test {MSET of one key again and again: log and replicas are given each large value} {
        set request {mset}
        foreach letter {a b c d} {
            lappend request again [string repeat $letter 100000]
        }
        foreach lazily {no yes} {
            r config set lazyfree-lazy-server-del $lazily
            r debug effects start
            r {*}$request
            r multi
            r {*}$request
            r exec
            foreach form {log stream} {
                lassign [r debug effects $form] alone begin within end
                assert {[lrange $alone 1 end] eq $request}
                assert {[lrange $within 1 end] eq $request}
            }
            r debug effects stop
        }
        r config set lazyfree-lazy-server-del no
        r del again
    } {1} {ours}
}
