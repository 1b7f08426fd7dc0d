/* SPDX-License-Identifier: BSD-3-Clause
 * What happens in a run.
 *
 *   begin -> load and faults -> all is mended, the load ends -> what must hold at rest
 */
#include "sim/scenario.h"

#include <stdarg.h>
#include <stdio.h>

#include "sim/faults.h"
#include "sim/headers.h"
#include "sim/history.h"
#include "sim/keeper.h"
#include "sim/load.h"
#include "sim/network.h"
#include "sim/operator.h"
#include "sim/player.h"
#include "sim/reshard.h"
#include "sim/roam.h"
#include "sim/scheduler.h"
#include "sim/slots.h"
#include "sim/strangers.h"
#include "sim/switcher.h"
#include "sim/watchers.h"
#include "sim/witness.h"
#include "sim/world.h"

/* The load ends by whichever comes first. */
#define LOAD_NSEC_MIN (2 * NSEC_PER_SEC)
#define LOAD_NSEC_MORE (20 * NSEC_PER_SEC)
#define LOAD_REPLIES_MIN 300
#define LOAD_REPLIES_MORE 6000
#define REST_NSEC (120 * NSEC_PER_SEC)
/* A link that was lost may be noticed as late as that, and then there is a full sync. */
#define EQUAL_NSEC (400 * NSEC_PER_SEC)
#define OPTION_BYTES 64
#define WATCHED_NSEC_MIN (20 * NSEC_PER_SEC)
#define WATCHED_NSEC_MORE (100 * NSEC_PER_SEC)
#define MOVED_NSEC_MIN (10 * NSEC_PER_SEC)
#define MOVED_NSEC_MORE (50 * NSEC_PER_SEC)
#define NODE_TIMEOUT_MSEC 3000
#define ELECTED_NSEC_MIN (20 * NSEC_PER_SEC)
#define ELECTED_NSEC_MORE (80 * NSEC_PER_SEC)

static int sentinels; /* the last so many nodes; 0: an operator promotes */

/* As arguments; where Sentinels watch, in a file, which the server rewrites when its role changes.
 */
