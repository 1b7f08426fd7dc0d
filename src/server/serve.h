/* SPDX-License-Identifier: BSD-3-Clause
 * Serving: from the command line of a mode that serves clients to the loop and back.
 */
#ifndef EVENKEEL_SERVER_SERVE_H
#define EVENKEEL_SERVER_SERVE_H
#include <stdbool.h>

#include "base/attributes.h"
#include "server/mode.h"

/* For struct mode's `run`: prints what --version and similar options ask for; or reads the
 * configuration, opens and loads what the mode says, listens, and runs the loop until the server is
 * to stop. Returns the exit status. */
int serve(const struct mode *mode, int argc, char **argv);

/* The server mode's life (server/mode.h). Loads the log, if it is on, otherwise the snapshot. */
MUST_USE bool serve_load(void);
/* Says that the server is ready; a replica connects to its primary. */
void serve_loaded(void);
/* Saves as asked, or as configured, and sends replicas the last of the stream. */
MUST_USE bool serve_stop(enum mode_saving saving);
/* Writes the log of the last turn; ends children and transfers. */
void serve_finish(void);
#endif
