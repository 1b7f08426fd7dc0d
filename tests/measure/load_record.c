/* SPDX-License-Identifier: BSD-3-Clause
 * The load's open loop: requests on a schedule over thousands of connections, each recorded.
 *
 * Idea. Requests have moments at which they are due, drawn before anything is known of the server
 * (draw.h). They are streams of src/load/, which sends them, keeps what waits for a connection in a
 * line, and measures its own lateness (load/load_late.h). A request's latency counts from the due
 * moment, so that a stall is charged to every request that it delayed and not only to those that
 * were under way. Here is what is asked for, and the records of what came back.
 *
 * Besides the main stream of requests there can be: a herd (connections that stay idle until a
 * moment at which each sends one request), a probe (PINGs on a connection of its own, on schedule,
 * never waiting for the last), INFO samples (one at a time), slow readers (they ask for more than
 * they read; a tick of the load drives their connections), and reconnects. With --arrivals closed
 * there is no schedule: every connection sends again when it is answered, which fills a server or
 * finds what it can do.
 *
 * Invariants:
 *  1. A batch's requests stand in a struct batch, which the sink frees with the last of its
 *     answers.
 *  2. Every request of the run has one record: answered, lost with its connection, or unanswered
 *     when the time to drain is over (its latency is then what it had waited so far).
 *  3. The load has one thread, and only it changes what stands here while the load runs.
 *
 * README.md describes the files that it leaves.
 */
#include <inttypes.h>
#include <poll.h>
#include <sys/epoll.h>

#include "load.h"
#include "load/load_run.h"
#include "output.h"
#include "wire.h"

#define SLOW_TICK_NSEC 10000000
#define SLOW_REQUESTS_MAX 2000 /* a tick: pipelines of thousands take their time to write */
#define SLOW_SOCKET_BYTES 4096 /* so that what is not read stays on the server's side */
#define INFO_BYTES_MAX (1u << 20)
#define SCATTER 2654435761u /* a prime: multiplied by it, ranks spread over the keys */
#define GREETING_BYTES 64   /* a SELECT */
#define SILENCE_NSEC_MAX (120u * 1000000000ull)

struct request {
    uint64_t key, deadline_msec, field;
    uint8_t operation;
    bool is_new;
};

/* A batch that is under way; its address is the batch's word (load_batch.about). */
struct batch {
    struct batch *next; /* in the list of free ones */
    unsigned left;      /* requests that have no record yet */
    bool is_fill;       /* of a miss */
    struct request requests[];
};

struct slow_reader {
    struct load_connection connection;
    uint64_t pending; /* requests that are not answered */
    uint32_t number;
};

static struct load_target *targets, *slow_targets; /* one for each database */
static struct batch *free_batches;
static struct slow_reader *slow_readers;
static struct draw chance;
static struct zipf zipf;
static char *scratch, *filler;
static size_t scratch_length, scratch_room;
static char info_text[INFO_BYTES_MAX + 1];
static size_t info_length;
static bool info_is_asked;

/* Keys low..high-1 are the window; a new key is `high`. */
static uint64_t key_low, key_high;
static size_t trace_next, trace_due;
static uint64_t sets_new, deleted;
static uint64_t fields_next; /* of all hashes, where they are filled in turn */
static uint64_t start_realtime_msec;
static int64_t next_probe, next_info;
static uint64_t herd_due, slow_lost;
static struct load_result result;

/* ---- what is sent ---- */

static void need_room(size_t bytes) {
    if (scratch_length + bytes <= scratch_room) return;
    scratch_room = 2 * (scratch_length + bytes);
    scratch = load_grow(scratch, scratch_room);
}

/* The length of a key's name is a function of its number, so that it is always the same key. */
static size_t key_length(uint64_t key) {
    struct draw own;
    if (options.key_bytes.low >= options.key_bytes.high) return (size_t)options.key_bytes.low;
    draw_init(&own, key * SCATTER + 1);
    return size_law_draw(&options.key_bytes, &own);
}

static char *put_key(char *to, uint64_t key) {
    if (!options.trace.rows) return wire_put_key(to, key, key_length(key));
    return wire_put_word(to, options.trace.rows[key].key, options.trace.rows[key].key_length);
}

static uint64_t value_length(const struct request *request) {
    if (!options.trace.rows) return size_law_draw(&options.value_bytes, &chance);
    uint32_t size = options.trace.rows[request->key].size;
    return size < 1 ? 1 : size > VALUE_BYTES_MAX ? VALUE_BYTES_MAX : size;
}

