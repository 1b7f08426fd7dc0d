/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of ds/ziplist: bytes that 6.2.16 wrote, there and back again, foreign bytes.
 *
 * SEED=n runs the same random choices again; each run prints its seed.
 */
#include "ds/ziplist.h"

#include "base/seed.h"

#include <sys/mman.h>

#include "base/memory.h"
#include "base/number.h"
#include "ds/listpacks.h"

static size_t used_before;

static int setup(void **state) {
    used_before = memory_used(MEMORY_DATASET);
    return 0;
}

static int teardown(void **state) {
    assert_int_equal(memory_used(MEMORY_DATASET), used_before);
    return 0;
}

static struct buffer written(const struct listpack *lp) {
    struct buffer out;
    buffer_init(&out, MEMORY_OTHER);
    buffer_append_char(&out, '#'); /* what stood there before stays */
    size_t added = ziplist_from_listpack(lp, &out);
    assert_int_equal(added + 1, out.length);
    assert_int_equal(out.bytes[0], '#');
    memmove(out.bytes, out.bytes + 1, --out.length);
    return out;
}

/* Listpacks that we write are equal in bytes where their elements are. */
static void assert_round_trip(const struct listpack *lp) {
    struct buffer bytes = written(lp);
    struct listpack *back = ziplist_to_listpack(bytes.bytes, bytes.length);
    assert_non_null(back);
    assert_int_equal(listpack_size(back), listpack_size(lp));
    assert_memory_equal(listpack_bytes(back), listpack_bytes(lp), listpack_size(lp));
    listpack_free(back);
    buffer_free(&bytes);
}

/* From DUMP of a hash in 6.2.16: HSET h a 1 b 12 c 13 d -1 e 128 f 32768 g 8388608 h 2147483648
 * i "" j 0. */
static const uint8_t known[] = {
    0x50, 0x00, 0x00, 0x00, 0x4d, 0x00, 0x00, 0x00, 0x14, 0x00, 0x00, 0x01, 0x61, 0x03, 0xf2, 0x02,
    0x01, 0x62, 0x03, 0xfd, 0x02, 0x01, 0x63, 0x03, 0xfe, 0x0d, 0x03, 0x01, 0x64, 0x03, 0xfe, 0xff,
    0x03, 0x01, 0x65, 0x03, 0xc0, 0x80, 0x00, 0x04, 0x01, 0x66, 0x03, 0xf0, 0x00, 0x80, 0x00, 0x05,
    0x01, 0x67, 0x03, 0xd0, 0x00, 0x00, 0x80, 0x00, 0x06, 0x01, 0x68, 0x03, 0xe0, 0x00, 0x00, 0x00,
    0x80, 0x00, 0x00, 0x00, 0x00, 0x0a, 0x01, 0x69, 0x03, 0x00, 0x02, 0x01, 0x6a, 0x03, 0xf1, 0xff};

static void test_known_bytes(void **state) {
    static const char *const elements[] = {
        "a", "1",     "b", "12",      "c", "13",         "d", "-1", "e", "128",
        "f", "32768", "g", "8388608", "h", "2147483648", "i", "",   "j", "0"};
    struct listpack *lp = ziplist_to_listpack(known, sizeof(known));
    assert_non_null(lp);
    assert_int_equal(listpack_count(lp), 20);
    for (size_t i = 0; i < 20; i++)
        assert_true(listpack_equal(lp, listpack_seek(lp, (int64_t)i), slice_of(elements[i])));
    struct buffer bytes = written(lp);
    assert_int_equal(bytes.length, sizeof(known));
    assert_memory_equal(bytes.bytes, known, sizeof(known));
    buffer_free(&bytes);
    listpack_free(lp);
}

static void test_round_trips(void **state) {
    static const size_t lengths[] = {0, 1, 62, 63, 64, 249, 250, 251, 252, 253, 254, 16383, 16384};
    seed_from_environment();
    char *text = memory_alloc(20000, MEMORY_OTHER);
    memset(text, 'z', 20000);
    struct listpack *lp = listpack_create();
    assert_round_trip(lp);
    for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
        listpack_append(&lp, (struct slice){text, lengths[i]});
        assert_round_trip(lp);
    }
    for (int shift = 0; shift < 64; shift++) {
        for (int off = -2; off <= 2; off++) {
            uint64_t value = (UINT64_C(1) << shift) + (uint64_t)(int64_t)off;
            append_integer(&lp, (int64_t)value);
            append_integer(&lp, (int64_t)(0 - value));
        }
    }
    assert_round_trip(lp);
    listpack_delete_range(&lp, listpack_first(lp), SIZE_MAX);
    for (int i = 0; i < 3000; i++) {
        if (random_below(2))
            append_integer(&lp, (int64_t)(random_u64() >> random_below(64)));
        else
            listpack_append(&lp, (struct slice){text, random_below(300)});
        if (i % 100 == 0) assert_round_trip(lp);
    }
    /* More than the count can say. */
    for (int i = 0; i < 70000; i++) append_integer(&lp, i);
    struct buffer bytes = written(lp);
    assert_int_equal(bytes.bytes[8] & bytes.bytes[9] & 0xff, 0xff);
    struct listpack *back = ziplist_to_listpack(bytes.bytes, bytes.length);
    assert_int_equal(listpack_count(back), 73000);
    listpack_free(back);
    buffer_free(&bytes);
    listpack_free(lp);
    memory_free(text, MEMORY_OTHER);
}

