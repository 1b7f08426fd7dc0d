/* SPDX-License-Identifier: BSD-3-Clause
 * The slow log: what enters, what is cut, what is hidden, and that nothing is left behind.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "command/call.h"
#include "command/command.h"
#include "io/background.h"
#include "net/batch.h"
#include "net/client.h"
#include "option/option.h"
#include "report/slowlog.h"

#define MSEC INT64_C(1000000)
#define ARGUMENTS_MAX 64

static struct client client;
static struct command row = {.name = "test", .arity = -1};

static void set_option(const char *name, const char *value) {
    char reason[OPTION_REASON_BYTES];
    struct slice word = slice_of(value);
    assert_true(option_set(option_find(slice_of(name)), &word, 1, OPTION_FROM_CONFIG_SET, reason,
                           sizeof(reason)));
}

static int begin(void **state) {
    slowlog_register();
    set_option("slowlog-log-slower-than", "0");
    client = (struct client){.watcher.fd = -1};
    row = (struct command){.name = "test", .arity = -1};
    return 0;
}

static int end(void **state) {
    slowlog_reset();
    memory_free(client_place_of_net(&client, CLIENT_PLACE_ADDRESSES), MEMORY_CLIENTS);
    client_set_place_of_net(&client, CLIENT_PLACE_ADDRESSES, NULL);
    option_reset_all();
    return 0;
}

static void note_call(const struct call *call, int64_t nsec) {
    struct attribution_span span = {.wall_usec = nsec / 1000};
    if (slowlog_wants(call, nsec)) slowlog_note(call, &span);
}

static void note(const struct slice *argv, int argc, int64_t nsec) {
    struct call call = {.client = &client, .command = &row, .argc = argc, .argv = argv};
    note_call(&call, nsec);
}

static void note_word(const char *word, int64_t nsec) {
    struct slice argument = slice_of(word);
    note(&argument, 1, nsec);
}

static void assert_shown(struct slice shown, const char *expected) {
    assert_int_equal(shown.length, strlen(expected));
    assert_memory_equal(shown.bytes, expected, shown.length);
}

static void test_threshold(void **state) {
    set_option("slowlog-log-slower-than", "1000");
    note_word("fast", 999999);
    assert_null(slowlog_newest());
    note_word("slow", MSEC);
    assert_int_equal(slowlog_length(), 1);
    assert_int_equal(slowlog_newest()->usec, 1000);
    set_option("slowlog-log-slower-than", "-1");
    note_word("slow", 1000 * MSEC);
    assert_int_equal(slowlog_length(), 1);
}

static void test_command_that_skips(void **state) {
    row.flags = COMMAND_SKIP_SLOWLOG;
    note_word("exec", MSEC);
    assert_int_equal(slowlog_length(), 0);
}

static void test_order_and_bound(void **state) {
    set_option("slowlog-max-len", "3");
    note_word("a", MSEC);
    int64_t first = slowlog_newest()->id;
    note_word("b", MSEC);
    note_word("c", MSEC);
    note_word("d", MSEC);
    assert_int_equal(slowlog_length(), 3);
    const struct slowlog_entry *e = slowlog_newest();
    static const char *const words[] = {"d", "c", "b"};
    for (int i = 0; i < 3; i++, e = slowlog_older(e)) {
        assert_shown(e->argv[0], words[i]);
        assert_int_equal(e->id, first + 3 - i);
    }
    assert_null(e);
    set_option("slowlog-max-len", "0");
    assert_int_equal(slowlog_length(), 3);
    note_word("e", MSEC);
    assert_int_equal(slowlog_length(), 0);
}

static void test_long_arguments(void **state) {
    char text[200];
    memset(text, 'x', sizeof(text));
    struct slice argv[] = {SLICE("set"), {text, 128}, {text, 129}, {text, 200}, {text, 0}};
    note(argv, 5, MSEC);
    const struct slowlog_entry *e = slowlog_newest();
    assert_int_equal(e->argc, 5);
    assert_int_equal(e->argv[1].length, 128);
    assert_int_equal(e->argv[2].length, 128 + strlen("... (1 more bytes)"));
    assert_memory_equal(e->argv[3].bytes + 128, "... (72 more bytes)", 19);
    assert_int_equal(e->argv[4].length, 0);
    /* The entry has its own copy. */
    memset(text, 'y', sizeof(text));
    assert_int_equal(e->argv[1].bytes[0], 'x');
}

