/* SPDX-License-Identifier: BSD-3-Clause
 * Commands on the bits of strings. The rows stand at the end; the work on bytes is ds/bits.
 *
 * Reading commands read the string in place; bits behind its end are 0. SETBIT and BITFIELD write
 * into it (edit_put_bytes), so that a bit of a large string costs no copy. BITFIELD parses all
 * arguments before it changes anything. If it writes, it makes the string as long as its farthest
 * write needs, even if that write then fails by overflow, as in 6.2.
 */
#include "commands/bitmap.h"

#include "base/number.h"
#include "command/arguments.h"
#include "command/call.h"
#include "command/command.h"
#include "command/row.h"
#include "ds/bits.h"
#include "exec/edit.h"
#include "net/batch.h"
#include "net/reply.h"
#include "store/keyspace.h"
#include "store/lazyfree.h"

/* BITOP works on blocks of so many bytes of all its strings, so that a block stays in the cache. */
#define BITOP_BLOCK_BYTES 16384
#define OFFSET_ERROR "bit offset is not an integer or out of range"
#define TYPE_ERROR                                                                              \
    "Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but i64 " \
    "is."

/* A string for reading; empty where there is no key. */
struct bitmap {
    struct entry *entry;
    struct slice text;
    const unsigned char *bytes; /* the bytes of `text` */
    char scratch[ENTRY_STRING_SCRATCH];
};

/* False after a reply of wrong type. */
static bool bitmap_read(const struct call *call, int index, struct bitmap *map) {
    map->entry = call_read(call, index);
    if (!argument_string_entry(call, map->entry)) return false;
    map->text = map->entry ? entry_string(map->entry, map->scratch) : SLICE("");
    map->bytes = (const unsigned char *)map->text.bytes;
    return true;
}

/* The bytes of a string for writing, at least up to bit `last`. */
static unsigned char *bitmap_writable(struct edit *edit, uint64_t last, size_t *length) {
    char scratch[ENTRY_STRING_SCRATCH];
    size_t wanted = last / 8 + 1;
    *length = edit->entry ? entry_string(edit->entry, scratch).length : 0;
    if (*length < wanted) *length = wanted;
    return (unsigned char *)edit_put_bytes(edit, *length);
}

/* Parses a bit offset: at least 0, within proto-max-bulk-len bytes. With `width` not 0 it may be
 * "#N", N fields of that width. False after an error reply. */
static bool parse_offset(const struct call *call, int index, unsigned width, uint64_t *offset) {
    struct slice text = call->argv[index];
    int64_t value, factor = 1;
    if (width && text.length && text.bytes[0] == '#') {
        text = (struct slice){text.bytes + 1, text.length - 1};
        factor = width;
    }
    if (number_parse_int64(text.bytes, text.length, &value) && value >= 0 &&
        !__builtin_mul_overflow(value, factor, &value) && value / 8 < batch_bulk_bytes_max()) {
        *offset = (uint64_t)value;
        return true;
    }
    reply_error(call->client, OFFSET_ERROR);
    return false;
}

/* ---- single bits ---- */

static void command_getbit(struct call *call) {
    uint64_t offset;
    struct bitmap map;
    if (parse_offset(call, 2, 0, &offset) && bitmap_read(call, 1, &map))
        reply_integer(call->client, bits_get(map.bytes, map.text.length, offset));
}

static void command_setbit(struct call *call) {
    uint64_t offset;
    if (!parse_offset(call, 2, 0, &offset)) return;
    const char *fault = "bit is not an integer or out of range";
    int64_t bit;
    if (!argument_int64(call, 3, &bit, fault)) return;
    if (bit != 0 && bit != 1) {
        reply_error(call->client, fault);
        return;
    }
    struct edit edit;
    edit_find_argument(&edit, call, 1);
    if (!argument_string_entry(call, edit.entry)) return;
    size_t length;
    unsigned char *bytes = bitmap_writable(&edit, offset, &length);
    bool old = bits_get(bytes, length, offset);
    bits_set(bytes, offset, bit);
    edit_close(&edit, 1, NOTIFY_STRING, "setbit");
    reply_integer(call->client, old);
}

/* ---- counting and finding ---- */

/* Limits the bytes start..end to `length`; both are included and count from the end where negative.
 * False where no byte is left. */
static bool clamp_range(int64_t length, int64_t *start, int64_t *end) {
    if (*start < 0) *start = *start + length > 0 ? *start + length : 0;
    if (*end < 0) *end = *end + length > 0 ? *end + length : 0;
    if (*end >= length) *end = length - 1;
    return *start <= *end;
}

