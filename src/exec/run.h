/* SPDX-License-Identifier: BSD-3-Clause
 * Running a call: the one way for every origin, with a batch and a connection or without.
 *
 *   the gates that its origin passes -> monitor, handler, effects -> counts, times, slow log
 *
 * An outermost call is a unit: its effects are handed on and clients that wait for keys are served
 * when it has ended. Within a call others may run, each counted by itself. What stands in the log
 * was counted when it ran first: it is not again, and no key expires below it.
 */
#ifndef EVENKEEL_EXEC_RUN_H
#define EVENKEEL_EXEC_RUN_H
#include "base/attributes.h"
#include "exec/gates.h"
#include "metric/attribution.h"

struct call;

/* Runs the call; or its client has been answered why not, it waits, or is queued: only requests
 * wait, or are queued. Its command may be NULL: unknown. */
enum gate_verdict call_run(struct call *call);

/* A call that holds no pointer into entries runs others: EXEC, a script. Between these two it may
 * run any number by call_run; each is an outermost one for the limbo (store/limbo.h). */
struct run_nesting {
    struct attribution_nesting attribution;
};
void run_nest_begin(struct run_nesting *outer);
void run_nest_end(const struct run_nesting *outer);

/* A turn of the loop within a call or a load, for who takes long: what clients have sent is read
 * and run as far as gates let it, and answered; who calls sets a gate first (script_gate_busy,
 * loading_gate). net/batch.h says what may be held meanwhile, and what is not done in it. Nothing
 * where too many turns are within each other, as no COMMAND_MAY_LAST finds it. False where the
 * server is to stop: the caller is to come to its end. */
MUST_USE bool run_turn_within(void);
/* For server/wiring: in the innermost turn that there may be nothing runs that may last, since
 * nobody could end it. */
extern struct gate run_gate;
/* Once, behind client_set_states. `within` is done in each such turn, of all that the cron does
 * otherwise. */
void run_open(void (*within)(void));

/* The batch turns from commands to something else: the time until the next one is not theirs. */
void run_pause_clock(void);
#endif
