# SPDX-License-Identifier: BSD-3-Clause
# Starting and ending: errors in the configuration, ports, sockets, signals, pid file, log file.

# The server's words about a bad configuration.
proc config_error {line number reason} {
    return [join [list {} {*** FATAL CONFIG FILE ERROR (Redis VERSION) ***} \
        "Reading the configuration file, at line $number" ">>> '$line'" $reason {}] \n]
}

# Runs a server that must refuse its configuration; returns status and words, the version masked.
proc refused {arguments {input ""}} {
    set result [run_server_to_end $arguments $input]
    regsub {\(Redis 6\.2\.\d+\)} [dict get $result err] {(Redis VERSION)} words
    return [list [dict get $result status] $words]
}

proc refused_file {text} {
    set path [tmpfile bad.conf]
    write_whole $path $text
    return [refused [list $path]]
}

# line of the file, reason
set bad_lines {
    {maxmemory x}               {argument must be a memory value}
    {maxmemory 1 2}             {wrong number of arguments}
    {maxmemory}                 {wrong number of arguments}
    {nosuch 1}                  {Bad directive or wrong number of arguments}
    {nosuch}                    {Bad directive or wrong number of arguments}
    {appendonly perhaps}        {argument must be 'yes' or 'no'}
    {port 99999}                {argument must be between 0 and 65535 inclusive}
    {port x}                    {argument couldn't be parsed into an integer}
    {databases 0}               {argument must be between 1 and 2147483647 inclusive}
    {loglevel loud}             {argument must be one of the following: debug, verbose, notice,\
        warning}
    {foo "bar}                  {Unbalanced quotes in configuration line}
    {foo 'bar'x}                {Unbalanced quotes in configuration line}
    {rename-command get}        {Bad directive or wrong number of arguments}
    {rename-command nosuch x}   {No such command in rename-command}
    {rename-command get set}    {Target command name already exists}
    {logfile /no/such/dir/log}  {Can't open the log file: No such file or directory}
    {client-output-buffer-limit normal 1 2} {Bad directive or wrong number of arguments}
    {client-output-buffer-limit normal 1 2 3 4} {Bad directive or wrong number of arguments}
    {client-output-buffer-limit normal 1 2 -3} {Negative number of seconds in soft limit is invalid}
    {client-output-buffer-limit master 1 2 3} {Unrecognized client limit class: the user specified\
        an invalid one, or 'master' which has no buffer limits.}
    {tcp-backlog -1}            {argument must be between 0 and 2147483647 inclusive}
}

foreach {line reason} $bad_lines {
    test "A bad line is refused with its reason: $line" {
        assert_equal [list 1 [config_error $line 1 $reason]] [refused_file "$line\n"]
        assert_equal [list 1 [config_error $line 4 $reason]] [refused_file \
            "# x\n\nhz 10\n$line\nport 0\n"]
    }
}

test {The last line needs no newline} {
    assert_equal [list 1 [config_error {maxmemory x} 2 {argument must be a memory value}]] \
        [refused_file "hz 10\nmaxmemory x"]
}

test {Bad options of the command line} {
    assert_equal [list 1 [config_error {maxmemory "x"} 2 {argument must be a memory value}]] \
        [refused {--maxmemory x}]
    assert_equal [list 1 [config_error {nosuch "1"} 3 \
        {Bad directive or wrong number of arguments}]] \
        [refused {--hz 10 --nosuch 1}]
    assert_equal [list 1 [config_error {port} 2 {wrong number of arguments}]] [refused {--port}]
    assert_equal [list 1 [config_error {port "1" "extra"} 2 {wrong number of arguments}]] \
        [refused {--port 1 extra --hz}]
}

test {A bad line on standard input} {
    assert_equal [list 1 [config_error {maxmemory x} 2 {argument must be a memory value}]] \
        [refused - "hz 10\nmaxmemory x\n"]
}

test {A configuration file that is not there} {
    set result [run_server_to_end {/no/such/file.conf}]
    assert_equal 1 [dict get $result status]
    assert_match "*Fatal error, can't open config file '/no/such/file.conf': No such file or\
        directory*" \
        "[dict get $result out][dict get $result err]"
}

test {An included file that is not there} {
    set path [tmpfile includes.conf]
    write_whole $path "include /no/such/file.conf\n"
    set result [run_server_to_end [list $path]]
    assert_equal 1 [dict get $result status]
    assert_match "*can't open config file '/no/such/file.conf': No such file or directory*" \
        "[dict get $result out][dict get $result err]"
}

test {A folder that is not there} {
    set path [tmpfile dir.conf]
    write_whole $path "dir /no/such/dir\n"
    set result [run_server_to_end [list $path]]
    assert_equal 1 [dict get $result status]
    assert_match "*Can't chdir to '/no/such/dir': No such file or directory*" \
        "[dict get $result out][dict get $result err]"
}

test {A port in use} {
    set taken [socket -server {} -myaddr 127.0.0.1 0]
    set port [lindex [fconfigure $taken -sockname] 2]
    set result [run_server_to_end [list --port $port --bind 127.0.0.1 --save {}]]
    close $taken
    assert_equal 1 [dict get $result status]
    assert_match "*Could not create server TCP listening socket 127.0.0.1:$port: bind: Address\
        already in use*Failed listening on port $port (TCP), aborting.*" \
        "[dict get $result out][dict get $result err]"
}

test {A socket that cannot be made} {
    set result [run_server_to_end {--port 0 --unixsocket /no/such/dir/sock --save {}}]
    assert_equal 1 [dict get $result status]
    assert_match "*Opening Unix socket: bind: No such file or directory*" \
        "[dict get $result out][dict get $result err]"
}

test {Nothing to listen on} {
    set result [run_server_to_end {--port 0 --save {}}]
    assert_equal 1 [dict get $result status]
    assert_match "*Configured to not listen anywhere, exiting.*" \
        "[dict get $result out][dict get $result err]"
}

test {--version and -v} {
    foreach word {--version -v} {
        set result [run_server_to_end [list $word]]
        assert_equal 0 [dict get $result status]
        set form {^Redis server v=6\.2\.\d+ sha=[0-9a-f]+:[01] malloc=\S+ bits=64 build=\w+\n}
        append form {(Evenkeel [\d.]+\n)?$}
        assert {[regexp $form [dict get $result out]]} [dict get $result out]
    }
}

# The linker's note, as binutils reads it; those who build have them, but not who test a package.
test {The id of the build is the linker's} {
    if {[auto_execok readelf] eq {}} { skip "readelf is not installed" }
    set program $::options(server)
    if {![regexp {Build ID: ([0-9a-f]{16})} [exec readelf -n $program] -> id]} {
        fail "readelf shows no id"
    }
    assert_match "* build=$id\n*" [dict get [run_server_to_end --version] out]
    start_server {} {
        assert_equal $id [s redis_build_id]
    }
}

test {--help and -h} {
    foreach word {--help -h} {
        set result [run_server_to_end [list $word]]
        assert_match "Usage: *redis-server *redis.conf* *options* *-*\n*" \
            "[dict get $result out][dict get $result err]"
    }
}

# --- running ------------------------------------------------------------------------------------

start_server {} {
    test {The log says when the server is ready} {
        assert_match {*Ready to accept connections*} [wait_for_log {*eady to accept connections*}]
    }

    test {Lines of the log: pid, role, time, level} {
        set line [wait_for_log {*eady to accept connections*}]
        set form {^(\d+):M \d\d [A-Z][a-z][a-z] \d{4} \d\d:\d\d:\d\d\.\d{3} \* }
        assert {[regexp $form $line -> pid]} $line
        assert_equal [srv pid] $pid
    }
}

foreach signal {TERM INT} {
    start_server {} {
        test "SIG$signal ends the server in good order" {
            r set k v
            server_end_process [server_id 0] $signal
        } {0}

        test "SIG$signal: the log says so" {
            set text [server_text [server_id 0]]
            assert_match "*Received SIG$signal scheduling shutdown...*" $text
            assert_match "*User requested shutdown...*ready to exit, bye bye...*" $text
            restart_server
        }
    }
}

start_server {} {
    test {SIGTERM while clients send and wait} {
        set clients {}
        for {set i 0} {$i < 20} {incr i} {
            set client [redis_deferring_client]
            $client write [string repeat [client::encode ping] 100]
            lappend clients $client
        }
        set status [server_end_process [server_id 0]]
        foreach client $clients {
            $client close
        }
        restart_server
        set status
    } {0}
}

start_server {} {
    test {SHUTDOWN's arguments} {
        assert_error_text {ERR syntax error} {r shutdown bogus}
        assert_error_text {ERR syntax error} {r shutdown save nosave}
        assert_equal PONG [r ping]
    }

    test {SHUTDOWN NOSAVE closes without a reply and ends with status 0} {
        set other [redis_client]
        assert_equal "" [exchange [client::encode {shutdown nosave}]]
        assert_match {*refused*} [expr {[catch redis_client error] ? $error : "connected"}]
        assert_equal 1 [$other closed]
        $other close
        assert_equal 1 [await_end [srv process]]
        assert_equal 0 [reap [srv process]]
        assert_equal 0 [file exists [file join [srv folder] dump.rdb]]
        server_launch [server_id 0]
    } {1}
}

start_server {} {
    test {SHUTDOWN NOSAVE in the middle of a pipeline: nothing after it is executed} {
        set client [redis_deferring_client]
        foreach words {{set k 1} {shutdown nosave} ping} {
            append request [client::encode $words]
        }
        $client write $request
        set rest [$client raw_rest]
        $client close
        assert {$rest in [list "" "+OK\r\n"]} $rest
        assert_equal 1 [await_end [srv process]]
        assert_equal 0 [reap [srv process]]
        server_launch [server_id 0]
    } {1}
}

start_server {unix 1} {
    test {A unix socket beside the port} {
        set client [unix_client [srv socket]]
        assert_equal PONG [$client ping]
        assert_equal OK [$client set k over-the-socket]
        $client close
        r select 0
        assert_equal over-the-socket [r get k]
        assert_equal [srv socket] [config_get unixsocket]
    }

    test {A pipeline and a large value over the unix socket} {
        set client [unix_client [srv socket] deferred]
        set value [string repeat x 1000000]
        for {set i 0} {$i < 500} {incr i} {
            $client incr n
        }
        $client set large $value
        $client get large
        for {set i 1} {$i <= 500} {incr i} {
            assert_equal $i [$client read]
        }
        assert_equal OK [$client read]
        assert {[$client read] eq $value}
        $client close
    }

    test {The socket's file goes away with the server} {
        set path [srv socket]
        server_end_process [server_id 0]
        assert_equal 0 [file exists $path]
        restart_server
        assert_equal 1 [file exists $path]
    }

    test {A socket's file that a dead server left is taken over} {
        set path [srv socket]
        exec kill -KILL [srv pid]
        await_end [srv process]
        assert_equal 1 [file exists $path]
        restart_server
        set client [unix_client $path]
        assert_equal PONG [$client ping]
        $client close
    }
}

start_server {overrides {port 0 unixsocketperm 700} unix 1} {
    test {A unix socket alone, with its permissions} {
        set client [unix_client [srv socket]]
        assert_equal PONG [$client ping]
        $client close
        assert_equal 700 [string range [file attributes [srv socket] -permissions] end-2 end]
    }
}

set pid_path [tmpfile server.pid]
start_server [list overrides [list pidfile $pid_path]] {
    test {The pid file is there while the server runs} {
        assert_equal [srv pid] [string trim [read_whole $pid_path]]
        server_end_process [server_id 0]
        assert_equal 0 [file exists $pid_path]
        restart_server
        assert_equal [srv pid] [string trim [read_whole $pid_path]]
    }
}

set log_path [tmpfile server.log]
start_server [list overrides [list logfile $log_path]] {
    test {The log file takes the log, standard output nothing} {
        wait_for_condition 100 20 {[string match "*eady to accept connections*" \
            [read_whole $log_path]]} else {
            fail "no such line in the log file"
        }
        assert_equal "" [read_whole [srv log]]
    }

    test {A log file that was moved away is made anew} {
        file rename $log_path $log_path.old
        r config set loglevel verbose
        set client [redis_client]
        $client close
        wait_for_condition 100 20 {[file exists $log_path] && [file size $log_path] > 0} else {
            fail "the log file was not made again"
        }
    }
}

foreach {level shown} {warning 0 notice 1 verbose 1} {
    start_server [list overrides [list loglevel $level]] {
        test "loglevel $level" {
            r ping
            set text [server_text [server_id 0]]
            assert_equal $shown [string match "*eady to accept connections*" $text]
        }
    }
}

test {Configuration from a file, standard input and the command line together} {
    set path [tmpfile both.conf]
    set port [find_free_port]
    write_whole $path \
        "hz 20\ntimeout 21\nclient-query-buffer-limit 22mb\nsave \"\"\nbind 127.0.0.1\n"
    set process [spawn_server [list $path --port $port --client-query-buffer-limit 24mb -] "" \
        "timeout 23\nclient-query-buffer-limit 23mb\n"]
    wait_for_condition 200 20 {![catch {client::connect 127.0.0.1 $port} client]} else {
        fail "nobody listens: [read_whole [dict get $process log]]"
    }
    foreach {name value} {hz 20 timeout 23 client-query-buffer-limit 25165824} {
        assert_equal [list $name $value] [$client config get $name]
    }
    catch {$client shutdown nosave}
    $client close
    assert_equal 1 [await_end $process]
    reap $process
} {0}

test {daemonize: the starter ends, the server goes on, the pid file names it} {
    set folder [tmpdir]
    set port [find_free_port]
    set path [file join $folder daemon.conf]
    write_whole $path [config_lines [list port $port bind 127.0.0.1 dir $folder save {} \
        daemonize yes pidfile $folder/pid logfile $folder/log]]
    assert_equal 0 [dict get [run_server_to_end [list $path]] status]
    wait_for_condition 200 20 {![catch {client::connect 127.0.0.1 $port} client]} else {
        fail "nobody listens"
    }
    set pid [info_property [$client info server] process_id]
    write_pid_file $pid
    assert_equal $pid [string trim [read_whole $folder/pid]]
    assert_equal [list pidfile $folder/pid] [$client config get pidfile]
    catch {$client shutdown nosave}
    $client close
    wait_for_condition 200 20 {![process_alive $pid]} else {
        fail "it does not end"
    }
    file delete [pid_file $pid]
    assert_equal 0 [file exists $folder/pid]
}

# CONFIG GET and CONFIG REWRITE name the file that 6.2 takes by itself.
test {daemonize without a pidfile: /var/run/redis.pid} {
    if {[file exists /var/run/redis.pid]} {
        skip "another server's"
    }
    set folder [tmpdir]
    set port [find_free_port]
    set path [file join $folder daemon.conf]
    write_whole $path [config_lines [list port $port bind 127.0.0.1 dir $folder save {} \
        daemonize yes logfile $folder/log]]
    assert_equal 0 [dict get [run_server_to_end [list $path]] status]
    wait_for_condition 200 20 {![catch {client::connect 127.0.0.1 $port} client]} else {
        fail "nobody listens"
    }
    set pid [info_property [$client info server] process_id]
    write_pid_file $pid
    assert_equal {pidfile /var/run/redis.pid} [$client config get pidfile]
    assert_equal OK [$client config rewrite]
    assert_match "*\npidfile */var/run/redis.pid*" [read_whole $path]
    catch {$client shutdown nosave}
    $client close
    wait_for_condition 200 20 {![process_alive $pid]} else {
        fail "it does not end"
    }
    file delete [pid_file $pid]
}

foreach word {options metrics commands man} {
    test "--describe-$word prints its page and ends" {
        set result [run_server_to_end [list --describe-$word]]
        assert_equal 0 [dict get $result status]
        assert_morethan [llength [split [dict get $result out] \n]] 10
    } undefined {ours}
}

# --- the limit of open files ---------------------------------------------------------------------

# Evaluates a body whose servers start with these limits of open files.
proc with_file_limit {soft hard body} {
    set before $::options(wrapper)
    lappend ::options(wrapper) sh -c "ulimit -Sn $soft && ulimit -Hn $hard && exec \"\$@\"" sh
    set code [catch {uplevel 1 $body} result options]
    set ::options(wrapper) $before
    return -options $options -code $code $result
}

foreach {soft hard lines expected} {
    300 300 {} 268
    300 300 "maxclients 10000\n" 268
    300 300 "maxclients 269\nmaxclients 270\n" 268
    300 300 "maxclients 268\n" 268
    100 300 "maxclients 10000\n" 268
    100 300 "maxclients 200\n" 200
    40 300 "maxclients 300\nmaxclients 5\n" 5
    300 300 "maxclients 4294967295\n" 268
} {
    with_file_limit $soft $hard {
        start_server [list lines $lines] {
            test "Open files: $soft to $hard; [string map {\n ,} $lines]: $expected clients" {
                assert_equal $expected [config_get maxclients]
                assert_equal $expected [s maxclients]
                set text [server_text [server_id 0]]
                set wanted [expr {[regexp -all {(\d+)} $lines] ? [lindex $lines end] : 10000}]
                assert_equal [expr {$wanted > $expected}] [string match "*You requested maxclients\
                    of $wanted requiring at least [expr {$wanted + 32}] max file descriptors*\
                    maxclients has been reduced to $expected*" $text] $text
                # While it runs: refused, and nothing changes.
                foreach more {269 100000 4294967295} {
                    assert_error_text "ERR Invalid argument '$more' for CONFIG SET 'maxclients' -\
                        The operating system is not able to handle the specified number of\
                        clients, try with 268" {r config set maxclients $more}
                    assert_equal $expected [config_get maxclients]
                }
                assert_equal OK [r config set maxclients 268]
                assert_equal OK [r config set maxclients 3]
                assert_equal OK [r config set maxclients 268]
                # The limit is one that can be reached.
                set clients {}
                for {set i 1} {$i < 268} {incr i} {
                    lappend clients [redis_client]
                }
                assert_equal PONG [[lindex $clients end] ping]
                assert_match "*max number of clients reached*" [exchange ""]
                foreach client $clients {
                    $client close
                }
            }
        }
    }
}

test {A limit of open files that leaves none for clients ends the start} {
    with_file_limit 32 32 {
        set result [run_server_to_end [list --port 0 --unixsocket [tmpfile socket] --save {}]]
    }
    assert_equal 1 [dict get $result status]
    assert_match "*ulimit -n*is not enough for the server to start*" \
        "[dict get $result out][dict get $result err]"
}

# --- forms of the command line ------------------------------------------------------------------

# Starts a server with these words after address and port, asks it, ends it; -> the answers.
proc ask_started {arguments questions} {
    set port [find_free_port]
    set process [spawn_server [list --port $port --bind 127.0.0.1 --save "" {*}$arguments]]
    wait_for_condition 400 20 {![catch {client::connect 127.0.0.1 $port} client]} else {
        fail "nobody listens: [read_whole [dict get $process err]]"
    }
    set answers {}
    foreach name $questions {
        lappend answers [lindex [$client config get $name] 1]
    }
    catch {$client shutdown nosave}
    $client close
    assert_equal 1 [await_end $process]
    assert_equal 0 [reap $process]
    return $answers
}

set included [tmpfile included.conf]
write_whole $included "maxclients 66\ntimeout 5\n"
foreach {arguments name expected} [list \
    {--maxclients 77} maxclients 77 \
    {--MAXCLIENTS 77} maxclients 77 \
    {--maxclients 77 --maxclients 78} maxclients 78 \
    {{--maxclients 77}} maxclients 77 \
    {"--maxclients 77\nmaxclients 79"} maxclients 79 \
    {--masterauth "a\"b c\\\\d'e"} masterauth "a\"b c\\\\d'e" \
    {--masterauth ""} masterauth "" \
    {--proc-title-template "a {port} \"q\" 'x'"} proc-title-template "a {port} \"q\" 'x'" \
    {--save 900 1 --save 300 10} save "900 1 300 10" \
    {--save 900 1 --save "" --save 300 10} save "300 10" \
    {--save 900 1 --save ""} save "" \
    {--save 900 1 --save} save "900 1" \
    {--save {""}} save "" \
    {--save ''} save "" \
    {--save 900 1 --save {""}} save "900 1" \
    {--save {900 1}} save "900 1" \
    {--repl-backlog-size 1k} repl-backlog-size 1000 \
    {--} save "" \
    [list --maxclients 1 --include $included] maxclients 66 \
    [list --include $included --maxclients 68] maxclients 68 \
    {--io-threads 1} io-threads 1 \
] {
    test "The command line: [string map [list $included FILE] $arguments]" {
        assert_equal [list $expected] [ask_started $arguments $name]
    }
}

foreach {arguments line number reason} {
    {--maxclients=77} {maxclients=77} 2 {Bad directive or wrong number of arguments}
    {--maxclients} maxclients 2 {wrong number of arguments}
    {--maxclients ""} {maxclients ""} 2 {argument couldn't be parsed into an integer}
    {--maxclients " 7"} {maxclients " 7"} 2 {argument couldn't be parsed into an integer}
    {--maxclients '77'} {maxclients "'77'"} 2 {argument couldn't be parsed into an integer}
    {--port 7777 - --bind 127.0.0.1} {port "7777" "-"} 2 {wrong number of arguments}
    {--port 7777 --replicaof "127.0.0.1 8888"} {replicaof "127.0.0.1 8888"} 3
        {Bad directive or wrong number of arguments}
    {--port 7777 --replicaof 127.0.0.1} {replicaof "127.0.0.1"} 3
        {Bad directive or wrong number of arguments}
    {--port 7777 --replicaof 127.0.0.1 x} {replicaof "127.0.0.1" "x"} 3 {Invalid master port}
    {-x} {"-x"} 2 {Bad directive or wrong number of arguments}
    {-p 7777} {"-p" "7777"} 2 {Bad directive or wrong number of arguments}
    {{--port 7777 --bind} 127.0.0.1} {port 7777 --bind "127.0.0.1"} 2 {wrong number of arguments}
    {--nosuch a --port} {nosuch "a"} 2 {Bad directive or wrong number of arguments}
} {
    test "A command line that is refused: $arguments" {
        assert_equal [list 1 [config_error $line $number $reason]] [refused $arguments]
    }
}

start_server {overrides {replicaof {127.0.0.1 1}}} {
    test {A server may start as a replica} {
        assert_equal {slave 127.0.0.1 1} [lrange [r role] 0 2]
    }
}

# What such a program says at its end, called by this name, a link to the server.
proc run_as {name words} {
    set link [file join [tmpdir called] $name]
    file link -symbolic $link [file normalize $::options(server)]
    return [run_program [list $link {*}$words]]
}

test {An argument --sentinel, wherever it stands, or the name of Sentinel: wants a file} {
    set port [find_free_port]
    set says "*Sentinel needs config file on disk to save state. Exiting...*"
    foreach words [list --sentinel [list --port $port --sentinel] [list --sentinel --port $port]] {
        set result [run_server_to_end $words]
        assert_equal 1 [dict get $result status] $words
        assert_match $says "[dict get $result out][dict get $result err]"
    }
    set result [run_as redis-sentinel [list --port $port]]
    assert_equal 1 [dict get $result status]
    assert_match $says "[dict get $result out][dict get $result err]"
    assert_match "Redis server v=*" [dict get [run_as redis-sentinel --version] out]
} {} {ours}

test {The name that the program is called by counts more than arguments} {
    set result [run_as redis-check-rdb --sentinel]
    assert_match "*Checking RDB file --sentinel*" [dict get $result out]
    assert_equal 1 [dict get $result status]
    set result [run_as redis-check-aof {a b --sentinel}]
    assert_match "Usage: *" "[dict get $result err][dict get $result out]"
}

test {--version and --help count whatever follows} {
    foreach words {{--version x} {-v --port 1} {--help x} {-h --port 1}} {
        set result [run_server_to_end $words]
        assert_match "*edis*server*" "[dict get $result out][dict get $result err]" $words
        assert_no_match "*Ready to accept*" [dict get $result out] $words
    }
}

test {A first word without dashes is a file} {
    set result [run_server_to_end {port 7777}]
    assert_equal 1 [dict get $result status]
    assert_match "*can't open config file '*/port': No such file or directory*" \
        "[dict get $result out][dict get $result err]"
}

test {Standard input alone, and before options} {
    set port [find_free_port]
    foreach {arguments expected} {- 55 {- --maxclients 56} 56 {--maxclients 57 -} 57 {- -} 55} {
        set process [spawn_server $arguments "" \
            "port $port\nbind 127.0.0.1\nsave \"\"\nmaxclients 55\n"]
        wait_for_condition 400 20 {![catch {client::connect 127.0.0.1 $port} client]} else {
            fail "nobody listens: [read_whole [dict get $process err]]"
        }
        assert_equal [list maxclients $expected] [$client config get maxclients] $arguments
        catch {$client shutdown nosave}
        $client close
        assert_equal 1 [await_end $process]
        reap $process
    }
}
