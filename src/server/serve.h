/* SPDX-License-Identifier: BSD-3-Clause
 * Serving: from the command line of a mode that serves clients to the loop and back.
 */
#ifndef EVENKEEL_SERVER_SERVE_H
#define EVENKEEL_SERVER_SERVE_H
#include <stdbool.h>

#include "base/attributes.h"

struct mode;

/* For struct mode's `run`: prints what --version and similar options ask for; or reads the
 * configuration, opens and loads what the mode says, listens, and runs the loop until the server is
 * to stop. Returns the exit status. */
int serve(const struct mode *mode, int argc, char **argv);

/* The server mode's `load`: loads the log, if it is on, otherwise the snapshot. False after a
 * message in the log. */
MUST_USE bool serve_load(void);
/* The server mode's `loaded`: a replica connects to its primary. */
void serve_begin_link(void);
#endif
