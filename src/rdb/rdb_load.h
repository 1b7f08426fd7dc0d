/* SPDX-License-Identifier: BSD-3-Clause
 * Reading snapshots into the databases.
 */
#ifndef EVENKEEL_RDB_RDB_LOAD_H
#define EVENKEEL_RDB_RDB_LOAD_H
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/string.h"

struct source;

/* What is being read. */
enum rdb_stage {
    RDB_AT_START, /* signature and version */
    RDB_AT_MARK,  /* what comes next; recency */
    RDB_AT_DEADLINE,
    RDB_AT_KEY,
    RDB_AT_VALUE,
    RDB_AT_CHECKSUM,
    RDB_AT_LENGTH, /* a database's number or sizes */
    RDB_AT_AUXILIARY,
    RDB_AT_MODULE,
    RDB_STAGES
};

/* What came of it. */
#define RDB_SHOWN_KEY_BYTES 128
#define RDB_NO_FORM (-1)
struct rdb_loaded {
    uint64_t keys, expired, empty; /* loaded; passed over: their deadline is over, no members */
    uint64_t read, with_deadline;  /* of whatever came of them: keys, and those with a deadline */

    /* After a fault: where the source stands, why, and what was being read. */
    uint64_t offset, keys_before;
    char reason[256]; /* "" while there is none */
    enum rdb_stage stage;
    int64_t database;
    int form;                      /* of the key (enum saved_form), RDB_NO_FORM: no key's */
    uint64_t key_offset;           /* where the key begins, by its form */
    char key[RDB_SHOWN_KEY_BYTES]; /* cut, without what a line of text cannot show */
    bool has_key;                  /* its name is known */
};

enum rdb_checksum { RDB_CHECKSUM_RIGHT, RDB_CHECKSUM_ABSENT };
/* Who hears of what a file has besides keys, each time with the source's place behind it. */
struct rdb_listener {
    void (*auxiliary)(uint64_t offset, struct slice name, struct slice value);
    void (*database)(uint64_t offset, uint64_t index);
    void (*module)(uint64_t offset, const char *name); /* its data is passed over */
    void (*empty)(uint64_t offset, const char *key);   /* a key that is passed over */
    void (*checksum)(uint64_t offset, enum rdb_checksum what);
};

struct rdb_loading {
    bool replaces;      /* a key that is there already is no fault: the file's takes its place */
    bool keeps_expired; /* keys whose deadline is over are loaded too */
    /* Not NULL: the file is only checked. Nothing is put into the databases, of which there may be
     * none, and modules' data is no fault. */
    const struct rdb_listener *checks_for;
};

/* Registers the options. Once, at start. */
void rdb_load_register(void);
/* Loads a whole file. False where it is damaged, cut off or of a kind that this version does not
 * know; then the keys before the fault are there. The keyspace's observers are told nothing. */
MUST_USE bool rdb_load(struct source *in, const struct rdb_loading *how, struct rdb_loaded *result);
/* The option key-load-delay, for tests: see rdb_delay. */
int64_t rdb_load_delay_usec(void);
/* For tests: the option key-load-delay, also in the midst of a load. */
void rdb_load_set_delay(int64_t usec);
/* For the log, on one line: "at offset 98, after 2 keys, in key 'z' of database 0 (zset-ziplist,
 * from offset 91): Ziplist integrity check failed". */
void rdb_describe_fault(const struct rdb_loaded *result, struct buffer *out);
/* As 6.2's redis-check-rdb calls it: "hash-ziplist". */
const char *rdb_form_name(int form);
#endif
