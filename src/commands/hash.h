/* SPDX-License-Identifier: BSD-3-Clause
 * Commands on hashes.
 */
#ifndef EVENKEEL_COMMANDS_HASH_H
#define EVENKEEL_COMMANDS_HASH_H
void commands_hash_register(void);
#endif
