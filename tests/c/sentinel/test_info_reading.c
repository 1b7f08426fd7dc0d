/* SPDX-License-Identifier: BSD-3-Clause
 * INFO as a Sentinel reads it: of primaries, of replicas, and of servers that are broken.
 */
#include "sentinel/info_reading.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define ID "0123456789abcdef0123456789abcdef01234567"
#define OTHER_ID "fedcba9876543210fedcba98765432100123abcd"
#define HAS_ALL                                                                 \
    (SENTINEL_INFO_HAS_HOST | SENTINEL_INFO_HAS_PORT | SENTINEL_INFO_HAS_LINK | \
     SENTINEL_INFO_HAS_PRIORITY | SENTINEL_INFO_HAS_OFFSET | SENTINEL_INFO_HAS_ANNOUNCED)

static struct sentinel_info info;

static void read_text(const char *text) {
    memset(&info, 0xff, sizeof(info)); /* nothing of it may be left */
    sentinel_info_read(slice_of(text), &info);
}

static void test_a_primary(void **state) {
    read_text("# Server\r\nredis_version:6.2.16\r\nrun_id:" ID
              "\r\n\r\n# Replication\r\nrole:master\r\n"
              "connected_slaves:3\r\n"
              "slave0:ip=127.0.0.1,port=6380,state=online,offset=100,lag=0\r\n"
              "slave1:ip=::1,port=6381,state=wait_bgsave,offset=0,lag=0\r\n"
              "slave10:ip=db-1.example.org,port=65535,state=online,offset=1,lag=1\r\n"
              "master_failover_state:no-failover\r\nmaster_repl_offset:14\r\n");
    assert_true(slice_is(info.run_id, ID));
    assert_int_equal(info.role, SENTINEL_INFO_PRIMARY);
    assert_int_equal(info.has, 0);
    assert_int_equal(info.replica_count, 3);
    assert_true(slice_is(info.replicas[0].host, "127.0.0.1"));
    assert_int_equal(info.replicas[0].port, 6380);
    assert_true(slice_is(info.replicas[1].host, "::1"));
    assert_int_equal(info.replicas[1].port, 6381);
    assert_true(slice_is(info.replicas[2].host, "db-1.example.org"));
    assert_int_equal(info.replicas[2].port, 65535);
    assert_int_equal(info.link_down_msec, 0);
    assert_int_equal(info.replicas_left_out, 0);
}

static const char replica_text[] =
    "run_id:" ID
    "\r\nrole:slave\r\nmaster_host:10.0.0.1\r\nmaster_port:6379\r\n"
    "master_link_status:down\r\nmaster_last_io_seconds_ago:-1\r\nmaster_sync_in_progress:0\r\n"
    "slave_read_repl_offset:5\r\nslave_repl_offset:1234567890123\r\n"
    "master_link_down_since_seconds:17\r\nslave_priority:90\r\nslave_read_only:1\r\n"
    "replica_announced:0\r\nconnected_slaves:1\r\n"
    "slave0:ip=127.0.0.1,port=6390,state=online,offset=100,lag=0\r\n";

static void test_a_replica(void **state) {
    read_text(replica_text);
    assert_int_equal(info.role, SENTINEL_INFO_REPLICA);
    assert_int_equal(info.has, HAS_ALL);
    assert_true(slice_is(info.primary_host, "10.0.0.1"));
    assert_int_equal(info.primary_port, 6379);
    assert_false(info.link_up);
    assert_int_equal(info.link_down_msec, 17000);
    assert_int_equal(info.priority, 90);
    assert_int_equal(info.offset, INT64_C(1234567890123));
    assert_false(info.announced);
    assert_int_equal(info.replica_count, 1); /* its own; whoever reads it minds the role */
}

static void test_fields_of_a_replica_count_below_its_role_only(void **state) {
    read_text("slave_priority:7\r\nmaster_host:10.0.0.1\r\nrole:slave\r\nslave_priority:9\r\n");
    assert_int_equal(info.has, SENTINEL_INFO_HAS_PRIORITY);
    assert_int_equal(info.priority, 9);
    read_text("role:master\r\nmaster_host:10.0.0.1\r\nslave_priority:9\r\nmaster_port:1\r\n");
    assert_int_equal(info.has, 0);
}

static void test_the_old_form_of_replicas(void **state) {
    read_text("role:master\r\nslave0:10.0.0.7,6380,online\r\nslave1:10.0.0.8,6381\r\n");
    assert_int_equal(info.replica_count, 2);
    assert_true(slice_is(info.replicas[0].host, "10.0.0.7"));
    assert_int_equal(info.replicas[0].port, 6380);
    assert_int_equal(info.replicas[1].port, 6381);
}

