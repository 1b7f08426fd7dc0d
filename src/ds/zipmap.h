/* SPDX-License-Identifier: BSD-3-Clause
 * The zipmap: how RDB files before Redis 2.6 hold small hashes. It is only read.
 */
#ifndef EVENKEEL_DS_ZIPMAP_H
#define EVENKEEL_DS_ZIPMAP_H
#include <stddef.h>

struct listpack;

/* The fields and values in turn as a listpack, which the caller owns; NULL if the foreign bytes
 * are no zipmap, or too large for a listpack. Reads nothing outside of the bytes. Does not check
 * that fields differ. O(size). */
struct listpack *zipmap_to_listpack(const void *bytes, size_t size);
#endif
