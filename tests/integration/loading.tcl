# SPDX-License-Identifier: BSD-3-Clause
# What clients are told while a snapshot is loaded: at start, and by DEBUG RELOAD. The load waits
# after each key, so it lasts until a test lets it go on.

set loading_error "LOADING Redis is loading the dataset in memory"

# A large value a key, so that a 6.2, which answers every 2 MB of the file, does so often enough.
proc save_snapshot {} {
    r debug populate 400 key 100000
    r save
}

# Another server with the first one's snapshot. -> {process client}
proc start_loading {args} {
    set port [find_free_port]
    set process [spawn_server [list {*}[port_words $port] --bind 127.0.0.1 --dir [srv dir] \
        --save {} --loglevel verbose --key-load-delay 100000 {*}$args]]
    wait_for_condition 1000 10 {![catch {client::connect 127.0.0.1 $port} client]} else {
        fail "nobody listens: [read_whole [dict get $process log]]"
    }
    return [list $process $client]
}

proc loading_field {client name} {
    return [info_property [$client info persistence] $name]
}

proc is_loading {client} {
    return [expr {[loading_field $client loading] == 1}]
}

proc finish_loading {client} {
    $client debug load-delay 0
    wait_for_condition 2000 10 {![is_loading $client]} else { fail "the load does not end" }
}

proc end_server {process client} {
    catch {$client shutdown nosave}
    $client close
    assert_equal 1 [await_end $process]
    assert_equal 0 [reap $process]
}

proc process_log {process} {
    return [read_whole [dict get $process log]]
}

