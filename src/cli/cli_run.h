/* SPDX-License-Identifier: BSD-3-Clause
 * Runs one command of redis-cli: sends it, shows the reply, and notes how the reply changes the
 * session.
 */
#ifndef EVENKEEL_CLI_CLI_RUN_H
#define EVENKEEL_CLI_CLI_RUN_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/string.h"
#include "cli/cli_options.h"

struct peer_reply;

/* The part of the session's state in the server that the prompt shows. */
struct cli_session {
    int64_t database;
    bool in_transaction;
};

enum cli_outcome {
    CLI_ANSWERED,
    CLI_STOPPED, /* the user interrupted a stream of replies */
    CLI_REFUSED, /* the server answered with an error, which was shown */
    CLI_LOST,    /* no connection; standard error says why */
};

/* `o` is borrowed; with -c, redirections of a cluster change its connection. */
void cli_run_init(struct cli_options *o);
/* Runs a command `repeat` times (-1 = for ever) and shows the replies. Where the connection has
 * ended, each run opens it again once. A command with an endless stream of replies (MONITOR,
 * SUBSCRIBE) shows them until an interrupt or the end of the connection. */
enum cli_outcome cli_run(const struct slice *words, size_t count, int64_t repeat);
/* Opens the connection and resets the session. Returns false if there is no connection. */
MUST_USE bool cli_run_connect(void);
const struct cli_session *cli_run_session(void);
/* Shows a push, where the options say so; the `on_push` of cli_link_init. */
void cli_run_show_push(const struct peer_reply *push);
/* Sleeps for `seconds`, also where signals interrupt the sleep. */
void cli_run_pause(double seconds);
#endif
