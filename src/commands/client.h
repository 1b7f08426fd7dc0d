/* SPDX-License-Identifier: BSD-3-Clause
 * Commands about clients: CLIENT, MONITOR, RESET.
 */
#ifndef EVENKEEL_COMMANDS_CLIENT_H
#define EVENKEEL_COMMANDS_CLIENT_H

void commands_client_register(void);

#endif
