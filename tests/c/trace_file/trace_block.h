/* SPDX-License-Identifier: BSD-3-Clause
 * Blocks of trace files with good checksums, whatever is in them: for tests of what is behind the
 * checksum.
 */
#ifndef EVENKEEL_TESTS_TRACE_FILE_TRACE_BLOCK_H
#define EVENKEEL_TESTS_TRACE_FILE_TRACE_BLOCK_H
#include <stdint.h>

#include "base/checksum.h"
#include "base/string.h"

/* Appends a block as docs/traces.md describes it; `ordinal` is its number in the file. */
static inline void trace_block_append(struct buffer *file, uint64_t ordinal, char kind,
                                      struct slice payload) {
    struct buffer b = {.class = MEMORY_OTHER};
    for (unsigned i = 0; i < 8; i++) buffer_append_char(&b, (char)(ordinal >> (8 * i)));
    buffer_append_char(&b, kind);
    for (unsigned i = 0; i < 4; i++) buffer_append_char(&b, (char)(payload.length >> (8 * i)));
    buffer_append(&b, payload.bytes, payload.length);
    uint64_t sum = checksum_crc64(0, b.bytes, b.length);
    for (unsigned i = 0; i < 8; i++) buffer_append_char(&b, (char)(sum >> (8 * i)));
    buffer_append(file, b.bytes + 8, b.length - 8);
    buffer_free(&b);
}
#endif
