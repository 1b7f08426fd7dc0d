/* SPDX-License-Identifier: BSD-3-Clause
 * Listeners: they are opened at start as the options say; accepted sockets are handed to their
 * kind.
 *
 * `port`, `tls-port` and `bind` may change while the server runs. The new sockets of all kinds are
 * opened in a set of their own, and the old ones are closed only when all new ones are open. An
 * address that stays keeps its socket, and so the connections that wait to be accepted. If new
 * addresses overlap old ones (127.0.0.1 and *), the old ones must be closed first; if the new ones
 * then cannot be opened, the old ones are opened again.
 *
 * If accepting fails (no descriptor is left), the connection goes on waiting and would wake the
 * loop again and again, so accepting rests for ACCEPT_REST_MSEC.
 *
 * TLS handshakes are bounded in number and in time. While tls-handshakes-max of them are under way,
 * the listeners of the TLS port rest, and clients that have been silent for HANDSHAKE_SILENCE_MSEC
 * are closed, so that clients that do speak get a place. New connections wait in the system's queue
 * meanwhile and cost nothing here.
 *
 * No timer runs in nested turns, for instance within a long script. There listen_within ends the
 * rest of accepting, and handshakes that take too long, so that a client that comes to end the
 * script can connect.
 */
#include "net/listen.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/panic.h"
#include "base/string.h"
#include "base/system.h"
#include "io/child.h"
#include "io/connection.h"
#include "io/file.h"
#include "io/loop.h"
#include "io/socket.h"
#include "io/tls.h"
#include "io/tls_options.h"
#include "metric/metric.h"
#include "net/client.h"
#include "option/missing.h"

/* `bind` may name so many addresses, as in 6.2. */
#define ADDRESSES_MAX 16
#define LISTENERS_MAX (ADDRESSES_MAX * LISTEN_KINDS_MAX)
#define REASON_CHARS 160                     /* of the reason why a connection is refused */
#define ADDRESS_TEXT_MAX 256                 /* longer names are not resolved */
#define ACCEPT_TELL_NSEC INT64_C(1000000000) /* between two log lines about the same failure */
#define ACCEPT_REST_MSEC 100                 /* ten failing attempts a second cost nothing */
/* How long the listeners of a kind without room rest: about as long as a few TLS handshakes take.
 */
#define NO_ROOM_REST_MSEC 10
/* Longer than a distant client needs between two messages of a handshake. */
#define HANDSHAKE_SILENCE_MSEC 1000
/* How often handshakes are checked for having taken too long. */
#define HANDSHAKE_LOOK_MSEC 250

struct listener {
    struct loop_watcher watcher; /* first: the loop hands it back */
    const struct listen_kind *kind;
    int port;
    char address[ADDRESS_TEXT_MAX]; /* as `bind` names it, without the minus sign */
};

/* The TCP listeners of all kinds. */
struct listener_set {
    struct listener listeners[LISTENERS_MAX];
    int count;
};

static struct loop *loop;
static struct listener_set sets[2];
static struct listener_set *current = &sets[0]; /* the other one is empty */
static struct listener unix_listener = {.watcher.fd = -1};
static const struct listen_kind *kinds[LISTEN_KINDS_MAX];
static int kind_count;
static int64_t port, tls_port, backlog, unix_mode;
static const struct listen_kind *failed_kind; /* of the last socket that could not be opened */
static int64_t handshakes_max, handshake_timeout_sec;
static char *unix_path;
static char unix_made[2 * PATH_MAX]; /* absolute path of the unix socket's file; "" = none */
static bool protected_mode;
static bool gopher;                                            /* the option has no effect */
static struct buffer bind_addresses = {.class = MEMORY_OTHER}; /* words, each followed by NUL */
static int bind_count;
static uint64_t rejected;
static char first_address[ADDRESS_TEXT_MAX + 128];
/* For tell_not_accepted: the last error that was logged, when, and how often it came since. */
static int accept_error;
static int64_t accept_told_nsec;
static uint64_t accept_failures;

static int64_t rest_is_over(struct loop_timer *unused);
static struct loop_timer rest_timer = {.callback = rest_is_over};
static int64_t rests_until_nsec; /* 0 = accepting does not rest */
static int64_t look_at_handshakes(struct loop_timer *unused);
static struct loop_timer handshake_timer = {.callback = look_at_handshakes};
static int64_t looked_nsec;     /* when handshakes were checked last */
static bool handshakes_watched; /* the timer is started */

