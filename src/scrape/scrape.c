/* SPDX-License-Identifier: BSD-3-Clause
 * Connections that scrape. One request is read and answered, then the connection is closed, so that
 * nobody holds one who does not ask:
 *
 *   accepted -> HANDSHAKE -> READING -> RENDERING -> WRITING -> ENDING -> closed
 *                (TLS only)     |                       ^
 *                               +---- a refusal --------+
 *
 * ENDING: all is written and our side is shut; what the other side still sends is read and dropped
 * until its end comes, because closing a socket with unread bytes would destroy the reply.
 *
 * The work is done by the connection's watcher, also while the page is made: a socket that can take
 * bytes is reported again in each turn. So pages are made in nested turns, too (a load, a long
 * script), and no hook is needed.
 *
 * Who may scrape: whoever may run INFO. A request with credentials (HTTP Basic) acts as that user
 * of the ACL; without them as `metrics-user`, or as the default user if that one needs no password.
 * protected-mode holds as for clients.
 *
 * Invariants:
 *   1. Of one turn, all connections together take TURN_NSEC and the step of one connection that
 *      passes it: a step makes a page for STEP_NSEC, writes WRITE_BYTES_MAX, or goes on with a TLS
 *      handshake, whose signature cannot be divided. So a turn has one signature at most.
 *   2. At most SCRAPE_CONNECTIONS_MAX connections are open. While more wait, connections that have
 *      been silent for SILENCE_MSEC are closed; the others wait in the system's queue.
 *   3. Each state ends at a deadline. Bytes that trickle do not put it off.
 *   4. A connection holds at most HTTP_REQUEST_BYTES_MAX bytes of input, and one page.
 */
#include "scrape/scrape.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "access/acl.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"
#include "base/panic.h"
#include "base/system.h"
#include "command/command.h"
#include "io/child.h"
#include "io/connection.h"
#include "io/loop.h"
#include "io/socket.h"
#include "io/tls_options.h"
#include "metric/exposition.h"
#include "metric/metric.h"
#include "metric/row.h"
#include "net/listen.h"
#include "option/option.h"
#include "scrape/http.h"

/* Half of the descriptors that maxclients leaves free. */
#define SCRAPE_CONNECTIONS_MAX 16
#define TURN_NSEC INT64_C(500000)
#define STEP_NSEC INT64_C(250000)
#define WRITE_BYTES_MAX (64 * 1024)
/* From accepting to the request's end, handshake included. */
#define REQUEST_MSEC 5000
/* From there until the reply is written: a page of 200 KB at 20 KB/s. */
#define REPLY_MSEC 10000
/* Until the other side ends, too; it loses nothing by then. */
#define ENDING_MSEC 1000
#define SILENCE_MSEC 1000
#define LOOK_MSEC 250
#define NSEC_PER_MSEC INT64_C(1000000)
#define REASON_CHARS 160

enum scrape_state {
    SCRAPE_HANDSHAKE,
    SCRAPE_READING,
    SCRAPE_RENDERING,
    SCRAPE_WRITING,
    SCRAPE_ENDING
};

struct scrape {
    struct loop_watcher watcher;   /* first: the loop hands it back */
    struct list_link link;         /* in `scrapes` */
    struct connection *connection; /* NULL: a plain socket, or the transport has ended */
    enum scrape_state state;
    bool is_protected;                 /* protected-mode forbids to serve it */
    bool head_only;                    /* HEAD */
    int64_t deadline_nsec, moved_nsec; /* moved: when bytes came or went last */
    struct exposition exposition;
    struct buffer input, head, page;
    size_t written; /* of head and page together */
};

static struct loop *loop;
static struct list_link scrapes = {&scrapes, &scrapes};
static size_t scrape_count;
static const struct command *info;
static uint64_t turn_number;
static int64_t turn_spent_nsec;
static uint64_t served, refused, spent_nsec, step_usec_max;
static int64_t port;
static char *user_name;
static struct tls_user tls = {.accepts = true};

static int64_t look_at_deadlines(struct loop_timer *unused);
static struct loop_timer timer = {.callback = look_at_deadlines};

