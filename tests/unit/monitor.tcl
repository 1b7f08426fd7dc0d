# SPDX-License-Identifier: BSD-3-Clause
# MONITOR: what a client that monitors is sent, and what it may do.

# Bytes of several commands.
proc commands {args} {
    set out ""
    foreach words $args {
        append out [client::encode $words]
    }
    return $out
}

# A client that monitors. Our own is connected before, so that its SELECT is not shown.
proc monitor_client {} {
    r ping
    set client [redis_deferring_client]
    $client monitor
    assert_equal OK [$client read]
    return $client
}

# The next line without its time: "[9 127.0.0.1:1234] "get" "k"".
proc next_line {monitor} {
    set line [$monitor read]
    assert {[regexp {^(\d{10,})\.(\d{6}) (.*)$} $line -> seconds micros rest]} $line
    assert_range $seconds [expr {[clock seconds] - 100}] [expr {[clock seconds] + 100}]
    return $rest
}

# The words of the next line, as they are shown.
proc next_words {monitor} {
    return [regsub {^\[[^\]]*\] } [next_line $monitor] {}]
}

# No line comes: what comes next is that of an ECHO of ours.
proc assert_silent {monitor} {
    r echo end-of-test
    assert_equal {"echo" "end-of-test"} [next_words $monitor]
}

