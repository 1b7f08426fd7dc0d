/* SPDX-License-Identifier: BSD-3-Clause
 * SHA-1 against the examples that NIST publishes for FIPS 180-4.
 */
#include "base/digests.h"
#include "base/sha1.h"

static void digest(const char *text, size_t length, size_t piece, unsigned char *out) {
    struct sha1 s;
    sha1_begin(&s);
    for (size_t at = 0; at < length; at += piece)
        sha1_add(&s, text + at, length - at < piece ? length - at : piece);
    sha1_end(&s, out);
}

static void test_published(void **state) {
    const char *two = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    assert_digest_of(digest, "", 0, "da39a3ee5e6b4b0d3255bfef95601890afd80709");
    assert_digest_of(digest, "abc", 3, "a9993e364706816aba3e25717850c26c9cd0d89d");
    assert_digest_of(digest, two, strlen(two), "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
    assert_digest_of_million(digest, "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
}

static void test_lengths(void **state) { assert_lengths(digest, SHA1_BYTES); }

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_published),
        cmocka_unit_test(test_lengths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
