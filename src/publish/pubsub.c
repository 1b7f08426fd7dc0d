/* SPDX-License-Identifier: BSD-3-Clause
 * Topics, listeners, and the subscriptions between them.
 *
 * A topic is a channel or a pattern with subscribers. A listener is the state of a client with
 * subscriptions. A subscription joins the two and is in a list of each, so that either side can be
 * walked in order and a subscription can be ended without a search. One table for all finds the
 * subscription of a given topic and client, because a table for each client would cost most for
 * clients that listen to one channel only.
 *
 *     channels, patterns (by name)            pairs (by topic and client)
 *            |                                       |
 *          topic ---- subscription ---- subscription ----- ...     in the order of subscription
 *                          |                 |
 *                       listener          listener                 each a client's
 *
 * A message is built once for all its recipients: its forms in RESP2 and RESP3 differ in the first
 * byte only.
 *
 * Invariants (pubsub_check)
 *  1. A topic has at least one subscription. It is in the table of its kind, and a pattern also in
 *     the list of patterns.
 *  2. A client has a listener exactly while it has a subscription. A subscription is in the lists
 *     of its topic and of its client's listener, and in `pairs`.
 *  3. While a message is sent no list changes: sending may mark clients as closing, but their
 *     subscriptions stay until the request has ended (client_finish_closing). A closed client with
 *     more subscriptions than are dropped at once is then among the leavers.
 *  4. A listener is part of its client's state, so the client is freed after it. Listeners and
 *     subscriptions are MEMORY_CLIENTS and in the client's sum (struct client_state). Topics and
 *     tables belong to no client: MEMORY_OTHER.
 */
#include "publish/pubsub.h"

#include "base/glob.h"
#include "base/hash.h"
#include "base/list.h"
#include "base/number.h"
#include "base/panic.h"
#include "ds/table.h"
#include "metric/metric.h"
#include "net/batch.h"
#include "net/client.h"
#include "net/client_memory.h"
#include "net/reply.h"

/* Subscriptions of closing clients that are dropped at once. At some 200 ns each they take less
 * than the 100 us of other work between turns. */
#define DROP_AT_ONCE 256
/* The buffer in which messages are built is kept up to this size; a larger one is freed at once. */
#define TEXT_BYTES_KEPT 16384
/* How many subscribers ahead a send prefetches: sending takes longer than a few cache misses. */
#define PREFETCH_DISTANCE 4
/* Room for the lengths and counts of one message: a type character, digits and a line's end each.
 */
#define HEADERS_BYTES ((size_t)5 * (NUMBER_INT64_CHARS + 3))

struct topic {
    struct list_link subscriptions; /* of struct subscription.in_topic */
    struct list_link in_patterns;
    size_t count;
    size_t length;
    enum pubsub_kind kind;
    char name[];
};

struct subscription {
    struct list_link in_topic, in_listener;
    struct topic *topic;
    struct client *client;
};

struct listener {
    struct list_link subscriptions[PUBSUB_KINDS]; /* of struct subscription.in_listener */
    struct list_link in_leavers;
    struct client *client;
    size_t bytes; /* of memory, with its subscriptions */
    uint32_t counts[PUBSUB_KINDS];
};

/* The key of `pairs`. */
struct pair {
    const struct topic *topic;
    const struct client *client;
};

static const struct pubsub_observer *const no_observers[] = {NULL};
static const struct pubsub_observer *const *observers = no_observers;
static struct table *topics[PUBSUB_KINDS]; /* NULL until the first */
static struct table *pairs;
static struct list_link patterns = {&patterns, &patterns}; /* in the order of creation */
static struct list_link leavers = {&leavers, &leavers};
static bool sending;
static struct buffer text = {.class = MEMORY_POOLS};

/* ---- tables ---- */

static struct slice name_of(const struct topic *t) { return (struct slice){t->name, t->length}; }

