/* SPDX-License-Identifier: BSD-3-Clause
 * The loop of a load's thread.
 *
 * Invariants
 *  1. A slot is in its part's idle list exactly while it is open and greeted, has nothing under
 *     way, and its part is of an open loop that does not pick in turn.
 *  2. Batches wait in a part's line only while the part has no idle slot.
 *  3. `flights` is the number of batches that all connections of the thread have under way.
 *  4. `away` is the number of slots with is_away. Such a slot is closed or connecting.
 *  5. Threads share only the fields of struct load_common.
 *  6. A batch counts when it is due (closed loop: sent) after the warm-up.
 *
 * A turn of an open loop sends and reads a bounded part of what is there, and reads less than it
 * may send: else due batches would fall behind while replies pour in.
 */
#include "load/load_worker.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/prctl.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/panic.h"
#include "base/system.h"

#define EVENTS_MAX 256
#define OPEN_EVENTS_MAX 64
#define SENDS_MAX 128 /* of a part in a turn */
/* Batches in a part's line. When it is full, further batches stay in the source: they keep their
 * due times, and are late. */
#define WAITING_MAX (1u << 20)
#define WAITING_FIRST 256
/* A thread's connections that are being opened at the same time: fewer than any usual listen
 * backlog. */
#define CONNECTING_MAX 64
/* The interval at which a thread checks whether the load is to end. */
#define TICK_NSEC INT64_C(250000000)
/* The pause before a connection that could not be made is tried again. */
#define AGAIN_NSEC INT64_C(100000000)
#define NSEC_A_SECOND INT64_C(1000000000)

static void serve_slot(struct load_worker *w, struct load_slot *slot, uint32_t events);

static bool is_stopped(const struct load_worker *w) {
    return atomic_load_explicit(&w->common->stops, memory_order_relaxed);
}

static bool is_closed_loop(const struct load_part *part) { return !part->stream->source.due; }

static int64_t worker_clock(const struct load_worker *w) {
    return clock_monotonic_nsec() - w->common->began_nsec;
}

void load_worker_give_up(struct load_common *common, const char *reason) {
    pthread_mutex_lock(&common->mutex);
    if (!common->failed) snprintf(common->reason, LOAD_REASON_CHARS, "%s", reason);
    common->failed = true;
    atomic_store(&common->stops, true);
    pthread_mutex_unlock(&common->mutex);
}

/* --- idle connections, and the line ----------------------------------------------------------- */

static void add_idle(struct load_slot *slot) {
    struct load_part *part = slot->part;
    slot->is_idle = true;
    slot->place = part->idle_count;
    part->idle[part->idle_count++] = slot;
}

static void remove_idle(struct load_slot *slot) {
    struct load_part *part = slot->part;
    struct load_slot *last = part->idle[--part->idle_count];
    slot->is_idle = false;
    last->place = slot->place;
    part->idle[slot->place] = last;
}

/* xorshift64* (Vigna 2014) */
static uint32_t draw_below(struct load_worker *w, uint32_t range) {
    uint64_t x = w->chance;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    w->chance = x;
    return (uint32_t)(((x * UINT64_C(2685821657736338717) >> 32) * range) >> 32);
}

/* The connection that takes the next batch; NULL = none is idle. */
static struct load_slot *pick_slot(struct load_part *part) {
    if (part->stream->pick == LOAD_PICK_IN_TURN) {
        struct load_slot *slot = &part->slots[part->next_in_turn];
        part->next_in_turn = (part->next_in_turn + 1) % part->count;
        return slot;
    }
    if (!part->idle_count) return NULL;
    uint32_t place = part->stream->pick == LOAD_PICK_RANDOM
                         ? draw_below(part->worker, part->idle_count)
                         : part->idle_count - 1;
    struct load_slot *slot = part->idle[place];
    remove_idle(slot);
    return slot;
}

