/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of clusterctl/ctl_allocate: plans of new clusters, as 6.2 makes them, and what holds for
 * any plan.
 */
#include "clusterctl/ctl_allocate.h"

#include "base/key_slot.h"
#include "base/seed.h"

#define SEATS_MAX 40

static struct ctl_seat seats[SEATS_MAX];
static size_t order[SEATS_MAX];
static char assigned[256];
static const char letters[][2] = {"a", "b", "c", "d", "e", "f"}; /* the seats borrow their hosts */

static void note_assigned(void *context, size_t replica, size_t primary, bool extra) {
    size_t used = strlen(assigned);
    snprintf(assigned + used, sizeof(assigned) - used, "%zu>%zu%s ", replica, primary,
             extra ? "+" : "");
}

/* Plans for the hosts, each a letter. Returns the number of primaries. */
static size_t plan_hosts(const char *hosts, size_t replicas) {
    size_t count = strlen(hosts);
    for (size_t i = 0; i < count; i++)
        seats[i] = (struct ctl_seat){.host = letters[hosts[i] - 'a']};
    assigned[0] = '\0';
    size_t primaries = ctl_allocate_primaries(seats, count, replicas, order);
    if (primaries >= CTL_PRIMARIES_MIN)
        ctl_allocate_replicas(seats, count, replicas, order, note_assigned, NULL);
    return primaries;
}

static void test_plans(void **state) {
    const struct {
        const char *hosts;
        size_t replicas, primaries;
        const char *assigned;
        unsigned score;
    } rows[] = {
        {"aa", 0, 2, "", 0},
        {"aaaa", 1, 2, "", 0},
        {"aaa", 0, 3, "", 0},
        {"aaaaaa", 1, 3, "4>0 5>1 3>2 ", 3 * CTL_SCORE_PRIMARY},
        {"aabbcc", 1, 3, "3>0 5>2 1>4 ", 0},
        {"aaaaaaa", 1, 3, "4>0 5>1 6>2 3>0+ ", 4 * CTL_SCORE_PRIMARY + 1},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        size_t unused;
        assert_int_equal(plan_hosts(rows[i].hosts, rows[i].replicas), rows[i].primaries);
        if (rows[i].primaries < CTL_PRIMARIES_MIN) continue;
        if (rows[i].score || !rows[i].replicas) assert_string_equal(assigned, rows[i].assigned);
        assert_int_equal(ctl_allocate_score(seats, strlen(rows[i].hosts), NULL, &unused),
                         rows[i].score);
    }
}

static void test_turns(void **state) {
    assert_int_equal(plan_hosts("aaabbc", 0), 6);
    assert_string_equal(seats[order[0]].host, "a");
    assert_string_equal(seats[order[1]].host, "b");
    assert_string_equal(seats[order[2]].host, "c");
    assert_string_equal(seats[order[3]].host, "a");
    assert_string_equal(seats[order[4]].host, "b");
}

static void test_slots(void **state) {
    assert_int_equal(plan_hosts("aaa", 0), 3);
    assert_int_equal(seats[0].last, 5460);
    assert_int_equal(seats[1].last, 10922);
    for (size_t count = 3; count <= SEATS_MAX; count++) {
        for (size_t i = 0; i < count; i++) seats[i] = (struct ctl_seat){.host = "a"};
        assert_int_equal(ctl_allocate_primaries(seats, count, 0, order), count);
        unsigned next = 0;
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(seats[i].first, next);
            unsigned part = seats[i].last - seats[i].first + 1;
            assert_in_range(part, KEY_SLOTS / count, KEY_SLOTS / count + 1);
            next = seats[i].last + 1;
        }
        assert_int_equal(next, KEY_SLOTS);
    }
}

/* At random: each replica has a primary, each primary its number of replicas; improving never
 * raises the score, and leaves primaries and numbers as they were. */
static void test_random(void **state) {
    for (int round = 0; round < 200; round++) {
        char hosts[SEATS_MAX / 2 + 1] = {0};
        size_t replicas = random_below(3), count = 3 * (replicas + 1) + random_below(10);
        if (count > SEATS_MAX / 2) count = SEATS_MAX / 2;
        unsigned before, has[SEATS_MAX] = {0}, primaries = 0;
        size_t unused;
        for (size_t i = 0; i < count; i++) hosts[i] = (char)('a' + random_below(6));
        assert_in_range(plan_hosts(hosts, replicas), CTL_PRIMARIES_MIN, count);
        before = ctl_allocate_score(seats, count, NULL, &unused);
        unsigned after = ctl_allocate_improve(seats, count, random_below);
        assert_true(after <= before);
        assert_int_equal(after, ctl_allocate_score(seats, count, NULL, &unused));
        for (size_t i = 0; i < count; i++) {
            primaries += seats[i].primary < 0;
            if (seats[i].primary >= 0) has[seats[i].primary]++;
        }
        assert_int_equal(primaries, count / (replicas + 1));
        for (size_t i = 0; i < count; i++)
            assert_true(seats[i].primary < 0 ? has[i] >= replicas : !has[i]);
    }
}

static int seed_once(void **state) {
    seed_from_environment();
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_plans), cmocka_unit_test(test_turns),
                                       cmocka_unit_test(test_slots), cmocka_unit_test(test_random)};
    return cmocka_run_group_tests(tests, seed_once, NULL);
}
