# SPDX-License-Identifier: BSD-3-Clause
# Keys under other names and in other databases: RENAME RENAMENX MOVE COPY SWAPDB; TOUCH UNLINK
# OBJECT; freeing in the background; DEBUG DIGEST; LOLWUT.

# Values of every form: integer, short, in a block of its own, large.
proc some_values {} {
    return [list {} 12345 -7 short [string repeat a 45] [string repeat b 2000] \
        [string repeat c 100000] "\0\r\n\xff"]
}

start_server {} {
    test {RENAME takes value, form and deadline along} {
        foreach value [some_values] {
            foreach deadline {{} {ex 100}} {
                r flushdb
                r set old $value {*}$deadline
                set encoding [r object encoding old]
                r set new other ex 5000
                assert_equal OK [r rename old new]
                assert {[r get new] eq $value}
                assert_equal $encoding [r object encoding new]
                assert_equal [expr {$deadline eq {} ? -1 : 1}] \
                    [expr {[r ttl new] < 0 ? -1 : [r ttl new] <= 100}]
                assert_equal 0 [r exists old]
                assert_equal 1 [r dbsize]
            }
        }
    }

    test {RENAME to keys of any length} {
        foreach name [list {} x [string repeat n 254] [string repeat n 255] \
            [string repeat n 70000]] {
            r flushdb
            r set k v ex 100
            r rename k $name
            assert_equal v [r get $name]
            assert_equal 1 [r renamenx $name k]
            assert_equal v [r get k]
        }
    }

    test {RENAME to itself, and of nothing} {
        r flushdb
        r set k v ex 100
        assert_equal OK [r rename k k]
        assert_equal 0 [r renamenx k k]
        assert_range [r ttl k] 39 100
        assert_error_text {ERR no such key} {r rename nokey k}
        assert_error_text {ERR no such key} {r rename nokey nokey}
        assert_error_text {ERR no such key} {r renamenx nokey k}
        assert_error_text {ERR no such key} {r renamenx nokey nokey}
        r get k
    } {v}

    test {RENAMENX} {
        r flushdb
        r mset a 1 b 2
        assert_equal 0 [r renamenx a b]
        assert_equal {1 2} [r mget a b]
        assert_equal 1 [r renamenx a c]
        r mget a b c
    } {{} 2 1}

    test {MOVE} {
        r flushall
        foreach value [some_values] {
            r set k $value ex 100
            assert_equal 1 [r move k 4]
            assert_equal 0 [r exists k]
            r select 4
            assert {[r get k] eq $value}
            assert_range [r ttl k] 39 100
            assert_equal 1 [r move k 9]
            assert_equal 0 [r dbsize]
            r select 9
            r del k
        }
        r dbsize
    } {0}

    test {MOVE does not overwrite, nor move what is not there} {
        r flushall
        r set k 9
        r select 4
        r set k 4
        assert_equal 0 [r move k 9]
        assert_equal 0 [r move nokey 9]
        assert_equal 4 [r get k]
        r select 9
        r get k
    } {9}

    test {MOVE: faults} {
        r set k v
        foreach key {k nokey} {
            assert_error_text {ERR source and destination objects are the same} {r move $key 9}
            assert_error_text {ERR DB index is out of range} {r move $key 16}
            assert_error_text {ERR DB index is out of range} {r move $key -1}
            assert_error_text {ERR value is not an integer or out of range} {r move $key x}
            assert_error_text {ERR value is not an integer or out of range} {
                r move $key 99999999999999999999
            }
            assert_error_text "ERR value is out of range, value must between -2147483648 and\
                2147483647" {r move $key 2147483648}
        }
        r get k
    } {v}

    test {COPY takes value, form and deadline along} {
        foreach value [some_values] {
            foreach deadline {{} {ex 100}} {
                r flushall
                r set k $value {*}$deadline
                assert_equal 1 [r copy k l]
                assert_equal 1 [r copy k k db 3]
                r del k
                foreach {database name} {9 l 3 k} {
                    r select $database
                    assert {[r get $name] eq $value}
                    assert_equal [expr {$deadline eq {} ? -1 : 1}] \
                        [expr {[r ttl $name] < 0 ? -1 : [r ttl $name] <= 100}]
                }
                r select 9
            }
        }
    }

    test {COPY keeps the form, also one that SET would not choose} {
        r flushdb
        r set k 12
        r append k 3
        assert_equal raw [r object encoding k]
        r copy k l
        r object encoding l
    } {raw}

    test {The copy is a value of its own} {
        r set k [string repeat x 5000]
        r copy k l replace
        r append l more
        r setrange k 0 y
        assert_equal 5000 [r strlen k]
        assert_equal 5004 [r strlen l]
        r getrange l 0 0
    } {x}

    test {COPY overwrites with REPLACE only} {
        r flushdb
        r set a 1
        r set b 2 ex 100
        assert_equal 0 [r copy a b]
        assert_equal 2 [r get b]
        assert_equal 1 [r copy a b replace]
        assert_equal 1 [r get b]
        assert_equal -1 [r ttl b]
        assert_equal 1 [r copy a b REPLACE db 9 Replace]
        assert_equal 0 [r copy nokey b replace]
        r get b
    } {1}

    test {COPY: faults} {
        r flushdb
        r set k v
        foreach words {k {k replace} {k db 9} {k DB 3 db 9 replace}} {
            assert_error_text {ERR source and destination objects are the same} {
                r copy k {*}$words
            } $words
        }
        foreach words {{d x} {d db} {d replace db} {d db 3 x} {d replace x}} {
            assert_error_text {ERR syntax error} {r copy k {*}$words} $words
        }
        foreach words {{d db 16} {d db -1} {d db 16 x} {k db 16}} {
            assert_error_text {ERR DB index is out of range} {r copy k {*}$words} $words
        }
        assert_error_text {ERR value is not an integer or out of range} {r copy k d db x}
        assert_error_text "ERR value is out of range, value must between -2147483648 and\
            2147483647" {r copy k d db 2147483648}
        r dbsize
    } {1}

    test {SWAPDB} {
        r flushall
        r set nine v ex 100
        r select 3
        r set three v
        r select 9
        set other [redis_client]
        $other select 3
        assert_equal OK [r swapdb 3 9]
        assert_equal three [r keys *]
        assert_equal nine [$other keys *]
        assert_range [$other ttl nine] 39 100
        assert_equal OK [r swapdb 9 9]
        assert_equal three [r keys *]
        assert_equal OK [r swapdb 9 3]
        assert_equal nine [r keys *]
        r persist nine
        r expire nine 200
        assert_equal {} [info_property [r info keyspace] db4]
        assert_match {keys=1,expires=1,*} [info_property [r info keyspace] db9]
        $other close
        r swapdb 4 9
        assert_equal 0 [r dbsize]
        r flushall
    } {OK}

    test {SWAPDB: deadlines go along} {
        r multi
        r set k v px 60
        r swapdb 9 5
        r set k w
        r exec
        wait_for_condition 100 20 {[info_property [r info keyspace] db5] eq ""} else {
            fail [r info keyspace]
        }
        r get k
    } {w}

    test {SWAPDB: faults} {
        foreach {a b error} {
            x 0 {invalid first DB index}    0 x {invalid second DB index}
            x x {invalid first DB index}    2147483648 0 {invalid first DB index}
            0 9999999999 {invalid second DB index}    16 0 {DB index is out of range}
            0 16 {DB index is out of range}    -1 0 {DB index is out of range}
            0 -1 {DB index is out of range}    16 y {invalid second DB index}
        } {
            assert_error_text "ERR $error" {r swapdb $a $b} "$a $b"
        }
    }

    test {TOUCH and UNLINK count} {
        r flushdb
        foreach key {a b c} {
            r set $key v
        }
        assert_equal 3 [r touch a nokey b a]
        assert_equal 0 [r touch nokey]
        assert_equal 2 [r unlink a nokey b a]
        assert_equal 0 [r unlink a]
        r dbsize
    } {1}

    test {Arity} {
        foreach {name words} {
            rename k rename {a b c} renamenx k move k move {a b c} copy k swapdb 1
            swapdb {1 2 3} touch {} unlink {} object {}
        } {
            assert_error_text "ERR wrong number of arguments for '$name' command" {r $name \
                {*}$words}
        }
    }

    test {Each counts one change, and nothing where nothing changes} {
        r config set save {3600 1000000}
        r flushall
        r mset a 1 b 2 c 3
        foreach {words changes} {
            {rename a d} 1    {rename d b} 1    {rename b b} 0    {renamenx b c} 0
            {renamenx b a} 1    {copy a b} 1    {copy a b} 0    {copy a b replace} 1    {move a 3} 1
            {move nokey 3} 0    {swapdb 4 5} 1    {unlink b nokey c} 2    {touch b} 0
            {set x 1} 1    {flushdb} 1    {flushall} 2
        } {
            set before [s rdb_changes_since_last_save]
            r {*}$words
            assert_equal $changes [expr {[s rdb_changes_since_last_save] - $before}] $words
        }
    }

    test {Which of them count hits and misses} {
        foreach {words hits misses} {
            {type k} 1 0    {type nokey} 0 1    {ttl k} 1 0    {pttl nokey} 0 1
            {exists k nokey} 1 1    {touch k nokey k} 2 1    {object encoding k} 1 0
            {object idletime nokey} 0 1
            {expire k 100} 0 0    {persist k} 0 0    {copy k l} 0 0    {copy nokey l} 0 0
            {rename k m} 0 0    {renamenx m k} 0 0    {move nokey 3} 0 0    {unlink nokey} 0 0
        } {
            r del l
            r set k v
            r config resetstat
            r {*}$words
            assert_equal [list $hits $misses] [list [s keyspace_hits] [s keyspace_misses]] $words
        }
    }

    test {Hits and misses of commands that find keys in a way of their own} {
        r flushall
        r set k v
        r set other w
        r rpush list a
        foreach {words hits misses} {
            {scan 0 count 100} 0 0    {scan 0 count 100 match k} 0 0
            {scan 0 count 100 type string} 5 0    {scan 0 count 100 type nosuch} 5 0
            {scan 0 count 100 match k type string} 1 0
            {scan 0 count 100 match nokey* type list} 0 0
            {spop s} 0 0    {spop s 2} 0 0    {spop s 3} 1 0    {spop s 9} 1 0
            {spop s 0} 0 0    {spop nokey 3} 0 0
            {xautoclaim st g c 0 0} 1 0    {xautoclaim nokey g c 0 0} 0 1
            {xautoclaim st nogroup c 0 0} 1 0    {xautoclaim list g c 0 0} 1 0
            {xautoclaim st g c x 0} 1 0    {xautoclaim st g c 0 x} 1 0
            {xautoclaim st g c 0 0 count 0} 1 0    {xautoclaim st g c 0 0 bogus} 1 0
            {xautoclaim nokey g c x 0} 0 1    {xautoclaim nokey g c 0 0 bogus} 0 1
            {xautoclaim list g c 0 0 count 0} 1 0
            {stralgo lcs keys k other} 2 0    {stralgo lcs keys k nokey} 1 1
            {stralgo lcs keys k list} 2 0    {stralgo lcs keys list k} 2 0
            {stralgo lcs keys list nokey} 1 1    {stralgo lcs keys k other bogus} 2 0
            {set nokey v xx} 0 0    {set nokey v xx get} 0 0    {set k v xx get} 1 0
            {set k v xx} 0 0    {set k v get} 1 0    {set list v xx get} 1 0
        } {
            r del s st
            r sadd s a b c
            r xadd st 1-1 f v
            r xgroup create st g 0
            assert_equal 5 [r dbsize]
            r config resetstat
            catch {r {*}$words}
            assert_equal [list $hits $misses] [list [s keyspace_hits] [s keyspace_misses]] $words
        }
        assert_equal 0 [r exists nokey]
    }

    test {SET XX GET of a key that is not there tells nobody of a miss} {
        with_config {notify-keyspace-events Em} {
            set listener [redis_deferring_client]
            $listener psubscribe *
            $listener read
            r set nokey v xx get
            r get nokey
            assert_match {*keymiss nokey} [$listener read]
            r publish last word
            assert_match {*last word} [$listener read]
            $listener close
        }
    }

    test {Which of them are an access} {
        r flushall
        r mset plain v type v ttl v exists v touch v copy v move v expire v persist v rename v
        # The clock of accesses has seconds.
        after 2100
        r type type
        r ttl ttl
        r exists exists
        r touch touch
        r copy copy copied
        r move move 3
        r expire expire 1000
        r persist persist
        r rename rename renamed
        r multi
        foreach key {plain type ttl exists touch copy copied expire persist renamed} {
            r object idletime $key
        }
        set idle {}
        foreach seconds [set all [r exec]] {
            lappend idle [expr {$seconds > [lindex $all 0] - 2}]
        }
        set idle
    } {1 1 1 1 0 0 0 0 0 0}

    test {A write that leaves its key as it is, is an access, too} {
        r flushall
        r set old v
        set dumped [r dump old]
        set commands {
            {set k x nx} {setnx k x} {msetnx new x k x} {setrange k 0 {}} {append k {}} {persist k}
            {set k x xx keepttl}
        }
        lappend commands [list restore k 0 $dumped]
        foreach command $commands {
            r restore k 0 $dumped replace idletime 5000
            catch {r {*}$command}
            assert_lessthan [r object idletime k] 4000 "($command)"
        }
        r restore k 0 $dumped replace idletime 5000
        r exists k
        assert_morethan [r object idletime k] 4000
    }

    test {OBJECT} {
        r flushdb
        r set k v
        foreach word {encoding freq idletime refcount} {
            assert_equal {} [r object $word nokey] $word
            foreach words [list $word "$word a b"] {
                assert_error_text "ERR Unknown subcommand or wrong number of arguments for\
                    '$word'. Try OBJECT HELP." {r object {*}$words}
            }
        }
        assert_error_text "ERR Unknown subcommand or wrong number of arguments for 'x'. Try OBJECT\
            HELP." {r object x k}
        assert_error_text "ERR An LFU maxmemory policy is not selected, access frequency not\
            tracked. Please note that when switching between policies at runtime LRU and LFU data\
            will take some time to adjust." {r object freq k}
        r set shared 9999
        r set own 10000
        assert_equal {1 2147483647 1} [list [r object refcount k] [r object refcount shared] \
            [r object refcount own]]
        assert_match {OBJECT <subcommand> *} [lindex [r object help] 0]
        lindex [r object help] end
    } {    Prints this help.}
}

