/* SPDX-License-Identifier: BSD-3-Clause
 * A probe of a server's answering time: a PING on schedule, without waiting for the one before.
 *
 * Because the schedule goes on while the server stands still, a stall counts for as long as it
 * lasts, not once.
 */
#ifndef EVENKEEL_LAB_WATCH_PROBE_H
#define EVENKEEL_LAB_WATCH_PROBE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct figures_measured;

/* Unanswered probes at most; the schedule waits then (20 s at 5 ms). */
#define PROBE_UNANSWERED_MAX 4096
/* Answers between two samples at most: a minute at 1 ms, and all that was unanswered before. */
#define PROBE_ANSWERS_MAX 65536

struct probe;
struct probe *probe_create(void);
void probe_free(struct probe *p);
/* The connection is another one: what was unanswered never will be. */
void probe_restart(struct probe *p);
/* Fewer than PROBE_UNANSWERED_MAX are unanswered. */
bool probe_may_send(const struct probe *p);
/* One is sent, at `now_nsec` (monotonic). */
void probe_sends(struct probe *p, int64_t now_nsec);
/* This process was stopped until `now_nsec`: probes that are unanswered are not counted, and wait
 * from now on. */
void probe_resume(struct probe *p, int64_t now_nsec);
/* The oldest one that is unanswered was answered, at `now_nsec`. */
void probe_answered(struct probe *p, int64_t now_nsec);
/* How long the oldest unanswered one waits, in ns; 0 where none does. */
int64_t probe_waiting_nsec(const struct probe *p, int64_t now_nsec);
/* Probes sent on this connection. */
uint64_t probe_sent(const struct probe *p);
/* Fills in the probe's part, and begins anew. O(n log n) in the answers. */
void probe_collect(struct probe *p, struct figures_measured *measured);
#endif
