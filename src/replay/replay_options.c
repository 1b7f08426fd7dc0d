/* SPDX-License-Identifier: BSD-3-Clause
 * Options of `redis-lab replay` as rows.
 */
#include "replay/replay_options.h"

#include <string.h>

#include "base/number.h"
#include "replay/replay_load.h"
#include "replay/replay_trace.h"

#define CLIENTS_MAX 10000
#define PIPELINE_MAX 500 /* half a batch of load/, with SELECT before each request */
#define SECONDS_MAX 31536000
/* So 50 connections may each have the largest request under way. */
#define MEMORY_USUAL (INT64_C(1) << 30)
#define MEMORY_MOST (INT64_C(1) << 40)

#define TYPE struct replay_options
#define PLACE(field) TOOL_PLACE(TYPE, field)
#define GROUP "Replay"

static bool take_replay_uri(void *settings, const char *value, char *reason, size_t reason_size) {
    TYPE *o = settings;
    return tool_connection_take_uri(&o->connection, value, reason, reason_size);
}

static bool take_pace(void *settings, const char *value, char *reason, size_t reason_size) {
    TYPE *o = settings;
    if (!strcmp(value, "max")) {
        o->pace = 0;
        return true;
    }
    if (replay_pace_parse(value, &o->pace)) return true;
    snprintf(reason, reason_size, "--pace wants a number from 0.001 to 1000, or max");
    return false;
}

static bool take_memory(void *settings, const char *value, char *reason, size_t reason_size) {
    TYPE *o = settings;
    uint64_t bytes;
    bool good = number_parse_bytes(value, strlen(value), &bytes) && bytes >= REPLAY_MEMORY_LEAST &&
                bytes <= (uint64_t)MEMORY_MOST;
    if (good) {
        o->memory = (int64_t)bytes;
    } else {
        snprintf(reason, reason_size, "--memory wants a size from 64mb to 1tb");
    }
    return good;
}

static const struct tool_option rows[] = {
    TOOL_CONNECTION_ROWS(TYPE, connection, take_replay_uri),
    TOOL_TLS_ROWS(TYPE, connection),
    {.name = "--pace",
     .argument = "factor",
     .help = "1: as recorded; 2: twice as fast; 0.5: at half the pace; max: each connection sends "
             "its next request when the one before is answered (1).",
     .group = GROUP,
     .text = PLACE(pace_text),
     .completes = "0.5 1 2 max",
     .take = take_pace},
    {.name = "--clients",
     .other = "-c",
     .argument = "number",
     .help = "Parallel connections (50).",
     .group = GROUP,
     .number = PLACE(clients),
     .least = 1,
     .most = CLIENTS_MAX},
    {.name = "--pipeline",
     .other = "-P",
     .argument = "number",
     .help = "Requests sent at once on a connection, with --pace max (1).",
     .group = GROUP,
     .number = PLACE(pipeline),
     .least = 1,
     .most = PIPELINE_MAX},
    {.name = "--preload",
     .help = "First create the keys that were there before their first request, with the recorded "
             "sizes and times to live.",
     .group = GROUP,
     .flag = PLACE(preload)},
    {.name = "--fill",
     .help = "Where GET, GETEX, GETDEL or MGET misses a key that was there when the trace was "
             "recorded, create it, as a client does that keeps copies of a database in the server.",
     .group = GROUP,
     .flag = PLACE(fill)},
    {.name = "--memory",
     .argument = "size",
     .help = "Have requests of so many bytes under way at most (1gb); what would be more is left "
             "out and counted.",
     .group = GROUP,
     .text = PLACE(memory_text),
     .take = take_memory},
    {.name = "--seconds",
     .argument = "number",
     .help = "End after so many seconds.",
     .group = GROUP,
     .real = PLACE(seconds),
     .least = 0,
     .most = SECONDS_MAX},
    {.name = "--json",
     .help = "Print JSON instead of the table.",
     .group = GROUP,
     .flag = PLACE(json)},
    {.name = "--help", .help = "Print this.", .group = GROUP, .flag = PLACE(help)},
};

static const char *const examples[] = {
    "redis-lab replay load.trace -p 7000",
    "redis-lab replay load.trace -p 7000 --pace 2 --preload",
    "redis-lab replay load.trace -p 7000 --pace max --fill -P 16",
    NULL,
};

const struct tool_options replay_tool_options = {
    .program = "redis-lab replay",
    .summary = "Sends the requests of a recorded trace to a server, with values of their sizes.",
    .synopsis = "file [option ...]",
    .rows = rows,
    .count = sizeof(rows) / sizeof(rows[0]),
    .examples = examples,
};

bool replay_options_read(struct replay_options *o, int count, char *const *words,
                         char reason[TOOL_REASON_CHARS]) {
    *o = (struct replay_options){.pace = 1, .clients = 50, .pipeline = 1, .memory = MEMORY_USUAL};
    tool_connection_init(&o->connection);
    if (!tool_options_read_with_file(&replay_tool_options, o, count, words, &o->file, reason))
        return false;
    if (o->help) return true;
    if (!o->file) {
        snprintf(reason, TOOL_REASON_CHARS, "the trace file is missing");
        return false;
    }
    if (o->pipeline > 1 && o->pace > 0) {
        snprintf(reason, TOOL_REASON_CHARS, "--pipeline wants --pace max");
        return false;
    }
    return true;
}
