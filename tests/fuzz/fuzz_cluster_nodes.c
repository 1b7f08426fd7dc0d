/* SPDX-License-Identifier: BSD-3-Clause
 * Fuzzes the parser of CLUSTER NODES: what it takes keeps the invariants of clusterctl/ctl_view.c,
 * and can be printed.
 *
 * Covers: src/clusterctl/ctl_view.c src/clusterctl/ctl_slots.c
 */
#include <stdint.h>
#include <string.h>

#include "base/memory.h"
#include "base/panic.h"
#include "clusterctl/ctl_view.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_line(const struct ctl_line *line) {
    ASSERT(strlen(line->id) == CTL_ID_CHARS);
    ASSERT(!*line->primary || strlen(line->primary) == CTL_ID_CHARS);
    ASSERT(strlen(line->host) < CTL_HOST_CHARS && line->port >= 0 && line->port <= UINT16_MAX);
    for (const char *c = line->host; *c; c++) ASSERT(*c > ' ' && *c <= '~');
    for (size_t i = 0; i < line->open_count; i++) {
        ASSERT(line->open[i].slot < KEY_SLOTS && strlen(line->open[i].peer) == CTL_ID_CHARS);
        ASSERT(ctl_line_find_open(line, line->open[i].slot) == &line->open[i]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char reason[CTL_VIEW_REASON_CHARS], host[CTL_HOST_CHARS];
    int port;
    struct ctl_view view;
    struct buffer out = {.class = MEMORY_OTHER};
    char *copy = memory_alloc(size, MEMORY_OTHER);
    if (size) memcpy(copy, data, size);
    struct slice text = {copy, size};
    if (ctl_address_parse(text, host, &port)) ASSERT(*host && port > 0);
    if (ctl_view_parse(&view, text, reason)) {
        for (size_t i = 0; i < view.count; i++) {
            check_line(&view.lines[i]);
            ctl_line_flags(&view.lines[i], &out);
        }
        ASSERT(ctl_view_myself(&view)->flags & CTL_MYSELF);
        ctl_view_sign(&view, &out);
        ctl_view_free(&view);
    } else {
        ASSERT(*reason);
    }
    buffer_free(&out);
    memory_free(copy, MEMORY_OTHER);
    return 0;
}
