/* SPDX-License-Identifier: BSD-3-Clause
 * The bytes of the bus. message.h has the format.
 *
 * Invariants
 *  1. No byte is read before the frame's length has been compared with what its type needs.
 *  2. Parsed and printed again, a message that 6.2 has sent has the same bytes.
 */
#include "bus/message.h"

#include <string.h>

#include "base/panic.h"
#include "topology/nodes.h"

#define SIGNATURE "RCmb"
#define SIGNATURE_BYTES 4
#define VERSION 1
#define HOST_BYTES (CLUSTER_HOST_CHARS + 1)
/* Lengths behind the header: of FAIL; of UPDATE; of PUBLISH and MODULE without their texts. */
#define FAIL_BYTES CLUSTER_ID_CHARS
#define UPDATE_BYTES (8 + CLUSTER_ID_CHARS + CLUSTER_BITMAP_BYTES)
#define PUBLISH_BYTES 8
#define MODULE_BYTES (8 + 4 + 1)
#define PLAIN_BYTES_MAX (CLUSTER_HEADER_BYTES + CLUSTER_ENTRY_BYTES * CLUSTER_NODES_MAX)

/* Offsets in the header and in an entry. */
enum {
    AT_LENGTH = 4,
    AT_VERSION = 8,
    AT_PORT = 10,
    AT_TYPE = 12,
    AT_ENTRIES = 14,
    AT_CURRENT_EPOCH = 16,
    AT_CONFIG_EPOCH = 24,
    AT_OFFSET = 32,
    AT_SENDER = 40,
    AT_SLOTS = 80,
    AT_PRIMARY = 2128,
    AT_HOST = 2168,
    AT_PLAIN_PORT = 2246,
    AT_BUS_PORT = 2248,
    AT_FLAGS = 2250,
    AT_STATE = 2252,
    AT_MARKS = 2253
};
enum {
    ENTRY_PING = 40,
    ENTRY_PONG = 44,
    ENTRY_HOST = 48,
    ENTRY_PORT = 94,
    ENTRY_BUS_PORT = 96,
    ENTRY_FLAGS = 98,
    ENTRY_PLAIN_PORT = 100
};

#define ROLE_FLAGS ((unsigned)(CLUSTER_NODE_PRIMARY | CLUSTER_NODE_REPLICA))
/* What one node may say of another: nobody tells this node that another is `myself`, and whom it
 * greets is its own affair. */
#define TOLD_FLAGS                                                                        \
    ((unsigned)(CLUSTER_NODE_PRIMARY | CLUSTER_NODE_REPLICA | CLUSTER_NODE_SUSPECTED |    \
                CLUSTER_NODE_FAILED | CLUSTER_NODE_NO_ADDRESS | CLUSTER_NODE_MIGRATE_TO | \
                CLUSTER_NODE_NO_FAILOVER))
#define ALL_MARKS ((unsigned)(CLUSTER_MARK_PAUSED | CLUSTER_MARK_FORCE_ACK))

/* ---- Numbers ---- */

static uint64_t get_number(const unsigned char *bytes, size_t width) {
    uint64_t value = 0;
    for (size_t i = 0; i < width; i++) value = value << 8 | bytes[i];
    return value;
}
static uint16_t get_16(const unsigned char *bytes) { return (uint16_t)get_number(bytes, 2); }
static uint32_t get_32(const unsigned char *bytes) { return (uint32_t)get_number(bytes, 4); }
static uint64_t get_64(const unsigned char *bytes) { return get_number(bytes, 8); }

static void put_number(unsigned char *bytes, size_t width, uint64_t value) {
    for (size_t i = width; i > 0; i--, value >>= 8) bytes[i - 1] = (unsigned char)value;
}

/* ---- Frames ---- */

static bool has_texts(unsigned type) { return type == CLUSTER_PUBLISH || type == CLUSTER_MODULE; }

enum cluster_frame cluster_message_frame(struct slice received, size_t bytes_max, size_t *length) {
    const unsigned char *bytes = (const unsigned char *)received.bytes;
    size_t signature = received.length < SIGNATURE_BYTES ? received.length : SIGNATURE_BYTES;
    *length = 0;
    if (signature && memcmp(bytes, SIGNATURE, signature) != 0) return CLUSTER_FRAME_BAD;
    if (received.length < AT_TYPE + 2) return CLUSTER_FRAME_PART;
    uint32_t total = get_32(bytes + AT_LENGTH);
    if (total < CLUSTER_HEADER_BYTES || total > bytes_max) return CLUSTER_FRAME_BAD;
    if (!has_texts(get_16(bytes + AT_TYPE)) && total > PLAIN_BYTES_MAX) return CLUSTER_FRAME_BAD;
    *length = total;
    return received.length < total ? CLUSTER_FRAME_PART : CLUSTER_FRAME_WHOLE;
}

