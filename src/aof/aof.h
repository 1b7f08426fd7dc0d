/* SPDX-License-Identifier: BSD-3-Clause
 * The append-only file: the log of all changes, from which a start restores the data; and its
 * rewriting.
 */
#ifndef EVENKEEL_AOF_AOF_H
#define EVENKEEL_AOF_AOF_H
#include <stdbool.h>

#include "base/attributes.h"

struct gate;

/* Registers commands, options and metrics. Once, at start. */
void aof_register(void);
/* For server/wiring: the gate that holds writers while the queue is at a bound. */
extern struct gate aof_gate;

/* At start, with appendonly yes: loads the file, which is created where there is none, and goes on
 * appending to it. False after a line in the log. */
MUST_USE bool aof_load_at_start(void);
/* Before the file is read again (DEBUG LOADAOF): writes all that is queued; a rewritten file takes
 * the log's place or is given up. Returns false if that failed, or if the first file is not
 * written yet, so that no file has the data; the log says why. */
MUST_USE bool aof_settle(void);
/* Notes that the file was read again, and may have been cut off at its end. Not `good`: the data is
 * only a part of what the log stands for. Nothing may then be added to the log, and no snapshot may
 * replace a whole one, so the process ends, unless it is ending anyway. */
void aof_note_reloaded(bool good);

/* Ends the log, whatever appendonly says, because all data is to be replaced by data that the log
 * does not have. The file stays as it is. */
void aof_suspend(void);
/* After aof_suspend, with appendonly yes: begins a file for the present data, at once or as soon as
 * possible. Harmless where there is a log. */
void aof_go_on(void);

/* Called after the loop woke. */
void aof_turn(void);
/* Called several times a second. */
void aof_cron(void);

/* Called before the server ends: ends a rewrite, then writes and syncs what is queued. Returns
 * false if data would be lost and `in_any_case` is false: the first file is not whole yet, or the
 * file cannot be written. */
bool aof_end(bool in_any_case);
#endif
