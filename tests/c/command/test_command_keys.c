/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of command/command_keys, with the server's rows: every form that the commands of 6.2 have,
 * and what its COMMAND GETKEYS answered to each request. "-" stands for an empty argument.
 */
#include "command/command_keys.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include "command/command.h"
#include "option/option.h"
#include "server/mode.h"
#include "server/modes.h"

#define ARGUMENTS_MAX 16

static const struct {
    const char *request, *keys; /* "": none, the arguments are at fault */
} cases[] = {
    {"mset a 1 b", "a b"},
    {"mset a 1 b 2 c", "a b c"},
    {"del a b", "a b"},
    {"stralgo lcs keys a b", "a b"},
    {"stralgo lcs strings a b", ""},
    {"stralgo lcs", ""},
    {"stralgo lcs keys a", ""},
    {"stralgo lcs keys a b idx", "a b"},
    {"stralgo lcs idx keys a b", "a b"},
    {"stralgo x keys a b", "a b"},
    {"stralgo lcs len keys keys b", "keys b"},
    {"stralgo lcs keys a b keys c d", "a b"},
    {"stralgo keys a b", "a b"},
    {"stralgo keys a b c d", "a b"},
    {"memory usage a", "a"},
    {"memory usage", ""},
    {"memory doctor", ""},
    {"memory help a", ""},
    {"memory usage a samples 5", "a"},
    {"eval x 2 a b c", "a b"},
    {"eval x 0", ""},
    {"eval x 9 k", ""},
    {"eval x -1 k", ""},
    {"eval x nan k", ""},
    {"eval x 0 a", ""},
    {"sort a", "a"},
    {"sort a by x get y store d", "a d"},
    {"sort a store d store e", "a e"},
    {"sort a store store e", "a e"},
    {"sort a store", "a"},
    {"sort a limit 1 2 store e", "a e"},
    {"sort a limit store e", "a"},
    {"sort a by store store e", "a e"},
    {"zunionstore d 2 a b weights 1 2", "a b d"},
    {"zunionstore d 3 a b", ""},
    {"zunionstore d 0 a b", ""},
    {"zunionstore d 1 a", "a d"},
    {"zunionstore d 2 a b", "a b d"},
    {"zunion 2 a b", "a b"},
    {"zunion 5 a", ""},
    {"zunion 1 a weights 2", "a"},
    {"zunion 2 a b", "a b"},
    {"xread streams a 0", "a"},
    {"xread count 2 block 0 streams a b 0 0", "a b"},
    {"xread streams a b 0", ""},
    {"xread foo a b", ""},
    {"xread block streams streams a 0", "a"},
    {"migrate h 1 k 0 10", "k"},
    {"migrate h 1 k 0 10 copy", "k"},
    {"migrate h 1 - 0 10 keys a b c", "a b c"},
    {"migrate h 1 - 0 10 copy auth keys keys a b", "keys a b"},
    {"migrate h 1 k 0 10 keys a b c", "k"},
    {"migrate h 1 - 0 10 auth2 keys keys keys a", "keys keys a"},
    {"georadius k 1 2 3 m", "k"},
    {"georadius k 1 2 3 m store d", "k d"},
    {"georadius k 1 2 3 m storedist d store e", "k e"},
    {"georadius k 1 2 3 m count 1 asc storedist d", "k d"},
    {"georadius k 1 2 3 m store", "k"},
    {"object encoding a", "a"},
    {"object help", ""},
    {"stralgo lcs strings keys a keys b c", ""},
    {"stralgo keys keys a", "keys a"},
    {"stralgo lcs a keys", ""},
    {"stralgo lcs minmatchlen keys keys a b", "keys a"},
    {"eval x 2abc a b", "a b"},
    {"eval x +1 a b", "a"},
    {"eval x 01 a", "a"},
    {"eval x 1 - -", "-"},
    {"eval x 4294967297 a", "a"},
    {"eval x 2147483648 a", ""},
    {"eval x -9223372036854775808 a", ""},
    {"eval x -9223372036854775809 a", ""}, /* the least number, which ends in 32 zeros */
    {"eval x -99999999999999999999 a", ""},
    {"eval x 99999999999999999999 a", ""},
    {"eval x \t\n\v\f\r1 a", "a"},
    {"eval x -\t1 a", ""},
    {"zunion 01 a", "a"},
    {"zunionstore d 1abc a", "a d"},
    {"zunionstore d -1 a", ""},
    {"georadius k 1 2 3 store d", "k d"},
    {"georadius k 1 2 store d", "k"},
    {"georadius k 1 store d e f", "k"},
    {"georadius k 1 2 3 m store store d", "k store"},
    {"georadius k 1 2 3 m STORE d", "k d"},
    {"sort a get store store e", "a e"},
    {"sort a STORE x", "a x"},
    {"sort store store store", "store store"},
    {"sort a asc store x by", "a x"},
    {"sort a limit 1 store x", "a"},
    {"sort a limit", "a"},
    {"xread count streams streams a 0", "a"},
    {"xread group streams x streams a 0", "a"},
    {"xread noack streams a 0", "a"},
    {"xread STREAMS a 0", "a"},
    {"xread block 0 count 1 a b c", ""},
    {"migrate h 1 - keys 10 -", "-"},
    {"migrate h 1 - 0 keys a", "-"},
    {"migrate h 1 - 0 10 keys", ""},
    {"migrate h 1 - 0 10 copy", "-"},
    {"migrate h 1 - 0 10 KEYS a KEYS b", "a KEYS b"},
    {"migrate h 1 k keys keys keys a", "k"},
    {"memory USAGE a b", "a"},
    {"memory USAGE", ""},
    {"object freq", ""},
    {"object freq a b", "a"},
    {"object a", ""},
};