enum cluster_message_type cluster_message_type_of(struct slice frame) {
    const unsigned char *bytes = (const unsigned char *)frame.bytes;
    ASSERT(frame.length >= CLUSTER_HEADER_BYTES);
    unsigned type = get_16(bytes + AT_TYPE);
    if (get_16(bytes + AT_VERSION) != VERSION || type >= CLUSTER_MESSAGE_TYPES)
        return CLUSTER_MESSAGE_TYPES;
    return (enum cluster_message_type)type;
}

/* ---- Parsing ---- */

/* False where the bytes are no id. Zeros are "no id" where `optional`. */
static bool get_id(const unsigned char *bytes, bool optional, struct cluster_id *id) {
    static const unsigned char none[CLUSTER_ID_CHARS];
    id->text[0] = '\0';
    if (optional && memcmp(bytes, none, CLUSTER_ID_CHARS) == 0) return true;
    if (!cluster_id_is_valid((struct slice){(const char *)bytes, CLUSTER_ID_CHARS})) return false;
    memcpy(id->text, bytes, CLUSTER_ID_CHARS);
    id->text[CLUSTER_ID_CHARS] = '\0';
    return true;
}

/* A host ends with a zero within its bytes; what stands behind that does not count. */
static bool get_host(const unsigned char *bytes, struct cluster_address *address) {
    const unsigned char *end = memchr(bytes, 0, HOST_BYTES);
    if (!end) return false;
    struct slice host = {(const char *)bytes, (size_t)(end - bytes)};
    if (host.length && !cluster_host_is_valid(host)) return false;
    memcpy(address->host, bytes, host.length);
    address->host[host.length] = '\0';
    return true;
}

static bool get_flags(const unsigned char *bytes, unsigned *flags) {
    *flags = get_16(bytes) & TOLD_FLAGS;
    return (*flags & ROLE_FLAGS) != ROLE_FLAGS;
}

/* Of an entry that has been found sound. */
static void read_entry(const unsigned char *bytes, struct cluster_entry *entry) {
    const char *host = (const char *)bytes + ENTRY_HOST;
    memset(entry, 0, sizeof(*entry));
    memcpy(entry->id.text, bytes, CLUSTER_ID_CHARS);
    memcpy(entry->address.host, host, strnlen(host, HOST_BYTES - 1));
    entry->ping_sent_sec = get_32(bytes + ENTRY_PING);
    entry->pong_received_sec = get_32(bytes + ENTRY_PONG);
    entry->address.port = get_16(bytes + ENTRY_PORT);
    entry->address.bus_port = get_16(bytes + ENTRY_BUS_PORT);
    entry->address.plain_port = get_16(bytes + ENTRY_PLAIN_PORT);
    entry->flags = get_16(bytes + ENTRY_FLAGS) & TOLD_FLAGS;
}

static bool is_entry(const unsigned char *bytes) {
    struct cluster_id id;
    struct cluster_address address;
    unsigned flags;
    return get_id(bytes, false, &id) && get_host(bytes + ENTRY_HOST, &address) &&
           get_flags(bytes + ENTRY_FLAGS, &flags);
}

static bool parse_entries(const unsigned char *body, size_t length, struct cluster_message *m,
                          const char **why) {
    *why = "its length is not that of its entries";
    if (length != (size_t)m->entry_count * CLUSTER_ENTRY_BYTES) return false;
    *why = "an entry of its gossip is malformed";
    m->entries = body;
    for (unsigned i = 0; i < m->entry_count; i++)
        if (!is_entry(body + (size_t)i * CLUSTER_ENTRY_BYTES)) return false;
    return true;
}

static bool parse_texts(const unsigned char *body, size_t length, struct cluster_message *m) {
    bool publish = m->type == CLUSTER_PUBLISH;
    size_t fixed = publish ? PUBLISH_BYTES : MODULE_BYTES;
    if (length < fixed) return false;
    uint64_t channel = publish ? get_32(body) : 0, text = get_32(body + (publish ? 4 : 8));
    if (fixed + channel + text != length) return false;
    const char *texts = (const char *)body + fixed;
    m->channel = (struct slice){texts, (size_t)channel};
    m->text = (struct slice){texts + channel, (size_t)text};
    if (publish) return true;
    memcpy(m->module, body, sizeof(m->module));
    m->module_type = body[MODULE_BYTES - 1];
    return true;
}

