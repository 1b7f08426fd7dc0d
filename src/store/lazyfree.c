/* SPDX-License-Identifier: BSD-3-Clause
 * Lazy freeing. A job of io/background's freeing thread owns what it frees: no other code has its
 * address any more.
 *
 * A table, and a value whose type has steps, is freed in steps. After each step the freed bytes are
 * published, so that used_memory and the counts in INFO fall while the work goes on.
 *
 * The main thread frees in steps, too, a slice a turn, so that no command and no turn takes as long
 * as a large value does. It has two queues:
 *
 *   own       values of many blocks that are not to be freed in the background
 *   overflow  those that are, while too much waits there already
 *
 * While the background thread has less than half of what may wait, it gets values of `overflow`,
 * and also of `own` where that holds more than may wait, because then commands create values faster
 * than slices free them. Neither queue grows beyond a bound: beyond it, a caller that adds a value
 * frees as many bytes first. Other code's work (lazyfree_call) shares the slice.
 *
 * Invariants
 *  1. `pending` is the number of entries that were handed over and are not freed yet; `freed`
 *     counts those that were freed. The freeing thread writes both, INFO reads them.
 *  2. `value_bytes` and `database_bytes` are the bytes of these, and of their tables and indexes.
 *     They fall after the freed bytes are published, never before; so all memory less pending
 *     memory is never more than what will be left, and causes no eviction.
 *  3. A table is in no list of tables that owe (ds/table) when another thread gets it.
 *  4. `bytes` of the two queues is their part of value_bytes. `pending` does not count `own`: it
 *     counts the background's objects only, as in 6.2.
 */
#include "store/lazyfree.h"

#include <stdatomic.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/panic.h"
#include "base/probes.h"
#include "ds/table.h"
#include "ds/timebuckets.h"
#include "io/background.h"
#include "metric/cause.h"
#include "metric/metric.h"
#include "option/option.h"
#include "store/entry.h"
#include "store/limbo.h"

/* Buckets, some five keys each, between two calls of memory_publish: about 1 ms of work. */
#define BUCKETS_PER_STEP 1024
#define INDEX_ELEMENTS_PER_STEP 65536
/* Blocks of a value that a step frees: as many as a step's keys. */
#define BLOCKS_PER_STEP ((size_t)BUCKETS_PER_STEP * TABLE_BUCKET_SLOTS)

/* Where a queue holds more than so many times what may wait in the background, a caller that adds
 * to it frees as much first. */
#define QUEUE_BOUNDS_MAX 3

struct database_job {
    struct key_map map;
    struct timebuckets *index;
    size_t entry_bytes; /* left */
    size_t bytes;       /* left, with those of table and index */
    enum lazyfree_way way;
};

static bool wanted[LAZYFREE_CAUSES];
static atomic_size_t pending, freed, value_bytes, database_bytes;
static uint64_t freed_inline;
static size_t pending_max = LAZYFREE_PENDING_BYTES_MAX;

/* An entry in one of the main thread's queues. */
struct queued {
    struct queued *next;
    struct entry *entry;
};
struct queue {
    struct queued *first, *last;
    size_t bytes;
};
static struct queue own, overflow;
static struct lazyfree_work *works; /* of other code */
static bool stepping;               /* a step of one of them runs */
static size_t kept_bytes;           /* lazyfree_note_kept's; not in the two sums above */

/* ---- options and metrics ---- */

static const struct option_row option_rows[] = {
    OPTION_BOOL("lazyfree-lazy-eviction", &wanted[LAZYFREE_EVICTION], false, OPTION_MUTABLE,
                "lazyfree", 10, "Free evicted values in the background."),
    OPTION_BOOL("lazyfree-lazy-expire", &wanted[LAZYFREE_EXPIRE], false, OPTION_MUTABLE, "lazyfree",
                20, "Free expired values in the background."),
    OPTION_BOOL("lazyfree-lazy-server-del", &wanted[LAZYFREE_SERVER_DEL], false, OPTION_MUTABLE,
                "lazyfree", 30, "Free values that a command replaces in the background."),
};

