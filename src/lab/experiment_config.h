/* SPDX-License-Identifier: BSD-3-Clause
 * A server's options by CONFIG: read, set, put back.
 */
#ifndef EVENKEEL_LAB_EXPERIMENT_CONFIG_H
#define EVENKEEL_LAB_EXPERIMENT_CONFIG_H
#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"
#include "lab/experiment_link.h"

/* An option and a value. Both texts are the caller's. */
struct experiment_value {
    const char *name, *value;
};

enum experiment_config_status {
    EXPERIMENT_CONFIG_GOOD,
    EXPERIMENT_CONFIG_UNKNOWN,  /* no option has this name */
    EXPERIMENT_CONFIG_AT_START, /* the option cannot be set while the server runs */
    EXPERIMENT_CONFIG_REFUSED,  /* the server refuses the value, or CONFIG altogether: `reason` */
    EXPERIMENT_CONFIG_LOST,     /* there is no connection any more: `reason` */
};

/* Reads an option's value into `value`, which is an initialised buffer. UNKNOWN: `reason` names
 * options of similar names, or is empty. */
MUST_USE enum experiment_config_status experiment_config_get(struct experiment_link *link,
                                                             const char *name, struct buffer *value,
                                                             char reason[EXPERIMENT_REASON_CHARS]);
/* Sets and, within the same transaction, sets back to `old`, so that no other client's command sees
 * the value: tells whether the server takes the value. `canonical`, an initialised buffer, gets the
 * value as CONFIG GET prints it. */
MUST_USE enum experiment_config_status experiment_config_try(struct experiment_link *link,
                                                             const struct experiment_value *value,
                                                             const char *old,
                                                             struct buffer *canonical,
                                                             char reason[EXPERIMENT_REASON_CHARS]);
/* Sets values. A value that is refused is tried once more after all others, because one option may
 * bound another one. Returns the first failure that is left, after the other values were set;
 * `failed`, if not NULL, gets the index of that value. */
MUST_USE enum experiment_config_status experiment_config_set(struct experiment_link *link,
                                                             const struct experiment_value *values,
                                                             size_t count, size_t *failed,
                                                             char reason[EXPERIMENT_REASON_CHARS]);
#endif
