/* SPDX-License-Identifier: BSD-3-Clause
 * The gates about scripts, for server/wiring, and the state that decides about a script's own
 * calls.
 */
#ifndef EVENKEEL_SCRIPT_GATES_H
#define EVENKEEL_SCRIPT_GATES_H
#include "base/string.h"
#include "exec/gates.h"

/* The texts by which calls of scripts are refused. */
extern const struct gate_code script_gate_code;
extern struct gate script_gate, script_gate_chance, script_gate_memory;
/* Refuses calls of clients while a script runs longer than its time limit. */
extern struct gate script_gate_busy;

/* Called when a script begins, and when it ends. */
void script_gates_begin(void);
void script_gates_end(void);
/* A command of the script has run, with these flags (enum command_flags). If the script itself is
 * replicated (`run_again`), no command may write after one whose result depends on chance or time.
 */
void script_gates_note(unsigned command_flags, bool run_again);
/* Whether this refusal of a script's call is the cluster's: it serves the keys elsewhere, or is
 * down. 6.2 asks this last, and counts such a call as one that has run. */
bool script_gates_was_cluster(struct slice refusal);
#endif
