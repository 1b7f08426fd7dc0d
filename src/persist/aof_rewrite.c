/* SPDX-License-Identifier: BSD-3-Clause
 * Writing an append only file anew. aof_rewrite.h has the idea.
 *
 *   each database that has keys: SELECT
 *     a key: the commands of its type (value/rewritten.h), PEXPIREAT where it has a deadline
 *
 * Deadlines come last, so that no key is in danger of expiring in the midst of being made.
 */
#include "persist/aof_rewrite.h"

#include "base/stream.h"
#include "io/child.h"
#include "persist/aof_format.h"
#include "persist/rdb_format.h"
#include "persist/rdb_save.h"
#include "store/entry.h"
#include "store/keyspace.h"
#include "value/rewritten.h"

struct rewrite {
    struct sink *out;
    uint64_t keys;
};

static void rewrite_deadline(const struct entry *e, struct sink *out) {
    rewritten_begin(out, 3);
    rewritten_text(out, SLICE("PEXPIREAT"));
    rewritten_text(out, entry_key(e));
    rewritten_integer(out, entry_deadline(e));
}

static void rewrite_entry(struct entry *e, void *context) {
    struct rewrite *r = context;
    struct string_value room;
    if (sink_error(r->out)) return;
    rewritten_write_value(r->out, (enum value_kind)e->type, entry_value(e, &room), entry_key(e));
    if (entry_has_deadline(e)) rewrite_deadline(e, r->out);
    child_note_keys(++r->keys);
    int64_t delay_usec = rdb_save_delay_usec();
    if (__builtin_expect(delay_usec != 0, 0)) rdb_delay(delay_usec, r->keys);
}

static bool save_commands(struct sink *out) {
    struct rewrite r = {out, 0};
    for (int i = 0; i < keyspace_databases(); i++) {
        if (keyspace_count(keyspace_at(i)) == 0) continue;
        aof_format_select(out, i);
        keyspace_each(keyspace_at(i), rewrite_entry, &r);
    }
    return sink_flush(out);
}

bool aof_rewrite_save(struct sink *out, bool preamble) {
    bool shown = keyspace_show_due(true);
    bool good = preamble ? rdb_save_preamble(out) : save_commands(out);
    keyspace_show_due(shown);
    return good;
}