static void push_line(struct load_part *part, struct load_arrival arrival) {
    if (part->line_count == part->line_room) {
        uint32_t room = part->line_room ? 2 * part->line_room : WAITING_FIRST;
        struct load_arrival *grown = memory_alloc(room * sizeof(*grown), MEMORY_OTHER);
        for (uint32_t i = 0; i < part->line_count; i++)
            grown[i] = part->line[(part->line_head + i) & (part->line_room - 1)];
        memory_free(part->line, MEMORY_OTHER);
        part->line = grown;
        part->line_room = room;
        part->line_head = 0;
    }
    part->line[(part->line_head + part->line_count++) & (part->line_room - 1)] = arrival;
    if (part->line_count > part->worker->most_waiting)
        part->worker->most_waiting = part->line_count;
}

static struct load_arrival pop_line(struct load_part *part) {
    struct load_arrival first = part->line[part->line_head];
    part->line_head = (part->line_head + 1) & (part->line_room - 1);
    part->line_count--;
    return first;
}

/* --- what is sent ----------------------------------------------------------------------------- */

static bool is_past_end(const struct load *load, int64_t time) {
    return load->duration_nsec && time - load->warmup_nsec >= load->duration_nsec;
}

/* Takes up to a batch of requests that start at `start`; 0 = the stream's end is reached. */
static unsigned take_requests(struct load_part *part, int64_t start) {
    const struct load *load = part->worker->common->load;
    unsigned pipeline = part->stream->pipeline;
    uint64_t all = part->stream->requests;
    if (start < load->warmup_nsec) return pipeline;
    if (is_past_end(load, start)) return 0;
    if (!all) return pipeline;
    uint64_t taken = atomic_fetch_add_explicit(&part->worker->common->taken[part->index], pipeline,
                                               memory_order_relaxed);
    if (taken >= all) return 0;
    return all - taken < pipeline ? (unsigned)(all - taken) : pipeline;
}

static void end_part(struct load_part *part) {
    part->over = true;
    part->due_nsec = part->renew_nsec = LOAD_NEVER;
    part->line_count = 0;
}

/* Sends the next batch of the source on the slot. False = the batch was empty or the source is at
 * its end; the slot is as before then. */
static bool send_next(struct load_part *part, struct load_slot *slot, int64_t due, int64_t sent,
                      int64_t late) {
    struct load_worker *w = part->worker;
    struct load_batch batch = {.target = slot->target};
    unsigned most = take_requests(part, due);
    if (!most ||
        !part->stream->source.next(part->stream->source.context, w->number, most, &batch)) {
        end_part(part);
        return false;
    }
    ASSERT(batch.replies <= most && (batch.replies || !is_closed_loop(part)));
    if (part->stream->requests && batch.replies < most && due >= w->common->load->warmup_nsec)
        atomic_fetch_sub_explicit(&w->common->taken[part->index], most - batch.replies,
                                  memory_order_relaxed);
    if (!batch.replies) return false;
    w->flights++;
    if (!load_connection_send(&slot->connection, w->epoll, &batch, due, sent, late))
        serve_slot(w, slot, EPOLLIN); /* which finds the connection ended */
    return true;
}

/* Tells the sink that a batch which was due is not sent. */
static void tell_unsent(struct load_part *part, struct load_arrival arrival,
                        enum load_outcome outcome, int64_t now) {
    const struct load_sink *sink = &part->stream->sink;
    const struct load_answer answer = {.due_nsec = arrival.due_nsec,
                                       .sent_nsec = -1,
                                       .answered_nsec = now,
                                       .late_nsec = arrival.late_nsec,
                                       .count = part->stream->pipeline,
                                       .outcome = outcome};
    if (sink->answered) sink->answered(sink->context, part->worker->number, &answer);
}

