# SPDX-License-Identifier: BSD-3-Clause
# Every option of Redis 6.2: what it takes, how that reads back, what it refuses and with which
# words, and that a refusal changes nothing. config.tcl has what is special about a few of them.
#
# Ours refuses values whose feature is not built, by a sentence of its own; such a value must leave
# the option as it was.

# Each name with its default; name/alias are two names of one option.

# yes or no.
set bools {
    lua-replicate-commands yes   protected-mode yes   rdbcompression yes
    rdb-del-sync-files no   activerehashing yes   stop-writes-on-bgsave-error yes
    dynamic-hz yes   lazyfree-lazy-eviction no   lazyfree-lazy-expire no
    lazyfree-lazy-server-del no   lazyfree-lazy-user-del no   lazyfree-lazy-user-flush no
    repl-disable-tcp-nodelay no   repl-diskless-sync no   gopher-enabled no
    aof-rewrite-incremental-fsync yes   no-appendfsync-on-rewrite no
    cluster-require-full-coverage yes   rdb-save-incremental-fsync yes   aof-load-truncated yes
    aof-use-rdb-preamble yes   cluster-replica-no-failover/cluster-slave-no-failover no
    replica-lazy-flush/slave-lazy-flush no
    replica-serve-stale-data/slave-serve-stale-data yes   replica-read-only/slave-read-only yes
    replica-ignore-maxmemory/slave-ignore-maxmemory yes   jemalloc-bg-thread yes
    activedefrag no   appendonly no   cluster-allow-reads-when-down no   crash-log-enabled yes
    crash-memcheck-enabled yes   use-exit-on-panic no   disable-thp yes
    cluster-allow-replica-migration yes   replica-announced yes
}

# Integers, by range.
set ints {
    {0 2147483647} {
        auto-aof-rewrite-percentage 100
        cluster-replica-validity-factor/cluster-slave-validity-factor 10   tcp-keepalive 300
        cluster-migration-barrier 1   lfu-log-factor 10   lfu-decay-time 1
        replica-priority/slave-priority 100   repl-diskless-sync-delay 5   timeout 0
        list-compress-depth 0   min-replicas-to-write/min-slaves-to-write 0
        min-replicas-max-lag/min-slaves-max-lag 10
    }
    {-2147483648 2147483647} {
        list-max-ziplist-size -2   rdb-key-save-delay 0   key-load-delay 0
    }
    {1 99} {
        active-defrag-cycle-min 1   active-defrag-cycle-max 25
    }
    {0 1000} {
        active-defrag-threshold-lower 10   active-defrag-threshold-upper 100
    }
    {1 2147483647} {
        maxmemory-samples 5   repl-timeout 60
        repl-ping-replica-period/repl-ping-slave-period 10
    }
    {0 100} {
        maxmemory-eviction-tenacity 10
    }
    {0 65535} {
        replica-announce-port/slave-announce-port 0   cluster-announce-bus-port 0
        cluster-announce-port 0   cluster-announce-tls-port 0
    }
    {1 10} {
        active-expire-effort 1
    }
    {1 9223372036854775807} {
        active-defrag-max-scan-fields 1000
    }
    {0 9223372036854775807} {
        slowlog-max-len 128   acllog-max-len 128   lua-time-limit 5000
        cluster-node-timeout 15000   latency-monitor-threshold 0   stream-node-max-entries 100
        hash-max-ziplist-entries 512   set-max-intset-entries 512
        zset-max-ziplist-entries 128   tracking-table-max-keys 1000000   repl-backlog-ttl 3600
    }
    {-1 9223372036854775807} {
        slowlog-log-slower-than 10000
    }
}

# Bytes with or without a unit, by range; what is larger becomes the largest.
set sizes {
    {1048576 9223372036854775807} {
        proto-max-bulk-len 536870912   client-query-buffer-limit 1073741824
    }
    {0 9223372036854775807} {
        maxmemory 0   hash-max-ziplist-value 64   stream-node-max-bytes 4096
        zset-max-ziplist-value 64   hll-sparse-max-bytes 3000
        auto-aof-rewrite-min-size 67108864
    }
    {1 9223372036854775807} {
        active-defrag-ignore-bytes 104857600
    }
}

# One word of several.
set enums {
    repl-diskless-load disabled {disabled on-empty-db swapdb}
    loglevel notice {debug verbose notice warning}
    maxmemory-policy noeviction {volatile-lru volatile-lfu volatile-random volatile-ttl allkeys-lru\
        allkeys-lfu allkeys-random noeviction}
    appendfsync everysec {everysec always no}
    oom-score-adj no {no yes relative absolute}
    acl-pubsub-default allchannels {allchannels resetchannels}
    sanitize-dump-payload no {no yes clients}
}

