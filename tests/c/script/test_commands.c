/* SPDX-License-Identifier: BSD-3-Clause
 * EVAL, EVALSHA and SCRIPT: what they take, what they refuse, and what is told of them.
 */
#include "script/commands.h"

#include "command/call.h"
#include "command/command.h"
#include "command/command_keys.h"
#include "exec/effects.h"
#include "script/cache.h"
#include "script/scripted.h"

#define ONE_SHA "e0e1f9fabfc9d4800c877a703b823ac0578ff8db" /* of "return 1" */
#define ONE_SHA_UPPER "E0E1F9FABFC9D4800C877A703B823AC0578FF8DB"
#define NO_SCRIPT "-NOSCRIPT No matching script. Please use EVAL.\r\n"

static struct peer p;

static int begin(void **state) {
    whole_begin(state);
    p = peer_connect();
    whole_say(&p, "script flush sync", "+OK\r\n");
    return 0;
}

static int end(void **state) {
    peer_close(&p);
    return whole_nothing_left(state);
}

/* ---- EVAL ---- */

static void test_keys_and_arguments(void **state) {
    whole_say(&p, "eval \"return {KEYS[1], KEYS[2], ARGV[1], #KEYS, #ARGV}\" 2 a b c",
              "*5\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n:2\r\n:1\r\n");
    whole_say(&p, "eval \"return {#KEYS, #ARGV}\" 0", "*2\r\n:0\r\n:0\r\n");
    whole_say(&p, "eval \"return KEYS[1]\" 0 a", "$-1\r\n");
    whole_say(&p, "eval \"return #KEYS\" +1 a", "-ERR value is not an integer or out of range\r\n");
}

