/* SPDX-License-Identifier: BSD-3-Clause
 * Clients: from accepting to freeing.
 *
 *   open -> close after reply -> closing -> closed -> freed
 *      \_______________________/
 *
 * Any reply may find a limit passed or a connection broken, in the middle of a command that uses
 * the waits, watched keys or subscriptions of the same client or another one. So everything that
 * closes a client only marks it (client_close_later): its events end, its replies, to which no
 * other code refers, are freed, and further replies are dropped. All its other state stays valid
 * until the request has ended; then client_finish_closing lets the layers above free their state of
 * the client. Memory and descriptor are freed when no batch runs, so that code that holds the
 * pointer within a turn may still look at the flags.
 *
 * Invariants
 *  1. Only client_close_later sets CLIENT_CLOSING, and only client_finish_closing CLIENT_CLOSED;
 *     for a client without a connection client_end_captured sets both.
 *  2. A client that is not CLOSED is in `clients`. A CLOSED client is in `closed`, or in `hung_up`
 *     if a nested turn has closed its connection. A client that is CLOSING and not CLOSED is in
 *     `marked`, too.
 *  3. `ids` has the clients that are not CLOSING, and `count` is their number.
 *  4. A client without a connection is in `captured` instead, until client_end_captured, and
 *     neither in `marked` nor in `ids`.
 *
 * This file knows neither input nor replies of a client, which are above it: batch and reply hand
 * in their functions when they are opened (struct client_parts). This file and client_memory, which
 * knows the memory of each client, are one module in two files.
 */
#include "net/client.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/panic.h"
#include "base/system.h"
#include "ds/table.h"
#include "io/child.h"
#include "io/threads.h"
#include "metric/metric.h"
#include "net/client_memory.h"
#include "option/option.h"

/* The reason for a failed handshake, for a line in the log. */
#define CONNECTION_REASON_CHARS 160
/* One call of the cron looks at so many clients: at 10 calls a second it comes round 10,000 clients
 * in five seconds, which suffices for timeouts of seconds. */
#define CRON_CLIENTS_MAX 200
/* Descriptors that are kept for files, listeners and links besides clients, as in 6.2. */
#define RESERVED_DESCRIPTORS 32
/* INFO shows the largest buffers of so many seconds, as in 6.2. */
#define PEAK_SECONDS 8
/* Bits of client_flag_set.above. */
#define FLAGS_ABOVE 32u

/* The largest value noted in each of the last seconds. */
struct peak {
    int64_t second[PEAK_SECONDS]; /* the second that bytes[] belongs to */
    size_t bytes[PEAK_SECONDS];
};

bool client_interrupted;
static struct loop *loop;
static const struct client_parts *parts;
static struct list_link clients = {&clients, &clients};
static struct list_link marked = {&marked, &marked}; /* of struct client.write_link */
static struct list_link closed = {&closed, &closed};
static struct list_link hung_up = {&hung_up, &hung_up};
static struct list_link captured = {&captured, &captured}; /* clients without a connection */
static struct table *ids; /* struct client by id; made with the first client */
static uint64_t count, next_id = 1, connections_received;
static size_t listeners;
static const struct client_state *admission; /* see client_set_admission */
static uint32_t begin_flags, strange_flags;  /* flags of `admission`, as it numbers them */
static uint32_t begin_above, strange_above;  /* those flags as bits of client_flag_set.above */
static int64_t maxclients, timeout_sec, keepalive_sec;
static struct client_state *const no_states[] = {NULL};
static struct client_state *const *states = no_states;
static uint8_t places_count = CLIENT_PLACES_OF_NET;
static struct peak input_peak, output_peak;

/* ---- how many descriptors there are ---- */

/* Sets the soft and the hard limit of open files. False: both are as before. */
static bool set_file_limit(rlim_t wanted, rlim_t hard) {
    struct rlimit raised = {wanted, hard > wanted ? hard : wanted};
    return setrlimit(RLIMIT_NOFILE, &raised) == 0;
}

