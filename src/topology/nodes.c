/* SPDX-License-Identifier: BSD-3-Clause
 * The nodes of a cluster. nodes.h has the idea and the invariants.
 *
 * Nodes are few (hundreds) and change seldom, so that a sorted array of pointers serves: it is
 * searched by halves for each message, and walked in an order that is the same on each node.
 */
#include "topology/nodes.h"

#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/panic.h"
#include "base/random.h"
#include "topology/slots.h"

#define CLASS MEMORY_OTHER
#define ROLES ((unsigned)(CLUSTER_NODE_PRIMARY | CLUSTER_NODE_REPLICA))

/* ---- Ids ---- */

/* Each entry of gossip has an id and a host, and a message some fifty entries: no branch a byte. */
bool cluster_id_is_valid(struct slice text) {
    unsigned bad = 0;
    if (text.length != CLUSTER_ID_CHARS) return false;
    for (size_t i = 0; i < CLUSTER_ID_CHARS; i++) {
        unsigned char c = (unsigned char)text.bytes[i];
        bad |= (unsigned)((unsigned char)(c - '0') > 9) & (unsigned)((unsigned char)(c - 'a') > 5);
    }
    return !bad;
}

struct cluster_id cluster_id_draw(void) {
    struct cluster_id id;
    random_hex(id.text, CLUSTER_ID_CHARS);
    id.text[CLUSTER_ID_CHARS] = '\0';
    return id;
}

static bool is_of_host(unsigned char c) {
    return c > ' ' && c <= '~' && c != '"' && c != '\'' && c != '\\' && c != '@' && c != ',';
}

bool cluster_host_is_valid(struct slice text) {
    if (text.length == 0 || text.length > CLUSTER_HOST_CHARS) return false;
    for (size_t i = 0; i < text.length; i++)
        if (!is_of_host((unsigned char)text.bytes[i])) return false;
    return true;
}

/* ---- The sorted array ---- */

