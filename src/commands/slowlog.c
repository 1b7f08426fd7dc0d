/* SPDX-License-Identifier: BSD-3-Clause
 * SLOWLOG: shows and clears the slow log, which report/slowlog.c keeps.
 */
#include "commands/slowlog.h"

#include "command/arguments.h"
#include "command/call.h"
#include "command/command.h"
#include "command/row.h"
#include "net/reply.h"
#include "report/slowlog.h"

#define DEFAULT_COUNT 10

static void reply_slowlog_entry(struct client *c, const struct slowlog_entry *e) {
    reply_array(c, 6);
    reply_integer(c, e->id);
    reply_integer(c, e->wall_seconds);
    reply_integer(c, e->usec);
    reply_array(c, e->argc);
    for (int i = 0; i < e->argc; i++) reply_bulk(c, e->argv[i]);
    reply_bulk(c, e->address);
    reply_bulk(c, e->name);
}

static void reply_named_integer(struct client *c, const char *name, int64_t value) {
    reply_bulk_c_string(c, name);
    reply_integer(c, value);
}

static void reply_explanation(struct client *c, const struct slowlog_entry *e) {
    const struct attribution_span *s = &e->span;
    struct buffer verdict, advice;
    size_t fields = 0;
    for (unsigned i = 0; i < cause_count(); i++) fields += cause_at(i)->field != NULL;
    buffer_init(&verdict, MEMORY_OTHER);
    buffer_init(&advice, MEMORY_OTHER);
    slowlog_append_verdict(e, &verdict);
    slowlog_append_advice(e, &advice);
    reply_map(c, 8 + fields);
    reply_named_integer(c, "id", e->id);
    reply_bulk_c_string(c, "command");
    reply_array(c, e->argc);
    for (int i = 0; i < e->argc; i++) reply_bulk(c, e->argv[i]);
    reply_named_integer(c, "wall_usec", s->wall_usec);
    reply_named_integer(c, "cpu_usec", s->cpu_usec);
    reply_named_integer(c, "off_cpu_usec", s->off_cpu_usec);
    for (unsigned i = 0; i < cause_count(); i++) {
        const struct cause *cause = cause_at(i);
        if (cause->field) reply_named_integer(c, cause->field, s->cause_usec[cause->number]);
    }
    reply_named_integer(c, "involuntary_switches", s->involuntary_switches);
    reply_bulk_c_string(c, "verdict");
    reply_bulk(c, buffer_slice(&verdict));
    buffer_free(&verdict);
    reply_bulk_c_string(c, "advice");
    reply_bulk(c, buffer_slice(&advice));
    buffer_free(&advice);
}

/* GET and EXPLAIN: replies the newest entries, each in the form that `reply` makes. */
static void reply_entries(struct call *call,
                          void (*reply)(struct client *c, const struct slowlog_entry *e)) {
    int64_t count = DEFAULT_COUNT, length = (int64_t)slowlog_length();
    if (call->argc == 3 && !argument_int64(call, 2, &count, NULL)) return;
    if (count < 0 || count > length) count = length;
    reply_array(call->client, count);
    const struct slowlog_entry *e = slowlog_newest();
    for (; count > 0; count--, e = slowlog_older(e)) reply(call->client, e);
}

static const char *const help[] = {
    "GET [<count>]",
    "    The newest <count> entries (10 unless given, all if negative), each with its",
    "    id, time, duration in microseconds, arguments, client's address and name.",
    "EXPLAIN [<count>]",
    "    The entries that GET replies, each as a map that says where its time went: the thread's "
    "own",
    "    work, eviction, expiry, freeing, forking, or not running at all; a verdict in words, and",
    "    the option that moves it.",
    "LEN",
    "    How many entries there are.",
    "RESET",
    "    Forgets all entries.",
    NULL,
};

static void command_slowlog(struct call *call) {
    if (call->argc == 2 && argument_is(call, 1, "help")) {
        reply_help(call, help);
    } else if ((call->argc == 2 || call->argc == 3) && argument_is(call, 1, "get")) {
        reply_entries(call, reply_slowlog_entry);
    } else if ((call->argc == 2 || call->argc == 3) && argument_is(call, 1, "explain")) {
        reply_entries(call, reply_explanation);
    } else if (call->argc == 2 && argument_is(call, 1, "len")) {
        reply_integer(call->client, (int64_t)slowlog_length());
    } else if (call->argc == 2 && argument_is(call, 1, "reset")) {
        slowlog_reset();
        reply_ok(call->client);
    } else {
        reply_unknown_subcommand(call);
    }
}

static struct command rows[] = {
    COMMAND("slowlog", command_slowlog, -2, ADMIN | BY_CHANCE | ANYTIME, NO_CATEGORY, NO_KEYS,
            "The last commands that took long: GET, EXPLAIN, LEN, RESET."),
};

void commands_slowlog_register(void) { command_register(COMMAND_ROWS(rows)); }
