/* SPDX-License-Identifier: BSD-3-Clause
 * The load's open loop: requests on a schedule over thousands of connections, each recorded.
 *
 * Idea. Requests have moments at which they are due, drawn before anything is known of the server
 * (draw.h). At its moment a request takes an idle connection; where none is idle it waits in line.
 * Its latency counts from the due moment, so that a stall is charged to every request that it
 * delayed and not only to those that were under way.
 *
 *   due ----> idle connection ----> sent ----> answered: latency = answered - due
 *     \-----> line of waiting arrivals --^
 *
 * Besides the main stream of requests there can be: a herd (connections that stay idle until a
 * moment at which each sends one request), slow readers (they ask for more than they read), a probe
 * (PINGs on a connection of its own, on schedule, never waiting for the last), INFO samples (one at
 * a time), and reconnects. With --arrivals closed there is no schedule: every connection sends
 * again when it is answered, which fills a server or finds what it can do.
 *
 * The load's own lateness is measured too: how long after its due moment an arrival was handled. Of
 * that the time is taken off that the kernel says this thread waited for a processor
 * (/proc/thread-self/schedstat, sampled every 10 ms); what is left is the load's own fault.
 *
 * Invariants:
 *  1. A worker is in `idle` exactly while it is connected and has no request under way.
 *  2. Requests are answered in the order in which they stand in their connection's ring.
 *  3. Arrivals wait only while `idle` is empty.
 *  4. Every request of the run has one record: answered, lost with its connection, or unanswered
 *     when the time to drain is over (its latency is then what it had waited so far).
 *
 * README.md describes the files that it leaves.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "load.h"
#include "net.h"
#include "output.h"
#include "peer/reply_scan.h"
#include "wire.h"

/* A turn reads less than it may send: else arrivals would fall behind while replies pour in. */
#define EVENTS_MAX 64
#define SENDS_PER_TURN_MAX 128
#define ON_TIME_NSEC 1000000u
#define SLOW_TICK_NSEC 10000000u
#define SLOW_REQUESTS_MAX 2000 /* a tick: pipelines of thousands take their time to write */
#define SLOW_SOCKET_BYTES 4096 /* so that what is not read stays on the server's side */
#define WAIT_SAMPLE_NSEC 10000000u
#define WAIT_SAMPLES 4096 /* 40 s back */
#define LATE_USEC_MAX 5000
#define NEVER UINT64_MAX
#define INFO_BYTES_MAX (1u << 20)
#define SCATTER 2654435761u /* a prime: multiplied by it, ranks spread over the keys */
#define SILENCE_NSEC_MAX (120u * 1000000000ull)

enum role { ROLE_WORKER, ROLE_HERD, ROLE_SLOW, ROLE_PROBE, ROLE_INFO };

struct request {
    uint64_t due_nsec, key, deadline_msec, field;
    uint32_t late_usec;
    uint8_t operation, stream;
    bool is_new;
};

struct connection {
    int fd;
    enum role role;
    bool wants_write;
    uint32_t number;
    uint32_t head, count, room; /* of the ring `requests`; room is a power of two */
    struct request *requests;
    char *rest; /* what the socket did not take, or NULL */
    size_t rest_length, rest_sent;
    struct reply_scanner reader;
};

struct arrival {
    uint64_t due_nsec;
    uint32_t late_usec;
};

static struct connection *connections;
static struct connection **idle;
static struct arrival *waiting; /* a ring */
static uint64_t waiting_head, waiting_count, waiting_room, waiting_most;
static uint64_t connection_count, idle_count;
static struct connection *probe, *info;
static int poller;
static struct draw chance;
static struct zipf zipf;
static char *scratch, *filler;
static size_t scratch_length, scratch_room;
static char info_text[INFO_BYTES_MAX + 1];
static size_t info_length;

/* Keys low..high-1 are the window; a new key is `high`. */
static uint64_t key_low, key_high;
static size_t trace_next;
static uint64_t sets_new, deleted, issued, in_flight;
static uint64_t fields_next; /* of all hashes, where they are filled in turn */
static uint64_t start_nsec, start_realtime_msec;
static bool sending; /* from the beginning of the schedule to its end */
static uint64_t next_arrival, next_herd, next_probe, next_info, next_slow, next_reconnect;
static uint64_t herd_sent, reconnects, lost_connections;
static uint64_t late_count, late_own_count, late_most_usec, late_own_most_usec, handled_count;

