/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of sentinel/intake: what INFO, hello messages and answers change, and the events of it.
 */
#include "sentinel/intake.h"

#include "base/memory.h"
#include "peer/peer_reply.h"
#include "sentinel/failover.h"
#include "sentinel/watch_link.h"
#include "sentinel/watching.h"

static struct primary *p;

static int begin(void **state) {
    watching_begin();
    p = watching_add("m", 7000, 2);
    return 0;
}

static int end(void **state) {
    watching_end();
    return 0;
}

static void take_info(struct instance *i, const char *text) {
    sentinel_intake_info(i, slice_of(text));
}

static void hear(const char *text) {
    watching_forget();
    sentinel_intake_hello(slice_of(text));
}

#define SPEAKER "127.0.0.1,8000," WATCHING_OTHER_ID
#define AT_HOME ",m,127.0.0.1,7000,"
#define SHOWN_SPEAKER "sentinel " WATCHING_OTHER_ID " 127.0.0.1 8000 @ m 127.0.0.1 7000"

/* ---- INFO ---- */

static void test_info_of_a_primary(void **state) {
    take_info(&p->instance, "run_id:" WATCHING_OTHER_ID
                            "\r\nrole:master\r\n"
                            "slave0:ip=127.0.0.1,port=7001,state=online,offset=1,lag=0\r\n"
                            "slave1:ip=127.0.0.1,port=7001,state=online,offset=1,lag=0\r\n"
                            "slave2:ip=a.host,port=7002,state=online,offset=1,lag=0\r\n"
                            "slave3:ip=127.0.0.1,port=7000,state=online,offset=1,lag=0\r\n"
                            "slave4:ip=127.1,port=7000,state=online,offset=1,lag=0\r\n"
                            "slave5:ip=127.1,port=7001,state=online,offset=1,lag=0\r\n");
    assert_string_equal(p->instance.run_id, WATCHING_OTHER_ID);
    assert_int_equal(p->replica_count, 1);
    assert_string_equal(watching_told,
                        "+slave slave 127.0.0.1:7001 127.0.0.1 7001 @ m "
                        "127.0.0.1 7000\n");
    watching_forget();
    take_info(&p->instance, "run_id:" WATCHING_THIRD_ID "\r\nrole:slave\r\n");
    assert_string_equal(watching_told,
                        "+reboot master m 127.0.0.1 7000\n"
                        "-role-change master m 127.0.0.1 7000 new reported role is "
                        "slave\n");
    assert_int_equal(p->instance.role, REPORTED_REPLICA);
    assert_int_equal(p->replica_count, 1);
}

static void test_info_of_a_replica(void **state) {
    struct replica *r = sentinel_add_replica(p, SLICE("127.0.0.1"), 7001);
    int64_t since = r->follows_since;
    clock_advance_usec(5000);
    take_info(&r->instance,
              "role:slave\r\nmaster_host:127.0.0.1\r\nmaster_port:7000\r\n"
              "master_link_status:up\r\nslave_priority:7\r\n"
              "slave_repl_offset:99\r\nreplica_announced:0\r\n");
    assert_string_equal(r->follows_host, "127.0.0.1");
    assert_int_equal(r->follows_port, 7000);
    assert_true(r->follows_since > since);
    assert_true(r->link_up);
    assert_int_equal(r->priority, 7);
    assert_int_equal(r->offset, 99);
    assert_false(r->announced);
    since = r->follows_since;
    clock_advance_usec(5000);
    take_info(&r->instance,
              "role:slave\r\nmaster_host:127.0.0.1\r\nmaster_port:7000\r\n"
              "master_link_status:down\r\nmaster_link_down_since_seconds:3\r\n");
    assert_int_equal(r->follows_since, since);
    assert_false(r->link_up);
    assert_int_equal(r->link_down_msec, 3000);
    take_info(&r->instance, "role:master\r\n");
    assert_string_equal(watching_told,
                        "-role-change slave 127.0.0.1:7001 127.0.0.1 7001 @ m "
                        "127.0.0.1 7000 new reported role is master\n");
    assert_int_equal(r->link_down_msec, 0);
}

/* ---- hello ---- */

static void test_hello_that_counts_for_nothing(void **state) {
    const char *const bad[] = {"",
                               "a,b,c",
                               SPEAKER ",9,other,127.0.0.1,7000,0",
                               "127.0.0.1,8000," WATCHING_ID ",9" AT_HOME "0", /* our own */
                               "127.0.0.1,0," WATCHING_OTHER_ID ",9" AT_HOME "0",
                               "127.0.0.1,8000,short,9" AT_HOME "0",
                               SPEAKER ",x" AT_HOME "0",
                               SPEAKER ",99999999999999999999" AT_HOME "0"};
    for (size_t k = 0; k < sizeof(bad) / sizeof(bad[0]); k++) {
        hear(bad[k]);
        assert_string_equal(watching_told, "");
    }
    assert_int_equal(p->voter_count, 0);
    assert_int_equal(sentinel_settings()->epoch, 0);
}