static void test_lines_may_end_in_a_bare_newline(void **state) {
    read_text("role:slave\nmaster_link_status:up\nrun_id:" OTHER_ID);
    assert_int_equal(info.role, SENTINEL_INFO_REPLICA);
    assert_true(info.link_up);
    assert_true(slice_is(info.run_id, OTHER_ID));
}

/* Each of these lines counts as missing. */
static const char *const bad_lines[] = {
    "run_id:",
    "run_id:0123",
    "run_id:" ID "0",
    "run_id:z123456789abcdef0123456789abcdef01234567",
    "role:",
    "role:sentinel",
    "role",
    "slave0:",
    "slave0:ip=,port=1",
    "slave0:ip=h,port=",
    "slave0:ip=h,port=0",
    "slave0:ip=h,port=65536",
    "slave0:ip=h",
    "slave0:port=1",
    "slave0:ip=h h,port=1",
    "slave0:ip=h\",port=1",
    "slave0:h",
    "slave0:h,",
    "slave0:h,x",
    "slave0:,1,online",
    "slavex:ip=h,port=1",
    "slave0x:ip=h,port=1",
    "slave0",
    "slave",
    "slave:",
    "slave0:xip=h,xport=1",
    "master_host:",
    "master_host:a b",
    "master_host:a,b",
    "master_port:0",
    "master_port:-1",
    "master_port:66000",
    "slave_priority:-1",
    "slave_priority:2147483648",
    "slave_priority:",
    "slave_priority:1x",
    "slave_repl_offset:-1",
    "slave_repl_offset:9223372036854775808",
    "slave_repl_offset:",
    "replica_announced:",
    "replica_announced:yes",
    "master_link_down_since_seconds:",
    "master_link_down_since_seconds:x",
    "master_link_down_since_seconds:99999999999999999999",
    ":",
    "",
    "\r",
    "=",
    ",",
};

static void test_a_line_that_cannot_be_right_is_missing(void **state) {
    for (size_t at = 0; at < sizeof(bad_lines) / sizeof(bad_lines[0]); at++) {
        struct buffer text;
        buffer_init(&text, MEMORY_OTHER);
        buffer_printf(&text, "role:slave\r\n%s\r\n", bad_lines[at]);
        read_text(text.bytes);
        if (info.role != SENTINEL_INFO_REPLICA || info.has || info.replica_count ||
            info.run_id.length || info.link_down_msec)
            fail_msg("%s", bad_lines[at]);
        buffer_free(&text);
    }
}

static void test_a_link_that_was_never_up(void **state) {
    read_text("role:slave\r\nmaster_link_down_since_seconds:-1\r\n");
    assert_int_equal(info.link_down_msec, -1000);
    read_text("role:slave\r\nmaster_link_down_since_seconds:-9223372036854775808\r\n");
    assert_int_equal(info.link_down_msec, -1000);
    read_text("role:slave\r\nmaster_link_down_since_seconds:9223372036854775807\r\n");
    assert_int_equal(info.link_down_msec, INT64_MAX / 1000 * 1000);
}

static void test_later_lines_count(void **state) {
    read_text("role:slave\r\nrole:master\r\nrun_id:" ID "\r\nrun_id:" OTHER_ID "\r\n");
    assert_int_equal(info.role, SENTINEL_INFO_PRIMARY);
    assert_true(slice_is(info.run_id, OTHER_ID));
}

static void test_replicas_are_bounded(void **state) {
    struct buffer text;
    buffer_init(&text, MEMORY_OTHER);
    for (int at = 0; at < SENTINEL_REPLICAS_MAX + 3; at++)
        buffer_printf(&text, "slave%d:ip=10.0.0.1,port=%d,state=online\r\n", at, at + 1);
    read_text(text.bytes);
    assert_int_equal(info.replica_count, SENTINEL_REPLICAS_MAX);
    assert_int_equal(info.replicas[SENTINEL_REPLICAS_MAX - 1].port, SENTINEL_REPLICAS_MAX);
    assert_int_equal(info.replicas_left_out, 3);
    buffer_free(&text);
}

static void test_nothing(void **state) {
    read_text("");
    assert_int_equal(info.role, SENTINEL_INFO_NO_ROLE);
    assert_int_equal(info.replica_count, 0);
    sentinel_info_read((struct slice){NULL, 0}, &info);
    assert_int_equal(info.has, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_primary),
        cmocka_unit_test(test_a_replica),
        cmocka_unit_test(test_fields_of_a_replica_count_below_its_role_only),
        cmocka_unit_test(test_the_old_form_of_replicas),
        cmocka_unit_test(test_lines_may_end_in_a_bare_newline),
        cmocka_unit_test(test_a_line_that_cannot_be_right_is_missing),
        cmocka_unit_test(test_a_link_that_was_never_up),
        cmocka_unit_test(test_later_lines_count),
        cmocka_unit_test(test_replicas_are_bounded),
        cmocka_unit_test(test_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
