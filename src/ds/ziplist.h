/* SPDX-License-Identifier: BSD-3-Clause
 * The ziplist: how RDB files, DUMP and RESTORE of Redis 6.2 hold small collections.
 *
 * Nothing here keeps a ziplist in memory: it is read into a listpack and written from one.
 */
#ifndef EVENKEEL_DS_ZIPLIST_H
#define EVENKEEL_DS_ZIPLIST_H
#include <stdbool.h>
#include <stddef.h>

#include "base/string.h"

struct listpack;
struct listpack_value;

/* Calls `visit` with each element of foreign bytes; its text lives as long as they do. False where
 * they are no ziplist: sizes, every element, its length as the next one states it, the count and
 * the place of the last one are checked, and nothing is read outside of the bytes; or where `visit`
 * refuses an element by false. Elements before the fault have been visited. O(size). */
typedef bool ziplist_visit(const struct listpack_value *v, void *context);
bool ziplist_each(const void *bytes, size_t size, ziplist_visit *visit, void *context);

/* The elements as a listpack, which the caller owns; NULL where the bytes are no ziplist, or too
 * many for a listpack. O(size). */
struct listpack *ziplist_to_listpack(const void *bytes, size_t size);
/* The same for pairs: `*distinct` says whether each begins with another text. An element without
 * its other half counts as a pair. */
struct listpack *ziplist_pairs_to_listpack(const void *bytes, size_t size, bool *distinct);
/* Appends the elements as a ziplist; the bytes are those that 6.2 writes for the same elements
 * added one after another. Returns how many bytes. O(size). */
size_t ziplist_from_listpack(const struct listpack *lp, struct buffer *out);
/* The same of one text, of any length below 4 GiB. */
size_t ziplist_from_text(struct slice text, struct buffer *out);
#endif