/* Raises the limit of open files to `wanted`, or as near to it as the system allows; never lowers
 * it. Returns the limit that holds now. */
static rlim_t raise_file_limit(rlim_t wanted) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit)) return wanted;
    if (limit.rlim_cur >= wanted || set_file_limit(wanted, limit.rlim_max)) return wanted;
    log_warning("Server can't set maximum open files to %llu because of OS error: %s.",
                (unsigned long long)wanted, strerror(errno));
    rlim_t had = limit.rlim_cur, refused = wanted;
    if (limit.rlim_max < wanted && set_file_limit(limit.rlim_max, limit.rlim_max))
        had = limit.rlim_max;
    while (refused - had >
           1) { /* with the right to raise the hard limit: finds the kernel's bound */
        rlim_t middle = had + (refused - had) / 2;
        if (set_file_limit(middle, limit.rlim_max))
            had = middle;
        else
            refused = middle;
    }
    return had;
}

/* How many clients the limit of open files allows, at most `wanted`; 0 = none. A line in the log
 * says so if it is less than wanted. */
static int64_t clients_possible(int64_t wanted) {
    rlim_t files = (rlim_t)wanted + RESERVED_DESCRIPTORS, limit = raise_file_limit(files);
    if (limit >= files) return wanted;
    int64_t possible = limit > RESERVED_DESCRIPTORS ? (int64_t)(limit - RESERVED_DESCRIPTORS) : 0;
    log_warning(
        "You requested maxclients of %lld requiring at least %llu max file descriptors. The limit "
        "of open files is %llu, which allows %lld; 'ulimit -n' raises it.",
        (long long)wanted, (unsigned long long)files, (unsigned long long)limit,
        (long long)possible);
    return possible;
}

/* Before the start nothing is checked: of several lines the last one holds, and client_open lowers
 * it to what the system allows. */
static bool apply_maxclients(const struct option_row *row, char *reason, size_t reason_size) {
    if (!loop) return true;
    int64_t possible = clients_possible(maxclients);
    if (possible >= maxclients) return true;
    snprintf(reason, reason_size,
             "The operating system is not able to handle the specified number of clients, try "
             "with %lld",
             (long long)possible);
    return false;
}

/* ---- ids ---- */

/* An id takes 12 to 15 bytes of the class MEMORY_CLIENTS, which are charged to no single client. */
static uint64_t id_hash(uint64_t id) { return hash_bytes(&id, sizeof(id)); }

static uint64_t id_of_element(const void *element) {
    return id_hash(((const struct client *)element)->id);
}

static bool id_matches(const void *element, const void *key, size_t key_length) {
    return ((const struct client *)element)->id == *(const uint64_t *)key;
}

static const struct table_type id_table = {id_of_element, id_matches, MEMORY_CLIENTS};

size_t client_table_bytes(void) { return ids ? table_bytes(ids) : 0; }

/* ---- the largest buffers ---- */

static void peak_note(struct peak *p, size_t bytes) {
    int64_t second = clock_cached_msec() / 1000;
    int slot = (int)(second % PEAK_SECONDS);
    if (p->second[slot] != second) p->bytes[slot] = 0;
    p->second[slot] = second;
    if (bytes > p->bytes[slot]) p->bytes[slot] = bytes;
}

static void print_peak(const struct metric_row *row, struct buffer *out) {
    const struct peak *p = row->context;
    int64_t oldest = clock_cached_msec() / 1000 - PEAK_SECONDS;
    size_t most = 0;
    for (int i = 0; i < PEAK_SECONDS; i++)
        if (p->second[i] > oldest && p->bytes[i] > most) most = p->bytes[i];
    buffer_printf(out, "%zu", most);
}

void client_note_input(size_t bytes) { peak_note(&input_peak, bytes); }
void client_note_output(size_t bytes) { peak_note(&output_peak, bytes); }

