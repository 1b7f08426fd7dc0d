/* SPDX-License-Identifier: BSD-3-Clause
 * redis-check-aof: whether an append only file is sound, up to where, and cutting off the rest.
 */
#ifndef EVENKEEL_AOF_CHECK_AOF_H
#define EVENKEEL_AOF_CHECK_AOF_H
#include <stdbool.h>

/* Reads the whole file, a preamble as redis-check-rdb does, and tells on standard output up to
 * where it is sound and what is wrong there. With `fix` it asks, and after a "y" on standard input
 * cuts off what is not. The exit status: 0 = it is sound, or is now; 1 = it is not, or cannot be
 * read. Rows of options and types must be registered; no database is needed. */
int check_aof(const char *path, bool fix);
#endif
