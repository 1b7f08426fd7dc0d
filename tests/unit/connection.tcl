# SPDX-License-Identifier: BSD-3-Clause
# Commands about the connection itself: PING, ECHO, SELECT, HELLO, AUTH without a password, QUIT.

# HELLO's reply as a dict, whatever the protocol.
proc hello_dict {client args} {
    return [$client hello {*}$args]
}

start_server {} {
    test {PING answers PONG, or its argument} {
        assert_equal PONG [r ping]
        assert_equal {hello world} [r ping {hello world}]
        assert_equal "a\0b\r\nc" [r ping "a\0b\r\nc"]
        assert_equal {} [r ping {}]
    }

    test {PING's first form is a status, its second a bulk} {
        assert_equal "+PONG\r\n\$2\r\nhi\r\n" [converse "PING\r\nPING hi\r\n" 2]
    }

    test {PING with two arguments} {
        assert_error_text {ERR wrong number of arguments for 'ping' command} {r ping a b}
    }

    test {Command names in any case} {
        assert_equal PONG [r pInG]
        assert_equal x [r eChO x]
    }

    test {ECHO gives back any bytes} {
        foreach value [list {} x "\0\1\2\xff\xfe" "\r\n" [string repeat ab 100000]] {
            assert_equal $value [r echo $value]
        }
    }

    test {ECHO wants exactly one argument} {
        assert_error_text {ERR wrong number of arguments for 'echo' command} {r echo}
        assert_error_text {ERR wrong number of arguments for 'echo' command} {r echo a b}
    }

    test {SELECT keeps databases apart} {
        r select 3
        r set only-here 1
        r select 4
        assert_equal 0 [r exists only-here]
        r select 3
        assert_equal 1 [r exists only-here]
        r del only-here
        r select 9
    } {OK}

    test {SELECT takes 0 to databases - 1} {
        assert_equal OK [r select 0]
        assert_equal OK [r select 15]
        assert_equal OK [r select 9]
        assert_error_text {ERR DB index is out of range} {r select 16}
        assert_error_text {ERR DB index is out of range} {r select -1}
        assert_error_text {ERR DB index is out of range} {r select 2147483647}
    }

    test {SELECT refuses what is no integer} {
        foreach value {x 1.0 { 1} {1 } 01 99999999999999999999 {}} {
            assert_error_text {ERR value is not an integer or out of range} {r select $value}
        }
        assert_error_text {ERR wrong number of arguments for 'select' command} {r select}
        assert_error_text {ERR wrong number of arguments for 'select' command} {r select 1 2}
    }

    test {A refused SELECT leaves the database as it was} {
        r set select-check 1
        assert_error {ERR DB index is out of range} {r select 16}
        assert_error {ERR value is not an integer or out of range} {r select x}
        assert_equal 1 [r exists select-check]
        r del select-check
    } {1}

    test {SELECT is a matter of one connection} {
        set other [redis_client]
        $other select 5
        $other set k 1
        assert_equal 0 [r exists k]
        $other del k
        $other close
    }

    test {Unknown commands are told with their first arguments} {
        assert_error_text "ERR unknown command `nosuch`, with args beginning with: " {r nosuch}
        assert_error_text "ERR unknown command `NoSuch`, with args beginning with: `a`, `b`, " \
            {r NoSuch a b}
    }

    test {An unknown command's arguments are cut at 128 bytes, its name is not} {
        catch {r [string repeat n 200]} message
        assert_equal "ERR unknown command `[string repeat n 200]`, with args beginning with:\
            " $message
        catch {r nosuch [string repeat a 200] b} message
        assert_equal "ERR unknown command `nosuch`, with args beginning with:\
            `[string repeat a 128]`, " $message
    }

    test {Line ends in an unknown command's arguments do not break the reply} {
        set client [raw_client]
        $client write [client::encode [list "no\r\nsuch" "a\r\nb"]]
        $client write "PING\r\n"
        $client flush
        assert_equal "-ERR unknown command `no  such`, with args beginning with: `a  b`, \r\n" \
            [$client raw_reply]
        assert_equal "+PONG\r\n" [$client raw_reply]
        $client close
    }
}

