/* SPDX-License-Identifier: BSD-3-Clause
 * Hashes: fields with values, a listpack while small (OBJECT ENCODING ziplist), then a table.
 *
 * A table never becomes a listpack again. Texts that are returned are valid until the hash changes.
 */
#ifndef EVENKEEL_VALUE_HASH_H
#define EVENKEEL_VALUE_HASH_H
#include "base/attributes.h"
#include "value/value.h"

enum hash_encoding { HASH_LISTPACK, HASH_TABLE };

struct table;

/* The type's row and options. */
void value_hash_register(void);

/* An empty hash, which the caller fills: a key's hash is never empty. */
struct value hash_create(void);
FOR_TESTS void hash_free(struct value v);
size_t hash_count(struct value v);
/* The field's value; false if there is no such field. O(1), in a listpack O(fields). */
MUST_USE bool hash_get(struct value v, struct slice field, struct listpack_value *out);
/* Sets the field's value; true if the field is new. The texts must not lie in the hash
 * itself. */
bool hash_set(struct value *v, struct slice field, struct slice text);
/* Sets the field's value; true if the field is new. Ignores hash-max-ziplist-value, as HINCRBY
 * does in 6.2. */
bool hash_set_of_any_length(struct value *v, struct slice field, struct slice text);
/* Returns false if there is no such field. */
bool hash_delete(struct value *v, struct slice field);

/* Visits every field; the hash may not change meanwhile. */
typedef void hash_visit(struct slice field, struct slice text, void *context);
void hash_each(struct value v, hash_visit *visit, void *context);
/* HSCAN: visits about `wanted` fields of one bucket of the table (of a listpack all fields, at
 * cursor 0). Returns the next cursor, 0 at the end; see table_scan_some. */
uint64_t hash_scan(struct value v, uint64_t cursor, size_t wanted, hash_visit *visit,
                   void *context);
/* A random field, each equally likely, and its value. The hash must not be empty. O(1), in a
 * listpack O(fields). */
void hash_random(struct value v, struct listpack_value *field, struct listpack_value *text);

/* Takes a listpack of distinct fields with values in turn; returns it as a hash in the encoding
 * that the options say. */
FOR_TESTS struct value hash_take_listpack(struct listpack *lp);
/* Asserts the invariants; walks everything. */
FOR_TESTS void hash_check(struct value v);
#endif
