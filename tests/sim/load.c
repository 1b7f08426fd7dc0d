/* SPDX-License-Identifier: BSD-3-Clause
 * Clients that write. load.h has the idea.
 *
 *   closed --connects--> asks for its number --reply--> writes <-- replies, pauses
 *     ^                                                    |
 *     `--------------------- failed ----------------------'
 *
 * What a connection that was given up had sent may still come to its server; so a number only ever
 * rises, and what is found is compared with what was answered and with what was ever sent.
 */
#include "sim/load.h"

#include <stdlib.h>
#include <string.h>

#include "sim/client.h"
#include "sim/promise.h"
#include "sim/words.h"
#include "sim/world.h"

#define NUMBERS_DATABASE 9
#define REPLY_LIMIT_NSEC (20 * NSEC_PER_SEC)
#define CONNECT_PAUSE_NSEC (500 * NSEC_PER_MSEC)
#define PIPELINE_MAX 6

/* What a reply that is awaited means. */
enum meaning { NOTHING, SELECTED, ASKED, NUMBER, WAITED };
struct awaited {
    enum meaning meaning;
    long long number;
    struct candidates candidates; /* of WAITED */
};
#define AWAITED_MAX 64

static struct writer {
    struct client client; /* first */
    int id;
    bool knows;                        /* the number was asked for on this connection */
    long long sent, answered, written; /* `written`: the last that this connection's server took */
    long long safe;                    /* of `answered`: whatever happens */
    bool may_lose;                     /* the others are not there any more, perhaps */
    struct awaited awaited[AWAITED_MAX];
    int first, count;
} * writers;

static struct load_options options;
static int target, durable_node;
static bool stopped;
static uint64_t replies, numbers;

static void await_reply(struct writer *w, enum meaning meaning, long long number) {
    if (w->count == AWAITED_MAX) abort();
    w->awaited[(w->first + w->count++) % AWAITED_MAX] =
        (struct awaited){.meaning = meaning, .number = number};
}

static void send_wait(struct writer *w) {
    client_say(&w->client, "WAIT %d %d", 1 + (int)draw(3), 1 + (int)draw_scale(2000));
    await_reply(w, WAITED, w->sent);
    w->awaited[(w->first + w->count - 1) % AWAITED_MAX].candidates =
        promise_candidates(w->client.node);
}

static void send_number(struct writer *w) {
    long long number = ++w->sent;
    client_say(&w->client, "SELECT %d", NUMBERS_DATABASE);
    await_reply(w, SELECTED, 0);
    client_say(&w->client, "ZADD numbers GT %lld writer-%d", number, w->id);
    await_reply(w, NUMBER, number);
    if (options.waits && chance(40)) send_wait(w);
    client_say(&w->client, "SELECT %d", (int)draw(3));
    await_reply(w, SELECTED, 0);
}

static void send_others(struct writer *w) {
    if (once_in(8)) {
        for (int left = words_send_transaction(&w->client); left; left--)
            await_reply(w, NOTHING, 0);
        return;
    }
    for (int left = 1 + (int)draw_scale(PIPELINE_MAX); left; left--) {
        words_send_random(&w->client);
        await_reply(w, NOTHING, 0);
    }
}

static void work(struct client *c) {
    struct writer *w = (struct writer *)c;
    if (c->link < 0) {
        if (stopped) return;
        client_connect(c, target);
        c->limit_nsec = world->now_nsec + REPLY_LIMIT_NSEC;
        return;
    }
    if (c->node != target && !w->count) {
        client_close(c);
        c->wanted_nsec = world->now_nsec + draw_scale(CONNECT_PAUSE_NSEC);
        return;
    }
    if (!w->knows || w->count || stopped) return;
    if (draw(1000) < options.rest_permille)
        send_others(w);
    else
        send_number(w);
    c->limit_nsec = world->now_nsec + REPLY_LIMIT_NSEC;
}

static void connected(struct client *c) {
    struct writer *w = (struct writer *)c;
    w->knows = false;
    w->first = w->count = 0;
    client_say(c, "SELECT %d", NUMBERS_DATABASE);
    await_reply(w, SELECTED, 0);
    client_say(c, "ZSCORE numbers writer-%d", w->id);
    await_reply(w, ASKED, 0);
    client_say(c, "SELECT %d", (int)draw(3)); /* nothing else touches the numbers' database */
    await_reply(w, SELECTED, 0);
}

static void failed(struct client *c) {
    struct writer *w = (struct writer *)c;
    w->knows = false;
    w->first = w->count = 0;
    c->wanted_nsec = world->now_nsec + draw_scale(CONNECT_PAUSE_NSEC);
}

