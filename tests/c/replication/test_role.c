/* SPDX-License-Identifier: BSD-3-Clause
 * The role: options of replicas, what they follow from a file, and how that is rewritten.
 */
#include "replication/role.h"

#include "exec/gates.h"
#include "metric/metric.h"
#include "option/settings.h"
#include "replication/link.h"
#include "store/keyspace.h"

/* ---- observers ---- */

static char told[64]; /* a letter for each that was told something */

static void note(char letter) {
    size_t length = strlen(told);
    assert_true(length + 1 < sizeof(told));
    told[length] = letter;
    told[length + 1] = 0;
}

static void assert_told(const char *wanted) {
    assert_string_equal(told, wanted);
    told[0] = 0;
}

static void first_hears(bool replica) { note(replica ? 'r' : 'p'); }
static void second_hears(bool replica) {
    assert_true(replica == link_is_replica());
    note(replica ? 'R' : 'P');
}
static void link_changed(void) { note(link_is_replica() ? 'l' : 'n'); }

static const struct role_observer first = {first_hears}, second = {second_hears};
static const struct role_observer *const role_observers[] = {&first, &second, NULL};
static const struct role_observer *const no_role_observer = NULL;
static const struct link_observer after_role = {.changed = link_changed};
static const struct link_observer no_interest = {NULL, NULL};
static const struct link_observer *const link_observers[] = {&role_link_observer, &no_interest,
                                                             &after_role, NULL};

static int setup(void **state) {
    role_register();
    link_set_observers(link_observers);
    role_set_manager(&role_by_option);
    return 0;
}

/* A start with this line of configuration. */
static void start_with(const char *line) {
    assert_loads(line);
    role_open(NULL);
}

/* All are told, in order; the present role when it opens, and each change once. */
static void test_observers(void **state) {
    told[0] = 0;
    role_set_observers(role_observers);
    role_open(NULL);
    assert_told("pPn");
    link_start_as("host", 1);
    assert_told("rRl");
    link_start_as("host", 2);
    assert_told("l");
    assert_takes("replica-read-only", "no", "no");
    assert_takes("replica-read-only", "yes", "yes");
    assert_told("");
    link_start_as(NULL, 0);
    assert_told("pPn");
    start_with("replicaof host 1\n");
    assert_told("rRl");
    start_with("replicaof no one\n");
    assert_told("pPn");
    role_set_observers(&no_role_observer);
}

static int teardown(void **state) {
    option_reset_all();
    metric_forget_all();
    return 0;
}

static int follow_nobody(void **state) {
    start_with("replicaof no one\n");
    return 0;
}

static void test_replicaof(void **state) {
    start_with("replicaof no one\n");
    assert_value("slaveof", "");
    assert_false(link_is_replica());
    assert_line_refused("slaveof host x", "Invalid master port");
    assert_line_refused("slaveof host 70000", "Invalid master port");
    assert_line_refused("replicaof host", "Bad directive or wrong number of arguments");
    start_with("replicaof host 1\n");
    assert_value("replicaof", "host 1");
    assert_true(link_is_replica());
    assert_int_equal(link_state(), LINK_WAITS);
    assert_int_equal(link_down_sec(), -1);
}

/* What a replica is, it is before the first command: its data is loaded by the same rules. */
static void test_gates(void **state) {
    start_with("replicaof host 1\n");
    assert_true(gate_is_set(&role_gate_read_only));
    assert_false(gate_is_set(&role_gate_stale));
    assert_true(keyspace_expiry_is_elsewhere());
    assert_takes("replica-read-only", "no", "no");
    assert_takes("slave-serve-stale-data", "no", "no");
    assert_false(gate_is_set(&role_gate_read_only));
    assert_true(gate_is_set(&role_gate_stale));
    assert_takes("replica-read-only", "yes", "yes");
    assert_takes("slave-serve-stale-data", "yes", "yes");
    start_with("slaveof no one\n");
    assert_false(gate_is_set(&role_gate_read_only));
    assert_false(gate_is_set(&role_gate_stale));
    assert_false(keyspace_expiry_is_elsewhere());
}

/* ---- who says it ---- */

static const char *managed_host;

static bool managed_primary(const char **host, int *port) {
    *host = managed_host;
    *port = 7;
    return managed_host;
}

static const struct role_manager manager = {.primary_at_start = managed_primary};

/* The option is read, and the manager says which role the server starts with. */
static void test_manager_says_the_role_at_start(void **state) {
    role_set_manager(&manager);
    start_with("replicaof host 1\n");
    assert_false(link_is_replica());
    assert_value("replicaof", "");
    assert_false(gate_is_set(&role_gate_read_only));
    managed_host = "other";
    start_with("replicaof no one\n");
    assert_int_equal(link_state(), LINK_WAITS);
    assert_value("replicaof", "other 7");
    assert_true(gate_is_set(&role_gate_read_only));
    role_set_manager(&role_by_option);
}

static void test_rewrite(void **state) {
    struct buffer out;
    buffer_init(&out, MEMORY_OTHER);
    assert_takes("replica-priority", "1", "1");
    option_rewrite_text(SLICE("#\nslave-priority 5\n"), false, &out);
    assert_string_equal(out.bytes, "#\nreplica-priority 1\n");
    buffer_free(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_replicaof, follow_nobody),
        cmocka_unit_test_teardown(test_gates, follow_nobody),
        cmocka_unit_test_teardown(test_rewrite, follow_nobody),
        cmocka_unit_test_teardown(test_observers, follow_nobody),
        cmocka_unit_test_teardown(test_manager_says_the_role_at_start, follow_nobody),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
