/* SPDX-License-Identifier: BSD-3-Clause
 * The load's closed loop: GET, SET, DEL or requests from a file over many connections, counted.
 *
 * It is one stream of src/load/: a connection has one batch under way, sends `pipeline` requests,
 * waits for as many replies, and sends the next batch. What it costs a request must stay far below
 * what the server pays, so that the server is what is measured:
 *  - a batch that never changes (one hot key) is written once;
 *  - replies are counted, not kept;
 *  - the clock is read once a batch.
 *
 * The length of a key's value and its TTL are functions of the key's number and the seed, so that
 * every server gets the same data, and a repeated SET the same size.
 *
 * With --script FILE the requests stand in the file, each after its length (4 bytes, lowest first),
 * and are sent in turn, from the start again after the last.
 *
 * With --hold yes there is no loop. Lines on the standard input drive it, and each is answered by
 * one:
 *   connect N   opens N more connections                     -> connected TOTAL
 *   send N      one batch on each of the next N of them      -> sent TOTAL
 *   receive     reads until every request is answered        -> received TOTAL
 * so that another process can stop the server, let thousands of requests arrive at once, and look
 * at the server's memory between any two of these steps.
 *
 * Every request that is sent is answered before the result is printed, so no figure has a cut tail.
 * Anything unexpected (a closed connection, a reply of another kind, a minute of silence) ends the
 * program.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <sys/epoll.h>

#include "base/key_slot.h"
#include "load.h"
#include "load/load_run.h"
#include "wire.h"

#define EVENTS_MAX 512
#define SILENCE_MSEC_MAX 60000

/* The file of --script: requests, and where each begins; one place more for the end of the last. */
static struct {
    char *bytes;
    uint64_t *starts, count, longest;
} script;

static char *filler;
static uint64_t misses, errors, value_bytes, key_counter;
static _Atomic uint64_t answers;
static char first_error[REPLY_SCAN_ERROR_CHARS];
static struct draw chance;

/* ---- what is sent ---- */

static bool key_is_in_slots(uint64_t key) {
    char text[WIRE_TEXT_BYTES_MAX + WIRE_KEY_BYTES_MIN];
    const char *end = wire_put_key(text, key, WIRE_KEY_BYTES_MIN) - strlen("\r\n");
    return key_slot_of((struct slice){end - WIRE_KEY_BYTES_MIN, WIRE_KEY_BYTES_MIN}) <
           options.slots;
}

/* The next key in turn whose slot is wanted. There are more of them than --keys says. */
static uint64_t next_key_in_slots(void) {
    uint64_t key;
    do key = options.first_key + key_counter++;
    while (!key_is_in_slots(key));
    return key;
}

static uint64_t next_key(void) {
    if (options.slots) return next_key_in_slots();
    switch (options.keyspace) {
    case KEYSPACE_HOT: return options.first_key;
    case KEYSPACE_RANDOM: return options.first_key + draw_below(&chance, options.keys);
    case KEYSPACE_SEQUENTIAL: break;
    }
    return options.first_key + key_counter++ % options.keys;
}

static char *put_counted_set(char *to, uint64_t key) {
    struct draw own;
    draw_init(&own, key ^ options.seed << 40);
    uint64_t length = size_law_draw(&options.value_bytes, &own);
    value_bytes += length;
    to = wire_put_head(to, options.ttl_s ? 5 : 3);
    to = wire_put_word(to, "SET", 3);
    to = wire_put_key(to, key, WIRE_KEY_BYTES_MIN);
    to = wire_put_word(to, filler, length);
    if (!options.ttl_s) return to;
    to = wire_put_word(to, "EX", 2);
    return wire_put_number_word(to, options.ttl_s + draw_below(&own, options.ttl_s));
}

static char *put_counted_request(char *to, uint64_t key) {
    if (script.count)
        return wire_put(to, script.bytes + script.starts[key],
                        script.starts[key + 1] - script.starts[key]);
    if (options.command == COMMAND_SET) return put_counted_set(to, key);
    to = wire_put_head(to, 2);
    to = wire_put_word(to, options.command == COMMAND_DEL ? "DEL" : "GET", 3);
    return wire_put_key(to, key, WIRE_KEY_BYTES_MIN);
}

/* The batch that was written last; one of a hot key is sent again. */
static struct {
    char *bytes;
    size_t length;
    unsigned requests;
} written;

static void write_batch(unsigned requests) {
    if (options.keyspace == KEYSPACE_HOT && written.requests == requests) return;
    char *end = written.bytes;
    for (unsigned i = 0; i < requests; i++) end = put_counted_request(end, next_key());
    written.length = (size_t)(end - written.bytes);
    written.requests = requests;
}

