# SPDX-License-Identifier: BSD-3-Clause
# Nodes of a cluster that know each other by nodes.conf files written by hand: where calls are
# served, and what clients are told elsewhere.
#
# Three primaries share the slots, and a replica follows the first one:
#
#   node    level  slots         keys
#   first   -3     0-5460        b  {b}1 ...  slot 3300
#   second  -2     5461-10922    c  {c}1 ...  slot 7365
#   third   -1     10923-16383   a  {a}1 ...  slot 15495
#   copy     0     of `first`

array set ::node_level {first -3 second -2 third -1 copy 0}
set ::node_names {first second third copy}
array set ::node_ids {}
array set ::node_ports {}
foreach name $::node_names digit {1 2 3 4} {
    set ::node_ids($name) [string repeat $digit 40]
    set ::node_ports($name) [find_node_port]
}
set ::node_slots {first 0-5460 second 5461-10922 third 10923-16383}
set ::node_folder [tmpdir nodes]

proc node_line {name myself epoch} {
    set flags [expr {$name eq "copy" ? "slave" : "master"}]
    set primary [expr {$name eq "copy" ? $::node_ids(first) : "-"}]
    set slots [expr {[dict exists $::node_slots $name] ? [dict get $::node_slots $name] : ""}]
    set port $::node_ports($name)
    return [string trimright "$::node_ids($name) 127.0.0.1:$port@[expr {$port + 10000}]\
        [expr {$name eq $myself ? "myself," : ""}]$flags $primary 0 0 $epoch connected $slots"]
}

# What a node is started with.
proc node_settings {name} {
    set lines {}
    set epoch 0
    foreach other $::node_names {
        lappend lines [node_line $other $name [incr epoch]]
    }
    lappend lines "vars currentEpoch $epoch lastVoteEpoch 0" ""
    set file [file join $::node_folder $name.conf]
    write_whole $file [join $lines "\n"]
    return [list overrides [list port $::node_ports($name) cluster-enabled yes \
        cluster-config-file $file cluster-node-timeout 100000000] tags {cluster singleport}]
}

proc on {name args} {
    return [r $::node_level($name) {*}$args]
}

proc moved {slot name} {
    return "MOVED $slot 127.0.0.1:$::node_ports($name)"
}

proc asked {slot name} {
    return "ASK $slot 127.0.0.1:$::node_ports($name)"
}

proc await_ok {name} {
    wait_for_condition 1000 10 {[string match *cluster_state:ok* [on $name cluster info]]} else {
        fail "$name stays down"
    }
}

# Opens a slot between two nodes; closes it at both, where it belongs to the first again.
proc open_slot {slot from to} {
    on $to cluster setslot $slot importing $::node_ids($from)
    on $from cluster setslot $slot migrating $::node_ids($to)
}

proc close_slot {slot from to} {
    foreach name [list $from $to] {
        on $name flushall
        on $name cluster setslot $slot node $::node_ids($from)
        on $name cluster setslot $slot stable
    }
}

# A call, sent on as the nodes say; which node has served it.
proc follow_call {name args} {
    set asks 0
    for {set hops 0} {$hops < 5} {incr hops} {
        if {$asks} {
            on $name asking
        }
        if {![catch {on $name {*}$args} reply]} {
            return $name
        }
        if {![regexp {^(MOVED|ASK) \d+ 127.0.0.1:(\d+)$} $reply - what port]} {
            error $reply
        }
        set asks [expr {$what eq "ASK"}]
        foreach other $::node_names {
            if {$::node_ports($other) == $port} {
                set name $other
            }
        }
    }
    error "redirected too often"
}

proc refusals {name command} {
    regexp "cmdstat_$command:.*?rejected_calls=(\\d+)" [on $name info commandstats] - count
    return $count
}

proc errors_of {name code} {
    if {![regexp "errorstat_$code:count=(\\d+)" [on $name info errorstats] - count]} {
        return 0
    }
    return $count
}