/* ---- rows ---- */

static const struct option_row option_rows[] = {
    {.name = "maxclients",
     .type = OPTION_TYPE_INT,
     .flags = OPTION_MUTABLE,
     .section = "limits",
     .place = 5,
     .fallback = "10000",
     .variable = &maxclients,
     .low = 1,
     .high = UINT32_MAX,
     .apply = apply_maxclients,
     .help = "Clients connected at once at most; further ones are refused with an error."},
    OPTION_INT("timeout", &timeout_sec, "0", 0, INT32_MAX, OPTION_MUTABLE, "network", 60,
               "Seconds after which a silent client is disconnected. 0: never."),
    OPTION_INT("tcp-keepalive", &keepalive_sec, "300", 0, INT32_MAX, OPTION_MUTABLE, "network", 70,
               "Seconds of silence after which the system probes whether a client is still there. "
               "0: never."),
};

static const struct metric_row metric_rows[] = {
    {.section = "Clients",
     .place = 10,
     .name = "connected_clients",
     .measure = METRIC_GAUGE,
     .type = METRIC_UINT64,
     .variable = &count,
     .help = "Clients connected now."},
    {.section = "Clients",
     .place = 30,
     .name = "maxclients",
     .measure = METRIC_GAUGE,
     .type = METRIC_INT64,
     .variable = &maxclients,
     .help = "The option maxclients."},
    {.section = "Clients",
     .place = 40,
     .name = "client_recent_max_input_buffer",
     .measure = METRIC_BYTES,
     .type = METRIC_FUNCTION,
     .print = print_peak,
     .context = &input_peak,
     .help =
         "The most bytes that input of one client took in the last seconds. A client has such a "
         "buffer only while a request is incomplete or waits."},
    {.section = "Clients",
     .place = 50,
     .name = "client_recent_max_output_buffer",
     .measure = METRIC_BYTES,
     .type = METRIC_FUNCTION,
     .print = print_peak,
     .context = &output_peak,
     .help =
         "The most bytes that replies to one client took in the last seconds. A client has such "
         "buffers only while its socket does not take them."},
    {.section = "Stats",
     .place = 10,
     .name = "total_connections_received",
     .measure = METRIC_COUNTER,
     .type = METRIC_UINT64,
     .variable = &connections_received,
     .reset = true,
     .help = "Connections accepted."},
};

void client_register(void) {
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
    metric_register(metric_rows, sizeof(metric_rows) / sizeof(metric_rows[0]));
}

bool client_open(struct loop *the_loop, const struct client_parts *the_parts) {
    int64_t wanted = maxclients;
    loop = the_loop;
    parts = the_parts;
    maxclients = clients_possible(wanted);
    if (maxclients == wanted) return true;
    if (maxclients > 0) {
        log_warning("maxclients has been reduced to %lld.", (long long)maxclients);
        return true;
    }
    log_warning(
        "The limit of open files ('ulimit -n') is not enough for the server to start: it needs "
        "%d for itself, and one for each client.",
        RESERVED_DESCRIPTORS);
    return false;
}

struct loop *client_loop(void) {
    return loop;
}
size_t client_count(void) { return count; }
size_t client_listeners(void) { return listeners; }
struct list_link *client_list(void) {
    return &clients;
}
struct list_link *client_captured_list(void) {
    return &captured;
}
int64_t client_maxclients(void) { return maxclients; }
bool client_strangers_any(void) { return strange_flags; }
bool client_is_stranger(const struct client *c) { return c->flag_set.above & strange_above; }

/* ---- what folders above keep ---- */

static void number_admission(void) {
    if (!admission) return;
    begin_above = (begin_flags & admission->mask) << admission->shift;
    strange_above = (strange_flags & admission->mask) << admission->shift;
}

