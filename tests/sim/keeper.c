/* SPDX-License-Identifier: BSD-3-Clause
 * The operator of a cluster. keeper.h has the idea.
 *
 * There is a client for each node. In each round it gives the node its order, if there is one, and
 * asks what the node knows. Of CLUSTER NODES a text is kept that must be the same everywhere.
 */
#include "sim/keeper.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/client.h"
#include "sim/headers.h"
#include "sim/scheduler.h"
#include "sim/slots.h"
#include "sim/world.h"

#define ROUND_NSEC NSEC_PER_SEC
#define LIMIT_NSEC (10 * NSEC_PER_SEC)
#define VIEW_BYTES 8192
#define DIGEST_CHARS 40
#define FIRST_SLOTS_WORD 8

/* What an answer is about. */
enum question { ORDERED, NODES, INFO, DIGEST };

static struct minder {
    struct client client; /* first */
    int node;
    char order[128]; /* to be said; "" = none */
    enum question questions[4];
    int asked, answered;
    /* What it told last. */
    bool is_known;
    bool is_replica, is_ok, sees_failures;
    char primary[NODE_ID_CHARS + 1]; /* that it follows */
    int nodes;                       /* that it knows */
    long long epoch;
    char view[VIEW_BYTES], roles[VIEW_BYTES]; /* with slots and marks, and without */
    char digest[DIGEST_CHARS + 1];
} minders[NODES_MAX];

static bool settled;
static int64_t every_nsec;
static struct actor changer;
static char lines[CLIENT_IN_BYTES]; /* an answer that is cut into lines */

/* ---- Rounds ---- */

static void say(struct minder *m, enum question question, const char *words) {
    client_say(&m->client, "%s", words);
    m->questions[m->asked++] = question;
}

static void ask(struct minder *m) {
    m->asked = m->answered = 0;
    if (m->order[0]) say(m, ORDERED, m->order);
    m->order[0] = '\0';
    say(m, NODES, "CLUSTER NODES");
    say(m, INFO, "CLUSTER INFO");
    if (settled) say(m, DIGEST, "DEBUG DIGEST");
    m->client.limit_nsec = world->now_nsec + LIMIT_NSEC;
}

static void work(struct client *c) {
    struct minder *m = (struct minder *)c;
    if (client_round(c, m->node, ROUND_NSEC, LIMIT_NSEC)) ask(m);
}

static void connected(struct client *c) { ask((struct minder *)c); }

static void failed(struct client *c) {
    struct minder *m = (struct minder *)c;
    m->is_known = false;
    m->digest[0] = '\0';
}

/* ---- Answers ---- */

/* The words of a line of CLUSTER NODES: id, address, flags, primary, ping, pong, epoch, link, slots
 * and marks. */
static void append(char *text, const char *word) {
    size_t used = strlen(text);
    if (used + strlen(word) + 2 > VIEW_BYTES) abort();
    snprintf(text + used, VIEW_BYTES - used, "%s ", word);
}

static void take_word(struct minder *m, int at, const char *word, bool *is_self) {
    if (at == 2) {
        *is_self = strstr(word, "myself") != NULL;
        m->sees_failures |= strstr(word, "fail") || strstr(word, "handshake") ||
                            strstr(word, "noaddr") || strstr(word, "noflags");
        if (*is_self) m->is_replica = strstr(word, "slave") != NULL;
        word = strstr(word, "slave") ? "slave" : "master";
    }
    if (at == 3 && *is_self) snprintf(m->primary, sizeof(m->primary), "%s", word);
    if (at == 1 || at == 4 || at == 5 || at == 7)
        return; /* they differ, or need not be there yet */
    append(m->view, word);
    if (at < FIRST_SLOTS_WORD) append(m->roles, word);
}

