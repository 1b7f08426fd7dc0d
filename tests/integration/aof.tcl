# SPDX-License-Identifier: BSD-3-Clause
# The append only file: what stands in it when, kills, failures of the disk, switching at run time,
# writing it anew. tests/integration/aof-load.tcl has what a load understands.

proc log_file {{level 0}} {
    return [file join [srv $level dir] appendonly.aof]
}

proc await_rewrite {{level 0}} {
    wait_for_condition 2000 10 {
        [regexp {aof_rewrite_in_progress:0.*aof_rewrite_scheduled:0} [r $level info persistence]]
    } else {
        fail "the file is still being written anew"
    }
}

proc digest {} {
    return [r debug digest]
}

# While the file is being synced, what comes waits for that in memory, but for `always`.
proc await_written {} {
    wait_for_condition 2000 10 {
        [s aof_buffer_length] == 0 && [s aof_current_size] == [file size [log_file]]
    } else {
        fail "[s aof_buffer_length] bytes are not written"
    }
}

# The server is killed and started again: all is there.
proc assert_survives_kill {} {
    set before [digest]
    await_written
    restart_server 0 KILL
    assert_equal $before [digest]
}

# Something of every type, in two databases.
proc write_all_types {round} {
    r select 9
    r set text:$round [string repeat x [random_int 3000]]
    r set short v px 10000000
    r incr counter
    r rpush list a $round
    r lpop list
    r sadd set $round a
    r zadd zset $round m$round
    r hset hash f$round v
    r xadd stream * f v
    r pfadd hll $round
    r setbit bits $round 1
    r multi
    r incr counter
    r del text:[expr {$round - 1}]
    r exec
    r select 3
    r incrbyfloat float 0.5
    r select 9
}

