/* SPDX-License-Identifier: BSD-3-Clause
 * The sockets of the bus. bus.h has the idea.
 *
 *   own link        [LOOKS_UP] --> CONNECTS --> [SHAKES_HANDS] --> UP --> closed
 *   incoming link                              [SHAKES_HANDS] --> UP --> closed
 *
 * SHAKES_HANDS is only there with TLS (tls-cluster), and LOOKS_UP only where a node announces a
 * name: a thread looks it up (io/lookup.h), because the resolver may wait for seconds.
 *
 * Invariants
 *  1. A link is in `links`, and a node's `link` or `incoming` names it as long as it is open and
 *     the node's. A closed link is freed at once, or when its watcher's callback returns.
 *  2. A link holds fewer bytes of input than one frame and one read: a frame is bounded,
 *     KNOWN_BYTES_MAX where the node is known, else CLUSTER_STRANGER_BYTES_MAX. Memory grows with
 *     the bytes that have come, not with what the header says.
 *  3. A link is in `backlog` exactly while its input begins with a whole frame, or a malformed one,
 *     that no callback is at. It is not read then. Links in `backlog` take turns, a message each.
 *  4. Parcels leave in the order in which they were sent. The first one that must wait for the disk
 *     holds those behind it.
 *  5. `counts` has the number of `links`, and the sums of their bytes of input and in the queues.
 *  6. `queued_bytes` is the sum of the parcels' bytes in the queue. If a parcel would make it pass
 *     the limit, the parcel is dropped and the link closes in the next turn. One parcel always has
 *     room. Where the node is not known the limit is STRANGER_QUEUE_MAX at most.
 *
 * Bus sockets are watched with LOOP_FIRST, so that a herd of clients does not make this node look
 * dead, and are served in nested turns, too (a busy script, a load). A herd of nodes in turn must
 * not keep the clients away: a turn takes TURN_MESSAGES messages at most, and takes no further one
 * after TURN_NSEC.
 */
#include "bus/bus.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/panic.h"
#include "base/system.h"
#include "io/child.h"
#include "io/connection.h"
#include "io/lookup.h"
#include "io/loop.h"
#include "io/socket.h"
#include "io/tls.h"
#include "net/listen.h"
#include "topology/nodes.h"
#include "topology/nodes_file.h"

/* What a turn has for messages. 64 of a cluster of 500 nodes take about a millisecond; where each
 * takes longer, or the machine does other work, time is the bound. Nodes at their usual rate send a
 * few messages a second each. */
#define TURN_MESSAGES 64
#define TURN_NSEC (500 * 1000)
/* One read: some messages, and more of a frame that is known to need more. */
#define READ_BYTES (16 * 1024)
#define READ_BYTES_MAX (64 * 1024)
#define KNOWN_BYTES_MAX (CLUSTER_TEXTS_BYTES_MAX + UINT32_C(64) * 1024)
/* Incoming links of nodes that are not known. More would only wait in the system's queue; a node's
 * first message makes it known, or shows that it is not. */
#define STRANGERS_MAX 256
/* One of them gives its place up after so long, although it speaks: whoever is no node must not
 * keep the nodes away by a byte now and then. A node whose link is closed opens another one. */
#define STRANGER_MSEC 1000
/* Bytes that may wait to be sent over the link of a node that is not known. It gets answers of the
 * PING family only, and can ask as fast as it likes without reading them. */
#define STRANGER_QUEUE_MAX (256 * 1024)
/* So many parcels in one system call. */
#define PIECES_MAX 16
#define REASON_CHARS 160
/* Anybody can send what is no bus: at most one line in so much time. */
#define TELL_MSEC 1000
#define CLASS MEMORY_OTHER

struct cluster_parcel {
    unsigned references;
    enum cluster_message_type type;
    uint64_t version;
    struct buffer bytes;
};

/* A parcel in a link's queue. */
struct queued {
    struct queued *next;
    struct cluster_parcel *parcel;
};

enum link_phase { LOOKS_UP, CONNECTS, SHAKES_HANDS, UP, CLOSED };

