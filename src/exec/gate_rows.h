/* SPDX-License-Identifier: BSD-3-Clause
 * The gates of a client's own state, for server/wiring: its user, closing, subscriptions, MONITOR,
 * transaction.
 */
#ifndef EVENKEEL_EXEC_GATE_ROWS_H
#define EVENKEEL_EXEC_GATE_ROWS_H
#include "exec/gates.h"

extern struct gate gate_user, gate_closing, gate_subscriber, gate_monitor, gate_queue;
#endif
