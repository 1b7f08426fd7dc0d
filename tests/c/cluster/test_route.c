/* SPDX-License-Identifier: BSD-3-Clause
 * The route of a call: each step of the table, the words, and random states against a naive reading
 * of the table.
 *
 * SEED=n runs the same random choices again; each run prints its seed.
 */
#include "cluster/route.h"

#include "base/seed.h"
#include "cluster/by_hand.h"

#define SLOT 42
#define RANDOM_CASES 200000

static int begin_route(void **state) {
    by_hand_reset();
    return 0;
}

/* What the call is answered; "" = it is served. The text is that of the last call. */
static char text[128];

static const char *answer(struct cluster_keys keys, struct cluster_request request) {
    struct cluster_node *node;
    struct buffer out;
    keys.slot = SLOT;
    enum cluster_route route = cluster_route(here, &keys, &request, &node);
    assert_int_equal(node != NULL, route == CLUSTER_ASK || route == CLUSTER_MOVED);
    assert_ptr_not_equal(node, &me);
    if (route == CLUSTER_SERVE) return "";
    buffer_init(&out, MEMORY_OTHER);
    cluster_route_print(route, SLOT, node, false, &out);
    assert_in_range(out.length, 1, sizeof(text) - 1);
    memcpy(text, out.bytes, out.length);
    text[out.length] = 0;
    buffer_free(&out);
    return text;
}

#define KEYS(...) ((struct cluster_keys){__VA_ARGS__})
#define REQUEST(...) ((struct cluster_request){__VA_ARGS__})
#define assert_answer(keys, request, text) assert_string_equal(answer(keys, request), text)

#define UNOWNED "-CLUSTERDOWN Hash slot not served"
#define CROSS "-CROSSSLOT Keys in request don't hash to the same slot"
#define DOWN "-CLUSTERDOWN The cluster is down"
#define READS "-CLUSTERDOWN The cluster is down and only accepts read commands"
#define AGAIN "-TRYAGAIN Multiple keys request during rehashing of slot"

static const struct cluster_keys no_key,
    one = {.count = 1}, stays = {.count = 1, .present = 1}, gone = {.count = 1, .absent = 1},
    two = {.count = 2}, both = {.count = 2, .present = 2},
    half = {.count = 2, .present = 1, .absent = 1}, none = {.count = 2, .absent = 2},
    cross = {.count = 2, .cross_slot = true};

static void test_no_key(void **state) {
    here->ok = false;
    assert_answer(no_key, REQUEST(.writes = true), "");
}

static void test_owner(void **state) {
    assert_answer(one, REQUEST(0), UNOWNED);
    assert_answer(cross, REQUEST(0), UNOWNED);
    by_hand_own(SLOT, &me);
    assert_answer(one, REQUEST(.writes = true), "");
    assert_answer(two, REQUEST(0), "");
    assert_answer(cross, REQUEST(0), CROSS);
    by_hand_own(SLOT, &other);
    assert_answer(one, REQUEST(0), "-MOVED 42 ::1:7003");
    assert_answer(two, REQUEST(.asking = true), "-MOVED 42 ::1:7003");
    assert_answer(one, REQUEST(.migrates = true), "-MOVED 42 ::1:7003");
    assert_answer(cross, REQUEST(0), CROSS);
}

static void test_down(void **state) {
    by_hand_own(SLOT, &me);
    here->ok = false;
    assert_answer(one, REQUEST(0), DOWN);
    assert_answer(cross, REQUEST(0), CROSS);
    assert_answer(one, REQUEST(.reads_when_down = true), "");
    assert_answer(one, REQUEST(.reads_when_down = true, .writes = true), READS);
    assert_answer(one, REQUEST(.reads_when_down = true, .queued_writes = true), "");
    by_hand_mark(here->migrating_to, SLOT, &other);
    assert_answer(gone, REQUEST(.migrates = true, .writes = true), DOWN);
    by_hand_own(SLOT, &other);
    assert_answer(one, REQUEST(.reads_when_down = true), "-MOVED 42 ::1:7003");
}

static void test_migrating(void **state) {
    by_hand_own(SLOT, &me);
    by_hand_mark(here->migrating_to, SLOT, &other);
    assert_answer(stays, REQUEST(.writes = true), "");
    assert_answer(both, REQUEST(0), "");
    assert_answer(gone, REQUEST(0), "-ASK 42 ::1:7003");
    assert_answer(none, REQUEST(0), "-ASK 42 ::1:7003");
    assert_answer(half, REQUEST(0), AGAIN);
    assert_answer(none, REQUEST(.migrates = true), "");
    assert_answer(half, REQUEST(.migrates = true), "");
    by_hand_own(SLOT, &primary); /* the mark of a slot that has gone means nothing */
    assert_answer(gone, REQUEST(0), "-MOVED 42 10.0.0.2:7002");
}

static void test_importing(void **state) {
    by_hand_own(SLOT, &other);
    by_hand_mark(here->importing_from, SLOT, &other);
    assert_answer(stays, REQUEST(0), "-MOVED 42 ::1:7003");
    assert_answer(gone, REQUEST(.asking = true), "");
    assert_answer(both, REQUEST(.asking = true, .writes = true), "");
    assert_answer(half, REQUEST(.asking = true), AGAIN);
    assert_answer(none, REQUEST(.asking = true), AGAIN);
    assert_answer(KEYS(.count = 1, .absent = 2), REQUEST(.asking = true), "");
    assert_answer(none, REQUEST(.migrates = true), "");
}

