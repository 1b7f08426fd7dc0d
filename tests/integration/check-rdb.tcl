# SPDX-License-Identifier: BSD-3-Clause
# redis-check-rdb: what it says of good and of damaged files, and that the server says it, too.

set checker [file join [file dirname $::options(server)] redis-check-rdb]

proc check_file {checker bytes} {
    set path [tmpfile rdb]
    write_whole $path $bytes
    set result [run_program [list $checker $path]]
    dict set result path $path
    return $result
}

# The server does not start, and its log tells why.
proc assert_no_start {bytes pattern} {
    set folder [tmpdir damaged]
    write_whole [file join $folder dump.rdb] $bytes
    set result [run_server_to_end [list --port [find_free_port] --bind 127.0.0.1 --dir $folder]]
    assert_equal 1 [dict get $result status]
    assert_match $pattern [dict get $result out]
    assert_no_match "*Ready to accept*" [dict get $result out]
    assert_equal $bytes [read_whole [file join $folder dump.rdb]]
}

start_server {} {
    r select 0
    r set text value
    r set deadline value ex 100000
    r rpush list a b
    r hset hash field value
    r zadd zset 1.5 a
    r sadd set a b c
    r sadd intset 1 2 3
    r xadd stream 1-1 field value
    r select 9
    r set other value
    r save
    set good [read_whole [file join [srv dir] dump.rdb]]
    set size [string length $good]
    # Its checksum may end with any byte.
    set other [expr {[string index $good end] eq "!" ? "?" : "!"}]
    set other_sum [string replace $good end end $other]

    test {a good file} {
        set result [check_file $checker $good]
        assert_equal 0 [dict get $result status]
        set lines [split [dict get $result out] \n]
        assert_equal "\[offset 0\] Checking RDB file [dict get $result path]" [lindex $lines 0]
        assert_match {*\[offset *\] AUX FIELD redis-ver = '6.2.*'*} $lines
        assert_match {*\[offset *\] Selecting DB ID 9*} $lines
        assert_match "*\\\[offset $size\\\] Checksum OK*" $lines
        assert_equal [list "\[offset $size\] \\o/ RDB looks OK! \\o/" {[info] 9 keys read} \
            {[info] 1 expires} {[info] 0 already expired} {}] [lrange $lines end-4 end]
        assert_equal {} [dict get $result err]
    }

    test {damaged files: place, key and reason} {
        foreach {bytes offset lines} [list \
            {} 0 {{* While doing: start*}} \
            [string range $good 0 end-9] [expr {$size - 9}] {{* While doing: read-type*}} \
            $other_sum $size {{*RDB CRC error*} {*While doing: check-sum*}} \
            "REDIS0010" 9 {{*Can't handle RDB format version*}} \
            "REDIS0009\xfe\x00\x0d\x01k\x05abcde\xff" 20 {{*Reading key 'k'*} \
                {*Reading type 13 (hash-ziplist)*} {*While doing: read-object-value*} \
                {*1 keys read*}} \
            "REDIS0009\xfe\x00\x00\x01k\xc3\x03\x20abc\xff" 20 {{*Reading key 'k'*}} \
            "REDIS0009\x10" 10 {{*type*16*}}] {
            set result [check_file $checker $bytes]
            assert_equal 1 [dict get $result status]
            set out [dict get $result out]
            assert_match "*--- RDB ERROR DETECTED ---\n\\\[offset $offset\\\] *" $out
            foreach line $lines {
                assert_match $line $out
            }
            assert_match "*keys read\n*expires\n*already expired\n*" $out
        }
    }

    test {the place of the key, and its database} {
        set out [dict get [check_file $checker "REDIS0009\xfe\x03\x0d\x01k\x05abcde\xff"] out]
        assert_match "*The key begins at offset 11, in database 3*" $out
        set out [dict get [check_file $checker "REDIS0009\xfe\x03\x0d\x02k\n\x05abcde\xff"] out]
        assert_match "*Reading key 'k\\\\x0a'*" $out
    } {} {ours}

    test {redis-server --check-rdb is the same} {
        set path [file join [srv dir] dump.rdb]
        set result [run_program [list $checker $path]]
        assert_equal $result [run_program [list $::options(server) --check-rdb $path]]
        set result [run_program [list $::options(server) --check-rdb]]
        assert_equal 1 [dict get $result status]
        assert_match "Usage: redis-server --check-rdb <rdb-file-name>*" [dict get $result err]
    } {} {ours}

    test {no file, no name} {
        set result [run_program [list $checker /nonexistent/file]]
        assert_equal 1 [dict get $result status]
        foreach words [list {} {a b}] {
            set result [run_program [list $checker {*}$words]]
            assert_equal 1 [dict get $result status]
            assert_match "Usage: *redis-check-rdb <rdb-file-name>*" [dict get $result err]
        }
    }

    test {a damaged file stops the start, and is left as it is} {
        assert_no_start [string range $good 0 end-9] "*Unexpected EOF*"
        assert_no_start $other_sum "*CRC error*"
        assert_no_start "REDIS0009\xfe\x00\x0d\x01k\x05abcde\xff" "*'k'*"
        assert_no_start "NOTREDIS0009" "*Wrong signature*"
    }

    test {each beginning of a file, and each with a byte changed, is refused or loads} {
        set checked 0
        for {set length 0} {$length < $size} {incr length 7} {
            set result [check_file $checker [string range $good 0 $length]]
            assert_equal [expr {$length < $size - 1}] [dict get $result status]
            incr checked
        }
        for {set i 0} {$i < 30} {incr i} {
            set at [random_int $size]
            set bytes [string replace $good $at $at [format %c [random_int 256]]]
            assert_range [dict get [check_file $checker $bytes] status] 0 1
            incr checked
        }
        assert_morethan $checked 40
    } {} {ours}
}