struct cluster_link {
    struct loop_watcher watcher;   /* first: the loop hands it back */
    struct loop_pending pending;   /* while `doomed` */
    struct list_link in_links;     /* in `links` */
    struct list_link in_backlog;   /* in `backlog`; its `next` is NULL where it is not */
    struct lookup *lookup;         /* LOOKS_UP: the watcher's descriptor is the lookup's */
    struct connection *connection; /* NULL: a plain socket */
    enum link_phase phase;
    bool own;
    bool busy;   /* its watcher's callback runs */
    bool doomed; /* it closes in the next turn */
    struct cluster_node *node;
    int64_t opened_msec;   /* wall time */
    int64_t stranger_msec; /* monotonic: since when it is a stranger's */
    struct buffer input;
    size_t taken; /* bytes at the begin of the input whose messages have been taken */
    struct queued *first, **last_next;
    size_t written; /* of the first parcel */
    size_t queued_bytes;
};

static struct {
    struct loop *loop;
    struct cluster *c; /* NULL = the bus is not open */
    const struct cluster_bus_hooks *hooks;
    bool accepts; /* a node that loads its files as a primary accepts nobody */
    bool waits;   /* a link may have a first parcel that waits for the disk */
    size_t strangers;
    bool kind_added;
    int64_t told_msec;
    /* Of this turn: messages that may still be taken, and the time that they have taken. */
    unsigned messages_left;
    int64_t spent_nsec;
} bus = {.messages_left = TURN_MESSAGES};
static struct list_link links = {&links, &links};
static struct list_link backlog = {&backlog, &backlog};
static struct cluster_bus_counts counts;

const struct cluster_bus_counts *cluster_bus_counts(void) { return &counts; }

/* ---- Parcels ---- */

struct cluster_parcel *cluster_parcel_new(enum cluster_message_type type, struct buffer *bytes,
                                          uint64_t version) {
    struct cluster_parcel *parcel = memory_zalloc(sizeof(*parcel), CLASS);
    parcel->references = 1;
    parcel->type = type;
    parcel->version = version;
    parcel->bytes = *bytes;
    *bytes = (struct buffer){.class = bytes->class};
    return parcel;
}

void cluster_parcel_drop(struct cluster_parcel *parcel) {
    ASSERT(parcel->references);
    if (--parcel->references) return;
    buffer_free(&parcel->bytes);
    memory_free(parcel, CLASS);
}

static void queue_append(struct cluster_link *link, struct cluster_parcel *parcel) {
    struct queued *item = memory_zalloc(sizeof(*item), CLASS);
    item->parcel = parcel;
    parcel->references++;
    *link->last_next = item;
    link->last_next = &item->next;
    link->queued_bytes += parcel->bytes.length;
    counts.output_bytes += parcel->bytes.length;
}

static void queue_remove(struct cluster_link *link) {
    struct queued *item = link->first;
    link->first = item->next;
    if (!link->first) link->last_next = &link->first;
    link->queued_bytes -= item->parcel->bytes.length;
    counts.output_bytes -= item->parcel->bytes.length;
    link->written = 0;
    cluster_parcel_drop(item->parcel);
    memory_free(item, CLASS);
}

static bool is_ready(const struct queued *item) {
    return item && cluster_file_is_saved(item->parcel->version);
}

/* ---- Making and closing ---- */

static void link_ready(struct loop_watcher *watcher, unsigned ready);

static bool is_stranger(const struct cluster_link *link) { return !link->own && !link->node; }

/* Whether the other end is a node that is known, which no handshake is. */
static bool is_of_known(const struct cluster_link *link) {
    return link->node && !cluster_node_has(link->node, CLUSTER_NODE_HANDSHAKE);
}

/* Of an incoming link that belongs to nobody from now on. */
static void become_strange(struct cluster_link *link) {
    link->node = NULL;
    link->stranger_msec = clock_monotonic_msec();
    bus.strangers++;
}

