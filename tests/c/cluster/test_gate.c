/* SPDX-License-Identifier: BSD-3-Clause
 * The cluster's gate in the whole server: which keys and flags it finds in requests, in EXEC and in
 * scripts; counts; ASKING and READONLY.
 */
#include "cluster/gate.h"

#include "cluster/by_hand.h"
#include "cluster/client_modes.h"
#include "command/command.h"
#include "exec/gates.h"
#include "exec/run.h"
#include "rdb/loading.h"
#include "server/whole.h"

#define SLOT_A 15495 /* of "a", "{a}..." */
#define SLOT_B 3300  /* of "b" */
#define MOVED_A "-MOVED 15495 ::1:7003\r\n"
#define MOVED_B "-MOVED 3300 ::1:7003\r\n"
/* The plain port, because the client uses no TLS. */
#define MOVED_PRIMARY "-MOVED 15495 10.0.0.2:7003\r\n"
#define ASK_A "-ASK 15495 ::1:7003\r\n"
#define AGAIN "-TRYAGAIN Multiple keys request during rehashing of slot\r\n"
#define CROSS "-CROSSSLOT Keys in request don't hash to the same slot\r\n"
#define DOWN "-CLUSTERDOWN The cluster is down\r\n"
#define ABORTED "-EXECABORT Transaction discarded because of previous errors.\r\n"
#define OK "+OK\r\n"
#define QUEUED "+QUEUED\r\n"
#define NIL "$-1\r\n"

static bool reads_when_down;

/* This node owns a's slot, another node owns b's. */
static int begin_gate(void **state) {
    by_hand_reset();
    by_hand_own(SLOT_A, &me);
    by_hand_own(SLOT_B, &other);
    reads_when_down = false;
    return whole_begin(state);
}

static void script_says(struct peer *p, const char *call, const char *reply) {
    char line[256];
    snprintf(line, sizeof(line), "eval \"return redis.pcall(%s)\" 0", call);
    whole_say(p, line, reply);
}

#define ELSEWHERE \
    "-@user_script: 1: Lua script attempted to access a non local key in a cluster node\r\n"

static void test_requests(void **state) {
    struct peer p = peer_connect();
    const struct command *get = command_find(SLICE("get"));
    assert_true(gate_is_set(&cluster_gate));
    whole_say(&p, "get a", NIL);
    uint64_t rejected = get->rejected_calls, failed = get->failed_calls;
    whole_say(&p, "get b", MOVED_B);
    assert_int_equal(get->rejected_calls, rejected + 1);
    assert_int_equal(get->failed_calls, failed);
    whole_say(&p, "mget a {a}b b", CROSS);
    whole_say(&p, "mget b a", CROSS);
    whole_say(&p, "mget a {a}b", "*2\r\n$-1\r\n$-1\r\n");
    whole_say(&p, "get c", "-CLUSTERDOWN Hash slot not served\r\n");
    whole_say(&p, "ping b", "$1\r\nb\r\n");
    whole_say(&p, "zunionstore a 1 b", CROSS); /* a function finds the keys */
    whole_say(&p, "zunionstore b 1 {b}1", MOVED_B);
    whole_say(&p, "zunionstore b 2 x", "-ERR syntax error\r\n"); /* its arguments name none */
    whole_say(&p, "get b c", "-ERR wrong number of arguments for 'get' command\r\n");
    whole_say(&p, "watch b", MOVED_B);
    here->ok = false;
    whole_say(&p, "get a", DOWN);
    whole_say(&p, "ping", "+PONG\r\n");
    reads_when_down = true;
    whole_say(&p, "get a", NIL);
    whole_say(&p, "set a 1", "-CLUSTERDOWN The cluster is down and only accepts read commands\r\n");
    peer_close(&p);
}

/* Requests that arrive together are prepared together, whatever they are. */
static void test_pipeline(void **state) {
    struct peer p = peer_connect();
    whole_say(&p,
              "set a 1\r\nget {a}b\r\nnosuch a\r\nget\r\nping\r\nget b\r\nmget a {a}b\r\n"
              "mget a b\r\nget c\r\nflushall\r\nget a\r\nset {a}b 2\r\nget {a}b",
              "+OK\r\n$-1\r\n"
              "-ERR unknown command `nosuch`, with args beginning with: `a`, \r\n"
              "-ERR wrong number of arguments for 'get' command\r\n+PONG\r\n" MOVED_B
              "*2\r\n$1\r\n1\r\n$-1\r\n" CROSS "-CLUSTERDOWN Hash slot not served\r\n" OK NIL OK
              "$1\r\n2\r\n");
    peer_close(&p);
}

/* It answers before the state of the server does, and its quick answer is no other gate's. */
static void test_order(void **state) {
    struct peer p = peer_connect();
    gate_set(&loading_gate, true);
    whole_say(&p, "get b", MOVED_B);
    whole_say(&p, "get a", "-LOADING Redis is loading the dataset in memory\r\n");
    gate_set(&loading_gate, false);
    whole_say(&p, "get a", NIL);
    peer_close(&p);
}

