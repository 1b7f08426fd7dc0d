# SPDX-License-Identifier: BSD-3-Clause
# One node of a cluster: CLUSTER's subcommands with their refusals, nodes.conf, roles, the keys of
# slots. Nodes know each other by files that the tests write; the other nodes do not exist.

set me [string repeat a 40]
set b [string repeat b 40]
set c [string repeat c 40]
set d [string repeat d 40]

# A nodes.conf with these lines, and a line of variables. -> its path
proc nodes_file {lines {epoch 7}} {
    set path [tmpfile nodes.conf]
    write_whole $path "[join $lines \n]\nvars currentEpoch $epoch lastVoteEpoch 0\n"
    return $path
}

# Settings of a node that has this file; it is silent about nodes that do not answer.
proc node_settings {path args} {
    return [list tags {tls:skip} overrides [list cluster-enabled yes cluster-config-file $path \
        cluster-node-timeout 1000000 cluster-announce-ip 127.0.0.1 save "" {*}$args]]
}

proc await_state {state} {
    wait_for_condition 100 100 {
        [info_property [r cluster info] cluster_state] eq $state
    } else {
        fail "the state does not become $state"
    }
}

# The slots and marks that the node's own line shows.
proc own_slots {} {
    foreach line [split [r cluster nodes] \n] {
        if {[string match *myself* $line]} {
            return [lrange $line 8 end]
        }
    }
}

# "1-3 7" -> 1 2 3 7
proc split_slots {runs} {
    set slots {}
    foreach run $runs {
        lassign [split $run -] first last
        for {set slot $first} {$slot <= ($last eq "" ? $first : $last)} {incr slot} {
            lappend slots $slot
        }
    }
    return $slots
}

proc slot_owner {slot} {
    foreach run [r cluster slots] {
        if {[lindex $run 0] <= $slot && $slot <= [lindex $run 1]} {
            return [lindex $run 2 2]
        }
    }
}

set three [list \
    "$me 127.0.0.1:1@10001 myself,master - 0 0 1 connected 0-5460 10923" \
    "$b 127.0.0.1:2@10002 master - 0 0 2 connected 5461-10922" \
    "$c 127.0.0.1:3@10003 master - 0 0 3 connected 10924-16383" \
    "$d 127.0.0.1:4@10004 slave $b 0 0 2 connected"]

