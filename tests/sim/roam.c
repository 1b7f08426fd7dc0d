/* SPDX-License-Identifier: BSD-3-Clause
 * Clients of a cluster. roam.h has the idea.
 *
 *            sent                 the answer
 *   IDLE ------------> ASKED ------------------------------> IDLE
 *                        ^ |
 *     to the node that   | |  MOVED, ASK, TRYAGAIN, CLUSTERDOWN, the connection breaks
 *     the answer names   '-'
 */
#include "sim/roam.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/client.h"
#include "sim/headers.h"
#include "sim/network.h"
#include "sim/promise.h"
#include "sim/scheduler.h"
#include "sim/slots.h"
#include "sim/world.h"

#define LIMIT_NSEC (20 * NSEC_PER_SEC)
#define AGAIN_NSEC_MIN (10 * NSEC_PER_MSEC)
#define AGAIN_NSEC (300 * NSEC_PER_MSEC)
#define COUNTERS 2 /* of a client in a slot */
#define JUNK_KEYS 12
#define BIG_BYTES 3000
#define COUNTER_KEY HOT_KEY ":%d-%d"
#define WAIT_MSEC 500
#define HOPS_AT_ONCE 5

enum order { INCREMENT, READ, READ_BOTH, INCREMENT_BOTH, LITTER, WAIT_FOR };
_Static_assert(ROAMERS_MAX *HOT_SLOTS *COUNTERS <= PROMISE_WRITERS_MAX, "a writer each");

struct counter {
    long long least; /* as the last answer said */
    long long maybe; /* increments that may have run beside, or may run yet */
    bool seen;       /* at rest */
    int by;          /* the node that gave that answer */
    int64_t at_nsec; /* when it came */
};

static struct roamer {
    struct client client; /* first */
    int id;
    struct counter counters[HOT_SLOTS][COUNTERS];
    int owners[HOT_SLOTS]; /* as far as it knows */
    bool busy;             /* `order` has no answer yet */
    enum order order;
    int hot, which;
    bool sent, asking;
    int node;                   /* to be asked */
    int hops;                   /* of the order: so often it was sent to another node */
    int answers, skipped;       /* of this try; those before the order's own */
    int asks;                   /* of these: ASK */
    char refusal[128];          /* the first error of this try; "" = none */
    bool refused_last;          /* it was EXEC's own */
    long long waited[COUNTERS]; /* WAIT_FOR: what the counters were; 0 = not asked for */
    struct candidates candidates;
} roamers[ROAMERS_MAX];

static int count;
static int64_t pause_nsec;
static bool stopped, waits;
static uint64_t replies, redirections;
static int64_t sent_nsec[LINKS_MAX]; /* what came last over a link was sent then */

/* ---- What counters hold ---- */

static int writer_of(const struct roamer *r, int hot, int which) {
    return (r->id * HOT_SLOTS + hot) * COUNTERS + which;
}

/* Not below what the node had acknowledged. While the slot is on its way its keys are elsewhere. */
static void check_promised(const struct roamer *r, int hot, int which, long long value, int node) {
    long long promised = node < 0 ? 0 : promise_of(node, writer_of(r, hot, which));
    if (value < promised && !headers_is_moving(hot))
        find("client %d, counter %d of slot %u: node %d has %lld, but had acknowledged %lld", r->id,
             which, slots_number(hot), node, value, promised);
}

/* The counter is less than it was, because a replica without its last increments was promoted. */
static void fall_back(struct counter *c, long long value) {
    c->maybe += c->least - value;
    c->least = value;
}

static void take_increment(struct roamer *r, int which, long long value) {
    struct counter *c = &r->counters[r->hot][which];
    int node = r->client.node;
    check_promised(r, r->hot, which, value - 1, node);
    if (value > 0 && value <= c->least && headers_may_lose(r->hot, c->by, c->at_nsec, node))
        fall_back(c, value - 1);
    if (value <= c->least || value > c->least + c->maybe + 1)
        find(
            "client %d, counter %d of slot %u: incremented to %lld at node %d, but it was %lld "
            "and %lld requests are open",
            r->id, which, slots_number(r->hot), value, node, c->least, c->maybe);
    if (waits) headers_look_at_write(node, sent_nsec[r->client.link]);
    c->maybe -= value - c->least - 1;
    c->least = value;
    c->by = node;
    c->at_nsec = world->now_nsec;
}

