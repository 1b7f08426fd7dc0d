/* SPDX-License-Identifier: BSD-3-Clause
 * The simulation's io/socket: node N has the address 10.0.0.N+1, and nothing else resolves; no name
 * is looked up, so that no thread is needed. There are no unix sockets.
 */
#include "io/socket.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/descriptors.h"
#include "sim/network.h"

#define NODE_ADDRESS "10.0.0.%d"
#define OUTER_ADDRESS "10.0.1.1"

#define BIND_TRIES 100

static int fail(int error, const char *call, char *reason, size_t reason_size) {
    snprintf(reason, reason_size, "%s: %s", call, strerror(error));
    errno = error;
    return -1;
}

int socket_listen_tcp(const char *address, int port, int backlog, char *reason,
                      size_t reason_size) {
    if (strchr(address, ':')) return fail(EAFNOSUPPORT, "socket", reason, reason_size);
    int listener;
    /* A child of the node's last life has the port until it has had a turn, in which it closes its
     * copy first of all. Outside whoever starts the server would try again. */
    for (int try = 0; (listener = network_listen(self->node, port)) < 0 && try < BIND_TRIES; try++)
        task_sleep(NSEC_PER_MSEC);
    if (listener < 0) return fail(errno, "bind", reason, reason_size);
    return descriptor_new(FD_LISTENER, listener, 0);
}

int socket_listen_unix(const char *path, unsigned mode, int backlog, char *reason,
                       size_t reason_size) {
    return fail(EAFNOSUPPORT, "socket", reason, reason_size);
}

int socket_connect_tcp(const char *address, int port, const char *source, int receive_bytes,
                       char *reason, size_t reason_size) {
    int number;
    if (sscanf(address, NODE_ADDRESS, &number) != 1 || number < 1 || number > NODES_MAX)
        return fail(EINVAL, "connect", reason, reason_size);
    int link = network_call(self->node, number - 1, port);
    if (link < 0) return fail(errno, "connect", reason, reason_size);
    return descriptor_new(FD_LINK, link, 0);
}

int socket_connect_unix(const char *path, char *reason, size_t reason_size) {
    return fail(EAFNOSUPPORT, "socket", reason, reason_size);
}

/* All addresses are numbers, in the one form in which the simulation writes them. */
bool socket_is_address(const char *text) { return true; }
bool socket_read_address(const char *text, char address[SOCKET_ADDRESS_CHARS]) {
    return (size_t)snprintf(address, SOCKET_ADDRESS_CHARS, "%s", text) < SOCKET_ADDRESS_CHARS;
}
bool socket_find_address(const char *name, char address[SOCKET_ADDRESS_CHARS], char *reason,
                         size_t reason_size) {
    snprintf(reason, reason_size, "nothing resolves");
    return false;
}

int socket_take_error(int fd) {
    const struct task_fd *d = descriptor(fd);
    return d->kind == FD_LINK ? network_take_error(d->index, d->end) : 0;
}

static bool describe(int fd, bool peer, struct socket_peer *out) {
    const struct task_fd *d = descriptor(fd);
    memset(out, 0, sizeof(*out));
    if (d->kind != FD_LINK) return false;
    const struct link_end *e = &network->links[d->index].ends[peer ? !d->end : d->end];
    if (e->node == OUTSIDE) {
        snprintf(out->address, sizeof(out->address), OUTER_ADDRESS);
    } else {
        snprintf(out->address, sizeof(out->address), NODE_ADDRESS, e->node + 1);
    }
    out->port = e->port;
    return true;
}

bool socket_peer_of(int fd, struct socket_peer *peer) { return describe(fd, true, peer); }
bool socket_local_of(int fd, struct socket_peer *local) { return describe(fd, false, local); }

int socket_accept(int listener, struct socket_peer *peer) {
    int link = network_accept(descriptor(listener)->index);
    if (link < 0) return -1;
    int fd = descriptor_new(FD_LINK, link, 1);
    describe(fd, true, peer);
    return fd;
}

bool socket_peer_is_local(const struct socket_peer *peer) { return false; }
bool socket_set_nodelay(int fd, bool on) { return true; }
bool socket_set_keepalive(int fd, int seconds) { return true; }
