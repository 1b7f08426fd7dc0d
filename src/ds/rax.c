/* SPDX-License-Identifier: BSD-3-Clause
 * A radix tree of one kind of node, exactly as large as its contents.
 *
 * A node stands for the bytes on the path to it, and has a prefix: further bytes that all keys
 * below it share. It has children by their next byte, and a value where a key ends at it. All this
 * is one block:
 *
 *   header | value, where there is one | children | their bytes, ascending | prefix
 *
 * A child is found by memchr in at most 256 adjacent bytes, which costs less than several kinds of
 * nodes would. The block is reallocated only where its good size changes, so adding a child mostly
 * moves a few bytes.
 *
 * A search in order remembers the last place on its path at which it could have turned right (or
 * left). The path to that place is a prefix of the given key, so the found key can be written over
 * the given one.
 *
 * A tree is freed from its leaves upwards, and may pause after each node: the path back is kept in
 * the tree itself (Schorr and Waite 1967). While a child is freed, its place in its parent holds
 * the parent's own parent, and `child` says which place that is.
 *
 * Invariants (rax_check):
 *  1. A node without a value has two children at least: a tree of n keys has less than 2n nodes.
 *  2. The children's bytes of a node ascend strictly.
 *  3. `count`, `bytes` and `parts` are what a walk finds. An empty tree has no node.
 *  4. Once a tree is being freed, `parts` is 0, `root` is the node at which freeing goes on (a
 *     child of it is gone), and `count` and `bytes` are those of the rest.
 */
#include "ds/rax.h"

#include <stdint.h>

#include "base/memory.h"
#include "base/panic.h"
#include "base/relocation.h"

struct node {
    uint32_t prefix_length;
    uint16_t children; /* 0..256 */
    uint8_t has_value; /* 0 or 1 */
    uint8_t child;     /* while the tree is freed: the child being freed */
    unsigned char parts[];
};
_Static_assert(sizeof(struct node) == 8, "pointers in a node are aligned");

struct rax {
    struct node *root;
    size_t count, bytes;
    size_t parts; /* nodes; one with a prefix counts twice */
};

#define POINTER_BYTES sizeof(void *)

/* ---- What a node consists of ---- */

static void **value_of(struct node *n) { return (void **)n->parts; }

static struct node **children_of(const struct node *n) {
    return (struct node **)(uintptr_t)(n->parts + n->has_value * POINTER_BYTES);
}

static unsigned char *child_bytes(const struct node *n) {
    return (unsigned char *)(children_of(n) + n->children);
}

static unsigned char *prefix_of(const struct node *n) { return child_bytes(n) + n->children; }

static size_t rax_node_size_for(size_t has_value, size_t children, size_t prefix_length) {
    return sizeof(struct node) + has_value * POINTER_BYTES + children * (POINTER_BYTES + 1) +
           prefix_length;
}

/* The node's share of rax_parts. */
static size_t node_parts(const struct node *n) { return n->prefix_length > 0 ? 2 : 1; }

static size_t node_size(const struct node *n) {
    return rax_node_size_for(n->has_value, n->children, n->prefix_length);
}

static struct node *rax_node_alloc(struct rax *r, bool has_value, size_t children,
                                   size_t prefix_length) {
    ASSERT(prefix_length <= UINT32_MAX);
    size_t good = memory_good_size(rax_node_size_for(has_value, children, prefix_length));
    struct node *n = memory_alloc(good, MEMORY_DATASET);
    *n = (struct node){(uint32_t)prefix_length, (uint16_t)children, has_value, 0};
    r->bytes += good;
    r->parts += node_parts(n);
    return n;
}

static void rax_node_free(struct rax *r, struct node *n) {
    r->bytes -= memory_good_size(node_size(n));
    r->parts -= node_parts(n);
    memory_free_sized(n, node_size(n), MEMORY_DATASET);
}

/* Resizes the node's block; its bytes are kept up to the smaller size. */
static struct node *node_resize(struct rax *r, struct node *n, size_t size) {
    size_t old_good = memory_good_size(node_size(n)), good = memory_good_size(size);
    if (good == old_good) return n;
    r->bytes += good - old_good;
    return memory_realloc(n, good, MEMORY_DATASET);
}

