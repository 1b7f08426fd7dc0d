/* SPDX-License-Identifier: BSD-3-Clause
 * The order of a sorted set: elements by score, equal scores by their bytes.
 *
 * A B+ tree that counts: the rank of an element, the element of a rank and either end of a range of
 * scores or of texts are O(log n). It holds pointers to elements. An element is one allocation with
 * its score and text; a hash table finds it by text, this structure by its place in the order. The
 * elements belong to the caller, which may change the score of an element that stands here only by
 * ordered_set_score.
 *
 * Scores are any double but NaN; -0 and 0 are equal.
 */
#ifndef EVENKEEL_DS_ORDERED_H
#define EVENKEEL_DS_ORDERED_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/string.h"

struct relocation;

struct ordered_element {
    double score;
    uint32_t length;
    char bytes[];
};

/* Class MEMORY_DATASET. Texts are at most 4 GiB - 1 long. */
struct ordered_element *ordered_element_create(double score, struct slice text);
/* NULL is allowed. */
void ordered_element_free(struct ordered_element *e);
/* Bytes of memory that the element takes. */
size_t ordered_element_bytes(const struct ordered_element *e);
static inline struct slice ordered_element_text(const struct ordered_element *e) {
    return (struct slice){e->bytes, e->length};
}

struct ordered;

struct ordered *ordered_create(void);
/* Frees the structure; calls `release` (may be NULL) for each element. NULL is allowed. To free a
 * large structure in steps, delete ranges of it first. */
void ordered_free(struct ordered *o, void (*release)(struct ordered_element *e, void *context),
                  void *context);
size_t ordered_count(const struct ordered *o);
/* Bytes of memory that the structure takes, without the elements. O(1). */
size_t ordered_bytes(const struct ordered *o);

/* Neither this element nor an equal one may be there. O(log n). */
void ordered_insert(struct ordered *o, struct ordered_element *e);
/* The element, by address, must be there. O(log n). */
void ordered_remove(struct ordered *o, const struct ordered_element *e);
/* Gives an element that is there another score, and moves it to its new place. O(log n); cheap
 * where its neighbours stay the same. */
void ordered_set_score(struct ordered *o, struct ordered_element *e, double score);
/* How many elements stand before this one, which must be there. O(log n). */
size_t ordered_rank(const struct ordered *o, const struct ordered_element *e);
/* Deletes up to `count` elements from `rank` on; calls `release` (may be NULL) for each, in order.
 * Returns how many. O(log n + count). */
size_t ordered_delete_range(struct ordered *o, size_t rank, size_t count,
                            void (*release)(struct ordered_element *e, void *context),
                            void *context);

/* A place between elements: before all elements that have this score or text, or after them.
 * `by_text` only where all scores are equal. */
struct ordered_bound {
    double score;
    struct slice text;
    bool by_text, after;
};
/* How many elements are before the bound: the rank of the first one behind it. O(log n). */
size_t ordered_count_before(const struct ordered *o, const struct ordered_bound *bound);

/* An element's place, valid until the next change. */
struct ordered_cursor {
    const struct ordered_leaf *leaf;
    unsigned slot;
};
/* Returns false if there is no such rank. O(log n). */
bool ordered_seek(const struct ordered *o, size_t rank, struct ordered_cursor *c);
struct ordered_element *ordered_get(const struct ordered_cursor *c);
/* Moves the cursor by one element. Returns false beyond the end; the cursor may then not be used.
 * O(1). */
bool ordered_next(struct ordered_cursor *c);
bool ordered_prev(struct ordered_cursor *c);

/* Moves blocks that are wanted elsewhere (base/relocation.h): the nodes on the way to the leaf that
 * has `rank`, and this leaf's elements. `move` moves an element and returns its new address.
 * Returns the rank behind the leaf; 0 at the end. O(log n + a leaf). */
MUST_USE size_t ordered_relocate_some(struct ordered *o, size_t rank, struct relocation *r,
                                      struct ordered_element *(*move)(struct ordered_element *e,
                                                                      struct relocation *r,
                                                                      void *context),
                                      void *context);
/* Asserts the invariants; walks everything. */
void ordered_check(const struct ordered *o);
#endif
