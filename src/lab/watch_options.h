/* SPDX-License-Identifier: BSD-3-Clause
 * The command line of `redis-lab watch`.
 */
#ifndef EVENKEEL_LAB_WATCH_OPTIONS_H
#define EVENKEEL_LAB_WATCH_OPTIONS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct watch_options {
    const char *host, *path, *user, *password; /* path = the unix socket's; NULL = not given */
    int64_t port, interval_msec, probe_msec;
    int64_t samples; /* CSV only: the tool ends after so many samples; 0 = never */
    bool resp3, csv;
};

enum watch_options_status { WATCH_OPTIONS_RUN, WATCH_OPTIONS_HELP, WATCH_OPTIONS_BAD };

/* Parses the words after "watch"; texts are borrowed from them. Without a password option the
 * password comes from the environment variable REDISCLI_AUTH, as for redis-cli. If the result is
 * BAD, `reason` says why. */
enum watch_options_status watch_options_read(struct watch_options *o, int count, char **words,
                                             char *reason, size_t reason_size);
extern const char watch_usage[];
#endif
