/* SPDX-License-Identifier: BSD-3-Clause
 * What the files of sorted-set commands share: replies of members with their scores, and keys whose
 * last member goes.
 */
#ifndef EVENKEEL_COMMANDS_ZSET_INTERNAL_H
#define EVENKEEL_COMMANDS_ZSET_INTERNAL_H
#include <stdbool.h>
#include <stddef.h>

#include "command/call.h"
#include "command/command.h"
#include "net/client.h"
#include "net/reply.h"
#include "publish/notify.h"
#include "store/keyspace.h"
#include "value/zset.h"

/* The head of a reply of so many members. In RESP3 a member and its score are an array of their
 * own, in RESP2 they follow each other. */
static inline void zset_reply_begin(struct client *c, size_t count, bool with_scores) {
    reply_array(c, (int64_t)(with_scores && c->protocol != 3 ? count * 2 : count));
}

static inline void zset_reply_member(struct client *c, struct slice member, double score,
                                     bool with_score) {
    if (with_score && c->protocol == 3) reply_array(c, 2);
    reply_bulk(c, member);
    if (with_score) reply_double(c, score);
}

/* Replies `count` members from `rank` on, upwards or downwards: there must be so many. */
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

/* Takes the members of a span out of the key's sorted set; the key goes with the last. `event` is
 * what is announced of it where there is any. */
static inline void zset_take_out(struct keyspace *ks, struct entry *e, struct slice key,
                                 uint64_t hash, struct zset_span span, const char *event) {
    struct value v = entry_object(e);
    if (!span.count) return;
    keyspace_note_change(ks, key, hash, span.count);
    if (span.count == zset_count(v)) {
        keyspace_delete_emptied(ks, key, hash);
        notify_event(ks, NOTIFY_ZSET, event, key);
        notify_event(ks, NOTIFY_GENERIC, "del", key);
        return;
    }
    e = keyspace_object_begin(ks, e, hash, &v);
    zset_remove_span(&v, span);
    keyspace_object_end(ks, e, v);
    notify_event(ks, NOTIFY_ZSET, event, key);
}

/* Stores a new sorted set under argument 1 and announces the event, or, where it is empty, deletes
 * what is there, and replies the number of members. Takes the value. */
static inline void zset_store_result(struct call *call, struct value v, const char *event) {
    uint64_t hash = call_key_hash(call, 1);
    size_t count = zset_count(v);
    if (count) {
        keyspace_store_object(call->keyspace, call->argv[1], hash,
                              keyspace_find(call->keyspace, call->argv[1], hash), ENTRY_ZSET, v,
                              ENTRY_NO_DEADLINE);
        keyspace_note_change(call->keyspace, call->argv[1], hash, 1);
    } else {
        zset_free(v);
    }
    reply_integer(call->client, (int64_t)count);
    if (count)
        notify_event(call->keyspace, NOTIFY_ZSET, event, call->argv[1]);
    else if (keyspace_delete(call->keyspace, call->argv[1], hash))
        notify_event(call->keyspace, NOTIFY_GENERIC, "del", call->argv[1]);
}
#endif
