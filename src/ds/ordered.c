/* SPDX-License-Identifier: BSD-3-Clause
 * A B+ tree with counts over elements that are allocated elsewhere.
 *
 * Leaves are arrays of pointers and know their neighbours, so a range is read without the tree. A
 * branch leads to a node below and keeps three facts about it: how many elements are below it, the
 * first of them, and that element's score. So a descent compares scores that stand side by side in
 * the nodes, and reads an element only where scores are equal; in the leaf it reads six.
 *
 * A leaf is 512 bytes, an inner node 1 KiB. A full node is cut in half. But a full leaf at either
 * end of the tree stays full and a new one is begun, so that elements that come in order (a load
 * from a file, growing time stamps) fill their leaves. A node below a third is merged with a
 * neighbour, or their entries are shared out equally.
 *
 * Every deletion is that of a range of ranks; nodes that lie wholly within it are freed without a
 * search.
 *
 * Invariants (ordered_check):
 *  1. Elements ascend strictly, through the leaves' links either way and in the tree.
 *  2. A branch's size, first element and its score are true.
 *  3. No node is empty; all leaves are equally deep; an inner root has two branches at least.
 *  4. `bytes` is the sum of the nodes' good sizes.
 */
#include "ds/ordered.h"

#include <math.h>

#include "base/memory.h"
#include "base/panic.h"
#include "base/relocation.h"

#define LEAF_BYTES 512
#define INNER_BYTES 1024
#define NODE_ALIGNMENT 64
#define LEAF_SLOTS ((LEAF_BYTES - 24) / sizeof(struct ordered_element *))
#define INNER_BRANCHES ((INNER_BYTES - 32) / sizeof(struct branch))
/* A node with fewer entries than a third is merged with a neighbour or filled from it. */
#define LEAF_SLOTS_MIN (LEAF_SLOTS / 3)
#define INNER_BRANCHES_MIN (INNER_BRANCHES / 3)

struct ordered_leaf {
    struct ordered_leaf *prev, *next;
    uint32_t count;
    struct ordered_element *slots[LEAF_SLOTS];
};

struct inner;

/* The link to a node, with the facts that its parent keeps about it. */
struct branch {
    union {
        struct ordered_leaf *leaf;
        struct inner *inner;
    };
    size_t size; /* elements below */
    double score;
    const struct ordered_element *first;
};

struct inner {
    uint32_t count;
    struct branch branches[(INNER_BYTES - 32) / sizeof(struct branch)];
};
_Static_assert(sizeof(struct ordered_leaf) == LEAF_BYTES, "a leaf is eight cache lines");
_Static_assert(sizeof(struct inner) <= INNER_BYTES, "an inner node fits its block");

struct ordered {
    struct branch root; /* size 0: no node */
    unsigned height;    /* of the root; a leaf's is 0 */
    size_t bytes;
};

/* ---- Elements ---- */

static size_t element_allocation(size_t length) {
    return offsetof(struct ordered_element, bytes) + length;
}

struct ordered_element *ordered_element_create(double score, struct slice text) {
    ASSERT(text.length <= UINT32_MAX && !isnan(score));
    struct ordered_element *e = memory_alloc(element_allocation(text.length), MEMORY_DATASET);
    e->score = score;
    e->length = (uint32_t)text.length;
    if (text.length) memcpy(e->bytes, text.bytes, text.length);
    return e;
}

void ordered_element_free(struct ordered_element *e) {
    if (e) memory_free_sized(e, element_allocation(e->length), MEMORY_DATASET);
}

size_t ordered_element_bytes(const struct ordered_element *e) {
    return memory_good_size(element_allocation(e->length));
}

static int compare_elements(const struct ordered_element *a, double a_score,
                            const struct ordered_element *b) {
    if (a_score != b->score) return a_score < b->score ? -1 : 1;
    return slice_compare(ordered_element_text(a), ordered_element_text(b));
}

/* ---- Where things stand ---- */

/* What a search looks for: the place of an element with this score, or of a bound. */
struct target {
    const struct ordered_element *element;
    double score;
    const struct ordered_bound *bound;
};

/* Whether an element stands before the target. `score` is the element's, as the branch has it. */
static inline bool is_before(const struct ordered_element *e, double score,
                             const struct target *t) {
    if (!t->bound) {
        if (score != t->score) return score < t->score;
        return slice_compare(ordered_element_text(e), ordered_element_text(t->element)) < 0;
    }
    if (!t->bound->by_text) return score < t->score || (t->bound->after && score == t->score);
    int order = slice_compare(ordered_element_text(e), t->bound->text);
    return order < 0 || (t->bound->after && order == 0);
}

