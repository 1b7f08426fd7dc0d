/* SPDX-License-Identifier: BSD-3-Clause
 * The operator of a cluster. reshard.h has the idea.
 *
 * One request is under way at a time, to one node; its answer decides what is next:
 *
 *   LOOK        CLUSTER NODES and the slot's keys, of each node in turn
 *      |        all have answered: decide
 *      v
 *   ACT         one CLUSTER SETSLOT, as decided; then LOOK
 *   LIST, MOVE  GETKEYSINSLOT and MIGRATE by turns, until no key is left; then LOOK
 *   READ        at rest: the keys of a slot at its owner, then the value of each
 *
 * An error, a connection that breaks, and a change of mind lead to LOOK. A MIGRATE or DEL whose
 * answer did not come may still arrive, so that the slot rests first for longer than anything is
 * under way.
 */
#include "sim/reshard.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/client.h"
#include "sim/headers.h"
#include "sim/network.h"
#include "sim/roam.h"
#include "sim/scheduler.h"
#include "sim/slots.h"
#include "sim/world.h"

#define LIMIT_NSEC (15 * NSEC_PER_SEC)
#define PAUSE_NSEC (300 * NSEC_PER_MSEC)
/* Longer than a link stands still, and than a server does not read. */
#define ARRIVED_NSEC (25 * NSEC_PER_SEC)
#define MIGRATE_MSEC 3000
#define LISTED_MAX 10
#define READ_MAX 1000
#define KEY_CHARS 48
#define NOBODY (-1)
/* Nodes that trust each other agree within so long; only then the operator gives away a slot that
 * nobody has, or tells a node who the owner is. */
#define UNOWNED_NSEC (30 * NSEC_PER_SEC)

enum phase { LOOK, ACT, LIST, MOVE, CLEAN, READ_LIST, READ_VALUE };

/* What a node says of the slot. */
struct view {
    int owner; /* NOBODY */
    int migrating_to, importing_from;
    long long keys;
    bool is_out; /* a replica, or none of the cluster: it has no say */
};

static struct {
    struct client client; /* first */
    int64_t every_nsec, change_nsec;
    bool settled, reads;
    int wanted[HOT_SLOTS];
    bool rests[HOT_SLOTS];
    int64_t resumes_nsec[HOT_SLOTS];
    bool trusts;              /* reshard_trust_nodes */
    bool is_given[HOT_SLOTS]; /* its move has just come to its end: all are told, as by redis-cli */
    bool (*takes_part)(int node);
    int64_t unowned_nsec[HOT_SLOTS]; /* since when nobody has it; 0 = somebody has */
    int64_t odds_nsec[HOT_SLOTS];    /* since when nodes do not name one owner; 0 = they do */
    struct view views[HOT_SLOTS][NODES_MAX];
    enum phase phase;
    int hot, node; /* the slot that is worked on, and the node that is asked */
    int answers;   /* of the request: those that have come */
    int wants;     /* and those that it has */
    int from, to;  /* of the keys that are moved */
    bool from_owner;
    bool one_by_one; /* so that BUSYKEY says which */
    int listed, at;
    char keys[READ_MAX][KEY_CHARS];
    char refusal[160];
    bool has_read;
    bool is_string;                   /* of the key that is read: its type has come */
    char nodes_text[CLIENT_IN_BYTES]; /* an answer to CLUSTER NODES, cut into lines */
} op;

static uint64_t moves;

static void look_at(int hot) {
    op.phase = LOOK;
    op.hot = hot;
    op.node = 0;
}

/* ---- Requests ---- */

static unsigned slot_now(void) { return slots_number(op.hot); }

static void say_migrate(void) {
    const char *words[7 + LISTED_MAX + 1];
    char ip[24], port[8], timeout[16];
    int count = 0;
    snprintf(ip, sizeof(ip), "10.0.0.%d", op.to + 1);
    snprintf(port, sizeof(port), "%d", network_port(op.to));
    snprintf(timeout, sizeof(timeout), "%d", 1 + (int)draw_scale(MIGRATE_MSEC));
    const char *const first[] = {"MIGRATE", ip, port, "", "0", timeout, "KEYS"};
    for (; count < 7; count++) words[count] = first[count];
    for (int i = 0; i < op.listed; i++) words[count++] = op.keys[i];
    client_send(&op.client, count, words, NULL);
}

static void say_clean(void) {
    client_say(&op.client, "ASKING");
    client_say(&op.client, "DEL %s", op.keys[0]);
}

