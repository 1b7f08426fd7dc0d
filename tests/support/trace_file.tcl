# SPDX-License-Identifier: BSD-3-Clause
# Trace files made by hand (docs/traces.md, "The file"): blocks of any content with good checksums,
# for what a reader and the tools behind it do with figures that no recording has.

# CRC-64 (Jones), bit by bit in a table of 256.
for {set byte 0} {$byte < 256} {incr byte} {
    set sum $byte
    for {set bit 0} {$bit < 8} {incr bit} {
        set sum [expr {$sum & 1 ? ($sum >> 1) ^ 0x95ac9329ac4bc9b5 : $sum >> 1}]
    }
    lappend trace_sums $sum
}

proc trace_block {ordinal kind payload} {
    set framed $kind[binary format i [string length $payload]]$payload
    binary scan [binary format w $ordinal]$framed cu* bytes
    set sum 0
    foreach byte $bytes {
        set sum [expr {[lindex $::trace_sums [expr {($sum ^ $byte) & 255}]] ^ ($sum >> 8)}]
    }
    return $framed[binary format w $sum]
}

proc trace_number {number} {
    for {set bytes {}} {$number > 127} {set number [expr {$number >> 7}]} {
        lappend bytes [expr {$number & 127 | 128}]
    }
    return [binary format c* [lappend bytes $number]]
}

proc trace_signed {number} {
    return [trace_number [expr {$number < 0 ? -2 * $number - 1 : 2 * $number}]]
}

proc trace_value {size} { return [trace_number [expr {4 * $size}]] }

proc trace_word {text} { return [trace_number [expr {4 * [string length $text] + 1}]]$text }

# A key that took so many bytes and had so long to live; -1: it was not there; it had no deadline.
proc trace_key {key {bytes -1} {ttl_msec -1}} {
    set text [trace_number [expr {4 * [string length $key] + 2}]]$key
    append text [trace_number [expr {$bytes + 1}]]
    if {$bytes >= 0} { append text [trace_number [expr {$ttl_msec + 1}]] }
    return $text
}

# A block's record: id and time are differences from the second one on.
proc trace_record {id usec arguments {database 0}} {
    return [trace_number $id][trace_signed $usec][trace_number 1][trace_number [expr {
        2 * $database}]][trace_number [llength $arguments]][join $arguments {}]
}

# A whole file of one block of records. Each request is its time in microseconds and its arguments.
proc trace_file {requests {head "sample 1\n"} {end {}}} {
    set payload {}
    set before 0
    foreach request $requests {
        lassign $request usec arguments database
        append payload [trace_record 1 [expr {$usec - $before}] $arguments [expr {
            $database eq {} ? 0 : $database}]]
        set before $usec
    }
    if {$end eq {}} { set end "records [llength $requests]\n" }
    return "evktrace\1\0\0\0[trace_block 0 H $head][trace_block 1 R $payload][trace_block 2 E $end]"
}
