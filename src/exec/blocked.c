/* SPDX-License-Identifier: BSD-3-Clause
 * Blocked clients. blocked.h has the ways in which a wait ends.
 *
 *   running --blocked_begin--> waiting --wait_end--> running, or closing after its reply
 *                                 \--connection closes--> gone
 *
 * A reply may mark its client, and other clients, as closing. The waits of these clients stay until
 * the request has ended (client_finish_closing), so that no list changes while it is iterated, but
 * the clients are not served any more.
 *
 * A wait is in the client's place, in the list of each key that it waits for, and, if it has a time
 * limit, in an index by deadline, which one timer of the loop serves: a limit costs O(1), however
 * many clients have one. Deadlines are milliseconds of the monotonic clock, rounded up.
 *
 * Invariants
 *  1. A client has a wait exactly while it is held (batch_hold) by this file.
 *  2. A key is in the table exactly while a client waits for it, or it is signalled and not served.
 *  3. A key's list has each wait once, in the order in which the waits began.
 *  4. When a key is served, only the waits that were in its list at the beginning are tried: a
 *     client that is served and blocks again waits for the next signal. No wait is tried after the
 *     key is gone.
 *  5. No key is signalled when blocked_serve returns, unless it was called within itself.
 *  6. A ticket names a wait by its client's id and the wait's serial number, so a ticket that comes
 *     after the wait's end has no effect. Tickets that have come are in `arrived`, the last one
 *     first.
 *  7. The memory of a wait, its state, its links, and the rows that it pays for, is charged to its
 *     client: MEMORY_CLIENTS.
 *  8. A wait is in `on_keys` exactly if it has links. blocked_review takes from its front and
 *     appends to its end, where new waits begin, too.
 *  9. A key's row is charged to one wait in the key's list, at first to the one that it was made
 *     for. A row that is being made, or whose list is empty, is charged to no client: MEMORY_OTHER.
 *
 * Ownership: the wait owns its state (blocked_kind.free_state), its links and its entry of the slow
 * log.
 */
#include "exec/blocked.h"

#include <math.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/panic.h"
#include "command/arguments.h"
#include "command/call.h"
#include "command/command.h"
#include "ds/timebuckets.h"
#include "exec/client_flags.h"
#include "exec/effects.h"
#include "io/loop.h"
#include "net/batch.h"
#include "net/client.h"
#include "net/client_memory.h"
#include "net/reply.h"
#include "publish/tracking.h"
#include "report/slowlog.h"
#include "store/key_table.h"
#include "store/keyspace.h"

struct blocked_ticket {
    struct blocked_ticket *next; /* in `arrived` */
    uint64_t client_id;
    size_t serial;
};

struct waited_key {
    struct key_row row;     /* its links are wait_link.link */
    struct list_link ready; /* in `ready_keys`, or by itself */
    struct wait *payer;     /* the wait that the row is charged to, or NULL */
    bool in_service;        /* key_serve uses the row, so it is not freed */
};

struct wait_link {
    struct list_link link;
    struct waited_key *key;
    struct wait *wait;
};

struct wait {
    struct client *client;
    struct list_link on_keys; /* in the list of that name, or by itself */
    const struct blocked_kind *kind;
    void *state;
    struct slowlog_entry *slow; /* NULL = none */
    int64_t deadline_msec;      /* where `timed` */
    uint32_t reference;         /* of the index by deadline */
    bool timed;
    size_t serial; /* grows with each wait: tells which waits are older than a serving */
    size_t bytes;  /* with those of the state and of the rows that it pays for */
    size_t links_count;
    struct wait_link links[];
};

static struct key_table keys = {.row_bytes = sizeof(struct waited_key)};
static struct timebuckets *deadlines;
static struct list_link ready_keys = {&ready_keys, &ready_keys};
static uint64_t waiting;
static struct list_link on_keys = {&on_keys, &on_keys};
static size_t on_keys_count;
static size_t next_serial;
static bool serving;
/* Tickets: any thread adds in front, the main thread takes all. */
static struct blocked_ticket *_Atomic arrived;

