# SPDX-License-Identifier: BSD-3-Clause
# TLS for tests: certificates, clients over TLS, and what --tls gives every server.
#
# With --tls servers have only a TLS port, and speak TLS among themselves; clients connect over TLS
# with a certificate. Sessions are not kept, because their tickets would make a socket readable
# although no reply has come. A test that is about plain sockets has the tag tls:skip.

# A file of the tests' certificates (support/certificates.sh says which there are).
proc certificate {name} {
    if {![info exists ::certificates]} {
        set ::certificates $::options(certificates)
        if {$::certificates eq ""} {
            set ::certificates [tmpdir certificates]
        }
        exec sh [file join $::tests support certificates.sh] $::certificates
    }
    return [file join $::certificates $name]
}

# Options of a server that speaks TLS on this port: pairs.
proc tls_pairs {port} {
    return [list tls-port $port \
        tls-cert-file [certificate server.crt] tls-key-file [certificate server.key] \
        tls-client-cert-file [certificate client.crt] tls-client-key-file [certificate client.key] \
        tls-dh-params-file [certificate redis.dh] tls-ca-cert-file [certificate ca.crt]]
}

# Words of a command line for a server that clients of tests reach at this port.
proc port_words {port} {
    if {!$::options(tls)} {
        return [list --port $port]
    }
    set words {--port 0}
    foreach {name value} [tls_pairs $port] {
        lappend words --$name $value
    }
    return $words
}

# The option that names the port at which clients of tests reach a server.
proc port_option {} {
    return [expr {$::options(tls) ? "tls-port" : "port"}]
}

# A channel over TLS, with the handshake done; `words` are options of tls::import that count more
# than the client's certificate.
proc tls_channel {host port {words {}}} {
    package require tls 1.7
    set settings [list -cafile [certificate ca.crt] -certfile [certificate client.crt] \
        -keyfile [certificate client.key] -require 1]
    set channel [socket $host $port]
    if {[catch {
        tls::import $channel {*}[dict merge $settings $words]
        tls::handshake $channel
    } message options]} {
        catch {close $channel}
        return -options $options $message
    }
    return $channel
}

# A client over TLS: support/client.tcl.
proc tls_client {host port {words {}} {mode blocking}} {
    return [client::from_channel [tls_channel $host $port $words] $mode]
}
