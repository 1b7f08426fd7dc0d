/* SPDX-License-Identifier: BSD-3-Clause
 * Replicas of ours, and what is written to them. replica.h has the idea.
 *
 * Invariants
 *  1. A client has a struct replica in its place exactly as long as it lives; it is in the list and
 *     is CLIENT_STREAMED exactly where its state is more than KNOWN.
 *  2. From WAITS_END on a replica follows the history's feed, in RECEIVES_COPY a copy's feed as
 *     well; its file is open exactly in RECEIVES_FILE.
 *  3. Its head is sent before the copy, the copy before the stream.
 */
#include "replication/replica.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/panic.h"
#include "base/system.h"
#include "io/file.h"
#include "net/client.h"
#include "net/limits.h"
#include "net/reply.h"
#include "replication/history.h"
#include "replication/stream.h"

/* How much of a file is read and offered to the socket at once. */
#define FILE_PIECE_BYTES 65536
#define PIECES_MAX 16
#define NAME_CHARS 80

static struct list_link replicas = {&replicas, &replicas};
static size_t count;
static int64_t seen_end; /* the stream's end at the last step */
static bool woken;       /* some replica has more to be written */
static char name[NAME_CHARS];
static char piece[FILE_PIECE_BYTES];

struct list_link *replica_list(void) {
    return &replicas;
}
size_t replica_count(void) { return count; }
struct replica *replica_of(const struct client *c) {
    return client_place(c, &replica_client_state);
}

struct replica *replica_next(const struct replica *after, enum replica_state state) {
    for (struct list_link *at = after ? after->link.next : replicas.next; at != &replicas;
         at = at->next) {
        struct replica *r = LIST_ENTRY(at, struct replica, link);
        if (r->state == state && !(r->client->flags & CLIENT_CLOSING)) return r;
    }
    return NULL;
}

void replica_check_limit(struct replica *r) {
    size_t copy = feed_lag(&r->copy);
    copy = copy > REPLICA_COPY_BYTES_FREE ? copy - REPLICA_COPY_BYTES_FREE : 0;
    limits_check_stream(r->client, copy + feed_lag(&r->stream));
}

const char *replica_state_name(enum replica_state state) {
    static const char *const names[REPLICA_STATES] = {
        [REPLICA_KNOWN] = "none",
        [REPLICA_WAITS_START] = "wait_bgsave",
        [REPLICA_WAITS_END] = "wait_bgsave",
        [REPLICA_RECEIVES_FILE] = "send_bulk",
        [REPLICA_RECEIVES_COPY] = "wait_bgsave", /* a fact of 6.2 */
        [REPLICA_ONLINE] = "online",
    };
    return names[state];
}

void replica_append_address(const struct replica *r, struct buffer *out) {
    if (r->address[0]) {
        buffer_append_c_string(out, r->address);
        return;
    }
    struct socket_peer peer;
    if (socket_peer_of(r->client->watcher.fd, &peer)) buffer_append_c_string(out, peer.address);
}

const char *replica_name(const struct replica *r) {
    struct buffer text = {.class = MEMORY_OTHER};
    if (r->port) {
        replica_append_address(r, &text);
        buffer_printf(&text, ":%d", r->port);
    } else {
        client_append_address(r->client, &text);
    }
    snprintf(name, sizeof(name), "%.*s", (int)text.length, text.length ? text.bytes : "");
    buffer_free(&text);
    return name;
}

/* ---- what follows its replies ---- */

/* The result of writing one part. */
enum step { STEP_DONE, STEP_WAITS };

static enum step write_head(struct replica *r, ssize_t *sent) {
    struct iovec all = {r->head.bytes + r->head_sent, r->head.length - r->head_sent};
    *sent = reply_stream_send(r->client, &all, 1);
    if (*sent < 0) return STEP_WAITS;
    r->head_sent += (size_t)*sent;
    if (r->head_sent < r->head.length) return STEP_WAITS;
    buffer_free(&r->head);
    r->head_sent = 0;
    if (r->ends) replica_close(r);
    return r->ends ? STEP_WAITS : STEP_DONE;
}