/* ---- options and metrics ---- */

static const struct option_row option_rows[] = {
    {.name = "metrics-port",
     .type = OPTION_TYPE_INT,
     .flags = OPTION_MUTABLE,
     .section = "metrics",
     .place = 10,
     .fallback = "0",
     .variable = &port,
     .low = 0,
     .high = 65535,
     .apply = listen_apply_port,
     .help =
         "TCP port at which Prometheus finds the metrics: HTTP GET /metrics, on the addresses of "
         "`bind`; 0: none. protected-mode holds. A scrape may do what its user of the ACL may, "
         "and needs INFO: HTTP Basic names user and password; without them it is metrics-user, "
         "or the default user, if that one needs no password."},
    OPTION_STRING("metrics-user", &user_name, "", OPTION_MUTABLE, "metrics", 20,
                  "The user of the ACL as which a scrape without credentials is served; its "
                  "password is not asked for. Empty: the default user, if it needs no password."),
    {.name = "metrics-tls",
     .type = OPTION_TYPE_BOOL,
     .flags = OPTION_MUTABLE,
     .section = "metrics",
     .place = 30,
     .fallback = "no",
     .variable = &tls.wanted,
     .apply = tls_options_apply,
     .help = "Serve metrics-port over TLS, with the certificate of tls-cert-file; tls-auth-clients "
             "holds. No other port of the server changes."},
};

static void print_connections(const struct metric_row *row, struct buffer *out) {
    buffer_printf(out, "%zu", scrape_count);
}
static void print_spent(const struct metric_row *row, struct buffer *out) {
    buffer_printf(out, "%" PRIu64, spent_nsec / 1000);
}

#define FIGURE(at, n, m, var, h)                                                               \
    {                                                                                          \
        .section = "Stats", .place = (at), .name = (n), .measure = (m), .type = METRIC_UINT64, \
        .variable = &(var), .reset = true, .help = (h)                                         \
    }

static const struct metric_row metric_rows[] = {
    METRIC_PRINT("Clients", 1010, "metrics_connections", METRIC_GAUGE, print_connections,
                 "Connections to metrics-port; they are not among connected_clients."),
    FIGURE(1400, "metrics_scrapes", METRIC_COUNTER, served, "Scrapes that were answered."),
    FIGURE(1410, "metrics_refused", METRIC_COUNTER, refused,
           "Requests at metrics-port that were refused, or did not come to their end in time."),
    METRIC_PRINT("Stats", 1420, "metrics_usec_total", METRIC_COUNTER_USEC, print_spent,
                 "Microseconds of the main thread that scrapes took."),
    FIGURE(1430, "metrics_step_usec_max", METRIC_USEC, step_usec_max,
           "The longest single step of a scrape; a turn of the loop has at most one millisecond of "
           "them, or one TLS handshake more."),
};

static void reset_spent(void) { spent_nsec = 0; }

/* ---- closing ---- */

static void scrape_free(struct scrape *s) {
    if (s->connection) {
        connection_unwatch(s->connection);
        connection_close(s->connection);
    }
    loop_unwatch(loop, &s->watcher);
    system_close(s->watcher.fd);
    list_remove(&s->link);
    scrape_count--;
    buffer_free(&s->input);
    buffer_free(&s->head);
    buffer_free(&s->page);
    memory_free(s, MEMORY_OTHER);
}

/* Closes a connection that has not got its reply. */
static void give_up(struct scrape *s) {
    if (s->state != SCRAPE_ENDING) refused++;
    scrape_free(s);
}

void scrape_close(void) {
    loop_timer_stop(loop, &timer);
    LIST_FOR_EACH (link, following, &scrapes) scrape_free(LIST_ENTRY(link, struct scrape, link));
}

static void close_in_child(const struct child_job *job) {
    LIST_FOR_EACH (link, following, &scrapes)
        system_close(LIST_ENTRY(link, struct scrape, link)->watcher.fd);
}

const struct child_observer scrape_child_observer = {.in_child = close_in_child};

