# SPDX-License-Identifier: BSD-3-Clause
# Publish and subscribe: what subscribers are sent, byte for byte, what they may do, who is counted.

# Bytes of several commands.
proc commands {words} {
    set out ""
    foreach command $words {
        append out [client::encode $command]
    }
    return $out
}

# Sends the commands; the bytes given, and no others, must come.
proc exchange {client words expected} {
    $client write [commands $words]
    assert_bytes $client $expected
}

proc assert_bytes {client expected} {
    if {$expected ne ""} {
        assert_equal $expected [$client raw_read [string length $expected]]
    }
}

# Nothing stands between what was read and the reply to PING. `pong` is its form.
proc assert_silent {client {pong "+PONG\r\n"}} {
    exchange $client {PING} $pong
}

proc bulk {text} {
    return "\$[string length $text]\r\n$text\r\n"
}

# A message of such parts (those that are :integers are sent so), as `mark` has it: * or >.
proc message {mark args} {
    set out "$mark[llength $args]\r\n"
    foreach part $args {
        append out [expr {[regexp {^:\d+$} $part] ? "$part\r\n" : [bulk $part]}]
    }
    return $out
}

proc subscriber {args} {
    set client [raw_client]
    set count 0
    foreach channel $args {
        exchange $client [list [list SUBSCRIBE $channel]] \
            [message * subscribe $channel :[incr count]]
    }
    return $client
}

proc resp3_client {} {
    set client [raw_client]
    $client write [client::encode {HELLO 3}]
    $client raw_reply
    return $client
}

# A field of a client's line in CLIENT LIST.
proc listed {id field} {
    regexp " $field=(\\S*)" [r client list id $id] -> value
    return $value
}

proc await_subscribers {channel count} {
    wait_for_condition 500 10 {[lindex [r pubsub numsub $channel] 1] == $count} else {
        fail "[r pubsub numsub $channel], not $count"
    }
}

set refused {only (P)SUBSCRIBE / (P)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context}
set pong2 "*2\r\n\$4\r\npong\r\n\$0\r\n\r\n"

# A batch in which a client's subscriptions change, messages are published and, where it may, it
# blocks for an element that is there or comes at once: {requests, what must come}. `channels` is
# what it listens to, before and afterwards; `mark` as message has it.
proc draw_batch {mark id channelsVar} {
    upvar 1 $channelsVar channels
    set sent ""
    set due ""
    for {set i [random_int 8]} {$i >= 0} {incr i -1} {
        set channel $id:[random_int 3]
        set listens [expr {$channel in $channels}]
        switch [random_int 4] {
            0 {
                append sent [client::encode [list subscribe $channel]]
                if {!$listens} {lappend channels $channel}
                append due [message $mark subscribe $channel :[llength $channels]]
            }
            1 {
                append sent [client::encode [list unsubscribe $channel]]
                set channels [lsearch -all -inline -not -exact $channels $channel]
                append due [message $mark unsubscribe $channel :[llength $channels]]
            }
            2 {
                if {$mark eq "*" && [llength $channels]} continue
                append sent [client::encode [list publish $channel text$i]]
                if {$listens} {append due [message $mark message $channel text$i]}
                append due ":$listens\r\n"
            }
            3 {
                if {$mark eq "*" && [llength $channels]} continue
                append sent [client::encode [list rpush list:$id $i]]
                append sent [client::encode [list blpop list:$id 0]]
                append due ":1\r\n" "*2\r\n" [bulk list:$id] [bulk $i]
            }
        }
    }
    return [list $sent $due]
}

