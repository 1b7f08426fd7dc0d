/* SPDX-License-Identifier: BSD-3-Clause
 * Replies to values of Lua and back: each form by itself, and random replies that come back as they
 * were.
 */
#include "script/convert.h"

#include <float.h>
#include <math.h>

#include "base/memory.h"
#include "base/random.h"
#include "net/capture.h"
#include "net/client.h"
#include "net/reply.h"
#include "script/engine.h"
#include "script/expressions.h"
#include "server/whole.h"

#define ROUNDS 2000
#define DEPTH_MAX 5

static struct convert convert;
static lua_State *L;

static int open_all(void **state) {
    if (whole_open()) return -1;
    L = open_state();
    convert_open(&convert);
    return 0;
}

static int close_all(void **state) {
    capture_close(&convert.capture);
    lua_close(L);
    return 0;
}

/* The value of what `reply` sends to a script of this protocol, shown. */
static const char *value_of(void (*reply)(struct client *c), uint8_t protocol) {
    lua_settop(L, 0);
    convert.capture.client->protocol = protocol;
    convert_begin(&convert, L);
    reply(convert.capture.client);
    convert_end(&convert);
    assert_int_equal(lua_gettop(L), 1);
    lua_setglobal(L, "value");
    return shown(L, "value");
}

/* ---- replies become values ---- */

static void integer(struct client *c) { reply_integer(c, -5); }
static void least(struct client *c) { reply_integer(c, INT64_MIN); }
static void bulk(struct client *c) { reply_bulk(c, (struct slice){"a\0\r\n", 4}); }
static void empty(struct client *c) { reply_bulk(c, SLICE("")); }
static void status(struct client *c) { reply_ok(c); }
static void error(struct client *c) { reply_error(c, "-CODE text"); }
static void null(struct client *c) { reply_null(c); }
static void null_array(struct client *c) { reply_null_array(c); }
static void none(struct client *c) {}
static void boolean(struct client *c) { reply_bool(c, true); }
static void number(struct client *c) { reply_double(c, 1.5); }
static void infinite(struct client *c) { reply_double(c, -INFINITY); }
static void not_a_number(struct client *c) { reply_double(c, NAN); }
static void big(struct client *c) { reply_big_number(c, SLICE("12345678901234567890")); }
static void verbatim(struct client *c) { reply_verbatim(c, SLICE("text"), "txt"); }

static void arrays(struct client *c) {
    reply_array(c, 4);
    reply_array(c, 0);
    reply_null(c);
    reply_array(c, 2);
    reply_error(c, "-CODE within");
    reply_integer(c, 1);
    reply_bulk(c, SLICE("end"));
}

static void map(struct client *c) {
    reply_map(c, 2);
    reply_bulk(c, SLICE("a"));
    reply_map(c, 0);
    reply_integer(c, 2);
    reply_set(c, 2);
    reply_bulk(c, SLICE("x"));
    reply_bulk(c, SLICE("y"));
}

/* Nulls as keys and members: a table of Lua has none. */
static void odd_keys(struct client *c) {
    reply_map(c, 2);
    reply_null(c);
    reply_integer(c, 1);
    reply_bulk(c, SLICE("a"));
    reply_null(c);
}

static void odd_members(struct client *c) {
    reply_set(c, 2);
    reply_null(c);
    reply_bulk(c, SLICE("a"));
}

static void attributed(struct client *c) {
    reply_attribute(c, 1);
    reply_bulk(c, SLICE("ttl"));
    reply_array(c, 1);
    reply_integer(c, 1);
    reply_bulk(c, SLICE("value"));
}

static void broken_off(struct client *c) {
    reply_array(c, 3);
    reply_integer(c, 1);
    reply_array(c, 1);
}

static void second_reply(struct client *c) {
    reply_integer(c, 1);
    reply_integer(c, 2);
}

