/* SPDX-License-Identifier: BSD-3-Clause
 * Commands on HyperLogLogs, which are strings (ds/hyperloglog). The rows stand at the end.
 *
 * A sparse HyperLogLog is changed in a copy on the stack and stored as a whole. A dense one keeps
 * its length, so it is changed in place, and only if a register is raised.
 */
#include "commands/hyperloglog.h"

#include <math.h>

#include "command/arguments.h"
#include "command/call.h"
#include "command/command.h"
#include "command/row.h"
#include "ds/hyperloglog.h"
#include "exec/edit.h"
#include "net/client.h"
#include "net/reply.h"
#include "option/option.h"
#include "store/keyspace.h"

/* PFSELFTEST: how many elements it adds, and how many standard errors the estimate may be off,
 * which one run in 16,000 exceeds. */
#define SELFTEST_ELEMENTS 1000000
#define SELFTEST_ERRORS 4
#define STANDARD_ERROR (1.04 / 128)

static int64_t sparse_bytes_max;

/* ---- finding and storing ---- */

static void reply_corrupt(struct client *c) {
    reply_error(c, "-INVALIDOBJ Corrupted HLL object detected");
}

/* Reads the text of a key that must be a HyperLogLog where it exists (*e NULL: it does not); false
 * after an error reply. An integer cannot be one, so no scratch is needed. */
static bool is_hyperloglog(const struct call *call, const struct entry *e, struct slice *text) {
    char scratch[ENTRY_STRING_SCRATCH];
    if (!e) return true;
    *text = entry_string(e, scratch);
    if (e->encoding != STRING_INT && hyperloglog_is_valid(*text)) return true;
    reply_error(call->client, "-WRONGTYPE Key is not a valid HyperLogLog string value.");
    return false;
}

static bool hyperloglog_find(const struct call *call, int index, struct entry **e,
                             struct slice *text) {
    return argument_read_typed(call, index, ENTRY_STRING, e) && is_hyperloglog(call, *e, text);
}

/* Opens an edit of a key that must be a HyperLogLog where it exists; false after an error reply. */
static bool hyperloglog_open(struct edit *edit, const struct call *call, int index,
                             struct slice *text) {
    return edit_open(edit, call, index, ENTRY_STRING) && is_hyperloglog(call, edit->entry, text);
}

static void hyperloglog_store(struct edit *edit, const char *bytes, size_t length) {
    struct string_value value = string_value_raw((struct slice){bytes, length});
    edit_put_string(edit, &value, KEYSPACE_KEEP_DEADLINE);
}

/* The copy in which a sparse HyperLogLog is changed. */
struct room {
    size_t length;
    bool cut; /* the text is longer, with bytes behind all registers' runs */
    char bytes[HYPERLOGLOG_ROOM_BYTES];
};

/* Copies the valid part of `text`; NULL bytes: an empty HyperLogLog. */
static void room_fill(struct room *room, struct slice text) {
    room->cut = text.length > sizeof(room->bytes);
    room->length = room->cut ? sizeof(room->bytes) : text.length;
    if (text.bytes)
        memcpy(room->bytes, text.bytes, room->length);
    else
        room->length = hyperloglog_init(room->bytes);
}

/* Prepares a changed room for storing: one that was cut becomes dense. False where it is
 * corrupt. */
static bool room_settle(struct room *room) {
    if (room->cut && !hyperloglog_make_dense(room->bytes, &room->length)) return false;
    hyperloglog_forget_count(room->bytes);
    return true;
}

/* ---- PFADD ---- */

static void add_dense(struct call *call, struct edit *edit, struct slice text) {
    char *bytes = NULL;
    size_t length = HYPERLOGLOG_DENSE_BYTES;
    for (int i = 2; i < call->argc; i++) {
        if (!bytes && hyperloglog_dense_has(text.bytes, call->argv[i])) continue;
        if (!bytes) bytes = edit_put_bytes(edit, HYPERLOGLOG_DENSE_BYTES);
        hyperloglog_add(bytes, &length, call->argv[i], 0);
    }
    edit_close(edit, bytes != NULL, NOTIFY_STRING, "pfadd");
    reply_integer(call->client, bytes != NULL);
}

static void add_sparse(struct call *call, struct edit *edit, struct room *room) {
    bool changed = !edit->entry;
    enum hyperloglog_result result = HYPERLOGLOG_SAME;
    for (int i = 2; i < call->argc && result != HYPERLOGLOG_CORRUPT; i++) {
        result =
            hyperloglog_add(room->bytes, &room->length, call->argv[i], (size_t)sparse_bytes_max);
        changed = changed || result == HYPERLOGLOG_CHANGED;
    }
    if (result == HYPERLOGLOG_CORRUPT || (changed && !room_settle(room))) {
        reply_corrupt(call->client);
        return;
    }
    if (changed) {
        hyperloglog_store(edit, room->bytes, room->length);
        edit_close(edit, 1, NOTIFY_STRING, "pfadd");
    }
    reply_integer(call->client, changed);
}

