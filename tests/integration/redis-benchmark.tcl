# SPDX-License-Identifier: BSD-3-Clause
# redis-benchmark, against the server under test: what it sends, and each form of what it prints.
# The program is ours, also where the server is not.

set benchmark [expr {[info exists ::env(EVENKEEL_BIN)] && $::env(EVENKEEL_BIN) ne "" ?
    $::env(EVENKEEL_BIN) : [file join [file dirname $::tests] build bin]}]/redis-benchmark
if {[file executable [file dirname $::options(server)]/redis-lab]} {
    set benchmark [file dirname $::options(server)]/redis-benchmark
}

# A load with a rate warns where it was late itself, as it may be on a busy machine.
proc without_late {text} {
    return [regsub -all {WARN: \d+ of \d+ batches were sent more than 5 ms[^\n]*\n} $text {}]
}

# What it prints; the status must be 0 and nothing may stand on the standard error.
proc load {benchmark args} {
    set result [run_program [list $benchmark -p [srv port] {*}$args]]
    assert_equal "" [without_late [dict get $result err]]
    assert_equal 0 [dict get $result status]
    return [dict get $result out]
}

# The status must be 1; returns the standard error.
proc load_fails {benchmark args} {
    set result [run_program [list $benchmark {*}$args]]
    assert_equal 1 [dict get $result status]
    return [dict get $result err]
}

# Numbers become N, so that forms can be compared.
proc form_of {text} {
    regsub -all {[0-9]+(\.[0-9]+)?} $text N text
    return $text
}

# All that a run shows in a terminal of 80 columns; it must end well.
proc screen {benchmark args} {
    set channel [terminal_open 24 80 $benchmark -p [srv port] {*}$args]
    set text ""
    await_shown $channel text {%ended \d+ \w+}
    close $channel
    assert_match "*%ended 0 restored*" $text
    set text [without_late $text]
    return [regsub {\n%ended .*$} [regsub {^%pid \d+\n} $text {}] {}]
}

# The rows that stay of it, without empty ones, as a terminal of so many columns has them.
proc forms_of_rows {text {columns 80}} {
    set rows [lmap row [terminal_rows $text $columns] {form_of [string trimright $row]}]
    return [lsearch -all -inline -not -exact $rows {}]
}

proc calls_of {command} {
    if {[regexp "cmdstat_$command:calls=(\[0-9\]+)" [r info commandstats] -> calls]} {
        return $calls
    }
    return 0
}

# The words that a server was sent, but for what ours asks first.
proc monitored {channel} {
    set lines {}
    while 1 {
        set line [$channel read]
        if {[string match {*"echo" "the end"*} $line]} {
            return $lines
        }
        if {[regexp {^[0-9.]+ \[[^]]*\] (.*)$} $line -> words] \
                && ![string match {"CONFIG"*} $words]} {
            lappend lines $words
        }
    }
}

