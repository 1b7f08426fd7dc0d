/* SPDX-License-Identifier: BSD-3-Clause
 * Fields of snapshots that belong to higher layers: a field is a name, and any number of texts
 * under that name. Each such layer has a row; server/wiring lists the rows.
 *
 * A snapshot that begins a log has no such fields, as in 6.2, because the commands behind it would
 * make them wrong. Where a snapshot has fields, they are loaded wherever the snapshot stands.
 */
#ifndef EVENKEEL_RDB_RDB_FIELDS_H
#define EVENKEEL_RDB_RDB_FIELDS_H
#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"
#include "base/string.h"

struct rdb_field_values;
struct sink;

struct rdb_field {
    const char *name;
    bool behind_keys; /* stands at the file's end */
    /* Writes the field's texts by rdb_field_say. May run in a child, which sees the data of the
     * fork. */
    void (*save)(struct rdb_field_values *values);
    /* Loads one text, which is borrowed. False refuses the file and puts the cause into `reason`. A
     * text that has no meaning to the row is ignored. */
    bool (*load)(struct slice value, char *reason, size_t reason_size);
};

/* Sets the rows, which are ended by NULL and stand in the order of the file; the array lives as
 * long as the process. NULL: none. */
void rdb_fields_set(const struct rdb_field *const *rows);
void rdb_field_say(struct rdb_field_values *values, struct slice value);

/* ---- for rdb_save and rdb_load ---- */

void rdb_fields_save(struct sink *out, bool behind_keys);
/* The row of that name; NULL if there is none. */
const struct rdb_field *rdb_field_named(struct slice name);
/* Writes one field (a name and a text) in the file's form. */
void rdb_field_write(struct sink *out, const char *name, struct slice value);
#endif