static uint64_t topic_hash(const void *element) {
    const struct topic *t = element;
    return hash_bytes(t->name, t->length);
}

static bool topic_matches(const void *element, const void *key, size_t key_length) {
    const struct topic *t = element;
    return t->length == key_length && !memcmp(t->name, key, key_length);
}

static const struct table_type topic_table = {topic_hash, topic_matches, MEMORY_OTHER};

static uint64_t pair_hash(const struct topic *t, const struct client *c) {
    struct pair p = {t, c};
    return hash_bytes(&p, sizeof(p));
}

static uint64_t subscription_hash(const void *element) {
    const struct subscription *s = element;
    return pair_hash(s->topic, s->client);
}

static bool subscription_matches(const void *element, const void *key, size_t key_length) {
    const struct subscription *s = element;
    const struct pair *p = key;
    return s->topic == p->topic && s->client == p->client;
}

static const struct table_type pair_table = {subscription_hash, subscription_matches, MEMORY_OTHER};

static size_t topic_count(enum pubsub_kind kind) {
    return topics[kind] ? table_count(topics[kind]) : 0;
}

static struct topic *topic_find(enum pubsub_kind kind, struct slice name) {
    if (!topics[kind]) return NULL;
    return table_find(topics[kind], hash_bytes(name.bytes, name.length), name.bytes, name.length);
}

static struct subscription *subscription_find(const struct topic *t, const struct client *c) {
    struct pair p = {t, c};
    return table_find(pairs, hash_bytes(&p, sizeof(p)), &p, sizeof(p));
}

/* ---- beginning and ending ---- */

static struct listener *listener_of(const struct client *c) {
    return client_place(c, &pubsub_client_state);
}

static size_t listener_total(const struct listener *l) {
    return l ? (size_t)l->counts[PUBSUB_CHANNEL] + l->counts[PUBSUB_PATTERN] : 0;
}

static struct topic *topic_create(enum pubsub_kind kind, struct slice name) {
    struct topic *t = memory_alloc(sizeof(*t) + name.length, MEMORY_OTHER);
    list_init(&t->subscriptions);
    list_init(&t->in_patterns);
    t->count = 0;
    t->length = name.length;
    t->kind = kind;
    if (name.length) memcpy(t->name, name.bytes, name.length);
    if (!topics[kind]) topics[kind] = table_create(&topic_table);
    table_insert(topics[kind], topic_hash(t), t);
    if (kind == PUBSUB_PATTERN) list_append(&patterns, &t->in_patterns);
    return t;
}

/* Frees a topic that has no subscription any more. */
static void topic_release(struct topic *t) {
    if (t->count) return;
    table_remove_element(topics[t->kind], topic_hash(t), t);
    list_remove(&t->in_patterns);
    memory_free(t, MEMORY_OTHER);
}

static struct listener *listener_create(struct client *c) {
    struct listener *l = memory_alloc(sizeof(*l), MEMORY_CLIENTS);
    for (int kind = 0; kind < PUBSUB_KINDS; kind++) {
        list_init(&l->subscriptions[kind]);
        l->counts[kind] = 0;
    }
    list_init(&l->in_leavers);
    l->client = c;
    l->bytes = memory_usable_size(l);
    client_set_place(c, &pubsub_client_state, l);
    client_set_listening(c, true);
    return l;
}

static void listener_free(struct listener *l) {
    struct client *c = l->client;
    list_remove(&l->in_leavers);
    client_set_listening(c, false);
    client_set_place(c, &pubsub_client_state, NULL);
    memory_free_sized(l, sizeof(*l), MEMORY_CLIENTS);
}

static void subscription_create(struct topic *t, struct listener *l) {
    struct subscription *s = memory_alloc(sizeof(*s), MEMORY_CLIENTS);
    s->topic = t;
    s->client = l->client;
    list_append(&t->subscriptions, &s->in_topic);
    list_append(&l->subscriptions[t->kind], &s->in_listener);
    t->count++;
    l->counts[t->kind]++;
    if (!pairs) pairs = table_create(&pair_table);
    table_insert(pairs, subscription_hash(s), s);
    l->bytes += memory_usable_size(s);
    client_memory_note(l->client);
}

