/* SPDX-License-Identifier: BSD-3-Clause
 * All databases as the beginning of a new append only file: a snapshot (the preamble), or the
 * commands that make every key anew, in the forms of Redis 6.2.
 */
#ifndef EVENKEEL_RDB_LOG_BASE_H
#define EVENKEEL_RDB_LOG_BASE_H
#include <stdbool.h>

#include "base/attributes.h"

struct sink;

/* Writes everything and flushes the sink; a SELECT must come before what is appended. Keys that are
 * due are written too: what is appended says when they go. False where the sink failed: sink_error
 * says why. In a child it tells the parent how far it is. O(all data). */
MUST_USE bool log_base_save(struct sink *out, bool preamble);
/* The commands that follow are for this database. */
void log_base_select(struct sink *out, int database);
#endif