static void test_transactions(void **state) {
    struct peer p = peer_connect();
    struct command *exec = command_find(SLICE("exec"));
    whole_say(&p, "multi", OK);
    whole_say(&p, "get b", MOVED_B);
    whole_say(&p, "exec", ABORTED);
    whole_say(&p, "multi", OK);
    whole_say(&p, "set a 1", QUEUED);
    whole_say(&p, "ping", QUEUED);
    uint64_t rejected = exec->rejected_calls;
    by_hand_own(SLOT_A, &other);
    whole_say(&p, "exec", MOVED_A);
    assert_int_equal(exec->rejected_calls, rejected + 1);
    whole_say(&p, "exec", "-ERR EXEC without MULTI\r\n");
    by_hand_own(SLOT_A, &me);
    by_hand_own(SLOT_B, &me);
    whole_say(&p, "multi", OK);
    whole_say(&p, "set a 1", QUEUED);
    whole_say(&p, "set b 1", QUEUED);
    whole_say(&p, "exec", CROSS);
    whole_say(&p, "exists a", ":0\r\n");
    whole_say(&p, "multi", OK);
    whole_say(&p, "set a 1", QUEUED);
    here->ok = false;
    reads_when_down = true; /* EXEC itself is no write command */
    whole_say(&p, "exec", "*1\r\n+OK\r\n");
    peer_close(&p);
}

static void test_open_slots(void **state) {
    struct peer p = peer_connect();
    whole_say(&p, "set a 1", OK);
    by_hand_mark(here->migrating_to, SLOT_A, &other);
    whole_say(&p, "get a", "$1\r\n1\r\n");
    whole_say(&p, "get {a}2", ASK_A);
    whole_say(&p, "set {a}2 x", ASK_A);
    whole_say(&p, "mget a {a}2", AGAIN);
    whole_say(&p, "mget {a}3 {a}2", ASK_A);
    whole_say(&p, "multi", OK);
    whole_say(&p, "get a", QUEUED);
    whole_say(&p, "del a", QUEUED);
    whole_say(&p, "exec", "*2\r\n$1\r\n1\r\n:1\r\n");
    whole_say(&p, "get a", ASK_A);
    whole_say(&p, "migrate 127.0.0.1 1 a 0 1", "+NOKEY\r\n");
    peer_close(&p);
}

static void test_due_key_is_absent(void **state) {
    struct peer p = peer_connect();
    whole_say(&p, "set a 1 px 100", OK);
    by_hand_mark(here->migrating_to, SLOT_A, &other);
    clock_advance_usec(200000);
    clock_refresh();
    whole_say(&p, "get a", ASK_A);
    peer_close(&p);
}

static void test_asking(void **state) {
    struct peer p = peer_connect();
    by_hand_own(SLOT_A, &other);
    by_hand_mark(here->importing_from, SLOT_A, &other);
    whole_say(&p, "set a 1", MOVED_A);
    whole_say(&p, "asking", OK);
    whole_say(&p, "set a 1", OK);
    whole_say(&p, "get a", MOVED_A);
    const char *const between[][2] = {{"ping", "+PONG\r\n"},
                                      {"nothing",
                                       "-ERR unknown command `nothing`, with args "
                                       "beginning with: \r\n"},
                                      {"get",
                                       "-ERR wrong number of arguments for 'get' command"
                                       "\r\n"},
                                      {"get b", MOVED_B},
                                      {"reset", "+RESET\r\n"}};
    for (size_t i = 0; i < sizeof(between) / sizeof(between[0]); i++) {
        whole_say(&p, "asking", OK);
        whole_say(&p, between[i][0], between[i][1]);
        whole_say(&p, "get a", MOVED_A);
    }
    whole_say(&p, "asking", OK);
    whole_say(&p, "asking", OK);
    whole_say(&p, "mget a {a}1", AGAIN);
    whole_say(&p, "asking", OK);
    whole_say(&p, "multi", OK);
    whole_say(&p, "get a", QUEUED);
    whole_say(&p, "exists a", QUEUED);
    whole_say(&p, "exec", "*2\r\n$1\r\n1\r\n:1\r\n");
    whole_say(&p, "get a", MOVED_A);
    whole_say(&p, "multi", OK);
    whole_say(&p, "asking", QUEUED);
    whole_say(&p, "get a", MOVED_A);
    whole_say(&p, "exec", ABORTED);
    whole_say(&p, "multi", OK);
    whole_say(&p, "asking", QUEUED);
    whole_say(&p, "eval \"return redis.call('get', 'a')\" 0", QUEUED);
    whole_say(&p, "exec", "*2\r\n+OK\r\n$1\r\n1\r\n");
    whole_say(&p, "get a", MOVED_A);
    whole_say(&p, "restore-asking a 0 x", "-BUSYKEY Target key name already exists.\r\n");
    peer_close(&p);
}