static struct wait *wait_of(const struct client *c) {
    return client_place(c, &blocked_client_state);
}

bool blocked_is(const struct client *c) {
    const struct wait *w = wait_of(c);
    return w && !w->kind->kept;
}
uint64_t blocked_clients(void) { return waiting; }

void blocked_reply_none(struct client *c, void *state) { reply_null_array(c); }

/* ---- keys ---- */

static struct waited_key *waited_key_find_or_create(const struct key *key) {
    struct waited_key *k = key_table_find(&keys, key);
    if (k) return k;
    k = key_table_create(&keys, key);
    list_init(&k->ready);
    return k;
}

static void key_free_if_unused(struct waited_key *k) {
    if (k->row.links_count || !list_is_empty(&k->ready) || k->in_service) return;
    key_table_free(&keys, &k->row);
}

static void key_set_payer(struct waited_key *k, struct wait *w) {
    size_t bytes = memory_usable_size(k);
    if (k->payer) {
        k->payer->bytes -= bytes;
        memory_move(k, bytes, MEMORY_CLIENTS, MEMORY_OTHER);
    }
    k->payer = w;
    if (!w) return;
    w->bytes += bytes;
    memory_move(k, bytes, MEMORY_OTHER, MEMORY_CLIENTS);
}

/* Charges the row of a key, whose payer has ended, to the first wait that is left. */
static void key_find_payer(struct waited_key *k) {
    struct list_link *first = k->row.links.next;
    struct wait *w = k->row.links_count ? LIST_ENTRY(first, struct wait_link, link)->wait : NULL;
    key_set_payer(k, w);
    if (w) client_memory_note(w->client);
}

/* ---- time limits ---- */

static int64_t wait_deadline(const void *element) {
    return ((const struct wait *)element)->deadline_msec;
}
static uint32_t wait_reference(const void *element) {
    return ((const struct wait *)element)->reference;
}
static void wait_set_reference(void *element, uint32_t reference) {
    ((struct wait *)element)->reference = reference;
}

static const struct timebuckets_type deadline_type = {wait_deadline, wait_reference,
                                                      wait_set_reference, MEMORY_OTHER};

static int64_t look_at_deadlines(struct loop_timer *t);
static struct loop_timer timer = {.callback = look_at_deadlines};

/* When the timer looks at the index next; INT64_MAX: it does not run. The index knows only a lower
 * bound of the next deadline, which may be long past and may differ from the time that the timer
 * was started for. */
static int64_t look_msec = INT64_MAX;

/* The time to the next look, in ms from now; LOOP_TIMER_END if no wait has a limit. */
static int64_t next_look(void) {
    int64_t now = clock_monotonic_msec(), next = timebuckets_next_deadline(deadlines);
    look_msec = INT64_MAX;
    if (!timebuckets_count(deadlines)) return LOOP_TIMER_END;
    look_msec = next > now ? next : now + 1;
    return look_msec - now;
}

static void deadline_add(struct wait *w, int64_t timeout_msec) {
    int64_t now = clock_monotonic_nsec();
    bool more;
    if (!deadlines) {
        deadlines = timebuckets_create(&deadline_type);
        timebuckets_peek_due(deadlines, now / 1000000, &more); /* tells it the time */
    }
    int64_t end = timeout_msec < INT64_MAX / 1000000 - now / 1000000 - 1
                      ? (now + timeout_msec * 1000000 + 999999) / 1000000
                      : INT64_MAX;
    w->deadline_msec = end;
    w->timed = true;
    timebuckets_insert(deadlines, w);
    if (end < look_msec) loop_timer_start(client_loop(), &timer, next_look());
}

/* ---- a wait begins and ends ---- */

static bool waits_for(const struct wait *w, const struct waited_key *k) {
    if (!k->row.links_count) return false;
    return LIST_ENTRY(k->row.links.previous, struct wait_link, link)->wait == w;
}

