# SPDX-License-Identifier: BSD-3-Clause
# Clients that are closed by what they are answered, or by others, in the middle of something: while
# they wait, are served, run a transaction. The server goes on, and nothing of them is left.

# Bytes of several commands.
proc commands {args} {
    set out ""
    foreach words $args {
        append out [client::encode $words]
    }
    return $out
}

# As many descriptors as the server has open.
proc descriptors {} {
    return [llength [glob -nocomplain -directory /proc/[srv pid]/fd *]]
}

proc await_clients {count} {
    wait_for_condition 400 25 {[s connected_clients] == $count} else {
        fail "[s connected_clients] clients are there, not $count: [r client list]"
    }
    assert_equal 0 [s blocked_clients]
}

# What is left of a client: "" where nothing is.
proc leftover {before} {
    wait_for_condition 200 10 {[s mem_clients_normal] <= $before} else {
        fail "[s mem_clients_normal] bytes of clients, $before before"
    }
}

# RESP3 clients that listen to `crowd` and have not read what was published there: their replies are
# above their soft limit, so that each one more is held against the limits.
proc crowded_clients {count} {
    r config set client-output-buffer-limit {pubsub 0 100kb 3600}
    set clients {}
    while {[llength $clients] < $count} {
        set client [raw_client]
        $client write [commands {hello 3 setname crowded} {select 9} {subscribe crowd}]
        lappend clients $client
        wait_for_condition 200 10 {[r publish crowd x] == [llength $clients]} else {
            fail "nobody has subscribed"
        }
    }
    wait_for_condition 400 0 {
        [r publish crowd [string repeat x 200000]] == $count && [crowded_bytes] > 1000000
    } else {
        fail "their replies take [crowded_bytes] bytes"
    }
    return $clients
}

proc crowded_client {} {
    return [lindex [crowded_clients 1] 0]
}

# Of the one that has the fewest.
proc crowded_bytes {} {
    set all [regexp -all -inline {name=crowded [^\n]* omem=\d+} [r client list]]
    return [lindex [lsort -integer [lmap line $all {lindex [split $line =] end}]] 0]
}

# Lowers the limit without a reply to the client, then runs the commands.
proc with_lower_limit {client args} {
    $client write [commands {client reply skip} \
                       {config set client-output-buffer-limit {pubsub 500kb 100kb 3600}} {*}$args]
}

