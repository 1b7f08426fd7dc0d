/* SPDX-License-Identifier: BSD-3-Clause
 * Plays all nodes of a cluster but one, over real sockets, at the rate and in the shape of real
 * nodes, so that the one real node is measured as a member of a large cluster without the rest of
 * that cluster on the machine.
 *
 *   bus_peers --peers N --port P --conf FILE [--timeout-ms T] [--seed S]
 *
 * It writes the real node's nodes.conf (which owns its share of the slots, and hears at P + 10000),
 * listens once for each peer, prints "ready", and obeys lines of its standard input, each answered
 * by one line of JSON:
 *
 *   counts       what was sent and received since the line before
 *   flood N      from now on N of the peers send PINGs as fast as the node takes them; 0 ends that
 *
 * Its standard input's end ends it.
 *
 * Idea. Every peer keeps, of every node, when that node was last heard to answer, and follows the
 * rules of 6.2 for whom to ping: each second the one of five drawn nodes with the oldest answer,
 * and each tick all whose answer is older than half of the timeout. A ping between two peers is not
 * sent: both views take the other's gossip at once. A ping to the real node leaves over a socket,
 * and the node's gossip is taken as that of a peer. So the rate of pings settles where it settles
 * in a whole cluster, where gossip makes most pings needless: 30 nodes of 6.2.16 with a timeout of
 * 5 s send 8.8 a second each, and one among 29 of these peers sends 8.3.
 *
 * Half of the nodes are primaries with equal shares of the slots, each with one replica. Node 0 is
 * the real one.
 *
 * Left out: failures, elections, TLS.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/string.h"
#include "base/system.h"
#include "bus/message.h"
#include "io/loop.h"
#include "io/socket.h"

#define REAL 0 /* the real node's number */
#define TICK_MSEC 100
/* Peers tick one after another, as processes that started at different moments. */
#define TICK_PARTS 10
#define DRAW_TICKS 10
#define DRAWN_NODES 5
#define GOSSIP_MIN 3
#define GOSSIP_SHARE 10
#define READ_BYTES (256 * 1024)
#define LINE_BYTES 256
#define LISTEN_BACKLOG 8
/* A flooding peer keeps so many bytes ready for its socket. */
#define FLOOD_BYTES (64 * 1024)
/* A connection that waits for more than this is no real node's. */
#define FRAME_BYTES_MAX (1024 * 1024)

struct peer;

struct link {
    struct loop_watcher watcher; /* first */
    struct peer *peer;
    bool connects;
    struct buffer input, output;
};

struct peer {
    struct loop_watcher listener; /* first */
    unsigned number;
    struct cluster_id id;
    uint16_t bus_port;
    struct link own, incoming; /* to the real node, and from it; fd -1 = none */
    int64_t ping_sent_msec;    /* to the real node; 0 = none is pending */
    bool greeted;              /* the real node has answered */
    unsigned ticks;
};

static struct {
    unsigned nodes; /* all, the real one included */
    unsigned port;
    int64_t timeout_msec;
    uint64_t seed;
    const char *conf;
} options = {.timeout_msec = 15000, .seed = 1};

static struct peer *peers; /* by number; the real node's has no sockets */
static int64_t *heard;     /* [a * nodes + b]: when a last knew b to have answered, wall ms */
static struct loop *loop;
static struct loop_timer tick_timer;
static struct loop_watcher orders;
static unsigned flooding, tick_part;
static char line[LINE_BYTES];
static size_t line_length;
static struct {
    uint64_t pings_sent, pongs_sent, pings_received, pongs_received, bytes_sent, bytes_received,
        closed, pings_among_peers;
} counts;

static void fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "bus_peers: ");
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
    va_end(arguments);
    exit(1);
}

/* ---- the cluster's shape ---- */

static bool is_primary(unsigned node) { return node % 2 == 0; }
static unsigned primary_of(unsigned node) { return node - node % 2; }
static unsigned primaries(void) { return (options.nodes + 1) / 2; }
static unsigned first_slot(unsigned primary) { return primary / 2 * KEY_SLOTS / primaries(); }
static unsigned end_slot(unsigned primary) { return (primary / 2 + 1) * KEY_SLOTS / primaries(); }
static uint64_t epoch_of(unsigned node) { return primary_of(node) / 2 + 1; }