static void put_recorded_set(const struct request *request) {
    uint64_t length = value_length(request);
    need_room(length + options.key_bytes_max + WIRE_TEXT_BYTES_MAX);
    char *to = wire_put_head(scratch + scratch_length, request->deadline_msec ? 5 : 3);
    to = wire_put_word(to, "SET", 3);
    to = put_key(to, request->key);
    to = wire_put_word(to, filler, length);
    if (request->deadline_msec) {
        to = wire_put_word(to, "PXAT", 4);
        to = wire_put_number_word(to, request->deadline_msec);
    }
    scratch_length = (size_t)(to - scratch);
}

static void put_hset(const struct request *request) {
    uint64_t fields = options.fields_at_once ? options.fields_at_once : 1;
    need_room(options.key_bytes_max + WIRE_TEXT_BYTES_MAX);
    char *to = wire_put_head(scratch + scratch_length, 2 + 2 * (unsigned)fields);
    to = wire_put_word(to, "HSET", 4);
    to = put_key(to, request->key);
    scratch_length = (size_t)(to - scratch);
    for (uint64_t i = 0; i < fields; i++) {
        uint64_t length = size_law_draw(&options.value_bytes, &chance);
        need_room(length + WIRE_TEXT_BYTES_MAX);
        to = wire_put_number_word(scratch + scratch_length, request->field + i);
        to = wire_put_word(to, filler, length);
        scratch_length = (size_t)(to - scratch);
    }
}

static void put_recorded_request(const struct request *request) {
    static const char *const names[] = {"GET",  "SET",  "SET",  "DEL",   "UNLINK",
                                        "HSET", "PING", "INFO", "SELECT"};
    if (request->operation == OP_SET || request->operation == OP_EX) {
        put_recorded_set(request);
        return;
    }
    if (request->operation == OP_HSET) {
        put_hset(request);
        return;
    }
    need_room(options.key_bytes_max + WIRE_TEXT_BYTES_MAX);
    bool lone = request->operation == OP_PING || request->operation == OP_INFO;
    const char *name = names[request->operation];
    char *to = wire_put_head(scratch + scratch_length, lone ? 1 : 2);
    to = wire_put_word(to, name, strlen(name));
    if (request->operation == OP_SELECT)
        to = wire_put_number_word(to, request->key);
    else if (!lone)
        to = put_key(to, request->key);
    scratch_length = (size_t)(to - scratch);
}

/* ---- what is asked ---- */

/* One of `size` keys from `low` on, by the popularity asked for. */
static uint64_t popular_key(uint64_t low, uint64_t size) {
    if (size == 0) return low;
    if (!options.zipf_exponent) return low + draw_below(&chance, size);
    uint64_t rank = zipf_draw(&zipf, &chance);
    if (options.scatter) return low + (uint64_t)((unsigned __int128)rank * SCATTER % size);
    return low + size - 1 - (rank - 1) % size;
}

static uint64_t window_key(void) { return popular_key(key_low, key_high - key_low); }

static uint64_t read_key(void) {
    return options.get_keys ? popular_key(options.get_first_key, options.get_keys) : window_key();
}

static uint64_t new_key(void) {
    uint64_t key = key_high++;
    if (options.slide && key_high - key_low > options.keys) key_low = key_high - options.keys;
    return key;
}

static uint64_t deadline_drawn(void) {
    if (options.due_at_msec)
        return options.due_at_msec + draw_below(&chance, options.due_spread_msec + 1);
    return load_realtime_msec() + size_law_draw(&options.ttl_msec, &chance);
}

/* Hashes are of the window, and a filled one joins it. */
static void draw_field(struct request *request) {
    if (!options.fields_at_once) {
        request->key = window_key();
        request->field = draw_below(&chance, options.fields);
        return;
    }
    request->key = options.first_key + fields_next / options.fields;
    request->field = fields_next % options.fields;
    fields_next += options.fields_at_once;
    if (key_high <= request->key) key_high = request->key + 1;
}

static void draw_request(struct request *request) {
    uint64_t at = draw_below(&chance, options.mix_sum);
    unsigned operation = OP_GET;
    while (at >= options.mix[operation]) at -= options.mix[operation++];
    request->operation = (uint8_t)operation;
    if (operation == OP_SET || operation == OP_EX) {
        request->is_new = options.sets_are_new;
        request->key = request->is_new ? new_key() : window_key();
        if (operation == OP_EX) request->deadline_msec = deadline_drawn();
    } else if (operation == OP_GET) {
        request->key = read_key();
    } else if (operation == OP_HSET) {
        draw_field(request);
    } else if (!options.deletes_oldest) {
        request->key = window_key();
    } else {
        request->key = key_low < key_high ? key_low++ : key_low;
    }
}