static int split(const char *text, struct slice *argv) {
    int argc = 0;
    while (*text) {
        size_t length = strcspn(text, " ");
        assert_true(argc < ARGUMENTS_MAX);
        argv[argc++] = (struct slice){text, length == 1 && *text == '-' ? 0 : length};
        text += length + (text[length] == ' ');
    }
    return argc;
}

static const struct command *command_named(struct slice name) {
    const struct command *command = command_find(name);
    if (!command) fail_msg("no row for %.*s", (int)name.length, name.bytes);
    return command;
}

/* Keys that a search has visited. */
struct found {
    int indexes[ARGUMENTS_MAX];
    int count, wanted; /* the search ends behind so many */
};

static bool add_found(int index, void *context) {
    struct found *found = context;
    assert_in_range(found->count, 0, ARGUMENTS_MAX - 1);
    found->indexes[found->count++] = index;
    return found->count < found->wanted;
}

static bool search(const struct command *command, int argc, const struct slice *argv, int wanted,
                   struct found *found) {
    *found = (struct found){.wanted = wanted};
    return command_each_key(&(struct key_search){command, argc, argv, add_found, found});
}

static void test_keys_are_those_of_redis(void **state) {
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct slice argv[ARGUMENTS_MAX], expected[ARGUMENTS_MAX];
        struct found found;
        int argc = split(cases[i].request, argv), wanted = split(cases[i].keys, expected);
        bool any = search(command_named(argv[0]), argc, argv, INT_MAX, &found);
        assert_int_equal(any, wanted > 0);
        if (found.count != wanted) fail_msg("%s: %d keys", cases[i].request, found.count);
        for (int k = 0; k < wanted; k++)
            if (!slice_equal(argv[found.indexes[k]], expected[k]))
                fail_msg("%s: key %d", cases[i].request, k);
    }
}

/* Whatever the numbers and lengths: each key is an argument, and named once; and who wants one key
 * is told of the first. */
static void test_keys_lie_within(void **state) {
    static const char *const words[] = {"store", "keys", "streams", "3", "99", "-1", "limit", ""};
    for (size_t c = 0; c < command_count(); c++)
        for (unsigned seed = 0; seed < 4096; seed++) {
            struct slice argv[ARGUMENTS_MAX];
            struct found found, first;
            int argc = 1 + (int)(seed % 9);
            if (!command_arity_fits(command_at(c), argc)) continue;
            for (int i = 0; i < argc; i++) argv[i] = slice_of(words[(seed >> (i % 4) * 3) & 7]);
            bool any = search(command_at(c), argc, argv, INT_MAX, &found);
            assert_int_equal(any, found.count > 0);
            for (int k = 0; k < found.count; k++) {
                assert_in_range(found.indexes[k], 1, argc - 1);
                for (int other = 0; other < k; other++)
                    assert_int_not_equal(found.indexes[k], found.indexes[other]);
            }
            assert_int_equal(search(command_at(c), argc, argv, 1, &first), any);
            assert_int_equal(first.count, any);
            if (any) assert_int_equal(first.indexes[0], found.indexes[0]);
        }
}

static void test_who_has_keys(void **state) {
    assert_true(command_has_keys(command_named(SLICE("eval"))));
    assert_true(command_has_keys(command_named(SLICE("del"))));
    assert_false(command_has_keys(command_named(SLICE("ping"))));
}

static int setup(void **state) {
    mode_register(&mode_server);
    return 0;
}

static int teardown(void **state) {
    option_reset_all();
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys_are_those_of_redis),
        cmocka_unit_test(test_keys_lie_within),
        cmocka_unit_test(test_who_has_keys),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