/* A missing key counts 0, whatever the other arguments are. */
static void command_bitcount(struct call *call) {
    struct bitmap map;
    if (!bitmap_read(call, 1, &map)) return;
    int64_t length = (int64_t)map.text.length, start = 0, end = length - 1;
    if (!map.entry) {
        reply_integer(call->client, 0);
        return;
    }
    if (call->argc != 2 && call->argc != 4) {
        reply_syntax_error(call->client);
        return;
    }
    if (call->argc == 4 &&
        (!argument_int64(call, 2, &start, NULL) || !argument_int64(call, 3, &end, NULL)))
        return;
    bool reversed = start < 0 && end < 0 && start > end;
    if (reversed || !clamp_range(length, &start, &end))
        reply_integer(call->client, 0);
    else
        reply_integer(call->client,
                      (int64_t)bits_count(map.bytes + start, (size_t)(end - start) + 1));
}

/* Where no end is given, the string counts as followed by endless zeros, so a search for 0 always
 * finds one. */
static void command_bitpos(struct call *call) {
    struct client *c = call->client;
    int64_t bit;
    if (!argument_int64(call, 2, &bit, NULL)) return;
    if (bit != 0 && bit != 1) {
        reply_error(c, "The bit argument must be 1 or 0.");
        return;
    }
    struct bitmap map;
    if (!bitmap_read(call, 1, &map)) return;
    if (!map.entry) {
        reply_integer(c, bit ? -1 : 0);
        return;
    }
    int64_t length = (int64_t)map.text.length, start = 0, end = length - 1;
    if (call->argc > 5) {
        reply_syntax_error(c);
        return;
    }
    if (call->argc >= 4 && !argument_int64(call, 3, &start, NULL)) return;
    if (call->argc == 5 && !argument_int64(call, 4, &end, NULL)) return;
    if (!clamp_range(length, &start, &end)) {
        reply_integer(c, -1);
        return;
    }
    int64_t found = bits_find(map.bytes + start, (size_t)(end - start) + 1, bit);
    if (found >= 0)
        reply_integer(c, start * 8 + found);
    else
        reply_integer(c, !bit && call->argc < 5 ? length * 8 : -1);
}

/* ---- BITOP ---- */

/* In the order of enum bits_operation, then NOT. */
static const char *const operation_names[] = {"and", "or", "xor", "not"};
#define OPERATION_NOT 3
#define OPERATIONS 4

static int parse_operation(const struct call *call) {
    int operation = 0;
    while (operation < OPERATIONS && !argument_is(call, 1, operation_names[operation])) operation++;
    if (operation == OPERATIONS) {
        reply_syntax_error(call->client);
        return -1;
    }
    if (operation == OPERATION_NOT && call->argc != 4) {
        reply_error(call->client, "BITOP NOT must be called with a single source key.");
        return -1;
    }
    return operation;
}

/* At most `length` bytes of a source, from `from` on. */
static struct slice part_from(const struct bitmap *source, size_t from, size_t length) {
    size_t there = source->text.length > from ? source->text.length - from : 0;
    return (struct slice){source->text.bytes + (there ? from : 0), there < length ? there : length};
}

/* Computes one block of the result. Shorter sources are padded with zeros. */
static void bitop_block(int operation, const struct bitmap *sources, int count,
                        unsigned char *bytes, size_t from, size_t length) {
    struct slice part = part_from(&sources[0], from, length);
    memcpy(bytes, part.bytes, part.length);
    memset(bytes + part.length, 0, length - part.length);
    for (int i = 1; i < count; i++) {
        part = part_from(&sources[i], from, length);
        bits_combine((enum bits_operation)operation, bytes, (const unsigned char *)part.bytes,
                     part.length);
        if (operation == BITS_AND) memset(bytes + part.length, 0, length - part.length);
    }
    if (operation == OPERATION_NOT) bits_invert(bytes, length);
}

static void bitop_compute(int operation, const struct bitmap *sources, int count,
                          struct blob *result) {
    for (size_t from = 0; from < result->length; from += BITOP_BLOCK_BYTES) {
        size_t left = result->length - from;
        bitop_block(operation, sources, count, (unsigned char *)result->bytes + from, from,
                    left < BITOP_BLOCK_BYTES ? left : BITOP_BLOCK_BYTES);
    }
}

