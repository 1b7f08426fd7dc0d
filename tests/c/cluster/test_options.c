/* SPDX-License-Identifier: BSD-3-Clause
 * Options of cluster mode: their values at first, their ranges, who hears of changes, and what they
 * change about this node.
 */
#include "cluster/options.h"

#include "cluster/whole_node.h"

static unsigned heard;
static void hear(void) { heard++; }

static bool is_accepted(const char *name, const char *value) {
    char reason[256] = "";
    struct slice word = slice_of(value);
    bool set = option_set(option_find(slice_of(name)), &word, 1, OPTION_FROM_CONFIG_SET, reason,
                          sizeof(reason));
    if (!set) assert_string_not_equal(reason, "");
    return set;
}

static void test_first_values(void **state) {
    const struct cluster_options *o = cluster_options();
    assert_true(o->enabled);
    assert_string_equal(o->file, "nodes.conf");
    assert_int_equal(o->node_timeout_ms, 15000);
    assert_true(o->replica_migration);
    assert_false(o->full_coverage); /* node_open has said so */
    assert_false(o->no_failover || o->reads_when_down);
    assert_string_equal(o->announced_ip, "10.0.0.1");
    assert_int_equal(o->announced_port, 7001);
    assert_int_equal(o->announced_tls_port, 0);
    assert_int_equal(o->announced_bus_port, 17001);
}

static void test_ranges(void **state) {
    assert_true(is_accepted("cluster-node-timeout", "0"));
    assert_false(is_accepted("cluster-node-timeout", "-1"));
    assert_true(is_accepted("cluster-node-timeout", "15000"));
    assert_false(is_accepted("cluster-announce-tls-port", "65536"));
    assert_false(is_accepted("cluster-announce-tls-port", "-1"));
    assert_true(is_accepted("cluster-announce-tls-port", "65535"));
    assert_true(is_accepted("cluster-announce-tls-port", "0"));
    assert_false(is_accepted("cluster-allow-reads-when-down", "perhaps"));
    assert_false(is_accepted("cluster-slave-validity-factor", "-1"));
    assert_true(is_accepted("cluster-slave-validity-factor", "0"));
    assert_true(is_accepted("cluster-replica-validity-factor", "10"));
    char host[CLUSTER_HOST_CHARS + 2];
    memset(host, 'h', sizeof(host));
    host[CLUSTER_HOST_CHARS + 1] = '\0';
    static const char *const bad[] = {" ", "a b", "a@b", "a,b", "a\"b", "a\\b", "a\nb", "a\x7f"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_false(is_accepted("cluster-announce-ip", bad[i]));
    assert_false(is_accepted("cluster-announce-ip", host));
    assert_string_equal(cluster_options()->announced_ip, "10.0.0.1");
    host[CLUSTER_HOST_CHARS] = '\0';
    assert_true(is_accepted("cluster-announce-ip", host));
    assert_string_equal(cluster_options()->announced_ip, host);
    assert_true(is_accepted("cluster-announce-ip", "10.0.0.1"));
}

/* Options that only a file may set, and that CONFIG GET does not show, as in 6.2. */
static void test_by_file_only(void **state) {
    struct peer p = peer_connect();
    whole_say(&p, "config get cluster-enabled", "*2\r\n$15\r\ncluster-enabled\r\n$3\r\nyes\r\n");
    whole_say(&p, "config get cluster-config-file", "*0\r\n");
    assert_false(is_accepted("cluster-enabled", "no"));
    assert_false(is_accepted("cluster-config-file", "other.conf"));
    assert_true(cluster_options()->enabled);
    assert_string_equal(cluster_options()->file, "nodes.conf");
    peer_close(&p);
}

static void test_what_changes_at_once(void **state) {
    struct cluster *c = cluster_here();
    uint64_t changes = c->changes;
    option_set_text("cluster-announce-port", "7100");
    assert_int_equal(c->self->address.port, 7100);
    assert_true(c->changes > changes);
    option_set_text("cluster-announce-bus-port", "17100");
    assert_int_equal(c->self->address.bus_port, 17100);
    option_set_text("cluster-announce-ip", "10.9.9.9");
    assert_string_equal(c->self->address.host, "10.9.9.9");
    option_set_text("cluster-announce-ip", ""); /* an address that was learned stays */
    assert_string_equal(c->self->address.host, "10.9.9.9");
    option_set_text("cluster-slave-no-failover", "yes");
    assert_true(cluster_node_has(c->self, CLUSTER_NODE_NO_FAILOVER));
    option_set_text("cluster-replica-no-failover", "no");
    assert_false(cluster_node_has(c->self, CLUSTER_NODE_NO_FAILOVER));
    changes = c->changes;
    option_set_text("cluster-announce-port", "7100"); /* no change */
    assert_int_equal(c->changes, changes);
    node_own(1, 1);
    option_set_text("cluster-require-full-coverage", "yes");
    assert_false(c->ok);
    option_set_text("cluster-require-full-coverage", "no");
    node_own(1, 1);
    option_set_text("cluster-announce-ip", "10.0.0.1");
    option_set_text("cluster-announce-port", "7001");
    option_set_text("cluster-announce-bus-port", "17001");
}

/* The last, because the node itself hears of no change any more. */
static void test_observer(void **state) {
    static const char *const told[][2] = {
        {"cluster-node-timeout", "14000"},       {"cluster-allow-replica-migration", "no"},
        {"cluster-require-full-coverage", "no"}, {"cluster-allow-reads-when-down", "no"},
        {"cluster-replica-no-failover", "no"},   {"cluster-announce-ip", "10.0.0.2"},
        {"cluster-announce-port", "7002"},       {"cluster-announce-tls-port", "7003"},
        {"cluster-announce-bus-port", "17002"}};
    cluster_options_set_observer(hear);
    for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++) {
        option_set_text(told[i][0], told[i][1]);
        if (heard != i + 1) fail_msg("%s is not told", told[i][0]);
    }
    assert_false(is_accepted("cluster-announce-port", "x"));
    assert_int_equal(heard, sizeof(told) / sizeof(told[0]));
    assert_int_equal(cluster_options()->node_timeout_ms, 14000);
    assert_int_equal(cluster_options()->announced_tls_port, 7003);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, node_begin, whole_nothing_left)
    const struct CMUnitTest tests[] = {
        TEST(test_first_values),         TEST(test_ranges),   TEST(test_by_file_only),
        TEST(test_what_changes_at_once), TEST(test_observer),
    };
    return cmocka_run_group_tests(tests, node_open, node_close);
}
