/* SPDX-License-Identifier: BSD-3-Clause
 * Lazy freeing: what waits is counted to the byte, is bounded, and never makes memory look fuller
 * than it will be.
 *
 * The freeing thread is held up by a job of the test's own where something is to wait.
 */
#include "store/lazyfree.h"

#include <stdatomic.h>
#include <time.h>

#include "base/memory.h"
#include "base/number.h"
#include "ds/quicklist.h"
#include "ds/table.h"
#include "io/background.h"
#include "metric/metric.h"
#include "store/key_map.h"
#include "store/keys.h"
#include "store/limbo.h"
#include "value/list.h"
#include "value/set.h"
#include "value/stream.h"
#include "value/types.h"

static atomic_bool held_up, going_on;

static void nap(void) { nanosleep(&(struct timespec){0, 100000}, NULL); }

static void wait_until_told(void *argument) {
    atomic_store(&held_up, true);
    while (!atomic_load(&going_on)) nap();
}

static void hold_thread_up(void) {
    atomic_store(&held_up, false);
    atomic_store(&going_on, false);
    background_submit(&background_free, wait_until_told, NULL);
    while (!atomic_load(&held_up)) nap();
}

static void let_thread_go(void) {
    atomic_store(&going_on, true);
    background_drain(&background_free);
}

static size_t info(const char *field) {
    struct buffer text;
    buffer_init(&text, MEMORY_OTHER);
    metric_print(SLICE("Memory"), &text);
    const char *at = strstr(text.bytes, field);
    assert_non_null(at);
    size_t value = strtoul(at + strlen(field) + 1, NULL, 10);
    buffer_free(&text);
    return value;
}

static void store_zeros(unsigned number, size_t length) {
    struct key_text name;
    struct slice key = key_of(&name, number);
    struct string_value value = string_value_zeros(length);
    told_store(keyspace_at(0), key, key_hash(key), NULL, &value, ENTRY_NO_DEADLINE);
}

static void unlink_key(unsigned number) {
    struct key_text name;
    struct slice key = key_of(&name, number);
    assert_true(told_delete_with(keyspace_at(0), key, key_hash(key), true));
}

static void test_pending_bytes_of_values(void **state) {
    static const size_t lengths[] = {10, 50000, LAZYFREE_VALUE_BYTES_MIN, 3000000};
    hold_thread_up();
    size_t objects = info("lazyfreed_objects"), waiting = 0, waiting_bytes = 0;
    for (unsigned i = 0; i < 4; i++) {
        store_zeros(i, lengths[i]);
        struct entry *e = key_find(keyspace_at(0), i);
        bool large = lengths[i] >= LAZYFREE_VALUE_BYTES_MIN;
        assert_int_equal(lazyfree_is_large(e), large);
        waiting += large;
        waiting_bytes += large ? entry_bytes(e) : 0;
        unlink_key(i);
        assert_int_equal(lazyfree_pending_bytes(), waiting_bytes);
        assert_int_equal(info("lazyfree_pending_bytes"), waiting_bytes);
        assert_int_equal(info("lazyfree_pending_objects"), waiting);
    }
    /* What waits is still in memory_used, and nothing else of these keys is. */
    assert_int_equal(memory_used(MEMORY_DATASET) - keys_dataset_before - keyspace_overhead_bytes(),
                     waiting_bytes);
    let_thread_go();
    assert_int_equal(lazyfree_pending_bytes(), 0);
    assert_int_equal(info("lazyfree_pending_objects"), 0);
    assert_int_equal(info("lazyfreed_objects"), objects + waiting);
}

/* Above the bound values are freed at once; below it the thread gets them again. */
static void test_pending_is_bounded(void **state) {
    enum { VALUES = 8, BYTES = 60 << 20 }; /* cleared by the system: hardly a page is touched */
    size_t inline_before = info("lazyfree_inline_count"), entry = 0, at_once = 0;
    hold_thread_up();
    for (unsigned i = 0; i < VALUES; i++) {
        store_zeros(1, BYTES);
        entry = entry_bytes(key_find(keyspace_at(0), 1));
        bool full = lazyfree_pending_bytes() >= LAZYFREE_PENDING_BYTES_MAX;
        at_once += full;
        size_t before = lazyfree_pending_bytes();
        unlink_key(1);
        assert_int_equal(lazyfree_pending_bytes(), before + (full ? 0 : entry));
        assert_int_equal(info("lazyfree_inline_count"), inline_before + at_once);
    }
    assert_true(at_once > 0);
    assert_true(lazyfree_pending_bytes() < LAZYFREE_PENDING_BYTES_MAX + entry);
    let_thread_go();
    hold_thread_up();
    store_zeros(1, BYTES);
    unlink_key(1);
    assert_int_equal(lazyfree_pending_bytes(), entry);
    let_thread_go();
}

