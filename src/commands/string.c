/* SPDX-License-Identifier: BSD-3-Clause
 * Commands on strings. The rows stand at the end.
 *
 * A write is one edit (exec/edit), so that it costs one lookup. Texts come as slices of the request
 * and are copied into the entry; a large argument that arrived in a block of its own is kept
 * without a copy. APPEND and SETRANGE write into the string in place (edit_put_bytes).
 *
 * Commands with many keys prefetch a group of entries before they use the first.
 */
#include "commands/string.h"

#include <math.h>

#include "base/clock.h"
#include "base/number.h"
#include "command/arguments.h"
#include "command/call.h"
#include "command/command.h"
#include "command/command_keys.h"
#include "command/row.h"
#include "ds/lcs.h"
#include "exec/edit.h"
#include "exec/effects.h"
#include "net/batch.h"
#include "net/client.h"
#include "net/reply.h"
#include "store/keyspace.h"
#include "store/lazyfree.h"
#include "store/limbo.h"

/* STRALGO LCS refuses strings of this length, as 6.2, whose table has 32-bit indexes. */
#define LCS_STRING_BYTES_END (UINT32_MAX - 1)
/* All digits of the largest long double, sign, point, 17 decimals: 4,952, rounded up. */
#define LDBL_TEXT_BYTES 5120

/* Looks up the key for a command that reads, which counts a hit or a miss. */
static struct entry *read_key(const struct call *call) { return call_read(call, 1); }

/* Begins an edit of the key, for a command that also reads it. */
static void edit_read(struct edit *edit, const struct call *call) {
    const struct key key = call_key(call, 1);
    edit_of_entry(edit, &key, read_key(call));
}

static void reply_string(struct client *c, const struct entry *e) {
    char scratch[ENTRY_STRING_SCRATCH];
    reply_bulk(c, entry_string(e, scratch));
}

/* Replies the text or a null; false after a reply of wrong type. */
static bool reply_string_or_null(const struct call *call, struct entry *e) {
    if (!argument_string_entry(call, e)) return false;
    if (e)
        reply_string(call->client, e);
    else
        reply_null(call->client);
    return true;
}

/* The argument as a value to store; its own block, if it has one, is taken. */
static struct string_value value_of_argument(const struct call *call, int index) {
    struct string_value value = string_value_of_text(call->argv[index]);
    if (value.text.length >= BATCH_ADOPT_BYTES)
        value.blob = call_take_argument(call, index, MEMORY_DATASET);
    return value;
}

/* ---- GET and SET ---- */

static void command_get(struct call *call) { reply_string_or_null(call, read_key(call)); }

enum set_flags {
    SET_NX = 1 << 0,
    SET_XX = 1 << 1,
    SET_GET = 1 << 2,
    SET_KEEPTTL = 1 << 3,
    SET_EXPIRES = 1 << 4,
    SET_PERSIST = 1 << 5,
};
/* The flags that SET and GETEX allow. */
#define SET_FLAGS (SET_NX | SET_XX | SET_GET | SET_KEEPTTL)
#define GETEX_FLAGS SET_PERSIST

/* A time as EX, PX, EXAT or PXAT gives it. */
struct given_time {
    int64_t msec;     /* as given, in milliseconds */
    int64_t deadline; /* milliseconds since 1970 */
    bool relative;
};

/* `unit` is 1000 (EX) or 1 (PX). False where it is not positive or does not fit. */
static bool time_of(int64_t value, int64_t unit, bool relative, struct given_time *time) {
    if (value <= 0 || value > INT64_MAX / unit) return false;
    *time = (struct given_time){value * unit, value * unit, relative};
    if (!relative) return true;
    int64_t now = clock_cached_msec();
    if (time->deadline > INT64_MAX - now) return false;
    time->deadline += now;
    return true;
}

struct set_expiry {
    const char *word;
    int64_t unit;
    bool relative;
};

static const struct set_expiry set_expiries[] = {
    {"ex", 1000, true}, {"px", 1, true}, {"exat", 1000, false}, {"pxat", 1, false}};

struct set_flag_word {
    const char *word;
    unsigned flag;
};