static void test_readonly(void **state) {
    struct peer p = peer_connect(), other_client = peer_connect();
    by_hand_become_replica();
    by_hand_own(SLOT_A, &primary);
    whole_say(&p, "get a", MOVED_PRIMARY);
    whole_say(&p, "readonly", OK);
    whole_say(&p, "get a", NIL);
    whole_say(&p, "get a", NIL);
    whole_say(&other_client, "get a", MOVED_PRIMARY);
    whole_say(&p, "set a 1", MOVED_PRIMARY);
    whole_say(&p, "sort a", MOVED_PRIMARY);
    whole_say(&p, "pfcount a", ":0\r\n");
    whole_say(&p, "get b", MOVED_B);
    whole_say(&p, "multi", OK);
    whole_say(&p, "get a", QUEUED);
    whole_say(&p, "exec", "*1\r\n$-1\r\n");
    script_says(&p, "'get','a'", NIL);
    script_says(&p, "'set','a','1'", ELSEWHERE);
    whole_say(&p, "readwrite", OK);
    whole_say(&p, "get a", MOVED_PRIMARY);
    whole_say(&p, "readonly", OK);
    peer_send(&p, SLICE("hello 2\r\n")); /* its reply has ids */
    buffer_clear(&p.got);
    whole_say(&p, "get a", NIL);
    whole_say(&p, "reset", "+RESET\r\n");
    whole_say(&p, "get a", MOVED_PRIMARY);
    peer_close(&p);
    peer_close(&other_client);
}

static void test_scripts(void **state) {
    struct peer p = peer_connect();
    whole_say(&p, "eval \"return 1\" 1 b", MOVED_B);
    whole_say(&p, "eval \"return 1\" 2 a b", CROSS);
    whole_say(&p, "eval \"return 1\" 1 a", ":1\r\n");
    script_says(&p, "'get','b'", ELSEWHERE);
    script_says(&p, "'mget','a','b'", ELSEWHERE);
    script_says(&p, "'get','c'", ELSEWHERE);
    script_says(&p, "'set','a','1'", OK);
    by_hand_mark(here->migrating_to, SLOT_A, &other);
    script_says(&p, "'mget','a','{a}b'", ELSEWHERE);
    script_says(&p, "'get','{a}b'", ELSEWHERE);
    script_says(&p, "'get','a'", "$1\r\n1\r\n");
    here->ok = false;
    script_says(&p, "'get','a'",
                "-@user_script: 1: Lua script attempted to execute a command while the cluster is "
                "down\r\n");
    reads_when_down = true;
    script_says(&p, "'get','a'", "$1\r\n1\r\n");
    script_says(&p, "'set','a','1'",
                "-@user_script: 1: Lua script attempted to execute a write command while the "
                "cluster is down and readonly\r\n");
    script_says(&p, "'ping'", "+PONG\r\n");
    peer_close(&p);
}

/* A call of a script that the cluster refuses counts as a call: a script that is run again
 * elsewhere is not refused it there. */
static void test_refused_calls_of_scripts_count(void **state) {
    struct peer p = peer_connect();
    option_set_text("lua-replicate-commands", "no");
    whole_say(&p, "eval \"redis.pcall('srandmember','b') return redis.pcall('set','a','1')\" 0",
              "-@user_script: 1: Write commands not allowed after non deterministic commands. Call "
              "redis.replicate_commands() at the start of your script in order to switch to single "
              "commands replication mode.\r\n");
    whole_say(&p,
              "eval \"redis.pcall('set','b','1') return redis.replicate_commands() and 1 or 0\" 0",
              ":0\r\n");
    whole_say(&p, "eval \"redis.pcall('get','b') return redis.replicate_commands() and 1 or 0\" 0",
              ":1\r\n");
    option_set_text("lua-replicate-commands", "yes");
    whole_say(&p, "eval \"redis.pcall('srandmember','b') return redis.pcall('set','a','1')\" 0",
              OK);
    peer_close(&p);
}

static int open_all(void **state) {
    by_hand_reset();
    keyspace_partition(true);
    int status = whole_open();
    cluster_gate_open(here, &reads_when_down);
    struct peer p = peer_connect(); /* what the first script of all leaves is no client's */
    whole_say(&p, "eval \"return 1\" 0", ":1\r\n");
    peer_close(&p);
    peers_turns();
    peers_clients_bytes = peers_bytes_now();
    return status;
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin_gate, whole_nothing_left)
    const struct CMUnitTest tests[] = {
        TEST(test_requests),   TEST(test_pipeline),
        TEST(test_order),      TEST(test_transactions),
        TEST(test_open_slots), TEST(test_due_key_is_absent),
        TEST(test_asking),     TEST(test_readonly),
        TEST(test_scripts),    TEST(test_refused_calls_of_scripts_count),
    };
#undef TEST
    return cmocka_run_group_tests(tests, open_all, NULL);
}
