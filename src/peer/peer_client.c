/* SPDX-License-Identifier: BSD-3-Clause
 * The client of other servers. peer_client.h has the idea and the states.
 *
 * Invariants
 *  1. `lookup` exists exactly in LOOKS_UP; `peer` is closed in LOOKS_UP and CLOSED. In CLOSED
 *     nothing is watched and the queue is empty.
 *  2. The end and the beginning of a connection raise `generation`. It is compared after each call
 *     of the owner's functions: if it has changed, the work under way is over.
 *  3. asked[first .. first + count), a ring, holds the unanswered requests in order. The `end` of a
 *     request is its end in the connection's output, counted in bytes; `written_bytes` of that
 *     output are written. Output that the end of the connection dropped was not written.
 *  4. While one of the owner's functions runs (`busy`), the struct stays allocated, even if it was
 *     freed (`doomed`).
 *  5. The timer runs while a step has a time limit, or while the client waits to connect again. Its
 *     callback only has the client served in the next round, because the callback's result would
 *     undo what that work does to the timer.
 */
#include "peer/peer_client.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/panic.h"
#include "io/lookup.h"
#include "io/loop.h"
#include "io/socket.h"

#define REASON_CHARS 192
/* Reads in one wake; peer/peer bounds each of them. The rest is read in the next turn. */
#define ROUNDS_MAX 16
#define ASKED_AT_FIRST 8
#define NSEC_PER_MSEC 1000000
/* A longer time limit is none, so that sums of moments and spans do not overflow. */
#define PATIENCE_MSEC_MAX (INT64_MAX / NSEC_PER_MSEC / 2)
#define LATE "no answer in time"

struct asked {
    struct peer_request request;
    uint64_t end;
};

struct peer_client {
    struct peer_client_settings settings;
    struct peer_address address; /* its strings belong to the client */
    struct peer *peer;
    struct lookup *lookup;
    enum peer_client_state state;
    bool by_turns; /* the owner drives the client by turns, not the loop */
    bool raw;      /* the owner takes the input as bytes, not as replies */
    bool late;
    bool doomed;
    unsigned busy;
    uint64_t generation;
    struct loop_watcher watcher;
    struct loop_pending pending;
    struct loop_timer timer;
    bool timer_runs;
    int64_t patience_nsec, since_nsec; /* the limit, 0 = none; when the last step was made */
    int64_t again_nsec;                /* when the client connects again; 0 = it does not */
    struct asked *asked;
    uint32_t capacity, first, count;
    uint64_t output_bytes, written_bytes; /* of this connection */
    char reason[REASON_CHARS];
};

static const struct peer_client_events no_events;

static void client_ready(struct loop_watcher *watcher, unsigned ready);
static int64_t timer_due(struct loop_timer *timer);

/* ---- life ---- */

struct peer_client *peer_client_create(const struct peer_client_settings *settings) {
    ASSERT(!settings->takes || (!settings->loop && !settings->unasked));
    struct peer_client *c = memory_zalloc(sizeof(*c), settings->class);
    c->settings = *settings;
    if (!settings->events) c->settings.events = &no_events;
    c->peer = peer_create(settings->class, &settings->reply);
    c->watcher = (struct loop_watcher){.fd = -1, .callback = client_ready};
    c->pending.watcher = &c->watcher;
    c->timer.callback = timer_due;
    return c;
}

static void forget_address(struct peer_client *c) {
    memory_free((char *)(uintptr_t)c->address.host, c->settings.class);
    memory_free((char *)(uintptr_t)c->address.source, c->settings.class);
    memory_free((char *)(uintptr_t)c->address.path, c->settings.class);
    c->address = (struct peer_address){0};
}

static char *own_text(const struct peer_client *c, const char *text) {
    return text ? memory_strdup(text, c->settings.class) : NULL;
}

static void keep_address(struct peer_client *c, const struct peer_address *address) {
    struct peer_address own = *address;
    own.host = own_text(c, address->host);
    own.source = own_text(c, address->source);
    own.path = own_text(c, address->path);
    forget_address(c);
    c->address = own;
}

