/* SPDX-License-Identifier: BSD-3-Clause
 * TLS for programs that connect to servers.
 */
#include "peer/peer_tls.h"

#include "io/connection.h"
#include "io/tls.h"

bool peer_tls_open(const struct peer_tls *tls, char *reason, size_t reason_size) {
    const struct tls_settings settings = {
        .insecure = tls->insecure,
        .client_cert_file = tls->cert_file,
        .client_key_file = tls->key_file,
        .ca_file = tls->ca_file,
        .ca_dir = tls->ca_dir,
        .ciphers = tls->ciphers,
        .ciphersuites = tls->ciphersuites,
        .server_name = tls->server_name,
    };
    return !tls->enabled || tls_configure(&settings, reason, reason_size);
}

const struct connection_transport *peer_tls_transport(const struct peer_tls *tls) {
    return tls->enabled ? &tls_transport : NULL;
}
