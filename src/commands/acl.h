/* SPDX-License-Identifier: BSD-3-Clause
 * ACL: users and what they may do.
 */
#ifndef EVENKEEL_COMMANDS_ACL_H
#define EVENKEEL_COMMANDS_ACL_H

void commands_acl_register(void);
#endif
