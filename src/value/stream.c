/* SPDX-License-Identifier: BSD-3-Clause
 * The entries of streams: nodes, walking, deleting, trimming, and the type's row.
 *
 * A node is a listpack in the layout that RDB files hold, so saving one is a copy:
 *
 *   head   live entries | deleted entries | n | n field names | 0
 *   entry  flags | msec | sequence | texts | elements of this entry before this one
 *
 * An entry's ID is stored as the difference from its node's key. With ENTRY_SAME_FIELDS the entry's
 * texts are n values for the head's fields; otherwise they are a number of pairs, then fields and
 * values in turn. The number at an entry's end leads a walk downwards to the entry's beginning; the
 * head's 0 ends that walk.
 *
 * Deleting sets the entry's flag and changes two numbers in the head; a node without live entries
 * is freed. New entries go to the last node until it is full.
 *
 * Invariants (stream_check)
 *  1. A node is well formed (node_examine) and has a live entry.
 *  2. IDs of live entries rise, within a node and over all; each is its node's key or above it.
 *     (Those of deleted entries need not rise: XSETID may set a last ID below them.)
 *  3. No live entry is above `last_id`.
 *  4. `count` is the sum of live entries, `node_bytes` that of the nodes' memory; `tail_id` is the
 *     last node's key, and `tail`, where set, its place.
 *  5. `front`, where set, is a node whose first `front_bytes` bytes of entries are deleted ones,
 *     with an entry behind them. It spares exact trims, which keep a stream at its length, from
 *     walking over the same deleted entries each time.
 *
 * Groups stand in stream_groups.c.
 */
#include "value/stream.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/panic.h"
#include "base/relocation.h"
#include "ds/rax.h"
#include "option/option.h"
#include "value/rewritten.h"
#include "value/saved.h"
#include "value/stream_internal.h"

enum { ENTRY_DELETED = 1, ENTRY_SAME_FIELDS = 2 };

/* The most bytes that an element takes besides its text, and that a number takes. */
#define ELEMENT_EXTRA_BYTES 10
#define NUMBER_BYTES 10
#define HEAD_NUMBERS 4
#define ENTRY_NUMBERS 5

static int64_t node_bytes_max, node_entries_max;

/* ---- IDs ---- */

int stream_id_compare(struct stream_id a, struct stream_id b) {
    if (a.msec != b.msec) return a.msec < b.msec ? -1 : 1;
    if (a.sequence != b.sequence) return a.sequence < b.sequence ? -1 : 1;
    return 0;
}

bool stream_id_increase(struct stream_id *id) {
    if (id->sequence < UINT64_MAX) {
        id->sequence++;
        return true;
    }
    if (id->msec == UINT64_MAX) return false;
    *id = (struct stream_id){id->msec + 1, 0};
    return true;
}

bool stream_id_decrease(struct stream_id *id) {
    if (id->sequence > 0) {
        id->sequence--;
        return true;
    }
    if (id->msec == 0) return false;
    *id = (struct stream_id){id->msec - 1, UINT64_MAX};
    return true;
}

size_t stream_id_print(struct stream_id id, char text[STREAM_ID_CHARS]) {
    size_t length = number_format_uint64(text, id.msec);
    text[length++] = '-';
    length += number_format_uint64(text + length, id.sequence);
    text[length] = '\0';
    return length;
}

struct slice stream_id_key(struct stream_id id, char key[STREAM_KEY_BYTES]) {
    uint64_t parts[2] = {__builtin_bswap64(id.msec), __builtin_bswap64(id.sequence)};
    memcpy(key, parts, sizeof(parts));
    return (struct slice){key, STREAM_KEY_BYTES};
}

struct stream_id stream_id_of_key(struct slice key) {
    uint64_t parts[2];
    ASSERT_COMPARE(key.length, ==, STREAM_KEY_BYTES);
    memcpy(parts, key.bytes, sizeof(parts));
    return (struct stream_id){__builtin_bswap64(parts[0]), __builtin_bswap64(parts[1])};
}

/* ---- One node ---- */

struct node_head {
    int64_t live, deleted;
    uint64_t fields;
    uint32_t fields_at, entries_at; /* entries_at 0 = none */
};

struct entry {
    struct stream_id id;
    int64_t flags;
    uint64_t pairs;
    uint32_t texts_at; /* where there are no texts: the number at the entry's end */
};

static int64_t integer_at(const struct listpack *lp, uint32_t at) {
    return listpack_get(lp, at).integer;
}

static struct node_head head_read(const struct listpack *lp) {
    struct node_head h;
    uint32_t at = listpack_first(lp);
    h.live = listpack_take_integer(lp, &at);
    h.deleted = listpack_take_integer(lp, &at);
    h.fields = (uint64_t)listpack_take_integer(lp, &at);
    h.fields_at = at;
    h.entries_at = listpack_skip(lp, at, h.fields + 1);
    return h;
}

static struct entry entry_read(const struct listpack *lp, struct stream_id key,
                               uint64_t node_fields, uint32_t at) {
    struct entry e;
    e.flags = listpack_take_integer(lp, &at);
    e.id.msec = key.msec + (uint64_t)listpack_take_integer(lp, &at);
    e.id.sequence = key.sequence + (uint64_t)listpack_take_integer(lp, &at);
    e.pairs = node_fields;
    if (!(e.flags & ENTRY_SAME_FIELDS)) e.pairs = (uint64_t)listpack_take_integer(lp, &at);
    e.texts_at = at;
    return e;
}

static uint64_t text_count(const struct entry *e) {
    return e->flags & ENTRY_SAME_FIELDS ? e->pairs : 2 * e->pairs;
}

/* The entry behind `e`, 0 at the end. */
static uint32_t entry_after(const struct listpack *lp, const struct entry *e) {
    return listpack_skip(lp, e->texts_at, text_count(e) + 1);
}

/* The entry that ends before `at` (0 = the node's end); 0 where the head ends there. */
static uint32_t entry_before(const struct listpack *lp, uint32_t at) {
    at = at ? listpack_prev(lp, at) : listpack_last(lp);
    int64_t elements = integer_at(lp, at);
    if (elements == 0) return 0;
    while (elements-- > 0) at = listpack_prev(lp, at);
    return at;
}

/* ---- The tree of nodes ---- */

#define KEY_BUFFER_BYTES (STREAM_KEY_BYTES + 1)

/* A buffer over the caller's bytes, in which a key fits, so that a search allocates nothing. */
static struct buffer key_buffer(char bytes[KEY_BUFFER_BYTES]) {
    return (struct buffer){bytes, 0, KEY_BUFFER_BYTES, MEMORY_OTHER};
}

