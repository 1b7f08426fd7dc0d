/* SPDX-License-Identifier: BSD-3-Clause
 * Making calls: what a call has of its client, of its parts, and of the call around it.
 */
#include "command/call_make.h"

#include "command/command.h"
#include "server/whole.h"

static void test_parts(void **state) {
    struct peer p = peer_connect();
    const struct slice argv[] = {SLICE("set"), SLICE("k"), SLICE("v")};
    struct blob *blobs[3] = {NULL};
    struct buffer refusal = {.class = MEMORY_OTHER};
    whole_say(&p, "select 3", "+OK\r\n");
    struct call call;
    call_make(&call, CALL_SCRIPT, p.client,
              (struct call_parts){.command = command_find(argv[0]),
                                  .argc = 3,
                                  .argv = argv,
                                  .blobs = blobs,
                                  .hashed = 1,
                                  .key_hash = 42,
                                  .refusal = &refusal});
    assert_ptr_equal(call.client, p.client);
    assert_ptr_equal(call.command, command_find(SLICE("set")));
    assert_ptr_equal(call.keyspace, keyspace_at(3));
    assert_int_equal(call.origin, CALL_SCRIPT);
    assert_int_equal(call.argc, 3);
    assert_ptr_equal(call.argv, argv);
    assert_ptr_equal(call.blobs, blobs);
    assert_int_equal(call_key_hash(&call, 1), 42);
    assert_ptr_equal(call.refusal, &refusal);
    assert_null(call.request);
    peer_close(&p);
}

static void test_request(void **state) {
    struct peer p = peer_connect();
    struct slice argv[] = {SLICE("get"), SLICE("k")};
    struct command *get = command_find(argv[0]);
    struct request r = {.client = p.client, .argv = argv, .argc = 2, .hashed = 1, .key_hash = 7};
    r.command = get;
    struct call call;
    call_of_request(&call, CALL_PRIMARY, &r);
    assert_ptr_equal(call.request, &r);
    assert_ptr_equal(call.client, p.client);
    assert_ptr_equal(call.command, get);
    assert_ptr_equal(call.keyspace, keyspace_at(0));
    assert_int_equal(call.origin, CALL_PRIMARY);
    assert_int_equal(call_key_hash(&call, 1), 7);
    assert_null(call.refusal);
    assert_ptr_equal(p.client->command, get);
    peer_close(&p);
}

/* What runs within a call that is done again is done again, too. */
static void test_origin_within(void **state) {
    for (int origin = 0; origin < CALL_ORIGINS; origin++) {
        struct call outer = {.origin = (enum call_origin)origin};
        bool again = origin == CALL_PRIMARY || origin == CALL_QUEUED_AGAIN || origin == CALL_LOG;
        assert_int_equal(call_origin_within(&outer, CALL_SCRIPT, CALL_SCRIPT_AGAIN),
                         again ? CALL_SCRIPT_AGAIN : CALL_SCRIPT);
        assert_int_equal(call_origin_within(&outer, CALL_QUEUED, CALL_QUEUED_AGAIN),
                         again ? CALL_QUEUED_AGAIN : CALL_QUEUED);
    }
}

static int open_all(void **state) { return whole_open(); }

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, whole_begin, whole_nothing_left)
    const struct CMUnitTest tests[] = {
        TEST(test_parts),
        TEST(test_request),
        TEST(test_origin_within),
    };
#undef TEST
    return cmocka_run_group_tests(tests, open_all, NULL);
}
