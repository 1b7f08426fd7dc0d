# SPDX-License-Identifier: BSD-3-Clause
# Hazards of executing commands in batches: what must hold when many commands arrive in one write.
#
# A server may parse, prefetch and answer several commands at a time; a client must not be able to
# tell. Each test sends one write whose later commands depend on what its earlier ones did.

# Bytes of several commands.
proc commands {args} {
    set out ""
    foreach words $args {
        append out [client::encode $words]
    }
    return $out
}

# The reply to a request of a client that is not authenticated.
proc reply_to {request} {
    set client [raw_client]
    $client write $request
    set reply [$client raw_reply]
    $client close
    return $reply
}

start_server {} {
    test {A protocol error after valid commands: their replies, then the error, then the end} {
        foreach {broken reason} {
            "*1\r\n$x\r\n"            {invalid bulk length}
            "*x\r\n"                  {invalid multibulk length}
            "*2\r\n$3\r\nGET\r\nx"    {expected '$', got 'x'}
            "SET a \"b\r\n"           {unbalanced quotes in request}
        } {
            set broken [subst -nocommands -novariables $broken]
            assert_equal "+OK\r\n\$1\r\n1\r\n+PONG\r\n-ERR Protocol error: $reason\r\n" \
                [exchange "[commands {set k 1} {get k} ping]$broken\r\n[commands {set k 2} ping]"]
            r select 0
            assert_equal 1 [r get k]
            r select 9
        }
    }

    test {A protocol error after 1,000 valid commands} {
        set count [accurate 1000 20000]
        set replies [exchange "[string repeat [commands ping] $count]*1\r\n\$x\r\n"]
        assert {$replies eq "[string repeat "+PONG\r\n" $count]-ERR Protocol error: invalid bulk\
            length\r\n"}
    }

    test {A web request after valid commands ends the connection at once} {
        r select 0
        r del web
        # 6.2 drops the replies that have not been written yet.
        set replies [exchange "[commands ping]POST / HTTP/1.1\r\n[commands {set web 1}]"]
        assert {$replies in [list "" "+PONG\r\n"]}
        assert_equal 0 [r exists web]
        r select 9
    } {OK}

    test {QUIT in the middle: nothing after it is executed} {
        r select 0
        r del quit-check
        assert_equal "+PONG\r\n+OK\r\n" [exchange [commands ping quit {set quit-check 1} ping]]
        assert_equal "+PONG\r\n+OK\r\n" [exchange "PING\r\nQUIT\r\nSET quit-check 1\r\nPING\r\n"]
        assert_equal 0 [r exists quit-check]
        r select 9
    } {OK}

    test {QUIT in the middle of more than a read buffer} {
        set after [string repeat [commands [list set quit-check [string repeat x 1000]]] 200]
        assert_equal "+OK\r\n" [string range [exchange "[commands quit]$after"] 0 4]
        r select 0
        assert_equal 0 [r exists quit-check]
        r select 9
    } {OK}

    test {HELLO 3 in the middle: later replies in RESP3, earlier ones in RESP2} {
        set client [raw_client]
        $client write [commands {get nokey} {hello 3} {get nokey} {hello 2} {get nokey}]
        assert_equal "\$-1\r\n" [$client raw_reply]
        assert_match "%7\r\n*" [$client raw_reply]
        assert_equal "_\r\n" [$client raw_reply]
        assert_match "\\*14\r\n*" [$client raw_reply]
        assert_equal "\$-1\r\n" [$client raw_reply]
        $client close
    }

    test {A refused HELLO in the middle changes nothing} {
        set client [raw_client]
        $client write [commands {hello 9} {get nokey} {hello 3 bogus} {get nokey}]
        assert_equal "-NOPROTO unsupported protocol version\r\n" [$client raw_reply]
        assert_equal "\$-1\r\n" [$client raw_reply]
        assert_equal "-ERR Syntax error in HELLO option 'bogus'\r\n" [$client raw_reply]
        assert_equal "\$-1\r\n" [$client raw_reply]
        $client close
    }

    test {SELECT in the middle: each command in its own database} {
        set client [raw_client]
        $client write [commands {select 1} {set k one} {select 2} {set k two} {select 1} {get k} \
                           {select 2} {get k} {select 99} {get k} {select 1} {del k} {get k} \
                           {select 2} {get k}]
        assert_equal {OK OK OK OK OK one OK two} [client_replies $client 8]
        assert_error_text {ERR DB index is out of range} {$client read}
        assert_equal {two OK 1 {} OK two} [client_replies $client 6]
        $client del k
        $client read
        $client close
    }

    test {Commands of one batch on one key see each other} {
        set client [redis_deferring_client]
        $client write [commands {set k 1} {get k} {incr k} {del k} {get k} {exists k} {set k v nx} \
                           {set k w nx} {get k} {set k x xx get} {type k} {ttl k} {set k y ex 100} \
                           {del k k} {type k} {incr k} {incr k} {get k} {del k}]
        assert_equal {OK 1 2 1 {} 0 OK {} v v string -1 OK 1 none 1 2 2 1} \
            [client_replies $client 19]
        $client close
    }

    test {Values of all sizes written and read in one batch} {
        set client [redis_deferring_client]
        set request ""
        set values {}
        foreach size {0 1 20 63 64 65 500 2000 17000 40000 200000} {
            set value [random_string $size $size binary]
            lappend values $value
            append request [commands [list set k$size $value] "get k$size" "set k$size short" \
                "get k$size" "del k$size"]
        }
        $client write $request
        foreach value $values {
            assert_equal OK [$client read]
            assert {[$client read] eq $value} [string length $value]
            assert_equal {OK short 1} [client_replies $client 3]
        }
        $client close
    }

    test {FLUSHALL in the middle} {
        set client [redis_deferring_client]
        foreach mode {sync async} {
            $client write [commands {set a 1} {set b 2} {get a} "flushall $mode" {get a} dbsize \
                {set a 3} {get a} dbsize]
            assert_equal {OK OK 1 OK {} 0 OK 3 1} [client_replies $client 9]
        }
        $client close
    }

    test {The table grows within a batch} {
        set client [redis_deferring_client]
        r flushall
        set request ""
        for {set i 0} {$i < 3000} {incr i} {
            append request [commands "set grow:$i $i" "get grow:[expr {$i / 2}]"]
        }
        $client write $request
        for {set i 0} {$i < 3000} {incr i} {
            assert_equal OK [$client read]
            assert_equal [expr {$i / 2}] [$client read]
        }
        $client close
        assert_equal 3000 [r dbsize]
        r flushall
    } {OK}

    test {Keys that expire within a batch} {
        set client [redis_deferring_client]
        $client write [commands {set k v px 1} {debug sleep 0.02} {get k} {exists k} {set k w} \
            {get k} {ttl k} {del k}]
        assert_equal {OK OK {} 0 OK w -1 1} [client_replies $client 8]
        $client close
    } {} {needs:debug}

    test {Errors in the middle do not disturb their neighbours} {
        set client [redis_deferring_client]
        $client write [commands ping nosuch ping {get} {set k x} {incr k} {set k v ex 0} {get k} \
            {ping a b} {del k}]
        assert_equal PONG [$client read]
        assert_error {ERR unknown command `nosuch`*} {$client read}
        assert_equal PONG [$client read]
        assert_error {ERR wrong number of arguments for 'get'*} {$client read}
        assert_equal OK [$client read]
        assert_error {ERR value is not an integer*} {$client read}
        assert_error {ERR invalid expire time in set} {$client read}
        assert_equal x [$client read]
        assert_error {ERR wrong number of arguments for 'ping'*} {$client read}
        assert_equal 1 [$client read]
        $client close
    }

    test {A large argument in the middle of a pipeline} {
        foreach size {40000 1048576 5000000} {
            set value [string repeat 0123456789abcdef [expr {$size / 16}]]
            set client [redis_deferring_client]
            $client write [commands ping {set before 1} [list set large $value] {get before} \
                {get large} {set after 2} {get after}]
            assert_equal {PONG OK OK 1} [client_replies $client 4]
            assert {[$client read] eq $value} $size
            assert_equal {OK 2} [client_replies $client 2]
            $client close
        }
        r del before large after
    } {3}

    test {Several large arguments in one command and in one pipeline} {
        set client [redis_deferring_client]
        set a [string repeat a 100000]
        set b [string repeat b 70000]
        $client write "[commands [list exists $a $b $a] [list set $a $b] [list exists $a $b $a]\
            [list get $a] [list del $a $b] ping]"
        assert_equal {0 OK 2} [client_replies $client 3]
        assert {[$client read] eq $b}
        assert_equal {1 PONG} [client_replies $client 2]
        $client close
    }

    test {Empty requests and lines between the commands of a batch} {
        assert_equal "+PONG\r\n\$1\r\na\r\n+PONG\r\n" \
            [converse "\r\n*0\r\nPING\r\n\r\n*-1\r\n[commands {echo a}]\n\n*0\r\nPING\r\n*0\r\n" 3]
    }

    test {A batch whose last command is not complete: the others are answered} {
        set client [raw_client]
        $client write "[commands ping {echo a}]*2\r\n\$4\r\nECHO\r\n\$5\r\nhal"
        assert_equal "+PONG\r\n" [$client raw_reply]
        assert_equal "\$1\r\na\r\n" [$client raw_reply]
        assert_equal 0 [$client readable 50]
        $client write "ve\r\nPING\r\n"
        # 3 bytes of "hal", then "ve": five.
        assert_equal "\$5\r\nhalve\r\n" [$client raw_reply]
        assert_equal "+PONG\r\n" [$client raw_reply]
        $client close
    }

    test {DEBUG SLEEP in the middle: order is kept, others wait} {
        set client [redis_deferring_client]
        set begin [clock milliseconds]
        $client write [commands {set k before} {debug sleep 0.2} {get k} {set k after} {get k} \
            {del k}]
        assert_equal {OK OK before OK after 1} [client_replies $client 6]
        assert_morethan_equal [expr {[clock milliseconds] - $begin}] 200
        $client close
    } {} {needs:debug}

    test {CONFIG SET in the middle: a smaller limit holds for the next command} {
        with_config {proto-max-bulk-len 4mb} {
            set value [string repeat x 2000000]
            set begin [commands [list echo $value] {config set proto-max-bulk-len 1mb}]
            set replies [exchange "${begin}*2\r\n\$4\r\nECHO\r\n\$2000000\r\n"]
            assert {$replies eq "\$2000000\r\n$value\r\n+OK\r\n-ERR Protocol error: invalid bulk\
                length\r\n"}
        }
    }

    test {CONFIG SET in the middle: a larger limit holds for the next command} {
        with_config {proto-max-bulk-len 1mb} {
            set value [string repeat x 2000000]
            set client [redis_deferring_client]
            $client write [commands {config set proto-max-bulk-len 4mb} [list echo $value] ping]
            assert_equal OK [$client read]
            assert {[$client read] eq $value}
            assert_equal PONG [$client read]
            $client close
        }
    }

    test {CONFIG SET in the middle is seen by CONFIG GET and INFO of the same batch} {
        set client [redis_deferring_client]
        $client write [commands {config set hz 77} {config get hz} {config set hz x} \
            {config get hz} {config set hz 10} {info server}]
        assert_equal {OK {hz 77}} [client_replies $client 2]
        assert_error {ERR Invalid argument 'x' for CONFIG SET 'hz'*} {$client read}
        assert_equal {{hz 77} OK} [client_replies $client 2]
        assert_equal 10 [info_property [$client read] configured_hz]
        $client close
    }

    test {CONFIG SET maxmemory in the middle: the next write is refused} {
        set client [redis_deferring_client]
        $client write [commands {set k 1} {config set maxmemory 1} {set k 2} {get k} \
            {config set maxmemory 0} {set k 3} {get k}]
        assert_equal {OK OK} [client_replies $client 2]
        assert_error {OOM command not allowed when used memory > 'maxmemory'.} {$client read}
        assert_equal {1 OK OK 3} [client_replies $client 4]
        $client close
    } {} {needs:maxmemory}

    test {RESET in the middle} {
        set client [raw_client]
        $client write [commands {hello 3} {select 5} {set k five} reset {get k} {select 5} {get k} \
            {del k}]
        $client raw_reply
        set replies [lmap i {1 2 3 4 5} {string trim [$client raw_reply]}]
        assert_equal {+OK +OK +RESET $-1 +OK} [join $replies]
        assert_equal {five 1} [client_replies $client 2]
        $client close
    } {} {needs:reset}

    test {A client killed by an earlier command of another's batch} {
        set victim [redis_client]
        set id [$victim client id]
        set killer [redis_deferring_client]
        $killer write [commands ping "client kill id $id" ping]
        assert_equal {PONG 1 PONG} [client_replies $killer 3]
        assert_equal 1 [$victim closed]
        $victim close
        $killer write [commands ping {client kill type normal skipme no} ping]
        assert_match "+PONG\r\n:*" [$killer raw_rest]
        $killer close
        reconnect
    } {} {needs:client}

    test {A client killed while its own commands stand in the same batch} {
        r del victim
        for {set i 0} {$i < 3} {incr i} {
            set killer [redis_deferring_client]
            set victim [redis_client]
            set id [$victim client id]
            # A turn more, so that the kernel has none of them in the list of who is ready: it would
            # keep the victim's old place there.
            r ping
            # While the server is stopped both pipelines come, the killer's first.
            pause_process [srv pid]
            $killer write [commands "client kill id $id" ping]
            $killer flush
            await_arrival $killer
            $victim deferred yes
            $victim write [commands {set victim 1} ping]
            $victim flush
            await_arrival $victim
            exec kill -CONT [srv pid]
            assert_equal {1 PONG} [client_replies $killer 2]
            assert_equal 1 [$victim closed]
            assert_equal 0 [r exists victim]
            foreach client [list $killer $victim] {
                $client close
            }
        }
    } {} {needs:client needs:debug}

    test {CLIENT PAUSE in the middle: what follows waits, in order} {
        set client [redis_deferring_client]
        set request [commands {set k 1} {client pause 100 write} {get k}]
        for {set i 0} {$i < 1000} {incr i} {
            append request [commands "append k $i" {strlen k}]
        }
        $client write "$request[commands {del k}]"
        assert_equal {OK OK 1} [client_replies $client 3]
        set length 1
        for {set i 0} {$i < 1000} {incr i} {
            incr length [string length $i]
            assert_equal [list $length $length] [client_replies $client 2] $i
        }
        assert_equal 1 [$client read]
        $client close
    } {} {needs:client}

    test {MONITOR in the middle: the commands behind it are shown} {
        set client [raw_client]
        $client write [commands {echo a} monitor {echo b} reset {echo c}]
        assert_match "\$1\r\na\r\n+OK\r\n\$1\r\nb\r\n+* \"echo\" \"b\"\r\n+RESET\r\n\$1\r\nc\r\n" \
            [join [lmap i {1 2 3 4 5 6} {$client raw_reply}] ""]
        $client close
    } {} {needs:client}
}