start_server {overrides {appendonly yes save {}} tags {ours}} {
    test {a command stands in the file when it is answered} {
        # The other policies let it wait for a sync that is under way.
        r config set appendfsync always
        r select 9
        r set k v
        assert_equal "[client::encode {SELECT 9}][client::encode {set k v}]" \
            [read_whole [log_file]]
        set before [file size [log_file]]
        r get k
        r getex k
        r ping
        assert_equal $before [file size [log_file]]
        r multi
        r incr a
        r select 3
        r incr b
        r exec
        set text [string range [read_whole [log_file]] $before end]
        assert_match "*MULTI*incr*a*SELECT*3*incr*b*EXEC*" $text
        r config set appendfsync everysec
    }

    test {requests stand in the file as anybody would write them, however they came} {
        r select 9
        r set other 1
        wait_for_condition 1000 10 {[string match "*other*" [read_whole [log_file]]]} else {
            fail "it is not written"
        }
        set wanted [read_whole [log_file]]
        foreach request {
            "*3\r\n$3\r\nset\r\n$1\r\nk\r\n$1\r\nv\r\n"
            "*3\r\n$3\r\nset\r\n$1\r\nk\r\n$1\r\nvXY"
            "*3\rX$3\rXset\r\n$1\r\nk\r\n$1\r\nv\r\n"
            "set k v\r\n"
            "set  'k'   v\n"
        } {
            r write [subst -novariables -nocommands $request]
            r flush
            assert_equal OK [r read]
            append wanted [client::encode {set k v}]
        }
        wait_for_condition 1000 10 {[read_whole [log_file]] eq $wanted} else {
            fail "it is not written as it should be"
        }
    }

    test {what is in the file is there after a kill} {
        foreach policy {everysec no always} {
            r config set appendfsync $policy
            for {set i 0} {$i < 20} {incr i} {
                write_all_types $i
            }
            assert_survives_kill
        }
    }

    test {keys that expire and are evicted go from the file, too} {
        r select 9
        r set short v px 1
        wait_for_condition 1000 10 {[r dbsize] == [llength [r keys *]]} else {
            fail "the key is still there"
        }
        wait_for_condition 1000 10 {[string match "*\r\nshort\r\n*DEL*short*" \
            [read_whole [log_file]]]} else {
            fail "no DEL"
        }
        assert_survives_kill
    }

    test {INFO persistence} {
        r set k v
        assert_equal {1 0 0 ok ok 0} [lmap field {aof_enabled aof_rewrite_in_progress
            aof_rewrite_scheduled aof_last_bgrewrite_status aof_last_write_status
            aof_pending_rewrite} {s $field}]
        await_written
        assert_equal {0 0} [list [s aof_buffer_length] [s aof_rewrite_buffer_length]]
        assert_range [s aof_delayed_fsync] 0 1000000
        assert_morethan [s mem_aof_buffer] 0
    }

    test {BGREWRITEAOF: the new file has the data, and what came meanwhile} {
        foreach preamble {yes no} {
            r config set aof-use-rdb-preamble $preamble
            r config set rdb-key-save-delay 100
            r select 9
            populate 2000
            # In one write, so that the child's end cannot be noticed in between.
            set client [redis_deferring_client]
            $client write [string repeat [client::encode bgrewriteaof] 2]
            assert_equal {Background append only file rewriting started} [$client read]
            assert_error {ERR Background append only file rewriting already in progress} {
                $client read
            }
            $client close
            r config set rdb-key-save-delay 0
            for {set i 0} {$i < 50} {incr i} {
                write_all_types $i
            }
            await_rewrite
            assert_equal ok [s aof_last_bgrewrite_status]
            write_all_types 99
            assert_survives_kill
        }
        r config set aof-use-rdb-preamble yes
        assert_equal {} [glob -nocomplain [file join [srv dir] temp-*.aof]]
    }

    test {a file that has grown is written anew by itself} {
        r flushall
        r config set auto-aof-rewrite-min-size 1mb
        r bgrewriteaof
        await_rewrite
        set base [s aof_base_size]
        set from [count_log_lines]
        r set large [string repeat x 1000000]
        r set large [string repeat y 1000000]
        wait_for_log "*The append only file has grown by*" $from
        wait_for_log "*The append only file was written anew*" $from
        assert_morethan [s aof_base_size] $base
        r config set auto-aof-rewrite-min-size 64mb
        assert_survives_kill
    }

    test {off and on again: off it logs nothing, and on it has all} {
        r config set appendonly no
        assert_equal 0 [s aof_enabled]
        assert_equal "" [s aof_current_size]
        set size [file size [log_file]]
        r set while off
        assert_equal $size [file size [log_file]]
        r config set appendonly yes
        r set since on
        await_rewrite
        assert_equal 1 [s aof_enabled]
        r set after that
        await_written
        assert_equal OK [r debug loadaof]
        assert_equal {off on that} [r mget while since after]
    }

    test {The file is taken away: DEBUG LOADAOF leaves the data alone} {
        r set kept 1
        file rename [log_file] [log_file].aside
        assert_error "ERR There is no append only file" {r debug loadaof}
        assert_equal 1 [r get kept]
        file rename [log_file].aside [log_file]
        r set kept 2
        assert_equal OK [r debug loadaof]
        assert_equal 2 [r get kept]
    } {} ours

    test {appendonly no within a transaction: nothing of that is in the file} {
        r select 9
        r set before 1
        r multi
        r set half 1
        r config set appendonly no
        r set rest 1
        assert_equal {OK OK OK} [r exec]
        assert_equal {1 1 1} [r mget before half rest]
        assert_equal OK [r debug loadaof]
        assert_equal {1 {} {}} [r mget before half rest]
        r config set appendonly yes
        await_rewrite
    }

    test {BGREWRITEAOF without a log} {
        r config set appendonly no
        r set k unlogged
        file delete [log_file]
        r bgrewriteaof
        await_rewrite
        r set k later
        assert_equal OK [r debug loadaof]
        assert_equal unlogged [r get k]
        r config set appendonly yes
        await_rewrite
    }

    test {appendonly no ends a child that writes the file anew} {
        populate 5000
        r config set rdb-key-save-delay 10000
        r bgrewriteaof
        set from [count_log_lines]
        r config set appendonly no
        wait_for_log "*Killing*AOF*child*" $from
        r config set rdb-key-save-delay 0
        assert_equal {0 0} [list [s aof_enabled] [s aof_rewrite_in_progress]]
        assert_equal {} [glob -nocomplain [file join [srv dir] temp-*.aof]]
        r config set appendonly yes
        await_rewrite
        assert_survives_kill
    }

    test {kills while the file is written anew} {
        for {set round 0} {$round < [accurate 4 20]} {incr round} {
            r config set appendfsync [random_pick {always everysec no}]
            r bgrewriteaof
            for {set i [random_int 40]} {$i >= 0} {incr i -1} {
                write_all_types $i
            }
            assert_survives_kill
        }
    }

    test {SHUTDOWN writes all; the temporary file of a rewrite is gone} {
        populate 5000
        r config set rdb-key-save-delay 10000
        set from [count_log_lines]
        r bgrewriteaof
        # Servers that were killed have left their children's.
        regexp {by pid (\d+)} [wait_for_log "*append only file anew*by pid*" $from] -> pid
        set temporary [file join [srv dir] temp-rewriteaof-bg-$pid.aof]
        wait_for_condition 1000 10 {[file exists $temporary]} else {
            fail "no $temporary"
        }
        r set last one
        set before [digest]
        catch {r shutdown}
        restart_server
        assert_equal $before [digest]
        assert_equal 0 [file exists $temporary]
    }
}