/* The node whose key has this relation to `id`; `*key` becomes its key. NULL where there is none.
 */
static struct listpack *node_seek(const struct stream *s, enum rax_relation relation,
                                  struct stream_id id, struct stream_id *key) {
    char bytes[KEY_BUFFER_BYTES];
    struct buffer found = key_buffer(bytes);
    void *node;
    struct slice from = stream_id_key(id, bytes);
    if (!rax_seek(s->nodes, relation, from, &found, &node)) return NULL;
    *key = stream_id_of_key(buffer_slice(&found));
    return node;
}

static void **node_slot(const struct stream *s, struct stream_id key) {
    char bytes[STREAM_KEY_BYTES];
    void **slot = rax_find(s->nodes, stream_id_key(key, bytes));
    ASSERT(slot);
    return slot;
}

static void node_add(struct stream *s, struct stream_id key, struct listpack *lp) {
    char bytes[STREAM_KEY_BYTES];
    ASSERT(rax_insert(s->nodes, stream_id_key(key, bytes), lp, NULL));
    s->node_bytes += listpack_memory(lp);
    s->tail_id = key;
    s->tail = NULL;
}

static void node_remove(struct stream *s, struct stream_id key) {
    char bytes[STREAM_KEY_BYTES];
    void *lp;
    ASSERT(rax_remove(s->nodes, stream_id_key(key, bytes), &lp));
    s->node_bytes -= listpack_memory(lp);
    if (lp == s->front) s->front = NULL;
    listpack_free(lp);
    s->tail = NULL;
    if (stream_id_compare(key, s->tail_id) == 0) node_seek(s, RAX_LAST, key, &s->tail_id);
}

/* Stores a node that was changed and may have moved; `before` is its memory before the change. */
static void node_store(struct stream *s, void **slot, struct listpack *lp, size_t before) {
    if (s->front == *slot) s->front = lp;
    *slot = lp;
    s->node_bytes += listpack_memory(lp) - before;
}

static void **tail_slot(struct stream *s) {
    if (!s->tail) s->tail = node_slot(s, s->tail_id);
    return s->tail;
}

/* ---- The value ---- */

struct value stream_create(void) {
    struct stream *s = memory_alloc(sizeof(*s), MEMORY_DATASET);
    *s = (struct stream){.nodes = rax_create()};
    return (struct value){s, 0};
}

static void release_node(void *node, void *context) {
    struct stream *s = context;
    s->node_bytes -= listpack_memory(node);
    listpack_free(node);
}

/* Frees the nodes first, whose tree is NULL then, and the groups after them. */
static bool stream_release_step(struct value v, size_t effort) {
    struct stream *s = stream_of(v);
    if (s->nodes) {
        size_t nodes = rax_count(s->nodes);
        if (!rax_free_step(s->nodes, effort, release_node, s)) return false;
        s->nodes = NULL;
        if (s->groups && effort <= nodes) return false;
        effort -= nodes;
    }
    if (s->groups && !stream_groups_free_step(s, effort)) return false;
    memory_free_sized(s, sizeof(*s), MEMORY_DATASET);
    return true;
}

void stream_free(struct value v) { (void)stream_release_step(v, SIZE_MAX); }

uint64_t stream_count(struct value v) { return stream_of(v)->count; }

struct stream_id stream_last_id(struct value v) {
    return stream_of(v)->last_id;
}

const struct rax *stream_nodes(struct value v) { return stream_of(v)->nodes; }

void stream_set_last_id(struct value v, struct stream_id id) {
    struct stream_id top;
    ASSERT(!stream_top_id(v, &top) || stream_id_compare(id, top) >= 0);
    stream_of(v)->last_id = id;
}

static bool edge_id(struct value v, bool top, struct stream_id *id) {
    struct stream_cursor c;
    stream_cursor_start(&c, v, (struct stream_id){0, 0}, STREAM_ID_MAX, top);
    if (!stream_cursor_step(&c)) return false;
    *id = c.id;
    return true;
}

bool stream_top_id(struct value v, struct stream_id *id) { return edge_id(v, true, id); }

bool stream_bottom_id(struct value v, struct stream_id *id) { return edge_id(v, false, id); }

/* ---- Adding ---- */

static bool has_fields(const struct listpack *lp, const struct node_head *h,
                       const struct slice *texts, size_t pairs) {
    uint32_t at = h->fields_at;
    if (h->fields != pairs) return false;
    for (size_t i = 0; i < pairs; i++, at = listpack_next(lp, at))
        if (!listpack_equal(lp, at, texts[2 * i])) return false;
    return true;
}

/* A node takes an entry while it is below both limits. The bytes of the new texts count, the bytes
 * that the layout adds do not: as in 6.2, because XTRIM's `~` shows where nodes end. */
static bool node_is_full(const struct listpack *lp, const struct node_head *h, size_t text_bytes) {
    size_t bytes = listpack_size(lp) + text_bytes;
    return (node_bytes_max > 0 && bytes >= (uint64_t)node_bytes_max) ||
           (node_entries_max > 0 && h->live + h->deleted >= node_entries_max);
}

/* Elements that are collected to be appended to a listpack. */
struct batch {
    struct listpack **lp;
    size_t count;
    struct listpack_value values[LISTPACK_BATCH];
};

static void batch_flush(struct batch *b) {
    listpack_append_batch(b->lp, b->values, b->count);
    b->count = 0;
}

static void batch_put_integer(struct batch *b, uint64_t integer) {
    if (b->count == LISTPACK_BATCH) batch_flush(b);
    b->values[b->count++] = (struct listpack_value){{NULL, 0}, (int64_t)integer};
}

static void batch_put_text(struct batch *b, struct slice text) {
    if (b->count == LISTPACK_BATCH) batch_flush(b);
    b->values[b->count++] = (struct listpack_value){text.length > 0 ? text : SLICE(""), 0};
}

static struct listpack *node_create(const struct slice *texts, size_t pairs) {
    struct listpack *lp = listpack_create();
    struct batch b;
    b.lp = &lp;
    b.count = 0;
    batch_put_integer(&b, 0);
    batch_put_integer(&b, 0);
    batch_put_integer(&b, pairs);
    for (size_t i = 0; i < pairs; i++) batch_put_text(&b, texts[2 * i]);
    batch_put_integer(&b, 0);
    batch_flush(&b);
    return lp;
}

