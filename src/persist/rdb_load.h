/* SPDX-License-Identifier: BSD-3-Clause
 * Reading snapshots into the databases.
 */
#ifndef EVENKEEL_PERSIST_RDB_LOAD_H
#define EVENKEEL_PERSIST_RDB_LOAD_H
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/string.h"

struct source;

/* What came of it. */
struct rdb_loaded {
    uint64_t keys, expired, empty; /* loaded; passed over: their deadline is over, no members */
    uint64_t offset;               /* of the first fault, and ... */
    char reason[256];              /* why; "" while there is none */
};

struct rdb_loading {
    bool replaces;      /* a key that is there already is no fault: the file's takes its place */
    bool keeps_expired; /* keys whose deadline is over are loaded too */
    bool only_checks;   /* nothing is put into the databases */
};

/* Registers the options. Once, at start. */
void rdb_load_register(void);
/* Loads a whole file. False where it is damaged, cut off or of a kind that this version does not
 * know; then the keys before the fault are there. Observers are told nothing. */
MUST_USE bool rdb_load(struct source *in, const struct rdb_loading *how, struct rdb_loaded *result);
/* The option key-load-delay, for tests: see rdb_delay. */
int64_t rdb_load_delay_usec(void);
#endif
