/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of sentinel/show: the fields of each kind of instance, their order and their ages; maps and
 * arrays; replicas that are not announced; what INFO said last.
 */
#include "sentinel/show.h"

#include "sentinel/failover.h"
#include "sentinel/serving.h"

#define RUN_ID "cccccccccccccccccccccccccccccccccccccccc"

static struct primary *p;

static int begin(void **state) {
    if (serving_begin(state)) return -1;
    p = watching_add("m", 7000, 2);
    return 0;
}

static int64_t now(void) { return clock_monotonic_msec(); }

static struct replica *add_replica(int port) {
    struct replica *r = sentinel_add_replica(p, SLICE("127.0.0.1"), port);
    assert_non_null(r);
    return r;
}

static struct link_signs *signs_of(struct instance *i) {
    return (struct link_signs *)(uintptr_t)i->signs;
}

/* ---- fields ---- */

static const char new_primary[] =
    "name m ip 127.0.0.1 port 7000 runid _ flags master,disconnected "
    "link-pending-commands 0 link-refcount 1 last-ping-sent 0 last-ok-ping-reply 0 "
    "last-ping-reply 0 down-after-milliseconds 30000 info-refresh 0 role-reported master "
    "role-reported-time 0 config-epoch 0 num-slaves 0 num-other-sentinels 0 quorum 2 "
    "failover-timeout 180000 parallel-syncs 1";

static void test_a_new_primary(void **state) {
    serving_say_words("SENTINEL MASTER m", "*40|", new_primary);
}

/* RESP3 has maps. */
static void test_maps(void **state) {
    serving_ask("HELLO 3");
    serving_say_words("SENTINEL MASTER m", "%20|", new_primary);
    serving_ask("HELLO 2");
}

static void test_a_primary_that_is_down(void **state) {
    static const char fields[] =
        "name m ip 127.0.0.1 port 7000 runid " RUN_ID
        " flags s_down,o_down,master,failover_in_progress,force_failover "
        "link-pending-commands 0 link-refcount 1 failover-state wait_promotion "
        "last-ping-sent 700 last-ok-ping-reply 900 last-ping-reply 800 s-down-time 600 "
        "o-down-time 500 down-after-milliseconds 1000 info-refresh 400 "
        "role-reported slave role-reported-time 300 config-epoch 7 num-slaves 1 "
        "num-other-sentinels 1 quorum 2 failover-timeout 6000 parallel-syncs 3 "
        "notification-script /bin/notify client-reconfig-script /bin/reconfig";
    struct instance *i = &p->instance;
    add_replica(7001);
    sentinel_add_voter(p, SLICE("127.0.0.1"), 7002, SLICE(WATCHING_OTHER_ID));
    snprintf(i->run_id, sizeof(i->run_id), "%s", RUN_ID);
    i->flags = INSTANCE_S_DOWN | INSTANCE_O_DOWN | INSTANCE_IN_FAILOVER | INSTANCE_FORCED;
    p->state = FAILOVER_WAIT_PROMOTION;
    *signs_of(i) = (struct link_signs){.connected = true,
                                       .ping_waits_since = now() - 700,
                                       .last_good_answer = now() - 900,
                                       .last_answer = now() - 800};
    i->s_down_since = now() - 600;
    i->o_down_since = now() - 500;
    i->last_info = now() - 400;
    i->role = REPORTED_REPLICA;
    i->role_since = now() - 300;
    p->down_after_msec = 1000;
    p->failover_timeout_msec = 6000;
    p->parallel_syncs = 3;
    p->config_epoch = 7;
    p->notification_script = memory_strdup("/bin/notify", MEMORY_OTHER);
    p->reconfig_script = memory_strdup("/bin/reconfig", MEMORY_OTHER);
    serving_say_words("SENTINEL MASTER m", "*50|", fields);
    p->state = FAILOVER_NONE;
}

static void test_a_new_replica(void **state) {
    static const char fields[] =
        "name 127.0.0.1:7001 ip 127.0.0.1 port 7001 runid _ flags slave,disconnected "
        "link-pending-commands 0 link-refcount 1 last-ping-sent 0 last-ok-ping-reply 0 "
        "last-ping-reply 0 down-after-milliseconds 30000 info-refresh 0 "
        "role-reported slave role-reported-time 0 master-link-down-time 0 "
        "master-link-status err master-host ? master-port 0 slave-priority 100 "
        "slave-repl-offset 0 replica-announced 1";
    add_replica(7001);
    serving_say_words("SENTINEL REPLICAS m", "*1|*42|", fields);
    serving_say_words("SENTINEL SLAVES m", "*1|*42|", fields);
}

