/* SPDX-License-Identifier: BSD-3-Clause
 * INFO's text: sections, order across registrations, reset.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "metric/metric.h"

static uint64_t hits, kept;
static int64_t level;
static const char *version;
static bool has_detail;
static unsigned databases, resets;

static void print_detail(const struct metric_row *row, struct buffer *out) {
    buffer_append_c_string(out, "1.50");
}
static bool present_detail(void) { return has_detail; }
static void count_reset(void) { resets += 1 + (unsigned)hits; }

static void print_databases(const struct metric_row *row, struct buffer *out) {
    for (unsigned i = 0; i < databases; i++) buffer_printf(out, "db%u:keys=%u\r\n", i, i + 1);
}

static const struct metric_row late_rows[] = {
    {.section = "Stats",
     .place = 30,
     .name = "level",
     .measure = METRIC_GAUGE,
     .type = METRIC_INT64,
     .variable = &level,
     .help = "A level."},
    {.section = "Stats",
     .place = 10,
     .name = "hits",
     .measure = METRIC_GAUGE,
     .type = METRIC_UINT64,
     .variable = &hits,
     .reset = true,
     .help = "Hits."},
    {.section = "Server",
     .place = 20,
     .name = "detail",
     .measure = METRIC_GAUGE,
     .type = METRIC_FUNCTION,
     .print = print_detail,
     .present = present_detail,
     .help = "A|B."},
    {.section = "Keyspace",
     .place = 10,
     .name = "db<N>",
     .measure = METRIC_GAUGE,
     .type = METRIC_FUNCTION,
     .print_lines = print_databases,
     .help = "Databases."},
};
static const struct metric_row early_rows[] = {
    {.section = "Server",
     .place = 10,
     .name = "version",
     .measure = METRIC_GAUGE,
     .type = METRIC_STRING,
     .variable = &version,
     .help = "The version."},
    {.section = "Stats",
     .place = 20,
     .name = "kept",
     .measure = METRIC_GAUGE,
     .type = METRIC_UINT64,
     .variable = &kept,
     .help = "Not reset."},
    {.section = "Stats",
     .place = 20,
     .name = "second",
     .measure = METRIC_GAUGE,
     .type = METRIC_FUNCTION,
     .print = print_detail,
     .help = "Of the same place, later."},
    {.section = "Detail",
     .place = 10,
     .name = "only",
     .measure = METRIC_GAUGE,
     .type = METRIC_FUNCTION,
     .print = print_detail,
     .help = "In no standard section."},
};

static int setup(void **state) {
    hits = 3;
    kept = 18446744073709551615u;
    level = -5;
    version = "6.2";
    has_detail = true;
    databases = 2;
    resets = 0;
    metric_register(late_rows, sizeof(late_rows) / sizeof(late_rows[0]));
    metric_declare_section("Server", true);
    metric_declare_section("Modules", true);
    metric_declare_section("Stats", true);
    metric_declare_section("Detail", false);
    metric_declare_section("Keyspace", true);
    metric_register(early_rows, sizeof(early_rows) / sizeof(early_rows[0]));
    return 0;
}

static int teardown(void **state) {
    metric_forget_all();
    return 0;
}

static void assert_info(const char *section, const char *expected) {
    struct buffer out;
    buffer_init(&out, MEMORY_OTHER);
    metric_print(slice_of(section), &out);
    assert_string_equal(out.bytes ? out.bytes : "", expected);
    /* What the buffer held before does not matter. */
    size_t length = out.length;
    metric_print(slice_of(section), &out);
    assert_int_equal(out.length, 2 * length);
    buffer_free(&out);
}

#define SERVER "# Server\r\nversion:6.2\r\ndetail:1.50\r\n"
#define STATS "# Stats\r\nhits:3\r\nkept:18446744073709551615\r\nsecond:1.50\r\nlevel:-5\r\n"
#define KEYSPACE "# Keyspace\r\ndb0:keys=1\r\ndb1:keys=2\r\n"

static void test_all(void **state) {
    assert_info("default", SERVER "\r\n# Modules\r\n\r\n" STATS "\r\n" KEYSPACE);
    assert_info("ALL",
                SERVER "\r\n# Modules\r\n\r\n" STATS "\r\n# Detail\r\nonly:1.50\r\n\r\n" KEYSPACE);
    assert_info("everything",
                SERVER "\r\n# Modules\r\n\r\n" STATS "\r\n# Detail\r\nonly:1.50\r\n\r\n" KEYSPACE);
}

static void test_one(void **state) {
    assert_info("Server", SERVER);
    assert_info("STATS", STATS);
    assert_info("modules", "# Modules\r\n");
    assert_info("detail", "# Detail\r\nonly:1.50\r\n");
    assert_info("nosuch", "");
    assert_info("", "");
    assert_info("stat", "");
}

static void test_present(void **state) {
    has_detail = false;
    version = NULL;
    databases = 0;
    assert_info("server", "# Server\r\nversion:\r\n");
    assert_info("keyspace", "# Keyspace\r\n");
}

static void test_undeclared(void **state) {
    static const struct metric_row row = {.section = "Extra",
                                          .name = "more",
                                          .measure = METRIC_GAUGE,
                                          .type = METRIC_FUNCTION,
                                          .print = print_detail,
                                          .help = "More."};
    metric_register(&row, 1);
    assert_info("default", SERVER "\r\n# Modules\r\n\r\n" STATS "\r\n" KEYSPACE);
    assert_info("extra", "# Extra\r\nmore:1.50\r\n");
    metric_declare_section("Extra", true);
    metric_declare_section("Server", false); /* again: keeps its place */
    assert_info("default",
                "# Modules\r\n\r\n" STATS "\r\n" KEYSPACE "\r\n# Extra\r\nmore:1.50\r\n");
}

