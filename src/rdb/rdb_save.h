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
/* Writes all databases and flushes the sink. Returns false if that failed: sink_error says why. In
 * a child it reports progress to the parent. O(all data). */
MUST_USE bool rdb_save(struct sink *out);
/* Writes all databases as rdb_save does, for a file in which a log follows: without the fields of
 * higher layers. */
MUST_USE bool rdb_save_preamble(struct sink *out);
/* ---- its parts, for a save that walks (save/walk.h) ---- */

/* rdb_save_begin starts the checksum. rdb_save_end writes the end mark and the checksum and flushes
 * the sink; false if that failed. Any thread. */
void rdb_save_begin(struct sink *out);
MUST_USE bool rdb_save_end(struct sink *out);
/* Write what stands before the keys and behind them, with values of this moment. */
void rdb_save_head(struct sink *out, bool preamble);
void rdb_save_tail(struct sink *out, bool preamble);
/* Writes that the keys that follow are of this database; with `sizes`, also how many keys it has
 * now. */
void rdb_save_database(struct sink *out, int database, bool sizes);

/* ---- options ---- */

/* The option rdbchecksum. */
bool rdb_checksums(void);
/* The option snapshot-threads. */
unsigned rdb_threads(void);
/* The option rdb-key-save-delay, for tests: see rdb_delay. */
int64_t rdb_save_delay_usec(void);
/* The number of keys in all databases. */
uint64_t rdb_keys_total(void);
#endif
