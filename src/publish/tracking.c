/* SPDX-License-Identifier: BSD-3-Clause
 * Tracked keys, prefixes, and messages of invalidation.
 *
 *     keys: name -> ids of clients that read it       a change sends to them, and the key goes
 *     prefixes: name -> ids of clients, and the keys  a change is collected in each prefix that the
 *               that changed below it                 key begins with; sent before the loop sleeps
 *     trackers: each a client's                       a flush sends to all, and all keys go
 *
 * As in 6.2, keys are told apart by name only: a client that reads a key in one database gets
 * messages of changes of that name in any database. SWAPDB sends no messages.
 *
 * A message is a push in RESP3. A client of RESP2 cannot get pushes, so it names another client
 * that gets its messages (redirect): as pushes, or, if that client speaks RESP2 and listens to a
 * channel, as published messages on __redis__:invalidate.
 *
 * While a request runs, two kinds of messages wait until its call (in a transaction: EXEC's call)
 * has ended, because a message inside a reply cannot be parsed. Then they are sent in this order:
 *
 *  1. Messages that other clients redirect to the client of the request.
 *  2. The client's own messages, to itself or to the client to which it redirects at that time (or
 *     did last, if it has ended tracking), in the form of the protocol that the recipient speaks at
 *     that time.
 *
 * 6.2 lets only the client's own messages wait: those of other clients stand before its reply or
 * within EXEC's. And 6.2 sends a flush as the null of the tracking client's protocol, whoever gets
 * it.
 *
 * Blocked clients are served after all that, so no message waits then, except for those of the
 * credited client (tracking_credit), which follow its reply.
 *
 * When a client closes or stops tracking, its id stays in the sets of the keys that it has read
 * until these change. Such an id is skipped, and dropped when its set would grow, so a set never
 * has more than about four times as many places as there are clients. When the last client stops
 * tracking, all keys are dropped. Beyond tracking-table-max-keys random keys are invalidated as if
 * they had changed: with each request as many as it added and TRIM_KEYS more, and before the loop
 * sleeps TRIM_KEYS at a time. (6.2 does so in its cron, with an effort that grows.)
 *
 * To find the prefixes with which a key begins, a search finds the last prefix that is not behind
 * the key in order. Any other that fits is a beginning of the part that the two have in common, so
 * the next search is for that part. So the number of searches is the number of fitting prefixes and
 * a few more, however many prefixes there are.
 *
 * Sending may mark any client as closing; its state here stays until the request, or the work
 * between turns, has ended.
 *
 * Invariants (tracking_check)
 *  1. A client has TRACKING_ON exactly while it has a tracker, which is in `trackers`. This file is
 *     registered as interested with the keyspace exactly while there is a tracker.
 *  2. A tracked key has at least one id, and `items` is the number of all keys' ids.
 *  3. A prefix has at least one client. A client's prefixes are in order, none twice, and each has
 *     the client's id; only broadcasting clients have prefixes.
 *  4. A prefix is in `changed` exactly while it has collected keys.
 *  5. A tracker's bytes, and those of the prefixes charged to it, are MEMORY_CLIENTS and its
 *     client's (struct client_state). A prefix that several clients share is charged to exactly one
 *     of their trackers, at first the one for which it was created, and to none where all its
 *     clients are closing. Keys, prefixes charged to none, collected keys, and the ids of a
 *     prefix's clients are charged to no client: MEMORY_OTHER. (The radix tree that finds prefixes
 *     counts itself as MEMORY_DATASET.)
 *  6. A client has TRACKING_MESSAGES_WAIT exactly while its messages wait: at most one client, and
 *     one more for each nested turn. The messages of outer turns are in the struct tracking_nesting
 *     on the stack.
 */
#include "publish/tracking.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/list.h"
#include "base/number.h"
#include "base/panic.h"
#include "command/call.h"
#include "command/command.h"
#include "command/command_keys.h"
#include "ds/idset.h"
#include "ds/rax.h"
#include "ds/table.h"
#include "io/background.h"
#include "metric/metric.h"
#include "net/batch.h"
#include "net/client.h"
#include "net/client_memory.h"
#include "net/reply.h"
#include "option/option.h"
#include "store/keyspace.h"

/* Keys beyond the limit that one step drops. At some 300 ns each they take less than the 100 us of
 * other work between turns. 6.2 begins with as many. */
#define TRIM_KEYS 100
/* A table of more keys than this is freed in the background; handing it over costs about as much as
 * freeing so many. */
#define FREE_AT_ONCE 64
/* The buffer in which messages are built is kept up to this size. */
#define TEXT_BYTES_KEPT 16384
/* Room for a type character, digits and a line's end. */
#define HEADER_BYTES (NUMBER_INT64_CHARS + 3)

#define PUSH_HEAD ">2\r\n$10\r\ninvalidate\r\n"
#define MESSAGE_HEAD "*3\r\n$7\r\nmessage\r\n$20\r\n__redis__:invalidate\r\n"
#define BROKEN_HEAD ">2\r\n$21\r\ntracking-redir-broken\r\n"

/* A message that waits; its body's bytes follow it. The body is an array of keys; bytes NULL: all
 * keys. */
