/* SPDX-License-Identifier: BSD-3-Clause
 * Sorted sets: members by score, equal scores by their bytes; a listpack while small (OBJECT
 * ENCODING ziplist), then a table and a tree over the same elements (skiplist, as 6.2 names it).
 *
 * A table and tree never become a listpack again. Texts that are returned are valid until the
 * sorted set changes. Scores are any double but NaN. A rank counts from the lowest score, from 0.
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

/* An empty sorted set, which the caller fills: a key's sorted set is never empty. */
struct value zset_create(void);
FOR_TESTS void zset_free(struct value v);
size_t zset_count(struct value v);
/* Returns false if the member is not there. O(1), in a listpack O(members). */
MUST_USE bool zset_score(struct value v, struct slice member, double *score);
/* Sets the member's score; true if the member is new. The text must not lie in the sorted set
 * itself. O(log members). */
bool zset_set(struct value *v, struct slice member, double score);
/* Returns false if the member is not there. O(log members). */
bool zset_remove(struct value *v, struct slice member);
/* The member's rank; false if the member is not there. O(log members). */
MUST_USE bool zset_rank(struct value v, struct slice member, size_t *rank);

/* A range of scores; empty where min > max, or where they are equal and one of them is excluded. */
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
/* The ranks of the members in a range; count 0 where there is none. O(log members). */
struct zset_span zset_span_of_scores(struct value v, const struct zset_scores *range);
struct zset_span zset_span_of_texts(struct value v, const struct zset_texts *range);
/* Removes the members of these ranks; the span must lie within the set. O(log members + count). */
void zset_remove_span(struct value *v, struct zset_span span);

struct zset_item {
    struct listpack_value member; /* see listpack_value_text */
    double score;
};
/* A member's place, valid until the sorted set changes. */
struct zset_cursor {
    struct ordered_cursor place;
    const struct listpack *lp; /* NULL: `place` is used, else `at` */
    uint32_t at;
};
/* Returns false if there is no such rank. O(log members). */
bool zset_seek(struct value v, size_t rank, struct zset_cursor *c);
struct zset_item zset_get(const struct zset_cursor *c);
/* Moves the cursor up or down by one member. Returns false beyond the end; the cursor may then not
 * be used. O(1). */
bool zset_next(struct zset_cursor *c);
bool zset_prev(struct zset_cursor *c);

/* Visits every member, from the lowest score on; the sorted set may not change meanwhile. */
typedef void zset_visit(struct slice member, double score, void *context);
void zset_each(struct value v, zset_visit *visit, void *context);
/* ZSCAN: visits about `wanted` members of one bucket of the table (of a listpack all members, at
 * cursor 0). Returns the next cursor, 0 at the end; see table_scan_some. */
uint64_t zset_scan(struct value v, uint64_t cursor, size_t wanted, zset_visit *visit,
                   void *context);
/* A random member, each equally likely. The sorted set must not be empty. O(log members). */
struct zset_item zset_random(struct value v);

/* Prepares for so many further members, the longest of `longest` bytes: converts the sorted set to
 * the form that they need, and grows the table by a bounded number of buckets. */
void zset_expect(struct value *v, size_t members, size_t longest);
/* Asserts the invariants; walks everything. */
FOR_TESTS void zset_check(struct value v);
#endif
