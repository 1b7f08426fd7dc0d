# SPDX-License-Identifier: BSD-3-Clause
# MULTI, EXEC, DISCARD, WATCH, UNWATCH: what is queued and what is refused, what EXEC does, which
# changes of watched keys let it fail, and what the rest of the server sees of it.

# EXEC's reply: "nothing" where it ran nothing, else the list of replies.
proc exec_of {client} {
    $client deferred 1
    $client exec
    set reply [$client read_typed]
    $client deferred 0
    if {[lindex $reply 0] in {null nullarray}} {
        return nothing
    }
    assert_equal array [lindex $reply 0]
    return [client::plain $reply]
}

# EXEC's bytes.
proc exec_bytes {client} {
    $client deferred 1
    $client exec
    set bytes [$client raw_reply]
    $client deferred 0
    return $bytes
}

# A whole transaction of `commands`, whose replies it returns as exec_of does.
proc transaction {client commands} {
    $client multi
    foreach words $commands {
        assert_equal QUEUED [$client {*}$words]
    }
    return [exec_of $client]
}

# Runs commands one after the other; a number is a pause in ms.
proc run_all {client commands} {
    foreach words $commands {
        if {[string is integer -strict $words]} {
            after $words
        } else {
            catch {$client {*}$words}
        }
    }
}

# Whether EXEC of a client that has run `before` (with a WATCH in it) runs its queue after another
# client has run `between`: "nothing" or PONG.
proc watched {before between} {
    r select 9
    r flushall
    set client [redis_client]
    run_all $client $before
    run_all r $between
    set reply [transaction $client {ping}]
    $client close
    return $reply
}

# CLIENT LIST's fields of a client.
proc listed {id} {
    set result {}
    foreach field [split [string trim [r client list id $id]]] {
        set at [string first = $field]
        dict set result [string range $field 0 $at-1] [string range $field $at+1 end]
    }
    return $result
}

proc await_blocked {count} {
    wait_for_condition 500 10 {[s blocked_clients] == $count} else {
        fail "[s blocked_clients] clients wait, not $count"
    }
}

start_server {tags {multi}} {
    test {MULTI, EXEC: commands are queued, then run in order} {
        assert_equal OK [r multi]
        assert_equal QUEUED [r set a 1]
        assert_equal QUEUED [r incr a]
        assert_equal QUEUED [r lrange a 0 -1]
        assert_equal QUEUED [r get a]
        set other [redis_client]
        assert_equal {} [$other get a]
        assert_equal {OK 2\
            {WRONGTYPE Operation against a key holding the wrong kind of value} 2} [exec_of r]
        assert_equal 2 [$other get a]
        assert_equal {} [transaction r {}]
        $other close
    }

    test {DISCARD: nothing runs} {
        r set a before
        r multi
        r set a 1
        assert_equal OK [r discard]
        assert_equal before [r get a]
        assert_error_text {ERR DISCARD without MULTI} {r discard}
        assert_error_text {ERR EXEC without MULTI} {r exec}
    }

    test {MULTI in MULTI, WATCH in MULTI: errors that spoil nothing} {
        r multi
        assert_error_text {ERR MULTI calls can not be nested} {r multi}
        assert_error_text {ERR WATCH inside MULTI is not allowed} {r watch a}
        r set a 1
        assert_equal OK [exec_of r]
    }

    test {A refused command spoils the transaction} {
        foreach {words text} {
            {nosuch x} {ERR unknown command `nosuch`, with args beginning with: `x`, }
            {set a} {ERR wrong number of arguments for 'set' command}
            {multi x} {ERR wrong number of arguments for 'multi' command}
            {discard x} {ERR wrong number of arguments for 'discard' command}
            {unwatch x} {ERR wrong number of arguments for 'unwatch' command}
        } {
            r set a before
            r multi
            assert_equal QUEUED [r set a 1]
            assert_error_text $text {r {*}$words}
            assert_equal QUEUED [r set a 2]
            assert_error_text {EXECABORT Transaction discarded because of previous errors.} {r exec}
            assert_equal before [r get a]
        }
    }

    test {EXEC itself refused: its text, and the transaction is over} {
        set text {EXECABORT Transaction discarded because of:\
            wrong number of arguments for 'exec' command}
        assert_error_text $text {r exec x}
        r multi
        r set a 1
        assert_error_text $text {r exec x}
        assert_error_text {ERR EXEC without MULTI} {r exec}
        r watch a
        r set a 2
        assert_error_text $text {r exec x}
        assert_equal PONG [transaction r {ping}]
    }

    test {After a refused command nothing more is queued} {
        set client [redis_client]
        set id [$client client id]
        $client multi
        $client ping
        $client ping
        assert_equal 2 [dict get [listed $id] multi]
        assert_error {ERR unknown command `nosuch`, with args beginning with: } {$client nosuch}
        $client ping
        assert_equal 2 [dict get [listed $id] multi]
        $client close
    }

    test {Wrong numbers of arguments, and COMMAND INFO} {
        foreach {name arity flags keys} {
            multi 1 {noscript loading stale fast} {0 0 0}
            exec 1 {noscript loading stale skip_slowlog} {0 0 0}
            discard 1 {noscript loading stale fast} {0 0 0}
            watch -2 {noscript loading stale fast} {1 -1 1}
            unwatch 1 {noscript loading stale fast} {0 0 0}
        } {
            set row [lindex [r command info $name] 0]
            assert_equal [list $name $arity $flags {*}$keys] [lrange $row 0 5]
            assert_equal @transaction [lindex $row 6 end]
        }
        assert_error_text {ERR wrong number of arguments for 'watch' command} {r watch}
    }
}

