/* SPDX-License-Identifier: BSD-3-Clause
 * Scraped text: names, units, escapes, histograms, and pages that are made in steps.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "metric/exposition.h"

#define NO_LIMIT INT64_MAX

static struct buffer page;
static const char *text_value;
static bool is_present;
static uint64_t counter;
static struct histogram times;

static void print_text(const struct metric_row *row, struct buffer *out) {
    buffer_append_c_string(out, text_value);
}
static bool present(void) { return is_present; }

static void assert_name(const char *row, enum metric_measure measure, const char *expected) {
    struct buffer name = {.class = MEMORY_OTHER};
    exposition_append_name(&name, row, measure);
    assert_string_equal(name.bytes, expected);
    buffer_free(&name);
}

static void test_names(void **state) {
    assert_name("used_memory", METRIC_BYTES, "evenkeel_used_memory_bytes");
    assert_name("eviction_cpu_usec_total", METRIC_COUNTER_USEC,
                "evenkeel_eviction_cpu_seconds_total");
    assert_name("eventloop_turn_cpu_usec_max", METRIC_USEC,
                "evenkeel_eventloop_turn_cpu_max_seconds");
    assert_name("uptime_in_seconds", METRIC_SECONDS, "evenkeel_uptime_in_seconds");
    assert_name("total_net_input_bytes", METRIC_COUNTER_BYTES, "evenkeel_net_input_bytes_total");
    assert_name("tracking_total_keys", METRIC_GAUGE, "evenkeel_tracking_total_keys");
    assert_name("current_save_keys_total", METRIC_GAUGE, "evenkeel_current_save_keys");
    assert_name("total_forks", METRIC_COUNTER, "evenkeel_forks_total");
    assert_name("expired_stale_perc", METRIC_PERCENT, "evenkeel_expired_stale_ratio");
    assert_name("instantaneous_input_kbps", METRIC_KIB_RATE,
                "evenkeel_instantaneous_input_bytes_per_second");
}

/* ---- pages ---- */

static void make_page(void) {
    struct exposition e = {0};
    buffer_clear(&page);
    assert_true(exposition_step(&e, &page, NO_LIMIT));
}

static struct metric_row row = {.section = "S",
                                .name = "value",
                                .measure = METRIC_GAUGE,
                                .type = METRIC_FUNCTION,
                                .print = print_text,
                                .present = present,
                                .help = "A \\ value."};

/* The row is scraped as this value; NULL: not at all. */
static void assert_value(enum metric_measure measure, const char *text, const char *expected) {
    row.measure = measure;
    text_value = text;
    make_page();
    struct buffer name = {.class = MEMORY_OTHER}, line = {.class = MEMORY_OTHER};
    exposition_append_name(&name, row.name, measure);
    if (!expected) {
        assert_null(strstr(page.bytes, name.bytes));
    } else {
        buffer_printf(&line, "\n%s %s\n", name.bytes, expected);
        if (!strstr(page.bytes, line.bytes)) fail_msg("%s is not in %s", line.bytes, page.bytes);
    }
    buffer_free(&name);
    buffer_free(&line);
}

static int begin(void **state) {
    is_present = true;
    page.class = MEMORY_OTHER;
    return 0;
}

static int end(void **state) {
    metric_forget_all();
    buffer_free(&page);
    return 0;
}

static void test_values(void **state) {
    metric_register(&row, 1);
    assert_value(METRIC_GAUGE, "12", "12");
    assert_value(METRIC_GAUGE, "-1", "-1");
    assert_value(METRIC_GAUGE, "1.50", "1.5");
    assert_value(METRIC_GAUGE, "10.00", "10");
    assert_value(METRIC_GAUGE, "0", "0");
    assert_value(METRIC_GAUGE, "18446744073709551615", "18446744073709551615");
    assert_value(METRIC_USEC, "0", "0");
    assert_value(METRIC_USEC, "1", "0.000001");
    assert_value(METRIC_USEC, "1500000", "1.5");
    assert_value(METRIC_USEC, "123456789", "123.456789");
    assert_value(METRIC_USEC, "100000", "0.1");
    assert_value(METRIC_USEC, "20000000", "20");
    assert_value(METRIC_COUNTER_MSEC, "250", "0.25");
    assert_value(METRIC_PERCENT, "12.34%", "0.1234");
    assert_value(METRIC_PERCENT, "100.00", "1");
    assert_value(METRIC_PERCENT, "-0.50", "-0.005");
    assert_value(METRIC_KIB_RATE, "1.50", "1536");
    assert_value(METRIC_STATE, "ok", "1");
    assert_value(METRIC_STATE, "err", "0");
    assert_value(METRIC_STATE, "", NULL);
    assert_value(METRIC_GAUGE, "", NULL);
    assert_value(METRIC_GAUGE, "-", NULL);
    assert_value(METRIC_GAUGE, ".", NULL);
    assert_value(METRIC_GAUGE, "1.2.3", NULL);
    assert_value(METRIC_GAUGE, "12k", NULL);
    assert_value(METRIC_GAUGE, "1%%", NULL);
    assert_value(METRIC_GAUGE, "1111111111111111111111111111111111111111111", NULL);
    assert_value(METRIC_KIB_RATE, "x", NULL);
    is_present = false;
    assert_value(METRIC_GAUGE, "1", NULL);
}

