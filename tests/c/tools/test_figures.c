/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of tools/figures: each kind of figure from two readings of INFO, what is missing,
 * means before and since a mark, CSV, and how values are written.
 */
#include "tools/figures.h"

#include <math.h>

#include "base/random.h"
#include "base/seed.h"

#define SECOND INT64_C(1000000000)

static struct figures *f;

static int create(void **state) {
    f = figures_create();
    return 0;
}

static int destroy(void **state) {
    figures_free(f);
    return 0;
}

static size_t index_of(const char *name) {
    for (size_t i = 0; i < figures_count(); i++) {
        if (!strcmp(figures_row(i)->name, name)) return i;
    }
    fail_msg("no figure %s", name);
    return 0;
}

static void expect(double value, double expected) {
    if (isnan(expected) ? !isnan(value) : fabs(value - expected) > 1e-6) {
        fail_msg("%.9g, expected %.9g", value, expected);
    }
}
static void expect_now(const char *name, double expected) {
    expect(figures_now(f, index_of(name)), expected);
}

static void add(int64_t now_nsec, const char *text) {
    struct figures_measured measured = {.now_nsec = now_nsec};
    figures_add(f, slice_of(text), &measured);
}

static void test_rows_are_sound(void **state) {
    assert_true(figures_count() > 20 && figures_count() <= FIGURES_MAX);
    for (size_t i = 0; i < figures_count(); i++) {
        const struct figure_row *row = figures_row(i);
        assert_true(strlen(row->label) <= FIGURES_LABEL_CHARS);
        assert_true(row->help[strlen(row->help) - 1] == '.');
        for (size_t j = 0; j < i; j++) {
            assert_string_not_equal(row->name, figures_row(j)->name);
            assert_string_not_equal(row->label, figures_row(j)->label);
        }
    }
}

static void test_fields_are_found(void **state) {
    struct slice info = SLICE("# Stats\r\nab:1\r\na:2\r\nempty:\r\nlast:x:y"), value;
    assert_true(figures_find(info, "a", &value));
    assert_true(slice_equal(value, SLICE("2")));
    assert_true(figures_find(info, "empty", &value));
    assert_int_equal(value.length, 0);
    assert_true(figures_find(info, "last", &value));
    assert_true(slice_equal(value, SLICE("x:y")));
    assert_false(figures_find(info, "b", &value));
    assert_false(figures_find(info, "# Stats", &value));
    assert_false(figures_find((struct slice){"", 0}, "a", &value));
}

/* Any bytes as lines, among them names with a NUL and names that are a part of a field's. */
static void test_lines_that_are_no_fields(void **state) {
    static const char text[] =
        "used_memory\0x:1\nused_memor:2\nused_memory_:3\n:4\n\n::\nused_memory:5:6\r\n"
        "maxmemory\r\ndb:keys=7\ndbx:keys=8\nhz\0\0\0:1\nused_memory:9\ndb0:keys=";
    struct figures_measured measured = {.now_nsec = SECOND};
    figures_add(f, (struct slice){text, sizeof(text) - 1}, &measured);
    expect_now("used_bytes", NAN); /* the first one counts, and is no number */
    expect_now("keys", 0);
    figures_add(f, (struct slice){text, 16}, &measured);
    expect_now("used_bytes", NAN);
}

/* What is no finite number is missing, also where finite ones make it. */
static void test_figures_are_finite(void **state) {
    struct buffer line;
    buffer_init(&line, MEMORY_OTHER);
    add(SECOND, "used_memory:inf\r\nexpired_keys:-1e308");
    add(2 * SECOND, "used_memory:nan\r\nexpired_keys:1e308");
    expect_now("used_bytes", NAN);
    expect_now("expired_per_sec", NAN);
    figures_csv_line(f, 0, &line);
    assert_null(strstr(line.bytes, "inf"));
    assert_null(strstr(line.bytes, "nan"));
    buffer_free(&line);
}

static void add_asked(int64_t asked_nsec, int64_t now_nsec, const char *text) {
    struct figures_measured measured = {.asked_nsec = asked_nsec, .now_nsec = now_nsec};
    figures_add(f, slice_of(text), &measured);
}