# --- freeing in the background -----------------------------------------------------------------

proc wait_until_freed {} {
    wait_for_condition 500 20 {[s lazyfree_pending_objects] == 0} else {
        fail "[s lazyfree_pending_objects] are still there"
    }
}

start_server {} {
    test {FLUSHDB and FLUSHALL ASYNC count what they free} {
        foreach command {flushdb flushall} {
            populate 20000
            r set volatile v ex 1000
            set before [s lazyfreed_objects]
            r $command async
            assert_equal 0 [r dbsize]
            wait_until_freed
            assert_equal 20001 [expr {[s lazyfreed_objects] - $before}]
        }
    }

    test {lazyfree-lazy-user-flush decides where no word does} {
        foreach {option words lazily} {
            no {} 0    yes {} 1    no sync 0    yes sync 0    no async 1    yes async 1
        } {
            r config set lazyfree-lazy-user-flush $option
            foreach command {flushdb flushall} {
                populate 100
                set before [s lazyfreed_objects]
                r $command {*}$words
                wait_until_freed
                assert_equal [expr {$lazily * 100}] [expr {[s lazyfreed_objects] - $before}] \
                    "$option $command $words"
            }
        }
        r config set lazyfree-lazy-user-flush no
    } {OK}

    test {Memory comes back after FLUSHALL ASYNC} {
        r flushall
        set before [s used_memory]
        populate 50000 key: 100
        assert_morethan [s used_memory] [expr {$before + 5000000}]
        r flushall async
        wait_until_freed
        wait_for_condition 100 20 {[s used_memory] < $before + 1000000} else {
            fail "[s used_memory], $before before"
        }
    }

    test {The database is in use again while the old one is freed} {
        populate 100000
        r flushdb async
        for {set i 0} {$i < 2000} {incr i} {
            r set key:$i new ex 1000
        }
        wait_until_freed
        assert_equal 2000 [r dbsize]
        for {set i 0} {$i < 2000} {incr i 100} {
            assert_equal new [r get key:$i]
        }
        r flushall
    } {OK}

    test {CONFIG RESETSTAT leaves lazyfreed_objects} {
        set before [s lazyfreed_objects]
        r config resetstat
        expr {[s lazyfreed_objects] == $before && $before > 0}
    } {1}

    # 6.2 frees every string at once, however large.
    test {Large strings are freed in the background, small ones are not} {
        foreach {size lazily} {10 0 2000 0 100000 1 5000000 1} {
            foreach {option setup words} {
                {} {} {unlink k}
                lazyfree-lazy-user-del {} {del k}
                lazyfree-lazy-server-del {} {set k small}
                lazyfree-lazy-server-del {set l small} {rename l k}
                lazyfree-lazy-server-del {set l small} {copy l k replace}
                lazyfree-lazy-expire {} {expire k -1}
                lazyfree-lazy-expire {pexpire k 1} {get k}
            } {
                foreach on {no yes} {
                    if {$option ne {}} {
                        r config set $option $on
                    }
                    r set k [string repeat x $size]
                    set before [s lazyfreed_objects]
                    if {$setup ne {}} {
                        r {*}$setup
                        after 5
                    }
                    r {*}$words
                    wait_until_freed
                    assert_equal [expr {$lazily && ($option eq {} || $on)}] \
                        [expr {[s lazyfreed_objects] - $before}] "$size $option $on $words"
                    if {$option ne {}} {
                        r config set $option no
                    }
                }
            }
        }
    } {} {ours}
}