static void test_counts_that_do_not_fit(void **state) {
    static const char *const rows[][2] = {
        {"eval", "-ERR wrong number of arguments for 'eval' command\r\n"},
        {"eval x", "-ERR wrong number of arguments for 'eval' command\r\n"},
        {"evalsha x", "-ERR wrong number of arguments for 'evalsha' command\r\n"},
        {"eval x 1", "-ERR Number of keys can't be greater than number of args\r\n"},
        {"eval x 2 a", "-ERR Number of keys can't be greater than number of args\r\n"},
        {"eval x 9223372036854775807 a",
         "-ERR Number of keys can't be greater than number of args\r\n"},
        {"eval x -1 a", "-ERR Number of keys can't be negative\r\n"},
        {"eval x -9223372036854775808", "-ERR Number of keys can't be negative\r\n"},
        {"eval x 1.0 a", "-ERR value is not an integer or out of range\r\n"},
        {"eval x 9223372036854775808", "-ERR value is not an integer or out of range\r\n"},
        {"eval x \"\"", "-ERR value is not an integer or out of range\r\n"},
        {"evalsha " ONE_SHA " -1", "-ERR Number of keys can't be negative\r\n"},
        {"evalsha short -1", NO_SCRIPT},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        whole_say(&p, rows[i][0], rows[i][1]);
    whole_say(&p, "script exists " ONE_SHA, "*1\r\n:0\r\n");
}

static void test_a_text_that_does_not_compile(void **state) {
    whole_say(&p, "eval \"return return\" 0",
              "-ERR Error compiling script (new function): user_script:1: unexpected symbol near "
              "'return'\r\n");
    whole_say(&p, "script load \"'\"",
              "-ERR Error compiling script (new function): user_script:1: unfinished string near "
              "'<eof>'\r\n");
    whole_say(&p, "eval \"return 1\" 0", ":1\r\n");
}

/* ---- EVALSHA ---- */

static void test_by_digest(void **state) {
    whole_say(&p, "evalsha " ONE_SHA " 0", NO_SCRIPT);
    whole_say(&p, "eval \"return 1\" 0", ":1\r\n");
    whole_say(&p, "evalsha " ONE_SHA " 0", ":1\r\n");
    whole_say(&p, "evalsha " ONE_SHA_UPPER " 0", ":1\r\n");
    whole_say(&p, "evalsha " ONE_SHA "0 0", NO_SCRIPT);
    whole_say(&p, "evalsha " ONE_SHA_UPPER " 1 a", ":1\r\n");
    whole_say(&p, "script flush", "+OK\r\n");
    whole_say(&p, "evalsha " ONE_SHA " 0", NO_SCRIPT);
}

/* ---- SCRIPT ---- */

static void test_script(void **state) {
    static const char *const rows[][2] = {
        {"script load \"return 1\"", "$40\r\n" ONE_SHA "\r\n"},
        {"script load \"return 1\"", "$40\r\n" ONE_SHA "\r\n"},
        {"script exists " ONE_SHA " x " ONE_SHA_UPPER, "*3\r\n:1\r\n:0\r\n:1\r\n"},
        {"script exists", "*0\r\n"},
        {"script flush other", "-ERR SCRIPT FLUSH only support SYNC|ASYNC option\r\n"},
        {"script flush sync async", "-ERR SCRIPT FLUSH only support SYNC|ASYNC option\r\n"},
        {"script exists " ONE_SHA, "*1\r\n:1\r\n"},
        {"script flush ASYNC", "+OK\r\n"},
        {"script exists " ONE_SHA, "*1\r\n:0\r\n"},
        {"script kill", "-NOTBUSY No scripts in execution right now.\r\n"},
        {"script debug",
         "-ERR Unknown subcommand or wrong number of arguments for 'debug'. Try "
         "SCRIPT HELP.\r\n"},
        {"script debug x", "-ERR Use SCRIPT DEBUG YES/SYNC/NO\r\n"},
        {"script debug no", "+OK\r\n"},
        {"script debug YES", "+OK\r\n"},
        {"evalsha " ONE_SHA " 0", "-ERR Please use EVAL instead of EVALSHA for debugging\r\n"},
        {"script debug NO", "+OK\r\n"},
        {"evalsha " ONE_SHA " 0", NO_SCRIPT},
        {"script nosuch",
         "-ERR Unknown subcommand or wrong number of arguments for 'nosuch'. Try "
         "SCRIPT HELP.\r\n"},
        {"script load",
         "-ERR Unknown subcommand or wrong number of arguments for 'load'. Try "
         "SCRIPT HELP.\r\n"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        whole_say(&p, rows[i][0], rows[i][1]);
}

/* None of them may be called by a script, or from EXEC be debugged. */
static void test_within_others(void **state) {
    static const char *const words[] = {"eval", "evalsha", "script"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        char line[128];
        snprintf(line, sizeof(line), "eval \"return redis.pcall('%s', 'x', '0').err\" 0", words[i]);
        whole_say(&p, line,
                  "$63\r\n@user_script: 1: This Redis command is not allowed from scripts\r\n");
    }
    whole_say(&p, "multi", "+OK\r\n");
    whole_say(&p, "eval \"return 1\" 0", "+QUEUED\r\n");
    whole_say(&p, "script debug yes", "+QUEUED\r\n");
    whole_say(&p, "evalsha " ONE_SHA " 0", "+QUEUED\r\n");
    whole_say(&p, "exec",
              "*3\r\n:1\r\n-ERR SCRIPT DEBUG must be called outside a pipeline\r\n:1\r\n");
}

/* ---- rows ---- */

static const struct {
    const char *words[6];
    int argc, first, count; /* of its keys; 0: it has none, or is no such request */
} requests[] = {
    {{"eval", "x", "0"}, 3, 0, 0},      {{"eval", "x", "0", "a"}, 4, 0, 0},
    {{"eval", "x", "1", "a"}, 4, 3, 1}, {{"evalsha", "x", "2", "a", "b", "c"}, 6, 3, 2},
    {{"eval", "x", "2", "a"}, 4, 0, 0}, {{"eval", "x", "-1", "a"}, 4, 0, 0},
    {{"eval", "x", "y", "a"}, 4, 0, 0},
};

static void test_keys_of_a_request(void **state) {
    for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
        struct buffer line = {.class = MEMORY_OTHER}, reply = {.class = MEMORY_OTHER};
        buffer_append_c_string(&line, "command getkeys");
        for (int k = 0; k < requests[i].argc; k++)
            buffer_printf(&line, " %s", requests[i].words[k]);
        if (requests[i].count)
            buffer_printf(&reply, "*%d\r\n", requests[i].count);
        else
            buffer_append_c_string(&reply, "-ERR Invalid arguments specified for command\r\n");
        for (int k = 0; k < requests[i].count; k++)
            buffer_printf(&reply, "$1\r\n%s\r\n", requests[i].words[requests[i].first + k]);
        whole_say(&p, line.bytes, reply.bytes);
        buffer_free(&line);
        buffer_free(&reply);
    }
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(test_keys_and_arguments),
        TEST(test_counts_that_do_not_fit),
        TEST(test_a_text_that_does_not_compile),
        TEST(test_by_digest),
        TEST(test_script),
        TEST(test_within_others),
        TEST(test_keys_of_a_request),
    };
#undef TEST
    return cmocka_run_group_tests(tests, scripted_open, NULL);
}
