/* SPDX-License-Identifier: BSD-3-Clause
 * What a trace file holds: a head, records of requests without their values, and an end.
 *
 * docs/traces.md has the format byte by byte. In short: eight bytes of magic and a version, then
 * blocks. A block has a kind, a length and a checksum, which covers the block's ordinal too, so
 * that a block that is missing or moved is found. A file whose last block is not the end was cut.
 */
#ifndef EVENKEEL_TRACE_FILE_TRACE_FILE_H
#define EVENKEEL_TRACE_FILE_TRACE_FILE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/string.h"

#define TRACE_FILE_MAGIC "evktrace"
#define TRACE_FILE_MAGIC_BYTES 8
#define TRACE_FILE_VERSION 1
/* A block's payload, and so the memory that a reader needs. A server's record has 16 KiB at most.
 */
#define TRACE_FILE_BLOCK_BYTES_MAX (1u << 20)
/* kind, length; and the checksum behind the payload */
#define TRACE_FILE_BLOCK_HEAD_BYTES 5
#define TRACE_FILE_BLOCK_SUM_BYTES 8
enum trace_file_block { TRACE_FILE_HEAD = 'H', TRACE_FILE_RECORDS = 'R', TRACE_FILE_LAST = 'E' };

/* A server's record has room for 2,048 arguments. */
#define TRACE_FILE_ARGUMENTS_MAX 4096
/* No server takes a longer value (proto-max-bulk-len). */
#define TRACE_FILE_VALUE_BYTES_MAX (INT64_C(512) << 20)
/* Above all memory and all times to live that there are; so sums of some thousand do not overflow.
 */
#define TRACE_FILE_NUMBER_MAX (INT64_C(1) << 50)
#define TRACE_FILE_DATABASE_MAX INT32_MAX
/* Wall times in microseconds: up to the year 10,000. */
#define TRACE_FILE_WALL_USEC_MAX INT64_C(253402300800000000)
#define TRACE_FILE_REASON_CHARS 320
#define TRACE_FILE_WORD_CHARS 64

enum trace_file_kind {
    TRACE_FILE_VALUE,     /* only its size is known */
    TRACE_FILE_WORD,      /* a word or number of the grammar; the command's name is the first */
    TRACE_FILE_KEY,       /* a key that is sampled */
    TRACE_FILE_OTHER_KEY, /* a key that is not sampled, of a request that needs it */
};

struct trace_file_argument {
    enum trace_file_kind kind;
    struct slice text; /* a value has no text */
    int64_t size;      /* of a value */
    /* Of a sampled key: the bytes of the key with its value before the request, as MEMORY USAGE
     * counts them, and its time to live; -1 = it did not exist; it had no deadline. */
    int64_t bytes, ttl_msec;
};

struct trace_file_record {
    uint64_t id; /* counts up; a missing one was dropped */
    int64_t wall_usec;
    uint64_t client;
    uint32_t database;
    bool by_script;          /* a script has made the call */
    uint32_t argument_count; /* at least 1: the command's name, a word */
    const struct trace_file_argument *arguments;
};

/* What was known of the server when the recording began. A text that is longer is cut; a figure
 * that the server did not tell is -1. A reader finds a text in the place of one that is missing. */
struct trace_file_head {
    int64_t began_usec;                 /* wall time */
    int64_t sample;                     /* one key in so many is sampled */
    bool hashed;                        /* keys are hashes of the server's */
    char server[TRACE_FILE_WORD_CHARS]; /* "Evenkeel 1.0, Redis 6.2.16" */
    char policy[TRACE_FILE_WORD_CHARS]; /* maxmemory-policy */
    int64_t maxmemory, used_bytes, overhead_bytes, keys;
};

/* How the recording ended. */
enum trace_file_ending {
    TRACE_FILE_ENDED,       /* as long as was asked for, or until it was told to end */
    TRACE_FILE_SERVER_LOST, /* the server ended, or refused */
    TRACE_FILE_DISK_FULL,   /* the file could not be written any more */
};
struct trace_file_end {
    enum trace_file_ending ending;
    int64_t ended_usec;
    int64_t records;      /* in the file */
    int64_t missing;      /* records that the server dropped, or that another reader took */
    int64_t without_keys; /* requests without keys, of which nothing is recorded */
};
#endif
