# SPDX-License-Identifier: BSD-3-Clause
# nodes.conf of a real server: files that a stock Redis 6.2 and ours hand to each other (BASELINE,
# the path of its redis-server), locks, disks that refuse, another working folder; and which ports a
# client without TLS is told.

set folder [file dirname $::options(server)]
set faulty [file join $folder .. faulty redis-server]
set rules_file [tmpfile faults]
set ours $::options(server)
set stock ""
if {[info exists ::env(BASELINE)] && [file executable $::env(BASELINE)]} {
    set stock $::env(BASELINE)
}

set a [string repeat a 40]
set b [string repeat b 40]
set c [string repeat c 40]
set d [string repeat d 40]

proc node_settings {path args} {
    return [list tags {tls:skip ours} overrides [list cluster-enabled yes \
        cluster-config-file $path cluster-node-timeout 100000000 cluster-announce-ip 127.0.0.1 \
        cluster-announce-port 7001 cluster-announce-bus-port 17001 \
        cluster-require-full-coverage no save "" {*}$args]]
}

# Runs the body with servers of that program.
proc with_program {program body} {
    set before $::options(server)
    set ::options(server) $program
    set code [catch {uplevel 1 $body} result options]
    set ::options(server) $before
    return -options $options -code $code $result
}

# What the server knows: of each node all but times and links; its own epochs.
proc known_cluster {} {
    set known {}
    foreach line [split [string trim [r cluster nodes]] \n] {
        # 6.2 learns who fails by itself, as soon as it has a bus.
        set flags [string map {,fail? {}} [lindex $line 2]]
        lappend known [list {*}[lrange $line 0 1] $flags [lindex $line 3] \
            {*}[lrange $line 6 6] {*}[lrange $line 8 end]]
    }
    set known [lsort $known]
    foreach field {cluster_current_epoch cluster_my_epoch cluster_slots_assigned} {
        lappend known $field [info_property [r cluster info] $field]
    }
    return $known
}

proc last_vote {path} {
    regexp {lastVoteEpoch (\d+)} [read_whole $path] - epoch
    return $epoch
}

set lines [list \
    "$a 127.0.0.1:7001@17001 myself,master - 0 0 3 connected 0-100 200 \[200->-$b\] \[300-<-$c\]" \
    "$b 127.0.0.1:7002@17002 master - 0 1700000000000 2 connected 101-199 16383" \
    "$c 127.0.0.1:7003@17003 master,fail - 1700000000000 0 4 disconnected 300 302 304-310" \
    "$d 127.0.0.1:7004@17004 slave $b 0 0 2 connected" \
    "[string repeat e 40] 127.0.0.1:7005@17005 slave,nofailover $c 0 0 4 connected" \
    "[string repeat f 40] :0@0 master,noaddr - 0 0 0 disconnected" \
    "vars currentEpoch 9 lastVoteEpoch 7" ""]

