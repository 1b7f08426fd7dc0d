# SPDX-License-Identifier: BSD-3-Clause
# CLIENT TRACKING and what goes with it: who is told of which changes, byte for byte and in which
# place between replies; broadcasting, redirection, limits, errors.

# Bytes of several commands.
proc commands {words} {
    set out ""
    foreach command $words {
        append out [client::encode $command]
    }
    return $out
}

# Sends the commands; the bytes given, and no others, must come.
proc exchange {client words args} {
    $client write [commands $words]
    assert_bytes $client {*}$args
}

# These bytes come next.
proc assert_bytes {client args} {
    set expected [join $args ""]
    assert_equal $expected [$client raw_read [string length $expected]]
}

# Nothing has come that was not read yet.
proc assert_silent {client} {
    exchange $client {PING} "+PONG\r\n"
}

proc bulk {text} {
    return "\$[string length $text]\r\n$text\r\n"
}

proc keys_of {args} {
    set out "*[llength $args]\r\n"
    foreach key $args {
        append out [bulk $key]
    }
    return $out
}

# What a client of RESP3 is told of keys, and of all; the same for one of RESP2 that listens.
proc told {args} {
    return ">2\r\n[bulk invalidate][keys_of {*}$args]"
}
set ::told_all ">2\r\n\$10\r\ninvalidate\r\n_\r\n"

proc message {args} {
    return "*3\r\n[bulk message][bulk __redis__:invalidate][keys_of {*}$args]"
}

set ::ok "+OK\r\n"
set ::null "_\r\n"

# In the database that `r` uses.
proc plain_client {} {
    set client [raw_client]
    exchange $client {{SELECT 9}} $::ok
    return $client
}

proc resp3_client {args} {
    set client [plain_client]
    $client write [client::encode {HELLO 3}]
    $client raw_reply
    foreach command $args {
        exchange $client [list $command] "+OK\r\n"
    }
    return $client
}

proc tracker {args} {
    return [resp3_client [list CLIENT TRACKING ON {*}$args]]
}

proc id_of {client} {
    $client write [client::encode {CLIENT ID}]
    return [string range [$client raw_line] 1 end]
}

# A field of CLIENT LIST.
proc listed {id field} {
    regexp " $field=(\\S*)" [r client list id $id] -> value
    return $value
}

# Clients of earlier tests may still be closing.
proc await_trackers {count} {
    wait_for_condition 500 10 {[s tracking_clients] == $count} else {
        fail "[s tracking_clients] clients track, not $count"
    }
}

proc info_of {client} {
    $client write [client::encode {CLIENT TRACKINGINFO}]
    return [client::plain [$client read_typed]]
}

