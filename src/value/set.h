/* SPDX-License-Identifier: BSD-3-Clause
 * Sets: sorted integers while small and only integers (OBJECT ENCODING intset), then a table.
 *
 * A table never becomes an intset again. Texts that are returned are valid until the set changes.
 */
#ifndef EVENKEEL_VALUE_SET_H
#define EVENKEEL_VALUE_SET_H
#include "base/attributes.h"
#include "value/value.h"

enum set_encoding { SET_INTSET, SET_TABLE };

struct intset;
struct table;

/* The type's row and options. */
void value_set_register(void);

/* An empty set, which the caller fills: a key's set is never empty. */
struct value set_create(void);
FOR_TESTS void set_free(struct value v);
size_t set_count(struct value v);
/* Whether the member is there. O(1), in an intset O(log members). */
MUST_USE bool set_has(struct value v, struct slice member);
/* Returns false if the member is there already. The text must not lie in the set itself. */
bool set_add(struct value *v, struct slice member);
/* Returns false if the member is not there. */
bool set_remove(struct value *v, struct slice member);

/* Only for an intset (set_intset): removes the members at these places, which ascend strictly.
 * O(members) in all. */
void set_remove_places(struct value *v, const size_t *places, size_t count);

/* Visits every member; the set may not change meanwhile. */
typedef void set_visit(struct slice member, void *context);
void set_each(struct value v, set_visit *visit, void *context);
/* SSCAN: visits about `wanted` members of one bucket of the table (of an intset all members, at
 * cursor 0). Returns the next cursor, 0 at the end; see table_scan_some. */
uint64_t set_scan(struct value v, uint64_t cursor, size_t wanted, set_visit *visit, void *context);
/* A random member, each equally likely. The set must not be empty. O(1). */
struct listpack_value set_random(struct value v);

/* For saving and DEBUG: the intset of a set in that encoding. */
const struct intset *set_intset(struct value v);
/* Prepares for so many further members: converts the set to the form that they need, and grows the
 * table by a bounded number of buckets. */
FOR_TESTS void set_expect(struct value *v, size_t members);
/* Takes an intset; returns it as a set in the encoding that the options say. */
FOR_TESTS struct value set_take_intset(struct intset *s);
/* Asserts the invariants; walks everything. */
FOR_TESTS void set_check(struct value v);
#endif