void blocked_begin(struct call *call, const struct blocked_kind *kind, int first, int last,
                   int step, int64_t timeout_msec, void *state) {
    struct client *c = call->client;
    bool may_wait = kind->kept ? !(c->flags & CLIENT_CAPTURED) : client_may_wait(c);
    if (!may_wait || c->flags & CLIENT_CLOSING) {
        kind->timed_out(c, state);
        if (kind->free_state) kind->free_state(state);
        return;
    }
    size_t wanted = first ? (size_t)((last - first) / step + 1) : 0;
    ASSERT(!wait_of(c));
    struct wait *w = memory_alloc(sizeof(*w) + wanted * sizeof(w->links[0]), MEMORY_CLIENTS);
    *w = (struct wait){.client = c, .kind = kind, .state = state, .serial = next_serial++};
    w->bytes = memory_usable_size(w) + memory_usable_size(state);
    for (size_t i = 0; i < wanted; i++) {
        const struct key key = call_key(call, first + (int)i * step);
        struct waited_key *k = waited_key_find_or_create(&key);
        if (waits_for(w, k)) continue; /* named twice */
        struct wait_link *link = &w->links[w->links_count++];
        link->key = k;
        link->wait = w;
        key_table_link(&k->row, &link->link);
        if (!k->payer) key_set_payer(k, w);
    }
    list_init(&w->on_keys);
    if (w->links_count) {
        list_append(&on_keys, &w->on_keys);
        on_keys_count++;
    }
    client_set_place(c, &blocked_client_state, w);
    client_memory_note(c);
    waiting++;
    batch_hold(c);
    if (timeout_msec != BLOCKED_FOREVER) deadline_add(w, timeout_msec);
}

/* Takes the wait out of all lists and frees it; the client itself is not touched. */
static void wait_free(struct wait *w) {
    client_set_place(w->client, &blocked_client_state, NULL);
    client_memory_note(w->client);
    for (size_t i = 0; i < w->links_count; i++) {
        struct waited_key *k = w->links[i].key;
        key_table_unlink(&k->row, &w->links[i].link);
        if (k->payer == w) key_find_payer(k);
        key_free_if_unused(k);
    }
    if (w->links_count) {
        list_remove(&w->on_keys);
        on_keys_count--;
    }
    if (w->timed) timebuckets_remove(deadlines, w);
    if (w->slow) slowlog_free_prepared(w->slow);
    if (w->kind->free_state) w->kind->free_state(w->state);
    memory_free(w, MEMORY_CLIENTS);
    waiting--;
}

void blocked_keep_slow(struct client *c, struct slowlog_entry *entry) { wait_of(c)->slow = entry; }

static void blocked_client_closes(struct client *c) {
    if (wait_of(c)) wait_free(wait_of(c));
}

static size_t wait_bytes(const struct client *c) {
    const struct wait *w = wait_of(c);
    return w ? w->bytes : 0;
}

struct client_state blocked_client_state = {
    .name = "blocked", .has_place = true, .closing = blocked_client_closes, .bytes = wait_bytes};

/* Ends a wait whose client lives on: the only function that does. */
static void wait_end(struct wait *w, const struct blocked_end *how) {
    struct client *c = w->client;
    switch (how->reason) {
    case BLOCKED_SERVED: break;
    case BLOCKED_VALUE: w->kind->came(c, w->state); break;
    case BLOCKED_TIME: w->kind->timed_out(c, w->state); break;
    case BLOCKED_ERROR: reply_error(c, how->error); break;
    }
    wait_free(w);
    batch_resume(c);
    if (how->closes) client_close_after_reply(c);
}

bool blocked_end(struct client *c, const struct blocked_end *how) {
    if (!blocked_is(c)) return false;
    wait_end(wait_of(c), how);
    return true;
}

void blocked_end_all(const struct blocked_end *how) {
    LIST_FOR_EACH (link, following, client_list()) {
        struct client *c = LIST_ENTRY(link, struct client, link);
        if (!(c->flags & CLIENT_CLOSING)) (void)blocked_end(c, how);
    }
}

