/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of the keyspace's observers: who is told of what, in which order, why, and when not.
 *
 * Two observers write what they hear into one text: "a+key:1" a write, "x" expired, "e" evicted,
 * "f" flushing a database, "g" an empty one, "s" swapping, "m" a miss.
 */
#include "base/string.h"
#include "store/keys.h"
#include "value/types.h"

static struct keyspace_holder holder;

static struct buffer heard = {.class = MEMORY_OTHER};

static void hear(char who, char what, const struct keyspace *ks, struct slice key) {
    buffer_printf(&heard, "%c%c%d:%.*s ", who, what, keyspace_index(ks), (int)key.length,
                  key.bytes);
}

static char sign_of(enum keyspace_cause cause) {
    return cause == KEYSPACE_WRITTEN ? '+' : cause == KEYSPACE_EXPIRED ? 'x' : 'e';
}

static void a_changed(const struct key *key, enum keyspace_cause cause) {
    assert_int_equal(key->hash, key_hash(key->name));
    hear('a', sign_of(cause), key->keyspace, key->name);
}

static void b_changed(const struct key *key, enum keyspace_cause cause) {
    hear('b', sign_of(cause), key->keyspace, key->name);
}

static void b_flushing(struct keyspace *ks) {
    hear('b', keyspace_count(ks) ? 'f' : 'g', ks, SLICE(""));
}

static void b_swapping(struct keyspace *a, struct keyspace *b) {
    hear('b', 's', a, SLICE(""));
    hear('b', 's', b, SLICE(""));
}

static void a_missed(const struct key *key) { hear('a', 'm', key->keyspace, key->name); }

static const struct keyspace_observer observer_a = {.changed = a_changed, .missed = a_missed};
static const struct keyspace_observer observer_b = {
    .changed = b_changed, .flushing = b_flushing, .swapping = b_swapping};

static const struct keyspace_observer *const observers[] = {&observer_a, &observer_b, NULL};

static void show_interest(int delta) {
    for (int event = 0; event < KEYSPACE_EVENTS; event++)
        keyspace_add_interest((enum keyspace_event)event, delta);
}

static void assert_heard(const char *expected) {
    buffer_append_char(&heard, 0);
    assert_string_equal(heard.bytes, expected);
    buffer_clear(&heard);
}

static const struct slice names[] = {{"key:0", 5}, {"key:1", 5}, {"key:2", 5}, {"key:3", 5}};

static struct slice k(unsigned number) { return names[number]; }

static struct entry *put(struct keyspace *ks, unsigned number, int64_t deadline) {
    struct string_value v = string_value_of_text(SLICE("text"));
    return told_store(ks, k(number), key_hash(k(number)),
                      told_find(ks, k(number), key_hash(k(number))), &v, deadline);
}

static int begin(void **state) {
    keys_begin(state);
    show_interest(1);
    return 0;
}

static int end(void **state) {
    show_interest(-1);
    keys_nothing_left(state);
    buffer_free(&heard);
    return 0;
}

static void test_writes_are_told_once_in_order(void **state) {
    struct keyspace *ks = keyspace_at(0);
    put(ks, 1, ENTRY_NO_DEADLINE);
    assert_heard("a+0:key:1 b+0:key:1 ");
    put(ks, 1, ENTRY_NO_DEADLINE);
    assert_heard("a+0:key:1 b+0:key:1 ");
    struct entry *e = told_find(ks, k(1), key_hash(k(1)));
    told_bytes(ks, k(1), key_hash(k(1)), e, 100);
    assert_heard("a+0:key:1 b+0:key:1 ");
    e = told_find(ks, k(1), key_hash(k(1)));
    told_deadline(ks, e, key_hash(k(1)), START_MSEC + 1000);
    assert_heard("a+0:key:1 b+0:key:1 ");
    assert_true(told_delete(ks, k(1), key_hash(k(1))));
    assert_heard("a+0:key:1 b+0:key:1 ");
    assert_false(told_delete(ks, k(1), key_hash(k(1))));
    assert_heard("");
}

/* Each event by itself: who listens for one costs the others nothing. */
static void test_only_what_somebody_wants_is_told(void **state) {
    struct keyspace *ks = keyspace_at(0);
    show_interest(-1);
    keyspace_add_interest(KEYSPACE_MISSES, 1);
    put(ks, 1, START_MSEC + 5);
    assert_heard("");
    told_read(ks, k(2), key_hash(k(2)));
    assert_heard("am0:key:2 ");
    keyspace_add_interest(KEYSPACE_MISSES, -1);
    keyspace_add_interest(KEYSPACE_REMOVALS, 1);
    put(ks, 1, START_MSEC + 5);
    clock_set_msec(START_MSEC + 6);
    told_read(ks, k(1), key_hash(k(1)));
    assert_heard("ax0:key:1 bx0:key:1 ");
    keyspace_add_interest(KEYSPACE_REMOVALS, -1);
    keyspace_add_interest(KEYSPACE_SWEEPS, 1);
    put(ks, 1, ENTRY_NO_DEADLINE);
    told_flush(ks);
    assert_heard("bf0: ");
    keyspace_add_interest(KEYSPACE_SWEEPS, -1);
    show_interest(1);
}