/* Open loop: sends the batch that is due now, or puts it into the line. */
static void handle_due(struct load_part *part, int64_t now) {
    struct load_worker *w = part->worker;
    const struct load_source *source = &part->stream->source;
    struct load_arrival arrival = {part->due_nsec, load_late_note(&w->late, part->due_nsec, now)};
    struct load_slot *slot = pick_slot(part);
    if (!slot) {
        push_line(part, arrival);
    } else if (slot->connection.state != LOAD_OPEN || slot->connection.greeting_left) {
        tell_unsent(part, arrival, LOAD_LOST, now); /* picked in turn, and being connected again */
    } else if (!send_next(part, slot, arrival.due_nsec, now, arrival.late_nsec) &&
               part->stream->pick != LOAD_PICK_IN_TURN) {
        add_idle(slot);
    }
    if (part->over) return;
    part->due_nsec = source->due(source->context, w->number);
    part->over = part->due_nsec == LOAD_NEVER && !w->common->load->duration_nsec;
}

/* Open loop: an idle slot takes the first batch in line. False = the line is empty. */
static bool send_from_line(struct load_part *part, struct load_slot *slot, int64_t now) {
    while (part->line_count) {
        struct load_arrival arrival = pop_line(part);
        if (send_next(part, slot, arrival.due_nsec, now, arrival.late_nsec)) return true;
    }
    return false;
}

bool load_follow(const struct load_answer *answer, const struct load_batch *batch) {
    struct load_connection *c = answer->connection;
    if (!c || c->state != LOAD_OPEN || c->broken) return false;
    struct load_worker *w = ((struct load_slot *)c)->part->worker;
    int64_t now = answer->answered_nsec;
    w->flights++;
    /* load_connection_advance, which tells the answer, fails where the write has failed. */
    bool unused = load_connection_send(c, w->epoll, batch, now, now, 0);
    (void)unused;
    return true;
}

/* --- connecting ------------------------------------------------------------------------------- */

static const struct load_target *target_of(const struct load_slot *slot) {
    return &slot->part->targets[slot->target];
}

/* The slot is connected again after a pause. */
static void put_away(struct load_slot *slot) {
    struct load_worker *w = slot->part->worker;
    if (slot->connection.state != LOAD_OPEN)
        atomic_fetch_add_explicit(&w->refused, 1, memory_order_relaxed);
    load_connection_close(&slot->connection);
    w->away += !slot->is_away;
    slot->is_away = true;
}

static void connect_slot(struct load_slot *slot) {
    char reason[LOAD_REASON_CHARS];
    slot->is_heard = false;
    if (load_connection_connect(&slot->connection, target_of(slot), slot->part->worker->epoll,
                                reason))
        return;
    if (!slot->part->stream->tolerates) load_worker_give_up(slot->part->worker->common, reason);
    put_away(slot);
}

/* Tries again to connect slots that could not be connected. */
static void retry_slots(struct load_worker *w, int64_t now) {
    unsigned begun = 0;
    if (!w->away || now < w->retry_nsec) return;
    w->retry_nsec = now + AGAIN_NSEC;
    for (unsigned p = 0; p < w->common->load->stream_count; p++) {
        struct load_part *part = &w->parts[p];
        for (uint32_t i = 0; i < part->count && begun < CONNECTING_MAX; i++) {
            struct load_slot *slot = &part->slots[i];
            if (!slot->is_away || slot->connection.state != LOAD_CLOSED) continue;
            connect_slot(slot);
            begun++;
        }
    }
}

static void renew_slot(struct load_part *part) {
    struct load_slot *slot = pick_slot(part);
    part->renew_nsec += part->stream->renew_nsec;
    if (!slot) return;
    part->worker->renewed++;
    load_connection_close(&slot->connection);
    connect_slot(slot);
}

/* --- what comes back -------------------------------------------------------------------------- */

static void tell_sink(struct load_part *part, const struct load_answer *answer) {
    const struct load_sink *sink = &part->stream->sink;
    if (sink->answered) sink->answered(sink->context, part->worker->number, answer);
}

static enum load_outcome outcome_of(enum scanned kind) {
    static const enum load_outcome outcomes[] = {[SCANNED_OK] = LOAD_OK,
                                                 [SCANNED_NIL] = LOAD_NIL,
                                                 [SCANNED_ZERO] = LOAD_ZERO,
                                                 [SCANNED_ERROR] = LOAD_ERROR,
                                                 [SCANNED_OOM] = LOAD_OOM};
    return outcomes[kind];
}

