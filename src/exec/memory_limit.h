/* SPDX-License-Identifier: BSD-3-Clause
 * maxmemory: which memory counts, when keys are evicted, and which commands get -OOM.
 *
 * memory_limit.c has the rules for limit, budget, exemption, ceiling and soft limit together.
 */
#ifndef EVENKEEL_EXEC_MEMORY_LIMIT_H
#define EVENKEEL_EXEC_MEMORY_LIMIT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

struct gate;

void memory_limit_register(void); /* options and metrics */
/* How this module asks for the memory of clients (net/client_memory, net/batch). By default all of
 * the class MEMORY_CLIENTS counts as theirs, no argument is large, and no client is disconnected.
 */
struct memory_limit_clients {
    /* Bytes of all normal and pubsub clients, with their pending replies and messages. O(1). */
    size_t (*bytes)(void);
    size_t (*leaving)(void); /* those of them that closing clients free by the turn's end */
    /* Those of them that are large arguments, which will become values. O(1). */
    size_t (*arguments)(void);
    /* Disconnects the largest clients until so many bytes will be freed; returns how many will. */
    size_t (*disconnect_largest)(size_t bytes);
};
void memory_limit_set_clients(const struct memory_limit_clients *how);

/* While it is set, no key is evicted and no command refused: a replica leaves both to its
 * primary. */
void memory_limit_set_exempt(bool is_exempt);

/* maxmemory, in bytes; 0 = it is not set, and the gate is off. */
int64_t memory_limit_bytes(void);
/* Called before each command while maxmemory is set: makes room as far as the rules say. Returns
 * false if there is no room, so that a command with COMMAND_DENYOOM is to be refused. May close
 * clients. */
FOR_TESTS MUST_USE bool memory_limit_make_room(void);
/* For server/wiring: makes room before each call, or refuses it. */
extern struct gate memory_limit_gate;
/* Whether there was no room before the last call that came over the network. */
bool memory_limit_lacked(void);
/* When the last slice of eviction ended (clock_monotonic_nsec), if a slice has run since the last
 * call of this function; else 0. */
int64_t memory_limit_slice_end_nsec(void);
/* Called when a turn of the loop begins. */
void memory_limit_turn(void);
/* Called before the loop sleeps: continues eviction. Returns true if there is more to do now. */
bool memory_limit_step(void);

/* The bytes that count toward maxmemory: used_memory less the memory that is never counted, the
 * memory that is being freed, and, with maxmemory-exclude-client-buffers, the memory of clients.
 * O(1). */
FOR_TESTS size_t memory_limit_counted(void);
/* Whether OBJECT REFCOUNT shows small integers as shared: 6.2 does not share them under policies
 * for which each key needs a recency of its own. */
bool memory_limit_shares_integers(void);
#endif