struct waiting_message {
    bool is_own; /* the waiting client's own; else redirected to it */
    struct slice body;
};

struct tracked_key {
    struct idset clients;
    size_t length;
    char name[];
};

struct changed_key {
    uint64_t writer; /* the client that changed it last; 0 = it expired, or was evicted, or a script
                        changed it */
    size_t length;
    char name[];
};

struct prefix {
    struct list_link link; /* in `changed` */
    struct tracker *payer; /* the tracker that it is charged to, or NULL */
    struct table *keys;    /* of struct changed_key; NULL = none */
    size_t table_bytes;    /* of `keys`, as counted: it may grow between two changes */
    struct idset clients;
    size_t length;
    char name[];
};

struct tracker {
    struct list_link link; /* in `trackers` */
    struct client *client;
    struct tracking_mode mode;
    bool caching;             /* CLIENT CACHING is in effect */
    struct prefix **prefixes; /* in the order of their names */
    size_t prefixes_count, prefixes_capacity;
    size_t paid_bytes; /* of prefixes */
};

static int64_t keys_max;
static struct table *keys; /* of struct tracked_key; NULL until the first */
static size_t items;
static size_t added;         /* keys, since the table was trimmed last */
static struct rax *prefixes; /* of struct prefix; NULL until the first */
static struct list_link changed = {&changed, &changed};
static size_t all_changed_bytes; /* of all prefixes' changed keys */
static struct client *credited;  /* NULL = the one whose request runs */
static bool serving;             /* blocked clients: the running call's reply is complete */
static struct list_link trackers = {&trackers, &trackers};
static size_t trackers_count;
static uint64_t flush_told; /* the number of the last call whose flush was sent, from 1 on */

static struct buffer text = {.class = MEMORY_POOLS}; /* the message that is being sent */
/* Messages (struct waiting_message) of one client, which has TRACKING_MESSAGES_WAIT. */
static struct buffer waiting = {.class = MEMORY_OTHER};
static uint64_t redirect_at_stop;  /* that client's, if it has ended tracking since */
static const struct call *outside; /* the call that made the innermost nested turn, or NULL */

static struct tracker *tracker_of(const struct client *c) {
    return client_place(c, &tracking_client_state);
}

static void drop_text(struct buffer *b) {
    buffer_clear(b);
    if (b->capacity > TEXT_BYTES_KEPT) buffer_free(b);
}

/* ---- messages ---- */

static void append_header(struct buffer *out, char mark, size_t number) {
    char *end = buffer_reserve(out, HEADER_BYTES), *start = end;
    *end++ = mark;
    end += number_format_int64(end, (int64_t)number);
    *end++ = '\r';
    *end++ = '\n';
    out->length += (size_t)(end - start);
}

static void append_bulk(struct buffer *out, struct slice s) {
    append_header(out, '$', s.length);
    buffer_append(out, s.bytes, s.length);
    buffer_append(out, "\r\n", 2);
}

/* The client whose request runs, while its reply may be incomplete; NULL = there is none. */
static const struct client *client_in_call(void) {
    return call_running() != outside && !serving ? batch_running_client() : NULL;
}

/* The client whose own messages wait; NULL = none. */
static const struct client *client_in_reply(void) { return serving ? credited : client_in_call(); }

static void wait_for_reply(struct client *c, bool is_own, struct slice body) {
    struct waiting_message m = {is_own, body};
    client_set_flags(c, &tracking_client_state, TRACKING_MESSAGES_WAIT, true);
    buffer_append(&waiting, &m, sizeof(m));
    if (body.length) buffer_append(&waiting, body.bytes, body.length);
}

/* Sends a message, but not to a client whose last reply has been written. */
static void send_message(struct client *c, bool redirected, struct slice body) {
    struct slice head = SLICE(PUSH_HEAD);
    if (c->flags & CLIENT_CLOSE_AFTER_REPLY) return;
    if (!body.bytes) body = c->protocol == 3 ? SLICE("_\r\n") : SLICE("$-1\r\n");
    if (c->protocol != 3) {
        if (!redirected || !(c->flags & CLIENT_LISTENS)) return;
        head = SLICE(MESSAGE_HEAD);
    }
    reply_message(c, head.bytes, head.length);
    reply_message(c, body.bytes, body.length);
}

/* Tells `c` that the client to which it redirects is gone. */
static void tell_broken(struct client *c, uint64_t redirect) {
    char line[HEADER_BYTES] = ":";
    size_t length = 1;
    client_set_flags(c, &tracking_client_state, TRACKING_BROKEN, true);
    if (c->protocol != 3 || c->flags & CLIENT_CLOSE_AFTER_REPLY) return;
    length += number_format_int64(line + length, (int64_t)redirect);
    line[length++] = '\r';
    line[length++] = '\n';
    reply_message(c, BROKEN_HEAD, sizeof(BROKEN_HEAD) - 1);
    reply_message(c, line, length);
}

static void send_redirected(struct client *c, uint64_t redirect, struct slice body) {
    struct client *to = redirect ? client_find(redirect) : c;
    if (!to)
        tell_broken(c, redirect);
    else if (to == client_in_call())
        wait_for_reply(to, false, body);
    else
        send_message(to, redirect != 0, body);
}

