/* SPDX-License-Identifier: BSD-3-Clause
 * TLS over libssl. tls.h has the idea.
 *
 *   open -> SSL with the first step -> handshake -> established -> read, writev -> close
 *
 * libssl reads and writes through a BIO of ours, so that a test that replaces the system's calls
 * (base/system.h) replaces these, too, no write raises a signal, and reads are counted.
 *
 * Invariants
 *  1. A step of a handshake reads the socket at most once. So a peer holds the loop up for at most
 *     the processing of TLS_READ_BYTES and one operation with our private key.
 *  2. An accepted connection whose peer has sent nothing has no SSL; it costs only its struct.
 *  3. During the handshake of an accepted connection libssl gets no block above
 *     TLS_HANDSHAKE_BLOCK_MAX.
 *  4. After the handshake, messages other than data are counted (note_message). More than
 *     TLS_STRAYS_MAX in a row end the connection, even amid the bytes that libssl has read. No peer
 *     can begin a new handshake (SSL_OP_NO_RENEGOTIATION).
 *  5. A read of the connection reads the socket at most TLS_READS_MAX times, however small the
 *     records are.
 *  6. Each write to libssl offers one record, or all bytes if they are fewer. So the write that is
 *     repeated after EAGAIN is never shorter than what libssl has begun to send, and begins with
 *     the same bytes.
 *  7. Once libssl has failed, only SSL_free is called, because a close_notify must not be sent amid
 *     a record.
 *
 * Memory that libssl allocates is booked to tls_memory; what it allocates in a call for a
 * connection is also charged to that connection (io/connection.h). libssl has its own locks, so
 * several threads may call it. Its errors are kept for each thread, and are cleared before each
 * call whose result is checked.
 *
 * An end without close_notify counts as an ordinary end, because requests, replies and snapshots
 * are known to be cut without it.
 */
#include "io/tls.h"

#include <errno.h>
#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "base/panic.h"
#include "base/system.h"
#include "io/connection.h"

enum memory_class tls_memory = MEMORY_OTHER;

#if OPENSSL_VERSION_NUMBER < 0x30000000L
#error "OpenSSL 3.0 or later is needed"
#endif

/* The longest plain text of a record that TLS allows. */
#define RECORD_BYTES 16384
/* Sessions are kept under this name, so that a session of another server is not resumed here. */
#define SESSION_CONTEXT "evenkeel"
#define LIBRARY_TEXT_MAX 256

struct tls {
    struct connection connection; /* first */
    SSL *ssl;                     /* NULL = nothing was said yet */
    int reads_left;               /* of the socket, in this call */
    int strays;                   /* invariant 4: in a row */
    int error;                    /* the system's, of the last read or write; 0 = none */
    bool at_end;                  /* the socket was at its end */
    bool broken;                  /* invariant 7 */
    const char *broken_text;      /* libssl's static text; NULL = not known */
    bool ended;     /* a read found the end behind the bytes that it returned; the next tells */
    int read_error; /* errno that the next read returns, as with `ended` */
};

static SSL_CTX *accepting, *connecting;
static BIO_METHOD *socket_method;
static char *server_name; /* NULL = none; MEMORY_OTHER */
static enum tls_auth auth;
static struct tls_stats stats;
static bool prepared;
static __thread bool shakes_hands;          /* invariant 3 */
static __thread struct connection *account; /* charged for libssl's blocks; NULL = none */

static struct tls *tls_of(struct connection *c) { return (struct tls *)c; }

/* ---- memory ---- */

static bool is_too_large(size_t size) { return shakes_hands && size > TLS_HANDSHAKE_BLOCK_MAX; }

/* Charges a block to the connection after it is allocated (`sign` 1), or before it is freed (-1).
 */
static void note_block(const void *block, int sign) {
    if (account && block) account->held_bytes += sign * (int64_t)memory_usable_size(block);
}

static void *ssl_alloc(size_t size, const char *file, int line) {
    void *block = size && !is_too_large(size) ? memory_try_alloc(size, tls_memory) : NULL;
    note_block(block, 1);
    return block;
}

