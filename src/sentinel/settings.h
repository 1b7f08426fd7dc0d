/* SPDX-License-Identifier: BSD-3-Clause
 * What concerns this Sentinel as a whole: its id, the current epoch, and the directives that name
 * no primary.
 *
 * The directives' rows (directives.h) and the commands change the settings; everybody reads them.
 */
#ifndef EVENKEEL_SENTINEL_SETTINGS_H
#define EVENKEEL_SENTINEL_SETTINGS_H
#include <stdbool.h>
#include <stdint.h>

#include "base/string.h"

#define SENTINEL_ID_CHARS 40 /* hexadecimal digits of a Sentinel's id and of a server's run id */

struct sentinel_settings {
    char id[SENTINEL_ID_CHARS + 1]; /* "" until it is read or drawn */
    uint64_t epoch;                 /* the current epoch: the highest that this Sentinel has seen */
    char *announce_ip;              /* owned; NULL = our end of the link to the other side */
    int announce_port;              /* 0 = the port at which this Sentinel listens */
    bool deny_scripts_reconfig, resolve_hostnames, announce_hostnames;
    char *user;         /* owned; sentinel-user; NULL = none */
    struct buffer pass; /* sentinel-pass; empty = none */
};

/* The settings, for reading. */
const struct sentinel_settings *sentinel_settings(void);
/* The settings, for a caller that changes them and has the record written. */
struct sentinel_settings *sentinel_settings_change(void);
#endif