static void trace_request(struct request *request) {
    static const uint8_t operations[] = {OP_GET, OP_SET, OP_DEL};
    const struct trace_row *row = &options.trace.rows[trace_next];
    request->key = trace_next++;
    request->operation = operations[row->operation];
    if (row->operation == TRACE_SET && row->ttl_s)
        request->deadline_msec = load_realtime_msec() + row->ttl_s * 1000ull;
}

/* ---- batches ---- */

static struct batch *take_batch(void) {
    struct batch *batch = free_batches;
    if (batch) free_batches = batch->next;
    if (!batch) batch = load_grow(NULL, sizeof(*batch) + options.pipeline * sizeof(struct request));
    batch->left = 0;
    batch->is_fill = false;
    return batch;
}

static void give_batch_back(struct batch *batch) {
    batch->next = free_batches;
    free_batches = batch;
}

static void put_into(struct batch *batch, const struct request *request) {
    if (!batch->left) scratch_length = 0;
    batch->requests[batch->left++] = *request;
    put_recorded_request(request);
}

static struct load_batch ready_batch(struct batch *batch) {
    return (struct load_batch){
        .bytes = {scratch, scratch_length}, .replies = batch->left, .about = (uintptr_t)batch};
}

/* A batch of one request. */
static struct load_batch lone_batch(struct request request) {
    struct batch *batch = take_batch();
    put_into(batch, &request);
    return ready_batch(batch);
}

/* ---- the streams: what is due, and what is sent ---- */

/* The main stream is asked first when the load begins. */
static void note_begin(void) {
    if (start_realtime_msec) return;
    start_realtime_msec = load_realtime_msec();
    output_begin(start_realtime_msec);
}

static bool next_main(void *unused, unsigned thread, unsigned most, struct load_batch *to) {
    struct batch *batch = take_batch();
    note_begin();
    while (batch->left < most && !(options.trace.rows && trace_next >= options.trace.count)) {
        struct request request = {0};
        if (options.trace.rows)
            trace_request(&request);
        else
            draw_request(&request);
        put_into(batch, &request);
    }
    if (batch->left)
        *to = ready_batch(batch);
    else
        give_batch_back(batch);
    return to->replies > 0;
}

/* The next moment of the main stream. */
static int64_t due_main(void *unused, unsigned thread) {
    uint64_t due;
    note_begin();
    if (options.trace.rows && trace_due >= options.trace.count) return LOAD_NEVER;
    if (options.trace.rows && options.trace_speed > 0) {
        const struct trace_row *rows = options.trace.rows;
        double since_s = rows[trace_due].time_s - rows[0].time_s;
        due = (uint64_t)(since_s / options.trace_speed * 1e9);
    } else {
        due = arrivals_next(&options.arrivals, &chance);
    }
    trace_due += options.pipeline;
    return due >= (uint64_t)(options.seconds * 1e9) ? LOAD_NEVER : (int64_t)due;
}

static bool next_herd(void *unused, unsigned thread, unsigned most, struct load_batch *to) {
    *to = lone_batch((struct request){.key = read_key()});
    return true;
}

static int64_t due_herd(void *unused, unsigned thread) {
    uint64_t inside = herd_due % options.herd_connections;
    uint64_t wave = herd_due++ / options.herd_connections;
    uint64_t at = (uint64_t)((options.herd_at_s + (double)wave * options.herd_every_s) * 1e9) +
                  options.herd_spread_msec * 1000000u * inside / options.herd_connections;
    bool ends = (wave && options.herd_every_s <= 0) || at >= (uint64_t)(options.seconds * 1e9);
    return ends ? LOAD_NEVER : (int64_t)at;
}

static bool next_ping(void *unused, unsigned thread, unsigned most, struct load_batch *to) {
    *to = lone_batch((struct request){.operation = OP_PING});
    return true;
}

static int64_t due_ping(void *unused, unsigned thread) {
    int64_t due = next_probe;
    next_probe += (int64_t)(options.probe_msec * 1e6);
    return due;
}

/* INFO is not asked again before its answer. */
static bool next_sample(void *unused, unsigned thread, unsigned most, struct load_batch *to) {
    if (!info_is_asked) *to = lone_batch((struct request){.operation = OP_INFO});
    info_is_asked = true;
    return true;
}

