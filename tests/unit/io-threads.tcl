# SPDX-License-Identifier: BSD-3-Clause
# I/O threads: many clients that are ready at once, read and written to by several threads, while
# requests kill, block, unblock and tell each other. What a client sees is what one thread would
# have shown it.
#
# A burst: the server is kept busy for a moment while all clients write, and then finds them ready
# in one turn. That it did is not certain on a slow machine, so who counts on it asks again.

# How clients come: over TLS to a second port, or as all do.
set ::io_tls 0

proc io_open {} {
    if {!$::io_tls} {
        return [redis_deferring_client]
    }
    set client [tls_client 127.0.0.1 $::tls_port]
    $client select 9
    $client deferred yes
    return $client
}

proc io_open_many {count} {
    set clients {}
    for {set i 0} {$i < $count} {incr i} {
        lappend clients [io_open]
    }
    return $clients
}

proc io_close {clients} {
    foreach client $clients {
        $client close
    }
}

# Bytes of several requests.
proc io_requests {args} {
    set bytes ""
    foreach words $args {
        append bytes [client::encode $words]
    }
    return $bytes
}

# Sends each client its bytes while the server sleeps: a dict of bytes by client. Who is not read
# to the end by the system meanwhile is written to in the background.
proc io_burst {bytes_by_client} {
    set sleeper [redis_deferring_client]
    $sleeper debug sleep 0.1
    dict for {client bytes} $bytes_by_client {
        $client write $bytes
        $client flush
    }
    $sleeper read
    $sleeper close
}

proc io_counted {} {
    return [list [s io_threaded_reads_processed] [s io_threaded_writes_processed]]
}

proc io_id {client} {
    $client client id
    return [$client read]
}

# Until the threads have written in it, and read, where they do.
proc io_until_used {body} {
    set reads [expr {[config_get io-threads-do-reads] eq "yes"}]
    for {set round 0} {$round < 50} {incr round} {
        lassign [io_counted] reads_before writes_before
        uplevel 1 $body
        lassign [io_counted] reads_after writes_after
        if {$writes_after > $writes_before && (!$reads || $reads_after > $reads_before)} {
            return
        }
    }
    fail "the threads were not used in $round bursts"
}

# Some fill batches of their own, most share one.
proc io_length {number} {
    return [expr {$number % 15 ? 1 + $number % 7 : 300}]
}

# Rounds with connections of their own, which cost more over TLS.
proc io_rounds {} {
    return [accurate [expr {$::io_tls || $::options(tls) ? 2 : 6}] 30]
}

