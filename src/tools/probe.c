/* SPDX-License-Identifier: BSD-3-Clause
 * The probe: a ring of sending times, and the latencies of the answers.
 *
 * Invariants
 *  1. Replies arrive in the order of the requests, so the oldest sending time belongs to the next
 *     reply.
 *  2. sent - answered_here <= PROBE_UNANSWERED_MAX.
 *  3. Answers beyond PROBE_ANSWERS_MAX in one sample count only for the maximum.
 */
#include "tools/probe.h"

#include "base/memory.h"
#include "base/panic.h"
#include "tools/figures.h"

struct probe {
    int64_t sent_nsec[PROBE_UNANSWERED_MAX]; /* a ring */
    uint64_t sent, answered_here;            /* on this connection */
    uint64_t uncounted;               /* the answers to so many first probes are not counted */
    uint32_t usec[PROBE_ANSWERS_MAX]; /* latencies of the answers since the last sample */
    size_t count;
    uint32_t longest_usec;
};

struct probe *probe_create(void) {
    return memory_zalloc(sizeof(struct probe), MEMORY_OTHER);
}

void probe_free(struct probe *p) { memory_free(p, MEMORY_OTHER); }
void probe_restart(struct probe *p) { p->sent = p->answered_here = p->uncounted = 0; }

bool probe_may_send(const struct probe *p) {
    return p->sent - p->answered_here < PROBE_UNANSWERED_MAX;
}

void probe_sends(struct probe *p, int64_t now_nsec) {
    ASSERT(probe_may_send(p));
    p->sent_nsec[p->sent++ % PROBE_UNANSWERED_MAX] = now_nsec;
}

void probe_resume(struct probe *p, int64_t now_nsec) {
    p->uncounted = p->sent;
    for (uint64_t i = p->answered_here; i < p->sent; i++) {
        p->sent_nsec[i % PROBE_UNANSWERED_MAX] = now_nsec;
    }
}

void probe_answered(struct probe *p, int64_t now_nsec) {
    ASSERT(p->answered_here < p->sent);
    int64_t took = now_nsec - p->sent_nsec[p->answered_here++ % PROBE_UNANSWERED_MAX];
    if (p->answered_here <= p->uncounted) return;
    uint32_t usec = took < 0 ? 0 : took / 1000 > UINT32_MAX ? UINT32_MAX : took / 1000;
    if (usec > p->longest_usec) p->longest_usec = usec;
    if (p->count < PROBE_ANSWERS_MAX) p->usec[p->count++] = usec;
}

int64_t probe_waiting_nsec(const struct probe *p, int64_t now_nsec) {
    if (p->answered_here == p->sent) return 0;
    return now_nsec - p->sent_nsec[p->answered_here % PROBE_UNANSWERED_MAX];
}

uint64_t probe_sent(const struct probe *p) { return p->sent; }

static int compare_latencies(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* Returns the latency that `percent` percent of the sorted answers do not exceed. */
static uint32_t latency_quantile(const struct probe *p, size_t percent) {
    size_t rank = (p->count * percent + 99) / 100;
    return p->usec[rank ? rank - 1 : 0];
}

void probe_collect(struct probe *p, struct figures_measured *measured) {
    measured->probes = p->count;
    if (p->count) {
        qsort(p->usec, p->count, sizeof(p->usec[0]), compare_latencies);
        measured->probe_p50_usec = latency_quantile(p, 50);
        measured->probe_p99_usec = latency_quantile(p, 99);
        measured->probe_max_usec = p->longest_usec;
    }
    p->count = 0;
    p->longest_usec = 0;
}
