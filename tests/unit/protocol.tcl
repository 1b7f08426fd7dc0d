# SPDX-License-Identifier: BSD-3-Clause
# The protocol, byte by byte: RESP2, RESP3 and inline requests, and every way to break them.
#
# Exact bytes are compared: `exchange` returns all that comes until the server closes, `converse`
# the next replies of a connection that must go on afterwards.

# name, request, reply before the server closes
set protocol_errors {
    {multibulk count that is no number}      "*abc\r\n"                   {invalid multibulk length}
    {multibulk count with a blank}           "* 1\r\n"                    {invalid multibulk length}
    {empty multibulk count}                  "*\r\n"                      {invalid multibulk length}
    {multibulk count of 1024 * 1024 + 1}     "*1048577\r\n"               {invalid multibulk length}
    {multibulk count of 2^31}                "*2147483648\r\n"            {invalid multibulk length}
    {multibulk count of 20 digits}           "*20000000000000000000\r\n"  {invalid multibulk length}
    {word where a bulk is expected}          "*1\r\nfoo\r\n"              {expected '$', got 'f'}
    {status where a bulk is expected}        "*1\r\n+PING\r\n"            {expected '$', got '+'}
    {array where a bulk is expected}         "*1\r\n*1\r\n"               {expected '$', got '*'}
    {third argument without header}          "*3\r\n\$3\r\nSET\r\n\$1\r\nx\r\nfooz\r\n" \
        {expected '$', got 'f'}
    {empty line where a bulk is expected}    "*1\r\n\r\n"                 {expected '$', got '\r'}
    {bulk length that is no number}          "*1\r\n\$x\r\n"              {invalid bulk length}
    {empty bulk length}                      "*1\r\n\$\r\n"               {invalid bulk length}
    {bulk length of -1}                      "*1\r\n\$-1\r\n"             {invalid bulk length}
    {bulk length of -2}                      "*1\r\n\$-2\r\n"             {invalid bulk length}
    {bulk length of 512 MB + 1}              "*1\r\n\$536870913\r\n"      {invalid bulk length}
    {bulk length of 2^31}                    "*1\r\n\$2147483648\r\n"     {invalid bulk length}
    {bulk length of 2^64}                    "*1\r\n\$18446744073709551616\r\n" \
        {invalid bulk length}
    {bulk length with a plus}                "*1\r\n\$+4\r\nPING\r\n"     {invalid bulk length}
    {bulk length with a leading zero}        "*1\r\n\$04\r\nPING\r\n"     {invalid bulk length}
    {open double quote}                      "SET a \"unbalanced\r\n"     {unbalanced quotes in\
        request}
    {open single quote}                      "SET a 'unbalanced\r\n"      {unbalanced quotes in\
        request}
    {text right after a single quote}        "SET a 'x'y\r\n"             {unbalanced quotes in\
        request}
    {text right after a double quote}        "SET a \"x\"y\r\n"           {unbalanced quotes in\
        request}
}