/* ---- bind: several words ---- */

static bool bind_parse(const struct option_row *row, const struct slice *words, size_t word_count,
                       char *reason, size_t reason_size) {
    if (word_count > ADDRESSES_MAX) { /* only this text has a full stop, as in 6.2 */
        bool set = option_source_now() == OPTION_FROM_CONFIG_SET;
        snprintf(reason, reason_size, "Too many bind addresses specified%s", set ? "." : "");
        return false;
    }
    if (word_count == 1 && words[0].length == 0) word_count = 0;
    for (size_t i = 0; i < word_count; i++) {
        if (words[i].length < ADDRESS_TEXT_MAX) continue;
        snprintf(reason, reason_size, "Address too long in bind.");
        return false;
    }
    buffer_clear(&bind_addresses);
    for (size_t i = 0; i < word_count; i++) {
        buffer_append(&bind_addresses, words[i].bytes, words[i].length);
        buffer_append_char(&bind_addresses, 0);
    }
    bind_count = (int)word_count;
    return true;
}

static void bind_print(const struct option_row *row, struct buffer *out) {
    const char *address = bind_addresses.bytes;
    for (int i = 0; i < bind_count; i++, address += strlen(address) + 1) {
        if (i) buffer_append_char(out, ' ');
        buffer_append_c_string(out, address);
    }
}

static bool apply_tls_port(const struct option_row *row, char *reason, size_t reason_size);
static bool apply_bind(const struct option_row *row, char *reason, size_t reason_size);

/* The mode has the defaults of these two: listen_register sets `fallback`. */
static struct option_row port_row = {.name = "port",
                                     .type = OPTION_TYPE_INT,
                                     .flags = OPTION_MUTABLE,
                                     .section = "network",
                                     .place = 20,
                                     .variable = &port,
                                     .low = 0,
                                     .high = 65535,
                                     .apply = listen_apply_port,
                                     .help = "TCP port to listen on; 0: none."};

static struct option_row protected_row =
    OPTION_BOOL("protected-mode", &protected_mode, true, OPTION_MUTABLE, "network", 80,
                "Refuse clients from other hosts as long as neither an address is bound nor a "
                "password is set.");

static const struct option_row option_rows[] = {
    {.name = "bind",
     .type = OPTION_TYPE_CUSTOM,
     .flags = OPTION_MULTI | OPTION_MUTABLE,
     .section = "network",
     .place = 10,
     .fallback = "",
     .parse = bind_parse,
     .print = bind_print,
     .apply = apply_bind,
     .help = "Addresses to listen on, separated by blanks; * and ::* are all of IPv4 and of IPv6. "
             "An address after a minus sign may be missing on this host. Without a value: all. "
             "The link to a primary comes from the first, where it can."},
    OPTION_INT("tcp-backlog", &backlog, "511", 0, INT32_MAX, 0, "network", 30,
               "Connections that may wait to be accepted; the system may allow fewer."),
    OPTION_STRING("unixsocket", &unix_path, "", 0, "network", 40,
                  "Path of a unix socket to listen on; none if empty."),
    {.name = "unixsocketperm",
     .type = OPTION_TYPE_OCTAL,
     .section = "network",
     .place = 50,
     .fallback = "0",
     .variable = &unix_mode,
     .low = 0,
     .high = 0777,
     .help = "Permissions of the unix socket, in octal; 0 leaves what the umask gives."},
    {.name = "tls-port",
     .type = OPTION_TYPE_INT,
     .flags = OPTION_MUTABLE,
     .section = "tls",
     .place = 10,
     .fallback = "0",
     .variable = &tls_port,
     .low = 0,
     .high = 65535,
     .apply = apply_tls_port,
     .help = "TCP port to listen on for clients over TLS; 0: none. It is served beside `port`, "
             "which may be 0."},
    OPTION_INT("tls-handshakes-max", &handshakes_max, "256", 1, INT32_MAX, OPTION_MUTABLE, "tls",
               210,
               "Clients over TLS whose handshake may be under way at once. Further ones wait until "
               "one is done; while there are any, clients that are silent for a second are given "
               "up. Each holds up to 150 kb while it lasts."),
    OPTION_INT("tls-handshake-timeout", &handshake_timeout_sec, "10", 1, INT32_MAX, OPTION_MUTABLE,
               "tls", 220,
               "Seconds after which a client is given up that has not ended its "
               "handshake."),
    MISSING_BOOL("gopher-enabled", NULL, &gopher, "no", OPTION_MUTABLE, "network", 200,
                 "the Gopher protocol is not built",
                 "Answer inline requests for a path by Gopher's protocol."),
};

