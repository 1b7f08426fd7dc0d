/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of io/socket: listening, accepting, connecting, names of the ends, options.
 */
#include "io/socket.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <cmocka.h>

#define HANG_GUARD_SECONDS 300 /* no measure: only ends a test that waits for ever */

static char folder[64];
static char reason[256];

static int setup(void **state) {
    snprintf(folder, sizeof(folder), "/tmp/evenkeel_test_socket_XXXXXX");
    memset(reason, 0, sizeof(reason));
    return mkdtemp(folder) == NULL ? -1 : 0;
}

static int teardown(void **state) { return rmdir(folder); }

static void assert_born_right(int fd) {
    assert_true(fd >= 0);
    assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
}

static int option_of(int fd, int level, int name) {
    int value = -1;
    socklen_t size = sizeof(value);
    assert_int_equal(getsockopt(fd, level, name, &value, &size), 0);
    return value;
}

static int port_of(int fd) {
    struct socket_peer local;
    assert_true(socket_local_of(fd, &local));
    return local.port;
}

static void wait_for(int fd, short events) {
    struct pollfd one = {.fd = fd, .events = events};
    assert_int_equal(poll(&one, 1, -1), 1);
}

/* Listens, connects, accepts, and checks both ends' names. */
static void exchange(const char *listen_address, const char *connect_address,
                     const char *expected_peer) {
    int listener = socket_listen_tcp(listen_address, 0, 16, reason, sizeof(reason));
    assert_born_right(listener);
    int port = port_of(listener);
    assert_true(port > 0);
    struct socket_peer peer, local;
    assert_int_equal(socket_accept(listener, &peer), -1);
    assert_int_equal(errno, EAGAIN);
    assert_false(socket_peer_of(listener, &peer));

    int client = socket_connect_tcp(connect_address, port, NULL, 0, reason, sizeof(reason));
    assert_born_right(client);
    wait_for(client, POLLOUT);
    assert_int_equal(socket_take_error(client), 0);
    wait_for(listener, POLLIN);
    int served = socket_accept(listener, &peer);
    assert_born_right(served);
    assert_string_equal(peer.address, expected_peer);
    assert_int_equal(peer.port, port_of(client));
    assert_false(peer.is_unix);
    assert_true(socket_peer_is_local(&peer));

    assert_true(socket_peer_of(client, &peer));
    assert_true(socket_local_of(served, &local));
    assert_string_equal(peer.address, local.address);
    assert_int_equal(peer.port, port);
    assert_int_equal(local.port, port);
    assert_true(socket_peer_of(served, &peer));
    assert_int_equal(peer.port, port_of(client));
    close(client);
    close(served);
    close(listener);
}

static void test_ipv4(void **state) { exchange("127.0.0.1", "127.0.0.1", "127.0.0.1"); }
static void test_any_ipv4(void **state) { exchange("*", "127.0.0.1", "127.0.0.1"); }
static void test_by_name(void **state) { exchange("localhost", "localhost", "127.0.0.1"); }

static bool has_ipv6(void) {
    int fd = socket_listen_tcp("::1", 0, 1, reason, sizeof(reason));
    if (fd >= 0) close(fd);
    return fd >= 0;
}

static void test_ipv6(void **state) {
    if (!has_ipv6()) skip();
    exchange("::1", "::1", "::1");
    exchange("::*", "::1", "::1");
}

/* An IPv6 listener leaves the port free for IPv4, and takes none of its connections. */
static void test_ipv6_is_ipv6_only(void **state) {
    if (!has_ipv6()) skip();
    /* Other programs may have taken one of the ports for IPv4. */
    int four = -1;
    for (int try = 0; try < 20 && four < 0; try++) {
        int six = socket_listen_tcp("::*", 0, 16, reason, sizeof(reason));
        assert_true(six >= 0);
        assert_int_equal(option_of(six, IPPROTO_IPV6, IPV6_V6ONLY), 1);
        four = socket_listen_tcp("*", port_of(six), 16, reason, sizeof(reason));
        close(six);
    }
    assert_true(four >= 0);
    close(four);
}