tests_where [expr {$stock ne ""}] "no stock server: name one in BASELINE" {
    set path [tmpfile nodes.conf]
    write_whole $path [join $lines \n]
    set known {}
    with_program $stock {
        start_server [node_settings $path] {
            test {nodes.conf: stock reads a file} {
                set known [known_cluster]
                assert_equal 9 [dict get [lrange $known end-5 end] cluster_current_epoch]
                r cluster saveconfig
            }
        }
    }
    start_server [node_settings $path] {
        test {nodes.conf: ours reads what stock has written, and changes it} {
            assert_equal $known [known_cluster]
            assert_equal 7 [last_vote $path]
            r cluster addslots 5000 5002
            r cluster setslot 5000 migrating $b
            r cluster setslot 101 importing $b
            r cluster setslot 200 stable
            r cluster setslot 300 node $a
            r cluster setslot 16383 node $a
            r cluster delslots 0
            r cluster forget $d
            assert_equal {STILL 10} [r cluster bumpepoch]
            r cluster saveconfig
            set known [known_cluster]
            assert_match "*5000->-$b*" $known
        }
    }
    with_program $stock {
        start_server [node_settings $path] {
            test {nodes.conf: stock reads what ours has written, and changes it} {
                # Slot 300's former owner has not answered since the slot was taken: ours keeps
                # the mark and does not show it, stock shows it.
                assert_match "*300-<-$c*" [r cluster nodes]
                r cluster setslot 300 stable
                assert_equal $known [known_cluster]
                r cluster delslots 5002
                r cluster setslot 5000 stable
                r cluster setslot 102 importing $b
                r cluster flushslots
                r cluster addslots 9 10 11
                assert_match {*STILL*} [r cluster bumpepoch]
                r cluster saveconfig
                set known [known_cluster]
            }
        }
    }
    start_server [node_settings $path] {
        test {nodes.conf: and back} {
            assert_equal $known [known_cluster]
            assert_equal 7 [last_vote $path]
        }

        test {The lock of nodes.conf: stock does not start with ours' file} {
            with_program $stock {
                set ended [run_server_to_end [list --port [find_node_port] --cluster-enabled yes \
                    --cluster-config-file $path]]
            }
            assert_equal 1 [dict get $ended status]
            assert_match "*already used by a different Redis Cluster node*" [dict get $ended out]
            # Also once the file has been replaced.
            r cluster saveconfig
            with_program $stock {
                set ended [run_server_to_end [list --port [find_node_port] --cluster-enabled yes \
                    --cluster-config-file $path]]
            }
            assert_equal 1 [dict get $ended status]
            assert_equal $known [known_cluster]
        }
    }
    with_program $stock {
        start_server [node_settings $path] {
            test {The lock of nodes.conf: ours does not start with stock's file} {
                set before [read_whole $path]
                with_program $ours {
                    set ended [run_server_to_end [list --port [find_node_port] \
                        --cluster-enabled yes --cluster-config-file $path]]
                }
                assert_equal 1 [dict get $ended status]
                assert_match "*already used by a different Redis Cluster node*" \
                    [dict get $ended out]
                assert_equal $before [read_whole $path]
            }
        }
    }
}

set path [file join [tmpdir nodes] nodes.conf]
start_server [node_settings nodes.conf] {
    test {CONFIG SET dir: nodes.conf stays the file that it was} {
        set own [file join [srv dir] nodes.conf]
        set elsewhere [tmpdir elsewhere]
        r config set dir $elsewhere
        r cluster addslots 1 2 3
        r cluster saveconfig
        assert_match "*connected 1-3*" [read_whole $own]
        r cluster addslots 4
        wait_for_condition 500 10 {[string match "*connected 1-4*" [read_whole $own]]} else {
            fail "the change is not written to $own"
        }
        assert_equal {} [glob -nocomplain $elsewhere/*]
        # The lock moves with it: no second node takes the old place's file.
        set ended [run_server_to_end [list --port [find_node_port] --dir [srv dir] \
            --cluster-enabled yes]]
        assert_equal 1 [dict get $ended status]
        restart_server
        assert_match "*connected 1-4*" [r cluster nodes]
    }
}

test {nodes.conf may be a link: the file behind it is replaced, and the link stays} {
    set real [file join [tmpdir real] real.conf]
    write_whole $real [join $lines \n]
    file link -symbolic $path $real
}
start_server [node_settings $path] {
    test {nodes.conf that is a link} {
        r cluster addslots 6000
        r cluster saveconfig
        assert_equal link [file type $path]
        assert_match "*\n*connected 0-100 200 6000*" \n[read_whole $real]
        assert_equal {} [glob -nocomplain $path.tmp $real.tmp]
    }
}

test {A folder that does not exist, and a folder in place of the file: a sentence, and no start} {
    foreach {name said} {missing/nodes.conf "*Can't open missing/nodes.conf*No such file*"
            /tmp "*Can't open /tmp in order to acquire a lock: Is a directory*"} {
        set ended [run_server_to_end [list --port [find_node_port] --dir [tmpdir] \
            --cluster-enabled yes --cluster-config-file $name]]
        assert_equal 1 [dict get $ended status]
        assert_match $said [dict get $ended out]
    }
} undefined {ours}

if {![file executable $faulty]} {
    test {nodes.conf on disks that refuse} {
        skip "no $faulty: make faulty"
    }
} else {
set path [file join [tmpdir nodes] nodes.conf]
with_faulty_server $faulty $rules_file [node_settings $path] {
    foreach rule {
        {fail write ENOSPC 0 1000000 nodes.conf} {fail open EROFS 0 1000000 nodes.conf.tmp}
        {fail fsync EIO 0 1000000 nodes.conf} {fail rename EROFS 0 1000000 nodes.conf}
    } epoch {1 2 3 4} {
        test "A node goes on while nodes.conf cannot be written: [lrange $rule 1 2]" {
            set lines_before [count_log_lines]
            faults $rules_file $rule
            # What promises nothing to other nodes is answered at once, as in 6.2.
            assert_equal OK [r cluster addslots $epoch]
            wait_for_log {*The cluster's configuration cannot be written to */nodes.conf: *} \
                $lines_before
            assert_error {ERR error saving the cluster node config: *} {r cluster saveconfig}
            r cluster setslot $epoch stable
            # A new epoch waits for the disk; other clients do not.
            set other [redis_deferring_client]
            $other cluster reset hard
            $other cluster set-config-epoch $epoch
            assert_equal OK [$other read]
            wait_for_condition 500 10 {[s blocked_clients] == 1} else {
                fail "nobody waits for the disk"
            }
            assert_equal PONG [r ping]
            assert_no_match "*currentEpoch $epoch *" [read_whole $path]
            faults $rules_file
            assert_equal OK [$other read]
            $other close
            assert_match "*currentEpoch $epoch *" [read_whole $path]
            wait_for_log {*The cluster's configuration is on disk again.*} $lines_before
            assert_equal {} [glob -nocomplain $path.*]
        }
    }

    test {A kill while the disk refuses: what was on disk is there} {
        r cluster reset hard
        r cluster set-config-epoch 20
        set id [r cluster myid]
        faults $rules_file {fail write ENOSPC 0 1000000 nodes.conf}
        r cluster addslots 77
        restart_server 0 KILL
        faults $rules_file
        assert_equal $id [r cluster myid]
        assert_match "*myself,master - 0 0 20 connected\n" [r cluster nodes]
    }

    test {A shutdown while the disk refuses says what is lost} {
        r cluster addslots 78
        wait_for_condition 500 10 {[string match "*connected 78*" [read_whole $path]]} else {
            fail "the slot is not written"
        }
        faults $rules_file {fail write ENOSPC 0 1000000 nodes.conf}
        r cluster addslots 79
        restart_server
        faults $rules_file
        assert_match "*What the cluster has changed last is not in */nodes.conf.*" \
            [server_text [server_id 0]]
        assert_match "*connected 78\n" [r cluster nodes]
    }
}
}

