/* SPDX-License-Identifier: BSD-3-Clause
 * The sockets of the bus: links both ways, frames in pieces and malformed ones, bounds of what is
 * received and of what waits to be sent, parcels that wait for the disk, closing at any time.
 */
#include "bus/bus.h"

#include <stdlib.h>

#include "bus/bus_scene.h"
#include "io/names.h"
#include "topology/nodes_file.h"

static struct {
    unsigned connected, received;
    enum cluster_message_type type;
    struct cluster_id sender;
    size_t text_length;
    struct cluster_link *link;
    unsigned from;      /* a bit for each of the nodes a to f that has sent */
    bool closes, knows; /* what the hook does with the link */
} heard;

/* Whether a message of this node, a to f, has come. */
static bool heard_from(char digit) { return heard.from & 1U << (digit - 'a'); }

static void note_connected(struct cluster_link *link) {
    heard.connected++;
    heard.link = link;
}

static void note_received(struct cluster_link *link, const struct cluster_message *m) {
    heard.received++;
    heard.type = m->type;
    heard.sender = m->sender;
    if (*m->sender.text >= 'a') heard.from |= 1U << (*m->sender.text - 'a');
    heard.text_length = m->text.length;
    heard.link = link;
    if (heard.knows) {
        struct cluster_node *node = cluster_find(scene, slice_of(m->sender.text));
        if (node) cluster_link_set_sender(link, node);
    }
    if (heard.closes) cluster_link_close(link);
}

static const struct cluster_bus_hooks hooks = {.transport = scene_transport,
                                               .sendbuf_limit = scene_sendbuf_limit,
                                               .connected = note_connected,
                                               .received = note_received};

static int begin_scene(void **state) {
    memset(&heard, 0, sizeof(heard));
    scene_open(&hooks);
    return 0;
}

static int end_scene(void **state) {
    const struct cluster_bus_counts *counts = cluster_bus_counts();
    scene_close();
    return counts->links || counts->input_bytes || counts->output_bytes;
}

static struct cluster_parcel *parcel_of(size_t text_length, uint64_t version) {
    struct buffer bytes, text;
    buffer_init(&bytes, MEMORY_OTHER);
    buffer_init(&text, MEMORY_OTHER);
    memset(buffer_reserve(&text, text_length + 1), 'x', text_length);
    text.length = text_length;
    scene_print(CLUSTER_PUBLISH, '5', buffer_slice(&text), &bytes);
    buffer_free(&text);
    return cluster_parcel_new(CLUSTER_PUBLISH, &bytes, version);
}

static void send_text(struct cluster_link *link, size_t text_length, uint64_t version) {
    struct cluster_parcel *parcel = parcel_of(text_length, version);
    cluster_link_send(link, parcel);
    cluster_parcel_drop(parcel);
}

/* ---- incoming links ---- */

static void test_frames_in_pieces(void **state) {
    struct buffer bytes;
    buffer_init(&bytes, MEMORY_OTHER);
    for (int i = 0; i < 3; i++) scene_print(CLUSTER_PING, 'a', SLICE(""), &bytes);
    int fd = scene_connect();
    scene_write(fd, bytes.bytes, 10);
    scene_write(fd, bytes.bytes + 10, CLUSTER_HEADER_BYTES - 11);
    assert_int_equal(heard.received, 0);
    scene_write(fd, bytes.bytes + CLUSTER_HEADER_BYTES - 1, 1);
    SCENE_UNTIL(heard.received == 1);
    scene_write(fd, bytes.bytes + CLUSTER_HEADER_BYTES, 2 * CLUSTER_HEADER_BYTES);
    SCENE_UNTIL(heard.received == 3);
    assert_int_equal(heard.type, CLUSTER_PING);
    assert_false(cluster_link_is_own(heard.link));
    assert_null(cluster_link_node(heard.link));
    /* It can be answered. */
    struct cluster_message m;
    struct cluster_parcel *parcel = parcel_of(5, 0);
    cluster_link_send(heard.link, parcel);
    cluster_parcel_drop(parcel);
    scene_read(fd, &bytes, &m);
    assert_int_equal(m.text.length, 5);
    buffer_free(&bytes);
    close(fd);
    scene_turns(5);
}

