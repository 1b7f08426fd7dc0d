/* SPDX-License-Identifier: BSD-3-Clause
 * Commands about clients: CLIENT, MONITOR, RESET.
 */
#ifndef EVENKEEL_COMMANDS_CLIENT_H
#define EVENKEEL_COMMANDS_CLIENT_H

struct buffer;
struct client;

void commands_client_register(void);
/* The client's line in CLIENT LIST, without its end. */
void client_describe(struct client *c, struct buffer *out);

#endif
