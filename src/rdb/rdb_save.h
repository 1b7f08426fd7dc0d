/* SPDX-License-Identifier: BSD-3-Clause
 * A snapshot of all databases, written to a sink: RDB version 9, as Redis 6.2 reads it.
 */
#ifndef EVENKEEL_RDB_RDB_SAVE_H
#define EVENKEEL_RDB_RDB_SAVE_H
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"

struct sink;

/* Registers the options. Once, at start. */
void rdb_save_register(void);
/* Writes everything and flushes the sink. False where that failed: sink_error says why. In a child
 * it tells the parent how far it is. O(all data). */
MUST_USE bool rdb_save(struct sink *out);
/* The same for a file in which a log follows. */
MUST_USE bool rdb_save_preamble(struct sink *out);
/* ---- its parts, for a save that walks (save/walk.h) ---- */

/* Around all that is written: the checksum begins; the end, the checksum, and the sink is flushed.
 * False where that failed. Any thread. */
void rdb_save_begin(struct sink *out);
MUST_USE bool rdb_save_end(struct sink *out);
/* What stands before the keys and behind them, of this moment. */
void rdb_save_head(struct sink *out, bool preamble);
void rdb_save_tail(struct sink *out, bool preamble);
/* The keys that follow are of this database; with `sizes`, and so many there are. */
void rdb_save_database(struct sink *out, int database, bool sizes);

/* ---- options ---- */

/* The option rdbchecksum. */
bool rdb_checksums(void);
/* The option snapshot-threads. */
unsigned rdb_threads(void);
/* The option rdb-key-save-delay, for tests: see rdb_delay. */
int64_t rdb_save_delay_usec(void);
/* Keys of all databases. */
uint64_t rdb_keys_total(void);
#endif