static void entry_append(struct listpack **lp, bool same_fields, struct stream_id difference,
                         const struct slice *texts, size_t pairs) {
    struct batch b;
    b.lp = lp;
    b.count = 0;
    batch_put_integer(&b, same_fields ? ENTRY_SAME_FIELDS : 0);
    batch_put_integer(&b, difference.msec);
    batch_put_integer(&b, difference.sequence);
    if (!same_fields) batch_put_integer(&b, pairs);
    for (size_t i = 0; i < pairs; i++) {
        if (!same_fields) batch_put_text(&b, texts[2 * i]);
        batch_put_text(&b, texts[2 * i + 1]);
    }
    batch_put_integer(&b, same_fields ? pairs + 3 : 2 * pairs + 4);
    batch_flush(&b);
}

bool stream_append(struct value v, struct stream_id id, const struct slice *texts, size_t pairs) {
    struct stream *s = stream_of(v);
    ASSERT(stream_id_compare(id, s->last_id) > 0);
    size_t text_bytes = 0, room = (HEAD_NUMBERS + ENTRY_NUMBERS) * NUMBER_BYTES;
    for (size_t i = 0; i < 2 * pairs; i++) {
        text_bytes += texts[i].length;
        room += texts[i].length + ELEMENT_EXTRA_BYTES;
        if (room > LISTPACK_BYTES_MAX - LISTPACK_EMPTY_BYTES) return false;
    }
    struct listpack *lp = NULL;
    struct node_head h = {0};
    if (rax_count(s->nodes) > 0) {
        lp = *tail_slot(s);
        h = head_read(lp);
        if (node_is_full(lp, &h, text_bytes) || !listpack_has_room(lp, room)) lp = NULL;
    }
    bool same_fields = !lp || has_fields(lp, &h, texts, pairs);
    if (!lp) {
        lp = node_create(texts, pairs);
        h = (struct node_head){0};
        node_add(s, id, lp);
    }
    size_t before = listpack_memory(lp);
    struct stream_id difference = {id.msec - s->tail_id.msec, id.sequence - s->tail_id.sequence};
    listpack_replace_integer(&lp, listpack_first(lp), h.live + 1);
    entry_append(&lp, same_fields, difference, texts, pairs);
    node_store(s, tail_slot(s), lp, before);
    s->count++;
    s->last_id = id;
    return true;
}

/* ---- Deleting ---- */

/* Marks the entry at `at` as deleted; returns the entry behind it. */
static uint32_t entry_mark_deleted(struct listpack **lp, struct stream_id key, uint64_t node_fields,
                                   uint32_t at) {
    listpack_replace_integer(lp, at, integer_at(*lp, at) | ENTRY_DELETED);
    struct entry e = entry_read(*lp, key, node_fields, at);
    return entry_after(*lp, &e);
}

/* Stores a node of which `deleted` live entries were marked, and frees it where none is left.
 * `before` is its memory before the change. Returns the node's present address, NULL = freed. */
static const struct listpack *node_settle(struct stream *s, struct stream_id key,
                                          struct listpack *lp, size_t before, uint64_t deleted) {
    struct node_head h = head_read(lp);
    ASSERT_COMPARE(deleted, <=, (uint64_t)h.live);
    h.live -= (int64_t)deleted;
    h.deleted += (int64_t)deleted;
    uint32_t at = listpack_first(lp);
    listpack_replace_integer(&lp, at, h.live);
    listpack_replace_integer(&lp, listpack_next(lp, at), h.deleted);
    node_store(s, node_slot(s, key), lp, before);
    s->count -= deleted;
    if (h.live > 0) return lp;
    node_remove(s, key);
    return NULL;
}

bool stream_delete(struct value v, struct stream_id id) {
    struct stream *s = stream_of(v);
    struct stream_cursor c;
    stream_cursor_start(&c, v, id, id, false);
    if (!stream_cursor_step(&c)) return false;
    struct listpack *lp = *node_slot(s, c.node_id);
    size_t before = listpack_memory(lp);
    entry_mark_deleted(&lp, c.node_id, c.node_fields, c.entry_at);
    node_settle(s, c.node_id, lp, before, 1);
    return true;
}

/* Whether the trim deletes the whole oldest node. By ID deleted entries count, too, as in 6.2. */
static bool node_goes(const struct stream *s, const struct stream_trim *trim,
                      const struct listpack *lp, struct stream_id key, const struct node_head *h) {
    if (trim->by == STREAM_TRIM_COUNT) return s->count - (uint64_t)h->live >= trim->count;
    struct entry newest = entry_read(lp, key, h->fields, entry_before(lp, 0));
    return stream_id_compare(newest.id, trim->id) < 0;
}

/* Bytes at the beginning of a node's entries that hold deleted entries only. */
static uint32_t deleted_bytes(const struct stream *s, const struct listpack *lp) {
    return lp == s->front ? s->front_bytes : 0;
}

/* Deletes those entries of the oldest node that the trim covers; true where that was all of them,
 * so that the node is freed. */
static bool node_trim(struct stream *s, const struct stream_trim *trim, struct listpack *lp,
                      struct stream_id key, const struct node_head *h) {
    size_t before = listpack_memory(lp);
    uint64_t deleted = 0;
    uint32_t at = h->entries_at + deleted_bytes(s, lp);
    while (at) {
        struct entry e = entry_read(lp, key, h->fields, at);
        if (e.flags & ENTRY_DELETED) {
            at = entry_after(lp, &e);
            continue;
        }
        if (trim->by == STREAM_TRIM_COUNT ? s->count - deleted <= trim->count
                                          : stream_id_compare(e.id, trim->id) >= 0)
            break;
        at = entry_mark_deleted(&lp, key, h->fields, at);
        deleted++;
    }
    const struct listpack *left = lp;
    if (deleted > 0) left = node_settle(s, key, lp, before, deleted);
    if (!left) return true;
    s->front = left;
    s->front_bytes = at - h->entries_at;
    return false;
}

uint64_t stream_trim(struct value v, const struct stream_trim *trim) {
    struct stream *s = stream_of(v);
    uint64_t before = s->count;
    if (trim->by == STREAM_TRIM_NOT) return 0;
    while (s->count > (trim->by == STREAM_TRIM_COUNT ? trim->count : 0)) {
        struct stream_id key;
        struct listpack *lp = node_seek(s, RAX_FIRST, trim->id, &key);
        ASSERT_SLOW(lp); /* an entry that is counted has a node */
        struct node_head h = head_read(lp);
        uint64_t seen = before - s->count + (uint64_t)h.live;
        if (trim->whole_nodes && trim->limit > 0 && seen > trim->limit) break;
        if (node_goes(s, trim, lp, key, &h)) {
            s->count -= (uint64_t)h.live;
            node_remove(s, key);
        } else if (trim->whole_nodes || !node_trim(s, trim, lp, key, &h)) {
            break;
        }
    }
    return before - s->count;
}

/* ---- Walking ---- */