static const struct set_flag_word set_flag_words[] = {{"nx", SET_NX},
                                                      {"xx", SET_XX},
                                                      {"get", SET_GET},
                                                      {"keepttl", SET_KEEPTTL},
                                                      {"persist", SET_PERSIST}};

/* The options of one command, as parsed. */
struct set_options {
    unsigned flags;
    const struct set_expiry *form; /* NULL: no time was given */
    int value_index;               /* the argument of the time */
};

/* EX, PX, EXAT or PXAT at `index`, with a value behind it; NULL where it is none of these. */
static const struct set_expiry *set_expiry_at(const struct call *call, int index) {
    for (size_t i = 0; i < sizeof(set_expiries) / sizeof(set_expiries[0]); i++)
        if (argument_is(call, index, set_expiries[i].word))
            return index + 1 < call->argc ? &set_expiries[i] : NULL;
    return NULL;
}

static unsigned set_flag_at(const struct call *call, int index, unsigned allowed) {
    for (size_t i = 0; i < sizeof(set_flag_words) / sizeof(set_flag_words[0]); i++)
        if (argument_is(call, index, set_flag_words[i].word))
            return set_flag_words[i].flag & allowed;
    return 0;
}

static bool set_flags_conflict(unsigned flags) {
    return (flags & SET_NX && flags & (SET_XX | SET_GET)) ||
           (flags & SET_EXPIRES && flags & (SET_KEEPTTL | SET_PERSIST));
}

/* Parses the options from `first` on; parse_time checks the time's value later. False after an
 * error reply. */
static bool set_parse(struct call *call, int first, unsigned allowed, struct set_options *options) {
    *options = (struct set_options){0};
    for (int i = first; i < call->argc; i++) {
        unsigned flag = set_flag_at(call, i, allowed);
        const struct set_expiry *form = flag ? NULL : set_expiry_at(call, i);
        /* A word may be repeated, and the last one counts; two different words are refused. */
        bool other_form = form && options->form && form != options->form;
        if (form) {
            options->form = form;
            options->value_index = ++i;
            flag = SET_EXPIRES;
        }
        options->flags |= flag;
        if (!flag || other_form || set_flags_conflict(options->flags)) {
            reply_syntax_error(call->client);
            return false;
        }
    }
    return true;
}

/* Parses the time of `form` at `index`. False after an error reply. */
static bool parse_time(struct call *call, const struct set_expiry *form, int index,
                       struct given_time *time) {
    int64_t value;
    if (!argument_int64(call, index, &value, NULL)) return false;
    if (time_of(value, form->unit, form->relative, time)) return true;
    reply_error_format(call->client, "invalid expire time in %s", call->command->name);
    return false;
}

/* The effect of SET, SETEX and PSETEX with a time: a plain SET, in the log with the time at which
 * the key expires. */
static void add_timed_effects(const struct call *call, struct slice text,
                              const struct given_time *time) {
    char digits[NUMBER_INT64_CHARS];
    struct slice words[] = {SLICE("SET"), call->argv[1], text, SLICE("PXAT"), {digits, 0}};
    words[4].length = number_format_int64(digits, time->deadline);
    effect_add(call->keyspace, time->relative ? EFFECT_LOG : EFFECT_BOTH, 5, words);
    if (!time->relative) return;
    words[3] = SLICE("PX");
    words[4].length = number_format_int64(digits, time->msec);
    effect_add(call->keyspace, EFFECT_STREAM, 5, words);
}

/* The effect of SET with GET: without GET, because log and replicas need no reply. */
static void add_effect_without_get(const struct call *call) {
    int argc = 0;
    if (!effects_wanted()) return;
    struct slice *words = memory_alloc((size_t)call->argc * sizeof(*words), MEMORY_OTHER);
    for (int i = 0; i < call->argc; i++)
        if (i < 3 || !argument_is(call, i, "get")) words[argc++] = call->argv[i];
    effect_add(call->keyspace, EFFECT_BOTH, argc, words);
    memory_free(words, MEMORY_OTHER);
}

