/* SPDX-License-Identifier: BSD-3-Clause
 * The form in which values are saved: lengths, texts and numbers of RDB files and DUMP, and whole
 * values by their types' rows.
 *
 * A value is saved and loaded through base/stream.h, so files, sockets and payloads in memory are
 * treated alike. Saving may go in steps (struct save_cursor). Loading treats all bytes as hostile:
 * a refusal has a reason (source_refuse), no more memory is allocated than the bytes received so
 * far justify, and a value that is returned has all invariants of its type.
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

/* A file's number for a value: its type and its form. */
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
/* Writes the shortest form: an integer, LZF (where rdbcompression is on), or the plain bytes. */
void saved_write_text(struct sink *out, struct slice text);
void saved_write_integer(struct sink *out, int64_t integer);
/* The encodings that a sink may defer (base/stream.h), each with the function that it stands
 * for. */
enum saved_deferred {
    SAVED_DEFERRED_TEXT,   /* saved_write_text */
    SAVED_DEFERRED_ZIPLIST /* the bytes of a listpack: saved_write_ziplist */
};
/* A hash or a sorted set whose listpack would be larger is converted to its table form, because it
 * is saved as a ziplist, which may take twice as much, and a ziplist of more than
 * LISTPACK_BYTES_MAX is not loaded. */
#define SAVED_LISTPACK_BYTES_MAX (LISTPACK_BYTES_MAX / 8)
MUST_USE bool saved_listpack_fits(const struct listpack *lp, size_t more_bytes);
/* Shorter texts are written at once, because deferring them would take as long. */
#define SAVED_DEFERRED_MIN 21
/* Writes bytes that a sink deferred. Any thread. */
void saved_write_deferred(struct sink *out, unsigned how, struct slice bytes);
/* Writes `bytes` bytes, the lowest first. */
void saved_write_number(struct sink *out, uint64_t number, size_t bytes);
void saved_write_double(struct sink *out, double number);

/* These functions return false, with the source's status set, where the source has no such
 * thing. */
MUST_USE bool saved_read_length(struct source *in, uint64_t *length);
/* A number of things that follow, of at least `bytes_each` bytes each. Refuses a number that cannot
 * fit. */
MUST_USE bool saved_read_count(struct source *in, size_t bytes_each, uint64_t *count);
MUST_USE bool saved_read_number(struct source *in, size_t bytes, uint64_t *number);
MUST_USE bool saved_read_double(struct source *in, double *number);
/* A number as a text behind a byte with the text's length. */
MUST_USE bool saved_read_double_text(struct source *in, double *number);
/* A text of up to 4 GiB - 1, valid until the source is read again or `store` changes: it is in the
 * source's window, or in `store`, an initialised buffer. */
MUST_USE bool saved_read_text(struct source *in, struct buffer *store, struct slice *text);
/* A text of up to 4 GiB - 1, always in `store`: valid until `store` changes. */
MUST_USE bool saved_read_kept(struct source *in, struct buffer *store, struct slice *text);
/* A text that will be stored, in one of three forms. A long text is in `*blob`, a block of class
 * MEMORY_DATASET that the caller owns. Another text is as saved_read_text returns it, and `*blob`
 * is NULL. An integer's form sets `*integer`, and text->bytes is NULL. */
MUST_USE bool saved_read_string(struct source *in, struct buffer *store, struct slice *text,
                                struct blob **blob, int64_t *integer);

/* ---- values ---- */

/* How far a value that is saved in steps has come. All zero at first, except for `budget` and
 * `shadow`. While a cursor is in use, the value must not change and its tables must not be resized,
 * unless it has a shadow. A value whose members are in a table is saved in steps by its shadow
 * only, and in one step without a shadow. */
struct save_cursor {
    size_t budget;         /* weight that this step may still write (value_spend); at least 1 */
    struct slice key;      /* the key that the value is under; empty: none, or not known */
    struct shadow *shadow; /* its members are saved instead of the value's; or NULL */
    unsigned phase;        /* this and the members below are the type's own */
    uint64_t at[2];        /* places, by position */
    const void *place;     /* or by address */
    struct buffer names[3];
};
/* Frees a cursor's buffers. To be called where saving is given up before all is written. */
void save_cursor_end(struct save_cursor *c);

/* The kind of value of a form; false if there is no such form, or it is a module's. */
MUST_USE bool saved_form_kind(unsigned form, enum value_kind *kind);
/* Writes the form's byte. O(1). */
void saved_write_form(struct sink *out, enum value_kind kind, struct value v);
/* Writes the whole value of the key, without its form. */
void saved_write_value(struct sink *out, enum value_kind kind, struct value v, struct slice key);
/* The bytes that saved_write_value writes. O(value). */
size_t saved_bytes(enum value_kind kind, struct value v);

/* The length in bytes of a value of this form that begins at `bytes`; 0 where it is cut off, and
 * for values whose length only loading tells (streams, modules' values). Does not check the value:
 * bytes that `load` will refuse may have a length, too. O(members). Any thread. */
size_t saved_extent(unsigned form, struct slice bytes);

/* Whether the text that begins at `bytes` is compressed. */
bool saved_is_compressed(struct slice bytes);

/* For the types: checks a listpack of pairs. False, after a refusal, where the number of elements
 * is odd or two pairs begin with the same text. */
MUST_USE bool saved_pairs_are_distinct(struct source *in, const struct listpack *lp);
/* Counts a check of packed foreign bytes (a ziplist, an intset, a stream's node). Any thread. */
void saved_note_checked(void);
/* How many checks were counted since start. */
uint64_t saved_checked(void);
/* For the types: reads a text that holds a ziplist as a listpack, which the caller owns; NULL after
 * a refusal. */
MUST_USE struct listpack *saved_read_ziplist(struct source *in, struct buffer *store);
/* For the types: reads a ziplist of pairs and checks them as saved_pairs_are_distinct does, in one
 * pass. A listpack that the caller owns; NULL after a refusal. */
MUST_USE struct listpack *saved_read_pairs(struct source *in, struct buffer *store);
/* For the types: writes a listpack as a text that holds a ziplist. */
void saved_write_ziplist(struct sink *out, const struct listpack *lp);
/* For the types: writes the number of a table's elements and then, by `write`, all elements. */
void saved_write_table(const struct table *t, struct sink *out,
                       void (*write)(void *element, void *sink));
/* For the types: writes the number of members of the cursor's shadow and then, by `visit`, as many
 * of them as the budget allows. `visit` gets the sink. True when all are written. */
MUST_USE bool saved_write_shadow(struct save_cursor *c, struct sink *out, value_visit *visit);
/* Registers the rows of this file's options and metrics. */
void saved_register(void);
#endif
