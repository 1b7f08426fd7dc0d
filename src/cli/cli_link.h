/* SPDX-License-Identifier: BSD-3-Clause
 * redis-cli's connection to the server: one at a time, opened with the user's password, protocol
 * and database.
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

/* `c` is borrowed: a change of host, port or database in it takes effect with the next
 * cli_link_open. With `verbose` each connection is reported on standard error. `on_push` takes the
 * pushes that arrive during cli_link_call; NULL drops them. */
void cli_link_init(struct tool_connection *c, bool resp3, bool verbose,
                   void (*on_push)(const struct peer_reply *push));
/* Closes the present connection and opens a new one. Returns false if no connection results; a
 * refused AUTH or SELECT does not count (cli_link_is_greeted). Both failures are reported on
 * standard error. */
MUST_USE bool cli_link_open(void);
void cli_link_close(void);
bool cli_link_is_open(void);
/* Whether the server took password, protocol and database when the link was opened. */
bool cli_link_is_greeted(void);
/* Queues a request; it is sent when the caller waits for a reply. */
void cli_link_send(const struct slice *words, size_t count);
/* Waits for the next reply or push, without a time limit; it is valid until the next call. NULL
 * where the connection ended (cli_link_error), or after an interrupt while cli_link_heed_interrupt
 * is on. */
const struct peer_reply *cli_link_read(void);
/* Sends a request and waits for its reply, NULL as for cli_link_read; pushes before the reply go to
 * `on_push`. */
const struct peer_reply *cli_link_call(const struct slice *words, size_t count);
/* Sends the words of `line`, which blanks separate, and returns the reply, as
 * cli_link_must_read. */
const struct peer_reply *cli_link_must_call(const char *line);
/* Waits for the next reply and drops pushes. Ends the program with a message where the connection
 * ends: for modes that cannot continue without a reply. */
const struct peer_reply *cli_link_must_read(void);
/* The reason why there is no connection, one line. */
const char *cli_link_error(void);
/* The peer client itself, for callers that read bytes that are no replies, or that wait for other
 * descriptors at the same time. */
struct peer_client *cli_link_client(void);

/* With `heed` an interrupt (Ctrl-C) ends the present wait instead of the program; without, it ends
 * the program again. */
void cli_link_heed_interrupt(bool heed);
/* Returns true once after an interrupt. */
bool cli_link_take_interrupt(void);
#endif
