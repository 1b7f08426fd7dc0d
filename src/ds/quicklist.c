/* SPDX-License-Identifier: BSD-3-Clause
 * Lists as linked nodes, each a listpack, a long element, or either of them compressed.
 *
 * A cursor that reads a compressed node decompresses it into a copy of its own, and the node stays
 * as it is. A change puts the copy in the node's place, and the node is compressed again when the
 * cursor leaves it. So a walk over a compressed list costs one decompression a node and no
 * compression.
 *
 * A node that deletions have left small is merged with its neighbour when the cursor leaves, if
 * both together are less than half of a node's bound: half, so that the next additions do not split
 * it again.
 *
 * Invariants (quicklist_check):
 *  1. No node is empty; `count`, `nodes` and `bytes` are what a walk finds.
 *  2. The first and last `depth` nodes are not compressed, and no node is where depth is 0. Others
 *     are compressed where that saves LZF_GAIN_MIN bytes, unless they were too short to try.
 *  3. A listpack's node has its listpack's count; a long element's node has count 1.
 *  4. `relocating` has the node at which a walk that moves blocks goes on; it is one of the list
 *     whose `walk` is the walk's number. A list that is new has no number, and one that is being
 *     freed, perhaps by another thread, has none any more.
 *  5. No change makes a node larger than `fill` allows: an element that grows beyond the room is
 *     taken out and inserted again, which splits the node. Larger nodes come from files only.
 */
#include "ds/quicklist.h"

#include "base/blob.h"
#include "base/compress.h"
#include "base/memory.h"
#include "base/panic.h"
#include "base/relocation.h"
#include "ds/ziplist.h"

#define COUNTED_NODE_BYTES_MAX 8192 /* where fill counts elements */
#define LZF_BYTES_MIN 48            /* shorter contents are not worth trying */
#define LZF_GAIN_MIN 8

enum node_form { NODE_PACK, NODE_PLAIN, NODE_PACK_LZF, NODE_PLAIN_LZF };

struct compressed {
    uint32_t size;     /* of bytes[] */
    uint32_t raw_size; /* when decompressed */
    uint8_t bytes[];
};

struct quicklist_node {
    struct quicklist_node *prev, *next;
    union {
        struct listpack *pack;
        struct blob *plain;
        struct compressed *lzf;
    };
    uint32_t count : 30;
    uint32_t form : 2; /* enum node_form */
};
_Static_assert(sizeof(struct quicklist_node) == 32, "a node is half a cache line");

struct quicklist {
    struct quicklist_node *head, *tail;
    size_t count, nodes, bytes;
    int16_t fill;
    uint16_t depth;
    uint32_t walk; /* the number of the last walk that moved its blocks */
};

/* The walk that moves blocks: one list at a time, on the main thread. */
static struct {
    uint32_t number; /* 0 before the first walk */
    struct quicklist_node *next;
} relocating;

/* ---- A node's contents ---- */

static inline bool is_compressed(const struct quicklist_node *n) {
    return n->form >= NODE_PACK_LZF;
}

static size_t lzf_allocation(const struct compressed *z) { return sizeof(*z) + z->size; }

/* Bytes of memory that the contents take. */
static size_t contents_bytes(const struct quicklist_node *n) {
    if (n->form == NODE_PACK) return listpack_memory(n->pack);
    if (n->form == NODE_PLAIN) return blob_bytes(n->plain);
    return memory_good_size(lzf_allocation(n->lzf));
}

static void contents_free(struct quicklist_node *n) {
    if (n->form == NODE_PACK)
        listpack_free(n->pack);
    else if (n->form == NODE_PLAIN)
        blob_free(n->plain, MEMORY_DATASET);
    else
        memory_free_sized(n->lzf, lzf_allocation(n->lzf), MEMORY_DATASET);
}

/* Every change of a node's contents is enclosed in change_begin and change_end. */
static void change_begin(struct quicklist *q, const struct quicklist_node *n) {
    q->bytes -= contents_bytes(n);
}
static void change_end(struct quicklist *q, const struct quicklist_node *n) {
    q->bytes += contents_bytes(n);
}

