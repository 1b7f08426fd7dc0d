/* SPDX-License-Identifier: BSD-3-Clause
 * A caller of the reply parser for its test and its fuzzer: gives it bytes in any pieces, and
 * writes down the replies as text. However the bytes are split, the record must be the same.
 *
 * The record: +text -text :1 "text" nil ,1.5 #1 (123 [array] {map} <set> >[push]; a line a reply,
 * and "error: ..." at the end where one came.
 */
#ifndef EVENKEEL_TESTS_PEER_PEER_FEED_H
#define EVENKEEL_TESTS_PEER_PEER_FEED_H
#include <inttypes.h>

#include "base/panic.h"
#include "peer/peer_reply.h"

static inline const char *peer_feed_opening(enum peer_type type) {
    switch (type) {
    case PEER_ARRAY: return "[";
    case PEER_MAP: return "{";
    case PEER_SET: return "<";
    case PEER_PUSH: return ">[";
    default: return NULL;
    }
}

/* Checks the counts of nodes on its way; depth is bounded by the parser. */
static inline void peer_feed_write(struct buffer *out, const struct peer_reply *reply) {
    const char *opening = peer_feed_opening(reply->type);
    ASSERT(peer_reply_is_aggregate(reply) == (opening != NULL));
    if (opening) {
        buffer_append_c_string(out, opening);
        const struct peer_reply *child = peer_reply_first(reply);
        for (uint32_t i = 0; i < reply->children; i++, child = peer_reply_next(child)) {
            if (i) buffer_append_char(out, ' ');
            peer_feed_write(out, child);
        }
        ASSERT(child == reply + reply->nodes);
        buffer_append_char(out, reply->type == PEER_MAP   ? '}'
                                : reply->type == PEER_SET ? '>'
                                                          : ']');
        return;
    }
    ASSERT(reply->nodes == 1 && reply->children == 0);
    switch (reply->type) {
    case PEER_INTEGER: buffer_printf(out, ":%" PRId64, reply->integer); return;
    case PEER_BOOLEAN: buffer_printf(out, "#%" PRId64, reply->integer); return;
    case PEER_DOUBLE: buffer_printf(out, ",%.17g", reply->real); return;
    case PEER_NIL: buffer_append_c_string(out, "nil"); return;
    case PEER_STATUS: buffer_append_char(out, '+'); break;
    case PEER_ERROR: buffer_append_char(out, '-'); break;
    case PEER_BIG_NUMBER: buffer_append_char(out, '('); break;
    default: break;
    }
    buffer_append_quoted(out, reply->text);
}

/* Gives all bytes to the parser, from a block of their own, so that a sanitizer sees a read beyond
 * them; false after an error. */
static inline bool peer_feed(struct peer_parser *p, struct slice piece, struct buffer *record) {
    char *block = memory_alloc(piece.length, MEMORY_OTHER);
    if (piece.length) memcpy(block, piece.bytes, piece.length);
    const char *cursor = block, *end = block + piece.length;
    enum peer_parse_status status;
    while ((status = peer_parse(p, &cursor, end)) == PEER_PARSE_READY) {
        ASSERT(cursor <= end);
        peer_feed_write(record, peer_parser_reply(p));
        buffer_append_char(record, '\n');
    }
    if (status == PEER_PARSE_ERROR) {
        buffer_printf(record, "error: %s\n", peer_parser_error(p));
    } else {
        ASSERT(cursor == end && !peer_parser_error(p));
    }
    memory_free(block, MEMORY_OTHER);
    return status != PEER_PARSE_ERROR;
}
#endif
