# SPDX-License-Identifier: BSD-3-Clause
# The server and its host: supervisors, processors, the out-of-memory score, addresses, sockets'
# permissions, warnings about the system's settings, memory tests.

# Evaluates the body with an environment variable set.
proc with_environment {name value body} {
    set ::env($name) $value
    set code [catch {uplevel 1 $body} result options]
    unset ::env($name)
    return -options $options $result
}

# Evaluates the body with servers started through these words.
proc with_wrapper {words body} {
    set before $::options(wrapper)
    set ::options(wrapper) $words
    set code [catch {uplevel 1 $body} result options]
    set ::options(wrapper) $before
    return -options $options $result
}

# A field of /proc/PID/status; "" where the kernel has none of that name.
proc status_field {pid field} {
    set value ""
    regexp -line "^$field:\\s*(.*)$" [read_whole /proc/$pid/status] -> value
    return $value
}

# A program that listens as systemd does and writes each datagram into a file. -> its pid
proc start_listener {name path} {
    set program {
import os, socket, sys
name, path = sys.argv[1], sys.argv[2]
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind("\0" + name[1:] if name[0] == "@" else name)
open(path + ".ready", "w").close()
while True:
    with open(path, "ab") as f:
        f.write(s.recv(65536) + b"--\n")
}
    write_whole $path ""
    set pid [exec python3 -c $program $name $path &]
    wait_for_condition 400 25 {[file exists $path.ready]} else {
        fail "no listener"
    }
    return $pid
}

proc end_listener {pid} {
    catch {exec kill $pid}
}

# --- supervisors --------------------------------------------------------------------------------

tags {ours} {
    foreach {kind word} {path systemd abstract systemd path auto} {
        set heard [tmpfile heard]
        set name [expr {$kind eq "path" ? "[file normalize [tmpdir n]]/n" : "@evenkeel.[pid]"}]
        if {[string length $name] > 100} {
            set name /tmp/evenkeel.[pid].$word
        }
        set listener [start_listener $name $heard]
        set ::env(NOTIFY_SOCKET) $name
        start_server [list overrides [list supervised $word]] {
            test "supervised $word tells systemd's $kind socket of start and end" {
                wait_for_condition 200 20 {[string match "*READY=1\n*" [read_whole $heard]]} else {
                    fail "systemd heard: [read_whole $heard]"
                }
                assert_match "*STATUS=Ready to accept connections\n*" [read_whole $heard]
                assert_no_match *STOPPING* [read_whole $heard]
                assert_equal systemd [s process_supervised]
                server_end_process [server_id 0]
                wait_for_condition 200 20 {[string match *STOPPING=1\n* [read_whole $heard]]} else {
                    fail "systemd heard: [read_whole $heard]"
                }
                restart_server
            }
        }
        unset ::env(NOTIFY_SOCKET)
        end_listener $listener
    }

    with_environment NOTIFY_SOCKET /no/such/socket {
        start_server {overrides {supervised systemd}} {
            test {A supervisor that does not listen does not keep the server from serving} {
                wait_for_log {*systemd cannot be told READY=1: No such file or directory*}
                assert_equal PONG [r ping]
            }
        }
    }

    with_environment NOTIFY_SOCKET /no/such/socket {
        start_server {overrides {supervised auto daemonize yes}} {
            test {A supervised server does not become a daemon} {
                assert_equal [srv pid] [s process_id]
            }
        }
    }
}

foreach word {systemd upstart auto} {
    start_server [list overrides [list supervised $word]] {
        test "supervised $word without a supervisor: the server runs by itself" {
            assert_equal no [s process_supervised]
        }
    }
}

foreach word {upstart auto} {
    test "supervised $word under upstart: the process stops itself, and serves when continued" {
        set port [find_free_port]
        with_environment UPSTART_JOB job {
            set process [spawn_server [list --port $port --bind 127.0.0.1 --save {} \
                --supervised $word]]
        }
        set pid [dict get $process pid]
        wait_for_condition 400 20 {[string match T* [status_field $pid State]]} else {
            fail "it does not stop: [read_whole [dict get $process log]]"
        }
        exec kill -CONT $pid
        wait_for_condition 200 20 {![catch {client::connect 127.0.0.1 $port} client]} else {
            fail "nobody listens: [read_whole [dict get $process log]]"
        }
        assert_equal upstart [info_property [$client info server] process_supervised]
        catch {$client shutdown nosave}
        $client close
        assert_equal 1 [await_end $process]
        reap $process
    } {0}
}

