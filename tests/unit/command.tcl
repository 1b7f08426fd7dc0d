# SPDX-License-Identifier: BSD-3-Clause
# COMMAND and its subcommands; what Redis 6.2 says of each command that is here.

# name, arity, flags, first key, last key, step, ACL categories
set command_facts {
    asking    1 {fast}                                  0  0 0 {@keyspace @fast}
    auth     -2 {noscript loading stale fast no_auth}   0  0 0 {@fast @connection}
    cluster  -2 {admin random stale}                    0  0 0 {@admin @slow @dangerous}
    command  -1 {random loading stale}                  0  0 0 {@slow @connection}
    config   -2 {admin noscript loading stale}          0  0 0 {@admin @slow @dangerous}
    dbsize    1 {readonly fast}                         0  0 0 {@keyspace @read @fast}
    debug    -2 {admin noscript loading stale}          0  0 0 {@admin @slow @dangerous}
    del      -2 {write}                                 1 -1 1 {@keyspace @write @slow}
    echo      2 {fast}                                  0  0 0 {@fast @connection}
    exists   -2 {readonly fast}                         1 -1 1 {@keyspace @read @fast}
    flushall -1 {write}                                 0  0 0 {@keyspace @write @slow @dangerous}
    get       2 {readonly fast}                         1  1 1 {@read @string @fast}
    hello    -1 {noscript loading stale fast no_auth}   0  0 0 {@fast @connection}
    incr      2 {write denyoom fast}                    1  1 1 {@write @string @fast}
    info     -1 {random loading stale}                  0  0 0 {@slow @dangerous}
    module   -2 {admin noscript}                        0  0 0 {@admin @slow @dangerous}
    ping     -1 {stale fast}                            0  0 0 {@fast @connection}
    readonly  1 {fast}                                  0  0 0 {@keyspace @fast}
    readwrite 1 {fast}                                  0  0 0 {@keyspace @fast}
    select    2 {loading stale fast}                    0  0 0 {@keyspace @fast}
    set      -3 {write denyoom}                         1  1 1 {@write @string @slow}
    shutdown -1 {admin noscript loading stale}          0  0 0 {@admin @slow @dangerous}
    ttl       2 {readonly random fast}                  1  1 1 {@keyspace @read @fast}
    type      2 {readonly fast}                         1  1 1 {@keyspace @read @fast}
}

