/* SPDX-License-Identifier: BSD-3-Clause
 * Commands on keys of any type. The rows stand at the end.
 */
#include "commands/keys.h"

#include "base/clock.h"
#include "exec/arguments.h"
#include "exec/command.h"
#include "net/client.h"
#include "net/reply.h"
#include "store/keyspace.h"

/* What OBJECT REFCOUNT says of the integers that 6.2 shares between keys: here they stand within
 * the entry and have no object of their own to be counted. */
#define SHARED_INTEGER_MAX 9999
#define SHARED_REFCOUNT 2147483647

static void command_del(struct call *call) {
    int64_t deleted = 0;
    for (int i = 1; i < call->argc; i++)
        deleted += keyspace_delete(call->keyspace, call->argv[i], call_key_hash(call, i));
    reply_integer(call->client, deleted);
}

static void command_exists(struct call *call) {
    int64_t found = 0;
    for (int i = 1; i < call->argc; i++)
        found += keyspace_read(call->keyspace, call->argv[i], call_key_hash(call, i)) != NULL;
    reply_integer(call->client, found);
}

static void command_type(struct call *call) {
    struct entry *e = keyspace_find(call->keyspace, call->argv[1], call_key_hash(call, 1));
    reply_status(call->client, e ? entry_type_name(e) : "none");
}

static void reply_time_left(struct call *call, int64_t unit_msec) {
    struct entry *e = keyspace_find(call->keyspace, call->argv[1], call_key_hash(call, 1));
    if (!e || !entry_has_deadline(e)) {
        reply_integer(call->client, e ? -1 : -2);
        return;
    }
    int64_t left = entry_deadline(e) - clock_cached_msec();
    if (left < 0) left = 0;
    reply_integer(call->client, (left + unit_msec / 2) / unit_msec);
}

static void command_ttl(struct call *call) { reply_time_left(call, 1000); }
static void command_pttl(struct call *call) { reply_time_left(call, 1); }

static void command_dbsize(struct call *call) {
    reply_integer(call->client, (int64_t)keyspace_count(call->keyspace));
}

/* FLUSHALL and FLUSHDB take one word or none. False after an error reply. */
static bool flush_words_fit(struct call *call) {
    if (call->argc == 1) return true;
    if (call->argc == 2 && (argument_is(call, 1, "sync") || argument_is(call, 1, "async")))
        return true;
    reply_syntax_error(call->client);
    return false;
}

static void command_flushdb(struct call *call) {
    if (!flush_words_fit(call)) return;
    keyspace_flush(call->keyspace);
    reply_ok(call->client);
}

static void command_flushall(struct call *call) {
    if (!flush_words_fit(call)) return;
    for (int i = 0; i < keyspace_databases(); i++) keyspace_flush(keyspace_at(i));
    reply_ok(call->client);
}

/* ---- OBJECT ---- */

static const char *const object_help[] = {
    "ENCODING <key>",
    "    Return how the value of the key is kept.",
    "FREQ <key>",
    "    Return the key's access frequency counter, where an LFU policy is selected.",
    "IDLETIME <key>",
    "    Return the seconds since the key was last accessed.",
    "REFCOUNT <key>",
    "    Return how many refer to the key's value.",
    NULL,
};

static int64_t reference_count(const struct entry *e) {
    bool shared =
        e->encoding == ENTRY_INT && entry_integer(e) >= 0 && entry_integer(e) <= SHARED_INTEGER_MAX;
    return shared ? SHARED_REFCOUNT : 1;
}

static void command_object(struct call *call) {
    struct client *c = call->client;
    if (call->argc == 2 && argument_is(call, 1, "help")) {
        reply_help(call, object_help);
        return;
    }
    bool known = argument_is(call, 1, "encoding") || argument_is(call, 1, "freq") ||
                 argument_is(call, 1, "idletime") || argument_is(call, 1, "refcount");
    if (!known || call->argc != 3) {
        reply_unknown_subcommand(call);
        return;
    }
    struct entry *e = keyspace_find(call->keyspace, call->argv[2], call_key_hash(call, 2));
    if (!e) {
        reply_null(c);
    } else if (argument_is(call, 1, "encoding")) {
        reply_bulk_c_string(c, entry_encoding_name(e));
    } else if (argument_is(call, 1, "refcount")) {
        reply_integer(c, reference_count(e));
    } else if (argument_is(call, 1, "idletime")) {
        reply_integer(c, (keyspace_lru_clock() - e->recency) & 0xffffff);
    } else {
        reply_error(c,
                    "An LFU maxmemory policy is not selected, access frequency not tracked. "
                    "Please note that when switching between policies at runtime LRU and LFU "
                    "data will take some time to adjust.");
    }
}

/* ---- rows ---- */

#define ONE_KEY .first_key = 1, .last_key = 1, .key_step = 1
#define ALL_KEYS .first_key = 1, .last_key = -1, .key_step = 1

static struct command rows[] = {
    {.name = "del",
     .handler = command_del,
     .arity = -2,
     .flags = COMMAND_WRITE,
     ALL_KEYS,
     .categories = ACL_KEYSPACE,
     .help = "Deletes keys; returns how many there were."},
    {.name = "exists",
     .handler = command_exists,
     .arity = -2,
     .flags = COMMAND_READONLY | COMMAND_FAST,
     ALL_KEYS,
     .categories = ACL_KEYSPACE,
     .help = "How many of the keys exist; a key named twice counts twice."},
    {.name = "type",
     .handler = command_type,
     .arity = 2,
     .flags = COMMAND_READONLY | COMMAND_FAST,
     ONE_KEY,
     .categories = ACL_KEYSPACE,
     .help = "The type of a key's value, or none."},
    {.name = "ttl",
     .handler = command_ttl,
     .arity = 2,
     .flags = COMMAND_READONLY | COMMAND_RANDOM | COMMAND_FAST,
     ONE_KEY,
     .categories = ACL_KEYSPACE,
     .help = "Seconds until the key expires; -1: never; -2: no such key."},
    {.name = "pttl",
     .handler = command_pttl,
     .arity = 2,
     .flags = COMMAND_READONLY | COMMAND_RANDOM | COMMAND_FAST,
     ONE_KEY,
     .categories = ACL_KEYSPACE,
     .help = "As TTL, in milliseconds."},
    {.name = "dbsize",
     .handler = command_dbsize,
     .arity = 1,
     .flags = COMMAND_READONLY | COMMAND_FAST,
     .categories = ACL_KEYSPACE,
     .help = "Number of keys in the selected database."},
    {.name = "flushdb",
     .handler = command_flushdb,
     .arity = -1,
     .flags = COMMAND_WRITE,
     .categories = ACL_KEYSPACE | ACL_DANGEROUS,
     .help = "Empties the selected database."},
    {.name = "flushall",
     .handler = command_flushall,
     .arity = -1,
     .flags = COMMAND_WRITE,
     .categories = ACL_KEYSPACE | ACL_DANGEROUS,
     .help = "Empties all databases."},
    {.name = "object",
     .handler = command_object,
     .arity = -2,
     .flags = COMMAND_READONLY | COMMAND_RANDOM,
     .first_key = 2,
     .last_key = 2,
     .key_step = 1,
     .categories = ACL_KEYSPACE,
     .help = "How a key's value is kept: ENCODING, FREQ, IDLETIME, REFCOUNT."},
};

void commands_keys_register(void) { command_register(rows, sizeof(rows) / sizeof(rows[0])); }