# --- processors ---------------------------------------------------------------------------------

set processors [status_field [pid] Cpus_allowed_list]
regexp {^\d+} $processors first_processor
foreach {list expected} [list $first_processor $first_processor \
        "$first_processor-$first_processor:3" $first_processor \
        "$first_processor,1000" $first_processor] {
    start_server [list overrides [list server_cpulist $list]] {
        test "server_cpulist $list" {
            wait_for_condition 100 20 \
                {[status_field [srv pid] Cpus_allowed_list] eq $expected} else {
                fail "[status_field [srv pid] Cpus_allowed_list], not $expected"
            }
            assert_equal $list [config_get server_cpulist]
        }
    }
}

start_server {} {
    test {Without a list the server keeps the processors it was given} {
        assert_equal $processors [status_field [srv pid] Cpus_allowed_list]
        foreach name {server_cpulist bio_cpulist aof_rewrite_cpulist bgsave_cpulist} {
            assert_equal "" [config_get $name]
            assert_error_text "ERR Unsupported CONFIG parameter: $name" {r config set $name 0}
        }
    }
}

foreach list {x 1- -1 1,,2 3-1 0-3:0 0-3: 99999 1024 {0 1} 0x1 ,} {
    test "A list of processors that is none is refused: $list" {
        foreach name {server_cpulist bio_cpulist aof_rewrite_cpulist bgsave_cpulist} {
            set path [tmpfile cpus.conf]
            write_whole $path "$name \"$list\"\n"
            set result [run_server_to_end [list $path]]
            assert_equal 1 [dict get $result status]
            assert_match "*FATAL CONFIG FILE ERROR*at line 1\n>>> '$name \"$list\"'\nargument must\
                be a list of processors below 1024, such as 0,2,4-7 or 0-7:2\n" \
                [dict get $result err]
        }
    } undefined {ours}
}

start_server {overrides {server_cpulist 1023}} {
    test {A list of processors that the host does not have is passed over, with a word} {
        wait_for_log {*cannot be bound to the processors 1023: Invalid argument*}
        assert_equal $processors [status_field [srv pid] Cpus_allowed_list]
    } undefined {ours}
}

# --- the out-of-memory score --------------------------------------------------------------------

proc score_of {pid} {
    return [string trim [read_whole /proc/$pid/oom_score_adj]]
}

# A score that the host has raised cannot be lowered everywhere.
set may_lower_score [expr {[score_of [pid]] <= 0
    || ![catch {exec sh -c {echo 0 >/proc/self/oom_score_adj} 2>/dev/null}]}]

tests_where $may_lower_score "the score cannot be lowered" {
start_server {} {
    test {oom-score-adj relative: the primary's value is added to the score at start} {
        set base [score_of [srv pid]]
        assert_equal OK [r config set oom-score-adj-values "30 40 50"]
        assert_equal $base [score_of [srv pid]]
        assert_equal OK [r config set oom-score-adj relative]
        assert_equal yes [config_get oom-score-adj]
        assert_equal [expr {min($base + 30, 1000)}] [score_of [srv pid]]
        assert_equal OK [r config set oom-score-adj-values "35 40 50"]
        assert_equal [expr {min($base + 35, 1000)}] [score_of [srv pid]]
    }

    test {oom-score-adj absolute, cut to what the kernel takes} {
        r config set oom-score-adj absolute
        assert_equal 35 [score_of [srv pid]]
        r config set oom-score-adj-values "1500 1600 2000"
        assert_equal 1000 [score_of [srv pid]]
        assert_equal "1500 1600 2000" [config_get oom-score-adj-values]
    }

    test {oom-score-adj no leaves the score that is set} {
        r config set oom-score-adj no
        assert_equal 1000 [score_of [srv pid]]
        r config set oom-score-adj-values "10 20 30"
        assert_equal 1000 [score_of [srv pid]]
    }

    test {oom-score-adj-values: what is refused changes nothing} {
        foreach {value reason} {
            {1 2}      {}
            {1 2 3 4}  {}
            {1  2 3}   {}
            {}         {}
            {1 2 x}    { - Invalid oom-score-adj-values, elements must be between -2000 and 2000.}
            {1 2 2001} { - Invalid oom-score-adj-values, elements must be between -2000 and 2000.}
            {-2001 0 0}
                       { - Invalid oom-score-adj-values, elements must be between -2000 and 2000.}
        } {
            assert_error_text "ERR Invalid argument '$value' for CONFIG SET\
                'oom-score-adj-values'$reason" {r config set oom-score-adj-values $value}
        }
        assert_error_text "ERR Invalid argument 'maybe' for CONFIG SET 'oom-score-adj' - argument\
            must be one of the following: no, yes, relative, absolute" \
            {r config set oom-score-adj maybe}
        assert_equal "10 20 30" [config_get oom-score-adj-values]
        assert_equal no [config_get oom-score-adj]
    }
}

start_server {overrides {oom-score-adj absolute} lines "oom-score-adj-values 77 88 99\n"} {
    test {The score is set at start} {
        assert_equal 77 [score_of [srv pid]]
    }
}
}