void client_set_admission(const struct client_state *state, uint32_t begin, uint32_t strange) {
    ASSERT(!admission || admission == state);
    admission = state;
    begin_flags = begin;
    strange_flags = strange;
    number_admission();
}

void client_set_states(struct client_state *const *all) {
    unsigned flags = 0;
    ASSERT(list_is_empty(&clients) && list_is_empty(&captured));
    states = all;
    places_count = CLIENT_PLACES_OF_NET;
    for (; *all; all++) {
        struct client_state *s = *all;
        if (flags + s->flags > FLAGS_ABOVE) PANIC("no flags of clients are left for %s", s->name);
        s->shift = s->flags ? (uint8_t)flags : 0;
        s->mask = s->flags ? UINT32_MAX >> (FLAGS_ABOVE - s->flags) : 0;
        flags += s->flags;
        s->place = s->has_place ? places_count++ : 0;
    }
    number_admission();
}

uint64_t client_flags_of_net(uint32_t flags) { return (union client_flag_set){.net = flags}.all; }

uint64_t client_flags_of(const struct client_state *s, uint32_t flags) {
    ASSERT(!s->mask || !(flags & ~s->mask));
    if (!s->mask) return 0;
    return (union client_flag_set){.above = flags << s->shift}.all;
}

void client_set_flags(struct client *c, const struct client_state *s, uint32_t flags, bool on) {
    ASSERT(!(flags & ~s->mask)); /* fails also if the row is not registered */
    uint32_t bits = flags << s->shift;
    c->flag_set.above = on ? c->flag_set.above | bits : c->flag_set.above & ~bits;
}

void client_reset_flags(struct client *c) {
    for (struct client_state *const *s = states; *s; s++)
        if ((*s)->reset_flags) client_set_flags(c, *s, (*s)->reset_flags, false);
}

void client_append_letters(const struct client *c, struct buffer *out) {
    for (struct client_state *const *s = states; *s; s++) {
        if (!(*s)->letters) continue;
        uint32_t flags = client_flags(c, *s);
        for (const char *letter = (*s)->letters; *letter; letter++, flags >>= 1)
            if (flags & 1 && *letter != ' ') buffer_append_char(out, *letter);
    }
}

static struct client *client_alloc(void) {
    struct client *c = memory_zalloc(sizeof(*c), MEMORY_CLIENTS);
    c->protocol = 2;
    list_init(&c->write_link);
    list_init(&c->held_link);
    return c;
}

/* Gives a new client its id and the time of its creation. */
static void begin_life(struct client *c) {
    c->id = next_id++;
    c->created_msec = c->active_msec = clock_cached_msec();
}

struct client *client_create_captured(void) {
    struct client *c = client_alloc();
    begin_life(c);
    c->watcher.fd = -1;
    c->flags = CLIENT_CAPTURED;
    list_append(&captured, &c->link);
    return c;
}

/* ---- transports ---- */

static void client_carry(struct client *c, struct connection *connection) {
    c->flags |= CLIENT_CARRIED;
    connection_move(connection, MEMORY_CLIENTS); /* a connection of peer/ has another class */
    client_set_place_of_net(c, CLIENT_PLACE_CONNECTION, connection);
}

static void connection_end(struct client *c) {
    connection_close(client_connection(c));
    client_set_place_of_net(c, CLIENT_PLACE_CONNECTION, NULL);
}

size_t client_connection_bytes(const struct client *c) {
    return c->flags & CLIENT_CARRIED && client_connection(c)
               ? connection_bytes(client_connection(c))
               : 0;
}

static bool watch_client(struct client *c, unsigned interest) {
    if (__builtin_expect(c->flags & CLIENT_CARRIED, 0)) {
        if (c->flags & CLIENT_AWAY)
            threads_rest(); /* a thread may change what the transport needs */
        return connection_watch(client_connection(c), loop, &c->watcher, interest);
    }
    return loop_watch(loop, &c->watcher, interest);
}

