/* SPDX-License-Identifier: BSD-3-Clause
 * Puts the modules together.
 */
#ifndef EVENKEEL_SERVER_WIRING_H
#define EVENKEEL_SERVER_WIRING_H
#include <stdbool.h>

#include "base/attributes.h"

struct loop;

/* All rows of options, metrics and commands, from the ground up. Opens nothing. */
void wiring_register(void);
/* All modules, from the ground up, with the options as they are, observers and the loop's hooks.
 * False after a message in the log. */
MUST_USE bool wiring_open(struct loop *loop);
/* Lets clients in, last of all. False after a message in the log. */
MUST_USE bool wiring_listen(struct loop *loop);
#endif
