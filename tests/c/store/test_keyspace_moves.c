/* SPDX-License-Identifier: BSD-3-Clause
 * What moves and walks over entries: renaming, moving, copying, swapping, scanning, random keys,
 * flushing in the background, digests. */
#include "store/keyspace.h"
#include "store/told.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/random.h"
#include "ds/table.h"
#include "io/background.h"
#include "metric/metric.h"
#include "option/option.h"
#include "store/both_forms.h"
#include "store/digest.h"
#include "store/lazyfree.h"
#include "value/types.h"

#define NOW_MSEC 1000000
#define LARGE_BYTES (4 * LAZYFREE_VALUE_BYTES_MIN)

static uint64_t hash_of(struct slice key) { return key_hash_of(key); }

static struct entry *find(struct keyspace *ks, const char *key) {
    return told_find(ks, slice_of(key), hash_of(slice_of(key)));
}

static struct entry *put(struct keyspace *ks, struct slice key, struct slice value,
                         int64_t deadline) {
    struct string_value v = string_value_of_text(value);
    uint64_t hash = hash_of(key);
    return told_store(ks, key, hash, told_find(ks, key, hash), &v, deadline);
}

static void put_number(struct keyspace *ks, int number, int64_t deadline) {
    char key[32];
    int length = snprintf(key, sizeof(key), "key:%d", number);
    put(ks, (struct slice){key, (size_t)length}, SLICE("v"), deadline);
}

static void assert_value(struct keyspace *ks, const char *key, struct slice value) {
    struct entry *e = find(ks, key);
    char scratch[ENTRY_STRING_SCRATCH];
    assert_non_null(e);
    assert_true(slice_equal(entry_string(e, scratch), value));
    keyspace_check(ks);
}

static int setup(void **state) {
    clock_use_fixed(NOW_MSEC * 1000, 1);
    clock_refresh();
    for (int i = 0; i < keyspace_databases(); i++) told_flush(keyspace_at(i));
    return 0;
}

static int group_setup(void **state) {
    const char *seed = getenv("SEED");
    uint64_t value = seed ? strtoull(seed, NULL, 10) : (uint64_t)clock_wall_usec();
    print_message("SEED=%llu\n", (unsigned long long)value);
    random_seed(value);
    keyspace_register();
    lazyfree_register();
    keyspace_partition(keys_by_slot);
    keyspace_open();
    return 0;
}

static int group_teardown(void **state) {
    setup(state);
    background_stop();
    option_reset_all();
    metric_forget_all();
    return 0;
}

/* Texts of every form, short and long keys, with and without a deadline. */
static void each_form(void (*check)(struct slice key, struct slice value, int64_t deadline)) {
    static const int64_t deadlines[] = {ENTRY_NO_DEADLINE, NOW_MSEC + 5000};
    char *large = malloc(LARGE_BYTES), long_key[400];
    memset(large, 'x', LARGE_BYTES);
    memset(long_key, 'k', sizeof(long_key));
    struct slice keys[] = {SLICE(""), SLICE("short"), {long_key, sizeof(long_key)}};
    struct slice values[] = {SLICE(""),     SLICE("12345"), SLICE("text"),
                             {large, 1000}, {large, 2000},  {large, LARGE_BYTES}};
    for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++)
        for (size_t v = 0; v < sizeof(values) / sizeof(values[0]); v++)
            for (size_t d = 0; d < 2; d++) check(keys[k], values[v], deadlines[d]);
    free(large);
}

static void check_rename(struct slice key, struct slice value, int64_t deadline) {
    struct keyspace *ks = keyspace_at(0);
    for (int taken = 0; taken < 2; taken++) {
        told_flush(ks);
        struct entry *e = put(ks, key, value, deadline);
        enum string_encoding encoding = e->encoding;
        e->recency = 77;
        if (taken) put(ks, SLICE("new"), SLICE("old value"), NOW_MSEC + 1);
        e = told_rename(ks, e, hash_of(key), SLICE("new"), hash_of(SLICE("new")));
        assert_ptr_equal(e, find(ks, "new"));
        assert_value(ks, "new", value);
        assert_int_equal(e->encoding, encoding);
        assert_int_equal(e->recency, 77);
        assert_int_equal(entry_deadline(e), deadline);
        assert_int_equal(keyspace_count(ks), 1);
        assert_int_equal(keyspace_count_volatile(ks), deadline != ENTRY_NO_DEADLINE);
    }
}