static const struct frame_fault {
    const char *name;
    size_t at;
    char value;
} faults[] = {{"signature", 0, 'X'},          {"length below a header", 6, 1},
              {"length beyond all", 4, 99},   {"more entries than there are", 15, 1},
              {"an id in capitals", 40, 'A'}, {"a host without an end", 2168, ' '}};

static void test_malformed(void **state) {
    struct buffer bytes;
    uint64_t before = cluster_bus_counts()->malformed, unknown = cluster_bus_counts()->unknown;
    buffer_init(&bytes, MEMORY_OTHER);
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        buffer_clear(&bytes);
        scene_print(CLUSTER_PING, 'a', SLICE(""), &bytes);
        bytes.bytes[faults[i].at] = faults[i].value;
        int fd = scene_connect();
        scene_write(fd, bytes.bytes, bytes.length);
        if (!scene_is_closed(fd)) fail_msg("%s", faults[i].name);
        close(fd);
        assert_int_equal(cluster_bus_counts()->malformed, before + i + 1);
    }
    assert_int_equal(heard.received, 0);
    /* What a later version may send is ignored. */
    buffer_clear(&bytes);
    scene_print(CLUSTER_PING, 'a', SLICE(""), &bytes);
    scene_print(CLUSTER_PING, 'a', SLICE(""), &bytes);
    scene_print(CLUSTER_PING, 'b', SLICE(""), &bytes);
    bytes.bytes[13] = CLUSTER_MESSAGE_TYPES;
    bytes.bytes[CLUSTER_HEADER_BYTES + 9] = 2;
    int fd = scene_connect();
    scene_write(fd, bytes.bytes, bytes.length);
    SCENE_UNTIL(heard.received == 1);
    assert_string_equal(heard.sender.text, scene_id('b').text);
    assert_int_equal(cluster_bus_counts()->unknown, unknown + 2);
    close(fd);
    buffer_free(&bytes);
}

/* Strangers may send little, known nodes much, and neither makes room by what a header says. */
static void test_bounds(void **state) {
    struct buffer bytes, text;
    buffer_init(&bytes, MEMORY_OTHER);
    buffer_init(&text, MEMORY_OTHER);
    memset(buffer_reserve(&text, 300000), 'x', 300000);
    text.length = 300000;
    scene_add(scene, 'a', CLUSTER_NODE_PRIMARY);
    scene_print(CLUSTER_PUBLISH, 'a', buffer_slice(&text), &bytes);
    int fd = scene_connect();
    scene_write(fd, bytes.bytes, CLUSTER_HEADER_BYTES);
    assert_true(scene_is_closed(fd));
    close(fd);
    heard.knows = true;
    text.length = 0;
    struct buffer all;
    buffer_init(&all, MEMORY_OTHER);
    scene_print(CLUSTER_PING, 'a', SLICE(""), &all);
    buffer_append(&all, bytes.bytes, bytes.length);
    fd = scene_connect();
    size_t before = memory_used(MEMORY_OTHER);
    scene_write(fd, all.bytes, 2 * CLUSTER_HEADER_BYTES);
    SCENE_UNTIL(heard.received == 1);
    assert_true(memory_used(MEMORY_OTHER) < before + 200000);
    scene_write(fd, all.bytes + 2 * CLUSTER_HEADER_BYTES, all.length - 2 * CLUSTER_HEADER_BYTES);
    SCENE_UNTIL(heard.received == 2);
    assert_int_equal(heard.text_length, 300000);
    assert_true(scene_find(scene, 'a')->data_received_msec > 0);
    close(fd);
    SCENE_UNTIL(!scene_find(scene, 'a')->incoming);
    buffer_free(&bytes);
    buffer_free(&text);
    buffer_free(&all);
}

static void test_closed_within_the_hook(void **state) {
    struct buffer bytes;
    buffer_init(&bytes, MEMORY_OTHER);
    for (int i = 0; i < 3; i++) scene_print(CLUSTER_PING, 'a', SLICE(""), &bytes);
    heard.closes = true;
    int fd = scene_connect();
    scene_write(fd, bytes.bytes, bytes.length);
    assert_true(scene_is_closed(fd));
    assert_int_equal(heard.received, 1);
    close(fd);
    buffer_free(&bytes);
}