/* A command holds the entry until it ends; only then the thread may have it. */
static void test_limbo_comes_first(void **state) {
    size_t objects = info("lazyfreed_objects");
    store_zeros(1, 1 << 20);
    limbo_enter();
    struct entry *e = key_find(keyspace_at(0), 1);
    size_t bytes = entry_bytes(e);
    unlink_key(1);
    background_drain(&background_free);
    assert_int_equal(info("lazyfreed_objects"), objects);
    assert_int_equal(lazyfree_pending_bytes(), 0);
    assert_int_equal(limbo_bytes(), bytes);
    assert_int_equal(entry_string(e, NULL).length, 1 << 20);
    limbo_leave();
    background_drain(&background_free);
    assert_int_equal(info("lazyfreed_objects"), objects + 1);
}

/* ---- values of many blocks ---- */

static struct value long_list(void) {
    struct value v = list_create();
    char text[100] = {0};
    for (unsigned i = 0; i < 400000; i++)
        quicklist_push(list_of(v), QUICKLIST_TAIL, (struct slice){text, i % sizeof(text)});
    return v;
}

static struct value long_stream(void) {
    enum { ENTRIES = 60000, CONSUMERS = 3000 };
    struct value v = stream_create();
    const struct slice texts[] = {SLICE("field"), SLICE("text")};
    struct stream_group *group = stream_group_create(v, SLICE("g"), (struct stream_id){0, 0});
    for (uint64_t i = 1; i <= ENTRIES; i++) {
        char name[32];
        struct slice text = {name, number_format_uint64(name, i % CONSUMERS)};
        struct stream_consumer *c = stream_consumer_find(group, text);
        if (!c) c = stream_consumer_create(v, group, text, 1);
        assert_true(stream_append(v, (struct stream_id){i, 0}, texts, 1));
        stream_pending_assign(v, group, c, (struct stream_id){i, 0});
    }
    return v;
}

/* Freed in the background in steps: what is pending falls while the work goes on, and never below
 * what is there; at the end all is gone and counted. */
static void free_while_looking(enum entry_type type, struct value v) {
    struct keyspace *ks = keyspace_at(0);
    struct key_text name;
    struct slice key = key_of(&name, 1);
    size_t objects = info("lazyfreed_objects");
    hold_thread_up();
    struct entry *e = told_object(ks, key, key_hash(key), NULL, type, v, ENTRY_NO_DEADLINE);
    size_t bytes = entry_bytes(e), looks = 0, partly = 0;
    assert_true(lazyfree_is_large(e));
    unlink_key(1);
    assert_int_equal(lazyfree_pending_bytes(), bytes);
    size_t stays = keyspace_overhead_bytes();
    atomic_store(&going_on, true);
    for (size_t left; (left = lazyfree_pending_bytes()) > 0; looks++) {
        assert_true(left <= bytes);
        assert_true(memory_used(MEMORY_DATASET) - keys_dataset_before <= stays + left);
        partly += left < bytes;
    }
    background_drain(&background_free);
    assert_int_equal(info("lazyfree_pending_objects"), 0);
    assert_int_equal(info("lazyfreed_objects"), objects + 1);
    assert_int_equal(memory_used(MEMORY_DATASET) - keys_dataset_before, stays);
    print_message("%s: %zu bytes, %zu looks, %zu of them while it went on\n",
                  value_type(type)->name, bytes, looks, partly);
}

static void test_lists_and_streams(void **state) {
    free_while_looking(ENTRY_LIST, long_list());
    free_while_looking(ENTRY_STREAM, long_stream());
}

