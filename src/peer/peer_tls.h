/* SPDX-License-Identifier: BSD-3-Clause
 * TLS for programs that connect to servers (the tools): what their command lines say of it.
 */
#ifndef EVENKEEL_PEER_PEER_TLS_H
#define EVENKEEL_PEER_PEER_TLS_H
#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"

struct connection_transport;

/* NULL = not given. All zero is what a command line without any of the words says. */
struct peer_tls {
    bool enabled;                     /* --tls */
    bool insecure;                    /* --insecure: the server's certificate is not checked */
    const char *ca_file, *ca_dir;     /* --cacert, --cacertdir; neither: the system's */
    const char *cert_file, *key_file; /* --cert, --key: shown to servers that ask for one */
    const char *server_name;          /* --sni */
    const char *ciphers;              /* --tls-ciphers: TLS 1.2 and before */
    const char *ciphersuites;         /* --tls-ciphersuites: TLS 1.3 */
};

/* Before the first connection, once; files are read. False with a reason. Where TLS is not enabled
 * it does nothing. */
MUST_USE bool peer_tls_open(const struct peer_tls *tls, char *reason, size_t reason_size);
/* For struct peer_address; NULL, a plain socket, where TLS is not enabled. */
const struct connection_transport *peer_tls_transport(const struct peer_tls *tls);
#endif
