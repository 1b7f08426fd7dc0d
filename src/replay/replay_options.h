/* SPDX-License-Identifier: BSD-3-Clause
 * The command line of `redis-lab replay`.
 */
#ifndef EVENKEEL_REPLAY_REPLAY_OPTIONS_H
#define EVENKEEL_REPLAY_REPLAY_OPTIONS_H
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "tools/tool_connection.h"
#include "tools/tool_options.h"

/* All texts are borrowed from the command line. */
struct replay_options {
    struct tool_connection connection;
    const char *file;
    const char *pace_text, *memory_text;
    double pace; /* 0 = as fast as the server answers */
    int64_t clients, pipeline, memory;
    double seconds; /* 0 = to the end */
    bool preload, fill, json, help;
};

extern const struct tool_options replay_tool_options;

/* Sets the defaults, then parses the words after "replay". False with a reason. */
MUST_USE bool replay_options_read(struct replay_options *o, int count, char *const *words,
                                  char reason[TOOL_REASON_CHARS]);
#endif