static void send_to(struct tracker *t, struct slice body) {
    if (t->client == client_in_reply())
        wait_for_reply(t->client, true, body);
    else
        send_redirected(t->client, t->mode.redirect, body);
}

static void send_waiting_of(struct client *c, bool own) {
    const struct tracker *t = tracker_of(c);
    uint64_t redirect = t ? t->mode.redirect : redirect_at_stop;
    for (size_t at = 0; at < waiting.length;) {
        struct waiting_message m;
        memcpy(&m, waiting.bytes + at, sizeof(m));
        at += sizeof(m);
        if (m.body.bytes) m.body.bytes = waiting.bytes + at;
        at += m.body.length;
        if (m.is_own != own) continue;
        if (own)
            send_redirected(c, redirect, m.body);
        else
            send_message(c, true, m.body);
    }
}

/* Sends the client's waiting messages; its reply must be complete. */
static void send_waiting(struct client *c) {
    if (!(client_flags(c, &tracking_client_state) & TRACKING_MESSAGES_WAIT)) return;
    ASSERT(!client_in_reply());
    client_set_flags(c, &tracking_client_state, TRACKING_MESSAGES_WAIT, false);
    send_waiting_of(c, false);
    send_waiting_of(c, true);
    drop_text(&waiting);
}

/* The tracker of the client with this id; NULL where it is closed or does not track. */
static struct tracker *tracker_find(uint64_t id) {
    const struct client *c = client_find(id);
    return c ? tracker_of(c) : NULL;
}

/* ---- tracked keys ---- */

static uint64_t key_hash(const void *element) {
    const struct tracked_key *k = element;
    return hash_bytes(k->name, k->length);
}

static bool key_matches(const void *element, const void *key, size_t key_length) {
    const struct tracked_key *k = element;
    return k->length == key_length && !memcmp(k->name, key, key_length);
}

static const struct table_type key_table = {key_hash, key_matches, MEMORY_OTHER};

static void key_free(struct tracked_key *k) {
    idset_free(&k->clients, MEMORY_OTHER);
    memory_free(k, MEMORY_OTHER);
}

/* Whether the tracker still wants messages of keys that were read. */
static bool wants_keys(const struct tracker *t) { return t && !t->mode.broadcasts; }

static void drop_gone(struct tracked_key *k) {
    struct idset kept = {0};
    size_t position = 0;
    uint64_t id;
    while ((id = idset_next(&k->clients, &position)) != 0)
        if (wants_keys(tracker_find(id))) idset_add(&kept, id, MEMORY_OTHER);
    items -= k->clients.count - kept.count;
    idset_free(&k->clients, MEMORY_OTHER);
    k->clients = kept;
}

static void note_read(const struct client *c, struct slice name) {
    uint64_t hash = hash_bytes(name.bytes, name.length);
    if (!keys) keys = table_create(&key_table);
    struct tracked_key *k = table_find(keys, hash, name.bytes, name.length);
    if (!k) {
        k = memory_alloc(sizeof(*k) + name.length, MEMORY_OTHER);
        k->clients = (struct idset){0};
        k->length = name.length;
        if (name.length) memcpy(k->name, name.bytes, name.length);
        table_insert(keys, hash, k);
        added++;
    } else if (idset_is_full(&k->clients)) {
        drop_gone(k);
    }
    items += idset_add(&k->clients, c->id, MEMORY_OTHER);
}

static bool note_key_read(int index, void *context) {
    const struct call *call = context;
    note_read(call->client, call->argv[index]);
    return true;
}

static void note_reads(const struct call *call) {
    command_each_key(&(struct key_search){call->command, call->argc, call->argv, note_key_read,
                                          (void *)(uintptr_t)call});
}

/* Sends a message to all clients that read the key, except for `changer` if that has NOLOOP. The
 * key must be in no table any more. */
static void key_tell(const struct tracked_key *k, const struct client *changer) {
    size_t position = 0;
    uint64_t id;
    buffer_clear(&text);
    while ((id = idset_next(&k->clients, &position)) != 0) {
        struct tracker *t = tracker_find(id);
        if (!wants_keys(t) || (t->mode.no_loop && t->client == changer)) continue;
        if (!text.length) {
            buffer_append(&text, "*1\r\n", 4);
            append_bulk(&text, (struct slice){k->name, k->length});
        }
        send_to(t, buffer_slice(&text));
    }
    drop_text(&text);
}

static void key_invalidate(struct tracked_key *k, uint64_t hash, const struct client *changer) {
    table_remove_element(keys, hash, k);
    items -= k->clients.count;
    key_tell(k, changer);
    key_free(k);
}

static bool too_many(void) { return keys_max && keys && table_count(keys) > (size_t)keys_max; }

static void tracking_trim(size_t count) {
    for (; count && too_many(); count--) {
        struct tracked_key *k = table_random(keys);
        key_invalidate(k, key_hash(k), NULL);
    }
}

static void release_key(void *element, void *context) { key_free(element); }

static void release_table(void *table) {
    while (!table_free_step(table, SIZE_MAX, release_key, NULL)) continue;
}