start_server {} {
    test {HELLO 2 answers with an array} {
        set client [raw_client]
        $client write [client::encode {hello 2}]
        $client flush
        set raw [$client raw_reply]
        assert_match "\\*14\r\n\$6\r\nserver\r\n\$5\r\nredis\r\n\$7\r\nversion\r\n*" $raw
        assert_match "*\$5\r\nproto\r\n:2\r\n\$2\r\nid\r\n:*" $raw
        assert_match "*\$4\r\nrole\r\n\$6\r\nmaster\r\n\$7\r\nmodules\r\n\\*0\r\n" $raw
        $client close
    }

    test {HELLO 3 answers with a map} {
        set client [raw_client]
        $client write [client::encode {hello 3}]
        $client flush
        set raw [$client raw_reply]
        assert_match "%7\r\n\$6\r\nserver\r\n\$5\r\nredis\r\n\$7\r\nversion\r\n*" $raw
        assert_match "*\$5\r\nproto\r\n:3\r\n*" $raw
        $client close
    }

    test {HELLO's fields in order} {
        set reply [r hello [expr {$::options(resp3) ? 3 : 2}]]
        assert_equal {server version proto id mode role modules} [dict keys $reply]
        assert_equal redis [dict get $reply server]
        assert_match {6.2.*} [dict get $reply version]
        assert_equal standalone [dict get $reply mode]
        assert_equal master [dict get $reply role]
        assert_equal {} [dict get $reply modules]
    }

    test {HELLO says which role this server has} {
        assert_equal master [dict get [r hello] role]
        r replicaof 127.0.0.1 1
        assert_equal replica [dict get [r hello] role]
        r replicaof no one
        assert_equal master [dict get [r hello] role]
    }

    test {HELLO without a version keeps the protocol} {
        set client [redis_client]
        $client hello 3
        assert_equal 3 [dict get [$client hello] proto]
        $client hello 2
        assert_equal 2 [dict get [$client hello] proto]
        $client close
    }

    test {HELLO 2 goes back from RESP3} {
        set client [redis_client]
        $client hello 3
        $client hello 2
        assert_equal {nullbulk {}} [[$client deferred yes; $client get nokey; set client]\
            read_typed]
        $client close
    }

    test {HELLO's ids grow from connection to connection} {
        set a [redis_client]
        set b [redis_client]
        assert_lessthan [dict get [$a hello] id] [dict get [$b hello] id]
        $a close
        $b close
    }

    test {HELLO refuses other versions and keeps the protocol} {
        set client [raw_client]
        foreach version {0 1 4 -1 2147483648 9223372036854775807} {
            $client hello $version
            assert_equal {error {NOPROTO unsupported protocol version}} \
                [$client read_typed] $version
        }
        foreach version {x 3.0 { 3} 99999999999999999999 {}} {
            $client hello $version
            assert_equal {error {ERR Protocol version is not an integer or out of range}} \
                [$client read_typed] $version
        }
        $client get nokey
        assert_equal {nullbulk {}} [$client read_typed]
        $client close
    }

    test {HELLO's options and their errors} {
        set client [redis_client]
        $client hello 2
        foreach {words message} {
            {3 auth} {ERR Syntax error in HELLO option 'auth'}
            {3 AUTH a} {ERR Syntax error in HELLO option 'AUTH'}
            {3 setname} {ERR Syntax error in HELLO option 'setname'}
            {3 bogus} {ERR Syntax error in HELLO option 'bogus'}
            {3 setname x bogus} {ERR Syntax error in HELLO option 'bogus'}
            {3 setname {a b}} {ERR Client names cannot contain spaces, newlines or special\
                characters.}
        } {
            assert_error_text $message {$client hello {*}$words}
        }
        $client deferred yes
        $client get nokey
        assert_equal {nullbulk {}} [$client read_typed] "(a refused HELLO changes nothing)"
        $client close
    }

    test {HELLO does its options one after the other, up to the first that fails} {
        r acl setuser helloer on >secret +@all
        set client [redis_client]
        $client hello 2
        assert_error "ERR Client names*" {$client hello 3 auth helloer secret setname {a b}}
        assert_equal helloer [$client acl whoami]
        assert_error "WRONGPASS*" {$client hello 3 setname one auth helloer wrong setname two}
        assert_equal one [$client client getname]
        assert_error "ERR Client names*" {$client hello 3 setname {a b} auth default x}
        assert_equal {one helloer} [list [$client client getname] [$client acl whoami]]
        assert_error "ERR Syntax*" {$client hello 3 setname three auth default x bogus}
        assert_equal {three default} [list [$client client getname] [$client acl whoami]]
        assert_error "ERR Client names*" {$client hello 3 setname four setname {a b}}
        assert_equal four [$client client getname]
        assert_equal 2 [dict get [$client hello] proto]
        $client close
        assert_equal 1 [r acl deluser helloer]
    } {} {needs:client}

    test {HELLO with SETNAME names the connection} {
        set client [redis_client]
        $client hello 2 setname probe
        assert_equal probe [$client client getname]
        $client close
    } {} {needs:client}

    test {HELLO with AUTH against a server without password} {
        set client [redis_client]
        assert_equal 3 [dict get [$client hello 3 auth default anything] proto]
        assert_error_text {WRONGPASS invalid username-password pair or user is disabled.} \
            {$client hello 3 auth nouser x}
        $client close
    }

    test {AUTH against a server without password} {
        assert_error_text {ERR AUTH <password> called without any password configured for the\
            default user. Are you sure your configuration is correct?} {r auth x}
        assert_equal OK [r auth default x]
        assert_error_text {WRONGPASS invalid username-password pair or user is disabled.} \
            {r auth nouser x}
        assert_error_text {ERR syntax error} {r auth a b c}
        assert_error_text {ERR wrong number of arguments for 'auth' command} {r auth}
    }

    test {QUIT answers and then closes} {
        assert_equal "+OK\r\n" [exchange "QUIT\r\n"]
        assert_equal "+OK\r\n" [exchange [client::encode quit]]
    }

    test {QUIT takes arguments without looking at them} {
        assert_equal "+OK\r\n" [exchange "QUIT a b\r\n"]
    }

    test {A closed connection is no longer counted} {
        await_alone
        set before [s connected_clients]
        set clients {}
        for {set i 0} {$i < 20} {incr i} {
            lappend clients [redis_client]
        }
        assert_equal [expr {$before + 20}] [s connected_clients]
        foreach client $clients {
            $client close
        }
        wait_for_condition 100 20 {[s connected_clients] == $before} else {
            fail "connected_clients stays at [s connected_clients]"
        }
    }

    test {Values live on when their connection is gone} {
        set client [redis_client]
        $client set survivor yes
        $client close
        r get survivor
    } {yes}

    test {RESET brings a connection back to its beginning} {
        set client [redis_client]
        $client hello 3
        assert_equal RESET [$client reset]
        assert_equal 2 [dict get [$client hello] proto]
        assert_equal 0 [$client exists survivor]
        $client close
    } {} {needs:reset}
}