set ::crossed {CROSSSLOT Keys in request don't hash to the same slot}
set ::again {TRYAGAIN Multiple keys request during rehashing of slot}
set ::elsewhere \
    {ERR Error running script (call to f_*): @user_script:1: @user_script: 1: Lua script attempted\
    to access a non local key in a cluster node*}

start_server [node_settings first] {
start_server [node_settings second] {
start_server [node_settings third] {
start_server [node_settings copy] {
    foreach name {first second third} {
        await_ok $name
    }

    test {MOVED names the owner of the slot} {
        foreach {key slot owner} {b 3300 first c 7365 second a 15495 third} {
            foreach name $::node_names {
                if {$name eq $owner} {
                    assert_equal OK [on $name set $key 1]
                } else {
                    assert_error_text [moved $slot $owner] {on $name set $key 1}
                    assert_error_text [moved $slot $owner] {on $name get $key}
                }
            }
            assert_equal 1 [on $owner del $key]
        }
    }

    test {Several keys: one slot, or CROSSSLOT} {
        assert_equal OK [on first mset b 1 {{b}1} 2]
        assert_equal {1 2} [on first mget b {{b}1}]
        assert_error_text $::crossed {on first mget b c}
        assert_error_text $::crossed {on first mget c b}
        assert_error_text $::crossed {on first sunionstore b c}
        assert_error_text $::crossed {on first eval {return 1} 2 b a}
        assert_error_text [moved 7365 second] {on first mget c {{c}1}}
        on first flushall
    }

    test {What names no key is served everywhere} {
        assert_equal PONG [on first ping]
        assert_equal 1 [on first eval {return 1} 0]
        assert_equal {} [on first keys *]
        assert_equal {0 {}} [on first scan 0]
        assert_equal 0 [on first publish c x]
        assert_equal OK [on first unwatch]
        assert_error "ERR wrong number*" {on first get}
        assert_error "ERR syntax error*" {on first zunionstore c 2 x}
        assert_error_text [moved 7365 second] {on first watch c}
    }

    test {A refusal counts as rejected, and by its code} {
        set calls [refusals first get]
        set errors [errors_of first MOVED]
        assert_error "MOVED*" {on first get c}
        assert_equal [expr {$calls + 1}] [refusals first get]
        assert_equal [expr {$errors + 1}] [errors_of first MOVED]
    }

    test {RESP3 clients get the same words} {
        set client [client::connect 127.0.0.1 $::node_ports(first)]
        $client hello 3
        assert_error_text [moved 7365 second] {$client get c}
        assert_error_text $::crossed {$client mget b c}
        $client close
    }

    test {A client that follows MOVED finds each key's node} {
        for {set i 0} {$i < 200} {incr i} {
            set from [lindex $::node_names [expr {$i % 4}]]
            set owner [follow_call $from set key:$i $i]
            assert_not_equal copy $owner
            assert_equal $i [on $owner get key:$i]
        }
        set total 0
        foreach name {first second third} {
            assert_morethan [on $name dbsize] 20
            incr total [on $name dbsize]
            on $name flushall
        }
        assert_equal 200 $total
    }

    test {A slot moves key by key: ASK, ASKING, TRYAGAIN, MIGRATE, MOVED} {
        foreach i {1 2 3} {
            on first set "{b}$i" $i
        }
        open_slot 3300 first second
        assert_equal 1 [on first get {{b}1}]
        assert_equal {1 2} [on first mget {{b}1} {{b}2}]
        assert_error_text [asked 3300 second] {on first get {{b}new}}
        assert_error_text [asked 3300 second] {on first mget {{b}new} {{b}other}}
        assert_error_text $::again {on first mget {{b}1} {{b}new}}
        assert_error_text [moved 3300 first] {on second get {{b}new}}
        assert_equal second [follow_call third set {{b}new} n]

        assert_equal OK [on first migrate 127.0.0.1 $::node_ports(second) {{b}1} 0 60000]
        assert_error_text [asked 3300 second] {on first get {{b}1}}
        assert_error_text $::again {on first mget {{b}1} {{b}2}}
        on second asking
        assert_error_text $::again {on second mget {{b}1} {{b}2}}
        on second asking
        assert_equal {1 n} [on second mget {{b}1} {{b}new}]
        assert_error_text [moved 3300 first] {on second get {{b}1}}
        # MIGRATE asks for no key, and says what there was.
        assert_equal NOKEY [on first migrate 127.0.0.1 $::node_ports(second) {{b}1} 0 60000]
        assert_equal OK [on first migrate 127.0.0.1 $::node_ports(second) {} 0 60000 keys {{b}1} \
            {{b}2} {{b}3}]
        assert_equal 0 [on first dbsize]
        assert_equal 4 [on second cluster countkeysinslot 3300]
        foreach name {second first third} {
            on $name cluster setslot 3300 node $::node_ids(second)
        }
        assert_error_text [moved 3300 second] {on first get {{b}1}}
        assert_error_text [moved 3300 second] {on third get {{b}1}}
        assert_equal {1 2 3 n} [on second mget {{b}1} {{b}2} {{b}3} {{b}new}]
        on second flushall
        foreach name {first second third} {
            on $name cluster setslot 3300 node $::node_ids(first)
        }
        assert_error_text [moved 3300 first] {on second get b}
    }

    test {MIGRATE to a node that imports nothing says what that node says} {
        on first set b 1
        assert_error "ERR Target instance replied with error: MOVED 3300 *" \
            {on first migrate 127.0.0.1 $::node_ports(third) b 0 60000}
        assert_error "ERR Target instance replied with error: ERR SELECT is not allowed*" \
            {on first migrate 127.0.0.1 $::node_ports(third) b 3 60000}
        assert_equal 1 [on first get b]
        assert_error_text $::crossed \
            {on first migrate 127.0.0.1 $::node_ports(third) {} 0 60000 keys b a}
        assert_error_text [moved 15495 third] \
            {on first migrate 127.0.0.1 $::node_ports(third) a 0 60000}
        on first del b
    }

    test {ASKING is for one command, also where that fails} {
        open_slot 3300 first second
        on second asking
        assert_equal OK [on second set b 1]
        foreach {command reply} {ping PONG nothing "ERR unknown*" get "ERR wrong*" "get a" MOVED*} {
            on second asking
            catch {on second {*}$command} said
            assert_match $reply $said
            assert_error_text [moved 3300 first] {on second get b}
        }
        on second asking
        on second multi
        on second get b
        on second set b 2
        assert_equal {1 OK} [on second exec]
        assert_error_text [moved 3300 first] {on second get b}
        on second asking
        assert_equal 2 [on second eval {return redis.call('get', KEYS[1])} 1 b]
        close_slot 3300 first second
    }

    test {MULTI: refused commands abort, and EXEC is redirected as a whole} {
        on first multi
        assert_error_text [moved 7365 second] {on first get c}
        assert_error "EXECABORT*" {on first exec}
        set calls [refusals first exec]
        on first multi
        on first set b 1
        on second multi
        on second set c 1
        # Another connection takes the slots away meanwhile.
        set one [client::connect 127.0.0.1 $::node_ports(first)]
        $one cluster setslot 3300 node $::node_ids(third)
        assert_error_text [moved 3300 third] {on first exec}
        assert_error "ERR EXEC without MULTI" {on first exec}
        assert_equal [expr {$calls + 1}] [refusals first exec]
        $one cluster setslot 3300 node $::node_ids(first)
        $one close
        assert_equal OK [on second exec]
        assert_equal 0 [on first exists b]
        on second flushall
    }

    test {EXEC of keys in two slots of this node is CROSSSLOT} {
        on first multi
        on first set b 1
        on first set f 1
        assert_error_text $::crossed {on first exec}
        assert_equal 0 [on first dbsize]
    }

    test {Scripts: keys that are declared, and each call} {
        assert_error_text [moved 7365 second] {on first eval {return 1} 1 c}
        assert_error $::elsewhere {on first eval {return redis.call('get', 'c')} 0}
        assert_error $::elsewhere {on first eval {return redis.call('mget', 'b', 'c')} 1 b}
        # Undeclared keys of this node, of several slots, may be used.
        assert_equal OK [on first eval {
            redis.call('set', 'f', 'x')
            return redis.call('set', 'b', 'y')
        } 0]
        assert_equal 2 [on first dbsize]
        open_slot 3300 first second
        assert_error $::elsewhere {on first eval {return redis.call('get', '{b}none')} 1 b}
        assert_equal y [on first eval {return redis.call('get', 'b')} 1 b]
        close_slot 3300 first second
    }

    test {Clients that wait for a key are told when its slot goes, and stay connected} {
        set waiting {}
        foreach command {{blpop b 0} {bzpopmin b 0} {xread block 0 streams b $} \
                {brpoplpush b {{b}1} 0}} {
            set client [client::connect 127.0.0.1 $::node_ports(first) deferred]
            $client {*}$command
            lappend waiting $client
        }
        wait_for_condition 500 10 {[s -3 blocked_clients] == 4} else {
            fail "they do not wait"
        }
        open_slot 3300 first second
        after 20
        assert_equal 4 [s -3 blocked_clients]
        on first cluster setslot 3300 node $::node_ids(second)
        foreach client $waiting {
            assert_error_text [moved 3300 second] {$client read}
            $client ping
            assert_equal PONG [$client read]
        }
        # Where the slot is imported they wait for it.
        on first cluster setslot 3300 importing $::node_ids(second)
        set client [lindex $waiting 0]
        $client asking
        $client blpop b 0
        assert_equal OK [$client read]
        wait_for_condition 500 10 {[s -3 blocked_clients] == 1} else {
            fail "it does not wait"
        }
        on first asking
        on first rpush b x
        assert_equal {b x} [$client read]
        foreach client $waiting {
            $client close
        }
        on first cluster setslot 3300 node $::node_ids(first)
        on second cluster setslot 3300 node $::node_ids(first)
        on second cluster setslot 3300 stable
        on first flushall
    }

    test {READONLY: a replica answers reads of its primary's slots} {
        on first mset b 1 {{b}1} 2
        wait_for_condition 1000 10 {[s 0 master_link_status] eq "up"} else {
            fail "the replica does not follow its primary"
        }
        wait_for_condition 1000 10 {[on copy dbsize] == 2} else {
            fail "the copy is not there"
        }
        set client [client::connect 127.0.0.1 $::node_ports(copy)]
        assert_error_text [moved 3300 first] {$client get b}
        $client client setname reader
        assert_equal OK [$client readonly]
        assert_equal 1 [$client get b]
        assert_equal {1 2} [$client mget b {{b}1}]
        assert_match "*name=reader*flags=r *" [$client client list]
        assert_error_text [moved 3300 first] {$client set b 2}
        assert_error_text [moved 3300 first] {$client sort b}
        assert_equal 0 [$client pfcount {{b}2}]
        assert_error_text [moved 7365 second] {$client get c}
        $client multi
        $client get b
        assert_equal 1 [$client exec]
        $client multi
        assert_error_text [moved 3300 first] {$client set b 2}
        assert_error "EXECABORT*" {$client exec}
        assert_equal 1 [$client eval {return redis.call('get', KEYS[1])} 1 b]
        assert_error $::elsewhere {$client eval {return redis.call('get', 'c')} 1 b}
        # A script's call is asked about the replica first.
        assert_error "*-READONLY You can't write*" \
            {$client eval {return redis.call('set', KEYS[1], 2)} 1 b}
        assert_equal OK [$client readwrite]
        assert_error_text [moved 3300 first] {$client get b}
        $client readonly
        $client reset
        assert_error_text [moved 3300 first] {$client get b}
        $client close
        on first flushall
    }

    test {What a cluster refuses} {
        assert_equal OK [on first select 0]
        assert_error_text "ERR SELECT is not allowed in cluster mode" {on first select 1}
        assert_error_text "ERR SELECT is not allowed in cluster mode" {on first select -1}
        assert_error_text "ERR value is not an integer or out of range" {on first select x}
        assert_error_text "ERR MOVE is not allowed in cluster mode" {on first move b 1}
        assert_error_text [moved 7365 second] {on first move c 1}
        assert_error_text "ERR SWAPDB is not allowed in cluster mode" {on first swapdb x 1}
        assert_error_text "ERR Copying to another database is not allowed in cluster mode" \
            {on first copy b {{b}1} db 1}
        assert_equal 0 [on first copy b {{b}1} db 0]
        assert_error_text "ERR DB index is out of range" {on first copy b {{b}1} db 99}
        foreach command {{replicaof no one} {slaveof no one} {replicaof 127.0.0.1 1}} {
            assert_error_text "ERR REPLICAOF not allowed in cluster mode." {on first {*}$command}
        }
        assert_error_text "ERR FAILOVER not allowed in cluster mode. Use CLUSTER FAILOVER command\
            instead." {on first failover}
        on first rpush b 2 1
        assert_error_text "ERR BY option of SORT denied in Cluster mode." {on first sort b by w_*}
        assert_error_text "ERR GET option of SORT denied in Cluster mode." {on first sort b get #}
        assert_equal {1 2} [on first sort b]
        assert_equal {2 1} [on first sort b by nosort]
        on first flushall
    }

    test {A cluster that is down serves nobody, or reads only} {
        on first config set cluster-require-full-coverage yes
        on first set b 1
        set waiting [client::connect 127.0.0.1 $::node_ports(first) deferred]
        $waiting blpop "{b}list" 0
        wait_for_condition 500 10 {[s -3 blocked_clients] == 1} else {
            fail "it does not wait"
        }
        on first cluster delslots 16023
        assert_error_text "CLUSTERDOWN The cluster is down" {$waiting read}
        $waiting close
        wait_for_condition 500 10 {[string match *state:fail* [on first cluster info]]} else {
            fail "the state stays ok"
        }
        assert_error_text "CLUSTERDOWN The cluster is down" {on first get b}
        assert_error_text "CLUSTERDOWN Hash slot not served" {on first get p}
        assert_equal PONG [on first ping]
        assert_error "*Lua script attempted to execute a command while the cluster is down*" \
            {on first eval {return redis.call('get', 'b')} 0}
        on first config set cluster-allow-reads-when-down yes
        assert_equal 1 [on first get b]
        assert_error_text [moved 7365 second] {on first get c}
        assert_error_text "CLUSTERDOWN The cluster is down and only accepts read commands" \
            {on first set b 2}
        assert_error "*Lua script attempted to execute a write command while the cluster is down\
            and readonly*" {on first eval {return redis.call('set', 'b', '2')} 0}
        on first config set cluster-allow-reads-when-down no
        on first config set cluster-require-full-coverage no
        await_ok first
        assert_error_text "CLUSTERDOWN Hash slot not served" {on first get p}
        on first cluster setslot 16023 node $::node_ids(third)
        on first flushall
    }
}
}
}
}
