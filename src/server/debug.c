/* SPDX-License-Identifier: BSD-3-Clause
 * DEBUG: for tests and for inspection. Its subcommands are rows of a table of their own.
 *
 * HTSTATS answers in the form of 6.2, whose tables are arrays of chains with a power of two of
 * slots. Its figures describe our tables: "table size" is the number of keys that the present
 * buckets can take at the load limit, rounded up to a power of two. A table that grows or shrinks a
 * step at a time shows its future size as the "rehashing target", but not while it defers that for
 * a child that saves.
 */
#include "server/debug.h"
#include "replication/history.h"

#include <errno.h>
#include <sys/mman.h>

#include "aof/aof.h"
#include "aof/aof_load.h"
#include "aof/aof_options.h"
#include "aof/aof_writer.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/number.h"
#include "base/panic.h"
#include "command/arguments.h"
#include "command/call.h"
#include "command/command.h"
#include "command/row.h"
#include "defrag/defrag.h"
#include "ds/table.h"
#include "exec/edit.h"
#include "exec/effects.h"
#include "exec/gates.h"
#include "exec/run.h"
#include "net/client.h"
#include "net/reply.h"
#include "rdb/dump.h"
#include "rdb/loading.h"
#include "rdb/rdb_load.h"
#include "save/snapshot.h"
#include "script/bridge.h"
#include "script/gates.h"
#include "server/config.h"
#include "server/debug_effects.h"
#include "server/debug_process.h"
#include "store/digest.h"
#include "store/expire.h"
#include "store/key_map.h"
#include "store/keyspace.h"
#include "store/recency.h"
#include "store/saving.h"
#include "value/saved.h"

/* The pause between two turns within DEBUG TURNS-WITHIN. */
#define DEBUG_TURN_NSEC 1000000
#define NOT_POSITIVE "value is out of range, must be positive"

struct debug_subcommand {
    const char *name;
    int argc_min, argc_max;
    void (*run)(struct call *call); /* NULL: a subcommand of 6.2 that is not built yet */
    const char *form, *does;
};

/* ---- time ---- */

static void debug_sleep(struct call *call) {
    struct slice text = call->argv[2];
    double seconds; /* a word that is no number counts as 0, as in 6.2 */
    if (!number_parse_double(text.bytes, text.length, &seconds)) seconds = 0;
    if (seconds > 0 && seconds < 1e9) {
        struct timespec left = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
        while (nanosleep(&left, &left) && errno == EINTR) continue;
    }
    reply_ok(call->client);
}

/* A long command, as a slow script is: other clients are served as far as the gate lets them. */
static void debug_turns_within(struct call *call) {
    int64_t msec, turns = 0;
    struct gate *gate = NULL;
    if (!argument_int64(call, 2, &msec, NULL)) return;
    if (call->argc == 4 && argument_is(call, 3, "busy")) gate = &script_gate_busy;
    if (call->argc == 4 && argument_is(call, 3, "loading")) gate = &loading_gate;
    if (call->argc == 4 && !gate) {
        reply_syntax_error(call->client);
        return;
    }
    bool was_set = !gate || gate_is_set(gate);
    if (!was_set) gate_set(gate, true);
    int64_t start_msec = clock_monotonic_msec();
    bool goes_on = true;
    while (goes_on && clock_monotonic_msec() - start_msec < msec) {
        nanosleep(&(struct timespec){0, DEBUG_TURN_NSEC}, NULL);
        goes_on = run_turn_within();
        turns++;
    }
    if (!was_set) gate_set(gate, false);
    reply_integer(call->client, turns);
}

/* True after a refusal, because the keys of a load under way would be mixed with others. */
static bool refused_while_loading(struct call *call) {
    if (loading_is_under_way()) reply_error(call->client, loading_gate.refusal);
    return loading_is_under_way();
}

/* Without NOFLUSH all databases are emptied before the file is loaded; with MERGE the file's keys
 * replace existing ones. A file that cannot be opened changes nothing. */
