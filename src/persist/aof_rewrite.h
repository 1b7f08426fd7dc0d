/* SPDX-License-Identifier: BSD-3-Clause
 * All databases as the beginning of a new append only file: a snapshot (the preamble), or the
 * commands that make every key anew, in the forms of Redis 6.2.
 */
#ifndef EVENKEEL_PERSIST_AOF_REWRITE_H
#define EVENKEEL_PERSIST_AOF_REWRITE_H
#include <stdbool.h>

#include "base/attributes.h"

struct sink;

/* Writes everything and flushes the sink; a SELECT must come before what is appended. Keys that are
 * due are written too: what is appended says when they go. False where the sink failed: sink_error
 * says why. In a child it tells the parent how far it is. O(all data). */
MUST_USE bool aof_rewrite_save(struct sink *out, bool preamble);
/* The commands that follow are for this database. */
void aof_rewrite_select(struct sink *out, int database);
#endif
