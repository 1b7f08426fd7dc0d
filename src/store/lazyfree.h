/* SPDX-License-Identifier: BSD-3-Clause
 * Lazy freeing: what takes long to free is freed by a thread of its own.
 *
 * Large values and whole databases are handed to io/background. INFO counts what waits there.
 */
#ifndef EVENKEEL_STORE_LAZYFREE_H
#define EVENKEEL_STORE_LAZYFREE_H
#include <stdbool.h>
#include <stddef.h>

struct entry;
struct table;
struct timebuckets;

/* Values that take less are freed at once: handing one over costs about as much as freeing this. */
#define LAZYFREE_VALUE_BYTES_MIN 65536

/* Why something is freed, each with an option that says whether in the background. */
enum lazyfree_cause {
    LAZYFREE_EXPIRE,     /* lazyfree-lazy-expire: its time has come */
    LAZYFREE_SERVER_DEL, /* lazyfree-lazy-server-del: a command replaces it */
    LAZYFREE_USER_DEL,   /* lazyfree-lazy-user-del: DEL; UNLINK always does */
    LAZYFREE_USER_FLUSH, /* lazyfree-lazy-user-flush: FLUSHALL and FLUSHDB without a word */
    LAZYFREE_CAUSES
};

void lazyfree_register(void); /* options and metrics */
bool lazyfree_wanted(enum lazyfree_cause cause);
/* True where the value is large enough for the background. */
bool lazyfree_is_large(const struct entry *e);
/* Frees an entry that stands in no table any more: with `lazily`, a large one in the background. */
void lazyfree_entry(struct entry *e, bool lazily);
/* Frees a table with its entries, and their index by deadline, in the background. Either may be
 * NULL. */
void lazyfree_table(struct table *t, struct timebuckets *index);
#endif
