/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of lab/watch_panel: keys pressed, and what comes of them.
 */
#include "lab/watch_panel.h"

#include "base/glob.h"
#include "base/random.h"
#include "base/seed.h"

static struct panel panel;

static int begin(void **state) {
    panel_init(&panel);
    panel_take_option(&panel, SLICE("maxmemory"), SLICE("0"));
    panel_take_option(&panel, SLICE("hz"), SLICE("10"));
    panel_take_option(&panel, SLICE("activerehashing"), SLICE("yes"));
    panel_take_option(&panel, SLICE("maxclients"), SLICE("10000"));
    return 0;
}

static enum panel_action press(enum terminal_key_kind kind) {
    return panel_key(&panel, &(struct terminal_key){kind, 0});
}

/* The action of the last letter. */
static enum panel_action type(const char *text) {
    enum panel_action action = PANEL_NOTHING;
    for (; *text; text++) {
        action = panel_key(&panel, &(struct terminal_key){TERMINAL_KEY_TEXT, *text});
    }
    return action;
}

static const char *selected(void) { return panel.knobs[panel.selected].name; }

static void test_letters_and_patterns(void **state) {
    const char *const *patterns;
    size_t count = panel_patterns(&patterns);
    for (size_t i = 0; i < panel.count; i++) {
        struct slice name = slice_of(panel.knobs[i].name);
        bool matched = false;
        for (size_t j = 0; j < count; j++) {
            matched |= glob_match(slice_of(patterns[j]), name, false);
        }
        assert_true(matched);
        assert_true(islower((unsigned char)panel.knobs[i].letter));
        assert_int_not_equal(panel.knobs[i].letter, 'q');
        for (size_t j = 0; j < i; j++) {
            assert_int_not_equal(panel.knobs[i].letter, panel.knobs[j].letter);
        }
    }
}

static void test_values_are_taken(void **state) {
    assert_string_equal(selected(), "maxmemory");
    assert_string_equal(panel.knobs[0].value, "0");
    size_t known = 0;
    for (size_t i = 0; i < panel.count; i++) known += panel.knobs[i].known;
    assert_int_equal(known, 3);
    char longer[2 * PANEL_VALUE_CHARS];
    memset(longer, 'x', sizeof(longer));
    panel_take_option(&panel, SLICE("maxmemory"), (struct slice){longer, sizeof(longer)});
    assert_int_equal(strlen(panel.knobs[0].value), PANEL_VALUE_CHARS - 1);
}

static void test_a_letter_a_value_enter(void **state) {
    assert_int_equal(type("p"), PANEL_NOTHING);
    assert_true(panel.editing);
    assert_string_equal(selected(), "hz");
    /* Letters are text now, q too. */
    assert_int_equal(type("1q"), PANEL_NOTHING);
    press(TERMINAL_KEY_BACKSPACE);
    assert_int_equal(type("00"), PANEL_NOTHING);
    assert_int_equal(press(TERMINAL_KEY_ENTER), PANEL_SET);
    assert_string_equal(panel.typed, "100");
    assert_false(panel.editing);
    panel_set_done(&panel, panel.selected, "100", NULL);
    assert_string_equal(panel.message, "hz: 10 -> 100");
    assert_true(panel.knobs[panel.selected].changed && panel.comparing);
}

static void test_a_value_can_be_left(void **state) {
    type("a12");
    assert_int_equal(press(TERMINAL_KEY_ESCAPE), PANEL_NOTHING);
    assert_false(panel.editing);
    assert_string_equal(panel.message, "maxmemory stays as it is.");
    /* What was typed is gone, and nothing typed is no value. */
    type("a");
    assert_string_equal(panel.typed, "");
    assert_int_equal(press(TERMINAL_KEY_ENTER), PANEL_NOTHING);
    assert_false(panel.editing);
    press(TERMINAL_KEY_BACKSPACE);
    assert_string_equal(panel.typed, "");
}

