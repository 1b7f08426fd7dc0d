/* SPDX-License-Identifier: BSD-3-Clause
 * Applying the primary's stream. apply.h has the idea.
 *
 *   socket -> input -> a group of requests (slices of it) -> run one by one -> history
 *
 * `input` has the bytes that were read and not applied, unchanged, because they are passed on to
 * our own replicas. A transaction stays in it until its EXEC has run.
 *
 *   0         begin          next           parsed     length
 *   | applied | transaction  | to be run     | not whole |
 *
 * Invariants
 *  1. The byte at `begin` is the one at history_place.
 *  2. Input moves in memory only while `group` has no request of it: it is read between runs, and
 *     never in a turn within a command.
 *  3. Nothing is read while whole requests wait to be run: bytes that come faster than they can be
 *     applied stay in the socket.
 *  4. A place is acknowledged when our own log has all up to there (reply_may_leave): under
 *     appendfsync always an acknowledged place is synced, as in 6.2. One place at a time waits for
 *     that (`owes`); a request that comes meanwhile is answered with a later place.
 *  5. `lost` is set when the client closes. From then on the client must not be read, because it
 *     may be freed before the next step (apply_live_client()). Its state is freed by that step,
 *     never while one of its requests runs.
 */
#include "replication/apply.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "aof/aof_format.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/number.h"
#include "base/panic.h"
#include "command/call_make.h"
#include "command/command.h"
#include "exec/client_flags.h"
#include "exec/effects.h"
#include "exec/run.h"
#include "io/loop.h"
#include "net/batch.h"
#include "net/client.h"
#include "net/reply.h"
#include "net/request.h"
#include "peer/peer_client.h"
#include "replication/history.h"
#include "replication/stream.h"
#include "store/keyspace.h"

#define READ_BYTES 65536
/* At most so much is read in a turn, because the primary is one client among others. */
#define READ_TURN_BYTES 262144
/* So many applied bytes gather before the rest is moved down. So much room is kept when all is
 * applied. */
#define APPLIED_KEPT_BYTES 262144
#define ARGUMENTS_FIRST 64
/* A primary that leaves so much unread gets no more acknowledgements until it reads. */
#define OUTPUT_BYTES_MAX 16384

static struct {
    struct client *client; /* NULL: no stream */
    void (*ended)(enum apply_end how);
    enum apply_end how;
    bool lost, mute;
    bool running, stopped; /* a request of the stream runs; it has ended the stream */

    struct buffer input;
    size_t begin, next, parsed;
    struct request_parser parser; /* its argv is behind the group's in `arguments` */
    const char *fault;            /* error at `parsed`, with one %c at most; NULL: none */
    bool waits;                   /* whole requests wait to be run */
    struct slice *arguments;
    size_t room; /* of them */

    struct request group[BATCH_GROUP];
    size_t ends[BATCH_GROUP]; /* where each request ends in `input` */

    bool owes, owes_more;
    int64_t owed_place, told_place;
    uint64_t owed_record;
    struct buffer output;
    size_t sent;
} stream;

static struct buffer no_words = {.class = MEMORY_OTHER}; /* of inline requests: none here */
static int64_t heard_sec;
static int database; /* the database when the last stream ended */

/* The stream's client; NULL where there is none, or it closes. */
static struct client *apply_live_client(void) { return stream.lost ? NULL : stream.client; }

/* While the primary waits for this server, it counts as heard of now. */
int64_t apply_heard_sec(void) {
    const struct client *c = apply_live_client();
    return c && (stream.waits || c->flags & CLIENT_HELD) ? clock_monotonic_sec() : heard_sec;
}
bool apply_is_under_way(void) { return stream.client != NULL; }
int64_t apply_read_place(void) {
    return history_place() + (int64_t)(stream.client ? stream.input.length - stream.begin : 0);
}
int apply_database(void) { return apply_live_client() ? stream.client->database : database; }
void apply_set_mute(bool mute) { stream.mute = mute; }

/* ---- what the primary is told ---- */

static bool write_output(struct client *c) {
    struct iovec rest = {stream.output.bytes + stream.sent, stream.output.length - stream.sent};
    if (!rest.iov_len) return true;
    ssize_t sent = reply_stream_send(c, &rest, 1);
    if (sent < 0) return false;
    stream.sent += (size_t)sent;
    if (stream.sent < stream.output.length) return false;
    buffer_clear(&stream.output);
    stream.sent = 0;
    return true;
}

