# SPDX-License-Identifier: BSD-3-Clause
# Signals to the server, and the program executed anew.

start_server {} {
    test {SIGHUP and SIGPIPE change nothing} {
        exec kill -HUP [srv pid]
        exec kill -PIPE [srv pid]
        assert_equal PONG [r ping]
        assert_equal PONG [[redis_client] ping]
    }

    test {SIGSTOP and SIGCONT: nothing is lost} {
        set client [redis_deferring_client]
        pause_process [srv pid]
        $client set stopped yes
        $client get stopped
        assert_equal 0 [$client readable 100]
        exec kill -CONT [srv pid]
        assert_equal OK [$client read]
        assert_equal yes [$client read]
        $client close
    }
}

start_server {} {
    test {A second SIGINT while a command runs ends the server at once, with status 1} {
        set client [redis_deferring_client]
        $client debug sleep 60
        $client flush
        await_read $client
        exec kill -INT [srv pid]
        wait_for_log "*Received SIGINT scheduling shutdown...*"
        assert_equal 1 [process_alive [srv pid]]
        exec kill -INT [srv pid]
        assert_equal 1 [await_end [srv process]]
        assert_no_match "*ready to exit*" [server_text [server_id 0]]
        $client close
        set status [reap [srv process]]
        server_launch [server_id 0]
        set status
    } {1} {ours}
}

start_server {unix 1} {
    test {The second SIGINT is logged, and does not leave the unix socket behind} {
        set client [redis_deferring_client]
        $client debug sleep 60
        $client flush
        await_read $client
        exec kill -INT [srv pid]
        wait_for_log "*Received SIGINT scheduling shutdown...*"
        exec kill -INT [srv pid]
        assert_equal 1 [await_end [srv process]]
        $client close
        wait_for_log "*You insist... exiting now."
        assert_equal 0 [file exists [srv socket]]
        reap [srv process]
        server_launch [server_id 0]
    } {1} {ours}
}

start_server {} {
    test {A second SIGTERM is only the same wish} {
        set client [redis_deferring_client]
        $client debug sleep 1
        $client flush
        await_read $client
        exec kill -TERM [srv pid]
        wait_for_log "*Received SIGTERM scheduling shutdown...*"
        exec kill -TERM [srv pid]
        assert_equal 1 [await_end [srv process]]
        $client close
        set status [reap [srv process]]
        server_launch [server_id 0]
        set status
    } {0}
}

start_server {} {
    test {SIGTERM while a command runs: the command ends first} {
        set client [redis_deferring_client]
        $client debug sleep 1
        $client flush
        await_read $client
        exec kill -TERM [srv pid]
        assert_equal OK [$client read]
        $client close
        assert_equal 1 [await_end [srv process]]
        set status [reap [srv process]]
        assert_match "*User requested shutdown...*ready to exit, bye bye...*" \
            [server_text [server_id 0]]
        server_launch [server_id 0]
        set status
    } {0} {ours}
}

# What runs once the data have been saved is nowhere: it may not be answered. All stand in the
# sockets when the server looks at them next, so they come in one turn: it is stopped, or a command
# takes long. A signal wakes a server that is stopped before it has seen its sockets, so that one
# comes during a command.
foreach {how tags} {SHUTDOWN {} SIGTERM ours} {
    start_server {} {
        test "$how: no request that comes behind it is run" {
            set ender [redis_deferring_client]
            set others {}
            foreach number {1 2 3} {
                lappend others [redis_deferring_client]
            }
            r config set save "10000 1"
            r set before 1
            if {$how eq "SHUTDOWN"} {
                pause_process [srv pid]
                $ender shutdown
                $ender flush
            } else {
                $ender debug sleep 2
                $ender flush
                await_read $ender
            }
            foreach other $others {
                $other incr behind
                $other incr behind
                $other flush
            }
            if {$how eq "SHUTDOWN"} {
                exec kill -CONT [srv pid]
            } else {
                exec kill -TERM [srv pid]
                assert_equal OK [$ender read]
            }
            foreach other $others {
                assert {[$other closed]}
                $other close
            }
            $ender close
            assert_equal 1 [await_end [srv process]]
            reap [srv process]
            server_launch [server_id 0]
            reconnect
            assert_equal {1 {}} [list [r get before] [r get behind]]
        } {} $tags
    }
}

