/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of cli/cli_help, cli_commands and cli_history: hints, completions, help, secrets.
 */
#include "cli/cli_help.h"

#include "base/seed.h"
#include "cli/cli_commands.h"
#include "cli/cli_history.h"

static struct buffer out = {.class = MEMORY_OTHER};

static void check_hint(const char *line, const char *hint) {
    buffer_clear(&out);
    cli_help_hint(&out, slice_of(line));
    assert_string_equal(out.length ? out.bytes : "", hint);
}

static void test_hints(void **state) {
    check_hint("get", " key");
    check_hint("GET ", "key");
    check_hint("get k", "");
    check_hint("get k ", "");
    check_hint("lindex k", " index");
    check_hint("lindex k ", "index");
    check_hint("del a b c ", "[key ...]");
    check_hint("acl", " subcommand [argument ...]");
    check_hint("acl  setuser ", "user [rule ...]");
    check_hint("client nosuch ", "[argument ...]");
    check_hint("nosuch ", "");
    check_hint("   ", "");
    check_hint("", "");
    check_hint("ping", " [text]");
}

static void gather(void *context, const char *whole) {
    buffer_printf(&out, "%s,", whole);
    (*(int *)context)++;
}

static void check_completions(const char *line, const char *wanted) {
    int count = 0;
    buffer_clear(&out);
    cli_help_complete(slice_of(line), gather, &count);
    assert_string_equal(out.length ? out.bytes : "", wanted);
}

static void test_completions(void **state) {
    check_completions("hget", "hget,hgetall,");
    check_completions("HGETA", "HGETALL,");
    check_completions("client trackingi", "client trackinginfo,");
    check_completions("CLIENT TRACKINGI", "CLIENT TRACKINGINFO,");
    check_completions("help hgeta", "help hgetall,");
    check_completions("help @geo", "help @geo,");
    check_completions("hel", "hello,help,");
    check_completions("get k", "");
    check_completions("nosuch", "");
}

static void check_help(const char *name, const char *wanted) {
    struct slice word = slice_of(name);
    buffer_clear(&out);
    cli_help_print(&out, &word, *name != 0, false);
    assert_non_null(strstr(out.bytes, wanted));
}

static void test_help(void **state) {
    check_help("get", "\n  GET key\n  summary: The value of a key.\n  group: string\n\n");
    check_help("client", "\n  CLIENT KILL ");
    check_help("@geo", "\n  GEOADD ");
    check_help("nosuch", "No such topic");
    check_help("", "hyperloglog");
    for (const char *line = out.bytes; *line;) {
        size_t length = strcspn(line, "\n");
        assert_true(length < 80);
        line += length + (line[length] == '\n');
    }
}

/* Rows are in order, so that no command has two. */
static void test_rows(void **state) {
    size_t count;
    const struct cli_command *rows = cli_commands(&count);
    for (size_t i = 1; i < count; i++) assert_true(strcmp(rows[i - 1].name, rows[i].name) < 0);
}

static void test_secrets(void **state) {
    static const char *const secret[] = {
        "auth pw",
        "AUTH user pw",
        "\"auth\" pw",
        "3 auth pw",
        "hello 3 auth default pw",
        "migrate h 1 k 0 1 AUTH2 u pw",
        "config set requirepass pw",
        "CONFIG SET masterauth pw",
        "config set maxmemory 1 requirepass pw",
        "acl setuser u >pw",
        "auth \"pw",
    };
    static const char *const open[] = {"get auth", "hello 3",    "config get requirepass",
                                       "acl list", "set auth x", "get \"a",
                                       "",         "  "};
    for (size_t i = 0; i < sizeof(secret) / sizeof(secret[0]); i++)
        assert_true(cli_history_is_secret(secret[i]));
    for (size_t i = 0; i < sizeof(open) / sizeof(open[0]); i++)
        assert_false(cli_history_is_secret(open[i]));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hints),   cmocka_unit_test(test_completions),
        cmocka_unit_test(test_help),    cmocka_unit_test(test_rows),
        cmocka_unit_test(test_secrets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
