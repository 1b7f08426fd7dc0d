/* SPDX-License-Identifier: BSD-3-Clause
 * The append only file: the log of what changed, from which a start makes the data again; and its
 * being written anew.
 */
#ifndef EVENKEEL_AOF_AOF_H
#define EVENKEEL_AOF_AOF_H
#include <stdbool.h>

#include "base/attributes.h"

struct effect_sink;
struct gate;

/* Registers commands, options and metrics. Once, at start. */
void aof_register(void);
/* For server/wiring: what units have done; who writes while the queue is at a bound. */
extern const struct effect_sink aof_sink;
extern struct gate aof_gate;

/* At start, with appendonly yes: loads the file, which is made where there is none, and goes on
 * with it. False after a line in the log. */
MUST_USE bool aof_load_at_start(void);
/* Before the file is read again (DEBUG LOADAOF): all is written, and a file that is to take its
 * place has done so or is given up. False where that failed, or where the first file is not written
 * yet, so that no file has the data: the log says why. */
MUST_USE bool aof_settle(void);
/* It was read again, and may have been cut off at its end. Not `good`: the data is only a part of
 * what the log stands for, so that nothing may be added to it, nor a snapshot of it take the place
 * of a whole one: the process ends, unless it does so anyway. */
void aof_note_reloaded(bool good);

/* All data is to be given up for other data, which the log does not tell of: it ends, whatever
 * appendonly says, as if by that. The file stays as it is. */
void aof_suspend(void);
/* With appendonly yes, after that: a file for the data that is there now is begun, or as soon as
 * that can be. Harmless where there is a log. */
void aof_go_on(void);

/* After the loop woke. */
void aof_turn(void);
/* Several times a second. */
void aof_cron(void);

/* Before the server ends. A child that writes the file anew is ended, what is logged is written and
 * synced. False, where not `in_any_case`, when the data would be lost: the first file is not whole
 * yet, or the file cannot be written. */
bool aof_end(bool in_any_case);
#endif
