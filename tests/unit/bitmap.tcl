# SPDX-License-Identifier: BSD-3-Clause
# Commands on the bits of strings: GETBIT, SETBIT, BITCOUNT, BITPOS, BITOP, BITFIELD, BITFIELD_RO.
#
# The models here are strings of the digits 0 and 1.

set wrong_type {WRONGTYPE Operation against a key holding the wrong kind of value}
set no_integer {ERR value is not an integer or out of range}
set no_offset {ERR bit offset is not an integer or out of range}
set no_type {ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported\
             but i64 is.}

# The digits of a string, and the string that has these digits.
proc digits_of {bytes} {
    binary scan $bytes B* digits
    return $digits
}

proc bytes_of {digits} {
    return [binary format B* $digits]
}

# Bytes in which both long runs and single bits occur.
proc random_bits {high} {
    set out ""
    set length [random_int [expr {$high + 1}]]
    while {[string length $out] < $length} {
        set byte [random_pick [list \0 \xff \x01 \x7f [random_string 1 1 binary]]]
        append out [string repeat $byte [expr {1 + [random_int 10]}]]
    }
    return [string range $out 0 $length-1]
}

# first..last as GETRANGE takes them, as a list of two indexes; {} where nothing is left.
proc clamp {length first last} {
    foreach name {first last} {
        if {[set $name] < 0} {
            set $name [expr {max(0, [set $name] + $length)}]
        }
    }
    set last [expr {min($last, $length - 1)}]
    return [expr {$first > $last ? {} : [list $first $last]}]
}

# The value of a field: width bits from an offset on, 0 behind the end.
proc field_of {digits type offset} {
    set width [string range $type 1 end]
    set piece [string range $digits $offset [expr {$offset + $width - 1}]]
    append piece [string repeat 0 [expr {$width - [string length $piece]}]]
    set value 0
    foreach digit [split $piece ""] {
        set value [expr {$value * 2 + $digit}]
    }
    if {[string match i* $type] && [string match 1* $piece]} {
        set value [expr {$value - (1 << $width)}]
    }
    return $value
}

# What a field of the type holds of a value: {} where it must fail.
proc fit_value {value type overflow} {
    set width [string range $type 1 end]
    set low [expr {[string match i* $type] ? -(1 << ($width - 1)) : 0}]
    set high [expr {$low + (1 << $width) - 1}]
    if {$value >= $low && $value <= $high} {
        return $value
    }
    switch -- $overflow {
        fail { return {} }
        sat { return [expr {$value < $low ? $low : $high}] }
    }
    return [expr {($value - $low) % (1 << $width) + $low}]
}

proc digits_with_field {digits type offset value} {
    set width [string range $type 1 end]
    set piece ""
    for {set bit [expr {$width - 1}]} {$bit >= 0} {incr bit -1} {
        append piece [expr {($value >> $bit) & 1}]
    }
    return [string replace $digits $offset [expr {$offset + $width - 1}] $piece]
}

