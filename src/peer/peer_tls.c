/* SPDX-License-Identifier: BSD-3-Clause
 * TLS for programs that connect to servers: words of their command lines, in a table.
 */
#include "peer/peer_tls.h"

#include <stdint.h>
#include <string.h>

#include "io/connection.h"
#include "io/tls.h"

/* A word, and where its value goes: a text, or true where it has none. */
static const struct word {
    const char *name;
    size_t text, flag; /* offsets; SIZE_MAX = none */
} words[] = {
    {"--tls", SIZE_MAX, offsetof(struct peer_tls, enabled)},
    {"--insecure", SIZE_MAX, offsetof(struct peer_tls, insecure)},
    {"--cacert", offsetof(struct peer_tls, ca_file), SIZE_MAX},
    {"--cacertdir", offsetof(struct peer_tls, ca_dir), SIZE_MAX},
    {"--cert", offsetof(struct peer_tls, cert_file), SIZE_MAX},
    {"--key", offsetof(struct peer_tls, key_file), SIZE_MAX},
    {"--sni", offsetof(struct peer_tls, server_name), SIZE_MAX},
    {"--tls-ciphers", offsetof(struct peer_tls, ciphers), SIZE_MAX},
    {"--tls-ciphersuites", offsetof(struct peer_tls, ciphersuites), SIZE_MAX},
};

int peer_tls_option(struct peer_tls *tls, int argc, char *const *argv, int at) {
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        const struct word *w = &words[i];
        if (strcmp(argv[at], w->name) != 0) continue;
        if (w->text == SIZE_MAX) {
            *(bool *)(void *)((char *)tls + w->flag) = true;
            return 1;
        }
        if (at + 1 >= argc) return -1;
        memcpy((char *)tls + w->text, &argv[at + 1], sizeof(argv[at + 1]));
        return 2;
    }
    return 0;
}

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
