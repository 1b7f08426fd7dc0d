/* SPDX-License-Identifier: BSD-3-Clause
 * Loading: the databases are being filled from a snapshot, a log or a primary. Meanwhile clients
 * are told so and need not wait.
 *
 * The loader reports when a load begins and ends, and its progress. During a load clients connect
 * and are answered in turns of the loop that the load makes: commands that need no data (INFO,
 * AUTH, SHUTDOWN ...) run, all others get -LOADING. No key expires and none is evicted.
 */
#ifndef EVENKEEL_RDB_LOADING_H
#define EVENKEEL_RDB_LOADING_H
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"

struct gate;
struct source;

/* Registers the option and the fields of INFO. Once, at start. */
void loading_register(void);
extern struct gate loading_gate; /* for server/wiring */

/* Begins a load of `what` ("snapshot"; borrowed until loading_end), which has `bytes_total` bytes
 * (0 = not known). No other load may be under way. */
void loading_begin(const char *what, uint64_t bytes_total);
/* Notes that `bytes_done` bytes are loaded; O(1) and cheap, so it may be called often. After every
 * loading-process-events-interval-bytes, or LOADING_TURN_MSEC if that is sooner, it makes a turn of
 * the loop, in which any command that needs no data may run: the caller must hold no entry. Does
 * nothing where no load is under way.
 */
#define LOADING_TURN_MSEC 50
void loading_advance(uint64_t bytes_done);
/* Makes a turn of the loop if one is due, without progress in bytes: for a step that takes long. */
void loading_look(void);
/* Sets a function that is called before each turn of this load and stops the loader's threads until
 * the turn is over. NULL = the loader has none. */
void loading_set_rest(void (*rest)(void *argument), void *argument);
/* Calls loading_advance as the source's bytes come in. A load that is cut short makes the source
 * refuse. */
void loading_watch(struct source *in);
/* Makes turns as the bytes of this source come in. They are read ahead of the load's place: reading
 * them takes time but is no progress. A load that is cut short makes the source refuse. */
void loading_watch_ahead(struct source *in);
/* Whether the server is stopping, so that the load must end early. The databases then hold only a
 * part of the data, which must not be saved. Remains true for the rest of the process. */
bool loading_is_cut_short(void);
/* Ends the load, successful or not. Each loading_begin is followed by one loading_end. */
void loading_end(bool good);

/* Is told of loads. Any member may be NULL. */
struct loading_observer {
    /* A load of `what` has begun: the gate is shut, and no key of it is there yet. `what` is valid
     * until the load has ended. */
    void (*began)(const char *what);
    void (*before_turn)(void); /* during a load: a turn of the loop comes next */
    /* The load has ended, and the gate is open. With `good` false the databases hold only a part of
     * the data, or none. */
    void (*ended)(bool good);
};
/* The observers, told in this order; ended by NULL. The array lives as long as the process;
 * server/wiring.c has the one of the server. */
void loading_set_observers(const struct loading_observer *const *observers);

/* May be called from signal handlers. */
bool loading_is_under_way(void);
/* Notes for INFO how much memory the data took when the file was written, as the file says. */
void loading_note_memory(uint64_t bytes);
#endif