static struct load_batch batch_of(unsigned requests) {
    write_batch(requests);
    return (struct load_batch){.bytes = {written.bytes, written.length},
                               .stays = options.keyspace == KEYSPACE_HOT,
                               .replies = requests};
}

static void init_batch(void) {
    uint64_t longest = (uint64_t)options.value_bytes.most;
    if (options.value_bytes.kind == SIZE_UNIFORM) longest = (uint64_t)options.value_bytes.high;
    if (script.count) longest = script.longest;
    written.bytes =
        load_grow(NULL, options.pipeline * (WIRE_TEXT_BYTES_MAX + WIRE_KEY_BYTES_MIN + longest));
}

static bool next_batch(void *unused, unsigned thread, unsigned most, struct load_batch *batch) {
    *batch = batch_of(most);
    return true;
}

/* ---- what comes back ---- */

static void count_replies(unsigned count, bool is_miss, const char *error) {
    if (is_miss) misses += count;
    if (error && !errors++) snprintf(first_error, sizeof(first_error), "%s", error);
    atomic_fetch_add_explicit(&answers, count, memory_order_relaxed);
}

static void count_answer(void *unused, unsigned thread, const struct load_answer *answer) {
    if (answer->outcome == LOAD_LOST)
        load_fail("the server closed a connection (%s)", errors ? first_error : "no error reply");
    count_replies(answer->count, answer->outcome == LOAD_NIL || answer->outcome == LOAD_ZERO,
                  answer->error);
}

/* When the last reply was seen, and how many there were then. */
static struct { uint64_t answers, since_nsec; } silence;

/* Called four times a second. */
static void watch_silence(void *unused, const struct load_progress *progress) {
    uint64_t now = load_now_nsec(), seen = atomic_load_explicit(&answers, memory_order_relaxed);
    if (seen != silence.answers || !silence.since_nsec) {
        silence.answers = seen;
        silence.since_nsec = now;
    }
    if (now - silence.since_nsec > SILENCE_MSEC_MAX * UINT64_C(1000000))
        load_fail("no reply in %d s", SILENCE_MSEC_MAX / 1000);
}

/* ---- held: connections that lines of the standard input drive ---- */

static struct load_connection *held;
static int poller = -1;
static uint64_t issued;

static void count_held(void *unused, struct load_connection *c, const struct load_flight *flight,
                       unsigned count, enum scanned kind) {
    bool is_error = kind == SCANNED_ERROR || kind == SCANNED_OOM;
    count_replies(count, kind == SCANNED_NIL || kind == SCANNED_ZERO,
                  is_error ? c->scanner.error : NULL);
}

static const struct load_reader held_reader = {
    .buffer = load_read_buffer, .room = READ_BYTES, .answered = count_held};

/* Waits for events, and serves the connections that have some. */
static void serve_held(void) {
    struct epoll_event events[EVENTS_MAX];
    char reason[LOAD_REASON_CHARS];
    int n = epoll_wait(poller, events, EVENTS_MAX, SILENCE_MSEC_MAX);
    if (n == 0) load_fail("no reply in %d s", SILENCE_MSEC_MAX / 1000);
    if (n < 0 && errno != EINTR) load_fail("epoll: %s", strerror(errno));
    for (int i = 0; i < n; i++)
        if (!load_connection_advance(events[i].data.ptr, &options.target, poller, events[i].events,
                                     &held_reader, reason))
            load_fail("%s", reason);
}

static void open_held(struct load_connection *c) {
    char reason[LOAD_REASON_CHARS];
    load_connection_init(c);
    if (!load_connection_connect(c, &options.target, poller, reason)) load_fail("%s", reason);
    while (!load_connection_is_ready(c)) serve_held();
}

static void send_held(struct load_connection *c) {
    const struct load_batch batch = batch_of((unsigned)options.pipeline);
    if (c->count) load_fail("a request is still under way");
    if (!load_connection_send(c, poller, &batch, 0, 0, 0))
        load_fail("send: %s", strerror(c->broken));
    issued += batch.replies;
}

static uint64_t parse_number(const char *text) {
    char *end;
    errno = 0;
    uint64_t number = strtoull(text, &end, 10);
    if (errno || end == text || (*end && *end != '\n')) load_fail("not a number: %s", text);
    return number;
}

