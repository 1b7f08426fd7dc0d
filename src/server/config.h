/* SPDX-License-Identifier: BSD-3-Clause
 * The command CONFIG.
 */
#ifndef EVENKEEL_SERVER_CONFIG_H
#define EVENKEEL_SERVER_CONFIG_H
#include <stdbool.h>
#include <stddef.h>

void config_register(void);
/* Writes the present options into the configuration file that the server was started with; with
 * `force_all` also those at their defaults. False with a sentence in `reason`. */
bool config_rewrite(bool force_all, char *reason, size_t reason_size);
/* Writes the present options into that file, which there must be, and syncs file and folder. False
 * with errno set where it is not certain that the file is on disk. */
bool config_record(void);
#endif
