/* SPDX-License-Identifier: BSD-3-Clause
 * One replica of ours: a client that is sent a copy of the data and then the write stream.
 *
 *    (PSYNC)  -> WAITS_START --a child saves--> WAITS_END --file--> RECEIVES_FILE ---> ONLINE
 *       |            |                                                                   ^
 *       |            +---a child writes to sockets---> RECEIVES_COPY --its first ACK-----+
 *       +------------- what it lacks is in the backlog ----------------------------------+
 *
 * What it is sent besides (a line that accepts its request, new lines that keep the connection
 * alive, the copy's length) stands in `head` and goes before. From the copy's beginning on it holds
 * its place in the history's feed, so the stream waits there, once for all replicas.
 *
 * replica_close is the only way out, in every state: on purpose, or because the client closes.
 */
#ifndef EVENKEEL_REPLICATION_REPLICA_H
#define EVENKEEL_REPLICATION_REPLICA_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/list.h"
#include "base/string.h"
#include "replication/feed.h"

struct client;
struct client_state;

enum replica_state {
    REPLICA_KNOWN, /* has said something of itself; no replica yet */
    REPLICA_WAITS_START,
    REPLICA_WAITS_END,
    REPLICA_RECEIVES_FILE,
    REPLICA_RECEIVES_COPY,
    REPLICA_ONLINE,
    REPLICA_STATES
};

/* What it says that it understands (REPLCONF capa). */
enum replica_capability {
    REPLICA_READS_EOF = 1 << 0,    /* a copy without its length before it */
    REPLICA_READS_PSYNC2 = 1 << 1, /* +CONTINUE with a new id */
};

/* A copy is read ahead of each replica by about half as much, without being charged to it. */
#define REPLICA_COPY_BYTES_FREE ((size_t)2 << 20)

/* Longest address that REPLCONF ip-address may give. */
#define REPLICA_ADDRESS_CHARS 45

struct replica {
    struct list_link link; /* of replica_list, but for KNOWN ones */
    struct client *client;
    enum replica_state state;
    unsigned capabilities;
    bool is_old;   /* asked by SYNC: gets no line before its copy, and acknowledges nothing */
    bool data_not; /* REPLCONF rdb-only: wants the copy alone, and is closed behind it */
    bool ends;     /* closed when its head is written */
    bool awaits_acknowledgement; /* gets the stream only after it has said that it has the copy */
    int port;                    /* that it listens at; 0 = not said */
    char address[REPLICA_ADDRESS_CHARS + 1]; /* "" = that of its connection */
    int64_t acknowledged;                    /* place in the history, -1: none */
    int64_t heard_sec;                       /* monotonic: when it acknowledged, or began, last */
    int64_t waits_since_sec;                 /* for a copy */
    struct feed_reader stream;               /* of history_feed() */
    struct feed_reader copy;                 /* what a child writes for several */
    bool copy_ended;                         /* nothing follows in `copy` */
    int64_t copy_taken_nsec;                 /* monotonic: when it took some of `copy` last */
    int64_t paced_place, paced_nsec;         /* full_sync.c: others wait for it */
    struct buffer head;                      /* goes before all else */
    size_t head_sent;
    int file; /* -1: none */
    int64_t file_bytes, file_sent;
};

extern struct client_state replica_client_state; /* for server/wiring */

/* The client's; with `make`, made where there is none. */
struct replica *replica_of(const struct client *c);
MUST_USE struct replica *replica_make(struct client *c);
/* It becomes one: it gets the stream instead of replies from now on. */
void replica_begin(struct replica *r);
/* Its client is closed. */
void replica_close(struct replica *r);
void replica_close_all(void);

/* Of struct replica.link: those that are more than KNOWN, closing ones not among them. */
struct list_link *replica_list(void);
size_t replica_count(void);
/* Those in this state, one after the other; NULL: the first, or no more. The state of the one
 * before may have changed. */
struct replica *replica_next(const struct replica *after, enum replica_state state);
#define REPLICA_FOR_EACH(r, wanted) \
    for (struct replica *r = replica_next(NULL, wanted); r; r = replica_next(r, wanted))

void replica_set_state(struct replica *r, enum replica_state state);
const char *replica_state_name(enum replica_state state); /* INFO: "wait_bgsave" */
/* Adds to its head, which is written with the next step. */
void replica_say(struct replica *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* There is more for it: it is written with the next step. */
void replica_wake(struct replica *r);
/* An error, without the mark; it is closed when it has got that. */
void replica_refuse(struct replica *r, const char *text);
/* It follows the history from this place; false where that is not kept. */
MUST_USE bool replica_follow(struct replica *r, int64_t place);
/* From where another one stands. */
void replica_follow_with(struct replica *r, const struct replica *other);
/* It gets the file, whose descriptor it takes, and then the stream. */
void replica_send_file(struct replica *r, int fd, int64_t bytes);
/* It gets what is written to the feed, from where the reader of another replica stands, or (NULL)
 * from the beginning. */
void replica_expect_copy(struct replica *r, struct feed *feed, const struct replica *other);
/* Closes it where more is held for it than its output limit allows (client-output-buffer-limit):
 * what it has not taken of the stream, and of a copy beyond REPLICA_COPY_BYTES_FREE. */
void replica_check_limit(struct replica *r);
/* "127.0.0.1:6380": as its clients know it. */
const char *replica_name(const struct replica *r);
/* Its address without the port. */
void replica_append_address(const struct replica *r, struct buffer *out);

/* Writes what there is for each of them, as far as sockets take it, and closes those beyond their
 * limit. True where there is more to be done at once. O(replicas) where the stream has grown. */
MUST_USE bool replica_step(void);
/* The bytes of the class MEMORY_REPLICATION that are held for replicas: of no eviction's concern.
 */
size_t replica_memory(void);
#endif
