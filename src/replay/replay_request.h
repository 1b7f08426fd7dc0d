/* SPDX-License-Identifier: BSD-3-Clause
 * Requests made anew from records: keys and words as recorded, values of the recorded sizes.
 */
#ifndef EVENKEEL_REPLAY_REPLAY_REQUEST_H
#define EVENKEEL_REPLAY_REPLAY_REQUEST_H
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "replay/replay_commands.h"

/* Different members of each size. Which ones the traced requests named is not known; with this
 * many, most requests for a member find it, and collections do not grow without bound. */
#define REPLAY_MEMBERS 100
/* The values of one request. Larger requests are left out: 50 connections of a load may each have
 * one under way. */
#define REPLAY_REQUEST_BYTES_MAX (INT64_C(16) << 20)

enum replay_verdict {
    REPLAY_SENDS,
    REPLAY_UNKNOWN,   /* the command is not in the table */
    REPLAY_NO_VALUES, /* what was recorded as a size cannot be made up */
    REPLAY_TOO_LARGE,
    REPLAY_VERDICTS,
};

/* Whether a request can be made of the record, and its row in the table. Tells the same for the
 * same record each time. */
enum replay_verdict replay_request_judge(const struct trace_file_record *record,
                                         const struct replay_command **command);
/* Appends the request of a record that is judged REPLAY_SENDS. `*chance`, not 0, is the state of
 * the generator that draws members and numbers. */
void replay_request_append(const struct trace_file_record *record,
                           const struct replay_command *command, struct buffer *out,
                           uint64_t *chance);

/* What MEMORY USAGE of a string counts more than the lengths of key and value, where the allocator
 * rounds nothing up. It differs by the length of the value, because short values may stand beside
 * their key: [0] is of lengths below 128 bytes, each further one of lengths up to the double, the
 * last one of all others. */
#define REPLAY_OVERHEAD_FIRST 64
#define REPLAY_OVERHEAD_OCTAVES 8
struct replay_overhead {
    int64_t bytes[REPLAY_OVERHEAD_OCTAVES], bytes_with_ttl[REPLAY_OVERHEAD_OCTAVES];
};

/* A key as it is to be: for the filling of a server. */
struct replay_content {
    struct slice key;
    enum replay_type type;
    int64_t bytes;    /* of key and value, as MEMORY USAGE counts them */
    int64_t ttl_msec; /* -1 = no deadline */
};
/* Appends the requests that create the key with about so many bytes: one, and PEXPIRE where a key
 * that is no string has a deadline. Returns the number of requests. */
unsigned replay_content_append(const struct replay_content *content,
                               const struct replay_overhead *overhead, struct buffer *out);
/* Appends SELECT. */
void replay_select_append(uint32_t database, struct buffer *out);
#endif
