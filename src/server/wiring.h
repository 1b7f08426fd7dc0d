/* SPDX-License-Identifier: BSD-3-Clause
 * The composition of the server: what its mode (server/modes.c) registers and opens.
 */
#ifndef EVENKEEL_SERVER_WIRING_H
#define EVENKEEL_SERVER_WIRING_H
#include <stdbool.h>

struct loop;

/* All rows of options, metrics and commands, from the ground up. */
extern void (*const wiring_registrations[])(void);
/* All modules, from the ground up, with observers and the loop's hooks. */
extern bool (*const wiring_openings[])(struct loop *loop);
#endif
