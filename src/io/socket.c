/* SPDX-License-Identifier: BSD-3-Clause
 * Sockets: TCP (IPv4 and IPv6) and unix.
 *
 * Thin over the system calls. What is decided here:
 *  1. Every descriptor is born non-blocking and close-on-exec, in the call that makes it, so that
 *     no fork in between can inherit it.
 *  2. A listener of IPv6 takes no IPv4 connection: "*" and "::*" can then be bound side by side
 *     and an address' text is always of its own family (no "::ffff:127.0.0.1").
 *  3. A unix socket gets its permissions between bind and listen, so that nobody can connect before
 *     they are set.
 *
 * Ownership: a returned descriptor is the caller's; on failure nothing stays open.
 */
#include "io/socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/system.h"

#define SOCKET_FLAGS (SOCK_NONBLOCK | SOCK_CLOEXEC)
#define PORT_CHARS 12            /* a decimal int and a NUL */
#define KEEPALIVE_IDLE_MAX 32767 /* the kernel's limit of TCP_KEEPIDLE and TCP_KEEPINTVL */
#define KEEPALIVE_PROBES 3

static bool set_flag(int fd, int level, int name, int value) {
    return setsockopt(fd, level, name, &value, sizeof(value)) == 0;
}

/* Writes "call: error" and closes `fd` (unless -1). Returns -1, with the call's errno. */
static int socket_fail(int fd, const char *call, char *reason, size_t reason_size) {
    int error = errno;
    snprintf(reason, reason_size, "%s: %s", call, strerror(error));
    if (fd >= 0) system_close(fd);
    errno = error;
    return -1;
}

/* The first address of a name or number; the caller frees it with freeaddrinfo. NULL with a reason,
 * and EINVAL in errno unless the system failed. */
static struct addrinfo *socket_resolve(const char *address, int port, int flags, char *reason,
                                       size_t reason_size) {
    char port_text[PORT_CHARS];
    snprintf(port_text, sizeof(port_text), "%d", port);
    struct addrinfo hints = {0};
    hints.ai_family = strchr(address, ':') != NULL ? AF_INET6 : AF_INET;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = flags | AI_NUMERICSERV;
    struct addrinfo *found = NULL;
    int error = getaddrinfo(address, port_text, &hints, &found);
    if (error == 0) return found;
    if (error != EAI_SYSTEM) errno = EINVAL; /* not what an earlier call left there */
    snprintf(reason, reason_size, "%s",
             error == EAI_SYSTEM ? strerror(errno) : gai_strerror(error));
    return NULL;
}

static int listen_at(const struct addrinfo *at, int backlog, char *reason, size_t reason_size) {
    int fd = socket(at->ai_family, SOCK_STREAM | SOCKET_FLAGS, 0);
    if (fd < 0) return socket_fail(fd, "socket", reason, reason_size);
    if (at->ai_family == AF_INET6 && !set_flag(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1)) {
        return socket_fail(fd, "setsockopt IPV6_V6ONLY", reason, reason_size);
    }
    if (!set_flag(fd, SOL_SOCKET, SO_REUSEADDR, 1)) {
        return socket_fail(fd, "setsockopt SO_REUSEADDR", reason, reason_size);
    }
    if (bind(fd, at->ai_addr, at->ai_addrlen) != 0)
        return socket_fail(fd, "bind", reason, reason_size);
    if (listen(fd, backlog) != 0) return socket_fail(fd, "listen", reason, reason_size);
    return fd;
}

int socket_listen_tcp(const char *address, int port, int backlog, char *reason,
                      size_t reason_size) {
    if (strcmp(address, "*") == 0) address = "0.0.0.0";
    if (strcmp(address, "::*") == 0) address = "::";
    struct addrinfo *at = socket_resolve(address, port, AI_PASSIVE, reason, reason_size);
    if (at == NULL) return -1;
    int fd = listen_at(at, backlog, reason, reason_size), error = errno;
    freeaddrinfo(at);
    errno = error;
    return fd;
}

/* False with a reason where the path does not fit. */
static bool unix_address(const char *path, struct sockaddr_un *name, char *reason,
                         size_t reason_size) {
    size_t length = strlen(path);
    if (length >= sizeof(name->sun_path)) {
        snprintf(reason, reason_size, "the path of a unix socket can have at most %zu bytes",
                 sizeof(name->sun_path) - 1);
        return false;
    }
    memset(name, 0, sizeof(*name));
    name->sun_family = AF_UNIX;
    memcpy(name->sun_path, path, length);
    return true;
}

