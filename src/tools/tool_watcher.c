/* SPDX-License-Identifier: BSD-3-Clause
 * The watcher: a forked process between a socket pair and a connection to the server.
 *
 * Invariants
 *  1. The watcher has the old value of an option before the tool changes that option, because the
 *     tool's message is in the socket pair by then; messages that a dead tool has sent are read
 *     before the end of the socket pair is seen.
 *  2. Signals that end the tool do not end the watcher: it is a session of its own, and ignores
 *     SIGHUP, SIGINT, SIGTERM and SIGPIPE. The tool's end ends it.
 *  3. A connection that is lost is opened again, for as long as the tool lives, and for
 *     RESTORE_MSEC_MAX once old values are to be put back.
 */
#include "tools/tool_watcher.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/panic.h"
#include "base/system.h"
#include "io/loop.h"
#include "tools/tool_connection.h"

/* The first byte of each message. The rest: the name and the value, each with its NUL; a reason. */
enum message { MESSAGE_OLD = 'V', MESSAGE_RESTORE = 'R', MESSAGE_READY = 'O', MESSAGE_DONE = 'K' };
#define MESSAGE_BYTES_MAX 65536
#define KEPT_MAX 1024
#define TURN_MSEC 1000
#define RETRY_MSEC 200
/* For so long the watcher tries to reach a server that is gone before it gives up. */
#define RESTORE_MSEC_MAX 30000
/* For so long the tool waits for the watcher: a retry more than the watcher takes. */
#define TOOL_PATIENCE_MSEC (RESTORE_MSEC_MAX + 15000)

/* --- the watcher's side ----------------------------------------------------------------------- */

static const char *program_name;
static struct loop *loop;
static struct tool_link own_link;
static struct loop_watcher tool_watcher;
static struct tool_value kept[KEPT_MAX]; /* own copies of the texts */
static size_t kept_count;
static char received[MESSAGE_BYTES_MAX + 1];

static void note_tool_ready(struct loop_watcher *watcher, unsigned ready) {}
static void drop_pong(void *owner, uintptr_t unused, const struct peer_reply *reply) {}

static bool open_watching_link(const struct tool_connection *server, bool resp3) {
    tool_link_close(&own_link);
    return tool_link_open(&own_link, loop, server, resp3, "redis-lab-watcher");
}

static void keep_old_value(const char *payload, size_t length) {
    const char *value = memchr(payload, '\0', length);
    if (!value || kept_count == KEPT_MAX) return;
    kept[kept_count++] = (struct tool_value){memory_strdup(payload, MEMORY_OTHER),
                                             memory_strdup(value + 1, MEMORY_OTHER)};
}

/* Puts all kept values back. An empty `reason` means success. */
static void restore_old_values(const struct tool_connection *server, bool resp3,
                               char reason[TOOL_REASON_CHARS]) {
    int64_t until = clock_monotonic_msec() + RESTORE_MSEC_MAX;
    char why[TOOL_REASON_CHARS] = "";
    size_t failed = 0;
    enum tool_config_status status = TOOL_CONFIG_LOST;
    loop_unwatch(loop, &tool_watcher);
    do {
        if (!own_link.open && !open_watching_link(server, resp3)) {
            memcpy(why, own_link.reason, sizeof(why));
            (void)poll(NULL, 0, RETRY_MSEC);
            continue;
        }
        status = tool_config_set(&own_link, kept, kept_count, &failed, why);
    } while (status == TOOL_CONFIG_LOST && clock_monotonic_msec() < until);
    *reason = '\0';
    if (status == TOOL_CONFIG_LOST) {
        snprintf(reason, TOOL_REASON_CHARS,
                 "the old values are not back: %.200s. By hand: CONFIG SET %.80s \"%.100s\"%s", why,
                 kept[0].name, kept[0].value, kept_count > 1 ? " ..." : "");
    } else if (status != TOOL_CONFIG_GOOD) {
        snprintf(reason, TOOL_REASON_CHARS,
                 "an old value is not back: CONFIG SET %.80s \"%.100s\": %.200s", kept[failed].name,
                 kept[failed].value, why);
    }
    kept_count = 0;
}

