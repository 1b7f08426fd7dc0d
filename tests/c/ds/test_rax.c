/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of ds/rax: against a sorted array, steps while the tree changes, deep trees, bytes.
 *
 * SEED=n runs the same random choices again; each run prints its seed.
 */
#include "ds/rax.h"

#include "base/seed.h"

#include "base/memory.h"
#include "base/number.h"

static size_t used_before;

static int setup(void **state) {
    used_before = memory_used(MEMORY_DATASET);
    return 0;
}

static int teardown(void **state) {
    assert_int_equal(memory_used(MEMORY_DATASET), used_before);
    return 0;
}

/* ---- The model: a sorted array of keys ---- */

#define MODEL_MAX 2000
#define KEY_MAX 24

struct key {
    unsigned char bytes[KEY_MAX];
    size_t length;
    uintptr_t value;
};

struct model {
    struct rax *tree;
    struct key keys[MODEL_MAX + 1];
    size_t count;
};

static struct model m;

static struct slice slice_of_key(const struct key *k) {
    return (struct slice){(const char *)k->bytes, k->length};
}

/* How many keys are below this one. */
static size_t model_place(struct slice key) {
    size_t low = 0, high = m.count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (slice_compare(slice_of_key(&m.keys[middle]), key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool model_has(size_t place, struct slice key) {
    return place < m.count && slice_equal(slice_of_key(&m.keys[place]), key);
}

/* Three kinds of keys: of few letters, so that many are prefixes of others; stream IDs, which share
 * long prefixes; any bytes. */
static struct key random_key(void) {
    struct key k = {.value = random_u64()};
    uint64_t number = random_below(1000) << random_below(3) * 8;
    switch (random_below(3)) {
    case 0:
        k.length = random_below(8);
        for (size_t i = 0; i < k.length; i++) k.bytes[i] = "ab\0"[random_below(3)];
        break;
    case 1:
        k.length = 16;
        for (size_t i = 0; i < 8; i++) k.bytes[7 - i] = (unsigned char)(number >> (8 * i));
        k.bytes[15] = (unsigned char)random_below(4);
        break;
    default:
        k.length = random_below(3);
        for (size_t i = 0; i < k.length; i++) k.bytes[i] = (unsigned char)random_below(256);
    }
    return k;
}

static void assert_found(bool there, size_t place, const struct buffer *found, void *value) {
    assert_int_equal(there, place < m.count);
    if (!there) return;
    assert_true(slice_equal(buffer_slice(found), slice_of_key(&m.keys[place])));
    assert_int_equal((uintptr_t)value, m.keys[place].value);
}

static void check_seeks(struct slice key) {
    struct buffer found;
    void *value = NULL;
    size_t place = model_place(key), equal = model_has(place, key);
    buffer_init(&found, MEMORY_OTHER);
    bool there = rax_seek(m.tree, RAX_AT_LEAST, key, &found, &value);
    assert_found(there, place, &found, value);
    there = rax_seek(m.tree, RAX_ABOVE, key, &found, &value);
    assert_found(there, place + equal, &found, value);
    there = rax_seek(m.tree, RAX_AT_MOST, key, &found, &value);
    assert_found(there, equal ? place : place - 1, &found, value);
    there = rax_seek(m.tree, RAX_BELOW, key, &found, &value);
    assert_found(there, place - 1, &found, value);
    buffer_free(&found);
}

static void check_walks(void) {
    struct buffer key;
    void *value = NULL;
    size_t place = 0;
    buffer_init(&key, MEMORY_OTHER);
    bool there = rax_seek(m.tree, RAX_FIRST, SLICE(""), &key, &value);
    for (;; place++) {
        assert_found(there, place, &key, value);
        if (!there) break;
        there = rax_seek(m.tree, RAX_ABOVE, buffer_slice(&key), &key, &value);
    }
    there = rax_seek(m.tree, RAX_LAST, SLICE(""), &key, &value);
    for (place = m.count - 1;; place--) {
        assert_found(there, place, &key, value);
        if (!there) break;
        there = rax_seek(m.tree, RAX_BELOW, buffer_slice(&key), &key, &value);
    }
    buffer_free(&key);
    rax_check(m.tree);
    assert_int_equal(rax_count(m.tree), m.count);
    assert_int_equal(rax_bytes(m.tree), memory_used(MEMORY_DATASET) - used_before);
}

static void model_insert(struct key k) {
    struct slice key = slice_of_key(&k);
    size_t place = model_place(key);
    void *old = NULL;
    bool had = model_has(place, key);
    assert_int_equal(rax_insert(m.tree, key, (void *)k.value, &old), !had);
    if (had) {
        assert_int_equal((uintptr_t)old, m.keys[place].value);
    } else {
        memmove(&m.keys[place + 1], &m.keys[place], (m.count - place) * sizeof(k));
        m.count++;
    }
    m.keys[place] = k;
}

static void model_remove(struct slice key) {
    size_t place = model_place(key);
    void *old = NULL;
    bool had = model_has(place, key);
    assert_int_equal(rax_remove(m.tree, key, &old), had);
    if (!had) return;
    assert_int_equal((uintptr_t)old, m.keys[place].value);
    memmove(&m.keys[place], &m.keys[place + 1], (m.count - place - 1) * sizeof(m.keys[0]));
    m.count--;
}

static void count_released(void *value, void *context) { ++*(size_t *)context; }

static void test_model(void **state) {
    seed_from_environment();
    m.tree = rax_create();
    m.count = 0;
    check_walks();
    unsigned insert_percent = 0;
    for (size_t step = 0; step < 100000; step++) {
        if (step % 5000 == 0) insert_percent = 15 + (unsigned)random_below(75);
        struct key k = random_key();
        if (m.count < MODEL_MAX && random_below(100) < insert_percent) {
            model_insert(k);
        } else if (m.count > 0 && random_below(2)) {
            struct key there = m.keys[random_below(m.count)];
            model_remove(slice_of_key(&there));
        } else {
            model_remove(slice_of_key(&k));
        }
        k = random_key();
        void **value = rax_find(m.tree, slice_of_key(&k));
        size_t place = model_place(slice_of_key(&k));
        assert_int_equal(value != NULL, model_has(place, slice_of_key(&k)));
        if (value) assert_int_equal((uintptr_t)*value, m.keys[place].value);
        check_seeks(slice_of_key(&k));
        if (step % 1000 == 0) check_walks();
    }
    check_walks();
    size_t released = 0;
    rax_free(m.tree, count_released, &released);
    assert_int_equal(released, m.count);
}

/* A walk that deletes and adds as it goes sees each key that was there all the time, in order. */
static void test_changing_walk(void **state) {
    enum { COUNT = 2000 };
    struct rax *r = rax_create();
    struct buffer key;
    char name[32];
    buffer_init(&key, MEMORY_OTHER);
    for (uint64_t i = 0; i < COUNT; i++)
        rax_insert(r, (struct slice){name, number_format_uint64(name, 20000 + 2 * i)}, NULL, NULL);
    uint64_t seen = 0;
    bool there = rax_seek(r, RAX_FIRST, SLICE(""), &key, NULL);
    while (there) {
        uint64_t number;
        assert_true(number_parse_uint64(key.bytes, key.length, &number));
        assert_int_equal(number, 20000 + 2 * seen);
        seen++;
        assert_true(rax_remove(r, buffer_slice(&key), NULL));
        rax_insert(r, (struct slice){name, number_format_uint64(name, number - 1)}, NULL, NULL);
        there = rax_seek(r, RAX_ABOVE, buffer_slice(&key), &key, NULL);
    }
    assert_int_equal(seen, COUNT);
    assert_int_equal(rax_count(r), COUNT);
    rax_check(r);
    rax_free(r, NULL, NULL);
    buffer_free(&key);
}

/* Each key is the beginning of the next: as deep as a tree can be. */
static void test_deep(void **state) {
    enum { DEPTH = 20000 };
    struct rax *r = rax_create();
    struct buffer key;
    char *text = memory_alloc(DEPTH, MEMORY_OTHER);
    memset(text, 'x', DEPTH);
    buffer_init(&key, MEMORY_OTHER);
    for (size_t i = 0; i < DEPTH; i += 10)
        assert_true(rax_insert(r, (struct slice){text, i}, NULL, NULL));
    rax_check(r);
    assert_true(rax_seek(r, RAX_LAST, SLICE(""), &key, NULL));
    assert_int_equal(key.length, DEPTH - 10);
    assert_true(rax_seek(r, RAX_BELOW, buffer_slice(&key), &key, NULL));
    assert_int_equal(key.length, DEPTH - 20);
    assert_true(rax_remove(r, (struct slice){text, 500}, NULL));
    assert_true(rax_seek(r, RAX_AT_LEAST, (struct slice){text, 500}, &key, NULL));
    assert_int_equal(key.length, 510);
    rax_check(r);
    rax_free(r, NULL, NULL);
    buffer_free(&key);
    memory_free(text, MEMORY_OTHER);
}

static void release_one(void *value, void *context) {
    size_t *released = context;
    (*released)++;
    memory_free_sized(value, sizeof(uint64_t), MEMORY_DATASET);
}

/* In steps of so many nodes: no more nodes go in one, `bytes` and `count` are what is left. */
static void free_in_steps(struct rax *r, size_t nodes_max, size_t blocks_bytes) {
    size_t released = 0, count = rax_count(r), steps = 0, block = count ? blocks_bytes / count : 0;
    while (!rax_free_step(r, nodes_max, release_one, &released)) {
        steps++;
        assert_true(released <= steps * nodes_max);
        assert_int_equal(rax_count(r), count - released);
        assert_int_equal(rax_bytes(r) + block * (count - released),
                         memory_used(MEMORY_DATASET) - used_before);
    }
    assert_int_equal(released, count);
    /* All but one step free as many nodes as they may, and there are less than 2n of them. */
    assert_true(steps * nodes_max < 2 * count || count == 0);
    if (count > 0) assert_true((steps + 1) * nodes_max >= count);
    assert_int_equal(memory_used(MEMORY_DATASET), used_before);
}

/* Nodes with 0, 1, 255 and 256 children, with and without values, and keys that begin others. */
static void test_free_step(void **state) {
    enum { COUNT = 3000, ROUNDS = 60 };
    static const size_t limits[] = {1, 2, 7, 100, 1000000};
    seed_from_environment();
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct rax *r = rax_create();
        size_t block = 0, keys = round % 4 ? random_below(COUNT) : round * 16 % 768;
        for (size_t i = 0; i < keys; i++) {
            unsigned char key[6];
            for (size_t j = 0; j < sizeof(key); j++)
                key[j] = (unsigned char)random_below(round % 3 ? 3 : 256);
            size_t length = random_below(sizeof(key) + 1);
            if (round % 4 == 0) {
                key[0] = (unsigned char)i; /* each byte below the root, some with more below */
                length = 1 + i / 256;
            }
            uint64_t *value = memory_alloc(sizeof(*value), MEMORY_DATASET);
            void *old = NULL;
            block = memory_good_size(sizeof(*value));
            if (!rax_insert(r, (struct slice){(const char *)key, length}, value, &old))
                memory_free_sized(old, sizeof(*value), MEMORY_DATASET);
        }
        rax_check(r);
        free_in_steps(r, limits[round % 5], block * rax_count(r));
    }
}

/* A consumer group's pending entries: IDs in order, of which each takes little. */
static void test_bytes(void **state) {
    enum { COUNT = 100000 };
    struct rax *r = rax_create();
    for (uint64_t i = 0; i < COUNT; i++) {
        unsigned char id[16] = {0};
        for (int j = 0; j < 8; j++) id[7 - j] = (unsigned char)((1700000000000 + i) >> (8 * j));
        rax_insert(r, (struct slice){(const char *)id, 16}, NULL, NULL);
    }
    rax_check(r);
    assert_true(rax_bytes(r) < (size_t)COUNT * 48);
    rax_free(r, NULL, NULL);
}

#define PART_KEY_BYTES 6
struct part_key {
    unsigned char bytes[PART_KEY_BYTES];
};

static int compare_part_keys(const void *a, const void *b) { return memcmp(a, b, PART_KEY_BYTES); }

/* What rax_parts is to say of the sorted keys first..end, which share `depth` bytes. */
static size_t parts_of(const struct part_key *keys, size_t first, size_t end, size_t depth) {
    size_t fork = depth, parts = 1;
    if (end - first == 1) return depth < PART_KEY_BYTES ? 2 : 1;
    while (keys[first].bytes[fork] == keys[end - 1].bytes[fork]) fork++;
    if (fork > depth) parts++;
    for (size_t next; first < end; first = next) {
        next = first + 1;
        while (next < end && keys[next].bytes[fork] == keys[first].bytes[fork]) next++;
        parts += parts_of(keys, first, next, fork + 1);
    }
    return parts;
}

static void test_parts(void **state) {
    enum { COUNT = 300, ROUNDS = 20 };
    struct part_key keys[COUNT] = {0};
    struct rax *r = rax_create();
    assert_int_equal(rax_parts(r), 1);
    for (int round = 0; round < ROUNDS; round++) {
        /* Some go, others come; what is there are the first `count`. */
        size_t count = 0;
        for (size_t i = 0; i < COUNT; i++) {
            rax_remove(r, (struct slice){(const char *)keys[i].bytes, PART_KEY_BYTES}, NULL);
            if (random_below(3) == 0)
                for (int j = 0; j < PART_KEY_BYTES; j++)
                    keys[i].bytes[j] = (unsigned char)random_below(3);
        }
        qsort(keys, COUNT, sizeof(keys[0]), compare_part_keys);
        for (size_t i = 0; i < COUNT; i++) {
            rax_insert(r, (struct slice){(const char *)keys[i].bytes, PART_KEY_BYTES}, NULL, NULL);
            if (!count || compare_part_keys(&keys[count - 1], &keys[i]) != 0)
                keys[count++] = keys[i];
        }
        assert_int_equal(rax_count(r), count);
        assert_int_equal(rax_parts(r), parts_of(keys, 0, count, 0));
        rax_check(r);
        /* Those behind are twins now, which go with the others. */
        for (size_t i = count; i < COUNT; i++) keys[i] = keys[0];
    }
    rax_free(r, NULL, NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_model), TEST(test_changing_walk), TEST(test_deep),
        TEST(test_bytes), TEST(test_parts),         TEST(test_free_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
