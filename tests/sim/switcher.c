/* SPDX-License-Identifier: BSD-3-Clause
 * Who switches a node's log. switcher.h has the idea.
 *
 * One request at a time. After a switch the node is asked until its log is in place, and then
 * written to: by the answer all that was written before is synced.
 *
 *   RESTS --a switch is drawn--> SWITCHES --OK--> ASKS --it is in place--> WRITES --:--> RESTS
 */
#include "sim/switcher.h"

#include <string.h>

#include "aof/aof_switch.h"
#include "sim/client.h"
#include "sim/load.h"
#include "sim/scheduler.h"
#include "sim/world.h"

#define LIMIT_NSEC (20 * NSEC_PER_SEC)
#define ASK_NSEC (300 * NSEC_PER_MSEC)

enum step { RESTS, SWITCHES, ASKS, WRITES };

static struct switcher {
    struct client client; /* first */
    int node;
    enum step step;
    bool starts_on, starts_always;
    unsigned life;   /* of the server: what is below is of that one */
    bool on, always; /* as was asked for */
    bool synced;     /* since both were so a write was answered */
    bool in_place;   /* since it is on the node has said that its file is in its place */
    bool unsure;     /* a request may be carried out that was not answered */
} switchers[NODES_MAX];
static int64_t every_nsec;
static bool ended;

/* A new life begins with the node's own options. */
static void look_at_life(struct switcher *s) {
    if (s->life == world->nodes[s->node].starts) return;
    s->life = world->nodes[s->node].starts;
    s->on = s->in_place = s->starts_on;
    s->always = s->synced = s->starts_always;
    s->unsure = false;
}

static bool promises(const struct switcher *s) { return s->on && s->always && !s->unsure; }

bool switcher_keeps(int node, bool power_cut) {
    struct switcher *s = &switchers[node];
    look_at_life(s);
    if (!promises(s) || !s->synced) return false;
    return s->in_place || (!power_cut && world->nodes[node].log_has_name);
}

/* ---- requests ---- */

static void begin(struct switcher *s, enum step step) {
    s->step = step;
    s->client.limit_nsec = world->now_nsec + LIMIT_NSEC;
}

/* Before a request that ends the promise is sent. */
static void leave_promise(struct switcher *s) {
    if (promises(s) && s->in_place && s->synced) load_note_safe(s->node);
}

static void say_on(struct switcher *s) {
    world->nodes[s->node].log_has_name = false;
    s->on = true;
    s->in_place = false;
    client_say(&s->client, "CONFIG SET appendonly yes");
}

static void say_off(struct switcher *s) {
    leave_promise(s);
    s->on = s->in_place = false;
    client_say(&s->client, "CONFIG SET appendonly no");
}

static void say_policy(struct switcher *s) {
    static const char *const policies[] = {"always", "always", "everysec", "no"};
    const char *policy = policies[draw(4)];
    bool always = !strcmp(policy, "always");
    if (!always) leave_promise(s);
    if (!always || !s->always) s->synced = false;
    s->always = always;
    client_say(&s->client, "CONFIG SET appendfsync %s", policy);
}

static void say_other(struct switcher *s) {
    static const char *const others[] = {"BGREWRITEAOF",
                                         "BGREWRITEAOF",
                                         "CONFIG SET snapshot-method walk",
                                         "CONFIG SET snapshot-method fork",
                                         "CONFIG SET aof-use-rdb-preamble no",
                                         "CONFIG SET aof-use-rdb-preamble yes",
                                         "FLUSHDB"};
    client_say(&s->client, "%s", others[draw(sizeof(others) / sizeof(others[0]))]);
}

static void work(struct client *c) {
    struct switcher *s = (struct switcher *)c;
    c->wanted_nsec = world->now_nsec + draw_scale(every_nsec);
    look_at_life(s);
    if (c->link < 0) {
        if (ended) return;
        client_connect(c, s->node);
        c->limit_nsec = world->now_nsec + LIMIT_NSEC;
        return;
    }
    if (!c->open || c->awaited) return;
    if (s->step == ASKS) {
        client_say(c, "INFO persistence");
    } else if (ended) {
        return;
    } else if (chance(50)) {
        begin(s, SWITCHES);
        if (s->on)
            say_off(s);
        else
            say_on(s);
    } else {
        begin(s, SWITCHES);
        if (chance(50))
            say_policy(s);
        else
            say_other(s);
    }
}

/* ---- replies ---- */

static bool says_in_place(const struct reply *r) {
    return r->type == '$' && strstr(r->text, "aof_enabled:1") &&
           strstr(r->text, "aof_rewrite_in_progress:0") &&
           strstr(r->text, "aof_rewrite_scheduled:0");
}

static void rest(struct switcher *s) {
    s->step = RESTS;
    s->client.limit_nsec = NEVER;
    s->client.wanted_nsec = world->now_nsec + draw_scale(every_nsec);
}

static void replied(struct client *c, const struct reply *r) {
    struct switcher *s = (struct switcher *)c;
    look_at_life(s);
    switch (s->step) {
    case RESTS: break;
    case SWITCHES:
        if (!s->on) {
            rest(s);
            return;
        }
        begin(s, ASKS);
        c->wanted_nsec = world->now_nsec + draw_scale(ASK_NSEC);
        return;
    case ASKS:
        c->wanted_nsec = world->now_nsec + draw_scale(ASK_NSEC);
        if (!says_in_place(r)) {
            begin(s, ASKS);
            return;
        }
        s->in_place = true;
        begin(s, WRITES);
        client_say(c, "INCR switched");
        return;
    case WRITES:
        if (r->type == ':') s->synced = true;
        rest(s);
    }
}

static void connected(struct client *c) {
    struct switcher *s = (struct switcher *)c;
    rest(s);
    if (s->on && !ended) begin(s, ASKS);
}

static void failed(struct client *c) {
    struct switcher *s = (struct switcher *)c;
    if (s->step == SWITCHES) s->unsure = true;
    rest(s);
}

static const struct client_events events = {connected, replied, failed};

void switcher_start(int node, int64_t every, bool on, bool always) {
    struct switcher *s = &switchers[node];
    s->node = node;
    s->starts_on = on;
    s->starts_always = always;
    look_at_life(s);
    if (!every) return;
    every_nsec = every;
    client_make(&s->client, &events, work);
    s->client.wanted_nsec = s->client.actor.due_nsec = world->now_nsec + draw_scale(every);
}

void switcher_end(void) { ended = true; }

/* ---- in the node ---- */

void __wrap_aof_switch_begin(const struct aof_switch *what) {
    world->nodes[self->node].log_is_first = what->has_log;
    __real_aof_switch_begin(what);
}
