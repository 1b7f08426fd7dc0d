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

/* What is being read: named in the report of a fault. */
enum rdb_stage {
    RDB_AT_START, /* signature and version */
    RDB_AT_MARK,  /* the byte that says what comes next; recency */
    RDB_AT_DEADLINE,
    RDB_AT_KEY,
    RDB_AT_VALUE,
    RDB_AT_CHECKSUM,
    RDB_AT_LENGTH, /* a database's number or sizes */
    RDB_AT_AUXILIARY,
    RDB_AT_MODULE,
    RDB_STAGES
};

/* The result of a load. */
#define RDB_SHOWN_KEY_BYTES 128
#define RDB_NO_FORM (-1)
struct rdb_loaded {
    uint64_t keys, expired, empty; /* loaded; skipped: past their deadline; without members */
    uint64_t read, with_deadline;  /* all keys, loaded or skipped; those with a deadline */

    /* After a fault: the source's place, the reason, and what was being read. */
    uint64_t offset, keys_before;
    char reason[256]; /* "" while there is none */
    enum rdb_stage stage;
    int64_t database;
    int form;                      /* of the key (enum saved_form), RDB_NO_FORM: no key's */
    uint64_t key_offset;           /* where the key begins, by its form */
    char key[RDB_SHOWN_KEY_BYTES]; /* cut to fit; other than printable bytes as \xNN */
    bool has_key;                  /* its name is known */
};

enum rdb_checksum { RDB_CHECKSUM_RIGHT, RDB_CHECKSUM_ABSENT };
/* Is told what a file has besides keys, each time with the source's place behind it. */
struct rdb_listener {
    void (*auxiliary)(uint64_t offset, struct slice name, struct slice value);
    void (*database)(uint64_t offset, uint64_t index);
    void (*module)(uint64_t offset, const char *name); /* its data is skipped */
    void (*empty)(uint64_t offset, const char *key);   /* a key without members, which is skipped */
    void (*checksum)(uint64_t offset, enum rdb_checksum what);
};

struct rdb_loading {
    bool replaces;      /* a key that exists already is no fault: the file's key replaces it */
    bool keeps_expired; /* keys whose deadline has passed are loaded too */
    /* Not NULL: the file is only checked and reported here. No key is put into the databases, which
     * need not exist, and modules' data is no fault. */
    const struct rdb_listener *checks_for;
};

/* Registers the options. Once, at start. */
void rdb_load_register(void);
/* Loads a whole file. Returns false if it is damaged, cut off or of a kind that this version does
 * not know; the keys before the fault have been loaded then. The keyspace's observers are not told
 * of the keys. */
MUST_USE bool rdb_load(struct source *in, const struct rdb_loading *how, struct rdb_loaded *result);
/* The option key-load-delay, for tests: see rdb_delay. */
int64_t rdb_load_delay_usec(void);
/* For tests: the option key-load-delay, also in the midst of a load. */
void rdb_load_set_delay(int64_t usec);
/* Appends the fault on one line for the log: "at offset 98, after 2 keys, in key 'z' of database 0
 * (zset-ziplist, from offset 91): Ziplist integrity check failed". */
void rdb_describe_fault(const struct rdb_loaded *result, struct buffer *out);
/* The form's name in 6.2's redis-check-rdb: "hash-ziplist". */
const char *rdb_form_name(int form);
#endif