static void print_pending(const struct metric_row *row, struct buffer *out) {
    buffer_printf(out, "%zu", atomic_load(&pending));
}
static void print_freed(const struct metric_row *row, struct buffer *out) {
    buffer_printf(out, "%zu", atomic_load(&freed));
}
static void print_pending_bytes(const struct metric_row *row, struct buffer *out) {
    buffer_printf(out, "%zu", lazyfree_pending_bytes());
}

static const struct metric_row metric_rows[] = {
    {.section = "Memory",
     .place = 400,
     .name = "lazyfree_pending_objects",
     .measure = METRIC_GAUGE,
     .type = METRIC_FUNCTION,
     .print = print_pending,
     .help = "Keys that wait to be freed in the background."},
    {.section = "Memory",
     .place = 410,
     .name = "lazyfreed_objects",
     .measure = METRIC_COUNTER,
     .type = METRIC_FUNCTION,
     .print = print_freed,
     .help = "Keys that were freed in the background since start."},
    {.section = "Memory",
     .place = 1300,
     .name = "lazyfree_pending_bytes",
     .measure = METRIC_BYTES,
     .type = METRIC_FUNCTION,
     .print = print_pending_bytes,
     .help = "Bytes that wait to be freed, in the background or in slices of the main thread; they "
             "count as free for maxmemory."},
    {.section = "Memory",
     .place = 1310,
     .name = "lazyfree_inline_count",
     .measure = METRIC_COUNTER,
     .type = METRIC_UINT64,
     .variable = &freed_inline,
     .reset = true,
     .help = "Values that the main thread freed, or began to, because too much was waiting for the "
             "background."},
};

void lazyfree_register(void) {
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
    metric_register(metric_rows, sizeof(metric_rows) / sizeof(metric_rows[0]));
    cause_register(&freeing_cause);
}

bool lazyfree_wanted(enum lazyfree_cause cause) { return wanted[cause]; }

void lazyfree_bound_pending(size_t bytes_max) {
    pending_max = bytes_max < LAZYFREE_PENDING_BYTES_MAX ? bytes_max : LAZYFREE_PENDING_BYTES_MAX;
}

void lazyfree_note_handed(size_t objects) { atomic_fetch_add(&pending, objects); }

void lazyfree_note_freed(size_t objects) {
    atomic_fetch_sub(&pending, objects);
    atomic_fetch_add(&freed, objects);
}

void lazyfree_note_kept(ptrdiff_t bytes) { kept_bytes += (size_t)bytes; }

size_t lazyfree_pending_bytes(void) {
    return kept_bytes + atomic_load_explicit(&value_bytes, memory_order_acquire) +
           atomic_load_explicit(&database_bytes, memory_order_acquire);
}

/* ---- one entry ---- */

bool lazyfree_is_large(const struct entry *e) {
    return entry_outside_bytes(e) >= LAZYFREE_VALUE_BYTES_MIN ||
           entry_free_effort(e) > LAZYFREE_EFFORT_MIN;
}

static void free_now(void *e) { entry_free(e); }

static void free_in_background(void *e) {
    size_t bytes = entry_bytes(e), left = bytes;
    PROBE1(free__start, bytes);
    for (bool gone = false; !gone;) {
        gone = entry_free_step(e, BLOCKS_PER_STEP);
        size_t now = gone ? 0 : entry_bytes(e);
        memory_publish();
        atomic_fetch_sub(&value_bytes, left - now);
        left = now;
    }
    PROBE1(free__done, bytes);
    lazyfree_note_freed(1);
}

/* Bytes of values that wait, or are being freed, in the background. */
static size_t background_bytes(void) {
    return atomic_load(&value_bytes) - own.bytes - overflow.bytes;
}

static void queue_push(struct queue *queue, struct entry *e) {
    struct queued *q = memory_alloc(sizeof(*q), MEMORY_OTHER);
    *q = (struct queued){.entry = e};
    if (queue->first)
        queue->last->next = q;
    else
        queue->first = q;
    queue->last = q;
    queue->bytes += entry_bytes(e);
}

static void queue_pop(struct queue *queue) {
    struct queued *q = queue->first;
    queue->first = q->next;
    memory_free_sized(q, sizeof(*q), MEMORY_OTHER);
}

