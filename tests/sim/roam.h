/* SPDX-License-Identifier: BSD-3-Clause
 * Clients of a cluster: they follow MOVED and ASK, try again after TRYAGAIN, and know what their
 * keys must hold.
 *
 * Each client has counters of its own in each hot slot, which nobody else writes. So a reply tells
 * at once whether an increment was lost, ran twice, or ran on another copy of the key. A request
 * whose connection breaks may have run, or may still run: the counter may be higher by one then,
 * until a reply shows that it is.
 *
 * Where replicas take the places of primaries, a counter may fall back when headers.h knows of a
 * promotion by which increments may be lost, but never behind what WAIT has acknowledged for the
 * node that answers (promise.h).
 */
#ifndef EVENKEEL_TESTS_SIM_ROAM_H
#define EVENKEEL_TESTS_SIM_ROAM_H
#include <stdbool.h>
#include <stdint.h>

#define ROAMERS_MAX 6

/* `clients` start, with up to `pause_nsec` between two requests. */
void roam_start(int clients, int64_t pause_nsec);
/* Now and then a client asks with WAIT whether the replicas have its increment. */
void roam_use_wait(void);
/* Something was sent over a client's link (an observer's, network.h). */
void roam_note_sent(int link, int64_t sent_nsec);
/* The slot is on its way, or has come to its end: promises bind no more. */
void roam_note_moved(int hot);
/* Nobody begins anything new. */
void roam_stop(void);
/* Everybody has what was asked for last. */
bool roam_rests(void);
/* A key that a node has at rest, with its value where it is a counter; counts it. */
void roam_see_key(int node, const char *key, const char *value);
/* Finds counters that roam_see_key was not told of. */
void roam_look_at_missing(void);
uint64_t roam_replies(void);
uint64_t roam_redirections(void);
#endif