static void unwatch_client(struct client *c) {
    if (c->flags & CLIENT_CARRIED)
        connection_unwatch(client_connection(c));
    else
        loop_unwatch(loop, &c->watcher);
}

unsigned client_carried_ready(struct client *c, unsigned ready) {
    struct connection *connection = client_connection(c);
    char reason[CONNECTION_REASON_CHARS];
    bool was_established = connection->established;
    switch (connection_handshake(connection, reason, sizeof(reason))) {
    case CONNECTION_WAITS: return 0;
    case CONNECTION_FAILED:
        log_verbose("Error accepting a client connection: %s", reason);
        client_close_later(c);
        return 0;
    case CONNECTION_DONE: break;
    }
    if (was_established) return connection_ready(connection, ready);
    /* Bytes that the client sent with the handshake's end may have been received already. */
    return connection->wanted & (LOOP_READABLE | LOOP_WRITABLE);
}

void client_leave_to_child(struct client *c) {
    if (c->flags & CLIENT_CARRIED) connection_abandon(client_connection(c));
}

/* Creates a client for a socket and its transport. NULL, with a reason and both closed, on failure.
 */
static struct client *create_connected(int fd, struct connection *connection,
                                       void (*ready)(struct loop_watcher *w, unsigned ready),
                                       char *reason, size_t reason_size) {
    struct client *c = client_alloc();
    c->watcher.fd = fd;
    c->watcher.callback = ready;
    if (connection) client_carry(c, connection);
    if (!watch_client(c, LOOP_READABLE)) {
        snprintf(reason, reason_size, "%s", strerror(errno));
        connection_end(c);
        memory_free_sized(c, sizeof(*c), MEMORY_CLIENTS);
        system_close(fd);
        return NULL;
    }
    begin_life(c);
    list_append(&clients, &c->link);
    if (!ids) ids = table_create(&id_table);
    table_insert(ids, id_hash(c->id), c);
    count++;
    return c;
}

struct client *client_create(int fd, const struct socket_peer *peer,
                             const struct connection_transport *transport, char *reason,
                             size_t reason_size) {
    struct connection *connection = NULL;
    if (transport) {
        connection =
            connection_open(transport, fd, CONNECTION_ACCEPTS, MEMORY_CLIENTS, reason, reason_size);
        if (!connection) {
            system_close(fd);
            return NULL;
        }
    }
    struct client *c = create_connected(fd, connection, parts->ready, reason, reason_size);
    if (!c) return NULL;
    if (peer->is_unix) {
        c->flags |= CLIENT_UNIX;
    } else {
        socket_set_nodelay(fd, true);
        if (keepalive_sec) socket_set_keepalive(fd, (int)keepalive_sec);
    }
    c->flag_set.above = begin_above;
    connections_received++;
    return c;
}

struct client *client_create_primary(int fd, struct connection *connection,
                                     void (*ready)(struct loop_watcher *w, unsigned ready),
                                     char *reason, size_t reason_size) {
    struct client *c = create_connected(fd, connection, ready, reason, reason_size);
    if (!c) return NULL;
    c->flags |= CLIENT_PRIMARY | CLIENT_NEVER_IDLE;
    if (keepalive_sec) socket_set_keepalive(fd, (int)keepalive_sec);
    return c;
}

void client_close_later(struct client *c) {
    if (c->flags & (CLIENT_CLOSING | CLIENT_CAPTURED)) return;
    c->flags |= CLIENT_CLOSING;
    unwatch_client(c);
    parts->marked(c); /* takes it out of the list of clients to be written to */
    list_append(&marked, &c->write_link);
    client_memory_mark(c);
    table_remove_element(ids, id_hash(c->id), c);
    count--;
    client_interrupted = true;
}

static void finish_one(struct client *c) {
    list_remove(&c->write_link);
    c->flags |= CLIENT_CLOSED;
    for (struct client_state *const *s = states; *s; s++)
        if ((*s)->closing) (*s)->closing(c);
    client_set_listening(c, false);
    parts->closed(c);
    list_remove(&c->link);
    list_append(&closed, &c->link);
    client_memory_leave(c);
}