/* Drops all keys. No other code has pointers to them, so a background thread can free the table. */
static void forget_keys(void) {
    struct table *t = keys;
    keys = NULL;
    items = added = 0;
    if (!t) return;
    table_detach(t);
    if (table_count(t) > FREE_AT_ONCE)
        background_submit(&background_free, release_table, t);
    else
        release_table(t);
}

/* ---- prefixes ---- */

static uint64_t changed_hash(const void *element) {
    const struct changed_key *k = element;
    return hash_bytes(k->name, k->length);
}

static bool changed_matches(const void *element, const void *key, size_t key_length) {
    const struct changed_key *k = element;
    return k->length == key_length && !memcmp(k->name, key, key_length);
}

static const struct table_type changed_table = {changed_hash, changed_matches, MEMORY_OTHER};

static struct slice prefix_name(const struct prefix *p) {
    return (struct slice){p->name, p->length};
}

static bool begins_with(struct slice s, struct slice beginning) {
    return s.length >= beginning.length && !memcmp(s.bytes, beginning.bytes, beginning.length);
}

static size_t common_length(struct slice a, struct slice b) {
    size_t length = 0, shorter = a.length < b.length ? a.length : b.length;
    while (length < shorter && a.bytes[length] == b.bytes[length]) length++;
    return length;
}

static void prefix_set_payer(struct prefix *p, struct tracker *t) {
    size_t bytes = memory_usable_size(p);
    if (p->payer) {
        p->payer->paid_bytes -= bytes;
        memory_move(p, bytes, MEMORY_CLIENTS, MEMORY_OTHER);
    }
    p->payer = t;
    if (!t) return;
    t->paid_bytes += bytes;
    memory_move(p, bytes, MEMORY_OTHER, MEMORY_CLIENTS);
}

/* Creates a prefix that is charged to no tracker yet. */
static struct prefix *prefix_create(struct slice name) {
    struct prefix *p = memory_alloc(sizeof(*p) + name.length, MEMORY_OTHER);
    list_init(&p->link);
    p->payer = NULL;
    p->keys = NULL;
    p->table_bytes = 0;
    p->clients = (struct idset){0};
    p->length = name.length;
    if (name.length) memcpy(p->name, name.bytes, name.length);
    if (!prefixes) prefixes = rax_create();
    rax_insert(prefixes, name, p, NULL);
    return p;
}

static size_t changed_bytes(const struct changed_key *k) {
    return memory_good_size(sizeof(*k) + k->length);
}

static void release_changed(void *element, void *context) {
    all_changed_bytes -= changed_bytes(element);
    memory_free(element, MEMORY_OTHER);
}

static void count_table(struct prefix *p) {
    size_t bytes = p->keys ? table_bytes(p->keys) : 0;
    all_changed_bytes += bytes - p->table_bytes;
    p->table_bytes = bytes;
}

static void prefix_drop_keys(struct prefix *p) {
    struct table *t = p->keys;
    p->keys = NULL;
    count_table(p);
    list_remove(&p->link);
    while (t && !table_free_step(t, SIZE_MAX, release_changed, NULL)) continue;
}

static void prefix_free(struct prefix *p) {
    prefix_drop_keys(p);
    rax_remove(prefixes, prefix_name(p), NULL);
    memory_free(p, MEMORY_OTHER);
}

/* Charges a prefix, whose payer has left, to another of its clients; clients that are closing are
 * not found. */
static void prefix_find_payer(struct prefix *p) {
    struct tracker *t = NULL;
    size_t position = 0;
    uint64_t id;
    while (!t && (id = idset_next(&p->clients, &position)) != 0) t = tracker_find(id);
    prefix_set_payer(p, t);
    if (t) client_memory_note(t->client);
}

static void prefix_leave(struct prefix *p, const struct tracker *t) {
    idset_remove(&p->clients, t->client->id, MEMORY_OTHER);
    if (p->payer == t) prefix_find_payer(p);
    if (!p->clients.count) prefix_free(p);
}

static void prefix_collect(struct prefix *p, struct slice name, uint64_t hash, uint64_t writer) {
    struct changed_key *k;
    if (!p->keys) {
        p->keys = table_create(&changed_table);
        list_append(&changed, &p->link);
    }
    k = table_find(p->keys, hash, name.bytes, name.length);
    if (!k) {
        k = memory_alloc(sizeof(*k) + name.length, MEMORY_OTHER);
        k->length = name.length;
        if (name.length) memcpy(k->name, name.bytes, name.length);
        all_changed_bytes += changed_bytes(k);
        table_insert(p->keys, hash, k);
        count_table(p);
    }
    k->writer = writer;
}

/* Collects a changed key in each prefix with which it begins. */
static void collect_in_prefixes(struct slice name, uint64_t hash, uint64_t writer) {
    enum rax_relation relation = RAX_AT_MOST;
    struct slice rest = name;
    struct buffer found;
    void *value;
    buffer_init(&found, MEMORY_OTHER);
    while (rax_seek(prefixes, relation, rest, &found, &value)) {
        struct prefix *p = value;
        rest.length = common_length(prefix_name(p), name);
        relation = RAX_AT_MOST;
        if (rest.length < p->length) continue;
        prefix_collect(p, name, hash, writer);
        relation = RAX_BELOW;
    }
    buffer_free(&found);
}