static void test_heading(void **state) {
    row.measure = METRIC_USEC;
    text_value = "1";
    metric_register(&row, 1);
    make_page();
    assert_string_equal(
        page.bytes,
        "# HELP evenkeel_instance_info Texts of INFO, as labels of a sample that is "
        "always 1.\n# TYPE evenkeel_instance_info gauge\nevenkeel_instance_info 1\n"
        "# HELP evenkeel_value_seconds A \\\\ value. (in seconds; INFO: value)\n"
        "# TYPE evenkeel_value_seconds gauge\nevenkeel_value_seconds 0.000001\n");
}

/* Different bytes stay different, whatever they are. */
static void test_labels(void **state) {
    row.measure = METRIC_LABEL;
    text_value = "a\"b\\x\n\xff~";
    metric_register(&row, 1);
    make_page();
    assert_non_null(
        strstr(page.bytes, "evenkeel_instance_info{value=\"a\\\"b\\\\\\\\x\\\\x0a\\\\xff~\"} 1\n"));
}

/* ---- families ---- */

static size_t samples;

static enum metric_presence sample(const struct metric_family *family, size_t index,
                                   struct metric_sample *s) {
    if (index >= samples) return METRIC_END;
    if (index == 1) return METRIC_ABSENT;
    int length = snprintf(s->text, sizeof(s->text), "%zu", index);
    s->labels[0] = (struct metric_label){"at", {s->text, (size_t)length}};
    s->labels[1] = (struct metric_label){"of", SLICE("x")};
    s->value = index * 1000;
    return METRIC_PRESENT;
}
static enum metric_presence sample_times(const struct metric_family *family, size_t index,
                                         struct metric_sample *s) {
    if (index) return METRIC_END;
    metric_sample_histogram(s, &times);
    return METRIC_PRESENT;
}
static const struct metric_family families[] = {
    {"things", METRIC_COUNTER, "Things.", sample}, {"age", METRIC_MSEC, "Ages.", sample}, {0}};
static const struct metric_family histograms[] = {
    {"wait", METRIC_HISTOGRAM_USEC, "Waits.", sample_times}, {0}};
static void print_nothing(const struct metric_row *unused, struct buffer *out) {}
static const struct metric_row family_rows[] = {{.section = "S",
                                                 .place = 10,
                                                 .name = "<n>",
                                                 .measure = METRIC_FAMILIES,
                                                 .type = METRIC_FUNCTION,
                                                 .print_lines = print_nothing,
                                                 .families = families,
                                                 .help = "Not scraped."},
                                                {.section = "S",
                                                 .place = 20,
                                                 .name = "hidden",
                                                 .measure = METRIC_INFO_ONLY,
                                                 .type = METRIC_INT64,
                                                 .variable = &metric_zero,
                                                 .help = "Not scraped."},
                                                {.section = "T",
                                                 .place = 10,
                                                 .name = "events_total",
                                                 .measure = METRIC_COUNTER,
                                                 .type = METRIC_UINT64,
                                                 .variable = &counter,
                                                 .reset = true,
                                                 .help = "Events."}};
static const struct metric_row histogram_row = {.section = "T",
                                                .place = 20,
                                                .name = "wait_histogram",
                                                .measure = METRIC_FAMILIES,
                                                .type = METRIC_FUNCTION,
                                                .print = print_text,
                                                .families = histograms,
                                                .help = "Not scraped."};

#define THINGS                                                    \
    "# HELP evenkeel_things_total Things. (INFO: <n>)\n"          \
    "# TYPE evenkeel_things_total counter\n"                      \
    "evenkeel_things_total{at=\"0\",of=\"x\"} 0\n"                \
    "evenkeel_things_total{at=\"2\",of=\"x\"} 2000\n"             \
    "# HELP evenkeel_age_seconds Ages. (in seconds; INFO: <n>)\n" \
    "# TYPE evenkeel_age_seconds gauge\n"                         \
    "evenkeel_age_seconds{at=\"0\",of=\"x\"} 0\n"                 \
    "evenkeel_age_seconds{at=\"2\",of=\"x\"} 2\n"