/* Steps free no more blocks than they may, and tell the bytes that are left. */
static void test_steps_are_bounded(void **state) {
    enum { EFFORT = 1000 };
    struct value made[] = {long_list(), long_stream()};
    for (unsigned i = 0; i < 2; i++) {
        struct key_text name;
        struct entry *e = entry_create_object(key_of(&name, 1), i ? ENTRY_STREAM : ENTRY_LIST,
                                              made[i], ENTRY_NO_DEADLINE, 0);
        size_t blocks = entry_free_effort(e), before = entry_bytes(e), most = 0, steps = 1;
        size_t others = memory_used(MEMORY_DATASET) - before, mean = before / blocks;
        for (; !entry_free_step(e, EFFORT); steps++) {
            size_t left = entry_bytes(e);
            assert_int_equal(memory_used(MEMORY_DATASET) - others, left);
            if (before - left > most) most = before - left;
            before = left;
        }
        assert_int_equal(memory_used(MEMORY_DATASET), others);
        assert_true(steps >= blocks / EFFORT / 2);
        /* A list's nodes and a stream's are the larger of their blocks; pending entries the most.
         */
        assert_true(most <= EFFORT * (mean * 16 + 8192));
    }
}

static void set_option(const char *name, const char *value) {
    char reason[OPTION_REASON_BYTES];
    struct slice word = slice_of(value);
    assert_true(option_set(option_find(slice_of(name)), &word, 1, OPTION_FROM_CONFIG_SET, reason,
                           sizeof(reason)));
}

static struct value set_of(unsigned members) {
    struct value v = set_create();
    for (unsigned i = 0; i < members; i++) {
        char name[32] = "m";
        set_add(&v, (struct slice){name, 1 + number_format_uint64(name + 1, i)});
    }
    return v;
}

/* What a command made on its way goes, where it is large, to the thread or in slices, as the option
 * says. */
static void test_values_of_no_key(void **state) {
    static const struct {
        unsigned members;
        const char *lazily;
        bool waits;
    } cases[] = {{10, "yes", false}, {100000, "no", true}, {100000, "yes", true}};
    size_t objects = info("lazyfreed_objects");
    for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        set_option("lazyfree-lazy-server-del", cases[i].lazily);
        hold_thread_up();
        lazyfree_value(VALUE_SET, set_of(cases[i].members));
        assert_int_equal(lazyfree_pending_bytes() > 0, cases[i].waits);
        assert_int_equal(memory_used(MEMORY_DATASET) > keys_dataset_before, cases[i].waits);
        keys_free_slices();
        let_thread_go();
    }
    set_option("lazyfree-lazy-server-del", "no");
    assert_int_equal(memory_used(MEMORY_DATASET), keys_dataset_before);
    assert_int_equal(info("lazyfreed_objects"), objects + 1);
}

/* ---- what is the main thread's ---- */

static size_t freed_blocks;
static void on_free(size_t bytes) {
    freed_blocks++;
    clock_advance_usec(1);
}
static const struct memory_hook counting = {.freed = on_free};

static void store_set(unsigned number, unsigned members) {
    struct key_text name;
    struct slice key = key_of(&name, number);
    told_object(keyspace_at(0), key, key_hash(key), NULL, ENTRY_SET, set_of(members),
                ENTRY_NO_DEADLINE);
}

/* Above the bound a value of many blocks goes in steps, of which the command that deletes it makes
 * none; and all that is left counts as pending. */
static void test_steps_of_the_main_thread(void **state) {
    enum { SETS = 4, MEMBERS = 20000 };
    size_t objects = info("lazyfreed_objects"), inline_before = info("lazyfree_inline_count");
    for (unsigned i = 1; i <= SETS; i++) store_set(i, MEMBERS);
    size_t one = entry_bytes(key_find(keyspace_at(0), 1)), slices = 0;
    lazyfree_bound_pending(one);
    hold_thread_up();
    freed_blocks = 0;
    memory_set_hook(&counting);
    for (unsigned i = 1; i <= SETS; i++) unlink_key(i);
    assert_true(freed_blocks < MEMBERS / 10); /* the table's own */
    assert_int_equal(info("lazyfree_pending_objects"), SETS);
    assert_int_equal(info("lazyfree_inline_count"), inline_before + SETS - 1);
    size_t pending = lazyfree_pending_bytes();
    assert_in_range(pending, SETS * one - one / 10, SETS * one + one / 10);
    /* Slice by slice, a step longer than LAZYFREE_SLICE_USEC at most. */
    for (bool more = true; more; slices++) {
        freed_blocks = 0;
        more = lazyfree_step();
        assert_in_range(freed_blocks, 1, LAZYFREE_SLICE_USEC + 2 * LAZYFREE_BLOCKS_AT_ONCE);
        assert_true(lazyfree_pending_bytes() < pending);
        pending = lazyfree_pending_bytes();
        assert_in_range(memory_used(MEMORY_DATASET) - keys_dataset_before, pending,
                        pending + keyspace_overhead_bytes());
    }
    memory_set_hook(NULL);
    assert_true(slices > 10);
    assert_int_equal(info("lazyfree_pending_objects"), 1); /* the other thread's */
    assert_int_equal(info("lazyfreed_objects"), objects + SETS - 1);
    let_thread_go();
    assert_int_equal(lazyfree_pending_bytes(), 0);
    assert_false(lazyfree_step());
    lazyfree_bound_pending(SIZE_MAX);
}

