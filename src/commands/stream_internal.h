/* SPDX-License-Identifier: BSD-3-Clause
 * For the files of stream commands: IDs as arguments, replies of entries, and walks over pending
 * entries.
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

/* Parses "msec-sequence", or "msec", whose sequence is then `missing`. Returns false if the text is
 * no ID. */
bool stream_read_id(struct slice text, uint64_t missing, struct stream_id *id);
/* Parses an argument as an ID, with sequence 0 where it has none; false after an error reply. */
bool stream_parse_id(const struct call *call, int index, struct stream_id *id);
/* Parse an end of a range: an ID, whose sequence may be missing, `-`, `+`, or `(` before an ID that
 * does not belong to the range. They return the first or the last ID that does; false after an
 * error reply. */
bool stream_parse_start(const struct call *call, int index, struct stream_id *first);
bool stream_parse_end(const struct call *call, int index, struct stream_id *last);

void stream_reply_id(struct client *c, struct stream_id id);

/* ---- entries ---- */

/* No limit to how many entries are replied. */
#define STREAM_ALL UINT64_MAX
/* Replies entries with first <= ID <= last in an array, at most `most` of them, from `first`
 * upwards or from `last` downwards. O(log nodes + entries). */
void stream_reply_entries(struct client *c, struct value v, struct stream_id first,
                          struct stream_id last, bool backwards, uint64_t most);
/* Replies an entry by its ID; false, with no reply, where there is none. */
bool stream_reply_entry(struct client *c, struct value v, struct stream_id id);

/* ---- groups ---- */

/* A walk over a tree of pending entries, upwards from an ID. The present entry may be given to
 * another consumer, or removed, before the next step. */
struct stream_pending_walk {
    struct stream_id id;
    struct stream_pending *pending;

    const struct rax *tree; /* private from here */
    bool started;
};
void stream_pending_start(struct stream_pending_walk *w, const struct rax *tree,
                          struct stream_id from);
bool stream_pending_step(struct stream_pending_walk *w);

/* A walk over a tree of groups or consumers, by name; begins as {0}. `name` is the present one's;
 * the caller frees it (class MEMORY_OTHER). stream_name_step returns false at the end. */
struct stream_name_walk {
    struct buffer name;
    void *value; /* struct stream_group or stream_consumer */
    bool started;
};
bool stream_name_step(struct stream_name_walk *w, const struct rax *tree);

/* The group that argument `index` names in the stream of an entry (NULL: no such key); NULL after
 * an error reply that names the key, argument 1, and the group. */
struct stream_group *stream_parse_group(const struct call *call, const struct entry *e, int index);
/* ---- effects ---- */

/* The effects for log and replicas that stand for reading and claiming: an entry is pending for its
 * present consumer; the group's last ID moved; a consumer was created. */
void stream_effect_claim(const struct key *key, struct slice group_name,
                         const struct stream_group *g, struct slice consumer, struct stream_id id,
                         const struct stream_pending *p);
void stream_effect_last_id(const struct key *key, struct slice group_name,
                           const struct stream_group *g);
void stream_effect_consumer(const struct key *key, struct slice group_name, struct slice consumer);

/* The consumer of that name, created if necessary, and marked as seen at this Unix time. */
struct stream_consumer *stream_consumer_see(struct value v, struct stream_group *g,
                                            struct slice name, int64_t now_msec);
#endif
