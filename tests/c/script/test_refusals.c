/* SPDX-License-Identifier: BSD-3-Clause
 * Memory that Lua is refused, request by request: each of the first, and later ones that are drawn.
 * Whatever is refused, the client is answered, what the scripts before it left is there, and the
 * same request does what it is to do once there is memory again. A session of the debugger comes to
 * its end. What the server itself takes, as from its log, is not refused memory at all.
 *
 * ROUNDS=2000 in the environment: each of so many is refused, and not 24 (some 20 s).
 */
#include "base/random.h"
#include "command/call.h"
#include "option/option.h"
#include "script/cache.h"
#include "script/debugged.h"
#include "script/engine.h"
#include "script/gates.h"
#include "script/sandbox.h"
#include "script/script.h"

/* Each request is refused in turn up to `each`; beyond it, so many are drawn. */
#define EACH 24
#define DRAWN 16

static unsigned each = EACH;
static struct peer p;
static unsigned asked, refused_at, refused_times, refused;

static bool refuses(size_t size) {
    bool refuse = asked >= refused_at && asked - refused_at < refused_times;
    asked++;
    refused += refuse;
    return refuse;
}

/* Scripts that take memory by each of the ways that there are, and what they are answered; they
 * leave nothing behind. */
static const char *const corpus[][2] = {
    {"eval \"return 1\" 0", ":1\r\n"},
    {"eval \"return {1, 'two', {3}, 4.5, true, false}\" 0",
     "*6\r\n:1\r\n$3\r\ntwo\r\n*1\r\n:3\r\n:4\r\n:1\r\n$-1\r\n"},
    {"eval \"return {KEYS[1], ARGV[1], #ARGV}\" 1 k x y", "*3\r\n$1\r\nk\r\n$1\r\nx\r\n:2\r\n"},
    {"eval \"return {ok = 'fine'}\" 0", "+fine\r\n"},
    {"eval \"return redis.error_reply('MINE x')\" 0", "-MINE x\r\n"},
    {"eval \"redis.call('set', 'k', 12.5) return redis.call('get', 'k')\" 0", "$4\r\n12.5\r\n"},
    {"eval \"redis.setresp(3) redis.call('hset', 'h', 'f', 'v') local m = redis.call('hgetall', "
     "'h').map redis.call('del', 'h') return m.f\" 0",
     "$1\r\nv\r\n"},
    {"eval \"local t = {} for i = 1, 100 do t[i] = 'k' .. i end redis.call('del', unpack(t)) "
     "return #t\" 0",
     ":100\r\n"},
    {"eval \"local t = {} for i = 1, 300 do t['k' .. i] = {i, tostring(i)} end return t.k7[2]\" 0",
     "$1\r\n7\r\n"},
    {"eval \"return #table.concat({('x'):rep(3000), 1, 2}, ',')\" 0", ":3004\r\n"},
    {"eval \"return ('%d %s %5.2f'):format(1, 'two', 3)\" 0", "$11\r\n1 two  3.00\r\n"},
    {"eval \"return (('a b c'):gsub('%a', function(c) return c .. c end))\" 0",
     "$8\r\naa bb cc\r\n"},
    {"eval \"return cjson.encode(cjson.decode('[1,{\\\"a\\\":[true,null,\\\"x\\\"]}]'))\" 0",
     "$25\r\n[1,{\"a\":[true,null,\"x\"]}]\r\n"},
    {"eval \"return cmsgpack.unpack(cmsgpack.pack({1, {a = 'b'}, ('y'):rep(900)}))[2].a\" 0",
     "$1\r\nb\r\n"},
    {"eval \"return struct.unpack('>I2s', struct.pack('>I2s', 513, ('z'):rep(600)))\" 0",
     ":513\r\n"},
    {"eval \"local c = coroutine.wrap(function(a) while true do a = coroutine.yield(a + 1) end "
     "end) return c(1) + c(5)\" 0",
     ":8\r\n"},
    {"eval \"return loadstring('local a = {...} return #a')(1, 2, 3)\" 0", ":3\r\n"},
    {"eval \"local n = 0 return load(function() n = n + 1 return ({'return ', '7'})[n] end)()\" 0",
     ":7\r\n"},
    {"eval \"return redis.sha1hex('')\" 0", "$40\r\nda39a3ee5e6b4b0d3255bfef95601890afd80709\r\n"},
    {"eval \"local function f(n) if n == 0 then return 0 end return 1 + f(n - 1) end return "
     "f(500)\""
     " 0",
     ":500\r\n"},
    {"eval \"local a, b = pcall(error, {1}) return b[1]\" 0", ":1\r\n"},
    {"eval \"collectgarbage('collect') collectgarbage('step') return 1\" 0", ":1\r\n"},
    {"eval \"local t = {} for i = 1, 400 do t[i] = {('s'):rep(i)} end collectgarbage() return #t\""
     " 0",
     ":400\r\n"},
    {"eval \"local t = {} for i = 1, 3000 do t[i] = {i} end return #t\" 0", ":3000\r\n"},
    {"script load \"local x = {'a', 'b', c = function() return 'd' end} return x\"", "$40\r\n"},
    {"eval \"return redis.pcall('nosuch')\" 0",
     "-@user_script: 1: Unknown Redis command called from Lua script\r\n"},
    {"eval \"return redis.call('incr')\" 0", "-ERR Error running script (call to f_"},
    {"eval \"return 1 +\" 0", "-ERR Error compiling script (new function): "},
    {"eval \"error({})\" 0", "-ERR Error running script (call to f_"},
    {"eval \"return xpcall(function() error('a') end, function() error('b') end)\" 0", "$-1\r\n"},
    {"eval \"error(7)\" 0", "-ERR Error running script (call to f_"},
};

