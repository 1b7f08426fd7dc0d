/* SPDX-License-Identifier: BSD-3-Clause
 * redis-check-rdb: whether a snapshot is sound, and where not.
 */
#ifndef EVENKEEL_RDB_CHECK_RDB_H
#define EVENKEEL_RDB_CHECK_RDB_H
#include <stdbool.h>

#include "base/attributes.h"

struct source;

/* Reads the whole file and tells on standard output what it has and, where it is damaged, what is
 * wrong and where. The exit status: 0 = it is sound, 1 = it is not, or cannot be read. Rows of
 * options and types must be registered; no database is needed. */
int check_rdb(const char *path);
/* The same of a snapshot that stands in a source, up to its end. Whether it is sound. */
MUST_USE bool check_rdb_source(struct source *in);
#endif
