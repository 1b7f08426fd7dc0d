/* SPDX-License-Identifier: BSD-3-Clause
 * Commands on strings. The rows stand at the end.
 *
 * A command finds its entry once, and hands what it found to keyspace_store, so that a write costs
 * one lookup. Texts come as slices of the request; what is stored is copied into the entry, but a
 * large argument that arrived in a block of its own is kept without a copy.
 */
#include "commands/string.h"

#include <math.h>

#include "base/clock.h"
#include "base/number.h"
#include "exec/arguments.h"
#include "exec/command.h"
#include "net/batch.h"
#include "net/client.h"
#include "net/reply.h"
#include "store/keyspace.h"

/* SETRANGE and APPEND refuse longer strings: 6.2's limit is proto-max-bulk-len's default. */
#define STRING_BYTES_MAX (512LL * 1024 * 1024)
/* INCRBYFLOAT refuses longer texts of numbers: as 6.2's long double parser. */
#define FLOAT_TEXT_MAX 256
/* All digits of the largest long double, sign, point, 17 decimals: 4,952, rounded up. */
#define LDBL_TEXT_BYTES 5120

static struct entry *find_key(const struct call *call) {
    return keyspace_find(call->keyspace, call->argv[1], call_key_hash(call, 1));
}

static struct entry *store(const struct call *call, struct entry *existing,
                           const struct entry_value *value, int64_t deadline) {
    return keyspace_store(call->keyspace, call->argv[1], call_key_hash(call, 1), existing, value,
                          deadline);
}

static void reply_string(struct client *c, const struct entry *e) {
    char scratch[ENTRY_STRING_SCRATCH];
    reply_bulk(c, entry_string(e, scratch));
}

/* The argument as it will stand; a block of its own is taken over. */
static struct entry_value value_of_argument(const struct call *call, int index) {
    struct entry_value value = entry_value_of_text(call->argv[index]);
    if (value.text.length >= BATCH_ADOPT_BYTES && call->request)
        value.blob = batch_take_argument(call->request, index, MEMORY_DATASET);
    return value;
}

/* ---- GET and SET ---- */

static void command_get(struct call *call) {
    struct entry *e = keyspace_read(call->keyspace, call->argv[1], call_key_hash(call, 1));
    if (!e)
        reply_null(call->client);
    else if (argument_string_entry(call, e))
        reply_string(call->client, e);
}

enum set_flags {
    SET_NX = 1 << 0,
    SET_XX = 1 << 1,
    SET_GET = 1 << 2,
    SET_KEEPTTL = 1 << 3,
    SET_EXPIRES = 1 << 4,
};

/* A time as EX (unit 1000) or PX (1), relative or not, gives it, as milliseconds since 1970.
 * False where it is not positive or does not fit. */
static bool deadline_of(int64_t value, int64_t unit, bool relative, int64_t *deadline) {
    if (value <= 0 || value > INT64_MAX / unit) return false;
    *deadline = value * unit;
    if (!relative) return true;
    int64_t now = clock_cached_msec();
    if (*deadline > INT64_MAX - now) return false;
    *deadline += now;
    return true;
}

struct set_expiry {
    const char *word;
    int64_t unit;
    bool relative;
};

static const struct set_expiry set_expiries[] = {
    {"ex", 1000, true}, {"px", 1, true}, {"exat", 1000, false}, {"pxat", 1, false}};

/* EX, PX, EXAT or PXAT at `index`, with a value behind it: the form's number from 1 on, 0 where it
 * is none of them, -1 after an error reply. The value itself is checked once the whole syntax is.
 */
static int set_parse_expiry(struct call *call, int index, int *value_index) {
    for (size_t i = 0; i < sizeof(set_expiries) / sizeof(set_expiries[0]); i++) {
        const struct set_expiry *form = &set_expiries[i];
        if (!argument_is(call, index, form->word)) continue;
        if (index + 1 >= call->argc) {
            reply_syntax_error(call->client);
            return -1;
        }
        *value_index = index + 1;
        return (int)i + 1;
    }
    return 0;
}

