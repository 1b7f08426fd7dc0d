/* SPDX-License-Identifier: BSD-3-Clause
 * Transactions: the queue between MULTI and EXEC, and watched keys.
 *
 *   none --MULTI--> queuing --EXEC--> running --all have run--> none
 *                      \------DISCARD, RESET, EXEC that runs nothing, closing----> none
 *
 * One struct has the queue and the watches of a client; the client has it only while it has either.
 * A queued command is one allocation: its slices and the bytes that they point to. An argument of
 * BATCH_ADOPT_BYTES or more has a block of its own (the one that it was read into, if there is
 * one), so that the command may make it a value without a copy (call_take_argument), as it could
 * without MULTI. The queue keeps the hash of the first key, which prefetching has computed.
 *
 * exec/execute runs the queue. The client is not freed before EXEC has ended.
 *
 * A long queue that is dropped (DISCARD, an EXEC that runs nothing, closing) is freed in steps
 * between turns of the loop. Its memory is no longer the client's then, and counts as free:
 * MEMORY_LEAVING. Only the sum moves to that class at once; each block is booked back right before
 * it is freed.
 *
 * A watch links a client and a name in a database. SWAPDB may exchange the database's contents; the
 * watch is about what the client would find under the name. The keyspace tells of changes. The
 * first change sets TRANSACTION_WATCH_FAILED and ends all watches of the client, because further
 * changes do not matter. A key that is due counts as changed even if it is not deleted yet, and
 * even if it was due already when the client began to watch it, as in 6.2.
 *
 * Invariants (transaction_check)
 *  1. A client has TRANSACTION_OPEN exactly from transaction_begin to transaction_end; its queue
 *     is empty otherwise.
 *  2. A client has a struct transaction exactly while it has the flag or watches a key.
 *  3. A key is in its database's table exactly while a client watches it; a client watches a key
 *     once at most.
 *  4. A client with TRANSACTION_WATCH_FAILED watches nothing.
 *  5. `bytes` is what the struct, the queue and the links take: all of MEMORY_CLIENTS, so that they
 *     count as the client's. The names of watched keys are shared, and of MEMORY_OTHER.
 *  6. `leaving_bytes` is the sum of `bytes` in the list of dropped commands, and this module's part
 *     of MEMORY_LEAVING.
 *  7. This module's interest is noted in the keyspace exactly while a table is not empty.
 */
#include "exec/transaction.h"

#include <string.h>

#include "base/blob.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/panic.h"
#include "command/command.h"
#include "exec/client_flags.h"
#include "exec/transaction_internal.h"
#include "net/batch.h"
#include "net/client.h"
#include "net/client_memory.h"
#include "net/reply.h"
#include "store/key_table.h"
#include "store/keyspace.h"
#include "store/lazyfree.h"

/* A longer queue is freed in steps of so many commands: about 50 us. */
#define QUEUED_AT_ONCE LAZYFREE_BLOCKS_AT_ONCE

struct watch {
    struct list_link of_key, of_client;
    struct key_row *key;
    struct client *client;
};

struct transaction {
    struct client *client;
    struct queued *first, *last;
    struct list_link watches; /* of struct watch.of_client */
    struct list_link failing; /* in the list of that name, or by itself */
    size_t watches_count;
    size_t bytes, queue_bytes; /* all bytes; of these, those of the queue */
    int64_t count;             /* of queued commands; stays the same while EXEC runs them */
    unsigned command_flags, lacking_flags; /* flags that any queued command has, and lacks */
};

/* The watched keys. Links of their rows are struct watch.of_key. */
static struct key_table keys = {.row_bytes = sizeof(struct key_row)};

static bool transaction_has(const struct client *c, unsigned flags) {
    return client_flags(c, &transaction_client_state) & flags;
}
static void transaction_set(struct client *c, unsigned flags) {
    client_set_flags(c, &transaction_client_state, flags, true);
}
static void transaction_clear(struct client *c, unsigned flags) {
    client_set_flags(c, &transaction_client_state, flags, false);
}

