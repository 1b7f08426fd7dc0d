/* SPDX-License-Identifier: BSD-3-Clause
 * Lazy freeing. A job of io/background's freeing thread owns what it frees: nobody else holds an
 * address of it any more.
 *
 * A table is freed in steps, and after each its bytes are published, so that used_memory and the
 * counts in INFO fall while the work goes on.
 *
 * Invariant: `pending` is the number of entries that were handed over and are not freed yet;
 * `freed` counts those that are. Both are written by the freeing thread and read by INFO.
 */
#include "store/lazyfree.h"

#include <stdatomic.h>

#include "base/memory.h"
#include "ds/table.h"
#include "ds/timebuckets.h"
#include "io/background.h"
#include "metric/metric.h"
#include "option/option.h"
#include "store/entry.h"

/* Buckets, some five keys each, between two publications: about a millisecond of work. */
#define BUCKETS_PER_STEP 1024
#define INDEX_ELEMENTS_PER_STEP 65536

struct database_job {
    struct table *table;
    struct timebuckets *index;
};

static bool wanted[LAZYFREE_CAUSES];
static atomic_size_t pending, freed;

/* ---- options and metrics ---- */

static const struct option_row option_rows[] = {
    OPTION_BOOL("lazyfree-lazy-expire", &wanted[LAZYFREE_EXPIRE], false, OPTION_MUTABLE, "lazyfree",
                20, "Free expired values in the background."),
    OPTION_BOOL("lazyfree-lazy-server-del", &wanted[LAZYFREE_SERVER_DEL], false, OPTION_MUTABLE,
                "lazyfree", 30, "Free values that a command replaces in the background."),
    OPTION_BOOL("lazyfree-lazy-user-del", &wanted[LAZYFREE_USER_DEL], false, OPTION_MUTABLE,
                "lazyfree", 40, "DEL frees in the background, as UNLINK does."),
    OPTION_BOOL("lazyfree-lazy-user-flush", &wanted[LAZYFREE_USER_FLUSH], false, OPTION_MUTABLE,
                "lazyfree", 50,
                "FLUSHALL and FLUSHDB free in the background unless they say SYNC."),
};

static void print_pending(struct buffer *out) { buffer_printf(out, "%zu", atomic_load(&pending)); }
static void print_freed(struct buffer *out) { buffer_printf(out, "%zu", atomic_load(&freed)); }

static const struct metric_row metric_rows[] = {
    {.section = "Memory",
     .place = 400,
     .name = "lazyfree_pending_objects",
     .type = METRIC_FUNCTION,
     .print = print_pending,
     .help = "Keys that wait to be freed in the background."},
    {.section = "Memory",
     .place = 410,
     .name = "lazyfreed_objects",
     .type = METRIC_FUNCTION,
     .print = print_freed,
     .help = "Keys that were freed in the background since start."},
};

void lazyfree_register(void) {
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
    metric_register(metric_rows, sizeof(metric_rows) / sizeof(metric_rows[0]));
}

bool lazyfree_wanted(enum lazyfree_cause cause) { return wanted[cause]; }

/* ---- one entry ---- */

bool lazyfree_is_large(const struct entry *e) {
    return e->flags & ENTRY_BLOB && blob_bytes(entry_blob(e)) >= LAZYFREE_VALUE_BYTES_MIN;
}

static void note_freed(size_t entries) {
    atomic_fetch_sub(&pending, entries);
    atomic_fetch_add(&freed, entries);
}

static void free_entry(void *argument) {
    entry_free(argument);
    note_freed(1);
}

void lazyfree_entry(struct entry *e, bool lazily) {
    if (!lazily || !lazyfree_is_large(e)) {
        entry_free(e);
        return;
    }
    atomic_fetch_add(&pending, 1);
    background_submit(BACKGROUND_FREE, free_entry, e);
}

/* ---- a database ---- */

static void release_entry(void *element, void *context) {
    size_t *released = context;
    entry_free(element);
    ++*released;
}

static void free_database(void *argument) {
    struct database_job *job = argument;
    bool gone = job->index == NULL;
    while (!gone) {
        gone = timebuckets_free_step(job->index, INDEX_ELEMENTS_PER_STEP);
        memory_publish();
    }
    gone = job->table == NULL;
    while (!gone) {
        size_t released = 0;
        gone = table_free_step(job->table, BUCKETS_PER_STEP, release_entry, &released);
        memory_publish();
        note_freed(released);
    }
    memory_free(job, MEMORY_OTHER);
}

void lazyfree_table(struct table *t, struct timebuckets *index) {
    if (!t && !index) return;
    struct database_job *job = memory_alloc(sizeof(*job), MEMORY_OTHER);
    *job = (struct database_job){t, index};
    if (t) atomic_fetch_add(&pending, table_count(t));
    background_submit(BACKGROUND_FREE, free_database, job);
}
