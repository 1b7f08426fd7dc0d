/* SPDX-License-Identifier: BSD-3-Clause
 * One replica of ours: a client that is sent a copy of the data and then the write stream.
 *
 *    (PSYNC)  -> WAITS_START --a child saves--> WAITS_END --file--> RECEIVES_FILE ---> ONLINE
 *       |            |                                                                   ^
 *       |            +---a child writes to sockets---> RECEIVES_COPY --its first ACK-----+
 *       +------------- what it lacks is in the backlog ----------------------------------+
 *
 * Other bytes for the replica (the line that accepts its request, line ends that keep the
 * connection alive, the copy's length) stand in `head` and are sent first. From the copy's
 * beginning on the replica holds its place in the history's feed, so the stream waits there, stored
 * once for all replicas.
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
    REPLICA_KNOWN, /* has sent REPLCONF; not a replica yet */
    REPLICA_WAITS_START,
    REPLICA_WAITS_END,
    REPLICA_RECEIVES_FILE,
    REPLICA_RECEIVES_COPY,
    REPLICA_ONLINE,
    REPLICA_STATES
};

/* What the replica understands (REPLCONF capa). */
enum replica_capability {
    REPLICA_READS_EOF = 1 << 0,    /* a copy without its length before it */
    REPLICA_READS_PSYNC2 = 1 << 1, /* +CONTINUE with a new id */
};

/* A copy is read ahead of each replica by about half of this, without counting against its
 * limit. */
#define REPLICA_COPY_BYTES_FREE ((size_t)2 << 20)

/* Longest address that REPLCONF ip-address may give. */
#define REPLICA_ADDRESS_CHARS 45

struct replica {
    struct list_link link; /* in replica_list, unless KNOWN */
    struct client *client;
    enum replica_state state;
    unsigned capabilities;
    bool is_old;   /* has asked by SYNC: no line before its copy, no acknowledgements */
    bool data_not; /* REPLCONF rdb-only: wants only the copy, and is closed behind it */
    bool ends;     /* closed when its head is written */
    bool awaits_acknowledgement; /* gets the stream only after it has acknowledged the copy */
    int port;                    /* its listening port; 0 = not known */
    char address[REPLICA_ADDRESS_CHARS + 1]; /* "" = the address of its connection */
    int64_t acknowledged;                    /* place in the history, -1: none */
    int64_t heard_sec;                       /* monotonic: of its last acknowledgement, or its
                                              * begin */
    int64_t waits_since_sec;                 /* since when it waits for a copy */
    struct feed_reader stream;               /* of history_feed() */
    struct feed_reader copy;                 /* the copy that a save writes for several replicas */
    bool copy_ended;                         /* nothing follows in `copy` */
    int64_t copy_taken_nsec;                 /* monotonic: when it last took bytes of `copy` */
    int64_t paced_place, paced_nsec;         /* full_sync.c: whether others wait for it */
    struct buffer head;                      /* sent before all else */
    size_t head_sent;
    int file; /* -1: none */
    int64_t file_bytes, file_sent;
};

extern struct client_state replica_client_state; /* for server/wiring */

/* The client's replica: replica_of returns NULL where there is none, replica_make creates it. */
struct replica *replica_of(const struct client *c);
MUST_USE struct replica *replica_make(struct client *c);
/* Makes the client a replica: it gets the stream instead of replies from now on. */
void replica_begin(struct replica *r);
/* Closes the replica's client, or those of all replicas. */
void replica_close(struct replica *r);
void replica_close_all(void);

/* The list of replicas that are more than KNOWN (struct replica.link); closing ones are in it until
 * their client is freed. */
struct list_link *replica_list(void);
size_t replica_count(void);
/* Iterates over the replicas in this state: NULL = from the first; returns NULL at the end. Closing
 * ones are skipped. The state of `after` may have changed. */
struct replica *replica_next(const struct replica *after, enum replica_state state);
#define REPLICA_FOR_EACH(r, wanted) \
    for (struct replica *r = replica_next(NULL, wanted); r; r = replica_next(r, wanted))

void replica_set_state(struct replica *r, enum replica_state state);
const char *replica_state_name(enum replica_state state); /* INFO: "wait_bgsave" */
/* Appends to the head, which is written with the next step. */
void replica_say(struct replica *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Notes that there is more to write: done with the next step. */
void replica_wake(struct replica *r);
/* Replies an error (`text` without "-ERR"), and closes the replica when that is written. */
void replica_refuse(struct replica *r, const char *text);
/* Lets the replica follow the history from this place; false if that is not kept. */
MUST_USE bool replica_follow(struct replica *r, int64_t place);
/* Lets the replica follow the history from where another one stands. */
void replica_follow_with(struct replica *r, const struct replica *other);
/* Sends the replica the file, whose descriptor it takes, and then the stream. */
void replica_send_file(struct replica *r, int fd, int64_t bytes);
/* Sends the replica the bytes of the feed, from where the reader of another replica stands, or
 * (NULL) from the beginning. */
void replica_expect_copy(struct replica *r, struct feed *feed, const struct replica *other);
/* Closes the replica if more is held for it than its output limit allows
 * (client-output-buffer-limit): the untaken bytes of the stream, and those of a copy beyond
 * REPLICA_COPY_BYTES_FREE. */
void replica_check_limit(struct replica *r);
/* "127.0.0.1:6380": its address and listening port, if known; valid until the next call. */
const char *replica_name(const struct replica *r);
/* Appends its address without the port. */
void replica_append_address(const struct replica *r, struct buffer *out);

/* Writes to each replica what its socket takes, and closes those beyond their limit. Returns true
 * if more can be done at once. O(replicas) where the stream has grown. */
MUST_USE bool replica_step(void);
/* The bytes of replication_memory that are held for replicas, which do not count for
 * eviction. */
size_t replica_memory(void);
#endif