start_server {} {
    foreach {name request reply} $protocol_errors {
        set request [subst -nocommands -novariables $request]
        set reply [subst -nocommands -novariables [string map {{\r} "\r"} $reply]]
        test "Protocol error: $name" {
            assert_equal "-ERR Protocol error: [string map [list \r { }] $reply]\r\n" \
                [exchange $request]
        }
    }

    test {Protocol error: header lines longer than 64 KB} {
        assert_equal "-ERR Protocol error: too big mbulk count string\r\n" \
            [exchange "*[string repeat 1 70000]"]
        assert_equal "-ERR Protocol error: too big bulk count string\r\n" \
            [exchange "*1\r\n\$[string repeat 1 70000]"]
        assert_equal "-ERR Protocol error: too big inline request\r\n" \
            [exchange [string repeat x 70000]]
    }

    test {After a protocol error what follows is not executed} {
        r del after-error
        assert_equal "-ERR Protocol error: invalid bulk length\r\n" \
            [exchange "*1\r\n\$x\r\n*3\r\n\$3\r\nSET\r\n\$11\r\nafter-error\r\n\$1\r\n1\r\n"]
        assert_equal 0 [r exists after-error]
    }

    test {A protocol error ends one connection only} {
        set other [redis_client]
        exchange "*1\r\n\$x\r\n"
        assert_equal PONG [$other ping]
        $other close
    }

    # The log warns once a minute at most: so this test stands before others of its kind.
    test {POST and Host: close the connection in each form, and the log warns} {
        r del web
        set lines [count_log_lines]
        set after [client::encode {set web 1}]
        foreach request [list "POST / HTTP/1.1\r\n" "post\r\n" "Host: example.org\r\n" "HOST:\r\n" \
            [client::encode post] [client::encode {host: a b c}]] {
            assert_equal "" [exchange $request$after] $request
            assert_equal 0 [r exists web] $request
        }
        wait_for_log {*Possible SECURITY ATTACK*} $lines
        assert_equal 1 [regexp -all {Possible SECURITY ATTACK} [server_text [server_id 0]]]
        assert_match "-ERR unknown command `hosts:`*" [converse "hosts:\r\n" 1]
    }

    test {Web requests are closed without an answer} {
        assert_equal "" [exchange "POST / HTTP/1.1\r\n\r\n"]
        assert_equal "" [exchange "Host: example.org\r\n"]
        assert_equal "" [exchange "hOsT: example.org\r\n"]
        assert_equal "" [exchange "GET / HTTP/1.1\r\nHost: x\r\n\r\n"]
    }

    test {Empty and negative multibulk counts are passed over} {
        set ping "*1\r\n\$4\r\nPING\r\n"
        assert_equal "+PONG\r\n" [converse "*0\r\n$ping" 1]
        assert_equal "+PONG\r\n" [converse "*-1\r\n$ping" 1]
        assert_equal "+PONG\r\n" [converse "*-10\r\n$ping" 1]
        assert_equal "+PONG\r\n+PONG\r\n" [converse "*0\r\n*0\r\n${ping}*0\r\n$ping*-1\r\n" 2]
    }

    test {Empty lines between requests are passed over} {
        assert_equal "+PONG\r\n" [converse "\r\n\r\n\r\nPING\r\n" 1]
        assert_equal "+PONG\r\n" [converse "\n\n\nPING\n" 1]
        assert_equal "+PONG\r\n+PONG\r\n" [converse "\r\n*1\r\n\$4\r\nPING\r\n\r\nPING\r\n" 2]
        assert_equal "+PONG\r\n" [converse "   \r\nPING\r\n" 1]
    }

    test {Inline requests end with \n, with or without \r} {
        assert_equal "+PONG\r\n+PONG\r\n" [converse "PING\nPING\r\n" 2]
    }

    test {Inline requests: blanks and tabs between words} {
        assert_equal "\$1\r\na\r\n" [converse "  ECHO \t  a  \t\r\n" 1]
        assert_equal "\$1\r\na\r\n" [converse "\tECHO\ta\r\n" 1]
    }

    test {Inline requests: quotes and escapes} {
        foreach {words value} {
            {"a b"}           {a b}
            {'a b'}           {a b}
            {""}              {}
            {''}              {}
            {"\x41\x7a"}      {Az}
            {"\xG1"}          {xG1}
            {"\n\r\t\b\a"}    "\n\r\t\b\a"
            {"\""}            {"}
            {"\\"}            "\\"
            {"\q"}            {q}
            {'\''}            {'}
            {'\n'}            {\n}
            {'a"b'}           {a"b}
            {"a'b"}           {a'b}
            {a\x41}           {a\x41}
        } {
            assert_equal "\$[string length $value]\r\n$value\r\n" [converse \
                "ECHO $words\r\n" 1] $words
        }
    }

    test {Inline requests: a quote opens inside of a word} {
        assert_equal "\$2\r\nab\r\n" [converse "ECHO a\"b\"\r\n" 1]
    }

    test {2,000 inline commands, in one write and in many} {
        set request ""
        set replies ""
        for {set i 0} {$i < 2000} {incr i} {
            set word [random_string 0 40]
            switch [expr {$i % 4}] {
                0 { append request "ECHO w$i$word\r\n" }
                1 { append request "  echo  \"w$i$word\" \n" }
                2 { append request "ECHO 'w$i$word'\r\n" }
                3 { append request "ECHO \"\\x77$i$word\"\r\n" }
            }
            append replies "\$[string length w$i$word]\r\nw$i$word\r\n"
        }
        assert {[converse $request 2000] eq $replies}
        foreach longest {40 1000 30000} {
            set client [raw_client]
            for {set at 0} {$at < [string length $request]} {incr at $length} {
                set length [expr {1 + [random_int $longest]}]
                $client write [string range $request $at [expr {$at + $length - 1}]]
                $client flush
            }
            assert {[$client raw_read [string length $replies]] eq $replies} $longest
            $client close
        }
    }

    test {Inline commands that set keys, many in one batch} {
        set request ""
        for {set i 0} {$i < 2000} {incr i} {
            append request "SET inline:$i value:$i\r\n"
        }
        converse $request 2000
        r select 0
        for {set i 0} {$i < 2000} {incr i} {
            assert_equal value:$i [r get inline:$i]
        }
        r flushdb
        r select 9
    } {OK}

    test {A zero byte in an inline request harms nobody} {
        set client [raw_client]
        $client write "\0\r\nPI\0NG\r\n"
        $client flush
        assert_equal PONG [r ping]
        $client close
        assert_equal PONG [r ping]
    }

    test {Inline and multibulk requests may follow each other} {
        assert_equal "+PONG\r\n\$1\r\nx\r\n+PONG\r\n\$1\r\ny\r\n" \
            [converse "PING\r\n[client::encode {ECHO x}]PING\r\n[client::encode {ECHO y}]" 4]
    }

    test {The two bytes after a bulk are not looked at} {
        assert_equal "\$3\r\nabc\r\n+PONG\r\n" [converse \
            "*2\r\n\$4\r\nECHO\r\n\$3\r\nabcXXPING\r\n" 2]
    }

    test {Bulks of no bytes} {
        assert_equal "\$0\r\n\r\n" [converse "*2\r\n\$4\r\nECHO\r\n\$0\r\n\r\n" 1]
        assert_match "-ERR unknown command ``, with args beginning with: \r\n" \
            [converse "*1\r\n\$0\r\n\r\n" 1]
    }

    test {A request sent byte by byte} {
        set client [raw_client]
        fconfigure [$client channel] -buffering none
        set request "*3\r\n\$3\r\nSET\r\n\$4\r\nslow\r\n\$5\r\nva\r\ne\r\n"
        append request "PING\r\n*2\r\n\$3\r\nGET\r\n\$4\r\nslow\r\n"
        foreach byte [split $request ""] {
            $client write $byte
            after 1
        }
        assert_equal "+OK\r\n+PONG\r\n\$5\r\nva\r\ne\r\n" \
            "[$client raw_reply][$client raw_reply][$client raw_reply]"
        $client close
    }

    test {A pipeline cut in two at every place} {
        set request "[client::encode {SET k v1}][client::encode {GET k}]PING\r\n"
        for {set cut 1} {$cut < [string length $request]} {incr cut} {
            set client [raw_client]
            $client write [string range $request 0 $cut-1]
            $client flush
            after 2
            $client write [string range $request $cut end]
            $client flush
            assert_equal "+OK\r\n\$2\r\nv1\r\n+PONG\r\n" \
                "[$client raw_reply][$client raw_reply][$client raw_reply]" "(cut at $cut)"
            $client close
        }
    }

    test {Random pipelines in random pieces answer as in one} {
        set requests ""
        set replies ""
        for {set i 0} {$i < [accurate 300 3000]} {incr i} {
            set value [random_string 0 [random_pick {3 30 300 20000}] binary]
            switch [random_int 4] {
                0 {
                    append requests "PING\r\n"
                    append replies "+PONG\r\n"
                }
                1 {
                    append requests [client::encode [list echo $value]]
                    append replies "\$[string length $value]\r\n$value\r\n"
                }
                2 {
                    append requests [client::encode [list set rk $value]] [client::encode {get rk}]
                    append replies "+OK\r\n\$[string length $value]\r\n$value\r\n"
                }
                3 {
                    append requests "*0\r\n\r\n"
                }
            }
        }
        set client [raw_client]
        set place 0
        while {$place < [string length $requests]} {
            set size [expr {1 + [random_int [random_pick {2 20 2000 70000}]]}]
            $client write [string range $requests $place [expr {$place + $size - 1}]]
            $client flush
            incr place $size
        }
        set got [$client raw_read [string length $replies]]
        assert {$got eq $replies} "the replies differ"
        $client close
    }

    test {A bulk of 20 MB} {
        set value [string repeat 0123456789abcdef 1310720]
        r set big $value
        assert {[r get big] eq $value}
        r del big
    } {1} {slow}

    test {Bulks around the sizes where buffers change} {
        foreach size {1023 1024 1025 16383 16384 16385 32765 32766 32767 32768 32769 65535 65536\
            65537
                      131072 1048576} {
            set value [string repeat x $size]
            assert_equal OK [r set k $value]
            assert {[r get k] eq $value} $size
            assert {[r echo $value] eq $value} $size
        }
        r del k
    } {1}

    test {A pipeline of 10,000 commands} {
        set client [redis_deferring_client]
        set request ""
        for {set i 0} {$i < 10000} {incr i} {
            append request "*3\r\n\$3\r\nSET\r\n\$[string length p$i]\r\np$i\r\n\$[string length\
                $i]\r\n$i\r\n"
        }
        for {set i 0} {$i < 10000} {incr i} {
            append request "*2\r\n\$3\r\nGET\r\n\$[string length p$i]\r\np$i\r\n"
        }
        $client write $request
        for {set i 0} {$i < 10000} {incr i} {
            assert_equal OK [$client read]
        }
        for {set i 0} {$i < 10000} {incr i} {
            assert_equal $i [$client read]
        }
        $client close
    }

    test {10,000 arguments in one command} {
        set words {}
        for {set i 0} {$i < 10000} {incr i} {
            lappend words p$i
        }
        assert_equal 10000 [r exists {*}$words]
        assert_equal 10000 [r del {*}$words]
        assert_equal 0 [r exists {*}$words]
    }

    test {A request that never ends does not disturb others} {
        set half [raw_client]
        $half write "*2\r\n\$4\r\nECHO\r\n\$1000000\r\nabc"
        $half flush
        for {set i 0} {$i < 100} {incr i} {
            assert_equal PONG [r ping]
        }
        $half close
        assert_equal PONG [r ping]
    }

    test {proto-max-bulk-len is what limits a bulk} {
        with_config {proto-max-bulk-len 2mb} {
            assert_equal "-ERR Protocol error: invalid bulk length\r\n" [exchange \
                "*1\r\n\$2097153\r\n"]
            set value [string repeat x 2097152]
            assert {[r echo $value] eq $value}
        }
    }

    # Beyond that a key or a member would end the server: their lengths have 32 bits.
    test {no bulk has 4 GiB, whatever proto-max-bulk-len} {
        with_config {proto-max-bulk-len 8gb client-query-buffer-limit 8gb} {
            assert_equal "-ERR Protocol error: invalid bulk length\r\n" [exchange \
                "*1\r\n\$4294967296\r\n"]
            set client [raw_client]
            $client write "*1\r\n\$4294967295\r\n"
            assert {![$client readable 50]}
            $client close
        }
    }

    test {client-query-buffer-limit ends a client that collects too much} {
        with_config {client-query-buffer-limit 1mb} {
            set client [raw_client]
            catch {
                $client write "*2\r\n\$4\r\nECHO\r\n\$2000000\r\n[string repeat x 1999000]"
                $client flush
            }
            assert_equal "" [$client raw_rest]
            $client close
        }
        assert_equal PONG [r ping]
    }
}

# DEBUG PROTOCOL: one reply of each type. name, bytes in RESP2, bytes in RESP3
set protocol_types {
    string   "\$11\r\nHello World\r\n"      "\$11\r\nHello World\r\n"
    integer  ":12345\r\n"                   ":12345\r\n"
    double   "\$18\r\n3.1415926535900001\r\n" ",3.1415926535900001\r\n"
    null     "\$-1\r\n"                     "_\r\n"
    array    "*3\r\n:0\r\n:1\r\n:2\r\n"     "*3\r\n:0\r\n:1\r\n:2\r\n"
    set      "*3\r\n:0\r\n:1\r\n:2\r\n"     "~3\r\n:0\r\n:1\r\n:2\r\n"
    map      "*6\r\n:0\r\n:0\r\n:1\r\n:1\r\n:2\r\n:0\r\n"
             "%3\r\n:0\r\n#f\r\n:1\r\n#t\r\n:2\r\n#f\r\n"
    attrib   "\$39\r\nSome real reply following the attribute\r\n"
             "|1\r\n\$14\r\nkey-popularity\r\n*2\r\n\$7\r\nkey:123\r\n:90\r\n\$39\r\nSome real\
                 reply following the attribute\r\n"
    verbatim "\$25\r\nThis is a verbatim\nstring\r\n"
             "=29\r\ntxt:This is a verbatim\nstring\r\n"
    true     ":1\r\n"                       "#t\r\n"
    false    ":0\r\n"                       "#f\r\n"
    bignum   "\$37\r\n1234567999999999999999999999999999999\r\n"
             "(1234567999999999999999999999999999999\r\n"
}

start_server {tags {needs:debug}} {
    foreach {type two three} $protocol_types {
        test "DEBUG PROTOCOL $type in RESP2 and RESP3" {
            set client [raw_client]
            $client debug protocol $type
            assert_equal [subst -nocommands -novariables $two] [$client raw_reply]
            $client hello 3
            $client raw_reply
            $client debug protocol $type
            assert_equal [subst -nocommands -novariables $three] [$client raw_reply]
            $client close
        }
    }

    test {DEBUG PROTOCOL push: RESP3 only} {
        set client [raw_client]
        $client debug protocol push
        assert_equal "-ERR RESP2 is not supported by this command\r\n" [$client raw_reply]
        $client hello 3
        $client raw_reply
        $client debug protocol push
        assert_equal ">2\r\n\$16\r\nserver-cpu-usage\r\n:42\r\n" [$client raw_reply]
        assert_equal "\$40\r\nSome real reply following the push reply\r\n" [$client raw_reply]
        $client close
    }

    test {DEBUG PROTOCOL with another name} {
        assert_error_text {ERR Wrong protocol type name. Please use one of the following:\
            string|integer|double|bignum|null|array|set|map|attrib|push|verbatim|true|false} \
            {r debug protocol nosuch}
    }

    test {The client library reads every RESP3 type} {
        set client [redis_client]
        $client hello 3
        assert_equal 1 [$client debug protocol true]
        assert_equal 0 [$client debug protocol false]
        assert_equal {} [$client debug protocol null]
        assert_equal 3.1415926535900001 [$client debug protocol double]
        assert_equal {0 0 1 1 2 0} [$client debug protocol map]
        assert_equal "This is a verbatim\nstring" [$client debug protocol verbatim]
        assert_equal {Some real reply following the attribute} [$client debug protocol attrib]
        assert_equal {key-popularity {key:123 90}} [$client attributes]
        assert_equal {Some real reply following the push reply} [$client debug protocol push]
        assert_equal {{server-cpu-usage 42}} [$client pushes]
        $client close
    }

    test {Nulls of ordinary commands in both protocols} {
        set client [raw_client]
        $client get nokey
        assert_equal "\$-1\r\n" [$client raw_reply]
        $client hello 3
        $client raw_reply
        $client get nokey
        assert_equal "_\r\n" [$client raw_reply]
        $client close
    }

    test {a NUL within a header line is an error, at once} {
        foreach {bytes error} {
            "*1\x00\r\n$4\r\nPING\r\n" "invalid multibulk length"
            "*\x001\r\n" "invalid multibulk length"
            "*1\r\n$4\x00\r\nPING\r\n" "invalid bulk length"
            "*1\r\n$\x00\r\n" "invalid bulk length"
        } {
            set client [raw_client]
            $client write [subst -nocommands -novariables $bytes]
            assert_equal "-ERR Protocol error: $error\r\n" [$client raw_rest]
            $client close
        }
    }

    test {a line that begins with a NUL gets no reply} {
        set client [raw_client]
        $client write "\x00\r\n"
        $client flush
        assert_equal 0 [$client readable 200]
        $client close
        assert_equal PONG [r ping]
    }

    test {DEBUG ERROR replies with an error of that text} {
        assert_error_text {MYERR custom error} {r debug error {MYERR custom error}}
    }
}
