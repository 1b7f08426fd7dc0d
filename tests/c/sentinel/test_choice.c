/* SPDX-License-Identifier: BSD-3-Clause
 * The choice: each reason to pass a replica over, at its limit and above, and the order of those
 * that are left.
 */
#include "sentinel/choice.h"

#include "sentinel/judge.h"
#include "sentinel/scene.h"

#define LINK_LIMIT (10 * DOWN_AFTER)

static void down(struct scene *s) { s->replicas[0].instance.flags = INSTANCE_S_DOWN; }
static void disconnected(struct scene *s) { s->replica_signs[0].connected = false; }
static void answered_at_limit(struct scene *s) {
    s->replica_signs[0].last_good_answer = NOW - 5000;
}
static void answered_too_long_ago(struct scene *s) {
    s->replica_signs[0].last_good_answer = NOW - 5001;
}
static void never_answered(struct scene *s) { s->replica_signs[0].last_good_answer = 0; }
static void priority_0(struct scene *s) { s->replicas[0].priority = 0; }
static void priority_1(struct scene *s) { s->replicas[0].priority = 1; }
static void info_at_limit(struct scene *s) { s->replicas[0].instance.last_info = NOW - 30000; }
static void info_too_old(struct scene *s) { s->replicas[0].instance.last_info = NOW - 30001; }
static void never_heard(struct scene *s) { s->replicas[0].instance.last_info = 0; }
static void primary_down(struct scene *s, int64_t since) {
    s->primary.instance.flags = INSTANCE_S_DOWN;
    s->primary.instance.s_down_since = NOW - since;
}
static void fast_info_at_limit(struct scene *s) {
    primary_down(s, 1);
    s->replicas[0].instance.last_info = NOW - 5000;
}
static void fast_info_too_old(struct scene *s) {
    primary_down(s, 1);
    s->replicas[0].instance.last_info = NOW - 5001;
}
static void link_at_limit(struct scene *s) { s->replicas[0].link_down_msec = LINK_LIMIT; }
static void link_down_for_too_long(struct scene *s) {
    s->replicas[0].link_down_msec = LINK_LIMIT + 1;
}
static void link_at_limit_with_primary_down(struct scene *s) {
    primary_down(s, 2000);
    s->replicas[0].link_down_msec = LINK_LIMIT + 2000;
}
static void link_down_for_too_long_with_primary_down(struct scene *s) {
    primary_down(s, 2000);
    s->replicas[0].link_down_msec = LINK_LIMIT + 2001;
}
/* The time that a primary was down in the past counts only while it is down. */
static void link_down_with_primary_up_again(struct scene *s) {
    s->primary.instance.s_down_since = NOW - 2000;
    s->replicas[0].link_down_msec = LINK_LIMIT + 1;
}
static void link_was_never_up(struct scene *s) { s->replicas[0].link_down_msec = -1000; }
static void follows_another(struct scene *s) { s->replicas[0].follows_port = 1; }
static void reports_primary(struct scene *s) { s->replicas[0].instance.role = REPORTED_PRIMARY; }
static void largest_limits(struct scene *s) {
    s->primary.down_after_msec = SENTINEL_LIMIT_MSEC_MAX;
    primary_down(s, 1);
}
static void well(struct scene *s) {}

#define ROW(build, fit) \
    { #build, build, fit }
static const struct {
    const char *name;
    void (*build)(struct scene *s);
    bool fit;
} rows[] = {
    ROW(well, true),
    ROW(down, false),
    ROW(disconnected, false),
    ROW(answered_at_limit, true),
    ROW(answered_too_long_ago, false),
    ROW(never_answered, false),
    ROW(priority_0, false),
    ROW(priority_1, true),
    ROW(info_at_limit, true),
    ROW(info_too_old, false),
    ROW(never_heard, false),
    ROW(fast_info_at_limit, true),
    ROW(fast_info_too_old, false),
    ROW(link_at_limit, true),
    ROW(link_down_for_too_long, false),
    ROW(link_at_limit_with_primary_down, true),
    ROW(link_down_for_too_long_with_primary_down, false),
    ROW(link_down_with_primary_up_again, false),
    ROW(link_was_never_up, true),
    ROW(follows_another, true),
    ROW(reports_primary, true),
    ROW(largest_limits, true),
};

static void test_who_is_fit(void **state) {
    for (size_t at = 0; at < sizeof(rows) / sizeof(rows[0]); at++) {
        struct scene s;
        scene_make(&s, 1, 0);
        rows[at].build(&s);
        struct replica *best = sentinel_choice_best(&s.primary, NOW);
        if (best != (rows[at].fit ? &s.replicas[0] : NULL)) fail_msg("%s", rows[at].name);
    }
}

static void test_no_replica_no_choice(void **state) {
    struct scene s;
    scene_make(&s, 0, 0);
    assert_null(sentinel_choice_best(&s.primary, NOW));
}

/* The better one of two, which stand in either order. */
static const struct order_row {
    const char *what;
    int priority, other_priority;
    int64_t offset, other_offset;
    const char *run_id, *other_run_id;
} order_rows[] = {
    {"the lower priority", 1, 2, 0, 9, "b", "a"},
    {"the higher offset", 5, 5, 9, 8, "b", "a"},
    {"the smaller run id", 5, 5, 9, 9, "a1", "a2"},
    {"case is ignored", 5, 5, 9, 9, "A1", "a2"},
    {"case is ignored, the other way", 5, 5, 9, 9, "a1", "A2"},
    {"a prefix", 5, 5, 9, 9, "a", "a2"},
    {"a run id at all", 5, 5, 9, 9, "z", ""},
};

static void set_rank(struct replica *r, int priority, int64_t offset, const char *run_id) {
    r->priority = priority;
    r->offset = offset;
    snprintf(r->instance.run_id, sizeof(r->instance.run_id), "%s", run_id);
}

static void test_the_order_of_those_that_are_fit(void **state) {
    for (size_t at = 0; at < sizeof(order_rows) / sizeof(order_rows[0]); at++) {
        const struct order_row *row = &order_rows[at];
        for (int better = 0; better < 2; better++) {
            struct scene s;
            scene_make(&s, 2, 0);
            set_rank(&s.replicas[better], row->priority, row->offset, row->run_id);
            set_rank(&s.replicas[!better], row->other_priority, row->other_offset,
                     row->other_run_id);
            if (sentinel_choice_best(&s.primary, NOW) != &s.replicas[better])
                fail_msg("%s: better is %d", row->what, better);
        }
    }
}

static void test_equal_replicas_give_the_first(void **state) {
    struct scene s;
    scene_make(&s, 3, 0);
    for (int at = 0; at < 3; at++) s.replicas[at].instance.run_id[0] = '\0';
    assert_ptr_equal(sentinel_choice_best(&s.primary, NOW), &s.replicas[0]);
    s.replicas[0].priority = 0;
    assert_ptr_equal(sentinel_choice_best(&s.primary, NOW), &s.replicas[1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_who_is_fit),
                                       cmocka_unit_test(test_no_replica_no_choice),
                                       cmocka_unit_test(test_the_order_of_those_that_are_fit),
                                       cmocka_unit_test(test_equal_replicas_give_the_first)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