start_server {} {
    test {A client that closes right after a small pipeline: all of it is executed} {
        for {set i 0} {$i < 20} {incr i} {
            r select 0
            r del a b c
            set client [raw_client]
            $client write [commands {set a 1} {set b 2} {incr c}]
            $client flush
            $client close
            wait_for_condition 200 10 {[r exists a b c] == 3} else {
                fail "only [r exists a b c] of three are there"
            }
        }
        r select 9
    } {OK}

    test {A client that closes right after a large pipeline: a beginning of it is executed} {
        r flushall
        set client [raw_client]
        set request ""
        for {set i 0} {$i < 5000} {incr i} {
            append request [commands "set drop:$i [string repeat x 100]"]
        }
        $client write $request
        $client flush
        $client close
        # Until the count stands still.
        r select 0
        set count -1
        wait_for_condition 100 50 {$count == [set count [r dbsize]]} else {
            fail "the number of keys never stands still"
        }
        for {set i 0} {$i < 5000} {incr i 100} {
            assert_equal [expr {$i < $count}] [r exists drop:$i] "(key $i of $count)"
        }
        if {$count > 0 && $count < 5000} {
            assert_equal {1 0} [list [r exists drop:[expr {$count - 1}]] [r exists drop:$count]]
        }
        r select 9
        r flushall
    } {OK}

    test {A client that closes in the middle of a command} {
        foreach request [list "*" "*2" "*2\r\n" "*2\r\n\$" "*2\r\n\$4\r\nEC" \
            "*2\r\n\$4\r\nECHO\r\n\$100000\r\nabc" "PIN"] {
            set client [raw_client]
            $client write "[commands ping]$request"
            $client flush
            $client close
        }
        assert_equal PONG [r ping]
    }

    test {1,000 connections that all send one command at once} {
        set clients {}
        for {set i 0} {$i < 1000} {incr i} {
            lappend clients [client::connect [srv host] [srv port] deferred]
        }
        # While the server sleeps all of them become readable; then it meets them in one turn.
        r config resetstat
        set sleeper [redis_deferring_client]
        $sleeper debug sleep 0.3
        set i 0
        foreach client $clients {
            $client set rush:[incr i] [string repeat v 200]
        }
        foreach client $clients {
            assert_equal OK [$client read]
        }
        set i 0
        foreach client $clients {
            $client get rush:[incr i]
        }
        foreach client $clients {
            assert_equal [string repeat v 200] [$client read]
            $client close
        }
        assert_equal OK [$sleeper read]
        $sleeper close
        assert_equal 1000 [command_stat set]
        wait_for_condition 200 20 {[s connected_clients] <= 2} else {
            fail "[s connected_clients] clients are still counted"
        }
    } {} {needs:debug tls:skip}

    test {Pipelines of 50 clients at once: each gets its own replies in order} {
        set clients {}
        for {set i 0} {$i < 50} {incr i} {
            lappend clients [redis_deferring_client]
        }
        set i 0
        foreach client $clients {
            incr i
            set request ""
            for {set j 0} {$j < 200} {incr j} {
                append request [commands "echo $i:$j"]
            }
            $client write $request
        }
        set i 0
        foreach client $clients {
            incr i
            for {set j 0} {$j < 200} {incr j} {
                assert_equal $i:$j [$client read]
            }
            $client close
        }
    }

    test {A turn is bounded: beside many pipelines another client is answered again and again} {
        # Where we do not get the processor ourselves we ask less often than we would be answered.
        try_again 20 20 {
            r flushall
            r config resetstat
            set sleeper [redis_deferring_client]
            $sleeper debug sleep 0.2
            set other [redis_client]
            set clients {}
            set each [accurate 20000 100000]
            for {set i 0} {$i < 20} {incr i} {
                set client [redis_deferring_client]
                $client write [string repeat [client::encode "incr loop:$i"] $each]
                lappend clients $client
            }
            set answered 0
            $other deferred yes
            for {set done 0} {$done < 20 * $each} {incr answered} {
                $other write [commands ping {info commandstats}]
                assert_equal PONG [$other read]
                regexp {cmdstat_incr:calls=(\d+)} [$other read] -> done
            }
            for {set i 0} {$i < 20} {incr i} {
                assert_equal $each [r get loop:$i]
            }
            foreach client [concat $clients $sleeper $other] {
                $client close
            }
            assert_morethan_equal $answered 5
        }
        r flushall
    } {OK} {needs:debug}

    test {A reader that does not read while it sends a large pipeline} {
        set value [string repeat 0123456789 1000]
        r set wide $value
        set client [redis_deferring_client]
        set count [accurate 2000 10000]
        $client write [string repeat [commands {get wide}] $count]
        $client flush
        # 20 MB of replies wait; others are served meanwhile.
        for {set i 0} {$i < 50} {incr i} {
            assert_equal PONG [r ping]
        }
        for {set i 0} {$i < $count} {incr i} {
            if {[$client read] ne $value} {
                fail "reply $i differs"
            }
        }
        $client ping
        assert_equal PONG [$client read]
        $client close
        r del wide
    } {1}

    test {A reader that never reads and goes away gives its memory back} {
        set before [s used_memory]
        r set wide [string repeat 0123456789 1000]
        set client [redis_deferring_client]
        $client write [string repeat [commands {get wide}] 1000]
        $client flush
        assert_equal PONG [r ping]
        $client close
        wait_for_condition 200 20 {[s used_memory] < $before + 2000000} else {
            fail "used_memory went from $before to [s used_memory]"
        }
        r del wide
    } {1}

    test {A reader that reads byte by byte} {
        set client [redis_deferring_client]
        set request ""
        set replies ""
        for {set i 0} {$i < 300} {incr i} {
            append request [commands "echo slow$i"]
            append replies "\$[string length slow$i]\r\nslow$i\r\n"
        }
        $client write $request
        set got ""
        while {[string length $got] < [string length $replies]} {
            append got [$client raw_read 1]
        }
        assert_equal $replies $got
        $client close
    }
}

