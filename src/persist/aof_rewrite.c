/* SPDX-License-Identifier: BSD-3-Clause
 * Writing an append only file anew. aof_rewrite.h has the idea.
 *
 *   each database that has keys: SELECT
 *     a key: the commands of its type (value/rewritten.h), PEXPIREAT where it has a deadline
 *
 * Deadlines come last, so that no key is in danger of expiring in the midst of being made.
 *
 * Keys go through a pipeline (io/pipeline), as a snapshot's do, by their address: nothing changes
 * while this process writes, for it is a child.
 */
#include "persist/aof_rewrite.h"

#include <string.h>

#include "base/stream.h"
#include "io/child.h"
#include "io/pipeline.h"
#include "persist/rdb_format.h"
#include "persist/rdb_save.h"
#include "store/entry.h"
#include "store/keyspace.h"
#include "value/rewritten.h"

/* What a key is made into besides its value, about. */
#define KEY_WEIGHT 48

/* A key; or, without one, that what follows is in this database. */
struct piece {
    const struct entry *entry;
    int64_t database;
};

/* ---- on whatever thread ---- */

static void rewrite_select(int64_t database, struct sink *out) {
    rewritten_begin(out, 2);
    rewritten_text(out, SLICE("SELECT"));
    rewritten_integer(out, database);
}

static void rewrite_deadline(const struct entry *e, struct sink *out) {
    rewritten_begin(out, 3);
    rewritten_text(out, SLICE("PEXPIREAT"));
    rewritten_text(out, entry_key(e));
    rewritten_integer(out, entry_deadline(e));
}

static void rewrite_entry(const struct entry *e, struct sink *out) {
    struct string_value room;
    rewritten_write_value(out, (enum value_kind)e->type, entry_value(e, &room), entry_key(e));
    if (entry_has_deadline(e)) rewrite_deadline(e, out);
}

static void rewrite_pieces(struct slice block, struct sink *out) {
    struct piece piece;
    for (size_t at = 0; at < block.length && !sink_error(out); at += sizeof(piece)) {
        memcpy(&piece, block.bytes + at, sizeof(piece));
        if (piece.entry)
            rewrite_entry(piece.entry, out);
        else
            rewrite_select(piece.database, out);
    }
}

/* ---- the walk ---- */

struct rewrite {
    struct pipeline *pipeline;
    uint64_t keys;
};

static void give(struct pipeline *p, struct piece piece, size_t weight) {
    memcpy(pipeline_room(p, sizeof(piece)), &piece, sizeof(piece));
    pipeline_give(p, sizeof(piece), weight);
}

static void give_entry(struct entry *e, void *context) {
    struct rewrite *r = context;
    if (pipeline_failed(r->pipeline)) return;
    give(r->pipeline, (struct piece){.entry = e},
         KEY_WEIGHT + entry_allocation(e) + entry_outside_bytes(e));
    child_note_keys(++r->keys);
    int64_t delay_usec = rdb_save_delay_usec();
    if (__builtin_expect(delay_usec != 0, 0)) rdb_delay(delay_usec, r->keys);
}

static bool save_commands(struct sink *out) {
    struct rewrite r = {pipeline_create(out, rewrite_pieces, rdb_threads()), 0};
    for (int i = 0; i < keyspace_databases(); i++) {
        if (keyspace_count(keyspace_at(i)) == 0) continue;
        give(r.pipeline, (struct piece){.database = i}, KEY_WEIGHT);
        keyspace_each(keyspace_at(i), give_entry, &r);
    }
    return pipeline_end(r.pipeline) && sink_flush(out);
}

bool aof_rewrite_save(struct sink *out, bool preamble) {
    bool shown = keyspace_show_due(true);
    bool good = preamble ? rdb_save_preamble(out) : save_commands(out);
    keyspace_show_due(shown);
    return good;
}
