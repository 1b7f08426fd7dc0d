/* SPDX-License-Identifier: BSD-3-Clause
 * `redis-lab experiment`: the program behind the command line.
 */
#ifndef EVENKEEL_EXPERIMENT_EXPERIMENT_H
#define EVENKEEL_EXPERIMENT_EXPERIMENT_H

enum experiment_status {
    EXPERIMENT_EXIT_GOOD = 0,
    EXPERIMENT_EXIT_FAILED = 1,  /* a server cannot be reached, is lost or refuses; or the output */
    EXPERIMENT_EXIT_USAGE = 2,   /* a wrong command line */
    EXPERIMENT_EXIT_STOPPED = 3, /* a limit of --stop-if was passed */
    EXPERIMENT_EXIT_UNDONE = 4,  /* an old value could not be put back */
    EXPERIMENT_EXIT_SIGNAL = 128, /* plus the signal's number */
};

/* Runs an experiment; `words` are the words after "experiment". Returns an exit status. The results
 * go to standard output and to the files that the options name, all else to standard error. */
int experiment_run(int count, char **words);
#endif
