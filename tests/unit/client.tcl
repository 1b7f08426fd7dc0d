# SPDX-License-Identifier: BSD-3-Clause
# CLIENT and its subcommands, and RESET.

# A client as CLIENT LIST shows it: dict of its fields.
proc listed {id} {
    return [fields [string trim [r client list id $id]]]
}

proc fields {line} {
    set result {}
    foreach field [split $line " "] {
        set at [string first = $field]
        dict set result [string range $field 0 $at-1] [string range $field $at+1 end]
    }
    return $result
}

# Lines of CLIENT LIST.
proc lines_of {text} {
    return [split [string trim $text \n] \n]
}

# Bytes of several commands.
proc commands {args} {
    set out ""
    foreach words $args {
        append out [client::encode $words]
    }
    return $out
}

proc await_held {count} {
    wait_for_condition 200 10 {[s blocked_clients] == $count} else {
        fail "[s blocked_clients] clients wait, not $count"
    }
}

start_server {tags {client}} {
    test {CLIENT LIST: fields and their order} {
        set names {}
        foreach field [split [string trim [r client list]] " "] {
            lappend names [lindex [split $field =] 0]
        }
        assert_equal {id addr laddr fd name age idle flags db sub psub multi qbuf qbuf-free\
            argv-mem obl oll omem tot-mem events cmd user redir} $names
    }

    test {CLIENT LIST and INFO: values of the own connection} {
        set id [r client id]
        set port [srv 0 port]
        foreach text [list [r client list] [r client info]] {
            assert_match "*\n" $text
            set own [fields [string trim $text]]
            foreach {field value} [list id $id laddr 127.0.0.1:$port name {} flags N db 9 sub 0 \
                    psub 0 multi -1 qbuf 26 argv-mem 10 obl 0 oll 0 omem 0 events r cmd client \
                    user default redir -1] {
                assert_equal $value [dict get $own $field] $field
            }
            assert_match 127.0.0.1:* [dict get $own addr]
            assert_range [dict get $own age] 0 100
            assert_range [dict get $own idle] 0 100
            assert_morethan [dict get $own fd] 2
            assert_morethan [dict get $own tot-mem] 0
        }
    }

    test {CLIENT LIST in a pipeline: qbuf is what was sent, obl what was answered} {
        set client [redis_deferring_client]
        $client write [commands ping {client list} ping]
        assert_equal PONG [$client read]
        set found 0
        foreach line [lines_of [$client read]] {
            if {[dict get [fields $line] qbuf] == 54} {
                assert_equal 7 [dict get [fields $line] obl]
                incr found
            }
        }
        assert_equal 1 $found
        assert_equal PONG [$client read]
        $client close
    }

    test {CLIENT LIST: name, database, last command and address of another} {
        set client [redis_client]
        $client select 3
        set id [$client client id]
        $client client setname other
        $client set k v
        set other [listed $id]
        assert_equal {other 3 set} \
            [list [dict get $other name] [dict get $other db] [dict get $other cmd]]
        assert_equal 127.0.0.1:[$client local_port] [dict get $other addr]
        assert_error {ERR unknown command `nosuch`, with args beginning with: } {$client nosuch}
        assert_equal NULL [dict get [listed $id] cmd]
        assert_error {ERR wrong number of arguments for 'get' command} {$client get}
        assert_equal get [dict get [listed $id] cmd]
        $client close
    }

    test {CLIENT LIST: a client that has sent nothing} {
        await_alone
        set before [lines_of [r client list]]
        set client [raw_client]
        wait_for_condition 100 10 {[llength [lines_of [r client list]]] > [llength $before]} else {
            fail "it never appears"
        }
        set new [lindex [lines_of [r client list]] end]
        assert_equal {NULL 0} [list [dict get [fields $new] cmd] [dict get [fields $new] qbuf]]
        $client close
    }

    test {CLIENT LIST: input that is not complete} {
        set client [redis_deferring_client]
        $client client id
        set id [$client read]
        $client write "*3\r\n\$3\r\nset\r\n\$1\r\nk\r\n\$100000\r\n[string repeat x 5000]"
        wait_for_condition 100 10 {[dict get [listed $id] qbuf] >= 5000} else {
            fail "qbuf is [dict get [listed $id] qbuf]"
        }
        # The argument has room for what was announced of it, and no more than twice as much.
        assert_range [dict get [listed $id] tot-mem] 5000 260000
        wait_for_condition 100 20 {[s client_recent_max_input_buffer] >= 5000} else {
            fail "the most is [s client_recent_max_input_buffer]"
        }
        assert_range [s client_recent_max_input_buffer] 5000 260000
        $client close
    }

    test {CLIENT LIST: replies that wait} {
        r set wide [string repeat x 1000000]
        set client [redis_deferring_client]
        $client client id
        set id [$client read]
        $client write [string repeat [commands {get wide}] 40]
        $client flush
        wait_for_condition 200 10 {[dict get [listed $id] omem] > 1000000} else {
            fail "omem is [dict get [listed $id] omem]"
        }
        set other [listed $id]
        # 40 replies of a megabyte, less what the socket took.
        assert_range [dict get $other oll] 1 4000
        assert_range [dict get $other omem] 1000000 42000000
        assert_range [dict get $other tot-mem] [dict get $other omem] 43000000
        assert_equal rw [dict get $other events]
        wait_for_condition 100 20 {[s client_recent_max_output_buffer] > 1000000} else {
            fail "the most is [s client_recent_max_output_buffer]"
        }
        $client close
        r del wide
    } {1}

    test {CLIENT LIST TYPE} {
        await_alone
        assert_equal 1 [llength [lines_of [r client list type normal]]]
        assert_equal 1 [llength [lines_of [r client list TYPE NORMAL]]]
        foreach type {master slave replica pubsub} {
            assert_equal {} [r client list type $type]
        }
        assert_error_text {ERR Unknown client type 'bogus'} {r client list type bogus}
        assert_error_text {ERR syntax error} {r client list type}
        assert_error_text {ERR syntax error} {r client list type normal pubsub}
        assert_error_text {ERR syntax error} {r client list bogus}
        assert_error_text {ERR syntax error} {r client list bogus normal}
    }

    test {CLIENT LIST ID} {
        set client [redis_client]
        set ids [list [r client id] [$client client id]]
        set found [lines_of [r client list id {*}$ids 999999 0 -1]]
        assert_equal $ids [lmap line $found {dict get [fields $line] id}]
        assert_equal {} [r client list id 999999]
        assert_error_text {ERR Invalid client ID} {r client list id x}
        assert_error_text {ERR Invalid client ID} {r client list id 1 {}}
        assert_error_text {ERR syntax error} {r client list id}
        $client close
    }

    test {CLIENT LIST and INFO in RESP3 are verbatim texts} {
        set client [redis_client]
        $client hello 3
        foreach subcommand {list info} {
            $client deferred yes
            $client client $subcommand
            assert_equal verbatim [lindex [$client read_typed] 0]
            $client deferred no
        }
        $client close
    } {} {resp2}

    test {CLIENT ID: another for each, counting up} {
        set a [redis_client]
        set b [redis_client]
        assert_morethan [$b client id] [$a client id]
        assert_equal [$a client id] [$a client id]
        $a close
        $b close
    }

    test {CLIENT SETNAME and GETNAME} {
        assert_equal {} [r client getname]
        assert_equal OK [r client setname a]
        assert_equal a [r client getname]
        assert_equal a [dict get [listed [r client id]] name]
        foreach name [list "a b" "a\n" "\x7f" "caf\xe9" "a\x00b"] {
            assert_error_text {ERR Client names cannot contain spaces, newlines or special\
                characters.} {r client setname $name}
        }
        assert_equal a [r client getname]
        assert_equal OK [r client setname {}]
        assert_equal {} [r client getname]
        assert_equal OK [r client setname [string repeat x 10000]]
        assert_equal 10000 [string length [r client getname]]
        r client setname {}
    } {OK}

    test {CLIENT: unknown subcommands and wrong numbers of arguments} {
        foreach words {nosuch {nosuch a} {id 3} {info x} {getname x} setname {setname a b} reply
                {reply on x} pause {pause 1 all x} {unpause x} unblock {unblock 1 error x}
                {getredir x} {trackinginfo x} caching tracking {help x}} {
            set shown [lindex $words 0]
            assert_error_text "ERR Unknown subcommand or wrong number of arguments for '$shown'.\
                Try CLIENT HELP." {r client {*}$words} $words
        }
        assert_error_text {ERR wrong number of arguments for 'client' command} {r client}
    }

    test {CLIENT HELP} {
        set lines [r client help]
        assert_equal {CLIENT <subcommand> [<arg> [value] [opt] ...]. Subcommands are:} \
            [lindex $lines 0]
        assert_equal {HELP {    Prints this help.}} [lrange $lines end-1 end]
        foreach form {ID INFO UNPAUSE {SETNAME <name>} {REPLY (ON|OFF|SKIP)}} {
            assert {$form in $lines} $form
        }
    }

    test {CLIENT tracking: what a client without it is told} {
        assert_equal -1 [r client getredir]
        assert_equal {flags off redirect -1 prefixes {}} [r client trackinginfo]
        assert_equal OK [r client tracking off]
        assert_error_text {ERR syntax error} {r client tracking bogus}
        foreach word {yes no bogus} {
            assert_error_text {ERR CLIENT CACHING can be called only when the client is in tracking\
                mode with OPTIN or OPTOUT mode enabled} {r client caching $word}
        }
    }

    test {CLIENT NO-EVICT} {
        assert_equal OK [r client no-evict on]
        assert_equal e [dict get [listed [r client id]] flags]
        assert_equal OK [r client no-evict OFF]
        assert_equal N [dict get [listed [r client id]] flags]
        assert_error_text {ERR syntax error} {r client no-evict maybe}
    } {} {ours}

    test {CLIENT UNBLOCK of clients that do not wait} {
        assert_equal 0 [r client unblock [r client id]]
        assert_equal 0 [r client unblock 999999 error]
        assert_equal 0 [r client unblock 999999 TIMEOUT]
        assert_error_text {ERR value is not an integer or out of range} {r client unblock x}
        assert_error_text {ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR} \
            {r client unblock x bogus}
    }
}

