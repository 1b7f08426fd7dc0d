# SPDX-License-Identifier: BSD-3-Clause
# Being a replica, with servers of one kind: copies, the stream, cut links, chains, roles, and what
# clients of a replica may do.

proc write_some {count} {
    for {set i 0} {$i < $count} {incr i} {
        set key key:[expr {int(rand() * 50)}]
        switch [expr {int(rand() * 6)}] {
            0 {r -2 set s$key [string repeat x [expr {int(rand() * 300)}]]}
            1 {r -2 rpush l$key $i}
            2 {r -2 sadd e$key $i}
            3 {r -2 spop e$key}
            4 {r -2 eval {redis.call('incr', KEYS[1]) return redis.call('lpush', KEYS[2], 'x')} \
                2 n$key l$key}
            5 {r -2 multi; r -2 incr n$key; r -2 del s$key; r -2 exec}
        }
    }
}

set quick {save "" repl-diskless-sync-delay 0}

foreach {name primary_options replica_options} {
    "by files" {repl-diskless-sync no} {repl-diskless-load disabled}
    "by the child's pipe, to a file" {repl-diskless-sync yes} {repl-diskless-load disabled}
    "by the child's pipe, straight in" {repl-diskless-sync yes} {repl-diskless-load swapdb}
    "with logs" {repl-diskless-sync no appendonly yes} {appendonly yes}
} {
    start_server [list tags {repl} overrides [concat $quick $primary_options]] {
    start_server [list overrides [concat $quick $replica_options]] {
    start_server [list overrides [concat $quick $replica_options]] {
        test "A chain of three, $name: the same data at rest, whatever is cut" {
            write_some 200
            r -1 set old 1
            follow -1 -2
            follow 0 -1
            assert_equal 0 [r -1 exists old]
            for {set round 0} {$round < 4} {incr round} {
                write_some 150
                switch $round {
                    0 {r -2 client kill type replica}
                    1 {r -1 client kill type replica}
                    2 {r -1 client kill type master}
                }
                write_some 50
                await_link -1
                await_link 0
                await_same -2 -1 0
            }
            foreach level {-2 -1 0} {await_log $level}
            assert_equal 1 [s -2 sync_full]
            assert_equal 1 [s -1 sync_full]
        }
    }
    }
    }
}

start_server [list tags {repl} overrides $quick] {
start_server [list overrides $quick] {
    test {What a replica says of itself, and what it refuses} {
        follow 0 -1
        assert_equal slave [s role]
        assert_equal [srv -1 port] [s master_port]
        assert_match {slave * connected *} [r role]
        assert_match {*flags=M*} [r client list type master]
        assert_error {READONLY*} {r set a 1}
        assert_error {*READONLY*} {r eval {return redis.call('set', KEYS[1], 1)} 1 a}
        r multi
        assert_error {READONLY*} {r set a 1}
        assert_error {EXECABORT*} {r exec}
        assert_error {*replica instances*} {r wait 1 0}
        assert_equal "[srv -1 host] [srv -1 port]" [lindex [r config get replicaof] 1]
        assert_match {OK Already*} [r replicaof [srv -1 host] [srv -1 port]]
    }

    test {What it refuses it refuses as a replica, whatever its disk and its own replicas} {
        r replicaof no one
        r set a 1
        r config set min-replicas-to-write 1
        set file [lindex [r config get dbfilename] 1]
        set save [lindex [r config get save] 1]
        set blocked [file join [lindex [r config get dir] 1] blocked.rdb]
        file mkdir $blocked
        r config set dbfilename blocked.rdb
        r config set save "3600 1"
        r bgsave
        wait_for_condition 500 20 {[s rdb_last_bgsave_status] eq {err}} else {fail "it is saved"}
        assert_error {MISCONF *} {r set a 1}
        assert_error {MISCONF *} {r ping}
        r config set stop-writes-on-bgsave-error no
        assert_error {NOREPLICAS*} {r set a 1}
        r config set stop-writes-on-bgsave-error yes
        r replicaof [srv -1 host] [srv -1 port]
        assert_error {READONLY*} {r set a 1}
        assert_equal PONG [r ping]
        r config set replica-read-only no
        assert_equal OK [r set a 1]
        assert_error {*MISCONF*} {r eval {return redis.call('set', KEYS[1], 1)} 1 a}
        r config set replica-read-only yes
        r config set save {}
        assert_error {READONLY*} {r set a 1}
        r replicaof no one
        assert_error {NOREPLICAS*} {r set a 1}
        r config set min-replicas-to-write 0
        r config set dbfilename $file
        file delete $blocked
        r save
        r config set save $save
        follow 0 -1
    }

    test {Keys that are due are hidden on a replica until its primary deletes them} {
        r -1 debug set-active-expire 0
        r -1 set due 1 px 1
        r -1 set other 1
        wait_for_condition 1000 10 {[r get other] == 1} else {fail "it does not come"}
        wait_for_condition 1000 10 {[r get due] eq {}} else {fail "it is shown"}
        assert_equal 2 [r dbsize]
        r -1 get due
        wait_for_condition 1000 10 {[r dbsize] == 1} else {fail "it is not deleted"}
        r -1 debug set-active-expire 1
    }

    test {WAIT counts a replica that has acknowledged} {
        r -1 incr n
        assert_equal 1 [r -1 wait 1 300000]
    }

    test {Without a link, stale data is refused where that is wanted} {
        r config set replica-serve-stale-data no
        r -1 config set maxclients 1
        r client kill type master
        wait_for_condition 1000 10 {[s master_link_status] eq "down"} else {fail "still up"}
        assert_error {MASTERDOWN*} {r get n}
        assert_equal PONG [r ping]
        r config set replica-serve-stale-data yes
        assert_equal 1 [r get n]
        r -1 config set maxclients 1000
        await_link 0
    }

    test {A writable replica deletes the keys that its clients gave a deadline} {
        r config set replica-read-only no
        r set own 1 px 1
        wait_for_condition 1000 10 {[s slave_expires_tracked_keys] == 0} else {
            fail "[s slave_expires_tracked_keys] keys"
        }
        r config set replica-read-only yes
    }

    test {The promoted one goes on, and its primary follows it without a copy} {
        r -1 del own
        await_same -1 0
        set id [s master_replid]
        r replicaof no one
        assert_equal $id [s master_replid2]
        set copies [s sync_full]
        follow -1 0
        r set new 1
        await_same -1 0
        assert_equal $copies [s sync_full]
        assert_equal [s master_replid] [s -1 master_replid]
    }

    test {Clients that wait when their server becomes a replica are told} {
        set waiting [redis_deferring_client]
        $waiting blpop nothing 0
        wait_for_condition 1000 10 {[s blocked_clients] == 1} else {fail "it does not wait"}
        r -1 replicaof no one
        follow 0 -1
        assert_error {UNBLOCKED*} {$waiting read}
        $waiting close
    }
}
}

