# SPDX-License-Identifier: BSD-3-Clause
# A client of RESP2 and RESP3 for tests.
#
# A client is a command: `set c [client::connect 127.0.0.1 6379]`, then `$c get x`. In blocking mode
# (the default) a command is sent and its reply is the result, an error reply a Tcl error with the
# text after the minus. A deferring client only sends; `$c read` takes the next reply. Every wait
# has a limit (client::timeout_ms), so that a server that does not answer fails a test instead of
# hanging it.
#
# Words that are not sent as commands:
#   read               next reply, as a Tcl value (errors thrown)
#   read_typed         next reply as {type value}, nested; an error is {error text}
#   raw_reply          the exact bytes of the next reply, of any depth
#   raw_read COUNT     exactly COUNT bytes
#   raw_line           one line without its \r\n
#   raw_rest           all bytes until the server closes the connection
#   write BYTES        sends bytes as they are; what the kernel does not take follows later
#   flush              waits until everything written is with the kernel
#   deferred YES|NO    switches the mode
#   pushes             push messages that came before replies so far, and forgets them
#   attributes         the last reply's attributes
#   closed             waits for the server to close; 1 if it did so without another byte
#   readable ?MS?      1 if a byte (or the end) comes within that time (0: now)
#   channel            Tcl's channel
#   pending            bytes written that the kernel has not taken yet
#   local_port         our port
#   close              closes; the command is gone
#
# Types map to Tcl so: null "", boolean 0 or 1, map and attribute a dict (flat list), set and push a
# list, double, big number and verbatim their text. In RESP2 the null array is "" too; read_typed
# tells.
#
# Invariants: 1. the channel is binary and never blocks; 2. a client that saw an end of file or a
# timeout in the middle of a reply is not usable again (the caller closes it).

namespace eval client {
    variable timeout_ms 300000
    variable serial 0
    variable state        ;# array: $id,field
    variable wake 0
}

# Bytes of a command as a multibulk request.
proc client::encode {words} {
    set out "*[llength $words]\r\n"
    foreach word $words {
        # Binary data stands in Tcl strings as characters up to 255: those are bytes already.
        if {[regexp {[^\u0000-\u00ff]} $word]} {
            set word [encoding convertto utf-8 $word]
        }
        append out "\$[string length $word]\r\n$word\r\n"
    }
    return $out
}

proc client::connect {host port {mode blocking}} {
    if {$::options(tls)} {
        return [tls_client $host $port {} $mode]
    }
    return [from_channel [socket $host $port] $mode]
}

# Makes a client of any open two-way channel.
proc client::from_channel {channel {mode blocking}} {
    variable serial
    variable state
    set id [incr serial]
    fconfigure $channel -translation binary -blocking 0 -buffering full -buffersize 65536
    set state($id,channel) $channel
    set state($id,deferred) [expr {$mode eq "deferred"}]
    set state($id,pushes) {}
    set state($id,attributes) {}
    set name ::client::handle$id
    interp alias {} $name {} ::client::call $id
    return $name
}

proc client::call {id word args} {
    variable state
    if {![info exists state($id,channel)]} {
        error "client is closed"
    }
    if {[info procs ::client::do_$word] ne ""} {
        return [do_$word $id {*}$args]
    }
    puts -nonewline $state($id,channel) [encode [list $word {*}$args]]
    flush $state($id,channel)
    if {!$state($id,deferred)} {
        return [do_read $id]
    }
}

# Waits for the next readable event. Throws after the time limit.
proc client::wait_readable {id {limit_ms ""}} {
    variable state
    variable timeout_ms
    variable wake
    if {$limit_ms eq ""} {
        set limit_ms $timeout_ms
    }
    set channel $state($id,channel)
    set timer [after $limit_ms {set ::client::wake timeout}]
    fileevent $channel readable {set ::client::wake readable}
    vwait ::client::wake
    fileevent $channel readable {}
    after cancel $timer
    return [expr {$wake eq "readable"}]
}

proc client::need_more {id what} {
    variable state
    if {[eof $state($id,channel)]} {
        return -code error -errorcode {CLIENT EOF} "I/O error reading reply: connection closed"
    }
    if {![wait_readable $id]} {
        return -code error -errorcode {CLIENT TIMEOUT} "timeout waiting for $what"
    }
}

proc client::read_line {id} {
    variable state
    set channel $state($id,channel)
    while {[set length [gets $channel line]] < 0} {
        need_more $id "a line"
    }
    # A last line without its newline is an end of file in the middle.
    if {[eof $channel] || [string index $line end] ne "\r"} {
        if {[eof $channel]} {
            need_more $id "a line"
        }
        error "protocol: line without \\r\\n: [string range $line 0 100]"
    }
    return [string range $line 0 end-1]
}

proc client::read_exactly {id count} {
    variable state
    set channel $state($id,channel)
    set parts {}
    while {$count > 0} {
        set part [read $channel $count]
        if {$part eq ""} {
            need_more $id "$count bytes"
            continue
        }
        incr count -[string length $part]
        lappend parts $part
    }
    return [join $parts ""]
}

# The counted string that a header line announces: `length` bytes and \r\n.
proc client::read_counted {id length} {
    set bytes [read_exactly $id [expr {$length + 2}]]
    if {[string range $bytes end-1 end] ne "\r\n"} {
        error "protocol: bulk of $length bytes not followed by \\r\\n"
    }
    return [string range $bytes 0 end-2]
}

