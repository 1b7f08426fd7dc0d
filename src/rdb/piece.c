/* SPDX-License-Identifier: BSD-3-Clause
 * Pieces of a save, given and encoded.
 *
 * In the log's commands a deadline comes last, so that no key expires while it is being created.
 */
#include "rdb/piece.h"

#include <errno.h>
#include <string.h>

#include "base/memory.h"
#include "base/panic.h"
#include "base/stream.h"
#include "io/pipeline.h"
#include "rdb/rdb_format.h"
#include "store/entry.h"
#include "store/evict.h"
#include "store/recency.h"
#include "value/rewritten.h"
#include "value/saved.h"

/* Larger entries (those with a very long key) are handed over by address instead of copied. */
#define COPIED_BYTES_MAX 4096

/* ---- giving ---- */

static void piece_give(struct pipeline *p, enum piece_kind kind, const void *body, size_t bytes,
                       size_t weight) {
    struct piece *piece = pipeline_room(p, sizeof(*piece) + bytes);
    *piece = (struct piece){.kind = (uint8_t)kind, .bytes = (uint32_t)bytes};
    memcpy(piece->body, body, bytes);
    pipeline_give(p, sizeof(*piece) + bytes, weight);
}

void piece_give_bytes(struct pipeline *p, struct slice bytes) {
    piece_give(p, PIECE_BYTES, bytes.bytes, bytes.length, bytes.length);
}

void piece_give_entry(struct pipeline *p, const struct entry *e) {
    size_t bytes = entry_allocation(e), weight = PIECE_KEY_WEIGHT + bytes + entry_outside_bytes(e);
    if (bytes <= COPIED_BYTES_MAX)
        piece_give(p, PIECE_ENTRY, e, bytes, weight);
    else
        piece_give(p, PIECE_ADDRESS, &e, sizeof(e), weight);
}

/* ---- a key ---- */

bool piece_has_recency(void) {
    return recency_uses_frequency() || evict_policy() == EVICT_VOLATILE_LRU ||
           evict_policy() == EVICT_ALLKEYS_LRU;
}

/* The sink has only its window: more bytes than that are refused. */
static bool no_more(struct sink *s, const void *more, size_t length) {
    errno = ENOSPC;
    return false;
}

static const struct sink_type window_only = {.drain = no_more};

size_t piece_recency(const struct entry *e, char bytes[PIECE_RECENCY_BYTES_MAX]) {
    struct sink out;
    if (!piece_has_recency()) return 0;
    sink_init(&out, &window_only, bytes, PIECE_RECENCY_BYTES_MAX);
    if (recency_uses_frequency()) {
        sink_write_byte(&out, RDB_FREQUENCY);
        sink_write_byte(&out, (unsigned char)recency_frequency(e));
    } else {
        sink_write_byte(&out, RDB_IDLE);
        saved_write_length(&out, recency_idle_seconds(e));
    }
    ASSERT(!sink_error(&out));
    return sink_window(&out).length;
}

static void write_head(const struct entry *e, struct value v, struct sink *out) {
    if (entry_has_deadline(e)) {
        sink_write_byte(out, RDB_DEADLINE_MSEC);
        saved_write_number(out, (uint64_t)entry_deadline(e), 8);
    }
    saved_write_form(out, (enum value_kind)e->type, v);
    saved_write_text(out, entry_key(e));
}

void piece_write_head(const struct entry *e, struct sink *out) {
    struct string_value room;
    write_head(e, entry_value(e, &room), out);
}

void piece_write_deadline(const struct entry *e, struct sink *out) {
    if (!entry_has_deadline(e)) return;
    rewritten_begin(out, 3);
    rewritten_text(out, SLICE("PEXPIREAT"));
    rewritten_text(out, entry_key(e));
    rewritten_integer(out, entry_deadline(e));
}

/* ---- encoding ---- */

typedef void write_key(const struct entry *e, struct value v, struct sink *out);

static void save_key(const struct entry *e, struct value v, struct sink *out) {
    write_head(e, v, out);
    saved_write_value(out, (enum value_kind)e->type, v, entry_key(e));
}

static void rewrite_key(const struct entry *e, struct value v, struct sink *out) {
    rewritten_write_value(out, (enum value_kind)e->type, v, entry_key(e));
    piece_write_deadline(e, out);
}

static void encode_entry(const struct entry *e, struct sink *out, write_key *write) {
    struct string_value room;
    write(e, entry_value(e, &room), out);
}

/* The copied entry's pointer may lead to freed memory: the value is the copy behind it. */
static void encode_flat(const struct piece_flat *flat, struct sink *out, write_key *write) {
    const struct entry *e = (const struct entry *)(const void *)flat->body;
    void *bytes = (void *)(uintptr_t)(flat->body + piece_aligned(flat->entry_bytes));
    struct string_value text = {.encoding = e->encoding, .text = {bytes, flat->value_bytes}};
    write(e, (struct value){e->type == ENTRY_STRING ? &text : bytes, e->encoding}, out);
}

static void encode_owned(const struct piece *piece, struct sink *out) {
    struct slice text;
    memcpy(&text, piece->body, sizeof(text));
    saved_write_deferred(out, piece->how, text);
    memory_free((void *)(uintptr_t)text.bytes, MEMORY_SAVES);
}

static void encode_piece(const struct piece *piece, struct sink *out, write_key *write) {
    const void *body = piece->body;
    const struct entry *e;
    switch ((enum piece_kind)piece->kind) {
    case PIECE_BYTES: sink_write(out, body, piece->bytes); break;
    case PIECE_ENTRY: encode_entry(body, out, write); break;
    case PIECE_FLAT: encode_flat(body, out, write); break;
    case PIECE_ADDRESS:
        memcpy(&e, body, sizeof(e));
        encode_entry(e, out, write);
        break;
    case PIECE_DEFERRED:
        saved_write_deferred(out, piece->how, (struct slice){body, piece->bytes});
        break;
    case PIECE_OWNED: encode_owned(piece, out); break;
    case PIECE_PART: ASSERT(false); /* the giver to the pipeline has joined them */
    }
}

/* Blocks of PIECE_OWNED are freed also after the sink has failed. */
static void encode_block(struct slice block, struct sink *out, write_key *write) {
    for (size_t at = 0; at < block.length;) {
        const struct piece *piece = (const struct piece *)(const void *)(block.bytes + at);
        if (!sink_error(out) || piece->kind == PIECE_OWNED) encode_piece(piece, out, write);
        at += piece_span(piece);
    }
}

void piece_encode_snapshot(struct slice block, struct sink *out) {
    encode_block(block, out, save_key);
}

void piece_encode_commands(struct slice block, struct sink *out) {
    encode_block(block, out, rewrite_key);
}
