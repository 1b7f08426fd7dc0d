/* SPDX-License-Identifier: BSD-3-Clause
 * The scheduler: what happens next, and the nodes that it happens on.
 *
 * Of the tasks and actors that could go on now one is drawn and does so; where none can, time goes
 * on to the next moment at which one could. Actors are parts of the scheduler's own process:
 * clients, and who makes faults.
 */
#ifndef EVENKEEL_TESTS_SIM_SCHEDULER_H
#define EVENKEEL_TESTS_SIM_SCHEDULER_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/network.h"

/* Zeroed, then filled in; in its owner's struct. */
struct actor {
    int64_t due_nsec;                        /* NEVER: only when it is ready */
    bool (*is_ready)(const struct actor *a); /* NULL: only when it is due */
    void (*act)(struct actor *a);
};
#define ACTORS_MAX 64
void scheduler_add(struct actor *a);
void scheduler_remove(const struct actor *a);
void scheduler_set_observer(network_observer *seen);
/* A server has ended by itself: `may_end` says whether it may, and sees to what follows. */
void scheduler_set_end_observer(bool (*may_end)(int node, int exit_status));
/* A server is about to start: its files are as it will find them. */
void scheduler_set_start_observer(void (*seen)(int node));
/* Until `until_nsec`, or until `enough` (may be NULL) says so; false where something was found. */
bool scheduler_run(int64_t until_nsec, bool (*enough)(void));

/* ---- Nodes ---- */

/* Folders node-N and notes-N in `folder`, which exists. */
void nodes_make(const char *folder, int count);
int nodes_count(void);
/* One more argument for the node's server, of all starts to come. The text is copied. */
void node_add_argument(int node, const char *text);
/* The node's server runs from now on as `program` ("redis-sentinel") with a file of options in
 * place of arguments; node_add_line appends a line to it. Before its first start. */
void node_use_file(int node, const char *program);
void node_add_line(int node, const char *line);
/* A file that is in the node's folder at its first start. */
void node_add_file(int node, const char *name, const char *text);
/* Reads a file of the node's folder, up to `size` - 1 bytes. False where there is none. */
bool node_read_file(int node, const char *name, char *text, size_t size);
/* Another machine takes the place of this one, which does not run: its folder has nothing but the
 * file of options as it was first. */
void node_renew(int node);
/* Gives the machine power where it has none, and starts its server. */
void node_start(int node);
bool node_runs(int node);
/* Its server's task, or NULL. */
struct task *node_task(int node);
/* Kills its processes: the server, and, with `children`, its children, which else go on. */
void node_kill(int node, bool children);
/* Its processes stand still for a while; what is sent to them arrives. */
void node_stop(int node, int64_t nsec);
/* The machine stops: what was not synced is gone, and its connections end without a word. */
void node_cut_power(int node);
void nodes_end(void);
#endif
