/* SPDX-License-Identifier: BSD-3-Clause
 * Consumer groups of streams: their consumers, and the entries that were delivered but not
 * acknowledged.
 *
 * A pending entry is one block that stands in two trees under its ID: the group's, which finds it
 * for an acknowledgement, and its consumer's, which lists it. Groups and consumers move only
 * between commands, so commands keep pointers to them while they run.
 *
 * A walk that moves their blocks remembers by names where it goes on: it can be continued in any
 * stream, however groups have changed, and then misses some blocks at worst.
 *
 * Invariants (stream_groups_check)
 *  1. Each pending entry stands in its group's tree and in its consumer's, and in no other.
 *  2. A consumer of a pending entry is one of the same group.
 *  3. `bytes` is the memory of groups, consumers, pending entries and their trees, without the tree
 *     of the groups; `blocks` is the number of consumers and pending entries.
 */
#include "base/memory.h"
#include "base/panic.h"
#include "base/relocation.h"
#include "ds/rax.h"
#include "value/stream_internal.h"

/* A consumer with its name behind it. */
struct named_consumer {
    struct stream_consumer consumer;
    char name[];
};

static size_t consumer_size(size_t name_length) {
    return sizeof(struct named_consumer) + name_length;
}

static size_t consumer_bytes(const struct stream_consumer *c) {
    return memory_good_size(consumer_size(c->name.length)) + rax_bytes(c->pending);
}

/* ---- Trees that are counted ---- */

/* Inserts a new key and returns NULL. An existing key keeps its value, which is returned. */
static void *counted_insert(struct stream_groups *all, struct rax *r, struct slice key,
                            void *value) {
    size_t before = rax_bytes(r);
    void *there;
    if (!rax_insert(r, key, value, &there)) {
        *rax_find(r, key) = there;
        return there;
    }
    all->bytes += rax_bytes(r) - before;
    return NULL;
}

/* Removes the key and returns its value; NULL where there is no such key. */
static void *counted_remove(struct stream_groups *all, struct rax *r, struct slice key) {
    size_t before = rax_bytes(r);
    void *there;
    if (!rax_remove(r, key, &there)) return NULL;
    all->bytes -= before - rax_bytes(r);
    return there;
}

static struct rax *counted_create(struct stream_groups *all) {
    struct rax *r = rax_create();
    all->bytes += rax_bytes(r);
    return r;
}

/* Frees about `*effort` keys of the tree and subtracts them from `*effort`; true when the tree is
 * gone. */
static bool counted_free_step(struct stream_groups *all, struct rax *r, size_t *effort,
                              void (*release)(void *value, void *context)) {
    size_t bytes = rax_bytes(r), keys = rax_count(r);
    bool gone = rax_free_step(r, *effort, release, all);
    all->bytes -= bytes - (gone ? 0 : rax_bytes(r));
    *effort -= gone && keys < *effort ? keys : *effort;
    return gone;
}

/* A walk in order, from the first key on. `key` is initialised by the caller and empty at first;
 * the key that was reached may be removed. */
static bool walk_tree(const struct rax *r, struct buffer *key, void **value) {
    enum rax_relation relation = key->bytes ? RAX_ABOVE : RAX_FIRST;
    return rax_seek(r, relation, buffer_slice(key), key, value);
}

/* ---- Freeing ---- */

static void release_pending(void *pending, void *context) {
    struct stream_groups *all = context;
    all->bytes -= memory_good_size(sizeof(struct stream_pending));
    all->blocks--;
    memory_free_sized(pending, sizeof(struct stream_pending), MEMORY_DATASET);
}

/* Frees a consumer whose tree is gone already. */
static void release_consumer(struct stream_groups *all, struct stream_group *g,
                             struct stream_consumer *c) {
    size_t size = consumer_size(c->name.length);
    ASSERT(counted_remove(all, g->consumers, c->name) == c);
    all->bytes -= memory_good_size(size);
    all->blocks--;
    memory_free_sized(c, size, MEMORY_DATASET);
}