start_server {tags {tracking}} {
    test {Default mode: a read key's next change is told, once} {
        r flushall
        set c [tracker]
        exchange $c {{GET k}} $::null
        r set k 1
        assert_bytes $c [told k]
        r set k 2
        assert_silent $c
        exchange $c {{MGET a b} {STRLEN c}} "*2\r\n$::null$::null:0\r\n"
        r mset c 1 b 2 a 3 d 4
        assert_bytes $c [told c] [told b] [told a]
        assert_silent $c
        $c close
    }

    test {Own changes are told after the reply, those of a transaction after EXEC's} {
        r flushall
        set c [tracker]
        exchange $c {{GET k} {SET k 1} PING} $::null $::ok [told k] "+PONG\r\n"
        exchange $c {{GET k} {GET x} MULTI {SET k 2} {GET x} {DEL k} {SET x 3} EXEC PING} \
            [bulk 1] $::null $::ok "+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n" \
            "*4\r\n" $::ok $::null ":1\r\n" $::ok [told k] [told x] "+PONG\r\n"
        $c close
    }

    test {What is read: commands that only read, with the keys that they name} {
        r flushall
        set c [tracker]
        foreach {command keys} {
            {EXISTS k1 k2} {k1 k2} {TTL k1} k1 {TYPE k1} k1 {OBJECT ENCODING k1} k1
            {TOUCH k1} k1 {XREAD COUNT 1 STREAMS k1 k2 0 0} {k1 k2} {SINTER k1 k2} {k1 k2}
            {ZUNION 2 k1 k2} {k1 k2} {GETBIT k1 7} k1 {PFCOUNT k1} k1
            {SORT k1} {} {GETEX k1} {} {SCAN 0} {} {WATCH k1} {} {BITOP NOT k2 k1} {} {DBSIZE} {}
        } {
            $c write [commands [list $command]]
            $c raw_reply
            r mset k1 1 k2 2
            r del k1 k2
            assert_bytes $c {*}[lmap key $keys {told $key}]
        }
        assert_silent $c
        $c close
    }

    test {Changes of every sort: deadline, renaming, copying, moving, other databases} {
        r flushall
        set c [tracker]
        foreach {key before change told} {
            k {set k 1} {expire k 100} k
            k {setex k 100 1} {persist k} k
            k {set k 1} {expire k -1} k
            k {set k 1} {del k} k
            k {set k 1} {getdel k} k
            k {set k 1} {append k 2} k
            k {set k 1} {setrange k 3 x} k
            k {set k 1} {move k 10} k
            k {rpush k 1} {lpop k} k
            k {rpush k 1} {lset k 0 2} k
            k {sadd k 1} {sadd k 2} k
            k {hset k a 1} {hdel k a} k
            k {zadd k 1 a} {zincrby k 1 a} k
            k {set a 1} {copy a k} k
            k {set k 1} {copy k a} {}
            k {set k 1} {setnx k 2} {}
            k {sadd k 1} {sadd k 1} {}
            k {zadd k 1 a} {zadd k 1 a} {}
            k {set k 1} {expire none 1} {}
        } {
            r select 10
            r flushdb
            r select 9
            r flushdb
            assert_bytes $c $::told_all $::told_all
            r {*}$before
            $c write [commands [list [list EXISTS $key]]]
            $c raw_reply
            r {*}$change
            if {$told ne ""} {
                assert_bytes $c [told $told]
            }
            assert_silent $c
        }
        r set a 1
        exchange $c {{EXISTS a} {EXISTS b}} ":1\r\n:0\r\n"
        r rename a b
        assert_bytes $c [told a] [told b]
        assert_silent $c
        exchange $c {{EXISTS k}} ":1\r\n"
        r select 5
        r set k 1
        r select 9
        assert_bytes $c [told k]
        $c close
    }

    test {A HyperLogLog that PFDEBUG makes dense is told as changed} {
        r flushall
        set c [tracker]
        foreach subcommand {getreg todense} {
            r del k
            r pfadd k a
            exchange $c {{PFCOUNT k}} ":1\r\n"
            r pfdebug $subcommand k
            assert_bytes $c [told k]
            exchange $c {{PFCOUNT k}} ":1\r\n"
            r pfdebug $subcommand k
            assert_silent $c
            r del k
            assert_bytes $c [told k]
        }
        $c close
    } undefined {ours}

    test {Flushing tells all, also of empty databases, once a command} {
        r flushall
        set c [tracker]
        set b [tracker BCAST PREFIX nothing]
        exchange $c {{GET k}} $::null
        r flushall
        r flushdb async
        foreach client [list $c $b] {
            assert_bytes $client $::told_all $::told_all
            assert_silent $client
        }
        exchange $c {FLUSHDB PING} $::ok $::told_all "+PONG\r\n"
        assert_bytes $b $::told_all
        r set k 1
        assert_silent $c
        exchange $c {{GET k} MULTI {SET k 2} FLUSHALL {SET k 3} EXEC PING} \
            [bulk 1] $::ok "+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n*3\r\n" $::ok $::ok $::ok \
            [told k] $::told_all "+PONG\r\n"
        $c close
        $b close
    }

    test {Expired keys are told: found by a reader, by others, by nobody} {
        r flushall
        set c [tracker]
        # Set and read at one moment, however short the key lives.
        set begin [list {MULTI {SET k 1 PX 10} {EXISTS k} EXEC} \
            $::ok "+QUEUED\r\n+QUEUED\r\n*2\r\n" $::ok ":1\r\n"]
        r debug set-active-expire 0
        exchange $c {*}$begin
        after 15
        exchange $c {{MGET k k} PING} "*2\r\n$::null$::null" [told k] "+PONG\r\n"
        exchange $c {*}$begin [told k]
        after 15
        r get k
        assert_bytes $c [told k]
        r debug set-active-expire 1
        exchange $c {*}$begin
        assert_bytes $c [told k]
        $c close
    } {} {needs:debug}

    test {Evicted keys are told before the reply to the command that evicts} {
        r flushall
        set c [tracker]
        r set k 1
        exchange $c {{EXISTS k}} ":1\r\n"
        r config set maxmemory-policy noeviction
        r config set maxmemory 1
        exchange $c {{CONFIG SET maxmemory-policy allkeys-lru}} $::ok
        exchange $c {PING} [told k] "+PONG\r\n"
        r config set maxmemory 0
        $c close
    }

    test {NOLOOP: own changes are not told, flushes and those of others are} {
        r flushall
        set c [tracker NOLOOP]
        exchange $c {{GET k} {SET k 1} {GET k}} $::null $::ok [bulk 1]
        r set k 2
        assert_bytes $c [told k]
        exchange $c {FLUSHALL} $::ok $::told_all
        assert_silent $c
        $c close
    }

    # Both modes: the target changes by who waited, the source by who pushed.
    test {NOLOOP: what a served client moves is its own change, what was pushed is not} {
        foreach {waits mode} {{BLMOVE q1 q2 LEFT LEFT 0} BCAST {BRPOPLPUSH q1 q2 0} {}} {
            foreach is_tracker {1 0} {
                r flushall
                set c [tracker NOLOOP {*}$mode]
                exchange $c {{LRANGE q1 0 -1} {LRANGE q2 0 -1}} "*0\r\n*0\r\n"
                set other [resp3_client]
                set waiter [expr {$is_tracker ? $c : $other}]
                $waiter write [client::encode $waits]
                $waiter flush
                wait_for_condition 200 10 {[s blocked_clients] == 1} else {
                    fail "nobody waits"
                }
                if {$is_tracker} {
                    exchange $other {{RPUSH q1 x}} ":1\r\n"
                    if {$mode eq ""} {
                        assert_bytes $c [told q1] [bulk x]
                    } else {
                        assert_bytes $c [bulk x] [told q1]
                    }
                } else {
                    exchange $c {{RPUSH q1 x}} ":1\r\n" [told q2]
                    assert_bytes $other [bulk x]
                }
                assert_silent $c
                $c close
                $other close
            }
        }
    }

    test {NOLOOP: a script changes keys for who runs it, but for nobody below a prefix} {
        foreach {mode seen} {{} 0 BCAST 1} {
            r flushall
            set c [tracker NOLOOP {*}$mode]
            exchange $c {{GET k}} $::null
            $c write [client::encode {EVAL "return redis.call('incr', 'k')" 1 k}]
            $c flush
            if {$seen} {
                assert_bytes $c ":1\r\n" [told k]
            } else {
                assert_bytes $c ":1\r\n"
            }
            assert_silent $c
            $c close
        }
    }

    test {NOLOOP: what BZPOPMIN takes when it is served is who waited's change} {
        r flushall
        set pusher [tracker NOLOOP BCAST]
        set waiter [tracker NOLOOP BCAST]
        $waiter write [client::encode {BZPOPMIN z 0}]
        $waiter flush
        wait_for_condition 200 10 {[s blocked_clients] == 1} else {
            fail "nobody waits"
        }
        exchange $pusher {{ZADD z 1 a}} ":1\r\n" [told z]
        assert_bytes $waiter "*3\r\n" [bulk z] [bulk a] ",1\r\n"
        assert_silent $waiter
        $pusher close
        $waiter close
    }

    test {OPTIN and OPTOUT: CACHING counts for one command, or one transaction} {
        r flushall
        foreach {mode word listed first} {OPTIN YES caching-yes k OPTOUT NO caching-no x} {
            set c [tracker $mode]
            exchange $c [list [list CLIENT CACHING $word]] $::ok
            assert_equal [list on [string tolower $mode] $listed] [dict get [info_of $c] flags]
            exchange $c {{GET k} {GET x}} $::null $::null
            r mset k 1 x 1
            assert_bytes $c [told $first]
            r del k x
            exchange $c [list [list CLIENT CACHING $word] {CLIENT GETREDIR} MULTI {GET k} EXEC \
                {GET x}] \
                $::ok ":0\r\n" $::ok "+QUEUED\r\n" "*1\r\n$::null" $::null
            r mset k 1 x 1
            assert_bytes $c [told $first]
            r del k x
            exchange $c [list MULTI {GET x} [list CLIENT CACHING $word] {GET k} EXEC] \
                $::ok "+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n*3\r\n" $::null $::ok $::null
            r mset k 1 x 1
            assert_bytes $c [told $first]
            r del k x
            # A refused command uses it up, too.
            exchange $c [list [list CLIENT CACHING $word] NOSUCH {GET y}] $::ok \
                "-ERR unknown command `NOSUCH`, with args beginning with: \r\n" $::null
            r set y 1
            if {$mode eq "OPTOUT"} {
                assert_bytes $c [told y]
            }
            assert_silent $c
            r flushall
            $c close
        }
    }

    test {BCAST: changes below prefixes come together, sorted, after the replies} {
        r flushall
        set all [tracker BCAST]
        set some [tracker BCAST PREFIX x PREFIX y NOLOOP]
        set w [plain_client]
        exchange $w {MULTI {SET z1 1} {SET x2 1} {SET x1 1} {SET y 1} {SET x1 2} EXEC} \
            $::ok [string repeat "+QUEUED\r\n" 5] "*5\r\n" [string repeat $::ok 5]
        assert_bytes $all [told x1 x2 y z1]
        assert_bytes $some [told x1 x2] [told y]
        exchange $some {MULTI {SET x1 1} {SET z 1} EXEC PING} \
            $::ok "+QUEUED\r\n+QUEUED\r\n*2\r\n" $::ok $::ok "+PONG\r\n"
        assert_bytes $all [told x1 z]
        exchange $all {{SET q 1} PING} $::ok "+PONG\r\n" [told q]
        assert_silent $some
        exchange $some {{SETEX x5 1 1} {PEXPIRE x5 1}} $::ok ":1\r\n"
        assert_bytes $some [told x5]
        foreach c [list $all $some $w] {
            $c close
        }
    }

    test {BCAST: reads are not remembered, and prefixes go with their clients} {
        r flushall
        set one [tracker BCAST PREFIX q PREFIX ab1]
        $one close
        await_trackers 0
        set one [tracker BCAST PREFIX a PREFIX b]
        set other [tracker BCAST PREFIX b PREFIX c]
        exchange $one {{GET k}} $::null
        assert_equal {2 0 0 3} [list [s tracking_clients] [s tracking_total_keys] \
            [s tracking_total_items] [s tracking_total_prefixes]]
        assert_equal {a b} [dict get [info_of $one] prefixes]
        exchange $one {{CLIENT TRACKING ON BCAST PREFIX 0}} $::ok
        assert_equal {0 a b} [dict get [info_of $one] prefixes]
        exchange $one {{CLIENT TRACKING OFF}} $::ok
        assert_equal {1 2} [list [s tracking_clients] [s tracking_total_prefixes]]
        $other close
        wait_for_condition 100 10 {[s tracking_total_prefixes] == 0} else {
            fail "prefixes are left"
        }
        $one close
    }

    test {Redirection to RESP3, and to RESP2 while it listens to anything} {
        r flushall
        set to [resp3_client]
        set id [id_of $to]
        set c [tracker REDIRECT $id]
        exchange $c {{GET k}} $::null
        r set k 1
        assert_bytes $to [told k]
        r flushall
        assert_bytes $to $::told_all
        assert_silent $c
        $to write [commands {{HELLO 2}}]
        $to raw_reply
        exchange $c {{GET k}} $::null
        r set k 1
        assert_silent $to
        exchange $to {{SUBSCRIBE other}} "*3\r\n[bulk subscribe][bulk other]:1\r\n"
        exchange $c {{GET k}} [bulk 1]
        r set k 1
        assert_bytes $to [message k]
        exchange $c {{GET k} {SET k 3} {CLIENT GETREDIR}} [bulk 1] $::ok ":$id\r\n"
        assert_bytes $to [message k]
        assert_silent $c
        $c close
        $to close
    }

    test {RESP2 without redirection is told nothing} {
        set c [plain_client]
        exchange $c {{CLIENT TRACKING ON} {GET k}} $::ok
        $c raw_reply
        r set k 1
        r flushall
        assert_silent $c
        $c close
    }

    test {RESP2 gets the null of a flush in its own form} {
        set to [plain_client]
        set c [plain_client]
        set id [id_of $to]
        exchange $to {{SUBSCRIBE __redis__:invalidate}} \
            "*3\r\n[bulk subscribe][bulk __redis__:invalidate]:1\r\n"
        exchange $c [list [list CLIENT TRACKING ON REDIRECT $id]] $::ok
        r flushall
        assert_bytes $to "*3\r\n[bulk message][bulk __redis__:invalidate]\$-1\r\n"
        $c close
        $to close
    }

    test {A broken redirection is told each time, and shown} {
        r flushall
        r set k 1
        set to [plain_client]
        set id [id_of $to]
        set c [tracker REDIRECT $id]
        set own [id_of $c]
        exchange $c {{GET k}} [bulk 1]
        assert_equal {t} [listed $own flags]
        assert_equal $id [listed $own redir]
        $to close
        wait_for_condition 100 10 {[r client list id $id] eq ""} else {
            fail "still there"
        }
        set broken ">2\r\n[bulk tracking-redir-broken]:$id\r\n"
        r set k 1
        assert_bytes $c $broken
        assert_equal {tR} [listed $own flags]
        assert_equal {on broken_redirect} [dict get [info_of $c] flags]
        r flushall
        assert_bytes $c $broken
        exchange $c {{GET k} {SET k 1}} $::null $::ok $broken
        exchange $c {{CLIENT TRACKING ON}} $::ok
        assert_equal {on} [dict get [info_of $c] flags]
        assert_equal {t 0} [list [listed $own flags] [listed $own redir]]
        $c close
    }

    test {CLIENT LIST: t, B and redir; RESET and OFF end tracking} {
        set c [tracker BCAST]
        set own [id_of $c]
        assert_equal {tB 0} [list [listed $own flags] [listed $own redir]]
        exchange $c {{CLIENT TRACKING OFF}} $::ok
        assert_equal {N -1} [list [listed $own flags] [listed $own redir]]
        r set k 1
        exchange $c {{CLIENT TRACKING ON} {GET k} RESET} $::ok "[bulk 1]+RESET\r\n"
        assert_equal {N -1} [list [listed $own flags] [listed $own redir]]
        r set k 1
        assert_silent $c
        await_trackers 0
        $c close
    }

    test {HELLO: what is told follows the protocol} {
        r flushall
        set c [tracker]
        exchange $c {{GET k}} $::null
        $c write [commands {{HELLO 2}}]
        $c raw_reply
        r set k 1
        assert_silent $c
        exchange $c {{GET k}} [bulk 1]
        $c write [commands {{HELLO 3}}]
        $c raw_reply
        r set k 2
        assert_bytes $c [told k]
        $c close
    }

    test {HELLO in a transaction: what waits for its end follows the protocol that is spoken then} {
        foreach {change all} {{SET k 1} 0 FLUSHDB 1} {
            r flushall
            set c [plain_client]
            exchange $c {{CLIENT TRACKING ON} {GET k} MULTI} $::ok "\$-1\r\n" $::ok
            $c write [commands [list $change {HELLO 3} EXEC PING]]
            assert_bytes $c "+QUEUED\r\n+QUEUED\r\n*2\r\n" $::ok
            $c raw_reply
            assert_bytes $c [expr {$all ? $::told_all : [told k]}] "+PONG\r\n"
            exchange $c {{GET k} MULTI} [expr {$all ? $::null : [bulk 1]}] $::ok
            $c write [commands [list $change {HELLO 2} EXEC PING]]
            assert_bytes $c "+QUEUED\r\n+QUEUED\r\n*2\r\n" $::ok
            $c raw_reply
            assert_bytes $c "+PONG\r\n"
            $c close
        }
    }

    # Of a client that redirects to the target one: what it changes before `words` in a transaction,
    # and the bytes that follow its replies, those of target one, those of target two.
    test {A transaction's changes go where its client redirects at the end} {
        set broken ">2\r\n[bulk tracking-redir-broken]:%s\r\n"
        foreach {change words own one two} {
            {SET k 1} {CLIENT TRACKING ON} told {} {}
            {SET k 1} {CLIENT TRACKING ON REDIRECT @two} {} {} told
            {SET k 1} {CLIENT TRACKING ON NOLOOP REDIRECT @two} {} {} told
            {SET k 1} {CLIENT TRACKING ON REDIRECT @self} told {} {}
            {SET k 1} {CLIENT TRACKING OFF} {} told {}
            {SET k 1} {CLIENT KILL ID @one} broken closed {}
            FLUSHALL {CLIENT TRACKING ON REDIRECT @two} {} {} told_all
            FLUSHALL {CLIENT TRACKING OFF} {} told_all {}
            FLUSHALL {CLIENT KILL ID @one} broken closed {}
        } {
            r flushall
            set first [resp3_client]
            set second [resp3_client]
            set id [id_of $first]
            set c [tracker REDIRECT $id]
            exchange $c {{GET k}} $::null
            set words [string map [list @one $id @two [id_of $second] @self [id_of $c]] $words]
            exchange $c [list MULTI $change $words EXEC] $::ok "+QUEUED\r\n+QUEUED\r\n*2\r\n" \
                $::ok [expr {[lindex $words 1] eq "KILL" ? ":1\r\n" : $::ok}]
            foreach {client what} [list $c $own $first $one $second $two] {
                switch $what {
                    told {assert_bytes $client [told k]}
                    told_all {assert_bytes $client $::told_all}
                    broken {assert_bytes $client [format $broken $id]}
                }
                if {$what ne "closed"} {
                    assert_silent $client
                }
                $client close
            }
        }
    }

    test {A transaction's changes go to the last of several redirections, once each} {
        r flushall
        set one [resp3_client]
        set two [resp3_client]
        set gone [resp3_client]
        set ids [list @one [id_of $one] @two [id_of $two]]
        set id [id_of $gone]
        set c [tracker REDIRECT $id]
        exchange $c {{MGET a b d}} "*3\r\n$::null$::null$::null"
        $gone close
        wait_for_condition 100 10 {[r client list id $id] eq ""} else {
            fail "still there"
        }
        exchange $c [string map $ids {MULTI {SET a 1} {CLIENT TRACKING ON REDIRECT @one} {SET b 1} \
            {SET d 1} {CLIENT TRACKING OFF} {CLIENT TRACKING ON REDIRECT @two} EXEC}] \
            $::ok [string repeat "+QUEUED\r\n" 6] "*6\r\n" [string repeat $::ok 6]
        assert_bytes $two [told a] [told b] [told d]
        foreach client [list $c $one $two] {
            assert_silent $client
            $client close
        }
    }

    test {What is redirected to a client comes before its own, both after its reply} {
        r flushall
        set c [tracker]
        set other [tracker REDIRECT [id_of $c]]
        foreach {writes replies} {
            {{MSET a 1 b 1}} "+OK\r\n"
            {MULTI {SET a 1} {SET b 1} EXEC} "+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n+OK\r\n+OK\r\n"
        } {
            foreach client [list $c $other] {
                $client write [commands {{MGET a b} {ECHO read}}]
                while {[$client raw_line] ne "read"} {}
            }
            exchange $c [concat $writes PING] $replies \
                [told a] [told b] [told a] [told b] "+PONG\r\n"
        }
        $c close
        $other close
    } {} {ours}

    test {Messages of several to one client: a writer's own come after those of others} {
        r flushall
        set to [resp3_client]
        set id [id_of $to]
        set c [tracker REDIRECT $id]
        set other [tracker REDIRECT $id]
        foreach client [list $c $other] {
            exchange $client {{MGET a b}} "*2\r\n$::null$::null"
        }
        exchange $c {{MSET a 1 b 1}} $::ok
        assert_bytes $to [told a] [told b] [told a] [told b]
        exchange $to {{SUBSCRIBE news}} ">3\r\n[bulk subscribe][bulk news]:1\r\n"
        exchange $c {{GET a} MULTI {SET a 2} {PUBLISH news x} EXEC} \
            [bulk 1] $::ok "+QUEUED\r\n+QUEUED\r\n*2\r\n" $::ok ":1\r\n"
        assert_bytes $to ">3\r\n[bulk message][bulk news][bulk x]" [told a]
        foreach client [list $c $other $to] {
            $client close
        }
    }

    # Who waits is served after the call that serves it, and so after what that has told.
    test {Messages to a client that waits come before what it has waited for} {
        foreach {push replies} {
            {{RPUSH l x}} ":1\r\n"
            {MULTI {RPUSH l x} EXEC} "+OK\r\n+QUEUED\r\n*1\r\n:1\r\n"
        } {
            r flushall
            set waiter [resp3_client]
            set c [tracker REDIRECT [id_of $waiter]]
            exchange $c {{LLEN l} {LLEN d}} ":0\r\n:0\r\n"
            $waiter write [client::encode {BLMOVE l d LEFT LEFT 0}]
            $waiter flush
            wait_for_condition 200 10 {[s blocked_clients] == 1} else {
                fail "nobody waits"
            }
            exchange $c $push $replies
            assert_bytes $waiter [told l] [told d] [bulk x]
            assert_silent $waiter
            $waiter close
            $c close
        }
    }

    test {A flush is told also where calls are counted anew} {
        r flushall
        set c [tracker]
        for {set i 0} {$i < 3} {incr i} {
            exchange $c {{CONFIG RESETSTAT} FLUSHALL} $::ok $::ok $::told_all
        }
        $c close
    }

    test {A flush that is redirected: the null of who is told} {
        foreach own {2 3} {
            set to [plain_client]
            set c [plain_client]
            set id [id_of $to]
            $c write [commands [list "HELLO $own"]]
            $c raw_reply
            exchange $c [list [list CLIENT TRACKING ON REDIRECT $id]] $::ok
            exchange $to {{SUBSCRIBE a}} "*3\r\n[bulk subscribe][bulk a]:1\r\n"
            r flushall
            assert_bytes $to "*3\r\n[bulk message][bulk __redis__:invalidate]\$-1\r\n"
            exchange $to {{UNSUBSCRIBE a}} "*3\r\n[bulk unsubscribe][bulk a]:0\r\n"
            $to write [commands {{HELLO 3}}]
            $to raw_reply
            r flushall
            assert_bytes $to $::told_all
            $c close
            $to close
        }
    } {} {ours}

    test {CLIENT REPLY does not hold back what is told} {
        r flushall
        set c [tracker]
        exchange $c {{GET k} {CLIENT REPLY OFF}} $::null
        r set k 1
        assert_bytes $c [told k]
        exchange $c {{GET k} {SET k 2}} [told k]
        exchange $c {{CLIENT REPLY ON} {GET k} {CLIENT REPLY SKIP} {SET k 3} PING} \
            $::ok [bulk 2] [told k] "+PONG\r\n"
        $c close
    }

    test {Blocked clients are told, and before their reply of what made them go on} {
        r flushall
        set c [tracker]
        exchange $c {{LLEN l} {LLEN d} {BLMOVE l d LEFT RIGHT 0}} ":0\r\n:0\r\n"
        wait_for_condition 100 10 {[s blocked_clients] == 1} else {
            fail "not blocked"
        }
        r rpush l x
        assert_bytes $c [told l] [bulk x] [told d]
        exchange $c {{XREAD BLOCK 0 STREAMS s $}}
        wait_for_condition 100 10 {[s blocked_clients] == 1} else {
            fail "not blocked"
        }
        r xadd s 1-1 a b
        assert_bytes $c [told s]
        $c raw_reply
        r xadd s 2-1 a b
        assert_silent $c
        $c close
    }

    test {tracking-table-max-keys: random keys are told as changed} {
        r flushall
        set c [tracker]
        with_config {tracking-table-max-keys 10} {
            for {set i 0} {$i < 100} {incr i} {
                $c write [commands [list [list EXISTS k$i]]]
            }
            set lines {}
            # Each key: a reply of one line, or a push of six.
            for {set left [expr {100 + 90 * 6}]} {$left > 0} {incr left -1} {
                lappend lines [$c raw_line]
            }
            assert_equal 100 [llength [lsearch -all -exact $lines :0]]
            set keys [lmap line [lsearch -all -inline -regexp $lines {^k\d+$}] {set line}]
            assert_equal 90 [llength [lsort -unique $keys]]
            assert_equal 10 [s tracking_total_keys]
            assert_silent $c
        }
        $c close
    }

    test {CLIENT TRACKING: what does not fit together} {
        set c [plain_client]
        set id [id_of $c]
        set switch "You can't switch %s before disabling tracking for this client, and then\
            re-enabling it with a different mode."
        set bcast [format $switch "BCAST mode on/off"]
        set opt [format $switch "OPTIN/OPTOUT mode"]
        set overlap "Prefixes for a single client must not overlap."
        foreach {words reply} [subst -nocommands {
            {FOO} {syntax error} {ON FOO} {syntax error} {ON PREFIX} {syntax error}
            {ON REDIRECT} {syntax error} {OFF FOO} {syntax error}
            {FOO REDIRECT x} {value is not an integer or out of range}
            {ON REDIRECT 0} {The client ID you want redirect to does not exist}
            {ON REDIRECT -1} {The client ID you want redirect to does not exist}
            {ON REDIRECT $id REDIRECT $id} {A client can only redirect to a single other client}
            {ON PREFIX a} {PREFIX option requires BCAST mode to be enabled}
            {ON BCAST OPTIN} {OPTIN and OPTOUT are not compatible with BCAST}
            {ON BCAST OPTIN OPTOUT} {OPTIN and OPTOUT are not compatible with BCAST}
            {ON OPTIN OPTOUT} {You can't specify both OPTIN mode and OPTOUT mode}
            {ON BCAST PREFIX ab PREFIX a}
                {Prefix 'ab' overlaps with another provided prefix 'a'. $overlap}
            {ON OPTIN} OK {ON OPTOUT} {$opt} {ON BCAST} {$bcast} {ON} OK {ON OPTOUT} OK
            {ON OPTIN} {$opt} {OFF OPTIN BCAST PREFIX a} OK
            {ON BCAST PREFIX x PREFIX y} OK {ON} {$bcast} {ON OPTIN} {$bcast}
            {ON BCAST PREFIX xx} {Prefix 'xx' overlaps with an existing prefix 'x'. $overlap}
            {ON BCAST} OK {ON BCAST PREFIX n}
                {Prefix 'n' overlaps with an existing prefix ''. $overlap}
            {ON BCAST} OK {OFF} OK {OFF} OK
        }] {
            set wanted [expr {$reply eq "OK" ? "+OK\r\n" : "-ERR $reply\r\n"}]
            exchange $c [list [list CLIENT TRACKING {*}$words]] $wanted
        }
        $c close
    }

    test {CLIENT CACHING, GETREDIR and TRACKINGINFO: modes and errors} {
        set c [plain_client]
        exchange $c {{CLIENT CACHING YES} {CLIENT GETREDIR}} \
            "-ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN\
            or OPTOUT mode enabled\r\n" ":-1\r\n"
        assert_equal {flags off redirect -1 prefixes {}} [info_of $c]
        set only "-ERR CLIENT CACHING %s is only valid when tracking is enabled in %s mode.\r\n"
        exchange $c {{CLIENT TRACKING ON} {CLIENT CACHING YES} {CLIENT CACHING NO} \
            {CLIENT CACHING X}} $::ok [format $only YES OPTIN] [format $only NO OPTOUT] \
            "-ERR syntax error\r\n"
        exchange $c {{CLIENT TRACKING ON OPTIN NOLOOP} {CLIENT CACHING NO} {CLIENT CACHING YES}} \
            $::ok [format $only NO OPTOUT] $::ok
        assert_equal {flags {on optin caching-yes noloop} redirect 0 prefixes {}} [info_of $c]
        exchange $c PING "+PONG\r\n"
        assert_equal {flags {on optin noloop} redirect 0 prefixes {}} [info_of $c]
        $c close
    }

    test {INFO: keys and the clients that read them} {
        await_trackers 0
        r flushall
        set one [tracker]
        set other [tracker]
        exchange $one {{MGET a b c}} "*3\r\n$::null$::null$::null"
        exchange $other {{MGET c d}} "*2\r\n$::null$::null"
        assert_equal {2 4 5 0} [list [s tracking_clients] [s tracking_total_keys] \
            [s tracking_total_items] [s tracking_total_prefixes]]
        r set c 1
        assert_equal {3 3} [list [s tracking_total_keys] [s tracking_total_items]]
        r flushall
        assert_equal {0 0} [list [s tracking_total_keys] [s tracking_total_items]]
        $one close
        $other close
    }
}
