# SPDX-License-Identifier: BSD-3-Clause
# What a snapshot says of its history: a replica that is started with one goes on from there, and so
# does a server that was the primary.

start_server {tags {repl} overrides {save "" repl-diskless-sync-delay 0}} {
start_server {overrides {save ""}} {
    test {A replica goes on after a restart, in the database of the stream} {
        follow 0 -1
        r -1 select 5
        r -1 set before 1
        r -1 eval {return redis.call('incr', KEYS[1])} 1 n
        await_same -1 0
        r config set save "3600 1"
        r config rewrite
        set full [s -1 sync_full]
        set partial [s -1 sync_partial_ok]
        restart_server 0
        # No SELECT comes before it: what the snapshot says must do.
        r -1 select 5
        r -1 set after 1
        await_link 0
        await_same -1 0
        assert_equal $full [s -1 sync_full]
        assert_equal [expr {$partial + 1}] [s -1 sync_partial_ok]
    }

    test {Scripts come with a copy, and stay after a restart} {
        set sha [r -1 script load {return 'known'}]
        r replicaof no one
        r script flush
        follow 0 -1
        wait_for_condition 500 10 {[r script exists $sha] eq "1"} else {
            fail "the script has not come"
        }
        restart_server 0
        await_link 0
        assert_equal known [r evalsha $sha 0]
    }
}
}

start_server {tags {repl} overrides {save {3600 1}}} {
start_server {overrides {save ""}} {
    test {A former primary goes on as a replica after its restart} {
        follow 0 -1
        r -1 set before 1
        await_same -1 0
        set full [s sync_full]
        # It ends as a primary, and follows who was its replica when it comes back.
        set file [srv -1 config_file]
        write_whole $file "[read_whole $file]\nreplicaof 127.0.0.1 [srv 0 port]\n"
        restart_server -1
        r replicaof no one
        r set promoted 1
        await_link -1
        await_same -1 0
        assert_equal $full [s sync_full]
        assert_equal 1 [s sync_partial_ok]
        assert_equal 1 [r -1 get promoted]
    }
}
}

start_server {tags {repl} overrides {save "" repl-diskless-sync-delay 0}} {
start_server {overrides {save {3600 1}}} {
    test {Keys that are due come through a replica's restart, and go when the primary says so} {
        follow 0 -1
        r -1 debug set-active-expire 0
        r -1 set stays 1
        r -1 psetex due 200 x
        wait_for_condition 1000 10 {[r dbsize] == 2} else {
            fail "the key has not come"
        }
        r config rewrite
        wait_for_condition 1000 10 {[r exists due] == 0} else {
            fail "the key is not due"
        }
        restart_server 0
        await_link 0
        assert_equal 2 [r dbsize]
        assert_equal 0 [r exists due]
        r -1 debug set-active-expire 1
        wait_for_condition 1000 10 {[r dbsize] == 1} else {
            fail "the key stays"
        }
        await_same -1 0
    }
}
}
