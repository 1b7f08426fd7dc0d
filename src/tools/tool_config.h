/* SPDX-License-Identifier: BSD-3-Clause
 * A server's options by CONFIG: read, set, put back.
 */
#ifndef EVENKEEL_TOOLS_TOOL_CONFIG_H
#define EVENKEEL_TOOLS_TOOL_CONFIG_H
#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"
#include "tools/tool_link.h"

/* An option and a value. Both texts are the caller's. */
struct tool_value {
    const char *name, *value;
};

enum tool_config_status {
    TOOL_CONFIG_GOOD,
    TOOL_CONFIG_UNKNOWN,  /* no option has this name */
    TOOL_CONFIG_AT_START, /* the option cannot be set while the server runs */
    TOOL_CONFIG_REFUSED,  /* the server refuses the value, or CONFIG altogether: `reason` */
    TOOL_CONFIG_LOST,     /* there is no connection any more: `reason` */
};

/* Reads an option's value into `value`, which is an initialised buffer. UNKNOWN: `reason` names
 * options of similar names, or is empty. */
MUST_USE enum tool_config_status tool_config_get(struct tool_link *link, const char *name,
                                                 struct buffer *value,
                                                 char reason[TOOL_REASON_CHARS]);
/* Sets and, within the same transaction, sets back to `old`, so that no other client's command sees
 * the value: tells whether the server takes the value. `canonical`, an initialised buffer, gets the
 * value as CONFIG GET prints it. */
MUST_USE enum tool_config_status tool_config_try(struct tool_link *link,
                                                 const struct tool_value *value, const char *old,
                                                 struct buffer *canonical,
                                                 char reason[TOOL_REASON_CHARS]);
/* Sets values. A value that is refused is tried once more after all others, because one option may
 * bound another one. Returns the first failure that is left, after the other values were set;
 * `failed`, if not NULL, gets the index of that value. */
MUST_USE enum tool_config_status tool_config_set(struct tool_link *link,
                                                 const struct tool_value *values, size_t count,
                                                 size_t *failed, char reason[TOOL_REASON_CHARS]);
#endif
