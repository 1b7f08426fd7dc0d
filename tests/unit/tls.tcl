# SPDX-License-Identifier: BSD-3-Clause
# TLS: two ports beside each other, certificates, what is set while the server runs, the links of
# replicas and of MIGRATE, and clients who never end their handshake. That everything else works
# over TLS the whole suite shows with --tls.

# A server with a plain port and one for TLS; `more` are further options.
proc both_ports {more} {
    set ::tls_port [find_free_port]
    return [concat [tls_pairs $::tls_port] $more]
}

# A client of the TLS port, in the database of `r`; words as tls_channel takes them.
proc over_tls {{words {}}} {
    set client [tls_client 127.0.0.1 $::tls_port $words]
    $client select 9
    return $client
}

# What PING is answered over TLS with these words; "" where the connection ends instead.
proc ping_over_tls {{words {}}} {
    if {[catch {over_tls $words} client]} {
        return ""
    }
    if {[catch {$client ping} answer]} {
        set answer ""
    }
    $client close
    return $answer
}

set nobody {-certfile {} -keyfile {}}
proc stranger {} {
    return [list -certfile [certificate stranger.crt] -keyfile [certificate stranger.key]]
}

# Whose certificate the server shows.
proc shown_name {} {
    set channel [tls_channel 127.0.0.1 $::tls_port]
    set subject [dict get [::tls::status $channel] subject]
    close $channel
    regexp {CN=([^,/]*)} $subject -> name
    return $name
}

proc assert_set_refused {name value} {
    assert_error_text "ERR Invalid argument '$value' for CONFIG SET '$name' - Unable to update TLS\
        configuration. Check server logs." {r config set $name $value}
}

# Sockets that say the beginning of a handshake, and no more.
proc half_handshakes {count {bytes "\x16\x03\x01\x02"}} {
    set channels {}
    for {set i 0} {$i < $count} {incr i} {
        set channel [socket 127.0.0.1 $::tls_port]
        fconfigure $channel -translation binary -blocking 0
        puts -nonewline $channel $bytes
        flush $channel
        lappend channels $channel
    }
    return $channels
}

