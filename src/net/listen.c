/* SPDX-License-Identifier: BSD-3-Clause
 * Listeners: what the options name is opened at start; accepted sockets become clients.
 *
 * `port` and `bind` may change while the server runs: the new sockets are opened in a set of their
 * own, and only when all of them are there the old ones are closed. An address that stays keeps its
 * socket, and with it the connections that wait to be accepted. Where new addresses overlap old
 * ones (127.0.0.1 and *) the old must be closed first; if the new cannot be had then, the old are
 * opened again.
 *
 * Where the system takes no connection (no descriptor is left) it goes on waiting and would wake
 * the loop without an end: accepting rests then for ACCEPT_REST_MSEC. In turns within a long
 * script, where no timer runs, listen_within ends that: who comes to end the script must get in.
 */
#include "net/listen.h"

#include <errno.h>
#include <fcntl.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/string.h"
#include "base/system.h"
#include "io/child.h"
#include "io/connection.h"
#include "io/loop.h"
#include "io/socket.h"
#include "metric/metric.h"
#include "net/client.h"
#include "option/missing.h"

/* Addresses that `bind` may name: as 6.2. */
#define LISTENERS_MAX 16
#define REASON_CHARS 160                     /* why a connection is not taken */
#define ADDRESS_TEXT_MAX 256                 /* no longer name is resolved */
#define ACCEPT_TELL_NSEC INT64_C(1000000000) /* between lines on the same failure */
#define ACCEPT_REST_MSEC 100                 /* ten vain tries a second cost nothing */

struct listener {
    struct loop_watcher watcher;                  /* first: the loop hands it back */
    const struct connection_transport *transport; /* of its clients; NULL = plain sockets */
    char address[ADDRESS_TEXT_MAX];               /* as `bind` names it, without the minus sign */
};

/* The TCP listeners of one port. */
struct listener_set {
    struct listener listeners[LISTENERS_MAX];
    int count, port;
};

static struct loop *loop;
static struct listener_set sets[2];
static struct listener_set *current = &sets[0]; /* the other one is empty */
static struct listener unix_listener = {.watcher.fd = -1};
static int64_t port, backlog, unix_mode;
static char *unix_path;
static bool protected_mode;
static bool gopher;                                            /* kept, not built */
static struct buffer bind_addresses = {.class = MEMORY_OTHER}; /* words, each followed by NUL */
static int bind_count;
static uint64_t rejected;
static char first_address[ADDRESS_TEXT_MAX + 128];
/* Of tell_not_accepted: what was said last, when, and how often it came since. */
static int accept_error;
static int64_t accept_told_nsec;
static uint64_t accept_failures;

static int64_t rest_is_over(struct loop_timer *unused);
static struct loop_timer rest_timer = {.callback = rest_is_over};
static int64_t rests_until_nsec; /* 0 = it does not rest */

/* ---- bind: several words ---- */

static bool bind_parse(const struct option_row *row, const struct slice *words, size_t word_count,
                       char *reason, size_t reason_size) {
    if (word_count > LISTENERS_MAX) { /* with the full stop only here: as 6.2 */
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

static bool apply_port(const struct option_row *row, char *reason, size_t reason_size);
static bool apply_bind(const struct option_row *row, char *reason, size_t reason_size);

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
             "An address after a minus sign may be missing on this host. Without a value: all."},
    {.name = "port",
     .type = OPTION_TYPE_INT,
     .flags = OPTION_MUTABLE,
     .section = "network",
     .place = 20,
     .fallback = "6379",
     .variable = &port,
     .low = 0,
     .high = 65535,
     .apply = apply_port,
     .help = "TCP port to listen on; 0: none."},
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
    OPTION_BOOL("protected-mode", &protected_mode, true, OPTION_MUTABLE, "network", 80,
                "Refuse clients from other hosts as long as neither an address is bound nor a "
                "password is set."),
    MISSING_BOOL("gopher-enabled", NULL, &gopher, "no", OPTION_MUTABLE, "network", 200,
                 "the Gopher protocol is not built",
                 "Answer inline requests for a path by Gopher's protocol."),
};

static const struct metric_row metric_rows[] = {
    {.section = "Stats",
     .place = 80,
     .name = "rejected_connections",
     .type = METRIC_UINT64,
     .variable = &rejected,
     .reset = true,
     .help = "Connections refused because maxclients was reached."},
};

