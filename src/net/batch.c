/* SPDX-License-Identifier: BSD-3-Clause
 * Batches: reading, parsing, and running what was parsed. batch.h has the idea.
 *
 *   socket -> input buffer -> requests (slices) -> run: prefetch, execute, write replies
 *                  \-> query (a request that is not complete yet) -> the same
 *
 * Invariants
 *  1. Requests stand in the batch in the order in which their bytes came; those of one client are
 *     neighbours. A protocol error stands in line like a request, so that what came before it is
 *     answered first.
 *  2. The bytes of a request in the batch do not move until the batch has run: they lie in the
 *     input buffer, below input_used, or in a query that is freed only after the run.
 *  3. Between turns the batch is empty, and a client has a query only if its last request is
 *     incomplete.
 *  4. While a batch runs no client is freed; clients marked as closing are skipped.
 */
#include "net/batch.h"

#include <errno.h>

#include "base/clock.h"
#include "base/panic.h"
#include "metric/metric.h"
#include "net/client.h"
#include "net/reply.h"
#include "net/request.h"
#include "option/option.h"

/* A request in the making: its bytes so far, and the parser's place in them. */
struct query {
    struct request_parser parser; /* its argv is owned */
    char *bytes;
    size_t length, capacity;
    size_t parsed;         /* bytes the parser has passed */
    struct buffer storage; /* words of an inline request */
    struct blob *filling;  /* the large argument that is being read */
    struct owned_argument *owned;
    int owned_count, owned_capacity;
};

/* An argument that stands in a block of its own. */
struct owned_argument {
    int index;
    struct blob *blob; /* NULL once taken */
};

#define QUERY_ARGUMENTS_MIN 16

static const struct batch_executor *executor;
static char *input;
static size_t input_used;
static struct request requests[BATCH_REQUESTS_MAX];
static int request_count;
static struct slice arguments[BATCH_ARGUMENTS_MAX];
static int arguments_used;
static struct buffer inline_words = {.class = MEMORY_POOLS};
static bool running;
static uint64_t turn; /* the loop's turn that turn_end_nsec belongs to */
static int64_t turn_end_nsec;
static int64_t bulk_bytes_max, query_bytes_max;
static uint64_t bytes_read, reads, batches_run, requests_batched;

static const struct option_row option_rows[] = {
    OPTION_BYTES("proto-max-bulk-len", &bulk_bytes_max, "512mb", 1048576, INT64_MAX, OPTION_MUTABLE,
                 "limits", 20, "The longest argument of a request, in bytes."),
    OPTION_BYTES("client-query-buffer-limit", &query_bytes_max, "1gb", 1048576, INT64_MAX,
                 OPTION_MUTABLE, "limits", 10,
                 "A client whose incomplete request needs more bytes than this is disconnected."),
};

static const struct metric_row metric_rows[] = {
    {.section = "Stats",
     .place = 40,
     .name = "total_net_input_bytes",
     .type = METRIC_UINT64,
     .variable = &bytes_read,
     .reset = true,
     .help = "Bytes read from clients."},
    {.section = "Stats",
     .place = 350,
     .name = "total_reads_processed",
     .type = METRIC_UINT64,
     .variable = &reads,
     .reset = true,
     .help = "Reads from clients' sockets."},
    {.section = "Stats",
     .place = 1100,
     .name = "batches_run",
     .type = METRIC_UINT64,
     .variable = &batches_run,
     .reset = true,
     .help = "Batches of requests that were run."},
    {.section = "Stats",
     .place = 1110,
     .name = "batched_requests",
     .type = METRIC_UINT64,
     .variable = &requests_batched,
     .reset = true,
     .help = "Requests that ran in them."},
};

void batch_register(void) {
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
    metric_register(metric_rows, sizeof(metric_rows) / sizeof(metric_rows[0]));
}

uint64_t batch_bytes_read(void) { return bytes_read; }

void batch_open(const struct batch_executor *what) {
    executor = what;
    input = memory_alloc(BATCH_INPUT_BYTES, MEMORY_POOLS);
}

/* ---- queries ---- */

static void query_free(struct query *q) {
    if (!q) return;
    for (int i = 0; i < q->owned_count; i++) blob_free(q->owned[i].blob, MEMORY_CLIENTS);
    blob_free(q->filling, MEMORY_CLIENTS);
    memory_free(q->owned, MEMORY_CLIENTS);
    memory_free(q->parser.argv, MEMORY_CLIENTS);
    memory_free(q->bytes, MEMORY_CLIENTS);
    buffer_free(&q->storage);
    memory_free(q, MEMORY_CLIENTS);
}

void batch_query_free(struct client *c) {
    query_free(c->query);
    c->query = NULL;
}

