/* SPDX-License-Identifier: BSD-3-Clause
 * What this node says: its header as a primary and as a replica, whom it tells of whom, who gets
 * each message.
 */
#include "bus/compose.h"

#include "bus/bus_scene.h"

static void ignore_connected(struct cluster_link *link) {}
static void ignore_received(struct cluster_link *link, const struct cluster_message *m) {}

static const struct cluster_bus_hooks hooks = {.transport = scene_transport,
                                               .sendbuf_limit = scene_sendbuf_limit,
                                               .connected = ignore_connected,
                                               .received = ignore_received};

static struct cluster_own_facts facts;
static void give_facts(struct cluster_own_facts *out) { *out = facts; }

/* The nodes a and b, which are linked to the test's sockets. */
static struct cluster_node *a, *b;
static int fd_a, fd_b;
static struct buffer bytes;
static struct cluster_message m;

static int begin_scene(void **state) {
    scene_open(&hooks);
    facts = (struct cluster_own_facts){0};
    cluster_compose_set_facts(give_facts);
    a = scene_add_peer('a', CLUSTER_NODE_PRIMARY);
    cluster_link_open(a);
    fd_a = scene_accept(a);
    b = scene_add_peer('b', CLUSTER_NODE_PRIMARY);
    cluster_link_open(b);
    fd_b = scene_accept(b);
    buffer_init(&bytes, MEMORY_OTHER);
    return 0;
}

static int end_scene(void **state) {
    buffer_free(&bytes);
    close(fd_a);
    close(fd_b);
    scene_close();
    return 0;
}

static void test_header(void **state) {
    scene_give(scene, scene->self, 5, 9);
    snprintf(scene->self->address.host, sizeof(scene->self->address.host), "10.0.0.1");
    scene->self->address.port = 7000;
    scene->self->address.bus_port = 17000;
    scene->self->address.plain_port = 6999;
    facts = (struct cluster_own_facts){.offset = 77, .marks = CLUSTER_MARK_PAUSED};
    cluster_say_ping(scene, a->link, CLUSTER_PING);
    scene_read(fd_a, &bytes, &m);
    assert_int_equal(m.type, CLUSTER_PING);
    assert_string_equal(m.sender.text, scene_id('5').text);
    assert_string_equal(m.primary.text, "");
    assert_string_equal(m.address.host, ""); /* found out, not announced */
    assert_int_equal(m.address.port, 7000);
    assert_int_equal(m.address.bus_port, 17000);
    assert_int_equal(m.address.plain_port, 6999);
    assert_int_equal(m.offset, 77);
    assert_int_equal(m.marks, CLUSTER_MARK_PAUSED);
    assert_int_equal(m.flags, CLUSTER_NODE_PRIMARY);
    assert_true(m.fails);
    for (unsigned slot = 0; slot < 20; slot++)
        assert_int_equal(cluster_bitmap_has(m.slots, slot), slot >= 5 && slot <= 9);
    assert_true(a->ping_sent_msec > 0);
    scene->announces_host = scene->ok = true;
    a->ping_sent_msec = 5;
    cluster_say_ping(scene, a->link, CLUSTER_MEET);
    scene_read(fd_a, &bytes, &m);
    assert_string_equal(m.address.host, "10.0.0.1");
    assert_false(m.fails);
    assert_int_equal(a->ping_sent_msec, 5); /* the pending one stays */
}

static void test_header_of_a_replica(void **state) {
    scene_give(scene, a, 5, 9);
    cluster_set_replica(scene, scene->self, a);
    cluster_say_ping(scene, a->link, CLUSTER_PONG);
    scene_read(fd_a, &bytes, &m);
    assert_int_equal(m.flags, CLUSTER_NODE_REPLICA);
    assert_string_equal(m.primary.text, a->id.text);
    assert_true(cluster_bitmap_has(m.slots, 5));
    assert_int_equal(a->ping_sent_msec, 0);
}

/* Of all suspected ones, and of three others at least; not of itself, nor of handshakes. */
static void test_gossip(void **state) {
    static const char digits[] = "0123467cdef";
    unsigned drawn = 0;
    for (const char *d = digits; *d; d++)
        scene_give(scene, scene_add(scene, *d, CLUSTER_NODE_PRIMARY), (unsigned)*d, (unsigned)*d);
    scene_find(scene, '0')->flags |= CLUSTER_NODE_HANDSHAKE;
    scene_find(scene, '1')->flags |= CLUSTER_NODE_NO_ADDRESS;
    scene_find(scene, '2')->flags |= CLUSTER_NODE_SUSPECTED;
    scene_find(scene, '3')->flags |= CLUSTER_NODE_SUSPECTED;
    for (int round = 0; round < 50; round++) {
        unsigned suspected = 0;
        cluster_say_ping(scene, b->link, CLUSTER_PONG);
        scene_read(fd_b, &bytes, &m);
        assert_true(m.entry_count >= 2 && m.entry_count <= 5);
        for (unsigned i = 0; i < m.entry_count; i++) {
            struct cluster_entry entry;
            cluster_message_entry(&m, i, &entry);
            assert_null(strchr("015", entry.id.text[0]));
            suspected += (entry.flags & CLUSTER_NODE_SUSPECTED) != 0;
        }
        assert_int_equal(suspected, 2);
        drawn += m.entry_count - suspected;
    }
    assert_true(drawn > 100);
}

