/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of lab/watch_options: each option, its range, and what is refused.
 */
#include "lab/watch_options.h"

#include "base/seed.h"

#define WORDS_MAX 32
static struct watch_options options;
static char text[256]; /* options borrow from it */
static char reason[256];

/* Words, parted by blanks. */
static enum watch_options_status read_line(const char *line) {
    char *words[WORDS_MAX], *at = text;
    int count = 0;
    snprintf(text, sizeof(text), "%s", line);
    reason[0] = '\0';
    for (char *word; (word = strsep(&at, " "));) {
        if (*word) words[count++] = word;
    }
    return watch_options_read(&options, count, words, reason, sizeof(reason));
}

static void test_defaults(void **state) {
    unsetenv("REDISCLI_AUTH");
    assert_int_equal(read_line(""), WATCH_OPTIONS_RUN);
    assert_string_equal(options.host, "127.0.0.1");
    assert_int_equal(options.port, 6379);
    assert_int_equal(options.interval_msec, 1000);
    assert_int_equal(options.probe_msec, 5);
    assert_int_equal(options.samples, 0);
    assert_null(options.path);
    assert_null(options.password);
    assert_false(options.csv || options.resp3);
}

static void test_all(void **state) {
    assert_int_equal(read_line("-h host -p 65535 -s /sock -a secret --user me -3 --csv "
                               "--interval 100 --probe-interval 1 --samples 7"),
                     WATCH_OPTIONS_RUN);
    assert_string_equal(options.host, "host");
    assert_int_equal(options.port, 65535);
    assert_string_equal(options.path, "/sock");
    assert_string_equal(options.password, "secret");
    assert_string_equal(options.user, "me");
    assert_int_equal(options.interval_msec, 100);
    assert_int_equal(options.probe_msec, 1);
    assert_int_equal(options.samples, 7);
    assert_true(options.csv && options.resp3);
}

static void test_help(void **state) {
    assert_int_equal(read_line("--csv --help nonsense"), WATCH_OPTIONS_HELP);
    assert_non_null(strstr(watch_usage, "--interval msec"));
}

static void refused(const char *line, const char *why) {
    assert_int_equal(read_line(line), WATCH_OPTIONS_BAD);
    assert_string_equal(reason, why);
}

static void test_refused(void **state) {
    unsetenv("REDISCLI_AUTH");
    refused("--nosuch", "unknown option --nosuch");
    refused("word", "unknown option word");
    refused("-p", "-p wants a value");
    refused("-p 0", "-p wants a number from 1 to 65535");
    refused("-p 65536", "-p wants a number from 1 to 65535");
    refused("-p 12x", "-p wants a number from 1 to 65535");
    refused("--interval 99", "--interval wants a number from 100 to 60000");
    refused("--interval 60001", "--interval wants a number from 100 to 60000");
    refused("--probe-interval 0", "--probe-interval wants a number from 1 to 10000");
    refused("--csv --samples -1", "--samples wants a number from 0 on");
    refused("--samples 1", "--samples goes with --csv");
    refused("--user me", "--user wants a password: -a, or REDISCLI_AUTH");
}

static void test_password_of_the_environment(void **state) {
    setenv("REDISCLI_AUTH", "hidden", 1);
    assert_int_equal(read_line("--user me"), WATCH_OPTIONS_RUN);
    assert_string_equal(options.password, "hidden");
    assert_int_equal(read_line("-a given"), WATCH_OPTIONS_RUN);
    assert_string_equal(options.password, "given");
    unsetenv("REDISCLI_AUTH");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_all),
        cmocka_unit_test(test_help),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_password_of_the_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