start_server [list tags {repl} overrides $quick] {
    test {A primary that is not there, or is no such server} {
        r replicaof 127.0.0.1 1
        wait_for_condition 1000 10 {[s master_link_status] eq "down"} else {fail "up?"}
        assert_equal -1 [s master_link_down_since_seconds]
        r replicaof no one
        assert_equal master [s role]
        r set a 1
    }
}

# A primary's command is found by the name that it has here, as anybody's.
start_server [list tags {repl} overrides $quick] {
start_server [list overrides [concat $quick {rename-command {SET put}}]] {
    test {What this replica calls otherwise does not run, and the link goes on} {
        follow 0 -1
        assert_equal OK [r -1 set a 1]
        assert_equal 1 [r -1 incr counter]
        r -1 multi
        r -1 incr within
        r -1 set b 1
        assert_equal {1 OK} [r -1 exec]
        assert_equal 2 [r -1 incr counter]
        wait_for_condition 1000 10 {[s master_repl_offset] == [s -1 master_repl_offset]} else {
            fail "the replica is behind: [s master_repl_offset] of [s -1 master_repl_offset]"
        }
        assert_equal 2 [r get counter]
        assert_equal 0 [r exists a b within]
        # SET, SET, and the EXEC around it.
        assert_equal 3 [s unexpected_error_replies]
        assert_equal up [s master_link_status]
        assert_error {ERR unknown command*} {r set a 1}
    }
}
}

# The primary knows a replica by the address that clients know it by.
start_server [list tags {repl} overrides $quick] {
start_server [list overrides $quick] {
    test {The link comes from the first address of the option bind} {
        foreach {addresses source} {
            {127.0.0.2 127.0.0.1} 127.0.0.2
            {127.0.0.1 127.0.0.2} 127.0.0.1
            {-127.0.0.2 127.0.0.1} 127.0.0.1
            {0.0.0.0} 127.0.0.1
        } {
            assert_equal OK [r config set bind $addresses]
            follow 0 -1
            assert_match "slave0:ip=$source,*" [lsearch -inline [split [r -1 info replication] \n] \
                slave0:*] $addresses
            r replicaof no one
            wait_for_condition 1000 10 {[s -1 connected_slaves] == 0} else {
                fail "the primary keeps a replica that has gone"
            }
        }
    }

    tests_where [has_ipv6] "no IPv6" {
        test {... and from any where the primary cannot be reached from that one} {
            assert_equal OK [r config set bind "::1 127.0.0.1"]
            follow 0 -1
            assert_match "*slave0:ip=127.0.0.1,*" [r -1 info replication]
        }
    }
}
}