static void debug_reload(struct call *call) {
    bool save = true, flush = true, merge = false;
    if (refused_while_loading(call)) return;
    for (int i = 2; i < call->argc; i++) {
        if (argument_is(call, i, "nosave")) {
            save = false;
        } else if (argument_is(call, i, "noflush")) {
            flush = false;
        } else if (argument_is(call, i, "merge")) {
            merge = true;
        } else {
            reply_error(call->client,
                        "DEBUG RELOAD only supports the MERGE, NOFLUSH and NOSAVE options.");
            return;
        }
    }
    if (save && !snapshot_save()) {
        reply_error(call->client, "the snapshot could not be saved: the log says why");
        return;
    }
    int fd = snapshot_load_open();
    if (fd < 0) {
        log_warning("DEBUG RELOAD cannot open the snapshot: %s", strerror(errno));
        reply_error(call->client, "Error trying to load the RDB dump");
        return;
    }
    for (int i = 0; flush && i < keyspace_databases(); i++)
        edit_flush(keyspace_at(i), LAZYFREE_NOW);
    bool loaded = snapshot_load_take(fd, merge);
    snapshot_note_reloaded();
    effect_none();
    if (!loaded) {
        reply_error(call->client, "Error trying to load the RDB dump");
        return;
    }
    log_warning("DB reloaded by DEBUG RELOAD");
    reply_ok(call->client);
}

static void debug_change_repl_id(struct call *call) {
    log_notice("Changing replication IDs after receiving change-repl-id");
    history_begin();
    reply_ok(call->client);
}

/* Afterwards all databases are what the log says, as after a start. */
static void debug_loadaof(struct call *call) {
    struct run_nesting nesting;
    if (refused_while_loading(call)) return;
    if (!aof_settle()) {
        reply_error(call->client, "The append only file is not whole: the log says why");
        return;
    }
    int fd = aof_load_open(aof_options()->filename);
    if (fd < 0) { /* 6.2 ends the process here */
        reply_error(call->client, errno == ENOENT
                                      ? "There is no append only file"
                                      : "The append only file cannot be read: the log says why");
        return;
    }
    for (int i = 0; i < keyspace_databases(); i++) edit_flush(keyspace_at(i), LAZYFREE_NOW);
    run_nest_begin(&nesting);
    enum aof_loaded loaded = aof_load_take(aof_options()->filename, fd);
    run_nest_end(&nesting);
    snapshot_note_reloaded();
    effect_none();
    aof_note_reloaded(loaded != AOF_REFUSED);
    if (loaded == AOF_REFUSED) {
        reply_error(call->client, "The server is to stop: the append only file is not loaded");
        return;
    }
    log_warning("Append Only File loaded by DEBUG LOADAOF");
    reply_ok(call->client);
}

static void debug_aof_flush_sleep(struct call *call) {
    int64_t usec;
    if (!argument_int64(call, 2, &usec, NULL)) return;
    aof_writer_set_sleep(usec > 0 ? usec : 0);
    reply_ok(call->client);
}

static void debug_move_blocks(struct call *call) {
    int64_t percent;
    if (!argument_int64(call, 2, &percent, NULL)) return;
    if (percent < 0 || percent > 100) {
        reply_error(call->client, "ERR percent is 0 to 100");
        return;
    }
    defrag_move_by_chance((unsigned)percent);
    reply_ok(call->client);
}

static void debug_skip_checksums(struct call *call) {
    dump_skip_checksums(argument_is(call, 2, "1"));
    reply_ok(call->client);
}

static void debug_load_delay(struct call *call) {
    int64_t usec;
    if (!argument_int64(call, 2, &usec, NULL)) return;
    rdb_load_set_delay(usec);
    reply_ok(call->client);
}

static void debug_set_active_expire(struct call *call) {
    int64_t on;
    if (!number_parse_int64(call->argv[2].bytes, call->argv[2].length, &on)) on = 0;
    expire_set_active(on != 0);
    reply_ok(call->client);
}

