/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of store/key_table: by steps, and against a plain array of who is interested in what.
 *
 * SEED=n runs the same random choices again; each run prints its seed.
 */
#include "store/key_table.h"

#include "base/random.h"
#include "store/keys.h"

#define KEYS 40
#define DATABASES 4
#define LINKS 200
#define ROUNDS 20000

struct row {
    struct key_row key;
    int own;
};

struct interest {
    struct list_link link;
    struct row *row; /* NULL = none */
};

static struct key_table keys = {.row_bytes = sizeof(struct row)};
static size_t other_before;

static struct row *find(int database, unsigned number) {
    struct key_text text;
    struct slice name = key_of(&text, number);
    return key_table_find(&keys, &(struct key){keyspace_at(database), name, key_hash(name)});
}

static struct row *find_or_create(int database, unsigned number) {
    struct key_text text;
    struct slice name = key_of(&text, number);
    struct row *row = find(database, number);
    return row ? row
               : key_table_create(&keys,
                                  &(struct key){keyspace_at(database), name, key_hash(name)});
}

static void begin_interest(struct interest *i, int database, unsigned number) {
    i->row = find_or_create(database, number);
    key_table_link(&i->row->key, &i->link);
}

static void end_interest(struct interest *i) {
    key_table_unlink(&i->row->key, &i->link);
    if (!i->row->key.links_count) key_table_free(&keys, &i->row->key);
    i->row = NULL;
}

static void count_row(void *row, void *context) { ++*(size_t *)context; }

static size_t count_of(int database) {
    size_t count = 0;
    key_table_each(&keys, database, count_row, &count);
    return count;
}

static void test_none(void **state) {
    assert_int_equal(key_table_count(&keys), 0);
    assert_null(find(0, 1));
    assert_int_equal(count_of(0), 0);
    key_table_check(&keys);
}

static void test_a_row(void **state) {
    struct key_text text;
    struct slice name = key_of(&text, 8);
    struct row *row = find_or_create(2, 8);
    assert_int_equal(row->own, 0);
    assert_true(slice_equal(row->key.name, name));
    assert_true(row->key.name.bytes != name.bytes);
    assert_int_equal(row->key.database, 2);
    assert_true(row->key.hash == key_hash(name));
    assert_ptr_equal(find(2, 8), row);
    assert_null(find(2, 9));
    key_table_check(&keys);
    key_table_free(&keys, &row->key);
    assert_null(find(2, 8));
    assert_int_equal(key_table_count(&keys), 0);
}

/* The same name in two databases is two keys, and a walk meets those of its database only. */
static void test_databases_are_apart(void **state) {
    struct interest i[3];
    begin_interest(&i[0], 0, 1);
    begin_interest(&i[1], 3, 1);
    begin_interest(&i[2], 3, 2);
    assert_ptr_not_equal(i[0].row, i[1].row);
    assert_int_equal(count_of(0), 1);
    assert_int_equal(count_of(1), 0);
    assert_int_equal(count_of(3), 2);
    end_interest(&i[1]);
    assert_int_equal(count_of(0), 1);
    assert_int_equal(count_of(3), 1);
    key_table_check(&keys);
    end_interest(&i[0]);
    end_interest(&i[2]);
}

static void test_links_keep_their_order(void **state) {
    struct interest i[5];
    int next = 0;
    for (int n = 0; n < 5; n++) begin_interest(&i[n], 0, 1);
    struct row *row = find(0, 1);
    assert_int_equal(row->key.links_count, 5);
    LIST_FOR_EACH (link, following, &row->key.links) assert_ptr_equal(link, &i[next++].link);
    assert_int_equal(next, 5);
    for (int n = 0; n < 5; n++) end_interest(&i[n]);
}

static void test_empty_name(void **state) {
    struct slice name = {NULL, 0};
    const struct key key = {keyspace_at(1), name, key_hash(name)};
    struct row *row = key_table_create(&keys, &key);
    assert_ptr_equal(key_table_find(&keys, &key), row);
    key_table_check(&keys);
    key_table_free(&keys, &row->key);
}

static unsigned interested[DATABASES][KEYS];

static void compare_with_model(void) {
    size_t all = 0;
    for (int database = 0; database < DATABASES; database++) {
        size_t present = 0;
        for (unsigned number = 0; number < KEYS; number++) {
            const struct row *row = find(database, number);
            assert_int_equal(row ? row->key.links_count : 0, interested[database][number]);
            present += row != NULL;
        }
        assert_int_equal(count_of(database), present);
        all += present;
    }
    assert_int_equal(key_table_count(&keys), all);
    key_table_check(&keys);
}

static struct {
    struct interest interest;
    int database;
    unsigned number;
} who[LINKS];

static void test_model(void **state) {
    for (int round = 0; round < ROUNDS; round++) {
        /* By turns few are interested, and many. */
        size_t n = random_below(round / 1000 % 2 ? 5 : LINKS);
        if (who[n].interest.row) {
            interested[who[n].database][who[n].number]--;
            end_interest(&who[n].interest);
        } else {
            who[n].database = (int)random_below(DATABASES);
            who[n].number = (unsigned)random_below(KEYS);
            interested[who[n].database][who[n].number]++;
            begin_interest(&who[n].interest, who[n].database, who[n].number);
        }
        if (round % 500 == 0) compare_with_model();
    }
    for (size_t n = 0; n < LINKS; n++)
        if (who[n].interest.row) end_interest(&who[n].interest);
}

/* All that is left is the array of tables. */
static int nothing_left(void **state) {
    size_t array = (size_t)keyspace_databases() * sizeof(struct table *);
    key_table_check(&keys);
    assert_int_equal(key_table_count(&keys), 0);
    assert_true(memory_used(MEMORY_OTHER) - other_before <= memory_good_size(array));
    return keys_nothing_left(state);
}

static int begin_all(void **state) {
    keys_open();
    other_before = memory_used(MEMORY_OTHER);
    return 0;
}

int main(void) {
    int by_slot = keys_in_both_forms();
#define TEST(function) cmocka_unit_test_setup_teardown(function, keys_begin, nothing_left)
    const struct CMUnitTest tests[] = {
        TEST(test_none),
        TEST(test_a_row),
        TEST(test_databases_are_apart),
        TEST(test_links_keep_their_order),
        TEST(test_empty_name),
        TEST(test_model),
    };
    return by_slot + cmocka_run_group_tests(tests, begin_all, NULL);
}
