/* SPDX-License-Identifier: BSD-3-Clause
 * Sentinels, and those who ask them. watchers.h has the idea.
 */
#include "sim/watchers.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/client.h"
#include "sim/faults.h"
#include "sim/load.h"
#include "sim/network.h"
#include "sim/scheduler.h"
#include "sim/witness.h"
#include "sim/world.h"

#define NAME "primary"
#define ROUND_NSEC (600 * NSEC_PER_MSEC)
#define LIMIT_NSEC (5 * NSEC_PER_SEC)
#define SETTLED_NSEC (45 * NSEC_PER_SEC) /* beside the limits that the Sentinels know */
#define DEMOTED_NSEC (12 * NSEC_PER_SEC) /* beside down-after */
#define RIVAL_NSEC_MAX (2 * NSEC_PER_SEC)
#define FORGOTTEN_NSEC (5 * NSEC_PER_SEC)
/* Longer than a Sentinel keeps a connection that is lost, and tries others. */
#define ASTRAY_NSEC (30 * NSEC_PER_SEC)
#define TILT_NSEC (31 * NSEC_PER_SEC)
#define LINE_CHARS 128
#define SAID_CHARS 80
#define DIGEST_CHARS 40
#define NO_ID "0000000000000000000000000000000000000000"
#define NOBODY (-1)

static int servers;
static int down_after_msec, failover_timeout_msec;
static int64_t settled_nsec; /* 0: not yet */
static bool compares;

static struct asker {
    struct client client; /* first */
    int node;
    const char *order; /* what it is told once; NULL: nothing */
    char told[SAID_CHARS];
    bool order_sent;      /* the first answer is the order's */
    bool is_forced;       /* the order was to fail over, and what came of it is not known yet */
    int answers;          /* in this round */
    int named;            /* by a Sentinel; of a server: whom it follows; NOBODY */
    int others;           /* Sentinels that a Sentinel knows */
    bool is_primary;      /* a server */
    int64_t primary_nsec; /* since when a server says so */
    int64_t said_nsec;
    char said[SAID_CHARS], digest[DIGEST_CHARS + 1];
} askers[NODES_MAX];

/* ---- Options ---- */

static void __attribute__((format(printf, 2, 3))) add_line(int node, const char *format, ...) {
    char line[LINE_CHARS];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    node_add_line(node, line);
}

static void add_sentinel_lines(int node) {
    int all = nodes_count() - servers;
    node_use_file(node, "redis-sentinel");
    world->nodes[node].is_sentinel = true;
    add_line(node, "port %d", network_port(node));
    add_line(node, "always-show-logo no");
    add_line(node, "sentinel monitor " NAME " 10.0.0.1 %d %d", network_port(0), all / 2 + 1);
    add_line(node, "sentinel down-after-milliseconds " NAME " %d", down_after_msec);
    add_line(node, "sentinel failover-timeout " NAME " %d", failover_timeout_msec);
    add_line(node, "sentinel parallel-syncs " NAME " %d", 1 + (int)draw(2));
}

void watchers_make(int servers_count) {
    servers = servers_count;
    down_after_msec = 500 + (int)draw(1500);
    failover_timeout_msec = 3000 + (int)draw_scale(12000);
    for (int node = servers; node < nodes_count(); node++) add_sentinel_lines(node);
    witness_open(servers, nodes_count());
}

/* ---- Asking ---- */

static int server_at(const char *ip, const char *port) {
    int number;
    if (sscanf(ip, "10.0.0.%d", &number) != 1 || number < 1 || number > servers) return NOBODY;
    return strtol(port, NULL, 10) == network_port(number - 1) ? number - 1 : NOBODY;
}