static unsigned port_of(unsigned node) {
    return node == REAL ? options.port : peers[node].bus_port;
}
static unsigned bus_port_of(unsigned node) {
    return node == REAL ? options.port + CLUSTER_BUS_PORT_OFFSET : peers[node].bus_port;
}

static struct cluster_id id_of(unsigned node) {
    struct cluster_id id;
    snprintf(id.text, sizeof(id.text), "%08x%032" PRIx64, node, options.seed);
    return id;
}

/* The number in an id; `nodes` where this is no node's id. */
static unsigned number_of(const struct cluster_id *id) {
    char digits[9];
    memcpy(digits, id->text, 8);
    digits[8] = '\0';
    unsigned long number = strtoul(digits, NULL, 16);
    return number < options.nodes ? (unsigned)number : options.nodes;
}

static void print_conf_line(FILE *file, unsigned node) {
    fprintf(file, "%s 127.0.0.1:%u@%u %s%s %s 0 0 %" PRIu64 " connected", id_of(node).text,
            port_of(node), bus_port_of(node), node == REAL ? "myself," : "",
            is_primary(node) ? "master" : "slave",
            is_primary(node) ? "-" : id_of(primary_of(node)).text, epoch_of(node));
    if (is_primary(node)) fprintf(file, " %u-%u", first_slot(node), end_slot(node) - 1);
    fprintf(file, "\n");
}

static void write_conf(void) {
    FILE *file = fopen(options.conf, "w");
    if (!file) fail("cannot write %s", options.conf);
    for (unsigned i = 0; i < options.nodes; i++) print_conf_line(file, i);
    fprintf(file, "vars currentEpoch %u lastVoteEpoch 0\n", primaries());
    if (fclose(file) != 0) fail("cannot write %s", options.conf);
}

/* ---- views ---- */

static int64_t *heard_of(unsigned by, unsigned node) {
    return &heard[(size_t)by * options.nodes + node];
}

static unsigned gossip_count(void) {
    unsigned wanted = options.nodes / GOSSIP_SHARE;
    if (wanted < GOSSIP_MIN) wanted = GOSSIP_MIN;
    return wanted + 2 > options.nodes ? options.nodes - 2 : wanted;
}

/* A message tells whole seconds. */
static void take_heard(unsigned by, unsigned node, int64_t heard_msec) {
    int64_t *known = heard_of(by, node), told = heard_msec / 1000 * 1000;
    if (node != by && told > *known) *known = told;
}

/* What `from` says in one message reaches `to`. */
static void gossip_between(unsigned from, unsigned to) {
    for (unsigned i = gossip_count(); i > 0; i--) {
        unsigned about = (unsigned)random_below(options.nodes);
        if (about != from) take_heard(to, about, *heard_of(from, about));
    }
}

/* ---- messages ---- */

static void compose(const struct peer *peer, enum cluster_message_type type, struct buffer *out) {
    unsigned char slots[CLUSTER_BITMAP_BYTES] = {0};
    unsigned primary = primary_of(peer->number);
    for (unsigned slot = first_slot(primary); slot < end_slot(primary); slot++)
        slots[slot / 8] |= (unsigned char)(1U << slot % 8);
    struct cluster_message m = {
        .type = type,
        .current_epoch = primaries(),
        .config_epoch = epoch_of(peer->number),
        .offset = 1,
        .sender = peer->id,
        .address = {.port = peer->bus_port, .bus_port = peer->bus_port},
        .flags = is_primary(peer->number) ? CLUSTER_NODE_PRIMARY : CLUSTER_NODE_REPLICA,
        .slots = slots,
    };
    if (!is_primary(peer->number)) m.primary = id_of(primary);
    size_t start = out->length;
    cluster_message_print(&m, out);
    for (unsigned i = gossip_count(); i > 0;) {
        unsigned about = (unsigned)random_below(options.nodes);
        if (about == peer->number) continue;
        struct cluster_entry entry = {
            .id = peers[about].id,
            .pong_received_sec = (uint32_t)(*heard_of(peer->number, about) / 1000),
            .address = {.host = "127.0.0.1",
                        .port = (uint16_t)port_of(about),
                        .bus_port = (uint16_t)bus_port_of(about)},
            .flags = is_primary(about) ? CLUSTER_NODE_PRIMARY : CLUSTER_NODE_REPLICA,
        };
        cluster_message_add(out, start, &entry);
        i--;
    }
}

