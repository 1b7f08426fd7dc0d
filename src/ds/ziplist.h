/* SPDX-License-Identifier: BSD-3-Clause
 * The ziplist: how RDB files, DUMP and RESTORE of Redis 6.2 hold small collections.
 *
 * No value is a ziplist in memory: a ziplist is read into a listpack and written from one.
 */
#ifndef EVENKEEL_DS_ZIPLIST_H
#define EVENKEEL_DS_ZIPLIST_H
#include <stdbool.h>
#include <stddef.h>

#include "base/string.h"

struct listpack;
struct listpack_value;

/* Calls `visit` with each element of foreign bytes; an element's text lives as long as the bytes.
 * Returns false if the bytes are no ziplist, or if `visit` returns false; earlier elements have
 * been visited then. Checks sizes, every element, its length as the next element states it, the
 * count and the last element's place, and reads nothing outside of the bytes. O(size). */
typedef bool ziplist_visit(const struct listpack_value *v, void *context);
bool ziplist_each(const void *bytes, size_t size, ziplist_visit *visit, void *context);

/* The elements as a listpack, which the caller owns; NULL if the bytes are no ziplist, or the
 * elements are too large for a listpack. O(size). */
struct listpack *ziplist_to_listpack(const void *bytes, size_t size);
/* ziplist_to_listpack for pairs; `*distinct` becomes whether all pairs begin with different texts.
 * A last element without its other half counts as a pair. O(size). */
struct listpack *ziplist_pairs_to_listpack(const void *bytes, size_t size, bool *distinct);
/* Appends the elements as a ziplist; the bytes are those that 6.2 writes for the same elements
 * added one after another. Returns how many bytes. O(size). */
size_t ziplist_from_listpack(const struct listpack *lp, struct buffer *out);
/* Appends a ziplist of this one text, of any length below 4 GiB; returns how many bytes.
 * O(length). */
size_t ziplist_from_text(struct slice text, struct buffer *out);
#endif