static bool parse_body(const unsigned char *body, size_t length, struct cluster_message *m,
                       const char **why) {
    switch (m->type) {
    case CLUSTER_PING:
    case CLUSTER_PONG:
    case CLUSTER_MEET: return parse_entries(body, length, m, why);
    case CLUSTER_PUBLISH:
    case CLUSTER_MODULE:
        *why = "its length is not that of its texts";
        return parse_texts(body, length, m);
    case CLUSTER_FAIL:
        *why = "FAIL is malformed";
        return length == FAIL_BYTES && get_id(body, false, &m->about);
    case CLUSTER_UPDATE:
        *why = "UPDATE is malformed";
        if (length != UPDATE_BYTES || !get_id(body + 8, false, &m->about)) return false;
        m->about_epoch = get_64(body);
        m->about_slots = body + 8 + CLUSTER_ID_CHARS;
        return true;
    case CLUSTER_AUTH_REQUEST:
    case CLUSTER_AUTH_ACK:
    case CLUSTER_MFSTART: *why = "it has a body"; return length == 0;
    case CLUSTER_MESSAGE_TYPES: break;
    }
    *why = "its type is not known";
    return false;
}

static bool parse_header(const unsigned char *h, struct cluster_message *m, const char **why) {
    *why = "its version is not 1";
    if (get_16(h + AT_VERSION) != VERSION) return false;
    *why = "its type is not known";
    unsigned type = get_16(h + AT_TYPE);
    if (type >= CLUSTER_MESSAGE_TYPES) return false;
    m->type = (enum cluster_message_type)type;
    m->entry_count = get_16(h + AT_ENTRIES);
    m->current_epoch = get_64(h + AT_CURRENT_EPOCH);
    m->config_epoch = get_64(h + AT_CONFIG_EPOCH);
    m->offset = get_64(h + AT_OFFSET);
    m->slots = h + AT_SLOTS;
    m->address.port = get_16(h + AT_PORT);
    m->address.plain_port = get_16(h + AT_PLAIN_PORT);
    m->address.bus_port = get_16(h + AT_BUS_PORT);
    m->fails = h[AT_STATE] != 0;
    m->marks = h[AT_MARKS] & ALL_MARKS;
    *why = "its sender's id is malformed";
    if (!get_id(h + AT_SENDER, false, &m->sender)) return false;
    *why = "its primary's id is malformed";
    if (!get_id(h + AT_PRIMARY, true, &m->primary)) return false;
    *why = "its announced host is malformed";
    if (!get_host(h + AT_HOST, &m->address)) return false;
    *why = "its sender has two roles";
    return get_flags(h + AT_FLAGS, &m->flags);
}

bool cluster_message_parse(struct slice frame, struct cluster_message *m, const char **why) {
    const unsigned char *bytes = (const unsigned char *)frame.bytes;
    ASSERT(frame.length >= CLUSTER_HEADER_BYTES);
    memset(m, 0, sizeof(*m));
    return parse_header(bytes, m, why) &&
           parse_body(bytes + CLUSTER_HEADER_BYTES, frame.length - CLUSTER_HEADER_BYTES, m, why);
}

void cluster_message_entry(const struct cluster_message *m, unsigned at,
                           struct cluster_entry *entry) {
    ASSERT(at < m->entry_count);
    read_entry(m->entries + (size_t)at * CLUSTER_ENTRY_BYTES, entry);
}

/* ---- Printing ---- */

static void append_number(struct buffer *out, size_t width, uint64_t value) {
    unsigned char bytes[8];
    put_number(bytes, width, value);
    buffer_append(out, bytes, width);
}