/* The server's own time counts, unless its clock was set between two readings. */
static void test_a_server_clock_that_is_set(void **state) {
    add_asked(10 * SECOND, 11 * SECOND, "server_time_usec:1000000\r\nexpired_keys:0");
    add_asked(12 * SECOND, 12 * SECOND, "server_time_usec:2500000\r\nexpired_keys:300");
    expect_now("expired_per_sec", 200); /* between 1 s and 2 s can be */
    add_asked(13 * SECOND, 13 * SECOND, "server_time_usec:3603500000\r\nexpired_keys:400");
    expect_now("expired_per_sec", 100); /* an hour forward cannot */
    add_asked(14 * SECOND, 14 * SECOND, "server_time_usec:3603500001\r\nexpired_keys:500");
    expect_now("expired_per_sec", 100); /* nor a second that takes no time */
    add_asked(15 * SECOND, 15 * SECOND, "server_time_usec:5\r\nexpired_keys:600");
    expect_now("expired_per_sec", 100); /* nor backward */
}

static void test_nothing_is_known_of_nothing(void **state) {
    assert_int_equal(figures_samples(f), 0);
    for (size_t i = 0; i < figures_count(); i++) expect(figures_now(f, i), NAN);
    add(SECOND, "");
    add(2 * SECOND, "");
    for (size_t i = 0; i < figures_count(); i++) {
        expect(figures_now(f, i), strcmp(figures_row(i)->name, "keys") ? NAN : 0);
    }
}

static void test_gauges_and_rates(void **state) {
    add(10 * SECOND, "used_memory:1000\r\nevicted_keys:100\r\nexpire_due_backlog:7\r\n");
    expect_now("used_bytes", 1000);
    expect_now("due_backlog", 7);
    expect_now("evicted_per_sec", NAN);
    add(12 * SECOND, "used_memory:900\r\nevicted_keys:150\r\n");
    expect_now("used_bytes", 900);
    expect_now("evicted_per_sec", 25);
    expect_now("due_backlog", NAN);
    /* CONFIG RESETSTAT, then on. */
    add(13 * SECOND, "evicted_keys:3\r\n");
    expect_now("evicted_per_sec", NAN);
    add(14 * SECOND, "evicted_keys:5\r\n");
    expect_now("evicted_per_sec", 2);
    /* Another server. */
    figures_interrupt(f);
    add(15 * SECOND, "evicted_keys:500\r\n");
    expect_now("evicted_per_sec", NAN);
    /* No number is no figure. */
    add(16 * SECOND, "evicted_keys:abc\r\nused_memory:inf\r\nused_memory_rss:\r\n");
    expect_now("evicted_per_sec", NAN);
    expect_now("used_bytes", NAN);
    expect_now("rss_bytes", NAN);
}

static void test_time_is_the_servers(void **state) {
    add(10 * SECOND, "server_time_usec:5000000\r\nevicted_keys:0\r\n");
    add(19 * SECOND, "server_time_usec:7000000\r\nevicted_keys:10\r\n");
    expect_now("evicted_per_sec", 5);
    /* Its wall clock was set back: ours then. */
    add(21 * SECOND, "server_time_usec:1000000\r\nevicted_keys:20\r\n");
    expect_now("evicted_per_sec", 5);
    add(21 * SECOND, "evicted_keys:30\r\n");
    expect_now("evicted_per_sec", NAN);
}

static void test_shares_and_ratios(void **state) {
    add(SECOND,
        "main_thread_off_cpu_usec:100\r\nused_cpu_user_main_thread:1.5\r\n"
        "used_cpu_sys_main_thread:0.5\r\nkeyspace_hits:10\r\nkeyspace_misses:10\r\n");
    add(3 * SECOND,
        "main_thread_off_cpu_usec:500100\r\nused_cpu_user_main_thread:2.0\r\n"
        "used_cpu_sys_main_thread:0.6\r\nkeyspace_hits:19\r\nkeyspace_misses:11\r\n");
    expect_now("off_cpu_percent", 25);
    expect_now("main_thread_cpu_percent", 30);
    expect_now("hit_percent", 90);
    add(4 * SECOND, "keyspace_hits:19\r\nkeyspace_misses:11\r\nused_cpu_user_main_thread:3\r\n");
    expect_now("hit_percent", NAN);
    expect_now("main_thread_cpu_percent", NAN);
}

static void test_own_commands_are_taken_off(void **state) {
    struct figures_measured measured = {.now_nsec = SECOND, .own_commands = 100};
    figures_add(f, SLICE("total_commands_processed:1000\r\n"), &measured);
    measured = (struct figures_measured){.now_nsec = 3 * SECOND, .own_commands = 300};
    figures_add(f, SLICE("total_commands_processed:1500\r\n"), &measured);
    expect_now("ops_per_sec", 150);
    measured = (struct figures_measured){.now_nsec = 4 * SECOND, .own_commands = 400};
    figures_add(f, SLICE("total_commands_processed:1599\r\n"), &measured);
    expect_now("ops_per_sec", 0);
}