/* Frees consumer by consumer, then the group's own tree with the pending entries. */
static bool group_free_step(struct stream_groups *all, struct stream_group *g, size_t *effort) {
    struct buffer name;
    void *consumer;
    buffer_init(&name, MEMORY_OTHER);
    while (*effort > 0 && rax_seek(g->consumers, RAX_FIRST, SLICE(""), &name, &consumer)) {
        struct stream_consumer *c = consumer;
        if (!counted_free_step(all, c->pending, effort, NULL)) break;
        release_consumer(all, g, c);
        if (*effort > 0) --*effort;
    }
    buffer_free(&name);
    if (*effort == 0 || rax_count(g->consumers) > 0) return false;
    if (!counted_free_step(all, g->pending, effort, release_pending)) return false;
    all->bytes -= memory_good_size(sizeof(*g)) + rax_bytes(g->consumers);
    rax_free(g->consumers, NULL, NULL);
    memory_free_sized(g, sizeof(*g), MEMORY_DATASET);
    return true;
}

bool stream_groups_free_step(struct stream *s, size_t effort) {
    struct stream_groups *all = s->groups;
    struct buffer name;
    void *group;
    bool more = true;
    buffer_init(&name, MEMORY_OTHER);
    while (more && effort > 0 && rax_seek(all->by_name, RAX_FIRST, SLICE(""), &name, &group)) {
        more = group_free_step(all, group, &effort);
        if (more) rax_remove(all->by_name, buffer_slice(&name), NULL);
        if (effort > 0) effort--;
    }
    buffer_free(&name);
    if (rax_count(all->by_name) > 0) return false;
    rax_free(all->by_name, NULL, NULL);
    memory_free_sized(all, sizeof(*all), MEMORY_DATASET);
    s->groups = NULL;
    return true;
}

size_t stream_groups_bytes(const struct stream *s) {
    const struct stream_groups *all = s->groups;
    return all ? memory_good_size(sizeof(*all)) + rax_bytes(all->by_name) + all->bytes : 0;
}

size_t stream_groups_free_effort(const struct stream *s) {
    return s->groups ? rax_count(s->groups->by_name) + s->groups->blocks : 0;
}

/* ---- Groups ---- */

const struct rax *stream_groups(struct value v) {
    const struct stream_groups *all = stream_of(v)->groups;
    return all ? all->by_name : NULL;
}

struct stream_group *stream_group_find(struct value v, struct slice name) {
    const struct stream_groups *all = stream_of(v)->groups;
    void **slot = all ? rax_find(all->by_name, name) : NULL;
    return slot ? *slot : NULL;
}

static struct stream_groups *groups_create(void) {
    struct stream_groups *all = memory_alloc(sizeof(*all), MEMORY_DATASET);
    *all = (struct stream_groups){rax_create(), 0, 0};
    return all;
}

struct stream_group *stream_group_create(struct value v, struct slice name, struct stream_id last) {
    struct stream *s = stream_of(v);
    if (stream_group_find(v, name)) return NULL;
    if (!s->groups) s->groups = groups_create();
    struct stream_groups *all = s->groups;
    struct stream_group *g = memory_alloc(sizeof(*g), MEMORY_DATASET);
    *g = (struct stream_group){last, counted_create(all), counted_create(all)};
    all->bytes += memory_good_size(sizeof(*g));
    rax_insert(all->by_name, name, g, NULL);
    return g;
}

/* Moves bytes and blocks to the sums of another stream's groups. */
static void move_sums(struct stream_groups *from, struct stream_groups *to, size_t bytes,
                      size_t blocks) {
    from->bytes -= bytes;
    from->blocks -= blocks;
    to->bytes += bytes;
    to->blocks += blocks;
}

/* Adds the memory and the blocks of the group, its consumers and pending entries. O(consumers). */
static void group_add_sums(const struct stream_group *g, struct stream_groups *sums) {
    size_t pending = rax_count(g->pending);
    struct buffer name;
    void *consumer;
    buffer_init(&name, MEMORY_OTHER);
    while (walk_tree(g->consumers, &name, &consumer)) sums->bytes += consumer_bytes(consumer);
    buffer_free(&name);
    sums->bytes += memory_good_size(sizeof(*g)) + rax_bytes(g->pending) + rax_bytes(g->consumers) +
                   pending * memory_good_size(sizeof(struct stream_pending));
    sums->blocks += pending + rax_count(g->consumers);
}

bool stream_group_take(struct value v, struct slice name, struct value *taken) {
    struct stream_groups *from = stream_of(v)->groups, sums = {0};
    void *g;
    if (!from || !rax_remove(from->by_name, name, &g)) return false;
    *taken = stream_create();
    struct stream_groups *to = stream_of(*taken)->groups = groups_create();
    group_add_sums(g, &sums);
    move_sums(from, to, sums.bytes, sums.blocks);
    rax_insert(to->by_name, SLICE(""), g, NULL);
    return true;
}

