# SPDX-License-Identifier: BSD-3-Clause
# Sentinels: they find each other and the replicas, fail a dead primary over, obey SENTINEL, keep
# their state over a restart, tell events and call scripts.

# A connection to the Sentinel at this level, without SELECT.
proc to_sentinel {{level 0}} {
    return [client::connect [srv $level host] [srv $level port]]
}

# SENTINEL at this level; its answer.
proc ask_sentinel {level args} {
    set client [to_sentinel $level]
    set failed [catch {$client sentinel {*}$args} answer options]
    $client close
    if {$failed} {
        return -options $options $answer
    }
    return $answer
}

# A field of the first primary.
proc watched {level field} {
    return [dict get [ask_sentinel $level master m] $field]
}

proc start_sentinel {port quorum lines body} {
    set first "sentinel monitor m 127.0.0.1 $port $quorum\n"
    append first "sentinel down-after-milliseconds m 1000\n" \
        "sentinel failover-timeout m 10000\n" $lines
    uplevel 1 [list start_server [list lines $first args --sentinel] $body]
}

# Until each of these levels has so many replicas and other Sentinels.
proc await_known {levels replicas others} {
    foreach level $levels {
        wait_for_condition 3000 10 {
            [watched $level num-slaves] == $replicas &&
            [watched $level num-other-sentinels] == $others &&
            [watched $level flags] eq "master"
        } else {
            fail "knows [watched $level num-slaves] replicas and\
                [watched $level num-other-sentinels] Sentinels"
        }
    }
}

# Until these levels give clients this port.
proc await_address {levels port} {
    foreach level $levels {
        wait_for_condition 3000 10 {
            [lindex [ask_sentinel $level get-master-addr-by-name m] 1] eq $port
        } else {
            fail "the primary is not at $port"
        }
    }
}

# Until no failover is under way at these levels.
proc await_rest {levels} {
    foreach level $levels {
        wait_for_condition 3000 10 {![dict exists [ask_sentinel $level master m] failover-state]
        } else {
            fail "the failover does not end"
        }
    }
}

# Messages until one of the channel; the list of {channel text}.
proc hear_until {listener channel} {
    set heard {}
    while 1 {
        set message [$listener read]
        lappend heard [lrange $message end-1 end]
        if {[lindex $message end-1] eq $channel} {
            return $heard
        }
    }
}

proc channels_of {heard} {
    return [lmap message $heard {lindex $message 0}]
}