static void send_text(int fd, enum message kind, const char *text) {
    char bytes[TOOL_REASON_CHARS + 1];
    size_t length = 1 + (size_t)snprintf(bytes + 1, sizeof(bytes) - 1, "%s", text);
    bytes[0] = (char)kind;
    /* A tool that is dead does not read it. */
    ssize_t sent = system_send(fd, bytes, length, MSG_NOSIGNAL);
    (void)sent;
}

/* Reads one message. False where the tool has ended. */
static bool serve_message(int fd, const struct tool_connection *server, bool resp3) {
    char reason[TOOL_REASON_CHARS];
    ssize_t got = system_recv(fd, received, MESSAGE_BYTES_MAX, MSG_DONTWAIT);
    if (got < 0) return errno == EAGAIN || errno == EINTR;
    if (got == 0) return false;
    received[got] = '\0';
    if (received[0] == MESSAGE_OLD) {
        keep_old_value(received + 1, (size_t)got - 1);
    } else if (received[0] == MESSAGE_RESTORE) {
        restore_old_values(server, resp3, reason);
        send_text(fd, MESSAGE_DONE, reason);
        if (!loop_watch(loop, &tool_watcher, LOOP_READABLE)) return false;
    }
    return true;
}

/* A tool that has died left old values behind: they are put back, and standard error says so. */
static void outlive_tool(const struct tool_connection *server, bool resp3) {
    char reason[TOOL_REASON_CHARS];
    if (!kept_count) return;
    restore_old_values(server, resp3, reason);
    fprintf(stderr, "%s has ended unexpectedly: %s\n", program_name,
            *reason ? reason : "the old values are back.");
}

static void run_watcher(int fd, const struct tool_connection *server, bool resp3) {
    const struct peer_request ping = {drop_pong, 0};
    loop = loop_create();
    tool_watcher = (struct loop_watcher){.fd = fd, .callback = note_tool_ready};
    bool open = open_watching_link(server, resp3);
    send_text(fd, MESSAGE_READY, open ? "" : own_link.reason);
    if (!open || !loop_watch(loop, &tool_watcher, LOOP_READABLE)) return;
    struct pollfd tool = {.fd = fd, .events = POLLIN};
    int64_t asked_msec = 0;
    do {
        loop_turn(loop, TURN_MSEC);
        /* A PING a second keeps the connection from being closed for idleness, and finds out where
         * it is lost. */
        int64_t now_msec = clock_monotonic_msec();
        if (own_link.open && now_msec - asked_msec >= TURN_MSEC) {
            asked_msec = now_msec;
            own_link.open = peer_client_ask(own_link.client, &ping, &SLICE("PING"), 1);
        }
        if (!own_link.open && poll(&tool, 1, RETRY_MSEC) == 0)
            (void)open_watching_link(server, resp3);
    } while (serve_message(fd, server, resp3));
    outlive_tool(server, resp3);
}

static void become_watcher(int fd, int tools_end, const struct tool_connection *server,
                           bool resp3) {
    static const int ignored[] = {SIGHUP, SIGINT, SIGTERM, SIGQUIT, SIGPIPE, SIGTTOU};
    (void)setsid();
    for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
        (void)signal(ignored[i], SIG_IGN);
    (void)prctl(PR_SET_NAME, "lab-watcher");
    system_close(tools_end);
    /* Standard error alone stays, for the last words. A reader of the tool's output must not wait
     * for this process. */
    int nothing = system_open("/dev/null", O_RDWR | O_CLOEXEC, 0);
    if (nothing >= 0) {
        (void)dup2(nothing, STDIN_FILENO);
        (void)dup2(nothing, STDOUT_FILENO);
        system_close(nothing);
    }
    run_watcher(fd, server, resp3);
    _exit(0);
}

