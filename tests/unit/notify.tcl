# SPDX-License-Identifier: BSD-3-Clause
# Keyspace notifications: which events each command announces, of which class, in which order.

# What was published since the last call: "event key" for each event, with "@db" where it is not
# database 9, as K and E tell it alike. A message of our own marks the end.
proc events {listener} {
    set found {}
    set last {}
    r publish end-of-events {}
    while {1} {
        set words [$listener read]
        if {[lindex $words 0] eq "message"} {
            assert_equal {} $last
            return $found
        }
        set channel [lindex $words 2]
        set text [lindex $words 3]
        assert {[regexp {^__key(space|event)@(\d+)__:(.*)$} $channel -> kind db name]} $channel
        set place [expr {$db == 9 ? "" : "@$db"}]
        if {$kind eq "space"} {
            assert_equal {} $last
            set last "$text $name$place"
        } else {
            assert_equal $last "$name $text$place"
            lappend found $last
            set last {}
        }
    }
}

proc listener {} {
    set listener [redis_deferring_client]
    $listener psubscribe __key*@*__:*
    $listener read
    $listener subscribe end-of-events
    $listener read
    return $listener
}

# The events of the command `words` after the commands `before`.
proc assert_events {listener before words expected} {
    r flushall
    foreach command $before {
        r {*}$command
    }
    events $listener
    catch {r {*}$words}
    assert_equal $expected [events $listener] $words
}

proc await_blocked {} {
    wait_for_condition 200 10 {[string match "*blocked_clients:1\r*" [r info clients]]} else {
        fail "the client does not wait"
    }
}

