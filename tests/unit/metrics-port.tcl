# SPDX-License-Identifier: BSD-3-Clause
# metrics-port: what a scrape says, who may scrape, what is refused; connections that never end,
# and what they cost others. 6.2 has no such port.

# A connection to the metrics' port; tls_channel's words make it one over TLS.
proc scraper {{words plain}} {
    if {$words eq "plain"} {
        set channel [socket 127.0.0.1 $::metrics]
    } else {
        set channel [tls_channel 127.0.0.1 $::metrics $words]
    }
    fconfigure $channel -translation binary -blocking 1 -buffering none
    return $channel
}

# All that comes until the server closes; waits with a bound, as everything does here.
proc read_reply {channel} {
    fconfigure $channel -blocking 0
    set text ""
    set ended 0
    for {set i 0} {$i < 3000 && !$ended} {incr i} {
        set ended [expr {[catch {read $channel} more] || [eof $channel]}]
        if {$ended && ![eof $channel]} {
            break ;# an error, whose text is in `more`
        }
        append text $more
        if {$more eq ""} {
            after 10
        }
    }
    if {!$ended} {
        fail "the server does not end its reply: $text"
    }
    close $channel
    return $text
}

proc ask_bytes {bytes {words plain}} {
    set channel [scraper $words]
    puts -nonewline $channel $bytes
    flush $channel
    return [read_reply $channel]
}

proc request {path {headers ""} {method GET}} {
    return "$method $path HTTP/1.1\r\nHost: x\r\n$headers\r\n"
}

proc http_status {reply} {
    if {![regexp {^HTTP/1\.1 (\d+) [A-Z][A-Za-z ]+\r\n} $reply -> status]} {
        fail "this is no reply: '[string range $reply 0 200]'"
    }
    return $status
}

proc http_body {reply} {
    set end [string first "\r\n\r\n" $reply]
    set body [string range $reply $end+4 end]
    assert_match "*\r\nContent-Length: [string length $body]\r\n*" [string range $reply 0 $end+1]
    assert_match "*\r\nConnection: close\r\n*" [string range $reply 0 $end+1]
    return $body
}

proc scrape {{headers ""}} {
    set reply [ask_bytes [request /metrics $headers]]
    assert_equal 200 [http_status $reply]
    return [http_body $reply]
}

proc basic {user password} {
    return "Authorization: Basic [binary encode base64 "$user:$password"]\r\n"
}

