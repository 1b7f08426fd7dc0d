/* SPDX-License-Identifier: BSD-3-Clause
 * Options of `redis-lab experiment` as rows.
 */
#include "experiment/experiment_options.h"

#include <string.h>

#include "replay/replay_trace.h"

#define BLOCK_SECONDS_MAX 300
#define ROUNDS_MAX 1000
/* A server answers INFO in some hundred microseconds: more often, and the watching shows. */
#define INTERVAL_MSEC_LEAST 100
#define INTERVAL_MSEC_MOST 10000
#define RATE_MAX 100000000
#define CLIENTS_MAX 100000
#define THREADS_MAX 64
#define PIPELINE_MAX 10000
#define KEYSPACE_MAX INT64_C(1000000000000) /* twelve digits */
#define VALUE_BYTES_USUAL 3
#define VALUE_BYTES_MAX (INT64_C(64) * 1024 * 1024)

#define TYPE struct experiment_options
#define PLACE(field) TOOL_PLACE(TYPE, field)
#define GROUP_COMPARED "What is compared"
#define GROUP_BLOCKS "Blocks"
#define GROUP_FIGURES "Figures"
#define GROUP_LOAD "Load"
#define GROUP_OUTPUT "Output"

static bool take_experiment_uri(void *settings, const char *value, char *reason,
                                size_t reason_size) {
    TYPE *o = settings;
    return tool_connection_take_uri(&o->connection, value, reason, reason_size);
}

/* Appends a word to a list of at most `most` words. */
static bool append_word(const char **list, unsigned *count, unsigned most, const char *word,
                        const char *option, char *reason, size_t reason_size) {
    if (*count == most) {
        snprintf(reason, reason_size, "%s can be given %u times at most", option, most);
        return false;
    }
    list[(*count)++] = word;
    return true;
}

static bool take_one_set(void *settings, const char *value, char *reason, size_t reason_size) {
    TYPE *o = settings;
    return append_word(o->sets, &o->set_count, EXPERIMENT_SETS_MAX, value, "--set", reason,
                       reason_size);
}

static bool take_one_profile(void *settings, const char *value, char *reason, size_t reason_size) {
    TYPE *o = settings;
    return append_word(o->profiles, &o->profile_count, EXPERIMENT_PROFILES_MAX, value, "--profile",
                       reason, reason_size);
}

static bool take_one_start(void *settings, const char *value, char *reason, size_t reason_size) {
    TYPE *o = settings;
    return append_word(o->starts, &o->start_count, EXPERIMENT_STARTS_MAX, value, "--start", reason,
                       reason_size);
}

static bool take_one_stop(void *settings, const char *value, char *reason, size_t reason_size) {
    TYPE *o = settings;
    return append_word(o->stops, &o->stop_count, EXPERIMENT_STOPS_MAX, value, "--stop-if", reason,
                       reason_size);
}

static bool take_trace_pace(void *settings, const char *value, char *reason, size_t reason_size) {
    TYPE *o = settings;
    if (replay_pace_parse(value, &o->pace)) return true;
    snprintf(reason, reason_size, "--pace wants a number from 0.001 to 1000");
    return false;
}

