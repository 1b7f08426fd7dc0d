/* SPDX-License-Identifier: BSD-3-Clause
 * EXEC: running what a client has queued.
 */
#ifndef EVENKEEL_EXEC_EXECUTE_H
#define EVENKEEL_EXEC_EXECUTE_H

struct call;

/* Forgets the watched keys, runs what is queued, in order, and ends the transaction. Replies an
 * array, piece by piece. Must be the call that runs, and hold no pointer into entries. */
void execute_queue(struct call *exec);
#endif
