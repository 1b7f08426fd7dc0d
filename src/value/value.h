/* SPDX-License-Identifier: BSD-3-Clause
 * Values, and the row of operations that each type has.
 *
 * A value is a pointer and the number of its encoding. Both may change when it grows, so a function
 * that changes a value takes the `struct value`'s address, and the owner (store/entry) stores both
 * anew. Memory is of class MEMORY_DATASET. A value knows no client, no reply and no key. A string's
 * pointer leads to a struct string_value (value/string.h).
 */
#ifndef EVENKEEL_VALUE_VALUE_H
#define EVENKEEL_VALUE_VALUE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sha.h"
#include "base/string.h"
#include "ds/listpack.h"

/* The types of this folder; store/entry numbers them in the same way (asserted there). A type of a
 * higher folder gets the next free number below VALUE_KINDS when it is registered. */
enum value_kind {
    VALUE_STRING,
    VALUE_LIST,
    VALUE_SET,
    VALUE_ZSET,
    VALUE_HASH,
    VALUE_STREAM,
    VALUE_KIND_NEXT /* for value_type_register: the next free number */
};
/* An entry has four bits for a type's number. */
#define VALUE_KINDS 16

struct value {
    void *pointer;
    unsigned encoding; /* a type's own number, below 16; its row has the name */
};

/* Where moving a value's blocks goes on; each type has its own use for the numbers. */
struct value_cursor {
    uint64_t place, further;
};

struct relocation;
struct table;
struct value_digest;
struct save_cursor;
struct sink;
struct source;

/* The result of loading a value (value/saved.h). */
enum value_loaded {
    VALUE_REFUSED, /* the source says why */
    VALUE_EMPTY,   /* a collection without members, which no key may have: there is no value */
    VALUE_LOADED
};

/* A member: its text, and its value where it has one. For a sorted set the value is the bytes of
 * the score, a double. */
struct value_texts {
    struct slice first, second;
};
typedef void value_visit(struct value_texts member, void *context);

/* A type's functions find their own context in the value. Functions to which 6.2 names the key,
 * where a module has the type, get it as `key`: valid during the call, and empty where the value is
 * under no key. 6.2 names the database to none of them. */
struct value_type {
    const char *name;                /* TYPE */
    const char *const *encodings;    /* OBJECT ENCODING, by number */
    void (*release)(struct value v); /* frees it (of a string the block); any thread */
    /* The number of members, O(1): a key is deleted with the last one. NULL = a value may be empty.
     */
    size_t (*count)(struct value v);
    /* A copy that will be under the key `to`. A string's borrows the same text, which the function
     * that stores it copies. */
    struct value (*copy)(struct value v, struct slice key, struct slice to);
    /* The type's number in 6.2's digests (value_digest_number); 5 for modules' types. */
    uint32_t digest_number;
    /* Adds the contents: the same for equal contents in any encoding. */
    void (*digest)(struct value v, struct value_digest *d);
    size_t (*bytes)(struct value v); /* of memory that it owns, O(1) */
    /* About how many blocks of memory freeing it frees. O(1). */
    size_t (*free_effort)(struct value v, struct slice key);
    /* Appends further words of DEBUG OBJECT, a blank before each. NULL = none. O(value). */
    void (*describe)(struct value v, struct buffer *out);
    /* To be called before another thread frees the value. NULL = nothing to do. */
    void (*unlink)(struct value v, struct slice key);
    /* Frees about `effort` blocks of the value; true when all is gone. After the first call only
     * this function and `bytes`, which tells what is left, may be called. NULL = use `release`. Any
     * thread. */
    bool (*release_step)(struct value v, size_t effort);
    /* The enum saved_form in which it would be saved. O(1). */
    unsigned (*form)(struct value v);
    /* Continues writing the value as far as `c->budget` allows; true when all of it is written. The
     * key is in the cursor. */
    bool (*save)(struct value v, struct save_cursor *c, struct sink *out);
    /* Writes commands that make the value under `key`, as far as `c->budget` allows; true when all
     * are written. The cursor begins anew, not where one of `save` has ended (value/rewritten.h).
     */
    bool (*rewrite)(struct value v, struct slice key, struct save_cursor *c, struct sink *out);
    /* Reads a value in this form, which is one of the type's. For a string, the caller sets
     * `out->pointer` to a struct string_value, and its text may lie in `store`, an initialised
     * buffer. */
    enum value_loaded (*load)(unsigned form, struct slice key, struct source *in,
                              struct buffer *store, struct value *out);
    /* The value's bytes, where it is one block without pointers: a copy of the block, aligned to 8
     * bytes, can be read as a value whose pointer is the copy's address. No bytes where the value
     * is more than one block. NULL = it always is. O(1). */
    struct slice (*flat)(struct value v);
    /* Moves blocks of the value that are wanted elsewhere (base/relocation.h), from `c` on until
     * the budget is spent; true when the value is through. `c` is all zero at first. The value may
     * change between two calls: blocks may be missed then, or asked about twice. `v` may move. No
     * save may be copying the value. NULL = a value is one block (`flat`). */
    bool (*relocate)(struct value *v, struct value_cursor *c, struct relocation *r);
    /* The table of its members; NULL in an encoding without one. NULL = no encoding has one. */
    const struct table *(*table)(struct value v);
    /* The member of an element of that table; a function that changes an element calls shadow_note
     * first (value/shadow.h). NULL = members have more parts than this. */
    struct value_texts (*texts)(const void *element);
};

/* Registers a type of this folder by its number, or one of a higher folder by VALUE_KIND_NEXT.
 * Returns the type's number; VALUE_KINDS where that number is taken or none is free. Rows live as
 * long as the process. */
unsigned value_type_register(enum value_kind kind, const struct value_type *row);
/* The row of a type, which must be registered (asserted). */
const struct value_type *value_type(unsigned kind);

/* ---- saving in steps ---- */

/* A member weighs 1, and 1 more for each VALUE_MEMBER_BYTES of its bytes, because copying so many
 * bytes takes about as long as the cache misses of reaching a member. */
#define VALUE_MEMBER_BYTES 256
/* Subtracts the weight of `members` members of `bytes` bytes together, written or skipped, from the
 * budget; at most to 0, because a member is always written whole. */
static inline void value_spend(size_t *budget, size_t members, size_t bytes) {
    size_t weight = members + bytes / VALUE_MEMBER_BYTES;
    *budget -= weight < *budget ? weight : *budget;
}

/* ---- digests: those of Redis 6.2, so that data sets are compared across servers ---- */

/* All zero at first. */
struct value_digest {
    unsigned char sum[SHA1_BYTES];
};
/* Adds a part whose position does not matter: its SHA-1 by exclusive or. Two equal parts cancel
 * each other out, so the members of a value must differ. */
void value_digest_part(struct value_digest *d, struct slice text);
/* Adds a part whose position matters: its SHA-1 by exclusive or, then the sum becomes the SHA-1 of
 * itself. */
void value_digest_next(struct value_digest *d, struct slice text);
/* Adds a member of two texts, whose position does not matter. */
void value_digest_pair(struct value_digest *d, struct slice first, struct slice second);
/* Adds a number whose position matters: four bytes, the highest first. */
void value_digest_number(struct value_digest *d, uint32_t number);
#endif
