/* SPDX-License-Identifier: BSD-3-Clause
 * The simulation's io/background: no threads. A job takes a time that is drawn when it is
 * submitted, and is run whole when that is over, while the main thread waits for events: until then
 * nothing of it has happened, whatever the process meets.
 */
#include "io/background.h"

#include <stdlib.h>

#include "base/memory.h"
#include "sim/background.h"
#include "sim/world.h"

#define JOBS_MAX 4096

struct job {
    void (*function)(void *argument);
    void *argument;
    int64_t due_nsec;
};

struct background_worker {
    struct job jobs[JOBS_MAX];
    unsigned first, count;
};

struct background_kind background_close = {.name = "close"}, background_free = {.name = "free"};
static struct background_worker queues[BACKGROUND_KINDS_MAX];
static struct background_kind *kinds[BACKGROUND_KINDS_MAX]; /* in the order of their first jobs */
static unsigned kinds_count;
static bool forked, runs;

bool background_start(struct background_kind *kind) { return true; }
void background_stop(void) {
    for (unsigned i = 0; i < kinds_count; i++) background_drain(kinds[i]);
}
void background_in_child(void) {
    forked = true;
    for (unsigned i = 0; i < kinds_count; i++) queues[i].count = 0;
}

static int64_t duration_nsec(struct background_kind *kind) {
    int64_t nsec = draw_scale(kind == &background_free ? NSEC_PER_MSEC : 10 * NSEC_PER_MSEC);
    if (kind != &background_free && world->nodes[self->node].slow_disk)
        nsec += draw_scale(4 * NSEC_PER_SEC);
    return nsec;
}

static struct background_worker *queue_of(struct background_kind *kind) {
    if (kind->worker) return kind->worker;
    if (kinds_count == BACKGROUND_KINDS_MAX) abort();
    kinds[kinds_count] = kind;
    kind->worker = &queues[kinds_count++];
    return kind->worker;
}

void background_submit(struct background_kind *kind, void (*function)(void *argument),
                       void *argument) {
    struct background_worker *q = queue_of(kind);
    if (forked) {
        function(argument);
        return;
    }
    if (q->count == JOBS_MAX) abort();
    int64_t begins = world->now_nsec;
    if (q->count) {
        int64_t last = q->jobs[(q->first + q->count - 1) % JOBS_MAX].due_nsec;
        if (last > begins) begins = last;
    }
    q->jobs[(q->first + q->count++) % JOBS_MAX] =
        (struct job){function, argument, begins + duration_nsec(kind)};
}

size_t background_pending(const struct background_kind *kind) {
    return kind->worker ? kind->worker->count : 0;
}

static void run_first(struct background_worker *q) {
    struct job job = q->jobs[q->first];
    bool outer = runs;
    runs = true;
    job.function(job.argument);
    runs = outer;
    q->first = (q->first + 1) % JOBS_MAX;
    q->count--;
    memory_publish();
}

void background_drain(struct background_kind *kind) {
    struct background_worker *q = queue_of(kind);
    for (unsigned left = q->count; left; left--) {
        int64_t due = q->jobs[q->first].due_nsec;
        if (due > world->now_nsec && !runs) task_yield(TASK_READY, due);
        run_first(q);
    }
}

int64_t background_due_nsec(void) {
    int64_t due = NEVER;
    for (unsigned i = 0; i < kinds_count; i++) {
        const struct background_worker *q = &queues[i];
        if (q->count && q->jobs[q->first].due_nsec < due) due = q->jobs[q->first].due_nsec;
    }
    return due;
}

void background_run_due(void) {
    for (unsigned i = 0; i < kinds_count; i++) {
        struct background_worker *q = &queues[i];
        while (q->count && q->jobs[q->first].due_nsec <= world->now_nsec) run_first(q);
    }
}

bool background_runs(void) { return runs; }