static void ssl_free(void *block, const char *file, int line) {
    note_block(block, -1);
    memory_free(block, tls_memory);
}

static void *ssl_realloc(void *block, size_t size, const char *file, int line) {
    if (!size) {
        ssl_free(block, file, line);
        return NULL;
    }
    if (is_too_large(size)) return NULL;
    size_t had = memory_usable_size(block);
    void *moved = memory_try_realloc(block, size, tls_memory);
    note_block(moved, 1);
    if (account && moved) account->held_bytes -= (int64_t)had;
    return moved;
}

/* ---- the socket ---- */

static int tls_note_error(struct tls *t, ssize_t done) {
    t->error = done < 0 ? errno : 0;
    return (int)done;
}

static bool is_passing(int error) { return error == EAGAIN || error == EINTR; }

static int bio_read(BIO *bio, char *bytes, int length) {
    struct tls *t = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    t->error = EAGAIN;
    ssize_t got = -1;
    if (t->reads_left) {
        t->reads_left--;
        got = tls_note_error(t, system_recv(t->connection.fd, bytes, (size_t)length, MSG_DONTWAIT));
    }
    t->at_end = got == 0;
    if (got >= 0 || !is_passing(t->error)) return (int)got;
    BIO_set_retry_read(bio);
    return -1;
}

static int bio_write(BIO *bio, const char *bytes, int length) {
    struct tls *t = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    int flags = MSG_NOSIGNAL | MSG_DONTWAIT;
    int sent = tls_note_error(t, system_send(t->connection.fd, bytes, (size_t)length, flags));
    if (sent < 0 && is_passing(t->error)) BIO_set_retry_write(bio);
    return sent;
}

static long bio_control(BIO *bio, int what, long number, void *pointer) {
    const struct tls *t = BIO_get_data(bio);
    if (what == BIO_CTRL_EOF) return t && t->at_end;
    return what == BIO_CTRL_FLUSH; /* nothing waits in it */
}

static bool make_method(void) {
    int type = BIO_get_new_index();
    if (type < 0) return false;
    socket_method = BIO_meth_new(type | BIO_TYPE_SOURCE_SINK, "evenkeel socket");
    return socket_method && BIO_meth_set_read(socket_method, bio_read) &&
           BIO_meth_set_write(socket_method, bio_write) &&
           BIO_meth_set_ctrl(socket_method, bio_control);
}

/* Prepares libssl, once, before any other call of it. */
static bool prepare_library(void) {
    if (prepared) return true;
    memory_class_register(&tls_memory, MEMORY_COUNTED);
    if (!CRYPTO_set_mem_functions(ssl_alloc, ssl_realloc, ssl_free)) return false;
    prepared = OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT, NULL) && make_method();
    return prepared;
}

/* ---- contexts ---- */

static bool is_given(const char *text) { return text && *text; }

/* Returns libssl's first error, and forgets all its errors. */
static const char *take_error(char *text, size_t size) {
    unsigned long error = ERR_peek_error();
    snprintf(text, size, "no reason is known");
    if (error) ERR_error_string_n(error, text, size);
    ERR_clear_error();
    return text;
}

static bool tls_fail(char *reason, size_t reason_size, const char *what, const char *file) {
    char why[LIBRARY_TEXT_MAX];
    take_error(why, sizeof(why));
    snprintf(reason, reason_size, "%s%s%s: %s", what, file ? ": " : "", file ? file : "", why);
    return false;
}

/* Gives libssl the password of a key, so that it never asks at a terminal. */
static int give_password(char *into, int size, int writes, void *password) {
    const char *text = password;
    size_t length = is_given(text) ? strlen(text) : 0;
    if (!length || length > (size_t)size) return -1;
    memcpy(into, text, length);
    return (int)length;
}

static bool load_pair(SSL_CTX *context, const char *cert, const char *key, const char *password,
                      char *reason, size_t reason_size) {
    void *pass;
    memcpy(&pass, &password, sizeof(pass)); /* it is only read */
    SSL_CTX_set_default_passwd_cb(context, give_password);
    SSL_CTX_set_default_passwd_cb_userdata(context, pass);
    if (SSL_CTX_use_certificate_chain_file(context, cert) <= 0)
        return tls_fail(reason, reason_size, "Failed to load certificate", cert);
    if (SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) <= 0)
        return tls_fail(reason, reason_size, "Failed to load private key", key);
    SSL_CTX_set_default_passwd_cb_userdata(context, NULL); /* the text is the caller's */
    return true;
}

