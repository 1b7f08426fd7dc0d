/* SPDX-License-Identifier: BSD-3-Clause
 * Load generator of the benchmark: a closed loop of GET, SET, DEL or requests from a file over many
 * connections.
 *
 * One thread and one epoll set drive every connection. A connection has one batch under way: it
 * sends `pipeline` requests, waits for as many replies, and sends the next batch. What it costs a
 * request must stay far below what the server pays, so that the server is what is measured:
 *  - a batch is written into the connection's own buffer by copying ready-made pieces, and a batch
 *    that never changes (one hot key) is written once;
 *  - replies are counted, not kept: the reader passes over a reply by its first line;
 *  - the clock is read once a batch.
 *
 * Keys are "key:" and twelve digits. The length of a key's value and its TTL are functions of the
 * key's number and the seed, so that every server gets the same data, and a repeated SET the same
 * size. A value begins with a letter: no server can store it as a number.
 *
 * With --script FILE the requests stand in the file, each after its length (4 bytes, lowest first),
 * and are sent in turn, from the start again after the last.
 *
 * With --hold there is no loop. Lines on the standard input drive it, and each is answered by one:
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
 * program with a message and status 1: there is no half-valid result.
 *
 * The program stands alone; it links nothing of src/, so it may be used against any server.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define KEY_DIGITS 12
#define REQUEST_BYTES_MAX 128 /* of a request, beside its value */
#define READ_BYTES (256 * 1024)
#define EVENTS_MAX 512
#define SILENCE_MSEC_MAX 60000
#define OCTAVE_SLOTS 32 /* of the latency histogram: about 3 % a slot */
#define OCTAVES 40
#define ERROR_CHARS 100

enum command { COMMAND_GET, COMMAND_SET, COMMAND_DEL, COMMAND_SCRIPT };
enum keyspace { KEYSPACE_HOT, KEYSPACE_RANDOM, KEYSPACE_SEQUENTIAL };

/* Where the reader stands within the replies of one connection. */
struct reply_reader {
    uint64_t parts_left; /* of the reply under way, with those of arrays in it; 0 = none is */
    uint64_t body_left;  /* bytes of a bulk and its line end still to pass over */
    uint64_t number;     /* of the first line, as far as it is read */
    char kind;           /* the first byte of the part under way; 0 = between two parts */
    bool negative;
};

struct connection {
    int fd;
    bool wants_write;
    unsigned pending; /* replies not yet read */
    char *batch;
    size_t batch_length;
    size_t batch_sent;
    unsigned batch_requests; /* in `batch`, so that an unchanging batch is not written again */
    uint64_t sent_at_nsec;
    struct reply_reader reader;
};

static struct {
    const char *host;
    uint64_t port, connections, pipeline, requests, keys, first_key, value_min, value_max, ttl_s;
    uint64_t seed;
    double seconds;
    const char *script;
    enum command command;
    enum keyspace keyspace;
    bool hold;
} options = {.host = "127.0.0.1",
             .port = 6379,
             .connections = 50,
             .pipeline = 1,
             .keys = 1,
             .value_min = 32,
             .value_max = 32,
             .seed = 1};

/* The file of --script: requests, and where each begins; one place more for the end of the last. */
static struct {
    char *bytes;
    uint64_t *starts, count;
} script;

static struct connection *connections;
static int poller = -1;
static char *read_buffer, *filler;
static uint64_t issued, done, misses, errors, value_bytes, key_counter, deadline_nsec;
static char first_error[ERROR_CHARS];
static size_t first_error_length;
static uint64_t latencies[OCTAVES * OCTAVE_SLOTS];

static void fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

static void fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "load: ");
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
    va_end(arguments);
    exit(1);
}

static uint64_t now_nsec(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- what is sent ---- */

/* A bijective mixer: neighbouring numbers give unrelated results. */
static uint64_t mix(uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 31)) * 0xd6e8feb86659fd93u;
    x = (x ^ (x >> 29)) * 0xc2b2ae3d27d4eb4fu;
    return x ^ (x >> 32);
}