/* Logs an error reply to a command of the primary. It is seldom a fault of ours (a script may fail
 * after it has written), but always worth a line. */
static void note_error(struct client *c, struct slice text) {
    const struct command *command = c->command;
    log_warning(
        "== CRITICAL == This replica is sending an error to its master: '%.*s' after processing "
        "the command '%s'",
        (int)text.length, text.bytes, command ? command->name : "<unknown>");
}

static const struct reply_stream to_primary = {write_output, note_error};

static void apply_tell_place(int64_t place) {
    char digits[NUMBER_INT64_CHARS];
    if (stream.mute || stream.output.length > OUTPUT_BYTES_MAX) return;
    stream.told_place = place;
    size_t length = number_format_int64(digits, place);
    const struct slice words[] = {SLICE("REPLCONF"), SLICE("ACK"), {digits, length}};
    aof_format_append(&stream.output, 3, words);
    reply_stream_more(stream.client);
}

void apply_acknowledge(void) {
    if (!stream.client) return;
    if (stream.owes) {
        stream.owes_more = true;
        return;
    }
    stream.owes = true;
    stream.owed_place = history_place();
    stream.owed_record = effects_record_ended();
}

void apply_keep_alive(void) {
    if (apply_live_client() && stream.owes) apply_tell_place(stream.told_place);
    apply_acknowledge();
}

void apply_tell(void) {
    while (apply_live_client() && stream.owes && reply_may_leave(stream.owed_record)) {
        apply_tell_place(stream.owed_place);
        stream.owes = false;
        if (stream.owes_more) apply_acknowledge();
        stream.owes_more = false;
    }
}

/* ---- input ---- */

/* Removes applied bytes, and moves the incomplete request and its slices down. */
static void apply_compact(void) {
    if (stream.begin == stream.input.length) {
        stream.begin = stream.next = stream.parsed = 0;
        buffer_clear(&stream.input);
        if (stream.input.capacity > APPLIED_KEPT_BYTES) buffer_free(&stream.input);
        return;
    }
    if (stream.begin < APPLIED_KEPT_BYTES) return;
    char *bytes = stream.input.bytes;
    request_parser_rebase(&stream.parser, bytes + stream.begin, bytes);
    stream.input.length -= stream.begin;
    memmove(bytes, bytes + stream.begin, stream.input.length);
    stream.next -= stream.begin;
    stream.parsed -= stream.begin;
    stream.begin = 0;
}

/* Makes room at the end of the input, also for the rest of a long argument. */
static char *make_room(size_t *room) {
    const char *before = stream.input.bytes;
    int64_t missing = stream.parser.bulk_length - (int64_t)(stream.input.length - stream.parsed);
    *room = missing > READ_BYTES ? READ_TURN_BYTES : READ_BYTES;
    char *to = buffer_reserve(&stream.input, *room);
    if (before) request_parser_rebase(&stream.parser, before, stream.input.bytes);
    return to;
}

/* False where no more bytes are there now, or the client closes. */
static bool read_some(struct client *c, size_t *budget) {
    size_t room;
    apply_compact();
    char *to = make_room(&room);
    ssize_t got = client_receive(c, to, room);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (got <= 0) {
        if (got)
            log_verbose("Reading from the primary: %s",
                        connection_error_text(client_connection(c), errno));
        client_close_later(c);
        return false;
    }
    stream.input.length += (size_t)got;
    batch_note_read((size_t)got);
    c->active_msec = clock_cached_msec();
    heard_sec = clock_monotonic_sec();
    *budget -= (size_t)got < *budget ? (size_t)got : *budget;
    return *budget && (size_t)got == room;
}

static void apply_serve(struct client *c, unsigned ready) {
    size_t budget = READ_TURN_BYTES;
    if (ready & LOOP_WRITABLE) reply_writable(c);
    if (c->flags & (CLIENT_CLOSING | CLIENT_CLOSE_AFTER_REPLY)) return;
    if (c->flags & CLIENT_HELD) {
        if (ready & (LOOP_READABLE | LOOP_HANGUP)) client_close_later(c);
        return;
    }
    if (!(ready & LOOP_READABLE)) return;
    heard_sec = clock_monotonic_sec();
    /* In a turn within a command the stream's bytes stay in the socket. */
    if (loop_depth(client_loop()) > 1 || stream.waits) return;
    while (read_some(c, &budget)) continue;
}