proc client::read_values {id count reader} {
    set values {}
    for {set i 0} {$i < $count} {incr i} {
        lappend values [$reader $id]
    }
    return $values
}

# -> {type value}; values of aggregates are lists of {type value}.
proc client::typed {id} {
    variable state
    set line [read_line $id]
    set rest [string range $line 1 end]
    switch -exact -- [string index $line 0] {
        + { return [list status $rest] }
        - { return [list error $rest] }
        : { return [list integer $rest] }
        , { return [list double $rest] }
        ( { return [list bignumber $rest] }
        _ { return {null {}} }
        # { return [list boolean [expr {$rest eq "t"}]] }
        $ {
            if {$rest < 0} {
                return {nullbulk {}}
            }
            return [list bulk [read_counted $id $rest]]
        }
        = {
            return [list verbatim [string range [read_counted $id $rest] 4 end]]
        }
        * {
            if {$rest < 0} {
                return {nullarray {}}
            }
            return [list array [read_values $id $rest typed]]
        }
        ~ { return [list set [read_values $id $rest typed]] }
        > { return [list push [read_values $id $rest typed]] }
        % { return [list map [read_values $id [expr {2 * $rest}] typed]] }
        | {
            set state($id,attributes) [plain [list map [read_values $id [expr {2 * $rest}] typed]]]
            return [typed $id]
        }
    }
    error "protocol: unknown reply line: [string range $line 0 100]"
}

# A typed reply as a plain Tcl value. Errors inside aggregates become their text.
proc client::plain {reply} {
    lassign $reply type value
    if {$type ni {array set push map}} {
        return $value
    }
    set values {}
    foreach element $value {
        lappend values [plain $element]
    }
    return $values
}

proc client::do_read_typed {id} {
    variable state
    set state($id,attributes) {}
    return [typed $id]
}

proc client::do_read {id} {
    variable state
    set state($id,attributes) {}
    while 1 {
        set reply [typed $id]
        if {[lindex $reply 0] ne "push" || $state($id,deferred)} {
            break
        }
        lappend state($id,pushes) [plain $reply]
    }
    if {[lindex $reply 0] eq "error"} {
        return -code error -errorcode REPLY [lindex $reply 1]
    }
    return [plain $reply]
}

proc client::do_raw_reply {id} {
    set line [read_line $id]
    set out "$line\r\n"
    set rest [string range $line 1 end]
    switch -exact -- [string index $line 0] {
        $ - = {
            if {$rest >= 0} {
                append out [read_counted $id $rest] "\r\n"
            }
        }
        * - ~ - > {
            append out [join [read_values $id $rest do_raw_reply] ""]
        }
        % {
            append out [join [read_values $id [expr {2 * $rest}] do_raw_reply] ""]
        }
        | {
            append out [join [read_values $id [expr {2 * $rest + 1}] do_raw_reply] ""]
        }
    }
    return $out
}

proc client::do_raw_read {id count} {
    return [read_exactly $id $count]
}

proc client::do_raw_line {id} {
    return [read_line $id]
}

# A connection reset counts as an end: what came before it is returned.
proc client::do_raw_rest {id} {
    variable state
    set channel $state($id,channel)
    set out ""
    while 1 {
        if {[catch {read $channel} part]} {
            return $out
        }
        append out $part
        if {[eof $channel]} {
            return $out
        }
        if {![wait_readable $id]} {
            return -code error -errorcode {CLIENT TIMEOUT} \
                "timeout waiting for the server to close; got: [string range $out 0 200]"
        }
    }
}

proc client::do_write {id bytes} {
    variable state
    puts -nonewline $state($id,channel) $bytes
    flush $state($id,channel)
}

proc client::do_flush {id} {
    variable state
    variable timeout_ms
    set channel $state($id,channel)
    flush $channel
    set until [expr {[clock milliseconds] + $timeout_ms}]
    while {[chan pending output $channel] > 0} {
        if {[clock milliseconds] > $until} {
            return -code error -errorcode {CLIENT TIMEOUT} "timeout writing"
        }
        after 1 {set ::client::wake later}
        vwait ::client::wake
    }
}

proc client::do_deferred {id on} {
    variable state
    set state($id,deferred) [expr {$on ? 1 : 0}]
}

proc client::do_pushes {id} {
    variable state
    set pushes $state($id,pushes)
    set state($id,pushes) {}
    return $pushes
}

proc client::do_attributes {id} {
    variable state
    return $state($id,attributes)
}

proc client::do_closed {id} {
    return [expr {[do_raw_rest $id] eq ""}]
}

proc client::do_readable {id {limit_ms 0}} {
    variable state
    set channel $state($id,channel)
    if {[chan pending input $channel] > 0} {
        return 1
    }
    return [wait_readable $id $limit_ms]
}

proc client::do_pending {id} {
    variable state
    return [chan pending output $state($id,channel)]
}

proc client::do_channel {id} {
    variable state
    return $state($id,channel)
}

proc client::do_local_port {id} {
    variable state
    return [lindex [fconfigure $state($id,channel) -sockname] 2]
}

# Bytes that the kernel has not taken yet are still written, in the background, before the
# connection ends; a test that wants a sudden end flushes first.
proc client::do_close {id} {
    variable state
    set channel $state($id,channel)
    catch {fileevent $channel readable {}}
    catch {close $channel}
    array unset state $id,*
    interp alias {} ::client::handle$id {}
}