start_server {tags {monitor}} {
    test {MONITOR: a line names database, client and arguments} {
        set monitor [monitor_client]
        set client [redis_client]
        set from 127.0.0.1:[$client local_port]
        assert_equal "\[9 $from\] \"select\" \"9\"" [next_line $monitor]
        $client set Key value
        assert_equal "\[9 $from\] \"set\" \"Key\" \"value\"" [next_line $monitor]
        $client select 3
        assert_equal "\[3 $from\] \"select\" \"3\"" [next_line $monitor]
        $client GET nokey
        assert_equal "\[3 $from\] \"GET\" \"nokey\"" [next_line $monitor]
        $client close
        $monitor close
    } {} {resp2}

    test {MONITOR: arguments are quoted} {
        set monitor [monitor_client]
        r echo "a\x00\x1b\"'\\ \n\r\t\a\b\v\f\x7f\xff"
        assert_equal {"echo" "a\x00\x1b\"'\\ \n\r\t\a\b\x0b\x0c\x7f\xff"} [next_words $monitor]
        r echo {}
        assert_equal {"echo" ""} [next_words $monitor]
        $monitor close
    }

    test {MONITOR: a command that fails is shown, one that does not run is not} {
        set monitor [monitor_client]
        assert_error {ERR syntax error} {r set k v bogus}
        assert_equal {"set" "k" "v" "bogus"} [next_words $monitor]
        assert_error {ERR wrong number of arguments for 'get' command} {r get}
        assert_error {ERR unknown command `nosuch`, with args beginning with: } {r nosuch}
        assert_silent $monitor
        $monitor close
    }

    test {MONITOR: commands of administrators are not shown} {
        set monitor [monitor_client]
        r config get hz
        r client id
        r slowlog len
        r debug sleep 0
        assert_silent $monitor
        $monitor close
    }

    test {MONITOR: passwords are not shown} {
        set monitor [monitor_client]
        assert_error {ERR AUTH <password> called without any password configured f*} {r auth secret}
        assert_equal {"auth" "(redacted)"} [next_words $monitor]
        assert_error {WRONGPASS invalid username-password pair*} {r auth user secret}
        assert_equal {"auth" "(redacted)" "(redacted)"} [next_words $monitor]
        set client [redis_client]
        next_line $monitor
        $client hello 2 setname me auth default secret
        assert_equal {"hello" "2" "setname" "me" "auth" "(redacted)" "(redacted)"} \
            [next_words $monitor]
        $client close
        $monitor close
    } {} {resp2}

    test {MONITOR: the order is that of execution} {
        set monitor [monitor_client]
        set client [redis_deferring_client]
        next_line $monitor
        set request ""
        for {set i 0} {$i < 2000} {incr i} {
            append request [commands "echo $i"]
        }
        $client write $request
        for {set i 0} {$i < 2000} {incr i} {
            assert_equal "\"echo\" \"$i\"" [next_words $monitor]
            assert_equal $i [$client read]
        }
        $client close
        $monitor close
    } {} {resp2}

    test {MONITOR: large arguments, also those that the command keeps} {
        set monitor [monitor_client]
        foreach size {1000 40000 1000000} {
            set value [string repeat 0123456789 [expr {$size / 10}]]
            r set large $value
            assert {[next_words $monitor] eq "\"set\" \"large\" \"$value\""} $size
            r set large $value ex 100
            assert {[next_words $monitor] eq "\"set\" \"large\" \"$value\" \"ex\" \"100\""} $size
            r del large
            next_words $monitor
        }
        $monitor close
    }

    test {Several monitors, one of which goes} {
        set monitors [lmap i {1 2 3} {monitor_client}]
        # They see each other's SELECT.
        r echo begin
        foreach monitor $monitors {
            while {[next_words $monitor] ne {"echo" "begin"}} {}
        }
        [lindex $monitors 1] close
        r echo a
        foreach monitor [list [lindex $monitors 0] [lindex $monitors 2]] {
            assert_equal {"echo" "a"} [next_words $monitor]
            $monitor close
        }
        assert_equal a [r echo a]
    }

    test {MONITOR in the middle of a pipeline: its later commands are shown, after the reply} {
        set client [raw_client]
        $client write [commands ping monitor ping monitor {echo a}]
        assert_equal "+PONG\r\n+OK\r\n+PONG\r\n" \
            "[$client raw_reply][$client raw_reply][$client raw_reply]"
        assert_match "+*\\\] \"ping\"\r\n" [$client raw_reply]
        # The second MONITOR has no reply.
        assert_equal "\$1\r\na\r\n" [$client raw_reply]
        assert_match "+*\\\] \"echo\" \"a\"\r\n" [$client raw_reply]
        $client write [commands reset ping]
        assert_equal "+RESET\r\n+PONG\r\n" "[$client raw_reply][$client raw_reply]"
        r echo b
        assert_equal 0 [$client readable 20]
        $client write [commands monitor quit]
        assert_equal "+OK\r\n+OK\r\n" [$client raw_rest]
        $client close
    }

    test {A monitor may not touch keys} {
        set monitor [raw_client]
        $monitor write [commands monitor]
        $monitor raw_reply
        foreach words {{get k} {set k v} {del k} dbsize {keys *}} {
            $monitor write [commands $words]
            assert_equal "-ERR Replica can't interract with the keyspace\r\n" [$monitor raw_reply]
        }
        $monitor write [commands {config get hz}]
        assert_equal "*2\r\n\$2\r\nhz\r\n\$2\r\n10\r\n" [$monitor raw_reply]
        $monitor close
    }

    test {A monitor in CLIENT LIST} {
        set monitor [monitor_client]
        set flags {}
        foreach line [split [string trim [r client list type normal]] \n] {
            regexp {flags=(\S+) .*cmd=(\S+)} $line -> flag command
            if {$command eq "monitor"} {
                lappend flags $flag
            }
        }
        assert_equal O $flags
        assert_equal {} [r client list type replica]
        $monitor close
    }

    test {A monitor is not paused} {
        set monitor [monitor_client]
        r client pause 100000 write
        set other [redis_deferring_client]
        next_line $monitor
        $other set k v
        $monitor ping
        assert_equal PONG [$monitor read]
        assert_equal {"ping"} [next_words $monitor]
        r client unpause
        # Shown when it runs, once.
        assert_equal {"set" "k" "v"} [next_words $monitor]
        assert_equal OK [$other read]
        r client pause 200 all
        $monitor ping
        assert_equal PONG [$monitor read]
        assert_equal {"ping"} [next_words $monitor]
        r get k
        assert_equal {"get" "k"} [next_words $monitor]
        $other close
        $monitor close
    } {} {resp2}

    test {CLIENT KILL of a monitor, and by a monitor} {
        set monitor [redis_deferring_client]
        $monitor client id
        set id [$monitor read]
        $monitor monitor
        $monitor read
        assert_equal 1 [r client kill id $id]
        $monitor raw_rest
        $monitor close
        assert_equal a [r echo a]
        set monitor [monitor_client]
        $monitor write [commands ping "client kill addr 127.0.0.1:[$monitor local_port] skipme no" \
            ping]
        assert_match "+PONG\r\n+*\"ping\"\r\n:1\r\n" [$monitor raw_rest]
        $monitor close
        assert_equal a [r echo a]
    }

    test {CLIENT REPLY OFF and a monitor} {
        set monitor [redis_deferring_client]
        $monitor write [commands {client reply off} monitor ping]
        r echo a
        assert_equal 0 [$monitor readable 20]
        $monitor write [commands {client reply on}]
        assert_equal OK [$monitor read]
        r echo b
        assert_equal {"echo" "b"} [next_words $monitor]
        $monitor close
    }

    test {A monitor that does not read reaches its output limit} {
        with_config {client-output-buffer-limit {normal 1mb 0 0}} {
            set monitor [monitor_client]
            set value [string repeat x 100000]
            set before [s connected_clients]
            # However much the system's own buffers take.
            for {set i 0} {$i < 2000 && [s connected_clients] == $before} {incr i} {
                for {set k 0} {$k < 5} {incr k} {
                    r echo $value
                }
            }
            assert_lessthan [s connected_clients] $before
            $monitor close
        }
        assert_equal a [r echo a]
    }

    test {MONITOR: arity} {
        assert_error_text {ERR wrong number of arguments for 'monitor' command} {r monitor x}
    }
}

start_server {tags {monitor} unix 1} {
    test {MONITOR: clients of a unix socket} {
        set monitor [monitor_client]
        set client [unix_client [srv 0 socket]]
        $client echo a
        assert_equal "\[0 unix:[srv 0 socket]\] \"echo\" \"a\"" [next_line $monitor]
        $client close
        $monitor close
    }
}
