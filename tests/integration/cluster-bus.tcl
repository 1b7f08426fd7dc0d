# SPDX-License-Identifier: BSD-3-Clause
# The cluster bus between servers: nodes meet, watch each other, publish to each other and agree on
# who owns a slot; what strangers send does no harm. With BASELINE=path of a stock redis-server a
# node of 6.2 is among them.

array set ::bus_level {one -3 two -2 three -1 copy 0}
set ::bus_primaries {one two three}
set ::bus_names {one two three copy}
array set ::bus_ports {}
array set ::bus_ids {}
set ::bus_timeout 2000

proc bus_settings {name} {
    set ::bus_ports($name) [find_node_port]
    return [list overrides [list port $::bus_ports($name) cluster-enabled yes \
        cluster-config-file $name.conf cluster-node-timeout $::bus_timeout \
        repl-diskless-sync yes repl-diskless-sync-delay 0] tags {cluster singleport}]
}

proc at {name args} {
    return [r $::bus_level($name) {*}$args]
}

# The line of a node, as another one shows it; "" if it does not know the node.
proc line_at {name id} {
    foreach line [split [at $name cluster nodes] \n] {
        if {[string match "$id *" $line]} {
            return $line
        }
    }
    return ""
}

proc flags_at {name id} {
    return [split [lindex [line_at $name $id] 2] ,]
}

proc info_field {name field} {
    if {![regexp "(?:^|\\n)$field:(\[^\\r\\n\]*)" [at $name cluster info] - value]} {
        return 0
    }
    return $value
}

proc await_state {name state} {
    wait_for_condition 3000 10 {[info_field $name cluster_state] eq $state} else {
        fail "the state of $name is not $state"
    }
}

proc await_known {name count} {
    wait_for_condition 3000 10 {
        [info_field $name cluster_known_nodes] == $count &&
        ![regexp {handshake|noflags|disconnected} [at $name cluster nodes]]
    } else {
        fail "$name does not know $count nodes"
    }
}

# ---- frames -----------------------------------------------------------------------------------

# A frame of the bus. `body` is what stands behind the header; `entries` its number of gossip.
proc bus_frame {type sender {body {}} {entries 0} {total {}}} {
    if {$total eq ""} {
        set total [expr {2256 + [string length $body]}]
    }
    set frame RCmb
    append frame [binary format ISSSS $total 1 7000 $type $entries] [binary format WWW 0 0 0]
    append frame [binary format a40 $sender] [binary format x2048] [binary format x40]
    append frame [binary format x78] [binary format SSS 0 17000 1] [binary format x4]
    return $frame$body
}

# PONG of a primary that claims one slot under the epoch.
proc bus_claim {sender slot epoch} {
    set slots [string repeat \0 2048]
    set byte [expr {$slot / 8}]
    set slots [string replace $slots $byte $byte [binary format c [expr {1 << $slot % 8}]]]
    set frame [bus_frame 1 $sender]
    set frame [string replace $frame 16 31 [binary format WW $epoch $epoch]]
    return [string replace $frame 80 2127 $slots]
}

proc bus_publish {sender channel text} {
    return [bus_frame 4 $sender [binary format II [string length $channel] \
        [string length $text]]$channel$text]
}

proc bus_connect {name} {
    set channel [socket 127.0.0.1 [expr {$::bus_ports($name) + 10000}]]
    fconfigure $channel -translation binary -buffering none
    return $channel
}

# Sends the bytes; true if the node then closes the connection.
proc closes_upon {name bytes} {
    set channel [bus_connect $name]
    catch {puts -nonewline $channel $bytes}
    fconfigure $channel -blocking 0
    set closed 0
    for {set tries 0} {$tries < 300 && !$closed} {incr tries} {
        if {[catch {read $channel}] || [eof $channel]} {
            set closed 1
        } else {
            after 10
        }
    }
    catch {close $channel}
    return $closed
}

# Sends a PING behind the bytes, and awaits its PONG: what came before was taken.
proc answers_after {name bytes} {
    set channel [bus_connect $name]
    puts -nonewline $channel $bytes[bus_frame 0 [string repeat e 40]]
    set header [read $channel 2256]
    close $channel
    binary scan $header a4IuSuSuSu signature total version port type
    return [expr {$signature eq "RCmb" && $type == 1}]
}

