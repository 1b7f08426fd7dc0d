/* SPDX-License-Identifier: BSD-3-Clause
 * Gates: each state of the server stops what 6.2 stops, in its words and its order, for the origins
 * that its row names; and a call runs without a batch.
 */
#include "exec/gates.h"

#include "aof/aof.h"
#include "base/hash.h"
#include "command/call_make.h"
#include "command/command.h"
#include "exec/memory_limit.h"
#include "exec/run.h"
#include "rdb/loading.h"
#include "replication/primary.h"
#include "replication/role.h"
#include "save/disk_gate.h"
#include "script/gates.h"
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

/* The disk's gate has two causes of its own, and a text for each. */
static void turn(struct gate *gate, bool on) {
    if (gate == &disk_gate)
        disk_gate_set_snapshot(on);
    else
        gate_set(gate, on);
}

static struct gate *const states[] = {&disk_gate,           &primary_replicas_gate,
                                      &role_gate_read_only, &role_gate_stale,
                                      &loading_gate,        &script_gate_busy};

static void all_off(void) {
    for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) turn(states[i], false);
}

static uint64_t rejected(const char *name) { return command_find(slice_of(name))->rejected_calls; }

static void test_each_refuses(void **state) {
    const struct {
        struct gate *gate;
        const char *refusal;
        const char *stopped[3], *passes, *reply;
    } cases[] = {
        {&disk_gate, DISK, {"set a b", "ping", "append a b"}, "get nokey", "$-1\r\n"},
        {&primary_replicas_gate, REPLICAS, {"set a b", "del a", "append a b"}, "ping", "+PONG\r\n"},
        {&role_gate_read_only,
         READ_ONLY,
         {"set a b", "del a", "append a b"},
         "get nokey",
         "$-1\r\n"},
        {&role_gate_stale, STALE, {"get a", "set a b", "echo a"}, "ping", "+PONG\r\n"},
        {&loading_gate, LOADING, {"get a", "set a b", "ping"}, "select 0", "+OK\r\n"},
        {&script_gate_busy, BUSY, {"get a", "set a b", "ping"}, "unwatch", "+OK\r\n"},
    };
    struct peer p = peer_connect();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        turn(cases[i].gate, true);
        uint64_t before = rejected("set") + rejected("ping");
        for (int j = 0; j < 3; j++) say(&p, cases[i].stopped[j], cases[i].refusal);
        assert_true(rejected("set") + rejected("ping") > before);
        say(&p, cases[i].passes, cases[i].reply);
        turn(cases[i].gate, false);
        say(&p, "set a b", "+OK\r\n");
        say(&p, "ping", "+PONG\r\n");
    }
    peer_close(&p);
}

