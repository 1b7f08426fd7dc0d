/* SPDX-License-Identifier: BSD-3-Clause
 * Captures: clients without a connection, for the log's loader, scripts and modules.
 *
 * Commands run for a captured client as for any other, and their handlers do not know of it. What
 * they reply is handed to the capture value by value, in the order in which a reader of the reply
 * would meet the values; no RESP is made or parsed. A captured client may not wait: a blocking
 * command is answered as if its time were up.
 */
#ifndef EVENKEEL_NET_CAPTURE_H
#define EVENKEEL_NET_CAPTURE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/string.h"

struct capture;
struct client;

enum capture_group {
    CAPTURE_ARRAY,
    CAPTURE_MAP, /* pairs */
    CAPTURE_SET,
    CAPTURE_PUSH,
    CAPTURE_ATTRIBUTE, /* pairs, about the value that follows */
};

/* Whether a group of this kind holds two values for each that its count says. */
static inline bool capture_group_is_pairs(enum capture_group kind) {
    return kind == CAPTURE_MAP || kind == CAPTURE_ATTRIBUTE;
}

/* The count of a group that is told only when the group ends. */
#define CAPTURE_COUNT_LATER (-1)
/* Groups within groups at most: those of our commands, which no data makes deeper. */
#define CAPTURE_DEPTH_MAX 32

/* A group that has begun and not ended. */
struct capture_level {
    enum capture_group kind;
    int64_t values; /* how many it has in all; CAPTURE_COUNT_LATER: it is told at the end */
    int64_t seen;   /* of them, groups that have ended included; attributes are not counted */
};

/* A typed reader of replies. Texts are borrowed for the call. By RESP2 there are no groups but
 * arrays, and none of the values below `null`. */
struct capture_forms {
    void (*integer)(struct capture *capture, int64_t value);
    void (*bulk)(struct capture *capture, struct slice text);
    void (*status)(struct capture *capture, struct slice text);
    void (*error)(struct capture *capture, struct slice text); /* with its code */
    /* A group begins: `count` values follow, or pairs of values, or CAPTURE_COUNT_LATER. It is not
     * among the capture's levels yet. */
    void (*group)(struct capture *capture, enum capture_group kind, int64_t count);
    /* The innermost group has all its values, and is no longer among the levels. NULL: the reader
     * does not want to know, and the capture keeps no levels. */
    void (*group_end)(struct capture *capture, enum capture_group kind);
    void (*null)(struct capture *capture);
    void (*boolean)(struct capture *capture, bool value);
    void (*number)(struct capture *capture, struct slice digits);
    void (*big_number)(struct capture *capture, struct slice digits);
    void (*verbatim)(struct capture *capture, struct slice text, const char *type);
};

struct capture {
    struct client *client;
    const struct capture_forms *forms;              /* NULL: bytes are wanted */
    struct buffer replies;                          /* those bytes; the owner empties it */
    struct capture_level levels[CAPTURE_DEPTH_MAX]; /* groups that are open, the outermost first */
    int depth;                                      /* how many */
};

/* Creates a client whose replies are handed to `forms`. None of the forms but group_end may be
 * NULL; none may run a call for this client, or leave by longjmp. The struct stays where it is
 * until capture_close. */
void capture_open_typed(struct capture *capture, const struct capture_forms *forms);
/* Creates a client whose replies are gathered as RESP in `replies`. The struct stays where it is
 * until capture_close. */
FOR_TESTS void capture_open(struct capture *capture);
/* Closes the client; layers above free their state of it. Not to be called while a call of it
 * runs. */
void capture_close(struct capture *capture);
/* Forgets the groups that are open: a reply was dropped in its middle (CLIENT_REPLIES_DROPPED), and
 * another begins. */
static inline void capture_restart(struct capture *capture) { capture->depth = 0; }
/* The innermost open group; NULL if the next value stands alone. */
static inline const struct capture_level *capture_innermost(const struct capture *capture) {
    return capture->depth ? &capture->levels[capture->depth - 1] : NULL;
}

/* For net/reply: takes bytes that are sent to a captured client (CLIENT_CAPTURED). If the capture
 * is typed they are a message and no reply, and are dropped. */
void capture_take(const struct client *c, const char *bytes, size_t length);
/* For net/reply, of a capture of bytes: how many it has, and inserting bytes before byte `at`. */
size_t capture_gathered(const struct client *c);
void capture_insert(const struct client *c, size_t at, const char *bytes, size_t length);
/* For net/reply: take values of replies to clients whose replies are dropped or typed
 * (CLIENT_REPLIES_ASIDE). */
void capture_integer(const struct client *c, int64_t value);
void capture_bulk(const struct client *c, struct slice text);
void capture_status(const struct client *c, struct slice text);
void capture_error(const struct client *c, struct slice text);
void capture_group(const struct client *c, enum capture_group kind, int64_t count);
/* Ends a group that began with CAPTURE_COUNT_LATER, and has so many values or pairs. */
void capture_group_end(const struct client *c, int64_t count);
void capture_null(const struct client *c);
void capture_boolean(const struct client *c, bool value);
void capture_number(const struct client *c, struct slice digits);
void capture_big_number(const struct client *c, struct slice digits);
void capture_verbatim(const struct client *c, struct slice text, const char *type);
#endif