/* A number below `range`, as even as `bits` are. */
static uint64_t scale(uint64_t bits, uint64_t range) {
    return (uint64_t)(((unsigned __int128)bits * range) >> 64);
}

static uint64_t next_key(void) {
    switch (options.keyspace) {
    case KEYSPACE_HOT: return options.first_key;
    case KEYSPACE_RANDOM:
        return options.first_key + scale(mix(options.seed + key_counter++), options.keys);
    case KEYSPACE_SEQUENTIAL: break;
    }
    return options.first_key + key_counter++ % options.keys;
}

static size_t value_length(uint64_t key) {
    uint64_t range = options.value_max - options.value_min + 1;
    return options.value_min + scale(mix(key ^ (options.seed << 40)), range);
}

static char *put_text(char *to, const char *text, size_t length) {
    memcpy(to, text, length);
    return to + length;
}

#define PUT_LITERAL(to, literal) put_text(to, literal, sizeof(literal) - 1)

static char *put_key(char *to, uint64_t key) {
    to = PUT_LITERAL(to, "$16\r\nkey:");
    for (int i = KEY_DIGITS - 1; i >= 0; i--, key /= 10) to[i] = (char)('0' + key % 10);
    return PUT_LITERAL(to + KEY_DIGITS, "\r\n");
}

static char *put_number(char *to, uint64_t number) {
    char digits[20];
    size_t n = 0;
    do digits[n++] = (char)('0' + number % 10);
    while (number /= 10);
    while (n) *to++ = digits[--n];
    return to;
}

/* Deadlines lie evenly between one and two times the TTL asked for. */
static char *put_ttl(char *to, uint64_t key) {
    uint64_t ttl_s = options.ttl_s + scale(mix(~key), options.ttl_s);
    char digits[20];
    size_t n = (size_t)(put_number(digits, ttl_s) - digits);
    to = PUT_LITERAL(to, "$2\r\nEX\r\n$");
    to = put_number(to, n);
    to = PUT_LITERAL(to, "\r\n");
    to = put_text(to, digits, n);
    return PUT_LITERAL(to, "\r\n");
}

static char *put_request(char *to, uint64_t key) {
    if (options.command == COMMAND_SCRIPT) {
        const char *request = script.bytes + script.starts[key];
        return put_text(to, request, script.starts[key + 1] - script.starts[key]);
    }
    if (options.command == COMMAND_GET) {
        to = PUT_LITERAL(to, "*2\r\n$3\r\nGET\r\n");
        return put_key(to, key);
    }
    if (options.command == COMMAND_DEL) {
        to = PUT_LITERAL(to, "*2\r\n$3\r\nDEL\r\n");
        return put_key(to, key);
    }
    size_t length = value_length(key);
    value_bytes += length;
    to = options.ttl_s ? PUT_LITERAL(to, "*5\r\n$3\r\nSET\r\n")
                       : PUT_LITERAL(to, "*3\r\n$3\r\nSET\r\n");
    to = put_key(to, key);
    *to++ = '$';
    to = put_number(to, length);
    to = PUT_LITERAL(to, "\r\n");
    to = put_text(to, filler, length);
    to = PUT_LITERAL(to, "\r\n");
    return options.ttl_s ? put_ttl(to, key) : to;
}

static void watch(struct connection *c, bool wants_write) {
    struct epoll_event event = {.events = EPOLLIN | (wants_write ? EPOLLOUT : 0), .data.ptr = c};
    if (epoll_ctl(poller, EPOLL_CTL_MOD, c->fd, &event) < 0) fail("epoll: %s", strerror(errno));
    c->wants_write = wants_write;
}

static void send_rest(struct connection *c) {
    while (c->batch_sent < c->batch_length) {
        ssize_t n =
            send(c->fd, c->batch + c->batch_sent, c->batch_length - c->batch_sent, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) break;
        if (n < 0) fail("send: %s", strerror(errno));
        c->batch_sent += (size_t)n;
    }
    bool wants_write = c->batch_sent < c->batch_length;
    if (wants_write != c->wants_write) watch(c, wants_write);
}

