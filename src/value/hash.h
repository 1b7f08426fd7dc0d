/* SPDX-License-Identifier: BSD-3-Clause
 * Hashes: fields with values, a listpack while small (OBJECT ENCODING ziplist), then a table.
 *
 * A hash is never made smaller again. Texts that are handed out live until the hash changes.
 */
#ifndef EVENKEEL_VALUE_HASH_H
#define EVENKEEL_VALUE_HASH_H
#include "base/attributes.h"
#include "value/value.h"

enum hash_encoding { HASH_LISTPACK, HASH_TABLE };

struct table;

/* The type's row and options. */
void value_hash_register(void);

/* Empty, to be filled: no hash of a key is. */
struct value hash_create(void);
FOR_TESTS void hash_free(struct value v);
size_t hash_count(struct value v);
/* The field's value; false where there is none. O(1), in a listpack O(fields). */
MUST_USE bool hash_get(struct value v, struct slice field, struct listpack_value *out);
/* True where the field is new. The texts may not stand in the hash itself. */
bool hash_set(struct value *v, struct slice field, struct slice text);
/* The same, but hash-max-ziplist-value does not count: what HINCRBY does in 6.2. */
bool hash_set_of_any_length(struct value *v, struct slice field, struct slice text);
/* False where there is no such field. */
bool hash_delete(struct value *v, struct slice field);

/* Visits every field; the hash may not change meanwhile. */
typedef void hash_visit(struct slice field, struct slice text, void *context);
void hash_each(struct value v, hash_visit *visit, void *context);
/* HSCAN: visits about `wanted` fields, and at most those of one table position (all of a
 * listpack's at cursor 0), and returns the next cursor, 0 at the end; see table_scan_some. */
uint64_t hash_scan(struct value v, uint64_t cursor, size_t wanted, hash_visit *visit,
                   void *context);
/* A field of a hash that is not empty, each as likely, and its value. O(1), in a listpack
 * O(fields). */
void hash_random(struct value v, struct listpack_value *field, struct listpack_value *text);

/* Takes a listpack of fields and values in turn, without double fields, as a hash in the encoding
 * that the options say. */
FOR_TESTS struct value hash_take_listpack(struct listpack *lp);
/* Asserts the invariants; walks everything. */
FOR_TESTS void hash_check(struct value v);
#endif
