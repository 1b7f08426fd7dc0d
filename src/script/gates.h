/* SPDX-License-Identifier: BSD-3-Clause
 * The rows of gates about scripts, for server/wiring, and what decides about a script's own calls.
 */
#ifndef EVENKEEL_SCRIPT_GATES_H
#define EVENKEEL_SCRIPT_GATES_H
#include "exec/gates.h"

/* In which words scripts' calls are refused. */
extern const struct gate_code script_gate_code;
extern struct gate script_gate, script_gate_chance, script_gate_memory;
/* Of others, while a script runs beyond its time. */
extern struct gate script_gate_busy;

/* A script begins; ends. */
void script_gates_begin(void);
void script_gates_end(void);
/* One of its commands has run, which has these flags (enum command_flags). Where scripts are run
 * again (`run_again`) none may write after one that chance or time decides. */
void script_gates_note(unsigned command_flags, bool run_again);
#endif
