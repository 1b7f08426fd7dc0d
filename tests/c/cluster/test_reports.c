/* SPDX-License-Identifier: BSD-3-Clause
 * What a node tells of its cluster, byte by byte: NODES, SLOTS, INFO, REPLICAS, over TLS and
 * without it, in RESP2 and RESP3; and INFO's fields.
 */
#include "cluster/reports.h"

#include "cluster/whole_node.h"

#define LINE_A NODE_A " 10.0.0.1:7001@17001 myself,master - 0 0 0 connected"

static struct cluster *c;
static struct cluster_node *b, *d;

/* Two primaries, and a replica of the second one. */
static int begin(void **state) {
    int status = node_begin(state);
    c = cluster_here();
    node_add_shard(&b, &d);
    b->address.plain_port = 6002;
    b->config_epoch = 4;
    cluster_slot_assign(c, 15, NULL);
    c->self->config_epoch = 0;
    return status;
}

/* A text as RESP2 has it. */
static void say_text(struct peer *p, const char *line, const char *text) {
    struct buffer reply;
    buffer_init(&reply, MEMORY_OTHER);
    buffer_printf(&reply, "$%zu\r\n%s\r\n", strlen(text), text);
    whole_say(p, line, reply.bytes);
    buffer_free(&reply);
}

/* A client whose bytes go through a transport, as those of a TLS connection do. */
static struct peer connect_carried(void) {
    int ends[2];
    char reason[128];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    struct peer p = {.fd = ends[1], .got = {.class = MEMORY_OTHER}, .masked = true};
    p.client = client_create(ends[0], &(struct socket_peer){.is_unix = true}, &masked_transport,
                             reason, sizeof(reason));
    assert_non_null(p.client);
    p.id = p.client->id;
    masked_smooth = true;
    assert_int_equal(write(p.fd, "hello---finish--", 16), 16);
    p.answer_left = MASKED_FLIGHT_CHARS;
    for (int i = 0; i < NODE_TURNS_MAX && !client_connection(p.client)->established; i++)
        loop_turn(peers_loop, 0);
    assert_true(client_connection(p.client)->established);
    return p;
}

static void test_nodes(void **state) {
    struct peer p = peer_connect(), carried = connect_carried();
    say_text(&p, "cluster nodes",
             LINE_A " 0-9\n" NODE_B
                    " 127.0.0.1:6002@17002 master - 0 0 4 disconnected 10-14 16-19\n" NODE_D
                    " 127.0.0.1:7004@17004 slave " NODE_B " 0 0 4 disconnected\n");
    say_text(&carried, "cluster nodes",
             LINE_A " 0-9\n" NODE_B
                    " 127.0.0.1:7002@17002 master - 0 0 4 disconnected 10-14 16-19\n" NODE_D
                    " 127.0.0.1:7004@17004 slave " NODE_B " 0 0 4 disconnected\n");
    peer_close(&carried);
    cluster_drop(c, d);
    cluster_drop(c, b);
    say_text(&p, "cluster nodes", LINE_A " 0-9\n");
    peer_send(&p, SLICE("hello 3\r\n"));
    buffer_clear(&p.got);
    struct buffer reply;
    buffer_init(&reply, MEMORY_OTHER);
    buffer_printf(&reply, "=%zu\r\ntxt:" LINE_A " 0-9\n\r\n", strlen(LINE_A " 0-9\n") + 4);
    whole_say(&p, "cluster nodes", reply.bytes);
    buffer_free(&reply);
    peer_close(&p);
}

/* A kept text is made again after each change, for both kinds of clients. */
static void test_nodes_after_changes(void **state) {
    struct peer p = peer_connect(), carried = connect_carried();
    cluster_drop(c, d);
    cluster_drop(c, b);
    for (unsigned slot = 100; slot < 103; slot++) {
        char text[256];
        cluster_slot_assign(c, slot, c->self);
        snprintf(text, sizeof(text), slot == 100 ? LINE_A " 0-9 100\n" : LINE_A " 0-9 100-%u\n",
                 slot);
        say_text(&p, "cluster nodes", text);
        say_text(&carried, "cluster nodes", text);
        say_text(&p, "cluster nodes", text);
    }
    peer_close(&carried);
    peer_close(&p);
}

static void test_replicas(void **state) {
    struct peer p = peer_connect();
    static const char line[] = NODE_D " 127.0.0.1:7004@17004 slave " NODE_B " 0 0 4 disconnected";
    char reply[256];
    snprintf(reply, sizeof(reply), "*1\r\n$%zu\r\n%s\r\n", strlen(line), line);
    whole_say(&p, "cluster replicas " NODE_B, reply);
    whole_say(&p, "cluster slaves " NODE_B, reply);
    whole_say(&p, "cluster replicas " NODE_A, "*0\r\n");
    whole_say(&p, "cluster replicas " NODE_D, "-ERR The specified node is not a master\r\n");
    whole_say(&p, "cluster replicas " NODE_C, "-ERR Unknown node " NODE_C "\r\n");
    peer_close(&p);
}

