/* SPDX-License-Identifier: BSD-3-Clause
 * Failures. failure.h has the states.
 *
 * Invariants
 *  1. A node is not both suspected and failed, and this node itself is neither.
 *  2. There is at most one report by each node; only voters' reports count.
 */
#include "topology/failure.h"

#include "base/log.h"
#include "base/memory.h"
#include "topology/nodes.h"

/* Of the node timeout: how long a report is valid, and how long a primary with slots stays failed
 * though it answers, so that its successor has the time to take over. */
#define REPORT_TIMEOUTS 2
#define UNDO_TIMEOUTS 2

#define NOT_JUDGED \
    ((unsigned)(CLUSTER_NODE_MYSELF | CLUSTER_NODE_HANDSHAKE | CLUSTER_NODE_NO_ADDRESS))
#define FAILING ((unsigned)(CLUSTER_NODE_SUSPECTED | CLUSTER_NODE_FAILED))

/* Whether more than `times` timeouts have passed. A timeout may be as great as an int64 is. */
static bool is_over(int64_t since_msec, int64_t now_msec, int64_t times, int64_t timeout_msec) {
    return (now_msec - since_msec) / times > timeout_msec ||
           ((now_msec - since_msec) / times == timeout_msec && (now_msec - since_msec) % times);
}

/* ---- Reports ---- */

static struct cluster_report *report_find(const struct cluster_node *about,
                                          const struct cluster_node *by) {
    for (size_t i = 0; i < about->report_count; i++)
        if (about->reports[i].by == by) return &about->reports[i];
    return NULL;
}

static void report_remove(struct cluster_node *about, struct cluster_report *report) {
    *report = about->reports[--about->report_count];
}

bool cluster_report_add(struct cluster_node *about, struct cluster_node *by, int64_t now_msec) {
    struct cluster_report *report = report_find(about, by);
    bool is_new = !report;
    if (is_new) {
        size_t size = (about->report_count + 1) * sizeof(struct cluster_report);
        about->reports = memory_realloc(about->reports, size, MEMORY_OTHER);
        report = &about->reports[about->report_count++];
    }
    *report = (struct cluster_report){.by = by, .heard_msec = now_msec};
    return is_new;
}

bool cluster_report_withdraw(struct cluster_node *about, const struct cluster_node *by) {
    struct cluster_report *report = report_find(about, by);
    if (report) report_remove(about, report);
    return report != NULL;
}

size_t cluster_reports_count(struct cluster_node *about, int64_t now_msec, int64_t timeout_msec) {
    for (size_t i = about->report_count; i > 0; i--)
        if (is_over(about->reports[i - 1].heard_msec, now_msec, REPORT_TIMEOUTS, timeout_msec))
            report_remove(about, &about->reports[i - 1]);
    return about->report_count;
}

/* ---- States ---- */

static void set_state(struct cluster *c, struct cluster_node *node, unsigned state) {
    node->flags = (uint16_t)((node->flags & ~FAILING) | state);
    cluster_changed(c);
}

bool cluster_failure_suspect(struct cluster *c, struct cluster_node *node, int64_t now_msec,
                             int64_t timeout_msec) {
    if (!node->ping_sent_msec || cluster_node_has(node, NOT_JUDGED | FAILING)) return false;
    int64_t since = node->ping_sent_msec > node->data_received_msec ? node->ping_sent_msec
                                                                    : node->data_received_msec;
    if (!is_over(since, now_msec, 1, timeout_msec)) return false;
    set_state(c, node, CLUSTER_NODE_SUSPECTED);
    log_debug("Node %s does not answer, and is suspected to fail.", node->id.text);
    return true;
}

static void become_failed(struct cluster *c, struct cluster_node *node, int64_t now_msec) {
    node->failed_msec = now_msec;
    set_state(c, node, CLUSTER_NODE_FAILED);
}

bool cluster_failure_judge(struct cluster *c, struct cluster_node *node, int64_t now_msec,
                           int64_t timeout_msec) {
    if (!cluster_node_has(node, CLUSTER_NODE_SUSPECTED)) return false;
    size_t voices = cluster_node_votes(c->self);
    size_t count = cluster_reports_count(node, now_msec, timeout_msec);
    for (size_t i = 0; i < count; i++) voices += cluster_node_votes(node->reports[i].by);
    if (voices < cluster_size(c) / 2 + 1) return false;
    become_failed(c, node, now_msec);
    log_notice("Marking node %s as failing (quorum reached).", node->id.text);
    return true;
}

bool cluster_failure_believe(struct cluster *c, struct cluster_node *node,
                             const struct cluster_node *sender, int64_t now_msec) {
    if (cluster_node_has(node, CLUSTER_NODE_FAILED | CLUSTER_NODE_MYSELF)) return false;
    become_failed(c, node, now_msec);
    log_notice("FAIL message received from %s about %s", sender->id.text, node->id.text);
    return true;
}

bool cluster_failure_end(struct cluster *c, struct cluster_node *node, int64_t now_msec,
                         int64_t timeout_msec) {
    bool failed = cluster_node_has(node, CLUSTER_NODE_FAILED);
    if (!cluster_node_has(node, FAILING)) return false;
    if (failed && cluster_node_votes(node) &&
        !is_over(node->failed_msec, now_msec, UNDO_TIMEOUTS, timeout_msec))
        return false;
    set_state(c, node, 0);
    if (failed) log_notice("Clear FAIL state for node %s: it is reachable again.", node->id.text);
    return true;
}
