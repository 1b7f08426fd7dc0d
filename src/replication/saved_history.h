/* SPDX-License-Identifier: BSD-3-Clause
 * The history of a snapshot's data, within the file: id, place, and the database in which the
 * stream continues. A replica that is started with such a file continues from there; so does a
 * former primary, if its new primary knows that history.
 *
 * A file has a history where a replica could continue it: there is a backlog, or a followed
 * primary. In the midst of a unit it has none, because the data is then ahead of the place.
 */
#ifndef EVENKEEL_REPLICATION_SAVED_HISTORY_H
#define EVENKEEL_REPLICATION_SAVED_HISTORY_H
#include <stdbool.h>
#include <stdint.h>

#include "replication/history.h"

struct rdb_field;

/* For server/wiring, in the order of the file. */
extern const struct rdb_field saved_history_database, saved_history_id, saved_history_place;

/* Whether a snapshot that is written now has its history. */
bool saved_history_is_told(void);

/* Sets the function that says, while this server follows another one, in which database the stream
 * continues; -1: the data is not what the history says. */
void saved_history_set_followed(int (*database)(void));

struct saved_history {
    char id[HISTORY_ID_CHARS + 1];
    int64_t place;
    int database;
};
/* Called before a file is loaded: forgets the history of an earlier file. */
void saved_history_forget(void);
/* The history of the last loaded file; false if the file had none, or a wrong or incomplete
 * one. */
bool saved_history_of_file(struct saved_history *history);
#endif
