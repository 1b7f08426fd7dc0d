/* SPDX-License-Identifier: BSD-3-Clause
 * Streams: entries of fields with values under rising IDs, and the consumer groups that read them.
 *
 * Entries stand in listpacks (nodes) of the RDB format's layout, bounded by stream-node-max-bytes
 * and stream-node-max-entries. A radix tree finds a node by the ID of its first entry. A key may
 * have an empty stream, which keeps its last ID and groups. The value's pointer never changes, so
 * functions that change a stream take the value itself. Texts that are returned are valid until
 * entries change.
 */
#ifndef EVENKEEL_VALUE_STREAM_H
#define EVENKEEL_VALUE_STREAM_H
#include "base/attributes.h"
#include "value/value.h"

struct rax;

struct stream_id {
    uint64_t msec, sequence;
};
#define STREAM_ID_MAX ((struct stream_id){UINT64_MAX, UINT64_MAX})
#define STREAM_ID_CHARS 42 /* two numbers of 20 digits, '-' and a NUL */
/* Below 0, 0 or above 0, as memcmp. */
int stream_id_compare(struct stream_id a, struct stream_id b);
/* Steps to the next ID above, or below; false, with the ID unchanged, where there is none. */
MUST_USE bool stream_id_increase(struct stream_id *id);
MUST_USE bool stream_id_decrease(struct stream_id *id);
/* "msec-sequence" and a NUL; returns the length. */
size_t stream_id_print(struct stream_id id, char text[STREAM_ID_CHARS]);

/* The type's row and options. */
void value_stream_register(void);

struct value stream_create(void);
FOR_TESTS void stream_free(struct value v);
uint64_t stream_count(struct value v); /* entries */
struct stream_id stream_last_id(struct value v);
/* XSETID. The ID must not be below the last entry's ID. */
void stream_set_last_id(struct value v, struct stream_id id);
/* The highest, or the lowest, ID of an entry that is not deleted; false if there is none. */
MUST_USE bool stream_top_id(struct value v, struct stream_id *id);
MUST_USE bool stream_bottom_id(struct value v, struct stream_id *id);

/* Adds an entry of `pairs` fields with values, which `texts` has in turn. The ID must be above the
 * last ID. False, with nothing changed, where the entry is too large for a listpack. */
MUST_USE bool stream_append(struct value v, struct stream_id id, const struct slice *texts,
                            size_t pairs);
/* Returns false if there is no such entry. O(log nodes + node). */
bool stream_delete(struct value v, struct stream_id id);

enum stream_trim_by { STREAM_TRIM_NOT, STREAM_TRIM_COUNT, STREAM_TRIM_ID };
struct stream_trim {
    enum stream_trim_by by;
    uint64_t count;      /* entries that may stay */
    struct stream_id id; /* the lowest ID that may stay */
    bool whole_nodes;    /* `~`: delete whole nodes only */
    uint64_t limit;      /* with whole_nodes: the most entries to look at; 0 = all */
};
/* Deletes the oldest entries; returns how many. */
uint64_t stream_trim(struct value v, const struct stream_trim *trim);

/* Walks the entries first <= ID <= last, upwards or downwards. The entries may not change between
 * the steps. */
struct stream_cursor {
    struct stream_id id; /* of the entry reached */
    size_t pairs;        /* its fields */

    /* Private. */
    const struct stream *stream;
    struct stream_id first, last, node_id;
    const struct listpack *node; /* NULL = no further entry */
    uint64_t node_fields;        /* those of the node's first entry */
    size_t pairs_left;
    uint32_t node_fields_at, entries_at, entry_at, field_at, text_at;
    bool backwards, shares_fields;
};
void stream_cursor_start(struct stream_cursor *c, struct value v, struct stream_id first,
                         struct stream_id last, bool backwards);
/* Moves to the first or the next entry; false at the end. */
MUST_USE bool stream_cursor_step(struct stream_cursor *c);
/* The next field of the entry with its value; false after the last. */
MUST_USE bool stream_cursor_pair(struct stream_cursor *c, struct listpack_value *field,
                                 struct listpack_value *text);
/* Returns true if the entry exists. */
bool stream_has(struct value v, struct stream_id id);

/* ---- Consumer groups ---- */

struct stream_consumer {
    int64_t seen_msec;   /* Unix time at which it was last active */
    struct rax *pending; /* struct stream_pending by ID (16 bytes, highest first) */
    struct slice name;   /* lives as long as the consumer */
};
struct stream_group {
    struct stream_id last_id;
    struct rax *pending;   /* struct stream_pending by ID, of all consumers */
    struct rax *consumers; /* struct stream_consumer by name */
};
/* An entry that was delivered and not acknowledged. */
struct stream_pending {
    int64_t delivered_msec; /* Unix time */
    uint64_t deliveries;
    struct stream_consumer *consumer;
};
#define STREAM_KEY_BYTES 16
/* An ID as a key of `pending`, and back. */
struct slice stream_id_key(struct stream_id id, char key[STREAM_KEY_BYTES]);
struct stream_id stream_id_of_key(struct slice key);

/* struct stream_group by name; NULL if the stream never had a group. */
const struct rax *stream_groups(struct value v);
/* Finds a group by its name. Returns NULL if the stream has no such group. */
struct stream_group *stream_group_find(struct value v, struct slice name);
/* Creates a group. Returns NULL if the stream has a group of this name. */
struct stream_group *stream_group_create(struct value v, struct slice name, struct stream_id last);
/* Moves the group, with consumers and pending entries, to `*taken`: a stream that has nothing else,
 * and that the caller only frees, perhaps in steps. Returns false if there is no such group.
 * O(consumers). */
bool stream_group_take(struct value v, struct slice name, struct value *taken);
/* Finds a consumer by its name. Returns NULL if the group has no such consumer. */
struct stream_consumer *stream_consumer_find(struct stream_group *g, struct slice name);
/* Creates a consumer. Returns NULL if the group has a consumer of this name. */
struct stream_consumer *stream_consumer_create(struct value v, struct stream_group *g,
                                               struct slice name, int64_t now_msec);
/* Moves the consumer, with its pending entries, to `*taken`: a stream that the caller only frees.
 * Returns how many entries were pending. O(1) where no other consumer of the group has pending
 * entries, else O(pending). */
size_t stream_consumer_take(struct value v, struct stream_group *g, struct stream_consumer *c,
                            struct value *taken);
/* Returns NULL if the entry is not pending. */
struct stream_pending *stream_pending_find(const struct stream_group *g, struct stream_id id);
/* Makes the entry pending for this consumer, even if another one has it. An entry that was not
 * pending gets 0 deliveries, at time 0. */
struct stream_pending *stream_pending_assign(struct value v, struct stream_group *g,
                                             struct stream_consumer *c, struct stream_id id);
/* Acknowledges the entry. Returns false if it was not pending. */
bool stream_pending_remove(struct value v, struct stream_group *g, struct stream_id id);

/* ---- For saving, loading and XINFO ---- */

/* The listpacks by the ID of their first entry. */
const struct rax *stream_nodes(struct value v);
/* Adds foreign bytes as the last node, under this ID, and raises count and last ID; drops a node
 * without live entries. False, with nothing changed, where the bytes are no valid node or the ID is
 * not above the last ID. */
FOR_TESTS bool stream_take_node(struct value v, struct stream_id id, const void *bytes,
                                size_t size);
/* Asserts the invariants; walks everything. */
FOR_TESTS void stream_check(struct value v);
#endif