static const struct {
    void (*reply)(struct client *c);
    const char *in_2, *in_3;
} replies[] = {
    {integer, "-5", "-5"},
    {least, "-9.2233720368547758e+18", "-9.2233720368547758e+18"},
    {bulk, "'a\\x00\\x0d\\x0a'", "'a\\x00\\x0d\\x0a'"},
    {empty, "''", "''"},
    {status, "{'ok'='OK'}", "{'ok'='OK'}"},
    {error, "{'err'='CODE text'}", "{'err'='CODE text'}"},
    {null, "false", "nil"},
    {null_array, "false", "nil"},
    {none, "false", "nil"},
    {broken_off, "false", "nil"},
    {second_reply, "1", "1"},
    {boolean, "1", "true"},
    {number, "'1.5'", "{'double'=1.5}"},
    {infinite, "'-inf'", "{'double'=-inf}"},
    {not_a_number, "'nan'", "{'double'=nan}"},
    {big, "'12345678901234567890'", "{'big_number'='12345678901234567890'}"},
    {verbatim, "'text'", "{'verbatim_string'={'format'='txt', 'string'='text'}}"},
    {arrays, "{1={}, 2=false, 3={1={'err'='CODE within'}, 2=1}, 4='end'}",
     "{1={}, 3={1={'err'='CODE within'}, 2=1}, 4='end'}"},
    {map, "{1='a', 2={}, 3=2, 4={1='x', 2='y'}}",
     "{'map'={2={'set'={'x'=true, 'y'=true}}, 'a'={'map'={}}}}"},
    {odd_keys, "{1=false, 2=1, 3='a', 4=false}", "{'map'={}}"},
    {odd_members, "{1=false, 2='a'}", "{'set'={'a'=true}}"},
    {attributed, NULL, "'value'"},
};

static void test_replies_become_values(void **state) {
    for (size_t i = 0; i < sizeof(replies) / sizeof(replies[0]); i++) {
        if (replies[i].in_2) assert_string_equal(value_of(replies[i].reply, 2), replies[i].in_2);
        assert_string_equal(value_of(replies[i].reply, 3), replies[i].in_3);
    }
}

static void test_an_error_is_told(void **state) {
    value_of(error, 2);
    assert_true(convert.failed);
    value_of(arrays, 2); /* one within is a value like others */
    assert_false(convert.failed);
    value_of(integer, 2);
    assert_false(convert.failed);
}

/* ---- order ---- */

static void test_lists_of_texts_are_sorted(void **state) {
    static const char *const rows[][2] = {
        {"{'b', 'a', 'c'}", "{1='a', 2='b', 3='c'}"},
        {"{'a\\0b', 'a', '', 'A'}", "{1='', 2='A', 3='a', 4='a\\x00b'}"},
        {"{'x'}", "{1='x'}"},
        {"{}", "{}"},
        {"{'b', 5, 'a'}", "{1='', 2='a', 3='b'}"},
        {"'text'", "'text'"},
        {"{err = 'x'}", "{'err'='x'}"},
    };
    size_t before = memory_used(engine_memory);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        lua_settop(L, 0);
        char text[128];
        snprintf(text, sizeof(text), "value = %s", rows[i][0]);
        assert_int_equal(luaL_dostring(L, text), 0);
        lua_getglobal(L, "value");
        convert_sort(L);
        assert_int_equal(lua_gettop(L), 1);
        lua_setglobal(L, "value");
        assert_string_equal(shown(L, "value"), rows[i][1]);
    }
    assert_int_equal(memory_used(engine_memory), before);
}

/* ---- values become replies ---- */

/* What the value on top of the stack is replied as; it is popped. */
static struct slice reply_of(struct capture *capture, uint8_t protocol, bool booleans) {
    int before = lua_gettop(L);
    capture->client->protocol = protocol;
    buffer_clear(&capture->replies);
    convert_reply(L, capture->client, booleans);
    assert_int_equal(lua_gettop(L), before - 1);
    return buffer_slice(&capture->replies);
}

