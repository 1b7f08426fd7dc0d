/* SPDX-License-Identifier: BSD-3-Clause
 * Nodes: ids, finding, adding, roles, forgetting; and random changes, after each of which the
 * invariants hold.
 */
#include "topology/nodes.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/seed.h"
#include "topology/cluster_scene.h"

static void test_ids(void **state) {
    static const char good[] = "0123456789abcdef0123456789abcdef01234567";
    assert_true(cluster_id_is_valid(SLICE(good)));
    assert_false(cluster_id_is_valid((struct slice){good, CLUSTER_ID_CHARS - 1}));
    assert_false(cluster_id_is_valid((struct slice){good, CLUSTER_ID_CHARS + 1}));
    assert_false(cluster_id_is_valid((struct slice){NULL, 0}));
    for (int c = 0; c <= UINT8_MAX; c++) {
        char text[sizeof(good)];
        memcpy(text, good, sizeof(good));
        text[CLUSTER_ID_CHARS - 1] = (char)c;
        bool digit = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
        assert_int_equal(cluster_id_is_valid((struct slice){text, CLUSTER_ID_CHARS}), digit);
    }
    struct cluster_id drawn = cluster_id_draw(), other = cluster_id_draw();
    assert_true(cluster_id_is_valid(slice_of(drawn.text)));
    assert_string_not_equal(drawn.text, other.text);
}

static void test_new_cluster(void **state) {
    clock_use_fixed(INT64_C(5000000), 0);
    struct cluster *c = cluster_new();
    cluster_check(c);
    assert_int_equal(c->count, 1);
    assert_int_equal(c->self->flags, CLUSTER_NODE_MYSELF | CLUSTER_NODE_PRIMARY);
    assert_int_equal(c->self->created_msec, 5000);
    assert_false(c->ok);
    assert_int_equal(cluster_size(c), 0);
    assert_ptr_equal(cluster_find(c, slice_of(c->self->id.text)), c->self);
    cluster_free(c);
    cluster_free(NULL);
    clock_use_system();
}

/* Only the first 40 bytes of a text count; fewer name no node, and are not read beyond. */
static void test_find(void **state) {
    struct cluster *c = scene_cluster('5');
    for (const char *digit = "a3f0"; *digit; digit++) scene_add(c, *digit, CLUSTER_NODE_PRIMARY);
    char longer[CLUSTER_ID_CHARS + 2];
    snprintf(longer, sizeof(longer), "%sx", scene_id('3').text);
    assert_ptr_equal(cluster_find(c, slice_of(longer)), scene_find(c, '3'));
    assert_int_equal(scene_find(c, '3')->id.text[0], '3');
    char *shorter = memory_alloc(CLUSTER_ID_CHARS - 1, MEMORY_OTHER);
    memset(shorter, '3', CLUSTER_ID_CHARS - 1);
    assert_null(cluster_find(c, (struct slice){shorter, CLUSTER_ID_CHARS - 1}));
    assert_null(cluster_find(c, (struct slice){NULL, 0}));
    memory_free(shorter, MEMORY_OTHER);
    assert_null(scene_find(c, '4'));
    assert_null(scene_find(c, 'F')); /* upper case is another text */
    cluster_check(c);
    cluster_free(c);
}

static void test_add(void **state) {
    struct cluster *c = scene_cluster('5');
    struct cluster_id id = scene_id('a');
    uint64_t changes = c->changes;
    struct cluster_node *node = cluster_add(c, &id, CLUSTER_NODE_HANDSHAKE | CLUSTER_NODE_MEET);
    assert_int_equal(node->flags, CLUSTER_NODE_HANDSHAKE | CLUSTER_NODE_MEET);
    assert_true(c->changes > changes);
    assert_null(cluster_add(c, &id, CLUSTER_NODE_PRIMARY));
    id = scene_id('5');
    assert_null(cluster_add(c, &id, CLUSTER_NODE_PRIMARY));
    while (c->count < CLUSTER_NODES_MAX) {
        id = cluster_id_draw();
        assert_non_null(cluster_add(c, &id, CLUSTER_NODE_PRIMARY));
    }
    id = cluster_id_draw();
    assert_null(cluster_add(c, &id, CLUSTER_NODE_PRIMARY));
    cluster_drop(c, node);
    assert_non_null(cluster_add(c, &id, CLUSTER_NODE_PRIMARY));
    cluster_free(c);
}

static void test_rename(void **state) {
    struct cluster *c = scene_cluster('5');
    struct cluster_node *node = scene_add(c, '1', CLUSTER_NODE_HANDSHAKE);
    struct cluster_id id = scene_id('5');
    assert_false(cluster_rename(c, node, &id));
    assert_ptr_equal(scene_find(c, '1'), node);
    id = scene_id('9');
    assert_true(cluster_rename(c, node, &id));
    assert_true(cluster_rename(c, node, &id));
    assert_null(scene_find(c, '1'));
    assert_ptr_equal(c->nodes[1], node);
    cluster_check(c);
    cluster_free(c);
}

