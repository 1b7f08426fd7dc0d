/* SPDX-License-Identifier: BSD-3-Clause
 * Limits of the memory that replies to one client may take while it does not read them.
 */
#ifndef EVENKEEL_NET_LIMITS_H
#define EVENKEEL_NET_LIMITS_H
#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"

struct client;

void limits_register(void); /* the option client-output-buffer-limit */

/* Marks the client as closing if its chunks have reached the hard limit of its class, or have been
 * above the soft limit for longer than the limit's seconds. O(1). The chunks may be freed
 * afterwards. */
void limits_check_output(struct client *c);
/* Checks the limits of a client that is sent a stream, of which so many bytes are unsent: these and
 * the client's chunks count. The owner of the stream calls it when the stream grows, and once a
 * second. */
void limits_check_stream(struct client *c, size_t unsent);
/* Whether so many bytes of replies, which are about to be written, are within the hard limit; the
 * first LIMITS_FREE_BYTES of them do not count. If not, the client is marked as closing. O(1). */
#define LIMITS_FREE_BYTES 16384 /* as in 6.2, where each client has a buffer of this size */
MUST_USE bool limits_allow(struct client *c, size_t bytes);
/* The bytes that replies to a client that has not authenticated may take while they wait for the
 * disk (reply_depend) and not for its socket. So more than one batch of its requests can be
 * answered. */
#define LIMITS_STRANGER_BYTES_MAX 65536
/* Called when the socket did not take all replies: marks the client as closing if it must
 * authenticate and has not. O(1). */
void limits_check_unread(struct client *c);
/* Returns true if a limit has seconds, so that the passing of time can close a client. */
bool limits_need_cron(void);
#endif
