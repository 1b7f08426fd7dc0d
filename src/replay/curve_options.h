/* SPDX-License-Identifier: BSD-3-Clause
 * The command line of `redis-lab curve`.
 */
#ifndef EVENKEEL_REPLAY_CURVE_OPTIONS_H
#define EVENKEEL_REPLAY_CURVE_OPTIONS_H
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "replay/curve_model.h"
#include "tools/tool_options.h"

/* All texts are borrowed from the command line. */
struct curve_options {
    const char *file, *csv, *html;
    const char *sizes_text;
    int64_t sizes[CURVE_SIZES_MAX]; /* rising */
    unsigned size_count;
    int64_t keys, samples;
    bool help;
};

extern const struct tool_options curve_tool_options;

/* Sets the defaults, then parses the words after "curve". False with a reason. */
MUST_USE bool curve_options_read(struct curve_options *o, int count, char *const *words,
                                 char reason[TOOL_REASON_CHARS]);
#endif
