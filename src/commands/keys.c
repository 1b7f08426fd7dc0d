/* SPDX-License-Identifier: BSD-3-Clause
 * Commands on keys of any type: existence, names, databases. Deadlines are in expire.c, walks over
 * keys in scan.c. The rows stand at the end.
 *
 * An entry that keyspace_find returned is used before anything else may change the keyspace. The
 * lookup of a second key can delete only that second key, because equal keys are handled first.
 */
#include "commands/keys.h"

#include "command/arguments.h"
#include "command/call.h"
#include "command/command.h"
#include "command/row.h"
#include "exec/blocked.h"
#include "exec/edit.h"
#include "exec/flush.h"
#include "exec/memory_limit.h"
#include "net/client.h"
#include "net/reply.h"
#include "store/keyspace.h"
#include "store/lazyfree.h"
#include "store/limbo.h"
#include "store/recency.h"

/* The reply of OBJECT REFCOUNT for the integers that 6.2 shares between keys. Here they stand
 * within the entry and have no object to be counted. */
#define SHARED_INTEGER_MAX 9999
#define SHARED_REFCOUNT 2147483647

#define DATABASE_OUT_OF_RANGE "DB index is out of range"
#define ADJUSTS                                                                                    \
    "Please note that when switching between policies at runtime LRU and LFU data will take some " \
    "time to adjust."
#define SAME_OBJECT "source and destination objects are the same"

/* ---- deleting and looking ---- */

static int64_t delete_all(struct call *call, bool lazily) {
    int64_t deleted = 0;
    for (int i = 1; i < call->argc; i++) {
        const struct key key = call_key(call, i);
        deleted += edit_delete(&key, lazily);
        limbo_checkpoint();
    }
    return deleted;
}

static void command_del(struct call *call) {
    reply_integer(call->client, delete_all(call, edit_user_deletes_lazily()));
}

static void command_unlink(struct call *call) {
    reply_integer(call->client, delete_all(call, true));
}

static void command_exists(struct call *call) {
    int64_t found = 0;
    for (int i = 1; i < call->argc; i++) found += call_peek(call, i) != NULL;
    reply_integer(call->client, found);
}

static void command_touch(struct call *call) {
    int64_t found = 0;
    for (int i = 1; i < call->argc; i++) found += call_read(call, i) != NULL;
    reply_integer(call->client, found);
}

static void command_type(struct call *call) {
    struct entry *e = call_peek(call, 1);
    reply_status(call->client, e ? entry_type_name(e) : "none");
}

static void command_dbsize(struct call *call) {
    reply_integer(call->client, (int64_t)keyspace_count(call->keyspace));
}

static void command_randomkey(struct call *call) {
    struct entry *e = keyspace_random(call->keyspace);
    if (e)
        reply_bulk(call->client, entry_key(e));
    else
        reply_null(call->client);
}

/* ---- other names and other databases ---- */

/* Opens an edit of the command's key and notes the access. False where there is no such key. */
static bool open_source(struct edit *edit, const struct call *call) {
    edit_find_argument(edit, call, 1);
    if (edit->entry) keyspace_note_access(edit->entry);
    return edit->entry != NULL;
}

/* RENAME and RENAMENX: false after an error reply. */
static bool rename_opens(struct edit *edit, const struct call *call) {
    if (open_source(edit, call)) return true;
    reply_error(call->client, "no such key");
    return false;
}

static void command_rename_key(struct call *call) {
    struct edit edit;
    if (!rename_opens(&edit, call)) return;
    const struct key to = call_key(call, 2);
    if (!slice_equal(edit.key.name, to.name)) edit_rename(&edit, &to);
    reply_ok(call->client);
}

static void command_renamenx(struct call *call) {
    struct edit edit;
    if (!rename_opens(&edit, call)) return;
    const struct key to = call_key(call, 2);
    bool done = !slice_equal(edit.key.name, to.name) && !keyspace_find(&to);
    if (done) edit_rename(&edit, &to);
    reply_integer(call->client, done);
}

/* A database by its number; NULL after an error reply. */
static struct keyspace *argument_database(struct call *call, int index) {
    int64_t number;
    if (!argument_int64(call, index, &number, NULL)) return NULL;
    if (number < INT32_MIN || number > INT32_MAX)
        reply_error(call->client,
                    "value is out of range, value must between -2147483648 and "
                    "2147483647");
    else if (number < 0 || number >= keyspace_databases())
        reply_error(call->client, DATABASE_OUT_OF_RANGE);
    else
        return keyspace_at((int)number);
    return NULL;
}

