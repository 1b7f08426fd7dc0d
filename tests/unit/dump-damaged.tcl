# SPDX-License-Identifier: BSD-3-Clause
# RESTORE of values that are damaged in a way of their own each, under a good checksum: all are
# refused, whatever sanitize-dump-payload says, with a reason in the log, and nothing is left; but
# for a wrong length behind the last element of a stream's node, which is put right.

# A ziplist of short texts. What is damaged is given by name: the header's fields, or the bytes of
# the entry with that number.
proc ziplist {texts {damage {}}} {
    set body {}
    set before 0
    set number 0
    set tail 10
    foreach text $texts {
        set entry [binary format cca* $before [string length $text] $text]
        if {[dict exists $damage entry$number]} {
            set entry [binary decode hex [dict get $damage entry$number]]
        }
        set tail [expr {10 + [string length $body]}]
        append body $entry
        set before [string length $entry]
        incr number
    }
    set fields [dict merge [dict create bytes [expr {11 + [string length $body]}] tail $tail \
        count [llength $texts] end ff] $damage]
    return [binary format iisa*H* [dict get $fields bytes] [dict get $fields tail] \
        [dict get $fields count] $body [dict get $fields end]]
}

# A text as a file has it: its length in 14 bits, its bytes.
proc saved {text} {
    return [binary format Sa* [expr {0x4000 | [string length $text]}] $text]
}

# A listpack of elements that are given by their bytes, without the length behind each.
proc listpack {elements {damage {}}} {
    set body {}
    set number 0
    foreach element $elements {
        set bytes [binary decode hex $element]
        set back [format %02x [string length $bytes]]
        if {[dict exists $damage back$number]} {
            set back [dict get $damage back$number]
        }
        append body $bytes [binary decode hex $back]
        incr number
    }
    set fields [dict merge [dict create bytes [expr {7 + [string length $body]}] \
        count [llength $elements] end ff] $damage]
    return [binary format isa*H* [dict get $fields bytes] [dict get $fields count] $body \
        [dict get $fields end]]
}

# A stream of one node with two entries of one field: 81 66 is the text f, 81 76 the text v.
# `changes`: numbers of elements and what stands there instead; `length` of entries is told.
proc stream {{changes {}} {damage {}} {length 02}} {
    set elements {02 00 01 8166 00  02 00 00 8176 04  02 00 01 8176 04}
    foreach {number element} $changes {
        lset elements $number $element
    }
    set node [listpack [lsearch -all -inline -not $elements gone] $damage]
    return [binary format H*H*a*H* 01 1000000000000000050000000000000000 [saved $node] \
        ${length}050100]
}