/* Frees a subscription, and with the last one its listener. The caller releases the topic. */
static void subscription_free(struct subscription *s) {
    struct listener *l = listener_of(s->client);
    table_remove_element(pairs, subscription_hash(s), s);
    list_remove(&s->in_topic);
    list_remove(&s->in_listener);
    s->topic->count--;
    l->counts[s->topic->kind]--;
    l->bytes -= memory_usable_size(s);
    struct client *c = s->client;
    memory_free_sized(s, sizeof(*s), MEMORY_CLIENTS);
    if (!listener_total(l)) listener_free(l);
    client_memory_note(c);
}

/* The listener's first subscription of a kind; NULL where there is none. */
static struct subscription *listener_first(const struct listener *l, enum pubsub_kind kind) {
    if (!l || list_is_empty(&l->subscriptions[kind])) return NULL;
    return LIST_ENTRY(l->subscriptions[kind].next, struct subscription, in_listener);
}

/* Drops up to *budget subscriptions of the listener and subtracts them from the budget. The
 * listener is freed with the last one. */
static void listener_drop(struct listener *l, size_t *budget) {
    for (size_t left = listener_total(l); left && *budget; left--, (*budget)--) {
        struct subscription *s = listener_first(l, PUBSUB_CHANNEL);
        if (!s) s = listener_first(l, PUBSUB_PATTERN);
        struct topic *t = s->topic;
        subscription_free(s);
        topic_release(t);
    }
}

/* Drops a closing client's subscriptions; of many, the rest is dropped in steps (leavers). */
static void client_closes(struct client *c) {
    struct listener *l = listener_of(c);
    size_t budget = DROP_AT_ONCE;
    ASSERT(!sending);
    if (!l) return;
    bool stays = listener_total(l) > budget;
    if (stays) list_append(&leavers, &l->in_leavers);
    listener_drop(l, &budget);
}

/* Drops up to `budget` subscriptions of leavers, whose clients are closed already. */
static void leavers_drop(size_t budget) {
    while (!list_is_empty(&leavers) && budget) {
        struct listener *l = LIST_ENTRY(leavers.next, struct listener, in_leavers);
        struct client *c = l->client;
        size_t before = client_memory_of(c);
        listener_drop(l, &budget);
        client_memory_leave_less(before - client_memory_of(c));
    }
}

bool pubsub_release_step(void) {
    leavers_drop(DROP_AT_ONCE);
    return !list_is_empty(&leavers);
}

/* ---- messages ---- */

static char *write_number(char *out, char mark, size_t number) {
    *out++ = mark;
    out += number_format_int64(out, (int64_t)number);
    *out++ = '\r';
    *out++ = '\n';
    return out;
}

static char *write_bulk(char *out, struct slice s) {
    out = write_number(out, '$', s.length);
    if (s.length) memcpy(out, s.bytes, s.length);
    out += s.length;
    *out++ = '\r';
    *out++ = '\n';
    return out;
}

/* Builds a message in `text`, as an array; text_send makes a push of it for clients of RESP3. */
static void text_build(const struct slice *words, size_t count) {
    size_t bytes = HEADERS_BYTES;
    for (size_t i = 0; i < count; i++) bytes += words[i].length + 2;
    buffer_clear(&text);
    char *out = buffer_reserve(&text, bytes), *start = out;
    out = write_number(out, '*', count);
    for (size_t i = 0; i < count; i++) out = write_bulk(out, words[i]);
    text.length += (size_t)(out - start);
}

static void text_send(struct client *c) {
    text.bytes[0] = c->protocol == 3 ? '>' : '*';
    reply_message(c, text.bytes, text.length);
}

