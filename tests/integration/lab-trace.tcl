# SPDX-License-Identifier: BSD-3-Clause
# redis-lab record, replay and curve: what is recorded and put back however the recording ends, what
# a replay sends and counts, files that are damaged, and hit ratios against those of a real server;
# and redis-lab experiment with a trace as its load.
# The program is ours, also where the server is not. With BASELINE=path of a stock redis-server a
# trace is replayed there, too.

set lab [expr {[info exists ::env(EVENKEEL_BIN)] && $::env(EVENKEEL_BIN) ne "" ?
    $::env(EVENKEEL_BIN) : [file join [file dirname $::tests] build bin]}]/redis-lab
if {[file executable [file dirname $::options(server)]/redis-lab]} {
    set lab [file dirname $::options(server)]/redis-lab
}

proc tool {lab name args} {
    return [run_program [list $lab $name {*}$args]]
}

# Fails with what the tool said unless it ended well. Returns its output.
proc output_of {result} {
    if {[dict get $result status] != 0} {
        fail "status [dict get $result status]: [dict get $result err]"
    }
    return [dict get $result out]
}

# A recording that goes on until it is ended. Returns its channel once the server samples.
proc recording_under_way {lab file args} {
    set channel [open |[list $lab record -p [srv port] --out $file --sample 1 {*}$args 2>@1] r]
    # The recording begins with its first TRACE after that.
    wait_for_condition 400 25 {
        [config_get trace-sample] eq "1" &&
        [string match {*name=redis-lab-record *cmd=trace *} [r client list]]
    } else { fail "it does not begin" }
    return $channel
}

# Waits until the recording has read what the server has recorded.
proc await_read {} {
    wait_for_condition 400 25 {[dict get [r trace status] waiting] == 0} else { fail "not read" }
}

# What the tool has printed, and its exit status or the signal that ended it.
proc recording_end {channel} {
    set text [read $channel]
    set status 0
    if {[catch {close $channel} message options]} {
        set status [lindex [dict get $options -errorcode] 2]
    }
    return [list $status $text]
}

# Records what the body does, to its end. Returns what the tool has printed.
proc record_body {lab file words body} {
    set channel [recording_under_way $lab $file {*}$words]
    uplevel 1 $body
    exec kill -TERM [pid $channel]
    lassign [recording_end $channel] status text
    assert_equal 0 $status $text
    assert_equal 0 [config_get trace-sample]
    return $text
}

proc put_bytes {path bytes} {
    set file [open $path wb]
    puts -nonewline $file $bytes
    close $file
}

proc get_bytes {path} {
    set file [open $path rb]
    set bytes [read $file]
    close $file
    return $bytes
}

proc json_number {text name} {
    if {![regexp "\"$name\":(-?\[0-9.\]+)" $text -> number]} {
        fail "no $name in $text"
    }
    return $number
}

test {record, replay and curve say how they are used} {
    foreach {name option} {record --sample replay --preload curve --sizes} {
        set help [tool $lab $name --help]
        assert_equal 0 [dict get $help status]
        assert_match "*$option <*" [string map {"--preload" "--preload <"} [dict get $help out]]
    }
    foreach words {{record} {record --out} {record --out x --sample 0} {record --out x GET}
            {record --out x --nosuch} {replay} {replay x --pace 0} {replay x --pace fast}
            {replay x -P 2} {replay x y} {replay x --clients 0} {curve} {curve x --sizes 1mb,x}
            {curve x --sizes ,} {curve x --keys 1} {curve x --samples 0} {curve x y}} {
        set result [tool $lab {*}$words]
        assert_equal 2 [dict get $result status] $words
        assert_equal "" [dict get $result out]
        assert_match "redis-lab [lindex $words 0]: *" [dict get $result err]
    }
}

test {An experiment says what --trace goes with} {
    foreach {words why} {
        {--trace /no/such/file} "--trace: /no/such/file: No such file or directory"
        {--trace {}} "--trace wants a file*"
        {--trace x --rate 10 -t get} "--trace and --rate exclude each other*"
        {--trace x -t get} "the requests are those of --trace: no -t,*"
        {--trace x GET a} "the requests are those of --trace:*no command*"
        {--trace x -P 2} "the requests are those of --trace:*"
        {--trace x --threads 2} "the requests are those of --trace:*"
        {--trace x -r 5} "the requests are those of --trace:*"
        {--trace x --pace 0} "--pace *"
        {--trace x --pace max} "--pace *"
        {--pace 2} "--pace wants --trace*"
    } {
        set result [tool $lab experiment --set hz=1,2 {*}$words]
        assert_equal 2 [dict get $result status] $words
        assert_equal "" [dict get $result out]
        assert_match "redis-lab experiment: $why\n" [dict get $result err]
    }
}