static void note_waiting(struct entry *e) {
    atomic_fetch_add(&value_bytes, entry_bytes(e));
    entry_unlink(e);
}

static bool has_room(const struct queue *queue) {
    return background_bytes() < pending_max / 2 &&
           (queue == &overflow || queue->bytes > pending_max);
}

/* Hands the queue's first entry to the background thread where has_room says so; otherwise frees a
 * part of it. */
static void queue_step(struct queue *queue) {
    struct entry *e = queue->first->entry;
    size_t before = entry_bytes(e), left = 0;
    if (has_room(queue)) {
        queue->bytes -= before;
        if (queue == &own) lazyfree_note_handed(1);
        queue_pop(queue);
        background_submit(&background_free, free_in_background, e);
        return;
    }
    bool gone = entry_free_step(e, LAZYFREE_BLOCKS_AT_ONCE);
    if (!gone) left = entry_bytes(e);
    queue->bytes -= before - left;
    atomic_fetch_sub(&value_bytes, before - left);
    if (!gone) return;
    queue_pop(queue);
    if (queue == &overflow) lazyfree_note_freed(1);
}

/* Keeps the queue within its bound before `coming` bytes are added, because a script or a
 * transaction may delete much before the loop's next turn. Frees no more bytes than `coming`,
 * because a single value may be larger than the bound by any factor. */
static void queue_relieve(struct queue *queue, size_t coming) {
    size_t before = queue->bytes;
    while (queue->first && (has_room(queue) || (queue->bytes > QUEUE_BOUNDS_MAX * pending_max &&
                                                before - queue->bytes < coming)))
        queue_step(queue);
}

static void hand_over(void *e) {
    bool full = background_bytes() + overflow.bytes >= pending_max;
    freed_inline += full;
    if (full && entry_free_effort(e) <= LAZYFREE_BLOCKS_AT_ONCE) {
        entry_free(e);
        return;
    }
    if (full) queue_relieve(&overflow, entry_bytes(e));
    lazyfree_note_handed(1);
    note_waiting(e);
    if (full)
        queue_push(&overflow, e);
    else
        background_submit(&background_free, free_in_background, e);
}

static void put_off(void *e) {
    queue_relieve(&own, entry_bytes(e));
    note_waiting(e);
    queue_push(&own, e);
}

void lazyfree_call(struct lazyfree_work *work) {
    ASSERT(!stepping);
    if (work->listed) return;
    work->listed = true;
    work->next = works;
    works = work;
}

static bool has_work(void) { return own.first || overflow.first || works; }

/* A step of each queue and of each work. */
static void step_all(void) {
    if (own.first) queue_step(&own);
    if (overflow.first) queue_step(&overflow);
    for (struct lazyfree_work **at = &works; *at;) {
        struct lazyfree_work *work = *at;
        stepping = true;
        bool more = work->step();
        stepping = false;
        if (more) {
            at = &work->next;
        } else {
            *at = work->next;
            work->listed = false;
        }
    }
}

static __attribute__((noinline)) bool free_slice(void) {
    int64_t begin_nsec = clock_monotonic_nsec(), now_nsec = begin_nsec;
    const struct cause *before = cause_enter(&freeing_cause, begin_nsec);
    while (has_work() && now_nsec - begin_nsec < (int64_t)LAZYFREE_SLICE_USEC * 1000) {
        step_all();
        now_nsec = clock_monotonic_nsec();
    }
    cause_leave(before, now_nsec);
    return has_work();
}

bool lazyfree_step(void) { return has_work() && free_slice(); }

static void (*way_of(const struct entry *e, bool lazily))(void *e) {
    if (lazily) return lazyfree_is_large(e) ? hand_over : free_now;
    return entry_free_effort(e) > LAZYFREE_BLOCKS_AT_ONCE ? put_off : free_now;
}

static void retire_entry(struct entry *e, void (*release)(void *e)) {
    if (limbo_is_open())
        limbo_retire(e, entry_bytes(e), release);
    else
        release(e);
}

