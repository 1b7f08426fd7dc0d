/* SPDX-License-Identifier: BSD-3-Clause
 * Replies of another server, RESP2 and RESP3: bytes in any pieces become a typed tree.
 *
 * The other side is not trusted: what a reply may take is bounded by struct peer_limits, nothing
 * is set aside because a header announces it, and depth is bounded. One reply is held at a time.
 */
#ifndef EVENKEEL_PEER_PEER_REPLY_H
#define EVENKEEL_PEER_PEER_REPLY_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/string.h"

/* Aggregates within each other at most; 6.2 itself needs four, a script's reply may need more. */
#define PEER_DEPTH_MAX 32
/* A line (status, error, number, header) at most, its mark and line end included. */
#define PEER_LINE_BYTES_MAX 65536
/* What the parser keeps from one reply to the next of its text, and of its nodes. */
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

/* A node of a reply. The nodes of a tree stand in one array, parents first: the first child of an
 * aggregate is the node behind it, the next sibling that of peer_reply_next. */
struct peer_reply {
    enum peer_type type;
    uint32_t nodes;    /* of this tree, itself included */
    uint32_t children; /* direct ones; an aggregate's only */
    bool verbatim;     /* a bulk that is meant to be read */
    union {
        int64_t integer;
        double real;
    };
    struct slice text; /* empty where the type has none; a NUL does not follow */
};

struct peer_limits {
    size_t text_bytes_max; /* of all texts of a reply */
    uint32_t nodes_max;    /* of a reply */
};

enum peer_parse_status {
    PEER_PARSE_INCOMPLETE, /* all bytes were taken; give more */
    PEER_PARSE_READY,      /* a reply is whole; bytes behind it were not taken */
    PEER_PARSE_ERROR,      /* peer_parser_error says why; nothing further is parsed */
};

struct peer_parser;
/* `limits` is copied. What the parser holds is booked to `class`. */
struct peer_parser *peer_parser_create(enum memory_class class, const struct peer_limits *limits);
void peer_parser_free(struct peer_parser *p);
/* Forgets a reply under way and an error: for a new connection. */
void peer_parser_reset(struct peer_parser *p);
/* Takes bytes from *cursor on, and moves it over them; they need not be kept. The reply of an
 * earlier call is gone. Bare line feeds between replies are passed over (a primary that prepares
 * its answer sends them), attributes are dropped. */
MUST_USE enum peer_parse_status peer_parse(struct peer_parser *p, const char **cursor,
                                           const char *end);
/* The reply after PEER_PARSE_READY, until the next call of the parser; else NULL. */
const struct peer_reply *peer_parser_reply(const struct peer_parser *p);
/* One sentence without the other side's bytes; NULL where nothing is wrong. */
const char *peer_parser_error(const struct peer_parser *p);
/* Nothing of a reply was taken yet. */
bool peer_parser_is_between(const struct peer_parser *p);

/* The first child (an aggregate with children only), and the node behind a tree. */
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
