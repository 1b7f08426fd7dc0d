/* SPDX-License-Identifier: BSD-3-Clause
 * The options of the load, as its command line gives them.
 *
 * One row an option: which loops have it, its name, what it is, where it is kept, and one line of
 * help. Anything that is not a number, a size law or a choice between two words has a parser of its
 * own in parse_other.
 */
#include "load_options.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { COUNT = 1 << LOOP_COUNT, RECORD = 1 << LOOP_RECORD, BOTH = COUNT | RECORD };
enum kind { KIND_WHOLE, KIND_REAL, KIND_TEXT, KIND_SIZE, KIND_CHOICE, KIND_OTHER };

struct row {
    unsigned loops;
    const char *name;
    enum kind kind;
    void *target;
    const char *values; /* of a choice: "no|yes" */
    const char *help;
};

static struct load_options given = {.target = {.address = {.host = "127.0.0.1"}},
                                    .port = 6379,
                                    .info_fields = "used_memory",
                                    .connections = 50,
                                    .pipeline = 1,
                                    .databases = 1,
                                    .seed = 1,
                                    .herd_spread_msec = 100,
                                    .slow_pipeline = 100,
                                    .slow_bytes_per_s = 10000,
                                    .keys = 1,
                                    .held_keys = UINT64_MAX,
                                    .drain_s = 10,
                                    .trace_speed = 0,
                                    .slide = true,
                                    .sets_are_new = true,
                                    .deletes_oldest = true,
                                    .mix = {1},
                                    .mix_sum = 1,
                                    .fields = 1,
                                    .arrivals = {.kind = ARRIVAL_POISSON}};

