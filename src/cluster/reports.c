/* SPDX-License-Identifier: BSD-3-Clause
 * What a node tells of its cluster.
 */
#include "cluster/reports.h"

#include <inttypes.h>
#include <stddef.h>

#include "base/clock.h"
#include "bus/bus.h"
#include "cluster/answers.h"
#include "cluster/service.h"
#include "command/call.h"
#include "metric/row.h"
#include "net/reply.h"
#include "topology/node_text.h"
#include "topology/nodes.h"
#include "topology/slots.h"

/* ---- NODES, REPLICAS ---- */

/* The text for clients over TLS, and for those without. */
static struct kept_text {
    struct buffer text;
    uint64_t changes;  /* of the cluster when the text was made, and */
    int64_t made_msec; /* when, because times of pings are no changes */
    bool made;
} nodes_texts[2];

void cluster_report_nodes(struct call *call) {
    struct cluster *c = cluster_here();
    bool plain = cluster_call_is_plain(call);
    struct kept_text *kept = &nodes_texts[plain];
    int64_t now_msec = clock_cached_msec();
    if (!kept->made || kept->changes != c->changes || kept->made_msec != now_msec) {
        if (!kept->made) buffer_init(&kept->text, MEMORY_OTHER);
        buffer_clear(&kept->text);
        cluster_nodes_print(c, plain, &kept->text);
        kept->changes = c->changes;
        kept->made_msec = now_msec;
        kept->made = true;
    }
    reply_verbatim(call->client, buffer_slice(&kept->text), "txt");
}

void cluster_report_replicas(struct call *call) {
    const struct cluster_node *node = cluster_argument_node(call, 2, "Unknown node ");
    if (!node) return;
    if (!cluster_node_is_primary(node)) {
        reply_error(call->client, "The specified node is not a master");
        return;
    }
    struct buffer line;
    buffer_init(&line, MEMORY_OTHER);
    reply_array(call->client, (int64_t)node->replica_count);
    for (size_t i = 0; i < node->replica_count; i++) {
        buffer_clear(&line);
        cluster_node_print(cluster_here(), node->replicas[i], cluster_call_is_plain(call), &line);
        reply_bulk(call->client, buffer_slice(&line));
    }
    buffer_free(&line);
}

/* ---- SLOTS ---- */

static void reply_place(const struct call *call, const struct cluster_node *node) {
    const struct cluster_address *a = &node->address;
    reply_array(call->client, 3);
    reply_bulk_c_string(call->client, a->host);
    reply_integer(call->client,
                  cluster_call_is_plain(call) && a->plain_port ? a->plain_port : a->port);
    reply_bulk(call->client, (struct slice){node->id.text, CLUSTER_ID_CHARS});
}

static bool is_listed(const struct cluster_node *replica) {
    return !cluster_node_has(replica, CLUSTER_NODE_FAILED);
}

static void reply_run(const struct call *call, const struct cluster_run *run) {
    const struct cluster_node *owner = run->owner;
    int64_t listed = 0;
    for (size_t i = 0; i < owner->replica_count; i++) listed += is_listed(owner->replicas[i]);
    reply_array(call->client, 3 + listed);
    reply_integer(call->client, run->first);
    reply_integer(call->client, run->last);
    reply_place(call, owner);
    for (size_t i = 0; i < owner->replica_count; i++)
        if (is_listed(owner->replicas[i])) reply_place(call, owner->replicas[i]);
}

void cluster_report_slots(struct call *call) {
    const struct cluster *c = cluster_here();
    struct reply_group runs = reply_array_begin(call->client);
    struct cluster_run run;
    int64_t count = 0;
    for (unsigned from = 0; cluster_run_next(c, from, &run); from = run.last + 1) {
        if (!run.owner) continue;
        reply_run(call, &run);
        count++;
    }
    reply_group_end(&runs, count);
}

/* ---- INFO ---- */

