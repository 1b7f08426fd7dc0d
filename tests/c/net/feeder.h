/* SPDX-License-Identifier: BSD-3-Clause
 * A caller of the request parser for its test and its fuzzer: gives it bytes in any pieces, moves
 * them between the calls, and writes down what comes out.
 *
 * The record is text: a line of quoted words a request, "empty" for one without words, and at the
 * end "error: ..." or "limit: ...". However the bytes are split, the record must be the same. The
 * bytes stand at the end of their block, so that a sanitizer sees a read beyond them.
 */
#ifndef EVENKEEL_TESTS_NET_FEEDER_H
#define EVENKEEL_TESTS_NET_FEEDER_H
#include "base/panic.h"
#include "net/request.h"

struct feeder {
    struct request_parser parser; /* its argv is owned */
    char *block;
    size_t start, length; /* of the bytes in the block: where the present request begins, the end */
    size_t parsed;        /* how far the parser is */
    bool room_at_once;    /* after ROOM: give all places that are asked for, or a few more */
    bool ended;
    struct buffer storage, record;
};

static inline void feeder_begin(struct feeder *f, bool authenticated, int64_t bulk_max) {
    *f = (struct feeder){.parser = {.authenticated = authenticated, .bulk_max = bulk_max}};
    request_parser_reset(&f->parser);
    buffer_init(&f->storage, MEMORY_OTHER);
    buffer_init(&f->record, MEMORY_OTHER);
}

static inline void feeder_end(struct feeder *f) {
    memory_free(f->block, MEMORY_OTHER);
    memory_free(f->parser.argv, MEMORY_OTHER);
    buffer_free(&f->storage);
    buffer_free(&f->record);
}

/* Drops what is done and adds a piece; all bytes get a new address. */
static inline void feeder_move(struct feeder *f, const char *piece, size_t piece_length) {
    size_t kept = f->length - f->start, length = kept + piece_length;
    size_t size = memory_good_size(length);
    char *block = memory_alloc(size, MEMORY_OTHER);
    char *bytes = block + size - length;
    if (kept) memcpy(bytes, f->block + f->start, kept);
    if (piece_length) memcpy(bytes + kept, piece, piece_length);
    if (f->block) request_parser_rebase(&f->parser, f->block + f->start, bytes);
    f->parsed = (size_t)(bytes - block) + f->parsed - f->start;
    f->start = (size_t)(bytes - block);
    f->length = size;
    memory_free(f->block, MEMORY_OTHER);
    f->block = block;
}

static inline void feed_grow_arguments(struct feeder *f) {
    struct request_parser *p = &f->parser;
    ASSERT(p->room > p->capacity);
    int64_t places = f->room_at_once ? p->room : p->capacity + 1 + p->capacity / 2;
    if (places > p->room) places = p->room;
    struct slice *moved = memory_alloc((size_t)places * sizeof(*moved), MEMORY_OTHER);
    if (p->argc) memcpy(moved, p->argv, (size_t)p->argc * sizeof(*moved));
    memory_free(p->argv, MEMORY_OTHER);
    p->argv = moved;
    p->capacity = (int)places;
}

static inline void feed_write_request(struct feeder *f) {
    const struct request_parser *p = &f->parser;
    ASSERT(p->argc >= 0 && p->argc <= p->capacity);
    for (int i = 0; i < p->argc; i++) {
        if (i) buffer_append_char(&f->record, ' ');
        buffer_append_quoted(&f->record, p->argv[i]);
    }
    buffer_append_c_string(&f->record, p->argc ? "\n" : "empty\n");
}

static inline void feed_write_error(struct feeder *f, const char *kind) {
    char text[128];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(text, sizeof(text), f->parser.error, f->parser.error_byte);
#pragma GCC diagnostic pop
    buffer_printf(&f->record, "%s: %s\n", kind, text);
    f->ended = true;
}

/* One call of the parser; false where it wants more bytes, or nothing more. */
static inline bool feed_parse_once(struct feeder *f) {
    struct request_parser *p = &f->parser;
    const char *cursor = f->block + f->parsed, *end = f->block + f->length;
    enum request_status status = request_parse(p, &cursor, end, &f->storage);
    ASSERT(cursor >= f->block + f->parsed && cursor <= end);
    f->parsed = (size_t)(cursor - f->block);
    switch (status) {
    case REQUEST_INCOMPLETE: return false;
    case REQUEST_ROOM: feed_grow_arguments(f); return true;
    case REQUEST_ERROR: feed_write_error(f, "error"); return false;
    case REQUEST_LIMIT: feed_write_error(f, "limit"); return false;
    case REQUEST_READY: break;
    }
    feed_write_request(f);
    request_parser_reset(p);
    buffer_clear(&f->storage);
    f->start = f->parsed;
    return true;
}

static inline void feeder_bytes(struct feeder *f, const char *piece, size_t piece_length) {
    if (f->ended) return;
    feeder_move(f, piece, piece_length);
    while (feed_parse_once(f)) continue;
}
#endif