static void ask(struct asker *a) {
    struct client *c = &a->client;
    a->answers = 0;
    a->order_sent = a->order != NULL;
    if (a->order) client_say(c, a->order, NAME);
    a->order = NULL;
    if (a->node >= servers) {
        /* In an epoch that is over nobody gets a vote: the answer is the last one that was given.
         */
        int primary = a->named == NOBODY ? 0 : a->named;
        client_say(c, "SENTINEL is-master-down-by-addr 10.0.0.%d %d 0 " NO_ID, primary + 1,
                   network_port(primary));
        client_say(c, "SENTINEL get-master-addr-by-name " NAME);
        client_say(c, "SENTINEL sentinels " NAME);
    } else {
        client_say(c, "SELECT 8");
        client_say(c, "ROLE");
        if (compares)
            client_say(c, "DEBUG DIGEST");
        else
            client_say(c, "SET probe-%d %lld", a->node, (long long)world->now_nsec);
    }
    c->limit_nsec = world->now_nsec + LIMIT_NSEC;
}

static void work(struct client *c) {
    struct asker *a = (struct asker *)c;
    if (client_round(c, a->node, ROUND_NSEC, LIMIT_NSEC)) ask(a);
}

static void connected(struct client *c) { ask((struct asker *)c); }

static void say(struct asker *a, const char *text) {
    if (strcmp(a->said, text) != 0) tell("node %d: %s", a->node, text);
    snprintf(a->said, sizeof(a->said), "%s", text);
}

static void take_named(struct asker *a, const struct reply *r) {
    char text[SAID_CHARS] = "names nothing";
    a->named = NOBODY;
    if (r->type == '*' && r->number == 2) {
        a->named = server_at(r->items[0].text, r->items[1].text);
        snprintf(text, sizeof(text), "names %s:%s", r->items[0].text, r->items[1].text);
    }
    say(a, text);
    if (a->named != NOBODY && once_in(2)) load_turn_to(a->named);
}

static void take_role(struct asker *a, const struct reply *r) {
    char text[SAID_CHARS] = "has no role";
    bool was_primary = a->is_primary;
    a->named = NOBODY;
    a->is_primary = false;
    if (r->type == '*' && r->number >= 3) {
        a->is_primary = strcmp(r->items[0].text, "master") == 0;
        if (a->is_primary && !was_primary) a->primary_nsec = world->now_nsec;
        if (!a->is_primary && r->number == 5)
            a->named = server_at(r->items[1].text, r->items[2].text);
        snprintf(text, sizeof(text), "%s of %d", r->items[0].text, a->named);
    }
    say(a, text);
}

/* Since when the Sentinel has all the links to the server that it has; NEVER: it has none that
 * works.
 */
static int64_t linked_since(int sentinel, int server) {
    int64_t since_nsec = NEVER;
    for (int i = 0; i < network->links_end; i++) {
        const struct link *l = &network->links[i];
        if (l->state != LINK_OPEN || l->ends[0].node != sentinel || l->ends[1].node != server)
            continue;
        if (l->lost || l->ends[0].closed || l->ends[1].closed) continue;
        if (since_nsec == NEVER || l->began_nsec > since_nsec) since_nsec = l->began_nsec;
    }
    return since_nsec;
}

static int64_t later_of(int64_t a, int64_t b) { return a > b ? a : b; }

/* Since when a Sentinel that is not in tilt hears both servers; NEVER: none does. */
static int64_t heard_since(int server, int primary) {
    int64_t since_nsec = NEVER;
    for (int node = servers; node < nodes_count(); node++) {
        int64_t from_nsec = settled_nsec;
        if (faults_slow_until(node))
            from_nsec = later_of(from_nsec, faults_slow_until(node) + TILT_NSEC);
        from_nsec = later_of(from_nsec, linked_since(node, server));
        from_nsec = later_of(from_nsec, linked_since(node, primary));
        if (from_nsec < since_nsec) since_nsec = from_nsec;
    }
    return since_nsec;
}

/* The server has taken a write. A primary that has started again may be what its options say, a
 * replica: until another one is elected nobody can be told to follow it. */