static void test_listen_failures(void **state) {
    int first = socket_listen_tcp("127.0.0.1", 0, 16, reason, sizeof(reason));
    assert_true(first >= 0);
    assert_int_equal(option_of(first, SOL_SOCKET, SO_REUSEADDR), 1);
    assert_int_equal(socket_listen_tcp("127.0.0.1", port_of(first), 16, reason, sizeof(reason)),
                     -1);
    assert_string_equal(reason, "bind: Address already in use");
    char small[6];
    assert_int_equal(socket_listen_tcp("127.0.0.1", port_of(first), 16, small, sizeof(small)), -1);
    assert_string_equal(small, "bind:");
    close(first);
    /* 192.0.2.0/24 is set aside for documentation. */
    assert_int_equal(socket_listen_tcp("192.0.2.1", 0, 16, reason, sizeof(reason)), -1);
    assert_string_equal(reason, "bind: Cannot assign requested address");
    reason[0] = '\0';
    assert_int_equal(socket_listen_tcp("127.0.0.1.2.3", 0, 16, reason, sizeof(reason)), -1);
    assert_true(strlen(reason) > 0);
}

static void test_refused_connection(void **state) {
    int listener = socket_listen_tcp("127.0.0.1", 0, 16, reason, sizeof(reason));
    int port = port_of(listener);
    close(listener);
    int client = socket_connect_tcp("127.0.0.1", port, NULL, 0, reason, sizeof(reason));
    if (client < 0) { /* the loopback may say so at once */
        assert_string_equal(reason, "connect: Connection refused");
        return;
    }
    wait_for(client, POLLOUT);
    assert_int_equal(socket_take_error(client), ECONNREFUSED);
    assert_int_equal(socket_take_error(client), 0);
    close(client);
}

static void test_connect_from_a_source(void **state) {
    int listener = socket_listen_tcp("127.0.0.1", 0, 16, reason, sizeof(reason));
    int client =
        socket_connect_tcp("127.0.0.1", port_of(listener), "127.0.0.2", 0, reason, sizeof(reason));
    assert_true(client >= 0);
    wait_for(listener, POLLIN);
    struct socket_peer peer;
    int served = socket_accept(listener, &peer);
    assert_true(served >= 0);
    assert_string_equal(peer.address, "127.0.0.2");
    assert_true(socket_peer_is_local(&peer));
    close(served);
    close(client);
    assert_int_equal(
        socket_connect_tcp("127.0.0.1", port_of(listener), "192.0.2.1", 0, reason, sizeof(reason)),
        -1);
    assert_string_equal(reason, "bind: Cannot assign requested address");
    close(listener);
}

static void test_unix(void **state) {
    char path[100];
    snprintf(path, sizeof(path), "%s/socket", folder);
    int old = socket_listen_unix(path, 0, 16, reason, sizeof(reason));
    assert_born_right(old);
    int listener = socket_listen_unix(path, 0701, 16, reason, sizeof(reason));
    assert_born_right(listener);
    close(old);
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0701);

    int client = socket_connect_unix(path, reason, sizeof(reason));
    assert_born_right(client);
    struct socket_peer peer, local;
    int served = socket_accept(listener, &peer);
    assert_born_right(served);
    assert_true(peer.is_unix);
    assert_int_equal(peer.port, 0);
    assert_string_equal(peer.address, path);
    assert_true(socket_peer_is_local(&peer));
    assert_true(socket_peer_of(client, &peer));
    assert_string_equal(peer.address, path);
    assert_true(socket_peer_of(served, &peer));
    assert_string_equal(peer.address, path);
    assert_true(socket_local_of(client, &local));
    assert_true(local.is_unix);
    assert_string_equal(local.address, "");
    close(client);
    close(served);
    close(listener);
    assert_int_equal(socket_connect_unix(path, reason, sizeof(reason)), -1);
    assert_string_equal(reason, "connect: Connection refused");
    assert_int_equal(unlink(path), 0);
}

/* The end is cut off; nothing is written past it. */
static void test_unix_long_path(void **state) {
    char path[300];
    int prefix = snprintf(path, sizeof(path), "%s/", folder);
    struct sockaddr_un name;
    size_t longest = sizeof(name.sun_path) - 1;
    memset(path + prefix, 'x', longest);
    path[longest] = '\0';
    int listener = socket_listen_unix(path, 0, 16, reason, sizeof(reason));
    assert_true(listener >= 0);
    struct socket_peer local;
    assert_true(socket_local_of(listener, &local));
    assert_int_equal(strlen(local.address), SOCKET_ADDRESS_CHARS - 1);
    assert_memory_equal(local.address, path, SOCKET_ADDRESS_CHARS - 1);
    close(listener);
    assert_int_equal(unlink(path), 0);
    path[longest] = 'x';
    path[longest + 1] = '\0';
    assert_int_equal(socket_listen_unix(path, 0, 16, reason, sizeof(reason)), -1);
    assert_string_equal(reason, "the path of a unix socket can have at most 107 bytes");
    assert_int_equal(socket_connect_unix(path, reason, sizeof(reason)), -1);
    assert_string_equal(reason, "the path of a unix socket can have at most 107 bytes");
}