static void test_rename(void **state) { each_form(check_rename); }

static void check_copy(struct slice key, struct slice value, int64_t deadline) {
    struct keyspace *ks = keyspace_at(0), *other = keyspace_at(1);
    told_flush(ks);
    told_flush(other);
    struct entry *e = put(ks, key, value, deadline);
    put(ks, SLICE("copy"), SLICE("old value"), NOW_MSEC + 1);
    struct entry *copy = told_copy(ks, SLICE("copy"), hash_of(SLICE("copy")), e);
    struct entry *far = told_copy(other, key, hash_of(key), e);
    assert_int_equal(copy->encoding, e->encoding);
    assert_int_equal(entry_deadline(copy), deadline);
    assert_int_equal(entry_deadline(far), deadline);
    assert_true(told_delete(ks, key, hash_of(key)));
    assert_value(ks, "copy", value);
    char scratch[ENTRY_STRING_SCRATCH];
    assert_true(slice_equal(entry_string(far, scratch), value));
    assert_int_equal(keyspace_count(ks), 1);
    assert_int_equal(keyspace_count(other), 1);
    assert_int_equal(keyspace_count_volatile(other), deadline != ENTRY_NO_DEADLINE);
    keyspace_check(other);
}

static void test_copy(void **state) { each_form(check_copy); }

static void check_move(struct slice key, struct slice value, int64_t deadline) {
    struct keyspace *from = keyspace_at(0), *to = keyspace_at(1);
    told_flush(from);
    told_flush(to);
    struct entry *e = put(from, key, value, deadline);
    told_move(from, e, hash_of(key), to);
    assert_int_equal(keyspace_count(from) + keyspace_count_volatile(from), 0);
    assert_ptr_equal(told_find(to, key, hash_of(key)), e);
    assert_int_equal(keyspace_count_volatile(to), deadline != ENTRY_NO_DEADLINE);
    keyspace_swap(from, to);
    assert_ptr_equal(told_find(from, key, hash_of(key)), e);
    assert_int_equal(keyspace_count(to), 0);
    keyspace_check(from);
    keyspace_check(to);
}

static void test_move_and_swap(void **state) { each_form(check_move); }

/* ---- walks ---- */

#define KEYS 3000
static int visits[KEYS];

static void count_visit(struct entry *e, void *context) {
    struct slice key = entry_key(e);
    visits[strtol(key.bytes + strlen("key:"), NULL, 10)]++;
}

/* Every third key is due. */
static struct keyspace *fill(void) {
    struct keyspace *ks = keyspace_at(0);
    for (int i = 0; i < KEYS; i++)
        put_number(ks, i,
                   i % 3 == 0   ? NOW_MSEC + 10
                   : i % 3 == 1 ? NOW_MSEC + 100
                                : ENTRY_NO_DEADLINE);
    memset(visits, 0, sizeof(visits));
    clock_advance_usec(50000);
    clock_refresh();
    return ks;
}

static void test_each_hides_due_keys(void **state) {
    struct keyspace *ks = fill();
    keyspace_each(ks, count_visit, NULL);
    for (int i = 0; i < KEYS; i++) assert_int_equal(visits[i], i % 3 != 0);
    assert_int_equal(keyspace_count(ks), KEYS);
}

static void test_scan_deletes_due_keys(void **state) {
    struct keyspace *ks = fill();
    uint64_t cursor = 0;
    do {
        cursor = keyspace_scan(ks, cursor, SIZE_MAX, count_visit, NULL);
        keyspace_maintain(3); /* the table shrinks while the scan goes on */
    } while (cursor);
    for (int i = 0; i < KEYS; i++) assert_int_equal(visits[i] > 0, i % 3 != 0);
    assert_int_equal(keyspace_count(ks), KEYS - KEYS / 3);
    keyspace_check(ks);
}