static void destroy_client(struct peer_client *c) {
    forget_address(c);
    peer_free(c->peer);
    memory_free(c, c->settings.class);
}

static void enter_owner(struct peer_client *c) { c->busy++; }

static void leave_owner(struct peer_client *c) {
    if (--c->busy == 0 && c->doomed) destroy_client(c);
}

void peer_client_free(struct peer_client *c) {
    if (!c) return;
    peer_client_close(c);
    c->doomed = true;
    if (!c->busy) destroy_client(c);
}

static void stop_timer(struct peer_client *c) {
    if (c->timer_runs) loop_timer_stop(c->settings.loop, &c->timer);
    c->timer_runs = false;
}

/* Ends the loop's watch of the client. To be called before the descriptor is closed or replaced. */
static void unwatch_client(struct peer_client *c) {
    if (!c->settings.loop) return;
    loop_unwatch(c->settings.loop, &c->watcher);
    loop_pending_end(c->settings.loop, &c->pending);
    stop_timer(c);
}

/* Closes the client without calling the owner. */
static void shut_client(struct peer_client *c) {
    unwatch_client(c);
    lookup_drop(c->lookup);
    c->lookup = NULL;
    peer_close(c->peer);
    memory_free(c->asked, c->settings.class);
    c->asked = NULL;
    c->capacity = c->first = c->count = 0;
    c->output_bytes = c->written_bytes = 0;
    c->by_turns = !c->settings.loop;
    c->raw = c->late = false;
    c->again_nsec = 0;
    c->reason[0] = '\0';
    c->state = PEER_CLIENT_CLOSED;
    c->generation++;
}

void peer_client_close(struct peer_client *c) { shut_client(c); }

/* ---- patience ---- */

static size_t unsent_bytes(const struct peer_client *c) { return peer_unsent_bytes(c->peer); }

/* Whether the client waits for a step of the other side, or of the resolver. */
static bool is_waiting(const struct peer_client *c) {
    if (c->state == PEER_CLIENT_CLOSED) return false;
    return c->state != PEER_CLIENT_OPEN || c->count || unsent_bytes(c);
}

static void note_step(struct peer_client *c) { c->since_nsec = clock_monotonic_nsec(); }

/* INT64_MAX if there is no time limit. */
static int64_t patience_left_nsec(const struct peer_client *c) {
    if (!c->patience_nsec || !is_waiting(c)) return INT64_MAX;
    int64_t left = c->since_nsec + c->patience_nsec - clock_monotonic_nsec();
    return left > 0 ? left : 0;
}

static int64_t msec_of(int64_t nsec) { return nsec / NSEC_PER_MSEC + (nsec % NSEC_PER_MSEC != 0); }

static int64_t timer_due(struct loop_timer *timer) {
    struct peer_client *c = LIST_ENTRY(timer, struct peer_client, timer);
    c->timer_runs = false;
    loop_pending_begin(c->settings.loop, &c->pending);
    return LOOP_TIMER_END;
}

/* A timer that runs already ends sooner, and the time left is looked at again then. */
static void start_timer(struct peer_client *c, int64_t after_nsec) {
    if (c->timer_runs || after_nsec == INT64_MAX) return;
    loop_timer_start(c->settings.loop, &c->timer, msec_of(after_nsec));
    c->timer_runs = true;
}

void peer_client_set_patience(struct peer_client *c, int64_t msec) {
    c->patience_nsec = msec < PATIENCE_MSEC_MAX ? msec * NSEC_PER_MSEC : 0;
    note_step(c);
    if (c->by_turns || c->state == PEER_CLIENT_CLOSED) return;
    stop_timer(c);
    start_timer(c, patience_left_nsec(c));
}

bool peer_client_was_late(const struct peer_client *c) { return c->late; }

/* ---- the end ---- */

/* Calls `answered` without a reply for each unanswered request, until the owner closes the client
 * or connects it again. */
static void tell_unanswered(struct peer_client *c, const struct asked *ring, uint32_t capacity,
                            uint32_t first, uint32_t count) {
    uint64_t generation = c->generation;
    for (uint32_t i = 0; i < count && c->generation == generation; i++) {
        const struct peer_request *request = &ring[(first + i) % capacity].request;
        request->answered(c->settings.owner, request->about, NULL);
    }
}

