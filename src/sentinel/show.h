/* SPDX-License-Identifier: BSD-3-Clause
 * Instances as SENTINEL MASTERS, REPLICAS and SENTINELS show them.
 */
#ifndef EVENKEEL_SENTINEL_SHOW_H
#define EVENKEEL_SENTINEL_SHOW_H
#include "sentinel/instance.h"

struct client;

/* Replies one instance: a map of bulks. */
void sentinel_show_instance(struct client *c, const struct instance *i);
/* Reply all primaries; the replicas that are announced; the other Sentinels. */
void sentinel_show_primaries(struct client *c);
void sentinel_show_replicas(struct client *c, const struct primary *p);
void sentinel_show_voters(struct client *c, const struct primary *p);
/* Replies the last INFO of the primary and of its replicas: [age in milliseconds, text or null]
 * each. */
void sentinel_show_info_cache(struct client *c, const struct primary *p);
#endif
