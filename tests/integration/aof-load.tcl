# SPDX-License-Identifier: BSD-3-Clause
# Loading the append only file, by DEBUG LOADAOF: logs of every form, cut off and damaged ones.

# Commands as a log has them.
proc log_of {args} {
    set log ""
    foreach words $args {
        append log [client::encode $words]
    }
    return $log
}

proc log_file {} {
    return [file join [srv dir] appendonly.aof]
}

# The databases are what this log says.
proc load_log {log} {
    write_whole [log_file] $log
    r select 0
    return [r debug loadaof]
}

proc load_commands {args} {
    assert_equal OK [load_log [log_of {*}$args]]
}

proc log_lines {from} {
    return [join [lrange [split [server_text [server_id 0]] \n] $from end] \n]
}

# The log is refused, which ends the server, and stays as it is; the lines about it since, as a
# text. The server is started again, without it.
proc refused_log {log} {
    set from [count_log_lines]
    set client [redis_deferring_client]
    write_whole [log_file] $log
    $client debug loadaof
    assert_equal "" [$client raw_rest]
    $client close
    set lines [log_lines $from]
    assert_equal $log [read_whole [log_file]]
    restart_server
    return $lines
}

# So many bytes of it are whole; the others are cut off.
proc load_half {log whole} {
    assert_equal OK [load_log $log]
    assert_equal $whole [file size [log_file]]
}

