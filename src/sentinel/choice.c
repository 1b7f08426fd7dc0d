/* SPDX-License-Identifier: BSD-3-Clause
 * The choice of a replica. choice.h has the idea.
 *
 *   | a replica is passed over where                     | limit                               |
 *   | -------------------------------------------------- | ----------------------------------- |
 *   | it is subjectively down, or disconnected           |                                     |
 *   | its last good answer to PING is older than         | 5 s                                 |
 *   | its priority is 0                                  |                                     |
 *   | its last INFO is older than                        | 5 s; 30 s while the primary is up,  |
 *   |                                                    | because INFO is asked for less often |
 *   | it reports that its link is down for longer than   | 10 x down-after + how long the      |
 *   |                                                    | primary is down                     |
 *
 * Invariants
 *  1. A time that is exactly at its limit is within it.
 *  2. The order is total over replicas with different run ids, so that Sentinels that know the same
 *     choose the same. Without a run id a replica comes last.
 */
#include "sentinel/choice.h"

#include <stdbool.h>
#include <stddef.h>

#include "base/string.h"
#include "sentinel/judge.h"

#define ANSWER_MSEC_MAX (5 * SENTINEL_PING_PERIOD_MSEC)
#define INFO_MSEC_MAX (3 * SENTINEL_INFO_PERIOD_MSEC)
/* While the primary is down INFO is asked for each second. */
#define FAST_INFO_MSEC_MAX (5 * SENTINEL_PING_PERIOD_MSEC)
#define DOWN_AFTERS_MAX 10

static bool is_within(int64_t moment, int64_t limit_msec, int64_t now) {
    return moment && now - moment <= limit_msec;
}

static bool is_fit(const struct replica *r, int64_t now) {
    const struct instance *i = &r->instance;
    const struct primary *p = i->primary;
    bool primary_down = p->instance.flags & INSTANCE_S_DOWN;
    int64_t link_limit = p->down_after_msec * DOWN_AFTERS_MAX;
    if (primary_down) link_limit += now - p->instance.s_down_since;
    if (i->flags & INSTANCE_S_DOWN || !i->signs->connected || r->priority == 0) return false;
    return is_within(i->signs->last_good_answer, ANSWER_MSEC_MAX, now) &&
           is_within(i->last_info, primary_down ? FAST_INFO_MSEC_MAX : INFO_MSEC_MAX, now) &&
           r->link_down_msec <= link_limit;
}

static int run_id_compare(const char *a, const char *b) {
    if (!a[0] || !b[0]) return !a[0] - !b[0];
    for (; *a && string_lower(*a) == string_lower(*b); a++, b++) {
    }
    return string_lower(*a) - string_lower(*b);
}

/* Below 0 where `a` is to be preferred. */
static int replica_compare(const struct replica *a, const struct replica *b) {
    if (a->priority != b->priority) return a->priority < b->priority ? -1 : 1;
    if (a->offset != b->offset) return a->offset > b->offset ? -1 : 1;
    return run_id_compare(a->instance.run_id, b->instance.run_id);
}

struct replica *sentinel_choice_best(const struct primary *p, int64_t now) {
    struct replica *best = NULL;
    LIST_FOR_EACH (link, next, &p->replicas) {
        struct replica *r = replica_at(link);
        if (is_fit(r, now) && (!best || replica_compare(r, best) < 0)) best = r;
    }
    return best;
}
