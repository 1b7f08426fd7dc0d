/* SPDX-License-Identifier: BSD-3-Clause
 * The score by which the kernel picks the process to kill when memory runs out.
 */
#ifndef EVENKEEL_PROCESS_OOM_SCORE_H
#define EVENKEEL_PROCESS_OOM_SCORE_H
#include <stdbool.h>

enum oom_role { OOM_PRIMARY, OOM_REPLICA, OOM_CHILD, OOM_ROLES };

void oom_score_register(void); /* oom-score-adj, oom-score-adj-values */
/* Sets the score as the options say; from now on a change of the options takes effect at once. */
void oom_score_open(void);
/* Sets this process' score as the role's; the role stays until the next call. False, after a line
 * in the log, where that fails. Does nothing with oom-score-adj no. A child calls it after the
 * fork. */
bool oom_score_apply(enum oom_role role);
/* Restores the score that the process had at start, for a program that is to be executed in its
 * place. */
void oom_score_restore(void);
#endif