static void test_random(void **state) {
    struct keyspace *ks = fill();
    for (int i = 0; i < 20 * KEYS; i++) count_visit(keyspace_random(ks), NULL);
    for (int i = 0; i < KEYS; i++) assert_int_equal(visits[i] > 0, i % 3 != 0);
}

/* One key among many that are due is found; then there is none. */
static void test_random_among_due_keys(void **state) {
    struct keyspace *ks = keyspace_at(0);
    for (int i = 0; i < KEYS; i++) put_number(ks, i, NOW_MSEC + 10);
    put(ks, SLICE("live"), SLICE("v"), NOW_MSEC + 1000);
    clock_advance_usec(50000);
    clock_refresh();
    for (int i = 0; i < 5; i++) assert_ptr_equal(keyspace_random(ks), find(ks, "live"));
    assert_true(told_delete(ks, SLICE("live"), hash_of(SLICE("live"))));
    assert_null(keyspace_random(ks));
    assert_null(keyspace_random(keyspace_at(1)));
    keyspace_check(ks);
}

/* ---- freeing in the background ---- */

static size_t info_number(const char *field) {
    struct buffer text;
    buffer_init(&text, MEMORY_OTHER);
    metric_print(SLICE("Memory"), &text);
    const char *at = strstr(text.bytes, field);
    size_t value = at ? strtoul(at + strlen(field) + 1, NULL, 10) : SIZE_MAX;
    buffer_free(&text);
    return value;
}

static void set_option(const char *name, const char *value) {
    char reason[OPTION_REASON_BYTES];
    struct slice word = slice_of(value);
    assert_true(option_set(option_find(slice_of(name)), &word, 1, OPTION_FROM_CONFIG_SET, reason,
                           sizeof(reason)));
}

static void test_flush_in_the_background(void **state) {
    size_t freed = info_number("lazyfreed_objects"), used = memory_used(MEMORY_DATASET);
    struct keyspace *ks = fill();
    assert_int_equal(told_flush_lazily(ks), KEYS);
    assert_int_equal(keyspace_count(ks) + keyspace_count_volatile(ks), 0);
    put_number(ks, 1, NOW_MSEC + 1000);
    assert_int_equal(told_flush_lazily(ks), 1);
    assert_int_equal(told_flush_lazily(ks), 0);
    background_drain(&background_free);
    assert_int_equal(info_number("lazyfree_pending_objects"), 0);
    assert_int_equal(info_number("lazyfreed_objects"), freed + KEYS + 1);
    assert_int_equal(memory_used(MEMORY_DATASET), used);
}

/* Each way to lose a large value, and the option that sends it to the background. */
static void test_large_values(void **state) {
    static const char *const options[] = {NULL, "lazyfree-lazy-expire", "lazyfree-lazy-server-del",
                                          "lazyfree-lazy-server-del", "lazyfree-lazy-server-del"};
    struct keyspace *ks = keyspace_at(0);
    size_t used = memory_used(MEMORY_DATASET);
    char *large = calloc(1, LARGE_BYTES);
    struct slice key = SLICE("k"), text = {large, LARGE_BYTES};
    for (int way = 0; way < 5; way++) {
        for (int lazily = 0; lazily < 2; lazily++) {
            size_t freed = info_number("lazyfreed_objects");
            if (options[way]) set_option(options[way], lazily ? "yes" : "no");
            put(ks, key, text, way == 1 ? NOW_MSEC : ENTRY_NO_DEADLINE);
            if (way == 0) assert_true(told_delete_with(ks, key, hash_of(key), lazily));
            if (way == 1) assert_null(find(ks, "k"));
            if (way == 2) assert_true(told_delete(ks, key, hash_of(key)));
            if (way == 3) put(ks, key, SLICE("small"), ENTRY_NO_DEADLINE);
            if (way == 4) {
                struct entry *e = put(ks, SLICE("other"), SLICE("small"), ENTRY_NO_DEADLINE);
                told_rename(ks, e, hash_of(SLICE("other")), key, hash_of(key));
            }
            background_drain(&background_free);
            assert_int_equal(info_number("lazyfreed_objects"), freed + (size_t)lazily);
            if (options[way]) set_option(options[way], "no");
            told_flush(ks);
        }
    }
    told_flush(ks);
    assert_true(memory_used(MEMORY_DATASET) < used + LAZYFREE_VALUE_BYTES_MIN);
    free(large);
}

