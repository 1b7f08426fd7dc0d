/* SPDX-License-Identifier: BSD-3-Clause
 * A probe of a server's latency: PINGs on a schedule, each sent without waiting for the reply to
 * the one before.
 *
 * The schedule continues while the server stalls, so that a stall is counted by every probe that it
 * delays and not only by one.
 */
#ifndef EVENKEEL_TOOLS_PROBE_H
#define EVENKEEL_TOOLS_PROBE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct figures_measured;

/* The most unanswered probes; with so many the schedule waits (20 s at 5 ms). */
#define PROBE_UNANSWERED_MAX 4096
/* The most answers between two samples: those of a minute with a probe each 1 ms, and those to all
 * probes that were unanswered before. */
#define PROBE_ANSWERS_MAX 65536

struct probe;
struct probe *probe_create(void);
void probe_free(struct probe *p);
/* Forgets the unanswered probes, because the connection is a new one. */
void probe_restart(struct probe *p);
/* Whether fewer than PROBE_UNANSWERED_MAX probes are unanswered. */
bool probe_may_send(const struct probe *p);
/* Notes that a probe is sent at `now_nsec` (monotonic). */
void probe_sends(struct probe *p, int64_t now_nsec);
/* Notes that this process was stopped until `now_nsec`: the probes that are unanswered now are not
 * counted, and their waiting time starts again. */
void probe_resume(struct probe *p, int64_t now_nsec);
/* Notes that the oldest unanswered probe was answered at `now_nsec`. */
void probe_answered(struct probe *p, int64_t now_nsec);
/* The time in ns for which the oldest unanswered probe has waited; 0 if none is unanswered. */
int64_t probe_waiting_nsec(const struct probe *p, int64_t now_nsec);
/* The number of probes sent on this connection. */
uint64_t probe_sent(const struct probe *p);
/* Fills in the probe's fields of `measured` and starts a new sample. O(n log n) in the answers. */
void probe_collect(struct probe *p, struct figures_measured *measured);
#endif