static void test_many_arguments(void **state) {
    struct slice argv[ARGUMENTS_MAX];
    for (int i = 0; i < ARGUMENTS_MAX; i++) argv[i] = SLICE("x");
    note(argv, 32, MSEC);
    assert_int_equal(slowlog_newest()->argc, 32);
    assert_shown(slowlog_newest()->argv[31], "x");
    note(argv, 33, MSEC);
    assert_int_equal(slowlog_newest()->argc, 32);
    assert_shown(slowlog_newest()->argv[30], "x");
    assert_shown(slowlog_newest()->argv[31], "... (2 more arguments)");
}

static bool second_is_secret(const struct call *call, int index) { return index == 1; }

static void test_secrets(void **state) {
    row.is_secret = second_is_secret;
    struct slice argv[] = {SLICE("auth"), SLICE("password"), SLICE("more")};
    note(argv, 3, MSEC);
    assert_shown(slowlog_newest()->argv[0], "auth");
    assert_shown(slowlog_newest()->argv[1], "(redacted)");
    assert_shown(slowlog_newest()->argv[2], "more");
}

static void test_large_argument_freed_by_the_command(void **state) {
    char *text = memory_alloc(BATCH_ADOPT_BYTES, MEMORY_OTHER);
    memset(text, 'z', BATCH_ADOPT_BYTES);
    struct slice argv[] = {SLICE("set"), {text, BATCH_ADOPT_BYTES}};
    struct call call = {.client = &client, .command = &row, .argc = 2, .argv = argv};
    slowlog_keep_large_arguments(&call);
    memory_free(text, MEMORY_OTHER);
    note_call(&call, MSEC);
    struct slice shown = slowlog_newest()->argv[1];
    for (int i = 0; i < SLOWLOG_TEXT_BYTES_MAX; i++) assert_int_equal(shown.bytes[i], 'z');
    assert_memory_equal(shown.bytes + 128, "... (32640 more bytes)", 22);
}

/* The verdict on a call of 100 ms, of which these ran, did not run, and evicted keys. */
static void assert_verdict(struct attribution_span span, const char *expected) {
    struct slowlog_entry entry = {.span = span};
    struct buffer text;
    buffer_init(&text, MEMORY_OTHER);
    slowlog_append_verdict(&entry, &text);
    buffer_append_char(&text, '\0');
    assert_string_equal(text.bytes, expected);
    buffer_free(&text);
}

/* Causes as folders above register them: one of whose time the verdict says something. */
static struct cause evicting = {.name = "evicting", .place = 10, .verdict = "keys were evicted"};
static struct cause unsaid = {.name = "unsaid", .place = 20};

/* From a fifth on, rounded, the second largest part is named too. */
static void test_verdict_is_mixed_from_a_fifth_on(void **state) {
    static const struct {
        int64_t second_usec;
        const char *expected;
    } cases[] = {{0, "For 100 % of the time the command itself worked."},
                 {19000, "For 81 % of the time the command itself worked."},
                 {19499, "For 81 % of the time the command itself worked."},
                 {19500,
                  "Mixed: for 81 % of the time the command itself worked, for 20 % of the "
                  "time keys were evicted."},
                 {20000,
                  "Mixed: for 80 % of the time the command itself worked, for 20 % of the "
                  "time keys were evicted."},
                 {50001,
                  "Mixed: for 50 % of the time keys were evicted, for 50 % of the time the "
                  "command itself worked."},
                 {80500,
                  "Mixed: for 81 % of the time keys were evicted, for 20 % of the time the "
                  "command itself worked."},
                 {80501, "For 81 % of the time keys were evicted."}};
    cause_register(&evicting);
    cause_register(&unsaid);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct attribution_span span = {.wall_usec = 100000, .cpu_usec = 100000};
        span.cause_usec[unsaid.number] = 90000;
        span.cause_usec[evicting.number] = cases[i].second_usec;
        assert_verdict(span, cases[i].expected);
    }
}

/* What is shorter than the steps in which time is split has no parts. */
static void test_verdict_of_the_shortest(void **state) {
    struct attribution_span span = {.wall_usec = ATTRIBUTION_STEP_NSEC / 1000 - 1};
    span.cpu_usec = span.wall_usec;
    assert_verdict(span, "Too short to be split.");
    span.cpu_usec = ++span.wall_usec;
    assert_verdict(span, "For 100 % of the time the command itself worked.");
    span.cpu_usec = -1;
    assert_verdict(span, "Not measured: latency-attribution was off.");
}

