/* SPDX-License-Identifier: BSD-3-Clause
 * A node's bus with real sockets: this node is 5; the others are sockets of the test. Epochs are 0,
 * so that no message waits for the disk.
 */
#ifndef EVENKEEL_TESTS_BUS_SCENE_H
#define EVENKEEL_TESTS_BUS_SCENE_H
#include "bus/bus.h"

#include <errno.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/memory.h"
#include "io/loop.h"
#include "io/socket.h"
#include "net/listen.h"
#include "option/option.h"
#include "topology/cluster_scene.h"

#define SCENE_TURNS_MAX 2000 /* of a millisecond */

static struct loop *scene_loop;
static struct cluster *scene;
static int scene_listener, scene_port; /* where node a is said to be */
static char scene_reason[256];
static int64_t scene_limit;

static inline const struct connection_transport *scene_transport(void) { return NULL; }
static inline int64_t scene_sendbuf_limit(void) { return scene_limit; }

static inline bool scene_bus_step(void) {
    bool more = cluster_bus_take();
    cluster_bus_step();
    return more;
}

/* A port that was free just now; `below`: one at which a server can have a bus, too. */
static inline int scene_free_port(bool below) {
    for (int tries = 0; tries < 1000; tries++) {
        int port = below ? 20000 + (int)((getpid() * 31 + tries * 7) % 30000) : 0;
        int fd = socket_listen_tcp("127.0.0.1", port, 1, scene_reason, sizeof(scene_reason));
        int above = below ? socket_listen_tcp("127.0.0.1", port + CLUSTER_BUS_PORT_OFFSET, 1,
                                              scene_reason, sizeof(scene_reason))
                          : fd;
        struct socket_peer local = {.port = 0};
        bool good = fd >= 0 && above >= 0 && socket_local_of(fd, &local);
        if (fd >= 0) close(fd);
        if (below && above >= 0) close(above);
        if (good) return local.port;
    }
    fail_msg("no free port");
    return 0;
}

/* Once a program: options stay. */
static inline int scene_register(void **state) {
    char lines[64];
    struct buffer error = {.class = MEMORY_OTHER};
    listen_register("6379", true);
    snprintf(lines, sizeof(lines), "port %d\nbind 127.0.0.1\n", scene_free_port(true));
    return option_load_text(slice_of(lines), OPTION_FROM_FILE, &error) ? 0 : -1;
}

static bool (*const scene_before_sleep[])(void) = {scene_bus_step, NULL};

static inline void scene_open(const struct cluster_bus_hooks *hooks) {
    scene_loop = loop_create();
    loop_set_hooks(scene_loop, &(struct loop_hooks){.before_sleep = scene_before_sleep});
    scene = scene_cluster('5');
    scene_listener = socket_listen_tcp("127.0.0.1", 0, 8, scene_reason, sizeof(scene_reason));
    struct socket_peer local;
    assert_true(scene_listener >= 0 && socket_local_of(scene_listener, &local));
    scene_port = local.port;
    scene_limit = 0;
    cluster_bus_open(scene_loop, scene, hooks);
    cluster_bus_accept();
    if (!listen_open(scene_loop, scene_reason, sizeof(scene_reason))) fail_msg("%s", scene_reason);
}

static inline void scene_close(void) {
    cluster_bus_close();
    listen_close();
    cluster_free(scene);
    loop_free(scene_loop);
    close(scene_listener);
}

static inline void scene_turns(int count) {
    for (int i = 0; i < count; i++) loop_turn(scene_loop, 1);
}

/* Turns until the condition holds. */
#define SCENE_UNTIL(condition)                             \
    do {                                                   \
        int scene_left = SCENE_TURNS_MAX;                  \
        while (!(condition)) {                             \
            if (!scene_left--) fail_msg("%s", #condition); \
            loop_turn(scene_loop, 1);                      \
        }                                                  \
    } while (0)

/* A node that is at the test's listener. */
static inline struct cluster_node *scene_add_peer(char digit, unsigned flags) {
    struct cluster_node *node = scene_add(scene, digit, flags);
    node->address.bus_port = (uint16_t)scene_port;
    return node;
}

/* The other end of an own link, which has connected. */
static inline int scene_accept(struct cluster_node *node) {
    struct socket_peer peer;
    int fd = -1;
    SCENE_UNTIL(node->link && cluster_link_is_up(node->link));
    SCENE_UNTIL((fd = socket_accept(scene_listener, &peer)) >= 0);
    return fd;
}

/* A connection to the bus's port. */
static inline int scene_connect(void) {
    int fd = socket_connect_tcp("127.0.0.1", listen_port() + CLUSTER_BUS_PORT_OFFSET, NULL, 0,
                                scene_reason, sizeof(scene_reason));
    assert_true(fd >= 0);
    scene_turns(3);
    return fd;
}

static inline void scene_write(int fd, const void *bytes, size_t length) {
    size_t done = 0;
    for (int i = 0; done < length && i < SCENE_TURNS_MAX; i++) {
        ssize_t written = send(fd, (const char *)bytes + done, length - done, MSG_NOSIGNAL);
        if (written > 0) done += (size_t)written;
        if (written < 0 && errno != EAGAIN) return; /* the node has closed it */
        loop_turn(scene_loop, 1);
    }
}

/* Whether the node closes the connection; what it sends before is dropped. */
static inline bool scene_is_closed(int fd) {
    char bytes[65536];
    for (int i = 0; i < SCENE_TURNS_MAX; i++) {
        ssize_t got = recv(fd, bytes, sizeof(bytes), 0);
        if (got == 0 || (got < 0 && errno != EAGAIN)) return true;
        if (got < 0 && i > 50) return false;
        loop_turn(scene_loop, 1);
    }
    return false;
}

/* Reads one frame into the buffer and parses it. */
static inline void scene_read(int fd, struct buffer *bytes, struct cluster_message *m) {
    size_t wanted = CLUSTER_HEADER_BYTES, length;
    const char *why;
    buffer_clear(bytes);
    for (int i = 0; i < SCENE_TURNS_MAX; i++) {
        char *room = buffer_reserve(bytes, wanted);
        ssize_t got = recv(fd, room, wanted - bytes->length, 0);
        if (got > 0) bytes->length += (size_t)got;
        if (got == 0) fail_msg("the node has closed the connection");
        enum cluster_frame frame = cluster_message_frame(buffer_slice(bytes), SIZE_MAX, &length);
        assert_int_not_equal(frame, CLUSTER_FRAME_BAD);
        if (length) wanted = length;
        if (frame == CLUSTER_FRAME_WHOLE) break;
        loop_turn(scene_loop, 1);
    }
    if (!cluster_message_parse(buffer_slice(bytes), m, &why)) fail_msg("%s", why);
}

/* Appends a message of a node, which claims no slots. */
static inline void scene_print(enum cluster_message_type type, char sender, struct slice text,
                               struct buffer *out) {
    static const unsigned char no_slots[CLUSTER_BITMAP_BYTES];
    struct cluster_message m = {.type = type, .slots = no_slots, .about_slots = no_slots};
    m.sender = m.about = scene_id(sender);
    m.flags = CLUSTER_NODE_PRIMARY;
    m.address.port = 7000;
    m.address.bus_port = 17000;
    m.text = text;
    cluster_message_print(&m, out);
}
#endif
