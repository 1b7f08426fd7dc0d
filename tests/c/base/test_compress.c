/* SPDX-License-Identifier: BSD-3-Clause
 * LZF: what is written is what the library reads back, and so do we; room is kept to; texts become
 * no longer than the library makes them; damaged bytes are refused where the library refuses them.
 *
 * SEED=n runs the same random choices again; each run prints its seed.
 */
#include "base/compress.h"

#include <liblzf/lzf.h>
#include <stdlib.h>
#include <string.h>

#include "base/seed.h"

#define TEXT_BYTES ((size_t)200000)
#define GUARD 0xa5

static char text[TEXT_BYTES], back[TEXT_BYTES + 64];
static unsigned char packed[2 * TEXT_BYTES];

static bool guarded(size_t from) {
    for (size_t i = from; i < from + 64; i++)
        if (packed[i] != GUARD) return false;
    return true;
}

/* Compresses into so much room; nothing behind it may be touched. */
static size_t compress(size_t length, size_t room) {
    memset(packed, GUARD, room + 64);
    size_t size = compress_lzf((struct slice){text, length}, packed, room);
    assert_true(size <= room);
    assert_true(guarded(room));
    return size;
}

/* Into as much room exactly, by the library and by us; a byte less or more is refused. */
static void assert_comes_back(size_t size, size_t length) {
    assert_int_equal(lzf_decompress(packed, (unsigned)size, back, (unsigned)length), length);
    assert_memory_equal(back, text, length);
    struct slice bytes = {(const char *)packed, size};
    memset(back, 0, length + 64);
    assert_true(decompress_lzf(bytes, back, length));
    assert_memory_equal(back, text, length);
    for (size_t i = length; i < length + 64; i++) assert_int_equal(back[i], 0);
    assert_false(decompress_lzf(bytes, back, length - 1));
    assert_false(decompress_lzf(bytes, back, length + 1));
}

/* Returns the bytes that it took; the text comes back from them, and from as much room exactly. */
static size_t round_trip(size_t length) {
    size_t size = compress(length, sizeof(packed) - 64);
    if (length == 0) {
        assert_int_equal(size, 0);
        return 0;
    }
    assert_true(size > 0);
    assert_comes_back(size, length);
    assert_int_equal(compress(length, size), size);
    assert_comes_back(size, length);
    assert_int_equal(compress(length, size - 1), 0);
    return size;
}

/* Damaged bytes: the verdict of both is the same, and so is what they give. In blocks of their own,
 * so that a sanitizer sees who reads or writes beyond them. */
static void compare_with_the_library(size_t size, size_t length) {
    char *theirs = malloc(length), *ours = malloc(length), *bytes = malloc(size);
    assert_true(theirs && ours && bytes);
    memcpy(bytes, packed, size);
    bool taken = lzf_decompress(bytes, (unsigned)size, theirs, (unsigned)length) == length;
    assert_int_equal(decompress_lzf((struct slice){bytes, size}, ours, length), taken);
    if (taken) assert_memory_equal(ours, theirs, length);
    free(theirs);
    free(ours);
    free(bytes);
}

/* Letters of so many kinds, now and then a piece that was there before. */
static void make_text(size_t length, uint64_t kinds, uint64_t repeats_of_16) {
    size_t at = 0;
    while (at < length) {
        size_t piece = 1 + (size_t)random_below(random_below(8) == 0 ? 700 : 12);
        if (piece > length - at) piece = length - at;
        bool again = at > 0 && random_below(16) < repeats_of_16;
        size_t from = again ? (size_t)random_below(at) : 0;
        for (size_t i = 0; i < piece; i++)
            text[at + i] = again ? text[from + i] : (char)random_below(kinds);
        at += piece;
    }
}

static void test_random_texts(void **state) {
    for (int round = 0; round < 3000; round++) {
        size_t length = (size_t)random_below(round % 100 == 0 ? TEXT_BYTES : 600) + 1;
        make_text(length, 1 + random_below(256), random_below(12));
        round_trip(length);
    }
}