/* Who had the processor, by the share of the time in which the thread wanted it. */
static void test_verdict_of_who_had_the_processor(void **state) {
    static const struct {
        int64_t run_delay_usec;
        const char *expected;
    } cases[] = {
        {75000, "other work had its processor: a neighbour, a child, a quota"},
        {74999, "partly other work had its processor, partly it was stopped or asleep"},
        {25000, "partly other work had its processor, partly it was stopped or asleep"},
        {24999, "it was stopped or asleep, or waited for the disk or a lock"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char expected[200];
        snprintf(expected, sizeof(expected),
                 "For 100 %% of the time the server's thread did not run (%s).", cases[i].expected);
        assert_verdict((struct attribution_span){.wall_usec = 100000,
                                                 .off_cpu_usec = 100000,
                                                 .run_delay_usec = cases[i].run_delay_usec,
                                                 .voluntary_switches = 1},
                       expected);
    }
}

static void test_name_is_cut(void **state) {
    char name[301];
    memset(name, 'n', 300);
    name[300] = 0;
    client.name = name;
    note_word("ping", MSEC);
    assert_int_equal(slowlog_newest()->name.length, 128 + strlen("... (172 more bytes)"));
    /* No peer: as CLIENT LIST shows it. */
    assert_true(slice_is(slowlog_newest()->address, "?:0"));
    client.name = NULL;
}

static void test_nothing_is_left(void **state) {
    size_t before = memory_used(MEMORY_OTHER);
    for (int i = 0; i < 1000; i++) note_word("ping", MSEC);
    assert_int_equal(slowlog_length(), 128);
    slowlog_reset();
    assert_int_equal(slowlog_length(), 0);
    assert_null(slowlog_newest());
    assert_int_equal(memory_used(MEMORY_OTHER), before);
}

/* So many entries, their ids one below the other. */
static void assert_entries(size_t count) {
    const struct slowlog_entry *e = slowlog_newest();
    assert_int_equal(slowlog_length(), count);
    for (int64_t id = count ? e->id : 0; count; count--, id--, e = slowlog_older(e)) {
        assert_non_null(e);
        assert_int_equal(e->id, id);
    }
    assert_null(e);
}

/* A long log is freed in the background, as a whole or in part, and goes on at once. */
static void test_reset_of_a_long_log(void **state) {
    size_t before = memory_used(MEMORY_OTHER);
    set_option("slowlog-max-len", "100000");
    for (int i = 0; i < 6000; i++) note_word("ping", MSEC);
    static const char *const shorter[] = {"4500", "4499", "100", "1"};
    static const size_t kept[] = {4500, 4499, 100, 1};
    for (size_t i = 0; i < sizeof(shorter) / sizeof(shorter[0]); i++) {
        set_option("slowlog-max-len", shorter[i]);
        for (int k = 0; k < 3; k++) note_word("ping", MSEC);
        assert_entries(kept[i]);
    }
    set_option("slowlog-max-len", "100000");
    for (int i = 0; i < 5000; i++) note_word("ping", MSEC);
    set_option("slowlog-max-len", "0");
    note_word("ping", MSEC);
    assert_entries(0);
    set_option("slowlog-max-len", "100000");
    for (int i = 0; i < 5000; i++) note_word("ping", MSEC);
    int64_t id = slowlog_newest()->id;
    slowlog_reset();
    assert_int_equal(slowlog_length(), 0);
    assert_null(slowlog_newest());
    note_word("pong", MSEC);
    assert_int_equal(slowlog_newest()->id, id + 1);
    assert_null(slowlog_older(slowlog_newest()));
    slowlog_reset();
    background_stop();
    assert_int_equal(memory_used(MEMORY_OTHER), before);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_threshold),
        TEST(test_command_that_skips),
        TEST(test_order_and_bound),
        TEST(test_long_arguments),
        TEST(test_many_arguments),
        TEST(test_secrets),
        TEST(test_large_argument_freed_by_the_command),
        TEST(test_verdict_is_mixed_from_a_fifth_on),
        TEST(test_verdict_of_the_shortest),
        TEST(test_verdict_of_who_had_the_processor),
        TEST(test_name_is_cut),
        TEST(test_nothing_is_left),
        TEST(test_reset_of_a_long_log),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