static const struct tool_option rows[] = {
    TOOL_CONNECTION_ROWS(TYPE, connection, take_experiment_uri),
    {.name = "-3", .help = "Speak RESP3.", .group = TOOL_CONNECTION_GROUP, .flag = PLACE(resp3)},
    TOOL_TLS_ROWS(TYPE, connection),
    {.name = "--set",
     .argument = "name=value,...",
     .help = "An option of the server and the values to try. One value alone is tried against the "
             "value that the server has. Given several times: several options, one at a time, all "
             "others as they were.",
     .group = GROUP_COMPARED,
     .take = take_one_set},
    {.name = "--grid",
     .help = "Try all combinations of the --set options' values.",
     .group = GROUP_COMPARED,
     .flag = PLACE(grid)},
    {.name = "--profile",
     .argument = "file",
     .help = "A configuration file whose options are set together. Given several times: the files "
             "are tried against each other; once: against the values that the server has.",
     .group = GROUP_COMPARED,
     .completes = "file",
     .take = take_one_profile},
    {.name = "--against",
     .argument = "host:port",
     .help = "A second server, measured as it is, in turn with the first one.",
     .group = GROUP_COMPARED,
     .text = PLACE(against)},
    {.name = "--start",
     .argument = "command",
     .help = "Start a server by this command for each value, on this machine, instead of setting "
             "values on one that runs: for options that only a start can set. All of them run at "
             "once and get the load in turn. Given several times: the servers are compared.",
     .group = GROUP_COMPARED,
     .take = take_one_start},
    {.name = "--block",
     .argument = "seconds",
     .help = "How long each value is measured at a time (5).",
     .group = GROUP_BLOCKS,
     .real = PLACE(block_s),
     .least = 1,
     .most = BLOCK_SECONDS_MAX},
    {.name = "--settle",
     .argument = "seconds",
     .help = "Pause after a value is set, before its block begins (1).",
     .group = GROUP_BLOCKS,
     .real = PLACE(settle_s),
     .least = 0,
     .most = BLOCK_SECONDS_MAX},
    {.name = "--rounds",
     .argument = "number",
     .help = "Rounds; each one has a block of each value, in random order (10).",
     .group = GROUP_BLOCKS,
     .number = PLACE(rounds),
     .least = 1,
     .most = ROUNDS_MAX},
    {.name = "--each-block",
     .argument = "command",
     .help = "Send this command when each block begins, such as BGSAVE.",
     .group = GROUP_BLOCKS,
     .text = PLACE(each_block)},
    {.name = "--seed",
     .argument = "number",
     .help = "Repeat the order of a run that printed this seed.",
     .group = GROUP_BLOCKS,
     .number = PLACE(seed),
     .least = 1,
     .most = INT64_MAX},
    {.name = "--rate",
     .argument = "number",
     .help = "Send so many requests a second, as an open loop: -t, or a command after all options, "
             "says which. Without it and without --trace nothing is sent, and the load is that of "
             "the server's own clients.",
     .group = GROUP_LOAD,
     .number = PLACE(rate),
     .least = 1,
     .most = RATE_MAX},
    {.name = "--trace",
     .argument = "file",
     .help =
         "Send the requests of this trace, which redis-lab record has written, as they were due "
         "then, and again from its beginning when it is through.",
     .group = GROUP_LOAD,
     .text = PLACE(trace),
     .completes = "file"},
    {.name = "--pace",
     .argument = "factor",
     .help = "Of --trace; 1: as recorded; 2: twice as fast; 0.5: at half the pace (1).",
     .group = GROUP_LOAD,
     .text = PLACE(pace_text),
     .completes = "0.5 1 2",
     .take = take_trace_pace},
    {.name = "-t",
     .argument = "tests",
     .help = "Requests of these tests of redis-benchmark, which take turns: set,get.",
     .group = GROUP_LOAD,
     .text = PLACE(tests),
     .completes = "ping set get incr lpush rpush lpop rpop sadd hset spop zadd zpopmin lrange "
                  "mset"},
    {.name = "-c",
     .argument = "clients",
     .help = "Parallel connections (50).",
     .group = GROUP_LOAD,
     .number = PLACE(clients),
     .least = 1,
     .most = CLIENTS_MAX},
    {.name = "-r",
     .argument = "keyspacelen",
     .help = "Each __rand_int__ in a request becomes a random number of twelve digits below this.",
     .group = GROUP_LOAD,
     .number = PLACE(keyspace),
     .most = KEYSPACE_MAX},
    {.name = "-d",
     .argument = "size",
     .help = "Bytes of a value of SET and its like (3).",
     .group = GROUP_LOAD,
     .number = PLACE(value_bytes),
     .least = 1,
     .most = VALUE_BYTES_MAX},
    {.name = "-P",
     .argument = "numreq",
     .help = "Requests sent at once on a connection (1).",
     .group = GROUP_LOAD,
     .number = PLACE(pipeline),
     .least = 1,
     .most = PIPELINE_MAX},
    {.name = "--threads",
     .argument = "num",
     .help = "Threads that send the load (1).",
     .group = GROUP_LOAD,
     .number = PLACE(threads),
     .least = 1,
     .most = THREADS_MAX},
    {.name = "--goal",
     .argument = "figure",
     .help = "The figure that decides which value is best: p50, p99, max of the latency (of the "
             "load's requests, or else of PINGs), or any name that --json prints, such as "
             "hit_percent (p99).",
     .group = GROUP_FIGURES,
     .text = PLACE(goal)},
    {.name = "--stop-if",
     .argument = "figure>limit",
     .help = "Put the old values back at once and end when a figure passes a limit, such as "
             "p99>50ms or hit_percent<80. May be given several times.",
     .group = GROUP_FIGURES,
     .take = take_one_stop},
    {.name = "--interval",
     .argument = "msec",
     .help = "Time between two readings of INFO (500).",
     .group = GROUP_FIGURES,
     .number = PLACE(interval_msec),
     .least = INTERVAL_MSEC_LEAST,
     .most = INTERVAL_MSEC_MOST},
    {.name = "--probe-interval",
     .argument = "msec",
     .help = "Time between two PINGs that measure the latency (5).",
     .group = GROUP_FIGURES,
     .number = PLACE(probe_msec),
     .least = 1,
     .most = 1000},
    {.name = "--json",
     .help = "Print JSON instead of the table.",
     .group = GROUP_OUTPUT,
     .flag = PLACE(json)},
    {.name = "--csv",
     .argument = "file",
     .help = "Write a line for each block to this file.",
     .group = GROUP_OUTPUT,
     .text = PLACE(csv),
     .completes = "file"},
    {.name = "--html",
     .argument = "file",
     .help = "Write a page with the results and their timelines to this file.",
     .group = GROUP_OUTPUT,
     .text = PLACE(html),
     .completes = "file"},
    {.name = "--help", .help = "Print this.", .group = GROUP_OUTPUT, .flag = PLACE(help)},
};