static void bitop_store(struct call *call, struct blob *result) {
    struct edit edit;
    struct string_value value = string_value_raw(blob_slice(result));
    bool keep = result->length > ENTRY_INLINE_VALUE_MAX;
    if (keep) value.blob = result;
    edit_find_argument(&edit, call, 2);
    edit_put_string(&edit, &value, ENTRY_NO_DEADLINE);
    if (!keep) blob_free(result, MEMORY_DATASET);
    edit_close(&edit, 1, NOTIFY_STRING, "set");
}

static void command_bitop(struct call *call) {
    int operation = parse_operation(call), count = call->argc - 3;
    if (operation < 0) return;
    struct bitmap *sources = memory_alloc((size_t)count * sizeof(*sources), MEMORY_OTHER);
    size_t longest = 0;
    bool strings = true;
    for (int i = 0; i < count && strings; i++) {
        strings = bitmap_read(call, 3 + i, &sources[i]);
        if (strings && sources[i].text.length > longest) longest = sources[i].text.length;
    }
    if (strings && longest) {
        struct blob *result = blob_create(longest, MEMORY_DATASET);
        result->length = longest;
        bitop_compute(operation, sources, count, result);
        bitop_store(call, result);
    } else if (strings) {
        const struct key key = call_key(call, 2);
        edit_delete(&key, lazyfree_wanted(LAZYFREE_SERVER_DEL));
    }
    memory_free(sources, MEMORY_OTHER);
    if (strings) reply_integer(call->client, (int64_t)longest);
}

/* ---- BITFIELD ---- */

enum field_action { FIELD_GET, FIELD_SET, FIELD_INCRBY };

struct field {
    enum field_action action;
    enum bits_overflow overflow;
    bool is_signed;
    unsigned width;
    uint64_t offset;
    int64_t operand; /* of SET and INCRBY */
};

struct fields {
    struct buffer list; /* of struct field */
    bool writes;
    uint64_t last_bit; /* the farthest bit that is written */
};

/* "i1" to "i64", "u1" to "u63". False after an error reply. */
static bool parse_field_type(const struct call *call, int index, struct field *field) {
    struct slice text = call->argv[index];
    int64_t width = 0;
    field->is_signed = text.length && text.bytes[0] == 'i';
    if (text.length > 1 && (field->is_signed || text.bytes[0] == 'u') &&
        number_parse_int64(text.bytes + 1, text.length - 1, &width) && width >= 1 &&
        width <= (field->is_signed ? 64 : 63)) {
        field->width = (unsigned)width;
        return true;
    }
    reply_error(call->client, TYPE_ERROR);
    return false;
}

static bool parse_overflow(const struct call *call, int index, enum bits_overflow *overflow) {
    if (argument_is(call, index, "wrap")) {
        *overflow = BITS_WRAP;
    } else if (argument_is(call, index, "sat")) {
        *overflow = BITS_SATURATE;
    } else if (argument_is(call, index, "fail")) {
        *overflow = BITS_FAIL;
    } else {
        reply_error(call->client, "Invalid OVERFLOW type specified");
        return false;
    }
    return true;
}

/* Parses GET, SET or INCRBY at `index` with its arguments. Returns how many arguments it takes; 0
 * after an error reply. */
static int parse_field(const struct call *call, int index, enum bits_overflow overflow,
                       struct fields *fields) {
    struct field field = {.overflow = overflow};
    int more = call->argc - 1 - index;
    if (argument_is(call, index, "get") && more >= 2) {
        field.action = FIELD_GET;
    } else if (argument_is(call, index, "set") && more >= 3) {
        field.action = FIELD_SET;
    } else if (argument_is(call, index, "incrby") && more >= 3) {
        field.action = FIELD_INCRBY;
    } else {
        reply_syntax_error(call->client);
        return 0;
    }
    if (!parse_field_type(call, index + 1, &field)) return 0;
    if (!parse_offset(call, index + 2, field.width, &field.offset)) return 0;
    if (field.action != FIELD_GET) {
        if (!argument_int64(call, index + 3, &field.operand, NULL)) return 0;
        uint64_t last = field.offset + field.width - 1;
        if (last > fields->last_bit) fields->last_bit = last;
        fields->writes = true;
    }
    buffer_append(&fields->list, &field, sizeof(field));
    return field.action == FIELD_GET ? 3 : 4;
}

static bool parse_fields(const struct call *call, struct fields *fields) {
    enum bits_overflow overflow = BITS_WRAP;
    for (int i = 2; i < call->argc;) {
        if (argument_is(call, i, "overflow") && i + 1 < call->argc) {
            if (!parse_overflow(call, i + 1, &overflow)) return false;
            i += 2;
            continue;
        }
        int places = parse_field(call, i, overflow, fields);
        if (!places) return false;
        i += places;
    }
    return true;
}

