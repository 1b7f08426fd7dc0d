/* SPDX-License-Identifier: BSD-3-Clause
 * The primary's side. primary.h has the idea.
 *
 * A place in the history is the number of bytes before it. PSYNC names the first wanted byte,
 * counted from 1; an acknowledgement names the number of bytes that have come. So a place P is
 * requested as P + 1 and acknowledged as P.
 *
 * WAIT waits for all writes before it, by any client. 6.2 waits only for the client's own writes,
 * for which it remembers a place per client; ours is never less.
 */
#include "replication/primary.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/number.h"
#include "base/panic.h"
#include "command/arguments.h"
#include "command/call.h"
#include "command/row.h"
#include "exec/blocked.h"
#include "exec/client_flags.h"
#include "exec/gates.h"
#include "metric/row.h"
#include "net/client.h"
#include "net/client_memory.h"
#include "net/limits.h"
#include "net/reply.h"
#include "option/option.h"
#include "replication/full_sync.h"
#include "replication/history.h"
#include "replication/replica.h"
#include "replication/stream.h"

static enum primary_role role = PRIMARY_ROLE;
static int64_t ping_period, timeout_sec, backlog_ttl;
static int64_t replicas_wanted, lag_allowed;
static bool no_tcp_nodelay, stands_still;
static bool (*take_over)(struct call *call);
static uint64_t partial_syncs, partial_syncs_refused;
static int64_t cron_sec, pinged_sec, alone_since_sec;

int64_t primary_timeout_sec(void) { return timeout_sec; }
int64_t primary_ping_period_sec(void) { return ping_period; }

void primary_stand_still(bool stands) { stands_still = stands; }
void primary_set_take_over(bool (*who)(struct call *call)) { take_over = who; }

/* ---- PSYNC, SYNC ---- */

/* The first replica begins the stream, under a new id, because earlier changes are in no
 * history. */
static void open_stream(void) {
    if (history_feed()) return;
    history_begin();
    stream_open();
    log_notice("Replication backlog created, my new replication IDs are '%s' and '%s'",
               history_id(), history_id2());
}

static void primary_begin_replica(struct replica *r) {
    if (no_tcp_nodelay) (void)socket_set_nodelay(r->client->watcher.fd, false);
    replica_begin(r);
}

/* The replica continues from `place`. */
static void primary_continue_stream(struct replica *r, int64_t place) {
    primary_begin_replica(r);
    bool follows = replica_follow(r, place);
    ASSERT(follows);
    if (r->capabilities & REPLICA_READS_PSYNC2)
        replica_say(r, "+CONTINUE %s\r\n", history_id());
    else
        replica_say(r, "+CONTINUE\r\n");
    replica_set_state(r, REPLICA_ONLINE);
    partial_syncs++;
    log_notice(
        "Partial resynchronization request from %s accepted. Sending %zu bytes of backlog "
        "starting from offset %" PRId64 ".",
        replica_name(r), feed_lag(&r->stream), place + 1);
}

/* Whether the replica may continue, by "PSYNC id wanted"; false: it needs a copy. */
static bool may_continue(const struct replica *r, struct slice id, int64_t wanted) {
    char reason[200] = "its offset is no place";
    if (slice_is(id, "?")) return false;
    if (wanted > 0 && history_can_continue(id, wanted - 1, reason, sizeof(reason))) return true;
    partial_syncs_refused++;
    log_notice("Partial resynchronization not accepted from %s: %s", replica_name(r), reason);
    return false;
}

/* True where the request was refused with an error, or comes from a client that is a replica
 * already. */
static bool sync_is_refused(struct call *call) {
    struct client *c = call->client;
    const struct replica *known = replica_of(c);
    if (known && known->state != REPLICA_KNOWN) return true;
    if (call->argc > 3 && argument_is(call, 3, "failover") && take_over && !take_over(call))
        return true;
    if (stands_still)
        reply_error(c, "-NOMASTERLINK Can't SYNC while failing over");
    else if (role == REPLICA_ROLE_UNLINKED)
        reply_error(c, "-NOMASTERLINK Can't SYNC while not connected with my master");
    else if (c->replies || reply_output_bytes(c) || !client_may_wait(c))
        reply_error(c, "SYNC and PSYNC are invalid with pending output");
    else
        return false;
    return true;
}

