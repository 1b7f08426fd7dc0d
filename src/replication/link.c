/* SPDX-License-Identifier: BSD-3-Clause
 * The link to a primary. link.h has the idea and the states.
 *
 * The handshake, one request after the other and without waiting for the socket:
 *
 *   PING -> AUTH (with masterauth), REPLCONF listening-port, ip-address (with replica-announce-ip),
 *   capa -> PSYNC id place+1, or PSYNC ? -1 -> +FULLRESYNC id place: a copy comes
 *                                              +CONTINUE [id]: the stream goes on
 *                                              an error: SYNC, and a copy comes; or later again
 *
 * Invariants
 *  1. The client is open exactly in LOOKS_UP, CONNECTING, GREETS and RECEIVES. The loop serves it,
 *     except while a copy is due to be loaded, or is loaded: then replication/receive does.
 *  2. A stream is applied exactly in UP.
 *  3. `continues` is true only while the data is what the history says: after a start with such a
 *     file, after having been a primary, or after a link that was UP, until a copy begins.
 *  4. Each state is set by link_set_state, which also applies what depends on it.
 */
#include "replication/link.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "aof/aof.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/number.h"
#include "base/panic.h"
#include "exec/blocked.h"
#include "io/loop.h"
#include "io/tls_options.h"
#include "net/client.h"
#include "net/listen.h"
#include "option/option.h"
#include "peer/peer_client.h"
#include "replication/apply.h"
#include "replication/history.h"
#include "replication/primary.h"
#include "replication/receive.h"
#include "replication/saved_history.h"
#include "replication/stream.h"

#define SHOWN_BYTES 256
#define REPLY_BYTES_MAX 65536
#define WORDS_MAX 7

/* The request that an answer belongs to. */
enum question { PING, AUTH, PORT, ADDRESS, CAPABILITIES, PSYNC, QUESTIONS };

static char *user, *announce_ip;
static struct buffer password = {.class = MEMORY_OTHER}; /* any bytes; empty = none */
static int64_t announce_port;
static struct tls_user tls; /* tls-replication */
static struct {
    char *host; /* NULL: none */
    int port;
} named;                         /* the server that the option replicaof names */
static bool is_by_option = true; /* link_set_by_option */

static struct {
    enum link_state state;
    char *host; /* NULL: none */
    int port;
    struct peer_client *client; /* NULL before the first connection */
    bool asked_for_stream;
    bool continues;
    bool copy_is_due;
    bool by_sync;                  /* asked by SYNC: no history, no acknowledgements */
    char id[HISTORY_ID_CHARS + 1]; /* the history of the copy that is received */
    int64_t place;
    int database;                           /* the database in which the stream continues */
    int64_t begun_sec, heard_sec, lost_sec; /* monotonic; -1: not lost */
    int64_t stream_sec; /* when the last link that was UP was heard of last; -1: there was none */
    int64_t cron_sec;
    const struct link_takeover *takeover;
} primary = {.lost_sec = -1, .stream_sec = -1};

static const struct link_observer *const no_observers[] = {NULL};
static const struct link_observer *const *observers = no_observers;

bool link_is_replica(void) { return primary.host != NULL; }
enum link_state link_state(void) { return primary.state; }
const char *link_host(void) { return primary.host ? primary.host : ""; }
int link_port(void) { return primary.port; }
bool link_may_continue(void) { return primary.state == LINK_UP || primary.continues; }
void link_set_observers(const struct link_observer *const *list) { observers = list; }
int64_t link_down_sec(void) {
    return primary.lost_sec < 0 ? -1 : clock_monotonic_sec() - primary.lost_sec;
}
int64_t link_silent_sec(void) {
    return primary.state == LINK_UP ? clock_monotonic_sec() - apply_heard_sec() : -1;
}
int64_t link_data_age_sec(void) {
    if (primary.state == LINK_UP) return link_silent_sec();
    return primary.stream_sec < 0 ? -1 : clock_monotonic_sec() - primary.stream_sec;
}
int link_database(void) { return primary.state == LINK_UP ? apply_database() : primary.database; }