static void test_hello_of_a_new_sentinel(void **state) {
    hear(SPEAKER ",3" AT_HOME "0");
    assert_string_equal(watching_told, "+sentinel " SHOWN_SPEAKER "\n+new-epoch 3\n");
    assert_int_equal(p->voter_count, 1);
    assert_int_equal(sentinel_settings()->epoch, 3);
    hear(SPEAKER ",2" AT_HOME "0");
    assert_string_equal(watching_told, "");
    assert_int_equal(sentinel_settings()->epoch, 3);
}

static void test_hello_of_one_that_has_moved(void **state) {
    struct primary *other = watching_add("other", 7100, 2);
    hear(SPEAKER ",0" AT_HOME "0");
    hear(SPEAKER ",0,other,127.0.0.1,7100,0");
    hear("127.0.0.1,8001," WATCHING_OTHER_ID ",0" AT_HOME "0");
    assert_string_equal(watching_told,
                        "+sentinel-address-switch master m 127.0.0.1 7000 ip 127.0.0.1 port 8001 "
                        "for " WATCHING_OTHER_ID
                        "\n"
                        "+sentinel-address-update sentinel " WATCHING_OTHER_ID
                        " 127.0.0.1 8001 @ m 127.0.0.1 7000 1 additional matching instances\n");
    assert_int_equal(p->voter_count, 1);
    struct voter *there = sentinel_find_voter(other, SLICE(WATCHING_OTHER_ID));
    assert_int_equal(there->instance.address.port, 8001);
    assert_int_equal(watch_link_users(&there->instance), 2);
}

/* A message from before this machine got its present id can come late. */
static void test_hello_of_a_former_self(void **state) {
    hear(SPEAKER ",0" AT_HOME "0");
    hear("127.0.0.1,8001," WATCHING_ID ",9" AT_HOME "0");
    assert_string_equal(watching_told, "");
    assert_int_equal(p->voter_count, 1);
    hear("127.0.0.1,8000," WATCHING_ID ",9" AT_HOME "0");
    assert_string_equal(watching_told, "+sentinel-invalid-addr " SHOWN_SPEAKER "\n");
    assert_int_equal(p->voter_count, 0);
    assert_int_equal(sentinel_settings()->epoch, 0);
}

/* A duplicate does not stay a voter, as a restarted Sentinel with a new id would in 6.2. */
static void test_hello_of_another_at_the_address(void **state) {
    hear(SPEAKER ",0" AT_HOME "0");
    hear("127.0.0.1,8000," WATCHING_THIRD_ID ",0" AT_HOME "0");
    assert_string_equal(watching_told, "+sentinel-invalid-addr " SHOWN_SPEAKER
                                       "\n"
                                       "+sentinel sentinel " WATCHING_THIRD_ID
                                       " 127.0.0.1 8000 @ m 127.0.0.1 7000\n");
    assert_int_equal(p->voter_count, 1);
    assert_null(sentinel_find_voter(p, SLICE(WATCHING_OTHER_ID)));
}

/* A flood of ids beyond the bound does not have the file written and synced in each turn. */
static void test_hello_beyond_the_bound(void **state) {
    char text[160];
    for (int k = 0; k <= SENTINEL_VOTERS_MAX; k++) {
        assert_int_equal(p->voter_count, k);
        (void)sentinel_record_step();
        watching_writes = 0;
        snprintf(text, sizeof(text), "127.0.0.1,%d,%040x,0" AT_HOME "0", 8000 + k, k + 1);
        hear(text);
        (void)sentinel_record_step();
        assert_int_equal(watching_writes, k < SENTINEL_VOTERS_MAX);
    }
    assert_string_equal(watching_told, "");
    assert_int_equal(p->voter_count, SENTINEL_VOTERS_MAX);
}

static void test_hello_of_a_newer_configuration(void **state) {
    (void)!sentinel_add_replica(p, SLICE("127.0.0.1"), 7001);
    hear(SPEAKER ",0" AT_HOME "0");
    hear(SPEAKER ",4,m,127.0.0.1,7001,4");
    assert_string_equal(watching_told,
                        "+new-epoch 4\n"
                        "+config-update-from " SHOWN_SPEAKER
                        "\n"
                        "+switch-master m 127.0.0.1 7000 127.0.0.1 7001\n"
                        "+slave slave 127.0.0.1:7000 127.0.0.1 7000 @ m 127.0.0.1 7001\n");
    assert_int_equal(p->config_epoch, 4);
    hear(SPEAKER ",4" AT_HOME "3"); /* an older one */
    assert_string_equal(watching_told, "");
    assert_int_equal(p->instance.address.port, 7001);
    hear(SPEAKER ",5,m,127.0.0.1,7001,5"); /* newer, and the address is the same */
    assert_string_equal(watching_told, "+new-epoch 5\n");
    assert_int_equal(p->config_epoch, 5);
}

