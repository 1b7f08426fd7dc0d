/* SPDX-License-Identifier: BSD-3-Clause
 * SHA-1 against the examples that NIST publishes for FIPS 180-4.
 */
#include "base/sha1.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void digest_in_pieces(const char *text, size_t length, size_t piece,
                             char hex[2 * SHA1_BYTES + 1]) {
    struct sha1 s;
    unsigned char digest[SHA1_BYTES];
    sha1_begin(&s);
    for (size_t at = 0; at < length; at += piece)
        sha1_add(&s, text + at, length - at < piece ? length - at : piece);
    sha1_end(&s, digest);
    for (int i = 0; i < SHA1_BYTES; i++) snprintf(hex + 2 * i, 3, "%02x", digest[i]);
}

static void assert_digest(const char *text, size_t length, const char *expected) {
    char hex[2 * SHA1_BYTES + 1];
    for (size_t piece = 1; piece <= length + 1; piece = piece * 2 + 1) {
        digest_in_pieces(text, length, piece, hex);
        assert_string_equal(hex, expected);
    }
}

static void test_published(void **state) {
    const char *two = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    assert_digest("", 0, "da39a3ee5e6b4b0d3255bfef95601890afd80709");
    assert_digest("abc", 3, "a9993e364706816aba3e25717850c26c9cd0d89d");
    assert_digest(two, strlen(two), "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
}

static char million[1000000];

static void test_million(void **state) {
    memset(million, 'a', sizeof(million));
    assert_digest(million, sizeof(million), "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
}

/* Lengths around a block's end, where the padding needs a block of its own: whole and in pieces
 * must agree, and no two of these texts may share a digest. */
static void test_lengths(void **state) {
    char text[200], seen[200][2 * SHA1_BYTES + 1], hex[2 * SHA1_BYTES + 1];
    memset(text, 'x', sizeof(text));
    for (size_t length = 0; length < sizeof(text); length++) {
        digest_in_pieces(text, length, sizeof(text), seen[length]);
        digest_in_pieces(text, length, 7, hex);
        assert_string_equal(hex, seen[length]);
        for (size_t other = 0; other < length; other++)
            assert_string_not_equal(seen[length], seen[other]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_published),
        cmocka_unit_test(test_million),
        cmocka_unit_test(test_lengths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