/* ---- states ---- */

static void tell_changed(void) {
    for (const struct link_observer *const *o = observers; *o; o++)
        if ((*o)->changed) (*o)->changed();
}

static void tell_status(const char *text) {
    for (const struct link_observer *const *o = observers; *o; o++)
        if ((*o)->status) (*o)->status(text);
}

static void link_set_state(enum link_state state) {
    primary.state = state;
    if (state == LINK_UP) primary.lost_sec = -1;
    primary_set_role(!primary.host      ? PRIMARY_ROLE
                     : state == LINK_UP ? REPLICA_ROLE
                                        : REPLICA_ROLE_UNLINKED);
    tell_changed();
}

static void close_client(void) {
    if (primary.client) peer_client_close(primary.client);
    primary.copy_is_due = false;
}

/* ---- connecting ---- */

static void begin_greeting(void *unused);
static void client_ended(void *unused);
static void input_came(void *unused);

/* The socket begins to connect. */
static void connection_begins(void *unused) {
    link_set_state(LINK_CONNECTING);
    log_notice("MASTER <-> REPLICA sync started");
}

static struct peer_client *link_create_client(void) {
    static const struct peer_client_events events = {
        .connects = connection_begins,
        .opened = begin_greeting,
        .ended = client_ended,
        .input = input_came,
    };
    const struct peer_client_settings settings = {.loop = client_loop(),
                                                  .class = replication_memory,
                                                  .reply = {REPLY_BYTES_MAX, 64},
                                                  .asked_max = QUESTIONS,
                                                  .events = &events};
    return peer_client_create(&settings);
}

/* Connects, if possible from the address at which this server listens for clients. */
static void connect_now(void) {
    struct peer_address address = {.host = primary.host,
                                   .port = primary.port,
                                   .source = listen_source_address(),
                                   .transport = tls_for(&tls)};
    if (!primary.client) primary.client = link_create_client();
    primary.asked_for_stream = primary.by_sync = false;
    if (!peer_client_connect(primary.client, &address)) {
        log_warning("Unable to connect to MASTER: %s", peer_client_error(primary.client));
        close_client();
        return;
    }
    primary.begun_sec = primary.heard_sec = clock_monotonic_sec();
    if (peer_client_state(primary.client) == PEER_CLIENT_LOOKS_UP)
        link_set_state(LINK_LOOKS_UP);
    else
        connection_begins(NULL);
}

static void say_and_connect(const char *format) __attribute__((format(printf, 1, 0)));
static void say_and_connect(const char *format) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    log_notice(format, primary.host, primary.port);
#pragma GCC diagnostic pop
    connect_now();
}

/* Ends the link as far as it has come; the cron, or the caller, connects again. */
static void give_up(void) {
    apply_stop();
    receive_stop();
    close_client();
    link_set_state(primary.host ? LINK_WAITS : LINK_NONE);
}

/* ---- the greeting ---- */

static void link_take_answer(void *unused, uintptr_t question, const struct peer_reply *reply);

/* Sends a request. There is room for one of each. */
static void link_ask(enum question question, const struct slice *words, size_t count) {
    bool asked = peer_client_ask(primary.client, &(struct peer_request){link_take_answer, question},
                                 words, count);
    ASSERT(asked);
}

static void ask_all(void) {
    char digits[NUMBER_INT64_CHARS];
    const struct peer_request auth = {link_take_answer, AUTH};
    bool over_tls = tls_for(&tls) && listen_tls_port();
    int64_t port = announce_port ? announce_port : over_tls ? listen_tls_port() : listen_port();
    struct slice words[WORDS_MAX] = {
        SLICE("REPLCONF"), SLICE("listening-port"), {digits, number_format_int64(digits, port)}};
    if (password.length) {
        bool asked =
            peer_client_ask_auth(primary.client, &auth, *user ? slice_of(user) : (struct slice){0},
                                 buffer_slice(&password));
        ASSERT(asked);
    }
    link_ask(PORT, words, 3);
    if (*announce_ip) {
        words[1] = SLICE("ip-address");
        words[2] = slice_of(announce_ip);
        link_ask(ADDRESS, words, 3);
    }
    words[1] = words[3] = SLICE("capa");
    words[2] = SLICE("eof");
    words[4] = SLICE("psync2");
    link_ask(CAPABILITIES, words, 5);
}

