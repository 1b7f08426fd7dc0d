/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of peer/peer_reply: every type, whole and in every splitting, and each limit.
 */
#include "peer/peer_reply.h"

#include <math.h>

#include "base/seed.h"
#include "peer/peer_feed.h"

static const struct peer_limits wide = {1 << 20, 1000};

struct sample {
    struct slice input;
    const char *record;
};
#define SAMPLE(literal, record) \
    { {(literal), sizeof(literal) - 1}, (record) }

static const struct sample samples[] = {
    SAMPLE("+OK\r\n", "+\"OK\"\n"),
    SAMPLE("+\r\n-ERR no such\r\n", "+\"\"\n-\"ERR no such\"\n"),
    SAMPLE(":0\r\n:-9223372036854775808\r\n", ":0\n:-9223372036854775808\n"),
    SAMPLE("$3\r\na\r\n\r\n$0\r\n\r\n$-1\r\n", "\"a\\r\\n\"\n\"\"\nnil\n"),
    SAMPLE("*-1\r\n_\r\n*0\r\n", "nil\nnil\n[]\n"),
    SAMPLE("*3\r\n:1\r\n*2\r\n$1\r\na\r\n*0\r\n+x\r\n", "[:1 [\"a\" []] +\"x\"]\n"),
    SAMPLE("%2\r\n+a\r\n:1\r\n+b\r\n~2\r\n#t\r\n#f\r\n", "{+\"a\" :1 +\"b\" <#1 #0>}\n"),
    SAMPLE(",1.5\r\n,inf\r\n,-inf\r\n,nan\r\n", ",1.5\n,inf\n,-inf\n,nan\n"),
    SAMPLE("(-12345678901234567890\r\n(1\r\n", "(\"-12345678901234567890\"\n(\"1\"\n"),
    SAMPLE("=7\r\ntxt:abc\r\n=4\r\nmkd:\r\n", "\"abc\"\n\"\"\n"),
    SAMPLE("!5\r\nERR a\r\n", "-\"ERR a\"\n"),
    SAMPLE(">2\r\n+message\r\n$1\r\nm\r\n+OK\r\n", ">[+\"message\" \"m\"]\n+\"OK\"\n"),
    SAMPLE("\n\n+OK\r\n\n$1\r\n\n\r\n", "+\"OK\"\n\"\\n\"\n"),
    /* Attributes: before a reply, within an aggregate, within each other, empty. */
    SAMPLE("|1\r\n+ttl\r\n:3\r\n$1\r\na\r\n", "\"a\"\n"),
    SAMPLE("*2\r\n|1\r\n+k\r\n*1\r\n$3\r\nabc\r\n:1\r\n|0\r\n:2\r\n", "[:1 :2]\n"),
    SAMPLE("|1\r\n|1\r\n+a\r\n+b\r\n+c\r\n+d\r\n+e\r\n", "+\"e\"\n"),
    SAMPLE("*1\r\n|1\r\n+k\r\n+v\r\n*1\r\n$2\r\nab\r\n+z\r\n", "[[\"ab\"]]\n+\"z\"\n"),
    /* Not the protocol. */
    SAMPLE("+OK\r\n\r\n", "+\"OK\"\nerror: a line is empty\n"),
    SAMPLE("+OK\n", "error: a line does not end with CR and LF\n"),
    SAMPLE("\r\n", "error: a line is empty\n"),
    SAMPLE("HTTP/1.1 200 OK\r\n", "error: a reply begins with a byte that marks no type\n"),
    SAMPLE(":\r\n", "error: an integer is not a number\n"),
    SAMPLE(":9223372036854775808\r\n", "error: an integer is not a number\n"),
    SAMPLE("$01\r\n", "error: a length is not a number\n"),
    SAMPLE("$-2\r\n", "error: a length is negative\n"),
    SAMPLE("!-1\r\n", "error: a length is negative\n"),
    SAMPLE("$1\r\nabc", "error: a text does not end with CR and LF\n"),
    SAMPLE("$1\r\na\rx", "error: a text does not end with CR and LF\n"),
    SAMPLE("$1\r\na\nx", "error: a text does not end with CR and LF\n"),
    SAMPLE("*x\r\n", "error: a count of elements is not a number\n"),
    SAMPLE("*-2\r\n", "error: a count of elements is negative\n"),
    SAMPLE("%-1\r\n", "error: a count of elements is negative\n"),
    SAMPLE("#x\r\n", "error: a boolean is neither t nor f\n"),
    SAMPLE("#tt\r\n", "error: a boolean is neither t nor f\n"),
    SAMPLE("_0\r\n", "error: a null has a value\n"),
    SAMPLE(",x\r\n", "error: a double is not a number\n"),
    SAMPLE("(\r\n", "error: a big number is not a number\n"),
    SAMPLE("(-\r\n", "error: a big number is not a number\n"),
    SAMPLE("(1a\r\n", "error: a big number is not a number\n"),
    SAMPLE("=3\r\ntxt\r\n", "error: a verbatim text has no format\n"),
    SAMPLE("=4\r\ntext\r\n", "error: a verbatim text has no format\n"),
};
#define SAMPLES (sizeof(samples) / sizeof(samples[0]))