size_t blocked_on_keys(void) { return on_keys_count; }

/* Asks about the wait, which may end. */
static void wait_review(struct wait *w, blocked_ask *ask) {
    const struct key key = key_row_key(&w->links[0].key->row);
    struct buffer error;
    if (w->client->flags & CLIENT_CLOSING) return;
    buffer_init(&error, MEMORY_OTHER);
    if (ask(w->client, &key, &error))
        wait_end(w, &(struct blocked_end){.reason = BLOCKED_ERROR, .error = error.bytes});
    buffer_free(&error);
}

void blocked_review(size_t count, blocked_ask *ask) {
    for (; count && !list_is_empty(&on_keys); count--) {
        struct wait *w = LIST_ENTRY(on_keys.next, struct wait, on_keys);
        list_remove(&w->on_keys);
        list_append(&on_keys, &w->on_keys);
        wait_review(w, ask);
    }
}

/* ---- ended by another thread ---- */

struct blocked_ticket *blocked_ticket(const struct client *c) {
    const struct wait *w = wait_of(c);
    if (!w) return NULL;
    struct blocked_ticket *ticket = memory_alloc(sizeof(*ticket), MEMORY_OTHER);
    *ticket = (struct blocked_ticket){.client_id = c->id, .serial = w->serial};
    return ticket;
}

void blocked_end_from_thread(struct blocked_ticket *ticket) {
    ticket->next = atomic_load(&arrived);
    while (!atomic_compare_exchange_weak(&arrived, &ticket->next, ticket)) continue;
    loop_wake(client_loop());
}

static void ticket_take(struct blocked_ticket *ticket) {
    struct client *c = client_find(ticket->client_id);
    struct wait *w = c ? wait_of(c) : NULL;
    if (w && w->serial == ticket->serial)
        wait_end(w, &(struct blocked_end){.reason = BLOCKED_VALUE});
    memory_free_sized(ticket, sizeof(*ticket), MEMORY_OTHER);
}

/* Reverses the list, so that the ticket that came first is taken first. */
bool blocked_step(void) {
    struct blocked_ticket *last, *first = NULL, *next;
    if (__builtin_expect(!atomic_load_explicit(&arrived, memory_order_relaxed), 1)) return false;
    for (last = atomic_exchange(&arrived, NULL); last; last = next) {
        next = last->next;
        last->next = first;
        first = last;
    }
    for (; first; first = next) {
        next = first->next;
        ticket_take(first);
    }
    return false;
}

static int64_t look_at_deadlines(struct loop_timer *t) {
    bool more = true;
    while (more) {
        struct wait *w = timebuckets_peek_due(deadlines, clock_monotonic_msec(), &more);
        if (!w) continue;
        wait_end(w, &(struct blocked_end){.reason = BLOCKED_TIME});
        more = true;
    }
    return next_look();
}

/* ---- keys made ready ---- */

void blocked_signal_key(const struct key *key) {
    struct waited_key *k = key_table_find(&keys, key);
    if (k && list_is_empty(&k->ready)) list_append(&ready_keys, &k->ready);
}

const struct keyspace_observer blocked_observer = {.added = blocked_signal_key};

static void signal_if_there(void *row, void *context) {
    const struct waited_key *k = row;
    const struct key key = {context, k->row.name, k->row.hash};
    if (keyspace_find(&key)) blocked_signal_key(&key);
}

void blocked_signal_swapped(struct keyspace *a, struct keyspace *b) {
    key_table_each(&keys, keyspace_index(a), signal_if_there, a);
    key_table_each(&keys, keyspace_index(b), signal_if_there, b);
}

static bool wait_serve(struct wait *w, const struct key *key) {
    int64_t begin_nsec = w->slow ? clock_monotonic_nsec() : 0;
    effects_unit_begin();
    bool served = w->kind->serve(w->client, w->state, key);
    effects_unit_end();
    if (served && w->slow) {
        slowlog_take_prepared(w->slow, clock_monotonic_nsec() - begin_nsec);
        w->slow = NULL;
    }
    return served;
}