static void primary_synchronize(struct call *call, bool is_old) {
    int64_t wanted;
    if (sync_is_refused(call)) return;
    if (!is_old && !argument_int64(call, 2, &wanted, NULL)) return;
    struct replica *r = replica_make(call->client);
    log_notice("Replica %s asks for synchronization", replica_name(r));
    if (!is_old && may_continue(r, call->argv[1], wanted)) {
        primary_continue_stream(r, wanted - 1);
        return;
    }
    r->is_old = is_old;
    if (!is_old) log_notice("Full resync requested by replica %s", replica_name(r));
    open_stream();
    primary_begin_replica(r);
    full_sync_request(r);
}

static void command_psync(struct call *call) { primary_synchronize(call, false); }
static void command_sync(struct call *call) { primary_synchronize(call, true); }

/* ---- REPLCONF ---- */

/* An address is shown in a line of INFO and in the log, so it must not contain what ends a field
 * there. */
static bool is_address(struct slice text) {
    for (size_t i = 0; i < text.length; i++)
        if (text.bytes[i] <= ' ' || text.bytes[i] >= 0x7f || text.bytes[i] == ',') return false;
    return true;
}

/* False after an error reply. */
static bool set_address(struct client *c, struct replica *r, struct slice text) {
    if (text.length > REPLICA_ADDRESS_CHARS) {
        reply_error_format(c,
                           "REPLCONF ip-address provided by replica instance is too long: %zu "
                           "bytes",
                           text.length);
        return false;
    }
    if (!is_address(text)) {
        reply_error(c, "REPLCONF ip-address has a byte that no address has");
        return false;
    }
    snprintf(r->address, sizeof(r->address), "%.*s", (int)text.length, text.bytes);
    return true;
}

/* Sets one of the replica's settings; false after an error reply. */
static bool set_word(struct call *call, struct replica *r, struct slice word, int value) {
    struct slice text = call->argv[value];
    int64_t number;
    if (slice_is(word, "listening-port")) {
        if (!argument_int64(call, value, &number, NULL)) return false;
        r->port = number > 0 && number <= UINT16_MAX ? (int)number : 0;
    } else if (slice_is(word, "ip-address")) {
        return set_address(call->client, r, text);
    } else if (slice_is(word, "capa")) {
        if (slice_is(text, "eof")) r->capabilities |= REPLICA_READS_EOF;
        if (slice_is(text, "psync2")) r->capabilities |= REPLICA_READS_PSYNC2;
    } else {
        if (!argument_int64_between(call, value, 0, 1, &number)) return false;
        r->data_not = number != 0;
    }
    return true;
}

/* REPLCONF ACK: the replica has so much of the history. After a copy to its socket, the first ACK
 * makes it online. */
static void primary_take_acknowledgement(const struct call *call) {
    struct replica *r = replica_of(call->client);
    int64_t place;
    if (!r || r->state == REPLICA_KNOWN || call->argc < 3 ||
        !number_parse_int64(call->argv[2].bytes, call->argv[2].length, &place))
        return;
    if (place > r->acknowledged) r->acknowledged = place;
    r->heard_sec = clock_monotonic_sec();
    if (r->state != REPLICA_ONLINE || !r->awaits_acknowledgement) return;
    r->awaits_acknowledgement = false;
    replica_set_state(r, REPLICA_ONLINE);
    log_notice("Synchronization with replica %s succeeded", replica_name(r));
    replica_wake(r);
}