static struct blob *plain_create(struct slice text) {
    struct blob *b = blob_create(text.length, MEMORY_DATASET);
    memcpy(b->bytes, text.bytes, text.length);
    b->length = text.length;
    return b;
}

/* ---- Compression ---- */

static struct slice raw_contents(const struct quicklist_node *n) {
    if (n->form == NODE_PLAIN) return blob_slice(n->plain);
    return (struct slice){(const char *)listpack_bytes(n->pack), listpack_size(n->pack)};
}

static void node_compress(struct quicklist *q, struct quicklist_node *n) {
    if (is_compressed(n)) return;
    struct slice raw = raw_contents(n);
    if (raw.length < LZF_BYTES_MIN || raw.length > UINT32_MAX) return;
    size_t room = raw.length - LZF_GAIN_MIN;
    struct compressed *z = memory_alloc(sizeof(*z) + room, MEMORY_DATASET);
    size_t size = compress_lzf(raw, z->bytes, room);
    if (size == 0) {
        memory_free_sized(z, sizeof(*z) + room, MEMORY_DATASET);
        return;
    }
    z->size = (uint32_t)size;
    z->raw_size = (uint32_t)raw.length;
    z = memory_realloc(z, memory_good_size(lzf_allocation(z)), MEMORY_DATASET);
    change_begin(q, n);
    contents_free(n);
    n->form = n->form == NODE_PACK ? NODE_PACK_LZF : NODE_PLAIN_LZF;
    n->lzf = z;
    change_end(q, n);
}

static void decompress_to(const struct compressed *z, void *out) {
    struct slice packed = {(const char *)z->bytes, z->size};
    bool whole = decompress_lzf(packed, out, z->raw_size);
    ASSERT(whole);
}

static struct listpack *pack_decompressed(const struct compressed *z) {
    struct listpack *lp = memory_alloc(memory_good_size(z->raw_size), MEMORY_DATASET);
    decompress_to(z, lp);
    return lp;
}

static struct blob *plain_decompressed(const struct compressed *z) {
    struct blob *b = blob_create(z->raw_size, MEMORY_DATASET);
    decompress_to(z, b->bytes);
    b->length = z->raw_size;
    return b;
}

static void node_decompress(struct quicklist *q, struct quicklist_node *n) {
    if (!is_compressed(n)) return;
    change_begin(q, n);
    struct compressed *z = n->lzf;
    if (n->form == NODE_PACK_LZF) {
        n->pack = pack_decompressed(z);
        n->form = NODE_PACK;
    } else {
        n->plain = plain_decompressed(z);
        n->form = NODE_PLAIN;
    }
    memory_free_sized(z, lzf_allocation(z), MEMORY_DATASET);
    change_end(q, n);
}

/* Whether fewer than `depth` nodes stand between the node and an end. O(depth). */
static bool is_near_end(const struct quicklist *q, const struct quicklist_node *n) {
    const struct quicklist_node *left = n, *right = n;
    for (unsigned i = 0; i < q->depth; i++) {
        left = left->prev;
        right = right->next;
        if (!left || !right) return true;
    }
    return false;
}

/* The node was opened or is new: compresses it where it belongs to the middle. */
static void node_settle(struct quicklist *q, struct quicklist_node *n) {
    if (q->depth == 0) return;
    if (is_near_end(q, n))
        node_decompress(q, n);
    else
        node_compress(q, n);
}

/* After nodes were added or deleted: decompresses those near the ends, compresses the first ones of
 * the middle. */
static void settle_ends(struct quicklist *q) {
    if (q->depth == 0) return;
    struct quicklist_node *left = q->head, *right = q->tail;
    for (unsigned i = 0; i < q->depth && left; i++) {
        node_decompress(q, left);
        node_decompress(q, right);
        left = left->next;
        right = right->prev;
    }
    if (left) node_settle(q, left);
    if (right) node_settle(q, right);
}

/* ---- Nodes ---- */