/* Takes the socket and the connection. */
static struct cluster_link *link_make(int fd, struct connection *connection, bool own) {
    struct cluster_link *link = memory_zalloc(sizeof(*link), CLASS);
    link->watcher.fd = fd;
    link->watcher.callback = link_ready;
    link->pending.watcher = &link->watcher;
    link->connection = connection;
    link->own = own;
    link->opened_msec = clock_wall_msec();
    link->input.class = CLASS;
    link->last_next = &link->first;
    list_append(&links, &link->in_links);
    counts.links++;
    if (!own) become_strange(link);
    (void)socket_set_nodelay(fd, true);
    return link;
}

static void link_free(struct cluster_link *link) { memory_free(link, CLASS); }

static void leave_node(struct cluster_link *link) {
    struct cluster_node *node = link->node;
    bus.strangers -= is_stranger(link);
    link->node = NULL;
    if (!node) return;
    if (node->link == link) {
        node->link = NULL;
        node->pings_open = node->confirms_after = 0; /* no answer will come */
    }
    if (node->incoming == link) node->incoming = NULL;
}

static void enter_backlog(struct cluster_link *link) { list_append(&backlog, &link->in_backlog); }

static bool is_in_backlog(const struct cluster_link *link) { return link->in_backlog.next; }

static void leave_backlog(struct cluster_link *link) {
    list_remove(&link->in_backlog);
    link->in_backlog.next = NULL;
}

void cluster_link_close(struct cluster_link *link) {
    if (link->phase == CLOSED) return;
    leave_node(link);
    if (is_in_backlog(link)) leave_backlog(link);
    link->phase = CLOSED;
    loop_pending_end(bus.loop, &link->pending);
    if (link->connection) {
        connection_unwatch(link->connection);
        connection_close(link->connection);
        link->connection = NULL;
    }
    loop_unwatch(bus.loop, &link->watcher);
    if (link->lookup)
        lookup_drop(link->lookup);
    else if (link->watcher.fd >= 0)
        system_close(link->watcher.fd);
    list_remove(&link->in_links);
    counts.links--;
    counts.input_bytes -= link->input.length;
    while (link->first) queue_remove(link);
    buffer_free(&link->input);
    if (!link->busy) link_free(link);
}

/* Closes the link in the next turn. */
static void link_doom(struct cluster_link *link) {
    link->doomed = true;
    loop_pending_begin(bus.loop, &link->pending);
}

/* ---- What the loop watches ---- */

/* Closes the link where the loop refuses. */
static void watch_wanted(struct cluster_link *link) {
    unsigned wanted = LOOP_READABLE;
    if (link->phase == CONNECTS) wanted = LOOP_WRITABLE;
    if (link->phase == UP && is_ready(link->first)) wanted |= LOOP_WRITABLE;
    bus.waits |= link->first && !is_ready(link->first);
    wanted |= LOOP_FIRST;
    bool watched = link->connection && link->phase != CONNECTS
                       ? connection_watch(link->connection, bus.loop, &link->watcher, wanted)
                       : loop_watch(bus.loop, &link->watcher, wanted);
    if (!watched) link_doom(link);
}

/* ---- Writing ---- */

/* Fills the pieces with what may leave now. */
static int gather_pieces(const struct cluster_link *link, struct iovec pieces[PIECES_MAX]) {
    int count = 0;
    size_t skip = link->written;
    for (struct queued *item = link->first; count < PIECES_MAX && is_ready(item);
         item = item->next) {
        struct buffer *bytes = &item->parcel->bytes;
        pieces[count++] =
            (struct iovec){.iov_base = bytes->bytes + skip, .iov_len = bytes->length - skip};
        skip = 0;
    }
    return count;
}

static void note_written(struct cluster_link *link, size_t written) {
    while (written) {
        size_t left = link->first->parcel->bytes.length - link->written;
        if (written < left) {
            link->written += written;
            return;
        }
        written -= left;
        queue_remove(link);
    }
}

/* Writes once what may leave; false: the link is broken. */
static bool write_some(struct cluster_link *link) {
    struct iovec pieces[PIECES_MAX];
    int count = gather_pieces(link, pieces);
    if (!count) return true;
    ssize_t written = link->connection ? connection_writev(link->connection, pieces, count)
                                       : system_writev(link->watcher.fd, pieces, count);
    if (written < 0) return errno == EAGAIN || errno == EINTR;
    note_written(link, (size_t)written);
    return true;
}