# The tests that hold over any transport.
proc io_thread_tests {how} {
    test "Many pipelines at once are answered in order$how" {
        set clients [io_open_many 60]
        io_until_used {
            set bytes {}
            set number 0
            foreach client $clients {
                set requests [list [list set key$number $number]]
                for {set i 0} {$i < [io_length $number]} {incr i} {
                    lappend requests [list echo $number.$i] [list incr count$number]
                }
                lappend requests [list getdel key$number] [list getdel count$number]
                dict set bytes $client [io_requests {*}$requests]
                incr number
            }
            io_burst $bytes
            set number 0
            foreach client $clients {
                assert_equal OK [$client read]
                for {set i 0} {$i < [io_length $number]} {incr i} {
                    assert_equal $number.$i [$client read]
                    assert_equal [expr {$i + 1}] [$client read]
                }
                assert_equal $number [$client read]
                assert_equal $i [$client read]
                incr number
            }
        }
        io_close $clients
    }

    test "Requests in pieces, and large arguments among small ones$how" {
        set clients [io_open_many 24]
        foreach cut {1 17 5000 16384 40010} {
            set bytes {}
            set rest {}
            set number 0
            foreach client $clients {
                set value [string repeat [expr {$number % 10}] [expr {1 << ($number % 18)}]]
                set all [io_requests [list set large$number $value] [list getdel large$number] ping]
                dict set bytes $client [string range $all 0 [expr {$cut - 1}]]
                dict set rest $client [string range $all $cut end]
                incr number
            }
            io_burst $bytes
            io_burst $rest
            set number 0
            foreach client $clients {
                assert_equal OK [$client read]
                assert {[$client read] eq
                        [string repeat [expr {$number % 10}] [expr {1 << ($number % 18)}]]}
                assert_equal PONG [$client read]
                incr number
            }
        }
        io_close $clients
    }

    test "Replies that the socket does not take wait, in order$how" {
        r set large [string repeat x 300000]
        set clients [io_open_many 20]
        for {set round 0} {$round < 3} {incr round} {
            set bytes {}
            foreach client $clients {
                dict set bytes $client [io_requests {echo first} {get large} {echo second} \
                    {getrange large 0 9999} {get large} {get large} {echo last}]
            }
            io_burst $bytes
            # Others go on meanwhile.
            assert_equal PONG [r ping]
            foreach client $clients {
                assert_equal first [$client read]
                assert_equal 300000 [string length [$client read]]
                assert_equal second [$client read]
                assert_equal 10000 [string length [$client read]]
                assert_equal 300000 [string length [$client read]]
                assert_equal 300000 [string length [$client read]]
                assert_equal last [$client read]
            }
        }
        io_close $clients
        r del large
    } {1}

    test "CLIENT KILL of clients that are being read and written to$how" {
        for {set round 0} {$round < [io_rounds]} {incr round} {
            set clients [io_open_many 30]
            set ids [lmap client $clients {io_id $client}]
            set killer [lindex $clients [expr {5 * $round % 30}]]
            set bytes {}
            set number 0
            foreach client $clients {
                if {$client eq $killer} {
                    set kills {}
                    foreach id $ids other $clients {
                        if {$other ne $killer && $id % 2} {
                            lappend kills [list client kill id $id]
                        }
                    }
                    dict set bytes $client [io_requests {*}$kills {echo done}]
                } else {
                    dict set bytes $client [io_requests {echo a} {incr kills} {echo b}]
                }
            }
            io_burst $bytes
            foreach kill $kills {
                assert_equal 1 [$killer read]
            }
            assert_equal done [$killer read]
            foreach id $ids client $clients {
                if {$client eq $killer} continue
                # One that was killed may have been answered before.
                set code [catch {
                    assert_equal a [$client read]
                    $client read
                    assert_equal b [$client read]
                    $client ping
                    $client read
                } answer]
                assert_equal [expr {$id % 2}] $code $answer
            }
            io_close $clients
        }
        r del kills
    } {1}

    test "Clients that leave in the midst of a burst$how" {
        for {set round 0} {$round < [io_rounds]} {incr round} {
            set clients [io_open_many 40]
            set bytes {}
            foreach client $clients {
                dict set bytes $client [io_requests {echo a} {echo b}]
            }
            set sleeper [redis_deferring_client]
            $sleeper debug sleep 0.05
            foreach client $clients {
                $client write [dict get $bytes $client]
                $client flush
            }
            set staying {}
            foreach client $clients {
                if {[random_int 2]} {
                    $client close
                } else {
                    lappend staying $client
                }
            }
            foreach client $staying {
                assert_equal {a b} [client_replies $client 2]
            }
            io_close $staying
            $sleeper read
            $sleeper close
        }
        wait_for_condition 1000 10 {[s connected_clients] == 1} else {
            fail "[s connected_clients] clients are left"
        }
    }

    test "QUIT in a burst: what comes before it is answered, and nothing after it runs$how" {
        set clients [io_open_many 30]
        set bytes {}
        foreach client $clients {
            dict set bytes $client [io_requests {echo a} quit {incr after}]
        }
        io_burst $bytes
        foreach client $clients {
            assert_equal {a OK} [client_replies $client 2]
            assert_error "*closed*" {$client read}
        }
        io_close $clients
        assert_equal 0 [r exists after]
    }

    test "Transactions of many clients: each is one, and WATCH sees the others$how" {
        r set sum 0
        set clients [io_open_many 30]
        set bytes {}
        foreach client $clients {
            dict set bytes $client [io_requests {watch never} multi {incr sum} {incr sum} exec \
                {watch sum} {incr sum} multi {incr sum} exec]
        }
        io_burst $bytes
        set sums {}
        foreach client $clients {
            assert_equal {OK OK QUEUED QUEUED} [client_replies $client 4]
            lassign [$client read] one two
            assert_equal [expr {$one + 1}] $two
            lappend sums $one $two
            assert_equal OK [$client read]
            lappend sums [$client read]
            assert_equal {OK QUEUED {}} [client_replies $client 3]
        }
        set expected {}
        for {set i 1} {$i <= 90} {incr i} {
            lappend expected $i
        }
        assert_equal $expected [lsort -integer $sums]
        io_close $clients
        r del sum
    } {1}

    test "Who waits for a key is served by others of the burst, and goes on$how" {
        set clients [io_open_many 40]
        set bytes {}
        set number 0
        foreach client $clients {
            if {[incr number] % 2} {
                dict set bytes $client [io_requests {echo a} {blpop list 0} {echo b}]
            } else {
                dict set bytes $client [io_requests {echo a} {rpush list x} {echo b}]
            }
        }
        io_burst $bytes
        set number 0
        foreach client $clients {
            assert_equal a [$client read]
            if {[incr number] % 2} {
                assert_equal {list x} [$client read]
            } else {
                $client read
            }
            assert_equal b [$client read]
        }
        io_close $clients
        assert_equal 0 [r exists list]
    }

    test "Messages and replies of subscribers come in order$how" {
        set subscribers [io_open_many 20]
        foreach client $subscribers {
            $client subscribe channel
            $client read
        }
        set publishers [io_open_many 20]
        for {set round 0} {$round < 5} {incr round} {
            set bytes {}
            foreach client $subscribers {
                dict set bytes $client [io_requests {ping one} {ping two}]
            }
            set number 0
            foreach client $publishers {
                dict set bytes $client [io_requests [list publish channel $number.1] \
                    [list publish channel $number.2]]
                incr number
            }
            io_burst $bytes
            foreach client $publishers {
                assert_equal {20 20} [client_replies $client 2]
            }
            set first {}
            foreach client $subscribers {
                set messages {}
                set pings {}
                foreach reply [client_replies $client 42] {
                    switch [lindex $reply 0] {
                        message { lappend messages [lindex $reply 2] }
                        default { lappend pings [lindex $reply end] }
                    }
                }
                assert_equal {one two} $pings
                # All hear the same, in the order in which it was said.
                if {$first eq ""} {
                    set first $messages
                }
                assert_equal $first $messages
                for {set i 0} {$i < 20} {incr i} {
                    assert {[lsearch $messages $i.1] < [lsearch $messages $i.2]}
                }
            }
        }
        io_close $subscribers
        io_close $publishers
    }

    test "MONITOR sees the commands of a burst as they ran$how" {
        set monitor [io_open]
        $monitor monitor
        $monitor read
        set clients [io_open_many 30]
        set ids [lmap client $clients {io_id $client}]
        set bytes {}
        foreach client $clients {
            dict set bytes $client [io_requests {rpush order x} {echo y}]
        }
        io_burst $bytes
        set places [lmap client $clients {lindex [client_replies $client 2] 0}]
        assert_equal 30 [llength [lsort -unique $places]]
        set seen 0
        while {$seen < 60} {
            set line [$monitor read]
            if {[string match {*"rpush" "order" "x"*} $line] ||
                    [string match {*"echo" "y"*} $line]} {
                incr seen
            }
        }
        $monitor close
        io_close $clients
        r del order
    } {1}

    test "A long script lets others of its burst in, and one of them ends it$how" {
        with_config {lua-time-limit 20} {
            set clients [io_open_many 30]
            set killer [lindex $clients 20]
            set bytes {}
            set number 0
            foreach client $clients {
                if {[incr number] == 5} {
                    dict set bytes $client \
                        [io_requests {echo a} {eval {while true do end} 0} {echo b}]
                } elseif {$client eq $killer} {
                    dict set bytes $client [io_requests {echo a}]
                } else {
                    dict set bytes $client [io_requests {echo a} {incr busy} {echo b}]
                }
            }
            set sleeper [redis_deferring_client]
            $sleeper debug sleep 0.1
            dict for {client requests} $bytes {
                $client write $requests
                $client flush
            }
            catch {$killer read} ;# the script may run already
            for {set tries 0} {$tries < 1000} {incr tries} {
                $killer script kill
                if {![catch {$killer read}]} break
                after 10
            }
            assert {$tries < 1000}
            $sleeper read
            $sleeper close
            set number 0
            foreach client $clients {
                if {$client eq $killer} {
                    incr number
                    continue
                }
                if {[incr number] == 5} {
                    assert_equal a [$client read]
                    assert_error "*Script killed*" {$client read}
                    assert_equal b [$client read]
                } else {
                    # Before the script, after it, or refused meanwhile.
                    foreach pattern {a [0-9]* b} {
                        if {[catch {$client read} answer]} {
                            set pattern "BUSY*"
                        }
                        assert_match $pattern $answer
                    }
                }
            }
            io_close $clients
            r del busy
        }
    }

    test "BGSAVE and CONFIG SET within a burst$how" {
        set clients [io_open_many 30]
        for {set round 0} {$round < 3} {incr round} {
            wait_for_condition 1000 10 {[s rdb_bgsave_in_progress] == 0} else {
                fail "a snapshot takes too long"
            }
            set bytes {}
            set number 0
            foreach client $clients {
                if {[incr number] == 10} {
                    dict set bytes $client [io_requests bgsave {config set hz 11} {echo b}]
                } else {
                    dict set bytes $client [io_requests {echo a} [list set saved$number x] {echo b}]
                }
            }
            io_burst $bytes
            set number 0
            foreach client $clients {
                if {[incr number] == 10} {
                    assert_match "Background saving*" [$client read]
                } else {
                    assert_equal a [$client read]
                }
                assert_equal {OK b} [client_replies $client 2]
            }
        }
        io_close $clients
        r config set hz 10
    } {OK}

    test "A client that reads nothing is closed at its limit, and no other$how" {
        r set large [string repeat x 100000]
        with_config {client-output-buffer-limit {normal 1mb 0 0}} {
            set greedy [io_open]
            set clients [io_open_many 20]
            for {set round 0} {$round < 200} {incr round} {
                set bytes {}
                if {[catch {$greedy write [string repeat [io_requests {get large}] 50]
                            $greedy flush}]} break
                foreach client $clients {
                    $client write [io_requests {echo a} {echo b}]
                    $client flush
                }
                foreach client $clients {
                    assert_equal {a b} [client_replies $client 2]
                }
                if {[s connected_clients] == 21} break
            }
            assert_equal 21 [s connected_clients]
            $greedy close
            io_close $clients
        }
        r del large
    } {1}
}

