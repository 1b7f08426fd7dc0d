/* SPDX-License-Identifier: BSD-3-Clause
 * Dispatch: from a parsed request to its handler, with the checks between, and the counts after.
 */
#ifndef EVENKEEL_EXEC_DISPATCH_H
#define EVENKEEL_EXEC_DISPATCH_H
#include <stdint.h>

#include "net/batch.h"

void dispatch_register(void); /* options and metrics: Commandstats, total_commands_processed */
const struct batch_executor *dispatch_executor(void);
uint64_t dispatch_commands_processed(void);
/* The call that runs now, for the crash report; NULL = none. */
struct call;
const struct call *dispatch_current(void);
#endif
