/* SPDX-License-Identifier: BSD-3-Clause
 * Dispatch: from a parsed request to its handler, with the checks between, and the counts after.
 */
#ifndef EVENKEEL_EXEC_DISPATCH_H
#define EVENKEEL_EXEC_DISPATCH_H
#include <stdint.h>

#include "metric/attribution.h"
#include "net/batch.h"

void dispatch_register(void); /* metrics: Commandstats */
const struct batch_executor *dispatch_executor(void);

/* Why a request may not run: replies the text (as reply_error_format), counts the call as rejected,
 * and makes the client's transaction fail. `command` may be NULL: unknown. */
struct call;
struct client;
struct command;
void dispatch_refuse(struct client *c, struct command *command, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A call that holds no pointer into entries runs others: EXEC, a script. Between these two it may
 * run any number by dispatch_call; each is an outermost one for the limbo (store/limbo.h). */
struct dispatch_nesting {
    struct attribution_nesting attribution;
};
void dispatch_nest_begin(struct dispatch_nesting *outer);
void dispatch_nest_end(const struct dispatch_nesting *outer);
/* Runs the call with what every single command gets: counts, times, slow log, latency events,
 * MONITOR's line, probes. Its checks are the caller's. Clients that wait for keys are served when
 * the outermost call has ended. */
void dispatch_call(struct call *call);
#endif