static void test_replica(void **state) {
    by_hand_become_replica();
    by_hand_own(SLOT, &primary);
    assert_answer(one, REQUEST(0), "-MOVED 42 10.0.0.2:7002");
    assert_answer(one, REQUEST(.reads_replica = true), "");
    assert_answer(one, REQUEST(.reads_replica = true, .writes = true), "-MOVED 42 10.0.0.2:7002");
    assert_answer(one, REQUEST(.reads_replica = true, .queued_writes = true),
                  "-MOVED 42 10.0.0.2:7002");
    by_hand_own(SLOT, &other);
    assert_answer(one, REQUEST(.reads_replica = true), "-MOVED 42 ::1:7003");
    me.primary = NULL;
    assert_answer(one, REQUEST(.reads_replica = true), "-MOVED 42 ::1:7003");
    by_hand_init_node(&me, "10.0.0.1", 7001);
    assert_answer(one, REQUEST(.reads_replica = true), "-MOVED 42 ::1:7003");
}

static void test_plain_port(void **state) {
    struct buffer out;
    buffer_init(&out, MEMORY_OTHER);
    cluster_route_print(CLUSTER_MOVED, 0, &primary, true, &out);
    cluster_route_print(CLUSTER_ASK, KEY_SLOTS - 1, &other, true, &out);
    assert_true(slice_is(buffer_slice(&out), "-MOVED 0 10.0.0.2:7003-ASK 16383 ::1:7003"));
    buffer_free(&out);
}

static void assert_waits(struct cluster_request request, enum cluster_route route,
                         const struct cluster_node *to) {
    struct cluster_node *node;
    assert_int_equal(cluster_route_waiting(here, SLOT, &request, &node), route);
    assert_ptr_equal(node, to);
}

static void test_waiting(void **state) {
    const struct cluster_request reads = REQUEST(.reads_replica = true),
                                 writes = REQUEST(.reads_replica = true, .writes = true);
    assert_waits(writes, CLUSTER_UNOWNED, NULL);
    by_hand_own(SLOT, &me);
    assert_waits(writes, CLUSTER_SERVE, NULL);
    by_hand_mark(here->migrating_to, SLOT, &other);
    assert_waits(writes, CLUSTER_SERVE, NULL);
    by_hand_own(SLOT, &primary);
    assert_waits(reads, CLUSTER_MOVED, &primary);
    by_hand_become_replica();
    assert_waits(reads, CLUSTER_SERVE, NULL);
    assert_waits(writes, CLUSTER_MOVED, &primary);
    by_hand_mark(here->importing_from, SLOT, &other);
    assert_waits(writes, CLUSTER_SERVE, NULL);
    here->ok = false;
    assert_waits(reads, CLUSTER_DOWN, NULL);
}

/* ---- against a naive reading ---- */

/* The table of the facts, line by line, from what the case was made of. */
static const char *expected(const struct cluster_keys *keys,
                            const struct cluster_request *request) {
    const struct cluster_node *owner = here->owners[SLOT];
    bool migrating = owner == &me && here->migrating_to[SLOT] == &other;
    bool importing = owner != &me && here->importing_from[SLOT] == &other;
    bool replica = me.flags == CLUSTER_NODE_REPLICA;
    if (keys->count == 0) return "";
    if (owner == NULL) return UNOWNED;
    if (keys->cross_slot) return CROSS;
    if (!here->ok && !request->reads_when_down) return DOWN;
    if (!here->ok && request->writes) return READS;
    if ((migrating || importing) && request->migrates) return "";
    if (migrating && keys->absent > 0 && keys->present > 0) return AGAIN;
    if (migrating && keys->absent > 0) return "-ASK 42 ::1:7003";
    if (importing && request->asking && keys->count == 2 && keys->absent > 0) return AGAIN;
    if (importing && request->asking) return "";
    if (request->reads_replica && replica && me.primary == owner && !request->writes &&
        !request->queued_writes)
        return "";
    return owner == &me ? "" : owner == &primary ? "-MOVED 42 10.0.0.2:7002" : "-MOVED 42 ::1:7003";
}

static bool coin(void) { return random_below(2); }

static void draw_state(void) {
    struct cluster_node *const owners[] = {NULL, &me, &primary, &other};
    by_hand_init_node(&me, "10.0.0.1", 7001);
    if (coin()) by_hand_become_replica();
    if (random_below(8) == 0) me.primary = NULL;
    by_hand_own(SLOT, owners[random_below(4)]);
    here->ok = random_below(4) != 0;
    by_hand_mark(here->migrating_to, SLOT, coin() ? &other : NULL);
    by_hand_mark(here->importing_from, SLOT, coin() ? &other : NULL);
}

static void test_random(void **state) {
    for (int i = 0; i < RANDOM_CASES; i++) {
        struct cluster_keys keys = {.count = (unsigned)random_below(3),
                                    .cross_slot = random_below(8) == 0,
                                    .absent = (unsigned)random_below(3),
                                    .present = (unsigned)random_below(3)};
        struct cluster_request request = {.writes = coin(),
                                          .queued_writes = random_below(4) == 0,
                                          .migrates = random_below(4) == 0,
                                          .asking = coin(),
                                          .reads_replica = coin(),
                                          .reads_when_down = coin()};
        draw_state();
        assert_answer(keys, request, expected(&keys, &request));
    }
}

int main(void) {
    seed_from_environment();
#define TEST(name) cmocka_unit_test_setup(name, begin_route)
    const struct CMUnitTest tests[] = {
        TEST(test_no_key),     TEST(test_owner),     TEST(test_down),
        TEST(test_migrating),  TEST(test_importing), TEST(test_replica),
        TEST(test_plain_port), TEST(test_waiting),   TEST(test_random),
    };
#undef TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}
