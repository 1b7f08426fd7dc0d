# SPDX-License-Identifier: BSD-3-Clause
# GET, SET with all its options, INCR.

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
                    assert_equal [expr {[info exists model($key)] ? $model($key) : ""}] [r get $key]
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
        assert_range [r ttl k] 99 100
        r set k v px 100000
        assert_range [r ttl k] 99 100
        r set k v
        r ttl k
    } {-1}

    test {SET EXAT and PXAT set a point in time} {
        set now [clock seconds]
        r set k v exat [expr {$now + 100}]
        assert_range [r ttl k] 98 101
        r set k v pxat [expr {($now + 200) * 1000}]
        assert_range [r ttl k] 198 201
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
        assert_range [r ttl k] 90 100
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
            assert_range [r ttl k] 990 1000
            assert_equal $size [string length [r get k]]
        }
    }

    test {SET that is refused by NX or XX leaves value and time to live} {
        r set k 1 ex 100
        r set k 2 nx
        assert_range [r ttl k] 90 100
        r set k 2 nx ex 1000
        assert_range [r ttl k] 90 100
        assert_equal 1 [r get k]
    }

    test {SET's options in any case and order} {
        r del k
        assert_equal OK [r set k 1 NX eX 100]
        assert_equal 1 [r set k 2 Px 100000 gEt XX]
        assert_range [r ttl k] 99 100
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
        r set twice v px 1000000 px 10000
        assert_range [r ttl twice] 1 10
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
        assert_range [r ttl n] 90 100
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