/* With all on, the first in 6.2's order speaks; unknown commands and wrong counts before them. */
static void test_order(void **state) {
    const struct {
        struct gate *gate;
        const char *refusal;
    } order[] = {{&disk_gate, DISK},
                 {&primary_replicas_gate, REPLICAS},
                 {&role_gate_read_only, READ_ONLY},
                 {&role_gate_stale, STALE},
                 {&loading_gate, LOADING},
                 {&script_gate_busy, BUSY}};
    size_t count = sizeof(order) / sizeof(order[0]);
    struct peer p = peer_connect();
    for (size_t i = 0; i < count; i++) turn(order[i].gate, true);
    say(&p, "set a", "-ERR wrong number of arguments for 'set' command\r\n");
    say(&p, "nosuch", "-ERR unknown command `nosuch`, with args beginning with: \r\n");
    for (size_t i = 0; i < count; i++) {
        say(&p, "set a b", order[i].refusal);
        turn(order[i].gate, false);
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
    gate_set(&role_gate_read_only, true);
    say(&p, "exec",
        "-EXECABORT Transaction discarded because of: READONLY You can't write against a read "
        "only replica.\r\n");
    say(&p, "multi", "+OK\r\n");
    say(&p, "get a", "+QUEUED\r\n");
    say(&p, "exec", "*1\r\n$-1\r\n");
    say(&p, "multi", "+OK\r\n");
    say(&p, "set a b", READ_ONLY);
    say(&p, "exec", "-EXECABORT Transaction discarded because of previous errors.\r\n");
    gate_set(&role_gate_read_only, false);

    say(&p, "multi", "+OK\r\n");
    say(&p, "ping", "+QUEUED\r\n");
    say(&p, "echo a", "+QUEUED\r\n"); /* this one alone may not run where keys are stale */
    gate_set(&role_gate_stale, true);
    say(&p, "exec",
        "-EXECABORT Transaction discarded because of: MASTERDOWN Link with MASTER is down and "
        "replica-serve-stale-data is set to 'no'.\r\n");
    say(&p, "multi", "+OK\r\n");
    say(&p, "ping", "+QUEUED\r\n");
    say(&p, "exec", "*1\r\n+PONG\r\n");
    gate_set(&role_gate_stale, false);
    peer_close(&p);
}

/* While the log's queue is at its bound EXEC waits, and not what it queues, which writes nothing
 * yet. */
static void test_queued_for_the_log(void **state) {
    struct peer p = peer_connect();
    say(&p, "multi", "+OK\r\n");
    gate_set(&aof_gate, true);
    say(&p, "set a b", "+QUEUED\r\n");
    say(&p, "exec", "");
    gate_set(&aof_gate, false);
    peer_close(&p);
}

static enum gate_verdict run_as(struct peer *p, enum call_origin origin, const char *a,
                                const char *b, const char *c) {
    struct slice argv[] = {slice_of(a), slice_of(b), slice_of(c ? c : "")};
    struct call call;
    call_make(
        &call, origin, p->client,
        (struct call_parts){.command = command_find(argv[0]), .argc = c ? 3 : 2, .argv = argv});
    enum gate_verdict verdict = call_run(&call);
    reply_write_all();
    peer_receive(p, SIZE_MAX);
    return verdict;
}

/* Without a batch, by origin: what was logged or comes from the primary is stopped by nothing, a
 * script by what concerns what it writes. */
static void test_origins(void **state) {
    struct peer p = peer_connect();
    for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) turn(states[i], true);
    assert_int_equal(run_as(&p, CALL_LOG, "set", "a", "1"), GATE_OPEN);
    peer_assert_got(&p, SLICE("+OK\r\n"));
    assert_int_equal(run_as(&p, CALL_PRIMARY, "set", "a", "1"), GATE_OPEN);
    peer_assert_got(&p, SLICE("+OK\r\n"));
    /* Scripts have an order of their own, as in 6.2. */
    assert_int_equal(run_as(&p, CALL_SCRIPT, "set", "a", "1"), GATE_REFUSED);
    peer_assert_got(&p, SLICE(READ_ONLY));
    gate_set(&role_gate_read_only, false);
    assert_int_equal(run_as(&p, CALL_SCRIPT, "set", "a", "1"), GATE_REFUSED);
    peer_assert_got(&p, SLICE(DISK));
    turn(&disk_gate, false);
    gate_set(&primary_replicas_gate, false); /* the others were asked when the script began */
    assert_int_equal(run_as(&p, CALL_SCRIPT, "set", "a", "1"), GATE_OPEN);
    peer_assert_got(&p, SLICE("+OK\r\n"));
    assert_int_equal(run_as(&p, CALL_NETWORK, "set", "a", "1"), GATE_REFUSED);
    peer_assert_got(&p, SLICE(STALE));
    all_off();
    assert_true(gates_clear(p.client));
    uint64_t calls = call_count();
    assert_int_equal(run_as(&p, CALL_NETWORK, "set", "a", "1"), GATE_OPEN);
    peer_assert_got(&p, SLICE("+OK\r\n"));
    assert_int_equal(call_count(), calls + 1);
    assert_null(call_running());
    peer_close(&p);
}

/* Code's calls are refused in words of its own, and not before what 6.2 asks of requests first. */
static void test_words_of_code(void **state) {
    struct peer p = peer_connect();
    assert_int_equal(run_as(&p, CALL_SCRIPT, "nosuch", "a", NULL), GATE_REFUSED);
    peer_assert_got(&p, SLICE("-ERR Unknown Redis command called from Lua script\r\n"));
    assert_int_equal(run_as(&p, CALL_SCRIPT_AGAIN, "set", "a", NULL), GATE_REFUSED);
    peer_assert_got(&p,
                    SLICE("-ERR Wrong number of args calling Redis command From Lua script\r\n"));
    assert_int_equal(run_as(&p, CALL_LOG, "nosuch", "a", NULL), GATE_REFUSED);
    peer_assert_got(&p,
                    SLICE("-ERR unknown command `nosuch`, with args beginning with: `a`, \r\n"));
    peer_close(&p);
}

/* While a load or a busy script is under way nothing is evicted; no other gate forbids it. */
static void test_eviction_rests(void **state) {
    assert_false(gates_forbid_eviction());
    for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
        bool forbids = states[i] == &loading_gate || states[i] == &script_gate_busy;
        turn(states[i], true);
        assert_int_equal(gates_forbid_eviction(), forbids);
        turn(states[i], false);
    }
    assert_false(gates_forbid_eviction());
}

struct visits {
    struct buffer words; /* each call's name and first argument */
    int left;            /* calls until no further one is wanted */
};

