/* SPDX-License-Identifier: BSD-3-Clause
 * Fuzzes the messages of the cluster's bus: a message that is taken lies within its bytes, keeps
 * message.h's promises, and is printed to a message of the same length that is taken again.
 *
 * Covers: src/bus/message.c
 */
#include <stdint.h>
#include <string.h>

#include "base/memory.h"
#include "base/panic.h"
#include "bus/message.h"
#include "topology/nodes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_address(const struct cluster_address *address) {
    size_t length = strnlen(address->host, sizeof(address->host));
    ASSERT(length == 0 || cluster_host_is_valid((struct slice){address->host, length}));
}

static void check_inside(struct slice frame, const void *bytes, size_t length) {
    const char *at = bytes;
    ASSERT(at >= frame.bytes && at + length <= frame.bytes + frame.length);
}

static void check_message(struct slice frame, const struct cluster_message *m,
                          struct buffer *again) {
    struct cluster_entry entry;
    const char *why;
    ASSERT(cluster_id_is_valid(slice_of(m->sender.text)));
    ASSERT(!*m->primary.text || cluster_id_is_valid(slice_of(m->primary.text)));
    ASSERT(!(m->flags & (CLUSTER_NODE_MYSELF | CLUSTER_NODE_HANDSHAKE | CLUSTER_NODE_MEET)));
    check_address(&m->address);
    check_inside(frame, m->slots, CLUSTER_BITMAP_BYTES);
    if (m->type == CLUSTER_UPDATE) check_inside(frame, m->about_slots, CLUSTER_BITMAP_BYTES);
    if (m->text.length) check_inside(frame, m->text.bytes, m->text.length);
    cluster_message_print(m, again);
    /* The count means something in the PING family only. */
    for (unsigned i = 0; m->type <= CLUSTER_MEET && i < m->entry_count; i++) {
        cluster_message_entry(m, i, &entry);
        ASSERT(cluster_id_is_valid(slice_of(entry.id.text)));
        ASSERT(!(entry.flags & (CLUSTER_NODE_MYSELF | CLUSTER_NODE_HANDSHAKE)));
        check_address(&entry.address);
        cluster_message_add(again, 0, &entry);
    }
    struct cluster_message back;
    ASSERT(again->length == frame.length);
    ASSERT(cluster_message_parse(buffer_slice(again), &back, &why));
    ASSERT(back.type == m->type && back.current_epoch == m->current_epoch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct buffer again = {.class = MEMORY_OTHER};
    struct cluster_message m;
    const char *why = NULL;
    size_t length;
    char *copy = memory_alloc(size, MEMORY_OTHER);
    if (size) memcpy(copy, data, size);
    enum cluster_frame frame =
        cluster_message_frame((struct slice){copy, size}, CLUSTER_STRANGER_BYTES_MAX, &length);
    ASSERT(frame != CLUSTER_FRAME_WHOLE || (length <= size && length >= CLUSTER_HEADER_BYTES));
    ASSERT(length <= CLUSTER_STRANGER_BYTES_MAX);
    if (frame == CLUSTER_FRAME_WHOLE) {
        char *whole = memory_alloc(length, MEMORY_OTHER); /* a read behind it is seen */
        memcpy(whole, copy, length);
        if (cluster_message_parse((struct slice){whole, length}, &m, &why))
            check_message((struct slice){whole, length}, &m, &again);
        else
            ASSERT(why);
        memory_free(whole, MEMORY_OTHER);
    }
    memory_free(copy, MEMORY_OTHER);
    buffer_free(&again);
    return 0;
}