/* ---- broadcasting ---- */

static int compare_prefixes(const void *a, const void *b) {
    return slice_compare(prefix_name(*(struct prefix *const *)a),
                         prefix_name(*(struct prefix *const *)b));
}

static int compare_changed(const void *a, const void *b) {
    const struct changed_key *one = *(struct changed_key *const *)a;
    const struct changed_key *other = *(struct changed_key *const *)b;
    return slice_compare((struct slice){one->name, one->length},
                         (struct slice){other->name, other->length});
}

static void append_pointer(void *element, void *context) {
    buffer_append(context, &element, sizeof(element));
}

/* The messages of one prefix. */
struct news {
    struct changed_key **keys; /* in order */
    size_t count;
    struct idset writers;
    struct buffer all, others; /* messages' bodies: all keys; keys that other clients wrote */
};

/* Builds a body without the keys that the client `without` wrote; false where no key is left. */
static bool append_keys(const struct news *n, uint64_t without, struct buffer *out) {
    size_t count = 0;
    for (size_t i = 0; i < n->count; i++) count += !without || n->keys[i]->writer != without;
    buffer_clear(out);
    append_header(out, '*', count);
    for (size_t i = 0; i < n->count; i++)
        if (!without || n->keys[i]->writer != without)
            append_bulk(out, (struct slice){n->keys[i]->name, n->keys[i]->length});
    return count != 0;
}

static void send_news(struct news *n, uint64_t id) {
    struct tracker *t = tracker_find(id);
    if (!t) return;
    if (!t->mode.no_loop || !idset_has(&n->writers, id))
        send_to(t, buffer_slice(&n->all));
    else if (append_keys(n, id, &n->others))
        send_to(t, buffer_slice(&n->others));
    if (reply_is_due()) reply_write_all();
}

static void broadcast_prefix(struct prefix *p) {
    struct news n = {.count = table_count(p->keys)};
    struct buffer pointers;
    size_t position = 0;
    uint64_t id;
    buffer_init(&pointers, MEMORY_OTHER);
    buffer_init(&n.all, MEMORY_OTHER);
    buffer_init(&n.others, MEMORY_OTHER);
    table_each(p->keys, append_pointer, &pointers);
    n.keys = (struct changed_key **)(void *)pointers.bytes;
    qsort(n.keys, n.count, sizeof(struct changed_key *), compare_changed);
    for (size_t i = 0; i < n.count; i++)
        if (n.keys[i]->writer) idset_add(&n.writers, n.keys[i]->writer, MEMORY_OTHER);
    append_keys(&n, 0, &n.all);
    while ((id = idset_next(&p->clients, &position)) != 0) send_news(&n, id);
    idset_free(&n.writers, MEMORY_OTHER);
    buffer_free(&n.others);
    buffer_free(&n.all);
    buffer_free(&pointers);
}

static void tracking_broadcast(void) {
    struct buffer pointers;
    buffer_init(&pointers, MEMORY_OTHER);
    LIST_FOR_EACH (link, following, &changed)
        append_pointer(LIST_ENTRY(link, struct prefix, link), &pointers);
    struct prefix **list = (struct prefix **)(void *)pointers.bytes;
    size_t count = pointers.length / sizeof(struct prefix *);
    qsort(list, count, sizeof(struct prefix *), compare_prefixes);
    for (size_t i = 0; i < count; i++) {
        broadcast_prefix(list[i]);
        prefix_drop_keys(list[i]);
    }
    buffer_free(&pointers);
}

bool tracking_step(void) {
    if (!list_is_empty(&changed)) tracking_broadcast();
    tracking_trim(TRIM_KEYS);
    return too_many();
}

/* ---- what the keyspace tells ---- */

static const struct client *changer_now(void) {
    bool captured = credited && credited->flags & CLIENT_CAPTURED;
    return credited && !captured ? credited : batch_running_client();
}

/* Whether a script runs. As in 6.2 its changes count as its caller's, except below prefixes. */
static bool in_script(void) {
    const struct call *running = call_running();
    return running && call_is_scripts(running);
}

static void key_changed(const struct key *key, enum keyspace_cause cause) {
    struct slice name = key->name;
    uint64_t hash = key->hash;
    const struct client *changer = changer_now();
    if (prefixes && rax_count(prefixes)) {
        bool own = changer && cause == KEYSPACE_WRITTEN && !in_script();
        collect_in_prefixes(name, hash, own ? changer->id : 0);
    }
    struct tracked_key *k = keys ? table_find(keys, hash, name.bytes, name.length) : NULL;
    if (k) key_invalidate(k, hash, changer);
}

void tracking_credit(struct client *c) {
    struct client *before = credited;
    credited = c;
    if (serving && before) send_waiting(before);
}

void tracking_serve_begin(void) {
    serving = true;
    send_waiting(call_running()->client);
}

void tracking_serve_end(void) { serving = false; }

