/* SPDX-License-Identifier: BSD-3-Clause
 * Telling the system's supervisor, systemd or upstart, how the server is.
 */
#ifndef EVENKEEL_PROCESS_SUPERVISE_H
#define EVENKEEL_PROCESS_SUPERVISE_H
#include <stdbool.h>

void supervise_register(void); /* supervised; INFO's process_supervised */
/* Finds out which supervisor there is; a line in the log where the one asked for is not there.
 * Once, when the configuration is read. */
void supervise_open(void);
/* A supervised server does not become a daemon. */
bool supervise_active(void);
/* The server serves. Under upstart the process stops here until the supervisor continues it. */
void supervise_ready(void);
void supervise_stopping(void);
/* A line for people, such as "Loading": systemctl status shows it. */
void supervise_status(const char *text);
#endif
