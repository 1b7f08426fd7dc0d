/* SPDX-License-Identifier: BSD-3-Clause
 * Simulated connections: listeners, and links of two ends with a stream of bytes each way.
 *
 * What an end sends is cut into segments, each with the moment at which it arrives; within a stream
 * they arrive in order, between links in any. A link may stand still (its nodes are cut off from
 * each other: all arrives later), or be lost (nothing arrives any more, and nobody is told: half
 * open), or be reset. A machine without power sends nothing; one that has power again answers what
 * comes for a link of its former life with a reset.
 *
 * Ends are known by (link, 0 or 1): 0 is who called.
 */
#ifndef EVENKEEL_TESTS_SIM_NETWORK_H
#define EVENKEEL_TESTS_SIM_NETWORK_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LINKS_MAX 256
#define LISTENERS_MAX 16
#define STREAM_BYTES 65536
#define SEGMENTS_MAX 64
/* The node of the simulation's own clients. */
#define OUTSIDE (-1)

/* CALLS: the call is on its way; QUEUED: it waits to be accepted. */
enum link_state { LINK_FREE, LINK_CALLS, LINK_QUEUED, LINK_OPEN };

struct segment {
    uint64_t end;
    int64_t at_nsec, sent_nsec;
};

/* All links are looked at in each turn: what is long lies elsewhere. */
struct stream {
    uint64_t written, arrived, read; /* bytes so far */
    struct segment *segments;        /* SEGMENTS_MAX */
    unsigned first, count;
    bool ends, ended; /* the sender's end is closed; the receiver may know */
    int64_t ends_nsec;
    uint8_t *bytes; /* STREAM_BYTES */
};

struct link_end {
    int node, port;
    int references; /* of tasks' descriptors */
    bool closed;
    int error;          /* a reset that has come: errno; read or asked for once */
    bool dead;          /* there was one */
    int64_t reset_nsec; /* one is on its way; 0 = none */
};

struct link {
    enum link_state state;
    int listener;
    int64_t due_nsec, began_nsec; /* of the call */
    bool lost;
    int64_t lost_nsec;
    int64_t latency_nsec;
    size_t room_bytes; /* that a sender has without the receiver reading */
    uint64_t number;   /* of all links that there were */
    struct link_end ends[2];
    struct stream streams[2]; /* what that end sends */
};

struct listener {
    bool open;
    int node, port;
    int references;
};

struct network {
    struct listener listeners[LISTENERS_MAX];
    uint64_t links_made, node_links_made; /* all; those that nodes made */
    int links_end;                        /* those from here on were never used */
    struct link links[LINKS_MAX];
    struct segment segments[LINKS_MAX][2][SEGMENTS_MAX];
    uint8_t bytes[LINKS_MAX][2][STREAM_BYTES];
};

extern struct network *network;
void network_make(void);

/* A node's bus listens so many ports above the server. */
#define NETWORK_BUS_PORTS_ABOVE 10000
/* The port of a node's server. */
int network_port(int node);

int network_listen(int node, int port);            /* -1 with errno */
int network_call(int node, int to_node, int port); /* the link's index, end 0; -1 with errno */
int network_accept(int listener);                  /* the link's index, end 1; -1 with EAGAIN */
void network_hold_listener(int listener);          /* one reference more */
void network_release_listener(int listener);
void network_hold(int link, int end);
/* The last one closes. */
void network_release(int link, int end);

/* All that the task's descriptors stand for; it has none then. */
struct task;
void network_release_all(struct task *t);

/* As send and recv of a socket that does not block. */
long network_send(int link, int end, const void *bytes, size_t length);
long network_receive(int link, int end, void *bytes, size_t length);
/* EPOLL bits of what is ready, whatever the interest. */
uint32_t network_ready(int link, int end);
uint32_t network_listener_ready(int listener);
int network_take_error(int link, int end);

/* ---- The scheduler's ---- */

/* What is due arrives. Calls `seen` with what has come to an end of each link, before anybody can
 * read it. */
typedef void network_observer(int link, int end, const uint8_t *bytes, size_t length);
void network_deliver(network_observer *seen);
/* When the bytes were sent that the observer is called with. */
int64_t network_seen_sent_nsec(void);
int64_t network_next_nsec(void);
void network_lose(int link);
void network_reset(int link);
/* Its machine has no power: ends of that node are gone without a word. Its tasks' descriptors stand
 * for nothing any more, and are not to be released. */
void network_vanish(int node);
#endif