void tracking_nest_begin(struct tracking_nesting *outer) {
    ASSERT(!serving && !credited);
    *outer = (struct tracking_nesting){outside, waiting, redirect_at_stop};
    outside = call_running();
    buffer_init(&waiting, MEMORY_OTHER);
}

void tracking_nest_end(const struct tracking_nesting *outer) {
    ASSERT(!waiting.length);
    buffer_free(&waiting);
    outside = outer->outside;
    waiting = outer->waiting;
    redirect_at_stop = outer->redirect_at_stop;
}

/* CONFIG RESETSTAT: the numbers of calls begin anew. */
static void calls_count_anew(void) { flush_told = 0; }

/* FLUSHALL sends one message, though each database is flushed. */
static void tracking_flushing(struct keyspace *ks) {
    uint64_t call_number = call_count() + 1;
    if (flush_told == call_number) return;
    flush_told = call_number;
    forget_keys();
    LIST_FOR_EACH (link, following, &trackers) {
        struct tracker *t = LIST_ENTRY(link, struct tracker, link);
        if (!(t->client->flags & CLIENT_CLOSING)) send_to(t, (struct slice){NULL, 0});
    }
}

const struct keyspace_observer tracking_observer = {.changed = key_changed,
                                                    .flushing = tracking_flushing};

/* ---- calls ---- */

/* Ends CLIENT CACHING, which is in effect for one request or transaction; CLIENT itself does not
 * end it. */
static void end_caching(struct client *c, const struct command *command) {
    struct tracker *t = tracker_of(c);
    if (!t || !t->caching) return;
    if (!command || strcmp(command->name, "client") != 0) t->caching = false;
}

void tracking_after_refusal(struct client *c, const struct command *command, bool unit_goes_on) {
    if (!unit_goes_on) end_caching(c, command);
}

static void after_read(const struct call *call, const struct tracker *t) {
    if (t->mode.broadcasts) return;
    bool counts = t->mode.opt_in ? t->caching : !(t->mode.opt_out && t->caching);
    if (counts) note_reads(call);
}

void tracking_after_script_read(const struct call *script) {
    const struct tracker *t = tracker_of(script->client);
    if (t) after_read(script, t);
}

void tracking_after_call(const struct call *call, bool outermost, bool unit_goes_on) {
    struct client *c = call->client;
    const struct tracker *t = tracker_of(c);
    if (t && call->command->flags & COMMAND_READONLY) after_read(call, t);
    if (!outermost) return;
    if (!unit_goes_on) end_caching(c, call->command);
    send_waiting(c);
    if (too_many()) tracking_trim(added + TRIM_KEYS);
    added = 0;
}

/* ---- clients ---- */

static size_t tracker_bytes(const struct client *c) {
    const struct tracker *t = tracker_of(c);
    if (!t) return 0;
    return memory_usable_size(t) + memory_usable_size(t->prefixes) + t->paid_bytes;
}

static void tracking_show_interest(int delta) {
    keyspace_add_interest(KEYSPACE_WRITES, delta);
    keyspace_add_interest(KEYSPACE_REMOVALS, delta);
    keyspace_add_interest(KEYSPACE_SWEEPS, delta);
}

static struct tracker *tracker_create(struct client *c) {
    struct tracker *t = memory_zalloc(sizeof(*t), MEMORY_CLIENTS);
    t->client = c;
    list_append(&trackers, &t->link);
    if (!trackers_count++) tracking_show_interest(1);
    client_set_flags(c, &tracking_client_state, TRACKING_ON, true);
    client_set_place(c, &tracking_client_state, t);
    return t;
}

static void add_prefix(struct tracker *t, struct slice name) {
    void **found = prefixes ? rax_find(prefixes, name) : NULL;
    struct prefix *p = found ? *found : prefix_create(name);
    if (!idset_add(&p->clients, t->client->id, MEMORY_OTHER)) return;
    if (!p->payer) prefix_set_payer(p, t);
    if (t->prefixes_count == t->prefixes_capacity) {
        t->prefixes_capacity = t->prefixes_capacity ? t->prefixes_capacity * 2 : 1;
        t->prefixes = memory_realloc(t->prefixes, t->prefixes_capacity * sizeof(struct prefix *),
                                     MEMORY_CLIENTS);
    }
    t->prefixes[t->prefixes_count++] = p;
}

void tracking_start(struct client *c, const struct tracking_mode *mode, const struct slice *names,
                    size_t count) {
    struct tracker *t = tracker_of(c);
    if (c->flags & CLIENT_CLOSING) return;
    if (!t) t = tracker_create(c);
    t->mode = *mode;
    client_set_flags(c, &tracking_client_state, TRACKING_BROKEN | TRACKING_BROADCASTS, false);
    if (mode->broadcasts) {
        client_set_flags(c, &tracking_client_state, TRACKING_BROADCASTS, true);
        if (!count) add_prefix(t, SLICE(""));
        for (size_t i = 0; i < count; i++) add_prefix(t, names[i]);
        qsort(t->prefixes, t->prefixes_count, sizeof(struct prefix *), compare_prefixes);
    }
    client_memory_note(c);
}