static void test_probe(void **state) {
    struct figures_measured measured = {.now_nsec = SECOND,
                                        .probes = 1,
                                        .probe_p50_usec = 10,
                                        .probe_p99_usec = 20,
                                        .probe_max_usec = 30};
    figures_add(f, SLICE(""), &measured);
    expect_now("probe_p50_usec", 10);
    expect_now("probe_p99_usec", 20);
    expect_now("probe_max_usec", 30);
    measured.probes = 0;
    figures_add(f, SLICE(""), &measured);
    expect_now("probe_p99_usec", NAN);
}

static void test_memory_of_6_2_is_computed(void **state) {
    add(SECOND, "used_memory:1500\r\nmem_not_counted_for_evict:100\r\nmaxmemory:1000\r\n");
    expect_now("counted_bytes", 1400);
    expect_now("overshoot_bytes", 400);
    add(SECOND, "used_memory:1500\r\nmem_not_counted_for_evict:100\r\nmaxmemory:0\r\n");
    expect_now("overshoot_bytes", 0);
    add(SECOND, "used_memory:1500\r\nmem_not_counted_for_evict:100\r\nmaxmemory:2000\r\n");
    expect_now("overshoot_bytes", 0);
    add(SECOND, "used_memory:1500\r\nmem_not_counted_for_evict:0\r\n");
    expect_now("overshoot_bytes", NAN);
    /* What the server tells counts more. */
    add(SECOND,
        "used_memory:1500\r\nmem_not_counted_for_evict:0\r\nmaxmemory:10\r\n"
        "mem_counted_for_eviction:700\r\nmaxmemory_overshoot_bytes:3\r\n");
    expect_now("counted_bytes", 700);
    expect_now("overshoot_bytes", 3);
}

static void test_keys_of_all_databases(void **state) {
    add(SECOND,
        "db_size:5\r\n# Keyspace\r\ndb0:keys=10,expires=1,avg_ttl=0\r\n"
        "db15:keys=5,expires=0,avg_ttl=0\r\ndb3:expires=9\r\ndb4:keys=x\r\ndb5:keys=1");
    expect_now("keys", 16);
}

static void test_means_before_and_since(void **state) {
    char text[64];
    expect(figures_before(f, 0), NAN);
    for (int second = 1; second <= 30; second++) {
        snprintf(text, sizeof(text), "used_memory:%d\r\nevicted_keys:%d\r\n", second, second * 2);
        add(second * SECOND, text);
    }
    assert_false(figures_marked(f));
    figures_mark(f, 30 * SECOND + 1);
    assert_true(figures_marked(f));
    size_t used = index_of("used_bytes"), evicted = index_of("evicted_per_sec");
    /* Seconds 21 to 30: the sample of second 20 ended 10 s and a little before the mark. */
    assert_int_equal(figures_before_samples(f), 10);
    expect(figures_before(f, used), 25.5);
    expect(figures_before(f, evicted), 2);
    expect(figures_since(f, used), NAN);
    /* The sample that was under way began before the mark. */
    add(31 * SECOND, "used_memory:1000000\r\n");
    assert_int_equal(figures_since_samples(f), 0);
    add(32 * SECOND, "used_memory:100\r\n");
    add(33 * SECOND, "used_memory:200\r\nevicted_keys:5\r\n");
    add(34 * SECOND, "evicted_keys:12\r\n");
    assert_int_equal(figures_since_samples(f), 3);
    expect(figures_since(f, used), 150);
    expect(figures_since(f, evicted), 7);
    expect(figures_before(f, used), 25.5);
    figures_unmark(f);
    expect(figures_before(f, used), NAN);
    expect(figures_since(f, used), NAN);
    assert_int_equal(figures_since_samples(f), 0);
}

static void test_a_first_reading_is_not_before(void **state) {
    add(SECOND, "used_memory:1000000\r\n");
    add(2 * SECOND, "used_memory:10\r\n");
    figures_mark(f, 2 * SECOND);
    assert_int_equal(figures_before_samples(f), 1);
    expect(figures_before(f, index_of("used_bytes")), 10);
}