static void cursor_enter(struct stream_cursor *c, const struct listpack *node) {
    c->node = node;
    c->entry_at = 0;
    if (!node) return;
    struct node_head h = head_read(node);
    c->node_fields = h.fields;
    c->node_fields_at = h.fields_at;
    c->entries_at = h.entries_at + deleted_bytes(c->stream, node);
}

/* For a walk upwards: looks for `first` from the node's end if it seems to be nearer to that,
 * because the usual reader wants the newest entries. */
static void cursor_approach(struct stream_cursor *c) {
    uint32_t at = entry_before(c->node, 0), from = 0;
    struct entry e = entry_read(c->node, c->node_id, c->node_fields, at);
    bool by_msec = e.id.msec != c->node_id.msec;
    uint64_t all = by_msec ? e.id.msec - c->node_id.msec : e.id.sequence - c->node_id.sequence;
    uint64_t way =
        by_msec ? c->first.msec - c->node_id.msec : c->first.sequence - c->node_id.sequence;
    if (way <= all / 2) return;
    for (; at; at = entry_before(c->node, at)) {
        e = entry_read(c->node, c->node_id, c->node_fields, at);
        if (e.flags & ENTRY_DELETED) continue;
        int order = stream_id_compare(e.id, c->first);
        if (order >= 0) from = at;
        if (order <= 0) break;
    }
    c->entries_at = from;
}

void stream_cursor_start(struct stream_cursor *c, struct value v, struct stream_id first,
                         struct stream_id last, bool backwards) {
    struct stream *s = stream_of(v);
    *c = (struct stream_cursor){.stream = s, .first = first, .last = last, .backwards = backwards};
    if (rax_count(s->nodes) == 0 || stream_id_compare(first, last) > 0) return;
    struct stream_id from = backwards ? last : first;
    const struct listpack *node;
    bool is_inside = true;
    if (stream_id_compare(from, s->tail_id) >= 0) {
        node = *tail_slot(s);
        c->node_id = s->tail_id;
    } else {
        node = node_seek(s, RAX_AT_MOST, from, &c->node_id);
        is_inside = node != NULL;
        if (!node && !backwards) node = node_seek(s, RAX_FIRST, from, &c->node_id);
    }
    cursor_enter(c, node);
    if (is_inside && !backwards) cursor_approach(c);
}

/* The next entry of the walk, live or deleted; 0 at the node's end. */
static uint32_t cursor_advance(const struct stream_cursor *c) {
    if (c->backwards) return entry_before(c->node, c->entry_at);
    if (!c->entry_at) return c->entries_at;
    size_t left = c->shares_fields ? c->pairs_left : 2 * c->pairs_left;
    return listpack_skip(c->node, c->text_at, left + 1);
}

static void cursor_next_node(struct stream_cursor *c) {
    enum rax_relation relation = c->backwards ? RAX_BELOW : RAX_ABOVE;
    bool is_last = !c->backwards && stream_id_compare(c->node_id, c->stream->tail_id) == 0;
    cursor_enter(c, is_last ? NULL : node_seek(c->stream, relation, c->node_id, &c->node_id));
}

bool stream_cursor_step(struct stream_cursor *c) {
    while (c->node) {
        uint32_t at = cursor_advance(c);
        if (!at) {
            cursor_next_node(c);
            continue;
        }
        struct entry e = entry_read(c->node, c->node_id, c->node_fields, at);
        c->id = e.id;
        c->entry_at = at;
        c->pairs = c->pairs_left = e.pairs;
        c->shares_fields = e.flags & ENTRY_SAME_FIELDS;
        c->text_at = e.texts_at;
        c->field_at = c->node_fields_at;
        if (e.flags & ENTRY_DELETED) continue;
        bool below = stream_id_compare(e.id, c->first) < 0;
        bool above = stream_id_compare(e.id, c->last) > 0;
        if (!below && !above) return true;
        if (c->backwards ? below : above) c->node = NULL;
    }
    return false;
}

bool stream_cursor_pair(struct stream_cursor *c, struct listpack_value *field,
                        struct listpack_value *text) {
    if (c->pairs_left == 0) return false;
    c->pairs_left--;
    *field = listpack_take(c->node, c->shares_fields ? &c->field_at : &c->text_at);
    *text = listpack_take(c->node, &c->text_at);
    return true;
}

bool stream_has(struct value v, struct stream_id id) {
    struct stream_cursor c;
    stream_cursor_start(&c, v, id, id, false);
    return stream_cursor_step(&c);
}

/* ---- Foreign nodes ---- */

/* Reads a valid listpack whose elements are not known to be those of a node. */
struct examination {
    const struct listpack *lp;
    uint32_t at; /* 0 = at the end */
};

static bool take_integer(struct examination *x, int64_t *integer) {
    if (!x->at) return false;
    struct listpack_value v = listpack_take(x->lp, &x->at);
    *integer = v.integer;
    return !v.text.bytes;
}

static bool take_number(struct examination *x, uint64_t *number) {
    int64_t integer;
    if (!take_integer(x, &integer) || integer < 0) return false;
    *number = (uint64_t)integer;
    return true;
}

/* Skips `count` texts, but not beyond the end. */
static void pass_texts(struct examination *x, uint64_t count) {
    if (x->at) x->at = listpack_skip(x->lp, x->at, count);
}

static bool take_entry(struct examination *x, struct stream_id key, uint64_t node_fields,
                       struct entry *e) {
    int64_t msec, sequence;
    uint64_t elements;
    if (!take_integer(x, &e->flags) || e->flags & ~(ENTRY_DELETED | ENTRY_SAME_FIELDS) ||
        !take_integer(x, &msec) || !take_integer(x, &sequence))
        return false;
    e->id = (struct stream_id){key.msec + (uint64_t)msec, key.sequence + (uint64_t)sequence};
    e->pairs = node_fields;
    bool same_fields = e->flags & ENTRY_SAME_FIELDS;
    if (!same_fields && !take_number(x, &e->pairs)) return false;
    uint64_t texts = text_count(e);
    pass_texts(x, texts);
    return take_number(x, &elements) && elements == texts + (same_fields ? 3 : 4);
}

/* Whether a listpack is a valid node for this key. `*live` becomes the number of its live entries,
 * `*last` the ID of the last of them. */
