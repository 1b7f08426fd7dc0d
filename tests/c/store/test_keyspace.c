/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of store/keyspace: against a model with a clock that is moved by hand, its counters, and
 * that nothing is left in memory when it is empty.
 *
 * SEED=n runs the same random choices again; each run prints its seed. The model is an array of
 * keys by number, each with its value's text and its deadline.
 */
#include "store/key_map.h"
#include "store/keyspace.h"

#include "ds/table.h"
#include "metric/metric.h"
#include "store/keys.h"

#define KEYS 400
#define STEPS 60000

struct model_key {
    bool there;
    struct buffer text;
    int64_t deadline;
};

struct trial {
    struct keyspace *ks;
    struct model_key keys[KEYS];
    int64_t now;
};

/* ---- The model ---- */

static bool model_has(const struct trial *trial, unsigned number) {
    const struct model_key *k = &trial->keys[number];
    return k->there && (k->deadline == ENTRY_NO_DEADLINE || k->deadline > trial->now);
}

static void random_text(struct buffer *text) {
    buffer_clear(text);
    if (random_below(4) == 0) {
        buffer_printf(text, "%lld", (long long)(int64_t)(random_u64() >> random_below(64)));
        return;
    }
    size_t length = random_below(random_below(8) ? 60 : 2500);
    for (size_t i = 0; i < length; i++) buffer_append_char(text, (char)('a' + random_below(26)));
}

static int64_t random_deadline(const struct trial *trial) {
    switch (random_below(4)) {
    case 0: return trial->now + (int64_t)(random_u64() >> (63 - random_below(62))) / 2;
    case 1: return trial->now - (int64_t)random_below(100); /* due at once */
    default: return trial->now + 1 + (int64_t)random_below(5000);
    }
}

static void check_entry(struct trial *trial, const struct entry *e, unsigned number) {
    char scratch[ENTRY_STRING_SCRATCH];
    assert_int_equal(e != NULL, model_has(trial, number));
    if (e == NULL) {
        trial->keys[number].there = false;
        return;
    }
    assert_true(slice_equal(entry_string(e, scratch), buffer_slice(&trial->keys[number].text)));
    assert_int_equal(entry_deadline(e), trial->keys[number].deadline);
}

/* ---- Steps ---- */

static void step_store(struct trial *trial, unsigned number, struct slice key) {
    struct model_key *k = &trial->keys[number];
    struct entry *existing = told_find(trial->ks, key, key_hash(key));
    check_entry(trial, existing, number);
    int64_t deadline = ENTRY_NO_DEADLINE;
    uint64_t choice = random_below(3);
    if (choice == 1) deadline = random_deadline(trial);
    if (choice == 2) deadline = KEYSPACE_KEEP_DEADLINE;
    random_text(&k->text);
    struct string_value v = random_below(4) ? string_value_of_text(buffer_slice(&k->text))
                                            : string_value_raw(buffer_slice(&k->text));
    uint64_t changes = keyspace_changes();
    struct entry *e = told_store(trial->ks, key, key_hash(key), existing, &v, deadline);
    assert_int_equal(keyspace_changes(), changes + 1);
    if (choice != 2 || !k->there) k->deadline = choice == 1 ? deadline : ENTRY_NO_DEADLINE;
    k->there = true;
    char scratch[ENTRY_STRING_SCRATCH];
    assert_true(slice_equal(entry_string(e, scratch), buffer_slice(&k->text)));
    assert_int_equal(entry_deadline(e), k->deadline);
}

static void step_deadline(struct trial *trial, unsigned number, struct slice key) {
    struct entry *e = told_find(trial->ks, key, key_hash(key));
    check_entry(trial, e, number);
    if (e == NULL) return;
    int64_t deadline = random_below(3) ? random_deadline(trial) : ENTRY_NO_DEADLINE;
    e = told_deadline(trial->ks, e, key_hash(key), deadline);
    trial->keys[number].deadline = deadline;
    assert_int_equal(entry_deadline(e), deadline);
}

static void step_delete(struct trial *trial, unsigned number, struct slice key) {
    assert_int_equal(told_delete(trial->ks, key, key_hash(key)), model_has(trial, number));
    trial->keys[number].there = false;
}

static void step_expire(struct trial *trial) {
    bool more = true;
    size_t before = keyspace_count(trial->ks), done = 0;
    int calls = 0;
    while (more) {
        done += keyspace_expire_due(trial->ks, trial->now, 1 + random_below(20), &more);
        assert_true(++calls < 10 * KEYS);
    }
    size_t due = 0;
    for (unsigned i = 0; i < KEYS; i++) {
        struct model_key *k = &trial->keys[i];
        if (!k->there || model_has(trial, i)) continue;
        k->there = false;
        due++;
    }
    assert_int_equal(done, due);
    assert_int_equal(keyspace_count(trial->ks), before - done);
    assert_int_equal(keyspace_due(trial->ks, trial->now), 0);
}

