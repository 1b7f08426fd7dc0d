/* SPDX-License-Identifier: BSD-3-Clause
 * Cluster mode as a whole, with a bus, a file, a keyspace and a loop that only take notes: what is
 * refused at start, what the options make of this node, and what each step and tick does in which
 * order.
 */
#include "cluster/service.h"

#include "base/clock.h"
#include "base/log.h"
#include "bus/bus.h"
#include "bus/heartbeat.h"
#include "bus/meet.h"
#include "cluster/carry_out.h"
#include "cluster/follow.h"
#include "cluster/gate.h"
#include "cluster/options.h"
#include "cluster/redirect.h"
#include "cluster/succession.h"
#include "io/loop.h"
#include "net/listen.h"
#include "replication/link.h"
#include "replication/migrate.h"
#include "store/keyspace.h"
#include "topology/cluster_scene.h"
#include "topology/nodes_file.h"

#define T 1000
#define WALL INT64_C(1700000000000) /* ms */

/* ---- what is around ---- */

static char said[1000]; /* what the node has done since the last look, in words */
static char logged[300];
static struct cluster_options options;
static void (*options_observer)(void);
static struct cluster_bus_hooks bus_hooks;
static struct loop_timer *timer;
static struct cluster *c; /* what cluster_file_open returns */
static const char *primary_by_option;
static bool tls, is_replica, clients_may_go_on, disk_refuses, messages_left;
static int plain_port, tls_port;
static unsigned slot_with_keys; /* the slot that has keys, of one database */
static size_t key_databases;    /* how many databases have keys */
static int64_t late_msec;       /* as the heartbeat was told last */
/* Stand-ins: only their addresses count. */
static char loop[1], keyspaces[2], transport[1];

static void say(const char *text) {
    size_t used = strlen(said);
    snprintf(said + used, sizeof(said) - used, "%s%s", used ? " " : "", text);
}
static void keep_line(const char *line, size_t length) {
    snprintf(logged, sizeof(logged), "%.*s", (int)length, line);
}

struct cluster *cluster_file_open(const char *path) {
    say(path);
    return c;
}
uint64_t cluster_file_later(void) {
    say("later");
    return 1;
}
bool cluster_file_step(void) {
    say("file");
    return clients_may_go_on;
}
void cluster_file_advance(void) { say("file-within"); }
bool cluster_file_write(void) {
    say("write");
    return !disk_refuses;
}
void cluster_file_close(void) { say("unlock"); }

void cluster_bus_open(struct loop *l, struct cluster *of, const struct cluster_bus_hooks *hooks) {
    assert_ptr_equal(of, c);
    bus_hooks = *hooks;
    say("bus");
}
void cluster_bus_accept(void) { say("accept"); }
bool cluster_bus_take(void) {
    say("take");
    return messages_left;
}
void cluster_bus_step(void) { say("send"); }
void cluster_bus_close(void) { say("hang-up"); }
void cluster_forgotten_clear(void) {}
void cluster_heartbeat_open(struct cluster *of) {}
void cluster_heartbeat_connected(struct cluster_link *link) {}
void cluster_heartbeat_tick(struct cluster *of, int64_t now_msec, int64_t late,
                            int64_t timeout_msec) {
    assert_int_equal(now_msec, clock_wall_msec());
    assert_int_equal(timeout_msec, T);
    late_msec = late;
    say("ping");
}

void cluster_carry_out_open(struct cluster *of) {}
void cluster_carry_out_received(struct cluster_link *link, const struct cluster_message *m) {}
void cluster_carry_out_step(void) { say("carry-out"); }
void cluster_succession_open(struct cluster *of) {}
void cluster_succession_step(void) { say("succeed"); }
void cluster_succession_tick(int64_t now_msec) { say("elect"); }
void cluster_follow_open(const struct cluster *of) {}
void cluster_follow(void) { say("follow"); }
void cluster_gate_open(const struct cluster *of, const bool *reads_when_down) {
    assert_ptr_equal(reads_when_down, &options.reads_when_down);
}
void cluster_redirect_open(const struct cluster *of) {}