static void command_pfadd(struct call *call) {
    struct edit edit;
    struct room room;
    struct slice text = {NULL, 0};
    if (!hyperloglog_open(&edit, call, 1, &text)) return;
    if (edit.entry && hyperloglog_is_dense(text.bytes)) {
        add_dense(call, &edit, text);
        return;
    }
    room_fill(&room, text);
    add_sparse(call, &edit, &room);
}

/* ---- PFCOUNT ---- */

static void count_one(struct call *call) {
    struct edit edit;
    struct slice text;
    uint64_t cardinality = 0;
    if (!hyperloglog_open(&edit, call, 1, &text)) return;
    if (edit.entry && !hyperloglog_kept_count(text.bytes, &cardinality)) {
        if (!hyperloglog_count(text, &cardinality)) {
            reply_corrupt(call->client);
            return;
        }
        hyperloglog_keep_count(edit_put_bytes(&edit, text.length), cardinality);
        edit_close(&edit, 1, NOTIFY_STRING, NULL);
    }
    reply_integer(call->client, (int64_t)cardinality);
}

/* Raises `registers` to those of the arguments from `first` on. `*dense`: whether one of these is
 * dense. False after an error reply. */
static bool merge_all(struct call *call, int first, uint8_t *registers, bool *dense) {
    *dense = false;
    for (int i = first; i < call->argc; i++) {
        struct entry *e;
        struct slice text;
        if (!hyperloglog_find(call, i, &e, &text)) return false;
        if (!e) continue;
        if (hyperloglog_is_dense(text.bytes)) *dense = true;
        if (hyperloglog_merge(registers, text)) continue;
        reply_corrupt(call->client);
        return false;
    }
    return true;
}

static void command_pfcount(struct call *call) {
    uint8_t registers[HYPERLOGLOG_REGISTERS] = {0};
    bool dense;
    if (call->argc == 2) {
        count_one(call);
        return;
    }
    if (!merge_all(call, 1, registers, &dense)) return;
    reply_integer(call->client, (int64_t)hyperloglog_count_registers(registers));
}

/* ---- PFMERGE ---- */

static void command_pfmerge(struct call *call) {
    uint8_t registers[HYPERLOGLOG_REGISTERS] = {0};
    struct edit edit;
    struct room room;
    struct slice text = {NULL, 0};
    bool dense;
    if (!merge_all(call, 1, registers, &dense)) return;
    hyperloglog_open(&edit, call, 1, &text); /* merge_all has checked it */
    room_fill(&room, text);
    if ((dense && !hyperloglog_make_dense(room.bytes, &room.length)) ||
        !hyperloglog_raise(room.bytes, &room.length, registers, (size_t)sparse_bytes_max) ||
        !room_settle(&room)) {
        reply_corrupt(call->client);
        return;
    }
    hyperloglog_store(&edit, room.bytes, room.length);
    edit_close(&edit, 1, NOTIFY_STRING, "pfadd");
    reply_ok(call->client);
}

/* ---- PFDEBUG and PFSELFTEST ---- */

/* Makes the key's value dense; false after an error reply. */
static bool make_dense(struct call *call, struct edit *edit, struct slice text) {
    struct room room;
    room_fill(&room, text);
    if (!hyperloglog_make_dense(room.bytes, &room.length)) {
        reply_corrupt(call->client);
        return false;
    }
    hyperloglog_store(edit, room.bytes, room.length);
    edit_close(edit, 1, NOTIFY_STRING, NULL);
    return true;
}

static void debug_registers(struct call *call, struct edit *edit, struct slice text) {
    uint8_t registers[HYPERLOGLOG_REGISTERS] = {0};
    if (!hyperloglog_is_dense(text.bytes)) {
        if (!make_dense(call, edit, text)) return;
        if (!hyperloglog_open(edit, call, 2, &text)) return;
    }
    hyperloglog_merge(registers, text);
    reply_array(call->client, HYPERLOGLOG_REGISTERS);
    for (int i = 0; i < HYPERLOGLOG_REGISTERS; i++) reply_integer(call->client, registers[i]);
}

static void debug_decode(struct call *call, struct edit *edit, struct slice text) {
    struct hyperloglog_run run = {.at = HYPERLOGLOG_HEADER_BYTES};
    struct buffer shown;
    if (hyperloglog_is_dense(text.bytes)) {
        reply_error(call->client, "HLL encoding is not sparse");
        return;
    }
    buffer_init(&shown, MEMORY_OTHER);
    while (hyperloglog_run_at(text, &run)) {
        const char *blank = shown.length ? " " : "";
        if (run.value)
            buffer_printf(&shown, "%sv:%u,%u", blank, run.value, run.length);
        else
            buffer_printf(&shown, "%s%c:%u", blank, run.bytes == 2 ? 'Z' : 'z', run.length);
        run.at += run.bytes;
        run.first += run.length;
    }
    reply_bulk(call->client, buffer_slice(&shown));
    buffer_free(&shown);
}

