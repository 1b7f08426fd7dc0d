/* SPDX-License-Identifier: BSD-3-Clause
 * Dispatch: from a parsed request to its call, with hints ahead; INFO commandstats.
 */
#ifndef EVENKEEL_EXEC_DISPATCH_H
#define EVENKEEL_EXEC_DISPATCH_H
#include "net/batch.h"

void dispatch_register(void); /* metrics: Commandstats */
const struct batch_executor *dispatch_executor(void);
#endif
