/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of sentinel/tick: the beginning, a primary that is down, tilt. No server answers; time
 * moves by steps of a tick.
 */
#include "sentinel/tick.h"

#include "sentinel/watching.h"

#define STEP_MSEC 50 /* shorter than the shortest time between two ticks */
#define SILENT_PORT 1

static struct loop *loop;

static int group_begin(void **state) {
    loop = loop_create();
    return 0;
}

static int group_end(void **state) {
    loop_free(loop);
    return 0;
}

static int begin(void **state) {
    watching_begin();
    sentinel_open(loop, NULL);
    return 0;
}

static int end(void **state) {
    watching_end();
    return 0;
}

static void pass(int64_t msec) {
    for (int64_t passed = 0; passed < msec; passed += STEP_MSEC) {
        clock_advance_usec(STEP_MSEC * 1000);
        loop_turn(loop, 0);
    }
}

/* How many lines were told that begin with `words`. */
static int count_told(const char *words) {
    int count = 0;
    for (const char *line = watching_told; *line; line = strchr(line, '\n') + 1)
        count += strncmp(line, words, strlen(words)) == 0;
    return count;
}

static void test_life(void **state) {
    struct primary *p = watching_add("m", SILENT_PORT, 1);
    p->down_after_msec = 1000;
    sentinel_settings_change()->id[0] = '\0';
    sentinel_begin();
    assert_int_equal(strlen(sentinel_settings()->id), SENTINEL_ID_CHARS);
    assert_int_equal(watching_writes, 1);
    assert_string_equal(watching_told, "+monitor master m 127.0.0.1 1 quorum 1\n");

    watching_forget();
    pass(900);
    assert_int_equal(count_told("+sdown"), 0);
    pass(500);
    assert_int_equal(count_told("+sdown master m 127.0.0.1 1"), 1);
    assert_int_equal(count_told("+odown master m 127.0.0.1 1 #quorum 1/1"), 1);
    assert_int_equal(count_told("+try-failover"), 1);
    assert_int_equal(count_told("-failover-abort-no-good-slave"), 1);
    assert_true(sentinel_hz() >= 10 && sentinel_hz() <= 19);

    /* The Sentinel was stopped: it judges nothing, also not that the primary is up again. */
    watching_forget();
    clock_advance_usec(3000000);
    loop_turn(loop, 0);
    assert_true(sentinel_is_tilted());
    struct link_signs *signs = (struct link_signs *)(uintptr_t)p->instance.signs;
    signs->ping_waits_since = 0;
    signs->last_good_answer = clock_monotonic_msec();
    pass(29000);
    assert_string_equal(watching_told, "+tilt #tilt mode entered\n");
    pass(2000);
    assert_false(sentinel_is_tilted());
    assert_int_equal(count_told("-tilt #tilt mode exited"), 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(test_life, begin, end)};
    return cmocka_run_group_tests(tests, group_begin, group_end);
}
