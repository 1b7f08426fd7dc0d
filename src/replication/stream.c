/* SPDX-License-Identifier: BSD-3-Clause
 * The write stream. stream.h has the idea.
 *
 * Invariants
 *  1. Effects are wanted exactly while there is a backlog and this server takes its own effects.
 *  2. The log has all before the feed's limit. Marks stand behind the limit, in order: the log has
 *     all before a mark's place when it has the mark's record.
 */
#include "replication/stream.h"

#include <string.h>

#include "aof/aof_format.h"
#include "base/panic.h"
#include "net/reply.h"
#include "replication/feed.h"
#include "replication/history.h"

/* How many turns' ends are remembered that the log does not have yet. Beyond that, the last mark
 * stands for several turns. */
#define MARKS_MAX 64
/* A buffer that a larger command has needed is freed. */
#define ROOM_KEPT_BYTES 65536

static struct buffer room;
static int selected = AOF_FORMAT_NO_DATABASE;
static bool takes = true, wanted;
static int64_t written; /* the place behind the last effect */

static struct mark {
    uint64_t record;
    int64_t place;
} marks[MARKS_MAX];
static int marks_count;

static void stream_look_at_interest(void) {
    bool wants = takes && history_feed();
    if (wants == wanted) return;
    wanted = wants;
    effects_add_interest(EFFECT_STREAM, wants ? 1 : -1);
}

void stream_open(void) {
    room.class = replication_memory;
    history_open_backlog();
    stream_look_at_interest();
}

void stream_close(void) {
    history_close_backlog();
    stream_look_at_interest();
    buffer_free(&room);
}

void stream_take_effects(bool take) {
    if (!take) effects_cut(EFFECT_STREAM); /* REPLICAOF within EXEC */
    takes = take;
    selected = AOF_FORMAT_NO_DATABASE;
    written = history_place();
    stream_look_at_interest();
}

bool stream_is_own(void) { return takes; }

void stream_begin_copy(void) { selected = AOF_FORMAT_NO_DATABASE; }
int stream_database(void) { return selected == AOF_FORMAT_NO_DATABASE ? 0 : selected; }
int64_t stream_written(void) { return written; }

static void append_room(void) {
    feed_append(history_feed(), room.bytes, room.length);
    if (room.capacity > ROOM_KEPT_BYTES)
        buffer_free(&room);
    else
        buffer_clear(&room);
}

/* Appends a SELECT where the command that follows is about another database than the one before. */
static void stream_select(int database) {
    char text[AOF_FORMAT_SELECT_BYTES_MAX];
    if (database == selected) return;
    selected = database;
    feed_append(history_feed(), text, (size_t)(aof_format_write_select(text, database) - text));
}

static void stream_effect(int database, int argc, const struct slice *argv) {
    stream_select(database);
    aof_format_append(&room, argc, argv);
    append_room();
    written = history_place();
}

/* The bytes have the stream's form: most clients send requests in it. */
static void stream_bytes(int database, struct slice command) {
    stream_select(database);
    feed_append(history_feed(), command.bytes, command.length);
    written = history_place();
}

const struct effect_sink stream_sink = {
    .reader = EFFECT_STREAM, .take = stream_effect, .take_bytes = stream_bytes, .on = &wanted};

void stream_command(int argc, const struct slice *argv) {
    ASSERT(takes && history_feed());
    aof_format_append(&room, argc, argv);
    append_room();
}

static void add_mark(uint64_t record, int64_t place) {
    const struct mark *last = marks_count ? &marks[marks_count - 1] : NULL;
    if (last && last->place > place) marks_count = 0; /* marks of another history */
    if (last && last->place == place) return;
    if (marks_count < MARKS_MAX) marks_count++;
    marks[marks_count - 1] = (struct mark){record, place};
}

bool stream_look_at_log(void) {
    struct feed *feed = history_feed();
    int64_t limit = feed_limit(feed), place = history_place();
    uint64_t record = effects_record_ended();
    if (reply_may_leave(record)) {
        marks_count = 0;
        limit = place;
    } else {
        int known = 0;
        add_mark(record, place);
        while (known < marks_count && reply_may_leave(marks[known].record))
            limit = marks[known++].place;
        marks_count -= known;
        memmove(marks, marks + known, (size_t)marks_count * sizeof(marks[0]));
    }
    bool moved = limit != feed_limit(feed);
    feed_set_limit(feed, limit);
    return moved;
}

void stream_pass_on(struct slice bytes) {
    ASSERT(!takes && history_feed());
    feed_append(history_feed(), bytes.bytes, bytes.length);
}