start_server {tags {closing} overrides {hz 1}} {
    r select 9
    r client list
    set normal [s mem_clients_normal]

    test {Closed by the reply that its time is up} {
        for {set i 0} {$i < 3} {incr i} {
            set client [crowded_client]
            with_lower_limit $client {blpop nokey 0.002}
            await_clients 1
            $client close
        }
        assert_equal PONG [r ping]
        leftover $normal
    }

    test {Closed by CLIENT UNBLOCK} {
        set client [crowded_client]
        $client write [commands {blpop nokey 0}]
        wait_for_condition 200 10 {[s blocked_clients] == 1} else {
            fail "it does not wait"
        }
        regexp {id=(\d+) [^\n]*name=crowded} [r client list] all id
        r multi
        r config set client-output-buffer-limit {pubsub 500kb 100kb 3600}
        r client unblock $id
        r client unblock $id
        assert_equal {OK 1 0} [r exec]
        await_clients 1
        $client close
        assert_equal PONG [r ping]
    }

    test {Closed by the end of FLUSHALL SYNC} {
        r config set client-output-buffer-limit {pubsub 0 0 0}
        for {set i 0} {$i < 3} {incr i} {
            populate 20000
            set client [crowded_client]
            with_lower_limit $client {flushall sync}
            await_clients 1
            $client close
            assert_equal 0 [r dbsize]
        }
        assert_equal PONG [r ping]
    }

    test {Closed by what it is served: the element is moved all the same} {
        r config set client-output-buffer-limit {pubsub 1mb 0 0}
        set target [string repeat t 3000]
        foreach words {{blmove LEFT LEFT 0} {brpoplpush 0}} {
            set command [linsert $words 1 src $target]
            set client [raw_client]
            $client write [commands {hello 3} {select 9} {subscribe ch} $command]
            wait_for_condition 200 10 {[s blocked_clients] == 1} else {
                fail "it does not wait"
            }
            r del $target
            r rpush src [string repeat x 3000000]
            await_clients 1
            $client close
            assert_equal {0 1 3000000} [list [r exists src] [r llen $target] \
                                            [string length [r lindex $target 0]]]
        }
        r flushall
    }

    test {Closed by what it is served: those behind it are served with what is left} {
        r config set client-output-buffer-limit {pubsub 1mb 0 0}
        set clients {}
        foreach command {{blpop src 0} {blpop src 0}} {
            set client [raw_client]
            $client write [commands {hello 3} {select 9} {subscribe ch} $command]
            lappend clients $client
            wait_for_condition 200 10 {[s blocked_clients] == [llength $clients]} else {
                fail "it does not wait"
            }
        }
        r rpush src [string repeat x 3000000] small
        wait_for_condition 200 10 {[s connected_clients] == 2} else {
            fail "[s connected_clients] clients"
        }
        assert_equal 0 [s blocked_clients]
        lassign $clients first second
        $second write [commands {echo end}]
        while {[set line [$second raw_line]] ne "end"} {
            lappend said $line
        }
        assert_equal {*2 $3 src $5 small $3} [join [lrange $said end-5 end]]
        $first close
        $second close
        await_clients 1
        r config set client-output-buffer-limit {pubsub 33554432 8388608 60}
    }

    # SWAPDB looks at each key that somebody waits for. One that is due is deleted then, which
    # closes who is told of it; and they wait for keys that are still to be looked at.
    test {Closed by what SWAPDB finds to be due, while it looks for whom to serve} {
        r debug set-active-expire 0
        r config set notify-keyspace-events Ex
        set clients [crowded_clients 8]
        foreach client $clients {
            set key key:[incr number]
            $client write [commands {select 10} {subscribe __keyevent@10__:expired} \
                               "blpop $key own:$number 0"]
            r rpush $key a
            r pexpire $key 1
        }
        set served [redis_client]
        $served select 10
        $served deferred 1
        $served blpop list 0
        wait_for_condition 200 10 {[s blocked_clients] == 9} else {
            fail "[s blocked_clients] wait"
        }
        r rpush list a
        r debug sleep 0.01
        r config set client-output-buffer-limit {pubsub 500kb 100kb 3600}
        assert_equal OK [r swapdb 9 10]
        assert_equal {list a} [$served read]
        $served close
        await_clients 1
        foreach client $clients {
            $client close
        }
        assert_equal PONG [r ping]
        r flushall
        r config set notify-keyspace-events ""
        r debug set-active-expire 1
    } undefined {needs:debug}

    test {A transaction that closes its client runs to its end, and leaves nothing of it} {
        for {set i 0} {$i < 20} {incr i} {
            foreach setting {
                {client tracking on}
                {client tracking on bcast prefix a prefix b}
                {subscribe a b c}
                {psubscribe a* b*}
                monitor
                {auth default x}
                {client setname me}
                {blpop nokey 0}
                {client no-evict on}
            } {
                set client [raw_client]
                $client write [commands {select 9} {watch k} multi post $setting {set done 1} exec]
                assert_equal 1 [$client closed]
                $client close
                assert_equal 1 [r getdel done]
            }
        }
        await_clients 1
        foreach field {tracking_clients tracking_total_prefixes pubsub_channels pubsub_patterns} {
            assert_equal 0 [s $field] $field
        }
        assert_equal 0 [r client kill type pubsub]
        leftover $normal
        assert_match "*flags=N *" [r client list]
    }

    test {Clients that a transaction has killed are gone for what follows in it} {
        set client [redis_client]
        set id [$client client id]
        $client client setname victim
        $client subscribe a b
        $client psubscribe c*
        r multi
        r client kill id $id
        r client kill id $id
        r client list
        r client list id $id
        r client kill type normal
        r client unblock $id
        r pubsub numsub a
        r pubsub channels
        r pubsub numpat
        r publish a x
        lassign [r exec] one two list by_id by_type unblocked numsub channels patterns sent
        assert_equal {1 0 {} 0 0} [list $one $two $by_id $by_type $unblocked]
        assert_equal {{a 0} {} 0 0} [list $numsub $channels $patterns $sent]
        assert_no_match *victim* $list
        $client close
        await_clients 1
    }

    test {A transaction kills who waits, and adds what it waited for: nothing is lost} {
        set client [redis_client]
        set id [$client client id]
        $client deferred 1
        $client blpop list 0
        wait_for_condition 200 10 {[s blocked_clients] == 1} else {
            fail "it does not wait"
        }
        r multi
        r client kill id $id
        r rpush list a
        assert_equal {1 1} [r exec]
        assert_equal 1 [r llen list]
        $client close
        await_clients 1
        r del list
    }

    test {A message closes who waits for what the transaction then adds: nothing is lost} {
        with_config {client-output-buffer-limit {pubsub 1mb 0 0}} {
            set client [raw_client]
            $client write [commands {hello 3} {select 9} {subscribe ch} {blpop list 0}]
            wait_for_condition 200 10 {[s blocked_clients] == 1} else {
                fail "it does not wait"
            }
            r multi
            r publish ch [string repeat x 8000000]
            r rpush list a
            assert_equal {1 1} [r exec]
            assert_equal 1 [r llen list]
            $client close
            await_clients 1
            r del list
        }
    } undefined {ours}

    test {A transaction kills clients and deletes their user} {
        r acl setuser guest on >secret +@all ~* &*
        set clients {}
        for {set i 0} {$i < 4} {incr i} {
            set client [redis_client]
            $client auth guest secret
            if {$i == 2} {
                $client subscribe a
            }
            lappend clients $client
        }
        set id [[lindex $clients 0] client id]
        r multi
        r client kill id $id
        r client kill type pubsub
        r acl deluser guest
        r acl setuser guest on >other
        assert_equal {1 1 1 OK} [r exec]
        await_clients 1
        foreach client $clients {
            $client close
        }
        r acl deluser guest
        leftover $normal
    }

    test {CLIENT REPLY OFF, a wait that ends, QUIT: the descriptor goes} {
        set before [descriptors]
        foreach way {at-once later closed} {
            set client [raw_client]
            $client write [commands {client reply off} {blpop nokey 0.02}]
            if {$way eq "later"} {
                wait_for_condition 200 10 {[s blocked_clients] == 0} else {
                    fail "it waits still"
                }
            }
            $client write [commands quit]
            $client flush
            if {$way ne "closed"} {
                assert_equal 1 [$client closed]
            }
            $client close
            await_clients 1
        }
        wait_for_condition 200 10 {[descriptors] == $before} else {
            fail "[descriptors] descriptors, $before before"
        }
    }
}