static void __attribute__((format(printf, 2, 3))) add_option(int node, const char *format, ...) {
    char text[OPTION_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    if (sentinels) {
        node_add_line(node, text);
        return;
    }
    char *value = text;
    while (*value && *value != ' ') value++;
    if (*value) *value++ = '\0';
    char name[OPTION_BYTES + 2];
    snprintf(name, sizeof(name), "--%s", text);
    node_add_argument(node, name);
    node_add_argument(node, value);
}

static bool logs_always;            /* in this run */
static int64_t switches_every_nsec; /* logs are switched on and off; 0: never */

static void set_options(int node) {
    add_option(node, "port %d", network_port(node));
    add_option(node, "protected-mode no");
    add_option(node, "always-show-logo no");
    add_option(node, "save %s", chance(50) ? sentinels ? "\"\"" : "" : "3 20");
    bool logs = logs_always || chance(40);
    add_option(node, "appendonly %s", logs ? "yes" : "no");
    add_option(node, "appendfsync %s", logs_always ? "always" : chance(50) ? "everysec" : "no");
    if (!sentinels) switcher_start(node, switches_every_nsec, logs, logs_always);
    add_option(node, "auto-aof-rewrite-percentage %d", once_in(3) ? 0 : 50);
    add_option(node, "auto-aof-rewrite-min-size %d", 4096 << draw(5));
    add_option(node, "aof-use-rdb-preamble %s", chance(70) ? "yes" : "no");
    add_option(node, "snapshot-method %s", chance(60) ? "walk" : "fork");
    add_option(node, "snapshot-cpu-budget %d", (int)draw_scale(100));
    add_option(node, "lazyfree-lazy-user-del %s", chance(50) ? "yes" : "no");
    add_option(node, "hz %d", (int)draw_scale(40));
    add_option(node, "repl-backlog-size %d", 16384 << draw(6));
    add_option(node, "repl-diskless-sync %s", chance(60) ? "yes" : "no");
    add_option(node, "repl-diskless-sync-delay %d", (int)draw(3));
    add_option(node, "repl-ping-replica-period %d", 1 + (int)draw(5));
    add_option(node, "repl-timeout %d", 8 + (int)draw(20));
    if (once_in(3)) {
        add_option(node, "maxmemory %d", 1500000 + (int)draw(1000000));
        add_option(node, "maxmemory-policy volatile-%s", chance(50) ? "lru" : "ttl");
    }
}

static uint64_t replies_wanted;

static bool has_replies(void) { return load_replies() >= replies_wanted; }

/* What Sentinels say, too, where they watch. */
static void see(int link, int end, const uint8_t *bytes, size_t length) {
    int from = network->links[link].ends[0].node, to = network->links[link].ends[1].node;
    if (world->nodes[to].is_sentinel || (from != OUTSIDE && world->nodes[from].is_sentinel))
        witness_see(link, end, bytes, length);
    else
        history_see(link, end, bytes, length);
}

static void set_up_watched(void) {
    int servers = nodes_count() - sentinels;
    const struct load_options load = {.clients = 1 + (int)draw(3),
                                      .pause_nsec = 200 * NSEC_PER_MSEC,
                                      .least_nsec = 100 * NSEC_PER_MSEC,
                                      .rest_permille = 300 + (unsigned)draw(600)};
    scheduler_set_observer(see);
    watchers_make(servers);
    for (int node = 0; node < servers; node++) {
        node_use_file(node, "redis-server");
        set_options(node);
        if (node) add_option(node, "replicaof 10.0.0.1 %d", network_port(0));
    }
    for (int node = 0; node < nodes_count(); node++) node_start(node);
    load_start(&load, 0);
    watchers_start();
    faults_start(NSEC_PER_SEC + draw_scale(8 * NSEC_PER_SEC));
}

static void set_up(void) {
    const struct load_options load = {.clients = 1 + (int)draw(5),
                                      .pause_nsec = draw_scale(100 * NSEC_PER_MSEC),
                                      .waits = nodes_count() > 1,
                                      .rest_permille = 300 + (unsigned)draw(600)};
    bool promotes = nodes_count() > 1 && chance(80);
    scheduler_set_observer(history_see);
    logs_always = nodes_count() == 1 || chance(40);
    switches_every_nsec = chance(60) ? NSEC_PER_SEC / 10 + draw_scale(3 * NSEC_PER_SEC) : 0;
    for (int node = 0; node < nodes_count(); node++) {
        set_options(node);
        node_start(node);
    }
    load_start(&load, 0);
    if (nodes_count() > 1)
        operator_start(promotes ? NSEC_PER_SEC + draw_scale(10 * NSEC_PER_SEC) : 0);
    if (!promotes && logs_always) load_expect_durable(0);
    if (chance(nodes_count() > 1 ? 20 : 60)) player_start(NODES_MAX - 1, 0);
    if (chance(30)) player_start(NODES_MAX - 2, 0);
    faults_start(NSEC_PER_SEC / 4 + draw_scale(4 * NSEC_PER_SEC));
}

/* All nodes have the same data, and the primary what was promised. */
static void look_at_rest(void) {
    char text[256];
    operator_settle();
    int64_t end_nsec = world->now_nsec + EQUAL_NSEC;
    if (!scheduler_run(end_nsec, operator_sees_equal)) return;
    if (!operator_sees_equal()) {
        operator_describe(text, sizeof(text));
        find("not equal long after the last fault: %s", text);
        return;
    }
    load_ask_promised(operator_primary());
    if (!scheduler_run(world->now_nsec + REST_NSEC, load_has_asked)) return;
    if (!load_has_asked()) find("the primary does not say what it has");
}

/* The Sentinels agree in time, and the servers have the same data then. */
static void look_at_watched(void) {
    char text[480];
    watchers_settle();
    if (!scheduler_run(world->now_nsec + watchers_agree_nsec(), watchers_agree)) return;
    if (!watchers_agree()) {
        watchers_describe(text, sizeof(text));
        find("the Sentinels do not agree long after the last fault: %s", text);
        return;
    }
    watchers_compare();
    if (!scheduler_run(world->now_nsec + EQUAL_NSEC, watchers_see_equal)) return;
    if (!watchers_see_equal()) {
        watchers_describe(text, sizeof(text));
        find("not equal long after the last fault: %s", text);
    }
}

/* A failover takes seconds, so time and not the load ends such a run. */
static void run_watched(void) {
    set_up_watched();
    int64_t end_nsec =
        world->now_nsec + WATCHED_NSEC_MIN + (int64_t)draw((uint64_t)WATCHED_NSEC_MORE);
    if (!scheduler_run(end_nsec, NULL)) return;
    faults_end();
    load_stop();
    if (!scheduler_run(world->now_nsec + REST_NSEC, load_rests)) return;
    if (load_rests())
        look_at_watched();
    else
        find("clients still await replies long after the last fault");
}

/* ---- Nodes of a cluster ---- */

static void set_up_cluster(void) {
    slots_write_files();
    logs_always = true;
    for (int node = 0; node < nodes_count(); node++) {
        set_options(node);
        add_option(node, "cluster-enabled yes");
        add_option(node, "cluster-node-timeout %d", NODE_TIMEOUT_MSEC);
        node_start(node);
    }
    roam_start(1 + (int)draw(ROAMERS_MAX), 20 * NSEC_PER_MSEC + draw_scale(400 * NSEC_PER_MSEC));
    reshard_start(NSEC_PER_SEC / 10 + draw_scale(2 * NSEC_PER_SEC));
    faults_start(NSEC_PER_SEC / 2 + draw_scale(8 * NSEC_PER_SEC));
}

/* Each key is at one node, and no increment is lost. */
static void look_at_slots(void) {
    char text[400];
    if (!scheduler_run(world->now_nsec + EQUAL_NSEC, reshard_rests)) return;
    if (!reshard_rests()) {
        reshard_describe(text, sizeof(text));
        find("slots are open long after the last fault: %s", text);
        return;
    }
    reshard_read_keys();
    if (!scheduler_run(world->now_nsec + REST_NSEC, reshard_has_read)) return;
    if (reshard_has_read())
        roam_look_at_missing();
    else
        find("the nodes do not say what they have");
}

static void run_cluster(void) {
    set_up_cluster();
    int64_t end_nsec = world->now_nsec + MOVED_NSEC_MIN + (int64_t)draw((uint64_t)MOVED_NSEC_MORE);
    if (!scheduler_run(end_nsec, NULL)) return;
    faults_end();
    switcher_end();
    roam_stop();
    reshard_settle(); /* some answers are TRYAGAIN until a slot is closed */
    if (!scheduler_run(world->now_nsec + EQUAL_NSEC, roam_rests)) return;
    if (roam_rests())
        look_at_slots();
    else
        find("clients still await answers long after the last fault");
}

/* ---- Nodes of a cluster with replicas ---- */

static int64_t node_timeout_msec;
static bool has_strangers;

/* What nodes say over the bus, and what replicas are sent. */
static void see_elections(int link, int end, const uint8_t *bytes, size_t length) {
    if (network->links[link].ends[0].node == OUTSIDE)
        roam_note_sent(link, network_seen_sent_nsec());
    else if (network->links[link].ends[1].port > NETWORK_BUS_PORTS_ABOVE)
        headers_see(link, end, bytes, length);
    else
        history_see(link, end, bytes, length);
}

static void set_up_elections(void) {
    slots_write_files();
    logs_always = true;
    node_timeout_msec = NODE_TIMEOUT_MSEC / 3 * (1 + (int64_t)draw(3));
    bool moves = chance(60), fails_over = chance(60);
    scheduler_set_observer(see_elections);
    scheduler_set_start_observer(headers_look_at_file);
    headers_open(slots_shards(), node_timeout_msec * NSEC_PER_MSEC);
    for (int node = 0; node < nodes_count(); node++) {
        set_options(node);
        add_option(node, "cluster-enabled yes");
        add_option(node, "cluster-node-timeout %d", (int)node_timeout_msec);
        node_start(node);
    }
    roam_use_wait();
    roam_start(1 + (int)draw(ROAMERS_MAX), 20 * NSEC_PER_MSEC + draw_scale(400 * NSEC_PER_MSEC));
    reshard_trust_nodes(keeper_has);
    reshard_start(moves ? NSEC_PER_SEC / 2 + draw_scale(4 * NSEC_PER_SEC) : NEVER / 4);
    keeper_start(fails_over ? 4 * NSEC_PER_SEC + draw_scale(16 * NSEC_PER_SEC) : 0);
    has_strangers = chance(30);
    if (has_strangers) strangers_start(NSEC_PER_SEC / 4 + draw_scale(4 * NSEC_PER_SEC));
    faults_expect_elections();
    faults_start(3 * NSEC_PER_SEC + draw_scale(12 * NSEC_PER_SEC));
}

/* So long nodes may take until they agree after the last fault: until failures are seen and
 * forgotten, and an election or two have failed. */
static int64_t agree_nsec(void) {
    int64_t election_msec = 2 * node_timeout_msec > 2000 ? 2 * node_timeout_msec : 2000;
    return (4 * node_timeout_msec + 10000 + 4 * election_msec) * NSEC_PER_MSEC;
}

static bool elections_rest(int64_t within_nsec, bool only_roles) {
    bool (*seen)(void) = only_roles ? keeper_sees_roles : keeper_sees_equal;
    char text[400];
    if (!scheduler_run(world->now_nsec + within_nsec, seen)) return false;
    if (seen()) return true;
    keeper_describe(text, sizeof(text), only_roles);
    find("nodes do not agree long after the last fault: %s", text);
    return false;
}

static void run_elections(void) {
    set_up_elections();
    int64_t end_nsec =
        world->now_nsec + ELECTED_NSEC_MIN + (int64_t)draw((uint64_t)ELECTED_NSEC_MORE);
    if (!scheduler_run(end_nsec, NULL)) return;
    faults_end();
    switcher_end();
    if (has_strangers) strangers_end();
    roam_stop();
    reshard_settle();
    keeper_settle();
    if (!elections_rest(agree_nsec(), true)) return;
    if (!scheduler_run(world->now_nsec + EQUAL_NSEC, roam_rests)) return;
    if (!roam_rests()) find("clients still await answers long after the last fault");
    look_at_slots();
    if (!world->finding[0]) (void)elections_rest(EQUAL_NSEC, false);
}

void scenario_run(int sentinels_count, bool in_cluster) {
    sentinels = sentinels_count;
    if (in_cluster && slots_shards() < nodes_count()) {
        run_elections();
        return;
    }
    if (in_cluster) {
        run_cluster();
        return;
    }
    if (sentinels) {
        run_watched();
        return;
    }
    set_up();
    int64_t end_nsec = world->now_nsec + LOAD_NSEC_MIN + (int64_t)draw((uint64_t)LOAD_NSEC_MORE);
    replies_wanted = LOAD_REPLIES_MIN + draw(LOAD_REPLIES_MORE);
    if (!scheduler_run(end_nsec, has_replies)) return;
    faults_end();
    switcher_end();
    load_stop();
    end_nsec = world->now_nsec + REST_NSEC;
    if (!scheduler_run(end_nsec, load_rests)) return;
    if (!load_rests()) {
        find("clients still await replies long after the last fault");
        return;
    }
    if (nodes_count() > 1) look_at_rest();
}