static struct { uint64_t at_nsec, waited_nsec; } wait_samples[WAIT_SAMPLES];
static uint64_t wait_sample_count, on_time_nsec;
static int schedstat_fd;

/* ---- own lateness ---- */

/* Nanoseconds that this thread stood runnable without a processor, since it began. */
static uint64_t own_waited_nsec(void) {
    char text[96];
    ssize_t n = pread(schedstat_fd, text, sizeof(text) - 1, 0);
    if (n <= 0) return 0;
    text[n] = 0;
    char *blank = strchr(text, ' ');
    return blank ? strtoull(blank, NULL, 10) : 0;
}

static void sample_wait(uint64_t now) {
    uint64_t last = wait_sample_count ? (wait_sample_count - 1) % WAIT_SAMPLES : 0;
    if (wait_sample_count && now < wait_samples[last].at_nsec + WAIT_SAMPLE_NSEC) return;
    uint64_t slot = wait_sample_count++ % WAIT_SAMPLES;
    wait_samples[slot].at_nsec = now;
    wait_samples[slot].waited_nsec = own_waited_nsec();
}

/* The run-queue wait from the last sample before `since` on, up to now. */
static uint64_t waited_since(uint64_t since) {
    uint64_t back = wait_sample_count < WAIT_SAMPLES ? wait_sample_count : WAIT_SAMPLES;
    uint64_t before = 0;
    for (uint64_t i = 1; i <= back; i++) {
        uint64_t slot = (wait_sample_count - i) % WAIT_SAMPLES;
        before = wait_samples[slot].waited_nsec;
        if (wait_samples[slot].at_nsec <= since) break;
    }
    return own_waited_nsec() - before;
}

/* Notes how late an arrival is handled; returns it in microseconds. What waits for a processor took
 * since the load was last on time explains the lateness: a backlog outlives the wait that made it.
 */
static uint32_t note_lateness(uint64_t due, uint64_t now) {
    uint64_t late = now > due ? (now - due) / 1000 : 0;
    handled_count++;
    if (now <= due + ON_TIME_NSEC) on_time_nsec = now;
    if (late > late_most_usec) late_most_usec = late;
    if (late > LATE_USEC_MAX) {
        uint64_t since = due < on_time_nsec ? due : on_time_nsec;
        uint64_t waited = waited_since(since) / 1000;
        uint64_t own = late > waited ? late - waited : 0;
        late_count++;
        if (own > LATE_USEC_MAX) late_own_count++;
        if (own > late_own_most_usec) late_own_most_usec = own;
    }
    return late > UINT32_MAX ? UINT32_MAX : (uint32_t)late;
}

/* ---- rings ---- */

static struct request *request_at(struct connection *c, uint32_t i) {
    return &c->requests[(c->head + i) & (c->room - 1)];
}

static void request_push(struct connection *c, const struct request *request) {
    if (c->count == c->room) {
        uint32_t room = c->room ? 2 * c->room : 1;
        struct request *grown = load_grow(NULL, room * sizeof(*grown));
        for (uint32_t i = 0; i < c->count; i++) grown[i] = *request_at(c, i);
        free(c->requests);
        c->requests = grown;
        c->room = room;
        c->head = 0;
    }
    c->count++;
    *request_at(c, c->count - 1) = *request;
    if (request->stream != STREAM_UNSEEN) in_flight++;
}

static void waiting_push(struct arrival arrival) {
    if (waiting_count == waiting_room) {
        uint64_t room = waiting_room ? 2 * waiting_room : 1024;
        struct arrival *grown = load_grow(NULL, room * sizeof(*grown));
        for (uint64_t i = 0; i < waiting_count; i++)
            grown[i] = waiting[(waiting_head + i) % waiting_room];
        free(waiting);
        waiting = grown;
        waiting_room = room;
        waiting_head = 0;
    }
    waiting[(waiting_head + waiting_count++) % waiting_room] = arrival;
    if (waiting_count > waiting_most) waiting_most = waiting_count;
}