start_server {tags {client} unix 1} {
    test {CLIENT LIST: a client of a unix socket} {
        set client [unix_client [srv 0 socket]]
        set path [srv 0 socket]
        set own [fields [string trim [$client client info]]]
        assert_equal [list $path:0 $path:0 U] \
            [list [dict get $own addr] [dict get $own laddr] [dict get $own flags]]
        assert_equal 1 [r client kill addr $path:0]
        assert_equal 1 [$client closed]
        $client close
    }
}

start_server {tags {client}} {
    test {CLIENT KILL, old form} {
        set client [redis_client]
        $client ping
        assert_error_text {ERR No such client} {r client kill 127.0.0.1:1}
        assert_error_text {ERR No such client} {r client kill {}}
        assert_equal OK [r client kill 127.0.0.1:[$client local_port]]
        assert_equal 1 [$client closed]
        $client close
    }

    test {CLIENT KILL, old form, of oneself: the reply comes, then the end} {
        set client [redis_deferring_client]
        $client write [commands ping "client kill 127.0.0.1:[$client local_port]" ping]
        assert_equal "+PONG\r\n+OK\r\n" [$client raw_rest]
        $client close
    }

    test {CLIENT KILL ID, ADDR, LADDR, TYPE, USER} {
        foreach filter {id addr laddr type user} {
            set client [redis_client]
            set value [dict get [list id [$client client id] addr 127.0.0.1:[$client local_port] \
                laddr 127.0.0.1:[srv 0 port] type normal user default] $filter]
            assert_equal 1 [r client kill $filter $value] $filter
            assert_equal 1 [$client closed] $filter
            $client close
        }
        assert_equal PONG [r ping]
    }

    test {CLIENT KILL: filters must all fit} {
        set client [redis_client]
        set id [$client client id]
        set addr 127.0.0.1:[$client local_port]
        assert_equal 0 [r client kill id $id addr 127.0.0.1:1]
        assert_equal 0 [r client kill id $id type pubsub]
        assert_equal 0 [r client kill id $id laddr 127.0.0.1:1]
        assert_equal 0 [r client kill id 999999 addr $addr]
        assert_equal 0 [r client kill id -1]
        assert_equal PONG [$client ping]
        assert_equal 1 [r client kill id $id addr $addr type normal user default \
            laddr 127.0.0.1:[srv 0 port] skipme no]
        assert_equal 1 [$client closed]
        $client close
    }

    test {CLIENT KILL: SKIPME} {
        set id [r client id]
        assert_equal 0 [r client kill id $id]
        assert_equal 0 [r client kill id $id skipme yes]
        set client [redis_deferring_client]
        $client client id
        set id [$client read]
        $client write [commands "client kill id $id skipme yes" "client kill id $id skipme no" ping]
        assert_equal ":0\r\n:1\r\n" [$client raw_rest]
        $client close
    }

    test {CLIENT KILL with SKIPME alone: all but oneself} {
        await_alone
        set clients [lmap i {1 2 3} {redis_client}]
        foreach client $clients {
            $client ping
        }
        assert_equal 3 [r client kill skipme yes]
        foreach client $clients {
            assert_equal 1 [$client closed]
            $client close
        }
    }

    test {CLIENT KILL: errors, and nobody is killed} {
        set id [r client id]
        foreach words {{} {id 1 type} {bogus x} {id 1 bogus x} {a b c} {skipme maybe}} {
            assert_error_text {ERR syntax error} {r client kill {*}$words} $words
        }
        assert_error_text {ERR value is not an integer or out of range} {r client kill id x}
        assert_error_text {ERR value is not an integer or out of range} \
            {r client kill id x type bogus}
        assert_error_text {ERR Unknown client type 'bogus'} {r client kill type bogus id x}
        assert_error_text {ERR No such user 'nobody'} {r client kill user nobody}
        assert_error_text {ERR No such user 'nobody'} {r client kill user nobody id}
        assert_error_text {ERR syntax error} {r client kill skipme yes id}
        assert_error_text {ERR syntax error} {r client kill maxage 100}
        assert_equal $id [r client id]
    }

    test {CLIENT KILL of a client with replies that wait, and of one with half a request} {
        r set wide [string repeat x 1000000]
        set reader [redis_deferring_client]
        $reader write "[commands {client id}][string repeat [commands {get wide}] 30]"
        set sender [redis_deferring_client]
        $sender write "[commands {client id}]*2\r\n\$3\r\nget\r\n\$100000\r\nxxx"
        foreach client [list $reader $sender] {
            assert_equal 1 [r client kill id [$client read]]
            $client raw_rest
            $client close
        }
        r del wide
    } {1}
}

