# SPDX-License-Identifier: BSD-3-Clause
# Clients that are held, by a command that waits or by CLIENT PAUSE, while others kill, unblock and
# close them, at random places. What survives is answered whole and in order; nothing is left over.

proc held_open {} {
    set client [redis_deferring_client]
    $client client id
    return [list $client [$client read]]
}

# A request that waits, or that a pause may hold, between pings that each have a number; returns
# the replies that the client must get if nobody ends it. "*" stands for any one reply.
proc held_send {client number} {
    set replies {}
    set bytes ""
    for {set i 0} {$i < 1 + $number % 4} {incr i} {
        append bytes [client::encode [list echo a$number.$i]]
        lappend replies a$number.$i
    }
    switch [random_int 4] {
        0 { append bytes [client::encode {wait 1 100000}] }
        1 { append bytes [client::encode {wait 1 20}] }
        2 { append bytes [client::encode {set held 1}] }
        3 { append bytes [client::encode [list set held [string repeat x 40000]]] }
    }
    lappend replies *
    append bytes [client::encode [list echo b$number]]
    lappend replies b$number
    $client write $bytes
    $client flush
    return $replies
}

# Once, while the others are held.
proc held_disturb {ids} {
    set id [random_pick $ids]
    switch [random_int 5] {
        0 - 1 {
            catch {r client kill id $id}
            return $id
        }
        2 { catch {r client unblock $id error} }
        3 { catch {r client unblock $id} }
        4 { r client list id $id }
    }
    return {}
}

start_server {tags {held}} {
    test {Random ends of clients that wait: the others are answered in order} {
        for {set round 0} {$round < 12} {incr round} {
            set clients {}
            for {set i 0} {$i < 16} {incr i} {
                lassign [held_open] client id
                dict set clients $id [list $client [held_send $client $i]]
            }
            set killed {}
            for {set i 0} {$i < 20} {incr i} {
                lappend killed [held_disturb [dict keys $clients]]
            }
            # Every third closes by itself; the others are let go.
            set n 0
            dict for {id row} $clients {
                lassign $row client replies
                if {$id in $killed || [incr n] % 3 == 0} {
                    $client close
                    dict unset clients $id
                }
            }
            dict for {id row} $clients {
                lassign $row client replies
                foreach expected $replies {
                    # It may be about to wait, so it is asked to go on until there is a reply.
                    if {$expected eq "*"} {
                        wait_for_condition 500 5 {
                            [r client unblock $id] || ![string match {*flags=b*} \
                                [r client list id $id]]
                        } else {
                            fail "client $id does not go on"
                        }
                        catch {$client read}
                    } else {
                        assert_equal $expected [$client read]
                    }
                }
                $client close
            }
            wait_for_condition 500 10 {
                [s blocked_clients] == 0 && [s connected_clients] == 1
            } else {
                fail "[s blocked_clients] wait, [s connected_clients] are connected"
            }
        }
    }

    # 6.2.16 ends with a panic where CLIENT UNBLOCK meets a client that a pause holds.
    test {Random ends of clients that a pause holds} {
        for {set round 0} {$round < 8} {incr round} {
            set clients {}
            r client pause 100000 write
            for {set i 0} {$i < 12} {incr i} {
                lassign [held_open] client id
                $client write [client::encode [list echo a$i]]
                $client write [client::encode [list set held [string repeat x 40000]]]
                $client write [client::encode [list echo b$i]]
                $client flush
                dict set clients $id [list $client $i]
            }
            set killed {}
            for {set i 0} {$i < 10} {incr i} {
                lappend killed [held_disturb [dict keys $clients]]
            }
            r client unpause
            dict for {id row} $clients {
                lassign $row client i
                if {$id ni $killed} {
                    assert_equal [list a$i OK b$i] [list [$client read] [$client read] \
                        [$client read]]
                }
                $client close
            }
            wait_for_condition 500 10 {
                [s blocked_clients] == 0 && [s connected_clients] == 1
            } else {
                fail "[s blocked_clients] wait, [s connected_clients] are connected"
            }
        }
    } {} {ours}
}
