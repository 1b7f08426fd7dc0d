/* SPDX-License-Identifier: BSD-3-Clause
 * The modes that there are, for main, and the server's, for tests that are a whole server.
 */
#ifndef EVENKEEL_SERVER_MODES_H
#define EVENKEEL_SERVER_MODES_H
#include "base/attributes.h"

struct mode;

FOR_TESTS extern const struct mode mode_server;
extern const struct mode *const mode_table[]; /* for mode_choose */
#endif
