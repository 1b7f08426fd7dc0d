/* SPDX-License-Identifier: BSD-3-Clause
 * Which role this server has, and what follows from it for its clients: REPLICAOF and ROLE, the
 * gates of a replica, INFO's fields of one.
 *
 * A replica takes writes from its primary only (replica-read-only), may refuse to answer from old
 * data while it is not linked (replica-serve-stale-data), leaves it to its primary to say which
 * keys have expired, and which are evicted (replica-ignore-maxmemory).
 */
#ifndef EVENKEEL_REPLICATION_ROLE_H
#define EVENKEEL_REPLICATION_ROLE_H
#include <stdbool.h>

struct buffer;
struct client;
struct gate_row;

/* Commands, options and metrics, those of replication/link among them. Once, at start. */
void role_register(void);
/* GATE_READ_ONLY and GATE_STALE, for server/wiring. */
extern const struct gate_row role_gate_read_only, role_gate_stale;

/* Who must know in server/. */
struct role_observer {
    void (*became)(bool replica);
    void (*status)(const char *text); /* for systemd */
};
/* Borrowed for good; is told the present role at once. `describe` appends CLIENT LIST's line of a
 * client, for the log. */
void role_open(const struct role_observer *observer,
               void (*describe)(struct client *c, struct buffer *out));
#endif
