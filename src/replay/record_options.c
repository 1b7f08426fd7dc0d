/* SPDX-License-Identifier: BSD-3-Clause
 * Options of `redis-lab record` as rows.
 */
#include "replay/record_options.h"

#define SECONDS_MAX 31536000 /* a year */
#define REQUESTS_MAX (INT64_C(1) << 50)

#define TYPE struct record_options
#define PLACE(field) TOOL_PLACE(TYPE, field)
#define GROUP "Recording"

static bool take_record_uri(void *settings, const char *value, char *reason, size_t reason_size) {
    TYPE *o = settings;
    return tool_connection_take_uri(&o->connection, value, reason, reason_size);
}

static const struct tool_option rows[] = {
    TOOL_CONNECTION_ROWS(TYPE, connection, take_record_uri),
    {.name = "-3", .help = "Speak RESP3.", .group = TOOL_CONNECTION_GROUP, .flag = PLACE(resp3)},
    TOOL_TLS_ROWS(TYPE, connection),
    {.name = "--out",
     .argument = "file",
     .help = "The file to write.",
     .group = GROUP,
     .text = PLACE(out),
     .completes = "file"},
    {.name = "--force",
     .help = "Overwrite the file where there is one.",
     .group = GROUP,
     .flag = PLACE(force)},
    {.name = "--sample",
     .argument = "number",
     .help = "Record the requests of one key in so many (100; where the server's trace-sample is "
             "set already, its value).",
     .group = GROUP,
     .number = PLACE(sample),
     .least = 1,
     .most = INT32_MAX},
    {.name = "--seconds",
     .argument = "number",
     .help = "End after so many seconds. Without it, and without --requests: at Ctrl-C.",
     .group = GROUP,
     .real = PLACE(seconds),
     .least = 0,
     .most = SECONDS_MAX},
    {.name = "--requests",
     .argument = "number",
     .help = "End after so many recorded requests.",
     .group = GROUP,
     .number = PLACE(requests),
     .least = 1,
     .most = REQUESTS_MAX},
    {.name = "--hashed",
     .help = "Have the server hash the keys, so that no name of a key leaves it.",
     .group = GROUP,
     .flag = PLACE(hashed)},
    {.name = "--buffer",
     .argument = "size",
     .help = "Set the server's trace-buffer-size while recording, such as 16mb: where requests are "
             "missing in the trace.",
     .group = GROUP,
     .text = PLACE(buffer)},
    {.name = "--help", .help = "Print this.", .group = GROUP, .flag = PLACE(help)},
};

static const char *const examples[] = {
    "redis-lab record --out load.trace --seconds 600",
    "redis-lab record -h cache1 --out cache1.trace --sample 1000 --hashed",
    NULL,
};

const struct tool_options record_tool_options = {
    .program = "redis-lab record",
    .summary = "Writes a sample of a server's requests, without their values, to a file.",
    .synopsis = "[option ...] --out file",
    .rows = rows,
    .count = sizeof(rows) / sizeof(rows[0]),
    .examples = examples,
};

bool record_options_read(struct record_options *o, int count, char *const *words,
                         char reason[TOOL_REASON_CHARS]) {
    *o = (struct record_options){0};
    tool_connection_init(&o->connection);
    int taken = tool_options_read(&record_tool_options, o, count, words, reason);
    if (taken < 0) return false;
    if (o->help) return true;
    if (taken < count) {
        snprintf(reason, TOOL_REASON_CHARS, "%.100s is no option", words[taken]);
        return false;
    }
    if (!o->out)
        snprintf(reason, TOOL_REASON_CHARS, "--out names the file to write: it is missing");
    return o->out != NULL;
}
