/* SPDX-License-Identifier: BSD-3-Clause
 * The instances that this Sentinel watches: creation, search and end.
 *
 * Nothing is created twice: a primary has one entry a name, a replica one an address, a Sentinel
 * one a run id and one an address. What is dropped is freed at once; requests that wait for answers
 * name instances by serial number (watch_link.h), so that an answer that comes later finds nothing.
 */
#ifndef EVENKEEL_SENTINEL_WATCHED_H
#define EVENKEEL_SENTINEL_WATCHED_H
#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"
#include "sentinel/instance.h"

#define SENTINEL_PORT_MAX 65535
/* A new primary's properties, as in 6.2. */
#define SENTINEL_DOWN_AFTER_MSEC 30000
#define SENTINEL_FAILOVER_TIMEOUT_MSEC 180000
#define SENTINEL_PARALLEL_SYNCS 1

/* All primaries, by in_watched. */
struct list_link *sentinel_primaries(void);
size_t sentinel_primary_count(void);
struct primary *sentinel_find_primary(struct slice name);
/* A primary whose address this is; NULL: none. */
struct primary *sentinel_find_primary_at(struct slice host, int port);

/* Creates a primary. NULL with a reason in 6.2's words, where the name is taken, the address cannot
 * be one, or there are too many. No event is made. */
MUST_USE struct primary *sentinel_add_primary(struct slice name, struct slice host, int port,
                                              int quorum, const char **reason);
/* Frees the primary with all that it has. */
void sentinel_drop_primary(struct primary *p);

/* Creates a replica; NULL where the primary has it, the address cannot be one, or there are too
 * many. */
struct replica *sentinel_add_replica(struct primary *p, struct slice host, int port);
struct replica *sentinel_find_replica(const struct primary *p, struct slice host, int port);
/* Creates an entry of another Sentinel; NULL where the primary has the run id or the address, or
 * there are too many. */
struct voter *sentinel_add_voter(struct primary *p, struct slice host, int port,
                                 struct slice run_id);
struct voter *sentinel_find_voter(const struct primary *p, struct slice run_id);
struct voter *sentinel_find_voter_at(const struct primary *p, struct slice host, int port);
void sentinel_drop_voter(struct voter *v);

/* Forgets the replicas and the failover, and if `voters` the other Sentinels; the links are made
 * anew. */
void sentinel_reset_primary(struct primary *p, bool voters);
/* The primary has another address: replicas are made anew, the former address one among them. An
 * event is made of each. `host` is copied first, so it may be of an instance that ends here. */
void sentinel_switch_primary(struct primary *p, struct slice host, int port);
/* Called with a name whose number has changed: notes the number. */
void sentinel_watched_note_name(const char *host);
#endif
