# SPDX-License-Identifier: BSD-3-Clause
# redis-cli against the server under test: what it prints, what it exits with, and what a person
# sees in a terminal of 80 columns. The program is ours, also where the server is not.

set ::cli [expr {[info exists ::env(EVENKEEL_BIN)] && $::env(EVENKEEL_BIN) ne "" ?
    $::env(EVENKEEL_BIN) : [file join [file dirname $::tests] build bin]}]/redis-cli
if {[file executable [file dirname $::options(server)]/redis-cli] &&
        [file executable [file dirname $::options(server)]/redis-lab]} {
    set ::cli [file dirname $::options(server)]/redis-cli
}

# The words that begin each call: the server under test and the database of `r`; over TLS where that
# is asked for.
proc cli_words {args} {
    set words [list $::cli -p [srv port] -n 9]
    if {$::options(tls)} {
        lappend words --tls --cacert [certificate ca.crt] --cert [certificate client.crt] \
            --key [certificate client.key]
    }
    return [concat $words $args]
}

# What a call prints, which must end well and say nothing on standard error.
proc cli {args} {
    return [cli_with_input "" {*}$args]
}

proc cli_with_input {input args} {
    set result [run_program [cli_words {*}$args] $input]
    if {[dict get $result status] != 0 || [dict get $result err] ne ""} {
        fail "redis-cli $args: status [dict get $result status], [dict get $result err]"
    }
    return [dict get $result out]
}

proc assert_cli {wanted args} {
    assert_equal $wanted [cli {*}$args]
}

proc assert_cli_fails {status err args} {
    set result [run_program [cli_words {*}$args]]
    assert_equal $status [dict get $result status]
    assert_match $err [dict get $result err]
    return [dict get $result out]
}

# A person at the keyboard, with a home of their own.
proc cli_terminal {args} {
    return [cli_terminal_start on {*}$args]
}

# The same where the terminal's output is on or off at first.
proc cli_terminal_start {output args} {
    set ::cli_home [tmpdir home]
    set environment [list /usr/bin/env HOME=$::cli_home TERM=xterm LC_ALL=C.UTF-8 \
        REDISCLI_HISTFILE= \
        REDISCLI_RCFILE=$::cli_home/rc]
    return [terminal_start $output 24 80 [concat $environment [cli_words -n 0 {*}$args]]]
}

# What was shown since `text` was begun, with the answer to `modes` in it soon.
proc ask_modes {channel variable} {
    upvar 1 $variable text
    terminal_order $channel modes
    return [append text [read $channel]]
}

# Ends it by "quit": a status of 0, and the terminal as it was.
proc cli_terminal_quit {channel} {
    type_keys $channel shown "quit\r"
    assert_equal {0 restored} [terminal_end $channel shown]
}

proc shown_rows {text} {
    return [terminal_rows [regsub {^%pid \d+\n} $text {}] 80]
}

# Lines without those that say how long a command took: on a busy machine any may be slow.
proc without_times {lines} {
    return [lsearch -all -inline -not -regexp $lines {^\(\d+\.\d\ds\)$}]
}

# The rows once the last of them fits the pattern.
proc await_rows {channel variable pattern} {
    upvar 1 $variable text
    set until [expr {[clock milliseconds] + $::patience_ms}]
    while {[clock milliseconds] < $until} {
        append text [read $channel]
        set rows [shown_rows $text]
        if {[regexp -- $pattern [lindex $rows end]]} {
            return $rows
        }
        after 25
    }
    fail "the last row does not fit '$pattern': [join $rows \n]"
}

test {--help fits a screen's columns, -v says the version} {
    set help [run_program [list $::cli --help]]
    assert_equal 0 [dict get $help status]
    assert_match "Usage: redis-cli *" [dict get $help out]
    foreach line [split [dict get $help out] \n] {
        assert {[string length $line] < 80}
    }
    assert_equal [dict get $help out] [dict get [run_program [list $::cli -h]] out]
    assert_match "redis-cli 6.2.16*" [dict get [run_program [list $::cli -v]] out]
}