static void watcher_ready(struct loop_watcher *watcher, unsigned ready) {
    struct client *c = (struct client *)watcher;
    if (c != stream.client || c->flags & CLIENT_CLOSING) return;
    if (c->flags & CLIENT_CARRIED) {
        ready = client_carried_ready(c, ready);
        if (ready) apply_serve(c, ready);
        client_watch(c);
    } else {
        apply_serve(c, ready);
    }
}

/* ---- parsing ---- */

static void grow_arguments(size_t wanted, size_t used) {
    size_t room = stream.room ? stream.room : ARGUMENTS_FIRST;
    while (room < wanted) room *= 2;
    stream.arguments =
        memory_realloc(stream.arguments, room * sizeof(struct slice), replication_memory);
    stream.room = room;
    stream.parser.argv = stream.arguments + used;
    stream.parser.capacity = (int)(room - used);
}

/* Line ends between requests keep a connection alive and are skipped. An inline request is refused,
 * as in 6.2, because it is a sign that both sides are no longer at the same place. */
static bool find_request(const char **at, const char *end) {
    while (*at < end && (**at == '\n' || **at == '\r')) ++*at;
    if (*at < end && **at != '*') stream.fault = "a line instead of an array";
    return *at < end && !stream.fault;
}

/* Parses the next whole requests into `group`; returns their number. */
static int parse_group(void) {
    struct request_parser *p = &stream.parser;
    const char *bytes = stream.input.bytes;
    const char *at = bytes + stream.parsed, *end = bytes + stream.input.length;
    int count = 0;
    if (!stream.input.length || stream.fault) return 0;
    while (count < BATCH_GROUP && (p->arguments || find_request(&at, end))) {
        enum request_status status = request_parse(p, &at, end, &no_words);
        if (status == REQUEST_ROOM && !count) {
            grow_arguments((size_t)p->room, 0);
            continue;
        }
        if (status == REQUEST_ERROR || status == REQUEST_LIMIT) stream.fault = p->error;
        if (status != REQUEST_READY) break;
        if (p->argc) {
            stream.group[count] = (struct request){
                .client = stream.client, .argv = p->argv, .argc = p->argc, .apart = true};
            stream.ends[count++] = (size_t)(at - bytes);
            p->argv += p->argc;
            p->capacity -= p->argc;
        }
        request_parser_reset(p);
    }
    stream.parsed = (size_t)(at - bytes);
    return count;
}

/* The group has run: moves the incomplete request to the arguments' front. */
static void leave_group(void) {
    struct request_parser *p = &stream.parser;
    if (p->argc) memmove(stream.arguments, p->argv, (size_t)p->argc * sizeof(struct slice));
    p->argv = stream.arguments;
    p->capacity = (int)stream.room;
}

/* Requests that have not run are parsed again. */
static void parse_again(void) {
    stream.parsed = stream.next;
    stream.fault = NULL;
    request_parser_reset(&stream.parser);
}

/* ---- running ---- */

static bool asks_for_acknowledgement(const struct request *r) {
    return r->argc >= 2 && slice_is(r->argv[0], "replconf") && slice_is(r->argv[1], "getack");
}

/* Notes that all up to `end` is applied. */
static void advance_to(size_t end) {
    if (stream.begin == end) return;
    stream_pass_on((struct slice){stream.input.bytes + stream.begin, end - stream.begin});
    stream.begin = end;
}

static bool may_run(const struct client *c) {
    return !stream.lost && !(c->flags & (CLIENT_CLOSING | CLIENT_CLOSE_AFTER_REPLY | CLIENT_HELD));
}

/* False where the request must wait and run again. */
static bool run_request(struct request *r) {
    struct call call;
    call_of_request(&call, CALL_PRIMARY, r);
    batch_apart_begin(r->client);
    enum gate_verdict verdict = call_run(&call);
    batch_apart_end();
    return verdict != GATE_HELD;
}

/* Runs the group, up to a request that waits or ends the link. */
static void run_group(int count) {
    struct client *c = stream.client;
    run_executor()->prefetch(stream.group, count);
    for (int i = 0; i < count; i++) {
        if (!may_run(c) || !run_request(&stream.group[i])) {
            parse_again();
            break;
        }
        if (stream.stopped) return;
        stream.next = stream.ends[i];
        if (client_in_transaction(c)) continue;
        advance_to(stream.next);
        if (asks_for_acknowledgement(&stream.group[i])) apply_acknowledge();
    }
    leave_group();
}