/* ---- Consumers ---- */

struct stream_consumer *stream_consumer_find(struct stream_group *g, struct slice name) {
    void **slot = rax_find(g->consumers, name);
    return slot ? *slot : NULL;
}

struct stream_consumer *stream_consumer_create(struct value v, struct stream_group *g,
                                               struct slice name, int64_t now_msec) {
    struct stream_groups *all = stream_of(v)->groups;
    if (stream_consumer_find(g, name)) return NULL;
    size_t size = consumer_size(name.length);
    struct named_consumer *c = memory_alloc(size, MEMORY_DATASET);
    if (name.length) memcpy(c->name, name.bytes, name.length);
    c->consumer = (struct stream_consumer){now_msec, counted_create(all), {c->name, name.length}};
    all->bytes += memory_good_size(size);
    all->blocks++;
    ASSERT(!counted_insert(all, g->consumers, name, &c->consumer));
    return &c->consumer;
}

/* Frees the consumer's pending entries. O(pending). */
static void release_pending_of(struct stream_groups *all, struct stream_group *g,
                               struct stream_consumer *c) {
    size_t effort = SIZE_MAX;
    struct buffer key;
    void *pending;
    buffer_init(&key, MEMORY_OTHER);
    while (walk_tree(c->pending, &key, &pending)) {
        ASSERT(counted_remove(all, g->pending, buffer_slice(&key)) == pending);
        release_pending(pending, all);
    }
    buffer_free(&key);
    ASSERT(counted_free_step(all, c->pending, &effort, NULL));
    c->pending = counted_create(all);
}

/* Moves the group's whole tree of pending entries to `other`, another stream's group that has none.
 */
static void move_pending(struct stream_groups *from, struct stream_group *g,
                         struct stream_groups *to, struct stream_group *other) {
    struct rax *all = g->pending;
    size_t count = rax_count(all);
    g->pending = other->pending;
    other->pending = all;
    move_sums(from, to,
              rax_bytes(all) - rax_bytes(g->pending) +
                  count * memory_good_size(sizeof(struct stream_pending)),
              count);
}

size_t stream_consumer_take(struct value v, struct stream_group *g, struct stream_consumer *c,
                            struct value *taken) {
    struct stream_groups *from = stream_of(v)->groups;
    size_t count = rax_count(c->pending);
    *taken = stream_create();
    struct stream_group *other = stream_group_create(*taken, SLICE(""), g->last_id);
    struct stream_groups *to = stream_of(*taken)->groups;
    if (count == rax_count(g->pending))
        move_pending(from, g, to, other);
    else
        release_pending_of(from, g, c);
    ASSERT(counted_remove(from, g->consumers, c->name) == c);
    ASSERT(!counted_insert(to, other->consumers, c->name, c));
    move_sums(from, to, consumer_bytes(c), 1);
    return count;
}

/* ---- Pending entries ---- */

struct stream_pending *stream_pending_find(const struct stream_group *g, struct stream_id id) {
    char bytes[STREAM_KEY_BYTES];
    void **slot = rax_find(g->pending, stream_id_key(id, bytes));
    return slot ? *slot : NULL;
}

static struct stream_pending *pending_create(struct stream_groups *all) {
    struct stream_pending *p = memory_alloc(sizeof(*p), MEMORY_DATASET);
    *p = (struct stream_pending){0, 0, NULL};
    all->bytes += memory_good_size(sizeof(*p));
    all->blocks++;
    return p;
}

struct stream_pending *stream_pending_assign(struct value v, struct stream_group *g,
                                             struct stream_consumer *c, struct stream_id id) {
    struct stream_groups *all = stream_of(v)->groups;
    char bytes[STREAM_KEY_BYTES];
    struct slice key = stream_id_key(id, bytes);
    /* Created before the search, because most entries are new and the insertion searches, too. */
    struct stream_pending *p = pending_create(all);
    struct stream_pending *there = counted_insert(all, g->pending, key, p);
    if (there) {
        release_pending(p, all);
        p = there;
        if (p->consumer == c) return p;
        ASSERT(counted_remove(all, p->consumer->pending, key) == p);
    }
    ASSERT(!counted_insert(all, c->pending, key, p));
    p->consumer = c;
    return p;
}