/* Serves the waits that are in the key's list now, in order, as long as the key exists: thousands
 * of clients may wait for a key, and the first ones take all that it has. */
static void key_serve(struct waited_key *k) {
    const struct key key = key_row_key(&k->row);
    size_t end = next_serial;
    LIST_FOR_EACH (link, next, &k->row.links) {
        struct wait *w = LIST_ENTRY(link, struct wait_link, link)->wait;
        if (w->serial >= end) break;
        if (w->client->flags & CLIENT_CLOSING || !w->kind->serve) continue;
        if (wait_serve(w, &key)) wait_end(w, &(struct blocked_end){.reason = BLOCKED_SERVED});
        if (keyspace_presence(&key) != KEYSPACE_PRESENT) break;
    }
}

bool blocked_is_serving(void) { return serving; }

void blocked_serve(void) {
    if (__builtin_expect(list_is_empty(&ready_keys), 1) || serving) return;
    serving = true;
    tracking_serve_begin();
    while (!list_is_empty(&ready_keys)) {
        struct waited_key *k = LIST_ENTRY(ready_keys.next, struct waited_key, ready);
        list_remove(&k->ready); /* it may be signalled again meanwhile */
        k->in_service = true;
        key_serve(k);
        k->in_service = false;
        key_free_if_unused(k);
    }
    tracking_serve_end();
    serving = false;
}

/* ---- the rest ---- */

bool blocked_parse_timeout(const struct call *call, int index, int64_t *timeout_msec) {
    long double seconds;
    struct slice text = call->argv[index];
    if (!number_parse_long_double(text.bytes, text.length, &seconds)) {
        reply_error(call->client, "timeout is not a float or out of range");
        return false;
    }
    /* As in 6.2, a negative time that is truncated to 0 ms is allowed, and a time that no clock can
     * hold gets the text for negative times. */
    long double msec = truncl(seconds * 1000);
    if (msec < 0 || msec >= 0x1p63L) {
        reply_error(call->client, "timeout is negative");
        return false;
    }
    *timeout_msec = (int64_t)msec;
    return true;
}

bool blocked_parse_timeout_msec(const struct call *call, int index, int64_t *timeout_msec) {
    if (!argument_int64(call, index, timeout_msec, "timeout is not an integer or out of range"))
        return false;
    if (*timeout_msec >= 0) return true;
    reply_error(call->client, "timeout is negative");
    return false;
}

static void waited_key_check(void *element, void *context) {
    struct waited_key *k = element;
    size_t *links = context, last = 0;
    ASSERT(k->row.links_count || !list_is_empty(&k->ready) || k->in_service);
    ASSERT((k->row.links_count != 0) == (k->payer != NULL));
    LIST_FOR_EACH (link, next, &k->row.links) {
        struct wait *w = LIST_ENTRY(link, struct wait_link, link)->wait;
        ASSERT(w->client->flags & CLIENT_HELD && wait_of(w->client) == w);
        ASSERT(w->serial >= last);
        last = w->serial + 1;
        ++*links;
    }
}

void blocked_check(void) {
    size_t links = 0, expected = 0, waits = 0, waits_on_keys = 0;
    key_table_check(&keys);
    for (int i = 0; i < keyspace_databases(); i++)
        key_table_each(&keys, i, waited_key_check, &links);
    LIST_FOR_EACH (link, next, client_list()) {
        const struct wait *w = wait_of(LIST_ENTRY(link, struct client, link));
        if (!w) continue;
        waits++;
        waits_on_keys += w->links_count != 0;
        ASSERT(list_is_empty(&w->on_keys) == !w->links_count);
        expected += w->links_count;
    }
    ASSERT_COMPARE(waits_on_keys, ==, on_keys_count);
    ASSERT_COMPARE(links, ==, expected);
    ASSERT_COMPARE(waits, ==, waiting);
}
