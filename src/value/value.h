/* SPDX-License-Identifier: BSD-3-Clause
 * Values, and what can be done with any of them: the type operations row.
 *
 * A value is a pointer and the number of its encoding; both change as it grows, so what changes a
 * value takes its address, and who holds it (store/entry) puts both back. Memory is of class
 * MEMORY_DATASET. A value knows no client, no reply and no key. A string is one whose pointer leads
 * to what stands for it (value/string.h).
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
 * folder above is given the next number that is free when it is registered, below VALUE_KINDS. */
enum value_kind {
    VALUE_STRING,
    VALUE_LIST,
    VALUE_SET,
    VALUE_ZSET,
    VALUE_HASH,
    VALUE_STREAM,
    VALUE_KIND_NEXT /* for value_type_register: the next one that is free */
};
/* An entry has four bits for a type's number. */
#define VALUE_KINDS 16

struct value {
    void *pointer;
    unsigned encoding; /* a type's own number, below 16; its row has the name */
};

struct table;
struct value_digest;
struct save_cursor;
struct sink;
struct source;

/* What came of loading a value (value/saved.h). */
enum value_loaded {
    VALUE_REFUSED, /* the source says why */
    VALUE_EMPTY,   /* a collection without members, which no key may have: there is no value */
    VALUE_LOADED
};

/* A member: its text, and its value where it has one. A sorted set's score is the bytes of a
 * double. */
struct value_texts {
    struct slice first, second;
};
typedef void value_visit(struct value_texts member, void *context);

struct value_type {
    const char *name;                /* TYPE */
    const char *const *encodings;    /* OBJECT ENCODING, by number */
    void (*release)(struct value v); /* frees it, a string's block if it owns one; any thread */
    /* Members, O(1): a key goes with the last one. NULL = a value may be empty. */
    size_t (*count)(struct value v);
    /* A string's copy borrows the same text: who stores it copies that. */
    struct value (*copy)(struct value v);
    /* What 6.2 calls the type in digests (value_digest_number); of modules' types: 5. */
    uint32_t digest_number;
    /* Adds the contents: the same for equal contents in any encoding. */
    void (*digest)(struct value v, struct value_digest *d);
    size_t (*bytes)(struct value v); /* that it owns, O(1) */
    /* Blocks of memory that freeing takes, about. O(1). */
    size_t (*free_effort)(struct value v);
    /* What DEBUG OBJECT says besides, with a blank before each word. NULL = nothing. O(value). */
    void (*describe)(struct value v, struct buffer *out);
    /* The value leaves the main thread for one that frees it. NULL = nothing to do. */
    void (*unlink)(struct value v);
    /* As `release` in steps of `effort` blocks, about; true when all is gone. `bytes` may be asked
     * between two steps and tells what is left, nothing else may. NULL = only whole. */
    bool (*release_step)(struct value v, size_t effort);
    /* The enum saved_form in which it would be saved. O(1). */
    unsigned (*form)(struct value v);
    /* Writes on as far as `c->budget` allows; true when the whole value is written. */
    bool (*save)(struct value v, struct save_cursor *c, struct sink *out);
    /* Writes commands that make the value under `key`, as far as `c->budget` allows; true when all
     * are written. A cursor as `save` has, which must begin anew (value/rewritten.h). */
    bool (*rewrite)(struct value v, struct slice key, struct save_cursor *c, struct sink *out);
    /* Reads a value in this form, one of its own. A string needs room at `out->pointer`, and
     * `store`, an initialised buffer, lends it its text. */
    enum value_loaded (*load)(unsigned form, struct source *in, struct buffer *store,
                              struct value *out);
    /* The one block that the value is: a copy of it, on a multiple of 8, is read as the value with
     * its address as the pointer. No bytes where it is more than that. NULL: it always is. O(1). */
    struct slice (*flat)(struct value v);
    /* The table of its members, NULL in another encoding. NULL = no encoding has one. */
    const struct table *(*table)(struct value v);
    /* A member, from an element of that table; who changes one calls shadow_note first
     * (value/shadow.h). NULL = members are more than this. */
    struct value_texts (*texts)(const void *element);
};

/* Registers a type of this folder by its number, or by VALUE_KIND_NEXT one of a folder above, and
 * returns its number: VALUE_KINDS where that is taken, or none is free. Rows live as long as the
 * process. */
unsigned value_type_register(enum value_kind kind, const struct value_type *row);
/* Asserts that there is one. */
const struct value_type *value_type(unsigned kind);

/* ---- saving in steps ---- */

/* Copying so many bytes takes about as long as finding a member whose memory is far away. So a
 * member weighs 1, and 1 more for each so many of its bytes. */
#define VALUE_MEMBER_BYTES 256
/* So many members, of so many bytes together, were written or passed over. They may weigh more than
 * the budget has left, because a member is written whole. */
static inline void value_spend(size_t *budget, size_t members, size_t bytes) {
    size_t weight = members + bytes / VALUE_MEMBER_BYTES;
    *budget -= weight < *budget ? weight : *budget;
}

/* ---- digests: those of Redis 6.2, so that data sets are compared across servers ---- */

/* All zero at first. */
struct value_digest {
    unsigned char sum[SHA1_BYTES];
};
/* A part whose place does not matter: its SHA-1 by exclusive or. Two equal parts cancel each other
 * out, so the members of a value must differ. */
void value_digest_part(struct value_digest *d, struct slice text);
/* A part whose place matters: the same, then the SHA-1 of what that gives. */
void value_digest_next(struct value_digest *d, struct slice text);
/* A member of two texts whose place does not matter. */
void value_digest_pair(struct value_digest *d, struct slice first, struct slice second);
/* A number whose place matters: four bytes, the highest first. */
void value_digest_number(struct value_digest *d, uint32_t number);
#endif
