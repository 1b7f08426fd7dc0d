/* SPDX-License-Identifier: BSD-3-Clause
 * redis-check-aof: whether an append-only file is sound and up to where, and cutting off the rest.
 */
#ifndef EVENKEEL_AOF_CHECK_AOF_H
#define EVENKEEL_AOF_CHECK_AOF_H
#include <stdbool.h>

/* Reads the whole file, a preamble as redis-check-rdb does, and prints on standard output up to
 * where the file is sound and what is wrong there. With `fix` it asks, and after a "y" on standard
 * input cuts off the unsound end. Returns the exit status: 0 = sound, or made so; 1 = unsound, or
 * not readable. Rows of options and types must be registered; no database is needed. */
int check_aof(const char *path, bool fix);
#endif