/* The ring goes round: only the last samples are there. */
static void test_history_is_bounded(void **state) {
    char text[64];
    for (int i = 1; i <= 5 * FIGURES_HISTORY_SAMPLES; i++) {
        snprintf(text, sizeof(text), "used_memory:%d\r\n", i);
        add(i * (SECOND / 1000), text);
    }
    figures_mark(f, SECOND);
    assert_int_equal(figures_before_samples(f), FIGURES_HISTORY_SAMPLES);
    expect(figures_before(f, index_of("used_bytes")),
           5 * FIGURES_HISTORY_SAMPLES - (FIGURES_HISTORY_SAMPLES - 1) / 2.0);
}

static void test_values_are_written_short(void **state) {
    static const struct {
        enum figure_unit unit;
        double value;
        const char *text;
    } cases[] = {
        {FIGURE_COUNT, NAN, "-"},
        {FIGURE_COUNT, 0, "0"},
        {FIGURE_COUNT, 7, "7"},
        {FIGURE_PER_SECOND, 7.25, "7.25"},
        {FIGURE_PER_SECOND, 999, "999"},
        {FIGURE_PER_SECOND, 999.96, "1.00k"},
        {FIGURE_COUNT, 12345, "12.3k"},
        {FIGURE_COUNT, 123456789, "123M"},
        {FIGURE_COUNT, 1e18, "1000000T"},
        {FIGURE_COUNT, 1e30, "1.0e+18T"},
        {FIGURE_BYTES, 1023, "1023B"},
        {FIGURE_BYTES, 1024, "1.00K"},
        {FIGURE_BYTES, 1536, "1.50K"},
        {FIGURE_BYTES, 104857600, "100M"},
        {FIGURE_USEC, 85, "85us"},
        {FIGURE_USEC, 1234, "1.23ms"},
        {FIGURE_USEC, 2100000, "2.10s"},
        {FIGURE_USEC, 123000000, "123s"},
        {FIGURE_PERCENT, 12.34, "12.3%"},
        {FIGURE_PERCENT, 0, "0.0%"},
        {FIGURE_PERCENT, 1e9, "1.0e+09%"},
        {FIGURE_COUNT, -1500, "-1.50k"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[FIGURES_TEXT_CHARS];
        figures_format(text, cases[i].unit, cases[i].value);
        assert_string_equal(text, cases[i].text);
    }
    seed_from_environment();
    for (int i = 0; i < 10000; i++) {
        char text[FIGURES_TEXT_CHARS];
        double value = (double)random_u64() / pow(10, (double)(random_u64() % 20));
        figures_format(text, random_u64() % 5, value);
        if (strlen(text) > 9) fail_msg("%.9g is written %s", value, text);
    }
}

static void test_csv(void **state) {
    struct buffer out;
    buffer_init(&out, MEMORY_OTHER);
    figures_csv_header(&out);
    size_t commas = 0;
    for (size_t i = 0; i < out.length; i++) commas += out.bytes[i] == ',';
    assert_int_equal(commas, figures_count());
    assert_memory_equal(out.bytes, "time,ops_per_sec,", 17);
    assert_int_equal(out.bytes[out.length - 1], '\n');
    buffer_clear(&out);
    add(SECOND, "used_memory:12345678901\r\nevicted_keys:0\r\n");
    add(4 * SECOND, "used_memory:12345678901\r\nevicted_keys:1\r\n");
    figures_csv_line(f, 1700000000045678, &out);
    assert_memory_equal(out.bytes, "1700000000.045,,,", 17);
    assert_non_null(strstr(out.bytes, ",12345678901,"));
    assert_non_null(strstr(out.bytes, ",0.333,"));
    for (size_t i = 0; i < out.length; i++) commas -= out.bytes[i] == ',';
    assert_int_equal(commas, 0);
    buffer_free(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, create, destroy)
        TEST(test_rows_are_sound),
        TEST(test_fields_are_found),
        TEST(test_lines_that_are_no_fields),
        TEST(test_figures_are_finite),
        TEST(test_a_server_clock_that_is_set),
        TEST(test_nothing_is_known_of_nothing),
        TEST(test_gauges_and_rates),
        TEST(test_time_is_the_servers),
        TEST(test_shares_and_ratios),
        TEST(test_own_commands_are_taken_off),
        TEST(test_probe),
        TEST(test_memory_of_6_2_is_computed),
        TEST(test_keys_of_all_databases),
        TEST(test_means_before_and_since),
        TEST(test_a_first_reading_is_not_before),
        TEST(test_history_is_bounded),
        TEST(test_values_are_written_short),
        TEST(test_csv),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