/* 0 = no limit. */
static uint64_t queue_bytes_max(const struct cluster_link *link) {
    uint64_t limit = (uint64_t)bus.hooks->sendbuf_limit();
    bool is_less = limit && limit < STRANGER_QUEUE_MAX;
    return is_of_known(link) || is_less ? limit : STRANGER_QUEUE_MAX;
}

static bool has_room_for(const struct cluster_link *link, const struct cluster_parcel *parcel) {
    uint64_t limit = queue_bytes_max(link);
    return !limit || !link->first || link->queued_bytes + parcel->bytes.length <= limit;
}

static void link_overflow(struct cluster_link *link) {
    counts.overflowed++;
    if (is_of_known(link))
        log_warning(
            "The cluster link to node %s closes: %zu bytes wait to be sent, and "
            "cluster-link-sendbuf-limit allows no more.",
            link->node->id.text, link->queued_bytes);
    else
        log_verbose("The cluster link of an unknown node closes: it does not read its answers.");
    link_doom(link);
}

void cluster_link_send(struct cluster_link *link, struct cluster_parcel *parcel) {
    if (link->phase == CLOSED || link->doomed) return;
    if (!has_room_for(link, parcel)) {
        link_overflow(link);
        return;
    }
    counts.sent[parcel->type]++;
    bool was_empty = !link->first;
    queue_append(link, parcel);
    if (link->phase != UP) return;
    if (was_empty && !write_some(link)) {
        link_doom(link);
        return;
    }
    if (!link->busy) watch_wanted(link);
}

void cluster_bus_step(void) {
    if (!bus.waits) return;
    bus.waits = false;
    LIST_FOR_EACH (at, following, &links) {
        struct cluster_link *link = LIST_ENTRY(at, struct cluster_link, in_links);
        if (link->phase == UP && link->first) watch_wanted(link);
    }
}

/* ---- Reading ---- */

static void tell_malformed(const char *why) {
    int64_t now = clock_monotonic_msec();
    if (bus.told_msec && now - bus.told_msec < TELL_MSEC) return;
    bus.told_msec = now;
    log_warning("Bad message length or signature received from Cluster bus. (%s)", why);
}

static size_t frame_bytes_max(const struct cluster_link *link) {
    return is_of_known(link) ? KNOWN_BYTES_MAX : CLUSTER_STRANGER_BYTES_MAX;
}

/* False: the link is to be closed, because the frame is malformed. What another version of the bus
 * may have sent is ignored. */
static bool take_frame(struct cluster_link *link, struct slice frame) {
    struct cluster_message m;
    const char *why;
    enum cluster_message_type type = cluster_message_type_of(frame);
    if (type == CLUSTER_MESSAGE_TYPES) {
        counts.unknown++;
        return true;
    }
    counts.received[type]++;
    if (!cluster_message_parse(frame, &m, &why)) {
        tell_malformed(why);
        return false;
    }
    bus.hooks->received(link, &m);
    return true;
}

static enum cluster_frame next_frame(const struct cluster_link *link, struct slice *frame,
                                     size_t *length) {
    *frame = (struct slice){link->input.bytes + link->taken, link->input.length - link->taken};
    return cluster_message_frame(*frame, frame_bytes_max(link), length);
}

/* Takes one message out of the input, if there is a whole one. False: the link is to be closed. */
static bool take_message(struct cluster_link *link) {
    struct slice frame;
    size_t length;
    switch (next_frame(link, &frame, &length)) {
    case CLUSTER_FRAME_PART: return true;
    case CLUSTER_FRAME_BAD: tell_malformed("frame"); break;
    case CLUSTER_FRAME_WHOLE:
        link->taken += length;
        if (take_frame(link, (struct slice){frame.bytes, length})) return true;
        break;
    }
    counts.malformed++;
    return false;
}