# A client that sends those commands, the first of which waits; VALUE in them is `size` bytes.
proc waiting_client {size commands} {
    set client [raw_client]
    $client write [commands {select 9}]
    assert_equal "+OK\r\n" [$client raw_read 5] ;# unread, it would reset the connection
    set value [string repeat x $size]
    $client write [commands {*}[string map [list VALUE $value] $commands]]
    wait_for_condition 200 10 {[s blocked_clients] == 1} else {
        fail "it does not wait"
    }
    return $client
}

start_server {tags {closing}} {
    # The end of the connection stands behind more than the socket holds.
    foreach {name size commands} {
        {requests} 500000 {{blpop nokey 0} {set k VALUE} {set k VALUE}}
        {a request begun with its wait} 20000 {{blpop nokey 0} {set k VALUE}}
        {a large argument} 3000000 {{blpop nokey 0} {set k VALUE}}
        {a transaction} 300000 {{blpop nokey 0} multi {set k VALUE} {set k VALUE} exec}
    } {
        test "A client that waits and goes is seen to be gone: behind its wait, $name" {
            set client [waiting_client $size $commands]
            $client close
            await_clients 1
            assert_equal 0 [r exists k]
        }

        test "A client that waits and stays goes on: behind its wait, $name" {
            set before [s total_net_input_bytes]
            set client [waiting_client $size $commands]
            $client write [commands {append k end} {blpop nokey2 0} {append k END} {strlen k}]
            $client flush
            wait_for_condition 400 10 {[s total_net_input_bytes] > $before + $size} else {
                fail "it is not read while it waits"
            }
            r rpush nokey a
            wait_for_condition 400 10 {[s blocked_clients] == 1 && [r exists k]
                                       && [r getrange k -3 -1] eq "end"} else {
                fail "it has not gone on to its second wait"
            }
            r rpush nokey2 b
            wait_for_condition 400 10 {[r getrange k -3 -1] eq "END"} else {
                fail "it has not gone on to the end"
            }
            assert_equal [expr {$size + 6}] [r strlen k]
            $client close
            await_clients 1
            r flushall
        }
    }
}