/* Counts an error reply, which ends a load that does not tolerate it. */
static void count_error(struct load_part *part, const struct load_connection *c, bool counts) {
    struct load_worker *w = part->worker;
    char reason[LOAD_REASON_CHARS];
    w->errors += counts;
    const struct load_stream *stream = part->stream;
    if (stream->tolerates) return;
    if (stream->forgives && stream->forgives(stream->source.context, c->scanner.error)) return;
    snprintf(reason, sizeof(reason), "Error from server: %s", c->scanner.error);
    load_worker_give_up(w->common, reason);
}

static void take_answers(void *owner, struct load_connection *c, const struct load_flight *flight,
                         unsigned count, enum scanned kind) {
    struct load_worker *w = owner;
    struct load_slot *slot = (struct load_slot *)c;
    bool counts = flight->due_nsec >= w->common->load->warmup_nsec;
    bool is_error = kind == SCANNED_ERROR || kind == SCANNED_OOM;
    if (w->now_nsec < 0) w->now_nsec = worker_clock(w);
    slot->is_heard = true;
    w->flights -= flight->answered == flight->replies;
    if (is_error) {
        count_error(slot->part, c, counts);
    } else if (counts) {
        load_latency_note(w->latency, w->now_nsec - flight->due_nsec, count);
        w->last_reply_nsec = w->now_nsec;
        atomic_store_explicit(&w->done, w->latency->count, memory_order_relaxed);
        atomic_store_explicit(&w->latency_sum_nsec, w->latency->sum_nsec, memory_order_relaxed);
    }
    if (!slot->part->stream->sink.answered) return;
    tell_sink(slot->part, &(struct load_answer){.due_nsec = flight->due_nsec,
                                                .sent_nsec = flight->sent_nsec,
                                                .answered_nsec = w->now_nsec,
                                                .late_nsec = flight->late_nsec,
                                                .about = flight->about,
                                                .first = flight->answered - count,
                                                .count = count,
                                                .outcome = outcome_of(kind),
                                                .error = is_error ? c->scanner.error : NULL,
                                                .connection = c});
}

static void take_body(void *owner, struct load_connection *c, struct slice bytes) {
    struct load_part *part = ((struct load_slot *)c)->part;
    const struct load_sink *sink = &part->stream->sink;
    if (sink->body) sink->body(sink->context, part->worker->number, bytes);
}

/* Tells what is under way on the slot as ended without a reply. */
static void tell_flights(struct load_slot *slot, enum load_outcome outcome, int64_t now) {
    struct load_worker *w = slot->part->worker;
    struct load_flight flight;
    while (load_connection_take(&slot->connection, &flight)) {
        const struct load_answer answer = {.due_nsec = flight.due_nsec,
                                           .sent_nsec = flight.sent_nsec,
                                           .answered_nsec = now,
                                           .late_nsec = flight.late_nsec,
                                           .about = flight.about,
                                           .first = flight.answered,
                                           .count = flight.replies - flight.answered,
                                           .outcome = outcome};
        w->flights--;
        tell_sink(slot->part, &answer);
    }
}

/* The connection has ended by itself, or could not be made. One that was never answered is made
 * anew after a pause, because a server that accepts and closes would be flooded otherwise. */
static void lose_slot(struct load_slot *slot, const char *reason) {
    struct load_worker *w = slot->part->worker;
    if (!slot->part->stream->tolerates) {
        load_worker_give_up(w->common, reason);
        return;
    }
    w->lost += slot->connection.state == LOAD_OPEN;
    if (slot->is_idle) remove_idle(slot);
    tell_flights(slot, LOAD_LOST, worker_clock(w));
    if (!slot->is_heard) {
        put_away(slot);
        return;
    }
    load_connection_close(&slot->connection);
    connect_slot(slot);
}