static void test_small_values_stay_here(void **state) {
    struct keyspace *ks = keyspace_at(0);
    size_t freed = info_number("lazyfreed_objects");
    put(ks, SLICE("k"), SLICE("v"), ENTRY_NO_DEADLINE);
    assert_true(told_delete_with(ks, SLICE("k"), hash_of(SLICE("k")), true));
    background_drain(&background_free);
    assert_int_equal(info_number("lazyfreed_objects"), freed);
}

/* ---- digests ---- */

static bool digests_equal(const unsigned char *a, const unsigned char *b) {
    return memcmp(a, b, SHA1_BYTES) == 0;
}

static void test_digest(void **state) {
    static const unsigned char zero[SHA1_BYTES];
    unsigned char a[SHA1_BYTES], b[SHA1_BYTES];
    struct keyspace *ks = keyspace_at(0);
    digest_all(a);
    assert_true(digests_equal(a, zero));
    for (int i = 0; i < 500; i++) put_number(ks, i, ENTRY_NO_DEADLINE);
    digest_all(a);
    told_flush(ks);
    for (int i = 499; i >= 0; i--) put_number(ks, i, ENTRY_NO_DEADLINE);
    put(ks, SLICE("due"), SLICE("v"), NOW_MSEC);
    digest_all(b);
    assert_true(digests_equal(a, b));
    keyspace_swap(ks, keyspace_at(1));
    digest_all(b);
    assert_false(digests_equal(a, b));
    keyspace_swap(ks, keyspace_at(1));
    put_number(ks, 7, NOW_MSEC + 1000);
    digest_all(b);
    assert_false(digests_equal(a, b));
    put_number(ks, 7, ENTRY_NO_DEADLINE);
    digest_all(b);
    assert_true(digests_equal(a, b));
}

static void test_digest_of_values(void **state) {
    unsigned char a[SHA1_BYTES], b[SHA1_BYTES];
    struct keyspace *ks = keyspace_at(0);
    digest_value(put(ks, SLICE("a"), SLICE("123"), ENTRY_NO_DEADLINE), a);
    struct string_value raw = string_value_raw(SLICE("123"));
    struct entry *e =
        told_store(ks, SLICE("b"), hash_of(SLICE("b")), NULL, &raw, ENTRY_NO_DEADLINE);
    assert_int_equal(e->encoding, STRING_RAW);
    digest_value(e, b);
    assert_true(digests_equal(a, b));
    digest_value(put(ks, SLICE("a"), SLICE("124"), ENTRY_NO_DEADLINE), b);
    assert_false(digests_equal(a, b));
    digest_value(put(ks, SLICE("a"), SLICE("123"), NOW_MSEC + 5), b);
    assert_false(digests_equal(a, b));
}

int main(void) {
    int by_slot = keys_in_both_forms();
    value_register();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_rename, setup),
        cmocka_unit_test_setup(test_copy, setup),
        cmocka_unit_test_setup(test_move_and_swap, setup),
        cmocka_unit_test_setup(test_each_hides_due_keys, setup),
        cmocka_unit_test_setup(test_scan_deletes_due_keys, setup),
        cmocka_unit_test_setup(test_random, setup),
        cmocka_unit_test_setup(test_random_among_due_keys, setup),
        cmocka_unit_test_setup(test_flush_in_the_background, setup),
        cmocka_unit_test_setup(test_large_values, setup),
        cmocka_unit_test_setup(test_small_values_stay_here, setup),
        cmocka_unit_test_setup(test_digest, setup),
        cmocka_unit_test_setup(test_digest_of_values, setup),
    };
    return by_slot + cmocka_run_group_tests(tests, group_setup, group_teardown);
}