# Without privileges the score cannot go below what it was: the server runs as nobody.
set may_leave_root [expr {[exec id -u] == 0 && \
    ![catch {exec setpriv --reuid=65534 --clear-groups true}]}]
tests_where $may_leave_root "not root, or no setpriv" {
    set folder /tmp/evenkeel.host.[pid]
    file mkdir $folder
    file attributes $folder -permissions 0777
    file copy -force [exec readlink -f $::options(server)] $folder/redis-server
    file attributes $folder/redis-server -permissions 0755
    test {A score that the kernel refuses: the options stay as they were} {
        set before $::options(server)
        set ::options(server) $folder/redis-server
        set port [find_free_port]
        with_wrapper {setpriv --reuid=65534 --clear-groups} {
            set process [spawn_server \
                [list --port $port --bind 127.0.0.1 --save {} --dir $folder]]
        }
        set ::options(server) $before
        wait_for_condition 400 20 {![catch {client::connect 127.0.0.1 $port} client]} else {
            fail "nobody listens: [read_whole [dict get $process log]]"
        }
        set score [score_of [dict get $process pid]]
        $client config set oom-score-adj-values "-1000 -1000 -1000"
        assert_error_text "ERR Invalid argument 'yes' for CONFIG SET 'oom-score-adj' - Failed to\
            set current oom_score_adj. Check server logs." {$client config set oom-score-adj yes}
        assert_equal {oom-score-adj no} [$client config get oom-score-adj]
        $client config set oom-score-adj-values "0 100 100"
        $client config set oom-score-adj yes
        assert_error_text "ERR Invalid argument '-1000 -1000 -1000' for CONFIG SET\
            'oom-score-adj-values' - Failed to apply oom-score-adj-values configuration, check\
            server logs." {$client config set oom-score-adj-values "-1000 -1000 -1000"}
        assert_equal {oom-score-adj-values {0 100 100}} \
            [$client config get oom-score-adj-values]
        assert_equal $score [score_of [dict get $process pid]]
        catch {$client shutdown nosave}
        $client close
        assert_equal 1 [await_end $process]
        reap $process
    } {0}
    file delete -force $folder
}

# --- addresses and sockets ----------------------------------------------------------------------

# Lists of which an address cannot be had: twice the same, no name, not on this host.
set faulty_binds {
    {127.0.0.1 127.0.0.1} {127.0.0.1 127.0.0.2 127.0.0.1} {* *} {* 127.0.0.1}
    {127.0.0.1 nosuch..name} {127.0.0.1 -nosuch..name} {127.0.0.1 -192.0.2.1 -nosuch..name}
    {127.0.0.1 300.1.1.1} {127.0.0.1 --127.0.0.1} {127.0.0.1 -} {127.0.0.1,127.0.0.2} 192.0.2.1
    {127.0.0.1 192.0.2.1}
}
set many_addresses {}
for {set i 1} {$i <= 17} {incr i} {
    lappend many_addresses 127.0.0.$i
}