start_server {} {
    test {SETBIT and GETBIT: the highest bit of a byte is its first} {
        r del k
        assert_equal 0 [r setbit k 7 1]
        assert_equal "\x01" [r get k]
        assert_equal 1 [r setbit k 7 0]
        assert_equal 0 [r setbit k 0 1]
        assert_equal "\x80" [r get k]
        assert_equal 0 [r setbit k 17 0]
        assert_equal "\x80\0\0" [r get k]
        assert_equal 1 [r getbit k 0]
        assert_equal 0 [r getbit k 1]
        assert_equal 0 [r getbit k 1000000]
        assert_equal 0 [r getbit nokey 0]
        r exists nokey
    } {0}

    test {SETBIT on a number makes it raw, also where the bit does not change} {
        r set k 1
        assert_equal 1 [r getbit k 3]
        assert_encoding int k
        assert_equal 1 [r setbit k 3 1]
        assert_encoding raw k
        assert_equal 1 [r get k]
        assert_equal 0 [r setbit k 6 1]
        r get k
    } {3}

    test {SETBIT keeps the time to live} {
        r set k a ex 1000
        foreach offset {6 100 5000 20000 1000000} {
            r setbit k $offset 1
            assert_range [r ttl k] 900 1000
        }
        r strlen k
    } {125001}

    test {SETBIT at the end of what a string may be} {
        r del k
        assert_equal 0 [r setbit k 4294967295 1]
        assert_equal 536870912 [r strlen k]
        assert_equal 1 [r getbit k 4294967295]
        assert_equal 0 [r getbit k 4294967294]
        assert_equal "\0\x01" [r getrange k -2 -1]
        r del k
    } {1}

    test {Random SETBIT and GETBIT against a model} {
        r del k
        set digits ""
        for {set i 0} {$i < [accurate 3000 20000]} {incr i} {
            set offset [random_int [random_pick {100 12000}]]
            if {[string length $digits] <= $offset} {
                set missing [expr {($offset / 8 + 1) * 8 - [string length $digits]}]
                append digits [string repeat 0 $missing]
            }
            set bit [random_int 2]
            set old [string index $digits $offset]
            assert_equal $old [r getbit k $offset]
            assert_equal $old [r setbit k $offset $bit]
            set digits [string replace $digits $offset $offset $bit]
        }
        assert {[digits_of [r get k]] eq $digits}
    }

    test {SETBIT's and GETBIT's errors change nothing} {
        r set k v
        foreach offset {-1 x 01 {} #1 4294967296 9223372036854775807 9223372036854775808} {
            assert_error_text $no_offset {r getbit k $offset}
            assert_error_text $no_offset {r setbit k $offset 1}
            assert_error_text $no_offset {r setbit k $offset x}
        }
        foreach bit {2 -1 x {} 01} {
            assert_error_text {ERR bit is not an integer or out of range} {r setbit k 0 $bit}
        }
        assert_error_text {ERR wrong number of arguments for 'setbit' command} {r setbit k 0}
        assert_error_text {ERR wrong number of arguments for 'getbit' command} {r getbit k}
        r get k
    } {v}

    test {proto-max-bulk-len bounds bit offsets} {
        with_config {proto-max-bulk-len 1mb} {
            r del k
            assert_error_text $no_offset {r setbit k 8388608 1}
            assert_error_text $no_offset {r getbit k 8388608}
            assert_error_text $no_offset {r bitfield k set u8 8388608 1}
            assert_equal 0 [r exists k]
            assert_equal 0 [r setbit k 8388607 1]
            assert_equal 1048576 [r strlen k]
            assert_equal 128 [r bitfield k set u8 8388607 1]
            assert_equal 1048577 [r strlen k]
        }
    }
}

