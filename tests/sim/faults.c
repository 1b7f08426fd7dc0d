/* SPDX-License-Identifier: BSD-3-Clause
 * Faults. faults.h has the idea. Each is a row with a weight.
 */
#include "sim/faults.h"

#include "sim/headers.h"
#include "sim/load.h"
#include "sim/network.h"
#include "sim/scheduler.h"
#include "sim/switcher.h"
#include "sim/witness.h"
#include "sim/world.h"

#define DOWN_NSEC_MAX (4 * NSEC_PER_SEC)
#define CUT_NSEC_MAX (15 * NSEC_PER_SEC)
#define SLOW_NSEC_MAX (8 * NSEC_PER_SEC)
#define SOON_NSEC_MAX (20 * NSEC_PER_MSEC)
#define STOP_NSEC_MIN (NSEC_PER_SEC / 10)
#define STOP_NSEC_MAX (40 * NSEC_PER_SEC)
#define SHORT_NSEC_MAX (500 * NSEC_PER_MSEC)
#define FELLED_NSEC_MIN (2 * NSEC_PER_SEC)
#define FELLED_NSEC_MAX (12 * NSEC_PER_SEC)
#define PARTED_NSEC_MAX (6 * NSEC_PER_SEC)
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

static int64_t slow_until[NODES_MAX];

int64_t faults_slow_until(int node) { return slow_until[node]; }

static void speed_up(struct mend *m) {
    world->nodes[m->node].slow_disk = false;
    slow_until[m->node] = world->now_nsec;
}

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

/* ---- What strikes where Sentinels watch, or replicas elect ---- */

/* By the witness that reads the votes: of Sentinels, or of a cluster's nodes. */
static bool sentinels_watch, replicas_elect;

static unsigned votes_seen(void) { return replicas_elect ? headers_votes() : witness_votes(); }
static int voter_seen(void) { return replicas_elect ? headers_last_voter() : witness_last_voter(); }
static unsigned candidacies_seen(void) {
    return replicas_elect ? headers_candidacies() : witness_candidacies();
}
/* The primary; in a cluster the one with the newest epoch, or any other. */
static int primary_seen(void) {
    int64_t since_nsec;
    if (!replicas_elect) return witness_primary(&since_nsec);
    int node = (int)draw((uint64_t)nodes_count());
    if (chance(30)) return headers_newest_primary();
    for (int i = 0; i < nodes_count(); i++, node = (node + 1) % nodes_count())
        if (headers_is_primary(node)) return node;
    return node;
}
/* Of the file in which a node keeps its votes. */
static unsigned renames_seen_of(int node) {
    return replicas_elect ? world->nodes[node].view_renames : world->nodes[node].file_renames;
}
static bool keeps_votes(int node) { return replicas_elect || world->nodes[node].is_sentinel; }

static void go_on_again(struct mend *m) {
    world->nodes[m->node].stopped_nsec = 0;
    slow_until[m->node] = world->now_nsec;
}

static void stop_node(int node) {
    int64_t nsec = STOP_NSEC_MIN + draw_scale(STOP_NSEC_MAX);
    if (!node_runs(node)) return;
    node_stop(node, nsec);
    mend_later(world->now_nsec + nsec, node, 0, go_on_again);
}

static void heal(struct mend *m) {
    note("heals", m->node, m->from, 0);
    world->nodes[m->node].cut[m->from] = false;
}

static void let_in(struct mend *m) {
    note("lets in", m->node, 0, 0);
    for (int from = 0; from <= NODES_MAX; from++) world->nodes[m->node].cut[from] = false;
}

static void let_out(struct mend *m) {
    note("lets out", m->node, 0, 0);
    for (int to = 0; to < nodes_count(); to++) world->nodes[to].cut[m->node] = false;
}