/* Ends a connection that its owner has not closed, and tells the owner. */
static void end_connection(struct peer_client *c, bool late, const char *why) {
    char reason[REASON_CHARS];
    struct asked *ring = c->asked;
    uint32_t capacity = c->capacity, first = c->first, count = c->count;
    bool by_turns = c->by_turns;
    snprintf(reason, sizeof(reason), "%s", why);
    c->asked = NULL;
    shut_client(c);
    memcpy(c->reason, reason, sizeof(reason));
    c->late = late;
    uint64_t generation = c->generation;
    if (c->settings.again_msec && !by_turns) {
        int64_t pause_nsec = c->settings.again_msec * NSEC_PER_MSEC;
        c->again_nsec = clock_monotonic_nsec() + pause_nsec;
        start_timer(c, pause_nsec);
    }
    tell_unanswered(c, ring, capacity, first, count);
    memory_free(ring, c->settings.class);
    if (c->generation == generation && !by_turns && c->settings.events->ended)
        c->settings.events->ended(c->settings.owner);
}

void peer_client_give_up(struct peer_client *c, const char *why) {
    if (c->state == PEER_CLIENT_CLOSED) return;
    enter_owner(c);
    end_connection(c, false, why);
    leave_owner(c);
}

/* ---- connecting ---- */

static bool refuse_connecting(struct peer_client *c, const char *why) {
    char reason[REASON_CHARS];
    snprintf(reason, sizeof(reason), "%s", why);
    shut_client(c);
    memcpy(c->reason, reason, sizeof(reason));
    return false;
}

/* Watches the events that the client now waits for, and starts the timer. False, with the reason
 * set, if that fails. */
static bool watch_client(struct peer_client *c) {
    bool looks_up = c->state == PEER_CLIENT_LOOKS_UP;
    if (c->by_turns) return true;
    c->watcher.fd = looks_up ? lookup_fd(c->lookup) : peer_fd(c->peer);
    if (!loop_watch(c->settings.loop, &c->watcher,
                    looks_up ? LOOP_READABLE : peer_interest(c->peer))) {
        snprintf(c->reason, sizeof(c->reason), "epoll: %s", strerror(errno));
        return false;
    }
    start_timer(c, patience_left_nsec(c));
    return true;
}

/* Connects to a numeric address, or to a path. False, with the reason set, if that fails. */
static bool connect_to(struct peer_client *c, const char *host) {
    struct peer_address address = c->address;
    address.host = host;
    bool begun = peer_connect(c->peer, &address);
    if (!begun && address.source && *address.source) {
        address.source = NULL;
        begun = peer_connect(c->peer, &address);
    }
    if (!begun) return refuse_connecting(c, peer_error(c->peer));
    c->state = PEER_CLIENT_CONNECTS;
    note_step(c);
    return watch_client(c) || refuse_connecting(c, c->reason);
}

/* Connects to the address that was kept. */
static bool begin_connecting(struct peer_client *c) {
    char why[REASON_CHARS];
    if (c->address.path || socket_is_address(c->address.host))
        return connect_to(c, c->address.host);
    c->lookup = lookup_begin(c->address.host, why, sizeof(why));
    if (!c->lookup) return refuse_connecting(c, why);
    c->state = PEER_CLIENT_LOOKS_UP;
    note_step(c);
    return watch_client(c) || refuse_connecting(c, c->reason);
}

bool peer_client_connect(struct peer_client *c, const struct peer_address *address) {
    shut_client(c);
    keep_address(c, address);
    return begin_connecting(c);
}

/* Takes the resolver's answer. */
static void take_address(struct peer_client *c) {
    char host[SOCKET_ADDRESS_CHARS], why[REASON_CHARS];
    bool by_turns = c->by_turns;
    unwatch_client(c);
    bool good = lookup_take(c->lookup, host, why, sizeof(why));
    c->lookup = NULL;
    if (good && !connect_to(c, host)) {
        snprintf(why, sizeof(why), "%s", c->reason);
        c->by_turns = by_turns;
        good = false;
    }
    if (!good)
        end_connection(c, false, why);
    else if (!by_turns && c->settings.events->connects)
        c->settings.events->connects(c->settings.owner);
}