start_server [list tags {repl} overrides $quick] {
start_server [list overrides $quick] {
    # The median: a machine that pauses now and then does not do so in half of the rounds.
    proc rounds_msec {} {
        for {set i 0} {$i < 15} {incr i} {
            set begin [clock microseconds]
            r -1 set a $i
            assert_equal 1 [r -1 wait 1 0]
            lappend took [expr {([clock microseconds] - $begin) / 1000.0}]
        }
        return [lindex [lsort -real $took] 7]
    }

    test {Nothing is left of a large value's way through the stream, though nothing follows it} {
        foreach level {-1 0} {
            r $level config set repl-timeout 7200
            r $level config set repl-ping-replica-period 3600
        }
        follow 0 -1
        r -1 set large [string repeat x 16000000]
        await_same -1 0
        wait_for_condition 500 10 {[s used_memory] < [s -1 used_memory] + 4000000} else {
            fail "[s used_memory], the primary [s -1 used_memory]: [r memory stats]"
        }
        r -1 del large
    }

    test {WAIT, and what follows it, is answered when the replica is, not when the cron comes} {
        follow 0 -1
        foreach turn {1 2 3} {
            r -1 config set hz 500
            lappend often [rounds_msec]
            r -1 config set hz 1
            lappend seldom [rounds_msec]
        }
        set limit [expr {20 * [lindex [lsort -real $often] end]}]
        assert_lessthan [lindex [lsort -real $seldom] 0] $limit "(milliseconds a round)"
    }
}
}

# Its acknowledgements are heard meanwhile: when the script has ended the primary has heard of it
# lately.
start_server [list tags {repl} overrides [concat $quick {repl-timeout 3 lua-time-limit 20}]] {
    start_server [list overrides $quick] {
        test {A primary that is busy in a script for longer than repl-timeout keeps its replica} {
            follow 0 -1
            r -1 set before 1
            set client [redis_deferring_client -1]
            $client eval {while true do end} 0
            wait_for_condition 500 20 {[catch {r -1 ping} reply] && [string match BUSY* $reply]} \
                    else {
                fail "the script does not count as slow"
            }
            after 4500
            r -1 script kill
            catch {$client read}
            $client close
            r -1 set after 1
            wait_for_condition 500 20 {[r exists after]} else {
                fail "the replica does not hear of what came after the script"
            }
            # Replicas that were silent for too long are dropped once a second.
            set second [lindex [r -1 time] 0]
            wait_for_condition 500 20 {[lindex [r -1 time] 0] > $second + 2} else {
                fail "time stands still"
            }
            assert_equal 1 [s -1 sync_full]
            assert_equal 0 [s -1 sync_partial_ok]
        }
    }
}

# --- a copy that comes to a file ---------------------------------------------------------------

proc half_copies {{folder {}}} {
    if {$folder eq ""} {set folder [srv 0 dir]}
    glob -nocomplain -directory $folder temp-*.rdb
}

# The copy comes to the replica as slowly as its primary saves it.
proc begin_slow_copy {} {
    r -1 config set rdb-key-save-delay 10000
    r replicaof [srv -1 host] [srv -1 port]
    wait_for_condition 1000 10 {[llength [half_copies]] == 1} else {fail "no copy comes"}
}

set slow [concat $quick {repl-diskless-sync yes}]

start_server [list tags {repl ours} overrides $slow] {
start_server [list overrides $slow] {
    r -1 debug populate 300
    r set old 1

    # 6.2 loses the old data, since it looks for the copy in the new folder.
    test {A copy that comes while dir changes is found where it is} {
        set before [srv 0 dir]
        set after [tmpdir elsewhere]
        begin_slow_copy
        r config set dir $after
        assert_equal 1 [r exists old]
        await_link 0
        await_same -1 0
        assert_equal 1 [s -1 sync_full]
        assert_equal {} [half_copies $before]
        assert_equal {} [half_copies $after]
        assert_equal 1 [file exists [file join $before dump.rdb]]
        r config set dir $before
    }

    test {A copy that cannot be read takes nothing away} {
        r replicaof no one
        r set old 1
        r -1 set key:new 1
        begin_slow_copy
        file delete [half_copies]
        wait_for_log {*Opening the received copy: No such file or directory*}
        assert_equal 1 [r exists old]
        r -1 config set rdb-key-save-delay 0
        await_link 0
        await_same -1 0
    }

    test {Of a copy that has come by half nothing is left at the end} {
        r replicaof no one
        r -1 set key:newer 1
        begin_slow_copy
        restart_server 0
        assert_equal {} [half_copies]
    }
}
}