#define PLACE(host_bytes, host, port, id) \
    "*3\r\n$" #host_bytes "\r\n" host "\r\n:" #port "\r\n$40\r\n" id "\r\n"
#define OWN_RUN "*3\r\n:0\r\n:9\r\n" PLACE(8, "10.0.0.1", 7001, NODE_A)
#define COPY PLACE(9, "127.0.0.1", 7004, NODE_D)

static void test_slots(void **state) {
    struct peer p = peer_connect(), carried = connect_carried();
    whole_say(&p, "cluster slots",
              "*3\r\n" OWN_RUN "*4\r\n:10\r\n:14\r\n" PLACE(9, "127.0.0.1", 6002, NODE_B) COPY
              "*4\r\n:16\r\n:19\r\n" PLACE(9, "127.0.0.1", 6002, NODE_B) COPY);
    d->flags |= CLUSTER_NODE_FAILED; /* a failed replica is left out, a failed owner is not */
    b->flags |= CLUSTER_NODE_FAILED;
    cluster_slot_assign(c, 15, b);
    whole_say(&carried, "cluster slots",
              "*2\r\n" OWN_RUN "*3\r\n:10\r\n:19\r\n" PLACE(9, "127.0.0.1", 7002, NODE_B));
    peer_close(&carried);
    d->flags = CLUSTER_NODE_REPLICA | CLUSTER_NODE_SUSPECTED;
    cluster_slots_release(c, c->self);
    whole_say(&p, "cluster slots",
              "*1\r\n*4\r\n:10\r\n:19\r\n" PLACE(9, "127.0.0.1", 6002, NODE_B) COPY);
    cluster_slots_release(c, b);
    whole_say(&p, "cluster slots", "*0\r\n");
    cluster_slot_assign(c, KEY_SLOTS - 1, c->self);
    whole_say(&p, "cluster slots",
              "*1\r\n*3\r\n:16383\r\n:16383\r\n" PLACE(8, "10.0.0.1", 7001, NODE_A));
    peer_close(&p);
}

static void say_info(struct peer *p, const char *state, int assigned, int ok, int suspected,
                     int failed, int epoch) {
    char text[512];
    snprintf(text, sizeof(text),
             "cluster_state:%s\r\ncluster_slots_assigned:%d\r\ncluster_slots_ok:%d\r\n"
             "cluster_slots_pfail:%d\r\ncluster_slots_fail:%d\r\ncluster_known_nodes:3\r\n"
             "cluster_size:2\r\ncluster_current_epoch:7\r\ncluster_my_epoch:%d\r\n",
             state, assigned, ok, suspected, failed, epoch);
    buffer_clear(&p->got);
    peer_send(p, SLICE("cluster info\r\n"));
    const char *body = memchr(p->got.bytes, '\n', p->got.length);
    assert_non_null(body);
    if (strncmp(body + 1, text, strlen(text)) != 0) fail_msg("%s, not %s", body + 1, text);
    buffer_clear(&p->got);
}

static void test_info(void **state) {
    struct peer p = peer_connect();
    c->current_epoch = 7;
    c->self->config_epoch = 3;
    c->ok = false;
    say_info(&p, "fail", 19, 19, 0, 0, 3);
    c->ok = true;
    b->flags |= CLUSTER_NODE_SUSPECTED;
    say_info(&p, "ok", 19, 10, 9, 0, 3);
    b->flags = CLUSTER_NODE_PRIMARY | CLUSTER_NODE_FAILED;
    say_info(&p, "ok", 19, 10, 0, 9, 3);
    b->flags |= CLUSTER_NODE_SUSPECTED; /* failed counts */
    say_info(&p, "ok", 19, 10, 0, 9, 3);
    peer_close(&p);
}

static void test_info_of_a_replica(void **state) {
    struct peer p = peer_connect();
    c->current_epoch = 7;
    cluster_slots_release(c, c->self);
    scene_give(c, d, 0, 0);
    cluster_set_primary(c, d);
    scene_give(c, d, 0, 0);
    cluster_set_replica(c, c->self, b);
    c->ok = true;
    say_info(&p, "ok", 10, 10, 0, 0, 4); /* its primary's epoch */
    peer_close(&p);
}

static void test_fields(void **state) {
    struct peer p = peer_connect();
    peer_send(&p, SLICE("info clients\r\n"));
    buffer_append_char(&p.got, '\0');
    assert_non_null(strstr(p.got.bytes, "\r\ncluster_connections:4\r\n"));
    buffer_clear(&p.got);
    peer_send(&p, SLICE("info cluster\r\n"));
    buffer_append_char(&p.got, '\0');
    assert_non_null(strstr(p.got.bytes, "# Cluster\r\ncluster_enabled:1\r\n"));
    buffer_clear(&p.got);
    peer_close(&p);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, whole_nothing_left)
    const struct CMUnitTest tests[] = {
        TEST(test_nodes), TEST(test_nodes_after_changes), TEST(test_replicas), TEST(test_slots),
        TEST(test_info),  TEST(test_info_of_a_replica),   TEST(test_fields),
    };
    return cmocka_run_group_tests(tests, node_open, node_close);
}