int socket_listen_unix(const char *path, unsigned mode, int backlog, char *reason,
                       size_t reason_size) {
    struct sockaddr_un name;
    if (!unix_address(path, &name, reason, reason_size)) return -1;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCKET_FLAGS, 0);
    if (fd < 0) return socket_fail(fd, "socket", reason, reason_size);
    struct stat old;
    if (lstat(path, &old) == 0 && S_ISSOCK(old.st_mode)) unlink(path); /* bind tells if it stays */
    if (bind(fd, (const struct sockaddr *)&name, sizeof(name)) != 0) {
        return socket_fail(fd, "bind", reason, reason_size);
    }
    if (mode != 0 && chmod(path, (mode_t)mode) != 0)
        return socket_fail(fd, "chmod", reason, reason_size);
    if (listen(fd, backlog) != 0) return socket_fail(fd, "listen", reason, reason_size);
    return fd;
}

/* Gives the socket its source address. False with a reason. */
static bool bind_source(int fd, const char *source, char *reason, size_t reason_size) {
    if (source == NULL || *source == '\0') return true;
    struct addrinfo *from = socket_resolve(source, 0, AI_PASSIVE, reason, reason_size);
    if (from == NULL) return false;
    bool bound = bind(fd, from->ai_addr, from->ai_addrlen) == 0;
    if (!bound) snprintf(reason, reason_size, "bind: %s", strerror(errno));
    freeaddrinfo(from);
    return bound;
}

/* The receive buffer must be set before connecting, because the system offers the other end room
 * for it then. */
static int connect_to(const struct addrinfo *to, const char *source, int receive_bytes,
                      char *reason, size_t reason_size) {
    int fd = socket(to->ai_family, SOCK_STREAM | SOCKET_FLAGS, 0);
    if (fd < 0) return socket_fail(fd, "socket", reason, reason_size);
    if (receive_bytes &&
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof(receive_bytes)) != 0)
        return socket_fail(fd, "setsockopt SO_RCVBUF", reason, reason_size);
    if (!bind_source(fd, source, reason, reason_size)) {
        system_close(fd);
        return -1;
    }
    if (connect(fd, to->ai_addr, to->ai_addrlen) != 0 && errno != EINPROGRESS) {
        return socket_fail(fd, "connect", reason, reason_size);
    }
    return fd;
}

int socket_connect_tcp(const char *address, int port, const char *source, int receive_bytes,
                       char *reason, size_t reason_size) {
    struct addrinfo *to = socket_resolve(address, port, 0, reason, reason_size);
    if (to == NULL) return -1;
    int fd = connect_to(to, source, receive_bytes, reason, reason_size);
    freeaddrinfo(to);
    return fd;
}

int socket_connect_unix(const char *path, char *reason, size_t reason_size) {
    struct sockaddr_un name;
    if (!unix_address(path, &name, reason, reason_size)) return -1;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCKET_FLAGS, 0);
    if (fd < 0) return socket_fail(fd, "socket", reason, reason_size);
    if (connect(fd, (const struct sockaddr *)&name, sizeof(name)) != 0) {
        return socket_fail(fd, "connect", reason, reason_size);
    }
    return fd;
}

bool socket_is_address(const char *text) {
    char unused[1];
    struct addrinfo *found = socket_resolve(text, 0, AI_NUMERICHOST, unused, sizeof(unused));
    if (found) freeaddrinfo(found);
    return found != NULL;
}

/* Writes the number of the first address that was found, and frees the list. */
static bool show_found(struct addrinfo *found, char address[SOCKET_ADDRESS_CHARS], char *reason,
                       size_t reason_size) {
    int error = getnameinfo(found->ai_addr, found->ai_addrlen, address, SOCKET_ADDRESS_CHARS, NULL,
                            0, NI_NUMERICHOST);
    if (error != 0) snprintf(reason, reason_size, "%s", gai_strerror(error));
    freeaddrinfo(found);
    return error == 0;
}

bool socket_read_address(const char *text, char address[SOCKET_ADDRESS_CHARS]) {
    char unused[1];
    struct addrinfo *found = socket_resolve(text, 0, AI_NUMERICHOST, unused, sizeof(unused));
    return found != NULL && show_found(found, address, unused, sizeof(unused));
}

