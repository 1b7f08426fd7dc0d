/* SPDX-License-Identifier: BSD-3-Clause
 * What a user of load/ describes: a load, and its streams. A stream has connections, a source that
 * says what they send, and a sink that is told what came back.
 *
 * Closed loop (source.due is NULL): a connection sends its next batch when the batch before is
 * answered; a latency counts from the time of sending. Open loop: batches are due at times that the
 * source says beforehand. A batch for which no connection is free waits in line, and its latency
 * counts from its due time. So a server that stalls for a second shows all requests of that second
 * as late, not only one for each connection.
 *
 *   source.due ---> due ---> free connection ---> source.next ---> sent ---> sink.answered
 *                     \-----> line -------------^
 *
 * All times are nanoseconds since the load began (its warm-up is part of it).
 */
#ifndef EVENKEEL_LOAD_LOAD_STREAM_H
#define EVENKEEL_LOAD_LOAD_STREAM_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/string.h"
#include "load/load_connection.h"

#define LOAD_NEVER INT64_MAX

/* Where requests come from. Each function is called by the thread `thread` (0 ...) and may use
 * whatever the context keeps for that thread without a lock. */
struct load_source {
    /* When the next batch is due, never before the one before; LOAD_NEVER = none follows, which
     * ends the stream, or leaves it idle until the load's duration is over, if it has one. Called
     * once for each batch, before `next`. NULL = closed loop. */
    int64_t (*due)(void *context, unsigned thread);
    /* Fills in the next batch, of `most` requests at most. The bytes must stay valid until the next
     * call for this thread, or, with batch->stays, until the batch is answered. A batch of 0
     * replies is left out (open loop only). batch->target is the index of the target that the batch
     * is for. False = nothing is left to send in this thread. */
    bool (*next)(void *context, unsigned thread, unsigned most, struct load_batch *batch);
    void *context;
};

enum load_outcome {
    LOAD_OK,
    LOAD_NIL,
    LOAD_ZERO,
    LOAD_ERROR,
    LOAD_OOM,
    LOAD_LOST,       /* the connection ended before the reply */
    LOAD_UNANSWERED, /* no reply when the load ended; its answered_nsec is the end */
};

/* `count` requests of one batch that ended in the same way: its request `first` and following. */
struct load_answer {
    int64_t due_nsec;  /* closed loop: as sent_nsec */
    int64_t sent_nsec; /* -1 = still in line when the load ended */
    int64_t answered_nsec;
    int64_t late_nsec; /* of the load itself (load/load_late.h); 0 in a closed loop */
    uintptr_t about;   /* the batch's; 0 where it was never sent */
    unsigned first, count;
    enum load_outcome outcome;
    const char *error;                  /* the error's text where the server sent one, else NULL */
    struct load_connection *connection; /* for load_follow; NULL = no connection any more */
};

/* What is told of the answers; each function may be NULL, and is called as the source's are. */
struct load_sink {
    void (*answered)(void *context, unsigned thread, const struct load_answer *answer);
    /* The bytes of bulks, in pieces, before their request is told as answered. */
    void (*body)(void *context, unsigned thread, struct slice bytes);
    void *context;
};

/* Which connection takes a batch of an open loop. */
enum load_pick {
    LOAD_PICK_LAST,    /* the one that became idle last */
    LOAD_PICK_RANDOM,  /* any idle one */
    LOAD_PICK_IN_TURN, /* the next of all, also where it has batches under way: no batch waits */
};

struct load_stream {
    const struct load_target *targets; /* connection i is to target i % target_count */
    unsigned target_count;
    struct load_source source;
    struct load_sink sink;
    unsigned connections; /* divided among the threads */
    unsigned pipeline;    /* the most requests of a batch, at least 1 */
    uint64_t requests;    /* in all threads, without those of the warm-up; 0 = no limit */
    enum load_pick pick;
    bool reconnects;    /* after each batch; closed loop only */
    int64_t renew_nsec; /* open loop: an idle connection is made anew so often; 0 = never */
    /* Errors and lost connections are told to the sink, and lost connections are made anew. Without
     * it, either of them ends the load as failed. */
    bool tolerates;
    /* Whether an error reply, by its text, does not end a load that does not tolerate errors: it is
     * counted then. Called by the connection's thread, with the source's context. NULL = each one
     * ends the load. */
    bool (*forgives)(void *context, const char *error);
};

/* Sends a further batch on the connection of an answer, behind what is under way there. To be
 * called only by sink.answered, with its answer. The batch does not count against the stream's
 * `requests`. False where the connection has ended: the batch is not sent, and not told to the
 * sink. */
MUST_USE bool load_follow(const struct load_answer *answer, const struct load_batch *batch);

struct load_progress {
    bool began;        /* all connections are open and the load has begun */
    uint64_t requests; /* answered and counted */
    uint64_t latency_sum_nsec;
    uint64_t refused; /* connections that could not be made again */
    double seconds;   /* since the end of the warm-up */
};

struct load {
    const struct load_stream *streams;
    unsigned stream_count;
    unsigned threads;      /* at least 1 */
    int64_t duration_nsec; /* after the warm-up; 0 = no limit */
    int64_t warmup_nsec;   /* what is due in it is not counted */
    int64_t drain_nsec;    /* the longest wait for the last replies; 0 = no limit */
    uint64_t seed;         /* of what the load itself draws: LOAD_PICK_RANDOM */
    const atomic_bool
        *stop; /* the load ends when it becomes true (by a signal's handler); or NULL */
    /* Called four times a second by the calling thread; NULL = never. */
    void (*watch)(void *context, const struct load_progress *progress);
    /* Called by thread 0 every tick_nsec while requests are sent, with the time since the load
     * began; NULL = never. */
    void (*tick)(void *context, int64_t now_nsec);
    int64_t tick_nsec;
    void *context; /* of `watch` and `tick` */
};
#endif
