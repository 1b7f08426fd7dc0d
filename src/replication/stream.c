/* SPDX-License-Identifier: BSD-3-Clause
 * The write stream. stream.h has the idea.
 *
 * Invariant: effects are wanted exactly while there is a backlog and this server is to take them.
 */
#include "replication/stream.h"

#include "base/panic.h"
#include "persist/aof_format.h"
#include "replication/history.h"

/* The room of a larger command is given back. */
#define ROOM_KEPT_BYTES 65536

static struct buffer room = {.class = MEMORY_REPLICATION};
static int selected = AOF_FORMAT_NO_DATABASE;
static bool takes = true, wanted;
static int64_t written; /* the place behind the last effect */

static void look_at_interest(void) {
    bool wants = takes && history_feed();
    if (wants != wanted) effects_add_interest(EFFECT_STREAM, wants ? 1 : -1);
    wanted = wants;
}

void stream_open(void) {
    history_open_backlog();
    look_at_interest();
}

void stream_close(void) {
    history_close_backlog();
    look_at_interest();
    buffer_free(&room);
}

void stream_take_effects(bool take) {
    takes = take;
    selected = AOF_FORMAT_NO_DATABASE;
    written = history_place();
    look_at_interest();
}

void stream_begin_copy(void) { selected = AOF_FORMAT_NO_DATABASE; }
int64_t stream_written(void) { return written; }

static void append_room(void) {
    history_append(room.bytes, room.length);
    if (room.capacity > ROOM_KEPT_BYTES)
        buffer_free(&room);
    else
        buffer_clear(&room);
}

static void take_effect(int database, int argc, const struct slice *argv) {
    aof_format_append_in(&room, &selected, database, argc, argv);
    append_room();
    written = history_place();
}

const struct effect_sink stream_sink = {
    .reader = EFFECT_STREAM, .take = take_effect, .on = &wanted};

void stream_command(int argc, const struct slice *argv) {
    ASSERT(takes && history_feed());
    aof_format_append(&room, argc, argv);
    append_room();
}

void stream_pass_on(struct slice bytes) {
    ASSERT(!takes && history_feed());
    history_append(bytes.bytes, bytes.length);
}
