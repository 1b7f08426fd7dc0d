/* SPDX-License-Identifier: BSD-3-Clause
 * Limits of what replies to one client may take while it does not read them.
 */
#ifndef EVENKEEL_NET_LIMITS_H
#define EVENKEEL_NET_LIMITS_H
#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"

struct client;

void limits_register(void); /* the option client-output-buffer-limit */

/* Closes the client where its chunks have reached the hard limit of its class, or have stood above
 * the soft one for longer than its seconds. O(1). The client's chunks may be gone afterwards. */
void limits_check_output(struct client *c);
/* The same for a client that is sent a stream, of which so many bytes are unsent: its chunks and
 * those count. Called by who has the stream, when it grows and once a second. */
void limits_check_stream(struct client *c, size_t unsent);
/* False, with the client closed, where so many bytes of replies that are about to be written pass
 * the hard limit, the first LIMITS_FREE_BYTES of them not counted. O(1). */
#define LIMITS_FREE_BYTES 16384 /* a fact of 6.2: each client has a buffer of that size */
MUST_USE bool limits_allow(struct client *c, size_t bytes);
/* What replies of one that has not authenticated may take while they wait for something else than
 * its socket: for the disk (reply_depend). More than one batch of its requests can be answered. */
#define LIMITS_STRANGER_BYTES_MAX 65536
/* The socket did not take all of its replies: closes the client where it has not authenticated and
 * must. O(1). */
void limits_check_unread(struct client *c);
/* True where time alone can make limits_check_output close a client. */
bool limits_need_cron(void);
#endif
