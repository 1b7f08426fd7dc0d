/* SPDX-License-Identifier: BSD-3-Clause
 * `redis-lab replay`: a recorded trace as the load of a server.
 */
#ifndef EVENKEEL_REPLAY_REPLAY_H
#define EVENKEEL_REPLAY_REPLAY_H

enum replay_status {
    REPLAY_EXIT_GOOD = 0,
    REPLAY_EXIT_FAILED = 1,   /* the file, or a server that cannot be reached or is lost */
    REPLAY_EXIT_USAGE = 2,    /* a wrong command line */
    REPLAY_EXIT_SIGNAL = 128, /* plus the signal's number */
};

/* Replays; `words` are the words after "replay". Returns an exit status. The result goes to
 * standard output, all else to standard error. */
int replay_run(int count, char **words);
#endif
