/* SPDX-License-Identifier: BSD-3-Clause
 * Keys that clients of a writable replica gave a deadline: the replica deletes these, and no other.
 */
#include "replication/own_keys.h"

#include "metric/metric.h"
#include "option/settings.h"
#include "replication/fake_primary.h"

static struct fake_primary f;
static struct peer p;

static int begin(void **state) {
    fake_begin(state);
    f = fake_open();
    fake_link_up(&f);
    assert_takes("replica-read-only", "no", "no");
    p = peer_connect();
    return 0;
}

static int end(void **state) {
    peer_close(&p);
    assert_takes("replica-read-only", "yes", "yes");
    fake_close(&f);
    return whole_nothing_left(state);
}

static void apply(const char *text) {
    int64_t place = history_place() + (int64_t)strlen(text);
    fake_say(&f, text);
    FAKE_UNTIL(&f, history_place() == place);
}

static void assert_tracked(const char *count) {
    peer_send(&p, SLICE("info stats\r\n"));
    buffer_append_char(&p.got, '\0');
    const char *field = strstr(p.got.bytes, "slave_expires_tracked_keys:");
    assert_non_null(field);
    field += strlen("slave_expires_tracked_keys:");
    if (memcmp(field, count, strlen(count)) != 0) fail_msg("%s wanted, got %.5s", count, field);
    assert_int_equal(field[strlen(count)], '\r');
    buffer_clear(&p.got);
}

static void test_deleted(void **state) {
    assert_answer(&p, "set a 1 px 100", "+OK\r\n");
    assert_answer(&p, "set b 1", "+OK\r\n");
    assert_answer(&p, "pexpire b 100", ":1\r\n");
    assert_answer(&p, "eval \"redis.call('set','c',1,'px',100)\" 0", "$-1\r\n");
    assert_answer(&p, "set d 1 px 1000000", "+OK\r\n");
    assert_tracked("4");
    fake_pass_seconds();
    assert_answer(&p, "dbsize", ":1\r\n");
    assert_tracked("1");
    assert_answer(&p, "persist d", ":1\r\n");
    assert_tracked("0");
}

/* The primary's keys stay, hidden, until it says so; one that it changes is its own from then on.
 */
static void test_primarys(void **state) {
    apply("*5\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\n1\r\n$2\r\nPX\r\n$3\r\n100\r\n");
    assert_answer(&p, "set b 1 px 100", "+OK\r\n");
    assert_tracked("1");
    apply("*3\r\n$7\r\nPEXPIRE\r\n$1\r\nb\r\n$3\r\n100\r\n");
    assert_tracked("0");
    fake_pass_seconds();
    assert_answer(&p, "get a", "$-1\r\n");
    assert_answer(&p, "get b", "$-1\r\n");
    assert_answer(&p, "dbsize", ":2\r\n");
    apply("*3\r\n$3\r\nDEL\r\n$1\r\na\r\n$1\r\nb\r\n");
    assert_answer(&p, "dbsize", ":0\r\n");
}

/* Where the databases are emptied or exchanged, and where the server is no replica any more. */
static void test_forgotten(void **state) {
    assert_answer(&p, "set a 1 px 1000000", "+OK\r\n");
    assert_answer(&p, "select 1", "+OK\r\n");
    assert_answer(&p, "set a 1 px 1000", "+OK\r\n");
    assert_tracked("2");
    assert_answer(&p, "flushdb", "+OK\r\n");
    assert_tracked("1");
    assert_answer(&p, "set a 1 px 100", "+OK\r\n");
    assert_answer(&p, "swapdb 0 1", "+OK\r\n");
    fake_pass_seconds();
    assert_answer(&p, "dbsize", ":1\r\n");
    assert_tracked("1"); /* the other's deadline is still to come */
    link_stop_following();
    assert_tracked("0");
    assert_answer(&p, "flushall", "+OK\r\n");
}

static void test_read_only(void **state) {
    assert_answer(&p, "set a 1 px 100", "+OK\r\n");
    assert_takes("replica-read-only", "yes", "yes");
    fake_pass_seconds();
    assert_answer(&p, "dbsize", ":0\r\n");
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(test_deleted),
        TEST(test_primarys),
        TEST(test_forgotten),
        TEST(test_read_only),
    };
    if (whole_open() != 0) return 1;
    make_script_client();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
