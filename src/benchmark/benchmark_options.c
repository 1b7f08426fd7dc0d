/* SPDX-License-Identifier: BSD-3-Clause
 * Options of redis-benchmark as rows. Names and defaults are those of 6.2, except for the group
 * "Beyond 6.2".
 */
#include "benchmark/benchmark_options.h"

/* The longest value that a server takes. */
#define VALUE_BYTES_MAX (INT64_C(512) * 1024 * 1024)
/* More clients are taken for a typing mistake: each one needs buffers and a file descriptor. */
#define CLIENTS_MAX 1000000
#define THREADS_MAX 1024
#define PIPELINE_MAX 1000000
#define KEYSPACE_MAX INT64_C(1000000000000) /* twelve digits */
#define RATE_MAX 1000000000
#define ROUNDS_MAX 1000
#define SECONDS_MAX 1000000

#define TYPE struct benchmark_options
#define PLACE(field) TOOL_PLACE(TYPE, field)
#define GROUP_LOAD "Load"
#define GROUP_MORE "Beyond 6.2"
#define GROUP_OUTPUT "Output"
#define GROUP_KIND "Connections"

static bool take_uri(void *settings, const char *value, char *reason, size_t reason_size) {
    struct benchmark_options *o = settings;
    return tool_connection_take_uri(&o->connection, value, reason, reason_size);
}

static const struct tool_option rows[] = {
    TOOL_CONNECTION_ROWS(TYPE, connection, take_uri),
    {.name = "--dbnum",
     .argument = "db",
     .help = "Database to select (0).",
     .group = TOOL_CONNECTION_GROUP,
     .number = PLACE(connection.database),
     .most = INT32_MAX},
    {.name = "-3", .help = "Speak RESP3.", .group = TOOL_CONNECTION_GROUP, .flag = PLACE(resp3)},
    TOOL_TLS_ROWS(TYPE, connection),
    {.name = "-c",
     .argument = "clients",
     .help = "Parallel connections (50).",
     .group = GROUP_LOAD,
     .number = PLACE(clients),
     .least = 1,
     .most = CLIENTS_MAX},
    {.name = "-n",
     .argument = "requests",
     .help = "Requests in all (100000).",
     .group = GROUP_LOAD,
     .number = PLACE(requests),
     .least = 1,
     .most = INT64_MAX},
    {.name = "-d",
     .argument = "size",
     .help = "Bytes of a value of SET and its like (3).",
     .group = GROUP_LOAD,
     .number = PLACE(value_bytes),
     .least = 1,
     .most = VALUE_BYTES_MAX},
    {.name = "-r",
     .argument = "keyspacelen",
     .help = "Each __rand_int__ in a request becomes a number of twelve digits below this, another "
             "one each time; the tests have it in keys, members and scores. Without -r it is sent "
             "as it stands.",
     .group = GROUP_LOAD,
     .number = PLACE(keyspace),
     .most = KEYSPACE_MAX},
    {.name = "-P",
     .argument = "numreq",
     .help = "Requests sent at once on a connection: pipelining (1).",
     .group = GROUP_LOAD,
     .number = PLACE(pipeline),
     .least = 1,
     .most = PIPELINE_MAX},
    {.name = "-k",
     .argument = "boolean",
     .help = "1 = keep connections, 0 = a new one for each batch (1).",
     .group = GROUP_LOAD,
     .number = PLACE(keep_alive),
     .most = 1},
    {.name = "--threads",
     .argument = "num",
     .help = "Threads that share the connections (1; with --cluster, one for each primary).",
     .group = GROUP_LOAD,
     .number = PLACE(threads),
     .least = 1,
     .most = THREADS_MAX},
    {.name = "-t",
     .argument = "tests",
     .help = "Only these tests, by the names that are printed, with commas between them.",
     .group = GROUP_LOAD,
     .text = PLACE(tests),
     .completes = "ping set get incr lpush rpush lpop rpop sadd hset spop zadd zpopmin lrange "
                  "mset"},
    {.name = "-l", .help = "All tests again and again.", .group = GROUP_LOAD, .flag = PLACE(loops)},
    {.name = "-I",
     .help = "Only open the connections, and wait.",
     .group = GROUP_LOAD,
     .flag = PLACE(idle)},
    {.name = "-x",
     .help = "The last argument of a command of your own comes from standard input.",
     .group = GROUP_LOAD,
     .flag = PLACE(from_stdin)},
    {.name = "--enable-tracking",
     .help = "CLIENT TRACKING ON for each connection.",
     .group = GROUP_LOAD,
     .flag = PLACE(tracking)},
    {.name = "--cluster",
     .help =
         "Load on all primaries of a cluster. In a key, {tag} becomes the hash tag of a slot of "
         "the node that gets the request; the tests' keys have it.",
     .group = GROUP_LOAD,
     .flag = PLACE(cluster)},
    {.name = "--rate",
     .argument = "R",
     .help = "Open loop: R requests a second are due at fixed times, whatever the server does; "
             "latency counts from when one was due.",
     .group = GROUP_MORE,
     .number = PLACE(rate),
     .least = 1,
     .most = RATE_MAX},
    {.name = "--duration",
     .argument = "seconds",
     .help = "Each test takes so long, instead of -n requests.",
     .group = GROUP_MORE,
     .real = PLACE(duration_s),
     .most = SECONDS_MAX},
    {.name = "--warmup",
     .argument = "seconds",
     .help = "Load for so long before each test that is not counted (0).",
     .group = GROUP_MORE,
     .real = PLACE(warmup_s),
     .most = SECONDS_MAX},
    {.name = "--compare",
     .argument = "host:port",
     .help = "Run each test on this server too, in turn, and print ratios: the first server's "
             "figure divided by this one's. Or the path of a unix socket.",
     .group = GROUP_MORE,
     .text = PLACE(compare),
     .completes = "host"},
    {.name = "--rounds",
     .argument = "num",
     .help = "With --compare: how often each server has its turn (5).",
     .group = GROUP_MORE,
     .number = PLACE(rounds),
     .least = 1,
     .most = ROUNDS_MAX},
    {.name = "--seed",
     .argument = "num",
     .help = "Makes -r draw the numbers of this seed again (0: other ones each time).",
     .group = GROUP_MORE,
     .number = PLACE(seed),
     .most = INT64_MAX},
    {.name = "-q", .help = "Quiet: a line a test.", .group = GROUP_OUTPUT, .flag = PLACE(quiet)},
    {.name = "--csv",
     .help = "A line of names, then a line a test.",
     .group = GROUP_OUTPUT,
     .flag = PLACE(csv)},
    {.name = "--precision",
     .argument = "num",
     .help = "Decimals of milliseconds; fewer than 3 print 3, as in 6.2 (3).",
     .group = GROUP_OUTPUT,
     .number = PLACE(decimals),
     .most = 6},
    {.name = "-e",
     .help = "For 6.0's command lines: errors are shown and end the run, with or without it.",
     .group = GROUP_OUTPUT,
     .flag = PLACE(errors)},
    {.name = "--help", .help = "Print this.", .group = GROUP_OUTPUT, .flag = PLACE(help)},
    {.name = "--version",
     .other = "-v",
     .help = "Print the version.",
     .group = GROUP_OUTPUT,
     .flag = PLACE(version)},
};