/* The record of the bytes in pieces of that size (0: at once), cut at `cut` besides. */
static void expect(const struct sample *sample, const struct peer_limits *limits, size_t piece,
                   size_t cut) {
    struct peer_parser *p = peer_parser_create(MEMORY_OTHER, limits);
    struct buffer record;
    buffer_init(&record, MEMORY_OTHER);
    buffer_append(&record, "", 0);
    for (size_t at = 0; at < sample->input.length;) {
        size_t length = piece ? piece : sample->input.length;
        if (at < cut && at + length > cut) length = cut - at;
        if (length > sample->input.length - at) length = sample->input.length - at;
        if (!peer_feed(p, (struct slice){sample->input.bytes + at, length}, &record)) break;
        at += length;
    }
    assert_string_equal(record.bytes, sample->record);
    buffer_free(&record);
    peer_parser_free(p);
}

static void test_samples_at_once_and_in_pieces(void **state) {
    for (size_t i = 0; i < SAMPLES; i++) {
        expect(&samples[i], &wide, 0, 0);
        for (size_t piece = 1; piece <= 7; piece++) expect(&samples[i], &wide, piece, 0);
        for (size_t cut = 1; cut < samples[i].input.length; cut++) {
            expect(&samples[i], &wide, 0, cut);
        }
    }
}

static void test_nodes_are_limited(void **state) {
    struct peer_limits limits = {1000, 4};
    expect(&(struct sample)SAMPLE("*3\r\n:1\r\n:2\r\n:3\r\n", "[:1 :2 :3]\n"), &limits, 0, 0);
    const char *refused = "error: the reply has more elements than allowed\n";
    expect(&(struct sample)SAMPLE("*4\r\n:1\r\n:2\r\n:3\r\n:4\r\n", refused), &limits, 0, 0);
    expect(&(struct sample)SAMPLE("*5\r\n", refused), &limits, 0, 0);
    expect(&(struct sample)SAMPLE("%3\r\n", refused), &limits, 0, 0);
    expect(&(struct sample)SAMPLE("*9223372036854775807\r\n", refused), &limits, 0, 0);
    expect(&(struct sample)SAMPLE("%9223372036854775807\r\n", refused), &limits, 0, 0);
    /* Those of an attribute are given back: else the array would not fit. */
    expect(&(struct sample)SAMPLE("|1\r\n:1\r\n:2\r\n*3\r\n:1\r\n:2\r\n:3\r\n", "[:1 :2 :3]\n"),
           &limits, 0, 0);
}

static void test_text_is_limited(void **state) {
    struct peer_limits limits = {10, 100};
    const char *refused = "error: the reply's text is larger than allowed\n";
    expect(&(struct sample)SAMPLE("$10\r\n0123456789\r\n", "\"0123456789\"\n"), &limits, 0, 0);
    expect(&(struct sample)SAMPLE("$10\r\n0123456789\r\n", "\"0123456789\"\n"), &limits, 1, 0);
    expect(&(struct sample)SAMPLE("$11\r\n", refused), &limits, 0, 0);
    expect(&(struct sample)SAMPLE("$9223372036854775807\r\n", refused), &wide, 0, 0);
    expect(&(struct sample)SAMPLE("+0123456789\r\n", refused), &limits, 0, 0);
    /* A new reply begins with nothing. */
    expect(&(struct sample)SAMPLE("$5\r\n01234\r\n$6\r\n012345\r\n", "\"01234\"\n\"012345\"\n"),
           &limits, 0, 0);
    expect(&(struct sample)SAMPLE("*2\r\n$5\r\n01234\r\n$6\r\n", refused), &limits, 0, 0);
}

static void test_a_line_is_limited(void **state) {
    struct buffer input;
    buffer_init(&input, MEMORY_OTHER);
    buffer_append_char(&input, '+');
    for (size_t i = 0; i < PEER_LINE_BYTES_MAX - 3; i++) buffer_append_char(&input, 'x');
    buffer_append_c_string(&input, "\r\n");
    struct peer_parser *p = peer_parser_create(MEMORY_OTHER, &wide);
    const char *cursor = input.bytes;
    assert_int_equal(peer_parse(p, &cursor, input.bytes + input.length), PEER_PARSE_READY);
    assert_int_equal(peer_parser_reply(p)->text.length, PEER_LINE_BYTES_MAX - 3);
    /* Without its end it is refused at the same length, however it comes. */
    for (size_t piece = 1000; piece <= PEER_LINE_BYTES_MAX + 1000; piece += 65000) {
        peer_parser_reset(p);
        input.bytes[input.length - 2] = input.bytes[input.length - 1] = 'x';
        enum peer_parse_status status = PEER_PARSE_INCOMPLETE;
        for (size_t at = 0; at < input.length; at += piece) {
            size_t length = input.length - at < piece ? input.length - at : piece;
            cursor = input.bytes + at;
            status = peer_parse(p, &cursor, cursor + length);
        }
        assert_int_equal(status, PEER_PARSE_INCOMPLETE);
        cursor = "x";
        assert_int_equal(peer_parse(p, &cursor, cursor + 1), PEER_PARSE_ERROR);
        assert_string_equal(peer_parser_error(p), "a line is longer than allowed");
    }
    peer_parser_free(p);
    buffer_free(&input);
}

