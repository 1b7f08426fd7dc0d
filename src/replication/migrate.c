/* SPDX-License-Identifier: BSD-3-Clause
 * MIGRATE.
 *
 *   connect, or take a connection that was kept
 *   AUTH, SELECT           where they are needed
 *   RESTORE, RESTORE ...   a key each, and their replies in the same order; between nodes of a
 *                          cluster RESTORE-ASKING
 *   the keys that the other server has taken are deleted here, unless COPY
 *
 * The server serves no other connection until all replies are there (peer_client_turn). So no key
 * changes between the sending of its copy and its deletion, also within EXEC and scripts, as with
 * 6.2. The caller's timeout bounds each silence of the other side, not the whole.
 *
 * Invariants
 *  1. A key is deleted only after the other server has said OK to its RESTORE.
 *  2. No RESTORE is sent before AUTH and SELECT were answered with OK, so that no key gets into a
 *     database that was not asked for.
 *  3. A connection is kept only while each of its requests is answered.
 *  4. Besides one value at most UNSENT_BYTES_MAX wait to be sent, and at most ASKED_MAX requests
 *     are unanswered.
 */
#include "replication/migrate.h"

#include <inttypes.h>

#include "base/clock.h"
#include "base/number.h"
#include "base/panic.h"
#include "command/arguments.h"
#include "command/call.h"
#include "command/command_keys.h"
#include "command/row.h"
#include "exec/edit.h"
#include "exec/effects.h"
#include "io/tls_options.h"
#include "metric/row.h"
#include "net/client.h"
#include "net/listen.h"
#include "net/reply.h"
#include "option/option.h"
#include "peer/peer_client.h"
#include "rdb/dump.h"
#include "store/entry.h"
#include "store/keyspace.h"
#include "store/lazyfree.h"

#define UNSENT_BYTES_MAX 262144
#define ASKED_MAX 4096
#define TIMEOUT_MSEC_DEFAULT 1000
#define TIMEOUT_MSEC_MAX INT32_MAX
#define FIRST_OPTION 6
#define WORDS_MAX 5

/* ---- connections that are kept ---- */

struct link {
    struct peer_client *client;                   /* NULL = none */
    struct buffer name;                           /* host:port */
    const struct connection_transport *transport; /* NULL = a plain socket */
    int64_t used_msec;
    int64_t database; /* the database selected there, where `selected` */
    bool selected;
    struct migration *migration; /* the MIGRATE that uses the link */
};

static struct link links[MIGRATE_KEPT_MAX];
static struct tls_user tls; /* tls-cluster */

static void link_close(struct link *l) {
    peer_client_free(l->client);
    buffer_free(&l->name);
    *l = (struct link){0};
}

void migrate_cron(void) {
    int64_t now = clock_monotonic_msec();
    for (size_t i = 0; i < MIGRATE_KEPT_MAX; i++)
        if (links[i].client && now - links[i].used_msec > MIGRATE_KEPT_MSEC) link_close(&links[i]);
}

/* The kept connection of that name; NULL where there is none, or it is not usable any more. */
static struct link *link_find(struct slice name) {
    for (size_t i = 0; i < MIGRATE_KEPT_MAX; i++) {
        struct link *l = &links[i];
        if (!l->client || !slice_equal(buffer_slice(&l->name), name)) continue;
        /* An older plain connection is not used after `tls-cluster yes`. Nor is one with unread
         * input, which would be taken for the reply to the next request. */
        if (l->transport == tls_for(&tls) && peer_client_turn(l->client, 0) &&
            !peer_client_input(l->client).length)
            return l;
        link_close(l);
    }
    return NULL;
}

/* A free place, or that of the connection that was not used for the longest time. */
static struct link *link_place(void) {
    struct link *oldest = &links[0];
    for (size_t i = 0; i < MIGRATE_KEPT_MAX; i++) {
        if (!links[i].client) return &links[i];
        if (links[i].used_msec < oldest->used_msec) oldest = &links[i];
    }
    link_close(oldest);
    return oldest;
}