start_server {overrides {appendonly yes save {}} tags {ours}} {
    test {a script that ran, a key served, a transaction: units are whole in the file} {
        r eval {redis.call('set', 'a', 1) redis.call('set', 'b', 2)} 0
        set waiting [redis_deferring_client]
        $waiting blpop l 0
        wait_for_condition 1000 10 {[s blocked_clients] == 1} else {
            fail "nobody waits"
        }
        r rpush l x
        assert_equal {l x} [$waiting read]
        await_written
        assert_match "*MULTI*set*a*set*b*EXEC*rpush*l*x*LPOP*l*" [read_whole [log_file]]
        $waiting close
        assert_survives_kill
    }
}

# --- CONFIG SET appendonly yes that cannot be done --------------------------------------------

start_server {overrides {appendonly no save {}}} {
    test {CONFIG SET appendonly yes where no file can be written: an error, and nothing changes} {
        r set k v
        foreach obstacle {name folder} {
            if {$obstacle eq "name"} {
                file mkdir [log_file]
            } else {
                file delete [log_file]
                file delete -force [srv dir]
            }
            assert_error {ERR *'appendonly'*Unable to turn on AOF. Check server logs.} {
                r config set appendonly yes
            }
            assert_equal no [config_get appendonly]
            assert_equal {0 0 0} [list [s aof_enabled] [s aof_rewrite_in_progress] \
                [s aof_rewrite_scheduled]]
            assert_equal OK [r set k $obstacle]
        }
        file mkdir [srv dir]
    }
}

# --- a disk that fails -------------------------------------------------------------------------

set server_before $::options(server)
set faulty [file join [file dirname $::options(server)] .. faulty redis-server]
set rules_file [tmpfile faults]
write_whole $rules_file ""

if {![file executable $faulty]} {
    test {The log on a disk that fails} {
        skip "no $faulty: make faulty"
    }
    return
}

