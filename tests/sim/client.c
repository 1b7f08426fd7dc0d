/* SPDX-License-Identifier: BSD-3-Clause
 * Simulated clients. client.h has the idea.
 */
#include "sim/client.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "sim/world.h"

#define ITEMS_MAX 4096
#define WORDS_MAX 64
#define LINE_BYTES 4096

/* ---- Replies ---- */

struct parser {
    char *at, *end;
    struct reply items[ITEMS_MAX];
    int used;
    char *nul[ITEMS_MAX]; /* where a text ends: set once all is there */
    int nuls;
};

static char *line_end(struct parser *p) {
    for (char *at = p->at; at + 1 < p->end; at++)
        if (at[0] == '\r' && at[1] == '\n') return at;
    return NULL;
}

static bool parse_items(struct parser *p, struct reply *r);

/* False where there is not all of it yet. */
static bool parse(struct parser *p, struct reply *r) {
    char *end = line_end(p);
    if (!end) return false;
    *r = (struct reply){.type = *p->at, .text = p->at + 1};
    p->nul[p->nuls++] = end;
    r->number = r->type == '+' || r->type == '-' ? end - p->at - 1 : strtoll(p->at + 1, NULL, 10);
    p->at = end + 2;
    if ((r->type == '$' || r->type == '*') && r->number < 0) r->type = '_';
    if (r->type == '*') return parse_items(p, r);
    if (r->type != '$') return true;
    if (p->end - p->at < r->number + 2) return false;
    r->text = p->at;
    p->nul[p->nuls - 1] = p->at + r->number;
    p->at += r->number + 2;
    return true;
}

static bool parse_items(struct parser *p, struct reply *r) {
    struct reply *items = &p->items[p->used];
    if (p->used + r->number > ITEMS_MAX) abort();
    p->used += (int)r->number;
    r->items = items;
    for (long long i = 0; i < r->number; i++)
        if (!parse(p, &items[i])) return false;
    return true;
}

static struct parser parser;

/* The first reply that is whole; the bytes that it took, or 0. */
static size_t parse_first(struct client *c, struct reply *r) {
    struct parser *p = &parser;
    p->at = c->in;
    p->end = c->in + c->in_used;
    p->used = p->nuls = 0;
    if (!parse(p, r)) return 0;
    for (int i = 0; i < p->nuls; i++) *p->nul[i] = '\0';
    return (size_t)(p->at - c->in);
}

/* ---- The connection ---- */

static uint32_t ready(const struct client *c) {
    return c->link < 0 ? 0 : network_ready(c->link, 0);
}

static bool is_ready(const struct actor *a) {
    const struct client *c = (const struct client *)a;
    uint32_t now = ready(c);
    if (now & (EPOLLIN | EPOLLERR)) return true;
    return now & EPOLLOUT && (!c->open || c->out_sent < c->out_used);
}

static void set_due(struct client *c) {
    c->actor.due_nsec = c->limit_nsec < c->wanted_nsec ? c->limit_nsec : c->wanted_nsec;
}

void client_close(struct client *c) {
    if (c->link >= 0) network_release(c->link, 0);
    c->link = -1;
    c->open = false;
    c->in_used = c->out_used = c->out_sent = 0;
    c->awaited = 0;
    c->limit_nsec = NEVER;
    set_due(c);
}

static void fail(struct client *c) {
    client_close(c);
    c->events->failed(c);
    set_due(c);
}

/* Replies that are whole are told. */
static void tell_replies(struct client *c) {
    struct reply r;
    size_t taken;
    while (c->link >= 0 && (taken = parse_first(c, &r)) > 0) {
        c->awaited--;
        int link = c->link;
        c->events->replied(c, &r);
        if (c->link != link || c->in_used < taken) return;
        memmove(c->in, c->in + taken, c->in_used - taken);
        c->in_used -= taken;
    }
}

static bool receive(struct client *c) {
    size_t room = sizeof(c->in) - c->in_used;
    if (room == 0) abort();
    long got = network_receive(c->link, 0, c->in + c->in_used, room);
    if (got < 0) return errno == EAGAIN;
    if (got == 0) return false;
    c->in_used += (size_t)got;
    tell_replies(c);
    return true;
}

static bool send_rest(struct client *c) {
    long sent = network_send(c->link, 0, c->out + c->out_sent, c->out_used - c->out_sent);
    if (sent < 0) return errno == EAGAIN;
    c->out_sent += (size_t)sent;
    if (c->out_sent == c->out_used) c->out_sent = c->out_used = 0;
    return true;
}

static void act(struct actor *a) {
    struct client *c = (struct client *)a;
    if (c->link < 0 && c->limit_nsec != NEVER) abort();
    uint32_t now = ready(c);
    if (c->link >= 0 && world->now_nsec >= c->limit_nsec) {
        fail(c);
    } else if (now & EPOLLOUT && !c->open && !(now & EPOLLERR)) {
        c->open = true;
        c->events->connected(c);
    } else if (now & (EPOLLIN | EPOLLERR)) {
        if (!receive(c)) fail(c);
    } else if (now & EPOLLOUT && c->out_sent < c->out_used) {
        if (!send_rest(c)) fail(c);
    } else if (world->now_nsec >= c->wanted_nsec) {
        c->wanted_nsec = NEVER;
        c->act(c);
    }
    set_due(c);
}

void client_make(struct client *c, const struct client_events *events,
                 void (*owner)(struct client *)) {
    memset(c, 0, sizeof(*c));
    c->actor = (struct actor){.due_nsec = NEVER, .is_ready = is_ready, .act = act};
    c->events = events;
    c->act = owner;
    c->link = -1;
    c->limit_nsec = c->wanted_nsec = NEVER;
    scheduler_add(&c->actor);
}

void client_connect(struct client *c, int node) {
    if (c->link >= 0) abort();
    c->node = node;
    c->link = network_call(OUTSIDE, node, network_port(node));
    if (c->link < 0) abort();
}

bool client_round(struct client *c, int node, int64_t round_nsec, int64_t limit_nsec) {
    c->wanted_nsec = world->now_nsec + round_nsec / 2 + (int64_t)draw((uint64_t)round_nsec);
    if (c->link >= 0) return c->open && c->awaited == 0;
    client_connect(c, node);
    c->limit_nsec = world->now_nsec + limit_nsec;
    return false;
}

/* ---- Requests ---- */

static void append(struct client *c, const char *bytes, size_t length) {
    if (c->out_used + length > sizeof(c->out)) abort();
    memcpy(c->out + c->out_used, bytes, length);
    c->out_used += length;
}

void client_send(struct client *c, int count, const char *const *words, const size_t *lengths) {
    char head[32];
    append(c, head, (size_t)snprintf(head, sizeof(head), "*%d\r\n", count));
    for (int i = 0; i < count; i++) {
        size_t length = lengths ? lengths[i] : strlen(words[i]);
        append(c, head, (size_t)snprintf(head, sizeof(head), "$%zu\r\n", length));
        append(c, words[i], length);
        append(c, "\r\n", 2);
    }
    c->awaited++;
}

void client_say(struct client *c, const char *format, ...) {
    char line[LINE_BYTES], *rest = NULL;
    const char *words[WORDS_MAX];
    int count = 0;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    for (char *word = strtok_r(line, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        if (count == WORDS_MAX) abort();
        words[count++] = word;
    }
    client_send(c, count, words, NULL);
}