tags {tls tls:skip} {
start_server [list overrides [both_ports {}]] {
    test {A plain port and one for TLS, beside each other} {
        set client [over_tls]
        assert_equal OK [$client set k over-tls]
        assert_equal over-tls [r get k]
        assert_equal [srv port] [s tcp_port]
        assert_equal $::tls_port [config_get tls-port]
        assert_equal 1 [s tls_handshakes]
        assert_morethan [s mem_tls] 0
        $client close
        wait_for_condition 500 10 {[s connected_clients] == 1} else {
            fail "the server does not hear that it has closed"
        }
    }

    test {What libssl holds for clients is theirs: tot-mem, mem_clients_normal, maxmemory-clients} {
        proc clients_of_tls {} {
            set sizes {}
            foreach line [split [string trim [r client list]] "\n"] {
                if {[regexp "laddr=127.0.0.1:$::tls_port .* tot-mem=(\\d+) " $line -> size]} {
                    lappend sizes $size
                }
            }
            return $sizes
        }
        set before [s mem_clients_normal]
        set clients {}
        for {set i 0} {$i < 20} {incr i} {
            lappend clients [over_tls]
        }
        set sizes [clients_of_tls]
        assert_equal 20 [llength $sizes]
        foreach size $sizes {
            assert_range $size 8000 60000
        }
        set held [expr {[s mem_clients_normal] - $before}]
        assert_range $held [expr {20 * 8000}] [s mem_tls]
        r config set maxmemory-clients [expr {$before + $held / 2}]
        # The one that asks counts, too, with what it is answered.
        assert_range [llength [clients_of_tls]] 5 12
        r config set maxmemory-clients 0
        foreach client $clients {
            $client close
        }
        wait_for_condition 500 10 {[s mem_clients_normal] <= $before + 4096} else {
            fail "[s mem_clients_normal] bytes of clients, $before before"
        }
    }

    test {Who speaks no TLS on its port is sent away} {
        foreach bytes {"PING\r\n" "*1\r\n\$4\r\nPING\r\n" "GET / HTTP/1.0\r\n\r\n"} {
            set client [client::connect 127.0.0.1 $::tls_port]
            $client write $bytes
            $client flush
            # A last word of TLS may come, but no reply.
            assert_no_match *PONG* [$client raw_rest]
            $client close
        }
        assert_equal 3 [s tls_handshakes_failed]
        assert_equal PONG [ping_over_tls]
    }

    test {tls-auth-clients says who needs a certificate} {
        foreach {value of_client of_nobody of_stranger} {
            yes PONG "" ""   optional PONG PONG ""   no PONG PONG PONG   yes PONG "" ""
        } {
            r config set tls-auth-clients $value
            assert_equal $of_client [ping_over_tls] $value
            assert_equal $of_nobody [ping_over_tls $nobody] $value
            assert_equal $of_stranger [ping_over_tls [stranger]] $value
        }
    }

    test {What cannot be is refused, and what was stays} {
        set client [over_tls]
        foreach {name value} [list \
            tls-cert-file /no/such/file tls-key-file [certificate client.key] tls-cert-file {} \
            tls-key-file [certificate server-locked.key] tls-ca-cert-file [certificate redis.dh] \
            tls-ca-cert-file {} tls-dh-params-file [certificate ca.crt] tls-protocols TLSv9 \
            tls-ciphers nonsense tls-ciphersuites nonsense \
            tls-client-key-file [certificate server.key]
        ] {
            set before [config_get $name]
            assert_set_refused $name $value
            assert_equal $before [config_get $name]
            assert_equal PONG [ping_over_tls] "$name $value"
        }
        assert_equal PONG [$client ping]
        $client close
    }

    test {A pipe in place of a file is refused, and holds up nobody} {
        set pipe [file join [tmpdir pipes] pipe]
        exec mkfifo $pipe
        set client [redis_deferring_client]
        foreach name {tls-cert-file tls-key-file tls-ca-cert-file tls-dh-params-file} {
            $client config set $name $pipe
            if {![$client readable 30000]} {
                # Lest the server stands still for ever.
                close [open $pipe {WRONLY NONBLOCK}]
                fail "CONFIG SET $name waits for somebody to write"
            }
            assert_error "*Unable to update TLS configuration*" {$client read}
        }
        wait_for_log "*$pipe is not a regular file*"
        $client close
        assert_equal PONG [ping_over_tls]
    } {} {ours}

    test {The client's pair counts when both of it are there} {
        # The certificate may be set first: until its key comes the server's pair is shown.
        assert_equal OK [r config set tls-client-key-file ""]
        assert_equal OK [r config set tls-client-cert-file /no/such/file]
        assert_equal OK [r config set tls-client-cert-file [certificate redis.crt]]
        assert_set_refused tls-client-key-file [certificate client.key]
        assert_equal OK [r config set tls-client-key-file [certificate redis.key]]
        assert_equal PONG [ping_over_tls]
        assert_equal OK [r config set tls-client-cert-file ""]
        assert_equal OK [r config set tls-client-key-file [certificate client.key]]
        assert_equal OK [r config set tls-client-cert-file [certificate client.crt]]
    }

    test {The key's file may be encrypted} {
        r config set tls-key-file-pass sesame
        r config set tls-key-file [certificate server-locked.key]
        assert_equal PONG [ping_over_tls]
        assert_set_refused tls-key-file-pass wrong
        assert_equal PONG [ping_over_tls]
        r config set tls-key-file [certificate server.key]
        r config set tls-key-file-pass ""
    }

    test {A pair of another kind is set one file after the other, and the log tells of half of it} {
        set from [count_log_lines]
        assert_equal OK [r config set tls-cert-file [certificate curve.crt]]
        assert_equal "" [ping_over_tls]
        wait_for_log "*tls-key-file is of another kind*" $from
        set from [count_log_lines]
        assert_equal OK [r config set tls-key-file [certificate curve.key]]
        assert_equal curve [shown_name]
        assert_equal PONG [ping_over_tls]
        set lines [lrange [split [server_text [server_id 0]] \n] $from end]
        assert_equal -1 [lsearch -glob $lines "*of another kind*"]
        r config set tls-key-file [certificate server.key]
        r config set tls-cert-file [certificate server.crt]
        assert_equal server [shown_name]
    }

    test {A file that has been replaced is read when its name is set again} {
        set folder [tmpdir renewed]
        foreach {kind} {crt key} {
            file copy [certificate redis.$kind] $folder/now.$kind
        }
        r config set tls-port 0
        r config set tls-cert-file $folder/now.crt
        r config set tls-key-file $folder/now.key
        r config set tls-port $::tls_port
        assert_equal redis [shown_name]
        set client [over_tls]
        foreach {kind} {crt key} {
            file copy -force [certificate server.$kind] $folder/now.$kind
        }
        assert_equal redis [shown_name]
        r config set tls-cert-file $folder/now.crt
        assert_equal server [shown_name]
        assert_equal PONG [$client ping]
        $client close
    }

    test {Versions and ciphers} {
        r config set tls-protocols TLSv1.2
        assert_equal PONG [ping_over_tls {-tls1 0 -tls1.1 0 -tls1.2 1 -tls1.3 0}]
        assert_equal "" [ping_over_tls {-tls1 0 -tls1.1 0 -tls1.2 0 -tls1.3 1}]
        r config set tls-ciphers ECDHE-RSA-AES256-GCM-SHA384
        assert_equal PONG [ping_over_tls {-tls1.3 0 -cipher ECDHE-RSA-AES256-GCM-SHA384}]
        assert_equal "" [ping_over_tls {-tls1.3 0 -cipher ECDHE-RSA-AES128-GCM-SHA256}]
        r config set tls-protocols "tlsv1.3"
        assert_equal "" [ping_over_tls {-tls1 0 -tls1.1 0 -tls1.2 1 -tls1.3 0}]
        assert_equal PONG [ping_over_tls {-tls1 0 -tls1.1 0 -tls1.2 0 -tls1.3 1}]
        r config set tls-protocols ""
        r config set tls-ciphers ""
    }

    test {Much at once, both ways, and pipelines} {
        set value [string repeat 0123456789 1000000]
        set client [over_tls]
        $client set big $value
        assert_equal 10000000 [r strlen big]
        assert {[$client get big] eq $value}
        $client deferred yes
        for {set i 0} {$i < 5000} {incr i} {
            $client write [client::encode [list rpush list $i]]
        }
        for {set i 1} {$i <= 5000} {incr i} {
            assert_equal $i [$client read]
        }
        for {set i 0} {$i < 20} {incr i} {
            $client lrange list 0 -1
        }
        for {set i 0} {$i < 20} {incr i} {
            assert_equal 5000 [llength [$client read]]
        }
        $client close
        r del big list
    }

    test {A client that does not read holds up nobody, and gets all in the end} {
        set slow [over_tls]
        $slow deferred yes
        r set big [string repeat x 1000000]
        for {set i 0} {$i < 20} {incr i} {
            $slow get big
        }
        wait_for_condition 500 10 {[regexp {omem=[1-9]} [r client list]]} else {
            fail "nothing waits for the slow client"
        }
        assert_equal PONG [ping_over_tls]
        for {set i 0} {$i < 20} {incr i} {
            assert_equal 1000000 [string length [$slow read]]
        }
        $slow close
        r del big
    }

    test {Messages, blocked clients and CLIENT KILL reach a client over TLS} {
        set client [over_tls]
        $client deferred yes
        $client blpop q 0
        wait_for_condition 500 10 {[s blocked_clients] == 1} else {
            fail "it is not blocked"
        }
        r rpush q x
        assert_equal {q x} [$client read]
        $client subscribe c
        assert_equal {subscribe c 1} [$client read]
        assert_equal 1 [r publish c hello]
        assert_equal {message c hello} [$client read]
        r client kill type pubsub
        assert_equal 1 [$client closed]
        $client close
    }

    test {The port of TLS moves, and goes} {
        set old $::tls_port
        set new [find_free_port]
        set client [over_tls]
        assert_error_text "ERR Invalid argument '[srv port]' for CONFIG SET 'tls-port' - Unable to\
            listen on this port. Check server logs." {r config set tls-port [srv port]}
        assert_equal $old [config_get tls-port]
        assert_equal PONG [ping_over_tls]
        r config set tls-port $new
        assert_error * {socket 127.0.0.1 $old}
        set ::tls_port $new
        assert_equal PONG [ping_over_tls]
        r config set tls-port 0
        assert_error * {socket 127.0.0.1 $new}
        assert_equal PONG [$client ping]
        # Unused, values are only kept.
        assert_equal OK [r config set tls-protocols TLSv9]
        assert_set_refused tls-port $new
        r config set tls-protocols ""
        r config set tls-port $new
        assert_equal PONG [ping_over_tls]
        $client close
    }

    test {Addresses change for both ports, or for none} {
        r config set bind "127.0.0.1 127.0.0.2"
        set channel [tls_channel 127.0.0.2 $::tls_port]
        close $channel
        close [socket 127.0.0.2 [srv port]]
        assert_error {*Failed to bind to specified addresses*} {
            r config set bind "127.0.0.1 192.0.2.1"
        }
        set channel [tls_channel 127.0.0.2 $::tls_port]
        close $channel
        r config set bind 127.0.0.1
        assert_error * {socket 127.0.0.2 $::tls_port}
        assert_equal PONG [ping_over_tls]
        assert_equal PONG [r ping]
    }
}

start_server [list overrides [both_ports {tls-handshakes-max 5 tls-handshake-timeout 2}]] {
    test {Handshakes that do not go on make room for those that do} {
        set channels [half_handshakes 40]
        for {set i 0} {$i < 20} {incr i} {
            assert_lessthan_equal [s tls_handshakes_in_progress] 5
            assert_equal PONG [r ping]
        }
        # It waits behind the others, each of which is given a second at most.
        assert_equal PONG [ping_over_tls]
        foreach channel $channels {
            close $channel
        }
        wait_for_condition 1000 10 {[s tls_handshakes_in_progress] == 0} else {
            fail "handshakes stay"
        }
    }

    test {A handshake that takes too long ends} {
        await_alone
        set accepted [s total_connections_received]
        set channels [half_handshakes 3 ""]
        lappend channels {*}[half_handshakes 1]
        foreach channel $channels {
            set client [client::from_channel $channel]
            assert_equal "" [$client raw_rest]
            $client close
        }
        assert_equal [expr {$accepted + 4}] [s total_connections_received]
        assert_equal 0 [s tls_handshakes_in_progress]
        assert_equal 1 [s connected_clients]
    }
}

# No timer runs while a script does, and a client that comes to end the script needs a place.
start_server [list overrides [both_ports {
    tls-handshakes-max 5 tls-handshake-timeout 2 lua-time-limit 20
}]] {
    test {Handshakes that do not go on make room while a script runs, too} {
        set runs [client::connect 127.0.0.1 [srv port]]
        set ends [client::connect 127.0.0.1 [srv port]]
        $runs deferred yes
        $runs eval {while true do end} 0
        wait_for_condition 500 20 {
            [catch {$ends ping} answer] && [string match BUSY* $answer]
        } else {
            fail "the script does not run"
        }
        set channels [half_handshakes 8]
        set stay 8
        for {set i 0} {$i < 1000 && $stay} {incr i} {
            after 20
            set stay 0
            foreach channel $channels {
                read $channel
                incr stay [expr {![eof $channel]}]
            }
        }
        assert_equal OK [$ends script kill]
        assert_error *killed* {$runs read}
        assert_equal 0 $stay
        foreach channel $channels {
            close $channel
        }
        $runs close
        $ends close
    }
}

set primary_options [both_ports {repl-diskless-sync-delay 0}]
set primary_port $::tls_port
start_server [list overrides $primary_options] {
    start_server [list overrides [both_ports {tls-replication yes}]] {
        foreach diskless {yes no} {
            test "A replica follows over TLS, diskless $diskless" {
                r -1 config set repl-diskless-sync $diskless
                r -1 debug populate 20000 key 100
                r -1 set big [string repeat 0123456789 100000]
                r replicaof 127.0.0.1 $primary_port
                wait_for_condition 1000 20 {[s master_link_status] eq "up"} else {
                    fail "the link does not come up"
                }
                r -1 set after 1
                r -1 wait 1 60000
                assert_equal [r -1 debug digest] [r debug digest]
                assert_match "*,port=$::tls_port,*" [s -1 slave0]
                r replicaof no one
                r -1 flushall
            }
        }

        test {A link that breaks goes on where it stood} {
            r replicaof 127.0.0.1 $primary_port
            wait_for_condition 1000 20 {[s master_link_status] eq "up"} else {
                fail "the link does not come up"
            }
            r -1 set a 1
            r -1 wait 1 60000
            set before [s -1 sync_partial_ok]
            r -1 client kill type replica
            r -1 set a 2
            wait_for_condition 1000 20 {[s -1 sync_partial_ok] == $before + 1} else {
                fail "it does not come again"
            }
            wait_for_condition 500 20 {[r get a] eq "2"} else {
                fail "it has missed something"
            }
            r replicaof no one
        }

        test {Without tls-replication it speaks plainly, and the other way round} {
            r config set tls-replication no
            r replicaof 127.0.0.1 [srv -1 port]
            wait_for_condition 1000 20 {[s master_link_status] eq "up"} else {
                fail "the plain link does not come up"
            }
            assert_match "*,port=[srv port],*" [s -1 slave0]
            r replicaof no one
            r config set tls-replication yes
            set from [count_log_lines]
            r replicaof 127.0.0.1 [srv -1 port]
            wait_for_log "*handshake*" $from
            assert_equal down [s master_link_status]
            r replicaof no one
        }

        test {A refused certificate has its name in the log} {
            set pair [list [config_get tls-client-cert-file] [config_get tls-client-key-file]]
            r config set tls-client-cert-file ""
            r config set tls-client-key-file [certificate stranger.key]
            r config set tls-client-cert-file [certificate stranger.crt]
            set from [count_log_lines]
            r replicaof 127.0.0.1 $primary_port
            wait_for_log "*alert unknown ca*" $from
            set lines [lrange [split [server_text [server_id 0]] \n] $from end]
            assert_equal -1 [lsearch -glob $lines "*Protocol error*"]
            r replicaof no one
            r config set tls-client-cert-file ""
            r config set tls-client-key-file [lindex $pair 1]
            r config set tls-client-cert-file [lindex $pair 0]
        } undefined {ours}

        test {MIGRATE speaks TLS with tls-cluster} {
            r -1 flushall
            r -1 set k [string repeat v 1000000]
            r -1 config set tls-cluster yes
            assert_equal OK [r -1 migrate 127.0.0.1 $::tls_port k 9 60000]
            assert_equal 1000000 [r strlen k]
            assert_equal 0 [r -1 exists k]
            r -1 set k v
            assert_error {IOERR*} {r -1 migrate 127.0.0.1 [srv port] k 9 2000}
            assert_equal v [r -1 get k]
            r -1 config set tls-cluster no
        }

        test {A connection that MIGRATE has kept is not used when tls-cluster has changed} {
            r flushall
            foreach key {a b c} {
                r -1 set $key v
            }
            assert_equal OK [r -1 migrate 127.0.0.1 [srv port] a 9 60000]
            r -1 config set tls-cluster yes
            assert_error {IOERR*} {r -1 migrate 127.0.0.1 [srv port] b 9 2000}
            assert_equal OK [r -1 migrate 127.0.0.1 $::tls_port b 9 60000]
            r -1 config set tls-cluster no
            assert_error {IOERR*} {r -1 migrate 127.0.0.1 $::tls_port c 9 2000}
            assert_equal OK [r -1 migrate 127.0.0.1 [srv port] c 9 60000]
            assert_equal {a b c} [lsort [r keys *]]
        }
    }
}

test {A server does not start without what TLS needs} {
    set port [find_free_port]
    set base [list --port 0 --tls-port $port --save ""]
    set cert [list --tls-cert-file [certificate server.crt]]
    set key [list --tls-key-file [certificate server.key]]
    set authority [list --tls-ca-cert-file [certificate ca.crt]]
    foreach {words message} [list \
        {} "No tls-cert-file configured!" \
        $cert "No tls-key-file configured!" \
        [concat $cert $key] "Either tls-ca-cert-file or tls-ca-cert-dir must be specified when\
            tls-cluster, tls-replication or tls-auth-clients are enabled!" \
        [concat $cert $key $authority {--tls-protocols TLSv9}] "Invalid tls-protocols specified."
    ] {
        set result [run_server_to_end [concat $base $words]]
        assert_equal 1 [dict get $result status]
        assert_match "*$message*" [dict get $result out]
        assert_match "*Failed to configure TLS. Check logs for more info.*" [dict get $result out]
    }
}

start_server [list overrides [concat {port 0} [both_ports {}]]] {
    test {A server with nothing but a port for TLS} {
        set client [over_tls]
        assert_equal $::tls_port [info_property [$client info server] tcp_port]
        $client close
    }
}
}
