/* SPDX-License-Identifier: BSD-3-Clause
 * TRACE: fetches the requests that report/trace.c has recorded.
 *
 * A record is an array: its id, the wall time in microseconds, the client's id, the database, 1
 * where a script has made the call, and the request, an array again. In it
 *
 *   a text                    is kept as it was: the command's name, an option, a number of one
 *   an integer                stands for a value of so many bytes
 *   [key bytes ttl]           is a sampled key: the bytes that it took before the call, its time to
 *                             live in ms or -1
 *   [key nil]                 is a sampled key that did not exist
 *   [key]                     is a key that is not sampled
 */
#include "commands/trace.h"

#include "base/hash.h"
#include "base/random.h"
#include "command/arguments.h"
#include "command/call.h"
#include "command/command.h"
#include "command/row.h"
#include "net/reply.h"
#include "report/trace.h"

#define COUNT_DEFAULT 100
/* With the bound of a record these bound a reply, which the output buffer holds at once. */
#define COUNT_MAX 10000
#define REPLY_BYTES_MAX (1 << 20)

#define SALT_BYTES 16
#define HASH_CHARS 16

static char salt[SALT_BYTES];
static bool salted;

/* A key's stand-in: a keyed hash that differs from the one of the tables, which no client may
 * learn. */
static void reply_hashed(struct client *c, struct slice key) {
    struct buffer text;
    if (!salted) random_secret(salt, sizeof(salt));
    salted = true;
    buffer_init(&text, MEMORY_OTHER);
    buffer_append(&text, salt, sizeof(salt));
    buffer_append(&text, key.bytes, key.length);
    uint64_t hash = hash_bytes(text.bytes, text.length);
    buffer_clear(&text);
    buffer_printf(&text, "%016llx", (unsigned long long)hash);
    reply_bulk(c, buffer_slice(&text));
    buffer_free(&text);
}

static void reply_trace_key(struct client *c, const struct trace_argument *a, bool hashed) {
    bool sampled = a->kind == TRACE_KEY, exists = a->bytes >= 0;
    reply_array(c, !sampled ? 1 : exists ? 3 : 2);
    if (hashed)
        reply_hashed(c, a->text);
    else
        reply_bulk(c, a->text);
    if (!sampled) return;
    if (!exists) {
        reply_null(c);
        return;
    }
    reply_integer(c, a->bytes);
    reply_integer(c, a->ttl_msec);
}

static void reply_record(struct client *c, const struct trace_record *record, bool hashed) {
    struct trace_argument argument;
    const char *cursor = NULL;
    reply_array(c, 6);
    reply_integer(c, (int64_t)record->id);
    reply_integer(c, record->wall_usec);
    reply_integer(c, (int64_t)record->client);
    reply_integer(c, record->database);
    reply_integer(c, record->by_script);
    reply_array(c, record->arguments);
    while (trace_record_next(record, &cursor, &argument)) {
        if (argument.kind == TRACE_VALUE)
            reply_integer(c, argument.size);
        else if (argument.kind == TRACE_WORD)
            reply_bulk(c, argument.text);
        else
            reply_trace_key(c, &argument, hashed);
    }
}

static void trace_read(struct call *call) {
    int64_t count = COUNT_DEFAULT;
    bool hashed = argument_is(call, call->argc - 1, "hashed");
    if (call->argc - hashed == 3 && !argument_int64_between(call, 2, 1, COUNT_MAX, &count)) return;
    if (call->argc - hashed == 4) {
        reply_syntax_error(call->client);
        return;
    }
    struct reply_group group = reply_array_begin(call->client);
    const struct trace_record *record;
    int64_t done = 0;
    for (size_t bytes = 0; done < count && bytes < REPLY_BYTES_MAX; done++) {
        record = trace_oldest();
        if (!record) break;
        bytes += record->bytes;
        reply_record(call->client, record, hashed);
        trace_take();
    }
    reply_group_end(&group, done);
}

static void reply_figure(struct client *c, const char *name, int64_t value) {
    reply_bulk_c_string(c, name);
    reply_integer(c, value);
}

static void trace_reply_status(struct call *call) {
    struct client *c = call->client;
    struct trace_status s = trace_status();
    reply_map(c, 8);
    reply_figure(c, "sample", s.sample);
    reply_figure(c, "buffer_bytes", s.buffer_bytes);
    reply_figure(c, "waiting", (int64_t)s.waiting);
    reply_figure(c, "waiting_bytes", (int64_t)s.waiting_bytes);
    reply_figure(c, "next_id", (int64_t)s.next_id);
    reply_figure(c, "recorded", (int64_t)s.recorded);
    reply_figure(c, "dropped", (int64_t)s.dropped);
    reply_figure(c, "without_keys", (int64_t)s.without_keys);
}

static void trace_forget(struct call *call) {
    trace_reset();
    reply_ok(call->client);
}

static const char *const help[] = {
    "READ [<count>] [HASHED]",
    "    Takes the oldest <count> requests (100 unless given, at most 10,000) out of the buffer.",
    "    HASHED: keys as hashes that only this run of the server makes.",
    "STATUS",
    "    The options, what waits to be read, and what was recorded and dropped.",
    "RESET",
    "    Empties the buffer.",
    NULL,
};

static void trace_help(struct call *call) { reply_help(call, help); }

static const struct subcommand subcommands[] = {
    {"read", 2, 4, trace_read},
    {"status", 2, 2, trace_reply_status},
    {"reset", 2, 2, trace_forget},
    {"help", 2, 2, trace_help},
};

static void command_trace(struct call *call) {
    subcommand_run(call, subcommands, sizeof(subcommands) / sizeof(subcommands[0]));
}

static struct command rows[] = {
    COMMAND("trace", command_trace, -2, ADMIN | NO_SCRIPT | BY_CHANCE | ANYTIME, NO_CATEGORY,
            NO_KEYS, "A sample of the requests, without values: READ, STATUS, RESET."),
};

void commands_trace_register(void) { command_register(COMMAND_ROWS(rows)); }
