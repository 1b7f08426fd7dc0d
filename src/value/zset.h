/* SPDX-License-Identifier: BSD-3-Clause
 * Sorted sets: members by score, equal scores by their bytes; a listpack while small (OBJECT
 * ENCODING ziplist), then a table and a tree over the same elements (skiplist, as 6.2 names it).
 *
 * A sorted set is never made smaller again. Texts that are handed out live until it changes. Scores
 * are any double but NaN. A rank counts from the lowest score, from 0.
 */
#ifndef EVENKEEL_VALUE_ZSET_H
#define EVENKEEL_VALUE_ZSET_H
#include "base/attributes.h"
#include "ds/ordered.h"
#include "value/value.h"

enum zset_encoding { ZSET_LISTPACK, ZSET_ORDERED };

struct table;

/* The type's row and options. */
void value_zset_register(void);

/* Empty, to be filled: no sorted set of a key is. */
struct value zset_create(void);
FOR_TESTS void zset_free(struct value v);
size_t zset_count(struct value v);
/* False where the member is not there. O(1), in a listpack O(members). */
MUST_USE bool zset_score(struct value v, struct slice member, double *score);
/* True where the member is new; otherwise it has this score now. The text may not stand in the
 * sorted set itself. O(log members). */
bool zset_set(struct value *v, struct slice member, double score);
/* False where it is not there. O(log members). */
bool zset_remove(struct value *v, struct slice member);
/* False where it is not there. O(log members). */
MUST_USE bool zset_rank(struct value v, struct slice member, size_t *rank);

/* A range of scores: nothing is in it where min > max, or where they are equal and one of them is
 * excluded. */
struct zset_scores {
    double min, max;
    bool min_excluded, max_excluded;
};
enum zset_text_end { ZSET_TEXT_LOWEST, ZSET_TEXT_INCLUDED, ZSET_TEXT_EXCLUDED, ZSET_TEXT_HIGHEST };
/* A range of texts, for sorted sets whose scores are all equal; `-` and `+` are the lowest and the
 * highest. */
struct zset_texts {
    struct slice min, max;
    enum zset_text_end min_end, max_end;
};
/* Ranks first <= rank < first + count. */
struct zset_span {
    size_t first, count;
};
/* The members in a range; count 0 where there is none. O(log members). */
struct zset_span zset_span_of_scores(struct value v, const struct zset_scores *range);
struct zset_span zset_span_of_texts(struct value v, const struct zset_texts *range);
/* Removes the members of these ranks; the span must lie within the set. O(log members + count). */
void zset_remove_span(struct value *v, struct zset_span span);

struct zset_item {
    struct listpack_value member; /* see listpack_value_text */
    double score;
};
/* A place, good until the sorted set changes. */
struct zset_cursor {
    struct ordered_cursor place;
    const struct listpack *lp; /* NULL: `place` counts */
    uint32_t at;
};
/* False where there is no such rank. O(log members). */
bool zset_seek(struct value v, size_t rank, struct zset_cursor *c);
struct zset_item zset_get(const struct zset_cursor *c);
/* One step up or down; false beyond the end, and the cursor may not be used then. O(1). */
bool zset_next(struct zset_cursor *c);
bool zset_prev(struct zset_cursor *c);

/* Visits every member, from the lowest score on; the sorted set may not change meanwhile. */
typedef void zset_visit(struct slice member, double score, void *context);
void zset_each(struct value v, zset_visit *visit, void *context);
/* ZSCAN: visits about `wanted` members, and at most those of one table position (all of a
 * listpack's at cursor 0), and returns the next cursor, 0 at the end; see table_scan_some. */
uint64_t zset_scan(struct value v, uint64_t cursor, size_t wanted, zset_visit *visit,
                   void *context);
/* A member of a sorted set that is not empty, each as likely. O(log members). */
struct zset_item zset_random(struct value v);

/* So many members are to come, the longest of so many bytes: takes the form that they need at once,
 * and grows the table ahead by a bounded number of buckets. */
void zset_expect(struct value *v, size_t members, size_t longest);
/* Asserts the invariants; walks everything. */
FOR_TESTS void zset_check(struct value v);
#endif
