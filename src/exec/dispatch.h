/* SPDX-License-Identifier: BSD-3-Clause
 * Dispatch: makes a call of each parsed request, after prefetching its first key; INFO
 * commandstats.
 */
#ifndef EVENKEEL_EXEC_DISPATCH_H
#define EVENKEEL_EXEC_DISPATCH_H
#include "net/batch.h"

void dispatch_register(void); /* metrics: Commandstats */
const struct batch_executor *dispatch_executor(void);
#endif
