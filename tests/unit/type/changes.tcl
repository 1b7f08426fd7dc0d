# SPDX-License-Identifier: BSD-3-Clause
# How many changes each command on collections counts, which is what "save 60 1000" goes by: most of
# all where a collection loses its last member and its key goes with it.

start_server {tags {changes}} {
    # Each in a fresh database whose collections hold so many of a, b, c.
    proc assert_changes {members words changes} {
        set names [lrange {a b c} 0 [expr {$members - 1}]]
        r flushall
        r rpush l {*}$names
        r sadd s {*}$names
        foreach name $names {
            r hset h $name 1
            r zadd z 1 $name
        }
        r xadd x 1-1 a b
        set before [s rdb_changes_since_last_save]
        catch {r {*}$words}
        assert_equal $changes [expr {[s rdb_changes_since_last_save] - $before}] \
            "$words, $members members"
    }

    foreach {words one two three} {
        {LPOP l} 1 1 1
        {LPOP l 2} 1 2 2
        {RPOPLPUSH l m} 1 1 1
        {LMOVE l m LEFT RIGHT} 1 1 1
        {LREM l 0 a} 1 1 1
        {LTRIM l 1 0} 1 2 3
        {LTRIM l 1 1} 1 1 2
        {LTRIM l 0 -1} 0 0 0
        {BLPOP l 1} 1 1 1
        {LSET l 0 x} 1 1 1
        {SREM s a} 1 1 1
        {SREM s a b c} 1 2 3
        {SPOP s} 1 1 1
        {SPOP s 3} 1 2 3
        {SMOVE s t a} 2 2 2
        {SDIFFSTORE s s s} 1 1 1
        {SINTERSTORE s s nokey} 1 1 1
        {HDEL h a} 1 1 1
        {HDEL h a b} 1 2 2
        {ZREM z a} 1 1 1
        {ZREM z a b c} 1 2 3
        {ZPOPMIN z} 1 1 1
        {ZREMRANGEBYRANK z 0 -1} 1 2 3
        {ZUNIONSTORE z 1 nokey} 1 1 1
        {SORT nokey STORE l} 1 1 1
        {XADD x 2-1 a b} 1 1 1
        {XADD x MAXLEN 1 3-1 a b} 1 1 1
        {XDEL x 1-1} 1 1 1
        {XDEL x 2-2} 0 0 0
        {XTRIM x MAXLEN 0} 1 1 1
        {XSETID x 9-9} 1 1 1
        {XGROUP CREATE x g $} 1 1 1
    } {
        test "Changes counted by $words" {
            assert_changes 1 $words $one
            assert_changes 2 $words $two
            assert_changes 3 $words $three
        }
    }
}