static int64_t field_value(const struct field *f, const unsigned char *bytes, size_t length) {
    return f->is_signed ? bits_field_signed(bytes, length, f->offset, f->width)
                        : (int64_t)bits_field(bytes, length, f->offset, f->width);
}

/* Computes the value that SET or INCRBY leaves; false where it overflows and OVERFLOW FAIL forbids
 * that. */
static bool field_next(const struct field *f, int64_t old, int64_t *next) {
    int64_t base = f->action == FIELD_SET ? f->operand : old;
    int64_t increment = f->action == FIELD_SET ? 0 : f->operand;
    if (f->is_signed) return bits_add_signed(base, increment, f->width, f->overflow, next);
    uint64_t result = 0;
    if (!bits_add_unsigned((uint64_t)base, increment, f->width, f->overflow, &result)) return false;
    *next = (int64_t)result;
    return true;
}

static void field_run(struct client *c, const struct field *f, unsigned char *writable,
                      const unsigned char *bytes, size_t length) {
    int64_t old = field_value(f, bytes, length), next;
    if (f->action == FIELD_GET) {
        reply_integer(c, old);
    } else if (!field_next(f, old, &next)) {
        reply_null(c);
    } else {
        bits_field_set(writable, length, f->offset, f->width, (uint64_t)next);
        reply_integer(c, f->action == FIELD_SET ? old : next);
    }
}

/* Runs the parsed fields on the key. */
static void run_fields(struct call *call, const struct fields *fields) {
    struct bitmap map;
    unsigned char *writable = NULL;
    const unsigned char *bytes;
    struct edit edit;
    size_t length;
    if (fields->writes) {
        edit_find_argument(&edit, call, 1);
        if (!argument_string_entry(call, edit.entry)) return;
        bytes = writable = bitmap_writable(&edit, fields->last_bit, &length);
    } else {
        if (!bitmap_read(call, 1, &map)) return;
        bytes = map.bytes;
        length = map.text.length;
    }
    reply_array(call->client, (int64_t)(fields->list.length / sizeof(struct field)));
    for (size_t at = 0; at < fields->list.length; at += sizeof(struct field)) {
        struct field field;
        memcpy(&field, fields->list.bytes + at, sizeof(field));
        field_run(call->client, &field, writable, bytes, length);
    }
    if (writable) edit_close(&edit, 1, NOTIFY_STRING, "setbit");
}

static void bitfield_generic(struct call *call, bool read_only) {
    struct fields fields = {0};
    buffer_init(&fields.list, MEMORY_OTHER);
    if (parse_fields(call, &fields)) {
        if (read_only && fields.writes)
            reply_error(call->client, "BITFIELD_RO only supports the GET subcommand");
        else
            run_fields(call, &fields);
    }
    buffer_free(&fields.list);
}

static void command_bitfield(struct call *call) { bitfield_generic(call, false); }
static void command_bitfield_ro(struct call *call) { bitfield_generic(call, true); }

/* ---- rows ---- */

static struct command rows[] = {
    COMMAND("getbit", command_getbit, 3, READ | FAST, ACL_BITMAP, ONE_KEY, "A bit of a string."),
    COMMAND("setbit", command_setbit, 4, GROW, ACL_BITMAP, CHANGES(STRING, ONE_KEY),
            "Sets or clears a bit of a string; returns the old one."),
    COMMAND("bitcount", command_bitcount, -2, READ, ACL_BITMAP, ONE_KEY,
            "How many bits of a string, or of a range of its bytes, are 1.", .traced = "2# 3#"),
    COMMAND("bitpos", command_bitpos, -3, READ, ACL_BITMAP, ONE_KEY,
            "The first bit of a string, or of a range of its bytes, that is 0 or 1.",
            .traced = "3# 4#"),
    COMMAND("bitop", command_bitop, -4, GROW, ACL_BITMAP, CHANGES(WHOLE, KEYS(2, -1, 1)),
            "Stores AND, OR, XOR or NOT of strings; returns the result's length."),
    COMMAND("bitfield", command_bitfield, -2, GROW, ACL_BITMAP, CHANGES(STRING, ONE_KEY),
            "Gets, sets and increments integers of any width at any bit of a string."),
    COMMAND("bitfield_ro", command_bitfield_ro, -2, READ | FAST, ACL_BITMAP, ONE_KEY,
            "BITFIELD with GET only."),
};

void commands_bitmap_register(void) { command_register(COMMAND_ROWS(rows)); }