static void debug_lua_by_effects(struct call *call) {
    int64_t on;
    if (!number_parse_int64(call->argv[2].bytes, call->argv[2].length, &on)) on = 0;
    bridge_set_by_effects(on != 0);
    reply_ok(call->client);
}

/* ---- the end ---- */

/* Writes to a page without access. Not through NULL, because a build for a sanitizer would end
 * before the signal comes. */
static void debug_segfault(struct call *call) {
    volatile int *nowhere = mmap(NULL, sizeof(int), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *nowhere = call->argc;
}

static void debug_panic(struct call *call) {
    PANIC("DEBUG PANIC called at Unix time %lld", (long long)(clock_wall_msec() / 1000));
}

static void debug_assert(struct call *call) { ASSERT_COMPARE(call->argc, ==, 0); }

static void debug_oom(struct call *call) {
    volatile size_t absurd = SIZE_MAX / 2 - 65536;
    memory_free(memory_alloc(absurd, MEMORY_OTHER), MEMORY_OTHER);
}

/* ---- messages ---- */

static void debug_log(struct call *call) {
    log_warning("DEBUG LOG: %.*s", (int)call->argv[2].length, call->argv[2].bytes);
    reply_ok(call->client);
}

static void debug_error(struct call *call) {
    struct buffer text; /* may contain NULs */
    buffer_init(&text, MEMORY_OTHER);
    buffer_append_char(&text, '-');
    buffer_append(&text, call->argv[2].bytes, call->argv[2].length);
    /* As in 6.2, line ends at the text's end become blanks, too: reply_error_slice would drop
     * them. */
    for (size_t i = 0; i < text.length; i++)
        if (memchr("\r\n", text.bytes[i], 2)) text.bytes[i] = ' ';
    reply_error_slice(call->client, buffer_slice(&text));
    buffer_free(&text);
}

/* ---- keys ---- */

static void debug_object(struct call *call) {
    struct entry *e = call_find(call, 2);
    if (!e) {
        reply_error(call->client, "no such key");
        return;
    }
    struct string_value room;
    struct value v = entry_value(e, &room);
    struct buffer text;
    buffer_init(&text, MEMORY_OTHER);
    buffer_printf(&text,
                  "Value at:%p refcount:1 encoding:%s serializedlength:%zu lru:%u "
                  "lru_seconds_idle:%u",
                  (const void *)entry_value_bytes(e), entry_encoding_name(e),
                  saved_bytes((enum value_kind)e->type, v), (unsigned)e->recency,
                  recency_idle_seconds(e));
    if (value_type(e->type)->describe) value_type(e->type)->describe(v, &text);
    reply_status_slice(call->client, buffer_slice(&text));
    buffer_free(&text);
}

static void reply_digest(struct client *c, const unsigned char digest[SHA1_BYTES]) {
    char hex[2 * SHA1_BYTES + 1];
    for (int i = 0; i < SHA1_BYTES; i++) snprintf(hex + 2 * i, 3, "%02x", digest[i]);
    reply_status(c, hex);
}

static void debug_digest(struct call *call) {
    unsigned char digest[SHA1_BYTES];
    digest_all(digest);
    reply_digest(call->client, digest);
}

static void debug_digest_value(struct call *call) {
    reply_array(call->client, call->argc - 2);
    for (int i = 2; i < call->argc; i++) {
        unsigned char digest[SHA1_BYTES] = {0};
        struct entry *e = call_find(call, i);
        if (e) digest_value(e, digest);
        reply_digest(call->client, digest);
    }
}

/* Creates a key with the value "value:N", which is cut or filled up with NULs to `size`, where that
 * is not 0. */
static void populate_one(struct call *call, struct slice prefix, int64_t number, size_t size) {
    struct buffer key, value;
    buffer_init(&key, MEMORY_OTHER);
    buffer_append(&key, prefix.bytes, prefix.length);
    buffer_printf(&key, ":%lld", (long long)number);
    struct edit edit;
    const struct key k = {call->keyspace, buffer_slice(&key), key_hash_of(buffer_slice(&key))};
    edit_find(&edit, &k);
    if (!edit.entry) {
        buffer_init(&value, MEMORY_OTHER);
        buffer_printf(&value, "value:%lld", (long long)number);
        struct slice text = buffer_slice(&value);
        if (size > text.length) {
            memset(buffer_reserve(&value, size - text.length), 0, size - text.length);
            text.bytes = value.bytes;
        }
        if (size) text.length = size;
        struct string_value new_value = string_value_of_text(text);
        edit_put_string(&edit, &new_value, ENTRY_NO_DEADLINE);
        edit_close(&edit, 1, NOTIFY_STRING, NULL);
        buffer_free(&value);
    }
    buffer_free(&key);
}

static bool argument_count(struct call *call, int index, int64_t *value) {
    if (!argument_int64(call, index, value, NOT_POSITIVE)) return false;
    if (*value >= 0) return true;
    reply_error(call->client, NOT_POSITIVE);
    return false;
}

static void debug_populate(struct call *call) {
    int64_t count, size = 0;
    if (refused_while_loading(call) || !argument_count(call, 2, &count)) return;
    if (call->argc == 5 && !argument_count(call, 4, &size)) return;
    struct slice prefix = call->argc >= 4 ? call->argv[3] : SLICE("key");
    for (int64_t i = 0; i < count; i++) populate_one(call, prefix, i, (size_t)size);
    effect_none(); /* as 6.2 */
    reply_ok(call->client);
}

/* ---- tables ---- */

/* How many keys so many buckets take at the load limit, rounded up to a power of two. */
static size_t table_size_shown(size_t buckets) {
    size_t keys = buckets * TABLE_LOAD_NUMERATOR / TABLE_LOAD_DENOMINATOR, power = 4;
    while (power < keys) power *= 2;
    return power;
}

static void append_stats(const struct table_stats *s, struct buffer *out) {
    buffer_append_c_string(out, "Hash table 0 stats (main hash table):\n");
    if (!s->elements) {
        buffer_append_c_string(out, "No stats available for empty dictionaries\n");
        return;
    }
    size_t target = s->elements * TABLE_LOAD_DENOMINATOR / TABLE_LOAD_NUMERATOR + 1;
    buffer_printf(out,
                  " table size: %zu\n"
                  " number of elements: %zu\n"
                  " different slots: %zu\n"
                  " max chain length: %zu\n"
                  " avg chain length (counted): %.02f\n"
                  " avg chain length (computed): %.02f\n"
                  " buckets: %zu\n overflow buckets: %zu\n bytes: %zu\n splits: %zu\n merges: %zu\n"
                  " owes: %s\n",
                  table_size_shown(s->buckets), s->elements, s->buckets, s->longest_chain,
                  (double)(s->buckets + s->overflow_buckets) / (double)s->buckets,
                  (double)s->elements / (double)s->buckets, s->buckets, s->overflow_buckets,
                  s->bytes, s->splits, s->merges,
                  !s->owes              ? "nothing"
                  : target > s->buckets ? "growth"
                                        : "shrinking");
    if (!s->may_pay) return;
    buffer_printf(out, "Hash table 1 stats (rehashing target):\n table size: %zu\n",
                  table_size_shown(target));
}

static void debug_htstats(struct call *call) {
    int64_t index;
    if (!argument_int64(call, 2, &index, NULL)) return;
    if (index < 0 || index >= keyspace_databases()) {
        reply_error(call->client, "Out of range database");
        return;
    }
    const struct keyspace *ks = keyspace_at((int)index);
    struct table_stats stats;
    struct buffer text;
    buffer_init(&text, MEMORY_OTHER);
    buffer_append_c_string(&text, "[Dictionary HT]\n");
    size_t tables = key_map_stats(keyspace_map(ks), &stats);
    append_stats(&stats, &text);
    if (keyspace_is_partitioned()) buffer_printf(&text, " tables, one a slot: %zu\n", tables);
    buffer_append_c_string(&text, "[Expires HT]\n");
    if (keyspace_count_volatile(ks))
        buffer_printf(&text, "No hash table: an index by deadline\n number of elements: %zu\n",
                      keyspace_count_volatile(ks));
    else
        append_stats(&(struct table_stats){0}, &text);
    reply_verbatim(call->client, buffer_slice(&text), "txt");
    buffer_free(&text);
}

/* DEBUG SAVING-CHILD acts as a child that saves. */
static bool saving_pretended;

static void debug_saving_child(struct call *call) {
    int64_t on;
    if (!argument_int64(call, 2, &on, NULL)) return;
    if (on && !saving_pretended) saving_begin();
    if (!on && saving_pretended) saving_end();
    saving_pretended = on != 0;
    reply_ok(call->client);
}

static void debug_htstats_key(struct call *call) {
    const struct entry *e = call_find(call, 2);
    const struct table *t = e ? entry_table(e) : NULL;
    if (!t) {
        reply_error(call->client, e ? "The value stored at the specified key is not represented "
                                      "using an hash table"
                                    : "no such key");
        return;
    }
    struct table_stats stats;
    struct buffer text;
    buffer_init(&text, MEMORY_OTHER);
    table_stats(t, &stats);
    append_stats(&stats, &text);
    reply_verbatim(call->client, buffer_slice(&text), "txt");
    buffer_free(&text);
}

/* ---- PROTOCOL ---- */

static void reply_three(struct client *c, void (*header)(struct client *c, int64_t length)) {
    header(c, 3);
    for (int i = 0; i < 3; i++) reply_integer(c, i);
}

static void protocol_map(struct client *c) {
    reply_map(c, 3);
    for (int i = 0; i < 3; i++) {
        reply_integer(c, i);
        reply_bool(c, i == 1);
    }
}

static void protocol_attribute(struct client *c) {
    if (c->protocol > 2) {
        reply_attribute(c, 1);
        reply_bulk_c_string(c, "key-popularity");
        reply_array(c, 2);
        reply_bulk_c_string(c, "key:123");
        reply_integer(c, 90);
    }
    reply_bulk_c_string(c, "Some real reply following the attribute");
}

static void protocol_push(struct client *c) {
    if (c->protocol < 3) {
        reply_error(c, "RESP2 is not supported by this command");
        return;
    }
    reply_push(c, 2);
    reply_bulk_c_string(c, "server-cpu-usage");
    reply_integer(c, 42);
    reply_bulk_c_string(c, "Some real reply following the push reply");
}

static void protocol_string(struct client *c) { reply_bulk_c_string(c, "Hello World"); }
static void protocol_integer(struct client *c) { reply_integer(c, 12345); }
static void protocol_double(struct client *c) { reply_double(c, 3.14159265359); }
static void protocol_array(struct client *c) { reply_three(c, reply_array); }
static void protocol_set(struct client *c) { reply_three(c, reply_set); }
static void protocol_true(struct client *c) { reply_bool(c, true); }
static void protocol_false(struct client *c) { reply_bool(c, false); }
static void protocol_verbatim(struct client *c) {
    reply_verbatim(c, SLICE("This is a verbatim\nstring"), "txt");
}
static void protocol_big_number(struct client *c) {
    reply_big_number(c, SLICE("1234567999999999999999999999999999999"));
}

static const struct {
    const char *type;
    void (*reply)(struct client *c);
} protocols[] = {
    {"string", protocol_string},
    {"integer", protocol_integer},
    {"double", protocol_double},
    {"bignum", protocol_big_number},
    {"null", reply_null},
    {"array", protocol_array},
    {"set", protocol_set},
    {"map", protocol_map},
    {"attrib", protocol_attribute},
    {"push", protocol_push},
    {"verbatim", protocol_verbatim},
    {"true", protocol_true},
    {"false", protocol_false},
};

static void debug_protocol(struct call *call) {
    for (size_t i = 0; i < sizeof(protocols) / sizeof(protocols[0]); i++) {
        if (!argument_is(call, 2, protocols[i].type)) continue;
        protocols[i].reply(call->client);
        return;
    }
    reply_error(call->client,
                "Wrong protocol type name. Please use one of the following: string|integer|double|"
                "bignum|null|array|set|map|attrib|push|verbatim|true|false");
}

/* ---- the file ---- */

static void debug_rewrite_all(struct call *call) {
    char reason[256];
    if (config_rewrite(true, reason, sizeof(reason)))
        reply_ok(call->client);
    else
        reply_error(call->client, "CONFIG-REWRITE-FORCE-ALL failed");
}

/* ---- the command ---- */

static const struct debug_subcommand subcommands[] = {
    {"assert", 2, 2, debug_assert, "ASSERT", "Ends the server by an assertion that fails."},
    {"config-rewrite-force-all", 2, 2, debug_rewrite_all, "CONFIG-REWRITE-FORCE-ALL",
     "As CONFIG REWRITE, defaults included."},
    {"crash-and-recover", 2, INT32_MAX, debug_crash_and_recover,
     "CRASH-AND-RECOVER [<milliseconds>]",
     "Executes the program again after that time, without shutting down."},
    {"digest", 2, 2, debug_digest, "DIGEST", "A digest of all data."},
    {"digest-value", 2, INT32_MAX, debug_digest_value, "DIGEST-VALUE <key> [<key> ...]",
     "A digest of each key's value."},
    {"effects", 3, 3, debug_effects, "EFFECTS <START|STOP|LOG|STREAM>",
     "Records the effects for log and replicas, and replies the recorded ones."},
    {"error", 3, 3, debug_error, "ERROR <string>", "Answers with this error."},
    {"htstats", 3, 3, debug_htstats, "HTSTATS <dbid>", "What the table of a database looks like."},
    {"htstats-key", 3, 3, debug_htstats_key, "HTSTATS-KEY <key>",
     "What the table within a value looks like."},
    {"leak", 3, 3, debug_leak, "LEAK <string>", "Copies the string into memory that is lost."},
    {"log", 3, 3, debug_log, "LOG <message>", "Writes a line into the log."},
    {"lua-always-replicate-commands", 3, 3, debug_lua_by_effects,
     "LUA-ALWAYS-REPLICATE-COMMANDS <0|1>",
     "With 0 scripts are replicated as a whole, and not by their effects."},
    {"mallctl", 3, INT32_MAX, debug_mallctl, "MALLCTL <key> [<value>]",
     "Reads or sets a number of the allocator."},
    {"mallctl-str", 3, INT32_MAX, debug_mallctl_str, "MALLCTL-STR <key> [<value>|VOID]",
     "Reads or sets a text of the allocator, or triggers an action of it."},
    {"object", 3, 3, debug_object, "OBJECT <key>", "How a key's value is stored."},
    {"oom", 2, 2, debug_oom, "OOM", "Ends the server as if there were no memory left."},
    {"panic", 2, 2, debug_panic, "PANIC", "Ends the server by a panic."},
    {"pause-cron", 3, 3, debug_pause_cron, "PAUSE-CRON <0|1>",
     "With 1 the work of several times a second is not done."},
    {"populate", 3, 5, debug_populate, "POPULATE <count> [<prefix>] [<size>]",
     "Creates <count> strings <prefix>:0, <prefix>:1 ... where there is none."},
    {"protocol", 3, 3, debug_protocol, "PROTOCOL <type>",
     "A reply of the given type: string, integer, double, bignum, null, array, set, map, attrib, "
     "push, verbatim, true or false."},
    {"restart", 2, INT32_MAX, debug_restart, "RESTART [<milliseconds>]",
     "Saves the configuration, shuts down, and executes the program again after that time."},
    {"saving-child", 3, 3, debug_saving_child, "SAVING-CHILD <0|1>",
     "Tables defer growing and shrinking, as while a child saves."},
    {"sdslen", 3, 3, debug_sdslen, "SDSLEN <key>", "Lengths and memory of a key and its text."},
    {"segfault", 2, 2, debug_segfault, "SEGFAULT", "Ends the server by a bad memory access."},
    {"set-active-expire", 3, 3, debug_set_active_expire, "SET-ACTIVE-EXPIRE <0|1>",
     "With 0 keys that are due are deleted on access only."},
    {"sleep", 3, 3, debug_sleep, "SLEEP <seconds>", "Blocks the server; decimals are allowed."},
    {"stringmatch-test", 2, 2, debug_stringmatch_test, "STRINGMATCH-TEST",
     "Matches random texts against random patterns."},
    {"structsize", 2, 2, debug_structsize, "STRUCTSIZE", "Bytes of some structs."},
    {"turns-within", 3, 4, debug_turns_within, "TURNS-WITHIN <milliseconds> [BUSY|LOADING]",
     "Runs so long and serves other clients meanwhile, as a slow script or a load does; replies "
     "the number of turns of the event loop."},
    {"move-blocks", 3, 3, debug_move_blocks, "MOVE-BLOCKS <percent>",
     "With activedefrag, moves so many of all blocks again and again, drawn by chance; 0 ends it."},
    {"aof-flush-sleep", 3, 3, debug_aof_flush_sleep, "AOF-FLUSH-SLEEP <microseconds>",
     "The thread that writes the append only file sleeps before each write."},
    {"change-repl-id", 2, 2, debug_change_repl_id, "CHANGE-REPL-ID",
     "Begins a new replication id, and forgets the second one."},
    {"loadaof", 2, 2, debug_loadaof, "LOADAOF",
     "Empties all databases and loads the append only file."},
    {"reload", 2, INT32_MAX, debug_reload, "RELOAD [NOSAVE] [NOFLUSH] [MERGE]",
     "Saves a snapshot, empties all databases and loads it."},
    {"load-delay", 3, 3, debug_load_delay, "LOAD-DELAY <microseconds>",
     "Sets key-load-delay, also while a snapshot is loaded."},
    {"set-skip-checksum-validation", 3, 3, debug_skip_checksums,
     "SET-SKIP-CHECKSUM-VALIDATION <0|1>",
     "With 1 RESTORE and the loading of snapshots do not verify checksums."},
    {"ziplist", 3, 3, NULL, NULL, NULL},
};
#define SUBCOMMANDS (sizeof(subcommands) / sizeof(subcommands[0]))

static void debug_help(struct call *call) {
    const char *lines[2 * SUBCOMMANDS + 1];
    char does[SUBCOMMANDS][256];
    size_t count = 0;
    for (size_t i = 0; i < SUBCOMMANDS; i++) {
        if (!subcommands[i].run) continue;
        snprintf(does[i], sizeof(does[i]), "    %s", subcommands[i].does);
        lines[count++] = subcommands[i].form;
        lines[count++] = does[i];
    }
    lines[count] = NULL;
    reply_help(call, lines);
}

static void command_debug(struct call *call) {
    if (call->argc == 2 && argument_is(call, 1, "help")) {
        debug_help(call);
        return;
    }
    for (size_t i = 0; i < SUBCOMMANDS; i++) {
        const struct debug_subcommand *s = &subcommands[i];
        if (!argument_is(call, 1, s->name)) continue;
        if (call->argc < s->argc_min || call->argc > s->argc_max) break;
        if (s->run)
            s->run(call);
        else
            reply_error_format(call->client, "DEBUG %s is not built yet", s->name);
        /* Prevents a tail call, so that a stack trace of a hanging DEBUG shows this frame. */
        __asm__ volatile("");
        return;
    }
    reply_unknown_subcommand(call);
}

static struct command rows[] = {
    COMMAND("debug", command_debug, -2, ADMIN | NO_SCRIPT | ANYTIME | COMMAND_MAY_LAST, NO_CATEGORY,
            NO_KEYS, "For tests and inspection; DEBUG HELP lists its subcommands."),
};

void debug_register(void) { command_register(COMMAND_ROWS(rows)); }