static void test_small_cluster_tells_no_more_than_there_is(void **state) {
    cluster_say_ping(scene, a->link, CLUSTER_PONG);
    scene_read(fd_a, &bytes, &m);
    assert_true(m.entry_count <= 1);
}

static void test_who_gets_what(void **state) {
    struct cluster_node *unlinked = scene_add(scene, 'c', CLUSTER_NODE_PRIMARY);
    scene_give(scene, a, 0, 0);
    cluster_say_fail(scene, unlinked);
    cluster_say_auth_request(scene, true);
    assert_int_equal(cluster_say_publish(scene, SLICE("news"), SLICE("text")), 2);
    cluster_say_pong_to_all(scene);
    for (int i = 0; i < 2; i++) {
        int fd = i ? fd_b : fd_a;
        scene_read(fd, &bytes, &m);
        assert_int_equal(m.type, CLUSTER_FAIL);
        assert_string_equal(m.about.text, unlinked->id.text);
        scene_read(fd, &bytes, &m);
        assert_int_equal(m.type, CLUSTER_AUTH_REQUEST);
        assert_int_equal(m.marks, CLUSTER_MARK_FORCE_ACK);
        scene_read(fd, &bytes, &m);
        assert_int_equal(m.type, CLUSTER_PUBLISH);
        assert_memory_equal(m.channel.bytes, "news", 4);
        assert_memory_equal(m.text.bytes, "text", 4);
        scene_read(fd, &bytes, &m);
        assert_int_equal(m.type, CLUSTER_PONG);
    }
    cluster_say_auth_ack(scene, a, 0);
    cluster_say_mfstart(scene, a);
    cluster_say_update(scene, a->link, a);
    cluster_say_auth_ack(scene, unlinked, 0);
    cluster_say_mfstart(scene, unlinked);
    scene_read(fd_a, &bytes, &m);
    assert_int_equal(m.type, CLUSTER_AUTH_ACK);
    scene_read(fd_a, &bytes, &m);
    assert_int_equal(m.type, CLUSTER_MFSTART);
    scene_read(fd_a, &bytes, &m);
    assert_int_equal(m.type, CLUSTER_UPDATE);
    assert_string_equal(m.about.text, a->id.text);
    assert_true(cluster_bitmap_has(m.about_slots, 0));
    /* A shard is a primary and its replicas. */
    cluster_set_replica(scene, scene->self, a);
    cluster_set_replica(scene, unlinked, a);
    cluster_say_pong_to_shard(scene);
    cluster_say_publish(scene, SLICE(""), SLICE(""));
    scene_read(fd_a, &bytes, &m);
    assert_int_equal(m.type, CLUSTER_PONG);
    scene_read(fd_b, &bytes, &m);
    assert_int_equal(m.type, CLUSTER_PUBLISH);
}

/* Other nodes would close the links over which it came. */
static void test_long_message_stays_here(void **state) {
    const struct slice text = {"x", CLUSTER_TEXTS_BYTES_MAX}, longer = {"x", SIZE_MAX / 2};
    uint64_t sent = cluster_bus_counts()->sent[CLUSTER_PUBLISH];
    assert_int_equal(cluster_say_publish(scene, SLICE("c"), text), 0);
    assert_int_equal(cluster_say_publish(scene, longer, SLICE("")), 0);
    assert_int_equal(cluster_say_publish(scene, longer, longer), 0);
    assert_int_equal(cluster_bus_counts()->sent[CLUSTER_PUBLISH], sent);
}

/* All are told, and the former owner is asked: the answer to this PING, of those that are open, is
 * the one that counts. */
static void test_taken(void **state) {
    struct cluster_node *unlinked = scene_add(scene, 'c', CLUSTER_NODE_PRIMARY);
    cluster_say_ping(scene, a->link, CLUSTER_PING);
    cluster_say_taken(scene, a);
    assert_int_equal(a->pings_open, 2);
    assert_int_equal(a->confirms_after, 2);
    scene_read(fd_a, &bytes, &m);
    scene_read(fd_a, &bytes, &m);
    assert_int_equal(m.type, CLUSTER_PONG);
    scene_read(fd_a, &bytes, &m);
    assert_int_equal(m.type, CLUSTER_PING);
    scene_read(fd_b, &bytes, &m);
    assert_int_equal(m.type, CLUSTER_PONG);
    assert_int_equal(b->pings_open, 0);
    cluster_link_close(a->link);
    assert_int_equal(a->pings_open, 0);
    assert_int_equal(a->confirms_after, 0);
    cluster_say_taken(scene, unlinked);
    assert_int_equal(unlinked->confirms_after, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin_scene, end_scene)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_header),        TEST(test_header_of_a_replica),
        TEST(test_gossip),        TEST(test_small_cluster_tells_no_more_than_there_is),
        TEST(test_who_gets_what), TEST(test_long_message_stays_here),
        TEST(test_taken),
    };
    return cmocka_run_group_tests(tests, scene_register, NULL);
}