bool socket_find_address(const char *name, char address[SOCKET_ADDRESS_CHARS], char *reason,
                         size_t reason_size) {
    struct addrinfo *found = socket_resolve(name, 0, 0, reason, reason_size);
    return found != NULL && show_found(found, address, reason, reason_size);
}

int socket_take_error(int fd) {
    int error = 0;
    socklen_t size = sizeof(error);
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) return errno;
    return error;
}

/* One end's name, as accept, getpeername and getsockname give it. */
struct socket_name {
    union {
        struct sockaddr any;
        struct sockaddr_in ipv4;
        struct sockaddr_in6 ipv6;
        struct sockaddr_un local;
    };
    socklen_t length;
};
#define SOCKET_NAME_BYTES_MAX sizeof(struct sockaddr_un) /* the largest of them */

/* The path of a unix socket, "" where it has none (length: the family only). An abstract name
 * begins with a NUL and so counts as none. */
static void describe_unix(const struct socket_name *name, struct socket_peer *out) {
    size_t offset = offsetof(struct sockaddr_un, sun_path);
    size_t length = 0;
    if (name->length > offset) {
        length = strnlen(name->local.sun_path, name->length - offset);
    }
    if (length >= sizeof(out->address)) length = sizeof(out->address) - 1;
    memcpy(out->address, name->local.sun_path, length);
    out->address[length] = '\0';
    out->is_unix = true;
}

static bool describe_name(const struct socket_name *name, struct socket_peer *out) {
    memset(out, 0, sizeof(*out));
    switch (name->any.sa_family) {
    case AF_INET:
        inet_ntop(AF_INET, &name->ipv4.sin_addr, out->address, sizeof(out->address));
        out->port = ntohs(name->ipv4.sin_port);
        return true;
    case AF_INET6:
        inet_ntop(AF_INET6, &name->ipv6.sin6_addr, out->address, sizeof(out->address));
        out->port = ntohs(name->ipv6.sin6_port);
        return true;
    case AF_UNIX: describe_unix(name, out); return true;
    default: return false;
    }
}

bool socket_local_of(int fd, struct socket_peer *local) {
    struct socket_name name = {.length = SOCKET_NAME_BYTES_MAX};
    if (getsockname(fd, &name.any, &name.length) != 0) return false;
    return describe_name(&name, local);
}

/* The other end of `fd`, from its name; a unix client has none, and our own end's path stands in.
 */
static bool describe_peer(int fd, const struct socket_name *name, struct socket_peer *peer) {
    if (!describe_name(name, peer)) return false;
    if (peer->is_unix && peer->address[0] == '\0') return socket_local_of(fd, peer);
    return true;
}

bool socket_peer_of(int fd, struct socket_peer *peer) {
    struct socket_name name = {.length = SOCKET_NAME_BYTES_MAX};
    if (getpeername(fd, &name.any, &name.length) != 0) return false;
    return describe_peer(fd, &name, peer);
}

int socket_accept(int listener, struct socket_peer *peer) {
    for (;;) {
        struct socket_name name = {.length = SOCKET_NAME_BYTES_MAX};
        int fd = system_accept(listener, &name.any, &name.length, SOCKET_FLAGS);
        if (fd >= 0) {
            describe_peer(fd, &name, peer);
            return fd;
        }
        /* Each aborted one leaves the queue, so this ends. */
        if (errno != EINTR && errno != ECONNABORTED) return -1;
    }
}

bool socket_peer_is_local(const struct socket_peer *peer) {
    return peer->is_unix || strncmp(peer->address, "127.", 4) == 0 ||
           strcmp(peer->address, "::1") == 0;
}

bool socket_set_nodelay(int fd, bool on) { return set_flag(fd, IPPROTO_TCP, TCP_NODELAY, on); }

bool socket_set_keepalive(int fd, int seconds) {
    if (!set_flag(fd, SOL_SOCKET, SO_KEEPALIVE, seconds > 0)) return false;
    if (seconds <= 0) return true;
    int idle = seconds < KEEPALIVE_IDLE_MAX ? seconds : KEEPALIVE_IDLE_MAX;
    int interval = idle / 3 > 0 ? idle / 3 : 1;
    return set_flag(fd, IPPROTO_TCP, TCP_KEEPIDLE, idle) &&
           set_flag(fd, IPPROTO_TCP, TCP_KEEPINTVL, interval) &&
           set_flag(fd, IPPROTO_TCP, TCP_KEEPCNT, KEEPALIVE_PROBES);
}