void lazyfree_entry(struct entry *e, bool lazily) { retire_entry(e, way_of(e, lazily)); }

void lazyfree_expired(struct entry *e) {
    if (wanted[LAZYFREE_EXPIRE])
        lazyfree_entry(e, true);
    else
        retire_entry(e, free_now);
}

/* Most values are small: they are freed without an entry around them. */
void lazyfree_value(enum value_kind kind, struct value v) {
    const struct value_type *type = value_type(kind);
    bool lazily = wanted[LAZYFREE_SERVER_DEL];
    size_t effort_min = lazily ? LAZYFREE_EFFORT_MIN : LAZYFREE_BLOCKS_AT_ONCE;
    bool large = type->free_effort(v, SLICE("")) > effort_min ||
                 (lazily && type->bytes(v) >= LAZYFREE_VALUE_BYTES_MIN);
    if (!large) {
        type->release(v);
        return;
    }
    lazyfree_entry(entry_create_object(SLICE(""), (enum entry_type)kind, v, ENTRY_NO_DEADLINE, 0),
                   lazily);
}

/* ---- a database ---- */

struct released {
    size_t entries, bytes;
};

static bool has_tables(const struct key_map *map) { return map->table || map->slots; }

static void release_entry(void *element, void *context) {
    struct released *released = context;
    released->entries++;
    released->bytes += entry_bytes(element);
    entry_free(element);
}

/* Publishes the job's progress: `left` of its bytes are still allocated. */
static void note_progress(struct database_job *job, size_t entries, size_t left) {
    size_t bytes = job->bytes - left;
    job->bytes = left;
    if (job->way == LAZYFREE_NOW) return;
    memory_publish();
    atomic_fetch_sub(&database_bytes, bytes);
    if (job->way == LAZYFREE_LATER) lazyfree_note_freed(entries);
}

static void free_index(struct database_job *job) {
    size_t left = job->bytes - timebuckets_bytes(job->index);
    while (!timebuckets_free_step(job->index, INDEX_ELEMENTS_PER_STEP)) memory_publish();
    note_progress(job, 0, left);
}

static void free_keys(struct database_job *job) {
    for (bool gone = false; !gone;) {
        struct released released = {0};
        gone = key_map_free_step(&job->map, BUCKETS_PER_STEP, release_entry, &released);
        ASSERT_SLOW(job->entry_bytes >= released.bytes);
        job->entry_bytes -= released.bytes;
        note_progress(job, released.entries,
                      gone ? 0 : job->entry_bytes + key_map_bytes(&job->map));
    }
}

static void free_database(void *argument) {
    struct database_job *job = argument;
    size_t bytes = job->bytes;
    PROBE1(free__start, bytes);
    if (job->index) free_index(job);
    if (has_tables(&job->map)) free_keys(job);
    PROBE1(free__done, bytes);
    memory_free(job, MEMORY_OTHER);
}

static void free_database_now(void *argument) {
    const struct cause *before = cause_enter(&freeing_cause, clock_monotonic_nsec());
    free_database(argument);
    cause_leave(before, clock_monotonic_nsec());
}

static void hand_over_database(void *argument) {
    struct database_job *job = argument;
    if (job->way == LAZYFREE_LATER) atomic_fetch_add(&pending, key_map_count(&job->map));
    atomic_fetch_add(&database_bytes, job->bytes);
    background_submit(&background_free, free_database, job);
}

void lazyfree_keys(struct key_map map, struct timebuckets *index, size_t entry_bytes,
                   enum lazyfree_way way) {
    if (!has_tables(&map) && !index) return;
    struct database_job *job = memory_alloc(sizeof(*job), MEMORY_OTHER);
    size_t bytes = entry_bytes + key_map_bytes(&map) + (index ? timebuckets_bytes(index) : 0);
    *job = (struct database_job){map, index, entry_bytes, bytes, way};
    key_map_detach(&map);
    void (*release)(void *job) = way == LAZYFREE_NOW ? free_database_now : hand_over_database;
    /* An outermost call holds no pointers into the database that it empties; a call around a nested
     * one may. */
    if (limbo_nested())
        limbo_retire(job, bytes, release);
    else
        release(job);
}