void client_end_captured(struct client *c) {
    ASSERT(c->flags & CLIENT_CAPTURED && !(c->flags & CLIENT_CLOSED));
    c->flags |= CLIENT_CLOSING;
    finish_one(c);
}

static __attribute__((noinline)) void finish_all(void) {
    struct list_link staying = {&staying, &staying};
    size_t bytes_staying = 0;
    while (!list_is_empty(&marked)) {
        struct client *c = LIST_ENTRY(marked.next, struct client, write_link);
        if (!(c->flags & CLIENT_BELOW)) {
            finish_one(c);
            continue;
        }
        list_remove(&c->write_link);
        list_append(&staying, &c->write_link);
        bytes_staying += client_memory_of(c);
    }
    LIST_FOR_EACH (link, following, &staying) {
        list_remove(link);
        list_append(&marked, link);
    }
    client_memory_marked_left(bytes_staying);
}

void client_finish_closing(void) {
    if (__builtin_expect(!list_is_empty(&marked), 0)) finish_all();
}

void client_close_after_reply(struct client *c) {
    if (c->flags & (CLIENT_CLOSING | CLIENT_CLOSE_AFTER_REPLY | CLIENT_CAPTURED)) return;
    c->flags |= CLIENT_CLOSE_AFTER_REPLY;
    /* No more is read, so a readable socket must not keep the loop awake. */
    client_watch(c);
}

void client_watch(struct client *c) {
    unsigned interest = LOOP_READABLE;
    if (c->flags & CLIENT_HELD)
        interest = LOOP_HANGUP | (parts->held_is_read(c) ? LOOP_READABLE : 0);
    /* A client that closes after its reply may have no reply: it is closed when it is writable. */
    if (c->flags & CLIENT_CLOSE_AFTER_REPLY) interest = c->flags & CLIENT_GATED ? 0 : LOOP_WRITABLE;
    if (c->flags & CLIENT_WRITE_WAITS) interest |= LOOP_WRITABLE;
    if (c->flags & (CLIENT_CLOSING | CLIENT_CAPTURED)) return;
    if (!watch_client(c, interest)) client_close_later(c);
}

static void close_all_of(struct list_link *list, int kept_fd) {
    LIST_FOR_EACH (link, following, list) {
        int fd = LIST_ENTRY(link, struct client, link)->watcher.fd;
        if (fd >= 0 && fd != kept_fd) system_close(fd);
    }
}

/* Clients that were closed in this turn still have their sockets. */
static void clients_close_in_child(const struct child_job *job) {
    close_all_of(&clients, job->kept_fd);
    close_all_of(&closed, job->kept_fd);
}

void client_keep_in_child(struct client *kept) {
    LIST_FOR_EACH (link, following, &clients) {
        struct client *c = LIST_ENTRY(link, struct client, link);
        c->watcher.interest = 0;
        if (c != kept) c->flags |= CLIENT_CLOSING;
    }
}

const struct child_observer client_child_observer = {.in_child = clients_close_in_child};

size_t client_bytes_above(const struct client *c) {
    size_t bytes = 0;
    if (!c->places) return 0;
    for (struct client_state *const *s = states; *s; s++)
        if ((*s)->bytes) bytes += (*s)->bytes(c);
    return bytes;
}

size_t client_input_bytes(const struct client *c) {
    return c->query || c->held ? parts->input_bytes(c) : 0;
}

static size_t place_bytes(void) { return places_count * sizeof(void *); }

size_t client_place_bytes(const struct client *c) {
    return c->places ? memory_good_size(place_bytes()) : 0;
}