static void send_batch(struct connection *c, unsigned requests, uint64_t now) {
    if (options.keyspace != KEYSPACE_HOT || c->batch_requests != requests) {
        char *end = c->batch;
        for (unsigned i = 0; i < requests; i++) end = put_request(end, next_key());
        c->batch_length = (size_t)(end - c->batch);
        c->batch_requests = requests;
    }
    c->batch_sent = 0;
    c->pending = requests;
    c->sent_at_nsec = now;
    issued += requests;
    send_rest(c);
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

static void note_error(char c) {
    if (errors == 0 && first_error_length < ERROR_CHARS - 1 && c >= ' ' && c != '"' && c != '\\')
        first_error[first_error_length++] = c;
}

/* Returns the replies completed by the part: 0 or 1. */
static unsigned part_ended(struct reply_reader *r) {
    r->kind = 0;
    return --r->parts_left == 0;
}

/* At the end of a part's first line. Returns the replies completed by it: 0 or 1. */
static unsigned line_ended(struct reply_reader *r) {
    if (r->kind == '$' && !r->negative) {
        r->body_left = r->number + 2;
        return 0;
    }
    if (r->kind == '*')
        r->parts_left += r->negative ? 0 : r->number;
    else if (r->kind == '-')
        errors++;
    else if (r->kind == '$' || r->kind == '_' || (r->kind == ':' && r->number == 0))
        misses++;
    return part_ended(r);
}

static void part_began(struct reply_reader *r, char kind) {
    if (kind != '+' && kind != '-' && kind != ':' && kind != '$' && kind != '_' && kind != '*')
        fail("a reply that begins with byte %d", (unsigned char)kind);
    *r = (struct reply_reader){.kind = kind, .parts_left = r->parts_left ? r->parts_left : 1};
}

/* Passes over the bytes; returns how many replies end in them. */
static unsigned count_replies(struct reply_reader *r, const char *at, const char *end) {
    unsigned count = 0;
    while (at < end) {
        if (r->body_left) {
            uint64_t here = (uint64_t)(end - at);
            uint64_t n = r->body_left < here ? r->body_left : here;
            at += n;
            r->body_left -= n;
            if (r->body_left) return count;
            count += part_ended(r);
        } else if (!r->kind) {
            part_began(r, *at++);
        } else {
            char c = *at++;
            if (c == '\n')
                count += line_ended(r);
            else if (c >= '0' && c <= '9')
                r->number = r->number * 10 + (uint64_t)(c - '0');
            else if (c == '-')
                r->negative = true;
            if (r->kind == '-') note_error(c);
        }
    }
    return count;
}

static void count_latency(uint64_t nsec, unsigned requests) {
    uint64_t slot = nsec;
    if (nsec >= OCTAVE_SLOTS) {
        unsigned shift = 63u - (unsigned)__builtin_clzll(nsec) - 5u;
        slot = (shift + 1u) * OCTAVE_SLOTS + (nsec >> shift) - OCTAVE_SLOTS;
    }
    if (slot >= OCTAVES * OCTAVE_SLOTS) slot = OCTAVES * OCTAVE_SLOTS - 1;
    latencies[slot] += requests;
}

/* The middle of the slot in which that share of the requests lies, in microseconds. */
static double latency_usec_at(double share) {
    uint64_t target = (uint64_t)(share * (double)(done - 1)), sum = 0, slot = 0;
    while (slot < OCTAVES * OCTAVE_SLOTS - 1 && sum + latencies[slot] <= target)
        sum += latencies[slot++];
    if (slot < OCTAVE_SLOTS) return (double)slot / 1000;
    uint64_t shift = slot / OCTAVE_SLOTS - 1;
    return ((double)(slot % OCTAVE_SLOTS) + OCTAVE_SLOTS + 0.5) * (double)(1ull << shift) / 1000;
}

/* Reads once. True when the connection's whole batch is answered. */
static bool receive_some(struct connection *c) {
    ssize_t n = recv(c->fd, read_buffer, READ_BYTES, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (n < 0) fail("receive: %s", strerror(errno));
    if (n == 0)
        fail("the server closed a connection (%s)", errors ? first_error : "no error reply");
    unsigned count = count_replies(&c->reader, read_buffer, read_buffer + n);
    if (count > c->pending) fail("%u replies where %u were due", count, c->pending);
    c->pending -= count;
    done += count;
    return count && c->pending == 0;
}

static int wait_events(struct epoll_event *events) {
    int n = epoll_wait(poller, events, EVENTS_MAX, SILENCE_MSEC_MAX);
    if (n == 0) fail("no reply in %d s, %" PRIu64 " due", SILENCE_MSEC_MAX / 1000, issued - done);
    if (n < 0 && errno != EINTR) fail("epoll: %s", strerror(errno));
    return n;
}

/* Returns the nanoseconds from the first request to the last reply. */
static uint64_t run_loop(void) {
    struct epoll_event events[EVENTS_MAX];
    uint64_t started = now_nsec(), now = started;
    deadline_nsec = started + (uint64_t)(options.seconds * 1e9);
    for (uint64_t i = 0; i < options.connections; i++) {
        unsigned requests = next_batch_requests(now);
        if (requests) send_batch(&connections[i], requests, now);
    }
    while (done < issued) {
        int n = wait_events(events);
        for (int i = 0; i < n; i++) {
            struct connection *c = events[i].data.ptr;
            if (c->wants_write) send_rest(c);
            if (!(events[i].events & ~(unsigned)EPOLLOUT) || !receive_some(c)) continue;
            now = now_nsec();
            count_latency(now - c->sent_at_nsec, c->batch_requests);
            unsigned requests = next_batch_requests(now);
            if (requests) send_batch(c, requests, now);
        }
    }
    return now_nsec() - started;
}

/* ---- connections ---- */

static void open_connection(struct connection *c) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)options.port)};
    if (inet_pton(AF_INET, options.host, &address.sin_addr) != 1)
        fail("not an IPv4 address: %s", options.host);
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (c->fd < 0) fail("socket: %s", strerror(errno));
    if (connect(c->fd, (struct sockaddr *)&address, sizeof(address)) < 0)
        fail("connect: %s", strerror(errno));
    int on = 1;
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (fcntl(c->fd, F_SETFL, O_NONBLOCK) < 0) fail("fcntl: %s", strerror(errno));
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
    if (epoll_ctl(poller, EPOLL_CTL_ADD, c->fd, &event) < 0) fail("epoll: %s", strerror(errno));
    c->batch = malloc(options.pipeline * (REQUEST_BYTES_MAX + options.value_max));
    if (!c->batch) fail("out of memory");
}

