/* SPDX-License-Identifier: BSD-3-Clause
 * Work that is done several times a second, and samples of rates and memory.
 */
#ifndef EVENKEEL_SERVER_CRON_H
#define EVENKEEL_SERVER_CRON_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"

struct child_observer;
struct loop;

void cron_register(void); /* hz, dynamic-hz; instantaneous_*, hz, configured_hz */
/* What the cron of a mode has besides clients and rates. A NULL member is not called. */
struct cron_parts {
    void (*data)(int64_t hz);  /* a run's work on the data; `hz` is how many runs a second has */
    int64_t (*hz_shown)(void); /* what INFO shows as hz; NULL: the cron's own rate */
};
extern const struct cron_parts cron_of_data; /* those of a server */
/* Starts the timer. `parts` is borrowed for as long as the process lives. */
void cron_open(struct loop *loop, const struct cron_parts *parts);
/* DEBUG PAUSE-CRON: while paused, the cron runs but does nothing except resetting the watchdog. */
void cron_pause(bool pause);
/* Called in a turn within a command or a load: samples figures. It changes no key, table or client,
 * and does not reset the watchdog. */
void cron_within(void);
/* Lets deferred table work rest for a while after a child has ended. */
extern const struct child_observer cron_child_observer;
/* Does a small piece of deferred table work; true if more is left and time allows. */
bool cron_idle_step(void);
/* Notes the memory in use now, for the peak. */
void cron_note_memory(void);

struct cron_memory {
    size_t peak;
    size_t rss;
    struct memory_allocator_stats allocator;
};
/* The last samples, renewed where they are older than 100 ms. */
const struct cron_memory *cron_memory(void);
#endif
