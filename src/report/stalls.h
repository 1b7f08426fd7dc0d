/* SPDX-License-Identifier: BSD-3-Clause
 * The option and the INFO fields of time by cause and of off-CPU time (metric/cause.h,
 * metric/attribution.h), which as parts of the metric engine have no rows of their own.
 */
#ifndef EVENKEEL_REPORT_STALLS_H
#define EVENKEEL_REPORT_STALLS_H

struct loop;

void stalls_register(void); /* latency-attribution, INFO latencystats */
/* The loop whose turns are measured, or not, by the option. */
void stalls_open(struct loop *loop);
#endif