static void take_write(const struct asker *a) {
    int64_t from_nsec;
    int primary = witness_primary(&from_nsec);
    if (!settled_nsec || a->node == primary || witness_is_demoted(primary)) return;
    if (!askers[primary].is_primary) return;
    from_nsec = later_of(from_nsec, askers[primary].primary_nsec);
    from_nsec = later_of(from_nsec, witness_promoted_nsec(a->node));
    from_nsec = later_of(from_nsec, witness_promoted_nsec(primary));
    from_nsec = later_of(from_nsec, heard_since(a->node, primary));
    if (from_nsec == NEVER) return;
    int64_t limit_nsec = from_nsec + down_after_msec * NSEC_PER_MSEC + DEMOTED_NSEC;
    if (world->now_nsec > limit_nsec)
        find("server %d takes writes %lld ms after its limit; the primary is %d", a->node,
             (long long)((world->now_nsec - limit_nsec) / NSEC_PER_MSEC), primary);
}

/* Whether a Sentinel will tell the server to follow the primary: it watches the server, and names
 * this primary, or has not had the time to hear of it. */
static bool is_watched(int server, int primary) {
    for (int node = servers; node < nodes_count(); node++) {
        if (linked_since(node, server) == NEVER) continue;
        if (askers[node].named == primary || world->now_nsec < settled_nsec + ASTRAY_NSEC)
            return true;
    }
    return false;
}

/* RESET, and a new machine, forget a server that does not follow the primary: nobody watches it any
 * more, or only a Sentinel whose file names this server, and who so meets no other Sentinel. An
 * operator must bring the server back. */
static void bring_back(struct asker *a) {
    int64_t from_nsec;
    int primary = witness_primary(&from_nsec);
    if (!settled_nsec || world->now_nsec < settled_nsec + FORGOTTEN_NSEC || a->node == primary)
        return;
    if (is_watched(a->node, primary)) return;
    if (!a->is_primary && a->named == primary) return;
    note("brings back", a->node, primary, 0);
    snprintf(a->told, sizeof(a->told), "REPLICAOF 10.0.0.%d %d", primary + 1,
             network_port(primary));
    a->order = a->told;
}

static void take_answer_of_server(struct asker *a, int at, const struct reply *r) {
    if (at == 1) take_role(a, r);
    if (at < 2) return;
    if (compares)
        snprintf(a->digest, sizeof(a->digest), "%s", r->type == '+' ? r->text : "");
    else if (r->type == '+')
        take_write(a);
    a->said_nsec = world->now_nsec;
    a->client.limit_nsec = NEVER;
    bring_back(a);
}

static void take_order(struct asker *a, const struct reply *r) {
    tell("node %d: order: %s", a->node, r->text);
    if (!a->is_forced || r->type != '-') return;
    a->is_forced = false;
    witness_note_refusal(a->node);
}

static void take_vote(struct asker *a, const struct reply *r) {
    const char *leader = NULL;
    uint64_t epoch = 0;
    if (r->type == '*' && r->number == 3 && strcmp(r->items[1].text, "*") != 0) {
        leader = r->items[1].text;
        epoch = (uint64_t)r->items[2].number;
    }
    if (a->is_forced) witness_note_forced(a->node, leader, epoch);
    a->is_forced = false;
}

static void take_answer_of_sentinel(struct asker *a, int at, const struct reply *r) {
    if (at == 0) take_vote(a, r);
    if (at == 1) take_named(a, r);
    if (at < 2) return;
    a->others = r->type == '*' ? (int)r->number : NOBODY;
    a->said_nsec = world->now_nsec;
    a->client.limit_nsec = NEVER;
}

static void replied(struct client *c, const struct reply *r) {
    struct asker *a = (struct asker *)c;
    int at = a->answers++ - a->order_sent;
    if (at < 0)
        take_order(a, r);
    else if (a->node < servers)
        take_answer_of_server(a, at, r);
    else
        take_answer_of_sentinel(a, at, r);
}

static void failed(struct client *c) {
    struct asker *a = (struct asker *)c;
    a->digest[0] = '\0';
    if (a->is_forced) witness_note_forced(a->node, NULL, 0);
    a->is_forced = false;
    c->wanted_nsec = world->now_nsec + draw_scale(ROUND_NSEC);
}

static const struct client_events events = {connected, replied, failed};

