/* SPDX-License-Identifier: BSD-3-Clause
 * The limbo: when what is retired is freed, and that entries outlive all that nested calls do.
 *
 * Each of the latter tests holds a text that stands in an entry, takes the entry away in a nested
 * call, and then stores many entries of the same size: had its memory been freed, or been written
 * to where it stands, the text would not be the same.
 */
#include "store/limbo.h"

#include "io/background.h"
#include "metric/cause.h"
#include "store/keys.h"
#include "store/lazyfree.h"
#include "value/types.h"

/* ---- the limbo itself ---- */

static int released;

static void count_release(void *block) {
    released++;
    memory_free(block, MEMORY_DATASET);
}

static void *some_block(void) { return memory_alloc(100, MEMORY_DATASET); }

static void test_without_a_call(void **state) {
    released = 0;
    limbo_retire(some_block(), 100, count_release);
    assert_int_equal(released, 1);
    assert_int_equal(limbo_bytes(), 0);
    limbo_checkpoint();
}

static void test_outermost_end(void **state) {
    released = 0;
    assert_false(limbo_is_open());
    limbo_enter();
    assert_true(limbo_is_open());
    assert_false(limbo_nested());
    limbo_retire(some_block(), 100, count_release);
    limbo_enter();
    assert_true(limbo_nested());
    limbo_retire(some_block(), 50, count_release);
    limbo_leave();
    assert_int_equal(released, 0);
    assert_int_equal(limbo_bytes(), 150);
    limbo_retire(some_block(), 1, count_release);
    limbo_leave();
    assert_int_equal(released, 3);
    assert_int_equal(limbo_bytes(), 0);
    assert_false(limbo_is_open());
}

static size_t largest;
static void note_size(size_t bytes) {
    if (bytes > largest) largest = bytes;
}

/* Each of many is released once, and no step of its own is larger than 64 KiB. */
static void test_many(void **state) {
    enum { MANY = 20000 };
    const struct memory_hook hook = {note_size, note_size};
    size_t used = memory_used_total();
    for (int round = 0; round < 3; round++) {
        released = 0;
        largest = 0;
        memory_set_hook(&hook);
        limbo_enter();
        for (int i = 0; i < MANY; i++) limbo_retire(some_block(), 112, count_release);
        assert_in_range(limbo_bytes(), MANY * 112, MANY * (112 + 20));
        assert_int_equal(released, 0);
        limbo_leave();
        memory_set_hook(NULL);
        assert_int_equal(released, MANY);
        assert_int_equal(limbo_bytes(), 0);
        assert_int_equal(memory_used_total(), used);
        assert_true(largest <= 65536);
    }
}

static void test_checkpoint(void **state) {
    released = 0;
    limbo_enter();
    limbo_retire(some_block(), 100, count_release);
    limbo_checkpoint(); /* not worth it */
    assert_int_equal(released, 0);
    limbo_enter();
    limbo_retire(some_block(), 1 << 20, count_release);
    limbo_checkpoint(); /* a call around it may hold pointers */
    assert_int_equal(released, 0);
    limbo_leave();
    limbo_checkpoint();
    assert_int_equal(released, 2);
    for (int i = 0; i < 1000; i++) {
        limbo_retire(some_block(), 0, count_release);
        limbo_checkpoint();
        assert_in_range(i + 3 - released, 0, 64);
    }
    limbo_leave();
    assert_int_equal(released, 1002);
}

static struct cause calling = {.name = "calling", .place = 10};

static void take_a_millisecond(void *block) { clock_advance_usec(1000); }

/* The time that it takes to free much is freeing's, and that of little its command's. */
static void test_cause(void **state) {
    static const struct {
        size_t bytes;
        struct cause *cause;
    } cases[] = {{65535, &calling}, {65536, &freeing_cause}, {1 << 30, &freeing_cause}};
    cause_register(&calling);
    lazyfree_register();
    const struct cause *before = cause_enter(&calling, clock_monotonic_nsec());
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        cause_enter(&calling, clock_monotonic_nsec());
        cause_reset();
        limbo_enter();
        limbo_retire(NULL, cases[i].bytes, take_a_millisecond);
        clock_advance_usec(100);
        limbo_leave();
        clock_advance_usec(10);
        assert_ptr_equal(cause_enter(&cause_other, clock_monotonic_nsec()), &calling);
        for (unsigned c = 0; c < cause_count(); c++)
            assert_int_equal(cause_nsec(cause_at(c)),
                             (cause_at(c) == cases[i].cause ? 1000000 : 0) +
                                 (cause_at(c) == &calling ? 110000 : 0));
    }
    cause_leave(before, clock_monotonic_nsec());
}

