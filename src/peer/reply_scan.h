/* SPDX-License-Identifier: BSD-3-Clause
 * Replies that are passed over, RESP2 and RESP3, in any pieces: where each ends, and whether it is
 * an error.
 *
 * For programs that send load and only count the replies: redis-benchmark and the lab's load.
 * Nothing is allocated, and only the text of an error is kept. A program that needs a reply's
 * content uses peer/peer_reply.h.
 */
#ifndef EVENKEEL_PEER_REPLY_SCAN_H
#define EVENKEEL_PEER_REPLY_SCAN_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/string.h"

#define REPLY_SCAN_ERROR_CHARS 256

/* What a reply is. SCANNED_PUSH answers no request. */
enum scanned {
    SCANNED_NONE,
    SCANNED_OK,
    SCANNED_NIL,
    SCANNED_ZERO,
    SCANNED_ERROR,
    SCANNED_OOM,
    SCANNED_PUSH,
};

/* The position of a reader in the replies of one connection; zeroed at first. */
struct reply_scanner {
    uint64_t body_left;  /* bytes of a bulk and its line end still to pass over */
    uint64_t number;     /* the number in the first line, as far as it was read */
    uint64_t parts_left; /* still to come of the reply, as far as known; 0 = between two */
    char kind;           /* the first byte of the part; 0 = between two parts */
    bool negative, is_aggregate, is_push;
    enum scanned failed; /* the kind of the reply's last error, or SCANNED_NONE */
    unsigned error_length;
    char error[REPLY_SCAN_ERROR_CHARS]; /* the last error's text, cut, printable, without " or \ */
};

/* Reads from `*at` to the end of the next reply, or to `end`, and moves `*at` there. Returns
 * SCANNED_NONE if the reply is not complete. An aggregate is an error if a part of it is one. If
 * `body` is not NULL, it gets the bytes of a bulk that were passed over, in the pieces in which
 * they come, and the call ends after each piece. Sets `*sound` to false for a reply that no server
 * sends by the protocol; the scanner must not be used afterwards. */
enum scanned reply_scan(struct reply_scanner *s, const char **at, const char *end,
                        struct slice *body, bool *sound);
#endif