static void begin_again(struct peer_client *c) {
    char why[REASON_CHARS];
    if (!c->again_nsec) return;
    if (c->again_nsec > clock_monotonic_nsec()) {
        start_timer(c, c->again_nsec - clock_monotonic_nsec());
        return;
    }
    c->again_nsec = 0;
    c->generation++;
    if (begin_connecting(c)) return;
    snprintf(why, sizeof(why), "%s", c->reason);
    end_connection(c, false, why);
}

enum peer_client_state peer_client_state(const struct peer_client *c) { return c->state; }
const char *peer_client_error(const struct peer_client *c) { return c->reason; }

/* ---- requests ---- */

/* Whether there is a connection, or one is being made. */
static bool is_connected(const struct peer_client *c) {
    return c->state == PEER_CLIENT_CONNECTS || c->state == PEER_CLIENT_OPEN;
}

static void grow_queue(struct peer_client *c) {
    uint32_t capacity = c->capacity ? c->capacity * 2 : ASKED_AT_FIRST;
    struct asked *ring = memory_alloc(capacity * sizeof(*ring), c->settings.class);
    for (uint32_t i = 0; i < c->count; i++) ring[i] = c->asked[(c->first + i) % c->capacity];
    memory_free(c->asked, c->settings.class);
    c->asked = ring;
    c->capacity = capacity;
    c->first = 0;
}

static void note_written(struct peer_client *c) {
    c->written_bytes = c->output_bytes - unsent_bytes(c);
}

/* Called after bytes were appended to the output, of which `before` were unsent. If the connection
 * has ended, which the client does not know yet, nothing was appended: then one byte is counted,
 * which is never written. */
static void note_output(struct peer_client *c, size_t before, bool waited) {
    size_t appended = unsent_bytes(c) - before;
    c->output_bytes += appended ? appended : 1;
    if (!waited) note_step(c);
    if (c->state != PEER_CLIENT_OPEN || c->busy || c->by_turns) return;
    bool lives = peer_write(c->peer);
    if (lives) note_written(c);
    /* The end of the connection, or a failure of epoll, is told in the next turn. So is input that
     * was held back: it may now be an answer, and the socket does not become readable for it. */
    if (!lives || !watch_client(c) || peer_has_input(c->peer))
        loop_pending_begin(c->settings.loop, &c->pending);
}

/* Whether the queue has room for one more request. */
static bool may_ask(const struct peer_client *c) {
    return is_connected(c) && !c->raw && c->count < c->settings.asked_max;
}

static void note_request(struct peer_client *c, const struct peer_request *request, size_t before,
                         bool waited) {
    if (c->count == c->capacity) grow_queue(c);
    struct asked *asked = &c->asked[(c->first + c->count++) % c->capacity];
    asked->request = *request;
    note_output(c, before, waited);
    asked->end = c->output_bytes;
}

bool peer_client_ask(struct peer_client *c, const struct peer_request *request,
                     const struct slice *words, size_t count) {
    size_t before = unsent_bytes(c);
    bool waited = is_waiting(c);
    if (!may_ask(c)) return false;
    peer_send(c->peer, words, count);
    note_request(c, request, before, waited);
    return true;
}

bool peer_client_ask_bytes(struct peer_client *c, const struct peer_request *request,
                           struct slice bytes) {
    size_t before = unsent_bytes(c);
    bool waited = is_waiting(c);
    if (!may_ask(c)) return false;
    peer_send_bytes(c->peer, bytes);
    note_request(c, request, before, waited);
    return true;
}

size_t peer_auth_words(struct slice words[PEER_AUTH_WORDS_MAX], struct slice user,
                       struct slice password) {
    size_t count = 0;
    words[count++] = SLICE("AUTH");
    if (user.bytes) words[count++] = user;
    words[count++] = password;
    return count;
}

bool peer_client_ask_auth(struct peer_client *c, const struct peer_request *request,
                          struct slice user, struct slice password) {
    struct slice words[PEER_AUTH_WORDS_MAX];
    return peer_client_ask(c, request, words, peer_auth_words(words, user, password));
}

