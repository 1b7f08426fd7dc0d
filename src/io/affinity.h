/* SPDX-License-Identifier: BSD-3-Clause
 * Binds the server's threads and forked children to the processors that options name.
 */
#ifndef EVENKEEL_IO_AFFINITY_H
#define EVENKEEL_IO_AFFINITY_H
#include <sched.h>
#include <stdbool.h>

#include "base/attributes.h"
#include "base/string.h"

enum affinity_role {
    AFFINITY_SERVER,      /* the main thread and I/O threads */
    AFFINITY_BACKGROUND,  /* io/background */
    AFFINITY_AOF_REWRITE, /* the child that writes the append only file anew */
    AFFINITY_SNAPSHOT,    /* the child that writes a snapshot */
    AFFINITY_ROLES
};

/* Registers the options server_cpulist, bio_cpulist, aof_rewrite_cpulist and bgsave_cpulist, and
 * notes the processors that the process may run on now. */
void affinity_register(void);
/* Binds the calling thread to the processors that its role's option lists; in a forked child that
 * thread is the only one. If the kernel refuses, the thread keeps its processors and a warning is
 * logged. If the list is empty, a background thread gets the processors that the process had at
 * start, and a thread of any other role keeps its own. */
void affinity_apply(enum affinity_role role);
/* Binds the calling thread to the processors that the process had at start, because a program that
 * is executed in its place inherits them. */
void affinity_restore(void);

/* Parses a list such as "0,2,4-7" or "0-7:2" (every second processor of the range). Returns false,
 * with a reason, if the text is no such list. */
FOR_TESTS bool affinity_parse(struct slice list, cpu_set_t *processors, char *reason,
                              size_t reason_size);
#endif
