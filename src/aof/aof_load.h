/* SPDX-License-Identifier: BSD-3-Clause
 * Loading the append-only file: commands, or a snapshot (the preamble) and commands behind it.
 *
 * The file is read in a window of memory, whatever its size. Each command runs as a call of origin
 * CALL_LOG (exec/run.h): no gate stops it, and it has no effects for log or replicas. Commands
 * between MULTI and EXEC run only where the EXEC is there.
 */
#ifndef EVENKEEL_AOF_AOF_LOAD_H
#define EVENKEEL_AOF_AOF_LOAD_H
#include "base/attributes.h"

enum aof_loaded {
    AOF_LOADED,    /* all of it */
    AOF_NONE,      /* there is no such file */
    AOF_EMPTY,     /* it has no bytes */
    AOF_TRUNCATED, /* up to its last whole command; the rest was cut off the file */
    AOF_REFUSED    /* not loaded; the log says where and why. What precedes the fault is in the
                    * databases */
};

/* Loads the file into the present databases; a cut-off end is treated as aof-load-truncated says,
 * and faults are logged. Clients are answered meanwhile (rdb/loading.h). Within a call use it only
 * between run_nest_begin and run_nest_end. No other load may be under way. */
MUST_USE enum aof_loaded aof_load(const char *path);

/* The first of two steps of aof_load, for a caller that replaces its data by the file's and must
 * not drop it before the file is open; the second step needs no further descriptor. Returns -1 with
 * errno set where the file cannot be opened or its first byte cannot be read; the log says why,
 * except for ENOENT. */
MUST_USE int aof_load_open(const char *path);
/* The second step of aof_load: loads the file and closes the descriptor. `path` is for the log. */
MUST_USE enum aof_loaded aof_load_take(const char *path, int fd);
#endif
