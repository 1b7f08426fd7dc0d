/* SPDX-License-Identifier: BSD-3-Clause
 * Loading the append only file: commands, or a snapshot (the preamble) and commands behind it.
 *
 * The file is read in a window of memory, whatever its size. Each command runs as a call of origin
 * CALL_LOG (exec/run.h): no gate stops it, nobody is told of it as an effect. What stands between
 * MULTI and EXEC runs where its EXEC is there.
 */
#ifndef EVENKEEL_AOF_AOF_LOAD_H
#define EVENKEEL_AOF_AOF_LOAD_H
#include "base/attributes.h"

enum aof_loaded {
    AOF_LOADED,    /* all of it */
    AOF_NONE,      /* there is no such file */
    AOF_EMPTY,     /* it has no bytes */
    AOF_TRUNCATED, /* up to its last whole command; what was behind that is cut off the file now */
    AOF_REFUSED    /* no: the log says where and why. What came before it is in the databases */
};

/* Loads it into the databases as they are, with the option aof-load-truncated as it stands; says in
 * the log what is wrong. While it lasts clients are answered as rdb/loading.h has it. Within a
 * call only between run_nest_begin and run_nest_end. Not while another load is under way. */
MUST_USE enum aof_loaded aof_load(const char *path);

/* aof_load in two steps, for a caller that gives up data for the file's: it gives up nothing before
 * the file is open. The load needs no descriptor more. -1 with errno set where the file cannot be
 * opened, or its first byte not be read; then the log says why, but for ENOENT. */
MUST_USE int aof_load_open(const char *path);
/* Closes the descriptor. `path` is for the log. */
MUST_USE enum aof_loaded aof_load_take(const char *path, int fd);
#endif