start_server [bus_settings one] {
start_server [bus_settings two] {
start_server [bus_settings three] {
start_server [bus_settings copy] {
    foreach name $::bus_names {
        set ::bus_ids($name) [at $name cluster myid]
    }

    test {Nodes that meet one know each other soon} {
        for {set slot 0} {$slot < 16384} {incr slot} {
            lappend slots([expr {$slot * 3 / 16384}]) $slot
        }
        foreach name $::bus_primaries index {0 1 2} {
            at $name cluster addslots {*}$slots($index)
        }
        foreach name {two three copy} {
            assert_equal OK [at one cluster meet 127.0.0.1 $::bus_ports($name)]
        }
        foreach name $::bus_names {
            await_known $name 4
            await_state $name ok
        }
        assert_equal 6 [s -3 cluster_connections]
        foreach name $::bus_names {
            foreach other $::bus_names {
                assert_match "$::bus_ids($other) 127.0.0.1:$::bus_ports($other)@*" \
                    [line_at $name $::bus_ids($other)]
            }
        }
    }

    test {Primaries end up with an epoch of their own each} {
        wait_for_condition 3000 10 {
            [llength [lsort -unique [lmap name $::bus_primaries {
                info_field $name cluster_my_epoch}]]] == 3
        } else {
            fail "two have the same epoch"
        }
    }

    test {Messages are counted by type} {
        assert_morethan [info_field one cluster_stats_messages_meet_sent] 0
        assert_morethan [info_field two cluster_stats_messages_ping_sent] 0
        assert_morethan [info_field two cluster_stats_messages_pong_received] 0
        set total 0
        set text [at one cluster info]
        foreach {- count} [regexp -all -inline {_messages_[a-z-]+_sent:(\d+)} $text] {
            incr total $count
        }
        assert_morethan_equal [info_field one cluster_stats_messages_sent] $total
        assert_morethan [s -3 cluster_bus_messages_received] 0
    }

    test {INFO has messages by type, links, and bytes that wait} {
        set text [at one info cluster]
        set sent 0
        set received 0
        foreach {- in out} [regexp -all -inline {cluster_bus_[a-z-]+:sent=(\d+),received=(\d+)} \
                $text] {
            incr sent $in
            incr received $out
        }
        assert_morethan $sent 0
        assert_match "*cluster_bus_messages_sent:$sent\r\n*" $text
        assert_match "*cluster_bus_messages_received:$received\r\n*" $text
        assert_match {*cluster_bus_ping:sent=*} $text
        # Two for each of the three others.
        wait_for_condition 500 10 {[s -3 cluster_bus_links] == 6} else {
            fail "[s -3 cluster_bus_links] links"
        }
        wait_for_condition 500 10 {
            [s -3 cluster_bus_input_bytes] == 0 && [s -3 cluster_bus_output_bytes] == 0
        } else {
            fail "bytes wait"
        }
        assert_equal 0 [s -3 cluster_bus_unknown]
    }

    test {A replica follows its primary} {
        at copy cluster replicate $::bus_ids(one)
        await_link 0
        foreach name {two three} {
            wait_for_condition 1000 10 {
                [lindex [line_at $name $::bus_ids(copy)] 3] eq $::bus_ids(one)
            } else {
                fail "$name does not hear of it"
            }
        }
        at one set b 1
        await_same -3 0
        at copy readonly
        assert_equal 1 [at copy get b]
        at copy readwrite
    }

    test {PUBLISH reaches the subscribers of all nodes once} {
        set clients {}
        foreach name $::bus_names {
            set client [client::connect 127.0.0.1 $::bus_ports($name) deferred]
            $client subscribe news
            $client read
            lappend clients $client
        }
        assert_equal 1 [at two publish news hello]
        assert_equal 1 [at one publish news [string repeat x 100000]]
        assert_equal 1 [at one publish news end]
        foreach client $clients {
            set seen {}
            while {[set text [lindex [$client read] 2]] ne "end"} {
                lappend seen $text
            }
            assert_equal [lsort [list hello [string repeat x 100000]]] [lsort $seen]
        }
        assert_equal 1 [at two publish news last]
        foreach client $clients {
            assert_equal {message news last} [$client read]
            $client close
        }
    }

    test {A slot that moves is told at once, and its former owner's keys go as UNLINK} {
        set slot [at one cluster keyslot "{b}1"]
        for {set i 0} {$i < 500} {incr i} {
            at one set "{b}$i" $i
        }
        await_same -3 0
        at two cluster setslot $slot importing $::bus_ids(one)
        assert_equal OK [at two cluster setslot $slot node $::bus_ids(two)]
        wait_for_condition 1000 10 {[at one cluster countkeysinslot $slot] == 0} else {
            fail "the keys stay"
        }
        assert_error_text "MOVED $slot 127.0.0.1:$::bus_ports(two)" {at one get "{b}1"}
        foreach name {one copy} {
            wait_for_condition 1000 10 {[at $name dbsize] == 0} else {
                fail "$name keeps keys"
            }
        }
        assert_match "*cmdstat_unlink:calls=501,*" [at copy info commandstats]
        foreach name {three copy} {
            wait_for_condition 1000 10 {
                [string match "* $slot*" [line_at $name $::bus_ids(two)]]
            } else {
                fail "$name does not hear of it"
            }
        }
        at one cluster setslot $slot importing $::bus_ids(two)
        assert_equal OK [at one cluster setslot $slot node $::bus_ids(one)]
    }

    test {A slot that was imported stays, though its former owner has an unknown, greater epoch} {
        set slot [at two cluster keyslot "{c}1"]
        set owner [expr {$slot * 3 / 16384}]
        assert_equal 1 $owner
        at three cluster setslot $slot importing $::bus_ids(two)
        # Two cannot answer. Its claim, which others may have heard, is older than three's.
        pause_process [srv -2 pid]
        assert_equal OK [at three cluster setslot $slot node $::bus_ids(three)]
        at three set "{c}1" x
        assert_no_match "*-<-*" [at three cluster nodes]
        set epoch [expr {[info_field three cluster_current_epoch] + 20}]
        assert_equal 1 [answers_after three [bus_claim $::bus_ids(two) $slot $epoch]]
        assert_equal x [at three get "{c}1"]
        assert_equal [expr {$epoch + 1}] [info_field three cluster_my_epoch]
        exec kill -CONT [srv -2 pid]
        foreach name $::bus_names {
            wait_for_condition 1000 10 {
                [string match "*$::bus_ids(three)*" [lsearch -inline \
                    [at $name cluster slots] [list $slot $slot *]]]
            } else {
                fail "$name does not hear of it"
            }
        }
        assert_equal x [at three get "{c}1"]
        at two cluster setslot $slot importing $::bus_ids(three)
        assert_equal OK [at two cluster setslot $slot node $::bus_ids(two)]
        wait_for_condition 1000 10 {[at three cluster countkeysinslot $slot] == 0} else {
            fail "the key stays"
        }
    }

    test {A node that is forgotten stays away, and another MEET brings it back} {
        foreach name {one two copy} {
            assert_equal OK [at $name cluster forget $::bus_ids(three)]
        }
        set heard [info_field one cluster_stats_messages_ping_received]
        wait_for_condition 3000 10 {
            [info_field one cluster_stats_messages_ping_received] > $heard + 3
        } else {
            fail "nobody pings"
        }
        assert_equal "" [line_at one $::bus_ids(three)]
        assert_equal 3 [info_field one cluster_known_nodes]
        assert_equal OK [at three cluster meet 127.0.0.1 $::bus_ports(one)]
        assert_equal OK [at three cluster meet 127.0.0.1 $::bus_ports(two)]
        assert_equal OK [at three cluster meet 127.0.0.1 $::bus_ports(copy)]
        foreach name $::bus_names {
            await_known $name 4
            await_state $name ok
        }
    }

    test {A node that is stopped fails by a majority, and comes back} {
        pause_process [srv -1 pid]
        foreach name {one two copy} {
            wait_for_condition 3000 10 {"fail" in [flags_at $name $::bus_ids(three)]} else {
                fail "$name does not notice"
            }
            await_state $name fail
        }
        assert_error_text "CLUSTERDOWN The cluster is down" {at one get b}
        exec kill -CONT [srv -1 pid]
        foreach name $::bus_names {
            await_state $name ok
        }
    }

    test {A node that is stopped longer than the timeout suspects nobody when it goes on} {
        pause_process [srv -2 pid]
        after [expr {$::bus_timeout + 500}]
        exec kill -CONT [srv -2 pid]
        foreach name $::bus_names {
            await_state $name ok
        }
        assert_no_match "*fail*" [at two cluster nodes]
    }

    test {What is no bus closes the link, and is counted} {
        set before [s -3 cluster_bus_malformed]
        set stranger [string repeat e 40]
        set wrong {}
        lappend wrong "GET / HTTP/1.1\r\n\r\n"
        lappend wrong [bus_frame 0 $stranger {} 0 100]
        lappend wrong [bus_frame 4 $stranger {} 0 1000000000]
        lappend wrong [bus_frame 0 $stranger {} 5]
        lappend wrong [bus_frame 0 [string repeat X 40]]
        lappend wrong [bus_frame 3 $stranger [string repeat f 39]]
        lappend wrong [bus_frame 7 $stranger [string repeat f 100]]
        lappend wrong [bus_frame 4 $stranger [binary format II 5 6]abc]
        foreach bytes $wrong {
            assert_equal 1 [closes_upon one $bytes]
        }
        assert_equal [llength $wrong] [expr {[s -3 cluster_bus_malformed] - $before}]
        assert_equal ok [info_field one cluster_state]
    }

    test {What strangers say changes nothing, and is not published} {
        set client [client::connect 127.0.0.1 $::bus_ports(one) deferred]
        $client subscribe news
        $client read
        set stranger [string repeat e 40]
        set epoch [info_field one cluster_current_epoch]
        set before [at one cluster slots]
        assert_equal 1 [answers_after one [bus_publish $stranger news false]]
        assert_equal 1 [answers_after one [bus_frame 3 $stranger $::bus_ids(two)]]
        assert_equal 1 [answers_after one [bus_frame 7 $stranger \
            [binary format W 1000]$::bus_ids(two)[string repeat \xff 2048]]]
        assert_equal 1 [answers_after one [bus_frame 5 $stranger]]
        assert_equal 1 [answers_after one [bus_frame 77 $stranger]]
        assert_equal 1 [at one publish news true]
        assert_equal {message news true} [$client read]
        $client close
        assert_equal $epoch [info_field one cluster_current_epoch]
        assert_equal $before [at one cluster slots]
        assert_equal 4 [info_field one cluster_known_nodes]
    }

    test {A frame may come byte by byte} {
        set channel [bus_connect one]
        foreach byte [split [bus_frame 0 [string repeat e 40]] {}] {
            puts -nonewline $channel $byte
        }
        assert_match RCmb* [read $channel 2256]
        close $channel
    }

    test {An announced address is followed by the others} {
        at two config set cluster-announce-ip 127.0.0.2
        foreach name {one three copy} {
            wait_for_condition 3000 10 {
                [string match "* 127.0.0.2:*" [line_at $name $::bus_ids(two)]]
            } else {
                fail "$name does not hear of it"
            }
        }
        at two config set cluster-announce-ip 127.0.0.1
        foreach name {one three copy} {
            wait_for_condition 3000 10 {
                [string match "* 127.0.0.1:*" [line_at $name $::bus_ids(two)]]
            } else {
                fail "$name does not hear of it"
            }
        }
        await_state one ok
    }

    # What a header says of the epoch may wait for nodes.conf; nested turns must see to it, too.
    test {A replica that loads a copy for longer than the timeout does not look dead} {
        at two debug populate 1000 k 1000
        at two config set rdb-key-save-delay 10000
        at two config set repl-diskless-sync yes
        at two config set repl-diskless-sync-delay 0
        at copy config set repl-diskless-load swapdb
        at copy cluster replicate $::bus_ids(two)
        wait_for_condition 3000 10 {[s 0 loading] == 1} else {
            fail "no copy is loaded"
        }
        set end [expr {[clock milliseconds] + $::bus_timeout * 5 / 2}]
        while {[clock milliseconds] < $end} {
            assert_no_match "*fail*" [line_at one $::bus_ids(copy)]
            assert_no_match "*fail*" [line_at two $::bus_ids(copy)]
            after 50
        }
        assert_equal 1 [s 0 loading]
        at two config set rdb-key-save-delay 0
        at two flushall
        wait_for_condition 3000 10 {[s 0 loading] == 0} else {
            fail "the load does not end"
        }
        at copy cluster replicate $::bus_ids(one)
        at copy config set repl-diskless-load disabled
        await_link 0
        await_same -3 0
    }

    test {Links count for maxclients} {
        set open [expr {[s -3 connected_clients] + 1 + 6}]
        at one config set maxclients $open
        set client [client::connect 127.0.0.1 $::bus_ports(one)]
        assert_equal PONG [$client ping]
        set second [client::connect 127.0.0.1 $::bus_ports(one)]
        assert_error "*max number of clients + cluster connections reached*" {$second ping}
        $client close
        at one config set maxclients 10000
    }

    # Three keeps one slot. Its move ends by SETSLOT NODE at three, or by two's claim, which comes
    # first where the order goes to two first.
    test {A primary that gives its last slot away stays a primary, whoever hears of it first} {
        set given {}
        for {set slot 10923} {$slot < 16383} {incr slot} {
            lappend given $slot
        }
        at three cluster delslots {*}$given
        at two cluster delslots {*}$given
        at two cluster addslots {*}$given
        at two cluster bumpepoch
        foreach {giver taker first} {three two three two three {} three two two} {
            assert_equal OK [at $taker cluster setslot 16383 importing $::bus_ids($giver)]
            assert_equal OK [at $giver cluster setslot 16383 migrating $::bus_ids($taker)]
            foreach name [concat $first $taker] {
                assert_equal OK [at $name cluster setslot 16383 node $::bus_ids($taker)]
            }
            foreach name $::bus_names {
                wait_for_condition 1000 10 {
                    [regexp {[- ]16383( |$)} [line_at $name $::bus_ids($taker)]]
                } else {
                    fail "$name does not hear of it"
                }
            }
            assert_equal master [lindex [at three role] 0]
        }
        assert_match "* myself,master - *connected" [line_at three $::bus_ids(three)]
    }

    test {A primary that loses its last slot, not by its own doing, follows the new owner} {
        at three cluster setslot 16383 importing $::bus_ids(two)
        at three cluster setslot 16383 node $::bus_ids(three)
        wait_for_condition 1000 10 {
            [string match "* 16383" [line_at two $::bus_ids(three)]]
        } else {
            fail "two does not hear of it"
        }
        at two cluster setslot 16383 importing $::bus_ids(three)
        at two cluster setslot 16383 node $::bus_ids(two)
        wait_for_condition 1000 10 {[lindex [at three role] 0] eq "slave"} else {
            fail "it stays a primary"
        }
        assert_error {ERR Please use SETSLOT only with masters.} {
            at three cluster setslot 16383 node $::bus_ids(two)
        }
    }

    test {Nodes of 6.2 are nodes like any other} {
        if {![info exists ::env(BASELINE)] || ![file executable $::env(BASELINE)]} {
            skip "no BASELINE=path of a stock redis-server"
        }
        set port [find_node_port]
        set folder [tmpdir stock]
        set stock [open |[list $::env(BASELINE) --port $port --save {} --bind 127.0.0.1 --dir \
            $folder --cluster-enabled yes --cluster-node-timeout $::bus_timeout] r]
        wait_for_condition 500 10 {![catch {close [socket 127.0.0.1 $port]}]} else {
            fail "the stock server does not start"
        }
        set client [client::connect 127.0.0.1 $port]
        assert_equal OK [$client cluster meet 127.0.0.1 $::bus_ports(one)]
        foreach name $::bus_names {
            await_known $name 5
        }
        wait_for_condition 1000 10 {[string match *state:ok* [$client cluster info]]} else {
            fail "the stock node does not come up"
        }
        set listener [client::connect 127.0.0.1 $port deferred]
        $listener subscribe news
        $listener read
        assert_equal 0 [at one publish news hello]
        assert_equal {message news hello} [$listener read]
        set here [client::connect 127.0.0.1 $::bus_ports(two) deferred]
        $here subscribe news
        $here read
        assert_equal 1 [$client publish news back]
        assert_equal {message news back} [$here read]
        $here close
        $listener close
        $client close
        exec kill -TERM [pid $stock]
        catch {close $stock}
    }
}
}
}
}