start_server {tags {repl} overrides {save "" repl-diskless-sync-delay 0}} {
start_server {overrides {save "" repl-diskless-sync-delay 0}} {
start_server {overrides {save "" repl-diskless-sync-delay 0}} {
set primary [srv -2 port]
set replicas [list [srv -1 port] [srv 0 port]]
foreach level {-1 0} {
    r $level replicaof 127.0.0.1 $primary
}
start_sentinel $primary 2 "" {
start_sentinel $primary 2 "" {
start_sentinel $primary 2 "" {
    set all {0 -1 -2}

    test {Sentinels find the replicas and each other} {
        await_known $all 2 2
        assert_equal [lsort $replicas] [lsort [lmap replica [ask_sentinel 0 replicas m] {
            dict get $replica port
        }]]
        set ids [lmap level {-1 -2} {ask_sentinel $level myid}]
        assert_equal [lsort $ids] [lsort [lmap other [ask_sentinel 0 sentinels m] {
            dict get $other runid
        }]]
        assert_equal {OK 3 usable Sentinels. Quorum and failover authorization can be reached} \
            [ask_sentinel 0 ckquorum m]
    }

    test {SENTINEL MASTER, REPLICAS, SENTINELS: fields in order} {
        set common {name ip port runid flags link-pending-commands link-refcount last-ping-sent
            last-ok-ping-reply last-ping-reply down-after-milliseconds}
        set reported {info-refresh role-reported role-reported-time}
        foreach {subcommand more} [list master [concat $reported {config-epoch num-slaves
            num-other-sentinels quorum failover-timeout parallel-syncs}] \
            replicas [concat $reported {master-link-down-time master-link-status master-host
            master-port slave-priority slave-repl-offset replica-announced}] \
            sentinels {last-hello-message voted-leader voted-leader-epoch}] {
            set told [ask_sentinel 0 $subcommand m]
            if {$subcommand ne "master"} {
                set told [lindex $told 0]
            }
            assert_equal [list {*}$common {*}$more] [dict keys $told]
        }
        assert_equal 1 [llength [ask_sentinel 0 masters]]
    }

    test {SENTINEL: errors} {
        foreach {words text} {
            {master} {ERR Wrong number of arguments for 'sentinel master'}
            {MASTERS a} {ERR Wrong number of arguments for 'sentinel MASTERS'}
            {master x} {ERR No such master with that name}
            {myid x} {ERR Unknown subcommand or wrong number of arguments for 'myid'. Try\
                SENTINEL HELP.}
            {bogus} {ERR Unknown subcommand or wrong number of arguments for 'bogus'. Try\
                SENTINEL HELP.}
            {is-master-down-by-addr 127.0.0.1 x 0 *} {ERR value is not an integer or out of range}
            {monitor x 127.0.0.1 1 y} {ERR Invalid quorum}
            {monitor x 127.0.0.1 y 1} {ERR Invalid port}
            {monitor x 127.0.0.1 1 0} {ERR Quorum must be 1 or greater.}
            {monitor x 127.0.0.1 99999 1} {ERR Invalid port number.}
            {monitor m 127.0.0.1 1 1} {ERR Duplicate master name.}
            {monitor x some.name 1 1} {ERR Invalid IP address or hostname specified}
            {set m quorum 0} {ERR Invalid argument '0' for SENTINEL SET 'quorum'}
            {set m quorum} {ERR Unknown option or number of arguments for SENTINEL SET 'quorum'}
            {set m debug-x 1} {ERR Unknown option or number of arguments for SENTINEL SET 'debug-x'}
            {set m notification-script /bin/true} {ERR Reconfiguration of scripts path is denied\
                for security reasons. Check the deny-scripts-reconfig configuration directive in\
                your Sentinel configuration}
            {config get} {ERR Only SENTINEL CONFIG GET <option> / SET <option> <value> are\
                supported.}
            {config set a b} {ERR Invalid argument 'a' to SENTINEL CONFIG SET}
            {config set announce-port x} {ERR Invalid value 'x' to SENTINEL CONFIG SET\
                'announce-port'}
            {simulate-failure x} {ERR Unknown failure simulation specified}
        } {
            assert_error_text $text {ask_sentinel 0 {*}$words}
        }
        assert_equal {} [ask_sentinel 0 get-master-addr-by-name x]
    }

    test {a primary that dies is failed over, and comes back as a replica} {
        set listeners {}
        foreach level $all {
            set listener [to_sentinel $level]
            $listener psubscribe *
            lappend listeners $listener
        }
        r -5 set k v
        r -5 wait 2 0
        set dead [srv -5 pid]
        exec kill -KILL $dead
        foreach listener $listeners {
            set heard [hear_until $listener +switch-master]
            set text [lindex $heard end 1]
            assert_match "m 127.0.0.1 $primary 127.0.0.1 *" $text
            set new [lindex $text end]
            assert {$new in $replicas}
            # The failover can be over before the last Sentinel finds the primary down.
            if {"+elected-leader" ni [channels_of $heard]} {
                assert {"+config-update-from" in [channels_of $heard]}
                continue
            }
            assert_equal "master m 127.0.0.1 $primary" \
                [lindex $heard [lsearch [channels_of $heard] +sdown] 1]
            set story {+odown +new-epoch +try-failover +vote-for-leader +elected-leader
                +failover-state-select-slave +selected-slave +failover-state-send-slaveof-noone
                +failover-state-wait-promotion +promoted-slave +failover-state-reconf-slaves
                +slave-reconf-sent +slave-reconf-inprog +slave-reconf-done +failover-end
                +switch-master}
            assert_equal [list {*}$story] [lmap name [channels_of $heard] {
                if {$name ni $story} continue
                set name
            }]
            assert_equal "slave 127.0.0.1:$new 127.0.0.1 $new @ m 127.0.0.1 $primary" \
                [lindex $heard [lsearch [channels_of $heard] +promoted-slave] 1]
        }
        foreach listener $listeners {
            $listener close
        }
        await_address $all $new
        await_rest $all
        set winner [expr {$new == [srv -4 port] ? -4 : -3}]
        set other [expr {$winner == -4 ? -3 : -4}]
        reconnect -3 ;# a Sentinel closes the clients of servers that it tells whom to follow
        reconnect -4
        assert_equal v [r $winner get k]
        wait_for_condition 3000 10 {[s $other master_port] == $new} else {
            fail "the other replica follows [s $other master_port]"
        }
        restart_server -5
        reconnect $winner
        wait_for_condition 4000 10 {
            ![catch {reconnect -5; list [s -5 role] [s -5 master_port]} told]
            && $told eq "slave $new"
        } else {
            fail "the old primary is a [s -5 role]"
        }
        assert_equal 1 [watched 0 config-epoch]
    }

    test {SENTINEL FAILOVER changes places; a second one at once is refused or repeats} {
        await_known $all 2 2
        set old [lindex [ask_sentinel 0 get-master-addr-by-name m] 1]
        wait_for_condition 3000 10 {![catch {ask_sentinel 0 failover m}]} else {
            fail "the failover is refused"
        }
        assert_error_text {INPROG Failover already in progress} {ask_sentinel 0 failover m}
        wait_for_condition 3000 10 {
            [lindex [ask_sentinel 0 get-master-addr-by-name m] 1] ne $old
        } else {
            fail "no failover"
        }
        await_address $all [lindex [ask_sentinel 0 get-master-addr-by-name m] 1]
        await_rest $all
    }
}
}
}
}
}
}