test {redis-benchmark says how it is used} {
    set help [run_program [list $benchmark --help]]
    assert_equal 0 [dict get $help status]
    assert_match "Usage: redis-benchmark*--rate <R>*" [dict get $help out]
    foreach line [split [dict get $help out] \n] {
        assert {[string length $line] <= 80} $line
    }
    foreach word {--version -v} {
        set version [run_program [list $benchmark $word]]
        assert_equal 0 [dict get $version status]
        assert_match "redis-benchmark *" [dict get $version out]
    }
    assert_match "*unknown option --nosuch*" [load_fails $benchmark --nosuch]
    assert_match "*-c wants a value*" [load_fails $benchmark -c]
    assert_match "*-c wants a number*" [load_fails $benchmark -c 0]
    assert_match "*no test is called \"nosuch\"*" [load_fails $benchmark -t set,nosuch]
    assert_match "*-x wants a command*" [load_fails $benchmark -x]
    assert_match "*Invalid URI*" [load_fails $benchmark -u http://x]
}

test {redis-benchmark gives up a server that greets it with pushes alone} {
    proc push_for_ever {channel args} {
        fconfigure $channel -blocking 0 -translation binary
        fileevent $channel writable [list catch [list push_some $channel]]
    }
    proc take_said {channel} {
        append ::pushes_said [read $channel]
        if {[eof $channel]} {
            set ::pushes_ended end
        }
    }
    proc push_some {channel} {
        if {[catch {puts $channel ">1\r\n+more\r"; flush $channel}]} {
            close $channel
        }
    }
    set listener [socket -server push_for_ever -myaddr 127.0.0.1 0]
    set port [lindex [fconfigure $listener -sockname] 2]
    set channel [open |[list $benchmark -p $port -3 -n 1 -t get -q 2>@1] r]
    fconfigure $channel -blocking 0
    set ::pushes_said ""
    fileevent $channel readable [list take_said $channel]
    set late [after $::patience_ms {set ::pushes_ended late}]
    vwait ::pushes_ended
    after cancel $late
    close $listener
    catch {exec kill -KILL [pid $channel]}
    catch {close $channel}
    assert_equal end $::pushes_ended
    assert_match "Could not connect to Redis at *: no answer in time*" $::pushes_said
} {} {tls:skip}

test {redis-benchmark says that there is no server} {
    set port [find_free_port]
    assert_match "Could not connect to Redis at 127.0.0.1:$port: Connection refused*" \
        [load_fails $benchmark -p $port]
    assert_match "Could not connect to Redis at /nosuch: *" [load_fails $benchmark -s /nosuch]
}

start_server {tags {benchmark} unix 1} {
    r select 0 ;# where the tool is

    test {redis-benchmark sends exactly as many requests as it is told} {
        foreach {requests clients pipeline threads} {
            10 5 1 1   1 50 16 1   1001 7 16 1   1000 50 16 4   10 5 1 10   333 1 100 1
        } {
            r config resetstat
            load $benchmark -n $requests -c $clients -P $pipeline --threads $threads -t set,incr -q
            assert_equal $requests [calls_of set] "-n $requests -c $clients -P $pipeline"
            assert_equal $requests [calls_of incr]
        }
    }

    test {redis-benchmark: the requests of the tests} {
        r flushall
        set watcher [redis_deferring_client]
        $watcher monitor
        $watcher read
        load $benchmark -n 1 -c 1 -q -d 4
        r echo "the end"
        set pair {"key:__rand_int__" "xxxx"}
        assert_equal [list {"PING"} {"PING"} "\"SET\" $pair" {"GET" "key:__rand_int__"} \
            {"INCR" "counter:__rand_int__"} {"LPUSH" "mylist" "xxxx"} {"RPUSH" "mylist" "xxxx"} \
            {"LPOP" "mylist"} {"RPOP" "mylist"} {"SADD" "myset" "element:__rand_int__"} \
            {"HSET" "myhash" "element:__rand_int__" "xxxx"} {"SPOP" "myset"} \
            {"ZADD" "myzset" "0" "element:__rand_int__"} {"ZPOPMIN" "myzset"} \
            {"LPUSH" "mylist" "xxxx"} {"LRANGE" "mylist" "0" "99"} {"LRANGE" "mylist" "0" "299"} \
            {"LRANGE" "mylist" "0" "499"} {"LRANGE" "mylist" "0" "599"} \
            "\"MSET\" [join [lrepeat 10 $pair]]"] [monitored $watcher]
        load $benchmark -n 1 -c 1 -q -r 1 -t zadd
        r echo "the end"
        assert_equal [list {"ZADD" "myzset" "000000000000" "element:000000000000"}] \
            [monitored $watcher]
        $watcher close
    } {} {}

    test {redis-benchmark -r draws all keys} {
        r flushall
        load $benchmark -n 2000 -r 20 -t set -q -P 16
        assert_equal 20 [r dbsize]
        r flushall
        load $benchmark -n 2000 -r 20 --threads 4 -q -P 16 set a:__rand_int__ __rand_int__
        assert_equal 20 [r dbsize]
        assert_equal 1 [r exists a:000000000019]
        r flushall
        load $benchmark -n 100 -q set a:__rand_int__ x
        assert_equal [list a:__rand_int__] [r keys *]
    }

    test {redis-benchmark --seed repeats the numbers} {
        foreach turn {1 2} {
            r flushall
            load $benchmark -n 10 -c 1 -r 1000000 --seed 7 -q rpush list __rand_int__
            set drawn($turn) [r lrange list 0 -1]
        }
        assert_equal 10 [llength $drawn(1)]
        assert_equal $drawn(1) $drawn(2)
    }

    test {redis-benchmark: a command of one's own, and -x} {
        r flushall
        load $benchmark -n 30 -c 3 -q incrbyfloat mykey 1.5
        assert_equal 45 [r get mykey]
        set result [run_program [list $benchmark -p [srv port] -n 3 -q -x set kept] \
            "from standard\ninput"]
        assert_equal 0 [dict get $result status]
        assert_equal "from standard\ninput" [r get kept]
    }

    test {redis-benchmark: --dbnum, -u, -3, --enable-tracking} {
        r flushall
        r config resetstat
        load $benchmark -n 20 -c 4 -q --dbnum 3 -t set
        assert_match "*db3:keys=1,*" [r info keyspace]
        assert_equal 5 [calls_of select] ;# each connection, and the one that asks for CONFIG
        load $benchmark -n 20 -c 4 -q -u redis://127.0.0.1:[srv port]/5 -t set
        assert_match "*db5:keys=1,*" [r info keyspace]
        load $benchmark -n 20 -c 4 -q -3 --enable-tracking -P 4 set a x
        load $benchmark -n 500 -c 4 -q -3 --enable-tracking -r 5 eval \
            {redis.call('get', KEYS[1]); return redis.call('set', KEYS[1], 'x')} 1 a:__rand_int__
    }

    test {redis-benchmark -k 0 connects for each batch} {
        r config resetstat
        load $benchmark -n 100 -c 5 -k 0 -t ping -q
        regexp {total_connections_received:([0-9]+)} [r info stats] -> connections
        assert_range $connections 200 220
        assert_equal 200 [calls_of ping]
    }

    test {redis-benchmark over a unix socket} {
        r config resetstat
        set result [run_program [list $benchmark -s [srv socket] -n 100 -q -t get]]
        assert_equal 0 [dict get $result status]
        assert_equal 100 [calls_of get]
    }

    test {redis-benchmark: an error of the server's ends it} {
        set err [load_fails $benchmark -p [srv port] -n 100 nosuch]
        assert_match "Error from server: ERR unknown command *" $err
        assert_match "Error from server: ERR DB index is out of range*" \
            [load_fails $benchmark -p [srv port] -n 100 --dbnum 999 -t get]
        r set text x
        assert_match "Error from server: WRONGTYPE *" \
            [load_fails $benchmark -p [srv port] --threads 3 -n 100 lpush text x]
    }

    test {redis-benchmark with a password} {
        r config set requirepass secret
        assert_match "*NOAUTH*" [load_fails $benchmark -p [srv port] -n 10 -t get]
        assert_match "*WRONGPASS*" [load_fails $benchmark -p [srv port] -n 10 -t get -a wrong]
        load $benchmark -a secret -n 10 -t get -q
        load $benchmark -a secret --user default -n 10 -t get -q
        r config set requirepass ""
    }

    test {redis-benchmark: the form of a whole report} {
        r config set save ""
        set out [load $benchmark -n 1000 -c 10 -d 20 -P 4 -t set]
        set lines [split $out \n]
        assert_equal "====== SET ======" [lindex $lines 0]
        assert_match "  1000 requests completed in *.?? seconds" [lindex $lines 1]
        assert_equal [list {  10 parallel clients} {  20 bytes payload} {  keep alive: 1} \
            {  host configuration "save": } {  host configuration "appendonly": no} \
            {  multi-thread: no} {} {Latency by percentile distribution:}] [lrange $lines 2 9]
        set percentile {\n0\.000% <= \d+\.\d{3} milliseconds \(cumulative count \d+\)\n}
        assert {[regexp $percentile $out]} $out
        assert {[regexp {\n100\.000% <= \d+\.\d{3} milliseconds \(cumulative count 1000\)\n\nCum} \
            $out]} $out
        assert {[regexp {\n\nCumulative distribution of latencies:\n\d+\.\d{3}% <= 0\.100 } \
            $out]} $out
        assert {[regexp {\n100\.000% <= \d+\.\d00 milliseconds \(cumulative count 1000\)\n\nSum} \
            $out]} $out
        set tail [form_of [join [lrange $lines end-6 end] \n]]
        regsub -all { +} $tail { } tail
        assert_equal "Summary:\n throughput summary: N requests per second\n latency summary (msec):
 avg min pN pN pN max\n N N N N N N\n\n" $tail
    }

    test {redis-benchmark: percentiles and steps only grow} {
        set out [load $benchmark -n 5000 -c 20 -t get]
        set last_share -1
        set last_count 0
        set row {([\d.]+)% <= [\d.]+ milliseconds \(cumulative count (\d+)\)}
        set percentiles [string range $out 0 [string first Cumulative $out]]
        foreach {-> share count} [regexp -all -inline $row $percentiles] {
            assert {$share > $last_share} $out
            assert {$count >= $last_count && $count >= $share * 50 - 1e-6} $out
            set last_share $share
            set last_count $count
        }
        assert_equal {100.000 5000} [list $last_share $last_count]
    }

    test {redis-benchmark -q and --csv} {
        set line {SET: N requests per second, pN=N msec}
        assert_equal "$line\n\n" [form_of [load $benchmark -n 100 -t set -q]]
        set lines [split [load $benchmark -n 100 -t ping,lrange_100 --csv] \n]
        set columns {"test","rps"}
        foreach figure {avg min p50 p95 p99 max} {
            append columns ",\"${figure}_latency_ms\""
        }
        assert_equal $columns [lindex $lines 0]
        set figures [string repeat {,"N"} 7]
        set names {}
        foreach row [lrange $lines 1 end-1] {
            assert {[regexp {^"([^"]+)"(.*)$} $row -> name rest]} $row
            assert_equal $figures [form_of $rest]
            lappend names $name
        }
        assert_equal [list PING_INLINE PING_MBULK {LPUSH (needed to benchmark LRANGE)} \
            {LRANGE_100 (first 100 elements)}] $names
        assert_equal "" [lindex $lines end]
        assert {[regexp {p50=\d+\.\d{5} msec} [load $benchmark -n 10 -t get -q --precision 5]]}
    }

    test {redis-benchmark --csv: a quote in a command is doubled} {
        set words {-n 10 --csv set k {a"b,c}}
        assert_match "\"set k a\"\"b,c\",\"*" [lindex [split [load $benchmark {*}$words] \n] 1]
        set words [linsert $words 0 --compare 127.0.0.1:[srv port] --rounds 1]
        assert_match "\"set k a\"\"b,c\",\"*" [lindex [split [load $benchmark {*}$words] \n] 1]
    }

    test {redis-benchmark: batches that no memory holds are refused} {
        set reason {no room for * batches of * bytes: -P or -d is too large*}
        set words [list -p [srv port] -P 1000000 -t set]
        assert_match $reason [load_fails $benchmark {*}$words -d 500000]
        assert_match $reason [load_fails $benchmark {*}$words -c 1000 -r 10]
    }

    # Each thread's stack takes eight megabytes of addresses.
    test {redis-benchmark: a thread that the system refuses is the reason} {
        if {[s mem_allocator] eq "libc"} {
            skip "a sanitizer takes more addresses than that"
        }
        set result [run_program [list sh -c "ulimit -v 1500000; exec $benchmark \
            -p [srv port] --threads 1024 -c 1024 -t ping"]]
        assert_equal 1 [dict get $result status]
        assert_match "cannot create thread * of 1024: Resource temporarily unavailable\n" \
            [dict get $result err]
    }

    test {redis-benchmark in a terminal: a row of progress, and only the report stays} {
        # A title that leaves no room for all of its figures at 80 columns.
        set long {LPUSH (needed to benchmark LRANGE)}
        set text [screen $benchmark --rate 1000 -n 800 -c 5 -t lrange_100 -q]
        set shown [lsearch -all -inline [split $text \r] *rps=*]
        assert_morethan [llength $shown] 1
        foreach row $shown {
            assert_lessthan [string length $row] 80
        }
        assert_match "LPUSH (needed *: rps=N (overall: N) avg_msec=N (overall: N)*" \
            [form_of [lindex $shown 0]]
        # Long figures of a slow run fill more than a row.
        set line {requests per second, pN=N msec}
        assert_equal [list "$long: N $line" "LRANGE_N (first N elements): N $line"] \
            [forms_of_rows $text 200]

        set rows [forms_of_rows [screen $benchmark --rate 1000 -n 800 -c 5 -t get]]
        assert_equal {====== GET ======} [lindex $rows 0]
        assert_match {*N requests completed in N seconds} [lindex $rows 1]
        set summary [lrange $rows [lsearch $rows Summary:] end]
        assert_equal [list Summary: {throughput summary: N requests per second} \
            {latency summary (msec):} {avg min pN pN pN max} {N N N N N N}] \
            [lmap row [lrange $summary 0 4] {join [regexp -all -inline {\S+} $row]}]

        assert_equal [string map {\n \r\n} [form_of [load $benchmark -n 100 -t get --csv]]] \
            [form_of [screen $benchmark -n 100 -t get --csv]]
    }

    test {redis-benchmark --rate keeps to it, --duration to its time} {
        # Never faster than the rate; how much slower is the machine's business.
        r config resetstat
        set rate [lindex [load $benchmark --rate 1000 -n 500 -c 3 -t get -q] 1]
        assert_equal 500 [calls_of get]
        assert {$rate < 1010} $rate
        set out [load $benchmark --rate 200 --duration 1 --warmup 0.5 -c 3 -t get]
        assert_match "*  200 requests completed in *" $out
        assert_match "*  warm-up: 0.50 seconds*  rate: 200 requests per second are due*" $out
        set began [clock milliseconds]
        load $benchmark --duration 0.5 -t ping_mbulk -q
        assert {[clock milliseconds] - $began >= 500}
    }

    test {redis-benchmark --rate: a server that stands still shows in the latencies} {
        # 500 of 1500 requests are due while it sleeps. Two connections of a closed loop would see
        # but two slow ones; here 19 of 20 is one of those that waited.
        set sleeper [redis_deferring_client]
        r config resetstat
        set channel [open |[list $benchmark -p [srv port] --rate 500 -n 1500 -c 2 -t get --csv \
            2>/dev/null] r]
        wait_for_condition 600 50 {[calls_of get] > 0} else { fail "no load" }
        $sleeper debug sleep 1
        set out [read $channel]
        close $channel
        $sleeper read
        $sleeper close
        set p95 [string trim [lindex [split [lindex [split $out \n] 1] ,] 5] {"}]
        assert {$p95 >= 300} $out
    } {} {needs:debug}

    test {redis-benchmark: what is said to a connection that waits for its turn is no answer} {
        # Who has read the key is told when it changes, and is idle nearly all the time.
        set channel [open |[list $benchmark -p [srv port] -3 --enable-tracking --rate 500 -n 500 \
            -c 20 -q get a 2>@1] r]
        fconfigure $channel -blocking 0
        set out ""
        set until [expr {[clock milliseconds] + $::patience_ms}]
        while {[clock milliseconds] < $until && ![eof $channel]} {
            r set a x
            append out [read $channel]
            after 2
        }
        assert {[eof $channel]} $out
        fconfigure $channel -blocking 1
        close $channel
        assert_match "get a: * requests per second*" [without_late $out]
    }

    test {redis-benchmark --rate: a load that is late itself says so} {
        set channel [open |[list $benchmark -p [srv port] --rate 1000 --duration 2 -c 2 -t get -q \
            2>@1] r]
        r config resetstat
        wait_for_condition 600 50 {[calls_of get] > 0} else { fail "no load" }
        exec kill -STOP [pid $channel]
        after 300
        exec kill -CONT [pid $channel]
        set out [read $channel]
        close $channel
        set said {WARN: ([0-9]+) of [0-9]+ batches were sent more than 5 ms after they were due}
        assert {[regexp $said $out -> late]} $out
        assert_morethan $late 200
        assert_match "GET: *" [without_late $out]
    }

    test {redis-benchmark -I opens connections and waits} {
        set channel [open |[list $benchmark -p [srv port] -I -c 7] r]
        assert_equal "Creating 7 idle connections and waiting forever (Ctrl+C when done)" \
            [gets $channel]
        regexp {connected_clients:([0-9]+)} [r info clients] -> connected
        assert {$connected >= 8} $connected
        exec kill [pid $channel]
        catch {close $channel}
    }

    start_server {} {
        test {redis-benchmark --compare: both servers in turn, and ratios} {
            r config resetstat
            r -1 config resetstat
            set other 127.0.0.1:[srv -1 port]
            set out [load $benchmark --compare $other --rounds 3 -n 200 -t get -q]
            set line "GET: N times the requests per second of N.N:N (N .. N),"
            append line " N times its pN (N .. N)\n\n"
            assert_equal $line [form_of $out]
            assert_match "*cmdstat_get:calls=600,*" [r info commandstats]
            assert_match "*cmdstat_get:calls=600,*" [r -1 info commandstats]
            set out [load $benchmark --compare $other --rounds 2 -n 100 -t get]
            set head "====== GET ======\n  A = 127.0.0.1:[srv port]\n  B = $other\n  2 rounds*"
            assert_match $head $out
            assert_match "*A/B*requests per second *average latency*p50 latency*p99 latency*" $out
            set lines [split [load $benchmark --compare $other --rounds 2 -n 100 -t get --csv] \n]
            assert_equal 21 [llength [split [lindex $lines 0] ,]]
            assert_equal 21 [llength [split [lindex $lines 1] ,]]
            assert_match "--compare wants host:port*" \
                [load_fails $benchmark -p [srv port] --compare nowhere]
            if {[has_ipv6]} {
                r -1 config set bind "127.0.0.1 ::1"
                foreach other [list "\[::1\]:[srv -1 port]" ::1:[srv -1 port]] {
                    r -1 config resetstat
                    load $benchmark --compare $other --rounds 1 -n 10 -t get -q
                    assert_match "*cmdstat_get:calls=10,*" [r -1 info commandstats] $other
                }
                r -1 config set bind 127.0.0.1
            }
        }
    }
}

# Says the same to each client that says something.
proc answer_with {words channel address port} {
    fconfigure $channel -translation binary -buffering none -blocking 0
    fileevent $channel readable [list answer_once $words $channel]
}
proc answer_once {words channel} {
    if {[read $channel] eq "" || [catch {puts -nonewline $channel $words}]} {close $channel}
}

foreach {answer shape} {
    "*1\r\n*1\r\n+x\r\n" {one element that has one}
    "*2\r\n+save\r\n*2\r\n+a\r\n+b\r\n" {an array where a text should be}
    "*0\r\n" {nothing}
    ":1\r\n" {a number}
} {
    test "A server whose CONFIG GET answers with $shape is measured all the same" {
        set listener [socket -server [list answer_with $answer] -myaddr 127.0.0.1 0]
        set port [lindex [fconfigure $listener -sockname] 2]
        set run [open |[list $benchmark -p $port -n 10 -c 1 -t ping_mbulk -q 2>@1] r]
        fconfigure $run -blocking 0
        set out ""
        set until [expr {[clock milliseconds] + $::patience_ms}]
        while {[clock milliseconds] < $until && ![eof $run]} {
            append out [read $run]
            after 25 {set ::benchmark_waited 1}
            vwait ::benchmark_waited
        }
        close $listener
        fconfigure $run -blocking 1
        close $run
        assert_match "*PING_MBULK: * requests per second*" $out
    }
}
