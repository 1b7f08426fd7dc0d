/* SPDX-License-Identifier: BSD-3-Clause
 * `redis-lab record`: a sample of a server's requests, to a file.
 */
#ifndef EVENKEEL_REPLAY_RECORD_H
#define EVENKEEL_REPLAY_RECORD_H

enum record_status {
    RECORD_EXIT_GOOD = 0,   /* the file is whole; also when a signal has ended the recording */
    RECORD_EXIT_FAILED = 1, /* a server cannot be reached, is lost or refuses; or the file */
    RECORD_EXIT_USAGE = 2,  /* a wrong command line */
    RECORD_EXIT_UNDONE = 4, /* an old value could not be put back */
};

/* Records; `words` are the words after "record". Returns an exit status. Messages go to standard
 * error. */
int record_run(int count, char **words);
#endif
