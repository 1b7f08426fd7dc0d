/* SPDX-License-Identifier: BSD-3-Clause
 * Captured clients, with all modules put together: commands of every family run without a batch and
 * without a connection, and each gives one whole reply, in RESP2 and RESP3.
 */
#include "exec/edit.h"
#include "net/capture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/memory.h"
#include "command/call_make.h"
#include "command/command.h"
#include "exec/blocked.h"
#include "exec/run.h"
#include "exec/transaction.h"
#include "io/loop.h"
#include "net/client.h"
#include "net/client_memory.h"
#include "option/option.h"
#include "peer/peer_reply.h"
#include "server/mode.h"
#include "server/modes.h"
#include "store/keyspace.h"

#define WORDS_MAX 32

static struct loop *loop;
static struct peer_parser *parser;

/* Runs a line of words as a call from the log. */
static enum gate_verdict run(struct capture *capture, const char *line) {
    struct slice argv[WORDS_MAX];
    int argc = 0;
    for (const char *at = line; *at && argc < WORDS_MAX; at += strspn(at, " ")) {
        size_t length = strcspn(at, " ");
        argv[argc++] = (struct slice){at, length};
        at += length;
    }
    struct call call;
    call_make(&call, CALL_LOG, capture->client,
              (struct call_parts){.command = command_find(argv[0]), .argc = argc, .argv = argv});
    return call_run(&call);
}

/* What the line is answered: exactly one reply. Valid until the next. */
static const struct peer_reply *ask(struct capture *capture, const char *line) {
    buffer_clear(&capture->replies);
    assert_int_equal(run(capture, line), GATE_OPEN);
    const char *cursor = capture->replies.bytes, *end = cursor + capture->replies.length;
    if (!capture->replies.length || peer_parse(parser, &cursor, end) != PEER_PARSE_READY)
        fail_msg("%s: no whole reply in %zu bytes", line, capture->replies.length);
    if (cursor != end) fail_msg("%s: more than one reply", line);
    return peer_parser_reply(parser);
}

/* A line, and the types of its reply in RESP2 and RESP3. */
struct asked {
    const char *line;
    enum peer_type in_2, in_3;
};

static const struct asked lines[] = {
    {"flushall", PEER_STATUS, PEER_STATUS},
    {"ping", PEER_STATUS, PEER_STATUS},
    {"echo a", PEER_BULK, PEER_BULK},
    {"set k v", PEER_STATUS, PEER_STATUS},
    {"get k", PEER_BULK, PEER_BULK},
    {"get nokey", PEER_NIL, PEER_NIL},
    {"mget k nokey", PEER_ARRAY, PEER_ARRAY},
    {"incrbyfloat f 1.5", PEER_BULK, PEER_BULK},
    {"setbit bits 7 1", PEER_INTEGER, PEER_INTEGER},
    {"bitfield bits get u8 0", PEER_ARRAY, PEER_ARRAY},
    {"expire k 100", PEER_INTEGER, PEER_INTEGER},
    {"type k", PEER_STATUS, PEER_STATUS},
    {"keys *", PEER_ARRAY, PEER_ARRAY},
    {"scan 0", PEER_ARRAY, PEER_ARRAY},
    {"rpush l a b c", PEER_INTEGER, PEER_INTEGER},
    {"lrange l 0 -1", PEER_ARRAY, PEER_ARRAY},
    {"blpop nolist 0", PEER_NIL, PEER_NIL}, /* it may not wait */
    {"sort l alpha", PEER_ARRAY, PEER_ARRAY},
    {"hset h f 1 g 2", PEER_INTEGER, PEER_INTEGER},
    {"hgetall h", PEER_ARRAY, PEER_MAP},
    {"sadd s a b", PEER_INTEGER, PEER_INTEGER},
    {"smembers s", PEER_ARRAY, PEER_SET},
    {"zadd z 1.5 a 2 b", PEER_INTEGER, PEER_INTEGER},
    {"zscore z a", PEER_BULK, PEER_DOUBLE},
    {"zrange z 0 -1 withscores", PEER_ARRAY, PEER_ARRAY},
    {"geoadd g 13.361389 38.115556 p", PEER_INTEGER, PEER_INTEGER},
    {"geopos g p", PEER_ARRAY, PEER_ARRAY},
    {"pfadd p a b", PEER_INTEGER, PEER_INTEGER},
    {"xadd x * a b", PEER_BULK, PEER_BULK},
    {"xread streams x 0", PEER_ARRAY, PEER_MAP},
    {"xinfo stream x", PEER_ARRAY, PEER_MAP},
    {"publish c m", PEER_INTEGER, PEER_INTEGER},
    {"client id", PEER_INTEGER, PEER_INTEGER},
    {"client info", PEER_BULK, PEER_BULK},
    {"client list", PEER_BULK, PEER_BULK},
    {"acl whoami", PEER_BULK, PEER_BULK},
    {"command info get", PEER_ARRAY, PEER_ARRAY},
    {"config get maxmemory", PEER_ARRAY, PEER_MAP},
    {"info server", PEER_BULK, PEER_BULK},
    {"lolwut", PEER_BULK, PEER_BULK},
    {"slowlog len", PEER_INTEGER, PEER_INTEGER},
    {"latency doctor", PEER_BULK, PEER_BULK},
    {"memory usage k", PEER_INTEGER, PEER_INTEGER},
    {"object encoding k", PEER_BULK, PEER_BULK},
    {"debug sleep 0", PEER_STATUS, PEER_STATUS},
    {"multi", PEER_STATUS, PEER_STATUS},
    {"incr n", PEER_INTEGER, PEER_INTEGER}, /* what is logged between the two runs at once */
    {"exec", PEER_ARRAY, PEER_ARRAY},
    {"select 1", PEER_STATUS, PEER_STATUS},
};