static struct transaction *transaction_of(const struct client *c) {
    return client_place(c, &transaction_client_state);
}

static struct transaction *find_or_create(struct client *c) {
    struct transaction *t = transaction_of(c);
    if (t) return t;
    t = memory_alloc(sizeof(*t), MEMORY_CLIENTS);
    *t = (struct transaction){.client = c, .bytes = memory_usable_size(t)};
    list_init(&t->watches);
    list_init(&t->failing);
    client_set_place(c, &transaction_client_state, t);
    return t;
}

/* Frees the struct if the client is in no transaction and watches no key. */
static void free_if_unused(struct client *c, struct transaction *t) {
    if (client_in_transaction(c) || !list_is_empty(&t->watches)) return;
    client_set_place(c, &transaction_client_state, NULL);
    memory_free_sized(t, sizeof(*t), MEMORY_CLIENTS);
}

size_t transaction_bytes(const struct client *c) {
    const struct transaction *t = transaction_of(c);
    return t ? t->bytes : 0;
}

int64_t transaction_count(const struct client *c) {
    const struct transaction *t = transaction_of(c);
    return t && client_in_transaction(c) ? t->count : -1;
}

unsigned transaction_flags(const struct client *c) {
    const struct transaction *t = transaction_of(c);
    return t ? t->command_flags : 0;
}

unsigned transaction_flags_lacking(const struct client *c) {
    const struct transaction *t = transaction_of(c);
    return t ? t->lacking_flags : 0;
}

/* ---- the queue ---- */

/* Bytes of the arguments that are copied; `*any_blob`: some argument has a block of its own. */
static size_t bytes_to_copy(const struct request *r, bool *any_blob) {
    size_t bytes = 0;
    *any_blob = false;
    for (int i = 0; i < r->argc; i++) {
        if (r->argv[i].length < BATCH_ADOPT_BYTES)
            bytes += r->argv[i].length;
        else
            *any_blob = true;
    }
    return bytes;
}

/* Returns the argument in a block of its own: the one that it was read into, or a copy. */
static struct blob *blob_of_argument(struct request *r, int index) {
    struct slice text = r->argv[index];
    struct blob *b = batch_take_argument(r, index, MEMORY_CLIENTS);
    if (b) return b;
    b = blob_create(text.length, MEMORY_CLIENTS);
    memcpy(b->bytes, text.bytes, text.length);
    b->length = text.length;
    return b;
}

static struct queued *queued_create(struct request *r) {
    bool any_blob;
    size_t argc = (size_t)r->argc, text_bytes = bytes_to_copy(r, &any_blob);
    size_t head = sizeof(struct queued) + argc * sizeof(struct slice);
    size_t blobs_bytes = any_blob ? argc * sizeof(struct blob *) : 0;
    struct queued *q = memory_alloc(head + blobs_bytes + text_bytes, MEMORY_CLIENTS);
    char *text = (char *)q + head + blobs_bytes;
    *q = (struct queued){.command = r->command, .bytes = memory_usable_size(q), .argc = r->argc};
    if (any_blob) q->blobs = (struct blob **)(void *)((char *)q + head);
    for (int i = 0; i < r->argc; i++) {
        struct slice argument = r->argv[i];
        bool own_block = argument.length >= BATCH_ADOPT_BYTES;
        struct blob *b = own_block ? blob_of_argument(r, i) : NULL;
        if (any_blob) q->blobs[i] = b;
        if (own_block) {
            q->argv[i] = blob_slice(b);
            q->bytes += blob_bytes(b);
        } else {
            if (argument.length) memcpy(text, argument.bytes, argument.length);
            q->argv[i] = (struct slice){text, argument.length};
            text += argument.length;
        }
    }
    q->hashed = r->hashed;
    q->key_hash = r->key_hash;
    return q;
}

static void queued_free(struct queued *q) {
    struct blob **blobs = q->blobs;
    for (int i = 0; blobs && i < q->argc; i++) blob_free(blobs[i], MEMORY_CLIENTS);
    memory_free(q, MEMORY_CLIENTS);
}

