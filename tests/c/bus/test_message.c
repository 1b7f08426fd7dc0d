/* SPDX-License-Identifier: BSD-3-Clause
 * Messages of the bus: what 6.2.16 has sent is read, and printed to the same bytes; frames and
 * their bounds; each malformed field; every length; random bytes.
 */
#include "bus/message.h"

#include "base/memory.h"
#include "base/seed.h"
#include "bus/stock_messages.h"
#include "topology/cluster_scene.h"

#define STOCK_MESSAGES (sizeof(stock_messages) / sizeof(stock_messages[0]))

static void build_stock(const struct stock_message *stock, struct buffer *out) {
    buffer_clear(out);
    memset(buffer_reserve(out, stock->length), 0, stock->length);
    out->length = stock->length;
    for (size_t i = 0; i < STOCK_RUNS_MAX && stock->runs[i].bytes; i++)
        memcpy(out->bytes + stock->runs[i].at, stock->runs[i].bytes, stock->runs[i].length);
}

static void find_stock(const char *name, struct buffer *out) {
    for (size_t i = 0; i < STOCK_MESSAGES; i++)
        if (strcmp(stock_messages[i].name, name) == 0) {
            build_stock(&stock_messages[i], out);
            return;
        }
    fail_msg("%s", name);
}

static void print_whole(const struct cluster_message *m, struct buffer *out) {
    struct cluster_entry entry;
    buffer_clear(out);
    buffer_append_char(out, 'x'); /* messages stand one behind the other */
    cluster_message_print(m, out);
    for (unsigned i = 0; i < m->entry_count; i++) {
        cluster_message_entry(m, i, &entry);
        cluster_message_add(out, 1, &entry);
    }
}

static void test_same_bytes(void **state) {
    struct buffer bytes, again;
    struct cluster_message m;
    const char *why;
    size_t length;
    buffer_init(&bytes, MEMORY_OTHER);
    buffer_init(&again, MEMORY_OTHER);
    for (size_t i = 0; i < STOCK_MESSAGES; i++) {
        build_stock(&stock_messages[i], &bytes);
        assert_int_equal(
            cluster_message_frame(buffer_slice(&bytes), CLUSTER_STRANGER_BYTES_MAX, &length),
            CLUSTER_FRAME_WHOLE);
        assert_int_equal(length, bytes.length);
        if (!cluster_message_parse(buffer_slice(&bytes), &m, &why))
            fail_msg("%s: %s", stock_messages[i].name, why);
        print_whole(&m, &again);
        assert_int_equal(again.length, bytes.length + 1);
        assert_memory_equal(again.bytes + 1, bytes.bytes, bytes.length);
    }
    buffer_free(&bytes);
    buffer_free(&again);
}

static void test_fields(void **state) {
    struct buffer bytes;
    struct cluster_message m;
    struct cluster_entry entry;
    const char *why;
    buffer_init(&bytes, MEMORY_OTHER);
    find_stock("PONG of a replica", &bytes);
    assert_true(cluster_message_parse(buffer_slice(&bytes), &m, &why));
    assert_int_equal(m.type, CLUSTER_PONG);
    assert_int_equal(m.flags, CLUSTER_NODE_REPLICA);
    assert_true(m.fails);
    assert_int_equal(m.marks, 0);
    assert_int_equal(m.address.bus_port, m.address.port + CLUSTER_BUS_PORT_OFFSET);
    assert_string_equal(m.address.host, "");
    assert_true(cluster_id_is_valid(slice_of(m.primary.text)));
    assert_int_equal(m.entry_count, 1);
    cluster_message_entry(&m, 0, &entry);
    assert_string_equal(entry.address.host, "127.0.0.1");
    assert_int_equal(entry.flags, CLUSTER_NODE_PRIMARY);
    assert_true(entry.pong_received_sec > 1700000000);
    find_stock("UPDATE", &bytes);
    assert_true(cluster_message_parse(buffer_slice(&bytes), &m, &why));
    assert_int_equal(m.about_epoch, 4);
    for (unsigned slot = 0; slot < KEY_SLOTS; slot++)
        assert_int_equal(cluster_bitmap_has(m.about_slots, slot), slot < 9);
    find_stock("PUBLISH", &bytes);
    assert_true(cluster_message_parse(buffer_slice(&bytes), &m, &why));
    assert_true(slice_equal(m.channel, SLICE("chan")) && slice_equal(m.text, SLICE("hello world")));
    buffer_free(&bytes);
}

