/* SPDX-License-Identifier: BSD-3-Clause
 * MEMORY: the memory of a key, the memory of the server by purpose, and the allocator's figures.
 *
 * All figures of STATS and DOCTOR are taken at one moment, before the reply is made, and are those
 * that INFO memory shows. USAGE needs no samples: an entry knows its size (keyspace_key_bytes).
 */
#include "server/memory.h"
#include "report/advice.h"

#include <inttypes.h>

#include "aof/aof_queue.h"
#include "command/arguments.h"
#include "command/call.h"
#include "command/command.h"
#include "command/command_keys.h"
#include "command/row.h"
#include "defrag/defrag.h"
#include "net/client.h"
#include "net/reply.h"
#include "replication/history.h"
#include "script/cache.h"
#include "server/cron.h"
#include "server/info.h"
#include "store/expire.h"
#include "store/keyspace.h"

/* ---- figures ---- */

struct figures {
    size_t used, peak, startup, dataset, clients, backlog, keys;
    size_t rss;
    struct memory_allocator_stats allocator;
};

static struct figures take_figures(void) {
    const struct cron_memory *samples = cron_memory();
    struct figures f = {
        .used = memory_used_total(),
        .peak = samples->peak,
        .startup = info_memory_at_start(),
        .dataset = info_dataset_bytes(),
        .clients = memory_used(MEMORY_CLIENTS),
        .backlog = memory_used(replication_memory),
        .rss = samples->rss,
        .allocator = samples->allocator,
    };
    for (int i = 0; i < keyspace_databases(); i++) f.keys += keyspace_count(keyspace_at(i));
    return f;
}

static double ratio_of(size_t a, size_t b) { return b ? (double)a / (double)b : 0; }
static double percentage_of(size_t part, size_t whole) { return 100 * ratio_of(part, whole); }
static size_t since_start(const struct figures *f) {
    return f->used > f->startup ? f->used - f->startup : 0;
}

/* ---- STATS ---- */

static void field_size(struct client *c, const char *name, size_t value) {
    reply_bulk_c_string(c, name);
    reply_integer(c, (int64_t)value);
}

static void field_double(struct client *c, const char *name, double value) {
    reply_bulk_c_string(c, name);
    reply_double(c, value);
}

/* How much more `a` is than `b`. */
static void fields_excess(struct client *c, const char *ratio_name, const char *bytes_name,
                          size_t a, size_t b) {
    field_double(c, ratio_name, ratio_of(a, b));
    reply_bulk_c_string(c, bytes_name);
    reply_integer(c, (int64_t)a - (int64_t)b);
}

static void field_database(struct client *c, int index) {
    char name[32];
    snprintf(name, sizeof(name), "db.%d", index);
    reply_bulk_c_string(c, name);
    reply_map(c, 2);
    field_size(c, "overhead.hashtable.main", keyspace_table_bytes(keyspace_at(index)));
    field_size(c, "overhead.hashtable.expires", keyspace_deadline_bytes(keyspace_at(index)));
}

/* Fields besides those of databases. */
#define STATS_FIELDS 25