static bool node_examine(const struct listpack *lp, struct stream_id key, uint64_t *live,
                         struct stream_id *last) {
    struct examination x = {lp, listpack_first(lp)};
    uint64_t stated_live, stated_deleted, fields, end, deleted = 0;
    if (!take_number(&x, &stated_live) || !take_number(&x, &stated_deleted) ||
        !take_number(&x, &fields))
        return false;
    pass_texts(&x, fields);
    if (!take_number(&x, &end) || end != 0) return false;
    *live = 0;
    while (x.at) {
        struct entry e;
        if (!take_entry(&x, key, fields, &e)) return false;
        if (e.flags & ENTRY_DELETED) {
            deleted++;
            continue;
        }
        if (e.pairs == 0) return false; /* XADD could not recreate such an entry */
        if (stream_id_compare(e.id, key) < 0) return false;
        if (*live > 0 && stream_id_compare(e.id, *last) <= 0) return false;
        *last = e.id;
        (*live)++;
    }
    return *live == stated_live && deleted == stated_deleted;
}

bool stream_take_node(struct value v, struct stream_id id, const void *bytes, size_t size) {
    struct stream *s = stream_of(v);
    uint64_t live;
    struct stream_id last;
    if (stream_id_compare(id, s->last_id) <= 0) return false;
    /* Leaves room, because the number of deleted entries may grow to take more bytes. */
    if (size > LISTPACK_BYTES_MAX - NUMBER_BYTES) return false;
    struct listpack *lp = listpack_from_foreign(bytes, size);
    if (!lp) return false;
    bool good = node_examine(lp, id, &live, &last);
    if (!good || live == 0) {
        listpack_free(lp);
        return good;
    }
    node_add(s, id, lp);
    s->count += live;
    s->last_id = last;
    return true;
}

static void front_check(const struct stream *s) {
    struct stream_id key;
    const struct listpack *lp = node_seek(s, RAX_FIRST, s->last_id, &key);
    while (lp && lp != s->front) lp = node_seek(s, RAX_ABOVE, key, &key);
    ASSERT(lp);
    struct node_head h = head_read(lp);
    uint32_t at = h.entries_at;
    while (at && at < h.entries_at + s->front_bytes) {
        struct entry e = entry_read(lp, key, h.fields, at);
        ASSERT(e.flags & ENTRY_DELETED);
        at = entry_after(lp, &e);
    }
    ASSERT_COMPARE(at, ==, h.entries_at + s->front_bytes);
}

void stream_check(struct value v) {
    const struct stream *s = stream_of(v);
    uint64_t count = 0;
    size_t bytes = 0;
    struct stream_id key, last = {0, 0};
    const struct listpack *lp = node_seek(s, RAX_FIRST, last, &key);
    rax_check(s->nodes);
    for (; lp; lp = node_seek(s, RAX_ABOVE, key, &key)) {
        uint64_t live;
        listpack_check(lp);
        ASSERT(stream_id_compare(key, last) > 0);
        ASSERT(node_examine(lp, key, &live, &last) && live > 0);
        count += live;
        bytes += listpack_memory(lp);
    }
    ASSERT_COMPARE(count, ==, s->count);
    ASSERT_COMPARE(bytes, ==, s->node_bytes);
    ASSERT(stream_id_compare(last, s->last_id) <= 0);
    if (count > 0) {
        ASSERT(node_seek(s, RAX_LAST, last, &key));
        ASSERT(stream_id_compare(key, s->tail_id) == 0);
        ASSERT(!s->tail || s->tail == node_slot(s, key));
    }
    if (s->front) front_check(s);
    stream_groups_check(s);
}

/* ---- The type's row ---- */

static struct value stream_copy(struct value v, struct slice key, struct slice to) {
    const struct stream *s = stream_of(v);
    struct value copy = stream_create();
    struct stream *c = stream_of(copy);
    struct stream_id id = {0, 0};
    const struct listpack *lp = node_seek(s, RAX_FIRST, id, &id);
    for (; lp; lp = node_seek(s, RAX_ABOVE, id, &id)) node_add(c, id, listpack_dup(lp));
    c->count = s->count;
    c->last_id = s->last_id;
    stream_groups_copy(s, c);
    return copy;
}

/* The digest covers entries only. Not the last ID, as in 6.2; nor the groups, because deliveries
 * and their times differ between a primary and its replicas, which are compared by digests. */
static void stream_digest(struct value v, struct value_digest *d) {
    char scratch[LISTPACK_SCRATCH], id[2 * NUMBER_INT64_CHARS];
    struct listpack_value field, text;
    struct stream_cursor c;
    stream_cursor_start(&c, v, (struct stream_id){0, 0}, STREAM_ID_MAX, false);
    while (stream_cursor_step(&c)) {
        int length = snprintf(id, sizeof(id), "%" PRIu64 ".%" PRIu64, c.id.msec, c.id.sequence);
        value_digest_next(d, (struct slice){id, (size_t)length});
        while (stream_cursor_pair(&c, &field, &text)) {
            value_digest_next(d, listpack_value_text(&field, scratch));
            value_digest_next(d, listpack_value_text(&text, scratch));
        }
    }
}

static size_t stream_value_bytes(struct value v) {
    const struct stream *s = stream_of(v);
    size_t tree_bytes = s->nodes ? rax_bytes(s->nodes) : 0; /* NULL: half freed */
    return memory_good_size(sizeof(*s)) + tree_bytes + s->node_bytes + stream_groups_bytes(s);
}

static size_t stream_free_effort(struct value v, struct slice key) {
    const struct stream *s = stream_of(v);
    return 1 + rax_count(s->nodes) + stream_groups_free_effort(s);
}

/* ---- Saving ----
 *
 *   nodes      their number, then each one's key (16 bytes, highest first) and listpack, as texts
 *   tail       entries, last ID
 *   groups     their number, then each one's name, last ID,
 *                what is pending: number, then ID (16 bytes), time (8), deliveries
 *                consumers: number, then name, time (8), number of IDs pending for it, and these
 *
 * The format has a pending entry twice: in the group, and, without time and deliveries, in its
 * consumer. In memory it is one block that always has a consumer, so the group's part is kept aside
 * until the consumers have been read. */

enum phase { BEGIN, NODES, TAIL, GROUP, PENDING, CONSUMER, CONSUMER_PENDING, END };

/* Sets `key` to the key behind it, or to the first key; false where there is none. */
static bool next_key(const struct rax *r, bool first, struct buffer *key, void **value) {
    if (!r) return false;
    return rax_seek(r, first ? RAX_FIRST : RAX_ABOVE, buffer_slice(key), key, value);
}

static void save_id(struct sink *out, struct stream_id id) {
    saved_write_length(out, id.msec);
    saved_write_length(out, id.sequence);
}

/* Writes the IDs in `r` behind names[2], the last one written, and counts them in at[0]. True when
 * all are written. */