/* ---- one refusal ---- */

static bool is_answered(const char *wanted) {
    return p.got.length >= strlen(wanted) && memcmp(p.got.bytes, wanted, strlen(wanted)) == 0;
}

/* Sends the request from nothing. Returns whether anything was refused. */
static bool try_request(const char *const row[2], unsigned at, unsigned times) {
    asked = refused = 0;
    refused_at = at;
    refused_times = times;
    engine_set_refusal(refuses);
    peer_send(&p, slice_of(row[0]));
    peer_send(&p, SLICE("\r\n"));
    engine_set_refusal(NULL);
    bool is_whole = p.got.length > 2 && p.got.bytes[p.got.length - 1] == '\n';
    if (!is_whole || (!refused && !is_answered(row[1])))
        fail_msg("%u requests refused from %u on: %s\n%.*s", times, at, row[0], (int)p.got.length,
                 p.got.bytes);
    buffer_clear(&p.got);
    return refused;
}

/* What scripts find is as it was, and this request does what it should. */
static void check_afterwards(const char *const row[2]) {
    whole_say(&p,
              "eval \"return type(redis.call) .. type(cjson.encode) .. math.random(1000000) .. "
              "#KEYS\" 0",
              "$23\r\nfunctionfunction1708290\r\n");
    peer_send(&p, slice_of(row[0]));
    peer_send(&p, SLICE("\r\n"));
    if (!is_answered(row[1])) fail_msg("%s\n%.*s", row[0], (int)p.got.length, p.got.bytes);
    buffer_clear(&p.got);
    whole_say(&p, "script flush", "+OK\r\n");
}

/* Tries the row of this number with one request after another refused. `attempt` returns whether
 * anything was. */
static void run_row(bool (*attempt)(size_t row, unsigned at, unsigned times), size_t row,
                    unsigned times) {
    unsigned at = 0;
    while (at < each && attempt(row, at, times)) at++;
    if (at < each) return;
    attempt(row, UINT32_MAX, 0);
    unsigned most = asked;
    for (int drawn = 0; drawn < DRAWN && most > each; drawn++)
        attempt(row, each + (unsigned)random_below(most - each), times);
}