/* Obeys the lines of the standard input until it ends. */
static void run_held(void) {
    char line[64];
    uint64_t opened = 0, next = 0;
    held = load_grow(NULL, options.connections * sizeof(*held));
    poller = epoll_create1(EPOLL_CLOEXEC);
    if (poller < 0) load_fail("epoll: %s", strerror(errno));
    load_connection_allow(options.connections);
    while (fgets(line, sizeof(line), stdin)) {
        if (!strncmp(line, "connect ", 8)) {
            for (uint64_t n = parse_number(line + 8); n; n--) {
                if (opened == options.connections) load_fail("more than --connections");
                open_held(&held[opened++]);
            }
            printf("connected %" PRIu64 "\n", opened);
        } else if (!strncmp(line, "send ", 5)) {
            uint64_t n = parse_number(line + 5);
            if (n > opened) load_fail("more than are connected");
            for (; n; n--, next++) send_held(&held[next % opened]);
            printf("sent %" PRIu64 "\n", issued);
        } else if (!strcmp(line, "receive\n")) {
            while (atomic_load(&answers) < issued) serve_held();
            if (errors) load_fail("an error reply: %s", first_error);
            printf("received %" PRIu64 "\n", atomic_load(&answers));
        } else {
            load_fail("unknown order: %s", line);
        }
        fflush(stdout);
    }
}

/* ---- start and end ---- */

static char *read_file(const char *path, uint64_t *length) {
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END)) load_fail("%s: %s", path, strerror(errno));
    *length = (uint64_t)ftell(file);
    char *bytes = load_grow(NULL, *length + 1);
    rewind(file);
    if (fread(bytes, 1, *length, file) != *length) load_fail("%s cannot be read", path);
    fclose(file);
    return bytes;
}

/* Reads --script: its requests are the keys, in turn. */
static void read_script(void) {
    uint64_t length, at = 0, end = 0;
    script.bytes = read_file(options.script, &length);
    script.starts = load_grow(NULL, (length / 5 + 2) * sizeof(*script.starts));
    while (at < length) {
        uint32_t size;
        if (length - at < sizeof(size)) load_fail("%s ends within a length", options.script);
        memcpy(&size, script.bytes + at, sizeof(size));
        at += sizeof(size);
        if (size == 0 || length - at < size) load_fail("%s ends within a request", options.script);
        memmove(script.bytes + end, script.bytes + at, size);
        script.starts[script.count++] = end;
        end += size;
        at += size;
        if (size > script.longest) script.longest = size;
    }
    if (!script.count) load_fail("%s is empty", options.script);
    script.starts[script.count] = end;
    options.keyspace = KEYSPACE_SEQUENTIAL;
    options.keys = script.count;
    options.first_key = 0;
}

static double usec_at(const struct load_result *result, double share) {
    return (double)load_latency_usec_at(&result->latency, share);
}

static void print_counted(const struct load_result *result) {
    printf("{\"requests\": %" PRIu64 ", \"seconds\": %.6f, \"rps\": %.1f, ", answers,
           result->seconds, (double)answers / result->seconds);
    printf("\"errors\": %" PRIu64 ", \"first_error\": \"%s\", \"misses\": %" PRIu64 ", ", errors,
           first_error, misses);
    printf("\"value_bytes\": %" PRIu64 ", \"load_cpu_seconds\": %.3f, ", value_bytes,
           load_cpu_seconds());
    printf("\"latency_usec\": {\"p50\": %.1f, \"p99\": %.1f, \"p99.9\": %.1f, \"max\": %.1f}}\n",
           usec_at(result, 0.5), usec_at(result, 0.99), usec_at(result, 0.999), usec_at(result, 1));
}

static struct load_result result;

void load_count(void) {
    if (options.script) read_script();
    draw_init(&chance, options.seed);
    filler = load_filler(VALUE_BYTES_MAX);
    init_batch();
    if (options.hold) {
        run_held();
        return;
    }
    const struct load_stream stream = {.targets = &options.target,
                                       .target_count = 1,
                                       .source = {NULL, next_batch, NULL},
                                       .sink = {count_answer, NULL, NULL},
                                       .connections = (unsigned)options.connections,
                                       .pipeline = (unsigned)options.pipeline,
                                       .requests = options.requests,
                                       .tolerates = true};
    const struct load load = {
        .streams = &stream,
        .stream_count = 1,
        .threads = 1,
        .duration_nsec = options.requests ? 0 : (int64_t)(options.seconds * 1e9),
        .watch = watch_silence};
    if (!load_run(&load, &result)) load_fail("%s", result.reason);
    print_counted(&result);
}