/* -LOADING and its like are no answers. */
static void check_asked(struct writer *w, const struct reply *r) {
    if (r->type == '-') {
        client_close(&w->client);
        failed(&w->client);
        return;
    }
    long long found = r->type == '_' ? 0 : strtoll(r->text, NULL, 10);
    if (found > w->sent)
        find("node %d has number %lld of writer %d, who has sent %lld", w->client.node, found,
             w->id, w->sent);
    long long least = w->may_lose ? w->safe : w->answered;
    if (w->client.node == durable_node) {
        if (found < least)
            find("node %d has number %lld of writer %d: %lld was answered", w->client.node, found,
                 w->id, least);
        if (w->may_lose) w->answered = found;
        w->may_lose = false;
    }
    w->knows = true;
}

static void replied(struct client *c, const struct reply *r) {
    struct writer *w = (struct writer *)c;
    struct awaited a = w->awaited[w->first];
    if (w->count == 0) {
        find("writer %d: a reply to nothing: %c%.60s", w->id, r->type, r->text);
        return;
    }
    w->first = (w->first + 1) % AWAITED_MAX;
    w->count--;
    replies++;
    if (a.meaning == ASKED) check_asked(w, r);
    if (a.meaning == NUMBER && r->type == ':') {
        numbers++;
        w->written = a.number;
        if (c->node == durable_node && a.number > w->answered) w->answered = a.number;
    }
    /* The number itself may have been refused. */
    if (a.meaning == WAITED && r->type == ':' && w->written == a.number)
        promise_take(&a.candidates, r->number, w->id, a.number);
    if (w->count == 0 && c->link >= 0) {
        c->limit_nsec = NEVER;
        c->wanted_nsec = world->now_nsec + options.least_nsec + draw_scale(options.pause_nsec);
    }
}

static const struct client_events events = {connected, replied, failed};

void load_turn_to(int node) { target = node; }

/* ---- What was promised ---- */

static struct client asker;
static bool asker_promotes, asker_answered = true;
static int asker_at; /* answers so far */

static void ask_promised(struct client *c) {
    if (asker_promotes) client_say(c, "REPLICAOF NO ONE");
    client_say(c, "SELECT %d", NUMBERS_DATABASE);
    for (int i = 0; i < options.clients; i++) client_say(c, "ZSCORE numbers writer-%d", i);
    asker_at = asker_promotes ? -2 : -1;
    c->limit_nsec = world->now_nsec + REPLY_LIMIT_NSEC;
}

static void asker_replied(struct client *c, const struct reply *r) {
    int writer = asker_at++;
    if (r->type == '-') { /* it loads, or has no data to show; that is no answer */
        client_close(c);
        c->wanted_nsec = world->now_nsec + CONNECT_PAUSE_NSEC;
        return;
    }
    if (writer < 0) return;
    long long found = r->type == '_' ? 0 : strtoll(r->text, NULL, 10);
    if (found < promise_of(c->node, writer))
        find("node %d has number %lld of writer %d: it had acknowledged %lld", c->node, found,
             writer, promise_of(c->node, writer));
    if (writer < options.clients - 1) return;
    asker_answered = true;
    client_close(c);
}

static void asker_failed(struct client *c) {
    c->wanted_nsec = world->now_nsec + CONNECT_PAUSE_NSEC;
}

static void asker_works(struct client *c) {
    if (c->link >= 0) return;
    client_connect(c, target);
    c->limit_nsec = world->now_nsec + REPLY_LIMIT_NSEC;
}

static const struct client_events asker_events = {ask_promised, asker_replied, asker_failed};

static void start_asking(bool promotes) {
    client_close(&asker);
    asker_promotes = promotes;
    asker_answered = false;
    asker.wanted_nsec = asker.actor.due_nsec = world->now_nsec;
}

void load_promote(int node) {
    target = node;
    start_asking(true);
}

void load_ask_promised(int node) {
    target = node;
    start_asking(false);
}

bool load_has_asked(void) { return asker_answered; }
int load_node(void) { return target; }
/* ---- All of it ---- */

void load_start(const struct load_options *with, int node) {
    options = *with;
    target = node;
    durable_node = -1;
    stopped = false;
    client_make(&asker, &asker_events, asker_works);
    writers = calloc((size_t)options.clients, sizeof(*writers));
    if (!writers) abort();
    for (int i = 0; i < options.clients; i++) {
        client_make(&writers[i].client, &events, work);
        writers[i].id = i;
        writers[i].client.wanted_nsec = writers[i].client.actor.due_nsec =
            world->now_nsec + draw_scale(CONNECT_PAUSE_NSEC);
    }
}

void load_stop(void) { stopped = true; }

bool load_rests(void) {
    for (int i = 0; i < options.clients; i++)
        if (writers[i].count) return false;
    return true;
}

void load_expect_durable(int node) { durable_node = node; }

void load_note_end(int node, bool kept) {
    if (node != durable_node || kept) return;
    for (int i = 0; i < options.clients; i++) writers[i].may_lose = true;
}

void load_note_safe(int node) {
    if (node != durable_node) return;
    for (int i = 0; i < options.clients; i++)
        if (!writers[i].may_lose) writers[i].safe = writers[i].answered;
}

uint64_t load_replies(void) { return replies; }
uint64_t load_numbers(void) { return numbers; }