start_server {overrides {save {}}} {
    test {SIGTERM ends the load of a script without an end, whatever lua-time-limit says} {
        foreach script {{eval "while true do end" 0} {eval "while redis.call('ping') do end" 0}} {
            r config set lua-time-limit 0
            set client [redis_deferring_client]
            write_whole [log_file] [log_of $script]
            $client debug loadaof
            $client flush
            after 200
            set pid [srv pid]
            exec kill -TERM $pid
            wait_for_condition 1500 20 {![process_alive $pid]} else {
                exec kill -KILL $pid
                fail "the server loads on"
            }
            $client close
            restart_server
        }
    }

    test {commands of a log, in several databases} {
        load_commands {select 3} {set a 1} {rpush l x y} {select 0} \
            {set b 2} {zadd z 1.5 m} {hmset h f v} {sadd s 1 2} {incrby b 5} {append b 3}
        assert_equal {73 4} [list [r get b] [r dbsize]]
        assert_equal {1.5 v} [list [r zscore z m] [r hget h f]]
        r select 3
        assert_equal {1 {x y}} [list [r get a] [r lrange l 0 -1]]
        r select 0
    }

    test {what is there goes, and the client keeps its database} {
        r set before 1
        write_whole [log_file] [log_of {select 3} {set a 1}]
        assert_equal OK [r debug loadaof]
        assert_equal 0 [r exists before]
        assert_equal 0 [r dbsize]
    }

    # 6.2 ends. Nothing is known of what the file had, so what is there stays.
    test {no file: nothing goes} {
        r set before 1
        file delete [log_file]
        assert_error "ERR There is no append only file" {r debug loadaof}
        assert_equal 1 [r get before]
        assert_equal 0 [file exists [log_file]]
    } {} ours

    test {forms that a log has for what may differ} {
        load_commands {xadd x 1-1 f v} {xadd x 2-1 f v} {xadd x 3-1 f v} \
            {xadd x MAXLEN = 2 LIMIT 100 4-1 f v} {xtrim x MINID = 3-1 LIMIT 1} \
            {xgroup CREATE x g 0} \
            {xclaim x g c 0 3-1 TIME 1700000000000 RETRYCOUNT 4 FORCE JUSTID LASTID 3-1} \
            {xgroup CREATECONSUMER x g idle} {xsetid x 9-9} \
            {xadd empty MAXLEN 0 0-1 x y} {xsetid empty 7-0} \
            {set short v PXAT 99999999999999} {set keep 1 KEEPTTL} {rpush l a b c d} \
            {lmove l l2 LEFT RIGHT} {rpoplpush l l2} {lpop l} {sadd s a b c} {srem s b} \
            {geoadd g 13.361389 38.115556 p} {geosearchstore g2 g FROMMEMBER p BYRADIUS 1 km} \
            {pfadd p1 a b} {pfmerge p2 p1} {pfcount p2} \
            {copy keep kept} {unlink keep} {setbit bits 7 1} {script load {return 1}}
        assert_equal {{3-1 {f v}} {4-1 {f v}}} [r xrange x - +]
        assert_equal {3-1 c 4} [lreplace [lindex [r xpending x g - + 10] 0] 2 2]
        assert_equal 2 [llength [r xinfo consumers x g]]
        assert_equal 9-9 [dict get [r xinfo stream x] last-generated-id]
        assert_equal 7-0 [dict get [r xinfo stream empty] last-generated-id]
        assert_equal 0 [r xlen empty]
        assert_equal {c {d a}} [list [r lrange l 0 -1] [r lrange l2 0 -1]]
        assert_equal {a c} [lsort [r smembers s]]
        assert_equal {2 1 1 1} [list [r pfcount p2] [r zcard g2] [r get kept] [r getbit bits 7]]
        assert_morethan [r pttl short] 0
        assert_equal 1 [r evalsha e0e1f9fabfc9d4800c877a703b823ac0578ff8db 0]
    }

    test {scripts, which run again} {
        load_commands {eval {redis.call('set', KEYS[1], ARGV[1])
            redis.call('pexpireat', KEYS[1], 1); redis.call('append', KEYS[1], 'x')
            return redis.call('set', 'other', redis.call('get', KEYS[1]))} 1 k v} \
            {script load {return redis.call('incr', 'n')}} \
            {evalsha 13d59bf45c06b30ad517603a2a8c76adfac50db3 0}
        assert_equal {vx 1} [r mget other n]
        assert_equal 0 [r exists k]
    }

    test {transactions, whole ones} {
        load_commands MULTI {set a 1} {set b 2} EXEC {set c 3} multi {incr c} exec
        assert_equal {1 2 4} [r mget a b c]
        set log [log_of MULTI]
        for {set i 0} {$i < 20000} {incr i} {
            append log [log_of "incr n"]
        }
        append log [log_of EXEC {set after 1}]
        assert_equal OK [load_log $log]
        assert_equal {20000 1} [r mget n after]
    }

    test {deadlines that are over: what follows finds the key, and then it goes} {
        load_commands {rpush l a} {pexpireat l 1000} {rpush l b} \
            {set s v PXAT 1000} {append s w} {rename s t} {set t2 v} {expireat t2 1} {persist t2}
        assert_equal {0 0 v} [list [r llen l] [r exists t] [r get t2]]
    }

    test {arguments of any length, also those that a value takes over} {
        set long [string repeat "0123456789abcdef" 200000]
        set middle [string repeat x 32768]
        load_commands [list set k $long] [list set k2 $middle] {set empty {}} \
            [list rpush l $middle a $long] MULTI [list append k $middle] \
            [list setrange k3 5 $long] EXEC
        assert_equal [expr {[string length $long] + 32768}] [r strlen k]
        assert_equal [list $middle {}] [r mget k2 empty]
        assert_equal $long [r lindex l 2]
        assert_equal $long [r getrange k3 5 -1]
    }

    test {an empty log, and one that does not end in a SELECT of its own} {
        load_commands {select 5}
        assert_equal 0 [r dbsize]
        r set here 1
        assert_equal 1 [r exists here]
    }

    test {a log that is cut off anywhere loads what is whole, and is cut there} {
        set commands {{set a 1} {select 2} {rpush l x {}} {select 0} {incr a} {set b hello}}
        set log [log_of {*}$commands]
        set ends 0
        foreach words $commands {
            lappend ends [expr {[lindex $ends end] + [string length [log_of $words]]}]
        }
        for {set length 1} {$length <= [string length $log]} {incr length} {
            set done 0
            while {$done < 6 && [lindex $ends $done+1] <= $length} {
                incr done
            }
            load_half [string range $log 0 $length-1] [lindex $ends $done]
            assert_equal [lindex {{} 1 1 1 1 2 2} $done] [r get a]
        }
        assert_equal hello [r get b]
    }

    test {half a transaction goes} {
        set whole [log_of {set a 1}]
        foreach rest [list [log_of MULTI] [log_of MULTI {set a 2}] \
            [log_of MULTI [list set a [string repeat x 200000]]] \
            [log_of {multi} {set a 2} discard]] {
            load_half $whole$rest [string length $whole]
            assert_equal {1 {}} [r mget a b]
        }
        set from [count_log_lines]
        load_half $whole[log_of MULTI {set a 2}] [string length $whole]
        wait_for_log {*!!! Truncating the AOF at offset 27 !!!*} $from
        wait_for_log {*AOF loaded anyway because aof-load-truncated is enabled*} $from
    }

    test {errors of commands end no load, and are said} {
        set from [count_log_lines]
        load_commands {set a 1} {lpush a x} {set b 1} EXEC MULTI MULTI {incr b} EXEC
        assert_equal {1 2} [r mget a b]
        wait_for_log {*CRITICAL*an error to its AOF-loading-client*WRONGTYPE*} $from
        wait_for_log {*CRITICAL*an error to its AOF-loading-client*EXEC without MULTI*} $from
        wait_for_log {*CRITICAL*an error to its AOF-loading-client*nested*} $from
    }

    test {what is loaded is counted neither as calls nor as effects} {
        r config resetstat
        load_commands {set a 1} {set b 1} MULTI {incr a} EXEC
        assert_equal 0 [command_stat set]
        assert_equal 0 [command_stat incr]
        assert_equal 0 [s rdb_changes_since_last_save]
    }
}