/* ---- entries ---- */

enum way {
    DELETE,
    DELETE_LAZILY,
    EXPIRE,
    SET_AS_LONG,
    SET_LONGER,
    SET_INTEGER,
    WRITE_BYTES,
    GROW,
    RENAME_AWAY,
    RENAME_OVER,
    COPY_OVER,
    MOVE,
    FLUSH,
    FLUSH_LAZILY,
    DEADLINE,
    WAYS
};

static char longer[100000];

static void store_text(struct keyspace *ks, struct slice key, struct slice text) {
    struct string_value v = string_value_raw(text);
    struct entry *existing = told_find(ks, key, key_hash(key));
    told_store(ks, key, key_hash(key), existing, &v, ENTRY_NO_DEADLINE);
}

static void write_over(struct keyspace *ks, struct slice key, struct entry *e, size_t length) {
    size_t old = e->flags & ENTRY_BLOB ? entry_blob(e)->length : e->value_length;
    char *bytes = told_bytes(ks, key, key_hash(key), e, length);
    memset(bytes, '#', length < old ? length : old);
}

/* What the nested call does to `key`. */
static void take_away(enum way way, struct keyspace *ks, struct slice key, size_t length) {
    const struct slice other = SLICE("other"), nine = SLICE("9");
    uint64_t hash = key_hash(key);
    struct entry *e = told_find(ks, key, hash);
    memset(longer, '#', sizeof(longer));
    switch (way) {
    case DELETE: assert_true(told_delete(ks, key, hash)); break;
    case DELETE_LAZILY: assert_true(told_delete_with(ks, key, hash, true)); break;
    case EXPIRE:
        told_deadline(ks, e, hash, START_MSEC - 1);
        assert_null(told_find(ks, key, hash));
        break;
    case SET_AS_LONG: store_text(ks, key, (struct slice){longer, length}); break;
    case SET_LONGER: store_text(ks, key, (struct slice){longer, sizeof(longer)}); break;
    case SET_INTEGER: store_text(ks, key, nine); break;
    case WRITE_BYTES: write_over(ks, key, e, length); break;
    case GROW: write_over(ks, key, e, 3 * length); break;
    case RENAME_AWAY:
        e = told_rename(ks, e, hash, other, key_hash(other));
        write_over(ks, other, e, length);
        break;
    case RENAME_OVER:
        store_text(ks, other, nine);
        e = told_find(ks, other, key_hash(other));
        told_rename(ks, e, key_hash(other), key, hash);
        break;
    case COPY_OVER:
        store_text(ks, other, nine);
        told_copy(ks, key, hash, told_find(ks, other, key_hash(other)));
        break;
    case MOVE:
        told_move(ks, e, hash, keyspace_at(1));
        assert_true(told_delete(keyspace_at(1), key, hash));
        break;
    case FLUSH: told_flush(ks); break;
    case FLUSH_LAZILY: told_flush_lazily(ks); break;
    case DEADLINE:
        e = told_deadline(ks, e, hash, START_MSEC + 1000);
        e = told_deadline(ks, e, hash, ENTRY_NO_DEADLINE);
        write_over(ks, key, e, length);
        break;
    default: fail();
    }
}

/* Entries and values of this one's size, so that what was freed is used again. */
static void use_memory_again(size_t length) {
    struct keyspace *ks = keyspace_at(2);
    char name[32];
    for (int i = 0; i < 40; i++) {
        struct slice key = {name, (size_t)snprintf(name, sizeof(name), "again:%d", i)};
        store_text(ks, key, (struct slice){longer, length});
    }
}

