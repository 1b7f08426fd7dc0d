/* SPDX-License-Identifier: BSD-3-Clause
 * maxmemory: what counts toward it, when keys are evicted for it, and who gets -OOM.
 *
 * memory_limit.c has the rules by which limit, budget, exemption, ceiling and soft limit meet.
 */
#ifndef EVENKEEL_EXEC_MEMORY_LIMIT_H
#define EVENKEEL_EXEC_MEMORY_LIMIT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

struct gate;

void memory_limit_register(void); /* options and metrics */
/* How clients' memory is asked for (net/client_memory, net/batch). Without it all of the class
 * MEMORY_CLIENTS is theirs, no argument is large, and nobody is disconnected. */
struct memory_limit_clients {
    /* Of all normal and pubsub clients, and of what these are still to be told, O(1). */
    size_t (*bytes)(void);
    size_t (*leaving)(void); /* those of them that closing clients give back by the turn's end */
    /* Those of them that large arguments take, which are to become values, O(1). */
    size_t (*arguments)(void);
    /* Disconnects the largest for so many bytes; returns what that gives back. */
    size_t (*disconnect_largest)(size_t bytes);
};
void memory_limit_set_clients(const struct memory_limit_clients *how);

/* While it is, nothing is evicted and no room is lacking: a replica leaves both to its primary. */
void memory_limit_set_exempt(bool is_exempt);

/* maxmemory, in bytes; 0 = it is not set, and the gate not on. */
int64_t memory_limit_bytes(void);
/* Before each command, where it is: makes room as far as the rules say. False where there is none,
 * and a command that wants memory (COMMAND_DENYOOM) is to be refused. May close clients. */
FOR_TESTS MUST_USE bool memory_limit_make_room(void);
/* For server/wiring: does so before each call, and refuses it. */
extern struct gate memory_limit_gate;
/* Whether there was no room for the last call that came over the network. */
bool memory_limit_lacked(void);
/* When its last slice ended (clock_monotonic_nsec), if one has run since this was asked last; else
 * 0. */
int64_t memory_limit_slice_end_nsec(void);
/* A turn of the loop begins. */
void memory_limit_turn(void);
/* Before the loop sleeps: goes on with what is to be evicted; true where more is to be done now. */
bool memory_limit_step(void);

/* used_memory less what is never counted, what is on its way out, and, with
 * maxmemory-exclude-client-buffers, what clients hold. O(1). */
FOR_TESTS size_t memory_limit_counted(void);
/* Whether small integers are shared in the sense of OBJECT REFCOUNT: 6.2 does not share them where
 * each key needs a recency of its own. */
bool memory_limit_shares_integers(void);
#endif