# One command at random, of those that close clients, or give them what closing takes away. `id` is
# some client's, of now or of before.
proc random_command {id} {
    set key k[random_int 4]
    set channel c[random_int 3]
    set value [string repeat x [random_pick {1 50 3000 60000}]]
    return [random_pick [list \
        "set $key $value" "get $key" "del $key" flushall {flushall sync} "rpush $key $value b" \
        "lpush $key a" "zadd $key 1 m" "xadd $key * f $value" "blpop $key k0 0" \
        "brpop $key k1 0.002" "blmove $key k2 left right 0.01" "bzpopmin $key 0.01" \
        "xread block 10 streams $key $" "xgroup create $key g $ mkstream" \
        "xreadgroup group g c block 20 streams $key >" "swapdb 0 9" "watch $key" unwatch \
        "subscribe $channel c0" {psubscribe c*} unsubscribe punsubscribe "publish $channel $value" \
        "publish $channel $value" {client tracking on} {client tracking on bcast prefix k1} \
        "client tracking on redirect $id" {client tracking off} monitor {hello 3} {hello 2} reset \
        post quit "client kill id $id" "client kill id $id" {client kill type pubsub} \
        "client unblock $id" "client unblock $id error" {client list} {client pause 3 write} \
        {client unpause} {acl setuser guest on >p +@all ~* &*} {auth guest p} {acl deluser guest} \
        {acl setuser guest resetchannels} {client reply off} {client reply on} {client reply skip} \
        {config set client-output-buffer-limit {normal 100kb 50kb 1 pubsub 100kb 20kb 1}} \
        {config set client-output-buffer-limit {normal 0 0 0 pubsub 1mb 0 0}} \
        {config set maxmemory-clients 300kb} {config set maxmemory-clients 0} \
        {config set notify-keyspace-events KEA} "lrange $key 0 -1" {pubsub channels} \
        {slowlog get}]]
}

