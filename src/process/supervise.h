/* SPDX-License-Identifier: BSD-3-Clause
 * Reports the server's state to the system's supervisor, systemd or upstart.
 */
#ifndef EVENKEEL_PROCESS_SUPERVISE_H
#define EVENKEEL_PROCESS_SUPERVISE_H
#include <stdbool.h>

void supervise_register(void); /* supervised; INFO's process_supervised */
/* Finds the supervisor; logs a line where the one that the option names does not exist. Once, when
 * the configuration has been read. */
void supervise_open(void);
/* Whether the server is supervised: it must not become a daemon then. */
bool supervise_active(void);
/* Reports that the server is ready. Under upstart the process stops here until the supervisor
 * continues it. */
void supervise_ready(void);
void supervise_stopping(void);
/* A line for people, such as "Loading": systemctl status shows it. */
void supervise_status(const char *text);
#endif
