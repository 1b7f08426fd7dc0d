/* SPDX-License-Identifier: BSD-3-Clause
 * Batches: reading, parsing, and running requests. batch.h has the idea.
 *
 *   socket -> input buffer -> requests (slices) -> run: prefetch, execute, write replies
 *                  \-> query (an incomplete request) -> requests
 *                  \-> held (requests that may not run yet) -> requests, after batch_resume
 *
 * Invariants
 *  1. Requests are in the batch in the order in which their bytes came; requests of one client are
 *     neighbours. A protocol error is in the batch like a request, so that the requests before it
 *     are answered first.
 *  2. The bytes of a request in the batch do not move until the batch has run: they are in the
 *     input buffer, below input_used, or in a query that is freed only after the run.
 *  3. Between turns the batch is empty, and a client has a query only if its last request is
 *     incomplete, or if it is held in the middle of the bytes that were read of it.
 *  4. While a batch runs no client is freed. Clients that are marked as closing are skipped, and
 *     are closed between requests, before the batch's replies are written.
 *  5. The input of a held client is, in order: `held` (whole requests, or the rest of a region),
 *     and `query` (the beginning of a request, if that was parsed already). No byte is in both:
 *     bytes that move into a query are removed from the region that had them. Bytes that are read
 *     while the client is held are appended to `query`, or to `held` if there is no query, and are
 *     not parsed.
 *  6. When a protocol error is put into the batch, all earlier requests of its client have run; so
 *     the client of an error is never held: a held client's bytes are kept as they came, and give
 *     the same error again later.
 *  7. A client that is AWAITED is either in `collected`, or in a piece, not taken yet, of exactly
 *     one of the readers under way. Its bytes are taken before more of it is read. A reader's
 *     buffer is not used again before the batch of its bytes has run.
 *  8. The batches of outer turns do not change while a nested turn runs, except for requests that
 *     the nested turn has run for them (run_already). The arguments of these are not used again.
 *  9. A resumed client runs all requests that it had sent while it was held before the next client
 *     is resumed: those in the bytes that were read, and then those in its socket (`draining`), at
 *     most DRAIN_BYTES_MAX. So a client that keeps sending delays the next one no longer than that.
 *     `draining` is never a closed client, because forget_held clears it.
 */
#include "net/batch.h"

#include <errno.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"
#include "base/panic.h"
#include "metric/metric.h"
#include "net/client.h"
#include "net/client_memory.h"
#include "net/limits.h"
#include "net/reply.h"
#include "net/request.h"
#include "net/transfer.h"
#include "option/option.h"

/* An incomplete request: its bytes so far, and the parser's state. */
struct query {
    struct request_parser parser; /* its argv is owned */
    char *bytes;
    size_t length, capacity;
    size_t parsed;         /* bytes that the parser has passed */
    struct buffer storage; /* words of an inline request */
    struct blob *filling;  /* the large argument that is being read */
    struct owned_argument *owned;
    int owned_count, owned_capacity;
    size_t owned_bytes; /* of the blocks that are not taken */
    bool ready; /* held: the parser's arguments are a whole request, before the unparsed bytes */
};

/* An argument that has a block of its own. */
struct owned_argument {
    int index;
    struct blob *blob; /* NULL once taken */
};

#define QUERY_ARGUMENTS_MIN 16
/* More than the system keeps of a connection's unread input (tcp_rmem: 6 MiB). */
#define DRAIN_BYTES_MAX ((size_t)8 << 20)

/* The requests that a turn has read and not yet answered. There is one batch, and one more for each
 * nested turn. */
struct batch {
    struct batch *outer; /* the batch of the turn around this one, or NULL */
    char *input;
    size_t input_used;
    int request_count, arguments_used;
    struct buffer inline_words;
    bool running;
    bool resuming; /* a held client is resumed: the time since it was ready is not counted */
    const struct request *running_request; /* NULL = none; of this batch or of an outer one */
    struct client *apart; /* the client whose request runs and is in no batch; NULL = none */
    const struct client *reading; /* the client whose bytes are being parsed; NULL = none */
    struct query *region_query;   /* the query whose bytes are parsed as a region; NULL = none */
    struct request *requests;     /* BATCH_REQUESTS_MAX of them */
    struct slice *arguments;      /* BATCH_ARGUMENTS_MAX */
};

static const struct batch_executor *executor;
static struct request first_requests[BATCH_REQUESTS_MAX];
static struct slice first_arguments[BATCH_ARGUMENTS_MAX];
/* The batch of the innermost turn; those of outer turns are on the stack of batch_turn_within. */
static struct batch batch = {.requests = first_requests,
                             .arguments = first_arguments,
                             .inline_words = {.class = MEMORY_POOLS}};
static unsigned depth; /* how many nested turns there are */
/* Clients with this id or a later one came after the outermost batch that runs now, or ran last,
 * had begun, so they have no request in it. 0 = no nested turn was made within that batch. */
static uint64_t first_id_within;
static struct list_link resumed = {&resumed, &resumed}; /* of held_link: clients to be resumed */
static struct client *draining; /* comes before those: invariant 9; NULL = none */
static size_t drain_bytes_left;
static uint64_t held_clients;
static bool has_threads;
/* With I/O threads: */
static struct list_link collected = {&collected, &collected}; /* of held_link: clients to be read */
static unsigned collected_count;
static struct transfer *readers; /* in a ring */
static unsigned readers_room, readers_first, readers_count;
static size_t large_bytes; /* of `filling` and `owned` of all queries */
static uint64_t turn;      /* the loop's turn that turn_end_nsec belongs to */
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
     .measure = METRIC_COUNTER_BYTES,
     .type = METRIC_UINT64,
     .variable = &bytes_read,
     .reset = true,
     .help = "Bytes read from clients."},
    {.section = "Stats",
     .place = 350,
     .name = "total_reads_processed",
     .measure = METRIC_COUNTER,
     .type = METRIC_UINT64,
     .variable = &reads,
     .reset = true,
     .help = "Reads from clients' sockets."},
    {.section = "Stats",
     .place = 1100,
     .name = "batches_run",
     .measure = METRIC_COUNTER,
     .type = METRIC_UINT64,
     .variable = &batches_run,
     .reset = true,
     .help = "Batches of requests that were run."},
    {.section = "Stats",
     .place = 1110,
     .name = "batched_requests",
     .measure = METRIC_COUNTER,
     .type = METRIC_UINT64,
     .variable = &requests_batched,
     .reset = true,
     .help = "Requests that ran in them."},
    {.section = "Clients",
     .place = 60,
     .name = "blocked_clients",
     .measure = METRIC_GAUGE,
     .type = METRIC_UINT64,
     .variable = &held_clients,
     .help = "Clients that wait: in a blocking command, or for the end of CLIENT PAUSE."},
};

