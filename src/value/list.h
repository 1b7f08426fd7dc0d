/* SPDX-License-Identifier: BSD-3-Clause
 * Lists: a quicklist, built as the options say.
 *
 * Most operations of lists are the quicklist's own (ds/quicklist.h); this file has the others.
 */
#ifndef EVENKEEL_VALUE_LIST_H
#define EVENKEEL_VALUE_LIST_H
#include "ds/quicklist.h"
#include "value/value.h"

enum list_encoding { LIST_QUICKLIST };

/* The type's row and options. */
void value_list_register(void);

/* An empty list, which the caller fills: a key's list is never empty. The list keeps the present
 * list-max-ziplist-size and list-compress-depth for its whole life. */
struct value list_create(void);
static inline struct quicklist *list_of(struct value v) { return v.pointer; }

/* Deletes up to `count` elements (0 = all) that equal the text, from the tail where `backwards`;
 * returns how many. O(elements). */
size_t list_remove_equal(struct value v, struct slice text, size_t count, bool backwards);
/* LPOS: calls `found` with the index of each element that equals the text, from the `rank`th match
 * on (1 = first; -1, or INT64_MIN, = first from the tail), for up to `count` matches (0 = all).
 * Compares up to `compare_max` elements (0 = all). O(elements). */
void list_positions(struct value v, struct slice text, int64_t rank, size_t count,
                    size_t compare_max, void (*found)(size_t index, void *context), void *context);
/* Keeps `count` elements from `index` on, deletes all others. */
void list_trim(struct value v, size_t index, size_t count);
#endif