static void test_a_replica_that_has_reported(void **state) {
    struct replica *r = add_replica(7001);
    r->link_up = true;
    r->link_down_msec = 4000;
    r->follows_host = memory_strdup("10.1.2.3", MEMORY_OTHER);
    r->follows_port = 7009;
    r->priority = 42;
    r->offset = INT64_C(12345678901);
    serving_say_part("SENTINEL REPLICAS m",
                     "$21|master-link-down-time|$4|4000|$18|master-link-status|$2|ok|"
                     "$11|master-host|$8|10.1.2.3|$11|master-port|$4|7009|$14|slave-priority|$2|42|"
                     "$17|slave-repl-offset|$11|12345678901|$17|replica-announced|$1|1|",
                     true);
}

/* It can be promoted, but nobody is told of it. */
static void test_a_replica_that_is_not_announced(void **state) {
    add_replica(7001)->announced = false;
    serving_say("SENTINEL REPLICAS m", "*0|");
    add_replica(7002);
    serving_say_part("SENTINEL REPLICAS m", "*1|*42|$4|name|$14|127.0.0.1:7002|", false);
}

static void test_other_sentinels(void **state) {
    static const char fields[] =
        "name " WATCHING_OTHER_ID " ip 127.0.0.1 port 7002 runid " WATCHING_OTHER_ID
        " flags sentinel,disconnected,master_down link-pending-commands 0 link-refcount 2 "
        "last-ping-sent 0 last-ok-ping-reply 0 last-ping-reply 0 "
        "down-after-milliseconds 30000 last-hello-message 250 voted-leader " WATCHING_THIRD_ID
        " voted-leader-epoch 9";
    struct primary *other = watching_add("other", 7100, 1);
    struct voter *v = sentinel_add_voter(p, SLICE("127.0.0.1"), 7002, SLICE(WATCHING_OTHER_ID));
    sentinel_add_voter(other, SLICE("127.0.0.1"), 7002, SLICE(WATCHING_OTHER_ID));
    serving_say_part("SENTINEL SENTINELS m", "$12|voted-leader|$1|?|$18|voted-leader-epoch|$1|0|",
                     true);
    v->instance.flags |= INSTANCE_SAYS_DOWN;
    v->last_hello = now() - 250;
    snprintf(v->leader, sizeof(v->leader), "%s", WATCHING_THIRD_ID);
    v->leader_epoch = 9;
    serving_say_words("SENTINEL SENTINELS m", "*1|*28|", fields);
}

/* A name of a host is shown where the Sentinel announces names. */
static void test_names_and_numbers(void **state) {
    memory_free(p->instance.address.host, MEMORY_OTHER);
    p->instance.address.host = memory_strdup("primary.example", MEMORY_OTHER);
    serving_say("SENTINEL GET-MASTER-ADDR-BY-NAME m", "*2|$9|127.0.0.1|$4|7000|");
    sentinel_settings_change()->announce_hostnames = true;
    serving_say("SENTINEL GET-MASTER-ADDR-BY-NAME m", "*2|$15|primary.example|$4|7000|");
}

/* ---- several ---- */

static void test_all_primaries(void **state) {
    serving_say_words("SENTINEL MASTERS", "*1|*40|", new_primary);
    watching_add("other", 7100, 1);
    serving_say_part("SENTINEL MASTERS", "*2|*40|$4|name|$", false);
    watching_drop_all();
    serving_say("SENTINEL MASTERS", "*0|");
}

static void test_what_info_said(void **state) {
    struct replica *r = add_replica(7001);
    serving_say("SENTINEL INFO-CACHE m", "*2|$1|m|*2|*2|:0|$-1|*2|:0|$-1|");
    buffer_append_c_string(&p->instance.info, "role:master");
    p->instance.last_info = now();
    serving_pass(30);
    buffer_append_c_string(&r->instance.info, "role:slave");
    r->instance.last_info = now();
    serving_pass(12);
    serving_say("SENTINEL INFO-CACHE m",
                "*2|$1|m|*2|*2|:42|$11|role:master|*2|:12|$10|role:slave|");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_new_primary, begin, serving_end),
        cmocka_unit_test_setup_teardown(test_maps, begin, serving_end),
        cmocka_unit_test_setup_teardown(test_a_primary_that_is_down, begin, serving_end),
        cmocka_unit_test_setup_teardown(test_a_new_replica, begin, serving_end),
        cmocka_unit_test_setup_teardown(test_a_replica_that_has_reported, begin, serving_end),
        cmocka_unit_test_setup_teardown(test_a_replica_that_is_not_announced, begin, serving_end),
        cmocka_unit_test_setup_teardown(test_other_sentinels, begin, serving_end),
        cmocka_unit_test_setup_teardown(test_names_and_numbers, begin, serving_end),
        cmocka_unit_test_setup_teardown(test_all_primaries, begin, serving_end),
        cmocka_unit_test_setup_teardown(test_what_info_said, begin, serving_end),
    };
    return cmocka_run_group_tests(tests, serving_open, NULL);
}
