/* SPDX-License-Identifier: BSD-3-Clause
 * The zipmap: how RDB files before Redis 2.6 hold small hashes. It is only read.
 */
#ifndef EVENKEEL_DS_ZIPMAP_H
#define EVENKEEL_DS_ZIPMAP_H
#include <stddef.h>

struct listpack;

/* Fields and values of foreign bytes in turn as a listpack, which the caller owns; NULL where they
 * are no zipmap, or too many. Nothing is read outside of the bytes. That fields differ is not
 * looked at. O(size). */
struct listpack *zipmap_to_listpack(const void *bytes, size_t size);
#endif