/* The slot has nothing to wait for: it sends its next batch, or becomes idle. */
static void rest_slot(struct load_slot *slot, int64_t now) {
    struct load_part *part = slot->part;
    if (is_closed_loop(part)) {
        if (!part->over && !send_next(part, slot, now, now, 0)) part->over = true;
        return;
    }
    if (part->stream->pick == LOAD_PICK_IN_TURN || send_from_line(part, slot, now)) return;
    add_idle(slot);
}

static void serve_slot(struct load_worker *w, struct load_slot *slot, uint32_t events) {
    struct load_connection *c = &slot->connection;
    char reason[LOAD_REASON_CHARS];
    if (c->state == LOAD_CLOSED) return;
    uint64_t before = w->flights;
    w->now_nsec = -1;
    if (!load_connection_advance(c, target_of(slot), w->epoll, events, &w->reader, reason)) {
        lose_slot(slot, reason);
        return;
    }
    if (slot->is_idle || !load_connection_is_ready(c)) return;
    if (slot->is_away) {
        slot->is_away = false;
        w->away--;
    }
    bool has_answered = w->flights < before;
    if (has_answered && slot->part->stream->reconnects && !slot->part->over) {
        load_connection_close(c);
        connect_slot(slot);
        return;
    }
    rest_slot(slot, has_answered ? w->now_nsec : worker_clock(w));
}

/* --- turns ------------------------------------------------------------------------------------ */

/* Sends what is due, a bounded part of it; returns the time of the next thing to do. */
static int64_t do_due(struct load_worker *w) {
    const struct load *load = w->common->load;
    int64_t now = worker_clock(w), next = now + LOAD_LATE_SAMPLE_NSEC;
    for (unsigned p = 0; p < load->stream_count; p++) {
        struct load_part *part = &w->parts[p];
        for (unsigned sends = 0; part->due_nsec <= now && sends < SENDS_MAX;) {
            if (part->line_count >= WAITING_MAX) break;
            uint64_t before = w->flights;
            handle_due(part, worker_clock(w));
            sends += w->flights > before;
        }
        /* What was due before the end is still sent when the load comes late to it. */
        if (!is_closed_loop(part) && part->due_nsec > now && is_past_end(load, now)) {
            part->due_nsec = LOAD_NEVER;
            part->over = true;
        }
        if (part->renew_nsec <= now) renew_slot(part);
        int64_t due = part->line_count < WAITING_MAX ? part->due_nsec : LOAD_NEVER;
        if (due < next) next = due;
        if (part->renew_nsec < next) next = part->renew_nsec;
    }
    if (w->tick_nsec <= now) {
        load->tick(load->context, now);
        w->tick_nsec += load->tick_nsec;
    }
    load_late_sample(&w->late, now);
    return w->tick_nsec < next ? w->tick_nsec : next;
}

/* Waits for events, in an open loop until `until` at the longest. */
static int wait_events(struct load_worker *w, struct epoll_event *events, int64_t until) {
    int timeout_msec = (int)((w->away ? AGAIN_NSEC : TICK_NSEC) / 1000000);
    if (w->has_schedule) { /* ppoll, because epoll_wait waits whole ms */
        int64_t nsec = until - worker_clock(w);
        if (nsec > 0) {
            struct timespec timeout = {nsec / NSEC_A_SECOND, nsec % NSEC_A_SECOND};
            struct pollfd ready = {.fd = w->epoll, .events = POLLIN};
            if (ppoll(&ready, 1, &timeout, NULL) <= 0) return 0;
        }
        timeout_msec = 0;
    }
    int most = w->has_schedule ? OPEN_EVENTS_MAX : EVENTS_MAX;
    int count = system_epoll_wait(w->epoll, events, most, timeout_msec);
    if (count < 0 && errno != EINTR) load_worker_give_up(w->common, "epoll_wait fails");
    return count < 0 ? 0 : count;
}