/* The size before an element may have the long form although it is small. */
static void test_long_form(void **state) {
    static const uint8_t bytes[] = {21, 0,   0,   0, 13, 0, 0, 0, 2,   0,   0,
                                    1,  'a', 254, 3, 0,  0, 0, 1, 'b', 0xff};
    struct listpack *lp = ziplist_to_listpack(bytes, sizeof(bytes));
    assert_non_null(lp);
    assert_true(listpack_equal(lp, listpack_last(lp), SLICE("b")));
    listpack_free(lp);
}

static void test_foreign(void **state) {
    static const struct {
        uint8_t bytes[24];
        size_t size;
        bool good;
    } cases[] = {
        {{11, 0, 0, 0, 10, 0, 0, 0, 0, 0, 0xff}, 11, true},
        {{11, 0, 0, 0, 10, 0, 0, 0, 0xff, 0xff, 0xff}, 11, true}, /* count them */
        {{11, 0, 0, 0, 10, 0, 0, 0, 1, 0, 0xff}, 11, false},      /* count */
        {{11, 0, 0, 0, 11, 0, 0, 0, 0, 0, 0xff}, 11, false},      /* last */
        {{12, 0, 0, 0, 10, 0, 0, 0, 0, 0, 0xff}, 11, false},      /* size */
        {{11, 0, 0, 0, 10, 0, 0, 0, 0, 0, 0xfe}, 11, false},      /* end */
        {{10, 0, 0, 0, 10, 0, 0, 0, 0, 0}, 10, false},            /* short */
        {{13, 0, 0, 0, 10, 0, 0, 0, 1, 0, 0, 0xf1, 0xff}, 13, true},
        {{13, 0, 0, 0, 10, 0, 0, 0, 1, 0, 1, 0xf1, 0xff}, 13, false}, /* before */
        {{13, 0, 0, 0, 10, 0, 0, 0, 1, 0, 0, 0xff, 0xff}, 13, false}, /* encoding */
        {{13, 0, 0, 0, 10, 0, 0, 0, 1, 0, 0, 0xc1, 0xff}, 13, false},
        {{13, 0, 0, 0, 10, 0, 0, 0, 1, 0, 0, 0xfe, 0xff}, 13, false}, /* cut off */
        {{13, 0, 0, 0, 10, 0, 0, 0, 1, 0, 0, 0x40, 0xff}, 13, false},
        {{13, 0, 0, 0, 10, 0, 0, 0, 1, 0, 0, 0x80, 0xff}, 13, false},
        {{13, 0, 0, 0, 10, 0, 0, 0, 1, 0, 0, 0x01, 0xff}, 13, false},
        {{12, 0, 0, 0, 10, 0, 0, 0, 1, 0, 0, 0xff}, 12, false},
        {{12, 0, 0, 0, 10, 0, 0, 0, 1, 0, 0xfe, 0xff}, 12, false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        uint8_t *exact = memory_alloc(cases[i].size, MEMORY_OTHER);
        memcpy(exact, cases[i].bytes, cases[i].size);
        struct listpack *lp = ziplist_to_listpack(exact, cases[i].size);
        assert_int_equal(lp != NULL, cases[i].good);
        listpack_free(lp);
        memory_free(exact, MEMORY_OTHER);
    }
}

/* Every change of one byte and every cut is refused, or gives a good listpack. */
static void test_damage(void **state) {
    uint8_t *bytes = memory_alloc(sizeof(known), MEMORY_OTHER);
    for (size_t i = 0; i < sizeof(known); i++) {
        for (unsigned change = 1; change < 256; change++) {
            memcpy(bytes, known, sizeof(known));
            bytes[i] ^= (uint8_t)change;
            struct listpack *lp = ziplist_to_listpack(bytes, sizeof(known));
            if (lp) listpack_check(lp);
            if (i < 8) assert_null(lp);
            listpack_free(lp);
        }
        memcpy(bytes, known, sizeof(known));
        assert_null(ziplist_to_listpack(bytes, i));
        for (int j = 0; j < 4; j++) bytes[j] = (uint8_t)(i >> (8 * j));
        assert_null(ziplist_to_listpack(bytes, i));
    }
    memory_free(bytes, MEMORY_OTHER);
}

/* ---- pairs ---- */

/* What the pairs of exactly these bytes become; -1: no ziplist, otherwise whether they differ. */
static int pairs_of(const void *bytes, size_t size, struct listpack **lp) {
    bool distinct = false;
    void *exact = memory_alloc(size ? size : 1, MEMORY_OTHER);
    memcpy(exact, bytes, size);
    *lp = ziplist_pairs_to_listpack(exact, size, &distinct);
    memory_free(exact, MEMORY_OTHER);
    return *lp ? distinct : -1;
}

static void assert_pairs(const char *const *texts, size_t count, bool count_known, bool distinct) {
    struct listpack *lp = listpack_create(), *back;
    for (size_t i = 0; i < count; i++) listpack_append(&lp, slice_of(texts[i]));
    struct buffer bytes = written(lp);
    if (!count_known) memset(bytes.bytes + 8, 0xff, 2);
    assert_int_equal(pairs_of(bytes.bytes, bytes.length, &back), distinct);
    assert_int_equal(listpack_size(back), listpack_size(lp));
    assert_memory_equal(listpack_bytes(back), listpack_bytes(lp), listpack_size(lp));
    buffer_free(&bytes);
    listpack_free(back);
    listpack_free(lp);
}

static void test_pairs(void **state) {
    static const char *const texts[] = {"a", "b", "b", "a", "12", "a", "", "a", "12"};
    for (int stated = 0; stated < 2; stated++) {
        assert_pairs(texts, 0, stated, true);
        assert_pairs(texts, 1, stated, true);
        for (size_t count = 2; count < 9; count++) assert_pairs(texts, count, stated, true);
        assert_pairs(texts, 9, stated, false); /* one without its other half counts, too */
        assert_pairs(texts + 1, 4, stated, true);
        assert_pairs(texts + 3, 4, stated, false);
        assert_pairs(texts + 1, 2, stated, true);
        assert_pairs((const char *const[]){"x", "1", "y", "2", "x", "3"}, 6, stated, false);
    }
}

/* With any damage they are a ziplist where ziplist_to_listpack says so, and the same elements. */
static void test_damaged_pairs(void **state) {
    uint8_t bytes[sizeof(known)];
    for (size_t i = 0; i < sizeof(known); i++) {
        for (unsigned change = 1; change < 256; change++) {
            struct listpack *pairs, *whole;
            memcpy(bytes, known, sizeof(known));
            bytes[i] ^= (uint8_t)change;
            whole = ziplist_to_listpack(bytes, sizeof(known));
            assert_int_equal(pairs_of(bytes, sizeof(known), &pairs) >= 0, whole != NULL);
            if (whole) {
                assert_int_equal(listpack_size(pairs), listpack_size(whole));
                assert_memory_equal(pairs, whole, listpack_size(whole));
            }
            listpack_free(pairs);
            listpack_free(whole);
        }
        struct listpack *pairs;
        assert_int_equal(pairs_of(known, i, &pairs), -1);
    }
}

/* ---- the walk ---- */

struct walk {
    struct listpack *seen;
    size_t refuse_at; /* the element that is refused, SIZE_MAX = none */
};

static bool note(const struct listpack_value *v, void *context) {
    struct walk *walk = context;
    if (listpack_count(walk->seen) == walk->refuse_at) return false;
    if (v->text.bytes)
        listpack_append(&walk->seen, v->text);
    else
        append_integer(&walk->seen, v->integer);
    return true;
}

/* Walks exactly these bytes; how many elements were seen. */
static bool walk_bytes(const void *bytes, size_t size, size_t refuse_at, struct walk *walk) {
    void *exact = memory_alloc(size, MEMORY_OTHER);
    memcpy(exact, bytes, size);
    *walk = (struct walk){listpack_create(), refuse_at};
    bool good = ziplist_each(exact, size, note, walk);
    memory_free(exact, MEMORY_OTHER);
    return good;
}

static void test_walk_sees_each(void **state) {
    struct walk walk;
    struct listpack *whole = ziplist_to_listpack(known, sizeof(known));
    assert_true(walk_bytes(known, sizeof(known), SIZE_MAX, &walk));
    assert_int_equal(listpack_size(walk.seen), listpack_size(whole));
    assert_memory_equal(listpack_bytes(walk.seen), listpack_bytes(whole), listpack_size(whole));
    listpack_free(walk.seen);
    listpack_free(whole);
    /* No element: nothing is visited. */
    static const uint8_t empty[] = {11, 0, 0, 0, 10, 0, 0, 0, 0, 0, 0xff};
    assert_true(walk_bytes(empty, sizeof(empty), 0, &walk));
    listpack_free(walk.seen);
}

static void test_walk_ends_where_refused(void **state) {
    struct walk walk;
    for (size_t i = 0; i < 20; i++) {
        assert_false(walk_bytes(known, sizeof(known), i, &walk));
        assert_int_equal(listpack_count(walk.seen), i);
        listpack_free(walk.seen);
    }
    assert_true(walk_bytes(known, sizeof(known), 20, &walk));
    listpack_free(walk.seen);
}

/* What stands before a fault has been visited; nothing behind it is. */
static void test_walk_to_a_fault(void **state) {
    struct walk walk;
    uint8_t bytes[sizeof(known)];
    memcpy(bytes, known, sizeof(known));
    assert_int_equal(known[15], 2); /* what the third element says of the second one's size */
    bytes[15] = 3;
    assert_false(walk_bytes(bytes, sizeof(bytes), SIZE_MAX, &walk));
    assert_int_equal(listpack_count(walk.seen), 2);
    listpack_free(walk.seen);
    for (size_t i = 0; i < sizeof(known); i++) {
        for (unsigned change = 1; change < 256; change++) {
            memcpy(bytes, known, sizeof(known));
            bytes[i] ^= (uint8_t)change;
            bool good = walk_bytes(bytes, sizeof(known), SIZE_MAX, &walk);
            struct listpack *whole = ziplist_to_listpack(bytes, sizeof(known));
            assert_int_equal(good, whole != NULL);
            listpack_free(whole);
            listpack_free(walk.seen);
        }
    }
}

/* One text of any length, as lists have it. */
static void test_one_text(void **state) {
    static const size_t lengths[] = {0, 1, 63, 64, 16383, 16384, 70000, 1 << 20};
    char *text = memory_alloc(1 << 20, MEMORY_OTHER);
    memset(text, 'z', 1 << 20);
    for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
        struct buffer bytes;
        struct walk walk;
        buffer_init(&bytes, MEMORY_OTHER);
        size_t size = ziplist_from_text((struct slice){text, lengths[i]}, &bytes);
        assert_int_equal(size, bytes.length);
        assert_true(walk_bytes(bytes.bytes, bytes.length, SIZE_MAX, &walk));
        assert_int_equal(listpack_count(walk.seen), 1);
        assert_true(
            listpack_equal(walk.seen, listpack_first(walk.seen), (struct slice){text, lengths[i]}));
        listpack_free(walk.seen);
        buffer_free(&bytes);
    }
    memory_free(text, MEMORY_OTHER);
}

