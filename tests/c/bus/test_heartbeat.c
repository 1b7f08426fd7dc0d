/* SPDX-License-Identifier: BSD-3-Clause
 * The tick: links that open, MEET and PING, links that are closed because nothing comes, silence
 * that makes suspicious, handshakes that end, ticks that come late.
 */
#include "bus/heartbeat.h"

#include "bus/bus_scene.h"
#include "bus/meet.h"
#include "topology/failure.h"

#define TIMEOUT 2000

static void ignore_received(struct cluster_link *link, const struct cluster_message *m) {}

static const struct cluster_bus_hooks hooks = {.transport = scene_transport,
                                               .sendbuf_limit = scene_sendbuf_limit,
                                               .connected = cluster_heartbeat_connected,
                                               .received = ignore_received};
static struct buffer bytes;
static struct cluster_message m;
static int64_t now;

static int begin_scene(void **state) {
    scene_open(&hooks);
    cluster_heartbeat_open(scene);
    buffer_init(&bytes, MEMORY_OTHER);
    now = clock_wall_msec();
    return 0;
}

static int end_scene(void **state) {
    buffer_free(&bytes);
    scene_close();
    return 0;
}

static void tick(int64_t at_msec, int64_t late_msec) {
    cluster_heartbeat_tick(scene, at_msec, late_msec, TIMEOUT);
}

static void test_connects_and_pings(void **state) {
    struct cluster_node *a = scene_add_peer('a', CLUSTER_NODE_PRIMARY);
    tick(now, 0);
    assert_non_null(a->link);
    assert_int_equal(a->ping_sent_msec, now); /* its silence counts from here on */
    int fd = scene_accept(a);
    scene_read(fd, &bytes, &m);
    assert_int_equal(m.type, CLUSTER_PING);
    assert_int_equal(a->ping_sent_msec, now);
    a->ping_sent_msec = 0;
    a->pong_received_msec = a->data_received_msec = now;
    tick(now + TIMEOUT / 4, 0);
    assert_int_equal(a->ping_sent_msec, 0);
    tick(now + TIMEOUT / 4 + 1, 0);
    assert_true(a->ping_sent_msec > 0);
    scene_read(fd, &bytes, &m);
    assert_int_equal(m.type, CLUSTER_PING);
    close(fd);
}

/* In a cluster of more than 16 nodes a ping is due later. */
static void test_large_clusters_ping_less(void **state) {
    struct cluster_node *b = scene_add_peer('b', CLUSTER_NODE_PRIMARY);
    for (unsigned i = 0; scene->count < 17; i++) {
        struct cluster_id id = scene_id('c');
        id.text[0] = "0123456789abcdef"[i];
        assert_non_null(cluster_add(scene, &id, CLUSTER_NODE_PRIMARY));
    }
    tick(now, 0);
    int fd = scene_accept(b);
    b->ping_sent_msec = 0;
    b->pong_received_msec = b->data_received_msec = now;
    tick(now + TIMEOUT / 4 + 1, 0);
    tick(now + TIMEOUT / 2, 0);
    assert_int_equal(b->ping_sent_msec, 0);
    tick(now + TIMEOUT / 2 + 1, 0);
    assert_true(b->ping_sent_msec > 0);
    close(fd);
}

static void test_meets_until_it_is_answered(void **state) {
    struct cluster_node *a = scene_add_peer('a', CLUSTER_NODE_HANDSHAKE | CLUSTER_NODE_MEET);
    for (int times = 0; times < 2; times++) {
        tick(now, 0);
        int fd = scene_accept(a);
        scene_read(fd, &bytes, &m);
        assert_int_equal(m.type, CLUSTER_MEET);
        close(fd);
        SCENE_UNTIL(!a->link);
    }
    a->created_msec = now - TIMEOUT;
    tick(now, 0);
    assert_int_equal(scene->count, 2);
    tick(now + 1, 0);
    assert_int_equal(scene->count, 1);
}

static void test_without_an_address(void **state) {
    struct cluster_node *a = scene_add_peer('a', CLUSTER_NODE_PRIMARY);
    a->address.host[0] = '\0';
    tick(now, 0);
    assert_null(a->link);
    assert_int_equal(a->ping_sent_msec, 0);
}

static void test_stuck_link(void **state) {
    struct cluster_node *a = scene_add_peer('a', CLUSTER_NODE_PRIMARY);
    tick(now, 0);
    int fd = scene_accept(a);
    const struct cluster_link *link = a->link;
    int64_t later = now + TIMEOUT + 500;
    a->ping_sent_msec = later - TIMEOUT / 2;
    a->data_received_msec = now;
    tick(later, 0);
    assert_ptr_equal(a->link, link);
    a->ping_sent_msec = later - TIMEOUT / 2 - 1;
    a->data_received_msec = later - TIMEOUT / 2; /* bytes come: a large message */
    tick(later, 0);
    assert_ptr_equal(a->link, link);
    a->data_received_msec = now;
    tick(later, 0);
    assert_null(a->link);
    assert_true(a->ping_sent_msec > 0);
    close(fd);
}