/* Each reply is a line; a longer one ends the connection. */
static struct peer_client *migrate_create_client(struct link *l) {
    const struct peer_client_settings settings = {.class = MEMORY_OTHER,
                                                  .reply = {PEER_LINE_BYTES_MAX, 64},
                                                  .asked_max = ASKED_MAX,
                                                  .owner = l};
    return peer_client_create(&settings);
}

/* Begins to connect; NULL where that fails at once. */
static struct link *link_open(struct slice name, struct slice host, struct slice port) {
    int64_t number;
    /* A wrong port is treated as port 0, where no server listens. */
    if (!number_parse_int64(port.bytes, port.length, &number) || number < 0 || number > UINT16_MAX)
        number = 0;
    struct link *l = link_place();
    char *address = slice_dup_c_string(host, MEMORY_OTHER);
    l->client = migrate_create_client(l);
    buffer_init(&l->name, MEMORY_OTHER);
    buffer_append(&l->name, name.bytes, name.length);
    l->transport = tls_for(&tls);
    const struct peer_address to = {
        .host = address, .port = (int)number, .transport = l->transport};
    if (!peer_client_connect(l->client, &to)) {
        link_close(l);
        l = NULL;
    }
    memory_free(address, MEMORY_OTHER);
    return l;
}

/* ---- one MIGRATE ---- */

enum moving_state {
    MOVING_WAITS,
    MOVING_OVER, /* has expired meanwhile: skipped */
    MOVING_SENT,
    MOVING_TAKEN,
    MOVING_REFUSED
};

struct moving {
    int index; /* of the argument */
    const struct entry *entry;
    enum moving_state state;
};

enum failure {
    FAILURE_NONE,
    FAILURE_REFUSED, /* refused by the other server, with its error text */
    FAILURE_CONNECTING,
    FAILURE_WRITING,
    FAILURE_READING
};

struct migration {
    struct call *call;
    bool copies, replaces;
    int user, password; /* arguments; 0 = none */
    int first, count;   /* the arguments that are keys */
    int64_t database, timeout_msec;
    struct moving *keys; /* the keys that exist */
    size_t keys_count;

    struct link *link;
    size_t asked, answered; /* requests */
    enum failure failure;   /* the first failure */
    bool late;              /* the failure was a silence of the other side */
    struct buffer refusal;
};

static void note_failure(struct migration *m, enum failure failure) {
    if (m->failure == FAILURE_NONE) m->failure = failure;
}

static void note_refusal(struct migration *m, const struct peer_reply *reply) {
    if (m->failure != FAILURE_NONE) return;
    m->failure = FAILURE_REFUSED;
    struct slice text = SLICE("a reply that means nothing here");
    if (reply->type == PEER_ERROR) text = reply->text;
    buffer_append(&m->refusal, text.bytes, text.length);
}

/* What an answer belongs to: a key, by its index, or AUTH or SELECT (ABOUT_GREETING). */
#define ABOUT_GREETING UINTPTR_MAX

/* No reply: the connection has ended, which `migrate_exchange` reports. */
static void migrate_take_answer(void *link, uintptr_t about, const struct peer_reply *reply) {
    struct migration *m = ((struct link *)link)->migration;
    if (!reply) return;
    bool good = reply->type == PEER_STATUS && slice_is(reply->text, "OK");
    if (!good) note_refusal(m, reply);
    m->answered++;
    if (about != ABOUT_GREETING) m->keys[about].state = good ? MOVING_TAKEN : MOVING_REFUSED;
}

/* Notes a failure of the connection; returns false. */
static bool migrate_fail(struct migration *m, enum failure failure) {
    m->late = peer_client_was_late(m->link->client);
    note_failure(m, failure);
    return false;
}

/* Waits until requests may be sent. A refused connection counts as one that cannot be written to,
 * as with 6.2. */
