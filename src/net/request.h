/* SPDX-License-Identifier: BSD-3-Clause
 * Requests: RESP arrays of bulk strings, and inline lines, parsed to slices in place.
 *
 * The parser holds its place between calls, so that a request may arrive in any pieces. Slices
 * point into the bytes that were given; who moves these calls request_parser_rebase.
 */
#ifndef EVENKEEL_NET_REQUEST_H
#define EVENKEEL_NET_REQUEST_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/string.h"

#define REQUEST_INLINE_BYTES_MAX \
    65536 /* 6.2: "too big inline request", "too big mbulk count string" */
#define REQUEST_ARGUMENTS_MAX (1024 * 1024) /* 6.2: "invalid multibulk length" above it */
#define REQUEST_UNAUTHENTICATED_ARGUMENTS_MAX 10
#define REQUEST_UNAUTHENTICATED_BULK_MAX 16384
/* Bytes of a request that is not complete, for who holds them (net/batch): two of the longest
 * arguments, so the longest user and password, less the few bytes around them; 6.2 has ten. */
#define REQUEST_UNAUTHENTICATED_BYTES_MAX 32768
/* No limit on an argument's length is below this, so shorter lengths need no check. The option's
 * own minimum is far above. */
#define REQUEST_BULK_MAX_LEAST 100

/* Nor is a longer one taken, whatever the limit: keys, fields and members have lengths of 32 bits.
 */
#define REQUEST_BULK_MAX_MOST UINT32_MAX

#define REQUEST_ERROR_BULK_LENGTH "invalid bulk length"

enum request_status {
    REQUEST_READY,      /* argv[0..argc) is whole; argc 0: an empty request, to be skipped */
    REQUEST_INCOMPLETE, /* all bytes were looked at; give more */
    REQUEST_ROOM,       /* argv is full: parser.room places are needed; argv may move meanwhile */
    REQUEST_ERROR,      /* parser.error says why; the connection must end */
    REQUEST_LIMIT,      /* as ERROR, for a limit that a request before it may have lifted */
};

struct request_parser {
    int64_t arguments;   /* of this request; 0 = at its beginning */
    int64_t bulk_length; /* of the argument being read; -1 = its header comes next */
    int argc, capacity;
    int64_t room;       /* after ROOM */
    struct slice *argv; /* the caller's, `capacity` places */
    const char *error;  /* what follows "Protocol error: "; may hold one %c, for error_byte */
    char error_byte;
    bool authenticated;
    int64_t bulk_max; /* proto-max-bulk-len; at least REQUEST_BULK_MAX_LEAST */
};

/* Ready for the next request; keeps argv, capacity, authenticated, bulk_max. */
void request_parser_reset(struct request_parser *p);
/* Parses from *cursor on, and moves it over what need not be given again. Inline words are unquoted
 * into `storage`, which must live as long as argv. */
MUST_USE enum request_status request_parse(struct request_parser *p, const char **cursor,
                                           const char *end, struct buffer *storage);
/* Whether the bytes of a whole request, which was parsed to these arguments from there, are what
 * anybody would write for them: an array of bulks, lengths without a digit too many, lines ended by
 * "\r\n". O(argc). */
bool request_is_canonical(struct slice bytes, int argc, const struct slice *argv);
/* The bytes moved from `from` to `to`. */
void request_parser_rebase(struct request_parser *p, const char *from, const char *to);
#endif