void batch_register(void) {
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
    metric_register(metric_rows, sizeof(metric_rows) / sizeof(metric_rows[0]));
}

int64_t batch_bulk_bytes_max(void) { return bulk_bytes_max; }
uint64_t batch_bytes_read(void) { return bytes_read; }
void batch_note_read(size_t bytes) {
    reads++;
    bytes_read += (uint64_t)bytes;
}

#define REQUESTS_BYTES (BATCH_REQUESTS_MAX * sizeof(struct request))
#define ARGUMENTS_BYTES (BATCH_ARGUMENTS_MAX * sizeof(struct slice))

static void batch_begin(struct batch *outer) {
    batch = (struct batch){.outer = outer,
                           .input = memory_alloc(BATCH_INPUT_BYTES, MEMORY_POOLS),
                           .requests = memory_alloc(REQUESTS_BYTES, MEMORY_POOLS),
                           .arguments = memory_alloc(ARGUMENTS_BYTES, MEMORY_POOLS)};
    buffer_init(&batch.inline_words, MEMORY_POOLS);
}

static void batch_end(void) {
    ASSERT(!batch.request_count && batch.outer);
    buffer_free(&batch.inline_words);
    memory_free_sized(batch.input, BATCH_INPUT_BYTES, MEMORY_POOLS);
    memory_free_sized(batch.requests, REQUESTS_BYTES, MEMORY_POOLS);
    memory_free_sized(batch.arguments, ARGUMENTS_BYTES, MEMORY_POOLS);
    batch = *batch.outer;
}

void batch_open(const struct batch_executor *what) {
    executor = what;
    batch.input = memory_alloc(BATCH_INPUT_BYTES, MEMORY_POOLS);
}

/* The batch that has the request. It may be an outer one, because a nested turn also runs the
 * requests behind the running request of an outer turn. */
static const struct batch *batch_of(const struct request *r) {
    const struct batch *b = &batch;
    while (r < b->requests || r >= b->requests + BATCH_REQUESTS_MAX) b = b->outer;
    return b;
}

/* ---- queries ---- */

static struct query *query_create(void) {
    struct query *q = memory_zalloc(sizeof(*q), MEMORY_CLIENTS);
    q->parser.authenticated = true; /* until parser_prepare knows */
    q->storage.class = MEMORY_CLIENTS;
    return q;
}

/* Frees the arguments, but not the bytes. */
static void query_drop_arguments(struct query *q) {
    for (int i = 0; i < q->owned_count; i++) blob_free(q->owned[i].blob, MEMORY_CLIENTS);
    memory_free(q->owned, MEMORY_CLIENTS);
    q->owned = NULL;
    q->owned_count = q->owned_capacity = 0;
    large_bytes -= q->owned_bytes;
    q->owned_bytes = 0;
    memory_free(q->parser.argv, MEMORY_CLIENTS);
    q->parser.argv = NULL;
    q->parser.argc = q->parser.capacity = 0;
    buffer_free(&q->storage);
}

static void query_free(struct query *q) {
    if (!q) return;
    query_drop_arguments(q);
    if (q->filling) large_bytes -= blob_bytes(q->filling);
    blob_free(q->filling, MEMORY_CLIENTS);
    memory_free(q->bytes, MEMORY_CLIENTS);
    memory_free(q, MEMORY_CLIENTS);
}

static void query_free_all(struct client *c) {
    query_free(c->query);
    query_free(c->held);
    c->query = c->held = NULL;
}

static size_t query_held(const struct query *q) {
    return q->owned_bytes + (q->filling ? blob_bytes(q->filling) : 0);
}

static size_t query_bytes(const struct query *q) {
    if (!q) return 0;
    return memory_usable_size(q) + memory_usable_size(q->bytes) + query_held(q) +
           memory_usable_size(q->storage.bytes) + memory_usable_size(q->parser.argv) +
           memory_usable_size(q->owned);
}

static size_t query_used(const struct query *q) {
    if (!q) return 0;
    size_t used = q->length + (q->filling ? q->filling->length : 0);
    for (int i = 0; i < q->owned_count; i++)
        if (q->owned[i].blob) used += q->owned[i].blob->length;
    return used;
}

size_t batch_query_bytes(const struct client *c) {
    return query_bytes(c->query) + query_bytes(c->held);
}

size_t batch_large_bytes(void) { return large_bytes; }

size_t batch_query_used(const struct client *c) {
    return query_used(c->query) + query_used(c->held);
}

static size_t query_room(const struct query *q) { return q ? q->capacity - q->length : 0; }

size_t batch_query_room(const struct client *c) {
    return query_room(c->query) + query_room(c->held);
}

static size_t request_bytes(const struct request *r) {
    const struct query *q = r->query;
    if (!q) return (size_t)(r->end - r->start);
    size_t bytes = q->parsed;
    for (int i = 0; i < q->owned_count; i++) bytes += r->argv[q->owned[i].index].length;
    return bytes;
}

size_t batch_input_bytes(const struct client *c) {
    size_t bytes = 0;
    if (!batch.running_request || batch.running_request->client != c) return 0;
    const struct batch *b = batch_of(batch.running_request);
    for (int i = 0; i < b->request_count; i++)
        if (b->requests[i].client == c) bytes += request_bytes(&b->requests[i]);
    return bytes;
}

/* The capacity is doubled, so that a request of many arguments is not copied for each read, but not
 * beyond the limit of a client that has not authenticated. */