start_server {} {
    test {BITCOUNT of a string and of its parts} {
        r set k foobar
        foreach {range count} {
            {} 26 {0 0} 4 {1 1} 6 {0 -5} 10 {-6 -5} 10 {-6 -7} 0 {-50 -100} 0 {-100 -50} 4 {5 1} 0
            {0 9223372036854775807} 26 {6 10} 0
        } {
            assert_equal $count [r bitcount k {*}$range] $range
        }
        r set k 123
        assert_equal 10 [r bitcount k]
        r set k {}
        assert_equal 0 [r bitcount k]
        assert_equal 0 [r bitcount k 0 -1]
    }

    test {BITCOUNT of a key that is not there looks at nothing else} {
        assert_equal 0 [r bitcount nokey]
        assert_equal 0 [r bitcount nokey x y]
        assert_equal 0 [r bitcount nokey 1]
    }

    test {BITCOUNT's errors} {
        r set k foobar
        assert_error_text {ERR syntax error} {r bitcount k 1}
        assert_error_text {ERR syntax error} {r bitcount k 1 2 3}
        assert_error_text {ERR syntax error} {r bitcount k 1 2 bit}
        assert_error_text $no_integer {r bitcount k x 1}
        assert_error_text $no_integer {r bitcount k 1 x}
        assert_error_text {ERR wrong number of arguments for 'bitcount' command} {r bitcount}
    }

    test {BITPOS of a string and of its parts} {
        r mset ones "\xff\xff\xff" zeros "\0\0\0" mixed "\0\xff\xf0" text foobar
        foreach {words position} {
            {text 1} 1 {text 0} 0 {text 1 -50 -100} 1 {text 1 -100 -50} 1 {text 1 2 1} -1
            {ones 0} 24 {ones 0 0} 24 {ones 0 0 -1} -1 {ones 0 3} -1 {ones 0 3 4} -1 {ones 1 3} -1
            {ones 0 -1} 24 {ones 0 2 1} -1 {ones 0 -100} 24 {ones 1 2} 16
            {zeros 1} -1 {zeros 1 0} -1 {zeros 1 1 2} -1 {zeros 0 2} 16 {zeros 0 3} -1
            {mixed 1} 8 {mixed 0 1} 20 {mixed 0 1 1} -1 {mixed 0 1 2} 20 {mixed 1 2} 16
        } {
            assert_equal $position [r bitpos {*}$words] $words
        }
        r set k {}
        foreach words {0 1 {0 0} {0 0 -1}} {
            assert_equal -1 [r bitpos k {*}$words] $words
        }
    }

    test {BITPOS of a key that is not there looks at the bit only} {
        assert_equal 0 [r bitpos nokey 0]
        assert_equal -1 [r bitpos nokey 1]
        assert_equal 0 [r bitpos nokey 0 x]
        assert_equal 0 [r bitpos nokey 0 5]
        assert_equal -1 [r bitpos nokey 1 1 2 3]
        assert_error_text {ERR The bit argument must be 1 or 0.} {r bitpos nokey 2}
    }

    test {BITPOS' errors} {
        assert_error_text {ERR The bit argument must be 1 or 0.} {r bitpos text 2}
        assert_error_text {ERR The bit argument must be 1 or 0.} {r bitpos text -1}
        assert_error_text $no_integer {r bitpos text x}
        assert_error_text $no_integer {r bitpos text 1 x}
        assert_error_text $no_integer {r bitpos text 1 0 x}
        assert_error_text {ERR syntax error} {r bitpos text 1 0 1 bit}
        assert_error_text {ERR wrong number of arguments for 'bitpos' command} {r bitpos text}
    }

    test {Random BITCOUNT and BITPOS against a model} {
        for {set i 0} {$i < [accurate 500 5000]} {incr i} {
            set bytes [random_bits 100]
            set length [string length $bytes]
            set digits [digits_of $bytes]
            r set k $bytes
            assert_equal [regexp -all 1 $digits] [r bitcount k]
            set first [expr {[random_int 110]}]
            set last [expr {[random_int 110]}]
            foreach {from to} [list $first $last [expr {$first - 110}] $last $first -1] {
                set part {}
                lassign [clamp $length $from $to] low high
                if {$low ne ""} {
                    set part [string range $digits [expr {$low * 8}] [expr {$high * 8 + 7}]]
                }
                assert_equal [regexp -all 1 $part] [r bitcount k $from $to] "$from $to"
                foreach bit {0 1} {
                    set at [string first $bit $part]
                    if {$at >= 0} {
                        incr at [expr {$low * 8}]
                    }
                    assert_equal $at [r bitpos k $bit $from $to] "$bit $from $to"
                }
            }
        }
    }
}

