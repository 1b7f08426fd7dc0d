/* SPDX-License-Identifier: BSD-3-Clause
 * Clients by their memory.
 *
 * A client that owns a buffer, or has a transport, has a weight: a small block in one of 64 lists,
 * one for each power of two of the client's bytes (without those of the transport); the smallest
 * sizes share a list. A word of bits says which lists are not empty. So the largest clients are
 * found without a look at any other, and an idle client, which owns only its struct, costs nothing
 * here.
 *
 * Invariants (client_memory_check)
 *  1. A client that is not CLIENT_CLOSING has a weight if client_memory_note last found a buffer of
 *     it. A client that is CLIENT_CLOSING has none.
 *  2. A weight is in the list of its `bytes`; a list's bit is set while the list is not empty.
 *  3. All memory of the class MEMORY_CLIENTS, except the table of all clients, is
 *     client_memory_of() of some client, closing clients included.
 */
#include "net/client_memory.h"

#include "base/list.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/panic.h"
#include "metric/metric.h"
#include "net/client.h"
#include "option/option.h"

/* Clients that are not disconnected to free memory: those with CLIENT NO-EVICT, and replicas, which
 * have limits of their own. */
#define NEVER_TAKEN (CLIENT_NO_EVICT | CLIENT_STREAMED)
#define LISTS 64
#define WEIGHT_BYTES_MIN 4096 /* a power of two */
#define LIST_SMALLEST 12      /* the list of sizes below twice WEIGHT_BYTES_MIN */
_Static_assert(WEIGHT_BYTES_MIN == 1 << LIST_SMALLEST, "a list is numbered by its lowest bit");

struct client_weight {
    struct list_link link;
    struct client *client;
    size_t bytes;
};

static struct list_link lists[LISTS];
static uint64_t filled; /* bit i: lists[i] has weights */
static int64_t limit;   /* bytes, a negative percentage of maxmemory, or 0 */
static int64_t (*maxmemory)(void);
static size_t leaving; /* bytes of clients that are closed and not freed */
static size_t marked;  /* bytes, when they were marked, of clients that are marked as closing */
static uint64_t evicted;

/* ---- sums ---- */

/* memory_usable_size by the size, without asking the allocator, because it is called for each reply
 * chunk. */
static inline size_t usable_of_size(const void *block, size_t size) {
    return block ? memory_good_size(size) : 0;
}

size_t client_memory_of(const struct client *c) {
    return usable_of_size(c, sizeof(*c)) + usable_of_size(c->weight, sizeof(*c->weight)) +
           client_place_bytes(c) + memory_usable_size(c->name) + client_address_bytes(c) +
           client_connection_bytes(c) + client_bytes_above(c) + client_input_bytes(c) +
           c->chunk_bytes;
}

size_t client_memory_normal(void) { return memory_used(MEMORY_CLIENTS); }

/* Marked clients may have freed some of their bytes since: EXEC frees its queue. */
size_t client_memory_leaving(void) {
    size_t bytes = leaving + marked, all = client_memory_normal();
    return bytes < all ? bytes : all;
}

/* ---- weights ---- */

/* The bytes of a client by which it is compared. A transport does not count, because it is equally
 * large for every client and lasts as long as the connection. */
static size_t weight_bytes(const struct client *c) {
    return client_memory_of(c) - client_connection_bytes(c);
}

/* Sizes below twice WEIGHT_BYTES_MIN share a list, so that a few small replies move no client to
 * another list. */
static unsigned list_of_bytes(size_t bytes) {
    return 63u - (unsigned)__builtin_clzll(bytes | WEIGHT_BYTES_MIN);
}

static void take_out(struct client_weight *w) {
    unsigned list = list_of_bytes(w->bytes);
    list_remove(&w->link);
    if (list_is_empty(&lists[list])) filled &= ~(UINT64_C(1) << list);
}

static void put_in(struct client_weight *w, size_t bytes) {
    unsigned list = list_of_bytes(bytes);
    if (!lists[list].next) list_init(&lists[list]);
    w->bytes = bytes;
    list_append(&lists[list], &w->link);
    filled |= UINT64_C(1) << list;
}

static void set_bytes(struct client_weight *w, size_t bytes) {
    if (__builtin_expect(list_of_bytes(bytes) == list_of_bytes(w->bytes), 1)) {
        w->bytes = bytes;
        return;
    }
    take_out(w);
    put_in(w, bytes);
}

static void weight_drop(struct client *c) {
    take_out(c->weight);
    memory_free_sized(c->weight, sizeof(*c->weight), MEMORY_CLIENTS);
    c->weight = NULL;
}

void client_memory_note(struct client *c) {
    bool owns =
        c->query || c->held || c->chunk_bytes || c->flags & CLIENT_CARRIED || client_bytes_above(c);
    /* A client without a connection cannot be disconnected. */
    if (c->flags & (CLIENT_CLOSING | CLIENT_CAPTURED) || (!owns && !c->weight)) return;
    if (!owns) {
        weight_drop(c);
        return;
    }
    if (!c->weight) {
        c->weight = memory_alloc(sizeof(*c->weight), MEMORY_CLIENTS);
        *c->weight = (struct client_weight){.client = c};
        list_init(&c->weight->link);
        put_in(c->weight, weight_bytes(c));
        return;
    }
    set_bytes(c->weight, weight_bytes(c));
}

void client_memory_note_chunks(struct client *c, ptrdiff_t bytes) {
    bool may_own_nothing = !c->chunk_bytes && !c->query && !c->held && !c->places;
    if (!c->weight || may_own_nothing)
        client_memory_note(c);
    else
        set_bytes(c->weight, c->weight->bytes + (size_t)bytes);
}

