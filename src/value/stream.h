/* SPDX-License-Identifier: BSD-3-Clause
 * Streams: entries of fields with values under rising IDs, and the consumer groups that read them.
 *
 * Entries stand in listpacks (nodes) under the ID of their first one in a radix tree, in the layout
 * of the RDB format, within stream-node-max-bytes and stream-node-max-entries. A stream may be
 * empty: a key keeps it, with its last ID and groups. The value's pointer never moves, so what
 * changes a stream takes the value itself. Texts that are handed out live until entries change.
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
/* As memcmp tells. */
int stream_id_compare(struct stream_id a, struct stream_id b);
/* The ID above, the ID below; false where there is none, and the ID stays. */
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
/* XSETID. The ID must not be below that of the last entry. */
void stream_set_last_id(struct value v, struct stream_id id);
/* ID of the entry with the highest, or the lowest, that is not deleted; false where there is none.
 */
MUST_USE bool stream_top_id(struct value v, struct stream_id *id);
MUST_USE bool stream_bottom_id(struct value v, struct stream_id *id);

/* Adds an entry of `pairs` fields with values: `texts` holds them in turn. The ID must be above the
 * last one. False, with nothing changed, where the entry is too large for a listpack. */
MUST_USE bool stream_append(struct value v, struct stream_id id, const struct slice *texts,
                            size_t pairs);
/* False where there is no such entry. O(log nodes + node). */
bool stream_delete(struct value v, struct stream_id id);

enum stream_trim_by { STREAM_TRIM_NOT, STREAM_TRIM_COUNT, STREAM_TRIM_ID };
struct stream_trim {
    enum stream_trim_by by;
    uint64_t count;      /* entries that may stay */
    struct stream_id id; /* the lowest that may stay */
    bool whole_nodes;    /* `~`: only nodes that go whole */
    uint64_t limit;      /* entries looked at, at most, with whole_nodes; 0 = no limit */
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
/* To the first or the next entry; false at the end. */
MUST_USE bool stream_cursor_step(struct stream_cursor *c);
/* The next field of the entry with its value; false after the last. */
MUST_USE bool stream_cursor_pair(struct stream_cursor *c, struct listpack_value *field,
                                 struct listpack_value *text);
/* True where the entry is there. */
bool stream_has(struct value v, struct stream_id id);

/* ---- Consumer groups ---- */

struct stream_consumer {
    int64_t seen_msec;   /* Unix time at which it was last heard of */
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

/* struct stream_group by name; NULL where there never was one. */
const struct rax *stream_groups(struct value v);
/* NULL where there is none. */
struct stream_group *stream_group_find(struct value v, struct slice name);
/* NULL where there is one already. */
struct stream_group *stream_group_create(struct value v, struct slice name, struct stream_id last);
/* Takes the group out, with consumers and all: into a stream that has nothing else, and that is
 * only to be freed, as long as that takes. False where there is none. O(consumers). */
bool stream_group_take(struct value v, struct slice name, struct value *taken);
/* NULL where there is none. */
struct stream_consumer *stream_consumer_find(struct stream_group *g, struct slice name);
/* NULL where there is one already. */
struct stream_consumer *stream_consumer_create(struct value v, struct stream_group *g,
                                               struct slice name, int64_t now_msec);
/* Takes the consumer out, with what is pending for it: into a stream that is only to be freed.
 * Returns how many entries were pending. O(1) where no other consumer has any, else O(pending). */
size_t stream_consumer_take(struct value v, struct stream_group *g, struct stream_consumer *c,
                            struct value *taken);
/* NULL where it is not pending. */
struct stream_pending *stream_pending_find(const struct stream_group *g, struct stream_id id);
/* The entry is pending for this consumer from now on, whoever had it before; a new one has been
 * delivered 0 times, at time 0. */
struct stream_pending *stream_pending_assign(struct value v, struct stream_group *g,
                                             struct stream_consumer *c, struct stream_id id);
/* Acknowledged. False where it was not pending. */
bool stream_pending_remove(struct value v, struct stream_group *g, struct stream_id id);

/* ---- For saving, loading and XINFO ---- */

/* Listpacks by the ID of their first entry. */
const struct rax *stream_nodes(struct value v);
/* Adds foreign bytes as a node behind all others, whose first entry has this ID, raising count and
 * last ID. False, with nothing changed, where they are not a good node or not behind all others. */
FOR_TESTS bool stream_take_node(struct value v, struct stream_id id, const void *bytes,
                                size_t size);
/* Asserts the invariants; walks everything. */
FOR_TESTS void stream_check(struct value v);
#endif