start_server {tags {client}} {
    # The replies to a pipeline, as one line.
    proc replies_to {args} {
        set client [raw_client]
        $client write "[commands {*}$args][commands {echo last}]"
        set replies {}
        while {[set reply [$client raw_reply]] ne "\$4\r\nlast\r\n"} {
            lappend replies [string trim $reply]
        }
        $client close
        return [join $replies]
    }

    test {CLIENT REPLY OFF, ON} {
        assert_equal {+OK +PONG} \
            [replies_to {client reply off} ping {get k} nosuch {client reply on} ping]
        assert_equal {+PONG +OK} [replies_to ping {client reply on}]
    }

    test {CLIENT REPLY SKIP} {
        assert_equal {+PONG} [replies_to {client reply skip} ping ping]
        assert_equal {+PONG} [replies_to {client reply skip} nosuch ping]
        assert_equal {+PONG +PONG} \
            [replies_to {client reply skip} {client reply skip} ping ping ping]
        assert_equal {+OK +PONG} [replies_to {client reply skip} {client reply on} ping]
        assert_equal {+OK} \
            [replies_to {client reply skip} {client reply off} ping {client reply on}]
        assert_equal {+OK +PONG} \
            [replies_to {client reply off} {client reply skip} ping {client reply on} ping]
        assert_equal {+PONG} [replies_to {client reply skip} {hello 3} ping]
    }

    test {CLIENT REPLY: the commands run all the same, and errors are counted} {
        set errors [error_stat ERR]
        r select 0
        r del n
        replies_to {client reply off} {incr n} {incr n} nosuch {client reply skip} {incr n} \
            {client reply on}
        assert_equal 3 [r get n]
        assert_equal [expr {$errors + 1}] [error_stat ERR]
        r del n
        r select 9
    } {OK}

    test {CLIENT REPLY: errors} {
        assert_error_text {ERR syntax error} {r client reply bogus}
        assert_equal {+OK} [replies_to {client reply off} {client reply bogus} {client reply on}]
    }

    test {CLIENT REPLY OFF: large replies, and a large pipeline} {
        r set wide [string repeat x 500000]
        set client [raw_client]
        $client write "[commands {select 9} {client reply off}][string repeat \
            [commands {get wide}] 100][commands {client reply on} ping]"
        assert_equal {+OK +OK +PONG} \
            [lmap i {1 2 3} {string trim [$client raw_reply]}]
        $client close
        r del wide
    } {1}

    test {CLIENT REPLY OFF and the end of the connection} {
        foreach last [list [commands quit] "*x\r\n"] {
            assert_equal {} [exchange "[commands {client reply off}]$last"]
        }
    } {} {ours}

    test {RESET: name, database, protocol, reply mode} {
        set client [raw_client]
        $client write [commands {hello 3 setname foo} {select 4} {client reply off} ping reset \
            {client getname} {client info} {get nokey}]
        assert_match %7* [$client raw_reply]
        assert_equal "+OK\r\n+RESET\r\n\$-1\r\n" \
            "[$client raw_reply][$client raw_reply][$client raw_reply]"
        assert_match "\$*name= *flags=N db=0 *" [$client raw_reply]
        assert_equal "\$-1\r\n" [$client raw_reply]
        $client close
        assert_equal {+PONG} [replies_to {client reply skip} reset ping]
        assert_error_text {ERR wrong number of arguments for 'reset' command} {r reset x}
    }

    test {RESET: authentication is asked for again} {
        with_config {requirepass secret} {
            set client [raw_client]
            $client write [commands reset {auth secret} reset ping {auth secret} ping]
            set refused {-NOAUTH Authentication required.}
            assert_equal [list $refused +OK +RESET $refused +OK +PONG] \
                [lmap i {1 2 3 4 5 6} {string trim [$client raw_reply]}]
            $client close
        }
        assert_equal {+RESET +PONG} [replies_to reset ping]
    }

    test {The password may hold any bytes} {
        set password "a \x00\xff b  c "
        r config set requirepass $password
        set client [raw_client]
        $client deferred no
        assert_error {NOAUTH*} {$client ping}
        assert_error {WRONGPASS*} {$client auth "a "}
        assert_error {WRONGPASS*} {$client auth "a \x00\xff b  d "}
        assert_equal OK [$client auth $password]
        assert_equal [list requirepass $password] [$client config get requirepass]
        $client close
        r config set requirepass {}
    } {OK}
}

