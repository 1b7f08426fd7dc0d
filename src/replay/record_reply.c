/* SPDX-License-Identifier: BSD-3-Clause
 * TRACE READ's records: src/commands/trace.c says how they are made.
 *
 * The server is not trusted: each number is tested against what a trace file can hold.
 */
#include "replay/record_reply.h"

#define RECORD_PARTS 6

static bool take_traced_number(const struct peer_reply *reply, int64_t least, int64_t most,
                               int64_t *number) {
    if (reply->type != PEER_INTEGER) return false;
    *number = reply->integer;
    return *number >= least && *number <= most;
}

/* [key bytes ttl], [key nil] or [key]. */
static bool take_traced_key(const struct peer_reply *reply, struct trace_file_argument *a) {
    if (reply->children < 1 || reply->children > 3) return false;
    const struct peer_reply *part = peer_reply_first(reply);
    if (part->type != PEER_BULK) return false;
    a->kind = reply->children == 1 ? TRACE_FILE_OTHER_KEY : TRACE_FILE_KEY;
    a->text = part->text;
    if (reply->children == 1) return true;
    part = peer_reply_next(part);
    if (reply->children == 2) return part->type == PEER_NIL;
    return take_traced_number(part, 0, TRACE_FILE_NUMBER_MAX - 1, &a->bytes) &&
           take_traced_number(peer_reply_next(part), -1, TRACE_FILE_NUMBER_MAX - 1, &a->ttl_msec);
}

static bool take_traced_argument(const struct peer_reply *reply, struct trace_file_argument *a) {
    *a = (struct trace_file_argument){.kind = TRACE_FILE_VALUE, .bytes = -1, .ttl_msec = -1};
    if (reply->type == PEER_INTEGER)
        return take_traced_number(reply, 0, TRACE_FILE_VALUE_BYTES_MAX, &a->size);
    if (reply->type == PEER_ARRAY) return take_traced_key(reply, a);
    a->kind = TRACE_FILE_WORD;
    a->text = reply->text;
    return reply->type == PEER_BULK;
}

bool record_reply_take(const struct peer_reply *reply,
                       struct trace_file_argument arguments[TRACE_FILE_ARGUMENTS_MAX],
                       struct trace_file_record *record) {
    int64_t numbers[RECORD_PARTS - 1];
    static const int64_t most[RECORD_PARTS - 1] = {INT64_MAX, TRACE_FILE_WALL_USEC_MAX, INT64_MAX,
                                                   TRACE_FILE_DATABASE_MAX, 1};
    if (reply->type != PEER_ARRAY || reply->children != RECORD_PARTS) return false;
    const struct peer_reply *part = peer_reply_first(reply);
    for (unsigned i = 0; i < RECORD_PARTS - 1; i++, part = peer_reply_next(part))
        if (!take_traced_number(part, i == 0, most[i], &numbers[i])) return false;
    if (part->type != PEER_ARRAY || !part->children || part->children > TRACE_FILE_ARGUMENTS_MAX)
        return false;
    *record = (struct trace_file_record){.id = (uint64_t)numbers[0],
                                         .wall_usec = numbers[1],
                                         .client = (uint64_t)numbers[2],
                                         .database = (uint32_t)numbers[3],
                                         .by_script = numbers[4],
                                         .argument_count = part->children,
                                         .arguments = arguments};
    const struct peer_reply *argument = peer_reply_first(part);
    for (uint32_t i = 0; i < part->children; i++, argument = peer_reply_next(argument))
        if (!take_traced_argument(argument, &arguments[i])) return false;
    return arguments[0].kind == TRACE_FILE_WORD;
}
