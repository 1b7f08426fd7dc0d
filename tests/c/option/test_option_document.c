/* SPDX-License-Identifier: BSD-3-Clause
 * The generated redis.conf and reference page.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "option/option.h"

static bool flag;
static int64_t number, bytes, share, mode;
static int color;
static char *text;

static const struct option_name colors[] = {{"red", 1}, {"green", 2}, {NULL, 0}};

static bool words_parse(const struct option_row *row, const struct slice *words, size_t count,
                        char *reason, size_t reason_size) {
    return true;
}

static const struct option_row rows[] = {
    OPTION_BOOL(
        "flag", &flag, true, OPTION_MUTABLE, "network", 10,
        "One sentence that is long enough to be broken, because with its 'comment mark' it is "
        "wider than the page. And another one."),
    OPTION_BYTES("bytes", &bytes, "1048576", 0, INT64_MAX, OPTION_MUTABLE, "network", 20, "Bytes."),
    OPTION_STRING("hidden", &text, "a", OPTION_HIDDEN, "network", 30, "Hidden."),
    {.name = "share",
     .alias = "part",
     .type = OPTION_TYPE_BYTES_OR_PERCENT,
     .section = "memory",
     .place = 10,
     .fallback = "120%",
     .variable = &share,
     .low = -1000,
     .high = 4096,
     .help = "a|b"},
    OPTION_ENUM("color", &color, "red", colors, 0, "memory", 20, "A color."),
    {.name = "mode",
     .type = OPTION_TYPE_OCTAL,
     .flags = OPTION_MISSING,
     .section = "memory",
     .place = 30,
     .fallback = "700",
     .variable = &mode,
     .low = 0,
     .high = 0777,
     .help = "Mode."},
    {.name = "number",
     .type = OPTION_TYPE_INT,
     .flags = OPTION_MISSING,
     .section = "memory",
     .place = 40,
     .fallback = "-1",
     .variable = &number,
     .low = -1,
     .high = 5,
     .help = "Number.",
     .refusal = "no"},
    {.name = "points",
     .type = OPTION_TYPE_CUSTOM,
     .flags = OPTION_MULTI,
     .section = "memory",
     .place = 50,
     .fallback = "1 2",
     .help = "Points.",
     .parse = words_parse},
    {.name = "load",
     .type = OPTION_TYPE_CUSTOM,
     .flags = OPTION_FILE_ONLY,
     .section = "memory",
     .place = 60,
     .help = "Loads.",
     .parse = words_parse},
};

static const char expected_example[] =
    "# --- Network ----------------------------------------------------------\n\n"
    "# One sentence that is long enough to be broken, because with its 'comment\n"
    "# mark' it is wider than the page. And another one.\n"
    "# flag yes\n\n"
    "# Bytes.\n# bytes 1mb\n\n"
    "# --- Memory -----------------------------------------------------------\n\n"
    "# a|b\n# share 120%\n\n"
    "# A color.\n# color red\n\n"
    "# Mode. Not built yet: the value is kept and changes nothing.\n# mode 700\n\n"
    "# Number. Not built yet: only the default is accepted.\n# number -1\n\n"
    "# Points.\n# points 1 2\n\n"
    "# Loads.\n# load ...\n\n";

static const char expected_rows[] =
    "| `share` (alias `part`) | bytes, 0 to 4kb, or 0% to 1000% | `120%` | at start | a\\|b |\n"
    "| `color` | red, green | `red` | at start | A color. |\n"
    "| `mode` | octal, 0 to 777 | `700` | at start | Mode. Not built yet: the value is kept and "
    "changes nothing. |\n"
    "| `number` | number, -1 to 5 | `-1` | at start | Number. Not built yet: only the default is "
    "accepted. |\n"
    "| `points` | words, repeatable | `1 2` | at start | Points. |\n"
    "| `load` | words |  | file only | Loads. |\n";

static int setup(void **state) {
    struct buffer error;
    buffer_init(&error, MEMORY_OTHER);
    option_register(rows, sizeof(rows) / sizeof(rows[0]));
    /* The documents show the rows and not what is set. */
    assert_true(
        option_load_text(SLICE("flag no\nbytes 5\ncolor green\n"), OPTION_FROM_FILE, &error));
    buffer_free(&error);
    return 0;
}

static int teardown(void **state) {
    option_reset_all();
    return 0;
}

static void test_example(void **state) {
    struct buffer out, error;
    buffer_init(&out, MEMORY_OTHER);
    buffer_init(&error, MEMORY_OTHER);
    option_write_example(&out);
    const char *body = strstr(out.bytes, "# --- ");
    assert_non_null(body);
    assert_string_equal(body, expected_example);
    for (const char *line = out.bytes; *line;) {
        size_t length = strcspn(line, "\n");
        assert_true(length <= 90);
        assert_true(length == 0 || line[0] == '#');
        line += length + 1;
    }
    assert_true(option_load_text(buffer_slice(&out), OPTION_FROM_FILE, &error));
    buffer_free(&out);
    buffer_free(&error);
}

static const struct option_scope whole = {NULL, "", ""};

/* A mode's documents have its sections, in its order. */
static void test_scope(void **state) {
    static const char *const sections[] = {"memory", "network", "nothing", NULL};
    static const struct option_scope scope = {sections, "# head\n\n", "# Options of it\n"};
    static const char *const network_only[] = {"network", NULL};
    static const struct option_scope small = {network_only, "# head\n\n", "# Options of it\n"};
    struct buffer out;
    buffer_init(&out, MEMORY_OTHER);
    option_set_scope(&scope);
    option_write_example(&out);
    assert_int_equal(strncmp(out.bytes, "# head\n\n# --- Memory --", 23), 0);
    assert_true(strstr(out.bytes, "# --- Memory") < strstr(out.bytes, "# --- Network"));
    buffer_clear(&out);
    option_set_scope(&small);
    option_write_reference(&out);
    assert_non_null(strstr(out.bytes, "# Options of it\n\n## Network\n"));
    assert_null(strstr(out.bytes, "Memory"));
    /* What does not concern the mode is not added to its file. */
    buffer_clear(&out);
    option_rewrite_text(SLICE(""), false, &out);
    assert_non_null(strstr(out.bytes, "flag no\n"));
    assert_null(strstr(out.bytes, "color"));
    option_set_scope(&whole);
    buffer_free(&out);
}

static void test_reference(void **state) {
    struct buffer out;
    buffer_init(&out, MEMORY_OTHER);
    option_write_reference(&out);
    assert_non_null(strstr(out.bytes, "\n## Network\n\n| option |"));
    assert_non_null(strstr(out.bytes, "\n## Memory\n\n| option |"));
    assert_non_null(strstr(out.bytes, "| `flag` | yes or no | `yes` | yes | One"));
    assert_non_null(strstr(out.bytes, "| `bytes` | bytes, 0 to 2^63-1 | `1mb` | yes |"));
    assert_non_null(strstr(out.bytes, "| `hidden` | text | `a` | at start |"));
    assert_non_null(strstr(out.bytes, expected_rows));
    buffer_free(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_example, setup, teardown),
        cmocka_unit_test_setup_teardown(test_scope, setup, teardown),
        cmocka_unit_test_setup_teardown(test_reference, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