/* The place of the first node whose id is not before `id`. */
static size_t node_place(const struct cluster *c, const char *id) {
    size_t low = 0, high = c->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (memcmp(c->nodes[middle]->id.text, id, CLUSTER_ID_CHARS) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool node_is_at(const struct cluster *c, size_t place, const char *id) {
    return place < c->count && memcmp(c->nodes[place]->id.text, id, CLUSTER_ID_CHARS) == 0;
}

static void node_insert(struct cluster *c, struct cluster_node *node) {
    size_t place = node_place(c, node->id.text);
    c->nodes = memory_realloc(c->nodes, (c->count + 1) * sizeof(struct cluster_node *), CLASS);
    memmove(c->nodes + place + 1, c->nodes + place,
            (c->count - place) * sizeof(struct cluster_node *));
    c->nodes[place] = node;
    c->count++;
}

static void node_remove(struct cluster *c, const struct cluster_node *node) {
    size_t place = node_place(c, node->id.text);
    ASSERT(place < c->count && c->nodes[place] == node);
    c->count--;
    memmove(c->nodes + place, c->nodes + place + 1,
            (c->count - place) * sizeof(struct cluster_node *));
}

/* ---- Making and freeing ---- */

static struct cluster_node *node_make(const struct cluster_id *id, unsigned flags) {
    struct cluster_node *node = memory_zalloc(sizeof(struct cluster_node), CLASS);
    ASSERT(cluster_id_is_valid(slice_of(id->text)) && (flags & ROLES) != ROLES);
    node->id = *id;
    node->flags = (uint16_t)flags;
    node->created_msec = clock_wall_msec();
    return node;
}

static void node_free(struct cluster *c, struct cluster_node *node) {
    if (c->leaving) c->leaving(c, node);
    memory_free(node->replicas, CLASS);
    memory_free(node->reports, CLASS);
    memory_free(node, CLASS);
}

struct cluster *cluster_new(void) {
    struct cluster *c = memory_zalloc(sizeof(struct cluster), CLASS);
    struct cluster_id id = cluster_id_draw();
    c->self = node_make(&id, CLUSTER_NODE_MYSELF | CLUSTER_NODE_PRIMARY);
    node_insert(c, c->self);
    return c;
}

void cluster_free(struct cluster *c) {
    if (!c) return;
    struct cluster_node **nodes = c->nodes;
    size_t count = c->count;
    c->count = 0;
    for (size_t i = 0; i < count; i++) node_free(c, nodes[i]);
    memory_free(nodes, CLASS);
    memory_free(c, CLASS);
}

struct cluster_node *cluster_find(const struct cluster *c, struct slice id) {
    if (id.length < CLUSTER_ID_CHARS) return NULL;
    size_t place = node_place(c, id.bytes);
    return node_is_at(c, place, id.bytes) ? c->nodes[place] : NULL;
}

struct cluster_node *cluster_add(struct cluster *c, const struct cluster_id *id, unsigned flags) {
    ASSERT(!(flags & CLUSTER_NODE_MYSELF));
    if (c->count >= CLUSTER_NODES_MAX || cluster_find(c, slice_of(id->text))) return NULL;
    struct cluster_node *node = node_make(id, flags);
    node_insert(c, node);
    cluster_changed(c);
    return node;
}

/* ---- Roles ---- */

static void replica_remove(struct cluster_node *primary, const struct cluster_node *replica) {
    size_t i = 0;
    while (i < primary->replica_count && primary->replicas[i] != replica) i++;
    ASSERT(i < primary->replica_count);
    primary->replica_count--;
    memmove(primary->replicas + i, primary->replicas + i + 1,
            (primary->replica_count - i) * sizeof(struct cluster_node *));
    if (!primary->replica_count) primary->flags &= (uint16_t)~CLUSTER_NODE_MIGRATE_TO;
}

static void replica_add(struct cluster_node *primary, struct cluster_node *replica) {
    size_t size = (primary->replica_count + 1) * sizeof(struct cluster_node *);
    primary->replicas = memory_realloc(primary->replicas, size, CLASS);
    primary->replicas[primary->replica_count++] = replica;
    if (cluster_node_is_primary(primary)) primary->flags |= CLUSTER_NODE_MIGRATE_TO;
}

static void primary_set(struct cluster_node *node, struct cluster_node *primary) {
    if (node->primary) replica_remove(node->primary, node);
    node->primary = primary;
    if (primary) replica_add(primary, node);
}

void cluster_set_primary(struct cluster *c, struct cluster_node *node) {
    if (cluster_node_is_primary(node)) return;
    /* It has taken the place of a primary that had a replica. */
    bool succeeds = node->primary && node != c->self;
    primary_set(node, NULL);
    node->flags = (uint16_t)((node->flags & ~ROLES) | CLUSTER_NODE_PRIMARY);
    if (succeeds || node->replica_count) node->flags |= CLUSTER_NODE_MIGRATE_TO;
    cluster_changed(c);
}

void cluster_set_replica(struct cluster *c, struct cluster_node *node,
                         struct cluster_node *primary) {
    ASSERT(node != primary);
    if (!(node->flags & CLUSTER_NODE_REPLICA)) {
        cluster_slots_release(c, node);
        node->config_epoch = 0;
        /* Only a primary is one to which replicas may move. */
        node->flags &= (uint16_t) ~(ROLES | CLUSTER_NODE_MIGRATE_TO);
        node->flags |= CLUSTER_NODE_REPLICA;
        cluster_changed(c);
    }
    if (node->primary != primary) {
        primary_set(node, primary);
        cluster_changed(c);
    }
}

/* ---- Forgetting and renaming ---- */

static void reports_withdraw(struct cluster_node *node, const struct cluster_node *by) {
    size_t kept = 0;
    for (size_t i = 0; i < node->report_count; i++)
        if (node->reports[i].by != by) node->reports[kept++] = node->reports[i];
    node->report_count = kept;
}

static void marks_withdraw(struct cluster *c, const struct cluster_node *node) {
    for (unsigned slot = 0; slot < KEY_SLOTS && c->open_marks; slot++) {
        if (c->migrating_to[slot] == node) cluster_slot_set_migrating(c, slot, NULL);
        if (c->importing_from[slot] == node) cluster_slot_set_importing(c, slot, NULL);
    }
}

void cluster_drop(struct cluster *c, struct cluster_node *node) {
    ASSERT(node != c->self);
    cluster_slots_release(c, node);
    marks_withdraw(c, node);
    primary_set(node, NULL);
    while (node->replica_count) primary_set(node->replicas[node->replica_count - 1], NULL);
    for (size_t i = 0; i < c->count; i++) reports_withdraw(c->nodes[i], node);
    node_remove(c, node);
    cluster_changed(c);
    node_free(c, node);
}

bool cluster_rename(struct cluster *c, struct cluster_node *node, const struct cluster_id *id) {
    ASSERT(cluster_id_is_valid(slice_of(id->text)));
    const struct cluster_node *named = cluster_find(c, slice_of(id->text));
    if (named) return named == node;
    node_remove(c, node);
    node->id = *id;
    node_insert(c, node);
    cluster_changed(c);
    return true;
}

/* ---- Questions ---- */

uint64_t cluster_node_epoch(const struct cluster_node *node) {
    return node->primary ? node->primary->config_epoch : node->config_epoch;
}

size_t cluster_node_working_replicas(const struct cluster_node *node) {
    size_t working = 0;
    for (size_t i = 0; i < node->replica_count; i++)
        working +=
            !cluster_node_has(node->replicas[i], CLUSTER_NODE_FAILED | CLUSTER_NODE_SUSPECTED);
    return working;
}

size_t cluster_size(const struct cluster *c) {
    size_t size = 0;
    for (size_t i = 0; i < c->count; i++) size += cluster_node_votes(c->nodes[i]);
    return size;
}

/* ---- Invariants ---- */

static bool node_is_known(const struct cluster *c, const struct cluster_node *node) {
    size_t place = node_place(c, node->id.text);
    return place < c->count && c->nodes[place] == node;
}

static void node_check(const struct cluster *c, const struct cluster_node *node) {
    bool replica = node->flags & CLUSTER_NODE_REPLICA;
    ASSERT(cluster_id_is_valid(slice_of(node->id.text)));
    ASSERT(!(node->flags & CLUSTER_NODE_MYSELF) == (node != c->self));
    ASSERT(!replica || !cluster_node_is_primary(node));
    ASSERT(!node->primary || (replica && node->primary != node));
    ASSERT(!node->primary || node_is_known(c, node->primary));
    ASSERT(memchr(node->address.host, '\0', sizeof(node->address.host)));
    for (size_t i = 0; i < node->replica_count; i++)
        ASSERT(node_is_known(c, node->replicas[i]) && node->replicas[i]->primary == node);
    for (size_t i = 0; i < node->report_count; i++) ASSERT(node_is_known(c, node->reports[i].by));
    unsigned owned = 0;
    for (unsigned slot = 0; slot < KEY_SLOTS; slot++) owned += c->owners[slot] == node;
    ASSERT_COMPARE(owned, ==, node->slot_count);
}

void cluster_check(const struct cluster *c) {
    size_t replicas = 0, with_primary = 0;
    unsigned owned = 0, assigned = 0, marks = 0;
    ASSERT(node_is_known(c, c->self) && c->count <= CLUSTER_NODES_MAX);
    for (size_t i = 0; i < c->count; i++) {
        const struct cluster_node *node = c->nodes[i];
        ASSERT(i == 0 || strcmp(c->nodes[i - 1]->id.text, node->id.text) < 0);
        node_check(c, node);
        replicas += node->replica_count;
        with_primary += node->primary != NULL;
        owned += node->slot_count;
    }
    ASSERT_COMPARE(replicas, ==, with_primary);
    for (unsigned slot = 0; slot < KEY_SLOTS; slot++) {
        assigned += c->owners[slot] != NULL;
        marks += c->migrating_to[slot] != NULL;
        marks += c->importing_from[slot] != NULL;
        ASSERT((c->settled[slot / 64] >> slot % 64 & 1) ==
               (c->owners[slot] == c->self && !c->migrating_to[slot]));
        ASSERT(c->migrating_to[slot] || !cluster_slot_is_held(c, slot));
        ASSERT(!c->migrating_to[slot] || node_is_known(c, c->migrating_to[slot]));
        ASSERT(!c->importing_from[slot] || node_is_known(c, c->importing_from[slot]));
    }
    /* An owner that is no node of the cluster would be counted here, and by no node. */
    ASSERT_COMPARE(owned, ==, assigned);
    ASSERT_COMPARE(assigned, ==, c->assigned);
    ASSERT_COMPARE(marks, ==, c->open_marks);
}