# --- digests -----------------------------------------------------------------------------------

start_server {tags {needs:debug}} {
    test {DEBUG DIGEST: nothing, and something} {
        r flushall
        assert_equal [string repeat 0 40] [r debug digest]
        r set k v
        set digest [r debug digest]
        assert_equal 1 [regexp {^[0-9a-f]{40}$} $digest]
        assert_not_equal [string repeat 0 40] $digest
        r set k w
        assert_not_equal $digest [r debug digest]
        r set k v
        assert_equal $digest [r debug digest]
        r rename k l
        assert_not_equal $digest [r debug digest]
        r rename l k
        r move k 3
        assert_not_equal $digest [r debug digest]
    }

    # Those that a server of 6.2 gives: data sets are compared across servers.
    test {DEBUG DIGEST and DIGEST-VALUE of every type are those of 6.2} {
        r flushall
        r set text hello
        r set number -12
        r rpush list a 17 b
        r sadd set x y 3
        r sadd numbers 1 2 -300000
        r hset hash f v g 1
        r zadd zset 1.5 a -inf b -0 c 1e17 d 0.1 e
        r xadd stream 5-1 f v g w
        r set volatile v ex 100000
        foreach {key digest} {
            text 36b23a1456b2dce2c3ed252c456761301dba8060
            number b66f371049a1c5795af9275a5a132453d88c3649
            list 059c3fb81b21774d977556b0411d3feed8cb9867
            set 415a07507e2348d139f9fd645a024f6be569dd65
            numbers 182621100bb04f3e68aea46d0b1a36ac070e3409
            hash 6679ee22f89ed8001eeb5309d0900265ea56c03a
            zset 79440f7e8e6256ba7b36c40764eb328f7cbb2dd1
            stream 19e4bd886a6ecfa770b4a04e4157bd2ca6f7fff1
            volatile 311b17018163335616e089f6b951c82c477335ac
            nokey 0000000000000000000000000000000000000000
        } {
            assert_equal $digest [r debug digest-value $key] $key
        }
        assert_equal d94a76ada1bc94ba50cffd551aba041319a510fe [r debug digest]
        r select 3
        r set other x
        assert_equal 4f73c86be6e5c9663d829d6b2ff53cdf9eb6f496 [r debug digest]
        r flushdb
        r select 9
    }

    test {DEBUG DIGEST does not depend on the order} {
        r flushall
        for {set i 0} {$i < 1000} {incr i} {
            r set k:$i v:$i
        }
        set digest [r debug digest]
        r flushall
        populate 5000 gone:
        for {set i 999} {$i >= 0} {incr i -1} {
            r set k:$i v:$i
        }
        for {set i 0} {$i < 5000} {incr i} {
            r del gone:$i
        }
        assert_equal $digest [r debug digest]
    }

    test {DEBUG DIGEST-VALUE: the same content is the same, in whatever form} {
        r flushall
        r set a 123
        r set b 12
        r append b 3
        r set c 123 ex 100
        lassign [r debug digest-value a b c nokey] a b c nothing
        assert_equal $a $b
        assert_not_equal $a $c
        assert_equal [string repeat 0 40] $nothing
        assert_equal {} [r debug digest-value]
        r persist c
        assert_equal $a [r debug digest-value c]
        r set a 1234
        assert_not_equal $b [r debug digest-value a]
    }

    test {Their replies are statuses} {
        set client [raw_client]
        $client debug digest
        assert_equal 43 [string length [$client raw_reply]]
        $client debug digest-value nokey
        assert_equal "*1\r\n+[string repeat 0 40]\r\n" [$client raw_reply]
        $client close
        assert_error_text "ERR Unknown subcommand or wrong number of arguments for 'digest'. Try\
            DEBUG HELP." {r debug digest x}
    }
}