# Each client gets what its own batches say, while another publishes to all of them and pushes what
# they block for.
proc check_batches {rounds} {
    set clients {}
    foreach mark {* > * > * > * >} {
        set client [expr {$mark eq ">" ? [resp3_client] : [raw_client]}]
        exchange $client {{select 9}} "+OK\r\n"
        lappend clients $client $mark
    }
    for {set round 0} {$round < $rounds} {incr round} {
        set expected {}
        set id 0
        foreach {client mark} $clients {
            incr id
            set channels {}
            lassign [draw_batch $mark $id channels] sent due
            # It blocks until the others have been served, and then is told what came meanwhile.
            if {$mark eq ">" || ![llength $channels]} {
                append sent [client::encode [list subscribe $id:last]]
                append due [message $mark subscribe $id:last :[expr {[llength $channels] + 1}]]
                lappend channels $id:last
                if {$mark eq ">"} {
                    append sent [client::encode [list blpop late:$id 0]]
                }
            }
            $client write $sent
            $client flush
            lappend expected $client $mark $id $channels $due
        }
        foreach {client mark id channels due} $expected {
            assert_bytes $client $due
            foreach channel $channels {
                assert_equal 1 [r publish $channel other] "round $round, $channel"
                append more($id) [message $mark message $channel other]
            }
            if {$mark eq ">"} {
                r rpush late:$id served
                append more($id) "*2\r\n" [bulk late:$id] [bulk served]
            }
        }
        foreach {client mark id channels due} $expected {
            set left [llength $channels]
            foreach channel $channels {
                append more($id) [message $mark unsubscribe $channel :[incr left -1]]
                $client write [client::encode [list unsubscribe $channel]]
            }
            $client flush
            if {[info exists more($id)]} {
                assert_bytes $client $more($id)
            }
            unset -nocomplain more($id)
        }
    }
    foreach {client mark} $clients {
        assert_silent $client
        $client close
    }
}

foreach threads {1 4} {
    start_server [list tags {pubsub} overrides [list io-threads $threads]] {
        test "subscriptions, messages and blocking commands in drawn batches, io-threads $threads" {
            check_batches [accurate 60 2000]
        } undefined {needs:list}
    }
}

