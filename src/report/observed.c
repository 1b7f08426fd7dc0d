/* SPDX-License-Identifier: BSD-3-Clause
 * The numbers of observed.h.
 */
#include "report/observed.h"

struct observed_now observed_now;

void observed_set(enum observed_by report, bool on) {
    observed_now.by = on ? observed_now.by | report : observed_now.by & ~(unsigned)report;
}

void observed_set_hash_max(uint64_t hash_max) { observed_now.hash_max = hash_max; }