static void text_drop(void) {
    if (text.capacity > TEXT_BYTES_KEPT) buffer_free(&text);
}

/* Sends the message that the words make to the topic's subscribers; returns to how many. */
static size_t topic_send(const struct topic *t, const struct slice *words, size_t count) {
    size_t sent = 0;
    const struct list_link *ahead = &t->subscriptions;
    for (int i = 0; i < PREFETCH_DISTANCE; i++) ahead = ahead->next;
    text_build(words, count);
    LIST_FOR_EACH (link, following, &t->subscriptions) {
        struct client *c = LIST_ENTRY(link, struct subscription, in_topic)->client;
        if (ahead != &t->subscriptions)
            __builtin_prefetch(LIST_ENTRY(ahead, struct subscription, in_topic)->client);
        ahead = ahead->next;
        __builtin_prefetch(ahead->next);
        if (c->flags & CLIENT_CLOSING) continue; /* marked, or among the leavers */
        sent++;
        if (c->flags & CLIENT_CLOSE_AFTER_REPLY) continue; /* its last reply has been written */
        text_send(c);
        if (__builtin_expect(reply_is_due(), 0)) batch_relieve();
    }
    return sent;
}

static __attribute__((noinline)) size_t send_to_listeners(struct slice channel,
                                                          struct slice message) {
    size_t sent = 0;
    ASSERT(!sending);
    sending = true;
    const struct topic *t = topic_find(PUBSUB_CHANNEL, channel);
    if (t) {
        const struct slice words[] = {SLICE("message"), channel, message};
        sent += topic_send(t, words, 3);
    }
    LIST_FOR_EACH (link, following, &patterns) {
        t = LIST_ENTRY(link, struct topic, in_patterns);
        if (!glob_match(name_of(t), channel, false)) continue;
        const struct slice words[] = {SLICE("pmessage"), name_of(t), channel, message};
        sent += topic_send(t, words, 4);
    }
    sending = false;
    text_drop();
    leavers_drop(DROP_AT_ONCE);
    return sent;
}

size_t pubsub_deliver(struct slice channel, struct slice message) {
    return pubsub_has_listeners() ? send_to_listeners(channel, message) : 0;
}

const struct pubsub_observer pubsub_delivery = {.published = pubsub_deliver};

void pubsub_set_observers(const struct pubsub_observer *const *list) { observers = list; }

bool pubsub_reaches_replicas(void) {
    for (const struct pubsub_observer *const *o = observers; *o; o++)
        if ((*o)->reaches_replicas && (*o)->reaches_replicas()) return true;
    return false;
}

size_t pubsub_publish(struct slice channel, struct slice message) {
    size_t sent = 0;
    for (const struct pubsub_observer *const *o = observers; *o; o++)
        sent += (*o)->published(channel, message);
    return sent;
}

bool pubsub_has_listeners(void) {
    return topic_count(PUBSUB_CHANNEL) || topic_count(PUBSUB_PATTERN);
}

/* ---- subscribing ---- */

static const struct slice said_begun[PUBSUB_KINDS] = {{"subscribe", 9}, {"psubscribe", 10}};
static const struct slice said_ended[PUBSUB_KINDS] = {{"unsubscribe", 11}, {"punsubscribe", 12}};

/* Replies what happened to a subscription (name.bytes NULL: there was none), and how many the
 * client has now. May mark the client as closing. */
static void tell_subscription(struct client *c, struct slice what, struct slice name) {
    ASSERT(!sending);
    buffer_clear(&text);
    char *out = buffer_reserve(&text, HEADERS_BYTES + what.length + 2 + name.length + 2);
    char *start = out;
    out = write_number(out, '*', 3);
    out = write_bulk(out, what);
    if (name.bytes) {
        out = write_bulk(out, name);
    } else {
        const char *null = c->protocol == 3 ? "_\r\n" : "$-1\r\n";
        memcpy(out, null, strlen(null));
        out += strlen(null);
    }
    out = write_number(out, ':', listener_total(listener_of(c)));
    text.length += (size_t)(out - start);
    text_send(c);
    text_drop();
}

