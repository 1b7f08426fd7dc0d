/* SPDX-License-Identifier: BSD-3-Clause
 * Flushing: what hears of FLUSHDB and FLUSHALL, of which database, and when.
 */
#include "exec/flush.h"

#include "exec/edit.h"
#include "server/whole.h"

static struct peer client;

#define TOLD_MAX 8

static struct told_flush {
    char when; /* b: before; d: done; capital letters are the second observer's */
    int database;
    size_t keys; /* in all databases */
} told[TOLD_MAX];
static int told_count;

static void note(char when, int database) {
    struct told_flush *t = &told[told_count++];
    assert_in_range(told_count, 1, TOLD_MAX);
    *t = (struct told_flush){when, database, 0};
    for (int i = 0; i < keyspace_databases(); i++) t->keys += keyspace_count(keyspace_at(i));
}

static void first_before(int database) { note('b', database); }
static void first_done(int database) { note('d', database); }
static void second_before(int database) { note('B', database); }
static void second_done(int database) { note('D', database); }

static const struct flush_observer first = {first_before, first_done};
static const struct flush_observer second = {second_before, second_done};
static const struct flush_observer *const observers[] = {&first, &second, NULL};

/* All four were told, in order, of this database; and so many keys were there. */
static void assert_told(int database, size_t before, size_t after) {
    static const char order[] = "bBdD";
    assert_int_equal(told_count, 4);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(told[i].when, order[i]);
        assert_int_equal(told[i].database, database);
        assert_int_equal(told[i].keys, i < 2 ? before : after);
    }
    told_count = 0;
}

static void set_keys(void) {
    whole_say(&client, "SELECT 0", "+OK\r\n");
    whole_say(&client, "MSET a 1 b 2", "+OK\r\n");
    whole_say(&client, "SELECT 3", "+OK\r\n");
    whole_say(&client, "SET c 3", "+OK\r\n");
}

static void test_flushdb_names_its_database(void **state) {
    set_keys();
    whole_say(&client, "FLUSHDB", "+OK\r\n");
    assert_told(3, 3, 2);
    whole_say(&client, "SELECT 0", "+OK\r\n");
    whole_say(&client, "FLUSHDB ASYNC", "+OK\r\n");
    assert_told(0, 2, 0);
}

static void test_flushall_names_all(void **state) {
    set_keys();
    whole_say(&client, "FLUSHALL", "+OK\r\n");
    assert_told(FLUSH_ALL, 3, 0);
    whole_say(&client, "FLUSHALL SYNC", "+OK\r\n");
    assert_told(FLUSH_ALL, 0, 0);
}

static void test_a_fault_is_no_flush(void **state) {
    whole_say(&client, "FLUSHDB now", "-ERR syntax error\r\n");
    whole_say(&client, "FLUSHALL ASYNC SYNC", "-ERR syntax error\r\n");
    assert_int_equal(told_count, 0);
}

/* They hear of it where it runs, not where it is queued. */
static void test_within_a_transaction(void **state) {
    set_keys();
    whole_say(&client, "MULTI", "+OK\r\n");
    whole_say(&client, "FLUSHDB", "+QUEUED\r\n");
    whole_say(&client, "SET d 4", "+QUEUED\r\n");
    assert_int_equal(told_count, 0);
    whole_say(&client, "EXEC", "*2\r\n+OK\r\n+OK\r\n");
    assert_told(3, 3, 2);
}

/* Each option says its own thing only. */
static void test_options_of_users(void **state) {
    assert_false(flush_is_lazy() || edit_user_deletes_lazily());
    whole_say(&client, "CONFIG SET lazyfree-lazy-user-flush yes", "+OK\r\n");
    assert_true(flush_is_lazy() && !edit_user_deletes_lazily());
    whole_say(&client, "CONFIG SET lazyfree-lazy-user-del yes", "+OK\r\n");
    whole_say(&client, "CONFIG SET lazyfree-lazy-user-flush no", "+OK\r\n");
    assert_true(!flush_is_lazy() && edit_user_deletes_lazily());
    assert_false(lazyfree_wanted(LAZYFREE_SERVER_DEL) || lazyfree_wanted(LAZYFREE_EXPIRE));
    whole_say(&client, "CONFIG SET lazyfree-lazy-user-del no", "+OK\r\n");
}

static int setup(void **state) {
    int failed = whole_open();
    flush_set_observers(observers);
    return failed;
}

static int begin(void **state) {
    int failed = whole_begin(state);
    client = peer_connect();
    told_count = 0;
    return failed;
}

static int end(void **state) {
    peer_close(&client);
    return whole_nothing_left(state);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_flushdb_names_its_database), TEST(test_flushall_names_all),
        TEST(test_a_fault_is_no_flush),        TEST(test_within_a_transaction),
        TEST(test_options_of_users),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