static void test_damaged_bytes(void **state) {
    for (int round = 0; round < 20000; round++) {
        size_t length = (size_t)random_below(300) + 4;
        make_text(length, 1 + random_below(256), 8);
        size_t size = compress(length, sizeof(packed) - 64);
        for (uint64_t changes = 1 + random_below(3); changes > 0; changes--)
            packed[random_below(size)] = (unsigned char)random_below(256);
        if (random_below(4) == 0) size = 1 + (size_t)random_below(size);
        if (random_below(4) == 0) length = 1 + (size_t)random_below(2 * length);
        compare_with_the_library(size, length);
    }
}

static void test_no_bytes(void **state) {
    assert_true(decompress_lzf(SLICE(""), back, 0));
    assert_false(decompress_lzf(SLICE(""), back, 1));
}

static void test_short_texts(void **state) {
    for (size_t length = 0; length < 300; length++) {
        memset(text, 'x', length);
        size_t size = round_trip(length);
        if (length >= 12) assert_true(size <= 12);
        make_text(length, 256, 0);
        round_trip(length);
    }
}

/* A match may be as long as 264 bytes and lie 8,192 back, no further. */
static void test_limits_of_matches(void **state) {
    for (size_t distance = 8180; distance < 8200; distance++) {
        make_text(distance, 256, 0);
        memcpy(text + distance, text, 64);
        size_t alone = round_trip(distance), size = round_trip(distance + 64);
        /* Of its places the table has forgotten most: each stays with a chance of one in e. */
        if (distance <= 8192)
            assert_true(size < alone + 52);
        else
            assert_true(size >= alone + 64);
    }
    for (size_t run = 250; run < 560; run++) {
        memset(text, 'a', run);
        text[run] = 'b';
        size_t size = round_trip(run + 1);
        assert_true(size < 20);
    }
}

/* What begins again after 64 KiB has places whose numbers were used before. */
static void test_places_beyond_64_kib(void **state) {
    make_text(70000, 256, 0);
    memcpy(text + 65536 + 1000, text + 1000, 3000);
    round_trip(70000);
    memcpy(text + 66000, text + 65000, 900);
    assert_true(round_trip(70000) < 70000 + 70000 / 32 - 800);
}

static void test_gives_up(void **state) {
    make_text(TEXT_BYTES, 256, 0);
    for (size_t length = 1; length < 200; length++) {
        for (size_t i = 0; i < length; i++) text[i] = (char)i;
        assert_int_equal(compress(length, length > 4 ? length - 4 : 0), 0);
    }
    assert_int_equal(compress(TEXT_BYTES, TEXT_BYTES - 4), 0);
    assert_int_equal(compress(100, 0), 0);
}

static size_t kept(size_t size, size_t length) { return size ? size : length; }

/* Over texts of each kind together, as a snapshot keeps them. */
static void test_no_longer_than_the_librarys(void **state) {
    static const size_t lengths[] = {21, 32, 64, 200, 1000, 3000, 20000};
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        size_t length = lengths[i], ours = 0, theirs = 0;
        for (int round = 0; round < 200; round++) {
            make_text(length, 4 + random_below(100), 1 + random_below(8));
            ours += kept(compress(length, length - 4), length);
            theirs +=
                kept(lzf_compress(text, (unsigned)length, packed, (unsigned)length - 4), length);
        }
        assert_true(ours <= theirs + theirs / 50);
    }
}

static void test_is_the_same_each_time(void **state) {
    unsigned char first[4096];
    make_text(3000, 20, 6);
    size_t size = compress(3000, sizeof(first));
    memcpy(first, packed, size);
    char other[100] = "another text, so that its places are not there any more, any more, any more";
    assert_true(compress_lzf((struct slice){other, sizeof(other)}, packed, sizeof(packed)) > 0);
    assert_int_equal(compress(3000, sizeof(first)), size);
    assert_memory_equal(first, packed, size);
}

int main(void) {
    seed_from_environment();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_texts),
        cmocka_unit_test(test_damaged_bytes),
        cmocka_unit_test(test_no_bytes),
        cmocka_unit_test(test_short_texts),
        cmocka_unit_test(test_limits_of_matches),
        cmocka_unit_test(test_places_beyond_64_kib),
        cmocka_unit_test(test_gives_up),
        cmocka_unit_test(test_no_longer_than_the_librarys),
        cmocka_unit_test(test_is_the_same_each_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