static struct node *rax_leaf_create(struct rax *r, const char *suffix, size_t length, void *value) {
    struct node *n = rax_node_alloc(r, true, 0, length);
    *value_of(n) = value;
    if (length) memcpy(prefix_of(n), suffix, length);
    return n;
}

/* The place of a byte among the children: that of the first child whose byte is not below it. */
static unsigned child_place(const struct node *n, unsigned char byte) {
    const unsigned char *bytes = child_bytes(n);
    unsigned low = 0, high = n->children;
    while (low < high) {
        unsigned middle = (low + high) / 2;
        if (bytes[middle] < byte)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct node **child_find(const struct node *n, unsigned char byte) {
    const unsigned char *bytes = child_bytes(n);
    const unsigned char *place = memchr(bytes, byte, n->children);
    return place ? &children_of(n)[place - bytes] : NULL;
}

/* ---- Changing one node; each may move it ---- */

static void add_child(struct rax *r, struct node **at, unsigned char byte, struct node *child) {
    unsigned place = child_place(*at, byte), count = (*at)->children;
    size_t prefix_length = (*at)->prefix_length;
    struct node *n =
        node_resize(r, *at, rax_node_size_for((*at)->has_value, count + (size_t)1, prefix_length));
    struct node **children = children_of(n);
    unsigned char *old_bytes = (unsigned char *)(children + count);
    unsigned char *new_bytes = (unsigned char *)(children + count + 1);
    /* From the end on, so that no byte is overwritten before it has moved. */
    memmove(new_bytes + count + 1, old_bytes + count, prefix_length);
    memmove(new_bytes + place + 1, old_bytes + place, count - place);
    memmove(new_bytes, old_bytes, place);
    memmove(children + place + 1, children + place, (count - place) * POINTER_BYTES);
    new_bytes[place] = byte;
    children[place] = child;
    n->children++;
    *at = n;
}

static void remove_child(struct rax *r, struct node **at, unsigned place) {
    struct node *n = *at, **children = children_of(n);
    unsigned count = n->children;
    size_t prefix_length = n->prefix_length;
    unsigned char *old_bytes = (unsigned char *)(children + count);
    unsigned char *new_bytes = (unsigned char *)(children + count - 1);
    memmove(children + place, children + place + 1, (count - place - 1) * POINTER_BYTES);
    memmove(new_bytes, old_bytes, place);
    memmove(new_bytes + place, old_bytes + place + 1, count - place - 1);
    memmove(new_bytes + count - 1, old_bytes + count, prefix_length);
    size_t size = rax_node_size_for(n->has_value, count - (size_t)1, prefix_length);
    *at = n = node_resize(r, n, size);
    n->children--;
}

static void add_value(struct rax *r, struct node **at, void *value) {
    size_t rest = node_size(*at) - sizeof(struct node);
    struct node *n = node_resize(r, *at, node_size(*at) + POINTER_BYTES);
    memmove(n->parts + POINTER_BYTES, n->parts, rest);
    n->has_value = 1;
    *value_of(n) = value;
    *at = n;
}

static void remove_value(struct rax *r, struct node **at) {
    struct node *n = *at;
    size_t size = node_size(n) - POINTER_BYTES;
    memmove(n->parts, n->parts + POINTER_BYTES, size - sizeof(struct node));
    *at = n = node_resize(r, n, size);
    n->has_value = 0;
}

/* Removes `count` bytes from the front of the prefix. */
static void cut_prefix(struct rax *r, struct node **at, size_t count) {
    struct node *n = *at;
    unsigned char *prefix = prefix_of(n);
    size_t size = node_size(n) - count;
    memmove(prefix, prefix + count, n->prefix_length - count);
    n = node_resize(r, n, size);
    r->parts -= node_parts(n);
    n->prefix_length -= (uint32_t)count;
    r->parts += node_parts(n);
    *at = n;
}

/* Merges a node that has no value and one child with that child. */
static void join_child(struct rax *r, struct node **at) {
    struct node *n = *at, *child = children_of(n)[0];
    size_t more = n->prefix_length + (size_t)1, below = child->prefix_length;
    ASSERT(more + below <= UINT32_MAX);
    struct node *joined = node_resize(r, child, node_size(child) + more);
    unsigned char *prefix = prefix_of(joined);
    memmove(prefix + more, prefix, below);
    memcpy(prefix, prefix_of(n), more - 1);
    prefix[more - 1] = child_bytes(n)[0];
    r->parts -= node_parts(joined);
    joined->prefix_length = (uint32_t)(more + below);
    r->parts += node_parts(joined);
    rax_node_free(r, n);
    *at = joined;
}

/* Cuts the node within its prefix: `length` bytes of it stay above, in a node with one child. */
static void split_node(struct rax *r, struct node **at, size_t length) {
    struct node *below = *at;
    struct node *above = rax_node_alloc(r, false, 1, length);
    memcpy(prefix_of(above), prefix_of(below), length);
    child_bytes(above)[0] = prefix_of(below)[length];
    cut_prefix(r, &below, length + 1);
    children_of(above)[0] = below;
    *at = above;
}

/* ---- Keys ---- */

struct rax *rax_create(void) {
    struct rax *r = memory_alloc(sizeof(*r), MEMORY_DATASET);
    *r = (struct rax){.bytes = memory_good_size(sizeof(*r))};
    return r;
}

size_t rax_count(const struct rax *r) { return r->count; }

size_t rax_bytes(const struct rax *r) { return r->bytes; }

/* 6.2 counts an empty tree's root, too. */
size_t rax_parts(const struct rax *r) { return r->root ? r->parts : 1; }

static const unsigned char *key_bytes(struct slice key) { return (const unsigned char *)key.bytes; }

/* How many bytes of the node's prefix the key has at `position`. */
static size_t common_length(const struct node *n, struct slice key, size_t position) {
    const unsigned char *prefix = prefix_of(n), *rest = key_bytes(key) + position;
    size_t length = key.length - position;
    if (length > n->prefix_length) length = n->prefix_length;
    size_t common = 0;
    while (common < length && prefix[common] == rest[common]) common++;
    return common;
}

void **rax_find(const struct rax *r, struct slice key) {
    struct node *n = r->root;
    size_t position = 0;
    while (n) {
        if (common_length(n, key, position) < n->prefix_length) return NULL;
        position += n->prefix_length;
        if (position == key.length) return n->has_value ? value_of(n) : NULL;
        struct node **child = child_find(n, key_bytes(key)[position++]);
        n = child ? *child : NULL;
    }
    return NULL;
}

bool rax_insert(struct rax *r, struct slice key, void *value, void **old) {
    struct node **at = &r->root;
    size_t position = 0;
    for (; *at; position++) {
        size_t common = common_length(*at, key, position);
        if (common < (*at)->prefix_length) split_node(r, at, common);
        position += common;
        if (position == key.length) {
            if ((*at)->has_value) {
                if (old) *old = *value_of(*at);
                *value_of(*at) = value;
                return false;
            }
            add_value(r, at, value);
            r->count++;
            return true;
        }
        struct node **child = child_find(*at, key_bytes(key)[position]);
        if (!child) {
            const char *rest = key.bytes + position + 1;
            struct node *leaf = rax_leaf_create(r, rest, key.length - position - 1, value);
            add_child(r, at, key_bytes(key)[position], leaf);
            r->count++;
            return true;
        }
        at = child;
    }
    *at = rax_leaf_create(r, key.bytes, key.length, value);
    r->count++;
    return true;
}

bool rax_remove(struct rax *r, struct slice key, void **old) {
    struct node **above = NULL, **at = &r->root;
    size_t position = 0;
    if (!*at) return false;
    for (;;) {
        if (common_length(*at, key, position) < (*at)->prefix_length) return false;
        position += (*at)->prefix_length;
        if (position == key.length) break;
        struct node **child = child_find(*at, key_bytes(key)[position++]);
        if (!child) return false;
        above = at;
        at = child;
    }
    if (!(*at)->has_value) return false;
    if (old) *old = *value_of(*at);
    r->count--;
    if ((*at)->children > 0) {
        remove_value(r, at);
        if ((*at)->children == 1) join_child(r, at);
        return true;
    }
    rax_node_free(r, *at);
    *at = NULL;
    if (!above) return true;
    remove_child(r, above, (unsigned)(at - children_of(*above)));
    if (!(*above)->has_value && (*above)->children == 1) join_child(r, above);
    return true;
}

/* ---- Order ---- */

/* A place that a search may turn to: a child of a node, or (child -1) the node's own value. */
struct turn {
    struct node *node; /* NULL = none */
    int child;
    size_t length; /* bytes of the key on the way to the node, its prefix included */
};

static void append_prefix(struct buffer *out, const struct node *n) {
    buffer_append(out, prefix_of(n), n->prefix_length);
}

/* Appends the bytes of the path to the first or last key below a node, beginning with the node's
 * prefix. */
static struct node *rax_descend(struct node *n, bool to_last, struct buffer *out) {
    append_prefix(out, n);
    while (to_last ? n->children > 0 : !n->has_value) {
        unsigned child = to_last ? n->children - 1U : 0;
        buffer_append_char(out, (char)child_bytes(n)[child]);
        n = children_of(n)[child];
        append_prefix(out, n);
    }
    return n;
}

/* Makes `out` the first `length` bytes of the key, which may be `out` itself. */
static void begin_key(struct buffer *out, struct slice key, size_t length) {
    if (key.bytes == out->bytes && key.bytes) {
        out->length = length;
        return;
    }
    buffer_clear(out);
    buffer_append(out, key.bytes, length);
}

static struct node *take_turn(const struct turn *turn, bool down, struct slice key,
                              struct buffer *out) {
    if (!turn->node) return NULL;
    begin_key(out, key, turn->length);
    if (turn->child < 0) return turn->node;
    buffer_append_char(out, (char)child_bytes(turn->node)[turn->child]);
    return rax_descend(children_of(turn->node)[turn->child], down, out);
}

/* Whether all keys below a node that shares only `common` bytes of its prefix with the key are
 * above the key. */
static bool subtree_is_above(const struct node *n, struct slice key, size_t position,
                             size_t common) {
    return position + common == key.length ||
           prefix_of(n)[common] > key_bytes(key)[position + common];
}

/* Notes at a node on the key's way where a search could turn instead. */
static void note_turn(struct turn *turn, struct node *n, unsigned place, bool equal, bool down,
                      size_t length) {
    if (down && place > 0)
        *turn = (struct turn){n, (int)place - 1, length};
    else if (down && n->has_value)
        *turn = (struct turn){n, -1, length};
    else if (!down && place + equal < n->children)
        *turn = (struct turn){n, (int)(place + equal), length};
}

static struct node *rax_search(struct node *n, bool down, bool inclusive, struct slice key,
                               struct buffer *out) {
    struct turn turn = {NULL, 0, 0};
    size_t position = 0;
    for (;;) {
        size_t common = common_length(n, key, position);
        if (common < n->prefix_length) {
            if (subtree_is_above(n, key, position, common) == down) break;
            begin_key(out, key, position);
            return rax_descend(n, down, out);
        }
        position += n->prefix_length;
        if (position == key.length) {
            if (inclusive && n->has_value) {
                begin_key(out, key, position);
                return n;
            }
            if (!down) note_turn(&turn, n, 0, false, false, position);
            break;
        }
        unsigned char byte = key_bytes(key)[position];
        unsigned place = child_place(n, byte);
        bool equal = place < n->children && child_bytes(n)[place] == byte;
        note_turn(&turn, n, place, equal, down, position);
        if (!equal) break;
        n = children_of(n)[place];
        position++;
    }
    return take_turn(&turn, down, key, out);
}

bool rax_seek(const struct rax *r, enum rax_relation relation, struct slice key,
              struct buffer *found, void **value) {
    struct node *n = r->root;
    if (!n) return false;
    if (relation == RAX_FIRST || relation == RAX_LAST) {
        buffer_clear(found);
        n = rax_descend(n, relation == RAX_LAST, found);
    } else {
        bool down = relation == RAX_AT_MOST || relation == RAX_BELOW;
        bool inclusive = relation == RAX_AT_LEAST || relation == RAX_AT_MOST;
        n = rax_search(n, down, inclusive, key, found);
    }
    if (n && value) *value = *value_of(n);
    return n != NULL;
}

/* ---- Moving blocks ---- */

/* The child on the key's way, `*position` being behind the node's prefix; NULL where the key ends
 * at the node. */
static struct node **next_on_way(struct node *n, struct slice key, size_t *position) {
    if (*position == key.length) return NULL;
    struct node **child = child_find(n, key_bytes(key)[(*position)++]);
    ASSERT(child);
    return child;
}

/* How many nodes on the key's way are on a smaller key's way, too. */
static size_t shared_nodes(const struct rax *r, struct slice key) {
    size_t position = 0, depth = 1, shared = 0;
    for (struct node *n = r->root;; depth++) {
        position += n->prefix_length;
        struct node **child = next_on_way(n, key, &position);
        if (!child) return shared;
        if (n->has_value || child != children_of(n)) shared = depth;
        n = *child;
    }
}

void **rax_relocate_key(struct rax *r, struct slice key, struct relocation *work) {
    ASSERT(r->root);
    size_t position = 0, shared = shared_nodes(r, key);
    struct node **at = &r->root;
    for (size_t depth = 0;; depth++) {
        if (depth >= shared) *at = relocation_settle(work, *at, MEMORY_DATASET);
        position += (*at)->prefix_length;
        struct node **child = next_on_way(*at, key, &position);
        if (!child) return value_of(*at);
        at = child;
    }
}

struct rax *rax_relocate(struct rax *r, struct relocation *work) {
    return relocation_settle(work, r, MEMORY_DATASET);
}

/* ---- All nodes ---- */

static void release_node(struct rax *r, struct node *n, void (*release)(void *value, void *context),
                         void *context) {
    size_t size = node_size(n);
    if (n->has_value) {
        r->count--;
        if (release) release(*value_of(n), context);
    }
    r->bytes -= memory_good_size(size);
    memory_free_sized(n, size, MEMORY_DATASET);
}

bool rax_free_step(struct rax *r, size_t nodes_max, void (*release)(void *value, void *context),
                   void *context) {
    ASSERT(nodes_max > 0);
    /* Whether the walk came to `n` from its parent, not from a child that was freed. */
    bool entered = r->parts > 0;
    struct node *n = r->root, *above = n && !entered ? children_of(n)[n->child] : NULL;
    r->parts = 0;
    while (n) {
        unsigned place = entered ? 0 : n->child + 1U;
        if (place < n->children) {
            struct node *child = children_of(n)[place];
            children_of(n)[place] = above;
            n->child = (uint8_t)place;
            above = n;
            n = child;
            entered = true;
            continue;
        }
        struct node *parent = above;
        release_node(r, n, release, context);
        n = parent;
        if (n) above = children_of(n)[n->child];
        entered = false;
        if (--nodes_max == 0) break;
    }
    r->root = n;
    if (n) return false;
    memory_free_sized(r, sizeof(*r), MEMORY_DATASET);
    return true;
}

void rax_free(struct rax *r, void (*release)(void *value, void *context), void *context) {
    if (r) (void)rax_free_step(r, SIZE_MAX, release, context);
}

/* Nodes still to be visited: an explicit stack, because a tree may be as deep as a key is long. */
struct pending {
    struct node **nodes;
    size_t count, capacity;
};

static void pending_push(struct pending *p, struct node *n) {
    if (p->count == p->capacity) {
        p->capacity = p->capacity ? 2 * p->capacity : 64;
        p->nodes = memory_realloc(p->nodes, p->capacity * sizeof(*p->nodes), MEMORY_OTHER);
    }
    p->nodes[p->count++] = n;
}

static struct node *pending_pop(struct pending *p) {
    struct node *n = p->nodes[--p->count];
    for (unsigned i = 0; i < n->children; i++) pending_push(p, children_of(n)[i]);
    return n;
}

void rax_check(const struct rax *r) {
    struct pending p = {0};
    size_t count = 0, parts = 0, bytes = memory_good_size(sizeof(*r));
    if (r->root) pending_push(&p, r->root);
    while (p.count > 0) {
        struct node *n = pending_pop(&p);
        const unsigned char *next = child_bytes(n);
        ASSERT(n->has_value || n->children >= 2);
        for (unsigned i = 1; i < n->children; i++) ASSERT(next[i - 1] < next[i]);
        count += n->has_value;
        parts += node_parts(n);
        bytes += memory_good_size(node_size(n));
    }
    memory_free(p.nodes, MEMORY_OTHER);
    ASSERT_COMPARE(count, ==, r->count);
    ASSERT_COMPARE(parts, ==, r->parts);
    ASSERT_COMPARE(bytes, ==, r->bytes);
}
