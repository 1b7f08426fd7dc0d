/* SPDX-License-Identifier: BSD-3-Clause
 * A bell: a thread waits for it, though not for long; another one rings, once.
 */
#ifndef EVENKEEL_IO_BELL_H
#define EVENKEEL_IO_BELL_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct bell {
    _Atomic uint32_t rung; /* all zeros: not yet */
};

/* From any thread. Who waits goes on, and so does who comes to wait later. */
void bell_ring(struct bell *bell);
bool bell_has_rung(const struct bell *bell);
/* Returns when it has rung, or after so long; now and then earlier. */
void bell_wait(struct bell *bell, int64_t nsec);
#endif