static void print_state(const struct cluster *c, struct buffer *out) {
    unsigned suspected = 0, failed = 0;
    for (size_t i = 0; i < c->count; i++) {
        const struct cluster_node *node = c->nodes[i];
        if (cluster_node_has(node, CLUSTER_NODE_FAILED))
            failed += node->slot_count;
        else if (cluster_node_has(node, CLUSTER_NODE_SUSPECTED))
            suspected += node->slot_count;
    }
    buffer_printf(out,
                  "cluster_state:%s\r\n"
                  "cluster_slots_assigned:%u\r\n"
                  "cluster_slots_ok:%u\r\n"
                  "cluster_slots_pfail:%u\r\n"
                  "cluster_slots_fail:%u\r\n",
                  c->ok ? "ok" : "fail", c->assigned, c->assigned - suspected - failed, suspected,
                  failed);
}

static uint64_t messages_total(const uint64_t by_type[CLUSTER_MESSAGE_TYPES]) {
    uint64_t total = 0;
    for (size_t i = 0; i < CLUSTER_MESSAGE_TYPES; i++) total += by_type[i];
    return total;
}

static const char *const type_names[CLUSTER_MESSAGE_TYPES] = {
    "ping",     "pong",     "meet",   "fail",    "publish",
    "auth-req", "auth-ack", "update", "mfstart", "module",
};

/* A line for each type that has occurred, and one for all of them. */
static void print_messages(const uint64_t by_type[CLUSTER_MESSAGE_TYPES], const char *way,
                           struct buffer *out) {
    for (size_t i = 0; i < CLUSTER_MESSAGE_TYPES; i++)
        if (by_type[i])
            buffer_printf(out, "cluster_stats_messages_%s_%s:%" PRIu64 "\r\n", type_names[i], way,
                          by_type[i]);
    buffer_printf(out, "cluster_stats_messages_%s:%" PRIu64 "\r\n", way, messages_total(by_type));
}

void cluster_report_info(struct call *call) {
    const struct cluster *c = cluster_here();
    struct buffer text;
    buffer_init(&text, MEMORY_OTHER);
    print_state(c, &text);
    buffer_printf(&text,
                  "cluster_known_nodes:%zu\r\n"
                  "cluster_size:%zu\r\n"
                  "cluster_current_epoch:%" PRIu64
                  "\r\n"
                  "cluster_my_epoch:%" PRIu64 "\r\n",
                  c->count, cluster_size(c), c->current_epoch, cluster_node_epoch(c->self));
    print_messages(cluster_bus_counts()->sent, "sent", &text);
    print_messages(cluster_bus_counts()->received, "received", &text);
    reply_verbatim(call->client, buffer_slice(&text), "txt");
    buffer_free(&text);
}

/* ---- the server's INFO ---- */

static void print_enabled(const struct metric_row *row, struct buffer *out) {
    buffer_append_char(out, cluster_here() ? '1' : '0');
}

/* As 6.2 counts them: a link each way to every other known node, connected or not. */
static void print_connections(const struct metric_row *row, struct buffer *out) {
    const struct cluster *c = cluster_here();
    buffer_printf(out, "%zu", c ? 2 * (c->count - 1) : 0);
}

/* Where a row's or family's count stands in struct cluster_bus_counts: its context. */
static const size_t at_sent = offsetof(struct cluster_bus_counts, sent),
                    at_received = offsetof(struct cluster_bus_counts, received),
                    at_unknown = offsetof(struct cluster_bus_counts, unknown),
                    at_malformed = offsetof(struct cluster_bus_counts, malformed),
                    at_overflowed = offsetof(struct cluster_bus_counts, overflowed),
                    at_links = offsetof(struct cluster_bus_counts, links),
                    at_input = offsetof(struct cluster_bus_counts, input_bytes),
                    at_output = offsetof(struct cluster_bus_counts, output_bytes);

static const uint64_t *count_at(const void *place) {
    const char *counts = (const char *)cluster_bus_counts();
    return (const uint64_t *)(const void *)(counts + *(const size_t *)place);
}
static void print_count(const struct metric_row *row, struct buffer *out) {
    buffer_printf(out, "%" PRIu64, *count_at(row->context));
}
static void print_total(const struct metric_row *row, struct buffer *out) {
    buffer_printf(out, "%" PRIu64, messages_total(count_at(row->context)));
}

