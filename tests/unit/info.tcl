# SPDX-License-Identifier: BSD-3-Clause
# INFO: sections, the order of Redis 6.2's fields, and that the figures are true.
#
# Ours may show more fields than 6.2 (the knobs have theirs); those of 6.2 must all be there, in
# 6.2's order among themselves.

# Fields of an idle primary, by section, in order.
set info_facts {
    Server {
        redis_version redis_git_sha1 redis_git_dirty redis_build_id redis_mode os arch_bits
        monotonic_clock multiplexing_api atomicvar_api gcc_version process_id process_supervised\
            run_id
        tcp_port server_time_usec uptime_in_seconds uptime_in_days hz configured_hz lru_clock\
            executable
        config_file io_threads_active
    }
    Clients {
        connected_clients cluster_connections maxclients client_recent_max_input_buffer
        client_recent_max_output_buffer blocked_clients tracking_clients clients_in_timeout_table
    }
    Memory {
        used_memory used_memory_human used_memory_rss used_memory_rss_human used_memory_peak
        used_memory_peak_human used_memory_peak_perc used_memory_overhead used_memory_startup
        used_memory_dataset used_memory_dataset_perc allocator_allocated allocator_active
        allocator_resident total_system_memory total_system_memory_human used_memory_lua
        used_memory_lua_human used_memory_scripts used_memory_scripts_human number_of_cached_scripts
        maxmemory maxmemory_human maxmemory_policy allocator_frag_ratio allocator_frag_bytes
        allocator_rss_ratio allocator_rss_bytes rss_overhead_ratio rss_overhead_bytes
        mem_fragmentation_ratio mem_fragmentation_bytes mem_not_counted_for_evict
        mem_replication_backlog mem_clients_slaves mem_clients_normal mem_aof_buffer mem_allocator
        active_defrag_running lazyfree_pending_objects lazyfreed_objects
    }
    Persistence {
        loading current_cow_size current_cow_size_age current_fork_perc current_save_keys_processed
        current_save_keys_total rdb_changes_since_last_save rdb_bgsave_in_progress\
            rdb_last_save_time
        rdb_last_bgsave_status rdb_last_bgsave_time_sec rdb_current_bgsave_time_sec\
            rdb_last_cow_size
        aof_enabled aof_rewrite_in_progress aof_rewrite_scheduled aof_last_rewrite_time_sec
        aof_current_rewrite_time_sec aof_last_bgrewrite_status aof_last_write_status\
            aof_last_cow_size
        module_fork_in_progress module_fork_last_cow_size
    }
    Stats {
        total_connections_received total_commands_processed instantaneous_ops_per_sec
        total_net_input_bytes total_net_output_bytes instantaneous_input_kbps
        instantaneous_output_kbps rejected_connections sync_full sync_partial_ok sync_partial_err
        expired_keys expired_stale_perc expired_time_cap_reached_count expire_cycle_cpu_milliseconds
        evicted_keys keyspace_hits keyspace_misses pubsub_channels pubsub_patterns latest_fork_usec
        total_forks migrate_cached_sockets slave_expires_tracked_keys active_defrag_hits
        active_defrag_misses active_defrag_key_hits active_defrag_key_misses tracking_total_keys
        tracking_total_items tracking_total_prefixes unexpected_error_replies total_error_replies
        dump_payload_sanitizations total_reads_processed total_writes_processed
        io_threaded_reads_processed io_threaded_writes_processed
    }
    Replication {
        role connected_slaves master_failover_state master_replid master_replid2 master_repl_offset
        second_repl_offset repl_backlog_active repl_backlog_size repl_backlog_first_byte_offset
        repl_backlog_histlen
    }
    CPU {
        used_cpu_sys used_cpu_user used_cpu_sys_children used_cpu_user_children
        used_cpu_sys_main_thread used_cpu_user_main_thread
    }
    Cluster { cluster_enabled }
}

