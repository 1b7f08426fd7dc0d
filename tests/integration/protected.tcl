# SPDX-License-Identifier: BSD-3-Clause
# protected-mode: without bind and without a password only this host's clients are served.

# An IPv4 address of this host that is not the loopback's; "" where there is none.
proc outer_address {} {
    if {[catch {exec hostname -I} addresses]} {
        return ""
    }
    return [lindex [lsearch -all -inline -regexp $addresses {^\d+\.\d+\.\d+\.\d+$}] 0]
}

# What a connection to the address is sent after a PING, up to its first line.
proc first_line_from {address} {
    set channel [socket $address [srv port]]
    fconfigure $channel -translation binary -buffering none
    catch {puts -nonewline $channel "PING\r\n"}
    set line [gets $channel]
    close $channel
    return [string trim $line]
}

set outer [outer_address]
tests_where [expr {$outer ne ""}] "no address but the loopback's" {
    start_server {overrides {bind {}} tags {ours}} {
        test {Protected mode: from elsewhere refused, from this host served} {
            assert_equal {} [config_get bind]
            set before [s rejected_connections]
            assert_match {-DENIED *} [first_line_from $outer]
            assert_equal +PONG [first_line_from 127.0.0.1]
            assert_equal 1 [s connected_clients]
        }

        test {Protected mode: off by its option, or where a password is set} {
            r config set protected-mode no
            assert_equal +PONG [first_line_from $outer]
            r config set protected-mode yes
            assert_match {-DENIED *} [first_line_from $outer]
            r config set requirepass secret
            assert_equal {-NOAUTH Authentication required.} [first_line_from $outer]
            r config set requirepass {}
            assert_match {-DENIED *} [first_line_from $outer]
        }
    }

    start_server [list overrides [list bind "127.0.0.1 $outer"]] {
        test {Protected mode: an address that is bound is meant to be reached} {
            assert_equal +PONG [first_line_from $outer]
        }
    }
}