static void test_errors_are_shown(void **state) {
    panel_set_done(&panel, 0, "x",
                   "ERR Invalid argument 'x' for CONFIG SET 'maxmemory' - argument must be a "
                   "memory value");
    assert_string_equal(panel.message, "maxmemory x: argument must be a memory value");
    panel_set_done(&panel, 0, "x", "NOPERM this user has no permissions");
    assert_string_equal(panel.message, "maxmemory x: NOPERM this user has no permissions");
    assert_false(panel.knobs[0].changed || panel.comparing);
}

static void test_arrows_pass_what_the_server_lacks(void **state) {
    press(TERMINAL_KEY_UP);
    assert_string_equal(selected(), "maxmemory");
    press(TERMINAL_KEY_DOWN);
    assert_string_equal(selected(), "hz");
    press(TERMINAL_KEY_DOWN);
    press(TERMINAL_KEY_DOWN);
    assert_string_equal(selected(), "activerehashing");
    press(TERMINAL_KEY_UP);
    assert_string_equal(selected(), "hz");
    press(TERMINAL_KEY_ENTER);
    assert_true(panel.editing);
}

static void test_a_knob_that_is_not_there(void **state) {
    type("b");
    assert_false(panel.editing);
    assert_string_equal(panel.message, "This server has no maxmemory-policy.");
    panel_forget_values(&panel);
    press(TERMINAL_KEY_ENTER);
    press(TERMINAL_KEY_DOWN);
    assert_false(panel.editing);
    /* The first that comes is selected. */
    panel_take_option(&panel, SLICE("hz"), SLICE("10"));
    assert_string_equal(selected(), "hz");
}

/* The connection is lost and opened again while a value is typed: it stays that knob's value. */
static void test_a_typed_value_stays_with_its_knob(void **state) {
    type("p1");
    panel_forget_values(&panel);
    type("a");
    panel_take_option(&panel, SLICE("maxmemory"), SLICE("0"));
    type("0");
    assert_true(panel.editing);
    assert_string_equal(selected(), "hz");
    assert_string_equal(panel.typed, "1a0");
    assert_int_equal(press(TERMINAL_KEY_ENTER), PANEL_SET);
    assert_string_equal(selected(), "hz");
    /* This server has none: what it has is selected now. */
    panel_take_option(&panel, SLICE("activerehashing"), SLICE("yes"));
    assert_string_equal(selected(), "activerehashing");
}

static void test_other_keys(void **state) {
    assert_int_equal(type("q"), PANEL_QUIT);
    assert_int_equal(type("M"), PANEL_MARK);
    assert_int_equal(type("U"), PANEL_UNMARK);
    assert_int_equal(type("?"), PANEL_NOTHING);
    press(TERMINAL_KEY_TAB);
    assert_true(panel.comparing);
    press(TERMINAL_KEY_TAB);
    assert_false(panel.comparing);
    assert_int_equal(press(TERMINAL_KEY_OTHER), PANEL_NOTHING);
}

/* Any keys: the invariants hold, and no more is typed than fits. */
static void test_any_keys(void **state) {
    seed_from_environment();
    for (int i = 0; i < 100000; i++) {
        struct terminal_key key = {random_u64() % (TERMINAL_KEY_OTHER + 1),
                                   (char)(' ' + random_u64() % 95)};
        enum panel_action action = panel_key(&panel, &key);
        assert_true(panel.selected < panel.count && panel.knobs[panel.selected].known);
        assert_true(panel.typed_length < PANEL_VALUE_CHARS);
        assert_int_equal(strlen(panel.typed), panel.typed_length);
        if (action == PANEL_SET) assert_true(panel.typed_length > 0 && !panel.editing);
    }
    type("\t");
    press(TERMINAL_KEY_ESCAPE);
    type("a");
    for (int i = 0; i < 2 * PANEL_VALUE_CHARS; i++) type("1");
    assert_int_equal(panel.typed_length, PANEL_VALUE_CHARS - 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup(name, begin)
        TEST(test_letters_and_patterns),
        TEST(test_values_are_taken),
        TEST(test_a_letter_a_value_enter),
        TEST(test_a_value_can_be_left),
        TEST(test_errors_are_shown),
        TEST(test_arrows_pass_what_the_server_lacks),
        TEST(test_a_knob_that_is_not_there),
        TEST(test_a_typed_value_stays_with_its_knob),
        TEST(test_other_keys),
        TEST(test_any_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
