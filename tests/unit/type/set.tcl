# SPDX-License-Identifier: BSD-3-Clause
# Sets: replies and errors, both encodings against a model, combinations.

# A random set under a key; returns its members, sorted.
proc random_set {key size integers} {
    r del $key
    set members {}
    for {set i 0} {$i < $size} {incr i} {
        lappend members [expr {$integers ? [random_int 200] : "m[random_int 200]"}]
    }
    if {$size} {
        r sadd $key {*}$members
    }
    return [lsort -unique $members]
}

proc members_in {list other wanted} {
    set result {}
    foreach member $list {
        if {($member in $other) == $wanted} {
            lappend result $member
        }
    }
    return $result
}

start_server {tags {set}} {
    test {sets: replies and errors} {
        assert_conversation {
            SADD s a b c  :3
            SADD s a d  :1
            SADD i 3 1 2  :3
            SADD no  -ERR wrong number of arguments for 'sadd' command
            SET str x  +OK
            SADD str a  -WRONGTYPE Operation against a key holding the wrong kind of value
            SREM s zz a a  :1
            SREM no a  :0
            SREM str a  -WRONGTYPE Operation against a key holding the wrong kind of value
            SISMEMBER s b  :1
            SISMEMBER no b  :0
            SISMEMBER str b  -WRONGTYPE Operation against a key holding the wrong kind of value
            SMISMEMBER s b zz c  * :1 :0 :1
            SMISMEMBER no a b  * :0 :0
            SMISMEMBER str a  -WRONGTYPE Operation against a key holding the wrong kind of value
            SCARD s  :3
            SCARD no  :0
            SMEMBERS no  *
            SMEMBERS str  -WRONGTYPE Operation against a key holding the wrong kind of value
            SMOVE s s2 b  :1
            SMOVE s s2 zz  :0
            SMOVE no s2 a  :0
            SMOVE s str c  -WRONGTYPE Operation against a key holding the wrong kind of value
            SMOVE str s c  -WRONGTYPE Operation against a key holding the wrong kind of value
            SMOVE no str c  :0
            SMOVE s s c  :1
            SMOVE s s zz  :0
            SPOP no  nil
            SPOP no 1  *
            SPOP no x  -ERR value is out of range, must be positive
            SPOP s -1  -ERR value is out of range, must be positive
            SPOP s 0  *
            SPOP str  -WRONGTYPE Operation against a key holding the wrong kind of value
            SPOP str 0  -WRONGTYPE Operation against a key holding the wrong kind of value
            EXISTS i  :1
            SADD i 5  :1
            EXISTS i  :1
            SRANDMEMBER no  nil
            SRANDMEMBER no 5  *
            SRANDMEMBER s x  -ERR value is not an integer or out of range
            SRANDMEMBER str  -WRONGTYPE Operation against a key holding the wrong kind of value
            SRANDMEMBER str 1  -WRONGTYPE Operation against a key holding the wrong kind of value
            SRANDMEMBER s 0  *
            SADD i 3 1 2  :0
            SADD j 2 3 4  :3
            SINTER i no  *
            SINTER i no str  -WRONGTYPE Operation against a key holding the wrong kind of value
            SINTER str  -WRONGTYPE Operation against a key holding the wrong kind of value
            SINTER i str  -WRONGTYPE Operation against a key holding the wrong kind of value
            SINTER no str  -WRONGTYPE Operation against a key holding the wrong kind of value
            SUNION i str  -WRONGTYPE Operation against a key holding the wrong kind of value
            SUNION no no2  *
            SDIFF no i  *
            SDIFF i no  * {"1"} {"2"} {"3"} {"5"}
            SDIFF no str  -WRONGTYPE Operation against a key holding the wrong kind of value
            SDIFF i str  -WRONGTYPE Operation against a key holding the wrong kind of value
            SINTERSTORE d i j  :2
            SINTERSTORE d i no  :0
            EXISTS d  :0
            SINTERSTORE d i str  -WRONGTYPE Operation against a key holding the wrong kind of value
            SUNIONSTORE d i j  :5
            SDIFFSTORE d i j  :2
            SDIFFSTORE i i j  :2
            SINTERSTORE str j  :3
            TYPE str  +set
            SUNIONSTORE nod no no2  :0
            OBJECT ENCODING j  "intset"
            SADD j x  :1
            OBJECT ENCODING j  "hashtable"
            SSCAN j 0 COUNT 100 MATCH x  * {"0"} {* {"x"}}
            SSCAN no 0  * {"0"} *
            SSCAN j x  -ERR invalid cursor
            SSCAN j 0 FOO  -ERR syntax error
            SSCAN h  -ERR wrong number of arguments for 'sscan' command
            CONFIG SET set-max-intset-entries 2  +OK
            SADD k 1 2  :2
            OBJECT ENCODING k  "intset"
            SADD k 3  :1
            OBJECT ENCODING k  "hashtable"
            SADD m -9223372036854775808 9223372036854775807 9223372036854775808  :3
            OBJECT ENCODING m  "hashtable"
            CONFIG SET set-max-intset-entries 512  +OK
        }
    }

    foreach {encoding prefix} {intset {} hashtable m} {
        test "sets against a model: $encoding" {
            r del s
            set model {}
            for {set i 0} {$i < [accurate 1500 10000]} {incr i} {
                set member $prefix[random_int 300]
                switch [random_int 4] {
                    0 - 1 {
                        assert_equal [expr {![dict exists $model $member]}] [r sadd s $member]
                        dict set model $member 1
                    }
                    2 {
                        assert_equal [dict exists $model $member] [r srem s $member]
                        dict unset model $member
                    }
                    3 {
                        assert_equal [dict exists $model $member] [r sismember s $member]
                    }
                }
            }
            assert_encoding $encoding s
            set sorted [lsort [dict keys $model]]
            assert_equal $sorted [lsort [r smembers s]]
            set found {}
            set cursor 0
            while 1 {
                lassign [r sscan s $cursor count 20] cursor part
                lappend found {*}$part
                if {$cursor == 0} break
            }
            assert_equal $sorted [lsort -unique $found]
            foreach count {1 5 40 100000} {
                set chosen [r srandmember s $count]
                assert_equal [expr {min($count, [llength $sorted])}] \
                    [llength [lsort -unique $chosen]]
                assert_equal {} [members_in $chosen $sorted 0]
            }
            set popped [r spop s 20]
            lappend popped {*}[r spop s 1] [r spop s]
            assert_equal 22 [llength [lsort -unique $popped]]
            assert_equal [lsort [members_in $sorted $popped 0]] [lsort [r smembers s]]
        }
    }

    test {SINTER, SUNION, SDIFF and their STORE forms against a model} {
        for {set round 0} {$round < 60} {incr round} {
            foreach key {a b c} {
                set $key [random_set $key [random_int 150] [random_int 2]]
            }
            set inter [lsort [members_in [members_in $a $b 1] $c 1]]
            set diff [lsort [members_in [members_in $a $b 0] $c 0]]
            set union [lsort -unique [concat $a $b $c]]
            foreach {command expected} [list sinter $inter sdiff $diff sunion $union] {
                assert_equal $expected [lsort [r $command a b c]] $command
                r sadd d old
                assert_equal [llength $expected] [r ${command}store d a b c]
                assert_equal $expected [lsort [r smembers d]]
            }
            # The result may take the place of a source.
            assert_equal [llength $diff] [r sdiffstore a a b c]
            assert_equal $diff [lsort [r smembers a]]
        }
    }

    test {SRANDMEMBER and SPOP: every member comes, none far too often} {
        foreach {encoding prefix} {intset {} hashtable m} {
            r del s
            for {set i 0} {$i < 20} {incr i} {
                r sadd s $prefix$i
            }
            assert_encoding $encoding s
            array unset times
            foreach member [r srandmember s -20000] {
                incr times($member)
            }
            assert_equal 20 [array size times]
            foreach {member count} [array get times] {
                assert_range $count 700 1300 $member
            }
        }
    }

    test {What is a set in RESP3, and what an array} {
        set client [redis_deferring_client]
        $client hello 3
        $client read
        foreach members {{1 2 3} {a b c}} {
            foreach {words type} {
                {srandmember s 1} array    {srandmember s 2} array    {srandmember s 3} array
                {srandmember s 9} array    {srandmember s -1} array    {srandmember s -9} array
                {srandmember s 0} array    {srandmember nokey 3} array
                {smembers s} set    {sunion s nokey} set    {sinter s s} set    {sdiff s nokey} set
                {spop s 0} set    {spop s 2} set    {spop s 9} set
            } {
                r del s
                r sadd s {*}$members
                $client {*}$words
                assert_equal $type [lindex [$client read_typed] 0] $words
            }
        }
        $client close
    }

    test {set-max-intset-entries: one more makes a table, for good} {
        r del s
        for {set i 0} {$i < 512} {incr i} {
            r sadd s $i
        }
        assert_encoding intset s
        r sadd s 512
        assert_encoding hashtable s
        r srem s 512
        assert_encoding hashtable s
    }
}