void tracking_stop(struct client *c) {
    struct tracker *t = tracker_of(c);
    if (!t) return;
    if (client_flags(c, &tracking_client_state) & TRACKING_MESSAGES_WAIT)
        redirect_at_stop = t->mode.redirect;
    for (size_t i = 0; i < t->prefixes_count; i++) prefix_leave(t->prefixes[i], t);
    list_remove(&t->link);
    client_set_flags(c, &tracking_client_state, TRACKING_ON | TRACKING_BROKEN | TRACKING_BROADCASTS,
                     false);
    client_set_place(c, &tracking_client_state, NULL);
    memory_free(t->prefixes, MEMORY_CLIENTS);
    memory_free_sized(t, sizeof(*t), MEMORY_CLIENTS);
    client_memory_note(c);
    if (--trackers_count) return;
    tracking_show_interest(-1);
    forget_keys();
}

const struct tracking_mode *tracking_mode(const struct client *c) {
    const struct tracker *t = tracker_of(c);
    return t ? &t->mode : NULL;
}

int64_t tracking_redirect(const struct client *c) {
    const struct tracker *t = tracker_of(c);
    return t ? (int64_t)t->mode.redirect : -1;
}

bool tracking_redirect_is_broken(const struct client *c) {
    return client_flags(c, &tracking_client_state) & TRACKING_BROKEN;
}

size_t tracking_prefix_count(const struct client *c) {
    const struct tracker *t = tracker_of(c);
    return t ? t->prefixes_count : 0;
}

struct slice tracking_prefix(const struct client *c, size_t index) {
    return prefix_name(tracker_of(c)->prefixes[index]);
}

void tracking_set_caching(struct client *c) { tracker_of(c)->caching = true; }

bool tracking_caching(const struct client *c) {
    const struct tracker *t = tracker_of(c);
    return t && t->caching;
}

struct client_state tracking_client_state = {.name = "tracking",
                                             .flags = 4,
                                             .has_place = true,
                                             .letters = "tRB ",
                                             .closing = tracking_stop,
                                             .bytes = tracker_bytes};

/* ---- overlaps ---- */

static bool prefixes_overlap(struct slice a, struct slice b) {
    return begins_with(a, b) || begins_with(b, a);
}

/* The first of the client's prefixes, in order, that overlaps with the name; NULL where none does.
 * Of the client's own prefixes only "" may overlap with others. So at most one other prefix begins
 * the name, and it is the last one before it. */