start_server {overrides {bind {127.0.0.1 -::1 -192.0.2.1}}} {
    test {Addresses after a minus sign may be missing} {
        assert_equal PONG [r ping]
        assert_equal "127.0.0.1 -::1 -192.0.2.1" [config_get bind]
        assert {[catch {client::connect 127.0.0.2 [srv port]}]}
    }

    tests_where [has_ipv6] "no IPv6" {
        test {Over IPv6} {
            set client [client::connect ::1 [srv port]]
            assert_equal PONG [$client ping]
            $client close
            r config set bind 127.0.0.1
            assert {[catch {client::connect ::1 [srv port]}]}
            r config set bind ::1
            set client [client::connect ::1 [srv port]]
            assert_equal PONG [$client ping]
            assert_equal PONG [r ping]
            assert {[catch {client::connect 127.0.0.1 [srv port]}]}
            $client config set bind 127.0.0.1
            $client close
        }
    }

    test {CONFIG SET bind to what cannot be had: the old ones stay} {
        r config set bind "127.0.0.1 -192.0.2.1"
        foreach addresses [concat $faulty_binds {-192.0.2.1}] {
            assert_error_text {ERR Failed to bind to specified addresses.} \
                {r config set bind $addresses} $addresses
            assert_equal "127.0.0.1 -192.0.2.1" [config_get bind]
            set client [redis_client]
            assert_equal PONG [$client ping]
            $client close
        }
        assert_equal OK [r config set bind 127.0.0.1]
    }

    test {CONFIG SET bind: 16 addresses, and one too many} {
        assert_equal OK [r config set bind [lrange $many_addresses 0 15]]
        set client [client::connect 127.0.0.16 [srv port]]
        assert_equal PONG [$client ping]
        assert_error_text {ERR Too many bind addresses specified.} \
            {r config set bind $many_addresses}
        assert_equal [lrange $many_addresses 0 15] [config_get bind]
        assert_equal OK [$client config set bind 127.0.0.1]
        $client close
        assert {[catch {client::connect 127.0.0.16 [srv port]}]}
    }

    test {CONFIG SET port: one that is taken, and none} {
        set taken [socket -server {} -myaddr 127.0.0.1 0]
        set port [lindex [fconfigure $taken -sockname] 2]
        assert_error_text "ERR Invalid argument '$port' for CONFIG SET 'port' - Unable to listen on\
            this port. Check server logs." {r config set port $port}
        assert_equal [srv port] [config_get port]
        wait_for_log "*Could not create server TCP listening socket 127.0.0.1:$port: bind: Address\
            already in use*"
        set client [redis_client]
        assert_equal PONG [$client ping]
        close $taken
        # The connection that asks goes on where nothing listens any more.
        assert_equal OK [$client config set port 0]
        assert {[catch {client::connect 127.0.0.1 [srv port]}]}
        assert_equal OK [$client config set port [srv port]]
        $client close
        assert_equal PONG [[redis_client] ping]
    }
}

test {bind of a file: lists with a fault end the start} {
    foreach addresses $faulty_binds {
        set port [find_free_port]
        set path [tmpfile bind.conf]
        write_whole $path "port $port\nbind $addresses\nsave \"\"\n"
        set result [run_server_to_end [list $path]]
        assert_equal 1 [dict get $result status] $addresses
        assert_match "*Could not create server TCP listening socket *:$port: *Failed listening on\
            port $port (TCP), aborting.*" [dict get $result out][dict get $result err] $addresses
    }
    foreach {addresses reason} [list $many_addresses {Too many bind addresses specified}] {
        write_whole $path "port $port\nbind $addresses\nsave \"\"\n"
        set result [run_server_to_end [list $path]]
        assert_equal 1 [dict get $result status] $addresses
        assert_match "*\n$reason\n" [dict get $result err] $addresses
    }
}

test {bind: all addresses may be missing, and are} {
    set port [find_free_port]
    set result [run_server_to_end [list --port $port --bind -192.0.2.1 --save {}]]
    assert_equal 1 [dict get $result status]
    assert_match "*Configured to not listen anywhere, exiting.*" \
        "[dict get $result out][dict get $result err]"
    start_server {overrides {bind -192.0.2.1 port 0} unix 1} {
        set client [unix_client [srv socket]]
        assert_equal PONG [$client ping]
        $client close
    }
}