void transaction_queue(struct request *r) {
    struct client *c = r->client;
    struct transaction *t = transaction_of(c);
    ASSERT(client_in_transaction(c));
    /* After a refused command EXEC runs nothing, so no memory is spent on further commands. */
    if (!transaction_has(c, TRANSACTION_QUEUE_FAILED)) {
        struct queued *q = queued_create(r);
        if (t->last)
            t->last->next = q;
        else
            t->first = q;
        t->last = q;
        t->count++;
        t->bytes += q->bytes;
        t->queue_bytes += q->bytes;
        t->command_flags |= q->command->flags;
        t->lacking_flags |= ~q->command->flags;
    }
    reply_status(c, "QUEUED");
}

void transaction_each_call(struct client *c, call_visit *visit, void *context) {
    const struct transaction *t = transaction_of(c);
    for (const struct queued *q = t ? t->first : NULL; q; q = q->next) {
        struct call call;
        queued_make_call(&call, CALL_QUEUED, c, q);
        if (!visit(&call, context)) return;
    }
}

void transaction_begin(struct client *c) {
    ASSERT(!client_in_transaction(c));
    find_or_create(c);
    transaction_set(c, TRANSACTION_OPEN);
}

void transaction_fail(struct client *c) {
    if (client_in_transaction(c)) transaction_set(c, TRANSACTION_QUEUE_FAILED);
}

/* Commands of dropped queues, which free_leaving frees in steps. */
static struct queued *leaving_first, *leaving_last;
static size_t leaving_bytes;

static bool free_leaving(void) {
    for (int i = 0; leaving_first && i < QUEUED_AT_ONCE; i++) {
        struct queued *q = leaving_first;
        leaving_first = q->next;
        leaving_bytes -= q->bytes;
        memory_move(NULL, q->bytes, MEMORY_LEAVING, MEMORY_CLIENTS);
        queued_free(q);
    }
    return leaving_first != NULL;
}

static struct lazyfree_work leaving = {.step = free_leaving};

/* Moves the queue to those that are freed in steps. No command of it has run, so each still has all
 * its blobs. */
static void give_queue_up(struct transaction *t) {
    memory_move(NULL, t->queue_bytes, MEMORY_CLIENTS, MEMORY_LEAVING);
    leaving_bytes += t->queue_bytes;
    t->bytes -= t->queue_bytes;
    t->queue_bytes = 0;
    if (leaving_first)
        leaving_last->next = t->first;
    else
        leaving_first = t->first;
    leaving_last = t->last;
    t->first = NULL;
    lazyfree_call(&leaving);
}

/* Empties the queue and ends the transaction; watched keys stay. */
static void drop_queue(struct client *c, struct transaction *t) {
    if (t->first && t->count > QUEUED_AT_ONCE) give_queue_up(t);
    while (t->first) transaction_drop_first(t);
    t->last = NULL;
    t->count = 0;
    t->command_flags = t->lacking_flags = 0;
    transaction_clear(c, TRANSACTION_OPEN | TRANSACTION_QUEUE_FAILED);
}

/* ---- for EXEC ---- */

struct transaction *transaction_run_begin(struct client *c) {
    struct transaction *t = transaction_of(c);
    transaction_unwatch(c);
    transaction_set(c, TRANSACTION_RUNS);
    return t;
}

const struct queued *transaction_first(const struct transaction *t) { return t->first; }

void transaction_drop_first(struct transaction *t) {
    struct queued *q = t->first;
    t->first = q->next;
    t->bytes -= q->bytes;
    t->queue_bytes -= q->bytes;
    queued_free(q);
}

void transaction_run_end(struct transaction *t) {
    struct client *c = t->client;
    transaction_clear(c, TRANSACTION_RUNS);
    drop_queue(c, t);
    free_if_unused(c, t);
}

/* ---- watched keys ---- */

static void show_interest(int delta) {
    keyspace_add_interest(KEYSPACE_WRITES, delta);
    keyspace_add_interest(KEYSPACE_REMOVALS, delta);
    keyspace_add_interest(KEYSPACE_SWEEPS, delta);
}