bool stream_pending_remove(struct value v, struct stream_group *g, struct stream_id id) {
    struct stream_groups *all = stream_of(v)->groups;
    char bytes[STREAM_KEY_BYTES];
    struct slice key = stream_id_key(id, bytes);
    struct stream_pending *p = counted_remove(all, g->pending, key);
    if (!p) return false;
    ASSERT(counted_remove(all, p->consumer->pending, key) == p);
    release_pending(p, all);
    return true;
}

/* ---- Copying ---- */

static void group_copy(const struct stream_group *from, struct value to, struct stream_group *g) {
    struct buffer key;
    void *value;
    buffer_init(&key, MEMORY_OTHER);
    while (walk_tree(from->consumers, &key, &value)) {
        const struct stream_consumer *c = value;
        stream_consumer_create(to, g, c->name, c->seen_msec);
    }
    buffer_free(&key);
    buffer_init(&key, MEMORY_OTHER);
    while (walk_tree(from->pending, &key, &value)) {
        const struct stream_pending *p = value;
        struct stream_consumer *c = stream_consumer_find(g, p->consumer->name);
        struct stream_id id = stream_id_of_key(buffer_slice(&key));
        struct stream_pending *copy = stream_pending_assign(to, g, c, id);
        copy->delivered_msec = p->delivered_msec;
        copy->deliveries = p->deliveries;
    }
    buffer_free(&key);
}

void stream_groups_copy(const struct stream *from, struct stream *to) {
    struct value v = {to, 0};
    struct buffer name;
    void *value;
    if (!from->groups) return;
    buffer_init(&name, MEMORY_OTHER);
    while (walk_tree(from->groups->by_name, &name, &value)) {
        const struct stream_group *g = value;
        group_copy(g, v, stream_group_create(v, buffer_slice(&name), g->last_id));
    }
    buffer_free(&name);
}

/* ---- Moving blocks ---- */

/* A consumer with more pending entries stays: each of them points to it, and its one block is not
 * worth a step of that length. */
#define MOVED_PENDING_MAX 1000

enum moving_part {
    MOVING_GROUPS,    /* the next group is behind `group` */
    MOVING_CONSUMERS, /* the next consumer of `group` is behind `consumer` */
    MOVING_LISTED,    /* the next node of `consumer`'s tree is behind `id` */
    MOVING_PENDING    /* the next pending entry of `group` is behind `id` */
};

/* Where the walk goes on: one at a time, on the main thread. A buffer without bytes is the
 * beginning. */
static struct {
    enum moving_part part;
    struct buffer group, consumer, id;
} moving;

static void position_reset(struct buffer *key) {
    buffer_free(key);
    buffer_init(key, MEMORY_OTHER);
}

static void moving_reset(void) {
    moving.part = MOVING_GROUPS;
    position_reset(&moving.group);
    position_reset(&moving.consumer);
    position_reset(&moving.id);
}

static void moving_begin(struct stream *s, struct relocation *r) {
    moving_reset();
    s->groups = relocation_settle(r, s->groups, MEMORY_DATASET);
    s->groups->by_name = rax_relocate(s->groups->by_name, r);
}

static struct stream_consumer *consumer_relocate(struct stream_consumer *c, struct relocation *r) {
    size_t count = rax_count(c->pending), name_at = (size_t)(c->name.bytes - (const char *)c);
    struct buffer key;
    void *pending;
    if (count > MOVED_PENDING_MAX || !relocation_wants(r, c)) return c;
    c = relocation_move(r, c, MEMORY_DATASET);
    c->name.bytes = (const char *)c + name_at;
    buffer_init(&key, MEMORY_OTHER);
    while (walk_tree(c->pending, &key, &pending)) ((struct stream_pending *)pending)->consumer = c;
    buffer_free(&key);
    r->budget -= count < r->budget ? count : r->budget;
    return c;
}

static bool next_group_relocate(struct stream_groups *all, struct relocation *r) {
    void *unmoved;
    if (!walk_tree(all->by_name, &moving.group, &unmoved)) return false;
    void **slot = rax_relocate_key(all->by_name, buffer_slice(&moving.group), r);
    struct stream_group *g = *slot = relocation_settle(r, *slot, MEMORY_DATASET);
    g->consumers = rax_relocate(g->consumers, r);
    g->pending = rax_relocate(g->pending, r);
    position_reset(&moving.consumer);
    moving.part = MOVING_CONSUMERS;
    return true;
}