void peer_client_send(struct peer_client *c, const struct slice *words, size_t count) {
    size_t before = unsent_bytes(c);
    bool waited = is_waiting(c);
    if (!is_connected(c)) return;
    peer_send(c->peer, words, count);
    note_output(c, before, waited);
}

void peer_client_send_bytes(struct peer_client *c, struct slice bytes) {
    size_t before = unsent_bytes(c);
    bool waited = is_waiting(c);
    if (!is_connected(c)) return;
    peer_send_bytes(c->peer, bytes);
    note_output(c, before, waited);
}

bool peer_client_local(const struct peer_client *c, struct socket_peer *local) {
    return is_connected(c) && socket_local_of(peer_fd(c->peer), local);
}

uint32_t peer_client_asked(const struct peer_client *c) { return c->count; }
size_t peer_client_unsent_bytes(const struct peer_client *c) { return unsent_bytes(c); }

/* ---- answers ---- */

/* Whether the next reply may be parsed. */
static bool may_take(const struct peer_client *c) {
    if (c->raw) return false;
    if (!c->count) return c->settings.unasked != NULL;
    return c->asked[c->first].end <= c->written_bytes;
}

static void take_reply(struct peer_client *c, const struct peer_reply *reply) {
    if (reply->type == PEER_PUSH || !c->count) {
        if (c->settings.unasked) c->settings.unasked(c->settings.owner, reply);
        return;
    }
    struct peer_request request = c->asked[c->first].request;
    note_step(c);
    c->first = (c->first + 1) % c->capacity;
    c->count--;
    request.answered(c->settings.owner, request.about, reply);
}

static bool take_replies(struct peer_client *c) {
    uint64_t generation = c->generation;
    const struct peer_reply *reply;
    bool further = false;
    while (c->generation == generation && may_take(c) && (reply = peer_next(c->peer))) {
        take_reply(c, reply);
        further = true;
    }
    return further;
}

/* Offers the input to the owner as long as the owner takes some of it. */
static bool take_input(struct peer_client *c) {
    uint64_t generation = c->generation;
    size_t before = peer_input(c->peer).length, left = before;
    if (!c->settings.events->input) return false;
    for (size_t offered = left + 1; left && left < offered;) {
        offered = left;
        c->settings.events->input(c->settings.owner);
        if (c->generation != generation || c->by_turns) return true;
        left = peer_input(c->peer).length;
    }
    return left < before;
}

const struct peer_reply *peer_client_take(struct peer_client *c) {
    ASSERT(c->settings.takes && !c->count);
    return peer_next(c->peer);
}

static bool tell_opened(struct peer_client *c) {
    if (c->state != PEER_CLIENT_CONNECTS || peer_state(c->peer) != PEER_OPEN) return false;
    c->state = PEER_CLIENT_OPEN;
    note_step(c);
    if (!c->by_turns && c->settings.events->opened) c->settings.events->opened(c->settings.owner);
    return true;
}

/* Whether the connection has ended. An owner that takes the input itself sees the end only once it
 * has taken all input. */
static bool has_ended(const struct peer_client *c) {
    bool is_taken = c->settings.takes || (c->raw && c->by_turns);
    return peer_state(c->peer) == PEER_CLOSED && !(is_taken && peer_has_input(c->peer));
}

/* Reads and writes once. True if that made progress; the end of the connection is progress, too. */
static bool step_client(struct peer_client *c) {
    uint64_t generation = c->generation;
    size_t unsent = unsent_bytes(c);
    /* The peer's state shows the end, which counts only after all input is taken. */
    bool further = peer_advance(c->peer) && unsent_bytes(c) < unsent;
    if (further) note_step(c);
    if (peer_state(c->peer) != PEER_CLOSED) note_written(c);
    if (tell_opened(c)) further = true;
    if (c->generation == generation && take_replies(c)) further = true;
    if (c->generation == generation && c->raw && !c->by_turns && take_input(c)) further = true;
    if (c->generation != generation) return true;
    if (has_ended(c)) end_connection(c, false, peer_error(c->peer));
    return further;
}

