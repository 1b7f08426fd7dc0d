# SPDX-License-Identifier: BSD-3-Clause
# TRACE and trace-sample: which requests are recorded, and that no value and no secret is.

# The requests that wait in the buffer, as TRACE READ shows them.
proc traced {args} {
    return [lmap record [r trace read 10000 {*}$args] {lindex $record 5}]
}

# What the body's requests leave in the trace of every key.
proc trace_all {body} {
    r config set trace-sample 1
    r trace reset
    uplevel 1 $body
    set requests [traced]
    r config set trace-sample 0
    return $requests
}

proc status {field} {
    return [dict get [r trace status] $field]
}

start_server {tags {ours trace}} {
    test {Without trace-sample nothing is recorded, and no memory is held} {
        assert_equal {trace-sample 0} [r config get trace-sample]
        r set k v
        assert_equal {} [r trace read]
        assert_equal 0 [status recorded]
        assert_equal 0 [s mem_trace_buffer]
    }

    test {A record names command, keys and sizes} {
        r flushall
        set before [clock microseconds]
        set requests [trace_all {
            r set k 123456 EX 100
            r get k
            r get none
            r mget k none
            r lrange none 0 -1
        }]
        assert_equal {set {k {}} 6 EX 100} [lindex $requests 0]
        lassign [lindex $requests 1] word key
        assert_equal {get k} [list $word [lindex $key 0]]
        assert_range [lindex $key 1] 16 200
        assert_range [lindex $key 2] 1 100000
        assert_equal {get {none {}}} [lindex $requests 2]
        assert_equal {mget k none} [lmap word [lindex $requests 3] {lindex $word 0}]
        assert_equal {lrange {none {}} 0 -1} [lindex $requests 4]
        assert_equal 5 [llength $requests]
    }

    test {A record has its id, time, client, database and origin} {
        r config set trace-sample 1
        set before [clock microseconds]
        r select 3
        r set k v
        r eval {return redis.call('get', KEYS[1])} 1 k
        r select 9
        lassign [r trace read] first second
        lassign $first id time client database script
        assert_range $time [expr {$before - 2000000}] [expr {[clock microseconds] + 2000000}]
        assert_equal [r client id] $client
        assert_equal {3 0} [list $database $script]
        assert_equal {1 3 1 get} [list [expr {[lindex $second 0] - $id}] [lindex $second 3] \
            [lindex $second 4] [lindex $second 5 0]]
        r config set trace-sample 0
        r select 3
        r flushdb
        r select 9
    }

    test {Requests of transactions and scripts are recorded when they run} {
        set requests [trace_all {
            r multi
            r set k v
            r get k
            r exec
            r eval {return redis.call('incr', KEYS[1])} 1 n
            r multi
            r set discarded v
            r discard
        }]
        assert_equal {set get incr} [lmap request $requests {lindex $request 0}]
    }

    test {What a gate refuses is not recorded} {
        r acl setuser limited on nopass +get ~a
        set requests [trace_all {
            set client [redis_client]
            $client auth limited x
            assert_error {NOPERM*} {$client get b}
            assert_error {NOPERM*} {$client set a b}
            $client get a
            assert_error {NOPERM*} {$client trace read}
            $client close
            catch {r get}
        }]
        assert_equal {{get {a {}}}} $requests
        r acl deluser limited
    }

    test {TRACE is for administrators: its categories} {
        foreach category {admin dangerous slow} {
            assert {"trace" in [r acl cat $category]} $category
        }
        r acl setuser tracer on nopass -@all +trace
        set client [redis_client]
        $client auth tracer x
        assert_equal {} [$client trace read]
        assert_error {NOPERM*} {$client get k}
        $client close
        r acl deluser tracer
        assert_error {ERR*not allowed from script*} {r eval {return redis.call('trace', 'read')} 0}
    }

    test {No secret and no value enters the trace} {
        # Each word of the secret is a number or a text that could stand for an option.
        set requests [trace_all {
            foreach secret {S3CRET 74639201} {
                catch {r auth $secret}
                catch {r auth $secret $secret}
                catch {r hello 2 auth default $secret}
                r acl setuser someone on >$secret
                r acl setuser someone <$secret
                catch {r acl getuser $secret}
                r acl deluser someone
                catch {r config set masterauth $secret}
                catch {r config set requirepass $secret}
                catch {r auth $secret}
                r config set requirepass {}
                r config set masterauth {}
                catch {r migrate 127.0.0.1 1 k 0 10 auth $secret}
                catch {r migrate 127.0.0.1 1 {} 0 10 auth2 $secret $secret keys k}
                catch {r client setname $secret}
                catch {r eval "return '$secret'" 1 k $secret}
                catch {r script load "return '$secret'"}
                catch {r publish $secret $secret}
                catch {r echo $secret}
                catch {r debug stringmatch-test $secret $secret}
                r set k $secret
                r setex k 100 $secret
                r getset k $secret
                r append k $secret
                r setrange k 0 $secret
                r mset k $secret l $secret
                r hset h $secret $secret limit $secret
                r hget h $secret
                r hmget h $secret count $secret
                catch {r hincrby h $secret $secret}
                r lpush list $secret
                r linsert list before $secret $secret
                r lpos list $secret
                r lrem list 0 $secret
                r sadd set $secret ex $secret
                r sismember set $secret
                r smove set set2 $secret
                r sscan set 0 match $secret
                r zadd z nx 5 $secret
                catch {r zadd z ch $secret m}
                r zincrby z 5 $secret
                r zscore z $secret
                catch {r zrangebyscore z $secret $secret limit 0 5}
                catch {r zrange z $secret $secret byscore}
                catch {r zrange z \[$secret + bylex limit 0 5}
                catch {r zcount z $secret $secret}
                r xadd stream maxlen ~ 10 * maxlen $secret $secret $secret
                catch {r xgroup create stream $secret 0}
                catch {r xreadgroup group $secret $secret streams stream >}
                catch {r xrange stream $secret +}
                r pfadd hll $secret
                catch {r geoadd geo 1 1 $secret}
                catch {r geosearch geo frommember $secret byradius 1 km}
                catch {r georadius geo $secret $secret $secret m}
                catch {r bitfield bits set u8 0 $secret}
                catch {r setbit bits $secret 1}
                catch {r sort list by $secret get $secret limit 0 1}
                catch {r restore copy 0 $secret}
                catch {r object freq $secret $secret}
                catch {r stralgo lcs strings $secret $secret}
                catch {r set k v ex 100 $secret}
                catch {r set k v $secret $secret}
                catch {r $secret k $secret}
            }
        }]
        assert_morethan [llength $requests] 80
        foreach request $requests {
            foreach secret {S3CRET 74639201} {
                # Only as a key, which is an element of its own: OBJECT FREQ names it as one.
                if {[string match "*$secret*" $request] &&
                    [lrange $request 0 1] ne "object freq"} {
                    fail "a secret is in: $request"
                }
            }
        }
    }

    test {HASHED: keys become numbers of this run that are the same each time} {
        r config set trace-sample 1
        r trace reset
        r set mykey v
        r get mykey
        r get other
        set requests [traced hashed]
        r config set trace-sample 0
        lassign [lmap request $requests {lindex $request 1 0}] first second third
        assert_match {????????????????} $first
        assert {[string is xdigit $first]} $first
        assert_equal $first $second
        assert_not_equal $first $third
        assert_no_match *mykey* $requests
    }

    test {One key in N is sampled, with all its requests} {
        r config set trace-sample 10
        r trace reset
        set recorded [status recorded]
        for {set i 0} {$i < 1000} {incr i} {
            r get key:$i
        }
        set keys [lmap request [traced] {lindex $request 1 0}]
        assert_range [llength $keys] 40 200
        foreach key $keys {
            r get $key
        }
        assert_equal $keys [lmap request [traced] {lindex $request 1 0}]
        r mget {*}[lmap i [lrepeat 1000 x] {incr n; set i key:[expr {$n - 1}]}]
        assert_equal [concat mget $keys] [lmap word [lindex [traced] 0] {lindex $word 0}]
        r config set trace-sample 0
    }

    test {The buffer is bounded; what it drops is counted, and ids show it} {
        r config resetstat
        r config set trace-buffer-size 64kb
        r config set trace-sample 1
        set count 3000
        for {set i 0} {$i < $count} {incr i} {
            r get key:$i
        }
        assert_range [s mem_trace_buffer] 65536 65536
        assert_equal $count [s trace_recorded_total]
        set dropped [s trace_dropped_total]
        assert_range $dropped 1000 [expr {$count - 1}]
        set records [r trace read 10000]
        assert_equal $dropped [expr {$count - [llength $records]}]
        assert_equal key:$dropped [lindex $records 0 5 1 0]
        assert_equal [status next_id] [expr {[lindex $records end 0] + 1}]
        assert_equal {} [r trace read]
        r config set trace-sample 0
        assert_equal 0 [s mem_trace_buffer]
        r config set trace-buffer-size 1mb
    }

    test {READ takes as many as it is asked for, the oldest first} {
        r config set trace-sample 1
        r trace reset
        foreach key {a b c d} {
            r get $key
        }
        assert_equal {a b} [lmap record [r trace read 2] {lindex $record 5 1 0}]
        assert_equal {c d} [lmap record [r trace read 5] {lindex $record 5 1 0}]
        assert_error_text {ERR value is out of range, value must between 1 and 10000} \
            {r trace read 0}
        assert_error_text {ERR value is not an integer or out of range} {r trace read x}
        assert_error_text {ERR syntax error} {r trace read 1 x}
        assert_error {ERR Unknown subcommand*} {r trace bogus}
        assert_error {ERR Unknown subcommand*} {r trace read 1 hashed x}
        assert_match {*READ*STATUS*RESET*HELP*} [r trace help]
        r config set trace-sample 0
    }

    test {Requests without keys are counted, and not recorded} {
        r config resetstat
        set requests [trace_all {
            r ping
            r dbsize
        }]
        assert_equal {} $requests
        assert_morethan_equal [s trace_without_keys_total] 2
    }

    test {A monitored server is traced as well} {
        set monitor [redis_deferring_client]
        $monitor monitor
        $monitor read
        assert_equal {{get {k {}}}} [trace_all {r del k; r trace reset; r get k}]
        r echo end
        set all {}
        while {![string match *end* $all]} {
            append all [$monitor read]
        }
        assert_match {*"get" "k"*} $all
        $monitor close
    }
}