# Commands before, the command, its events.
set table {
    {} {set k v} {{set k}}
    {} {set k v ex 100} {{set k} {expire k}}
    {{set k v}} {set k w nx} {}
    {} {set k w xx} {}
    {{set k v}} {set k w get keepttl} {{set k}}
    {} {setnx k v} {{set k}}
    {{set k v}} {setnx k v} {}
    {} {setex k 100 v} {{set k} {expire k}}
    {} {psetex k 10000 v} {{set k} {expire k}}
    {{set k v}} {getset k w} {{set k}}
    {{set k v}} {getdel k} {{del k}}
    {{set k v}} {getex k} {}
    {{set k v}} {getex k ex 100} {{expire k}}
    {{set k v}} {getex k pxat 1} {{del k}}
    {{set k v}} {getex k persist} {}
    {{set k v ex 100}} {getex k persist} {{persist k}}
    {} {mset a 1 b 2 a 3} {{set a} {set b} {set a}}
    {} {msetnx a 1 b 2} {{set a} {set b}}
    {{set b 1}} {msetnx a 1 b 2} {}
    {} {incr k} {{incrby k}}
    {} {decrby k 5} {{incrby k}}
    {{set k v}} {incr k} {}
    {} {incrbyfloat k 1.5} {{incrbyfloat k}}
    {} {append k v} {{append k}}
    {{set k v}} {append k v} {{append k}}
    {} {setrange k 1 v} {{setrange k}}
    {} {setrange k 1 {}} {}
    {} {setbit k 1 0} {{setbit k}}
    {{set a v}} {bitop not k a} {{set k}}
    {{set k v}} {bitop and k a} {{del k}}
    {} {bitfield k set u4 0 1 incrby u4 4 1} {{setbit k}}
    {} {bitfield k get u4 0} {}
    {} {pfadd k a b} {{pfadd k}}
    {{pfadd k a}} {pfadd k a} {}
    {{pfadd k a}} {pfcount k} {}
    {{pfadd a a}} {pfmerge k a} {{pfadd k}}

    {} {lpush k a b} {{lpush k}}
    {} {rpush k a} {{rpush k}}
    {} {lpushx k a} {}
    {{rpush k a}} {rpushx k a} {{rpush k}}
    {{rpush k a}} {linsert k before a b} {{linsert k}}
    {{rpush k a}} {linsert k before x b} {}
    {{rpush k a}} {lset k 0 b} {{lset k}}
    {{rpush k a b}} {lpop k} {{lpop k}}
    {{rpush k a b}} {rpop k 2} {{rpop k} {del k}}
    {{rpush k a b}} {lpop k 0} {}
    {{rpush k a b}} {lrem k 0 a} {{lrem k}}
    {{rpush k a a}} {lrem k 0 a} {{lrem k} {del k}}
    {{rpush k a}} {lrem k 0 x} {}
    {{rpush k a b}} {ltrim k 0 -1} {{ltrim k}}
    {{rpush k a b}} {ltrim k 5 6} {{ltrim k} {del k}}
    {{rpush k a}} {rpoplpush k l} {{lpush l} {rpop k} {del k}}
    {{rpush k a b}} {lmove k k left right} {{rpush k} {lpop k}}
    {{rpush k a b}} {blpop x k 0} {{lpop k}}
    {{rpush k a}} {brpop k 0} {{rpop k} {del k}}
    {{rpush k a}} {blmove k l left left 0} {{lpush l} {lpop k} {del k}}
    {{rpush k 2 1}} {sort k} {}
    {{rpush k 2 1}} {sort k store l} {{sortstore l}}
    {{set l v}} {sort k store l} {{del l}}

    {} {sadd k a b} {{sadd k}}
    {{sadd k a}} {sadd k a} {}
    {{sadd k a b}} {srem k a x} {{srem k}}
    {{sadd k a b}} {srem k a b} {{srem k} {del k}}
    {{sadd k a b}} {smove k l a} {{srem k} {sadd l}}
    {{sadd k a} {sadd l a}} {smove k l a} {{srem k} {del k}}
    {{sadd k a}} {smove k k a} {}
    {{sadd k a b}} {spop k} {{spop k}}
    {{sadd k a}} {spop k} {{spop k} {del k}}
    {{sadd k a b}} {spop k 5} {{spop k} {del k}}
    {{sadd k a b}} {spop k 0} {}
    {{sadd k a} {sadd l a}} {sinterstore d k l} {{sinterstore d}}
    {{sadd k a} {sadd d a}} {sinterstore d k l} {{del d}}
    {{sadd k a}} {sunionstore d k l} {{sunionstore d}}
    {{sadd k a}} {sdiffstore d k l} {{sdiffstore d}}

    {} {hset k f v g w} {{hset k}}
    {} {hmset k f v} {{hset k}}
    {} {hsetnx k f v} {{hset k}}
    {{hset k f v}} {hsetnx k f v} {}
    {} {hincrby k f 1} {{hincrby k}}
    {} {hincrbyfloat k f 1.5} {{hincrbyfloat k}}
    {{hset k f v g w}} {hdel k f} {{hdel k}}
    {{hset k f v}} {hdel k f} {{hdel k} {del k}}
    {{hset k f v}} {hdel k x} {}

    {} {zadd k 1 a} {{zadd k}}
    {{zadd k 1 a}} {zadd k 1 a} {}
    {{zadd k 1 a}} {zadd k 2 a} {{zadd k}}
    {} {zadd k incr 1 a} {{zincr k}}
    {} {zincrby k 1 a} {{zincr k}}
    {{zadd k 1 a 2 b}} {zrem k a} {{zrem k}}
    {{zadd k 1 a}} {zrem k a} {{zrem k} {del k}}
    {{zadd k 1 a 2 b}} {zremrangebyrank k 0 0} {{zremrangebyrank k}}
    {{zadd k 1 a 2 b}} {zremrangebyscore k 0 5} {{zremrangebyscore k} {del k}}
    {{zadd k 1 a 1 b}} {zremrangebylex k - +} {{zremrangebylex k} {del k}}
    {{zadd k 1 a 2 b}} {zpopmin k} {{zpopmin k}}
    {{zadd k 1 a 2 b}} {zpopmax k 3} {{zpopmax k} {del k}}
    {{zadd k 1 a}} {bzpopmin k 0} {{zpopmin k} {del k}}
    {{zadd k 1 a 2 b}} {bzpopmax k 0} {{zpopmax k}}
    {{zadd k 1 a}} {zunionstore d 2 k l} {{zunionstore d}}
    {{zadd k 1 a}} {zinterstore d 1 k} {{zinterstore d}}
    {{zadd k 1 a} {set d v}} {zinterstore d 2 k l} {{del d}}
    {{zadd k 1 a}} {zdiffstore d 2 k l} {{zdiffstore d}}
    {{zadd k 1 a}} {zrangestore d k 0 -1} {{zrangestore d}}
    {{zadd k 1 a} {set d v}} {zrangestore d k 5 6} {{del d}}
    {} {geoadd k 1 1 a} {{zadd k}}
    {{geoadd k 1 1 a}} {georadius k 1 1 5 km store d} {{georadiusstore d}}
    {{geoadd k 1 1 a} {set d v}} {georadius k 50 50 5 km storedist d} {{del d}}
    {{geoadd k 1 1 a}} {geosearchstore d k frommember a byradius 5 km} {{geosearchstore d}}

    {} {xadd k 1-1 f v} {{xadd k}}
    {{xadd k 1-1 f v}} {xadd k maxlen 1 2-1 f v} {{xadd k} {xtrim k}}
    {{xadd k 1-1 f v}} {xadd k maxlen 5 2-1 f v} {{xadd k}}
    {{xadd k 1-1 f v}} {xtrim k maxlen 0} {{xtrim k}}
    {{xadd k 1-1 f v}} {xtrim k maxlen 5} {}
    {{xadd k 1-1 f v}} {xdel k 1-1} {{xdel k}}
    {{xadd k 1-1 f v}} {xdel k 1-2} {}
    {{xadd k 1-1 f v}} {xsetid k 5-5} {{xsetid k}}
    {} {xgroup create k g $ mkstream} {{xgroup-create k}}
    {{xgroup create k g $ mkstream}} {xgroup setid k g 0} {{xgroup-setid k}}
    {{xgroup create k g $ mkstream}} {xgroup destroy k g} {{xgroup-destroy k}}
    {{xgroup create k g $ mkstream}} {xgroup createconsumer k g c} {{xgroup-createconsumer k}}
    {{xgroup create k g $ mkstream}} {xgroup delconsumer k g c} {{xgroup-delconsumer k}}

    {{mset a 1 b 2}} {del a x b} {{del a} {del b}}
    {{set a 1}} {unlink a} {{del a}}
    {{set a 1}} {rename a b} {{rename_from a} {rename_to b}}
    {{mset a 1 b 2}} {rename a b} {{rename_from a} {rename_to b}}
    {{mset a 1 b 2}} {renamenx a b} {}
    {{set a 1}} {rename a a} {}
    {{set a 1}} {copy a b} {{copy_to b}}
    {{set a 1}} {copy a a db 3} {{copy_to a@3}}
    {{set a 1}} {move a 3} {{move_from a} {move_to a@3}}
    {{set a 1}} {expire a 100} {{expire a}}
    {{set a 1}} {pexpireat a 1} {{del a}}
    {} {expire a 100} {}
    {{set a 1 ex 100}} {persist a} {{persist a}}
    {{set a 1}} {persist a} {}
    {{set a 1}} flushdb {}
    {{set a 1}} {swapdb 9 3} {}
    {{set a v pxat 1}} {get a} {{expired a}}
    {{set a v pxat 1}} {del a} {{expired a}}
    {{set a v pxat 1}} {set a v} {{expired a} {set a}}
}