test {What is wrong with the command line is said, with status 1} {
    foreach {words wanted} {
        --nosuch "*unknown option --nosuch*" {-p x} "*-p wants a number*" -n "*-n wants a value*"
        {-u http://x} "*Invalid URI*" {--cluster info} "*Wrong number of arguments*"
        {--quoted-pattern {"x}} "*Invalid quoted string*" {--show-pushes 7} "*yes or no*"
        {--eval /no/such/file} "Can't open file '/no/such/file': No such file*"
    } {
        set result [run_program [list $::cli {*}$words]]
        assert_equal 1 [dict get $result status]
        assert_match $wanted [dict get $result err]
        assert_equal "" [dict get $result out]
    }
}

test {No server: the reason, and status 1} {
    set result [run_program [list $::cli -s /no/such/socket ping]]
    assert_equal 1 [dict get $result status]
    assert_equal "Could not connect to Redis at /no/such/socket: No such file or directory\n" \
        [dict get $result err]
    assert_equal 1 [dict get [run_program [list $::cli -s /no/such/socket] "ping\n"] status]
}

test {Help needs no server, on the command line either} {
    foreach words {{help get} {? get} {HELP get}} {
        set result [run_program [list $::cli -s /no/such/socket {*}$words]]
        assert_equal {0 {}} [list [dict get $result status] [dict get $result err]]
        assert_match "*GET key*The value of a key.*" [dict get $result out]
    }
    assert_match "*SDIFF*" [dict get [run_program [list $::cli help @set]] out]
}

start_server {tags {"cli"}} {
    r set text "a\"b\nc"
    r rpush list a b
    r hset hash f v
    r zadd zset 1.5 m
    r sadd set x
    set nested {return {1, {2, {3, 'x'}}, {}, false, 'y', 6, 7, 8, 9, {10}}}

    test {Raw replies} {
        foreach {wanted words} [list \
            "a\"b\nc\n" {get text} "\n" {get none} "a\nb\n" {lrange list 0 -1} \
            "\n" {lrange no 0 -1} "OK\n" {set k v} "1\n" {strlen k} \
            "1\n2\n3\nx\n\n\ny\n6\n7\n8\n9\n10\n" \
            [list eval $nested 0] "f\nv\n" {hgetall hash} "f v\n" {-3 hgetall hash} \
            "m\n1.5\n" {-3 zrange zset 0 -1 withscores} "a,b;" {-d , -D {;} lrange list 0 -1} \
            "ERR unknown command `nosuch`, with args beginning with: \n\n" nosuch] {
            assert_cli $wanted {*}$words
        }
    }

    test {Formatted replies} {
        foreach {wanted words} [list \
            "\"a\\\"b\\nc\"\n" {get text} "(nil)\n" {get none} "1) \"a\"\n2) \"b\"\n" \
            {lrange list 0 -1} "(empty array)\n" {lrange no 0 -1} "(integer) 1\n" {strlen k} \
            "(error) ERR unknown command `nosuch`, with args beginning with: \n" nosuch \
            "1# \"f\" => \"v\"\n" {-3 hgetall hash} "(empty hash)\n" {-3 hgetall no} \
            "1~ \"x\"\n" {-3 smembers set} "(empty set)\n" {-3 smembers no} \
            "1) 1) \"m\"\n   2) (double) 1.5\n" {-3 zrange zset 0 -1 withscores} \
            "(double) 1.5\n" {-3 zscore zset m}] {
            assert_cli $wanted --no-raw {*}$words
        }
        assert_cli [join {
            " 1) (integer) 1" " 2) 1) (integer) 2" "    2) 1) (integer) 3" "       2) \"x\""
            " 3) (empty array)" " 4) (nil)" " 5) \"y\"" " 6) (integer) 6" " 7) (integer) 7"
            " 8) (integer) 8" " 9) (integer) 9" "10) 1) (integer) 10\n"
        } \n] --no-raw eval $nested 0
    }

    test {Comma-separated replies} {
        foreach {wanted words} [list \
            "\"a\\\"b\\nc\"\n" {get text} "NULL\n" {get none} "\"a\",\"b\"\n" {lrange list 0 -1} \
            "1\n" {strlen k} "\"f\",\"v\"\n" {-3 hgetall hash} "1.5\n" {-3 zscore zset m} \
            "ERROR,\"ERR unknown command `nosuch`, with args beginning with: \"\n" nosuch] {
            assert_cli $wanted --csv {*}$words
        }
    }

    test {Formatted replies have no characters that a terminal obeys} {
        set bell "return redis.status_reply('\\7\\27\[2Ja\\194\\155\\195\\164\\t')"
        assert_cli "\\x07\\x1b\[2Ja\\xc2\\x9b\xc3\xa4\\x09\n" --no-raw eval $bell 0
        set bell [string map {status_reply error_reply} $bell]
        assert_cli "(error) \\x07\\x1b\[2Ja\\xc2\\x9b\xc3\xa4\\x09\n" --no-raw eval $bell 0
        assert_cli_fails 1 "*x07*x1b\\\[2Ja*" -e eval $bell 0
        assert_cli "\x07\x1b\[2Ja\xc2\x9b\xc3\xa4\t\n\n" --raw eval $bell 0
    }

    test {An UNSUBSCRIBE in a transaction has one answer} {
        assert_equal "OK\nQUEUED\nOK\nPONG\n" \
            [cli_with_input "multi\nunsubscribe a b\ndiscard\nping\n"]
    }

    test {A subscription that is refused ends} {
        assert_cli "ERR unknown command `ssubscribe`, with args beginning with: `a`, \n\n" \
            ssubscribe a
        r acl setuser mute on nopass +@all resetchannels
        assert_match "*NOPERM*" [cli --user mute --pass x --no-auth-warning subscribe a]
        r acl deluser mute
    }

    test {INFO and its kin are shown as text} {
        assert_match "# Server\r\nredis_version:*" [cli --no-raw info server]
        assert_match "# Server\r\nredis_version:*" [cli --no-raw -3 info server]
        assert_match "id=*\n" [cli --no-raw client list]
    }

    test {-e: an error's text on standard error, and status 1} {
        assert_equal "" [assert_cli_fails 1 "ERR unknown command*\n" -e nosuch]
        assert_cli "PONG\n" -e ping
    }

    test {-x takes the last argument from standard input, -r and -i repeat} {
        assert_equal "OK\n" [cli_with_input "a\nb\x00c" -x set body]
        assert_equal "a\nb\x00c" [r get body]
        r del n
        assert_cli "1\n2\n3\n" -r 3 incr n
        assert_cli "4\n5\n" -r 2 -i 0.01 incr n
        assert_cli "OK\nOK\n" -r 2 set k v
    }

    test {--quoted-input takes apart only what is quoted} {
        assert_cli "A b\n" --quoted-input echo {"\x41 b"}
        assert_cli "a\n" --quoted-input echo 'a'
        assert_cli "it's\n" --quoted-input echo it's
        assert_cli "\"\\x41\"\n" echo {"\x41"}
        assert_equal "Invalid quoted string\n" [assert_cli_fails 1 "" --quoted-input echo {"a}]
        assert_equal "Invalid quoted string\n" \
            [assert_cli_fails 1 "" --quoted-input echo {"a" "b"}]
    }

    test {Lines from standard input} {
        r del n
        set lines "set k v\n\nget k\nnosuch\n\"bad\nget \"x\"y\n3 incr n\nselect 3\nmulti\n"
        append lines "get k\nexec\nexit\nset k never"
        assert_equal [list OK {"v"} \
            "(error) ERR unknown command `nosuch`, with args beginning with: " \
            "Invalid argument(s)" "Invalid argument(s)" "(integer) 1" "(integer) 2" "(integer) 3" \
            OK OK QUEUED "1) (nil)" ""] \
            [without_times [split [cli_with_input $lines --no-raw] \n]]
        assert_equal v [r get k]
        assert_equal "v\n" [cli_with_input "get k"]
    }

    test {-n and -u select the database, also behind a name and a password} {
        assert_cli "OK\n" -n 3 set where 3
        assert_cli "3\n" -u redis://127.0.0.1:[srv port]/3 get where
        assert_cli_fails 1 "SELECT 99 failed: ERR DB index is out of range\n" -n 99 get where
    }

    test {Passwords: -a, --user, REDISCLI_AUTH, a URI, --askpass} {
        r acl setuser me on >p%w ~* +@all
        foreach words [list {--user me -a p%w} {--user me --pass p%w} \
                [list -u redis://me:p%25w@127.0.0.1:[srv port]]] {
            assert_cli "me\n" --no-auth-warning {*}$words acl whoami
        }
        set result [run_program [cli_words --user me -a p%w ping]]
        assert_equal "PONG\n" [dict get $result out]
        assert_match "Warning: Using a password *" [dict get $result err]
        assert_cli_fails 1 "AUTH failed: WRONGPASS *" --no-auth-warning --user me -a wrong ping
        set ::env(REDISCLI_AUTH) p%w
        assert_cli "me\n" --user me acl whoami
        unset ::env(REDISCLI_AUTH)
        assert_equal "me\n" [cli_with_input "p%w\n" --user me --askpass acl whoami]
        # What stands behind the password is the command's.
        assert_equal "OK\n" [cli_with_input "p%w\nv\nw" --user me --askpass -x set body]
        assert_equal "v\nw" [r get body]
        assert_equal "me\n" [cli_with_input "p%w\nacl whoami\n" --user me --askpass]
        r acl deluser me
    }

    test {--verbose says which server was reached; UNSUBSCRIBE ends by RESP3, too} {
        set result [run_program [cli_words --verbose -3 ping]]
        assert_equal "PONG\n" [dict get $result out]
        assert_match "Connected to 127.0.0.1:[srv port], RESP3, database 9*\n" \
            [dict get $result err]
        assert_cli "unsubscribe\na\n0\nunsubscribe\nb\n0\n" -3 unsubscribe a b
        assert_cli "unsubscribe\n\n0\n" unsubscribe
    }

    test {--eval parts keys from arguments by a comma} {
        set file [tmpfile lua]
        write_whole $file "return {#KEYS, KEYS\[2\], #ARGV, ARGV\[1\]}\n"
        assert_cli "2\nb\n1\nc\n" --eval $file a b , c
        assert_cli "0\n" --eval $file
    }

    test {--scan, with a pattern, quoted or not} {
        r flushall
        populate 300 key: 3
        assert_equal 300 [llength [split [string trim [cli --scan]] \n]]
        assert_cli "key:7\n" --scan --pattern "*:7"
        assert_cli "key:7\n" --scan --quoted-pattern {"*\x3a7"}
        assert_cli "\"key:7\"\n" --no-raw --scan --pattern "*:7"
    }

    test {--bigkeys and --memkeys find the largest of each type} {
        r flushall
        r set small 1
        r set "large one" [string repeat x 1000]
        r rpush l 1 2 3
        r sadd s 1 2
        set out [cli --bigkeys]
        foreach line {
            {Sampled 4 keys in the keyspace!} {Total key length in bytes is 16 (avg len 4.00)}
            {Biggest string found '"large one"' has 1000 bytes}
            {Biggest   list found '"l"' has 3 items} {Biggest    set found '"s"' has 2 members}
            {2 strings with 1001 bytes (50.00% of keys, avg size 500.50)}
            {0 streams with 0 entries (00.00% of keys, avg size 0.00)}
        } {
            assert {[string first "\n$line\n" $out] >= 0}
        }
        assert_match "*Biggest string found '\"large one\"' has * bytes\n*" [cli --memkeys]
        assert_match "*Sampled 1 keys*" [cli --memkeys-samples 5 --pattern l]
    }

    test {Output that cannot be written is status 1} {
        foreach words {{get l} --scan --bigkeys --memkeys {--stat -i 0.01 -r 2}} {
            set result [run_program [list sh -c {exec "$@" >/dev/full} sh \
                {*}[cli_words {*}$words]]]
            assert_equal 1 [dict get $result status] $words
        }
    }

    test {--hotkeys wants a policy that counts} {
        assert_cli_fails 1 "Error: ERR An LFU maxmemory policy is not selected*" --hotkeys
        r config set maxmemory-policy allkeys-lfu
        r set hot 1
        for {set i 0} {$i < 200} {incr i} {
            r get hot
        }
        assert_match "*hot key found with counter: *keyname: \"hot\"\n*" [cli --hotkeys]
        r config set maxmemory-policy noeviction
    }

    test {--pipe sends what it is given, and counts replies and errors} {
        r flushall
        set input ""
        for {set i 0} {$i < 2000} {incr i} {
            append input "*3\r\n\$3\r\nSET\r\n\$4\r\nk[format %03d [expr {$i % 1000}]]\r\n\$100\r\n[
                string repeat x 100]\r\n"
        }
        assert_match "*Last reply received from server.\nerrors: 0, replies: 2000\n" \
            [cli_with_input $input --pipe]
        assert_equal 1000 [r dbsize]
        set result [run_program [cli_words --pipe] "nosuch\nping\nincr k000"]
        assert_equal 1 [dict get $result status]
        assert_match "*errors: 2, replies: 3\n" [dict get $result out]
        assert_match "ERR unknown command*ERR value is not an integer*" [dict get $result err]
        assert_match "*errors: 0, replies: 1\n" [cli_with_input "set k000 v\x00" --pipe]
    }

    test {--rdb fetches a snapshot, by length and by mark} {
        r config set repl-diskless-sync-delay 0
        foreach diskless {no yes} {
            r config set repl-diskless-sync $diskless
            set file [tmpfile rdb]
            set result [run_program [cli_words --rdb $file]]
            assert_equal 0 [dict get $result status]
            assert_match "*Transfer finished with success*" [dict get $result err]
            set bytes [read_whole $file]
            assert_match "REDIS00*" $bytes
            set again [tmpfile rdb]
            run_program [list sh -c "exec \"\$@\" > $again" sh {*}[cli_words --rdb -]]
            assert_equal [string length $bytes] [string length [read_whole $again]]
        }
        assert_cli_fails 1 "*Error opening '/no/such/x': *" --rdb /no/such/x
    }

    test {--stat, --latency, --latency-dist, --intrinsic-latency say their figures} {
        set lines [split [cli --stat -i 0.05 -r 3] \n]
        assert_match "------- data ------ *" [lindex $lines 0]
        assert_match "keys       mem      clients *" [lindex $lines 1]
        assert_equal 6 [llength $lines]
        assert {[regexp {^1000 +\S+ +\d+ +\d+ +\d+ \(\+0\) +\d+ +\w*$} [lindex $lines 2]]}
        assert {[regexp {^\d+ \d+ \d+\.\d\d \d+\n$} [cli --latency -i 0.1]]}
        assert {[regexp {^\d+,\d+,\d+\.\d\d,\d+\n$} [cli --latency --csv -i 0.1]]}
        assert_match "Max latency so far: *total runs (avg latency: *Worst run took *" \
            [cli --intrinsic-latency 1]
    }

    test {A terminal: prompt, database, transaction, types, slow commands} {
        r flushall
        set port [srv port]
        set terminal [cli_terminal]
        set text ""
        await_rows $terminal text "^127.0.0.1:$port>$"
        foreach {keys prompt} [list \
            "set k v\r" "$port>" "get k\r" "$port>" "select 2\r" "$port\\\[2\\\]>" \
            "multi\r" "$port\\\[2\\\]\\(TX\\)>" "incr n\r" "$port\\\[2\\\]\\(TX\\)>" \
            "select 3\r" "$port\\\[2\\\]\\(TX\\)>" "exec\r" "$port\\\[3\\\]>" \
            "get \"a\r" "$port\\\[3\\\]>" "nosuch\r" "$port\\\[3\\\]>" \
            "2 ping\r" "$port\\\[3\\\]>" "multi\r" "$port\\\[3\\\]\\(TX\\)>" \
            "select 4\r" "$port\\\[3\\\]\\(TX\\)>" "discard\r" "$port\\\[3\\\]>"] {
            set before [llength [shown_rows $text]]
            send_keys $terminal $keys
            wait_for_condition 200 50 {
                [llength [shown_rows [append text [read $terminal]]]] > $before &&
                [regexp "$prompt\$" [lindex [shown_rows $text] end]]
            } else {
                fail "no prompt after $keys: [shown_rows $text]"
            }
        }
        set p 127.0.0.1:$port
        assert_equal [list "$p> set k v" OK "$p> get k" {"v"} "$p> select 2" OK \
            "$p\[2\]> multi" OK \
            "$p\[2\](TX)> incr n" QUEUED "$p\[2\](TX)> select 3" QUEUED "$p\[2\](TX)> exec" \
            "1) (integer) 1" "2) OK" "$p\[3\]> get \"a" "Invalid argument(s)" "$p\[3\]> nosuch" \
            "(error) ERR unknown command `nosuch`, with args beginning with:" "$p\[3\]> 2 ping" \
            PONG PONG "$p\[3\]> multi" OK "$p\[3\](TX)> select 4" QUEUED \
            "$p\[3\](TX)> discard" OK "$p\[3\]>"] [without_times [shown_rows $text]]
        cli_terminal_quit $terminal
    }

    test {A terminal: after EXEC the prompt shows the database that the server has} {
        set port [srv port]
        set terminal [cli_terminal]
        set text ""
        await_rows $terminal text "^127.0.0.1:$port>$"
        foreach {keys prompt} {
            multi "(TX)" {select 999} "(TX)" exec ""
            multi "(TX)" {select 3} "(TX)" {incr n} "(TX)" {select 999} "(TX)" exec {[3]}
            multi {[3](TX)} {select 5} {[3](TX)} nosuch {[3](TX)} exec {[3]}
            multi {[3](TX)} {select 5} {[3](TX)} {exec x} {[3]}
            multi {[3](TX)} {select 4} {[3](TX)} {select 6} {[3](TX)} exec {[6]} {select 999} {[6]}
        } {
            type_keys $terminal text "$keys\r"
            await_shown $terminal text "\n[string map {[ \\[ ] \\] ( \\( ) \\)} \
                127.0.0.1:$port$prompt]> "
        }
        type_keys $terminal text "client list\r"
        await_shown $terminal text { db=6 [^\n]*cmd=client}
        cli_terminal_quit $terminal
    }

    # What a mode shows on a terminal of 80 columns until it matches; Ctrl-C ends what goes on.
    proc mode_rows {pattern args} {
        set terminal [cli_terminal -n 9 {*}$args]
        set text ""
        await_shown $terminal text $pattern
        if {![regexp {%ended} $text]} {type_keys $terminal rest "\x03"}
        set keep $text
        terminal_end $terminal text
        set rows [terminal_rows [regsub -all {%\w+ [^\n]*\n} $keep ""] 80]
        foreach row $rows {assert_lessthan_equal [string length $row] 80}
        return $rows
    }

    test {A terminal: the screen of each mode} {
        r flushall
        r config set maxmemory-policy allkeys-lfu
        r set text [string repeat t 100]
        r rpush list a b c
        for {set i 0} {$i < 300} {incr i} {r get text}

        set samples {min: \d+, max: \d+, avg: \d+\.\d\d \((\d+) samples\)}
        set rows [mode_rows {\(5 samples\)} --latency]
        assert {[regexp "^$samples\$" [lindex $rows 0]]}
        assert_equal 1 [llength $rows]
        set rows [mode_rows {range\r\n.*range\r\n} --latency-history -i 0.1]
        for {set i 0} {$i < 2} {incr i} {
            assert {[regexp "^$samples -- 0\\.\\d\\d seconds range\$" [lindex $rows $i]]}
        }

        set rows [mode_rows {0m\r\n-{45}\r\n[^\n]*\n[^\n]*\n} --latency-dist -i 0.1]
        assert_equal [string repeat - 45] [lindex $rows 0]
        assert_match ". - \\* #*milliseconds" [lindex $rows 1]
        assert_match "From 0 to 100%:*" [lindex $rows 6]
        foreach row [lrange $rows 8 9] {assert_equal .-*#1 [string range $row 0 4]}

        set rows [mode_rows {(\(\+\d+\).*){3}} --stat -i 0.05]
        assert_match "------- data ------ -*load -* - child -" [lindex $rows 0]
        assert_match "keys       mem      clients blocked requests            connections*" \
            [lindex $rows 1]
        assert {[regexp {^2 +\S+ +\d+ +0 +\d+ \(\+0\) +\d+$} [lindex $rows 2]]}

        set rows [mode_rows {%ended 0} --bigkeys]
        assert_match {*Biggest string found so far '"text"' with 100 bytes*} [join $rows \n]
        foreach shown {{*Sampled 2 keys in the keyspace!*} {*Biggest string found '"text"' has 100*}
                {*Biggest   list found '"list"' has 3 items*}
                {*1 strings with 100 bytes (50.00% of keys, avg size 100.00)*}} {
            assert_match $shown [join $rows \n]
        }
        assert_match {*Biggest string found '"text"' has 1[1-9]? bytes*} \
            [join [mode_rows {%ended 0} --memkeys] \n]
        assert_match {*hot key found with counter: *keyname: "text"*} \
            [join [mode_rows {%ended 0} --hotkeys] \n]
        assert_match {Max latency so far: * microseconds.*Worst run took *x longer than*} \
            [join [mode_rows {%ended 0} --intrinsic-latency 1] \n]
        set rows [mode_rows {Gets/sec.*Gets/sec} --lru-test 100]
        assert {[regexp {^\d+ Gets/sec \| Hits: \d+ \([\d.]+%\) \| Misses: \d+ \([\d.]+%\)$} \
            [lindex $rows 0]]}

        # Progress is shown while it lasts, and gone at the end.
        set file [tmpfile rdb]
        set terminal [cli_terminal --rdb $file]
        set text ""
        await_shown $terminal text {%ended 0}
        foreach shown {{sending REPLCONF capa eof*sending REPLCONF rdb-only 1*}
                {*SYNC sent to master, writing *Transfer finished with success*}} {
            assert_match $shown [join [shown_rows $text] ""]
        }
        assert {![regexp {%\x1b} [lindex [split $text \n] end-2]]}
        close $terminal
        r config set maxmemory-policy noeviction
        r flushall
    }

    test {A terminal: hints end with the row, completion, and what was typed before} {
        set port [srv port]
        set terminal [cli_terminal]
        set text ""
        await_rows $terminal text "$port>$"
        send_keys $terminal "linsert l"
        await_rows $terminal text "linsert l BEFORE|AFTER pivot element$"
        send_keys $terminal " before"
        await_rows $terminal text "linsert l before pivot element$"
        send_keys $terminal "\x15set key value"
        await_rows $terminal text "^.{79}\$"
        assert_match {*> set key value \[NX|XX\]*} [lindex [shown_rows $text] end]
        send_keys $terminal "\x15hget\t\t"
        await_rows $terminal text "> hget key field$"
        assert_match "*hget     hgetall*" [join [terminal_rows $text 80] \n]
        send_keys $terminal "\x15GETR\t"
        await_rows $terminal text "> GETRANGE key first last$"
        send_keys $terminal "\x15help @ge\t\r"
        await_rows $terminal text ">$"
        await_shown $terminal text "GEOADD"
        send_keys $terminal "ping marker\r"
        await_shown $terminal text {"marker"}
        send_keys $terminal ":set nohints\rget"
        await_rows $terminal text "> get$"
        send_keys $terminal "\x15\x1b\[A\x1b\[A"
        await_rows $terminal text "> ping marker$"
        send_keys $terminal "\x15"
        cli_terminal_quit $terminal
    }

    test {A terminal that becomes smaller than the line, and larger again} {
        set terminal [cli_terminal]
        set text ""
        await_rows $terminal text "[srv port]>$"
        set typed [string repeat a 300]
        type_keys $terminal text "echo $typed"
        await_shown $terminal text "a{30}"
        foreach size {{2 80} {5 1} {1 2} {24 80}} {
            terminal_size $terminal {*}$size
            after 100
            type_keys $terminal text [string repeat b 200]
            append typed [string repeat b 200]
            await_shown $terminal text b
        }
        type_keys $terminal text "\r"
        await_shown $terminal text {"a+b+"}
        assert {[string first "\"$typed\"" $text] >= 0} $text
        # The size counts for the next line, and while it is edited.
        terminal_size $terminal 24 40
        type_keys $terminal text "linsert l"
        await_rows $terminal text "linsert l BEFORE\\|\\w+$"
        type_keys $terminal text "\x15"
        cli_terminal_quit $terminal
    }

    test {A terminal of another size: the line is drawn anew, and goes on} {
        set terminal [cli_terminal]
        set text ""
        await_rows $terminal text "[srv port]>$"
        set typed [string repeat a 1500]
        type_keys $terminal text "echo $typed"
        wait_for_condition 100 20 {[regexp -all a [append text [read $terminal]]] >= 1500} else {
            fail $text
        }
        # Wider, then with fewer rows than the line had before.
        foreach {rows columns} {24 300 6 300 24 2 24 80} {
            set text ""
            terminal_size $terminal $rows $columns
            await_shown $terminal text a
            append typed b
            type_keys $terminal text b
            await_shown $terminal text b
        }
        type_keys $terminal text "\r"
        await_shown $terminal text {"a+b+"}
        assert {[string first "\"$typed\"" $text] >= 0} $text
        cli_terminal_quit $terminal
    }

    test {A terminal: sizes and keys at any moments lose nothing of the line} {
        set terminal [cli_terminal]
        set text ""
        await_rows $terminal text "[srv port]>$"
        for {set round 0} {$round < [accurate 5 50]} {incr round} {
            set typed [random_string 1 1]
            send_keys $terminal "echo $typed"
            for {set i [random_int 30]} {$i > 0} {incr i -1} {
                set more [random_string 1 [random_pick {1 20 200}]]
                append typed $more
                send_keys $terminal $more
                terminal_size $terminal [random_pick {1 2 24}] [random_pick {1 2 10 80 300}]
                if {[random_int 4] == 0} {after [random_int 20]}
            }
            terminal_size $terminal 24 80
            type_keys $terminal text "\r"
            # The reply stands in a line of its own, whatever was drawn before it.
            await_shown $terminal text "\n\"\\w+\"\r\n.*[srv port]> "
            assert {[string first "\n\"$typed\"\r\n" $text] >= 0} "$typed, but: $text"
        }
        cli_terminal_quit $terminal
    }

    test {What is typed as soon as the prompt is there is the editor's} {
        # The output waits, so that the program stands in the write of its prompt.
        set terminal [cli_terminal_start off]
        set text ""
        wait_for_condition 100 20 {
            [string match "*%modes raw\n*" [ask_modes $terminal text]]
        } else {
            fail "the terminal still edits lines itself while the prompt is written"
        }
        send_keys $terminal "\x04"
        terminal_order $terminal output on
        assert_equal {0 restored} [terminal_end $terminal text]
    }

    test {History is kept for the next session, and secrets are not} {
        set terminal [cli_terminal]
        set text ""
        foreach line {{ping one} {auth secret-1} {config set requirepass ""}
                {acl setuser u >secret-2} {hello 3 auth default secret-3} {-1 auth secret-4}
                {ping two}} {
            send_keys $terminal "$line\r"
        }
        await_shown $terminal text {"two"}
        cli_terminal_quit $terminal
        set file $::cli_home/.rediscli_history
        assert_equal "ping one\nping two\nquit\n" [read_whole $file]
        assert_equal 00600 [file attributes $file -permissions]
        r acl deluser u
        # One that others could read, as an editor may leave it.
        set terminal [cli_terminal]
        set text ""
        await_rows $terminal text "[srv port]>$"
        set file $::cli_home/.rediscli_history
        write_whole $file "ping old\n"
        file attributes $file -permissions 0644
        cli_terminal_quit $terminal
        assert_equal "ping old\nquit\n" [read_whole $file]
        assert_equal 00600 [file attributes $file -permissions]
    }

    test {A password that is not typed to its end leaves the terminal as it was} {
        foreach {keys status} [list "se\x03" -2 "se\x1c" -3 "\x04" 1] {
            set terminal [cli_terminal --askpass ping]
            set text ""
            await_shown $terminal text "Please input password: "
            type_keys $terminal text $keys
            assert_equal [list $status restored] [terminal_end $terminal text]
        }
    }

    test {A terminal: SUBSCRIBE until it is interrupted; a connection that ended is opened anew} {
        set terminal [cli_terminal]
        set text ""
        send_keys $terminal "subscribe news\r"
        await_shown $terminal text {Reading messages... \(press Ctrl-C to quit\)}
        await_shown $terminal text {\(integer\) 1}
        r publish news hello
        await_shown $terminal text {"hello"}
        type_keys $terminal text "\x03"
        await_shown $terminal text "[srv port]> "
        type_keys $terminal text "ping\r"
        await_shown $terminal text PONG
        r client kill type normal
        type_keys $terminal text "echo again\r"
        await_shown $terminal text {"again"}
        cli_terminal_quit $terminal
    }

    test {Ctrl-C at the prompt and the end of input end it, the terminal as it was} {
        foreach keys [list "\x03" "\x04"] {
            set terminal [cli_terminal]
            set text ""
            await_rows $terminal text "[srv port]>$"
            type_keys $terminal text $keys
            assert_equal {0 restored} [terminal_end $terminal text]
        }
    }

    test {A signal that ends it at the prompt leaves the terminal as it was} {
        foreach {signal status} {TERM -15 HUP -1 QUIT -3} {
            set terminal [cli_terminal]
            set text ""
            await_rows $terminal text "[srv port]>$"
            regexp {%pid (\d+)} $text -> pid
            exec kill -$signal $pid
            assert_equal [list $status restored] [terminal_end $terminal text] $signal
        }
    }

    test {The debugger shows what a terminal obeys as numbers} {
        set file [tmpfile lua]
        write_whole $file "local x = 1\t-- \x1b\[2J\nreturn x\n"
        assert_match "*local x = 1\t-- \\\\x1b\\\[2J\n*" \
            [cli_with_input "continue\n" --ldb --eval $file]
    }

    test {The debugger of scripts in a terminal} {
        r set k v
        set file [tmpfile lua]
        write_whole $file \
            "local x = redis.call('get', KEYS\[1\])\nredis.call('set', 'k', 2)\nreturn x\n"
        set terminal [cli_terminal -n 9 --ldb --eval $file k]
        set text ""
        await_shown $terminal text {-> 1   local x = redis.call.*lua debugger> }
        type_keys $terminal text "next\r"
        await_shown $terminal text {-> 2 .*lua debugger> }
        type_keys $terminal text "print x\r"
        await_shown $terminal text {<value> "v".*lua debugger> }
        type_keys $terminal text "restart\r"
        await_shown $terminal text {-> 1   local x = redis.call.*lua debugger> }
        type_keys $terminal text "continue\r"
        await_shown $terminal text \
            {"v"\r\n\r\n\(Lua debugging session ended -- dataset changes rolled back\)}
        await_shown $terminal text ":[srv port]\\\[9\\\]> "
        assert_equal v [r get k]
        cli_terminal_quit $terminal
    }
}

# A server whose INFO says what it is told to.
start_server {tags {"cli"} lines "rename-command info was-info\nrename-command eval info\n"} {
    test {Texts like INFO's keep their lines and tabs, and nothing else that a terminal obeys} {
        set script {return 'a\tb\n\27[2J\7\194\155\195\164'}
        assert_cli "a\tb\n\\x1b\[2J\\x07\\xc2\\x9b\xc3\xa4\n" --no-raw info $script 0
        set script {return redis.error_reply('a\27[2J')}
        assert_cli "a\\x1b\[2J\n" --no-raw info $script 0
        assert_cli "a\x1b\[2J\n" --raw info "return 'a\\27\[2J'" 0
    }
}