/* What no record shows: all fields at once, a module's message, and ours with an announced host. */
static void test_there_and_back(void **state) {
    unsigned char slots[CLUSTER_BITMAP_BYTES] = {[5] = 3}, about_slots[CLUSTER_BITMAP_BYTES] = {9};
    struct buffer bytes;
    struct cluster_message back, m = {.current_epoch = UINT64_MAX - 1,
                                      .config_epoch = 0x0102030405060708,
                                      .offset = 3,
                                      .sender = scene_id('a'),
                                      .primary = scene_id('b'),
                                      .address = {"fe80::1", 65535, 1, 65534},
                                      .flags = CLUSTER_NODE_REPLICA | CLUSTER_NODE_NO_FAILOVER,
                                      .marks = CLUSTER_MARK_PAUSED | CLUSTER_MARK_FORCE_ACK,
                                      .slots = slots,
                                      .about = scene_id('c'),
                                      .about_epoch = 77,
                                      .about_slots = about_slots,
                                      .channel = SLICE("c"),
                                      .text = SLICE("te\0xt"),
                                      .module = {1, 2, 3, 4, 5, 6, 7, 8},
                                      .module_type = 200};
    const char *why;
    buffer_init(&bytes, MEMORY_OTHER);
    for (unsigned type = 0; type < CLUSTER_MESSAGE_TYPES; type++) {
        m.type = (enum cluster_message_type)type;
        buffer_clear(&bytes);
        cluster_message_print(&m, &bytes);
        if (!cluster_message_parse(buffer_slice(&bytes), &back, &why)) fail_msg("%u %s", type, why);
        assert_int_equal(back.type, type);
        assert_true(back.current_epoch == m.current_epoch && back.config_epoch == m.config_epoch);
        assert_int_equal(back.offset, 3);
        assert_string_equal(back.sender.text, m.sender.text);
        assert_string_equal(back.primary.text, m.primary.text);
        assert_string_equal(back.address.host, "fe80::1");
        assert_int_equal(back.address.plain_port, 1);
        assert_int_equal(back.flags, m.flags);
        assert_int_equal(back.marks, m.marks);
        assert_false(back.fails);
        assert_memory_equal(back.slots, slots, sizeof(slots));
        if (type == CLUSTER_UPDATE) assert_memory_equal(back.about_slots, about_slots, 2048);
        if (type == CLUSTER_UPDATE) assert_int_equal(back.about_epoch, 77);
        if (type == CLUSTER_UPDATE || type == CLUSTER_FAIL)
            assert_string_equal(back.about.text, m.about.text);
        if (type == CLUSTER_MODULE) assert_memory_equal(back.module, m.module, 8);
        if (type == CLUSTER_MODULE) assert_int_equal(back.module_type, 200);
        if (type == CLUSTER_MODULE || type == CLUSTER_PUBLISH)
            assert_true(slice_equal(back.text, m.text));
    }
    buffer_free(&bytes);
}

/* ---- Frames ---- */

static enum cluster_frame frame_of(const char *bytes, size_t received, size_t bytes_max,
                                   size_t *length) {
    char *copy = memory_alloc(received, MEMORY_OTHER); /* a read behind it is seen */
    memcpy(copy, bytes, received);
    enum cluster_frame frame =
        cluster_message_frame((struct slice){copy, received}, bytes_max, length);
    memory_free(copy, MEMORY_OTHER);
    return frame;
}

static void set_length(char *header, unsigned type, uint32_t length) {
    memset(header, 0, 16);
    memcpy(header, "RCmb", 4);
    for (int i = 0; i < 4; i++) header[4 + i] = (char)(length >> (24 - 8 * i));
    header[12] = (char)(type >> 8);
    header[13] = (char)type;
}

static void test_frames(void **state) {
    static const struct {
        unsigned type;
        uint32_t length;
        size_t bytes_max;
        bool good;
    } rows[] = {
        {CLUSTER_PING, 2255, 100000, false},
        {CLUSTER_PING, 2256, 2256, true},
        {CLUSTER_PING, 2257, 2256, false},
        {CLUSTER_PING, UINT32_MAX, SIZE_MAX, false},
        {CLUSTER_PING, 2256 + 104 * 4096, SIZE_MAX, true},
        {CLUSTER_PING, 2256 + 104 * 4096 + 1, SIZE_MAX, false},
        {CLUSTER_UPDATE, 1 << 20, SIZE_MAX, false},
        {65535, 1 << 20, SIZE_MAX, false},
        {65535, 3000, SIZE_MAX, true},
        {CLUSTER_PUBLISH, 1 << 20, SIZE_MAX, true},
        {CLUSTER_MODULE, 1 << 20, SIZE_MAX, true},
        {CLUSTER_PUBLISH, 1 << 20, CLUSTER_STRANGER_BYTES_MAX, false},
    };
    size_t length;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char header[16];
        set_length(header, rows[i].type, rows[i].length);
        for (size_t received = 0; received < 14; received++) {
            assert_int_equal(frame_of(header, received, rows[i].bytes_max, &length),
                             CLUSTER_FRAME_PART);
            assert_int_equal(length, 0);
        }
        enum cluster_frame frame = frame_of(header, 14, rows[i].bytes_max, &length);
        if (frame != (rows[i].good ? CLUSTER_FRAME_PART : CLUSTER_FRAME_BAD))
            fail_msg("row %zu: %d", i, frame);
        assert_int_equal(length, rows[i].good ? rows[i].length : 0);
    }
    for (size_t received = 1; received < 20; received++) {
        assert_int_equal(frame_of("GET / HTTP/1.1\r\nHost:", received, SIZE_MAX, &length),
                         CLUSTER_FRAME_BAD);
        assert_int_equal(
            frame_of("RCmB\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", received, SIZE_MAX, &length),
            received < 4 ? CLUSTER_FRAME_PART : CLUSTER_FRAME_BAD);
    }
}

