# SPDX-License-Identifier: BSD-3-Clause
# HRANDFIELD, SRANDMEMBER and ZRANDMEMBER by a count: each way of drawing gives every member its
# share, different members where they are to be, and what goes with them.

start_server {tags {draw}} {
    set members 20
    set rounds 500

    # Twenty members n0 .. n19 (0 .. 19 where the set is of integers), in the encoding.
    proc fill_for_draw {type encoding} {
        r del k
        for {set i 0} {$i < $::members} {incr i} {
            switch $type {
                hash {r hset k n$i $i}
                set {r sadd k [expr {$encoding eq "intset" ? $i : "n$i"}]}
                zset {r zadd k $i n$i}
            }
        }
        assert_encoding $encoding k
    }

    proc number_of {member} {string trimleft $member n}

    # One draw of so many, as the numbers of what was drawn.
    proc draw {type count with} {
        set numbers {}
        if {$type eq "set"} {
            return [lmap member [r srandmember k $count] {number_of $member}]
        }
        set command [expr {$type eq "hash" ? {hrandfield k} : {zrandmember k}}]
        if {!$with} {
            return [lmap member [r {*}$command $count] {number_of $member}]
        }
        set word [expr {$type eq "hash" ? "withvalues" : "withscores"}]
        foreach {member second} [concat {*}[r {*}$command $count $word]] {
            assert_equal [number_of $member] $second
            lappend numbers $second
        }
        return $numbers
    }

    foreach {type encoding option in_order} {
        hash ziplist   {hash-max-ziplist-entries 512} 1
        hash hashtable {hash-max-ziplist-entries 0}   0
        set  intset    {set-max-intset-entries 512}   0
        set  hashtable {set-max-intset-entries 512}   0
        zset ziplist   {zset-max-ziplist-entries 128} 1
        zset skiplist  {zset-max-ziplist-entries 0}   0
    } {
        test "each member has its share of draws: $type, $encoding" {
            with_config $option {
                set ::members $members
                fill_for_draw $type $encoding
                foreach count {1 5 9 19 -1 -5 -30} {
                    array unset times
                    set ordered 0
                    for {set i 0} {$i < $rounds} {incr i} {
                        set numbers [draw $type $count [expr {$i % 2}]]
                        assert_equal [expr {abs($count)}] [llength $numbers]
                        set sorted [lsort -integer -unique $numbers]
                        if {$count > 0} {
                            assert_equal $count [llength $sorted]
                        }
                        incr ordered [expr {$sorted eq $numbers}]
                        foreach number $numbers {
                            incr times($number)
                        }
                    }
                    assert_equal $members [array size times] "$count"
                    set mean [expr {$rounds * abs($count) / $members}]
                    set slack [expr {8 * sqrt($mean) + 0.2 * $mean}]
                    foreach {number drawn} [array get times] {
                        assert_range $drawn [expr {$mean - $slack}] [expr {$mean + $slack}] \
                            "$number of $count"
                    }
                    # Few of a listpack come in its order, others in any: as with 6.2.
                    if {$count >= 5} {
                        assert_equal [expr {$in_order && $count == 5}] \
                            [expr {$ordered == $rounds}] "$count"
                    }
                }
                assert_equal [lsort -integer [draw $type 20 1]] [lsort -integer [draw $type 1000 1]]
                assert_equal $members [llength [draw $type 20 1]]
            }
        }
    }
}