static void serve_events(struct load_worker *w, int64_t until) {
    struct epoll_event events[EVENTS_MAX];
    int count = wait_events(w, events, until);
    for (int i = 0; i < count && !is_stopped(w); i++)
        serve_slot(w, events[i].data.ptr, events[i].events);
    if (count && !w->away) return;
    int64_t now = worker_clock(w);
    retry_slots(w, now);
    /* A closed loop whose connections are all busy or away asks for no batch, so that only the
     * clock tells its end. */
    for (unsigned p = 0; p < w->common->load->stream_count; p++)
        if (is_closed_loop(&w->parts[p]) && is_past_end(w->common->load, now))
            end_part(&w->parts[p]);
}

/* Begins each part: open loops learn their first due time, closed loops send on all connections. */
static void begin_parts(struct load_worker *w) {
    const struct load *load = w->common->load;
    for (unsigned p = 0; p < load->stream_count && !is_stopped(w); p++) {
        struct load_part *part = &w->parts[p];
        const struct load_source *source = &part->stream->source;
        part->due_nsec = part->renew_nsec = LOAD_NEVER;
        part->over = !part->count;
        if (part->over) continue;
        if (source->due) part->due_nsec = source->due(source->context, w->number);
        if (part->stream->renew_nsec) part->renew_nsec = 0;
        part->over = source->due && part->due_nsec == LOAD_NEVER && !load->duration_nsec;
        for (uint32_t i = 0; i < part->count && !is_stopped(w); i++)
            rest_slot(&part->slots[i], worker_clock(w));
    }
    w->tick_nsec = load->tick && !w->number ? 0 : LOAD_NEVER;
}

/* The first stream sends nothing more but what waits in line; the others send nothing more. */
static void begin_drain(struct load_worker *w) {
    for (unsigned p = 1; p < w->common->load->stream_count; p++) end_part(&w->parts[p]);
    w->parts[0].renew_nsec = w->tick_nsec = LOAD_NEVER;
}

/* Sends and receives until the load's end. */
static void run_turns(struct load_worker *w) {
    const struct load *load = w->common->load;
    int64_t drained = 0;
    while (!is_stopped(w)) {
        int64_t until = w->has_schedule ? do_due(w) : 0;
        if (w->parts[0].over) {
            if (!drained) {
                begin_drain(w);
                drained = load->drain_nsec ? worker_clock(w) + load->drain_nsec : LOAD_NEVER;
            }
            if (!w->flights && !w->parts[0].line_count) return;
            if (load->drain_nsec && worker_clock(w) >= drained) return;
        }
        serve_events(w, until);
    }
}

/* What is still open when the load is over is told as unanswered. */
static void tell_rest(struct load_worker *w) {
    for (unsigned p = 0; p < w->common->load->stream_count; p++) {
        struct load_part *part = &w->parts[p];
        for (uint32_t i = 0; i < part->count; i++)
            tell_flights(&part->slots[i], LOAD_UNANSWERED, w->end_nsec);
        while (part->line_count) tell_unsent(part, pop_line(part), LOAD_UNANSWERED, w->end_nsec);
    }
}

void load_worker_run(struct load_worker *w) {
    const struct load *load = w->common->load;
    int64_t cpu = clock_thread_cpu_nsec();
    w->last_reply_nsec = load->warmup_nsec;
    load_late_begin(&w->late, worker_clock(w));
    /* The least timer slack, because the kernel's default delays each due time by 50 us. */
    if (w->has_schedule) (void)prctl(PR_SET_TIMERSLACK, 1);
    begin_parts(w);
    run_turns(w);
    w->end_nsec = worker_clock(w);
    w->cpu_nsec = clock_thread_cpu_nsec() - cpu;
    load_late_end(&w->late);
    tell_rest(w);
}

/* --- a thread --------------------------------------------------------------------------------- */

/* A slot that is connected while the load opens. Returns whether the slot is ready. */
static bool open_slot(struct load_worker *w, struct load_slot *slot, uint32_t events) {
    char reason[LOAD_REASON_CHARS];
    if (!load_connection_advance(&slot->connection, target_of(slot), w->epoll, events, &w->reader,
                                 reason))
        load_worker_give_up(w->common, reason);
    return load_connection_is_ready(&slot->connection);
}