static int64_t look_at_deadlines(struct loop_timer *unused) {
    int64_t now = clock_monotonic_nsec();
    LIST_FOR_EACH (link, following, &scrapes) {
        struct scrape *s = LIST_ENTRY(link, struct scrape, link);
        if (now >= s->deadline_nsec) give_up(s);
    }
    return scrape_count ? LOOK_MSEC : LOOP_TIMER_END;
}

/* Whether one more may be accepted; closes the one that is silent for longest, if there is none. */
static bool has_room(void) {
    if (scrape_count < SCRAPE_CONNECTIONS_MAX) return true;
    struct scrape *silent = LIST_ENTRY(scrapes.next, struct scrape, link);
    LIST_FOR_EACH (link, following, &scrapes) {
        struct scrape *s = LIST_ENTRY(link, struct scrape, link);
        if (s->moved_nsec < silent->moved_nsec) silent = s;
    }
    if (clock_monotonic_nsec() - silent->moved_nsec < SILENCE_MSEC * NSEC_PER_MSEC) return false;
    give_up(silent);
    return true;
}

/* ---- states ---- */

/* False if the socket cannot be watched; the caller gives up then. */
MUST_USE static bool watch_for(struct scrape *s, unsigned interest) {
    if (s->connection) return connection_watch(s->connection, loop, &s->watcher, interest);
    return loop_watch(loop, &s->watcher, interest);
}

/* The one place that sets the state. */
static bool enter_state(struct scrape *s, enum scrape_state state) {
    static const struct {
        unsigned interest;
        int64_t msec; /* 0: the deadline stays */
    } states[] = {
        [SCRAPE_HANDSHAKE] = {LOOP_READABLE, REQUEST_MSEC}, [SCRAPE_READING] = {LOOP_READABLE, 0},
        [SCRAPE_RENDERING] = {LOOP_WRITABLE, REPLY_MSEC},   [SCRAPE_WRITING] = {LOOP_WRITABLE, 0},
        [SCRAPE_ENDING] = {LOOP_READABLE, ENDING_MSEC},
    };
    s->state = state;
    if (states[state].msec)
        s->deadline_nsec = clock_monotonic_nsec() + states[state].msec * NSEC_PER_MSEC;
    return watch_for(s, states[state].interest);
}

/* The reply stands in `page`: writes the head in front of it. */
static bool begin_reply(struct scrape *s, enum http_status status) {
    const char *type = status == HTTP_OK ? EXPOSITION_CONTENT_TYPE : "text/plain; charset=utf-8";
    buffer_printf(
        &s->head,
        "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
        "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n%s%s"
        "Connection: close\r\n\r\n",
        (int)status, http_status_text(status), type, s->page.length,
        status == HTTP_UNAUTHORIZED ? "WWW-Authenticate: Basic realm=\"metrics\"\r\n" : "",
        status == HTTP_NOT_ALLOWED ? "Allow: GET, HEAD\r\n" : "");
    if (s->head_only) buffer_clear(&s->page);
    buffer_free(&s->input);
    return enter_state(s, SCRAPE_WRITING);
}

static const char *refusal_text(const struct scrape *s, enum http_status status) {
    switch (status) {
    case HTTP_UNAUTHORIZED:
        return "Name a user of the ACL and its password by HTTP Basic, or set metrics-user.\n";
    case HTTP_FORBIDDEN:
        return s->is_protected
                   ? "Protected mode is on: no address is bound and no password is set, so only "
                     "this host may scrape. Set 'bind' or a password.\n"
                   : "The user may not run INFO.\n";
    case HTTP_NOT_FOUND: return "The metrics are at /metrics.\n";
    case HTTP_NOT_ALLOWED: return "Only GET and HEAD are served.\n";
    case HTTP_TOO_LARGE: return "The request is longer than 8192 bytes.\n";
    case HTTP_NOT_SUPPORTED: return "Only HTTP/1.0 and HTTP/1.1 are spoken.\n";
    default: return "This is no HTTP request that is understood here.\n";
    }
}

