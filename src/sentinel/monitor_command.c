/* SPDX-License-Identifier: BSD-3-Clause
 * SENTINEL MONITOR. monitor_command.h has the idea.
 *
 * Invariant: a wait is in `waits` until its name is answered or its state is freed, so that each
 * client that waits for a name is found when the name is answered.
 */
#include "sentinel/monitor_command.h"

#include <string.h>
#include <strings.h>

#include "base/list.h"
#include "base/memory.h"
#include "command/arguments.h"
#include "command/call.h"
#include "exec/blocked.h"
#include "net/reply.h"
#include "sentinel/event.h"
#include "sentinel/record.h"
#include "sentinel/watched.h"

#define UNKNOWN_HOST "Invalid IP address or hostname specified"
/* A resolver that answers nothing for so long is taken for one that does not know the name. */
#define LOOKUP_MSEC 10000

struct monitor_wait {
    struct list_link link;
    struct client *client;
    int port, quorum;
    size_t name_length;
    char host[SENTINEL_HOST_CHARS_MAX + 1];
    char name[];
};

static struct list_link waits = {&waits, &waits};

void sentinel_reply_recorded(struct client *c) {
    if (sentinel_record_write()) {
        reply_ok(c);
        return;
    }
    sentinel_record_later();
    reply_error(c, "The change is in effect, but could not be written to the configuration file");
}

static void monitor_primary(struct client *c, struct slice name, struct slice host, int port,
                            int quorum) {
    const char *reason;
    struct primary *p = sentinel_add_primary(name, host, port, quorum, &reason);
    if (!p) {
        reply_error(c, reason);
        return;
    }
    sentinel_event(EVENT_MONITOR, &p->instance, "quorum %d", quorum);
    sentinel_reply_recorded(c);
}

/* ---- waiting for a name ---- */

static void wait_timed_out(struct client *c, void *state) { reply_error(c, UNKNOWN_HOST); }

static void name_came(struct client *c, void *state) {
    struct monitor_wait *w = state;
    char ip[SOCKET_ADDRESS_CHARS];
    if (sentinel_address_find(slice_of(w->host), ip) == SENTINEL_HOST_KNOWN)
        monitor_primary(c, (struct slice){w->name, w->name_length}, slice_of(w->host), w->port,
                        w->quorum);
    else
        reply_error(c, UNKNOWN_HOST);
}

static void free_wait(void *state) {
    struct monitor_wait *w = state;
    list_remove(&w->link);
    memory_free(w, MEMORY_CLIENTS);
}

static const struct blocked_kind wait_kind = {
    .timed_out = wait_timed_out, .came = name_came, .free_state = free_wait};

static void wait_for_name(struct call *call, int port, int quorum) {
    struct slice name = call->argv[2], host = call->argv[3];
    struct monitor_wait *w = memory_zalloc(sizeof(*w) + name.length, MEMORY_CLIENTS);
    w->client = call->client;
    w->port = port;
    w->quorum = quorum;
    w->name_length = name.length;
    memcpy(w->name, name.bytes, name.length);
    memcpy(w->host, host.bytes, host.length);
    list_append(&waits, &w->link);
    blocked_begin(call, &wait_kind, 0, 0, 1, LOOKUP_MSEC, w);
}

static struct monitor_wait *find_wait(const char *host) {
    LIST_FOR_EACH (link, next, &waits) {
        struct monitor_wait *w = LIST_ENTRY(link, struct monitor_wait, link);
        if (strcasecmp(w->host, host) == 0) return w;
    }
    return NULL;
}

/* A wait leaves the list before it is ended, because what its end tells others may close clients
 * and so end further waits. */
void sentinel_monitor_note_name(const char *host) {
    struct monitor_wait *w;
    while ((w = find_wait(host))) {
        list_remove(&w->link);
        (void)blocked_end(w->client, &(struct blocked_end){.reason = BLOCKED_VALUE});
    }
}

void sentinel_command_monitor(struct call *call) {
    char ip[SOCKET_ADDRESS_CHARS];
    int64_t port, quorum;
    struct client *c = call->client;
    struct slice name = call->argv[2], host = call->argv[3];
    if (!argument_int64(call, 5, &quorum, "Invalid quorum")) return;
    if (!argument_int64(call, 4, &port, "Invalid port")) return;
    if (quorum <= 0 || quorum > INT32_MAX) {
        reply_error(c, "Quorum must be 1 or greater.");
        return;
    }
    if (port < 0 || port > SENTINEL_PORT_MAX) port = -1; /* refused with all else */
    switch (sentinel_address_find(host, ip)) {
    case SENTINEL_HOST_KNOWN: monitor_primary(c, name, host, (int)port, (int)quorum); return;
    case SENTINEL_HOST_WAITS: wait_for_name(call, (int)port, (int)quorum); return;
    default: reply_error(c, UNKNOWN_HOST); return;
    }
}