static const struct protocol {
    const char *name;
    int version;
    uint64_t without;
} protocols[] = {{"TLSv1", TLS1_VERSION, SSL_OP_NO_TLSv1},
                 {"TLSv1.1", TLS1_1_VERSION, SSL_OP_NO_TLSv1_1},
                 {"TLSv1.2", TLS1_2_VERSION, SSL_OP_NO_TLSv1_2},
                 {"TLSv1.3", TLS1_3_VERSION, SSL_OP_NO_TLSv1_3}};
#define PROTOCOLS (sizeof(protocols) / sizeof(protocols[0]))

static size_t find_protocol(const char *word, size_t length) {
    size_t i = 0;
    while (i < PROTOCOLS && (strlen(protocols[i].name) != length ||
                             strncasecmp(protocols[i].name, word, length) != 0))
        i++;
    return i;
}

/* The listed protocols as bits, by their places in the table; 0 if a word names none. */
static unsigned parse_protocols(const char *text) {
    unsigned chosen = 0;
    if (!is_given(text)) text = "TLSv1.2 TLSv1.3";
    for (const char *word = text; *word;) {
        size_t length = strcspn(word, " ");
        size_t which = length ? find_protocol(word, length) : PROTOCOLS;
        if (length && which == PROTOCOLS) return 0;
        if (length) chosen |= 1u << which;
        word += length + (word[length] == ' ');
    }
    return chosen;
}

static bool set_protocols(SSL_CTX *context, const char *text, char *reason, size_t reason_size) {
    unsigned chosen = parse_protocols(text);
    int lowest = 0, highest = 0;
    for (size_t i = 0; i < PROTOCOLS; i++) {
        if (chosen & 1u << i) {
            if (!lowest) lowest = protocols[i].version;
            highest = protocols[i].version;
        } else {
            SSL_CTX_set_options(context, protocols[i].without);
        }
    }
    if (lowest && SSL_CTX_set_min_proto_version(context, lowest) &&
        SSL_CTX_set_max_proto_version(context, highest))
        return true;
    snprintf(reason, reason_size,
             "Invalid tls-protocols specified. Use a combination of 'TLSv1', 'TLSv1.1', "
             "'TLSv1.2' and 'TLSv1.3'.");
    return false;
}

static bool set_ciphers(SSL_CTX *context, const struct tls_settings *s, char *reason,
                        size_t reason_size) {
    if (is_given(s->ciphers) && !SSL_CTX_set_cipher_list(context, s->ciphers)) {
        ERR_clear_error();
        snprintf(reason, reason_size, "Failed to configure ciphers: %s", s->ciphers);
        return false;
    }
    if (is_given(s->ciphersuites) && !SSL_CTX_set_ciphersuites(context, s->ciphersuites)) {
        ERR_clear_error();
        snprintf(reason, reason_size, "Failed to configure ciphersuites: %s", s->ciphersuites);
        return false;
    }
    return true;
}

static bool set_authorities(SSL_CTX *context, const struct tls_settings *s, char *reason,
                            size_t reason_size) {
    bool given = is_given(s->ca_file) || is_given(s->ca_dir);
    if (!given && s->accepts) return true; /* nobody's certificate is asked for */
    int done =
        given ? SSL_CTX_load_verify_locations(context, is_given(s->ca_file) ? s->ca_file : NULL,
                                              is_given(s->ca_dir) ? s->ca_dir : NULL)
              : SSL_CTX_set_default_verify_paths(context);
    if (done > 0) return true;
    return tls_fail(reason, reason_size, "Failed to configure CA certificate(s) file/directory",
                    NULL);
}

/* Called by libssl for each message that is sent or received. A received handshake message is a
 * stray, and so is a sent alert, because alerts answer what was received. */