static const struct row rows[] = {
    {BOTH, "host", KIND_TEXT, &given.target.address.host, 0, "name or address"},
    {BOTH, "port", KIND_WHOLE, &given.port, 0, "TCP port"},
    {BOTH, "unix", KIND_TEXT, &given.target.address.path, 0,
     "path of a unix socket, instead of TCP"},
    {BOTH, "connections", KIND_WHOLE, &given.connections, 0, "that carry the main stream"},
    {BOTH, "pipeline", KIND_WHOLE, &given.pipeline, 0, "requests that are sent together"},
    {BOTH, "seconds", KIND_REAL, &given.seconds, 0, "in which requests are sent, or become due"},
    {BOTH, "requests", KIND_WHOLE, &given.requests, 0, "after which it ends; 0 = any"},
    {BOTH, "keys", KIND_WHOLE, &given.keys, 0, "so many; record: the size of the window"},
    {BOTH, "first-key", KIND_WHOLE, &given.first_key, 0, "the number of the first"},
    {BOTH, "value-bytes", KIND_SIZE, &given.value_bytes, 0,
     "200, uniform:100:300, lognormal:200:0.8"},
    {BOTH, "seed", KIND_WHOLE, &given.seed, 0, "of all that is drawn"},
    {COUNT, "command", KIND_OTHER, 0, "get|set|del|fill", "fill: SETs of all keys in turn"},
    {COUNT, "keyspace", KIND_OTHER, 0, "hot|random|sequential", "hot: the first key alone"},
    {COUNT, "ttl", KIND_WHOLE, &given.ttl_s, 0, "of SETs: seconds, once to twice this; 0 = none"},
    {COUNT, "slots", KIND_WHOLE, &given.slots, 0,
     "fill: only keys of the cluster's slots below this one; 0 = all"},
    {COUNT, "script", KIND_TEXT, &given.script, 0, "requests from a file, sent in turn"},
    {COUNT, "hold", KIND_CHOICE, &given.hold, "no|yes", "obey lines of the standard input"},
    {RECORD, "pick", KIND_CHOICE, &given.lifo, "random|lifo",
     "which idle connection a request takes"},
    {RECORD, "databases", KIND_WHOLE, &given.databases, 0, "connections select these in turn"},
    {RECORD, "reconnects-per-s", KIND_REAL, &given.reconnects_per_s, 0,
     "idle connections made anew"},
    {RECORD, "arrivals", KIND_OTHER, 0, "poisson|constant|closed",
     "closed: send again once answered"},
    {RECORD, "rate", KIND_OTHER, 0, 0,
     "requests a second: 40000, or 0:40000,5:60000 (second:rate)"},
    {RECORD, "drain-s", KIND_REAL, &given.drain_s, 0, "how long the last replies are awaited"},
    {RECORD, "herd-connections", KIND_WHOLE, &given.herd_connections, 0,
     "that sleep until the moment"},
    {RECORD, "herd-at-s", KIND_REAL, &given.herd_at_s, 0, "the moment: each sends one GET"},
    {RECORD, "herd-every-s", KIND_REAL, &given.herd_every_s, 0, "and again; 0 = never"},
    {RECORD, "herd-spread-ms", KIND_WHOLE, &given.herd_spread_msec, 0, "in which they all wake"},
    {RECORD, "slow-readers", KIND_WHOLE, &given.slow_readers, 0, "connections that read a trickle"},
    {RECORD, "slow-at-s", KIND_REAL, &given.slow_at_s, 0, "when they begin to ask"},
    {RECORD, "slow-pipeline", KIND_WHOLE, &given.slow_pipeline, 0, "GETs that each has under way"},
    {RECORD, "slow-bytes-per-s", KIND_WHOLE, &given.slow_bytes_per_s, 0, "that each reads"},
    {RECORD, "held-keys", KIND_WHOLE, &given.held_keys, 0, "in the window at the start (all)"},
    {RECORD, "get-keys", KIND_WHOLE, &given.get_keys, 0,
     "GETs read so many other keys; 0 = the window"},
    {RECORD, "get-first-key", KIND_WHOLE, &given.get_first_key, 0, "from this one on"},
    {RECORD, "window", KIND_CHOICE, &given.slide, "grow|slide",
     "whether new keys push old ones out"},
    {RECORD, "zipf", KIND_REAL, &given.zipf_exponent, 0,
     "exponent of the keys' popularity; 0 = even"},
    {RECORD, "scatter", KIND_CHOICE, &given.scatter, "no|yes",
     "popular keys anywhere, not the newest"},
    {RECORD, "mix", KIND_OTHER, 0, 0,
     "weights: get=80,set=20,ex=0,del=0,unlink=0,hset=0 (ex: SET with a TTL)"},
    {RECORD, "fields", KIND_WHOLE, &given.fields, 0, "of each hash that HSETs write to"},
    {RECORD, "fields-at-once", KIND_WHOLE, &given.fields_at_once, 0,
     "HSETs fill hash after hash, so many fields each; 0 = any one field"},
    {RECORD, "sets", KIND_CHOICE, &given.sets_are_new, "window|new", "which keys SETs write"},
    {RECORD, "deletes", KIND_CHOICE, &given.deletes_oldest, "window|oldest",
     "which keys DELs take"},
    {RECORD, "fill-misses", KIND_CHOICE, &given.fill_misses, "no|yes",
     "SET what a GET did not find"},
    {RECORD, "key-bytes", KIND_SIZE, &given.key_bytes, 0, "likewise; at least 16"},
    {RECORD, "ttl-ms", KIND_SIZE, &given.ttl_msec, 0, "likewise, in milliseconds, for ex"},
    {RECORD, "due-at-ms", KIND_WHOLE, &given.due_at_msec, 0,
     "ex: deadlines from this moment on (1970)"},
    {RECORD, "due-spread-ms", KIND_WHOLE, &given.due_spread_msec, 0, "within so many milliseconds"},
    {RECORD, "trace", KIND_TEXT, &given.trace_path, 0,
     "requests from a file: time operation key size ttl"},
    {RECORD, "trace-speed", KIND_REAL, &given.trace_speed, 0,
     "1: its own times; 0: times of --rate"},
    {RECORD, "probe-ms", KIND_REAL, &given.probe_msec, 0, "a PING each; 0 = none"},
    {RECORD, "info-ms", KIND_WHOLE, &given.info_msec, 0, "an INFO each; 0 = none"},
    {RECORD, "info-fields", KIND_TEXT, &given.info_fields, 0,
     "to keep; keys, expires: over databases"},
    {RECORD, "out", KIND_TEXT, &given.out, 0, "folder for latencies.bin, info.csv, deadlines.csv"}};

