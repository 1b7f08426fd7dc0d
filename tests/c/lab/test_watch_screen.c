/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of lab/watch_screen: what stands where, on terminals of every size, and that foreign text
 * cannot reach the terminal.
 */
#include "lab/watch_screen.h"

#include "base/seed.h"
#include "lab/picture.h"
#include "lab/watch_panel.h"
#include "tools/figures.h"

static struct panel panel;
static struct figures *figures;
static struct picture picture;
static struct screen screen;

static void add(int64_t seconds, const char *text) {
    struct figures_measured measured = {.now_nsec = seconds * 1000000000};
    figures_add(figures, slice_of(text), &measured);
}

static int begin(void **state) {
    panel_init(&panel);
    figures = figures_create();
    screen = (struct screen){"127.0.0.1:6379  Redis 6.2.16", "", &panel, figures};
    panel_take_option(&panel, SLICE("maxmemory"), SLICE("100"));
    panel_take_option(&panel, SLICE("hz"), SLICE("10"));
    panel_take_option(&panel, SLICE("activerehashing"), SLICE("yes"));
    add(1, "evicted_keys:0\r\nused_memory:1000\r\n");
    add(2, "evicted_keys:50\r\nused_memory:2048\r\n");
    return 0;
}

static int end(void **state) {
    figures_free(figures);
    return 0;
}

static void draw(int columns, int rows) {
    struct buffer out;
    buffer_init(&out, MEMORY_OTHER);
    picture_begin(&picture, columns, rows);
    screen_draw(&screen, columns, rows, &out);
    picture_write(&picture, buffer_slice(&out));
    buffer_free(&out);
    assert_true(picture_is_whole(&picture));
}

#define assert_shows(text) \
    if (!picture_shows(&picture, text)) fail_msg("the screen does not show \"%s\"", text)
#define assert_hides(text) \
    if (picture_shows(&picture, text)) fail_msg("the screen shows \"%s\"", text)

static void test_figures_and_knobs(void **state) {
    draw(80, 24);
    assert_string_equal(picture.cells[0],
                        "redis-lab watch  127.0.0.1:6379  Redis 6.2.16                       "
                        "            ");
    assert_shows("20 of 39 figures         now   knobs (*: changed here)");
    assert_shows("evicted keys              50   ");
    assert_shows("used memory            2.00K   ");
    assert_shows("evicting                   -   ");
    assert_shows("commands                   -   a  maxmemory 100");
    assert_shows("p  hz 10");
    assert_hides("policy"); /* the server has none */
    assert_hides("before/0");
    assert_shows("q: quit");
    assert_false(picture.cursor_shown);
}

static void test_all_figures_where_there_is_room(void **state) {
    draw(80, (int)figures_count() + 4);
    assert_hides("figures ");
    for (size_t i = 0; i < figures_count(); i++) assert_shows(figures_row(i)->label);
}

static void test_state_is_shown(void **state) {
    screen.state = "no answer for 2.1 s";
    draw(80, 24);
    assert_shows("no answer for 2.1 s  127.0.0.1:6379  Redis 6.2.16");
    assert_hides("redis-lab");
}

static void test_no_knobs(void **state) {
    panel_forget_values(&panel);
    draw(80, 24);
    assert_shows("the server shows no knobs");
    assert_hides("maxmemory 100");
}

static void mark(void) {
    figures_mark(figures, INT64_C(2000000000));
    add(3, "evicted_keys:150\r\nused_memory:2048\r\n");
    add(4, "evicted_keys:250\r\nused_memory:2048\r\nexpired_keys:0\r\n");
    add(5, "evicted_keys:350\r\nused_memory:2048\r\nexpired_keys:10\r\n");
}

static void test_comparison_on_a_wide_terminal(void **state) {
    mark();
    draw(120, 40);
    assert_shows("now  before/1   since/3    change   knobs");
    assert_shows("evicted keys             100        50       100     +100%   ");
    assert_shows("used memory            2.00K     2.00K     2.00K      same   ");
    assert_shows("expired keys              10         -        10             ");
    assert_shows("a  maxmemory 100");
}

