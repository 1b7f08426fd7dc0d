# SPDX-License-Identifier: BSD-3-Clause
# Starting and ending servers for tests.
#
# start_server starts a server with a folder, a port and a configuration of its own, evaluates its
# body and ends the server, whatever the body did. Servers nest: `r`, `srv` and `s` mean the
# innermost, a first argument of -1, -2 ... one further out. A crash report, a sanitizer's report or
# a bad exit status of a server is a failed test.
#
# Invariants: 1. each running server and worker has a file scratch/pids/PID with its start time, by
# which the shell wrapper ends leftover processes when the run is killed; 2. a process is ended by
# its id only; 3. ports lie below the range that the kernel gives to clients, are given out once in
# a run, so that a server keeps its port when it is started again, and were free when tried; a
# server whose port is taken nevertheless is started again with another port.

set ::servers {}             ;# stack of ids, innermost last
array set ::server {}        ;# $id,field
set ::server_serial 0
set ::port_next 0

# Signs of a crash in a server's log or standard error.
set ::crash_signs {
    {BUG REPORT START} {crashed by signal} {ASSERTION FAILED} {Guru Meditation}
    {AddressSanitizer} {LeakSanitizer} {UndefinedBehaviorSanitizer} {ThreadSanitizer}
    {MemorySanitizer} {runtime error: } {definitely lost: [1-9]} {Invalid (read|write) of size}
}

# --- ports -------------------------------------------------------------------------------------

proc port_is_free {port} {
    foreach address {127.0.0.1 0.0.0.0} {
        if {[catch {socket -server {} -myaddr $address $port} channel]} {
            return 0
        }
        close $channel
    }
    return 1
}

# True for the first of all workers of this run that asks for the port.
proc port_is_ours {port} {
    set folder [file join [file dirname $::options(scratch)] ports]
    file mkdir $folder
    if {[catch {open [file join $folder $port] {WRONLY CREAT EXCL}} channel]} {
        return 0
    }
    close $channel
    return 1
}

# A port up to `last` that could be bound just now, and so could those that are `others` above it.
# Parallel processes begin at different places.
proc find_ports {last others} {
    if {!$::port_next} {
        set ::port_next [expr {12000 + (($::options(worker) * 997 + [pid] * 31) % 19000)}]
    }
    for {set i 0} {$i < 19000} {incr i} {
        set ::port_next [expr {12000 + ($::port_next - 12000 + 1) % 19000}]
        if {$::port_next > $last} {
            continue
        }
        set usable 1
        foreach above [list 0 {*}$others] {
            set port [expr {$::port_next + $above}]
            set usable [expr {$usable && [port_is_free $port] && [port_is_ours $port]}]
        }
        if {$usable} {
            return $::port_next
        }
    }
    error "no free port"
}

proc find_free_port {} {
    return [find_ports 31000 {}]
}

# A port for a node of a cluster, whose bus has the port 10,000 above: one below those that the
# system gives to clients.
proc find_node_port {} {
    return [find_ports 22767 10000]
}

# --- processes ---------------------------------------------------------------------------------

proc pid_file {pid} {
    return [file join $::options(scratch) pids $pid]
}

proc write_pid_file {pid} {
    catch {
        set stat [read_whole /proc/$pid/stat]
        write_whole [pid_file $pid] [lindex [string range $stat [string last ) $stat]+2 end] 19]
    }
}

# Starts the server program with these arguments and text on its standard input, in a folder for its
# output. -> dict: pid, channel (its close waits for the end and tells the status), log (standard
# output), err (standard error), folder.
proc spawn_server {arguments {folder ""} {input ""}} {
    if {$folder eq ""} {
        set folder [tmpdir server]
    }
    foreach name {stdin stdout stderr} {
        set $name [file join $folder $name]
    }
    write_whole $stdin $input
    # The shell becomes the server, so that the id is the server's.
    set become {in=$1 out=$2 err=$3; shift 3; exec "$@" <"$in" >"$out" 2>"$err"}
    set channel [open |[list sh -c $become sh \
        $stdin $stdout $stderr {*}$::options(wrapper) $::options(server) {*}$arguments] r]
    set pid [pid $channel]
    unset -nocomplain ::reaped($pid)
    write_pid_file $pid
    return [dict create pid $pid channel $channel log $stdout err $stderr folder $folder]
}

