/* SPDX-License-Identifier: BSD-3-Clause
 * Fuzzes the reader of nodes.conf: what it takes keeps the invariants of a cluster and is printed
 * to a text that is read again to the same text; what it refuses has a reason.
 *
 * Covers: src/topology/node_text.c src/topology/nodes.c src/topology/slots.c
 */
#include <stdint.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/panic.h"
#include "topology/node_text.h"
#include "topology/nodes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A file keeps no node in a handshake, so that what refers to one is read as another state. */
static bool has_handshakes(const struct cluster *c) {
    for (size_t i = 0; i < c->count; i++)
        if (cluster_node_has(c->nodes[i], CLUSTER_NODE_HANDSHAKE)) return true;
    return false;
}

static void print_again(const struct cluster *c) {
    struct buffer text, again, why;
    buffer_init(&text, MEMORY_OTHER);
    buffer_init(&again, MEMORY_OTHER);
    buffer_init(&why, MEMORY_OTHER);
    cluster_file_print(c, &text);
    struct cluster *copy = cluster_file_parse(buffer_slice(&text), &why);
    ASSERT(copy);
    cluster_check(copy);
    cluster_file_print(copy, &again);
    ASSERT(has_handshakes(c) || slice_equal(buffer_slice(&text), buffer_slice(&again)));
    cluster_free(copy);
    buffer_free(&text);
    buffer_free(&again);
    buffer_free(&why);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct buffer why;
    char *copy = memory_alloc(size, MEMORY_OTHER);
    if (size) memcpy(copy, data, size);
    log_set_level(LOG_LEVEL_WARNING + 1);
    clock_use_fixed(INT64_C(1700000000000000), 0);
    buffer_init(&why, MEMORY_OTHER);
    struct cluster *c = cluster_file_parse((struct slice){copy, size}, &why);
    if (c) {
        ASSERT(why.length == 0);
        cluster_check(c);
        print_again(c);
        cluster_free(c);
    } else {
        ASSERT(why.length);
    }
    buffer_free(&why);
    memory_free(copy, MEMORY_OTHER);
    return 0;
}