void pubsub_subscribe(struct client *c, enum pubsub_kind kind, struct slice name) {
    if (c->flags & CLIENT_CLOSING) return;
    struct listener *l = listener_of(c);
    struct topic *t = topic_find(kind, name);
    if (!t || !l || !subscription_find(t, c)) {
        if (!l) l = listener_create(c);
        if (!t) t = topic_create(kind, name);
        subscription_create(t, l);
    }
    tell_subscription(c, said_begun[kind], name);
}

void pubsub_unsubscribe(struct client *c, enum pubsub_kind kind, struct slice name) {
    if (c->flags & CLIENT_CLOSING) return;
    struct topic *t = topic_find(kind, name);
    struct subscription *s = t && listener_of(c) ? subscription_find(t, c) : NULL;
    if (s) {
        subscription_free(s);
        topic_release(t);
    }
    tell_subscription(c, said_ended[kind], name);
}

static void unsubscribe_each(struct client *c, enum pubsub_kind kind, bool tell) {
    struct subscription *s;
    while (!(c->flags & CLIENT_CLOSING) && (s = listener_first(listener_of(c), kind))) {
        struct topic *t = s->topic;
        subscription_free(s);
        t->count++; /* keeps the topic until the reply names it */
        if (tell) tell_subscription(c, said_ended[kind], name_of(t));
        t->count--;
        topic_release(t);
    }
}

void pubsub_unsubscribe_kind(struct client *c, enum pubsub_kind kind) {
    const struct slice none = {NULL, 0};
    bool any = listener_first(listener_of(c), kind) != NULL;
    if (any)
        unsubscribe_each(c, kind, true);
    else
        tell_subscription(c, said_ended[kind], none);
}

void pubsub_unsubscribe_all(struct client *c, bool tell) {
    for (int kind = 0; kind < PUBSUB_KINDS; kind++) {
        if (tell)
            pubsub_unsubscribe_kind(c, (enum pubsub_kind)kind);
        else
            unsubscribe_each(c, (enum pubsub_kind)kind, false);
    }
}

/* ---- what there is ---- */

size_t pubsub_channels(const struct client *c) {
    const struct listener *l = listener_of(c);
    return l ? l->counts[PUBSUB_CHANNEL] : 0;
}

size_t pubsub_patterns(const struct client *c) {
    const struct listener *l = listener_of(c);
    return l ? l->counts[PUBSUB_PATTERN] : 0;
}

bool pubsub_any(const struct client *c, enum pubsub_kind kind,
                bool (*test)(struct slice name, void *context), void *context) {
    struct listener *l = listener_of(c);
    if (!l) return false;
    LIST_FOR_EACH (link, following, &l->subscriptions[kind]) {
        const struct subscription *s = LIST_ENTRY(link, struct subscription, in_listener);
        if (test(name_of(s->topic), context)) return true;
    }
    return false;
}

size_t pubsub_count(enum pubsub_kind kind) {
    leavers_drop(SIZE_MAX);
    return topic_count(kind);
}

size_t pubsub_subscribers(struct slice channel) {
    leavers_drop(SIZE_MAX);
    const struct topic *t = topic_find(PUBSUB_CHANNEL, channel);
    return t ? t->count : 0;
}

struct visitor {
    void (*visit)(struct slice name, void *context);
    void *context;
};

static void visit_topic(void *element, void *context) {
    const struct visitor *v = context;
    v->visit(name_of(element), v->context);
}

/* The table does not change meanwhile, so each channel is visited once. */
void pubsub_each_channel(void (*visit)(struct slice name, void *context), void *context) {
    struct visitor v = {visit, context};
    uint64_t cursor = 0;
    leavers_drop(SIZE_MAX);
    if (!topic_count(PUBSUB_CHANNEL)) return;
    do cursor = table_scan(topics[PUBSUB_CHANNEL], cursor, visit_topic, &v);
    while (cursor);
}