static void test_suspicion(void **state) {
    struct cluster_node *a = scene_add(scene, 'a', CLUSTER_NODE_PRIMARY);
    a->address.host[0] = '\0';
    a->ping_sent_msec = now;
    tick(now + TIMEOUT, 0);
    assert_false(cluster_node_has(a, CLUSTER_NODE_SUSPECTED));
    tick(now + TIMEOUT + 1, 0);
    assert_true(cluster_node_has(a, CLUSTER_NODE_SUSPECTED | CLUSTER_NODE_FAILED));
}

/* A lone voter with slots is the majority; what others reported earlier counts at the tick. */
static void test_majority_at_the_tick(void **state) {
    struct cluster_node *a = scene_add(scene, 'a', CLUSTER_NODE_PRIMARY);
    struct cluster_node *b = scene_add(scene, 'b', CLUSTER_NODE_PRIMARY);
    a->address.host[0] = b->address.host[0] = '\0';
    scene_give(scene, scene->self, 0, 0);
    scene_give(scene, a, 1, 1);
    scene_give(scene, b, 2, 2);
    a->ping_sent_msec = now;
    tick(now + TIMEOUT + 1, 0);
    assert_true(cluster_node_has(a, CLUSTER_NODE_SUSPECTED));
    (void)cluster_report_add(a, b, now + TIMEOUT + 2);
    tick(now + TIMEOUT + 100, 0);
    assert_true(cluster_node_has(a, CLUSTER_NODE_FAILED));
}

/* A voter tells another one of whom it suspects, at once, and does so once. */
static void test_suspicion_is_told(void **state) {
    struct cluster_node *a = scene_add(scene, 'a', CLUSTER_NODE_PRIMARY);
    struct cluster_node *b = scene_add_peer('b', CLUSTER_NODE_PRIMARY);
    struct cluster_node *e = scene_add(scene, 'e', CLUSTER_NODE_PRIMARY);
    struct cluster_entry entry;
    a->address.host[0] = e->address.host[0] = '\0';
    scene_give(scene, a, 1, 1);
    scene_give(scene, b, 2, 2);
    scene_give(scene, e, 3, 3);
    tick(now, 0);
    int fd = scene_accept(b);
    scene_read(fd, &bytes, &m);
    for (int votes = 0; votes < 2; votes++) {
        if (votes) scene_give(scene, scene->self, 0, 0);
        a->flags = CLUSTER_NODE_PRIMARY;
        a->ping_sent_msec = now;
        b->ping_sent_msec = 0;
        b->pong_received_msec = b->data_received_msec = now + TIMEOUT;
        uint64_t before = cluster_bus_counts()->sent[CLUSTER_PONG];
        for (int i = 0; i < 3; i++) tick(now + TIMEOUT + 1 + i, 0);
        assert_true(cluster_node_has(a, CLUSTER_NODE_SUSPECTED));
        assert_int_equal(cluster_bus_counts()->sent[CLUSTER_PONG] - before, votes);
    }
    do scene_read(fd, &bytes, &m);
    while (m.type != CLUSTER_PONG);
    /* Behind those that were drawn. */
    cluster_message_entry(&m, m.entry_count - 1, &entry);
    assert_string_equal(entry.id.text, a->id.text);
    assert_true(entry.flags & CLUSTER_NODE_SUSPECTED);
    close(fd);
}

static void test_late_tick(void **state) {
    struct cluster_node *a = scene_add(scene, 'a', CLUSTER_NODE_PRIMARY);
    a->address.host[0] = '\0';
    a->ping_sent_msec = now;
    tick(now + 10 * TIMEOUT, 10 * TIMEOUT - 100);
    assert_false(cluster_node_has(a, CLUSTER_NODE_SUSPECTED));
    assert_int_equal(a->ping_sent_msec, now + 10 * TIMEOUT - 100);
}

static void test_oldest_answer(void **state) {
    struct cluster_node *a = scene_add_peer('a', CLUSTER_NODE_PRIMARY);
    tick(now, 0);
    int fd = scene_accept(a);
    scene_read(fd, &bytes, &m);
    a->ping_sent_msec = 0;
    a->pong_received_msec = a->data_received_msec = now;
    for (int i = 0; i < 1000 && !a->ping_sent_msec; i++) tick(now, 0);
    assert_true(a->ping_sent_msec > 0); /* each second one that was drawn */
    close(fd);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin_scene, end_scene)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_connects_and_pings),
        TEST(test_large_clusters_ping_less),
        TEST(test_meets_until_it_is_answered),
        TEST(test_without_an_address),
        TEST(test_stuck_link),
        TEST(test_suspicion),
        TEST(test_majority_at_the_tick),
        TEST(test_suspicion_is_told),
        TEST(test_late_tick),
        TEST(test_oldest_answer),
    };
    return cmocka_run_group_tests(tests, scene_register, NULL);
}