/* Gives back the room of what has been taken, when the rest is less than a frame. */
static void forget_taken(struct cluster_link *link) {
    size_t left = link->input.length - link->taken;
    if (left) memmove(link->input.bytes, link->input.bytes + link->taken, left);
    counts.input_bytes -= link->taken;
    link->input.length = left;
    link->taken = 0;
    if (!left) buffer_free(&link->input);
}

/* How much to read: `frame_length` is that of the frame that has come in part, 0 = not known. */
static size_t read_size(const struct cluster_link *link, size_t frame_length) {
    size_t missing = frame_length ? frame_length - link->input.length : 0;
    if (missing <= READ_BYTES) return READ_BYTES;
    return missing < READ_BYTES_MAX ? missing : READ_BYTES_MAX;
}

/* Reads once. Whoever calls it looks then whether a frame is whole. False: the link has ended. */
static bool read_some(struct cluster_link *link) {
    struct slice frame;
    size_t length;
    enum cluster_frame state = next_frame(link, &frame, &length);
    ASSERT(state == CLUSTER_FRAME_PART && !link->taken);
    size_t size = read_size(link, length);
    char *room = buffer_reserve(&link->input, size);
    ssize_t got = link->connection ? connection_read(link->connection, room, size)
                                   : system_read(link->watcher.fd, room, size);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
        if (!link->input.length) buffer_free(&link->input);
        return true;
    }
    if (got <= 0) {
        log_debug("I/O error reading from node link: %s",
                  got ? connection_error_text(link->connection, errno) : "connection closed");
        return false;
    }
    link->input.length += (size_t)got;
    counts.input_bytes += (uint64_t)got;
    if (link->node) link->node->data_received_msec = clock_wall_msec();
    return true;
}

/* ---- The states ---- */

static void enter_up(struct cluster_link *link) {
    link->phase = UP;
    if (link->own) bus.hooks->connected(link);
}

/* A socket that connects to the node at this address, which is a number. -1: it cannot. */
static int connect_to(const struct cluster_node *node, const char *address) {
    char reason[REASON_CHARS];
    int fd = socket_connect_tcp(address, node->address.bus_port, listen_source_address(), 0, reason,
                                sizeof(reason));
    if (fd < 0)
        log_debug("Unable to connect to Cluster Node [%s]:%u -> %s", node->address.host,
                  node->address.bus_port, reason);
    return fd;
}

/* The name of the node has been looked up. */
static bool end_looking_up(struct cluster_link *link) {
    char address[SOCKET_ADDRESS_CHARS], reason[REASON_CHARS];
    struct lookup *lookup = link->lookup;
    loop_unwatch(bus.loop, &link->watcher);
    link->lookup = NULL;
    link->watcher.fd = -1;
    if (!lookup_take(lookup, address, reason, sizeof(reason))) {
        log_verbose("The name of node %s, %s, is not found: %s", link->node->id.text,
                    link->node->address.host, reason);
        return false;
    }
    link->watcher.fd = connect_to(link->node, address);
    if (link->watcher.fd < 0) return false;
    (void)socket_set_nodelay(link->watcher.fd, true);
    link->phase = CONNECTS;
    return true;
}

/* The socket has connected, or failed to. */
static bool end_connecting(struct cluster_link *link) {
    char reason[REASON_CHARS];
    int error = socket_take_error(link->watcher.fd);
    if (error) {
        log_verbose("Connection with Node %s at %s:%u failed: %s", link->node->id.text,
                    link->node->address.host, link->node->address.bus_port, strerror(error));
        return false;
    }
    const struct connection_transport *transport = bus.hooks->transport();
    if (!transport) {
        enter_up(link);
        return true;
    }
    loop_unwatch(bus.loop, &link->watcher);
    link->connection = connection_open(transport, link->watcher.fd, CONNECTION_CONNECTS, CLASS,
                                       reason, sizeof(reason));
    if (!link->connection) log_verbose("A cluster link over TLS cannot be made: %s", reason);
    link->phase = SHAKES_HANDS;
    return link->connection != NULL;
}

