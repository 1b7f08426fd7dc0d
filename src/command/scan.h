/* SPDX-License-Identifier: BSD-3-Clause
 * A scan, as SCAN, HSCAN, SSCAN and ZSCAN make it: cursor, options, and the loop over a table's
 * positions.
 */
#ifndef EVENKEEL_COMMAND_SCAN_H
#define EVENKEEL_COMMAND_SCAN_H
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/string.h"

struct call;
struct client;

/* The first member of the struct that a command keeps while it scans. */
struct scan {
    uint64_t cursor; /* the next position; 0 at the end */
    int64_t count;   /* COUNT: how many elements to look at */
    uint64_t seen;   /* how many were looked at; scan_fits counts */
    bool any;        /* every text fits: no pattern, or "*" */
    struct slice pattern;
    const struct slice *type; /* TYPE's argument; NULL = any */
};

/* Parses a cursor as 6.2 does: decimal digits, possibly none, with an optional sign, up to a
 * NUL. */
FOR_TESTS bool scan_parse_cursor(struct slice text, uint64_t *cursor);

/* Initializes a scan with the cursor of argument `index`, no pattern and the default COUNT. False
 * after an error reply. */
bool scan_begin(struct scan *s, const struct call *call, int index);
/* Parses COUNT, MATCH and, with `with_type`, TYPE from argument `first` on. False after an error
 * reply. */
bool scan_options(struct scan *s, const struct call *call, int first, bool with_type);
void scan_set_pattern(struct scan *s, struct slice pattern);

/* Whether the text fits the pattern. Counts the element as seen. */
bool scan_fits(struct scan *s, struct slice text);
/* How many elements are still to be looked at; at least 1 within a step. */
static inline size_t scan_wanted(const struct scan *s) {
    return (uint64_t)s->count > s->seen ? (uint64_t)s->count - s->seen : 1;
}
/* Visits the elements at position s->cursor, or scan_wanted() of them, asks scan_fits of each,
 * keeps those that fit, and returns the next cursor. */
typedef uint64_t scan_step(struct scan *s);
/* Steps until COUNT elements were seen, or ten times COUNT positions, or the end is reached. */
void scan_run(struct scan *s, scan_step *step);
/* Replies the next cursor; the caller replies an array of the found elements next. */
void scan_reply_cursor(struct client *c, const struct scan *s);
#endif