# Waits until a spawned process has ended; false when the time is over.
proc await_end {process {limit_ms 300000}} {
    set until [expr {[clock milliseconds] + $limit_ms}]
    while {[process_alive [dict get $process pid]]} {
        if {[clock milliseconds] > $until} {
            return 0
        }
        after 5
    }
    return 1
}

# Its exit status, or the name of the signal that ended it; again the same when asked again. Only
# after await_end.
proc reap {process} {
    set pid [dict get $process pid]
    if {[info exists ::reaped($pid)]} {
        return $::reaped($pid)
    }
    file delete [pid_file $pid]
    set ::reaped($pid) 0
    if {[catch {close [dict get $process channel]} message options]} {
        set how [dict get $options -errorcode]
        if {[lindex $how 0] in {CHILDSTATUS CHILDKILLED}} {
            set ::reaped($pid) [lindex $how 2]
        }
    }
    return $::reaped($pid)
}

# Runs the server program until it ends of itself, with text on its standard input.
# -> dict: status, out, err. A program that goes on running fails the test.
proc run_server_to_end {arguments {input ""} {limit_ms 300000}} {
    set process [spawn_server $arguments "" $input]
    set ended [await_end $process $limit_ms]
    if {!$ended} {
        exec kill -KILL [dict get $process pid]
        await_end $process
    }
    set status [reap $process]
    set out [read_whole [dict get $process log]]
    set err [read_whole [dict get $process err]]
    if {!$ended} {
        fail "the server did not end; output: $out $err"
    }
    return [dict create status $status out $out err $err]
}

# --- configuration files -----------------------------------------------------------------------

# Lines for a list of name value pairs. An empty value is written as "".
proc config_lines {pairs} {
    set out ""
    foreach {name value} $pairs {
        # No expr here: it would turn 0777 into 511.
        if {$value eq ""} {
            set value "\"\""
        }
        append out $name " " $value "\n"
    }
    return $out
}

# The pairs of a server: our defaults, --config, then the test's own; a later one takes the place of
# earlier ones of its name, and a name that a test gives twice stands twice.
proc server_pairs {port folder overrides} {
    set own [dict create]
    foreach {name value} $overrides {
        dict set own $name 1
    }
    set pairs {}
    set defaults [list port $port bind 127.0.0.1 dir $folder save {} loglevel verbose]
    if {$::options(tls)} {
        set defaults [dict merge $defaults [tls_pairs $port] \
            {port 0 tls-replication yes tls-cluster yes tls-session-caching no}]
    }
    foreach {name value} [dict merge $defaults $::options(config)] {
        if {![dict exists $own $name]} {
            lappend pairs $name $value
        }
    }
    return [concat $pairs $overrides]
}

# --- one server --------------------------------------------------------------------------------

# Options: overrides {name value ...}, lines TEXT (appended to the file), args {words after the
# file}, crash 1 (a crash is expected), status N (expected exit status), unix 1 (a socket too).
# -> id
proc server_create {settings} {
    set settings [dict merge {overrides {} lines {} args {} crash 0 status 0 unix 0} $settings]
    for {set try 0} {$try < 5} {incr try} {
        set id [incr ::server_serial]
        set folder [tmpdir server]
        set overrides [dict get $settings overrides]
        if {[dict exists $overrides port]} {
            set port [dict get $overrides port]
        } elseif {[dict exists $overrides cluster-enabled]} {
            set port [find_node_port]
        } else {
            set port [find_free_port]
        }
        if {[dict get $settings unix]} {
            set ::server($id,socket) [socket_path $folder]
            lappend overrides unixsocket $::server($id,socket)
        }
        set file [file join $folder redis.conf]
        set lines [config_lines [server_pairs $port $folder $overrides]]
        write_whole $file $lines[dict get $settings lines]
        array set ::server [list $id,port $port $id,host 127.0.0.1 $id,folder $folder \
            $id,dir $folder \
            $id,config_file $file $id,settings $settings $id,client {} $id,starts 0]
        if {[server_launch $id]} {
            return $id
        }
        if {![string match "*ddress already in use*" [server_text $id]] \
                || [dict exists [dict get $settings overrides] port]} {
            break
        }
    }
    error "the server did not start:\n[server_text $id]"
}

# A short path, because the kernel takes 107 bytes.
proc socket_path {folder} {
    set path [file join $folder socket]
    if {[string length $path] > 100} {
        set path [file join /tmp evenkeel.[pid].[incr ::tmp_serial].sock]
    }
    return $path
}