/* As soon as the other thread has room it gets them. */
static void test_queue_goes_to_the_thread(void **state) {
    enum { SETS = 5, MEMBERS = 20000 };
    for (unsigned i = 1; i <= SETS; i++) store_set(i, MEMBERS);
    size_t one = entry_bytes(key_find(keyspace_at(0), 1));
    lazyfree_bound_pending(3 * one);
    hold_thread_up();
    for (unsigned i = 1; i <= SETS; i++) unlink_key(i);
    freed_blocks = 0;
    memory_set_hook(&counting);
    assert_true(lazyfree_step());
    assert_true(freed_blocks > 0);
    memory_set_hook(NULL);
    let_thread_go();
    assert_true(lazyfree_pending_bytes() > 0);
    freed_blocks = 0;
    hold_thread_up();
    memory_set_hook(&counting);
    assert_false(lazyfree_step());
    memory_set_hook(NULL);
    assert_in_range(freed_blocks, 0, 10); /* the queue's own */
    assert_true(lazyfree_pending_bytes() > 0);
    let_thread_go();
    assert_int_equal(lazyfree_pending_bytes(), 0);
    lazyfree_bound_pending(SIZE_MAX);
}

static void delete_key(unsigned number) {
    struct key_text name;
    struct slice key = key_of(&name, number);
    assert_true(told_delete_with(keyspace_at(0), key, key_hash(key), false));
}

/* Not to be freed in the background, and much: the name goes, the main thread frees it in slices.
 * It is no object of the background's, and its bytes count as those of what waits there. */
static void test_slices_of_what_is_not_lazy(void **state) {
    enum { MEMBERS = 20000 };
    size_t objects = info("lazyfreed_objects"), inline_before = info("lazyfree_inline_count");
    store_set(1, MEMBERS);
    store_set(2, MEMBERS);
    store_set(3, LAZYFREE_BLOCKS_AT_ONCE);
    size_t large = entry_bytes(key_find(keyspace_at(0), 1)), slices = 0;
    delete_key(3);
    assert_int_equal(lazyfree_pending_bytes(), 0);
    freed_blocks = 0;
    memory_set_hook(&counting);
    delete_key(1);
    delete_key(2);
    assert_true(freed_blocks < MEMBERS / 10);
    size_t pending = lazyfree_pending_bytes();
    assert_in_range(pending, 2 * large - large / 10, 2 * large + large / 10);
    for (bool more = true; more; slices++) {
        freed_blocks = 0;
        more = lazyfree_step();
        assert_in_range(freed_blocks, 1, LAZYFREE_SLICE_USEC + 2 * LAZYFREE_BLOCKS_AT_ONCE);
        assert_true(lazyfree_pending_bytes() < pending);
        pending = lazyfree_pending_bytes();
        assert_int_equal(info("lazyfree_pending_objects"), 0);
    }
    memory_set_hook(NULL);
    assert_true(slices > 10);
    assert_int_equal(pending, 0);
    assert_int_equal(info("lazyfreed_objects"), objects);
    assert_int_equal(info("lazyfree_inline_count"), inline_before);
}

/* Those of the main thread are no reason to call the background full; where they are too many it
 * helps, and then they are its objects. */
