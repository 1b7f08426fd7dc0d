/* SPDX-License-Identifier: BSD-3-Clause
 * Strings as arrays of bits: bit 0 is the highest bit of byte 0.
 *
 * Fields are integers of 1 to 64 bits at any bit offset, most significant bit first. Bits that are
 * written must lie within the bytes; bits that are read beyond them are 0.
 */
#ifndef EVENKEEL_DS_BITS_H
#define EVENKEEL_DS_BITS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bits that are 1. O(length), some 20 GB/s. */
uint64_t bits_count(const void *bytes, size_t length);
/* Index of the first bit that equals `bit`; -1 where there is none. O(length). */
int64_t bits_find(const void *bytes, size_t length, bool bit);

static inline bool bits_get(const unsigned char *bytes, size_t length, uint64_t offset) {
    return offset / 8 < length && bytes[offset / 8] >> (7 - offset % 8) & 1;
}
static inline void bits_set(unsigned char *bytes, uint64_t offset, bool bit) {
    unsigned char mask = (unsigned char)(0x80 >> offset % 8);
    unsigned char *byte = &bytes[offset / 8];
    *byte = (unsigned char)(bit ? *byte | mask : *byte & ~mask);
}

enum bits_operation { BITS_AND, BITS_OR, BITS_XOR };
/* target = target op source, byte by byte. The two may not overlap. */
void bits_combine(enum bits_operation operation, unsigned char *target, const unsigned char *source,
                  size_t length);
void bits_invert(unsigned char *bytes, size_t length);

/* 1 <= width <= 64. */
uint64_t bits_field(const unsigned char *bytes, size_t length, uint64_t offset, unsigned width);
int64_t bits_field_signed(const unsigned char *bytes, size_t length, uint64_t offset,
                          unsigned width);
/* The low `width` bits of `value`. */
void bits_field_set(unsigned char *bytes, size_t length, uint64_t offset, unsigned width,
                    uint64_t value);

/* What becomes of a number that its field cannot hold. */
enum bits_overflow {
    BITS_WRAP,     /* its low bits are kept */
    BITS_SATURATE, /* the nearest number that fits */
    BITS_FAIL,
};
/* value + increment as a field of `width` bits holds it; false if it overflows and `overflow` is
 * BITS_FAIL. `value` itself need not fit. Unsigned: width <= 63. */
bool bits_add_signed(int64_t value, int64_t increment, unsigned width, enum bits_overflow overflow,
                     int64_t *result);
bool bits_add_unsigned(uint64_t value, int64_t increment, unsigned width,
                       enum bits_overflow overflow, uint64_t *result);
#endif
