/* SPDX-License-Identifier: BSD-3-Clause
 * Finding the nodes of a cluster, and whether they agree.
 */
#include "clusterctl/ctl_cluster.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "clusterctl/ctl_talk.h"

/* After so many seconds of waiting the user is told which nodes may be unreachable, and again each
 * time that as many have passed. */
#define PATIENCE_SEC 20
/* Nodes that are not asked: without an address, not linked, failed, or not joined yet. */
#define USELESS (CTL_NOADDR | CTL_DISCONNECTED | CTL_FAIL | CTL_HANDSHAKE)

void ctl_cluster_init(struct ctl_cluster *c, const struct tool_connection *login) {
    *c = (struct ctl_cluster){.login = login};
}

void ctl_cluster_free(struct ctl_cluster *c) {
    for (size_t i = 0; i < c->count; i++) ctl_node_free(c->nodes[i]);
    memory_free(c->nodes, MEMORY_OTHER);
    c->nodes = NULL;
    c->count = 0;
    c->unreachable_primaries = 0;
}

void ctl_cluster_add(struct ctl_cluster *c, struct ctl_node *node) {
    size_t bytes = (c->count + 1) * sizeof(struct ctl_node *);
    c->nodes = memory_realloc(c->nodes, bytes, MEMORY_OTHER);
    c->nodes[c->count++] = node;
}

/* --- finding ---------------------------------------------------------------------------------- */

struct ctl_node *ctl_cluster_find(const struct ctl_cluster *c, const char *id) {
    for (size_t i = 0; i < c->count; i++)
        if (!strcasecmp(c->nodes[i]->self.id, id)) return c->nodes[i];
    return NULL;
}

struct ctl_node *ctl_cluster_find_primary(const struct ctl_cluster *c, const char *prefix) {
    size_t length = strlen(prefix);
    for (size_t i = 0; i < c->count && length; i++)
        if (ctl_node_is_primary(c->nodes[i]) && !strncasecmp(c->nodes[i]->self.id, prefix, length))
            return c->nodes[i];
    return NULL;
}

struct ctl_node *ctl_cluster_poorest(const struct ctl_cluster *c, const struct ctl_node *but) {
    struct ctl_node *poorest = NULL;
    for (size_t i = 0; i < c->count; i++) {
        struct ctl_node *node = c->nodes[i];
        if (!ctl_node_is_primary(node) || node == but) continue;
        if (!poorest || node->replicas < poorest->replicas) poorest = node;
    }
    return poorest;
}

/* Counts each primary's replicas anew. */
static void count_replicas(struct ctl_cluster *c) {
    for (size_t i = 0; i < c->count; i++) c->nodes[i]->replicas = 0;
    for (size_t i = 0; i < c->count; i++) {
        struct ctl_node *node = c->nodes[i];
        if (ctl_node_is_primary(node) || !*node->self.primary) continue;
        struct ctl_node *primary = ctl_cluster_find(c, node->self.primary);
        if (primary) {
            primary->replicas++;
        } else {
            ctl_say(CTL_WARNING, "*** WARNING: %s claims to be slave of unknown node ID %s.\n",
                    node->name, node->self.primary);
        }
    }
}

/* Adds the nodes that the first one knows. */
static void add_friends(struct ctl_cluster *c, const struct ctl_view *view) {
    for (size_t i = 0; i < view->count; i++) {
        const struct ctl_line *line = &view->lines[i];
        if (line->flags & CTL_MYSELF) continue;
        struct ctl_node *node = ctl_node_create(line->host, line->port, c->login);
        bool reached = !(line->flags & USELESS) && ctl_node_connect(node, "");
        if (reached && !ctl_node_load(node)) {
            ctl_say(CTL_BAD, "[ERR] Unable to load info for node %s\n", node->name);
            reached = false;
        }
        if (reached) {
            ctl_cluster_add(c, node);
        } else {
            c->unreachable_primaries += !(line->flags & CTL_REPLICA);
            ctl_node_free(node);
        }
    }
}

bool ctl_cluster_load(struct ctl_cluster *c, const char *host, int port) {
    struct ctl_view view;
    ctl_cluster_free(c);
    struct ctl_node *node = ctl_node_create(host, port, c->login);
    ctl_cluster_add(c, node);
    if (!ctl_node_connect(node, "") || !ctl_node_check_mode(node) || !ctl_node_load(node) ||
        !ctl_node_view(node, &view))
        return false;
    add_friends(c, &view);
    ctl_view_free(&view);
    count_replicas(c);
    return true;
}