const struct cluster_options *cluster_options(void) { return &options; }
void cluster_options_set_observer(void (*changed)(void)) { options_observer = changed; }
bool link_is_replica(void) { return is_replica; }
bool link_primary_by_option(const char **host, int *port) { return primary_by_option; }
int listen_port(void) { return plain_port; }
int listen_tls_port(void) { return tls_port; }
const struct connection_transport *migrate_transport(void) {
    return tls ? (const void *)transport : NULL;
}
void loop_timer_start(struct loop *l, struct loop_timer *t, int64_t after_msec) {
    assert_int_equal(after_msec, CLUSTER_TICK_MSEC);
    timer = t;
}

int keyspace_databases(void) { return sizeof(keyspaces); }
struct keyspace *keyspace_at(int index) {
    return (struct keyspace *)(void *)&keyspaces[index];
}
size_t keyspace_count(const struct keyspace *ks) {
    return (size_t)((const char *)ks - keyspaces) < key_databases;
}
size_t keyspace_slot_count(const struct keyspace *ks, unsigned slot) {
    return key_databases && slot == slot_with_keys;
}

/* ---- scenes ---- */

/* Compares, and forgets, what was said. */
static void expect_said(const char *text) {
    assert_string_equal(said, text);
    said[0] = '\0';
}
static void expect_logged(const char *text) {
    if (!strstr(logged, text)) fail_msg("\"%s\" is not in: %s", text, logged);
    logged[0] = '\0';
}
static void pass(int64_t msec) {
    clock_advance_usec(msec * 1000);
    clock_refresh();
}

static int begin(void **state) {
    clock_use_fixed(WALL * 1000, INT64_C(5000000000));
    clock_refresh();
    log_set_observer(keep_line);
    options = (struct cluster_options){.enabled = true,
                                       .file = "nodes-7001.conf",
                                       .node_timeout_ms = T,
                                       .full_coverage = true,
                                       .link_sendbuf_limit = 99,
                                       .announced_ip = ""};
    primary_by_option = NULL;
    tls = is_replica = clients_may_go_on = disk_refuses = messages_left = false;
    plain_port = 7001;
    tls_port = 0;
    key_databases = 0;
    timer = NULL;
    said[0] = logged[0] = '\0';
    c = scene_cluster('1');
    return 0;
}

static int end(void **state) {
    if (cluster_here())
        cluster_service_close();
    else
        cluster_free(c);
    log_set_observer(NULL);
    clock_use_system();
    return 0;
}

static void open_service(void) {
    assert_true(cluster_service_open((struct loop *)(void *)loop));
    assert_ptr_equal(cluster_here(), c);
    said[0] = '\0';
}
static void tick(void) { assert_int_equal(timer->callback(timer), CLUSTER_TICK_MSEC); }

/* A primary that owns all slots, and may say that it is ok. */
static void open_whole(void) {
    scene_give(c, c->self, 0, KEY_SLOTS - 1);
    open_service();
    for (int i = 0; i < 30; i++) {
        pass(CLUSTER_TICK_MSEC);
        tick();
    }
    assert_true(c->ok);
    assert_false(cluster_service_step());
    said[0] = '\0';
}

/* ---- start ---- */

static void test_off(void **state) {
    options.enabled = false;
    assert_false(cluster_is_enabled());
    primary_by_option = "10.0.0.2";
    assert_true(cluster_service_configured());
    assert_true(cluster_service_open((struct loop *)(void *)loop));
    assert_null(cluster_here());
    assert_true(cluster_service_loaded());
    assert_false(cluster_service_step());
    cluster_service_within();
    cluster_service_close();
    expect_said("");
}

static void test_replicaof_in_the_file(void **state) {
    assert_true(cluster_service_configured());
    primary_by_option = "10.0.0.2";
    assert_false(cluster_service_configured());
    expect_logged("replicaof directive not allowed in cluster mode");
}

static void test_ports(void **state) {
    plain_port = 55536;
    assert_false(cluster_service_open((struct loop *)(void *)loop));
    expect_logged("Your Redis port number must be 55535 or less.");
    /* The port that counts is that of the links. */
    tls = true;
    tls_port = 55535;
    open_service();
    assert_int_equal(c->self->address.bus_port, 65535);
}