with_faulty_server $faulty $rules_file {overrides {appendonly yes save {}} tags {ours}} {
    test {a write that fails: -MISCONF, counted, and all is written when it can be} {
        r set before 1
        faults $rules_file {fail write ENOSPC 0 1000000 appendonly.aof}
        assert_equal OK [r set during 1]
        wait_for_condition 1000 10 {[s aof_last_write_status] eq "err"} else {
            fail "no error is told"
        }
        assert_error {MISCONF Errors writing to the AOF file: No space left on device} {
            r set refused 1
        }
        assert_error {MISCONF *} {r ping}
        assert_error {*MISCONF Errors writing to the AOF file*} {
            r eval {return redis.call('set', 'refused', 1)} 0
        }
        assert_equal 1 [r get during]
        faults $rules_file
        wait_for_condition 1000 10 {[s aof_last_write_status] eq "ok"} else {
            fail "it is not tried again"
        }
        assert_equal OK [r set after 1]
        assert_survives_kill
    }

    test {a write that ends in the midst leaves whole commands} {
        faults $rules_file "cut [random_int 1000000] 30 10" \
            {fail write ENOSPC 2 1000000 appendonly.aof}
        r set half [string repeat x 5000]
        wait_for_condition 1000 10 {[s aof_last_write_status] eq "err"} else {
            fail "no error is told"
        }
        assert_no_match "*half*" [read_whole [log_file]]
        faults $rules_file
        wait_for_condition 1000 10 {[s aof_last_write_status] eq "ok"} else {
            fail "it is not tried again"
        }
        assert_survives_kill
    }

    test {SHUTDOWN is refused while the log cannot be written} {
        faults $rules_file {fail write ENOSPC 0 1000000 appendonly.aof}
        r set during 2
        assert_error {ERR Errors trying to SHUTDOWN. Check logs.} {r shutdown}
        faults $rules_file
        wait_for_condition 1000 10 {[s aof_last_write_status] eq "ok"} else {
            fail "it is not tried again"
        }
        assert_survives_kill
    }

    test {a sync holds the file: nobody waits; at the bound writers do} {
        r config set aof-queue-age-max 3600000
        faults $rules_file {slow 3600000 appendonly.aof}
        wait_for_condition 1000 10 {
            [r incr counter] > 0 && [s aof_pending_bio_fsync] > 0 && [s aof_buffer_length] > 0
        } else {
            fail "no sync"
        }
        for {set i 0} {$i < 100} {incr i} {
            r incr counter
        }
        set counter [r get counter]
        assert_morethan [s aof_buffer_length] 1000
        r config set aof-queue-age-max 0
        set waiting [redis_deferring_client]
        $waiting incr counter
        wait_for_condition 1000 10 {[s aof_delayed_fsync] >= 1 && [s blocked_clients] == 1} else {
            fail "nobody waits"
        }
        assert_equal $counter [r get counter]
        faults $rules_file
        assert_equal [expr {$counter + 1}] [$waiting read]
        $waiting close
        r config set aof-queue-age-max 2000
        wait_for_condition 1000 10 {[s aof_buffer_length] == 0} else {
            fail "the queue is not written"
        }
        assert_survives_kill
    }

    test {always: replies wait for the sync, messages and reads of it too, and others run} {
        r config set appendfsync always
        set writer [redis_deferring_client]
        set reader [redis_deferring_client]
        set listener [redis_deferring_client]
        set other [redis_deferring_client]
        $listener subscribe channel
        $listener read
        faults $rules_file {slow 3600000 appendonly.aof}
        set calls [command_stat incr]
        $writer incr held
        wait_for_condition 1000 10 {[string match "*held*" [read_whole [log_file]]]} else {
            fail "it is not written"
        }
        $reader get held
        $reader publish channel message
        # It runs while the sync is under way; nothing of it leaves.
        $other incr held
        foreach client [list $writer $reader $listener $other] {
            assert_equal 0 [$client readable 50]
        }
        faults $rules_file
        assert_equal {1 1 1 2} [list [$writer read] [$reader read] [$reader read] [$other read]]
        assert_equal {message channel message} [$listener read]
        assert_equal [expr {$calls + 2}] [command_stat incr]
        foreach client [list $writer $reader $listener $other] {
            $client close
        }
        assert_survives_kill
    }

    test {always: a log that fails ends the process, and leaves no file half written anew} {
        r config set appendfsync always
        populate 3000
        r config set rdb-key-save-delay 10000
        r bgrewriteaof
        wait_for_condition 1000 10 {
            [llength [glob -nocomplain [file join [srv dir] temp-rewriteaof-*]]] == 1
        } else {
            fail "no file is written anew"
        }
        faults $rules_file {fail write ENOSPC 0 1000000 appendonly.aof}
        set client [redis_deferring_client]
        $client set k 2
        assert_equal "" [$client raw_rest]
        faults $rules_file
        wait_for_condition 1000 10 {
            [glob -nocomplain [file join [srv dir] temp-rewriteaof-*]] eq ""
        } else {
            fail "a file is left"
        }
        restart_server
        r config set rdb-key-save-delay 0
    }

    test {DEBUG LOADAOF without a descriptor: an error, and the data is there} {
        foreach policy {always everysec} {
            r config set appendfsync $policy
            r set kept $policy
            set before [digest]
            foreach rule {{fail open EMFILE 0 1000000 appendonly.aof}
                {fail read EIO 0 1 appendonly.aof}} {
                faults $rules_file $rule
                assert_error {ERR The append only file cannot be read: the log says why} {
                    r debug loadaof
                }
                faults $rules_file
                assert_equal $before [digest]
                assert_equal OK [r debug loadaof]
                assert_equal $before [digest]
            }
        }
    }

    test {CONFIG SET dir while the file is written anew: it takes the old one's place} {
        populate 300
        set folder [tmpdir]
        r config set rdb-key-save-delay 10000
        r bgrewriteaof
        r config set dir $folder
        r config set rdb-key-save-delay 0
        await_rewrite
        assert_equal ok [s aof_last_bgrewrite_status]
        assert_equal {} [glob -nocomplain [file join $folder *]]
        assert_equal {} [glob -nocomplain [file join [srv dir] temp-*.aof]]
        assert_equal [file size [log_file]] [s aof_base_size]
        r config set dir [srv dir]
        assert_survives_kill
    }

    test {a file that is written anew and fails leaves the old one} {
        foreach rule {
            {fail open EACCES 0 1 temp-rewriteaof} {fail write ENOSPC 0 1 temp-rewriteaof}
            {fail fsync EIO 0 1 temp-rewriteaof} {fail rename EXDEV 0 1 appendonly.aof}
        } {
            r config set appendfsync [random_pick {always everysec no}]
            faults $rules_file $rule
            r bgrewriteaof
            await_rewrite
            faults $rules_file
            assert_equal err [s aof_last_bgrewrite_status] $rule
            assert_equal {} [glob -nocomplain [file join [srv dir] temp-*.aof]] $rule
            r incr counter
            assert_survives_kill
        }
        r bgrewriteaof
        await_rewrite
        assert_equal ok [s aof_last_bgrewrite_status]
    }
}