static const struct metric_row metric_rows[] = {
    {.section = "Stats",
     .place = 80,
     .name = "rejected_connections",
     .measure = METRIC_COUNTER,
     .type = METRIC_UINT64,
     .variable = &rejected,
     .reset = true,
     .help = "Connections refused because maxclients was reached."},
};

static const struct listen_kind plain_clients, tls_clients;

void listen_register(const char *default_port, bool protects) {
    port_row.fallback = default_port;
    protected_row.fallback = protects ? "yes" : "no";
    option_register(&port_row, 1);
    option_register(&protected_row, 1);
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
    metric_register(metric_rows, sizeof(metric_rows) / sizeof(metric_rows[0]));
    kind_count = 0;
    listen_add_kind(&plain_clients);
    listen_add_kind(&tls_clients);
    unix_listener.kind = &plain_clients;
}

void listen_add_kind(const struct listen_kind *kind) {
    ASSERT_COMPARE(kind_count, <, LISTEN_KINDS_MAX);
    kinds[kind_count++] = kind;
}

/* ---- clients ---- */

/* Closes the socket. `text` is sent only over plain sockets, because before a transport's handshake
 * no client can read it. */
static void refuse_connection(const struct listen_kind *kind, int fd, const char *text) {
    /* The socket is new and empty, so a short line always fits, unless the peer is gone. */
    ssize_t ignored = kind->transport ? 0 : system_write(fd, text, strlen(text));
    (void)ignored;
    system_close(fd);
}

/* The number of connections that count for maxclients: clients, and those of other kinds. */
static size_t count_connections(void) {
    size_t count = client_count();
    for (int i = 0; i < kind_count; i++)
        if (kinds[i]->counted) count += kinds[i]->counted();
    return count;
}

/* Names what else counts, because an operator who sees fewer clients than maxclients looks for it.
 */
static void refuse_for_number(const struct listen_kind *kind, int fd) {
    char text[REASON_CHARS];
    const char *others = NULL;
    for (int i = 0; i < kind_count; i++)
        if (kinds[i]->counted_name && kinds[i]->port()) others = kinds[i]->counted_name;
    snprintf(text, sizeof(text), "-ERR max number of clients%s%s reached\r\n", others ? " + " : "",
             others ? others : "");
    refuse_connection(kind, fd, text);
}

bool listen_is_protected_from(const struct socket_peer *peer) {
    return protected_mode && !bind_count && !client_strangers_any() && !socket_peer_is_local(peer);
}

void listen_watch_handshakes(void) {
    if (handshakes_watched) return;
    handshakes_watched = true;
    loop_timer_start(loop, &handshake_timer, HANDSHAKE_LOOK_MSEC);
}

static void accept_client(const struct listen_kind *kind, int fd, const struct socket_peer *peer) {
    char reason[REASON_CHARS];
    if (count_connections() >= (size_t)client_maxclients()) {
        rejected++;
        refuse_for_number(kind, fd);
        return;
    }
    if (listen_is_protected_from(peer)) {
        rejected++;
        refuse_connection(
            kind, fd,
            "-DENIED Protected mode is on: no address is bound and no password is set, so only "
            "clients of this host are served. Set 'bind' or a password, or, knowing what it "
            "means, 'protected-mode no'.\r\n");
        return;
    }
    if (peer->is_unix)
        log_verbose("Accepted connection to %s", unix_path);
    else
        log_verbose("Accepted %s:%d", peer->address, peer->port);
    if (!client_create(fd, peer, kind->transport, reason, sizeof(reason)))
        log_warning("Error registering fd event for the new client: %s (%s:%d)", reason,
                    peer->address, peer->port);
    else if (kind->transport)
        listen_watch_handshakes();
}

static bool has_room_for_handshake(void) {
    return connection_handshakes() < (size_t)handshakes_max;
}

