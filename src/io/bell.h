/* SPDX-License-Identifier: BSD-3-Clause
 * A bell: one thread waits, for a limited time, until another thread rings. A bell rings once.
 */
#ifndef EVENKEEL_IO_BELL_H
#define EVENKEEL_IO_BELL_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct bell {
    _Atomic uint32_t rung; /* 0 = not rung; a zeroed struct is a bell that has not rung */
};

/* Wakes all threads that wait for the bell; a later bell_wait returns at once. May be called from
 * any thread. */
void bell_ring(struct bell *bell);
bool bell_has_rung(const struct bell *bell);
/* Waits until the bell has rung or `nsec` nanoseconds have passed. It may return earlier without
 * either, so ask bell_has_rung. */
void bell_wait(struct bell *bell, int64_t nsec);
#endif
