/* SPDX-License-Identifier: BSD-3-Clause
 * Databases in the order of their next deadlines: a binary heap of databases by lower bound.
 *
 * Invariants
 *  1. heap[] holds each database once; place[heap[i]] == i.
 *  2. No database's bound is lower than that of its parent, heap[(i - 1) / 2]. So databases with
 *     due keys are together at the top, and a walk down finds them with a look at two others for
 *     each at most.
 *
 * A database takes 16 bytes; the arrays are as long as the option `databases` says and never grow.
 */
#include "store/next_due.h"

#include "base/memory.h"
#include "base/panic.h"

static int count;
static int64_t *bounds; /* by database */
static int *heap, *place;

static int64_t bound_at(int at) { return bounds[heap[at]]; }

static void heap_put(int at, int database) {
    heap[at] = database;
    place[database] = at;
}

void next_due_open(int databases) {
    ASSERT(databases > 0 && !heap);
    size_t n = (size_t)databases;
    count = databases;
    bounds = memory_alloc(n * sizeof(*bounds), MEMORY_OTHER);
    heap = memory_alloc(n * sizeof(*heap), MEMORY_OTHER);
    place = memory_alloc(n * sizeof(*place), MEMORY_OTHER);
    for (int i = 0; i < databases; i++) {
        bounds[i] = INT64_MAX;
        heap_put(i, i);
    }
}

int64_t next_due_bound(int database) { return bounds[database]; }

static void move_up(int database) {
    int at = place[database];
    for (int above; at && bound_at(above = (at - 1) / 2) > bounds[database]; at = above)
        heap_put(at, heap[above]);
    heap_put(at, database);
}

static void move_down(int database) {
    int at = place[database];
    for (int below; (below = 2 * at + 1) < count; at = below) {
        if (below + 1 < count && bound_at(below + 1) < bound_at(below)) below++;
        if (bound_at(below) >= bounds[database]) break;
        heap_put(at, heap[below]);
    }
    heap_put(at, database);
}

void next_due_set(int database, int64_t deadline_msec) {
    int64_t before = bounds[database];
    bounds[database] = deadline_msec;
    if (deadline_msec < before)
        move_up(database);
    else if (deadline_msec > before)
        move_down(database);
}

void next_due_lower(int database, int64_t deadline_msec) {
    if (__builtin_expect(deadline_msec < bounds[database], 0))
        next_due_set(database, deadline_msec);
}

int64_t next_due_earliest(void) { return bound_at(0); }
int next_due_first(void) { return heap[0]; }

/* `found` is the walk's queue: it holds heap places first, and each becomes its database once the
 * walk has looked at it. */
int next_due_collect(int64_t now_msec, int *found) {
    int length = 0;
    if (bound_at(0) <= now_msec) found[length++] = 0;
    for (int i = 0; i < length; i++) {
        int at = found[i];
        for (int below = 2 * at + 1; below <= 2 * at + 2 && below < count; below++)
            if (bound_at(below) <= now_msec) found[length++] = below;
        found[i] = heap[at];
    }
    return length;
}

void next_due_check(void) {
    for (int i = 0; i < count; i++) {
        ASSERT(heap[i] >= 0 && heap[i] < count && place[heap[i]] == i);
        ASSERT(i == 0 || bound_at((i - 1) / 2) <= bound_at(i));
    }
}