# Again where another process has the port for a moment: a client's end of a connection, say.
proc server_launch_again {id} {
    for {set try 0} {$try < 20} {incr try} {
        if {[server_launch $id]} {
            return 1
        }
        set said [read_whole $::server($id,log)][read_whole $::server($id,err)]
        reap $::server($id,process)
        if {![string match "*ddress already in use*" $said]} {
            return 0
        }
        after 500
    }
    return 0
}

proc server_launch {id} {
    set arguments [list $::server($id,config_file) {*}[dict get $::server($id,settings) args]]
    set folder [file join $::server($id,folder) start[incr ::server($id,starts)]]
    file mkdir $folder
    set process [spawn_server $arguments $folder]
    set ::server($id,process) $process
    set ::server($id,pid) [dict get $process pid]
    set ::server($id,log) [dict get $process log]
    set ::server($id,err) [dict get $process err]
    return [server_await_ready $id]
}

# True once it answers PING with anything but -LOADING; false when it ended instead.
proc server_await_ready {id {limit_ms 300000}} {
    set until [expr {[clock milliseconds] + $limit_ms}]
    while {[process_alive $::server($id,pid)]} {
        if {$::server($id,port) == 0} {
            if {[string match "*Ready to accept*" [server_text $id]] \
                    || [string match "*ready to accept*" [server_text $id]]} {
                return 1
            }
        } elseif {![catch {client::connect $::server($id,host) $::server($id,port)} client]} {
            # Waits for the client's end, so that no test finds it in a list or a count.
            set failed [catch {
                $client write "PING\r\nQUIT\r\n"
                $client flush
                set answer [$client raw_line]
                $client raw_rest
                set answer
            } answer]
            $client close
            if {!$failed && ![string match "-LOADING*" $answer]} {
                return [process_alive $::server($id,pid)]
            }
        }
        if {[clock milliseconds] > $until} {
            error "the server does not answer:\n[server_text $id]"
        }
        after 10
    }
    return 0
}

# Log and standard error of all its starts.
proc server_text {id} {
    set text ""
    for {set n 1} {$n <= $::server($id,starts)} {incr n} {
        foreach name {stdout stderr} {
            set path [file join $::server($id,folder) start$n $name]
            if {[file exists $path]} {
                append text [read_whole $path]
            }
        }
    }
    return $text
}

proc server_log_tail {id count} {
    set lines [split [string trimright [server_text $id]] \n]
    return [join [lrange $lines end-[expr {$count - 1}] end] \n]
}

# The log from the first sign of a crash on, cut to a readable length.
proc crash_excerpt {text signs} {
    regexp -indices -- [join $signs |] $text place
    set begin [string last \n $text [lindex $place 0]]
    set lines {}
    foreach line [lrange [split [string range $text [expr {$begin + 1}] end] \n] 0 60] {
        lappend lines [string range $line 0 200]
    }
    return [join $lines \n]
}

# Ends the process, with SIGTERM first. -> exit status or signal name
proc server_end_process {id {signal TERM}} {
    if {$::server($id,client) ne ""} {
        catch {$::server($id,client) close}
        set ::server($id,client) {}
    }
    set process $::server($id,process)
    if {[process_alive $::server($id,pid)]} {
        catch {exec kill -CONT $::server($id,pid)}
        catch {exec kill -$signal $::server($id,pid)}
    }
    if {![await_end $process]} {
        report_failure "ending the server" "it did not end within 300 seconds of\
            SIG$signal\n[server_log_tail $id 20]"
        catch {exec kill -KILL $::server($id,pid)}
        await_end $process
        reap $process
        return killed
    }
    return [reap $process]
}

# Ends the server and books a failure where it crashed or ended badly.
proc server_destroy {id} {
    set status [server_end_process $id]
    set settings $::server($id,settings)
    set text [server_text $id]
    if {![dict get $settings crash]} {
        set found {}
        foreach sign $::crash_signs {
            if {[regexp -- $sign $text]} {
                lappend found $sign
            }
        }
        if {$found ne ""} {
            report_failure "the server's log" "shows [join $found {, }]\
                \n[crash_excerpt $text $found]"
        } elseif {$status ni [list [dict get $settings status] killed]} {
            report_failure "ending the server" "exit status $status, expected\
                [dict get $settings status]\n[server_log_tail $id 30]"
        }
    }
    if {[info exists ::server($id,socket)]} {
        file delete $::server($id,socket)
    }
    array unset ::server $id,*
}

