/* SPDX-License-Identifier: BSD-3-Clause
 * Finding the nodes of a cluster: CLUSTER NODES of one of them.
 */
#include "benchmark/benchmark_cluster.h"

#include "base/memory.h"
#include "clusterctl/ctl_view.h"
#include "peer/peer_reply.h"

/* What take_view needs, and finds. */
struct finding {
    struct ctl_view view;
    bool found;
    char *reason;
};

static void take_view(void *owner, const struct peer_reply *reply) {
    struct finding *f = owner;
    char shown[LOAD_REASON_CHARS / 2];
    if (reply->type != PEER_BULK) {
        snprintf(f->reason, LOAD_REASON_CHARS, "%s",
                 reply->type == PEER_ERROR ? string_show(reply->text, shown, sizeof(shown))
                                           : "the reply to CLUSTER NODES is no text");
        return;
    }
    f->found = ctl_view_parse(&f->view, reply->text, f->reason);
}

/* Whether load is sent to the node. */
static bool is_loaded(const struct ctl_line *line) {
    return !(line->flags & (CTL_REPLICA | CTL_NOADDR | CTL_HANDSHAKE)) &&
           ctl_slots_next(&line->slots, 0) >= 0;
}

static void add_node(struct benchmark_server *s, const struct benchmark_options *options,
                     const struct ctl_line *line) {
    /* A node alone does not know its address: it has the one by which it was reached. */
    const char *host = *line->host ? line->host : options->connection.host;
    struct benchmark_server *node = &s->nodes[s->node_count++];
    benchmark_server_init_node(node, options, host, line->port, line->id);
}

/* Makes the map of slots, the nodes' order being that of the loaded lines. */
static void map_slots(struct benchmark_server *s, const struct ctl_view *view) {
    const char **names = memory_alloc(s->node_count * sizeof(const char *), MEMORY_OTHER);
    unsigned node = 0;
    for (unsigned i = 0; i < s->node_count; i++) names[i] = s->nodes[i].name;
    s->names = names;
    s->slots = benchmark_slots_create(names, s->node_count);
    for (size_t i = 0; i < view->count; i++) {
        const struct ctl_line *line = &view->lines[i];
        if (!is_loaded(line)) continue;
        for (int slot = ctl_slots_next(&line->slots, 0); slot >= 0;
             slot = ctl_slots_next(&line->slots, (unsigned)slot + 1))
            benchmark_slots_set(s->slots, (unsigned)slot, node);
        node++;
    }
}

static bool add_nodes(struct benchmark_server *s, const struct benchmark_options *options,
                      const struct ctl_view *view, char *reason) {
    s->nodes = memory_zalloc((view->count + 1) * sizeof(*s->nodes), MEMORY_OTHER);
    for (size_t i = 0; i < view->count; i++) {
        const struct ctl_line *line = &view->lines[i];
        if (is_loaded(line)) {
            add_node(s, options, line);
        } else if (!(line->flags & CTL_REPLICA)) {
            fprintf(stderr, "WARNING: master node %s:%d has no slots, skipping...\n", line->host,
                    line->port);
        }
    }
    if (!s->node_count) {
        snprintf(reason, LOAD_REASON_CHARS, "Invalid cluster: no node has slots");
        return false;
    }
    s->targets = memory_alloc(s->node_count * sizeof(*s->targets), MEMORY_OTHER);
    for (unsigned i = 0; i < s->node_count; i++) {
        if (!benchmark_server_ask(&s->nodes[i], reason)) return false;
        s->targets[i] = s->nodes[i].target;
    }
    map_slots(s, view);
    return true;
}

bool benchmark_cluster_find(struct benchmark_server *s, const struct benchmark_options *options,
                            char reason[LOAD_REASON_CHARS]) {
    struct finding finding = {.reason = reason};
    struct slice words[] = {SLICE("CLUSTER"), SLICE("NODES")};
    char why[LOAD_REASON_CHARS];
    finding.reason = why;
    bool asked = benchmark_server_call(s, words, 2, take_view, &finding, why);
    if (!asked || !finding.found) {
        snprintf(reason, LOAD_REASON_CHARS,
                 "Failed to fetch cluster configuration from %.100s: %.150s", s->name, why);
        return false;
    }
    bool good = add_nodes(s, options, &finding.view, reason);
    ctl_view_free(&finding.view);
    return good;
}

void benchmark_cluster_print(FILE *out, const struct benchmark_server *s) {
    fprintf(out, "Cluster has %u master nodes:\n\n", s->node_count);
    for (unsigned i = 0; i < s->node_count; i++)
        fprintf(out, "Master %u: %s %s\n", i, s->nodes[i].id, s->nodes[i].name);
    fputc('\n', out);
}