static bool shake_hands(struct cluster_link *link) {
    char reason[REASON_CHARS];
    switch (connection_handshake(link->connection, reason, sizeof(reason))) {
    case CONNECTION_WAITS: return true;
    case CONNECTION_DONE: enter_up(link); return true;
    case CONNECTION_FAILED: break;
    }
    log_verbose("Handshake on a cluster link failed: %s", reason);
    return false;
}

static bool serve_up(struct cluster_link *link, unsigned ready) {
    if (link->connection) ready = connection_ready(link->connection, ready);
    if (ready & LOOP_READABLE && !is_in_backlog(link) && !read_some(link)) return false;
    return ready & LOOP_WRITABLE ? write_some(link) : true;
}

static bool serve_link(struct cluster_link *link, unsigned ready) {
    switch (link->phase) {
    case LOOKS_UP: return end_looking_up(link);
    case CONNECTS: return end_connecting(link);
    case SHAKES_HANDS: return shake_hands(link);
    case UP: return serve_up(link, ready);
    case CLOSED: break;
    }
    return false;
}

/* The end of a callback that has served the link. `lives`: nothing has shown that it ended. */
static void link_served(struct cluster_link *link, bool lives) {
    struct slice frame;
    size_t length;
    if (link->phase != CLOSED && (!lives || link->doomed)) cluster_link_close(link);
    link->busy = false;
    if (link->phase == CLOSED) {
        link_free(link);
        return;
    }
    if (link->phase == UP && !is_in_backlog(link)) {
        if (next_frame(link, &frame, &length) != CLUSTER_FRAME_PART)
            enter_backlog(link);
        else if (link->taken)
            forget_taken(link);
    }
    watch_wanted(link);
}

/* Takes messages, one of each link in turn, while the turn has some left. */
static void take_messages(void) {
    int64_t before = clock_monotonic_nsec(), after;
    while (!list_is_empty(&backlog) && bus.messages_left && bus.spent_nsec < TURN_NSEC) {
        struct cluster_link *link = LIST_ENTRY(backlog.next, struct cluster_link, in_backlog);
        ASSERT(!link->busy);
        leave_backlog(link);
        link->busy = true;
        bus.messages_left--;
        link_served(link, link->doomed || take_message(link));
        after = clock_monotonic_nsec();
        bus.spent_nsec += after - before;
        before = after;
    }
}

bool cluster_bus_take(void) {
    bus.messages_left = TURN_MESSAGES;
    bus.spent_nsec = 0;
    if (!list_is_empty(&backlog)) take_messages();
    return !list_is_empty(&backlog);
}

static void link_ready(struct loop_watcher *watcher, unsigned ready) {
    struct cluster_link *link = (struct cluster_link *)watcher;
    ASSERT(!link->busy && link->phase != CLOSED);
    link->busy = true;
    link_served(link, !link->doomed && serve_link(link, ready));
    if (!list_is_empty(&backlog)) take_messages();
}

/* ---- Own links ---- */

void cluster_link_open(struct cluster_node *node) {
    char reason[REASON_CHARS];
    struct lookup *lookup = NULL;
    int fd;
    ASSERT(!node->link && *node->address.host);
    if (socket_is_address(node->address.host)) {
        fd = connect_to(node, node->address.host);
    } else {
        lookup = lookup_begin(node->address.host, reason, sizeof(reason));
        fd = lookup ? lookup_fd(lookup) : -1;
    }
    if (fd < 0) return;
    struct cluster_link *link = link_make(fd, NULL, true);
    link->lookup = lookup;
    link->node = node;
    node->link = link;
    link->phase = lookup ? LOOKS_UP : CONNECTS;
    watch_wanted(link);
}

bool cluster_link_is_up(const struct cluster_link *link) { return link->phase == UP; }
bool cluster_link_is_own(const struct cluster_link *link) { return link->own; }
struct cluster_node *cluster_link_node(const struct cluster_link *link) {
    return link->node;
}
int64_t cluster_link_opened_msec(const struct cluster_link *link) { return link->opened_msec; }

bool cluster_link_peer(const struct cluster_link *link, struct socket_peer *peer) {
    return socket_peer_of(link->watcher.fd, peer);
}

