/* SPDX-License-Identifier: BSD-3-Clause
 * Faults. faults.h has the idea. Each is a row with a weight.
 */
#include "sim/faults.h"

#include "sim/load.h"
#include "sim/network.h"
#include "sim/scheduler.h"
#include "sim/switcher.h"
#include "sim/world.h"

#define DOWN_NSEC_MAX (4 * NSEC_PER_SEC)
#define CUT_NSEC_MAX (15 * NSEC_PER_SEC)
#define SLOW_NSEC_MAX (8 * NSEC_PER_SEC)
#define SOON_NSEC_MAX (20 * NSEC_PER_MSEC)
#define JUMP_NSEC_MAX (100 * NSEC_PER_SEC)
#define MENDS_MAX 32

/* What ends a fault. */
struct mend {
    struct actor actor;
    bool used;
    int node, from;
    void (*mend)(struct mend *m);
};

static struct mend mends[MENDS_MAX];
static int64_t every_nsec;
static struct actor striker;

static int64_t later(int64_t most_nsec) { return world->now_nsec + draw_scale(most_nsec); }

static void run_mend(struct actor *a) {
    struct mend *m = (struct mend *)a;
    scheduler_remove(a);
    m->used = false;
    m->mend(m);
}

static void mend_later(int64_t at_nsec, int node, int from, void (*mend)(struct mend *m)) {
    for (int i = 0; i < MENDS_MAX; i++) {
        if (mends[i].used) continue;
        mends[i] = (struct mend){.actor = {.due_nsec = at_nsec, .act = run_mend},
                                 .used = true,
                                 .node = node,
                                 .from = from,
                                 .mend = mend};
        scheduler_add(&mends[i].actor);
        return;
    }
    mends[0].node = node;
    mend(&(struct mend){.node = node, .from = from});
}

/* ---- The rows ---- */

static void start_again(struct mend *m) {
    if (!node_runs(m->node)) node_start(m->node);
}

static void kill_node(int node) {
    if (!node_runs(node)) return;
    load_note_end(node, switcher_keeps(node, false));
    node_kill(node, chance(50));
    mend_later(later(DOWN_NSEC_MAX), node, 0, start_again);
}

static void cut_power(int node) {
    if (!node_runs(node)) return;
    load_note_end(node, switcher_keeps(node, true));
    node_cut_power(node);
    mend_later(later(DOWN_NSEC_MAX), node, 0, start_again);
}

static void speed_up(struct mend *m) { world->nodes[m->node].slow_disk = false; }

static void slow_down(int node) {
    note("slow disk", node, 0, 0);
    world->nodes[node].slow_disk = true;
    mend_later(later(SLOW_NSEC_MAX), node, 0, speed_up);
}

static void end_bad_names(struct mend *m) { world->nodes[m->node].bad_names = false; }

/* Renames and syncs of folders fail now and then. */
static void fail_names(int node) {
    note("bad names", node, 0, 0);
    world->nodes[node].bad_names = true;
    mend_later(later(SLOW_NSEC_MAX), node, 0, end_bad_names);
}

/* Under appendfsync always a server ends where its log's folder cannot be synced, and so does one
 * that starts. */
static bool may_end(int node, int exit_status) {
    if (!world->nodes[node].folder_failed || exit_status != 1) return false;
    note("ends", node, 0, 0);
    load_note_end(node, switcher_keeps(node, false));
    mend_later(later(DOWN_NSEC_MAX), node, 0, start_again);
    return true;
}

/* ---- Soon after a log's new file has got its name, on a disk that is slow until then ---- */

static struct actor vulture;
static unsigned renames_seen[NODES_MAX];
static bool waits_for_rename[NODES_MAX];

static int renamed_node(void) {
    for (int node = 0; node < nodes_count(); node++)
        if (waits_for_rename[node] && world->nodes[node].log_renames != renames_seen[node])
            return node;
    return -1;
}

static bool sees_rename(const struct actor *a) {
    return a->due_nsec == NEVER && renamed_node() >= 0;
}

