/* SPDX-License-Identifier: BSD-3-Clause
 * Pieces: what of a key goes from who sees the data of one moment to who encodes it.
 *
 * The one only copies, or names what will not change until it is encoded; the other makes of it
 * what stands in the file, at leisure and in any thread. Pieces stand one behind another in blocks
 * (io/pipeline), each on a multiple of 8 bytes, and what they become follows in the same order.
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
    PIECE_ENTRY,    /* a copy of an entry; what it points to stays */
    PIECE_FLAT,     /* struct piece_flat */
    PIECE_ADDRESS,  /* of an entry that stays */
    PIECE_DEFERRED, /* what a value's saving has put off (enum saved_deferred) */
    PIECE_PART,     /* of such: more follow, the last of which is `ends` */
    PIECE_OWNED     /* the same whole: struct slice of a block (MEMORY_SAVES) that goes with it */
};

struct piece {
    uint8_t kind;         /* enum piece_kind */
    uint8_t how;          /* enum saved_deferred */
    uint8_t begins, ends; /* a key; a text in parts */
    uint32_t bytes;       /* behind this header */
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

/* What a key is made into besides its value, about. */
#define PIECE_KEY_WEIGHT 48

/* The whole key, in one piece, for a pipeline: for who saves while nothing changes. */
void piece_give_entry(struct pipeline *p, const struct entry *e);
void piece_give_bytes(struct pipeline *p, struct slice bytes);

/* Recency stands before the key it is said of, where the policy keeps any: what of it the file
 * gets. 0: nothing. Main thread, or a child's. */
#define PIECE_RECENCY_BYTES_MAX 8
bool piece_has_recency(void);
size_t piece_recency(const struct entry *e, char out[PIECE_RECENCY_BYTES_MAX]);

/* A block, as a snapshot has it; as commands. For pipeline_create; any thread. */
void piece_encode_snapshot(struct slice block, struct sink *out);
void piece_encode_commands(struct slice block, struct sink *out);

/* A key as a snapshot has it, up to its value: deadline, form, name. */
void piece_write_head(const struct entry *e, struct sink *out);
/* The command that sets the deadline, which comes last: nothing where there is none. */
void piece_write_deadline(const struct entry *e, struct sink *out);
#endif
