/* SPDX-License-Identifier: BSD-3-Clause
 * --cluster backup: a snapshot of each primary, and what the nodes are as JSON.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "base/system.h"
#include "clusterctl/ctl_check.h"
#include "clusterctl/ctl_commands.h"
#include "clusterctl/ctl_talk.h"
#include "tools/tool_snapshot.h"

static void append_path(struct buffer *path, const char *folder, const char *name) {
    buffer_clear(path);
    buffer_printf(path, "%s%s%s", folder, *folder && folder[strlen(folder) - 1] == '/' ? "" : "/",
                  name);
}

/* --- nodes.json ------------------------------------------------------------------------------- */

/* Appends a member with the slots that have this mark, if there are any. */
static void append_marks(struct buffer *json, const struct ctl_line *line, bool migrating) {
    const char *before = "";
    for (size_t i = 0; i < line->open_count; i++) {
        if (line->open[i].migrating != migrating) continue;
        if (!*before)
            buffer_printf(json, ",\n    \"%s\": {", migrating ? "migrating" : "importing");
        buffer_printf(json, "%s\"%u\": \"%s\"", before, line->open[i].slot, line->open[i].peer);
        before = ",";
    }
    if (*before) buffer_append_char(json, '}');
}

/* Hosts are checked to be printable, and may have a quote or a backslash all the same. */
static void append_text(struct buffer *json, const char *text) {
    buffer_append_char(json, '"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') buffer_append_char(json, '\\');
        buffer_append_char(json, *text);
    }
    buffer_append_char(json, '"');
}

static void append_node(struct buffer *json, const struct ctl_node *node, unsigned faults) {
    const struct ctl_line *line = &node->self;
    buffer_printf(json, "  {\n    \"name\": \"%s\",\n    \"host\": ", line->id);
    append_text(json, node->host);
    buffer_printf(json, ",\n    \"port\": %d,\n    \"replicate\": ", node->port);
    buffer_printf(json, *line->primary ? "\"%s\"" : "null", line->primary);
    buffer_append_c_string(json, ",\n    \"slots\": [");
    ctl_slots_format(&line->slots, ',', json);
    buffer_printf(json, "],\n    \"slots_count\": %u,\n    \"flags\": \"",
                  ctl_slots_count(&line->slots));
    ctl_line_flags(line, json);
    buffer_printf(json, "\",\n    \"current_epoch\": %" PRIu64, line->epoch);
    if (faults) buffer_printf(json, ",\n    \"cluster_errors\": %u", faults);
    append_marks(json, line, true);
    append_marks(json, line, false);
    buffer_append_c_string(json, "\n  }");
}

static bool write_bytes(int fd, struct slice bytes) {
    while (bytes.length) {
        ssize_t written = system_write(fd, bytes.bytes, bytes.length);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return false;
        bytes.bytes += written;
        bytes.length -= (size_t)written;
    }
    return system_fsync(fd) == 0;
}

static bool save_nodes(const struct ctl_cluster *c, const char *path, unsigned faults) {
    struct buffer json = {.class = MEMORY_OTHER};
    buffer_append_c_string(&json, "[\n");
    for (size_t i = 0; i < c->count; i++) {
        append_node(&json, c->nodes[i], faults);
        buffer_append_c_string(&json, i + 1 < c->count ? ",\n" : "\n");
    }
    buffer_append_char(&json, ']');
    ctl_say(CTL_INFO, "Saving cluster configuration to: %s\n", path);
    int fd = system_open(path, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0644);
    bool good = fd >= 0 && write_bytes(fd, buffer_slice(&json));
    if (fd >= 0 && system_close(fd) != 0) good = false;
    if (!good) ctl_complain("Could not save nodes to: %s: %s\n", path, strerror(errno));
    buffer_free(&json);
    return good;
}

/* --- snapshots -------------------------------------------------------------------------------- */

static bool save_node(struct ctl_node *node, const char *folder, struct buffer *path) {
    struct buffer name = {.class = MEMORY_OTHER};
    buffer_printf(&name, "redis-node-%s-%d-%s.rdb", node->host, node->port, node->self.id);
    for (size_t i = 0; i < name.length; i++)
        if (name.bytes[i] == '/') name.bytes[i] = '_'; /* the host is another machine's text */
    append_path(path, folder, name.bytes);
    buffer_free(&name);
    ctl_say(CTL_INFO, ">>> Node %s -> Saving RDB...\n", node->name);
    ctl_talk_flush();
    return tool_snapshot_save(node->client, path->bytes);
}

int ctl_backup(struct ctl_run *r) {
    const char *folder = r->words[1];
    struct buffer path = {.class = MEMORY_OTHER};
    bool good = true;
    if (!ctl_cluster_load(&r->cluster, r->host, r->port)) return 1;
    struct ctl_findings found = ctl_check_cluster(r, 0);
    for (size_t i = 0; i < r->cluster.count && good; i++)
        if (ctl_node_is_primary(r->cluster.nodes[i]))
            good = save_node(r->cluster.nodes[i], folder, &path);
    if (good) {
        append_path(&path, folder, "nodes.json");
        good = save_nodes(&r->cluster, path.bytes, found.faults);
    }
    buffer_free(&path);
    if (!good) {
        ctl_say(CTL_BAD, "[ERR] Failed to back cluster!\n");
        return 1;
    }
    if (!found.good) {
        ctl_say(CTL_WARNING,
                "*** Cluster seems to have some problems, please be aware of it if you're going to "
                "restore this backup.\n");
    }
    ctl_say(CTL_GOOD, "[OK] Backup created into: %s\n", folder);
    return 0;
}
