/* SPDX-License-Identifier: BSD-3-Clause
 * Supervisors.
 *
 * systemd (Type=notify) names a datagram socket in NOTIFY_SOCKET and reads lines of NAME=value from
 * it: READY=1, STATUS=text, STOPPING=1 (sd_notify(3)). A name that begins with @ is an abstract
 * one. upstart (expect stop) names the job in UPSTART_JOB and waits until the process stops itself.
 *
 * `auto` picks the supervisor whose variable is set. The supervisor is told as soon as the server
 * accepts connections, and not earlier, so that services that are started after the server can
 * connect to it.
 *
 * A message that cannot be sent is logged and dropped, because the server can serve without its
 * supervisor, which has a time limit of its own.
 */
#include "process/supervise.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/string.h"
#include "metric/metric.h"
#include "option/option.h"

enum supervisor { SUPERVISOR_NONE, SUPERVISOR_AUTO, SUPERVISOR_SYSTEMD, SUPERVISOR_UPSTART };

static int wanted;
static enum supervisor supervisor; /* never AUTO */
static char *notify_path;          /* of systemd's socket; NULL = none */

/* ---- systemd ---- */

/* Makes the address of a socket from NOTIFY_SOCKET. Returns false if the path does not have the
 * form of one. */
static bool socket_address(const char *path, struct sockaddr_un *name, socklen_t *length) {
    size_t bytes = strlen(path);
    if ((*path != '/' && *path != '@') || bytes < 2 || bytes >= sizeof(name->sun_path))
        return false;
    memset(name, 0, sizeof(*name));
    name->sun_family = AF_UNIX;
    memcpy(name->sun_path, path, bytes);
    /* An abstract name begins with a NUL and does not end with one. */
    if (*path == '@') name->sun_path[0] = 0;
    *length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + bytes + (*path == '/'));
    return true;
}

static void notify_systemd(const char *state) {
    struct sockaddr_un name;
    socklen_t length;
    if (supervisor != SUPERVISOR_SYSTEMD || !socket_address(notify_path, &name, &length)) return;
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    ssize_t sent = fd < 0 ? -1
                          : sendto(fd, state, strlen(state), MSG_NOSIGNAL,
                                   (const struct sockaddr *)&name, length);
    if (sent < 0)
        log_warning("systemd cannot be told %.*s: %s", (int)strcspn(state, "\n"), state,
                    strerror(errno));
    if (fd >= 0) close(fd);
}

/* ---- what others call ---- */

static void find_systemd(const char *path) {
    if (!path) {
        log_warning(
            "supervised systemd is asked for, but NOTIFY_SOCKET is not set: the server "
            "runs without a supervisor.");
        return;
    }
    notify_path = memory_strdup(path, MEMORY_OTHER);
    supervisor = SUPERVISOR_SYSTEMD;
    log_notice(
        "Supervised by systemd: it is told when the server is ready. The unit's "
        "TimeoutStartSec and TimeoutStopSec must allow for loading and saving the data.");
}

static void find_upstart(char *job) {
    if (!job) {
        log_warning(
            "supervised upstart is asked for, but UPSTART_JOB is not set: the server runs "
            "without a supervisor.");
        return;
    }
    supervisor = SUPERVISOR_UPSTART;
    *job = 0; /* a restarted program must not stop itself: upstart would not continue it */
    log_notice("Supervised by upstart: the process stops itself when the server is ready.");
}

void supervise_open(void) {
    char *job = getenv("UPSTART_JOB"), *path = getenv("NOTIFY_SOCKET");
    if (job && !*job) job = NULL;
    if (wanted == SUPERVISOR_UPSTART || (wanted == SUPERVISOR_AUTO && job)) {
        find_upstart(job);
    } else if (wanted == SUPERVISOR_SYSTEMD || (wanted == SUPERVISOR_AUTO && path)) {
        find_systemd(path);
    }
}

bool supervise_active(void) { return supervisor != SUPERVISOR_NONE; }

void supervise_ready(void) {
    if (supervisor == SUPERVISOR_UPSTART) raise(SIGSTOP);
    notify_systemd("READY=1\nSTATUS=Ready to accept connections\n");
}

void supervise_stopping(void) { notify_systemd("STOPPING=1\nSTATUS=Shutting down\n"); }

void supervise_status(const char *text) {
    char state[256];
    snprintf(state, sizeof(state), "STATUS=%s\n", text);
    notify_systemd(state);
}

/* ---- rows ---- */

static void print_supervisor(const struct metric_row *row, struct buffer *out) {
    buffer_append_c_string(out, supervisor == SUPERVISOR_SYSTEMD   ? "systemd"
                                : supervisor == SUPERVISOR_UPSTART ? "upstart"
                                                                   : "no");
}

static const struct option_name supervisor_names[] = {{"upstart", SUPERVISOR_UPSTART},
                                                      {"systemd", SUPERVISOR_SYSTEMD},
                                                      {"auto", SUPERVISOR_AUTO},
                                                      {"no", SUPERVISOR_NONE},
                                                      {NULL, 0}};

static const struct option_row option_rows[] = {
    OPTION_ENUM("supervised", &wanted, "no", supervisor_names, 0, "process", 200,
                "Tell the system's supervisor when the server is ready: systemd (Type=notify), "
                "upstart (expect stop), or whichever started it (auto)."),
};

static const struct metric_row metric_rows[] = {
    {.section = "Server",
     .place = 130,
     .name = "process_supervised",
     .measure = METRIC_LABEL,
     .type = METRIC_FUNCTION,
     .print = print_supervisor,
     .help = "The supervisor that is told of the state: systemd, upstart or no."},
};

void supervise_register(void) {
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
    metric_register(metric_rows, sizeof(metric_rows) / sizeof(metric_rows[0]));
}