start_server {overrides {requirepass secret}} {
    test {AUTH in the middle raises the limits for what follows} {
        set client [raw_client]
        set words [concat exists [lrepeat 50 k]]
        $client write [commands {get k} {auth secret} $words [list echo \
            [string repeat x 100000]] ping]
        assert_equal "-NOAUTH Authentication required.\r\n" [$client raw_reply]
        assert_equal "+OK\r\n" [$client raw_reply]
        assert_equal ":0\r\n" [$client raw_reply]
        assert_equal 100000 [string length [$client read]]
        assert_equal PONG [$client read]
        $client close
    }

    test {HELLO with AUTH in the middle does so too} {
        set client [raw_client]
        $client write [commands {hello 3 auth default secret} [concat exists [lrepeat 50 k]] \
                           [list echo [string repeat x 100000]]]
        assert_match "%7\r\n*" [$client raw_reply]
        assert_equal ":0\r\n" [$client raw_reply]
        assert_equal 100000 [string length [$client read]]
        $client close
    }

    test {Before AUTH a request may have 10 arguments of 16384 bytes} {
        set noauth "-NOAUTH Authentication required.\r\n"
        assert_equal $noauth [reply_to [commands [concat exists [lrepeat 9 k]]]]
        assert_equal $noauth [reply_to [commands [list echo [string repeat x 16384]]]]
        foreach {request what} {"*11\r\n" multibulk "*1\r\n$16385\r\n" bulk} {
            assert_equal "-ERR Protocol error: unauthenticated $what length\r\n" \
                [exchange [subst -nocommands -novariables $request]]
        }
    }

    test {A wrong password in the middle raises nothing} {
        assert_equal "-WRONGPASS invalid username-password pair or user is disabled.\r\n-ERR\
            Protocol error: unauthenticated multibulk length\r\n" \
            [exchange [commands {auth wrong} [concat exists [lrepeat 50 k]]]]
    }

    test {QUIT needs no password} {
        assert_equal "+OK\r\n" [exchange [commands quit]]
    }
}
