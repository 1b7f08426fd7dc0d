/* SPDX-License-Identifier: BSD-3-Clause
 * The cluster's gate: calls are redirected by what serves keys, alone, within MULTI, and in code.
 */
#include "cluster/gate.h"

#include "command/call_make.h"
#include "command/command.h"
#include "exec/gates.h"
#include "exec/run.h"
#include "server/whole.h"

static char served = 'a'; /* keys that begin with it are this node's */

static bool is_served(const struct call *call, void *context) {
    bool *all = context;
    *all = call->argc < 2 || call->argv[1].bytes[0] == served;
    return *all;
}

static bool serves(const struct call *call, struct buffer *refusal) {
    bool all = true;
    gate_each_call(call, is_served, &all);
    if (!all) buffer_append_c_string(refusal, "-MOVED 1 127.0.0.1:1");
    return all;
}

static void test_requests(void **state) {
    struct peer p = peer_connect();
    cluster_gate_set(serves);
    assert_true(gate_is_set(&cluster_gate));
    whole_say(&p, "get a", "$-1\r\n");
    uint64_t rejected = command_find(SLICE("get"))->rejected_calls;
    whole_say(&p, "get b", "-MOVED 1 127.0.0.1:1\r\n");
    assert_int_equal(command_find(SLICE("get"))->rejected_calls, rejected + 1);
    whole_say(&p, "multi", "+OK\r\n");
    whole_say(&p, "get b", "-MOVED 1 127.0.0.1:1\r\n");
    whole_say(&p, "exec", "-EXECABORT Transaction discarded because of previous errors.\r\n");
    cluster_gate_set(NULL);
    assert_false(gate_is_set(&cluster_gate));
    whole_say(&p, "get b", "$-1\r\n");
    peer_close(&p);
}

/* EXEC is asked as all that is queued, of which another node may have taken a key meanwhile. It
 * gets the redirection itself, and the transaction is over. */
static void test_exec(void **state) {
    struct peer p = peer_connect();
    cluster_gate_set(serves);
    whole_say(&p, "multi", "+OK\r\n");
    whole_say(&p, "ping", "+QUEUED\r\n");
    whole_say(&p, "get a", "+QUEUED\r\n");
    served = 'b';
    whole_say(&p, "exec", "-MOVED 1 127.0.0.1:1\r\n");
    whole_say(&p, "exec", "-ERR EXEC without MULTI\r\n");
    whole_say(&p, "multi", "+OK\r\n");
    whole_say(&p, "get b", "+QUEUED\r\n");
    whole_say(&p, "exec", "*1\r\n$-1\r\n");
    served = 'a';
    cluster_gate_set(NULL);
    peer_close(&p);
}

/* A script gets the text, and its client is told nothing. */
static void test_scripts(void **state) {
    struct peer p = peer_connect();
    struct buffer refusal;
    const struct slice argv[] = {SLICE("get"), SLICE("b")};
    buffer_init(&refusal, MEMORY_OTHER);
    cluster_gate_set(serves);
    struct call call;
    call_make(&call, CALL_SCRIPT, p.client,
              (struct call_parts){
                  .command = command_find(argv[0]), .argc = 2, .argv = argv, .refusal = &refusal});
    assert_int_equal(call_run(&call), GATE_REFUSED);
    assert_true(slice_is(buffer_slice(&refusal), "-MOVED 1 127.0.0.1:1"));
    cluster_gate_set(NULL);
    buffer_free(&refusal);
    whole_say(&p, "ping", "+PONG\r\n");
    peer_close(&p);
}

static int open_all(void **state) { return whole_open(); }

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, whole_begin, whole_nothing_left)
    const struct CMUnitTest tests[] = {
        TEST(test_requests),
        TEST(test_exec),
        TEST(test_scripts),
    };
#undef TEST
    return cmocka_run_group_tests(tests, open_all, NULL);
}