static void test_hello_with_our_epoch_and_another_address(void **state) {
    hear(SPEAKER ",0" AT_HOME "0");
    hear(SPEAKER ",0,m,127.0.0.1,7009,0"); /* no failover has made either */
    assert_string_equal(watching_told, "");
    p->config_epoch = 2;
    sentinel_settings_change()->epoch = 2;
    p->instance.last_hello_sent = 1;
    hear(SPEAKER ",2,m,127.0.0.1,7009,2");
    assert_int_equal(p->instance.address.port, 7000);
    assert_true(p->config_epoch > 2);
    assert_int_equal(p->config_epoch, sentinel_settings()->epoch);
    assert_int_equal(p->instance.last_hello_sent, 0); /* told at once */
    uint64_t epoch = p->config_epoch;
    char same[160];
    snprintf(same, sizeof(same), SPEAKER ",%d,m,127.1,7000,%d", (int)epoch, (int)epoch);
    hear(same); /* our address in another form */
    assert_int_equal(p->config_epoch, epoch);
}

/* ---- opinions ---- */

static struct voter *add_voter(void) {
    return sentinel_add_voter(p, SLICE("127.0.0.1"), 8000, SLICE(WATCHING_OTHER_ID));
}

static void answer(struct voter *v, const char *bytes) {
    static const struct peer_limits limits = {1000, 100};
    const char *cursor = bytes;
    struct peer_parser *parser = peer_parser_create(MEMORY_OTHER, &limits);
    assert_int_equal(peer_parse(parser, &cursor, bytes + strlen(bytes)), PEER_PARSE_READY);
    sentinel_intake_opinion(v, peer_parser_reply(parser));
    peer_parser_free(parser);
}

static void test_opinions(void **state) {
    struct voter *v = add_voter();
    answer(v, "*3\r\n:1\r\n$1\r\n*\r\n:0\r\n");
    assert_true(v->instance.flags & INSTANCE_SAYS_DOWN);
    assert_string_equal(v->leader, "");
    assert_int_equal(v->said_at, clock_monotonic_msec());
    answer(v, "*3\r\n:0\r\n$40\r\n" WATCHING_THIRD_ID "\r\n:5\r\n");
    assert_false(v->instance.flags & INSTANCE_SAYS_DOWN);
    assert_string_equal(v->leader, WATCHING_THIRD_ID);
    assert_int_equal(v->leader_epoch, 5);
    answer(v, "*3\r\n:1\r\n$1\r\n*\r\n:0\r\n"); /* says nothing about a vote */
    assert_string_equal(v->leader, WATCHING_THIRD_ID);
}

static void test_opinions_of_another_form(void **state) {
    struct voter *v = add_voter();
    const char *const bad[] = {"-ERR no\r\n",
                               "*0\r\n",
                               "*2\r\n:1\r\n:1\r\n",
                               "*4\r\n:1\r\n$1\r\n*\r\n:0\r\n:0\r\n",
                               "*3\r\n$1\r\n1\r\n$1\r\n*\r\n:0\r\n",
                               "*3\r\n:1\r\n:1\r\n:0\r\n",
                               "*3\r\n:1\r\n*1\r\n:1\r\n:0\r\n"};
    for (size_t k = 0; k < sizeof(bad) / sizeof(bad[0]); k++) {
        answer(v, bad[k]);
        assert_int_equal(v->said_at, 0);
        assert_int_equal(v->instance.flags, 0);
    }
    answer(v, "*3\r\n:1\r\n$5\r\nshort\r\n:1\r\n"); /* no id: no vote */
    assert_string_equal(v->leader, "");
    answer(v, "*3\r\n:1\r\n$40\r\n" WATCHING_THIRD_ID "\r\n:-1\r\n");
    assert_string_equal(v->leader, "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_info_of_a_primary, begin, end),
        cmocka_unit_test_setup_teardown(test_info_of_a_replica, begin, end),
        cmocka_unit_test_setup_teardown(test_hello_that_counts_for_nothing, begin, end),
        cmocka_unit_test_setup_teardown(test_hello_of_a_new_sentinel, begin, end),
        cmocka_unit_test_setup_teardown(test_hello_of_one_that_has_moved, begin, end),
        cmocka_unit_test_setup_teardown(test_hello_of_a_former_self, begin, end),
        cmocka_unit_test_setup_teardown(test_hello_of_another_at_the_address, begin, end),
        cmocka_unit_test_setup_teardown(test_hello_beyond_the_bound, begin, end),
        cmocka_unit_test_setup_teardown(test_hello_of_a_newer_configuration, begin, end),
        cmocka_unit_test_setup_teardown(test_hello_with_our_epoch_and_another_address, begin, end),
        cmocka_unit_test_setup_teardown(test_opinions, begin, end),
        cmocka_unit_test_setup_teardown(test_opinions_of_another_form, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
