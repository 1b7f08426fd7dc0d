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
#include "store/limbo.h"

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

/* A value's bytes within the entry, and whether they are a pointer to a blob. */
static size_t value_room(const struct string_value *v, bool *blob) {
    *blob = false;
    if (v->encoding == STRING_INT) return integer_width(v->integer);
    if (v->blob || v->text.length > ENTRY_INLINE_VALUE_MAX) {
        *blob = true;
        return sizeof(struct blob *);
    }
    return v->text.length;
}

static size_t value_room_of_entry(const struct entry *e) {
    return e->flags & ENTRY_BLOB ? sizeof(struct blob *) : e->value_length;
}

size_t entry_allocation(const struct entry *e) {
    struct slice key = entry_key(e);
    return sizeof(*e) + entry_key_offset(e) + key.length + value_room_of_entry(e);
}

/* Writes the value behind the key; the header's flags other than ENTRY_BLOB are set already. */
static void value_write(struct entry *e, const struct string_value *v, size_t room, bool blob) {
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
    } else if (v->encoding == STRING_INT) {
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

struct entry *entry_create(struct slice key, const struct string_value *value, int64_t deadline,
                           unsigned recency) {
    bool blob;
    size_t room = value_room(value, &blob);
    struct entry *e = entry_allocate(key, room, deadline);
    e->recency = recency & 0xffffff;
    value_write(e, value, room, blob);
    return e;
}

_Static_assert(ENTRY_STRING == (int)VALUE_STRING && ENTRY_LIST == (int)VALUE_LIST &&
                   ENTRY_SET == (int)VALUE_SET && ENTRY_ZSET == (int)VALUE_ZSET &&
                   ENTRY_HASH == (int)VALUE_HASH && ENTRY_STREAM == (int)VALUE_STREAM,
               "types have one numbering");

struct entry *entry_create_object(struct slice key, enum entry_type type, struct value v,
                                  int64_t deadline, unsigned recency) {
    struct entry *e = entry_allocate(key, sizeof(v.pointer), deadline);
    e->recency = recency & 0xffffff;
    e->type = type;
    e->value_length = sizeof(v.pointer);
    entry_set_object(e, v);
    return e;
}

struct entry *entry_create_value(struct slice key, enum entry_type type, struct value v,
                                 int64_t deadline, unsigned recency) {
    if (type == ENTRY_STRING) return entry_create(key, string_of(v), deadline, recency);
    return entry_create_object(key, type, v, deadline, recency);
}

void entry_free(struct entry *e) {
    if (e->type != ENTRY_STRING)
        value_type(e->type)->release(entry_object(e));
    else if (e->flags & ENTRY_BLOB)
        blob_free(entry_blob(e), MEMORY_DATASET);
    memory_free_sized(e, entry_allocation(e), MEMORY_DATASET);
}

bool entry_free_step(struct entry *e, size_t effort) {
    if (!value_type(e->type)->release_step) {
        entry_free(e);
        return true;
    }
    if (!value_type(e->type)->release_step(entry_object(e), effort)) return false;
    memory_free_sized(e, entry_allocation(e), MEMORY_DATASET);
    return true;
}

const struct table *entry_table(const struct entry *e) {
    if (!value_type(e->type)->table) return NULL;
    return value_type(e->type)->table(entry_object(e));
}

static void free_shell(void *e) { memory_free_sized(e, entry_allocation(e), MEMORY_DATASET); }

/* Retires an entry whose value has moved to another entry. */
static void retire_shell(struct entry *e) {
    limbo_retire(e, memory_good_size(entry_allocation(e)), free_shell);
}

static void free_blob(void *b) { blob_free(b, MEMORY_DATASET); }

static void retire_blob(struct blob *b) { limbo_retire(b, blob_bytes(b), free_blob); }

void entry_unlink(struct entry *e) {
    if (value_type(e->type)->unlink) value_type(e->type)->unlink(entry_object(e), entry_key(e));
}

size_t entry_free_effort(const struct entry *e) {
    return e->type == ENTRY_STRING
               ? 1
               : value_type(e->type)->free_effort(entry_object(e), entry_key(e));
}

bool entry_try_overwrite(struct entry *e, const struct string_value *value) {
    if (e->type != ENTRY_STRING) return false; /* the old value is freed with its entry */
    bool blob;
    size_t room = value_room(value, &blob);
    size_t old_room = value_room_of_entry(e);
    if (room != old_room) {
        size_t rest = entry_allocation(e) - old_room;
        if (memory_good_size(rest + room) != memory_good_size(rest + old_room)) return false;
    }
    if (e->flags & ENTRY_BLOB) retire_blob(entry_blob(e));
    value_write(e, value, room, blob);
    return true;
}

/* Moves the entry to a new allocation with another key or deadline. The value moves by a copy of
 * its bytes. */
static struct entry *take_as(struct entry *e, struct slice key, int64_t deadline) {
    size_t room = value_room_of_entry(e);
    struct entry *moved = entry_allocate(key, room, deadline);
    moved->recency = e->recency;
    moved->type = e->type;
    moved->encoding = e->encoding;
    moved->value_length = e->value_length;
    moved->flags |= e->flags & ENTRY_BLOB;
    memcpy(entry_value_bytes(moved), entry_value_bytes(e), room);
    retire_shell(e);
    return moved;
}

/* ---- strings written in place ---- */

/* A blob that grows gets a quarter of its length as spare room, beside what the allocator's size
 * classes add. */
#define SPARE_DIVISOR 4
/* A blob that more than doubles is allocated anew, cleared by the allocator, which knows which
 * pages are zero already. */
#define FRESH_FACTOR 2

static void write_blob_address(struct entry *e, struct blob *b) {
    memcpy(entry_value_bytes(e), &b, sizeof(b));
}

/* A zeroed blob that begins with `text`. */
static struct blob *blob_with_text(struct slice text, size_t length, size_t capacity) {
    size_t good = memory_good_size(blob_allocation(capacity));
    struct blob *b = memory_zalloc(good, MEMORY_DATASET);
    b->capacity = good - sizeof(*b);
    b->length = length;
    memcpy(b->bytes, text.bytes, text.length);
    return b;
}

static void blob_grow(struct entry *e, size_t length) {
    struct blob *b = entry_blob(e);
    size_t old = b->length;
    if (length <= old) return;
    size_t capacity = length + length / SPARE_DIVISOR;
    if (length > b->capacity && length > FRESH_FACTOR * b->capacity) {
        write_blob_address(e, blob_with_text(blob_slice(b), length, capacity));
        retire_blob(b);
        return;
    }
    if (length > b->capacity) {
        size_t good = memory_good_size(blob_allocation(capacity));
        b = memory_realloc(b, good, MEMORY_DATASET);
        b->capacity = good - sizeof(*b);
        write_blob_address(e, b);
    }
    memset(b->bytes + old, 0, length - old);
    b->length = length;
}

/* The text of an inline string, in `scratch` if it is an int; returns the length that the string
 * will have. */
static size_t writable_length(const struct entry *e, size_t length,
                              char scratch[ENTRY_STRING_SCRATCH], struct slice *text) {
    *text = entry_string(e, scratch);
    return length > text->length ? length : text->length;
}

/* Writes `text`, followed by zeros up to `length`, behind the key, or a blob with both. */
static void raw_write(struct entry *e, struct slice text, size_t length) {
    char *place = (char *)entry_value_bytes(e);
    e->type = ENTRY_STRING;
    e->encoding = STRING_RAW;
    if (length > ENTRY_INLINE_VALUE_MAX) {
        struct blob *b = blob_with_text(text, length, length);
        e->value_length = sizeof(b);
        e->flags |= ENTRY_BLOB;
        write_blob_address(e, b);
        return;
    }
    e->value_length = (uint16_t)length;
    if (place != text.bytes) memcpy(place, text.bytes, text.length);
    memset(place + text.length, 0, length - text.length);
}

bool entry_try_make_writable(struct entry *e, size_t length) {
    if (e->flags & ENTRY_BLOB) {
        blob_grow(e, length);
        e->encoding = STRING_RAW;
        return true;
    }
    char scratch[ENTRY_STRING_SCRATCH];
    struct slice text;
    length = writable_length(e, length, scratch, &text);
    if (length > ENTRY_INLINE_VALUE_MAX) return false;
    size_t rest = entry_allocation(e) - e->value_length;
    if (memory_good_size(rest + length) != memory_good_size(rest + e->value_length)) return false;
    raw_write(e, text, length);
    return true;
}

struct entry *entry_take_writable(struct entry *e, size_t length) {
    ASSERT(!(e->flags & ENTRY_BLOB));
    char scratch[ENTRY_STRING_SCRATCH];
    struct slice text;
    length = writable_length(e, length, scratch, &text);
    size_t room = length > ENTRY_INLINE_VALUE_MAX ? sizeof(struct blob *) : length;
    struct entry *moved = entry_allocate(entry_key(e), room, entry_deadline(e));
    moved->recency = e->recency;
    raw_write(moved, text, length);
    retire_shell(e);
    return moved;
}

char *entry_raw_bytes(const struct entry *e) {
    ASSERT_SLOW(e->type == ENTRY_STRING && e->encoding == STRING_RAW);
    return e->flags & ENTRY_BLOB ? entry_blob(e)->bytes : (char *)entry_value_bytes(e);
}

struct entry *entry_take_with_deadline(struct entry *e, int64_t deadline) {
    if (entry_has_deadline(e) && deadline != ENTRY_NO_DEADLINE) {
        entry_set_deadline(e, deadline);
        return e;
    }
    if (!entry_has_deadline(e) && deadline == ENTRY_NO_DEADLINE) return e;
    return take_as(e, entry_key(e), deadline);
}

struct entry *entry_take_with_key(struct entry *e, struct slice key) {
    return take_as(e, key, entry_deadline(e));
}

struct entry *entry_dup(const struct entry *e, struct slice key, int64_t deadline,
                        unsigned recency) {
    struct string_value room;
    struct value copy = value_type(e->type)->copy(entry_value(e, &room), entry_key(e), key);
    return entry_create_value(key, e->type, copy, deadline, recency);
}

size_t entry_bytes(const struct entry *e) {
    return memory_good_size(entry_allocation(e)) + entry_outside_bytes(e);
}

struct slice entry_string(const struct entry *e, char scratch[ENTRY_STRING_SCRATCH]) {
    ASSERT(e->type == ENTRY_STRING);
    if (e->encoding == STRING_INT)
        return (struct slice){scratch, number_format_int64(scratch, entry_integer(e))};
    if (e->flags & ENTRY_BLOB) return blob_slice(entry_blob(e));
    return (struct slice){(const char *)entry_value_bytes(e), e->value_length};
}

struct value entry_value(const struct entry *e, struct string_value *room) {
    if (e->type != ENTRY_STRING) return entry_object(e);
    *room = (struct string_value){.encoding = (enum string_encoding)e->encoding};
    if (e->encoding == STRING_INT)
        room->integer = entry_integer(e);
    else
        room->text = entry_string(e, NULL);
    return (struct value){room, e->encoding};
}

int64_t entry_integer(const struct entry *e) {
    ASSERT_SLOW(e->encoding == STRING_INT);
    return integer_read(entry_value_bytes(e), e->value_length);
}

bool entry_string_to_int64(const struct entry *e, int64_t *value) {
    if (e->encoding == STRING_INT) {
        *value = entry_integer(e);
        return true;
    }
    char scratch[ENTRY_STRING_SCRATCH];
    struct slice text = entry_string(e, scratch);
    return number_parse_int64(text.bytes, text.length, value);
}

const char *entry_type_name(const struct entry *e) { return value_type(e->type)->name; }

const char *entry_encoding_name(const struct entry *e) {
    return value_type(e->type)->encodings[e->encoding];
}
