/* SPDX-License-Identifier: BSD-3-Clause
 * Sockets of the load. They stay blocking sockets, but nothing is sent or read without
 * MSG_DONTWAIT: only connecting may wait.
 */
#include "net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "load.h"

#define DESCRIPTORS_BESIDE 64

static int open_unix(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof(address.sun_path)) load_fail("the socket's path is long");
    memcpy(address.sun_path, path, strlen(path));
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
        load_fail("%s: %s", path, strerror(errno));
    return fd;
}

/* Connections take source addresses 127.0.0.2 on in turn, so that ports suffice for any number. */
static void bind_source(int fd, uint64_t source) {
    struct sockaddr_in from = {.sin_family = AF_INET};
    int on = 1;
    from.sin_addr.s_addr = htonl(0x7f000002u + (uint32_t)source);
    setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof(on));
    if (bind(fd, (struct sockaddr *)&from, sizeof(from)) < 0)
        load_fail("bind: %s", strerror(errno));
}

int net_open(const struct net_target *to, uint64_t number, int receive_bytes, bool waits) {
    if (to->unix_path) return open_unix(to->unix_path);
    int on = 1;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)to->port)};
    if (inet_pton(AF_INET, to->host, &address.sin_addr) != 1)
        load_fail("not an IPv4 address: %s", to->host);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) load_fail("socket: %s", strerror(errno));
    if (to->sources) bind_source(fd, number % to->sources);
    if (receive_bytes) setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof(receive_bytes));
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (!waits) fcntl(fd, F_SETFL, O_NONBLOCK);
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0 && errno != EINPROGRESS)
        load_fail("connect: %s", strerror(errno));
    return fd;
}

static void watch_socket(int poller, int how, int fd, uint32_t events, void *connection) {
    struct epoll_event event = {.events = events, .data.ptr = connection};
    if (epoll_ctl(poller, how, fd, &event) < 0) load_fail("epoll: %s", strerror(errno));
}

void net_watch_new(int poller, int fd, uint32_t events, void *connection) {
    watch_socket(poller, EPOLL_CTL_ADD, fd, events, connection);
}

void net_watch(int poller, int fd, uint32_t events, void *connection) {
    watch_socket(poller, EPOLL_CTL_MOD, fd, events, connection);
}

size_t net_send(int fd, const char *bytes, size_t length) {
    size_t sent = 0;
    while (sent < length) {
        ssize_t n = send(fd, bytes + sent, length - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && (errno == EAGAIN || errno == ENOTCONN)) return sent;
        if (n < 0) return NET_GONE;
        sent += (size_t)n;
    }
    return sent;
}

void net_raise_descriptor_limit(uint64_t connections) {
    struct rlimit limit;
    rlim_t wanted = connections + DESCRIPTORS_BESIDE;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0) load_fail("getrlimit: %s", strerror(errno));
    if (limit.rlim_cur >= wanted) return;
    limit.rlim_cur = wanted;
    if (limit.rlim_max < wanted) limit.rlim_max = wanted;
    if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
        load_fail("%" PRIu64 " connections need more open files: %s", connections, strerror(errno));
}
