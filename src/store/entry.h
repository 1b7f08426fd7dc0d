/* SPDX-License-Identifier: BSD-3-Clause
 * An entry: a key, its header, its deadline and a short value in one allocation.
 *
 *   header (8 bytes) | deadline (8) and index reference (4), where it has one
 *                    | key length (4), where the key is longer than 254 bytes
 *                    | key | value, or the pointer to it
 *
 * A string value of up to ENTRY_INLINE_VALUE_MAX bytes stands in the entry; a longer one is a blob
 * that the entry owns. An integer (OBJECT ENCODING int) is kept in binary, in as few of 1, 2, 4 or
 * 8 bytes as it needs. Other types are a pointer (value/value.h), `encoding` being the type's own.
 *
 * Only an entry's table slot and deadline slot hold its address. A function that changes its size
 * gives it a new address, which the keyspace puts into both slots.
 */
#ifndef EVENKEEL_STORE_ENTRY_H
#define EVENKEEL_STORE_ENTRY_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/attributes.h"
#include "base/blob.h"
#include "base/string.h"
#include "value/string.h"
#include "value/value.h"

/* Longer values get a block of their own. Up to this length one allocation is smaller than two and
 * saves a cache miss a read; above it, rewriting key and value together costs more than the miss.
 * Must fit value_length's 16 bits. */
#define ENTRY_INLINE_VALUE_MAX 1024
#define ENTRY_SHORT_KEY_MAX 254

enum entry_type { ENTRY_STRING, ENTRY_LIST, ENTRY_SET, ENTRY_ZSET, ENTRY_HASH, ENTRY_STREAM };

/* Which parts of an entry may change: bits. A command's row has them for the keys that a request
 * names (command/command.h), so that a save can be asked before the command runs
 * (store/frontier.h). */
enum entry_changes {
    ENTRY_CHANGES_NOTHING = 0,
    /* Elements of a value of this type change in place: bytes of a string, fields of a hash.
     * Nothing else of the entry changes, except that a key without elements is removed. */
    ENTRY_CHANGES_STRING = 1 << ENTRY_STRING,
    ENTRY_CHANGES_LIST = 1 << ENTRY_LIST,
    ENTRY_CHANGES_SET = 1 << ENTRY_SET,
    ENTRY_CHANGES_ZSET = 1 << ENTRY_ZSET,
    ENTRY_CHANGES_HASH = 1 << ENTRY_HASH,
    ENTRY_CHANGES_STREAM = 1 << ENTRY_STREAM,
    /* A value is created, replaced or removed as a whole: no existing value changes. */
    ENTRY_CHANGES_WHOLE = 1 << 16,
    /* Anything, for example the name, the database or the deadline of a value that stays. */
    ENTRY_CHANGES_ANYTHING = 1 << 17,
};
/* Whether `changes` of a command's row cover a change of a value of this type: of its elements in
 * place, or, `whole`, its removal. */
static inline bool entry_changes_cover(unsigned changes, unsigned type, bool whole) {
    unsigned enough = ENTRY_CHANGES_ANYTHING | 1U << type | (whole ? ENTRY_CHANGES_WHOLE : 0);
    return changes & enough;
}

enum entry_flags {
    ENTRY_HAS_DEADLINE = 1 << 0,
    ENTRY_LONG_KEY = 1 << 1,
    ENTRY_BLOB = 1 << 2, /* the value is a struct blob * */
    ENTRY_WAITS = 1 << 3 /* in the frontier's queue (frontier.h) */
};
/* The other bits of the flags: a save's mark (frontier.h); 0: none. */
#define ENTRY_MARK_SHIFT 4
#define ENTRY_MARK_MAX 15u

struct entry {
    uint32_t recency : 24; /* seconds of the LRU clock, or LFU's minutes and counter */
    uint32_t type : 4;
    uint32_t encoding : 4;
    uint8_t flags;
    uint8_t key_length;    /* where not ENTRY_LONG_KEY */
    uint16_t value_length; /* of an inline value */
    unsigned char bytes[];
};
_Static_assert(sizeof(struct entry) == 8, "an entry's header is 8 bytes");

#define ENTRY_DEADLINE_BYTES 12 /* deadline and reference */
#define ENTRY_NO_DEADLINE INT64_MIN

static inline size_t entry_key_offset(const struct entry *e) {
    return (e->flags & ENTRY_HAS_DEADLINE ? ENTRY_DEADLINE_BYTES : 0) +
           (e->flags & ENTRY_LONG_KEY ? sizeof(uint32_t) : 0);
}
static inline struct slice entry_key(const struct entry *e) {
    size_t offset = entry_key_offset(e);
    uint32_t length = e->key_length;
    if (__builtin_expect(e->flags & ENTRY_LONG_KEY, 0))
        memcpy(&length, e->bytes + offset - sizeof(length), sizeof(length));
    return (struct slice){(const char *)e->bytes + offset, length};
}
static inline bool entry_has_deadline(const struct entry *e) {
    return e->flags & ENTRY_HAS_DEADLINE;
}
static inline unsigned entry_mark(const struct entry *e) { return e->flags >> ENTRY_MARK_SHIFT; }
static inline void entry_set_mark(struct entry *e, unsigned mark) {
    e->flags = (uint8_t)((e->flags & ((1u << ENTRY_MARK_SHIFT) - 1)) | mark << ENTRY_MARK_SHIFT);
}
/* Milliseconds since 1970; ENTRY_NO_DEADLINE where there is none. */
static inline int64_t entry_deadline(const struct entry *e) {
    int64_t deadline = ENTRY_NO_DEADLINE;
    if (e->flags & ENTRY_HAS_DEADLINE) memcpy(&deadline, e->bytes, sizeof(deadline));
    return deadline;
}
static inline void entry_set_deadline(struct entry *e, int64_t deadline) {
    memcpy(e->bytes, &deadline, sizeof(deadline));
}
static inline uint32_t entry_reference(const struct entry *e) {
    uint32_t reference;
    memcpy(&reference, e->bytes + sizeof(int64_t), sizeof(reference));
    return reference;
}
static inline void entry_set_reference(struct entry *e, uint32_t reference) {
    memcpy(e->bytes + sizeof(int64_t), &reference, sizeof(reference));
}
static inline unsigned char *entry_value_bytes(const struct entry *e) {
    struct slice key = entry_key(e);
    return (unsigned char *)key.bytes + key.length;
}
static inline struct blob *entry_blob(const struct entry *e) {
    struct blob *b;
    memcpy(&b, entry_value_bytes(e), sizeof(b));
    return b;
}