start_server {tags {multi}} {
    test {CLIENT LIST: flags x and d, multi} {
        set client [redis_client]
        set id [$client client id]
        $client watch a
        assert_equal {N -1} [list [dict get [listed $id] flags] [dict get [listed $id] multi]]
        r set a 1
        assert_equal {d -1} [list [dict get [listed $id] flags] [dict get [listed $id] multi]]
        $client multi
        assert_equal {xd 0} [list [dict get [listed $id] flags] [dict get [listed $id] multi]]
        $client ping
        assert_equal {xd 1} [list [dict get [listed $id] flags] [dict get [listed $id] multi]]
        assert_equal nothing [exec_of $client]
        assert_equal {N -1} [list [dict get [listed $id] flags] [dict get [listed $id] multi]]
        assert_match {*flags=x *multi=2 *cmd=exec *} [transaction $client {ping {client info}}]
        $client close
    }

    test {SELECT, SWAPDB and HELLO within} {
        set client [redis_client]
        $client select 3
        assert_equal {OK OK 1} [transaction $client {{select 4} {set k 1} {get k}}]
        assert_equal 1 [$client get k]
        assert_equal {OK OK {}} [transaction $client {{set k 2} {swapdb 3 4} {get k}}]
        $client select 3
        assert_equal 2 [$client get k]
        $client hello 2
        assert_match "\\*2\r\n%7\r\n*\r\n_\r\n" [
            $client multi
            $client hello 3
            $client get nokey
            exec_bytes $client]
        $client close
    }

    test {RESET, QUIT and a protocol error end it} {
        set client [redis_client]
        $client multi
        $client set a reset
        assert_equal RESET [$client reset]
        assert_error_text {ERR EXEC without MULTI} {$client exec}
        $client select 9
        $client watch a
        r set a other
        $client reset
        assert_equal PONG [transaction $client {ping}]
        $client multi
        $client set a quit
        assert_equal OK [$client quit]
        assert [$client closed]
        set client [redis_client]
        $client multi
        $client set a error
        $client write "*1\r\n+x\r\n"
        $client flush
        assert_error {ERR Protocol error: *} {$client read}
        assert [$client closed]
        assert_equal other [r get a]
    }

    test {CLIENT REPLY and CLIENT KILL of itself within} {
        set client [redis_deferring_client]
        $client multi
        foreach words {ping {client reply off} ping {client reply on} ping} {
            $client {*}$words
        }
        $client exec
        for {set i 0} {$i < 6} {incr i} {
            $client read
        }
        assert_equal "*5\r\n+PONG\r\n+OK\r\n+PONG\r\n" [$client raw_read 23]
        $client client id
        set id [$client read]
        $client multi
        $client client kill id $id skipme no
        $client set killed yes
        $client ping
        $client exec
        for {set i 0} {$i < 4} {incr i} {
            $client read
        }
        assert_equal "*3\r\n:1\r\n" [$client raw_rest]
        assert_equal yes [r get killed]
    }

    test {Of a transaction that kills its client nothing is sent after that, whatever comes} {
        set client [redis_deferring_client]
        $client client id
        set id [$client read]
        $client multi
        $client client kill id $id skipme no
        $client client reply on
        $client ping
        $client exec
        assert_equal {OK QUEUED QUEUED QUEUED} [client_replies $client 4]
        wait_for_condition 500 10 {[r client list id $id] eq ""} else {
            fail "the client stays"
        }
        assert_equal "*3\r\n:1\r\n" [$client raw_rest]
        $client close
    }

    test {CLIENT KILL and closing in the middle: nothing is left} {
        set client [redis_client]
        set id [$client client id]
        $client watch a b
        $client multi
        $client set a closed
        assert_equal 1 [r client kill id $id]
        set client [redis_client]
        $client watch a
        $client multi
        $client set a closed
        $client close
        r set a open
        wait_for_condition 200 10 {[s connected_clients] == 1} else {
            fail "[s connected_clients] clients"
        }
        assert_equal open [r get a]
    }

    test {Large arguments} {
        set big [string repeat a 100000]
        set replies [transaction r [list [list set big $big] [list append big b] \
            [list set big $big] [list rpush l $big x $big] [list mset m $big n $big m c] \
            [list getset n $big] [list echo $big] {strlen big}]]
        assert_equal [list OK 100001 OK 3 OK $big $big 100000] $replies
        assert_equal [list $big c $big] [r mget big m n]
        assert_equal [list $big x $big] [r lrange l 0 -1]
        r multi
        r set big [string repeat z 100000]
        r discard
        assert_equal $big [r get big]
    }

    test {Many commands, binary and empty arguments} {
        set commands {}
        set expected {}
        for {set i 0} {$i < 500} {incr i} {
            set value [random_string 0 40 binary]
            lappend commands [list set key:$i $value]
            lappend commands [list get key:$i]
            lappend expected OK $value
        }
        assert_equal $expected [transaction r $commands]
    }
}