start_server {tags {client pause}} {
    test {CLIENT PAUSE: errors} {
        assert_error_text {ERR timeout is not an integer or out of range} {r client pause x}
        assert_error_text {ERR timeout is not an integer or out of range} {r client pause 1.5}
        assert_error_text {ERR timeout is negative} {r client pause -1}
        assert_error_text {ERR CLIENT PAUSE mode must be WRITE or ALL} {r client pause 1 bogus}
        assert_error_text {ERR CLIENT PAUSE mode must be WRITE or ALL} {r client pause x bogus}
        assert_equal PONG [r ping]
    }

    test {CLIENT PAUSE that would never end is none} {
        set largest 9223372036854775807
        foreach less [list 0 1 [expr {[clock milliseconds] - 100000}]] {
            set msec [expr {$largest - $less}]
            assert_equal OK [r client pause $msec]
            assert_equal PONG [r ping]
            assert_equal OK [r client unpause]
        }
    }

    # 6.2 takes the mode of it.
    test {CLIENT PAUSE that would never end changes nothing of one that there is} {
        set largest 9223372036854775807
        r client pause 100000 write
        r client pause $largest
        set client [redis_deferring_client]
        $client set paused 1
        await_held 1
        assert_equal {} [r get paused]
        assert_equal OK [r client unpause]
        assert_equal OK [$client read]
        $client close
        r del paused
    } {1} {ours}

    test {CLIENT LIST: events of clients that are blocked, paused, and do not read} {
        set client [redis_deferring_client]
        $client client id
        set id [$client read]
        assert_match "* events=r *" [r client list id $id]
        $client blpop nolist 0
        await_held 1
        assert_match "* flags=b * events=r *" [r client list id $id]
        r client unblock $id
        $client read
        r client pause 100000 write
        $client set paused 1
        wait_for_condition 200 10 {[string match "* flags=b *" [r client list id $id]]} else {
            fail "the client is not held"
        }
        assert_match "* events=r *" [r client list id $id]
        r client unpause
        $client read
        r set big [string repeat x 10000000]
        $client get big
        wait_for_condition 500 10 {[string match "* events=rw *" [r client list id $id]]} else {
            fail [r client list id $id]
        }
        $client close
        r del paused big
    } {2}

    test {CLIENT UNPAUSE without a pause} {
        assert_equal OK [r client unpause]
    }

    test {CLIENT PAUSE ends by itself} {
        foreach mode {{} all write} {
            set begin [clock milliseconds]
            r client pause 200 {*}$mode
            r set k v
            assert_morethan_equal [expr {[clock milliseconds] - $begin}] 200
        }
        r del k
    } {1}

    test {CLIENT PAUSE WRITE: reads run, writes wait, UNPAUSE lets them go on} {
        r set k old
        assert_equal OK [r client pause 100000 WRITE]
        set client [redis_deferring_client]
        $client select 9
        assert_equal OK [$client read]
        $client write [commands {get k} {set k new} {get k} ping {incr n} {del n}]
        assert_equal old [$client read]
        await_held 1
        assert_equal 0 [$client readable 50]
        assert_equal old [r get k]
        assert_equal PONG [r ping]
        assert_error {ERR wrong number of arguments*} {r set k}
        assert_error {ERR unknown command*} {r nosuch}
        assert_equal OK [r client unpause]
        assert_equal {OK new PONG 1 1} [client_replies $client 5]
        assert_equal 0 [s blocked_clients]
        $client close
    }

    test {CLIENT PAUSE ALL: nothing runs but QUIT and what is wrong anyway} {
        set client [redis_deferring_client]
        set bad [redis_deferring_client]
        set end [expr {[clock milliseconds] + 500}]
        r client pause 500 all
        $client write [commands {get k} ping]
        $bad write [commands get nosuch quit]
        assert_error {ERR wrong number of arguments*} {$bad read}
        assert_error {ERR unknown command*} {$bad read}
        assert_equal OK [$bad read]
        assert_equal 1 [$bad closed]
        set silent [expr {![$client readable 50]}]
        assert {$silent || [clock milliseconds] >= $end}
        assert_match "-ERR Protocol error: *" [exchange "*x\r\n"]
        assert_equal PONG [r ping] ;# waits, too
        $client read
        assert_equal PONG [$client read]
        $client close
        $bad close
    }

    test {CLIENT PAUSE: the own pipeline} {
        set client [redis_deferring_client]
        set end [expr {[clock milliseconds] + 300}]
        $client write [commands {set p 1} {client pause 300 write} {get p} {set p 2} {get p} \
            {client pause 100 all} {get p} {set p 3} {get p} {del p}]
        assert_equal {OK OK 1} [client_replies $client 3]
        set silent [expr {![$client readable 20]}]
        assert {$silent || [clock milliseconds] >= $end}
        assert_equal {OK 2 OK 2 OK 3 1} [client_replies $client 7]
        $client close
    }

    test {CLIENT PAUSE while there is one: the later end and the stronger mode count} {
        set client [redis_deferring_client]
        foreach {first second} {{600 write} {10 all} {600 all} {10 write} {10 write} {600 all}} {
            set begin [clock milliseconds]
            $client write [commands "client pause $first" "client pause $second" ping]
            $client read
            $client read
            assert_equal PONG [$client read]
            set waited [expr {[clock milliseconds] - $begin}]
            assert_morethan_equal $waited 600 "$first, then $second"
        }
        $client close
    }

    test {CLIENT PAUSE: held pipelines of many clients, of all sizes} {
        set count 20
        r client pause 100000 write
        set clients {}
        for {set i 0} {$i < $count} {incr i} {
            set client [redis_deferring_client]
            set request [commands {select 9} ping]
            for {set k 0} {$k < 30 * $i} {incr k} {
                append request [commands "set held:$i:$k [string repeat $k $i]" "get held:$i:$k" \
                    "del held:$i:$k"]
            }
            $client write $request
            lappend clients $client
        }
        await_held [expr {$count - 1}]
        foreach client $clients {
            assert_equal {OK PONG} [client_replies $client 2]
        }
        r client unpause
        for {set i 0} {$i < $count} {incr i} {
            set client [lindex $clients $i]
            for {set k 0} {$k < 30 * $i} {incr k} {
                assert_equal [list OK [string repeat $k $i] 1] [client_replies $client 3] "$i $k"
            }
            $client ping
            assert_equal PONG [$client read]
            $client close
        }
    }

    test {CLIENT PAUSE: held requests with large arguments} {
        foreach size {100 20000 40000 2000000} {
            set value [string repeat 0123456789 [expr {$size / 10}]]
            r client pause 100000 write
            set client [redis_deferring_client]
            $client write [commands {select 9} [list set large $value] {strlen large} \
                [list echo $value] [list set large $value] [list append large $value] \
                {strlen large} {del large} ping]
            assert_equal OK [$client read]
            await_held 1
            r client unpause
            assert_equal [list OK $size] [client_replies $client 2]
            assert {[$client read] eq $value}
            assert_equal [list OK [expr {2 * $size}] [expr {2 * $size}] 1 PONG] \
                [client_replies $client 5]
            $client close
        }
    }

    test {CLIENT PAUSE: a held client's input that is not complete} {
        foreach tail [list "*2\r\n" "*2\r\n\$4\r\nEC" "*2\r\n\$4\r\nECHO\r\n\$50000\r\nxy" "PI" \
                "*2000\r\n\$6\r\nEXISTS\r\n\$1"] {
            r client pause 100000 write
            set client [redis_deferring_client]
            $client write "[commands {set half 1} {get half}]$tail"
            await_held 1
            switch -glob -- $tail {
                "PI" { set rest "NG\r\n"; set wanted PONG }
                "*EXISTS*" { set rest "\r\nk\r\n[string repeat "\$1\r\nk\r\n" 1998]"; set wanted * }
                "*ECHO*" { set rest "[string repeat x 49998]\r\n"; set wanted "xyx*" }
                "*EC" { set rest "HO\r\n\$1\r\na\r\n"; set wanted a }
                default { set rest "\$4\r\nECHO\r\n\$1\r\na\r\n"; set wanted a }
            }
            $client write "$rest[commands {del half}]"
            r client unpause
            assert_equal {OK 1} [client_replies $client 2] $tail
            assert_match $wanted [$client read] $tail
            assert_equal 1 [$client read] $tail
            $client close
        }
    }

    test {CLIENT PAUSE: a protocol error behind held requests} {
        r client pause 100000 write
        set client [redis_deferring_client]
        $client write "[commands {set held 1} {del held}]*1\r\n\$x\r\n"
        await_held 1
        r client unpause
        assert_equal "+OK\r\n:1\r\n-ERR Protocol error: invalid bulk length\r\n" [$client raw_rest]
        $client close
    }

    test {CLIENT PAUSE: inline commands are held, too} {
        r client pause 100000 write
        set client [redis_deferring_client]
        $client write "SET in \"a b\"\r\nGET in\r\n\r\nDEL in\r\nPING\r\n"
        await_held 1
        r client unpause
        assert_equal {OK {a b} 1 PONG} [client_replies $client 4]
        $client close
    }

    test {CLIENT PAUSE: what a held client sends later comes after what is held} {
        r client pause 100000 write
        set client [redis_deferring_client]
        $client write [commands {set order 1} {append order 2}]
        await_held 1
        for {set i 3} {$i < 10} {incr i} {
            $client write [commands "append order $i"]
            after 2
        }
        $client write [commands {get order} {del order}]
        r client unpause
        assert_equal {OK 2 3 4 5 6 7 8 9 123456789 1} [client_replies $client 11]
        $client close
    }

    # Lettuce counts on it.
    test {CLIENT PAUSE: what each held client had sent runs before the next one's} {
        r client pause 100000 write
        set count 0
        foreach name {x y z} {
            set $name [redis_deferring_client]
            [set $name] write [commands "rpush order ${name}0"]
            [set $name] flush
            await_held [incr count]
        }
        foreach i {1 2 3} {
            foreach name {x y z} {
                [set $name] write [commands "rpush order $name$i"]
                [set $name] flush
            }
        }
        after 300 ;# 6.2 reads the segments meanwhile; ours leaves them in the sockets
        r client unpause
        foreach name {x y z} {
            client_replies [set $name] 4
            [set $name] close
        }
        assert_equal {x0 x1 x2 x3 y0 y1 y2 y3 z0 z1 z2 z3} [r lrange order 0 -1]
        r del order
    }

    test {CLIENT PAUSE again while held clients go on} {
        set client [redis_deferring_client]
        r client pause 100000 write
        $client write [commands {set again 1} {get again} {set again 2} {get again} {del again}]
        await_held 1
        set other [redis_deferring_client]
        $other write [commands {client unpause} {client pause 100000 write}]
        assert_equal {OK OK} [client_replies $other 2]
        await_held 1
        assert_equal 0 [$client readable 50]
        r client unpause
        assert_equal {OK 1 OK 2 1} [client_replies $client 5]
        $client close
        $other close
    }

    test {CLIENT LIST, KILL, UNBLOCK and a held client} {
        r client pause 100000 write
        set client [redis_deferring_client]
        $client client id
        set id [$client read]
        $client write [commands {set gone 1} {get gone}]
        await_held 1
        set held [listed $id]
        assert_equal {b set} [list [dict get $held flags] [dict get $held cmd]]
        assert_morethan [dict get $held qbuf] 0
        assert_equal 1 [r client kill id $id]
        assert_equal 1 [$client closed]
        assert_equal 0 [s blocked_clients]
        assert_equal {} [r client list id $id]
        r client unpause
        assert_equal 0 [r exists gone]
        $client close
    }

    test {CLIENT UNBLOCK does not end a pause} {
        r client pause 100000 write
        set client [redis_deferring_client]
        $client client id
        set id [$client read]
        $client write [commands {set k 1} {del k}]
        await_held 1
        assert_equal 0 [r client unblock $id]
        assert_equal 0 [r client unblock $id error]
        assert_equal 0 [$client readable 20]
        r client unpause
        assert_equal {OK 1} [client_replies $client 2]
        $client close
    } {} {ours} ;# 6.2.16 crashes

    test {A held client that goes away} {
        r client pause 100000 write
        foreach way {close half} {
            set client [redis_deferring_client]
            $client write [commands {set gone 1} ping]
            $client flush
            await_held 1
            if {$way eq "half"} {
                chan close [$client channel] write
            } else {
                $client close
            }
            await_held 0
        }
        r client unpause
        assert_equal 0 [r exists gone]
    } undefined {tls:skip}

    test {CLIENT PAUSE: keys that are due are hidden, but stay} {
        r flushall
        set expired [s expired_keys]
        # At once, so that the key does not come due before.
        r multi
        r set e 1 px 100
        r set stays 1
        r client pause 100000 write
        assert_equal {OK OK OK} [r exec]
        wait_for_condition 100 20 {[r get e] eq {}} else {
            fail "the key is not hidden"
        }
        after 300
        assert_equal {0 none -2 2} [list [r exists e] [r type e] [r ttl e] [r dbsize]]
        assert_equal stays [r randomkey]
        assert_equal stays [r keys *]
        assert_equal {0 stays} [r scan 0 count 100]
        assert_equal $expired [s expired_keys]
        r client unpause
        wait_for_condition 100 20 {[r dbsize] == 1} else {
            fail "the key does not expire"
        }
        assert_equal [expr {$expired + 1}] [s expired_keys]
    }

    test {CLIENT PAUSE: a write to a key that has come due meanwhile} {
        r flushall
        r set e 1 px 100
        r client pause 100000 write
        set client [redis_deferring_client]
        $client write [commands {select 9} {append e 2} {incr e} {ttl e}]
        assert_equal OK [$client read]
        await_held 1
        after 200
        r client unpause
        assert_equal {1 3 -1} [client_replies $client 3]
        $client close
        assert_equal 1 [r dbsize]
    }

    test {CLIENT REPLY SKIP and a pause} {
        r client pause 100000 write
        set client [redis_deferring_client]
        $client write [commands {client reply skip} {set k 1} {get k} {client reply skip} {del k} \
            {get k}]
        await_held 1
        r client unpause
        assert_equal {1 {}} [client_replies $client 2]
        $client close
    }
}

