/* SPDX-License-Identifier: BSD-3-Clause
 * Sentinels that watch the servers in place of an operator, and those who ask them.
 *
 * Of each Sentinel a client asks which server is the primary, for whom it voted last, and which
 * other Sentinels it knows; the load turns to the primary that one of them names. Of each server a
 * client asks what it is, and writes to it: a server that is not the primary of the newest
 * configuration must soon refuse that. Now and then two Sentinels are told at once to fail over, or
 * one in the midst of an election, or one to forget what it has learned.
 */
#ifndef EVENKEEL_TESTS_SIM_WATCHERS_H
#define EVENKEEL_TESTS_SIM_WATCHERS_H
#include <stdbool.h>

/* The nodes from `servers` on are Sentinels, each with its file of options; they are not started
 * yet. Draws their limits. */
void watchers_make(int servers);
/* All nodes run. */
void watchers_start(void);
/* Nothing strikes any more: nobody disturbs Sentinels either. What they said so far does not count.
 */
void watchers_settle(void);
/* How long they may take after that, at most, to agree: 2 x failover-timeout, and the rest. */
long long watchers_agree_nsec(void);
/* All Sentinels name one server, it is a primary, and all others follow it. Each Sentinel knows all
 * others, and no more. */
bool watchers_agree(void);
/* From now on servers are not written to, and tell their digests. */
void watchers_compare(void);
bool watchers_see_equal(void);
/* Says what each node told last. */
void watchers_describe(char *out, unsigned long size);
#endif
