/* SPDX-License-Identifier: BSD-3-Clause
 * The load's closed loop: GET, SET, DEL or requests from a file over many connections, counted.
 *
 * A connection has one batch under way: it sends `pipeline` requests, waits for as many replies,
 * and sends the next batch. What it costs a request must stay far below what the server pays, so
 * that the server is what is measured:
 *  - a batch is written into the connection's own buffer, and a batch that never changes (one hot
 *    key) is written once;
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
 *   send N      one request on each of the next N of them    -> sent TOTAL
 *   receive     reads until every request is answered        -> received TOTAL
 * so that another process can stop the server, let thousands of requests arrive at once, and look
 * at the server's memory between any two of these steps.
 *
 * Invariants:
 *  1. A connection's `pending` replies plus the requests counted as done are the requests sent.
 *  2. Nothing is sent on a connection while it has replies pending.
 *  3. Every request issued is answered before the result is printed, so no figure has a cut tail.
 * Anything unexpected (a closed connection, a reply of another kind, a minute of silence) ends the
 * program.
 */
#include <errno.h>
#include <inttypes.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "histogram.h"
#include "load.h"
#include "net.h"
#include "peer/reply_scan.h"
#include "wire.h"

#define EVENTS_MAX 512
#define SILENCE_MSEC_MAX 60000

struct connection {
    int fd;
    bool wants_write;
    unsigned pending; /* replies not yet read */
    char *batch;
    size_t batch_length;
    size_t batch_sent;
    unsigned batch_requests; /* in `batch`, so that an unchanging batch is not written again */
    uint64_t sent_at_nsec;
    struct reply_scanner reader;
};

/* The file of --script: requests, and where each begins; one place more for the end of the last. */
static struct {
    char *bytes;
    uint64_t *starts, count, longest;
} script;

static struct connection *connections;
static int poller = -1;
static char *filler;
static uint64_t issued, done, misses, errors, value_bytes, key_counter, deadline_nsec;
static char first_error[REPLY_SCAN_ERROR_CHARS];
static struct draw chance;
static struct histogram latencies;

/* ---- what is sent ---- */

