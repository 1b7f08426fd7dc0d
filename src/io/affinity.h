/* SPDX-License-Identifier: BSD-3-Clause
 * Binds the server's threads and forked children to the processors that options name.
 */
#ifndef EVENKEEL_IO_AFFINITY_H
#define EVENKEEL_IO_AFFINITY_H
#include <sched.h>
#include <stdbool.h>

#include "base/attributes.h"
#include "base/string.h"
#include "option/option.h"

/* What a thread or a forked child does, as far as that decides where it runs. A module whose
 * threads or children have an option of their own declares a role, static, and puts
 * AFFINITY_OPTION into its option rows; so this header need not list those modules. */
struct affinity_role {
    char *list; /* the option's value; NULL before the option is registered */
    /* What an empty list means: the processors that the process had at start (true), or those that
     * the thread has already (false). */
    bool all_if_empty;
};
/* An option's row in the section "threads": `role` is a struct affinity_role. */
#define AFFINITY_OPTION(option, at, role, text)                                                   \
    {                                                                                             \
        .name = (option), .type = OPTION_TYPE_STRING, .section = "threads", .place = (at),        \
        .fallback = "", .variable = &(role).list, .check = affinity_check_option, .help = (text), \
    }

/* The roles of this folder: the main thread and I/O threads; all other threads. */
extern struct affinity_role affinity_server, affinity_background;

/* Registers the options server_cpulist and bio_cpulist, and notes the processors that the process
 * may run on now. */
void affinity_register(void);
/* Binds the calling thread to the processors that its role's option lists; in a forked child that
 * thread is the only one. If the kernel refuses, the thread keeps its processors and a warning is
 * logged. */
void affinity_apply(const struct affinity_role *role);
/* Binds the calling thread to the processors that the process had at start, because a program that
 * is executed in its place inherits them. */
void affinity_restore(void);

/* Checks an option's value, for AFFINITY_OPTION: a list of processors, or nothing. */
bool affinity_check_option(const struct option_row *row, struct slice value, char *reason,
                           size_t reason_size);
/* Parses a list such as "0,2,4-7" or "0-7:2" (every second processor of the range). Returns false,
 * with a reason, if the text is no such list. */
FOR_TESTS bool affinity_parse(struct slice list, cpu_set_t *processors, char *reason,
                              size_t reason_size);
#endif
