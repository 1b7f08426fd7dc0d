/* SPDX-License-Identifier: BSD-3-Clause
 * What a snapshot says besides keys, of layers above: a field is a name, and any number of texts
 * under it. Who has something to say has a row of it; server/wiring lists the rows.
 *
 * A snapshot that is the beginning of a log has none of them, as in 6.2: what follows it would make
 * them wrong. One that has some is taken by its rows wherever it stands.
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
    /* Says by rdb_field_say what the file is to have; also in a child, whose data is that of the
     * fork. */
    void (*save)(struct rdb_field_values *values);
    /* Takes one of the texts, which is borrowed. False refuses the file, and says why. What means
     * nothing is passed over. */
    bool (*load)(struct slice value, char *reason, size_t reason_size);
};

/* Ended by NULL, in the order of the file; lives as long as the process. NULL: none. */
void rdb_fields_set(const struct rdb_field *const *rows);
void rdb_field_say(struct rdb_field_values *values, struct slice value);

/* ---- for rdb_save and rdb_load ---- */

void rdb_fields_save(struct sink *out, bool behind_keys);
/* NULL where nobody knows the name. */
const struct rdb_field *rdb_field_named(struct slice name);
/* A field of the file, as it stands there. */
void rdb_field_write(struct sink *out, const char *name, struct slice value);
#endif
