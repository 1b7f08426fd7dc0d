/* SPDX-License-Identifier: BSD-3-Clause
 * The options of Redis 6.2 whose features are not built yet.
 */
#ifndef EVENKEEL_SERVER_OPTIONS_PENDING_H
#define EVENKEEL_SERVER_OPTIONS_PENDING_H

/* Registers the rows. Once, at start. */
void options_pending_register(void);
/* Logs what the configuration asks for and does not get. Once, when all of it has been read. */
void options_pending_announce(void);
#endif