bool cluster_link_local(const struct cluster_link *link, struct socket_peer *local) {
    return socket_local_of(link->watcher.fd, local);
}

/* ---- Incoming links ---- */

void cluster_link_set_sender(struct cluster_link *link, struct cluster_node *node) {
    ASSERT(!link->own && node->link != link);
    if (link->node == node || link->phase == CLOSED) return;
    leave_node(link);
    if (node->incoming) become_strange(node->incoming);
    link->node = node;
    node->incoming = link;
}

/* Closes the link that has been a stranger's for longest, if that is long enough. */
static bool make_room(void) {
    struct cluster_link *oldest = NULL;
    LIST_FOR_EACH (at, following, &links) {
        struct cluster_link *link = LIST_ENTRY(at, struct cluster_link, in_links);
        if (is_stranger(link) && (!oldest || link->stranger_msec < oldest->stranger_msec))
            oldest = link;
    }
    if (!oldest || oldest->busy || clock_monotonic_msec() - oldest->stranger_msec < STRANGER_MSEC)
        return false;
    cluster_link_close(oldest);
    return true;
}

static bool has_room(void) {
    if (!bus.c || !(bus.accepts || bus.c->self->flags & CLUSTER_NODE_REPLICA)) return false;
    return bus.strangers < STRANGERS_MAX || make_room();
}

static void accept_link(const struct listen_kind *kind, int fd, const struct socket_peer *peer) {
    char reason[REASON_CHARS];
    struct connection *connection = NULL;
    if (bus.hooks->transport()) {
        connection = connection_open(&tls_mutual_transport, fd, CONNECTION_ACCEPTS, CLASS, reason,
                                     sizeof(reason));
        if (!connection) {
            log_verbose("Error accepting cluster node connection: %s", reason);
            system_close(fd);
            return;
        }
        listen_watch_handshakes();
    }
    log_verbose("Accepting cluster node connection from %s:%d", peer->address, peer->port);
    struct cluster_link *link = link_make(fd, connection, false);
    link->phase = connection ? SHAKES_HANDS : UP;
    watch_wanted(link);
}

static int bus_port(void) {
    if (!bus.c) return 0;
    return bus.hooks->transport() ? listen_tls_port() : listen_port();
}

/* As 6.2 counts them: a link each way to every other known node, connected or not. */
static size_t count_links(void) { return bus.c ? 2 * (bus.c->count - 1) : 0; }

static const struct listen_kind bus_kind = {.name = "cluster",
                                            .port = bus_port,
                                            .accepted = accept_link,
                                            .has_room = has_room,
                                            .counted = count_links,
                                            .counted_name = "cluster connections",
                                            .above = CLUSTER_BUS_PORT_OFFSET};

/* ---- The whole ---- */

/* A node is forgotten. The other end may go on speaking; it is not known any more. */
static void node_leaves(struct cluster *c, struct cluster_node *node) {
    if (node->link) cluster_link_close(node->link);
    if (!node->incoming) return;
    become_strange(node->incoming);
    node->incoming = NULL;
}

void cluster_bus_open(struct loop *loop, struct cluster *c, const struct cluster_bus_hooks *hooks) {
    bus.loop = loop;
    bus.c = c;
    bus.hooks = hooks;
    c->leaving = node_leaves;
    if (!bus.kind_added) listen_add_kind(&bus_kind);
    bus.kind_added = true;
}

void cluster_bus_accept(void) { bus.accepts = true; }

void cluster_bus_close(void) {
    LIST_FOR_EACH (at, following, &links)
        cluster_link_close(LIST_ENTRY(at, struct cluster_link, in_links));
    bus.c = NULL;
    bus.accepts = false;
}

/* A forked child that outlives this process must not keep its links open. */
static void close_in_child(const struct child_job *job) {
    LIST_FOR_EACH (at, following, &links) {
        const struct cluster_link *link = LIST_ENTRY(at, struct cluster_link, in_links);
        if (!link->lookup) system_close(link->watcher.fd);
    }
}

const struct child_observer cluster_bus_child_observer = {.in_child = close_in_child};