static void test_a_node_leaves(void **state) {
    struct buffer bytes;
    struct cluster_node *a = scene_add_peer('a', CLUSTER_NODE_PRIMARY);
    buffer_init(&bytes, MEMORY_OTHER);
    scene_print(CLUSTER_PING, 'a', SLICE(""), &bytes);
    heard.knows = true;
    int fd = scene_connect(), second = scene_connect();
    scene_write(fd, bytes.bytes, bytes.length);
    SCENE_UNTIL(a->incoming != NULL);
    struct cluster_link *link = a->incoming;
    scene_write(second, bytes.bytes, bytes.length);
    SCENE_UNTIL(a->incoming != link); /* the later one counts */
    assert_null(cluster_link_node(link));
    cluster_link_open(a);
    int own = scene_accept(a);
    cluster_drop(scene, a);
    assert_true(scene_is_closed(own));
    assert_false(scene_is_closed(second)); /* the other end may go on asking */
    heard.knows = false;
    scene_write(second, bytes.bytes, bytes.length);
    SCENE_UNTIL(heard.received == 3);
    assert_null(cluster_link_node(heard.link));
    close(fd);
    close(second);
    close(own);
    buffer_free(&bytes);
}

/* Those who are no nodes have taken all places, and go on speaking. */
static void test_strangers_give_way(void **state) {
    int strangers[300];
    size_t count = sizeof(strangers) / sizeof(strangers[0]);
    struct buffer bytes;
    buffer_init(&bytes, MEMORY_OTHER);
    scene_print(CLUSTER_PING, 'a', SLICE(""), &bytes);
    clock_use_fixed(INT64_C(1000000000000000), INT64_C(1000000000000));
    for (size_t i = 0; i < count; i++) strangers[i] = scene_connect();
    for (size_t step = 0; step < 4; step++) {
        clock_advance_usec(400000);
        for (size_t i = 0; i < count; i++) scene_write(strangers[i], bytes.bytes + step, 1);
    }
    int fd = scene_connect();
    scene_write(fd, bytes.bytes, bytes.length);
    for (int i = 0; i < 50 && !heard.received; i++) {
        clock_advance_usec(10000); /* accepting may rest for so long */
        scene_turns(1);
    }
    assert_int_equal(heard.received, 1);
    clock_use_system();
    for (size_t i = 0; i < count; i++) close(strangers[i]);
    close(fd);
    scene_turns(5);
    buffer_free(&bytes);
}

/* A herd sends as fast as it can. A turn takes few of its messages, which the loop goes on with
 * without sleeping, and a node that sends one message is not kept waiting behind them. */
static void test_a_herd_takes_turns(void **state) {
    enum { HERD = 100, EACH = 40, TURN_MAX = 64 };
    int herd[HERD];
    struct buffer many, one;
    buffer_init(&many, MEMORY_OTHER);
    buffer_init(&one, MEMORY_OTHER);
    for (int i = 0; i < EACH; i++) scene_print(CLUSTER_PING, 'a', SLICE(""), &many);
    scene_print(CLUSTER_PING, 'b', SLICE(""), &one);
    for (int i = 0; i < HERD; i++) herd[i] = scene_connect();
    int quiet = scene_connect();
    for (int i = 0; i < HERD; i++)
        assert_int_equal(send(herd[i], many.bytes, many.length, 0), many.length);
    /* One round of all before, and one that reads. */
    for (int turn = 0; turn < 4; turn++) {
        unsigned before = heard.received;
        scene_turns(1);
        assert_in_range(heard.received - before, 1, 2 * TURN_MAX);
    }
    assert_int_equal(send(quiet, one.bytes, one.length, 0), one.length);
    unsigned sent_at = heard.received;
    while (!heard_from('b')) {
        unsigned before = heard.received;
        scene_turns(1);
        assert_in_range(heard.received - before, 1, 2 * TURN_MAX);
        assert_in_range(heard.received - sent_at, 1, 4 * HERD);
    }
    SCENE_UNTIL(heard.received == HERD * EACH + 1);
    for (int i = 0; i < HERD; i++) close(herd[i]);
    close(quiet);
    scene_turns(5);
    buffer_free(&many);
    buffer_free(&one);
}