static void check_value(struct roamer *r, int hot, int which, long long value, int node) {
    struct counter *c = &r->counters[hot][which];
    if (value < 0) value = 0;
    if (value < c->least && headers_may_lose(hot, c->by, c->at_nsec, node))
        fall_back(c, value);
    else if (value < c->least && node != c->by && headers_may_be_stale(hot))
        return;
    check_promised(r, hot, which, value, node);
    if (value < c->least || value > c->least + c->maybe)
        find(
            "client %d, counter %d of slot %u: node %d has %lld, but it is %lld and %lld requests "
            "are open",
            r->id, which, slots_number(hot), node, value, c->least, c->maybe);
}

static bool increments(const struct roamer *r, int which) {
    return r->order == INCREMENT_BOTH || (r->order == INCREMENT && which == r->which);
}

/* ---- Requests ---- */

static void draw_order(struct roamer *r) {
    unsigned at = (unsigned)draw(100);
    r->order = at < 45   ? INCREMENT
               : at < 60 ? READ
               : at < 70 ? READ_BOTH
               : at < 85 ? INCREMENT_BOTH
                         : LITTER;
    r->hot = (int)draw(HOT_SLOTS);
    r->which = (int)draw(COUNTERS);
    r->node = r->owners[r->hot];
    r->busy = true;
    r->sent = r->asking = false;
    r->hops = 0;
}

/* Keys that only have to be at one node: values of all sizes, so that MIGRATE takes its time. */
static void send_litter(struct roamer *r) {
    char big[BIG_BYTES + 1];
    int number = (int)draw(JUNK_KEYS);
    size_t length = (size_t)draw_scale(BIG_BYTES);
    memset(big, 'x', length);
    big[length] = '\0';
    if (chance(70))
        client_say(&r->client, "RPUSH " HOT_KEY ":junk-%d %s", r->hot, number, big);
    else
        client_say(&r->client, "DEL " HOT_KEY ":junk-%d", r->hot, number);
}

static void say_counter(struct roamer *r, const char *command, int which) {
    client_say(&r->client, "%s " COUNTER_KEY, command, r->hot, r->id, which);
}

static void send_order(struct roamer *r) {
    struct client *c = &r->client;
    r->sent = true;
    r->answers = r->asks = 0;
    r->refusal[0] = '\0';
    r->skipped = r->asking;
    if (r->asking) client_say(c, "ASKING");
    switch (r->order) {
    case INCREMENT: say_counter(r, "INCR", r->which); break;
    case READ: say_counter(r, "GET", r->which); break;
    case READ_BOTH:
        client_say(c, "MGET " COUNTER_KEY " " COUNTER_KEY, r->hot, r->id, 0, r->hot, r->id, 1);
        break;
    case INCREMENT_BOTH:
        r->skipped += 1 + COUNTERS;
        client_say(c, "MULTI");
        for (int which = 0; which < COUNTERS; which++) say_counter(r, "INCR", which);
        client_say(c, "EXEC");
        break;
    case LITTER: send_litter(r); break;
    case WAIT_FOR: abort(); /* sent with what it waits for */
    }
    c->limit_nsec = world->now_nsec + LIMIT_NSEC;
}

static void work(struct client *c) {
    struct roamer *r = (struct roamer *)c;
    if (!r->busy && stopped) return;
    if (!r->busy) draw_order(r);
    if (c->link >= 0 && c->node != r->node) client_close(c);
    if (c->link < 0) {
        client_connect(c, r->node);
        c->limit_nsec = world->now_nsec + LIMIT_NSEC;
    } else if (c->open && !r->sent) {
        send_order(r);
    }
}

static void connected(struct client *c) {
    c->limit_nsec = NEVER;
    work(c);
}