/* Whether this is a node of a cluster, which has only database 0; then replies the error. */
static bool cluster_forbids(struct call *call, const char *error) {
    if (!keyspace_is_of_cluster()) return false;
    reply_error(call->client, error);
    return true;
}

static void command_move(struct call *call) {
    if (cluster_forbids(call, "MOVE is not allowed in cluster mode")) return;
    struct keyspace *to = argument_database(call, 2);
    if (!to) return;
    if (to == call->keyspace) {
        reply_error(call->client, SAME_OBJECT);
        return;
    }
    struct edit edit;
    const struct key target = {to, call->argv[1], call_key_hash(call, 1)};
    bool done = open_source(&edit, call) && !keyspace_find(&target);
    if (done) edit_move(&edit, to);
    reply_integer(call->client, done);
}

/* COPY's options. False after an error reply. */
static bool copy_parse(struct call *call, struct keyspace **to, bool *replace) {
    *to = call->keyspace;
    *replace = false;
    for (int i = 3; i < call->argc; i++) {
        if (argument_is(call, i, "replace")) {
            *replace = true;
        } else if (argument_is(call, i, "db") && i + 1 < call->argc) {
            *to = argument_database(call, ++i);
            if (!*to) return false;
        } else {
            reply_syntax_error(call->client);
            return false;
        }
    }
    return true;
}

static void command_copy(struct call *call) {
    struct keyspace *to;
    bool replace;
    if (!copy_parse(call, &to, &replace)) return;
    if (keyspace_index(to) != 0 &&
        cluster_forbids(call, "Copying to another database is not allowed in cluster mode"))
        return;
    if (to == call->keyspace && slice_equal(call->argv[1], call->argv[2])) {
        reply_error(call->client, SAME_OBJECT);
        return;
    }
    struct edit edit;
    const struct key target = {to, call->argv[2], call_key_hash(call, 2)};
    bool done = open_source(&edit, call) && (replace || !keyspace_find(&target));
    if (done) edit_copy(&edit, &target);
    reply_integer(call->client, done);
}

static bool argument_swap_index(struct call *call, int index, const char *error, int64_t *number) {
    if (!argument_int64(call, index, number, error)) return false;
    if (*number >= INT32_MIN && *number <= INT32_MAX) return true;
    reply_error(call->client, error);
    return false;
}

static void command_swapdb(struct call *call) {
    int64_t a, b;
    if (cluster_forbids(call, "SWAPDB is not allowed in cluster mode")) return;
    if (!argument_swap_index(call, 1, "invalid first DB index", &a)) return;
    if (!argument_swap_index(call, 2, "invalid second DB index", &b)) return;
    if (a < 0 || a >= keyspace_databases() || b < 0 || b >= keyspace_databases()) {
        reply_error(call->client, DATABASE_OUT_OF_RANGE);
        return;
    }
    edit_swap(keyspace_at((int)a), keyspace_at((int)b));
    blocked_signal_swapped(keyspace_at((int)a), keyspace_at((int)b));
    reply_ok(call->client);
}

/* ---- FLUSHDB and FLUSHALL ---- */

/* Parses SYNC or ASYNC, or neither. False after an error reply. */
static bool flush_parse(struct call *call, bool *lazily) {
    *lazily = flush_is_lazy();
    if (call->argc == 1) return true;
    *lazily = argument_is(call, 1, "async");
    if (call->argc == 2 && (*lazily || argument_is(call, 1, "sync"))) return true;
    reply_syntax_error(call->client);
    return false;
}

/* Empties the databases from `first` to `last`, and replies. */
static void flush_generic(struct call *call, int first, int last, bool lazily) {
    size_t keys = 0, bytes = 0;
    for (int i = first; i <= last; i++) {
        keys += keyspace_count(keyspace_at(i));
        bytes += keyspace_entry_bytes(keyspace_at(i));
    }
    bool much = flush_is_long(keys, bytes);
    enum lazyfree_way way = lazily ? LAZYFREE_LATER : much ? LAZYFREE_AWAITED : LAZYFREE_NOW;
    for (int i = first; i <= last; i++) edit_count(edit_flush(keyspace_at(i), way));
    if (!lazily && much && flush_can_wait(call))
        flush_wait(call);
    else
        reply_ok(call->client);
}

static void command_flushdb(struct call *call) {
    bool lazily;
    if (!flush_parse(call, &lazily)) return;
    int index = keyspace_index(call->keyspace);
    flush_begins(index);
    flush_generic(call, index, index, lazily);
    flush_done(index);
}

