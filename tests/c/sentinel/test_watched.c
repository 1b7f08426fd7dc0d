/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of sentinel/watched and sentinel/instance: who may be added, who is found, what a reset and
 * a switch leave, and how all are shown.
 */
#include "sentinel/watched.h"

#include "sentinel/failover.h"
#include "sentinel/watch_link.h"
#include "sentinel/watching.h"

static int begin(void **state) {
    watching_begin();
    return 0;
}

static int end(void **state) {
    watching_end();
    return 0;
}

static const char *why_not(const char *name, const char *host, int port, int quorum) {
    const char *reason;
    struct primary *p = sentinel_add_primary(slice_of(name), slice_of(host), port, quorum, &reason);
    return p ? "added" : reason;
}

static void test_primaries_that_cannot_be(void **state) {
    assert_string_equal(why_not("m", "127.0.0.1", 1, 0), "Quorum must be 1 or greater.");
    assert_string_equal(why_not("m", "127.0.0.1", 65536, 1), "Invalid port number.");
    assert_string_equal(why_not("m", "127.0.0.1", -1, 1), "Invalid port number.");
    assert_string_equal(why_not("m", "a.host", 1, 1), "Can't resolve instance hostname.");
    const char *const bad[] = {"", "a b", "a,b", "a\nb", "\"", "a\x7f"};
    for (size_t k = 0; k < sizeof(bad) / sizeof(bad[0]); k++)
        assert_string_equal(why_not(bad[k], "127.0.0.1", 1, 1), "Invalid master name.");
    assert_string_equal(why_not("m", "127.0.0.1", 0, 1), "added");
    assert_string_equal(why_not("m", "127.0.0.2", 1, 1), "Duplicate master name.");
}

static void test_primaries_have_a_bound(void **state) {
    char name[16];
    for (int i = 0; i < SENTINEL_PRIMARIES_MAX; i++) {
        snprintf(name, sizeof(name), "m%d", i);
        assert_string_equal(why_not(name, "127.0.0.1", 1, 1), "added");
    }
    assert_string_equal(why_not("more", "127.0.0.1", 1, 1),
                        "Too many masters are monitored already.");
}

static void test_replicas_have_a_bound(void **state) {
    struct primary *p = watching_add("m", 7000, 1);
    struct replica *first = sentinel_add_replica(p, SLICE("127.0.0.1"), 1);
    assert_non_null(first);
    assert_null(sentinel_add_replica(p, SLICE("127.0.0.1"), 1));
    assert_null(sentinel_add_replica(p, SLICE("a.host"), 2));
    assert_null(sentinel_add_replica(p, SLICE("127.0.0.1"), 65536));
    for (int port = 2; port <= SENTINEL_REPLICAS_MAX; port++)
        assert_non_null(sentinel_add_replica(p, SLICE("127.0.0.1"), port));
    assert_null(sentinel_add_replica(p, SLICE("127.0.0.1"), SENTINEL_REPLICAS_MAX + 1));
    assert_int_equal(p->replica_count, SENTINEL_REPLICAS_MAX);
    assert_ptr_equal(sentinel_find_replica(p, SLICE("127.0.0.1"), 1), first);
    assert_string_equal(first->instance.name, "127.0.0.1:1");
}

static void test_voters_share_links_by_run_id(void **state) {
    struct primary *one = watching_add("one", 7000, 1), *two = watching_add("two", 7001, 1);
    struct slice id = SLICE(WATCHING_OTHER_ID), host = SLICE("127.0.0.1");
    struct voter *a = sentinel_add_voter(one, host, 8000, id);
    struct voter *b = sentinel_add_voter(two, host, 8000, id);
    assert_ptr_equal(a->instance.link, b->instance.link);
    assert_int_equal(watch_link_users(&a->instance), 2);
    assert_null(sentinel_add_voter(one, host, 8001, id));
    assert_null(sentinel_add_voter(one, host, 8000, SLICE(WATCHING_THIRD_ID)));
    assert_null(sentinel_add_voter(one, host, 8002, SLICE("short")));
    struct voter *c = sentinel_add_voter(one, host, 8001, SLICE(WATCHING_THIRD_ID));
    assert_ptr_not_equal(a->instance.link, c->instance.link);
    sentinel_drop_voter(a);
    assert_int_equal(watch_link_users(&b->instance), 1);
    assert_int_equal(one->voter_count, 1);
}