static void ask_for_stream(void) {
    char digits[NUMBER_INT64_CHARS] = "-1";
    size_t length = 2;
    if (primary.continues) {
        length = number_format_int64(digits, history_place() + 1);
        log_notice("Trying a partial resynchronization (request %s:%.*s).", history_id(),
                   (int)length, digits);
    } else {
        log_notice("Partial resynchronization not possible (no cached master)");
    }
    const struct slice words[] = {SLICE("PSYNC"),
                                  primary.continues ? slice_of(history_id()) : SLICE("?"),
                                  {digits, length},
                                  SLICE("FAILOVER")};
    primary.asked_for_stream = true;
    link_ask(PSYNC, words, primary.takeover ? 4 : 3);
}

/* ---- what PSYNC is answered ---- */

static void takeover_accepted(void) {
    const struct link_takeover *takeover = primary.takeover;
    primary.takeover = NULL;
    if (takeover) takeover->accepted();
}

/* Ends the link, which is not connected again before the next cron, because the callback may stop
 * following. */
static void takeover_refused(void) {
    const struct link_takeover *takeover = primary.takeover;
    primary.takeover = NULL;
    give_up();
    takeover->refused("Failover target rejected psync request");
}

/* Our own replicas need a copy, too, and must not continue from our old history. */
static void drop_history(void) {
    primary.continues = false;
    primary_drop_replicas();
    client_finish_closing();
    stream_close();
}

static void begin_copy(void) {
    drop_history();
    peer_client_leave_protocol(primary.client);
    if (receive_begin(primary.client))
        link_set_state(LINK_RECEIVES);
    else
        give_up();
}

static bool is_id(struct slice text) {
    if (text.length != HISTORY_ID_CHARS) return false;
    for (size_t i = 0; i < text.length; i++)
        if (!isxdigit((unsigned char)text.bytes[i])) return false;
    return true;
}

/* "FULLRESYNC <id> <place>" */
static void full_resync(struct slice text) {
    struct slice rest = {text.bytes + strlen("FULLRESYNC"), text.length - strlen("FULLRESYNC")};
    struct slice id = {rest.bytes + 1, HISTORY_ID_CHARS};
    bool good = rest.length > HISTORY_ID_CHARS + 2 && rest.bytes[0] == ' ' && is_id(id) &&
                rest.bytes[HISTORY_ID_CHARS + 1] == ' ' &&
                number_parse_int64(rest.bytes + HISTORY_ID_CHARS + 2,
                                   rest.length - HISTORY_ID_CHARS - 2, &primary.place) &&
                primary.place >= 0 && primary.place <= HISTORY_PLACE_MAX;
    if (!good) {
        log_warning("Master replied with wrong +FULLRESYNC syntax.");
        primary.continues = false;
        give_up();
        return;
    }
    memcpy(primary.id, id.bytes, HISTORY_ID_CHARS);
    log_notice("Full resync from master: %s:%" PRId64, primary.id, primary.place);
    takeover_accepted();
    begin_copy();
}

static void link_stream_lost(enum apply_end how);

static void go_up(struct slice early) {
    stream_open();
    if (!peer_client_may_release(primary.client)) {
        log_warning("The connection to MASTER ended before its stream began.");
        give_up();
        return;
    }
    if (!apply_begin(primary.client, early, primary.database, link_stream_lost)) {
        give_up();
        return;
    }
    apply_set_mute(primary.by_sync);
    primary.copy_is_due = false;
    link_set_state(LINK_UP);
}

