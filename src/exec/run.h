/* SPDX-License-Identifier: BSD-3-Clause
 * Running requests: each request of a batch becomes a call, and one function runs the calls of
 * every origin, with or without a batch and a connection.
 *
 *   the gates of the call's origin -> monitor, handler, effects -> counts, times, slow log
 *
 * An outermost call is a unit (exec/effects.h): when it has ended, its effects are handed to the
 * sinks, and clients that wait for keys are served. Other calls may run within a call, and each of
 * them is counted by itself. A call that is loaded from the log is not counted, because it was
 * counted when it ran first, and no key expires during it.
 */
#ifndef EVENKEEL_EXEC_RUN_H
#define EVENKEEL_EXEC_RUN_H
#include "base/attributes.h"
#include "exec/gates.h"
#include "metric/attribution.h"

struct batch_executor;
struct call;
struct client_state;

/* Registers the cause of the main thread's time in commands. Once, at start. */
void run_register(void);

/* Asks the gates and, if the verdict is GATE_OPEN, runs the call. Otherwise the call was refused,
 * held or queued, as the verdict says; only requests are held or queued. The call's command may be
 * NULL: unknown. */
enum gate_verdict call_run(struct call *call);

/* What runs the requests of a batch: prefetches the first key of each, and runs each as a call. */
const struct batch_executor *run_executor(void);

/* For a call that runs other calls (EXEC, a script) and holds no pointer into entries: between
 * run_nest_begin and run_nest_end it may run any number of calls by call_run, and the limbo
 * (store/limbo.h) treats each of them as an outermost one. */
struct run_nesting {
    struct attribution_nesting attribution;
};
void run_nest_begin(struct run_nesting *outer);
void run_nest_end(const struct run_nesting *outer);

/* Makes a nested turn of the loop within a call or a load that takes long: requests of clients are
 * read, run as far as the gates allow, and answered. The caller sets a gate first
 * (script_gate_busy, loading_gate). net/batch.h says what the caller may hold meanwhile, and what a
 * nested turn does not do. Does nothing where BATCH_DEPTH_MAX turns are nested; run_gate keeps
 * commands with COMMAND_MAY_LAST from getting there. Returns false if the server is to stop: then
 * the caller must end soon. */
MUST_USE bool run_turn_within(void);
/* For server/wiring: refuses commands with COMMAND_MAY_LAST in the innermost turn that is possible,
 * because no further turn could end them. */
extern struct gate run_gate;
/* Is told when a request of a client has ended: it ran, or was refused. A request that is held ends
 * after it was run again; of EXEC's commands only EXEC itself is a request. */
struct run_observer {
    const struct client_state *of; /* only of clients that have any of these flags now */
    uint32_t flags;
    void (*request_ended)(const struct call *call);
};
/* Called once at start, after client_set_states. `within` is called after each nested turn, and
 * does the part of the cron's work that may not wait. The observer lives as long as the process;
 * NULL: there is none. */
void run_open(void (*within)(void), const struct run_observer *observer);

/* Called when the batch turns from running commands to other work: the time until the next command
 * is not counted as a command's. */
void run_pause_clock(void);
#endif