static uint64_t next_key(void) {
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

static void send_rest_of_batch(struct connection *c) {
    size_t sent = net_send(c->fd, c->batch + c->batch_sent, c->batch_length - c->batch_sent);
    if (sent == NET_GONE) load_fail("send: %s", strerror(errno));
    c->batch_sent += sent;
    bool wants_write = c->batch_sent < c->batch_length;
    if (wants_write == c->wants_write) return;
    net_watch(poller, c->fd, EPOLLIN | (wants_write ? EPOLLOUT : 0), c);
    c->wants_write = wants_write;
}

static void send_batch(struct connection *c, unsigned requests, uint64_t now) {
    if (options.keyspace != KEYSPACE_HOT || c->batch_requests != requests) {
        char *end = c->batch;
        for (unsigned i = 0; i < requests; i++) end = put_counted_request(end, next_key());
        c->batch_length = (size_t)(end - c->batch);
        c->batch_requests = requests;
    }
    c->batch_sent = 0;
    c->pending = requests;
    c->sent_at_nsec = now;
    issued += requests;
    send_rest_of_batch(c);
}

/* The size of the next batch; 0 when the run is over. */
static unsigned next_batch_requests(uint64_t now) {
    if (options.requests) {
        uint64_t left = options.requests - issued;
        return (unsigned)(left < options.pipeline ? left : options.pipeline);
    }
    return now < deadline_nsec ? (unsigned)options.pipeline : 0;
}

/* ---- what comes back ---- */

static void note_error(const struct reply_scanner *r) {
    if (!errors++) memcpy(first_error, r->error, sizeof(first_error));
}

/* Passes over the bytes; returns how many replies end in them. */
static unsigned count_replies(struct reply_scanner *r, const char *at, const char *end) {
    unsigned count = 0;
    while (at < end) {
        bool sound = true;
        enum scanned kind = reply_scan(r, &at, end, NULL, &sound);
        if (!sound) load_fail("a reply that begins with byte %d", (unsigned char)at[-1]);
        count += kind != SCANNED_NONE;
        misses += kind == SCANNED_NIL || kind == SCANNED_ZERO;
        if (kind == SCANNED_ERROR || kind == SCANNED_OOM) note_error(r);
    }
    return count;
}

/* Reads once. True when the connection's whole batch is answered. */
static bool receive_counted(struct connection *c) {
    ssize_t n = recv(c->fd, load_read_buffer, READ_BYTES, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (n < 0) load_fail("receive: %s", strerror(errno));
    if (n == 0)
        load_fail("the server closed a connection (%s)", errors ? first_error : "no error reply");
    unsigned count = count_replies(&c->reader, load_read_buffer, load_read_buffer + n);
    if (count > c->pending) load_fail("%u replies where %u were due", count, c->pending);
    c->pending -= count;
    done += count;
    return count && c->pending == 0;
}

static int wait_events(struct epoll_event *events) {
    int n = epoll_wait(poller, events, EVENTS_MAX, SILENCE_MSEC_MAX);
    if (n == 0)
        load_fail("no reply in %d s, %" PRIu64 " due", SILENCE_MSEC_MAX / 1000, issued - done);
    if (n < 0 && errno != EINTR) load_fail("epoll: %s", strerror(errno));
    return n;
}

/* Returns the nanoseconds from the first request to the last reply. */
static uint64_t run_loop(void) {
    struct epoll_event events[EVENTS_MAX];
    uint64_t started = load_now_nsec(), now = started;
    deadline_nsec = started + (uint64_t)(options.seconds * 1e9);
    for (uint64_t i = 0; i < options.connections; i++) {
        unsigned requests = next_batch_requests(now);
        if (requests) send_batch(&connections[i], requests, now);
    }
    while (done < issued) {
        int n = wait_events(events);
        for (int i = 0; i < n; i++) {
            struct connection *c = events[i].data.ptr;
            if (c->wants_write) send_rest_of_batch(c);
            if (!(events[i].events & ~(unsigned)EPOLLOUT) || !receive_counted(c)) continue;
            now = load_now_nsec();
            histogram_note(&latencies, now - c->sent_at_nsec, c->batch_requests);
            unsigned requests = next_batch_requests(now);
            if (requests) send_batch(c, requests, now);
        }
    }
    return load_now_nsec() - started;
}

/* ---- connections ---- */

static void open_connection(struct connection *c) {
    uint64_t longest = (uint64_t)options.value_bytes.most;
    if (options.value_bytes.kind == SIZE_UNIFORM) longest = (uint64_t)options.value_bytes.high;
    if (script.count) longest = script.longest;
    c->fd = net_open(&options.target, (uint64_t)(c - connections), 0, true);
    net_watch_new(poller, c->fd, EPOLLIN, c);
    c->batch =
        load_grow(NULL, options.pipeline * (WIRE_TEXT_BYTES_MAX + WIRE_KEY_BYTES_MIN + longest));
}

static void receive_all(void) {
    struct epoll_event events[EVENTS_MAX];
    while (done < issued) {
        int n = wait_events(events);
        for (int i = 0; i < n; i++) receive_counted(events[i].data.ptr);
    }
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
    while (fgets(line, sizeof(line), stdin)) {
        if (!strncmp(line, "connect ", 8)) {
            for (uint64_t n = parse_number(line + 8); n; n--) {
                if (opened == options.connections) load_fail("more than --connections");
                open_connection(&connections[opened++]);
            }
            printf("connected %" PRIu64 "\n", opened);
        } else if (!strncmp(line, "send ", 5)) {
            uint64_t n = parse_number(line + 5);
            if (n > opened) load_fail("more than are connected");
            for (; n; n--, next++) {
                struct connection *c = &connections[next % opened];
                if (c->pending) load_fail("a request is still under way");
                send_batch(c, (unsigned)options.pipeline, 0);
            }
            printf("sent %" PRIu64 "\n", issued);
        } else if (!strcmp(line, "receive\n")) {
            receive_all();
            if (errors) load_fail("an error reply: %s", first_error);
            printf("received %" PRIu64 "\n", done);
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

static void print_counted(uint64_t nsec) {
    double seconds = (double)nsec / 1e9;
    printf("{\"requests\": %" PRIu64 ", \"seconds\": %.6f, \"rps\": %.1f, ", done, seconds,
           (double)done / seconds);
    printf("\"errors\": %" PRIu64 ", \"first_error\": \"%s\", \"misses\": %" PRIu64 ", ", errors,
           first_error, misses);
    printf("\"value_bytes\": %" PRIu64 ", \"load_cpu_seconds\": %.3f, ", value_bytes,
           load_cpu_seconds());
    printf("\"latency_usec\": {\"p50\": %.1f, \"p99\": %.1f, \"p99.9\": %.1f, \"max\": %.1f}}\n",
           histogram_at(&latencies, 0.5) / 1000, histogram_at(&latencies, 0.99) / 1000,
           histogram_at(&latencies, 0.999) / 1000, histogram_at(&latencies, 1) / 1000);
}

void load_count(void) {
    if (options.script) read_script();
    net_raise_descriptor_limit(options.connections);
    draw_init(&chance, options.seed);
    filler = load_filler(VALUE_BYTES_MAX);
    connections = load_grow(NULL, options.connections * sizeof(*connections));
    memset(connections, 0, options.connections * sizeof(*connections));
    poller = epoll_create1(EPOLL_CLOEXEC);
    if (poller < 0) load_fail("epoll: %s", strerror(errno));
    if (options.hold) {
        run_held();
        return;
    }
    for (uint64_t i = 0; i < options.connections; i++) open_connection(&connections[i]);
    print_counted(run_loop());
}
