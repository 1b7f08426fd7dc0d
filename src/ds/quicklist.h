/* SPDX-License-Identifier: BSD-3-Clause
 * A long list: short listpacks in a row, those in the middle compressed on request.
 *
 * `fill` bounds a listpack: -1 to -5 are 4, 8, 16, 32 and 64 KiB, a positive number is so many
 * elements (and at most 8 KiB), 0 is 1. An element that is longer than a listpack may be has a node
 * of its own. `depth`: so many nodes at either end are never compressed; 0 = no node ever is.
 *
 * The creator owns the list; class MEMORY_DATASET. Texts that are added must not lie in the list
 * itself. Pushing and dropping at either end is O(bytes of one node) at worst; finding an index is
 * O(nodes + elements of one node).
 */
#ifndef EVENKEEL_DS_QUICKLIST_H
#define EVENKEEL_DS_QUICKLIST_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/string.h"
#include "ds/listpack.h"

#define QUICKLIST_FILL_MIN (-5)
#define QUICKLIST_FILL_MAX 32767
#define QUICKLIST_DEPTH_MAX 65535
/* A list may hold a longer text, but it cannot be saved: a node is saved as a ziplist, whose sizes
 * have 32 bits and which takes some bytes of its own. */
#define QUICKLIST_TEXT_BYTES_MAX ((size_t)UINT32_MAX - 32)

struct quicklist;
struct relocation;
struct quicklist_node;

enum quicklist_end { QUICKLIST_HEAD, QUICKLIST_TAIL };

/* A `fill` outside of QUICKLIST_FILL_MIN to QUICKLIST_FILL_MAX counts as the nearer limit. */
struct quicklist *quicklist_create(int fill, unsigned depth);
/* NULL is allowed. */
void quicklist_free(struct quicklist *q);
/* Frees up to `nodes_max` nodes from the head; true when the list is gone. After the first call
 * only this function may be called. */
bool quicklist_free_step(struct quicklist *q, size_t nodes_max);
struct quicklist *quicklist_dup(const struct quicklist *q);

size_t quicklist_count(const struct quicklist *q); /* elements */
size_t quicklist_nodes(const struct quicklist *q);
/* Bytes of memory that the list takes. O(1). */
size_t quicklist_bytes(const struct quicklist *q);
int quicklist_fill(const struct quicklist *q);
unsigned quicklist_depth(const struct quicklist *q);

void quicklist_push(struct quicklist *q, enum quicklist_end end, struct slice text);
/* The element at an end; false if the list is empty. The text lives until the next change. */
bool quicklist_peek(const struct quicklist *q, enum quicklist_end end, struct listpack_value *v);
/* Deletes the element at an end of a list that is not empty. */
void quicklist_drop(struct quicklist *q, enum quicklist_end end);
/* Adds the elements of `lp`, a node loaded from a file, as a node at the tail. Takes `lp`, which
 * must not be empty. */
void quicklist_take_pack(struct quicklist *q, struct listpack *lp);
/* Deletes up to `count` elements from `index` (0 <= index) on; returns how many. Nodes that lie
 * wholly within are freed without a look at their contents. */
size_t quicklist_delete_range(struct quicklist *q, size_t index, size_t count);

/* A place in the list and a direction. While a cursor exists, the list may be changed through that
 * cursor only. Each cursor that was begun must be ended. */
struct quicklist_cursor {
    struct quicklist *list;
    struct quicklist_node *node; /* NULL beyond either end */
    struct listpack *opened;     /* a compressed node's contents while they are only read */
    struct blob *opened_plain;
    uint32_t at; /* in the node's listpack */
    bool backwards, changed;
};

/* Begins a cursor at the element `index`, counted from the end where negative (-1 = last). False
 * where there is no such element; the cursor is ended then. */
bool quicklist_seek(struct quicklist *q, int64_t index, bool backwards, struct quicklist_cursor *c);
/* Moves the cursor on by one element. Returns false beyond the end. */
bool quicklist_step(struct quicklist_cursor *c);
void quicklist_end(struct quicklist_cursor *c);
/* The element; its text lives until the cursor moves or the list changes. */
struct listpack_value quicklist_get(const struct quicklist_cursor *c);
bool quicklist_equal(const struct quicklist_cursor *c, struct slice text);
/* Deletes the element and moves one step on; false if that is beyond the end. */
bool quicklist_delete(struct quicklist_cursor *c);
/* These three change the list at the cursor and end the cursor. */
void quicklist_insert_before(struct quicklist_cursor *c, struct slice text);
void quicklist_insert_after(struct quicklist_cursor *c, struct slice text);
void quicklist_replace(struct quicklist_cursor *c, struct slice text);

/* For saving: the nodes in order, NULL beyond the last. The list must not change while a node is in
 * use. */
const struct quicklist_node *quicklist_node_first(const struct quicklist *q);
const struct quicklist_node *quicklist_node_next(const struct quicklist_node *n);
size_t quicklist_node_count(const struct quicklist_node *n); /* elements */
/* Visits the node's elements in order. */
void quicklist_node_each(const struct quicklist_node *n,
                         void (*visit)(const struct listpack_value *v, void *context),
                         void *context);
/* The node's elements as a listpack, which the list owns; NULL if the node is compressed or a
 * long element. */
const struct listpack *quicklist_node_pack(const struct quicklist_node *n);
/* Appends the node's elements as a ziplist; false if its one text is longer than
 * QUICKLIST_TEXT_BYTES_MAX. */
MUST_USE bool quicklist_node_to_ziplist(const struct quicklist_node *n, struct buffer *out);

/* Moves blocks that are wanted elsewhere (base/relocation.h), from the head on where `begins`, else
 * from where the last call stopped, until `r`'s budget is spent; true at the end. May move `*q`.
 * The list may change between two calls. Only the list of the last call can be continued; the walk
 * begins anew in any other. */
MUST_USE bool quicklist_relocate_some(struct quicklist **q, bool begins, struct relocation *r);

/* For DEBUG OBJECT. O(nodes). */
struct quicklist_stats {
    size_t compressed_nodes;
    size_t raw_bytes;    /* of all nodes' contents, decompressed */
    size_t widest_bytes; /* of the largest node with several elements, likewise */
};
void quicklist_stats(const struct quicklist *q, struct quicklist_stats *stats);
/* Asserts the invariants; walks everything. */
FOR_TESTS void quicklist_check(const struct quicklist *q);
#endif
