/* SPDX-License-Identifier: BSD-3-Clause
 * Pieces: parts of a key, handed from the thread that sees the data of one moment to the thread
 * that encodes them.
 *
 * The first thread only copies bytes, or gives the address of data that will not change until it is
 * encoded. The encoding can be done later and by any thread. Pieces stand one behind another in
 * blocks (io/pipeline), each on a multiple of 8 bytes; their output comes in the same order.
 */
#ifndef EVENKEEL_RDB_PIECE_H
#define EVENKEEL_RDB_PIECE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/string.h"

struct entry;
struct pipeline;
struct sink;

enum piece_kind {
    PIECE_BYTES,    /* as they stand in the file */
    PIECE_ENTRY,    /* a copy of an entry; what the entry points to stays unchanged */
    PIECE_FLAT,     /* struct piece_flat */
    PIECE_ADDRESS,  /* the address of an entry that stays unchanged */
    PIECE_DEFERRED, /* bytes that are encoded later, by `how` */
    PIECE_PART,     /* a part of a PIECE_DEFERRED; more follow, the last one has `ends` */
    PIECE_OWNED     /* a PIECE_DEFERRED whole: struct slice of a block (MEMORY_SAVES), freed with
                     * the piece */
};

struct piece {
    uint8_t kind;         /* enum piece_kind */
    uint8_t how;          /* enum saved_deferred */
    uint8_t begins, ends; /* `begins`: a key; `ends`: a text in parts */
    uint32_t bytes;       /* how many follow this header */
    _Alignas(8) unsigned char body[];
};

/* A copy of an entry, and of the one block that its value is (value/value.h, `flat`; or a long
 * string's text). */
struct piece_flat {
    uint32_t entry_bytes, value_bytes;
    _Alignas(8) unsigned char body[]; /* the entry; on the next multiple of 8 the value */
};

static inline size_t piece_aligned(size_t bytes) { return (bytes + 7) & ~(size_t)7; }
/* From one piece to the next. */
static inline size_t piece_span(const struct piece *p) {
    return piece_aligned(sizeof(*p) + p->bytes);
}

/* About how many bytes a key's output has besides its value. */
#define PIECE_KEY_WEIGHT 48

/* Gives the pipeline a whole key in one piece. The data must not change until it is encoded. */
void piece_give_entry(struct pipeline *p, const struct entry *e);
void piece_give_bytes(struct pipeline *p, struct slice bytes);

/* Where the policy keeps recency, the file has it before its key. piece_recency puts those bytes
 * into `out` and returns their number, 0 = none. Call both from the thread that sees the entry. */
#define PIECE_RECENCY_BYTES_MAX 8
bool piece_has_recency(void);
size_t piece_recency(const struct entry *e, char out[PIECE_RECENCY_BYTES_MAX]);

/* Encode a block of pieces: into a snapshot's bytes, or into commands. For pipeline_create; any
 * thread. */
void piece_encode_snapshot(struct slice block, struct sink *out);
void piece_encode_commands(struct slice block, struct sink *out);

/* Writes a key in a snapshot's form, up to its value: deadline, form, name. */
void piece_write_head(const struct entry *e, struct sink *out);
/* Writes the command that sets the deadline, which comes after the key's other commands; nothing
 * where the key has none. */
void piece_write_deadline(const struct entry *e, struct sink *out);
#endif
