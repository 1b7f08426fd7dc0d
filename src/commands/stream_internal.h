/* SPDX-License-Identifier: BSD-3-Clause
 * What the files of stream commands share: IDs as arguments, replies of entries, and walks through
 * what is pending.
 */
#ifndef EVENKEEL_COMMANDS_STREAM_INTERNAL_H
#define EVENKEEL_COMMANDS_STREAM_INTERNAL_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "command/call.h"
#include "command/command.h"
#include "value/stream.h"

struct client;
struct entry;
struct rax;

/* ---- IDs ---- */

/* "msec-sequence", or "msec", whose sequence is `missing` then. False where it is none. */
bool stream_read_id(struct slice text, uint64_t missing, struct stream_id *id);
/* The same of an argument, with sequence 0 where there is none; false after an error. */
bool stream_parse_id(const struct call *call, int index, struct stream_id *id);
/* An end of a range: an ID, whose sequence may be missing, `-`, `+`, or after `(` an ID that does
 * not belong to the range. Gives the first or the last that does; false after an error. */
bool stream_parse_start(const struct call *call, int index, struct stream_id *first);
bool stream_parse_end(const struct call *call, int index, struct stream_id *last);

void stream_reply_id(struct client *c, struct stream_id id);

/* ---- entries ---- */

/* Entries with first <= ID <= last, at most `most` (0 = no limit). O(log nodes + entries); all of
 * a stream in O(log nodes). */
uint64_t stream_count_range(struct value v, struct stream_id first, struct stream_id last,
                            uint64_t most);
/* Replies so many entries in an array, in order from `first` or down from `last`; there must be so
 * many. */
void stream_reply_entries(struct client *c, struct value v, struct stream_id first,
                          struct stream_id last, bool backwards, uint64_t count);
/* An entry by its ID; false, with no reply, where there is none. */
bool stream_reply_entry(struct client *c, struct value v, struct stream_id id);

/* ---- groups ---- */

/* Walks a tree of pending entries upwards, from an ID on. The entry that was reached may be given
 * to another consumer, or removed, before the next step. */
struct stream_pending_walk {
    struct stream_id id;
    struct stream_pending *pending;

    const struct rax *tree; /* private from here */
    bool started;
};
void stream_pending_start(struct stream_pending_walk *w, const struct rax *tree,
                          struct stream_id from);
bool stream_pending_step(struct stream_pending_walk *w);

/* Walks a tree of groups or consumers by name. The caller frees `name` (class MEMORY_OTHER), which
 * is what was reached; it begins as {0}. False at the end. */
struct stream_name_walk {
    struct buffer name;
    void *value; /* struct stream_group or stream_consumer */
    bool started;
};
bool stream_name_step(struct stream_name_walk *w, const struct rax *tree);

/* The group that is argument `index` of the stream of an entry (NULL: no such key); NULL after an
 * error that names the key, argument 1, and the group. */
struct stream_group *stream_parse_group(const struct call *call, const struct entry *e, int index);
/* ---- effects ---- */

/* What log and replicas are told instead of who read or claimed: that an entry is pending for the
 * consumer as it is now, that the group's last ID moved, that there is a consumer. */
void stream_effect_claim(const struct key *key, struct slice group_name,
                         const struct stream_group *g, struct slice consumer, struct stream_id id,
                         const struct stream_pending *p);
void stream_effect_last_id(const struct key *key, struct slice group_name,
                           const struct stream_group *g);
void stream_effect_consumer(const struct key *key, struct slice group_name, struct slice consumer);

/* The consumer of that name, made if need be, seen at this Unix time. */
struct stream_consumer *stream_consumer_see(struct value v, struct stream_group *g,
                                            struct slice name, int64_t now_msec);
#endif