static void check_reply(struct capture *capture, const char *expression, uint8_t protocol,
                        bool booleans, const char *expected) {
    lua_settop(L, 0);
    char text[256];
    snprintf(text, sizeof(text), "return %s", expression);
    assert_int_equal(luaL_dostring(L, text), 0);
    struct slice reply = reply_of(capture, protocol, booleans);
    if (!slice_equal(reply, slice_of(expected)))
        fail_msg("%s is replied as %.*s and not as %s", expression, (int)reply.length, reply.bytes,
                 expected);
}

static const struct {
    const char *expression, *in_2, *in_3; /* NULL: the same */
} values[] = {
    {"1", ":1\r\n", NULL},
    {"1.999", ":1\r\n", NULL},
    {"-1.999", ":-1\r\n", NULL},
    {"-0", ":0\r\n", NULL},
    {"2^53 + 2", ":9007199254740994\r\n", NULL},
    {"-2^63", ":-9223372036854775808\r\n", NULL},
    {"2^63", ":-9223372036854775808\r\n", NULL},
    {"0/0", ":-9223372036854775808\r\n", NULL},
    {"1/0", ":-9223372036854775808\r\n", NULL},
    {"'a\\r\\nb'", "$4\r\na\r\nb\r\n", NULL},
    {"''", "$0\r\n\r\n", NULL},
    {"true", ":1\r\n", NULL},
    {"false", "$-1\r\n", "_\r\n"},
    {"nil", "$-1\r\n", "_\r\n"},
    {"print", "$-1\r\n", "_\r\n"},
    {"{}", "*0\r\n", NULL},
    {"{1, 'a', {2}}", "*3\r\n:1\r\n$1\r\na\r\n*1\r\n:2\r\n", NULL},
    {"{1, nil, 3}", "*1\r\n:1\r\n", NULL},
    {"{a = 1}", "*0\r\n", NULL},
    {"{ok = 'fine\\r\\n:1'}", "+fine  :1\r\n", NULL},
    {"{ok = 'a\\0b'}", "+a\r\n", NULL},
    {"{ok = 5}", "*0\r\n", NULL},
    {"{err = 'A b\\r\\n'}", "-A b\r\n", NULL},
    {"{err = 'A', ok = 'b'}", "-A\r\n", NULL},
    {"{err = {}}", "*0\r\n", NULL},
    {"{double = 3.5}", "$3\r\n3.5\r\n", ",3.5\r\n"},
    {"{double = 'x'}", "*0\r\n", NULL},
    {"{map = {a = 1}}", "*2\r\n$1\r\na\r\n:1\r\n", "%1\r\n$1\r\na\r\n:1\r\n"},
    {"{map = {[1.5] = {}}}", "*2\r\n:1\r\n*0\r\n", "%1\r\n:1\r\n*0\r\n"},
    {"{map = 1}", "*0\r\n", NULL},
    {"{set = {a = true}}", "*1\r\n$1\r\na\r\n", "~1\r\n$1\r\na\r\n"},
    {"{set = {}}", "*0\r\n", "~0\r\n"},
    {"{big_number = '1'}", "*0\r\n", NULL},
    {"setmetatable({}, {__index = function() return 1 end})", "*0\r\n", NULL},
};

static void test_values_become_replies(void **state) {
    struct capture capture;
    capture_open(&capture);
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        const char *in_3 = values[i].in_3 ? values[i].in_3 : values[i].in_2;
        check_reply(&capture, values[i].expression, 2, false, values[i].in_2);
        check_reply(&capture, values[i].expression, 3, false, in_3);
    }
    check_reply(&capture, "{true, false}", 3, true, "*2\r\n#t\r\n#f\r\n");
    check_reply(&capture, "{true, false}", 2, true, "*2\r\n:1\r\n:0\r\n");
    capture_close(&capture);
}

static void test_depth_has_a_bound(void **state) {
    struct capture capture;
    capture_open(&capture);
    assert_int_equal(luaL_dostring(L, "local t = {} t[1] = t return t"), 0);
    struct slice reply = reply_of(&capture, 2, false);
    static const char end[] = "*1\r\n-ERR reached lua stack limit\r\n";
    size_t length = sizeof(end) - 1;
    assert_true(reply.length > length);
    assert_memory_equal(reply.bytes + reply.length - length, end, length);
    capture_close(&capture);
}