static void test_a_file_that_is_refused(void **state) {
    struct cluster *kept = c;
    c = NULL;
    assert_false(cluster_service_open((struct loop *)(void *)loop));
    expect_said("nodes-7001.conf");
    assert_null(cluster_here());
    c = kept;
}

/* tls, port, tls-port, the three announced; then what other nodes are told */
static const struct {
    bool tls;
    int port, tls_port, announced, announced_tls, announced_bus;
    uint16_t told, told_plain, told_bus;
} addresses[] = {
    {false, 7001, 0, 0, 0, 0, 7001, 0, 17001},
    {false, 7001, 7002, 0, 0, 0, 7001, 0, 17001},
    {false, 7001, 0, 8001, 0, 0, 8001, 0, 17001},
    {false, 7001, 0, 8001, 8002, 9000, 8001, 0, 9000},
    {true, 7001, 7002, 0, 0, 0, 7002, 7001, 17002},
    {true, 7001, 7002, 8001, 8002, 0, 8002, 8001, 17002},
    {true, 0, 7002, 0, 0, 9000, 7002, 0, 9000},
};

static void test_addresses(void **state) {
    for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++) {
        end(state);
        begin(state);
        tls = addresses[i].tls;
        plain_port = addresses[i].port;
        tls_port = addresses[i].tls_port;
        options.announced_port = addresses[i].announced;
        options.announced_tls_port = addresses[i].announced_tls;
        options.announced_bus_port = addresses[i].announced_bus;
        open_service();
        const struct cluster_address *a = &c->self->address;
        if (a->port != addresses[i].told || a->plain_port != addresses[i].told_plain ||
            a->bus_port != addresses[i].told_bus)
            fail_msg("row %zu: %u %u %u", i, a->port, a->plain_port, a->bus_port);
        assert_ptr_equal(bus_hooks.transport(), migrate_transport());
        assert_int_equal(bus_hooks.sendbuf_limit(), 99);
    }
}

/* Options that other nodes show change this node at once, and the address that was learned stays
 * where none is announced. */
static void test_options_that_change(void **state) {
    open_whole();
    snprintf(c->self->address.host, sizeof(c->self->address.host), "10.0.0.1");
    options_observer();
    assert_false(cluster_service_step());
    expect_said("take carry-out succeed file send");
    options.no_failover = true;
    options.announced_ip = "10.0.0.9";
    options_observer();
    assert_true(c->self->flags & CLUSTER_NODE_NO_FAILOVER);
    assert_string_equal(c->self->address.host, "10.0.0.9");
    assert_true(c->announces_host);
    assert_false(cluster_service_step());
    expect_said("take carry-out succeed later file send");
    options.no_failover = false;
    options.announced_ip = "";
    options_observer();
    assert_false(c->self->flags & CLUSTER_NODE_NO_FAILOVER);
    assert_string_equal(c->self->address.host, "10.0.0.9");
    assert_false(c->announces_host);
    cluster_slot_assign(c, 5, NULL);
    cluster_changed(c);
    (void)cluster_service_step();
    assert_false(c->ok);
    options.full_coverage = false;
    options_observer();
    assert_true(c->ok);
}

/* ---- the data is loaded ---- */

static void test_keys_of_slots(void **state) {
    struct cluster_node *other = scene_add(c, '2', CLUSTER_NODE_PRIMARY);
    scene_give(c, c->self, 0, 99);
    scene_give(c, other, 100, 199);
    open_service();
    /* Its own keys. */
    key_databases = 1;
    slot_with_keys = 50;
    uint64_t before = c->changes;
    assert_true(cluster_service_loaded());
    assert_int_equal(c->changes, before);
    /* Those of a slot without an owner. */
    slot_with_keys = 200;
    assert_true(cluster_service_loaded());
    expect_logged("I have keys for unassigned slot 200. Taking responsibility for it.");
    assert_ptr_equal(c->owners[200], c->self);
    /* Those of another node's slot. */
    slot_with_keys = 150;
    assert_true(cluster_service_loaded());
    expect_logged("I have keys for slot 150, but the slot is assigned to another node.");
    assert_ptr_equal(c->owners[150], other);
    assert_ptr_equal(c->importing_from[150], other);
    assert_true(c->changes > before);
    before = c->changes;
    assert_true(cluster_service_loaded());
    assert_int_equal(c->changes, before);
    assert_string_equal(logged, "");
    expect_said("accept accept accept accept");
}