static char order[128]; /* of ACT */

static void ask(void) {
    struct client *c = &op.client;
    op.answers = 0;
    op.wants = 1;
    op.refusal[0] = '\0';
    switch (op.phase) {
    case LOOK:
        client_say(c, "CLUSTER NODES");
        client_say(c, "CLUSTER COUNTKEYSINSLOT %u", slot_now());
        op.wants = 2;
        break;
    case ACT: client_say(c, "%s", order); break;
    case LIST:
        client_say(c, "CLUSTER GETKEYSINSLOT %u %d", slot_now(),
                   op.one_by_one ? 1 : 1 + (int)draw(LISTED_MAX));
        break;
    case MOVE: say_migrate(); break;
    case CLEAN:
        say_clean();
        op.wants = 2;
        break;
    case READ_LIST: client_say(c, "CLUSTER GETKEYSINSLOT %u %d", slot_now(), READ_MAX); break;
    case READ_VALUE:
        client_say(c, "TYPE %s", op.keys[op.at]);
        client_say(c, "GET %s", op.keys[op.at]);
        op.wants = 2;
        break;
    }
    c->limit_nsec = world->now_nsec + LIMIT_NSEC;
}

static void soon(int64_t nsec) { op.client.wanted_nsec = world->now_nsec + draw_scale(nsec); }

static void work(struct client *c) {
    if (c->awaited) return;
    if (c->link >= 0 && c->node != op.node) client_close(c);
    if (c->link < 0) {
        client_connect(c, op.node);
        c->limit_nsec = world->now_nsec + LIMIT_NSEC;
    } else if (c->open) {
        ask();
    }
}

static void connected(struct client *c) {
    c->limit_nsec = NEVER;
    work(c);
}

/* ---- Which slot, and where to ---- */

static void draw_slot(void) {
    int hot = (int)draw(HOT_SLOTS);
    for (int i = 0; i < HOT_SLOTS; i++, hot = (hot + 1) % HOT_SLOTS) {
        if (op.settled && op.rests[hot]) continue;
        if (world->now_nsec < op.resumes_nsec[hot]) continue;
        look_at(hot);
        return;
    }
    look_at(hot);
}

static void change_mind(void) {
    if (op.settled || world->now_nsec < op.change_nsec) return;
    op.change_nsec = world->now_nsec + (int64_t)draw((uint64_t)op.every_nsec * 2);
    int hot = (int)draw(HOT_SLOTS);
    op.wanted[hot] = (int)draw((uint64_t)nodes_count());
    if (op.trusts && op.views[hot][op.wanted[hot]].is_out) return;
    note("wants", (long)slots_number(hot), op.wanted[hot], 0);
}

/* The slot that is worked on stays as it is for now, with whatever was begun. */
static void turn_away(void) {
    change_mind();
    draw_slot();
    soon(PAUSE_NSEC);
}

static void failed(struct client *c) {
    tell("operator: no answer of node %d in phase %d of slot %u", op.node, op.phase, slot_now());
    if (op.phase == MOVE || op.phase == CLEAN)
        op.resumes_nsec[op.hot] = world->now_nsec + ARRIVED_NSEC;
    if (op.phase >= READ_LIST)
        soon(PAUSE_NSEC);
    else
        turn_away();
}

/* ---- Deciding ---- */

/* Promises of its keys, and promotions, are looked at otherwise from now on. */
static void begin_move(int hot) {
    if (!op.trusts) return;
    headers_note_bumps();
    headers_set_moving(hot, true);
    roam_note_moved(hot);
}

static void act(int node, const char *what, const char *id) {
    begin_move(op.hot);
    snprintf(order, sizeof(order), "CLUSTER SETSLOT %u %s%s%s", slot_now(), what, id ? " " : "",
             id ? id : "");
    note("setslot", node, (long)slot_now(), what[0]);
    tell("operator: node %d: %s", node, order);
    op.phase = ACT;
    op.node = node;
    soon(1 + PAUSE_NSEC / 100);
}

static void move_keys(int from, int to, bool from_owner) {
    begin_move(op.hot);
    op.phase = LIST;
    op.node = op.from = from;
    op.to = to;
    op.from_owner = from_owner;
    op.one_by_one = false;
    soon(1 + PAUSE_NSEC / 100);
}

static bool owns(const struct view *views, int node) { return views[node].owner == node; }