static void test_roles(void **state) {
    struct cluster *c = scene_cluster('5');
    struct cluster_node *a = scene_add(c, 'a', CLUSTER_NODE_PRIMARY);
    struct cluster_node *b = scene_add(c, 'b', CLUSTER_NODE_PRIMARY | CLUSTER_NODE_MIGRATE_TO);
    struct cluster_node *unknown = scene_add(c, 'd', 0);
    a->config_epoch = 3;
    b->config_epoch = 2;
    scene_give(c, b, 10, 12);
    cluster_set_replica(c, b, a);
    cluster_check(c);
    assert_int_equal(b->flags, CLUSTER_NODE_REPLICA);
    assert_int_equal(b->slot_count, 0);
    assert_null(c->owners[11]);
    assert_int_equal(b->config_epoch, 0);
    assert_int_equal(cluster_node_epoch(b), 3);
    assert_ptr_equal(cluster_node_shard(b), a);
    assert_ptr_equal(cluster_node_shard(a), a);
    assert_null(cluster_node_shard(unknown));
    assert_int_equal(a->replica_count, 1);
    /* A replica may own slots, as in 6.2 by ADDSLOTS; another primary does not take them away. */
    scene_give(c, b, 10, 10);
    cluster_set_replica(c, b, unknown);
    assert_int_equal(b->slot_count, 1);
    assert_int_equal(a->replica_count, 0);
    assert_ptr_equal(unknown->replicas[0], b);
    cluster_set_replica(c, b, NULL);
    assert_null(cluster_node_shard(b));
    assert_int_equal(cluster_node_epoch(b), 0);
    uint64_t changes = c->changes;
    cluster_set_replica(c, b, NULL);
    cluster_set_primary(c, a);
    assert_int_equal(c->changes, changes);
    cluster_set_primary(c, b);
    assert_true(c->changes > changes);
    assert_int_equal(b->flags, CLUSTER_NODE_PRIMARY);
    cluster_check(c);
    cluster_free(c);
}

static bool may_take(const struct cluster_node *node) {
    return cluster_node_has(node, CLUSTER_NODE_MIGRATE_TO);
}

/* To which primaries replicas may move. */
static void test_migrate_to(void **state) {
    struct cluster *c = scene_cluster('5');
    struct cluster_node *a = scene_add(c, 'a', CLUSTER_NODE_PRIMARY);
    struct cluster_node *b = scene_add(c, 'b', CLUSTER_NODE_PRIMARY);
    struct cluster_node *d = scene_add(c, 'd', CLUSTER_NODE_PRIMARY);
    struct cluster_node *e = scene_add(c, 'e', 0);
    scene_give(c, d, 0, 9); /* nobody has a replica */
    assert_false(may_take(d));
    cluster_set_replica(c, b, a);
    assert_true(may_take(a));
    assert_false(may_take(b) || may_take(d));
    scene_give(c, d, 10, 10); /* no first slot */
    assert_false(may_take(d));
    cluster_slots_release(c, d);
    scene_give(c, d, 0, 9);
    assert_true(may_take(d));
    /* From the first replica until the last one goes. */
    cluster_set_replica(c, e, a);
    cluster_set_replica(c, b, d);
    assert_true(may_take(a) && may_take(d));
    cluster_drop(c, e);
    assert_false(may_take(a));
    /* The former primary of one that is promoted had a replica. */
    cluster_set_primary(c, b);
    assert_true(may_take(b));
    assert_false(may_take(d));
    cluster_set_replica(c, c->self, b);
    cluster_set_primary(c, c->self);
    assert_false(may_take(c->self));
    /* A replica of what has no role yet. */
    struct cluster_node *f = scene_add(c, 'f', 0);
    cluster_set_replica(c, a, f);
    assert_false(may_take(f));
    cluster_set_primary(c, f);
    assert_true(may_take(f));
    cluster_check(c);
    cluster_free(c);
}

static void test_counts(void **state) {
    struct cluster *c = scene_cluster('5');
    struct cluster_node *a = scene_add(c, 'a', CLUSTER_NODE_PRIMARY);
    for (const char *digit = "bcde"; *digit; digit++)
        cluster_set_replica(c, scene_add(c, *digit, 0), a);
    assert_int_equal(cluster_node_working_replicas(a), 4);
    scene_find(c, 'b')->flags |= CLUSTER_NODE_FAILED;
    scene_find(c, 'c')->flags |= CLUSTER_NODE_SUSPECTED;
    scene_find(c, 'd')->flags |= CLUSTER_NODE_NO_FAILOVER;
    assert_int_equal(cluster_node_working_replicas(a), 2);
    scene_give(c, a, 0, 1);
    scene_give(c, scene_find(c, 'b'), 2, 2); /* a replica is never counted */
    assert_int_equal(cluster_size(c), 1);
    scene_give(c, c->self, 3, 3);
    a->flags |= CLUSTER_NODE_FAILED;
    assert_int_equal(cluster_size(c), 2);
    cluster_free(c);
}

