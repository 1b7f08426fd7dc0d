/* SPDX-License-Identifier: BSD-3-Clause
 * Lazy freeing: a background thread frees what takes long to free.
 *
 * Large values and whole databases are handed to io/background. INFO counts those that wait there.
 * Their bytes count as free (lazyfree_pending_bytes), so that memory that is about to be freed
 * causes no eviction. While a call runs, everything that is deleted waits in the limbo first
 * (limbo.h).
 *
 * Where the options say that a value is not to be freed in the background, the main thread frees
 * it: at once if that takes up to about 50 us or the value has expired, else in slices between
 * turns of the loop. Its bytes count as free meanwhile, too.
 */
#ifndef EVENKEEL_STORE_LAZYFREE_H
#define EVENKEEL_STORE_LAZYFREE_H
#include <stdbool.h>
#include <stddef.h>

#include "store/key_map.h"
#include "value/value.h"

struct entry;
struct timebuckets;

/* Smaller values are freed at once, because handing one over costs about as much as freeing it. */
#define LAZYFREE_VALUE_BYTES_MIN 65536
/* Values of up to so many blocks are freed at once; 6.2's number. */
#define LAZYFREE_EFFORT_MIN 64
/* While values of so many bytes wait for the background thread (lazyfree_bound_pending may lower
 * the bound), the main thread frees further ones: those of few blocks at once, others in slices
 * between turns of the loop. Memory that waits counts as free but is not; so this bounds how far
 * beyond maxmemory clients can drive memory by writing and deleting large values faster than the
 * thread frees them. In small blocks it is a quarter of a second of the thread's work. A single
 * value may be larger, and an emptied database does not count, because its memory was in use
 * before. */
#define LAZYFREE_PENDING_BYTES_MAX ((size_t)256 << 20)
/* The main thread frees a value of up to so many blocks at once: about 50 us. */
#define LAZYFREE_BLOCKS_AT_ONCE 512
/* How long the main thread frees larger values in a turn: about as fast as commands can create
 * them. */
#define LAZYFREE_SLICE_USEC 500

/* Why the keyspace frees a value. Each cause has an option that says whether the value is freed in
 * the background. A folder above that frees for a cause of its own has its own option (exec/edit.h,
 * exec/flush.h). */
enum lazyfree_cause {
    LAZYFREE_EVICTION,   /* lazyfree-lazy-eviction: memory is needed */
    LAZYFREE_EXPIRE,     /* lazyfree-lazy-expire: the key has expired */
    LAZYFREE_SERVER_DEL, /* lazyfree-lazy-server-del: another value replaces it */
    LAZYFREE_CAUSES
};

void lazyfree_register(void); /* options, metrics and the cause */
bool lazyfree_wanted(enum lazyfree_cause cause);
/* Sets how many bytes of values may wait, up to LAZYFREE_PENDING_BYTES_MAX. */
void lazyfree_bound_pending(size_t bytes_max);
/* To be called before the loop sleeps: frees a slice of what the main thread has to free; true
 * where more is left. */
bool lazyfree_step(void);
/* Work of other code that frees memory in steps of the main thread. A static variable of that
 * code. */
struct lazyfree_work {
    /* Frees about LAZYFREE_BLOCKS_AT_ONCE blocks; true if more is left. It must not call
     * lazyfree_call: the list of works is being walked. */
    bool (*step)(void);
    struct lazyfree_work *next; /* private, as is the next member */
    bool listed;
};
/* Has the work's step called, in slices between turns, until it returns false. Does nothing where
 * it is being called already. Must not be called from within a step. */
void lazyfree_call(struct lazyfree_work *work);
/* Returns true if the value is large enough for the background. */
bool lazyfree_is_large(const struct entry *e);
/* Frees an entry that is in no table any more. With `lazily` a large entry is freed in the
 * background; without, an entry of many blocks is freed in slices of the main thread. */
void lazyfree_entry(struct entry *e, bool lazily);
/* Frees an expired entry: in the background where it is large and lazyfree-lazy-expire is on, else
 * at once, however large. LATENCY's expire-cycle and expire-del show that, as in 6.2. */
void lazyfree_expired(struct entry *e);
/* Frees a value that no key has (a command's intermediate result, or a part of another value), as
 * lazyfree_entry with the setting of lazyfree-lazy-server-del. */
void lazyfree_value(enum value_kind kind, struct value v);
/* How a database is freed. */
enum lazyfree_way {
    LAZYFREE_NOW,     /* O(entries) */
    LAZYFREE_LATER,   /* in the background */
    LAZYFREE_AWAITED, /* in the background; not counted in INFO, as a client waits for it */
};
/* Frees a database's tables with their entries, and the index by deadline, which may be NULL.
 * `entry_bytes` is the entries' memory. */
void lazyfree_keys(struct key_map map, struct timebuckets *index, size_t entry_bytes,
                   enum lazyfree_way way);
/* To be called by a higher layer that hands so many objects to io/background itself; and, in that
 * thread, when they are freed. For INFO. */
void lazyfree_note_handed(size_t objects);
void lazyfree_note_freed(size_t objects);
/* Adds bytes of memory that is deleted but kept for a while: they count as pending. Negative right
 * before that memory is freed. */
void lazyfree_note_kept(ptrdiff_t bytes);
/* Bytes that are handed to the background or to the main thread's slices and not freed yet, or
 * kept. If it is read before memory_used_total, it is never less than these bytes' part of that
 * sum. O(1). */
size_t lazyfree_pending_bytes(void);
#endif