static int64_t look_at_handshakes(struct loop_timer *unused) {
    int64_t whole = handshake_timeout_sec * 1000;
    looked_nsec = clock_monotonic_nsec();
    bool all_taken = connection_handshakes() >= (size_t)handshakes_max;
    connection_end_handshakes(whole, all_taken ? HANDSHAKE_SILENCE_MSEC : whole);
    handshakes_watched = connection_handshakes();
    return handshakes_watched ? HANDSHAKE_LOOK_MSEC : LOOP_TIMER_END;
}

static const struct listen_kind plain_clients = {
    .name = "TCP", .port = listen_port, .accepted = accept_client};
static const struct listen_kind tls_clients = {.name = "TLS",
                                               .transport = &tls_transport,
                                               .port = listen_tls_port,
                                               .accepted = accept_client,
                                               .has_room = has_room_for_handshake};

/* ---- accepting ---- */

/* Logs a failure to accept, the same error at most once in ACCEPT_TELL_NSEC. */
static void tell_not_accepted(int error) {
    int64_t now = clock_monotonic_nsec();
    accept_failures++;
    if (error == accept_error && now - accept_told_nsec < ACCEPT_TELL_NSEC) return;
    if (accept_failures == 1)
        log_warning("Accepting client connection: %s", strerror(error));
    else
        log_warning("Accepting client connection: %s (%llu times since this was last said)",
                    strerror(error), (unsigned long long)accept_failures);
    accept_error = error;
    accept_told_nsec = now;
    accept_failures = 0;
}

/* Watches all listeners again; one that epoll refuses is tried again later. */
static int64_t rest_is_over(struct loop_timer *unused) {
    struct loop_watcher *w = &unix_listener.watcher;
    bool all = w->fd < 0 || loop_watch(loop, w, LOOP_READABLE);
    for (int i = 0; i < current->count; i++)
        all &= loop_watch(loop, &current->listeners[i].watcher, LOOP_READABLE);
    if (all) rests_until_nsec = 0;
    return all ? LOOP_TIMER_END : ACCEPT_REST_MSEC;
}

static void rest_for(int64_t msec) {
    rests_until_nsec = clock_monotonic_nsec() + msec * INT64_C(1000000);
    loop_timer_start(loop, &rest_timer, msec);
}

static void listen_rest(void) {
    for (int i = 0; i < current->count; i++) loop_unwatch(loop, &current->listeners[i].watcher);
    if (unix_listener.watcher.fd >= 0) loop_unwatch(loop, &unix_listener.watcher);
    rest_for(ACCEPT_REST_MSEC);
}

/* Lets the listeners of one kind rest; other kinds go on accepting. */
static void rest_of_kind(const struct listen_kind *kind) {
    for (int i = 0; i < current->count; i++)
        if (current->listeners[i].kind == kind) loop_unwatch(loop, &current->listeners[i].watcher);
    if (!rests_until_nsec) rest_for(NO_ROOM_REST_MSEC);
}

void listen_within(void) {
    int64_t now = clock_monotonic_nsec();
    if (rests_until_nsec && now >= rests_until_nsec) rest_is_over(&rest_timer);
    bool is_due = now - looked_nsec >= HANDSHAKE_LOOK_MSEC * INT64_C(1000000);
    if (connection_handshakes() && is_due) look_at_handshakes(&handshake_timer);
}

static void accept_ready(struct loop_watcher *watcher, unsigned ready) {
    const struct listener *l = (const struct listener *)watcher;
    for (int i = 0; i < LISTEN_ACCEPTS_MAX; i++) {
        struct socket_peer peer;
        if (l->kind->has_room && !l->kind->has_room()) {
            rest_of_kind(l->kind);
            return;
        }
        int fd = socket_accept(watcher->fd, &peer);
        if (fd < 0) {
            if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED) return;
            tell_not_accepted(errno);
            listen_rest();
            return;
        }
        l->kind->accepted(l->kind, fd, &peer);
    }
}

/* ---- opening ---- */

static bool listener_watch(struct loop_watcher *w, int fd, char *reason, size_t reason_size) {
    w->fd = fd;
    w->callback = accept_ready;
    if (loop_watch(loop, w, LOOP_READABLE)) return true;
    snprintf(reason, reason_size, "%s", strerror(errno));
    system_close(fd);
    return false;
}

static void set_close(struct listener_set *s) {
    for (int i = 0; i < s->count; i++) {
        loop_unwatch(loop, &s->listeners[i].watcher);
        system_close(s->listeners[i].watcher.fd);
    }
    s->count = 0;
}

