/* SPDX-License-Identifier: BSD-3-Clause
 * The frontier of a save: hands on all keys of one moment, while the data goes on changing.
 *
 * At that moment (frontier_begin) the walk is before the first key. From then on frontier_step
 * walks over the databases' tables in the order of their scan (ds/table.h), which gives each key a
 * place that neither growth nor shrinking changes, and hands each entry on. In a partitioned
 * keyspace a place is a slot and a place in the slot's table, and slots come in rising order.
 * Before the keyspace changes or removes an entry whose place is still ahead of the walk, a door
 * (below; called by store/keyspace.c alone) hands the entry on and marks it, so that the walk skips
 * it. A new key is marked if its place is ahead. Behind the frontier a door does nothing, and while
 * no save is under way a door costs one test of a pointer.
 *
 *   walked, places below the frontier | ahead: unmarked = as it was, to be handed on
 *                                     |        marked   = handed on, or not of that moment
 *
 * So each entry of that moment is handed on exactly once, as it was then, and no other entry is.
 *
 * A large value waits in a queue for its turn and is handed on in steps. Meanwhile:
 *
 *    members of a hash, set or sorted set change   the value's shadow notes what they were
 *    the value is changed in any other way         the rest is handed on at once ("rushed")
 *    the entry leaves its table for any reason     the frontier keeps it until it is out
 *
 * The frontier also keeps the table of a database that is emptied. Kept bytes count as free: they
 * are part of lazyfree_pending_bytes.
 *
 * Marks are numbers in the entry's flags. A walk that comes to its end has removed all of its
 * marks, so the next walk uses the same number. A walk that is given up leaves marks, so the next
 * walk uses another number. When all numbers are used, frontier_clean removes the marks that are
 * left.
 *
 * One save at a time, main thread only. Due entries are saved, too: the server that loads them
 * drops them.
 */
#ifndef EVENKEEL_STORE_FRONTIER_H
#define EVENKEEL_STORE_FRONTIER_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "store/entry.h"
#include "store/key_map.h"
#include "store/lazyfree.h"

struct timebuckets;

/* ---- for the save ---- */

/* Values of so many bytes, or of more blocks than this, are handed on in steps: copying so many
 * bytes takes some microseconds, encoding so many members some tens. */
#define FRONTIER_STEP_BYTES 16384
#define FRONTIER_STEP_EFFORT 64
/* For values larger than this a writer rather waits: handing them on at once would take more than
 * some hundred microseconds. */
#define FRONTIER_RUSH_BYTES_MAX ((size_t)1 << 20)
#define FRONTIER_RUSH_EFFORT_MAX 2048
/* FRONTIER_RUSH_EFFORT_MAX also bounds what is handed on at once in a turn of the loop, because
 * many smaller values would take as long. With a cache miss for each member, a hash's member takes
 * 135 ns, and VALUE_MEMBER_BYTES of a list's blocks take 300 ns: 0.3 to 0.6 ms in all. */

/* A step over a table ends behind the bucket in which it has handed on so many members (or 128 KB)
 * of values other than short strings. */
#define FRONTIER_STEP_EFFORT_MAX 512

/* The memory that shadows may take: 1/FRONTIER_SHADOW_SHARE of the memory in use when the save
 * began, but at least FRONTIER_SHADOW_BYTES. Beyond it writers wait. */
#define FRONTIER_SHADOW_SHARE 20
#define FRONTIER_SHADOW_BYTES ((size_t)64 << 20)

/* Hands an entry on: as much of it as `budget` allows (value_spend), all of it with SIZE_MAX. True
 * when the entry is out. Until then it is called again for the same entry; between these calls
 * other entries may be handed on whole. `database` is the number that the entry's database had when
 * the save began. The entry does not change until it is out, except for members of a value that has
 * a shadow from the first call to the last. It must be copied as far as it is needed afterwards.
 * The function must not change the keyspace nor look a key up. */
typedef bool frontier_emit(int database, const struct entry *e, size_t budget, void *context);

/* Returns false while frontier_clean must remove the marks of saves that were given up first. */
bool frontier_may_begin(void);
/* Removes marks in up to `positions` buckets of a table; true when a save may begin. */
MUST_USE bool frontier_clean(size_t positions);
/* Begins a save of this moment's data. No save may be under way, and frontier_may_begin must be
 * true. O(databases). */
