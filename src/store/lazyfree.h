/* SPDX-License-Identifier: BSD-3-Clause
 * Lazy freeing: what takes long to free is freed by a thread of its own.
 *
 * Large values and whole databases are handed to io/background. INFO counts what waits there, and
 * its bytes count as free (lazyfree_pending_bytes), so that what is on its way out makes nobody
 * evict more. While a call runs, all that goes waits in the limbo first (limbo.h).
 *
 * Where the options say that a value is not to be freed in the background, the main thread frees
 * it: at once where that takes about 50 us or it has expired, else in slices between turns of the
 * loop. Its bytes count in the same way.
 */
#ifndef EVENKEEL_STORE_LAZYFREE_H
#define EVENKEEL_STORE_LAZYFREE_H
#include <stdbool.h>
#include <stddef.h>

#include "value/value.h"

struct entry;
struct table;
struct timebuckets;

/* Values that take less are freed at once: handing one over costs about as much as freeing this. */
#define LAZYFREE_VALUE_BYTES_MIN 65536
/* And of more blocks than this: 6.2's number. */
#define LAZYFREE_EFFORT_MIN 64
/* While values of so many bytes wait, or less (lazyfree_bound_pending), the main thread frees
 * further ones: those of few blocks at once, others in steps between turns of the loop. What waits
 * counts as free but is not: this bounds by how much clients that write and delete large values
 * faster than the thread frees them can take memory beyond maxmemory. Where it is small blocks it
 * is a quarter of a second of the thread's work. A single value may be larger, and a database that
 * was emptied does not count: it was there before. */
#define LAZYFREE_PENDING_BYTES_MAX ((size_t)256 << 20)
/* A value of no more blocks than this is freed at once then, as is one that is not to be freed in
 * the background: about 50 us. */
#define LAZYFREE_BLOCKS_AT_ONCE 512
/* How long the main thread frees larger ones in a turn: about as fast as commands can make them. */
#define LAZYFREE_SLICE_USEC 500

/* Why something is freed, each with an option that says whether in the background. */
enum lazyfree_cause {
    LAZYFREE_EVICTION,   /* lazyfree-lazy-eviction: memory is needed */
    LAZYFREE_EXPIRE,     /* lazyfree-lazy-expire: its time has come */
    LAZYFREE_SERVER_DEL, /* lazyfree-lazy-server-del: a command replaces it */
    LAZYFREE_USER_DEL,   /* lazyfree-lazy-user-del: DEL; UNLINK always does */
    LAZYFREE_USER_FLUSH, /* lazyfree-lazy-user-flush: FLUSHALL, FLUSHDB, SCRIPT FLUSH without a
                            word */
    LAZYFREE_CAUSES
};

void lazyfree_register(void); /* options and metrics */
bool lazyfree_wanted(enum lazyfree_cause cause);
/* No more than so many bytes of values may wait, nor more than LAZYFREE_PENDING_BYTES_MAX. */
void lazyfree_bound_pending(size_t bytes_max);
/* Before the loop sleeps: goes on with what is the main thread's to free; true where more is left.
 */
bool lazyfree_step(void);
/* Something that other code frees in steps of the main thread. A static variable of that code. */
struct lazyfree_work {
    /* Frees about LAZYFREE_BLOCKS_AT_ONCE blocks; true where more is left. It must not call
     * lazyfree_call: the list of works is being walked. */
    bool (*step)(void);
    struct lazyfree_work *next; /* lazyfree's own, as is the next */
    bool listed;
};
/* From now on the step is called, in slices between turns, until it returns false. Harmless where
 * it is called already. Not from within a step. */
void lazyfree_call(struct lazyfree_work *work);
/* True where the value is large enough for the background. */
bool lazyfree_is_large(const struct entry *e);
/* Frees an entry that stands in no table any more: with `lazily`, a large one in the background,
 * else one of many blocks in slices of the main thread. */
void lazyfree_entry(struct entry *e, bool lazily);
/* As lazyfree_entry for one that has expired, in the way that lazyfree-lazy-expire says; but where
 * that says no at once, however large: LATENCY's expire-cycle and expire-del tell of it, as in 6.2.
 */
void lazyfree_expired(struct entry *e);
/* Frees a value that no key has: what a command made on its way, or took out of another. As
 * lazyfree_entry, in the way that lazyfree-lazy-server-del says. */
void lazyfree_value(enum value_kind kind, struct value v);
/* How a database is freed. */
enum lazyfree_way {
    LAZYFREE_NOW,     /* O(entries) */
    LAZYFREE_LATER,   /* in the background */
    LAZYFREE_AWAITED, /* the same, but its keys are not counted, for somebody waits for the end */
};
/* Frees a table with its entries, and their index by deadline. Either may be NULL. `entry_bytes` is
 * what the entries take. */
void lazyfree_table(struct table *t, struct timebuckets *index, size_t entry_bytes,
                    enum lazyfree_way way);
/* A layer above hands so many objects to io/background itself; and, from there: they are freed. For
 * what INFO says. */
void lazyfree_note_handed(size_t objects);
void lazyfree_note_freed(size_t objects);
/* Bytes that somebody keeps for a while, and will free: they count as pending. Negative when they
 * are no longer kept, right before they are freed. */
void lazyfree_note_kept(ptrdiff_t bytes);
/* Bytes handed to the background, or to the main thread's slices, and not yet freed. Read before
 * memory_used_total, it is never less than what is left of them in that sum. O(1). */
size_t lazyfree_pending_bytes(void);
#endif
