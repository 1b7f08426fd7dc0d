/* SPDX-License-Identifier: BSD-3-Clause
 * The frontier of a save: all keys of one moment, while the data goes on changing.
 *
 * At that moment (frontier_begin) the save stands before the first key. From then on frontier_step
 * walks over the databases' tables in the order of their scan (ds/table.h), which gives each key a
 * place that neither growth nor shrinking changes, and hands each entry on. Who is about to change
 * or take away an entry whose place is still ahead has it handed on first (the doors below, which
 * are in store/keyspace.c alone), and marks it, so that the walk passes over it. A key that is new
 * is marked where its place is ahead. Behind the frontier nothing is asked, and while nothing saves
 * a door is one test of a pointer.
 *
 *   walked, places below the frontier | ahead: unmarked = as it was, to be handed on
 *                                     |        marked   = handed on, or not of that moment
 *
 * So each entry of that moment is handed on exactly once, as it was then, and no other.
 *
 * A large value is handed on in steps. It waits in a queue until it is its turn. Members of a hash,
 * a set or a sorted set may change meanwhile: what they were is noted (value/shadow.h). Whoever
 * changes anything else before it is out has the rest of it handed on at once (counted:
 * frontier_progress).
 * One that is deleted, replaced, expired or evicted meanwhile is not freed: the frontier keeps it
 * until it is out. The same holds for the table of a database that is emptied. Bytes so kept count
 * as free, among those of lazyfree_pending_bytes.
 *
 * Marks are numbers in the entry's flags. A walk that comes to its end has taken all of its own
 * away, so the next one has the same number; one that is given up leaves some, and the next takes
 * another number. When all are used up frontier_clean takes away what is left.
 *
 * One save at a time, main thread only. Entries are saved whether they are due or not: who loads
 * them drops those that are.
 */
#ifndef EVENKEEL_STORE_FRONTIER_H
#define EVENKEEL_STORE_FRONTIER_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "store/entry.h"
#include "store/lazyfree.h"

struct table;
struct timebuckets;

/* ---- for who saves ---- */

/* Values that take more, or more blocks, are handed on in steps: copying so much takes some
 * microseconds, encoding so many members some tens. */
#define FRONTIER_STEP_BYTES 16384
#define FRONTIER_STEP_EFFORT 64
/* Values that take more are worth a wait of who would change them: some hundred microseconds. */
#define FRONTIER_RUSH_BYTES_MAX ((size_t)1 << 20)
#define FRONTIER_RUSH_EFFORT_MAX 2048
/* The same holds for all that is handed on at once in a turn of the loop: many values that are
 * smaller, each about to change, would make it as long. A member of a hash whose memory is far away
 * takes 135 ns, and VALUE_MEMBER_BYTES of a list's blocks 300: a third to two thirds of a
 * millisecond. */

/* A step over a table ends behind the position in which it has handed on so much, beside short
 * strings: 128 KB, or so many members. */
#define FRONTIER_STEP_EFFORT_MAX 512

/* What changed members of values that are still to be handed on may take: this part of the memory
 * in use when the save began, at least so much. Beyond it writers wait. */
#define FRONTIER_SHADOW_SHARE 20
#define FRONTIER_SHADOW_BYTES ((size_t)64 << 20)

/* Hands an entry on: as much of it as `budget` allows (value_spend), all of it with SIZE_MAX.
 * True when it is out. While one is not out it is called again for the same entry, and meanwhile
 * others may come whole. `database` is the number that its database had at that moment. Nothing of
 * the entry changes until it is out but members of a value that has a shadow then, from the first
 * call to the last; what is wanted of it afterwards must be copied. May change nothing of the
 * keyspace, and look no key up. */
typedef bool frontier_emit(int database, const struct entry *e, size_t budget, void *context);