static struct key_row *watched_key_find_or_create(const struct key *key) {
    struct key_row *k = key_table_find(&keys, key);
    if (k) return k;
    if (!key_table_count(&keys)) show_interest(1);
    return key_table_create(&keys, key);
}

static void key_free(struct key_row *k) {
    key_table_free(&keys, k);
    if (!key_table_count(&keys)) show_interest(-1);
}

static enum keyspace_presence presence_in(struct keyspace *ks, const struct key_row *k) {
    const struct key key = {ks, k->name, k->hash};
    return keyspace_presence(&key);
}

/* Searches the client's keys or the key's clients, whichever are fewer. */
static bool watches_already(const struct transaction *t, const struct client *c,
                            const struct key_row *k) {
    if (t->watches_count <= k->links_count) {
        LIST_FOR_EACH (link, following, &t->watches)
            if (LIST_ENTRY(link, struct watch, of_client)->key == k) return true;
        return false;
    }
    LIST_FOR_EACH (link, following, &k->links)
        if (LIST_ENTRY(link, struct watch, of_key)->client == c) return true;
    return false;
}

void transaction_watch(struct client *c, const struct key *key) {
    if (transaction_has(c, TRANSACTION_WATCH_FAILED)) return;
    struct transaction *t = find_or_create(c);
    struct key_row *k = watched_key_find_or_create(key);
    if (watches_already(t, c, k)) return;
    struct watch *w = memory_alloc(sizeof(*w), MEMORY_CLIENTS);
    *w = (struct watch){.key = k, .client = c};
    key_table_link(k, &w->of_key);
    list_append(&t->watches, &w->of_client);
    t->watches_count++;
    t->bytes += memory_usable_size(w);
}

static void watch_end(struct transaction *t, struct watch *w) {
    struct key_row *k = w->key;
    key_table_unlink(k, &w->of_key);
    list_remove(&w->of_client);
    t->watches_count--;
    t->bytes -= memory_usable_size(w);
    memory_free_sized(w, sizeof(*w), MEMORY_CLIENTS);
    if (!k->links_count) key_free(k);
}

static void end_watches(struct transaction *t) {
    LIST_FOR_EACH (link, following, &t->watches)
        watch_end(t, LIST_ENTRY(link, struct watch, of_client));
}

void transaction_unwatch(struct client *c) {
    struct transaction *t = transaction_of(c);
    transaction_clear(c, TRANSACTION_WATCH_FAILED);
    if (!t) return;
    end_watches(t);
    free_if_unused(c, t);
}

bool transaction_watch_failed(const struct client *c) {
    const struct transaction *t = transaction_of(c);
    if (transaction_has(c, TRANSACTION_WATCH_FAILED)) return true;
    if (!t) return false;
    LIST_FOR_EACH (link, following, &t->watches) {
        const struct watch *w = LIST_ENTRY(link, struct watch, of_client);
        if (presence_in(keyspace_at(w->key->database), w->key) == KEYSPACE_HIDDEN) return true;
    }
    return false;
}

/* ---- what the keyspace tells ---- */

/* Clients whose flag was just set and whose watches must still be ended. That waits until the table
 * and the lists of keys are not iterated. */
static struct list_link failing = {&failing, &failing}; /* of struct transaction.failing */

static void key_fail(struct key_row *k) {
    LIST_FOR_EACH (link, following, &k->links) {
        struct client *c = LIST_ENTRY(link, struct watch, of_key)->client;
        if (transaction_has(c, TRANSACTION_WATCH_FAILED)) continue;
        transaction_set(c, TRANSACTION_WATCH_FAILED);
        list_append(&failing, &transaction_of(c)->failing);
    }
}

static void end_failing(void) {
    while (!list_is_empty(&failing)) {
        struct transaction *t = LIST_ENTRY(failing.next, struct transaction, failing);
        list_remove(&t->failing);
        end_watches(t);
        free_if_unused(t->client, t);
    }
}

static void transaction_key_changed(const struct key *key, enum keyspace_cause cause) {
    struct key_row *k = key_table_find(&keys, key);
    if (!k) return;
    key_fail(k);
    end_failing();
}

