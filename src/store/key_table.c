/* SPDX-License-Identifier: BSD-3-Clause
 * Keys by database and name, one table for each database.
 *
 * A row is one allocation: the user's struct, which begins with ours, and the name. The array of
 * tables is created with the first key and never freed: it is small.
 *
 * Invariants (key_table_check)
 *  1. A database has a table exactly while it has a key here.
 *  2. A key stands in the table of its database, under its hash, once.
 *  3. links_count is the length of its list.
 *
 * Ownership: the table owns the rows, all of class MEMORY_OTHER; the users own the links.
 */
#include "store/key_table.h"

#include <string.h>

#include "base/memory.h"
#include "base/panic.h"
#include "ds/table.h"
#include "store/keyspace.h"

static uint64_t row_hash(const void *element) { return ((const struct key_row *)element)->hash; }

static bool row_matches(const void *element, const void *key, size_t length) {
    const struct key_row *row = element;
    return row->name.length == length && (!length || memcmp(row->name.bytes, key, length) == 0);
}

static const struct table_type rows_type = {row_hash, row_matches, MEMORY_OTHER};

static struct table *table_of(const struct key_table *t, int database) {
    ASSERT(database >= 0 && database < keyspace_databases());
    return t->databases ? t->databases[database] : NULL;
}

size_t key_table_count(const struct key_table *t) { return t->count; }

void *key_table_find(const struct key_table *t, const struct key *key) {
    const struct table *rows = t->count ? table_of(t, keyspace_index(key->keyspace)) : NULL;
    return rows ? table_find(rows, key->hash, key->name.bytes, key->name.length) : NULL;
}

void *key_table_create(struct key_table *t, const struct key *key) {
    struct slice name = key->name;
    int database = keyspace_index(key->keyspace);
    size_t databases = (size_t)keyspace_databases();
    ASSERT(t->row_bytes >= sizeof(struct key_row));
    ASSERT_SLOW(!key_table_find(t, key));
    struct key_row *row = memory_zalloc(t->row_bytes + name.length, MEMORY_OTHER);
    char *text = (char *)row + t->row_bytes;
    if (name.length) memcpy(text, name.bytes, name.length);
    row->name = (struct slice){text, name.length};
    row->hash = key->hash;
    row->database = database;
    list_init(&row->links);
    if (!t->databases)
        t->databases = memory_zalloc(databases * sizeof(*t->databases), MEMORY_OTHER);
    if (!table_of(t, database)) t->databases[database] = table_create(&rows_type);
    table_insert(t->databases[database], key->hash, row);
    t->count++;
    return row;
}

struct key key_row_key(const struct key_row *row) {
    return (struct key){keyspace_at(row->database), row->name, row->hash};
}

void key_table_free(struct key_table *t, struct key_row *row) {
    struct table **rows = &t->databases[row->database];
    ASSERT(list_is_empty(&row->links));
    bool removed = table_remove_element(*rows, row->hash, row);
    ASSERT(removed);
    t->count--;
    if (!table_count(*rows)) {
        table_free(*rows);
        *rows = NULL;
    }
    memory_free(row, MEMORY_OTHER);
}

void key_table_link(struct key_row *row, struct list_link *link) {
    list_append(&row->links, link);
    row->links_count++;
}

void key_table_unlink(struct key_row *row, struct list_link *link) {
    ASSERT(row->links_count);
    list_remove(link);
    row->links_count--;
}

void key_table_each(const struct key_table *t, int database, key_table_visit *visit,
                    void *context) {
    const struct table *rows = table_of(t, database);
    if (rows) table_each(rows, visit, context);
}

static void check_row(void *element, void *context) {
    const struct key_row *row = element;
    const struct table *rows = context;
    unsigned links = 0;
    ASSERT(table_find(rows, row->hash, row->name.bytes, row->name.length) == row);
    LIST_FOR_EACH (link, following, &row->links) links++;
    ASSERT_COMPARE(links, ==, row->links_count);
}

void key_table_check(const struct key_table *t) {
    size_t count = 0;
    for (int i = 0; t->databases && i < keyspace_databases(); i++) {
        struct table *rows = t->databases[i];
        if (!rows) continue;
        ASSERT(table_count(rows));
        table_check(rows);
        table_each(rows, check_row, rows);
        count += table_count(rows);
    }
    ASSERT_COMPARE(count, ==, t->count);
}