start_server {} {
    test {BITOP: the shorter string is followed by zeros} {
        r mset a foobar b "\xff\xff\xff" z "\0"
        foreach {words result} [list \
            {and d a b} "foo\0\0\0" {or d a z nokey} foobar {xor d a b} "\x99\x90\x90bar" \
            {and d a nokey} "\0\0\0\0\0\0" {not d a} "\x99\x90\x90\x9d\x9e\x8d" {or d a} foobar \
            {AND d a a} foobar {Xor d a a} "\0\0\0\0\0\0" {or a a b} "\xff\xff\xffbar"] {
            assert_equal 6 [r bitop {*}$words] $words
            assert_equal $result [r get [lindex $words 1]] $words
        }
    }

    test {BITOP's result is raw, has no time to live, and replaces what was there} {
        r set n 123
        r set d old ex 100
        assert_equal 3 [r bitop or d n]
        assert_encoding raw d
        assert_equal -1 [r ttl d]
        r get d
    } {123}

    test {BITOP of nothing but missing and empty strings deletes} {
        r set e {}
        foreach words {{and d nokey} {or d e nokey} {not d e} {xor d e e}} {
            r set d x
            assert_equal 0 [r bitop {*}$words] $words
            assert_equal 0 [r exists d] $words
            assert_equal 0 [r bitop {*}$words] $words
        }
    }

    test {BITOP's errors change nothing} {
        r set d x
        assert_error_text {ERR syntax error} {r bitop bogus d a}
        assert_error_text {ERR BITOP NOT must be called with a single source key.} \
            {r bitop not d a b}
        assert_error_text {ERR wrong number of arguments for 'bitop' command} {r bitop and d}
        r get d
    } {x}

    test {Random BITOP against a model} {
        for {set i 0} {$i < [accurate 100 3000]} {incr i} {
            set count [expr {1 + [random_int 5]}]
            set keys {}
            set longest 0
            for {set n 0} {$n < $count} {incr n} {
                set text($n) [random_bits [random_pick {10 100 3000}]]
                set longest [expr {max($longest, [string length $text($n)])}]
                r set s:$n $text($n)
                lappend keys s:$n
            }
            foreach {name operator} {and & or | xor ^} {
                set result [lrepeat $longest 0]
                for {set n 0} {$n < $count} {incr n} {
                    binary scan $text($n) cu* bytes
                    lappend bytes {*}[lrepeat [expr {$longest - [llength $bytes]}] 0]
                    set result [expr {$n == 0 ? $bytes : [lmap a $result b $bytes \
                        [list expr "\$a $operator \$b"]]}]
                }
                assert_equal $longest [r bitop $name d {*}$keys]
                assert {[r get d] eq [binary format c* $result]} $name
            }
            r bitop not d s:0
            binary scan $text(0) cu* bytes
            assert {[r get d] eq [binary format c* [lmap a $bytes {expr {~$a & 255}}]]}
        }
    }
}

