/* SPDX-License-Identifier: BSD-3-Clause
 * The option requirepass: a password of the default user.
 */
#ifndef EVENKEEL_ACCESS_AUTH_H
#define EVENKEEL_ACCESS_AUTH_H

void auth_register(void);
#endif
