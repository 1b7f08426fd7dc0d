# SPDX-License-Identifier: BSD-3-Clause
# Consumer groups of streams: replies and errors, what is pending against a model, who waits.

proc wait_until_blocked {count} {
    wait_for_condition 100 50 {[s blocked_clients] == $count} else {
        fail "[s blocked_clients] clients wait, not $count"
    }
}

# A deferring client that waits in XREADGROUP.
proc wait_in_group {args} {
    set client [redis_deferring_client]
    $client xreadgroup group {*}$args
    wait_until_blocked 1
    return $client
}

# What is pending for a consumer, or for all: IDs, and the times delivered, in turn.
proc pending {key group args} {
    set result {}
    foreach entry [r xpending $key $group - + 10000 {*}$args] {
        lappend result [lindex $entry 0] [lindex $entry 3]
    }
    return $result
}

start_server {tags {stream}} {
    test {consumer groups: replies and errors} {
        assert_conversation {
            SET str x  +OK
            XADD s 1-1 a 1  "1-1"
            XADD s 2-2 b 2  "2-2"
            XADD s 3-3 c 3  "3-3"
            XGROUP  -ERR wrong number of arguments for 'xgroup' command
            XGROUP HELP  * {+XGROUP <subcommand> [<arg> [value] [opt] ...]. Subcommands\
                are:} {+CREATE <key> <groupname> <id|$> [option]} {+    Create a new\
                consumer group. Options are:} {+    * MKSTREAM} {+      Create the empty\
                stream if it does not exist.} {+CREATECONSUMER <key> <groupname>\
                <consumer>} {+    Create a new consumer in the specified group.}\
                {+DELCONSUMER <key> <groupname> <consumer>} {+    Remove the specified\
                consumer.} {+DESTROY <key> <groupname>    Remove the specified group.}\
                {+SETID <key> <groupname> <id|$>} {+    Set the current group ID.} +HELP\
                {+    Prints this help.}
            XGROUP HELP x  -ERR Unknown subcommand or wrong number of arguments for\
                'HELP'. Try XGROUP HELP.
            XGROUP CREATE  -ERR Unknown subcommand or wrong number of arguments for\
                'CREATE'. Try XGROUP HELP.
            XGROUP CREATE s  -ERR Unknown subcommand or wrong number of arguments for\
                'CREATE'. Try XGROUP HELP.
            XGROUP CREATE s g  -ERR Unknown subcommand or wrong number of arguments for\
                'CREATE'. Try XGROUP HELP.
            XGROUP CREATE s g 0  +OK
            XGROUP CREATE s g 0  -BUSYGROUP Consumer Group name already exists
            XGROUP CREATE s g x  -ERR Invalid stream ID specified as stream command argument
            XGROUP CREATE s g -  -ERR Invalid stream ID specified as stream command argument
            XGROUP CREATE s g2 0 BOGUS  -ERR Unknown subcommand or wrong number of\
                arguments for 'CREATE'. Try XGROUP HELP.
            XGROUP CREATE s g2 0 MKSTREAM x  -ERR Unknown subcommand or wrong number of\
                arguments for 'CREATE'. Try XGROUP HELP.
            XGROUP CREATE s g2 {$} mkstream  +OK
            XGROUP CREATE no g2 x MKSTREAM  -ERR Invalid stream ID specified as stream\
                command argument
            XGROUP CREATE no g2 0  -ERR The XGROUP subcommand requires the key to exist.\
                Note that for CREATE you may want to use the MKSTREAM option to create an\
                empty stream automatically.
            XGROUP CREATE str g 0  -WRONGTYPE Operation against a key holding the wrong\
                kind of value
            XGROUP CREATE str g 0 MKSTREAM  -WRONGTYPE Operation against a key holding the\
                wrong kind of value
            XGROUP CREATE str g 0 BOGUS  -ERR Unknown subcommand or wrong number of\
                arguments for 'CREATE'. Try XGROUP HELP.
            XGROUP CREATE str  -ERR Unknown subcommand or wrong number of arguments for\
                'CREATE'. Try XGROUP HELP.
            XGROUP CREATE str g  -WRONGTYPE Operation against a key holding the wrong kind of value
            XGROUP CREATE no g  -ERR The XGROUP subcommand requires the key to exist. Note\
                that for CREATE you may want to use the MKSTREAM option to create an empty\
                stream automatically.
            XGROUP CREATE no g 0 MKSTREAM x  -ERR The XGROUP subcommand requires the key\
                to exist. Note that for CREATE you may want to use the MKSTREAM option to\
                create an empty stream automatically.
            XGROUP BOGUS  -ERR Unknown subcommand or wrong number of arguments for\
                'BOGUS'. Try XGROUP HELP.
            XGROUP BOGUS s  -ERR Unknown subcommand or wrong number of arguments for\
                'BOGUS'. Try XGROUP HELP.
            XGROUP BOGUS s g  -ERR Unknown subcommand or wrong number of arguments for\
                'BOGUS'. Try XGROUP HELP.
            XGROUP BOGUS no g  -ERR The XGROUP subcommand requires the key to exist. Note\
                that for CREATE you may want to use the MKSTREAM option to create an empty\
                stream automatically.
            XGROUP BOGUS str g  -WRONGTYPE Operation against a key holding the wrong kind of value
            XGROUP SETID s nog  -NOGROUP No such consumer group 'nog' for key name 's'
            XGROUP SETID s nog 0  -NOGROUP No such consumer group 'nog' for key name 's'
            XGROUP SETID s g  -ERR Unknown subcommand or wrong number of arguments for\
                'SETID'. Try XGROUP HELP.
            XGROUP SETID s g x  -ERR Invalid stream ID specified as stream command argument
            XGROUP SETID s g 0 0  -ERR Unknown subcommand or wrong number of arguments for\
                'SETID'. Try XGROUP HELP.
            XGROUP SETID s nog 0 MKSTREAM  -NOGROUP No such consumer group 'nog' for key name 's'
            XGROUP SETID no g 0 MKSTREAM  -ERR The XGROUP subcommand requires the key to\
                exist. Note that for CREATE you may want to use the MKSTREAM option to\
                create an empty stream automatically.
            XGROUP DESTROY s  -ERR Unknown subcommand or wrong number of arguments for\
                'DESTROY'. Try XGROUP HELP.
            XGROUP DESTROY s nog  :0
            XGROUP DESTROY s g x  -ERR Unknown subcommand or wrong number of arguments for\
                'DESTROY'. Try XGROUP HELP.
            XGROUP DESTROY s g2  :1
            XGROUP DESTROY s g2  :0
            XGROUP CREATECONSUMER s g  -ERR Unknown subcommand or wrong number of\
                arguments for 'CREATECONSUMER'. Try XGROUP HELP.
            XGROUP CREATECONSUMER s g c0  :1
            XGROUP CREATECONSUMER s g c0  :0
            XGROUP CREATECONSUMER s g c0 x  -ERR Unknown subcommand or wrong number of\
                arguments for 'CREATECONSUMER'. Try XGROUP HELP.
            XGROUP DELCONSUMER s g zz  :0
            XGROUP DELCONSUMER s g c0  :0
            XGROUP DELCONSUMER s g  -ERR Unknown subcommand or wrong number of arguments\
                for 'DELCONSUMER'. Try XGROUP HELP.
            XREADGROUP GROUP g c STREAMS s >  * {* {"s"} {* {* {"1-1"} {* {"a"} {"1"}}} {*\
                {"2-2"} {* {"b"} {"2"}}} {* {"3-3"} {* {"c"} {"3"}}}}}
            XINFO GROUPS s  * {* {"name"} {"g"} {"consumers"} :1 {"pending"} :3\
                {"last-delivered-id"} {"3-3"}}
            XREADGROUP GROUP g c STREAMS s >  nil*
            XREADGROUP GROUP g c9 STREAMS s >  nil*
            XREADGROUP GROUP g c8 STREAMS s 0  * {* {"s"} *}
            XREADGROUP GROUP g c7 COUNT 0 STREAMS s >  nil*
            XPENDING s g  * :3 {"1-1"} {"3-3"} {* {* {"c"} {"3"}}}
            XINFO GROUPS s  * {* {"name"} {"g"} {"consumers"} :2 {"pending"} :3\
                {"last-delivered-id"} {"3-3"}}
            XADD s 4-4 d 4  "4-4"
            XREADGROUP GROUP g c6 NOACK STREAMS s 0  * {* {"s"} *}
            XREADGROUP GROUP g c STREAMS s 18446744073709551615-18446744073709551615  * {*\
                {"s"} {* {* {"4-4"} {* {"d"} {"4"}}}}}
            XREADGROUP GROUP g c COUNT 2 STREAMS s 0  * {* {"s"} {* {* {"1-1"} {* {"a"}\
                {"1"}}} {* {"2-2"} {* {"b"} {"2"}}}}}
            XREADGROUP GROUP g c COUNT -2 STREAMS s 1  * {* {"s"} {* {* {"1-1"} {* {"a"}\
                {"1"}}} {* {"2-2"} {* {"b"} {"2"}}} {* {"3-3"} {* {"c"} {"3"}}} {* {"4-4"}\
                {* {"d"} {"4"}}}}}
            XREADGROUP GROUP g c COUNT -2 STREAMS s 1-1  * {* {"s"} {* {* {"2-2"} {* {"b"}\
                {"2"}}} {* {"3-3"} {* {"c"} {"3"}}} {* {"4-4"} {* {"d"} {"4"}}}}}
            XDEL s 2-2  :1
            XREADGROUP GROUP g c STREAMS s 0-0  * {* {"s"} {* {* {"1-1"} {* {"a"} {"1"}}}\
                {* {"2-2"} nil*} {* {"3-3"} {* {"c"} {"3"}}} {* {"4-4"} {* {"d"} {"4"}}}}}
            XREADGROUP GROUP g c STREAMS s  -ERR wrong number of arguments for 'xreadgroup' command
            XREADGROUP GROUP g c STREAMS s s >  -ERR Unbalanced XREAD list of streams: for\
                each stream key an ID or '$' must be specified.
            XREADGROUP COUNT 1 BLOCK 1 STREAMS s >  -ERR Missing GROUP option for XREADGROUP
            XREADGROUP NOACK NOACK NOACK NOACK STREAMS s >  -ERR Missing GROUP option for XREADGROUP
            XREADGROUP GROUP g c STREAMS s -  -ERR Invalid stream ID specified as stream\
                command argument
            XREADGROUP GROUP g c STREAMS s +  -ERR Invalid stream ID specified as stream\
                command argument
            XREADGROUP GROUP g c STREAMS s x  -ERR Invalid stream ID specified as stream\
                command argument
            XREADGROUP GROUP g c STREAMS str x  -WRONGTYPE Operation against a key holding\
                the wrong kind of value
            XREADGROUP GROUP g c STREAMS no x  -NOGROUP No such key 'no' or consumer group\
                'g' in XREADGROUP with GROUP option
            XREADGROUP GROUP g c STREAMS s no > >  -NOGROUP No such key 'no' or consumer\
                group 'g' in XREADGROUP with GROUP option
            XREADGROUP GROUP g c STREAMS s str x >  -ERR Invalid stream ID specified as\
                stream command argument
            XREADGROUP GROUP g c COUNT x STREAMS s  -ERR value is not an integer or out of range
            XREADGROUP GROUP g c BLOCK -1 STREAMS s  -ERR timeout is negative
            XREADGROUP GROUP g c BLOCK 99999999999999999999 STREAMS s x  -ERR timeout is\
                not an integer or out of range
            XREADGROUP GROUP g c BLOCK 9223372036854775807 STREAMS s x  -ERR Invalid\
                stream ID specified as stream command argument
        }
    }

    test {pending entries: replies and errors} {
        r flushall
        assert_conversation {
            SET str x  +OK
            XADD s 1-1 a 1  "1-1"
            XADD s 2-2 b 2  "2-2"
            XADD s 3-3 c 3  "3-3"
            XADD s 4-4 d 4  "4-4"
            XGROUP CREATE s g 0  +OK
            XREADGROUP GROUP g c1 COUNT 2 STREAMS s >  * {* {"s"} {* {* {"1-1"} {* {"a"}\
                {"1"}}} {* {"2-2"} {* {"b"} {"2"}}}}}
            XREADGROUP GROUP g c2 COUNT 1 STREAMS s >  * {* {"s"} {* {* {"3-3"} {* {"c"} {"3"}}}}}
            XACK s g  -ERR wrong number of arguments for 'xack' command
            XACK s g x  -ERR Invalid stream ID specified as stream command argument
            XACK s nog x  :0
            XACK no g x  :0
            XACK str g x  -WRONGTYPE Operation against a key holding the wrong kind of value
            XACK s g 1-1 x  -ERR Invalid stream ID specified as stream command argument
            XACK s g 9-9 0-0  :0
            XPENDING s  -ERR wrong number of arguments for 'xpending' command
            XPENDING s g  * :3 {"1-1"} {"3-3"} {* {* {"c1"} {"2"}} {* {"c2"} {"1"}}}
            XPENDING s nog  -NOGROUP No such key 's' or consumer group 'nog'
            XPENDING no g  -NOGROUP No such key 'no' or consumer group 'g'
            XPENDING str g  -WRONGTYPE Operation against a key holding the wrong kind of value
            XPENDING s g -  -ERR syntax error
            XPENDING s g - +  -ERR syntax error
            XPENDING s g - + x  -ERR value is not an integer or out of range
            XPENDING str g x y 10  -ERR Invalid stream ID specified as stream command argument
            XPENDING s g IDLE  -ERR syntax error
            XPENDING s g IDLE 1 - +  -ERR syntax error
            XPENDING s g IDLE x - +  -ERR value is not an integer or out of range
            XPENDING s g IDLE 1 - + 10 c1 x  -ERR syntax error
            XPENDING no nog - + x  -ERR value is not an integer or out of range
            XPENDING s nog - + 1  -NOGROUP No such key 's' or consumer group 'nog'
            XCLAIM s g c1 0  -ERR wrong number of arguments for 'xclaim' command
            XCLAIM s g c1 x 1-1  -ERR Invalid min-idle-time argument for XCLAIM
            XCLAIM s nog c1 x 1-1  -NOGROUP No such key 's' or consumer group 'nog'
            XCLAIM str g c1 x 1-1  -WRONGTYPE Operation against a key holding the wrong\
                kind of value
            XCLAIM no g c1 x 1-1  -NOGROUP No such key 'no' or consumer group 'g'
            XCLAIM s g c1 -5 x  -ERR Unrecognized XCLAIM option 'x'
            XCLAIM s g c1 0 1-1 IDLE  -ERR Unrecognized XCLAIM option 'IDLE'
            XCLAIM s g c1 0 1-1 IDLE x  -ERR Invalid IDLE option argument for XCLAIM
            XCLAIM s g c1 0 1-1 TIME x  -ERR Invalid TIME option argument for XCLAIM
            XCLAIM s g c1 0 1-1 RETRYCOUNT x  -ERR Invalid RETRYCOUNT option argument for XCLAIM
            XCLAIM s g c1 0 1-1 RETRYCOUNT -5  * {* {"1-1"} {* {"a"} {"1"}}}
            XCLAIM s g c1 0 1-1 LASTID x  -ERR Invalid stream ID specified as stream\
                command argument
            XCLAIM s g c1 0 1-1 LASTID  -ERR Unrecognized XCLAIM option 'LASTID'
            XCLAIM s g c1 0 1-1 FORCE 2-2  -ERR Unrecognized XCLAIM option '2-2'
            XCLAIM s g c1 0 1-1 BOGUS  -ERR Unrecognized XCLAIM option 'BOGUS'
            XCLAIM s g c1 0 BOGUS 1-1  -ERR Unrecognized XCLAIM option 'BOGUS'
            XCLAIM s g c1 0 FORCE  *
            XCLAIM s g new 1000000 1-1  *
            XCLAIM s g new2 0 9-9  *
            XCLAIM s g new3 0 9-9 FORCE  *
            XCLAIM s g new3 0 9-9  *
            XCLAIM s g c2 0 1-1 1-1 3-3 JUSTID  * {"1-1"} {"1-1"} {"3-3"}
            XCLAIM s g c2 0 1-1 3-3 RETRYCOUNT 7  * {* {"1-1"} {* {"a"} {"1"}}} {* {"3-3"}\
                {* {"c"} {"3"}}}
            XCLAIM s g c2 0 1-1 JUSTID RETRYCOUNT 0  * {"1-1"}
            XCLAIM s g c2 0 1-1 LASTID 3-5  * {* {"1-1"} {* {"a"} {"1"}}}
            XINFO GROUPS s  * {* {"name"} {"g"} {"consumers"} :2 {"pending"} :3\
                {"last-delivered-id"} {"3-5"}}
            XCLAIM s g c2 0 1-1 LASTID 1-5 IDLE 100 TIME 4 RETRYCOUNT 3 FORCE JUSTID  * {"1-1"}
            XCLAIM s g c2 0 1-1 IDLE -50  * {* {"1-1"} {* {"a"} {"1"}}}
            XCLAIM s g c2 0 1-1 TIME 99999999999999  * {* {"1-1"} {* {"a"} {"1"}}}
            XCLAIM s g c2 0 1-1 IDLE 99999999999999  * {* {"1-1"} {* {"a"} {"1"}}}
            XCLAIM s g c2 0 1-1 IDLE 50000  * {* {"1-1"} {* {"a"} {"1"}}}
            XCLAIM s g c2 60000 1-1 FORCE  *
            XCLAIM s g c2 40000 1-1 FORCE  * {* {"1-1"} {* {"a"} {"1"}}}
            XCLAIM s g c3 0 4-4 FORCE JUSTID  * {"4-4"}
            XDEL s 2-2  :1
            XCLAIM s g c3 0 2-2  * nil
            XCLAIM s g c3 0 2-2 JUSTID  * {"2-2"}
            XAUTOCLAIM s g c4 x 0  -ERR Invalid min-idle-time argument for XAUTOCLAIM
            XAUTOCLAIM s nog c4 0 x  -ERR Invalid stream ID specified as stream command argument
            XAUTOCLAIM s nog c4 0 0 COUNT 0  -ERR COUNT must be > 0
            XAUTOCLAIM str nog c4 0 0  -WRONGTYPE Operation against a key holding the\
                wrong kind of value
            XAUTOCLAIM no nog c4 0 0  -NOGROUP No such key 'no' or consumer group 'nog'
            XAUTOCLAIM s g c4 0 0 COUNT  -ERR syntax error
            XAUTOCLAIM s g c4 0 0 COUNT x  -ERR COUNT must be > 0
            XAUTOCLAIM s g c4 0 0 COUNT -1  -ERR COUNT must be > 0
            XAUTOCLAIM s g c4 0 0 COUNT 9223372036854775807  * {"0-0"} {* {* {"1-1"} {*\
                {"a"} {"1"}}} nil {* {"3-3"} {* {"c"} {"3"}}} {* {"4-4"} {* {"d"} {"4"}}}}
            XAUTOCLAIM s g c4 0 0 COUNT 922337203685477580  * {"0-0"} {* {* {"1-1"} {*\
                {"a"} {"1"}}} nil {* {"3-3"} {* {"c"} {"3"}}} {* {"4-4"} {* {"d"} {"4"}}}}
            XAUTOCLAIM s g c4 0 0 COUNT 922337203685477581  * {"0-0"} {* {* {"1-1"} {*\
                {"a"} {"1"}}} nil {* {"3-3"} {* {"c"} {"3"}}} {* {"4-4"} {* {"d"} {"4"}}}}
            XAUTOCLAIM s g c4 0 0 COUNT 576460752303423487  * {"0-0"} {* {* {"1-1"} {*\
                {"a"} {"1"}}} nil {* {"3-3"} {* {"c"} {"3"}}} {* {"4-4"} {* {"d"} {"4"}}}}
            XAUTOCLAIM s g c4 0 0 COUNT 576460752303423488  * {"0-0"} {* {* {"1-1"} {*\
                {"a"} {"1"}}} nil {* {"3-3"} {* {"c"} {"3"}}} {* {"4-4"} {* {"d"} {"4"}}}}
            XAUTOCLAIM s g c4 0 0 BOGUS  -ERR syntax error
            XAUTOCLAIM s g c4 0 0 JUSTID JUSTID COUNT 1 COUNT 2  * {"3-3"} {* {"1-1"} {"2-2"}}
            XAUTOCLAIM s g c4 0 (1-1 JUSTID COUNT 1  * {"3-3"} {* {"2-2"}}
            XAUTOCLAIM s g c4 0 - JUSTID COUNT 1  * {"2-2"} {* {"1-1"}}
            XAUTOCLAIM s g c4 0 + JUSTID COUNT 1  * {"0-0"} *
            XAUTOCLAIM s g c5 0 - COUNT 10  * {"0-0"} {* {* {"1-1"} {* {"a"} {"1"}}} nil\
                {* {"3-3"} {* {"c"} {"3"}}} {* {"4-4"} {* {"d"} {"4"}}}}
            XAUTOCLAIM s g c6 1000000 - COUNT 10  * {"0-0"} *
            XAUTOCLAIM s g c4 0 (18446744073709551615-18446744073709551615  -ERR invalid\
                start ID for the interval
            XGROUP DELCONSUMER s g c5  :4
            XPENDING s g  * :0 nil nil nil*
            XINFO  -ERR wrong number of arguments for 'xinfo' command
            XINFO GROUPS  -ERR Unknown subcommand or wrong number of arguments for\
                'GROUPS'. Try XINFO HELP.
            XINFO GROUPS s x  -ERR Unknown subcommand or wrong number of arguments for\
                'GROUPS'. Try XINFO HELP.
            XINFO GROUPS no x  -ERR no such key
            XINFO GROUPS no  -ERR no such key
            XINFO GROUPS str  -WRONGTYPE Operation against a key holding the wrong kind of value
            XINFO CONSUMERS s  -ERR Unknown subcommand or wrong number of arguments for\
                'CONSUMERS'. Try XINFO HELP.
            XINFO CONSUMERS no  -ERR no such key
            XINFO CONSUMERS no g  -ERR no such key
            XINFO CONSUMERS s nog  -NOGROUP No such consumer group 'nog' for key name 's'
            XINFO CONSUMERS str nog  -WRONGTYPE Operation against a key holding the wrong\
                kind of value
            XINFO CONSUMERS str nog x  -WRONGTYPE Operation against a key holding the\
                wrong kind of value
            XREADGROUP GROUP g c1 STREAMS s >  * {* {"s"} {* {* {"4-4"} {* {"d"} {"4"}}}}}
            XGROUP HELP s g  -ERR Unknown subcommand or wrong number of arguments for\
                'HELP'. Try XGROUP HELP.
            XGROUP HELP no g  -ERR The XGROUP subcommand requires the key to exist. Note\
                that for CREATE you may want to use the MKSTREAM option to create an empty\
                stream automatically.
            COMMAND GETKEYS XREADGROUP GROUP a b STREAMS c >  * {"c"}
            COMMAND GETKEYS XREADGROUP STREAMS c d e 0 0 0  * {"c"} {"d"} {"e"}
            COMMAND GETKEYS XGROUP HELP  -ERR Invalid arguments specified for command
            COMMAND GETKEYS XGROUP CREATE k  * {"k"}
            COMMAND INFO xread xreadgroup  * {* {"xread"} :-4 {* +readonly +movablekeys}\
                :0 :0 :0 {* +@read +@stream +@slow +@blocking}} {* {"xreadgroup"} :-7 {*\
                +write +movablekeys} :0 :0 :0 {* +@write +@stream +@slow +@blocking}}
        }
    }

    test {what is pending, against a model} {
        r del s
        r xgroup create s g 0 mkstream
        set added 0
        set given 0
        array unset owner
        array unset times
        for {set step 0} {$step < 2000} {incr step} {
            set consumer c[random_int 4]
            switch [random_int 6] {
                0 - 1 {
                    incr added
                    r xadd s $added-0 n $added
                }
                2 {
                    set count [expr {1 + [random_int 5]}]
                    set reply [r xreadgroup group g $consumer count $count streams s >]
                    set entries [lindex $reply 0 1]
                    assert_equal [expr {min($count, $added - $given)}] [llength $entries]
                    foreach entry $entries {
                        incr given
                        assert_equal [list $given-0 [list n $given]] $entry
                        set owner($given) $consumer
                        set times($given) 1
                    }
                }
                3 {
                    set n [expr {1 + [random_int [expr {$given + 1}]]}]
                    assert_equal [info exists owner($n)] [r xack s g $n-0]
                    unset -nocomplain owner($n) times($n)
                }
                4 {
                    set n [expr {1 + [random_int [expr {$given + 1}]]}]
                    if {[random_int 2]} {
                        set reply [r xclaim s g $consumer 0 $n-0 justid]
                    } else {
                        set reply [r xclaim s g $consumer 0 $n-0]
                        if {[info exists owner($n)]} {
                            assert_equal [list [list $n-0 [list n $n]]] $reply
                            incr times($n)
                        }
                    }
                    assert_equal [info exists owner($n)] [llength $reply]
                    if {[info exists owner($n)]} {
                        set owner($n) $consumer
                    }
                }
                5 {
                    set from [random_int [expr {$given + 1}]]
                    set reply [r xreadgroup group g $consumer count 3 streams s $from-0]
                    set wanted {}
                    foreach n [lsort -integer [array names owner]] {
                        if {$owner($n) eq $consumer && $n > $from && [llength $wanted] < 3} {
                            lappend wanted [list $n-0 [list n $n]]
                            incr times($n)
                        }
                    }
                    assert_equal [list [list s $wanted]] $reply
                }
            }
        }
        set wanted {}
        foreach n [lsort -integer [array names owner]] {
            lappend wanted $n-0 $times($n)
        }
        assert_equal $wanted [pending s g]
        foreach consumer {c0 c1 c2 c3} {
            set wanted {}
            foreach n [lsort -integer [array names owner]] {
                if {$owner($n) eq $consumer} {
                    lappend wanted $n-0 $times($n)
                }
            }
            assert_equal $wanted [pending s g $consumer]
        }
        # From an ID on, as often as it takes.
        set claimed {}
        set cursor 0-0
        while 1 {
            lassign [r xautoclaim s g heir 0 $cursor count 7 justid] cursor ids
            assert {[llength $ids] <= 7}
            lappend claimed {*}$ids
            if {$cursor eq {0-0}} {
                break
            }
        }
        assert_equal [dict keys [pending s g heir]] $claimed
        assert_equal [array size owner] [llength $claimed]
        assert_equal [array size owner] [r xgroup delconsumer s g heir]
        assert_equal {} [pending s g]
    }

    test {idle time: XPENDING IDLE, XCLAIM and XAUTOCLAIM} {
        r del s
        r xgroup create s g 0 mkstream
        foreach id {1-0 2-0 3-0} {
            r xadd s $id a b
        }
        r xreadgroup group g c streams s >
        r xclaim s g c 0 2-0 idle 1000000 justid
        assert_equal 2-0 [lindex [r xpending s g idle 900000 - + 10] 0 0]
        assert_equal 1 [llength [r xpending s g idle 900000 - + 10 c]]
        assert_equal 3 [llength [r xpending s g idle -1 - + 10]]
        assert_equal {} [r xclaim s g d 900000 1-0]
        assert_equal {2-0} [r xclaim s g d 900000 1-0 2-0 3-0 idle 2000000 justid]
        assert_equal {0-0 2-0} [r xautoclaim s g e 1500000 - justid]
        assert_equal {1-0 1 3-0 1} [pending s g c]
        # A consumer that got nothing is not made.
        assert_equal {} [r xclaim s g nobody 900000 1-0]
        assert_equal 3 [llength [r xinfo consumers s g]]
        set idle [lindex [r xpending s g idle 0 1-0 1-0 1] 0 2]
        assert {$idle >= 0}
    }

    test {a deleted entry stays pending until it is acknowledged} {
        r del s
        r xgroup create s g 0 mkstream
        r xadd s 1-0 a b
        r xadd s 2-0 a b
        r xreadgroup group g c streams s >
        r xdel s 1-0
        assert_equal {{s {{1-0 {}} {2-0 {a b}}}}} [r xreadgroup group g c streams s 0]
        # Only what could be delivered counts as delivered again.
        assert_equal {1-0 1 2-0 2} [pending s g]
        assert_equal {{}} [r xclaim s g d 0 1-0]
        assert_equal {} [r xclaim s g d 0 9-0 force]
        assert_equal 1 [r xack s g 1-0]
    }

    test {XGROUP SETID gives entries again; they change hands} {
        r del s
        r xadd s 1-0 a b
        r xgroup create s g 0
        r xreadgroup group g c streams s >
        r xreadgroup group g c streams s 0
        assert_equal {1-0 2} [pending s g c]
        r xgroup setid s g 0
        r xreadgroup group g d streams s >
        assert_equal {} [pending s g c]
        assert_equal {1-0 1} [pending s g d]
    }

    test {XREADGROUP of a stream named twice} {
        r del s
        r xgroup create s g 0 mkstream
        foreach id {1-0 2-0 3-0} {
            r xadd s $id a b
        }
        assert_equal {{s {{1-0 {a b}} {2-0 {a b}}}} {s {{3-0 {a b}}}}} \
            [r xreadgroup group g c count 2 streams s s > >]
        assert_equal {} [r xreadgroup group g c count 2 streams s s > >]
    }

    test {groups and consumers with an empty name} {
        r del s
        r xadd s 1-0 a b
        assert_equal OK [r xgroup create s {} 0]
        r xgroup create s g 0
        r xreadgroup group {} {} streams s >
        r xreadgroup group {} c streams s 0
        assert_equal {1-0 1} [pending s {} {}]
        assert_equal 2 [llength [r xinfo groups s]]
        assert_equal 2 [llength [r xinfo consumers s {}]]
        r copy s t
        assert_equal [r xinfo stream s full] [r xinfo stream t full]
        assert_equal 1 [r xgroup destroy s {}]
    }

    test {XREADGROUP waits; the first consumer gets the entry} {
        r del s
        r xgroup create s g $ mkstream
        set first [wait_in_group g c1 block 0 streams s >]
        set second [redis_deferring_client]
        $second xreadgroup group g c2 block 0 streams s >
        wait_until_blocked 2
        r xadd s 1-0 a b
        assert_equal {{s {{1-0 {a b}}}}} [$first read]
        assert_equal 1 [s blocked_clients]
        assert_equal {1-0 1} [pending s g c1]
        r xadd s 2-0 a b
        assert_equal {{s {{2-0 {a b}}}}} [$second read]
        assert_equal {2-0 1} [pending s g c2]
        $first close
        $second close
    }

    test {XREADGROUP NOACK that waits leaves nothing pending} {
        r del s
        r xgroup create s g $ mkstream
        set client [wait_in_group g c noack block 0 streams s >]
        r xadd s 1-0 a b
        assert_equal {{s {{1-0 {a b}}}}} [$client read]
        assert_equal {} [pending s g]
        assert_equal 1-0 [dict get [lindex [r xinfo groups s] 0] last-delivered-id]
        $client close
    }

    test {who waits for a group learns that it is gone} {
        set gone {NOGROUP the consumer group this client was blocked on no longer exists}
        r del s t
        r xgroup create s g $ mkstream
        r xgroup create s other $
        set client [wait_in_group g c block 0 streams s >]
        r xgroup destroy s other
        assert_equal 1 [s blocked_clients]
        r xgroup destroy s g
        assert_error $gone {$client read}
        # A key that goes is waited for; a stream without the group is not.
        r xgroup create s g $
        $client xreadgroup group g c block 0 streams s >
        wait_until_blocked 1
        r del s
        r set s x
        r del s
        assert_equal 1 [s blocked_clients]
        r xadd s 1-0 a b
        assert_error $gone {$client read}
        r xgroup create s g $
        $client xreadgroup group g c block 0 streams s >
        wait_until_blocked 1
        r xadd t 5-0 a b
        r rename t s
        assert_error $gone {$client read}
        $client close
    }

    test {RENAME gives who waits what the group has not read} {
        r del s t
        r xgroup create s g $ mkstream
        set client [wait_in_group g c block 0 streams s >]
        r xgroup create t g $ mkstream
        r xadd t 1-0 a b
        r rename t s
        assert_equal {{s {{1-0 {a b}}}}} [$client read]
        $client close
    }

    test {changes are counted} {
        proc changes {args} {
            set before [s rdb_changes_since_last_save]
            r {*}$args
            return [expr {[s rdb_changes_since_last_save] - $before}]
        }
        r del s
        assert_equal 1 [changes xgroup create s g 0 mkstream]
        assert_equal 1 [changes xadd s 1-0 a b]
        assert_equal 1 [changes xadd s maxlen 5 2-0 a b]
        assert_equal 1 [changes xgroup createconsumer s g c]
        assert_equal 0 [changes xgroup createconsumer s g c]
        assert_equal 1 [changes xreadgroup group g c streams s >]
        assert_equal 0 [changes xreadgroup group g c streams s >]
        assert_equal 1 [changes xreadgroup group g c streams s 0]
        assert_equal 2 [changes xclaim s g d 0 1-0 2-0 7-0]
        assert_equal 0 [changes xclaim s g d 0 7-0]
        assert_equal 1 [changes xclaim s g d 0 7-0 lastid 9-0]
        assert_equal 2 [changes xautoclaim s g c 0 -]
        assert_equal 1 [changes xack s g 1-0 1-0]
        assert_equal 0 [changes xack s g 1-0]
        assert_equal 1 [changes xdel s 1-0 8-0]
        assert_equal 1 [changes xtrim s maxlen 0]
        assert_equal 1 [changes xsetid s 9-0]
        assert_equal 1 [changes xgroup setid s g 0]
        assert_equal 1 [changes xgroup destroy s g]
        assert_equal 0 [changes xgroup destroy s g]
        assert_equal 0 [changes xinfo stream s]
    }
}
