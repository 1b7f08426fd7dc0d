/* SPDX-License-Identifier: BSD-3-Clause
 * Entries: building, overwriting and reading them. entry.h has the layout.
 *
 * Invariants
 *  1. An entry's allocation is memory_good_size of what its parts need, so that a value that needs
 *     the same good size can be written in place.
 *  2. ENTRY_BLOB is set exactly where a string value is longer than ENTRY_INLINE_VALUE_MAX, or was
 *     handed over in a block of its own.
 *  3. An int value is 1, 2, 4 or 8 bytes, the fewest that hold it, in the machine's byte order.
 */
#include "store/entry.h"

#include "base/panic.h"

static size_t integer_width(int64_t value) {
    if (value == (int8_t)value) return 1;
    if (value == (int16_t)value) return 2;
    return value == (int32_t)value ? 4 : 8;
}

static void integer_write(unsigned char *out, size_t width, int64_t value) {
    /* Little-endian machines only (x86-64, arm64): the low bytes stand first. */
    memcpy(out, &value, width);
}

static int64_t integer_read(const unsigned char *bytes, size_t width) {
    int8_t narrow;
    int16_t half;
    int32_t word;
    int64_t wide;
    switch (width) {
    case 1: memcpy(&narrow, bytes, 1); return narrow;
    case 2: memcpy(&half, bytes, 2); return half;
    case 4: memcpy(&word, bytes, 4); return word;
    default: memcpy(&wide, bytes, 8); return wide;
    }
}

struct entry_value entry_value_of_text(struct slice text) {
    struct entry_value v = {.text = text};
    if (text.length > ENTRY_EMBSTR_MAX) {
        v.encoding = ENTRY_RAW;
    } else if (text.length < NUMBER_INT64_CHARS &&
               number_parse_int64(text.bytes, text.length, &v.integer)) {
        v.encoding = ENTRY_INT;
    } else {
        v.encoding = ENTRY_EMBSTR;
    }
    return v;
}

struct entry_value entry_value_of_integer(int64_t integer) {
    return (struct entry_value){.encoding = ENTRY_INT, .integer = integer};
}

struct entry_value entry_value_raw(struct slice text) {
    return (struct entry_value){.encoding = ENTRY_RAW, .text = text};
}

/* How a value will stand: its bytes within the entry, and whether they are a pointer. */
static size_t value_room(const struct entry_value *v, bool *blob) {
    *blob = false;
    if (v->encoding == ENTRY_INT) return integer_width(v->integer);
    if (v->blob || v->text.length > ENTRY_INLINE_VALUE_MAX) {
        *blob = true;
        return sizeof(struct blob *);
    }
    return v->text.length;
}

static size_t value_room_of_entry(const struct entry *e) {
    return e->flags & ENTRY_BLOB ? sizeof(struct blob *) : e->value_length;
}

static size_t entry_allocation(const struct entry *e) {
    struct slice key = entry_key(e);
    return sizeof(*e) + entry_key_offset(e) + key.length + value_room_of_entry(e);
}

/* Writes the value behind the key; the header's flags other than ENTRY_BLOB are set already. */
static void value_write(struct entry *e, const struct entry_value *v, size_t room, bool blob) {
    unsigned char *place = entry_value_bytes(e);
    e->type = ENTRY_STRING;
    e->encoding = v->encoding;
    e->value_length = (uint16_t)room;
    e->flags = (uint8_t)(blob ? e->flags | ENTRY_BLOB : e->flags & ~ENTRY_BLOB);
    if (blob) {
        struct blob *b = v->blob;
        if (!b) {
            b = blob_create(v->text.length, MEMORY_DATASET);
            memcpy(b->bytes, v->text.bytes, v->text.length);
            b->length = v->text.length;
        }
        memcpy(place, &b, sizeof(b));
    } else if (v->encoding == ENTRY_INT) {
        integer_write(place, room, v->integer);
    } else if (room) {
        memcpy(place, v->text.bytes, room); /* an empty text may have no address */
    }
}