static const struct prefix *own_overlap(const struct tracker *t, struct slice name) {
    size_t low = 0, high = t ? t->prefixes_count : 0;
    if (!high) return NULL;
    if (!t->prefixes[0]->length) return t->prefixes[0];
    while (low < high) { /* finds the first one that is not before the name */
        size_t middle = low + (high - low) / 2;
        if (slice_compare(prefix_name(t->prefixes[middle]), name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low && prefixes_overlap(prefix_name(t->prefixes[low - 1]), name))
        return t->prefixes[low - 1];
    if (low < t->prefixes_count && prefixes_overlap(prefix_name(t->prefixes[low]), name))
        return t->prefixes[low];
    return NULL;
}

static int compare_given(const void *a, const void *b) {
    const struct slice *const *one = a, *const *other = b;
    int order = slice_compare(**one, **other);
    return order ? order : (*one > *other) - (*one < *other);
}

/* The first given name that overlaps with a later one; NULL where none does. In sorted order all
 * names that begin with a name follow it at once. `open` has the names with which the present one
 * begins, the shortest first; each entry is the one that was given first among that name and the
 * shorter ones. */
static const struct slice *given_overlap(const struct slice *names, size_t count) {
    const struct slice **sorted = memory_alloc(count * sizeof(*sorted), MEMORY_OTHER);
    const struct slice **open = memory_alloc(2 * count * sizeof(*open), MEMORY_OTHER);
    const struct slice *first = NULL;
    size_t depth = 0;
    for (size_t i = 0; i < count; i++) sorted[i] = &names[i];
    qsort(sorted, count, sizeof(*sorted), compare_given);
    for (size_t i = 0; i < count; i++) {
        const struct slice *foremost = sorted[i];
        while (depth && !begins_with(*sorted[i], *open[2 * depth - 2])) depth--;
        if (depth) {
            if (open[2 * depth - 1] < foremost) foremost = open[2 * depth - 1];
            if (!first || foremost < first) first = foremost;
        }
        open[2 * depth] = sorted[i];
        open[2 * depth + 1] = foremost;
        depth++;
    }
    memory_free(open, MEMORY_OTHER);
    memory_free(sorted, MEMORY_OTHER);
    return first;
}

bool tracking_find_overlap(const struct client *c, const struct slice *names, size_t count,
                           struct tracking_overlap *found) {
    const struct slice *first = given_overlap(names, count);
    for (size_t i = 0; i < count; i++) {
        const struct prefix *p = own_overlap(tracker_of(c), names[i]);
        *found = (struct tracking_overlap){.given = names[i], .own = p != NULL};
        if (p) {
            found->other = prefix_name(p);
            return true;
        }
        if (&names[i] != first) continue;
        for (i++; !prefixes_overlap(names[i], *first);) i++;
        found->other = names[i];
        return true;
    }
    return false;
}

/* ---- counts, checks and rows ---- */

size_t tracking_keys(void) { return keys ? table_count(keys) : 0; }
size_t tracking_items(void) { return items; }
size_t tracking_untold_bytes(void) { return all_changed_bytes; }
size_t tracking_prefixes(void) { return prefixes ? rax_count(prefixes) : 0; }
size_t tracking_clients(void) { return trackers_count; }

static void check_key(void *element, void *context) {
    const struct tracked_key *k = element;
    size_t *sum = context;
    idset_check(&k->clients);
    ASSERT_COMPARE(k->clients.count, >, 0);
    *sum += k->clients.count;
}

static size_t check_tracker(const struct tracker *t) {
    ASSERT(client_flags(t->client, &tracking_client_state) & TRACKING_ON &&
           tracker_of(t->client) == t);
    ASSERT(t->mode.broadcasts || !t->prefixes_count);
    size_t paid_bytes = 0;
    for (size_t i = 0; i < t->prefixes_count; i++) {
        ASSERT(idset_has(&t->prefixes[i]->clients, t->client->id));
        ASSERT(t->prefixes[i]->payer || t->client->flags & CLIENT_CLOSING);
        if (t->prefixes[i]->payer == t) paid_bytes += memory_usable_size(t->prefixes[i]);
        ASSERT(!i || compare_prefixes(&t->prefixes[i - 1], &t->prefixes[i]) < 0);
    }
    ASSERT_COMPARE(paid_bytes, ==, t->paid_bytes);
    return t->prefixes_count;
}

void tracking_check(void) {
    size_t sum = 0, count = 0, pairs = 0;
    enum rax_relation relation = RAX_FIRST;
    struct buffer name;
    void *value;
    if (keys) table_each(keys, check_key, &sum);
    ASSERT_COMPARE(sum, ==, items);
    LIST_FOR_EACH (link, following, &trackers) {
        pairs += check_tracker(LIST_ENTRY(link, struct tracker, link));
        count++;
    }
    ASSERT_COMPARE(count, ==, trackers_count);
    count = 0;
    LIST_FOR_EACH (link, following, client_list()) {
        const struct client *c = LIST_ENTRY(link, struct client, link);
        ASSERT(((client_flags(c, &tracking_client_state) & TRACKING_ON) != 0) ==
               (tracker_of(c) != NULL));
        count += (client_flags(c, &tracking_client_state) & TRACKING_MESSAGES_WAIT) != 0;
    }
    ASSERT_COMPARE(count, ==, waiting.length != 0);
    ASSERT(list_is_empty(&changed) == (all_changed_bytes == 0));
    buffer_init(&name, MEMORY_OTHER);
    while (prefixes && rax_seek(prefixes, relation, buffer_slice(&name), &name, &value)) {
        const struct prefix *p = value;
        relation = RAX_ABOVE;
        idset_check(&p->clients);
        ASSERT(p->clients.count && list_is_empty(&p->link) == !p->keys);
        pairs -= p->clients.count;
    }
    buffer_free(&name);
    ASSERT_COMPARE(pairs, ==, 0);
}

static const struct option_row option_rows[] = {
    OPTION_INT("tracking-table-max-keys", &keys_max, "1000000", 0, INT64_MAX, OPTION_MUTABLE,
               "clients", 200,
               "Keys remembered for clients that cache (CLIENT TRACKING); of further ones random "
               "others are told as changed. 0 = no limit."),
};

static void print_clients(const struct metric_row *row, struct buffer *out) {
    buffer_printf(out, "%zu", tracking_clients());
}
static void print_keys(const struct metric_row *row, struct buffer *out) {
    buffer_printf(out, "%zu", tracking_keys());
}
static void print_items(const struct metric_row *row, struct buffer *out) {
    buffer_printf(out, "%zu", tracking_items());
}
static void print_prefixes(const struct metric_row *row, struct buffer *out) {
    buffer_printf(out, "%zu", tracking_prefixes());
}

static const struct metric_row metric_rows[] = {
    {.section = "Clients",
     .place = 70,
     .name = "tracking_clients",
     .measure = METRIC_GAUGE,
     .type = METRIC_FUNCTION,
     .print = print_clients,
     .help = "Clients that cache and are told of changes."},
    {.section = "Stats",
     .place = 290,
     .name = "tracking_total_keys",
     .measure = METRIC_GAUGE,
     .type = METRIC_FUNCTION,
     .print = print_keys,
     .help = "Keys that are remembered as read by clients that cache."},
    {.section = "Stats",
     .place = 300,
     .name = "tracking_total_items",
     .measure = METRIC_GAUGE,
     .type = METRIC_FUNCTION,
     .print = print_items,
     .help = "Keys that are remembered as read, each once for each client that read it."},
    {.section = "Stats",
     .place = 310,
     .name = "tracking_total_prefixes",
     .measure = METRIC_GAUGE,
     .type = METRIC_FUNCTION,
     .print = print_prefixes,
     .help = "Prefixes that clients are told of all changes below."},
};

void tracking_register(void) {
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
    metric_register(metric_rows, sizeof(metric_rows) / sizeof(metric_rows[0]));
    metric_register_reset(calls_count_anew);
}
