/* SPDX-License-Identifier: BSD-3-Clause
 * Which history this data set has: its name, how far it has come, and the last of it as bytes.
 *
 * A history is the stream of commands that made the data, named by an id; a place in it is how many
 * bytes came before. Two servers with the same id and place have the same data. Who is promoted
 * begins a new id and remembers the old one with the place up to which both agree, so that others
 * of the old history can go on from here (PSYNC2 of Redis 4 and later).
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
#include "base/string.h"

#define HISTORY_ID_CHARS 40
/* No history is as long, and to what is less anything that is sent can be added. */
#define HISTORY_PLACE_MAX (INT64_MAX / 2)

struct feed;

/* The option, fields of INFO, and the first id. Once, at start. */
void history_register(void);

/* 40 hexadecimal digits each; the second is zeros where none is remembered. */
const char *history_id(void);
const char *history_id2(void);
/* The place: master_repl_offset. Without a backlog it stands still. */
int64_t history_place(void);
/* The second id holds for places before this one; -1: for none. */
int64_t history_id2_end(void);
/* The bytes that are kept, whose places are those of the history; NULL where there is no backlog.
 * Its readers get nothing until its limit is set beyond the place where it began
 * (stream_look_at_log does). Valid until the backlog is closed. */
struct feed *history_feed(void);

/* Bytes are kept from here on. Nothing happens where they are already. */
void history_open_backlog(void);
/* No longer. There are no readers. What follows is not known to anyone, so who opens it again
 * begins a new history (history_begin). */
void history_close_backlog(void);
/* Before the loop sleeps: what CONFIG SET has begun. O(1). */
void history_settle(void);
/* The stream goes on: counted and kept. Only while there is a backlog. O(length). */
void history_append(const void *bytes, size_t length);

void history_begin(void);
void history_branch(void);
/* `id` has HISTORY_ID_CHARS digits. What was kept is forgotten where the place is another one; no
 * readers are left then. The second id is forgotten. */
void history_adopt(const char *id, int64_t place);
/* The primary goes on under another id, from the present place: it was promoted, or its primary.
 * The id so far becomes the second one. */
void history_rename(const char *id);

/* Whether someone of this history who has come to `place` can go on with what is kept here. On
 * false `reason` says why, for the log. */
MUST_USE bool history_can_continue(struct slice id, int64_t place, char *reason,
                                   size_t reason_size);
#endif
