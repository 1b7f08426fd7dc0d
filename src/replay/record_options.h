/* SPDX-License-Identifier: BSD-3-Clause
 * The command line of `redis-lab record`.
 */
#ifndef EVENKEEL_REPLAY_RECORD_OPTIONS_H
#define EVENKEEL_REPLAY_RECORD_OPTIONS_H
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "tools/tool_connection.h"
#include "tools/tool_options.h"

/* All texts are borrowed from the command line. */
struct record_options {
    struct tool_connection connection;
    const char *out;
    int64_t sample;     /* 0 = the server's own value where it is not 0, else the default */
    const char *buffer; /* trace-buffer-size; NULL = as it is */
    double seconds;     /* 0 = until a signal */
    int64_t requests;   /* 0 = no limit */
    bool hashed, force, resp3, help;
};

extern const struct tool_options record_tool_options;

/* Sets the defaults, then parses the words after "record". False with a reason. */
MUST_USE bool record_options_read(struct record_options *o, int count, char *const *words,
                                  char reason[TOOL_REASON_CHARS]);
#endif