static void key_is_flushed(void *element, void *context) {
    struct key_row *k = element;
    struct keyspace *ks = context;
    if (presence_in(ks, k) != KEYSPACE_ABSENT) key_fail(k);
}

static void transaction_flushing(struct keyspace *ks) {
    key_table_each(&keys, keyspace_index(ks), key_is_flushed, ks);
    end_failing();
}

struct swapped {
    struct keyspace *a, *b;
};

static void key_is_swapped(void *element, void *context) {
    struct key_row *k = element;
    const struct swapped *s = context;
    if (presence_in(s->a, k) != KEYSPACE_ABSENT || presence_in(s->b, k) != KEYSPACE_ABSENT)
        key_fail(k);
}

static void transaction_swapping(struct keyspace *a, struct keyspace *b) {
    struct swapped s = {a, b};
    if (a == b) return;
    key_table_each(&keys, keyspace_index(a), key_is_swapped, &s);
    key_table_each(&keys, keyspace_index(b), key_is_swapped, &s);
    end_failing();
}

const struct keyspace_observer transaction_observer = {.changed = transaction_key_changed,
                                                       .flushing = transaction_flushing,
                                                       .swapping = transaction_swapping};

/* ---- the end ---- */

void transaction_end(struct client *c) {
    struct transaction *t = transaction_of(c);
    if (t) drop_queue(c, t);
    transaction_unwatch(c);
}

static void transaction_client_closes(struct client *c) {
    ASSERT(!transaction_has(c, TRANSACTION_RUNS));
    transaction_end(c);
}

struct client_state transaction_client_state = {.name = "transaction",
                                                .flags = 4,
                                                .has_place = true,
                                                .letters = "x d ",
                                                .closing = transaction_client_closes,
                                                .bytes = transaction_bytes};

/* ---- checks ---- */

static void watched_key_check(void *element, void *context) {
    struct key_row *k = element;
    size_t *watches = context;
    ASSERT(k->links_count > 0);
    LIST_FOR_EACH (link, following, &k->links) {
        const struct watch *w = LIST_ENTRY(link, struct watch, of_key);
        ASSERT(w->key == k && !transaction_has(w->client, TRANSACTION_WATCH_FAILED));
    }
    *watches += k->links_count;
}

static size_t check_client(const struct client *c) {
    const struct transaction *t = transaction_of(c);
    size_t bytes, watches = 0;
    int64_t queued = 0;
    if (!t) {
        ASSERT(!client_in_transaction(c));
        return 0;
    }
    ASSERT(t->client == c && list_is_empty(&t->failing));
    bytes = memory_usable_size(t);
    for (const struct queued *q = t->first; q; q = q->next, queued++) bytes += q->bytes;
    ASSERT_COMPARE(bytes - memory_usable_size(t), ==, t->queue_bytes);
    LIST_FOR_EACH (link, following, &t->watches) {
        const struct watch *w = LIST_ENTRY(link, struct watch, of_client);
        ASSERT(w->client == c);
        bytes += memory_usable_size(w);
        watches++;
    }
    ASSERT_COMPARE(bytes, ==, t->bytes);
    ASSERT_COMPARE(watches, ==, t->watches_count);
    ASSERT(transaction_has(c, TRANSACTION_RUNS) || queued == t->count);
    ASSERT(client_in_transaction(c) || (watches && !queued));
    return watches;
}

void transaction_check(void) {
    size_t of_keys = 0, of_clients = 0, given_up = 0;
    for (const struct queued *q = leaving_first; q; q = q->next) given_up += q->bytes;
    ASSERT_COMPARE(given_up, ==, leaving_bytes);
    key_table_check(&keys);
    for (int i = 0; i < keyspace_databases(); i++)
        key_table_each(&keys, i, watched_key_check, &of_keys);
    LIST_FOR_EACH (link, following, client_list())
        of_clients += check_client(LIST_ENTRY(link, struct client, link));
    ASSERT_COMPARE(of_keys, ==, of_clients);
}
