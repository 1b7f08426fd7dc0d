/* SPDX-License-Identifier: BSD-3-Clause
 * Snapshots of the data set: saved in this process or in the background, by command, by save points
 * and when the server ends; loaded at start.
 */
#ifndef EVENKEEL_SAVE_SNAPSHOT_H
#define EVENKEEL_SAVE_SNAPSHOT_H
#include <stdbool.h>

#include "base/attributes.h"

struct flush_observer;

/* Registers commands, options and metrics. Once, at start. */
void snapshot_register(void);

/* Registers only the options, for their tests. */
FOR_TESTS void snapshot_options_register(void);

/* Saves to dbfilename in this process. False after a line in the log. O(all data). */
MUST_USE bool snapshot_save(void);
/* Loads dbfilename at start. True also where there is none; false after a line in the log that says
 * what is wrong and where. */
MUST_USE bool snapshot_load_at_start(void);
/* Opens dbfilename. For a caller that replaces its data by the file's, and must not drop them
 * before the file is open. Returns the descriptor, or -1 with errno set. */
MUST_USE int snapshot_load_open(void);
/* Loads the file of that descriptor and closes it. False after a line in the log. With `replaces`,
 * keys that exist already are replaced. */
MUST_USE bool snapshot_load_take(int fd, bool replaces);
/* Called at start where another file was loaded: save points count from now on. */
void snapshot_begin(void);
/* For DEBUG RELOAD: notes that the data is what the file has. */
void snapshot_note_reloaded(void);

/* FLUSHALL ends a save that is under way. With save points it also saves the empty data at once, so
 * that the deleted data does not come back with the next start, as in 6.2. */
extern const struct flush_observer snapshot_flush_observer;
/* Starts a save to dbfilename in the background, as BGSAVE does. False after a line in the log. */
bool snapshot_start_child(void);
/* Is told of the saves that snapshot_start_child starts, by BGSAVE, by save points or for
 * replicas. */
struct snapshot_observer {
    void (*began)(void);      /* a save has begun, and no data has changed since */
    void (*ended)(bool good); /* it has ended, and its result is noted (INFO, the disk's gate) */
};
/* Sets the observers, which are told in this order; NULL ends the array, which is borrowed for
 * good. server/wiring.c has the array. */
void snapshot_set_observers(const struct snapshot_observer *const *observers);
/* dbfilename, in the present folder. */
const char *snapshot_path(void);

/* Called several times a second: starts saves that are due by save points or were scheduled. */
void snapshot_cron(void);
/* Whether a save is under way, and no data has changed since it began. */
bool snapshot_is_current(void);
/* Whether a save is scheduled to begin as soon as possible. */
bool snapshot_is_scheduled(void);
/* Whether a server that ends should save: there are save points. */
bool snapshot_wanted_at_end(void);
/* For a signal handler, before the process ends in the midst of snapshot_save. */
void snapshot_remove_temporary(void);
/* Called before the server ends: ends a save in the background and removes its file. */
void snapshot_end_child(void);
#endif
