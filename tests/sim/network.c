/* SPDX-License-Identifier: BSD-3-Clause
 * Simulated connections. network.h has the idea.
 *
 * Invariants
 *  1. read <= arrived <= written <= read + room_bytes in each stream; segments are in order.
 *  2. A link is free once both ends are closed: what was still on its way is nobody's.
 *  3. What arrives at a closed end is answered with a reset.
 */
#include "sim/network.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>

#include "sim/world.h"

#define FIRST_PORT 7001
#define FIRST_OUTER_PORT 30000
#define RETRY_NSEC NSEC_PER_SEC /* of a call that was not answered */
#define CALL_TIMEOUT_NSEC (60 * NSEC_PER_SEC)
#define LOST_TIMEOUT_NSEC (200 * NSEC_PER_SEC) /* until a system gives a lost link up */

struct network *network;

void network_make(void) {
    network = mmap(NULL, sizeof(*network), PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (network == MAP_FAILED) abort();
    for (int i = 0; i < LINKS_MAX; i++) {
        for (int end = 0; end < 2; end++) {
            network->links[i].streams[end].segments = network->segments[i][end];
            network->links[i].streams[end].bytes = network->bytes[i][end];
        }
    }
}

int network_port(int node) { return FIRST_PORT + node; }

static bool is_up(int node) { return node == OUTSIDE || world->nodes[node].up; }

/* Whether what `from` sends comes to `to` now. */
static bool passes(int from, int to) {
    if (to == from) return true;
    if (to == OUTSIDE) return !world->nodes[from].cut[NODES_MAX];
    return !world->nodes[to].cut[from == OUTSIDE ? NODES_MAX : from];
}

static int64_t trip_nsec(const struct link *l) {
    int64_t trip = l->latency_nsec + (int64_t)draw((uint64_t)l->latency_nsec);
    return once_in(64) ? trip + draw_scale(200 * NSEC_PER_MSEC) : trip;
}

/* ---- Beginning and ending ---- */

int network_listen(int node, int port) {
    int spare = -1;
    for (int i = 0; i < LISTENERS_MAX; i++) {
        const struct listener *l = &network->listeners[i];
        if (!l->open) spare = i;
        if (l->open && l->node == node && l->port == port) {
            errno = EADDRINUSE;
            return -1;
        }
    }
    if (spare < 0) abort();
    network->listeners[spare] =
        (struct listener){.open = true, .node = node, .port = port, .references = 1};
    note("listens", node, port, 0);
    return spare;
}

static void clear(struct link *l) {
    for (int e = 0; e < 2; e++) {
        struct stream *s = &l->streams[e];
        s->written = s->arrived = s->read = 0;
        s->first = s->count = 0;
        s->ends = s->ended = false;
        l->ends[e] = (struct link_end){0};
    }
}

int network_call(int node, int to_node, int port) {
    for (int i = 0; i < LINKS_MAX; i++) {
        struct link *l = &network->links[i];
        if (l->state != LINK_FREE) continue;
        clear(l);
        if (i >= network->links_end) network->links_end = i + 1;
        l->state = LINK_CALLS;
        l->number = network->links_made++;
        network->node_links_made += node != OUTSIDE;
        l->lost = false;
        l->latency_nsec = 20 * NSEC_PER_USEC + draw_scale(2 * NSEC_PER_MSEC);
        l->room_bytes = (size_t)4096 << draw(5);
        l->began_nsec = world->now_nsec;
        l->due_nsec = world->now_nsec + trip_nsec(l);
        l->ends[0] = (struct link_end){
            .node = node, .port = FIRST_OUTER_PORT + (int)(l->number % 30000), .references = 1};
        l->ends[1] = (struct link_end){.node = to_node, .port = port};
        note("calls", i, node, to_node);
        return i;
    }
    errno = EMFILE;
    return -1;
}

int network_accept(int listener) {
    int best = -1;
    for (int i = 0; i < network->links_end; i++) {
        const struct link *l = &network->links[i];
        if (l->state != LINK_QUEUED || l->listener != listener) continue;
        if (best < 0 || l->number < network->links[best].number) best = i;
    }
    if (best < 0) {
        errno = EAGAIN;
        return -1;
    }
    struct link *l = &network->links[best];
    l->state = LINK_OPEN;
    l->ends[1].references = 1;
    note("accepts", best, listener, 0);
    return best;
}

static void send_reset(struct link *l, int to, int64_t after_nsec) {
    if (l->lost || l->ends[to].closed || l->ends[to].reset_nsec || l->ends[to].dead) return;
    l->ends[to].reset_nsec = world->now_nsec + after_nsec;
}

static void set_closed(struct link *l, int end) {
    l->ends[end].closed = true;
    if (l->ends[!end].closed) l->state = LINK_FREE;
}

static void close_end(int link, int end) {
    struct link *l = &network->links[link];
    struct stream *in = &l->streams[!end], *out = &l->streams[end];
    note("closes", link, end, (long)(in->written - in->read));
    if (in->arrived > in->read) {
        send_reset(l, !end, trip_nsec(l));
    } else if (!out->ends) {
        int64_t last =
            out->count ? out->segments[(out->first + out->count - 1) % SEGMENTS_MAX].at_nsec : 0;
        int64_t at = world->now_nsec + trip_nsec(l);
        out->ends = true;
        out->ends_nsec = at > last ? at : last;
    }
    set_closed(l, end);
}

static void refuse_queued(int listener) {
    for (int i = 0; i < network->links_end; i++) {
        struct link *l = &network->links[i];
        if (l->state != LINK_QUEUED || l->listener != listener) continue;
        send_reset(l, 0, trip_nsec(l));
        set_closed(l, 1);
        if (l->state != LINK_FREE) l->state = LINK_OPEN;
    }
}

void network_hold_listener(int listener) { network->listeners[listener].references++; }

void network_release_listener(int listener) {
    struct listener *l = &network->listeners[listener];
    if (--l->references) return;
    l->open = false;
    refuse_queued(listener);
}

void network_hold(int link, int end) { network->links[link].ends[end].references++; }

void network_release(int link, int end) {
    struct link_end *e = &network->links[link].ends[end];
    if (e->references < 1) abort();
    if (--e->references == 0) close_end(link, end);
}

void network_release_all(struct task *t) {
    for (int fd = 0; fd < t->fds_end; fd++) {
        if (t->fds[fd].kind == FD_LINK) network_release(t->fds[fd].index, t->fds[fd].end);
        if (t->fds[fd].kind == FD_LISTENER) network_release_listener(t->fds[fd].index);
    }
    t->fds_end = 0;
}

/* ---- Bytes ---- */

static void copy_in(struct stream *s, const uint8_t *bytes, size_t length) {
    for (size_t done = 0; done < length;) {
        size_t at = (size_t)(s->written % STREAM_BYTES), part = STREAM_BYTES - at;
        if (part > length - done) part = length - done;
        memcpy(s->bytes + at, bytes + done, part);
        s->written += part;
        done += part;
    }
}

static void add_segment(struct link *l, struct stream *s) {
    int64_t at = world->now_nsec + trip_nsec(l);
    if (s->count) {
        int64_t last = s->segments[(s->first + s->count - 1) % SEGMENTS_MAX].at_nsec;
        if (at < last) at = last;
    }
    unsigned i = (s->first + s->count++) % SEGMENTS_MAX;
    s->segments[i].end = s->written;
    s->segments[i].at_nsec = at;
    s->segments[i].sent_nsec = world->now_nsec;
}

static long fail(int error) {
    errno = error;
    return -1;
}

static int take_error(struct link_end *e) {
    int error = e->error;
    e->error = 0;
    return error;
}

long network_send(int link, int end, const void *bytes, size_t length) {
    struct link *l = &network->links[link];
    struct stream *s = &l->streams[end];
    if (l->ends[end].error) return fail(take_error(&l->ends[end]));
    if (l->ends[end].dead) return fail(EPIPE);
    if (l->state == LINK_CALLS) return fail(EAGAIN);
    size_t room = l->room_bytes - (size_t)(s->written - s->read);
    if (length == 0) return 0;
    if (room == 0 || s->count == SEGMENTS_MAX) return fail(EAGAIN);
    if (length > room) length = room;
    if (once_in(16)) length = 1 + (size_t)draw(length);
    copy_in(s, bytes, length);
    add_segment(l, s);
    note("sends", link, end, (long)length);
    return (long)length;
}

long network_receive(int link, int end, void *bytes, size_t length) {
    struct link *l = &network->links[link];
    struct stream *s = &l->streams[!end];
    size_t there = (size_t)(s->arrived - s->read);
    if (there == 0) {
        if (l->ends[end].error) return fail(take_error(&l->ends[end]));
        if (l->ends[end].dead || s->ended) return 0;
        return fail(EAGAIN);
    }
    if (length > there) length = there;
    if (length > 1 && once_in(16)) length = 1 + (size_t)draw(length);
    for (size_t done = 0; done < length;) {
        size_t at = (size_t)(s->read % STREAM_BYTES), part = STREAM_BYTES - at;
        if (part > length - done) part = length - done;
        memcpy((uint8_t *)bytes + done, s->bytes + at, part);
        s->read += part;
        done += part;
    }
    note("receives", link, end, (long)length);
    return (long)length;
}

uint32_t network_ready(int link, int end) {
    const struct link *l = &network->links[link];
    const struct stream *in = &l->streams[!end], *out = &l->streams[end];
    if (l->ends[end].dead) return EPOLLIN | EPOLLOUT | EPOLLERR | EPOLLHUP | EPOLLRDHUP;
    if (l->state == LINK_CALLS) return 0;
    uint32_t ready = 0;
    if (in->arrived > in->read) ready |= EPOLLIN;
    if (in->ended) ready |= EPOLLIN | EPOLLRDHUP;
    /* As Linux: writable once a third of the room is free. */
    if ((out->written - out->read) * 3 < l->room_bytes * 2 && out->count < SEGMENTS_MAX)
        ready |= EPOLLOUT;
    return ready;
}

uint32_t network_listener_ready(int listener) {
    for (int i = 0; i < network->links_end; i++)
        if (network->links[i].state == LINK_QUEUED && network->links[i].listener == listener)
            return EPOLLIN;
    return 0;
}

int network_take_error(int link, int end) { return take_error(&network->links[link].ends[end]); }

/* ---- What happens by itself ---- */

static void be_reset(int link, int end, int error) {
    struct link_end *e = &network->links[link].ends[end];
    e->dead = true;
    e->error = error;
    e->reset_nsec = 0;
    note("reset", link, end, error);
}

static int find_listener(int node, int port) {
    for (int i = 0; i < LISTENERS_MAX; i++) {
        const struct listener *l = &network->listeners[i];
        if (l->open && l->node == node && l->port == port) return i;
    }
    return -1;
}

static void deliver_call(int link) {
    struct link *l = &network->links[link];
    int from = l->ends[0].node, to = l->ends[1].node;
    if (l->due_nsec > world->now_nsec) return;
    if (l->due_nsec - l->began_nsec > CALL_TIMEOUT_NSEC) {
        set_closed(l, 1);
        be_reset(link, 0, ETIMEDOUT);
        if (l->state != LINK_FREE) l->state = LINK_OPEN;
    } else if (l->lost || !is_up(to) || !passes(from, to) || !passes(to, from)) {
        l->due_nsec = world->now_nsec + RETRY_NSEC;
    } else if ((l->listener = find_listener(to, l->ends[1].port)) < 0) {
        set_closed(l, 1);
        be_reset(link, 0, ECONNREFUSED);
        if (l->state != LINK_FREE) l->state = LINK_OPEN;
    } else {
        l->state = LINK_QUEUED;
    }
}

static int64_t seen_sent_nsec;

int64_t network_seen_sent_nsec(void) { return seen_sent_nsec; }

/* The stream's bytes from `from` to `end` have come. */
static void show_bytes(int link, int end, const struct stream *s, uint64_t from, uint64_t until,
                       network_observer *seen) {
    for (uint64_t at = from; at < until;) {
        size_t place = (size_t)(at % STREAM_BYTES), part = STREAM_BYTES - place;
        if (part > until - at) part = (size_t)(until - at);
        seen(link, end, s->bytes + place, part);
        at += part;
    }
}

static void deliver_bytes(int link, int end, network_observer *seen) {
    struct link *l = &network->links[link];
    struct stream *s = &l->streams[!end];
    uint64_t from = s->arrived;
    while (s->count && s->segments[s->first].at_nsec <= world->now_nsec) {
        uint64_t begin = s->arrived;
        s->arrived = s->segments[s->first].end;
        seen_sent_nsec = s->segments[s->first].sent_nsec;
        s->first = (s->first + 1) % SEGMENTS_MAX;
        s->count--;
        if (!l->ends[end].closed) show_bytes(link, end, s, begin, s->arrived, seen);
    }
    if (s->arrived > from && l->ends[end].closed) {
        send_reset(l, !end, trip_nsec(l));
        return;
    }
    if (s->ends && !s->ended && !s->count && s->ends_nsec <= world->now_nsec) {
        s->ended = true;
        note("end", link, end, 0);
    }
}

static void deliver_to(int link, int end, network_observer *seen) {
    struct link *l = &network->links[link];
    struct link_end *e = &l->ends[end];
    int64_t reset_nsec = e->reset_nsec;
    if (!is_up(e->node)) return;
    if (!passes(l->ends[!end].node, e->node)) {
        if (reset_nsec && reset_nsec <= world->now_nsec) e->reset_nsec = 0; /* nobody repeats it */
        return;
    }
    deliver_bytes(link, end, seen);
    if (l->state == LINK_FREE || !reset_nsec || reset_nsec > world->now_nsec) return;
    e->reset_nsec = 0;
    if (!e->closed) be_reset(link, end, ECONNRESET);
}

static bool is_given_up(const struct link *l) {
    return (l->ends[0].closed || l->ends[0].dead) && (l->ends[1].closed || l->ends[1].dead);
}

static void give_up(int link) {
    for (int e = 0; e < 2; e++) {
        if (!network->links[link].ends[e].closed && !network->links[link].ends[e].dead)
            be_reset(link, e, ETIMEDOUT);
    }
}

void network_deliver(network_observer *seen) {
    for (int i = 0; i < network->links_end; i++) {
        struct link *l = &network->links[i];
        if (l->state == LINK_FREE) continue;
        if (l->state == LINK_CALLS) {
            deliver_call(i);
        } else if (l->lost) {
            if (world->now_nsec - l->lost_nsec > LOST_TIMEOUT_NSEC) give_up(i);
        } else {
            deliver_to(i, 0, seen);
            if (l->state != LINK_FREE) deliver_to(i, 1, seen);
        }
    }
}

static int64_t next_of_end(const struct link *l, int end) {
    const struct stream *s = &l->streams[!end];
    int64_t next = NEVER;
    if (!is_up(l->ends[end].node) || !passes(l->ends[!end].node, l->ends[end].node)) return NEVER;
    if (s->count)
        next = s->segments[s->first].at_nsec;
    else if (s->ends && !s->ended)
        next = s->ends_nsec;
    if (l->ends[end].reset_nsec && l->ends[end].reset_nsec < next) next = l->ends[end].reset_nsec;
    return next;
}

static int64_t next_of(const struct link *l) {
    if (l->state == LINK_FREE) return NEVER;
    if (l->state == LINK_CALLS) return l->due_nsec;
    if (l->lost) return is_given_up(l) ? NEVER : l->lost_nsec + LOST_TIMEOUT_NSEC + 1;
    int64_t first = next_of_end(l, 0), second = next_of_end(l, 1);
    return first < second ? first : second;
}

int64_t network_next_nsec(void) {
    int64_t next = NEVER;
    for (int i = 0; i < network->links_end; i++) {
        int64_t one = next_of(&network->links[i]);
        if (one < next) next = one;
    }
    return next;
}

void network_lose(int link) {
    struct link *l = &network->links[link];
    if (l->state != LINK_OPEN || l->lost) return;
    l->lost = true;
    l->lost_nsec = world->now_nsec;
    note("loses", link, 0, 0);
}

void network_reset(int link) {
    struct link *l = &network->links[link];
    if (l->state != LINK_OPEN || l->lost) return;
    send_reset(l, 0, 1 + (int64_t)draw((uint64_t)NSEC_PER_SEC));
    send_reset(l, 1, 1 + (int64_t)draw((uint64_t)NSEC_PER_SEC));
}

void network_vanish(int node) {
    for (int i = 0; i < network->links_end; i++) {
        struct link *l = &network->links[i];
        for (int e = 0; e < 2 && l->state != LINK_FREE; e++) {
            if (l->ends[e].node != node) continue;
            if (e == 1 && l->state == LINK_CALLS) continue; /* it goes on trying */
            if (e == 1 && l->state == LINK_QUEUED) l->state = LINK_OPEN;
            l->ends[e].references = 0;
            set_closed(l, e);
        }
    }
    for (int i = 0; i < LISTENERS_MAX; i++)
        if (network->listeners[i].node == node) network->listeners[i].open = false;
}