static void memory_stats(struct call *call) {
    struct client *c = call->client;
    struct figures f = take_figures();
    int databases = 0;
    for (int i = 0; i < keyspace_databases(); i++) databases += keyspace_count(keyspace_at(i)) > 0;

    reply_map(c, STATS_FIELDS + databases);
    field_size(c, "peak.allocated", f.peak);
    field_size(c, "total.allocated", f.used);
    field_size(c, "startup.allocated", f.startup);
    field_size(c, "replication.backlog", f.backlog);
    field_size(c, "clients.slaves", 0);
    field_size(c, "clients.normal", f.clients);
    field_size(c, "aof.buffer", memory_used(aof_memory));
    field_size(c, "lua.caches", memory_used(cache_memory));
    for (int i = 0; i < keyspace_databases(); i++)
        if (keyspace_count(keyspace_at(i))) field_database(c, i);
    field_size(c, "overhead.total", f.used - f.dataset);
    field_size(c, "keys.count", f.keys);
    field_size(c, "keys.bytes-per-key", f.keys ? since_start(&f) / f.keys : 0);
    field_size(c, "dataset.bytes", f.dataset);
    field_double(c, "dataset.percentage", percentage_of(f.dataset, since_start(&f)));
    field_double(c, "peak.percentage", percentage_of(f.used, f.peak));
    field_size(c, "allocator.allocated", f.allocator.allocated);
    field_size(c, "allocator.active", f.allocator.active);
    field_size(c, "allocator.resident", f.allocator.resident);
    fields_excess(c, "allocator-fragmentation.ratio", "allocator-fragmentation.bytes",
                  f.allocator.active, f.allocator.allocated);
    fields_excess(c, "allocator-rss.ratio", "allocator-rss.bytes", f.allocator.resident,
                  f.allocator.active);
    fields_excess(c, "rss-overhead.ratio", "rss-overhead.bytes", f.rss, f.allocator.resident);
    fields_excess(c, "fragmentation", "fragmentation.bytes", f.rss, f.used);
}

/* ---- DOCTOR ---- */

/* With less memory DOCTOR cannot tell waste from what any server needs. */
#define DOCTOR_BYTES_MIN (5u << 20)
/* A ratio counts only where the excess has at least so many bytes. */
#define EXCESS_BYTES_MIN (10u << 20)
#define PEAK_RATIO 1.5
#define EXCESS_RATIO 1.1
#define CLIENT_BYTES_MANY (200u << 10)
/* Expired keys that are still held are a finding from this share of so many keys on. */
#define DUE_SHARE_MANY 0.1
#define DUE_KEYS_MIN 1000

static bool exceeds_by_much(size_t a, size_t b) {
    return ratio_of(a, b) > EXCESS_RATIO && a - b > EXCESS_BYTES_MIN;
}

/* Ends the paragraph of a finding by the option that moves it. */
static void end_finding(const char *finding, struct buffer *text) {
    advice_append_option(advice_find(finding), text);
    buffer_append_char(text, '\n');
}

static void report_due_keys(struct buffer *text) {
    size_t keys = keyspace_volatile_total();
    double share = expire_stale_share();
    if (keys < DUE_KEYS_MIN || share < DUE_SHARE_MANY) return;
    buffer_printf(text,
                  "- Expired keys: %.0f %% of the %zu keys with a deadline are due and not deleted "
                  "yet. ",
                  100 * share, keys);
    end_finding("memory-due-keys", text);
}

static void report_fragmentation(const struct memory_allocator_stats *a, struct buffer *text) {
    buffer_printf(text,
                  "- Fragmentation: pages of %zu bytes hold %zu bytes in use. This happens where "
                  "many keys of other sizes than today's were deleted. ",
                  a->active, a->allocated);
    if (defrag_is_on()) {
        defrag_append_state(text);
        buffer_append_char(text, '\n');
    } else {
        end_finding("memory-fragmentation", text);
    }
}

static void doctor_report(const struct figures *f, struct buffer *text) {
    const struct memory_allocator_stats *a = &f->allocator;
    if (f->used < DOCTOR_BYTES_MIN) {
        buffer_append_c_string(text, "Too little memory is used to tell whether any is wasted.\n");
        return;
    }
    if (ratio_of(f->peak, f->used) > PEAK_RATIO)
        buffer_printf(text,
                      "- Peak: %zu bytes were in use once, %zu are now. Pages that the peak filled "
                      "may not have gone back to the system yet; MEMORY PURGE asks for it.\n",
                      f->peak, f->used);
    if (exceeds_by_much(a->active, a->allocated)) report_fragmentation(a, text);
    if (exceeds_by_much(a->resident, a->active)) {
        buffer_printf(text,
                      "- Free pages: the allocator keeps %zu bytes, of which %zu are in use. "
                      "MEMORY PURGE gives the others back. ",
                      a->resident, a->active);
        end_finding("memory-free-pages", text);
    }
    if (exceeds_by_much(f->rss, a->resident))
        buffer_printf(text,
                      "- The process takes %zu bytes, the allocator only %zu: look for libraries "
                      "and modules with memory of their own.\n",
                      f->rss, a->resident);
    if (client_count() && f->clients / client_count() > CLIENT_BYTES_MANY) {
        buffer_printf(text,
                      "- Clients: %zu bytes wait to be sent or parsed. CLIENT LIST shows whose "
                      "they are; client-output-buffer-limit bounds each of them. ",
                      f->clients);
        end_finding("memory-clients", text);
    }
    report_due_keys(text);
    if (!text->length)
        buffer_append_c_string(text, "No memory is wasted, as far as one can see.\n");
}