static bool note_call(const struct call *call, void *context) {
    struct visits *v = context;
    assert_ptr_equal(call->keyspace, keyspace_at(call->client->database));
    assert_null(call->request);
    buffer_printf(&v->words, "%s %.*s,", call->command->name, (int)call->argv[1].length,
                  call->argv[1].bytes);
    assert_int_equal(call_key_hash(call, 1), hash_bytes(call->argv[1].bytes, call->argv[1].length));
    return --v->left > 0;
}

/* A call that the client would make now is visited as `words`; `most` visits are wanted. */
static void assert_visits(struct peer *p, const char *name, int most, const char *words) {
    const struct slice argv[] = {slice_of(name), SLICE("key")};
    struct visits v = {.words.class = MEMORY_OTHER, .left = most};
    struct call call;
    call_make(&call, CALL_NETWORK, p->client,
              (struct call_parts){.command = command_find(argv[0]), .argc = 2, .argv = argv});
    gate_each_call(&call, note_call, &v);
    assert_true(slice_is(buffer_slice(&v.words), words));
    buffer_free(&v.words);
}

/* EXEC is visited as the calls that are queued, in their order and in the database that is
 * selected; every other command as itself. Nothing runs, and the queue stays. */
static void test_each_call(void **state) {
    struct peer p = peer_connect();
    say(&p, "select 2", "+OK\r\n");
    assert_visits(&p, "get", 9, "get key,");
    assert_visits(&p, "exec", 9, "");
    say(&p, "watch a", "+OK\r\n");
    assert_visits(&p, "exec", 9, "");
    say(&p, "multi", "+OK\r\n");
    assert_visits(&p, "exec", 9, "");
    say(&p, "set a 1", "+QUEUED\r\n");
    say(&p, "get b", "+QUEUED\r\n");
    say(&p, "sort c", "+QUEUED\r\n");
    assert_visits(&p, "exec", 9, "set a,get b,sort c,");
    assert_visits(&p, "exec", 2, "set a,get b,");
    assert_visits(&p, "discard", 9, "discard key,");
    say(&p, "exec", "*3\r\n+OK\r\n$-1\r\n*0\r\n");
    assert_visits(&p, "exec", 9, "");
    say(&p, "del a", ":1\r\n");
    peer_close(&p);
}

/* An argument that has a block of its own is seen, and is still EXEC's to take. */
static void test_each_call_large(void **state) {
    enum { BYTES = 50000 };
    struct peer p = peer_connect();
    struct buffer words = {.class = MEMORY_OTHER};
    buffer_append_c_string(&words, "getset ");
    size_t at = words.length;
    memset(buffer_reserve(&words, BYTES), 'k', BYTES);
    words.length += BYTES;
    buffer_append(&words, ",", sizeof(","));
    say(&p, "multi", "+OK\r\n");
    peer_send(&p, SLICE("*3\r\n$6\r\ngetset\r\n$50000\r\n"));
    peer_send(&p, (struct slice){words.bytes + at, BYTES});
    peer_send(&p, SLICE("\r\n$50000\r\n"));
    peer_send(&p, (struct slice){words.bytes + at, BYTES});
    say(&p, "", "+QUEUED\r\n");
    assert_visits(&p, "exec", 9, words.bytes);
    say(&p, "exec", "*1\r\n$-1\r\n");
    say(&p, "dbsize", ":1\r\n");
    say(&p, "flushdb", "+OK\r\n");
    buffer_free(&words);
    peer_close(&p);
}

/* The bit of maxmemory follows the option. */
static void test_memory(void **state) {
    struct peer p = peer_connect();
    option_set_text("maxmemory-policy", "noeviction");
    option_set_text("maxmemory", "1");
    assert_true(gate_is_set(&memory_limit_gate));
    say(&p, "set a b", "-OOM command not allowed when used memory > 'maxmemory'.\r\n");
    say(&p, "get nokey", "$-1\r\n");
    option_set_text("maxmemory", "0");
    assert_false(gate_is_set(&memory_limit_gate));
    say(&p, "set a b", "+OK\r\n");
    peer_close(&p);
}

static int open_all(void **state) { return whole_open(); }

static int begin(void **state) { return whole_begin(state); }

static int end(void **state) {
    all_off();
    return whole_nothing_left(state);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(test_each_refuses),  TEST(test_order),
        TEST(test_transactions),  TEST(test_origins),
        TEST(test_words_of_code), TEST(test_eviction_rests),
        TEST(test_each_call),     TEST(test_each_call_large),
        TEST(test_memory),        TEST(test_queued_for_the_log),
    };
#undef TEST
    return cmocka_run_group_tests(tests, open_all, NULL);
}