/* Nothing comes to a node any more, or nothing from it, or both. */
static void isolate(int node) {
    unsigned way = (unsigned)draw(3);
    note("isolates", node, way, 0);
    if (way != 0) {
        for (int from = 0; from <= NODES_MAX; from++) world->nodes[node].cut[from] = from != node;
        mend_later(later(CUT_NSEC_MAX), node, 0, let_in);
    }
    if (way != 1) {
        for (int to = 0; to < nodes_count(); to++) world->nodes[to].cut[node] = to != node;
        mend_later(later(CUT_NSEC_MAX), node, 0, let_out);
    }
}

static void let_back(struct mend *m) {
    note("lets back", m->node, 0, 0);
    for (int other = 0; other < nodes_count(); other++)
        world->nodes[m->node].cut[other] = world->nodes[other].cut[m->node] = false;
}

/* No other node hears a node any more, nor it them; but clients do. */
static void maroon(int node) {
    note("maroons", node, 0, 0);
    for (int other = 0; other < nodes_count(); other++)
        if (other != node) world->nodes[node].cut[other] = world->nodes[other].cut[node] = true;
    mend_later(later(CUT_NSEC_MAX), node, 0, let_back);
}

static void mend_files(struct mend *m) { world->nodes[m->node].bad_files = false; }

/* A Sentinel's file cannot be written for a while. */
static void refuse_files(int node) {
    if (!world->nodes[node].is_sentinel) return;
    note("bad files", node, 0, 0);
    world->nodes[node].bad_files = true;
    mend_later(later(CUT_NSEC_MAX), node, 0, mend_files);
}

/* A Sentinel's machine is lost, and a new one takes its address. */
static void renew_node(int node) {
    if (!world->nodes[node].is_sentinel || !node_runs(node)) return;
    node_kill(node, true);
    node_renew(node);
    witness_note_renewed(node);
    mend_later(later(DOWN_NSEC_MAX), node, 0, start_again);
}

/* A Sentinel's power is cut, or it is killed, soon after its file has got its name, or after a vote
 * of its has come to another. */
static struct actor waylayer;
static unsigned renames_before[NODES_MAX], votes_before;
static bool waits_for_file[NODES_MAX], waits_for_vote;

static int struck_node(void) {
    if (waits_for_vote && votes_seen() != votes_before) return voter_seen();
    for (int node = 0; node < nodes_count(); node++)
        if (waits_for_file[node] && renames_seen_of(node) != renames_before[node]) return node;
    return -1;
}

static bool sees_node(const struct actor *a) { return a->due_nsec == NEVER && struck_node() >= 0; }

static void strike_waylaid(struct actor *a) {
    int node = struck_node();
    if (a->due_nsec == NEVER) {
        a->due_nsec = chance(30) ? world->now_nsec : later(SOON_NSEC_MAX);
        return;
    }
    a->due_nsec = NEVER;
    if (node < 0) return;
    waits_for_file[node] = waits_for_vote = false;
    if (!node_runs(node)) return;
    if (chance(40))
        node_kill(node, true);
    else
        node_cut_power(node);
    mend_later(later(SHORT_NSEC_MAX), node, 0, start_again);
}

static void strike_at_file(int node) {
    if (!keeps_votes(node)) return;
    renames_before[node] = renames_seen_of(node);
    waits_for_file[node] = true;
}

/* Now and then no Sentinel can write its file when it votes. */
static void strike_at_vote(int node) {
    votes_before = votes_seen();
    waits_for_vote = true;
    if (!once_in(4)) return;
    for (int sentinel = 0; sentinel < nodes_count(); sentinel++) refuse_files(sentinel);
}

/* Links between Sentinels, or nodes of a cluster, stand still, each way with an even chance, as
 * soon as one of them asks for votes: so several want to lead in one epoch, or in two that are
 * close. */
static struct actor parter;
static unsigned candidacies_before;
static bool waits_for_candidate;

static bool sees_candidate(const struct actor *a) {
    return waits_for_candidate && candidacies_seen() != candidacies_before;
}