/* A node that is not linked yet and whose contents the caller sets. */
static struct quicklist_node *node_create(struct quicklist *q, enum node_form form) {
    struct quicklist_node *n = memory_alloc(sizeof(*n), MEMORY_DATASET);
    *n = (struct quicklist_node){.form = form};
    q->bytes += memory_good_size(sizeof(*n));
    return n;
}

/* Links a node, whose contents are set, before `next`; NULL = at the tail. */
static void node_link(struct quicklist *q, struct quicklist_node *n, struct quicklist_node *next) {
    n->next = next;
    n->prev = next ? next->prev : q->tail;
    *(n->prev ? &n->prev->next : &q->head) = n;
    *(next ? &next->prev : &q->tail) = n;
    q->nodes++;
    q->count += n->count;
    change_end(q, n);
}

static void node_delete(struct quicklist *q, struct quicklist_node *n) {
    if (__builtin_expect(q->walk != 0, 0) && relocating.next == n) relocating.next = n->next;
    *(n->prev ? &n->prev->next : &q->head) = n->next;
    *(n->next ? &n->next->prev : &q->tail) = n->prev;
    q->nodes--;
    q->count -= n->count;
    change_begin(q, n);
    contents_free(n);
    q->bytes -= memory_good_size(sizeof(*n));
    memory_free_sized(n, sizeof(*n), MEMORY_DATASET);
}

static size_t node_bytes_max(const struct quicklist *q) {
    return q->fill < 0 ? (size_t)2048 << -q->fill : COUNTED_NODE_BYTES_MAX;
}

/* Whether `more` elements of so many bytes may join this node. */
static bool node_has_room(const struct quicklist *q, const struct quicklist_node *n, size_t more,
                          size_t more_bytes) {
    if (n->form != NODE_PACK) return false;
    if (q->fill >= 0 && n->count + more > (size_t)q->fill) return false;
    return listpack_size(n->pack) + more_bytes <= node_bytes_max(q);
}

/* A new node of this element alone before `next`. */
static struct quicklist_node *node_add(struct quicklist *q, struct slice text, size_t size,
                                       struct quicklist_node *next) {
    bool plain = LISTPACK_EMPTY_BYTES + size > node_bytes_max(q);
    struct quicklist_node *n = node_create(q, plain ? NODE_PLAIN : NODE_PACK);
    if (plain) {
        n->plain = plain_create(text);
    } else {
        n->pack = listpack_create();
        listpack_append(&n->pack, text);
    }
    n->count = 1;
    node_link(q, n, next);
    return n;
}

/* Adds an element to a node that has room: before `at`, 0 = at the end. */
static void node_insert(struct quicklist *q, struct quicklist_node *n, uint32_t at,
                        struct slice text) {
    change_begin(q, n);
    listpack_insert_before(&n->pack, at, text);
    n->count++;
    q->count++;
    change_end(q, n);
}

/* Deletes elements, but not all of the node's, from `at` on; returns the offset of the element that
 * followed. */
static uint32_t node_delete_elements(struct quicklist *q, struct quicklist_node *n, uint32_t at,
                                     size_t count) {
    change_begin(q, n);
    at = listpack_delete_range(&n->pack, at, count);
    n->count -= (uint32_t)count;
    q->count -= count;
    change_end(q, n);
    return at;
}

/* Merges a node with the one before it, if both together are less than half of a node's bound. */
static void node_join_prev(struct quicklist *q, struct quicklist_node *n) {
    struct quicklist_node *left = n ? n->prev : NULL;
    if (!left || n->form != NODE_PACK || left->form != NODE_PACK) return;
    size_t bytes = listpack_size(left->pack) + listpack_size(n->pack);
    if (bytes > node_bytes_max(q) / 2) return;
    if (q->fill >= 0 && (int)(left->count + n->count) > q->fill / 2) return;
    change_begin(q, left);
    listpack_merge(&left->pack, n->pack);
    left->count += n->count;
    q->count += n->count;
    change_end(q, left);
    node_delete(q, n);
    settle_ends(q);
}

/* ---- The list ---- */

