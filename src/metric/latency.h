/* SPDX-License-Identifier: BSD-3-Clause
 * The latency monitor: for each event that took long, when and how long. LATENCY shows it.
 *
 * Off as long as the threshold is 0; a module that measures only for the monitor asks
 * latency_is_on() first. Names of 6.2's events: command, fast-command, fork, expire-cycle,
 * expire-del, eviction-cycle, eviction-del, aof-write, aof-fsync-always and their kin.
 */
#ifndef EVENKEEL_METRIC_LATENCY_H
#define EVENKEEL_METRIC_LATENCY_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/string.h"

/* Samples of each event; 6.2's number. */
#define LATENCY_SAMPLES_MAX 160
/* The server has some twenty events; modules add theirs. Further events are not kept. */
#define LATENCY_EVENTS_MAX 128

struct latency_sample {
    int64_t wall_seconds;
    int64_t msec; /* the longest in that second */
};

struct latency_event;

void latency_set_threshold_msec(int64_t msec); /* 0: off */
int64_t latency_threshold_msec(void);
bool latency_is_on(void);
/* Keeps the event if the monitor is on and the event took as long as the threshold. The name is
 * copied. */
void latency_note(const char *event, int64_t msec);

size_t latency_event_count(void);
/* Returns an event, valid until the next reset. The events are in the order of their first
 * samples. */
const struct latency_event *latency_event_at(size_t index);
/* The event of this name; NULL if it has no samples. */
const struct latency_event *latency_find(struct slice name);
const char *latency_event_name(const struct latency_event *event);
/* The longest since the event's last reset, even if its sample has been overwritten. */
int64_t latency_event_msec_max(const struct latency_event *event);
/* Returns the number of samples, at least 1. */
size_t latency_sample_count(const struct latency_event *event);
/* Returns a sample; index 0 is the oldest. */
struct latency_sample latency_sample_at(const struct latency_event *event, size_t index);

/* Forgets the events of that name, case ignored (as 6.2 here, and only here); returns how many. */
size_t latency_reset(struct slice name);
/* Forgets all events; returns how many there were. */
size_t latency_reset_all(void);
#endif