static unsigned left;

static void count_leaving(struct cluster *c, struct cluster_node *node) {
    assert_null(cluster_find(c, slice_of(node->id.text)));
    left++;
}

static void add_report(struct cluster_node *about, struct cluster_node *by) {
    size_t size = (about->report_count + 1) * sizeof(struct cluster_report);
    about->reports = memory_realloc(about->reports, size, MEMORY_OTHER);
    about->reports[about->report_count++] = (struct cluster_report){.by = by, .heard_msec = 1};
}

static void test_drop(void **state) {
    struct cluster *c = scene_cluster('5');
    struct cluster_node *a = scene_add(c, 'a', CLUSTER_NODE_PRIMARY);
    struct cluster_node *b = scene_add(c, 'b', CLUSTER_NODE_PRIMARY);
    for (const char *digit = "cde"; *digit; digit++)
        cluster_set_replica(c, scene_add(c, *digit, 0), *digit == 'e' ? b : a);
    scene_give(c, a, 0, 99);
    scene_give(c, b, 100, 100);
    cluster_slot_set_migrating(c, 7, a);
    cluster_slot_set_importing(c, 7, b);
    cluster_slot_set_importing(c, 16383, a);
    add_report(b, a);
    add_report(b, c->self);
    add_report(a, b);
    left = 0;
    c->leaving = count_leaving;
    cluster_drop(c, a);
    cluster_check(c);
    assert_int_equal(left, 1);
    assert_null(scene_find(c, 'a'));
    assert_int_equal(c->assigned, 1);
    assert_int_equal(c->open_marks, 1);
    assert_ptr_equal(c->importing_from[7], b);
    assert_null(scene_find(c, 'c')->primary);
    assert_true(cluster_node_has(scene_find(c, 'c'), CLUSTER_NODE_REPLICA));
    assert_int_equal(b->report_count, 1);
    assert_ptr_equal(b->reports[0].by, c->self);
    cluster_drop(c, scene_find(c, 'e'));
    assert_int_equal(b->replica_count, 0);
    cluster_free(c);
    assert_int_equal(left, 6);
}

/* ---- Random changes ---- */

static struct cluster_node *draw_node(struct cluster *c) {
    return c->nodes[random_below(c->count)];
}

static struct cluster_node *draw_node_or_none(struct cluster *c) {
    return random_below(4) ? draw_node(c) : NULL;
}

static void change_role(struct cluster *c, struct cluster_node *node) {
    struct cluster_node *primary = draw_node_or_none(c);
    if (random_below(2))
        cluster_set_primary(c, node);
    else if (node != primary)
        cluster_set_replica(c, node, primary);
}

static void change_slots(struct cluster *c) {
    unsigned first = (unsigned)random_below(KEY_SLOTS), count = (unsigned)random_below(50);
    struct cluster_node *node = draw_node_or_none(c);
    for (unsigned slot = first; slot < first + count && slot < KEY_SLOTS; slot++) {
        if (random_below(8) == 0) cluster_slot_set_migrating(c, slot, node);
        if (random_below(8) == 0) cluster_slot_set_importing(c, slot, node);
        cluster_slot_assign(c, slot, node);
    }
}

static void change_at_random(struct cluster *c) {
    struct cluster_node *node = draw_node(c);
    struct cluster_id id = cluster_id_draw();
    switch (random_below(8)) {
    case 0:
    case 1:
        if (c->count < 40) node = cluster_add(c, &id, random_below(2) ? CLUSTER_NODE_PRIMARY : 0);
        break;
    case 2:
        if (node != c->self) cluster_drop(c, node);
        break;
    case 3: assert_true(cluster_rename(c, node, &id)); break;
    case 4: change_role(c, node); break;
    case 5: cluster_slots_release(c, node); break;
    default: change_slots(c);
    }
    if (random_below(100) == 0) cluster_slots_close(c);
    assert_non_null(node);
}

static void test_random_changes(void **state) {
    struct cluster *c = cluster_new();
    seed_from_environment();
    for (int i = 0; i < 400; i++) {
        change_at_random(c);
        cluster_check(c);
    }
    cluster_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ids),        cmocka_unit_test(test_new_cluster),
        cmocka_unit_test(test_find),       cmocka_unit_test(test_add),
        cmocka_unit_test(test_rename),     cmocka_unit_test(test_roles),
        cmocka_unit_test(test_migrate_to), cmocka_unit_test(test_counts),
        cmocka_unit_test(test_drop),       cmocka_unit_test(test_random_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
