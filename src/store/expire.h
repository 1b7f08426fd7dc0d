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
/* Gives expiry the loop: slices are shared with its load, and a timer wakes it for deadlines. Once,
 * at start. */
void expire_open(struct loop *loop);
/* One slice, to be called before the loop sleeps; true if due keys remain, so that the loop
 * should not sleep. */
bool expire_slice(void);
/* A slice under `deadline`, given the time `work_nsec` that the loop's other work took since the
 * last slice; 0 where the loop would sleep. For expire_slice, and for tests with a load of their
 * own. Returns true if due keys remain. */
FOR_TESTS bool expire_step(int64_t work_nsec);
/* The longest slice of a loop that would sleep, and of a busy loop. */
#define EXPIRE_SLICE_USEC 100
#define EXPIRE_SLICE_BUSY_USEC 1000
/* To be called `hz` times a second: runs a cycle of the algorithm `sampling`; does nothing under
 * `deadline`. */
void expire_cron(int64_t hz);
/* DEBUG SET-ACTIVE-EXPIRE. With `on` false due keys are hidden, and deleted on access only. */
void expire_set_active(bool on);
/* The share of the keys with a deadline that are due and not deleted yet, from 0 to 1; a running
 * estimate under active-expire-algorithm sampling. */
double expire_stale_share(void);
#endif