static void test_depth_is_limited(void **state) {
    struct buffer input;
    buffer_init(&input, MEMORY_OTHER);
    for (int i = 0; i < PEER_DEPTH_MAX; i++) buffer_append_c_string(&input, "*1\r\n");
    struct peer_parser *p = peer_parser_create(MEMORY_OTHER, &wide);
    for (int deeper = 0; deeper < 2; deeper++) {
        if (deeper) buffer_append_c_string(&input, "*1\r\n");
        size_t length = input.length;
        buffer_append_c_string(&input, ":1\r\n");
        const char *cursor = input.bytes;
        assert_int_equal(peer_parse(p, &cursor, input.bytes + input.length),
                         deeper ? PEER_PARSE_ERROR : PEER_PARSE_READY);
        input.length = length;
    }
    assert_string_equal(peer_parser_error(p), "the reply is nested deeper than allowed");
    /* Nothing more is taken, until it is reset. */
    const char *more = "+OK\r\n", *cursor = more;
    assert_int_equal(peer_parse(p, &cursor, more + 5), PEER_PARSE_ERROR);
    assert_ptr_equal(cursor, more);
    peer_parser_reset(p);
    assert_int_equal(peer_parse(p, &cursor, more + 5), PEER_PARSE_READY);
    peer_parser_free(p);
    buffer_free(&input);
}

/* A header announces much: nothing is set aside for it. */
static void test_memory_follows_what_came(void **state) {
    struct peer_limits limits = {(size_t)1 << 40, UINT32_MAX};
    size_t before = memory_used(MEMORY_OTHER);
    struct peer_parser *p = peer_parser_create(MEMORY_OTHER, &limits);
    const char input[] = "*4000000000\r\n*4000000000\r\n$1000000000000\r\nabc";
    const char *cursor = input;
    assert_int_equal(peer_parse(p, &cursor, input + sizeof(input) - 1), PEER_PARSE_INCOMPLETE);
    assert_false(peer_parser_is_between(p));
    assert_true(memory_used(MEMORY_OTHER) - before < 16384);
    peer_parser_free(p);
    assert_int_equal(memory_used(MEMORY_OTHER), before);
}

static void test_large_replies_leave_no_memory(void **state) {
    size_t before = memory_used(MEMORY_OTHER);
    struct peer_limits limits = {1 << 22, 100000};
    struct peer_parser *p = peer_parser_create(MEMORY_OTHER, &limits);
    struct buffer input;
    buffer_init(&input, MEMORY_OTHER);
    buffer_append_c_string(&input, "*20001\r\n$1000000\r\n");
    for (int i = 0; i < 100000; i++) buffer_append_c_string(&input, "0123456789");
    buffer_append_c_string(&input, "\r\n");
    for (int i = 0; i < 20000; i++) buffer_append_c_string(&input, ":1\r\n");
    const char *cursor = input.bytes;
    assert_int_equal(peer_parse(p, &cursor, input.bytes + input.length), PEER_PARSE_READY);
    const struct peer_reply *text = peer_reply_first(peer_parser_reply(p));
    assert_int_equal(text->text.length, 1000000);
    assert_memory_equal(text->text.bytes + 999990, "0123456789", 10);
    buffer_free(&input);
    const char *ok = "+OK\r\n";
    assert_int_equal(peer_parse(p, &ok, ok + 5), PEER_PARSE_READY);
    assert_true(memory_used(MEMORY_OTHER) - before < (size_t)3 * PEER_KEPT_BYTES);
    peer_parser_free(p);
    peer_parser_free(NULL);
    assert_int_equal(memory_used(MEMORY_OTHER), before);
}

static void test_between_replies(void **state) {
    struct peer_parser *p = peer_parser_create(MEMORY_OTHER, &wide);
    const char input[] = "\n*1\r\n:7\r\nrest", *cursor = input, *end = input + sizeof(input) - 1;
    assert_true(peer_parser_is_between(p));
    assert_int_equal(peer_parse(p, &cursor, input + 2), PEER_PARSE_INCOMPLETE);
    assert_false(peer_parser_is_between(p));
    assert_null(peer_parser_reply(p));
    assert_int_equal(peer_parse(p, &cursor, end), PEER_PARSE_READY);
    assert_true(peer_parser_is_between(p));
    assert_string_equal(cursor, "rest");
    assert_int_equal(peer_reply_first(peer_parser_reply(p))->integer, 7);
    peer_parser_free(p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_samples_at_once_and_in_pieces),
        cmocka_unit_test(test_nodes_are_limited),
        cmocka_unit_test(test_text_is_limited),
        cmocka_unit_test(test_a_line_is_limited),
        cmocka_unit_test(test_depth_is_limited),
        cmocka_unit_test(test_memory_follows_what_came),
        cmocka_unit_test(test_large_replies_leave_no_memory),
        cmocka_unit_test(test_between_replies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
