/* SPDX-License-Identifier: BSD-3-Clause
 * Recency and frequency: an entry's 24 bits of use (entry.h).
 *
 * Under a policy that evicts by frequency the bits are the minute of the last access, 16 bits, and
 * a counter of 8; under every other policy the second of the last access. When the policy is
 * changed, the bits stay and are read in the other way, as in 6.2.
 */
#ifndef EVENKEEL_STORE_RECENCY_H
#define EVENKEEL_STORE_RECENCY_H
#include <stdbool.h>
#include <stdint.h>

struct entry;

void recency_register(void); /* options */

/* Sets whether frequency is kept. evict.c calls it, by the policy. */
void recency_use_frequency(bool on);
bool recency_uses_frequency(void);
/* While frozen, accesses are not noted: while a child saves, each would copy a page that the child
 * shares. */
void recency_freeze(bool on);

/* The clock of recency: 24 bits of seconds. */
unsigned recency_clock(void);
/* The bits of a new entry. */
unsigned recency_initial(void);
/* Notes that the entry is used now. Writes to it only where its bits change. */
void recency_note(struct entry *e);
/* The bits of an entry that replaces `old`: used now, with the frequency of `old`. */
unsigned recency_successor(const struct entry *old);

/* The bits of an entry that was last used so many seconds ago; the bits of one with this counter
 * (0..255). Where the policy keeps the other of the two, the bits of a new entry. */
unsigned recency_of_idle(uint64_t seconds);
unsigned recency_of_frequency(unsigned counter);

/* Seconds since the last access, where frequency is not kept. */
unsigned recency_idle_seconds(const struct entry *e);
/* The counter, 0..255, less its decay until now, where frequency is kept. */
unsigned recency_frequency(const struct entry *e);
#endif