static void command_set(struct call *call) {
    struct set_options options = {0};
    struct given_time time;
    struct edit edit;
    if (call->argc > 3 && !set_parse(call, 3, SET_FLAGS, &options)) return;
    int64_t deadline = options.flags & SET_KEEPTTL ? KEYSPACE_KEEP_DEADLINE : ENTRY_NO_DEADLINE;
    if (options.form) {
        if (!parse_time(call, options.form, options.value_index, &time)) return;
        deadline = time.deadline;
    }
    bool get = options.flags & SET_GET;
    edit_find_argument(&edit, call, 1);
    /* A missing key with XX counts as no miss: as 6.2. */
    if (get && !(options.flags & SET_XX && !edit.entry)) edit_read(&edit, call);
    if (get && !reply_string_or_null(call, edit.entry)) return;
    if ((options.flags & SET_NX && edit.entry) || (options.flags & SET_XX && !edit.entry)) {
        if (edit.entry) keyspace_note_access(edit.entry);
        if (!get) reply_null(call->client);
        return;
    }
    struct string_value value = value_of_argument(call, 2);
    edit_put_string(&edit, &value, deadline);
    edit_close(&edit, 1, NOTIFY_STRING, "set");
    if (options.form) {
        edit_announce(&edit, NOTIFY_GENERIC, "expire");
        if (effects_wanted()) add_timed_effects(call, call->argv[2], &time);
    } else if (get) {
        add_effect_without_get(call);
    }
    if (!get) reply_ok(call->client);
}

static void command_setnx(struct call *call) {
    struct edit edit;
    edit_find_argument(&edit, call, 1);
    bool absent = !edit.entry;
    if (absent) {
        struct string_value value = value_of_argument(call, 2);
        edit_put_string(&edit, &value, ENTRY_NO_DEADLINE);
        edit_close(&edit, 1, NOTIFY_STRING, "set");
    } else {
        keyspace_note_access(edit.entry);
    }
    reply_integer(call->client, absent);
}

static void set_with_time(struct call *call, const struct set_expiry *form) {
    struct given_time time;
    struct edit edit;
    if (!parse_time(call, form, 2, &time)) return;
    struct string_value value = value_of_argument(call, 3);
    edit_find_argument(&edit, call, 1);
    edit_put_string(&edit, &value, time.deadline);
    edit_close(&edit, 1, NOTIFY_STRING, "set");
    edit_announce(&edit, NOTIFY_GENERIC, "expire");
    if (effects_wanted()) add_timed_effects(call, call->argv[3], &time);
    reply_ok(call->client);
}

static void command_setex(struct call *call) { set_with_time(call, &set_expiries[0]); }
static void command_psetex(struct call *call) { set_with_time(call, &set_expiries[1]); }

static void command_getset(struct call *call) {
    struct edit edit;
    edit_read(&edit, call);
    if (!reply_string_or_null(call, edit.entry)) return;
    struct string_value value = value_of_argument(call, 2);
    edit_put_string(&edit, &value, ENTRY_NO_DEADLINE);
    edit_close(&edit, 1, NOTIFY_STRING, "set");
    const struct slice effect[] = {SLICE("SET"), call->argv[1], call->argv[2]};
    effect_add(call->keyspace, EFFECT_BOTH, 3, effect);
}

static void command_getdel(struct call *call) {
    struct entry *e = read_key(call);
    if (!reply_string_or_null(call, e) || !e) return;
    const struct key key = call_key(call, 1);
    bool lazily = edit_user_deletes_lazily();
    edit_delete(&key, lazily);
    effect_add_delete(&key, lazily);
}

static void add_getex_effects(const struct call *call, const struct given_time *time) {
    char digits[NUMBER_INT64_CHARS];
    struct slice words[] = {SLICE("PEXPIREAT"), call->argv[1], {digits, 0}};
    if (!effects_wanted()) return;
    words[2].length = number_format_int64(digits, time->deadline);
    effect_add(call->keyspace, time->relative ? EFFECT_LOG : EFFECT_BOTH, 3, words);
    if (!time->relative) return;
    words[0] = SLICE("PEXPIRE");
    words[2].length = number_format_int64(digits, time->msec);
    effect_add(call->keyspace, EFFECT_STREAM, 3, words);
}