/* The node to which a slot without an owner belongs: it was being moved there, or has the keys. */
static int heir(const struct view *views) {
    int best = 0;
    while (views[best].is_out) best++;
    for (int node = best; node < nodes_count(); node++) {
        if (views[node].is_out) continue;
        if (views[node].importing_from != NOBODY) return node;
        if (views[node].keys > views[best].keys) best = node;
    }
    return best;
}

/* The slot stays at its owner. Keys elsewhere are copies that a MIGRATE without an answer has left.
 * False: there is nothing to do. */
static bool close_slot(const struct view *views, int owner) {
    for (int node = 0; node < nodes_count(); node++) {
        if (node == owner || views[node].is_out) continue;
        bool imports = views[node].importing_from != NOBODY;
        if (views[node].keys && !imports)
            act(node, "IMPORTING", slots_node_id(owner));
        else if (views[node].keys)
            move_keys(node, owner, false);
        else if (imports)
            act(node, "STABLE", NULL);
        else
            continue;
        return true;
    }
    return false;
}

static void give_slot(int owner, int to) {
    op.is_given[op.hot] = true;
    act(chance(70) ? to : owner, "NODE", slots_node_id(to));
}

static void move_slot(const struct view *views, int owner, int to) {
    if (views[to].importing_from != owner)
        act(to, "IMPORTING", slots_node_id(owner));
    else if (views[owner].migrating_to != to)
        act(owner, "MIGRATING", slots_node_id(to));
    else if (views[owner].keys)
        move_keys(owner, to, true);
    else
        give_slot(owner, to);
}

/* Nodes that name another owner are told. True: all do. */
static bool spread(const struct view *views, int owner) {
    for (int node = 0; node < nodes_count(); node++) {
        if (views[node].owner == owner || views[node].is_out) continue;
        /* Who imports a slot believes nobody who claims it, until the mark goes. */
        if (op.trusts && views[node].importing_from != NOBODY) continue;
        if (op.trusts && !op.odds_nsec[op.hot]) op.odds_nsec[op.hot] = world->now_nsec;
        if (op.trusts && !op.is_given[op.hot] &&
            world->now_nsec - op.odds_nsec[op.hot] < UNOWNED_NSEC)
            turn_away();
        else
            act(node, "NODE", slots_node_id(owner));
        return false;
    }
    op.odds_nsec[op.hot] = 0;
    op.is_given[op.hot] = false;
    return true;
}

/* Ends a move that leads elsewhere than wanted. Where keys have gone, it is brought to its end,
 * because they cannot come back as long as their owner sends clients after them. Else the importing
 * mark goes first, and the migrating mark when there is no key even then. False: there is none. */
static bool end_other_move(const struct view *views, int owner, int wanted) {
    int to = views[owner].migrating_to;
    if (to == NOBODY || (to == wanted && !views[to].is_out)) return false;
    if (views[to].is_out) {
        act(owner, "STABLE", NULL);
        return true;
    }
    if (views[to].keys)
        move_slot(views, owner, to);
    else
        act(views[to].importing_from != NOBODY ? to : owner, "STABLE", NULL);
    return true;
}

/* How likely a node that claims the slot is its owner: one that has lost its last change claims a
 * slot that it has given away, until the bus tells it. It has the migrating mark then, and no keys.
 */
static int rank_claim(const struct view *v) { return v->keys ? 2 : v->migrating_to == NOBODY; }

/* A node that imports a slot believes nobody's claim on it. If its former owner becomes a replica
 * meanwhile, nobody has the slot for that node, which refuses its keys, too: the mark must go, so
 * that the node hears of the owner. False: there is none. */
static bool close_blind_import(const struct view *views) {
    for (int node = 0; node < nodes_count(); node++) {
        const struct view *v = &views[node];
        if (v->is_out || v->owner != NOBODY || v->importing_from == NOBODY) continue;
        act(node, "STABLE", NULL);
        return true;
    }
    return false;
}

static int count_owners(const struct view *views, int *owner) {
    int owners = 0;
    for (int node = 0; node < nodes_count(); node++) {
        if (!owns(views, node) || views[node].is_out) continue;
        if (!owners++ || rank_claim(&views[node]) > rank_claim(&views[*owner])) *owner = node;
    }
    return owners;
}

/* Nobody has the slot. */
static void decide_unowned(const struct view *views) {
    int64_t *since_nsec = &op.unowned_nsec[op.hot];
    if (!*since_nsec) *since_nsec = world->now_nsec;
    if (op.trusts && world->now_nsec - *since_nsec < UNOWNED_NSEC) {
        turn_away();
        return;
    }
    int node = heir(views);
    act(node, "NODE", slots_node_id(node));
}

