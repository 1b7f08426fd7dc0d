/* SPDX-License-Identifier: BSD-3-Clause
 * Addresses of what is watched, and the numbers that host names stand for.
 *
 * A name is never looked up in the loop, because a silent resolver would stop the Sentinel. It is
 * looked up beside the loop (io/lookup.h) and kept in a table:
 *
 *   asked for first --> WAITS --answer--> KNOWN (the number) or UNKNOWN (no such name)
 *                         ^                   |
 *                         +-- looked up again when it is asked for, at most once a second
 *
 * While a known name is looked up again its last number holds. What mentions a name that waits is
 * not acted upon, and comes again: a reconnection within a second, INFO and hello messages after
 * theirs. Names are used only with the directive resolve-hostnames.
 *
 * Bounds: NAMES_MAX names, of which those that foreign messages mention give way to newer ones.
 */
#ifndef EVENKEEL_SENTINEL_ADDRESS_H
#define EVENKEEL_SENTINEL_ADDRESS_H
#include <stdbool.h>

#include "base/attributes.h"
#include "base/string.h"
#include "io/socket.h"

#define SENTINEL_HOST_CHARS_MAX 255 /* a name of DNS has no more */

struct loop;

/* An address: the host as it was given, a name or a number, and the number that it stands for. */
struct sentinel_address {
    char *host;                    /* owned; NULL = no address */
    char ip[SOCKET_ADDRESS_CHARS]; /* "" = not known yet */
    int port;
};

enum sentinel_host {
    SENTINEL_HOST_KNOWN,   /* the number was found */
    SENTINEL_HOST_WAITS,   /* the name is being looked up */
    SENTINEL_HOST_UNKNOWN, /* the name was not found */
    SENTINEL_HOST_REFUSED, /* it is neither a number nor a name that may be used */
};

/* Sets the loop that lookups are served by, and the function that is told when the number of a name
 * has changed, or a name is found not to exist. */
void sentinel_address_open(struct loop *loop, void (*answered)(const char *host));
/* Finds the number that `host` stands for. Begins to look a name up that is not known, or that was
 * asked for last more than a second ago. */
MUST_USE enum sentinel_host sentinel_address_find(struct slice host, char ip[SOCKET_ADDRESS_CHARS]);
/* Whether `host` could be the host of an address: a number, or, with resolve-hostnames, a name.
 * Looks nothing up. */
bool sentinel_address_allows(struct slice host);

/* Sets the address, whose former host is freed. The number is set if it is known at once. */
void sentinel_address_set(struct sentinel_address *a, struct slice host, int port);
void sentinel_address_copy(struct sentinel_address *to, const struct sentinel_address *from);
void sentinel_address_clear(struct sentinel_address *a);
/* Sets the number again from the table of names. Returns false if it is not known. */
MUST_USE bool sentinel_address_refresh(struct sentinel_address *a);
/* Whether the address is that of this host (which may be a name or a number) and port. */
bool sentinel_address_is(const struct sentinel_address *a, struct slice host, int port);
bool sentinel_address_equal(const struct sentinel_address *a, const struct sentinel_address *b);
/* The host as answers, events, hello messages and the file show it: the number, or with
 * announce-hostnames the host as it was given. */
const char *sentinel_address_shown(const struct sentinel_address *a);
#endif
