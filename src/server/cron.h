/* SPDX-License-Identifier: BSD-3-Clause
 * What is done several times a second, and the samples taken then.
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
/* Starts the timer. */
void cron_open(struct loop *loop);
/* DEBUG PAUSE-CRON: the cron goes on being called and does nothing. */
void cron_pause(bool pause);
/* In a turn within a command or a load: figures go on. Nothing that changes keys, tables or clients
 * is done there, and the watchdog is not told that all is well. */
void cron_within(void);
/* After a child table work rests for a while. */
extern const struct child_observer cron_child_observer;
/* Table work that is owed, a small piece of it; true where more is owed. */
bool cron_idle_step(void);
/* Notes how much memory is used now, for the peak. */
void cron_note_memory(void);

struct cron_memory {
    size_t peak;
    size_t rss;
    struct memory_allocator_stats allocator;
};
/* The last samples, taken anew where they are old. */
const struct cron_memory *cron_memory(void);
#endif