/* The address and port of one socket of a set. */
struct place {
    const char *address; /* without the minus sign */
    int port;
    const struct listen_kind *kind;
};

static const struct listener *set_find(const struct listener_set *s, const struct place *p) {
    for (int i = 0; i < s->count; i++) {
        const struct listener *l = &s->listeners[i];
        if (l->port == p->port && l->kind == p->kind && !strcmp(l->address, p->address)) return l;
    }
    return NULL;
}

/* Returns a further descriptor of the socket that listens on this address already; -1 = there is
 * none. An address that `bind` names twice gets none the second time, so that the system says that
 * it is in use, as it does if the address is written in two ways. */
static int share_current(const struct listener_set *s, const struct place *p) {
    if (set_find(s, p)) return -1;
    const struct listener *l = set_find(current, p);
    return l ? fcntl(l->watcher.fd, F_DUPFD_CLOEXEC, 0) : -1;
}

/* Adds one socket. True also if the address is missing on this host and may be missing. */
static bool set_add_address(struct listener_set *s, struct place p, bool quiet) {
    char reason[256];
    bool optional = *p.address == '-';
    if (optional) p.address++;
    int fd = share_current(s, &p);
    if (fd < 0) fd = socket_listen_tcp(p.address, p.port, (int)backlog, reason, sizeof(reason));
    int error = fd < 0 ? errno : 0;
    struct listener *l = &s->listeners[s->count];
    if (fd >= 0 && listener_watch(&l->watcher, fd, reason, sizeof(reason))) {
        snprintf(l->address, sizeof(l->address), "%s", p.address);
        l->port = p.port;
        l->kind = p.kind;
        s->count++;
        return true;
    }
    failed_kind = p.kind;
    if (!quiet)
        log_warning("Warning: Could not create server TCP listening socket %s:%d: %s", p.address,
                    p.port, reason);
    return optional && (error == EADDRNOTAVAIL || error == EAFNOSUPPORT ||
                        error == EPROTONOSUPPORT || error == ENOPROTOOPT);
}

/* Adds the sockets of one kind on all addresses. False at the first that cannot be opened. */
static bool set_add_kind(struct listener_set *s, const struct listen_kind *kind, bool quiet) {
    const char *address = bind_addresses.bytes;
    int shown_port = kind->port();
    struct place p = {
        .address = "*", .port = shown_port ? shown_port + kind->above : 0, .kind = kind};
    if (!p.port) return true;
    if (!bind_count) {
        struct place any = p;
        any.address = "-::*";
        return set_add_address(s, p, quiet) && set_add_address(s, any, quiet);
    }
    for (int i = 0; i < bind_count; i++, address += strlen(address) + 1) {
        p.address = address;
        if (!set_add_address(s, p, quiet)) return false;
    }
    return true;
}

/* Opens all sockets that the options name. False, with none open, if one of them cannot be opened.
 * The set may be empty if all addresses may be missing. */
static bool set_open(struct listener_set *s, bool quiet) {
    s->count = 0;
    bool done = true;
    for (int i = 0; i < kind_count && done; i++) done = set_add_kind(s, kinds[i], quiet);
    if (!done) set_close(s);
    return done;
}

/* ---- changes while the server runs ---- */

/* Opens a set as set_open does, but fails if it would be empty, because the client that changes the
 * option could not connect any more. */
static bool set_open_some(struct listener_set *s, bool quiet) {
    return set_open(s, quiet) && (s->count || (!port && !tls_port));
}

/* Opens the old sockets again, after they were closed and the new ones could not be opened. */
static void set_restore(struct listener_set *s) {
    int count = s->count;
    s->count = 0;
    for (int i = 0; i < count; i++) {
        char address[ADDRESS_TEXT_MAX];
        memcpy(address, s->listeners[i].address, sizeof(address));
        const struct place p = {address, s->listeners[i].port, s->listeners[i].kind};
        set_add_address(s, p, false);
    }
}

/* `may_overlap`: new addresses may overlap old ones, so that these must be closed first. */
static bool listen_reopen(bool may_overlap) {
    struct listener_set *old = current, *new = current == &sets[0] ? &sets[1] : &sets[0];
    may_overlap = may_overlap && old->count;
    if (set_open_some(new, may_overlap)) {
        set_close(old);
        current = new;
        return true;
    }
    if (!may_overlap) return false;
    int count = old->count;
    set_close(old);
    current = new;
    if (set_open_some(new, false)) return true;
    log_warning("The new addresses cannot be had; the old ones are opened again.");
    current = old;
    old->count = count;
    set_restore(old);
    return false;
}

