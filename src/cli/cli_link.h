/* SPDX-License-Identifier: BSD-3-Clause
 * redis-cli's connection to the server: one at a time, opened with the user's password, protocol
 * and database, and opened anew when it ended.
 */
#ifndef EVENKEEL_CLI_CLI_LINK_H
#define EVENKEEL_CLI_CLI_LINK_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/string.h"
#include "peer/peer_reply.h"
#include "tools/tool_connection.h"

struct cli_options;
struct peer_client;

/* `c` is borrowed: who changes host, port or database in it reaches another server with the next
 * cli_link_open. `verbose`: connections are told of on standard error. `on_push` takes what nobody
 * asked for; NULL drops it. */
void cli_link_init(struct tool_connection *c, bool resp3, bool verbose,
                   void (*on_push)(const struct peer_reply *push));
/* Connects, after closing. False where there is no connection; AUTH or SELECT that fail are no
 * reason. Either is said on standard error. */
MUST_USE bool cli_link_open(void);
void cli_link_close(void);
bool cli_link_is_open(void);
/* Whether the server took password, protocol and database when the link was opened. */
bool cli_link_is_greeted(void);
/* Of requests that follow; they leave when a reply is waited for. */
void cli_link_send(const struct slice *words, size_t count);
/* The next reply, pushes included, valid until the next call; waits for ever. NULL where the
 * connection ended (cli_link_error) or an interrupt came while cli_link_heed_interrupt says so. */
const struct peer_reply *cli_link_read(void);
/* A request and its reply; pushes go to `on_push`. */
const struct peer_reply *cli_link_call(const struct slice *words, size_t count);
/* The same, for words that are one string each, parted by blanks in `line`. Ends the program with a
 * message where there is no reply: for modes that cannot go on without. */
const struct peer_reply *cli_link_must_call(const char *line);
const struct peer_reply *cli_link_must_read(void);
/* Why there is no connection, one line. */
const char *cli_link_error(void);
/* The client itself, for what is no reply, and for waiting for something else beside it. */
struct peer_client *cli_link_client(void);

/* From now on an interrupt (Ctrl-C) makes waits end instead of the program; or no longer. */
void cli_link_heed_interrupt(bool heed);
/* True once after an interrupt. */
bool cli_link_take_interrupt(void);
#endif