static const char *const examples[] = {
    "redis-benchmark -t set,get -n 1000000 -r 100000 -P 16 -q",
    "redis-benchmark -r 10000 -n 100000 LPUSH list __rand_int__",
    "redis-benchmark -t get --rate 20000 --duration 30 --warmup 5",
    "redis-benchmark --cluster -t set,get -r 100000 -q",
    "redis-benchmark --cluster set 'user:{tag}:__rand_int__' x -r 1000",
    "redis-benchmark -p 6379 --compare 127.0.0.1:6380 -t set,get -P 16",
    NULL,
};

const struct tool_options benchmark_tool_options = {
    .program = "redis-benchmark",
    .summary =
        "Sends load to a server, and says how many requests a second it answers and how "
        "long each takes.",
    .synopsis = "[option ...] [command [argument ...]]",
    .rows = rows,
    .count = sizeof(rows) / sizeof(rows[0]),
    .examples = examples,
};

void benchmark_options_init(struct benchmark_options *o) {
    *o = (struct benchmark_options){.clients = 50,
                                    .requests = 100000,
                                    .value_bytes = 3,
                                    .keep_alive = 1,
                                    .pipeline = 1,
                                    .keyspace = -1,
                                    .rounds = 5};
    tool_connection_init(&o->connection);
}

int benchmark_options_read(struct benchmark_options *o, int count, char *const *words,
                           char reason[TOOL_REASON_CHARS]) {
    int taken = tool_options_read(&benchmark_tool_options, o, count, words, reason);
    if (taken < 0) return -1;
    if (o->decimals < 3) o->decimals = 3;
    if (o->from_stdin && taken == count) {
        snprintf(reason, TOOL_REASON_CHARS, "-x wants a command: its last argument is read");
        return -1;
    }
    return taken;
}