static void test_background_helps(void **state) {
    enum { SETS = 3, MEMBERS = 20000 };
    size_t objects = info("lazyfreed_objects"), inline_before = info("lazyfree_inline_count");
    for (unsigned i = 1; i <= SETS + 1; i++) store_set(i, MEMBERS);
    size_t one = entry_bytes(key_find(keyspace_at(0), 1));
    lazyfree_bound_pending(2 * one + one / 2);
    hold_thread_up();
    for (unsigned i = 1; i <= SETS; i++) delete_key(i);
    assert_int_equal(info("lazyfree_pending_objects"), 0);
    unlink_key(SETS + 1);
    assert_int_equal(info("lazyfree_pending_objects"), 1);
    assert_int_equal(info("lazyfree_inline_count"), inline_before);
    (void)lazyfree_step();
    size_t helped = info("lazyfree_pending_objects") - 1;
    assert_in_range(helped, 1, 2);
    keys_free_slices();
    let_thread_go();
    assert_int_equal(lazyfree_pending_bytes(), 0);
    assert_int_equal(info("lazyfreed_objects"), objects + 1 + helped);
    lazyfree_bound_pending(SIZE_MAX);
}

/* Many in one turn: what waits is bounded, for the command frees what is beyond. */
static void test_queues_are_bounded(void **state) {
    enum { SETS = 30, MEMBERS = 5000, BOUNDS = 3 };
    for (int lazily = 0; lazily < 2; lazily++) {
        store_set(1, MEMBERS);
        size_t one = entry_bytes(key_find(keyspace_at(0), 1)), bound = 2 * one + one / 2, most = 0;
        lazyfree_bound_pending(bound);
        hold_thread_up();
        for (unsigned i = 0; i < SETS; i++) {
            if (i) store_set(1, MEMBERS);
            if (lazily)
                unlink_key(1);
            else
                delete_key(1);
            size_t pending = lazyfree_pending_bytes();
            if (pending > most) most = pending;
        }
        /* What a queue holds, one more, and what the other thread has. */
        assert_in_range(most, BOUNDS * bound, (BOUNDS + 1) * bound + 3 * one);
        keys_free_slices();
        let_thread_go();
        assert_int_equal(lazyfree_pending_bytes(), 0);
        lazyfree_bound_pending(SIZE_MAX);
    }
}

/* A queue may hold a value that is larger than the bound. Who adds to it frees as much as it adds,
 * not all of that one. */
static void test_as_much_as_is_added(void **state) {
    enum { HUGE_MEMBERS = 300000, MEMBERS = 5000, SETS = 6, HUGE = 3 };
    for (int lazily = 0; lazily < 2; lazily++) {
        void (*give_up)(unsigned number) = lazily ? unlink_key : delete_key;
        for (unsigned i = 1; i <= SETS; i++) store_set(i, i == HUGE ? HUGE_MEMBERS : MEMBERS);
        lazyfree_bound_pending(entry_bytes(key_find(keyspace_at(0), 1)));
        hold_thread_up();
        size_t last = 0;
        memory_set_hook(&counting);
        for (unsigned i = 1; i <= SETS; i++) {
            freed_blocks = 0;
            give_up(i);
            last = freed_blocks;
            assert_in_range(last, 0, 2 * (MEMBERS + 2 * LAZYFREE_BLOCKS_AT_ONCE));
        }
        memory_set_hook(NULL);
        assert_true(last > MEMBERS / 2);
        keys_free_slices();
        let_thread_go();
        assert_int_equal(lazyfree_pending_bytes(), 0);
        lazyfree_bound_pending(SIZE_MAX);
    }
}

static unsigned steps_left, others_left;
static bool step(void) { return --steps_left > 0; }
static bool other_step(void) { return --others_left > 0; }
static struct lazyfree_work work = {.step = step}, other = {.step = other_step};

/* Other code frees in the same slices, until it has no more. */
static void test_steps_of_others(void **state) {
    for (unsigned round = 0; round < 2; round++) {
        steps_left = 3 + round;
        others_left = 4 - round;
        lazyfree_call(&work);
        lazyfree_call(&work);
        lazyfree_call(&other);
        keys_free_slices();
        assert_int_equal(steps_left, 0);
        assert_int_equal(others_left, 0);
        assert_false(lazyfree_step());
    }
}

static void fill(unsigned keys) {
    struct keyspace *ks = keyspace_at(0);
    char text[300] = {0};
    for (unsigned i = 0; i < keys; i++)
        key_store(ks, i, (struct slice){text, random_below(sizeof(text))},
                  i % 3 ? ENTRY_NO_DEADLINE : START_MSEC + 1 + (int64_t)random_below(1000000000));
}