/* ---- connections ---- */

static void link_close(struct link *link) {
    if (link->watcher.fd < 0) return;
    loop_unwatch(loop, &link->watcher);
    system_close(link->watcher.fd);
    link->watcher.fd = -1;
    buffer_free(&link->input);
    buffer_free(&link->output);
    if (link == &link->peer->own) link->peer->ping_sent_msec = 0;
}

static bool floods(const struct link *link) {
    return link == &link->peer->own && link->peer->number <= flooding;
}

static void link_watch(struct link *link) {
    unsigned wanted = link->connects ? LOOP_WRITABLE : LOOP_READABLE;
    if (link->output.length || floods(link)) wanted |= LOOP_WRITABLE;
    if (!loop_watch(loop, &link->watcher, wanted)) fail("epoll refuses a socket");
}

/* Fills the output of a flooding peer up with PINGs. */
static void flood_more(struct link *link) {
    while (link->output.length < FLOOD_BYTES) {
        compose(link->peer, CLUSTER_PING, &link->output);
        counts.pings_sent++;
    }
}

/* False: it is closed. */
static bool link_write(struct link *link) {
    ssize_t sent = 1;
    if (floods(link)) flood_more(link);
    while (link->output.length && sent > 0) {
        sent = system_write(link->watcher.fd, link->output.bytes, link->output.length);
        if (sent <= 0) break;
        counts.bytes_sent += (uint64_t)sent;
        link->output.length -= (size_t)sent;
        memmove(link->output.bytes, link->output.bytes + sent, link->output.length);
        if (floods(link)) break; /* the others have their turn */
    }
    if (sent < 0 && errno != EAGAIN && errno != EINTR) {
        counts.closed++;
        link_close(link);
        return false;
    }
    link_watch(link);
    return true;
}

static void say(struct link *link, enum cluster_message_type type) {
    compose(link->peer, type, &link->output);
    counts.pings_sent += type == CLUSTER_PING;
    counts.pongs_sent += type == CLUSTER_PONG;
    (void)link_write(link);
}

/* ---- what the real node says ---- */

/* How long ago a node was heard, of a cluster that has been at it for some time. */
static int64_t drawn_age_msec(void) {
    return (int64_t)random_below((uint64_t)options.timeout_msec / 2 + 1);
}

/* All peers greet the real node at once, and would go on to ping it in waves, which die away in
 * minutes only: so their first answers count as if they had come at different moments. */
static void take_answer(struct peer *peer) {
    peer->ping_sent_msec = 0;
    *heard_of(peer->number, REAL) = clock_wall_msec() - (peer->greeted ? 0 : drawn_age_msec());
    peer->greeted = true;
}

static void take_message(struct link *link, const struct cluster_message *m) {
    unsigned self = link->peer->number;
    if (!cluster_message_is_heartbeat(m->type)) return;
    for (unsigned i = 0; i < m->entry_count; i++) {
        struct cluster_entry entry;
        cluster_message_entry(m, i, &entry);
        unsigned about = number_of(&entry.id);
        if (about < options.nodes) take_heard(self, about, (int64_t)entry.pong_received_sec * 1000);
    }
    if (m->type == CLUSTER_PONG) {
        counts.pongs_received++;
        if (link != &link->peer->own) return;
        take_answer(link->peer);
    } else {
        counts.pings_received++;
        say(link, CLUSTER_PONG);
    }
}

static void take_frames(struct link *link) {
    size_t done = 0, length;
    while (link->watcher.fd >= 0) {
        struct slice rest = {link->input.bytes + done, link->input.length - done};
        struct cluster_message m;
        const char *why;
        enum cluster_frame frame = cluster_message_frame(rest, FRAME_BYTES_MAX, &length);
        if (frame == CLUSTER_FRAME_BAD) fail("the node sends what is no message");
        if (frame == CLUSTER_FRAME_PART) break;
        if (!cluster_message_parse((struct slice){rest.bytes, length}, &m, &why))
            fail("the node sends a malformed message: %s", why);
        take_message(link, &m);
        done += length;
    }
    if (link->watcher.fd < 0) return;
    link->input.length -= done;
    memmove(link->input.bytes, link->input.bytes + done, link->input.length);
}

