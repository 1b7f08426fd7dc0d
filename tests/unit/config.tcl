# SPDX-License-Identifier: BSD-3-Clause
# CONFIG GET, SET and REWRITE; configuration from file, include, command line and standard input.

# option, good values, refused values with their reasons
set option_facts {
    stream-node-max-bytes {0 1024 1k=1000 1kb=1024 1KB=1024 2m=2000000 2mB=2097152 1g=1000000000\
        1gb=1073741824 100b=100 0}
        {x {argument must be a memory value} -1 {argument must be a memory value}
         10% {argument must be a memory value} 1tb {argument must be a memory value}}
    hz {1 10 100 500 1000=500 10}
        {x {argument couldn't be parsed into an integer} 1.5 \
            {argument couldn't be parsed into an integer}
         -1 {argument must be between 0 and 2147483647 inclusive}
         2147483648 {argument must be between 0 and 2147483647 inclusive}}
    rdbcompression {yes no YES=yes No=no yes}
        {maybe {argument must be 'yes' or 'no'} 1 {argument must be 'yes' or 'no'}
         {} {argument must be 'yes' or 'no'}}
    maxmemory-policy {volatile-lru allkeys-lru ALLKEYS-LFU=allkeys-lfu volatile-ttl noeviction}
        {lru {argument must be one of the following: volatile-lru, volatile-lfu, volatile-random,\
            volatile-ttl, allkeys-lru, allkeys-lfu, allkeys-random, noeviction}
         {} {argument must be one of the following: volatile-lru, volatile-lfu, volatile-random,\
             volatile-ttl, allkeys-lru, allkeys-lfu, allkeys-random, noeviction}}
    loglevel {debug notice warning verbose}
        {x {argument must be one of the following: debug, verbose, notice, warning}}
    timeout {0 1 2147483647 0}
        {-1 {argument must be between 0 and 2147483647 inclusive}
         x {argument couldn't be parsed into an integer}}
    proto-max-bulk-len {1mb=1048576 512mb=536870912}
        {10 {argument must be between 1048576 and 9223372036854775807 inclusive}
         x {argument must be a memory value}}
    slowlog-log-slower-than {-1 0 10000}
        {-2 {argument must be between -1 and 9223372036854775807 inclusive}
         9223372036854775808 {argument couldn't be parsed into an integer}}
}

start_server {} {
    foreach {name good bad} $option_facts {
        test "CONFIG SET $name takes good values, CONFIG GET shows them" {
            foreach value $good {
                set shown $value
                regexp {^(.*)=(.*)$} $value -> value shown
                assert_equal OK [r config set $name $value]
                assert_equal [list $name $shown] [r config get $name]
            }
        }

        test "CONFIG SET $name refuses others and changes nothing" {
            set before [config_get $name]
            foreach {value reason} $bad {
                assert_error_text "ERR Invalid argument '$value' for CONFIG SET '$name' - $reason" \
                    {r config set $name $value} $value
                assert_equal $before [config_get $name] $value
            }
        }
    }

    test {CONFIG SET of special options, refused without a reason} {
        foreach {name value} {
            save {a b}   save {1 1 2}   save 1   client-output-buffer-limit {normal 1 2}
            client-output-buffer-limit {normal 1 2 3 4}   client-output-buffer-limit {nosuch 1 2 3}
            client-output-buffer-limit {master 1 2 3}     client-output-buffer-limit {normal 1x 2 3}
            client-output-buffer-limit {pubsub 1mb 2mb 3 nosuch 1 2 3}
            client-output-buffer-limit {normal -1 2 3}    client-output-buffer-limit {normal 1 2 -3}
            client-output-buffer-limit {normal 1 10% 3}   client-output-buffer-limit {normal  1 2 3}
            notify-keyspace-events ?
        } {
            set before [config_get $name]
            assert_error_text "ERR Invalid argument '$value' for CONFIG SET '$name'" \
                {r config set $name $value} "$name $value"
            assert_equal $before [config_get $name]
        }
    }

    test {CONFIG SET save} {
        assert_equal OK [r config set save {900 1 300 10}]
        assert_equal {900 1 300 10} [config_get save]
        assert_equal OK [r config set save {}]
        assert_equal {} [config_get save]
    }

    test {CONFIG SET client-output-buffer-limit changes only the classes that it names} {
        set before [config_get client-output-buffer-limit]
        r config set client-output-buffer-limit {slave 1mb 2mb 3}
        assert_equal {normal 0 0 0 slave 1048576 2097152 3 pubsub 33554432 8388608 60} \
            [config_get client-output-buffer-limit]
        r config set client-output-buffer-limit {Replica 1k 1kb 0 PUBSUB 1 2 3 pubsub 4 5 6}
        assert_equal {normal 0 0 0 slave 1000 1024 0 pubsub 4 5 6} \
            [config_get client-output-buffer-limit]
        r config set client-output-buffer-limit {}
        assert_equal {normal 0 0 0 slave 1000 1024 0 pubsub 4 5 6} \
            [config_get client-output-buffer-limit]
        r config set client-output-buffer-limit $before
        assert_equal $before [config_get client-output-buffer-limit]
    }

    test {jemalloc-bg-thread starts and ends the allocator's thread} {
        if {![string match jemalloc* [s mem_allocator]]} {
            skip "the allocator is [s mem_allocator]"
        }
        set count {
            set threads 0
            foreach path [glob /proc/[srv pid]/task/*/comm] {
                catch {incr threads [string match jemalloc* [read_whole $path]]}
            }
            set threads
        }
        assert_equal {jemalloc-bg-thread yes} [r config get jemalloc-bg-thread]
        foreach {value threads} {yes 1 no 0 yes 1} {
            r config set jemalloc-bg-thread $value
            wait_for_condition 200 20 {[eval $count] == $threads} else {
                fail "$value: [eval $count] threads"
            }
        }
    }

    test {CONFIG SET notify-keyspace-events, shown in a fixed order} {
        foreach {value shown} {KEA AKE Ex xE xK xK gxKE gxKE Elg glE {} {}} {
            r config set notify-keyspace-events $value
            assert_equal $shown [config_get notify-keyspace-events] $value
        }
    }

    test {CONFIG SET dir} {
        set before [config_get dir]
        assert_error_text {ERR Changing directory: No such file or directory} \
            {r config set dir /no/such/dir}
        assert_equal $before [config_get dir]
        set folder [tmpdir]
        r config set dir $folder
        assert_equal $folder [config_get dir]
        r config set dir $before
    } {OK}

    test {Options that cannot be changed while the server runs, and unknown ones} {
        foreach name {databases io-threads daemonize unixsocket tcp-backlog rename-command include\
            nosuch} {
            assert_error_text "ERR Unsupported CONFIG parameter: $name" {r config set $name 1}
        }
    }

    test {CONFIG GET: patterns} {
        assert_equal {hash-max-ziplist-entries hash-max-ziplist-value} \
            [lsort [dict keys [r config get hash-max-*]]]
        assert_equal {maxmemory} [dict keys [r config get MAXMEMORY]]
        assert_equal {maxmemory} [dict keys [r config get maxmemor?]]
        assert_equal {hash-max-ziplist-value zset-max-ziplist-value} \
            [lsort [dict keys [r config get {[hz]*-max-ziplist-value}]]]
        assert_equal {} [r config get nosuch]
        assert_equal {} [r config get {}]
    }

    test {CONFIG GET *: each option once, under its own name and its old one} {
        set names [dict keys [r config get *]]
        assert_equal [llength [r config get *]] [expr {2 * [llength $names]}]
        foreach name {maxmemory port save dir bind client-output-buffer-limit replica-priority\
            slave-priority
                      min-replicas-to-write min-slaves-to-write appendonly requirepass} {
            assert {$name in $names} $name
        }
    }

    test {CONFIG GET: slaveof, and replicaof only where the pattern does not fit slaveof} {
        foreach {pattern names} {
            slaveof slaveof   replicaof replicaof   *of slaveof   replicao? replicaof
            REPLICAOF replicaof
        } {
            assert_equal $names [dict keys [r config get $pattern]] $pattern
        }
        set names [dict keys [r config get *]]
        assert_equal {1 0} [list [expr {"slaveof" in $names}] [expr {"replicaof" in $names}]]
    }

    test {Old and new name of an option are one option} {
        r config set slave-priority 50
        assert_equal 50 [config_get replica-priority]
        r config set replica-priority 100
        assert_equal {slave-priority 100} [r config get slave-priority]
    }

    test {CONFIG's option names in any case} {
        r config set Client-QUERY-Buffer-Limit 5mb
        assert_equal 5242880 [config_get client-query-buffer-limit]
        r config set client-query-buffer-limit 1gb
    } {OK}

    test {CONFIG GET is an array in RESP2 and a map in RESP3} {
        set client [raw_client]
        $client config get port
        assert_equal "*2\r\n\$4\r\nport\r\n\$5\r\n[srv port]\r\n" [$client raw_reply]
        $client hello 3
        $client raw_reply
        $client config get port
        assert_equal "%1\r\n\$4\r\nport\r\n\$5\r\n[srv port]\r\n" [$client raw_reply]
        $client close
    } undefined {tls:skip}

    test {CONFIG's subcommands and their arity} {
        foreach words {
            {get} {get a b} {set} {set maxmemory} {set maxmemory 1 2} {resetstat x} {rewrite x} \
                {nosuch} {NoSuch}
        } {
            assert_error_text "ERR Unknown subcommand or wrong number of arguments for\
                '[lindex $words 0]'. Try CONFIG HELP." {r config {*}$words} $words
        }
        assert_error_text {ERR wrong number of arguments for 'config' command} {r config}
    }

    test {CONFIG HELP names the subcommands} {
        set help [r config help]
        assert_match {CONFIG <subcommand> *} [lindex $help 0]
        foreach word {GET SET RESETSTAT REWRITE HELP} {
            assert {[lsearch -glob $help "$word*"] >= 0} $word
        }
    }

    test {CONFIG SET maxclients and a port of its own while the server runs} {
        r config set maxclients 100
        assert_equal 100 [config_get maxclients]
        assert_error {ERR Invalid argument '0' for CONFIG SET 'maxclients' - argument must be\
            between 1 and *} \
            {r config set maxclients 0}
        set port [find_free_port]
        set old [srv port]
        assert_equal OK [r config set port $port]
        set client [client::connect 127.0.0.1 $port]
        assert_equal PONG [$client ping]
        assert_equal OK [$client config set port $old]
        $client close
        reconnect
        assert_equal PONG [r ping]
    } undefined {tls:skip}
}

start_server {lines \
    "# kept comment\n\n   # about hz\nhz 20\nclient-query-buffer-limit   \"50mb\"\n\n"} {
    test {CONFIG REWRITE keeps comments, blank lines and order, and changes what changed} {
        r config set client-query-buffer-limit 100mb
        r config set timeout 7
        r config set client-output-buffer-limit {normal 1mb 2mb 3}
        assert_equal OK [r config rewrite]
        set text [read_whole [srv config_file]]
        assert_match "*\n# kept comment\n\n*# about hz\nhz 20\n*" $text
        assert_match "*\nhz 20\nclient-query-buffer-limit 100mb\n*" $text
        assert_match "*\ntimeout 7\n*" $text
        assert_match "*\nclient-output-buffer-limit normal 1mb 2mb 3\n*" $text
        assert_equal 1 [regexp -all -line {^# Generated by CONFIG REWRITE$} $text]
        assert_equal 1 [regexp -all -line {^port } $text]
        assert_no_match "*\ndatabases*" $text
    }

    test {CONFIG REWRITE again changes nothing} {
        set before [read_whole [srv config_file]]
        r config rewrite
        assert_equal $before [read_whole [srv config_file]]
    }

    test {An option that is back at its default stays in its line} {
        r config set hz 10
        r config rewrite
        assert_match "*\nhz 10\n*" [read_whole [srv config_file]]
        assert_no_match "*\nhz 20\n*" [read_whole [srv config_file]]
    }

    test {Values with blanks and quotes survive REWRITE and a restart} {
        r config set dbfilename {a "b" c.rdb}
        r config set maxmemory-policy allkeys-lru
        r config set save {900 1 300 10}
        r config set notify-keyspace-events KEA
        r config rewrite
        r config set save {}
        restart_server
        assert_equal {a "b" c.rdb} [config_get dbfilename]
        assert_equal allkeys-lru [config_get maxmemory-policy]
        assert_equal {900 1 300 10} [config_get save]
        assert_equal AKE [config_get notify-keyspace-events]
        assert_equal 104857600 [config_get client-query-buffer-limit]
        assert_equal 7 [config_get timeout]
        assert_equal {normal 1048576 2097152 3 slave 268435456 67108864 60 pubsub 33554432 8388608\
            60} \
            [config_get client-output-buffer-limit]
        r config set save {}
    } {OK}

    test {Every option that CONFIG GET shows survives a rewritten file} {
        set before [r config get *]
        r config rewrite
        restart_server
        dict for {name value} [r config get *] {
            if {$name ni {save}} {
                assert_equal [dict get $before $name] $value $name
            }
        }
    }

    test {CONFIG REWRITE writes the save points, also where they are the default} {
        set text [read_whole [srv config_file]]
        set without [regsub -all -line {^save .*\n} $text {}]
        foreach {points lines} {
            {3600 1 300 100 60 10000} "save 3600 1\nsave 300 100\nsave 60 10000\n"
            {900 1} "save 900 1\n"
            {} "save \"\"\n"
        } {
            write_whole [srv config_file] $without
            r config set save $points
            r config rewrite
            set written [read_whole [srv config_file]]
            assert_equal $lines [join [regexp -all -inline -line {^save .*\n} $written] {}]
        }
        write_whole [srv config_file] $text
    }

    test {CONFIG REWRITE puts the folder in quotes, which keep its blanks} {
        set before [config_get dir]
        set folder "$before/a  b"
        file mkdir $folder
        r config set dir $folder
        r config rewrite
        assert_match "*\ndir \"$folder\"\n*" [read_whole [srv config_file]]
        restart_server
        assert_equal $folder [config_get dir]
        r config set dir $before
        r config rewrite
        assert_match "*\ndir \"$before\"\n*" [read_whole [srv config_file]]
    }

    test {Names of files are no paths} {
        foreach name {a/b a\\b / \\ /x x\\} {
            assert_error_text "ERR Invalid argument '$name' for CONFIG SET 'dbfilename' -\
                dbfilename can't be a path, just a filename" {r config set dbfilename $name}
        }
    }

    test {CONFIG REWRITE into a folder that is gone} {
        set moved [srv folder].moved
        file rename [srv folder] $moved
        catch {r config rewrite} message
        file rename $moved [srv folder]
        assert_match {ERR Rewriting config file: *} $message
    }
}

start_server {lines "rename-command flushall wipe\nrename-command config \"\"\n"} {
    test {rename-command gives a command another name or none} {
        assert_equal OK [r wipe]
        assert_equal OK [r WIPE async]
        assert_error {ERR unknown command `flushall`*} {r flushall}
        assert_error {ERR unknown command `config`*} {r config get port}
        assert_equal PONG [r ping]
    }
}

# Every command that 6.2 has, built here or not, can be taken away.
set names {asking bgrewriteaof BGSAVE cluster dump EVAL evalsha failover lastsave migrate module
    psync readonly readwrite replconf REPLICAOF restore restore-asking role save script slaveof sync
    post host: xsetid substr pfselftest stralgo debug}
set lines "rename-command get [string repeat g 300]\nrename-command ZADD eval\n"
foreach name $names {
    set lines "rename-command $name \"\"\n$lines"
}
start_server [list lines $lines] {
    test {rename-command of every command of 6.2, and to long names} {
        foreach name $names {
            if {[string tolower $name] ne "eval"} {
                assert_error "ERR unknown command `$name`*" {r $name a b c}
            }
        }
        assert_equal 1 [r eval z 1 a]
        assert_error {ERR unknown command `zadd`*} {r zadd z 1 a}
        r set k v
        assert_equal v [r [string repeat G 300] k]
        assert_error {ERR unknown command `get`*} {r get k}
    }
}

test {rename-command: faults} {
    foreach {lines reason} {
        "rename-command nosuch \"\"" "No such command in rename-command"
        "rename-command eval \"\"\nrename-command eval x" "No such command in rename-command"
        "rename-command get eval" "Target command name already exists"
        "rename-command eval get" "Target command name already exists"
        "rename-command eval role" "Target command name already exists"
        "rename-command eval abc\nrename-command set ABC" "Target command name already exists"
        "rename-command eval" "Bad directive or wrong number of arguments"
    } {
        set path [tmpfile rename.conf]
        write_whole $path "port 0\n$lines\n"
        set result [run_server_to_end [list $path]]
        assert_equal 1 [dict get $result status] $lines
        assert_match "*\n$reason\n" [dict get $result err] $lines
    }
}

set included [tmpfile included.conf]
set inner [tmpfile inner.conf]
write_whole $inner "hz 77\n"
write_whole $included "timeout 55\ninclude $inner\nclient-query-buffer-limit 1mb\n"
start_server [list args {--hz 88} lines \
    "client-query-buffer-limit 3mb\ninclude $included\nmaxmemory-samples 9\n"] {
    test {include is read in its place, the command line last} {
        assert_equal 55 [config_get timeout]
        assert_equal 1048576 [config_get client-query-buffer-limit]
        assert_equal 9 [config_get maxmemory-samples]
        assert_equal 88 [config_get hz]
    }
}

start_server {args {--client-query-buffer-limit 5mb --save 900 1\
    --client-output-buffer-limit normal 1mb 2mb 3 --timeout 33}} {
    test {Options of the command line, also with several words} {
        assert_equal 5242880 [config_get client-query-buffer-limit]
        assert_equal {900 1} [config_get save]
        assert_equal {normal 1048576 2097152 3 slave 268435456 67108864 60 pubsub 33554432 8388608\
            60} \
            [config_get client-output-buffer-limit]
        assert_equal 33 [config_get timeout]
        r config set save {}
    } {OK}
}

start_server {overrides {loglevel notice} lines \
    "LogLevel \"debug\"\nCLIENT-QUERY-BUFFER-LIMIT 1MB\n\ttimeout\t 44 \r\n"} {
    test {Files: names in any case, tabs, quotes, \r before the line's end} {
        assert_equal debug [config_get loglevel]
        assert_equal 1048576 [config_get client-query-buffer-limit]
        assert_equal 44 [config_get timeout]
    }
}

start_server {tags {ours}} {
    test {Passwords of any bytes, no longer than a line of the file holds} {
        foreach name {masterauth requirepass} {
            assert_error {*a password has at most 8191 bytes*} {
                r config set $name [string repeat x 9000]
            }
            assert_equal "" [config_get $name]
        }
        config_set masterauth "a b\"\x00c"
        assert_equal "a b\"\x00c" [config_get masterauth]
    }
}
