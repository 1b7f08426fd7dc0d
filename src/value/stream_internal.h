/* SPDX-License-Identifier: BSD-3-Clause
 * What the two files of streams share: the value itself, and what the row needs of the groups.
 */
#ifndef EVENKEEL_VALUE_STREAM_INTERNAL_H
#define EVENKEEL_VALUE_STREAM_INTERNAL_H
#include "value/stream.h"

struct stream {
    struct rax *nodes; /* listpacks by the ID of their first entry */
    uint64_t count;
    struct stream_id last_id;
    struct stream_id tail_id; /* the last node's key, where there is a node */
    void **tail;              /* where the tree has the last node; NULL = to be looked up */
    size_t node_bytes;        /* of the listpacks */

    /* A node that trims have begun to empty: so many bytes of its entries are deleted ones. */
    const struct listpack *front;
    uint32_t front_bytes;

    struct stream_groups *groups; /* NULL before the first */
};

struct stream_groups {
    struct rax *by_name;
    size_t bytes;  /* everything of them but `by_name` and this */
    size_t blocks; /* consumers and pending entries */
};

static inline struct stream *stream_of(struct value v) { return v.pointer; }

/* O(1). */
size_t stream_groups_bytes(const struct stream *s);
size_t stream_groups_free_effort(const struct stream *s);
/* Frees groups, consumers and what is pending, about `effort` blocks (> 0) of it; true when all is
 * gone. Until then stream_groups_bytes tells what is left, and nothing else may be asked. */
bool stream_groups_free_step(struct stream *s, size_t effort);
/* Copies them into a stream that has none. */
void stream_groups_copy(const struct stream *from, struct stream *to);
void stream_groups_check(const struct stream *s);
#endif