#define ROWS (sizeof(rows) / sizeof(rows[0]))

static void refuse_value(const char *name, const char *value) {
    fprintf(stderr, "load: --%s cannot be \"%s\"\n", name, value);
    exit(2);
}

static void print_row(const struct row *row) {
    printf("  --%-18s %s%s%s%s\n", row->name, row->values ? "[" : "",
           row->values ? row->values : "", row->values ? "] " : "", row->help);
}

static const char *const loops[] = {[LOOP_COUNT] = "count", [LOOP_RECORD] = "record"};

static void print_help(void) {
    printf("usage: load %s [--option value]...\n", loops[given.loop]);
    for (size_t i = 0; i < ROWS; i++)
        if (rows[i].loops & 1u << given.loop) print_row(&rows[i]);
}

/* Which of the words "a|b|c" it is, or -1. */
static int find_word(const char *words, const char *value) {
    for (int i = 0;; i++) {
        size_t length = strcspn(words, "|");
        if (strlen(value) == length && !strncmp(words, value, length)) return i;
        if (!words[length]) return -1;
        words += length + 1;
    }
}

static bool parse_choice(const char *words, const char *value, bool *target) {
    int found = find_word(words, value);
    *target = found == 1;
    return found >= 0;
}

static bool parse_mix(const char *value) {
    static const char *const names[MIX_OPERATIONS] = {"get", "set", "ex", "del", "unlink", "hset"};
    memset(given.mix, 0, sizeof(given.mix));
    given.mix_sum = 0;
    while (*value) {
        size_t length = strcspn(value, "=");
        int operation = 0;
        while (operation < MIX_OPERATIONS &&
               (strlen(names[operation]) != length || strncmp(names[operation], value, length)))
            operation++;
        if (operation == MIX_OPERATIONS || value[length] != '=') return false;
        char *end;
        unsigned long weight = strtoul(value + length + 1, &end, 10);
        if (end == value + length + 1 || weight > 1000000 || (*end && *end != ',')) return false;
        given.mix_sum += given.mix[operation] = (unsigned)weight;
        value = *end ? end + 1 : end;
    }
    return given.mix_sum > 0;
}

/* "fill" is a SET of each key once. */
static bool parse_command(int found) {
    bool fills = found == COMMAND_DEL + 1;
    given.command = fills ? COMMAND_SET : (enum command)found;
    if (fills) given.keyspace = KEYSPACE_SEQUENTIAL;
    return found >= 0;
}

static bool parse_other(const struct row *row, const char *value) {
    if (!strcmp(row->name, "mix")) return parse_mix(value);
    if (!strcmp(row->name, "rate")) return arrivals_parse(value, &given.arrivals);
    int found = find_word(row->values, value);
    if (!strcmp(row->name, "command")) return parse_command(found);
    if (!strcmp(row->name, "keyspace")) {
        given.keyspace = (enum keyspace)found;
        return found >= 0;
    }
    given.closed = !strcmp(value, "closed");
    given.arrivals.kind = strcmp(value, "constant") ? ARRIVAL_POISSON : ARRIVAL_CONSTANT;
    return found >= 0;
}

static bool parse_value(const struct row *row, const char *value) {
    char *end;
    double most = row->target == &given.ttl_msec    ? TTL_MSEC_MAX
                  : row->target == &given.key_bytes ? KEY_BYTES_MAX
                                                    : VALUE_BYTES_MAX;
    errno = 0;
    switch (row->kind) {
    case KIND_WHOLE:
        *(uint64_t *)row->target = strtoull(value, &end, 10);
        return end != value && *end == 0 && *value != '-' && errno == 0;
    case KIND_REAL:
        *(double *)row->target = strtod(value, &end);
        return end != value && *end == 0 && isfinite(*(double *)row->target) && *value != '-';
    case KIND_TEXT: *(const char **)row->target = value; return *value != 0;
    case KIND_SIZE: return size_law_parse(value, most, row->target);
    case KIND_CHOICE: return parse_choice(row->values, value, row->target);
    case KIND_OTHER: break;
    }
    return parse_other(row, value);
}

