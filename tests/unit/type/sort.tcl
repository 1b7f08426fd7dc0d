# SPDX-License-Identifier: BSD-3-Clause
# SORT: replies and errors, all options against a model, what is stored, order by locale.

# The elements in order: by the weight in the dictionary (0 where there is none), then by bytes.
proc model_sort {elements weights descending} {
    set rows {}
    foreach element $elements {
        set weight [expr {[dict exists $weights $element] ? [dict get $weights $element] : 0}]
        lappend rows [list $element $weight]
    }
    set order [expr {$descending ? "-decreasing" : "-increasing"}]
    set rows [lsort -real $order -index 1 [lsort $order -index 0 $rows]]
    return [lmap row $rows {lindex $row 0}]
}

# What LIMIT leaves of a list.
proc model_limit {list start count} {
    set start [expr {max($start, 0)}]
    set last [expr {$count < 0 ? "end" : $start + $count - 1}]
    return [lrange $list $start $last]
}

start_server {tags {sort}} {
    test {SORT: replies and errors} {
        r flushall
        assert_conversation {
            SET str x  +OK
            HSET hash a b  :1
            SORT  -ERR wrong number of arguments for 'sort' command
            SORT str  -WRONGTYPE Operation against a key holding the wrong kind of value
            SORT hash  -WRONGTYPE Operation against a key holding the wrong kind of value
            SORT hash store out  -WRONGTYPE Operation against a key holding the wrong kind of value
            SORT str bogus  -ERR syntax error
            RPUSH l 3 1 2  :3
            SORT l  * {"1"} {"2"} {"3"}
            SORT l desc  * {"3"} {"2"} {"1"}
            SORT l desc asc  * {"1"} {"2"} {"3"}
            SORT l Limit 0 2 DESC  * {"3"} {"2"}
            SORT l bogus  -ERR syntax error
            SORT l asc bogus  -ERR syntax error
            SORT l limit  -ERR syntax error
            SORT l limit 1  -ERR syntax error
            SORT l limit a 1  -ERR value is not an integer or out of range
            SORT l limit 1 b  -ERR value is not an integer or out of range
            SORT l limit 1 9223372036854775808  -ERR value is not an integer or out of range
            SORT l by  -ERR syntax error
            SORT l get  -ERR syntax error
            SORT l store  -ERR syntax error
            SORT l limit 0 0  *
            SORT l limit -1 2  * {"1"} {"2"}
            SORT l limit 1 -1  * {"2"} {"3"}
            SORT l limit 1 -9223372036854775808  * {"2"} {"3"}
            SORT l limit 5 2  *
            SORT l limit 1 9223372036854775807  * {"2"} {"3"}
            SORT l limit 9223372036854775807 9223372036854775807  *
            SORT l limit -9223372036854775808 2  * {"1"} {"2"}
            SORT nokey  *
            SORT nokey by w_* get {#} limit 0 5  *
            RPUSH words banana apple 10 9 Zebra {} apple  :7
            SORT words  -ERR One or more scores can't be converted into double
            SORT words alpha  * {""} {"10"} {"9"} {"Zebra"} {"apple"} {"apple"} {"banana"}
            SORT words alpha desc  * {"banana"} {"apple"} {"apple"} {"Zebra"} {"9"} {"10"} {""}
            SORT words alpha limit 2 3  * {"9"} {"Zebra"} {"apple"}
            SORT words alpha desc limit 6 10  * {""}
        } 2
    }

    test {SORT: what is a number} {
        r flushall
        assert_conversation {
            RPUSH blank { 3} {} 2  :3
            SORT blank  * {""} {"2"} {" 3"}
            RPUSH hex 0x10 3 inf -inf -0 0 0.0  :7
            SORT hex  * {"-inf"} {"-0"} {"0"} {"0.0"} {"3"} {"0x10"} {"inf"}
            SORT hex desc  * {"inf"} {"0x10"} {"3"} {"0.0"} {"0"} {"-0"} {"-inf"}
            RPUSH exp 1e5 1 -1e5 123456789012345678901234567890 .5 5.  :6
            SORT exp  * {"-1e5"} {".5"} {"1"} {"5."} {"1e5"} {"123456789012345678901234567890"}
            RPUSH ties 5 5.0 05 +5 5e0  :5
            SORT ties  * {"+5"} {"05"} {"5"} {"5.0"} {"5e0"}
            SORT ties desc  * {"5e0"} {"5.0"} {"5"} {"05"} {"+5"}
            RPUSH precise 9007199254740993 9007199254740992 9007199254740994  :3
            SORT precise  * {"9007199254740992"} {"9007199254740993"} {"9007199254740994"}
            RPUSH trailing {3 } 1  :2
            SORT trailing  -ERR One or more scores can't be converted into double
            RPUSH text a 1  :2
            SORT text  -ERR One or more scores can't be converted into double
            RPUSH nan nan 1  :2
            SORT nan  -ERR One or more scores can't be converted into double
            RPUSH big 1e400 1  :2
            SORT big  -ERR One or more scores can't be converted into double
            SORT big alpha  * {"1"} {"1e400"}
            RPUSH tiny 1e-400 1  :2
            SORT tiny  -ERR One or more scores can't be converted into double
            RPUSH small 1e-310 1  :2
            SORT small  -ERR One or more scores can't be converted into double
        } 2
    }

    test {SORT: BY and GET} {
        r flushall
        assert_conversation {
            RPUSH l 3 1 2  :3
            MSET w_1 30 w_2 20 w_3 10  +OK
            HSET h1 f A n 9  :2
            HSET h2 f B n 10  :2
            SORT l by w_*  * {"3"} {"2"} {"1"}
            SORT l by w_* desc  * {"1"} {"2"} {"3"}
            SORT l by missing_*  * {"1"} {"2"} {"3"}
            SORT l by missing_* desc  * {"3"} {"2"} {"1"}
            SORT l by w_* get {#} get w_* get no_* limit 0 2  * {"3"} {"10"} nil {"2"} {"20"} nil
            SORT l get constant  * nil nil nil
            SORT l get w_*->f  * nil nil nil
            SORT l get h*->f  * {"A"} {"B"} nil
            SORT l get h*-> get h*->no get h*  * nil nil nil nil nil nil nil nil nil
            SORT l get h*->n->f  * nil nil nil
            SORT l by h*->f  -ERR One or more scores can't be converted into double
            SORT l by h*->n  * {"3"} {"1"} {"2"}
            SORT l by h*->f alpha  * {"3"} {"1"} {"2"}
            SORT l by h*->f alpha desc  * {"2"} {"1"} {"3"}
            SORT l by w_* by constant  * {"3"} {"1"} {"2"}
            SORT l by constant by w_*  * {"3"} {"1"} {"2"}
            SORT l by *  * {"1"} {"2"} {"3"}
            SORT l by w_* alpha limit 1 1 get w_* get {#}  * {"20"} {"2"}
            MSET 1w x1 2w x2 3w x3 1->f y1  +OK
            SORT l get *w  * {"x1"} {"x2"} {"x3"}
            SORT l get *->f  * nil nil nil
            SORT l get w_*_*  * nil nil nil
            SORT l by h* get {#}  * {"1"} {"2"} {"3"}
            RPUSH other 1 2  :2
            SET w_1 text  +OK
            SORT other by w_*  -ERR One or more scores can't be converted into double
            SORT other by w_* store o  -ERR One or more scores can't be converted into double
            EXISTS o  :0
            SORT l by w_* limit 0 0  -ERR One or more scores can't be converted into double
        } 2
    }

    test {SORT: BY a constant keeps the order} {
        r flushall
        assert_conversation {
            RPUSH l 3 x 2  :3
            SORT l by nosort  * {"3"} {"x"} {"2"}
            SORT l by nosort asc  * {"3"} {"x"} {"2"}
            SORT l by nosort desc  * {"2"} {"x"} {"3"}
            SORT l by nosort desc limit 0 2  * {"2"} {"x"}
            SORT l by nosort desc limit 1 10  * {"x"} {"3"}
            SORT l by nosort limit 1 1  * {"x"}
            SORT l by nosort limit 3 1  *
            SORT l by nosort limit -5 2 desc  * {"2"} {"x"}
            ZADD z 3 c 1 a 2 b  :3
            SORT z by nosort  * {"a"} {"b"} {"c"}
            SORT z by nosort desc  * {"c"} {"b"} {"a"}
            SORT z by nosort desc limit 0 2  * {"c"} {"b"}
            SORT z by nosort limit 1 5  * {"b"} {"c"}
            SORT z by nosort desc limit 1 1  * {"b"}
            SORT z by nosort desc limit 5 1  *
            SORT z by nosort get {#} get w_* limit 0 1  * {"a"} nil
            SORT z  -ERR One or more scores can't be converted into double
            SORT z alpha desc  * {"c"} {"b"} {"a"}
            SORT z by nosort desc store out  :3
            LRANGE out 0 -1  * {"c"} {"b"} {"a"}
            SADD s c a b 10 9  :5
            SORT s by nosort store out  :5
            LRANGE out 0 -1  * {"10"} {"9"} {"a"} {"b"} {"c"}
            SORT s by nosort desc limit 0 2 store out  :2
            LRANGE out 0 -1  * {"c"} {"b"}
            SORT nokey by nosort desc limit 0 5  *
        } 2
    }

    test {SORT: STORE} {
        r flushall
        assert_conversation {
            RPUSH l 3 1 2  :3
            SET str x  +OK
            EXPIRE str 100  :1
            SORT l store str  :3
            TYPE str  +list
            TTL str  :-1
            LRANGE str 0 -1  * {"1"} {"2"} {"3"}
            MSET w_1 a w_2 b  +OK
            SORT l get w_* get {#} store out  :6
            LRANGE out 0 -1  * {"a"} {"1"} {"b"} {"2"} {""} {"3"}
            SORT l store l desc  :3
            LRANGE l 0 -1  * {"3"} {"2"} {"1"}
            SORT l store a store b  :3
            EXISTS a b  :1
            SORT l limit 0 0 store b  :0
            EXISTS b  :0
            SORT nokey store out  :0
            EXISTS out  :0
            SORT nokey store out  :0
            RPUSH bad x  :1
            SORT bad store l  -ERR One or more scores can't be converted into double
            LLEN l  :3
            RPUSH nul {} b a  :3
            SORT nul alpha store nul2  :3
            LRANGE nul2 0 -1  * {""} {"a"} {"b"}
            OBJECT encoding nul2  "quicklist"
        } 2
    }

    test {SORT: RESP3} {
        r flushall
        assert_conversation {
            RPUSH l 2 1  :2
            SET w_1 x  +OK
            SORT l GET w_*  * {"x"} null
            SORT none  *
        } 3
    }

    test {SORT: where its keys stand} {
        r flushall
        assert_conversation {
            COMMAND getkeys sort l  * {"l"}
            COMMAND getkeys sort l by w_* get a store b store c  * {"l"} {"c"}
            COMMAND getkeys sort l store  * {"l"}
            COMMAND getkeys sort abc store def by xyz limit 0 1 get k store  * {"abc"} {"def"}
            COMMAND getkeys sort l get store store b  * {"l"} {"b"}
        } 2
    }

    test {SORT: NUL in texts and patterns} {
        r del l
        r rpush l "1\0b" "1\0a" 3 2
        # A number ends at a NUL; what is equal stands by its bytes.
        assert_equal [list "1\0a" "1\0b" 2 3] [r sort l]
        r set "w_2" two
        assert_equal {{} {} {} {}} [r sort l get "w_\0*"]
        assert_equal [list "1\0b" "1\0a" 3 2] [r sort l by "w_\0*"]
        r del l
        r rpush l "b\0b" "b\0a" a
        r sort l alpha store out
        assert_equal [list a "b\0a" "b\0b"] [r lrange out 0 -1]
    }

    test {SORT reads as a command that reads, with STORE as one that writes} {
        r flushall
        r rpush l 1 2 3
        r set w_1 1
        foreach {words hits misses} {
            {l} 1 0
            {none} 0 1
            {l by w_*} 2 2
            {l by w_* get w_* get #} 3 4
            {l by nosort} 1 0
            {l store out} 0 0
            {l by w_* store out} 0 0
            {l get w_* store out} 0 0
            {none store out} 0 0
        } {
            r config resetstat
            r sort {*}$words
            assert_equal [list $hits $misses] [list [s keyspace_hits] [s keyspace_misses]] $words
        }
    }

    foreach {name settings} {
        plain {}
        {many nodes} {list-max-ziplist-size 7}
        {compressed nodes} {list-max-ziplist-size 7 list-compress-depth 1}
        {large encodings} {set-max-intset-entries 2 zset-max-ziplist-entries 2
            hash-max-ziplist-entries 1}
    } {
        test "SORT against a model: $name" {
            with_config $settings {
                for {set round 0} {$round < [accurate 25 200]} {incr round} {
                    r flushall
                    set size [random_pick {1 5 40 400}]
                    set elements {}
                    set weights {}
                    while {[llength $elements] < $size} {
                        lappend elements [expr {[random_int 2] ? [random_int 1000]
                            : "[random_int 100].[random_int 1000]"}]
                    }
                    set elements [lsort -unique $elements]
                    set type [random_pick {list set zset}]
                    foreach element $elements {
                        switch $type {
                            list {r rpush c $element}
                            set {r sadd c $element}
                            zset {r zadd c [random_int 10] $element}
                        }
                        if {[random_int 4]} {
                            set weight [expr {[random_int 20] - 10}]
                            dict set weights $element $weight
                            r set w_$element $weight
                            r hset h_$element f $weight g 1
                        }
                    }
                    set own {}
                    foreach element $elements {
                        dict set own $element $element
                    }
                    for {set query 0} {$query < 6} {incr query} {
                        set start [expr {[random_int 12] - 2}]
                        set count [expr {[random_int 30] - 2}]
                        set down [random_int 2]
                        set words [list limit $start $count [expr {$down ? "desc" : "asc"}]]
                        switch [random_int 3] {
                            0 {set sorted [model_sort $elements $own $down]}
                            1 {
                                lappend words by w_*
                                set sorted [model_sort $elements $weights $down]
                            }
                            2 {
                                lappend words by h_*->f
                                set sorted [model_sort $elements $weights $down]
                            }
                        }
                        set expected [model_limit $sorted $start $count]
                        assert_equal $expected [r sort c {*}$words] "$type $words"
                        assert_equal [llength $expected] [r sort c {*}$words store out]
                        assert_equal $expected [r lrange out 0 -1] "$type $words"
                        set results {}
                        foreach element $expected {
                            lappend results $element
                            lappend results \
                                [expr {[dict exists $weights $element] ?
                                    [dict get $weights $element] : ""}]
                        }
                        assert_equal $results [r sort c {*}$words get # get w_*]
                        assert_equal $results [r sort c {*}$words get # get h_*->f]
                    }
                    set down [random_int 2]
                    set order [expr {$down ? "-decreasing" : "-increasing"}]
                    assert_equal [lsort $order $elements] \
                        [r sort c alpha [expr {$down ? "desc" : "asc"}]]
                }
            }
        }
    }

    test {SORT: few of many are the first of all} {
        r flushall
        set words {}
        for {set i 0} {$i < 5000} {incr i} {
            lappend words [random_int 700]
        }
        r rpush l {*}$words
        foreach {how options} {-increasing asc -decreasing desc} {
            set all [lsort -integer $how $words]
            foreach {start count} {0 1 0 10 3 300 500 100 1000 300 0 0 4990 20 1 -1 0 1249 0 1250} {
                assert_equal [model_limit $all $start $count] \
                    [r sort l {*}$options limit $start $count] "$options $start $count"
            }
            set texts [lsort $how $words]
            assert_equal [lrange $texts 20 59] [r sort l {*}$options alpha limit 20 40]
        }
        # All the same weight, so that all are ties; and those that come in the worst order.
        assert_equal [lrange [lsort $words] 0 9] [r sort l by missing_* limit 0 10]
        r del l
        for {set i 5000} {$i > 0} {incr i -1} {
            r rpush l $i
        }
        assert_equal {1 2 3} [r sort l limit 0 3]
        assert_equal {101 102} [r sort l limit 100 2]
        assert_equal {5000 4999 4998} [r sort l desc limit 0 3]
    }

    test {SORT ALPHA: equal weights leave the elements as they stand} {
        r flushall
        r rpush l e d c b a
        foreach name {a c e} {
            r set w_$name same
        }
        assert_equal {d b e c a} [r sort l by w_* alpha]
        assert_equal {e c a d b} [r sort l by w_* alpha desc]
    }

    test {SORT ALPHA: texts that begin alike} {
        # lsort does not order a NUL by its byte; the byte after it stands for it here.
        set nul [list "\1" "\0"]
        for {set round 0} {$round < [accurate 20 200]} {incr round} {
            r flushall
            set texts {}
            set weights {}
            set start [string repeat x [random_int 20]]
            for {set i 0} {$i < 300} {incr i} {
                set text $start
                for {set words [random_int 30]} {$words} {incr words -1} {
                    append text [random_pick {aaaaaaaa aaaaaaaa aaaaaaaa aaaaaaab}]
                }
                append text [random_pick {"" a aa b aaaaaaa}] [random_pick {"" "\1" "\1\1"}]
                lappend texts $text
                dict lappend weights $text $i
            }
            r rpush l {*}[string map $nul $texts]
            set start [random_int 20]
            foreach {how option} {-increasing asc -decreasing desc} {
                set sorted [string map $nul [lsort $how $texts]]
                r sort l alpha $option store out
                assert_equal $sorted [r lrange out 0 -1]
                r sort l alpha $option limit $start 30 store out
                assert_equal [lrange $sorted $start $start+29] [r lrange out 0 -1]
                set plain [lmap text $texts {string map {"\1" ""} $text}]
                r del p
                r rpush p {*}$plain
                assert_equal [lsort $how $plain] [r sort p alpha $option]
            }
            # The same as weights, every fourth of which is missing: these come first. Only one of
            # equal weights is kept, since 6.2 leaves the order of ties open.
            r del l
            set rows {}
            set missing 0
            foreach {text indexes} $weights {
                set index [lindex $indexes 0]
                if {$index % 4 == 0 && $missing} {
                    continue
                }
                r rpush l $index
                if {$index % 4 == 0} {
                    incr missing
                    lappend rows [list $index ""]
                } else {
                    r set w_$index [string map $nul z$text]
                    lappend rows [list $index z$text]
                }
            }
            foreach {how option} {-increasing asc -decreasing desc} {
                set sorted [lmap row [lsort $how -index 1 $rows] {lindex $row 0}]
                r sort l by w_* alpha $option store out
                assert_equal $sorted [r lrange out 0 -1]
            }
        }
    }

    test {SORT: keys that expired are not there} {
        r flushall
        r rpush l 1 2 3
        r set w_1 9
        r set w_2 8 px 1
        r set w_3 7
        wait_for_condition 100 10 {[r get w_2] eq ""} else {
            fail "w_2 does not expire"
        }
        assert_equal {2 3 1} [r sort l by w_*]
        assert_equal {9 {} 7} [r sort l get w_*]
    }

    test {SORT STORE serves who waits for the list} {
        r flushall
        set waiter [redis_deferring_client]
        $waiter blpop out 0
        wait_for_condition 100 20 {[s blocked_clients] == 1} else {
            fail "the client does not wait"
        }
        r rpush l 3 1 2
        assert_equal 3 [r sort l store out]
        assert_equal {out 1} [$waiter read]
        assert_equal {2 3} [r lrange out 0 -1]
        $waiter close
    }

    test {SORT: changes are counted by results} {
        r flushall
        r rpush l 3 1 2
        set before [s rdb_changes_since_last_save]
        r sort l get # get # store out
        assert_equal 6 [expr {[s rdb_changes_since_last_save] - $before}]
        r sort l limit 0 0 store out
        assert_equal 7 [expr {[s rdb_changes_since_last_save] - $before}]
        r sort l limit 0 0 store out
        assert_equal 7 [expr {[s rdb_changes_since_last_save] - $before}]
    }
}

# Runs the body with another order of texts in the environment of the servers that it starts.
proc with_locale {name folder body} {
    set kept [list LC_ALL [array get ::env LC_ALL] LOCPATH [array get ::env LOCPATH]]
    array set ::env [list LC_ALL $name LOCPATH $folder]
    set code [catch {uplevel 1 $body} result options]
    foreach {variable before} $kept {
        unset ::env($variable)
        array set ::env $before
    }
    return -options $options -code $code $result
}

# The locale en_US.UTF-8, made in a folder of its own; "" where that cannot be.
proc make_locale {} {
    set folder [tmpfile locales]
    file mkdir $folder
    catch {exec localedef -i en_US -f UTF-8 [file join $folder en_US.UTF-8] 2>@1}
    return [expr {[file exists [file join $folder en_US.UTF-8 LC_COLLATE]] ? $folder : ""}]
}

with_locale C.UTF-8 "" {
    start_server {tags {sort}} {
        test {SORT ALPHA: a locale that orders by bytes} {
            assert_conversation {
                RPUSH l b C a B 10 9 {} b  :8
                SORT l alpha  * {""} {"10"} {"9"} {"B"} {"C"} {"a"} {"b"} {"b"}
                SORT l alpha desc limit 1 3  * {"b"} {"a"} {"C"}
            } 2
        }
    }
}

set folder [make_locale]
tests_where [expr {$folder ne ""}] "no locale can be made" {
    with_locale en_US.UTF-8 $folder {
        start_server {tags {sort}} {
            test {SORT ALPHA: a locale with an order of its own} {
                assert_conversation {
                    RPUSH l b C a B 10 9 {} b c A  :10
                    SORT l alpha  * {""} {"10"} {"9"} {"a"} {"A"} {"b"} {"b"} {"B"} {"c"} {"C"}
                    SORT l alpha desc  * {"C"} {"c"} {"B"} {"b"} {"b"} {"A"} {"a"} {"9"} {"10"} {""}
                    SORT l alpha desc limit 1 3  * {"c"} {"B"} {"b"}
                    SORT l alpha limit 0 2  * {""} {"10"}
                    SORT l alpha store out  :10
                    LRANGE out 0 -1  * {""} {"10"} {"9"} {"A"} {"B"} {"C"} {"a"} {"b"} {"b"} {"c"}
                    SADD s b A c  :3
                    SORT s alpha  * {"A"} {"b"} {"c"}
                    ZADD z 1 b 2 A  :2
                    SORT z alpha get {#} get w_*  * {"A"} nil {"b"} nil
                    SADD i 3 20 1  :3
                    SORT i alpha  * {"1"} {"20"} {"3"}
                    MSET w_a z w_B y w_C 5 w_A Z  +OK
                    HSET h_A f 1 g word  :2
                    SORT l by w_* alpha limit 6 4  * {"C"} {"B"} {"a"} {"A"}
                    SORT s by w_* alpha get w_*  * nil nil {"Z"}
                } 2
            }

            test {SORT ALPHA: many texts in the locale's order} {
                r del l
                set texts {}
                for {set i 0} {$i < 300} {incr i} {
                    lappend texts [random_pick {a b c d}][random_pick {a b c d}]$i
                }
                # No two are the same without regard to case, so that case decides nothing.
                set mixed [lmap text $texts {
                    expr {[random_int 2] ? [string toupper $text] : $text}
                }]
                r rpush l {*}$mixed
                assert_equal [lsort -nocase $mixed] [r sort l alpha]
                assert_equal [lsort -nocase -decreasing $mixed] [r sort l alpha desc]
                assert_equal [lrange [lsort -nocase $mixed] 0 9] [r sort l alpha limit 0 10]
                # What is stored is ordered by bytes.
                r sort l alpha store out
                assert_equal [lsort $mixed] [r lrange out 0 -1]
            }
        }
    }
}
