# SPDX-License-Identifier: BSD-3-Clause
# redis-lab replay and curve with trace files whose checksums are good and whose figures no
# recording has: each is refused with a reason or done as far as it makes sense, within the memory
# that the tools say they take.

set ::lab [expr {[info exists ::env(EVENKEEL_BIN)] && $::env(EVENKEEL_BIN) ne "" ?
    $::env(EVENKEEL_BIN) : [file join [file dirname $::tests] build bin]}]/redis-lab
if {[file executable [file dirname $::options(server)]/redis-lab]} {
    set ::lab [file dirname $::options(server)]/redis-lab
}

# The greatest number in a file, a time, and the greatest value of a request.
set ::most [expr {1 << 50}]
set ::now 1700000000000000
set ::large [expr {16 << 20}]

# Runs a tool on a file with these bytes; fails with the tool's words unless that is its status.
proc crafted {status name bytes args} {
    set file [tmpfile trace]
    write_whole $file $bytes
    set result [run_program [list $::lab $name $file {*}$args]]
    set said [dict get $result out][dict get $result err]
    assert_equal $status [dict get $result status] $said
    file delete $file
    return [string map [list $file FILE] $said]
}

proc read_of {args} { return [list [trace_word get] [trace_key {*}$args]] }

proc write_of {key size} { return [list [trace_word set] [trace_key $key] [trace_value $size]] }

# Reads of a few keys, one in a millisecond.
proc some_reads {count {bytes 100} {ttl_msec -1}} {
    set requests {}
    for {set i 0} {$i < $count} {incr i} {
        lappend requests [list [expr {$::now + 1000 * $i}] \
            [read_of key:[expr {$i % 7}] $bytes $ttl_msec]]
    }
    return $requests
}

foreach {what head why} {
    "a sample of none" "sample 0\n" "a figure of the head*"
    "a sample below 0" "sample -1\n" "a figure of the head*"
    "a sample of 2^63" "sample 9223372036854775808\n" "a figure of the head*"
    "2^63 keys" "sample 1\nkeys 9223372036854775808\n" "a figure of the head*"
    "a time in the year 10,001" "sample 1\nbegan_usec 253402300800000001\n" "a figure of the head*"
    "a NUL" "sample 1\0\n" "a figure of the head*"
    "no sample" "keys 1\n" "the head lacks `sample`"
    "nothing" "" "the head lacks `sample`"
} {
    test "A head with $what is refused" {
        set bytes [trace_file [some_reads 3] [subst -nocommands -novariables $head]]
        foreach name {replay curve} {
            assert_match "*the trace file is damaged in block 0: $why\n" [crafted 1 $name $bytes]
        }
    }
}

foreach {what end why} {
    "2^63 records" "records 9223372036854775808\n" "a figure of the end*"
    "fewer than no records" "records -1\n" "a figure of the end*"
    "more missing records than there can be" "records 3\nmissing 9223372036854775807\n"
        "a figure of the end*"
    "another count of records" "records 2\n" "the end counts other records*"
} {
    test "An end with $what is refused" {
        foreach name {replay curve} {
            assert_match "*the trace file is damaged in block 2: $why\n" \
                [crafted 1 $name [trace_file [some_reads 3] "sample 1\n" $end]]
        }
    }
}

test {Blocks behind the end and blocks of no known kind are refused} {
    set whole [trace_file [some_reads 3]]
    foreach name {replay curve} {
        assert_match "*bytes follow the end\n" [crafted 1 $name $whole[trace_block 3 R {}]]
        assert_match "*of no known kind\n" [crafted 1 $name [string range $whole 0 end-[
            string length [trace_block 2 E "records 3\n"]]][trace_block 2 X {}]]
    }
}

test {The curves of the largest figures that a file may have are numbers} {
    set head "sample 2147483647\n"
    foreach figure {maxmemory used_bytes overhead_bytes keys} { append head "$figure $::most\n" }
    set largest [expr {$::most - 1}]
    foreach sizes {{} {--sizes 1,1mb,1125899906842624}} {
        set bytes [trace_file [some_reads 60 $largest $largest] $head]
        set out [crafted 0 curve $bytes --keys 256 {*}$sizes]
        assert_match "FILE: 60 requests of one key in 2147483647, of an unknown server; 7 *" $out
        assert_no_match "*nan*" $out
        assert_no_match "*inf*" $out
    }
    crafted 0 curve [trace_file [some_reads 60 0 0]]
}

test {More keys than --keys are simulated as a share of them} {
    set requests {}
    for {set i 0} {$i < 3000} {incr i} {
        lappend requests [list $::now [read_of key:[expr {$i % 1500}] 9]]
    }
    assert_match "*One in 8 of the trace's keys is simulated*" \
        [crafted 0 curve [trace_file $requests] --keys 256]
}

test {What a head says is fit for a terminal} {
    set head "sample 1\nserver \33]0;x\7\nmaxmemory 1\n"
    set out [crafted 0 curve [trace_file [some_reads 30] $head]]
    assert_no_match "*\33*" $out
    assert_match {*, of .]0;x.; 7 keys*maxmemory 1B, an unknown policy*} $out
}