/* An entry with everything but its value. */
static struct entry *entry_allocate(struct slice key, size_t room, int64_t deadline) {
    ASSERT(key.length <= UINT32_MAX);
    bool long_key = key.length > ENTRY_SHORT_KEY_MAX;
    bool volatile_key = deadline != ENTRY_NO_DEADLINE;
    size_t offset = (volatile_key ? ENTRY_DEADLINE_BYTES : 0) + (long_key ? sizeof(uint32_t) : 0);
    struct entry *e = memory_alloc(sizeof(*e) + offset + key.length + room, MEMORY_DATASET);
    e->recency = 0;
    e->flags = (uint8_t)((volatile_key ? ENTRY_HAS_DEADLINE : 0) | (long_key ? ENTRY_LONG_KEY : 0));
    e->key_length = long_key ? 0 : (uint8_t)key.length;
    if (volatile_key) {
        entry_set_deadline(e, deadline);
        entry_set_reference(e, 0);
    }
    if (long_key) {
        uint32_t length = (uint32_t)key.length;
        memcpy(e->bytes + offset - sizeof(length), &length, sizeof(length));
    }
    if (key.length) memcpy(e->bytes + offset, key.bytes, key.length);
    return e;
}

struct entry *entry_create(struct slice key, const struct entry_value *value, int64_t deadline,
                           unsigned recency) {
    bool blob;
    size_t room = value_room(value, &blob);
    struct entry *e = entry_allocate(key, room, deadline);
    e->recency = recency & 0xffffff;
    value_write(e, value, room, blob);
    return e;
}

void entry_free(struct entry *e) {
    if (e->flags & ENTRY_BLOB) blob_free(entry_blob(e), MEMORY_DATASET);
    memory_free_sized(e, entry_allocation(e), MEMORY_DATASET);
}

bool entry_try_overwrite(struct entry *e, const struct entry_value *value) {
    bool blob;
    size_t room = value_room(value, &blob);
    size_t old_room = value_room_of_entry(e);
    if (room != old_room) {
        size_t rest = entry_allocation(e) - old_room;
        if (memory_good_size(rest + room) != memory_good_size(rest + old_room)) return false;
    }
    if (e->flags & ENTRY_BLOB) blob_free(entry_blob(e), MEMORY_DATASET);
    value_write(e, value, room, blob);
    return true;
}

struct entry *entry_take_with_deadline(struct entry *e, int64_t deadline) {
    if (entry_has_deadline(e) && deadline != ENTRY_NO_DEADLINE) {
        entry_set_deadline(e, deadline);
        return e;
    }
    if (!entry_has_deadline(e) && deadline == ENTRY_NO_DEADLINE) return e;
    size_t room = value_room_of_entry(e);
    struct entry *moved = entry_allocate(entry_key(e), room, deadline);
    moved->recency = e->recency;
    moved->type = e->type;
    moved->encoding = e->encoding;
    moved->value_length = e->value_length;
    moved->flags |= e->flags & ENTRY_BLOB;
    memcpy(entry_value_bytes(moved), entry_value_bytes(e), room);
    memory_free_sized(e, entry_allocation(e), MEMORY_DATASET);
    return moved;
}

size_t entry_bytes(const struct entry *e) {
    return memory_good_size(entry_allocation(e)) +
           (e->flags & ENTRY_BLOB ? blob_bytes(entry_blob(e)) : 0);
}

struct slice entry_string(const struct entry *e, char scratch[ENTRY_STRING_SCRATCH]) {
    ASSERT(e->type == ENTRY_STRING);
    if (e->encoding == ENTRY_INT)
        return (struct slice){scratch, number_format_int64(scratch, entry_integer(e))};
    if (e->flags & ENTRY_BLOB) return blob_slice(entry_blob(e));
    return (struct slice){(const char *)entry_value_bytes(e), e->value_length};
}

int64_t entry_integer(const struct entry *e) {
    ASSERT_SLOW(e->encoding == ENTRY_INT);
    return integer_read(entry_value_bytes(e), e->value_length);
}

bool entry_string_to_int64(const struct entry *e, int64_t *value) {
    if (e->encoding == ENTRY_INT) {
        *value = entry_integer(e);
        return true;
    }
    char scratch[ENTRY_STRING_SCRATCH];
    struct slice text = entry_string(e, scratch);
    return number_parse_int64(text.bytes, text.length, value);
}

static const char *const type_names[] = {"string", "list",   "set",   "zset",
                                         "hash",   "stream", "module"};
static const char *const encoding_names[] = {"raw", "embstr", "int"};

const char *entry_type_name(const struct entry *e) { return type_names[e->type]; }

const char *entry_encoding_name(const struct entry *e) { return encoding_names[e->encoding]; }
