/* SPDX-License-Identifier: BSD-3-Clause
 * Which processors threads and children run on.
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

/* server_cpulist, bio_cpulist, aof_rewrite_cpulist, bgsave_cpulist. Notes the processors that the
 * process has now. */
void affinity_register(void);
/* Binds the calling thread (a child: its only one) to its role's processors; where the system
 * refuses, a line in the log, and it stays as it is. Without a list background threads take the
 * processors that the process had at start, and all others stay where they are. */
void affinity_apply(enum affinity_role role);
/* What the process had at start, for a program that is to be executed in its place. */
void affinity_restore(void);

/* "0,2,4-7" or "0-7:2" (every second of them). False with a reason. */
FOR_TESTS bool affinity_parse(struct slice list, cpu_set_t *processors, char *reason,
                              size_t reason_size);
#endif