/* "CONTINUE", or "CONTINUE <id>" where the primary's history has another name now. */
static void link_continue_stream(struct slice text) {
    size_t before = strlen("CONTINUE ");
    log_notice("Successful partial resynchronization with master.");
    if (text.length > before) {
        struct slice id = {text.bytes + before, text.length - before};
        if (is_id(id) && memcmp(id.bytes, history_id(), HISTORY_ID_CHARS) != 0) {
            log_warning("Master replication ID changed to %.*s", HISTORY_ID_CHARS, id.bytes);
            history_rename(id.bytes);
            primary_drop_replicas(); /* they must learn the new id */
        }
    }
    takeover_accepted();
    go_up(SLICE(""));
    if (primary.state != LINK_UP) return;
    log_notice("MASTER <-> REPLICA sync: Master accepted a Partial Resynchronization.");
    tell_status(
        "MASTER <-> REPLICA sync: Partial Resynchronization accepted. Ready to accept connections "
        "in read-write mode.");
}

static bool text_begins_with(struct slice text, const char *word) {
    size_t length = strlen(word);
    return text.length >= length && memcmp(text.bytes, word, length) == 0;
}

static void fall_back(const struct peer_reply *reply, const char *shown) {
    if (reply->type == PEER_ERROR && text_begins_with(reply->text, "ERR"))
        log_notice("Master does not support PSYNC or is in error state (reply: -%s)", shown);
    else
        log_warning("Unexpected reply to PSYNC from master: %s", shown);
    log_notice("Retrying with SYNC...");
    peer_client_send_bytes(primary.client, SLICE("SYNC\r\n"));
    primary.by_sync = true;
    begin_copy();
}

static void answer_psync(const struct peer_reply *reply, const char *shown) {
    bool status = reply->type == PEER_STATUS, error = reply->type == PEER_ERROR;
    bool later = error && (text_begins_with(reply->text, "NOMASTERLINK") ||
                           text_begins_with(reply->text, "LOADING"));
    if (status && text_begins_with(reply->text, "FULLRESYNC")) {
        full_resync(reply->text);
    } else if (status && text_begins_with(reply->text, "CONTINUE") && primary.continues) {
        link_continue_stream(reply->text);
    } else if (primary.takeover) {
        log_warning("Unexpected reply to PSYNC from master: %s", shown);
        takeover_refused();
    } else if (later) {
        log_notice("Master is currently unable to PSYNC but should be in the future: -%s", shown);
        give_up();
    } else {
        fall_back(reply, shown);
    }
}

/* ---- answers ---- */

static bool lets_us_go_on(const struct peer_reply *reply) {
    if (reply->type == PEER_STATUS) return true;
    return reply->type == PEER_ERROR &&
           (text_begins_with(reply->text, "NOAUTH") || text_begins_with(reply->text, "NOPERM") ||
            text_begins_with(reply->text, "ERR operation not permitted"));
}

static void answer_ping(const struct peer_reply *reply, const char *shown) {
    if (!lets_us_go_on(reply)) {
        log_warning("Error reply to PING from master: '%s%s'", reply->type == PEER_ERROR ? "-" : "",
                    shown);
        give_up();
        return;
    }
    log_notice("Master replied to PING, replication can continue...");
    ask_all();
}

static void answer_setting(const struct peer_reply *reply, const char *shown, const char *name) {
    if (reply->type == PEER_ERROR)
        log_notice("(Non critical) Master does not understand REPLCONF %s: -%s", name, shown);
}