start_server {overrides {databases 4}} {
    test {The number of databases is an option} {
        set client [raw_client]
        $client select 3
        assert_equal OK [$client read]
        $client select 4
        assert_error_text {ERR DB index is out of range} {$client read}
        $client close
    }
}

start_server {overrides {maxclients 10}} {
    test {One connection more than maxclients is told so and closed} {
        wait_for_condition 100 20 {[s connected_clients] == 1} else {
            fail "connections that nobody made"
        }
        set clients {}
        for {set i 0} {$i < 9} {incr i} {
            lappend clients [raw_client]
        }
        foreach client $clients {
            $client ping
            assert_equal PONG [$client read]
        }
        set late [raw_client]
        assert_equal "-ERR max number of clients reached\r\n" [$late raw_rest]
        $late close
        foreach client $clients {
            $client close
        }
        wait_for_condition 100 20 {[s connected_clients] == 1} else {
            fail "the others are still counted"
        }
        set again [redis_client]
        assert_equal PONG [$again ping]
        $again close
        assert_morethan_equal [s rejected_connections] 1
    } undefined {tls:skip}
}

start_server {overrides {timeout 1}} {
    test {An idle connection is closed after timeout seconds} {
        # Where we are kept from it, it is closed before it says anything.
        try_again 20 500 {
            set client [raw_client]
            $client ping
            assert_equal PONG [$client read]
            assert_equal 1 [$client closed]
            $client close
        }
    }
}
