/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of replay/record_reply: a record as the server sends it, and what is none.
 */
#include "replay/record_reply.h"

#include "base/seed.h"

static struct trace_file_argument arguments[TRACE_FILE_ARGUMENTS_MAX];
static struct trace_file_record record;
static struct peer_parser *parser;

static bool take(const char *reply) {
    const struct peer_limits limits = {1 << 20, 1 << 16};
    const char *at = reply, *end = reply + strlen(reply);
    peer_parser_free(parser);
    parser = peer_parser_create(MEMORY_OTHER, &limits);
    assert_int_equal(peer_parse(parser, &at, end), PEER_PARSE_READY);
    return record_reply_take(peer_parser_reply(parser), arguments, &record);
}

#define BEGIN "*6\r\n:7\r\n:1700000000000000\r\n:3\r\n:2\r\n:1\r\n"

static void test_a_record(void **state) {
    assert_true(take(BEGIN
                     "*6\r\n$3\r\nset\r\n*3\r\n$1\r\nk\r\n:100\r\n:-1\r\n:5\r\n*1\r\n$1\r\no\r\n"
                     "*2\r\n$1\r\nn\r\n$-1\r\n$2\r\nex\r\n"));
    assert_true(record.id == 7 && record.wall_usec == 1700000000000000 && record.client == 3);
    assert_true(record.database == 2 && record.by_script && record.argument_count == 6);
    assert_true(arguments[0].kind == TRACE_FILE_WORD && slice_is(arguments[0].text, "set"));
    assert_true(arguments[1].kind == TRACE_FILE_KEY && slice_is(arguments[1].text, "k"));
    assert_true(arguments[1].bytes == 100 && arguments[1].ttl_msec == -1);
    assert_true(arguments[2].kind == TRACE_FILE_VALUE && arguments[2].size == 5);
    assert_true(arguments[3].kind == TRACE_FILE_OTHER_KEY && slice_is(arguments[3].text, "o"));
    assert_true(arguments[4].kind == TRACE_FILE_KEY && arguments[4].bytes == -1);
    assert_true(arguments[5].kind == TRACE_FILE_WORD);
}

static void test_what_is_no_record(void **state) {
    static const char *const bad[] = {
        "+OK\r\n",
        "*0\r\n",
        "*5\r\n:7\r\n:1\r\n:3\r\n:2\r\n:1\r\n",
        "*6\r\n:0\r\n:1\r\n:3\r\n:2\r\n:1\r\n*1\r\n$1\r\na\r\n",
        "*6\r\n:1\r\n:-1\r\n:3\r\n:2\r\n:1\r\n*1\r\n$1\r\na\r\n",
        "*6\r\n:1\r\n:1\r\n:3\r\n:2147483648\r\n:1\r\n*1\r\n$1\r\na\r\n",
        "*6\r\n:1\r\n:1\r\n:3\r\n:2\r\n:2\r\n*1\r\n$1\r\na\r\n",
        "*6\r\n$1\r\n1\r\n:1\r\n:3\r\n:2\r\n:1\r\n*1\r\n$1\r\na\r\n",
        BEGIN "$1\r\na\r\n",
        BEGIN "*0\r\n",
        BEGIN "*1\r\n:5\r\n",
        BEGIN "*1\r\n*1\r\n$1\r\na\r\n",
        BEGIN "*2\r\n$1\r\na\r\n*0\r\n",
        BEGIN "*2\r\n$1\r\na\r\n*4\r\n$1\r\nk\r\n:1\r\n:1\r\n:1\r\n",
        BEGIN "*2\r\n$1\r\na\r\n*1\r\n:1\r\n",
        BEGIN "*2\r\n$1\r\na\r\n*2\r\n$1\r\nk\r\n:5\r\n",
        BEGIN "*2\r\n$1\r\na\r\n*3\r\n$1\r\nk\r\n:-5\r\n:1\r\n",
        BEGIN "*2\r\n$1\r\na\r\n*3\r\n$1\r\nk\r\n:5\r\n:9223372036854775807\r\n",
        BEGIN "*2\r\n$1\r\na\r\n:-1\r\n",
        BEGIN "*2\r\n$1\r\na\r\n:1000000000\r\n",
        BEGIN "*2\r\n$1\r\na\r\n$-1\r\n",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) assert_false(take(bad[i]));
}

static int free_parser(void **state) {
    peer_parser_free(parser);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_record),
        cmocka_unit_test(test_what_is_no_record),
    };
    return cmocka_run_group_tests(tests, NULL, free_parser);
}