/* No reply: the end of the connection follows. */
static void link_take_answer(void *unused, uintptr_t question, const struct peer_reply *reply) {
    char shown[SHOWN_BYTES];
    if (!reply) return;
    primary.heard_sec = clock_monotonic_sec();
    string_show(reply->text, shown, sizeof(shown));
    switch ((enum question)question) {
    case PING: answer_ping(reply, shown); break;
    case AUTH:
        if (reply->type != PEER_ERROR) break;
        log_warning("Unable to AUTH to MASTER: -%s", shown);
        give_up();
        break;
    case PORT: answer_setting(reply, shown, "listening-port"); break;
    case ADDRESS: answer_setting(reply, shown, "ip-address"); break;
    case CAPABILITIES:
        answer_setting(reply, shown, "capa");
        ask_for_stream();
        break;
    default: answer_psync(reply, shown); break;
    }
}

/* ---- the client's events ---- */

static void begin_greeting(void *unused) {
    log_notice("Non blocking connect for SYNC fired the event.");
    link_set_state(LINK_GREETS);
    link_ask(PING, (const struct slice[]){SLICE("PING")}, 1);
}

/* Reconnects after a failure: at once, but at most once a second, so that a primary that refuses is
 * not asked as fast as it answers. */
static void reconnect_after_failure(void) {
    give_up();
    if (primary.begun_sec == clock_monotonic_sec()) return;
    say_and_connect("Reconnecting to MASTER %s:%d after failure");
}

static void client_ended(void *unused) {
    const char *why = peer_client_error(primary.client);
    switch (primary.state) {
    case LINK_LOOKS_UP: log_warning("Unable to connect to MASTER: %s", why); break;
    case LINK_CONNECTING: log_warning("Error condition on socket for SYNC: %s", why); break;
    case LINK_GREETS:
        log_warning("The connection to MASTER ended while it was greeted: %s", why);
        break;
    default: log_warning("I/O error trying to sync with MASTER: %s", why); break;
    }
    if (primary.state == LINK_RECEIVES)
        reconnect_after_failure();
    else if (primary.state == LINK_GREETS && primary.asked_for_stream && primary.takeover)
        takeover_refused();
    else
        give_up();
}

/* Input of a copy has come. */
static void input_came(void *unused) {
    switch (receive_take()) {
    case RECEIVE_DUE:
        primary.copy_is_due = true;
        peer_client_leave_loop(primary.client);
        break;
    case RECEIVE_FAILED: reconnect_after_failure(); break;
    default: break;
    }
}

/* ---- a copy is there ---- */

/* Adopts the copy's history. The copy itself says in which database its stream continues: a
 * replica's copy may continue in any. */
static void adopt_history(void) {
    struct saved_history said;
    char id[HISTORY_ID_CHARS + 1];
    if (primary.by_sync) {
        history_begin();
        memcpy(id, history_id(), sizeof(id));
        history_adopt(id, 0);
    } else {
        history_adopt(primary.id, primary.place);
    }
    primary.continues = !primary.by_sync;
    primary.database = saved_history_of_file(&said) ? said.database : 0;
}

static void copy_loaded(struct slice early) {
    adopt_history();
    if (!peer_client_may_release(primary.client)) {
        log_warning("Connection with master lost.");
        stream_open();
        reconnect_after_failure();
        return;
    }
    go_up(early);
    receive_stop();
    if (primary.state != LINK_UP) return;
    log_notice("MASTER <-> REPLICA sync: Finished with success");
    tell_status(
        "MASTER <-> REPLICA sync: Finished with success. Ready to accept connections in read-write "
        "mode.");
    apply_acknowledge();
}

static void load_copy(void) {
    struct slice early;
    primary.copy_is_due = false;
    aof_suspend();
    saved_history_forget();
    if (receive_load(&early) != RECEIVE_LOADED) {
        reconnect_after_failure();
        return;
    }
    copy_loaded(early);
    aof_go_on();
}

/* ---- the stream's end ---- */

static void link_stream_lost(enum apply_end how) {
    log_warning("Connection with master lost.");
    primary.database = apply_database();
    primary.continues = how == APPLY_LOST && !primary.by_sync;
    if (primary.continues) log_notice("Caching the disconnected master state.");
    primary.lost_sec = clock_monotonic_sec();
    primary.stream_sec = apply_heard_sec();
    link_set_state(LINK_WAITS);
    say_and_connect("Reconnecting to MASTER %s:%d");
}