start_server {overrides {save ""} tags {ours}} {
    set port [srv port]
    set folder [tmpdir scripts]
    set script [file join $folder script]
    write_whole $script "#!/bin/sh\nprintf '%s|' \"\$@\" >> $folder/calls\necho >> $folder/calls\n"
    file attributes $script -permissions 0755

    start_sentinel $port 1 "sentinel deny-scripts-reconfig no\n# a comment\n" {
        test {SENTINEL SET, MONITOR, REMOVE are events, and in the file} {
            await_known 0 0 0
            set listener [to_sentinel 0]
            $listener subscribe +set +monitor -monitor +reset-master
            assert_equal OK [ask_sentinel 0 set m quorum 2 auth-pass "a secret" rename-command \
                SLAVEOF follow]
            assert_equal OK [ask_sentinel 0 set m notification-script $script]
            assert_equal OK [ask_sentinel 0 monitor other 127.0.0.1 $port 1]
            assert_equal OK [ask_sentinel 0 monitor gone 127.0.0.1 $port 1]
            assert_equal OK [ask_sentinel 0 remove gone]
            assert_equal OK [ask_sentinel 0 config set announce-ip 127.0.0.1]
            foreach {channel text} [list +set "master m 127.0.0.1 $port quorum 2" \
                +set "master m 127.0.0.1 $port auth-pass ******" \
                +set "master m 127.0.0.1 $port rename-command SLAVEOF follow" \
                +set "master m 127.0.0.1 $port notification-script $script" \
                +monitor "master other 127.0.0.1 $port quorum 1" \
                +monitor "master gone 127.0.0.1 $port quorum 1" \
                -monitor "master gone 127.0.0.1 $port"] {
                while {[lindex [set message [$listener read]] 0] ne "message"} {}
                assert_equal [list $channel $text] [lrange $message 1 2]
            }
            $listener close
            set lines [split [read_whole [srv config_file]] \n]
            foreach line [list "# a comment" "sentinel monitor m 127.0.0.1 $port 2" \
                "sentinel monitor other 127.0.0.1 $port 1" "sentinel auth-pass m \"a secret\"" \
                "sentinel rename-command m SLAVEOF follow" "sentinel announce-ip \"127.0.0.1\""] {
                assert {$line in $lines}
            }
            assert_equal -1 [lsearch $lines "*gone*"]
        }

        test {a restart keeps all of it, and RESET is kept, too} {
            set id [ask_sentinel 0 myid]
            ask_sentinel 0 set m auth-pass ""
            restart_server
            assert_equal $id [ask_sentinel 0 myid]
            assert_equal 2 [watched 0 quorum]
            assert_equal 2 [llength [ask_sentinel 0 masters]]
            assert_equal $script [watched 0 notification-script]
            assert_equal {announce-ip 127.0.0.1} [ask_sentinel 0 config get announce-ip]
            set client [to_sentinel]
            set hello "127.0.0.1,1,[string repeat a 40],0,m,127.0.0.1,$port,0"
            assert_equal 1 [$client publish __sentinel__:hello $hello]
            $client close
            await_known 0 0 1
            assert_equal 2 [ask_sentinel 0 reset *]
            restart_server
            assert_equal 0 [watched 0 num-other-sentinels]
        }

        test {the notification script is called with event and text} {
            file delete $folder/calls
            ask_sentinel 0 set m quorum 1
            wait_for_condition 1000 10 {[file exists $folder/calls]
                && [string match "*+set|master m 127.0.0.1 $port quorum 1|\n*" \
                        [read_whole $folder/calls]]
            } else {
                fail "the script was not called"
            }
        }

        test {one vote an epoch, kept over a restart} {
            set a [string repeat a 40]
            set b [string repeat b 40]
            set ask [list 0 is-master-down-by-addr 127.0.0.1 $port]
            assert_equal {0 * 0} [ask_sentinel {*}$ask 50 *]
            assert_equal [list 0 $a 50] [ask_sentinel {*}$ask 50 $a]
            assert_equal [list 0 $a 50] [ask_sentinel {*}$ask 50 $b]
            assert_equal [list 0 $a 50] [ask_sentinel {*}$ask 49 $b]
            assert {"sentinel leader-epoch m 50" in [split [read_whole [srv config_file]] \n]}
            restart_server 0 KILL
            assert_equal {0 * 50} [ask_sentinel {*}$ask 50 $b]
            assert_equal [list 0 $b 51] [ask_sentinel {*}$ask 51 $b]
            assert_equal {0 * 0} [ask_sentinel 0 is-master-down-by-addr 127.0.0.1 1 52 $a]
        }

        test {a file that cannot be written: no vote, no OK, and the watching goes on} {
            set a [string repeat a 40]
            set b [string repeat b 40]
            set ask [list 0 is-master-down-by-addr 127.0.0.1 $port]
            set text {ERR The change is in effect, but could not be written to the configuration\
                file}
            set folder [file dirname [srv config_file]]
            file rename $folder $folder.away
            set failed [catch {
                assert_equal [list 0 $b 51] [ask_sentinel {*}$ask 60 $a]
                assert_error_text $text {ask_sentinel 0 set m quorum 1}
                assert_error_text $text {ask_sentinel 0 flushconfig}
                assert_equal master [watched 0 flags]
            } message]
            file rename $folder.away $folder
            if {$failed} {
                fail $message
            }
            assert_equal OK [ask_sentinel 0 flushconfig]
            assert_equal [list 0 $a 60] [ask_sentinel {*}$ask 60 $a]
        }

        test {SENTINEL MONITOR with a name} {
            assert_equal OK [ask_sentinel 0 config set resolve-hostnames yes]
            assert_equal OK [ask_sentinel 0 monitor named localhost $port 1]
            assert_match {*[.:]*} [lindex [ask_sentinel 0 get-master-addr-by-name named] 0]
            assert_equal OK [ask_sentinel 0 config set announce-hostnames yes]
            assert_equal [list localhost $port] [ask_sentinel 0 get-master-addr-by-name named]
            restart_server
            assert_equal [list localhost $port] [ask_sentinel 0 get-master-addr-by-name named]
            wait_for_condition 1000 10 {
                [dict get [ask_sentinel 0 master named] flags] eq "master"
            } else {
                fail "the primary by name is [dict get [ask_sentinel 0 master named] flags]"
            }
        }
    }
}