# --- a drawing ---------------------------------------------------------------------------------

start_server {} {
    test {LOLWUT ends with the version} {
        foreach words {{} {version 5} {VERSION 6} {5 6} {version 5 10 3 2} {version 6 -1 -1}} {
            assert_match "*\nRedis ver. 6.2.16\n" "\n[string map {{. Redis} "\nRedis"} \
                [r lolwut {*}$words]]" $words
        }
        foreach version {1 4 7 99 -1} {
            assert_equal "Redis ver. 6.2.16\n" [r lolwut version $version]
        }
        r lolwut version 1 x
    } "Redis ver. 6.2.16\n"

    test {LOLWUT is as large as was asked} {
        set lines [split [r lolwut 20 10] \n]
        assert_equal 20 [string length [lindex $lines 0]]
        assert_equal 20 [string length [lindex $lines 9]]
        assert_equal {} [lindex $lines 10]
        assert_equal 1 [string length [lindex [split [r lolwut 0 0] \n] 0]]
        string length [lindex [split [r lolwut 9999999 2] \n] 1]
    } {160} {ours}

    test {LOLWUT: faults} {
        foreach words {x version {version x} {version 5 1 x} {version 6 1 x} {version 5 1 1 x}} {
            assert_error_text {ERR value is not an integer or out of range} {r lolwut {*}$words} \
                $words
        }
    }
}
