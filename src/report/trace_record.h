/* SPDX-License-Identifier: BSD-3-Clause
 * What a trace keeps of a call: never a value.
 *
 * A record has the command's name, its keys, and for each other argument its size. An argument that
 * is no key is kept as text only where the command's row (struct command, `traced`) says that its
 * place holds a word of the grammar or a number of it: the 10 of SET k v EX 10, the 0 and -1 of
 * LRANGE k 0 -1. A value may look like such a word or number; the row names places where no value
 * can stand.
 *
 * `traced` is a text of words that blanks separate:
 *
 *   never      no record is made: the call is no access (WATCH), or its calls are recorded instead
 *              (EVAL)
 *   each       the first word, where any: the request makes sense with any of its keys alone, so
 *              keys that are not sampled are left out, with the arguments that belong to them
 *   2#         argument 2 is kept if it is a number; -1# is the last one
 *   2~         argument 2 is kept if it is -inf, +inf, inf, - or +
 *   3..        options begin at argument 3; the words behind this one are those options, and the
 *              first argument that is neither such a word nor belongs to one ends them
 *   ex#        the option EX, and the number behind it; limit## has two
 *   match?     the option MATCH; the argument behind it is left as a size
 *   *|         the option *, behind which no option follows
 *   byscore!   the option BYSCORE: the arguments that # names by their place are values now
 */
#ifndef EVENKEEL_REPORT_TRACE_RECORD_H
#define EVENKEEL_REPORT_TRACE_RECORD_H
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/string.h"

struct call;
struct command;

enum trace_kind {
    TRACE_VALUE,     /* only its size is kept */
    TRACE_WORD,      /* a word or number of the grammar; the command's name is the first */
    TRACE_KEY,       /* a key that is sampled */
    TRACE_OTHER_KEY, /* a key that is not sampled, of a request that needs it */
};

struct trace_argument {
    enum trace_kind kind;
    uint32_t size;
    struct slice text; /* TRACE_VALUE: empty */
    /* TRACE_KEY: the bytes of the key with its value before the call, as MEMORY USAGE counts them,
     * and its time to live in ms; -1 = it does not exist; it has no deadline. */
    int64_t bytes, ttl_msec;
};

/* A record's head; its arguments stand behind it, and the whole is `bytes` long, a multiple of 8.
 */
struct trace_record {
    uint32_t bytes, arguments;
    uint64_t id; /* counts up from 1; a missing one was dropped */
    int64_t wall_usec;
    uint64_t client;
    int32_t database;
    uint32_t by_script; /* 1: a script has made the call */
};

/* Whether trace_record_append may make a record of the call, as far as its row tells. */
bool trace_record_wants(const struct call *call);
enum trace_append {
    TRACE_NOT_SAMPLED, /* no key of the call is sampled */
    TRACE_TOO_LARGE,   /* the record would have more than TRACE_RECORD_BYTES_MAX */
    TRACE_APPENDED,
};
/* A request with more keys and words than that is no load to be repeated from a trace, and a bound
 * keeps one request from emptying the buffer. */
#define TRACE_RECORD_BYTES_MAX 16384
/* Appends the call's record to `out`, with the id 0. A key is sampled where its hash (hash_bytes)
 * is at most `hash_max`. O(argc). */
MUST_USE enum trace_append trace_record_append(const struct call *call, uint64_t hash_max,
                                               struct buffer *out);
/* Reads the record's arguments one by one: `*cursor` is NULL at first. False behind the last. */
MUST_USE bool trace_record_next(const struct trace_record *record, const char **cursor,
                                struct trace_argument *argument);
#endif