struct quicklist *quicklist_create(int fill, unsigned depth) {
    struct quicklist *q = memory_alloc(sizeof(*q), MEMORY_DATASET);
    if (fill < QUICKLIST_FILL_MIN) fill = QUICKLIST_FILL_MIN;
    if (fill > QUICKLIST_FILL_MAX) fill = QUICKLIST_FILL_MAX;
    if (depth > QUICKLIST_DEPTH_MAX) depth = QUICKLIST_DEPTH_MAX;
    *q = (struct quicklist){
        .bytes = memory_good_size(sizeof(*q)), .fill = (int16_t)fill, .depth = (uint16_t)depth};
    return q;
}

bool quicklist_free_step(struct quicklist *q, size_t nodes_max) {
    q->walk = 0;
    for (size_t i = 0; i < nodes_max && q->head; i++) node_delete(q, q->head);
    if (q->head) return false;
    memory_free_sized(q, sizeof(*q), MEMORY_DATASET);
    return true;
}

void quicklist_free(struct quicklist *q) {
    if (q) quicklist_free_step(q, SIZE_MAX);
}

struct quicklist *quicklist_dup(const struct quicklist *q) {
    struct quicklist *copy = quicklist_create(q->fill, q->depth);
    for (const struct quicklist_node *n = q->head; n; n = n->next) {
        struct quicklist_node *twin = node_create(copy, n->form);
        twin->count = n->count;
        if (n->form == NODE_PACK) {
            twin->pack = listpack_dup(n->pack);
        } else if (n->form == NODE_PLAIN) {
            twin->plain = plain_create(blob_slice(n->plain));
        } else {
            size_t size = lzf_allocation(n->lzf);
            twin->lzf = memory_alloc(size, MEMORY_DATASET);
            memcpy(twin->lzf, n->lzf, size);
        }
        node_link(copy, twin, NULL);
    }
    return copy;
}

size_t quicklist_count(const struct quicklist *q) { return q->count; }
size_t quicklist_nodes(const struct quicklist *q) { return q->nodes; }
size_t quicklist_bytes(const struct quicklist *q) { return q->bytes; }
int quicklist_fill(const struct quicklist *q) { return q->fill; }
unsigned quicklist_depth(const struct quicklist *q) { return q->depth; }

/* ---- Moving blocks ---- */

#define NODES_ASKED (RELOCATION_ASK_MAX / 2) /* a node and its contents are two blocks */

static struct quicklist_node *node_relocate(struct quicklist *q, struct quicklist_node *n,
                                            struct relocation *r) {
    n = relocation_move(r, n, MEMORY_DATASET);
    *(n->prev ? &n->prev->next : &q->head) = n;
    *(n->next ? &n->next->prev : &q->tail) = n;
    return n;
}

/* Moves blocks of the next nodes; returns the node behind them. */
static struct quicklist_node *nodes_relocate(struct quicklist *q, struct quicklist_node *n,
                                             struct relocation *r) {
    struct quicklist_node *nodes[NODES_ASKED];
    void *asked[RELOCATION_ASK_MAX];
    unsigned count = 0;
    do {
        asked[2 * count] = n;
        asked[2 * count + 1] = n->pack; /* or one of the other forms */
        nodes[count++] = n;
        n = n->next;
    } while (n && count < NODES_ASKED);
    uint64_t wanted = relocation_ask(r, asked, 2 * count);
    for (unsigned i = 0; i < count; i++) {
        if (wanted >> 2 * i & 1) nodes[i] = node_relocate(q, nodes[i], r);
        if (wanted >> (2 * i + 1) & 1)
            nodes[i]->pack = relocation_move(r, nodes[i]->pack, MEMORY_DATASET);
    }
    return nodes[count - 1]->next;
}

bool quicklist_relocate_some(struct quicklist **q, bool begins, struct relocation *r) {
    if (begins || (*q)->walk == 0 || (*q)->walk != relocating.number) {
        *q = relocation_settle(r, *q, MEMORY_DATASET);
        if (++relocating.number == 0) relocating.number = 1;
        (*q)->walk = relocating.number;
        relocating.next = (*q)->head;
    }
    while (relocating.next && r->budget > 0)
        relocating.next = nodes_relocate(*q, relocating.next, r);
    return !relocating.next;
}