/* Replies before it changes anything: the new deadline may have passed already. */
static void command_getex(struct call *call) {
    struct set_options options;
    struct given_time time;
    struct edit edit;
    if (!set_parse(call, 2, GETEX_FLAGS, &options)) return;
    edit_read(&edit, call);
    if (!edit.entry || !argument_string_entry(call, edit.entry)) {
        if (!edit.entry) reply_null(call->client);
        return;
    }
    if (options.form && !parse_time(call, options.form, options.value_index, &time)) return;
    reply_string(call->client, edit.entry);
    if (options.form && keyspace_is_over(time.deadline)) {
        bool lazily = lazyfree_wanted(LAZYFREE_EXPIRE);
        edit_delete(&edit.key, lazily);
        effect_add_delete(&edit.key, lazily);
    } else if (options.form) {
        edit_put_deadline(&edit, time.deadline);
        edit_close(&edit, 1, NOTIFY_GENERIC, "expire");
        add_getex_effects(call, &time);
    } else if (options.flags & SET_PERSIST && entry_has_deadline(edit.entry)) {
        const struct slice effect[] = {SLICE("PERSIST"), call->argv[1]};
        edit_put_deadline(&edit, ENTRY_NO_DEADLINE);
        edit_close(&edit, 1, NOTIFY_GENERIC, "persist");
        effect_add(call->keyspace, EFFECT_BOTH, 2, effect);
    }
}

/* ---- many keys ---- */

/* How many keys of a command are looked up together: twice as many cache misses as a core keeps in
 * flight. */
#define PREFETCH_GROUP 32

/* Hashes up to PREFETCH_GROUP keys from argument `first` on, `step` apart, and prefetches their
 * entries. Returns their number. */
static int prefetch_keys(const struct call *call, int first, int step,
                         uint64_t hashes[PREFETCH_GROUP]) {
    int count = 0;
    for (int i = first; i < call->argc && count < PREFETCH_GROUP; i += step) {
        hashes[count++] = call_key_hash(call, i);
    }
    keyspace_prefetch(call->keyspace, hashes, (size_t)count);
    return count;
}

static void command_mget(struct call *call) {
    uint64_t hashes[PREFETCH_GROUP];
    reply_array(call->client, call->argc - 1);
    for (int first = 1; first < call->argc;) {
        int count = prefetch_keys(call, first, 1, hashes);
        for (int i = 0; i < count; i++, first++) {
            const struct key key = {call->keyspace, call->argv[first], hashes[i]};
            struct entry *e = keyspace_read(&key);
            if (e && e->type == ENTRY_STRING)
                reply_string(call->client, e);
            else
                reply_null(call->client);
        }
    }
}

static bool pairs_complete(struct call *call) {
    if (call->argc % 2) return true;
    reply_error(call->client, "wrong number of arguments for MSET");
    return false;
}

static void string_set_pairs(struct call *call) {
    uint64_t hashes[PREFETCH_GROUP];
    bool taken = false;
    for (int first = 1; first < call->argc;) {
        int count = prefetch_keys(call, first, 2, hashes);
        for (int i = 0; i < count; i++, first += 2) {
            const struct key key = {call->keyspace, call->argv[first], hashes[i]};
            struct string_value value = value_of_argument(call, first + 1);
            struct edit edit;
            taken = taken || value.blob;
            edit_find(&edit, &key);
            edit_put_string(&edit, &value, ENTRY_NO_DEADLINE);
            edit_close(&edit, 1, NOTIFY_STRING, "set");
        }
        /* A pair may have replaced the block of an earlier pair's argument, which the request's
         * effect still has to read. */
        if (!taken || !effects_wanted()) limbo_checkpoint();
    }
}

static void command_mset(struct call *call) {
    if (!pairs_complete(call)) return;
    string_set_pairs(call);
    reply_ok(call->client);
}

static void command_msetnx(struct call *call) {
    if (!pairs_complete(call)) return;
    struct entry *found = NULL;
    for (int i = 1; i < call->argc && !found; i += 2) found = call_find(call, i);
    if (found)
        keyspace_note_access(found);
    else
        string_set_pairs(call);
    reply_integer(call->client, !found);
}

/* ---- counting ---- */

