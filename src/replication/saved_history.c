/* SPDX-License-Identifier: BSD-3-Clause
 * A snapshot's history. saved_history.h has the idea.
 */
#include "replication/saved_history.h"

#include <ctype.h>
#include <string.h>

#include "base/number.h"
#include "exec/effects.h"
#include "rdb/rdb_fields.h"
#include "replication/stream.h"
#include "store/keyspace.h"

static int (*followed)(void);
/* What the last file said; -1 and "": nothing. */
static struct saved_history said = {.place = -1, .database = -1};

void saved_history_set_followed(int (*database)(void)) { followed = database; }

/* The database to be written; -1: no history is written. */
static int database_now(void) {
    if (effects_are_pending()) return -1;
    if (stream_is_own()) return history_feed() ? stream_database() : -1;
    return followed ? followed() : -1;
}

bool saved_history_is_told(void) { return database_now() >= 0; }

void saved_history_forget(void) { said = (struct saved_history){.place = -1, .database = -1}; }

bool saved_history_of_file(struct saved_history *history) {
    *history = said;
    return said.id[0] && said.place >= 0 && said.database >= 0;
}

static void say_number(struct rdb_field_values *values, int64_t number) {
    char digits[NUMBER_INT64_CHARS];
    rdb_field_say(values, (struct slice){digits, number_format_int64(digits, number)});
}

static void save_database(struct rdb_field_values *values) {
    if (saved_history_is_told()) say_number(values, database_now());
}

static void save_id(struct rdb_field_values *values) {
    if (saved_history_is_told())
        rdb_field_say(values, (struct slice){history_id(), HISTORY_ID_CHARS});
}

static void save_place(struct rdb_field_values *values) {
    if (saved_history_is_told()) say_number(values, history_place());
}

/* A wrong number or id counts as absent. */
static bool load_database(struct slice value, char *reason, size_t reason_size) {
    int64_t number;
    if (number_parse_int64(value.bytes, value.length, &number) && number >= 0 &&
        number < keyspace_databases())
        said.database = (int)number;
    return true;
}

static bool load_id(struct slice value, char *reason, size_t reason_size) {
    if (value.length != HISTORY_ID_CHARS) return true;
    for (size_t i = 0; i < value.length; i++)
        if (!isxdigit((unsigned char)value.bytes[i])) return true;
    memcpy(said.id, value.bytes, HISTORY_ID_CHARS);
    return true;
}

static bool load_place(struct slice value, char *reason, size_t reason_size) {
    int64_t number;
    if (number_parse_int64(value.bytes, value.length, &number) && number <= HISTORY_PLACE_MAX)
        said.place = number;
    return true;
}

const struct rdb_field saved_history_database = {"repl-stream-db", false, save_database,
                                                 load_database};
const struct rdb_field saved_history_id = {"repl-id", false, save_id, load_id};
const struct rdb_field saved_history_place = {"repl-offset", false, save_place, load_place};