/* ---- begin and end ---- */

static void forget_all(void) {
    buffer_free(&stream.input);
    buffer_free(&stream.output);
    memory_free(stream.arguments, replication_memory);
    stream.arguments = NULL;
    stream.room = stream.sent = 0;
    stream.begin = stream.next = stream.parsed = 0;
    stream.client = NULL;
    stream.stopped = stream.owes = stream.owes_more = false;
}

/* Forgets the stream and tells its end. The client is freed by net/client. */
static void apply_finish(void) {
    void (*ended)(enum apply_end how) = stream.ended;
    enum apply_end how = stream.how;
    forget_all();
    ended(how);
}

static void client_closes(struct client *c) {
    if (!(c->flags & CLIENT_PRIMARY)) return;
    reply_set_stream(c, NULL);
    if (c != stream.client) return;
    database = c->database;
    stream.lost = true;
    loop_wake(client_loop()); /* the hook that ends the stream may have run in this turn */
}

struct client_state apply_client_state = {.name = "apply", .closing = client_closes};

bool apply_begin(struct peer_client *link, struct slice early, int in_database,
                 void (*ended)(enum apply_end how)) {
    char reason[128];
    struct connection *connection;
    ASSERT(!stream.client && history_feed());
    stream.input.class = stream.output.class = replication_memory;
    buffer_append(&stream.input, early.bytes, early.length);
    int fd = peer_client_release(link, &connection, &stream.input);
    struct client *c = client_create_primary(fd, connection, watcher_ready, reason, sizeof(reason));
    if (!c) {
        log_warning("The primary's connection can't be watched: %s", reason);
        forget_all();
        return false;
    }
    c->database = in_database < keyspace_databases() ? in_database : 0;
    stream.client = c;
    stream.ended = ended;
    stream.how = APPLY_LOST;
    stream.lost = stream.mute = false;
    stream.told_place = 0;
    stream.fault = NULL;
    stream.waits = stream.input.length > 0;
    stream.parser = (struct request_parser){.authenticated = true, .bulk_max = INT64_MAX};
    request_parser_reset(&stream.parser);
    reply_set_stream(c, &to_primary);
    heard_sec = clock_monotonic_sec();
    return true;
}

void apply_stop(void) {
    struct client *c = apply_live_client();
    if (!stream.client) return;
    if (c) {
        database = c->database;
        client_close_later(c);
    }
    if (stream.running)
        stream.stopped = true; /* called by one of its requests: the step ends the stream */
    else
        forget_all();
}

/* Neither the primary's bytes nor its place can be trusted. */
static void end_for_fault(void) {
    char why[64], byte = stream.parser.error_byte;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(why, sizeof(why), stream.fault, byte >= ' ' && byte < 0x7f ? byte : '.');
#pragma GCC diagnostic pop
    log_warning("Protocol error from master: %s, at %" PRId64 ". Closing the connection.", why,
                history_place());
    stream.how = APPLY_BAD;
    client_close_later(stream.client);
    client_finish_closing();
}

/* There may be any number of line ends and empty requests between requests: they are applied when
 * they have come, within a transaction together with it. */
static void pass_empty(void) {
    if (stream.begin != stream.next || stream.fault || stream.parser.arguments) return;
    stream.next = stream.parsed;
    advance_to(stream.next);
}

/* Runs groups until none is left that may run, or the turn's time is up. */
static void run_groups(void) {
    int64_t until = clock_monotonic_nsec() + BATCH_TURN_USEC * 1000;
    int count;
    stream.running = true;
    do {
        count = parse_group();
        if (count) run_group(count);
        if (!count) pass_empty();
    } while (count && !stream.stopped && may_run(stream.client) && clock_monotonic_nsec() < until);
    stream.running = false;
    run_pause_clock();
    stream.waits = count != 0;
}

bool apply_may_go_on(void) {
    const struct client *c = apply_live_client();
    return c && stream.waits && may_run(c);
}

bool apply_step(void) {
    if (!stream.client) return false;
    client_finish_closing();
    if (!stream.lost && may_run(stream.client)) run_groups();
    if (stream.stopped) {
        forget_all();
        return false;
    }
    if (!stream.lost && stream.fault && !stream.waits) end_for_fault();
    if (stream.lost) {
        apply_finish();
        return false;
    }
    if (stream.begin == stream.input.length)
        apply_compact(); /* no more bytes may come for a long
                          * time */
    return apply_may_go_on();
}