static void add_increment(struct call *call, int64_t increment) {
    struct edit edit;
    int64_t value = 0;
    edit_find_argument(&edit, call, 1);
    if (!argument_string_entry(call, edit.entry)) return;
    if (edit.entry && !entry_string_to_int64(edit.entry, &value)) {
        reply_error(call->client, "value is not an integer or out of range");
        return;
    }
    if (__builtin_add_overflow(value, increment, &value)) {
        reply_error(call->client, "increment or decrement would overflow");
        return;
    }
    struct string_value result = string_value_of_integer(value);
    edit_put_string(&edit, &result, KEYSPACE_KEEP_DEADLINE);
    edit_close(&edit, 1, NOTIFY_STRING, "incrby");
    reply_integer(call->client, value);
}

static void command_incr(struct call *call) { add_increment(call, 1); }
static void command_decr(struct call *call) { add_increment(call, -1); }

static void command_incrby(struct call *call) {
    int64_t increment;
    if (argument_int64(call, 2, &increment, NULL)) add_increment(call, increment);
}

static void command_decrby(struct call *call) {
    int64_t decrement;
    if (!argument_int64(call, 2, &decrement, NULL)) return;
    if (decrement == INT64_MIN) {
        reply_error(call->client, "decrement would overflow");
        return;
    }
    add_increment(call, -decrement);
}

static void command_incrbyfloat(struct call *call) {
    struct edit edit;
    long double value = 0, increment;
    edit_find_argument(&edit, call, 1);
    if (!argument_string_entry(call, edit.entry)) return;
    char scratch[ENTRY_STRING_SCRATCH];
    struct slice text = edit.entry ? entry_string(edit.entry, scratch) : SLICE("0");
    struct slice more = call->argv[2];
    if (!number_parse_long_double(text.bytes, text.length, &value) ||
        !number_parse_long_double(more.bytes, more.length, &increment)) {
        reply_error(call->client, "value is not a valid float");
        return;
    }
    value += increment;
    if (isnan(value) || isinf(value)) {
        reply_error(call->client, "increment would produce NaN or Infinity");
        return;
    }

    char *digits = memory_alloc(LDBL_TEXT_BYTES, MEMORY_OTHER);
    struct string_value result = {.encoding = STRING_EMBSTR};
    result.text =
        (struct slice){digits, number_format_long_double_fixed(digits, LDBL_TEXT_BYTES, value)};
    if (result.text.length > STRING_EMBSTR_MAX) result.encoding = STRING_RAW;
    edit_put_string(&edit, &result, KEYSPACE_KEEP_DEADLINE);
    edit_close(&edit, 1, NOTIFY_STRING, "incrbyfloat");
    reply_bulk(call->client, result.text);
    /* Log and replicas get the sum, because other processors may add differently. */
    const struct slice effect[] = {SLICE("SET"), call->argv[1], result.text, SLICE("KEEPTTL")};
    effect_add(call->keyspace, EFFECT_BOTH, 4, effect);
    memory_free(digits, MEMORY_OTHER);
}

/* ---- parts of strings ---- */

static void command_strlen(struct call *call) {
    struct entry *e = read_key(call);
    char scratch[ENTRY_STRING_SCRATCH];
    if (argument_string_entry(call, e))
        reply_integer(call->client, e ? (int64_t)entry_string(e, scratch).length : 0);
}

/* The part from `start` to `end`, both included and, where negative, counted from the end. */
static struct slice part_of(struct slice text, int64_t start, int64_t end) {
    int64_t length = (int64_t)text.length;
    struct slice none = {text.bytes, 0};
    if (start < 0 && end < 0 && start > end) return none;
    if (start < 0) start = start + length > 0 ? start + length : 0;
    if (end < 0) end = end + length > 0 ? end + length : 0;
    if (end >= length) end = length - 1;
    if (start > end) return none;
    return (struct slice){text.bytes + start, (size_t)(end - start) + 1};
}

static void command_getrange(struct call *call) {
    int64_t start, end;
    if (!argument_int64(call, 2, &start, NULL) || !argument_int64(call, 3, &end, NULL)) return;
    struct entry *e = read_key(call);
    if (!argument_string_entry(call, e)) return;
    char scratch[ENTRY_STRING_SCRATCH];
    reply_bulk(call->client, e ? part_of(entry_string(e, scratch), start, end) : SLICE(""));
}

