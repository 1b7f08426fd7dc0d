/* SPDX-License-Identifier: BSD-3-Clause
 * PUBLISH goes to the other nodes, and not into the stream, exactly where this server is a node.
 */
#include "cluster/relay.h"

#include "bus/compose.h"
#include "cluster/service.h"
#include "publish/pubsub.h"
#include "topology/cluster_scene.h"

static struct cluster *here;
static unsigned said;

struct cluster *cluster_here(void) {
    return here;
}

size_t cluster_say_publish(struct cluster *c, struct slice channel, struct slice text) {
    assert_ptr_equal(c, here);
    assert_memory_equal(channel.bytes, "news", channel.length);
    assert_memory_equal(text.bytes, "hello", text.length);
    said++;
    return 3;
}

static const struct pubsub_observer *const observers[] = {&cluster_relay, NULL};

static void test_node_and_server(void **state) {
    pubsub_set_observers(observers);
    assert_int_equal(pubsub_publish(SLICE("news"), SLICE("hello")), 0);
    assert_int_equal(said, 0);
    assert_false(pubsub_reaches_replicas());
    here = scene_cluster('5');
    assert_int_equal(pubsub_publish(SLICE("news"), SLICE("hello")), 0); /* receivers here only */
    assert_int_equal(said, 1);
    assert_true(pubsub_reaches_replicas());
    cluster_free(here);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_node_and_server)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