void client_memory_mark(struct client *c) {
    if (c->weight) weight_drop(c);
    marked += client_memory_of(c);
}

void client_memory_leave(struct client *c) { leaving += client_memory_of(c); }
void client_memory_marked_left(size_t bytes_staying) { marked = bytes_staying; }

void client_memory_leave_less(size_t bytes) { leaving -= bytes; }
void client_memory_left(size_t bytes_staying) { leaving = bytes_staying; }

/* ---- disconnecting ---- */

static size_t evict_client(struct client *c) {
    size_t bytes = client_memory_of(c);
    log_notice("Evicting client %llu: it holds %zu bytes.", (unsigned long long)c->id, bytes);
    client_close_later(c);
    evicted++;
    return bytes;
}

static size_t disconnect_in(struct list_link *list, size_t bytes_wanted) {
    size_t given = 0;
    LIST_FOR_EACH (link, following, list) {
        struct client *c = LIST_ENTRY(link, struct client_weight, link)->client;
        if (given >= bytes_wanted) break;
        if (!(c->flags & NEVER_TAKEN)) given += evict_client(c);
    }
    return given;
}

/* Disconnects clients without buffers or a transport, each of which holds only a struct and a name.
 */
static void disconnect_idle(size_t bytes_wanted) {
    size_t given = 0;
    LIST_FOR_EACH (link, following, client_list()) {
        struct client *c = LIST_ENTRY(link, struct client, link);
        if (given >= bytes_wanted) break;
        if (!(c->flags & (NEVER_TAKEN | CLIENT_CLOSING)) && !c->weight) given += evict_client(c);
    }
}

size_t client_memory_disconnect_largest(size_t bytes_wanted) {
    size_t given = 0;
    for (int list = LISTS - 1; list > LIST_SMALLEST && given < bytes_wanted; list--)
        if (filled >> list & 1) given += disconnect_in(&lists[list], bytes_wanted - given);
    return given;
}

static void disconnect_any(size_t bytes_wanted) {
    size_t given = client_memory_disconnect_largest(bytes_wanted);
    if (given < bytes_wanted && filled >> LIST_SMALLEST & 1)
        given += disconnect_in(&lists[LIST_SMALLEST], bytes_wanted - given);
    if (given < bytes_wanted) disconnect_idle(bytes_wanted - given);
}

static size_t limit_bytes(void) {
    if (limit >= 0) return (size_t)limit;
    int64_t of = maxmemory ? maxmemory() : 0;
    return (size_t)((double)of / 100 * (double)-limit);
}

void client_memory_enforce(void) {
    if (__builtin_expect(limit == 0, 1)) return;
    size_t most = limit_bytes(), held = client_memory_normal() - client_memory_leaving();
    if (most && held > most) disconnect_any(held - most);
}

void client_memory_set_maxmemory(int64_t (*read)(void)) { maxmemory = read; }

/* ---- checks ---- */

void client_memory_check(void) {
    size_t sum = leaving + client_table_bytes(), weights = 0, listed = 0;
    LIST_FOR_EACH (link, following, client_list()) {
        const struct client *c = LIST_ENTRY(link, struct client, link);
        sum += client_memory_of(c);
        weights += c->weight != NULL;
    }
    LIST_FOR_EACH (link, following, client_captured_list())
        sum += client_memory_of(LIST_ENTRY(link, struct client, link));
    for (unsigned i = 0; i < LISTS; i++) {
        ASSERT((filled >> i & 1) == (lists[i].next && !list_is_empty(&lists[i])));
        if (!(filled >> i & 1)) continue;
        LIST_FOR_EACH (link, following, &lists[i]) {
            ASSERT(list_of_bytes(LIST_ENTRY(link, struct client_weight, link)->bytes) == i);
            listed++;
        }
    }
    ASSERT_COMPARE(listed, ==, weights);
    ASSERT_COMPARE(sum, ==, memory_used(MEMORY_CLIENTS));
}

/* ---- rows ---- */

static bool apply_limit(const struct option_row *row, char *reason, size_t reason_size) {
    client_memory_enforce();
    return true;
}

static const struct option_row option_rows[] = {
    {.name = "maxmemory-clients",
     .type = OPTION_TYPE_BYTES_OR_PERCENT,
     .flags = OPTION_MUTABLE,
     .section = "limits",
     .place = 12,
     .fallback = "0",
     .low = -100, /* percent */
     .high = INT64_MAX,
     .variable = &limit,
     .apply = apply_limit,
     .help = "Bytes, or percent of maxmemory, that all normal and subscribed clients may hold "
             "together; above, the largest are disconnected, but none with CLIENT NO-EVICT. 0: no "
             "limit."},
};

static void print_normal(const struct metric_row *row, struct buffer *out) {
    buffer_printf(out, "%zu", client_memory_normal() - client_memory_leaving());
}

static const struct metric_row metric_rows[] = {
    {.section = "Memory",
     .place = 360,
     .name = "mem_clients_normal",
     .measure = METRIC_BYTES,
     .type = METRIC_FUNCTION,
     .print = print_normal,
     .help = "Bytes that normal clients hold: state, input, replies."},
    {.section = "Stats",
     .place = 165,
     .name = "evicted_clients",
     .measure = METRIC_COUNTER,
     .type = METRIC_UINT64,
     .variable = &evicted,
     .reset = true,
     .help = "Clients disconnected for what they held: maxmemory-clients, maxmemory-ceiling."},
};

void client_memory_register(void) {
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
    metric_register(metric_rows, sizeof(metric_rows) / sizeof(metric_rows[0]));
}