static void go_on_in(struct roamer *r, int64_t nsec) {
    r->client.wanted_nsec = world->now_nsec + nsec;
}

/* The connection is gone: what was sent may have run. */
static void failed(struct client *c) {
    struct roamer *r = (struct roamer *)c;
    for (int which = 0; r->busy && r->sent && which < COUNTERS; which++)
        r->counters[r->hot][which].maybe += increments(r, which);
    r->sent = r->asking = false;
    if (r->order == WAIT_FOR) r->busy = false;
    r->node = chance(30) ? (int)draw((uint64_t)nodes_count()) : r->owners[r->hot];
    go_on_in(r, AGAIN_NSEC_MIN + (int64_t)draw(AGAIN_NSEC));
}

/* ---- Answers ---- */

/* Of a transaction some keys may be at the other node and some not: the client must not follow ASK
 * then, because the other node may have an old copy of those that are not. */
static bool all_ask(const struct roamer *r) {
    return r->order != INCREMENT_BOTH || r->asks >= COUNTERS || r->refused_last;
}

static void follow(struct roamer *r) {
    char word[16], address[64];
    unsigned slot;
    tell("client %d: %d of slot %u: node %d says %s", r->id, r->which, slots_number(r->hot),
         r->client.node, r->refusal);
    r->sent = r->asking = false;
    if (sscanf(r->refusal, "%15s %u %63s", word, &slot, address) == 3 &&
        (strcmp(word, "MOVED") == 0 || (strcmp(word, "ASK") == 0 && all_ask(r)))) {
        int node = slots_node_at(address);
        if (node < 0 && headers_has_strangers()) {
            r->node = r->owners[r->hot];
            go_on_in(r, AGAIN_NSEC_MIN + (int64_t)draw(AGAIN_NSEC));
            return;
        }
        if (node < 0 || slot != slots_number(r->hot))
            find("client %d is sent elsewhere: %s", r->id, r->refusal);
        redirections++;
        r->node = node;
        r->asking = word[0] == 'A';
        if (!r->asking) r->owners[r->hot] = node;
        go_on_in(r, draw_scale(10 * NSEC_PER_MSEC));
        /* Nodes that do not agree yet may send it in a circle. */
        if (waits && ++r->hops % HOPS_AT_ONCE == 0) go_on_in(r, AGAIN_NSEC);
        return;
    }
    static const char *const passing[] = {"ASK",     "TRYAGAIN", "CLUSTERDOWN",
                                          "LOADING", "MISCONF",  "OOM"};
    for (size_t i = 0; i < sizeof(passing) / sizeof(passing[0]); i++) {
        if (strncmp(r->refusal, passing[i], strlen(passing[i])) != 0) continue;
        r->node = r->owners[r->hot];
        go_on_in(r, AGAIN_NSEC_MIN + (int64_t)draw(AGAIN_NSEC));
        return;
    }
    find("client %d is answered: %s", r->id, r->refusal);
}

static long long value_of(const struct reply *item) {
    return item->type == '_'   ? -1
           : item->type == ':' ? item->number
                               : strtoll(item->text, NULL, 10);
}

static void end_order(struct roamer *r) {
    r->busy = false;
    r->client.limit_nsec = NEVER;
    go_on_in(r, 1 + (int64_t)draw((uint64_t)pause_nsec));
}

/* An increment was answered: WAIT on its connection tells who has it. */
static void wait_for_replicas(struct roamer *r) {
    r->order = WAIT_FOR;
    r->answers = r->skipped = r->asks = 0;
    r->candidates = promise_candidates(r->client.node);
    client_say(&r->client, "WAIT 1 %d", 1 + (int)draw(WAIT_MSEC));
    r->client.limit_nsec = world->now_nsec + LIMIT_NSEC;
}

/* A node that is a replica meanwhile refuses: nothing is promised. */
static void end_wait(struct roamer *r, const struct reply *a) {
    for (int which = 0; which < COUNTERS && a->type == ':'; which++) {
        if (!r->waited[which] || headers_is_moving(r->hot)) continue;
        promise_take(&r->candidates, a->number, writer_of(r, r->hot, which), r->waited[which]);
    }
    end_order(r);
}