static size_t query_capacity_for(const struct query *q, size_t length) {
    size_t doubled = q->length ? 2 * q->capacity : 0;
    if (!q->parser.authenticated && doubled > REQUEST_UNAUTHENTICATED_BYTES_MAX)
        doubled = REQUEST_UNAUTHENTICATED_BYTES_MAX;
    return memory_good_size(length < doubled ? doubled : length);
}

/* Whether the place is in the query's bytes. The place behind them is not: there may be another
 * block, as the one that has the words of an inline request. */
static bool stands_in(const struct query *q, const char *place) {
    return q && place >= q->bytes && place < q->bytes + q->length;
}

static void query_append(struct query *q, const char *bytes, size_t length) {
    if (q->length + length > q->capacity) {
        q->capacity = query_capacity_for(q, q->length + length);
        char *moved = memory_alloc(q->capacity, MEMORY_CLIENTS);
        if (q->length) memcpy(moved, q->bytes, q->length);
        for (int i = 0; i < q->parser.argc; i++) {
            struct slice *a = &q->parser.argv[i];
            if (stands_in(q, a->bytes)) a->bytes = moved + (a->bytes - q->bytes);
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

/* Begins a large argument: its bytes are read into a block of its own from here on. */
static void query_begin_large(struct query *q) {
    size_t length = (size_t)q->parser.bulk_length;
    struct blob *b = blob_create(length + 2, MEMORY_CLIENTS);
    large_bytes += blob_bytes(b);
    b->length = q->length - q->parsed;
    memcpy(b->bytes, q->bytes + q->parsed, b->length);
    q->length = q->parsed;
    q->filling = b;
}

/* With its line end. */
static bool filling_is_whole(const struct query *q) {
    return q->filling->length >= (size_t)q->parser.bulk_length + 2;
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
    q->owned_bytes += blob_bytes(b);
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
        q->owned_bytes -= blob_bytes(b);
        large_bytes -= blob_bytes(b);
        memory_move(b, blob_bytes(b), MEMORY_CLIENTS, class);
        return b;
    }
    return NULL;
}

/* ---- holding ---- */

/* Keeps bytes of a held client, which are in that batch, for later, behind the bytes that are held
 * already. */
static void keep_bytes(const struct batch *b, struct client *c, const char *start,
                       const char *end) {
    if (stands_in(c->held, start)) return;
    if (!c->held && stands_in(b->region_query, start)) {
        c->held = b->region_query;
        c->held->parsed = (size_t)(start - c->held->bytes);
        return;
    }
    if (!c->held) c->held = query_create();
    query_append(c->held, start, (size_t)(end - start));
    client_note_input(query_bytes(c->held));
    client_memory_note(c);
}

static void keep_request(struct request *r) {
    ASSERT(!r->error);
    if (r->apart) return;
    if (!r->query) {
        keep_bytes(batch_of(r), r->client, r->start, r->end);
        return;
    }
    ASSERT(!r->client->held); /* the request is the first of its client in the batch */
    r->client->held = r->query;
    r->query->ready = true;
}

void batch_hold(struct client *c) {
    ASSERT(!(c->flags & (CLIENT_HELD | CLIENT_CAPTURED)));
    c->flags |= CLIENT_HELD;
    held_clients++;
    client_watch(c);
}

void batch_hold_request(struct request *r) {
    r->client->flags |= CLIENT_HELD_REQUEST;
    batch_hold(r->client);
    keep_request(r);
}

/* Takes a collected client out of `collected`. */
static void collected_drop(struct client *c) {
    list_remove(&c->held_link);
    collected_count--;
}

static void forget_held(struct client *c) {
    if (draining == c) draining = NULL;
    if (c->flags & CLIENT_AWAITED && !list_is_empty(&c->held_link)) collected_count--;
    list_remove(&c->held_link);
    if (c->flags & CLIENT_HELD) held_clients--;
    c->flags &= ~(unsigned)(CLIENT_HELD | CLIENT_HELD_REQUEST);
}

uint64_t batch_held_clients(void) { return held_clients; }

void batch_resume(struct client *c) {
    ASSERT(c->flags & CLIENT_HELD);
    list_remove(&c->held_link);
    list_append(&resumed, &c->held_link);
}

/* ---- parsing into the batch ---- */

static void parser_prepare(struct request_parser *p, const struct client *c) {
    p->authenticated = !client_is_stranger(c);
    p->bulk_max = bulk_bytes_max;
}

static void parse_query(struct client *c);

static bool client_ignores_input(const struct client *c) {
    return c->flags & (CLIENT_CLOSING | CLIENT_CLOSE_AFTER_REPLY);
}

/* Inlined, as run_one is, because every request passes here. */
static inline __attribute__((always_inline)) struct request *batch_push(struct client *c) {
    if (batch.request_count == BATCH_REQUESTS_MAX) batch_run();
    struct request *r = &batch.requests[batch.request_count++];
    memset(r, 0, sizeof(*r));
    r->client = c;
    return r;
}

static __attribute__((noinline)) void batch_push_error(struct client *c,
                                                       const struct request_parser *p) {
    struct request *r = batch_push(c);
    r->error = p->error;
    r->error_byte = p->error_byte;
}

/* Moves an incomplete request into a query of the client's own. Its bytes begin at `start` and are
 * parsed up to `cursor`. */
static void batch_stash(struct client *c, const struct request_parser *p, const char *start,
                        const char *cursor, const char *end) {
    struct query *q = query_create();
    ASSERT(!c->query);
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
    if (stands_in(batch.region_query, start)) /* invariant 5 */
        batch.region_query->length = (size_t)(start - batch.region_query->bytes);
    if (query_wants_large(q)) query_begin_large(q);
    c->query = q;
    client_note_input(query_bytes(q));
}

/* Runs the batch in the middle of a region: afterwards only the bytes behind `region_end` are free,
 * and the arguments of the incomplete request are moved to the front of the pool. */
static void run_within_region(struct client *c, struct request_parser *p, const char *region_end) {
    batch_run();
    parser_prepare(p, c); /* an AUTH may have run */
    if (region_end > batch.input && region_end <= batch.input + BATCH_INPUT_BYTES)
        batch.input_used = (size_t)(region_end - batch.input);
    if (p->argc) memmove(batch.arguments, p->argv, (size_t)p->argc * sizeof(struct slice));
    p->argv = batch.arguments;
    p->capacity = BATCH_ARGUMENTS_MAX;
}

/* Makes room for the words of an inline request, so that the words of earlier requests in the batch
 * do not move: unquoted words with a NUL each are at most one byte longer than their line. False if
 * the batch must run first. */
static bool reserve_inline(const struct request_parser *p, const char *cursor, const char *end) {
    if (p->arguments || *cursor == '*') return true;
    size_t room = (size_t)(end - cursor) + 2;
    if (batch.inline_words.length + room <= batch.inline_words.capacity) return true;
    if (batch.request_count) return false;
    buffer_reserve(&batch.inline_words, room);
    return true;
}

/* Runs the batch if it has no room for another request. This is done before the request is parsed,
 * because words of inline requests are freed with the batch. False if nothing further is parsed:
 * the bytes behind `start` are dropped or kept. */
static bool region_prepare(struct client *c, struct request_parser *p, const char *start,
                           const char *cursor, const char *end) {
    if (batch.request_count == BATCH_REQUESTS_MAX || !reserve_inline(p, cursor, end)) {
        run_within_region(c, p, end);
        reserve_inline(p, cursor, end);
    }
    if (client_ignores_input(c)) return false;
    if (!(c->flags & CLIENT_HELD)) return true;
    keep_bytes(&batch, c, start, end);
    return false;
}

/* Puts the parsed request, whose bytes begin at `start`, into the batch. */
static void region_push(struct client *c, struct request_parser *p, const char *start,
                        const char *end) {
    if (p->argc) {
        struct request *r = batch_push(c);
        r->argv = p->argv;
        r->argc = p->argc;
        r->start = start;
        r->end = end;
        batch.arguments_used = (int)(p->argv - batch.arguments) + p->argc;
        p->argv += p->argc;
        p->capacity -= p->argc;
    }
    request_parser_reset(p);
}

/* Parses requests from bytes that stay where they are until the batch has run. */
static void parse_region(struct client *c, const char *cursor, const char *end) {
    struct request_parser p = {.argv = batch.arguments + batch.arguments_used,
                               .capacity = BATCH_ARGUMENTS_MAX - batch.arguments_used};
    request_parser_reset(&p);
    parser_prepare(&p, c);
    const char *start = cursor;
    while (region_prepare(c, &p, start, cursor, end)) {
        enum request_status status = request_parse(&p, &cursor, end, &batch.inline_words);
        if (status == REQUEST_READY) {
            region_push(c, &p, start, cursor);
            start = cursor;
            if (cursor == end) return;
        } else if (batch.request_count &&
                   (status != REQUEST_INCOMPLETE || p.bulk_length >= BATCH_ADOPT_BYTES)) {
            /* First the earlier requests run, because they may change a limit (AUTH, CONFIG SET) or
             * hold the client, and they give arguments free. An error is found again. */
            run_within_region(c, &p, end);
        } else if (status == REQUEST_ERROR || status == REQUEST_LIMIT) {
            batch_push_error(c, &p);
            return;
        } else if (p.bulk_length > p.bulk_max) {
            p.error = REQUEST_ERROR_BULK_LENGTH; /* the header was parsed under an older limit */
            batch_push_error(c, &p);
            return;
        } else {
            batch_stash(c, &p, start, cursor, end);
            if (status == REQUEST_ROOM) parse_query(c);
            return;
        }
    }
}

/* Runs a query: its request, if that is whole, and the bytes behind it as a region. The query is
 * freed then, unless a part of it is held. */
static void query_run(struct client *c, struct query *q) {
    struct query *outer = batch.region_query;
    batch.region_query = q;
    if (q->ready) {
        struct request *r = batch_push(c);
        r->argv = q->parser.argv;
        r->argc = q->parser.argc;
        r->query = q;
        q->ready = false;
    }
    if (q->parsed < q->length) parse_region(c, q->bytes + q->parsed, q->bytes + q->length);
    batch_run();
    batch.region_query = outer;
    if (c->held != q)
        query_free(q);
    else if (!q->ready)
        query_drop_arguments(q);
}

/* Continues to parse the client's query, and runs it when its request is complete. */
static void parse_query(struct client *c) {
    struct query *q = c->query;
    for (;;) {
        if (q->filling) {
            if (!filling_is_whole(q)) return;
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
        if (status == REQUEST_READY) {
            q->ready = q->parser.argc > 0;
        } else {
            batch_push_error(c, &q->parser);
            q->parsed = q->length;
        }
        query_run(c, q);
        return;
    }
}

/* ---- reading ---- */

/* Called if a read gave nothing: no more bytes now, the connection's end, or an error. */
static void note_nothing_read(struct client *c, ssize_t got) {
    if (draining == c) draining = NULL;
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got)
        log_verbose("Reading from client: %s", connection_error_text(client_connection(c), errno));
    else
        log_verbose("Client closed connection");
    client_close_later(c);
}

/* Notes the result of a read. Returns how many bytes came; 0: none, and the client may be closing.
 */
static size_t count_read(struct client *c, ssize_t got) {
    if (got <= 0) {
        note_nothing_read(c, got);
        return 0;
    }
    reads++;
    bytes_read += (uint64_t)got;
    c->active_msec = clock_cached_msec();
    return (size_t)got;
}

static size_t read_some(struct client *c, char *into, size_t room) {
    return count_read(c, client_receive(c, into, room));
}

/* Called when bytes were added to the client's query. */
static void go_on_with_query(struct client *c) {
    parse_query(c);
    if (!c->query) return;
    client_note_input(query_bytes(c->query));
    size_t bytes = c->query->length + query_held(c->query);
    if ((int64_t)bytes > query_bytes_max)
        client_close_for_limit(c, "query buffer");
    else if (bytes > REQUEST_UNAUTHENTICATED_BYTES_MAX && client_is_stranger(c))
        client_close_for_limit(c, "query buffer (it has not authenticated)");
}

/* False where nothing came. */
static bool read_filling(struct client *c, struct query *q) {
    size_t room = (size_t)q->parser.bulk_length + 2 - q->filling->length;
    if (room > BATCH_READ_LARGE_BYTES) room = BATCH_READ_LARGE_BYTES;
    size_t got = read_some(c, q->filling->bytes + q->filling->length, room);
    q->filling->length += got;
    return got;
}

static void read_into_query(struct client *c) {
    struct query *q = c->query;
    if (q->filling) {
        if (!read_filling(c, q)) return;
    } else {
        size_t got = read_some(c, batch.input + batch.input_used, BATCH_READ_BYTES);
        if (!got) return;
        query_append(q, batch.input + batch.input_used, got);
    }
    go_on_with_query(c);
}

/* Ends the turn if its time is up. Called when a batch has just run. */
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
    if (BATCH_INPUT_BYTES - batch.input_used < BATCH_READ_BYTES) {
        batch_run();
        if (client_ignores_input(c)) return; /* another client's request, or a limit, closed it */
    }
    if (c->query) {
        read_into_query(c);
        return;
    }
    char *region = batch.input + batch.input_used;
    size_t got = read_some(c, region, BATCH_READ_BYTES);
    if (!got) return;
    batch.input_used += got;
    parse_region(c, region, region + got);
}

/* Whether an outer turn is parsing the client's bytes, so that bytes it sends now come behind them.
 */
static bool is_read_outside(const struct client *c) {
    for (const struct batch *b = batch.outer; b; b = b->outer)
        if (b->reading == c) return true;
    return false;
}

/* Whether a held client is read. The link alone reads the client that is CLIENT_PRIMARY. */
static bool held_is_read(const struct client *c) {
    if (c->flags & CLIENT_PRIMARY) return false;
    size_t most = client_is_stranger(c) ? REQUEST_UNAUTHENTICATED_BYTES_MAX : BATCH_HELD_BYTES_MAX;
    return batch_query_used(c) < most;
}

/* Bytes that a held client sends are appended, unparsed, to the input that it had sent before. */
static void read_held(struct client *c) {
    struct query *q = c->query;
    if (q && q->filling) {
        if (read_filling(c, q) && filling_is_whole(q)) query_end_large(q);
    } else {
        if (BATCH_INPUT_BYTES - batch.input_used < BATCH_READ_BYTES) batch_run();
        if (client_ignores_input(c)) return; /* another's request, or its memory, closed it */
        const char *bytes = batch.input + batch.input_used;
        size_t got = read_some(c, batch.input + batch.input_used, BATCH_READ_BYTES);
        if (!got) return;
        if (q)
            query_append(q, bytes, got);
        else
            keep_bytes(&batch, c, bytes, bytes + got);
    }
    client_note_input(batch_query_bytes(c));
    client_watch(c);
}

static __attribute__((noinline)) void held_ready(struct client *c, unsigned ready) {
    if (ready & LOOP_HANGUP || (ready & LOOP_READABLE && !held_is_read(c))) {
        log_verbose("Client closed connection"); /* a client that is not read is broken */
        client_close_later(c);
    } else if (ready & LOOP_READABLE) {
        read_held(c);
        client_memory_note(c);
        client_memory_enforce();
        yield_if_late();
    }
}

/* Inlined, because its second caller is rare. */
static inline __attribute__((always_inline)) void client_ready(struct client *c, unsigned ready) {
    if (__builtin_expect(batch.outer != NULL, 0) && is_read_outside(c)) return;
    uint64_t before = batches_run;
    note_turn();
    if (ready & LOOP_WRITABLE) reply_writable(c);
    if (c->flags & CLIENT_HELD) {
        held_ready(c, ready);
        return;
    }
    if (ready & LOOP_READABLE && !client_ignores_input(c)) {
        batch.reading = c;
        client_read(c);
        batch.reading = NULL;
    }
    client_memory_note(c);
    client_memory_enforce();
    if (batches_run != before) yield_if_late();
}

/* Called after a step of a handshake. The step may have taken a millisecond, and many may be due,
 * so the turn's time is checked; and it may have changed the client's memory. */
static void handshake_goes_on(struct client *c) {
    client_memory_note(c);
    client_memory_enforce();
    yield_if_late();
}

/* Serves a client with a transport. A client that is closing, or whose request runs in an outer
 * turn, is not read. */
static __attribute__((noinline)) void unusual_ready(struct client *c, unsigned ready) {
    if (c->flags & (CLIENT_CLOSING | CLIENT_BELOW)) return;
    note_turn();
    ready = client_carried_ready(c, ready);
    if (ready)
        client_ready(c, ready);
    else
        handshake_goes_on(c);
    client_watch(c);
}

static void watcher_ready(struct loop_watcher *watcher, unsigned ready) {
    struct client *c = (struct client *)watcher;
    if (__builtin_expect(c->flags & (CLIENT_CLOSING | CLIENT_BELOW | CLIENT_CARRIED), 0))
        unusual_ready(c, ready);
    else
        client_ready(c, ready);
    if (__builtin_expect(client_interrupted, 0)) client_finish_closing();
}

/* ---- running ---- */

/* CLIENT REPLY SKIP drops the replies of the next request. */
static void step_reply_skip(struct client *c) {
    bool next = c->flags & CLIENT_REPLY_SKIP_NEXT;
    c->flags &= ~(unsigned)(CLIENT_REPLY_SKIP_NEXT | CLIENT_REPLY_SKIP);
    if (next) c->flags |= CLIENT_REPLY_SKIP;
}

/* request.error of a request that a nested turn has run. */
static const char run_already[] = "";

static void refuse_request(const struct request *r) {
    char text[64];
    ASSERT(!(r->client->flags & CLIENT_HELD)); /* invariant 6 */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(text, sizeof(text), r->error, r->error_byte);
#pragma GCC diagnostic pop
    reply_error_format(r->client, "Protocol error: %s", text);
    client_close_after_reply(r->client);
}

static inline __attribute__((always_inline)) void run_one(struct request *r) {
    struct client *c = r->client;
    if (client_ignores_input(c)) return;
    if (__builtin_expect(r->error != NULL, 0)) {
        if (r->error != run_already) refuse_request(r);
        return;
    }
    if (__builtin_expect(c->flags & CLIENT_HELD, 0)) {
        keep_request(r);
        return;
    }
    batch.running_request = r;
    executor->execute(r);
    ASSERT_SLOW(!(c->flags & CLIENT_OPEN_GROUP));
    batch.running_request = NULL;
    bool skips = c->flags & (CLIENT_REPLY_SKIP | CLIENT_REPLY_SKIP_NEXT);
    if (__builtin_expect(skips, 0) && !(c->flags & CLIENT_HELD)) step_reply_skip(c);
}

/* Writes the replies of the requests so far to the sockets. */
static void write_replies(void) {
    reply_end();
    reply_write_all();
    client_memory_enforce();
}

/* Gives the replies of a whole batch to I/O threads. The main thread itself writes in nested turns
 * and between turns (clients that are resumed), because no thread may have a transfer then. */
static __attribute__((noinline)) void give_replies(void) {
    if (batch.outer || batch.resuming) {
        write_replies();
        return;
    }
    reply_end();
    reply_write_batch(batch.reading);
    client_memory_enforce();
}

/* Called when no request runs. Writes the streams, which go before replies; but after a full batch
 * they wait for the last batch of the turn, because each send costs as much as some ten requests.
 */
static inline void pause_requests(void) {
    if (executor->pause) executor->pause();
    if (!batch.outer && batch.request_count < BATCH_REQUESTS_MAX) reply_write_streams();
}

/* Writes the replies, when no request runs. */
static void pause_and_write(void) {
    pause_requests();
    write_replies();
}

const struct client *batch_running_client(void) {
    return batch.running_request ? batch.running_request->client : batch.apart;
}

void batch_relieve(void) {
    if (!reply_is_due()) return;
    struct client *c = batch.running_request ? batch.running_request->client : NULL;
    ASSERT(!c || !(c->flags & CLIENT_OPEN_GROUP));
    write_replies();
    if (c) reply_begin(c);
}

/* Called between requests, when no code uses anything of a client: closes marked clients, and
 * writes what must be written. */
static __attribute__((noinline)) void between_requests(void) {
    client_interrupted = false;
    reply_append_later();
    client_finish_closing();
    if (reply_is_due()) pause_and_write();
}

static void run_group(struct request *first, int count) {
    executor->prefetch(first, count);
    for (int i = 0; i < count; i++) {
        reply_begin(first[i].client);
        run_one(&first[i]);
        if (__builtin_expect(client_interrupted, 0)) between_requests();
    }
}

/* Resumes one held client. It becomes `draining` first, so that forget_held clears that if the
 * client is closed within the run. */
static void run_held(struct client *c) {
    bool command_is_over = !(c->flags & CLIENT_HELD_REQUEST);
    forget_held(c);
    if (command_is_over) step_reply_skip(c);
    struct query *q = c->held;
    c->held = NULL;
    draining = c;
    drain_bytes_left = DRAIN_BYTES_MAX;
    batch.resuming = true;
    batch.reading = c;
    if (q) query_run(c, q);
    /* The query may have got bytes while its client was held. */
    if (c->query && !(c->flags & CLIENT_HELD) && !client_ignores_input(c)) go_on_with_query(c);
    batch.reading = NULL;
    batch.resuming = false;
    client_memory_note(c);
    client_watch(c);
    if (list_is_empty(&resumed)) draining = NULL;
}

/* Reads the draining client once, and runs its requests. If the turn before was late, the client
 * may still be collected for an I/O thread; no thread has it between turns, so it is read here. */
static void batch_drain(void) {
    struct client *c = draining;
    uint64_t before = bytes_read;
    if (client_ignores_input(c) || c->flags & (CLIENT_HELD | CLIENT_PRIMARY)) {
        draining = NULL;
        return;
    }
    if (c->flags & CLIENT_AWAITED) collected_drop(c);
    c->flags &= ~(unsigned)CLIENT_AWAITED;
    batch.resuming = true;
    batch.reading = c;
    client_read(c);
    batch_run();
    batch.reading = NULL;
    batch.resuming = false;
    client_memory_note(c);
    if (c->flags & CLIENT_CARRIED) client_watch(c);
    /* If CONFIG RESETSTAT has run, the read counts as a full one. */
    uint64_t got = bytes_read > before ? bytes_read - before : BATCH_READ_BYTES;
    if (got >= drain_bytes_left) draining = NULL;
    drain_bytes_left -= got < drain_bytes_left ? got : drain_bytes_left;
}

bool batch_has_resumed(void) { return draining || !list_is_empty(&resumed); }

bool batch_run_resumed(void) {
    int64_t end_nsec = batch_has_resumed() ? clock_monotonic_nsec() + BATCH_TURN_USEC * 1000 : 0;
    while (batch_has_resumed()) {
        if (draining)
            batch_drain();
        else
            run_held(LIST_ENTRY(resumed.next, struct client, held_link));
        if (clock_monotonic_nsec() >= end_nsec) break;
    }
    if (!batch.outer) reply_write_streams();
    reply_write_all();
    client_finish_closing();
    return batch_has_resumed();
}

void batch_run(void) {
    if (!batch.request_count) {
        batch.input_used = 0;
        return;
    }
    ASSERT(!batch.running);
    batch.running = true;
    if (!depth) first_id_within = 0;
    for (int done = 0; done < batch.request_count; done += BATCH_GROUP) {
        int left = batch.request_count - done;
        run_group(batch.requests + done, left < BATCH_GROUP ? left : BATCH_GROUP);
    }
    pause_requests();
    if (__builtin_expect(has_threads, 0))
        give_replies();
    else
        write_replies();
    if (executor->after_replies && !batch.resuming)
        executor->after_replies(batch.requests, batch.request_count,
                                clock_monotonic_nsec() - loop_wake_nsec(client_loop()));
    batches_run++;
    requests_batched += (uint64_t)batch.request_count;
    batch.request_count = 0;
    batch.arguments_used = 0;
    batch.input_used = 0;
    if (batch.inline_words.length) buffer_clear(&batch.inline_words);
    batch.running = false;
    if (__builtin_expect(client_interrupted, 0)) between_requests();
}

/* ---- reading by I/O threads ---- */

/* For each thread one transfer to work on, and one that waits. */
#define READERS_PER_THREAD 2

void batch_open_threads(void) {
    has_threads = true;
    reply_open_threads();
    if (!threads_do_reads()) return;
    readers_room = READERS_PER_THREAD * threads_count();
    readers = memory_zalloc(readers_room * sizeof(*readers), MEMORY_POOLS);
    for (unsigned i = 0; i < readers_room; i++) {
        readers[i].input = memory_alloc(BATCH_INPUT_BYTES, MEMORY_POOLS);
        readers[i].room = BATCH_INPUT_BYTES;
        readers[i].at_once = BATCH_READ_BYTES;
    }
}

static struct transfer *reader_at(unsigned number) {
    return &readers[(readers_first + number) % readers_room];
}

/* Whether a thread may read the client. Large arguments are read straight into their block, which
 * only the main thread does. */
static bool can_be_collected(const struct client *c, unsigned ready) {
    unsigned unusual = CLIENT_CLOSING | CLIENT_CLOSE_AFTER_REPLY | CLIENT_HELD | CLIENT_STREAMED |
                       CLIENT_BELOW | CLIENT_PRIMARY;
    return ready == LOOP_READABLE && !(c->flags & unusual) && !(c->query && c->query->filling);
}

static void collected_add(struct client *c) {
    c->flags |= CLIENT_AWAITED;
    list_append(&collected, &c->held_link);
    collected_count++;
}

static struct client *collected_take(void) {
    struct client *c = LIST_ENTRY(collected.next, struct client, held_link);
    collected_drop(c);
    return c;
}

/* Collects the client for I/O threads, or serves it at once. */
static void collect_or_serve(struct client *c, unsigned ready) {
    if (readers && !batch.outer && can_be_collected(c, ready)) {
        collected_add(c);
        return;
    }
    client_ready(c, ready);
    if (c->flags & CLIENT_CARRIED) client_watch(c);
}

static __attribute__((noinline)) void carried_ready(struct client *c, unsigned ready) {
    note_turn();
    ready = client_carried_ready(c, ready);
    if (ready) {
        collect_or_serve(c, ready);
    } else {
        handshake_goes_on(c);
        client_watch(c);
    }
}

/* The watcher of clients with I/O threads. An AWAITED client may become ready again while it is
 * collected. */
static void watcher_ready_threads(struct loop_watcher *watcher, unsigned ready) {
    struct client *c = (struct client *)watcher;
    if (c->flags & (CLIENT_CLOSING | CLIENT_BELOW | CLIENT_AWAITED)) return;
    if (c->flags & CLIENT_AWAY) reply_settle(); /* over TLS: the transport has more bytes */
    if (c->flags & CLIENT_CARRIED)
        carried_ready(c, ready);
    else
        collect_or_serve(c, ready);
    if (__builtin_expect(client_interrupted, 0)) client_finish_closing();
}

/* Gives `count` collected clients, from this one on, to a thread. Returns the client behind them.
 */
static struct list_link *give_reader(struct list_link *link, unsigned count) {
    struct transfer *t = reader_at(readers_count);
    transfer_begin(t);
    while (link != &collected && t->count < (int)count) {
        struct client *c = LIST_ENTRY(link, struct client, held_link);
        link = link->next;
        collected_drop(c);
        if (can_be_collected(c, LOOP_READABLE)) {
            if (c->flags & CLIENT_CARRIED) c->flags |= CLIENT_AWAY;
            transfer_add(t, c, NULL, 0);
        } else {
            c->flags &= ~(unsigned)CLIENT_AWAITED;
        }
    }
    readers_count++;
    transfer_read(t);
    return link;
}

/* Takes a client's bytes, which stay in place until the batch has run. */
static void take_bytes(struct client *c, const char *bytes, size_t length) {
    batch.reading = c;
    if (c->query) {
        query_append(c->query, bytes, length);
        go_on_with_query(c);
    } else {
        parse_region(c, bytes, bytes + length);
    }
    batch.reading = NULL;
}

/* Takes a piece that a thread has read, and does what client_ready does after a read. */
static void take_piece(const struct transfer_piece *p) {
    struct client *c = p->client;
    c->flags &= ~(unsigned)CLIENT_AWAITED;
    reply_back(c);
    if (c->flags & CLIENT_CLOSING) return;
    transfer_settle_read(p);
    errno = p->error;
    size_t got = count_read(c, p->done);
    if (got && !client_ignores_input(c)) take_bytes(c, p->bytes, got);
    client_memory_note(c);
    client_memory_enforce();
    if (c->flags & CLIENT_CARRIED) client_watch(c);
    if (__builtin_expect(client_interrupted, 0)) client_finish_closing();
}

/* Puts the clients of pieces for which the thread had no room in front of the collected ones again.
 */
static void collect_untried(struct transfer *t) {
    while (t->count > t->tried) {
        struct client *c = t->pieces[--t->count].client;
        c->flags &= ~(unsigned)CLIENT_AWAITED;
        reply_back(c);
        if (c->flags & CLIENT_CLOSING) continue;
        c->flags |= CLIENT_AWAITED;
        list_prepend(&collected, &c->held_link);
        collected_count++;
    }
}

/* Takes all pieces of a reader. A nested turn may have taken some of them already. */
static void take_all(struct transfer *t) {
    threads_wait(&t->job);
    collect_untried(t);
    while (t->taken < t->tried) take_piece(&t->pieces[t->taken++]);
}

/* Reads so many collected clients in the main thread. */
static void read_here(unsigned count) {
    for (; count && collected_count; count--) {
        struct client *c = collected_take();
        c->flags &= ~(unsigned)CLIENT_AWAITED;
        if (c->flags & CLIENT_CLOSING) continue;
        client_ready(c, LOOP_READABLE);
        if (c->flags & CLIENT_CARRIED) client_watch(c);
        if (__builtin_expect(client_interrupted, 0)) client_finish_closing();
    }
    batch_run();
}

/* Waits for the first reader, and runs its clients' requests. */
static void take_first_reader(void) {
    take_all(reader_at(0));
    batch_run();
    readers_first = (readers_first + 1) % readers_room;
    readers_count--;
}

/* How many clients each of so many readers gets: equal shares, but not too few to be worth a
 * reader. */
static unsigned read_share(unsigned sharers) {
    unsigned share = collected_count / sharers, least = (unsigned)transfer_pieces_min();
    if (share > TRANSFER_PIECES_MAX) return TRANSFER_PIECES_MAX;
    return share < least ? least : share;
}

static bool is_late(void) { return clock_monotonic_nsec() >= turn_end_nsec; }

/* Reads collected clients in the main thread until the turn's time is up, but some of them in any
 * case: otherwise, if every turn is late, they would never be read. */
static void read_until_late(void) {
    do read_here(TRANSFER_PIECES_MAX);
    while (collected_count && !is_late());
}

/* Gives the last of the collected clients to threads, a share to each, and reads the others in the
 * main thread, which would only sleep otherwise and then finds the threads done. So all requests
 * run in the order in which their clients were ready. The main thread has just polled these
 * sockets, so a read costs it three fifths of what it costs another processor. */
static void read_with_threads(void) {
    unsigned count = threads_count(), share = read_share(count + 1);
    struct list_link *link = collected.next;
    for (unsigned here = collected_count; here > count * share; here--) link = link->next;
    for (; count && link != &collected; count--) link = give_reader(link, share);
    read_until_late();
    while (readers_count) {
        take_first_reader();
        if (collected_count && !is_late()) read_until_late();
    }
}

/* Gives all collected clients to threads: over TLS decrypting would cost the main thread too much.
 */
static void read_by_threads(void) {
    unsigned share = read_share(readers_room);
    bool late = false;
    for (;;) {
        while (!late && collected_count && readers_count < readers_room)
            give_reader(collected.next, share);
        if (!readers_count) return;
        take_first_reader();
        late = is_late();
    }
}

/* Whether the collected clients come over TLS, judged by the first one: if only some do, either way
 * of reading is right. */
static bool are_over_tls(void) {
    return collected_count &&
           LIST_ENTRY(collected.next, struct client, held_link)->flags & CLIENT_CARRIED;
}

void batch_run_threads(void) {
    bool many = collected_count >= threads_clients_min();
    batch_run();
    note_turn();
    if (!many)
        read_until_late();
    else if (are_over_tls())
        read_by_threads();
    else
        read_with_threads();
    bool active = reply_settle() || many;
    threads_note_active(active);
    if (active) reply_write_all(); /* replies that have waited for a thread */
}

/* ---- requests apart ---- */

void batch_apart_begin(struct client *c) {
    ASSERT(!batch.running && !batch.apart);
    batch.apart = c;
    if (!depth) first_id_within = 0;
}

void batch_apart_end(void) {
    batch.apart = NULL;
    if (__builtin_expect(client_interrupted, 0)) between_requests();
}

/* ---- nested turns ---- */

/* Runs the requests that outer turns have read and not run, except those of clients whose request
 * is running. They must run before requests that these clients send now, and should not wait. */
static void run_waiting(const struct batch *outer) {
    const struct batch *home = outer;
    int next = 0;
    if (outer->running_request) {
        home = batch_of(outer->running_request);
        next = (int)(outer->running_request - home->requests) + 1;
    }
    for (; next < home->request_count; next++) {
        struct request *r = &home->requests[next];
        if (r->client->flags & CLIENT_BELOW || r->error == run_already) continue;
        executor->prefetch(r, 1);
        reply_begin(r->client);
        run_one(r);
        r->error = run_already;
        if (__builtin_expect(client_interrupted, 0)) between_requests();
    }
    pause_and_write();
}

/* Gets all transfers back from the threads. Clients that were only collected are still ready. */
static void rest_before_within(void) {
    reply_settle();
    threads_rest();
    while (collected_count) collected_take()->flags &= ~(unsigned)CLIENT_AWAITED;
}

/* Takes the bytes that threads have read for the outer turn, because these clients should not wait.
 * The buffers are kept until the outermost turn has run the requests that it has parsed in them. */
static void take_within(void) {
    for (unsigned i = 0; i < readers_count; i++) {
        take_all(reader_at(i));
        while (collected_count) collected_take()->flags &= ~(unsigned)CLIENT_AWAITED;
    }
}

unsigned batch_turns_left(void) { return BATCH_DEPTH_MAX - depth; }

bool batch_turn_within(uint64_t record) {
    struct client *runs = batch.running_request ? batch.running_request->client : batch.apart;
    struct batch outer;
    struct output outer_output;
    if (depth == BATCH_DEPTH_MAX) return false;
    if (__builtin_expect(has_threads, 0)) rest_before_within();
    if (!first_id_within) first_id_within = client_next_id();
    depth++;
    if (runs) runs->flags |= CLIENT_BELOW;
    reply_enter(&outer_output, runs, record);
    outer = batch;
    batch_begin(&outer);
    run_waiting(&outer);
    if (__builtin_expect(has_threads, 0)) take_within();
    loop_turn_within(client_loop());
    batch_run();
    write_replies();
    client_finish_closing();
    batch_end();
    depth--;
    /* A nested turn around this one may have requests of any client. */
    client_free_within(depth ? UINT64_MAX : first_id_within);
    reply_leave(&outer_output);
    if (runs) runs->flags &= ~(unsigned)CLIENT_BELOW;
    client_interrupted = true; /* the client may be marked, and there may be replies to write */
    return true;
}

#define PARTS(on_ready)                                                                            \
    {                                                                                              \
        .ready = (on_ready), .marked = reply_free, .closed = forget_held, .freed = query_free_all, \
        .input_bytes = batch_query_bytes, .held_is_read = held_is_read,                            \
        .last_words = reply_writable, .cron_needed = limits_need_cron, .cron = limits_check_output \
    }
const struct client_parts batch_client_parts = PARTS(watcher_ready);
const struct client_parts batch_client_parts_threads = PARTS(watcher_ready_threads);