static void check_counts(struct trial *trial) {
    size_t keys = 0, volatiles = 0;
    int64_t earliest = INT64_MAX;
    for (unsigned i = 0; i < KEYS; i++) {
        const struct model_key *k = &trial->keys[i];
        keys += k->there;
        if (!k->there || k->deadline == ENTRY_NO_DEADLINE) continue;
        volatiles++;
        if (k->deadline < earliest) earliest = k->deadline;
    }
    assert_int_equal(keyspace_count(trial->ks), keys);
    assert_int_equal(keyspace_count_volatile(trial->ks), volatiles);
    assert_true(keyspace_next_deadline(trial->ks) <= earliest);
    assert_true(keyspace_due(trial->ks, trial->now) <= volatiles);
    assert_true(keyspace_average_ttl_msec(trial->ks) >= 0);
    keyspace_check(trial->ks);
}

static void step(struct trial *trial) {
    struct key_text name;
    unsigned number = (unsigned)random_below(KEYS);
    struct slice key = key_of(&name, number);
    switch (random_below(12)) {
    case 0:
        trial->now += (int64_t)random_below(random_below(8) ? 30 : 3000);
        clock_set_msec(trial->now);
        break;
    case 1: step_delete(trial, number, key); break;
    case 2:
    case 3: step_deadline(trial, number, key); break;
    case 4:
        if (random_below(20) == 0) step_expire(trial);
        break;
    case 5:
    case 6:
    case 7: step_store(trial, number, key); break;
    case 8:
        keyspace_prefetch_bucket(trial->ks, key_hash(key));
        keyspace_prefetch_entry(trial->ks, key_hash(key));
        check_entry(trial, told_read(trial->ks, key, key_hash(key)), number);
        break;
    default: check_entry(trial, told_find(trial->ks, key, key_hash(key)), number); break;
    }
}

static void test_model(void **state) {
    struct trial trial = {.ks = keyspace_at(3), .now = START_MSEC};
    for (unsigned i = 0; i < KEYS; i++) trial.keys[i].text.class = MEMORY_OTHER;
    for (int i = 0; i < STEPS; i++) {
        step(&trial);
        if (i % 500 == 0) check_counts(&trial);
        if (random_below(20000) == 0) {
            size_t count = keyspace_count(trial.ks);
            assert_int_equal(told_flush(trial.ks), count);
            for (unsigned k = 0; k < KEYS; k++) trial.keys[k].there = false;
        }
    }
    check_counts(&trial);
    for (unsigned i = 0; i < KEYS; i++) buffer_free(&trial.keys[i].text);
}

/* ---- Single promises ---- */

static void test_databases_are_apart(void **state) {
    assert_int_equal(keyspace_databases(), 16);
    for (int i = 0; i < 16; i++) {
        assert_int_equal(keyspace_index(keyspace_at(i)), i);
        assert_int_equal(keyspace_count(keyspace_at(i)), 0);
        assert_null(key_find(keyspace_at(i), 1));
        assert_false(told_delete(keyspace_at(i), SLICE("x"), key_hash(SLICE("x"))));
        assert_int_equal(keyspace_next_deadline(keyspace_at(i)), INT64_MAX);
    }
    key_store(keyspace_at(0), 1, SLICE("zero"), ENTRY_NO_DEADLINE);
    key_store(keyspace_at(15), 1, SLICE("last"), START_MSEC + 5);
    char scratch[ENTRY_STRING_SCRATCH];
    assert_true(slice_equal(entry_string(key_find(keyspace_at(0), 1), scratch), SLICE("zero")));
    assert_true(slice_equal(entry_string(key_find(keyspace_at(15), 1), scratch), SLICE("last")));
    assert_null(key_find(keyspace_at(1), 1));
    assert_int_equal(told_flush(keyspace_at(0)), 1);
    assert_int_equal(told_flush(keyspace_at(0)), 0);
    assert_int_equal(keyspace_count(keyspace_at(15)), 1);
}

static uint64_t counter(const char *name) {
    struct buffer out = {.class = MEMORY_OTHER};
    metric_print(SLICE("stats"), &out);
    const char *line = strstr(out.bytes, name);
    assert_non_null(line);
    uint64_t value = strtoull(line + strlen(name) + 1, NULL, 10);
    buffer_free(&out);
    return value;
}

