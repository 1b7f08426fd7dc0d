/* SPDX-License-Identifier: BSD-3-Clause
 * Snapshots of the data set: saved at once or by a child, by command, by save points and at the
 * end; loaded at start.
 */
#ifndef EVENKEEL_SAVE_SNAPSHOT_H
#define EVENKEEL_SAVE_SNAPSHOT_H
#include <stdbool.h>

#include "base/attributes.h"

struct flush_observer;

/* Registers commands, options and metrics. Once, at start. */
void snapshot_register(void);

/* The options alone, for tests of them. */
FOR_TESTS void snapshot_options_register(void);

/* Writes dbfilename in this process. False after a line in the log. O(all data). */
MUST_USE bool snapshot_save(void);
/* Loads dbfilename at start. True also where there is none; false after a line in the log that says
 * what is wrong and where. */
MUST_USE bool snapshot_load_at_start(void);
/* Opens dbfilename, for a caller that gives up data for the file's: it gives up nothing before the
 * file is open. The descriptor, or -1 with errno set. */
MUST_USE int snapshot_load_open(void);
/* Loads the file of that descriptor and closes it. False after a line in the log. With `replaces`,
 * keys that are there already give way. */
MUST_USE bool snapshot_load_take(int fd, bool replaces);
/* At start where another file was loaded: save points count from now on. */
void snapshot_begin(void);
/* For DEBUG RELOAD: what is there now is what the file has. */
void snapshot_note_reloaded(void);

/* A child that saves what FLUSHALL takes away is ended; and with save points the file loses it at
 * once, so that it does not come back with the next start: as 6.2. */
extern const struct flush_observer snapshot_flush_observer;
/* A child begins to save to dbfilename, as for BGSAVE. False after a line in the log. */
bool snapshot_start_child(void);
/* Who is to hear when such a save has begun, before anything changes, and how it has ended, when
 * what that means for clients was done; NULL: nobody. */
void snapshot_set_observer(void (*began)(void), void (*ended)(bool good));
/* dbfilename, in the present folder. */
const char *snapshot_path(void);

/* Several times a second: save points, what was put off. */
void snapshot_cron(void);
/* A save is under way, and nothing of the data has changed since it began. */
bool snapshot_is_current(void);
/* One begins as soon as it can. */
bool snapshot_is_scheduled(void);
/* Whether a server that ends is to save: there are save points. */
bool snapshot_wanted_at_end(void);
/* From a handler of signals, before the process ends in the midst of snapshot_save. */
void snapshot_remove_temporary(void);
/* Before the server ends: a child that saves is ended, and its file removed. */
void snapshot_end_child(void);
#endif