static size_t query_held(const struct query *q) {
    size_t bytes = q->filling ? blob_bytes(q->filling) : 0;
    for (int i = 0; i < q->owned_count; i++)
        if (q->owned[i].blob) bytes += blob_bytes(q->owned[i].blob);
    return bytes;
}

size_t batch_query_bytes(const struct client *c) {
    const struct query *q = c->query;
    if (!q) return 0;
    return memory_usable_size(q) + q->capacity + query_held(q) + q->storage.capacity +
           (size_t)q->parser.capacity * sizeof(struct slice);
}

size_t batch_query_used(const struct client *c) {
    return c->query ? c->query->length + (c->query->filling ? c->query->filling->length : 0) : 0;
}

static void query_append(struct query *q, const char *bytes, size_t length) {
    if (q->length + length > q->capacity) {
        /* Doubled, so that a request of many arguments is not copied for each read. */
        size_t wanted = q->length + length;
        if (q->length && wanted < 2 * q->capacity) wanted = 2 * q->capacity;
        q->capacity = memory_good_size(wanted);
        char *moved = memory_alloc(q->capacity, MEMORY_CLIENTS);
        if (q->length) memcpy(moved, q->bytes, q->length);
        for (int i = 0; i < q->parser.argc; i++) {
            struct slice *a = &q->parser.argv[i];
            if (a->bytes >= q->bytes && a->bytes <= q->bytes + q->length)
                a->bytes = moved + (a->bytes - q->bytes);
        }
        memory_free(q->bytes, MEMORY_CLIENTS);
        q->bytes = moved;
    }
    memcpy(q->bytes + q->length, bytes, length);
    q->length += length;
}

static void query_grow_arguments(struct query *q) {
    int64_t wanted = q->parser.capacity ? 2 * (int64_t)q->parser.capacity : QUERY_ARGUMENTS_MIN;
    if (wanted > q->parser.room) wanted = q->parser.room;
    q->parser.argv =
        memory_realloc(q->parser.argv, (size_t)wanted * sizeof(struct slice), MEMORY_CLIENTS);
    q->parser.capacity = (int)wanted;
}

/* A large argument has begun: from here on it is read into a block of its own. */
static void query_begin_large(struct query *q) {
    size_t length = (size_t)q->parser.bulk_length;
    struct blob *b = blob_create(length + 2, MEMORY_CLIENTS);
    b->length = q->length - q->parsed;
    memcpy(b->bytes, q->bytes + q->parsed, b->length);
    q->length = q->parsed;
    q->filling = b;
}

static void query_end_large(struct query *q) {
    struct blob *b = q->filling;
    q->filling = NULL;
    b->length = (size_t)q->parser.bulk_length; /* without its line end */
    if (q->owned_count == q->owned_capacity) {
        q->owned_capacity = q->owned_capacity ? 2 * q->owned_capacity : 1;
        q->owned =
            memory_realloc(q->owned, (size_t)q->owned_capacity * sizeof(*q->owned), MEMORY_CLIENTS);
    }
    q->owned[q->owned_count++] = (struct owned_argument){q->parser.argc, b};
    q->parser.argv[q->parser.argc++] = blob_slice(b);
    q->parser.bulk_length = -1;
}

static bool query_wants_large(const struct query *q) {
    return !q->filling && q->parser.bulk_length >= BATCH_ADOPT_BYTES &&
           q->parser.bulk_length <= query_bytes_max && q->parser.argc < q->parser.capacity;
}

struct blob *batch_take_argument(struct request *request, int index, enum memory_class class) {
    struct query *q = request->query;
    for (int i = 0; q && i < q->owned_count; i++) {
        struct blob *b = q->owned[i].blob;
        if (q->owned[i].index != index || !b) continue;
        q->owned[i].blob = NULL;
        memory_move(b, blob_bytes(b), MEMORY_CLIENTS, class);
        return b;
    }
    return NULL;
}

/* ---- parsing into the batch ---- */

static void parser_prepare(struct request_parser *p, const struct client *c) {
    p->authenticated = (c->flags & CLIENT_AUTHENTICATED) != 0;
    p->bulk_max = bulk_bytes_max;
}

static void parse_query(struct client *c);

static bool client_ignores_input(const struct client *c) {
    return c->flags & (CLIENT_CLOSING | CLIENT_CLOSE_AFTER_REPLY);
}

static struct request *batch_push(struct client *c) {
    if (request_count == BATCH_REQUESTS_MAX) batch_run();
    struct request *r = &requests[request_count++];
    memset(r, 0, sizeof(*r));
    r->client = c;
    return r;
}

static void batch_push_error(struct client *c, const struct request_parser *p) {
    struct request *r = batch_push(c);
    r->error = p->error;
    r->error_byte = p->error_byte;
}

/* What is not complete moves into a query of the client's own. `start` is where its bytes begin,
 * `cursor` how far they are parsed. */
