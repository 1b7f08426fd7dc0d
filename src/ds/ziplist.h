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

/* The elements of foreign bytes as a listpack, which the caller owns; NULL where they are no
 * ziplist: sizes, every element, its length as the next one states it, the count and the place of
 * the last one are checked, and nothing is read outside of the bytes. O(size). */
struct listpack *ziplist_to_listpack(const void *bytes, size_t size);
/* Appends the elements as a ziplist; the bytes are those that 6.2 writes for the same elements
 * added one after another. Returns how many bytes. O(size). */
size_t ziplist_from_listpack(const struct listpack *lp, struct buffer *out);
#endif
