/* SPDX-License-Identifier: BSD-3-Clause
 * The process that watches over the old values of a server's options, and puts them back.
 *
 *   tool                          watcher (a session of its own)
 *     | -- OLD name value ------->  |  kept
 *     |    ...                      |
 *     | -- RESTORE ------------->   |  CONFIG SET of each kept value, on its own connection
 *     | <- RESTORED failures ----   |
 *     | -- closes ------------->    |  ends; before a RESTORE it restores first: the tool has died
 *
 * All ways to the end pass the same code here: the normal end, a limit that was passed, a signal,
 * and the death of the tool.
 */
#ifndef EVENKEEL_TOOLS_TOOL_WATCHER_H
#define EVENKEEL_TOOLS_TOOL_WATCHER_H
#include <stdbool.h>
#include <sys/types.h>

#include "base/attributes.h"
#include "tools/tool_config.h"

struct tool_watcher {
    pid_t pid; /* 0 = there is none */
    int fd;    /* the tool's end of the socket pair */
};

/* Forks the watcher, which connects to the server by itself. To be called before the tool has a
 * loop, a thread or a connection, because a forked process has none of these. `program` is what
 * messages call the tool. */
MUST_USE bool tool_watcher_start(struct tool_watcher *w, const struct tool_connection *server,
                                 bool resp3, const char *program, char reason[TOOL_REASON_CHARS]);
/* Waits until the watcher has its connection. False with a reason. */
MUST_USE bool tool_watcher_await(struct tool_watcher *w, char reason[TOOL_REASON_CHARS]);
/* Hands over an old value. To be called before the first CONFIG SET of the option. False where the
 * watcher is gone. */
MUST_USE bool tool_watcher_keep(struct tool_watcher *w, const struct tool_value *old);
/* Whether the watcher lives. The descriptor w->fd becomes readable when the watcher dies. */
bool tool_watcher_lives(const struct tool_watcher *w);
/* Has all old values put back, and waits for that. False with a reason, which names the commands
 * that failed or that nobody could send. */
MUST_USE bool tool_watcher_restore(struct tool_watcher *w, char reason[TOOL_REASON_CHARS]);
/* Lets the watcher end, and waits for that. Harmless where there is none. */
void tool_watcher_end(struct tool_watcher *w);
#endif