static void note_message(int is_sent, int version, int type, const void *bytes, size_t length,
                         SSL *ssl, void *argument) {
    struct tls *t = argument;
    bool is_stray = is_sent ? type == SSL3_RT_ALERT : type == SSL3_RT_HANDSHAKE;
    if (!t || !t->connection.established || !is_stray) return;
    if (++t->strays > TLS_STRAYS_MAX) SSL_set_shutdown(ssl, SSL_RECEIVED_SHUTDOWN);
}

/* Makes a context with versions, ciphers, authorities and all else that both sides have in common.
 * Returns NULL with a reason if it cannot. */
static SSL_CTX *make_context(const struct tls_settings *s, bool accepts, char *reason,
                             size_t reason_size) {
    SSL_CTX *context = SSL_CTX_new(accepts ? TLS_server_method() : TLS_client_method());
    if (!context) {
        tls_fail(reason, reason_size, "Failed to make a TLS context", NULL);
        return NULL;
    }
    SSL_CTX_set_options(
        context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                  SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_read_ahead(context, 1);
    SSL_CTX_set_msg_callback(context, note_message);
    SSL_CTX_set_max_cert_list(context, TLS_CERTIFICATES_BYTES_MAX);
    SSL_CTX_set_verify(context, s->insecure ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, NULL);
    if (set_protocols(context, s->protocols, reason, reason_size) &&
        set_ciphers(context, s, reason, reason_size) &&
        (s->insecure || set_authorities(context, s, reason, reason_size)))
        return context;
    SSL_CTX_free(context);
    return NULL;
}

static void set_sessions(SSL_CTX *context, const struct tls_settings *s) {
    SSL_CTX_set_session_id_context(context, (const unsigned char *)SESSION_CONTEXT,
                                   strlen(SESSION_CONTEXT));
    if (!s->session_caching) {
        SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
        SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
        SSL_CTX_set_num_tickets(context, 0);
        return;
    }
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_SERVER);
    SSL_CTX_sess_set_cache_size(context, (long)s->session_cache_size);
    SSL_CTX_set_timeout(context, (long)s->session_cache_timeout_sec);
}

static bool set_dh_params(SSL_CTX *context, const char *path, char *reason, size_t reason_size) {
    if (!is_given(path)) return true;
    BIO *file = BIO_new_file(path, "r");
    EVP_PKEY *params = file ? PEM_read_bio_Parameters(file, NULL) : NULL;
    BIO_free(file);
    ERR_clear_error();
    if (params && EVP_PKEY_is_a(params, "DH") && SSL_CTX_set0_tmp_dh_pkey(context, params) > 0)
        return true;
    EVP_PKEY_free(params);
    ERR_clear_error();
    snprintf(reason, reason_size, "%s: failed to read DH params.", path);
    return false;
}

static SSL_CTX *make_accepting(const struct tls_settings *s, char *reason, size_t reason_size) {
    SSL_CTX *context = make_context(s, true, reason, reason_size);
    if (!context) return NULL;
    set_sessions(context, s);
    if (s->prefer_server_ciphers) SSL_CTX_set_options(context, SSL_OP_CIPHER_SERVER_PREFERENCE);
    if (load_pair(context, s->cert_file, s->key_file, s->key_pass, reason, reason_size) &&
        set_dh_params(context, s->dh_params_file, reason, reason_size))
        return context;
    SSL_CTX_free(context);
    return NULL;
}

/* If no certificate for connecting is given, the context shows the one for accepting, if that is
 * given. */
static SSL_CTX *make_connecting(const struct tls_settings *s, char *reason, size_t reason_size) {
    SSL_CTX *context = make_context(s, false, reason, reason_size);
    bool own = is_given(s->client_cert_file);
    const char *cert = own ? s->client_cert_file : s->cert_file;
    const char *key = own ? s->client_key_file : s->key_file;
    if (!context) return NULL;
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    if (!is_given(cert) || load_pair(context, cert, is_given(key) ? key : cert,
                                     own ? s->client_key_pass : s->key_pass, reason, reason_size))
        return context;
    SSL_CTX_free(context);
    return NULL;
}