static void link_read(struct link *link) {
    char *room = buffer_reserve(&link->input, READ_BYTES);
    ssize_t got = system_read(link->watcher.fd, room, READ_BYTES);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) {
        counts.closed++;
        link_close(link);
        return;
    }
    counts.bytes_received += (uint64_t)got;
    link->input.length += (size_t)got;
    take_frames(link);
}

static void link_ready(struct loop_watcher *watcher, unsigned ready) {
    struct link *link = (struct link *)watcher;
    if (link->connects) {
        link->connects = false;
        if (socket_take_error(watcher->fd)) {
            link_close(link);
            return;
        }
        say(link, CLUSTER_PING);
        link->peer->ping_sent_msec = clock_wall_msec();
        return;
    }
    if (ready & LOOP_READABLE) link_read(link);
    if (watcher->fd >= 0 && ready & LOOP_WRITABLE) (void)link_write(link);
}

static void link_begin(struct link *link, int fd, bool connects) {
    link->watcher.fd = fd;
    link->watcher.callback = link_ready;
    link->connects = connects;
    buffer_init(&link->input, MEMORY_OTHER);
    buffer_init(&link->output, MEMORY_OTHER);
    (void)socket_set_nodelay(fd, true);
    link_watch(link);
}

static void listener_ready(struct loop_watcher *watcher, unsigned ready) {
    struct peer *peer = (struct peer *)watcher;
    struct socket_peer from;
    int fd = socket_accept(watcher->fd, &from);
    if (fd < 0) return;
    link_close(&peer->incoming);
    link_begin(&peer->incoming, fd, false);
}

static void connect_peer(struct peer *peer) {
    char reason[LINE_BYTES];
    int fd = socket_connect_tcp("127.0.0.1", (int)options.port + CLUSTER_BUS_PORT_OFFSET, NULL, 0,
                                reason, sizeof(reason));
    if (fd >= 0) link_begin(&peer->own, fd, true);
}

/* ---- the tick ---- */

static void ping(struct peer *peer, unsigned node) {
    if (node == REAL) {
        if (peer->own.watcher.fd < 0 || peer->own.connects || peer->ping_sent_msec) return;
        peer->ping_sent_msec = clock_wall_msec();
        say(&peer->own, CLUSTER_PING);
        return;
    }
    counts.pings_among_peers++;
    gossip_between(peer->number, node);
    gossip_between(node, peer->number);
    *heard_of(peer->number, node) = clock_wall_msec();
}

static void ping_oldest_drawn(struct peer *peer) {
    unsigned oldest = peer->number;
    for (unsigned i = 0; i < DRAWN_NODES; i++) {
        unsigned drawn = (unsigned)random_below(options.nodes);
        if (drawn == peer->number) continue;
        if (oldest == peer->number ||
            *heard_of(peer->number, drawn) < *heard_of(peer->number, oldest))
            oldest = drawn;
    }
    if (oldest != peer->number) ping(peer, oldest);
}

static void tick_peer(struct peer *peer) {
    int64_t now = clock_wall_msec();
    if (peer->own.watcher.fd < 0) connect_peer(peer);
    if (++peer->ticks % DRAW_TICKS == 0) ping_oldest_drawn(peer);
    for (unsigned node = 0; node < options.nodes; node++)
        if (node != peer->number && now - *heard_of(peer->number, node) > options.timeout_msec / 2)
            ping(peer, node);
}

static int64_t tick(struct loop_timer *timer) {
    tick_part = (tick_part + 1) % TICK_PARTS;
    for (unsigned i = 1; i < options.nodes; i++)
        if (i % TICK_PARTS == tick_part) tick_peer(&peers[i]);
    return TICK_MSEC / TICK_PARTS;
}

/* ---- orders ---- */

static void answer_counts(void) {
    unsigned connected = 0, accepted = 0;
    for (unsigned i = 1; i < options.nodes; i++) {
        connected += peers[i].own.watcher.fd >= 0 && !peers[i].own.connects;
        accepted += peers[i].incoming.watcher.fd >= 0;
    }
    printf("{\"connected\": %u, \"accepted\": %u, \"pings_sent\": %" PRIu64
           ", \"pongs_sent\": %" PRIu64 ", \"pings_received\": %" PRIu64
           ", \"pongs_received\": %" PRIu64 ", \"bytes_sent\": %" PRIu64
           ", \"bytes_received\": %" PRIu64 ", \"closed\": %" PRIu64
           ", \"pings_among_peers\": %" PRIu64 "}\n",
           connected, accepted, counts.pings_sent, counts.pongs_sent, counts.pings_received,
           counts.pongs_received, counts.bytes_sent, counts.bytes_received, counts.closed,
           counts.pings_among_peers);
    memset(&counts, 0, sizeof(counts));
}