bool listen_apply_port(const struct option_row *row, char *reason, size_t reason_size) {
    if (!loop || listen_reopen(false)) return true;
    snprintf(reason, reason_size, "Unable to listen on this port. Check server logs.");
    return false;
}

static bool listens_for_clients(void) {
    for (int i = 0; i < current->count; i++)
        if (current->listeners[i].kind->accepted == accept_client) return true;
    return false;
}

static bool serves_tls(void) {
    for (int i = 0; i < current->count; i++)
        if (current->listeners[i].kind == &tls_clients) return true;
    return false;
}

static bool apply_tls_port(const struct option_row *row, char *reason, size_t reason_size) {
    char unused[REASON_CHARS];
    if (!tls_options_serve(tls_port != 0, reason, reason_size)) return false;
    if (listen_apply_port(row, reason, reason_size)) return true;
    tls_options_serve(serves_tls(), unused, sizeof(unused)); /* as before, so it cannot fail */
    return false;
}

static bool any_port(void) {
    for (int i = 0; i < kind_count; i++)
        if (kinds[i]->port()) return true;
    return false;
}

static bool apply_bind(const struct option_row *row, char *reason, size_t reason_size) {
    if (!loop || !any_port() || listen_reopen(true)) return true;
    snprintf(reason, reason_size, "Failed to bind to specified addresses.");
    return false;
}

/* ---- the start and the end ---- */

static void note_unix_made(void) {
    char folder[PATH_MAX];
    file_present_folder(folder);
    if (*unix_path == '/')
        snprintf(unix_made, sizeof(unix_made), "%s", unix_path);
    else
        snprintf(unix_made, sizeof(unix_made), "%s/%s", folder, unix_path);
}

bool listen_open(struct loop *the_loop, char *reason, size_t reason_size) {
    loop = the_loop;
    if (!set_open(current, false)) {
        snprintf(reason, reason_size, "Failed listening on port %d (%s), aborting.",
                 failed_kind->port(), failed_kind->name);
        return false;
    }
    if (*unix_path) {
        char why[256];
        int fd = socket_listen_unix(unix_path, (unsigned)unix_mode, (int)backlog, why, sizeof(why));
        if (fd < 0 || !listener_watch(&unix_listener.watcher, fd, why, sizeof(why))) {
            unix_listener.watcher.fd = -1;
            snprintf(reason, reason_size, "Opening Unix socket: %s", why);
            return false;
        }
        note_unix_made();
    }
    if (listens_for_clients() || unix_listener.watcher.fd >= 0) return true;
    snprintf(reason, reason_size, "Configured to not listen anywhere, exiting.");
    return false;
}

void listen_close(void) {
    loop_timer_stop(loop, &rest_timer);
    loop_timer_stop(loop, &handshake_timer);
    set_close(current);
    if (unix_listener.watcher.fd < 0) return;
    loop_unwatch(loop, &unix_listener.watcher);
    system_close(unix_listener.watcher.fd);
    unix_listener.watcher.fd = -1;
    listen_unix_remove();
}

static void listen_close_in_child(const struct child_job *job) {
    for (int i = 0; i < current->count; i++) system_close(current->listeners[i].watcher.fd);
    if (unix_listener.watcher.fd >= 0) system_close(unix_listener.watcher.fd);
}

const struct child_observer listen_child_observer = {.in_child = listen_close_in_child};

int listen_port(void) { return (int)port; }
int listen_tls_port(void) { return (int)tls_port; }
int64_t listen_backlog(void) { return backlog; }
const char *listen_unix_path(void) { return unix_path; }
void listen_unix_remove(void) { unlink(unix_made); }

const char *listen_source_address(void) {
    const char *first = bind_count ? bind_addresses.bytes : "";
    return *first == '-' || *first == '*' ? "" : first;
}

const char *listen_first_address(void) {
    const char *address = bind_count ? bind_addresses.bytes : "*";
    if (port || tls_port)
        snprintf(first_address, sizeof(first_address), "%s:%d", address + (*address == '-'),
                 (int)(port ? port : tls_port));
    else
        snprintf(first_address, sizeof(first_address), "%s", unix_path);
    return first_address;
}