#define EVENTS                                                    \
    "# HELP evenkeel_events_total Events. (INFO: events_total)\n" \
    "# TYPE evenkeel_events_total counter\nevenkeel_events_total 7\n"

static void test_families(void **state) {
    samples = 3;
    counter = 7;
    metric_register(family_rows, 3);
    make_page();
    assert_string_equal(strstr(page.bytes, "info 1\n") + 7, THINGS EVENTS);
    samples = 0; /* a family without samples has no heading */
    make_page();
    assert_string_equal(strstr(page.bytes, "info 1\n") + 7, EVENTS);
}

static void test_histogram(void **state) {
    histogram_clear(&times);
    histogram_add(&times, 1);
    histogram_add(&times, 3);
    histogram_add(&times, 3);
    histogram_add(&times, UINT64_C(1) << 40);
    metric_register(&histogram_row, 1);
    make_page();
    assert_non_null(strstr(page.bytes,
                           "# TYPE evenkeel_wait_seconds histogram\n"
                           "evenkeel_wait_seconds_bucket{le=\"0.000002\"} 1\n"
                           "evenkeel_wait_seconds_bucket{le=\"0.000004\"} 3\n"
                           "evenkeel_wait_seconds_bucket{le=\"0.000008\"} 3\n"));
    assert_non_null(strstr(page.bytes,
                           "_bucket{le=\"16.777216\"} 3\n"
                           "evenkeel_wait_seconds_bucket{le=\"+Inf\"} 4\n"
                           "evenkeel_wait_seconds_sum 1099511.627783\n"
                           "evenkeel_wait_seconds_count 4\n"));
}

/* ---- steps ---- */

/* Steps that have no time give the same page as one step; the clock is asked between pieces. */
static void test_steps(void **state) {
    samples = 100;
    metric_register(family_rows, 3);
    make_page();
    struct buffer whole = page;
    page = (struct buffer){.class = MEMORY_OTHER};
    struct exposition e = {0};
    unsigned steps = 1;
    size_t before = 0;
    while (!exposition_step(&e, &page, 0)) {
        assert_true(page.length > before || steps > 1);
        before = page.length;
        assert_int_equal(page.bytes[page.length - 1], '\n');
        steps++;
    }
    assert_true(steps > 40);
    assert_string_equal(page.bytes, whole.bytes);
    buffer_free(&whole);
}

/* Rows that come between two steps, and a reset, make the page begin anew. */
static void test_begins_anew(void **state) {
    struct exposition e = {0};
    samples = 100;
    counter = 7;
    metric_register(family_rows, 3);
    for (int i = 0; i < 30; i++) assert_false(exposition_step(&e, &page, 0));
    metric_register(&histogram_row, 1);
    assert_true(exposition_step(&e, &page, NO_LIMIT));
    assert_non_null(strstr(page.bytes, "evenkeel_events_total 7\n"));
    assert_non_null(strstr(page.bytes, "evenkeel_wait_seconds_count"));
    const char *first = strstr(page.bytes, "# TYPE evenkeel_things_total");
    assert_non_null(first);
    assert_null(strstr(first + 1, "# TYPE evenkeel_things_total"));
    e = (struct exposition){0};
    buffer_clear(&page);
    for (int i = 0; i < 30; i++) assert_false(exposition_step(&e, &page, 0));
    metric_reset_all();
    assert_true(exposition_step(&e, &page, NO_LIMIT));
    first = strstr(page.bytes, "# TYPE evenkeel_things_total");
    assert_null(strstr(first + 1, "# TYPE evenkeel_things_total"));
    assert_non_null(strstr(page.bytes, "evenkeel_events_total 0\n"));
}

static void test_reference(void **state) {
    metric_register(family_rows, 3);
    row.measure = METRIC_PERCENT;
    metric_register(&row, 1);
    exposition_write_reference(&page);
    assert_non_null(strstr(page.bytes,
                           "| `evenkeel_things_total` | counter | `<n>` | Things. |\n"
                           "| `evenkeel_age_seconds` | gauge | `<n>` | Ages. |\n"));
    assert_non_null(strstr(page.bytes, "| `evenkeel_value_ratio` | gauge | `value` |"));
    assert_null(strstr(page.bytes, "hidden"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test_setup_teardown(test_values, begin, end),
        cmocka_unit_test_setup_teardown(test_heading, begin, end),
        cmocka_unit_test_setup_teardown(test_labels, begin, end),
        cmocka_unit_test_setup_teardown(test_families, begin, end),
        cmocka_unit_test_setup_teardown(test_histogram, begin, end),
        cmocka_unit_test_setup_teardown(test_steps, begin, end),
        cmocka_unit_test_setup_teardown(test_begins_anew, begin, end),
        cmocka_unit_test_setup_teardown(test_reference, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