/* ---- checks ---- */

static void check_topic(void *element, void *context) {
    struct topic *t = element;
    size_t *subscriptions = context, count = 0;
    LIST_FOR_EACH (link, following, &t->subscriptions) {
        const struct subscription *s = LIST_ENTRY(link, struct subscription, in_topic);
        ASSERT(s->topic == t);
        ASSERT(listener_of(s->client) && listener_of(s->client)->client == s->client);
        ASSERT(subscription_find(t, s->client) == s);
        count++;
    }
    ASSERT_COMPARE(count, >, 0);
    ASSERT_COMPARE(count, ==, t->count);
    ASSERT(list_is_empty(&t->in_patterns) == (t->kind == PUBSUB_CHANNEL));
    ASSERT(topic_find(t->kind, name_of(t)) == t);
    *subscriptions += count;
}

static size_t check_listener(struct client *c) {
    struct listener *l = listener_of(c);
    ASSERT((l && !(c->flags & CLIENT_CLOSED)) == ((c->flags & CLIENT_LISTENS) != 0));
    if (!l) return 0;
    for (int kind = 0; kind < PUBSUB_KINDS; kind++) {
        size_t count = 0;
        LIST_FOR_EACH (link, following, &l->subscriptions[kind]) count++;
        ASSERT_COMPARE(count, ==, l->counts[kind]);
    }
    ASSERT_COMPARE(listener_total(l), >, 0);
    return listener_total(l);
}

void pubsub_check(void) {
    size_t by_topic = 0, by_listener = 0, listed = 0;
    for (int kind = 0; kind < PUBSUB_KINDS; kind++) {
        uint64_t cursor = 0;
        if (!topics[kind]) continue;
        do cursor = table_scan(topics[kind], cursor, check_topic, &by_topic);
        while (cursor);
    }
    LIST_FOR_EACH (link, following, &patterns) listed++;
    ASSERT_COMPARE(listed, ==, topic_count(PUBSUB_PATTERN));
    LIST_FOR_EACH (link, following, client_list())
        by_listener += check_listener(LIST_ENTRY(link, struct client, link));
    LIST_FOR_EACH (link, following, &leavers)
        by_listener += check_listener(LIST_ENTRY(link, struct listener, in_leavers)->client);
    ASSERT_COMPARE(by_topic, ==, by_listener);
    ASSERT_COMPARE(by_topic, ==, pairs ? table_count(pairs) : 0);
}

/* ---- rows ---- */

static const enum pubsub_kind channel_kind = PUBSUB_CHANNEL, pattern_kind = PUBSUB_PATTERN;
static void print_topics(const struct metric_row *row, struct buffer *out) {
    const enum pubsub_kind *kind = row->context;
    buffer_printf(out, "%zu", topic_count(*kind));
}

static const struct metric_row metric_rows[] = {
    {.section = "Stats",
     .place = 190,
     .name = "pubsub_channels",
     .measure = METRIC_GAUGE,
     .type = METRIC_FUNCTION,
     .print = print_topics,
     .context = &channel_kind,
     .help = "Channels that clients listen to."},
    {.section = "Stats",
     .place = 200,
     .name = "pubsub_patterns",
     .measure = METRIC_GAUGE,
     .type = METRIC_FUNCTION,
     .print = print_topics,
     .context = &pattern_kind,
     .help = "Distinct patterns that clients listen to."},
};

static size_t listener_bytes(const struct client *c) {
    const struct listener *l = listener_of(c);
    return l ? l->bytes : 0;
}

struct client_state pubsub_client_state = {
    .name = "pubsub", .has_place = true, .closing = client_closes, .bytes = listener_bytes};

void pubsub_register(void) {
    metric_register(metric_rows, sizeof(metric_rows) / sizeof(metric_rows[0]));
}