/* A mode with closed sections passes over rows of others. */
static void test_closed_sections(void **state) {
    static const struct metric_row others[] = {{.section = "Foreign",
                                                .name = "more",
                                                .measure = METRIC_GAUGE,
                                                .type = METRIC_FUNCTION,
                                                .print = print_detail,
                                                .help = "More."},
                                               {.section = "Modules",
                                                .name = "of",
                                                .measure = METRIC_GAUGE,
                                                .type = METRIC_FUNCTION,
                                                .print = print_detail,
                                                .help = "Of."}};
    metric_close_sections();
    metric_register(others, 2);
    assert_info("foreign", "");
    assert_info("modules", "# Modules\r\nof:1.50\r\n");
}

/* What is refused takes no row; the row that prints is the one that the function gets. */
static void print_context(const struct metric_row *row, struct buffer *out) {
    buffer_append_c_string(out, row->context);
}

static struct metric_row row_pair[] = {{.section = "Detail",
                                        .name = "one",
                                        .measure = METRIC_GAUGE,
                                        .type = METRIC_FUNCTION,
                                        .print = print_context,
                                        .context = "1",
                                        .help = "One."},
                                       {.section = "Detail",
                                        .name = "one",
                                        .measure = METRIC_GAUGE,
                                        .type = METRIC_FUNCTION,
                                        .print = print_context,
                                        .context = "2",
                                        .help = "Two."}};

static void test_refused(void **state) {
    assert_false(metric_try_register(row_pair, 2));
    row_pair[1].name = "only";
    assert_false(metric_try_register(row_pair, 2));
    assert_info("detail", "# Detail\r\nonly:1.50\r\n");
    row_pair[1].name = "two";
    assert_true(metric_try_register(row_pair, 2));
    assert_info("detail", "# Detail\r\none:1\r\ntwo:2\r\nonly:1.50\r\n");
}

/* Rows that are taken away are not shown, and their names are free; the rest stays in its order. */
static void test_unregistered(void **state) {
    assert_true(metric_try_register(row_pair, 2));
    uint64_t before = metric_generation();
    metric_unregister(&row_pair[0], 1);
    assert_int_equal(metric_generation(), before + 1);
    assert_info("detail", "# Detail\r\ntwo:2\r\nonly:1.50\r\n");
    assert_true(metric_try_register(&row_pair[0], 1)); /* places are equal: now it is the later */
    assert_info("detail", "# Detail\r\ntwo:2\r\none:1\r\nonly:1.50\r\n");
    metric_unregister(row_pair, 2);
    assert_info("detail", "# Detail\r\nonly:1.50\r\n");
    assert_true(metric_try_register(row_pair, 2));
}

static void test_reset(void **state) {
    metric_register_reset(count_reset);
    metric_register_reset(count_reset);
    metric_reset_all();
    assert_int_equal(hits, 0);
    assert_int_equal(kept, UINT64_MAX);
    assert_int_equal(level, -5);
    assert_int_equal(resets, 2); /* each once, after the rows */
}

static void test_reference(void **state) {
    struct buffer out;
    buffer_init(&out, MEMORY_OTHER);
    metric_write_reference(&out);
    assert_non_null(strstr(out.bytes, "\n## Server\n\n| field |"));
    assert_non_null(strstr(out.bytes,
                           "| `version` | text | always | The version. |\n"
                           "| `detail` | text | sometimes | A\\|B. |\n"));
    assert_non_null(strstr(out.bytes, "| `hits` | counter | always | Hits. |\n"));
    assert_non_null(strstr(out.bytes, "| `db<N>` | lines | always | Databases. |\n"));
    assert_non_null(strstr(out.bytes, "\n## Detail *\n"));
    assert_non_null(strstr(out.bytes, "\n## Modules\n\nNo fields yet.\n"));
    buffer_free(&out);
}

static void test_no_leak(void **state) {
    metric_forget_all();
    size_t before = memory_used(MEMORY_OTHER);
    setup(state);
    metric_register_reset(count_reset);
    assert_true(memory_used(MEMORY_OTHER) > before);
    metric_forget_all();
    assert_int_equal(memory_used(MEMORY_OTHER), before);
}

static void test_append_name(void **state) {
    struct buffer out;
    buffer_init(&out, MEMORY_OTHER);
    metric_append_name(&out, "host:");
    metric_append_name(&out, "#a b=c,\r\n");
    assert_string_equal(out.bytes, "host__a b=c,__");
    buffer_free(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_all, setup, teardown),
        cmocka_unit_test_setup_teardown(test_one, setup, teardown),
        cmocka_unit_test_setup_teardown(test_present, setup, teardown),
        cmocka_unit_test_setup_teardown(test_undeclared, setup, teardown),
        cmocka_unit_test_setup_teardown(test_closed_sections, setup, teardown),
        cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_unregistered, setup, teardown),
        cmocka_unit_test_setup_teardown(test_reset, setup, teardown),
        cmocka_unit_test_setup_teardown(test_reference, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_leak, setup, teardown),
        cmocka_unit_test(test_append_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
