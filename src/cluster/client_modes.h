/* SPDX-License-Identifier: BSD-3-Clause
 * What a client has said about slots that this node does not own: ASKING, READONLY, READWRITE.
 */
#ifndef EVENKEEL_CLUSTER_CLIENT_MODES_H
#define EVENKEEL_CLUSTER_CLIENT_MODES_H
struct client_state;
struct run_observer;

enum cluster_client_flags {
    CLUSTER_CLIENT_ASKS = 1 << 0,  /* ASKING: the next request may use slots that are imported */
    CLUSTER_CLIENT_READS = 1 << 1, /* READONLY: a replica may answer from its copy */
};

/* For server/wiring. */
extern struct client_state cluster_client_state;
/* Ends ASKING behind the request that it was for. */
extern const struct run_observer cluster_run_observer;

void cluster_client_modes_register(void);
#endif