static void ask_all(uint8_t protocol) {
    struct capture capture;
    capture_open(&capture);
    capture.client->protocol = protocol;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        const struct peer_reply *reply = ask(&capture, lines[i].line);
        enum peer_type wanted = protocol == 3 ? lines[i].in_3 : lines[i].in_2;
        if (reply->type != wanted)
            fail_msg("%s: type %d, not %d: %.*s", lines[i].line, reply->type, wanted,
                     (int)capture.replies.length, capture.replies.bytes);
        client_memory_check();
    }
    assert_int_equal(capture.client->database, 1);
    buffer_clear(&capture.replies);
    assert_int_equal(run(&capture, "lpush k"), GATE_REFUSED);
    assert_true(buffer_slice(&capture.replies).bytes[0] == '-');
    assert_null(call_running());
    capture_close(&capture);
}

static void test_all_families(void **state) {
    ask_all(2);
    ask_all(3);
}

/* With CLIENT REPLY OFF nothing comes, and no chunk is ever made. */
static void test_reply_off(void **state) {
    struct capture capture;
    capture_open(&capture);
    run(&capture, "set k 12345");
    run(&capture, "client reply off");
    buffer_clear(&capture.replies);
    run(&capture, "get k");
    run(&capture, "keys *");
    assert_int_equal(capture.replies.length, 0);
    run(&capture, "client reply on");
    assert_true(capture.replies.length > 0);
    assert_int_equal(capture.client->chunk_bytes, 0);
    capture_close(&capture);
}

/* What closes a connection closes nothing here, and the next call is answered. */
static void test_is_not_closed(void **state) {
    static const char *const closing[] = {"quit", "post", "client kill id 0 skipme no"};
    struct capture capture;
    capture_open(&capture);
    run(&capture, "set k v");
    for (size_t i = 0; i < sizeof(closing) / sizeof(closing[0]); i++) {
        run(&capture, closing[i]);
        assert_false(capture.client->flags & (CLIENT_CLOSING | CLIENT_CLOSE_AFTER_REPLY));
        buffer_clear(&capture.replies);
        run(&capture, "get k");
        assert_true(slice_equal(buffer_slice(&capture.replies), SLICE("$1\r\nv\r\n")));
    }
    capture_close(&capture);
}