static bool length_allowed(struct call *call, int64_t offset, size_t length) {
    if (offset <= batch_bulk_bytes_max() - (int64_t)length) return true;
    reply_error(call->client, "string exceeds maximum allowed size (proto-max-bulk-len)");
    return false;
}

/* Writes `piece` at `offset`, behind zeros where the string is shorter. */
static void write_piece(struct call *call, struct edit *edit, size_t old_length, size_t offset,
                        struct slice piece, const char *event) {
    size_t end = offset + piece.length;
    size_t length = end > old_length ? end : old_length;
    memcpy(edit_put_bytes(edit, length) + offset, piece.bytes, piece.length);
    edit_close(edit, 1, NOTIFY_STRING, event);
    reply_integer(call->client, (int64_t)length);
}

static void command_setrange(struct call *call) {
    int64_t offset;
    struct edit edit;
    if (!argument_int64(call, 2, &offset, NULL)) return;
    if (offset < 0) {
        reply_error(call->client, "offset is out of range");
        return;
    }
    edit_find_argument(&edit, call, 1);
    if (!argument_string_entry(call, edit.entry)) return;
    char scratch[ENTRY_STRING_SCRATCH];
    size_t old_length = edit.entry ? entry_string(edit.entry, scratch).length : 0;
    struct slice piece = call->argv[3];
    if (piece.length == 0 && edit.entry) keyspace_note_access(edit.entry);
    if (piece.length == 0)
        reply_integer(call->client, (int64_t)old_length);
    else if (length_allowed(call, offset, piece.length))
        write_piece(call, &edit, old_length, (size_t)offset, piece, "setrange");
}

static void command_append(struct call *call) {
    struct edit edit;
    edit_find_argument(&edit, call, 1);
    if (!argument_string_entry(call, edit.entry)) return;
    if (!edit.entry) {
        struct string_value value = value_of_argument(call, 2);
        edit_put_string(&edit, &value, ENTRY_NO_DEADLINE);
        edit_close(&edit, 1, NOTIFY_STRING, "append");
        reply_integer(call->client, (int64_t)call->argv[2].length);
        return;
    }
    char scratch[ENTRY_STRING_SCRATCH];
    size_t old_length = entry_string(edit.entry, scratch).length;
    if (length_allowed(call, (int64_t)old_length, call->argv[2].length))
        write_piece(call, &edit, old_length, old_length, call->argv[2], "append");
}

/* ---- STRALGO LCS ---- */

struct lcs_options {
    struct slice texts[2];
    char scratch[2][ENTRY_STRING_SCRATCH];
    bool given; /* the texts */
    bool length_only, indexes, with_lengths;
    int64_t shortest; /* MINMATCHLEN */
};

/* Takes the two texts at `index`, or those of the two keys there. False after an error reply. */
static bool lcs_take_texts(struct call *call, int index, bool keys, struct lcs_options *options) {
    if (options->given) {
        reply_error(call->client, "Either use STRINGS or KEYS");
        return false;
    }
    options->given = true;
    struct entry *entries[2] = {NULL, NULL};
    for (int i = 0; i < 2; i++) {
        options->texts[i] = call->argv[index + i];
        if (keys) /* both lookups are counted, even if one key is no string */
            entries[i] = call_read(call, index + i);
    }
    for (int i = 0; keys && i < 2; i++) {
        if (entries[i] && entries[i]->type != ENTRY_STRING) {
            reply_error(call->client, "The specified keys must contain string values");
            return false;
        }
        options->texts[i] = entries[i] ? entry_string(entries[i], options->scratch[i]) : SLICE("");
    }
    return true;
}