static void receive_all(void) {
    struct epoll_event events[EVENTS_MAX];
    while (done < issued) {
        int n = wait_events(events);
        for (int i = 0; i < n; i++) receive_some(events[i].data.ptr);
    }
}

static uint64_t parse_number(const char *text) {
    char *end;
    errno = 0;
    uint64_t number = strtoull(text, &end, 10);
    if (errno || end == text || (*end && *end != '\n')) fail("not a number: %s", text);
    return number;
}

/* Obeys the lines of the standard input until it ends. */
static void run_held(void) {
    char line[64];
    uint64_t opened = 0, next = 0;
    while (fgets(line, sizeof(line), stdin)) {
        if (!strncmp(line, "connect ", 8)) {
            for (uint64_t n = parse_number(line + 8); n; n--) {
                if (opened == options.connections) fail("more than --connections");
                open_connection(&connections[opened++]);
            }
            printf("connected %" PRIu64 "\n", opened);
        } else if (!strncmp(line, "send ", 5)) {
            uint64_t n = parse_number(line + 5);
            if (n > opened) fail("more than are connected");
            for (; n; n--, next++) {
                struct connection *c = &connections[next % opened];
                if (c->pending) fail("a request is still under way");
                send_batch(c, (unsigned)options.pipeline, 0);
            }
            printf("sent %" PRIu64 "\n", issued);
        } else if (!strcmp(line, "receive\n")) {
            receive_all();
            if (errors) fail("an error reply: %s", first_error);
            printf("received %" PRIu64 "\n", done);
        } else {
            fail("unknown order: %s", line);
        }
        fflush(stdout);
    }
}