void listen_register(void) {
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
    metric_register(metric_rows, sizeof(metric_rows) / sizeof(metric_rows[0]));
}

/* ---- accepting ---- */

/* `text` is for those who can read it: not before a transport's handshake. */
static void refuse(const struct listener *l, int fd, const char *text) {
    /* The socket is new and empty: a short line always fits; where it does not the peer is gone. */
    ssize_t ignored = l->transport ? 0 : system_write(fd, text, strlen(text));
    (void)ignored;
    system_close(fd);
}

static void accept_one(const struct listener *l, int fd, const struct socket_peer *peer) {
    char reason[REASON_CHARS];
    if (client_count() >= (size_t)client_maxclients()) {
        rejected++;
        refuse(l, fd, "-ERR max number of clients reached\r\n");
        return;
    }
    if (protected_mode && !bind_count && !client_strangers_any() && !socket_peer_is_local(peer)) {
        rejected++;
        refuse(l, fd,
               "-DENIED Protected mode is on: no address is bound and no password is set, so only "
               "clients of this host are served. Set 'bind' or a password, or, knowing what it "
               "means, 'protected-mode no'.\r\n");
        return;
    }
    if (peer->is_unix)
        log_verbose("Accepted connection to %s", unix_path);
    else
        log_verbose("Accepted %s:%d", peer->address, peer->port);
    if (!client_create(fd, peer, l->transport, reason, sizeof(reason)))
        log_warning("Error registering fd event for the new client: %s (%s:%d)", reason,
                    peer->address, peer->port);
}

/* Of one cause it is said once in a time. */
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

/* What epoll refuses is tried again. */
static int64_t rest_is_over(struct loop_timer *unused) {
    struct loop_watcher *w = &unix_listener.watcher;
    bool all = w->fd < 0 || loop_watch(loop, w, LOOP_READABLE);
    for (int i = 0; i < current->count; i++)
        all &= loop_watch(loop, &current->listeners[i].watcher, LOOP_READABLE);
    if (all) rests_until_nsec = 0;
    return all ? LOOP_TIMER_END : ACCEPT_REST_MSEC;
}

static void rest(void) {
    for (int i = 0; i < current->count; i++) loop_unwatch(loop, &current->listeners[i].watcher);
    if (unix_listener.watcher.fd >= 0) loop_unwatch(loop, &unix_listener.watcher);
    rests_until_nsec = clock_monotonic_nsec() + ACCEPT_REST_MSEC * INT64_C(1000000);
    loop_timer_start(loop, &rest_timer, ACCEPT_REST_MSEC);
}

void listen_within(void) {
    if (rests_until_nsec && clock_monotonic_nsec() >= rests_until_nsec) rest_is_over(&rest_timer);
}

static void accept_ready(struct loop_watcher *watcher, unsigned ready) {
    for (int i = 0; i < LISTEN_ACCEPTS_MAX; i++) {
        struct socket_peer peer;
        int fd = socket_accept(watcher->fd, &peer);
        if (fd < 0) {
            if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED) return;
            tell_not_accepted(errno);
            rest();
            return;
        }
        accept_one((const struct listener *)watcher, fd, &peer);
    }
}

/* ---- opening ---- */

