/* SPDX-License-Identifier: BSD-3-Clause
 * Captures: clients without a connection, for the log's loader, scripts and modules.
 *
 * Commands run for a captured client as for any other, and their handlers do not know of it. The
 * replies are handed to the capture: as RESP by the client's protocol, in pieces as they are made,
 * or value by value if the capture was opened with forms. A captured client may not wait: a
 * blocking command is answered as if its time were up.
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

/* The values of a reply, for an owner that wants values and no bytes. A group comes before its
 * elements: `count` values, or twice as many in a group of pairs. A RESP2 client has no groups but
 * arrays, and none of the values that stand below `null` in struct capture_forms. Texts are
 * borrowed for the call. */
enum capture_group {
    CAPTURE_ARRAY,
    CAPTURE_MAP, /* pairs */
    CAPTURE_SET,
    CAPTURE_PUSH,
    CAPTURE_ATTRIBUTE, /* pairs, about the value that follows */
};

struct capture_forms {
    void (*integer)(struct capture *capture, int64_t value);
    void (*bulk)(struct capture *capture, struct slice text);
    void (*status)(struct capture *capture, struct slice text);
    void (*error)(struct capture *capture, struct slice text); /* with its code */
    void (*group)(struct capture *capture, enum capture_group group, int64_t count);
    void (*null)(struct capture *capture);
    void (*boolean)(struct capture *capture, bool value);
    void (*number)(struct capture *capture, struct slice digits);
    void (*big_number)(struct capture *capture, struct slice digits);
    void (*verbatim)(struct capture *capture, struct slice text, const char *type);
};

struct capture {
    struct client *client;
    struct buffer replies; /* collects the replies if `take` is NULL; the owner empties it */
    /* Gets each piece of a reply. It must not run a call for this client. */
    void (*take)(struct capture *capture, const char *bytes, size_t length);
    const struct capture_forms *forms; /* get values instead of bytes; NULL: bytes are wanted */
};

/* Makes the client; `take` may be NULL. The struct stays where it is until capture_close. */
FOR_TESTS void capture_open(struct capture *capture,
                            void (*take)(struct capture *capture, const char *bytes,
                                         size_t length));
/* Makes the client of a capture that gets values. None of the forms may be NULL, and none may run a
 * call for this client, or leave by longjmp. The struct stays where it is until capture_close. */
void capture_open_typed(struct capture *capture, const struct capture_forms *forms);
/* Closes the client; layers above free their state of it. Not to be called while a call of it runs.
 */
void capture_close(struct capture *capture);
/* A `take` that drops the replies. */
FOR_TESTS void capture_discard(struct capture *capture, const char *bytes, size_t length);

/* For net/reply: takes bytes of a reply to a captured client (CLIENT_CAPTURED). */
void capture_take(const struct client *c, const char *bytes, size_t length);
/* For net/reply: take values of replies to clients whose replies are dropped or typed
 * (CLIENT_REPLIES_ASIDE). */
void capture_integer(const struct client *c, int64_t value);
void capture_bulk(const struct client *c, struct slice text);
void capture_status(const struct client *c, struct slice text);
void capture_error(const struct client *c, struct slice text);
void capture_group(const struct client *c, enum capture_group group, int64_t count);
void capture_null(const struct client *c);
void capture_boolean(const struct client *c, bool value);
void capture_number(const struct client *c, struct slice digits);
void capture_big_number(const struct client *c, struct slice digits);
void capture_verbatim(const struct client *c, struct slice text, const char *type);
#endif