start_server {overrides {save {}} tags {ours}} {
    test {what stands behind a preamble} {
        r select 0
        r set a 1
        r set due 1 px 100000
        r save
        set preamble [read_whole [file join [srv dir] dump.rdb]]
        set log [log_of {select 0} {incr a} {set b 1}]
        assert_equal OK [load_log $preamble$log]
        assert_equal {2 1 1} [r mget a b due]
        assert_equal OK [load_log $preamble]
        assert_equal {1 {} 1} [r mget a b due]
        # Cut off behind it: nothing of it goes.
        set whole [string length $preamble]
        load_half $preamble[string range $log 0 10] $whole
        load_half $preamble[log_of MULTI {incr a}] $whole
        assert_equal {1 {} 1} [r mget a b due]
    }

    test {a preamble that is damaged or cut off is refused, with its place} {
        r set a [string repeat x 100]
        r save
        set preamble [read_whole [file join [srv dir] dump.rdb]]
        foreach length {9 20 60 100} {
            assert_match {*reading the RDB preamble of the AOF file*aborted: at offset [0-9]*} \
                [refused_log [string range $preamble 0 $length-1]]
        }
    }

    test {half a transaction whose last command is cut off goes whole} {
        set whole [log_of {set a 1}]
        set rest [log_of MULTI {set a 2} {set b 1} EXEC]
        for {set length 1} {$length < [string length $rest]} {incr length} {
            load_half $whole[string range $rest 0 $length-1] [string length $whole]
            assert_equal {1 {}} [r mget a b]
        }
        load_half $whole$rest [string length $whole$rest]
        assert_equal {2 1} [r mget a b]
    }

    test {a power cut's zeros count as the end} {
        set whole [log_of {set a 1}]
        load_half $whole[string repeat \x00 5000] [string length $whole]
        set zeros [string repeat \x00 5000]
        load_half $whole[string range [log_of {set a 2}] 0 20]$zeros [string length $whole]
        assert_equal 1 [r get a]
    }

    test {what is no log is refused, with its place, and stays as it is} {
        foreach {log lines} {
            "!!!" {*offset 27: Expected prefix '\*', got: '!'*Bad file format*check-aof --fix*}
            "*0\r\n" {*offset 27: A command of 0 arguments*Bad file format*}
            "*1\r\n$-1\r\n" {*offset 31: Expected a number behind '$'*Bad file format*}
            "set a 1\r\n" {*offset 27: Expected prefix*Bad file format*}
            "*1\r\n$3\r\nsetxx" {*offset 35: Expected \\r\\n, got: 7878*Bad file format*}
        } {
            set all [log_of {set a 1}]$log
            assert_match $lines [refused_log $all]
        }
    }

    test {commands that no log has are refused, with their place} {
        foreach {words why} {
            {nosuch a} {*offset 27*Unknown command 'nosuch' reading the append only file*}
            {get} {*offset 27*Wrong number of arguments for command 'get'*}
            {shutdown nosave} {*No log has the command 'shutdown'*}
            {debug loadaof} {*No log has the command 'debug'*}
            {subscribe c} {*No log has the command 'subscribe'*}
            {select 99} {*There is no such database: 'select'*}
            {select x} {*There is no such database: 'select'*}
        } {
            assert_match $why [refused_log [log_of {set a 1} $words {set a 2}]]
        }
        assert_match {*Unknown command*} [refused_log [log_of MULTI {set a 1} nosuch EXEC]]
        assert_match {*offset 42: Expected prefix*} [refused_log [log_of MULTI {set a 1}]!!!]
    }

    test {aof-load-truncated no: a log that is cut off is refused and stays} {
        set whole [log_of {set a 1}]
        foreach log [list $whole*2 $whole[log_of MULTI {set a 2}] $whole\x00\x00] {
            r config set aof-load-truncated no
            assert_match {*Unexpected end of file reading the append only file. You can: 1)*} \
                [refused_log $log]
        }
    }

    test {a file without a byte} {
        r set a 1
        assert_equal OK [load_log {}]
        assert_equal 0 [r dbsize]
    }

    test {many errors are counted} {
        set log [log_of {set a 1}]
        for {set i 0} {$i < 30} {incr i} {
            append log [log_of {lpush a x}]
        }
        set from [count_log_lines]
        assert_equal OK [load_log $log]
        wait_for_log {*CRITICAL == 30 commands of appendonly.aof were answered with an error*} $from
        assert_equal 11 [regexp -all CRITICAL [log_lines $from]]
    }

    test {while a log is loaded clients are told so} {
        set log ""
        for {set i 0} {$i < 1000} {incr i} {
            append log [log_of [list set key:$i v]]
        }
        set other [redis_client]
        $other select 0
        set loader [redis_deferring_client]
        $other config set key-load-delay 20000
        write_whole [log_file] $log
        $loader debug loadaof
        $loader flush
        wait_for_condition 1000 10 {[info_property [$other info persistence] loading] == 1} else {
            fail "it is not loading"
        }
        assert_error_text "LOADING Redis is loading the dataset in memory" {$other get key:1}
        assert_equal [string length $log] \
            [info_property [$other info persistence] loading_total_bytes]
        $other debug load-delay 0
        assert_equal OK [$loader read]
        assert_equal 0 [info_property [$other info persistence] loading]
        assert_equal v [$other get key:999]
        $loader close
        $other close
    }
}

# As 6.2's own log: names that this server has given to other commands, or taken away.
start_server {overrides {save {} rename-command {DEL gone}} tags {ours}} {
    test {a log has the commands' own names} {
        load_commands {set a 1} {set b 1} {DEL a} {gone b}
        assert_equal 0 [r dbsize]
    }
}