/* ---- The ends ---- */

void quicklist_push(struct quicklist *q, enum quicklist_end end, struct slice text) {
    struct quicklist_node *n = end == QUICKLIST_HEAD ? q->head : q->tail;
    size_t size = listpack_element_size(text);
    if (n && node_has_room(q, n, 1, size)) {
        node_insert(q, n, end == QUICKLIST_HEAD ? listpack_first(n->pack) : 0, text);
        return;
    }
    node_add(q, text, size, end == QUICKLIST_HEAD ? q->head : NULL);
    settle_ends(q);
}

bool quicklist_peek(const struct quicklist *q, enum quicklist_end end, struct listpack_value *v) {
    const struct quicklist_node *n = end == QUICKLIST_HEAD ? q->head : q->tail;
    if (!n) return false;
    ASSERT_SLOW(!is_compressed(n));
    if (n->form == NODE_PLAIN)
        *v = (struct listpack_value){blob_slice(n->plain), 0};
    else
        *v = listpack_get(n->pack,
                          end == QUICKLIST_HEAD ? listpack_first(n->pack) : listpack_last(n->pack));
    return true;
}

void quicklist_drop(struct quicklist *q, enum quicklist_end end) {
    struct quicklist_node *n = end == QUICKLIST_HEAD ? q->head : q->tail;
    if (n->count == 1) {
        node_delete(q, n);
        settle_ends(q);
        return;
    }
    uint32_t at = end == QUICKLIST_HEAD ? listpack_first(n->pack) : listpack_last(n->pack);
    node_delete_elements(q, n, at, 1);
}

void quicklist_take_pack(struct quicklist *q, struct listpack *lp) {
    struct quicklist_node *n = node_create(q, NODE_PACK);
    n->pack = lp;
    n->count = (uint32_t)listpack_count(lp);
    node_link(q, n, NULL);
    settle_ends(q);
}

/* ---- Cursors ---- */

/* The node's listpack as the cursor sees it. */
static struct listpack *cursor_pack(const struct quicklist_cursor *c) {
    return c->opened ? c->opened : c->node->pack;
}

static bool cursor_is_plain(const struct quicklist_cursor *c) {
    return c->node->form == NODE_PLAIN || c->node->form == NODE_PLAIN_LZF;
}

static void cursor_open(struct quicklist_cursor *c) {
    if (c->node->form == NODE_PACK_LZF) c->opened = pack_decompressed(c->node->lzf);
    if (c->node->form == NODE_PLAIN_LZF) c->opened_plain = plain_decompressed(c->node->lzf);
}

static void cursor_drop_copies(struct quicklist_cursor *c) {
    listpack_free(c->opened);
    blob_free(c->opened_plain, MEMORY_DATASET);
    c->opened = NULL;
    c->opened_plain = NULL;
}

/* Before the node changes: the cursor's decompressed copy becomes the node's contents. */
static void cursor_make_writable(struct quicklist_cursor *c) {
    struct quicklist_node *n = c->node;
    c->changed = true;
    if (!is_compressed(n)) return;
    change_begin(c->list, n);
    contents_free(n);
    if (n->form == NODE_PACK_LZF) {
        n->form = NODE_PACK;
        n->pack = c->opened;
    } else {
        n->form = NODE_PLAIN;
        n->plain = c->opened_plain;
    }
    c->opened = NULL;
    c->opened_plain = NULL;
    change_end(c->list, n);
}

/* Moves the cursor to the first element of `n` in its direction; `n` may be NULL. */
static bool cursor_enter(struct quicklist_cursor *c, struct quicklist_node *n) {
    c->node = n;
    c->at = 0;
    if (!n) return false;
    cursor_open(c);
    if (!cursor_is_plain(c))
        c->at = c->backwards ? listpack_last(cursor_pack(c)) : listpack_first(cursor_pack(c));
    return true;
}

