/* SPDX-License-Identifier: BSD-3-Clause
 * Replies passed over: where each ends and whether it is an error, RESP2 and RESP3, in any pieces.
 *
 * For who sends load and only counts what comes back: redis-benchmark and the lab's load. Nothing
 * is allocated and nothing kept but the text of an error. Who needs a reply's content takes
 * peer/peer_reply.h.
 */
#ifndef EVENKEEL_PEER_REPLY_SCAN_H
#define EVENKEEL_PEER_REPLY_SCAN_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/string.h"

#define REPLY_SCAN_ERROR_CHARS 256

/* SCANNED_PUSH: nobody asked for it, so it answers no request. */
enum scanned {
    SCANNED_NONE,
    SCANNED_OK,
    SCANNED_NIL,
    SCANNED_ZERO,
    SCANNED_ERROR,
    SCANNED_OOM,
    SCANNED_PUSH,
};

/* Where a reader stands within the replies of one connection; begins zeroed. */
struct reply_scanner {
    uint64_t body_left;  /* bytes of a bulk and its line end still to pass over */
    uint64_t number;     /* of the first line, as far as it is read */
    uint64_t parts_left; /* of the reply under way, with those of aggregates in it; 0 = none is */
    char kind;           /* the first byte of the part under way; 0 = between two parts */
    bool negative, is_aggregate, is_push;
    enum scanned failed; /* what the last error in the reply was, or SCANNED_NONE */
    unsigned error_length;
    char error[REPLY_SCAN_ERROR_CHARS]; /* the last error's text, cut, printable, without " or \ */
};

/* Reads on from `*at` to the end of the next reply or to `end`, and moves `*at` there. Returns
 * SCANNED_NONE when the reply is not complete. An aggregate is an error where a part of it is one.
 * Bytes of a bulk that were passed over are given in `body`, in the pieces in which they come,
 * where it is not NULL; a call then ends with each piece. False in `*sound` is a reply that no
 * server of the protocol sends; the scanner is of no use afterwards. */
enum scanned reply_scan(struct reply_scanner *s, const char **at, const char *end,
                        struct slice *body, bool *sound);
#endif
