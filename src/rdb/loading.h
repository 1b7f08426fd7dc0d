/* SPDX-License-Identifier: BSD-3-Clause
 * Loading: the databases are being filled from a snapshot, a log or a primary, and clients are told
 * so meanwhile instead of waiting.
 *
 * Whoever loads says when it begins and ends, and how far it is. While it lasts clients connect and
 * are answered in turns of the loop within the load: commands that need no data (INFO, AUTH,
 * SHUTDOWN ...) run, all others get -LOADING; no key expires and none is evicted.
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

/* A load begins, of `what` ("snapshot"; borrowed until it ends), of so many bytes; 0 = not known.
 * Not while another is under way. */
void loading_begin(const char *what, uint64_t bytes_total);
/* It has come so far; O(1), and cheap: to be called as often as one likes. Each
 * loading-process-events-interval-bytes, and where these take long each LOADING_TURN_MSEC, it makes
 * a turn of the loop, in which anything may happen that commands without data can do: the caller
 * holds no entry. Nothing where no load is under way.
 */
#define LOADING_TURN_MSEC 50
void loading_advance(uint64_t bytes_done);
/* The same where time has passed and no bytes came. */
void loading_look(void);
/* Called before each such turn of this load: threads of whoever loads are brought to rest. NULL =
 * there are none. */
void loading_set_rest(void (*rest)(void *argument), void *argument);
/* Calls loading_advance as the source's bytes come in. A load that is cut short refuses it. */
void loading_watch(struct source *in);
/* Makes turns as the bytes of this source come in, which are read ahead of the place that the load
 * has come to: they take time, but are no progress. A load that is cut short refuses the source. */
void loading_watch_ahead(struct source *in);
/* Whether the server is to stop, and the load is to come to its end: what is there is a part, which
 * nobody may save. Remains true for the rest of the process. */
bool loading_is_cut_short(void);
/* It has ended, well or not. Each begin is followed by one. */
void loading_end(bool good);

/* What hears of loads. */
struct loading_observer {
    void (*before_turn)(void); /* a load is under way, and makes a turn of the loop next */
};
/* The observers, told in this order; ended by NULL. The array lives as long as the process;
 * server/wiring.c has the one of the server. */
void loading_set_observers(const struct loading_observer *const *observers);

/* Also from signal handlers. */
bool loading_is_under_way(void);
/* What the data took in memory when the file was written, as it says: for INFO. */
void loading_note_memory(uint64_t bytes);
#endif
