/* SPDX-License-Identifier: BSD-3-Clause
 * Commands of transactions: MULTI, EXEC, DISCARD, WATCH, UNWATCH.
 */
#ifndef EVENKEEL_COMMANDS_TRANSACTION_H
#define EVENKEEL_COMMANDS_TRANSACTION_H

void commands_transaction_register(void);
#endif