bool link_step(void) {
    if (primary.copy_is_due) load_copy();
    return apply_step();
}

/* ---- whom it follows ---- */

static void set_host(const char *host, int port) {
    char *copy = host ? memory_strdup(host, MEMORY_OTHER) : NULL;
    memory_free(primary.host, MEMORY_OTHER);
    primary.host = copy;
    primary.port = port;
    primary.stream_sec = -1;
}

/* Our own history may be continued by a primary that knows it. */
static void link_continue_own_history(void) {
    stream_take_effects(false);
    primary.continues = true;
    primary.database = 0;
    log_notice(
        "Before turning into a replica, using my own master parameters to synthesize a cached "
        "master: I may be able to synchronize with the new master with just a partial transfer.");
}

static void link_change_primary(const char *host, int port, const struct link_takeover *takeover) {
    bool was_primary = !primary.host;
    if (primary.state == LINK_UP) primary.database = apply_database();
    set_host(host, port);
    give_up();
    primary.takeover = takeover;
    blocked_end_all(&(struct blocked_end){
        .reason = BLOCKED_ERROR,
        .error = "-UNBLOCKED force unblock from blocking operation, instance state changed (master "
                 "-> replica?)",
        .closes = true});
    primary_drop_replicas();
    if (was_primary) link_continue_own_history();
    say_and_connect("Connecting to MASTER %s:%d");
}

void link_follow(const char *host, int port) { link_change_primary(host, port, NULL); }

void link_hand_over(const char *host, int port, const struct link_takeover *takeover) {
    link_change_primary(host, port, takeover);
}

void link_stop_following(void) {
    if (!primary.host) return;
    set_host(NULL, 0);
    give_up();
    primary.takeover = NULL;
    primary.continues = false;
    primary.lost_sec = -1;
    history_branch();
    log_warning("Setting secondary replication ID to %s, valid up to offset: %" PRId64
                ". New replication ID is %s",
                history_id2(), history_id2_end(), history_id());
    primary_drop_replicas();
    stream_take_effects(true);
    aof_go_on();
}

void link_start_as(const char *host, int port) {
    set_host(host, port);
    link_set_state(host ? LINK_WAITS : LINK_NONE);
    stream_take_effects(!host);
}

void link_begin(bool continues, int database) {
    if (!primary.host) return;
    primary.continues = continues;
    primary.database = database;
    if (continues) stream_open();
    tell_changed();
    if (is_by_option)
        say_and_connect("Connecting to MASTER %s:%d");
    else
        primary.cron_sec = clock_monotonic_sec(); /* the next second connects */
}

/* ---- each second ---- */

static bool is_greeting(void) {
    return primary.state == LINK_CONNECTING || primary.state == LINK_GREETS;
}

static bool is_silent(int64_t heard) {
    return clock_monotonic_sec() - heard > primary_timeout_sec();
}

static void look_at_silence(void) {
    if (is_greeting() && is_silent(primary.heard_sec)) {
        log_warning("Timeout connecting to the MASTER...");
        reconnect_after_failure();
    } else if (primary.state == LINK_RECEIVES && is_silent(receive_heard_sec())) {
        log_warning(
            "Timeout receiving bulk data from MASTER... If the problem persists try to set the "
            "'repl-timeout' parameter in redis.conf to a larger value.");
        reconnect_after_failure();
    } else if (primary.state == LINK_UP && is_silent(apply_heard_sec())) {
        log_warning("MASTER timeout: no data nor PING received...");
        apply_stop();
        link_stream_lost(APPLY_LOST);
    }
}

void link_cron(void) {
    int64_t now = clock_monotonic_sec();
    if (!primary.host || now == primary.cron_sec) return;
    primary.cron_sec = now;
    look_at_silence();
    if (primary.state == LINK_WAITS) say_and_connect("Connecting to MASTER %s:%d");
    if (primary.state == LINK_UP) apply_keep_alive();
}