/* The last branch that begins before the target, else the first branch: the target's place is below
 * it or right behind it. */
static unsigned branch_for(const struct inner *n, const struct target *t) {
    unsigned low = 1, high = n->count;
    while (low < high) {
        unsigned middle = (low + high) / 2;
        const struct branch *b = &n->branches[middle];
        if (is_before(b->first, b->score, t))
            low = middle + 1;
        else
            high = middle;
    }
    return low - 1;
}

/* How many of a leaf's elements stand before the target. */
static unsigned slot_for(const struct ordered_leaf *leaf, const struct target *t) {
    unsigned low = 0, high = leaf->count;
    while (low < high) {
        unsigned middle = (low + high) / 2;
        const struct ordered_element *e = leaf->slots[middle];
        if (is_before(e, e->score, t))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The number of elements before the target. `place` (may be NULL) becomes the target's place,
 * perhaps behind a leaf's last element. */
static size_t find_rank(const struct ordered *o, const struct target *t,
                        struct ordered_cursor *place) {
    if (o->root.size == 0) return 0;
    struct branch b = o->root;
    size_t rank = 0;
    for (unsigned height = o->height; height > 0; height--) {
        const struct inner *n = b.inner;
        unsigned at = branch_for(n, t);
        for (unsigned i = 0; i < at; i++) rank += n->branches[i].size;
        b = n->branches[at];
    }
    unsigned slot = slot_for(b.leaf, t);
    if (place) *place = (struct ordered_cursor){b.leaf, slot};
    return rank + slot;
}

size_t ordered_count_before(const struct ordered *o, const struct ordered_bound *bound) {
    return find_rank(o, &(struct target){.score = bound->score, .bound = bound}, NULL);
}

size_t ordered_rank(const struct ordered *o, const struct ordered_element *e) {
    struct ordered_cursor place;
    size_t rank = find_rank(o, &(struct target){.element = e, .score = e->score}, &place);
    ASSERT(rank < o->root.size);
    /* A place at the end of a leaf stands for the first element of the next leaf. */
    ASSERT_SLOW((place.slot < place.leaf->count ? place.leaf->slots[place.slot]
                                                : place.leaf->next->slots[0]) == e);
    return rank;
}

bool ordered_seek(const struct ordered *o, size_t rank, struct ordered_cursor *c) {
    if (rank >= o->root.size) return false;
    struct branch b = o->root;
    for (unsigned height = o->height; height > 0; height--) {
        const struct branch *below = b.inner->branches;
        for (; rank >= below->size; below++) rank -= below->size;
        b = *below;
    }
    *c = (struct ordered_cursor){b.leaf, (unsigned)rank};
    return true;
}

struct ordered_element *ordered_get(const struct ordered_cursor *c) {
    return c->leaf->slots[c->slot];
}

/* A walk prefetches the element so many slots ahead. */
#define PREFETCH_SLOTS 4

bool ordered_next(struct ordered_cursor *c) {
    if (c->slot + PREFETCH_SLOTS < c->leaf->count)
        __builtin_prefetch(c->leaf->slots[c->slot + PREFETCH_SLOTS]);
    if (++c->slot < c->leaf->count) return true;
    c->leaf = c->leaf->next;
    c->slot = 0;
    return c->leaf != NULL;
}

bool ordered_prev(struct ordered_cursor *c) {
    if (c->slot >= PREFETCH_SLOTS) __builtin_prefetch(c->leaf->slots[c->slot - PREFETCH_SLOTS]);
    if (c->slot > 0) {
        c->slot--;
        return true;
    }
    c->leaf = c->leaf->prev;
    if (c->leaf) c->slot = c->leaf->count - 1;
    return c->leaf != NULL;
}

/* ---- Nodes ---- */

static void *ordered_node_alloc(struct ordered *o, size_t size) {
    o->bytes += memory_good_size(size);
    return memory_alloc_aligned(NODE_ALIGNMENT, size, MEMORY_DATASET);
}

static void ordered_node_free(struct ordered *o, void *node, size_t size) {
    o->bytes -= memory_good_size(size);
    memory_free_aligned(node, NODE_ALIGNMENT, size, MEMORY_DATASET);
}

/* An empty leaf behind `prev` and before `next`, either of which may be NULL. */
static struct ordered_leaf *ordered_leaf_create(struct ordered *o, struct ordered_leaf *prev,
                                                struct ordered_leaf *next) {
    struct ordered_leaf *leaf = ordered_node_alloc(o, LEAF_BYTES);
    leaf->count = 0;
    leaf->prev = prev;
    leaf->next = next;
    if (prev) prev->next = leaf;
    if (next) next->prev = leaf;
    return leaf;
}

static void leaf_free(struct ordered *o, struct ordered_leaf *leaf) {
    if (leaf->prev) leaf->prev->next = leaf->next;
    if (leaf->next) leaf->next->prev = leaf->prev;
    ordered_node_free(o, leaf, LEAF_BYTES);
}

static struct inner *inner_create(struct ordered *o) {
    struct inner *n = ordered_node_alloc(o, INNER_BYTES);
    n->count = 0;
    return n;
}

static void branch_set_first(struct branch *b, const struct ordered_element *first) {
    b->first = first;
    b->score = first->score;
}

static void leaf_describe(struct branch *b) {
    b->size = b->leaf->count;
    branch_set_first(b, b->leaf->slots[0]);
}

static void inner_describe(struct branch *b) {
    const struct inner *n = b->inner;
    b->size = 0;
    for (unsigned i = 0; i < n->count; i++) b->size += n->branches[i].size;
    b->first = n->branches[0].first;
    b->score = n->branches[0].score;
}

static void slots_move(struct ordered_leaf *to, unsigned at, const struct ordered_leaf *from,
                       unsigned first, unsigned count) {
    memmove(&to->slots[at], &from->slots[first], count * sizeof(to->slots[0]));
}

static void branches_move(struct inner *to, unsigned at, const struct inner *from, unsigned first,
                          unsigned count) {
    memmove(&to->branches[at], &from->branches[first], count * sizeof(to->branches[0]));
}

/* ---- Inserting ---- */

/* How many entries of a full node stay when one is added at `at`: all of them at the right end of
 * the tree, none at its left end, so that growth in order fills nodes; half elsewhere. */
static unsigned cut_point(unsigned at, unsigned count, bool leftmost, bool rightmost) {
    if (rightmost && at == count) return count;
    if (leftmost && at == 0) return 0;
    return count / 2;
}

static void leaf_insert_at(struct ordered_leaf *leaf, unsigned at, struct ordered_element *e) {
    slots_move(leaf, at + 1, leaf, at, leaf->count - at);
    leaf->slots[at] = e;
    leaf->count++;
}

/* True where the leaf was cut; `right` then leads to the new leaf. */
static bool leaf_insert(struct ordered *o, struct branch *b, struct ordered_element *e,
                        struct branch *right) {
    struct ordered_leaf *leaf = b->leaf;
    unsigned at = slot_for(leaf, &(struct target){.element = e, .score = e->score});
    if (leaf->count < LEAF_SLOTS) {
        leaf_insert_at(leaf, at, e);
        b->size++;
        if (at == 0) branch_set_first(b, e);
        return false;
    }
    unsigned keep = cut_point(at, leaf->count, !leaf->prev, !leaf->next);
    struct ordered_leaf *rest = ordered_leaf_create(o, leaf, leaf->next);
    rest->count = leaf->count - keep;
    slots_move(rest, 0, leaf, keep, rest->count);
    leaf->count = keep;
    if (at < keep || keep == 0)
        leaf_insert_at(leaf, at, e);
    else
        leaf_insert_at(rest, at - keep, e);
    right->leaf = rest;
    leaf_describe(b);
    leaf_describe(right);
    return true;
}

static void inner_insert_at(struct inner *n, unsigned at, const struct branch *b) {
    branches_move(n, at + 1, n, at, n->count - at);
    n->branches[at] = *b;
    n->count++;
}

/* Adds a branch at `at`, which is not 0; true where the node was cut. `rightmost`: the node is the
 * last of its height. */
static bool inner_insert(struct ordered *o, struct branch *b, bool rightmost, unsigned at,
                         const struct branch *added, struct branch *right) {
    struct inner *n = b->inner;
    if (n->count < INNER_BRANCHES) {
        inner_insert_at(n, at, added);
        return false;
    }
    unsigned keep = cut_point(at, n->count, false, rightmost);
    struct inner *rest = inner_create(o);
    rest->count = n->count - keep;
    branches_move(rest, 0, n, keep, rest->count);
    n->count = keep;
    if (at < keep)
        inner_insert_at(n, at, added);
    else
        inner_insert_at(rest, at - keep, added);
    right->inner = rest;
    inner_describe(b);
    inner_describe(right);
    return true;
}

/* Inserts below a node of any height; true where the node was cut, and `right` leads to the new
 * node. */
static bool branch_insert(struct ordered *o, struct branch *b, unsigned height, bool rightmost,
                          struct ordered_element *e, struct branch *right) {
    if (height == 0) return leaf_insert(o, b, e, right);
    struct inner *n = b->inner;
    unsigned at = branch_for(n, &(struct target){.element = e, .score = e->score});
    struct branch added;
    bool last = rightmost && at + 1 == n->count;
    bool cut = branch_insert(o, &n->branches[at], height - 1, last, e, &added);
    b->size++;
    b->first = n->branches[0].first;
    b->score = n->branches[0].score;
    return cut && inner_insert(o, b, rightmost, at + 1, &added, right);
}

void ordered_insert(struct ordered *o, struct ordered_element *e) {
    if (o->root.size == 0) o->root.leaf = ordered_leaf_create(o, NULL, NULL);
    struct branch right;
    if (!branch_insert(o, &o->root, o->height, true, e, &right)) return;
    struct inner *n = inner_create(o);
    inner_insert_at(n, 0, &o->root);
    inner_insert_at(n, 1, &right);
    o->root.inner = n;
    o->height++;
    inner_describe(&o->root);
}

/* ---- Deleting ---- */

static void branch_free(struct ordered *o, const struct branch *b, unsigned height,
                        void (*release)(struct ordered_element *e, void *context), void *context) {
    if (height > 0) {
        for (unsigned i = 0; i < b->inner->count; i++)
            branch_free(o, &b->inner->branches[i], height - 1, release, context);
        ordered_node_free(o, b->inner, INNER_BYTES);
        return;
    }
    for (unsigned i = 0; release && i < b->leaf->count; i++) {
        if (i + PREFETCH_SLOTS < b->leaf->count)
            __builtin_prefetch(b->leaf->slots[i + PREFETCH_SLOTS]);
        release(b->leaf->slots[i], context);
    }
    leaf_free(o, b->leaf);
}

/* Merges two neighbouring leaves, or shares their elements out equally. True where the right leaf
 * is gone. */
static bool leaves_balance(struct ordered *o, struct branch *left, struct branch *right) {
    struct ordered_leaf *l = left->leaf, *r = right->leaf;
    unsigned total = l->count + r->count, half = total <= LEAF_SLOTS ? total : total / 2;
    if (l->count < half) {
        unsigned moved = half - l->count;
        slots_move(l, l->count, r, 0, moved);
        slots_move(r, 0, r, moved, r->count - moved);
    } else {
        unsigned moved = l->count - half;
        slots_move(r, moved, r, 0, r->count);
        slots_move(r, 0, l, half, moved);
    }
    l->count = half;
    r->count = total - half;
    leaf_describe(left);
    if (r->count == 0) {
        leaf_free(o, r);
        return true;
    }
    leaf_describe(right);
    return false;
}

static bool inners_balance(struct ordered *o, struct branch *left, struct branch *right) {
    struct inner *l = left->inner, *r = right->inner;
    unsigned total = l->count + r->count, half = total <= INNER_BRANCHES ? total : total / 2;
    if (l->count < half) {
        unsigned moved = half - l->count;
        branches_move(l, l->count, r, 0, moved);
        branches_move(r, 0, r, moved, r->count - moved);
    } else {
        unsigned moved = l->count - half;
        branches_move(r, moved, r, 0, r->count);
        branches_move(r, 0, l, half, moved);
    }
    l->count = half;
    r->count = total - half;
    inner_describe(left);
    if (r->count == 0) {
        ordered_node_free(o, r, INNER_BYTES);
        return true;
    }
    inner_describe(right);
    return false;
}

static void inner_remove_at(struct inner *n, unsigned at) {
    branches_move(n, at, n, at + 1, n->count - at - 1);
    n->count--;
}

/* Fills the node at `at`, of height `height`, where it has become too small. */
static void mend_node(struct ordered *o, struct inner *n, unsigned at, unsigned height) {
    if (at >= n->count || n->count < 2) return;
    const struct branch *b = &n->branches[at];
    if (height == 0 ? b->leaf->count >= LEAF_SLOTS_MIN : b->inner->count >= INNER_BRANCHES_MIN)
        return;
    unsigned left = at + 1 < n->count ? at : at - 1;
    struct branch *pair = &n->branches[left];
    bool gone = height == 0 ? leaves_balance(o, pair, pair + 1) : inners_balance(o, pair, pair + 1);
    if (gone) inner_remove_at(n, left + 1);
}

/* Deletes some but not all elements of a node. Calls itself for at most two of its branches. */
static void branch_delete_range(struct ordered *o, struct branch *b, unsigned height, size_t rank,
                                size_t count,
                                void (*release)(struct ordered_element *e, void *context),
                                void *context) {
    if (height == 0) {
        struct ordered_leaf *leaf = b->leaf;
        unsigned from = (unsigned)rank, deleted = (unsigned)count;
        for (unsigned i = 0; release && i < deleted; i++) release(leaf->slots[from + i], context);
        slots_move(leaf, from, leaf, from + deleted, leaf->count - from - deleted);
        leaf->count -= deleted;
        leaf_describe(b);
        return;
    }
    struct inner *n = b->inner;
    unsigned at = 0;
    for (; rank >= n->branches[at].size; at++) rank -= n->branches[at].size;
    unsigned first = at;
    while (count > 0) {
        struct branch *below = &n->branches[at];
        size_t here = below->size - rank < count ? below->size - rank : count;
        count -= here;
        if (here == below->size) {
            branch_free(o, below, height - 1, release, context);
            inner_remove_at(n, at);
        } else {
            branch_delete_range(o, below, height - 1, rank, here, release, context);
            at++;
        }
        rank = 0;
    }
    mend_node(o, n, first + 1, height - 1); /* the range's far end first: `first` stays in place */
    mend_node(o, n, first, height - 1);
    inner_describe(b);
}

size_t ordered_delete_range(struct ordered *o, size_t rank, size_t count,
                            void (*release)(struct ordered_element *e, void *context),
                            void *context) {
    if (rank >= o->root.size) return 0;
    if (count > o->root.size - rank) count = o->root.size - rank;
    if (count == 0) return 0;
    if (count == o->root.size) {
        branch_free(o, &o->root, o->height, release, context);
        o->root = (struct branch){.size = 0};
        o->height = 0;
        return count;
    }
    branch_delete_range(o, &o->root, o->height, rank, count, release, context);
    while (o->height > 0 && o->root.inner->count == 1) {
        struct inner *old = o->root.inner;
        o->root = old->branches[0];
        o->height--;
        ordered_node_free(o, old, INNER_BYTES);
    }
    return count;
}

void ordered_remove(struct ordered *o, const struct ordered_element *e) {
    ordered_delete_range(o, ordered_rank(o, e), 1, NULL, NULL);
}

/* Whether the element at the cursor keeps its place with this score. */
static bool keeps_place(const struct ordered_cursor *c, double score) {
    const struct ordered_element *e = ordered_get(c);
    struct ordered_cursor left = *c, right = *c;
    if (ordered_prev(&left) && compare_elements(e, score, ordered_get(&left)) < 0) return false;
    return !ordered_next(&right) || compare_elements(e, score, ordered_get(&right)) < 0;
}

void ordered_set_score(struct ordered *o, struct ordered_element *e, double score) {
    ASSERT(!isnan(score));
    struct ordered_cursor c;
    size_t rank = ordered_rank(o, e);
    ordered_seek(o, rank, &c);
    if (!keeps_place(&c, score)) {
        ordered_delete_range(o, rank, 1, NULL, NULL);
        e->score = score;
        ordered_insert(o, e);
        return;
    }
    e->score = score;
    struct branch *b = &o->root;
    for (unsigned height = o->height;; height--) {
        if (b->first == e) b->score = score;
        if (height == 0) return;
        for (b = b->inner->branches; rank >= b->size; b++) rank -= b->size;
    }
}

/* ---- Moving blocks ---- */

/* No tree is as high: an inner node has INNER_BRANCHES_MIN branches at least, but for the root and
 * those beside it. */
#define HEIGHT_MAX 32
_Static_assert(LEAF_SLOTS <= RELOCATION_ASK_MAX, "a leaf's elements are asked about at once");

static void *tree_node_settle(struct relocation *r, void *node, size_t size) {
    if (!relocation_wants(r, node)) return node;
    return relocation_move_aligned(r, node, NODE_ALIGNMENT, size, MEMORY_DATASET);
}

static void leaf_settle(struct branch *b, struct relocation *r) {
    struct ordered_leaf *leaf = tree_node_settle(r, b->leaf, LEAF_BYTES);
    b->leaf = leaf;
    if (leaf->prev) leaf->prev->next = leaf;
    if (leaf->next) leaf->next->prev = leaf;
}

/* Moves the nodes on the way to a rank, which becomes the rank within the leaf. `path` gets the
 * branches that lead there, the leaf's last. */
static void path_settle(struct ordered *o, size_t *rank, struct branch *path[HEIGHT_MAX],
                        struct relocation *r) {
    struct branch *b = &o->root;
    ASSERT(o->height < HEIGHT_MAX);
    path[0] = b;
    for (unsigned i = 0; i < o->height; i++) {
        b->inner = tree_node_settle(r, b->inner, INNER_BYTES);
        for (b = b->inner->branches; *rank >= b->size; b++) *rank -= b->size;
        path[i + 1] = b;
    }
    leaf_settle(b, r);
}

size_t ordered_relocate_some(struct ordered *o, size_t rank, struct relocation *r,
                             struct ordered_element *(*move)(struct ordered_element *e,
                                                             struct relocation *r, void *context),
                             void *context) {
    struct branch *path[HEIGHT_MAX];
    size_t within = rank;
    if (rank >= o->root.size) return 0;
    path_settle(o, &within, path, r);
    struct ordered_leaf *leaf = path[o->height]->leaf;
    void *asked[LEAF_SLOTS];
    for (unsigned i = 0; i < leaf->count; i++) asked[i] = leaf->slots[i];
    for (uint64_t left = relocation_ask(r, asked, leaf->count); left != 0; left &= left - 1) {
        unsigned i = (unsigned)__builtin_ctzll(left);
        leaf->slots[i] = move(leaf->slots[i], r, context);
    }
    for (unsigned i = 0; i <= o->height; i++)
        if (path[i]->first == asked[0]) path[i]->first = leaf->slots[0];
    size_t next = rank - within + leaf->count;
    return next < o->root.size ? next : 0;
}

/* ---- The whole ---- */

struct ordered *ordered_create(void) {
    struct ordered *o = memory_alloc(sizeof(*o), MEMORY_DATASET);
    *o = (struct ordered){.bytes = memory_good_size(sizeof(*o))};
    return o;
}

void ordered_free(struct ordered *o, void (*release)(struct ordered_element *e, void *context),
                  void *context) {
    if (!o) return;
    if (o->root.size) branch_free(o, &o->root, o->height, release, context);
    memory_free_sized(o, sizeof(*o), MEMORY_DATASET);
}

size_t ordered_count(const struct ordered *o) { return o->root.size; }

size_t ordered_bytes(const struct ordered *o) { return o->bytes; }

/* The state of a check's walk. */
struct walk {
    const struct ordered_leaf *leaf;
    const struct ordered_element *last;
    size_t count, bytes;
};

static void leaf_check(const struct ordered_leaf *leaf, struct walk *w) {
    ASSERT(leaf->prev == w->leaf && (!w->leaf || w->leaf->next == leaf));
    ASSERT(leaf->count > 0 && leaf->count <= LEAF_SLOTS);
    w->leaf = leaf;
    w->bytes += memory_good_size(LEAF_BYTES);
    w->count += leaf->count;
    for (unsigned i = 0; i < leaf->count; i++) {
        const struct ordered_element *e = leaf->slots[i];
        ASSERT(!w->last || compare_elements(w->last, w->last->score, e) < 0);
        w->last = e;
    }
}

static void branch_check(const struct branch *b, unsigned height, struct walk *w) {
    size_t before = w->count;
    if (height == 0) {
        ASSERT(b->first == b->leaf->slots[0]);
        leaf_check(b->leaf, w);
    } else {
        const struct inner *n = b->inner;
        ASSERT(n->count > 0 && n->count <= INNER_BRANCHES);
        ASSERT(b->first == n->branches[0].first);
        w->bytes += memory_good_size(INNER_BYTES);
        for (unsigned i = 0; i < n->count; i++) branch_check(&n->branches[i], height - 1, w);
    }
    ASSERT(b->score == b->first->score);
    ASSERT_COMPARE(b->size, ==, w->count - before);
}

void ordered_check(const struct ordered *o) {
    struct walk w = {.bytes = memory_good_size(sizeof(*o))};
    if (o->root.size) {
        branch_check(&o->root, o->height, &w);
        ASSERT(!w.leaf->next);
        ASSERT(o->height == 0 || o->root.inner->count > 1);
    }
    ASSERT_COMPARE(w.bytes, ==, o->bytes);
}