start_server {tags {notify}} {
    set listener [listener]
    r config set notify-keyspace-events KEA
    r debug set-active-expire 0
    foreach {before words expected} $table {
        test "notify: events of [join $before {, }]; $words" {
            assert_events $listener $before $words $expected
        }
    }

    test {notify: a client that waits: the events of its service follow those of what served it} {
        r flushall
        set waiting [redis_deferring_client]
        foreach {command words expected} {
            {blpop k 0} {rpush k a} {{rpush k} {lpop k} {del k}}
            {blpop k 0} {rpush k a b} {{rpush k} {lpop k}}
            {brpop l 0} {lmove k l left left} {{lpush l} {lpop k} {del k} {rpop l} {del l}}
            {blmove k l left right 0} {lpush k a} {{lpush k} {rpush l} {lpop k} {del k}}
            {bzpopmin z 0} {zadd z 1 a} {{zadd z} {zpopmin z} {del z}}
        } {
            $waiting {*}$command
            await_blocked
            events $listener
            r {*}$words
            $waiting read
            assert_equal $expected [events $listener] $command
        }
        $waiting close
    }

    test {notify: in a transaction events come as its commands run} {
        r flushall
        events $listener
        r multi
        r set a 1
        r lpush b 1
        r exec
        assert_equal {{set a} {lpush b}} [events $listener]
    }

    test {notify: misses, where m asks for them} {
        r flushall
        events $listener
        r get none
        assert_equal {} [events $listener]
        r config set notify-keyspace-events KEm
        foreach {words expected} {
            {get none} {{keymiss none}}
            {mget a none} {{keymiss a} {keymiss none}}
            {exists none} {{keymiss none}}
            {pfcount none} {}
            {pfmerge none} {{keymiss none}}
            {object encoding absent} {}
            {append absent v} {}
        } {
            r {*}$words
            assert_equal $expected [events $listener] $words
        }
    }

    test {notify: expiry in the background is told} {
        r config set notify-keyspace-events KEx
        r flushall
        r set a v
        r pexpire a 10
        events $listener
        r debug set-active-expire 1
        wait_for_condition 100 20 {[r dbsize] == 0} else {
            fail "a did not expire"
        }
        assert_equal {{expired a}} [events $listener]
    }

    test {notify: eviction is told} {
        r config set notify-keyspace-events KEe
        r flushall
        r set a [string repeat x 1000]
        events $listener
        r config set maxmemory-policy allkeys-lru
        r config set maxmemory 1
        assert_error {OOM command not allowed when used memory > 'maxmemory'.} {r set b v}
        r config set maxmemory 0
        assert_equal {{evicted a}} [events $listener]
        r config set maxmemory-policy noeviction
    }

    test {notify: each class is one letter, and K and E choose the channels} {
        foreach {letter words event} {
            g {del k} del $ {set k v} set l {rpush k v} rpush s {sadd k v} sadd
            h {hset k f v} hset z {zadd k 1 v} zadd t {xadd k * f v} xadd
        } {
            r config set notify-keyspace-events {}
            r del k
            if {$letter eq "g"} {r set k v}
            r config set notify-keyspace-events E$letter
            r {*}$words
            assert_equal [list pmessage __key*@*__:* __keyevent@9__:$event k] [$listener read]
            r del k
            events $listener
            r config set notify-keyspace-events K$letter
            if {$letter eq "g"} {r set k v}
            r {*}$words
            assert_equal [list pmessage __key*@*__:* __keyspace@9__:k $event] [$listener read]
            if {$letter eq "g"} {r set k v} else {r del k}
            assert_equal {} [events $listener]
            r config set notify-keyspace-events $letter
            r {*}$words
            assert_equal {} [events $listener]
        }
    }

    test {notify: CONFIG GET shows the letters in one order} {
        foreach {set shown} {
            KEA AKE gE gE AKEm AKEm mEK KEm te$lshzxgK {g$lshzxetK} {} {}
        } {
            r config set notify-keyspace-events $set
            assert_equal $shown [lindex [r config get notify-keyspace-events] 1]
        }
        assert_error {*Invalid argument*} {r config set notify-keyspace-events KEq}
        assert_equal {} [lindex [r config get notify-keyspace-events] 1]
    }
    $listener close
}