start_server [node_settings [tmpfile nodes.conf]] {
    test {A fresh node: what it is, and that it owns nothing} {
        assert_equal 40 [string length [r cluster myid]]
        assert_match "[r cluster myid] *:[srv port]@* myself,master - 0 0 0 connected\n" \
            [r cluster nodes]
        assert_equal {} [r cluster slots]
        assert_equal fail [info_property [r cluster info] cluster_state]
        assert_equal 1 [info_property [r cluster info] cluster_known_nodes]
        assert_equal 0 [info_property [r cluster info] cluster_slots_assigned]
        assert_error {CLUSTERDOWN Hash slot not served} {r get a}
        assert_equal cluster [s redis_mode]
        assert_equal 1 [s cluster_enabled]
        assert_equal 0 [s cluster_connections]
        assert_equal cluster [dict get [r hello 2] mode]
    }

    test {KEYSLOT: hash tags} {
        foreach {key slot} {a 15495 \{\}a 10875 x\{\}\{a\} 15756 \{a 10276 x\{\{a\}\}y 10276
            \{\{a 221 {} 0 123456789 12739} {
            assert_equal $slot [r cluster keyslot $key]
        }
    }

    test {ADDSLOTS, DELSLOTS: all or nothing, and their refusals in order} {
        assert_error {ERR Invalid or out of range slot} {r cluster addslots 1 16384}
        assert_error {ERR Invalid or out of range slot} {r cluster addslots -1}
        assert_error {ERR Invalid or out of range slot} {r cluster addslots 1 x}
        assert_error {ERR Slot 1 specified multiple times} {r cluster addslots 1 2 1}
        assert_equal {} [own_slots]
        assert_equal OK [r cluster addslots 1 2 3 16383]
        assert_equal {1-3 16383} [own_slots]
        assert_error {ERR Slot 2 is already busy} {r cluster addslots 4 2}
        assert_error {ERR Slot 4 is already unassigned} {r cluster delslots 1 4}
        assert_error {ERR Slot 1 specified multiple times} {r cluster delslots 1 1}
        assert_equal {1-3 16383} [own_slots]
        assert_equal OK [r cluster delslots 2]
        assert_equal {1 3 16383} [own_slots]
        assert_equal OK [r cluster flushslots]
        assert_equal {} [own_slots]
    }

    test {All slots in one command, and one too many} {
        for {set slot 0} {$slot < 16384} {incr slot} {
            lappend all $slot
        }
        assert_error {ERR Slot 0 specified multiple times} {r cluster addslots {*}$all 0}
        assert_equal {} [own_slots]
        assert_equal OK [r cluster addslots {*}$all]
        assert_equal 0-16383 [own_slots]
        assert_equal [r cluster myid] [slot_owner 8000]
        await_state ok
        assert_equal 16384 [info_property [r cluster info] cluster_slots_ok]
    }

    test {Keys of a slot: counted, listed, and in the way of FLUSHSLOTS and RESET} {
        r mset {{a}1} 1 {{a}2} 2 {{a}3} 3
        r set b 1
        assert_equal 3 [r cluster countkeysinslot 15495]
        assert_equal {{{a}1} {{a}2} {{a}3}} [lsort [r cluster getkeysinslot 15495 100]]
        assert_equal 2 [llength [r cluster getkeysinslot 15495 2]]
        assert_equal {} [r cluster getkeysinslot 15495 0]
        assert_equal {} [r cluster getkeysinslot 0 9223372036854775807]
        foreach slot {-1 16384} {
            assert_error {ERR Invalid slot} {r cluster countkeysinslot $slot}
            assert_error {ERR Invalid slot or number of keys} {r cluster getkeysinslot $slot 1}
        }
        assert_error {ERR Invalid slot or number of keys} {r cluster getkeysinslot 1 -1}
        assert_error {ERR value is not an integer or out of range} {r cluster countkeysinslot x}
        assert_error {ERR DB must be empty to perform CLUSTER FLUSHSLOTS.} {r cluster flushslots}
        assert_error {ERR CLUSTER RESET can't be called with master nodes containing keys} {
            r cluster reset
        }
        r flushall
        assert_equal 0 [r cluster countkeysinslot 15495]
    }

    test {GETKEYSINSLOT: events of keys that are due do not stand in its reply} {
        r config set notify-keyspace-events KEx
        r debug set-active-expire 0
        set listener [redis_deferring_client]
        $listener write "HELLO 3\r\nSUBSCRIBE __keyevent@0__:expired\r\n"
        $listener raw_reply
        $listener raw_reply
        r psetex {{a}1} 1 x
        r set {{a}2} x
        after 20
        $listener write "CLUSTER GETKEYSINSLOT 15495 10\r\n"
        assert_equal [lsort [list "*1\r\n\$4\r\n{a}2\r\n" \
            ">3\r\n\$7\r\nmessage\r\n\$22\r\n__keyevent@0__:expired\r\n\$4\r\n{a}1\r\n"]] \
            [lsort [list [$listener raw_reply] [$listener raw_reply]]]
        $listener close
        r debug set-active-expire 1
        r flushall
    } undefined {ours}

    test {Epochs: SET-CONFIG-EPOCH once, BUMPEPOCH until it is the greatest} {
        assert_error {ERR value is not an integer or out of range} {r cluster set-config-epoch x}
        assert_error {ERR Invalid config epoch specified: -1} {r cluster set-config-epoch -1}
        assert_equal OK [r cluster set-config-epoch 5]
        assert_error {ERR Node config epoch is already non-zero} {r cluster set-config-epoch 6}
        assert_equal {STILL 5} [r cluster bumpepoch]
        assert_equal 5 [info_property [r cluster info] cluster_current_epoch]
        assert_equal 5 [info_property [r cluster info] cluster_my_epoch]
    }

    test {What was answered is there after a restart, with the id} {
        r cluster delslots 7
        set id [r cluster myid]
        restart_server
        assert_equal $id [r cluster myid]
        assert_equal {0-6 8-16383} [own_slots]
        assert_equal 5 [info_property [r cluster info] cluster_my_epoch]
        assert_match "*Node configuration loaded, I'm $id*" [server_text [server_id 0]]
    }

    test {RESET in MULTI, SET-CONFIG-EPOCH behind it} {
        set id [r cluster myid]
        r multi
        r cluster reset hard
        r cluster set-config-epoch 9
        r cluster bumpepoch
        assert_equal {OK OK {STILL 9}} [r exec]
        assert {[r cluster myid] ne $id}
        assert_equal {} [own_slots]
        assert_equal 9 [info_property [r cluster info] cluster_current_epoch]
        r cluster reset
        assert_equal 9 [info_property [r cluster info] cluster_my_epoch]
        assert_equal OK [r eval {return redis.call('cluster', 'reset', 'hard')} 0]
        assert_equal {BUMPED 1} [r eval {return redis.call('cluster', 'bumpepoch')} 0]
    }

    test {MEET checks its address} {
        assert_error {ERR Invalid TCP base port specified: x} {r cluster meet 127.0.0.1 x}
        assert_error {ERR Invalid TCP bus port specified: y} {r cluster meet 127.0.0.1 1 y}
        assert_error {ERR Invalid node address specified: nowhere:1} {r cluster meet nowhere 1}
        foreach port {0 -1 65536 55536} {
            assert_error "ERR Invalid node address specified: 127.0.0.1:$port" {
                r cluster meet 127.0.0.1 $port
            }
        }
        assert_error {ERR Invalid node address specified: 127.0.0.1:1} {
            r cluster meet 127.0.0.1 1 65536
        }
    }

    test {MEET answers at once, and a handshake that nobody answers ends} {
        set before [r cluster nodes]
        set port [find_free_port]
        assert_equal OK [r cluster meet 127.0.0.1 1 $port]
        assert_equal OK [r cluster meet 127.0.0.1 1 $port]
        assert_equal 1 [regexp -all handshake [r cluster nodes]]
        r config set cluster-node-timeout 1000
        wait_for_condition 3000 10 {![string match *handshake* [r cluster nodes]]} else {
            fail "the handshake lasts"
        }
        r config set cluster-node-timeout 1000000
        assert_equal [llength [split $before \n]] [llength [split [r cluster nodes] \n]]
    }

    test {Subcommands: unknown ones, wrong counts} {
        foreach words {{links} {shards} {addslotsrange 1 2} {myid x} {keyslot} {setslot 1}
            {addslots} {reset hard x} {failover force x} {getkeysinslot 1} {meet 127.0.0.1}} {
            assert_error "ERR Unknown subcommand or wrong number of arguments for\
                '[lindex $words 0]'. Try CLUSTER HELP." {r cluster {*}$words}
        }
        assert_error {ERR syntax error} {r cluster reset x}
        assert_error {ERR syntax error} {r cluster failover x}
        assert_equal 47 [llength [r cluster help]]
    }

    test {The cluster gives out the roles} {
        foreach words {{127.0.0.1 1} {no one}} {
            assert_error {ERR REPLICAOF not allowed in cluster mode.} {r replicaof {*}$words}
        }
        assert_error {ERR FAILOVER not allowed in cluster mode. Use CLUSTER FAILOVER command*} {
            r failover
        }
    }
}

start_server [node_settings [nodes_file $three]] {
    test {Three nodes by a file: NODES, SLOTS, REPLICAS, INFO} {
        assert_equal $me [r cluster myid]
        assert_equal {0-5460 10923} [own_slots]
        assert_equal $b [slot_owner 5461]
        assert_equal 4 [llength [lsearch -inline -index 0 [r cluster slots] 5461]]
        assert_match "$d 127.0.0.1:4@10004 slave $b *" [lindex [r cluster replicas $b] 0]
        assert_equal {} [r cluster slaves $me]
        assert_equal 4 [info_property [r cluster info] cluster_known_nodes]
        assert_equal 7 [info_property [r cluster info] cluster_current_epoch]
        assert_equal 1 [info_property [r cluster info] cluster_my_epoch]
        assert_equal 6 [s cluster_connections]
        assert_equal 0 [r cluster count-failure-reports $b]
    }

    test {Ids: unknown, cut, too long} {
        foreach id [list x "" [string range $b 0 38] [string toupper $b]] {
            foreach word {replicas count-failure-reports forget replicate} {
                assert_error "ERR Unknown node $id" {r cluster $word $id}
            }
            assert_error "ERR I don't know about node $id" {r cluster setslot 5 migrating $id}
        }
        assert_equal 1 [llength [r cluster replicas ${b}more]]
        assert_error {ERR The specified node is not a master} {r cluster replicas $d}
    }

    test {SETSLOT: marks, and their refusals in order} {
        assert_error {ERR Invalid or out of range slot} {r cluster setslot 16384 migrating x}
        assert_error {ERR I'm not the owner of hash slot 6000} {r cluster setslot 6000 migrating x}
        assert_error {ERR I'm already the owner of hash slot 5} {r cluster setslot 5 importing x}
        assert_error {ERR Invalid CLUSTER SETSLOT action or number of arguments. Try CLUSTER HELP} {
            r cluster setslot 5 migrating
        }
        r cluster setslot 5 migrating $b
        r cluster setslot 6000 importing $b
        assert_equal [list 0-5460 10923 "\[5->-$b\]" "\[6000-<-$b\]"] [own_slots]
        r cluster setslot 5 stable
        r cluster setslot 6000 stable
        assert_equal {0-5460 10923} [own_slots]
    }

    test {cluster-announce-ip: what would break a line of nodes.conf is refused} {
        foreach bad [list "a b" a@b a,b "a\"b" [string repeat x 46]] {
            assert_error {ERR Invalid argument * argument must be an address or a name*} {
                r config set cluster-announce-ip $bad
            }
        }
        with_config {cluster-announce-ip 10.9.8.7 cluster-announce-port 4321} {
            assert_match "*$me 10.9.8.7:4321@* myself*" [r cluster nodes]
        }
    } undefined {ours}

    test {SETSLOT: a replica cannot own slots} {
        foreach {slot action} {5 migrating 6000 importing 5 node} {
            assert_error {ERR Target node is not a master} {r cluster setslot $slot $action $d}
        }
    } undefined {ours}

    test {SETSLOT NODE: an imported slot brings a new epoch, a slot with keys stays} {
        await_state ok
        r cluster setslot 6000 importing $b
        r cluster setslot 6000 node $me
        assert_equal {0-5460 6000 10923} [own_slots]
        assert_equal 8 [info_property [r cluster info] cluster_my_epoch]
        r set b 1
        assert_error {ERR Can't assign hashslot 3300 to a different node while I still hold keys*} {
            r cluster setslot 3300 node $b
        }
        r cluster setslot 3300 migrating $b
        r del b
        r cluster setslot 3300 node $b
        assert_equal {0-3299 3301-5460 6000 10923} [own_slots]
        assert_error {MOVED 3300 127.0.0.1:2} {r get b}
    }

    test {FORGET: slots and marks that name the node go} {
        assert_error {ERR I tried hard but I can't forget myself...} {r cluster forget $me}
        r cluster setslot 5 migrating $b
        r cluster setslot 7000 importing $b
        r cluster forget $b
        assert_equal {0-3299 3301-5460 6000 10923} [own_slots]
        assert_equal {} [slot_owner 7000]
        assert_error {ERR Unknown node *} {r cluster forget $b}
        assert_error {ERR The user can assign a config epoch only when the node does not know any\
            other node.} {r cluster set-config-epoch 3}
    }

    test {REPLICATE: its refusals in order} {
        assert_error {ERR Can't replicate myself} {r cluster replicate $me}
        assert_error {ERR I can only replicate a master, not a replica.} {r cluster replicate $d}
        assert_error {ERR To set a master the node must be empty and without assigned slots.} {
            r cluster replicate $c
        }
        assert_error {ERR You should send CLUSTER FAILOVER to a replica} {r cluster failover}
    }

    test {A primary that gives its last slot away stays a primary} {
        r cluster delslots {*}[lsearch -all -inline -not -exact [split_slots [own_slots]] 10923]
        r cluster setslot 10923 node $c
        assert_equal {} [own_slots]
        assert_match "*$me *myself,master - *" [r cluster nodes]
        assert_equal master [lindex [r role] 0]
    }
}

set replica [list \
    "$me 127.0.0.1:1@10001 myself,slave $b 0 0 2 connected" \
    "$b 127.0.0.1:2@10002 master - 0 0 2 connected 0-16383"]

start_server [node_settings [nodes_file $replica]] {
    test {A replica by a file: it follows its primary's address, and refuses} {
        wait_for_condition 100 100 {
            [lrange [r role] 0 2] eq {slave 127.0.0.1 2}
        } else {
            fail "it does not follow: [r role]"
        }
        assert_error {ERR Can't forget my master!} {r cluster forget $b}
        assert_error {ERR Please use SETSLOT only with masters.} {r cluster setslot x foo}
        assert_error {ERR Please use SETSLOT only with masters.} {r cluster setslot x stable}
        assert_error {MOVED 15495 127.0.0.1:2} {r get a}
        assert_equal 2 [info_property [r cluster info] cluster_my_epoch]
    }

    test {FAILOVER asks the primary; FORCE asks for votes, under a new epoch} {
        assert_error {ERR Master is down or failed, please use CLUSTER FAILOVER FORCE} {
            r cluster failover
        }
        assert_equal 7 [info_property [r cluster info] cluster_current_epoch]
        assert_equal OK [r cluster failover force]
        assert_equal 8 [info_property [r cluster info] cluster_current_epoch]
        assert_equal slave [lindex [r role] 0]
    } undefined {ours}

    test {TAKEOVER: the slots are its own, under a new epoch} {
        assert_equal OK [r cluster failover takeover]
        assert_equal 0-16383 [own_slots]
        assert_equal master [lindex [r role] 0]
        assert_equal 9 [info_property [r cluster info] cluster_my_epoch]
    }
}

start_server [node_settings [nodes_file $replica]] {
    test {RESET of a replica: a primary without keys that knows no other} {
        assert_equal OK [r cluster reset]
        assert_equal master [lindex [r role] 0]
        assert_equal 1 [info_property [r cluster info] cluster_known_nodes]
        assert_equal $me [r cluster myid]
    }
}
