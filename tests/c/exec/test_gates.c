/* SPDX-License-Identifier: BSD-3-Clause
 * Gates: each state of the server stops what 6.2 stops, in its words and its order, for the origins
 * that its row names; and a call runs without a batch.
 */
#include "exec/gates.h"

#include "command/call.h"
#include "command/command.h"
#include "exec/gate_rows.h"
#include "exec/run.h"
#include "server/whole.h"

#define LOADING "-LOADING Redis is loading the dataset in memory\r\n"
#define STALE \
    "-MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.\r\n"
#define READ_ONLY "-READONLY You can't write against a read only replica.\r\n"
#define REPLICAS "-NOREPLICAS Not enough good replicas to write.\r\n"
#define BUSY                                                                                  \
    "-BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE." \
    "\r\n"
#define DISK                                                                                   \
    "-MISCONF Redis is configured to save RDB snapshots, but it is currently not able to "     \
    "persist on disk. Commands that may modify the data set are disabled, because this "       \
    "instance is configured to report errors during writes if RDB snapshotting fails "         \
    "(stop-writes-on-bgsave-error option). Please check the Redis logs for details about the " \
    "RDB error.\r\n"

/* Inline requests: a line, and what it is answered. */
static void say(struct peer *p, const char *line, const char *reply) {
    peer_send(p, slice_of(line));
    peer_send(p, SLICE("\r\n"));
    peer_assert_got(p, slice_of(reply));
}

static uint64_t rejected(const char *name) { return command_find(slice_of(name))->rejected_calls; }

static void test_each_refuses(void **state) {
    static const struct {
        enum gate gate;
        const char *refusal;
        const char *stopped[3], *passes, *reply;
    } cases[] = {
        {GATE_DISK, DISK, {"set a b", "ping", "append a b"}, "get nokey", "$-1\r\n"},
        {GATE_REPLICAS, REPLICAS, {"set a b", "del a", "append a b"}, "ping", "+PONG\r\n"},
        {GATE_READ_ONLY, READ_ONLY, {"set a b", "del a", "append a b"}, "get nokey", "$-1\r\n"},
        {GATE_STALE, STALE, {"get a", "set a b", "echo a"}, "ping", "+PONG\r\n"},
        {GATE_LOADING, LOADING, {"get a", "set a b", "ping"}, "select 0", "+OK\r\n"},
        {GATE_BUSY, BUSY, {"get a", "set a b", "ping"}, "unwatch", "+OK\r\n"},
    };
    struct peer p = peer_connect();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        gate_set(cases[i].gate, true);
        uint64_t before = rejected("set") + rejected("ping");
        for (int j = 0; j < 3; j++) say(&p, cases[i].stopped[j], cases[i].refusal);
        assert_true(rejected("set") + rejected("ping") > before);
        say(&p, cases[i].passes, cases[i].reply);
        gate_set(cases[i].gate, false);
        say(&p, "set a b", "+OK\r\n");
        say(&p, "ping", "+PONG\r\n");
    }
    peer_close(&p);
}

/* With all on, the first in 6.2's order speaks; unknown commands and wrong counts before them. */
static void test_order(void **state) {
    static const struct {
        enum gate gate;
        const char *refusal;
    } order[] = {{GATE_DISK, DISK},   {GATE_REPLICAS, REPLICAS}, {GATE_READ_ONLY, READ_ONLY},
                 {GATE_STALE, STALE}, {GATE_LOADING, LOADING},   {GATE_BUSY, BUSY}};
    size_t count = sizeof(order) / sizeof(order[0]);
    struct peer p = peer_connect();
    for (size_t i = 0; i < count; i++) gate_set(order[i].gate, true);
    say(&p, "set a", "-ERR wrong number of arguments for 'set' command\r\n");
    say(&p, "nosuch", "-ERR unknown command `nosuch`, with args beginning with: \r\n");
    for (size_t i = 0; i < count; i++) {
        say(&p, "set a b", order[i].refusal);
        gate_set(order[i].gate, false);
    }
    say(&p, "set a b", "+OK\r\n");
    peer_close(&p);
}

/* EXEC is stopped by what would stop a command that it is to run, and a refused command makes it
 * fail. */
static void test_transactions(void **state) {
    struct peer p = peer_connect();
    say(&p, "multi", "+OK\r\n");
    say(&p, "set a b", "+QUEUED\r\n");
    gate_set(GATE_READ_ONLY, true);
    say(&p, "exec",
        "-EXECABORT Transaction discarded because of: READONLY You can't write against a read "
        "only replica.\r\n");
    say(&p, "multi", "+OK\r\n");
    say(&p, "get a", "+QUEUED\r\n");
    say(&p, "exec", "*1\r\n$-1\r\n");
    say(&p, "multi", "+OK\r\n");
    say(&p, "set a b", READ_ONLY);
    say(&p, "exec", "-EXECABORT Transaction discarded because of previous errors.\r\n");
    gate_set(GATE_READ_ONLY, false);

    say(&p, "multi", "+OK\r\n");
    say(&p, "ping", "+QUEUED\r\n");
    say(&p, "echo a", "+QUEUED\r\n"); /* this one alone may not run where keys are stale */
    gate_set(GATE_STALE, true);
    say(&p, "exec",
        "-EXECABORT Transaction discarded because of: MASTERDOWN Link with MASTER is down and "
        "replica-serve-stale-data is set to 'no'.\r\n");
    say(&p, "multi", "+OK\r\n");
    say(&p, "ping", "+QUEUED\r\n");
    say(&p, "exec", "*1\r\n+PONG\r\n");
    gate_set(GATE_STALE, false);
    peer_close(&p);
}