/* ---- start and end ---- */

enum {
    OPTION_HOST = 1,
    OPTION_SECONDS,
    OPTION_COMMAND,
    OPTION_KEYSPACE,
    OPTION_HOLD,
    OPTION_SCRIPT,
    OPTION_NUMBER
};

/* Options from OPTION_NUMBER on are whole numbers, in the order of number_targets. */
static const struct option option_rows[] = {
    {"host", required_argument, NULL, OPTION_HOST},
    {"seconds", required_argument, NULL, OPTION_SECONDS},
    {"command", required_argument, NULL, OPTION_COMMAND},
    {"keyspace", required_argument, NULL, OPTION_KEYSPACE},
    {"hold", no_argument, NULL, OPTION_HOLD},
    {"script", required_argument, NULL, OPTION_SCRIPT},
    {"port", required_argument, NULL, OPTION_NUMBER},
    {"connections", required_argument, NULL, OPTION_NUMBER + 1},
    {"pipeline", required_argument, NULL, OPTION_NUMBER + 2},
    {"requests", required_argument, NULL, OPTION_NUMBER + 3},
    {"keys", required_argument, NULL, OPTION_NUMBER + 4},
    {"first-key", required_argument, NULL, OPTION_NUMBER + 5},
    {"value-min", required_argument, NULL, OPTION_NUMBER + 6},
    {"value-max", required_argument, NULL, OPTION_NUMBER + 7},
    {"ttl", required_argument, NULL, OPTION_NUMBER + 8},
    {"seed", required_argument, NULL, OPTION_NUMBER + 9},
    {NULL, 0, NULL, 0}};

static uint64_t *const number_targets[] = {
    &options.port,      &options.connections, &options.pipeline,  &options.requests, &options.keys,
    &options.first_key, &options.value_min,   &options.value_max, &options.ttl_s,    &options.seed};

static void set_command(const char *name) {
    if (!strcmp(name, "get"))
        options.command = COMMAND_GET;
    else if (!strcmp(name, "set"))
        options.command = COMMAND_SET;
    else if (!strcmp(name, "del"))
        options.command = COMMAND_DEL;
    else if (!strcmp(name, "fill")) {
        options.command = COMMAND_SET;
        options.keyspace = KEYSPACE_SEQUENTIAL;
    } else
        fail("--command is get, set, del or fill, not %s", name);
}

static void set_keyspace(const char *name) {
    if (!strcmp(name, "hot"))
        options.keyspace = KEYSPACE_HOT;
    else if (!strcmp(name, "random"))
        options.keyspace = KEYSPACE_RANDOM;
    else if (!strcmp(name, "sequential"))
        options.keyspace = KEYSPACE_SEQUENTIAL;
    else
        fail("--keyspace is hot, random or sequential, not %s", name);
}

static void set_option(int letter, const char *value) {
    if (letter == OPTION_HOST)
        options.host = value;
    else if (letter == OPTION_SECONDS)
        options.seconds = strtod(value, NULL);
    else if (letter == OPTION_COMMAND)
        set_command(value);
    else if (letter == OPTION_KEYSPACE)
        set_keyspace(value);
    else if (letter == OPTION_HOLD)
        options.hold = true;
    else if (letter == OPTION_SCRIPT)
        options.script = value;
    else
        *number_targets[letter - OPTION_NUMBER] = parse_number(value);
}

