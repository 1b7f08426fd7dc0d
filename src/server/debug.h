/* SPDX-License-Identifier: BSD-3-Clause
 * The command DEBUG.
 */
#ifndef EVENKEEL_SERVER_DEBUG_H
#define EVENKEEL_SERVER_DEBUG_H

void debug_register(void);

#endif