/* ---- there and back ---- */

/* Draws one reply: what scripts get as they would send it. */
/* Groups with their length before or behind, by chance. */
static void random_reply(struct client *c, int depth) {
    char bytes[40];
    size_t length = random_below(sizeof(bytes));
    uint64_t kinds = depth < DEPTH_MAX ? 9 : 6;
    for (size_t i = 0; i < length; i++) bytes[i] = (char)random_u64();
    switch (random_below(kinds)) {
    case 0: reply_integer(c, (int64_t)(random_u64() >> 11) - (INT64_C(1) << 52)); break;
    case 1: reply_bulk(c, (struct slice){bytes, length}); break;
    case 2: reply_status(c, "FINE"); break;
    case 3: reply_error(c, "-CODE text"); break;
    case 4:
        if (c->protocol == 2)
            reply_null(c);
        else
            reply_bool(c, random_below(2));
        break;
    case 5:
        if (c->protocol == 3) reply_double(c, (double)random_u64() / 1024);
        if (c->protocol == 2) reply_bulk(c, SLICE("0"));
        break;
    case 6:
        reply_map(c, 1);
        reply_bulk(c, (struct slice){bytes, length});
        random_reply(c, depth + 1);
        break;
    case 7:
        reply_set(c, 1);
        reply_bulk(c, (struct slice){bytes, length});
        break;
    default: {
        int64_t count = (int64_t)random_below(5);
        struct reply_group g;
        bool later = random_below(2);
        if (later)
            g = reply_array_begin(c);
        else
            reply_array(c, count);
        for (int64_t i = 0; i < count; i++) random_reply(c, depth + 1);
        if (later) reply_group_end(&g, count);
    }
    }
}

/* As many values as no table of Lua has places for: Lua would raise an error within the command. */
static void too_many(struct client *c) { reply_array(c, (INT64_C(1) << 26) + 1); }
static void too_many_pairs(struct client *c) { reply_map(c, (INT64_C(1) << 26) + 1); }
static void too_many_within(struct client *c) {
    reply_array(c, 2);
    reply_null(c);
    reply_array(c, INT64_MAX / 4);
    reply_null(c);
}

static void test_values_of_a_reply_have_a_bound(void **state) {
    void (*const kinds[])(struct client * c) = {too_many, too_many_pairs, too_many_within};
    for (size_t i = 0; i < 2 * sizeof(kinds) / sizeof(kinds[0]); i++) {
        assert_string_equal(value_of(kinds[i / 2], i % 2 ? 3 : 2),
                            "{'err'='ERR not enough memory for the reply'}");
        assert_false(convert.capture.client->flags & CLIENT_REPLY_OFF);
    }
}

static void test_random_replies_come_back(void **state) {
    struct capture direct, back;
    capture_open(&direct);
    capture_open(&back);
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t seed = random_u64();
        uint8_t protocol = round % 2 ? 3 : 2;
        lua_settop(L, 0);
        direct.client->protocol = convert.capture.client->protocol = protocol;
        buffer_clear(&direct.replies);
        random_seed(seed);
        random_reply(direct.client, 0);
        random_seed(seed);
        convert_begin(&convert, L);
        random_reply(convert.capture.client, 0);
        convert_end(&convert);
        random_seed(seed + 1);
        struct slice reply = reply_of(&back, protocol, protocol == 3);
        assert_int_equal(reply.length, direct.replies.length);
        assert_memory_equal(reply.bytes, direct.replies.bytes, reply.length);
    }
    capture_close(&direct);
    capture_close(&back);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_replies_become_values),
        cmocka_unit_test(test_an_error_is_told),
        cmocka_unit_test(test_lists_of_texts_are_sorted),
        cmocka_unit_test(test_values_become_replies),
        cmocka_unit_test(test_depth_has_a_bound),
        cmocka_unit_test(test_values_of_a_reply_have_a_bound),
        cmocka_unit_test(test_random_replies_come_back),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
