/* SPDX-License-Identifier: BSD-3-Clause
 * Advice: for each finding of LATENCY DOCTOR, MEMORY DOCTOR and SLOWLOG EXPLAIN, what helps, which
 * option moves it, and the experiment that shows it.
 */
#ifndef EVENKEEL_REPORT_ADVICE_H
#define EVENKEEL_REPORT_ADVICE_H
#include <stddef.h>

#include "base/string.h"

struct advice {
    /* An event of the latency monitor, the name of a cause that SLOWLOG EXPLAIN names, or
     * "memory-" and a finding of MEMORY DOCTOR. Several may have the same option. */
    const char *finding;
    const char *text;      /* what it means; NULL = the reporter says that itself */
    const char *option;    /* that moves it; NULL = no option does */
    const char *direction; /* "lower it", and what that costs */
    const char *values;    /* for the experiment: "100,25,10,5"; the option takes each of them */
    const char *more;      /* further words of the experiment; NULL = none */
};

/* The advice for a finding; NULL = there is none. */
const struct advice *advice_find(const char *finding);
/* Appends which option moves it, which way, and the line of redis-lab that shows it: one sentence
 * each, without a line end. Says so if no option does. */
void advice_append_option(const struct advice *advice, struct buffer *out);
/* All advice, from index 0 on; NULL behind the last. */
FOR_TESTS const struct advice *advice_at(size_t index);
#endif