static bool save_pending(const struct rax *r, struct save_cursor *c, struct sink *out, bool whole) {
    void *value;
    for (; c->budget > 0; c->budget--, c->at[0]++) {
        if (!next_key(r, c->at[0] == 0, &c->names[2], &value)) break;
        sink_write(out, c->names[2].bytes, STREAM_KEY_BYTES);
        if (!whole) continue;
        const struct stream_pending *p = value;
        saved_write_number(out, (uint64_t)p->delivered_msec, 8);
        saved_write_length(out, p->deliveries);
    }
    return c->at[0] == rax_count(r);
}

static unsigned save_nodes(struct value v, struct save_cursor *c, struct sink *out) {
    void *node;
    for (; c->budget > 0; c->at[0]++) {
        if (!next_key(stream_nodes(v), c->at[0] == 0, &c->names[2], &node)) break;
        struct slice bytes = {(const char *)listpack_bytes(node), listpack_size(node)};
        saved_write_text(out, buffer_slice(&c->names[2]));
        saved_write_text(out, bytes);
        value_spend(&c->budget, 1, bytes.length);
    }
    return c->at[0] == rax_count(stream_nodes(v)) ? TAIL : NODES;
}

static unsigned save_tail(struct value v, struct save_cursor *c, struct sink *out) {
    const struct rax *groups = stream_groups(v);
    saved_write_length(out, stream_count(v));
    save_id(out, stream_last_id(v));
    saved_write_length(out, groups ? rax_count(groups) : 0);
    c->at[1] = 0;
    return GROUP;
}

/* The next group's head; at[1] counts groups. */
static unsigned save_group(struct value v, struct save_cursor *c, struct sink *out) {
    void *value;
    if (!next_key(stream_groups(v), c->at[1]++ == 0, &c->names[0], &value)) return END;
    const struct stream_group *g = value;
    saved_write_text(out, buffer_slice(&c->names[0]));
    value_spend(&c->budget, 1, c->names[0].length);
    save_id(out, g->last_id);
    saved_write_length(out, rax_count(g->pending));
    c->place = g;
    c->at[0] = 0;
    return PENDING;
}

/* Writes the next consumer's head; at[0] is UINT64_MAX before the first one. */
static unsigned save_consumer(struct save_cursor *c, struct sink *out) {
    const struct stream_group *g = c->place;
    void *value;
    bool first = c->at[0] == UINT64_MAX;
    if (first) saved_write_length(out, rax_count(g->consumers));
    if (!next_key(g->consumers, first, &c->names[1], &value)) return GROUP;
    const struct stream_consumer *consumer = value;
    saved_write_text(out, consumer->name);
    value_spend(&c->budget, 1, consumer->name.length);
    saved_write_number(out, (uint64_t)consumer->seen_msec, 8);
    saved_write_length(out, rax_count(consumer->pending));
    c->at[0] = 0;
    return CONSUMER_PENDING;
}

static unsigned save_consumer_pending(struct save_cursor *c, struct sink *out) {
    const struct stream_group *g = c->place;
    const struct stream_consumer *consumer = *rax_find(g->consumers, buffer_slice(&c->names[1]));
    return save_pending(consumer->pending, c, out, false) ? CONSUMER : CONSUMER_PENDING;
}

/* at[0] counts the things that the phase has written; `names` are those of the group and the
 * consumer, and the key, that were reached. */
static bool stream_save(struct value v, struct save_cursor *c, struct sink *out) {
    if (c->phase == BEGIN) {
        for (size_t i = 0; i < sizeof(c->names) / sizeof(c->names[0]); i++)
            buffer_init(&c->names[i], MEMORY_OTHER);
        saved_write_length(out, rax_count(stream_nodes(v)));
        c->phase = NODES;
    }
    while (c->phase != END && c->budget > 0) {
        switch (c->phase) {
        case NODES: c->phase = save_nodes(v, c, out); break;
        case TAIL: c->phase = save_tail(v, c, out); break;
        case GROUP: c->phase = save_group(v, c, out); break;
        case PENDING: {
            const struct stream_group *g = c->place;
            if (!save_pending(g->pending, c, out, true)) break;
            c->at[0] = UINT64_MAX;
            c->phase = CONSUMER;
            break;
        }
        case CONSUMER: c->phase = save_consumer(c, out); break;
        default: c->phase = save_consumer_pending(c, out); break;
        }
    }
    if (c->phase != END) return false;
    save_cursor_end(c);
    return true;
}

/* ---- Rewriting ----
 *
 * Writes the entries, the last ID, which may be above them, and the groups, each with its consumers
 * and their pending entries. A stream without entries is created by an XADD that deletes its own
 * entry. */

enum rewrite_phase {
    REWRITE_ENTRIES,
    REWRITE_LAST_ID,
    REWRITE_GROUP,
    REWRITE_CONSUMER,
    REWRITE_PENDING,
    REWRITE_END
};

static void rewrite_id(struct sink *out, struct stream_id id) {
    char text[STREAM_ID_CHARS];
    rewritten_text(out, (struct slice){text, stream_id_print(id, text)});
}

static void rewrite_words(struct sink *out, uint64_t words, struct slice first, struct slice key) {
    rewritten_begin(out, words);
    rewritten_text(out, first);
    rewritten_text(out, key);
}

/* Begins an XGROUP command of so many words: subcommand, key, group. */
static void rewrite_group_words(struct sink *out, uint64_t words, const char *subcommand,
                                struct slice key, const struct save_cursor *c) {
    rewritten_begin(out, words);
    rewritten_text(out, SLICE("XGROUP"));
    rewritten_text(out, slice_of(subcommand));
    rewritten_text(out, key);
    rewritten_text(out, buffer_slice(&c->names[0]));
}

static void rewrite_entry(struct sink *out, struct slice key, struct stream_cursor *entry) {
    char scratch[LISTPACK_SCRATCH];
    struct listpack_value field, text;
    rewrite_words(out, 3 + 2 * (uint64_t)entry->pairs, SLICE("XADD"), key);
    rewrite_id(out, entry->id);
    while (stream_cursor_pair(entry, &field, &text)) {
        rewritten_text(out, listpack_value_text(&field, scratch));
        rewritten_text(out, listpack_value_text(&text, scratch));
    }
}

static void rewrite_no_entry(struct sink *out, struct slice key) {
    static const char *const words[] = {"MAXLEN", "0", "0-1", "x", "y"};
    rewrite_words(out, 7, SLICE("XADD"), key);
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        rewritten_text(out, slice_of(words[i]));
}

