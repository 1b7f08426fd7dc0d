/* SPDX-License-Identifier: BSD-3-Clause
 * EXEC: runs the commands that a client has queued.
 */
#ifndef EVENKEEL_EXEC_EXECUTE_H
#define EVENKEEL_EXEC_EXECUTE_H

struct call;

/* Forgets the watched keys, runs the queued commands in their order, and ends the transaction.
 * Replies an array, element by element. `exec` must be the running call, and its handler must hold
 * no pointer into entries. */
void execute_queue(struct call *exec);
#endif
