/* SPDX-License-Identifier: BSD-3-Clause
 * TLS: a transport (io/connection.h) over libssl.
 *
 * What certificates, ciphers and versions connections have stands in two contexts of the process,
 * one for those that we accept and one for those that we make. tls_configure makes both anew, and
 * puts them in place of the old ones only when both are whole. Connections that are there keep
 * theirs; sessions that clients would resume end with the context that they were made under.
 *
 * A connection may be opened, shaken hands with, and closed by the main thread only; read, writev
 * and has_pending are for one thread at a time, whichever.
 */
#ifndef EVENKEEL_IO_TLS_H
#define EVENKEEL_IO_TLS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/memory.h"

/* The largest block that libssl gets during a handshake, because a first message that claims to be
 * 128 KiB long would make libssl allocate as much before a byte of it came. Suffices for
 * TLS_CERTIFICATES_BYTES_MAX, as libssl rounds sizes up. */
#define TLS_HANDSHAKE_BLOCK_MAX 49152
/* The other side's certificates, all together; ten are 20 KiB. */
#define TLS_CERTIFICATES_BYTES_MAX 32768
/* Messages in a row that are no data, once hands are shaken: OpenSSL itself takes as many empty
 * records. A peer that sends more (changes of keys, wishes to begin anew) only wants our time. */
#define TLS_STRAYS_MAX 32

/* So often one read takes from the socket, some 16 KiB each: a record may come in two parts, and
 * one that ends is followed by the next. Small records cost more time than their bytes tell. */
#define TLS_READS_MAX 3

struct connection_transport;

/* The class of libssl's memory: contexts, sessions, the state of each connection. */
extern enum memory_class tls_memory;

enum tls_auth { TLS_AUTH_NO, TLS_AUTH_YES, TLS_AUTH_OPTIONAL };

/* Texts are borrowed for the call; "" or NULL = not given. Files are in PEM. */
struct tls_settings {
    bool accepts;           /* there are to be connections that we accept: needs a certificate */
    bool certificates_only; /* no connection without a certificate that is checked: needs a CA */
    bool insecure;          /* the other side's certificate is not checked where we connect */
    enum tls_auth clients;  /* whether those whom we accept are to have one */
    const char *cert_file, *key_file, *key_pass; /* ours; the file may have a chain */
    /* The certificate, key and password for connections that we make; without a file those above
     * are used. */
    const char *client_cert_file, *client_key_file, *client_key_pass;
    /* The CAs that we trust. Neither given: the system's CAs, but none with `accepts`. */
    const char *ca_file, *ca_dir;
    const char *dh_params_file;         /* without: no DHE with ciphers of TLS 1.2 */
    const char *protocols;              /* "TLSv1.2 TLSv1.3"; without: these two */
    const char *ciphers, *ciphersuites; /* of TLS 1.2 and before, of TLS 1.3; without: libssl's */
    const char *server_name;            /* asked for where we connect (SNI) */
    bool prefer_server_ciphers;
    bool session_caching;
    int64_t session_cache_size, session_cache_timeout_sec; /* sessions; 0 = without a limit */
};

/* Makes the contexts. False, with a reason in one line, where one cannot be had; those that are
 * there stay. Reads files. */
MUST_USE bool tls_configure(const struct tls_settings *settings, char *reason, size_t reason_size);
/* Whether the key of the context for accepted connections belongs to that context's certificate.
 * libssl takes a key of another kind than the certificate's (RSA, EC), and no handshake succeeds
 * then. */
bool tls_pair_fits(void);
/* Forgets the contexts; connections that are there go on. */
FOR_TESTS void tls_forget(void);

extern const struct connection_transport tls_transport;
/* The transport for accepted connections whose other end must have a certificate, whatever
 * tls-auth-clients says: nodes of a cluster. */
extern const struct connection_transport tls_mutual_transport;

/* Of accepted connections, since the start or tls_stats_clear. */
struct tls_stats {
    uint64_t handshakes; /* that came to their end, resumed ones included */
    uint64_t resumed;    /* by a session of before */
    uint64_t failed;
};
const struct tls_stats *tls_stats(void);
void tls_stats_clear(void);
#endif