static bool is_whole(const struct tls_settings *s, char *reason, size_t reason_size) {
    const char *missing = NULL;
    if (s->accepts && !is_given(s->cert_file))
        missing = "No tls-cert-file configured!";
    else if (s->accepts && !is_given(s->key_file))
        missing = "No tls-key-file configured!";
    else if (s->certificates_only && !is_given(s->ca_file) && !is_given(s->ca_dir))
        missing =
            "Either tls-ca-cert-file or tls-ca-cert-dir must be specified when tls-cluster, "
            "tls-replication or tls-auth-clients are enabled!";
    if (missing) snprintf(reason, reason_size, "%s", missing);
    return !missing;
}

/* A server refuses paths that are not regular files, because libssl would block at a pipe until
 * somebody writes to it. A tool may wait, and reads each file once, so its files may be pipes. */
static bool are_files(const struct tls_settings *s, char *reason, size_t reason_size) {
    const char *const paths[] = {s->cert_file,       s->key_file, s->client_cert_file,
                                 s->client_key_file, s->ca_file,  s->dh_params_file};
    struct stat status;
    for (size_t i = 0; s->accepts && i < sizeof(paths) / sizeof(paths[0]); i++) {
        if (!is_given(paths[i]) || stat(paths[i], &status) != 0 || S_ISREG(status.st_mode))
            continue;
        snprintf(reason, reason_size, "%s is not a regular file", paths[i]);
        return false;
    }
    return true;
}

bool tls_configure(const struct tls_settings *s, char *reason, size_t reason_size) {
    SSL_CTX *new_accepting = NULL;
    if (!is_whole(s, reason, reason_size) || !are_files(s, reason, reason_size)) return false;
    if (!prepare_library()) return tls_fail(reason, reason_size, "libssl cannot be used", NULL);
    ERR_clear_error();
    if (s->accepts && !(new_accepting = make_accepting(s, reason, reason_size))) return false;
    SSL_CTX *new_connecting = make_connecting(s, reason, reason_size);
    if (!new_connecting) {
        SSL_CTX_free(new_accepting);
        return false;
    }
    tls_forget();
    accepting = new_accepting;
    connecting = new_connecting;
    auth = s->clients;
    server_name = is_given(s->server_name) ? memory_strdup(s->server_name, MEMORY_OTHER) : NULL;
    return true;
}

void tls_forget(void) {
    SSL_CTX_free(accepting);
    SSL_CTX_free(connecting);
    accepting = connecting = NULL;
    memory_free(server_name, MEMORY_OTHER);
    server_name = NULL;
}

bool tls_pair_fits(void) {
    bool fits = accepting && SSL_CTX_check_private_key(accepting);
    ERR_clear_error();
    return fits;
}

const struct tls_stats *tls_stats(void) { return &stats; }
void tls_stats_clear(void) { stats = (struct tls_stats){0}; }

/* ---- the handshake ---- */

static bool open_connection(struct connection *c, char *reason, size_t reason_size) {
    bool accepts = c->side == CONNECTION_ACCEPTS;
    if (accepts ? accepting : connecting) return true;
    snprintf(reason, reason_size, "TLS is not configured");
    return false;
}

static bool make_ssl(struct tls *t) {
    bool accepts = t->connection.side == CONNECTION_ACCEPTS;
    SSL_CTX *context = accepts ? accepting : connecting;
    BIO *bio = BIO_new(socket_method);
    if (context && bio) t->ssl = SSL_new(context); /* NULL if TLS was turned off meanwhile */
    if (!t->ssl) {
        BIO_free(bio);
        return false;
    }
    BIO_set_data(bio, t);
    BIO_set_init(bio, 1);
    SSL_set_bio(t->ssl, bio, bio); /* the SSL owns the BIO now */
    SSL_set_msg_callback_arg(t->ssl, t);
    if (!accepts) {
        SSL_set_connect_state(t->ssl);
        return !server_name || SSL_set_tlsext_host_name(t->ssl, server_name);
    }
    SSL_set_accept_state(t->ssl);
    enum tls_auth asked = t->connection.transport == &tls_mutual_transport ? TLS_AUTH_YES : auth;
    SSL_set_verify(t->ssl,
                   asked == TLS_AUTH_NO         ? SSL_VERIFY_NONE
                   : asked == TLS_AUTH_OPTIONAL ? SSL_VERIFY_PEER
                                                : SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT,
                   NULL);
    return true;
}

