/* SPDX-License-Identifier: BSD-3-Clause
 * A table of keys that somebody waits for or watches, whether or not the keyspace has them.
 *
 * Who is interested in a key has a link in its list. The keys of each database are by themselves,
 * so that SWAPDB and FLUSHDB look at theirs only. A database's table comes with its first key and
 * goes with its last one.
 */
#ifndef EVENKEEL_STORE_KEY_TABLE_H
#define EVENKEEL_STORE_KEY_TABLE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "base/string.h"
#include "store/key.h"

struct table;

/* The first member of the struct that a user keeps for each key. */
struct key_row {
    struct list_link links; /* of who is interested, in the order in which they came */
    struct slice name;      /* stands behind the user's struct */
    uint64_t hash;
    int database;
    unsigned links_count;
};

/* `row_bytes` is set by the user, the rest is zero at first. */
struct key_table {
    size_t row_bytes; /* of the user's struct, which begins with a struct key_row */
    struct table **databases;
    size_t count;
};

/* Of all databases. O(1). */
size_t key_table_count(const struct key_table *t);
/* NULL where the key is not there. O(1). */
void *key_table_find(const struct key_table *t, const struct key *key);
/* A key that is not there yet: nobody is interested, and what is the user's is zero. */
void *key_table_create(struct key_table *t, const struct key *key);
/* The row's key; its name lives as long as the row. */
struct key key_row_key(const struct key_row *row);
/* Nobody may be interested in it, and nobody walk the database's part. */
void key_table_free(struct key_table *t, struct key_row *row);

/* The link goes into the row's list, as the last one; and out of it. */
void key_table_link(struct key_row *row, struct list_link *link);
void key_table_unlink(struct key_row *row, struct list_link *link);

/* Visits each key of the database. Meanwhile none may come or go. */
typedef void key_table_visit(void *row, void *context);
void key_table_each(const struct key_table *t, int database, key_table_visit *visit, void *context);
/* Asserts the invariants; walks everything. */
void key_table_check(const struct key_table *t);
#endif