static bool migrate_await_connection(struct migration *m) {
    struct peer_client *client = m->link->client;
    peer_client_set_patience(client, m->timeout_msec);
    while (peer_client_state(client) != PEER_CLIENT_OPEN) {
        bool connects = peer_client_state(client) == PEER_CLIENT_CONNECTS;
        if (peer_client_turn(client, INT64_MAX)) continue;
        bool refused = connects && !peer_client_was_late(client);
        return migrate_fail(m, refused ? FAILURE_WRITING : FAILURE_CONNECTING);
    }
    return true;
}

/* Writes and reads until at most so many bytes are unsent and requests unanswered. False after a
 * failure of the connection, which must be open before. The connection may be closed afterwards
 * even where the result is true, if each request was answered. */
static bool migrate_exchange(struct migration *m, size_t unsent_max, size_t unanswered_max) {
    struct peer_client *client = m->link->client;
    peer_client_set_patience(client, m->timeout_msec);
    while (peer_client_unsent_bytes(client) > unsent_max ||
           peer_client_asked(client) > unanswered_max) {
        bool writes = peer_client_unsent_bytes(client) > 0;
        if (!peer_client_turn(client, INT64_MAX) && m->answered < m->asked)
            return migrate_fail(m, writes ? FAILURE_WRITING : FAILURE_READING);
    }
    return true;
}

static void note_asked(struct migration *m, bool asked) {
    ASSERT(asked); /* `migrate_exchange` has left room */
    m->asked++;
}

/* Sends AUTH and SELECT where needed. True where keys may follow. */
static bool migrate_greet(struct migration *m) {
    char digits[NUMBER_INT64_CHARS];
    struct peer_client *client = m->link->client;
    const struct peer_request request = {migrate_take_answer, ABOUT_GREETING};
    const struct slice *argv = m->call->argv;
    if (!migrate_await_connection(m)) return false;
    if (m->password)
        note_asked(
            m, peer_client_ask_auth(client, &request, m->user ? argv[m->user] : (struct slice){0},
                                    argv[m->password]));
    if (!m->link->selected || m->link->database != m->database) {
        struct slice number = {digits, number_format_int64(digits, m->database)};
        m->link->selected = false;
        note_asked(m,
                   peer_client_ask(client, &request, (struct slice[]){SLICE("SELECT"), number}, 2));
    }
    if (!migrate_exchange(m, 0, 0) || m->failure != FAILURE_NONE) return false;
    m->link->selected = true;
    m->link->database = m->database;
    return true;
}

/* Sends a RESTORE. False where the key's deadline has passed. */
static bool send_key(struct migration *m, const struct moving *key) {
    const struct peer_request request = {migrate_take_answer, (uintptr_t)(key - m->keys)};
    char digits[NUMBER_INT64_CHARS];
    /* A node that imports the slot would send a plain RESTORE back here. */
    struct slice command = keyspace_is_of_cluster() ? SLICE("RESTORE-ASKING") : SLICE("RESTORE");
    struct slice words[WORDS_MAX] = {command, m->call->argv[key->index]};
    struct buffer payload;
    int64_t ttl = 0;
    if (entry_has_deadline(key->entry)) {
        ttl = entry_deadline(key->entry) - clock_wall_msec();
        if (ttl < 0) return false;
        if (ttl == 0) ttl = 1; /* 0 would be no deadline */
    }
    words[2] = (struct slice){digits, number_format_int64(digits, ttl)};
    buffer_init(&payload, MEMORY_OTHER);
    dump_append(key->entry, &payload);
    words[3] = buffer_slice(&payload);
    words[4] = SLICE("REPLACE");
    note_asked(m, peer_client_ask(m->link->client, &request, words,
                                  m->replaces ? WORDS_MAX : WORDS_MAX - 1));
    buffer_free(&payload);
    return true;
}

static void migrate_transfer(struct migration *m) {
    m->asked = m->answered = 0;
    m->link->migration = m;
    for (size_t i = 0; i < m->keys_count; i++) m->keys[i].state = MOVING_WAITS;
    if (!migrate_greet(m)) return;
    for (size_t i = 0; i < m->keys_count; i++) {
        /* The connection may have ended while no request was unanswered. */
        if (peer_client_state(m->link->client) == PEER_CLIENT_CLOSED) {
            note_failure(m, FAILURE_WRITING);
            return;
        }
        m->keys[i].state = send_key(m, &m->keys[i]) ? MOVING_SENT : MOVING_OVER;
        if (!migrate_exchange(m, UNSENT_BYTES_MAX, ASKED_MAX - 1)) return;
    }
    (void)migrate_exchange(m, 0, 0); /* a failure is noted in `m` */
}

