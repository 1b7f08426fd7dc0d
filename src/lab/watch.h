/* SPDX-License-Identifier: BSD-3-Clause
 * `redis-lab watch`: the program behind the command line.
 */
#ifndef EVENKEEL_LAB_WATCH_H
#define EVENKEEL_LAB_WATCH_H

/* Runs until the user, a signal or --samples ends it; `words` are those behind "watch". Returns the
 * exit status: 0; 1 where the server or the terminal cannot be reached (any more), or standard
 * output is closed; 2 for a command line that makes no sense. What went wrong is on standard error.
 */
int watch_run(int count, char **words);
#endif