static enum connection_step handshake_failed(struct tls *t, char *reason, size_t reason_size) {
    t->broken = true;
    if (ERR_peek_error())
        take_error(reason, reason_size);
    else if (t->error && !is_passing(t->error))
        snprintf(reason, reason_size, "%s", strerror(t->error));
    else
        snprintf(reason, reason_size, "the other side hung up");
    if (t->connection.side == CONNECTION_ACCEPTS) stats.failed++;
    return CONNECTION_FAILED;
}

/* Clears errors and counters, before each call of libssl whose result is checked. */
static void begin_call(struct tls *t) {
    ERR_clear_error();
    t->at_end = false;
    t->error = 0;
}

/* One step of the handshake (invariants 1 and 3). */
static int handshake_step(struct tls *t) {
    begin_call(t);
    t->reads_left = 1;
    shakes_hands = t->connection.side == CONNECTION_ACCEPTS;
    int done = SSL_do_handshake(t->ssl);
    shakes_hands = false;
    return done;
}

static enum connection_step go_on_with_handshake(struct connection *c, char *reason,
                                                 size_t reason_size) {
    struct tls *t = tls_of(c);
    if (!t->ssl && !make_ssl(t)) return handshake_failed(t, reason, reason_size);
    int done = handshake_step(t);
    if (done == 1) {
        bool accepted = c->side == CONNECTION_ACCEPTS;
        stats.handshakes += accepted;
        stats.resumed += accepted && SSL_session_reused(t->ssl);
        return CONNECTION_DONE;
    }
    switch (SSL_get_error(t->ssl, done)) {
    case SSL_ERROR_WANT_READ: c->step_needs = LOOP_READABLE; return CONNECTION_WAITS;
    case SSL_ERROR_WANT_WRITE: c->step_needs = LOOP_WRITABLE; return CONNECTION_WAITS;
    default: return handshake_failed(t, reason, reason_size);
    }
}

static enum connection_step shake_hands(struct connection *c, char *reason, size_t reason_size) {
    account = c;
    enum connection_step step = go_on_with_handshake(c, reason, reason_size);
    account = NULL;
    return step;
}

/* ---- reading and writing ---- */

/* The errno of an error of libssl that ends the connection. With TLS 1.3 this also reports a
 * refused certificate, because the side that shows it may read and write before the other side has
 * checked it. */
static int fatal_error(struct tls *t, int error) {
    t->broken = true;
    bool of_system = error == SSL_ERROR_SYSCALL && t->error && !is_passing(t->error);
    if (ERR_peek_error()) t->broken_text = ERR_reason_error_string(ERR_peek_error());
    ERR_clear_error();
    return of_system ? t->error : EPROTO;
}

static ssize_t fail_with(int error) {
    errno = error;
    return -1;
}

/* The result of a read that met the end or an error: if it has bytes, it returns these, and the
 * next read returns the end or the error. */
static ssize_t end_of_reading(struct tls *t, size_t got, bool ended, int error) {
    t->ended = ended;
    t->read_error = error;
    if (got) return (ssize_t)got;
    return ended ? 0 : fail_with(error);
}

static ssize_t read_records(struct connection *c, void *bytes, size_t length) {
    struct tls *t = tls_of(c);
    size_t got = 0;
    if (t->ended) return 0;
    if (t->read_error) return fail_with(t->read_error);
    if (t->broken) return fail_with(EPROTO);
    t->reads_left = TLS_READS_MAX;
    while (got < length) {
        size_t some = 0;
        begin_call(t);
        int done = SSL_read_ex(t->ssl, (char *)bytes + got, length - got, &some);
        got += some;
        if (done) t->strays = 0;
        if (done && SSL_has_pending(t->ssl)) continue;
        if (done) break;
        int error = SSL_get_error(t->ssl, done);
        if (t->strays > TLS_STRAYS_MAX) error = SSL_ERROR_SSL;
        if (error == SSL_ERROR_ZERO_RETURN) return end_of_reading(t, got, true, 0);
        if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE)
            return end_of_reading(t, got, false, fatal_error(t, error));
        if (error == SSL_ERROR_WANT_WRITE) c->read_needs = LOOP_WRITABLE;
        break;
    }
    if (got) c->read_needs = LOOP_READABLE;
    return got || !length ? (ssize_t)got : fail_with(EAGAIN);
}