/* All options of SET: flags, and the deadline. False after an error reply. */
static bool set_parse(struct call *call, unsigned *flags, int64_t *deadline) {
    const struct set_expiry *form = NULL;
    int value_index = 0;
    bool other_form = false;
    *flags = 0;
    *deadline = ENTRY_NO_DEADLINE;
    for (int i = 3; i < call->argc; i++) {
        unsigned flag = argument_is(call, i, "nx")        ? SET_NX
                        : argument_is(call, i, "xx")      ? SET_XX
                        : argument_is(call, i, "get")     ? SET_GET
                        : argument_is(call, i, "keepttl") ? SET_KEEPTTL
                                                          : 0;
        if (!flag) {
            int found = set_parse_expiry(call, i, &value_index);
            if (found < 0) return false;
            if (found) {
                /* The same word twice is allowed and the last one counts; two words are not. */
                other_form = form && form != &set_expiries[found - 1];
                form = &set_expiries[found - 1];
                flag = SET_EXPIRES;
                i++;
            }
        }
        unsigned both = *flags | flag;
        bool conflict = (both & SET_NX && both & (SET_XX | SET_GET)) ||
                        (both & SET_KEEPTTL && both & SET_EXPIRES) || other_form;
        if (!flag || conflict) {
            reply_syntax_error(call->client);
            return false;
        }
        *flags = both;
    }
    if (*flags & SET_KEEPTTL) *deadline = KEYSPACE_KEEP_DEADLINE;
    if (!form) return true;
    int64_t value;
    if (!argument_int64(call, value_index, &value, NULL)) return false;
    if (deadline_of(value, form->unit, form->relative, deadline)) return true;
    reply_error(call->client, "invalid expire time in set");
    return false;
}

static void command_set(struct call *call) {
    unsigned flags = 0;
    int64_t deadline = ENTRY_NO_DEADLINE;
    if (call->argc > 3 && !set_parse(call, &flags, &deadline)) return;
    struct entry *existing = find_key(call);
    if (flags & SET_GET) {
        if (!argument_string_entry(call, existing)) return;
        if (existing)
            reply_string(call->client, existing);
        else
            reply_null(call->client);
    }
    if ((flags & SET_NX && existing) || (flags & SET_XX && !existing)) {
        if (!(flags & SET_GET)) reply_null(call->client);
        return;
    }
    struct entry_value value = value_of_argument(call, 2);
    store(call, existing, &value, deadline);
    if (!(flags & SET_GET)) reply_ok(call->client);
}

/* ---- counting ---- */

static void add(struct call *call, int64_t increment) {
    struct entry *e = find_key(call);
    int64_t value = 0;
    if (!argument_string_entry(call, e)) return;
    if (e && !entry_string_to_int64(e, &value)) {
        reply_error(call->client, "value is not an integer or out of range");
        return;
    }
    if (__builtin_add_overflow(value, increment, &value)) {
        reply_error(call->client, "increment or decrement would overflow");
        return;
    }
    struct entry_value result = entry_value_of_integer(value);
    store(call, e, &result, KEYSPACE_KEEP_DEADLINE);
    reply_integer(call->client, value);
}

static void command_incr(struct call *call) { add(call, 1); }
static void command_decr(struct call *call) { add(call, -1); }

static void command_incrby(struct call *call) {
    int64_t increment;
    if (argument_int64(call, 2, &increment, NULL)) add(call, increment);
}

static void command_decrby(struct call *call) {
    int64_t decrement;
    if (!argument_int64(call, 2, &decrement, NULL)) return;
    if (decrement == INT64_MIN) {
        reply_error(call->client, "decrement would overflow");
        return;
    }
    add(call, -decrement);
}