# --- what tests call ---------------------------------------------------------------------------

# start_server {overrides {maxmemory 1mb} tags {slow}} { body }
proc start_server {settings body} {
    set tags [expr {[dict exists $settings tags] ? [dict get $settings tags] : {}}]
    if {[tags_denied [concat $::tags $tags]] ne ""} {
        skip_tests "its server's tags: $tags" $body
        return
    }
    if {[catch {server_create [dict remove $settings tags]} id]} {
        report_failure "start_server $settings" $id
        return
    }
    lappend ::servers $id
    set tags_before $::tags
    set ::tags [concat $::tags $tags]
    set code [catch {uplevel 1 $body} result options]
    set ::tags $tags_before
    set ::servers [lrange $::servers 0 end-1]
    server_destroy $id
    if {$code == 1 && [dict get $options -errorcode] ne "SERVER_GONE"} {
        report_failure "outside of a test" [dict get $options -errorinfo]
    }
}

# Ends and starts again with the same configuration and folder.
proc restart_server {{level 0} {signal TERM}} {
    set id [server_id $level]
    server_end_process $id $signal
    if {![server_launch_again $id]} {
        fail "the server did not start again:\n[server_log_tail $id 30]"
    }
}

proc server_id {level} {
    set id [lindex $::servers end+$level]
    if {$id eq ""} {
        error "no server at level $level"
    }
    return $id
}

# srv FIELD, srv LEVEL FIELD: pid port host dir folder config_file log err socket
proc srv {args} {
    set level 0
    if {[llength $args] == 2} {
        set args [lassign $args level]
    }
    return $::server([server_id $level],[lindex $args 0])
}

# Splits an optional level from the front of arguments.
proc take_level {variable} {
    upvar 1 $variable arguments
    if {[string is integer -strict [lindex $arguments 0]] && [lindex $arguments 0] <= 0} {
        set arguments [lassign $arguments level]
        return $level
    }
    return 0
}

# A fresh connection: nothing has been sent on it.
proc raw_client {args} {
    set level [take_level args]
    return [client::connect [srv $level host] [srv $level port] deferred]
}

# A client in database 9, in RESP3 with --resp3.
proc redis_client {args} {
    set level [take_level args]
    set client [client::connect [srv $level host] [srv $level port]]
    if {$::options(resp3)} {
        $client hello 3
    }
    set settings [dict get $::server([server_id $level],settings) overrides]
    if {!([dict exists $settings requirepass] || [dict exists $settings cluster-enabled])} {
        $client select 9
    }
    return $client
}

proc redis_deferring_client {args} {
    set client [redis_client {*}$args]
    $client deferred yes
    return $client
}

# A client over the unix socket: Tcl has none, so another program carries the bytes.
proc unix_client {path {mode blocking}} {
    set relay {
import os, select, socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
while True:
    for f in select.select([0, s], [], [])[0]:
        data = os.read(0, 65536) if f == 0 else s.recv(65536)
        if not data:
            sys.exit(0)
        s.sendall(data) if f == 0 else os.write(1, data)
}
    return [client::from_channel [open |[list python3 -c $relay $path 2>@stderr] r+] $mode]
}

# The client that `r` uses; made when first used.
proc server_client {level} {
    set id [server_id $level]
    if {$::server($id,client) eq ""} {
        set ::server($id,client) [redis_client $level]
    }
    return $::server($id,client)
}

# r COMMAND ..., r LEVEL COMMAND ...
proc r {args} {
    set level [take_level args]
    return [[server_client $level] {*}$args]
}

# Forgets `r`'s connection; the next use makes a new one.
proc reconnect {{level 0}} {
    set id [server_id $level]
    if {$::server($id,client) ne ""} {
        catch {$::server($id,client) close}
        set ::server($id,client) {}
    }
}

# How many lines the log has: the next one has this index.
proc count_log_lines {{level 0}} {
    return [expr {[llength [split [server_text [server_id $level]] \n]] - 1}]
}

# Waits for a line of the log, from line `from` on, that matches the glob pattern; returns it.
proc wait_for_log {pattern {from 0} {level 0}} {
    set until [expr {[clock milliseconds] + $::patience_ms}]
    while {[clock milliseconds] < $until} {
        foreach line [lrange [split [server_text [server_id $level]] \n] $from end] {
            if {[string match $pattern $line]} {
                return $line
            }
        }
        after 25
    }
    fail "no line of the log matches '$pattern'"
}