static void test_both_keys_of_a_move_are_told(void **state) {
    struct keyspace *ks = keyspace_at(0), *other = keyspace_at(1);
    struct entry *e = put(ks, 1, ENTRY_NO_DEADLINE);
    buffer_clear(&heard);
    e = told_rename(ks, e, key_hash(k(1)), k(2), key_hash(k(2)));
    assert_heard("a+0:key:1 b+0:key:1 a+0:key:2 b+0:key:2 ");
    told_copy(ks, k(3), key_hash(k(3)), e);
    assert_heard("a+0:key:3 b+0:key:3 ");
    e = told_find(ks, k(2), key_hash(k(2)));
    told_move(ks, e, key_hash(k(2)), other);
    assert_heard("a+0:key:2 b+0:key:2 a+1:key:2 b+1:key:2 ");
    keyspace_swap(ks, other);
    assert_heard("bs0: bs1: ");
    told_flush(ks);
    told_flush(ks); /* told, though it is empty: clients that cache learn of it */
    assert_heard("bf0: bg0: ");
}

static void test_causes(void **state) {
    struct keyspace *ks = keyspace_at(0);
    bool more;
    for (unsigned i = 0; i < 4; i++) put(ks, i, START_MSEC + 10);
    buffer_clear(&heard);
    keyspace_evict(ks, told_find(ks, k(0), key_hash(k(0))), key_hash(k(0)), false);
    assert_heard("ae0:key:0 be0:key:0 ");
    clock_set_msec(START_MSEC + 10);
    assert_null(told_find(ks, k(1), key_hash(k(1))));
    assert_heard("ax0:key:1 bx0:key:1 ");
    assert_false(told_delete(ks, k(2), key_hash(k(2))));
    assert_heard("ax0:key:2 bx0:key:2 ");
    assert_int_equal(keyspace_expire_due(ks, START_MSEC + 10, 10, &more), 1);
    assert_heard("ax0:key:3 bx0:key:3 ");
}

static void test_what_is_kept_hidden_expires_when_it_is_replaced(void **state) {
    struct keyspace *ks = keyspace_at(0);
    put(ks, 1, START_MSEC + 10);
    buffer_clear(&heard);
    clock_set_msec(START_MSEC + 10);
    keyspace_hold_expiry(&holder, true);
    assert_int_equal(keyspace_presence(&(struct key){ks, k(1), key_hash(k(1))}), KEYSPACE_HIDDEN);
    assert_null(told_find(ks, k(1), key_hash(k(1))));
    assert_heard("");
    put(ks, 1, ENTRY_NO_DEADLINE);
    keyspace_hold_expiry(&holder, false);
    assert_heard("ax0:key:1 bx0:key:1 a+0:key:1 b+0:key:1 ");
    assert_int_equal(keyspace_presence(&(struct key){ks, k(1), key_hash(k(1))}), KEYSPACE_PRESENT);
    assert_int_equal(keyspace_presence(&(struct key){ks, k(2), key_hash(k(2))}), KEYSPACE_ABSENT);
}

static void test_misses_of_readers_are_told(void **state) {
    struct keyspace *ks = keyspace_at(0);
    told_read(ks, k(1), key_hash(k(1)));
    told_peek(ks, k(2), key_hash(k(2)));
    told_find(ks, k(3), key_hash(k(3)));
    keyspace_peek_quietly(&(struct key){ks, k(3), key_hash(k(3))});
    assert_heard("am0:key:1 am0:key:2 ");
}

static void test_nobody_is_told_without_interest(void **state) {
    struct keyspace *ks = keyspace_at(0);
    show_interest(-1);
    put(ks, 1, START_MSEC + 10);
    put(ks, 2, ENTRY_NO_DEADLINE);
    keyspace_tell_written(&(struct key){ks, k(2), key_hash(k(2))});
    told_read(ks, k(3), key_hash(k(3)));
    clock_set_msec(START_MSEC + 10);
    assert_null(told_find(ks, k(1), key_hash(k(1))));
    keyspace_swap(ks, keyspace_at(1));
    told_flush(keyspace_at(1));
    show_interest(1);
    assert_heard("");
}

int main(void) {
    int by_slot = keys_in_both_forms();
    value_register();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_writes_are_told_once_in_order, begin, end),
        cmocka_unit_test_setup_teardown(test_only_what_somebody_wants_is_told, begin, end),
        cmocka_unit_test_setup_teardown(test_both_keys_of_a_move_are_told, begin, end),
        cmocka_unit_test_setup_teardown(test_causes, begin, end),
        cmocka_unit_test_setup_teardown(test_what_is_kept_hidden_expires_when_it_is_replaced, begin,
                                        end),
        cmocka_unit_test_setup_teardown(test_misses_of_readers_are_told, begin, end),
        cmocka_unit_test_setup_teardown(test_nobody_is_told_without_interest, begin, end),
    };
    keys_open();
    keyspace_set_observers(observers);
    return by_slot + cmocka_run_group_tests(tests, NULL, NULL);
}