/* The other side may have closed a kept connection just as it was used: if nothing was answered, a
 * new one is tried. */
static void transfer_keys(struct migration *m) {
    struct slice host = m->call->argv[1], port = m->call->argv[2];
    struct buffer name;
    buffer_init(&name, MEMORY_OTHER);
    buffer_append(&name, host.bytes, host.length);
    buffer_append_char(&name, ':');
    buffer_append(&name, port.bytes, port.length);
    bool again = false;
    do {
        m->failure = FAILURE_NONE;
        m->link = link_find(buffer_slice(&name));
        bool kept = m->link != NULL;
        if (!kept) m->link = link_open(buffer_slice(&name), host, port);
        if (!m->link) {
            note_failure(m, FAILURE_CONNECTING);
            break;
        }
        migrate_transfer(m);
        again = kept && m->answered == 0 && m->failure != FAILURE_NONE && !m->late;
        m->link->used_msec = clock_monotonic_msec();
        if (m->answered < m->asked || peer_client_state(m->link->client) != PEER_CLIENT_OPEN)
            link_close(m->link);
    } while (again);
    buffer_free(&name);
}

static void delete_taken(struct migration *m) {
    bool lazily = lazyfree_wanted(LAZYFREE_SERVER_DEL);
    struct slice *words = memory_alloc((m->keys_count + 1) * sizeof(words[0]), MEMORY_OTHER);
    int count = 0;
    words[count++] = SLICE("DEL");
    for (size_t i = 0; i < m->keys_count; i++) {
        struct key key = call_key(m->call, m->keys[i].index);
        if (m->keys[i].state == MOVING_TAKEN && edit_delete(&key, lazily))
            words[count++] = key.name;
    }
    if (count > 1) effect_add(m->call->keyspace, EFFECT_BOTH, count, words);
    memory_free(words, MEMORY_OTHER);
}

static void reply_outcome(struct migration *m) {
    struct client *c = m->call->client;
    switch (m->failure) {
    case FAILURE_NONE: reply_ok(c); break;
    case FAILURE_REFUSED:
        reply_error_format(c, "Target instance replied with error: %.*s", (int)m->refusal.length,
                           m->refusal.bytes);
        break;
    case FAILURE_CONNECTING:
        reply_error(c, "-IOERR error or timeout connecting to the client");
        break;
    case FAILURE_WRITING:
        reply_error(c, "-IOERR error or timeout writing to target instance");
        break;
    case FAILURE_READING:
        reply_error(c, "-IOERR error or timeout reading to target instance");
        break;
    }
}

/* ---- the command ---- */

/* False after an error reply. */
static bool parse_options(struct migration *m) {
    const struct call *call = m->call;
    m->first = 3;
    m->count = 1;
    for (int i = FIRST_OPTION; i < call->argc; i++) {
        int more = call->argc - 1 - i;
        if (argument_is(call, i, "copy")) {
            m->copies = true;
        } else if (argument_is(call, i, "replace")) {
            m->replaces = true;
        } else if (argument_is(call, i, "auth") && more >= 1) {
            m->password = ++i;
        } else if (argument_is(call, i, "auth2") && more >= 2) {
            m->user = ++i;
            m->password = ++i;
        } else if (argument_is(call, i, "keys") && call->argv[3].length) {
            reply_error(call->client,
                        "When using MIGRATE KEYS option, the key argument must be "
                        "set to the empty string");
            return false;
        } else if (argument_is(call, i, "keys")) {
            m->first = i + 1;
            m->count = more;
            break;
        } else {
            reply_syntax_error(call->client);
            return false;
        }
    }
    if (!argument_int64(call, 5, &m->timeout_msec, NULL) ||
        !argument_int64(call, 4, &m->database, NULL))
        return false;
    if (m->timeout_msec <= 0) m->timeout_msec = TIMEOUT_MSEC_DEFAULT;
    if (m->timeout_msec > TIMEOUT_MSEC_MAX) m->timeout_msec = TIMEOUT_MSEC_MAX;
    return true;
}