static void next_consumer_relocate(struct stream_group *g, struct relocation *r) {
    void *unmoved;
    position_reset(&moving.id);
    if (!walk_tree(g->consumers, &moving.consumer, &unmoved)) {
        moving.part = MOVING_PENDING;
        return;
    }
    void **slot = rax_relocate_key(g->consumers, buffer_slice(&moving.consumer), r);
    struct stream_consumer *c = *slot = consumer_relocate(*slot, r);
    c->pending = rax_relocate(c->pending, r);
    moving.part = MOVING_LISTED;
}

/* Moves the nodes of the consumer's tree; the entries are moved by their group's. */
static void listed_relocate(struct stream_group *g, struct relocation *r) {
    struct stream_consumer *c = stream_consumer_find(g, buffer_slice(&moving.consumer));
    moving.part = MOVING_CONSUMERS;
    while (c && walk_tree(c->pending, &moving.id, NULL)) {
        rax_relocate_key(c->pending, buffer_slice(&moving.id), r);
        if (r->budget > 0) continue;
        moving.part = MOVING_LISTED;
        return;
    }
}

static void pending_relocate(struct stream_group *g, struct relocation *r) {
    moving.part = MOVING_GROUPS;
    while (walk_tree(g->pending, &moving.id, NULL)) {
        struct slice key = buffer_slice(&moving.id);
        void **slot = rax_relocate_key(g->pending, key, r);
        if (relocation_wants(r, *slot)) {
            struct stream_pending *p = *slot = relocation_move(r, *slot, MEMORY_DATASET);
            *rax_find(p->consumer->pending, key) = p;
        }
        if (r->budget > 0) continue;
        moving.part = MOVING_PENDING;
        return;
    }
}

/* Goes on with the walk by one part; false at its end. */
static bool moving_step(struct stream_groups *all, struct relocation *r) {
    if (moving.part == MOVING_GROUPS) return next_group_relocate(all, r);
    void **slot = rax_find(all->by_name, buffer_slice(&moving.group));
    if (!slot)
        moving.part = MOVING_GROUPS;
    else if (moving.part == MOVING_CONSUMERS)
        next_consumer_relocate(*slot, r);
    else if (moving.part == MOVING_LISTED)
        listed_relocate(*slot, r);
    else
        pending_relocate(*slot, r);
    return true;
}

bool stream_groups_relocate(struct stream *s, bool begins, struct relocation *r) {
    if (!s->groups) return true;
    if (begins) moving_begin(s, r);
    while (r->budget > 0) {
        if (moving_step(s->groups, r)) continue;
        moving_reset();
        return true;
    }
    return false;
}

/* ---- Checking ---- */

/* Checks a consumer; returns how many entries are pending for it. */
static size_t consumer_check(const struct stream_group *g, const struct stream_consumer *c) {
    struct buffer key;
    void *pending;
    buffer_init(&key, MEMORY_OTHER);
    rax_check(c->pending);
    while (walk_tree(c->pending, &key, &pending)) {
        const struct stream_pending *p = pending;
        ASSERT(p->consumer == c);
        ASSERT(stream_pending_find(g, stream_id_of_key(buffer_slice(&key))) == p);
    }
    buffer_free(&key);
    return rax_count(c->pending);
}

static void group_check(const struct stream_group *g, struct stream_groups *sums) {
    size_t pending = 0;
    struct buffer name;
    void *consumer;
    buffer_init(&name, MEMORY_OTHER);
    rax_check(g->pending);
    rax_check(g->consumers);
    while (walk_tree(g->consumers, &name, &consumer)) {
        const struct stream_consumer *c = consumer;
        ASSERT(slice_equal(c->name, buffer_slice(&name)));
        pending += consumer_check(g, c);
    }
    buffer_free(&name);
    ASSERT_COMPARE(pending, ==, rax_count(g->pending));
    group_add_sums(g, sums);
}

void stream_groups_check(const struct stream *s) {
    struct stream_groups sums = {0};
    struct buffer name;
    void *group;
    if (!s->groups) return;
    buffer_init(&name, MEMORY_OTHER);
    rax_check(s->groups->by_name);
    while (walk_tree(s->groups->by_name, &name, &group)) group_check(group, &sums);
    buffer_free(&name);
    ASSERT_COMPARE(sums.bytes, ==, s->groups->bytes);
    ASSERT_COMPARE(sums.blocks, ==, s->groups->blocks);
}