static bool refuse_request(struct scrape *s, enum http_status status) {
    refused++;
    if (!s->page.length) buffer_append_c_string(&s->page, refusal_text(s, status));
    return enter_state(s, SCRAPE_RENDERING) && begin_reply(s, status);
}

/* ---- reading ---- */

/* Whether the request's user may scrape: HTTP_OK, HTTP_UNAUTHORIZED or HTTP_FORBIDDEN. */
static enum http_status admit_user(const struct scrape *s, const struct http_request *request) {
    char storage[HTTP_REQUEST_BYTES_MAX];
    struct slice name = SLICE("default"), password = SLICE("");
    const struct acl_user *user;
    if (s->is_protected) return HTTP_FORBIDDEN;
    if (request->authorization.length) {
        if (!http_parse_basic(request->authorization, storage, &name, &password))
            return HTTP_UNAUTHORIZED;
        user = acl_verify(name, password);
    } else {
        user = *user_name ? acl_find(slice_of(user_name)) : acl_verify(name, password);
    }
    if (!user) return HTTP_UNAUTHORIZED;
    return acl_user_may_run(user, info) ? HTTP_OK : HTTP_FORBIDDEN;
}

static bool answer_request(struct scrape *s, enum http_status status,
                           const struct http_request *request) {
    if (status == HTTP_INCOMPLETE) return true;
    s->head_only = request->head;
    if (status == HTTP_OK) status = admit_user(s, request);
    if (status == HTTP_OK && !slice_equal(request->path, SLICE("/metrics")))
        status = HTTP_NOT_FOUND;
    if (status != HTTP_OK) return refuse_request(s, status);
    return enter_state(s, SCRAPE_RENDERING);
}

/* -1: nothing has come yet; 0: the end, or an error. */
static ssize_t read_some(struct scrape *s, char *to, size_t room) {
    ssize_t got = s->connection ? connection_read(s->connection, to, room)
                                : system_read(s->watcher.fd, to, room);
    if (got < 0) return errno == EAGAIN || errno == EINTR ? -1 : 0;
    if (got > 0) s->moved_nsec = clock_monotonic_nsec();
    return got;
}

static bool read_request(struct scrape *s) {
    struct http_request request;
    size_t room = HTTP_REQUEST_BYTES_MAX - s->input.length;
    ssize_t got = read_some(s, buffer_reserve(&s->input, room), room);
    if (!got) return false;
    if (got > 0) {
        s->input.length += (size_t)got;
        if (!answer_request(s, http_parse(buffer_slice(&s->input), &request), &request))
            return false;
    }
    return s->state != SCRAPE_READING || watch_for(s, LOOP_READABLE);
}

