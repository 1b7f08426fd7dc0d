/* SPDX-License-Identifier: BSD-3-Clause
 * Gates of scripts: what each row stops, and which of them are on while a script runs.
 */
#include "script/gates.h"

#include "command/call.h"
#include "command/command.h"
#include "script/scripted.h"

#define WORDS_MAX 4

/* Whether the row stops a call of these words. */
static bool stops(const struct gate *row, const char *const *words) {
    struct slice argv[WORDS_MAX];
    int argc = 0;
    for (; argc < WORDS_MAX && words[argc]; argc++) argv[argc] = slice_of(words[argc]);
    struct call call = {.command = command_find(argv[0]), .argc = argc, .argv = argv};
    assert_non_null(call.command);
    return row->stops(&call);
}

static const struct {
    const struct gate *row;
    const char *words[WORDS_MAX + 1];
    bool stopped;
} cases[] = {
    {&script_gate, {"get", "k"}, false},
    {&script_gate, {"set", "k", "v"}, false},
    {&script_gate, {"eval", "x", "0"}, true},
    {&script_gate, {"multi"}, true},
    {&script_gate, {"subscribe", "c"}, true},
    {&script_gate_chance, {"set", "k", "v"}, true},
    {&script_gate_chance, {"get", "k"}, false},
    {&script_gate_chance, {"publish", "c", "m"}, false},
    {&script_gate_memory, {"set", "k", "v"}, true},
    {&script_gate_memory, {"del", "k"}, false},
    {&script_gate_memory, {"get", "k"}, false},
    {&script_gate_busy, {"get", "k"}, true},
    {&script_gate_busy, {"ping"}, true},
    {&script_gate_busy, {"auth", "x"}, false},
    {&script_gate_busy, {"multi"}, false},
    {&script_gate_busy, {"script", "kill"}, false},
    {&script_gate_busy, {"script", "KILL"}, false},
    {&script_gate_busy, {"script", "k"}, false},
    {&script_gate_busy, {"script", ""}, true},
    {&script_gate_busy, {"script", "load", "x"}, true},
    {&script_gate_busy, {"script", "kill", "x"}, true},
    {&script_gate_busy, {"script", "flush"}, true},
    {&script_gate_busy, {"shutdown", "nosave"}, false},
    {&script_gate_busy, {"shutdown", "NoSave"}, false},
    {&script_gate_busy, {"shutdown"}, true},
    {&script_gate_busy, {"shutdown", "save"}, true},
    {&script_gate_busy, {"shutdown", ""}, true},
};

static void test_what_each_stops(void **state) {
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (stops(cases[i].row, cases[i].words) != cases[i].stopped)
            fail_msg("case %zu: %s %s", i, cases[i].words[0],
                     cases[i].words[1] ? cases[i].words[1] : "");
    }
}

static void test_who_is_asked(void **state) {
    assert_true(script_gate.origins & GATE_FROM(CALL_SCRIPT));
    assert_true(script_gate.origins & GATE_FROM(CALL_SCRIPT_AGAIN));
    assert_false(script_gate.origins & GATE_FROM(CALL_NETWORK));
    /* What was done on the primary is done here, whatever memory there is. */
    assert_false(script_gate_memory.origins & GATE_FROM(CALL_SCRIPT_AGAIN));
    assert_int_equal(script_gate_busy.origins, GATE_FROM(CALL_NETWORK));
}

static void test_they_are_on_while_a_script_runs(void **state) {
    assert_false(gate_is_set(&script_gate));
    script_gates_begin();
    assert_true(gate_is_set(&script_gate));
    assert_false(gate_is_set(&script_gate_memory) || gate_is_set(&script_gate_chance));
    script_gates_note(COMMAND_RANDOM, false);
    assert_false(gate_is_set(&script_gate_chance)); /* its effects are repeated, not itself */
    script_gates_note(COMMAND_READONLY, true);
    assert_false(gate_is_set(&script_gate_chance));
    script_gates_note(COMMAND_RANDOM, true);
    assert_true(gate_is_set(&script_gate_chance));
    script_gates_end();
    assert_false(gate_is_set(&script_gate) || gate_is_set(&script_gate_chance));
}

/* Whether there is room is known from the call that begins it, and counts until it writes. */
static void test_memory_counts_until_it_writes(void **state) {
    struct peer p = peer_connect();
    option_set_text("maxmemory-policy", "noeviction");
    option_set_text("maxmemory", "1");
    whole_say(&p, "eval \"return redis.call('get', 'k')\" 0", "$-1\r\n");
    script_gates_begin();
    assert_true(gate_is_set(&script_gate_memory));
    script_gates_note(COMMAND_READONLY, false);
    assert_true(gate_is_set(&script_gate_memory));
    script_gates_note(COMMAND_WRITE, false);
    assert_false(gate_is_set(&script_gate_memory));
    script_gates_end();
    script_gates_begin();
    assert_true(gate_is_set(&script_gate_memory));
    script_gates_end();
    assert_false(gate_is_set(&script_gate_memory));
    option_set_text("maxmemory", "0");
    whole_say(&p, "get k", "$-1\r\n");
    peer_close(&p);
}

static int end(void **state) {
    script_gates_end();
    return whole_nothing_left(state);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, whole_begin, end)
    const struct CMUnitTest tests[] = {
        TEST(test_what_each_stops),
        TEST(test_who_is_asked),
        TEST(test_they_are_on_while_a_script_runs),
        TEST(test_memory_counts_until_it_writes),
    };
#undef TEST
    return cmocka_run_group_tests(tests, scripted_open, NULL);
}