static void debug_encoding(struct call *call, struct edit *edit, struct slice text) {
    reply_status(call->client, hyperloglog_is_dense(text.bytes) ? "dense" : "sparse");
}

static void debug_to_dense(struct call *call, struct edit *edit, struct slice text) {
    bool sparse = !hyperloglog_is_dense(text.bytes);
    if (!sparse || make_dense(call, edit, text)) reply_integer(call->client, sparse);
}

static const struct {
    const char *name;
    void (*run)(struct call *call, struct edit *edit, struct slice text);
} subcommands[] = {{"getreg", debug_registers},
                   {"decode", debug_decode},
                   {"encoding", debug_encoding},
                   {"todense", debug_to_dense}};

static void command_pfdebug(struct call *call) {
    struct edit edit;
    struct slice text, word = call->argv[1];
    if (!hyperloglog_open(&edit, call, 2, &text)) return;
    if (!edit.entry) {
        reply_error(call->client, "The specified key does not exist");
        return;
    }
    for (size_t i = 0; i < sizeof(subcommands) / sizeof(subcommands[0]); i++) {
        if (!slice_is(word, subcommands[i].name)) continue;
        if (call->argc == 3)
            subcommands[i].run(call, &edit, text);
        else
            reply_error_format(call->client, "Wrong number of arguments for the '%.*s' subcommand",
                               (int)word.length, word.bytes);
        return;
    }
    reply_error_format(call->client, "Unknown PFDEBUG subcommand '%.*s'", (int)word.length,
                       word.bytes);
}

/* Adds numbers to a sparse and to a dense HyperLogLog: they must agree, and their estimates must be
 * near. */
static bool hyperloglog_selftest(struct room *sparse, char *dense, char *reason,
                                 size_t reason_size) {
    size_t dense_length = hyperloglog_init(dense);
    uint64_t next_look = 1;
    hyperloglog_make_dense(dense, &dense_length);
    for (uint64_t i = 1; i <= SELFTEST_ELEMENTS; i++) {
        struct slice element = {(const char *)&i, sizeof(i)};
        uint64_t a = 0, b = 0;
        hyperloglog_add(sparse->bytes, &sparse->length, element, (size_t)sparse_bytes_max);
        hyperloglog_add(dense, &dense_length, element, 0);
        if (i != next_look) continue;
        next_look *= 10;
        bool counted = hyperloglog_count((struct slice){sparse->bytes, sparse->length}, &a) &&
                       hyperloglog_count((struct slice){dense, dense_length}, &b);
        double off = counted ? fabs((double)a - (double)i) : 0;
        if (counted && a == b && off <= SELFTEST_ERRORS * STANDARD_ERROR * (double)i + 1) continue;
        snprintf(reason, reason_size, "TESTFAILED estimates of %llu elements: %llu and %llu",
                 (unsigned long long)i, (unsigned long long)a, (unsigned long long)b);
        return false;
    }
    return true;
}

static void command_pfselftest(struct call *call) {
    struct room sparse;
    char dense[HYPERLOGLOG_ROOM_BYTES], reason[128];
    room_fill(&sparse, (struct slice){NULL, 0});
    if (hyperloglog_selftest(&sparse, dense, reason, sizeof(reason)))
        reply_ok(call->client);
    else
        reply_error_format(call->client, "-%s", reason);
}

/* ---- rows ---- */

static const struct option_row option_rows[] = {
    OPTION_BYTES("hll-sparse-max-bytes", &sparse_bytes_max, "3000", 0, INT64_MAX, OPTION_MUTABLE,
                 "small values", 80, "Bytes up to which a HyperLogLog is kept in its sparse form."),
};

static struct command rows[] = {
    COMMAND("pfadd", command_pfadd, -2, GROW | FAST, ACL_HYPERLOGLOG, CHANGES(STRING, ONE_KEY),
            "Adds elements to a HyperLogLog; returns whether its estimate may have changed."),
    COMMAND("pfcount", command_pfcount, -2, READ | COMMAND_MAY_REPLICATE, ACL_HYPERLOGLOG,
            CHANGES(STRING, ALL_KEYS),
            "About how many different elements were added to any of these.", .traced = "each"),
    COMMAND("pfmerge", command_pfmerge, -2, GROW, ACL_HYPERLOGLOG, CHANGES(STRING, ALL_KEYS),
            "Stores the union of all under the first key."),
    COMMAND("pfdebug", command_pfdebug, -3, GROW | ADMIN, ACL_HYPERLOGLOG,
            CHANGES(STRING, KEYS(2, 2, 1)),
            "Shows the inside of a HyperLogLog: ENCODING, DECODE, GETREG; TODENSE changes it."),
    COMMAND("pfselftest", command_pfselftest, 1, ADMIN, ACL_HYPERLOGLOG, NO_KEYS,
            "Compares estimates with true counts; takes some hundred milliseconds."),
};

void commands_hyperloglog_register(void) {
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
    command_register(COMMAND_ROWS(rows));
}