start_server {} {
    test {BITFIELD gets, sets and increments} {
        r set k foobar
        assert_equal {102 111 0 6} [r bitfield k get u8 0 get u8 #1 get u8 48 get u4 0]
        assert_equal {-1 -2} [r bitfield k get i2 1 get i3 9]
        assert_encoding embstr k
        assert_equal {102 65 66} [r bitfield k set u8 0 65 get u8 0 incrby u8 0 1]
        assert_encoding raw k
        assert_equal Boobar [r get k]
        assert_equal {} [r bitfield k]
        assert_equal {} [r bitfield k overflow fail]
        assert_equal {} [r bitfield nokey]
        assert_equal {0 0} [r bitfield nokey get u8 0 get i64 100]
        r exists nokey
    } {0}

    test {BITFIELD's overflow: wrap, sat, fail, for what follows the word} {
        r del k
        assert_equal {0} [r bitfield k set u8 0 255]
        assert_equal {0} [r bitfield k incrby u8 0 1]
        assert_equal {0} [r bitfield k overflow sat incrby u8 0 -5]
        assert_equal {255} [r bitfield k overflow sat incrby u8 0 300]
        assert_equal {{}} [r bitfield k overflow fail incrby u8 0 1]
        assert_equal {{} 0 0} [r bitfield k overflow fail incrby u8 0 1 set u8 8 7 \
            OVERFLOW Wrap incrby u8 0 1]
        assert_equal "\0\x07" [r get k]
        r set k "\0"
        assert_equal {0 44 44 255 255} [r bitfield k set i8 0 300 get i8 0 set u8 0 -1 get u8 0 \
            overflow sat set u8 0 300]
        assert_equal {255 -1 -128} [r bitfield k overflow sat set u8 0 -300 set i8 0 -300 get i8 0]
        assert_equal {{} {} {}} [r bitfield k overflow fail set i8 0 -300 set u8 0 256 set u8 0 -1]
    }

    test {BITFIELD's null is the protocol's} {
        set client [raw_client]
        $client bitfield k overflow fail set u8 0 256
        assert_equal "*1\r\n\$-1\r\n" [$client raw_reply]
        $client hello 3
        $client raw_reply
        $client bitfield k overflow fail set u8 0 256
        assert_equal "*1\r\n_\r\n" [$client raw_reply]
        $client close
        r del k
    }

    test {BITFIELD with the largest numbers} {
        r set k [string repeat \0 8]
        set max 9223372036854775807
        set min -9223372036854775808
        foreach {words replies} [list \
            "set i64 0 $max" 0 "incrby i64 0 1" $min "overflow sat incrby i64 0 -1" $min \
            "overflow fail incrby i64 0 -1" {{}} "set u63 0 $max" 4611686018427387904 \
            "get u63 0" $max "incrby u63 0 1" 0 "set u63 0 -1" 0 "get u63 0" $max \
            "overflow sat incrby u63 0 $max" $max "overflow sat incrby u63 0 $min" 0 \
            "overflow wrap incrby u63 0 $min" 0 "set u8 0 $min" 0 "incrby i5 3 $min" 0 \
            "overflow sat incrby i5 3 $min" -16 "overflow sat incrby i5 3 $max" 15 \
            "overflow wrap incrby i5 3 $max" 14] {
            assert_equal $replies [r bitfield k {*}$words] $words
        }
    }

    test {BITFIELD SET of a number far below a narrow field saturates at its lowest value} {
        r set k "\0"
        assert_equal {0 -128} \
            [r bitfield k overflow sat set i8 0 -9223372036854775808 get i8 0]
    } {} {ours}

    test {A BITFIELD that writes makes the string as long as its farthest write needs} {
        r del k
        assert_equal {{}} [r bitfield k overflow fail incrby u2 100 5]
        assert_equal 13 [r strlen k]
        r bitfield k set u8 #20 1 set u8 0 1
        assert_equal 21 [r strlen k]
        r del k
        r bitfield k set u1 4294967295 1
        assert_equal 536870912 [r strlen k]
        r del k
    } {1}

    test {BITFIELD keeps the time to live} {
        r set k 1 ex 1000
        r bitfield k incrby u8 20000 1
        assert_range [r ttl k] 900 1000
    }

    test {BITFIELD's errors change nothing} {
        r set k v
        foreach type {u64 i65 i0 u0 x8 U8 I8 u08 u+8 u i u8x {} 8 u-1 u9223372036854775808} {
            assert_error_text $no_type {r bitfield k set u8 0 1 get $type 0}
        }
        foreach offset {-1 x {} # #x #-1 ## 4294967296 #536870912 9223372036854775807
                        #9223372036854775807} {
            assert_error_text $no_offset {r bitfield k set u8 0 1 get u8 $offset}
        }
        foreach value {x {} 1.5 9223372036854775808} {
            assert_error_text $no_integer {r bitfield k set u8 0 1 set u8 0 $value}
            assert_error_text $no_integer {r bitfield k set u8 0 1 incrby u8 0 $value}
        }
        foreach words {get {get u8} {set u8 0} {incrby u8 0} overflow {bogus u8 0} bogus
                       {get u8 0 bogus}} {
            assert_error_text {ERR syntax error} {r bitfield k set u8 0 1 {*}$words} $words
        }
        assert_error_text {ERR Invalid OVERFLOW type specified} \
            {r bitfield k set u8 0 1 overflow bogus}
        assert_error_text {ERR wrong number of arguments for 'bitfield' command} {r bitfield}
        r get k
    } {v}

    test {BITFIELD_RO gets only} {
        r set k foobar
        assert_equal {102 111} [r bitfield_ro k get u8 0 overflow sat get u8 8]
        assert_equal {} [r bitfield_ro k]
        assert_equal {} [r bitfield_ro k overflow wrap]
        assert_equal {0} [r bitfield_ro nokey get u8 0]
        foreach words {{set u8 0 1} {incrby u8 0 1} {get u8 0 set u8 0 1}} {
            assert_error_text {ERR BITFIELD_RO only supports the GET subcommand} \
                {r bitfield_ro k {*}$words} $words
        }
        assert_error_text $no_integer {r bitfield_ro k set u8 0 x}
        assert_error_text {ERR syntax error} {r bitfield_ro k set u8 0 1 bogus}
        assert_error_text {ERR Invalid OVERFLOW type specified} {r bitfield_ro k overflow bogus}
        assert_error_text {ERR wrong number of arguments for 'bitfield_ro' command} {r bitfield_ro}
        r get k
    } {foobar}

    test {Random BITFIELD against a model} {
        r del k
        set digits ""
        for {set i 0} {$i < [accurate 2000 20000]} {incr i} {
            set type [random_pick {i u}][expr {1 + [random_int 63]}]
            set width [string range $type 1 end]
            set offset [random_int [random_pick {70 400}]]
            set overflow [random_pick {wrap sat fail}]
            set value [expr {[random_int 2000000000] - 1000000000 << [random_int 29]}]
            set action [random_pick {get set incrby}]
            set old [field_of $digits $type $offset]
            if {$action eq "get"} {
                assert_equal $old [r bitfield k get $type $offset]
                continue
            }
            set missing [expr {($offset + $width + 7) / 8 * 8 - [string length $digits]}]
            append digits [string repeat 0 [expr {max(0, $missing)}]]
            set goal [expr {$action eq "set" ? $value : $old + $value}]
            if {$action eq "set" && $goal < 0 && [string match u* $type] && $overflow eq "sat"} {
                set goal [expr {1 << 64}] ;# SET takes it as a large unsigned number
            }
            set next [fit_value $goal $type $overflow]
            set reply [expr {$action eq "incrby" ? $next : $next eq "" ? "" : $old}]
            assert_equal [list $reply] \
                [r bitfield k overflow $overflow $action $type $offset $value] \
                "$overflow $action $type $offset $value"
            if {$next ne ""} {
                set digits [digits_with_field $digits $type $offset $next]
            }
        }
        assert {[r get k] eq [bytes_of $digits]}
    }

    test {Bit commands count hits and misses} {
        r set k x
        foreach {words hits misses} {
            {getbit k 0} 1 0 {bitcount nokey} 0 1 {bitpos k 1} 1 0 {bitop or d k k nokey} 2 1
            {bitfield k get u8 0} 1 0 {bitfield k incrby u8 0 0} 0 0 {setbit k 0 0} 0 0
        } {
            r config resetstat
            r {*}$words
            assert_equal [list $hits $misses] [list [s keyspace_hits] [s keyspace_misses]] $words
        }
    }
}

start_server {tags {needs:list}} {
    test {Bit commands against another type} {
        r lpush list a
        r set k v
        foreach words {
            {getbit list 0} {setbit list 0 1} {bitcount list} {bitcount list x y} {bitpos list 1}
            {bitop and k list k} {bitop not k list} {bitop or k k list} {bitfield list}
            {bitfield list get u8 0} {bitfield list set u8 0 1} {bitfield_ro list get u8 0}
        } {
            assert_error_text $wrong_type {r {*}$words} $words
        }
        assert_error_text $no_offset {r getbit list x}
        assert_error_text $no_offset {r setbit list x 1}
        assert_error_text {ERR The bit argument must be 1 or 0.} {r bitpos list 2}
        assert_error_text {ERR BITFIELD_RO only supports the GET subcommand} \
            {r bitfield_ro list set u8 0 1}
        assert_equal v [r get k]
        assert_type list list
        assert_equal 1 [r bitop or list k]
        assert_type string list
    }
}