static void test_voters_have_a_bound(void **state) {
    struct primary *p = watching_add("m", 7000, 1);
    char id[SENTINEL_ID_CHARS + 1];
    for (int i = 0; i <= SENTINEL_VOTERS_MAX; i++) {
        snprintf(id, sizeof(id), "%040d", i);
        struct voter *v = sentinel_add_voter(p, SLICE("127.0.0.1"), 8000 + i, slice_of(id));
        assert_int_equal(v != NULL, i < SENTINEL_VOTERS_MAX);
    }
}

static void show_flags_of(const struct instance *i, char *text, size_t size) {
    struct buffer out;
    buffer_init(&out, MEMORY_OTHER);
    instance_show_flags(i, &out);
    snprintf(text, size, "%.*s", (int)out.length, out.bytes);
    buffer_free(&out);
}

static void test_how_instances_are_shown(void **state) {
    char flags[256];
    struct buffer out;
    struct primary *p = watching_add("m", 7000, 1);
    struct replica *r = sentinel_add_replica(p, SLICE("::1"), 7001);
    buffer_init(&out, MEMORY_OTHER);
    instance_show(&p->instance, &out);
    buffer_append_char(&out, '|');
    instance_show(&r->instance, &out);
    assert_string_equal(out.bytes,
                        "master m 127.0.0.1 7000|slave [::1]:7001 ::1 7001 @ m "
                        "127.0.0.1 7000");
    buffer_free(&out);
    p->instance.flags = ~0u;
    show_flags_of(&p->instance, flags, sizeof(flags));
    assert_string_equal(flags,
                        "s_down,o_down,master,disconnected,master_down,failover_in_progress,"
                        "promoted,reconf_sent,reconf_inprog,reconf_done,force_failover,"
                        "script_kill_sent");
    r->instance.flags = INSTANCE_S_DOWN;
    show_flags_of(&r->instance, flags, sizeof(flags));
    assert_string_equal(flags, "s_down,slave,disconnected");
    p->instance.flags = 0;
}

static void test_reset_keeps_name_and_votes_epoch(void **state) {
    struct primary *p = watching_add("m", 7000, 1);
    (void)!sentinel_add_replica(p, SLICE("127.0.0.1"), 7001);
    (void)!sentinel_add_voter(p, SLICE("127.0.0.1"), 8000, SLICE(WATCHING_OTHER_ID));
    p->instance.flags = INSTANCE_S_DOWN | INSTANCE_O_DOWN;
    p->leader_epoch = 7;
    snprintf(p->leader, sizeof(p->leader), "%s", WATCHING_OTHER_ID);
    p->failover_start = 5;
    sentinel_reset_primary(p, false);
    assert_int_equal(p->replica_count, 0);
    assert_int_equal(p->voter_count, 1);
    assert_int_equal(p->instance.flags, 0);
    assert_int_equal(p->leader_epoch, 7); /* or it could vote twice */
    assert_string_equal(p->leader, "");
    assert_int_equal(p->failover_start, 0);
    sentinel_reset_primary(p, true);
    assert_int_equal(p->voter_count, 0);
}

static void test_switch_makes_replicas_anew(void **state) {
    struct primary *p = watching_add("m", 7000, 1);
    struct replica *promoted = sentinel_add_replica(p, SLICE("127.0.0.1"), 7001);
    (void)!sentinel_add_replica(p, SLICE("127.0.0.1"), 7002);
    p->promoted = promoted;
    p->state = FAILOVER_UPDATE_CONFIG;
    assert_int_equal(sentinel_failover_address(p)->port, 7001);
    sentinel_switch_primary(p, slice_of(promoted->instance.address.host), 7001);
    assert_int_equal(p->instance.address.port, 7001);
    assert_int_equal(p->state, FAILOVER_NONE);
    assert_null(p->promoted);
    assert_string_equal(watching_told,
                        "+slave slave 127.0.0.1:7002 127.0.0.1 7002 @ m 127.0.0.1 7001\n"
                        "+slave slave 127.0.0.1:7000 127.0.0.1 7000 @ m 127.0.0.1 7001\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_primaries_that_cannot_be, begin, end),
        cmocka_unit_test_setup_teardown(test_primaries_have_a_bound, begin, end),
        cmocka_unit_test_setup_teardown(test_replicas_have_a_bound, begin, end),
        cmocka_unit_test_setup_teardown(test_voters_share_links_by_run_id, begin, end),
        cmocka_unit_test_setup_teardown(test_voters_have_a_bound, begin, end),
        cmocka_unit_test_setup_teardown(test_how_instances_are_shown, begin, end),
        cmocka_unit_test_setup_teardown(test_reset_keeps_name_and_votes_epoch, begin, end),
        cmocka_unit_test_setup_teardown(test_switch_makes_replicas_anew, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