/* All bytes of a database count as free at once. While they go, and while new ones come, memory
 * less what is pending is never more than what stays. */
static void test_flush_and_refill(void **state) {
    enum { KEYS = 60000, MORE = 3000 };
    struct keyspace *ks = keyspace_at(0);
    fill(KEYS);
    keyspace_check(ks);
    size_t pending = keyspace_entry_bytes(ks) + keyspace_overhead_bytes();
    assert_int_equal(memory_used(MEMORY_DATASET) - keys_dataset_before, pending);
    hold_thread_up();
    assert_int_equal(told_flush_lazily(ks), KEYS);
    assert_int_equal(lazyfree_pending_bytes(), pending);
    assert_int_equal(info("lazyfree_pending_objects"), KEYS);
    atomic_store(&going_on, true);
    size_t looks = 0, partly = 0;
    for (unsigned i = 0; lazyfree_pending_bytes() > 0; looks++) {
        if (i < MORE) key_store(ks, i++, SLICE("again"), ENTRY_NO_DEADLINE);
        size_t stays = keyspace_entry_bytes(ks) + keyspace_overhead_bytes();
        size_t left = lazyfree_pending_bytes(), used = memory_used(MEMORY_DATASET);
        partly += left > 0 && left < pending;
        assert_true(used - keys_dataset_before <= stays + left);
    }
    background_drain(&background_free);
    assert_int_equal(info("lazyfree_pending_objects"), 0);
    assert_int_equal(memory_used(MEMORY_DATASET) - keys_dataset_before,
                     keyspace_entry_bytes(ks) + keyspace_overhead_bytes());
    print_message("flush: %zu looks, %zu of them while it went on\n", looks, partly);
}

static void test_flush_at_once(void **state) {
    size_t objects = info("lazyfreed_objects");
    fill(5000);
    assert_int_equal(told_flush(keyspace_at(0)), 5000);
    assert_int_equal(memory_used(MEMORY_DATASET), keys_dataset_before);
    assert_int_equal(info("lazyfreed_objects"), objects);
}

/* A table that owes shrinking is in the list of those; the thread must not find it there. */
static void test_flush_of_a_table_that_owes(void **state) {
    struct keyspace *ks = keyspace_at(0);
    for (int lazily = 0; lazily < 2; lazily++) {
        fill(20000);
        for (unsigned i = 200; i < 20000; i++) unlink_key(i);
        assert_true(keys_stats(ks).owes);
        assert_true(table_any_payable());
        assert_int_equal(lazily ? told_flush_lazily(ks) : told_flush(ks), 200);
        assert_false(table_any_payable());
        assert_false(keyspace_maintain(10));
        background_drain(&background_free);
    }
}

/* The process may end while values wait: all of them are freed first. */
static void test_end_while_pending(void **state) {
    hold_thread_up();
    fill(3000);
    told_flush_lazily(keyspace_at(0));
    store_zeros(1, 1 << 20);
    unlink_key(1);
    assert_true(lazyfree_pending_bytes() > 1 << 20);
    atomic_store(&going_on, true);
    background_stop();
    assert_int_equal(lazyfree_pending_bytes(), 0);
}

static int begin(void **state) {
    lazyfree_register();
    value_register();
    return keys_open();
}

static int end(void **state) {
    background_stop();
    return 0;
}

/* A test that failed may have left the thread held up. */
static int nothing_left(void **state) {
    let_thread_go();
    return keys_nothing_left(state);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, keys_begin, nothing_left)

int main(void) {
    int by_slot = keys_in_both_forms();
    const struct CMUnitTest tests[] = {
        TEST(test_pending_bytes_of_values),
        TEST(test_pending_is_bounded),
        TEST(test_limbo_comes_first),
        TEST(test_flush_and_refill),
        TEST(test_flush_at_once),
        TEST(test_flush_of_a_table_that_owes),
        TEST(test_lists_and_streams),
        TEST(test_steps_are_bounded),
        TEST(test_values_of_no_key),
        TEST(test_end_while_pending),
        TEST(test_steps_of_the_main_thread),
        TEST(test_queue_goes_to_the_thread),
        TEST(test_slices_of_what_is_not_lazy),
        TEST(test_background_helps),
        TEST(test_queues_are_bounded),
        TEST(test_as_much_as_is_added),
        TEST(test_steps_of_others),
    };
    return by_slot + cmocka_run_group_tests(tests, begin, end);
}
