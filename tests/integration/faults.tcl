# SPDX-License-Identifier: BSD-3-Clause
# The server over a system that fails: transfers cut short and interrupted, files, sockets and
# memory that are refused. It is the server under test, linked with tests/c/server/faulty.c (`make
# faulty`), which reads what shall fail from a file.
#
# The whole suite over a system that cuts each transfer, by hand:
#   echo "cut 1 65536 20" >/tmp/rules; make faulty
#   EVENKEEL_FAULTS=/tmp/rules tests/run --server build/release/faulty/redis-server

set server_before $::options(server)
set faulty [file join [file dirname $::options(server)] .. faulty redis-server]
set rules_file [tmpfile faults]
write_whole $rules_file ""

# Requests in one pipeline, ended by QUIT; `size_max` bounds the length of a value.
proc random_requests {count size_max} {
    set out ""
    for {set i 0} {$i < $count} {incr i} {
        set key key:[random_int 5]
        set value [string repeat [random_string 1 10 binary] \
            [random_int [random_pick [list 3 20 [expr {$size_max / 10}]]]]]
        set words [random_pick [list [list set $key $value] [list get $key] [list append $key x] \
            [list mget key:0 key:1] [list del $key] [list multi] [list exec] [list incr number] \
            [list rpush list $value] [list lpop list] [list nosuch $value] [list ping $value]]]
        if {[random_int 10] == 0} {
            append out [random_pick {{get key:1} {ping "a b"} {} {set key:2 'inline'}}] "\r\n"
        } else {
            append out [client::encode $words]
        }
    }
    return $out[client::encode quit]
}

