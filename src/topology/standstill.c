/* SPDX-License-Identifier: BSD-3-Clause
 * The gap rule. standstill.h has the idea.
 *
 * Invariant: a node's `has_confirmed` is only set while there are doubts, by an answer to a ping
 * that was sent since they began.
 */
#include "topology/standstill.h"

#include <stddef.h>

#include "base/log.h"
#include "topology/nodes.h"

/* A shorter gap is no sign, whatever the node timeout is: a command may take that long. */
#define GAP_MSEC_MIN 500
/* So long the message that tells of a new owner may take behind a majority's answers. It has been
 * on its way for longer: the owner tells all nodes before any voter answers with its epoch. */
#define SETTLE_MSEC 500

static int64_t gap_msec(const struct cluster_standstill *s, int64_t now_msec, int64_t wall_msec) {
    if (!s->has_turned) return 0;
    int64_t gap = now_msec - s->turn_msec, wall_gap = wall_msec - s->turn_wall_msec;
    return gap > wall_gap ? gap : wall_gap;
}

static bool is_confirmed(const struct cluster *c) {
    size_t voices = 0;
    for (size_t i = 0; i < c->count; i++)
        voices += cluster_node_votes(c->nodes[i]) &&
                  (c->nodes[i] == c->self || c->nodes[i]->has_confirmed);
    return voices >= cluster_size(c) / 2 + 1;
}

bool cluster_standstill_turn(struct cluster_standstill *s, struct cluster *c, int64_t now_msec,
                             int64_t wall_msec, int64_t timeout_msec) {
    int64_t gap = gap_msec(s, now_msec, wall_msec);
    s->has_turned = true;
    s->turn_msec = now_msec;
    s->turn_wall_msec = wall_msec;
    if (gap <= timeout_msec || gap <= GAP_MSEC_MIN || !cluster_node_votes(c->self)) return false;
    for (size_t i = 0; i < c->count; i++) c->nodes[i]->has_confirmed = false;
    s->doubts = !is_confirmed(c);
    s->epoch = c->current_epoch;
    s->confirmed_msec = 0;
    if (s->doubts)
        log_warning(
            "This node made no turn for %lld milliseconds: writes are held until a "
            "majority of the primaries has answered.",
            (long long)gap);
    return s->doubts;
}

void cluster_standstill_hear(const struct cluster_standstill *s, struct cluster_node *node) {
    if (s->doubts) node->has_confirmed = true;
}

static bool is_settled(struct cluster_standstill *s, const struct cluster *c, int64_t now_msec) {
    if (!is_confirmed(c)) return false;
    if (!s->confirmed_msec) s->confirmed_msec = now_msec;
    return c->current_epoch == s->epoch || now_msec - s->confirmed_msec >= SETTLE_MSEC;
}

void cluster_standstill_judge(struct cluster_standstill *s, const struct cluster *c,
                              int64_t now_msec) {
    bool votes = cluster_node_votes(c->self);
    if (!s->doubts || (votes && !is_settled(s, c, now_msec))) return;
    s->doubts = false;
    log_notice("Writes are not held any more: %s.",
               votes ? "a majority of the primaries has answered" : "this node has no slots");
}