static void demand_that(bool condition, const char *what) {
    if (condition) return;
    fprintf(stderr, "load: %s\n", what);
    exit(2);
}

static void read_trace(void) {
    char reason[512];
    if (!given.trace_path) return;
    demand_that(trace_read(&given.trace, given.trace_path, reason, sizeof(reason)), reason);
    demand_that(given.trace.count > 0, "the trace is empty");
    for (size_t i = 0; i < given.trace.count; i++)
        if (given.trace.rows[i].key_length > given.key_bytes_max)
            given.key_bytes_max = given.trace.rows[i].key_length;
}

static void check_common(void) {
    demand_that(given.port && given.port < 65536, "--port is 1 to 65535");
    demand_that(given.connections <= CONNECTIONS_MAX && given.pipeline <= PIPELINE_MAX,
                "--connections and --pipeline are at most 10^6");
    demand_that(given.connections && given.pipeline && given.databases && given.keys,
                "--connections, --pipeline, --databases and --keys are at least 1");
    demand_that(given.first_key + given.keys < 1000000000000u, "keys have twelve digits");
}

static void check_count(void) {
    if (given.keyspace == KEYSPACE_SEQUENTIAL && !given.requests) given.requests = given.keys;
    demand_that(given.hold || given.requests || given.seconds > 0,
                "--seconds or --requests is needed");
    demand_that(!given.slots || given.keyspace == KEYSPACE_SEQUENTIAL,
                "--slots is for --command fill, whose keys come in turn");
}

static void check_record(void) {
    demand_that(given.closed || given.arrivals.count || (given.trace_path && given.trace_speed > 0),
                "--rate is needed, or --arrivals closed, or --trace with --trace-speed");
    demand_that(given.seconds > 0, "--seconds is needed");
    demand_that(given.seconds + given.drain_s < 4000, "a run has at most 4000 seconds");
    demand_that(given.fields && given.fields_at_once <= FIELDS_AT_ONCE_MAX &&
                    (!given.fields_at_once || given.fields % given.fields_at_once == 0),
                "--fields is a multiple of --fields-at-once, which is at most 1000");
    demand_that(given.slow_pipeline && given.slow_pipeline <= 1000000,
                "--slow-pipeline is 1 to 10^6");
}

static const struct row *find_row(const char *word) {
    size_t r = 0;
    while (r < ROWS && (strncmp(word, "--", 2) || strcmp(word + 2, rows[r].name) ||
                        !(rows[r].loops & 1u << given.loop)))
        r++;
    demand_that(r < ROWS, "an option that does not exist; --help lists them");
    return &rows[r];
}

void load_options_read(int argc, char **argv, struct load_options *options) {
    int loop = argc > 1 ? find_word("count|record", argv[1]) : -1;
    demand_that(loop >= 0, "the first word is count or record; each has its --help");
    given.loop = (enum loop)loop;
    size_law_parse(given.loop == LOOP_COUNT ? "32" : "200", VALUE_BYTES_MAX, &given.value_bytes);
    size_law_parse("16", KEY_BYTES_MAX, &given.key_bytes);
    size_law_parse("60000", TTL_MSEC_MAX, &given.ttl_msec);
    for (int i = 2; i < argc; i += 2) {
        if (!strcmp(argv[i], "--help")) {
            print_help();
            exit(0);
        }
        const struct row *row = find_row(argv[i]);
        demand_that(i + 1 < argc, "an option without its value");
        if (!parse_value(row, argv[i + 1])) refuse_value(row->name, argv[i + 1]);
    }
    given.key_bytes_max =
        given.key_bytes.kind == SIZE_UNIFORM ? (uint64_t)given.key_bytes.high : KEY_BYTES_MAX;
    if (given.key_bytes_max < 16) given.key_bytes_max = 16;
    read_trace();
    check_common();
    given.loop == LOOP_COUNT ? check_count() : check_record();
    given.target.address.port = (int)given.port;
    given.arrivals.due_s = 0;
    for (unsigned i = 0; i < given.arrivals.count; i++)
        given.arrivals.steps[i].per_s /= (double)given.pipeline;
    if (given.held_keys == UINT64_MAX) given.held_keys = given.keys;
    *options = given;
}