static void take_answer(struct roamer *r, const struct reply *a) {
    tell("client %d: order %d on %d of slot %u done by node %d%s: %c%lld", r->id, (int)r->order,
         r->which, slots_number(r->hot), r->client.node, r->asking ? ", asking" : "", a->type,
         a->number);
    bool both = r->order == READ_BOTH || r->order == INCREMENT_BOTH;
    if (both && (a->type != '*' || a->number != COUNTERS)) {
        find("client %d: EXEC or MGET answers %c%.60s", r->id, a->type, a->text);
        return;
    }
    bool has_written = false;
    memset(r->waited, 0, sizeof(r->waited));
    for (int which = 0; which < COUNTERS && r->order != LITTER; which++) {
        if (!both && which != r->which) continue;
        long long value = value_of(both ? &a->items[which] : a);
        if (!increments(r, which)) {
            check_value(r, r->hot, which, value, r->client.node);
            continue;
        }
        take_increment(r, which, value);
        r->waited[which] = value;
        has_written = true;
    }
    if (!r->asking) r->owners[r->hot] = r->client.node;
    if (waits && has_written && !r->asking && chance(40))
        wait_for_replicas(r);
    else
        end_order(r);
}

static void replied(struct client *c, const struct reply *a) {
    struct roamer *r = (struct roamer *)c;
    bool last = r->answers++ == r->skipped;
    replies++;
    if (a->type == '-' && strncmp(a->text, "ASK ", 4) == 0) r->asks++;
    if (a->type == '-' && !r->refusal[0]) r->refused_last = last;
    if (a->type == '-' && !r->refusal[0]) snprintf(r->refusal, sizeof(r->refusal), "%s", a->text);
    if (!last) return;
    c->limit_nsec = NEVER;
    if (r->order == WAIT_FOR)
        end_wait(r, a);
    else if (r->refusal[0])
        follow(r);
    else
        take_answer(r, a);
}

static const struct client_events events = {connected, replied, failed};

/* ---- At rest ---- */

void roam_see_key(int node, const char *key, const char *value) {
    int hot, id, which;
    if (sscanf(key, COUNTER_KEY, &hot, &id, &which) != 3 || strstr(key, "junk")) return;
    struct counter *c = &roamers[id].counters[hot][which];
    if (c->seen) find("key %s is at two nodes, one of them %d", key, node);
    c->seen = true;
    check_value(&roamers[id], hot, which, strtoll(value, NULL, 10), node);
}

void roam_look_at_missing(void) {
    for (int id = 0; id < count; id++)
        for (int hot = 0; hot < HOT_SLOTS; hot++)
            for (int which = 0; which < COUNTERS; which++)
                if (!roamers[id].counters[hot][which].seen)
                    check_value(&roamers[id], hot, which, -1, -1);
}

/* ---- All of it ---- */

void roam_start(int clients, int64_t pause) {
    count = clients;
    pause_nsec = pause;
    for (int i = 0; i < count; i++) {
        struct roamer *r = &roamers[i];
        client_make(&r->client, &events, work);
        r->id = i;
        for (int hot = 0; hot < HOT_SLOTS; hot++)
            r->owners[hot] = (int)draw((uint64_t)nodes_count());
        r->client.wanted_nsec = r->client.actor.due_nsec = world->now_nsec + draw_scale(AGAIN_NSEC);
    }
}

void roam_use_wait(void) { waits = true; }

void roam_note_sent(int link, int64_t nsec) { sent_nsec[link] = nsec; }

void roam_note_moved(int hot) {
    for (int id = 0; id < count; id++)
        for (int which = 0; which < COUNTERS; which++)
            promise_forget(writer_of(&roamers[id], hot, which));
}

void roam_stop(void) { stopped = true; }

bool roam_rests(void) {
    for (int i = 0; i < count; i++)
        if (roamers[i].busy) return false;
    return true;
}

uint64_t roam_replies(void) { return replies; }
uint64_t roam_redirections(void) { return redirections; }