static void part_sentinels(struct actor *a) {
    waits_for_candidate = false;
    note("parts", 0, 0, 0);
    for (int node = 0; node < nodes_count(); node++) {
        for (int from = 0; from < nodes_count(); from++) {
            if (from == node || !keeps_votes(node) || !keeps_votes(from)) continue;
            if (chance(50)) continue;
            world->nodes[node].cut[from] = true;
            mend_later(world->now_nsec + (int64_t)draw(PARTED_NSEC_MAX), node, from, heal);
        }
    }
}

static void strike_at_candidate(int node) {
    candidacies_before = candidacies_seen();
    waits_for_candidate = true;
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

/* The primary is down for long enough that Sentinels elect one of them, in which votes or links
 * between Sentinels are struck, too. */
static void fell_primary(int node) {
    int primary = primary_seen();
    if (!node_runs(primary)) return;
    if (chance(70)) strike_at_candidate(node);
    if (chance(40)) strike_at_vote(node);
    if (chance(50))
        node_kill(primary, true);
    else
        node_cut_power(primary);
    mend_later(world->now_nsec + FELLED_NSEC_MIN + (int64_t)draw(FELLED_NSEC_MAX), primary, 0,
               start_again);
}

static const struct {
    /* How often; where Sentinels watch; where replicas elect. */
    unsigned weight, with_sentinels, with_replicas;
    void (*strike)(int node);
} rows[] = {
    {4, 6, 5, kill_node},        {4, 6, 5, cut_power},
    {2, 2, 2, slow_down},        {1, 1, 0, jump},
    {3, 4, 4, cut_off},          {5, 4, 4, reset_link},
    {2, 2, 2, lose_link},        {2, 1, 1, fail_names},
    {2, 0, 1, strike_at_rename}, {0, 6, 5, stop_node},
    {0, 5, 5, isolate},          {0, 3, 0, refuse_files},
    {0, 2, 0, renew_node},       {0, 4, 4, strike_at_file},
    {0, 6, 6, strike_at_vote},   {0, 6, 6, strike_at_candidate},
    {0, 8, 8, fell_primary},     {0, 0, 5, maroon},
};

static unsigned weight_of(unsigned row) {
    return replicas_elect    ? rows[row].with_replicas
           : sentinels_watch ? rows[row].with_sentinels
                             : rows[row].weight;
}

/* Where others take a primary's place, often the primary: else it is struck too rarely. */
static int draw_node(void) {
    return (sentinels_watch || replicas_elect) && chance(30) ? primary_seen()
                                                             : (int)draw((uint64_t)nodes_count());
}

static void strike(struct actor *a) {
    unsigned sum = 0, at;
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) sum += weight_of(i);
    at = (unsigned)draw(sum);
    a->due_nsec = world->now_nsec + (int64_t)draw((uint64_t)every_nsec * 2);
    for (unsigned i = 0;; i++) {
        if (at < weight_of(i)) {
            rows[i].strike(draw_node());
            return;
        }
        at -= weight_of(i);
    }
}

void faults_expect_elections(void) { replicas_elect = true; }

void faults_start(int64_t every) {
    every_nsec = every;
    for (int node = 0; node < nodes_count(); node++)
        sentinels_watch = sentinels_watch || world->nodes[node].is_sentinel;
    waylayer = (struct actor){.due_nsec = NEVER, .is_ready = sees_node, .act = strike_waylaid};
    if (sentinels_watch || replicas_elect) scheduler_add(&waylayer);
    parter = (struct actor){.due_nsec = NEVER, .is_ready = sees_candidate, .act = part_sentinels};
    if (sentinels_watch || replicas_elect) scheduler_add(&parter);
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
    scheduler_remove(&waylayer);
    scheduler_remove(&parter);
    for (int i = 0; i < MENDS_MAX; i++)
        if (mends[i].used) run_mend(&mends[i].actor);
    for (int node = 0; node < nodes_count(); node++) {
        waits_for_rename[node] = false;
        world->nodes[node].slow_disk = world->nodes[node].bad_names = false;
        world->nodes[node].bad_files = false;
        for (int from = 0; from <= NODES_MAX; from++) world->nodes[node].cut[from] = false;
        if (!node_runs(node)) node_start(node);
    }
}