/* A link that closes while messages of it wait, by its node's leaving or in the hook. */
static void test_closes_with_messages_left(void **state) {
    struct buffer bytes;
    buffer_init(&bytes, MEMORY_OTHER);
    for (int i = 0; i < 80; i++) scene_print(CLUSTER_PING, 'a', SLICE(""), &bytes);
    for (int closes = 0; closes < 2; closes++) {
        unsigned before = heard.received;
        int fd = scene_connect();
        heard.closes = closes;
        assert_int_equal(send(fd, bytes.bytes, bytes.length, 0), bytes.length);
        SCENE_UNTIL(heard.received > before);
        if (!closes) cluster_link_close(heard.link);
        unsigned after = heard.received;
        scene_turns(5);
        assert_int_equal(heard.received, after);
        assert_true(scene_is_closed(fd));
        close(fd);
    }
    buffer_free(&bytes);
}

/* ---- own links ---- */

static void test_own_link(void **state) {
    struct cluster_node *a = scene_add_peer('a', CLUSTER_NODE_PRIMARY);
    struct buffer bytes;
    struct cluster_message m;
    buffer_init(&bytes, MEMORY_OTHER);
    cluster_link_open(a);
    send_text(a->link, 1, 0); /* before it has connected */
    int fd = scene_accept(a);
    assert_int_equal(heard.connected, 1);
    assert_ptr_equal(heard.link, a->link);
    assert_ptr_equal(cluster_link_node(a->link), a);
    assert_true(cluster_link_is_own(a->link));
    uint64_t sent = cluster_bus_counts()->sent[CLUSTER_PUBLISH];
    for (size_t i = 2; i < 40; i++) send_text(a->link, i * 1000, 0);
    assert_int_equal(cluster_bus_counts()->sent[CLUSTER_PUBLISH], sent + 38);
    for (size_t i = 1; i < 40; i++) {
        scene_read(fd, &bytes, &m);
        assert_int_equal(m.text.length, i == 1 ? 1 : i * 1000);
    }
    close(fd);
    SCENE_UNTIL(!a->link);
    buffer_free(&bytes);
}

static struct cluster_node *add_named(char digit, const char *host) {
    struct cluster_node *node = scene_add_peer(digit, CLUSTER_NODE_PRIMARY);
    snprintf(node->address.host, sizeof(node->address.host), "%s", host);
    return node;
}

/* The resolver may wait for seconds, and this node for none. */
static void test_names(void **state) {
    struct buffer bytes;
    struct cluster_message m;
    buffer_init(&bytes, MEMORY_OTHER);
    names_open();
    struct cluster_node *a = add_named('a', "a.slow"), *b = add_named('b', "b.unknown"),
                        *c = add_named('c', "c.slow"), *d = add_named('d', "d.slow");
    cluster_link_open(a);
    names_wait_at_gate(1);
    send_text(a->link, 1, 0);
    scene_turns(5);
    assert_false(cluster_link_is_up(a->link));
    names_release(1);
    int fd = scene_accept(a);
    scene_read(fd, &bytes, &m);
    assert_int_equal(m.text.length, 1);
    cluster_link_open(b);
    SCENE_UNTIL(!b->link);
    cluster_link_open(c);
    cluster_link_open(d);
    cluster_drop(scene, c);
    cluster_link_close(d->link);
    assert_null(d->link);
    names_release(2);
    names_wait_at_gate(0);
    scene_turns(5);
    close(fd);
    buffer_free(&bytes);
}

static void test_refused(void **state) {
    struct cluster_node *a = scene_add(scene, 'a', CLUSTER_NODE_PRIMARY);
    a->address.bus_port = (uint16_t)scene_free_port(false);
    cluster_link_open(a);
    SCENE_UNTIL(!a->link);
    assert_int_equal(heard.connected, 0);
}