static void end_if_late(struct peer_client *c) {
    if (patience_left_nsec(c) == 0) end_connection(c, true, LATE);
}

/* ---- by the loop ---- */

static void serve_client(struct peer_client *c) {
    uint64_t generation = c->generation;
    bool further = true;
    for (int round = 0; round < ROUNDS_MAX && further; round++) {
        further = step_client(c);
        if (c->generation != generation || c->by_turns) return;
    }
    end_if_late(c);
    if (c->generation != generation) return;
    if (!watch_client(c)) {
        char why[REASON_CHARS];
        snprintf(why, sizeof(why), "%s", c->reason);
        end_connection(c, false, why);
        return;
    }
    if (further || peer_has_pending(c->peer)) loop_pending_begin(c->settings.loop, &c->pending);
}

static void client_ready(struct loop_watcher *watcher, unsigned ready) {
    struct peer_client *c = LIST_ENTRY(watcher, struct peer_client, watcher);
    if (loop_depth(c->settings.loop) > 1) return;
    enter_owner(c);
    loop_pending_end(c->settings.loop, &c->pending);
    switch (c->state) {
    case PEER_CLIENT_CLOSED: begin_again(c); break;
    case PEER_CLIENT_LOOKS_UP:
        if (ready & LOOP_READABLE)
            take_address(c);
        else
            end_if_late(c);
        if (c->state == PEER_CLIENT_LOOKS_UP) start_timer(c, patience_left_nsec(c));
        break;
    default: serve_client(c); break;
    }
    leave_owner(c);
}

/* ---- by turns ---- */

bool peer_client_poll_entry(const struct peer_client *c, struct pollfd *entry) {
    if (c->state != PEER_CLIENT_LOOKS_UP) return peer_poll_entry(c->peer, entry);
    *entry = (struct pollfd){.fd = lookup_fd(c->lookup), .events = POLLIN};
    return true;
}

/* Waits for at most so many milliseconds. False if nothing came. */
static bool wait_ready(const struct peer_client *c, int64_t msec) {
    struct pollfd entry;
    return !peer_client_poll_entry(c, &entry) ||
           poll(&entry, 1, msec < INT_MAX ? (int)msec : INT_MAX) != 0;
}

static void make_step(struct peer_client *c) {
    if (c->state != PEER_CLIENT_LOOKS_UP)
        (void)step_client(c);
    else if (wait_ready(c, 0))
        take_address(c);
    end_if_late(c);
}

bool peer_client_turn(struct peer_client *c, int64_t msec) {
    if (c->state == PEER_CLIENT_CLOSED) return false;
    ASSERT(c->by_turns);
    int64_t left_msec = INT64_MAX;
    if (patience_left_nsec(c) < INT64_MAX) left_msec = msec_of(patience_left_nsec(c));
    enter_owner(c);
    if (wait_ready(c, left_msec < msec ? left_msec : msec))
        make_step(c);
    else if (left_msec <= msec && left_msec < INT64_MAX)
        end_connection(c, true, LATE);
    bool goes_on = c->state != PEER_CLIENT_CLOSED;
    leave_owner(c);
    return goes_on;
}

void peer_client_leave_loop(struct peer_client *c) {
    unwatch_client(c);
    c->by_turns = true;
}

/* ---- without the protocol ---- */

void peer_client_leave_protocol(struct peer_client *c) {
    ASSERT(!c->count);
    c->raw = true;
}

struct slice peer_client_input(const struct peer_client *c) {
    return peer_input(c->peer);
}
void peer_client_consume(struct peer_client *c, size_t bytes) {
    peer_input_consume(c->peer, bytes);
}

bool peer_client_may_release(const struct peer_client *c) {
    return peer_state(c->peer) == PEER_OPEN && !unsent_bytes(c) && !c->count;
}

int peer_client_release(struct peer_client *c, struct connection **connection,
                        struct buffer *rest) {
    ASSERT(peer_client_may_release(c));
    unwatch_client(c);
    int fd = peer_release(c->peer, connection, rest);
    shut_client(c);
    return fd;
}