/* Leaves a node for good: frees the cursor's copy and settles the node. Does not move the cursor.
 */
static void cursor_leave(struct quicklist_cursor *c) {
    cursor_drop_copies(c);
    if (!c->changed || !c->node) return;
    c->changed = false;
    struct quicklist_node *n = c->node;
    node_settle(c->list, n);
    node_join_prev(c->list, c->backwards ? n->next : n);
}

void quicklist_end(struct quicklist_cursor *c) {
    cursor_leave(c);
    c->node = NULL;
}

/* The node that holds the element `index`, which exists; `*offset` is its place in there. */
static struct quicklist_node *node_with(const struct quicklist *q, size_t index, size_t *offset) {
    struct quicklist_node *n;
    if (index < q->count / 2) {
        for (n = q->head; index >= n->count; n = n->next) index -= n->count;
        *offset = index;
        return n;
    }
    index = q->count - 1 - index; /* from the tail */
    for (n = q->tail; index >= n->count; n = n->prev) index -= n->count;
    *offset = n->count - 1 - index;
    return n;
}

bool quicklist_seek(struct quicklist *q, int64_t index, bool backwards,
                    struct quicklist_cursor *c) {
    *c = (struct quicklist_cursor){.list = q, .backwards = backwards};
    int64_t count = (int64_t)q->count;
    if (index >= count || index < -count) return false;
    size_t offset;
    c->node = node_with(q, (size_t)(index < 0 ? index + count : index), &offset);
    cursor_open(c);
    if (!cursor_is_plain(c)) c->at = listpack_seek(cursor_pack(c), (int64_t)offset);
    return true;
}

bool quicklist_step(struct quicklist_cursor *c) {
    if (!c->node) return false;
    if (!cursor_is_plain(c)) {
        struct listpack *lp = cursor_pack(c);
        uint32_t at = c->backwards ? listpack_prev(lp, c->at) : listpack_next(lp, c->at);
        if (at) {
            c->at = at;
            return true;
        }
    }
    struct quicklist_node *next = c->backwards ? c->node->prev : c->node->next;
    cursor_leave(c);
    return cursor_enter(c, next);
}

struct listpack_value quicklist_get(const struct quicklist_cursor *c) {
    if (cursor_is_plain(c)) {
        const struct blob *b = c->opened_plain ? c->opened_plain : c->node->plain;
        return (struct listpack_value){blob_slice(b), 0};
    }
    return listpack_get(cursor_pack(c), c->at);
}

bool quicklist_equal(const struct quicklist_cursor *c, struct slice text) {
    if (cursor_is_plain(c)) return slice_equal(quicklist_get(c).text, text);
    return listpack_equal(cursor_pack(c), c->at, text);
}

bool quicklist_delete(struct quicklist_cursor *c) {
    struct quicklist *q = c->list;
    struct quicklist_node *n = c->node, *next = c->backwards ? n->prev : n->next;
    if (n->count == 1) {
        cursor_drop_copies(c);
        c->changed = false;
        node_delete(q, n);
        settle_ends(q);
        return cursor_enter(c, next);
    }
    cursor_make_writable(c);
    uint32_t before = c->backwards ? listpack_prev(n->pack, c->at) : 0;
    uint32_t after = node_delete_elements(q, n, c->at, 1);
    c->at = c->backwards ? before : after;
    if (c->at) return true;
    cursor_leave(c);
    return cursor_enter(c, next);
}

/* Cuts a node before `at`, which is not its first element. */
static struct quicklist_node *node_split(struct quicklist *q, struct quicklist_node *n,
                                         uint32_t at) {
    struct quicklist_node *right = node_create(q, NODE_PACK);
    change_begin(q, n);
    right->pack = listpack_split(&n->pack, at);
    right->count = (uint32_t)listpack_count(right->pack);
    n->count -= right->count;
    q->count -= right->count;
    change_end(q, n);
    node_link(q, right, n->next);
    return right;
}

/* Puts an element between two nodes, either of which may be NULL: into a node with room, or into
 * one of its own. */