static void open_part(struct load_worker *w, struct load_part *part) {
    struct epoll_event events[EVENTS_MAX];
    char reason[LOAD_REASON_CHARS];
    uint32_t begun = 0, ready = 0;
    while (ready < part->count && !is_stopped(w)) {
        while (begun < part->count && begun - ready < CONNECTING_MAX) {
            struct load_slot *slot = &part->slots[begun++];
            if (!load_connection_connect(&slot->connection, target_of(slot), w->epoll, reason)) {
                load_worker_give_up(w->common, reason);
                return;
            }
        }
        int count = system_epoll_wait(w->epoll, events, EVENTS_MAX, (int)(TICK_NSEC / 1000000));
        for (int i = 0; i < count && !is_stopped(w); i++) {
            struct load_slot *slot = events[i].data.ptr;
            bool was_ready = load_connection_is_ready(&slot->connection);
            ready += open_slot(w, slot, events[i].events) && !was_ready && slot->part == part;
        }
    }
}

void load_worker_open(struct load_worker *w) {
    for (unsigned p = 0; p < w->common->load->stream_count && !is_stopped(w); p++)
        open_part(w, &w->parts[p]);
}

static void init_part(struct load_worker *w, unsigned index) {
    const struct load *load = w->common->load;
    const struct load_stream *stream = &load->streams[index];
    struct load_part *part = &w->parts[index];
    uint32_t each = stream->connections / load->threads, more = stream->connections % load->threads;
    *part = (struct load_part){.worker = w,
                               .stream = stream,
                               .targets = w->common->targets[index],
                               .index = index,
                               .count = each + (w->number < more)};
    uint32_t first = each * w->number + (w->number < more ? w->number : more);
    part->slots = memory_zalloc((part->count + 1) * sizeof(*part->slots), MEMORY_OTHER);
    part->idle = memory_zalloc((part->count + 1) * sizeof(struct load_slot *), MEMORY_OTHER);
    for (uint32_t i = 0; i < part->count; i++) {
        part->slots[i].part = part;
        part->slots[i].number = first + i;
        part->slots[i].target = (first + i) % stream->target_count;
        load_connection_init(&part->slots[i].connection);
    }
    w->has_schedule |= stream->source.due != NULL;
    if (stream->sink.body) w->reader.body = take_body;
}

bool load_worker_init(struct load_worker *w, struct load_common *common, unsigned number) {
    const struct load *load = common->load;
    *w = (struct load_worker){.common = common, .number = number, .late.schedstat = -1};
    w->reader = (struct load_reader){.owner = w,
                                     .buffer = memory_alloc(LOAD_READ_BYTES, MEMORY_OTHER),
                                     .room = LOAD_READ_BYTES,
                                     .answered = take_answers};
    w->latency = memory_zalloc(sizeof(*w->latency), MEMORY_OTHER);
    w->chance = (load->seed + number) * UINT64_C(0x9e3779b97f4a7c15) | 1;
    w->has_schedule = load->tick && !number;
    w->parts = memory_zalloc(load->stream_count * sizeof(*w->parts), MEMORY_OTHER);
    for (unsigned p = 0; p < load->stream_count; p++) init_part(w, p);
    w->epoll = epoll_create1(EPOLL_CLOEXEC);
    return w->epoll >= 0;
}

void load_worker_free(struct load_worker *w) {
    for (unsigned p = 0; p < w->common->load->stream_count; p++) {
        struct load_part *part = &w->parts[p];
        for (uint32_t i = 0; i < part->count; i++) load_connection_free(&part->slots[i].connection);
        memory_free(part->slots, MEMORY_OTHER);
        memory_free(part->idle, MEMORY_OTHER);
        memory_free(part->line, MEMORY_OTHER);
    }
    if (w->epoll >= 0) system_close(w->epoll);
    memory_free(w->parts, MEMORY_OTHER);
    memory_free(w->reader.buffer, MEMORY_OTHER);
    memory_free(w->latency, MEMORY_OTHER);
}