static void memory_doctor(struct call *call) {
    struct figures f = take_figures();
    struct buffer text;
    buffer_init(&text, MEMORY_OTHER);
    doctor_report(&f, &text);
    reply_verbatim(call->client, buffer_slice(&text), "txt");
    buffer_free(&text);
}

/* ---- the other subcommands ---- */

static void memory_usage(struct call *call) {
    for (int i = 3; i < call->argc; i += 2) {
        int64_t samples;
        if (!argument_is(call, i, "samples") || i + 1 >= call->argc) {
            reply_syntax_error(call->client);
            return;
        }
        if (!argument_int64(call, i + 1, &samples, NULL)) return;
        if (samples < 0) {
            reply_syntax_error(call->client);
            return;
        }
    }
    struct entry *e = call_find(call, 2);
    if (e)
        reply_integer(call->client, (int64_t)keyspace_key_bytes(e));
    else
        reply_null(call->client);
}

static void append_text(void *buffer, const char *text) { buffer_append_c_string(buffer, text); }

static void memory_malloc_stats(struct call *call) {
    struct buffer text;
    buffer_init(&text, MEMORY_OTHER);
    memory_allocator_report(append_text, &text);
    if (!text.length) buffer_append_c_string(&text, "This allocator gives no report.\n");
    reply_verbatim(call->client, buffer_slice(&text), "txt");
    buffer_free(&text);
}

static const char *const help[] = {
    "DOCTOR",
    "    Says in words where memory is wasted.",
    "MALLOC-STATS",
    "    The allocator's own report.",
    "PURGE",
    "    Asks the allocator to give free pages back to the system.",
    "STATS",
    "    What memory is used for, as a map.",
    "USAGE <key> [SAMPLES <count>]",
    "    Bytes that the key and its value take, with the key's share of the tables that find it.",
    "    All elements are counted; the number of samples is taken for compatibility.",
    NULL,
};

static void command_memory(struct call *call) {
    int argc = call->argc;
    if (argc == 2 && argument_is(call, 1, "help")) {
        reply_help(call, help);
    } else if (argc >= 3 && argument_is(call, 1, "usage")) {
        memory_usage(call);
    } else if (argc == 2 && argument_is(call, 1, "stats")) {
        memory_stats(call);
    } else if (argc == 2 && argument_is(call, 1, "doctor")) {
        memory_doctor(call);
    } else if (argc == 2 && argument_is(call, 1, "malloc-stats")) {
        memory_malloc_stats(call);
    } else if (argc == 2 && argument_is(call, 1, "purge")) {
        memory_allocator_purge();
        reply_ok(call->client);
    } else {
        reply_unknown_subcommand(call);
    }
}

static bool memory_keys(const struct key_search *s) {
    if (s->argc < 3 || !slice_is(s->argv[1], "usage")) return false;
    key_named(s, 2);
    return true;
}

static struct command rows[] = {
    COMMAND("memory", command_memory, -2, READ | BY_CHANCE | MOVABLE, NO_CATEGORY, NO_KEYS,
            "How memory is used: USAGE, STATS, DOCTOR, MALLOC-STATS, PURGE.", .keys = memory_keys,
            .traced = "1.. usage samples#"),
};

void memory_command_register(void) { command_register(COMMAND_ROWS(rows)); }
