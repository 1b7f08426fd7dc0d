/* SPDX-License-Identifier: BSD-3-Clause
 * Servers that the tool starts, one for each arm, for options that only a start can set.
 *
 * All of them run at once, each in a working folder of its own, so that blocks alternate without a
 * restart and each server keeps its keys and its warm caches. Output goes to a file in the folder.
 */
#ifndef EVENKEEL_EXPERIMENT_EXPERIMENT_STARTER_H
#define EVENKEEL_EXPERIMENT_EXPERIMENT_STARTER_H
#include <stdbool.h>
#include <sys/types.h>

#include "base/attributes.h"
#include "experiment/experiment_plan.h"
#include "tools/tool_connection.h"

#define EXPERIMENT_FOLDER_CHARS 256

struct experiment_starter {
    char folder[EXPERIMENT_FOLDER_CHARS]; /* one folder for each server in it */
    pid_t pids[EXPERIMENT_ARMS_MAX];      /* of servers that live, or were not waited for */
    unsigned count;
    pid_t keeper; /* 0 = there is none */
    int fd;       /* the tool's end of a socket pair with the keeper */
};

/* Forks the process that makes the folder, and that ends the servers and removes the folder when
 * the tool is gone, however it ended. To be called before the tool has a loop or a thread. False
 * with a reason. */
MUST_USE bool experiment_starter_open(struct experiment_starter *s, char reason[TOOL_REASON_CHARS]);
/* Starts a server at a free port of 127.0.0.1, and writes that port to `login`. `command` is its
 * program and arguments; the arm's values follow as options. False with a reason. */
MUST_USE bool experiment_starter_start(struct experiment_starter *s, const char *command,
                                       const struct experiment_plan *plan,
                                       const struct experiment_arm *arm,
                                       struct tool_connection *login,
                                       char reason[TOOL_REASON_CHARS]);
/* Waits until the server that was started as number `index` accepts connections. False with a
 * reason where it ends, takes too long, or `interrupted` says that the user wants the end. */
MUST_USE bool experiment_starter_await(struct experiment_starter *s, unsigned index,
                                       const struct tool_connection *login,
                                       bool (*interrupted)(void), char reason[TOOL_REASON_CHARS]);
/* Whether all servers run. False: `reason` says which server ended, how, and its last lines. */
MUST_USE bool experiment_starter_check(struct experiment_starter *s,
                                       char reason[TOOL_REASON_CHARS]);
/* Whether the process that cleans up lives, or there is none. */
bool experiment_starter_is_kept(const struct experiment_starter *s);
/* Ends the servers at once, without a save, and removes the folder. Harmless where nothing was
 * opened. */
void experiment_starter_close(struct experiment_starter *s);
#endif