/* False while marks of saves that were given up must go first: frontier_clean. */
bool frontier_may_begin(void);
/* Looks at up to `positions` of a table; true when a save may begin. */
MUST_USE bool frontier_clean(size_t positions);
/* This moment's data is saved. None is under way, and frontier_may_begin. O(databases). */
void frontier_begin(frontier_emit *emit, void *context);
FOR_TESTS bool frontier_is_open(void);
/* A turn of the loop begins: what may be handed on at once in it is counted anew. */
void frontier_turn(void);
/* Walks on by up to `positions` of a table, at least 1, and no further than
 * FRONTIER_STEP_EFFORT_MAX; or by one step of a large value. True when everything is out: the save
 * is over then. */
MUST_USE bool frontier_step(size_t positions, size_t budget);
/* Gives the save up; nothing happens where there is none. `emit` is not called any more. What was
 * kept is freed afterwards, in slices (lazyfree_call). O(values that wait in their tables). */
void frontier_abort(void);
/* In a forked child: the save is the parent's, and none is under way here. Nothing is freed. */
void frontier_forget(void);
/* Entries come back into a database that were in none, and may have marks of a save of before. */
void frontier_note_foreign(void);

/* Of the save under way: keys of its moment, and those that are out or under way. */
struct frontier_progress {
    size_t keys, done;
    size_t ahead;  /* of these, handed on because they were about to change */
    size_t rushed; /* values whose rest was handed on at once */
};
void frontier_progress(struct frontier_progress *p);
/* Of values and tables that are kept until they are out, though they have left the data. */
size_t frontier_kept_bytes(void);

/* ---- for store/keyspace.c ---- */

/* A database's part in the save; NULL in a database that has none. It goes with the contents when
 * two are exchanged. */
struct frontier_part;

/* Who has the databases. */
struct frontier_host {
    int (*databases)(void);
    struct table *(*table)(int database); /* NULL: there is none yet */
    void (*set_part)(int database, struct frontier_part *part);
    /* What an emptied database has left; the index may be NULL. */
    void (*free_contents)(struct table *t, struct timebuckets *index, size_t entry_bytes,
                          enum lazyfree_way way);
};
/* Borrowed for good. */
void frontier_set_host(const struct frontier_host *host);

/* The entry is about to be changed where it stands, or its value to move to another entry. */
void frontier_change(struct frontier_part *part, struct entry *e, uint64_t hash);
/* Members of its value are about to change, each with a shadow_note (value/shadow.h), and nothing
 * else of it. */
void frontier_change_members(struct frontier_part *part, struct entry *e, uint64_t hash);
/* The entry leaves the table. Where it waits then (ENTRY_WAITS) frontier_keep is to be called in
 * place of lazyfree_entry. */
void frontier_remove(struct frontier_part *part, struct entry *e, uint64_t hash);
/* Whoever changes the entry should rather wait: handing it on at once would take long
 * (FRONTIER_RUSH_*), or more in this turn than was handed on so already. It is next then.
 * `changes`: the enum entry_changes that are about to be made. False where these leave the value as
 * it is, where they take it away whole (it is kept then), and where its shadow notes them. */
MUST_USE bool frontier_should_wait(struct frontier_part *part, struct entry *e, uint64_t hash,
                                   unsigned changes);
/* Whether the entry would be kept if it left: replacing it costs less than a change does. */
bool frontier_would_keep(const struct frontier_part *part, const struct entry *e, uint64_t hash);
/* An entry comes into a table, new or in another's place, which has left. NULL: into a database
 * that has no part. */
void frontier_add(const struct frontier_part *part, struct entry *e, uint64_t hash);
/* The database is emptied: its table and index (or NULL) are the frontier's, which frees them in
 * that way when they are out; but in the background where that way is LAZYFREE_NOW, because the
 * command has ended by then. False where they are out: they are the caller's to free. */
MUST_USE bool frontier_take_table(struct frontier_part *part, struct timebuckets *index,
                                  size_t entry_bytes, enum lazyfree_way way);
/* The contents of two databases are exchanged, their parts with them. */
void frontier_exchange(void);
/* The frontier gives the entry to lazyfree_entry, to be freed in that way, when it is out. */
void frontier_keep(struct entry *e, bool lazily);
#endif