void frontier_begin(frontier_emit *emit, void *context);
/* Whether a save is under way. */
bool frontier_is_open(void);
/* To be called when a turn of the loop begins: what is handed on at once in a turn is counted
 * anew. */
void frontier_turn(void);
/* Walks over up to `positions` (>= 1) further buckets of a table, up to FRONTIER_STEP_EFFORT_MAX,
 * or does one step of a large value. True when all is out: the save is over then. */
MUST_USE bool frontier_step(size_t positions, size_t budget);
/* Gives the save up; does nothing where there is none. `emit` is not called any more. Kept values
 * are freed afterwards, in slices (lazyfree_call). O(values that wait in their tables). */
void frontier_abort(void);
/* To be called in a forked child: the save is the parent's, so none is under way in the child.
 * Frees nothing. */
void frontier_forget(void);
/* To be called when entries that were in no database come back into one: they may have marks of an
 * earlier save. */
void frontier_note_foreign(void);

/* Progress of the save under way: keys when it began, and keys that are out or begun. */
struct frontier_progress {
    size_t keys, done;
    size_t ahead;  /* of `done`: out because they were about to change */
    size_t rushed; /* values whose rest was handed on at once */
};
void frontier_progress(struct frontier_progress *p);
/* Bytes of values and tables that have left the data and are kept until they are out. */
size_t frontier_kept_bytes(void);

/* ---- for store/keyspace.c ---- */

/* A database's part in the save; NULL if it has none. When two databases are exchanged, it moves
 * with the contents. */
struct frontier_part;

/* The owner of the databases: the keyspace. */
struct frontier_host {
    int (*databases)(void);
    struct key_map (*map)(int database);
    void (*set_part)(int database, struct frontier_part *part);
    /* Frees the contents of an emptied database; the index may be NULL. */
    void (*free_contents)(struct key_map map, struct timebuckets *index, size_t entry_bytes,
                          enum lazyfree_way way);
};
/* Sets the owner of the databases; the struct is borrowed for good. */
void frontier_set_host(const struct frontier_host *host);

/* Door: the entry is about to be changed in place, or its value is about to move to another
 * entry. */
void frontier_change(struct frontier_part *part, struct entry *e, uint64_t hash);
/* Door: only members of the entry's value are about to change, each after a shadow_note
 * (value/shadow.h). */
void frontier_change_members(struct frontier_part *part, struct entry *e, uint64_t hash);
/* Door: the entry is about to leave the table. If it waits afterwards (ENTRY_WAITS), frontier_keep
 * must be called instead of lazyfree_entry. */
void frontier_remove(struct frontier_part *part, struct entry *e, uint64_t hash);
/* Whether a writer should wait before it makes `changes` (enum entry_changes), because handing the
 * entry on at once would take long, by itself or together with what was handed on so in this turn
 * (FRONTIER_RUSH_*). The entry becomes the next one then. Returns false if the changes do not touch
 * the value, where they remove it whole (it is kept then), and where its shadow notes them. */
MUST_USE bool frontier_should_wait(struct frontier_part *part, struct entry *e, uint64_t hash,
                                   unsigned changes);
/* Whether the entry would be kept if it were removed: replacing it costs less than changing it
 * then. */
bool frontier_would_keep(const struct frontier_part *part, const struct entry *e, uint64_t hash);
/* Door: an entry has come into a table, as a new one or in place of one that has left. `part` is
 * NULL for a database that has no part. */
void frontier_add(const struct frontier_part *part, struct entry *e, uint64_t hash);
/* The database is emptied: takes its tables and index (or NULL), and frees them in this way when
 * they are out; instead of LAZYFREE_NOW as LAZYFREE_AWAITED, because the command has ended by then.
 * Returns false if they are out already: the caller frees them. */
MUST_USE bool frontier_take_keys(struct frontier_part *part, struct timebuckets *index,
                                 size_t entry_bytes, enum lazyfree_way way);
/* To be called when the contents of two databases, with their parts, are exchanged. */
void frontier_exchange(void);
/* Takes an entry that waits and has left its table. When it is out, the frontier gives it to
 * lazyfree_entry with `lazily`. */
void frontier_keep(struct entry *e, bool lazily);
#endif
