/* SPDX-License-Identifier: BSD-3-Clause
 * Fuzzes the passing over of replies: the same bytes in pieces of any size give the same replies.
 *
 * Covers: src/peer/reply_scan.c
 *
 * The input's first byte is the size of a piece; the rest is what the other side sends.
 */
#include "base/panic.h"
#include "peer/reply_scan.h"

#define RECORD_MAX 4096

static uint8_t whole[RECORD_MAX], pieces[RECORD_MAX];

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Kinds of the replies, one byte each; ends with 255 where the bytes are no protocol. */
static size_t record_kinds(struct slice text, size_t piece, uint8_t *record) {
    struct reply_scanner scanner = {0};
    size_t count = 0;
    for (size_t from = 0; from < text.length; from += piece) {
        size_t left = text.length - from;
        const char *at = text.bytes + from, *end = at + (left < piece ? left : piece);
        while (at < end) {
            bool sound = true;
            enum scanned what = reply_scan(&scanner, &at, end, NULL, &sound);
            if (count == RECORD_MAX) return count;
            if (!sound) record[count++] = 255;
            if (!sound) return count;
            if (what != SCANNED_NONE) record[count++] = (uint8_t)what;
        }
    }
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2) return 0;
    struct slice text = {(const char *)data + 1, size - 1};
    size_t whole_count = record_kinds(text, text.length, whole);
    size_t count = record_kinds(text, (size_t)data[0] + 1, pieces);
    ASSERT(count == whole_count);
    ASSERT(!memcmp(whole, pieces, count));
    return 0;
}