static void test_send_limit(void **state) {
    struct cluster_node *a = scene_add_peer('a', CLUSTER_NODE_PRIMARY);
    uint64_t before = cluster_bus_counts()->overflowed;
    cluster_link_open(a);
    int fd = scene_accept(a);
    scene_limit = 1000000;
    /* One alone has room, however large it is, and none behind it. */
    send_text(a->link, 32 * 1024 * 1024, 0);
    assert_int_equal(cluster_bus_counts()->overflowed, before);
    struct cluster_link *link = a->link;
    send_text(link, 1, 0);
    send_text(link, 1, 0);
    assert_int_equal(cluster_bus_counts()->overflowed, before + 1);
    assert_ptr_equal(a->link, link); /* not within the call */
    SCENE_UNTIL(!a->link);
    close(fd);
}

/* Whatever the option says: strangers ask, and need not read the answers. */
static void test_send_limit_of_strangers(void **state) {
    struct buffer bytes;
    uint64_t before = cluster_bus_counts()->overflowed;
    buffer_init(&bytes, MEMORY_OTHER);
    scene_print(CLUSTER_PING, 'a', SLICE(""), &bytes);
    int fd = scene_connect();
    scene_write(fd, bytes.bytes, bytes.length);
    SCENE_UNTIL(heard.received == 1);
    send_text(heard.link, 32 * 1024 * 1024, 0);
    assert_int_equal(cluster_bus_counts()->overflowed, before);
    send_text(heard.link, 1, 0);
    assert_int_equal(cluster_bus_counts()->overflowed, before + 1);
    assert_true(scene_is_closed(fd));
    close(fd);
    /* So may a node in a handshake, whose link is this node's own. */
    struct cluster_node *b = scene_add_peer('b', CLUSTER_NODE_HANDSHAKE);
    cluster_link_open(b);
    fd = scene_accept(b);
    send_text(b->link, 32 * 1024 * 1024, 0);
    send_text(b->link, 1, 0);
    assert_int_equal(cluster_bus_counts()->overflowed, before + 2);
    SCENE_UNTIL(!b->link);
    close(fd);
    buffer_free(&bytes);
}

/* The file of this test is in a folder of its own. */
static void test_waits_for_the_disk(void **state) {
    char folder[] = "/tmp/test_bus.XXXXXX";
    struct cluster_node *a = scene_add_peer('a', CLUSTER_NODE_PRIMARY);
    struct buffer bytes;
    struct cluster_message m;
    buffer_init(&bytes, MEMORY_OTHER);
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chdir(folder), 0);
    struct cluster *kept = cluster_file_open("nodes.conf");
    assert_non_null(kept);
    cluster_link_open(a);
    int fd = scene_accept(a);
    uint64_t version = cluster_file_later();
    send_text(a->link, 1, 0);
    send_text(a->link, 2, version);
    send_text(a->link, 3, 0);
    scene_read(fd, &bytes, &m);
    assert_int_equal(m.text.length, 1);
    scene_turns(20);
    assert_true(recv(fd, &m, 1, MSG_PEEK) < 0 && errno == EAGAIN);
    assert_true(cluster_file_write());
    scene_read(fd, &bytes, &m);
    assert_int_equal(m.text.length, 2);
    scene_read(fd, &bytes, &m);
    assert_int_equal(m.text.length, 3);
    close(fd);
    buffer_free(&bytes);
    cluster_file_close();
    cluster_free(kept);
    assert_int_equal(unlink("nodes.conf"), 0);
    assert_int_equal(chdir("/"), 0);
    assert_int_equal(rmdir(folder), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin_scene, end_scene)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_frames_in_pieces),
        TEST(test_malformed),
        TEST(test_bounds),
        TEST(test_closed_within_the_hook),
        TEST(test_a_node_leaves),
        TEST(test_strangers_give_way),
        TEST(test_a_herd_takes_turns),
        TEST(test_closes_with_messages_left),
        TEST(test_own_link),
        TEST(test_names),
        TEST(test_refused),
        TEST(test_send_limit),
        TEST(test_send_limit_of_strangers),
        TEST(test_waits_for_the_disk),
    };
    return cmocka_run_group_tests(tests, scene_register, NULL);
}