static bool watch(struct loop_watcher *w, int fd, char *reason, size_t reason_size) {
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

static const struct listener *set_find(const struct listener_set *s, const char *address) {
    for (int i = 0; i < s->count; i++)
        if (!strcmp(s->listeners[i].address, address)) return &s->listeners[i];
    return NULL;
}

/* A further descriptor of the socket that listens on this address already; -1 = none does. An
 * address that `bind` names twice gets none: the system says that it is taken, as it does of one
 * that is written in two ways. */
static int share_current(const struct listener_set *s, const char *address) {
    if (current->port != port || set_find(s, address)) return -1;
    const struct listener *l = set_find(current, address);
    return l ? fcntl(l->watcher.fd, F_DUPFD_CLOEXEC, 0) : -1;
}

/* True also where the address is missing on this host and may be. */
static bool set_add(struct listener_set *s, const char *address, bool quiet) {
    char reason[256];
    bool optional = *address == '-';
    if (optional) address++;
    int fd = share_current(s, address);
    if (fd < 0) fd = socket_listen_tcp(address, s->port, (int)backlog, reason, sizeof(reason));
    int error = fd < 0 ? errno : 0;
    struct listener *l = &s->listeners[s->count];
    if (fd >= 0 && watch(&l->watcher, fd, reason, sizeof(reason))) {
        snprintf(l->address, sizeof(l->address), "%s", address);
        s->count++;
        return true;
    }
    if (!quiet)
        log_warning("Warning: Could not create server TCP listening socket %s:%d: %s", address,
                    s->port, reason);
    return optional && (error == EADDRNOTAVAIL || error == EAFNOSUPPORT ||
                        error == EPROTONOSUPPORT || error == ENOPROTOOPT);
}

/* All that the options name; false, with nothing open, where one of them cannot be had. There may
 * be none where all may be missing. */
static bool set_open(struct listener_set *s, bool quiet) {
    const char *address = bind_addresses.bytes;
    s->port = (int)port;
    s->count = 0;
    if (!port) return true;
    bool done = true;
    if (!bind_count) done = set_add(s, "*", quiet) && set_add(s, "-::*", quiet);
    for (int i = 0; done && i < bind_count; i++, address += strlen(address) + 1)
        done = set_add(s, address, quiet);
    if (!done) set_close(s);
    return done;
}

/* ---- changes while the server runs ---- */

/* As set_open, but an address must be left: who asks would not be reached any more. */
static bool set_open_some(struct listener_set *s, bool quiet) {
    return set_open(s, quiet) && (s->count || !s->port);
}

/* The old sockets are gone and the new ones cannot be had: opens the old ones again. */
static void set_restore(struct listener_set *s) {
    int count = s->count;
    s->count = 0;
    for (int i = 0; i < count; i++) {
        char address[ADDRESS_TEXT_MAX];
        memcpy(address, s->listeners[i].address, sizeof(address));
        set_add(s, address, false);
    }
}

static bool reopen(void) {
    struct listener_set *old = current, *new = current == &sets[0] ? &sets[1] : &sets[0];
    bool may_overlap = old->count && old->port == port;
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

static bool apply_port(const struct option_row *row, char *reason, size_t reason_size) {
    if (!loop || reopen()) return true;
    snprintf(reason, reason_size, "Unable to listen on this port. Check server logs.");
    return false;
}

static bool apply_bind(const struct option_row *row, char *reason, size_t reason_size) {
    if (!loop || !port || reopen()) return true;
    snprintf(reason, reason_size, "Failed to bind to specified addresses.");
    return false;
}

/* ---- the start and the end ---- */

bool listen_open(struct loop *the_loop, char *reason, size_t reason_size) {
    loop = the_loop;
    if (!set_open(current, false)) {
        snprintf(reason, reason_size, "Failed listening on port %d (TCP), aborting.", (int)port);
        return false;
    }
    if (*unix_path) {
        char why[256];
        int fd = socket_listen_unix(unix_path, (unsigned)unix_mode, (int)backlog, why, sizeof(why));
        if (fd < 0 || !watch(&unix_listener.watcher, fd, why, sizeof(why))) {
            unix_listener.watcher.fd = -1;
            snprintf(reason, reason_size, "Opening Unix socket: %s", why);
            return false;
        }
    }
    if (current->count || unix_listener.watcher.fd >= 0) return true;
    snprintf(reason, reason_size, "Configured to not listen anywhere, exiting.");
    return false;
}

void listen_close(void) {
    loop_timer_stop(loop, &rest_timer);
    set_close(current);
    if (unix_listener.watcher.fd < 0) return;
    loop_unwatch(loop, &unix_listener.watcher);
    system_close(unix_listener.watcher.fd);
    unix_listener.watcher.fd = -1;
    unlink(unix_path);
}

static void close_in_child(const struct child_job *job) {
    for (int i = 0; i < current->count; i++) system_close(current->listeners[i].watcher.fd);
    if (unix_listener.watcher.fd >= 0) system_close(unix_listener.watcher.fd);
}

const struct child_observer listen_child_observer = {.in_child = close_in_child};

int listen_port(void) { return (int)port; }
int64_t listen_backlog(void) { return backlog; }
const char *listen_unix_path(void) { return unix_path; }

const char *listen_first_address(void) {
    const char *address = bind_count ? bind_addresses.bytes : "*";
    if (port)
        snprintf(first_address, sizeof(first_address), "%s:%d", address + (*address == '-'),
                 (int)port);
    else
        snprintf(first_address, sizeof(first_address), "%s", unix_path);
    return first_address;
}
