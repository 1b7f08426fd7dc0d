/* SPDX-License-Identifier: BSD-3-Clause
 * What the tests of digests share.
 */
#ifndef EVENKEEL_TESTS_BASE_DIGESTS_H
#define EVENKEEL_TESTS_BASE_DIGESTS_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The digest of a text that is added in pieces. */
typedef void digest_function(const char *text, size_t length, size_t piece, unsigned char *digest);

#define DIGEST_BYTES_MAX 32

static inline void digest_hex(digest_function *function, size_t bytes, const char *text,
                              size_t length, size_t piece, char hex[2 * DIGEST_BYTES_MAX + 1]) {
    unsigned char digest[DIGEST_BYTES_MAX];
    function(text, length, piece, digest);
    for (size_t i = 0; i < bytes; i++) snprintf(hex + 2 * i, 3, "%02x", digest[i]);
}

static inline void assert_digest_of(digest_function *function, const char *text, size_t length,
                                    const char *expected) {
    char hex[2 * DIGEST_BYTES_MAX + 1];
    for (size_t piece = 1; piece <= length + 1; piece = piece * 2 + 1) {
        digest_hex(function, strlen(expected) / 2, text, length, piece, hex);
        assert_string_equal(hex, expected);
    }
}

static inline void assert_digest_of_million(digest_function *function, const char *expected) {
    size_t length = 1000000;
    char *million = malloc(length);
    assert_non_null(million);
    memset(million, 'a', length);
    assert_digest_of(function, million, length, expected);
    free(million);
}

/* Lengths around a block's end, where the padding needs a block of its own: whole and in pieces
 * must agree, and no two of these texts may share a digest. */
static inline void assert_lengths(digest_function *function, size_t bytes) {
    char text[200], seen[200][2 * DIGEST_BYTES_MAX + 1], hex[2 * DIGEST_BYTES_MAX + 1];
    memset(text, 'x', sizeof(text));
    for (size_t length = 0; length < sizeof(text); length++) {
        digest_hex(function, bytes, text, length, sizeof(text), seen[length]);
        digest_hex(function, bytes, text, length, 7, hex);
        assert_string_equal(hex, seen[length]);
        for (size_t other = 0; other < length; other++)
            assert_string_not_equal(seen[length], seen[other]);
    }
}
#endif