/* --- agreement -------------------------------------------------------------------------------- */

/* Appends the node's signature; false where it has no view. */
static bool sign_node(struct ctl_node *node, struct buffer *out) {
    struct ctl_view view;
    if (!ctl_node_view(node, &view)) return false;
    ctl_view_sign(&view, out);
    ctl_view_free(&view);
    return true;
}

bool ctl_cluster_agrees(const struct ctl_cluster *c) {
    struct buffer first = {.class = MEMORY_OTHER}, other = {.class = MEMORY_OTHER};
    bool agrees = sign_node(c->nodes[0], &first);
    for (size_t i = 1; i < c->count && agrees; i++) {
        buffer_clear(&other);
        agrees = sign_node(c->nodes[i], &other) &&
                 slice_equal(buffer_slice(&first), buffer_slice(&other));
    }
    buffer_free(&first);
    buffer_free(&other);
    return agrees;
}

/* Whether the node's view has the other one as a member with whom it has spoken. */
static bool knows_node(struct ctl_node *node, const struct ctl_node *other) {
    struct ctl_view view;
    bool known = false;
    if (!ctl_node_view(node, &view)) return false;
    for (size_t i = 0; i < view.count; i++)
        if (!strcmp(view.lines[i].id, other->self.id)) known = !(view.lines[i].flags & USELESS);
    ctl_view_free(&view);
    return known;
}

/* Says for each node which other nodes do not know it. */
static void say_unreachable(const struct ctl_cluster *c) {
    struct buffer text = {.class = MEMORY_OTHER};
    unsigned lonely = 0;
    for (size_t i = 0; i < c->count; i++) {
        size_t before = text.length;
        for (size_t j = 0; j < c->count; j++) {
            if (i == j || knows_node(c->nodes[j], c->nodes[i])) continue;
            if (text.length == before)
                buffer_printf(&text, " - Node %s may be unreachable from:\n", c->nodes[i]->name);
            buffer_printf(&text, "   %s\n", c->nodes[j]->name);
        }
        lonely += text.length > before;
    }
    if (lonely) {
        ctl_say(CTL_WARNING, "\nWarning: %u node(s) may be unreachable\n", lonely);
        ctl_say(CTL_PLAIN, "%s", text.bytes);
        ctl_say(CTL_PLAIN,
                "Cluster bus ports must be reachable by every node.\n"
                "Remember that cluster bus ports are different from standard instance ports.\n");
    }
    buffer_free(&text);
}

bool ctl_cluster_await_join(const struct ctl_cluster *c) {
    ctl_say(CTL_PLAIN, "Waiting for the cluster to join\n");
    for (unsigned waited = 1; !ctl_cluster_agrees(c); waited++) {
        if (ctl_talk_interrupted()) return false;
        ctl_say(CTL_PLAIN, ".");
        ctl_talk_pause();
        if (waited % PATIENCE_SEC == 0) say_unreachable(c);
    }
    ctl_say(CTL_PLAIN, "\n");
    return true;
}

/* --- what a node is --------------------------------------------------------------------------- */

void ctl_cluster_say_node(const struct ctl_node *node, const char *indent) {
    struct buffer text = {.class = MEMORY_OTHER};
    bool primary = ctl_node_is_primary(node);
    buffer_printf(&text, "%s%c: %s %s\n%s   slots:", indent, primary ? 'M' : 'S', node->self.id,
                  node->name, indent);
    ctl_slots_format(&node->self.slots, '-', &text);
    buffer_printf(&text, " (%u slots) ", ctl_slots_count(&node->self.slots));
    ctl_line_flags(&node->self, &text);
    buffer_append_char(&text, '\n');
    if (*node->self.primary)
        buffer_printf(&text, "%s   replicates %s\n", indent, node->self.primary);
    if (node->replicas)
        buffer_printf(&text, "%s   %u additional replica(s)\n", indent, node->replicas);
    ctl_say(CTL_PLAIN, "%s", text.bytes);
    buffer_free(&text);
}

void ctl_cluster_say_nodes(const struct ctl_cluster *c) {
    for (size_t i = 0; i < c->count; i++) ctl_cluster_say_node(c->nodes[i], "");
}
