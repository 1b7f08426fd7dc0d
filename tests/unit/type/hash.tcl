# SPDX-License-Identifier: BSD-3-Clause
# Hashes: replies and errors, both encodings against a model.

start_server {tags {hash}} {
    test {hashes: replies and errors} {
        assert_conversation {
            HSET h a 1 b 2 c x  :3
            HSET h a  -ERR wrong number of arguments for 'hset' command
            HMSET h a  -ERR wrong number of arguments for 'hmset' command
            HMSET h a 1 b  -ERR wrong number of arguments for 'hmset' command
            HSET h a 5 d 6  :1
            HGET h a  "5"
            HGET h zz  nil
            HGET no a  nil
            HMGET h a zz b  * {"5"} nil {"2"}
            HMGET no a b  * nil nil
            HGETALL h  * {"a"} {"5"} {"b"} {"2"} {"c"} {"x"} {"d"} {"6"}
            HGETALL no  *
            HKEYS h  * {"a"} {"b"} {"c"} {"d"}
            HVALS h  * {"5"} {"2"} {"x"} {"6"}
            HLEN h  :4
            HLEN no  :0
            HSTRLEN h c  :1
            HSTRLEN h zz  :0
            HEXISTS h a  :1
            HEXISTS h zz  :0
            HSETNX h a 9  :0
            HSETNX h n 9  :1
            HINCRBY h a 3  :8
            HINCRBY h c 3  -ERR hash value is not an integer
            HINCRBY h a 9223372036854775807  -ERR increment or decrement would overflow
            HINCRBY h new 7  :7
            HINCRBYFLOAT h a 1.5  "9.5"
            HINCRBYFLOAT h c 1  -ERR hash value is not a float
            HINCRBYFLOAT h a nan  -ERR value is not a valid float
            HINCRBYFLOAT h a inf  -ERR value is NaN or Infinity
            HINCRBYFLOAT h a x  -ERR value is not a valid float
            HINCRBYFLOAT h f2 3.0e3  "3000"
            HINCRBY h f2 1  :3001
            HDEL h a b zz a  :2
            HDEL no a  :0
            SET s x  +OK
            HGET s a  -WRONGTYPE Operation against a key holding the wrong kind of value
            HSET s a b  -WRONGTYPE Operation against a key holding the wrong kind of value
            HDEL s a  -WRONGTYPE Operation against a key holding the wrong kind of value
            HRANDFIELD s  -WRONGTYPE Operation against a key holding the wrong kind of value
            HRANDFIELD no  nil
            HRANDFIELD no 3  *
            HRANDFIELD h x  -ERR value is not an integer or out of range
            HRANDFIELD h 1 foo  -ERR syntax error
            HRANDFIELD h 1 withvalues foo  -ERR syntax error
            HRANDFIELD h 0  *
            HRANDFIELD h -9223372036854775808  -ERR value is out of range, value must between\
                -9223372036854775807 and 9223372036854775807
            HRANDFIELD h -9223372036854775808 WITHVALUES  -ERR value is out of range, value must\
                between -9223372036854775807 and 9223372036854775807
            HRANDFIELD h 9223372036854775807 WITHVALUES  -ERR value is out of range
            HRANDFIELD h -9223372036854775807 WITHVALUES  -ERR value is out of range
            HRANDFIELD no 9223372036854775807 WITHVALUES  -ERR value is out of range
            HSCAN h x  -ERR invalid cursor
            HSCAN h 0  * {"0"} {* {"c"} {"x"} {"d"} {"6"} {"n"} {"9"} {"new"} {"7"} {"f2"} {"3001"}}
            HSCAN no 0  * {"0"} *
            HSCAN no 0 foo  * {"0"} *
            HSCAN s 0  -WRONGTYPE Operation against a key holding the wrong kind of value
            HSCAN h 0 MATCH c*  * {"0"} {* {"c"} {"x"}}
            HSCAN h 0 COUNT 0  -ERR syntax error
            HSCAN h 0 COUNT x  -ERR value is not an integer or out of range
            HSCAN h 0 FOO x  -ERR syntax error
            HSCAN h 0 COUNT  -ERR syntax error
            DEL h2  :0
            HSET h2 {} {}  :1
            HGETALL h2  * {""} {""}
            HDEL h2 {}  :1
            EXISTS h2  :0
            OBJECT ENCODING h  "ziplist"
            HSET h big xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx  :1
            OBJECT ENCODING h  "hashtable"
            DEBUG DIGEST-VALUE no  * +0000000000000000000000000000000000000000
            TYPE h  +hash
            COPY h h3  :1
            HLEN h3  :6
            RENAME h3 h4  +OK
            HSTRLEN h4 big  :65
            HSET i 01 1 +1 2 -0 3 1 4 { 1} 5 99999999999999999999 6 1.0 7  :7
            HGETALL i  * {"01"} {"1"} {"+1"} {"2"} {"-0"} {"3"} {"1"} {"4"} {" 1"} {"5"}\
                {"99999999999999999999"} {"6"} {"1.0"} {"7"}
            HINCRBY i 1 2  :6
            HINCRBY i 01 2  :3
            HINCRBY i 99999999999999999999 1  :7
            HSET ov m -9223372036854775808  :1
            HINCRBY ov m -1  -ERR increment or decrement would overflow
            HGET ov m  "-9223372036854775808"
            HINCRBYFLOAT ov m 0.1  "-9223372036854775808"
        }
    }

    # As 6.2, which measures the arguments of HSET, HMSET and HSETNX only.
    test {HINCRBY and HINCRBYFLOAT beyond hash-max-ziplist-value} {
        with_config {hash-max-ziplist-value 4 hash-max-ziplist-entries 3} {
            r del h
            assert_conversation {
                HSET h a 1  :1
                HINCRBY h a 123456  :123457
                HINCRBY h longfield 1  :1
                HINCRBYFLOAT h b 0.125  "0.125"
                OBJECT ENCODING h  "ziplist"
                HGETALL h  * {"a"} {"123457"} {"longfield"} {"1"} {"b"} {"0.125"}
                HINCRBY h c 1  :1
                OBJECT ENCODING h  "hashtable"
                DEL h  :1
                HINCRBY h longfield 1  :1
                OBJECT ENCODING h  "ziplist"
                HSET h a 1  :1
                OBJECT ENCODING h  "ziplist"
                HSETNX h b 12345  :1
                OBJECT ENCODING h  "hashtable"
                HINCRBYFLOAT h longfield 1e17  "100000000000000001"
            }
        }
    }

    test {HINCRBYFLOAT beyond every number} {
        r del h
        assert_conversation {
            HSET h f 1.1e4932 i inf n -inf  :3
            HINCRBYFLOAT h f 1.1e4932  -ERR increment would produce NaN or Infinity
            HINCRBYFLOAT h f -inf  -ERR value is NaN or Infinity
            HINCRBYFLOAT h i 1  -ERR increment would produce NaN or Infinity
            HINCRBYFLOAT h n 1  -ERR increment would produce NaN or Infinity
            HINCRBYFLOAT h new nan  -ERR value is not a valid float
            HGET h f  "1.1e4932"
            HLEN h  :3
        }
    }

    test {HRANDFIELD of one} {
        foreach entries {512 1} {
            with_config "hash-max-ziplist-entries $entries" {
                r del h
                r hset h a 1 b 2 c 3
                set seen {}
                for {set i 0} {$i < 1000 && [dict size $seen] < 3} {incr i} {
                    dict set seen [r hrandfield h] 1
                }
                assert_equal {a b c} [lsort [dict keys $seen]]
                assert_equal {a b c} [lsort [r hrandfield h 100]]
                lassign [r hrandfield h 1] field
                assert {$field in {a b c}}
            }
        }
    }

    foreach {encoding entries} {ziplist 512 hashtable 4} {
        test "hashes against a model: $encoding" {
            with_config [list hash-max-ziplist-entries $entries] {
                r del h
                set model {}
                for {set i 0} {$i < [accurate 1500 10000]} {incr i} {
                    set field f[random_int 300]
                    switch [random_int 4] {
                        0 - 1 {
                            set value [random_string 0 40]
                            assert_equal [expr {![dict exists $model $field]}] \
                                [r hset h $field $value]
                            dict set model $field $value
                        }
                        2 {
                            assert_equal [dict exists $model $field] [r hdel h $field]
                            dict unset model $field
                        }
                        3 {
                            set value {}
                            if {[dict exists $model $field]} {
                                set value [dict get $model $field]
                            }
                            assert_equal $value [r hget h $field]
                        }
                    }
                }
                assert_equal [lsort -stride 2 $model] [lsort -stride 2 [r hgetall h]]
                assert_encoding $encoding h
                assert_equal [dict size $model] [r hlen h]
                set found {}
                set cursor 0
                while 1 {
                    lassign [r hscan h $cursor count 20] cursor part
                    lappend found {*}$part
                    if {$cursor == 0} break
                }
                assert_equal [lsort -stride 2 $model] [lsort -stride 2 [dict merge $found]]
                foreach count {1 5 40 100000} {
                    set chosen [r hrandfield h $count withvalues]
                    set wanted [expr {min($count, [dict size $model])}]
                    assert_equal $wanted [dict size $chosen]
                    assert_equal [expr {$wanted * 2}] [llength $chosen]
                    dict for {field value} $chosen {
                        assert_equal $value [dict get $model $field]
                    }
                }
                assert_equal 500 [llength [r hrandfield h -500]]
            }
        }
    }

    test {HRANDFIELD: every field comes, none far too often} {
        r del h
        for {set i 0} {$i < 20} {incr i} {
            r hset h field$i [string repeat x [expr {$i == 19 ? 100 : 1}]]
        }
        assert_encoding hashtable h
        foreach field [r hrandfield h -20000] {
            incr times($field)
        }
        assert_equal 20 [array size times]
        foreach {field count} [array get times] {
            assert_range $count 700 1300 $field
        }
    }

    test {hash-max-ziplist-value: a longer value makes a table, for good} {
        r del h
        r hset h a [string repeat x 64]
        assert_encoding ziplist h
        r hset h a [string repeat x 65]
        assert_encoding hashtable h
        r hset h a x
        assert_encoding hashtable h
    }
}
