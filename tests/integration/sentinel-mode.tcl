# SPDX-License-Identifier: BSD-3-Clause
# The mode of a Sentinel: what it is called, which commands it has, INFO, users, its file. What it
# watches is in integration/sentinel.

proc start_sentinel_alone {lines body} {
    uplevel 1 [list start_server [list lines $lines args --sentinel] $body]
}

proc to_sentinel {} {
    return [client::connect [srv 0 host] [srv 0 port]]
}

# One request; its reply.
proc tell {args} {
    set client [to_sentinel]
    set failed [catch {$client {*}$args} answer options]
    $client close
    if {$failed} {
        return -options $options $answer
    }
    return $answer
}

# Runs a Sentinel that must not start; {status words}, the log's beginning of a line left out.
proc refused_sentinel {arguments} {
    set result [run_server_to_end [concat $arguments --sentinel]]
    set words [string trim "[dict get $result out][dict get $result err]"]
    regsub -all {\d+:X \d+ \w+ \d+ [0-9:.]+ # } $words {} words
    regsub {\(Redis 6\.2\.\d+\)} $words {(Redis VERSION)} words
    return [list [dict get $result status] $words]
}

test {A Sentinel needs a file that it can write} {
    assert_equal {1 {Sentinel needs config file on disk to save state. Exiting...}} \
        [refused_sentinel [list --port 0]]
    set file [file join [tmpdir folder] none.conf]
    assert_equal [list 1 "Fatal error, can't open config file '$file': No such file or directory"] \
        [refused_sentinel [list $file]]
}

foreach {line reason} {
    {sentinel monitor m 127.0.0.1 1 0}        {Quorum must be 1 or greater.}
    {sentinel monitor m 127.0.0.1 99999 1}    {Invalid port number.}
    {sentinel auth-user m x}                  {No such master with specified name.}
    {sentinel bogus 1}                        {Unrecognized sentinel configuration statement.}
    {sentinel myid abc}                       {Malformed Sentinel id in myid option.}
    {rename-command get x}                    {No such command in rename-command}
    {nosuch 1}                                {Bad directive or wrong number of arguments}
} {
    test "A bad line is refused with its reason: $line" {
        set file [tmpfile bad.conf]
        write_whole $file "# a comment\n\n$line\nport 0\n"
        set words "*** FATAL CONFIG FILE ERROR (Redis VERSION) ***\nReading the configuration\
            file, at line 3\n>>> '$line'\n$reason"
        assert_equal [list 1 $words] [refused_sentinel [list $file]]
    }
}

start_sentinel_alone "sentinel monitor m1 127.0.0.1 1 1\nsentinel monitor m2 127.0.0.1 2 1\n" {
    test {COMMAND has 6.2's fifteen} {
        set expected {
            {acl -2 admin} {auth -2 {fast no_auth}} {client -2 {admin random}} {command -1 random}
            {hello -1 {fast no_auth}} {info -1 random} {ping 1 fast} {psubscribe -2 pubsub}
            {publish 3 {fast pubsub}} {punsubscribe -1 pubsub} {role 1 {fast readonly}}
            {sentinel -2 admin} {shutdown -1 admin} {subscribe -2 pubsub} {unsubscribe -1 pubsub}}
        set found [lmap row [tell command] {
            list [lindex $row 0] [lindex $row 1] [lsort [lindex $row 2]]
        }]
        assert_equal [lmap row $expected {list {*}$row}] [lsort $found]
        assert_equal 15 [tell command count]
        assert_equal {auth client command hello ping} [lsort [tell acl cat connection]]
        assert_equal {acl client info role sentinel shutdown} [lsort [tell acl cat dangerous]]
    }

    test {All other commands are unknown} {
        foreach command {get set config multi select reset debug echo eval time object keys} {
            assert_error "ERR unknown command `$command`*" {tell $command}
        }
        assert_error "ERR wrong number of arguments for 'ping' command" {tell ping x}
        assert_equal PONG [tell ping]
        assert_equal OK [tell quit]
    }

    test {HELLO has the mode and no role} {
        set hello [tell hello]
        assert_equal sentinel [dict get $hello mode]
        assert {![dict exists $hello role]}
    }

    test {ROLE names the primaries} {
        lassign [tell role] role names
        assert_equal {sentinel {m1 m2}} [list $role [lsort $names]]
    }

    test {PUBLISH takes hello messages only} {
        assert_error_text {ERR Only HELLO messages are accepted by Sentinel instances.} \
            {tell publish news x}
        assert_equal 1 [tell publish __sentinel__:hello {not a hello}]
    }

    test {INFO has five sections} {
        set layout [lmap line [split [tell info] \n] {
            if {![string match "# *" $line]} {
                continue
            }
            string trim [string range $line 2 end]
        }]
        assert_equal {Server Clients CPU Stats Sentinel} $layout
        assert_equal [llength [split [tell info] \n]] [llength [split [tell info all] \n]]
        assert_equal {} [tell info memory]
        assert_equal {} [tell info keyspace]
        assert_error_text {ERR syntax error} {tell info a b}
        set info [tell info server]
        assert_equal sentinel [info_property $info redis_mode]
        assert_range [info_property $info hz] 10 19
        set info [tell info sentinel]
        foreach {field value} {sentinel_masters 2 sentinel_tilt 0 sentinel_running_scripts 0
            sentinel_scripts_queue_length 0 sentinel_simulate_failure_flags 0} {
            assert_equal $value [info_property $info $field] $field
        }
        assert_match "*master?:name=m1,status=*,address=127.0.0.1:1,slaves=0,sentinels=1*" $info
    }

    test {The log says what it is} {
        set log [read_whole [srv 0 log]]
        assert_match "*:X *Running mode=sentinel, port=[srv 0 port].*" $log
        assert_match "*:X *Sentinel ID is [string repeat {[0-9a-f]} 40]*" $log
        assert_match "*+monitor master m1 127.0.0.1 1 quorum 1*" $log
        assert_no_match "*Ready to accept*" $log
        assert_no_match "*:M *" $log
    }

    test {Its file keeps its own lines, and says what it has found out} {
        set file [read_whole [srv 0 config_file]]
        assert_match "*\nsentinel monitor m? 127.0.0.1 ? 1\nsentinel monitor m? 127.0.0.1 ? 1\n*#\
            Generated by CONFIG REWRITE\n*sentinel myid [tell sentinel myid]\n*sentinel\
            config-epoch m? 0\n*sentinel current-epoch 0\n" $file
    }

    test {Users and passwords are a server's} {
        assert_equal OK [tell acl setuser watcher on >secret +sentinel +ping]
        set client [to_sentinel]
        assert_error {WRONGPASS*} {$client auth watcher wrong}
        assert_equal OK [$client auth watcher secret]
        assert_equal PONG [$client ping]
        assert_error {NOPERM*} {$client role}
        $client close
        assert_equal 1 [tell acl deluser watcher]
    }

    test {What could not be read again is not written} {
        assert_equal OK [tell acl setuser wide on ~[string repeat k 70000]]
        set kept [read_whole [srv 0 config_file]]
        assert_error {*could not be written*} {tell sentinel flushconfig}
        assert_equal $kept [read_whole [srv 0 config_file]]
        assert_error {ERR Invalid argument*} {
            tell sentinel set m1 rename-command config [string repeat x 1025]
        }
        assert_equal 1 [tell acl deluser wide]
        assert_equal OK [tell sentinel flushconfig]
    } {} ours

    test {Subscribers hear events} {
        set listener [to_sentinel]
        $listener psubscribe *
        assert_equal OK [tell sentinel remove m2]
        assert_equal {pmessage * -monitor {master m2 127.0.0.1 2}} [$listener read]
        $listener close
    }

    test {SHUTDOWN ends it, and saves nothing} {
        set client [to_sentinel]
        assert_error_text {ERR syntax error} {$client shutdown now}
        $client deferred 1
        $client shutdown save
        assert_equal 1 [$client closed]
        $client close
        wait_for_condition 500 10 {![process_alive [srv 0 pid]]} else {
            fail "it still lives"
        }
        assert_match "*Sentinel is now ready to exit, bye bye...*" [read_whole [srv 0 log]]
        assert {![file exists [file join [srv 0 dir] dump.rdb]]}
    }
}

start_sentinel_alone "requirepass secret\nmaxmemory 100mb\nappendonly yes\n" {
    test {requirepass; a server's options are accepted} {
        assert_error {NOAUTH*} {tell sentinel masters}
        set client [to_sentinel]
        assert_equal OK [$client auth secret]
        assert_equal {} [$client sentinel masters]
        $client close
    }

    test {A Sentinel logs no data} {
        assert {![file exists [file join [srv 0 dir] appendonly.aof]]}
    } {} ours
}

# The example's options at their defaults; those of the process that runs here, and those whose
# example has no value, are left out.
proc server_defaults {} {
    set lines {}
    foreach paragraph [split [string map [list "\n\n" "\x01"] [example_configuration]] "\x01"] {
        set line [string range [lindex [split $paragraph "\n"] end] 2 end]
        if {![regexp {^[a-z][a-z0-9-]* } $line] || [string match "*..." $line]
                || [lindex $line 0] in {port dir daemonize pidfile logfile bind loglevel {} user}} {
            continue
        }
        lappend lines $line
    }
    return [join $lines "\n"]
}

proc example_configuration {} {
    return [dict get [run_server_to_end {--describe-config-example}] out]
}

if {[is_ours]} {
    start_sentinel_alone [server_defaults]\n {
        test {Every option of a server may stand in the file} {
            assert_morethan [llength [split [server_defaults] "\n"]] 120
            assert_equal PONG [tell ping]
        }
    }
}
