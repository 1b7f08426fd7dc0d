/* SPDX-License-Identifier: BSD-3-Clause
 * Requests: RESP arrays of bulk strings, and inline lines, parsed to slices in place.
 *
 * The parser keeps its state between calls, so that a request may arrive in any pieces. Slices
 * point into the caller's bytes; a caller that moves its bytes calls request_parser_rebase.
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
/* Limit of the bytes of an incomplete request that net/batch keeps for a client that has not
 * authenticated: two of the longest arguments, which suffices for a user and a password; 6.2 allows
 * ten. */
#define REQUEST_UNAUTHENTICATED_BYTES_MAX 32768
/* Every limit on an argument's length is at least this, so shorter lengths need no check. The
 * option's minimum is far above. */
#define REQUEST_BULK_MAX_LEAST 100

/* Longer arguments are refused whatever the limit is, because keys, fields and members have lengths
 * of 32 bits. */
#define REQUEST_BULK_MAX_MOST UINT32_MAX

#define REQUEST_ERROR_BULK_LENGTH "invalid bulk length"

enum request_status {
    REQUEST_READY,      /* argv[0..argc) is a whole request; argc 0: an empty one, to be skipped */
    REQUEST_INCOMPLETE, /* all bytes are parsed; more are needed */
    REQUEST_ROOM,       /* argv is full: give it parser.room places; it may move */
    REQUEST_ERROR,      /* parser.error says why; the connection must end */
    REQUEST_LIMIT,      /* as ERROR, by a limit that an earlier request, not run yet, may lift */
};

struct request_parser {
    int64_t arguments;   /* number of arguments of this request; 0 = at its beginning */
    int64_t bulk_length; /* length of the argument being read; -1 = its header comes next */
    int argc, capacity;
    int64_t room;       /* after REQUEST_ROOM: the places that argv needs */
    struct slice *argv; /* the caller's, `capacity` places */
    const char *error;  /* the text after "Protocol error: "; may have one %c, for error_byte */
    char error_byte;
    bool authenticated;
    int64_t bulk_max; /* proto-max-bulk-len; at least REQUEST_BULK_MAX_LEAST */
};

/* Makes the parser ready for the next request; keeps argv, capacity, authenticated, bulk_max. */
void request_parser_reset(struct request_parser *p);
/* Parses from *cursor on, and moves it over the bytes that need not be given again. Words of inline
 * requests are unquoted into `storage`, which must live as long as argv. */
MUST_USE enum request_status request_parse(struct request_parser *p, const char **cursor,
                                           const char *end, struct buffer *storage);
/* Whether these bytes, from which the arguments were parsed, are the canonical form of the request:
 * an array of bulks, lengths without superfluous digits, lines that end with "\r\n". O(argc). */
bool request_is_canonical(struct slice bytes, int argc, const struct slice *argv);
/* Adapts the slices after the caller has moved the bytes from `from` to `to`. */
void request_parser_rebase(struct request_parser *p, const char *from, const char *to);
#endif