static void set_place(struct client *c, unsigned place, void *what) {
    ASSERT(!what || !(c->flags & CLIENT_CLOSED));
    if (!c->places) {
        if (!what) return;
        c->places = memory_zalloc(place_bytes(), MEMORY_CLIENTS);
    }
    c->places[place] = what;
    for (unsigned i = 0; i < places_count; i++)
        if (c->places[i]) return;
    memory_free_sized(c->places, place_bytes(), MEMORY_CLIENTS);
    c->places = NULL;
}

void client_set_place_of_net(struct client *c, enum client_place place, void *what) {
    set_place(c, place, what);
}

void client_set_place(struct client *c, const struct client_state *state, void *what) {
    ASSERT(state->place);
    set_place(c, state->place, what);
}

void client_set_listening(struct client *c, bool listens) {
    if (listens == ((c->flags & CLIENT_LISTENS) != 0)) return;
    c->flags ^= CLIENT_LISTENS;
    listeners = listens ? listeners + 1 : listeners - 1;
}

static void client_set_flag(struct client *c, enum client_flags flag, bool on) {
    c->flags = on ? c->flags | flag : c->flags & ~(unsigned)flag;
}

void client_set_never_idle(struct client *c, bool on) { client_set_flag(c, CLIENT_NEVER_IDLE, on); }
void client_set_no_evict(struct client *c, bool on) { client_set_flag(c, CLIENT_NO_EVICT, on); }

void client_set_name(struct client *c, struct slice name) {
    memory_free(c->name, MEMORY_CLIENTS);
    c->name = name.length ? slice_dup_c_string(name, MEMORY_CLIENTS) : NULL;
}

static void append_address(const struct socket_peer *p, struct buffer *out) {
    bool brackets = !p->is_unix && strchr(p->address, ':');
    buffer_printf(out, brackets ? "[%s]:%d" : "%s:%d", p->address, p->port);
}

/* Ask the system, which may not know the addresses any more. */
static void ask_address(const struct client *c, struct buffer *out) {
    struct socket_peer peer;
    if (!socket_peer_of(c->watcher.fd, &peer)) peer = (struct socket_peer){.address = "?"};
    append_address(&peer, out);
}

static void ask_local_address(const struct client *c, struct buffer *out) {
    struct socket_peer local;
    if (!socket_local_of(c->watcher.fd, &local)) local = (struct socket_peer){.address = "?"};
    append_address(&local, out);
}

/* The kept texts of the addresses, because MONITOR, the slow log and CLIENT LIST show them again
 * and again. */
struct addresses {
    size_t local, length; /* where our own address begins, and where it ends */
    char text[];
};

/* NULL if the texts cannot be kept, because no state is added to a CLOSED client. */
static const struct addresses *addresses_of(struct client *c) {
    struct addresses *a = client_place_of_net(c, CLIENT_PLACE_ADDRESSES);
    struct buffer text;
    if (a || c->flags & CLIENT_CLOSED) return a;
    buffer_init(&text, MEMORY_OTHER);
    ask_address(c, &text);
    buffer_append_char(&text, 0);
    size_t local = text.length;
    ask_local_address(c, &text);
    a = memory_alloc(sizeof(*a) + text.length, MEMORY_CLIENTS);
    a->local = local;
    a->length = text.length;
    memcpy(a->text, text.bytes, text.length);
    buffer_free(&text);
    client_set_place_of_net(c, CLIENT_PLACE_ADDRESSES, a);
    client_memory_note(c);
    return a;
}

static void addresses_free(struct client *c) {
    memory_free(client_place_of_net(c, CLIENT_PLACE_ADDRESSES), MEMORY_CLIENTS);
    client_set_place_of_net(c, CLIENT_PLACE_ADDRESSES, NULL);
}

size_t client_address_bytes(const struct client *c) {
    const struct addresses *a = client_place_of_net(c, CLIENT_PLACE_ADDRESSES);
    return memory_usable_size(a);
}

