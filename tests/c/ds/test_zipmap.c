/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of ds/zipmap: bytes of an old file, lengths of both forms, and foreign bytes.
 *
 * SEED=n runs the same random choices again; each run prints its seed.
 */
#include "ds/zipmap.h"

#include "base/seed.h"

#include "base/memory.h"
#include "ds/listpack.h"

static size_t used_before;

static int setup(void **state) {
    used_before = memory_used(MEMORY_DATASET);
    return 0;
}

static int teardown(void **state) {
    assert_int_equal(memory_used(MEMORY_DATASET), used_before);
    return 0;
}

/* From memory that ends with the bytes, so that a sanitizer sees who reads on. */
static struct listpack *read_exact(const void *bytes, size_t size) {
    void *exact = memory_alloc(size ? size : 1, MEMORY_OTHER);
    memcpy(exact, bytes, size);
    struct listpack *lp = zipmap_to_listpack(exact, size);
    memory_free(exact, MEMORY_OTHER);
    return lp;
}

static void assert_elements(struct listpack *lp, const struct slice *wanted, size_t count) {
    assert_non_null(lp);
    listpack_check(lp);
    assert_int_equal(listpack_count(lp), count);
    for (size_t i = 0; i < count; i++)
        assert_true(listpack_equal(lp, listpack_seek(lp, (int64_t)i), wanted[i]));
    listpack_free(lp);
}

/* HSET h f1 v1 f2 v2, as Redis 2.4 has saved it. */
static const uint8_t known[] = {2, 2, 'f', '1', 2, 0, 'v', '1', 2, 'f', '2', 2, 0, 'v', '2', 0xff};

static void test_known_bytes(void **state) {
    static const struct slice wanted[] = {{"f1", 2}, {"v1", 2}, {"f2", 2}, {"v2", 2}};
    assert_elements(read_exact(known, sizeof(known)), wanted, 4);
    assert_elements(read_exact("\0\xff", 2), NULL, 0);
}

static const struct {
    const char *bytes;
    size_t size;
    bool good;
} foreign[] = {
    {"", 0, false},
    {"\xff", 1, false},
    {"\0\0", 2, false},             /* no end */
    {"\1\xff", 2, false},           /* a pair is missing */
    {"\0\1f\1\0v\xff", 7, false},   /* one too many */
    {"\1\1f\1\0v\xff", 7, true},    /* as many as it says */
    {"\xfe\1f\1\0v\xff", 7, true},  /* count them */
    {"\1\1f\1\2vxy\xff", 9, true},  /* bytes that are not used */
    {"\1\1f\1\3vxy\xff", 9, false}, /* more of them than there are */
    {"\1\1f\1\xff"
     "vxy\xff",
     9, false},                /* the same */
    {"\1\0\0\0\xff", 5, true}, /* an empty text is a field, and a value */
    {"\1\1f\xff", 4, false},   /* a field without a value */
    {"\1\1f\1\xff", 5, false}, /* without the byte of unused ones */
    {"\1\2f\xff", 4, false},   /* a length beyond the end */
    {"\1\xfe\1\0\0\0f\1\0v\xff", 11, true},
    {"\1\xfe\1\0\0\xff", 6, false}, /* half a long length */
    {"\1\xfe\xff\xff\xff\xff"
     "f\1\0v\xff",
     11, false}, /* 4 GiB of a field */
    {"\1\1f\xfe\xff\xff\xff\x7f\0v\xff", 11, false},
    {"\2\xff\1\0v\xff", 6, false}, /* the end's mark is no length */
};

static void test_foreign(void **state) {
    for (size_t i = 0; i < sizeof(foreign) / sizeof(*foreign); i++) {
        struct listpack *lp = read_exact(foreign[i].bytes, foreign[i].size);
        if ((lp != NULL) != foreign[i].good) print_message("case %zu\n", i);
        assert_int_equal(lp != NULL, foreign[i].good);
        listpack_free(lp);
    }
}

/* ---- at random: written here, as the format says ---- */

static void append_length(struct buffer *out, size_t length, bool may_be_short) {
    if (length < 254 && may_be_short) {
        buffer_append_char(out, (char)length);
        return;
    }
    buffer_append_char(out, (char)254);
    for (int shift = 0; shift < 32; shift += 8) buffer_append_char(out, (char)(length >> shift));
}

#define PAIRS_MAX 300
#define TEXT_MAX 70000

static void test_random(void **state) {
    static const size_t lengths[] = {0, 1, 253, 254, 255, 256, 65535, 65536};
    seed_from_environment();
    char *text = memory_alloc(TEXT_MAX, MEMORY_OTHER);
    struct slice *wanted = memory_alloc(2 * PAIRS_MAX * sizeof(*wanted), MEMORY_OTHER);
    memset(text, 'z', TEXT_MAX);
    for (int round = 0; round < 40; round++) {
        struct buffer bytes;
        size_t pairs = random_below(PAIRS_MAX);
        buffer_init(&bytes, MEMORY_OTHER);
        buffer_append_char(&bytes, (char)(pairs < 254 ? pairs : 254));
        for (size_t i = 0; i < 2 * pairs; i++) {
            size_t length = random_below(20) ? random_below(300) : lengths[random_below(8)];
            size_t unused = i % 2 ? random_below(5) : 0;
            append_length(&bytes, length, random_below(4) != 0);
            if (i % 2) buffer_append_char(&bytes, (char)unused);
            buffer_append(&bytes, text, length + unused);
            wanted[i] = (struct slice){text, length};
        }
        buffer_append_char(&bytes, (char)0xff);
        assert_elements(read_exact(bytes.bytes, bytes.length), wanted, 2 * pairs);
        buffer_free(&bytes);
    }
    memory_free(wanted, MEMORY_OTHER);
    memory_free(text, MEMORY_OTHER);
}

/* Every change of one byte and every cut is refused, or gives a good listpack. */
static void test_damage(void **state) {
    uint8_t bytes[sizeof(known)];
    for (size_t i = 0; i < sizeof(known); i++) {
        assert_null(read_exact(known, i));
        for (unsigned change = 1; change < 256; change++) {
            memcpy(bytes, known, sizeof(known));
            bytes[i] ^= (uint8_t)change;
            struct listpack *lp = read_exact(bytes, sizeof(bytes));
            if (lp) listpack_check(lp);
            listpack_free(lp);
        }
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_known_bytes),
        TEST(test_foreign),
        TEST(test_random),
        TEST(test_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
