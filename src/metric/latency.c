/* SPDX-License-Identifier: BSD-3-Clause
 * Series of samples, a ring for each event.
 *
 * An event is created with its first sample and freed by a reset. So the memory is bounded by
 * LATENCY_EVENTS_MAX rings, and nothing is allocated as long as nothing is slow. An event has at
 * most one sample a second, the longest of that second.
 *
 * Invariants
 *  1. An event has at least one sample, and no two samples of the same second next to each other.
 *  2. The newest sample is the one before `next`; it is the last of `count` samples.
 *
 * Main thread only. The rings belong to MEMORY_OTHER.
 */
#include "metric/latency.h"

#include "base/clock.h"
#include "base/panic.h"

struct latency_event {
    char *name;
    size_t next, count;
    int64_t msec_max;
    struct latency_sample samples[LATENCY_SAMPLES_MAX];
};

static struct latency_event *events[LATENCY_EVENTS_MAX];
static size_t event_count;
static int64_t threshold_msec;

void latency_set_threshold_msec(int64_t msec) { threshold_msec = msec; }
int64_t latency_threshold_msec(void) { return threshold_msec; }
bool latency_is_on(void) { return threshold_msec > 0; }

static size_t find_index(struct slice name) {
    size_t i = 0;
    while (i < event_count && !slice_equal(slice_of(events[i]->name), name)) i++;
    return i;
}

static struct latency_event *find_or_add(const char *name) {
    size_t i = find_index(slice_of(name));
    if (i == LATENCY_EVENTS_MAX) return NULL;
    if (i == event_count) {
        events[i] = memory_zalloc(sizeof(*events[i]), MEMORY_OTHER);
        events[i]->name = memory_strdup(name, MEMORY_OTHER);
        event_count++;
    }
    return events[i];
}

void latency_note(const char *name, int64_t msec) {
    if (!latency_is_on() || msec < threshold_msec) return;
    struct latency_event *e = find_or_add(name);
    if (!e) return;
    if (msec > e->msec_max) e->msec_max = msec;
    int64_t now = clock_wall_usec() / 1000000;
    struct latency_sample *newest =
        &e->samples[(e->next + LATENCY_SAMPLES_MAX - 1) % LATENCY_SAMPLES_MAX];
    if (e->count && newest->wall_seconds == now) {
        if (msec > newest->msec) newest->msec = msec;
        return;
    }
    e->samples[e->next] = (struct latency_sample){now, msec};
    e->next = (e->next + 1) % LATENCY_SAMPLES_MAX;
    if (e->count < LATENCY_SAMPLES_MAX) e->count++;
}

size_t latency_event_count(void) { return event_count; }

const struct latency_event *latency_event_at(size_t index) {
    ASSERT(index < event_count);
    return events[index];
}

const struct latency_event *latency_find(struct slice name) {
    size_t i = find_index(name);
    return i < event_count ? events[i] : NULL;
}

const char *latency_event_name(const struct latency_event *event) { return event->name; }
int64_t latency_event_msec_max(const struct latency_event *event) { return event->msec_max; }
size_t latency_sample_count(const struct latency_event *event) { return event->count; }

struct latency_sample latency_sample_at(const struct latency_event *event, size_t index) {
    ASSERT(index < event->count);
    size_t oldest = event->next + LATENCY_SAMPLES_MAX - event->count;
    return event->samples[(oldest + index) % LATENCY_SAMPLES_MAX];
}

static void remove_at(size_t index) {
    memory_free(events[index]->name, MEMORY_OTHER);
    memory_free(events[index], MEMORY_OTHER);
    event_count--;
    for (size_t i = index; i < event_count; i++) events[i] = events[i + 1];
}

size_t latency_reset(struct slice name) {
    size_t before = event_count;
    for (size_t i = event_count; i > 0; i--)
        if (slice_equal_nocase(slice_of(events[i - 1]->name), name)) remove_at(i - 1);
    return before - event_count;
}

size_t latency_reset_all(void) {
    size_t count = event_count;
    while (event_count) remove_at(event_count - 1);
    return count;
}
