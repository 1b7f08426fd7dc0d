/* SPDX-License-Identifier: BSD-3-Clause
 * Judging. judge.h has the idea.
 *
 *             no answer for down-after, or reports
 *             the role of a replica for down-after + 20 s
 *     up -----------------------------------------------> subjectively down
 *      ^                                                    |           ^
 *      '------------- neither is so any more ---------------'           |
 *                                  a quorum agrees (primaries only)     | it does not, or up again
 *                                                           v           |
 *                                                       objectively down
 *
 * Each tick asks anew. What others said holds for five seconds, so that a Sentinel that is cut off
 * agrees with nobody after that.
 *
 * Invariants
 *  1. A time that is exactly at its limit is within it: only a later one counts as too late.
 *  2. 0 is no time: what never happened is not old, it is missing.
 *  3. A replica is set right only on the word of a primary that is up, says that it is one, and was
 *     heard of lately; and never while a failover of this Sentinel moves replicas by itself.
 */
#include "sentinel/judge.h"

#include "base/string.h"

#define ROLE_PATIENCE_MSEC (2 * SENTINEL_INFO_PERIOD_MSEC)
#define SAID_HOLDS_MSEC (5 * SENTINEL_ASK_PERIOD_MSEC)
#define FAST_INFO_PERIOD_MSEC 1000
#define TILT_GAP_MSEC 2000
#define TILT_MSEC 30000
/* So long a newer configuration may take to come by a hello message, before a replica that reports
 * the role of a primary is believed to be wrong. */
#define CONVERT_PATIENCE_MSEC (4 * SENTINEL_HELLO_PERIOD_MSEC)
#define SANE_INFO_MSEC (2 * SENTINEL_INFO_PERIOD_MSEC)

/* ---- Down ---- */

static int64_t silence_of(const struct link_signs *signs, int64_t now) {
    if (signs->ping_waits_since) return now - signs->ping_waits_since;
    if (signs->connected) return 0;
    /* A link that never had a good answer is silent since it has not been connected. */
    return now - (signs->last_good_answer ? signs->last_good_answer : signs->disconnected_since);
}

bool sentinel_judge_s_down(const struct instance *i, int64_t now) {
    int64_t limit = i->primary->down_after_msec;
    if (silence_of(i->signs, now) > limit) return true;
    return i->kind == INSTANCE_PRIMARY && i->role == REPORTED_REPLICA &&
           now - i->role_since > limit + ROLE_PATIENCE_MSEC;
}

bool sentinel_judge_said_holds(const struct voter *v, int64_t now) {
    return v->said_at && now - v->said_at <= SAID_HOLDS_MSEC;
}

int sentinel_judge_agreeing(const struct primary *p, int64_t now) {
    int agreeing = (p->instance.flags & INSTANCE_S_DOWN) != 0;
    LIST_FOR_EACH (link, next, &p->voters) {
        const struct voter *v = voter_at(link);
        agreeing += (v->instance.flags & INSTANCE_SAYS_DOWN) && sentinel_judge_said_holds(v, now);
    }
    return agreeing;
}

/* ---- Tilt ---- */

enum sentinel_tilt_change sentinel_tilt_step(struct sentinel_tilt *tilt, int64_t now) {
    bool late = tilt->last_step && now - tilt->last_step > TILT_GAP_MSEC;
    tilt->last_step = now;
    if (late) {
        tilt->since = now;
        return SENTINEL_TILT_ENTERED;
    }
    if (!tilt->since || now - tilt->since < TILT_MSEC) return SENTINEL_TILT_SAME;
    tilt->since = 0;
    return SENTINEL_TILT_LEFT;
}

/* ---- Replicas ---- */

bool sentinel_judge_follows(const struct replica *r, const struct sentinel_address *address) {
    return r->follows_host &&
           sentinel_address_is(address, slice_of(r->follows_host), r->follows_port);
}

/* A replica that is not what the configuration says is set right by an answer that comes after some
 * patience, so answers ten seconds apart would let a demoted primary take writes for that much
 * longer. */
int64_t sentinel_judge_info_period(const struct instance *i) {
    const struct primary *p = i->primary;
    if (i->kind != INSTANCE_REPLICA) return SENTINEL_INFO_PERIOD_MSEC;
    const struct replica *r = replica_entry(i);
    bool hurries = p->instance.flags & (INSTANCE_O_DOWN | INSTANCE_IN_FAILOVER) ||
                   r->link_down_msec != 0 || i->role == REPORTED_PRIMARY ||
                   (r->follows_host && !sentinel_judge_follows(r, &p->instance.address));
    return hurries ? FAST_INFO_PERIOD_MSEC : SENTINEL_INFO_PERIOD_MSEC;
}

/* Whether the instance is up, and was so for longer than `msec`. */
static bool is_up_since(const struct instance *i, int64_t msec, int64_t now) {
    if (i->flags & (INSTANCE_S_DOWN | INSTANCE_O_DOWN)) return false;
    return !i->s_down_since || now - i->s_down_since > msec;
}

static bool is_sane_primary(const struct instance *i, int64_t now) {
    return i->role == REPORTED_PRIMARY && !(i->flags & (INSTANCE_S_DOWN | INSTANCE_O_DOWN)) &&
           i->last_info && now - i->last_info < SANE_INFO_MSEC;
}

enum sentinel_replica_move sentinel_judge_replica(const struct replica *r, bool tilt, int64_t now) {
    const struct instance *i = &r->instance;
    const struct primary *p = i->primary;
    if (tilt || p->state != FAILOVER_NONE || !i->last_info) return SENTINEL_REPLICA_RESTS;
    if (!is_sane_primary(&p->instance, now)) return SENTINEL_REPLICA_RESTS;
    if (i->role == REPORTED_PRIMARY)
        return now - i->role_since > CONVERT_PATIENCE_MSEC &&
                       is_up_since(i, CONVERT_PATIENCE_MSEC, now)
                   ? SENTINEL_REPLICA_CONVERT
                   : SENTINEL_REPLICA_RESTS;
    if (sentinel_judge_follows(r, &p->instance.address)) return SENTINEL_REPLICA_RESTS;
    return r->follows_host && now - r->follows_since > p->failover_timeout_msec &&
                   is_up_since(i, p->failover_timeout_msec, now)
               ? SENTINEL_REPLICA_FIX_CONFIG
               : SENTINEL_REPLICA_RESTS;
}
