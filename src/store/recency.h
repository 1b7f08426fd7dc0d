/* SPDX-License-Identifier: BSD-3-Clause
 * Recency and frequency: what an entry's 24 bits (entry.h) say of its use.
 *
 * Under a policy that evicts by frequency they are the minute of the last access, 16 bits, and a
 * counter of 8; under every other one the second of the last access. A policy changed at run time
 * leaves the bits as they are, read in the other way, as 6.2 does.
 */
#ifndef EVENKEEL_STORE_RECENCY_H
#define EVENKEEL_STORE_RECENCY_H
#include <stdbool.h>
#include <stdint.h>

struct entry;

void recency_register(void); /* options */

/* Whether frequency is kept: evict.c, by the policy. */
void recency_use_frequency(bool on);
bool recency_uses_frequency(void);
/* While a child saves, accesses are not noted: each would copy a page that the child shares. */
void recency_freeze(bool on);

/* The clock of recency: 24 bits of seconds. */
unsigned recency_clock(void);
/* The bits of an entry that is new. */
unsigned recency_initial(void);
/* The entry is used now. Written only where it changes. */
void recency_note(struct entry *e);
/* The bits of an entry that takes the place of `old`, which is used now: its frequency is kept. */
unsigned recency_successor(const struct entry *old);

/* The bits of an entry that was last used so many seconds ago, or that has this counter (0..255):
 * where the other of the two is kept, those of a new one. */
unsigned recency_of_idle(uint64_t seconds);
unsigned recency_of_frequency(unsigned counter);

/* Seconds since the last access, where frequency is not kept. */
unsigned recency_idle_seconds(const struct entry *e);
/* 0..255, less what has decayed by now, where it is kept. */
unsigned recency_frequency(const struct entry *e);
#endif
