/* SPDX-License-Identifier: BSD-3-Clause
 * What a node says of its cluster: the reply to CLUSTER NODES as a table.
 *
 * A line is: id ip:port@busport flags primary ping pong epoch link slots... (Redis 6.2; later
 * versions add ",hostname" to the address and further flags). The text comes from another server:
 * each field is checked, and nothing of it is shown or sent on that was not.
 */
#ifndef EVENKEEL_CLUSTERCTL_CTL_VIEW_H
#define EVENKEEL_CLUSTERCTL_CTL_VIEW_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/string.h"
#include "clusterctl/ctl_slots.h"

#define CTL_ID_CHARS 40
#define CTL_HOST_CHARS 256
/* More nodes than Redis Cluster can be run with (about a thousand). */
#define CTL_NODES_MAX 10000
#define CTL_VIEW_REASON_CHARS 128

/* Flags of a line. Those that are not known are ignored. */
#define CTL_MYSELF 1u
#define CTL_PRIMARY 2u
#define CTL_REPLICA 4u
#define CTL_PFAIL 8u
#define CTL_FAIL 16u
#define CTL_HANDSHAKE 32u
#define CTL_NOADDR 64u
#define CTL_NOFAILOVER 128u
#define CTL_DISCONNECTED 256u /* the link's state, not a flag of the line's */

/* A slot that moves: to `peer` while it is migrating, from `peer` while it is importing. */
struct ctl_open_slot {
    unsigned slot;
    bool migrating;
    char peer[CTL_ID_CHARS + 1];
};

struct ctl_line {
    char id[CTL_ID_CHARS + 1];
    char host[CTL_HOST_CHARS]; /* printable, without blanks; "" while the node does not know it */
    int port, bus_port;
    unsigned flags;
    char primary[CTL_ID_CHARS + 1]; /* "" = none */
    uint64_t epoch;
    struct ctl_slots slots;
    struct ctl_open_slot *open; /* only the node's own line has them */
    size_t open_count;
};

struct ctl_view {
    struct ctl_line *lines;
    size_t count;
};

/* Parses the text. Returns false, with a reason and nothing to be freed, if a line is malformed, or
 * not exactly one line is the node's own. */
MUST_USE bool ctl_view_parse(struct ctl_view *v, struct slice text,
                             char reason[CTL_VIEW_REASON_CHARS]);
void ctl_view_free(struct ctl_view *v);
/* The node's own line. */
const struct ctl_line *ctl_view_myself(const struct ctl_view *v);
/* Appends who owns which slots, in an order that depends on nothing else: nodes that agree have the
 * same text. O(lines^2). */
void ctl_view_sign(const struct ctl_view *v, struct buffer *out);
/* Appends the flags as CLUSTER NODES names them, without "myself": "master", "slave,fail?". */
void ctl_line_flags(const struct ctl_line *line, struct buffer *out);
/* Marks or unmarks a slot as open. */
void ctl_line_open(struct ctl_line *line, unsigned slot, bool migrating, const char *peer);
void ctl_line_close(struct ctl_line *line, unsigned slot);
/* The mark of a slot; NULL = the slot is not open. */
const struct ctl_open_slot *ctl_line_find_open(const struct ctl_line *line, unsigned slot);
void ctl_line_free(struct ctl_line *line);
/* Takes `text` apart into an address of a node, "host:port", "[host]:port" or, as nodes write IPv6,
 * "::1:port". Returns false if it is none. */
MUST_USE bool ctl_address_parse(struct slice text, char host[CTL_HOST_CHARS], int *port);
#endif