static void stash(struct client *c, const struct request_parser *p, const char *start,
                  const char *cursor, const char *end) {
    struct query *q = memory_zalloc(sizeof(*q), MEMORY_CLIENTS);
    q->storage.class = MEMORY_CLIENTS;
    q->parser = *p;
    q->parser.capacity = p->argc > QUERY_ARGUMENTS_MIN ? p->argc : QUERY_ARGUMENTS_MIN;
    q->parser.argv =
        memory_alloc((size_t)q->parser.capacity * sizeof(struct slice), MEMORY_CLIENTS);
    if (p->argc) memcpy(q->parser.argv, p->argv, (size_t)p->argc * sizeof(struct slice));
    q->capacity = memory_good_size((size_t)(end - start));
    q->bytes = memory_alloc(q->capacity, MEMORY_CLIENTS);
    q->length = (size_t)(end - start);
    memcpy(q->bytes, start, q->length);
    q->parsed = (size_t)(cursor - start);
    request_parser_rebase(&q->parser, start, q->bytes);
    if (query_wants_large(q)) query_begin_large(q);
    c->query = q;
}

/* The batch runs in the middle of a region: what is behind `region_end` only is free afterwards,
 * and the arguments of the request in the making move to the front of the pool. */
static void run_within_region(struct client *c, struct request_parser *p, const char *region_end) {
    batch_run();
    parser_prepare(p, c); /* an AUTH may have run */
    if (region_end > input && region_end <= input + BATCH_INPUT_BYTES)
        input_used = (size_t)(region_end - input);
    if (p->argc) memmove(arguments, p->argv, (size_t)p->argc * sizeof(struct slice));
    p->argv = arguments;
    p->capacity = BATCH_ARGUMENTS_MAX;
}

/* Room for the words of an inline request, so that those of earlier ones in the batch do not move:
 * unquoted words with a NUL each are never longer than their line and one. */
static void reserve_inline(struct client *c, struct request_parser *p, const char *cursor,
                           const char *end) {
    if (p->arguments || *cursor == '*') return;
    size_t room = (size_t)(end - cursor) + 2;
    if (inline_words.length + room <= inline_words.capacity) return;
    if (request_count) run_within_region(c, p, end);
    buffer_reserve(&inline_words, room);
}

/* Parses requests from bytes that stay where they are until the batch has run. */
static void parse_region(struct client *c, const char *cursor, const char *end) {
    struct request_parser p = {.argv = arguments + arguments_used,
                               .capacity = BATCH_ARGUMENTS_MAX - arguments_used};
    request_parser_reset(&p);
    parser_prepare(&p, c);
    const char *start = cursor;
    while (!client_ignores_input(c)) {
        /* Before a request begins, not after it is parsed: inline words go with the batch. */
        if (request_count == BATCH_REQUESTS_MAX) run_within_region(c, &p, end);
        if (client_ignores_input(c)) return;
        reserve_inline(c, &p, cursor, end);
        enum request_status status = request_parse(&p, &cursor, end, &inline_words);
        if (status == REQUEST_READY) {
            if (p.argc) {
                struct request *r = batch_push(c);
                r->argv = p.argv;
                r->argc = p.argc;
                arguments_used = (int)(p.argv - arguments) + p.argc;
                p.argv += p.argc;
                p.capacity -= p.argc;
            }
            request_parser_reset(&p);
            start = cursor;
            if (cursor == end) return;
        } else if (status == REQUEST_ROOM && request_count && p.room <= BATCH_ARGUMENTS_MAX) {
            run_within_region(c, &p, end);
        } else if (status == REQUEST_LIMIT && request_count) {
            run_within_region(c, &p, end); /* an AUTH may stand before it */
            if (p.authenticated) continue;
            if (!client_ignores_input(c)) batch_push_error(c, &p);
            return;
        } else if (status == REQUEST_ERROR || status == REQUEST_LIMIT) {
            batch_push_error(c, &p);
            return;
        } else {
            stash(c, &p, start, cursor, end);
            if (status == REQUEST_ROOM) parse_query(c);
            return;
        }
    }
}

/* Goes on with the client's query. When its request is complete, what follows it is parsed as a
 * region, and the batch is run so that the query can go. */