/* ---- options ---- */

void link_set_by_option(bool by_option) { is_by_option = by_option; }

bool link_primary_by_option(const char **host, int *port) {
    *host = named.host;
    *port = named.port;
    return named.host;
}

/* The option is read only at start; role_open decides whether this server follows the named one. */
static bool replicaof_parse(const struct option_row *row, const struct slice *words, size_t count,
                            char *reason, size_t reason_size) {
    int64_t port;
    if (option_source_now() == OPTION_FROM_DEFAULT) return true;
    if (count != 2) return false;
    if (slice_is(words[0], "no") && slice_is(words[1], "one")) {
        memory_free(named.host, MEMORY_OTHER);
        named.host = NULL;
        return true;
    }
    if (!number_parse_int64(words[1].bytes, words[1].length, &port) || port < 0 || port > 65535) {
        snprintf(reason, reason_size, "Invalid master port");
        return false;
    }
    memory_free(named.host, MEMORY_OTHER);
    named.host = slice_dup_c_string(words[0], MEMORY_OTHER);
    named.port = (int)port;
    return true;
}

static void replicaof_print(const struct option_row *row, struct buffer *out) {
    if (primary.host) buffer_printf(out, "%s %d", primary.host, primary.port);
}

static void replicaof_rewrite(const struct option_row *row, struct buffer *out) {
    if (primary.host && is_by_option)
        buffer_printf(out, "%s %s %d\n", row->name, primary.host, primary.port);
}

static const struct option_row option_rows[] = {
    {.name = "replicaof",
     .alias = "slaveof",
     .type = OPTION_TYPE_CUSTOM,
     .flags = OPTION_ALIAS_FIRST,
     .section = "replication",
     .place = 10,
     .fallback = "",
     .parse = replicaof_parse,
     .print = replicaof_print,
     .rewrite = replicaof_rewrite,
     .help =
         "Host and port of the primary to replicate from; \"no one\": this server is a primary."},
    {.name = "masterauth",
     .type = OPTION_TYPE_CUSTOM,
     .flags = OPTION_MUTABLE | OPTION_SECRET,
     .section = "replication",
     .place = 20,
     .fallback = "",
     .variable = &password,
     .parse = option_any_bytes_parse,
     .print = option_any_bytes_print,
     .rewrite = option_any_bytes_rewrite,
     .help = "The password that the primary asks for."},
    OPTION_STRING("masteruser", &user, "", OPTION_MUTABLE | OPTION_SECRET, "replication", 30,
                  "The user that masterauth belongs to."),
    {.name = "replica-announce-ip",
     .alias = "slave-announce-ip",
     .type = OPTION_TYPE_STRING,
     .flags = OPTION_MUTABLE,
     .section = "replication",
     .place = 180,
     .fallback = "",
     .variable = &announce_ip,
     .help = "The address by which the primary and Sentinel know this replica."},
    {.name = "replica-announce-port",
     .alias = "slave-announce-port",
     .type = OPTION_TYPE_INT,
     .flags = OPTION_MUTABLE,
     .section = "replication",
     .place = 190,
     .fallback = "0",
     .variable = &announce_port,
     .low = 0,
     .high = 65535,
     .help = "The port by which the primary and Sentinel know this replica; 0 = its own."},
    {.name = "tls-replication",
     .type = OPTION_TYPE_BOOL,
     .flags = OPTION_MUTABLE,
     .section = "tls",
     .place = 120,
     .fallback = "no",
     .variable = &tls.wanted,
     .apply = tls_options_apply,
     .help = "Connect to a primary over TLS."},
};

static int database_of_history(void) { return link_may_continue() ? link_database() : -1; }

const struct connection_transport *link_transport(void) { return tls_for(&tls); }

void link_register(void) {
    tls_options_add_user(&tls);
    saved_history_set_followed(database_of_history);
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
}