static void insert_between(struct quicklist *q, struct quicklist_node *left,
                           struct quicklist_node *right, struct slice text) {
    size_t size = listpack_element_size(text);
    struct quicklist_node *n;
    if (left && node_has_room(q, left, 1, size))
        node_insert(q, n = left, 0, text);
    else if (right && node_has_room(q, right, 1, size))
        node_insert(q, n = right, listpack_first(right->pack), text);
    else
        n = node_add(q, text, size, right);
    node_settle(q, n);
}

/* Inserts before the element at `at` of the node; 0 = behind its last. */
static void insert_at(struct quicklist *q, struct quicklist_node *n, uint32_t at,
                      struct slice text) {
    if (node_has_room(q, n, 1, listpack_element_size(text))) {
        node_insert(q, n, at, text);
        node_settle(q, n);
    } else if (!at) {
        insert_between(q, n, n->next, text);
        node_settle(q, n);
    } else if (n->form == NODE_PLAIN || at == listpack_first(n->pack)) {
        insert_between(q, n->prev, n, text);
        node_settle(q, n);
    } else {
        struct quicklist_node *right = node_split(q, n, at);
        insert_between(q, n, right, text);
        node_settle(q, right);
        node_settle(q, n);
    }
    settle_ends(q);
}

void quicklist_insert_before(struct quicklist_cursor *c, struct slice text) {
    cursor_make_writable(c);
    /* A long element has no offset; any number but 0 stands for it. */
    insert_at(c->list, c->node, c->node->form == NODE_PLAIN ? 1 : c->at, text);
    c->node = NULL;
}

void quicklist_insert_after(struct quicklist_cursor *c, struct slice text) {
    cursor_make_writable(c);
    struct quicklist_node *n = c->node;
    insert_at(c->list, n, n->form == NODE_PLAIN ? 0 : listpack_next(n->pack, c->at), text);
    c->node = NULL;
}

/* Whether the element at `at` may be replaced by one of `size` bytes: the node stays within its
 * bound, or was beyond it already and does not grow. */
static bool may_replace(const struct quicklist *q, const struct quicklist_node *n, uint32_t at,
                        size_t size) {
    size_t old = listpack_element_bytes(n->pack, at);
    return size <= old || listpack_size(n->pack) - old + size <= node_bytes_max(q);
}

void quicklist_replace(struct quicklist_cursor *c, struct slice text) {
    struct quicklist *q = c->list;
    cursor_make_writable(c);
    struct quicklist_node *n = c->node;
    size_t size = listpack_element_size(text);
    c->node = NULL;
    if (n->count == 1) {
        node_settle(q, node_add(q, text, size, n));
        node_delete(q, n);
    } else if (may_replace(q, n, c->at, size)) {
        change_begin(q, n);
        listpack_replace(&n->pack, c->at, text);
        change_end(q, n);
        node_settle(q, n);
    } else {
        insert_at(q, n, node_delete_elements(q, n, c->at, 1), text);
        node_settle(q, n);
    }
    settle_ends(q);
}

size_t quicklist_delete_range(struct quicklist *q, size_t index, size_t count) {
    if (index >= q->count) return 0;
    if (count > q->count - index) count = q->count - index;
    size_t offset, left = count;
    struct quicklist_node *n = left ? node_with(q, index, &offset) : NULL;
    while (left > 0) {
        struct quicklist_node *next = n->next;
        size_t here = n->count - offset < left ? n->count - offset : left;
        if (here == n->count) {
            node_delete(q, n);
        } else {
            node_decompress(q, n);
            node_delete_elements(q, n, listpack_seek(n->pack, (int64_t)offset), here);
            node_settle(q, n);
        }
        left -= here;
        offset = 0;
        n = next;
    }
    settle_ends(q);
    return count;
}

/* ---- For saving ---- */

const struct quicklist_node *quicklist_node_first(const struct quicklist *q) { return q->head; }
const struct quicklist_node *quicklist_node_next(const struct quicklist_node *n) { return n->next; }
size_t quicklist_node_count(const struct quicklist_node *n) { return n->count; }

