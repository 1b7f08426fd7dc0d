# SPDX-License-Identifier: BSD-3-Clause
# HyperLogLogs: replies, errors, bytes as 6.2 has them, estimates.

start_server {tags {hyperloglog}} {
    test {HyperLogLogs: replies, errors and bytes} {
        assert_conversation {
            PFADD h a b c  :1
            PFADD h a  :0
            PFADD h d  :1
            PFCOUNT h  :4
            STRLEN h  :30
            OBJECT ENCODING h  "raw"
            PFADD e  :1
            PFADD e  :0
            PFCOUNT e no h  :4
            PFCOUNT no  :0
            PFMERGE m h e  +OK
            PFCOUNT m  :4
            PFMERGE m2  +OK
            PFDEBUG ENCODING h  +sparse
            PFDEBUG DECODE h  "Z:7292 v:1,1 Z:1143 v:1,1 Z:4274 v:2,1 Z:3068 v:1,1 Z:603"
            PFDEBUG TODENSE h  :1
            PFDEBUG TODENSE h  :0
            PFDEBUG ENCODING h  +dense
            PFDEBUG DECODE h  -ERR HLL encoding is not sparse
            PFCOUNT h  :4
            PFADD h zzz  :1
            PFCOUNT h  :5
            STRLEN h  :12304
            PFDEBUG ENCODING no  -ERR The specified key does not exist
            PFDEBUG FOO h  -ERR Unknown PFDEBUG subcommand 'FOO'
            PFDEBUG FOO no  -ERR The specified key does not exist
            PFDEBUG GETREG h x  -ERR Wrong number of arguments for the 'GETREG' subcommand
            PFDEBUG ENCODING  -ERR wrong number of arguments for 'pfdebug' command
            PFDEBUG TODENSE h x  -ERR Wrong number of arguments for the 'TODENSE' subcommand
            SET s x  +OK
            PFADD s a  -WRONGTYPE Key is not a valid HyperLogLog string value.
            PFCOUNT s  -WRONGTYPE Key is not a valid HyperLogLog string value.
            PFCOUNT h s  -WRONGTYPE Key is not a valid HyperLogLog string value.
            PFMERGE s h  -WRONGTYPE Key is not a valid HyperLogLog string value.
            PFMERGE d s  -WRONGTYPE Key is not a valid HyperLogLog string value.
            PFDEBUG ENCODING s  -WRONGTYPE Key is not a valid HyperLogLog string value.
            LPUSH l a  :1
            PFADD l a  -WRONGTYPE Operation against a key holding the wrong kind of value
            PFCOUNT l  -WRONGTYPE Operation against a key holding the wrong kind of value
            PFMERGE d l  -WRONGTYPE Operation against a key holding the wrong kind of value
            APPEND e hello  :23
            PFADD e x  :1
            PFCOUNT e  -INVALIDOBJ Corrupted HLL object detected
            PFMERGE z e  -INVALIDOBJ Corrupted HLL object detected
            PFADD e2 x  :1
            APPEND e2 x01  :23
            PFCOUNT e2 h  -INVALIDOBJ Corrupted HLL object detected
            PFCOUNT h  :5
            PFADD ex a  :1
            EXPIRE ex 1000  :1
            PFADD ex b c d e f  :1
            TTL ex  :1000
            PFMERGE m h2 m2  +OK
            PFADD  -ERR wrong number of arguments for 'pfadd' command
            PFCOUNT  -ERR wrong number of arguments for 'pfcount' command
            PFMERGE  -ERR wrong number of arguments for 'pfmerge' command
        }
    }

    test {the bytes are those of 6.2} {
        r del h
        r pfadd h a b c
        assert_equal 48594c4c01000000000000000000008060f38050b1844bfb80425a \
            [binary encode hex [r get h]]
        r pfadd h d
        assert_equal 4 [r pfcount h]
        assert_equal 48594c4c01000000040000000000000 [string range [binary encode hex [r get h]] 0\
                30]
    }

    # Registers that no element gives. 6.2 replies the same.
    test {foreign registers of any value are counted} {
        foreach byte {ff b2 0c} {
            r set h HYLL\0[string repeat \0 10]\x80[string repeat [binary decode hex $byte] 12288]
            set count [r pfcount h]
            assert_equal $count [r pfcount h]
            assert_equal $count [r pfcount h nokey]
            assert_equal OK [r pfmerge m h]
            assert_equal $count [r pfcount m]
            lappend counts $count
            r del m
        }
        set counts
    } {-9223372036854775808 48408813 33606}

    # As 6.2: a run of values behind the last register ends the walk, but not that of PFCOUNT.
    test {sparse ones with bytes behind their runs} {
        r del h
        r pfadd h a b c
        set good [r get h]
        foreach {tail refused} {\x80 0 \xff\x00 0 \x80\x7f\xff 0 \x00 1 \x7f\xff 1 \x7f 1} {
            foreach length {1 14000 70000} {
                set text $good$tail[string repeat [string index $tail end] $length]
                foreach {command key} {
                    {pfmerge h} h  {pfmerge d h} d  {pfcount h nokey} {}  {pfdebug todense h} h
                    {pfdebug getreg h} h
                } {
                    r set h $text
                    r del d
                    set name "$command, $length times [binary encode hex $tail]"
                    if {$refused} {
                        assert_error {INVALIDOBJ *} {r {*}$command}
                        assert_equal $text [r get h] $name
                    } else {
                        r {*}$command
                        if {$key ne "" && $command ne "pfmerge h"} {
                            assert_equal 3 [r pfcount $key] $name
                        }
                    }
                }
                r set h $text
                assert_equal 0 [r pfadd h a]
                assert_equal $text [r get h]
                assert_error {INVALIDOBJ *} {r pfcount h}
                if {$refused && $length > 3000} {
                    assert_error {INVALIDOBJ *} {r pfadd h zzz}
                    assert_equal $text [r get h]
                } else {
                    assert_equal 1 [r pfadd h zzz]
                    assert_equal [expr {$length > 3000 ? "dense" : "sparse"}] [r pfdebug encoding h]
                }
            }
        }
        with_config {hll-sparse-max-bytes 100000} {
            r set h $good[string repeat \x80 20000]
            assert_equal 1 [r pfadd h zzz]
            assert_equal {20030 sparse} [list [r strlen h] [r pfdebug encoding h]]
            # Ours alone: no sparse one is stored that is longer than runs can be.
            r set h $good[string repeat \x80 70000]
            assert_equal 1 [r pfadd h zzz y x]
            assert_equal {dense 6} [list [r pfdebug encoding h] [r pfcount h]]
        }
    }

    test {PFADD to long foreign runs} {
        r del h
        r set h HYLL\1[string repeat \0 11][string repeat @\0 16384]
        assert_equal 0 [r pfcount h]
        with_config {hll-sparse-max-bytes 100000} {
            r pfadd h a b c
            assert_equal {sparse 3} [list [r pfdebug encoding h] [r pfcount h]]
            assert_equal OK [r pfmerge h]
            r pfadd h {*}[lmap i [lrepeat 300 x] {incr n}]
            assert {abs([r pfcount h] - 303) < 20}
        }
        r pfadd h q
        assert_equal OK [r pfmerge d h]
        assert {abs([r pfcount d] - 304) < 20}
    }

    test {a sparse one that ends within a run is refused by whoever comes to that} {
        r del h
        r pfadd h a b c
        set good [r get h]
        for {set cut 1} {$cut < [string length $good] - 16} {incr cut} {
            r set h [string range $good 0 end-$cut]
            assert_error {INVALIDOBJ *} {r pfcount h}
            assert_error {INVALIDOBJ *} {r pfmerge d h}
            assert_error {INVALIDOBJ *} {r pfdebug todense h}
            catch {r pfadd h q w e r t y u i o p}
        }
        assert_equal PONG [r ping]
    }

    test {estimates and encodings on the way to 100,000 elements} {
        r del h
        set added 0
        foreach target {10 100 1000 10000 100000} {
            while {$added < $target} {
                set elements {}
                for {set i 0} {$i < 10} {incr i} {
                    lappend elements element:[incr added]
                }
                r pfadd h {*}$elements
            }
            set error [expr {abs([r pfcount h] - $target) / double($target)}]
            assert {$error < 0.04} "($target elements: error $error)"
        }
        assert_equal dense [r pfdebug encoding h]
        assert_equal OK [r pfselftest]
    }

    test {PFMERGE is the union, sparse and dense} {
        foreach {first second} {100 100 100 20000 20000 100} {
            r del a b both m
            for {set i 0} {$i < $first} {incr i 10} {
                set elements [lmap k {0 1 2 3 4 5 6 7 8 9} {expr {$i + $k}}]
                r pfadd a {*}$elements
                r pfadd both {*}$elements
            }
            for {set i 0} {$i < $second} {incr i 10} {
                set elements [lmap k {0 1 2 3 4 5 6 7 8 9} {expr {$i + $k + 50}}]
                r pfadd b {*}$elements
                r pfadd both {*}$elements
            }
            r pfmerge m a b
            assert_equal [r pfcount both] [r pfcount m]
            assert_equal [r pfcount both] [r pfcount a b]
            assert_equal [r pfdebug getreg both] [r pfdebug getreg m]
        }
    }

    test {hll-sparse-max-bytes: 0 makes every one dense} {
        with_config {hll-sparse-max-bytes 0} {
            r del h
            r pfadd h a b
            assert_equal dense [r pfdebug encoding h]
            assert_equal 2 [r pfcount h]
        }
    }

    test {what is no HyperLogLog, or a corrupt one, is refused and stays as it is} {
        foreach bytes {HYLL HYLL\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00xx \
                HYLL\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x80\x7f} {
            r set h [subst -nocommands -novariables $bytes]
            set before [r get h]
            foreach command {{pfcount h} {pfmerge other h} {pfadd h x}} {
                assert_error {*} {r {*}$command}
            }
            assert_equal $before [r get h]
        }
    }
}
