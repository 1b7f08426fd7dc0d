/* SPDX-License-Identifier: BSD-3-Clause
 * `redis-lab watch`: the program behind the command line.
 */
#ifndef EVENKEEL_LAB_WATCH_H
#define EVENKEEL_LAB_WATCH_H

/* Runs until the user, a signal or --samples ends it; `words` are the words after "watch". Returns
 * the exit status: 0 for success; 1 where the server or the terminal cannot be reached or is lost,
 * or standard output is closed; 2 for a wrong command line. Errors are printed on standard error.
 */
int watch_run(int count, char **words);
#endif