static int64_t due_sample(void *unused, unsigned thread) {
    int64_t due = next_info;
    next_info += (int64_t)options.info_msec * 1000000;
    return due;
}

/* ---- what comes back ---- */

static void record_end(const struct load_answer *answer, unsigned operation, enum stream stream) {
    static const enum result results[] = {[LOAD_OK] = RESULT_OK,
                                          [LOAD_NIL] = RESULT_MISS,
                                          [LOAD_ZERO] = RESULT_MISS,
                                          [LOAD_ERROR] = RESULT_ERROR,
                                          [LOAD_OOM] = RESULT_OOM,
                                          [LOAD_LOST] = RESULT_LOST,
                                          [LOAD_UNANSWERED] = RESULT_UNANSWERED};
    int64_t latency = (answer->answered_nsec - answer->due_nsec) / 1000;
    int64_t late = answer->late_nsec / 1000;
    struct record record = {.due_usec = (uint32_t)(answer->due_nsec / 1000),
                            .latency_usec = latency > UINT32_MAX ? UINT32_MAX : (uint32_t)latency,
                            .late_usec = late > UINT32_MAX ? UINT32_MAX : (uint32_t)late,
                            .operation = (uint8_t)operation,
                            .result = (uint8_t)results[answer->outcome],
                            .stream = (uint8_t)stream};
    output_record(&record);
}

static void fill_miss(const struct load_answer *answer, uint64_t key) {
    struct request fill = {.key = key, .operation = OP_SET};
    if (options.trace.rows && options.trace.rows[key].ttl_s)
        fill.deadline_msec = load_realtime_msec() + options.trace.rows[key].ttl_s * 1000ull;
    struct batch *batch = take_batch();
    put_into(batch, &fill);
    batch->is_fill = true;
    struct load_batch ready = ready_batch(batch);
    if (!load_follow(answer, &ready)) give_batch_back(batch);
}

static void note_answered(const struct load_answer *answer, const struct request *request) {
    bool is_set = request->operation == OP_SET || request->operation == OP_EX;
    if (answer->outcome == LOAD_OK) {
        if (request->is_new) sets_new++;
        if (is_set && request->deadline_msec) output_deadline(request->deadline_msec);
        if (request->operation == OP_DEL || request->operation == OP_UNLINK) deleted++;
    }
}

/* Of the main stream, the herd and the probe; the context is the stream's number. */
static void take_answer(void *context, unsigned thread, const struct load_answer *answer) {
    enum stream stream = *(const enum stream *)context;
    struct batch *batch = (struct batch *)answer->about;
    if (stream == STREAM_PROBE && answer->outcome == LOAD_LOST)
        load_fail("the server closed the connection of the probe");
    if (!batch) { /* never sent */
        for (unsigned i = 0; i < answer->count; i++) record_end(answer, OP_GET, stream);
        return;
    }
    if (batch->is_fill) stream = STREAM_MISS;
    for (unsigned i = answer->first; i < answer->first + answer->count; i++) {
        struct request request = batch->requests[i];
        record_end(answer, request.operation, stream);
        note_answered(answer, &request);
        if (answer->outcome == LOAD_NIL && request.operation == OP_GET && options.fill_misses &&
            stream == STREAM_LOAD)
            fill_miss(answer, request.key);
    }
    batch->left -= answer->count;
    if (!batch->left) give_batch_back(batch);
}

static void take_info(void *unused, unsigned thread, const struct load_answer *answer) {
    if (answer->outcome == LOAD_LOST) load_fail("the server closed the connection of INFO");
    info_is_asked = false;
    give_batch_back((struct batch *)answer->about);
    if (answer->outcome != LOAD_OK) return;
    uint64_t now_msec = load_realtime_msec();
    struct info_sample sample = {.at_usec = (uint64_t)answer->answered_nsec / 1000,
                                 .now_msec = now_msec,
                                 .sets_new = sets_new,
                                 .deleted = deleted,
                                 .deadlines_passed = output_deadlines_passed(now_msec)};
    info_text[info_length] = 0;
    output_info(&sample, info_text, options.info_fields);
    info_length = 0;
}

static void take_info_body(void *unused, unsigned thread, struct slice bytes) {
    if (info_length + bytes.length > INFO_BYTES_MAX) return;
    memcpy(info_text + info_length, bytes.bytes, bytes.length);
    info_length += bytes.length;
}

/* Called four times a second. */
static void watch_server(void *unused, const struct load_progress *progress) {
    if (progress->refused) load_fail("the server is gone");
}

