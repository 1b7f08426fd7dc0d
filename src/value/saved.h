/* SPDX-License-Identifier: BSD-3-Clause
 * The form in which values are saved: lengths, texts and numbers of RDB files and DUMP, and whole
 * values by their types' rows.
 *
 * A value is saved and loaded through base/stream.h, so a file, a socket and a payload in memory
 * are one. Saving may go in steps (struct save_cursor). Loading takes all bytes for hostile: what
 * it refuses it refuses with a reason (source_refuse), nothing is allocated that the bytes that
 * came do not justify, and a value that is returned has all invariants of its type.
 *
 * Source of the format: the files of Redis 6.2, version 9.
 */
#ifndef EVENKEEL_VALUE_SAVED_H
#define EVENKEEL_VALUE_SAVED_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/stream.h"
#include "base/string.h"
#include "value/value.h"

struct blob;

/* What a file calls a value's type: the type and its form. */
enum saved_form {
    SAVED_STRING = 0,
    SAVED_LIST = 1,
    SAVED_SET = 2,
    SAVED_ZSET_TEXT = 3, /* scores are texts; before 3.2 */
    SAVED_HASH = 4,
    SAVED_ZSET = 5, /* scores are doubles */
    SAVED_MODULE_OLD = 6,
    SAVED_MODULE = 7,
    SAVED_HASH_ZIPMAP = 9, /* before 2.6 */
    SAVED_LIST_ZIPLIST = 10,
    SAVED_SET_INTSET = 11,
    SAVED_ZSET_ZIPLIST = 12,
    SAVED_HASH_ZIPLIST = 13,
    SAVED_LIST_QUICKLIST = 14,
    SAVED_STREAM = 15
};

/* ---- pieces ---- */

void saved_write_length(struct sink *out, uint64_t length);
/* The shortest of an integer, compressed bytes (as rdbcompression says) and the bytes. */
void saved_write_text(struct sink *out, struct slice text);
void saved_write_integer(struct sink *out, int64_t integer);
/* What a sink may defer (base/stream.h), and how it is written then. */
enum saved_deferred {
    SAVED_DEFERRED_TEXT,   /* saved_write_text */
    SAVED_DEFERRED_ZIPLIST /* the bytes of a listpack: saved_write_ziplist */
};
/* A hash or a sorted set whose listpack would be larger takes its other form. Both are saved as
 * ziplists, which may take twice as much, and a ziplist of more than LISTPACK_BYTES_MAX is not
 * loaded. */
#define SAVED_LISTPACK_BYTES_MAX (LISTPACK_BYTES_MAX / 8)
MUST_USE bool saved_listpack_fits(const struct listpack *lp, size_t more_bytes);
/* Shorter texts are written at once: that takes no longer than to defer them. */
#define SAVED_DEFERRED_MIN 21
/* In any thread. */
void saved_write_deferred(struct sink *out, unsigned how, struct slice bytes);
/* Lowest byte first, `bytes` of them. */
void saved_write_number(struct sink *out, uint64_t number, size_t bytes);
void saved_write_double(struct sink *out, double number);

/* False, with the source's status set, where there is none. */
MUST_USE bool saved_read_length(struct source *in, uint64_t *length);
/* How many things follow, of at least so many bytes each. */
MUST_USE bool saved_read_count(struct source *in, size_t bytes_each, uint64_t *count);
MUST_USE bool saved_read_number(struct source *in, size_t bytes, uint64_t *number);
MUST_USE bool saved_read_double(struct source *in, double *number);
/* A number that stands there as text behind a byte of its length. */
MUST_USE bool saved_read_double_text(struct source *in, double *number);
/* A text of up to 4 GiB - 1, valid until the source is read again or `store` changes; `store` is an
 * initialised buffer that holds it where the source's window does not. */
MUST_USE bool saved_read_text(struct source *in, struct buffer *store, struct slice *text);
/* The same, always in `store`. */
MUST_USE bool saved_read_kept(struct source *in, struct buffer *store, struct slice *text);
/* As saved_read_text for a text that will be stored: a long one in a block of its own (class
 * MEMORY_DATASET) that the caller owns, `*blob` is NULL otherwise; an integer that stands there as
 * such sets
 * `*integer` and a text without bytes. */
MUST_USE bool saved_read_string(struct source *in, struct buffer *store, struct slice *text,
                                struct blob **blob, int64_t *integer);

/* ---- values ---- */

/* How far a value that is saved in steps has come. All zero at first, but for `budget` and
 * `shadow`. While a cursor stands its tables do not pay what they owe, and the value does not
 * change, unless it has a shadow. A value whose members stand in a table is saved in steps by its
 * shadow only, and whole without one. */
struct save_cursor {
    size_t budget;         /* weight that this step may still write (value_spend); at least 1 */
    struct shadow *shadow; /* what is saved are its members, and not what is there now; or NULL */
    unsigned phase;        /* the rest is the type's own */
    uint64_t at[2];        /* places, by position */
    const void *place;     /* or by address */
    struct buffer names[3];
};
/* Needed where a cursor is given up before all is written. */
void save_cursor_end(struct save_cursor *c);

/* Which kind of value a form is; false where there is no such form, or it is a module's. */
MUST_USE bool saved_form_kind(unsigned form, enum value_kind *kind);
/* Writes the form's byte. O(1). */
void saved_write_form(struct sink *out, enum value_kind kind, struct value v);
/* Writes the whole value, without its form. */
void saved_write_value(struct sink *out, enum value_kind kind, struct value v);
/* The bytes that the value takes then. O(value). */
size_t saved_bytes(enum value_kind kind, struct value v);

/* How many bytes a value of this form takes that begins there; 0 where they are not all there, and
 * where nobody knows without loading it (streams, modules' values). Nothing is judged: bytes that
 * `load` will refuse have a length, too, or 0. O(members). Any thread. */
size_t saved_extent(unsigned form, struct slice bytes);

/* Whether a text that begins there is compressed. */
bool saved_is_compressed(struct slice bytes);

/* For the types: what a listpack of pairs must be to become a value. False after a refusal where
 * the elements are no pairs, or two begin with the same text. */
MUST_USE bool saved_pairs_are_distinct(struct source *in, const struct listpack *lp);
/* A value that stands there as packed bytes (a ziplist, an intset, a stream's node) is about to be
 * checked. Any thread. */
void saved_note_checked(void);
/* How many were since start. */
uint64_t saved_checked(void);
/* For the types: a text that holds a ziplist, as a listpack that the caller owns; NULL after a
 * refusal. */
MUST_USE struct listpack *saved_read_ziplist(struct source *in, struct buffer *store);
/* Both in one pass. */
MUST_USE struct listpack *saved_read_pairs(struct source *in, struct buffer *store);
/* For the types: writes a listpack as a text that holds a ziplist. */
void saved_write_ziplist(struct sink *out, const struct listpack *lp);
/* For the types: writes the number of a table's elements and then, by `write`, all elements. */
void saved_write_table(const struct table *t, struct sink *out,
                       void (*write)(void *element, void *sink));
/* For the types: writes the number of the members of the cursor's shadow and then, by `visit`, as
 * many of them as the budget allows. `visit` gets the sink. True when all are written. */
MUST_USE bool saved_write_shadow(struct save_cursor *c, struct sink *out, value_visit *visit);
/* For the types: the option's rows. */
void saved_register(void);
#endif
