/* SPDX-License-Identifier: BSD-3-Clause
 * Answers that several subcommands of CLUSTER share.
 */
#ifndef EVENKEEL_CLUSTER_ANSWERS_H
#define EVENKEEL_CLUSTER_ANSWERS_H
#include <stdbool.h>

#include "base/attributes.h"
#include "topology/nodes.h"

struct call;

/* Replies the error "<before><argument>", with the argument up to its first NUL, as in 6.2. */
void cluster_reply_naming(const struct call *call, const char *before, int index);
/* The node whose id is argument `index`; NULL after the error "<unknown><argument>". */
MUST_USE struct cluster_node *cluster_argument_node(const struct call *call, int index,
                                                    const char *unknown);
/* Parses a slot; false after the error "Invalid or out of range slot". */
MUST_USE bool cluster_argument_slot(const struct call *call, int index, unsigned *slot);
/* Whether the call's client uses no TLS, and is shown ports without TLS. */
bool cluster_call_is_plain(const struct call *call);

/* Replies OK to a change, which the end of the turn has written to nodes.conf. */
void cluster_reply_changed(struct call *call);
/* Writes nodes.conf within this call, and replies the status `text`, or the disk's error. */
void cluster_reply_saved_now(struct call *call, const char *text);
/* Replies the status `text`, of which the first CLUSTER_STATUS_CHARS count, once all that has
 * changed until now is on disk: for what promises a new epoch, or lets keys leave. A client that
 * cannot wait (in EXEC, in a script) is answered after a write within this call, with an error
 * where the disk refuses. */
void cluster_reply_when_saved(struct call *call, const char *text);
#define CLUSTER_STATUS_CHARS 63
#endif