static void test_hits_and_misses(void **state) {
    struct keyspace *ks = keyspace_at(0);
    struct key_text name;
    struct slice key = key_of(&name, 1);
    key_store(ks, 1, SLICE("v"), START_MSEC + 10);
    uint64_t hits = counter("keyspace_hits"), misses = counter("keyspace_misses");
    uint64_t expired = counter("expired_keys");
    assert_non_null(told_read(ks, key, key_hash(key)));
    assert_null(told_read(ks, SLICE("none"), key_hash(SLICE("none"))));
    told_find(ks, key, key_hash(key));
    assert_int_equal(counter("keyspace_hits"), hits + 1);
    assert_int_equal(counter("keyspace_misses"), misses + 1);
    assert_int_equal(keyspace_due(ks, START_MSEC), 0);
    clock_set_msec(START_MSEC + 9);
    assert_non_null(told_find(ks, key, key_hash(key)));
    clock_set_msec(START_MSEC + 10);
    assert_null(told_read(ks, key, key_hash(key)));
    assert_int_equal(counter("keyspace_misses"), misses + 2);
    assert_int_equal(counter("expired_keys"), expired + 1);
    assert_int_equal(keyspace_count(ks), 0);
    /* Ten seconds later all buckets that it may stand in have passed. */
    key_store(ks, 1, SLICE("v"), START_MSEC + 20);
    clock_set_msec(START_MSEC + 10000);
    assert_int_equal(keyspace_due(ks, START_MSEC + 10000), 1);
    assert_int_equal(told_flush(ks), 1);
    /* Deleting one that is due is its expiry, too. */
    key_store(ks, 1, SLICE("v"), START_MSEC + 10);
    assert_false(told_delete(ks, key, key_hash(key)));
    assert_int_equal(counter("expired_keys"), expired + 2);
}

static void test_recency(void **state) {
    struct keyspace *ks = keyspace_at(0);
    struct key_text name;
    struct slice key = key_of(&name, 1);
    struct entry *e = key_store(ks, 1, SLICE("v"), ENTRY_NO_DEADLINE);
    unsigned stored = e->recency;
    assert_int_equal(stored, (START_MSEC / 1000) & 0xffffff);
    clock_set_msec(START_MSEC + 7000);
    assert_int_equal(told_find(ks, key, key_hash(key))->recency, stored);
    assert_int_equal(told_read(ks, key, key_hash(key))->recency, stored + 7);
    /* Overwriting in place notes the access like storing anew. */
    clock_set_msec(START_MSEC + 9000);
    struct entry *same = key_store(ks, 1, SLICE("w"), ENTRY_NO_DEADLINE);
    assert_ptr_equal(same, e);
    assert_int_equal(same->recency, stored + 9);
}

static void test_average_ttl(void **state) {
    struct keyspace *ks = keyspace_at(0);
    assert_int_equal(keyspace_average_ttl_msec(ks), 0);
    for (unsigned i = 0; i < 100; i++) key_store(ks, i, SLICE("v"), START_MSEC + 5000);
    assert_int_equal(keyspace_average_ttl_msec(ks), 5000);
    for (unsigned i = 0; i < 100; i++) key_store(ks, 1000 + i, SLICE("v"), START_MSEC + 7000 + i);
    assert_int_equal(keyspace_average_ttl_msec(ks), 6024);
    for (unsigned i = 0; i < 100; i++) key_store(ks, i, SLICE("w"), START_MSEC + 9000);
    assert_int_equal(keyspace_average_ttl_msec(ks), 8024);
    key_store(ks, 0, SLICE("w"), ENTRY_NO_DEADLINE);
    keyspace_check(ks);
    for (unsigned i = 1; i < 100; i++) key_store(ks, i, SLICE("far"), INT64_MAX);
    assert_true(keyspace_average_ttl_msec(ks) > INT64_MAX / 200 * 99);
    keyspace_check(ks);
    told_flush(ks);
    key_store(ks, 0, SLICE("v"), START_MSEC + 5000);
    clock_set_msec(START_MSEC + 6000);
    assert_int_equal(keyspace_average_ttl_msec(ks), 0);
}

/* A large value is taken over as it is, and given back with its entry. */
static void test_blob_is_taken(void **state) {
    struct keyspace *ks = keyspace_at(0);
    struct key_text name;
    struct slice key = key_of(&name, 1);
    for (int i = 0; i < 3; i++) {
        struct blob *b = blob_create(50000, MEMORY_DATASET);
        memset(b->bytes, 'a' + i, 50000);
        b->length = 50000;
        struct string_value v = string_value_raw(blob_slice(b));
        v.blob = b;
        struct entry *existing = told_find(ks, key, key_hash(key));
        struct entry *e = told_store(ks, key, key_hash(key), existing, &v,
                                     i == 1 ? START_MSEC + 1 : ENTRY_NO_DEADLINE);
        assert_ptr_equal(entry_blob(e), b);
    }
    keyspace_check(ks);
}

