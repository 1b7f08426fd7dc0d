/* SPDX-License-Identifier: BSD-3-Clause
 * TLS options.
 *
 * While neither a port nor a user needs TLS, values are kept unchecked, as in 6.2, so that CONFIG
 * SET can set a certificate, then its key, then the port. Once TLS is used, each value that is set
 * makes both contexts anew. If that fails, the old value is restored, and the old contexts stay as
 * they were. So CONFIG SET of an unchanged path reads a replaced file again.
 */
#include "io/tls_options.h"

#include "base/log.h"
#include "base/string.h"
#include "io/connection.h"
#include "io/tls.h"
#include "metric/row.h"
#include "option/option.h"

#define REASON_CHARS 512

static char *cert_file, *key_file, *key_pass;
static char *client_cert_file, *client_key_file, *client_key_pass;
static char *dh_params_file, *ca_file, *ca_dir, *protocols, *ciphers, *ciphersuites;
static int auth_clients;
static bool prefer_server_ciphers, session_caching;
static int64_t session_cache_size, session_cache_timeout_sec;
static bool is_open, serves_clients;

static struct tls_user *users;

static bool any_wants(bool accepts) {
    for (const struct tls_user *user = users; user; user = user->next)
        if (user->wanted && user->accepts == accepts) return true;
    return false;
}

static bool any_connects(void) { return any_wants(false); }
static bool is_used(void) { return serves_clients || any_connects() || any_wants(true); }

static bool tls_options_configure(void) {
    /* A certificate without a key, or the reverse, counts as no pair, as in 6.2, so that the files
     * can be set one after the other. */
    bool has_client_pair = *client_cert_file && *client_key_file;
    const struct tls_settings settings = {
        .accepts = true,
        .certificates_only = auth_clients != TLS_AUTH_NO || any_connects(),
        .clients = (enum tls_auth)auth_clients,
        .cert_file = cert_file,
        .key_file = key_file,
        .key_pass = key_pass,
        .client_cert_file = has_client_pair ? client_cert_file : NULL,
        .client_key_file = client_key_file,
        .client_key_pass = client_key_pass,
        .ca_file = ca_file,
        .ca_dir = ca_dir,
        .dh_params_file = dh_params_file,
        .protocols = protocols,
        .ciphers = ciphers,
        .ciphersuites = ciphersuites,
        .prefer_server_ciphers = prefer_server_ciphers,
        .session_caching = session_caching,
        .session_cache_size = session_cache_size,
        .session_cache_timeout_sec = session_cache_timeout_sec,
    };
    char why[REASON_CHARS];
    if (!tls_configure(&settings, why, sizeof(why))) {
        log_warning("%s", why);
        return false;
    }
    /* A pair that does not fit is only logged, because a pair of another kind is set one file after
     * the other. */
    if (!tls_pair_fits())
        log_warning(
            "tls-key-file is of another kind than the key in tls-cert-file: no client can "
            "connect over TLS until they belong together.");
    return true;
}

static bool configure_for_set(char *reason, size_t reason_size) {
    if (!is_open || !is_used() || tls_options_configure()) return true;
    snprintf(reason, reason_size, "Unable to update TLS configuration. Check server logs.");
    return false;
}

bool tls_options_apply(const struct option_row *row, char *reason, size_t reason_size) {
    return configure_for_set(reason, reason_size);
}

/* ---- rows ---- */

static const struct option_name auth_names[] = {
    {"no", TLS_AUTH_NO}, {"yes", TLS_AUTH_YES}, {"optional", TLS_AUTH_OPTIONAL}, {NULL, 0}};

#define TEXT(n, var, fl, pl, h)                                                                    \
    {                                                                                              \
        .name = (n), .type = OPTION_TYPE_STRING, .flags = OPTION_MUTABLE | (fl), .section = "tls", \
        .place = (pl), .fallback = "", .variable = &(var), .apply = tls_options_apply, .help = (h) \
    }
#define SWITCH(n, var, dflt, pl, h)                                                        \
    {                                                                                      \
        .name = (n), .type = OPTION_TYPE_BOOL, .flags = OPTION_MUTABLE, .section = "tls",  \
        .place = (pl), .fallback = (dflt), .variable = &(var), .apply = tls_options_apply, \
        .help = (h)                                                                        \
    }
#define NUMBER(n, var, dflt, pl, h)                                                         \
    {                                                                                       \
        .name = (n), .type = OPTION_TYPE_INT, .flags = OPTION_MUTABLE, .section = "tls",    \
        .place = (pl), .fallback = (dflt), .variable = &(var), .low = 0, .high = INT32_MAX, \
        .apply = tls_options_apply, .help = (h)                                             \
    }