start_server {tags {client}} {
    test {timeout closes idle clients} {
        set client [redis_client]
        $client ping
        with_config {timeout 1} {
            await_idle_closed $client
        }
    }

    test {timeout spares clients that monitor, and those that wait} {
        set monitor [redis_deferring_client]
        set held [redis_deferring_client]
        set idle [redis_client]
        $monitor monitor
        assert_equal OK [$monitor read]
        r client pause 100000 write
        $held set k 1
        await_held 1
        $idle ping
        with_config {timeout 1} {
            await_idle_closed $idle
            await_idle_closed [raw_client]
        }
        r client unpause
        assert_equal OK [$held read]
        assert_match "*" [$monitor read]
        $monitor close
        $held close
    }

    test {timeout 0 again: nobody is closed} {
        set client [redis_client]
        after 1500
        assert_equal PONG [$client ping]
        $client close
    }

    test {maxclients while the server runs} {
        await_alone
        with_config {maxclients 2} {
            set client [redis_client]
            $client ping
            set refused [raw_client]
            assert_equal "-ERR max number of clients reached\r\n" [$refused raw_rest]
            $refused close
            r config set maxclients 3
            set third [redis_client]
            assert_equal PONG [$third ping]
            # Below what is connected: those stay.
            r config set maxclients 1
            assert_equal {PONG PONG} [list [$third ping] [$client ping]]
            $client close
            $third close
        }
        assert_equal 1 [s rejected_connections]
    } undefined {tls:skip}
}