proc cases {} {
    set list {a bb ccc}
    set pairs {f 1 g 2}
    set huge 8c7fffffff
    return [list \
        "an entry longer than the ziplist" [list 0e01 [saved [ziplist $list {entry2 04146363}]]] \
        "an entry of 4 GiB" [list 0e01 [saved [ziplist $list {entry1 0380ffffffff6262}]]] \
        "a text of a negative length" [list 0e01 [saved [ziplist $list {entry1 03807fffffff62}]]] \
        "an entry of an unknown form" [list 0e01 [saved [ziplist $list {entry1 03c5ffff}]]] \
        "an end within" [list 0e01 [saved [ziplist $list {entry1 ff026262}]]] \
        "a previous length too large" [list 0e01 [saved [ziplist $list {entry2 f003636363}]]] \
        "a previous length too small" [list 0e01 [saved [ziplist $list {entry2 0103636363}]]] \
        "a long form of a previous length, too large" \
            [list 0e01 [saved [ziplist $list {entry2 fe0000010003636363}]]] \
        "a previous length before the first" [list 0e01 [saved [ziplist $list {entry0 030161}]]] \
        "too many entries told" [list 0e01 [saved [ziplist $list {count 5}]]] \
        "too few entries told" [list 0e01 [saved [ziplist $list {count 2}]]] \
        "a tail at the header" [list 0e01 [saved [ziplist $list {tail 0}]]] \
        "a tail behind the end" [list 0e01 [saved [ziplist $list {tail 4096}]]] \
        "a tail within an entry" [list 0e01 [saved [ziplist $list {tail 12}]]] \
        "a tail that is not the last" [list 0e01 [saved [ziplist $list {tail 13}]]] \
        "more bytes told" [list 0e01 [saved [ziplist $list {bytes 90}]]] \
        "fewer bytes told" [list 0e01 [saved [ziplist $list {bytes 12}]]] \
        "no end" [list 0e01 [saved [ziplist $list {end 00}]]] \
        "bytes behind the end" [list 0e01 [saved [ziplist $list {end ffff}]]] \
        "a hash: an entry longer than all" [list 0d [saved [ziplist $pairs {entry3 03148888}]]] \
        "a hash: a field twice" [list 0d [saved [ziplist {f 1 f 2}]]] \
        "a hash: a field without a value" [list 0d [saved [ziplist {f 1 g}]]] \
        "a zipmap of nothing" [list 09 [saved [binary decode hex 00ff]]] \
        "a hash: nothing" [list 0d [saved [ziplist {}]]] \
        "a sorted set: a member twice" [list 0c [saved [ziplist {m 1 m 2}]]] \
        "a sorted set: no score" [list 0c [saved [ziplist {m 1 n}]]] \
        "a sorted set: a score of letters" [list 0c [saved [ziplist {m x}]]] \
        "a stream: more bytes told" [list 0f [stream {} {bytes 90}]] \
        "a stream: fewer bytes told" [list 0f [stream {} {bytes 12}]] \
        "a stream: too many elements told" [list 0f [stream {} {count 40}]] \
        "a stream: no end" [list 0f [stream {} {end 00}]] \
        "a stream: an element longer than all" [list 0f [stream {3 bf66}]] \
        "a stream: an element of 4 GiB" [list 0f [stream {3 f0ffffffff66}]] \
        "a stream: a length behind an element too large" [list 0f [stream {} {back3 60}]] \
        "a stream: a length behind of no end" [list 0f [stream {} {back3 ffffffffff}]] \
        "a stream: a node of nothing" [list 0f [stream [string cat {0 gone 1 gone 2 gone 3 gone } \
            {4 gone 5 gone 6 gone 7 gone 8 gone 9 gone 10 gone 11 gone 12 gone 13 gone 14 gone}]]] \
        "a stream: a count of letters" [list 0f [stream {0 8161}]] \
        "a stream: more entries counted" [list 0f [stream {0 03}]] \
        "a stream: fewer deleted than marked" [list 0f [stream {5 03}]] \
        "a stream: more fields than there are" [list 0f [stream {2 40}]] \
        "a stream: fields without number" [list 0f [stream {2 f4ffffffffffffff7f}]] \
        "a stream: fewer than no fields" [list 0f [stream {2 dfff}]] \
        "a stream: a time of letters" [list 0f [stream {6 8161}]] \
        "a stream: an entry of too few elements" [list 0f [stream {9 02}]] \
        "a stream: an entry of too many elements" [list 0f [stream {9 20}]] \
        "a stream: entries without fields" [list 0f [stream [string cat {2 00 3 gone 8 gone 9 03 } \
            {13 gone 14 03}]]] \
        "a stream: an entry of no elements" [list 0f [stream {9 00}]] \
        "a stream: an entry that is cut off" [list 0f [stream {13 gone 14 gone}]] \
        "a stream: IDs that fall" [list 0f [stream {12 dfff}]] \
        "a stream: other entries told" [list 0f [stream {} {} 07]]]
}

start_server {overrides {loglevel verbose}} {
    r debug set-skip-checksum-validation 1

    test {RESTORE takes what is sound} {
        foreach {form value type} [list \
            0e01 [saved [ziplist {a bb ccc}]] list 0d [saved [ziplist {f 1 g 2}]] hash \
            0c [saved [ziplist {m 1 n 2}]] zset 0f [stream] stream] {
            r restore key 0 [binary decode hex $form]$value[binary format H* 09000000000000000000] \
                replace
            assert_equal $type [r type key]
        }
        assert_equal {{5-0 {f v}} {5-1 {f v}}} [r xrange key - +]
        # A stream whose entries are all deleted, and one that never had any.
        r restore key 0 [binary decode hex 0f][stream {0 00 1 02 5 03 10 03} {} 00][
            binary format H* 09000000000000000000] replace
        assert_equal 0 [r xlen key]
        r xadd key 6-1 f v
        assert_equal {{6-1 {f v}}} [r xrange key - +]
        r del key
    }

    # Only who reads backwards would look at it.
    test {RESTORE puts the length behind the last element of a stream's node right} {
        foreach back {00 01 23 7f 80 ff} {
            r restore key 0 [binary decode hex 0f][stream {} [list back14 $back]][
                binary format H* 09000000000000000000]
            assert_equal {{5-0 {f v}} {5-1 {f v}}} [r xrange key - +] $back
            assert_equal {{5-1 {f v}} {5-0 {f v}}} [r xrevrange key + -] $back
            r xdel key 5-1
            r xadd key 6-1 f w
            assert_equal {{6-1 {f w}} {5-0 {f v}}} [r xrevrange key + -] $back
            r del key
        }
    } {} ours

    foreach option {yes no} {
        test "RESTORE refuses what is damaged: sanitize-dump-payload $option" {
            r config set sanitize-dump-payload $option
            foreach {name parts} [cases] {
                lassign $parts form value
                set from [count_log_lines]
                set payload [binary decode hex $form]$value[binary format H* 09000000000000000000]
                assert_error_text {ERR Bad data format} {r restore key 0 $payload} $name
                assert_equal 0 [r exists key] $name
                wait_for_log {*RESTORE: integrity check failed: ?*} $from
            }
            assert_equal PONG [r ping]
        } undefined ours
    }
}
