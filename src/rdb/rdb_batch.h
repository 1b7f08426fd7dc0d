/* SPDX-License-Identifier: BSD-3-Clause
 * Batches: keys of a snapshot on their way from the file into the databases. Other threads build
 * their values (io/crew.h).
 *
 * The loader copies the bytes that the file has of a key into a batch and reads on; a thread of the
 * crew, or the loader while it waits, builds the entry. Keys that the loader has built itself go
 * through the batches too, so that keys arrive in the order of the file.
 *
 * Building allocates, reads options of the types, and grows the value's own tables. So any thread
 * may build while no command runs and nothing is saved (during a save tables defer their work, and
 * stand in lists of the main thread).
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

/* A batch is some hundred microseconds of work. */
#define RDB_BATCH_BYTES ((size_t)65536)
#define RDB_BATCH_KEYS 64

struct rdb_batch_key {
    /* Set by the loader. */
    struct keyspace *keyspace;
    struct slice name, bytes; /* the key's name, the value's bytes: copies; NULL bytes: built */
    unsigned form;
    enum value_kind kind;
    int64_t deadline;
    unsigned recency;
    /* For the report of a fault: the place of the key; the place behind its value (after building,
     * that of the fault); how many keys the file has before it; its database. */
    uint64_t key_offset, offset, keys_before;
    int64_t database;

    /* Set by building. */
    enum value_loaded loaded;
    struct entry *entry; /* VALUE_LOADED: owned by the caller that takes it */
    uint64_t hash;       /* of the name, where loaded */
    const char *reason;  /* VALUE_REFUSED: a static text */
};

struct rdb_batch {
    struct rdb_batch *next; /* link for the owner's lists */
    size_t count;
    struct rdb_batch_key keys[RDB_BATCH_KEYS];
    struct buffer store; /* scratch memory of the builder */
    size_t used;
    char room[RDB_BATCH_BYTES];
};

MUST_USE struct rdb_batch *rdb_batch_create(void);
/* Frees the batch, and the entries in it that were not taken. */
void rdb_batch_free(struct rdb_batch *b);
/* Empties the batch, and frees the entries in it that were not taken. */
void rdb_batch_clear(struct rdb_batch *b);
bool rdb_batch_has_room(const struct rdb_batch *b, size_t bytes);
/* Appends a key whose name and bytes are copied; the loader fills in the other members that are its
 * own. There must be room (rdb_batch_has_room). */
MUST_USE struct rdb_batch_key *rdb_batch_add(struct rdb_batch *b, struct slice name,
                                             struct slice bytes);
/* Builds the values that are not built yet: a crew_work. */
void rdb_batch_build(void *batch);
#endif