static void strike_renamed(struct actor *a) {
    int node = renamed_node();
    if (a->due_nsec == NEVER) {
        a->due_nsec = later(SOON_NSEC_MAX);
        return;
    }
    a->due_nsec = NEVER;
    if (node < 0) return;
    waits_for_rename[node] = world->nodes[node].slow_disk = false;
    if (chance(70))
        kill_node(node);
    else
        cut_power(node);
}

static void strike_at_rename(int node) {
    renames_seen[node] = world->nodes[node].log_renames;
    waits_for_rename[node] = world->nodes[node].slow_disk = true;
}

static void jump(int node) {
    int64_t by = draw_scale(JUMP_NSEC_MAX);
    if (chance(50)) by = -by;
    note("clock jumps", node, (long)by, 0);
    world->nodes[node].wall_offset_nsec += by;
}

static void heal(struct mend *m) {
    note("heals", m->node, m->from, 0);
    world->nodes[m->node].cut[m->from] = false;
}

/* Nothing comes from one node, or from clients, to another for a while; often both ways. */
static void cut_off(int node) {
    int from = (int)draw((uint64_t)nodes_count() + 1);
    if (from == nodes_count()) from = NODES_MAX;
    if (from == node) return;
    note("cuts off", node, from, 0);
    world->nodes[node].cut[from] = true;
    mend_later(later(CUT_NSEC_MAX), node, from, heal);
    if (from == NODES_MAX || once_in(3)) return;
    world->nodes[from].cut[node] = true;
    mend_later(later(CUT_NSEC_MAX), from, node, heal);
}

/* One of the links that the node has, or -1. */
static int draw_link(int node) {
    int found = -1;
    unsigned count = 0;
    for (int i = 0; i < network->links_end; i++) {
        const struct link *l = &network->links[i];
        if (l->state != LINK_OPEN || (l->ends[0].node != node && l->ends[1].node != node)) continue;
        /* Those between nodes are few. */
        unsigned weight = l->ends[0].node == OUTSIDE ? 1 : 5;
        count += weight;
        if (draw(count) < weight) found = i;
    }
    return found;
}

static void reset_link(int node) {
    int link = draw_link(node);
    if (link >= 0) network_reset(link);
}

static void lose_link(int node) {
    int link = draw_link(node);
    if (link >= 0) network_lose(link);
}

static const struct {
    unsigned weight;
    void (*strike)(int node);
} rows[] = {
    {4, kill_node}, {4, cut_power},  {2, slow_down},
    {1, jump},      {3, cut_off},    {5, reset_link},
    {2, lose_link}, {2, fail_names}, {2, strike_at_rename},
};

static void strike(struct actor *a) {
    unsigned sum = 0, at;
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) sum += rows[i].weight;
    at = (unsigned)draw(sum);
    a->due_nsec = world->now_nsec + (int64_t)draw((uint64_t)every_nsec * 2);
    for (unsigned i = 0;; i++) {
        if (at < rows[i].weight) {
            rows[i].strike((int)draw((uint64_t)nodes_count()));
            return;
        }
        at -= rows[i].weight;
    }
}

void faults_start(int64_t every) {
    every_nsec = every;
    striker = (struct actor){.due_nsec = world->now_nsec + (int64_t)draw((uint64_t)every * 2),
                             .act = strike};
    scheduler_add(&striker);
    vulture = (struct actor){.due_nsec = NEVER, .is_ready = sees_rename, .act = strike_renamed};
    scheduler_add(&vulture);
    scheduler_set_end_observer(may_end);
}

void faults_end(void) {
    scheduler_remove(&striker);
    scheduler_remove(&vulture);
    for (int i = 0; i < MENDS_MAX; i++)
        if (mends[i].used) run_mend(&mends[i].actor);
    for (int node = 0; node < nodes_count(); node++) {
        waits_for_rename[node] = false;
        world->nodes[node].slow_disk = world->nodes[node].bad_names = false;
        for (int from = 0; from <= NODES_MAX; from++) world->nodes[node].cut[from] = false;
        if (!node_runs(node)) node_start(node);
    }
}
