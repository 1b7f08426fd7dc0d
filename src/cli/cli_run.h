/* SPDX-License-Identifier: BSD-3-Clause
 * One command of redis-cli: sent, answered, shown; and what it changes of the session.
 */
#ifndef EVENKEEL_CLI_CLI_RUN_H
#define EVENKEEL_CLI_CLI_RUN_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/string.h"
#include "cli/cli_options.h"

struct peer_reply;

/* What the server keeps of our session, for the prompt. */
struct cli_session {
    int64_t database;
    bool in_transaction;
};

enum cli_outcome {
    CLI_ANSWERED,
    CLI_STOPPED, /* answers came until somebody had enough */
    CLI_REFUSED, /* the server answered with an error, which was shown */
    CLI_LOST,    /* no connection; standard error says why */
};

/* `o` is borrowed; with -c its connection changes as the cluster says. */
void cli_run_init(struct cli_options *o);
/* Runs a command `repeat` times (-1 = for ever) and shows the replies. A connection that has ended
 * is opened anew once. Commands whose replies do not end (MONITOR, SUBSCRIBE) show them until they
 * are interrupted, or the connection ends. */
enum cli_outcome cli_run(const struct slice *words, size_t count, int64_t repeat);
/* Opens the connection, and the session begins anew. */
MUST_USE bool cli_run_connect(void);
const struct cli_session *cli_run_session(void);
/* For cli_link_init. */
void cli_run_show_push(const struct peer_reply *push);
/* Waits for the time between two runs. */
void cli_run_pause(double seconds);
#endif
