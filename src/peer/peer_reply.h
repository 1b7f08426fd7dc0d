/* SPDX-License-Identifier: BSD-3-Clause
 * Replies of another server, RESP2 and RESP3: bytes in any pieces become a typed tree.
 *
 * The other side is not trusted: struct peer_limits bounds a reply's memory, no memory is reserved
 * for an announced length, and depth is bounded. The parser holds one reply at a time.
 */
#ifndef EVENKEEL_PEER_PEER_REPLY_H
#define EVENKEEL_PEER_PEER_REPLY_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/string.h"

/* The deepest nesting of aggregates. 6.2's own replies need four; a script's reply may need more.
 */
#define PEER_DEPTH_MAX 32
/* The longest line (status, error, number, header), with its first byte and its line end. */
#define PEER_LINE_BYTES_MAX 65536
/* The most memory that the parser keeps from one reply to the next: so much for texts, and as much
 * for nodes. */
#define PEER_KEPT_BYTES 65536

enum peer_type {
    PEER_STATUS,     /* text */
    PEER_ERROR,      /* text, with its code; RESP3's long form too */
    PEER_INTEGER,    /* integer */
    PEER_BULK,       /* text; RESP3's verbatim text too, without its format: `verbatim` */
    PEER_NIL,        /* all three forms */
    PEER_ARRAY,      /* children */
    PEER_DOUBLE,     /* real; may be infinite or NaN; text: as it was sent */
    PEER_BOOLEAN,    /* integer, 0 or 1 */
    PEER_BIG_NUMBER, /* text: a sign or none, and digits */
    PEER_MAP,        /* children: keys and values in turn */
    PEER_SET,        /* children */
    PEER_PUSH,       /* children; nobody asked for it */
};

/* A node of a reply. The nodes of a tree are in one array, parents first. The first child of an
 * aggregate is the node behind it; peer_reply_next gives the next sibling. */
struct peer_reply {
    enum peer_type type;
    uint32_t nodes;    /* of the tree below this node, this node included */
    uint32_t children; /* direct children; aggregates only */
    bool verbatim;     /* a bulk that came as RESP3's verbatim text */
    union {
        int64_t integer;
        double real;
    };
    struct slice text; /* empty if the type has none; not followed by a NUL */
};

struct peer_limits {
    size_t text_bytes_max; /* of all texts of a reply */
    uint32_t nodes_max;    /* of a reply */
};

enum peer_parse_status {
    PEER_PARSE_INCOMPLETE, /* all bytes were taken; give more */
    PEER_PARSE_READY,      /* a reply is complete; bytes after it were not taken */
    PEER_PARSE_ERROR,      /* peer_parser_error says why; nothing further is parsed */
};

struct peer_parser;
/* Creates a parser, whose memory is of `class`. `limits` is copied. */
struct peer_parser *peer_parser_create(enum memory_class class, const struct peer_limits *limits);
void peer_parser_free(struct peer_parser *p);
/* Drops a partial reply and an error, for a new connection. */
void peer_parser_reset(struct peer_parser *p);
/* Takes bytes from `*cursor` on, and moves `*cursor` behind them; the parser copies what it needs.
 * The reply of an earlier call is gone. Bare line feeds between replies are skipped, because a
 * primary sends them while it prepares its answer. Attributes are dropped. */
MUST_USE enum peer_parse_status peer_parse(struct peer_parser *p, const char **cursor,
                                           const char *end);
/* The reply after PEER_PARSE_READY, valid until the next call with the parser; else NULL. */
const struct peer_reply *peer_parser_reply(const struct peer_parser *p);
/* Why parsing failed: one sentence without bytes of the other side; NULL if it did not fail. */
const char *peer_parser_error(const struct peer_parser *p);
/* Whether the parser is between two replies: no byte of the next one was taken. */
bool peer_parser_is_between(const struct peer_parser *p);

/* The first child of an aggregate that has children; and the node behind a node's tree. */
static inline const struct peer_reply *peer_reply_first(const struct peer_reply *reply) {
    return reply + 1;
}
static inline const struct peer_reply *peer_reply_next(const struct peer_reply *reply) {
    return reply + reply->nodes;
}
static inline bool peer_reply_is_aggregate(const struct peer_reply *reply) {
    return reply->type == PEER_ARRAY || reply->type == PEER_MAP || reply->type == PEER_SET ||
           reply->type == PEER_PUSH;
}
#endif