test {An address that is missing ends the start} {
    set port [find_free_port]
    set result [run_server_to_end \
        [list --port $port --bind 127.0.0.1 192.0.2.1 --save {}]]
    assert_equal 1 [dict get $result status]
    assert_match "*Could not create server TCP listening socket 192.0.2.1:$port: bind: Cannot\
        assign requested address*Failed listening on port $port (TCP), aborting.*" \
        "[dict get $result out][dict get $result err]"
}

foreach {mask setting expected} {077 0 700 022 0 755 077 0777 777 022 600 600} {
    with_wrapper [list sh -c "umask $mask; exec \"\$@\"" sh] {
        start_server [list overrides [list unixsocketperm $setting] unix 1] {
            test "The unix socket's permissions: umask $mask, unixsocketperm $setting" {
                assert_equal $expected \
                    [string range [file attributes [srv socket] -permissions] end-2 end]
                set client [unix_client [srv socket]]
                assert_equal PONG [$client ping]
                $client close
            }
        }
    }
}

start_server {overrides {unixsocket s}} {
    test {A unix socket goes where it was made, though `dir` is another folder now} {
        set folder [srv dir]
        set other [tmpdir moved]
        assert_equal 1 [file exists $folder/s]
        close [open $other/s w]
        r config set dir $other
        set pid [srv pid]
        catch {r shutdown nosave}
        wait_for_condition 3000 20 {![process_alive $pid]} else {
            fail "the server does not end"
        }
        assert_equal {0 1} [list [file exists $folder/s] [file exists $other/s]]
        restart_server
    } {} {ours}
}

foreach {mask expected} {077 600 022 644 002 664 000 666} {
    with_wrapper [list sh -c "umask $mask; exec \"\$@\"" sh] {
        start_server {overrides {logfile log appendonly no}} {
            test "The umask decides on the modes of snapshot, log and rewritten file: $mask" {
                r set k v
                r save
                r config set appendonly yes
                wait_for_condition 500 20 {
                    [s aof_rewrite_in_progress] == 0 && [s aof_rewrite_scheduled] == 0
                } else {
                    fail "the rewrite goes on"
                }
                foreach name {dump.rdb appendonly.aof log} {
                    assert_equal $expected \
                        [string range [file attributes [srv folder]/$name -permissions] end-2 end] \
                        $name
                }
            }
        }
    }
}

test {unixsocketperm: three octal digits, and no more} {
    foreach value {1000 1777 07777 7777777 -1} {
        set result [run_server_to_end \
            [list --port 0 --unixsocket [tmpfile s] --unixsocketperm $value]]
        assert_equal 1 [dict get $result status] $value
        assert_match "*>>> 'unixsocketperm \"$value\"'\n?*" [dict get $result err] $value
    }
}

# --- warnings and the title ---------------------------------------------------------------------

start_server {overrides {tcp-backlog 2000000000}} {
    test {A backlog that the system cuts is warned of} {
        set most [string trim [read_whole /proc/sys/net/core/somaxconn]]
        wait_for_log "*WARNING*backlog*2000000000*somaxconn*"
        assert_match "* $most*" [wait_for_log *2000000000*]
    }
}

