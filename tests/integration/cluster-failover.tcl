# SPDX-License-Identifier: BSD-3-Clause
# How a shard of a cluster gets another primary: elections, the three forms of CLUSTER FAILOVER,
# moves of replicas, and a primary that stood still. One has the replicas left and right, two has
# copy; three has none.

set ::shard_names {one two three left right copy}
array set ::shard_level {one -5 two -4 three -3 left -2 right -1 copy 0}
array set ::shard_ports {}
array set ::shard_ids {}
set ::shard_timeout 1000

proc shard_settings {name} {
    set ::shard_ports($name) [find_node_port]
    return [list overrides [list port $::shard_ports($name) cluster-enabled yes \
        cluster-config-file $name.conf cluster-node-timeout $::shard_timeout appendonly yes \
        cluster-allow-replica-migration no \
        repl-diskless-sync yes repl-diskless-sync-delay 0] tags {cluster singleport}]
}

proc of {name args} {
    return [r $::shard_level($name) {*}$args]
}

proc pid_of {name} {
    return [srv $::shard_level($name) pid]
}

proc field_of {name field} {
    if {![regexp "(?:^|\\n)$field:(\[^\\r\\n\]*)" [of $name cluster info] - value]} {
        return ""
    }
    return $value
}

# The node's own line, or another node's, as `name` shows it.
proc line_of {name about} {
    foreach line [split [of $name cluster nodes] \n] {
        if {[string match "$::shard_ids($about) *" $line]} {
            return $line
        }
    }
    return ""
}

proc role_of {name} {
    return [lindex [of $name role] 0]
}

proc await_role {name role} {
    wait_for_condition 3000 10 {[role_of $name] eq $role} else {
        fail "$name does not become a $role"
    }
}

# All of the names agree that the node is a primary with slots, and are ok.
proc await_owner {owner names} {
    foreach name $names {
        wait_for_condition 3000 10 {
            [regexp {^\S+ \S+ (myself,)?master \S+ \S+ \S+ \S+ connected \d} \
                [line_of $name $owner]] && [field_of $name cluster_state] eq "ok"
        } else {
            fail "$name does not see $owner as an owner"
        }
    }
}

# The replica is linked, and has all that its primary has.
proc await_copy {primary replica} {
    wait_for_condition 3000 10 {
        [string match "*master_link_status:up*" [of $replica info replication]] &&
        [info_property [of $primary info replication] master_repl_offset] ==
            [info_property [of $replica info replication] master_repl_offset]
    } else {
        fail "$replica does not catch up with $primary"
    }
}

proc stop_primary {name} {
    pause_process [pid_of $name]
}

proc go_on {name} {
    exec kill -CONT [pid_of $name]
}

