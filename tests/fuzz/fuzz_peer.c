/* SPDX-License-Identifier: BSD-3-Clause
 * Fuzzes the parser of replies: any bytes, in any pieces, give what the same bytes give at once,
 * and never more than the limits allow.
 *
 * Covers: src/peer/peer_reply.c
 *
 * The input's first byte picks the limits, the second how many bytes with sizes of pieces follow
 * (they are used in turn, again and again); the rest is what the other side sends.
 */
#include "../c/peer/peer_feed.h"

#define TEXT_BYTES_MAX 60000
#define SIZES_MAX 15
/* Size bytes above that mean a multiple of 256. */
#define SMALL_SIZE_MAX 200
/* What the parser itself takes beside texts and nodes, growth by half included. */
#define SLACK_BYTES 65536

static const struct peer_limits choices[] = {
    {1 << 20, 100000}, {100, 1000}, {100000, 10}, {SIZE_MAX / 2, UINT32_MAX}};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t piece_size(uint8_t byte) {
    return byte <= SMALL_SIZE_MAX ? byte : (size_t)(byte - SMALL_SIZE_MAX) * 256;
}

static void feed_in_pieces(struct peer_parser *p, struct slice text, const uint8_t *sizes,
                           size_t count, struct buffer *record) {
    size_t empty = 0; /* in a row: sizes may all be 0 */
    for (size_t at = 0, turn = 0; at < text.length; turn++) {
        size_t piece = count && empty < count ? piece_size(sizes[turn % count]) : text.length;
        if (piece > text.length - at) piece = text.length - at;
        empty = piece ? 0 : empty + 1;
        if (!peer_feed(p, (struct slice){text.bytes + at, piece}, record)) return;
        at += piece;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2) return 0;
    size_t sizes = data[1] % (SIZES_MAX + 1);
    if (size < 2 + sizes) return 0;
    struct slice text = {(const char *)data + 2 + sizes, size - 2 - sizes};
    if (text.length > TEXT_BYTES_MAX) text.length = TEXT_BYTES_MAX;
    const struct peer_limits *limits = &choices[data[0] % 4];

    struct buffer whole, pieces;
    buffer_init(&whole, MEMORY_OTHER);
    buffer_init(&pieces, MEMORY_OTHER);
    size_t before = memory_used(MEMORY_CLIENTS);
    struct peer_parser *p = peer_parser_create(MEMORY_CLIENTS, limits);
    peer_feed(p, text, &whole);
    /* A byte of input makes at most a node of text and one of place, twice while they grow. */
    ASSERT(memory_used(MEMORY_CLIENTS) - before <=
           SLACK_BYTES + text.length * 2 + text.length * 2 * (sizeof(struct peer_reply) + 8));
    bool between = peer_parser_is_between(p);
    peer_parser_reset(p);
    feed_in_pieces(p, text, data + 2, sizes, &pieces);
    ASSERT(slice_equal(buffer_slice(&whole), buffer_slice(&pieces)));
    /* After an error the parser stands still where it was. */
    if (!peer_parser_error(p)) ASSERT(between == peer_parser_is_between(p));
    peer_parser_free(p);
    ASSERT(memory_used(MEMORY_CLIENTS) == before);
    buffer_free(&whole);
    buffer_free(&pieces);
    return 0;
}
