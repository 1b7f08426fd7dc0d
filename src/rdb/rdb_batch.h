/* SPDX-License-Identifier: BSD-3-Clause
 * Batches: keys of a snapshot on their way from the file into the databases, whose values other
 * threads build (io/crew.h).
 *
 * The loader copies what the file has of a key, builds nothing, and reads on; who has time makes
 * the entry. What the loader has built itself goes the same way, so that keys come in the order of
 * the file.
 *
 * Building allocates, reads options of the types, and grows the value's own tables: so it may go on
 * in any thread while no command runs and nothing saves (tables in that mode owe, and stand in
 * lists of the main thread).
 */
#ifndef EVENKEEL_RDB_RDB_BATCH_H
#define EVENKEEL_RDB_RDB_BATCH_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/string.h"
#include "value/value.h"

struct entry;
struct keyspace;

/* Some hundred microseconds of work. */
#define RDB_BATCH_BYTES ((size_t)65536)
#define RDB_BATCH_KEYS 64

struct rdb_batch_key {
    /* By the loader. */
    struct keyspace *keyspace;
    struct slice name, bytes; /* of the value; both the batch's copies. NULL bytes: it is built */
    unsigned form;
    enum value_kind kind;
    int64_t deadline;
    unsigned recency;
    /* For what is said of a fault: the places of the key and behind its value (once it is built, of
     * the fault), the file's keys before it, its database. */
    uint64_t key_offset, offset, keys_before;
    int64_t database;

    /* What came of it. */
    enum value_loaded loaded;
    struct entry *entry; /* VALUE_LOADED: the taker's */
    uint64_t hash;       /* of the name, then */
    const char *reason;  /* VALUE_REFUSED: a text that stays */
};

struct rdb_batch {
    struct rdb_batch *next; /* for its owner */
    size_t count;
    struct rdb_batch_key keys[RDB_BATCH_KEYS];
    struct buffer store; /* the builder's */
    size_t used;
    char room[RDB_BATCH_BYTES];
};

MUST_USE struct rdb_batch *rdb_batch_create(void);
/* Entries that nobody took go, too. */
void rdb_batch_free(struct rdb_batch *b);
/* Empty again: all that it had was taken. */
void rdb_batch_clear(struct rdb_batch *b);
bool rdb_batch_has_room(const struct rdb_batch *b, size_t bytes);
/* The next key, for the loader to fill in but for its name and bytes, which are copied, and what
 * comes of it. There must be room. */
MUST_USE struct rdb_batch_key *rdb_batch_add(struct rdb_batch *b, struct slice name,
                                             struct slice bytes);
/* Builds what is not built: a crew_work. */
void rdb_batch_build(void *batch);
#endif
