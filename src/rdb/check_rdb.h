/* SPDX-License-Identifier: BSD-3-Clause
 * redis-check-rdb: whether a snapshot is sound, and where it is damaged.
 */
#ifndef EVENKEEL_RDB_CHECK_RDB_H
#define EVENKEEL_RDB_CHECK_RDB_H
#include <stdbool.h>

#include "base/attributes.h"

struct source;

/* Reads the whole file and prints on standard output what the file has and, after a fault, what is
 * wrong and where. Returns the exit status: 0 = sound, 1 = damaged or not readable. Rows of options
 * and types must be registered; no database is needed. */
int check_rdb(const char *path);
/* Checks the snapshot that `in` holds, up to its end, and prints as check_rdb does. Returns whether
 * the snapshot is sound. */
MUST_USE bool check_rdb_source(struct source *in);
#endif
