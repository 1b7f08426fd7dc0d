/* SPDX-License-Identifier: BSD-3-Clause
 * The history of this data set (replication id and offset): its name, its place, and its last
 * bytes.
 *
 * A history is the stream of commands that made the data, named by an id; a place in it (the
 * offset) is the number of bytes before. Two servers with the same id and place have the same data.
 * A server that is promoted begins a new id, and remembers the old one with the place up to which
 * both agree, so that other replicas of the old history can continue here (PSYNC2 of Redis 4 and
 * later).
 *
 *   new --branch--> id2 = the old id, up to here; a new id      (a replica becomes a primary)
 *    |  --adopt--> the id and place of another server           (a full copy was loaded)
 *    |  --begin--> a new id, nothing remembered                 (the stream has a gap)
 */
#ifndef EVENKEEL_REPLICATION_HISTORY_H
#define EVENKEEL_REPLICATION_HISTORY_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/memory.h"
#include "base/string.h"

#define HISTORY_ID_CHARS 40
/* No history is as long; any length that is sent can be added to a place without overflow. */
#define HISTORY_PLACE_MAX (INT64_MAX / 2)

struct feed;

/* The class of the backlog, of what is held for replicas, and of what comes from the primary. */
extern enum memory_class replication_memory;

/* Registers the option, the fields of INFO and the class of memory, and makes the first id. Once,
 * at start. */
void history_register(void);

/* The ids, 40 hexadecimal digits each; the second is all zeros where there is none. */
const char *history_id(void);
const char *history_id2(void);
/* The place (master_repl_offset). Without a backlog it stands still. */
int64_t history_place(void);
/* The second id is valid for places before this one; -1: for none. */
int64_t history_id2_end(void);
/* The kept bytes, numbered by their places in the history; NULL if there is no backlog. What is
 * appended to the feed (feed_append) is in the history: its end is history_place. Readers
 * get nothing until the feed's limit is set beyond the place where the feed began
 * (stream_look_at_log). Valid until the backlog is closed. */
struct feed *history_feed(void);

/* Begins to keep bytes. Harmless where they are kept already. */
void history_open_backlog(void);
/* Ends the backlog, which must have no readers. Later changes are in no history, so a caller that
 * opens the backlog again begins a new history (history_begin). */
void history_close_backlog(void);
/* Called before the loop sleeps: completes a change of repl-backlog-size. O(1). */
void history_settle(void);

void history_begin(void);
void history_branch(void);
/* Takes over an id (HISTORY_ID_CHARS digits) and a place, and forgets the second id. Where id or
 * place differ from the present ones, the kept bytes are forgotten; there must be no readers
 * then. */
void history_adopt(const char *id, int64_t place);
/* Continues at the present place under another id, because the primary, or its primary, was
 * promoted. The present id becomes the second one. */
void history_rename(const char *id);

/* Whether a server that has history `id` up to `place` can continue with the bytes kept here. If
 * not, `reason` says why, for the log. */
MUST_USE bool history_can_continue(struct slice id, int64_t place, char *reason,
                                   size_t reason_size);
#endif