/* Writes entries from the cursor's ID (at[]) on. */
static unsigned rewrite_entries(struct value v, struct slice key, struct save_cursor *c,
                                struct sink *out) {
    struct stream_cursor entry;
    struct stream_id next = {c->at[0], c->at[1]};
    if (stream_count(v) == 0) rewrite_no_entry(out, key);
    stream_cursor_start(&entry, v, next, STREAM_ID_MAX, false);
    while (stream_cursor_step(&entry)) {
        uint64_t before = sink_written(out);
        rewrite_entry(out, key, &entry);
        value_spend(&c->budget, 1, sink_written(out) - before);
        next = entry.id;
        if (!stream_id_increase(&next)) return REWRITE_LAST_ID;
        c->at[0] = next.msec;
        c->at[1] = next.sequence;
        if (c->budget == 0) return REWRITE_ENTRIES;
    }
    return REWRITE_LAST_ID;
}

static unsigned rewrite_last_id(struct value v, struct slice key, struct save_cursor *c,
                                struct sink *out) {
    rewrite_words(out, 3, SLICE("XSETID"), key);
    rewrite_id(out, stream_last_id(v));
    c->at[0] = c->at[1] = 0;
    return REWRITE_GROUP;
}

/* at[1] counts groups, at[0] the group's consumers. */
static unsigned rewrite_group(struct value v, struct slice key, struct save_cursor *c,
                              struct sink *out) {
    void *value;
    if (!next_key(stream_groups(v), c->at[1]++ == 0, &c->names[0], &value)) return REWRITE_END;
    const struct stream_group *g = value;
    value_spend(&c->budget, 1, key.length + c->names[0].length);
    rewrite_group_words(out, 5, "CREATE", key, c);
    rewrite_id(out, g->last_id);
    c->place = g;
    c->at[0] = 0;
    return REWRITE_CONSUMER;
}

/* A consumer with pending entries needs no command of its own: XCLAIM creates it. */
static unsigned rewrite_consumer(struct slice key, struct save_cursor *c, struct sink *out) {
    const struct stream_group *g = c->place;
    void *value;
    if (!next_key(g->consumers, c->at[0]++ == 0, &c->names[1], &value)) return REWRITE_GROUP;
    const struct stream_consumer *consumer = value;
    value_spend(&c->budget, 1, key.length + c->names[0].length + consumer->name.length);
    if (rax_count(consumer->pending) > 0) {
        buffer_clear(&c->names[2]);
        return REWRITE_PENDING;
    }
    rewrite_group_words(out, 5, "CREATECONSUMER", key, c);
    rewritten_text(out, consumer->name);
    return REWRITE_CONSUMER;
}

static void rewrite_claim(struct slice key, const struct save_cursor *c, struct sink *out,
                          const struct stream_pending *p) {
    rewrite_words(out, 12, SLICE("XCLAIM"), key);
    rewritten_text(out, buffer_slice(&c->names[0]));
    rewritten_text(out, p->consumer->name);
    rewritten_text(out, SLICE("0"));
    rewrite_id(out, stream_id_of_key(buffer_slice(&c->names[2])));
    rewritten_text(out, SLICE("TIME"));
    rewritten_integer(out, p->delivered_msec);
    rewritten_text(out, SLICE("RETRYCOUNT")); /* XCLAIM takes no larger number */
    rewritten_number(out, p->deliveries < INT64_MAX ? p->deliveries : INT64_MAX);
    rewritten_text(out, SLICE("JUSTID"));
    rewritten_text(out, SLICE("FORCE"));
}

/* names[2] is the last ID written, empty before the first. */
static unsigned rewrite_pending(struct slice key, struct save_cursor *c, struct sink *out) {
    const struct stream_group *g = c->place;
    const struct stream_consumer *consumer = *rax_find(g->consumers, buffer_slice(&c->names[1]));
    void *pending;
    while (c->budget > 0) {
        if (!next_key(consumer->pending, c->names[2].length == 0, &c->names[2], &pending))
            return REWRITE_CONSUMER;
        rewrite_claim(key, c, out, pending);
        value_spend(&c->budget, 1, key.length + c->names[0].length + consumer->name.length);
    }
    return REWRITE_PENDING;
}

static bool stream_rewrite(struct value v, struct slice key, struct save_cursor *c,
                           struct sink *out) {
    for (size_t i = 0; i < sizeof(c->names) / sizeof(c->names[0]); i++)
        if (!c->names[i].bytes) buffer_init(&c->names[i], MEMORY_OTHER);
    while (c->phase != REWRITE_END && c->budget > 0) {
        switch (c->phase) {
        case REWRITE_ENTRIES: c->phase = rewrite_entries(v, key, c, out); break;
        case REWRITE_LAST_ID: c->phase = rewrite_last_id(v, key, c, out); break;
        case REWRITE_GROUP: c->phase = rewrite_group(v, key, c, out); break;
        case REWRITE_CONSUMER: c->phase = rewrite_consumer(key, c, out); break;
        default: c->phase = rewrite_pending(key, c, out); break;
        }
    }
    if (c->phase != REWRITE_END) return false;
    save_cursor_end(c);
    return true;
}

/* ---- Loading ---- */

/* Reads a time. A time before 1970, which no server writes, becomes 0, so that sums with it cannot
 * overflow. */
static bool load_time(struct source *in, int64_t *msec) {
    uint64_t raw;
    if (!saved_read_number(in, 8, &raw)) return false;
    *msec = raw <= INT64_MAX ? (int64_t)raw : 0;
    return true;
}

static bool load_id(struct source *in, struct stream_id *id) {
    return saved_read_length(in, &id->msec) && saved_read_length(in, &id->sequence);
}

static bool load_node(struct source *in, struct buffer *store, struct value v) {
    struct slice text;
    if (!saved_read_text(in, store, &text)) return false;
    if (text.length != STREAM_KEY_BYTES) return source_refuse(in, "a stream's key is damaged");
    struct stream_id id = stream_id_of_key(text);
    if (!saved_read_text(in, store, &text)) return false;
    saved_note_checked();
    return stream_take_node(v, id, text.bytes, text.length) ||
           source_refuse(in, "Stream listpack integrity check failed");
}

/* A group's pending entries while its consumers are read. */
struct waiting {
    char id[STREAM_KEY_BYTES];
    int64_t delivered_msec;
    uint64_t deliveries;
    bool taken; /* by a consumer */
};

static bool load_waiting(struct source *in, struct buffer *all, uint64_t count) {
    for (const struct waiting *last = NULL; count > 0; count--) {
        struct waiting w = {.taken = false};
        if (!source_read(in, w.id, sizeof(w.id)) || !load_time(in, &w.delivered_msec) ||
            !saved_read_length(in, &w.deliveries))
            return false;
        if (last && memcmp(last->id, w.id, sizeof(w.id)) >= 0)
            return source_refuse(in, "what is pending in a group is out of order");
        buffer_append(all, &w, sizeof(w));
        last = (const struct waiting *)(all->bytes + all->length) - 1;
    }
    return true;
}

