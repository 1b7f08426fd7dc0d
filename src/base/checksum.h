/* SPDX-License-Identifier: BSD-3-Clause
 * CRC-64 with Jones' polynomial, as RDB files and DUMP use it: it finds accidents, not attacks.
 *
 * The polynomial is 0xad93d23594c935a9, bits are taken in reflected order, the sum begins with 0
 * and is not inverted at the end; the sum of "123456789" is e9c6d914c4b8d9ca. A sum is continued by
 * passing it to the next call. The function is a stream_checksum of base/stream.h.
 */
#ifndef EVENKEEL_BASE_CHECKSUM_H
#define EVENKEEL_BASE_CHECKSUM_H
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

/* The sum of the bytes that `sum` covers and of `length` bytes more. Takes 16 bytes at a time where
 * the processor has carry-less multiplication (PCLMULQDQ), 8 otherwise. O(length). Any thread. */
uint64_t checksum_crc64(uint64_t sum, const void *bytes, size_t length);
/* checksum_crc64 as computed by tables, on a processor without PCLMULQDQ. */
FOR_TESTS uint64_t checksum_crc64_by_tables(uint64_t sum, const void *bytes, size_t length);
#endif