start_server {tags {multi}} {
    test {Blocking commands within answer at once} {
        r multi
        foreach words {
            {blpop no 0} {brpop no 0} {brpoplpush no x 0} {blmove no x left left 0}
            {bzpopmin no 0} {bzpopmax no 0} {xread block 0 streams no $} {wait 1 0}
            {blpop no x}
        } {
            assert_equal QUEUED [r {*}$words]
        }
        assert_equal "*9\r\n*-1\r\n*-1\r\n\$-1\r\n\$-1\r\n*-1\r\n*-1\r\n*-1\r\n:0\r\n-ERR timeout\
            is not a float or out of range\r\n" [exec_bytes r]
        r xgroup create s g $ mkstream
        assert_equal {{} OK} [transaction r {
            {xreadgroup group g c block 0 streams s >} {flushall sync}}]
        r rpush l a b
        assert_equal {{l a} b} [transaction r {{blpop l 0} {blmove l m left left 0}}]
        assert_equal 0 [s blocked_clients]
    } {} {resp2}

    test {Outside they wait again afterwards} {
        transaction r {{blpop no 0}}
        set client [redis_deferring_client]
        $client multi
        $client blpop no 0
        $client exec
        $client blpop no 0
        await_blocked 1
        r rpush no x
        $client read
        $client read
        assert_equal {{}} [$client read]
        assert_equal {no x} [$client read]
        $client close
    }

    test {Who waits for a key sees it as EXEC leaves it} {
        set first [redis_deferring_client]
        set second [redis_deferring_client]
        $first blpop wl 0
        await_blocked 1
        $second blpop wl 0
        await_blocked 2
        assert_equal {1 1} [transaction r {{rpush wl a} {del wl}}]
        assert_equal {1 1 2 2} [transaction r {{rpush wl a} {del wl} {rpush wl b c} {llen wl}}]
        assert_equal {wl b} [$first read]
        assert_equal {wl c} [$second read]
        assert_equal 0 [r exists wl]
        $first close
        $second close
    }

    test {MONITOR within is refused} {
        assert_equal {{ERR MONITOR isn't allowed for DENY BLOCKING client} PONG} [
            transaction r {monitor ping}]
    }

    test {MONITOR: lines in the order of running; EXEC is shown where it is refused, too} {
        r ping
        set monitor [redis_deferring_client]
        $monitor monitor
        $monitor read
        transaction r {{set a 1} {select 2} {config get save} {auth secret}}
        assert_error {ERR EXEC without MULTI} {r exec}
        assert_error {EXECABORT Transaction discarded because of: wrong number of argum*} {r exec x}
        r multi
        assert_error {ERR unknown command `nosuch`, with args beginning with: } {r nosuch}
        r set a 2
        assert_error {EXECABORT Transaction discarded because of previous errors.} {r exec}
        r select 9
        r echo end
        foreach {database line} {
            9 "multi" 9 {"set" "a" "1"} 2 {"select" "2"} 2 {"auth" "(redacted)"} 2 "exec"
            2 "exec" 2 {"exec" "x"} 2 "multi" 2 "exec" 9 {"select" "9"} 9 {"echo" "end"}
        } {
            assert {[regexp {\[(\d+) [^]]*\] (.*)$} [$monitor read] -> in words]}
            assert_equal [list $database [string trim $line \"]] [list $in [string trim $words \"]]
        }
        $monitor close
    }

    test {Commandstats, errorstats, the slow log: each command by itself} {
        r set s x
        r config resetstat
        r config set slowlog-log-slower-than 0
        r slowlog reset
        transaction r {{set a 1} {incr s} {get a}}
        assert_error {ERR EXEC without MULTI} {r exec}
        assert_error {EXECABORT Transaction discarded because of: wrong number of argum*} {r exec x}
        r multi
        assert_error {ERR wrong number of arguments for 'set' command} {r set a}
        assert_error {ERR MULTI calls can not be nested} {r multi}
        assert_error {EXECABORT Transaction discarded because of previous errors.} {r exec}
        r watch a
        r set a 1
        transaction r {ping}
        set logged {}
        foreach entry [r slowlog get -1] {
            lappend logged [lindex $entry 3]
        }
        r config set slowlog-log-slower-than 10000
        foreach {command calls rejected failed} {
            multi 4 0 1 exec 4 1 2 set 2 1 0 incr 1 0 1 get 1 0 0 ping 0 0 0 watch 1 0 0
        } {
            assert_equal [list $command $calls $rejected $failed] [list $command \
                [command_stat $command] [command_stat $command rejected_calls] \
                [command_stat $command failed_calls]]
        }
        assert_equal {4 2} [list [error_stat ERR] [error_stat EXECABORT]]
        assert_equal {{slowlog reset} multi {set a 1} {incr s} {get a} multi multi {watch a}\
            {set a 1} multi} [lreverse $logged]
    }

    test {EXEC takes as long as what it runs} {
        r config resetstat
        set mark [stolen_mark]
        transaction r {{debug sleep 0.01} {debug sleep 0.01}}
        assert_morethan_equal [command_stat debug usec] 20000
        assert_morethan_equal [command_stat exec usec] [command_stat debug usec]
        assert_quick [expr {[command_stat multi usec] / 1000}] 10 $mark "(MULTI)"
    }

    test {Latency events: of the command and of EXEC} {
        r config set latency-monitor-threshold 10
        r latency reset
        transaction r {{debug sleep 0.03}}
        r config set latency-monitor-threshold 0
        assert_equal command [lindex [r latency latest] 0 0]
        assert_range [lindex [r latency latest] 0 3] 30 10000
    }
}

start_server {tags {multi}} {
    test {Out of memory: what may still be queued and run} {
        set oom {OOM command not allowed when used memory > 'maxmemory'.}
        set writer [redis_client]
        set reader [redis_client]
        set other [redis_client]
        foreach client [list $writer $reader $other] {
            $client multi
            $client get a
        }
        $writer set a 1
        r config set maxmemory 1
        assert_error_text "EXECABORT Transaction discarded because of: $oom" {$writer exec}
        assert_error_text {ERR EXEC without MULTI} {$writer exec}
        assert_equal {{}} [exec_of $reader]
        assert_equal OK [$other discard]
        $other multi
        foreach words {ping {get a} unwatch multi {watch a}} {
            assert_error_text $oom {$other {*}$words}
        }
        assert_error_text {EXECABORT Transaction discarded because of previous errors.} {
            $other exec
        }
        $other multi
        assert_equal RESET [$other reset]
        $other multi
        assert_equal OK [$other quit]
        r config set maxmemory 0
        $writer close
        $reader close
    }

    test {CLIENT PAUSE WRITE: writes are not queued, an EXEC that writes waits, others run} {
        set writer [redis_client]
        set reader [redis_client]
        set queuing [redis_deferring_client]
        $writer multi
        $writer set a paused
        $reader multi
        $reader get a
        r client pause 100000 write
        assert_equal {{}} [exec_of $reader]
        $writer deferred 1
        $writer exec
        await_blocked 1
        $queuing multi
        assert_equal OK [$queuing read]
        $queuing get a
        assert_equal QUEUED [$queuing read]
        $queuing publish a b
        await_blocked 2
        assert_equal {} [r get a]
        r client unpause
        assert_equal OK [$writer read]
        assert_equal QUEUED [$queuing read]
        $queuing discard
        assert_equal OK [$queuing read]
        assert_equal paused [r get a]
        $writer close
        $reader close
        $queuing close
    } {} {needs:pubsub}

    test {CLIENT PAUSE WRITE holds no EXEC that reads, whatever the client did before} {
        set client [redis_client]
        foreach before {
            {{multi} {set a 1} {exec}} {{multi} {set a 1} {discard}}
            {{watch a} {multi} {set a 1} {exec}} {{watch a b} {multi} {set a 1} {discard}}
            {{watch a} {set a 2} {multi} {set a 1} {exec}} {{multi} {set a 1} {reset}}
            {{multi} {set a} {set a 1} {exec}}
        } {
            foreach command $before {
                catch {$client {*}$command}
            }
            r client pause 100000 write
            $client multi
            $client get a
            $client deferred 1
            $client exec
            wait_for_condition 200 10 {[$client readable] || [s blocked_clients]} else {
                fail "neither a reply nor a client that waits: $before"
            }
            set held [s blocked_clients]
            r client unpause
            $client read
            $client deferred 0
            assert_equal 0 $held $before
        }
        $client close
    }

    test {CLIENT PAUSE within: what follows in the transaction runs} {
        assert_equal {OK OK} [transaction r {{client pause 100000 write} {set a 3}}]
        assert_equal 3 [r get a]
        r client unpause
    }

    test {Without a password only AUTH and the like} {
        set client [redis_client]
        r config set requirepass secret
        $client reset
        assert_error_text {NOAUTH Authentication required.} {$client multi}
        assert_error_text {EXECABORT Transaction discarded because of: NOAUTH Authentication\
            required.} {$client exec}
        $client auth secret
        assert_equal PONG [transaction $client {ping}]
        $client close
        r config set requirepass {}
    }
}

start_server {tags {multi}} {
    test {WATCH: by whom and by what a key is changed} {
        set fill {{set k 1} {set o 2} {rpush l 1} {sadd s 1} {watch k}}
        foreach words {
            {del k} {unlink k} {set k 1} {set k 2 xx} {set k 2 get} {getset k 1} {getdel k}
            {getex k ex 100} {append k x} {setrange k 0 z} {setbit k 0 0} {incr k}
            {rename k j} {rename o k} {renamenx k new} {copy o k replace} {move k 1}
            {expire k 100} {pexpire k -1} {bitop and k o o} {bitop and k none none}
            {sort l store k} {sort none store k} {sunionstore k none} {sunionstore k s}
            flushdb flushall {flushall async} {swapdb 9 1} {mset z 1 k 2}
        } {
            assert_equal nothing [watched $fill [list $words]] $words
            assert_equal nothing [watched [list {*}$fill $words] {}] "$words, by itself"
        }
        foreach words {
            {del none} {set k 2 nx} {setnx k 1} {msetnx k 1 z 1} {get k} {touch k} {persist k}
            {getex k} {getex k persist} {copy k j} {renamenx o k} {renamenx k o} {incr none}
            {object encoding k} {setrange k 0 {}} {swapdb 1 2} {swapdb 9 9} {debug object k}
            {select 1} {lpush k 1} {set l x} {move o 1}
        } {
            assert_equal PONG [watched $fill [list $words]] $words
        }
    }

    test {WATCH: a key that is not there} {
        foreach words {
            {set k 1} {setrange k 0 a} {append k a} {pfadd k} {pfmerge k} {rpush k 1}
            {incr k} {setbit k 0 0} {hset k f 1} {sadd k 1} {zadd k 1 a} {xadd k * a b}
        } {
            assert_equal nothing [watched {{watch k}} [list $words]] $words
        }
        foreach words {
            {del k} {rename k j} {sunionstore k none} {bitop and k none none} {persist k}
            {sort none store k} {lpushx k 1} {spop k} {lrem k 0 1} {hdel k f} {ltrim k 0 1}
            {zadd k xx 1 a} {expire k 10} {getdel k} {move k 1} {xadd k nomkstream * a b}
            {zunionstore k 1 none} {pfcount k} flushall flushdb {swapdb 9 1}
        } {
            assert_equal PONG [watched {{watch k}} [list $words]] $words
        }
    }

    test {WATCH: changes of collections} {
        foreach {fill changes others} {
            {rpush k 1 2 3}
            {{lpush k 0} {rpushx k 0} {lpop k} {rpop k 2} {lrem k 0 1} {ltrim k 0 -1} {lset k 0 1}
                {linsert k before 1 1} {rpoplpush k k} {lmove k k left left} {blpop k 0}
                {rpoplpush k j} {brpoplpush k j 0} {ltrim k 5 9}}
            {{lrem k 0 9} {linsert k before 9 1} {lpop k 0} {lpos k 1} {lrange k 0 -1}}

            {sadd k 1 2 3}
            {{sadd k 4} {srem k 1} {spop k} {spop k 2} {smove k j 1} {sinterstore k k k}
                {sdiffstore k none}}
            {{sadd k 1} {srem k 9} {spop k 0} {smove k j 9} {smove k k 1} {srandmember k}}

            {hset k f 1}
            {{hset k f 1} {hset k g 1} {hsetnx k g 1} {hdel k f} {hincrby k f 0}
                {hincrbyfloat k f 1}}
            {{hsetnx k f 1} {hdel k x} {hget k f} {hgetall k}}

            {zadd k 1 a 2 b}
            {{zadd k 2 a} {zrem k a} {zincrby k 1 a} {zpopmin k} {zpopmax k 2}
                {zremrangebyrank k 0 0} {zremrangebyscore k 1 1} {zrangestore k k 0 -1}
                {zdiffstore k 1 none} {bzpopmin k 0}}
            {{zadd k 1 a} {zadd k nx 3 a} {zadd k xx 1 q} {zrem k x} {zincrby k 0 a} {zpopmin k 0}
                {zremrangebyscore k 8 9} {zrange k 0 -1}}

            {xadd k 1-1 a b}
            {{xadd k 2-1 a b} {xdel k 1-1} {xtrim k maxlen 0}}
            {{xdel k 9-9} {xtrim k maxlen 1} {xgroup create k g $} {xsetid k 5-5}
                {xread streams k 0} {xinfo stream k}}

            {pfadd k a}
            {{pfadd k b} {pfcount k} {pfmerge k} {pfmerge k k}}
            {{pfadd k a}}

            {geoadd k 1 1 a}
            {{geoadd k 2 2 a} {geosearchstore k k frommember a byradius 1 m}}
            {{geoadd k 1 1 a} {geopos k a}}
        } {
            foreach words $changes {
                assert_equal nothing [watched [list $fill {watch k}] [list $words]] $words
            }
            foreach words $others {
                assert_equal PONG [watched [list $fill {watch k}] [list $words]] $words
            }
        }
    }

    test {WATCH: a HyperLogLog that PFDEBUG makes dense} {
        foreach words {{pfdebug getreg k} {pfdebug todense k}} {
            assert_equal nothing [watched {{pfadd k a} {watch k}} [list $words]] $words
            assert_equal PONG [watched {{pfadd k a} {pfdebug todense k} {watch k}} \
                                   [list $words]] $words
        }
        foreach words {{pfdebug encoding k} {pfdebug decode k}} {
            assert_equal PONG [watched {{pfadd k a} {watch k}} [list $words]] $words
        }
    } undefined {ours}

    test {WATCH: what changes in a stream's groups is no change of its key} {
        set fill {
            {xadd k 1-1 a b} {xadd k 2-1 a b} {xgroup create k g 0}
            {xreadgroup group g c count 1 streams k >} {watch k}
        }
        foreach words {
            {xgroup destroy k g} {xgroup setid k g 0} {xgroup delconsumer k g c}
            {xgroup create k h 0} {xgroup createconsumer k g d} {xautoclaim k g d 0 0}
            {xclaim k g d 0 1-1} {xack k g 1-1} {xreadgroup group g c streams k >}
            {xreadgroup group g c noack streams k >} {xsetid k 9-9} {xtrim k minid 1}
        } {
            assert_equal PONG [watched $fill [list $words]] $words
        }
        assert_equal nothing [watched $fill {{xadd k maxlen 1 * a b}}]
        assert_equal nothing [watched $fill {{xtrim k minid 2}}]
        assert_equal nothing [watched {{watch k}} {{xgroup create k g $ mkstream}}]
    }

    test {WATCH: a key is of a database} {
        assert_equal PONG [watched {{select 3} {watch k} {select 9}} {{set k 1}}]
        assert_equal nothing [watched {{select 3} {watch k} {select 9}} {{select 3} {set k 1}\
            {select 9}}]
        assert_equal nothing [watched {{select 1} {set k 1} {select 9} {watch k}} {{swapdb 9 1}}]
        assert_equal nothing [watched {{set k 1} {watch k}} {{swapdb 9 1}}]
        assert_equal PONG [watched {{set k 1} {watch k}} {{select 1} flushdb {select 9}}]
        # It is about what is under the name, whatever database it was: k is in 9 again.
        assert_equal nothing [watched {{watch k}} {{swapdb 9 1} {set k 1}}]
    }

    test {WATCH: keys whose time is up have changed} {
        foreach active {0 1} {
            r debug set-active-expire $active
            # Where the key's time is up before WATCH comes nothing is watched.
            try_again 20 40 {
                assert_equal nothing [watched {{set k 1 px 100} {watch k}} {120}]
                assert_equal nothing [watched {{set k 1 px 100} {watch k}} {120 {get k}}]
            }
            assert_equal PONG [watched {{set k 1 px 100000} {watch k}} {10}]
        }
        # 6.2: also where it was up already when WATCH came.
        r debug set-active-expire 0
        foreach words {{get none} {get k} {del k} {set k 2} {flushall} {swapdb 9 1}} {
            assert_equal nothing [watched {{set k 1 px 1} 10 {watch k}} [list $words]] $words
        }
        assert_equal nothing [watched {{select 1} {set k 1 px 1} 10 {select 9} {watch k}}\
            {{swapdb 9 1}}]
        r debug set-active-expire 1
    }

    test {WATCH: evicted keys have changed} {
        r flushall
        r set k 1
        set client [redis_client]
        $client watch k
        r config set maxmemory-policy allkeys-random
        r config set maxmemory 1
        wait_for_condition 200 10 {[r exists k] == 0} else {
            fail "the key is still there"
        }
        r config set maxmemory 0
        r config set maxmemory-policy noeviction
        assert_equal nothing [transaction $client {ping}]
        $client close
    }

    test {UNWATCH, EXEC, DISCARD and RESET forget watched keys} {
        assert_equal PONG [watched {{watch k} unwatch} {{set k 1}}]
        assert_equal PONG [watched {{watch k} {set k 1} unwatch} {}]
        assert_equal PONG [watched {{watch k} multi exec} {{set k 1}}]
        assert_equal PONG [watched {{watch k} {set k 1} multi exec} {{set k 1}}]
        assert_equal PONG [watched {{watch k} {set k 1} multi discard} {{set k 1}}]
        assert_equal PONG [watched {{watch k} {set k 1} reset} {{set k 1}}]
        assert_equal nothing [watched {{watch k} discard exec} {{set k 1}}]
        r watch k
        assert_equal {OK OK} [transaction r {unwatch {set k 1}}]
        # Queued, it comes too late.
        r watch k
        r set k 2
        assert_equal nothing [transaction r {unwatch}]
    }

    test {WATCH: the same key twice, many keys, many clients} {
        assert_equal nothing [watched {{watch k k} {watch k}} {{set k 1}}]
        assert_equal PONG [watched {{watch k k} {watch k} unwatch} {{set k 1}}]
        set keys {}
        for {set i 0} {$i < 1000} {incr i} {
            lappend keys key:$i
        }
        r watch {*}$keys
        set clients {}
        for {set i 0} {$i < 50} {incr i} {
            set client [redis_client]
            $client watch {*}[lrange $keys $i [expr {$i + 50}]]
            lappend clients $client
        }
        r set key:60 1
        for {set i 0} {$i < 50} {incr i} {
            set expected [expr {60 - $i <= 50 ? "nothing" : "PONG"}]
            assert_equal $expected [transaction [lindex $clients $i] {ping}]
            [lindex $clients $i] close
        }
        assert_equal nothing [transaction r {ping}]
    }

    test {WATCH and a blocking command that takes the key} {
        r flushall
        set client [redis_deferring_client]
        $client watch k
        $client blpop k 0
        $client multi
        $client ping
        $client exec
        await_blocked 1
        r rpush k 1
        $client read
        assert_equal {k 1} [$client read]
        $client read
        $client read
        assert [string match null* [lindex [$client read_typed] 0]]
        $client close
    }

    test {MULTI, EXEC: optimistic locking adds up} {
        r set sum 0
        set clients {}
        for {set i 0} {$i < 8} {incr i} {
            lappend clients [redis_client]
        }
        set done 0
        for {set tries 0} {$tries < 400} {incr tries} {
            set first [random_pick $clients]
            set second [random_pick $clients]
            foreach client [lsort -unique [list $first $second]] {
                $client watch sum
                set sum($client) [$client get sum]
            }
            foreach client [lsort -unique [list $first $second]] {
                if {[transaction $client [list [list set sum [expr {$sum($client) + 1}]]]]
                        eq "OK"} {
                    incr done
                }
            }
        }
        assert_equal $done [r get sum]
        assert_morethan_equal $done 400
        foreach client $clients {
            $client close
        }
    }
}

start_server {tags {multi ours}} {
    test {What is queued counts as the client's, and goes with it} {
        set client [redis_client]
        set id [$client client id]
        set before [dict get [listed $id] tot-mem]
        set normal [s mem_clients_normal]
        $client multi
        for {set i 0} {$i < 100} {incr i} {
            $client set key:$i [string repeat x 1000]
        }
        $client set big [string repeat x 100000]
        set held [expr {[dict get [listed $id] tot-mem] - $before}]
        assert_range $held 200000 300000
        assert_range [expr {[s mem_clients_normal] - $normal}] [expr {$held - 10000}] \
            [expr {$held + 10000}]
        $client discard
        assert_range [dict get [listed $id] tot-mem] 0 [expr {$before + 1000}]
        $client multi
        $client set big [string repeat x 100000]
        $client exec
        assert_range [dict get [listed $id] tot-mem] 0 [expr {$before + 1000}]
        assert_range [s mem_clients_normal] 0 [expr {$normal + 1000}]
        $client close
    }

    test {maxmemory-clients: who queues much is disconnected} {
        set client [redis_client]
        $client multi
        $client ping
        r config set maxmemory-clients 1mb
        assert_error * {
            for {set i 0} {$i < 3000} {incr i} {
                $client set key:$i [string repeat x 1000]
            }
        }
        assert_morethan [s evicted_clients] 0
        r config set maxmemory-clients 0
        assert_range [s mem_clients_normal] 0 200000
        assert_equal 0 [r exists key:1]
    }
}

start_server {tags {multi ours} overrides {databases 1000}} {
    # Microseconds of the command, the least of several runs.
    proc least_usec {words} {
        set least ""
        for {set i 0} {$i < 5} {incr i} {
            r config resetstat
            r {*}$words
            regexp "cmdstat_[lindex $words 0]:calls=1,usec=(\\d+)" [r info commandstats] all usec
            if {$least eq "" || $usec < $least} {
                set least $usec
            }
        }
        return $least
    }

    test {FLUSHALL looks at watched keys once, however many databases there are} {
        r select 0
        set client [redis_client]
        $client select 0
        set keys {}
        for {set i 0} {$i < 20000} {incr i} {
            lappend keys key:$i
        }
        set empty [least_usec flushall]
        $client watch {*}$keys
        set one [least_usec flushdb]
        set all [least_usec flushall]
        # 1,000 looks at them would be 1,000 times that.
        assert_lessthan $all [expr {20 * ($one + $empty + 100)}]
        assert_equal {} [r get key:1]
        r set key:1 x
        r flushall
        $client multi
        $client ping
        assert_equal nothing [exec_of $client]
        $client close
    }
}