/* A line for each type that has occurred. */
static void print_types(const struct metric_row *row, struct buffer *out) {
    const struct cluster_bus_counts *counts = cluster_bus_counts();
    for (size_t i = 0; i < CLUSTER_MESSAGE_TYPES; i++)
        if (counts->sent[i] || counts->received[i])
            buffer_printf(out, "cluster_bus_%s:sent=%" PRIu64 ",received=%" PRIu64 "\r\n",
                          type_names[i], counts->sent[i], counts->received[i]);
}

static enum metric_presence sample_type(const struct metric_family *family, size_t index,
                                        struct metric_sample *s) {
    if (index >= CLUSTER_MESSAGE_TYPES) return METRIC_END;
    s->labels[0] = (struct metric_label){"type", slice_of(type_names[index])};
    s->value = count_at(family->context)[index];
    return METRIC_PRESENT;
}
static const struct metric_family sent_families[] = {
    {"cluster_bus_messages_sent", METRIC_COUNTER, "Messages sent over the cluster bus, by type.",
     sample_type, &at_sent},
    {0}};
static const struct metric_family received_families[] = {
    {"cluster_bus_messages_received", METRIC_COUNTER,
     "Messages that came over the cluster bus, by type, those that were ignored included.",
     sample_type, &at_received},
    {0}};

/* Rows of the bus, which only a node of a cluster has. */
#define BUS_ROW(p, n, m, fn, ctx, h)                                                              \
    {                                                                                             \
        .section = "Cluster", .place = (p), .name = (n), .measure = (m), .type = METRIC_FUNCTION, \
        .print = (fn), .context = (ctx), .present = cluster_is_enabled, .help = (h)               \
    }
#define BUS_MESSAGES(p, n, f, ctx, h)                                                     \
    {                                                                                     \
        .section = "Cluster", .place = (p), .name = (n), .measure = METRIC_FAMILIES,      \
        .type = METRIC_FUNCTION, .print = print_total, .families = (f), .context = (ctx), \
        .present = cluster_is_enabled, .help = (h)                                        \
    }

static const struct metric_row metric_rows[] = {
    METRIC_PRINT("Cluster", 10, "cluster_enabled", METRIC_GAUGE, print_enabled,
                 "1 where this server is a node of a cluster, else 0."),
    BUS_MESSAGES(1010, "cluster_bus_messages_sent", sent_families, &at_sent,
                 "Messages sent over the cluster bus, of all types."),
    BUS_MESSAGES(1020, "cluster_bus_messages_received", received_families, &at_received,
                 "Messages that came over the cluster bus, of all types, those that were ignored "
                 "included."),
    {.section = "Cluster",
     .place = 1025,
     .name = "cluster_bus_<type>",
     .measure = METRIC_INFO_ONLY,
     .print_lines = print_types,
     .present = cluster_is_enabled,
     .help = "Messages sent and received over the cluster bus, a line for each type that occurred, "
             "as CLUSTER INFO names it."},
    BUS_ROW(1030, "cluster_bus_malformed", METRIC_COUNTER, print_count, &at_malformed,
            "Links of the cluster bus that were closed because their bytes were no message."),
    BUS_ROW(1040, "cluster_bus_overflowed", METRIC_COUNTER, print_count, &at_overflowed,
            "Links of the cluster bus that were closed because more than "
            "cluster-link-sendbuf-limit waited to be sent."),
    BUS_ROW(1050, "cluster_bus_unknown", METRIC_COUNTER, print_count, &at_unknown,
            "Messages of the cluster bus of another version or type, which were ignored."),
    BUS_ROW(1060, "cluster_bus_links", METRIC_GAUGE, print_count, &at_links,
            "Links of the cluster bus, own and incoming ones, those that connect included: two for "
            "each other node, and those of strangers."),
    BUS_ROW(1070, "cluster_bus_input_bytes", METRIC_BYTES, print_count, &at_input,
            "Bytes that came over the cluster bus and were not yet taken."),
    BUS_ROW(1080, "cluster_bus_output_bytes", METRIC_BYTES, print_count, &at_output,
            "Bytes that wait to be sent over the cluster bus; a message to several nodes counts "
            "once for each."),
    METRIC_PRINT("Clients", 20, "cluster_connections", METRIC_GAUGE, print_connections,
                 "Two for each other node of the cluster that this one knows."),
};

void cluster_reports_register(void) {
    metric_register(metric_rows, sizeof(metric_rows) / sizeof(metric_rows[0]));
}
