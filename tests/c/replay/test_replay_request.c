/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of replay/replay_request and replay_commands: which records become requests, and which
 * ones.
 */
#include "replay/replay_request.h"

#include "base/seed.h"
#include "peer/peer_reply.h"
#include "replay/made_record.h"

static uint64_t chance = 1;
static char shown[8192];

static enum replay_verdict verdict_of(const char *line) {
    const struct replay_command *command;
    struct trace_file_record record = made_record(0, line);
    return replay_request_judge(&record, &command);
}

/* The requests of `out` as texts, words parted by blanks, requests by " | ". */
static const char *show_requests(struct buffer *out) {
    const struct peer_limits limits = {1 << 24, 1 << 16};
    struct peer_parser *parser = peer_parser_create(MEMORY_OTHER, &limits);
    const char *at = out->bytes, *end = out->bytes + out->length;
    int used = 0;
    while (at < end) {
        assert_int_equal(peer_parse(parser, &at, end), PEER_PARSE_READY);
        const struct peer_reply *reply = peer_parser_reply(parser), *word = peer_reply_first(reply);
        for (uint32_t i = 0; i < reply->children; i++, word = peer_reply_next(word))
            used += snprintf(shown + used, sizeof(shown) - (size_t)used, "%s%.*s",
                             i                ? " "
                             : *shown && used ? " | "
                                              : "",
                             (int)word->text.length, word->text.bytes);
    }
    peer_parser_free(parser);
    buffer_free(out);
    return shown;
}

static const char *request_of(const char *line) {
    const struct replay_command *command;
    struct buffer out = {.class = MEMORY_OTHER};
    struct trace_file_record record = made_record(0, line);
    assert_int_equal(replay_request_judge(&record, &command), REPLAY_SENDS);
    replay_request_append(&record, command, &out, &chance);
    return show_requests(&out);
}

static void test_keys_and_words_stay(void **state) {
    assert_string_equal(request_of("get {k:10}"), "get k");
    assert_string_equal(request_of("mget {a} [b] {c:1:2}"), "mget a b c");
    assert_string_equal(request_of("lrange {l:5} 0 -1"), "lrange l 0 -1");
    assert_string_equal(request_of("zrangebyscore {z:5} -inf +inf limit 0 10"),
                        "zrangebyscore z -inf +inf limit 0 10");
}

static void test_values_have_their_sizes(void **state) {
    const char *text = request_of("set {k} <5> ex 10");
    assert_int_equal(strspn(text + strlen("set k "), "123456789"), 5);
    assert_string_equal(text + strlen("set k 12345"), " ex 10");
    assert_int_equal(strlen(request_of("set {k} <100>")), strlen("set k ") + 100);
    assert_int_equal(strlen(request_of("set {k} <0>")), strlen("set k "));
    assert_int_equal(strlen(request_of("mset {a} <7> {b} <20>")), strlen("mset a  b ") + 27);
    /* A member is a number below REPLAY_MEMBERS, filled up. */
    text = request_of("sadd {s} <5>");
    assert_memory_equal(text, "sadd s 000", 10);
    /* Numbers, where numbers must be. */
    text = request_of("zadd {z} nx <3> <5> <1> <5>");
    assert_int_equal(strspn(text + strlen("zadd z nx "), "123456789"), 3);
    assert_int_equal(strspn(request_of("incrby {n} <30>") + strlen("incrby n "), "123456789"), 18);
    assert_string_equal(request_of("setbit {b} <3> <1>"), "setbit b 100 1");
    assert_string_equal(request_of("setbit {b} <30> <1>"), "setbit b 10000000 1");
    assert_string_equal(request_of("zcount {z} <2> <3>"), "zcount z 10 999");
    assert_string_equal(request_of("zrevrangebyscore {z} <2> -inf"), "zrevrangebyscore z 99 -inf");
    assert_string_equal(request_of("zrangebyscore {z} -inf <2>"), "zrangebyscore z -inf 99");
    assert_string_equal(request_of("zrangebylex {z} <4> +"), "zrangebylex z [0 +");
}

static void test_no_request_waits(void **state) {
    assert_string_equal(request_of("blpop {a:9} [b] 0"), "lpop a");
    assert_string_equal(request_of("brpoplpush {a:9} {b} 5"), "rpoplpush a b");
    assert_string_equal(request_of("blmove {a:9} {b} left right 5"), "lmove a b left right");
    assert_int_equal(verdict_of("blpop {a}"), REPLAY_UNKNOWN);
    assert_int_equal(verdict_of("xread block 0 streams {x} $"), REPLAY_UNKNOWN);
}