/* It is in no list of clients, counts as none, and leaves nothing. */
static void test_not_a_connection(void **state) {
    for (int i = 0; i < 3; i++) loop_turn(loop, 0);
    size_t clients = client_count(), bytes = memory_used(MEMORY_CLIENTS);
    struct capture capture;
    capture_open(&capture);
    assert_int_equal(client_count(), clients);
    assert_null(client_find(capture.client->id));
    run(&capture, "client setname a");
    run(&capture, "subscribe c");
    run(&capture, "client info");
    assert_int_equal(client_listeners(), 1);
    client_memory_check();
    client_memory_disconnect_largest(SIZE_MAX / 2);
    assert_false(capture.client->flags & CLIENT_CLOSING);
    capture_close(&capture);
    assert_int_equal(client_listeners(), 0);
    for (int i = 0; i < 3; i++) loop_turn(loop, 0);
    client_memory_check();
    assert_int_equal(memory_used(MEMORY_CLIENTS), bytes);
}

/* What is replied to the line, as text. */
static void assert_replies(struct capture *capture, const char *line, const char *reply) {
    ask(capture, line);
    if (!slice_equal(buffer_slice(&capture->replies), slice_of(reply)))
        fail_msg("%s: %.*s", line, (int)capture->replies.length, capture->replies.bytes);
}

/* It was counted when it ran first. */
static void test_log_is_not_counted(void **state) {
    struct capture capture;
    struct command *incr = command_find(SLICE("incr")), *lpush = command_find(SLICE("lpush"));
    capture_open(&capture);
    uint64_t before = call_count(), calls = incr->calls, failed = lpush->failed_calls;
    assert_replies(&capture, "incr number", ":1\r\n");
    assert_int_equal(run(&capture, "lpush number a"), GATE_OPEN);
    assert_int_equal(call_count(), before);
    assert_int_equal(incr->calls, calls);
    assert_int_equal(lpush->failed_calls, failed);
    assert_false(capture.client->flags & CLIENT_ERROR_REPLIED);
    capture_close(&capture);
}

/* Deadlines that are over are set all the same, and what stands behind finds the key. */
static void test_log_finds_due_keys(void **state) {
    static const char *const setting[] = {"expireat due 1", "pexpireat due -1", "pexpire due 0"};
    struct capture capture;
    const struct key key = {keyspace_at(0), SLICE("due"), hash_bytes("due", 3)};
    capture_open(&capture);
    for (size_t i = 0; i < sizeof(setting) / sizeof(setting[0]); i++) {
        assert_replies(&capture, "rpush due a", ":1\r\n");
        assert_replies(&capture, setting[i], ":1\r\n");
        assert_replies(&capture, "rpush due b", ":2\r\n");
        assert_int_equal(keyspace_presence(&key), KEYSPACE_HIDDEN);
        assert_null(keyspace_find(&key));
        assert_int_equal(keyspace_presence(&key), KEYSPACE_ABSENT);
    }
    assert_replies(&capture, "set due v", "+OK\r\n");
    assert_replies(&capture, "getex due pxat 1", "$1\r\nv\r\n");
    assert_replies(&capture, "getex due persist", "$1\r\nv\r\n");
    assert_int_equal(keyspace_presence(&key), KEYSPACE_PRESENT);
    capture_close(&capture);
}

static bool set_option(const char *name, const char *value) {
    struct slice word = slice_of(value);
    char reason[OPTION_REASON_BYTES];
    return option_set(option_find(slice_of(name)), &word, 1, OPTION_FROM_FILE, reason,
                      sizeof(reason));
}

/* It must listen somewhere: in the test's own folder. */
static int setup(void **state) {
    mode_register(&mode_server);
    if (!set_option("port", "0") || !set_option("unixsocket", "capture.sock")) return -1;
    loop = loop_create();
    parser = peer_parser_create(MEMORY_OTHER, &(struct peer_limits){1 << 24, 1 << 16});
    clock_refresh();
    return mode_open(&mode_server, loop) ? 0 : -1;
}

/* No key is left to the sanitizers, who find no value by an entry's bytes. */
static int teardown(void **state) {
    for (int i = 0; i < keyspace_databases(); i++) edit_flush(keyspace_at(i), LAZYFREE_NOW);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_families),       cmocka_unit_test(test_reply_off),
        cmocka_unit_test(test_is_not_closed),      cmocka_unit_test(test_not_a_connection),
        cmocka_unit_test(test_log_is_not_counted), cmocka_unit_test(test_log_finds_due_keys),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
