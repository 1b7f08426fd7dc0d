/* SPDX-License-Identifier: BSD-3-Clause
 * A table of keys that clients wait for or watch, whether or not the keyspace has them.
 *
 * Each interested party has a link in the key's list. Each database has a table of its own, so that
 * SWAPDB and FLUSHDB look at their databases' keys only. A database's table is created with its
 * first key and freed with its last.
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
    struct list_link links; /* of the interested parties, in the order in which they came */
    struct slice name;      /* lies behind the user's struct */
    uint64_t hash;
    int database;
    unsigned links_count;
};

/* The user sets `row_bytes`; the rest is zero at first. */
struct key_table {
    size_t row_bytes; /* of the user's struct, which begins with a struct key_row */
    struct table **databases;
    size_t count;
};

/* The number of keys of all databases. O(1). */
size_t key_table_count(const struct key_table *t);
/* The key's row; NULL if the key has none. O(1). */
void *key_table_find(const struct key_table *t, const struct key *key);
/* A new row for a key that has none: its list is empty, and the user's members are zero. */
void *key_table_create(struct key_table *t, const struct key *key);
/* The row's key; its name lives as long as the row. */
struct key key_row_key(const struct key_row *row);
/* Frees a row whose list is empty. Not during key_table_each of its database. */
void key_table_free(struct key_table *t, struct key_row *row);

/* Appends a link to the row's list; removes it. */
void key_table_link(struct key_row *row, struct list_link *link);
void key_table_unlink(struct key_row *row, struct list_link *link);

/* Visits each row of the database. Meanwhile no row may be created or freed. */
typedef void key_table_visit(void *row, void *context);
void key_table_each(const struct key_table *t, int database, key_table_visit *visit, void *context);
/* Asserts the invariants; walks everything. */
void key_table_check(const struct key_table *t);
#endif
