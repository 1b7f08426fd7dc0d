# SPDX-License-Identifier: BSD-3-Clause
# SLOWLOG: which commands enter, what is kept of them, and what is hidden.

# The newest entry's arguments.
proc slowlog_newest {} {
    return [lindex [r slowlog get 1] 0 3]
}

# The arguments of all entries, the oldest first.
proc slowlog_commands {} {
    set commands {}
    foreach entry [r slowlog get -1] {
        lappend commands [lindex $entry 3]
    }
    return [lreverse $commands]
}

# Logs everything that the body does, and nothing after it.
proc log_all {body} {
    r config set slowlog-log-slower-than 0
    r slowlog reset
    uplevel 1 $body
    r config set slowlog-log-slower-than -1
}

# How many entries the log has after the command.
proc slowlog_kept {args} {
    r slowlog reset
    r {*}$args
    return [r slowlog len]
}

start_server {overrides {slowlog-log-slower-than 10000000}} {
    test {The slow log is empty at first} {
        assert_equal 0 [r slowlog len]
        assert_equal {} [r slowlog get]
        assert_equal OK [r slowlog reset]
    }

    test {Fast commands do not enter, slow ones do} {
        r config set slowlog-log-slower-than 50000
        # One that should be fast may be slow where the machine stands still.
        wait_for_condition 100 0 {[slowlog_kept ping] == 0} else {
            fail "each PING enters"
        }
        set before [clock seconds]
        assert_morethan [slowlog_kept debug sleep 0.06] 0
        set entry [lindex [r slowlog get] end]
        assert_equal 6 [llength $entry]
        lassign $entry id time usec arguments address name
        assert_morethan_equal $id 0
        assert_range $time $before [clock seconds]
        assert_morethan_equal $usec 60000
        assert_equal {debug sleep 0.06} $arguments
        assert_match {*:*} $address
        assert_equal {} $name
    } {} {needs:debug}

    test {An entry has the types that it should, in both protocols} {
        log_all {
            r echo x
        }
        set client [raw_client]
        foreach protocol {2 3} {
            $client hello $protocol
            $client raw_reply
            $client slowlog get 1
            set argv "\\*2\r\n\$4\r\necho\r\n\$1\r\nx\r\n"
            assert_match "\\*1\r\n\\*6\r\n:*\r\n:*\r\n:*\r\n${argv}*\r\n\$0\r\n\r\n" \
                [$client raw_reply]
        }
        $client close
    }

    test {-1 switches the log off} {
        r config set slowlog-log-slower-than -1
        r slowlog reset
        r debug sleep 0.01
        assert_equal 0 [r slowlog len]
    } {} {needs:debug}

    test {With 0 each command enters, in order, as it was sent} {
        log_all {
            r PING
            r echo x
            r echo "a\0b\r\n\xff"
            assert_error {ERR wrong number of arguments for 'incr' command} {r incr}
            assert_error {ERR unknown command `nosuch`, with args beginning with: } {r nosuch}
            assert_error {ERR syntax error} {r set k v nx xx}
        }
        assert_equal [list {slowlog reset} PING {echo x} [list echo "a\0b\r\n\xff"] \
            {set k v nx xx}] [lrange [slowlog_commands] 0 4]
        assert_equal 5 [r slowlog len]
    }

    test {A command that waits enters when it is served, and not when it is given up} {
        config_set slowlog-log-slower-than 0
        set waiter [redis_deferring_client]
        $waiter client id
        set id [$waiter read]
        foreach {end logged} {{rpush l x} {{blpop l 0}} {client unblock ID} {}} {
            $waiter blpop l 0
            wait_for_condition 500 10 {[s blocked_clients] == 1} else {
                fail "nobody waits"
            }
            r multi
            r {*}[string map [list ID $id] $end]
            r slowlog reset
            r exec
            $waiter read
            set commands [lmap entry [r slowlog get] {lindex $entry 3}]
            assert_equal $logged [lsearch -all -inline $commands blpop*] $end
        }
        config_set slowlog-log-slower-than 10000000
        $waiter close
    }

    test {Ids count up, also over RESET} {
        log_all {
            r ping
            r ping
        }
        set ids [lmap entry [r slowlog get] {lindex $entry 0}]
        assert_equal [lindex $ids 0] [expr {[lindex $ids end] + 2}]
        set last [lindex $ids 0]
        log_all {
            r ping
        }
        assert_morethan [lindex [r slowlog get] end 0] $last
    }

    test {SLOWLOG GET n} {
        r config set slowlog-max-len 100
        log_all {
            for {set i 0} {$i < 20} {incr i} {
                r echo $i
            }
        }
        assert_equal 21 [r slowlog len]
        assert_equal 10 [llength [r slowlog get]]
        assert_equal 0 [llength [r slowlog get 0]]
        assert_equal 3 [llength [r slowlog get 3]]
        assert_equal {{echo 19} {echo 18} {echo 17}} \
            [lmap entry [r slowlog get 3] {lindex $entry 3}]
        assert_equal 21 [llength [r slowlog get 1000]]
        assert_equal 21 [llength [r slowlog get 9223372036854775807]]
        assert_equal 21 [llength [r slowlog get -1]]
        assert_equal 21 [llength [r slowlog get -100]]
    }

    test {slowlog-max-len drops the oldest with the next entry} {
        r config set slowlog-max-len 5
        log_all {
            for {set i 0} {$i < 20} {incr i} {
                r echo $i
            }
        }
        assert_equal {{echo 15} {echo 16} {echo 17} {echo 18} {echo 19}} [slowlog_commands]
        r config set slowlog-max-len 2
        assert_equal 5 [r slowlog len]
        r config set slowlog-log-slower-than 0
        r ping
        r config set slowlog-log-slower-than -1
        assert_equal {{config set slowlog-log-slower-than 0} ping} [slowlog_commands]
        r config set slowlog-max-len 0
        log_all {
            r ping
        }
        assert_equal 0 [r slowlog len]
        r config set slowlog-max-len 128
    } {OK}

    test {SLOWLOG RESET forgets all} {
        log_all {
            r ping
        }
        assert_morethan [r slowlog len] 0
        assert_equal OK [r slowlog reset]
        assert_equal 0 [r slowlog len]
        assert_equal {} [r slowlog get]
    }

    test {Long arguments are cut at 128 bytes} {
        log_all {
            foreach size {127 128 129 1000 31000 33000 100000} {
                r echo [string repeat x $size]
            }
        }
        foreach size {127 128 129 1000 31000 33000 100000} command [lrange [slowlog_commands] 1 7] {
            set shown [string repeat x [expr {min($size, 128)}]]
            if {$size > 128} {
                append shown "... ([expr {$size - 128}] more bytes)"
            }
            assert_equal [list echo $shown] $command $size
        }
    }

    test {Large arguments that the command kept, and then freed, are shown as they came} {
        log_all {
            r set big a[string repeat x 40000]
            r set big b[string repeat x 50000]
            r append big c[string repeat x 60000]
        }
        foreach {index letter more} {1 a 39873 2 b 49873 3 c 59873} {
            assert_equal "$letter[string repeat x 127]... ($more more bytes)" \
                [lindex [slowlog_commands] $index 2]
        }
        r del big
    }

    test {Large arguments of which the command itself frees one} {
        if {[lindex [r command info mset] 0] eq {}} {
            skip "no command mset"
        }
        log_all {
            r mset big a[string repeat x 40000] big b[string repeat x 50000]
        }
        set command [lindex [slowlog_commands] 1]
        assert_equal "a[string repeat x 127]... (39873 more bytes)" [lindex $command 2]
        assert_equal "b[string repeat x 127]... (49873 more bytes)" [lindex $command 4]
        r del big
    }

    test {Many arguments: 31, and how many more} {
        set words {}
        for {set i 1} {$i <= 40} {incr i} {
            lappend words $i
        }
        log_all {
            r del {*}[lrange $words 0 30]
            r del {*}[lrange $words 0 31]
            r del {*}$words
        }
        assert_equal [list del {*}[lrange $words 0 30]] [lindex [slowlog_commands] 1]
        assert_equal [list del {*}[lrange $words 0 29] "... (2 more arguments)"] \
            [lindex [slowlog_commands] 2]
        assert_equal [list del {*}[lrange $words 0 29] "... (10 more arguments)"] \
            [lindex [slowlog_commands] 3]
    }

    test {Passwords are not kept} {
        log_all {
            r config set requirepass ""
            r config set masterauth secret
            r CONFIG SET MASTERUSER secret
            assert_error {ERR AUTH <password> called without any password configur*} {r auth secret}
            assert_error {WRONGPASS invalid username-password pair*} {r auth nouser secret}
            assert_error {WRONGPASS invalid username-password pair*} {r hello 2 auth nouser secret}
            assert_error {WRONGPASS invalid*} {r hello 2 setname auth auth nouser secret}
            r config set masterauth ""
            r config set masteruser ""
            r config get masterauth
            r config set hz 10
        }
        assert_equal {{config set requirepass (redacted)} {config set masterauth (redacted)}\
            {CONFIG SET MASTERUSER (redacted)} {auth (redacted)} {auth (redacted) (redacted)}\
            {hello 2 auth (redacted) (redacted)} {hello 2 setname auth auth (redacted) (redacted)}\
            {config set masterauth (redacted)} {config set masteruser (redacted)}\
            {config get masterauth} {config set hz 10}} [lrange [slowlog_commands] 1 11]
        r hello 2 setname {}
    }

    test {Also of calls that are refused for another reason} {
        log_all {
            assert_error {ERR syntax error} {r auth a b c}
            assert_error {NOPROTO unsupported protocol version} {r hello 9 auth nouser secret}
            assert_error {ERR Syntax error in HELLO option 'auth'} {r hello 3 auth secret}
        }
        assert_equal {{auth (redacted) (redacted) (redacted)}\
            {hello 9 auth (redacted) (redacted)} {hello 3 auth (redacted)}} \
            [lrange [slowlog_commands] 1 3]
    } {} {ours}

    test {The client's address and name} {
        set client [redis_client]
        log_all {
            $client hello 2 setname someone
        }
        set entry [lindex [r slowlog get] 0]
        assert_equal {hello 2 setname someone} [lindex $entry 3]
        assert_equal someone [lindex $entry 5]
        assert_equal [srv host] [lindex [split [lindex $entry 4] :] 0]
        assert_equal [lindex [fconfigure [$client channel] -sockname] 2] \
            [lindex [split [lindex $entry 4] :] 1]
        $client close
    }

    test {SLOWLOG's faults} {
        foreach value {x {} 1.5 99999999999999999999} {
            assert_error_text {ERR value is not an integer or out of range} {r slowlog get $value}
        }
        foreach words {{get 1 2} {len x} {reset x} {help x} nosuch {explain 1 2}} {
            assert_error_text "ERR Unknown subcommand or wrong number of arguments for\
                '[lindex $words 0]'. Try SLOWLOG HELP." {r slowlog {*}$words}
        }
        assert_error_text {ERR wrong number of arguments for 'slowlog' command} {r slowlog}
    }

    test {SLOWLOG HELP names the subcommands} {
        set help [r slowlog help]
        foreach word {GET LEN RESET HELP} {
            assert {[lsearch -glob $help $word*] > 0} "(no $word)"
        }
    }

    test {The log's memory is bounded, whatever is logged} {
        r config set slowlog-max-len 10
        log_all {
            r ping
        }
        set before [s used_memory]
        log_all {
            for {set i 0} {$i < 50} {incr i} {
                r echo [string repeat x 1000000]
            }
        }
        assert_equal 10 [r slowlog len]
        assert_lessthan [expr {[s used_memory] - $before}] 1000000
        r config set slowlog-max-len 128
    } {OK}
}