/* Parses the option at *index, which moves over its values. False after an error reply. */
static bool lcs_parse_option(struct call *call, int *index, struct lcs_options *options) {
    int at = *index, more = call->argc - 1 - at;
    if (argument_is(call, at, "idx")) {
        options->indexes = true;
    } else if (argument_is(call, at, "len")) {
        options->length_only = true;
    } else if (argument_is(call, at, "withmatchlen")) {
        options->with_lengths = true;
    } else if (argument_is(call, at, "minmatchlen") && more >= 1) {
        *index += 1;
        return argument_int64(call, at + 1, &options->shortest, NULL);
    } else if ((argument_is(call, at, "strings") || argument_is(call, at, "keys")) && more >= 2) {
        *index += 2;
        return lcs_take_texts(call, at + 1, argument_is(call, at, "keys"), options);
    } else {
        reply_syntax_error(call->client);
        return false;
    }
    return true;
}

static void lcs_reply_range(struct client *c, const struct lcs_range *range, bool with_length) {
    size_t starts[2] = {range->a_start, range->b_start};
    reply_array(c, with_length ? 3 : 2);
    for (int i = 0; i < 2; i++) {
        reply_array(c, 2);
        reply_integer(c, (int64_t)starts[i]);
        reply_integer(c, (int64_t)(starts[i] + range->length - 1));
    }
    if (with_length) reply_integer(c, (int64_t)range->length);
}

static void lcs_reply_indexes(struct client *c, struct lcs *lcs,
                              const struct lcs_options *options) {
    struct lcs_range range;
    int64_t count = 0;
    reply_map(c, 2);
    reply_bulk_c_string(c, "matches");
    struct reply_group matches = reply_array_begin(c);
    while (lcs_previous(lcs, &range)) {
        if ((int64_t)range.length < options->shortest) continue;
        lcs_reply_range(c, &range, options->with_lengths);
        count++;
    }
    reply_group_end(&matches, count);
    reply_bulk_c_string(c, "len");
    reply_integer(c, (int64_t)lcs_length(lcs));
}

static void lcs_reply_text(struct client *c, struct lcs *lcs, struct slice a) {
    size_t length = lcs_length(lcs), at = length;
    char *text = memory_alloc(length, MEMORY_OTHER);
    struct lcs_range range;
    while (lcs_previous(lcs, &range)) {
        at -= range.length;
        memcpy(text + at, a.bytes + range.a_start, range.length);
    }
    reply_bulk(c, (struct slice){text, length});
    memory_free(text, MEMORY_OTHER);
}

static const char *lcs_options_fault(const struct lcs_options *options) {
    if (!options->given) return "Please specify two strings: STRINGS or KEYS options are mandatory";
    if (options->indexes && options->length_only)
        return "If you want both the length and indexes, please just use IDX.";
    if (options->texts[0].length >= LCS_STRING_BYTES_END ||
        options->texts[1].length >= LCS_STRING_BYTES_END)
        return "String too long for LCS";
    return NULL;
}

static void command_stralgo(struct call *call) {
    struct client *c = call->client;
    if (!argument_is(call, 1, "lcs")) {
        reply_syntax_error(c);
        return;
    }
    struct lcs_options options = {0};
    for (int i = 2; i < call->argc; i++)
        if (!lcs_parse_option(call, &i, &options)) return;
    const char *fault = lcs_options_fault(&options);
    if (fault) {
        reply_error(c, fault);
        return;
    }
    struct lcs *lcs = lcs_create(options.texts[0], options.texts[1], !options.length_only);
    if (!lcs) {
        reply_error(c, "Insufficient memory");
        return;
    }
    if (options.indexes)
        lcs_reply_indexes(c, lcs, &options);
    else if (options.length_only)
        reply_integer(c, (int64_t)lcs_length(lcs));
    else
        lcs_reply_text(c, lcs, options.texts[0]);
    lcs_free(lcs);
}

/* ---- rows ---- */

/* As in 6.2, which checks neither LCS nor the other options. */
static bool stralgo_keys(const struct key_search *s) {
    for (int i = 1; i + 2 < s->argc; i++) {
        if (slice_is(s->argv[i], "strings")) return false;
        if (!slice_is(s->argv[i], "keys")) continue;
        keys_named(s, i + 1, 2);
        return true;
    }
    return false;
}