static bool is_setting(struct slice word) {
    static const char *const words[] = {"listening-port", "ip-address", "capa", "rdb-only"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (slice_equal_nocase(word, slice_of(words[i]))) return true;
    return false;
}

static void command_replconf(struct call *call) {
    if (call->argc % 2 == 0) {
        reply_syntax_error(call->client);
        return;
    }
    for (int i = 1; i < call->argc; i += 2) {
        if (argument_is(call, i, "ack")) {
            primary_take_acknowledgement(call);
            return;
        }
        if (argument_is(call, i, "getack")) return; /* from a primary to its replica */
        if (!is_setting(call->argv[i])) {
            reply_error_format(call->client, "Unrecognized REPLCONF option: %.*s",
                               (int)call->argv[i].length, call->argv[i].bytes);
            return;
        }
        if (!set_word(call, replica_make(call->client), call->argv[i], i + 1)) return;
    }
    reply_ok(call->client);
}

/* ---- WAIT ---- */

struct waiting {
    struct list_link link;
    struct client *client;
    int64_t place, replicas;
};

static struct list_link waiting = {&waiting, &waiting};

static int64_t count_acknowledged(int64_t place) {
    int64_t count = 0;
    REPLICA_FOR_EACH(r, REPLICA_ONLINE) count += r->acknowledged >= place;
    return count;
}

/* The reply when the time is up and when enough replicas have acknowledged. */
static void wait_reply(struct client *c, void *state) {
    const struct waiting *w = state;
    reply_integer(c, count_acknowledged(w->place));
}

static void wait_free(void *state) {
    struct waiting *w = state;
    list_remove(&w->link);
    memory_free_sized(w, sizeof(*w), MEMORY_CLIENTS);
}

static const struct blocked_kind wait_kind = {
    .timed_out = wait_reply, .came = wait_reply, .free_state = wait_free};

/* Asks replicas to acknowledge at once, instead of each second. */
static void ask_for_acknowledgements(void) {
    static const struct slice words[] = {
        {"REPLCONF", 8},
        {"GETACK", 6},
        {"*", 1},
    };
    if (history_feed() && role == PRIMARY_ROLE && !stands_still) stream_command(3, words);
}

static void command_wait(struct call *call) {
    int64_t replicas, timeout_msec;
    if (role != PRIMARY_ROLE) {
        reply_error(call->client,
                    "WAIT cannot be used with replica instances. Please also note that since "
                    "Redis 4.0 if a replica is configured to be writable (which is not the "
                    "default) writes to replicas are just local and are not propagated.");
        return;
    }
    if (!argument_int64(call, 1, &replicas, NULL) ||
        !blocked_parse_timeout_msec(call, 2, &timeout_msec))
        return;
    int64_t place = stream_written(), count = count_acknowledged(place);
    if (count >= replicas || !client_may_wait(call->client)) {
        reply_integer(call->client, count);
        return;
    }
    struct waiting *w = memory_alloc(sizeof(*w), MEMORY_CLIENTS);
    *w = (struct waiting){.client = call->client, .place = place, .replicas = replicas};
    list_append(&waiting, &w->link);
    blocked_begin(call, &wait_kind, 0, 0, 0, timeout_msec, w);
    ask_for_acknowledgements();
}

/* Ends the waits for which enough replicas have acknowledged. */
static void serve_waiting(void) {
    LIST_FOR_EACH (link, following, &waiting) {
        struct waiting *w = LIST_ENTRY(link, struct waiting, link);
        if (count_acknowledged(w->place) >= w->replicas)
            (void)blocked_end(w->client, &(struct blocked_end){.reason = BLOCKED_VALUE});
    }
}

/* ---- good replicas ---- */

/* How many replicas are online and were heard of within min-replicas-max-lag. */
static int64_t count_good(void) {
    int64_t good = 0, now = clock_monotonic_sec();
    REPLICA_FOR_EACH(r, REPLICA_ONLINE) good += now - r->heard_sec <= lag_allowed;
    return good;
}

static bool counts_good(void) { return replicas_wanted && lag_allowed; }

static void look_at_gate(void) {
    gate_set(&primary_replicas_gate,
             role == PRIMARY_ROLE && counts_good() && count_good() < replicas_wanted);
}

void primary_set_role(enum primary_role now) {
    role = now;
    look_at_gate();
}

struct gate primary_replicas_gate = {.origins = GATE_FROM(CALL_NETWORK) | GATE_FROM_CODE,
                                     .stops = gate_call_writes,
                                     .refusal = "-NOREPLICAS Not enough good replicas to write."};

/* ---- each turn, each second ---- */

/* Without a feed there is no replica, and no WAIT can end. */
bool primary_step(void) {
    bool more = false;
    history_settle();
    if (history_feed()) {
        reply_before_write(); /* the log's turn comes first: what it then has may leave at once */
        more = replica_step();
    }
    (void)full_sync_step();
    if (!list_is_empty(&waiting)) serve_waiting();
    return more;
}

void primary_drop_replicas(void) {
    full_sync_stop();
    replica_close_all();
}

void primary_say_last(void) {
    if (history_feed()) stream_look_at_log();
    REPLICA_FOR_EACH(r, REPLICA_ONLINE) reply_stream_more(r->client);
}

static void primary_ping_replicas(int64_t now) {
    if (now - pinged_sec < ping_period) return;
    pinged_sec = now;
    if (replica_count() && role == PRIMARY_ROLE && !stands_still)
        stream_command(1, (const struct slice[]){{"PING", 4}});
}

/* Replicas that wait for a file get a line end each second, so that they know that this server
 * lives. */
static void primary_keep_alive(void) {
    for (int state = REPLICA_WAITS_START; state <= REPLICA_WAITS_END; state++)
        REPLICA_FOR_EACH(r, (enum replica_state)state)
    if (!r->head.length) replica_say(r, "\n");
}

static void drop_silent(int64_t now) {
    REPLICA_FOR_EACH(r, REPLICA_ONLINE) {
        if (r->is_old || now - r->heard_sec <= timeout_sec) continue;
        log_warning("Disconnecting timedout replica (streaming sync): %s", replica_name(r));
        replica_close(r);
    }
    REPLICA_FOR_EACH(r, REPLICA_RECEIVES_COPY) {
        if (!feed_lag(&r->copy) || now - r->copy_taken_nsec / 1000000000 <= timeout_sec) continue;
        log_warning("Disconnecting timedout replica (full sync): %s", replica_name(r));
        replica_close(r);
    }
}

/* Frees the backlog after repl-backlog-ttl seconds without replicas; later replicas need a copy. */
static void free_backlog(int64_t now) {
    if (replica_count() || !history_feed() || role != PRIMARY_ROLE) {
        alone_since_sec = now;
        return;
    }
    if (!backlog_ttl || now - alone_since_sec <= backlog_ttl) return;
    history_begin();
    stream_close();
    log_notice("Replication backlog freed after %" PRId64 " seconds without connected replicas.",
               backlog_ttl);
}

static void check_limits(void) {
    LIST_FOR_EACH (link, following, replica_list()) {
        struct replica *r = LIST_ENTRY(link, struct replica, link);
        replica_check_limit(r);
    }
}

void primary_cron(void) {
    int64_t now = clock_monotonic_sec();
    look_at_gate();
    if (now == cron_sec) return;
    cron_sec = now;
    full_sync_cron();
    primary_ping_replicas(now);
    primary_keep_alive();
    drop_silent(now);
    free_backlog(now);
    check_limits();
}

/* ---- rows ---- */

static struct command rows[] = {
    COMMAND("psync", command_psync, -3, ADMIN | NO_SCRIPT, NO_CATEGORY, NO_KEYS,
            "Sent by a replica: asks for the stream from an offset on, or for a copy."),
    COMMAND("sync", command_sync, 1, ADMIN | NO_SCRIPT, NO_CATEGORY, NO_KEYS,
            "Sent by a replica or a tool: asks for a copy and then the stream."),
    COMMAND("replconf", command_replconf, -1, ADMIN | NO_SCRIPT | ANYTIME | COMMAND_WHILE_BUSY,
            NO_CATEGORY, NO_KEYS,
            "Sent by a replica: its port, address and capabilities, and its offset."),
    COMMAND("wait", command_wait, 3, NO_SCRIPT, ACL_KEYSPACE, NO_KEYS,
            "Waits until so many replicas have all writes so far, or a time is up; returns how "
            "many have."),
};

static bool apply_wanted(const struct option_row *row, char *reason, size_t reason_size) {
    look_at_gate();
    return true;
}

static const struct option_row option_rows[] = {
    OPTION_INT("repl-timeout", &timeout_sec, "60", 1, INT32_MAX, OPTION_MUTABLE, "replication", 100,
               "Seconds of silence after which the other side counts as gone."),
    OPTION_BOOL("repl-disable-tcp-nodelay", &no_tcp_nodelay, false, OPTION_MUTABLE, "replication",
                110, "Let the system collect small packets to replicas: less traffic, more delay."),
    OPTION_INT("repl-backlog-ttl", &backlog_ttl, "3600", 0, INT64_MAX, OPTION_MUTABLE,
               "replication", 130,
               "Seconds without replicas after which the backlog is freed; 0 = never."),
    {.name = "repl-ping-replica-period",
     .alias = "repl-ping-slave-period",
     .type = OPTION_TYPE_INT,
     .flags = OPTION_MUTABLE,
     .section = "replication",
     .place = 90,
     .fallback = "10",
     .variable = &ping_period,
     .low = 1,
     .high = INT32_MAX,
     .help = "Seconds between the primary's pings to its replicas."},
    {.name = "min-replicas-to-write",
     .alias = "min-slaves-to-write",
     .type = OPTION_TYPE_INT,
     .flags = OPTION_MUTABLE,
     .section = "replication",
     .place = 160,
     .fallback = "0",
     .variable = &replicas_wanted,
     .low = 0,
     .high = INT32_MAX,
     .apply = apply_wanted,
     .help = "Refuse writes while fewer replicas than this are connected and up to date."},
    {.name = "min-replicas-max-lag",
     .alias = "min-slaves-max-lag",
     .type = OPTION_TYPE_INT,
     .flags = OPTION_MUTABLE,
     .section = "replication",
     .place = 170,
     .fallback = "10",
     .variable = &lag_allowed,
     .low = 0,
     .high = INT32_MAX,
     .apply = apply_wanted,
     .help = "Seconds of lag up to which a replica counts as up to date."},
};

/* "slave0:ip=...,port=...,state=online,offset=...,lag=..." */
static void print_replicas(const struct metric_row *row, struct buffer *out) {
    int number = 0;
    int64_t now = clock_monotonic_sec();
    LIST_FOR_EACH (link, following, replica_list()) {
        const struct replica *r = LIST_ENTRY(link, struct replica, link);
        if (r->client->flags & CLIENT_CLOSING) continue;
        buffer_printf(out, "slave%d:ip=", number++);
        replica_append_address(r, out);
        buffer_printf(out, ",port=%d,state=%s,offset=%" PRId64 ",lag=%" PRId64 "\r\n", r->port,
                      replica_state_name(r->state), r->acknowledged < 0 ? 0 : r->acknowledged,
                      r->state == REPLICA_ONLINE ? now - r->heard_sec : 0);
    }
}

enum replica_figure { FIGURE_OFFSET, FIGURE_LAG, FIGURE_ONLINE };
static const enum replica_figure offset_figure = FIGURE_OFFSET, lag_figure = FIGURE_LAG,
                                 online_figure = FIGURE_ONLINE;

static const struct replica *replica_shown_at(size_t index) {
    LIST_FOR_EACH (link, following, replica_list()) {
        const struct replica *r = LIST_ENTRY(link, struct replica, link);
        if (!(r->client->flags & CLIENT_CLOSING) && !index--) return r;
    }
    return NULL;
}

static uint64_t figure_of_replica(const struct replica *r, enum replica_figure figure) {
    bool online = r->state == REPLICA_ONLINE;
    if (figure == FIGURE_OFFSET) return r->acknowledged < 0 ? 0 : (uint64_t)r->acknowledged;
    if (figure == FIGURE_ONLINE) return online;
    return online ? (uint64_t)(clock_monotonic_sec() - r->heard_sec) : 0;
}

static enum metric_presence sample_replica(const struct metric_family *family, size_t index,
                                           struct metric_sample *s) {
    const struct replica *r = replica_shown_at(index);
    if (!r) return METRIC_END;
    struct buffer address = {.class = MEMORY_OTHER};
    replica_append_address(r, &address);
    int used = snprintf(s->text, sizeof(s->text), "%zu", index) + 1;
    snprintf(s->text + used, sizeof(s->text) - (size_t)used, "%.*s:%d", (int)address.length,
             address.length ? address.bytes : "", r->port);
    buffer_free(&address);
    s->labels[0] = (struct metric_label){"replica", slice_of(s->text)};
    s->labels[1] = (struct metric_label){"address", slice_of(s->text + used)};
    s->value = figure_of_replica(r, *(const enum replica_figure *)family->context);
    return METRIC_PRESENT;
}
static const struct metric_family replica_families[] = {
    {"replica_offset", METRIC_GAUGE, "The offset that each replica has acknowledged.",
     sample_replica, &offset_figure},
    {"replica_lag", METRIC_SECONDS, "Seconds since each replica was last heard of.", sample_replica,
     &lag_figure},
    {"replica_online", METRIC_GAUGE, "1 for each replica that is sent the stream, 0 before.",
     sample_replica, &online_figure},
    {0}};

static void print_replica_count(const struct metric_row *row, struct buffer *out) {
    buffer_printf(out, "%zu", replica_count());
}
static void print_good(const struct metric_row *row, struct buffer *out) {
    buffer_printf(out, "%" PRId64, count_good());
}

/* Memory of replicas' clients, and what is held of the history and of copies for them. */
static void print_replica_memory(const struct metric_row *row, struct buffer *out) {
    size_t bytes = replica_memory() + full_sync_memory();
    LIST_FOR_EACH (link, following, replica_list()) {
        const struct replica *r = LIST_ENTRY(link, struct replica, link);
        if (!(r->client->flags & CLIENT_CLOSING)) bytes += client_memory_of(r->client);
    }
    buffer_printf(out, "%zu", bytes);
}

static const struct metric_row metric_rows[] = {
    METRIC_PRINT("Replication", 20, "connected_slaves", METRIC_GAUGE, print_replica_count,
                 "Replicas of this server."),
    {.section = "Replication",
     .place = 30,
     .name = "min_slaves_good_slaves",
     .measure = METRIC_GAUGE,
     .type = METRIC_FUNCTION,
     .print = print_good,
     .present = counts_good,
     .help = "Replicas that are up to date; only where min-replicas-to-write is set."},
    {.section = "Replication",
     .place = 40,
     .name = "slave<number>",
     .measure = METRIC_FAMILIES,
     .print_lines = print_replicas,
     .families = replica_families,
     .help = "Each replica: its address, state, offset, and seconds since it was last heard of."},
    {.section = "Stats",
     .place = 100,
     .name = "sync_partial_ok",
     .measure = METRIC_COUNTER,
     .type = METRIC_UINT64,
     .variable = &partial_syncs,
     .reset = true,
     .help = "Replicas that continued from the backlog."},
    {.section = "Stats",
     .place = 110,
     .name = "sync_partial_err",
     .measure = METRIC_COUNTER,
     .type = METRIC_UINT64,
     .variable = &partial_syncs_refused,
     .reset = true,
     .help = "Replicas that asked to continue, but needed a copy."},
    METRIC_PRINT("Memory", 350, "mem_clients_slaves", METRIC_BYTES, print_replica_memory,
                 "Bytes of replicas' connections, and bytes kept for them beyond the backlog."),
};

void primary_register(void) {
    command_register(COMMAND_ROWS(rows));
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
    metric_register(metric_rows, sizeof(metric_rows) / sizeof(metric_rows[0]));
    full_sync_register();
}