test {No server, no file: the reason, and status 1} {
    foreach {words why} {
        {record -s /no/such/socket --out /no/such/file} "connect: No such file or directory"
        {replay /no/such/file} "/no/such/file: No such file or directory"
        {curve /no/such/file} "/no/such/file: No such file or directory"
    } {
        set result [tool $lab {*}$words]
        assert_equal 1 [dict get $result status]
        assert_equal "redis-lab [lindex $words 0]: $why\n" [dict get $result err]
    }
}

test {Files that are no traces, or damaged ones, are refused} {
    set file [tmpfile trace]
    foreach {bytes why} {
        {} "the file is empty"
        "REDIS0009" "this is no trace file*"
        "evktrace\2\0\0\0" "the trace file has version 2, and this program reads version 1"
        "evktrace\1\0\0\0" "the trace file is cut within its head"
        "evktrace\1\0\0\0H\377\377\377\377" "the trace file is damaged*a block is too long"
        "evktrace\1\0\0\0H\1\0\0\0x01234567" "the trace file is damaged*checksum is wrong"
    } {
        put_bytes $file [subst -nocommands -novariables $bytes]
        foreach name {replay curve} {
            set result [tool $lab $name $file]
            assert_equal 1 [dict get $result status]
            assert_match "redis-lab $name: $file: $why\n" [dict get $result err]
        }
        set result [tool $lab experiment --set hz=1,2 --trace $file]
        assert_equal 2 [dict get $result status]
        assert_match "redis-lab experiment: --trace: $file: $why\n" [dict get $result err]
    }
    file delete $file
}

# Of a server that is none: answers whole requests. Each TRACE READ has one more record, and TRACE
# STATUS names figures at the ends of 64 bits from the third time on.
proc answer_absurdly {channel} {
    if {[gets $channel line] < 0} {
        if {[eof $channel]} { close $channel }
        return
    }
    set words {}
    fconfigure $channel -blocking 1
    for {set i [string range $line 1 end]} {$i > 0} {incr i -1} {
        gets $channel
        lappend words [string tolower [gets $channel]]
    }
    fconfigure $channel -blocking 0
    set answer "+OK\r\n"
    switch -glob $words {
        "config get trace-sample" { set answer "*2\r\n+trace-sample\r\n+0\r\n" }
        "config get *" { set answer "*2\r\n+[lindex $words 2]\r\n+1048576\r\n" }
        "trace status" {
            lassign {1 -9223372036854775808} next without
            if {[incr ::absurd_asked] > 2} {
                lassign [list $::absurd_end 9223372036854775807] next without
            }
            set answer "*6\r\n+next_id\r\n:$next\r\n+without_keys\r\n:$without\r\n"
            append answer "+sample\r\n:100\r\n"
        }
        "trace read *" {
            set answer "*1\r\n*6\r\n:[incr ::absurd_id]\r\n:1700000000000000\r\n:1\r\n:0\r\n"
            append answer ":0\r\n*2\r\n\$3\r\nget\r\n*1\r\n\$1\r\nk\r\n"
        }
    }
    catch { puts -nonewline $channel $answer }
}

proc greet_absurdly {channel args} {
    fconfigure $channel -translation {crlf binary} -blocking 0 -buffering none
    fileevent $channel readable [list answer_absurdly $channel]
}

foreach {what last} {"next to none" 1 "all that there can be" 9223372036854775807} {
    test "A server whose figures are absurd does not hold a recording: ids, $what" {
        set ::absurd_asked [set ::absurd_id 0]
        set ::absurd_end $last
        set file [tmpfile trace]
        set listener [socket -server greet_absurdly -myaddr 127.0.0.1 0]
        set port [lindex [fconfigure $listener -sockname] 2]
        set out ""
        set run [open |[list $lab record -p $port --out $file --seconds 0.2 2>@1] r]
        fconfigure $run -blocking 0
        set until [expr {[clock milliseconds] + $::patience_ms}]
        while {[clock milliseconds] < $until && ![eof $run]} {
            append out [read $run]
            after 25 {set ::absurd_waited 1}
            vwait ::absurd_waited
        }
        close $listener
        if {![eof $run]} { exec kill -KILL {*}[pid $run] }
        fconfigure $run -blocking 1
        assert_equal 0 [catch {close $run} message] "$out$message"
        assert_match "*: * requests of one key in 100*" $out
        assert_no_match "*-* requests are missing*" $out
        set result [tool $lab curve $file]
        assert_match "*the trace has no reads*" [dict get $result err] "it is whole"
        file delete $file
    }
}