static void command_flushall(struct call *call) {
    bool lazily;
    if (!flush_parse(call, &lazily)) return;
    flush_begins(FLUSH_ALL);
    flush_generic(call, 0, keyspace_databases() - 1, lazily);
    flush_done(FLUSH_ALL);
    edit_count(1);
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
    bool shared = memory_limit_shares_integers() && e->encoding == STRING_INT &&
                  entry_integer(e) >= 0 && entry_integer(e) <= SHARED_INTEGER_MAX;
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
    const struct key key = call_key(call, 2);
    struct entry *e = keyspace_peek_quietly(&key);
    if (!e) {
        reply_null(c);
    } else if (argument_is(call, 1, "encoding")) {
        reply_bulk_c_string(c, entry_encoding_name(e));
    } else if (argument_is(call, 1, "refcount")) {
        reply_integer(c, reference_count(e));
    } else if (argument_is(call, 1, "idletime")) {
        if (recency_uses_frequency())
            reply_error(c, "An LFU maxmemory policy is selected, idle time not tracked. " ADJUSTS);
        else
            reply_integer(c, recency_idle_seconds(e));
    } else if (recency_uses_frequency()) {
        reply_integer(c, recency_frequency(e));
    } else {
        reply_error(
            c, "An LFU maxmemory policy is not selected, access frequency not tracked. " ADJUSTS);
    }
}

/* ---- rows ---- */

static struct command rows[] = {
    COMMAND("del", command_del, -2, WRITE, ACL_KEYSPACE, CHANGES(WHOLE, ALL_KEYS),
            "Deletes keys; returns how many there were.", .traced = "each"),
    COMMAND("unlink", command_unlink, -2, WRITE | FAST, ACL_KEYSPACE, CHANGES(WHOLE, ALL_KEYS),
            "As DEL; large values are freed in the background.", .traced = "each"),
    COMMAND("touch", command_touch, -2, READ | FAST, ACL_KEYSPACE, ALL_KEYS,
            "Notes an access of each key; returns how many there are.", .traced = "each"),
    COMMAND("exists", command_exists, -2, READ | FAST, ACL_KEYSPACE, ALL_KEYS,
            "How many of the keys exist; a key named twice counts twice.", .traced = "each"),
    COMMAND("type", command_type, 2, READ | FAST, ACL_KEYSPACE, ONE_KEY,
            "The type of a key's value, or none."),
    COMMAND("dbsize", command_dbsize, 1, READ | FAST, ACL_KEYSPACE, NO_KEYS,
            "Number of keys in the selected database."),
    COMMAND("randomkey", command_randomkey, 1, READ | BY_CHANCE, ACL_KEYSPACE, NO_KEYS,
            "A random key of the selected database."),
    COMMAND("rename", command_rename_key, 3, WRITE, ACL_KEYSPACE, CHANGES(ANYTHING, TWO_KEYS),
            "Renames a key; replaces a key that has the new name."),
    COMMAND("renamenx", command_renamenx, 3, WRITE | FAST, ACL_KEYSPACE,
            CHANGES(ANYTHING, TWO_KEYS), "Renames a key if no key has the new name."),
    COMMAND("move", command_move, 3, WRITE | FAST, ACL_KEYSPACE, CHANGES(ANYTHING, ONE_KEY),
            "Moves a key to another database, unless that has such a key.", .traced = "2#"),
    COMMAND("copy", command_copy, -3, GROW, ACL_KEYSPACE, CHANGES(WHOLE, TWO_KEYS),
            "Copies a key, with DB and REPLACE.", .traced = "3.. db# replace"),
    COMMAND("swapdb", command_swapdb, 3, WRITE | FAST, ACL_KEYSPACE | ACL_DANGEROUS, NO_KEYS,
            "Exchanges the contents of two databases."),
    COMMAND("flushdb", command_flushdb, -1, WRITE, ACL_KEYSPACE | ACL_DANGEROUS, NO_KEYS,
            "Empties the selected database; with ASYNC the background frees it."),
    COMMAND("flushall", command_flushall, -1, WRITE, ACL_KEYSPACE | ACL_DANGEROUS, NO_KEYS,
            "Empties all databases; with ASYNC the background frees them."),
    COMMAND("object", command_object, -2, READ | BY_CHANCE, ACL_KEYSPACE, KEYS(2, 2, 1),
            "How a key's value is stored: ENCODING, FREQ, IDLETIME, REFCOUNT.",
            .traced = "1.. encoding freq idletime refcount"),
};

void commands_keys_register(void) { command_register(COMMAND_ROWS(rows)); }
