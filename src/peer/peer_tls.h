/* SPDX-License-Identifier: BSD-3-Clause
 * TLS for programs that connect to servers (the tools): the options of their command lines.
 */
#ifndef EVENKEEL_PEER_PEER_TLS_H
#define EVENKEEL_PEER_PEER_TLS_H
#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"

struct connection_transport;

/* The options of a command line. NULL = the option was not given; all zero = none was. */
struct peer_tls {
    bool enabled;                     /* --tls */
    bool insecure;                    /* --insecure: the server's certificate is not checked */
    const char *ca_file, *ca_dir;     /* --cacert, --cacertdir; neither: the system's */
    const char *cert_file, *key_file; /* --cert, --key: shown to servers that ask for one */
    const char *server_name;          /* --sni */
    const char *ciphers;              /* --tls-ciphers: TLS 1.2 and before */
    const char *ciphersuites;         /* --tls-ciphersuites: TLS 1.3 */
};

/* Prepares TLS, and reads the files that the options name. To be called once, before the first
 * connection. False with a reason. Does nothing if TLS is not enabled. */
MUST_USE bool peer_tls_open(const struct peer_tls *tls, char *reason, size_t reason_size);
/* The transport for struct peer_address; NULL (a plain socket) if TLS is not enabled. */
const struct connection_transport *peer_tls_transport(const struct peer_tls *tls);
#endif