start_server {} {
    test {A server that keeps no traces is named as such} {
        if {[llength [r config get trace-sample]]} {
            skip "this server keeps traces"
        }
        set file [tmpfile trace]
        set result [tool $lab record -p [srv port] --out $file]
        assert_equal 1 [dict get $result status]
        assert_equal "redis-lab record: the server keeps no traces: it has no option\
            trace-sample\n" [dict get $result err]
        assert {![file exists $file]}
    }
}

start_server {tags {ours}} {
    set file [tmpfile trace]

    test {A recording, its end by a signal, and its replay} {
        r flushall
        r set before [string repeat x 500]
        r set short y px 500000
        set text [record_body $lab $file {} {
            r get before
            r get short
            r get none
            r set new [string repeat z 300] ex 1000
            r get new
            r mget before new none
            r rpush list a b c
            r lrange list 0 -1
            r zadd scores 10 a 20 b
            r zrangebyscore scores 5 15
            r hset hash field value
            r incr number
            r xadd stream 1-1 f v
            r blpop list 1
            r ping
        }]
        assert_match "$file: 14 requests of one key in 1 in *s; *\n" $text
        assert_no_match "*missing*" $text
        r flushall
        # One connection, so that the reads come behind the writes that they followed.
        set out [output_of [tool $lab replay $file -p [srv port] -c 1 --preload --pace 4]]
        assert_match "$file: 14 requests of one key in 1, *" $out
        assert_match "*preloaded   2 keys*" $out
        assert_match "*answered    13 requests in *latency*p99*from the due time*" $out
        assert_match "*late        * of 13 requests were sent*" $out
        assert_match "*hits        75.00 % of 4 reads*" $out
        assert_match "*left out    1: arguments that cannot be made up*xadd 1*" $out
        assert_no_match "*error*" $out
        assert_equal {before hash list new number scores short} [lsort [r keys *]]
        assert_equal 300 [r strlen new]
        assert_range [r ttl new] 900 1000
        assert_range [r strlen before] 450 640
        assert_range [r pttl short] 400000 500000
        assert_equal 2 [r llen list]
        assert_equal {} [r keys redis-lab*]
    }

    test {A file is not overwritten unless that is wished} {
        set before [get_bytes $file]
        set result [tool $lab record -p [srv port] --out $file --seconds 0.1]
        assert_equal 1 [dict get $result status]
        assert_match "*the file exists; --force overwrites it\n" [dict get $result err]
        assert_equal $before [get_bytes $file]
        assert_equal 0 [config_get trace-sample]
        set other [tmpfile trace]
        put_bytes $other old
        output_of [tool $lab record -p [srv port] --out $other --seconds 0.1 --force]
        assert_match "evktrace*" [get_bytes $other]
        file delete $other
    }

    test {A trace that is cut is replayed as far as it goes; damage stops everything} {
        set bytes [get_bytes $file]
        set cut [tmpfile trace]
        put_bytes $cut [string range $bytes 0 end-10]
        r flushall
        set out [output_of [tool $lab replay $cut -p [srv port] --pace max]]
        assert_match "*The trace is cut: what was recorded last is missing.*answered    13 *" $out
        r flushall
        set middle [expr {[string length $bytes] / 2}]
        binary scan [string index $bytes $middle] c byte
        put_bytes $cut [string replace $bytes $middle $middle [binary format c [expr {$byte ^ 1}]]]
        foreach name {replay curve} {
            set words [expr {$name eq "replay" ? [list -p [srv port]] : {}}]
            set result [tool $lab $name $cut {*}$words]
            assert_equal 1 [dict get $result status]
            assert_match "*the trace file is damaged in block *" [dict get $result err]
            assert_equal "" [dict get $result out]
        }
        assert_equal 0 [r dbsize]
        file delete $cut
    }

    # Requests a second of each block, from the JSON of an experiment.
    proc block_rates {out} {
        set pattern {"values":\{[^\}]*"requests_per_sec":([\d.]+)}
        return [lmap {-> rate} [regexp -all -inline $pattern $out] {set rate}]
    }

    test {A trace is the load of an experiment, from the first block to the last} {
        set other [tmpfile trace]
        record_body $lab $other {} {
            for {set i 0} {$i < 20} {incr i} {
                r select [expr {$i % 2 ? 9 : 3}]
                r set key:$i [string repeat x 100]
                after 10
            }
            r xadd stream 1-1 f v
            r select 9
        }
        r flushall
        r config set hz 10
        set result [tool $lab experiment -p [srv port] --set hz=11,12 --block 1 --settle 0 \
            --rounds 2 --trace $other --json]
        set out [output_of $result]
        assert_match "*The load: $other, 20 requests in 0.* s. 1 more cannot be sent*" \
            [dict get $result err]
        assert {[regexp "\"trace\":\\{\"file\":\"$other\",\"passes\":(\\d+)\\}" $out -> passes]}
        assert_morethan $passes 1
        assert_match "* The load was through its trace $passes times.\"*" $out
        # SELECT is sent with each request, and is not counted.
        set rates [block_rates $out]
        assert_equal 4 [llength $rates]
        foreach rate $rates {
            assert_range $rate 20 101
        }
        assert_match "*\"errors_per_sec\":0,*" $out
        assert_equal {10 10} [list [r dbsize] [r select 3; r dbsize]]
        assert_equal 100 [r strlen key:0]
        r select 9
        assert_equal 10 [config_get hz]

        # What cannot be kept up with is said.
        set result [tool $lab experiment -p [srv port] --set hz=11,12 --block 1 --settle 0 \
            --rounds 1 --trace $other --pace 1000 -c 1 --json]
        if {[dict get $result status] == 0} {
            assert {[json_number [dict get $result out] late_blocks] > 0 ||
                [lindex [block_rates [dict get $result out]] 0] > 20000}
        } else {
            assert_match "*or --pace is more than the server or this machine can do*" \
                [dict get $result err]
        }

        # A server that refuses: its errors count, those of SELECT as well.
        r acl setuser lab on nopass allcommands -set -select allkeys
        set out [output_of [tool $lab experiment -p [srv port] --user lab -a x --set hz=11,12 \
            --block 1 --settle 0 --rounds 1 --trace $other --json]]
        assert_equal {0 0} [block_rates $out]
        assert_range [json_number $out errors_per_sec\":\{\"median] 40 202
        r acl deluser lab
        file delete $other
    }

    test {A trace as the load of started servers, a second server, and a trace that is cut} {
        set cut [tmpfile trace]
        put_bytes $cut [string range [get_bytes $file] 0 end-10]
        set start "$::options(server) --save '' --appendonly no"
        foreach words [list [list --start $start --set databases=10,16] \
                [list -p [srv port] --against 127.0.0.1:[srv port] --set hz=11,12]] {
            set result [tool $lab experiment {*}$words --block 1 --settle 0 --rounds 1 \
                --trace $cut --pace 0.5 --json]
            set out [output_of $result]
            assert_match "*13 requests in *The trace is cut: what was recorded last is\
                missing.\n*" [dict get $result err]
            assert_morethan_equal [llength [block_rates $out]] 2
            assert_match "*\"errors_per_sec\":0,*" $out
        }
        file delete $cut
        r flushall
    }

    test {--requests, --hashed and --buffer} {
        r flushall
        set other [tmpfile trace]
        set channel [open |[list $lab record -p [srv port] --out $other --sample 1 --hashed \
            --buffer 2mb --requests 5 2>@1] r]
        wait_for_condition 400 25 {[config_get trace-sample] eq "1"} else { fail "no sampling" }
        assert_equal 2097152 [config_get trace-buffer-size]
        wait_for_condition 400 25 {[r set secret 1] eq "OK" && [config_get trace-sample] eq "0"} \
            else { fail "it does not end" }
        lassign [recording_end $channel] status text
        assert_equal 0 $status $text
        assert_match "*: 5 requests of one key in 1 *" $text
        assert_equal 1048576 [config_get trace-buffer-size]
        assert_no_match "*secret*" [get_bytes $other]
        r flushall
        assert_match "*keys hashed*answered    5 *" \
            [output_of [tool $lab replay $other -p [srv port] --pace max]]
        assert_match {[0-9a-f]*} [r keys *]
        assert_equal 16 [string length [r keys *]]
        file delete $other
    }

    test {Requests that the buffer could not hold are counted as missing} {
        set other [tmpfile trace]
        r config set trace-buffer-size 65536
        set channel [recording_under_way $lab $other]
        exec kill -STOP [pid $channel]
        for {set i 0} {$i < 3000} {incr i} {
            r set key:$i value
        }
        exec kill -CONT [pid $channel]
        await_read
        exec kill -INT [pid $channel]
        lassign [recording_end $channel] status text
        assert_equal 0 $status $text
        set pattern {: (\d+) requests.*\n(\d+) requests are missing}
        assert {[regexp $pattern $text -> kept missing]} $text
        assert_equal 3000 [expr {$kept + $missing}]
        assert_morethan $missing 100
        assert_match "*$missing requests are missing in the trace.*" \
            [output_of [tool $lab replay $other -p [srv port] --pace max]]
        r config set trace-buffer-size 1mb
        file delete $other
    }

    test {A signal ends a recording whose server is silent; the old value comes back with it} {
        set other [tmpfile trace]
        set channel [recording_under_way $lab $other]
        fconfigure $channel -blocking 0
        set text {}
        exec kill -STOP [srv pid]
        try {
            exec kill -INT [pid $channel]
            # An answer is awaited for a second after a signal; for ten without one.
            wait_for_condition 320 25 {
                [string match "*does not answer*" [append text [read $channel]]]
            } else { fail "it waits: $text" }
        } finally {
            exec kill -CONT [srv pid]
        }
        fconfigure $channel -blocking 1
        lassign [recording_end $channel] status rest
        append text $rest
        assert_equal 1 $status $text
        assert_match "redis-lab record: the server does not answer\nredis-lab record: waiting for\
            the server*$other: *" $text
        assert_equal 0 [config_get trace-sample]
        file delete $other
    }

    test {A tool that is killed: the old value comes back, and the file says that it is cut} {
        set other [tmpfile trace]
        set channel [recording_under_way $lab $other]
        set empty [file size $other]
        r set a b
        # Written once a second.
        wait_for_condition 400 25 {[file size $other] > $empty} else { fail "nothing is written" }
        exec kill -KILL [pid $channel]
        wait_for_condition 400 25 {[config_get trace-sample] eq "0"} else { fail "it samples" }
        lassign [recording_end $channel] status text
        assert_equal SIGKILL $status
        assert_match "redis-lab record has ended unexpectedly: the old values are back.\n" $text
        assert_match "*The trace is cut*answered    1 *" \
            [output_of [tool $lab replay $other -p [srv port] --pace max]]
        file delete $other
    }

    test {Connections that are closed, and another client that ends the sampling} {
        set other [tmpfile trace]
        set channel [recording_under_way $lab $other]
        r set a b
        await_read
        r client kill type normal skipme yes
        lassign [recording_end $channel] status text
        assert_equal 1 $status
        assert_match "redis-lab record: the server is lost: *" $text
        assert_equal 0 [config_get trace-sample]
        assert_match "*The recording ended when the server was lost.*" \
            [output_of [tool $lab replay $other -p [srv port] --pace max]]
        set channel [recording_under_way $lab $other --force]
        r config set trace-sample 0
        lassign [recording_end $channel] status text
        assert_equal 1 $status
        assert_match "*another client has changed the server's trace-sample*" $text
        file delete $other
    }

    test {A full disk, and a user who may not} {
        if {![file exists /dev/full]} {
            skip "no /dev/full"
        }
        set result [tool $lab record -p [srv port] --out /dev/full --force --seconds 1]
        assert_equal 1 [dict get $result status]
        assert_match "*cannot be written: No space left on device\n" [dict get $result err]
        assert_equal 0 [config_get trace-sample]
        set other [tmpfile trace]
        foreach {denied why} {
            -config "the server refuses CONFIG GET: NOPERM*"
            -trace "the server refuses TRACE: NOPERM*"
        } {
            r acl setuser recorder on >secret ~* +@all $denied
            set result [tool $lab record -p [srv port] --out $other --user recorder -a secret]
            assert_equal 1 [dict get $result status]
            assert_match "redis-lab record: $why\n" [dict get $result err]
            assert {![file exists $other]}
        }
        r acl deluser recorder
    }

    test {A replay names the errors, fills what is missing, and finds a server that is gone} {
        r flushall
        r set text abc
        set other [tmpfile trace]
        record_body $lab $other {} {
            r get text
            r get text
            catch {r incr text}
        }
        r flushall
        r rpush text element
        set out [output_of [tool $lab replay $other -p [srv port] --json]]
        assert_equal 3 [json_number $out errors]
        assert_match "*{\"text\":\"WRONGTYPE\",\"count\":3}*" $out
        r flushall
        set out [output_of [tool $lab replay $other -p [srv port] --fill --json -c 1]]
        assert_equal "1 0 1 1" [list [json_number $out first_seen] [json_number $out misses] \
            [json_number $out hits] [json_number $out fills]]
        assert_equal 1 [r exists text]
        set result [tool $lab replay $other -s /no/such/socket]
        assert_equal 1 [dict get $result status]
        file delete $other
    }

    # A cache of which the client fills what it misses. The curves of the trace must agree with what
    # the server does when the trace is replayed with that memory and policy: to 3 points.
    test {Curves agree with a server of that size and policy} {
        set seed [expr {[info exists ::env(SEED)] ? $::env(SEED) : int(rand() * 1e9)}]
        expr {srand($seed)}
        r flushall
        set other [tmpfile trace]
        set asker [redis_deferring_client]
        record_body $lab $other {--buffer 16mb} {
            for {set batch 0} {$batch < 600} {incr batch} {
                set keys {}
                for {set i 0} {$i < 25} {incr i} {
                    lappend keys [expr {int(exp(rand() * log(4000)))}]
                    $asker get item:[lindex $keys end]
                }
                $asker flush
                set missed {}
                foreach key $keys {
                    if {[$asker read] eq ""} {
                        lappend missed $key
                    }
                }
                foreach key $missed {
                    set words [expr {$key % 2 ? {ex 3600} : {}}]
                    set value [string repeat x [expr {100 + $key * 7919 % 900}]]
                    $asker set item:$key $value {*}$words
                }
                $asker flush
                foreach key $missed {
                    $asker read
                }
            }
        }
        $asker close
        set whole [output_of [tool $lab curve $other]]
        assert_match "*requests of one key in 1, of Evenkeel*all keys*" $whole
        foreach policy {allkeys-lru allkeys-lfu allkeys-random volatile-lru noeviction} {
            r flushall
            r config set maxmemory-policy $policy
            r config set maxmemory [expr {[s used_memory] + 400000}]
            set out [output_of [tool $lab replay $other -p [srv port] --fill -c 4 --json]]
            set size [expr {[s maxmemory] - [s used_memory_overhead]}]
            r config set maxmemory 0
            set hits [json_number $out hits]
            set measured [expr {100.0 * $hits / ($hits + [json_number $out misses])}]
            set csv [tmpfile csv]
            output_of [tool $lab curve $other --sizes $size --csv $csv]
            assert {[regexp "$policy,$size,(\[0-9.\]+)" [read_whole $csv] -> share]}
            file delete $csv
            assert_range [expr {100 * $share}] [expr {$measured - 3}] [expr {$measured + 3}] \
                "$policy, SEED=$seed"
        }
        r config set maxmemory-policy noeviction
        set html [tmpfile html]
        output_of [tool $lab curve $other --html $html]
        assert_match "<!DOCTYPE html>*<path*exact LRU*volatile-ttl*</body></html>\n" \
            [read_whole $html]
        assert_no_match "*http*" [read_whole $html]
        file delete $html $other
    }

    test {A stock server takes a replay, too} {
        if {![info exists ::env(BASELINE)] || ![file executable $::env(BASELINE)]} {
            skip "no BASELINE=path of a stock redis-server"
        }
        set port [find_free_port]
        set stock [open |[list $::env(BASELINE) --port $port --save {} --bind 127.0.0.1] r]
        wait_for_condition 200 25 {![catch {close [socket 127.0.0.1 $port]}]} else {
            fail "the stock server does not start"
        }
        set result [tool $lab replay $file -p $port --preload --fill --pace 4]
        exec kill -TERM [pid $stock]
        catch {close $stock}
        assert_match "*preloaded   2 keys*answered    15 requests*hits        71.43 % of 7*" \
            [output_of $result]
        assert_no_match "*error*" [dict get $result out]
    }
    file delete $file
}
