/* SPDX-License-Identifier: BSD-3-Clause
 * What the simulation knows of background jobs besides io/background.h.
 */
#ifndef EVENKEEL_TESTS_SIM_BACKGROUND_H
#define EVENKEEL_TESTS_SIM_BACKGROUND_H
#include <stdbool.h>
#include <stdint.h>

/* When the next job has ended; NEVER. */
int64_t background_due_nsec(void);
/* Runs those that are due, each whole. */
void background_run_due(void);
/* Whether one runs: it is no time of the main thread's. */
bool background_runs(void);
#endif