static struct arrival waiting_pop(void) {
    struct arrival first = waiting[waiting_head];
    waiting_head = (waiting_head + 1) % waiting_room;
    waiting_count--;
    return first;
}

static struct connection *idle_pop(void) {
    uint64_t i = options.lifo ? idle_count - 1 : draw_below(&chance, idle_count);
    struct connection *c = idle[i];
    idle[i] = idle[--idle_count];
    return c;
}

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

static void connection_watch(struct connection *c, bool wants_write) {
    uint32_t in = c->role == ROLE_SLOW ? 0 : EPOLLIN;
    net_watch(poller, c->fd, in | (wants_write ? EPOLLOUT : 0), c);
    c->wants_write = wants_write;
}

/* Sends as much as the socket takes; returns the bytes. A connection that is gone takes all: the
 * loop finds it closed and records what was under way as lost. */
static size_t send_some(struct connection *c, const char *bytes, size_t length) {
    size_t sent = net_send(c->fd, bytes, length);
    return sent == NET_GONE ? length : sent;
}

/* Sends what stands in `scratch` behind what the socket did not take yet. */
static void send_scratch(struct connection *c) {
    size_t sent = c->rest ? 0 : send_some(c, scratch, scratch_length);
    size_t left = scratch_length - sent;
    if (left) {
        c->rest = load_grow(c->rest, c->rest_length + left);
        memcpy(c->rest + c->rest_length, scratch + sent, left);
        c->rest_length += left;
        if (!c->wants_write) connection_watch(c, true);
    }
    scratch_length = 0;
}