static void command_incrbyfloat(struct call *call) {
    struct entry *e = find_key(call);
    long double value = 0, increment;
    if (!argument_string_entry(call, e)) return;
    char scratch[ENTRY_STRING_SCRATCH];
    struct slice text = e ? entry_string(e, scratch) : SLICE("0");
    struct slice more = call->argv[2];
    if (text.length > FLOAT_TEXT_MAX || more.length > FLOAT_TEXT_MAX ||
        !number_parse_long_double(text.bytes, text.length, &value) ||
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
    struct entry_value result = {.encoding = ENTRY_EMBSTR};
    result.text =
        (struct slice){digits, number_format_long_double_fixed(digits, LDBL_TEXT_BYTES, value)};
    if (result.text.length > ENTRY_EMBSTR_MAX) result.encoding = ENTRY_RAW;
    store(call, e, &result, KEYSPACE_KEEP_DEADLINE);
    reply_bulk(call->client, result.text);
    memory_free(digits, MEMORY_OTHER);
}

/* ---- parts of strings ---- */

static void command_strlen(struct call *call) {
    struct entry *e = keyspace_read(call->keyspace, call->argv[1], call_key_hash(call, 1));
    char scratch[ENTRY_STRING_SCRATCH];
    if (argument_string_entry(call, e))
        reply_integer(call->client, e ? (int64_t)entry_string(e, scratch).length : 0);
}

/* Stores the old text up to `offset` (zeros where it is shorter), `piece`, and the rest. */
static void splice(struct call *call, struct entry *e, struct slice old, size_t offset,
                   struct slice piece) {
    size_t end = offset + piece.length;
    size_t length = end > old.length ? end : old.length;
    struct blob *text = blob_create(length, MEMORY_DATASET);
    text->length = length;
    memcpy(text->bytes, old.bytes, old.length);
    if (length > old.length) memset(text->bytes + old.length, 0, length - old.length);
    memcpy(text->bytes + offset, piece.bytes, piece.length);
    struct entry_value value = entry_value_raw(blob_slice(text));
    bool keep = length > ENTRY_INLINE_VALUE_MAX;
    if (keep) value.blob = text;
    store(call, e, &value, KEYSPACE_KEEP_DEADLINE);
    if (!keep) blob_free(text, MEMORY_DATASET);
    reply_integer(call->client, (int64_t)length);
}

static bool length_allowed(struct call *call, int64_t offset, size_t length) {
    if (offset <= STRING_BYTES_MAX - (int64_t)length) return true;
    reply_error(call->client, "string exceeds maximum allowed size (512MB)");
    return false;
}

static void command_setrange(struct call *call) {
    int64_t offset;
    if (!argument_int64(call, 2, &offset, NULL)) return;
    if (offset < 0) {
        reply_error(call->client, "offset is out of range");
        return;
    }
    struct entry *e = find_key(call);
    if (!argument_string_entry(call, e)) return;
    char scratch[ENTRY_STRING_SCRATCH];
    struct slice old = e ? entry_string(e, scratch) : SLICE("");
    struct slice piece = call->argv[3];
    if (piece.length == 0) {
        reply_integer(call->client, (int64_t)old.length);
        return;
    }
    if (length_allowed(call, offset, piece.length)) splice(call, e, old, (size_t)offset, piece);
}

static void command_append(struct call *call) {
    struct entry *e = find_key(call);
    if (!argument_string_entry(call, e)) return;
    if (!e) {
        struct entry_value value = value_of_argument(call, 2);
        store(call, NULL, &value, ENTRY_NO_DEADLINE);
        reply_integer(call->client, (int64_t)call->argv[2].length);
        return;
    }
    char scratch[ENTRY_STRING_SCRATCH];
    struct slice old = entry_string(e, scratch);
    if (length_allowed(call, (int64_t)old.length, call->argv[2].length))
        splice(call, e, old, old.length, call->argv[2]);
}

/* ---- rows ---- */

#define ONE_KEY .first_key = 1, .last_key = 1, .key_step = 1
#define WRITE_MORE (COMMAND_WRITE | COMMAND_DENYOOM)

static struct command rows[] = {
    {.name = "get",
     .handler = command_get,
     .arity = 2,
     .flags = COMMAND_READONLY | COMMAND_FAST,
     ONE_KEY,
     .categories = ACL_STRING,
     .help = "The value of a key."},
    {.name = "set",
     .handler = command_set,
     .arity = -3,
     .flags = WRITE_MORE,
     ONE_KEY,
     .categories = ACL_STRING,
     .help = "Sets a key, with NX, XX, GET, KEEPTTL and EX, PX, EXAT or PXAT."},
    {.name = "append",
     .handler = command_append,
     .arity = 3,
     .flags = WRITE_MORE | COMMAND_FAST,
     ONE_KEY,
     .categories = ACL_STRING,
     .help = "Appends to a string; returns its length."},
    {.name = "strlen",
     .handler = command_strlen,
     .arity = 2,
     .flags = COMMAND_READONLY | COMMAND_FAST,
     ONE_KEY,
     .categories = ACL_STRING,
     .help = "The length of a string."},
    {.name = "setrange",
     .handler = command_setrange,
     .arity = 4,
     .flags = WRITE_MORE,
     ONE_KEY,
     .categories = ACL_STRING,
     .help = "Overwrites part of a string from an offset on."},
    {.name = "incr",
     .handler = command_incr,
     .arity = 2,
     .flags = WRITE_MORE | COMMAND_FAST,
     ONE_KEY,
     .categories = ACL_STRING,
     .help = "Adds 1 to an integer."},
    {.name = "decr",
     .handler = command_decr,
     .arity = 2,
     .flags = WRITE_MORE | COMMAND_FAST,
     ONE_KEY,
     .categories = ACL_STRING,
     .help = "Subtracts 1 from an integer."},
    {.name = "incrby",
     .handler = command_incrby,
     .arity = 3,
     .flags = WRITE_MORE | COMMAND_FAST,
     ONE_KEY,
     .categories = ACL_STRING,
     .help = "Adds to an integer."},
    {.name = "decrby",
     .handler = command_decrby,
     .arity = 3,
     .flags = WRITE_MORE | COMMAND_FAST,
     ONE_KEY,
     .categories = ACL_STRING,
     .help = "Subtracts from an integer."},
    {.name = "incrbyfloat",
     .handler = command_incrbyfloat,
     .arity = 3,
     .flags = WRITE_MORE | COMMAND_FAST,
     ONE_KEY,
     .categories = ACL_STRING,
     .help = "Adds to a floating-point number."},
};

void commands_string_register(void) { command_register(rows, sizeof(rows) / sizeof(rows[0])); }