static void test_memory_and_maintenance(void **state) {
    struct keyspace *ks = keyspace_at(0);
    for (unsigned i = 1; i <= 20000; i++) key_store(ks, i, SLICE("value"), START_MSEC + i);
    size_t entries = 0;
    for (unsigned i = 1; i <= 20000; i++) entries += entry_bytes(key_find(ks, i));
    assert_int_equal(memory_used(MEMORY_DATASET) - keys_dataset_before,
                     entries + keyspace_overhead_bytes());
    size_t full = keyspace_overhead_bytes();
    assert_int_equal(keyspace_table_bytes(ks), keys_stats(ks).bytes);
    for (unsigned i = 1; i <= 19990; i++) {
        struct key_text name;
        struct slice key = key_of(&name, i);
        assert_true(told_delete(ks, key, key_hash(key)));
    }
    int calls = 0;
    while (keyspace_maintain(100)) assert_true(++calls < 20000);
    /* The blocks that hold the tables' structs stay. */
    size_t groups = keys_by_slot ? (size_t)KEYS_SLOTS * 16384 : 0;
    assert_true(keyspace_overhead_bytes() < full / 4 + groups);
    keyspace_check(ks);
}

static void ignore(struct entry *e, void *context) {}

static size_t merges_of(const struct keyspace *ks) { return keys_stats(ks).merges; }

/* Who only looks at a table that owes shrinking pays a share: every eighth lookup a step, a draw
 * four, a position of a scan one; nobody where activerehashing is off. */
static void test_lookups_pay_a_share(void **state) {
    struct keyspace *ks = keyspace_at(0);
    struct slice no = SLICE("no"), yes = SLICE("yes");
    char reason[OPTION_REASON_BYTES];
    const struct option_row *row = option_find(SLICE("activerehashing"));
    for (unsigned i = 0; i < 20000; i++) key_store(ks, i, SLICE("value"), ENTRY_NO_DEADLINE);
    for (unsigned i = 1000; i < 20000; i++) {
        struct key_text name;
        struct slice key = key_of(&name, i);
        told_delete(ks, key, key_hash(key));
    }
    assert_true(keys_stats(ks).owes);
    size_t merges = merges_of(ks);
    for (unsigned i = 0; i < 800; i++) assert_non_null(key_find(ks, i));
    assert_int_equal(merges_of(ks), merges + 100);
    for (int i = 0; i < 10; i++) assert_non_null(keyspace_random(ks));
    assert_int_equal(merges_of(ks), merges + 140);
    uint64_t cursor = 0;
    for (int i = 0; i < 10; i++) cursor = keyspace_scan(ks, cursor, SIZE_MAX, ignore, NULL);
    assert_int_equal(merges_of(ks), merges + 150);
    assert_true(option_set(row, &no, 1, OPTION_FROM_CONFIG_SET, reason, sizeof(reason)));
    for (unsigned i = 0; i < 800; i++) key_find(ks, i);
    keyspace_random(ks);
    assert_false(keyspace_maintain(100));
    assert_int_equal(merges_of(ks), merges + 150);
    assert_true(option_set(row, &yes, 1, OPTION_FROM_CONFIG_SET, reason, sizeof(reason)));
    keyspace_check(ks);
}

static size_t largest_step;
static void note_step(size_t bytes) {
    if (bytes > largest_step) largest_step = bytes;
}

/* Growing, falling to a twentieth and growing again, with deadlines: nothing larger than 64 KiB is
 * allocated or freed. */
static void test_no_large_step(void **state) {
    enum { MANY = 300000 };
    const struct memory_hook hook = {note_step, note_step};
    struct keyspace *ks = keyspace_at(0);
    struct key_text name;
    largest_step = 0;
    memory_set_hook(&hook);
    for (int round = 0; round < 2; round++) {
        for (unsigned i = 1; i <= MANY; i++)
            key_store(ks, i, SLICE("value"), START_MSEC + 1 + (int64_t)random_below(1000000));
        for (unsigned i = MANY / 20; i <= MANY; i++) {
            struct slice key = key_of(&name, i);
            assert_true(told_delete(ks, key, key_hash(key)));
        }
        while (keyspace_maintain(1000)) continue;
    }
    told_flush(ks);
    memory_set_hook(NULL);
    assert_in_range(largest_step, 1, 65536);
}

static int begin(void **state) { return keys_open(); }

#define TEST(function) cmocka_unit_test_setup_teardown(function, keys_begin, keys_nothing_left)

int main(void) {
    int by_slot = keys_in_both_forms();
    const struct CMUnitTest tests[] = {
        TEST(test_model),
        TEST(test_databases_are_apart),
        TEST(test_hits_and_misses),
        TEST(test_recency),
        TEST(test_average_ttl),
        TEST(test_blob_is_taken),
        TEST(test_memory_and_maintenance),
        TEST(test_lookups_pay_a_share),
        TEST(test_no_large_step),
    };
    return by_slot + cmocka_run_group_tests(tests, begin, NULL);
}