start_server {tags {ours}} {
    proc replayed {requests args} {
        r flushall
        return [crafted 0 replay [trace_file $requests] -p [srv port] {*}$args]
    }

    test {Times that go back, by any amount, are due at once} {
        set end 253402300800000000
        set reads [list [list $end [read_of a 1]] \
            [list 0 [read_of a 1]] \
            [list 1 [read_of a 1]]]
        foreach pace {0.001 1 1000 max} {
            assert_match "*answered    3 requests in *" [replayed $reads --pace $pace]
        }
        assert_match "* 3 requests *" [crafted 0 curve [trace_file $reads]]
    }

    test {A request that is due in the year 10,000 does not hold a replay for longer than asked} {
        set reads [list [list 0 [read_of a 1]] \
            [list 253402300800000000 [read_of a 1]]]
        assert_match "*answered    1 requests in *" [replayed $reads --seconds 0.2]
    }

    test {Keys of no length and values of no size} {
        set out [replayed [list \
            [list $::now [list [trace_word set] [trace_key {} 0 0] [trace_value 0]] 9] \
            [list $::now [list [trace_word get] [trace_key {} 0 0]] 9]] -c 1]
        assert_match "*answered    2 requests in *" $out
        assert_equal {{}} [r keys *]
        assert_equal {} [r get {}]
    }

    test {Words and keys cannot smuggle another command in} {
        r set canary 1
        set file [tmpfile trace]
        write_whole $file [trace_file [list \
            [list $::now [list [trace_word "get\r\n*1\r\n\$8\r\nflushall\r\n"] [trace_key a]]] \
            [list $::now [list [trace_word flushall]]] \
            [list $::now [list [trace_word config] [trace_word set] [trace_key hz]]] \
            [list $::now [list [trace_word {}] [trace_key a]]] \
            [list $::now [list [trace_word get]]] \
            [list $::now [list [trace_word blpop] [trace_key a]]] \
            [list $::now [list [trace_word zcount] [trace_value 1] [trace_key a]]] \
            [list $::now [list [trace_word get] [trace_key "a\r\n*1\r\n\$8\r\nFLUSHALL\r\n" 5]]]]]
        set result [run_program [list $::lab replay $file -p [srv port]]]
        assert_equal 0 [dict get $result status] [dict get $result err]
        assert_match "*answered    1 requests*left out    6: commands that are never replayed*left\
            out    1: arguments that cannot be made up*" [dict get $result out]
        assert_equal 1 [r get canary]
        file delete $file
    }

    test {A trace with a database that the server lacks is refused, and nothing is sent} {
        r flushall
        set requests {}
        foreach database {9 20 9} {
            lappend requests [list $::now [list [trace_word set] [trace_key a] [trace_value 3]] \
                $database]
        }
        foreach words {{} {--preload} {--pace max --fill}} {
            assert_match "*the trace has requests for database 20: ERR DB index*" [
                crafted 1 replay [trace_file $requests] -p [srv port] {*}$words]
            assert_equal 0 [r dbsize]
        }
    }

    # The limit of the address space shows that the bound holds: without it these files of some
    # kilobytes would have 640 MB or more under way. A sanitizer wants more than any such limit.
    proc within_memory {requests args} {
        set file [tmpfile trace]
        write_whole $file [trace_file $requests]
        set limit [expr {$::lab_is_plain ? "ulimit -v 700000; " : ""}]
        set result [run_program [list sh -c "${limit}exec \"\$@\"" sh $::lab replay $file \
            -p [srv port] --memory 64mb {*}$args]]
        assert_equal 0 [dict get $result status] [dict get $result out][dict get $result err]
        file delete $file
        r flushall
        return [dict get $result out]
    }
    set ::lab_is_plain [expr {![string match "*__asan*" [read_whole $::lab]]}]

    test {Requests beyond --memory are left out and counted, at a pace} {
        set requests {}
        for {set i 0} {$i < 40} {incr i} {
            lappend requests [list $::now [write_of k $::large]]
        }
        set out [within_memory $requests -c 40]
        assert {[regexp {answered +(\d+) requests.*left out +(\d+): too much} $out -> sent left]}
        assert_equal 40 [expr {$sent + $left}]
        assert_range $left 30 39
    }

    test {Requests that are sent at once are few enough for --memory} {
        set requests {}
        for {set i 0} {$i < 12} {incr i} {
            lappend requests [list $::now [write_of k $::large]]
        }
        set out [within_memory $requests --pace max -P 500 -c 1]
        assert_match "*answered    12 requests*" $out
        assert_no_match "*left out*" $out
    }

    test {Keys that are created after a miss, or before, are bounded, and told} {
        set keys {}
        for {set i 0} {$i < 40} {incr i} { lappend keys [trace_key key:$i [expr {$::most - 1}]] }
        set requests [list [list $::now [list [trace_word mget] {*}$keys]]]
        set out [within_memory $requests --fill]
        assert_match "*filled      3 keys*not filled  37 keys: too much was under way*shrunk      3\
            keys*to 16 MB*" $out
        set few [lmap key [lrange $keys 0 3] {list $::now [list [trace_word get] $key]}]
        set out [within_memory $few --preload --json]
        assert_match {*"preloaded":4,*"over_memory":0,"unfilled":0,"shrunk":4,*} $out
    }

    test {--memory has bounds} {
        foreach size {63mb 0 -1 x {} 2tb} {
            set result [run_program [list $::lab replay x --memory $size]]
            assert_equal 2 [dict get $result status]
            assert_match "*--memory wants a size from 64mb to 1tb*" [dict get $result err]
        }
    }
}