start_server {overrides {rdbcompression no}} {
    save_snapshot
    set digest [r debug digest]

    test {while loading clients are told so, and may do what needs no data} {
        lassign [start_loading] process client
        set start [clock seconds]
        assert_error_text $loading_error {$client get key:1}
        assert_error_text $loading_error {$client ping}
        assert_error_text $loading_error {$client set key:1 x}
        assert_equal OK [$client select 9]
        assert_equal {key-load-delay 100000} [$client config get key-load-delay]
        foreach words {{set maxmemory 0} resetstat rewrite help nosuch} {
            assert_error_text {ERR Only CONFIG GET is allowed during loading} \
                {$client config {*}$words}
        }
        assert_error {ERR syntax error} {$client shutdown bogus}
        assert_equal 1 [loading_field $client loading]
        finish_loading $client
        assert_equal {} [loading_field $client loading_total_bytes]
        assert_equal 100000 [$client strlen key:1]
        assert_equal $digest [$client debug digest]
        assert_equal 0 [loading_field $client rdb_changes_since_last_save]
        end_server $process $client
    } {} {ours}

    test {fields of INFO while loading} {
        lassign [start_loading] process client
        wait_for_condition 2000 10 {[loading_field $client loading_loaded_bytes] > 0} else {
            fail "nothing is loaded"
        }
        set info [$client info persistence]
        set size [file size [file join [srv dir] dump.rdb]]
        assert_equal $size [info_property $info loading_total_bytes]
        assert_range [info_property $info loading_loaded_bytes] 1 $size
        assert_range [info_property $info loading_start_time] [expr {[clock seconds] - 600}] \
            [clock seconds]
        assert_morethan [info_property $info loading_rdb_used_mem] 30000000
        assert_match {[0-9]*.[0-9][0-9]} [info_property $info loading_loaded_perc]
        assert_match {[0-9]*} [info_property $info loading_eta_seconds]
        end_server $process $client
    }

    test {a transaction that meets a load} {
        lassign [start_loading] process client
        assert_equal OK [$client multi]
        assert_error_text $loading_error {$client get key:1}
        assert_error {EXECABORT *previous errors*} {$client exec}
        assert_equal OK [$client select 9]
        set other [client::connect 127.0.0.1 [lindex [$client config get [port_option]] 1]]
        assert_equal OK [$client watch key:1]
        assert_equal OK [$client multi]
        finish_loading $other
        assert_equal QUEUED [$client strlen key:1]
        assert_equal 100000 [$client exec] ;# what is loaded is no change
        $other close
        end_server $process $client
    } {} {ours}

    test {clients that come and go are let go while loading} {
        lassign [start_loading] process client
        set port [lindex [$client config get [port_option]] 1]
        set descriptors [llength [glob /proc/[dict get $process pid]/fd/*]]
        for {set i 0} {$i < 20} {incr i} {
            set other [client::connect 127.0.0.1 $port deferred]
            $other debug log bla
            $other flush
            $other close
        }
        wait_for_condition 1000 20 {
            [llength [glob /proc/[dict get $process pid]/fd/*]] <= $descriptors
        } else {
            fail "descriptors stay open"
        }
        assert_equal 1 [is_loading $client]
        end_server $process $client
    } {} {ours}

    test {SHUTDOWN while loading saves nothing, whatever is asked for} {
        set before [read_whole [file join [srv dir] dump.rdb]]
        foreach words {{nosave} {save} {}} {
            lassign [start_loading --save {3600 1} --pidfile [tmpfile pid]] process client
            catch {$client shutdown {*}$words}
            $client close
            assert_equal 1 [await_end $process]
            assert_equal 0 [reap $process]
            assert_match "*bye bye*" [process_log $process]
            assert_no_match "*Ready to accept*" [process_log $process]
        }
        assert_equal 1 [expr {$before eq [read_whole [file join [srv dir] dump.rdb]]}]
        assert_equal {} [glob -nocomplain [srv dir]/temp-*.rdb]
    }

    test {signals while loading end the server at once, and it leaves no pidfile} {
        foreach signal {TERM INT} {
            set pidfile [tmpfile pid]
            lassign [start_loading --pidfile $pidfile] process client
            assert_equal 1 [is_loading $client]
            assert_equal 1 [file exists $pidfile]
            exec kill -$signal [dict get $process pid]
            assert_equal 1 [await_end $process]
            assert_equal 0 [reap $process]
            assert_equal 0 [file exists $pidfile]
            assert_match "*Received shutdown signal during loading, exiting now.*" \
                [process_log $process]
            $client close
        }
    } {} {ours}

    test {DEBUG RELOAD: others are told, a client that waits goes on waiting} {
        set waits [redis_deferring_client]
        $waits blpop list 0
        $waits flush
        wait_for_condition 1000 10 {[s blocked_clients] == 1} else { fail "it does not wait" }
        set reloads [redis_deferring_client]
        set other [redis_client]
        $other config set key-load-delay 100000
        $reloads debug reload
        $reloads echo after
        $reloads flush
        wait_for_condition 1000 10 {[is_loading $other]} else { fail "it is not loading" }
        assert_error_text $loading_error {$other dbsize}
        assert_error_text $loading_error {$other debug reload}
        assert_error_text $loading_error {$other debug populate 3}
        assert_equal 0 [$reloads readable 0]
        finish_loading $other
        assert_equal OK [$reloads read]
        assert_equal after [$reloads read]
        assert_equal $digest [$other debug digest]
        $other rpush list a
        assert_equal {list a} [$waits read]
        foreach client [list $waits $reloads $other] {
            $client close
        }
    } {} {ours}
}

start_server {overrides {rdbcompression no}} {
    test {SHUTDOWN during DEBUG RELOAD saves nothing} {
        save_snapshot
        r config set save "1 1"
        set before [read_whole [file join [srv dir] dump.rdb]]
        r set more 1
        r config set key-load-delay 100000
        set reloads [redis_deferring_client]
        set other [redis_client]
        $reloads debug reload nosave
        $reloads save
        $reloads flush
        wait_for_condition 1000 10 {[is_loading $other]} else { fail "it is not loading" }
        catch {$other shutdown save}
        assert_equal 1 [await_end [srv process]]
        assert_equal 0 [reap [srv process]]
        assert_equal 1 [expr {$before eq [read_whole [file join [srv dir] dump.rdb]]}]
        $reloads close
        $other close
        server_launch [server_id 0]
    } {1} {ours}
}