static void send_rest_of(struct connection *c) {
    c->rest_sent += send_some(c, c->rest + c->rest_sent, c->rest_length - c->rest_sent);
    if (c->rest_sent < c->rest_length) return;
    free(c->rest);
    c->rest = NULL;
    c->rest_length = c->rest_sent = 0;
    connection_watch(c, false);
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

/* Whether the main stream has given all its requests. */
static bool is_exhausted(void) {
    return (options.requests && issued >= options.requests) ||
           (options.trace.rows && trace_next >= options.trace.count);
}

static void start_batch(struct connection *c, struct arrival arrival) {
    for (uint64_t i = 0; i < options.pipeline && !is_exhausted(); i++) {
        struct request request = {
            .due_nsec = arrival.due_nsec, .late_usec = arrival.late_usec, .stream = STREAM_LOAD};
        if (options.trace.rows)
            trace_request(&request);
        else
            draw_request(&request);
        put_recorded_request(&request);
        request_push(c, &request);
        issued++;
    }
    send_scratch(c);
}

static void send_one(struct connection *c, struct request request) {
    put_recorded_request(&request);
    request_push(c, &request);
    send_scratch(c);
}

/* A worker that has nothing under way takes the next arrival, or rests. */
static void worker_rest(struct connection *c, uint64_t now) {
    if (is_exhausted()) waiting_count = 0;
    if (waiting_count)
        start_batch(c, waiting_pop());
    else if (options.closed && sending && !is_exhausted())
        start_batch(c, (struct arrival){.due_nsec = now});
    else
        idle[idle_count++] = c;
}

/* ---- what comes back ---- */

static void record_end(const struct request *request, enum result result, uint64_t now) {
    if (request->stream == STREAM_UNSEEN) return;
    in_flight--;
    uint64_t latency = now > request->due_nsec ? (now - request->due_nsec) / 1000 : 0;
    struct record record = {.due_usec = (uint32_t)((request->due_nsec - start_nsec) / 1000),
                            .latency_usec = latency > UINT32_MAX ? UINT32_MAX : (uint32_t)latency,
                            .late_usec = request->late_usec,
                            .operation = request->operation,
                            .result = (uint8_t)result,
                            .stream = request->stream};
    output_record(&record);
}

static void take_info(void) {
    uint64_t now_msec = load_realtime_msec();
    struct info_sample sample = {.at_usec = (load_now_nsec() - start_nsec) / 1000,
                                 .now_msec = now_msec,
                                 .sets_new = sets_new,
                                 .deleted = deleted,
                                 .deadlines_passed = output_deadlines_passed(now_msec)};
    info_text[info_length] = 0;
    output_info(&sample, info_text, options.info_fields);
    info_length = 0;
}

static void request_answered(struct connection *c, enum scanned kind, uint64_t now) {
    static const enum result results[] = {[SCANNED_OK] = RESULT_OK,
                                          [SCANNED_NIL] = RESULT_MISS,
                                          [SCANNED_ZERO] = RESULT_MISS,
                                          [SCANNED_ERROR] = RESULT_ERROR,
                                          [SCANNED_OOM] = RESULT_OOM};
    struct request request = *request_at(c, 0);
    c->head = (c->head + 1) & (c->room - 1);
    c->count--;
    record_end(&request, results[kind], now);
    if (kind == SCANNED_OK) {
        bool is_set = request.operation == OP_SET || request.operation == OP_EX;
        if (request.is_new) sets_new++;
        if (is_set && request.deadline_msec) output_deadline(request.deadline_msec);
        if (request.operation == OP_DEL || request.operation == OP_UNLINK) deleted++;
    }
    if (request.operation == OP_INFO) take_info();
    if (kind == SCANNED_NIL && request.operation == OP_GET && options.fill_misses &&
        request.stream == STREAM_LOAD) {
        struct request fill = {
            .due_nsec = now, .key = request.key, .operation = OP_SET, .stream = STREAM_MISS};
        if (options.trace.rows && options.trace.rows[request.key].ttl_s)
            fill.deadline_msec =
                load_realtime_msec() + options.trace.rows[request.key].ttl_s * 1000ull;
        send_one(c, fill);
    }
}

static void connection_reopen(struct connection *c);

static void connection_lost(struct connection *c, uint64_t now) {
    if (c->role == ROLE_PROBE || c->role == ROLE_INFO)
        load_fail("the server closed the connection of the probe or of INFO");
    lost_connections++;
    for (uint64_t i = 0; c->count == 0 && i < idle_count; i++) {
        if (idle[i] != c) continue;
        idle[i] = idle[--idle_count];
        break;
    }
    for (uint32_t i = 0; i < c->count; i++) record_end(request_at(c, i), RESULT_LOST, now);
    c->count = 0;
    connection_reopen(c);
    if (c->role == ROLE_WORKER && c->count == 0) worker_rest(c, now);
}

/* Takes at most `most` bytes from the socket. */
static void receive_recorded(struct connection *c, size_t most) {
    ssize_t n = recv(c->fd, load_read_buffer, most, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    uint64_t now = load_now_nsec();
    if (n < 0 && errno == ECONNREFUSED) load_fail("the server is gone");
    if (n <= 0) {
        connection_lost(c, now);
        return;
    }
    bool was_busy = c->count > 0;
    const char *at = load_read_buffer, *end = load_read_buffer + n;
    while (at < end) {
        struct slice body;
        bool sound = true;
        enum scanned kind = reply_scan(&c->reader, &at, end, &body, &sound);
        if (!sound) load_fail("a reply that begins with byte %d", (unsigned char)at[-1]);
        if (c->role == ROLE_INFO && info_length + body.length <= INFO_BYTES_MAX) {
            memcpy(info_text + info_length, body.bytes, body.length);
            info_length += body.length;
        }
        if (kind == SCANNED_NONE) continue;
        if (!c->count) load_fail("a reply that nobody asked for");
        request_answered(c, kind, now);
    }
    if (was_busy && c->count == 0 && c->role == ROLE_WORKER) worker_rest(c, now);
}

/* ---- connections ---- */

static void connection_open(struct connection *c) {
    bool is_slow = c->role == ROLE_SLOW;
    /* While it runs the load must not wait for a server that stands still. */
    c->fd = net_open(&options.target, c->number, is_slow ? SLOW_SOCKET_BYTES : 0, !start_nsec);
    net_watch_new(poller, c->fd, is_slow ? 0 : EPOLLIN, c);
    bool selects = c->role == ROLE_WORKER || c->role == ROLE_HERD || c->role == ROLE_SLOW;
    if (options.databases > 1 && selects) {
        struct request select = {
            .key = c->number % options.databases, .operation = OP_SELECT, .stream = STREAM_UNSEEN};
        send_one(c, select);
    }
}

static void connection_reopen(struct connection *c) {
    close(c->fd); /* which takes it out of the poller too */
    free(c->rest);
    c->rest = NULL;
    c->rest_length = c->rest_sent = 0;
    c->wants_write = false;
    c->reader = (struct reply_scanner){0};
    connection_open(c);
}

static struct connection *connections_add(enum role role, uint64_t count) {
    struct connection *first = &connections[connection_count];
    for (uint64_t i = 0; i < count; i++) {
        struct connection *c = &connections[connection_count];
        *c = (struct connection){.role = role, .number = (uint32_t)connection_count++};
        connection_open(c);
        if (role == ROLE_WORKER && c->count == 0) idle[idle_count++] = c;
    }
    return first;
}

/* ---- slow readers ---- */

/* A slow reader comes to have a pipeline of GETs under way and reads a trickle of the replies. */
static void slow_tick(void) {
    size_t most = options.slow_bytes_per_s * SLOW_TICK_NSEC / 1000000000u;
    int requests = 0;
    for (uint64_t i = 0; i < connection_count; i++) {
        struct connection *c = &connections[i];
        if (c->role != ROLE_SLOW) continue;
        if (c->count > 0) receive_recorded(c, most < READ_BYTES ? most ? most : 1 : READ_BYTES);
        if (c->rest || c->count >= options.slow_pipeline || requests >= SLOW_REQUESTS_MAX) continue;
        while (c->count < options.slow_pipeline && requests++ < SLOW_REQUESTS_MAX) {
            struct request request = {.key = read_key(), .stream = STREAM_UNSEEN};
            put_recorded_request(&request);
            request_push(c, &request);
        }
        send_scratch(c);
    }
}

/* ---- the schedule ---- */

static void reconnect_one(uint64_t now) {
    if (!idle_count) return;
    struct connection *c = idle_pop();
    reconnects++;
    connection_reopen(c);
    if (c->count == 0) worker_rest(c, now);
}

static void handle_arrival(uint64_t due, uint64_t now) {
    struct arrival arrival = {.due_nsec = due, .late_usec = note_lateness(due, now)};
    if (idle_count)
        start_batch(idle_pop(), arrival);
    else
        waiting_push(arrival);
}

/* The next moment of the main stream, or NEVER when it is over. */
static uint64_t arrival_after(void) {
    if (options.closed) return NEVER;
    uint64_t due;
    if (options.trace.rows && options.trace_speed > 0) {
        if (trace_next + waiting_count >= options.trace.count) return NEVER;
        const struct trace_row *rows = options.trace.rows;
        double since_s = rows[trace_next + waiting_count].time_s - rows[0].time_s;
        due = (uint64_t)(since_s / options.trace_speed * 1e9);
    } else {
        due = arrivals_next(&options.arrivals, &chance);
    }
    return due >= (uint64_t)(options.seconds * 1e9) ? NEVER : start_nsec + due;
}

static void herd_step(uint64_t now) {
    struct connection *first = &connections[options.connections];
    struct connection *c = &first[herd_sent % options.herd_connections];
    struct request request = {.due_nsec = next_herd,
                              .key = read_key(),
                              .late_usec = note_lateness(next_herd, now),
                              .stream = STREAM_HERD};
    send_one(c, request);
    herd_sent++;
    uint64_t inside = herd_sent % options.herd_connections;
    uint64_t wave = herd_sent / options.herd_connections;
    uint64_t at = (uint64_t)((options.herd_at_s + (double)wave * options.herd_every_s) * 1e9) +
                  options.herd_spread_msec * 1000000u * inside / options.herd_connections;
    bool ends = (wave && options.herd_every_s <= 0) || at >= (uint64_t)(options.seconds * 1e9);
    next_herd = ends ? NEVER : start_nsec + at;
}

static void probe_step(void) {
    struct request ping = {.due_nsec = next_probe, .operation = OP_PING, .stream = STREAM_PROBE};
    ping.late_usec = note_lateness(next_probe, load_now_nsec());
    send_one(probe, ping);
    next_probe += (uint64_t)(options.probe_msec * 1e6);
}

/* What comes beside the main stream, one step each. */
static void do_others(uint64_t now) {
    if (next_probe <= now) probe_step();
    if (next_info <= now) {
        struct request ask = {.due_nsec = now, .operation = OP_INFO, .stream = STREAM_UNSEEN};
        if (info->count == 0) send_one(info, ask);
        next_info += options.info_msec * 1000000u;
    }
    if (next_slow <= now) {
        slow_tick();
        next_slow += SLOW_TICK_NSEC;
    }
    if (next_reconnect <= now) {
        reconnect_one(now);
        next_reconnect += (uint64_t)(1e9 / options.reconnects_per_s);
    }
}

/* Does what is due, a bounded part of it, and returns the moment of the next thing to do. */
static uint64_t do_due(uint64_t now) {
    for (int sends = 0; sends < SENDS_PER_TURN_MAX;) {
        bool arrives = next_arrival <= now, herds = next_herd <= now;
        sends += (arrives && idle_count) + herds;
        if (arrives) {
            handle_arrival(next_arrival, load_now_nsec());
            next_arrival = is_exhausted() ? NEVER : arrival_after();
        }
        if (herds) herd_step(load_now_nsec());
        if (next_probe <= now || next_info <= now || next_slow <= now || next_reconnect <= now)
            do_others(now);
        if (!arrives && !herds) break;
    }
    sample_wait(now);
    uint64_t next = now + WAIT_SAMPLE_NSEC;
    const uint64_t moments[] = {next_arrival, next_herd,      next_probe, next_info,
                                next_slow,    next_reconnect, next};
    for (unsigned i = 0; i < sizeof(moments) / sizeof(moments[0]); i++)
        if (moments[i] < next) next = moments[i];
    return next;
}

static void wait_and_read(uint64_t until) {
    struct epoll_event events[EVENTS_MAX];
    uint64_t now = load_now_nsec(), left = until > now ? until - now : 0;
    struct timespec patience = {.tv_sec = (time_t)(left / 1000000000u),
                                .tv_nsec = (long)(left % 1000000000u)};
    int n = epoll_pwait2(poller, events, EVENTS_MAX, &patience, NULL);
    if (n < 0 && errno != EINTR) load_fail("epoll: %s", strerror(errno));
    for (int i = 0; i < n; i++) {
        struct connection *c = events[i].data.ptr;
        if (c->wants_write && events[i].events & EPOLLOUT) send_rest_of(c);
        if (c->role == ROLE_SLOW && events[i].events & (EPOLLHUP | EPOLLERR))
            connection_lost(c, load_now_nsec());
        else if (events[i].events & ~(uint32_t)EPOLLOUT)
            receive_recorded(c, READ_BYTES);
    }
}

/* All that connecting asked for is answered before the run begins. */
static void await_setup(void) {
    for (uint64_t i = 0, end = load_now_nsec() + SILENCE_NSEC_MAX; i < connection_count;) {
        if (connections[i].count == 0) {
            i++;
            continue;
        }
        if (connections[i].role == ROLE_SLOW) receive_recorded(&connections[i], READ_BYTES);
        wait_and_read(load_now_nsec() + 1000000u);
        if (load_now_nsec() > end) load_fail("the server does not answer SELECT");
    }
}

static void schedule_begin(void) {
    start_realtime_msec = load_realtime_msec();
    output_begin(start_realtime_msec);
    start_nsec = load_now_nsec();
    sample_wait(start_nsec);
    on_time_nsec = start_nsec;
    next_arrival = arrival_after();
    next_herd = options.herd_connections ? start_nsec + (uint64_t)(options.herd_at_s * 1e9) : NEVER;
    next_probe = probe ? start_nsec : NEVER;
    next_info = info ? start_nsec : NEVER;
    next_slow = options.slow_readers ? start_nsec + (uint64_t)(options.slow_at_s * 1e9) : NEVER;
    next_reconnect = options.reconnects_per_s > 0 ? start_nsec : NEVER;
    sending = true;
    if (!options.closed) return;
    for (uint64_t n = idle_count; n; n--) worker_rest(idle[--idle_count], start_nsec);
}

static void record_run(void) {
    schedule_begin();
    uint64_t end = start_nsec + (uint64_t)(options.seconds * 1e9);
    uint64_t drained = end + (uint64_t)(options.drain_s * 1e9);
    bool draining = false;
    for (;;) {
        uint64_t now = load_now_nsec();
        /* What became due before the end is still sent when the load comes late to it. */
        bool over = (now >= end && next_arrival == NEVER) || (is_exhausted() && !waiting_count);
        if (over && !draining) {
            draining = true;
            sending = false;
            next_arrival = next_herd = next_probe = next_slow = next_reconnect = NEVER;
            if (now < end) drained = now + (uint64_t)(options.drain_s * 1e9);
        }
        if (draining && ((!in_flight && !waiting_count) || now >= drained)) break;
        wait_and_read(do_due(now));
    }
}

/* What is still open when the run is over is recorded as unanswered. */
static void record_rest(void) {
    uint64_t now = load_now_nsec();
    for (uint64_t i = 0; i < connection_count; i++)
        for (uint32_t k = 0; k < connections[i].count; k++)
            record_end(request_at(&connections[i], k), RESULT_UNANSWERED, now);
    while (waiting_count) {
        struct arrival arrival = waiting_pop();
        struct request request = {
            .due_nsec = arrival.due_nsec, .late_usec = arrival.late_usec, .stream = STREAM_LOAD};
        for (uint64_t i = 0; i < options.pipeline; i++) {
            in_flight++;
            record_end(&request, RESULT_UNANSWERED, now);
        }
    }
}

static void print_recorded(uint64_t end) {
    double share = handled_count ? (double)late_own_count / (double)handled_count : 0;
    printf("{\"started_monotonic_nsec\": %" PRIu64 ", \"started_msec\": %" PRIu64 ", ", start_nsec,
           start_realtime_msec);
    printf("\"seconds\": %.6f, \"cpu_seconds\": %.3f, \"run_queue_wait_seconds\": %.6f, ",
           (double)(end - start_nsec) / 1e9, load_cpu_seconds(), (double)own_waited_nsec() / 1e9);
    printf("\"late\": {\"handled\": %" PRIu64 ", \"above_5ms\": %" PRIu64
           ", \"own_above_5ms\": %" PRIu64 ", \"most_usec\": %" PRIu64
           ", \"own_most_usec\": %" PRIu64 ", \"own_share\": %.6f, \"repeat\": %s}, ",
           handled_count, late_count, late_own_count, late_most_usec, late_own_most_usec, share,
           share > LATE_SHARE_MAX ? "true" : "false");
    printf("\"sets_new\": %" PRIu64 ", \"deleted\": %" PRIu64 ", \"key_low\": %" PRIu64
           ", \"key_high\": %" PRIu64 ", ",
           sets_new, deleted, key_low, key_high);
    printf("\"reconnects\": %" PRIu64 ", \"lost_connections\": %" PRIu64
           ", \"waiting_most\": %" PRIu64 ", ",
           reconnects, lost_connections, waiting_most);
    output_summary(stdout);
    printf("}\n");
}

static void record_prepare(void) {
    uint64_t count = options.connections + options.herd_connections + options.slow_readers + 2;
    net_raise_descriptor_limit(count);
    prctl(PR_SET_TIMERSLACK, 1000); /* nanoseconds: sleeps end when they should */
    draw_init(&chance, options.seed);
    if (options.zipf_exponent > 0)
        zipf_init(&zipf, options.get_keys ? options.get_keys : options.keys, options.zipf_exponent);
    key_low = options.first_key;
    key_high = key_low + options.held_keys;
    filler = load_filler(VALUE_BYTES_MAX);
    connections = load_grow(NULL, count * sizeof(*connections));
    idle = load_grow(NULL, count * sizeof(struct connection *));
    schedstat_fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    poller = epoll_create1(EPOLL_CLOEXEC);
    if (poller < 0) load_fail("epoll: %s", strerror(errno));
    connections_add(ROLE_WORKER, options.connections);
    connections_add(ROLE_HERD, options.herd_connections);
    connections_add(ROLE_SLOW, options.slow_readers);
    if (options.probe_msec > 0) probe = connections_add(ROLE_PROBE, 1);
    if (options.info_msec) info = connections_add(ROLE_INFO, 1);
    await_setup();
}

void load_record(void) {
    record_prepare();
    record_run();
    uint64_t end = load_now_nsec();
    record_rest();
    if (options.out && !output_write(options.out, options.info_fields))
        load_fail("%s cannot be written", options.out);
    print_recorded(end);
}
