/* SPDX-License-Identifier: BSD-3-Clause
 * One scan: what SCAN, HSCAN, SSCAN and ZSCAN do alike. Cursor, options, and the loop over
 * positions of a table.
 */
#ifndef EVENKEEL_COMMAND_SCAN_H
#define EVENKEEL_COMMAND_SCAN_H
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/string.h"

struct call;
struct client;

/* The first member of what a command keeps while it scans. */
struct scan {
    uint64_t cursor; /* the next position; 0 at the end */
    int64_t count;   /* how many are to be looked at */
    uint64_t seen;   /* how many were: scan_fits counts */
    bool any;        /* no pattern, or "*", which also fits an empty text */
    struct slice pattern;
    const struct slice *type; /* TYPE's argument; NULL = any */
};

/* A cursor as 6.2 reads it: up to a NUL, decimal digits or nothing at all, with a sign. */
FOR_TESTS bool scan_parse_cursor(struct slice text, uint64_t *cursor);

/* No pattern, the usual count, and the cursor of argument `index`. False after an error. */
bool scan_begin(struct scan *s, const struct call *call, int index);
/* COUNT, MATCH and, `with_type`, TYPE from argument `first` on. False after an error. */
bool scan_options(struct scan *s, const struct call *call, int first, bool with_type);
void scan_set_pattern(struct scan *s, struct slice pattern);

/* True where the text fits the pattern. Counts it as seen. */
bool scan_fits(struct scan *s, struct slice text);
/* How many are still to be looked at, at least 1 within a step. */
static inline size_t scan_wanted(const struct scan *s) {
    return (uint64_t)s->count > s->seen ? (uint64_t)s->count - s->seen : 1;
}
/* Visits what stands at position s->cursor, or scan_wanted() of it, asks scan_fits of each, keeps
 * what fits, and returns the next cursor. */
typedef uint64_t scan_step(struct scan *s);
/* Steps until COUNT were seen or ten times as many positions, or to the end. */
void scan_run(struct scan *s, scan_step *step);
/* The head of the reply, to be followed by an array of what was found. */
void scan_reply_cursor(struct client *c, const struct scan *s);
#endif
