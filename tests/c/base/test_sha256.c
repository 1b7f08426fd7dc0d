/* SPDX-License-Identifier: BSD-3-Clause
 * SHA-256 against the examples that NIST publishes for FIPS 180-4.
 */
#include "base/sha256.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void digest_in_pieces(const char *text, size_t length, size_t piece,
                             char hex[2 * SHA256_BYTES + 1]) {
    struct sha256 s;
    unsigned char digest[SHA256_BYTES];
    sha256_begin(&s);
    for (size_t at = 0; at < length; at += piece)
        sha256_add(&s, text + at, length - at < piece ? length - at : piece);
    sha256_end(&s, digest);
    for (int i = 0; i < SHA256_BYTES; i++) snprintf(hex + 2 * i, 3, "%02x", digest[i]);
}

static void assert_digest(const char *text, size_t length, const char *expected) {
    char hex[2 * SHA256_BYTES + 1];
    for (size_t piece = 1; piece <= length + 1; piece = piece * 2 + 1) {
        digest_in_pieces(text, length, piece, hex);
        assert_string_equal(hex, expected);
    }
}

static void test_published(void **state) {
    const char *two = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    assert_digest("", 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    assert_digest("abc", 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_digest(two, strlen(two),
                  "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

static char million[1000000];

static void test_million(void **state) {
    memset(million, 'a', sizeof(million));
    assert_digest(million, sizeof(million),
                  "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

/* Lengths around a block's end, where the padding needs a block of its own: whole and in pieces
 * must agree, and no two of these texts may share a digest. */
static void test_lengths(void **state) {
    char text[200], seen[200][2 * SHA256_BYTES + 1], hex[2 * SHA256_BYTES + 1];
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
