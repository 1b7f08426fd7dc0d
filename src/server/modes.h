/* SPDX-License-Identifier: BSD-3-Clause
 * The modes that there are, for main, and the server's, for tests that are a whole server.
 */
#ifndef EVENKEEL_SERVER_MODES_H
#define EVENKEEL_SERVER_MODES_H
struct mode;

extern const struct mode mode_server;
extern const struct mode *const mode_table[]; /* for mode_choose */
#endif
