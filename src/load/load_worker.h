/* SPDX-License-Identifier: BSD-3-Clause
 * One thread of a load: its connections, its part of each stream, its loop. Only load_run uses it.
 */
#ifndef EVENKEEL_LOAD_LOAD_WORKER_H
#define EVENKEEL_LOAD_LOAD_WORKER_H
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "load/load_connection.h"
#include "load/load_late.h"
#include "load/load_latency.h"
#include "load/load_stream.h"

struct load;
struct load_part;
struct load_worker;

/* What the threads of a load share. */
struct load_common {
    const struct load *load;
    const struct load_target *const
        *targets;            /* of each stream, with addresses that need no lookup */
    _Atomic uint64_t *taken; /* of each stream: requests that count and were taken to be sent */
    atomic_bool stops;       /* the load has failed, or is to end */
    int64_t began_nsec;      /* monotonic; set before any thread passes the barrier */
    _Atomic int64_t told_began_nsec; /* the same for other readers; 0 = not yet */
    pthread_mutex_t mutex;           /* guards `reason` and `failed` */
    bool failed;
    char *reason;
};

/* A connection of a thread. */
struct load_slot {
    struct load_connection connection; /* first, because epoll has its address */
    struct load_part *part;
    uint32_t number; /* within the stream, all threads together */
    uint32_t target; /* index among the stream's targets */
    uint32_t place;  /* in the part's list of idle connections */
    bool is_idle;
    bool is_heard; /* a request was answered since it is connected */
    bool is_away;  /* lost, and to be connected again after a pause */
};

/* A batch that is due and waits for a connection. */
struct load_arrival {
    int64_t due_nsec, late_nsec;
};

/* A thread's part of a stream. */
struct load_part {
    struct load_worker *worker;
    const struct load_stream *stream;
    const struct load_target *targets;
    unsigned index; /* of the stream */
    struct load_slot *slots;
    struct load_slot **idle;
    uint32_t count, idle_count, next_in_turn;
    bool over;                 /* nothing is left to be sent, but what waits in line */
    int64_t due_nsec;          /* open loop: of the next batch; LOAD_NEVER = none follows */
    int64_t renew_nsec;        /* when the next idle connection is made anew; LOAD_NEVER = never */
    struct load_arrival *line; /* a ring */
    uint32_t line_head, line_count, line_room;
};

struct load_worker {
    struct load_common *common;
    unsigned number;
    pthread_t thread;
    int epoll;
    bool has_schedule; /* a part is an open loop, or the thread makes the ticks */
    struct load_part *parts;
    struct load_reader reader;
    uint64_t flights; /* batches under way */
    uint32_t away;    /* slots that are to be connected again */
    int64_t now_nsec; /* of the last answer told; -1 = none since the last event */
    int64_t retry_nsec, tick_nsec;
    uint64_t chance;
    /* Results. */
    uint64_t errors, lost, renewed, most_waiting;
    int64_t last_reply_nsec, cpu_nsec, end_nsec;
    struct load_late late;
    struct load_latency *latency;
    _Atomic uint64_t done, latency_sum_nsec; /* copies for other threads */
    _Atomic uint64_t refused;
};

/* Main thread: creates the thread's connections, closed. False = no epoll is to be had. */
MUST_USE bool load_worker_init(struct load_worker *w, struct load_common *common, unsigned number);
void load_worker_free(struct load_worker *w);
/* The thread: connects all; then, once common->began_nsec is set, sends and receives until the end.
 * Both return at once when the load fails. */
void load_worker_open(struct load_worker *w);
void load_worker_run(struct load_worker *w);
/* Ends the load as failed; the first reason is kept. */
void load_worker_give_up(struct load_common *common, const char *reason);
#endif