static const char *const examples[] = {
    "redis-lab experiment --set maxmemory-eviction-cpu-budget=5,10,25,100",
    "redis-lab experiment --set snapshot-method=fork,walk --each-block BGSAVE",
    "redis-lab experiment --set hz=10,500 --rate 20000 -t set,get -r 100000",
    "redis-lab experiment --set maxmemory-policy=allkeys-lru,allkeys-lfu --goal hit_percent",
    "redis-lab experiment -p 7000 --set hz=10,100 --stop-if 'p99>50ms' --html result.html",
    "redis-lab experiment --start redis-server --set io-threads=1,4 --rate 50000 -t get",
    "redis-lab experiment --trace load.trace --pace 2 --set maxmemory-samples=5,10",
    NULL,
};

const struct tool_options experiment_tool_options = {
    .program = "redis-lab experiment",
    .summary =
        "Tries values of a server's options in turn, and says which differences stand out "
        "of the noise.",
    .synopsis = "[option ...] [command [argument ...]]",
    .rows = rows,
    .count = sizeof(rows) / sizeof(rows[0]),
    .examples = examples,
};

static bool refuse_options(char reason[TOOL_REASON_CHARS], const char *why) {
    snprintf(reason, TOOL_REASON_CHARS, "%s", why);
    return false;
}

/* What --start wants, and what has no meaning for servers that the tool starts. */
static bool check_started(const struct experiment_options *o, char reason[TOOL_REASON_CHARS]) {
    struct tool_connection plain;
    tool_connection_init(&plain);
    bool has_values = o->set_count || o->profile_count;
    if (!experiment_options_send(o))
        return refuse_options(reason, "--start wants --rate or --trace: nobody else sends a load");
    if (o->start_count > 1 && has_values)
        return refuse_options(reason, "several --start exclude --set and --profile");
    if (o->start_count == 1 && !has_values && !o->against)
        return refuse_options(reason,
                              "nothing to compare with --start: --set, --profile, "
                              "--against or a second --start");
    if (o->connection.path || o->connection.uri || o->connection.tls.enabled ||
        strcmp(o->connection.host, plain.host) != 0 || o->connection.port != plain.port)
        return refuse_options(reason,
                              "--start chooses the address itself: no -h, -p, -s, -u or "
                              "--tls");
    return true;
}

/* Tests what the load's options say together, and completes them. */
static bool check_load(struct experiment_options *o, char reason[TOOL_REASON_CHARS]) {
    bool has_shape = o->tests || o->pipeline > 1 || o->threads > 1 || o->keyspace >= 0 ||
                     o->value_bytes != VALUE_BYTES_USUAL;
    if (o->trace && o->rate)
        return refuse_options(reason,
                              "--trace and --rate exclude each other: --pace is the "
                              "trace's rate");
    if (o->trace && (has_shape || o->command_count))
        return refuse_options(reason,
                              "the requests are those of --trace: no -t, -r, -d, -P, --threads, "
                              "and no command");
    if (o->pace_text && !o->trace) return refuse_options(reason, "--pace wants --trace");
    if (o->trace && !*o->trace) return refuse_options(reason, "--trace wants a file");
    if (o->command_count && !o->rate) {
        snprintf(reason, TOOL_REASON_CHARS, "%.100s is no option; a command wants --rate",
                 *o->command);
        return false;
    }
    if (o->rate && !o->tests == !o->command_count)
        return refuse_options(reason, "--rate wants either -t or a command");
    if (o->tests && !o->rate) return refuse_options(reason, "-t wants --rate");
    if (o->threads > o->clients) o->threads = o->clients;
    return true;
}

bool experiment_options_read(struct experiment_options *o, int count, char *const *words,
                             char reason[TOOL_REASON_CHARS]) {
    *o = (struct experiment_options){.pace = 1,
                                     .block_s = 5,
                                     .settle_s = 1,
                                     .rounds = 10,
                                     .interval_msec = 500,
                                     .probe_msec = 5,
                                     .clients = 50,
                                     .threads = 1,
                                     .pipeline = 1,
                                     .value_bytes = VALUE_BYTES_USUAL,
                                     .keyspace = -1};
    tool_connection_init(&o->connection);
    int taken = tool_options_read(&experiment_tool_options, o, count, words, reason);
    if (taken < 0) return false;
    if (o->help) return true;
    o->command = words + taken;
    o->command_count = count - taken;
    if (!check_load(o, reason)) return false;
    if (o->set_count && o->profile_count)
        return refuse_options(reason, "--set and --profile exclude each other");
    if (o->grid && o->set_count < 2)
        return refuse_options(reason, "--grid wants two --set options at least");
    if (o->start_count) return check_started(o, reason);
    if (!o->set_count && !o->profile_count && !o->against)
        return refuse_options(reason, "nothing to compare: --set, --profile or --against");
    return true;
}
