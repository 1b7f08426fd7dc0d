/* SPDX-License-Identifier: BSD-3-Clause
 * Active expiry: deletes keys that are due, in slices between the loop's turns.
 */
#ifndef EVENKEEL_STORE_EXPIRE_H
#define EVENKEEL_STORE_EXPIRE_H
#include <stdbool.h>
#include <stdint.h>

void expire_register(void);
/* One slice of at most EXPIRE_SLICE_USEC; true where keys that are due remain. */
#define EXPIRE_SLICE_USEC 100
bool expire_slice(void);
/* DEBUG SET-ACTIVE-EXPIRE: off, due keys are hidden and deleted on access only. */
void expire_set_active(bool on);
/* CLIENT PAUSE: paused, due keys are hidden and not deleted at all. */
void expire_set_paused(bool on);
#endif
