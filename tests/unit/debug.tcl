# SPDX-License-Identifier: BSD-3-Clause
# DEBUG's subcommands about the process; those about data are tested with their features.

tags {needs:debug} {
start_server {} {
    set jemalloc [string match jemalloc* [s mem_allocator]]

    test {DEBUG MALLCTL and MALLCTL-STR} {
        if {!$jemalloc} {
            skip "another allocator"
        }
        assert_equal 4096 [r debug mallctl arenas.page]
        assert_match {5.*} [r debug mallctl-str version]
        assert_equal OK [r debug mallctl-str thread.tcache.flush VOID]
        foreach word {mallctl mallctl-str} {
            assert_error_text {ERR No such file or directory} {r debug $word no.such.thing}
        }
        assert_error_text {ERR Operation not permitted} {r debug mallctl arenas.page 5}
        assert_error_text {ERR value is not an integer or out of range} \
            {r debug mallctl arenas.page x}
        # The old value is the answer.
        set before [r debug mallctl background_thread]
        assert_equal $before [r debug mallctl background_thread 0]
        assert_equal 0 [r debug mallctl background_thread $before]
        assert_equal $before [r debug mallctl background_thread]
    }

    test {DEBUG MALLCTL-STR of a number is an error, no crash} {
        if {!$jemalloc} {
            skip "another allocator"
        }
        assert_error_text {ERR Invalid argument} {r debug mallctl-str arenas.quantum}
        assert_equal PONG [r ping]
    } undefined {ours}

    test {DEBUG ERROR shows all bytes but ends of lines} {
        foreach {text shown} {abc\0def abc\0def \0 \0 "a\r\nb" "a  b" "WHAT is it" "WHAT is it" \
                "a\r\n" "a  " "\n" " " "a " "a " "a\n\n" "a  "} {
            set client [raw_client]
            $client write [client::encode [list debug error $text]]
            $client flush
            assert_equal "-$shown\r\n" [$client raw_reply]
            $client close
        }
    }

    # With 6.2's numbers.
    test {DEBUG OBJECT: the serialized length of strings} {
        foreach {value length} [list {} 1  x 2  12345 3  -1 2  128 3  32768 5  2147483648 11 \
                1234567890123 14  [string repeat x 20] 21  [string repeat x 21] 9 \
                [string repeat x 100] 13  [string repeat abc 1000] 48 \
                abcdefghijklmnopqrstuvwxyz 27 \
                [string repeat abcdefghijklmnopqrstuvwxyz 10] 38 [string repeat xy 100000] 2289] {
            r set key $value
            regexp {serializedlength:(\d+)} [r debug object key] -> got
            # What is compressed may be shorter here, or very little longer.
            set packed [expr {[is_ours] && [string length $value] > 20}]
            assert_range $got [expr {$packed ? $length / 2 : $length}] \
                [expr {$packed ? $length + $length / 50 : $length}] [string range $value 0 30]
        }
        with_config {rdbcompression no} {
            r set key [string repeat x 100]
            assert_match "* serializedlength:102 *" [r debug object key]
        }
    }

    test {DEBUG PAUSE-CRON} {
        assert_equal OK [r debug pause-cron 1]
        set client [redis_client]
        r config set timeout 1
        after 2500
        # Idle clients are closed by the cron.
        assert_equal PONG [$client ping]
        r config set timeout 0
        assert_equal OK [r debug pause-cron 0]
        $client close
    }

    test {DEBUG SDSLEN} {
        r set key hello
        r set number 123
        assert_match "key_sds_len:3, key_sds_avail:0, key_zmalloc: *, val_sds_len:5,\
            val_sds_avail:0, val_zmalloc: *" [r debug sdslen key]
        assert_error_text {ERR Not an sds encoded string.} {r debug sdslen number}
        assert_error_text {ERR no such key} {r debug sdslen nokey}
        r set long [string repeat x 100000]
        assert {[regexp {val_sds_len:100000, val_sds_avail:0, val_zmalloc: (\d+)$} \
            [r debug sdslen long] -> bytes]}
        assert_range $bytes 100000 140000
    }

    test {DEBUG STRUCTSIZE} {
        r debug structsize
    } {bits:64 *:*}

    # 6.2.16 itself ends by a bad memory access here.
    test {DEBUG STRINGMATCH-TEST} {
        r debug stringmatch-test
    } {Apparently Redis did not crash: test passed} {ours}

    test {DEBUG LEAK} {
        if {!$jemalloc} {
            skip "a leak checker may be looking"
        }
        r debug leak [string repeat x 1000]
    } {OK}

    test {DEBUG LOG, ERROR} {
        assert_equal OK [r debug log "a line"]
        wait_for_log "* # DEBUG LOG: a line"
        assert_error_text {CODE of my own} {r debug error "CODE of my own"}
    }

    test {DEBUG: unknown subcommands and wrong numbers of arguments} {
        foreach words {jmap nosuch listpack mallctl pause-cron {pause-cron 0 1}
                sdslen {sdslen a b} {structsize x} {stringmatch-test x} leak log error
                sleep set-active-expire} {
            assert_error_text "ERR Unknown subcommand or wrong number of arguments for\
                '[lindex $words 0]'. Try DEBUG HELP." {r debug {*}$words}
        }
    }

    # 6.2 ends here, whatever follows.
    test {DEBUG: what ends the server takes no argument} {
        foreach word {segfault panic assert oom} {
            assert_error_text "ERR Unknown subcommand or wrong number of arguments for '$word'. Try\
                DEBUG HELP." {r debug $word x}
        }
    } undefined {ours}

    test {DEBUG: what waits for its feature says so} {
        foreach words {{ziplist key}} {
            assert_error_text "ERR DEBUG [lindex $words 0] is not built yet" {r debug {*}$words}
        }
    } undefined {ours}

    test {DEBUG HTSTATS-KEY tells of the table within a value} {
        r del key
        assert_error_text "ERR no such key" {r debug htstats-key key}
        foreach one {
            {hset key %s v} {sadd key %s} {zadd key 1 %s}
        } {
            r del key
            r {*}[format $one 1]
            assert_error_text "ERR The value stored at the specified key is not represented using\
                an hash table" {r debug htstats-key key}
            for {set i 2} {$i <= 600} {incr i} {r {*}[format $one $i]}
            set text [r debug htstats-key key]
            assert_match "Hash table 0 stats (main hash table):\n*" $text
            # A table of 6.2 may be two while it grows.
            set sum 0
            foreach {line count} [regexp -all -inline {number of elements: (\d+)} $text] {
                incr sum $count
            }
            assert_equal 600 $sum
        }
        r set key value
        assert_error_text "ERR The value stored at the specified key is not represented using an\
            hash table" {r debug htstats-key key}
        r del key
    }

    test {DEBUG HELP lists each subcommand once, with what it does} {
        set help [join [r debug help] \n]
        foreach word {ASSERT CRASH-AND-RECOVER ERROR HTSTATS LEAK LOG MALLCTL MALLCTL-STR OBJECT
                OOM PANIC PAUSE-CRON POPULATE PROTOCOL RESTART SDSLEN SEGFAULT SET-ACTIVE-EXPIRE
                SLEEP STRINGMATCH-TEST STRUCTSIZE} {
            assert_equal 1 [regexp -all -line "^$word\\M(?!-)" $help] "$word in $help"
        }
    } undefined {ours}
}
}