void client_append_address(struct client *c, struct buffer *out) {
    const struct addresses *a = addresses_of(c);
    if (a)
        buffer_append(out, a->text, a->local - 1);
    else
        ask_address(c, out);
}

void client_append_local_address(struct client *c, struct buffer *out) {
    const struct addresses *a = addresses_of(c);
    if (a)
        buffer_append(out, a->text + a->local, a->length - a->local);
    else
        ask_local_address(c, out);
}

void client_close_for_limit(struct client *c, const char *what) {
    log_warning(
        "Closing client %llu: its %s passed the limit (%zu bytes in the query, %zu in "
        "replies).",
        (unsigned long long)c->id, what, client_input_bytes(c), c->chunk_bytes);
    client_close_later(c);
}

static void hang_up(struct client *c) {
    connection_end(c);
    if (c->watcher.fd >= 0) system_close(c->watcher.fd);
    c->watcher.fd = -1;
}

/* Frees a client. False if the struct stays, because a place is filled. */
static bool client_free(struct client *c) {
    ASSERT(!(c->flags & CLIENT_AWAY));
    parts->freed(c);
    hang_up(c);
    memory_free(c->name, MEMORY_CLIENTS);
    c->name = NULL;
    addresses_free(c);
    if (c->places) return false;
    list_remove(&c->link);
    memory_free_sized(c, sizeof(*c), MEMORY_CLIENTS);
    return true;
}

uint64_t client_next_id(void) { return next_id; }

void client_free_within(uint64_t first_id) {
    LIST_FOR_EACH (link, following, &closed) {
        struct client *c = LIST_ENTRY(link, struct client, link);
        size_t before = client_memory_of(c), left = 0;
        if (c->id < first_id) {
            hang_up(c);
            list_remove(link);
            list_append(&hung_up, link);
            left = client_memory_of(c);
        } else if (!client_free(c)) {
            left = client_memory_of(c);
        }
        client_memory_leave_less(before - left);
    }
}

/* Frees all clients of a list. Returns the bytes of those that stay. */
static size_t free_all_of(struct list_link *list) {
    size_t bytes_staying = 0;
    LIST_FOR_EACH (link, following, list) (void)client_free(LIST_ENTRY(link, struct client, link));
    LIST_FOR_EACH (link, following, list)
        bytes_staying += client_memory_of(LIST_ENTRY(link, struct client, link));
    return bytes_staying;
}

static __attribute__((noinline)) void free_closed(void) {
    size_t bytes_staying = free_all_of(&closed);
    client_memory_left(bytes_staying + free_all_of(&hung_up));
}

void client_free_closing(void) {
    client_finish_closing();
    if (__builtin_expect(!list_is_empty(&closed) || !list_is_empty(&hung_up), 0)) free_closed();
    ASSERT_SLOW((client_memory_check(), true));
}

void client_close_all(void) {
    LIST_FOR_EACH (link, following, &clients) {
        struct client *c = LIST_ENTRY(link, struct client, link);
        if (c->replies) parts->last_words(c);
        client_close_later(c);
    }
    client_free_closing();
}

struct client *client_find(uint64_t id) {
    return ids ? table_find(ids, id_hash(id), &id, sizeof(id)) : NULL;
}

void client_cron(void) {
    if (!timeout_sec && !parts->cron_needed()) return;
    int64_t now = clock_cached_msec();
    for (uint64_t left = count < CRON_CLIENTS_MAX ? count : CRON_CLIENTS_MAX; left; left--) {
        struct client *c = LIST_ENTRY(clients.next, struct client, link);
        list_remove(&c->link);
        list_append(&clients, &c->link);
        bool waits = c->flags & (CLIENT_NEVER_IDLE | CLIENT_HELD | CLIENT_LISTENS);
        if (timeout_sec && !waits && now - c->active_msec > timeout_sec * 1000) {
            log_verbose("Closing idle client");
            client_close_later(c);
        } else {
            parts->cron(c);
        }
    }
}
