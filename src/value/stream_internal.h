/* SPDX-License-Identifier: BSD-3-Clause
 * The part that the two files of streams share: the value itself, and the groups' functions for the
 * type's row.
 */
#ifndef EVENKEEL_VALUE_STREAM_INTERNAL_H
#define EVENKEEL_VALUE_STREAM_INTERNAL_H
#include "value/stream.h"

struct relocation;

struct stream {
    struct rax *nodes; /* listpacks by the ID of their first entry */
    uint64_t count;
    struct stream_id last_id;
    struct stream_id tail_id; /* the last node's key, where there is a node */
    void **tail;              /* the last node's place in the tree; NULL = to be looked up */
    size_t node_bytes;        /* of the listpacks */

    /* A node that trims have begun to empty: its first `front_bytes` bytes of entries are deleted
     * entries. */
    const struct listpack *front;
    uint32_t front_bytes;

    struct stream_groups *groups; /* NULL before the first */
};

struct stream_groups {
    struct rax *by_name;
    size_t bytes;  /* of all but `by_name` and this struct */
    size_t blocks; /* consumers and pending entries */
};

static inline struct stream *stream_of(struct value v) { return v.pointer; }

/* O(1). */
size_t stream_groups_bytes(const struct stream *s);
size_t stream_groups_free_effort(const struct stream *s);
/* Frees about `effort` (> 0) blocks of groups, consumers and pending entries; true when all is
 * gone. After the first call only this function and stream_groups_bytes, which tells what is left,
 * may be called. */
bool stream_groups_free_step(struct stream *s, size_t effort);
/* Copies all groups into a stream that has none. */
void stream_groups_copy(const struct stream *from, struct stream *to);
/* Moves blocks of the groups that are wanted elsewhere, from the first on where `begins`, else from
 * where the last call stopped, until `r`'s budget is spent; true at the end. The stream may change
 * between two calls, and be another one. */
MUST_USE bool stream_groups_relocate(struct stream *s, bool begins, struct relocation *r);
void stream_groups_check(const struct stream *s);
#endif
