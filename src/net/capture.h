/* SPDX-License-Identifier: BSD-3-Clause
 * Captures: clients without a connection, for the log's loader, scripts and modules.
 *
 * Commands run for such a client as for any other, and their handlers know nothing of it: what they
 * reply is handed to the capture, RESP by the client's protocol, in pieces as it comes. It may not
 * wait: who blocks is answered as if its time were up.
 */
#ifndef EVENKEEL_NET_CAPTURE_H
#define EVENKEEL_NET_CAPTURE_H
#include <stddef.h>

#include "base/string.h"

struct client;

struct capture {
    struct client *client;
    struct buffer replies; /* gathered where `take` is NULL; the owner empties it */
    /* Gets each piece. It must not run a call for this client. */
    void (*take)(struct capture *capture, const char *bytes, size_t length);
};

/* Makes the client; `take` may be NULL. The struct stays where it is until capture_close. */
void capture_open(struct capture *capture,
                  void (*take)(struct capture *capture, const char *bytes, size_t length));
/* The client is gone with what layers above have of it. Not while a call of it runs. */
void capture_close(struct capture *capture);
/* A `take` for who wants no replies. */
void capture_discard(struct capture *capture, const char *bytes, size_t length);

/* Bytes that a captured client (CLIENT_CAPTURED) is sent: for net/reply. */
void capture_take(const struct client *c, const char *bytes, size_t length);
#endif