# Sections that INFO answers without an argument, in order.
set info_default {Server Clients Memory Persistence Stats Replication CPU Modules Errorstats\
    Cluster Keyspace}
set info_all {Server Clients Memory Persistence Stats Replication CPU Modules Commandstats\
    Errorstats
              Cluster Keyspace}

# What of `wanted` stands in `present`, in `present`'s order.
proc kept_order {present wanted} {
    set kept {}
    foreach word $present {
        if {$word in $wanted} {
            lappend kept $word
        }
    }
    return $kept
}

start_server {} {
    test {INFO's sections in order} {
        r set k v
        set sections [dict keys [info_layout [r info]]]
        assert_equal $info_default [kept_order $sections $info_default]
        assert {"Commandstats" ni $sections}
        foreach name {all everything ALL} {
            set sections [dict keys [info_layout [r info $name]]]
            assert_equal [list {*}$info_all] [kept_order $sections $info_all] $name
        }
        assert_equal [dict keys [info_layout [r info]]] [dict keys [info_layout [r info default]]]
    }

    foreach {section fields} $info_facts {
        test "INFO [string tolower $section]: 6.2's fields in 6.2's order" {
            set layout [info_layout [r info [string tolower $section]]]
            assert_equal [list $section] [dict keys $layout]
            set present [dict get $layout $section]
            assert_equal [list {*}$fields] [kept_order $present $fields]
            assert_equal [llength $present] [llength [lsort -unique $present]] "(no field twice)"
        }
    }

    test {INFO's text: \r\n after each line, an empty line between sections} {
        set text [r info]
        assert_match "# Server\r\nredis_version:6.2.*\r\n*" $text
        assert {![regexp {[^\r]\n} $text]} "a line without \\r"
        assert_match "*\r\n\r\n# Clients\r\n*" $text
        assert_match "*\r\n\r\n# Keyspace\r\n*" $text
        assert_equal "\r\n" [string range $text end-1 end]
    }

    test {INFO's section names in any case; unknown ones are empty} {
        assert_equal [dict keys [info_layout [r info SERVER]]] Server
        assert_equal {} [r info nosuch]
        assert_error_text {ERR syntax error} {r info server clients}
    }

    test {INFO is a bulk in RESP2 and a verbatim text in RESP3} {
        set client [raw_client]
        $client info cluster
        assert_equal "\$30\r\n# Cluster\r\ncluster_enabled:0\r\n\r\n" [$client raw_reply]
        $client hello 3
        $client raw_reply
        $client info cluster
        assert_equal "=34\r\ntxt:# Cluster\r\ncluster_enabled:0\r\n\r\n" [$client raw_reply]
        $client close
    }
}