static void obey(const char *order) {
    if (strcmp(order, "counts") == 0) {
        answer_counts();
    } else if (strncmp(order, "flood ", 6) == 0) {
        flooding = (unsigned)strtoul(order + 6, NULL, 10);
        for (unsigned i = 1; i < options.nodes; i++)
            if (peers[i].own.watcher.fd >= 0) link_watch(&peers[i].own);
        printf("{}\n");
    } else {
        fail("%s is no order", order);
    }
    fflush(stdout);
}

static void orders_ready(struct loop_watcher *watcher, unsigned ready) {
    ssize_t got = system_read(watcher->fd, line + line_length, sizeof(line) - 1 - line_length);
    if (got <= 0) exit(0);
    line_length += (size_t)got;
    char *end;
    while ((end = memchr(line, '\n', line_length))) {
        *end = '\0';
        obey(line);
        line_length -= (size_t)(end + 1 - line);
        memmove(line, end + 1, line_length);
    }
    if (line_length == sizeof(line) - 1) fail("an order is too long");
}

/* ---- start ---- */

static void read_options(int argc, char **argv) {
    for (int i = 1; i + 1 < argc; i += 2) {
        const char *name = argv[i], *value = argv[i + 1];
        unsigned long number = strtoul(value, NULL, 10);
        if (strcmp(name, "--peers") == 0)
            options.nodes = (unsigned)number + 1;
        else if (strcmp(name, "--port") == 0)
            options.port = (unsigned)number;
        else if (strcmp(name, "--timeout-ms") == 0)
            options.timeout_msec = (int64_t)number;
        else if (strcmp(name, "--seed") == 0)
            options.seed = number;
        else if (strcmp(name, "--conf") == 0)
            options.conf = value;
        else
            fail("unknown option %s", name);
    }
    if (options.nodes < 4 || options.nodes > CLUSTER_NODES_MAX || !options.port || !options.conf)
        fail("--peers 3..%u, --port and --conf are needed", CLUSTER_NODES_MAX - 1);
}

static void listen_peer(struct peer *peer) {
    char reason[LINE_BYTES];
    struct socket_peer local;
    peer->listener.fd = socket_listen_tcp("127.0.0.1", 0, LISTEN_BACKLOG, reason, sizeof(reason));
    if (peer->listener.fd < 0) fail("%s", reason);
    if (!socket_local_of(peer->listener.fd, &local)) fail("a listener has no port");
    peer->bus_port = (uint16_t)local.port;
    peer->listener.callback = listener_ready;
    if (!loop_watch(loop, &peer->listener, LOOP_READABLE)) fail("epoll refuses a listener");
}

int main(int argc, char **argv) {
    read_options(argc, argv);
    random_seed(options.seed);
    loop = loop_create();
    peers = memory_zalloc(options.nodes * sizeof(*peers), MEMORY_OTHER);
    heard = memory_zalloc((size_t)options.nodes * options.nodes * sizeof(*heard), MEMORY_OTHER);
    int64_t now = clock_wall_msec();
    for (unsigned i = 0; i < options.nodes; i++) {
        struct peer *peer = &peers[i];
        peer->number = i;
        peer->id = id_of(i);
        peer->own.peer = peer->incoming.peer = peer;
        peer->own.watcher.fd = peer->incoming.watcher.fd = -1;
        peer->ticks = i / TICK_PARTS;
        for (unsigned j = 0; j < options.nodes; j++) *heard_of(i, j) = now - drawn_age_msec();
        if (i != REAL) listen_peer(peer);
    }
    write_conf();
    tick_timer.callback = tick;
    loop_timer_start(loop, &tick_timer, 0);
    orders = (struct loop_watcher){.fd = STDIN_FILENO, .callback = orders_ready};
    if (!loop_watch(loop, &orders, LOOP_READABLE)) fail("the standard input must be a pipe");
    printf("ready\n");
    fflush(stdout);
    loop_run(loop);
    return 0;
}
