/* SPDX-License-Identifier: BSD-3-Clause
 * Commands of publish and subscribe.
 */
#ifndef EVENKEEL_COMMANDS_PUBSUB_H
#define EVENKEEL_COMMANDS_PUBSUB_H

void commands_pubsub_register(void);
#endif