static int compare_waiting(const void *id, const void *waiting) {
    return memcmp(id, ((const struct waiting *)waiting)->id, STREAM_KEY_BYTES);
}

static bool load_consumer_pending(struct source *in, struct value v, struct stream_group *g,
                                  struct stream_consumer *consumer, const struct buffer *all) {
    uint64_t count;
    if (!saved_read_count(in, STREAM_KEY_BYTES, &count)) return false;
    for (; count > 0; count--) {
        char id[STREAM_KEY_BYTES];
        if (!source_read(in, id, sizeof(id))) return false;
        size_t there = all->length / sizeof(struct waiting);
        struct waiting *w =
            there ? bsearch(id, all->bytes, there, sizeof(*w), compare_waiting) : NULL;
        if (!w || w->taken)
            return source_refuse(in, "a consumer has what is not pending in its group");
        w->taken = true;
        struct stream_pending *p =
            stream_pending_assign(v, g, consumer, stream_id_of_key((struct slice){id, sizeof(id)}));
        p->delivered_msec = w->delivered_msec;
        p->deliveries = w->deliveries;
    }
    return true;
}

static bool load_consumers(struct source *in, struct buffer *store, struct value v,
                           struct stream_group *g, const struct buffer *all) {
    uint64_t count;
    if (!saved_read_count(in, 1 + 8 + 1, &count)) return false;
    for (; count > 0; count--) {
        struct slice name;
        int64_t seen_msec;
        if (!saved_read_kept(in, store, &name) || !load_time(in, &seen_msec)) return false;
        struct stream_consumer *c = stream_consumer_create(v, g, name, seen_msec);
        if (!c) return source_refuse(in, "a consumer stands there twice");
        if (!load_consumer_pending(in, v, g, c, all)) return false;
    }
    return rax_count(g->pending) == all->length / sizeof(struct waiting) ||
           source_refuse(in, "what is pending in a group has no consumer");
}

static bool load_group(struct source *in, struct buffer *store, struct value v) {
    struct slice name;
    struct stream_id last;
    struct buffer all;
    uint64_t count;
    if (!saved_read_kept(in, store, &name) || !load_id(in, &last)) return false;
    struct stream_group *g = stream_group_create(v, name, last);
    if (!g) return source_refuse(in, "a group stands there twice");
    if (!saved_read_count(in, STREAM_KEY_BYTES + 8 + 1, &count)) return false;
    buffer_init(&all, MEMORY_OTHER);
    bool good = load_waiting(in, &all, count) && load_consumers(in, store, v, g, &all);
    buffer_free(&all);
    return good;
}

static bool load_stream(struct source *in, struct buffer *store, struct value v) {
    uint64_t count;
    struct stream_id last, top;
    if (!saved_read_count(in, 1 + STREAM_KEY_BYTES + 1 + LISTPACK_EMPTY_BYTES, &count))
        return false;
    for (; count > 0; count--) {
        if (!load_node(in, store, v)) return false;
    }
    if (!saved_read_length(in, &count) || !load_id(in, &last)) return false;
    if (count != stream_count(v)) return source_refuse(in, "a stream has not as many entries");
    if (stream_top_id(v, &top) && stream_id_compare(last, top) < 0)
        return source_refuse(in, "a stream's last ID is below its entries");
    stream_set_last_id(v, last);
    if (!saved_read_count(in, 1 + 1 + 1 + 1 + 1, &count)) return false;
    for (; count > 0; count--) {
        if (!load_group(in, store, v)) return false;
    }
    return true;
}

static enum value_loaded stream_load(unsigned form, struct slice key, struct source *in,
                                     struct buffer *store, struct value *out) {
    struct value v = stream_create();
    if (load_stream(in, store, v)) {
        *out = v;
        return VALUE_LOADED;
    }
    stream_free(v);
    return VALUE_REFUSED;
}

static unsigned stream_form(struct value v) { return SAVED_STREAM; }

static const char *const encodings[] = {"stream"};

/* Moves the blocks of the node under this key. */
static void relocate_node(struct stream *s, struct slice key, struct relocation *r) {
    void **slot = rax_relocate_key(s->nodes, key, r);
    struct listpack *lp = *slot;
    if (!relocation_wants(r, lp)) return;
    bool front = lp == s->front;
    *slot = relocation_move(r, lp, MEMORY_DATASET);
    if (front) s->front = *slot;
}

/* The cursor is the ID of the last node that is through: no node has the ID 0-0, and the highest ID
 * stands for all nodes, when the groups follow. */
static bool stream_relocate(struct value *v, struct value_cursor *c, struct relocation *r) {
    struct stream_id at = {c->place, c->further};
    struct stream *s = v->pointer;
    if (at.msec == 0 && at.sequence == 0) {
        v->pointer = s = relocation_settle(r, s, MEMORY_DATASET);
        s->nodes = rax_relocate(s->nodes, r);
    }
    if (stream_id_compare(at, STREAM_ID_MAX) == 0) return stream_groups_relocate(s, false, r);
    s->tail = NULL; /* its place may move */
    /* One node in any case: the struct and the tree may have spent a small budget, each time. */
    do {
        char bytes[STREAM_KEY_BYTES];
        if (!node_seek(s, RAX_ABOVE, at, &at)) {
            *c = (struct value_cursor){UINT64_MAX, UINT64_MAX};
            return stream_groups_relocate(s, true, r);
        }
        relocate_node(s, stream_id_key(at, bytes), r);
        *c = (struct value_cursor){at.msec, at.sequence};
    } while (r->budget > 0);
    return false;
}

static const struct value_type row = {.name = "stream",
                                      .digest_number = 6,
                                      .encodings = encodings,
                                      .release = stream_free,
                                      .copy = stream_copy,
                                      .digest = stream_digest,
                                      .bytes = stream_value_bytes,
                                      .free_effort = stream_free_effort,
                                      .release_step = stream_release_step,
                                      .form = stream_form,
                                      .save = stream_save,
                                      .rewrite = stream_rewrite,
                                      .relocate = stream_relocate,
                                      .load = stream_load};

static const struct option_row option_rows[] = {
    OPTION_BYTES("stream-node-max-bytes", &node_bytes_max, "4096", 0, INT64_MAX, OPTION_MUTABLE,
                 "small values", 90, "Bytes of one node of a stream; 0 = no limit."),
    OPTION_INT("stream-node-max-entries", &node_entries_max, "100", 0, INT64_MAX, OPTION_MUTABLE,
               "small values", 100, "Entries of one node of a stream; 0 = no limit."),
};

void value_stream_register(void) {
    value_type_register(VALUE_STREAM, &row);
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
}