static void test_comparison_takes_turns_on_a_narrow_terminal(void **state) {
    mark();
    draw(80, 24);
    assert_shows("a  maxmemory 100");
    assert_hides("before/1");
    panel.comparing = true;
    draw(80, 24);
    assert_hides("maxmemory 100");
    assert_shows("before/1   since/3    change");
}

static void test_change_in_words(void **state) {
    add(6, "evicted_keys:1000\r\nhashtables_owing:0\r\nused_memory:10\r\nclients:1\r\n");
    add(7,
        "evicted_keys:1001\r\nhashtables_owing:0\r\nused_memory:10\r\nexpire_due_backlog:10\r\n");
    figures_unmark(figures);
    figures_mark(figures, INT64_C(7000000000));
    add(8, "hashtables_owing:5\r\nused_memory:10000\r\nexpire_due_backlog:1\r\n");
    draw(120, 40);
    assert_shows("from 0");
    assert_shows("-90%");
    assert_shows("x14.5"); /* used memory: mean of 2048, 10 and 10, then 10000 */
}

static void test_typing(void **state) {
    panel.editing = true;
    snprintf(panel.typed, sizeof(panel.typed), "200mb");
    draw(80, 24);
    assert_shows("maxmemory (100) = 200mb ");
    assert_true(picture.cursor_shown);
    assert_int_equal(picture.row, 22);
    assert_int_equal(picture.column, strlen("maxmemory (100) = 200mb"));
}

static void test_changed_knobs_are_starred(void **state) {
    panel_set_done(&panel, 0, "200", NULL);
    draw(80, 24);
    assert_shows("a *maxmemory 100");
    assert_shows("maxmemory: 100 -> 200");
}

static void test_selection_stays_in_sight(void **state) {
    for (size_t i = 0; i < panel.count; i++) {
        panel_take_option(&panel, slice_of(panel.knobs[i].name), SLICE("value"));
    }
    for (panel.selected = 0; panel.selected < panel.count; panel.selected++) {
        draw(80, 10);
        assert_shows(panel.knobs[panel.selected].name);
    }
    panel.selected = 0;
    draw(80, 10);
    assert_shows("a  maxmemory value");
}

static void test_foreign_text_is_harmless(void **state) {
    screen.server =
        "a\033[2Jb\r\n\x9b"
        "31m\x7f";
    screen.state = "c\ad";
    panel_take_option(&panel, SLICE("maxmemory"), SLICE("\033]0;x\a\t\xc3\xa4"));
    panel_set_done(&panel, 0, "200", "ERR \033[31mred\r\n");
    draw(120, 40); /* picture.h refuses what it does not know */
    assert_shows("c?d  a?[2Jb???31m?");
    assert_shows("a  maxmemory ?]0;x????");
    assert_shows("maxmemory 200: ERR ?[31mred??");
}

static void test_every_size(void **state) {
    mark();
    panel_say(&panel, "%0150d", 0);
    for (int comparing = 0; comparing < 2; comparing++) {
        for (int editing = 0; editing < 2; editing++) {
            panel.comparing = comparing;
            panel.editing = editing;
            for (int columns = 1; columns < 200; columns += 3) {
                for (int rows = 1; rows < 60; rows += 2) draw(columns, rows);
            }
        }
    }
    draw(SCREEN_COLUMNS_MIN, SCREEN_ROWS_MIN);
    assert_hides("too small");
    draw(SCREEN_COLUMNS_MIN - 1, SCREEN_ROWS_MIN);
    assert_shows("The terminal is too small");
    draw(SCREEN_COLUMNS_MIN, SCREEN_ROWS_MIN - 1);
    assert_shows("The terminal is too small");
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
        TEST(test_figures_and_knobs),
        TEST(test_all_figures_where_there_is_room),
        TEST(test_state_is_shown),
        TEST(test_no_knobs),
        TEST(test_comparison_on_a_wide_terminal),
        TEST(test_comparison_takes_turns_on_a_narrow_terminal),
        TEST(test_change_in_words),
        TEST(test_typing),
        TEST(test_changed_knobs_are_starred),
        TEST(test_selection_stays_in_sight),
        TEST(test_foreign_text_is_harmless),
        TEST(test_every_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
