/* SPDX-License-Identifier: BSD-3-Clause
 * Table work in idle time: it rests for a while after a child, and is done then.
 */
#include "server/cron.h"

#include "save/saver.h"
#include "server/whole.h"

#include "ds/table.h"
#include "io/child.h"
#include "store/key_map.h"

#define REST_MSEC 2000
#define KEYS 20000

static struct peer client;

static int begin(void **state) {
    int failed = whole_begin(state);
    client = peer_connect();
    return failed;
}

static int end(void **state) {
    peer_close(&client);
    return whole_nothing_left(state);
}

static size_t merges(void) {
    struct table_stats s;
    table_stats(keyspace_map(keyspace_at(0))->table, &s);
    return s.merges;
}

static void test_rest_after_a_child(void **state) {
    char line[64];
    snprintf(line, sizeof(line), "DEBUG POPULATE %d\r\nDEBUG SAVING-CHILD 1\r\n", KEYS);
    peer_send(&client, slice_of(line));
    for (int i = 0; i < KEYS - KEYS / 25; i++) {
        snprintf(line, sizeof(line), "DEL key:%d\r\n", i);
        peer_send(&client, slice_of(line));
    }
    peer_send(&client, SLICE("DEBUG SAVING-CHILD 0\r\n"));
    cron_child_observer.gone(&saver_snapshot);
    clock_advance_usec(1000);
    assert_true(table_owes(keyspace_map(keyspace_at(0))->table));
    size_t before = merges();
    clock_advance_usec((REST_MSEC - 2) * 1000);
    assert_false(cron_idle_step());
    assert_int_equal(merges(), before);
    clock_advance_usec(1000);
    assert_true(cron_idle_step());
    assert_true(merges() > before);
}

static int open(void **state) { return whole_open(); }

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_rest_after_a_child, begin, end),
    };
    return cmocka_run_group_tests(tests, open, NULL);
}
