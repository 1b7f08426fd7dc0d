/* SPDX-License-Identifier: BSD-3-Clause
 * Sockets of the load.
 */
#ifndef EVENKEEL_MEASURE_NET_H
#define EVENKEEL_MEASURE_NET_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NET_GONE SIZE_MAX

struct net_target {
    const char *host, *unix_path; /* the path, where it is not NULL, instead of host and port */
    uint64_t port;
    uint64_t sources; /* source addresses 127.0.0.2 on, used in turn; 0 = the system chooses */
};

/* Connects connection `number`. With receive_bytes the socket's buffer is so small; with `waits`
 * false it is not waited for the server, which may stand still. Failure ends the program. */
int net_open(const struct net_target *to, uint64_t number, int receive_bytes, bool waits);
/* Adds the socket to the poller, or changes what is awaited from it. */
void net_watch_new(int poller, int fd, uint32_t events, void *connection);
void net_watch(int poller, int fd, uint32_t events, void *connection);
/* Sends as much as the socket takes now; returns the bytes, or NET_GONE when the connection is. */
size_t net_send(int fd, const char *bytes, size_t length);
/* Room for so many connections and what else is open. */
void net_raise_descriptor_limit(uint64_t connections);

#endif