/* A ziplist of one text of so many zeros, of which few pages are touched, and one without bytes. */
static struct slice map_zeros(size_t length) {
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    const size_t first = 10, second = first + 6 + length, size = second + 6 + 1;
    const uint32_t sizes[] = {(uint32_t)size, (uint32_t)second, 2}, before = (uint32_t)length + 6;
    char *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, -1, 0);
    assert_true(bytes != MAP_FAILED);
    memcpy(bytes, sizes, first);
    bytes[first + 1] = (char)0x80;
    for (unsigned i = 0; i < 4; i++) bytes[first + 2 + i] = (char)(length >> (24 - 8 * i));
    bytes[second] = (char)254;
    memcpy(bytes + second + 1, &before, sizeof(before));
    bytes[size - 1] = (char)0xff;
    return (struct slice){bytes, size};
}

/* All that a listpack may hold is read back, so that what was saved can be loaded; and no more. */
static void test_sizes_of_large_listpacks(void **state) {
    struct slice bytes = map_zeros(LISTPACK_BYTES_MAX / 2 + 1000);
    bool distinct;
    struct listpack *lp = ziplist_to_listpack(bytes.bytes, bytes.length);
    assert_non_null(lp);
    assert_int_equal(listpack_count(lp), 2);
    listpack_free(lp);
    lp = ziplist_pairs_to_listpack(bytes.bytes, bytes.length, &distinct);
    assert_non_null(lp);
    listpack_free(lp);
    munmap((void *)(uintptr_t)bytes.bytes, bytes.length);
    bytes = map_zeros(LISTPACK_BYTES_MAX - 10);
    assert_null(ziplist_to_listpack(bytes.bytes, bytes.length));
    munmap((void *)(uintptr_t)bytes.bytes, bytes.length);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_known_bytes),     TEST(test_round_trips),    TEST(test_long_form),
        TEST(test_foreign),         TEST(test_damage),         TEST(test_pairs),
        TEST(test_damaged_pairs),   TEST(test_walk_sees_each), TEST(test_walk_ends_where_refused),
        TEST(test_walk_to_a_fault), TEST(test_one_text),       TEST(test_sizes_of_large_listpacks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
