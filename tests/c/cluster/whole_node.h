/* SPDX-License-Identifier: BSD-3-Clause
 * The whole server as a node of a cluster (server/whole.h), with a nodes.conf in a folder of its
 * own. Other nodes are those that a test adds; nobody runs them.
 */
#ifndef EVENKEEL_TESTS_CLUSTER_WHOLE_NODE_H
#define EVENKEEL_TESTS_CLUSTER_WHOLE_NODE_H
#include <ftw.h>

#include "cluster/follow.h"
#include "cluster/service.h"
#include "server/whole.h"
#include "topology/cluster_scene.h"
#include "topology/epochs.h"

#define NODE_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define NODE_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define NODE_C "cccccccccccccccccccccccccccccccccccccccc"
#define NODE_D "dddddddddddddddddddddddddddddddddddddddd"
#define NODE_OK "+OK\r\n"
/* A primary that starts, or comes from a minority, says for so long that the cluster is down. */
#define NODE_WAITS_MSEC 6000
#define NODE_TURNS_MAX 100000 /* of a fifth of a millisecond */

static char node_folder[64];

static inline int node_remove_one(const char *path, const struct stat *about, int kind,
                                  struct FTW *ftw) {
    return remove(path);
}

/* For the setup of a group: the node's id has the digit 'a', and it owns nothing. */
static inline int node_open(void **state) {
    struct buffer error = {.class = MEMORY_OTHER};
    seed_from_environment();
    signal(SIGPIPE, SIG_IGN);
    whole_set_clock();
    snprintf(node_folder, sizeof(node_folder), "/tmp/cluster_node.XXXXXX");
    assert_non_null(mkdtemp(node_folder));
    assert_int_equal(chdir(node_folder), 0);
    mode_register(&mode_server);
    assert_true(option_load_text(SLICE("cluster-enabled yes\ncluster-announce-ip 10.0.0.1\n"
                                       "cluster-announce-port 7001\n"
                                       "cluster-announce-bus-port 17001\n"
                                       "cluster-require-full-coverage no\n"),
                                 OPTION_FROM_FILE, &error));
    peers_loop = loop_create();
    if (!mode_open(&mode_server, peers_loop)) return -1;
    struct cluster_id id = scene_id('a');
    assert_true(cluster_rename(cluster_here(), cluster_here()->self, &id));
    struct peer p = peer_connect(); /* what the first client of all leaves is no test's */
    whole_say(&p, "cluster saveconfig", NODE_OK);
    whole_say(&p, "eval \"return 1\" 0", ":1\r\n");
    peer_close(&p);
    peers_turns();
    peers_clients_bytes = peers_bytes_now();
    return 0;
}

static inline int node_close(void **state) {
    cluster_service_close();
    return chdir("/") + nftw(node_folder, node_remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* Before each test: a primary without slots that knows nobody, at epoch 0. */
static inline int node_begin(void **state) {
    struct cluster *c = cluster_here();
    whole_begin(state);
    cluster_slots_close(c);
    cluster_set_primary(c, c->self);
    cluster_follow();
    for (size_t i = c->count; i-- > 0;)
        if (c->nodes[i] != c->self) cluster_drop(c, c->nodes[i]);
    cluster_slots_release(c, c->self);
    c->current_epoch = c->self->config_epoch = 0;
    return 0;
}

/* Another primary `b` that owns 10 to 19, its replica `d`, and 0 to 9 for this one. */
static inline void node_add_shard(struct cluster_node **b, struct cluster_node **d) {
    struct cluster *c = cluster_here();
    *b = scene_add(c, 'b', CLUSTER_NODE_PRIMARY);
    *d = scene_add(c, 'd', CLUSTER_NODE_REPLICA);
    cluster_set_replica(c, *d, *b);
    scene_give(c, c->self, 0, 9);
    scene_give(c, *b, 10, 19);
}

/* This primary owns slots, and waits until it may say that the cluster is ok. */
static inline void node_own(unsigned first, unsigned last) {
    struct cluster *c = cluster_here();
    scene_give(c, c->self, first, last);
    for (int msec = 0; msec < NODE_WAITS_MSEC; msec += CLUSTER_TICK_MSEC * 5)
        whole_pass(CLUSTER_TICK_MSEC * 5);
    assert_true(c->ok);
}

/* Sends a request whose reply may wait for the disk; the reply, which ends with a NUL, is in
 * `p->got`. */
static inline void node_say_any(struct peer *p, const char *line) {
    peer_send(p, slice_of(line));
    peer_send(p, SLICE("\r\n"));
    for (int i = 0; p->got.length == 0 && i < NODE_TURNS_MAX; i++) {
        peers_turns();
        peer_receive(p, SIZE_MAX);
        usleep(200);
    }
    buffer_append_char(&p->got, '\0');
    p->got.length--;
}

/* Sends such a request; this is what it is answered. */
static inline void node_say(struct peer *p, const char *line, const char *reply) {
    node_say_any(p, line);
    peer_assert_got(p, slice_of(reply));
}
#endif