static bool attempt_request(size_t row, unsigned at, unsigned times) {
    bool is_refused = try_request(corpus[row], at, times);
    if (is_refused) check_afterwards(corpus[row]);
    return is_refused;
}

static void run_requests(unsigned times) {
    for (size_t i = 0; i < sizeof(corpus) / sizeof(corpus[0]); i++)
        run_row(attempt_request, i, times);
}

/* ---- sessions ---- */

#define VALUES                                           \
    "local t, s = {1, {k = 'v'}, 2.5}, ('x'):rep(300)\n" \
    "local function f(a)\n"                              \
    "  return a .. 1\n"                                  \
    "end\n"                                              \
    "local u = f('b')\n"                                 \
    "return u"
#define RETURNED "+<endsession>\r\n"

/* What they are answered, from its end. */
static const struct session {
    const char *script;
    const char *words[8];
    const char *end;
} sessions[] = {
    {VALUES, {"s", "s", "s", "print", "print t", "print KEYS", "c"}, RETURNED "$2\r\nb1\r\n"},
    {VALUES, {"break 3", "c", "trace", "list", "whole", "b 0", "c"}, RETURNED "$2\r\nb1\r\n"},
    {VALUES,
     {"eval 1 + 1", "eval )", "eval error({1})", "eval ('x'):rep(400)", "c"},
     RETURNED "$2\r\nb1\r\n"},
    {VALUES,
     {"eval local t = {} for i = 1, 90 do t[i] = {i} end return t", "maxlen 0", "c"},
     RETURNED "$2\r\nb1\r\n"},
    {VALUES,
     {"redis set k v", "redis nosuch", "redis get k", "redis del k", "c"},
     RETURNED "$2\r\nb1\r\n"},
    {"redis.call('del', 'k')\nredis.pcall('nosuch')\nredis.call('hset', 'h', 'f', 1)\n"
     "redis.setresp(3)\nredis.call('hgetall', 'h')\nreturn redis.call('del', 'h')",
     {"s", "s", "s", "s", "s", "s"},
     RETURNED ":1\r\n"},
    {"redis.breakpoint()\nredis.debug('a', {1}, nil)\nreturn 1", {"c", "c"}, RETURNED ":1\r\n"},
    {"local c = coroutine.wrap(function(a)\n  local b = a\n  coroutine.yield(b)\n  return b\nend)"
     "\nc(1)\nreturn c()",
     {"s", "s", "print", "trace", "eval 1", "redis del a", "c"},
     RETURNED ":1\r\n"},
    {"pcall(function() while true do pcall(error, {}) end end)\nreturn 1",
     {"s", "abort"},
     "script aborted for user request\r\n"},
    {"error({})", {"s"}, "(a table value)\r\n"},
    {"return )", {NULL}, "unexpected symbol near ')'\r\n"},
};

static bool ends_with(const struct buffer *got, const char *end) {
    size_t length = strlen(end);
    return got->length >= length && !memcmp(got->bytes + got->length - length, end, length);
}

/* Returns whether anything was refused. */
static bool try_session(const struct session *s, const char *mode, unsigned at, unsigned times) {
    struct peer c = debugged_open(mode, s->words);
    asked = refused = 0;
    refused_at = at;
    refused_times = times;
    engine_set_refusal(refuses);
    debugged_eval(&c, slice_of(s->script));
    engine_set_refusal(NULL);
    debugged_hear(&c);
    buffer_append(&c.got, "", 1);
    c.got.length--;
    const char *over = strstr(c.got.bytes, "+<endsession>\r\n");
    bool is_whole = over && strlen(over) > 16 && ends_with(&c.got, "\r\n");
    /* What a child was refused the child alone knows. */
    bool is_known = times == 0 || (!refused && strcmp(mode, "sync") == 0);
    if (!is_whole || (is_known && !ends_with(&c.got, s->end)))
        fail_msg("%u requests refused from %u on: %s\n%s", times, at, s->script, c.got.bytes);
    buffer_clear(&c.got);
    peer_close(&c);
    return refused;
}