static void test_what_is_left_out(void **state) {
    static const char *const unknown[] = {
        "shutdown {k}",  "config {set}", "eval {k}",      "flushall {k}",
        "debug {k}",     "SET {k} <1>",  "replicaof {h}", "acl {k}",
        "script {k}",    "get",          "get word",      "restore {k} <9>",
        "client {kill}", "module {x}",   "sort {k}",      "migrate {h} <1>"};
    for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++)
        assert_int_equal(verdict_of(unknown[i]), REPLAY_UNKNOWN);
    assert_int_equal(verdict_of("set {k}"), REPLAY_SENDS); /* the server refuses it */
    assert_int_equal(verdict_of("set {k} <1> <2>"), REPLAY_NO_VALUES);
    assert_int_equal(verdict_of("get {k} <1>"), REPLAY_NO_VALUES);
    assert_int_equal(verdict_of("zadd {z} <1> <2> <3>"), REPLAY_NO_VALUES);
    assert_int_equal(verdict_of("zcount <1> {z} <2>"), REPLAY_NO_VALUES);
    assert_int_equal(verdict_of("set {k} <16777216>"), REPLAY_SENDS);
    assert_int_equal(verdict_of("set {k} <16777217>"), REPLAY_TOO_LARGE);
    assert_int_equal(verdict_of("mset {a} <9000000> {b} <9000000>"), REPLAY_TOO_LARGE);
}

static int64_t ttl_of(const char *line) {
    struct trace_file_record record = made_record(1000000, line);
    return replay_ttl_after(replay_command_of(&record), &record);
}

static void test_times_to_live(void **state) {
    assert_int_equal(ttl_of("get {k}"), REPLAY_TTL_AS_BEFORE);
    assert_int_equal(ttl_of("set {k} <1>"), REPLAY_TTL_NONE);
    assert_int_equal(ttl_of("set {k} <1> nx EX 10"), 10000);
    assert_int_equal(ttl_of("set {k} <1> px 10"), 10);
    assert_int_equal(ttl_of("set {k} <1> exat 1001"), 1000);
    assert_int_equal(ttl_of("set {k} <1> pxat 999000"), -1000);
    assert_int_equal(ttl_of("set {k} <1> keepttl"), REPLAY_TTL_AS_BEFORE);
    assert_int_equal(ttl_of("set {k} <1> ex"), REPLAY_TTL_AS_BEFORE);
    assert_int_equal(ttl_of("set {k} <1> ex 99999999999999999"), REPLAY_TTL_AS_BEFORE);
    assert_int_equal(ttl_of("setex {k} 5 <1>"), 5000);
    assert_int_equal(ttl_of("getex {k} persist"), REPLAY_TTL_NONE);
    assert_int_equal(ttl_of("getex {k}"), REPLAY_TTL_AS_BEFORE);
    assert_int_equal(ttl_of("expire {k} -1"), -1000);
    assert_int_equal(ttl_of("expireat {k} <10>"), REPLAY_TTL_AS_BEFORE);
    assert_int_equal(ttl_of("persist {k}"), REPLAY_TTL_NONE);
}

static const char *content_of(enum replay_type type, int64_t bytes, int64_t ttl_msec) {
    const struct replay_content content = {SLICE("key"), type, bytes, ttl_msec};
    struct replay_overhead overhead;
    struct buffer out = {.class = MEMORY_OTHER};
    for (unsigned i = 0; i < REPLAY_OVERHEAD_OCTAVES; i++)
        overhead.bytes[i] = 20, overhead.bytes_with_ttl[i] = 40;
    unsigned requests = replay_content_append(&content, &overhead, &out);
    assert_int_equal(requests,
                     1 + (type != REPLAY_STRING && type != REPLAY_ANY_TYPE && ttl_msec >= 0));
    return show_requests(&out);
}

static void test_contents(void **state) {
    assert_int_equal(strlen(content_of(REPLAY_STRING, 123, -1)), strlen("SET key ") + 100);
    assert_int_equal(strlen(content_of(REPLAY_STRING, 143, 9)), strlen("SET key  PX 9") + 100);
    assert_int_equal(strlen(content_of(REPLAY_STRING, 1, -1)), strlen("SET key ") + 1);
    assert_memory_equal(content_of(REPLAY_HASH, 1000, -1), "HSET key 000000000000 ", 22);
    assert_memory_equal(content_of(REPLAY_LIST, 100, -1), "RPUSH key 0", 11);
    assert_memory_equal(content_of(REPLAY_SORTED_SET, 300, -1), "ZADD key 0 0", 12);
    assert_memory_equal(content_of(REPLAY_STREAM, 300, -1), "XADD key * 0", 12);
    const char *text = content_of(REPLAY_SET, 5000, 70);
    assert_memory_equal(text, "SADD key 0", 10);
    assert_true(strlen(text) > 4000 && strlen(text) < 5100);
    assert_string_equal(strchr(text, '|'), "| PEXPIRE key 70");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys_and_words_stay), cmocka_unit_test(test_values_have_their_sizes),
        cmocka_unit_test(test_no_request_waits),    cmocka_unit_test(test_what_is_left_out),
        cmocka_unit_test(test_times_to_live),       cmocka_unit_test(test_contents),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
