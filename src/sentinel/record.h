/* SPDX-License-Identifier: BSD-3-Clause
 * The record: what a Sentinel must not forget over a restart, in its configuration file.
 *
 * A vote counts only when it is on disk, because a Sentinel that votes, dies and has forgotten its
 * vote could vote twice in one epoch. So its answer waits for sentinel_record_write, and is not
 * given where that fails. All else (a new replica, an adopted epoch) is asked for by
 * sentinel_record_later, and one write at the end of the turn serves all that the turn has changed.
 *
 * What could not be written is tried again by itself, once in RECORD_RETRY_MSEC. Meanwhile the
 * Sentinel goes on watching, and does not vote.
 */
#ifndef EVENKEEL_SENTINEL_RECORD_H
#define EVENKEEL_SENTINEL_RECORD_H
#include <stdbool.h>

#include "base/attributes.h"

/* Sets the function that writes the options as they are now into the configuration file:
 * atomically, file and folder synced. It returns false, errno set, where that is not certain. */
void sentinel_record_open(bool (*write)(void));
/* Writes the record now. Returns whether it is on disk; if not, after a warning in the log, and it
 * will be tried again. Waits for the disk. */
MUST_USE bool sentinel_record_write(void);
/* Has the record written at the end of this turn. */
void sentinel_record_later(void);
/* A hook of the loop, before it sleeps: writes the record if that was asked for, or is due again
 * after a failure. Returns false: it leaves no work for the next turn. */
bool sentinel_record_step(void);
#endif