static bool attempt_session(size_t row, unsigned at, unsigned times) {
    bool is_refused = try_session(&sessions[row], "sync", at, times);
    if (is_refused) check_afterwards(corpus[0]);
    if (random_below(20) == 0) try_session(&sessions[row], "yes", at, times);
    return is_refused;
}

static void run_sessions(unsigned times) {
    for (size_t i = 0; i < sizeof(sessions) / sizeof(sessions[0]); i++)
        run_row(attempt_session, i, times);
}

/* ---- what the server takes ---- */

/* Texts that a snapshot or a log holds are compiled whatever is refused, and run. */
static void test_nothing_is_refused_to_the_server(void **state) {
    char reason[128];
    for (size_t i = 0; i < sizeof(sessions) / sizeof(sessions[0]); i++) {
        bool is_script = sessions[i].words[0] != NULL;
        for (refused_at = 0; refused_at < EACH; refused_at++) {
            asked = refused = 0;
            refused_times = UINT32_MAX;
            engine_set_refusal(refuses);
            bool added = script_add(slice_of(sessions[i].script), reason, sizeof(reason));
            engine_set_refusal(NULL);
            if (added != is_script) fail_msg("%s: %s", sessions[i].script, reason);
            assert_int_equal(refused, 0);
            script_flush(false);
        }
    }
}

/* EVAL of this text fails with this fault. */
static void check_fault(struct slice text, const char *fault) {
    debugged_eval(&p, text);
    peers_turns();
    peer_receive(&p, SIZE_MAX);
    if (!is_answered("-ERR Error compiling script (new function): ") || !ends_with(&p.got, fault))
        fail_msg("%s, and not %.*s", fault, (int)p.got.length, p.got.bytes);
    buffer_clear(&p.got);
}

/* A text that is too long for a script needs memory for saying so. */
static void test_text_that_is_too_long(void **state) {
    struct buffer text = {.class = MEMORY_OTHER};
    size_t length = SANDBOX_TEXT_BYTES_MAX + 1;
    memset(buffer_reserve(&text, length), ' ', length);
    text.length = length;
    asked = refused_at = 0;
    refused_times = UINT32_MAX;
    engine_set_refusal(refuses);
    check_fault(buffer_slice(&text), "not enough memory\r\n");
    engine_set_refusal(NULL);
    option_set_text("lua-memory-limit", "1");
    check_fault(buffer_slice(&text), "not enough memory\r\n");
    option_set_text("lua-memory-limit", "1gb");
    check_fault(buffer_slice(&text), "script too long\r\n");
    buffer_free(&text);
    check_afterwards(corpus[0]);
}

static int begin(void **state) {
    whole_begin(state);
    p = peer_connect();
    return 0;
}

static int end(void **state) {
    peer_close(&p);
    assert_false(gate_is_set(&script_gate_busy) || gate_is_set(&script_gate));
    return whole_nothing_left(state);
}

static void test_one_request(void **state) { run_requests(1); }
static void test_all_from_one_on(void **state) { run_requests(UINT32_MAX); }
static void test_one_request_of_a_session(void **state) { run_sessions(1); }
static void test_all_from_one_on_of_a_session(void **state) { run_sessions(UINT32_MAX); }

static int open_all(void **state) {
    int result = scripted_open(state);
    option_set_text("slowlog-log-slower-than", "-1"); /* it would keep the address of who is slow */
    const char *given = getenv("ROUNDS");
    if (given) each = (unsigned)strtoul(given, NULL, 10);
    return result;
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(test_one_request),
        TEST(test_all_from_one_on),
        TEST(test_one_request_of_a_session),
        TEST(test_all_from_one_on_of_a_session),
        TEST(test_nothing_is_refused_to_the_server),
        TEST(test_text_that_is_too_long),
    };
#undef TEST
    return cmocka_run_group_tests(tests, open_all, NULL);
}