start_server {tags {closing} overrides {slowlog-log-slower-than 0}} {
    test {Clients that do, and suffer, anything at random: the server lives, nothing is left} {
        set clients {}
        set newest 1
        for {set step 0} {$step < [accurate 4000 100000]} {incr step} {
            while {[llength $clients] < 20} {
                lappend clients [raw_client]
                incr newest
            }
            set client [random_pick $clients]
            set bytes ""
            for {set left [random_int 5]} {$left >= 0} {incr left -1} {
                set id [expr {max(1, $newest - [random_int 25])}]
                if {[random_int 4] == 0} {
                    append bytes [commands multi [random_command $id] [random_command $id] \
                                      [random_command $id] exec]
                } else {
                    append bytes [commands [random_command $id]]
                }
            }
            set gone [catch {
                $client write $bytes
                $client flush
            }]
            # Some never read.
            foreach other $clients {
                if {[string index $other end] % 3 && [random_int 5] == 0} {
                    catch {read [$other channel]}
                }
            }
            if {$gone || [random_int 20] == 0 || [eof [$client channel]]} {
                $client close
                set clients [lsearch -all -inline -not -exact $clients $client]
            }
        }
        foreach client $clients {
            $client close
        }
        reconnect
        r config set maxmemory-clients 0
        await_clients 1
        foreach field {tracking_clients pubsub_channels pubsub_patterns tracking_total_prefixes} {
            assert_equal 0 [s $field] $field
        }
        r flushall
        leftover 600
        catch {r acl deluser guest}
    } undefined {tls:skip}
}

start_server {tags {closing} overrides {requirepass secret hz 1}} {
    r auth secret

    test {Who has not authenticated and does not read is closed, whatever the limits} {
        set peak [s used_memory_peak]
        set lines [count_log_lines]
        set client [raw_client]
        set bytes [string repeat [commands {get k}] 20000]
        # 20,000 errors of 35 bytes each time: what the kernel takes comes to some megabytes.
        for {set i 0} {$i < 400 && [s connected_clients] > 1} {incr i} {
            if {[catch {
                $client write $bytes
                $client flush
            }]} {
                break
            }
        }
        wait_for_condition 200 10 {[s connected_clients] == 1} else {
            fail "it is there: [r client list]"
        }
        wait_for_log {*has not authenticated*} $lines
        $client close
        assert_lessthan [expr {[s used_memory_peak] - $peak}] 4000000
    }

    # Each has a name that nobody keeps, and a request of ten long arguments that never ends: first
    # as much of it as is taken, then more.
    test {Many who have not authenticated hold a small, known amount} {
        set count [expr {$::options(tls) ? 30 : 200}] ;# Tcl's handshakes take long
        set bytes 32000
        set lines [count_log_lines]
        set name [string repeat n 16000]
        set argument "\$16384\r\n[string repeat a 16384]\r\n"
        set request "*10\r\n[string repeat $argument 10]"
        set before [expr {[s used_memory] - [s mem_tls]}]
        set strangers {}
        for {set i 0} {$i < $count} {incr i} {
            set client [raw_client]
            $client write [commands [list hello 3 setname $name]]
            assert_match "-NOAUTH HELLO must*" [$client raw_read 150]
            $client write [string range $request 0 [expr {$bytes - 1}]]
            lappend strangers $client
        }
        wait_for_condition 500 10 {[s used_memory] - [s mem_tls] - $before > $count * $bytes} else {
            fail "they hold [expr {[s used_memory] - $before}] bytes"
        }
        assert_lessthan [expr {[s used_memory] - [s mem_tls] - $before}] [expr {$count * 36000}]
        assert_equal [expr {$count + 1}] [s connected_clients]
        foreach client $strangers {
            catch {
                $client write [string range $request $bytes end]
            }
        }
        wait_for_condition 500 10 {[s connected_clients] == 1} else {
            fail "[s connected_clients] are there"
        }
        wait_for_log {*query buffer (it has not authenticated)*} $lines
        foreach client $strangers {
            $client close
        }
    }

    test {Who has not authenticated and reads may say much} {
        set client [raw_client]
        set wanted [string repeat "-NOAUTH Authentication required.\r\n" 20000]
        $client write [string repeat [commands {get k}] 20000]
        assert_equal $wanted [$client raw_read [string length $wanted]]
        $client write [commands {auth secret} ping]
        assert_equal "+OK\r\n+PONG\r\n" [$client raw_read 12]
        $client close
    }
}