start_server {} {
    test {INFO server tells the truth} {
        assert_equal [srv pid] [s process_id]
        assert_equal [srv port] [s tcp_port]
        assert_equal [srv config_file] [s config_file]
        assert_equal standalone [s redis_mode]
        assert_equal epoll [s multiplexing_api]
        assert_equal 64 [s arch_bits]
        assert_match {[0-9a-f]*} [s run_id]
        assert_equal 40 [string length [s run_id]]
        assert_range [expr {[s server_time_usec] / 1000000}] [expr {[clock seconds] - 100}] [expr \
            {[clock seconds] + 100}]
        assert_match "*[file tail $::options(server)]*" [s executable]
    }

    test {used_memory follows the data} {
        set before [s used_memory]
        r set big [string repeat x 10000000]
        assert_range [expr {[s used_memory] - $before}] 9000000 30000000
        r del big
        wait_for_condition 100 20 {[s used_memory] < $before + 1000000} else {
            fail "used_memory went from $before to [s used_memory]"
        }
        assert_morethan [s used_memory_peak] [expr {$before + 9000000}]
        assert_morethan [s used_memory_rss] 0
    }

    test {connected_clients, total_connections_received, total_commands_processed} {
        set connections [s total_connections_received]
        set commands [s total_commands_processed]
        set others [s connected_clients]
        set client [redis_client]
        for {set i 0} {$i < 10} {incr i} {
            $client ping
        }
        assert_equal [expr {$connections + 1}] [s total_connections_received]
        assert_morethan_equal [s total_commands_processed] [expr {$commands + 11}]
        assert_equal [expr {$others + 1}] [s connected_clients]
        $client close
    }

    test {Bytes of the net are counted} {
        set in [s total_net_input_bytes]
        set out [s total_net_output_bytes]
        r echo [string repeat x 100000]
        assert_range [expr {[s total_net_input_bytes] - $in}] 100000 110000
        assert_range [expr {[s total_net_output_bytes] - $out}] 100000 130000
    }

    test {commandstats: calls, rejected_calls, failed_calls} {
        r config resetstat
        r set k x
        r get k
        r get k
        assert_error {ERR wrong number of arguments for 'get' command} {r get}
        assert_error {ERR value is not an integer or out of range} {r incr k}
        assert_match {calls=1,usec=*,usec_per_call=*.*,rejected_calls=0,failed_calls=0} \
            [info_property [r info commandstats] cmdstat_set]
        assert_equal 2 [command_stat get]
        assert_equal 1 [command_stat get rejected_calls]
        assert_equal 0 [command_stat get failed_calls]
        assert_equal 1 [command_stat incr]
        assert_equal 0 [command_stat incr rejected_calls]
        assert_equal 1 [command_stat incr failed_calls]
    }

    test {commandstats: commands that were never called are not shown, unknown ones never} {
        r config resetstat
        assert_error {ERR unknown command `nosuch`, with args beginning with: } {r nosuch}
        set text [r info commandstats]
        assert_no_match *cmdstat_nosuch* $text
        assert_no_match *cmdstat_del:* $text
    }

    test {commandstats: time that a command took} {
        r config resetstat
        r debug sleep 0.05
        assert_morethan_equal [command_stat debug usec] 50000
        assert_morethan_equal [command_stat debug usec_per_call] 50000
    } {} {needs:debug}

    test {errorstats: one line a code} {
        r config resetstat
        assert_equal "# Errorstats" [string trim [r info errorstats]]
        assert_error {ERR unknown command `nosuch`, with args beginning with: } {r nosuch}
        assert_error {ERR wrong number of arguments for 'get' command} {r get}
        assert_error {NOPROTO unsupported protocol version} {r hello 9}
        assert_equal {count=2} [info_property [r info errorstats] errorstat_ERR]
        assert_equal {count=1} [info_property [r info errorstats] errorstat_NOPROTO]
        assert_equal 3 [s total_error_replies]
        r config resetstat
        assert_equal 0 [error_stat ERR]
        assert_equal 0 [s total_error_replies]
    }

    test {CONFIG RESETSTAT sets counters to zero and leaves gauges} {
        r flushall
        r set k v
        r get k
        r get nokey
        r config resetstat
        foreach field {keyspace_hits keyspace_misses expired_keys evicted_keys rejected_connections
                       total_error_replies total_connections_received} {
            assert_equal 0 [s $field] $field
        }
        assert_lessthan [s total_commands_processed] 20
        assert_morethan [s connected_clients] 0
        assert_morethan [s used_memory] 0
        assert_match {keys=1,*} [info_property [r info keyspace] db9]
    }

    test {hz as it is set} {
        r config set hz 33
        assert_equal 33 [s configured_hz]
        r config set hz 10
    } {OK}

    test {maxmemory as it is set} {
        r config set maxmemory 100mb
        assert_equal 104857600 [s maxmemory]
        assert_equal 100.00M [s maxmemory_human]
        r config set maxmemory 0
        assert_equal 0B [s maxmemory_human]
    } {} {needs:maxmemory}
}