static void read_options(int argc, char **argv) {
    int letter;
    while ((letter = getopt_long(argc, argv, "", option_rows, NULL)) != -1) {
        if (letter == '?') exit(2);
        set_option(letter, optarg);
    }
    if (optind < argc) fail("what is %s?", argv[optind]);
    if (!options.keys || !options.connections || !options.pipeline)
        fail("--keys, --connections and --pipeline are at least 1");
    if (!options.value_min || options.value_max < options.value_min)
        fail("--value-min is at least 1 and at most --value-max");
    if (options.keyspace == KEYSPACE_SEQUENTIAL && !options.requests)
        options.requests = options.keys;
    if (!options.hold && !options.requests && !(options.seconds > 0))
        fail("--seconds or --requests is needed");
}

static char *read_file(const char *path, uint64_t *length) {
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END)) fail("%s: %s", path, strerror(errno));
    *length = (uint64_t)ftell(file);
    char *bytes = malloc(*length + 1);
    rewind(file);
    if (!bytes || fread(bytes, 1, *length, file) != *length) fail("%s cannot be read", path);
    fclose(file);
    return bytes;
}

/* Reads --script: its requests are the keys, in turn, the longest one the longest value. */
static void read_script(void) {
    uint64_t length, at = 0, end = 0;
    script.bytes = read_file(options.script, &length);
    script.starts = malloc((length / 5 + 2) * sizeof(*script.starts));
    if (!script.starts) fail("out of memory");
    while (at < length) {
        uint32_t size;
        if (length - at < sizeof(size)) fail("%s ends within a length", options.script);
        memcpy(&size, script.bytes + at, sizeof(size));
        at += sizeof(size);
        if (size == 0 || length - at < size) fail("%s ends within a request", options.script);
        memmove(script.bytes + end, script.bytes + at, size);
        script.starts[script.count++] = end;
        end += size;
        at += size;
        if (size > options.value_max) options.value_max = size;
    }
    if (!script.count) fail("%s is empty", options.script);
    script.starts[script.count] = end;
    options.command = COMMAND_SCRIPT;
    options.keyspace = KEYSPACE_SEQUENTIAL;
    options.keys = script.count;
    options.first_key = 0;
}

static void raise_descriptor_limit(void) {
    struct rlimit limit;
    rlim_t wanted = options.connections + 64;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0) fail("getrlimit: %s", strerror(errno));
    if (limit.rlim_cur >= wanted) return;
    limit.rlim_cur = wanted;
    if (limit.rlim_max < wanted) limit.rlim_max = wanted;
    if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
        fail("%" PRIu64 " connections need more open files: %s", options.connections,
             strerror(errno));
}

static void print_result(uint64_t nsec) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    double cpu_s = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                   (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
    double seconds = (double)nsec / 1e9;
    printf("{\"requests\": %" PRIu64 ", \"seconds\": %.6f, \"rps\": %.1f, ", done, seconds,
           (double)done / seconds);
    printf("\"errors\": %" PRIu64 ", \"first_error\": \"%s\", \"misses\": %" PRIu64 ", ", errors,
           first_error, misses);
    printf("\"value_bytes\": %" PRIu64 ", \"load_cpu_seconds\": %.3f, ", value_bytes, cpu_s);
    printf("\"latency_usec\": {\"p50\": %.1f, \"p99\": %.1f, \"p99.9\": %.1f, \"max\": %.1f}}\n",
           latency_usec_at(0.5), latency_usec_at(0.99), latency_usec_at(0.999), latency_usec_at(1));
}

int main(int argc, char **argv) {
    read_options(argc, argv);
    if (options.script) read_script();
    raise_descriptor_limit();
    connections = calloc(options.connections, sizeof(*connections));
    read_buffer = malloc(READ_BYTES);
    filler = malloc(options.value_max);
    poller = epoll_create1(EPOLL_CLOEXEC);
    if (!connections || !read_buffer || !filler || poller < 0) fail("cannot start");
    for (uint64_t i = 0; i < options.value_max; i++) filler[i] = (char)('a' + i * 7 % 26);
    if (options.hold) {
        run_held();
    } else {
        for (uint64_t i = 0; i < options.connections; i++) open_connection(&connections[i]);
        print_result(run_loop());
    }
    return 0;
}
