/* SPDX-License-Identifier: BSD-3-Clause
 * For the files of sorted-set commands: replies of members with their scores, and deletion of a key
 * with its last member.
 */
#ifndef EVENKEEL_COMMANDS_ZSET_INTERNAL_H
#define EVENKEEL_COMMANDS_ZSET_INTERNAL_H
#include <stdbool.h>
#include <stddef.h>

#include "command/call.h"
#include "command/command.h"
#include "exec/edit.h"
#include "net/client.h"
#include "net/reply.h"
#include "store/keyspace.h"
#include "store/lazyfree.h"
#include "value/zset.h"

/* Begins a reply of `count` members. In RESP3 a member and its score are an array of their own, in
 * RESP2 they follow each other. */
static inline void zset_reply_begin(struct client *c, size_t count, bool with_scores) {
    reply_array(c, (int64_t)(with_scores && c->protocol != 3 ? count * 2 : count));
}

static inline void zset_reply_member(struct client *c, struct slice member, double score,
                                     bool with_score) {
    if (with_score && c->protocol == 3) reply_array(c, 2);
    reply_bulk(c, member);
    if (with_score) reply_double(c, score);
}

/* Replies `count` members from `rank` on, upwards or downwards; there must be so many. */
static inline void zset_reply_walk(struct client *c, struct value v, size_t rank, size_t count,
                                   bool downwards, bool with_scores) {
    struct zset_cursor at;
    if (!count) return;
    zset_seek(v, rank, &at);
    for (size_t left = count;;) {
        char scratch[LISTPACK_SCRATCH];
        struct zset_item item = zset_get(&at);
        zset_reply_member(c, listpack_value_text(&item.member, scratch), item.score, with_scores);
        if (!--left) return;
        if (downwards)
            zset_prev(&at);
        else
            zset_next(&at);
    }
}

/* Removes the members of a span from the key's sorted set, and closes the edit; the key is deleted
 * with its last member. `event` is announced if the span has members. */
static inline void zset_take_out(struct edit *edit, struct zset_span span, const char *event) {
    if (!span.count) return;
    bool all = span.count == zset_count(entry_object(edit->entry));
    if (all)
        edit_remove(edit, lazyfree_wanted(LAZYFREE_SERVER_DEL));
    else
        zset_remove_span(edit_value(edit, NULL), span);
    edit_close(edit, span.count, NOTIFY_ZSET, event);
    if (all) edit_announce(edit, NOTIFY_GENERIC, "del");
}

/* Replies the number of members, and stores the sorted set under argument 1 with the event; an
 * empty one deletes that key. Takes the value. */
static inline void zset_store_result(struct call *call, struct value v, const char *event) {
    const struct key key = call_key(call, 1);
    reply_integer(call->client, (int64_t)zset_count(v));
    edit_store(&key, ENTRY_ZSET, v, 1, NOTIFY_ZSET, event);
}
#endif