/* Reads and drops what still comes; false at the end. */
static bool read_to_end(struct scrape *s) {
    char dropped[HTTP_REQUEST_BYTES_MAX];
    ssize_t got = system_read(s->watcher.fd, dropped, sizeof(dropped));
    return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

/* ---- writing ---- */

/* All is written: announces the end, and waits for the other side's. */
static bool end_writing(struct scrape *s) {
    served += s->exposition.begun;
    if (s->connection) {
        connection_unwatch(s->connection);
        connection_close(s->connection);
        s->connection = NULL;
    }
    if (shutdown(s->watcher.fd, SHUT_WR) < 0) return false;
    return enter_state(s, SCRAPE_ENDING);
}

static bool write_reply(struct scrape *s) {
    size_t skip = s->written < s->head.length ? s->written : s->head.length;
    size_t of_page = s->written - skip, left = s->page.length - of_page;
    if (left > WRITE_BYTES_MAX) left = WRITE_BYTES_MAX;
    struct iovec pieces[] = {{s->head.bytes + skip, s->head.length - skip},
                             {left ? s->page.bytes + of_page : NULL, left}};
    ssize_t put = s->connection ? connection_writev(s->connection, pieces, left ? 2 : 1)
                                : system_writev(s->watcher.fd, pieces, left ? 2 : 1);
    if (put < 0) return (errno == EAGAIN || errno == EINTR) && watch_for(s, LOOP_WRITABLE);
    if (put > 0) s->moved_nsec = clock_monotonic_nsec();
    s->written += (size_t)put;
    if (s->written == s->head.length + s->page.length) return end_writing(s);
    return watch_for(s, LOOP_WRITABLE);
}

/* ---- the watcher ---- */

static bool make_handshake(struct scrape *s) {
    char reason[REASON_CHARS];
    switch (connection_handshake(s->connection, reason, sizeof(reason))) {
    case CONNECTION_DONE: return enter_state(s, SCRAPE_READING);
    case CONNECTION_WAITS: return watch_for(s, LOOP_READABLE);
    case CONNECTION_FAILED: break;
    }
    log_verbose("A scrape's TLS handshake failed: %s", reason);
    return false;
}

static bool render_page(struct scrape *s, int64_t now) {
    bool complete = exposition_step(&s->exposition, &s->page, now + STEP_NSEC);
    s->moved_nsec = now;
    return complete ? begin_reply(s, HTTP_OK) : true;
}

static bool make_step(struct scrape *s, int64_t now) {
    switch (s->state) {
    case SCRAPE_HANDSHAKE: return make_handshake(s);
    case SCRAPE_READING: return read_request(s);
    case SCRAPE_RENDERING: return render_page(s, now);
    case SCRAPE_WRITING: return write_reply(s);
    case SCRAPE_ENDING: return read_to_end(s);
    }
    return false;
}

static void scrape_ready(struct loop_watcher *watcher, unsigned ready) {
    struct scrape *s = (struct scrape *)watcher;
    int64_t begin = clock_monotonic_nsec();
    uint64_t turn = loop_stats(loop)->turns;
    if (turn != turn_number) turn_spent_nsec = 0;
    turn_number = turn;
    if (turn_spent_nsec >= TURN_NSEC) return; /* it is reported again in the next turn */
    if (!make_step(s, begin)) give_up(s);
    int64_t spent = clock_monotonic_nsec() - begin;
    turn_spent_nsec += spent;
    spent_nsec += (uint64_t)spent;
    if ((uint64_t)spent / 1000 > step_usec_max) step_usec_max = (uint64_t)spent / 1000;
}

/* ---- accepting ---- */

static void accept_scrape(const struct listen_kind *kind, int fd, const struct socket_peer *peer) {
    char reason[REASON_CHARS];
    const struct connection_transport *transport = tls_for(&tls);
    struct connection *connection = NULL;
    if (transport) {
        connection = connection_open(transport, fd, CONNECTION_ACCEPTS, MEMORY_OTHER, reason,
                                     sizeof(reason));
        if (!connection) {
            log_warning("A scrape over TLS cannot be served: %s", reason);
            system_close(fd);
            return;
        }
        listen_watch_handshakes();
    }
    struct scrape *s = memory_zalloc(sizeof(*s), MEMORY_OTHER);
    s->watcher.fd = fd;
    s->watcher.callback = scrape_ready;
    s->connection = connection;
    s->is_protected = listen_is_protected_from(peer);
    s->input.class = s->head.class = s->page.class = MEMORY_OTHER;
    s->moved_nsec = clock_monotonic_nsec();
    list_append(&scrapes, &s->link);
    if (!scrape_count++) loop_timer_start(loop, &timer, LOOK_MSEC);
    bool watched = enter_state(s, SCRAPE_HANDSHAKE);
    if (watched && !connection) watched = enter_state(s, SCRAPE_READING);
    if (!watched) give_up(s);
}

static int metrics_port(void) { return (int)port; }

static const struct listen_kind scrape_kind = {
    .name = "metrics", .port = metrics_port, .accepted = accept_scrape, .has_room = has_room};

void scrape_register(void) {
    tls_options_add_user(&tls);
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
    metric_register(metric_rows, sizeof(metric_rows) / sizeof(metric_rows[0]));
    metric_register_reset(reset_spent);
    listen_add_kind(&scrape_kind);
}

void scrape_open(struct loop *the_loop) {
    loop = the_loop;
    for (size_t i = 0; i < command_count() && !info; i++)
        if (!strcmp(command_at(i)->name, "info")) info = command_at(i);
}