/* Only an old socket is taken away, never somebody's file. */
static void test_unix_leaves_other_files(void **state) {
    char path[100];
    snprintf(path, sizeof(path), "%s/file", folder);
    int fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(socket_listen_unix(path, 0, 16, reason, sizeof(reason)), -1);
    assert_string_equal(reason, "bind: Address already in use");
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_true(S_ISREG(status.st_mode));
    assert_int_equal(unlink(path), 0);
    snprintf(path, sizeof(path), "%s/no/such", folder);
    assert_int_equal(socket_listen_unix(path, 0, 16, reason, sizeof(reason)), -1);
    assert_string_equal(reason, "bind: No such file or directory");
}

static void test_peer_is_local(void **state) {
    const struct {
        const char *address;
        bool local;
    } cases[] = {{"127.0.0.1", true},
                 {"127.255.0.9", true},
                 {"::1", true},
                 {"128.0.0.1", false},
                 {"12.7.0.1", false},
                 {"1.127.0.1", false},
                 {"::2", false},
                 {"::", false},
                 {"::127.0.0.1", false},
                 {"10.0.0.1", false},
                 {"2001:db8::127", false},
                 {"", false}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct socket_peer peer = {.port = 1};
        snprintf(peer.address, sizeof(peer.address), "%s", cases[i].address);
        if (socket_peer_is_local(&peer) != cases[i].local) fail_msg("%s", cases[i].address);
    }
    struct socket_peer unix_peer = {.is_unix = true};
    assert_true(socket_peer_is_local(&unix_peer));
}

static void test_options(void **state) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_true(socket_set_nodelay(fd, true));
    assert_int_equal(option_of(fd, IPPROTO_TCP, TCP_NODELAY), 1);
    assert_true(socket_set_nodelay(fd, false));
    assert_int_equal(option_of(fd, IPPROTO_TCP, TCP_NODELAY), 0);

    const int keepalive[][3] = {{300, 300, 100}, {1, 1, 1}, {100000, 32767, 10922}};
    for (size_t i = 0; i < 3; i++) {
        assert_true(socket_set_keepalive(fd, keepalive[i][0]));
        assert_int_equal(option_of(fd, SOL_SOCKET, SO_KEEPALIVE), 1);
        assert_int_equal(option_of(fd, IPPROTO_TCP, TCP_KEEPIDLE), keepalive[i][1]);
        assert_int_equal(option_of(fd, IPPROTO_TCP, TCP_KEEPINTVL), keepalive[i][2]);
        assert_int_equal(option_of(fd, IPPROTO_TCP, TCP_KEEPCNT), 3);
    }
    assert_true(socket_set_keepalive(fd, 0));
    assert_int_equal(option_of(fd, SOL_SOCKET, SO_KEEPALIVE), 0);
    close(fd);

    errno = 0;
    assert_false(socket_set_nodelay(fd, true));
    assert_int_equal(errno, EBADF);
    assert_false(socket_set_keepalive(fd, 10));
    assert_int_equal(socket_take_error(fd), EBADF);
    struct socket_peer peer;
    assert_false(socket_local_of(fd, &peer));
    assert_false(socket_peer_of(fd, &peer));
    assert_int_equal(socket_accept(fd, &peer), -1);
    assert_int_equal(errno, EBADF);
}

int main(void) {
#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_ipv4),
        TEST(test_any_ipv4),
        TEST(test_by_name),
        TEST(test_ipv6),
        TEST(test_ipv6_is_ipv6_only),
        TEST(test_listen_failures),
        TEST(test_refused_connection),
        TEST(test_connect_from_a_source),
        TEST(test_unix),
        TEST(test_unix_long_path),
        TEST(test_unix_leaves_other_files),
        TEST(test_peer_is_local),
        TEST(test_options),
    };
    alarm(HANG_GUARD_SECONDS);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