static ssize_t read_bytes(struct connection *c, void *bytes, size_t length) {
    account = c;
    ssize_t got = read_records(c, bytes, length);
    account = NULL;
    return got;
}

/* The bytes of the next record: in place if one piece holds them, else gathered in `record`.
 * `passed` bytes of the pieces have been sent. */
static const char *next_record(const struct iovec *pieces, int count, size_t passed, char *record,
                               size_t *length) {
    size_t used = 0;
    for (; count && passed >= pieces->iov_len; count--) passed -= pieces++->iov_len;
    if (!count) return NULL;
    const char *first = (const char *)pieces->iov_base + passed;
    size_t left = pieces->iov_len - passed;
    if (left >= RECORD_BYTES || count == 1) {
        *length = left < RECORD_BYTES ? left : RECORD_BYTES;
        return first;
    }
    for (; count && used < RECORD_BYTES; count--, pieces++, passed = 0) {
        size_t taken = pieces->iov_len - passed;
        if (taken > RECORD_BYTES - used) taken = RECORD_BYTES - used;
        if (taken) memcpy(record + used, (const char *)pieces->iov_base + passed, taken);
        used += taken;
    }
    *length = used;
    return record;
}

static ssize_t write_records(struct connection *c, const struct iovec *pieces, int count) {
    struct tls *t = tls_of(c);
    char record[RECORD_BYTES];
    const char *bytes;
    size_t sent = 0, length = 0, some;
    if (t->broken) return fail_with(EPIPE);
    while ((bytes = next_record(pieces, count, sent, record, &length))) {
        begin_call(t);
        if (SSL_write_ex(t->ssl, bytes, length, &some)) {
            sent += some;
            continue;
        }
        int error = SSL_get_error(t->ssl, 0);
        if (error != SSL_ERROR_WANT_WRITE && error != SSL_ERROR_WANT_READ)
            return fail_with(fatal_error(t, error)); /* bytes that were sent are lost, too */
        c->write_needs = error == SSL_ERROR_WANT_READ ? LOOP_READABLE : LOOP_WRITABLE;
        return sent ? (ssize_t)sent : fail_with(EAGAIN);
    }
    return (ssize_t)sent;
}

static ssize_t tls_write_pieces(struct connection *c, const struct iovec *pieces, int count) {
    account = c;
    ssize_t sent = write_records(c, pieces, count);
    account = NULL;
    return sent;
}

static const char *broken_text(const struct connection *c) {
    return ((const struct tls *)c)->broken_text;
}

static bool has_pending(const struct connection *c) {
    const struct tls *t = (const struct tls *)c;
    return t->ended || t->read_error || (!t->broken && t->ssl && SSL_has_pending(t->ssl));
}

static void close_connection(struct connection *c) {
    struct tls *t = tls_of(c);
    if (!t->ssl) return;
    ERR_clear_error();
    if (c->established && !t->broken) (void)SSL_shutdown(t->ssl);
    SSL_free(t->ssl);
    t->ssl = NULL;
    ERR_clear_error();
}

#define TRANSPORT                                                                           \
    {                                                                                       \
        .name = "tls", .bytes = sizeof(struct tls), .memory = &tls_memory,                  \
        .open = open_connection, .handshake = shake_hands, .read = read_bytes,              \
        .writev = tls_write_pieces, .broken_text = broken_text, .has_pending = has_pending, \
        .close = close_connection                                                           \
    }
const struct connection_transport tls_transport = TRANSPORT;
const struct connection_transport tls_mutual_transport = TRANSPORT;
