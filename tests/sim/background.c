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

static struct queue {
    struct job jobs[JOBS_MAX];
    unsigned first, count;
} queues[BACKGROUND_KINDS];
static bool forked, runs;

bool background_start(void) { return true; }
void background_stop(void) {
    for (int kind = 0; kind < BACKGROUND_KINDS; kind++) background_drain(kind);
}
void background_in_child(void) {
    forked = true;
    for (int kind = 0; kind < BACKGROUND_KINDS; kind++) queues[kind].count = 0;
}

static int64_t duration_nsec(enum background_kind kind) {
    int64_t nsec = draw_scale(kind == BACKGROUND_FREE ? NSEC_PER_MSEC : 10 * NSEC_PER_MSEC);
    if (kind != BACKGROUND_FREE && world->nodes[self->node].slow_disk)
        nsec += draw_scale(4 * NSEC_PER_SEC);
    return nsec;
}

void background_submit(enum background_kind kind, void (*function)(void *argument),
                       void *argument) {
    struct queue *q = &queues[kind];
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

size_t background_pending(enum background_kind kind) { return queues[kind].count; }

static void run_first(struct queue *q) {
    struct job job = q->jobs[q->first];
    bool outer = runs;
    runs = true;
    job.function(job.argument);
    runs = outer;
    q->first = (q->first + 1) % JOBS_MAX;
    q->count--;
    memory_publish();
}

void background_drain(enum background_kind kind) {
    struct queue *q = &queues[kind];
    for (unsigned left = q->count; left; left--) {
        int64_t due = q->jobs[q->first].due_nsec;
        if (due > world->now_nsec && !runs) task_yield(TASK_READY, due);
        run_first(q);
    }
}

int64_t background_due_nsec(void) {
    int64_t due = NEVER;
    for (int kind = 0; kind < BACKGROUND_KINDS; kind++) {
        const struct queue *q = &queues[kind];
        if (q->count && q->jobs[q->first].due_nsec < due) due = q->jobs[q->first].due_nsec;
    }
    return due;
}

void background_run_due(void) {
    for (int kind = 0; kind < BACKGROUND_KINDS; kind++) {
        struct queue *q = &queues[kind];
        while (q->count && q->jobs[q->first].due_nsec <= world->now_nsec) run_first(q);
    }
}

bool background_runs(void) { return runs; }