static void decide(void) {
    const struct view *views = op.views[op.hot];
    int owner = NOBODY, wanted = op.wanted[op.hot];
    op.rests[op.hot] = false;
    if (world->now_nsec < op.resumes_nsec[op.hot]) {
        turn_away();
        return;
    }
    int owners = count_owners(views, &owner);
    if (owners == 0) {
        decide_unowned(views);
        return;
    }
    op.unowned_nsec[op.hot] = 0;
    if (op.trusts && owners > 1) {
        turn_away();
        return;
    }
    if (op.trusts && close_blind_import(views)) return;
    if (op.trusts && views[wanted].is_out) wanted = op.wanted[op.hot] = owner;
    for (int node = 0; node < nodes_count(); node++)
        if (node != owner && owns(views, node) && views[node].keys)
            find("slot %u belongs to node %d, and to node %d, which has %lld keys", slot_now(),
                 owner, node, views[node].keys);
    if (!spread(views, owner)) return;
    if (end_other_move(views, owner, wanted)) return;
    if (wanted != owner) {
        move_slot(views, owner, wanted);
        return;
    }
    if (close_slot(views, owner)) return;
    if (headers_is_moving(op.hot)) {
        headers_set_moving(op.hot, false);
        roam_note_moved(op.hot);
    }
    op.rests[op.hot] = true;
    turn_away();
}

/* ---- Answers ---- */

/* "0-5460", "7" */
static bool is_in_run(const char *word, unsigned slot) {
    unsigned first, last;
    int fields = sscanf(word, "%u-%u", &first, &last);
    return fields > 0 && slot >= first && slot <= (fields == 2 ? last : first);
}

static void take_word(struct view *v, int node, const char *word) {
    unsigned slot;
    char arrow, id[NODE_ID_CHARS + 1];
    if (sscanf(word, "[%u-%c-%40[0-9a-f]]", &slot, &arrow, id) == 3) {
        if (slot != slot_now()) return;
        if (arrow == '>')
            v->migrating_to = slots_node_of_id(id);
        else
            v->importing_from = slots_node_of_id(id);
    } else if (is_in_run(word, slot_now())) {
        v->owner = node;
    }
}

