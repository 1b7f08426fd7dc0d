/* SPDX-License-Identifier: BSD-3-Clause
 * Writing the base of an append-only file. log_base.h has the idea.
 *
 *   each database that has keys: SELECT
 *     a key: the commands of its type (value/rewritten.h), PEXPIREAT where it has a deadline
 *
 * Keys go through a pipeline (io/pipeline), as a snapshot's do. No data changes while this process
 * writes, because it is a child.
 */
#include "rdb/log_base.h"

#include "base/memory.h"
#include "base/panic.h"
#include "base/stream.h"
#include "io/child.h"
#include "io/pipeline.h"
#include "rdb/piece.h"
#include "rdb/rdb_format.h"
#include "rdb/rdb_save.h"
#include "store/keyspace.h"
#include "value/rewritten.h"

/* ---- the walk ---- */

struct rewrite {
    struct pipeline *pipeline;
    uint64_t keys;
};

static void give_entry(struct entry *e, void *context) {
    struct rewrite *r = context;
    if (pipeline_failed(r->pipeline)) return;
    piece_give_entry(r->pipeline, e);
    child_note_keys(++r->keys);
    int64_t delay_usec = rdb_save_delay_usec();
    if (__builtin_expect(delay_usec != 0, 0)) rdb_delay(delay_usec, r->keys);
}

void log_base_select(struct sink *out, int database) {
    rewritten_begin(out, 2);
    rewritten_text(out, SLICE("SELECT"));
    rewritten_integer(out, database);
}

static void give_select(struct pipeline *p, int database) {
    struct buffer text;
    struct buffer_sink out;
    buffer_init(&text, MEMORY_OTHER);
    buffer_sink_init(&out, &text);
    log_base_select(&out.sink, database);
    buffer_sink_end(&out);
    piece_give_bytes(p, buffer_slice(&text));
    buffer_free(&text);
}

static bool save_commands(struct sink *out) {
    struct rewrite r = {pipeline_create(out, piece_encode_commands, rdb_threads()), 0};
    for (int i = 0; i < keyspace_databases(); i++) {
        if (keyspace_count(keyspace_at(i)) == 0) continue;
        give_select(r.pipeline, i);
        keyspace_each(keyspace_at(i), give_entry, &r);
    }
    return pipeline_end(r.pipeline) && sink_flush(out);
}

bool log_base_save(struct sink *out, bool preamble) {
    bool shown = keyspace_show_due(true);
    bool good = preamble ? rdb_save_preamble(out) : save_commands(out);
    keyspace_show_due(shown);
    return good;
}