# Each of these fails; `act` must then give the error, leave the file as it was, and nothing beside.
proc assert_file_survives {rules_file path error act} {
    set before [read_whole $path]
    set beside [lsort [glob [file dirname $path]/*]]
    foreach rule {
        {fail open EACCES 0 1 %s.} {fail write ENOSPC 0 1 %s.} {fail fsync EIO 0 1 %s.}
        {fail close EIO 0 1 %s.} {fail rename EXDEV 0 1 %s}
    } {
        faults $rules_file {cut 1 100 30} [format $rule [file tail $path]]
        assert_error $error $act
        assert_equal $before [read_whole $path] $rule
        assert_equal $beside [lsort [glob [file dirname $path]/*]] $rule
    }
    faults $rules_file
    assert_equal PONG [r ping]
}

if {![file executable $faulty]} {
    test {The server with faults} {
        skip "no $faulty: make faulty"
    }
    return
}

with_faulty_server $faulty $rules_file {} {
    foreach {bytes count size} {1 60 100   7 200 300   4096 200 40000   65536 100 200000} {
        test "Transfers of up to $bytes bytes and interruptions change no reply" {
            for {set round 0} {$round < [accurate 3 30]} {incr round} {
                set requests [random_requests $count $size]
                r flushall
                set expected [exchange $requests]
                assert_match "*+OK\r\n" $expected
                r flushall
                faults $rules_file "cut [random_int 1000000] $bytes 30"
                set got [exchange $requests]
                faults $rules_file
                assert {$got eq $expected} "round $round"
            }
        }
    }

    test {Transfers cut short: a waiting client, messages, a client that goes} {
        faults $rules_file "cut [random_int 1000000] 5 30"
        set waiting [redis_deferring_client]
        set listening [redis_deferring_client]
        set monitor [redis_deferring_client]
        $monitor monitor
        assert_equal OK [$monitor read]
        $listening subscribe channel
        assert_equal {subscribe channel 1} [$listening read]
        $waiting blpop list 0
        wait_for_condition 200 10 {[s blocked_clients] == 1} else {
            fail "nobody waits"
        }
        assert_equal 1 [r rpush list [string repeat e 3000]]
        assert_equal [list list [string repeat e 3000]] [$waiting read]
        assert_equal 1 [r publish channel [string repeat m 3000]]
        assert_equal [list message channel [string repeat m 3000]] [$listening read]
        assert_match {*"subscribe" "channel"} [$monitor read]
        $waiting blpop list 0
        $waiting close
        wait_for_condition 200 10 {[s blocked_clients] == 0} else {
            fail "the client that went still waits"
        }
        faults $rules_file
        $listening close
        $monitor close
        assert_equal PONG [r ping]
    }

    test {CONFIG REWRITE over files that fail} {
        r config set maxmemory-samples 7
        assert_file_survives $rules_file [srv 0 config_file] {ERR Rewriting config file: *} {
            r config rewrite
        }
        assert_equal OK [r config rewrite]
        assert_match "*maxmemory-samples 7\n*" [read_whole [srv 0 config_file]]
    }

    test {A system that refuses a socket: the client is refused, the server goes on} {
        set lines [count_log_lines]
        faults $rules_file {fail accept EMFILE 0 1 *}
        set client [raw_client]
        $client write [client::encode ping]
        $client flush
        assert_equal "+PONG\r\n" [$client raw_reply]
        wait_for_log {*Accepting client connection*} $lines
        $client close
        # Taking it out of epoll is none of the calls that are to fail.
        wait_for_condition 200 10 {[s connected_clients] == 1} else {
            fail "the first client stays"
        }
        faults $rules_file {fail epoll_ctl ENOSPC 0 1 socket}
        set client [raw_client]
        assert [$client closed]
        $client close
        faults $rules_file
        assert_equal PONG [r ping]
    }

    test {LCS without memory} {
        faults $rules_file {memory 0 1}
        assert_error {ERR *} {r stralgo lcs strings ohmytext mynewtext}
        faults $rules_file {memory 2 1}
        assert_error {ERR *} {r stralgo lcs idx strings ohmytext mynewtext}
        faults $rules_file
        assert_equal mytext [r stralgo lcs strings ohmytext mynewtext]
    }
}

set users [tmpfile users.acl]
write_whole $users "user default on nopass ~* &* +@all\n"
with_faulty_server $faulty $rules_file [list overrides [list aclfile $users]] {
    test {ACL SAVE over files that fail} {
        r acl setuser ann on >secret ~x
        assert_file_survives $rules_file $users \
            {ERR There was an error trying to save the ACLs. *} {r acl save}
        assert_equal OK [r acl save]
        assert_match "*user ann *" [read_whole $users]
    }

    test {ACL LOAD of a file that fails changes nothing} {
        set before [r acl list]
        foreach rule {{fail open EACCES 0 1 users.acl} {fail read EIO 0 1 users.acl}} {
            faults $rules_file $rule
            assert_error {ERR *} {r acl load}
            assert_equal $before [r acl list]
        }
        faults $rules_file {cut 3 3 50}
        assert_equal OK [r acl load]
        faults $rules_file
        assert_equal [lsort $before] [lsort [r acl list]]
    }
}

set log [tmpfile log]
with_faulty_server $faulty $rules_file [list overrides [list logfile $log]] {
    test {A log that cannot be written loses lines and nothing else} {
        foreach rule {"fail write ENOSPC 0 1000000 $log" "fail open EMFILE 0 1000000 $log"} {
            faults $rules_file [subst $rule]
            set size [file size $log]
            r config set maxmemory 1gb
            [redis_client] close
            assert_equal PONG [r ping]
            assert_equal $size [file size $log]
            faults $rules_file
            r debug log "after $rule"
            wait_for_condition 200 10 {[string match "*after $rule*" [read_whole $log]]} else {
                fail "no line: [read_whole $log]"
            }
        }
    }
}

set ::options(server) $faulty
set ::env(EVENKEEL_FAULTS) $rules_file
test {A start over files that fail} {
    set conf [tmpfile faulty.conf]
    write_whole $conf "port 0\nlogfile [tmpfile log]\n"
    foreach {rule words} {
        {fail read EIO 0 1 faulty.conf} {*can't open config file*: Input/output error*}
        {fail open EACCES 0 1 faulty.conf} {*can't open config file*: Permission denied*}
        {fail open ENOSPC 0 1 .log} {*Can't open the log file: No space left on device*}
    } {
        faults $rules_file $rule
        set result [run_server_to_end [list $conf]]
        assert_equal 1 [dict get $result status]
        assert_match $words [dict get $result out][dict get $result err]
    }
}
unset ::env(EVENKEEL_FAULTS)
set ::options(server) $server_before
