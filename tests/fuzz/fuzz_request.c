/* SPDX-License-Identifier: BSD-3-Clause
 * Fuzzes the request parser: any bytes, in any pieces, give what the same bytes give at once.
 *
 * Covers: src/net/request.c
 *
 * The input's first byte has the settings, the second how many bytes with sizes of pieces follow
 * (they are used in turn, again and again); the rest is what the client sends. The caller moves
 * the bytes to a block of their own length between the calls.
 */
#include "../c/net/feeder.h"

enum { AUTHENTICATED = 1, ROOM_AT_ONCE = 2, BULK_MAX_SHIFT = 2 };

/* Above that a line that is too long may be found too long by one splitting only. */
#define TEXT_BYTES_MAX 60000
#define SIZES_MAX 15
/* Size bytes above that mean a multiple of 256. */
#define SMALL_SIZE_MAX 200

static const int64_t bulk_maxes[] = {INT64_MAX, 512 * 1024 * 1024, 1000, REQUEST_BULK_MAX_LEAST};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void begin(struct feeder *f, unsigned settings) {
    feeder_begin(f, settings & AUTHENTICATED, bulk_maxes[settings >> BULK_MAX_SHIFT & 3]);
    f->room_at_once = settings & ROOM_AT_ONCE;
}

static size_t piece_size(uint8_t byte) {
    return byte <= SMALL_SIZE_MAX ? byte : (size_t)(byte - SMALL_SIZE_MAX) * 256;
}

static void feed_in_pieces(struct feeder *f, struct slice text, const uint8_t *sizes,
                           size_t count) {
    size_t empty = 0; /* in a row: sizes may all be 0 */
    for (size_t at = 0, turn = 0; at < text.length; turn++) {
        size_t piece = count && empty < count ? piece_size(sizes[turn % count]) : text.length;
        if (piece > text.length - at) piece = text.length - at;
        empty = piece ? 0 : empty + 1;
        feeder_bytes(f, text.bytes + at, piece);
        at += piece;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2) return 0;
    size_t sizes = data[1] % (SIZES_MAX + 1);
    if (size < 2 + sizes) return 0;
    struct slice text = {(const char *)data + 2 + sizes, size - 2 - sizes};
    if (text.length > TEXT_BYTES_MAX) text.length = TEXT_BYTES_MAX;

    struct feeder whole, pieces;
    begin(&whole, data[0]);
    begin(&pieces, data[0]);
    feeder_bytes(&whole, text.bytes, text.length);
    feed_in_pieces(&pieces, text, data + 2, sizes);
    ASSERT(slice_equal(buffer_slice(&whole.record), buffer_slice(&pieces.record)));
    ASSERT(whole.ended == pieces.ended);
    if (!whole.ended) {
        /* What is not complete must be held alike, too. */
        ASSERT(whole.parser.argc == pieces.parser.argc);
        ASSERT(whole.parser.arguments == pieces.parser.arguments);
        ASSERT(whole.parser.bulk_length == pieces.parser.bulk_length);
        for (int i = 0; i < whole.parser.argc; i++)
            ASSERT(slice_equal(whole.parser.argv[i], pieces.parser.argv[i]));
    }
    feeder_end(&whole);
    feeder_end(&pieces);
    return 0;
}
