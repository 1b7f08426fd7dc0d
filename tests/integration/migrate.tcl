# SPDX-License-Identifier: BSD-3-Clause
# MIGRATE between two servers: what goes, what stays, and what is said of a target that fails.

# How long a target may be silent where it is to answer: as long as a loaded machine takes.
set patience 60000

proc each_type {} {
    r -1 flushall
    r -1 set text [string repeat abc 3000]
    r -1 set number 17
    r -1 rpush list a 1 [string repeat y 9000]
    r -1 sadd set a b c
    r -1 sadd numbers 1 2 300000
    r -1 hset hash f v
    r -1 zadd zset 1.5 a -inf b
    for {set i 0} {$i < 600} {incr i} {
        r -1 sadd bigset $i:x
        r -1 zadd bigzset $i.5 $i
        r -1 hset bighash $i:f $i
    }
    r -1 xadd stream 1-1 f v
    r -1 xadd stream 1-2 f v
    r -1 xgroup create stream g 0
    r -1 xreadgroup group g c count 1 streams stream >
}

start_server {tags {migrate}} {
start_server {} {
    set host [srv 0 host]
    set port [srv 0 port]

    test {MIGRATE moves keys of every type, and their deadlines} {
        each_type
        r flushall
        r -1 pexpire hash 100000000
        r -1 set gone x px 1
        set keys [lsort [lsearch -all -inline -not [r -1 keys *] gone]]
        foreach key $keys {
            set before [r -1 debug digest-value $key]
            assert_equal OK [r -1 migrate $host $port $key 9 $patience]
            assert_equal 0 [r -1 exists $key]
            assert_equal $before [r debug digest-value $key] $key
        }
        assert_range [r pttl hash] 1 100000000
        assert_equal -1 [r pttl text]
        assert_equal {1 1-1 1-1 {{c 1}}} [r xpending stream g]
        assert_equal $keys [lsort [r keys *]]
        wait_for_condition 500 10 {[r -1 exists gone] == 0} else {
            fail "a key does not expire"
        }
        assert_equal NOKEY [r -1 migrate $host $port gone 9 $patience]
    }

    test {MIGRATE COPY, REPLACE, and a key that is there already} {
        r -1 flushall
        r -1 set k new
        r set k old
        assert_error_text {ERR Target instance replied with error: BUSYKEY Target key name already\
            exists.} {r -1 migrate $host $port k 9 $patience}
        assert_equal old [r get k]
        assert_equal OK [r -1 migrate $host $port k 9 $patience copy replace]
        assert_equal {new new} [list [r get k] [r -1 get k]]
        assert_equal OK [r -1 migrate $host $port k 9 $patience REPLACE]
        assert_equal {new 0} [list [r get k] [r -1 exists k]]
    }

    test {MIGRATE KEYS: those that are taken go, the others stay} {
        r -1 flushall
        r flushall
        foreach key {a b c d} {
            r -1 set $key $key
        }
        r set b other
        assert_error {ERR Target instance replied with error: BUSYKEY*} {
            r -1 migrate $host $port "" 9 $patience keys a missing b c d
        }
        assert_equal {b} [r -1 keys *]
        assert_equal {a other c d} [r mget a b c d]
        assert_equal OK [r -1 migrate $host $port "" 9 $patience replace keys b]
        assert_equal {0 b} [list [r -1 dbsize] [r get b]]
        assert_equal NOKEY [r -1 migrate $host $port "" 9 $patience keys a b]
    }

    test {MIGRATE: many keys, and large ones, in one go} {
        r -1 flushall
        r flushall
        set keys {}
        for {set i 0} {$i < 2000} {incr i} {
            lappend keys key:$i
            r -1 set key:$i [string repeat $i 50]
        }
        set noise [open /dev/urandom rb]
        r -1 set large [read $noise 8000000]
        close $noise
        set digest [r -1 debug digest]
        assert_equal OK [r -1 migrate $host $port "" 9 $patience keys large {*}$keys]
        assert_equal 0 [r -1 dbsize]
        assert_equal $digest [r debug digest]
        assert_equal OK [r migrate [srv -1 host] [srv -1 port] "" 9 $patience keys {*}$keys large]
        assert_equal $digest [r -1 debug digest]
        assert_equal 0 [r dbsize]
    }

    test {MIGRATE: errors of its arguments} {
        r -1 flushall
        r -1 set k v
        foreach {words error} {
            {k 9 soon} {ERR value is not an integer or out of range}
            {k zero 100} {ERR value is not an integer or out of range}
            {k 9 100 copy nosuch} {ERR syntax error}
            {k 9 100 auth} {ERR syntax error}
            {k 9 100 auth2 user} {ERR syntax error}
            {k 9 100 keys k} {ERR When using MIGRATE KEYS option, the key argument must be set to\
                the empty string}
            {k 9} {ERR wrong number of arguments for 'migrate' command}
        } {
            assert_error_text [regsub -all {\s+} $error " "] {r -1 migrate $host $port {*}$words}
        }
        assert_equal NOKEY [r -1 migrate $host $port "" 9 100 keys]
        assert_equal NOKEY [r -1 migrate $host $port nokey 9 100]
        assert_equal v [r -1 get k]
        assert_equal {a b} [r command getkeys migrate $host $port "" 9 100 copy keys a b]
        assert_equal k [r command getkeys migrate $host $port k 9 100]
    }

    test {MIGRATE to nobody, to a server that is silent, to itself} {
        r -1 flushall
        r -1 set k v
        assert_error_text {IOERR error or timeout writing to target instance} {
            r -1 migrate $host [find_free_port] k 9 $patience
        }
        assert_error_text {IOERR error or timeout reading to target instance} {
            r -1 migrate [srv -1 host] [srv -1 port] k 9 50
        }
        pause_process [srv 0 pid]
        set code [catch {r -1 migrate $host $port k 9 50} error]
        exec kill -CONT [srv 0 pid]
        assert_equal {IOERR error or timeout reading to target instance} $error
        assert_equal v [r -1 get k]
        # What was sent may have come to something there, but not for the next one.
        wait_for_condition 500 10 {[r ping] eq "PONG"} else {
            fail "the target does not go on"
        }
        assert_equal OK [r -1 migrate $host $port k 9 $patience replace]
        assert_equal v [r get k]
    } undefined {tls:skip}

    test {MIGRATE keeps its connections, and takes a new one for one that was closed} {
        r -1 flushall
        r flushall
        r -1 mset a 1 b 2 c 3
        r -1 migrate $host $port a 9 $patience
        set connections [s total_connections_received]
        r -1 migrate $host $port b 9 $patience
        assert_equal $connections [s total_connections_received]
        assert_morethan_equal [s -1 migrate_cached_sockets] 1
        r client kill type normal skipme yes
        assert_equal OK [r -1 migrate $host $port c 9 $patience]
        assert_equal {1 2 3} [r mget a b c]
    }

    test {MIGRATE selects the database that was asked for} {
        r -1 flushall
        r flushall
        r -1 mset a 1 b 2 c 3
        assert_equal OK [r -1 migrate $host $port a 5 $patience]
        assert_error_text {ERR Target instance replied with error: ERR DB index is out of range} {
            r -1 migrate $host $port b 99 $patience
        }
        assert_equal OK [r -1 migrate $host $port c 5 $patience]
        r select 5
        assert_equal {1 3} [r mget a c]
        r select 9
        assert_equal 2 [r -1 get b]
    }

    test {MIGRATE to a database that there is not leaves nothing in another} {
        r -1 flushall
        r flushall
        r -1 mset a 1 b 2
        assert_equal OK [r -1 migrate $host $port a 5 $patience]
        assert_error {ERR Target instance replied with error: ERR DB index*} {
            r -1 migrate $host $port b 99 $patience
        }
        assert_match {*db5:keys=1*} [r info keyspace]
    } undefined ours

    test {MIGRATE AUTH and AUTH2} {
        r -1 flushall
        r flushall
        r -1 mset a 1 b 2 c 3
        r acl setuser mover on >word ~* +@all
        r config set requirepass secret
        foreach {words error} {
            {} {NOAUTH Authentication required.}
            {auth wrong} {WRONGPASS invalid username-password pair or user is disabled.}
            {auth2 mover wrong} {WRONGPASS invalid username-password pair or user is disabled.}
        } {
            r client kill type normal skipme yes
            assert_error_text "ERR Target instance replied with error: $error" {
                r -1 migrate $host $port a 9 $patience {*}$words
            }
        }
        assert_equal OK [r -1 migrate $host $port a 9 $patience auth secret]
        assert_equal OK [r -1 migrate $host $port "" 9 $patience auth2 mover word keys b c]
        r config set requirepass {}
        assert_equal {1 2 3} [r mget a b c]
        assert_equal 0 [r -1 dbsize]
    }

    test {MIGRATE: passwords are in no log} {
        r -1 config set slowlog-log-slower-than 0
        r -1 slowlog reset
        r -1 migrate $host $port nokey 9 100 auth secret1
        r -1 migrate $host $port "" 9 100 auth2 secret2 secret3 keys auth nokey
        r -1 config set slowlog-log-slower-than -1
        set log [r -1 slowlog get]
        assert_no_match {*secret*} $log
        assert_match {*keys auth nokey*} $log
    }

    test {MIGRATE within EXEC and within a script} {
        r -1 flushall
        r flushall
        r -1 multi
        r -1 set a 1
        r -1 migrate $host $port a 9 $patience
        r -1 exists a
        assert_equal {OK OK 0} [r -1 exec]
        assert_equal OK [r -1 eval {
            redis.call('set', KEYS[1], 2)
            return redis.call('migrate', ARGV[1], ARGV[2], KEYS[1], 9, ARGV[3])
        } 1 b $host $port $patience]
        assert_equal {1 2} [r mget a b]
        assert_equal 0 [r -1 dbsize]
    }

    test {MIGRATE: the log and replicas get DEL of what was taken} {
        r -1 flushall
        r flushall
        r -1 mset a 1 b 2 c 3
        r set b other
        r -1 debug effects start
        catch {r -1 migrate $host $port "" 9 $patience keys a b c}
        assert_equal {{9 DEL a c}} [r -1 debug effects log]
        assert_equal OK [r -1 migrate $host $port b 9 $patience copy replace]
        catch {r -1 migrate $host [find_free_port] b 9 $patience}
        assert_equal {} [r -1 debug effects log]
        r -1 debug effects stop
    } undefined ours

    test {MIGRATE announces "del"} {
        r -1 flushall
        r flushall
        r -1 mset a 1 b 2
        r -1 config set notify-keyspace-events Eg
        set listener [redis_client -1]
        $listener psubscribe *
        r -1 migrate $host $port "" 9 $patience keys a b
        assert_equal {pmessage * __keyevent@9__:del a} [$listener read]
        assert_equal {pmessage * __keyevent@9__:del b} [$listener read]
        $listener close
        r -1 config set notify-keyspace-events {}
    } undefined resp2
}
}
