/* SPDX-License-Identifier: BSD-3-Clause
 * CRC-64: against known sums, a bit at a time, in pieces and in parts.
 *
 * SEED=n runs the same random choices again; each run prints its seed.
 */
#include "base/checksum.h"

#include "base/seed.h"

#define TEXT_BYTES 4096
static unsigned char text[TEXT_BYTES];

/* As the definition says: a bit at a time, the lowest first. */
static uint64_t sum_by_bits(uint64_t sum, const unsigned char *bytes, size_t length) {
    for (size_t i = 0; i < length; i++) {
        for (int bit = 0; bit < 8; bit++) {
            uint64_t out = (sum ^ (uint64_t)bytes[i] >> bit) & 1;
            sum = sum >> 1 ^ (out ? UINT64_C(0x95ac9329ac4bc9b5) : 0);
        }
    }
    return sum;
}

/* The last eight bytes are the sum of those before, lowest byte first. */
static void assert_sealed(const char *bytes, size_t length) {
    uint64_t kept;
    memcpy(&kept, bytes + length - 8, 8);
    assert_int_equal(checksum_crc64(0, bytes, length - 8), kept);
    assert_int_equal(checksum_crc64_by_tables(0, bytes, length - 8), kept);
}

static void test_known(void **state) {
    assert_int_equal(checksum_crc64(0, "123456789", 9), UINT64_C(0xe9c6d914c4b8d9ca));
    assert_int_equal(checksum_crc64(0, "", 0), 0);
    assert_int_equal(checksum_crc64(7, NULL, 0), 7);
    /* A snapshot and payloads of DUMP that Redis 6.2.16 wrote. */
    static const char snapshot[] =
        "REDIS0009\xfa\tredis-ver\x06"
        "6.2.16\xfa\nredis-bits\xc0@\xfa\x05"
        "ctime\xc2\x0c\xe9\x00k\xfa\x08used-mem\xc2\x98W\r\x00\xfa\x0c"
        "aof-preamble\xc0\x00\xfe\x00\xfb\x03\x01\x0e\x01l\x01\x0e\x0e\x00\x00\x00\n\x00\x00\x00"
        "\x01\x00\x00\x01"
        "a\xff\xfcx\x9c\x9d\xfb\xa1\x01\x00\x00\x00\x01"
        "e\x01v\x00\x01"
        "a\xc0\x01\xfe\x03\xfb\x01\x00\x00\x01"
        "b\xc0\x02\xff\xe9%F\xc3\x8b\xa3\xafS";
    assert_sealed(snapshot, sizeof(snapshot) - 1);
}

static void test_each_length_and_place(void **state) {
    for (size_t length = 0; length < 300; length++) {
        size_t at = (size_t)random_below(TEXT_BYTES - length);
        uint64_t begin = random_u64(), expected = sum_by_bits(begin, text + at, length);
        assert_int_equal(checksum_crc64(begin, text + at, length), expected);
        assert_int_equal(checksum_crc64_by_tables(begin, text + at, length), expected);
    }
    assert_int_equal(checksum_crc64(1, text, TEXT_BYTES), sum_by_bits(1, text, TEXT_BYTES));
}

static void test_in_pieces(void **state) {
    uint64_t whole = checksum_crc64(0, text, TEXT_BYTES);
    for (int i = 0; i < 200; i++) {
        size_t cut = (size_t)random_below(TEXT_BYTES + 1), rest = TEXT_BYTES - cut;
        uint64_t first = checksum_crc64(0, text, cut);
        assert_int_equal(checksum_crc64(first, text + cut, rest), whole);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known),
        cmocka_unit_test(test_each_length_and_place),
        cmocka_unit_test(test_in_pieces),
    };
    seed_from_environment();
    for (size_t i = 0; i < TEXT_BYTES; i++) text[i] = (unsigned char)random_below(256);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