# --- TLS -----------------------------------------------------------------------------------------

tags {tls tls:skip ours} {
set tls_port [find_node_port]
set path [tmpfile nodes.conf]
write_whole $path [join [list \
    "$a 127.0.0.1:7001@17001 myself,master - 0 0 1 connected 0-16382" \
    "$b 127.0.0.1:7002@17002 master - 0 0 2 connected 16383" \
    "vars currentEpoch 2 lastVoteEpoch 0" ""] \n]
start_server [list overrides [concat [tls_pairs $tls_port] [list tls-cluster yes cluster-enabled \
    yes cluster-config-file $path cluster-announce-ip 127.0.0.1 cluster-node-timeout 100000000]]] {
    proc own_address {client} {
        regexp -line {^\S+ (\S+) myself} [$client cluster nodes] - address
        return $address
    }

    proc own_port_in_slots {client} {
        return [lindex [$client cluster slots] 0 2 1]
    }

    test {tls-cluster: a client without TLS is told the plain port, one over TLS the other} {
        set carried [tls_client 127.0.0.1 $tls_port]
        set bus [expr {$tls_port + 10000}]
        assert_equal 127.0.0.1:[srv port]@$bus [own_address r]
        assert_equal 127.0.0.1:$tls_port@$bus [own_address $carried]
        assert_equal [srv port] [own_port_in_slots r]
        assert_equal $tls_port [own_port_in_slots $carried]
        r config set cluster-announce-port 6001
        r config set cluster-announce-tls-port 6002
        assert_equal 127.0.0.1:6001@$bus [own_address r]
        assert_equal 127.0.0.1:6002@$bus [own_address $carried]
        assert_equal 6001 [own_port_in_slots r]
        assert_equal 6002 [own_port_in_slots $carried]
        # The file keeps the port over TLS, as 6.2 does.
        r cluster saveconfig
        assert_match "*$a 127.0.0.1:6002@$bus myself*" [read_whole $path]
        # Of a node that nobody has heard yet only that one is known.
        wait_for_condition 1000 10 {[string match *state:ok* [r cluster info]]} else {
            fail "the node stays down"
        }
        foreach client [list r $carried] {
            assert_error "MOVED 16383 127.0.0.1:7002" {$client get k10322}
        }
        $carried close
    }
}
}
