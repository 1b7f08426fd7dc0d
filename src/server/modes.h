/* SPDX-License-Identifier: BSD-3-Clause
 * All modes, for main; the server's mode, for tests that are a whole server.
 */
#ifndef EVENKEEL_SERVER_MODES_H
#define EVENKEEL_SERVER_MODES_H
#include "base/attributes.h"

struct mode;

FOR_TESTS extern const struct mode mode_server;
extern const struct mode *const mode_table[]; /* for mode_choose */
#endif
