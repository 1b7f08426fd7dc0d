# SPDX-License-Identifier: BSD-3-Clause
# Snapshots: saved, loaded at start, damaged ones, children, save points, the end.

proc fill {} {
    r select 9
    r flushall
    r set int 1 ex 100000
    r set text [string repeat abc 5000]
    r rpush list a 1 [string repeat y 9000]
    r sadd set a b c
    r sadd intset 1 2 3
    r hset hash f v
    r zadd zset 1.5 a 2 b
    for {set i 0} {$i < 1000} {incr i} {
        r sadd bigset $i:x
        r zadd bigzset $i $i
        r hset bighash $i:f $i
    }
    r xadd stream 1-1 f v
    r xgroup create stream g 0
    r xreadgroup group g c streams stream >
    r select 3
    r set other database
    r select 9
}

# The pid of the one child that saves.
proc saving_child {} {
    wait_for_condition 500 20 {[llength [set children [children_of [srv pid]]]] == 1} else {
        fail "the server's children: $children"
    }
    return [lindex $children 0]
}

proc dump_file {} {
    return [file join [lindex [r config get dir] 1] dump.rdb]
}

# The sockets that two processes hold both.
proc sockets_in_common {a b} {
    foreach pid [list $a $b] {
        foreach fd [glob -nocomplain /proc/$pid/fd/*] {
            if {![catch {file readlink $fd} to] && [string match socket:* $to]} {
                lappend holders($to) $pid
            }
        }
    }
    set common {}
    foreach {socket pids} [array get holders] {
        if {[llength [lsort -unique $pids]] == 2} {
            lappend common $socket
        }
    }
    return $common
}

proc last_load_error {} {
    set lines [split [server_text [server_id 0]] \n]
    return [lindex [lsearch -all -inline $lines {*Error loading the snapshot*}] end]
}

start_server {} {
    test {DEBUG RELOAD NOSAVE of a file that cannot be opened loses nothing} {
        fill
        set digest [r debug digest]
        with_config {dbfilename none.rdb} {
            assert_error_text {ERR Error trying to load the RDB dump} {r debug reload nosave}
        }
        assert_equal $digest [r debug digest]
    } {} {ours}

    test {DEBUG RELOAD keeps everything, a key that is due goes} {
        fill
        set digest [r debug digest]
        assert_equal OK [r debug reload]
        assert_equal $digest [r debug digest]
        assert_range [r ttl int] 1 100000
        assert_equal ziplist [r object encoding hash]
        r set more 1
        assert_equal OK [r debug reload nosave]
        assert_equal $digest [r debug digest]
        r set more 1
        assert_equal OK [r debug reload nosave noflush merge]
        assert_equal 1 [r get more]
        assert_error {ERR DEBUG RELOAD only supports*} {r debug reload nosuch}
        r del more
        r debug set-active-expire 0
        set keys [r dbsize]
        r multi
        r set short 1 px 50
        r save
        assert_equal {OK OK} [r exec]
        after 60
        set lines [count_log_lines]
        assert_equal OK [r debug reload nosave]
        wait_for_log {*keys expired: 1[,.]*} $lines
        assert_equal $keys [r dbsize]
        r debug set-active-expire 1
        assert_equal $digest [r debug digest]
        # Both directions of a limit.
        r config set hash-max-ziplist-entries 0
        assert_equal OK [r debug reload]
        assert_equal hashtable [r object encoding hash]
        r config set hash-max-ziplist-entries 512
        assert_equal OK [r debug reload]
        assert_equal ziplist [r object encoding hash]
        assert_equal $digest [r debug digest]
    }

    test {A snapshot is whole with any number of threads, and so is that of a child} {
        fill
        r select 0
        r debug populate 20000 key 100
        r debug populate 3000 long 3000
        r setex volatile 100000 [string repeat z 2000]
        # Larger than what is handed over at once, each in another way.
        r set [string repeat k 100000] value
        r set large [string repeat 0123456789abcdef 200000]
        r config set rdbcompression no
        for {set i 0} {$i < 100} {incr i} {r rpush mylist [string repeat $i 4000]}
        set digest [r debug digest]
        foreach threads {0 1 4} compression {no no yes} {
            r config set snapshot-threads $threads
            r config set rdbcompression $compression
            assert_equal OK [r debug reload]
            assert_equal $digest [r debug digest]
            r set mark $threads
            r bgsave
            wait_for_condition 600 100 {[s rdb_bgsave_in_progress] == 0} else {
                fail "the child does not end"
            }
            assert_equal ok [s rdb_last_bgsave_status]
            assert_equal OK [r debug reload nosave]
            assert_equal $threads [r get mark]
            r del mark
            assert_equal $digest [r debug digest]
        }
    } {} {ours}

    # Keys wait for their place while others are read: those before a second one of a name are
    # there, however near it is.
    test {A file that has a key twice is refused where that stands} {
        r select 0
        foreach between {0 1 14 15 16 17 200} {
            set bytes "REDIS0009\xfe\x00"
            for {set i 0} {$i <= $between} {incr i} {
                append bytes "\x00" [binary format c [string length k$i]] k$i "\x01v"
            }
            append bytes "\x00\x02k0\x01w"
            set fault [string length $bytes]
            append bytes "\x00\x05later\x01v\xff" [string repeat "\x00" 8]
            write_whole [dump_file] $bytes
            assert_error {ERR Error trying to load the RDB dump*} {r debug reload nosave}
            set place "at offset $fault, after [expr {$between + 1}] keys"
            assert_match "*$place: RDB has duplicated key 'k0' in DB 0*" [last_load_error]
            assert_equal v [r get k0]
            assert_equal [expr {$between + 1}] [r dbsize]
        }
        r flushall
        assert_equal OK [r save]
    } {} {ours}

    test {SAVE, a new start, LASTSAVE} {
        fill
        set digest [r debug digest]
        assert_equal OK [r save]
        assert_equal 0 [s rdb_changes_since_last_save]
        assert_range [r lastsave] [expr {[clock seconds] - 100}] [expr {[clock seconds] + 1}]
        restart_server
        r select 9
        assert_equal $digest [r debug digest]
        assert_equal 0 [s rdb_changes_since_last_save]
    }

    test {recency stays} {
        r config set maxmemory-policy allkeys-lfu
        # A minute may end at any time.
        r config set lfu-decay-time 0
        r restore frequent 0 [r dump int] freq 200
        r debug reload
        assert_equal 200 [r object freq frequent]
        r config set maxmemory-policy allkeys-lru
        r restore idle 0 [r dump int] idletime 5000
        r debug reload
        assert_range [r object idletime idle] 5000 5900
        r config set maxmemory-policy noeviction
    }

    test {BGSAVE} {
        fill
        set digest [r debug digest]
        assert_equal {Background saving started} [r bgsave]
        wait_for_condition 500 20 {[s rdb_bgsave_in_progress] == 0} else {
            fail "the child does not end"
        }
        assert_equal ok [s rdb_last_bgsave_status]
        assert_equal 0 [s rdb_changes_since_last_save]
        assert_equal OK [r debug reload nosave]
        assert_equal $digest [r debug digest]
        assert_equal {} [glob -nocomplain [file dirname [dump_file]]/temp-*.rdb]
    }

    test {What a save that was cut short has left is told of at the start} {
        set lines [count_log_lines]
        restart_server
        wait_for_log {*Ready to accept connections*} $lines
        assert_no_match {*cut short*} \
            [join [lrange [split [server_text [server_id 0]] \n] $lines end] \n]
        set left {}
        foreach name {temp-999999999.rdb temp-rewriteaof-bg-999999999.aof temp-none.txt} {
            lappend left [file join [srv dir] $name]
            close [open [lindex $left end] w]
        }
        set lines [count_log_lines]
        restart_server
        wait_for_log {*2 temporary files of a save that was cut short*999999999.*} $lines
        file delete {*}$left
    }

    test {BGSAVE: one child at a time, and one that is killed} {
        r config set rdb-key-save-delay 1000000
        r bgsave
        assert_error_text {ERR Background save already in progress} {r bgsave}
        assert_error_text {ERR Background save already in progress} {r save}
        assert_error_text {ERR Background save already in progress} {r bgsave schedule}
        assert_error_text {ERR syntax error} {r bgsave nosuch}
        assert_equal 1 [s rdb_bgsave_in_progress]
        exec kill -9 [saving_child]
        wait_for_condition 500 20 {[s rdb_bgsave_in_progress] == 0} else {
            fail "the child does not end"
        }
        assert_equal err [s rdb_last_bgsave_status]
        assert_equal {} [glob -nocomplain [file dirname [dump_file]]/temp-*.rdb]
        # Without save points nobody is refused.
        assert_equal OK [r set key value]
        r config set save "3600 1"
        assert_error {MISCONF *} {r set key value}
        r config set stop-writes-on-bgsave-error no
        assert_equal OK [r set key value]
        r config set stop-writes-on-bgsave-error yes
        assert_error {MISCONF *} {r set key value}
        r config set rdb-key-save-delay 0
        assert_equal OK [r save]
        assert_equal OK [r set key value]
        r config set save {}
    } undefined {needs:fork}

    test {BGSAVE: what is changed while the child saves is not saved} {
        r flushall
        r mset a 1 b 2
        r config set rdb-key-save-delay 50000
        r bgsave
        r set key later
        r incr number
        r config set rdb-key-save-delay 0
        wait_for_condition 500 20 {[s rdb_bgsave_in_progress] == 0} else {
            fail "the child does not end"
        }
        assert_equal ok [s rdb_last_bgsave_status]
        assert_equal 2 [s rdb_changes_since_last_save]
    }

    # What io/child's observers do in the child of a whole server.
    test {a child that saves: its title, its score, its sockets, what INFO says of it} {
        fill
        r config set oom-score-adj-values {0 10 77}
        r config set oom-score-adj relative
        set own [read_whole /proc/[s process_id]/oom_score_adj]
        r config set rdb-key-save-delay 1000000
        r bgsave
        set child [saving_child]
        wait_for_condition 500 20 {
            [string match "*redis-rdb-bgsave*" [read_whole /proc/$child/cmdline]]
        } else {
            fail "its title: [read_whole /proc/$child/cmdline]"
        }
        wait_for_condition 500 20 {
            [read_whole /proc/$child/oom_score_adj] == min($own + 77, 1000)
        } else {
            fail "its score: [read_whole /proc/$child/oom_score_adj], $own"
        }
        assert_equal {} [sockets_in_common $child [s process_id]]
        assert_morethan [s current_save_keys_total] 9
        assert_equal 1 [s rdb_bgsave_in_progress]
        assert_morethan_equal [s rdb_current_bgsave_time_sec] 0
        assert_morethan [s latest_fork_usec] 0
        exec kill -9 $child
        wait_for_condition 500 20 {[s rdb_bgsave_in_progress] == 0} else {
            fail "the child does not end"
        }
        assert_equal 0 [s current_save_keys_total]
        assert_equal -1 [s rdb_current_bgsave_time_sec]
        r config set rdb-key-save-delay 0
        r config set oom-score-adj no
        r bgsave
        wait_for_condition 500 20 {[s rdb_bgsave_in_progress] == 0} else {
            fail "the child does not end"
        }
        assert_morethan [s rdb_last_cow_size] 0
    } {} {ours needs:fork}

    test {A snapshot that cannot take its place: the log has both names} {
        set name [lindex [r config get dbfilename] 1]
        file mkdir [file join [lindex [r config get dir] 1] a-folder]
        set lines [count_log_lines]
        r config set dbfilename a-folder
        assert_error {ERR*} {r save}
        r config set dbfilename $name
        wait_for_log {*temp DB file *temp-*.rdb on the final destination a-folder*} $lines
        assert_equal OK [r save]
    }

    test {BGSAVE within EXEC comes after it} {
        r multi
        r bgsave
        r set key other
        assert_equal {{Background saving scheduled} OK} [r exec]
        wait_for_condition 500 20 {[s rdb_changes_since_last_save] == 0} else {
            fail "nothing is saved"
        }
    } {} {ours}

    test {A child's file goes where it stands, though `dir` is another folder now} {
        r config set save {}
        fill
        set before [config_get dir]
        set after [tmpdir moved]
        r config set rdb-key-save-delay 1000000
        foreach how {killed flushed} {
            r debug populate 100
            set from [count_log_lines]
            r bgsave
            regexp {started by pid (\d+)} [wait_for_log "*saving started by pid*" $from] -> pid
            set temporary [file join $before temp-$pid.rdb]
            wait_for_condition 500 20 {[file exists $temporary]} else {
                fail "no $temporary"
            }
            r config set dir $after
            set other [file join $after temp-$pid.rdb]
            close [open $other w]
            if {$how eq "killed"} {
                exec kill -KILL $pid
            } else {
                r flushall
            }
            wait_for_condition 500 20 {
                [s rdb_bgsave_in_progress] == 0 && ![file exists $temporary]
            } else {
                fail "$temporary stays ($how)"
            }
            assert_equal 1 [file exists $other] $how
            r config set dir $before
        }
        r config set rdb-key-save-delay 0
    } undefined {ours needs:fork}

    test {FLUSHALL ends a child that saves, and with save points empties the file} {
        r config set save {}
        fill
        r save
        set size [file size [dump_file]]
        r config set rdb-key-save-delay 1000000
        r bgsave
        assert_equal 1 [s rdb_bgsave_in_progress]
        r flushall
        wait_for_condition 500 20 {[s rdb_bgsave_in_progress] == 0} else {
            fail "the child does not end"
        }
        assert_equal {} [glob -nocomplain [file dirname [dump_file]]/temp-*.rdb]
        assert_equal $size [file size [dump_file]]
        r set key value
        r config set save "3600 1"
        r flushall
        assert_lessthan [file size [dump_file]] 200
        assert_morethan [s rdb_changes_since_last_save] 0
        assert_equal ok [s rdb_last_bgsave_status]
        r config set save {}
        r config set rdb-key-save-delay 0
    }

    test {FLUSHDB leaves a child that saves alone} {
        fill
        r config set rdb-key-save-delay 1000000
        r bgsave
        r select 3
        r flushdb
        r select 9
        assert_equal 1 [s rdb_bgsave_in_progress]
        r config set rdb-key-save-delay 0
        r flushall
        wait_for_condition 500 20 {[s rdb_bgsave_in_progress] == 0} else {
            fail "the child does not end"
        }
    }

    test {a save point} {
        r save
        r config set save "1 3"
        r set a 1
        r set b 2
        r set c 3
        wait_for_condition 500 20 {[s rdb_changes_since_last_save] == 0} else {
            fail "nothing is saved"
        }
        r config set save {}
    }

    # Each file is loaded whole, or is refused with a reason; the server goes on.
    test {damaged files} {
        fill
        r save
        set good [read_whole [dump_file]]
        set size [string length $good]
        foreach {bytes reason} [list \
            {} {*Unexpected EOF*} \
            NOTREDIS0009 {*Wrong signature*} \
            [string replace $good 5 8 0010] {*Can't handle RDB format version 0010*} \
            [string range $good 0 end-9] {*Unexpected EOF*} \
            [string range $good 0 [expr {$size / 2}]] {*at offset 1*} \
            [string replace $good end end [expr {[string index $good end] eq "x" ? "y" : "x"}]] \
                {*RDB CRC error*} \
            "REDIS0009\xf7\x05" {*module data*no matching module 'AAAAAAAAA'*} \
            "REDIS0009\x10" {*Unknown RDB type or opcode 16*} \
            "REDIS0009\xfe\x30" {*more than * databases*}] {
            write_whole [dump_file] $bytes
            assert_error {ERR Error trying to load the RDB dump*} {r debug reload nosave}
            assert_match $reason [last_load_error]
            assert_equal PONG [r ping]
        }
        write_whole [dump_file] $good
        assert_equal OK [r debug reload nosave]
        # A key that is there already.
        assert_error {ERR Error trying to load the RDB dump*} {r debug reload nosave noflush}
        assert_match {*duplicated key*} [last_load_error]
    } {} {ours}
}