/* A new entry (class MEMORY_DATASET); takes value.blob. */
MUST_USE struct entry *entry_create(struct slice key, const struct string_value *value,
                                    int64_t deadline, unsigned recency);
/* An entry of another type than string; takes the value. */
MUST_USE struct entry *entry_create_object(struct slice key, enum entry_type type, struct value v,
                                           int64_t deadline, unsigned recency);
/* A new entry with a value of any type; takes the value. Of a string it takes the blob, or copies
 * the text. */
MUST_USE struct entry *entry_create_value(struct slice key, enum entry_type type, struct value v,
                                          int64_t deadline, unsigned recency);
/* The value of an entry of another type than string. */
static inline struct value entry_object(const struct entry *e) {
    struct value v = {.encoding = e->encoding};
    memcpy(&v.pointer, entry_value_bytes(e), sizeof(v.pointer));
    return v;
}
/* To be called after the value changed: it may have moved, or have another encoding. */
static inline void entry_set_object(struct entry *e, struct value v) {
    e->encoding = v.encoding;
    memcpy(entry_value_bytes(e), &v.pointer, sizeof(v.pointer));
}
void entry_free(struct entry *e);
/* Frees about `effort` blocks of the entry, or the whole entry where its type has no steps; true
 * when the entry is gone. After the first call only this function and entry_bytes, which tells what
 * is left, may be called. */
MUST_USE bool entry_free_step(struct entry *e, size_t effort);
/* For DEBUG: the table within the value, NULL if there is none. */
const struct table *entry_table(const struct entry *e);
/* To be called before another thread frees the entry. */
void entry_unlink(struct entry *e);
/* About how many blocks freeing the entry's value frees: 1 for a string, the number of elements for
 * a large collection. O(1). */
size_t entry_free_effort(const struct entry *e);
/* Overwrites the entry's value in place, if the new value needs the same allocation; takes
 * value.blob then. False, with nothing changed, where it does not fit. The value must not alias the
 * entry. */
MUST_USE bool entry_try_overwrite(struct entry *e, const struct string_value *value);
/* Makes a string raw and at least `length` bytes long in place, new bytes being zero; false, with
 * nothing changed, where its allocation is too small. A blob grows with room to spare, so that
 * growing a string step by step costs O(1) a byte. */
MUST_USE bool entry_try_make_writable(struct entry *e, size_t length);
/* Makes a string raw and at least `length` bytes long in a new allocation, new bytes being zero;
 * retires the old entry (limbo.h). */
MUST_USE struct entry *entry_take_writable(struct entry *e, size_t length);
/* The bytes of a raw string. */
char *entry_raw_bytes(const struct entry *e);
/* Gives the entry another deadline, or none: in place where it has a deadline and gets one, else in
 * a new allocation, and the old one is retired (limbo.h). The value moves along. Returns the entry.
 */
MUST_USE struct entry *entry_take_with_deadline(struct entry *e, int64_t deadline);
/* Moves value, deadline and recency to a new entry under another key; retires the old one
 * (limbo.h). For any type. */
MUST_USE struct entry *entry_take_with_key(struct entry *e, struct slice key);
/* A copy of the value and its form under `key`. O(value). */
MUST_USE struct entry *entry_dup(const struct entry *e, struct slice key, int64_t deadline,
                                 unsigned recency);

/* Bytes of the entry's own allocation: a copy of them can be read like the entry, as long as the
 * blocks that it points to exist. O(1). */
size_t entry_allocation(const struct entry *e);
/* Bytes that the entry takes, its value included. O(1). */
size_t entry_bytes(const struct entry *e);
/* Bytes of the value that lie outside of the entry's own allocation. O(1). */
static inline size_t entry_outside_bytes(const struct entry *e) {
    if (e->type != ENTRY_STRING) return value_type(e->type)->bytes(entry_object(e));
    return e->flags & ENTRY_BLOB ? blob_bytes(entry_blob(e)) : 0;
}

#define ENTRY_STRING_SCRATCH STRING_SCRATCH
/* The string's text; an int is printed into `scratch`. Valid until the entry changes. */
struct slice entry_string(const struct entry *e, char scratch[ENTRY_STRING_SCRATCH]);
/* The value of an entry of any type, for reading. A string is described in `room` and borrows its
 * text from the entry. */
struct value entry_value(const struct entry *e, struct string_value *room);
/* The integer of an entry whose encoding is int. */
int64_t entry_integer(const struct entry *e);
/* The string as an int64 if it is one, whatever its encoding. */
MUST_USE bool entry_string_to_int64(const struct entry *e, int64_t *value);

const char *entry_type_name(const struct entry *e);     /* TYPE */
const char *entry_encoding_name(const struct entry *e); /* OBJECT ENCODING */
#endif
