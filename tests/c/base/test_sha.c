/* SPDX-License-Identifier: BSD-3-Clause
 * SHA-1 and SHA-256 against the examples that NIST publishes for FIPS 180-4.
 */
#include "base/sha.h"

#include "base/seed.h"

#define MILLION 1000000

static void assert_sums(const char *text, size_t length, const char *sha1, const char *sha256) {
    unsigned char digest[SHA256_BYTES];
    char hex[2 * SHA256_BYTES + 1];
    sha1_of((struct slice){text, length}, digest);
    for (int i = 0; i < SHA1_BYTES; i++) snprintf(hex + 2 * i, 3, "%02x", digest[i]);
    assert_string_equal(hex, sha1);
    sha256_of((struct slice){text, length}, digest);
    for (int i = 0; i < SHA256_BYTES; i++) snprintf(hex + 2 * i, 3, "%02x", digest[i]);
    assert_string_equal(hex, sha256);
}

static void test_published(void **state) {
    const char *two = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    assert_sums("", 0, "da39a3ee5e6b4b0d3255bfef95601890afd80709",
                "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    assert_sums("abc", 3, "a9993e364706816aba3e25717850c26c9cd0d89d",
                "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_sums(two, strlen(two), "84983e441c3bd26ebaae4aa1f95129e5e54670f1",
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    char *many = memory_alloc(MILLION, MEMORY_OTHER);
    memset(many, 'a', MILLION);
    assert_sums(many, MILLION, "34aa973cd4c4daa4f61eeb2bdbad27316534016f",
                "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    memory_free(many, MEMORY_OTHER);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_published)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