static void test_other_text(void **state) {
    struct peer p = peer_connect();
    gate_set(GATE_DISK, true);
    gate_set_refusal(GATE_DISK, "-MISCONF Errors writing to the AOF file: No space");
    say(&p, "set a b", "-MISCONF Errors writing to the AOF file: No space\r\n");
    gate_set_refusal(GATE_DISK, NULL);
    say(&p, "set a b", DISK);
    gate_set(GATE_DISK, false);
    peer_close(&p);
}

/* Serves what begins with "a". */
static bool serves_a(const struct call *call, struct buffer *refusal) {
    if (call->argc < 2 || call->argv[1].bytes[0] == 'a') return true;
    buffer_append_c_string(refusal, "-MOVED 1 127.0.0.1:1");
    return false;
}

static void test_cluster(void **state) {
    struct peer p = peer_connect();
    gate_cluster_set(serves_a);
    say(&p, "get a", "$-1\r\n");
    say(&p, "get b", "-MOVED 1 127.0.0.1:1\r\n");
    say(&p, "multi", "+OK\r\n");
    say(&p, "get b", "-MOVED 1 127.0.0.1:1\r\n");
    say(&p, "exec", "-EXECABORT Transaction discarded because of previous errors.\r\n");
    gate_cluster_set(NULL);
    say(&p, "get b", "$-1\r\n");
    peer_close(&p);
}

static enum gate_verdict run_as(struct peer *p, enum call_origin origin, const char *a,
                                const char *b, const char *c) {
    struct slice argv[] = {slice_of(a), slice_of(b), slice_of(c)};
    struct call call = {.client = p->client,
                        .command = command_find(argv[0]),
                        .argc = 3,
                        .argv = argv,
                        .keyspace = keyspace_at(0),
                        .origin = origin};
    enum gate_verdict verdict = call_run(&call);
    reply_write_all();
    peer_receive(p, SIZE_MAX);
    return verdict;
}

/* Without a batch, by origin: what was logged or comes from the primary is stopped by nothing, a
 * script by what concerns what it writes. */
static void test_origins(void **state) {
    struct peer p = peer_connect();
    static const enum gate states[] = {GATE_DISK,  GATE_REPLICAS, GATE_READ_ONLY,
                                       GATE_STALE, GATE_LOADING,  GATE_BUSY};
    for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) gate_set(states[i], true);
    assert_int_equal(run_as(&p, CALL_LOG, "set", "a", "1"), GATE_OPEN);
    peer_assert_got(&p, SLICE("+OK\r\n"));
    assert_int_equal(run_as(&p, CALL_PRIMARY, "set", "a", "1"), GATE_OPEN);
    peer_assert_got(&p, SLICE("+OK\r\n"));
    /* Scripts have an order of their own, as in 6.2. */
    assert_int_equal(run_as(&p, CALL_SCRIPT, "set", "a", "1"), GATE_REFUSED);
    peer_assert_got(&p, SLICE(READ_ONLY));
    gate_set(GATE_READ_ONLY, false);
    assert_int_equal(run_as(&p, CALL_SCRIPT, "set", "a", "1"), GATE_REFUSED);
    peer_assert_got(&p, SLICE(DISK));
    gate_set(GATE_DISK, false);
    gate_set(GATE_REPLICAS, false); /* the others were asked when the script began */
    assert_int_equal(run_as(&p, CALL_SCRIPT, "set", "a", "1"), GATE_OPEN);
    peer_assert_got(&p, SLICE("+OK\r\n"));
    assert_int_equal(run_as(&p, CALL_NETWORK, "set", "a", "1"), GATE_REFUSED);
    peer_assert_got(&p, SLICE(STALE));
    for (int gate = 0; gate < GATES; gate++) gate_set((enum gate)gate, false);
    assert_true(gates_clear(p.client));
    uint64_t calls = call_count();
    assert_int_equal(run_as(&p, CALL_NETWORK, "set", "a", "1"), GATE_OPEN);
    peer_assert_got(&p, SLICE("+OK\r\n"));
    assert_int_equal(call_count(), calls + 1);
    assert_null(call_running());
    peer_close(&p);
}

/* The bit of maxmemory follows the option. */
static void test_memory(void **state) {
    struct peer p = peer_connect();
    option_set_text("maxmemory-policy", "noeviction");
    option_set_text("maxmemory", "1");
    assert_true(gate_is_set(GATE_MEMORY));
    say(&p, "set a b", "-OOM command not allowed when used memory > 'maxmemory'.\r\n");
    say(&p, "get nokey", "$-1\r\n");
    option_set_text("maxmemory", "0");
    assert_false(gate_is_set(GATE_MEMORY));
    say(&p, "set a b", "+OK\r\n");
    peer_close(&p);
}

static int open_all(void **state) { return whole_open(); }

static int begin(void **state) { return whole_begin(state); }

static int end(void **state) {
    for (int gate = 0; gate < GATES; gate++) gate_set((enum gate)gate, false);
    return whole_nothing_left(state);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(test_each_refuses), TEST(test_order),   TEST(test_transactions), TEST(test_other_text),
        TEST(test_cluster),      TEST(test_origins), TEST(test_memory),
    };
#undef TEST
    return cmocka_run_group_tests(tests, open_all, NULL);
}