static const struct option_row option_rows[] = {
    TEXT("tls-cert-file", cert_file, 0, 20,
         "The server's certificate, with those that lead from it to an authority behind it, in "
         "PEM. Setting it again reads the file again, as with all of these files."),
    TEXT("tls-key-file", key_file, 0, 30, "The private key of the certificate, in PEM."),
    TEXT("tls-key-file-pass", key_pass, OPTION_SECRET, 40,
         "What the file of the key is encrypted with; empty: it is not."),
    TEXT("tls-client-cert-file", client_cert_file, 0, 50,
         "The certificate that is shown where the server itself connects, as a replica does; "
         "without it, or without its key: tls-cert-file."),
    TEXT("tls-client-key-file", client_key_file, 0, 60, "The key of tls-client-cert-file."),
    TEXT("tls-client-key-file-pass", client_key_pass, OPTION_SECRET, 70,
         "What the file of that key is encrypted with; empty: it is not."),
    TEXT("tls-dh-params-file", dh_params_file, 0, 80,
         "Parameters for DHE with TLS 1.2, in PEM. Without them such ciphers are not offered; "
         "ECDHE and TLS 1.3 need none."),
    TEXT("tls-ca-cert-file", ca_file, 0, 90,
         "Certificates of the authorities that are believed, in PEM. This or tls-ca-cert-dir is "
         "needed wherever the other side's certificate is checked."),
    TEXT("tls-ca-cert-dir", ca_dir, 0, 100,
         "Certificates of such authorities as a directory of files, named by 'openssl rehash'."),
    {.name = "tls-auth-clients",
     .type = OPTION_TYPE_ENUM,
     .flags = OPTION_MUTABLE,
     .section = "tls",
     .place = 110,
     .fallback = "yes",
     .names = auth_names,
     .variable = &auth_clients,
     .apply = tls_options_apply,
     .help = "Whether a client must have a certificate of one of these authorities. optional: it "
             "may have none, but not a wrong one."},
    TEXT("tls-protocols", protocols, 0, 140,
         "The versions that are spoken, separated by blanks: TLSv1, TLSv1.1, TLSv1.2, TLSv1.3. "
         "Without a value: the last two."),
    TEXT("tls-ciphers", ciphers, 0, 150,
         "Ciphers of TLS 1.2 and before, in the form of 'openssl ciphers'. Without a value: what "
         "the library thinks good."),
    TEXT("tls-ciphersuites", ciphersuites, 0, 160,
         "Ciphers of TLS 1.3. Without a value: what the library thinks good."),
    SWITCH("tls-prefer-server-ciphers", prefer_server_ciphers, "no", 170,
           "Of the ciphers that both sides have, the server's order decides, and not the "
           "client's."),
    SWITCH("tls-session-caching", session_caching, "yes", 180,
           "Clients that come again may resume their session, which saves most of a handshake."),
    NUMBER("tls-session-cache-size", session_cache_size, "20480", 190,
           "Sessions that the server keeps, for clients that cannot keep them themselves; 0: any "
           "number."),
    NUMBER("tls-session-cache-timeout", session_cache_timeout_sec, "300", 200,
           "Seconds for which a session can be resumed."),
};

static void print_memory(const struct metric_row *row, struct buffer *out) {
    buffer_printf(out, "%zu", memory_used(tls_memory) + connection_booked_bytes(tls_memory));
}
static void print_open_handshakes(const struct metric_row *row, struct buffer *out) {
    buffer_printf(out, "%zu", connection_handshakes());
}
static void print_count(struct buffer *out, uint64_t count) {
    buffer_printf(out, "%llu", (unsigned long long)count);
}
static void print_handshakes(const struct metric_row *row, struct buffer *out) {
    print_count(out, tls_stats()->handshakes);
}
static void print_resumed(const struct metric_row *row, struct buffer *out) {
    print_count(out, tls_stats()->resumed);
}
static void print_failed(const struct metric_row *row, struct buffer *out) {
    print_count(out, tls_stats()->failed);
}

static const struct metric_row metric_rows[] = {
    METRIC_PRINT("Memory", 1225, "mem_tls", METRIC_BYTES, print_memory,
                 "Bytes that libssl holds for certificates, sessions and connections; those of "
                 "clients' are in mem_clients_normal, too."),
    METRIC_PRINT("Clients", 1000, "tls_handshakes_in_progress", METRIC_GAUGE, print_open_handshakes,
                 "Clients accepted over TLS that have not shown yet who they are."),
    METRIC_PRINT("Stats", 1120, "tls_handshakes", METRIC_COUNTER, print_handshakes,
                 "Handshakes with clients that came to their end."),
    METRIC_PRINT("Stats", 1130, "tls_handshakes_resumed", METRIC_COUNTER, print_resumed,
                 "Those of them that resumed a session."),
    METRIC_PRINT("Stats", 1140, "tls_handshakes_failed", METRIC_COUNTER, print_failed,
                 "Handshakes with clients that failed, those that took too long excepted."),
};

void tls_options_register(void) {
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
    metric_register(metric_rows, sizeof(metric_rows) / sizeof(metric_rows[0]));
    metric_register_reset(tls_stats_clear);
}

/* ---- who uses it ---- */

bool tls_options_open(void) {
    is_open = true;
    if (!is_used() || tls_options_configure()) return true;
    log_warning("Failed to configure TLS. Check logs for more info.");
    return false;
}

bool tls_options_serve(bool serves, char *reason, size_t reason_size) {
    bool before = serves_clients, was_used = is_used();
    serves_clients = serves;
    if (!is_open || !serves || was_used || configure_for_set(reason, reason_size)) return true;
    serves_clients = before;
    return false;
}

void tls_options_add_user(struct tls_user *user) {
    user->next = users;
    users = user;
}

const struct connection_transport *tls_for(const struct tls_user *user) {
    return user->wanted ? &tls_transport : NULL;
}
