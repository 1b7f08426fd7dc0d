/* SPDX-License-Identifier: BSD-3-Clause
 * When active defragmentation begins, rests and ends; over the real allocator, which tells nothing
 * in builds with a sanitizer. */
#include "defrag/defrag.h"

#include <time.h>

#include "base/relocation.h"
#include "metric/metric.h"
#include "store/keys.h"
#include "store/limbo.h"
#include "store/saving.h"
#include "value/types.h"

#define KEYS 60000
#define VALUE_BYTES 200
#define TURNS_MAX 100000

/* Whether INFO has this text. */
static bool info_has(const char *section, const char *text) {
    struct buffer out;
    buffer_init(&out, MEMORY_OTHER);
    metric_print(slice_of(section), &out);
    buffer_append_char(&out, '\0');
    bool there = strstr(out.bytes, text) != NULL;
    buffer_free(&out);
    return there;
}

/* Keys of which three in four are removed again. */
static void make_waste(struct keyspace *ks) {
    char value[VALUE_BYTES];
    memset(value, 'v', sizeof(value));
    for (unsigned i = 0; i < KEYS; i++)
        key_store(ks, i, (struct slice){value, sizeof(value)}, ENTRY_NO_DEADLINE);
    for (unsigned i = 0; i < KEYS; i++) {
        struct key_text name;
        struct slice key = key_of(&name, i);
        if (i % 4) assert_true(told_delete(ks, key, key_hash(key)));
    }
}

#ifdef EVENKEEL_SANITIZER

static void test_refused(void **state) {
    char reason[OPTION_REASON_BYTES];
    struct slice word = slice_of("yes");
    assert_false(option_set(option_find(slice_of("activedefrag")), &word, 1, OPTION_FROM_CONFIG_SET,
                            reason, sizeof(reason)));
    assert_non_null(strstr(reason, "cannot be enabled"));
    assert_true(info_has("Memory", "active_defrag_state:off"));
    defrag_look();
    assert_false(defrag_step());
    (void)make_waste;
}

#else

static void set(const char *name, const char *value) {
    char reason[OPTION_REASON_BYTES];
    struct slice word = slice_of(value);
    assert_true(option_set(option_find(slice_of(name)), &word, 1, OPTION_FROM_CONFIG_SET, reason,
                           sizeof(reason)));
}

static void pause_msec(int64_t msec) {
    nanosleep(&(struct timespec){.tv_nsec = msec * 1000000}, NULL);
}

static void turn_until_done(void) {
    for (int i = 0; i < TURNS_MAX && info_has("Memory", "active_defrag_state:running"); i++) {
        clock_refresh();
        if (!defrag_step()) pause_msec(1);
    }
}

static void test_life(void **state) {
    struct keyspace *ks = keyspace_at(0);
    make_waste(ks);
    size_t used = memory_used(MEMORY_DATASET), wasted = relocation_measure();
    assert_true(info_has("Memory", "active_defrag_state:off"));
    set("active-defrag-ignore-bytes", "1mb");
    set("active-defrag-cycle-min", "50");
    defrag_look(); /* it is off */
    assert_true(info_has("Memory", "active_defrag_state:off"));
    set("activedefrag", "yes");
    assert_true(info_has("Memory", "active_defrag_state:watching"));
    defrag_look();
    assert_true(info_has("Memory", "active_defrag_state:running"));
    assert_false(info_has("Memory", "active_defrag_running:0"));

    limbo_enter();
    assert_false(defrag_step());
    assert_true(info_has("Memory", "active_defrag_state:resting"));
    limbo_leave();
    saving_begin();
    assert_false(defrag_step());
    saving_end();
    assert_true(info_has("Stats", "active_defrag_hits:0\r\n"));

    (void)defrag_step();
    turn_until_done();
    assert_true(info_has("Memory", "active_defrag_state:watching"));
    assert_true(info_has("Memory", "active_defrag_running:0"));
    assert_false(info_has("Stats", "active_defrag_hits:0\r\n"));
    assert_in_range(relocation_measure(), 0, wasted / 4);
    assert_int_equal(memory_used(MEMORY_DATASET), used);
    keyspace_check(ks);
    set("activedefrag", "no");
    assert_true(info_has("Memory", "active_defrag_state:off"));
}