static void check_way(enum way way, size_t length) {
    struct keyspace *ks = keyspace_at(0);
    const struct slice key = SLICE("again:k");
    char *original = memory_alloc(length, MEMORY_OTHER);
    memset(original, 'a' + (int)way, length);
    store_text(ks, key, (struct slice){original, length});

    limbo_enter();
    struct entry *held = told_find(ks, key, key_hash(key));
    struct slice text = entry_string(held, NULL);
    limbo_enter();
    take_away(way, ks, key, length);
    limbo_leave();
    use_memory_again(length);
    assert_int_equal(entry_key(held).length, key.length);
    assert_memory_equal(entry_key(held).bytes, key.bytes, key.length);
    assert_memory_equal(text.bytes, original, length);
    size_t used = memory_used(MEMORY_DATASET), gone = limbo_bytes();
    assert_true(gone > 0);
    bool lazily = way == DELETE_LAZILY || way == FLUSH_LAZILY;
    limbo_leave();
    if (!lazily) assert_int_equal(memory_used(MEMORY_DATASET), used - gone);

    memory_free(original, MEMORY_OTHER);
    for (int i = 0; i < 3; i++) {
        keyspace_check(keyspace_at(i));
        told_flush(keyspace_at(i));
    }
    background_drain(&background_free);
}

static void test_entries_outlive_nested_calls(void **state) {
    static const size_t lengths[] = {4, 30, 1000, 2000, 70000};
    for (int way = 0; way < WAYS; way++)
        for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
            check_way((enum way)way, lengths[i]);
}

/* The outermost call itself changes values where they stand, as without a limbo. */
static void test_outermost_changes_in_place(void **state) {
    struct keyspace *ks = keyspace_at(0);
    store_text(ks, SLICE("k"), SLICE("0123456789"));
    limbo_enter();
    struct entry *e = told_find(ks, SLICE("k"), key_hash(SLICE("k")));
    store_text(ks, SLICE("k"), SLICE("abcdefghij"));
    assert_ptr_equal(told_find(ks, SLICE("k"), key_hash(SLICE("k"))), e);
    assert_int_equal(limbo_bytes(), 0);
    limbo_leave();
}

/* ---- many calls, at random ---- */

enum { HELD = 64, NAMES = 12, DEPTH = 4 };

struct hold {
    struct slice text;
    char *copy;
};

/* A call: it looks keys up and remembers what it saw, runs calls within, changes keys last. */
static void random_call(unsigned depth) {
    struct hold holds[HELD];
    size_t held = 0;
    limbo_enter();
    for (int i = 0; i < 8; i++) {
        unsigned number = (unsigned)random_below(NAMES);
        struct keyspace *ks = keyspace_at((int)random_below(2));
        struct entry *e = key_find(ks, number);
        if (e && e->encoding != STRING_INT && held < HELD) {
            struct hold *h = &holds[held++];
            h->text = entry_string(e, NULL);
            h->copy = memory_alloc(h->text.length, MEMORY_OTHER);
            memcpy(h->copy, h->text.bytes, h->text.length);
        }
        if (depth < DEPTH && random_below(3) == 0) random_call(depth + 1);
    }
    for (size_t i = 0; i < held; i++) {
        assert_memory_equal(holds[i].text.bytes, holds[i].copy, holds[i].text.length);
        memory_free(holds[i].copy, MEMORY_OTHER);
    }
    struct key_text name;
    struct slice key = key_of(&name, (unsigned)random_below(NAMES));
    struct keyspace *ks = keyspace_at((int)random_below(2));
    enum way way = (enum way)random_below(WAYS);
    size_t length = 1 + random_below(2) * 1500 + random_below(90);
    if (way == MOVE || way == RENAME_OVER || way == COPY_OVER) way = SET_AS_LONG;
    if (random_below(3) == 0 || !told_find(ks, key, key_hash(key))) {
        memset(longer, 'a' + (int)random_below(26), length);
        store_text(ks, key, (struct slice){longer, length});
    } else {
        take_away(way, ks, key, length);
    }
    limbo_leave();
}

static void test_random_calls(void **state) {
    for (int i = 0; i < 1500; i++) {
        random_call(1);
        assert_int_equal(limbo_bytes(), 0);
        if (i % 100 == 0) keyspace_check(keyspace_at(0));
    }
    background_drain(&background_free);
}

static int begin(void **state) { return keys_open(); }

static int end(void **state) {
    background_stop();
    return 0;
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, keys_begin, keys_nothing_left)

int main(void) {
    int by_slot = keys_in_both_forms();
    value_register();
    const struct CMUnitTest tests[] = {
        TEST(test_without_a_call),
        TEST(test_outermost_end),
        TEST(test_many),
        TEST(test_checkpoint),
        TEST(test_cause),
        TEST(test_entries_outlive_nested_calls),
        TEST(test_outermost_changes_in_place),
        TEST(test_random_calls),
    };
    return by_slot + cmocka_run_group_tests(tests, begin, end);
}
