# SPDX-License-Identifier: BSD-3-Clause A replica that the test plays byte by byte: a raw client
# that asks for a copy or the stream, and reads what it is sent.

# A replica that has asked; the reply's first line is read.
proc ask {command args} {
    set replica [raw_client]
    $replica deferred yes
    foreach {name value} $args {
        $replica write [client::encode [list replconf $name $value]]
        $replica flush
        assert_equal +OK [$replica raw_line]
    }
    $replica write [client::encode $command]
    $replica flush
    return $replica
}

# The next line, without the line ends that keep the connection alive.
proc next_line {replica} {
    while {[set first [$replica raw_read 1]] eq "\n"} {}
    return $first[$replica raw_line]
}

# A whole copy; returns {id place bytes}. `line`: its first line, where that has been read.
proc read_copy {replica {line ""}} {
    if {$line eq ""} {
        set line [next_line $replica]
    }
    assert_match {+FULLRESYNC ????????????????????????????????????????*} $line
    lassign $line -> id place
    set head [next_line $replica]
    if {[regexp {^\$EOF:(.{40})$} $head -> mark]} {
        set bytes ""
        while {[string range $bytes end-39 end] ne $mark} {
            append bytes [$replica raw_read 1]
        }
        set bytes [string range $bytes 0 end-40]
    } else {
        assert_match {$[0-9]*} $head
        set bytes [$replica raw_read [string range $head 1 end]]
    }
    assert_equal REDIS0009 [string range $bytes 0 8]
    return [list $id $place $bytes]
}

# The next command of the stream, without pings.
proc next_command {replica} {
    while 1 {
        set command [$replica read]
        if {[string tolower $command] ne "ping"} {
            return $command
        }
    }
}

proc acknowledge {replica place} {
    $replica write [client::encode [list replconf ack $place]]
    $replica flush
}

# --- real servers that follow each other -------------------------------------------------------

# The server of this level follows the one of another, and is linked.
proc follow {level primary} {
    r $level replicaof [srv $primary host] [srv $primary port]
    await_link $level
}

# A server ends well only when the file of its log is there.
proc await_log {level} {
    wait_for_condition 3000 10 {
        [s $level aof_rewrite_in_progress] == 0 && [s $level aof_rewrite_scheduled] == 0
    } else {
        fail "the log is still being written"
    }
}

proc await_link {level} {
    wait_for_condition 3000 10 {[s $level master_link_status] eq "up"} else {
        fail "no link: [r $level info replication]"
    }
}

# Waits until both servers have the same history, the same place and the same data.
proc await_same {args} {
    lassign $args first
    foreach other [lrange $args 1 end] {
        wait_for_condition 3000 10 {
            [s $first master_repl_offset] == [s $other master_repl_offset] &&
            [s $first master_replid] eq [s $other master_replid]
        } else {
            fail "[r $first info replication] and [r $other info replication]"
        }
        assert_equal [r $first debug digest] [r $other debug digest]
    }
}