start_server {} {
    foreach {name arity flags first last step categories} $command_facts {
        test "COMMAND INFO $name" {
            set row [lindex [r command info $name] 0]
            lassign $row is_name is_arity is_flags is_first is_last is_step is_categories
            assert_equal $name $is_name
            assert_equal $arity $is_arity
            assert_equal [lsort $flags] [lsort $is_flags]
            assert_equal [list $first $last $step] [list $is_first $is_last $is_step]
            assert_equal [lsort $categories] [lsort $is_categories]
        }
    }

    test {COMMAND INFO keeps the order of flags and categories} {
        foreach name {set ttl hello config flushall} {
            set row [lindex [r command info $name] 0]
            set place [lsearch $command_facts $name]
            assert_equal [lindex $command_facts $place+2] [lindex $row 2]
            assert_equal [lindex $command_facts $place+6] [lindex $row 6]
        }
    }

    test {Bytes of a row in RESP2} {
        set client [raw_client]
        $client command info get
        set lines {*1 *7 $3 get :2 *2 +readonly +fast :1 :1 :1 *3 +@read +@string +@fast}
        assert_equal "[join $lines \r\n]\r\n" [$client raw_reply]
        $client close
    }

    test {Flags and categories are sets in RESP3} {
        set client [raw_client]
        $client hello 3
        $client raw_reply
        $client command info get
        set lines {*1 *7 $3 get :2 ~2 +readonly +fast :1 :1 :1 ~3 +@read +@string +@fast}
        assert_equal "[join $lines \r\n]\r\n" [$client raw_reply]
        $client close
    }

    test {COMMAND INFO of several, unknown ones as nulls, names in any case} {
        assert_equal {get {} set} [lmap row [r command info GET nosuch sEt] {lindex $row 0}]
        set client [raw_client]
        $client command info nosuch
        assert_equal "*1\r\n\$-1\r\n" [$client raw_reply]
        $client hello 3
        $client raw_reply
        $client command info nosuch
        assert_equal "*1\r\n_\r\n" [$client raw_reply]
        $client close
    }

    test {COMMAND INFO without names} {
        assert_equal {} [r command info]
    }

    test {QUIT is no row} {
        assert_equal {{}} [r command info quit]
    }

    test {COMMAND lists as many rows as COMMAND COUNT says, each once} {
        set names [lmap row [r command] {lindex $row 0}]
        assert_equal [r command count] [llength $names]
        assert_equal [llength $names] [llength [lsort -unique $names]]
        foreach {name arity flags first last step categories} $command_facts {
            if {$name ne "auth"} {
                assert {$name in $names} $name
            }
        }
    }

    test {COMMAND's rows are those of COMMAND INFO} {
        set rows [r command]
        foreach row $rows {
            assert_equal $row [lindex [r command info [lindex $row 0]] 0]
        }
    }

    test {COMMAND GETKEYS} {
        assert_equal a [r command getkeys get a]
        assert_equal a [r command getkeys set a b ex 10]
        assert_equal {a b c} [r command getkeys del a b c]
        assert_equal {a b a} [r command getkeys ExIsTs a b a]
    }

    test {COMMAND GETKEYS where the arguments tell which are keys} {
        foreach {words keys} {
            {stralgo lcs keys a b} {a b}            {STRALGO LCS idx KEYS a b} {a b}
            {stralgo lcs keys a b idx} {a b}        {stralgo lcs keys a b keys c d} {a b}
            {stralgo x keys keys b} {keys b}        {stralgo lcs keys strings a b} {strings a}
            {memory usage a} a                      {memory USAGE a samples 5} a
            {object encoding a} a                   {object freq a b} a
            {mset a 1 b} {a b}                      {bitop and d a b} {d a b}
        } {
            assert_equal $keys [r command getkeys {*}$words] $words
        }
        foreach words {
            {stralgo lcs strings a b} {stralgo lcs} {stralgo lcs keys a} {stralgo lcs a keys}
            {stralgo strings keys b c} {memory usage} {memory doctor} {memory help a}
            {object help} {object a}
        } {
            assert_error_text {ERR Invalid arguments specified for command} \
                {r command getkeys {*}$words}
        }
        foreach name {stralgo memory} {
            assert {"movablekeys" in [lindex [r command info $name] 0 2]} $name
        }
    }

    test {COMMAND GETKEYS's errors} {
        assert_error_text {ERR The command has no key arguments} {r command getkeys ping}
        assert_error_text {ERR Invalid command specified} {r command getkeys nosuch a}
        assert_error_text {ERR Invalid number of arguments specified for command} \
            {r command getkeys get}
        assert_error_text {ERR Invalid number of arguments specified for command} \
            {r command getkeys get a b}
    }

    test {COMMAND's subcommands and their arity} {
        foreach {words name} {
            {getkeys} getkeys {GETKEYS} GETKEYS {count x} count {nosuch} nosuch {list} list \
                {help x} help
        } {
            assert_error_text "ERR Unknown subcommand or wrong number of arguments for '$name'.\
                Try COMMAND HELP." \
                {r command {*}$words}
        }
    }

    test {COMMAND HELP names the subcommands} {
        set help [r command help]
        assert_match {COMMAND <subcommand> *} [lindex $help 0]
        foreach word {COUNT GETKEYS INFO HELP} {
            assert {[lsearch -glob $help "$word*"] >= 0} $word
        }
    }
}