/* ---- Orders ---- */

static struct actor commander;
static int64_t order_nsec; /* each so often */

static void give_order(int node, const char *order) {
    struct asker *a = &askers[node];
    if (a->client.link < 0 || !a->client.open || a->client.awaited) return;
    note("order", node, order[9], 0);
    a->is_forced = order[9] == 'F';
    if (a->is_forced) witness_note_order(node);
    a->order = order;
    ask(a);
}

static int draw_sentinel(void) { return servers + (int)draw((uint64_t)(nodes_count() - servers)); }

static void command(struct actor *a) {
    a->due_nsec = world->now_nsec + (int64_t)draw((uint64_t)order_nsec * 2);
    if (once_in(3)) {
        give_order(draw_sentinel(), "SENTINEL RESET %s");
        return;
    }
    give_order(draw_sentinel(), "SENTINEL FAILOVER %s");
    if (chance(70)) give_order(draw_sentinel(), "SENTINEL FAILOVER %s");
}

/* In the midst of an election a Sentinel is told to fail over, which takes a higher epoch. */
static struct actor rival;
static unsigned candidacies_seen;

static bool sees_election(const struct actor *a) {
    return a->due_nsec == NEVER && witness_candidacies() != candidacies_seen;
}

static void rival_election(struct actor *a) {
    candidacies_seen = witness_candidacies();
    if (a->due_nsec == NEVER) {
        if (chance(50)) a->due_nsec = world->now_nsec + (int64_t)draw(RIVAL_NSEC_MAX);
        return;
    }
    a->due_nsec = NEVER;
    give_order(draw_sentinel(), "SENTINEL FAILOVER %s");
}

/* ---- All of it ---- */

void watchers_start(void) {
    for (int node = 0; node < nodes_count(); node++) {
        struct asker *a = &askers[node];
        client_make(&a->client, &events, work);
        a->node = node;
        a->named = NOBODY;
        a->client.wanted_nsec = a->client.actor.due_nsec = world->now_nsec + draw_scale(ROUND_NSEC);
    }
    if (chance(50)) return;
    order_nsec = 3 * NSEC_PER_SEC + draw_scale(30 * NSEC_PER_SEC);
    commander = (struct actor){
        .due_nsec = world->now_nsec + (int64_t)draw((uint64_t)order_nsec * 2), .act = command};
    scheduler_add(&commander);
    rival = (struct actor){.due_nsec = NEVER, .is_ready = sees_election, .act = rival_election};
    scheduler_add(&rival);
}

void watchers_settle(void) {
    scheduler_remove(&commander);
    scheduler_remove(&rival);
    settled_nsec = world->now_nsec;
}

long long watchers_agree_nsec(void) {
    return (2LL * failover_timeout_msec + down_after_msec) * NSEC_PER_MSEC + SETTLED_NSEC;
}

bool watchers_agree(void) {
    int named = askers[servers].named;
    if (named == NOBODY) return false;
    for (int node = 0; node < nodes_count(); node++) {
        const struct asker *a = &askers[node];
        if (a->said_nsec <= settled_nsec) return false;
        if (node == named ? !a->is_primary : a->named != named) return false;
        if (node >= servers && a->others != nodes_count() - servers - 1) return false;
    }
    return true;
}

void watchers_compare(void) { compares = true; }

bool watchers_see_equal(void) {
    for (int node = 0; node < servers; node++)
        if (!askers[node].digest[0] || strcmp(askers[node].digest, askers[0].digest) != 0)
            return false;
    return true;
}

void watchers_describe(char *out, unsigned long size) {
    size_t used = 0;
    for (int node = 0; node < nodes_count() && used < size; node++) {
        const struct asker *a = &askers[node];
        used += (size_t)snprintf(out + used, size - used, "%s%d %s", node ? ", " : "", node,
                                 compares && node < servers && a->digest[0] ? a->digest : a->said);
        if (node >= servers && used < size)
            used += (size_t)snprintf(out + used, size - used, " and %d others", a->others);
    }
}
