/* SPDX-License-Identifier: BSD-3-Clause
 * Which history a snapshot's data has, told within the file: by its id, its place, and the database
 * that the stream goes on in there. A replica that is started with such a file goes on from there;
 * so does one that was a primary, under a primary that knows its history.
 *
 * A file has it where there is a history that somebody may go on with: a backlog, or a primary that
 * is followed. In the midst of a unit it has none, for then the data is ahead of the place.
 */
#ifndef EVENKEEL_REPLICATION_SAVED_HISTORY_H
#define EVENKEEL_REPLICATION_SAVED_HISTORY_H
#include <stdbool.h>
#include <stdint.h>

#include "replication/history.h"

struct rdb_field;

/* For server/wiring, in the order of the file. */
extern const struct rdb_field saved_history_database, saved_history_id, saved_history_place;

/* Whether a snapshot that is written now tells of its history. */
bool saved_history_is_told(void);

/* Who knows, while this server follows another one, in which database the stream goes on; -1: the
 * data is not what the history says. */
void saved_history_set_followed(int (*database)(void));

struct saved_history {
    char id[HISTORY_ID_CHARS + 1];
    int64_t place;
    int database;
};
/* Before a file is loaded: what another one said is forgotten. */
void saved_history_forget(void);
/* What the last one said; false where it did not say all of it, or nonsense. */
bool saved_history_of_file(struct saved_history *history);
#endif
