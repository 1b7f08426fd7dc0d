/* SPDX-License-Identifier: BSD-3-Clause
 * All databases as the beginning of a new append-only file: a snapshot (the preamble), or the
 * commands that create every key, in the forms of Redis 6.2.
 */
#ifndef EVENKEEL_RDB_LOG_BASE_H
#define EVENKEEL_RDB_LOG_BASE_H
#include <stdbool.h>

#include "base/attributes.h"

struct sink;

/* Writes all databases and flushes the sink. The caller writes a SELECT before the first command
 * that it appends. Keys that are due are written too, because the commands appended later delete
 * them. Returns false if the sink failed: sink_error says why. In a child it reports progress to
 * the parent. O(all data). */
MUST_USE bool log_base_save(struct sink *out, bool preamble);
/* Writes SELECT: the commands that follow are for this database. */
void log_base_select(struct sink *out, int database);
#endif
