/* SPDX-License-Identifier: BSD-3-Clause
 * Active expiry: deletes keys that are due, in slices between the loop's turns.
 */
#ifndef EVENKEEL_STORE_EXPIRE_H
#define EVENKEEL_STORE_EXPIRE_H
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"

struct loop;

void expire_register(void); /* options and metrics */
/* From now on slices know how busy the loop is, and it wakes for deadlines. */
void expire_open(struct loop *loop);
/* Before the loop sleeps: one slice; true where keys that are due remain and it should not sleep.
 */
bool expire_slice(void);
/* The same where the loop's work is known: `work_nsec` is what others did since the last slice, 0
 * where the loop would sleep. For expire_slice, and for tests with a load of their own. */
FOR_TESTS bool expire_step(int64_t work_nsec);
/* A slice of a loop that would sleep takes so long at most, one of a busy loop so long. */
#define EXPIRE_SLICE_USEC 100
#define EXPIRE_SLICE_BUSY_USEC 1000
/* hz times a second: the cycle of the algorithm `sampling`; nothing under `deadline`. */
void expire_cron(int64_t hz);
/* DEBUG SET-ACTIVE-EXPIRE: off, due keys are hidden and deleted on access only. */
void expire_set_active(bool on);
#endif
