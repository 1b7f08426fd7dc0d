/* SPDX-License-Identifier: BSD-3-Clause
 * What the one program is besides a server, by the name under which it is called or by an option.
 */
#ifndef EVENKEEL_SERVER_PROGRAMS_H
#define EVENKEEL_SERVER_PROGRAMS_H
#include <stdbool.h>

/* True where it was one of these, which has run: `status` is its exit status. Rows must be
 * registered, and nothing is open. */
bool programs_run(int argc, char **argv, int *status);
#endif
