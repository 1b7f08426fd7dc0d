# SPDX-License-Identifier: BSD-3-Clause
# Small tools for tests: INFO fields, configuration for the length of a block, random data, files,
# processes.

# --- INFO --------------------------------------------------------------------------------------

# The value of a field in a text of INFO; "" where it is not.
proc info_property {text field} {
    if {[regexp -line "^[string map {. \\. | \\|} $field]:(.*?)\r?$" $text -> value]} {
        return $value
    }
    return ""
}

# s field, or s -1 field: of the server at that level.
proc s {args} {
    set level 0
    if {[llength $args] == 2} {
        set args [lassign $args level]
    }
    return [info_property [r $level info] [lindex $args 0]]
}

# Sections of an INFO text -> dict of section name to list of field names, in order.
proc info_layout {text} {
    set layout {}
    set section ""
    foreach line [split $text \n] {
        set line [string trimright $line \r]
        if {[regexp {^# (.+)$} $line -> section]} {
            dict set layout $section {}
        } elseif {[regexp {^([^:]+):} $line -> field]} {
            dict lappend layout $section $field
        }
    }
    return $layout
}

# Calls of a command so far, as INFO commandstats counts them; field: calls, rejected_calls ...
proc command_stat {name {field calls}} {
    set line [info_property [r info commandstats] cmdstat_$name]
    if {[regexp "(?:^|,)$field=(\[0-9.\]+)" $line -> value]} {
        return $value
    }
    return 0
}

# Errors of a code so far, as INFO errorstats counts them.
proc error_stat {code} {
    if {[regexp {count=(\d+)} [info_property [r info errorstats] errorstat_$code] -> count]} {
        return $count
    }
    return 0
}

# Waits until `r` is the server's only client: closed connections may be there for a moment.
proc await_alone {} {
    wait_for_condition 200 10 {[s connected_clients] == 1} else {
        fail "others are still connected: [r client list]"
    }
}

# Waits until the server closes an idle client. `r` must not be idle meanwhile; if the test was kept
# from using it, it becomes a new connection.
proc await_idle_closed {client} {
    set until [expr {[clock milliseconds] + $::patience_ms}]
    while {![$client readable 50]} {
        if {[catch {r ping}]} {
            reconnect
        }
        assert_lessthan [clock milliseconds] $until "(the idle client stays)"
    }
    assert_equal 1 [$client closed]
    $client close
}

# --- configuration -----------------------------------------------------------------------------

proc config_get {name} {
    return [lindex [r config get $name] 1]
}

proc config_set {name value} {
    return [r config set $name $value]
}

# Runs the body with options set, and puts the old values back whatever happens.
#   with_config {maxmemory 1mb hz 100} { ... }
proc with_config {settings body} {
    set before {}
    dict for {name value} $settings {
        dict set before $name [config_get $name]
        config_set $name $value
    }
    set code [catch {uplevel 1 $body} result options]
    dict for {name value} $before {
        # The options that were set (timeout, maxclients) may have closed the connection: then uses
        # a new one.
        if {[catch {config_set $name $value}]} {
            catch {
                reconnect
                config_set $name $value
            }
        }
    }
    return -options $options -code $code $result
}

# --- random data -------------------------------------------------------------------------------
# rand() is seeded a file from --seed, so that a run can be repeated.

proc random_int {limit} {
    return [expr {int(rand() * $limit)}]
}

proc random_pick {list} {
    return [lindex $list [random_int [llength $list]]]
}

# kind: alpha (letters and digits), binary (any byte), compressible (a few letters)
proc random_string {low high {kind alpha}} {
    set length [expr {$low + [random_int [expr {$high - $low + 1}]]}]
    set out ""
    while {[string length $out] < $length} {
        switch -- $kind {
            binary { append out [format %c [random_int 256]] }
            compressible { append out [random_pick {a a a a b b c}] }
            default {
                append out [string index \
                    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789" \
                    [random_int 62]]
            }
        }
    }
    return $out
}

# `few` unless --accurate was given.
proc accurate {few many} {
    return [expr {$::options(accurate) ? $many : $few}]
}

# Sets `count` keys in one pipeline.
proc populate {count {prefix key:} {size 3}} {
    set client [redis_deferring_client]
    set value [string repeat v $size]
    for {set i 0} {$i < $count} {incr i} {
        $client set $prefix$i $value
        if {$i % 1000 == 999} {
            for {set j 0} {$j < 1000} {incr j} {
                $client read
            }
        }
    }
    for {set j 0} {$j < $count % 1000} {incr j} {
        $client read
    }
    $client close
}

# --- files -------------------------------------------------------------------------------------

# A path for a new file in the scratch folder.
proc tmpfile {{name file}} {
    return [file join $::options(scratch) [incr ::tmp_serial].$name]
}

proc tmpdir {{name folder}} {
    set path [tmpfile $name]
    file mkdir $path
    return $path
}

proc read_whole {path} {
    set f [open $path rb]
    set bytes [read $f]
    close $f
    return $bytes
}

proc write_whole {path bytes} {
    set f [open $path wb]
    puts -nonewline $f $bytes
    close $f
}

# Whether this host has ::1.
proc has_ipv6 {} {
    expr {[file exists /proc/net/if_inet6] \
        && [regexp {0{31}1 } [read_whole /proc/net/if_inet6]]}
}

# --- processes ---------------------------------------------------------------------------------

# True while a process runs; one that ended and was not waited for does not.
proc process_alive {pid} {
    if {[catch {read_whole /proc/$pid/stat} stat]} {
        return 0
    }
    return [expr {[lindex [string range $stat [string last ) $stat]+1 end] 0] ni {Z X}}]
}

# The processes that it has started; those that have not been reaped yet count.
proc children_of {pid} {
    set children {}
    foreach path [glob -nocomplain /proc/\[0-9\]*/stat] {
        if {[catch {read_whole $path} text]} continue
        # "pid (name) state parent ...", and the name may hold anything.
        if {[lindex [string range $text [expr {[string last ) $text] + 1}] end] 1] == $pid} {
            lappend children [lindex [file split $path] 2]
        }
    }
    return $children
}

# Runs a program to its end. -> dict of status (exit status, or the name of the signal that ended
# it), out and err, both exact bytes. Words: as exec takes them, without redirections; input: bytes
# given on its standard input.
proc run_program {words {input ""}} {
    set out [tmpfile out]
    set err [tmpfile err]
    set status 0
    if {[catch {exec {*}$words << $input > $out 2> $err} message options]} {
        set how [dict get $options -errorcode]
        switch -- [lindex $how 0] {
            CHILDSTATUS - CHILDKILLED { set status [lindex $how 2] }
            default { error $message }
        }
    }
    set result [dict create status $status out [read_whole $out] err [read_whole $err]]
    file delete $out $err
    return $result
}

# --- bytes over the wire -----------------------------------------------------------------------

# Sends bytes on a fresh connection and returns all that comes until the server closes. The server
# may close before it took them all.
proc exchange {bytes} {
    set client [raw_client]
    catch {
        $client write $bytes
        $client flush
    }
    set code [catch {$client raw_rest} result options]
    $client close
    return -options $options -code $code $result
}

# Sends bytes on a fresh connection and returns the exact bytes of the next `count` replies. The
# connection must still be alive after them.
proc converse {bytes count} {
    set client [raw_client]
    $client write $bytes
    $client flush
    set out ""
    set code [catch {
        for {set i 0} {$i < $count} {incr i} {
            append out [$client raw_reply]
        }
        $client write "*2\r\n\$4\r\nECHO\r\n\$6\r\nalive?\r\n"
        $client flush
        assert_equal "\$6\r\nalive?\r\n" [$client raw_reply] "(still in step)"
        set out
    } result options]
    $client close
    return -options $options -code $code $result
}

# The next `count` replies of a deferring client, as a list.
proc client_replies {client count} {
    set replies {}
    for {set i 0} {$i < $count} {incr i} {
        lappend replies [$client read]
    }
    return $replies
}

# --- conversations -----------------------------------------------------------------------------

# A typed reply in a short notation: :1 +OK -ERR..., nil, nil*, "text", * of arrays, ~ of sets, % of
# maps: {* "a" :1}.
proc reply_notation {reply} {
    lassign $reply type value
    switch -exact -- $type {
        status { return +$value }
        error { return -$value }
        integer { return :$value }
        double { return ,$value }
        nullbulk { return nil }
        null { return null }
        nullarray { return nil* }
        bulk { return \"$value\" }
    }
    set marks {array * set ~ map % push >}
    set shown [list [dict get $marks $type]]
    foreach element $value {
        lappend shown [reply_notation $element]
    }
    return $shown
}

# Each line of `text` is a command, a tab or two blanks, and its reply in the notation above; empty
# lines and those that begin with # are passed over. One connection runs them in order; it speaks
# the protocol given, or that of all clients.
proc assert_conversation {text {protocol ""}} {
    set client [redis_deferring_client]
    if {$protocol ne ""} {
        $client hello $protocol
        $client read
    }
    foreach line [split $text \n] {
        set line [string trim $line]
        if {$line eq "" || [string index $line 0] eq "#"} {
            continue
        }
        if {![regexp {^(.*?)  +(.*)$} $line -> command expected]} {
            error "no reply in: $line"
        }
        $client {*}$command
        set got [reply_notation [$client read_typed]]
        assert_equal $expected $got $command
    }
    $client close
}

# Waits until the unread bytes from a client in the server's socket are as `pattern` says.
proc await_unread {client pattern reason} {
    set port [lindex [fconfigure [$client channel] -sockname] 2]
    set form [format {: \w+:%04X \w+:%04X 01 \w+:} [srv port] $port]$pattern
    wait_for_condition 1000 1 {[regexp $form [read_whole /proc/net/tcp]]} else {
        fail $reason
    }
}

# Waits until the server has read all that a client of its port has sent. What it read it runs in
# the same turn of its loop; a signal that comes later finds the command running.
proc await_read {client} {
    await_unread $client {0{8} } "the server does not read"
}

# Waits until a stopped server has something to read from a client of its port.
proc await_arrival {client} {
    await_unread $client {(?!0{8})\w{8} } "nothing came to the server"
}

# Whether our own server is tested.
proc is_ours {} {
    return [expr {"ours" ni $::options(deny)}]
}

# Stops a process (SIGSTOP) and waits until it stands still.
proc pause_process {pid} {
    exec kill -STOP $pid
    wait_for_condition 1000 10 {[regexp {\) T } [read_whole /proc/$pid/stat]]} else {
        fail "process $pid does not stop"
    }
}