static void close_file(struct replica *r) {
    if (r->file >= 0) system_close(r->file);
    r->file = -1;
}

/* The replica has its whole copy: it gets the stream, or is closed if it wanted only the copy.
 */
static void copy_done(struct replica *r) {
    if (r->data_not) {
        log_notice("RDB transfer completed, rdb only replica (%s) should be disconnected asap",
                   replica_name(r));
        client_close_later(r->client);
        return;
    }
    replica_set_state(r, REPLICA_ONLINE);
    r->heard_sec = clock_monotonic_sec();
    if (!r->awaits_acknowledgement)
        log_notice("Synchronization with replica %s succeeded", replica_name(r));
}

static enum step write_file(struct replica *r) {
    for (size_t budget = REPLY_TURN_BYTES; budget && r->file_sent < r->file_bytes;) {
        ssize_t length = file_read_at(r->file, piece, sizeof(piece), r->file_sent);
        if (length <= 0) {
            log_warning("Read error sending DB to replica: %s",
                        length ? strerror(errno) : "premature EOF");
            replica_close(r);
            return STEP_WAITS;
        }
        if (length > r->file_bytes - r->file_sent) length = (ssize_t)(r->file_bytes - r->file_sent);
        struct iovec all = {piece, (size_t)length};
        ssize_t sent = reply_stream_send(r->client, &all, 1);
        if (sent < 0) return STEP_WAITS;
        r->file_sent += sent;
        if (sent < length) return STEP_WAITS;
        budget -= (size_t)sent < budget ? (size_t)sent : budget;
    }
    if (r->file_sent < r->file_bytes) return STEP_WAITS;
    close_file(r);
    copy_done(r);
    return STEP_DONE;
}

static enum step write_feed(struct replica *r, struct feed_reader *reader) {
    struct iovec pieces[PIECES_MAX];
    for (size_t budget = REPLY_TURN_BYTES; budget;) {
        int pieces_count = feed_pieces(reader, pieces, PIECES_MAX, budget);
        if (!pieces_count) return STEP_DONE;
        size_t offered = 0;
        for (int i = 0; i < pieces_count; i++) offered += pieces[i].iov_len;
        ssize_t sent = reply_stream_send(r->client, pieces, pieces_count);
        if (sent < 0) return STEP_WAITS;
        if (sent) feed_take(reader, (size_t)sent);
        if ((size_t)sent < offered) return STEP_WAITS;
        budget -= (size_t)sent;
    }
    return STEP_WAITS; /* the socket takes more, but others come first */
}

static enum step write_copy(struct replica *r) {
    int64_t before = r->copy.place;
    enum step step = write_feed(r, &r->copy);
    if (r->copy.place != before) r->copy_taken_nsec = clock_monotonic_nsec();
    return step;
}

static bool is_closing(const struct replica *r) { return r->client->flags & CLIENT_CLOSING; }

/* Whether the log has all that the copy has. */
static bool copy_may_leave(const struct replica *r) {
    return r->stream.place <= feed_limit(history_feed());
}

static bool write_replica(struct client *c) {
    struct replica *r = replica_of(c);
    ssize_t sent;
    if (r->head.length && write_head(r, &sent) == STEP_WAITS) return false;
    if (r->stream.feed && r->state != REPLICA_ONLINE && !copy_may_leave(r)) return true;
    if (r->state == REPLICA_RECEIVES_FILE && write_file(r) == STEP_WAITS) return false;
    if (r->state == REPLICA_RECEIVES_COPY) {
        if (write_copy(r) == STEP_WAITS) return false;
        if (r->copy_ended && r->copy.feed) {
            feed_leave(&r->copy);
            copy_done(r);
        }
    }
    if (is_closing(r) || r->state != REPLICA_ONLINE || r->awaits_acknowledgement) return true;
    return write_feed(r, &r->stream) == STEP_DONE;
}

static const struct reply_stream stream_of_replicas = {write_replica, NULL};

/* ---- states ---- */

void replica_set_state(struct replica *r, enum replica_state state) { r->state = state; }

void replica_say(struct replica *r, const char *format, ...) {
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    ASSERT(length > 0 && (size_t)length < sizeof(text));
    buffer_append(&r->head, text, (size_t)length);
    woken = true;
}

