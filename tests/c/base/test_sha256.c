/* SPDX-License-Identifier: BSD-3-Clause
 * SHA-256 against the examples that NIST publishes for FIPS 180-4.
 */
#include "base/digests.h"
#include "base/sha256.h"

static void digest(const char *text, size_t length, size_t piece, unsigned char *out) {
    struct sha256 s;
    sha256_begin(&s);
    for (size_t at = 0; at < length; at += piece)
        sha256_add(&s, text + at, length - at < piece ? length - at : piece);
    sha256_end(&s, out);
}

static void test_published(void **state) {
    const char *two = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    assert_digest_of(digest, "", 0,
                     "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    assert_digest_of(digest, "abc", 3,
                     "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_digest_of(digest, two, strlen(two),
                     "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    assert_digest_of_million(digest,
                             "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

static void test_lengths(void **state) { assert_lengths(digest, SHA256_BYTES); }

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_published),
        cmocka_unit_test(test_lengths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
