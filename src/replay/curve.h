/* SPDX-License-Identifier: BSD-3-Clause
 * `redis-lab curve`: hit ratios by policy and size of memory, from a recorded trace.
 */
#ifndef EVENKEEL_REPLAY_CURVE_H
#define EVENKEEL_REPLAY_CURVE_H

enum curve_status {
    CURVE_EXIT_GOOD = 0,
    CURVE_EXIT_FAILED = 1, /* the file, or the output */
    CURVE_EXIT_USAGE = 2,  /* a wrong command line */
};

/* Computes the curves; `words` are the words after "curve". Returns an exit status. The table goes
 * to standard output. */
int curve_run(int count, char **words);
#endif