start_server [shard_settings one] {
start_server [shard_settings two] {
start_server [shard_settings three] {
start_server [shard_settings left] {
start_server [shard_settings right] {
start_server [shard_settings copy] {
    for {set slot 0} {$slot < 16384} {incr slot} {
        lappend slots([expr {$slot * 3 / 16384}]) $slot
    }
    set epoch 0
    foreach name $::shard_names {
        set ::shard_ids($name) [of $name cluster myid]
        of $name cluster set-config-epoch [incr epoch]
    }
    foreach name {one two three} index {0 1 2} {
        of $name cluster addslots {*}$slots($index)
    }
    foreach name {two three left right copy} {
        of one cluster meet 127.0.0.1 $::shard_ports($name)
    }
    foreach {replica primary} {left one right one copy two} {
        wait_for_condition 3000 10 {[line_of $replica $primary] ne ""} else {
            fail "$replica does not hear of $primary"
        }
        of $replica cluster replicate $::shard_ids($primary)
    }
    foreach {replica primary} {left one right one copy two} {
        await_copy $primary $replica
    }
    await_owner one $::shard_names
    set key "{06S}key" ;# in a slot of one: 742

    test {FAILOVER is refused where it cannot be} {
        assert_error_text "ERR You should send CLUSTER FAILOVER to a replica" {
            of one cluster failover
        }
        assert_error_text "ERR syntax error" {of left cluster failover now}
    }

    test {FAILOVER: nothing that was answered is lost} {
        set writer [client::connect 127.0.0.1 $::shard_ports(one) deferred]
        for {set i 0} {$i < 2000} {incr i} {
            $writer rpush $key $i
        }
        $writer flush
        assert_equal OK [of left cluster failover]
        set answered 0
        for {set i 0} {$i < 2000} {incr i} {
            if {![catch {$writer read} reply]} {
                set answered $reply
            } else {
                assert_match "MOVED * 127.0.0.1:$::shard_ports(left)" $reply
            }
        }
        $writer close
        await_role left master
        await_role one slave
        await_owner left $::shard_names
        set values [of left lrange $key 0 -1]
        assert_equal $answered [llength $values]
        await_copy left one
        await_copy left right
    }

    test {FORCE and another FORCE need no pause between them} {
        assert_equal OK [of right cluster failover force]
        await_role right master
        await_owner right $::shard_names
        # A voter does not vote about a primary again within two timeouts, but this is another one.
        assert_equal OK [of one cluster failover force]
        await_role one master
        await_owner one $::shard_names
        await_copy one left
        await_copy one right
    }

    test {TAKEOVER: at once, under a new epoch, and the others hear of it} {
        set epoch [field_of left cluster_current_epoch]
        assert_equal OK [of left cluster failover takeover]
        assert_equal master [role_of left]
        assert_morethan [field_of left cluster_my_epoch] $epoch
        await_owner left $::shard_names
        await_role one slave
        await_copy left one
        await_copy left right
    }

    test {A replica that may not fail over does not} {
        foreach name {one right} {
            of $name config set cluster-replica-no-failover yes
            wait_for_condition 3000 10 {
                [string match "*nofailover*" [line_of two $name]]
            } else {
                fail "two does not hear of it"
            }
        }
        stop_primary left
        wait_for_condition 3000 10 {[field_of two cluster_state] eq "fail"} else {
            fail "nobody notices"
        }
        foreach name {one right} {
            assert_equal slave [role_of $name]
        }
        of right config set cluster-replica-no-failover no
        await_role right master
        of one config set cluster-replica-no-failover no
        await_owner right {one two three right copy}
    }

    test {A primary that stood still answers no write that would be lost} {
        # Left is stopped still, and another node owns its slots.
        set late [client::connect 127.0.0.1 $::shard_ports(left) deferred]
        $late rpush $key late
        $late flush
        set length [of right llen $key]
        go_on left
        assert_error "MOVED * 127.0.0.1:$::shard_ports(right)" {$late read}
        $late close
        await_role left slave
        await_copy right left
        assert_equal $length [of right llen $key]
    }

    test {A primary that stood still and was not replaced goes on} {
        foreach name {one left} {
            of $name config set cluster-replica-no-failover yes
        }
        stop_primary right
        wait_for_condition 3000 10 {[field_of two cluster_state] eq "fail"} else {
            fail "nobody notices"
        }
        set late [client::connect 127.0.0.1 $::shard_ports(right) deferred]
        $late rpush $key late
        $late flush
        go_on right
        # Either it asks first, or the cluster is down and it says so.
        if {[catch {$late read} reply]} {
            assert_match "CLUSTERDOWN*" $reply
        }
        $late close
        await_owner right $::shard_names
        assert_morethan [of right rpush $key more] 0
        foreach name {one left} {
            of $name config set cluster-replica-no-failover no
        }
        wait_for_log "*made no turn for*" 0 $::shard_level(right)
        wait_for_log "*Writes are not held any more*" 0 $::shard_level(right)
    }

    test {A primary that is killed is replaced, and comes back as a replica} {
        await_copy right one
        await_copy right left
        set length [of right llen $key]
        stop_primary right
        wait_for_condition 3000 10 {"master" in [list [role_of one] [role_of left]]} else {
            fail "no replica takes over"
        }
        set winner [expr {[role_of one] eq "master" ? "one" : "left"}]
        set other [expr {$winner eq "one" ? "left" : "one"}]
        await_role $other slave
        await_owner $winner {one two three left copy}
        restart_server $::shard_level(right) KILL
        await_role right slave
        await_copy $winner right
        # The file of options does not say whom a node follows: nodes.conf does.
        assert_equal OK [of right config rewrite]
        # SIGTERM is refused as long as the log's first file is not written.
        wait_for_condition 3000 10 {
            [s $::shard_level(right) aof_rewrite_in_progress] == 0 &&
            [s $::shard_level(right) aof_rewrite_scheduled] == 0
        } else {
            fail "the log is not rewritten"
        }
        restart_server $::shard_level(right)
        await_role right slave
        await_copy $winner right
        assert_equal $length [of $winner llen $key]
        wait_for_condition 3000 10 {
            [lindex [line_of three right] 3] eq $::shard_ids($winner)
        } else {
            fail "three does not hear of it"
        }
    }

    test {A replica moves to a primary that has lost its own} {
        stop_primary copy
        wait_for_condition 3000 10 {[string match "*fail*" [line_of one copy]]} else {
            fail "nobody notices"
        }
        foreach name {one left right} {
            assert_equal OK [of $name config set cluster-allow-replica-migration yes]
        }
        # Three has no replica, either: right, which has read its file anew, takes it for orphaned.
        wait_for_condition 3000 10 {
            [lsearch -regexp [lmap name {one left right} {lindex [line_of three $name] 3}] \
                "$::shard_ids(two)|$::shard_ids(three)"] >= 0
        } else {
            fail "no replica moves"
        }
        go_on copy
        await_owner two $::shard_names
    }
}
}
}
}
}
}