static struct command rows[] = {
    COMMAND("get", command_get, 2, READ | FAST, ACL_STRING, ONE_KEY, "The value of a key."),
    COMMAND("set", command_set, -3, GROW, ACL_STRING, CHANGES(WHOLE, ONE_KEY),
            "Sets a key, with NX, XX, GET, KEEPTTL and EX, PX, EXAT or PXAT.",
            .traced = "3.. ex# px# exat# pxat# nx xx keepttl get"),
    COMMAND("setnx", command_setnx, 3, GROW | FAST, ACL_STRING, CHANGES(WHOLE, ONE_KEY),
            "Sets a key if it does not exist; returns whether it did."),
    COMMAND("setex", command_setex, 4, GROW, ACL_STRING, CHANGES(WHOLE, ONE_KEY),
            "Sets a key with a time to live in seconds.", .traced = "2#"),
    COMMAND("psetex", command_psetex, 4, GROW, ACL_STRING, CHANGES(WHOLE, ONE_KEY),
            "Sets a key with a time to live in milliseconds.", .traced = "2#"),
    COMMAND("getset", command_getset, 3, GROW | FAST, ACL_STRING, CHANGES(WHOLE, ONE_KEY),
            "Sets a key and returns its old value."),
    COMMAND("getdel", command_getdel, 2, WRITE | FAST, ACL_STRING, CHANGES(WHOLE, ONE_KEY),
            "Returns a key's value and deletes it."),
    COMMAND("getex", command_getex, -2, WRITE | FAST, ACL_STRING, CHANGES(ANYTHING, ONE_KEY),
            "Returns a key's value; EX, PX, EXAT, PXAT or PERSIST changes its time to live.",
            .traced = "2.. ex# px# exat# pxat# persist"),
    COMMAND("mget", command_mget, -2, READ | FAST, ACL_STRING, ALL_KEYS,
            "The values of several keys.", .traced = "each"),
    COMMAND("mset", command_mset, -3, GROW, ACL_STRING, CHANGES(WHOLE, KEYS(1, -1, 2)),
            "Sets several keys.", .traced = "each"),
    COMMAND("msetnx", command_msetnx, -3, GROW, ACL_STRING, CHANGES(WHOLE, KEYS(1, -1, 2)),
            "Sets several keys if none of them is there.", .traced = "each"),
    COMMAND("append", command_append, 3, GROW | FAST, ACL_STRING, CHANGES(STRING, ONE_KEY),
            "Appends to a string; returns its length."),
    COMMAND("strlen", command_strlen, 2, READ | FAST, ACL_STRING, ONE_KEY,
            "The length of a string."),
    COMMAND("setrange", command_setrange, 4, GROW, ACL_STRING, CHANGES(STRING, ONE_KEY),
            "Overwrites part of a string from an offset on.", .traced = "2#"),
    COMMAND("getrange", command_getrange, 4, READ, ACL_STRING, ONE_KEY,
            "A part of a string, from one offset to another.", .traced = "2# 3#"),
    COMMAND("substr", command_getrange, 4, READ, ACL_STRING, ONE_KEY,
            "GETRANGE under its old name.", .traced = "2# 3#"),
    COMMAND("stralgo", command_stralgo, -2, READ | MOVABLE, ACL_STRING, NO_KEYS,
            "LCS: the longest common subsequence of two strings, its length or its places.",
            .keys = stralgo_keys),
    COMMAND("incr", command_incr, 2, GROW | FAST, ACL_STRING, CHANGES(WHOLE, ONE_KEY),
            "Adds 1 to an integer."),
    COMMAND("decr", command_decr, 2, GROW | FAST, ACL_STRING, CHANGES(WHOLE, ONE_KEY),
            "Subtracts 1 from an integer."),
    COMMAND("incrby", command_incrby, 3, GROW | FAST, ACL_STRING, CHANGES(WHOLE, ONE_KEY),
            "Adds to an integer."),
    COMMAND("decrby", command_decrby, 3, GROW | FAST, ACL_STRING, CHANGES(WHOLE, ONE_KEY),
            "Subtracts from an integer."),
    COMMAND("incrbyfloat", command_incrbyfloat, 3, GROW | FAST, ACL_STRING, CHANGES(WHOLE, ONE_KEY),
            "Adds to a floating-point number."),
};

void commands_string_register(void) { command_register(COMMAND_ROWS(rows)); }
