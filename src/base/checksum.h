/* SPDX-License-Identifier: BSD-3-Clause
 * CRC-64 with Jones' polynomial, as RDB files and DUMP use it: against accidents, not attackers.
 *
 * The polynomial is 0xad93d23594c935a9, bits are taken in reflected order, the sum begins with 0
 * and is not inverted at the end; the sum of "123456789" is e9c6d914c4b8d9ca. A sum is continued by
 * giving it back: it fits base/stream.h's stream_checksum.
 */
#ifndef EVENKEEL_BASE_CHECKSUM_H
#define EVENKEEL_BASE_CHECKSUM_H
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

/* The sum of what `sum` stood for and `length` bytes more. Takes 16 bytes at a time where the
 * processor multiplies without carries, 8 otherwise. */
uint64_t checksum_crc64(uint64_t sum, const void *bytes, size_t length);
/* The same by tables, as on a processor without that. */
FOR_TESTS uint64_t checksum_crc64_by_tables(uint64_t sum, const void *bytes, size_t length);
#endif