# Reads exposition text as strictly as Prometheus and its linter do: fails at a line out of form, a
# family that comes twice or has two headings, a sample without a family or that comes twice, a
# histogram whose buckets fall or end elsewhere than in +Inf and _count. Returns a dictionary of
# samples, names with labels as they stand, and sets ::families to kinds by name.
proc parse_page {text} {
    set samples {}
    set ::families {}
    set family ""
    if {[string index $text end] ne "\n"} {
        fail "the last line does not end"
    }
    foreach line [split [string range $text 0 end-1] \n] {
        if {[regexp {^# HELP ([a-z_0-9]+) ([ -~]+)$} $line -> family help]} {
            if {[dict exists $::families $family]} {
                fail "$family comes twice"
            }
                dict set ::families $family ""
        } elseif {[regexp {^# TYPE ([a-z_0-9]+) (counter|gauge|histogram)$} $line -> name kind]} {
            assert_equal $family $name
            assert_equal "" [dict get $::families $name]
            dict set ::families $name $kind
            check_family_name $name $kind
        } else {
            add_sample samples $family $line
        }
    }
    check_histograms $samples
    return $samples
}

proc check_family_name {name kind} {
    assert_match evenkeel_* $name
    assert_equal [string match *_total $name] [expr {$kind eq "counter"}] $name
    assert_no_match {*_(usec|msec|perc|kbps)*} $name
}

proc add_sample {variable family line} {
    upvar 1 $variable samples
    set label {[a-z_]+="(?:[^"\\]|\\\\|\\"|\\n)*"}
    set pattern [format {^([a-z_0-9]+)(\{%s(?:,%s)*\})? (-?\d+(?:\.\d+)?)$} $label $label]
    if {![regexp $pattern $line -> name labels value]} {
        fail "no sample: '$line'"
    }
    set kind [dict get $::families $family]
    if {$kind eq "histogram"} {
        regsub {_(bucket|sum|count)$} $name "" name_of_family
        assert_equal $family $name_of_family
    } else {
        assert_equal $family $name
    }
    if {[dict exists $samples $name$labels]} {
        fail "$name$labels comes twice"
    }
    if {$kind eq "counter" && $value < 0} {
        fail "a counter below 0: $line"
    }
    dict set samples $name$labels $value
}

proc check_histograms {samples} {
    set before {}
    dict for {name value} $samples {
        if {![regexp {^([a-z_]+)_bucket\{(.*,)?le="([^"]+)"\}$} $name -> family labels bound]} {
            continue
        }
        if {[dict exists $before $family$labels]} {
            lassign [dict get $before $family$labels] last_bound last
            assert_not_equal +Inf $last_bound
            assert {$bound eq "+Inf" || $bound > $last_bound} $name
            assert_morethan_equal $value $last $name
        }
        dict set before $family$labels [list $bound $value]
        set rest [expr {$labels eq "" ? "" : "{[string range $labels 0 end-1]}"}]
        assert [dict exists $samples ${family}_sum$rest] $name
        if {$bound eq "+Inf"} {
            assert_equal [dict get $samples ${family}_count$rest] $value
        }
    }
    dict for {name last} $before {
        assert_equal +Inf [lindex $last 0] $name
    }
}

proc sample {name} {
    return [dict get [parse_page [scrape]] $name]
}

# Whether the metrics' port takes connections.
proc is_open {port} {
    if {[catch {socket 127.0.0.1 $port} channel]} {
        return 0
    }
    close $channel
    return 1
}

proc start_metrics {overrides body} {
    set ::metrics [find_free_port]
    set pairs [list metrics-port $::metrics {*}$overrides]
    uplevel 1 [list start_server [list overrides $pairs] $body]
}

tags {metrics ours} {
start_metrics {databases 10 save ""} {
    test {A scrape has the rows of INFO, in base units, each family once} {
        r select 5
        r set k v px 100000
        r get k
        r get nothing
        catch {r lpush k x}
        set page [scrape]
        set samples [parse_page $page]
        assert_equal 1 [dict get $samples {evenkeel_command_calls_total{cmd="set"}}]
        assert_equal 2 [dict get $samples {evenkeel_command_calls_total{cmd="get"}}]
        assert_equal 1 [dict get $samples {evenkeel_command_failed_calls_total{cmd="lpush"}}]
        assert_equal 2 [dict get $samples {evenkeel_command_duration_seconds_count{cmd="get"}}]
        assert_equal 2 [dict get $samples {evenkeel_command_felt_seconds_count{cmd="get"}}]
        assert_morethan [dict get $samples {evenkeel_command_felt_seconds_sum{cmd="get"}}] 0
        assert_equal 1 [dict get $samples {evenkeel_errors_total{err="WRONGTYPE"}}]
        assert_equal 1 [dict get $samples {evenkeel_db_keys{db="db5"}}]
        assert_equal 1 [dict get $samples {evenkeel_db_keys_expiring{db="db5"}}]
        assert_range [dict get $samples {evenkeel_db_avg_ttl_seconds{db="db5"}}] 1 100
        assert_equal 1 [dict get $samples evenkeel_keyspace_hits_total]
        assert_equal [s maxclients] [dict get $samples evenkeel_maxclients]
        assert_morethan [dict get $samples {evenkeel_main_thread_seconds_total{cause="idle"}}] 0
        assert_equal 1 [dict get $samples evenkeel_rdb_last_bgsave_status]
        assert_equal -1 [dict get $samples evenkeel_rdb_last_bgsave_time_seconds]
        set labels "redis_version=\"6.2.16\",*role=\"master\"*"
        assert_match "*evenkeel_instance_info{$labels} 1\n*" $page
        assert_match "*run_id=\"[s run_id]\"*" $page
        assert_equal histogram [dict get $::families evenkeel_eventloop_turn_cpu_seconds]
    }

    test {Each family that has a heading has a sample, and there are many} {
        set names {}
        dict for {name value} [parse_page [scrape]] {
            regsub {_(bucket|sum|count)(\{.*)?$|\{.*$} $name "" family
            dict set names $family 1
        }
        assert_morethan [dict size $names] 150
        foreach family [dict keys $::families] {
            assert [dict exists $names $family] "$family has a heading and no sample"
        }
    }

    test {An error code of any bytes is one label's value} {
        catch {r eval {return redis.error_reply('A"\\{}=\255\1 y')} 0}
        catch {r eval {return redis.error_reply('A"\\{}=\254\1 y')} 0}
        set samples [parse_page [scrape]]
        assert_equal 1 [dict get $samples {evenkeel_errors_total{err="A\"\\\\{}=\\xff\\x01"}}]
        assert_equal 1 [dict get $samples {evenkeel_errors_total{err="A\"\\\\{}=\\xfe\\x01"}}]
    }

    test {CONFIG RESETSTAT sets counters to 0, and scrapes go on} {
        r config resetstat
        set samples [parse_page [scrape]]
        assert_equal 0 [dict get $samples evenkeel_keyspace_hits_total]
        assert_lessthan_equal [dict get $samples evenkeel_metrics_scrapes_total] 1
        assert ![dict exists $samples {evenkeel_errors_total{err="WRONGTYPE"}}]
    }

    test {HEAD says what GET would, without the body} {
        set reply [ask_bytes [request /metrics "" HEAD]]
        assert_equal 200 [http_status $reply]
        assert_match "*\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n*" $reply
        regexp {Content-Length: (\d+)} $reply -> length
        assert_morethan $length 1000
        assert_match "*\r\n\r\n" $reply
    }

    test {What is no scrape is refused by its status, and by a sentence} {
        foreach {bytes status text} [list \
            [request /] 404 "*/metrics*" \
            [request /metrics/] 404 "*/metrics*" \
            [request /metrics "" POST] 405 "*GET*" \
            "PRI * HTTP/2.0\r\n\r\n" 505 "*HTTP/1.1*" \
            "GET /metrics HTTP/1.1\r\n\r\n" 400 "*" \
            "*1\r\n\$4\r\nPING\r\n" 400 "*" \
            "\x16\x03\x01\x02\x00\x01" 400 "*" \
            "GET /metrics HTTP/1.1\r\nA: [string repeat x 9000]" 431 "*8192*" \
            "GET /[string repeat x 100000]" 431 "*8192*" \
            [request /metrics [basic x y]] 401 "*Basic*" \
            [request /metrics "Authorization: Bearer x\r\n"] 401 "*Basic*"] {
            set refused [s metrics_refused]
            set reply [ask_bytes $bytes]
            assert_equal $status [http_status $reply] $bytes
            assert_match $text [http_body $reply]
            assert_equal [expr {$refused + 1}] [s metrics_refused]
        }
        assert_match "*\r\nAllow: GET, HEAD\r\n*" [ask_bytes [request / "" PUT]]
        assert_match "*\r\nWWW-Authenticate: Basic *" [ask_bytes [request /metrics [basic x y]]]
        assert_equal 404 [http_status [ask_bytes "HEAD /x HTTP/1.0\n\n"]]
    }

    test {A request in single bytes is served as one in one piece} {
        set channel [scraper]
        foreach byte [split [request /metrics] ""] {
            puts -nonewline $channel $byte
            flush $channel
        }
        assert_equal 200 [http_status [read_reply $channel]]
    }

    test {A request with a body, and a second request, get one reply, whole} {
        set bytes [request /metrics "Content-Length: 300000\r\n"]
        set reply [ask_bytes "$bytes[string repeat x 30000]"]
        parse_page [http_body $reply]
        set reply [ask_bytes [request /metrics][request /metrics]]
        parse_page [http_body $reply]
    }

    test {Who may scrape: as INFO's users} {
        r acl setuser default on >secret
        assert_equal 401 [http_status [ask_bytes [request /metrics]]]
        assert_equal 401 [http_status [ask_bytes [request /metrics [basic default wrong]]]]
        parse_page [scrape [basic default secret]]
        r acl setuser watcher on >w:w ~x -@all +info
        r acl setuser other on >o ~* +@all -info
        r acl setuser resting off >o ~* +@all
        parse_page [scrape [basic watcher w:w]]
        assert_equal 403 [http_status [ask_bytes [request /metrics [basic other o]]]]
        assert_equal 401 [http_status [ask_bytes [request /metrics [basic resting o]]]]
        r config set metrics-user watcher
        parse_page [scrape]
        assert_equal 401 [http_status [ask_bytes [request /metrics [basic watcher w]]]]
        r config set metrics-user other
        assert_equal 403 [http_status [ask_bytes [request /metrics]]]
        r config set metrics-user resting
        assert_equal 403 [http_status [ask_bytes [request /metrics]]]
        r config set metrics-user nobody
        assert_equal 401 [http_status [ask_bytes [request /metrics]]]
        r config set metrics-user ""
        r acl setuser default nopass
        r acl deluser watcher other resting
        parse_page [scrape]
    }

    test {The port is opened, moved and closed while the server runs} {
        set before $::metrics
        set ::metrics [find_free_port]
        set waiting [socket 127.0.0.1 $before]
        fconfigure $waiting -translation binary -buffering none
        after 20
        r config set metrics-port $::metrics
        assert_equal 0 [is_open $before]
        parse_page [scrape]
        puts -nonewline $waiting [request /metrics] ;# it was accepted, and is served to its end
        parse_page [http_body [read_reply $waiting]]
        r config set metrics-port 0
        assert_equal 0 [is_open $::metrics]
        assert_equal PONG [r ping]
        r config set metrics-port $::metrics
        parse_page [scrape]
    }

    test {A port that is in use is refused, and the old one stays} {
        assert_error "*Unable to listen on this port*" {r config set metrics-port [srv port]}
        set taken [socket -server {} -myaddr 127.0.0.1 0]
        set port [lindex [fconfigure $taken -sockname] 2]
        assert_error "*Unable to listen on this port*" {r config set metrics-port $port}
        close $taken
        assert_equal $::metrics [lindex [r config get metrics-port] 1]
        parse_page [scrape]
    }

    test {Scrapes are no clients} {
        set clients [s connected_clients]
        set channel [scraper]
        wait_for_condition 500 10 {[s metrics_connections] == 1} else {
            fail "the connection is not counted"
        }
        assert_equal $clients [s connected_clients]
        assert_no_match "*:$::metrics*" [r client list]
        r config set maxclients [s connected_clients]
        parse_page [scrape]
        r config set maxclients 10000
        close $channel
        wait_for_condition 500 10 {[s metrics_connections] == 0} else {
            fail "its end is not heard"
        }
    }

    test {Hundreds of scrapes that never end: bounded, and both sides are served} {
        set before [s mem_other]
        set channels {}
        for {set i 0} {$i < 300} {incr i} {
            set channel [socket -async 127.0.0.1 $::metrics]
            fconfigure $channel -translation binary -blocking 0
            puts -nonewline $channel "GET /metrics HTTP/1.1\r\nHost: x\r\n"
            catch {flush $channel}
            lappend channels $channel
        }
        wait_for_condition 500 10 {[s metrics_connections] >= 16} else {
            fail "[s metrics_connections] are there"
        }
        assert_equal 16 [s metrics_connections]
        assert_equal PONG [r ping]
        set again [redis_client]
        $again close
        assert_lessthan [expr {[s mem_other] - $before}] 1000000
        # Those that are silent give way to those that wait, until this one gets its turn.
        parse_page [scrape]
        foreach channel $channels {
            catch {close $channel}
        }
        wait_for_condition 3000 10 {[s metrics_connections] == 0} else {
            fail "[s metrics_connections] are left"
        }
    }

    test {A request that does not end is given up, whatever trickles} {
        set refused [s metrics_refused]
        set channel [scraper]
        fconfigure $channel -blocking 0
        wait_for_condition 1000 20 {
            [catch {puts -nonewline $channel x; flush $channel}] ||
            [s metrics_refused] == $refused + 1
        } else {
            fail "it is still waited for"
        }
        close $channel
        wait_for_condition 500 10 {[s metrics_connections] == 0} else {
            fail "[s metrics_connections] are left"
        }
        assert_equal [expr {$refused + 1}] [s metrics_refused]
    }

    test {While a script runs for long, and while a snapshot is loaded, scrapes are served} {
        r config set lua-time-limit 10
        set client [redis_deferring_client]
        $client eval {while true do end} 0
        wait_for_condition 1000 10 {[catch {r ping} error] && [string match BUSY* $error]} else {
            fail "the script is not busy"
        }
        parse_page [scrape]
        r script kill
        assert_error "*Script killed*" {$client read}
        $client close
    }

    test {While a snapshot is loaded, scrapes say how far it is} {
        for {set i 0} {$i < 1000} {incr i} {
            r set key:$i $i
        }
        r save
        r config set key-load-delay 2000 ;# DEBUG RELOAD would keep the test waiting
        set client [redis_deferring_client]
        $client debug reload nosave
        set seen 0
        for {set i 0} {$i < 200 && !$seen} {incr i} {
            set samples [parse_page [scrape]]
            set seen [dict get $samples evenkeel_loading]
        }
        assert_equal 1 $seen
        assert [dict exists $samples evenkeel_loading_loaded_ratio]
        r debug load-delay 0
        assert_equal OK [$client read]
        $client close
    }

    test {A child that saves holds no scrape's connection} {
        r config set snapshot-method fork
        r config set rdb-key-save-delay 100000
        for {set i 0} {$i < 100} {incr i} {
            r set key:$i x
        }
        set channel [scraper]
        wait_for_condition 500 10 {[s metrics_connections] == 1} else {
            fail "the connection is not counted"
        }
        r bgsave
        wait_for_condition 500 10 {[s rdb_bgsave_in_progress] == 1} else {
            fail "nothing is saved"
        }
        puts -nonewline $channel [request /metrics]
        parse_page [http_body [read_reply $channel]] ;# its end comes while the child lives
        assert_equal 1 [s rdb_bgsave_in_progress]
        r config set metrics-port 0
        assert_equal 0 [is_open $::metrics]
        r config set metrics-port $::metrics
        r config set rdb-key-save-delay 0
        set child [exec pgrep -P [srv pid]]
        exec kill -USR1 $child
        wait_for_condition 500 10 {[s rdb_bgsave_in_progress] == 0} else {
            fail "it still saves"
        }
    }

    test {DEBUG RESTART and SHUTDOWN end scrapes, and the port is there again} {
        set channel [scraper]
        puts -nonewline $channel "GET /metr"
        flush $channel
        catch {r debug restart}
        assert_equal "" [read_reply $channel]
        reconnect
        wait_for_condition 500 10 {[is_open $::metrics]} else {
            fail "the metrics' port is not there again"
        }
        parse_page [scrape]
    }
}

start_server {} {
    test {Off by default; a server whose only port is the metrics' does not start} {
        assert_equal {metrics-port 0 metrics-tls no metrics-user {}} \
            [lsort -stride 2 [r config get metrics-*]]
        set ended [run_server_to_end [list --port 0 --metrics-port [find_free_port]]]
        assert_match "*Configured to not listen anywhere*" [dict get $ended out]
        set ended [run_server_to_end [list --port [find_free_port] --metrics-port [srv port]]]
        assert_match "*Failed listening on port [srv port] (metrics), aborting*" \
            [dict get $ended out]
    }
}
}

tags {metrics ours tls tls:skip} {
start_metrics [concat metrics-tls yes [tls_pairs 0]] {
    test {Over TLS, with the rules of tls-auth-clients} {
        set reply [ask_bytes [request /metrics] {}]
        parse_page [http_body $reply]
        assert_morethan_equal [s tls_handshakes] 1
        assert_equal "" [ask_bytes [request /metrics]]
        catch {ask_bytes [request /metrics] {-certfile {} -keyfile {}}} reply
        assert_no_match "*HTTP/1.1*" $reply
        r config set tls-auth-clients no
        parse_page [http_body [ask_bytes [request /metrics] {-certfile {} -keyfile {}}]]
        r config set tls-auth-clients yes
    }

    test {TLS handshakes that never end} {
        set channels {}
        for {set i 0} {$i < 100} {incr i} {
            set channel [socket -async 127.0.0.1 $::metrics]
            fconfigure $channel -translation binary -blocking 0
            puts -nonewline $channel "\x16\x03\x01\x02"
            catch {flush $channel}
            lappend channels $channel
        }
        wait_for_condition 500 10 {[s metrics_connections] == 16} else {
            fail "[s metrics_connections] are there"
        }
        assert_equal PONG [r ping]
        parse_page [http_body [ask_bytes [request /metrics] {}]]
        foreach channel $channels {
            close $channel
        }
        wait_for_condition 1000 10 {[s metrics_connections] == 0} else {
            fail "[s metrics_connections] are left"
        }
    }

    test {metrics-tls is switched while the server runs} {
        r config set metrics-tls no
        parse_page [scrape]
        r config set metrics-tls yes
        parse_page [http_body [ask_bytes [request /metrics] {}]]
    }
}

start_metrics {} {
    test {metrics-tls without a certificate is refused} {
        assert_error "*Unable to update TLS configuration*" {r config set metrics-tls yes}
        parse_page [scrape]
    }
}
}
