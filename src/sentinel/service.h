/* SPDX-License-Identifier: BSD-3-Clause
 * What a Sentinel answers to its clients besides SENTINEL: its command table, PUBLISH, ROLE, and
 * its section of INFO.
 */
#ifndef EVENKEEL_SENTINEL_SERVICE_H
#define EVENKEEL_SENTINEL_SERVICE_H

#include "command/command.h"

/* The commands that a Sentinel has, as Redis 6.2 has them; ended by a NULL name. */
extern const struct command_form sentinel_forms[];
/* Registers INFO's section. Once, at start. */
void sentinel_service_register(void);
#endif
