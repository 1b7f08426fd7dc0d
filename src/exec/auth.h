/* SPDX-License-Identifier: BSD-3-Clause
 * The password of the default user: the option requirepass.
 */
#ifndef EVENKEEL_EXEC_AUTH_H
#define EVENKEEL_EXEC_AUTH_H
#include <stdbool.h>

#include "base/string.h"

void auth_register(void);
/* False: new clients need not authenticate. */
bool auth_password_is_set(void);
/* True where `given` is the password, and for any text where none is set. The time it takes tells
 * nothing about the password but whether it has the length of `given`. */
bool auth_password_matches(struct slice given);
#endif
