# SPDX-License-Identifier: BSD-3-Clause
# Sorted sets: replies and errors, both encodings against a model, ranges, combinations, clients
# that wait.

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

# A score as the server writes it.
proc score {value} {
    return [format %.17g $value]
}

# The dict of members and scores as a list of pairs, in the order of a sorted set.
proc ordered {model} {
    set pairs {}
    dict for {member score} $model {
        lappend pairs [list $member $score]
    }
    return [lsort -real -index 1 [lsort -index 0 $pairs]]
}

# Members and scores in turn, whatever the protocol.
proc flat {pairs} {
    set result {}
    foreach pair $pairs {
        lassign $pair member score
        lappend result $member [score $score]
    }
    return $result
}

# A reply WITHSCORES in that form.
proc scored {reply} {
    if {$::options(resp3)} {
        return [flat $reply]
    }
    set result {}
    foreach {member score} $reply {
        lappend result $member [score $score]
    }
    return $result
}

proc members_of {pairs} {
    return [lmap pair $pairs {lindex $pair 0}]
}

proc random_score {} {
    return [score [expr {([random_int 80] - 40) / 2.0}]]
}

# What is within a range of scores; `low` and `high` as ZRANGEBYSCORE takes them.
proc within_scores {pairs low high} {
    set result {}
    foreach pair $pairs {
        set score [lindex $pair 1]
        set above [expr {[string match (* $low] ? $score > [string range $low 1 end]
                                                : $score >= $low}]
        set below [expr {[string match (* $high] ? $score < [string range $high 1 end]
                                                 : $score <= $high}]
        if {$above && $below} {
            lappend result $pair
        }
    }
    return $result
}

proc random_bound {} {
    return [random_pick {{} (}][random_score]
}

# The same for a sorted list of texts; bounds as ZRANGEBYLEX takes them.
proc within_texts {texts low high} {
    set result {}
    foreach text $texts {
        set from [string range $low 1 end]
        set to [string range $high 1 end]
        set above [switch [string index $low 0] {
            - {expr 1}
            + {expr 0}
            ( {expr {[string compare $text $from] > 0}}
            default {expr {[string compare $text $from] >= 0}}
        }]
        set below [switch [string index $high 0] {
            + {expr 1}
            - {expr 0}
            ( {expr {[string compare $text $to] < 0}}
            default {expr {[string compare $text $to] <= 0}}
        }]
        if {$above && $below} {
            lappend result $text
        }
    }
    return $result
}

proc random_text_bound {} {
    if {[random_int 8] == 0} {
        return [random_pick {- +}]
    }
    return [random_pick {( \[}][random_string 0 3 compressible]
}

# OFFSET and LIMIT: a negative limit is none, a negative offset gives nothing.
proc limited {list offset limit} {
    if {$offset < 0} {
        return {}
    }
    return [lrange $list $offset [expr {$limit < 0 ? "end" : $offset + $limit - 1}]]
}

# Fills a key with a random sorted set, or, where `plain`, a set; returns it as a dict.
proc random_zset {key size plain} {
    set model {}
    r del $key
    for {set i 0} {$i < $size} {incr i} {
        set member m[random_int 150]
        set score [expr {$plain ? 1 : [random_score]}]
        dict set model $member $score
        if {$plain} {
            r sadd $key $member
        } else {
            r zadd $key $score $member
        }
    }
    return $model
}

# Two doubles that may differ by rounding only.
proc combined {how a b} {
    switch $how {
        sum { return [score [expr {$a + $b}]] }
        min { return [score [expr {min($a, $b)}]] }
        max { return [score [expr {max($a, $b)}]] }
    }
}

start_server {tags {zset}} {
    test {members of sorted sets: replies and errors} {
        assert_conversation {
            ZADD z 1 a 2 b 3 c  :3
            ZADD z 1 a 5 d  :1
            ZADD z CH 2 a 5 d 7 e  :2
            ZADD z  -ERR wrong number of arguments for 'zadd' command
            ZADD z 1  -ERR wrong number of arguments for 'zadd' command
            ZADD z x a  -ERR value is not a valid float
            ZADD z 1 a x b  -ERR value is not a valid float
            ZSCORE z a  "2"
            ZADD z nan a  -ERR value is not a valid float
            ZADD z 1 a 2  -ERR syntax error
            ZADD z NX  -ERR wrong number of arguments for 'zadd' command
            ZADD z NX XX 1 a  -ERR XX and NX options at the same time are not compatible
            ZADD z GT LT 1 a  -ERR GT, LT, and/or NX options at the same time are not compatible
            ZADD z GT NX 1 a  -ERR GT, LT, and/or NX options at the same time are not compatible
            ZADD z LT NX CH 1 a  -ERR GT, LT, and/or NX options at the same time are not compatible
            ZADD z NX XX GT 1  -ERR syntax error
            ZADD z INCR 1 a 2 b  -ERR INCR option supports a single increment-element pair
            ZADD z NX 9 a 9 f  :1
            ZADD z XX 9 g  :0
            ZADD z XX CH 9 f 8 e  :1
            ZADD z GT CH 1 a 10 b  :1
            ZADD z LT CH 1 a 11 b  :1
            ZADD z GT 1 new  :1
            ZADD z INCR 5 a  "6"
            ZADD z NX INCR 5 a  nil
            ZADD z XX INCR 5 nope  nil
            ZADD z GT INCR -1 a  nil
            ZADD z LT INCR 1 a  nil
            ZADD z LT INCR -1 a  "5"
            ZADD z XX INCR 0 a  "5"
            ZADD nokey XX 1 a  :0
            EXISTS nokey  :0
            ZADD nokey XX INCR 1 a  nil
            ZADD nokey GT XX x a  -ERR value is not a valid float
            ZADD inf inf a -inf b +inf c Infinity d  :4
            ZADD inf INCR -inf a  -ERR resulting score is not a number (NaN)
            ZADD inf INCR inf a  "inf"
            ZINCRBY inf -inf a  -ERR resulting score is not a number (NaN)
            ZADD inf 1e999 z  -ERR value is not a valid float
            ZADD inf 1e308 z  :1
            ZADD inf INCR 1e308 z  "inf"
            ZADD inf INCR -inf z  -ERR resulting score is not a number (NaN)
            ZSCORE inf z  "inf"
            ZADD z -0 zero  :1
            ZSCORE z zero  "-0"
            ZADD z CH 0 zero  :0
            ZSCORE z zero  "-0"
            ZADD z 0x10 hex  :1
            ZSCORE z hex  "16"
            ZADD z { 1} blank  -ERR value is not a valid float
            ZADD z {1 } blank  -ERR value is not a valid float
            ZADD z {} blank  -ERR value is not a valid float
            ZADD z 3.0 three 0.1 tenth 1e20 big 1e-7 small 123456789012345680 large\
                3.14159265358979 pi 0.30000000000000004 third  :7
            ZRANGE z 0 -1 WITHSCORES  * {"zero"} {"-0"} {"small"} {"9.9999999999999995e-08"}\
                {"tenth"} {"0.10000000000000001"} {"third"} {"0.30000000000000004"} {"new"} {"1"}\
                {"c"} {"3"} {"three"} {"3"} {"pi"} {"3.14159265358979"} {"a"} {"5"} {"d"} {"5"}\
                {"e"} {"8"} {"f"} {"9"} {"b"} {"10"} {"hex"} {"16"} {"large"}\
                {"1.2345678901234568e+17"} {"big"} {"1e+20"}
            ZREM z hex nope hex  :1
            ZREM nokey a  :0
            ZREM z  -ERR wrong number of arguments for 'zrem' command
            SET str x  +OK
            ZADD str 1 a  -WRONGTYPE Operation against a key holding the wrong kind of value
            ZADD str XX 1 a  -WRONGTYPE Operation against a key holding the wrong kind of value
            ZADD str x a  -ERR value is not a valid float
            ZREM str a  -WRONGTYPE Operation against a key holding the wrong kind of value
            ZCARD str  -WRONGTYPE Operation against a key holding the wrong kind of value
            ZCARD nokey  :0
            ZCARD z  :15
            ZSCORE str a  -WRONGTYPE Operation against a key holding the wrong kind of value
            ZSCORE nokey a  nil
            ZSCORE z nope  nil
            ZMSCORE z a nope b  * {"5"} nil {"10"}
            ZMSCORE nokey a b  * nil nil
            ZMSCORE str a  -WRONGTYPE Operation against a key holding the wrong kind of value
            ZMSCORE z  -ERR wrong number of arguments for 'zmscore' command
            ZRANK z a  :8
            ZRANK z nope  nil
            ZRANK nokey a  nil
            ZRANK str a  -WRONGTYPE Operation against a key holding the wrong kind of value
            ZREVRANK z a  :6
            ZREVRANK z nope  nil
            ZREVRANK nokey a  nil
            ZREVRANK str a  -WRONGTYPE Operation against a key holding the wrong kind of value
            ZRANK z a WITHSCORE  -ERR wrong number of arguments for 'zrank' command
            ZINCRBY z 1 a  "6"
            ZINCRBY z 1  -ERR wrong number of arguments for 'zincrby' command
            ZINCRBY z x a  -ERR value is not a valid float
            ZINCRBY z NX a  -ERR syntax error
            ZINCRBY str 1 a  -WRONGTYPE Operation against a key holding the wrong kind of value
            ZINCRBY newz 2.5 m  "2.5"
            ZINCRBY newz 2.5 m  "5"
            ZINCRBY newz nan m  -ERR value is not a valid float
            ZPOPMIN nokey  *
            ZPOPMIN nokey 5  *
            ZPOPMIN nokey x  -ERR value is not an integer or out of range
            ZPOPMIN str  -WRONGTYPE Operation against a key holding the wrong kind of value
            ZPOPMIN str 0  *
            ZPOPMIN str -1  *
            ZPOPMIN str 1 2  -ERR syntax error
            ZPOPMIN z 0  *
            ZPOPMIN z -1  *
            ZPOPMIN z x  -ERR value is not an integer or out of range
            ZPOPMIN z 1 2  -ERR syntax error
            ZADD p 1 a 2 b 3 c 4 d 5 e  :5
            ZPOPMIN p  * {"a"} {"1"}
            ZPOPMAX p  * {"e"} {"5"}
            ZPOPMIN p 2  * {"b"} {"2"} {"c"} {"3"}
            ZPOPMAX p 99  * {"d"} {"4"}
            EXISTS p  :0
            ZPOPMAX str 0  *
            ZPOPMAX p  *
            BZPOPMIN nokey x  -ERR timeout is not a float or out of range
            BZPOPMIN nokey -1  -ERR timeout is negative
            BZPOPMIN nokey  -ERR wrong number of arguments for 'bzpopmin' command
            BZPOPMIN str 0  -WRONGTYPE Operation against a key holding the wrong kind of value
            BZPOPMIN nokey str 0  -WRONGTYPE Operation against a key holding the wrong kind of value
            BZPOPMIN nokey z 0  * {"z"} {"zero"} {"-0"}
            BZPOPMAX nokey z str 0  * {"z"} {"big"} {"1e+20"}
            BZPOPMIN nokey 0.01  nil*
            BZPOPMAX nokey nokey2 0.01  nil*
            ZRANDMEMBER nokey  nil
            ZRANDMEMBER nokey 5  *
            ZRANDMEMBER nokey x  -ERR value is not an integer or out of range
            ZRANDMEMBER str  -WRONGTYPE Operation against a key holding the wrong kind of value
            ZRANDMEMBER str 1  -WRONGTYPE Operation against a key holding the wrong kind of value
            ZRANDMEMBER str 0  -WRONGTYPE Operation against a key holding the wrong kind of value
            ZRANDMEMBER z 0  *
            ZRANDMEMBER z x  -ERR value is not an integer or out of range
            ZRANDMEMBER z 1 BOGUS  -ERR syntax error
            ZRANDMEMBER z 1 WITHSCORES x  -ERR syntax error
            ZRANDMEMBER z 1 x WITHSCORES  -ERR syntax error
            ZRANDMEMBER z -9223372036854775808  -ERR value is out of range, value must between\
                -9223372036854775807 and 9223372036854775807
            ZRANDMEMBER z 9223372036854775807 WITHSCORES  -ERR value is out of range
            ZRANDMEMBER z -9223372036854775807 WITHSCORES  -ERR value is out of range
            ZRANDMEMBER z 4611686018427387904 WITHSCORES  -ERR value is out of range
            ZRANDMEMBER z 0 WITHSCORES  *
            ZRANDMEMBER nokey 0 WITHSCORES  *
            ZADD one 1.5 m  :1
            ZRANDMEMBER one  "m"
            ZRANDMEMBER one 1  * {"m"}
            ZRANDMEMBER one 5 WITHSCORES  * {"m"} {"1.5"}
            ZRANDMEMBER one -3  * {"m"} {"m"} {"m"}
            ZRANDMEMBER one -2 WITHSCORES  * {"m"} {"1.5"} {"m"} {"1.5"}
            ZSCAN one 0  * {"0"} {* {"m"} {"1.5"}}
            ZSCAN nokey 0  * {"0"} *
            ZSCAN one x  -ERR invalid cursor
            ZSCAN one 0 FOO  -ERR syntax error
            ZSCAN one 0 COUNT 0  -ERR syntax error
            ZSCAN one 0 COUNT 10 MATCH n*  * {"0"} *
            ZSCAN str 0  -WRONGTYPE Operation against a key holding the wrong kind of value
            ZSCAN one  -ERR wrong number of arguments for 'zscan' command
            CONFIG SET zset-max-ziplist-entries 128  +OK
            ZADD two 1 a 2 b -0 z inf i -inf j 0.1 t  :6
            ZSCAN two 0  * {"0"} {* {"j"} {"-inf"} {"z"} {"-0"} {"t"} {"0.10000000000000001"}\
                {"a"} {"1"} {"b"} {"2"} {"i"} {"inf"}}
        } 2
    }

    test {ranges: replies and errors} {
        assert_conversation {
            FLUSHDB  +OK
            ZADD z 1 a 2 b 3 c 4 d 5 e  :5
            ZADD lex 0 a 0 b 0 c 0 d 0 e  :5
            SET str x  +OK
            ZRANGE z 0 -1  * {"a"} {"b"} {"c"} {"d"} {"e"}
            ZRANGE z 0 -1 withscores  * {"a"} {"1"} {"b"} {"2"} {"c"} {"3"} {"d"} {"4"} {"e"} {"5"}
            ZRANGE z 1 2 REV WITHSCORES  * {"d"} {"4"} {"c"} {"3"}
            ZRANGE z -2 -1  * {"d"} {"e"}
            ZRANGE z -100 100  * {"a"} {"b"} {"c"} {"d"} {"e"}
            ZRANGE z 3 1  *
            ZRANGE z 5 9  *
            ZRANGE z 9223372036854775807 -9223372036854775808  *
            ZRANGE z -9223372036854775808 9223372036854775807  * {"a"} {"b"} {"c"} {"d"} {"e"}
            ZRANGE z 9223372036854775808 1  -ERR value is not an integer or out of range
            ZRANGE nokey 0 -1  *
            ZRANGE nokey a b  -ERR value is not an integer or out of range
            ZRANGE str 0 -1  -WRONGTYPE Operation against a key holding the wrong kind of value
            ZRANGE str a b  -ERR value is not an integer or out of range
            ZRANGE z 0  -ERR wrong number of arguments for 'zrange' command
            ZRANGE z 0 -1 BOGUS  -ERR syntax error
            ZRANGE z 0 -1 LIMIT 0 1  -ERR syntax error, LIMIT is only supported in combination\
                with either BYSCORE or BYLEX
            ZRANGE z 0 -1 LIMIT 0 -1  * {"a"} {"b"} {"c"} {"d"} {"e"}
            ZRANGE z 0 -1 LIMIT 3 -1  * {"a"} {"b"} {"c"} {"d"} {"e"}
            ZRANGE z 0 -1 LIMIT 0  -ERR syntax error
            ZRANGE z 0 -1 LIMIT a b  -ERR value is not an integer or out of range
            ZRANGE z 0 -1 LIMIT 0 1 BYSCORE  *
            ZRANGE z 1 3 BYSCORE  * {"a"} {"b"} {"c"}
            ZRANGE z 3 1 BYSCORE  *
            ZRANGE z 3 1 BYSCORE REV  * {"c"} {"b"} {"a"}
            ZRANGE z (1 (3 BYSCORE WITHSCORES  * {"b"} {"2"}
            ZRANGE z -inf +inf BYSCORE LIMIT 1 2  * {"b"} {"c"}
            ZRANGE z -inf +inf BYSCORE LIMIT 1 -1  * {"b"} {"c"} {"d"} {"e"}
            ZRANGE z -inf +inf BYSCORE LIMIT -1 2  *
            ZRANGE z -inf +inf BYSCORE LIMIT 0 0  *
            ZRANGE z -inf +inf BYSCORE LIMIT 9 9  *
            ZRANGE z -inf +inf BYSCORE LIMIT 2 -5  * {"c"} {"d"} {"e"}
            ZRANGE z -inf +inf BYSCORE LIMIT 1 1 LIMIT 0 2  * {"a"} {"b"}
            ZRANGE z +inf -inf BYSCORE REV LIMIT 1 2 WITHSCORES  * {"d"} {"4"} {"c"} {"3"}
            ZRANGE z a b BYSCORE  -ERR min or max is not a float
            ZRANGE z nan 1 BYSCORE  -ERR min or max is not a float
            ZRANGE z {} 2 BYSCORE  * {"a"} {"b"}
            ZRANGE z ( 2 BYSCORE  * {"a"} {"b"}
            ZRANGE z { 2} 3 BYSCORE  * {"b"} {"c"}
            ZRANGE z {2 } 3 BYSCORE  -ERR min or max is not a float
            ZRANGE z 0x2 1e999 BYSCORE  * {"b"} {"c"} {"d"} {"e"}
            ZRANGE z ((1 2 BYSCORE  -ERR min or max is not a float
            ZRANGE lex - + BYLEX  * {"a"} {"b"} {"c"} {"d"} {"e"}
            ZRANGE lex {[b} (d BYLEX  * {"b"} {"c"}
            ZRANGE lex + - BYLEX  *
            ZRANGE lex + - BYLEX REV LIMIT 1 2  * {"d"} {"c"}
            ZRANGE lex - - BYLEX  *
            ZRANGE lex + + BYLEX  *
            ZRANGE lex a b BYLEX  -ERR min or max not valid string range item
            ZRANGE lex {[a} b BYLEX  -ERR min or max not valid string range item
            ZRANGE lex {} + BYLEX  -ERR min or max not valid string range item
            ZRANGE lex -x + BYLEX  -ERR min or max not valid string range item
            ZRANGE lex {[} {[c} BYLEX  * {"a"} {"b"} {"c"}
            ZRANGE lex ( (c BYLEX  * {"a"} {"b"}
            ZRANGE lex {[c} {[c} BYLEX  * {"c"}
            ZRANGE lex (c {[c} BYLEX  *
            ZRANGE lex - + BYLEX WITHSCORES  -ERR syntax error, WITHSCORES not supported in\
                combination with BYLEX
            ZRANGE lex - + BYLEX BYSCORE  -ERR syntax error
            ZRANGE lex - + BYSCORE BYLEX  -ERR syntax error
            ZRANGE lex - + WITHSCORES BYLEX LIMIT 0 x  -ERR value is not an integer or out of range
            ZREVRANGE z 0 1  * {"e"} {"d"}
            ZREVRANGE z 0 1 WITHSCORES  * {"e"} {"5"} {"d"} {"4"}
            ZREVRANGE z 0 1 REV  -ERR syntax error
            ZREVRANGE z 0 1 BYSCORE  -ERR syntax error
            ZREVRANGE z 0 1 LIMIT 0 1  -ERR syntax error, LIMIT is only supported in combination\
                with either BYSCORE or BYLEX
            ZREVRANGE z 0 1 LIMIT 0 -1  * {"e"} {"d"}
            ZREVRANGE z x 1  -ERR value is not an integer or out of range
            ZREVRANGE nokey 0 1  *
            ZREVRANGE str 0 1  -WRONGTYPE Operation against a key holding the wrong kind of value
            ZRANGEBYSCORE z 1 2  * {"a"} {"b"}
            ZRANGEBYSCORE z 1 2 WITHSCORES  * {"a"} {"1"} {"b"} {"2"}
            ZRANGEBYSCORE z 1 2 REV  -ERR syntax error
            ZRANGEBYSCORE z 1 2 BYLEX  -ERR syntax error
            ZRANGEBYSCORE z 1 5 LIMIT 1 2 WITHSCORES  * {"b"} {"2"} {"c"} {"3"}
            ZRANGEBYSCORE z 1 5 LIMIT 1  -ERR syntax error
            ZRANGEBYSCORE z 1 5 LIMIT x 1  -ERR value is not an integer or out of range
            ZRANGEBYSCORE z a b  -ERR min or max is not a float
            ZRANGEBYSCORE nokey a b  -ERR min or max is not a float
            ZRANGEBYSCORE nokey 1 2  *
            ZRANGEBYSCORE str 1 2  -WRONGTYPE Operation against a key holding the wrong kind of\
                value
            ZREVRANGEBYSCORE z 2 1  * {"b"} {"a"}
            ZREVRANGEBYSCORE z 1 2  *
            ZREVRANGEBYSCORE z +inf (2 WITHSCORES LIMIT 1 1  * {"d"} {"4"}
            ZREVRANGEBYSCORE z a b  -ERR min or max is not a float
            ZRANGEBYLEX lex - {[c}  * {"a"} {"b"} {"c"}
            ZRANGEBYLEX lex - {[c} WITHSCORES  -ERR syntax error, WITHSCORES not supported in\
                combination with BYLEX
            ZRANGEBYLEX lex - + LIMIT 1 2  * {"b"} {"c"}
            ZRANGEBYLEX lex - + LIMIT -1 2  *
            ZRANGEBYLEX lex x +  -ERR min or max not valid string range item
            ZRANGEBYLEX str - +  -WRONGTYPE Operation against a key holding the wrong kind of value
            ZRANGEBYLEX nokey - +  *
            ZREVRANGEBYLEX lex + {[c}  * {"e"} {"d"} {"c"}
            ZREVRANGEBYLEX lex {[c} (a LIMIT 0 1  * {"c"}
            ZREVRANGEBYLEX lex - +  *
            ZCOUNT z 1 3  :3
            ZCOUNT z (1 +inf  :4
            ZCOUNT z 3 1  :0
            ZCOUNT z a b  -ERR min or max is not a float
            ZCOUNT nokey a b  -ERR min or max is not a float
            ZCOUNT nokey 1 2  :0
            ZCOUNT str 1 2  -WRONGTYPE Operation against a key holding the wrong kind of value
            ZCOUNT str a 2  -ERR min or max is not a float
            ZCOUNT z 1  -ERR wrong number of arguments for 'zcount' command
            ZLEXCOUNT lex - +  :5
            ZLEXCOUNT lex (a {[c}  :2
            ZLEXCOUNT lex + -  :0
            ZLEXCOUNT lex a b  -ERR min or max not valid string range item
            ZLEXCOUNT nokey - +  :0
            ZLEXCOUNT str - +  -WRONGTYPE Operation against a key holding the wrong kind of value
            ZRANGESTORE d z 0 -1  :5
            ZRANGE d 0 -1 WITHSCORES  * {"a"} {"1"} {"b"} {"2"} {"c"} {"3"} {"d"} {"4"} {"e"} {"5"}
            ZRANGESTORE d z 2 1  :0
            EXISTS d  :0
            ZRANGESTORE d z (1 3 BYSCORE  :2
            ZRANGESTORE d z 3 (1 BYSCORE REV LIMIT 0 1  :1
            ZRANGE d 0 -1 WITHSCORES  * {"c"} {"3"}
            ZRANGESTORE d lex {[b} + BYLEX LIMIT 1 2  :2
            ZRANGE d 0 -1 WITHSCORES  * {"c"} {"0"} {"d"} {"0"}
            ZRANGESTORE d z 0 -1 WITHSCORES  -ERR syntax error
            ZRANGESTORE d z 0 -1 LIMIT 0 1  -ERR syntax error, LIMIT is only supported in\
                combination with either BYSCORE or BYLEX
            ZRANGESTORE d z 0  -ERR wrong number of arguments for 'zrangestore' command
            ZRANGESTORE d z a b  -ERR value is not an integer or out of range
            ZRANGESTORE d nokey 0 -1  :0
            EXISTS d  :0
            ZRANGESTORE d str 0 -1  -WRONGTYPE Operation against a key holding the wrong kind of\
                value
            ZRANGESTORE str z 0 1  :2
            TYPE str  +zset
            OBJECT ENCODING str  "ziplist"
            ZRANGESTORE z z 0 2  :3
            ZRANGE z 0 -1  * {"a"} {"b"} {"c"}
            SET str x  +OK
            ZADD r 1 a 2 b 3 c 4 d 5 e  :5
            ZREMRANGEBYRANK r 1 2  :2
            ZREMRANGEBYRANK r 9 10  :0
            ZREMRANGEBYRANK r 2 1  :0
            ZREMRANGEBYRANK r x 1  -ERR value is not an integer or out of range
            ZREMRANGEBYRANK nokey 0 1  :0
            ZREMRANGEBYRANK nokey x 1  -ERR value is not an integer or out of range
            ZREMRANGEBYRANK str 0 1  -WRONGTYPE Operation against a key holding the wrong kind of\
                value
            ZREMRANGEBYRANK str x 1  -ERR value is not an integer or out of range
            ZREMRANGEBYRANK r -1 -1  :1
            ZREMRANGEBYRANK r 0 -1  :2
            EXISTS r  :0
            ZADD r 1 a 2 b 3 c 4 d 5 e  :5
            ZREMRANGEBYSCORE r (1 2  :1
            ZREMRANGEBYSCORE r 5 4  :0
            ZREMRANGEBYSCORE r a b  -ERR min or max is not a float
            ZREMRANGEBYSCORE str a b  -ERR min or max is not a float
            ZREMRANGEBYSCORE str 1 2  -WRONGTYPE Operation against a key holding the wrong kind of\
                value
            ZREMRANGEBYSCORE nokey 1 2  :0
            ZREMRANGEBYSCORE r -inf +inf  :4
            EXISTS r  :0
            ZREMRANGEBYLEX lex (a {[c}  :2
            ZREMRANGEBYLEX lex + -  :0
            ZREMRANGEBYLEX lex x y  -ERR min or max not valid string range item
            ZREMRANGEBYLEX str - +  -WRONGTYPE Operation against a key holding the wrong kind of\
                value
            ZREMRANGEBYLEX nokey - +  :0
            ZREMRANGEBYLEX lex - +  :3
            EXISTS lex  :0
            ZREMRANGEBYLEX lex -  -ERR wrong number of arguments for 'zremrangebylex' command
        } 2
    }

    test {unions, intersections, differences: replies and errors} {
        assert_conversation {
            FLUSHDB  +OK
            ZADD a 1 x 2 y 3 z  :3
            ZADD b 10 y 20 z 30 w  :3
            SADD s y z q  :3
            SET str x  +OK
            ZUNION 2 a b  * {"x"} {"y"} {"z"} {"w"}
            ZUNION 2 a b WITHSCORES  * {"x"} {"1"} {"y"} {"12"} {"z"} {"23"} {"w"} {"30"}
            ZINTER 2 a b WITHSCORES  * {"y"} {"12"} {"z"} {"23"}
            ZDIFF 2 a b WITHSCORES  * {"x"} {"1"}
            ZUNION 2 a s WITHSCORES  * {"q"} {"1"} {"x"} {"1"} {"y"} {"3"} {"z"} {"4"}
            ZINTER 2 s a WITHSCORES  * {"y"} {"3"} {"z"} {"4"}
            ZDIFF 2 s a WITHSCORES  * {"q"} {"1"}
            ZUNION 1 s WITHSCORES  * {"q"} {"1"} {"y"} {"1"} {"z"} {"1"}
            ZUNION 2 a b WEIGHTS 2 3 WITHSCORES  * {"x"} {"2"} {"y"} {"34"} {"z"} {"66"} {"w"}\
                {"90"}
            ZUNION 2 a b WEIGHTS 2  -ERR syntax error
            ZUNION 2 a b WEIGHTS 2 x  -ERR weight value is not a float
            ZUNION 2 a b WEIGHTS 2 3 4  -ERR syntax error
            ZUNION 2 a b WEIGHTS nan 3  -ERR weight value is not a float
            ZUNION 2 a b WEIGHTS inf -inf WITHSCORES  * {"w"} {"-inf"} {"y"} {"0"} {"z"} {"0"}\
                {"x"} {"inf"}
            ZUNION 2 a b AGGREGATE MIN WITHSCORES  * {"x"} {"1"} {"y"} {"2"} {"z"} {"3"} {"w"}\
                {"30"}
            ZUNION 2 a b AGGREGATE max WITHSCORES  * {"x"} {"1"} {"y"} {"10"} {"z"} {"20"} {"w"}\
                {"30"}
            ZUNION 2 a b AGGREGATE SUM WITHSCORES  * {"x"} {"1"} {"y"} {"12"} {"z"} {"23"} {"w"}\
                {"30"}
            ZUNION 2 a b AGGREGATE  -ERR syntax error
            ZUNION 2 a b AGGREGATE foo  -ERR syntax error
            ZUNION 2 a b AGGREGATE MIN WEIGHTS 1 100 WITHSCORES  \
                * {"x"} {"1"} {"y"} {"2"} {"z"} {"3"} {"w"} {"3000"}
            ZUNION 2 a b WITHSCORES WITHSCORES  * {"x"} {"1"} {"y"} {"12"} {"z"} {"23"} {"w"} {"30"}
            ZUNION 2 a b foo  -ERR syntax error
            ZUNION 3 a b  -ERR syntax error
            ZUNION 0 a  -ERR at least 1 input key is needed for zunion
            ZUNION -1 a  -ERR at least 1 input key is needed for zunion
            ZUNION x a  -ERR value is not an integer or out of range
            ZUNION 2 a  -ERR syntax error
            ZUNION 1  -ERR wrong number of arguments for 'zunion' command
            ZUNION 2 a nokey  * {"x"} {"y"} {"z"}
            ZUNION 2 nokey nokey  *
            ZUNION 2 nokey str  -WRONGTYPE Operation against a key holding the wrong kind of value
            ZUNION 2 a str  -WRONGTYPE Operation against a key holding the wrong kind of value
            ZUNION 2 a str foo  -WRONGTYPE Operation against a key holding the wrong kind of value
            ZUNION 3 str a  -ERR syntax error
            ZINTER 2 a nokey  *
            ZINTER 2 a str  -WRONGTYPE Operation against a key holding the wrong kind of value
            ZINTER 2 nokey str  -WRONGTYPE Operation against a key holding the wrong kind of value
            ZINTER 0 a  -ERR at least 1 input key is needed for zinter
            ZINTER 2 a a WITHSCORES  * {"x"} {"2"} {"y"} {"4"} {"z"} {"6"}
            ZINTER 2 a a WEIGHTS 2 3 WITHSCORES  * {"x"} {"5"} {"y"} {"10"} {"z"} {"15"}
            ZINTER 3 a b s WEIGHTS 1 2 3 AGGREGATE MAX WITHSCORES  * {"y"} {"20"} {"z"} {"40"}
            ZDIFF 1 a  * {"x"} {"y"} {"z"}
            ZDIFF 2 a nokey WITHSCORES  * {"x"} {"1"} {"y"} {"2"} {"z"} {"3"}
            ZDIFF 2 nokey a  *
            ZDIFF 2 a a  *
            ZDIFF 2 a str  -WRONGTYPE Operation against a key holding the wrong kind of value
            ZDIFF 2 nokey str  -WRONGTYPE Operation against a key holding the wrong kind of value
            ZDIFF 2 a b WEIGHTS 1 2  -ERR syntax error
            ZDIFF 2 a b AGGREGATE MIN  -ERR syntax error
            ZDIFF 0 a  -ERR at least 1 input key is needed for zdiff
            ZDIFF 0  -ERR wrong number of arguments for 'zdiff' command
            ZUNIONSTORE d 2 a b  :4
            ZRANGE d 0 -1 WITHSCORES  * {"x"} {"1"} {"y"} {"12"} {"z"} {"23"} {"w"} {"30"}
            ZUNIONSTORE d 2 a b WITHSCORES  -ERR syntax error
            ZUNIONSTORE d 0 a  -ERR at least 1 input key is needed for zunionstore
            ZUNIONSTORE d 2 a  -ERR syntax error
            ZUNIONSTORE d x a  -ERR value is not an integer or out of range
            ZUNIONSTORE d 2 a str  -WRONGTYPE Operation against a key holding the wrong kind of\
                value
            ZUNIONSTORE d 2 nokey nokey  :0
            EXISTS d  :0
            ZINTERSTORE d 2 a b AGGREGATE MIN  :2
            ZRANGE d 0 -1 WITHSCORES  * {"y"} {"2"} {"z"} {"3"}
            ZINTERSTORE d 2 a nokey  :0
            EXISTS d  :0
            ZINTERSTORE d 0 a  -ERR at least 1 input key is needed for zinterstore
            ZDIFFSTORE d 2 a b  :1
            ZRANGE d 0 -1 WITHSCORES  * {"x"} {"1"}
            ZDIFFSTORE d 2 a a  :0
            EXISTS d  :0
            ZDIFFSTORE d 0 a  -ERR at least 1 input key is needed for zdiffstore
            ZDIFFSTORE d 2 a b WITHSCORES  -ERR syntax error
            ZUNIONSTORE str 1 a  :3
            TYPE str  +zset
            OBJECT ENCODING str  "ziplist"
            ZUNIONSTORE a 2 a b WEIGHTS 1 10  :4
            ZRANGE a 0 -1 WITHSCORES  * {"x"} {"1"} {"y"} {"102"} {"z"} {"203"} {"w"} {"300"}
            ZADD i inf m -inf n 0 o  :3
            ZADD j -inf m inf n inf o  :3
            ZUNION 2 i j WITHSCORES  * {"m"} {"0"} {"n"} {"0"} {"o"} {"inf"}
            ZINTER 2 i j WITHSCORES  * {"m"} {"0"} {"n"} {"0"} {"o"} {"inf"}
            ZUNION 2 i j WEIGHTS 0 1 WITHSCORES  * {"m"} {"-inf"} {"n"} {"inf"} {"o"} {"inf"}
            ZUNION 2 i j WEIGHTS 1 0 WITHSCORES  * {"n"} {"-inf"} {"o"} {"0"} {"m"} {"inf"}
            ZINTER 2 i j WEIGHTS 1 0 WITHSCORES  * {"m"} {"0"} {"n"} {"0"} {"o"} {"0"}
            ZINTER 2 i j WEIGHTS 1 0 AGGREGATE MIN WITHSCORES  \
                * {"n"} {"-inf"} {"o"} {"0"} {"m"} {"inf"}
            ZINTER 2 i j WEIGHTS 1 0 AGGREGATE MAX WITHSCORES  \
                * {"n"} {"-inf"} {"o"} {"0"} {"m"} {"inf"}
            ZUNION 2 i j WEIGHTS 1 0 AGGREGATE MIN WITHSCORES  \
                * {"n"} {"-inf"} {"m"} {"0"} {"o"} {"0"}
            ZINTER 2 i i WEIGHTS 1 0 WITHSCORES  * {"m"} {"0"} {"n"} {"0"} {"o"} {"0"}
            ZINTER 2 i i WEIGHTS 0 1 AGGREGATE MIN WITHSCORES  \
                * {"n"} {"-inf"} {"m"} {"0"} {"o"} {"0"}
            ZINTER 2 i i WEIGHTS 1 0 AGGREGATE MIN WITHSCORES  \
                * {"n"} {"-inf"} {"o"} {"0"} {"m"} {"inf"}
            ZUNION 1 i WEIGHTS 0 WITHSCORES  * {"m"} {"0"} {"n"} {"0"} {"o"} {"0"}
            ZADD n1 0.1 m  :1
            ZADD n2 0.2 m 1 k  :2
            ZADD n3 0.3 m 1 k 2 l  :3
            ZUNION 3 n1 n2 n3 WITHSCORES  * {"m"} {"0.60000000000000009"} {"k"} {"2"} {"l"} {"2"}
            ZUNION 3 n3 n2 n1 WITHSCORES  * {"m"} {"0.60000000000000009"} {"k"} {"2"} {"l"} {"2"}
            ZUNION 3 n3 n1 n2 WITHSCORES  * {"m"} {"0.60000000000000009"} {"k"} {"2"} {"l"} {"2"}
            ZINTER 3 n3 n2 n1 WITHSCORES  * {"m"} {"0.60000000000000009"}
            ZADD e1 0.1 m  :1
            ZADD e2 0.2 m  :1
            ZADD e3 0.3 m  :1
            ZUNION 3 e1 e2 e3 WITHSCORES  * {"m"} {"0.60000000000000009"}
            ZUNION 3 e3 e2 e1 WITHSCORES  * {"m"} {"0.59999999999999998"}
            ZUNION 3 e2 e3 e1 WITHSCORES  * {"m"} {"0.59999999999999998"}
            ZINTER 3 e3 e2 e1 WITHSCORES  * {"m"} {"0.59999999999999998"}
        } 2
    }

    test {plain sets of both encodings in ZUNION, ZINTER and ZDIFF} {
        r del ints words z
        r sadd ints 1 2 3
        r sadd words 2 3 a [string repeat long 100]
        r zadd z 10 3 20 b
        assert_conversation {
            ZUNION 1 ints WITHSCORES  * {"1"} {"1"} {"2"} {"1"} {"3"} {"1"}
            ZUNION 1 ints WEIGHTS -inf WITHSCORES  * {"1"} {"-inf"} {"2"} {"-inf"} {"3"} {"-inf"}
            ZUNION 2 z ints WITHSCORES  \
                * {"1"} {"1"} {"2"} {"1"} {"3"} {"11"} {"b"} {"20"}
            ZUNION 2 ints ints AGGREGATE MAX WITHSCORES  * {"1"} {"1"} {"2"} {"1"} {"3"} {"1"}
            ZINTER 2 words ints WEIGHTS 2 3 WITHSCORES  * {"2"} {"5"} {"3"} {"5"}
            ZINTER 3 words ints z WITHSCORES  * {"3"} {"12"}
            ZDIFF 2 ints words WITHSCORES  * {"1"} {"1"}
            ZUNIONSTORE d 3 words ints z AGGREGATE MIN  :6
            ZSCORE d 3  "1"
        } 2
        assert_equal [lsort [r smembers words]] [lsort [r zunion 1 words]]
    }

    test {keys of commands that count them} {
        assert_conversation {
            COMMAND GETKEYS ZUNIONSTORE d 2 a b WEIGHTS 1 2  * {"a"} {"b"} {"d"}
            COMMAND GETKEYS ZUNION 2 a b  * {"a"} {"b"}
            COMMAND GETKEYS ZDIFFSTORE d 1 a  * {"a"} {"d"}
            COMMAND GETKEYS ZDIFF 2 a b  * {"a"} {"b"}
            COMMAND GETKEYS ZINTER 2 a  -ERR Invalid arguments specified for command
            COMMAND GETKEYS ZRANGESTORE d s 0 1  * {"d"} {"s"}
            COMMAND GETKEYS BZPOPMIN a b 0  * {"a"} {"b"}
        } 2
    }

    test {RESP3: scores are doubles, and stand beside their members} {
        assert_conversation {
            FLUSHDB  +OK
            ZADD z 1 a 2 b 3.5 c inf d  :4
            ZADD z INCR 1.5 a  ,2.5
            ZADD z NX INCR 1.5 a  null
            ZINCRBY z 1 a  ,3.5
            ZSCORE z a  ,3.5
            ZSCORE z no  null
            ZSCORE nokey a  null
            ZMSCORE z a no  * ,3.5 null
            ZMSCORE nokey a  * null
            ZRANGE z 0 -1 WITHSCORES  * {* {"b"} ,2} {* {"a"} ,3.5} {* {"c"} ,3.5} {* {"d"} ,inf}
            ZRANGE z 0 -1  * {"b"} {"a"} {"c"} {"d"}
            ZREVRANGE z 0 -1 WITHSCORES  * {* {"d"} ,inf} {* {"c"} ,3.5} {* {"a"} ,3.5} {* {"b"} ,2}
            ZRANGEBYSCORE z 1 3.5 WITHSCORES  * {* {"b"} ,2} {* {"a"} ,3.5} {* {"c"} ,3.5}
            ZREVRANGEBYSCORE z inf 3 WITHSCORES LIMIT 0 1  * {* {"d"} ,inf}
            ZRANK z no  null
            ZRANK nokey a  null
            ZREVRANK z no  null
            ZPOPMIN nokey  *
            ZPOPMIN nokey 1  *
            ZPOPMIN z  * {"b"} ,2
            ZPOPMIN z 1  * {* {"a"} ,3.5}
            ZPOPMAX z 2  * {* {"d"} ,inf} {* {"c"} ,3.5}
            ZADD z 1 a 2 b  :2
            BZPOPMIN z 0  * {"z"} {"a"} ,1
            BZPOPMAX nokey z 0  * {"z"} {"b"} ,2
            BZPOPMIN nokey 0.01  null
            ZADD z 1 a  :1
            ZRANDMEMBER z  "a"
            ZRANDMEMBER z 1 WITHSCORES  * {* {"a"} ,1}
            ZRANDMEMBER z -2 WITHSCORES  * {* {"a"} ,1} {* {"a"} ,1}
            ZRANDMEMBER z 2  * {"a"}
            ZRANDMEMBER nokey  null
            ZRANDMEMBER nokey 1 WITHSCORES  *
            ZSCAN z 0  * {"0"} {* {"a"} {"1"}}
            ZUNION 2 z nokey WITHSCORES  * {* {"a"} ,1}
            ZUNION 2 z nokey  * {"a"}
            ZINTER 1 z WITHSCORES  * {* {"a"} ,1}
            ZDIFF 1 z WITHSCORES  * {* {"a"} ,1}
            ZUNION 1 nokey WITHSCORES  *
        } 3
    }

    test {a NUL ends bounds, and only bounds} {
        r del z lex
        r zadd z 1 a 2 b 3 c
        r zadd lex 0 a 0 b 0 c
        assert_equal {b c} [r zrangebyscore z "2\0junk" 1e999]
        assert_equal {c} [r zrangebyscore z "(2\0" +inf]
        assert_equal {a b c} [r zrangebylex lex "-\0junk" "+\0"]
        assert_equal {} [r zrangebylex lex "\[c\0" +]
        assert_error {ERR value is not a valid float} {r zadd z "1\0" a}
    }


    foreach {encoding entries} {ziplist 128 skiplist 0} {
        test "a sorted set against a model: $encoding" {
            with_config [list zset-max-ziplist-entries $entries] {
                r del z
                set model {}
                for {set i 0} {$i < [accurate 2000 20000]} {incr i} {
                    set member m[random_int 60]
                    set score [random_score]
                    set there [dict exists $model $member]
                    set old [expr {$there ? [dict get $model $member] : 0}]
                    switch [random_int 12] {
                        0 - 1 - 2 {
                            assert_equal [expr {!$there}] [r zadd z $score $member]
                            dict set model $member $score
                        }
                        3 {
                            set option [random_pick {nx xx gt lt}]
                            set fits [switch $option {
                                nx { expr {!$there} }
                                xx { expr {$there} }
                                gt { expr {!$there || $score > $old} }
                                lt { expr {!$there || $score < $old} }
                            }]
                            set changes [expr {$fits && (!$there || $score != $old)}]
                            assert_equal $changes [r zadd z $option ch $score $member]
                            if {$fits} {
                                dict set model $member $score
                            }
                        }
                        4 {
                            set sum [score [expr {$old + $score}]]
                            assert_equal $sum [score [r zincrby z $score $member]]
                            dict set model $member $sum
                        }
                        5 - 6 {
                            assert_equal $there [r zrem z $member]
                            dict unset model $member
                        }
                        7 {
                            set got [r zscore z $member]
                            assert_equal [expr {$there ? $old : ""}] \
                                [expr {$got eq "" ? "" : [score $got]}]
                        }
                        8 {
                            set rank [lsearch -exact [members_of [ordered $model]] $member]
                            set size [dict size $model]
                            assert_equal [expr {$there ? $rank : ""}] [r zrank z $member]
                            assert_equal [expr {$there ? $size - 1 - $rank : ""}] \
                                [r zrevrank z $member]
                        }
                        9 {
                            set from [expr {[random_int 140] - 70}]
                            set to [expr {[random_int 140] - 70}]
                            set sorted [ordered $model]
                            set size [llength $sorted]
                            set first [expr {$from < 0 ? max($from + $size, 0) : $from}]
                            set last [expr {$to < 0 ? $to + $size : $to}]
                            assert_equal [flat [lrange $sorted $first $last]] \
                                [scored [r zrange z $from $to withscores]]
                            assert_equal [lrange [lreverse [members_of $sorted]] $first $last] \
                                [r zrange z $from $to rev]
                        }
                        10 {
                            set low [random_bound]
                            set high [random_bound]
                            set offset [expr {[random_int 12] - 2}]
                            set limit [expr {[random_int 20] - 5}]
                            set within [within_scores [ordered $model] $low $high]
                            assert_equal [llength $within] [r zcount z $low $high]
                            assert_equal [flat [limited $within $offset $limit]] [scored \
                                [r zrangebyscore z $low $high limit $offset $limit withscores]]
                            assert_equal [limited [lreverse [members_of $within]] $offset $limit] \
                                [r zrevrangebyscore z $high $low limit $offset $limit]
                        }
                        11 {
                            set sorted [ordered $model]
                            switch [random_int 5] {
                                0 {
                                    set gone [lrange $sorted 0 0]
                                    assert_equal [flat $gone] [scored [r zpopmin z 1]]
                                }
                                1 {
                                    set gone [lreverse [lrange $sorted end-2 end]]
                                    assert_equal [flat $gone] [scored [r zpopmax z 3]]
                                }
                                2 {
                                    set low [random_bound]
                                    set gone [lrange [within_scores $sorted $low +inf] 0 3]
                                    if {$gone ne {}} {
                                        set high [lindex $gone end 1]
                                        set gone [within_scores $sorted $low $high]
                                        assert_equal [llength $gone] \
                                            [r zremrangebyscore z $low $high]
                                    }
                                }
                                default {
                                    set from [random_int 60]
                                    set gone [lrange $sorted $from $from+2]
                                    assert_equal [llength $gone] \
                                        [r zremrangebyrank z $from [expr {$from + 2}]]
                                }
                            }
                            foreach pair $gone {
                                dict unset model [lindex $pair 0]
                            }
                        }
                    }
                    if {[random_int 20] == 0} {
                        assert_equal [flat [ordered $model]] [scored [r zrange z 0 -1 withscores]]
                        assert_equal [dict size $model] [r zcard z]
                        assert_equal [expr {[dict size $model] > 0}] [r exists z]
                    }
                }
                r zadd z 1 last
                assert_encoding $encoding z
            }
        }

        test "ranges of texts against a model: $encoding" {
            with_config [list zset-max-ziplist-entries $entries] {
                r del z
                set texts {}
                for {set i 0} {$i < 60} {incr i} {
                    set text [random_string 0 3 compressible]
                    lappend texts $text
                    r zadd z 0 $text
                }
                set texts [lsort -unique $texts]
                assert_encoding $encoding z
                for {set i 0} {$i < [accurate 300 3000]} {incr i} {
                    set low [random_text_bound]
                    set high [random_text_bound]
                    set offset [expr {[random_int 6] - 1}]
                    set limit [expr {[random_int 10] - 3}]
                    set within [within_texts $texts $low $high]
                    assert_equal [llength $within] [r zlexcount z $low $high] "$low $high"
                    assert_equal $within [r zrangebylex z $low $high] "$low $high"
                    assert_equal [lreverse $within] [r zrevrangebylex z $high $low]
                    assert_equal [limited $within $offset $limit] \
                        [r zrange z $low $high bylex limit $offset $limit]
                    assert_equal [limited [lreverse $within] $offset $limit] \
                        [r zrange z $high $low bylex rev limit $offset $limit]
                    r copy z copy replace
                    assert_equal [llength $within] [r zremrangebylex copy $low $high]
                    set left [lmap text $texts {expr {$text in $within ? [continue] : $text}}]
                    assert_equal $left [r zrange copy 0 -1]
                    assert_equal [llength $within] [r zrangestore copy z $low $high bylex]
                    assert_equal $within [r zrange copy 0 -1]
                }
            }
        }

        test "ZSCAN comes by every member: $encoding" {
            with_config [list zset-max-ziplist-entries $entries] {
                r del z
                set model {}
                for {set i 0} {$i < 100} {incr i} {
                    dict set model m$i [score [expr {$i / 4.0}]]
                    r zadd z [expr {$i / 4.0}] m$i
                }
                set found {}
                set cursor 0
                while 1 {
                    lassign [r zscan z $cursor count 7] cursor part
                    foreach {member score} $part {
                        dict set found $member $score
                    }
                    if {$cursor == 0} break
                }
                assert_equal [lsort -stride 2 $model] [lsort -stride 2 $found]
                assert_equal {m42 10.5} [lindex [r zscan z 0 match m42 count 1000] 1]
            }
        }

        test "ZRANDMEMBER: every member comes, none far too often: $encoding" {
            with_config [list zset-max-ziplist-entries $entries] {
                r del z
                set model {}
                for {set i 0} {$i < 20} {incr i} {
                    r zadd z $i m$i
                    dict set model m$i $i
                }
                assert_encoding $encoding z
                array unset times
                foreach member [r zrandmember z -20000] {
                    incr times($member)
                }
                assert_equal 20 [array size times]
                foreach {member count} [array get times] {
                    assert_range $count 500 1800 $member
                }
                array unset times
                for {set i 0} {$i < 4000} {incr i} {
                    incr times([r zrandmember z])
                }
                assert_equal 20 [array size times]
                foreach count {1 3 6 7 19 20 1000} {
                    set chosen [scored [r zrandmember z $count withscores]]
                    assert_equal [expr {min($count, 20) * 2}] [llength $chosen]
                    assert_equal [llength $chosen] [expr {2 * [dict size $chosen]}]
                    foreach {member score} $chosen {
                        assert_equal [dict get $model $member] $score
                    }
                }
                assert_equal 10 [llength [scored [r zrandmember z -5 withscores]]]
                # Different ones too: each is among seven of twenty in 35 % of all choices.
                array unset times
                for {set i 0} {$i < 2000} {incr i} {
                    foreach member [r zrandmember z 7] {
                        incr times($member)
                    }
                }
                assert_equal 20 [array size times]
                foreach {member count} [array get times] {
                    assert_range $count 400 1100 $member
                }
            }
        }
    }

    test {ZRANGESTORE stores what ZRANGE gives} {
        for {set round 0} {$round < 100} {incr round} {
            set model [random_zset src [expr {1 + [random_int 40]}] 0]
            set low [random_bound]
            set high [random_bound]
            set offset [random_int 5]
            set limit [expr {[random_int 20] - 3}]
            set expected [limited [within_scores [ordered $model] $low $high] $offset $limit]
            r set dst old
            assert_equal [llength $expected] \
                [r zrangestore dst src $low $high byscore limit $offset $limit]
            assert_equal [flat $expected] [scored [r zrange dst 0 -1 withscores]]
            assert_equal [expr {$expected ne {}}] [r exists dst]
        }
        r del z
        r zadd z 1 a 2 b 3 c
        r expire z 100
        assert_equal 2 [r zrangestore z z 0 1]
        assert_equal {a b} [r zrange z 0 -1]
        assert_equal -1 [r ttl z]
    }

    test {A union of the same sorted set many times, and of one with other members} {
        r del z other out
        for {set i 0} {$i < 300} {incr i} {
            r zadd z $i m$i
            r zadd other $i [expr {$i % 2 ? "m$i" : "o$i"}]
        }
        set keys [lrepeat 2000 z]
        assert_equal 450 [r zunionstore out 2001 {*}$keys other]
        assert_equal [expr {2001 * 7}] [r zscore out m7]
        assert_equal [expr {2000 * 298}] [r zscore out m298]
        assert_equal 298 [r zscore out o298]
        r del z other out
    }

    test {ZUNION, ZINTER, ZDIFF and their STORE forms against a model} {
        for {set round 0} {$round < [accurate 60 600]} {incr round} {
            set entries [random_pick {0 128}]
            r config set zset-max-ziplist-entries $entries
            set weights {}
            set models {}
            foreach key {a b c} {
                set plain [expr {[random_int 3] == 0}]
                lappend models [random_zset $key [random_int 150] $plain]
                lappend weights [random_pick {-2 0 0.5 1 3}]
            }
            set how [random_pick {sum min max}]
            set union {}
            set sources {}
            set diff {}
            foreach model $models weight $weights {
                dict for {member score} $model {
                    set score [score [expr {$score * $weight}]]
                    if {[dict exists $union $member]} {
                        set score [combined $how [dict get $union $member] $score]
                    }
                    dict set union $member [score [expr {$score + 0.0}]]
                    dict incr sources $member
                }
            }
            set inter [dict filter $union script {member score} {
                expr {[dict get $sources $member] == 3}
            }]
            dict for {member score} [lindex $models 0] {
                if {[dict get $sources $member] == 1} {
                    dict set diff $member $score
                }
            }
            set options [list weights {*}$weights aggregate $how]
            foreach {command expected options} [list zunion $union $options \
                                                    zinter $inter $options zdiff $diff {}] {
                set got [scored [r $command 3 a b c {*}$options withscores]]
                # -0 and 0 are one score.
                assert_equal [string map {{ -0 } { 0 }} " [flat [ordered $expected]] "] \
                    [string map {{ -0 } { 0 }} " $got "] "$command $options"
                r set d old
                assert_equal [dict size $expected] [r ${command}store d 3 a b c {*}$options]
                assert_equal $got [scored [r zrange d 0 -1 withscores]]
                if {[dict size $expected]} {
                    set small [expr {[dict size $expected] <= $entries}]
                    assert_encoding [expr {$small ? "ziplist" : "skiplist"}] d
                } else {
                    assert_equal 0 [r exists d]
                }
            }
            # The result may take the place of a source.
            assert_equal [dict size $union] [r zunionstore a 3 a b c]
        }
        r config set zset-max-ziplist-entries 128
    }

    test {the empty text is a member like any other} {
        foreach entries {128 0} {
            with_config [list zset-max-ziplist-entries $entries] {
                r del a b s
                r zadd a 1 {}
                r zadd b 2 {}
                r sadd s {}
                assert_equal {{} 4} [scored [r zunion 3 a b s withscores]]
                assert_equal {{} 4} [scored [r zinter 3 a b s withscores]]
                assert_equal {{}} [r zdiff 2 a none]
                assert_equal {} [r zdiff 9 a none none none none none none none s]
                assert_equal {{} 1} [scored [r zpopmin a 1]]
            }
        }
    }

    test {ZDIFF of a large sorted set and many: both ways give the same} {
        set expected {}
        r del a b c d
        for {set i 0} {$i < 300} {incr i} {
            r zadd a [expr {$i % 7}] m$i
            if {$i % 3} {
                r zadd b 1 m$i
            }
            if {$i % 5} {
                r sadd c m$i
            }
            if {$i % 15 == 0} {
                dict set expected m$i [expr {$i % 7}]
            }
        }
        # Asking the others is less work with two sources, taking out with many small ones.
        assert_equal [flat [ordered $expected]] [scored [r zdiff 3 a b c withscores]]
        r zadd d 1 none
        assert_equal [flat [ordered $expected]] \
            [scored [r zdiff 9 a b c d d d d d none withscores]]
    }

    test {zset-max-ziplist-entries and -value: one more is the other form, for good} {
        with_config {zset-max-ziplist-entries 128 zset-max-ziplist-value 64} {
            r del z
            for {set i 0} {$i < 128} {incr i} {
                r zadd z $i m$i
            }
            assert_encoding ziplist z
            r zadd z 5 m3
            assert_encoding ziplist z
            r zadd z 1 more
            assert_encoding skiplist z
            r zrem z more
            assert_encoding skiplist z
            r del z
            r zadd z 1 [string repeat x 64]
            assert_encoding ziplist z
            r zadd z 1 [string repeat x 65]
            assert_encoding skiplist z
            r zrem z [string repeat x 65]
            assert_encoding skiplist z
            assert_equal 1 [r zrangestore d z 0 -1]
            assert_encoding ziplist d
            assert_equal 1 [r zunionstore d 1 z]
            assert_encoding ziplist d
        }
    }

    test {rdb_changes_since_last_save counts what changed} {
        r flushdb
        foreach {changes command} {
            3 {zadd z 1 a 2 b 3 c}  0 {zadd z 1 a}  0 {zadd z xx 5 none}  1 {zadd z nx 9 a 9 d}
            1 {zincrby z 1 a}  0 {zincrby z 0 a}  0 {zrem z none}  1 {zrem z d none}
            1 {zrangestore d z 0 -1}  1 {zrangestore d none 0 -1}  0 {zrangestore d none 0 -1}
            1 {zunionstore d 2 z none}  1 {zunionstore d 1 none}  0 {zunionstore d 1 none}
            1 {zpopmin z}  2 {zpopmax z 9}  0 {zpopmax z 9}  3 {zadd z 1 a 2 b 3 c}
            1 {zremrangebyrank z 0 0}  0 {zremrangebyscore z 7 8}  2 {zremrangebyscore z 1 9}
            1 {zadd z 1 a}  1 {zrem z a}  1 {zadd z 1 a}  1 {bzpopmin none z 0}
        } {
            set before [s rdb_changes_since_last_save]
            r {*}$command
            assert_equal $changes [expr {[s rdb_changes_since_last_save] - $before}] $command
        }
    }

    test {a sorted set of many members: ranks, ranges, deletions, pops} {
        r del z
        set size [accurate 20000 200000]
        set client [redis_deferring_client]
        for {set i 0} {$i < $size} {incr i 100} {
            set words {}
            for {set j $i} {$j < $i + 100} {incr j} {
                # Every number once, not in order.
                set number [expr {$j * 7919 % $size}]
                lappend words $number n$number
            }
            $client zadd z {*}$words
        }
        for {set i 0} {$i < $size} {incr i 100} {
            assert_equal 100 [$client read]
        }
        $client close
        assert_equal $size [r zcard z]
        for {set i 0} {$i < 200} {incr i} {
            set number [random_int $size]
            assert_equal $number [r zrank z n$number]
            assert_equal n$number [r zrange z $number $number]
            assert_equal n$number [r zrangebyscore z -inf +inf limit $number 1]
            assert_equal $number [r zcount z -inf ($number]
        }
        assert_equal 5000 [r zremrangebyrank z 2000 6999]
        assert_equal 1000 [r zremrangebyscore z 1000 1999]
        assert_equal [expr {$size - 6000}] [r zcard z]
        assert_equal 1000 [r zrank z n7000]
        set last [expr {$size - 1}]
        assert_equal [flat [list [list n$last $last]]] [scored [r zpopmax z 1]]
        set popped [scored [r zpopmin z 1500]]
        assert_equal {n0 0 n1 1} [lrange $popped 0 3]
        assert_equal {n7499 7499} [lrange $popped end-1 end]
        assert_equal [expr {$size - 7501}] [llength [r zrange z 0 -1]]
    }

    test {BZPOPMIN, BZPOPMAX: clients are served in the order in which they came, each once} {
        r del z other
        set clients {}
        foreach command {bzpopmin bzpopmin bzpopmax} {
            lappend clients [waiting $command other z 0]
        }
        lassign $clients first second third
        assert_equal 4 [r zadd z 1 a 2 b 3 c 4 d]
        foreach client $clients expected {{z a 1} {z b 2} {z d 4}} {
            lassign [$client read] key member score
            assert_equal $expected [list $key $member [score $score]]
            $client close
        }
        assert_equal c [r zrange z 0 -1]
        assert_equal 0 [s blocked_clients]
    }

    test {BZPOPMIN: a key of another type, or taken away at once, wakes nobody} {
        r del z
        set client [waiting bzpopmin z 0]
        r set z x
        r del z
        r sadd z a
        r del z
        r rpush z a
        r del z
        await_blocked 1
        r del source
        r sadd source a b
        assert_equal 2 [r zunionstore z 1 source weights 2]
        assert_equal a [lindex [$client read] 1]
        $client close
    }

    test {BZPOPMIN: the same key twice, and a sorted set that comes by other ways} {
        foreach way {zadd zincrby rename copy zunionstore zinterstore zdiffstore zrangestore} {
            r del z source
            r zadd source 2 a
            set client [waiting bzpopmin z z 0]
            switch $way {
                zadd { r zadd z 2 a }
                zincrby { r zincrby z 2 a }
                rename { r rename source z }
                copy { r copy source z }
                zunionstore - zinterstore - zdiffstore { r $way z 1 source }
                zrangestore { r zrangestore z source 0 -1 }
            }
            lassign [$client read] key member score
            assert_equal {z a 2} [list $key $member [score $score]] $way
            $client close
            assert_equal 0 [r exists z] $way
        }
    }

    test {clients that wait for a list and for a sorted set of the same key} {
        r del k
        set popper [waiting bzpopmin k 0]
        set pusher [waiting blpop k 0]
        r rpush k element
        assert_equal {k element} [$pusher read]
        await_blocked 1
        r zadd k 1 member
        assert_equal member [lindex [$popper read] 1]
        $popper close
        $pusher close
    }

    test {a client that waits in BZPOPMIN: time limit, CLIENT UNBLOCK, closing} {
        r del z
        set client [redis_deferring_client]
        foreach command {{bzpopmin z 0.05} {bzpopmax z none 0.05}} {
            $client {*}$command
            assert_equal {} [$client read] $command
        }
        $client client id
        set id [$client read]
        $client bzpopmin z 0
        await_blocked 1
        assert_equal 1 [r client unblock $id]
        assert_equal {} [$client read]
        $client bzpopmax z 0
        await_blocked 1
        assert_equal 1 [r client unblock $id error]
        assert_error {UNBLOCKED*} {$client read}
        $client bzpopmax z 0
        await_blocked 1
        $client close
        await_blocked 0
        r zadd z 1 x
        assert_equal x [r zrange z 0 -1]
    }
}