static void parse_query(struct client *c) {
    struct query *q = c->query;
    for (;;) {
        if (q->filling) {
            if (q->filling->length < (size_t)q->parser.bulk_length + 2) return;
            query_end_large(q);
        }
        parser_prepare(&q->parser, c);
        const char *cursor = q->bytes + q->parsed;
        enum request_status status =
            request_parse(&q->parser, &cursor, q->bytes + q->length, &q->storage);
        q->parsed = (size_t)(cursor - q->bytes);
        if (status == REQUEST_ROOM) {
            query_grow_arguments(q);
            continue;
        }
        if (status == REQUEST_INCOMPLETE) {
            if (query_wants_large(q)) query_begin_large(q);
            return;
        }
        c->query = NULL;
        if (status == REQUEST_READY && q->parser.argc) {
            struct request *r = batch_push(c);
            r->argv = q->parser.argv;
            r->argc = q->parser.argc;
            r->query = q;
        } else if (status != REQUEST_READY) {
            batch_push_error(c, &q->parser);
        }
        if (status == REQUEST_READY && q->parsed < q->length)
            parse_region(c, q->bytes + q->parsed, q->bytes + q->length);
        batch_run();
        query_free(q);
        return;
    }
}

/* ---- reading ---- */

/* Reads and says how much came; 0 where nothing did, the client then may be closing. */
static size_t read_some(struct client *c, char *into, size_t room) {
    ssize_t got = read(c->watcher.fd, into, room);
    if (got <= 0) {
        if (got == 0 || (errno != EAGAIN && errno != EINTR)) client_close_later(c);
        return 0;
    }
    reads++;
    bytes_read += (uint64_t)got;
    c->active_msec = clock_cached_msec();
    return (size_t)got;
}

static void read_into_query(struct client *c) {
    struct query *q = c->query;
    if (q->filling) {
        size_t room = (size_t)q->parser.bulk_length + 2 - q->filling->length;
        if (room > BATCH_READ_LARGE_BYTES) room = BATCH_READ_LARGE_BYTES;
        size_t got = read_some(c, q->filling->bytes + q->filling->length, room);
        if (!got) return;
        q->filling->length += got;
    } else {
        size_t got = read_some(c, input + input_used, BATCH_READ_BYTES);
        if (!got) return;
        query_append(q, input + input_used, got);
    }
    parse_query(c);
    if (c->query && (int64_t)(c->query->length + query_held(c->query)) > query_bytes_max)
        client_close_for_limit(c, "query buffer");
}

/* The turn's time is up when a batch has just run and the clock says so. */
static void yield_if_late(void) {
    if (clock_monotonic_nsec() >= turn_end_nsec) loop_yield(client_loop());
}

static void note_turn(void) {
    uint64_t now = loop_stats(client_loop())->turns;
    if (now == turn) return;
    turn = now;
    turn_end_nsec = clock_monotonic_nsec() + BATCH_TURN_USEC * 1000;
}

static void client_read(struct client *c) {
    if (BATCH_INPUT_BYTES - input_used < BATCH_READ_BYTES) batch_run();
    if (c->query) {
        read_into_query(c);
        return;
    }
    char *region = input + input_used;
    size_t got = read_some(c, region, BATCH_READ_BYTES);
    if (!got) return;
    input_used += got;
    parse_region(c, region, region + got);
}

void batch_client_ready(struct loop_watcher *watcher, unsigned ready) {
    struct client *c = (struct client *)watcher;
    if (c->flags & CLIENT_CLOSING) return;
    uint64_t before = batches_run;
    note_turn();
    if (ready & LOOP_WRITABLE) reply_writable(c);
    if (ready & LOOP_READABLE && !client_ignores_input(c)) client_read(c);
    if (batches_run != before) yield_if_late();
}

/* ---- running ---- */

static void run_one(struct request *r) {
    struct client *c = r->client;
    if (client_ignores_input(c)) return;
    if (__builtin_expect(r->error != NULL, 0)) {
        char text[64];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(text, sizeof(text), r->error, r->error_byte);
#pragma GCC diagnostic pop
        reply_error_format(c, "Protocol error: %s", text);
        client_close_after_reply(c);
        return;
    }
    executor->execute(r);
}

static void run_group(struct request *first, int count) {
    for (int i = 0; i < count; i++)
        if (!first[i].error) executor->prefetch_bucket(&first[i]);
    if (count > 1)
        for (int i = 0; i < count; i++)
            if (!first[i].error) executor->prefetch_entry(&first[i]);
    for (int i = 0; i < count; i++) {
        reply_begin(first[i].client);
        run_one(&first[i]);
    }
}

void batch_run(void) {
    if (!request_count) {
        input_used = 0;
        return;
    }
    ASSERT(!running);
    running = true;
    for (int done = 0; done < request_count; done += BATCH_GROUP) {
        int count = request_count - done < BATCH_GROUP ? request_count - done : BATCH_GROUP;
        run_group(requests + done, count);
    }
    reply_end();
    if (executor->before_replies) executor->before_replies();
    reply_write_all();
    batches_run++;
    requests_batched += (uint64_t)request_count;
    request_count = 0;
    arguments_used = 0;
    input_used = 0;
    if (inline_words.length) buffer_clear(&inline_words);
    running = false;
}