start_server {tags {pubsub}} {
    foreach {version mark null} {2 * "$-1\r\n" 3 > "_\r\n"} {
        test "subscribing and unsubscribing, RESP$version" {
            set client [raw_client]
            if {$version == 3} {
                $client close
                set client [resp3_client]
            }
            exchange $client {{SUBSCRIBE a b a}} [string cat \
                [message $mark subscribe a :1] [message $mark subscribe b :2] \
                [message $mark subscribe a :2]]
            exchange $client {{PSUBSCRIBE a p* p*}} [string cat \
                [message $mark psubscribe a :3] [message $mark psubscribe p* :4] \
                [message $mark psubscribe p* :4]]
            exchange $client {{UNSUBSCRIBE none a a}} [string cat \
                [message $mark unsubscribe none :4] [message $mark unsubscribe a :3] \
                [message $mark unsubscribe a :3]]
            exchange $client {PUNSUBSCRIBE} [string cat \
                [message $mark punsubscribe a :2] [message $mark punsubscribe p* :1]]
            exchange $client {PUNSUBSCRIBE} "${mark}3\r\n[bulk punsubscribe]$null:1\r\n"
            exchange $client {UNSUBSCRIBE} [message $mark unsubscribe b :0]
            exchange $client {UNSUBSCRIBE} "${mark}3\r\n[bulk unsubscribe]$null:0\r\n"
            exchange $client {{PUNSUBSCRIBE x}} [message $mark punsubscribe x :0]
            assert_silent $client
            $client close
        }

        test "messages by channel and by pattern, RESP$version" {
            set client [expr {$version == 3 ? [resp3_client] : [raw_client]}]
            exchange $client {{SUBSCRIBE news} {PSUBSCRIBE n?w*}} [string cat \
                [message $mark subscribe news :1] [message $mark psubscribe n?w* :2]]
            assert_equal 2 [r publish news hello]
            assert_equal 1 [r publish new ""]
            assert_equal 0 [r publish News hello]
            assert_bytes $client [string cat [message $mark message news hello] \
                [message $mark pmessage n?w* news hello] [message $mark pmessage n?w* new ""]]
            assert_silent $client [expr {$version == 3 ? "+PONG\r\n" : $pong2}]
            $client close
        }
    }

    test {UNSUBSCRIBE of all names each channel once} {
        set client [subscriber a b c d e f g]
        $client write [client::encode UNSUBSCRIBE]
        set names {}
        foreach left {6 5 4 3 2 1 0} {
            lassign [$client read] what name count
            assert_equal {unsubscribe} $what
            assert_equal $left $count
            lappend names $name
        }
        assert_equal {a b c d e f g} [lsort $names]
        assert_silent $client
        $client close
    }

    test {names and messages are any bytes, also none} {
        set client [raw_client]
        set name "\x00\r\n\xff*"
        exchange $client [list [list SUBSCRIBE $name ""] {PSUBSCRIBE ""}] [string cat \
            [message * subscribe $name :1] [message * subscribe "" :2] \
            [message * psubscribe "" :3]]
        assert_equal 1 [r publish $name "\x00\x01\r\n"]
        assert_equal 2 [r publish "" ""]
        assert_bytes $client [string cat [message * message $name "\x00\x01\r\n"] \
            [message * message "" ""] [message * pmessage "" "" ""]]
        $client close
    }

    test {each subscriber gets a message once a subscription that fits} {
        set a [subscriber x]
        set b [subscriber y x]
        set c [raw_client]
        exchange $c {{PSUBSCRIBE x* [xy] nothing}} [string cat [message * psubscribe x* :1] \
            [message * psubscribe {[xy]} :2] [message * psubscribe nothing :3]]
        assert_equal 4 [r publish x 1]
        assert_equal 2 [r publish y 2]
        assert_bytes $a [message * message x 1]
        assert_bytes $b [message * message x 1][message * message y 2]
        # In which order patterns are looked at is nobody's to rely on.
        set got [lsort [list [$c read] [$c read]]]
        assert_equal {{pmessage x* x 1} {pmessage {[xy]} x 1}} $got
        assert_bytes $c [message * pmessage {[xy]} y 2]
        foreach client [list $a $b $c] {
            assert_silent $client $pong2
            $client close
        }
    }

    test {PING of a subscriber is a message in RESP2 only} {
        set client [subscriber a]
        exchange $client {PING {PING hello}} "$pong2*2\r\n[bulk pong][bulk hello]"
        exchange $client {{PING a b}} "-ERR wrong number of arguments for 'ping' command\r\n"
        $client close
        set client [resp3_client]
        exchange $client {{SUBSCRIBE a} PING {PING hello}} \
            "[message > subscribe a :1]+PONG\r\n[bulk hello]"
        $client close
    }

    test {RESP2 subscribers may run few commands} {
        set client [subscriber a]
        set before [command_stat get rejected_calls]
        foreach words {{GET a} {SET a b} MULTI {HELLO 3} {PUBLISH a b} {PUBSUB CHANNELS} {CLIENT ID}
                       {Echo x} INFO} {
            set name [string tolower [lindex $words 0]]
            exchange $client [list $words] "-ERR Can't execute '$name': $refused\r\n"
        }
        assert_equal [expr {$before + 1}] [command_stat get rejected_calls]
        exchange $client NOSUCH \
            "-ERR unknown command `NOSUCH`, with args beginning with: \r\n"
        exchange $client GET "-ERR wrong number of arguments for 'get' command\r\n"
        exchange $client {UNSUBSCRIBE PING} [message * unsubscribe a :0]+PONG\r\n
        $client close
    }

    test {RESP3 subscribers may run all; back in RESP2 they may not} {
        set client [resp3_client]
        exchange $client {{SUBSCRIBE a} {DEL k} {GET k} {PUBSUB NUMSUB a}} [string cat \
            [message > subscribe a :1] ":0\r\n" "_\r\n" "*2\r\n[bulk a]:1\r\n"]
        $client write [client::encode {HELLO 2}]
        $client raw_reply
        exchange $client {{GET k}} "-ERR Can't execute 'get': $refused\r\n"
        r publish a now
        assert_bytes $client [message * message a now]
        $client close
    }

    test {a message to oneself comes before the reply} {
        set client [resp3_client]
        exchange $client {{SUBSCRIBE a} {PSUBSCRIBE *} {PUBLISH a 1} {ECHO x} {PUBLISH a 2}} \
            [string cat [message > subscribe a :1] [message > psubscribe * :2] \
            [message > message a 1] [message > pmessage * a 1] ":2\r\n" [bulk x] \
            [message > message a 2] [message > pmessage * a 2] ":2\r\n"]
        $client close
    }

    test {RESET and QUIT end subscriptions} {
        set client [subscriber a b]
        exchange $client {{PSUBSCRIBE p} RESET} "[message * psubscribe p :3]+RESET\r\n"
        assert_equal 0 [r publish a x]
        assert_equal {} [r pubsub channels]
        assert_equal 0 [r pubsub numpat]
        exchange $client {{DEL k} {GET k}} ":0\r\n$-1\r\n"
        $client close
        set client [subscriber a]
        exchange $client QUIT "+OK\r\n"
        assert [$client closed]
        await_subscribers a 0
        $client close
    }

    test {CLIENT REPLY drops no messages} {
        set client [resp3_client]
        exchange $client {{CLIENT REPLY OFF} {SUBSCRIBE a} PING {PUBLISH a 1} {PSUBSCRIBE b}
                          PUNSUBSCRIBE} [string cat \
            [message > subscribe a :1] [message > message a 1] [message > psubscribe b :2] \
            [message > punsubscribe b :1]]
        assert_equal 1 [r publish a 2]
        exchange $client {{CLIENT REPLY ON}} "[message > message a 2]+OK\r\n"
        exchange $client {{CLIENT REPLY SKIP} {PUBLISH a 3} {PUBLISH a 4} {CLIENT REPLY SKIP}
                          {UNSUBSCRIBE a} PING} [string cat [message > message a 3] \
            [message > message a 4] ":1\r\n" [message > unsubscribe a :0] "+PONG\r\n"]
        $client close
    }

    test {subscribing within a transaction} {
        set client [raw_client]
        set words {MULTI {SUBSCRIBE a} {PUBLISH a 1} PING UNSUBSCRIBE {ECHO x} EXEC}
        exchange $client $words [string cat \
            "+OK\r\n" [string repeat "+QUEUED\r\n" 5] "*5\r\n" [message * subscribe a :1] \
            [message * message a 1] ":1\r\n" $pong2 [message * unsubscribe a :0] [bulk x]]
        $client close
    }

    test {PUBSUB: channels, subscribers, patterns} {
        assert_equal {} [r pubsub channels]
        assert_equal {} [r pubsub numsub]
        assert_equal {a 0 a 0} [r pubsub numsub a a]
        set a [subscriber one two]
        set b [subscriber two three]
        exchange $b {{PSUBSCRIBE t* x}} [message * psubscribe t* :3][message * psubscribe x :4]
        set c [raw_client]
        exchange $c {{PSUBSCRIBE t*}} [message * psubscribe t* :1]
        assert_equal {one three two} [lsort [r pubsub channels]]
        assert_equal {three two} [lsort [r pubsub channels t*]]
        assert_equal {} [r pubsub channels none]
        assert_equal {two 2 none 0 one 1 two 2} [r pubsub numsub two none one two]
        assert_equal 2 [r pubsub numpat]
        assert_equal {3 2} [list [s pubsub_channels] [s pubsub_patterns]]
        $a close
        await_subscribers one 0
        assert_equal {three 1 two 1} [r pubsub numsub three two]
        $b close
        await_subscribers three 0
        assert_equal {} [r pubsub channels]
        assert_equal 1 [r pubsub numpat]
        $c close
        wait_for_condition 500 10 {[r pubsub numpat] == 0} else {fail "the pattern stays"}
        assert_equal {0 0} [list [s pubsub_channels] [s pubsub_patterns]]
    }

    test {PUBSUB: errors and HELP} {
        foreach words {{channels a b} {numpat x} {help x} {nosuch}} {
            assert_error_text "ERR Unknown subcommand or wrong number of arguments for\
                '[lindex $words 0]'. Try PUBSUB HELP." {r pubsub {*}$words}
        }
        assert_error_text "ERR wrong number of arguments for 'pubsub' command" {r pubsub}
        foreach name {subscribe psubscribe} {
            assert_error_text "ERR wrong number of arguments for '$name' command" {r $name}
        }
        assert_error_text "ERR wrong number of arguments for 'publish' command" {r publish a}
        assert_match "PUBSUB <subcommand> *CHANNELS*NUMPAT*NUMSUB*HELP*" [join [r pubsub help]]
    }

    test {COMMAND INFO of the six} {
        foreach {name arity flags categories} {
            subscribe -2 {pubsub noscript loading stale} {@pubsub @slow}
            unsubscribe -1 {pubsub noscript loading stale} {@pubsub @slow}
            psubscribe -2 {pubsub noscript loading stale} {@pubsub @slow}
            punsubscribe -1 {pubsub noscript loading stale} {@pubsub @slow}
            publish 3 {pubsub loading stale fast may_replicate} {@pubsub @fast}
            pubsub -2 {pubsub random loading stale} {@pubsub @slow}
        } {
            assert_equal [list $name $arity $flags 0 0 0 $categories] \
                [lindex [r command info $name] 0]
        }
    }

    test {CLIENT LIST and KILL know subscribers} {
        set client [raw_client]
        $client write [client::encode {CLIENT ID}]
        set id [$client read]
        assert_equal {N 0 0} [list [listed $id flags] [listed $id sub] [listed $id psub]]
        assert_equal 0 [r client kill type pubsub]
        exchange $client {{SUBSCRIBE a b} {PSUBSCRIBE c}} [string cat \
            [message * subscribe a :1] [message * subscribe b :2] [message * psubscribe c :3]]
        assert_equal {P 2 1} [list [listed $id flags] [listed $id sub] [listed $id psub]]
        assert_match "id=$id *" [r client list type pubsub]
        assert_no_match "*id=$id *" [r client list type normal]
        exchange $client {{UNSUBSCRIBE b} PUNSUBSCRIBE} \
            [message * unsubscribe b :2][message * punsubscribe c :1]
        assert_equal {P 1 0} [list [listed $id flags] [listed $id sub] [listed $id psub]]
        assert_equal 0 [r client kill id $id type normal]
        assert_equal 1 [r client kill type pubsub]
        assert [$client closed]
        assert_equal 0 [r publish a x]
        assert_equal {a 0} [r pubsub numsub a]
        $client close
    }

    test {MONITOR shows publishing, and goes together with listening} {
        set client [resp3_client]
        exchange $client {{SUBSCRIBE a} MONITOR} "[message > subscribe a :1]+OK\r\n"
        $client write [client::encode {CLIENT ID}]
        set id [$client read]
        assert_equal OP [listed $id flags]
        r publish a x
        assert_bytes $client [message > message a x]
        assert_match {*"publish" "a" "x"} [$client raw_line]
        exchange $client {{PUBLISH a y}} "-ERR Replica can't interract with the keyspace\r\n"
        $client close
    }

    test {a blocked client gets messages meanwhile} {
        r del list
        set client [resp3_client]
        exchange $client {{SELECT 9} {SUBSCRIBE a} {BLPOP list 0}} \
            "+OK\r\n[message > subscribe a :1]"
        wait_for_condition 500 10 {[s blocked_clients] == 1} else {fail "it does not block"}
        r publish a 1
        assert_bytes $client [message > message a 1]
        r rpush list x
        assert_bytes $client "*2\r\n[bulk list][bulk x]"
        $client close
    }

    test {the option timeout spares subscribers} {
        set client [subscriber a]
        set idle [raw_client]
        with_config {timeout 1} {
            await_idle_closed $idle
            # Whoever came earlier has been looked at, too.
        }
        r publish a x
        assert_bytes $client [message * message a x]
        assert_silent $client $pong2
        $client close
    } {} {slow}

    test {client-output-buffer-limit has a class for subscribers} {
        set text [string repeat x 100000]
        with_config {client-output-buffer-limit {normal 1 1 1 pubsub 0 0 0}} {
            reconnect
            set client [subscriber a]
            for {set i 0} {$i < 100} {incr i} {
                assert_equal 1 [r publish a $text]
            }
            r config set client-output-buffer-limit {normal 0 0 0 pubsub 3mb 0 0}
            # A subscriber that reads is not concerned, nor one that has read everything.
            for {set i 0} {$i < 100} {incr i} {
                assert_bytes $client [message * message a $text]
            }
            for {set i 0} {$i < 100} {incr i} {
                r publish a $text
                assert_bytes $client [message * message a $text]
            }
            set limit 1000
            while {[r publish a $text]} {
                assert {[incr limit -1]} "it is never closed"
            }
            assert_equal {a 0} [r pubsub numsub a]
            $client close
        }
    }

    test {the soft limit of subscribers} {
        set text [string repeat x 1000000]
        with_config {client-output-buffer-limit {pubsub 0 3mb 100000}} {
            set client [subscriber a]
            for {set i 0} {$i < 20} {incr i} {
                r publish a $text
            }
            assert_equal {a 1} [r pubsub numsub a]
            r config set client-output-buffer-limit {pubsub 0 3mb 1}
            await_subscribers a 0
            $client close
        }
    } {} {slow}

    test {a large message to many subscribers} {
        set clients {}
        for {set i 0} {$i < 30} {incr i} {
            lappend clients [subscriber big]
        }
        set text [string repeat "0123456789abcdef" 20000]
        assert_equal 30 [r publish big $text]
        assert_equal 30 [r publish big end]
        foreach client $clients {
            assert_bytes $client [message * message big $text][message * message big end]
            $client close
        }
        await_subscribers big 0
    }

    test {a message to 1000 subscribers of both protocols} {
        set clients {}
        for {set i 0} {$i < 1000} {incr i} {
            set client [raw_client]
            set words [expr {$i % 3 ? {{SUBSCRIBE many}} : {{HELLO 3} {SUBSCRIBE many}}}]
            $client write [commands $words]
            lappend clients $client
        }
        for {set i 0} {$i < 1000} {incr i} {
            set client [lindex $clients $i]
            if {$i % 3 == 0} {
                $client raw_reply
            }
            assert_bytes $client [message [expr {$i % 3 ? "*" : ">"}] subscribe many :1]
        }
        assert_equal 1000 [r publish many hello]
        for {set i 0} {$i < 1000} {incr i} {
            assert_bytes [lindex $clients $i] \
                [message [expr {$i % 3 ? "*" : ">"}] message many hello]
            [lindex $clients $i] close
        }
        await_subscribers many 0
    } undefined {tls:skip}

    test {a client with very many subscriptions leaves nothing} {
        set count [accurate 20000 200000]
        set client [raw_client]
        set names {}
        for {set i 0} {$i < $count} {incr i} {
            lappend names channel:$i
        }
        $client write [client::encode [list SUBSCRIBE {*}$names]]
        for {set i 0} {$i < $count} {incr i} {
            assert_bytes $client [message * subscribe channel:$i :[expr {$i + 1}]]
        }
        exchange $client {{PSUBSCRIBE channel:*}} \
            [message * psubscribe channel:* :[expr {$count + 1}]]
        assert_equal $count [llength [r pubsub channels]]
        assert_equal 2 [r publish channel:77 x]
        assert_equal $count [s pubsub_channels]
        $client close
        wait_for_condition 1000 10 {[r publish channel:77 x] == 0} else {fail "it is still there"}
        assert_equal {} [r pubsub channels]
        assert_equal {channel:5 0} [r pubsub numsub channel:5]
        wait_for_condition 1000 10 {[s pubsub_channels] == 0} else {fail "channels stay"}
        assert_equal 0 [s pubsub_patterns]
    }

    test {subscriptions count as the client's memory} {
        set client [raw_client]
        $client write [client::encode {CLIENT ID}]
        set id [$client read]
        set before [listed $id tot-mem]
        set all_before [s mem_clients_normal]
        set names {}
        for {set i 0} {$i < 1000} {incr i} {
            lappend names channel:$i
        }
        $client write [client::encode [list SUBSCRIBE {*}$names]]
        for {set i 0} {$i < 1000} {incr i} {
            $client raw_reply
        }
        assert_morethan [listed $id tot-mem] [expr {$before + 40 * 1000}]
        assert_morethan [s mem_clients_normal] [expr {$all_before + 40 * 1000}]
        exchange $client RESET +RESET\r\n
        assert_equal $before [listed $id tot-mem]
        $client close
    } {} {ours}
}
