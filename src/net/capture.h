/* SPDX-License-Identifier: BSD-3-Clause
 * Captures: clients without a connection, for the log's loader, scripts and modules.
 *
 * Commands run for such a client as for any other, and their handlers know nothing of it: what they
 * reply is handed to the capture: RESP by the client's protocol, in pieces as it comes, or value by
 * value, where it was opened with forms. It may not wait: who blocks is answered as if its time
 * were up.
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

/* What a reply is made of, for who wants values and no text. A group comes before what it holds: as
 * many values as `count` says, or twice as many of what has pairs. By RESP2 there are no groups but
 * arrays, and none of the values below `null`. Texts are borrowed for the call. */
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
    struct buffer replies; /* gathered where `take` is NULL; the owner empties it */
    /* Gets each piece. It must not run a call for this client. */
    void (*take)(struct capture *capture, const char *bytes, size_t length);
    const struct capture_forms *forms; /* gets values instead; NULL: bytes are wanted */
};

/* Makes the client; `take` may be NULL. The struct stays where it is until capture_close. */
FOR_TESTS void capture_open(struct capture *capture,
                            void (*take)(struct capture *capture, const char *bytes,
                                         size_t length));
/* The same for who takes values: none of the forms may be NULL, and none may run a call for this
 * client, or leave by longjmp. */
void capture_open_typed(struct capture *capture, const struct capture_forms *forms);
/* The client is gone with what layers above have of it. Not while a call of it runs. */
void capture_close(struct capture *capture);
/* A `take` for who wants no replies. */
FOR_TESTS void capture_discard(struct capture *capture, const char *bytes, size_t length);

/* Bytes that a captured client (CLIENT_CAPTURED) is sent: for net/reply. */
void capture_take(const struct client *c, const char *bytes, size_t length);
/* Values of clients whose replies are dropped or typed (CLIENT_REPLIES_ASIDE): for net/reply. */
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