/* --- the tool's side -------------------------------------------------------------------------- */

bool tool_watcher_start(struct tool_watcher *w, const struct tool_connection *server, bool resp3,
                        const char *program, char reason[TOOL_REASON_CHARS]) {
    int ends[2];
    *w = (struct tool_watcher){.fd = -1};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) {
        snprintf(reason, TOOL_REASON_CHARS, "socketpair: %s", strerror(errno));
        return false;
    }
    fflush(NULL);
    program_name = program;
    w->pid = system_fork();
    if (w->pid == 0) become_watcher(ends[1], ends[0], server, resp3);
    system_close(ends[1]);
    w->fd = ends[0];
    if (w->pid > 0) return true;
    snprintf(reason, TOOL_REASON_CHARS, "fork: %s", strerror(errno));
    system_close(ends[0]);
    *w = (struct tool_watcher){.fd = -1};
    return false;
}

/* Waits for a message of the kind, whose text it writes to `reason`. False where the watcher is
 * gone or does not answer. */
static bool await_message(struct tool_watcher *w, enum message kind,
                          char reason[TOOL_REASON_CHARS]) {
    char bytes[TOOL_REASON_CHARS + 1];
    struct pollfd ready = {.fd = w->fd, .events = POLLIN};
    int64_t until = clock_monotonic_msec() + TOOL_PATIENCE_MSEC;
    ssize_t got = -1;
    do {
        int64_t left = until - clock_monotonic_msec();
        if (left <= 0) break;
        if (poll(&ready, 1, (int)left) > 0)
            got = system_recv(w->fd, bytes, sizeof(bytes) - 1, MSG_DONTWAIT);
    } while (got < 0);
    if (got < 1 || bytes[0] != (char)kind) {
        snprintf(reason, TOOL_REASON_CHARS, "the process that watches over the old values %s",
                 got == 0 ? "has ended" : "does not answer");
        return false;
    }
    bytes[got] = '\0';
    snprintf(reason, TOOL_REASON_CHARS, "%s", bytes + 1);
    return true;
}

bool tool_watcher_await(struct tool_watcher *w, char reason[TOOL_REASON_CHARS]) {
    return await_message(w, MESSAGE_READY, reason) && !*reason;
}

bool tool_watcher_keep(struct tool_watcher *w, const struct tool_value *old) {
    struct buffer message = {.class = MEMORY_OTHER};
    buffer_append_char(&message, MESSAGE_OLD);
    buffer_append(&message, old->name, strlen(old->name) + 1);
    buffer_append(&message, old->value, strlen(old->value) + 1);
    bool good =
        message.length <= MESSAGE_BYTES_MAX &&
        system_send(w->fd, message.bytes, message.length, MSG_NOSIGNAL) == (ssize_t)message.length;
    buffer_free(&message);
    return good;
}

bool tool_watcher_lives(const struct tool_watcher *w) {
    struct pollfd state = {.fd = w->fd, .events = POLLIN};
    return w->pid && poll(&state, 1, 0) == 0;
}

bool tool_watcher_restore(struct tool_watcher *w, char reason[TOOL_REASON_CHARS]) {
    char kind = MESSAGE_RESTORE;
    if (system_send(w->fd, &kind, 1, MSG_NOSIGNAL) != 1) {
        snprintf(reason, TOOL_REASON_CHARS,
                 "the process that watches over the old values has ended");
        return false;
    }
    return await_message(w, MESSAGE_DONE, reason) && !*reason;
}

void tool_watcher_end(struct tool_watcher *w) {
    if (!w->pid) return;
    system_close(w->fd);
    while (waitpid(w->pid, NULL, 0) < 0 && errno == EINTR) continue;
    *w = (struct tool_watcher){.fd = -1};
}
