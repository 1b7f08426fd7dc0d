/* SPDX-License-Identifier: BSD-3-Clause
 * What replay and curve know of each command: how its values are made anew, and what it does to
 * its keys.
 *
 * A trace may come from anywhere, so only commands of this table are ever sent: none that
 * administers a server, runs code, or waits.
 *
 * `values` says what stands for each argument that was recorded as a size, in their order:
 *
 *   v  a value            m  a member, field or element: one of REPLAY_MEMBERS of its size
 *   i  an integer         n  a number             g  a coordinate      b  a bit
 *   o  an offset, the least of its size           p  a pattern that fits everything
 *   *  what follows is repeated; the sizes must come out even
 *   @  at first: the two characters behind it are the bounds that argument 2 and 3 are:
 *      < and > the least and the greatest number of the size, { and } likewise of texts
 *
 * A command that waits is sent as `instead`, without its last argument, the time limit.
 */
#ifndef EVENKEEL_REPLAY_REPLAY_COMMANDS_H
#define EVENKEEL_REPLAY_REPLAY_COMMANDS_H
#include <stdbool.h>

#include "base/string.h"
#include "trace_file/trace_file.h"

enum replay_effect {
    REPLAY_LOOKS = 1,   /* the key is looked up: a hit or a miss */
    REPLAY_WRITES = 2,  /* the key is there afterwards, unless an option or an error prevents it */
    REPLAY_DELETES = 4, /* the key is gone afterwards */
    REPLAY_TAKES = 8,   /* the key may be gone afterwards, with its last element */
};

enum replay_type {
    REPLAY_STRING,
    REPLAY_LIST,
    REPLAY_HASH,
    REPLAY_SET,
    REPLAY_SORTED_SET,
    REPLAY_STREAM,
    REPLAY_ANY_TYPE, /* the command does not tell */
};

/* What a command does to the time to live of its first key. */
enum replay_ttl {
    REPLAY_TTL_STAYS,
    REPLAY_TTL_ENDS,    /* unless an option sets one, or KEEPTTL */
    REPLAY_TTL_OPTIONS, /* EX, PX, EXAT, PXAT and PERSIST set it */
    REPLAY_TTL_SECONDS, /* argument 2 */
    REPLAY_TTL_MSEC,
    REPLAY_TTL_AT_SECONDS,
    REPLAY_TTL_AT_MSEC,
    REPLAY_TTL_PERSISTS,
};

struct replay_command {
    const char *name;
    enum replay_type type;
    unsigned first, rest; /* effects on the first key, and on the others */
    const char *values;   /* NULL = none can be made */
    enum replay_ttl ttl;
    const char *instead; /* NULL = sent under its own name */
    bool nil_is_miss;    /* the reply is nil exactly where the key is missing */
    bool each;           /* a request of several keys is as good as one of each */
};

/* The row of the record's command, by its name; NULL where there is none. */
const struct replay_command *replay_command_of(const struct trace_file_record *record);
/* The time to live that the request gives its first key, from its options: milliseconds from the
 * record's time on, below 0 = past; REPLAY_TTL_NONE = the key has no deadline afterwards,
 * REPLAY_TTL_AS_BEFORE = it stays. */
#define REPLAY_TTL_NONE INT64_MAX
#define REPLAY_TTL_AS_BEFORE (INT64_MAX - 1)
int64_t replay_ttl_after(const struct replay_command *command,
                         const struct trace_file_record *record);
#endif