static void print_header(unsigned char *h, const struct cluster_message *m, uint64_t length) {
    memset(h, 0, CLUSTER_HEADER_BYTES);
    memcpy(h, SIGNATURE, SIGNATURE_BYTES);
    put_number(h + AT_LENGTH, 4, length);
    put_number(h + AT_VERSION, 2, VERSION);
    put_number(h + AT_PORT, 2, m->address.port);
    put_number(h + AT_TYPE, 2, (uint64_t)m->type);
    put_number(h + AT_CURRENT_EPOCH, 8, m->current_epoch);
    put_number(h + AT_CONFIG_EPOCH, 8, m->config_epoch);
    put_number(h + AT_OFFSET, 8, m->offset);
    memcpy(h + AT_SENDER, m->sender.text, CLUSTER_ID_CHARS);
    memcpy(h + AT_SLOTS, m->slots, CLUSTER_BITMAP_BYTES);
    memcpy(h + AT_PRIMARY, m->primary.text, strlen(m->primary.text));
    memcpy(h + AT_HOST, m->address.host, strlen(m->address.host));
    put_number(h + AT_PLAIN_PORT, 2, m->address.plain_port);
    put_number(h + AT_BUS_PORT, 2, m->address.bus_port);
    /* A sender says of itself that it is itself. */
    put_number(h + AT_FLAGS, 2, m->flags | CLUSTER_NODE_MYSELF);
    h[AT_STATE] = m->fails;
    h[AT_MARKS] = (unsigned char)m->marks;
}

static uint64_t body_length(const struct cluster_message *m) {
    switch (m->type) {
    case CLUSTER_FAIL: return FAIL_BYTES;
    case CLUSTER_UPDATE: return UPDATE_BYTES;
    case CLUSTER_PUBLISH: return (uint64_t)PUBLISH_BYTES + m->channel.length + m->text.length;
    case CLUSTER_MODULE: return (uint64_t)MODULE_BYTES + m->text.length;
    default: return 0;
    }
}

void cluster_message_print(const struct cluster_message *m, struct buffer *out) {
    unsigned char header[CLUSTER_HEADER_BYTES];
    ASSERT(m->type < CLUSTER_MESSAGE_TYPES && cluster_id_is_valid(slice_of(m->sender.text)));
    ASSERT(m->channel.length <= CLUSTER_TEXTS_BYTES_MAX &&
           m->text.length <= CLUSTER_TEXTS_BYTES_MAX - m->channel.length);
    print_header(header, m, CLUSTER_HEADER_BYTES + body_length(m));
    buffer_append(out, header, sizeof(header));
    if (m->type == CLUSTER_UPDATE) append_number(out, 8, m->about_epoch);
    if (m->type == CLUSTER_UPDATE || m->type == CLUSTER_FAIL)
        buffer_append(out, m->about.text, CLUSTER_ID_CHARS);
    if (m->type == CLUSTER_UPDATE) buffer_append(out, m->about_slots, CLUSTER_BITMAP_BYTES);
    if (m->type == CLUSTER_PUBLISH) {
        append_number(out, 4, m->channel.length);
        append_number(out, 4, m->text.length);
        buffer_append(out, m->channel.bytes, m->channel.length);
    }
    if (m->type == CLUSTER_MODULE) {
        buffer_append(out, m->module, sizeof(m->module));
        append_number(out, 4, m->text.length);
        append_number(out, 1, m->module_type);
    }
    if (has_texts(m->type)) buffer_append(out, m->text.bytes, m->text.length);
}

void cluster_message_add(struct buffer *out, size_t start, const struct cluster_entry *entry) {
    unsigned char bytes[CLUSTER_ENTRY_BYTES] = {0};
    unsigned char *header = (unsigned char *)out->bytes + start;
    unsigned count = get_16(header + AT_ENTRIES);
    ASSERT(get_16(header + AT_TYPE) <= CLUSTER_MEET && count < CLUSTER_NODES_MAX);
    ASSERT_COMPARE(out->length - start, ==, get_32(header + AT_LENGTH));
    put_number(header + AT_ENTRIES, 2, count + 1);
    put_number(header + AT_LENGTH, 4, out->length - start + CLUSTER_ENTRY_BYTES);
    memcpy(bytes, entry->id.text, CLUSTER_ID_CHARS);
    put_number(bytes + ENTRY_PING, 4, entry->ping_sent_sec);
    put_number(bytes + ENTRY_PONG, 4, entry->pong_received_sec);
    memcpy(bytes + ENTRY_HOST, entry->address.host, strlen(entry->address.host));
    put_number(bytes + ENTRY_PORT, 2, entry->address.port);
    put_number(bytes + ENTRY_BUS_PORT, 2, entry->address.bus_port);
    put_number(bytes + ENTRY_FLAGS, 2, entry->flags);
    put_number(bytes + ENTRY_PLAIN_PORT, 2, entry->address.plain_port);
    buffer_append(out, bytes, sizeof(bytes));
}