void quicklist_node_each(const struct quicklist_node *n,
                         void (*visit)(const struct listpack_value *v, void *context),
                         void *context) {
    struct listpack *lp = n->form == NODE_PACK ? n->pack : NULL;
    struct blob *b = n->form == NODE_PLAIN ? n->plain : NULL;
    if (n->form == NODE_PACK_LZF) lp = pack_decompressed(n->lzf);
    if (n->form == NODE_PLAIN_LZF) b = plain_decompressed(n->lzf);
    for (uint32_t at = lp ? listpack_first(lp) : 0; at;) {
        struct listpack_value v = listpack_take(lp, &at);
        visit(&v, context);
    }
    if (b) visit(&(struct listpack_value){blob_slice(b), 0}, context);
    if (n->form == NODE_PACK_LZF) listpack_free(lp);
    if (n->form == NODE_PLAIN_LZF) blob_free(b, MEMORY_DATASET);
}

const struct listpack *quicklist_node_pack(const struct quicklist_node *n) {
    return n->form == NODE_PACK ? n->pack : NULL;
}

bool quicklist_node_to_ziplist(const struct quicklist_node *n, struct buffer *out) {
    if (n->form == NODE_PACK) {
        ziplist_from_listpack(n->pack, out);
    } else if (n->form == NODE_PACK_LZF) {
        struct listpack *lp = pack_decompressed(n->lzf);
        ziplist_from_listpack(lp, out);
        listpack_free(lp);
    } else if (n->form == NODE_PLAIN) {
        if (n->plain->length > QUICKLIST_TEXT_BYTES_MAX) return false;
        ziplist_from_text(blob_slice(n->plain), out);
    } else {
        struct blob *b = plain_decompressed(n->lzf);
        bool fits = b->length <= QUICKLIST_TEXT_BYTES_MAX;
        if (fits) ziplist_from_text(blob_slice(b), out);
        blob_free(b, MEMORY_DATASET);
        return fits;
    }
    return true;
}

/* ---- For DEBUG and tests ---- */

static size_t raw_size(const struct quicklist_node *n) {
    return is_compressed(n) ? n->lzf->raw_size : raw_contents(n).length;
}

void quicklist_stats(const struct quicklist *q, struct quicklist_stats *stats) {
    *stats = (struct quicklist_stats){0};
    for (const struct quicklist_node *n = q->head; n; n = n->next) {
        stats->compressed_nodes += is_compressed(n);
        stats->raw_bytes += raw_size(n);
        if (n->count > 1 && raw_size(n) > stats->widest_bytes) stats->widest_bytes = raw_size(n);
    }
}

static void node_check(const struct quicklist *q, const struct quicklist_node *n) {
    ASSERT(n->count > 0);
    ASSERT(n->next ? n->next->prev == n : q->tail == n);
    ASSERT(!is_compressed(n) || (q->depth && !is_near_end(q, n)));
    if (n->form == NODE_PLAIN || n->form == NODE_PLAIN_LZF) ASSERT(n->count == 1);
    if (n->form == NODE_PACK) {
        listpack_check(n->pack);
        ASSERT_COMPARE(listpack_count(n->pack), ==, n->count);
    } else if (n->form == NODE_PACK_LZF) {
        struct listpack *lp = pack_decompressed(n->lzf);
        listpack_check(lp);
        ASSERT_COMPARE(listpack_count(lp), ==, n->count);
        listpack_free(lp);
    }
}

void quicklist_check(const struct quicklist *q) {
    size_t count = 0, nodes = 0, bytes = memory_good_size(sizeof(*q));
    ASSERT(!q->head == !q->tail && (!q->head || !q->head->prev));
    for (const struct quicklist_node *n = q->head; n; n = n->next) {
        node_check(q, n);
        count += n->count;
        nodes++;
        bytes += memory_good_size(sizeof(*n)) + contents_bytes(n);
    }
    ASSERT_COMPARE(count, ==, q->count);
    ASSERT_COMPARE(nodes, ==, q->nodes);
    ASSERT_COMPARE(bytes, ==, q->bytes);
}