start_server {} {
    test {client_recent_max_input_buffer follows an incomplete request} {
        set client [raw_client]
        $client write "*2\r\n\$4\r\nECHO\r\n\$200000\r\n[string repeat x 150000]"
        $client flush
        wait_for_condition 50 100 {[s client_recent_max_input_buffer] >= 150000} else {
            fail "it is [s client_recent_max_input_buffer]"
        }
        $client close
    }

    test {client_recent_max_output_buffer follows replies that wait} {
        set client [raw_client]
        r set big [string repeat x 5000000]
        $client write "SELECT 9\r\n[string repeat "GET big\r\n" 4]"
        $client flush
        wait_for_condition 50 100 {[s client_recent_max_output_buffer] >= 5000000} else {
            fail "it is [s client_recent_max_output_buffer]"
        }
        $client close
        r del big
    } {1}

    test {instantaneous_ops_per_sec and its kin follow the load} {
        set text [string repeat x 10000]
        set until [expr {[clock milliseconds] + $::patience_ms}]
        while {[s instantaneous_ops_per_sec] < 10 || [s instantaneous_input_kbps] < 10
                || [s instantaneous_output_kbps] < 10} {
            for {set i 0} {$i < 100} {incr i} {
                r echo $text
            }
            assert_lessthan [clock milliseconds] $until
        }
        # At one moment: the next sample may come at any time.
        r multi
        r config resetstat
        r info stats
        assert_equal 0.00 [info_property [lindex [r exec] 1] instantaneous_output_kbps]
    }

    test {Commandstats: a name with a colon does not break the lines} {
        catch {exchange "host:\r\n"}
        assert_match {*cmdstat_host_:calls=1,*} [r info commandstats]
        assert_no_match *host:* [r info commandstats]
    }

    test {CONFIG RESETSTAT leaves the peak, the slow log and the latency monitor} {
        r config set latency-monitor-threshold 1
        r config set slowlog-log-slower-than 1000
        r debug sleep 0.01
        r set big [string repeat x 10000000]
        r del big
        # A stall of the machine may have put more beside the command that sleeps; no more comes.
        r config set slowlog-log-slower-than -1
        r config set latency-monitor-threshold 0
        set peak [s used_memory_peak]
        set slow [r slowlog get 1000]
        set latest [r latency latest]
        set history [r latency history command]
        assert_equal 1 [llength [lsearch -all -index 3 $slow {debug sleep 0.01}]]
        assert_equal 1 [llength [lsearch -all -index 0 $latest command]]
        assert_morethan [llength $history] 0
        r config resetstat
        assert_equal $peak [s used_memory_peak]
        assert_equal $slow [r slowlog get 1000]
        assert_equal $latest [r latency latest]
        assert_equal $history [r latency history command]
    } {} {needs:debug}

    test {CONFIG RESETSTAT: what it resets, field by field} {
        r get nokey
        assert_error {ERR unknown command `nosuch`, with args beginning with: } {r nosuch}
        r set k v px 1
        after 10
        r get k
        set before [r info everything]
        r multi
        r config resetstat
        r info everything
        set after [lindex [r exec] 1]
        foreach field {total_connections_received expired_keys expired_time_cap_reached_count
                       evicted_keys keyspace_hits keyspace_misses rejected_connections sync_full
                       sync_partial_ok sync_partial_err active_defrag_hits active_defrag_misses
                       active_defrag_key_hits active_defrag_key_misses latest_fork_usec
                       total_error_replies unexpected_error_replies dump_payload_sanitizations
                       io_threaded_reads_processed io_threaded_writes_processed lazyfreed_objects
                       instantaneous_ops_per_sec expire_cycle_cpu_milliseconds} {
            assert_equal 0 [info_property $after $field] $field
        }
        foreach field {total_commands_processed total_reads_processed total_writes_processed
                       total_net_input_bytes total_net_output_bytes} {
            assert_morethan [info_property $before $field] [info_property $after $field] $field
        }
    }
}