static void find_keys(struct migration *m) {
    m->keys = memory_alloc(((size_t)m->count + 1) * sizeof(m->keys[0]), MEMORY_OTHER);
    for (int i = m->first; i < m->first + m->count; i++) {
        const struct entry *e = call_read(m->call, i);
        if (e) m->keys[m->keys_count++] = (struct moving){.index = i, .entry = e};
    }
}

static void command_migrate(struct call *call) {
    struct migration m = {.call = call};
    if (!parse_options(&m)) return;
    buffer_init(&m.refusal, MEMORY_OTHER);
    find_keys(&m);
    if (m.keys_count == 0) {
        reply_status(call->client, "NOKEY");
    } else {
        transfer_keys(&m);
        if (!m.copies) delete_taken(&m);
        reply_outcome(&m);
    }
    memory_free(m.keys, MEMORY_OTHER);
    buffer_free(&m.refusal);
}

static bool migrate_is_secret(const struct call *call, int index) {
    for (int i = FIRST_OPTION; i < call->argc && !argument_is(call, i, "keys"); i++) {
        int secrets = argument_is(call, i, "auth") ? 1 : argument_is(call, i, "auth2") ? 2 : 0;
        if (index > i && index <= i + secrets) return true;
        i += secrets;
    }
    return false;
}

/* The key argument; where that is empty, all arguments behind the word KEYS. */
static bool migrate_keys(const struct key_search *s) {
    int at = s->argv[3].length ? s->argc : FIRST_OPTION;
    while (at < s->argc && !slice_is(s->argv[at], "keys")) at++;
    if (at >= s->argc)
        key_named(s, 3);
    else
        keys_named(s, at + 1, s->argc - at - 1);
    return at + 1 != s->argc;
}

static struct command rows[] = {
    COMMAND("migrate", command_migrate, -6, WRITE | BY_CHANCE | MOVABLE,
            ACL_KEYSPACE | ACL_DANGEROUS, CHANGES(WHOLE, KEYS(3, 3, 1)),
            "Moves keys to another server: COPY, REPLACE, AUTH, AUTH2, KEYS.", .keys = migrate_keys,
            .is_secret = migrate_is_secret),
};

static void print_kept(const struct metric_row *row, struct buffer *out) {
    int count = 0;
    for (size_t i = 0; i < MIGRATE_KEPT_MAX; i++) count += links[i].client != NULL;
    buffer_printf(out, "%d", count);
}

static const struct metric_row metric_rows[] = {
    METRIC_PRINT("Stats", 230, "migrate_cached_sockets", METRIC_GAUGE, print_kept,
                 "Connections that MIGRATE keeps for the next one."),
};

const struct connection_transport *migrate_transport(void) { return tls_for(&tls); }

/* The bus of a cluster listens beside another port then. */
static bool apply_tls_cluster(const struct option_row *row, char *reason, size_t reason_size) {
    return tls_options_apply(row, reason, reason_size) &&
           listen_apply_port(row, reason, reason_size);
}

static const struct option_row option_rows[] = {
    {.name = "tls-cluster",
     .type = OPTION_TYPE_BOOL,
     .flags = OPTION_MUTABLE,
     .section = "tls",
     .place = 130,
     .fallback = "no",
     .variable = &tls.wanted,
     .apply = apply_tls_cluster,
     .help =
         "The bus of a cluster, and MIGRATE, use TLS, and the TLS ports of nodes are shown. Both "
         "ends of the bus must have a certificate."},
};

void migrate_register(void) {
    tls_options_add_user(&tls);
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
    command_register(COMMAND_ROWS(rows));
    metric_register(metric_rows, sizeof(metric_rows) / sizeof(metric_rows[0]));
}