foreach {what script reply} {
    {has not written: it is ended} {while true do end} {*Script killed*}
    {has written: it ends first} {redis.call('set', 'x', 'y') for i = 1, 5e7 do end
        return redis.call('get', 'x')} y
} {
    start_server {overrides {lua-time-limit 20}} {
        test "SIGTERM while a script runs beyond its time that $what" {
            set client [redis_deferring_client]
            $client eval $script 0
            $client flush
            await_read $client
            exec kill -TERM [srv pid]
            catch {$client read} answer
            assert_match $reply $answer
            assert_equal 1 [await_end [srv process]]
            $client close
            set status [reap [srv process]]
            server_launch [server_id 0]
            set status
        } {0} {ours}
    }
}

# --- the program executed anew ------------------------------------------------------------------

foreach {words how} {
    {debug restart}               {*ready to exit, bye bye*}
    {debug restart 300}           {*ready to exit, bye bye*}
    {debug crash-and-recover}     {}
    {debug crash-and-recover 300} {}
} {
    start_server {} {
        test "[join $words] executes the program again, with the same pid" {
            set run [s run_id]
            set pid [s process_id]
            r config set maxclients 321
            set client [redis_deferring_client]
            $client {*}$words
            assert_equal 1 [$client closed]
            $client close
            reconnect
            wait_for_condition 400 25 {
                ![catch {redis_client} again] && [s run_id] ne $run
            } else {
                fail "it does not come back"
            }
            assert_equal $pid [s process_id]
            # Restart keeps changed options in the file; the other way forgets them.
            assert_equal [expr {[lindex $words 1] eq "restart" ? 321 : 10000}] \
                [config_get maxclients]
            if {$how ne ""} {
                assert_match $how [server_text [server_id 0]]
            } else {
                assert_no_match "*bye bye*" [server_text [server_id 0]]
            }
            $again close
        }
    }
}

start_server {} {
    test {DEBUG RESTART and CRASH-AND-RECOVER: the errors change nothing} {
        foreach word {restart crash-and-recover} {
            assert_error_text {ERR value is not an integer or out of range} {r debug $word x}
            assert_error_text {ERR value is not an integer or out of range} {r debug $word x y}
        }
        assert_equal PONG [r ping]
    }
}

test {A server whose configuration came from standard input cannot be executed anew} {
    set port [find_free_port]
    set process [spawn_server - "" "port $port\nbind 127.0.0.1\nsave \"\"\n"]
    wait_for_condition 200 20 {![catch {client::connect 127.0.0.1 $port} client]} else {
        fail "nobody listens: [read_whole [dict get $process log]]"
    }
    foreach word {restart crash-and-recover} {
        assert_error_text {ERR failed to restart the server. Check server logs.} \
            {$client debug $word}
    }
    assert_match "*Can't restart: the configuration came from standard input.*" \
        [read_whole [dict get $process log]]
    catch {$client shutdown nosave}
    $client close
    assert_equal 1 [await_end $process]
    reap $process
} {0} {ours tls:skip}

start_server {} {
    test {SIGTERM where the data cannot be saved: the server goes on, until it can} {
        file mkdir [file join [srv dir] folder]
        r config set dbfilename folder
        r config set save "3600 1"
        r set key value
        foreach signal {TERM INT} {
            set from [count_log_lines]
            exec kill -$signal [srv pid]
            wait_for_log "*errors trying to shut down the server*" $from
            assert_equal value [r get key]
        }
        r config set dbfilename dump.rdb
        exec kill -TERM [srv pid]
        assert_equal 1 [await_end [srv process]]
        assert_equal 0 [reap [srv process]]
        server_launch [server_id 0]
        reconnect
        r get key
    } {value}
}