static void test_keys_of_other_databases(void **state) {
    open_service();
    key_databases = 2;
    assert_false(cluster_service_loaded());
    expect_logged("You can't have keys in a DB different than DB 0 when in Cluster mode.");
}

/* What a replica has is its primary's. */
static void test_keys_of_a_replica(void **state) {
    cluster_set_replica(c, c->self, scene_add(c, '2', CLUSTER_NODE_PRIMARY));
    open_service();
    key_databases = 2;
    slot_with_keys = 200;
    assert_true(cluster_service_loaded());
    assert_null(c->owners[200]);
    expect_said("accept");
}

/* ---- steps and ticks ---- */

static void test_step(void **state) {
    open_whole();
    clients_may_go_on = true;
    assert_true(cluster_service_step());
    expect_said("take carry-out succeed file send");
    /* A change is judged, and written, before messages leave. */
    cluster_slot_assign(c, 7, NULL);
    cluster_changed(c);
    assert_true(cluster_service_step());
    assert_false(c->ok);
    expect_said("take carry-out succeed later file send");
    clients_may_go_on = false;
    messages_left = true; /* the loop must not sleep */
    assert_true(cluster_service_step());
    expect_said("take carry-out succeed file send");
    cluster_service_within();
    expect_said("take file-within send");
}

static void test_tick(void **state) {
    open_whole();
    pass(CLUSTER_TICK_MSEC);
    tick();
    expect_said("ping elect follow");
    is_replica = true;
    pass(CLUSTER_TICK_MSEC);
    tick();
    expect_said("ping elect");
    assert_int_equal(late_msec, 0);
}

static void test_late_ticks(void **state) {
    open_whole();
    pass(CLUSTER_TICK_MSEC * 2 - 1);
    tick();
    assert_int_equal(late_msec, 0);
    pass(CLUSTER_TICK_MSEC * 2);
    tick();
    assert_int_equal(late_msec, CLUSTER_TICK_MSEC);
    pass(CLUSTER_TICK_MSEC + 5000);
    tick();
    assert_int_equal(late_msec, 5000);
}

/* Time limits of the state follow no jump of the wall clock. */
static void test_clock_that_jumps(void **state) {
    scene_give(c, c->self, 0, KEY_SLOTS - 1);
    open_service();
    tick();
    clock_use_fixed((WALL + 3600000) * 1000, INT64_C(5000000000));
    clock_refresh();
    tick();
    assert_false(c->ok);
}

static void test_end(void **state) {
    open_whole();
    cluster_service_close();
    expect_said("write file hang-up unlock");
    assert_null(cluster_here());
    cluster_service_close();
    expect_said("");
    begin(state);
    open_whole();
    disk_refuses = true; /* the file is tried once more when it closes */
    cluster_service_close();
    expect_said("write hang-up unlock");
    c = scene_cluster('1');
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_off, begin, end),
        cmocka_unit_test_setup_teardown(test_replicaof_in_the_file, begin, end),
        cmocka_unit_test_setup_teardown(test_ports, begin, end),
        cmocka_unit_test_setup_teardown(test_a_file_that_is_refused, begin, end),
        cmocka_unit_test_setup_teardown(test_addresses, begin, end),
        cmocka_unit_test_setup_teardown(test_options_that_change, begin, end),
        cmocka_unit_test_setup_teardown(test_keys_of_slots, begin, end),
        cmocka_unit_test_setup_teardown(test_keys_of_other_databases, begin, end),
        cmocka_unit_test_setup_teardown(test_keys_of_a_replica, begin, end),
        cmocka_unit_test_setup_teardown(test_step, begin, end),
        cmocka_unit_test_setup_teardown(test_tick, begin, end),
        cmocka_unit_test_setup_teardown(test_late_ticks, begin, end),
        cmocka_unit_test_setup_teardown(test_clock_that_jumps, begin, end),
        cmocka_unit_test_setup_teardown(test_end, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