/* ---- slow readers ---- */

static void count_slow(void *unused, struct load_connection *c, const struct load_flight *flight,
                       unsigned count, enum scanned kind) {
    ((struct slow_reader *)c)->pending -= count;
}

/* Reads at most so many bytes of what a slow reader is sent. A connection that is lost is made
 * anew. */
static void read_slow(struct slow_reader *s, size_t most, bool begins) {
    const struct load_reader reader = {
        .buffer = load_read_buffer, .room = most, .answered = count_slow};
    struct load_connection *c = &s->connection;
    char reason[LOAD_REASON_CHARS];
    struct load_target *target = &slow_targets[s->number % options.databases];
    if (load_connection_advance(c, target, -1, EPOLLIN, &reader, reason)) return;
    if (begins || c->state == LOAD_CONNECTING) load_fail("%s", reason);
    slow_lost++;
    s->pending = 0;
    load_connection_close(c);
    if (!load_connection_connect(c, target, -1, reason)) load_fail("%s", reason);
}

/* A slow reader comes to have a pipeline of GETs under way and reads a trickle of the replies. */
static void slow_tick(void *unused, int64_t now) {
    size_t most = options.slow_bytes_per_s * SLOW_TICK_NSEC / 1000000000u;
    unsigned requests = 0;
    if ((double)now < options.slow_at_s * 1e9) return;
    for (uint64_t i = 0; i < options.slow_readers; i++) {
        struct slow_reader *s = &slow_readers[i];
        struct load_connection *c = &s->connection;
        read_slow(s, most < READ_BYTES ? most ? most : 1 : READ_BYTES, false);
        if (c->state != LOAD_OPEN || c->greeting_left || c->unsent.length ||
            s->pending >= options.slow_pipeline || requests >= SLOW_REQUESTS_MAX)
            continue;
        unsigned count = 0;
        for (scratch_length = 0; s->pending + count < options.slow_pipeline; count++) {
            if (requests++ >= SLOW_REQUESTS_MAX) break;
            put_recorded_request(&(struct request){.key = read_key()});
        }
        if (!count) continue;
        const struct load_batch batch = {.bytes = {scratch, scratch_length}, .replies = count};
        s->pending += count;
        /* A write that fails is found by the next read. */
        bool unused_result = load_connection_send(c, -1, &batch, now, now, 0);
        (void)unused_result;
    }
}

/* Connects all of them, before the load begins. */
static void open_slow_readers(void) {
    char reason[LOAD_REASON_CHARS];
    slow_readers = load_grow(NULL, (options.slow_readers + 1) * sizeof(*slow_readers));
    load_connection_allow(options.slow_readers);
    for (uint64_t i = 0; i < options.slow_readers; i++) {
        struct slow_reader *s = &slow_readers[i];
        s->pending = 0;
        s->number = (uint32_t)i;
        load_connection_init(&s->connection);
        if (!load_connection_connect(&s->connection, &slow_targets[i % options.databases], -1,
                                     reason))
            load_fail("%s", reason);
        for (uint64_t end = load_now_nsec() + SILENCE_NSEC_MAX;
             !load_connection_is_ready(&s->connection);) {
            poll(NULL, 0, 1);
            read_slow(s, READ_BYTES, true);
            if (load_now_nsec() > end) load_fail("the server does not answer SELECT");
        }
    }
}

/* ---- the run ---- */

/* Connections select the databases in turn. */
static void init_targets(void) {
    targets = load_grow(NULL, options.databases * sizeof(*targets));
    slow_targets = load_grow(NULL, options.databases * sizeof(*slow_targets));
    for (uint64_t i = 0; i < options.databases; i++) {
        targets[i] = options.target;
        if (options.databases > 1) {
            char *text = load_grow(NULL, GREETING_BYTES), *end = wire_put_head(text, 2);
            end = wire_put_word(end, "SELECT", 6);
            end = wire_put_number_word(end, i);
            targets[i].greeting = (struct slice){text, (size_t)(end - text)};
            targets[i].greeting_replies = 1;
        }
        slow_targets[i] = targets[i];
        slow_targets[i].address.receive_bytes = SLOW_SOCKET_BYTES;
    }
}

static const enum stream stream_numbers[] = {STREAM_LOAD, STREAM_HERD, STREAM_PROBE};