void replica_wake(struct replica *r) { woken = true; }

void replica_refuse(struct replica *r, const char *text) {
    replica_say(r, "-ERR %s\r\n", text);
    r->ends = true;
}

bool replica_follow(struct replica *r, int64_t place) {
    feed_leave(&r->stream);
    return feed_follow(&r->stream, history_feed(), place);
}

void replica_follow_with(struct replica *r, const struct replica *other) {
    feed_leave(&r->stream);
    feed_follow_reader(&r->stream, &other->stream);
}

void replica_expect_copy(struct replica *r, struct feed *feed, const struct replica *other) {
    if (other) {
        feed_follow_reader(&r->copy, &other->copy);
    } else {
        bool follows = feed_follow(&r->copy, feed, 0);
        ASSERT(follows);
    }
    r->copy_ended = false;
    r->paced_place = r->copy.place;
    r->copy_taken_nsec = r->paced_nsec = clock_monotonic_nsec();
}

void replica_send_file(struct replica *r, int fd, int64_t bytes) {
    r->file = fd;
    r->file_bytes = bytes;
    r->file_sent = 0;
    replica_say(r, "$%" PRId64 "\r\n", bytes);
    replica_set_state(r, REPLICA_RECEIVES_FILE);
}

struct replica *replica_make(struct client *c) {
    struct replica *r = replica_of(c);
    if (r) return r;
    r = memory_zalloc(sizeof(*r), MEMORY_CLIENTS);
    r->client = c;
    r->file = -1;
    r->acknowledged = -1;
    r->head.class = MEMORY_CLIENTS;
    list_init(&r->link);
    client_set_place(c, &replica_client_state, r);
    return r;
}

/* Writes to all replicas whose sockets have room. */
static void send_what_is_new(void) {
    struct feed *feed = history_feed();
    if (!feed) return;
    bool grown = stream_look_at_log();
    if (feed_end(feed) != seen_end) grown = true;
    seen_end = feed_end(feed);
    if (!grown && !woken) return;
    woken = false;
    LIST_FOR_EACH (link, following, &replicas) {
        struct replica *r = LIST_ENTRY(link, struct replica, link);
        reply_stream_more(r->client);
        replica_check_limit(r);
    }
}

void replica_begin(struct replica *r) {
    list_append(&replicas, &r->link);
    if (count++ == 0) reply_set_streams(send_what_is_new);
    r->waits_since_sec = r->heard_sec = clock_monotonic_sec();
    client_set_never_idle(r->client, true);
    reply_set_stream(r->client, &stream_of_replicas);
}

void replica_close(struct replica *r) { client_close_later(r->client); }

void replica_close_all(void) {
    LIST_FOR_EACH (link, following, &replicas)
        replica_close(LIST_ENTRY(link, struct replica, link));
}

static void replica_forget(struct client *c) {
    struct replica *r = replica_of(c);
    if (!r) return;
    if (r->state != REPLICA_KNOWN) {
        log_notice("Connection with replica %s lost.", replica_name(r));
        list_remove(&r->link);
        if (--count == 0) reply_set_streams(NULL);
        reply_set_stream(c, NULL);
    }
    feed_leave(&r->stream);
    feed_leave(&r->copy);
    close_file(r);
    buffer_free(&r->head);
    client_set_place(c, &replica_client_state, NULL);
    memory_free_sized(r, sizeof(*r), MEMORY_CLIENTS);
}

static size_t bytes_of(const struct client *c) {
    const struct replica *r = replica_of(c);
    if (!r) return 0;
    size_t head = r->head.capacity ? memory_good_size(r->head.capacity) : 0;
    return memory_good_size(sizeof(*r)) + head;
}

struct client_state replica_client_state = {
    .name = "replica", .has_place = true, .closing = replica_forget, .bytes = bytes_of};

/* ---- each turn ---- */

bool replica_step(void) {
    struct feed *feed = history_feed();
    if (!feed) return false;
    send_what_is_new();
    return feed_free_step(feed);
}

size_t replica_memory(void) { return history_feed() ? feed_held_memory(history_feed()) : 0; }