start_server {overrides {io-threads 4 io-threads-do-reads yes save {}} tags {io-threads ours}} {
    test {io-threads: set at start only, and named as in 6.2} {
        assert_equal {io-threads 4} [r config get io-threads]
        assert_error_text {ERR Unsupported CONFIG parameter: io-threads} \
            {r config set io-threads 2}
        assert_error_text {ERR Unsupported CONFIG parameter: io-threads-do-reads} \
            {r config set io-threads-do-reads no}
        set names {}
        foreach path [glob /proc/[srv pid]/task/*/comm] {
            if {[string match io_thd* [set name [string trim [read_whole $path]]]]} {
                lappend names $name
            }
        }
        assert_equal {io_thd_1 io_thd_2 io_thd_3} [lsort $names]
    }

    test {A few clients wake no thread, and none is busy} {
        r config set io-threads-clients-min 16
        set clients [io_open_many 5]
        set before [io_counted]
        set paths {}
        foreach path [glob /proc/[srv pid]/task/*/comm] {
            if {[string match io_thd* [read_whole $path]]} {
                lappend paths [file join [file dirname $path] schedstat]
            }
        }
        proc io_cpu_nsec {paths} {
            tcl::mathop::+ {*}[lmap path $paths {lindex [read_whole $path] 0}]
        }
        # A thread that was told to rest may not have had its turn yet on a busy machine.
        set cpu_before -1
        wait_for_condition 100 100 {
            $cpu_before == [set cpu_before [io_cpu_nsec $paths]]
        } else {
            fail "an I/O thread does not come to rest"
        }
        for {set i 0} {$i < 200} {incr i} {
            foreach client $clients {
                $client echo $i
            }
            foreach client $clients {
                assert_equal $i [$client read]
            }
        }
        after 200
        assert_equal $before [io_counted]
        assert_equal 0 [s io_threads_active]
        # They have not run at all.
        assert_equal $cpu_before [io_cpu_nsec $paths]
        io_close $clients
    }

    io_thread_tests ""

    r config set io-threads-clients-min 1
    io_thread_tests ", with a thread for each"
}

start_server {overrides {io-threads 2 io-threads-clients-min 1 save {}} tags {io-threads ours}} {
    test {Without io-threads-do-reads they write and do not read} {
        set clients [io_open_many 20]
        io_until_used {
            set bytes {}
            foreach client $clients {
                dict set bytes $client [io_requests {echo a} {echo b}]
            }
            io_burst $bytes
            foreach client $clients {
                assert_equal {a b} [client_replies $client 2]
            }
        }
        # tests/run --config may say otherwise.
        if {[config_get io-threads-do-reads] eq "no"} {
            assert_equal 0 [s io_threaded_reads_processed]
        }
        r config resetstat
        assert {[s io_threaded_writes_processed] < 20}
        io_close $clients
    }

    io_thread_tests ", writes only"
}

set ::tls_port [find_free_port]
start_server [list tags {io-threads ours tls:skip} overrides [concat [tls_pairs $::tls_port] \
        {io-threads 3 io-threads-do-reads yes io-threads-clients-min 1 save {}}]] {
    set ::io_tls 1
    io_thread_tests ", over TLS"
    set ::io_tls 0
}