/* Fills in the streams of the run; returns their number. */
static unsigned list_streams(struct load_stream streams[4]) {
    unsigned count = 0;
    streams[count++] = (struct load_stream){
        .targets = targets,
        .target_count = (unsigned)options.databases,
        .source = {options.closed ? NULL : due_main, next_main, NULL},
        .sink = {take_answer, NULL, (void *)&stream_numbers[0]},
        .connections = (unsigned)options.connections,
        .pipeline = (unsigned)options.pipeline,
        .requests = options.requests,
        .pick = options.lifo ? LOAD_PICK_LAST : LOAD_PICK_RANDOM,
        .renew_nsec = options.reconnects_per_s > 0 ? (int64_t)(1e9 / options.reconnects_per_s) : 0,
        .tolerates = true};
    struct load_stream beside = {.targets = targets,
                                 .target_count = 1,
                                 .connections = 1,
                                 .pipeline = 1,
                                 .pick = LOAD_PICK_IN_TURN,
                                 .tolerates = true};
    if (options.herd_connections) {
        streams[count] = beside;
        streams[count].target_count = (unsigned)options.databases;
        streams[count].connections = (unsigned)options.herd_connections;
        streams[count].source = (struct load_source){due_herd, next_herd, NULL};
        streams[count++].sink = (struct load_sink){take_answer, NULL, (void *)&stream_numbers[1]};
    }
    beside.targets = &options.target;
    if (options.probe_msec > 0) {
        streams[count] = beside;
        streams[count].source = (struct load_source){due_ping, next_ping, NULL};
        streams[count++].sink = (struct load_sink){take_answer, NULL, (void *)&stream_numbers[2]};
    }
    if (options.info_msec) {
        streams[count] = beside;
        streams[count].source = (struct load_source){due_sample, next_sample, NULL};
        streams[count++].sink = (struct load_sink){take_info, take_info_body, NULL};
    }
    return count;
}

static void print_recorded(uint64_t end) {
    const struct load_late_figures *late = &result.late;
    double share = late->handled ? (double)late->own_late / (double)late->handled : 0;
    printf("{\"started_monotonic_nsec\": %" PRId64 ", \"started_msec\": %" PRIu64 ", ",
           result.began_nsec, start_realtime_msec);
    printf("\"seconds\": %.6f, \"cpu_seconds\": %.3f, \"run_queue_wait_seconds\": %.6f, ",
           (double)(end - (uint64_t)result.began_nsec) / 1e9, load_cpu_seconds(),
           (double)late->waited_nsec / 1e9);
    printf("\"late\": {\"handled\": %" PRIu64 ", \"above_5ms\": %" PRIu64
           ", \"own_above_5ms\": %" PRIu64 ", \"most_usec\": %" PRId64
           ", \"own_most_usec\": %" PRId64 ", \"own_share\": %.6f, \"repeat\": %s}, ",
           late->handled, late->late, late->own_late, late->most_nsec / 1000,
           late->own_most_nsec / 1000, share, share > LATE_SHARE_MAX ? "true" : "false");
    printf("\"sets_new\": %" PRIu64 ", \"deleted\": %" PRIu64 ", \"key_low\": %" PRIu64
           ", \"key_high\": %" PRIu64 ", ",
           sets_new, deleted, key_low, key_high);
    printf("\"reconnects\": %" PRIu64 ", \"lost_connections\": %" PRIu64
           ", \"waiting_most\": %" PRIu64 ", ",
           result.renewed, result.lost + slow_lost, result.most_waiting);
    output_summary(stdout);
    printf("}\n");
}

void load_record(void) {
    struct load_stream streams[4];
    draw_init(&chance, options.seed);
    if (options.zipf_exponent > 0)
        zipf_init(&zipf, options.get_keys ? options.get_keys : options.keys, options.zipf_exponent);
    key_low = options.first_key;
    key_high = key_low + options.held_keys;
    filler = load_filler(VALUE_BYTES_MAX);
    init_targets();
    open_slow_readers();
    const struct load load = {.streams = streams,
                              .stream_count = list_streams(streams),
                              .threads = 1,
                              .duration_nsec = (int64_t)(options.seconds * 1e9),
                              .drain_nsec = (int64_t)(options.drain_s * 1e9),
                              .seed = options.seed,
                              .watch = watch_server,
                              .tick = options.slow_readers ? slow_tick : NULL,
                              .tick_nsec = SLOW_TICK_NSEC};
    if (!load_run(&load, &result)) load_fail("%s", result.reason);
    uint64_t end = load_now_nsec();
    if (options.out && !output_write(options.out, options.info_fields))
        load_fail("%s cannot be written", options.out);
    print_recorded(end);
}