/* A database that is emptied in the midst of a pass ends it. */
static void test_emptied(void **state) {
    struct keyspace *ks = keyspace_at(0);
    make_waste(ks);
    set("active-defrag-ignore-bytes", "1mb");
    set("activedefrag", "yes");
    defrag_look();
    (void)defrag_step();
    told_flush(ks);
    turn_until_done();
    assert_false(info_has("Memory", "active_defrag_state:running"));
    set("activedefrag", "no");
}

/* A look that comes long enough after the last one to measure growth. */
static void look_later(void) {
    pause_msec(550);
    defrag_look();
}

/* While blocks are taken faster than they are moved, a pass rests, and says so. */
static void test_growth(void **state) {
    struct keyspace *ks = keyspace_at(0);
    struct buffer text;
    make_waste(ks);
    set("active-defrag-ignore-bytes", "1mb");
    set("active-defrag-cycle-min", "1");
    set("active-defrag-cycle-max", "1");
    set("activedefrag", "yes");
    defrag_look();
    assert_true(info_has("Memory", "active_defrag_reason:waste"));
    defrag_look();
    (void)defrag_step();
    void *taken = memory_alloc(200 << 20, MEMORY_OTHER);
    look_later();
    assert_true(info_has("Memory", "active_defrag_state:resting"));
    assert_true(info_has("Memory", "active_defrag_reason:growth"));
    assert_false(defrag_step());
    buffer_init(&text, MEMORY_OTHER);
    defrag_append_state(&text);
    buffer_append_char(&text, '\0');
    assert_string_equal(text.bytes,
                        "Active defragmentation rests while memory is taken faster than it would "
                        "be given back.");
    buffer_free(&text);
    look_later();
    assert_true(info_has("Memory", "active_defrag_state:running"));
    assert_true(info_has("Memory", "active_defrag_reason:waste"));
    memory_free(taken, MEMORY_OTHER);
    set("activedefrag", "no");
    set("active-defrag-cycle-max", "25");
    assert_true(info_has("Memory", "active_defrag_reason:option"));
}

/* A part is called with the cursors that it returns, after the databases, once a pass. */
static unsigned part_calls;
static uint64_t part_cursor;
static uint64_t count_calls(uint64_t cursor, struct relocation *r) {
    assert_int_equal(cursor, part_cursor);
    part_calls++;
    part_cursor = cursor < 3 ? cursor + 1 : 0;
    return part_cursor;
}
static relocation_part *const counted_twice[] = {count_calls, count_calls, NULL};
static relocation_part *const none[] = {NULL};

static void test_parts(void **state) {
    make_waste(keyspace_at(0));
    defrag_set_parts(counted_twice);
    set("active-defrag-ignore-bytes", "1mb");
    set("active-defrag-cycle-min", "50");
    set("active-defrag-cycle-max", "50");
    set("activedefrag", "yes");
    defrag_look();
    (void)defrag_step();
    turn_until_done();
    assert_int_not_equal(part_calls, 0);
    assert_int_equal(part_calls % 8, 0);
    set("activedefrag", "no");
    defrag_set_parts(none);
}

#endif

static int real_clock(void **state) {
    clock_use_system();
    clock_refresh();
    return 0;
}

int main(void) {
    int by_slot = keys_in_both_forms();
    value_register();
    keys_open();
    defrag_register();
    const struct CMUnitTest tests[] = {
#ifdef EVENKEEL_SANITIZER
        cmocka_unit_test_setup_teardown(test_refused, real_clock, keys_nothing_left),
#else
        cmocka_unit_test_setup_teardown(test_life, real_clock, keys_nothing_left),
        cmocka_unit_test_setup_teardown(test_emptied, real_clock, keys_nothing_left),
        cmocka_unit_test_setup_teardown(test_growth, real_clock, keys_nothing_left),
        cmocka_unit_test_setup_teardown(test_parts, real_clock, keys_nothing_left),
#endif
    };
    return by_slot + cmocka_run_group_tests(tests, NULL, NULL);
}
