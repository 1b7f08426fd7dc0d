/* SPDX-License-Identifier: BSD-3-Clause
 * DEBUG EFFECTS. Between START and STOP each effect is recorded as the log and as the replicas'
 * stream would get it; LOG and STREAM reply the effects recorded since the last such request: an
 * array of commands, each the number of its database and its words.
 *
 * Invariant: `recorded` has `count` commands, each: database, argc, then for each word its length
 * and its bytes.
 */
#include "server/debug_effects.h"

#include <string.h>

#include "command/arguments.h"
#include "command/call.h"
#include "exec/effects.h"
#include "net/reply.h"

/* Nothing beyond this is recorded, so that a forgotten STOP does not fill the memory. */
#define RECORDED_BYTES_MAX ((size_t)64 << 20)

struct recording {
    struct buffer recorded;
    int64_t count;
};

static struct recording log_recording = {.recorded = {.class = MEMORY_OTHER}};
static struct recording stream_recording = {.recorded = {.class = MEMORY_OTHER}};
static bool recording;

static void append_number(struct buffer *out, size_t number) {
    buffer_append(out, &number, sizeof(number));
}

static void record_effect(struct recording *r, int database, int argc, const struct slice *argv) {
    if (r->recorded.length > RECORDED_BYTES_MAX) return;
    append_number(&r->recorded, (size_t)database);
    append_number(&r->recorded, (size_t)argc);
    for (int i = 0; i < argc; i++) {
        append_number(&r->recorded, argv[i].length);
        buffer_append(&r->recorded, argv[i].bytes, argv[i].length);
    }
    r->count++;
}

static void record_log(int database, int argc, const struct slice *argv) {
    record_effect(&log_recording, database, argc, argv);
}

static void record_stream(int database, int argc, const struct slice *argv) {
    record_effect(&stream_recording, database, argc, argv);
}

const struct effect_sink debug_log_sink = {
    .reader = EFFECT_LOG, .take = record_log, .on = &recording};
const struct effect_sink debug_stream_sink = {
    .reader = EFFECT_STREAM, .take = record_stream, .on = &recording};

static size_t take_number(const char **at) {
    size_t number;
    memcpy(&number, *at, sizeof(number));
    *at += sizeof(number);
    return number;
}

static void recording_drop(struct recording *r) {
    buffer_free(&r->recorded);
    r->count = 0;
}

static void reply_recorded(struct client *c, struct recording *r) {
    const char *at = r->recorded.bytes;
    reply_array(c, r->count);
    for (int64_t i = 0; i < r->count; i++) {
        int64_t database = (int64_t)take_number(&at);
        size_t words = take_number(&at);
        reply_array(c, (int64_t)words + 1);
        reply_integer(c, database);
        for (; words; words--) {
            size_t length = take_number(&at);
            reply_bulk(c, (struct slice){at, length});
            at += length;
        }
    }
    recording_drop(r);
}

static void set_recording(bool on) {
    bool changes = on != recording;
    recording = on;
    if (changes) effects_add_interest(EFFECT_BOTH, on ? 1 : -1);
    recording_drop(&log_recording);
    recording_drop(&stream_recording);
}

void debug_effects(struct call *call) {
    if (argument_is(call, 2, "log")) {
        reply_recorded(call->client, &log_recording);
    } else if (argument_is(call, 2, "stream")) {
        reply_recorded(call->client, &stream_recording);
    } else if (argument_is(call, 2, "start") || argument_is(call, 2, "stop")) {
        set_recording(argument_is(call, 2, "start"));
        reply_ok(call->client);
    } else {
        reply_syntax_error(call->client);
    }
}