start_server {overrides {tcp-backlog 1}} {
    test {What suits the system is not warned of} {
        wait_for_log {*eady to accept connections*}
        assert_no_match *somaxconn* [server_text [server_id 0]]
        if {[string trim [read_whole /proc/sys/vm/overcommit_memory]] eq "1"} {
            assert_no_match *vm.overcommit_memory* [server_text [server_id 0]]
        } else {
            assert_match "*WARNING*vm.overcommit_memory*" [server_text [server_id 0]]
        }
    }

    test {disable-thp} {
        if {[status_field [srv pid] THP_enabled] eq ""} {
            skip "the kernel does not tell"
        }
        assert_equal 0 [status_field [srv pid] THP_enabled]
        r config set disable-thp no
        assert_equal 1 [status_field [srv pid] THP_enabled]
        r config set disable-thp yes
        assert_equal 0 [status_field [srv pid] THP_enabled]
    } undefined {ours}

    test {heap-huge-pages: asked for from then on, whatever disable-thp says} {
        set allocator [s mem_allocator]
        if {![string match jemalloc* $allocator]} {
            assert_error "*heap-huge-pages*jemalloc*" {r config set heap-huge-pages yes}
            assert_equal no [config_get heap-huge-pages]
            skip "the allocator is $allocator"
        }
        r config set heap-huge-pages yes
        # More than the allocator has at hand: it must take some. Advised memory has the flag hg.
        r debug populate 200000 huge 100
        assert_morethan [regexp -all -line {^VmFlags:.* hg} [read_whole /proc/[srv pid]/smaps]] 0
        r config set heap-huge-pages no
        if {[status_field [srv pid] THP_enabled] ne ""} {
            assert_equal 0 [status_field [srv pid] THP_enabled]
        }
        assert_equal 200000 [r dbsize]
        r flushall
    } undefined {ours needs:debug}

    test {ignore-warnings is kept} {
        assert_equal "" [config_get ignore-warnings]
        r config set ignore-warnings ARM64-COW-BUG
        assert_equal ARM64-COW-BUG [config_get ignore-warnings]
        r config set ignore-warnings ""
    }

    test {The process title follows its template} {
        r config set proc-title-template "{title} x {port} {unixsocket}{tls-port} {listen-addr}"
        set shown [string trim [string map {\0 " "} [read_whole /proc/[srv pid]/cmdline]]]
        assert_match "*redis-server x [srv port] 0 127.0.0.1:[srv port]" $shown
        assert_error_text "ERR Invalid argument '{nosuch}' for CONFIG SET 'proc-title-template' -\
            template format is invalid or contains unknown variables" \
            {r config set proc-title-template "{nosuch}"}
        set open \x7bport
        assert_error_text "ERR Invalid argument '$open' for CONFIG SET 'proc-title-template' -\
            template format is invalid or contains unknown variables" \
            {r config set proc-title-template $open}
        assert_equal "{title} x {port} {unixsocket}{tls-port} {listen-addr}" \
            [config_get proc-title-template]
    }

    # What must be left over is some text beside the program's name.
    test {Templates of the process title that are refused and taken} {
        foreach {template taken} {
            "{title}" 0   "{title}{title}" 0   " {title} " 0   "{title} {unixsocket}" 0   "" 0
            "{Title} x" 0   "{ title} x" 0   "{}" 0   "{server-mode}" 0   "{title} {" 0
            "{title} {config-file}" 1   "{listen-addr}" 1   "{title} }" 1   "{{title}}" 1   " x " 1
        } {
            assert_equal [expr {!$taken}] [catch {r config set proc-title-template $template}] \
                $template
        }
        assert_match "x*" [read_whole /proc/[srv pid]/cmdline]
    }
}

start_server {overrides {set-proc-title no}} {
    test {set-proc-title no leaves the command line} {
        set shown [string map {\0 " "} [read_whole /proc/[srv pid]/cmdline]]
        assert_match "*redis-server *[srv config_file]*" $shown
    }
}

# --- memory test --------------------------------------------------------------------------------

test {--test-memory: good memory, progress, status 0} {
    set result [run_server_to_end {--test-memory 2}]
    assert_equal 0 [dict get $result status]
    assert_match "Testing 2 MB*pass 1: address*pass 5: random*passed*" [dict get $result out]
} undefined {ours}

test {--test-memory without a size} {
    set result [run_server_to_end {--test-memory}]
    assert_equal 1 [dict get $result status]
    assert_match *megabytes* [dict get $result out][dict get $result err]
}

test {--test-memory: sizes that are none, and more than there is} {
    foreach size {x 0 -1 1.5 "" 18446744073709551615} {
        set result [run_server_to_end [list --test-memory $size]]
        assert_equal 1 [dict get $result status] $size
        assert_match *megabytes* [dict get $result err] $size
    }
    set result [run_server_to_end {--test-memory 1000000000}]
    assert_equal 1 [dict get $result status]
    assert_match "*cannot be had: *" [dict get $result err]
} undefined {ours}