static void take_nodes(struct minder *m, const char *text) {
    char *line_rest = NULL, *rest = NULL;
    snprintf(lines, sizeof(lines), "%s", text);
    m->nodes = 0;
    m->view[0] = m->roles[0] = '\0';
    m->sees_failures = false;
    for (char *line = strtok_r(lines, "\n", &line_rest); line;
         line = strtok_r(NULL, "\n", &line_rest)) {
        bool is_self = false;
        int at = 0;
        for (char *word = strtok_r(line, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
            take_word(m, at++, word, &is_self);
        m->nodes++;
    }
    m->is_known = true;
}

static void take_info(struct minder *m, const char *text) {
    const char *epoch = strstr(text, "cluster_current_epoch:");
    m->is_ok = strstr(text, "cluster_state:ok") != NULL;
    m->epoch = epoch ? strtoll(strchr(epoch, ':') + 1, NULL, 10) : -1;
}

static void replied(struct client *c, const struct reply *r) {
    struct minder *m = (struct minder *)c;
    enum question question = m->questions[m->answered++];
    if (m->answered == m->asked) c->limit_nsec = NEVER;
    if (question == ORDERED) tell("keeper: node %d: %s", m->node, r->text);
    if (r->type == '-' && question != ORDERED) m->is_known = false;
    if (r->type == '-') return;
    if (question == NODES) take_nodes(m, r->text);
    if (question == INFO) take_info(m, r->text);
    if (question == DIGEST) snprintf(m->digest, sizeof(m->digest), "%s", r->text);
}

static const struct client_events events = {connected, replied, failed};

/* ---- Orders ---- */

static void tell_now(int node) {
    struct client *c = &minders[node].client;
    c->wanted_nsec = world->now_nsec + draw_scale(50 * NSEC_PER_MSEC);
    c->actor.due_nsec = c->wanted_nsec < c->limit_nsec ? c->wanted_nsec : c->limit_nsec;
}

static void order_failover(int node) {
    unsigned at = (unsigned)draw(100);
    const char *how = at < 60 ? "" : at < 80 ? " FORCE" : " TAKEOVER";
    if (at >= 80)
        headers_note_takeover(node);
    else if (at >= 60)
        headers_note_force(node);
    snprintf(minders[node].order, sizeof(minders[node].order), "CLUSTER FAILOVER%s", how);
    note("orders", node, at, 0);
    tell_now(node);
}

static void change(struct actor *a) {
    a->due_nsec = world->now_nsec + 1 + (int64_t)draw((uint64_t)every_nsec * 2);
    int node = (int)draw((uint64_t)nodes_count());
    for (int i = 0; i < nodes_count(); i++, node = (node + 1) % nodes_count()) {
        if (!minders[node].is_known || !minders[node].is_replica) continue;
        order_failover(node);
        return;
    }
}

/* ---- All of it ---- */

void keeper_start(int64_t failover_nsec) {
    for (int i = 0; i < nodes_count(); i++) {
        client_make(&minders[i].client, &events, work);
        minders[i].node = i;
        tell_now(i);
    }
    if (!failover_nsec) return;
    every_nsec = failover_nsec;
    changer = (struct actor){.due_nsec = world->now_nsec + failover_nsec, .act = change};
    scheduler_add(&changer);
}

void keeper_settle(void) {
    settled = true;
    scheduler_remove(&changer);
    for (int i = 0; i < nodes_count(); i++) {
        minders[i].is_known = false;
        minders[i].digest[0] = '\0';
        tell_now(i);
    }
}

bool keeper_has(int node) { return true; }

static const struct minder *first_primary(void) {
    for (int i = 0; i < nodes_count(); i++)
        if (!minders[i].is_replica) return &minders[i];
    return &minders[0];
}

/* A replica that names a former owner of a slot is left alone: nobody can tell it. */
static const char *disagreement(const struct minder *m, bool only_roles) {
    const struct minder *first = first_primary();
    return !m->is_known                          ? "unknown"
           : m->sees_failures                    ? "sees failures"
           : m->nodes != nodes_count()           ? "knows too few or too many"
           : m->epoch != first->epoch            ? "another epoch"
           : strcmp(m->roles, first->roles) != 0 ? "other roles"
           : only_roles                          ? NULL
           : !m->is_ok                           ? "state fail"
           : strcmp(m->view, first->view) == 0   ? NULL
           : m->is_replica                       ? NULL
                                                 : "other slots";
}

bool keeper_sees_roles(void) {
    for (int i = 0; i < nodes_count(); i++)
        if (disagreement(&minders[i], true)) return false;
    return true;
}

static bool is_equal(const struct minder *m) {
    if (!m->digest[0]) return false;
    if (!m->is_replica) return true;
    int primary = slots_node_of_id(m->primary);
    return primary >= 0 && strcmp(m->digest, minders[primary].digest) == 0;
}

bool keeper_sees_equal(void) {
    for (int i = 0; i < nodes_count(); i++)
        if (!is_equal(&minders[i]) || disagreement(&minders[i], false)) return false;
    return true;
}

void keeper_describe(char *out, unsigned long size, bool only_roles) {
    size_t used = 0;
    for (int i = 0; i < nodes_count() && used < size; i++) {
        const struct minder *m = &minders[i];
        const char *why = disagreement(m, only_roles);
        used += (size_t)snprintf(out + used, size - used, "%s%d%s: %s, epoch %lld, %.8s",
                                 i ? "; " : "", i, m->is_replica ? " (replica)" : "",
                                 why           ? why
                                 : is_equal(m) ? "agrees"
                                               : "another digest",
                                 m->epoch, m->digest);
        if (why) tell("keeper: node %d sees %s", i, m->view);
    }
}