# Any text.
set strings {
    replica-announce-ip/slave-announce-ip {}   masteruser {}   ignore-warnings {}
    masterauth {}
}

# Set at start only.
set immutable {
    rdbchecksum yes   daemonize no   io-threads-do-reads no   always-show-logo no
    set-proc-title yes   syslog-enabled no   cluster-enabled no   aclfile {}   unixsocket {}
    pidfile {}   syslog-ident redis   appendfilename appendonly.aof   server_cpulist {}
    bio_cpulist {}   aof_rewrite_cpulist {}   bgsave_cpulist {}   supervised no
    syslog-facility local0   databases 16   io-threads 1   tcp-backlog 511   logfile {}
    unixsocketperm 0   slaveof {}
}

# Options with values of their own: default, good values (=read back), refused ones with what stands
# behind the name in the error.
set special {
    cluster-announce-ip {}
    {10.0.0.1 ::1 some-text {}}
    {}

    hz 10
    {0=1 1 500 501=500 2147483647=500}
    {{} { - argument couldn't be parsed into an integer}
     -1 { - argument must be between 0 and 2147483647 inclusive}}

    maxclients 10000
    {100 10000}
    {0 { - argument must be between 1 and 4294967295 inclusive}
     4294967296 { - argument must be between 1 and 4294967295 inclusive}
     x { - argument couldn't be parsed into an integer}}

    repl-backlog-size 1048576
    {1=16384 16384 1mb=1048576 1000000}
    {0 { - argument must be between 1 and 9223372036854775807 inclusive}
     x { - argument must be a memory value}}

    dbfilename dump.rdb
    {other.rdb {} dump.rdb}
    {a/b { - dbfilename can't be a path, just a filename}
     /x { - dbfilename can't be a path, just a filename}}

    proc-title-template {{title} {listen-addr} {server-mode}}
    {{{title} {port}} fixed {{title} {listen-addr} {server-mode}}}
    {{} { - template format is invalid or contains unknown variables}
     {{nosuch}} { - template format is invalid or contains unknown variables}
     \{title { - template format is invalid or contains unknown variables}}

    watchdog-period 0
    {0}
    {{} {} -1 {} x {} 10% {}}

    save {3600 1 300 100 60 10000}
    {{900 1} {900 1 300 10} {} {3600 1 300 100 60 10000}}
    {1 {} x {} {1 1 2} {} {0 1} {} {1 -1} {} {1 x} {}}

    client-output-buffer-limit {normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60}
    {{normal 1mb 1kb 5=normal 1048576 1024 5 slave 268435456 67108864 60 pubsub 33554432 8388608 60}
     {normal 0 0 0 replica 1 2 3=normal 0 0 0 slave 1 2 3 pubsub 33554432 8388608 60}
     {normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60}}
    {{normal 1 2} {} {nosuch 1 2 3} {} {normal x 0 0} {} {normal 0 0 -1} {} 1 {}}

    notify-keyspace-events {}
    {KEA=AKE Kg=gK g$lshzxetdE=AE Km=Km {}}
    {? {} Ky {} -1 {}}

    oom-score-adj-values {0 200 800}
    {{100 300 2000} {0 200 800}}
    {{0 200} {} {0 200 800 900} {}
     {0 200 2001} { - Invalid oom-score-adj-values, elements must be between -2000 and 2000.}
     {0 200 x} { - Invalid oom-score-adj-values, elements must be between -2000 and 2000.}}
}

# Options that other tests try, since they change how the server is reached.
set elsewhere {port bind dir requirepass}

# Sets an option, which must then read `shown` under both names; or, on our own server, is refused
# for a feature that is not built, and stays as it was.
proc check_good {names value shown} {
    set name [lindex $names 0]
    set before [config_get $name]
    if {[catch {r config set $name $value} message]} {
        if {![is_ours] || ![regexp {not built|cannot be enabled} $message]} {
            fail "$name $value: $message"
        }
        set shown $before
    }
    foreach name $names {
        assert_equal [list $name $shown] [r config get $name] "($names $value)"
    }
}

proc check_bad {names value reason} {
    foreach name $names {
        set before [config_get $name]
        assert_error_text "ERR Invalid argument '$value' for CONFIG SET '$name'$reason" \
            {r config set $name $value} "($name $value)"
        assert_equal $before [config_get $name] "(after $value)"
    }
}

start_server {overrides {save {}}} {
    foreach {option default} $bools {
        set names [split $option /]
        test "CONFIG SET [lindex $names 0], yes or no" {
            foreach {value shown} [list yes yes no no YES yes No no $default $default] {
                check_good $names $value $shown
            }
            foreach value {{} 1 true maybe "yes "} {
                check_bad $names $value " - argument must be 'yes' or 'no'"
            }
        }
    }

    foreach {range rows} $ints {
        lassign $range low high
        foreach {option default} $rows {
            set names [split $option /]
            test "CONFIG SET [lindex $names 0], an integer" {
                foreach value [list $low $high $default] {
                    check_good $names $value $value
                }
                foreach value {{} x 1.5 " 1" 1kb 0x1 9223372036854775808} {
                    check_bad $names $value " - argument couldn't be parsed into an integer"
                }
                set outside [list [expr {$low - 1}]]
                if {$high < 9223372036854775807} {
                    lappend outside [expr {$high + 1}]
                }
                foreach value $outside {
                    check_bad $names $value " - argument must be between $low and $high inclusive"
                }
            }
        }
    }

    foreach {range rows} $sizes {
        lassign $range low high
        foreach {option default} $rows {
            set names [split $option /]
            test "CONFIG SET [lindex $names 0], a number of bytes" {
                foreach {value shown} [list $low $low $high $high 2mb 2097152 2MB 2097152 \
                        2m 2000000 3000kb 3072000 1g 1000000000 9223372036854775808 $high \
                        99999999999999999999999999 $high $default $default] {
                    check_good $names $value $shown
                }
                foreach value {x -1 1.5mb " 1" 10% 1tb} {
                    check_bad $names $value " - argument must be a memory value"
                }
                if {$low > 0} {
                    foreach value [list [expr {$low - 1}] {}] {
                        check_bad $names $value\
                            " - argument must be between $low and $high inclusive"
                    }
                }
            }
        }
    }

    foreach {name default words} $enums {
        test "CONFIG SET $name, one of several words" {
            # Two words of one meaning: the first reads back.
            set synonyms [expr {$name eq "oom-score-adj" ? {relative yes} : {}}]
            foreach word [list {*}$words $default] {
                check_good [list $name] $word [string map $synonyms $word]
                check_good [list $name] [string toupper $word] [string map $synonyms $word]
            }
            check_good [list $name] $default $default
            foreach value [list {} bogus "$default "] {
                check_bad [list $name] $value\
                    " - argument must be one of the following: [join $words {, }]"
            }
        }
    }

    foreach {option default} $strings {
        set names [split $option /]
        test "CONFIG SET [lindex $names 0], a text" {
            foreach value [list some-text {two words} "\"'#" $default] {
                check_good $names $value $value
            }
        }
    }

    foreach {name default good bad} $special {
        test "CONFIG SET $name" {
            foreach value $good {
                set shown $value
                regexp {^(.*)=(.*)$} $value -> value shown
                check_good [list $name] $value $shown
            }
            foreach {value reason} $bad {
                check_bad [list $name] $value $reason
            }
        }
    }

    foreach {option default} $immutable {
        set names [split $option /]
        test "CONFIG SET [lindex $names 0], which is for the start only" {
            foreach name $names {
                set before [r config get $name]
                assert_equal 2 [llength $before]
                foreach value [list $default 1 yes] {
                    assert_error_text "ERR Unsupported CONFIG parameter: $name" \
                        {r config set $name $value}
                }
                assert_equal $before [r config get $name]
            }
        }
    }

    test {CONFIG GET * has all options of 6.2, and 6.2 has no other} {
        set listed {}
        foreach {range rows} [list {*}$ints {*}$sizes] {
            lappend listed {*}[dict keys $rows]
        }
        foreach table [list $bools $strings $immutable] {
            lappend listed {*}[dict keys $table]
        }
        foreach {name default more} $enums {
            lappend listed $name
        }
        foreach {name default good bad} $special {
            lappend listed $name
        }
        lappend listed {*}$elsewhere
        set listed [lsort [split [join $listed /] /]]
        set shown [lsort [dict keys [r config get *]]]
        foreach name $listed {
            assert {$name in $shown} "(CONFIG GET * has no $name)"
        }
        if {![is_ours]} {
            assert_equal $listed $shown
        }
    }
}