/* Of each line the node and its slots. */
static void take_nodes(struct view *v, const char *text) {
    char *copy = op.nodes_text;
    char *line_rest = NULL, *rest = NULL;
    *v = (struct view){.owner = NOBODY, .migrating_to = NOBODY, .importing_from = NOBODY};
    snprintf(copy, sizeof(op.nodes_text), "%s", text);
    for (char *line = strtok_r(copy, "\n", &line_rest); line;
         line = strtok_r(NULL, "\n", &line_rest)) {
        int at = 0, node = slots_node_of_id(line);
        for (char *word = strtok_r(line, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
            if (at == 2 && strstr(word, "myself,slave")) v->is_out = true;
            if (at++ >= 8) take_word(v, node, word);
        }
    }
    if (op.takes_part && !op.takes_part(op.node)) v->is_out = true;
}

static void take_look(const struct reply *r) {
    struct view *v = &op.views[op.hot][op.node];
    if (op.answers == 1) {
        take_nodes(v, r->text);
        return;
    }
    v->keys = r->number;
    if (++op.node == nodes_count())
        decide();
    else
        soon(1 + PAUSE_NSEC / 100);
}

/* As all nodes that have a say named it when the slot came to rest. */
static int last_owner(int hot) {
    int node = 0;
    while (op.views[hot][node].is_out) node++;
    return op.views[hot][node].owner;
}

static void take_list(const struct reply *r) {
    op.listed = (int)r->number;
    for (int i = 0; i < op.listed; i++) snprintf(op.keys[i], KEY_CHARS, "%s", r->items[i].text);
    op.at = 0;
    if (op.phase == LIST && op.listed == 0) {
        look_at(op.hot);
    } else if (op.phase == LIST) {
        op.phase = MOVE;
    } else if (op.listed) {
        op.phase = READ_VALUE;
    } else {
        op.hot++;
        op.has_read = op.hot == HOT_SLOTS;
    }
    if (op.has_read) return;
    if (op.phase == READ_LIST) op.node = last_owner(op.hot);
    soon(1 + PAUSE_NSEC / 1000);
}

static void take_value(const struct reply *r) {
    if (op.answers == 1) {
        op.is_string = strcmp(r->text, "string") == 0;
        return;
    }
    if (op.is_string) roam_see_key(op.node, op.keys[op.at], r->text);
    op.refusal[0] = '\0';
    if (++op.at < op.listed) {
        soon(1);
        return;
    }
    op.hot++;
    op.phase = READ_LIST;
    op.has_read = op.hot == HOT_SLOTS;
    if (op.has_read) return;
    op.node = last_owner(op.hot);
    soon(1);
}

/* MIGRATE has met a copy of a key. The stale one is that of the node that is not the owner. */
static void meet_copy(void) {
    op.phase = op.listed == 1 ? CLEAN : LIST;
    if (op.phase == CLEAN && op.from_owner) op.node = op.to;
    op.one_by_one = true;
    soon(1 + PAUSE_NSEC / 100);
}

static void take_refusal(void) {
    tell("operator: node %d, phase %d, slot %u: %s", op.node, op.phase, slot_now(), op.refusal);
    if (op.phase == MOVE && strstr(op.refusal, "BUSYKEY")) {
        meet_copy();
        return;
    }
    if (op.phase == MOVE) op.resumes_nsec[op.hot] = world->now_nsec + ARRIVED_NSEC;
    if (op.phase >= READ_LIST)
        soon(PAUSE_NSEC);
    else
        turn_away();
}

/* Keys are listed again, and moved. */
static void end_cleaning(void) {
    op.phase = LIST;
    op.node = op.from;
    soon(1 + PAUSE_NSEC / 100);
}

static void replied(struct client *c, const struct reply *r) {
    bool last = ++op.answers == op.wants;
    if (r->type == '-' && op.phase != READ_VALUE)
        snprintf(op.refusal, sizeof(op.refusal), "%s", r->text);
    if (last) c->limit_nsec = NEVER;
    if (op.phase == READ_VALUE) {
        take_value(r);
    } else if (op.refusal[0]) {
        if (last) take_refusal();
    } else if (op.phase == LOOK) {
        take_look(r);
    } else if (op.phase == LIST || op.phase == READ_LIST) {
        take_list(r);
    } else if (last && op.phase == CLEAN) {
        end_cleaning();
    } else if (last && once_in(12) && !op.settled) {
        turn_away(); /* the operator is interrupted */
    } else if (last && op.phase == MOVE) {
        moves += strcmp(r->text, "OK") == 0;
        op.phase = LIST;
        soon(1 + PAUSE_NSEC / 100);
    } else if (last) {
        look_at(op.hot);
        soon(1 + PAUSE_NSEC / 100);
    }
}

static const struct client_events events = {connected, replied, failed};

/* ---- All of it ---- */

void reshard_start(int64_t every_nsec) {
    op.every_nsec = every_nsec;
    for (int hot = 0; hot < HOT_SLOTS; hot++) op.wanted[hot] = slots_first_owner(hot);
    client_make(&op.client, &events, work);
    look_at(0);
    op.client.wanted_nsec = op.client.actor.due_nsec = world->now_nsec + draw_scale(PAUSE_NSEC);
}

void reshard_trust_nodes(bool (*takes_part)(int node)) {
    op.trusts = true;
    op.takes_part = takes_part;
}

void reshard_settle(void) {
    op.settled = true;
    memset(op.rests, 0, sizeof(op.rests));
}

bool reshard_rests(void) {
    for (int hot = 0; hot < HOT_SLOTS; hot++)
        if (!op.rests[hot]) return false;
    return true;
}

void reshard_read_keys(void) {
    client_close(&op.client);
    op.phase = READ_LIST;
    op.hot = 0;
    op.node = last_owner(0);
    op.client.wanted_nsec = op.client.actor.due_nsec = world->now_nsec;
}

bool reshard_has_read(void) { return op.has_read; }

void reshard_describe(char *out, unsigned long size) {
    size_t used = 0;
    for (int hot = 0; hot < HOT_SLOTS && used < size; hot++) {
        if (op.rests[hot]) continue;
        const struct view *v = op.views[hot];
        used += (size_t)snprintf(out + used, size - used, "slot %u is wanted at %d;",
                                 slots_number(hot), op.wanted[hot]);
        for (int node = 0; node < nodes_count() && used < size; node++)
            used += (size_t)snprintf(out + used, size - used,
                                     " %d: owner %d, to %d, from %d, %lld;", node, v[node].owner,
                                     v[node].migrating_to, v[node].importing_from, v[node].keys);
    }
    if (used < size) snprintf(out + used, size - used, " %s", op.refusal);
}

uint64_t reshard_moves(void) { return moves; }