/* ---- What is refused ---- */

static const struct {
    const char *name;
    size_t at;
    const char *bytes;
    size_t length;
    const char *why;
} refusals[] = {
    {"PING", 8, "\0\2", 2, "its version is not 1"},
    {"PING", 12, "\0\12", 2, "its type is not known"},
    {"PING", 12, "\xff\xff", 2, "its type is not known"},
    {"PING", 14, "\0\2", 2, "its length is not that of its entries"},
    {"PING", 14, "\xff\xff", 2, "its length is not that of its entries"},
    {"PING", 40, "A", 1, "its sender's id is malformed"},
    {"PING", 79, "\0", 1, "its sender's id is malformed"},
    {"PING", 2128, "a", 1, "its primary's id is malformed"},
    {"PING", 2168, "a b", 3, "its announced host is malformed"},
    {"PING", 2168, "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeee", 46,
     "its announced host is malformed"},
    {"PING", 2250, "\0\3", 2, "its sender has two roles"},
    {"PING", 2256, "A", 1, "an entry of its gossip is malformed"},
    {"PING", 2256 + 48, "\n", 1, "an entry of its gossip is malformed"},
    {"PING", 2256 + 98, "\0\3", 2, "an entry of its gossip is malformed"},
    {"FAIL", 2256, "G", 1, "FAIL is malformed"},
    {"UPDATE", 2264, "G", 1, "UPDATE is malformed"},
    {"UPDATE", 12, "\0\3", 2, "FAIL is malformed"},
    {"FAIL", 12, "\0\7", 2, "UPDATE is malformed"},
    {"FAIL", 12, "\0\6", 2, "it has a body"},
    {"PUBLISH", 2256, "\0\0\0\5", 4, "its length is not that of its texts"},
    {"PUBLISH", 2256, "\xff\xff\xff\xff\xff\xff\xff\xff", 8, "its length is not that of its texts"},
    {"MFSTART", 12, "\0\4", 2, "its length is not that of its texts"},
    {"MFSTART", 12, "\0\11", 2, "its length is not that of its texts"},
    {"PUBLISH", 12, "\0\11", 2, "its length is not that of its texts"},
};

static void test_refused(void **state) {
    struct buffer bytes;
    struct cluster_message m;
    const char *why;
    buffer_init(&bytes, MEMORY_OTHER);
    for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
        find_stock(refusals[i].name, &bytes);
        memcpy(bytes.bytes + refusals[i].at, refusals[i].bytes, refusals[i].length);
        if (cluster_message_parse(buffer_slice(&bytes), &m, &why)) fail_msg("row %zu", i);
        if (strcmp(why, refusals[i].why) != 0) fail_msg("row %zu: %s", i, why);
    }
    /* Flags that no message may tell are left out. */
    find_stock("PING", &bytes);
    memcpy(bytes.bytes + 2250, "\xfc\x71", 2);
    memcpy(bytes.bytes + 2256 + 98, "\xff\xfe", 2);
    memcpy(bytes.bytes + 2253, "\xff", 1);
    struct cluster_entry entry;
    assert_true(cluster_message_parse(buffer_slice(&bytes), &m, &why));
    cluster_message_entry(&m, 0, &entry);
    assert_int_equal(m.flags, CLUSTER_NODE_PRIMARY | CLUSTER_NODE_NO_ADDRESS);
    assert_int_equal(m.marks, CLUSTER_MARK_PAUSED | CLUSTER_MARK_FORCE_ACK);
    assert_int_equal(entry.flags, CLUSTER_NODE_REPLICA | CLUSTER_NODE_SUSPECTED |
                                      CLUSTER_NODE_FAILED | CLUSTER_NODE_NO_ADDRESS |
                                      CLUSTER_NODE_MIGRATE_TO | CLUSTER_NODE_NO_FAILOVER);
    buffer_free(&bytes);
}

/* Of a message whose bytes are cut or lengthened none is taken, and nothing is read behind them. */
static void test_every_length(void **state) {
    struct buffer bytes;
    struct cluster_message m;
    const char *why;
    buffer_init(&bytes, MEMORY_OTHER);
    for (size_t i = 0; i < STOCK_MESSAGES; i++) {
        build_stock(&stock_messages[i], &bytes);
        for (size_t length = CLUSTER_HEADER_BYTES; length <= bytes.length + 200; length++) {
            char *copy = memory_zalloc(length, MEMORY_OTHER);
            memcpy(copy, bytes.bytes, length < bytes.length ? length : bytes.length);
            bool taken = cluster_message_parse((struct slice){copy, length}, &m, &why);
            assert_int_equal(taken, length == bytes.length);
            memory_free(copy, MEMORY_OTHER);
        }
    }
    buffer_free(&bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_bytes),     cmocka_unit_test(test_fields),
        cmocka_unit_test(test_there_and_back), cmocka_unit_test(test_frames),
        cmocka_unit_test(test_refused),        cmocka_unit_test(test_every_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