foreach call {write fsync} {
    with_faulty_server $faulty $rules_file \
        {overrides {appendonly yes save {} appendfsync always} tags {ours}} {
        test "always: a $call that fails ends the process, and no reply leaves" {
            r set k 1
            set client [redis_deferring_client]
            faults $rules_file "fail $call EIO 0 1000000 appendonly.aof"
            $client set k 2
            assert_equal "" [$client raw_rest]
            faults $rules_file
            restart_server
            assert_range [r get k] 1 2
        }
    }
}

# --- the first file of a log that is turned on -------------------------------------------------

# Any file of that name is gone, and the next start reads the log.
proc forget_log {} {
    r config set appendonly no
    file delete [log_file]
}

with_faulty_server $faulty $rules_file {overrides {appendonly no save {}} tags {ours}} {
    foreach policy {always everysec no} {
        test "$policy: a restart that finds the first file finds all that was answered" {
            forget_log
            r config set appendfsync $policy
            set counter [r incr counter]
            set writer [redis_deferring_client]
            # It has its name, and who gave it that goes on later.
            faults $rules_file {rename 0 3600000 appendonly.aof}
            $writer config set appendonly yes
            $writer config rewrite
            assert_equal OK [$writer read]
            wait_for_condition 2000 10 {[file exists [log_file]]} else {
                fail "there is no file"
            }
            $writer incr counter
            set answered 0
            for {set i 0} {$i < 2 && [$writer readable 300]} {incr i} {
                incr answered
                set reply [$writer read]
                if {$reply ne "OK"} {
                    set counter $reply
                }
            }
            # Of CONFIG REWRITE, and of the write.
            assert_equal [expr {$policy ne "always"}] [expr {$answered == 2}]
            $writer close
            restart_server 0 KILL
            assert_morethan [r get counter] [expr {$counter - 1}]
            faults $rules_file
            await_rewrite
        }
    }

    test {always: what was answered before the first file got its name is in it} {
        forget_log
        r config set appendfsync always
        set writer [redis_deferring_client]
        faults $rules_file {rename 3600000 0 appendonly.aof}
        set from [count_log_lines]
        r config set appendonly yes
        wait_for_log "*is written anew; what came since is added*" $from
        after 100
        $writer incr counter
        assert_equal 0 [$writer readable 100]
        faults $rules_file
        set counter [$writer read]
        $writer close
        await_rewrite
        r config rewrite
        restart_server 0 KILL
        assert_equal $counter [r get counter]
    }

    test {the first file's name that cannot be had: replies leave, and it is tried again} {
        forget_log
        set from [count_log_lines]
        faults $rules_file {fail rename EIO 0 1 appendonly.aof}
        r config set appendonly yes
        wait_for_log "*The new append only file is given up, renaming it*" $from
        assert_equal OK [r set k while]
        assert_equal {1 err} [list [s aof_enabled] [s aof_last_bgrewrite_status]]
        faults $rules_file
        await_rewrite
        assert_equal {1 ok} [list [s aof_enabled] [s aof_last_bgrewrite_status]]
        assert_survives_kill
    }

    test {a fork that fails while the first file is due is tried again} {
        forget_log
        r config set rdb-key-save-delay 20000
        populate 20
        r bgsave
        r config set appendonly yes
        assert_equal 1 [s aof_rewrite_scheduled]
        set from [count_log_lines]
        faults $rules_file {fail fork ENOMEM 0 1 *}
        wait_for_log "*Can't write the append only file anew*" $from
        r config set rdb-key-save-delay 0
        assert_equal {1 1} [list [s aof_enabled] [s aof_rewrite_scheduled]]
        faults $rules_file
        wait_for_log "*The append only file was written anew*" $from
        assert_survives_kill
    }

    test {no first file: SHUTDOWN and SIGTERM are refused, each says so, and DEBUG LOADAOF} {
        forget_log
        r set k last
        faults $rules_file {fail write ENOSPC 0 1000000 temp-rewriteaof}
        r config set appendonly yes
        for {set i 0} {$i < 2} {incr i} {
            set from [count_log_lines]
            exec kill -TERM [srv pid]
            wait_for_log "*The first append only file is not written yet, can't exit.*" $from
            wait_for_log "*SIGTERM received but errors trying to shut down*" $from
            assert_error {ERR Errors trying to SHUTDOWN. Check logs.} {r shutdown}
        }
        assert_error {ERR The append only file is not whole: the log says why} {r debug loadaof}
        assert_equal last [r get k]
        faults $rules_file
        await_rewrite
        assert_equal OK [r debug loadaof]
        assert_equal last [r get k]
        exec kill -TERM [srv pid]
        wait_for_condition 2000 10 {![process_alive [srv pid]]} else {
            fail "SIGTERM is not obeyed"
        }
        restart_server
        assert_equal last [r get k]
    }

    test {no first file: SHUTDOWN NOSAVE ends the server} {
        forget_log
        faults $rules_file {fail write ENOSPC 0 1000000 temp-rewriteaof}
        r config set appendonly yes
        catch {r shutdown nosave}
        wait_for_condition 2000 10 {![process_alive [srv pid]]} else {
            fail "it goes on"
        }
        assert_equal {} [glob -nocomplain [file join [srv dir] temp-*.aof]]
        faults $rules_file
        restart_server
    }
}
