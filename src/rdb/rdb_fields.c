/* SPDX-License-Identifier: BSD-3-Clause
 * Fields of snapshots. rdb_fields.h has the idea.
 */
#include "rdb/rdb_fields.h"

#include "base/stream.h"
#include "rdb/rdb_format.h"
#include "value/saved.h"

struct rdb_field_values {
    struct sink *out;
    const char *name;
};

static const struct rdb_field *const none[] = {NULL};
static const struct rdb_field *const *rows = none;

void rdb_fields_set(const struct rdb_field *const *list) { rows = list ? list : none; }

void rdb_field_write(struct sink *out, const char *name, struct slice value) {
    sink_write_byte(out, RDB_AUX);
    saved_write_text(out, slice_of(name));
    saved_write_text(out, value);
}

void rdb_field_say(struct rdb_field_values *values, struct slice value) {
    rdb_field_write(values->out, values->name, value);
}

void rdb_fields_save(struct sink *out, bool behind_keys) {
    for (const struct rdb_field *const *row = rows; *row; row++)
        if ((*row)->behind_keys == behind_keys)
            (*row)->save(&(struct rdb_field_values){out, (*row)->name});
}

const struct rdb_field *rdb_field_named(struct slice name) {
    for (const struct rdb_field *const *row = rows; *row; row++)
        if (slice_equal(name, slice_of((*row)->name))) return *row;
    return NULL;
}
